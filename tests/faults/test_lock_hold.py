"""Promise P7: upkeep never keeps a writer waiting: no transaction of it is held for more than 250 ms, whatever it does.

What is measured is the time between BEGIN and the end of COMMIT, in the process that does the upkeep; and, from another
thread that writes all the while, what a foreground write costs.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from conftest import TORTURE, rounds
from memorist import Memory
from memorist.designs import BALANCED
from memorist.records import now_utc
from memorist.store.sqlite.connection import Connections
from memorist.testing import MovableClock
from memorist.upkeep.retain import Prune

ROWS = rounds(50_000, 0.024)
BUSY = (
    1 if TORTURE else 3
)  # `make test` shares its processor with other tests; the promise is for a machine that has time
HOLD = 0.25 * BUSY  # seconds
FOREGROUND = 0.5 * BUSY  # seconds, of 99 % of the writes
SMALL = replace(BALANCED, upkeep=(Prune(max_bytes=1000),))


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each transaction of the main thread was held."""
    times: list[float] = []
    real = Connections.transaction

    @contextmanager
    def timed(self: Connections, durable: bool = True, wait: float | None = None) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread() or self.here().in_transaction:
            with real(self, durable, wait):
                yield
            return
        with real(self, durable, wait):
            begun = time.perf_counter()
            yield
        times.append(time.perf_counter() - begun)

    monkeypatch.setattr(Connections, "transaction", timed)
    return times


def within(held: list[float], limit: float = HOLD) -> bool:
    """All but one in five hundred: a machine that does something else for a moment is no fault of ours."""
    return sorted(held)[-1 - len(held) // 500] <= limit


@pytest.mark.covers("P7")
def test_no_step_of_upkeep_holds_the_store_for_long(tmp_path: Path, held: list[float]) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, design=SMALL, embed="none", clock=MovableClock(now_utc() - timedelta(days=2))) as memory:
        texts = [f"Nest {n} lies in tree {n * 7} by the bend {n % 97} where herons rest" for n in range(ROWS)]
        memory.remember_many(texts)
    with Memory(path, design=SMALL, embed="static") as memory:
        waits: list[float] = []
        over = threading.Event()

        def write() -> None:
            with Memory(path, embed="static") as other:
                while not over.is_set():
                    begun = time.perf_counter()
                    other.remember(f"Meanwhile {len(waits)}", tags=["meanwhile"])
                    waits.append(time.perf_counter() - begun)
                    time.sleep(0.02)

        writer = threading.Thread(target=write)
        writer.start()
        held.clear()
        try:
            embedded, pruned = memory.upkeep()
        finally:
            over.set()
            writer.join()
        assert (embedded.rows or 0) >= ROWS and len(pruned.changed) >= ROWS
        assert within(held), sorted(held)[-5:]
        assert sorted(waits)[int(len(waits) * 0.99) - 1] <= FOREGROUND, sorted(waits)[-5:]
        held.clear()
        memory.undo(pruned.batch)
        assert within(held), sorted(held)[-5:]
        assert memory.count({"tags": {"$ne": ["meanwhile"]}}) >= ROWS and memory.audit().ok
