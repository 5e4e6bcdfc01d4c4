"""`AsyncMemory`: the verbs of the facade, each a hop to a thread; readers and sessions never stand in line behind writers."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from memorist import AsyncMemory, Memory
from memorist.access import access_for
from memorist.aio import AsyncSession
from memorist.errors import Conflict, Invalid, NotFound, StoreUnavailable
from memorist.session.session import Session


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


def test_a_verb_is_awaited_and_answers_what_the_facade_answers(tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncMemory(tmp_path / "me.db", project="atlas") as memory:
            kept = await memory.remember("Staging runs Postgres 16", kind="decision")
            said = await memory.remember([{"role": "user", "content": "Which port?"}], session="s1")
            assert kept.outcome == "added" and [each.outcome for each in said] == ["added"]
            assert (await memory.recall("which database does staging use?"))[0].text == kept.text
            assert (await memory.tag(kept, "db")).record.tags == ("db",)
            assert (await memory.explain("which database does staging use?", limit=1)).hits
            with pytest.raises(NotFound):
                await memory.get("nothing")

    run(work)
    with Memory(tmp_path / "me.db", project="atlas") as memory:
        assert memory.count({"kind": "decision"}) == 1


def test_the_first_verb_opens_it_and_many_at_once_open_it_once(tmp_path: Path) -> None:
    async def work() -> None:
        memory = AsyncMemory(tmp_path / "me.db")
        assert not (tmp_path / "me.db").exists() and "not opened" in repr(memory)
        with pytest.raises(Invalid, match="not open yet"):
            _ = memory.sync
        kept = await asyncio.gather(*(memory.remember(f"The build number {n} was green") for n in range(20)))
        assert all(kept) and await memory.count() == memory.sync.count() == 20
        assert str(memory.sync.project.scope) in repr(memory)
        await memory.close()
        with pytest.raises(StoreUnavailable, match="was closed"):
            await memory.count()

    run(work)


def test_what_cannot_be_opened_says_so_where_it_is_awaited(tmp_path: Path) -> None:
    async def work() -> None:
        with pytest.raises(Invalid, match="threads"):
            AsyncMemory(threads=0)
        memory = AsyncMemory(tmp_path / "me.db", space="")
        for _ in range(2):
            with pytest.raises(Invalid, match="space"):
                await memory.count()
        await memory.close()

    run(work)


def test_the_loop_goes_on_and_readers_read_while_every_writer_waits() -> None:
    held, asked = threading.Event(), threading.Semaphore(0)

    def confirm(ask: object) -> bool:
        asked.release()
        return held.wait(20)

    async def work() -> None:
        async with AsyncMemory(":memory:", confirm=confirm, threads=2) as memory:
            writing = [
                asyncio.create_task(memory.remember(f"Ann likes {what}", kind="preference", scope="global"))
                for what in ("tea", "rye bread", "long walks")
            ]
            await asyncio.to_thread(asked.acquire)  # the only thread that writes waits for a person
            assert await asyncio.wait_for(memory.count(), 10) == 0
            assert not any(task.done() for task in writing)
            held.set()
            assert all(await asyncio.gather(*writing))

    try:
        run(work)
    finally:
        held.set()


def test_sessions_open_and_end_with_their_block() -> None:
    async def work() -> None:
        async with AsyncMemory(":memory:", project="atlas") as memory:
            async with memory.session("s1", agent="claude") as session:
                assert (session.id, session.agent) == ("s1", "claude") and "AsyncSession s1" in repr(session)
                assert await session.turn("user", "We decided to use uv for installs")
                assert await session.note("Ask about the port")
                async with session.fork("s2") as fork:
                    assert [turn.text for turn in await fork.turns()] == ["We decided to use uv for installs"]
                assert (await session.window(1_000)).messages
                assert (await session.record).data["state"] == "open"
            assert (await memory.sessions())[0].data["state"] == "closed"
            with pytest.raises(Conflict, match="was closed"):
                await session.turn("user", "one more")
            again = await memory.session("s1")
            await again.leave()
            with pytest.raises(ZeroDivisionError):
                async with memory.session("s3"):
                    raise ZeroDivisionError
            states = {record.data["state"] for record in await memory.sessions() if record.title == "s3"}
            assert states == {"closing"}

    run(work)


def test_a_session_ends_though_many_wait_for_it(tmp_path: Path) -> None:
    """Those who wait take no thread from the one who writes."""

    async def talk(memory: AsyncMemory, number: int) -> None:
        async with memory.session("s1", wait=20) as session:
            await session.turn("user", f"turn {number}")

    async def work() -> None:
        async with AsyncMemory(tmp_path / "me.db", threads=2) as memory:
            await asyncio.wait_for(asyncio.gather(*(talk(memory, number) for number in range(6))), 60)
            assert len(await memory.list({"kind": "turn"})) == 6

    run(work)


def test_a_view_through_another_access_shares_the_threads() -> None:
    async def work() -> None:
        async with AsyncMemory(":memory:", project="atlas") as memory:
            await memory.remember("Staging runs Postgres 16")
            reader = await memory.through(access_for("reader", "project/atlas"))
            assert await reader.count() == 1 and reader.sync.access.role == "reader"
            with pytest.raises(PermissionError):
                await reader.remember("and Redis")

    run(work)


def test_a_call_that_is_cancelled_is_carried_out_all_the_same(tmp_path: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def confirm(ask: object) -> bool:
        begun.set()
        return go.wait(20)

    async def work() -> None:
        async with AsyncMemory(tmp_path / "me.db", confirm=confirm) as memory:  # whose end waits for what was begun
            task = asyncio.create_task(memory.remember("Ann likes tea", kind="preference", scope="global"))
            await asyncio.to_thread(begun.wait, 20)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            go.set()

    try:
        run(work)
    finally:
        go.set()
    with Memory(tmp_path / "me.db") as memory:
        assert [record.text for record in memory.list({"scope": "global"})] == ["Ann likes tea"]


def test_context_variables_reach_the_thread() -> None:
    word: ContextVar[str] = ContextVar("word")
    seen: list[str] = []

    async def work() -> None:
        async with AsyncMemory(":memory:") as memory:
            memory.sync.bus.listen(lambda event, facts: seen.append(word.get()), "memory:write")
            word.set("tea")
            await memory.remember("Ann likes tea")

    run(work)
    assert seen == ["tea"]


@pytest.mark.parametrize(("ours", "theirs"), [(AsyncMemory, Memory), (AsyncSession, Session)])
def test_help_and_signatures_are_those_of_the_facade(ours: type, theirs: type) -> None:
    public = [name for name in dir(theirs) if not name.startswith("_") and inspect.isfunction(getattr(theirs, name))]
    assert public
    for name in public:
        mine, facade = inspect.signature(getattr(ours, name)), inspect.signature(getattr(theirs, name))
        assert list(mine.parameters.values()) == list(facade.parameters.values()), name
        assert getattr(ours, name).__doc__
