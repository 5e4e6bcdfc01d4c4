"""A large import is taken back in many transactions. Killed between two of them, or inside one, the next plain `undo` goes on."""

import os
import random
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from conftest import TORTURE, rounds
from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.access import access_for
from memorist.errors import NotFound
from memorist.files.transfer import import_files
from memorist.remember.undo import _Undo

COUNT = 1500 if TORTURE else 300
FIRST_NOTE, LATER_NOTE = "The ledger is kept in Lisbon", "The lamp is lit at nine"


def opened(path: Path) -> Memory:
    user = access_for("project", "project/atlas", origin="user")
    return Memory(path / "memory.db", project="atlas", embed="none", access=user)


def imported(path: Path) -> None:
    page = path / "nests.md"
    page.write_text("".join(f"- Nest {n} lies in tree {n * 7} with {n % 5} eggs\n" for n in range(COUNT)), "utf-8")
    with opened(path) as memory:
        memory.remember(FIRST_NOTE)
        assert import_files(memory, [page]).outcomes == {"added": COUNT}


def active(memory: Memory) -> int:
    return memory.count({"state": "active"})


def killed_while_undoing(path: Path, inside: bool, at: int, batch: str | None = None) -> None:
    """Ends itself by kill -9 after so many transactions of an undo, or after so many memories of one that is not committed."""

    def live(say: Callable[[object], None]) -> None:
        name, steps = "_put" if inside else "step", count(1)
        work = getattr(_Undo, name)

        def work_and_die(*given: Any) -> None:
            work(*given)
            if next(steps) == at:
                os.kill(os.getpid(), signal.SIGKILL)

        setattr(_Undo, name, work_and_die)
        opened(path).undo(batch)

    assert Child(live).end() == -signal.SIGKILL


@needs_fork
@pytest.mark.covers("P4", "S2-21")
@pytest.mark.parametrize("inside", [False, True], ids=["between", "inside"])
def test_a_plain_undo_goes_on_with_one_that_was_killed(tmp_path: Path, inside: bool) -> None:
    chance = random.Random(f"undo {inside}")
    for turn in range(rounds(40)):
        path = tmp_path / str(turn)
        path.mkdir()
        imported(path)
        killed_while_undoing(path, inside, chance.randint(26, COUNT - 1) if inside else chance.randint(1, 3))
        with opened(path) as memory:
            left = active(memory) - 1
            assert 0 < left < COUNT, "the kill came in the middle"
            memory.remember(LATER_NOTE)
            assert len(memory.undo().changed) == 1  # what was done last comes first
            assert len(memory.undo().changed) == left
            assert [record.text for record in memory.list({"state": "active"})] == [FIRST_NOTE]
            assert memory.audit().ok
            memory.undo()
            assert active(memory) == 0
            with pytest.raises(NotFound, match="no action of yours"):
                memory.undo()


@needs_fork
@pytest.mark.covers("P4")
def test_one_that_was_killed_twice_is_finished_all_the_same(tmp_path: Path) -> None:
    imported(tmp_path)
    for _ in range(2):
        killed_while_undoing(tmp_path, False, 1)
    with opened(tmp_path) as memory:
        assert 1 < active(memory) < COUNT
        memory.undo()
        assert [record.text for record in memory.list({"state": "active"})] == [FIRST_NOTE]
        memory.undo()
        assert active(memory) == 0


@pytest.mark.covers("P4")
def test_what_was_changed_since_does_not_hold_up_the_action_before(tmp_path: Path) -> None:
    """A finished undo leaves it alone, and the next one looks further back: that is no undo that was cut off."""
    imported(tmp_path)
    with opened(tmp_path) as memory:
        batch = memory.log(limit=1)[0].batch
        nest = next(record for record in memory.list({"state": "active"}, limit=2) if record.text != FIRST_NOTE)
        memory.revise(nest.id, "Nest 0 is empty")
        assert list(memory.undo(batch).left) == [nest.id]
        memory.undo()
        assert memory.get(nest.id).text == nest.text  # not revised any more, and so the rest can be taken back, too
        memory.undo()
        assert [record.text for record in memory.list({"state": "active"})] == [FIRST_NOTE]
