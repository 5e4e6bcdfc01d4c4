"""B12, S3-32: no verb listed the journal. Now `Memory.log` and `memorist log` do, with filters, and tell of nothing that may not
be read."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from conftest import rounds
from memorist import Memory
from memorist.access import Access, access_for
from memorist.errors import Invalid, NotFound, OutOfScope, Refused
from memorist.records import Event
from memorist.testing import EVERYWHERE, MovableClock

pytestmark = pytest.mark.covers("B12", "S3-32")


def said(events: list[Event]) -> list[tuple[int, str]]:
    return [(event.seq, event.verb) for event in events]


# ---------------------------------------------------------------- what is listed


def test_everything_that_was_done_is_listed_in_order(memory: Memory, clock: MovableClock) -> None:
    memory.remember("Staging runs Postgres 16")
    memory.remember("Lunch is at noon")
    clock.move(days=1)
    memory.pin(1)
    memory.feedback(2, "wrong")
    memory.forget(2, because="nobody eats")
    assert said(memory.log()) == [(1, "added"), (2, "added"), (3, "pinned"), (4, "feedback"), (5, "forgotten")]
    last = memory.log(limit=1)[0]
    assert (last.record, last.because, last.at) == (memory.get(2).id, "nobody eats", clock())
    assert said(memory.log(limit=2)) == said(memory.log())[-2:], "the last ones"


def test_each_filter_leaves_out_what_it_says(memory: Memory, clock: MovableClock) -> None:
    start = clock()
    memory.remember("Staging runs Postgres 16")
    ann = memory.through(replace(memory.access, actor="ann", surface="mcp"))
    clock.move(days=1)
    ann.remember("Ann's own", scope="user/ann")
    clock.move(days=1)
    memory.pin(1)
    assert said(memory.log(since=start + timedelta(days=1))) == [(2, "added"), (3, "pinned")]
    assert said(memory.log(until=start + timedelta(days=1))) == [(1, "added")]
    assert said(memory.log(actor="ann")) == said(memory.log(surface="mcp")) == said(memory.log(scope="user/ann"))
    assert said(memory.log(actor="ann")) == [(2, "added")]
    assert said(memory.log(verbs=["pinned", "added"], id=1)) == [(1, "added"), (3, "pinned")]
    assert said(memory.log(id=1)) == said(memory.history(1))
    assert said(memory.log(after=1)) == [(2, "added"), (3, "pinned")] and memory.log(after=3) == []
    assert memory.log(actor="bob") == memory.log(verbs=["revised"]) == []


def test_a_wrong_argument_is_an_error(memory: Memory) -> None:
    for wrong in ({"limit": 0}, {"verbs": "added"}, {"since": 5}, {"after": -1}, {"actor": 3}):
        with pytest.raises(Invalid):
            memory.log(**wrong)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        memory.log(id=99)


def test_a_long_journal_is_read_in_pieces(memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: MovableClock) -> None:
    monkeypatch.setattr("memorist.recall.lookup.EVENTS_AT_ONCE", 3)
    for number in range(20):
        clock.move(hours=1)
        memory.remember(f"Lamp {number}", kind="tool_output", scope="global" if number % 5 == 0 else None)
    assert [seq for seq, _ in said(memory.log())] == list(range(1, 21))
    assert [seq for seq, _ in said(memory.log(limit=7, after=4))] == list(range(14, 21))
    assert [seq for seq, _ in said(memory.log(scope="global"))] == [1, 6, 11, 16]
    assert [seq for seq, _ in said(memory.log(since=clock() - timedelta(hours=4)))] == list(range(16, 21))


def test_what_was_erased_is_told_without_its_content(memory: Memory) -> None:
    memory.remember("The canary sings at noon")
    user = memory.through(replace(memory.access, origin="user"))
    user.erase(1)
    told = memory.log()
    assert "erased" in [event.verb for event in told] and "canary" not in str(told)


# ---------------------------------------------------------------- nothing of what may not be read


@pytest.fixture
def a(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", project="a", embed="none") as memory:
        yield memory


@pytest.mark.covers("E13")
def test_another_project_and_another_space_are_not_told_of(a: Memory, tmp_path: Path) -> None:
    a.remember("The canary sings", scope="task/1")
    a.remember("The canary sings")
    a.remember("Known to all", scope="global")
    with Memory(tmp_path / "memory.db", project="b", embed="none") as b:
        assert said(b.log()) == [(3, "added")]
        with pytest.raises(OutOfScope):
            b.log(scope="project/a")
        with pytest.raises(NotFound):
            b.log(id=a.get(2).id)
    with Memory(tmp_path / "memory.db", project="a", space="other", embed="none") as other:
        assert other.log() == []
    assert a.through(Access(role="skill")).log() == [] and len(a.through(EVERYWHERE).log()) == 3


@pytest.mark.covers("E13")
def test_the_private_time_of_a_memory_is_left_out(a: Memory) -> None:
    id = str(a.remember("The canary draft", scope="user/ann", title="canary title").id)
    a.revise(id, title="another canary title", because="the canary said so")
    a.link(id, str(a.remember("The canary beside it", scope="user/ann").id), evidence="canary")
    a.revise(id, title="public")
    a.promote(id, because="it may be known")
    a.link(id, str(a.remember("Another canary", scope="user/ann").id), evidence="canary")
    reader = a.through(Access(reads=("project/a",)))
    assert [event.verb for event in reader.log()] == ["promoted", "linked"]
    assert "canary" not in str(reader.log()) and reader.log() == reader.history(id)
    assert reader.log(verbs=["revised"]) == [] and len(a.log(verbs=["revised"])) == 2


@pytest.mark.covers("E13")
@pytest.mark.parametrize("seed", range(rounds(100)))
def test_the_log_is_all_histories_and_nothing_else(a: Memory, seed: int) -> None:
    """Memories move between places at random; what each access is told is what the histories of what it reads tell."""
    pick, places = random.Random(seed), ["project/a", "user/ann", "user/bob", "global"]
    user = a.through(replace(access_for("admin", "project/a"), origin="user"))
    ids = [str(user.remember(f"Memory {n} of {seed}", scope=pick.choice(places)).id) for n in range(5)]
    for step in range(30):
        act, id = pick.choice(["tag", "move", "pin", "link"]), pick.choice(ids)
        if act == "tag":
            user.tag(id, f"t{step}")
        elif act == "move":
            user.revise(id, scope=pick.choice(places))
        elif act == "pin":
            user.pin(id)
        elif (other := pick.choice(ids)) != id:
            user.link(id, other, evidence=f"e{step}")
    for reads in (("*",), ("project/a",), ("user/ann", "global"), ("user/bob",)):
        view = user.through(Access(reads=reads, role="reader"))
        mine = [record.id for record in view.list({"id": {"$in": ids}})] if ids else []
        told = sorted((event for id in mine for event in view.history(id)), key=lambda event: event.seq)
        mine_only = [event for event in view.log(limit=1000) if event.record in mine]
        assert mine_only == told
        gone = [event for event in view.log(limit=1000) if event.record not in mine]
        assert all(event.record in ids for event in gone), "what left was here when that happened"


def test_off_is_off(a: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    a.remember("One")
    monkeypatch.setenv("MEMORIST_OFF", "1")
    with pytest.raises(Refused):
        a.log()


# ---------------------------------------------------------------- at a shell


def memorist(folder: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "memorist", *words, "--db", str(folder / "memory.db")]


def test_the_command_has_the_same_filters(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.remember("Staging runs Postgres 16")
        memory.remember("Lunch is at noon")
        memory.forget(1, because="it moved")
    shown = subprocess.run(memorist(tmp_path, "log", "--id", "1"), capture_output=True, text=True, check=True).stdout
    lines = [line.split("\t") for line in shown.splitlines()]
    assert [(line[0], line[2], line[3], line[5]) for line in lines][1:] == [("3", "[id:1]", "forgotten", "it moved")]
    words = ["log", "--verb", "added", "--surface", "library", "-n", "1", "--after", "1", "--json"]
    done = subprocess.run(memorist(tmp_path, *words), capture_output=True, text=True, check=True)
    assert [event["seq"] for event in json.loads(done.stdout)] == [2]
    nothing = subprocess.run(memorist(tmp_path, "log", "--actor", "nobody"), capture_output=True, text=True, check=True)
    assert nothing.stdout == "" and "no event fits" in nothing.stderr


@pytest.mark.skipif(not hasattr(os, "kill") or sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_follows_until_it_is_stopped(tmp_path: Path, stop: signal.Signals) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.remember("Before")
        following = subprocess.Popen(
            memorist(tmp_path, "log", "-f", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert following.stdout is not None
        first = json.loads(following.stdout.readline())
        memory.remember("While it runs")
        memory.pin(2)
        later = [json.loads(following.stdout.readline()) for _ in range(2)]
        following.send_signal(stop)
        assert following.wait(30) == 0
        assert following.stdout.read() == "" and "Traceback" not in str(following.communicate()[1])
    assert [(event["seq"], event["verb"]) for event in (first, *later)] == [(1, "added"), (2, "added"), (3, "pinned")]
