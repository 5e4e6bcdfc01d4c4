"""The runner of upkeep: shows before it does, claims, goes on where another stopped, and can be taken back."""

import gc
import os
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from memorist import Memory
from memorist.access import Access, access_for
from memorist.design import Proposal, Tools, itself
from memorist.designs import BALANCED, HEBBIAN
from memorist.errors import OutOfScope, StoreUnavailable
from memorist.records import Record
from memorist.remember.changes import Changes
from memorist.remember.edit import archived
from memorist.store.where import Where
from memorist.testing import MovableClock
from memorist.upkeep import runner
from memorist.upkeep.retain import Prune

STALE = "stale"


@dataclass(frozen=True)
class ForgetStale:
    """Archives what bears the tag `stale`."""

    name: ClassVar[str] = "forget stale"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        where = Where.of(who, {"tags": [STALE], "state": "active"})
        ids = [brief.id for brief in tools.store.briefs(where)]
        return Proposal("forgotten", partial(archived, because=STALE), STALE, ids)


@dataclass(frozen=True)
class PinFirst:
    """Prunes everything; while it thinks, somebody pins memory 2."""

    memory: Memory
    name: ClassVar[str] = "prune"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        proposal = Prune(max_bytes=0).propose(who, tools)
        self.memory.pin(2)
        return proposal


@dataclass(frozen=True)
class PinSlowly:
    """Pins everything, one at a time, and each as slowly as a large merge on a busy machine; notes what others see meanwhile."""

    other: Memory
    seen: list[int]
    searched: list[bool]
    name: ClassVar[str] = "pin slowly"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        ids = [brief.id for brief in tools.store.briefs(Where.of(who, {"pinned": False}))]
        return Proposal("pinned", itself, "slowly", ids, fill=self._pin)

    def _pin(self, record: Record, changes: Changes) -> None:
        self.seen.append(self.other.count({"pinned": True}))
        self.searched.append(gc.isenabled())
        time.sleep(0.06)
        changes.put("pinned", record, changes.stamped(record, replace(record, pinned=True)), "slowly")


def with_stale(memory: Memory, count: int) -> None:
    memory.design = replace(BALANCED, upkeep=(ForgetStale(),))
    memory.remember_many([{"text": f"Nest {n} lies in tree {n}", "tags": [STALE]} for n in range(count)])
    memory.remember("The stork nests on the roof")


def runs(memory: Memory) -> list[tuple[str, int]]:
    return [(run.state, run.changed) for run in memory._tools.store.runs("default")]


def test_a_dry_run_changes_nothing_and_shows_everything(memory: Memory) -> None:
    with_stale(memory, 7)
    [plan] = memory.upkeep(dry_run=True)
    assert (plan.dry_run, len(plan.changed), plan.verb) == (True, 7, "forget stale")
    assert {each.because for each in plan.changed} == {STALE}
    assert (memory.count(), runs(memory)) == (8, [])
    [done] = memory.upkeep()
    assert [each.id for each in done.changed] == [each.id for each in plan.changed]


def test_a_step_begins_nothing_more_after_a_while_because_others_wait(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embed="none") as memory, Memory(tmp_path / "m.db", embed="none") as other:
        with_stale(memory, 3)
        job = PinSlowly(other, [], [])
        memory.design = replace(BALANCED, upkeep=(job,))
        [done] = memory.upkeep()
        assert (job.seen, len(done.changed)) == ([0, 1, 2, 3], 4), "each is written before the next is begun"
        assert not any(job.searched) and gc.isenabled(), "nor does anybody wait for a search for garbage"
        assert runs(memory) == [("done", 4)] and len(memory.undo(done.batch).changed) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_child_of_a_step_searches_for_garbage_again() -> None:
    with runner._garbage_stays():
        child = os.fork()
        if not child:
            os._exit(gc.isenabled())
        assert not gc.isenabled()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1 and gc.isenabled()


def test_a_run_is_one_batch_in_short_transactions_and_one_undo(memory: Memory) -> None:
    with_stale(memory, 350)
    [done] = memory.upkeep()
    assert (memory.count(), runs(memory)) == (1, [("done", 350)])
    events = memory._tools.store.journal(batch=str(done.batch))
    assert len(events) == 350
    assert {(event.surface, event.because) for event in events} == {("upkeep", STALE)}
    links = [link for link, _ in memory._tools.store.chain() if link.first >= events[0].seq]
    assert len(links) > 3 and all(link.last - link.first < 100 for link in links), "transactions of a hundred at most"
    assert len(memory.undo(done.batch).changed) == 350
    assert memory.count() == 351


def test_time_runs_out_and_the_next_one_goes_on_in_the_same_batch(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_stale(memory, 250)
    ticks = iter(range(1000))
    monkeypatch.setattr(runner.time, "monotonic", lambda: float(next(ticks)))
    [first] = memory.upkeep(seconds=8.5)
    assert 0 < len(first.changed) < 250 and "time is up" in str(first.advice)
    [second] = memory.upkeep()
    assert (second.batch, len(first.changed) + len(second.changed)) == (first.batch, 250)
    assert runs(memory) == [("done", 250)]
    assert len(memory.undo(first.batch).changed) == 250


def test_two_do_not_do_the_same(memory: Memory, clock: MovableClock) -> None:
    with_stale(memory, 5)
    who = memory.access.over_the_space("upkeep")
    one = runner.Runner(memory._caller.through(who), None)
    claimed = one._claim(who.space, ForgetStale.name)
    assert claimed is not None
    [other] = memory.upkeep()
    assert "another process is running" in str(other.advice) and memory.count() == 6
    clock.move(seconds=31)  # no sign of life
    [taken] = memory.upkeep()
    assert len(taken.changed) == 5
    assert one._step(ForgetStale().propose(who, memory._tools), ["m0"], claimed, taken) is None


def test_a_run_cut_off_after_its_last_change_is_closed(memory: Memory, clock: MovableClock) -> None:
    with_stale(memory, 1)
    who = memory.access.over_the_space("upkeep")
    claimed = runner.Runner(memory._caller.through(who), None)._claim(who.space, ForgetStale.name)
    assert claimed is not None
    memory.forget(1)
    clock.move(minutes=1)
    memory.upkeep()
    assert runs(memory) == [("done", 0)]


def test_it_looks_after_every_project_of_its_space_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory, Memory(path, project="atlas", space="team") as elsewhere:
        with_stale(memory, 2)
        with_stale(elsewhere, 4)
        everyone = memory.through(replace(access_for("admin", "project/atlas")))
        everyone.remember("Far nest", scope="project/other", tags=[STALE])
        [done] = memory.upkeep()
        assert len(done.changed) == 2  # that are its own; of the other one it is not told
        assert everyone.count({"scope": "project/other"}) == 0 and elsewhere.count() == 5
        assert len(memory.undo(done.batch).changed) == 2  # an agent takes back what is of its own project
        assert everyone.count({"scope": "project/other"}) == 0
        assert everyone.undo(done.batch).changed and everyone.count({"scope": "project/other"}) == 1
        assert len(everyone.upkeep()[0].changed) == 3


def test_what_was_pinned_since_the_proposal_is_left(memory: Memory, clock: MovableClock) -> None:
    memory.design = replace(HEBBIAN, upkeep=(PinFirst(memory),))
    memory.remember_many([f"Nest {n} lies in tree {n}" for n in range(5)])
    clock.move(days=2)
    [done] = memory.upkeep()
    assert (len(done.changed), memory.get(2).state) == (4, "active")
    assert list(done.left.values()) == ["memory 2 was pinned in the meantime"]
    assert runs(memory) == [("done", 4)]


def test_a_run_that_fails_says_so_and_the_next_begins_anew(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stale(memory, 3)
    with monkeypatch.context() as patch:
        patch.setattr(runner.Sweep, "step", lambda *_: (_ for _ in ()).throw(StoreUnavailable("full")))
        with pytest.raises(StoreUnavailable):
            memory.upkeep()
    [run] = memory._tools.store.runs("default")
    assert (run.state, run.problem) == ("failed", "store_unavailable")
    assert len(memory.upkeep()[0].changed) == 3


def test_readers_may_not(memory: Memory) -> None:
    reader = memory.through(access_for("reader", "project/atlas"))
    for verb in (reader.upkeep, reader.compact):
        with pytest.raises(OutOfScope):
            verb()


@pytest.mark.covers("S1-12", "S1-14")
def test_the_numbers_of_the_founding_document() -> None:
    [prune] = HEBBIAN.upkeep
    assert prune == Prune(max_bytes=100 * 1024 * 1024, percent=1.0, reinforce=3.0, demote=1.0)


@pytest.mark.covers("S3-25")
def test_the_recall_log_is_bounded_in_size_and_age(memory: Memory, clock: MovableClock) -> None:
    store, writer = memory._tools.store, memory._writer
    memory.remember("The heron nests at the weir")
    memory.recall("heron")
    writer.flush()
    [line] = store.receipts("default", 10)
    with store.transaction(durable=False):
        store.log([replace(line, id=f"r{n}", at=line.at + timedelta(seconds=n)) for n in range(50)], 20, line.at)
    assert store.size().receipts == 20
    clock.move(days=91)
    memory.remember("The weir was opened")
    memory.recall("weir")
    writer.flush()
    assert store.size().receipts > 1, "the clock may have jumped, so nothing goes by age today"
    clock.move(days=2)
    memory.recall("weir")
    writer.flush()
    assert [line.query for line in store.receipts("default", 99)] == ["weir", "weir"]


@pytest.mark.usefixtures("without_reader")
def test_compacting_shrinks_a_file(tmp_path: object) -> None:
    with Memory(f"{tmp_path}/memory.db", project="atlas", confirm=lambda ask: True) as memory:
        memory.remember_many([f"Nest {n}: " + "straw " * 150 for n in range(400)])
        for start in range(1, 400, 100):
            memory.erase(where={"number": {"$gte": start, "$lt": start + 90}})
        sizes = memory.compact()
        assert sizes["after"] < 0.6 * sizes["before"]
        assert memory.recall("straw")
        assert all(finding.ok for finding in memory.doctor())
