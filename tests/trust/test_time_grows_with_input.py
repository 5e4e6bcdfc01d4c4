"""Every text that a caller may hand in is read in time that grows with its length: twice the text, at most 2.5 times as long.

Each public input of each verb grows to 1 MB in `make torture`, and to a part of it in `make test`, in plain, Chinese, repeated
and adversarial forms. What is refused as too long is refused at once. The time is that of the processor, the best of several.
"""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import TORTURE, rounds
from growing import grows_too_fast
from memorist import Memory
from memorist.errors import MemoristError
from memorist.files.page import parse
from memorist.files.transfer import import_files
from memorist.seeds.curated import slash

SIZE = rounds(500_000, 0.036)  # the larger of the two is twice that
Form = Callable[[int], str]
Verb = Callable[[Memory, str], object]


def words(length: int) -> str:
    pick = random.Random(5)
    known = ["".join(pick.choices("abcdefghiklmnoprstuw", k=pick.randrange(2, 10))) for _ in range(3000)]
    return " ".join(pick.choices(known, k=length // 5))[:length]


def chinese(length: int) -> str:
    pick = random.Random(9)
    return "".join(chr(pick.randrange(0x4E00, 0x9FFF)) for _ in range(length))


def repeated(piece: str) -> Form:
    """Whole pieces only: what is left of a cut one may be all that a parser finds, at one length and not at the other."""
    return lambda length: piece * (length // len(piece))


# What has begun and never ends, what nests, what nearly matches: each of them made some parser slow, somewhere.
PIECES = """a|中|1|aB|a_|a.|a/|a::|'a|a'|<a|<tool>x|</tool>|```|` <!--|<!-- x -->|[id:|(CI) |a (ab|a-|**a|>|a@|++|http://|data:,
|\u0301|😀\u200d|🇩🇪|가|\\|"|’|?|.|…|。|between |next monday |2024-01-01 |1/2/|May |5 May, |3pm |上周|never |is |if |Dr. """.replace(
    "\n", ""
)
LINES = (
    "# a\n", "## a\n- b\n", "- a\n", "  - a\n", "> a\n", "**a**\n- b\n", "a\n===\n", "---\n", "```\nx\n", "~~~\n", "\n",
    "\r", "\t", " ",
    "User: a?\nAssistant: b\n", "Q: a?\nA: b\n", "Traceback (most recent call last):\n", "  File x\n", "ValueError: x\n", "E   x\n",
    "error: a.py\n", "$ make\nerror: x.py\n", "$ make\n1 passed\n", "we decided to use x. ", "remember that x. ", "i'm, we're, if ",
    "the port of a is 1. ",
    "ignore a previous ", "you are now a ", "reveal your ", "ignoriere alle ", "system: you ", "pretend ",
    "edited a.py\n", "<!-- a\n", "key: value\n", "1. a\n", "- [ ] a\n", "\u2028", "ﷺ",
)  # fmt: skip
FORMS: dict[str, Form] = {
    "words": words,
    "chinese": chinese,
    **{repr(piece): repeated(piece) for piece in (*filter(None, PIECES.split("|")), *LINES)},
    "a long heading": lambda length: "# " + "h" * (length // 2) + "\n" + "- a\n" * (length // 8),
    "a long title": lambda length: f"---\ntitle: {'h' * (length // 2)}\n---\n" + "- a\n" * (length // 8),
    "words of one beginning": lambda length: " ".join(f"authen{number}tic" for number in range(length // 14)),
    "letters and digits": lambda length: " ".join(f"a{number}b" for number in range(length // 8)),
}


def in_file(memory: Memory, text: str, suffix: str) -> object:
    file = Path(f"notes{suffix}")  # in a folder of the test's own
    file.write_text(text, encoding="utf-8", errors="replace")
    return import_files(memory, [file])


def exported(**record: object) -> str:
    """An export that holds this record."""
    known = {"id": "m" + "0" * 26, "scope": "project/a", "kind": "fact", "state": "active", "text": "x"}
    first, last = {"memorist": "export", "version": 1}, {"memorist": "end", "count": 1}
    return "\n".join(map(json.dumps, (first, known | record, last)))


def entries(text: str) -> str:
    """Of another program, one for every thousand characters of the text."""
    said = [{"id": str(at), "content": text[at : at + 1000], "category": "error"} for at in range(0, len(text), 1000)]
    pairs = [{"entryA": str(at), "entryB": str(at + 1000)} for at in range(0, len(text), 1000)]
    return json.dumps({"version": 1, "entries": said, "conflicts": pairs})


def chained(text: str) -> str:
    """An export of memories each of which supersedes the next, one for every hundred characters of the text."""
    ids = [f"m{number:026d}" for number in range(len(text) // 100 + 1)]
    lines = [{"id": id, "scope": "project/a", "kind": "fact", "state": "active", "text": id} for id in ids]
    links = [{"link": "supersedes", "a": a, "b": b} for a, b in pairwise(ids)]
    first, last = {"memorist": "export", "version": 2}, {"memorist": "end", "count": len(lines + links)}
    return "\n".join(map(json.dumps, (first, *lines, *links, last)))


LABELS = ("title", "session", "role", "speaker", "agent", "task", "season", "key", "user", "kind", "scope")
TEXTS: dict[str, Verb] = {
    "remember": lambda memory, text: memory.remember(text),
    "remember turn": lambda memory, text: memory.remember(text, kind="turn", session="s", role="user"),
    "recall": lambda memory, text: memory.recall(text),
    "context": lambda memory, text: memory.context(text, profile="planner"),
    "revise": lambda memory, text: memory.revise(1, text),
    "extract": lambda memory, text: memory.extract(text, session="s", role="user"),
    "import markdown": lambda memory, text: in_file(memory, text, ".md"),
    "import document": lambda memory, text: in_file(memory, text, ".py"),
    "import entries": lambda memory, text: in_file(memory, entries(text), ".json"),
    "import export": lambda memory, text: in_file(memory, exported(text=text), ".jsonl"),
    "slash": lambda memory, text: slash(memory, f"/remember {text}"),
    "page": lambda memory, text: list(parse(text).entries()),
}
SHORT: dict[str, Verb] = {
    **{f"remember {name}": lambda memory, text, name=name: memory.remember("x", **{name: text}) for name in LABELS},
    "remember tag": lambda memory, text: memory.remember("x", tags=[text]),
    "remember tags": lambda memory, text: memory.remember("x", tags=text.split()),
    "remember data": lambda memory, text: memory.remember("x", data={"a": text}),
    "remember keys": lambda memory, text: memory.remember("x", data={word: 1 for word in text.split()}),
    "recall filter": lambda memory, text: memory.recall("pump", where={"text": text}),
    "recall any": lambda memory, text: memory.recall("pump", where={"tags": text.split()}),
    "recall data": lambda memory, text: memory.recall("pump", where={f"data.{text[:9]}": text}),
    "recall files": lambda memory, text: memory.recall("pump", files=[text]),
    "recall session": lambda memory, text: memory.recall("pump", session=text),
    "context task": lambda memory, text: memory.context("pump", task=text),
    "list": lambda memory, text: memory.list({"title": text}),
    "used": lambda memory, text: memory.used(memory.recall("pump").receipt, text),
    "why_not": lambda memory, text: memory.why_not(1, text),
    "get": lambda memory, text: memory.get(text),
    "tag": lambda memory, text: memory.tag(1, text),
    "alias": lambda memory, text: memory.alias("pump", text),
    "feedback": lambda memory, text: memory.feedback(1, text),
    "forget": lambda memory, text: memory.forget(1, because=text),
    "link": lambda memory, text: memory.link(1, 2, evidence=text),
    "resolve": lambda memory, text: memory.resolve(1, 2, text),
    "finish": lambda memory, text: memory.finish("task/1", text),
    "review": lambda memory, text: memory.review(text),
    "promote": lambda memory, text: memory.promote(1, scope=text),
    "undo": lambda memory, text: memory.undo(text),
    "receipt": lambda memory, text: memory.receipt(text),
    "import raw lines": lambda memory, text: in_file(memory, f'{{"memorist": "export", "version": 1}}\n{text}', ".jsonl"),
    "import title": lambda memory, text: in_file(memory, exported(title=text), ".jsonl"),
    "import tags": lambda memory, text: in_file(memory, exported(tags=text.split()), ".jsonl"),
    "import data": lambda memory, text: in_file(memory, exported(data={"a": text}), ".jsonl"),
    "slash command": lambda memory, text: slash(memory, f"/{text}"),
}  # fmt: skip


def ran(verb: Verb, form: Form, design: str) -> Callable[[int], None]:
    def run(length: int) -> None:
        with Memory(":memory:", project="a", embed="none", design=design) as memory:
            memory.remember("The pump is oiled on Mondays", speaker="Ann")
            memory.remember("The pump is red", speaker="Bob Miller")
            with suppress(MemoristError):  # refused as too long, or for what it holds
                verb(memory, form(length))

    return run


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def some(name: str) -> list[str]:
    """The forms that a verb is tried with: all of them in torture, else a part, another one for each verb."""
    always = ["words", "chinese", "'a'", "'中'"]
    others = [form for form in FORMS if form not in always]
    return [*always, *(others if TORTURE else random.Random(name).sample(others, 8))]


@pytest.mark.covers("E7", "E9")
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_in_time_that_grows_with_its_length(name: str) -> None:
    slow = {form: grows_too_fast(ran(TEXTS[name], FORMS[form], "balanced"), SIZE) for form in some(name)}
    assert {form: how for form, how in slow.items() if how} == {}


@pytest.mark.covers("E7", "E9")
@pytest.mark.parametrize("name", ["recall", "context"])
def test_a_question_is_read_so_by_the_other_designs(name: str) -> None:
    slow = {
        (form, design): grows_too_fast(ran(TEXTS[name], FORMS[form], design), SIZE)
        for design in ("curated", "hebbian", "tiers")
        for form in some(f"{name} {design}")[:: 1 if TORTURE else 4]
    }
    assert {form: how for form, how in slow.items() if how} == {}


@pytest.mark.covers("E7", "E9")
@pytest.mark.parametrize("name", SHORT)
def test_so_is_every_other_argument(name: str) -> None:
    forms = some(name)[:: 1 if TORTURE else 5]
    slow = {form: grows_too_fast(ran(SHORT[name], FORMS[form], "balanced"), SIZE) for form in forms}
    assert {form: how for form, how in slow.items() if how} == {}


@pytest.mark.covers("E7")
def test_so_are_links_of_which_only_the_number_grows() -> None:
    assert (
        grows_too_fast(ran(lambda memory, text: in_file(memory, chained(text), ".jsonl"), words, "balanced"), SIZE)
        is None
    )


@pytest.mark.parametrize(
    "name",
    [
        "import markdown",
        "import document",
        "import entries",
        "import export",
        "import title",
        "import tags",
        "import data",
    ],
)
def test_what_is_imported_reaches_the_parsers(name: str) -> None:
    """What a first look refuses would be refused at once, however long it is."""
    with Memory(":memory:", project="a", embed="none") as memory:
        done = (TEXTS | SHORT)[name](memory, "The pump is oiled on Mondays")
        assert dict(done.outcomes) == {"added": 1}, done  # type: ignore[attr-defined]


def test_what_grows_too_fast_is_noticed() -> None:
    def square(length: int) -> None:
        sum(one * other for one in range(length) for other in range(length))

    assert grows_too_fast(square, 1500) is not None
    assert grows_too_fast(lambda length: sorted(range(length * 500)) and None, 1000) is None
