"""`Client` and `AsyncClient`: what they send, what they make of answers, and when they send something again.

The server here is a function (tests/table_server.py). What the real one does with the same verbs is judged in
tests/test_surfaces_agree.py.
"""

import asyncio
import gc
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from faults.processes import Child, needs_fork
from memorist import AsyncClient, Client, Draft, Memory
from memorist.client import Unanswered
from memorist.errors import Conflict, Invalid, MemoristError, NotFound, StoreUnavailable
from table_server import Server

from .serving import served

URL, TOKEN = "http://127.0.0.1:8765", "mk_sesame_sesame"


@pytest.fixture
def server() -> Iterator[Server]:
    with Memory(":memory:", project="atlas") as memory:
        yield Server(memory)


@pytest.fixture
def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr("memorist.client.time.sleep", lambda seconds: None)
    with Client(URL, TOKEN) as client:
        client._http = httpx2.Client(transport=httpx2.MockTransport(server), **client._options())
        yield client


def awaited(server: Server, work: Callable[[AsyncClient], Any]) -> Any:
    async def run() -> Any:
        async with AsyncClient(URL, TOKEN) as client:
            client._http = httpx2.AsyncClient(transport=httpx2.MockTransport(server), **client._options())
            return await work(client)

    return asyncio.run(run())


# ---------------------------------------------------------------- what it sends, and what it makes of answers


def test_answers_are_the_nouns_of_the_facade(client: Client, server: Server) -> None:
    kept = client.remember("Staging runs Postgres 16", kind="decision", at=date(2026, 5, 1), tags=["db"])
    assert kept.record == server.memory.get(kept.id) and kept.record.times.at == datetime(2026, 5, 1).astimezone()
    found = client.recall("which database does staging use?", limit=3)
    assert found[0].text == kept.text and found[0].record == server.memory.get(kept.id) and len(found) == 1
    assert client.get(kept) == client.get(found[0]) == client.list({"kind": "decision"})[0] == server.memory.get(1)
    assert client.tag(kept, "staging", remove=["db"]).record.tags == ("staging",)
    assert client.history(kept) == server.memory.history(kept) and client.log(verbs=["tagged"], limit=1)
    assert client.count() == 1 and client.why_not(kept, "which database does staging use?") == server.memory.why_not(
        kept, "which database does staging use?"
    )
    assert client.aliases() == server.memory.aliases() and client.audit() == server.memory.audit()
    assert client.timeline(around=date(2026, 5, 1), limit=1)[0] == client.timeline(around=kept)[0]
    assert client.context("which database does staging use?", style="json").items[0].record.id == kept.id


def test_texts_drafts_messages_and_paths_arrive(client: Client, server: Server) -> None:
    class Said:
        role, content = "user", "We deploy on Fridays"

    many = client.remember_many(["One fact", {"text": "Two facts", "kind": "note"}, Draft("Three", tags=("x",))])
    assert [each.text for each in many] == ["One fact", "Two facts", "Three"] and many[2].record.tags == ("x",)
    said = client.remember(iter([Said(), {"role": "assistant", "content": "Noted"}]), session="s1")
    assert [each.record.provenance.role for each in said] == ["user", "assistant"]
    assert client.remember("It is about a file", files=[Path("src/app.py")]).record.files == ("src/app.py",)
    assert client.ingest([{"role": "user", "content": "hello"}], session="s2").added == 1
    assert client.forget(where={"kind": "note"}).changed and client.forget(many[0]).outcome == "changed"


def test_a_time_without_a_zone_is_that_of_the_caller(client: Client, server: Server) -> None:
    for at in (datetime(2026, 5, 1, 12), "2026-05-01 12:00", "2026-05-01T12:00"):
        client.remember("Lunch at noon", at=at)
        sent = datetime.fromisoformat(json.loads(server.asked[-1].content)["at"])
        assert sent == datetime(2026, 5, 1, 12).astimezone() and sent.utcoffset() is not None
    with pytest.raises(Invalid, match="at must be a time"):
        client.remember("Never", at="noonish")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda m: m.get("nothing"), NotFound),
        (lambda m: m.recall("x", limit=0), Invalid),
        (lambda m: m.revise(1, "new", expected_version=9), Conflict),
        (lambda m: m.remember("x", scope="user"), Invalid),
        (lambda m: m.list({"nonsense": 1}), Invalid),
    ],
)
def test_errors_are_those_of_the_facade_with_their_words(
    client: Client, server: Server, wrong: Callable[[Any], Any], error: type[MemoristError]
) -> None:
    server.memory.remember("One fact")
    with pytest.raises(error) as here:
        wrong(server.memory)
    with pytest.raises(error) as there:
        wrong(client)
    assert type(here.value) is type(there.value) and str(here.value) == str(there.value)


ODD_IDS = (
    "1/links", ".", "..", "", " ", "1/", "/1", "../status", "./1", "%2e", "1%2Flinks", "1?x=1", "1#x", "a b", "é", "history",
    "[id:1]", "[id:1/links]", "TASK-001", "task-2", "TASK-1/x",
    " 1 ", "x" * 300, "\ud800", "a\x00b", "1\n", 0, -1, 10**30, True, 1.5, None, [1], {}, b"1",
)  # fmt: skip
BY_ID: dict[str, Callable[[Any, Any], Any]] = {
    "get": lambda m, id: m.get(id).number,
    "links": lambda m, id: m.links(id),
    "related": lambda m, id: m.related(id),
    "history": lambda m, id: m.history(id),
    "revise": lambda m, id: m.revise(id, "One fact", because="the same").outcome,
    "tag": lambda m, id: m.tag(id, "x").record.tags,
    "move_task": lambda m, id: m.move_task(id, "completed"),
    "receipt": lambda m, id: m.receipt(id),
    "used": lambda m, id: m.used(id, "An answer"),
}


@pytest.mark.parametrize("verb", BY_ID)
def test_an_odd_id_leads_nowhere_else(client: Client, server: Server, verb: str) -> None:
    """No id reaches another path than that of its verb: it is answered or refused as the facade does it."""
    server.memory.remember("One fact")
    server.memory.add_task("Mend the lift")
    half = "\ud800"  # which the store itself refuses where it is asked for a receipt
    for odd in (odd for odd in ODD_IDS if verb not in ("receipt", "used") or odd != half):
        assert tried(BY_ID[verb], server.memory, odd) == tried(BY_ID[verb], client, odd), odd


def tried(verb: Callable[[Any, Any], Any], memory: Any, id: Any) -> tuple[Any, str]:
    try:
        return "", str(verb(memory, id))
    except MemoristError as problem:
        return type(problem), str(problem)


def test_half_a_character_is_refused_as_the_facade_does_it(client: Client, server: Server) -> None:
    def said(memory: Any, half: str) -> Any:
        return memory.remember(half).outcome

    assert tried(said, server.memory, "a\ud800b") == tried(said, client, "a\ud800b")


def test_what_python_would_not_take_is_a_type_error_before_anything_is_sent(client: Client, server: Server) -> None:
    for wrong in (lambda: client.get(), lambda: client.pin(1, 2), lambda: client.count(wher={})):
        with pytest.raises(TypeError):
            wrong()  # type: ignore[call-arg]
    assert server.asked == []


def test_a_session_behind_a_server_is_a_session(client: Client, server: Server) -> None:
    with client.session("s1", agent="claude") as session:
        assert session.turn("user", "We decided to use uv for installs", id="m1")
        assert session.turn("user", "We decided to use uv for installs", id="m1").outcome == "repeated"
        assert session.tool_call("ls", {"path": "."}, "c1") and session.tool_result("c1", "app.py")
        assert session.note("Ask about the port", tags=["later"]).record.scope == "session/s1"
        assert [turn.provenance.agent for turn in session.turns(1)] == ["claude"]
        assert session.window(2_000, query="installs").messages and session.context("installs").receipt
        assert isinstance(session.flush(), list) and session.compact(keep=1).outcome
        fork = session.fork("s2")
        assert fork.id == "s2" and len(fork.turns()) == 3 and fork.leave() is None
        assert session.record.data["state"] == "open" and "s1" in repr(session) and TOKEN not in repr(session)
    assert session.record.data["state"] == "closed"
    with pytest.raises(Conflict, match="was closed"):
        session.turn("user", "one more")
    with pytest.raises(ZeroDivisionError), client.session("s3"):
        raise ZeroDivisionError
    assert server.memory.sessions(state="closing")[0].title == "s3"


def test_the_awaited_client_does_the_same(server: Server) -> None:
    async def work(client: AsyncClient) -> None:
        kept = await client.remember("Staging runs Postgres 16", kind="decision")
        assert (await client.recall("which database does staging use?"))[0].record == server.memory.get(kept)
        with pytest.raises(NotFound):
            await client.get("nothing")
        with pytest.raises(NotFound, match="no memory '1/links' is readable here"):
            await client.get("1/links")
        async with client.session("s1", agent="claude") as session:
            assert await session.turn("user", "hello") and len(await session.turns()) == 1
            async with session.fork("s2") as fork:
                assert len(await fork.turns()) == 1
            assert (await session.record).data["state"] == "open" and await session.context("hello")
            await session.leave()
        assert (await client.sessions(state="closed"))[0].title in ("s1", "s2")
        assert all(await asyncio.gather(*(client.remember(f"Build {n} was green") for n in range(10))))

    awaited(server, work)
    assert server.memory.count({"kind": "fact"}) == 10


def test_the_project_goes_with_every_request(server: Server) -> None:
    with Client(URL, TOKEN, project="atlas") as client:
        client._http = httpx2.Client(transport=httpx2.MockTransport(server), **client._options())
        client.remember("One fact")
        client.list({"kind": "fact"}, limit=5)
    assert [request.url.params["project"] for request in server.asked] == ["atlas", "atlas"]


def test_threads_share_one_client(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    made, make = [], httpx2.Client

    def counted(**options: Any) -> httpx2.Client:
        made.append(1)
        time.sleep(0.05)
        return make(transport=httpx2.MockTransport(server), **options)

    monkeypatch.setattr("httpx2.Client", counted)
    with Client(URL) as client, ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda n: client.remember(f"Build {n} was green"), range(16)))
    assert all(kept) and server.memory.count() == 16 and len(made) == 1


@needs_fork
def test_a_child_uses_no_connection_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    made, make = [], httpx2.Client

    def counted(**options: Any) -> httpx2.Client:
        made.append(os.getpid())
        return make(transport=httpx2.MockTransport(lambda request: answer(200, 7, {})), **options)

    monkeypatch.setattr("httpx2.Client", counted)
    with Client(URL) as client:
        assert (client.count(), client.count()) == (7, 7) and made == [os.getpid()]
        child = Child(lambda say: say([client.count(), client.count(), made == [os.getppid(), os.getpid()]]))
        assert child.line() == "[7, 7, True]" and child.end() == 0
        assert client.count() == 7 and made == [os.getpid()]


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_awaited_client_goes_from_one_event_loop_to_the_next(tmp_path: Path) -> None:
    def counts(client: AsyncClient) -> list[int]:
        async def count() -> int:
            return await client.count()

        found = [asyncio.run(count()) for _ in range(3)]
        asyncio.run(client.close())
        return found

    with served(tmp_path / "memory.db") as found:
        assert counts(AsyncClient(f"http://127.0.0.1:{found.client.port}")) == [0, 0, 0]
    gc.collect()  # what a loop that ended left open is told of here


# ---------------------------------------------------------------- when something is sent again

BUSY = (503, {"code": "busy", "detail": "try again"}, {"Retry-After": "1"})
OFF = (503, {"code": "store_unavailable", "detail": "the disk is full"}, {})


def answer(status: int, body: Any, headers: dict[str, str]) -> httpx2.Response:
    return httpx2.Response(status, json=body, headers=headers)


def test_a_question_is_asked_again_and_a_write_is_not(client: Client, server: Server) -> None:
    server.first = [httpx2.ReadTimeout("slow"), answer(*OFF)]
    assert client.count() == 0 and len(server.asked) == 3
    server.first, before = [httpx2.ReadTimeout("slow")], len(server.asked)
    with pytest.raises(Unanswered, match="whether this was stored is not known") as found:
        client.remember("One fact")
    assert not found.value.retry_safe and isinstance(found.value, StoreUnavailable) and len(server.asked) == before + 1
    server.first = [answer(*OFF)]
    with pytest.raises(StoreUnavailable, match="disk is full"):
        client.remember("One fact")


def test_a_write_with_a_key_one_turned_away_and_one_that_never_left_are_sent_again(
    client: Client, server: Server
) -> None:
    server.first = [httpx2.ReadTimeout("slow")]
    assert client.remember("One fact", key="k1").outcome == "added"
    server.first = [answer(*BUSY), httpx2.ConnectError("refused")]
    assert client.remember("Another fact").outcome == "added"
    assert server.memory.count() == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_write_that_was_begun_is_sent_once_whatever_the_answer_asks_for(
    client: Client, server: Server, status: int
) -> None:
    for body in (OFF[1], {"code": "model_unavailable", "detail": "no model"}, {"message": "a proxy says"}, [], None):
        server.first, before = [answer(status, body, {"Retry-After": "1"})], len(server.asked)
        with pytest.raises(MemoristError):
            client.undo()
        assert len(server.asked) == before + 1, body


def test_it_gives_up_and_says_what_to_look_at(client: Client, server: Server) -> None:
    server.first = [httpx2.ConnectError("refused")] * 3
    with pytest.raises(StoreUnavailable, match="is `memorist serve` running"):
        client.count()
    server.first = [httpx2.Response(200, text="<html>hello")]
    with pytest.raises(StoreUnavailable, match="is no memorist"):
        client.count()
    server.first = [httpx2.Response(404, text="nothing here")]
    with pytest.raises(StoreUnavailable, match="is no memorist"):
        client.count()
    client.close()
    with pytest.raises(StoreUnavailable, match="was closed"):
        client.count()


# ---------------------------------------------------------------- address and token


def test_the_token_comes_from_the_argument_or_the_environment_and_is_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MEMORIST_URL", f"{URL}/")
    monkeypatch.setenv("MEMORIST_TOKEN", "from_the_environment")
    with Client() as client, Client(token=TOKEN) as other, caplog.at_level(logging.DEBUG):
        assert client.url == URL and client._options()["headers"]["Authorization"] == "Bearer from_the_environment"
        assert other._options()["headers"]["Authorization"] == f"Bearer {TOKEN}"
        shown = repr(other) + str(vars(other).keys())
        with pytest.raises(StoreUnavailable) as problem:
            Client("http://127.0.0.1:9", TOKEN, retries=0).count()
    assert TOKEN not in shown + str(problem.value) + repr(problem.value) + caplog.text
    with pytest.raises(Invalid) as wrong:
        Client(URL, "two words")
    assert "two words" not in str(wrong.value)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8765", "ftp://host", "http://", "http://a:b@host", "http://h?x=1", 7])
def test_what_is_no_address_is_refused(url: Any) -> None:
    with pytest.raises(Invalid, match="url"):
        Client(url)


def test_without_an_address_it_says_how_to_give_one() -> None:
    with pytest.raises(Invalid, match="MEMORIST_URL"):
        Client()


def test_a_token_over_plain_http_to_another_machine_is_told(caplog: pytest.LogCaptureFixture) -> None:
    Client("http://memory.example", TOKEN)
    assert "unencrypted" in caplog.text and TOKEN not in caplog.text


@pytest.mark.covers("S4-1", "S4-19", "W4-3")
def test_a_session_behind_a_server_looks_ahead_too(tmp_path: Path) -> None:
    """The state is the server's, which opens the session anew for each call."""
    from doors import served

    with served(tmp_path / "me.db") as url, Client(url) as client:
        client.remember("Staging runs Postgres 16")
        session, other = client.session("s1"), client.session("s2")
        session.turn("user", "which database does staging run?")
        assert [hit.text for hit in session.recall()] == ["Staging runs Postgres 16"]
        assert session.prefetch() is True
        until = time.monotonic() + 60
        while not (found := session.ready()) and time.monotonic() < until:
            time.sleep(0.05)
        assert [hit.text for hit in found.items] == ["Staging runs Postgres 16"] and client.receipt(found.receipt)
        assert not session.ready() and not other.ready()
