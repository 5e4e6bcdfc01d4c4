"""Promises Z8 and Z9: what is searched for is data, and nothing a caller writes becomes SQL.

Any text is a valid question: operators, quotes and brackets are characters, half characters and NULs are looked past,
and a question of megabytes is cut. Payloads in every parameter leave the schema and the rows as they were; where a name
is asked for (a field, an operator, an order), anything that is not on the list is refused with the list.
"""

import itertools
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import rounds
from memorist import Memory
from memorist.errors import Invalid, MemoristError, NotFound
from memorist.text.visible import flaw, is_blank
from memorist.text.words import query_terms

FACTS = (
    "The payment service speaks to the api through a queue",
    "Deploys need two reviews and a green build",
    "Staging runs Postgres 16 behind pgbouncer",
    "C++ and C# bindings are generated, R is written by hand",
    "東京のサーバーは夜間に再起動する",
    "Ne jamais déployer le vendredi 🚫",
)
OPERATORS = (
    'AND OR NOT NEAR NEAR( NEAR(a,2) * ^ + - : " "" \' ( ) { } [ ] , ; -- /* */ \\ col:term prepared: rowid rank '
    "payment api AND_NOT a* ^a -a +a {a}:b %s %n \\0 ${x} <b> && || != == LIKE GLOB MATCH NULL 1e999 0x41"
).split(" ")
ODD = "\x00\x01\x1a\x1b\x7f\x85\xa0\xad\u0301\u200b\u200d\u202e\u2028\ud800\udbff\udc00\udfff\ufeff\uffff\U000e0041\U0010ffff"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "memory.db"


@pytest.fixture
def small(path: Path) -> Iterator[Memory]:
    with Memory(path, project="atlas") as memory:
        if memory.count() == 0:
            memory.remember_many(list(FACTS))
        yield memory


# ---------------------------------------------------------------- Z8: questions


def queries(chance: random.Random) -> Iterator[str]:
    makers: list[Callable[[random.Random], str]] = [operators, operators, characters, characters, nested, broken_words]
    while True:
        yield chance.choice(makers)(chance)


def operators(chance: random.Random) -> str:
    return chance.choice(("", " ", "  ")).join(chance.choices(OPERATORS, k=chance.randrange(1, 12)))


def characters(chance: random.Random) -> str:
    """Characters of every plane, half ones included."""
    limit = chance.choice((0x80, 0x800, 0x10000, sys.maxunicode + 1))
    picked = [chr(chance.randrange(limit)) for _ in range(chance.randrange(0, 30))]
    return "".join(chance.choice((char, char, chance.choice(ODD))) for char in picked)


def nested(chance: random.Random) -> str:
    depth = chance.randrange(1, 60)
    return "(" * depth + chance.choice(OPERATORS) + ")" * chance.randrange(0, depth + 1)


def broken_words(chance: random.Random) -> str:
    """A real fact, cut and stirred with oddities."""
    fact = chance.choice(FACTS)
    start = chance.randrange(len(fact))
    return fact[start:] + chance.choice(ODD) + chance.choice(OPERATORS) + fact[:start]


@pytest.mark.covers("Z8")
@pytest.mark.parametrize("part", range(4))
def test_any_text_is_a_valid_question(small: Memory, part: int) -> None:
    """A million questions, in parts that several processes can share."""
    chance = random.Random(f"fuzz {part}")
    found = 0
    for number, query in zip(range(rounds(250_000, 0.004)), queries(chance), strict=False):
        ask = small.recall if number % 4 == 0 else small.explain  # a quarter goes to the recall log as well
        answer = ask(query, limit=3)
        assert len(answer) <= 3 and (answer.hits or answer.empty_because)
        found += bool(answer)
    assert found > 100, "the questions must reach the index"
    assert {record.text for record in small.list()} == set(FACTS)


@pytest.mark.covers("Z8", "P12")
def test_whatever_can_be_stored_is_found_by_its_own_words(tmp_path: Path) -> None:
    """The questions above rarely meet words that are in the index; these always do."""
    chance = random.Random("stored")
    sayable = (text for text in queries(chance) if flaw(text) is None and not is_blank(text))
    texts = list(dict.fromkeys(itertools.islice(sayable, rounds(5000, 0.03))))
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        outcomes = memory.remember_many(texts)
        for text, outcome in zip(texts, outcomes, strict=True):
            hits = memory.explain(text, limit=1, where={"id": outcome.id})
            holds = outcome.id is not None and memory.get(outcome.id).state == "active"  # else a later one replaced it
            if query_terms(text) and outcome.outcome == "added" and holds:
                assert outcome.id in {hit.record.id for hit in hits}, ascii(text)
        assert [finding for finding in memory.doctor() if not finding.ok] == []


HUGE = {
    "a word of ten megabytes": "a" * 10_000_000,
    "five thousand ANDs": "a AND " * 5000,
    "two thousand brackets": "(" * 2000 + "a" + ")" * 2000,
    "a hundred thousand quotes": '"' * 100_000,
    "a hundred thousand half characters": "\ud800" * 100_000,
    "a hundred thousand NULs": "\x00" * 100_000,
    "ten thousand words": " ".join(f"word{n}" for n in range(10_000)),
    "a megabyte of combining marks": "e" + "\u0301" * 1_000_000,
    "a megabyte of blanks": " " * 1_000_000,
    "a megabyte of Japanese": "東京" * 500_000,
    "a megabyte of joined names": "a.b-c_d::" * 110_000,
}


@pytest.mark.covers("Z8")
@pytest.mark.parametrize("name", HUGE)
def test_a_huge_question_is_answered(small: Memory, name: str) -> None:
    answer = small.recall(HUGE[name] + " payment")
    assert answer.hits or answer.empty_because
    assert answer.trace


@pytest.mark.covers("S1-16", "Z8")
def test_operators_are_words(small: Memory) -> None:
    """`payment AND NOT api` does not exclude the api: all four are words, and the fact that holds most of them wins."""
    answer = small.recall("payment AND NOT api")
    assert answer[0].record.text == FACTS[0]
    assert {"payment", "api"} <= words_looked_for(answer)


def words_looked_for(answer: Any) -> set[str]:
    return set((answer.trace[0].note or "").removeprefix("looked for: ").split(", "))


@pytest.mark.covers("S1-16", "Z8")
@pytest.mark.parametrize(
    "query",
    ["payment", '"payment', "payment*", "prepared:payment", "(payment", "payment AND", "NOT payment", "^payment",
     "payment'--", "-payment", "NEAR(payment", "payment OR", "{prepared}:payment", "payment\x00", "\ud800payment"],
)  # fmt: skip
def test_signs_around_a_word_do_not_hide_it(small: Memory, query: str) -> None:
    assert FACTS[0] in [hit.record.text for hit in small.recall(query)]


@pytest.mark.covers("Z8")
def test_a_question_that_is_no_text_is_refused_in_words(small: Memory) -> None:
    for query in (5, b"bytes", ["list"], object()):
        with pytest.raises(Invalid, match="a question must be text"):
            small.recall(query)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="give a query, or name the session"):
        small.recall(None)


# ---------------------------------------------------------------- Z9: everything else

SEEDS = (
    "'; DROP TABLE records; --", "' OR '1'='1", '" OR ""="', "1; DELETE FROM records", "1 UNION SELECT key FROM records",
    "text); DROP TABLE records; --", "records.text", "r.text", "rowid", "__class__", "__dict__", "$where", "$regex",
    "data.x') OR 1=1 --", "at DESC; DROP TABLE words", "(SELECT 1)", "sqlite_schema", "load_extension('x')", "?1", ":x",
    "@x", "$x", "%' --", "_%", "\\", "\\'", "char(39)", "x'27'", "/*", "--", ";", "'", '"', "`", "[", "]", "\n", "\r\n",
    "{{7*7}}", "${7*7}", "%s%n", "../../etc/passwd", "ＤＲＯＰ", "ʼ OR 1=1", "\u2019 OR 1=1",
)  # fmt: skip


def payloads(number: int) -> list[str]:
    """The seeds, then seeds stirred into one another."""
    chance = random.Random("payloads")
    mixed = ("".join(chance.choices(SEEDS, k=chance.randrange(2, 5)))[:120] for _ in range(number))
    return [*SEEDS, *mixed][:number]


def ways_to_read(memory: Memory) -> dict[str, Callable[[str], object]]:
    """Every parameter that takes a text, on the reading side."""
    return {
        "query": lambda p: memory.recall(p),
        "recall(scope=)": lambda p: memory.recall("payment", scope=p),
        "recall(user=)": lambda p: memory.recall("payment", user=p),
        "recall(session=)": lambda p: memory.recall("payment", session=p),
        "recall(search=)": lambda p: memory.recall("payment", search=p),
        "recall(kinds=)": lambda p: memory.recall("payment", kinds=[p]),
        "recall(where= field)": lambda p: memory.recall("payment", where={p: 1}),
        "recall(where= value)": lambda p: memory.recall("payment", where={"title": p}),
        "id": lambda p: memory.get(p),
        "links(id)": lambda p: memory.links(p),
        "history(id)": lambda p: memory.history(p),
        "why_not(id)": lambda p: memory.why_not(p, p),
        "list(order=)": lambda p: memory.list(order=p),
        "list(order=-)": lambda p: memory.list(order=f"-{p}"),
        "list(field)": lambda p: memory.list({p: 1}),
        "list(operator)": lambda p: memory.list({"kind": {p: 1}}),
        "list(value)": lambda p: memory.list({"kind": p}),
        "list(values)": lambda p: memory.list({"tags": [p], "kind": {"$in": [p]}}),
        "list(data key)": lambda p: memory.list({f"data.{p}": p}),
        "list(data values)": lambda p: memory.list({f"data.{p}": {"$any": [p], "$ne": p}}),
        "list(time)": lambda p: memory.list({"at": {"$gte": p}}),
        "count(value)": lambda p: memory.count({"text": p, "session": p, "id": p, "fingerprint": p}),
        "timeline(around)": lambda p: memory.timeline(p),
        "context": lambda p: memory.context(p, budget=100),
    }


def ways_to_write(memory: Memory) -> dict[str, Callable[[str], object]]:
    """Every parameter that takes a text, on the writing side."""
    said = ("title", "session", "role", "speaker", "agent", "task", "season", "user", "key", "kind", "scope")
    ways: dict[str, Callable[[str], object]] = {
        f"remember({name}=)": lambda p, name=name: memory.remember(f"Said with {name} {p}", **{name: p})  # type: ignore[misc]
        for name in said
    }
    return ways | {
        "remember(text)": lambda p: memory.remember(p),
        "remember(tags=)": lambda p: memory.remember(f"Tagged {p}", tags=[p], files=[p]),
        "remember(data=)": lambda p: memory.remember(f"With data {p}", data={p: [p, {p: p}]}),
        "revise": lambda p: memory.revise(1, p, title=p, because=p),
        "revise(kind=)": lambda p: memory.revise(1, kind=p),
        "tag": lambda p: memory.tag(1, p, remove=[p[::-1]]),
        "link(evidence=)": lambda p: memory.link(1, 2, evidence=p),
        "link(kind=)": lambda p: memory.link(1, 2, p),  # type: ignore[arg-type]
        "feedback": lambda p: memory.feedback(1, p),
        "forget(because=)": lambda p: memory.forget(3, because=p),
        "restore(because=)": lambda p: memory.restore(3, because=p),
        "forget(id)": lambda p: memory.forget(p),
    }


def shape(path: Path) -> tuple[list[Any], dict[str, int]]:
    """The schema's text and how many rows each table of ours has."""
    one = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        schema = one.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").fetchall()
        tables = [name for kind, name, *_ in schema if kind == "table" and not name.startswith("word_")]
        return schema, {name: one.execute(f"SELECT count(*) FROM {name}").get for name in tables if name != "recalls"}
    finally:
        one.close()


@pytest.mark.covers("Z9")
def test_no_payload_in_a_reading_parameter_changes_anything(small: Memory, path: Path) -> None:
    for fact in FACTS:  # what is shown is counted, and all of them have been
        small.recall(fact, min_relevance=0)
    small._writer.flush()
    before = shape(path)
    texts = [record.text for record in small.list()]
    ways = ways_to_read(small)
    for payload in payloads(rounds(500, 0.06)):
        for way in ways.values():
            answer_or_clear_error(way, payload)
    assert shape(path) == before
    assert [record.text for record in small.list()] == texts


def answer_or_clear_error(way: Callable[[str], object], payload: str) -> None:
    try:
        way(payload)
    except MemoristError as problem:
        assert "SQL" not in str(problem).replace(payload[:60], ""), problem


@pytest.mark.covers("Z9")
def test_a_payload_is_stored_as_it_is_said_and_finds_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember_many(list(FACTS))
        schema = shape(path)[0]
        for number, payload in enumerate(payloads(rounds(500, 0.06))):
            text = f"Line {number} says {payload}"
            outcome = memory.remember(text, title=payload.strip() or None, tags=["typed"], data={"typed": payload})
            record = memory.get(outcome.id or "")
            assert (record.text, record.data) == (text, {"typed": payload})
            assert {found.id for found in memory.list({"text": text})} == {record.id}
            assert record.id in {found.id for found in memory.list({"data.typed": payload})}
            assert all(found.data["typed"] == payload for found in memory.list({"data.typed": payload}))
        assert shape(path)[0] == schema
        assert memory.audit().ok


@pytest.mark.covers("Z9")
def test_no_payload_in_a_writing_parameter_reaches_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember_many(list(FACTS))
        schema = shape(path)[0]
        ways = ways_to_write(memory)
        for payload in payloads(max(len(SEEDS), rounds(500, 0.036))):
            for way in ways.values():
                answer_or_clear_error(way, payload)
        assert shape(path)[0] == schema
        assert memory.audit().ok
        assert [finding for finding in memory.doctor() if not finding.ok] == []
        kept = {record.number: record.text for record in memory.list({"number": {"$lte": len(FACTS)}})}
        assert {2: FACTS[1], 4: FACTS[3], 5: FACTS[4], 6: FACTS[5]}.items() <= kept.items(), (
            "nobody asked to change those"
        )


@pytest.mark.covers("Z9", "W0-9")
@pytest.mark.parametrize(
    "name", ["__class__", "__dict__", "times.at", "r.text", "rowid", "key", "checksum", "TEXT", ""]
)
def test_a_field_or_an_order_that_is_not_on_the_list_is_refused_with_the_list(small: Memory, name: str) -> None:
    with pytest.raises(Invalid, match=r"there is no field .*; fields are id, number, scope"):
        small.list({name: 1})
    with pytest.raises(Invalid, match=r"cannot sort by .*; sort keys are id, number, scope"):
        small.list(order=name)


@pytest.mark.covers("Z9")
@pytest.mark.parametrize("operator", ["$where", "$regex", "$like", "eval", "__eq__", "$", "==", "$EQ"])
def test_an_operator_that_is_not_on_the_list_is_refused_with_the_list(small: Memory, operator: str) -> None:
    with pytest.raises(Invalid, match=r"there is no operator .*; operators are \$eq, \$ne"):
        small.list({"kind": {operator: "fact"}})


@pytest.mark.covers("Z9")
@pytest.mark.parametrize("sign", ["%", "_", "\\", "*", "?", "[a-z]", "fact%", "f_ct"])
def test_wildcards_mean_themselves_in_filters(small: Memory, sign: str) -> None:
    assert small.list({"kind": sign}) == []
    assert small.count({"text": sign}) == 0
    with pytest.raises((NotFound, Invalid)):
        small.get(sign)


@pytest.mark.covers("Z9")
@pytest.mark.parametrize(
    "filter",
    [
        {"kind": {"$in": [f"kind {n}" for n in range(5000)]}},
        {"data.list": [f"value {n}" for n in range(5000)]},
        {"tags": [f"tag {n}" for n in range(5000)]},
        {f"data.key{n}": n for n in range(2000)},
        {"number": {"$in": list(range(100_000))}},
    ],
    ids=["5000 kinds", "5000 values of data", "5000 tags", "2000 keys", "100000 numbers"],
)
def test_a_filter_of_thousands_is_answered_or_refused_in_words(small: Memory, filter: dict[str, Any]) -> None:
    try:
        found = small.list(filter)
    except Invalid as problem:
        assert "filter" in str(problem)
    else:
        assert len(found) in (0, len(FACTS))


@pytest.mark.covers("Z9")
def test_a_filter_nested_without_end_is_refused_in_words(small: Memory) -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Invalid):
        small.list({"data.deep": deep})
