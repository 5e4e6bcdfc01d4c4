"""Notes that many clients hand in at once share a transaction, and nothing else: each has its own answer, batch and fault."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from doors import served
from memorist import Client, Memory
from memorist.errors import Conflict, Invalid, MemoristError, StoreUnavailable
from memorist.records import Draft, Outcome, Record
from memorist.remember import gate
from memorist.store.meaning import Ahead, Generations
from memorist.surfaces.http.work import Gathering, WorkLane

TEXTS = [
    f"Service {name} keeps its state in bucket {name}-{number}"
    for number, name in enumerate("abcdefghijklmnopqrstuvwx")
]


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each gave or raised, all begun at the same time."""

    def one(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except MemoristError as problem:
            return problem

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


@pytest.mark.covers("W4-1")
def test_many_notes_at_once_are_all_kept_each_with_its_own_answer(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db") as url:
        with Client(url) as client:
            kept = at_once(*(lambda text=text: client.remember(text) for text in TEXTS))
            undone = client.undo(kept[3].batch)
        assert [each.record.text for each in kept] == TEXTS
        assert len({each.batch for each in kept}) == len({each.number for each in kept}) == len(TEXTS)
        assert [each.id for each in undone.changed] == [kept[3].id]
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        assert {each.text for each in memory.list(limit=100)} == {*TEXTS} - {TEXTS[3]}
        assert memory.audit().ok


def test_a_short_text_does_not_wait_for_the_vectors_of_long_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, made, ahead = threading.Semaphore(0), threading.Event(), Generations.ahead

    def slowly(self: Generations, records: Sequence[Record]) -> Mapping[str, Ahead]:
        if len(records[0].text) > 9_000:
            begun.release()
            made.wait(10)
        return ahead(self, records)

    monkeypatch.setattr(Generations, "ahead", slowly)
    texts = [f"Report {number}: {'all is well. ' * 3_000}" for number in range(2)]
    with served(tmp_path / "memory.db") as url, Client(url) as client, ThreadPoolExecutor(2) as pool:
        said = [pool.submit(client.remember, text) for text in texts]
        assert all(begun.acquire(timeout=10) for _ in said)
        assert client.remember("Tea is at four").outcome == "added" and not any(each.done() for each in said)
        made.set()
        assert all(each.result() for each in said)


def test_what_is_wrong_with_one_is_told_to_it_alone(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db") as url, Client(url) as client:
        client.remember("The first text under this key", key="k")
        found = at_once(
            *(lambda text=text: client.remember(text) for text in TEXTS[:8]),
            lambda: client.remember("   "),
            lambda: client.remember("Another text under this key", key="k"),
            lambda: client.remember([{"role": "user", "content": "hello there"}], session="s1"),
            lambda: client.remember("The same text", key="again"),
            lambda: client.remember("The same text", key="again"),
        )
        assert [each.outcome for each in found[:8]] == ["added"] * 8
        assert isinstance(found[8], Invalid)
        assert isinstance(found[9], Conflict)
        assert [each.outcome for each in found[10]] == ["added"]
        assert sorted(each.outcome for each in found[11:]) == ["added", "repeated"]


def drafts(*texts: str) -> list[Draft]:
    return [Draft(text) for text in texts]


def test_drafts_that_are_admitted_apart_are_as_those_admitted_one_by_one(memory: Memory) -> None:
    kept = memory._admit_apart(drafts("Staging runs Postgres 16", "Ask before a deploy", "Staging runs Postgres 16"))
    assert [each.outcome for each in kept if isinstance(each, Outcome)] == ["added", "added", "reinforced"]
    assert len({each.batch for each in kept if isinstance(each, Outcome)}) == 3


def test_one_that_cannot_be_accepted_keeps_no_other_from_it(memory: Memory) -> None:
    good, bad, other = memory._admit_apart(drafts("Ask before a deploy", "  ", "Staging runs Postgres 16"))
    assert isinstance(good, Outcome) and good.outcome == "added"
    assert isinstance(bad, Invalid)
    assert isinstance(other, Outcome) and other.outcome == "added"
    assert memory.audit().ok


def test_a_store_that_is_busy_is_so_for_all_and_keeps_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("another process kept the store busy for too long; nothing was written, try again")

    with monkeypatch.context() as patched:
        patched.setattr(gate, "decide", busy)
        assert all(
            isinstance(each, StoreUnavailable) for each in memory._admit_apart(drafts("One thing", "Another one"))
        )
    assert memory.list() == []


def test_a_fault_over_one_note_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decide = gate.decide

    def faulty(policy: Any, draft: Draft, *rest: Any, **more: Any) -> Outcome:
        if draft.text == "poison":
            raise ZeroDivisionError
        return decide(policy, draft, *rest, **more)

    monkeypatch.setattr(gate, "decide", faulty)
    with served(tmp_path / "memory.db") as url, Client(url) as client:
        texts = [*TEXTS[:10], "poison", *TEXTS[10:]]
        found = at_once(*(lambda text=text: client.remember(text) for text in texts))
        assert isinstance(found[10], MemoristError)
        assert [each.outcome for each in found[:10] + found[11:]] == ["added"] * len(TEXTS)
        assert len(client.list(limit=100)) == len(TEXTS)


def test_a_fault_after_notes_were_kept_keeps_none_of_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Memory, *_: Any) -> None:
        raise ZeroDivisionError

    with served(tmp_path / "memory.db") as url, Client(url) as client:
        with monkeypatch.context() as patched:
            patched.setattr(Memory, "_heard", fails)
            found = at_once(*(lambda text=text: client.remember(text) for text in TEXTS))
        assert all(isinstance(each, MemoristError) for each in found)
        kept = client.list(limit=100)
        assert sorted(each.text for each in kept) == TEXTS
        assert {len(client.history(each.id)) for each in kept} == {1}  # added, and not found again as a twin


def test_what_waits_at_the_end_is_done() -> None:
    begun, go, done = threading.Event(), threading.Event(), list[int]()

    def together(given: Sequence[int]) -> list[int]:
        begun.set()
        assert go.wait(60)
        done.extend(given)
        return [*given]

    async def ends() -> None:
        lane = WorkLane.of("writing", 100)
        gathering = Gathering[int, int](lane, together)
        clients = [asyncio.ensure_future(gathering.do(number)) for number in range(30)]
        await asyncio.to_thread(begun.wait, 60)
        for client in clients:
            client.cancel()  # they are gone, and what they sent is not
        gathering.close()
        go.set()
        await asyncio.to_thread(lane.pool.shutdown)

    asyncio.run(ends())
    assert sorted(done) == [*range(30)]
