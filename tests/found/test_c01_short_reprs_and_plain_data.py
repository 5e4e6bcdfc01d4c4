"""C1: values of the library are short to look at, plain to hand on, hashable, and true only where they should be."""

import inspect
import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from memorist import Access, Context, Draft, Hit, Link, Memory, Outcome, Recall, Record
from memorist.access import access_for
from memorist.files.transfer import import_files
from memorist.noun import Noun, spread
from memorist.records import Report
from memorist.store.journal import Audit
from memorist.store.nouns import Diagnosis
from memorist.testing import MovableClock
from surfaces.conftest import Cli

pytestmark = pytest.mark.covers("C1")

LONG = "Staging runs Postgres 16 behind the old proxy, which " + "really " * 200 + "matters"
HOSTILE = "postgres <script>alert('x')</script>\x1b[2J\u202eevil\u200b & \"more\""


@pytest.fixture
def memory(clock: MovableClock) -> Iterator[Memory]:
    with Memory(":memory:", clock=clock) as memory:
        yield memory


@pytest.fixture
def filled(memory: Memory) -> Memory:
    for number in range(8):
        memory.remember(f"{LONG} {number}", kind="decision", tags=["db"], data={"step": number})
    return memory


def test_a_recall_is_a_few_short_lines(filled: Memory) -> None:
    found = filled.recall("what does staging run?", limit=5)
    assert len(found) == 5
    lines = repr(found).splitlines()
    assert len(lines) == 6 and max(map(len, lines)) <= 120
    assert "what does staging run?" in lines[0] and all("Staging runs Postgres 16" in line for line in lines[1:])
    more = filled.recall("what does staging run?", limit=8)
    assert len(repr(more).splitlines()) == 7 and "and 3 more" in repr(more)


def test_an_empty_recall_says_why(filled: Memory) -> None:
    found = filled.recall("zebra")
    assert not found and found.empty_because is not None
    assert repr(found).startswith("<Recall 'zebra': nothing; ") and "\n" not in repr(found)


def test_everything_else_is_one_line(filled: Memory) -> None:
    answer = filled.recall("what does staging run?")
    context = filled.context("what does staging run?")
    outcome = filled.remember("Lunch is at noon")
    swept = filled.forget(where={"kind": "fact"})
    shown = (answer[0], answer[0].record, context, outcome, swept, answer.trace[0], filled.history(1)[0], filled)
    for value in shown:
        said = repr(value)
        assert "\n" not in said and len(said) <= 260, said
        assert said.startswith(f"<{type(value).__name__} ")
    assert repr(answer[0].record) in repr([answer[0].record])
    assert "[id:" in repr(answer[0]) and "decision" in repr(answer[0])
    assert repr(outcome).startswith("<Outcome added [id:9] fact “Lunch is at noon”: ")


def test_a_memory_says_which_it_is(tmp_path: Path) -> None:
    with Memory(tmp_path / "me.db", project="atlas") as memory:
        assert repr(memory) == f"<Memory {tmp_path / 'me.db'}, project/atlas, design balanced>"


def test_what_a_repr_shows_neither_moves_a_cursor_nor_hides(memory: Memory) -> None:
    memory.remember(HOSTILE)
    for value in (memory.recall("postgres"), memory.get(1), memory.context("postgres"), memory.recall(HOSTILE)):
        assert value and not {"\x1b", "\u202e", "\u200b"} & set(repr(value))
    memory.remember("We ❤️ postgres")
    assert "❤️" in repr(memory.get(2)), "an emoji is not hidden text"


# ---------------------------------------------------------------- notebooks


def test_a_notebook_shows_a_table_with_everything_escaped(memory: Memory) -> None:
    memory.remember(HOSTILE, tags=["<b>tag</b>"], title="<i>title</i>")
    found = memory.recall("postgres")
    shown = found._repr_html_()
    assert shown.startswith("<table>") and shown.count("<tr>") == 2
    for value in (
        found,
        found[0],
        found[0].record,
        memory.context("postgres"),
        memory.remember(HOSTILE),
        found.trace[0],
    ):
        table = value._repr_html_()
        assert ("<table>" in table and "&lt;" in table) or value is found.trace[0]
        for raw in ("<script", "<b>", "<i>", "\x1b", "\u202e", "\u200b", "alert('"):
            assert raw not in table


def test_a_cell_of_a_notebook_is_for_people(filled: Memory) -> None:
    for name, value in all_nouns(filled).items():
        table = value._repr_html_()
        assert not [part for part in ("{", "[&quot;", "null", "datetime(") if part in table], name
    report = filled.forget(where={"kind": "decision"}, dry_run=True)._repr_html_()
    assert "forgotten, dry run" in report and "<td>[id:1]</td>" in report
    assert "]</td><td>Staging runs" in filled.context("what does staging run?")._repr_html_()


def test_every_answer_of_a_verb_is_one_short_line(filled: Memory, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(f"# Notes\n\n- {LONG}\n- {HOSTILE}\n", encoding="utf-8")
    dry = import_files(filled, [tmp_path / "notes.md"], dry_run=True)
    done = import_files(filled, [tmp_path / "notes.md"])
    assert json.loads(json.dumps(done.to_dict())) == done.to_dict() and hash(done)
    nouns = all_nouns(filled)
    for value in (dry, done, *(nouns[name] for name in ("weighed", "pending", "diagnosis", "audit", "holding"))):
        said = repr(value)
        assert (
            said.startswith(f"<{type(value).__name__} ")
            and len(said) <= 260
            and "\n" not in said
            and "\x1b" not in said
        )


def test_a_notebook_shows_why_nothing_was_found(memory: Memory) -> None:
    memory.remember("Lunch is at noon")
    found = memory.recall("zebra")
    assert str(found.empty_because)[:40] in found._repr_html_()


# ---------------------------------------------------------------- shortcuts


def test_a_hit_has_what_one_reaches_for(filled: Memory) -> None:
    hit = filled.recall("what does staging run?")[0]
    assert (hit.text, hit.id, hit.kind, hit.number) == (
        hit.record.text, hit.record.id, hit.record.kind, hit.record.number,
    )  # fmt: skip


def test_so_has_an_outcome(memory: Memory) -> None:
    outcome = memory.remember("Lunch is at noon")
    assert (outcome.text, outcome.kind, outcome.number) == ("Lunch is at noon", "fact", 1)
    refused = memory.remember("AKIA" + "Q3EGR7TSTNOV2XYZ")
    assert (refused.text, refused.kind, refused.number) == (None, None, None)


# ---------------------------------------------------------------- plain data


def all_nouns(memory: Memory) -> dict[str, Any]:
    """An example of everything that a verb answers with."""
    memory.remember("We must always use tabs in Go")
    memory.remember("We must never use tabs in Go")
    memory.link(1, 2, evidence="the vote")
    memory.extract("We decided to use Postgres 16 for staging.", session="s1")
    memory.through(replace(memory.access, origin="agent")).remember("I prefer tea", kind="preference", scope="global")
    answer = memory.recall("what does staging run?")
    found: dict[str, Any] = {
        "recall": answer, "hit": answer[0], "record": memory.get(1), "step": answer.trace[0], "signal": answer[0].signals[0],
        "context": memory.context("staging"), "outcome": memory.remember("Lunch is at noon"), "link": memory.links(1)[0],
        "event": memory.history(1)[0], "report": memory.forget(where={"kind": "note"}, dry_run=True),
        "planned": memory.forget(where={"kind": "decision"}, dry_run=True).changed[0], "audit": memory.audit(),
        "diagnosis": memory.doctor()[0], "weighed": memory.promote(dry_run=True)[0],  # type: ignore[index]
        "holding": memory.projects()[0], "dispute": memory.conflicts()[0], "pending": memory.review()[0],  # type: ignore[index]
        "draft": Draft("x", tags=["a"], data={"a": 1}, at="2026-05-01"), "access": memory.access,
    }  # fmt: skip
    return found


def test_every_noun_is_plain_data_on_request(filled: Memory) -> None:
    for name, value in all_nouns(filled).items():
        assert isinstance(value, Noun) and is_dataclass(value), name
        said = value.to_dict()
        assert {field.name for field in fields(value)} <= set(said), name
        assert json.loads(json.dumps(said)) == said, name
        assert json.dumps([value], default=spread) == json.dumps([said]), name
        assert value._repr_html_().startswith("<table>")


def test_times_and_bytes_are_texts(filled: Memory) -> None:
    record, event = filled.get(1), filled.history(1)[0]
    assert record.to_dict()["times"]["at"] == record.times.at.isoformat()
    assert event.to_dict()["mac"] == event.mac.hex()
    assert record.to_dict()["data"] == {"step": 0}


PRINTED = {
    "get": ["get", "1"], "list": ["list", "--all"], "timeline": ["timeline"], "history": ["history", "1"], "links": ["links", "1"],
    "conflicts": ["conflicts"], "audit": ["audit"], "review": ["review"], "promote": ["promote", "--dry-run"],
    "forget": ["forget", "--kind", "decision"], "unpin": ["unpin", "1"], "recall": ["recall", "what does staging run?"],
    "explain": ["explain", "what does staging run?"], "context": ["context", "what does staging run?"],
    "projects": ["project", "list"], "doctor": ["doctor"], "remember": ["remember", "Lunch is at one"], "undo": ["undo"],
    "remember_many": ["remember", "--batch"], "extract": ["extract", "We decided to use Redis.", "--session", "s2"],
    "revise": ["revise", "1", "Staging runs Postgres 17"], "erase": ["erase", "1", "--yes"], "upkeep": ["upkeep"],
}  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Cli:
    with Memory(tmp_path / "me.db", project="atlas") as memory:
        for number in range(3):
            memory.remember(f"{LONG} {number}", kind="decision", tags=["db"], data={"step": number})
        all_nouns(memory)
    return Cli(tmp_path)


@pytest.mark.parametrize("verb", PRINTED)
def test_the_command_line_prints_what_to_dict_gives(shop: Cli, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, real = [], getattr(Memory, verb)

    def spied(*arguments: Any, **named: Any) -> Any:
        answers.append(real(*arguments, **named))
        return answers[-1]

    spied.__signature__ = inspect.signature(real)  # type: ignore[attr-defined]
    monkeypatch.setattr(Memory, verb, spied)
    place = ["--db", str(shop.folder / "me.db"), "--project", "atlas"]
    ended = shop.inside(*PRINTED[verb], *place, "--json", stdin="Tea is at four\n")
    answer = answers[-1]
    said = [each.to_dict() for each in answer] if isinstance(answer, list) else answer.to_dict()
    assert said and ended.json == said


def test_an_outcome_says_where_its_memory_lies(memory: Memory) -> None:
    outcome = memory.remember("Lunch is at one", user="ann")
    assert outcome.scope == outcome.to_dict()["scope"] == "user/ann"
    assert Outcome("refused", "no").scope is None


def test_an_outcome_says_where_its_memory_would_have_gone(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = memory.through(replace(memory.access, origin="agent"))
    assert agent.remember("I prefer tea", kind="preference", scope="global").scope == "global"
    assert memory.remember("AKIA" + "Q3EGR7TSTNOV2XYZ", user="ann").scope == "user/ann"
    monkeypatch.setenv("MEMORIST_OFF", "1")
    assert memory.remember("Lunch is at one").to_dict()["scope"] == "project/default"


# ---------------------------------------------------------------- hashes


def test_records_and_hits_can_be_in_sets(filled: Memory) -> None:
    record, again = filled.get(1), filled.get(1)
    assert record == again and record is not again and hash(record) == hash(again)
    assert {record, again, filled.get(2)} == {record, filled.get(2)}
    answer = filled.recall("what does staging run?")
    assert len({*answer, *answer}) == len(answer)
    other = replace(record, data={"step": 99})
    assert other != record and len({record, other}) == 2, "what differs in its data alone is another value"


def test_every_answer_can_be_hashed(filled: Memory) -> None:
    for name, value in all_nouns(filled).items():
        if name != "draft":  # which holds what the caller gave, lists too
            assert hash(value) == hash(replace(value)), name


# ---------------------------------------------------------------- truth


def test_an_outcome_is_true_where_it_is_as_was_asked_for(memory: Memory) -> None:
    agent = memory.through(replace(memory.access, origin="agent"))
    added, again = memory.remember("Lunch is at noon"), memory.remember("Lunch is at noon")
    asked = agent.remember("I prefer tea", kind="preference", scope="global")
    assert (added.outcome, bool(added)) == ("added", True)
    assert (again.outcome, bool(again)) == ("reinforced", True)
    assert (memory.unpin(1).outcome, bool(memory.unpin(1))) == ("unchanged", True)
    assert (asked.outcome, bool(asked)) == ("needs_consent", False)
    refused = memory.remember("AKIA" + "Q3EGR7TSTNOV2XYZ")
    assert (refused.outcome, bool(refused)) == ("refused", False)


def test_a_report_that_waits_is_false(clock: MovableClock) -> None:
    with Memory(":memory:", clock=clock, access=access_for("project", "project/default")) as memory:
        for number in range(5):
            memory.remember(f"{LONG} {number}")
        waits = memory.forget(where={"scope": "project/default"})
        assert waits.pending and not waits and memory.count() == 5
        assert memory.forget(where={"kind": "fact"}, dry_run=True)


def test_answers_are_true_where_there_is_something_or_all_is_well(filled: Memory) -> None:
    assert filled.recall("what does staging run?") and not filled.recall("zebra")
    assert filled.context("what does staging run?") and not filled.context("zebra", inject="pull")
    assert filled.audit() and all(filled.doctor())
    assert not Audit(False, 1, 1, ("broken",)) and not Diagnosis(False, "index", "wrong")


def test_the_public_names_are_nouns() -> None:
    for noun in (Access, Context, Draft, Hit, Link, Outcome, Recall, Record, Report):
        assert issubclass(noun, Noun)
