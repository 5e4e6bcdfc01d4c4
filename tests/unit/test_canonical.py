"""Promise G5: an export is whole and returns. Two stores hold the same if their canonical forms are equal to the byte."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.errors import Invalid, MemoristError
from memorist.files.transfer import export, export_canonical, import_files
from memorist.records import Record
from memorist.surfaces.cli.app import run
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("G5", "S1-18")
Step = tuple[Any, ...]


def users(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="user"))


def canonical(memory: Memory, **where: Any) -> str:
    return "".join(export_canonical(memory, where or None, everything=True))


def exported(memory: Memory, file: Path) -> Path:
    file.write_text("".join(export(memory, everything=True)), encoding="utf-8", newline="")
    return file


@pytest.fixture
def memory(clock: MovableClock) -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", clock=clock, embed="none") as memory:
        yield memory


@pytest.fixture
def empty(clock: MovableClock) -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", clock=clock, embed="none") as memory:
        yield memory


def a_day(memory: Memory) -> None:
    """Turns, calls, a note, a narrative that continues another, tasks of which one waits for the other, and links."""
    with memory.session("monday", agent="coder") as session:
        session.turn("user", "Where does the deploy script lie?", id="m1")
        session.tool_call("grep", {"q": "deploy"}, id="t1")
        session.tool_result("t1", "tools/deploy.sh")
        session.turn("assistant", "In tools/", id="m2")
        session.note("The deploy script lies in tools/")
    turns = [turn.id for turn in memory.list({"kind": "turn"}, order="-number")]
    first = memory.remember("We looked for the script", kind="narrative", title="Deploys", data={"memories": turns})
    then = {"memories": [], "previous": first.id}
    memory.remember("We found it", kind="narrative", title="Deploys", data=then, session="monday")
    task = memory.remember("Write it down", kind="task", title="Docs", data={"status": "open", "blocked_by": []})
    waits = {"status": "open", "priority": "high", "milestone": "one", "criteria": ["it runs"], "blocked_by": [task.id]}
    other = memory.remember("Run it nightly", kind="task", title="Nights", data=waits)
    memory.link(str(task.id), str(first.id), "derived_from", weight=0.5, evidence="said there")
    users(memory).remember("Deploys happen on Fridays", kind="decision", pinned=True)
    users(memory).feedback(str(other.id), "useful")


def test_sessions_narratives_tasks_and_their_links_return(memory: Memory, empty: Memory, tmp_path: Path) -> None:
    a_day(memory)
    form, file = canonical(memory), exported(memory, tmp_path / "all.jsonl")
    kinds = {json.loads(line).get("kind") for line in form.splitlines()}
    assert {"turn", "session", "note", "narrative", "task", "decision"} <= kinds and '"link": "derived_from"' in form
    done = import_files(users(empty), [file], own=True)
    assert not done.problems and canonical(empty) == form
    assert users(empty).undo(done.batch).changed and empty.count() == 0


def test_another_store_keeps_what_it_was_and_acts_on_the_lowered_one(
    memory: Memory, empty: Memory, tmp_path: Path
) -> None:
    a_day(memory)
    form, file = canonical(memory, state="active"), exported(memory, tmp_path / "all.jsonl")
    import_files(empty, [file])
    assert {(record.origin, record.trust, record.status) for record in empty.list(limit=100)} == {
        ("import", "low", "candidate")
    }
    assert canonical(empty) == form


def test_what_was_touched_here_is_what_it_is_here(memory: Memory, empty: Memory, tmp_path: Path) -> None:
    memory.remember("Alpha lies north", tags=["a"])
    users(memory).pin(1)
    form = canonical(memory)
    import_files(empty, [exported(memory, tmp_path / "all.jsonl")])
    assert canonical(empty) == form
    empty.tag(1, "b")
    [_, line] = canonical(empty).splitlines()
    assert (json.loads(line)["origin"], json.loads(line)["pinned"]) == ("import", False)


def test_an_import_that_a_user_adopts_has_the_origin_trust_and_status_that_it_had(
    memory: Memory, empty: Memory, tmp_path: Path
) -> None:
    memory.remember("An agent found this out")
    users(memory).remember("The user said that", pinned=True)
    memory.through(replace(memory.access, origin="tool")).remember("A tool returned it")
    before = {r.text: (r.origin, r.trust, r.status) for r in memory.list()}
    assert len(set(before.values())) == 3
    done = import_files(empty, [exported(memory, tmp_path / "all.jsonl")])
    users(empty).review(done.batch, decide="approve")
    assert {r.text: (r.origin, r.trust, r.status) for r in empty.list()} == before
    assert not any(record.pinned for record in empty.list()), "what others pinned, a user pins by hand"
    assert empty.audit().ok


def test_what_a_file_says_of_itself_counts_for_nothing_where_it_makes_no_sense(empty: Memory, tmp_path: Path) -> None:
    told = {"origin": "god", "trust": "absolute", "status": "confirmed"}
    line = {"id": "m" + "0" * 26, "scope": "project/atlas", "kind": "fact", "text": "x", "state": "active",
            "data": {"exported": told}}  # fmt: skip
    lines = [{"memorist": "export", "version": 2}, line, {"memorist": "end", "count": 1}]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    done = import_files(empty, [tmp_path / "e.jsonl"])
    users(empty).review(done.batch, decide="approve")
    assert (empty.get(1).origin, empty.get(1).trust) == ("user", "high"), "it is the word of the user who agreed"


def test_the_canonical_form_is_for_comparing_and_is_not_read(memory: Memory, tmp_path: Path) -> None:
    memory.remember("Alpha lies north")
    (tmp_path / "c.jsonl").write_text(canonical(memory))
    with pytest.raises(Invalid, match="is not an export"):
        import_files(users(memory), [tmp_path / "c.jsonl"], own=True)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.db", "b.db"):
        db = ["--db", str(tmp_path / name), "--project", "atlas"]
        if name == "a.db":
            run(["remember", "Alpha lies north", *db])
            run(["export", str(tmp_path / "all.jsonl"), *db])
        else:
            run(["import", str(tmp_path / "all.jsonl"), *db])
        capsys.readouterr()
        assert run(["export", str(tmp_path / f"{name}.canonical"), "--style", "canonical", *db]) == 0
        assert "exported 1 memory to" in capsys.readouterr().out
    assert (tmp_path / "a.db.canonical").read_bytes() == (tmp_path / "b.db.canonical").read_bytes()


def test_a_copy_names_the_copies(memory: Memory, tmp_path: Path) -> None:
    first = memory.remember("We looked", kind="narrative", title="A")
    memory.remember(
        "We found", kind="narrative", title="A", data={"previous": first.id, "memories": [first.id, "else"]}
    )
    import_files(memory, [exported(memory, tmp_path / "all.jsonl")], scope="project/atlas")
    assert memory.count({"kind": "narrative"}) == 2, "where it lies already it is no copy"
    import_files(memory, [exported(memory, tmp_path / "two.jsonl")], scope="user/ann")
    copied = {record.text: record for record in memory.list({"scope": "user/ann"})}
    named = copied["We found"].data
    assert named["previous"] == copied["We looked"].id and named["memories"] == [copied["We looked"].id, "else"]


# ---------------------------------------------------------------- 200 random stores

TEXT = st.text(min_size=1, max_size=30).filter(lambda text: text.strip() != "")
PICK = st.integers(0, 40)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("remember"), TEXT, st.sampled_from(["fact", "decision", "preference", "note", "entity"])),
    st.tuples(st.just("talk"), st.sampled_from(["s1", "s2"]), TEXT, st.sampled_from(["user", "assistant"])),
    st.tuples(st.just("call"), st.sampled_from(["s1", "s2"]), TEXT),
    st.tuples(st.just("tell"), TEXT, PICK),
    st.tuples(st.just("plan"), TEXT, PICK),
    st.tuples(st.just("revise"), PICK, TEXT),
    st.tuples(st.just("forget"), PICK),
    st.tuples(st.just("restore"), PICK),
    st.tuples(st.just("pin"), PICK),
    st.tuples(st.just("feedback"), PICK, st.sampled_from(["useful", "wrong"])),
    st.tuples(st.just("link"), PICK, PICK, st.sampled_from(["relates_to", "derived_from", "supersedes"])),
    st.tuples(st.just("erase"), PICK),
)


def talk(memory: Memory, id: str, text: str, role: str) -> None:
    with memory.session(id) as session:
        session.turn(role, text)


def call(memory: Memory, id: str, text: str) -> None:
    with memory.session(id) as session:
        session.tool_call("tool", {"q": text}, id=text[:20])
        session.tool_result(text[:20], text)


ACTS: dict[str, Callable[..., object]] = {
    "remember": lambda memory, ids, text, kind: memory.remember(text, kind=kind),
    "talk": lambda memory, ids, id, text, role: talk(memory, id, text, role),
    "call": lambda memory, ids, id, text: call(memory, id, text),
    "tell": lambda memory, ids, text, place: memory.remember(
        text, kind="narrative", title=text[:9].strip() or "x", data={"memories": ids[:3], "previous": _at(ids, place)}
    ),
    "plan": lambda memory, ids, text, place: memory.remember(
        text, kind="task", data={"status": "open", "blocked_by": [_at(ids, place)]}
    ),
}


def _at(ids: list[str], place: int) -> str | None:
    return ids[place % len(ids)] if ids else None


def act(memory: Memory, step: Step, records: list[Record]) -> None:
    verb, *rest = step
    ids = [record.id for record in records]
    if verb in ACTS:
        ACTS[verb](memory, ids, *rest)
    elif ids:
        getattr(memory, verb)(*(ids[each % len(ids)] if isinstance(each, int) else each for each in rest))


@settings(max_examples=rounds(200, 0.06), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.booleans(), STEPS), max_size=40))
def test_any_store_comes_out_goes_in_and_comes_out_the_same(steps: list[Any], tmp_path: Path) -> None:
    clock = MovableClock()
    with Memory(":memory:", project="atlas", clock=clock, embed="none") as memory:
        for by_user, step in steps:
            clock.move(seconds=7)
            records = memory.list({"state": {"$ne": "erased"}}, order="-number", limit=1000)
            try:
                act(users(memory) if by_user else memory, step, records)
            except MemoristError:
                continue
        form, file = canonical(users(memory)), exported(users(memory), tmp_path / "all.jsonl")
    with Memory(":memory:", project="atlas", clock=clock, embed="none") as memory:
        done = import_files(users(memory), [file], own=True)
        assert done.problems == () and canonical(users(memory)) == form and memory.audit().ok
        assert set(import_files(users(memory), [file], own=True).outcomes) <= {"unchanged"}
