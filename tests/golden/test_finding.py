"""A question finds what answers it: in every script, within filters, whatever the query holds; and votes decide between equals."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.conftest import LAW
from golden.driver import BEGIN, DESIGNS, Clock, Invalid, Lib, at

SCRIPTS = {
    "来週の火曜日に東京で会議があります": ["東京", "会議", "火曜"],
    "我们把数据库迁移到了新的服务器": ["数据库", "服务器", "迁移"],
    "스테이징 데이터베이스는 포스트그레스입니다": ["데이터베이스", "포스트"],
    "ประชุมทีมวันอังคารหน้า": ["ประชุม", "อังคาร"],
    "The release went out 🎉 and everybody cheered 👩‍🚀": ["🎉", "👩‍🚀"],
    "We rewrote the parser in C": ["C", "parser C"],
    "The statistics are done in R": ["R"],
    "The engine itself is C++ and the tool is C#": ["C++", "C#"],
    "Le café préféré de Zoë est près de la gare": ["cafe", "prefere", "zoe"],
    "Call getUserById before createSession": ["getUserById", "user by id", "create session"],
    "The control is called gen-itgc in the audit": ["gen-itgc", "itgc"],
    "The entry point is src/app/main.py": ["src/app/main.py", "main.py", "app main"],
}


@pytest.mark.covers("W1-8", "W4-12", "W2-9")
def test_every_script_is_found_by_its_words(kept: Lib) -> None:
    kept.keep_many(list(SCRIPTS))
    for text, queries in SCRIPTS.items():
        for query in queries:
            found = kept.texts(query)
            assert text in (found if query in ("C", "R") else found[:1]), query


@pytest.mark.covers("W1-8")
@pytest.mark.parametrize("design", ["balanced", "hebbian"])
def test_a_word_of_every_memory_still_finds_them(design: str) -> None:
    with Lib(design=design) as lib:
        lib.keep_many(f"Caroline once lived in {city}" for city in ("Berlin", "Lagos", "Lima"))
        assert len(lib.find("Caroline")) == 3


HOSTILE = [
    '"', "'", "*", "NEAR(", "a AND", "-", "col:term", "(" * 2000, "a AND " * 500, "x" * 100_000, "\x00", "'; DROP TABLE", "%",
    "[id:1]", "^", "{}", "\\", "a OR NOT", '"a" "b', "/(a+)+$/", "?" * 300, "\u202e", "🎉" * 100, "", "   ",
]  # fmt: skip


@pytest.mark.covers("Z8", "Z9", "S1-16", "W2-9", "P20")
@pytest.mark.parametrize("design", DESIGNS)
def test_a_query_is_data_whatever_it_holds(design: str) -> None:
    with Lib(design=design, embed="none") as lib:
        lib.keep("Staging runs Postgres 16")
        for query in HOSTILE:
            try:
                lib.find(query)
                lib.prompt(query)
            except Invalid:
                continue
        assert lib.texts("postgres staging") == ["Staging runs Postgres 16"] and lib.call("audit").ok


@pytest.mark.covers("Z8")
@LAW
@given(st.text(max_size=80))
def test_no_query_is_an_error_of_the_engine(query: str) -> None:
    with Lib(embed="none") as lib:
        lib.keep("Staging runs Postgres 16")
        with suppress(Invalid):
            assert len(lib.look(query)) <= 1


@pytest.mark.covers("S1-16")
def test_operators_are_words_and_urls_hyphens_and_letters_are_understood() -> None:
    with Lib(design="hebbian") as lib:
        lib.keep_many(["The payment is late", "The api is slow", "The weather is fine and not bad"])
        assert set(lib.texts("payment AND NOT api", limit=9)) >= {"The payment is late", "The api is slow"}
        lib.keep("The control gen-itgc is red")
        assert lib.texts("see https://x.io/payment for gen itgc")[0] == "The control gen-itgc is red"


# ---------------------------------------------------------------- filters


def a_few(lib: Lib) -> Lib:
    for number, (kind, importance, tags) in enumerate(
        [("decision", 0.9, ["db"]), ("fact", 0.5, ["db", "api"]), ("note", 0.2, []), ("decision", 0.4, ["ui"])]
    ):
        lib.keep(f"Heron number {number + 1}", kind=kind, importance=importance, tags=tags, data={"n": number},
                 at=at(2025, 1, 1 + number))  # fmt: skip
    return lib


FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [1, 2, 3, 4]), ({"kind": "decision"}, [1, 4]), ({"kind": {"$in": ["decision", "note"]}}, [1, 3, 4]),
    ({"kind": {"$ne": "decision"}}, [2, 3]), ({"tags": ["db"]}, [1, 2]), ({"tags": ["ui", "api"]}, [2, 4]),
    ({"importance": {"$gte": 0.5}}, [1, 2]), ({"importance": {"$gt": 0.5}}, [1]), ({"importance": {"$lt": 0.4}}, [3]),
    ({"importance": {"$lte": 0.4}}, [3, 4]), ({"importance": {"$eq": 0.2}}, [3]),
    ({"kind": "decision", "importance": {"$gte": 0.5}}, [1]), ({"importance": {"$gt": 0.2, "$lt": 0.9}}, [2, 4]),
    ({"at": {"$gte": "2025-01-03T00:00:00Z"}}, [3, 4]), ({"data.n": 2}, [3]), ({"data.n": {"$gte": 2}}, [3, 4]),
    ({"number": {"$in": [1, 3]}}, [1, 3]), ({"session": "s1"}, []), ({"data.missing": {"$gte": 1}}, []),
]  # fmt: skip


@pytest.mark.covers("S0-3", "S0-4", "W0-9", "C0-6", "P20")
@pytest.mark.parametrize(("where", "numbers"), FILTERS, ids=repr)
def test_filters_mean_the_same_in_every_store_and_verb(kept: Lib, where: dict[str, Any], numbers: list[int]) -> None:
    a_few(kept)
    assert [row.number for row in kept.all(where)] == numbers
    assert kept.call("count", where) == len(numbers)
    assert sorted(kept.find("heron", where=where, limit=10, min_relevance=0).numbers) == numbers
    assert [each.number for each in kept.call("forget", where=where or {"kind": {"$ne": "x"}}, dry_run=True).changed] in (
        numbers, numbers[::-1],
    )  # fmt: skip


@pytest.mark.covers("W0-9", "Z9")
@pytest.mark.parametrize(
    "where", [{"__class__": 1}, {"kind; DROP": "x"}, {"importance": {"$near": 1}}, {"$where": "1"}, {"nothing": 1}]
)
def test_what_is_no_filter_is_an_error(lib: Lib, where: dict[str, Any]) -> None:
    a_few(lib)
    for act in (lib.all, lambda it: lib.find("heron", where=it), lambda it: lib.call("forget", where=it)):
        with pytest.raises(Invalid):
            act(where)
    with pytest.raises(Invalid):
        lib.all(order="importance; DROP TABLE")
    assert len(lib.all()) == 4


@pytest.mark.covers("S0-3")
@pytest.mark.parametrize(("order", "numbers"), [
    ("number", [4, 3, 2, 1]), ("-number", [1, 2, 3, 4]), ("importance", [1, 2, 4, 3]), ("-at", [1, 2, 3, 4]),
])  # fmt: skip
def test_a_list_is_in_the_order_that_is_asked_for(kept: Lib, order: str, numbers: list[int]) -> None:
    assert [row.number for row in a_few(kept).all(order=order)] == numbers
    assert [row.number for row in kept.all(order=order, limit=2)] == numbers[:2]


@pytest.mark.parametrize("limit", [0, -1, 10**9, "5", 2.5, True])
def test_a_limit_is_a_sensible_number(lib: Lib, limit: Any) -> None:
    with pytest.raises(Invalid):
        lib.find("heron", limit=limit)


@pytest.mark.covers("S2-18")
def test_where_to_look_chooses_what_is_found(kept: Lib) -> None:
    kept.keep("The heron is a fact")
    kept.keep([{"role": "user", "content": "I have seen the heron at the weir today"}], session="s1")
    kept.keep("A gone heron")
    kept.call("forget", kept.all()[-1].id if kept.all()[-1].text == "A gone heron" else 3)
    assert kept.texts("heron", search="archive", min_relevance=0) == ["A gone heron"]
    assert "I have seen the heron at the weir today" in kept.texts("heron weir", search="sessions", min_relevance=0)
    with pytest.raises(Invalid):
        kept.find("heron", search="everywhere")


# ---------------------------------------------------------------- what decides


@pytest.mark.covers("W1-2", "S1-7")
@pytest.mark.parametrize("design", ["balanced", "hebbian"])
def test_a_thousand_repetitions_and_votes_do_not_beat_a_clearly_better_match(design: str) -> None:
    with Lib(design=design, embed="none") as lib:
        popular = lib.keep("Postgres is mentioned here in passing").id
        lib.keep("Staging runs Postgres 16 on port 5433")
        for _ in range(200):
            lib.keep("Postgres is mentioned here in passing")
            lib.vote(popular)
        assert lib.texts("which port does Postgres use on staging?")[0] == "Staging runs Postgres 16 on port 5433"


@pytest.mark.covers("W1-2", "S1-21", "N1-13")
@pytest.mark.parametrize("design", ["balanced", "hebbian", "associative"])
def test_votes_decide_between_equal_matches(design: str) -> None:
    with Lib(design=design) as lib:
        ids = [lib.keep(f"A hint about the deploy script, by {name}").id for name in ("Ann", "Bob")]
        lib.vote(ids[0])
        asked = "any hint about the deploy script?"
        assert lib.find(asked)[0].id == ids[0]
        for _ in range(6):
            lib.vote(ids[0], "wrong")
        assert lib.find(asked)[0].id == ids[1]


@pytest.mark.covers("S4-14", "X9")
@pytest.mark.parametrize(("verdict", "counted"), [("useful", "up"), ("wrong", "down"), ("irrelevant", "rejected")])
def test_each_verdict_is_counted_for_itself_and_can_be_undone(kept: Lib, verdict: str, counted: str) -> None:
    kept.keep("Staging runs Postgres 16")
    done = kept.vote(1, verdict)
    row = kept.get(1)
    assert {name: getattr(row, name) for name in ("up", "down", "rejected")} == {
        name: int(name == counted) for name in ("up", "down", "rejected")
    }
    kept.call("undo", done.batch)
    assert getattr(kept.get(1), counted) == 0
    with pytest.raises(Invalid):
        kept.vote(1, "splendid")


@pytest.mark.covers("S4-24", "N4-10")
def test_nothing_found_is_an_answer_that_says_why(kept: Lib) -> None:
    kept.keep("Staging runs Postgres 16")
    found = kept.find("who repairs bicycles around here?")
    assert found == [] and found.empty and found.receipt
    assert kept.prompt("who repairs bicycles around here?").text == ""
    assert kept.call("why not", 1, "who repairs bicycles around here?")


@pytest.mark.covers("S1-1", "C3-1")
@pytest.mark.parametrize("design", DESIGNS)
def test_every_answer_says_why_and_is_the_same_again(design: str) -> None:
    with Lib(design=design, clock=Clock()) as lib:
        lib.keep_many(["Staging runs Postgres 16", "The canteen has soup", "Backups go to Oslo"])
        answers = [[(row.number, row.score) for row in lib.look("which database does staging run?")] for _ in range(3)]
        assert answers[0] == answers[1] == answers[2] and answers[0][0][0] == 1
        assert all(row.why for row in lib.look("which database does staging run?"))


@pytest.mark.covers("S3-13", "X2", "C3-7")
def test_an_alias_finds_both_ways_until_it_is_removed(place: Any) -> None:
    with Lib(place, design="curated", embed="none") as lib:
        lib.keep("Ask the Kraken before you ship")
        assert lib.texts("deployer") == []
        lib.call("alias", "deployer", "kraken")
        assert "deployer" in lib.call("aliases") and lib.texts("deployer") == ["Ask the Kraken before you ship"]
        lib.call("alias", "deployer", "kraken", remove=True)
        assert lib.texts("deployer") == []


@pytest.mark.covers("S0-24", "N2-8")
def test_a_time_in_the_question_narrows_it(lib: Lib, clock: Clock) -> None:
    lib.keep("We met at the weir", at=BEGIN)
    clock.move(days=40)
    lib.keep("We met at the mill", at=clock())
    clock.move(days=1)
    assert lib.texts("where did we meet yesterday?")[0] == "We met at the mill"


@pytest.mark.covers("N1-4", "X13")
def test_the_timeline_is_in_the_order_in_which_things_happened(kept: Lib) -> None:
    for day, text in ((3, "third"), (1, "first"), (2, "second")):
        kept.keep(text, at=at(2025, 5, day))
    assert sorted(kept.rows("timeline", limit=3).texts) == ["first", "second", "third"]
    seen = kept.rows("timeline").texts
    assert seen in (["first", "second", "third"], ["third", "second", "first"])
