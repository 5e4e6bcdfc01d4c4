"""Whether a lease still lasts is asked of the clock after it was read, however long somebody waited to read it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memorist import Memory
from memorist.session.close import left_open
from memorist.session.lease import LENGTH, Lease
from memorist.store.files import maker

pytestmark = pytest.mark.covers("W4-3")


def test_a_lease_that_another_takes_while_one_waits_for_the_store_stays_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(":memory:") as memory:
        by = memory._caller
        first, second = Lease("session x", "session x", by), Lease("session x", "session x", by)
        real, waited = by.writer.transaction, list[bool]()

        @contextmanager
        def slow(*given: Any, **more: Any) -> Iterator[Any]:
            if not waited:
                waited.append(True)
                first.take(1, "drop")
            with real(*given, **more) as found:
                yield found

        monkeypatch.setattr(by.writer, "transaction", slow)
        assert not second._claim("drop", by.now())
        assert waited and first.hold()


def test_a_session_that_is_left_just_now_is_not_taken_for_an_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(":memory:") as memory:
        session = memory.session("s1")
        session.turn("user", "The harbour opens at six")
        by = memory._caller
        real, left = by.store.runs, list[bool]()

        def runs(*given: Any, **more: Any) -> Any:
            if not left:
                left.append(True)
                session.leave()
            return real(*given, **more)

        monkeypatch.setattr(by.store, "runs", runs)
        assert list(left_open(by)) == [] and left


def test_the_place_of_a_program_that_ended_while_it_waited_is_free() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    machine = maker().rpartition("-")[0]
    with Memory(":memory:") as memory:
        by = memory._caller
        held, waiting, last = (Lease("session x", "session x", by) for _ in range(3))
        waiting.owner = f"{machine}-{ended.pid}-0123456789abcdef"
        held.take(1, "queue")
        assert not waiting._claim("queue", by.now() + LENGTH)
        held.give_back(over=False)
        last.take(1, "queue")
        assert last.hold()
