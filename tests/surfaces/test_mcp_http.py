"""MCP over streamable HTTP under `memorist serve`: the same tools, behind the same door, with the rights of a key."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INVALID_REQUEST, PARSE_ERROR

from memorist import Memory
from memorist.surfaces.http.guard import ServerLimits
from memorist.surfaces.http.keys import KeyRing
from memorist.surfaces.mcp import mounted
from surfaces.agents import ERAS, UNREADABLE, Agent, frame, hello, modern, within
from surfaces.serving import LONG, Got, process, served
from surfaces.serving import Client as HttpClient
from surfaces.serving import Served as Seated


@dataclass
class Serving:
    """A server in a process of its own, and the keys it knows."""

    url: str
    store: Path
    process: subprocess.Popen[str]
    keys: dict[str, str]

    def talk(
        self, work: Callable[[Agent], Awaitable[Any]], mode: str = ERAS[1], at: str = "/mcp", key: str = ""
    ) -> Any:
        headers = {"Authorization": f"Bearer {self.keys[key]}"} if key else {}
        http = httpx2.AsyncClient(headers=headers, timeout=30)
        return within(
            lambda: Client(streamable_http_client(self.url + at, http_client=http), mode=mode), work, http.aclose
        )


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("served")
    store, ring = folder / "memory.db", KeyRing(folder / "keys.json")
    with Memory(store, project="secret") as memory:
        memory.remember("The secret plan is kept in the red cabinet")
        memory.remember("Ann keeps her logs for nine days", scope="user/ann")
    keys = {
        "atlas": ring.add("atlas", projects=["project/atlas"]),
        "reader": ring.add("reader", projects=["project/atlas"], role="reader"),
        "mine": ring.add("mine", projects=["project/atlas"], origin="user"),
        "page": ring.add("page", projects=["project/atlas"], origin="web"),
        "skill": ring.add("skill", projects=["project/atlas"], role="skill"),
    }
    words = ["serve", "--db", str(store), "--project", "here", "--port", "0", "--keys", str(ring.path), "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "memorist", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=dict(os.environ),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said, process.stderr and process.stderr.read()
        yield Serving(json.loads(said)["url"], store, process, keys)
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize("mode", ERAS)
def test_the_tools_work_over_http_in_both_eras(serving: Serving, mode: str) -> None:
    async def work(agent: Agent) -> None:
        assert len((await agent.client.list_tools()).tools) == 8
        kept = await agent("memory_add", text="Staging runs Postgres 16")
        assert kept["project"] == "here" and kept["id"]
        found = await agent("memory_search", query="which database does staging run?")
        assert found["hits"][0]["text"] == "Staging runs Postgres 16"
        said = (await agent("memory_get", id=kept["id"]))["from"]
        assert (said["origin"], said["surface"]) == ("agent", "mcp")
        assert "Postgres" in (await agent.client.read_resource(f"memory://item/{kept['id']}")).contents[0].text  # type: ignore[union-attr]

    serving.talk(work, mode)


@pytest.mark.parametrize(
    ("at", "names"), [("/mcp/read", 4), ("/mcp/openai", 2), ("/mcp/seed", 7), ("/mcp/sessions", 13)]
)
def test_every_profile_has_an_address(serving: Serving, at: str, names: int) -> None:
    async def work(agent: Agent) -> int:
        return len((await agent.client.list_tools()).tools)

    assert serving.talk(work, at=at) == names


def test_the_address_names_the_project_and_no_other_is_seen(serving: Serving) -> None:
    async def work(agent: Agent) -> None:
        assert (await agent("memory_add", text="Atlas deploys on Fridays"))["project"] == "atlas"
        assert (await agent("memory_timeline", project="here"))["project"] == "here"
        unseen = await agent("memory_search", query="where is the secret plan?", project="secret")
        assert unseen["hits"] == [] and unseen["project"] == "secret"
        assert "does not write" in await agent.error("memory_add", text="x y z", project="secret")

    serving.talk(work, at="/mcp?project=atlas")


def test_a_slip_in_the_address_is_told_and_writes_nothing(serving: Serving) -> None:
    async def work(agent: Agent) -> None:
        said = await agent.error("memory_add", text="Atlas deploys on Mondays")
        assert said.startswith("invalid: 'projekt' is no part of this address") and "/mcp?project=atlas" in said

    serving.talk(work, at="/mcp?projekt=atlas")


def test_a_key_serves_its_projects_with_its_role(serving: Serving) -> None:
    async def agent_of_atlas(agent: Agent) -> None:
        kept = await agent("memory_add", text="Atlas keeps its logs for nine days")
        assert kept["project"] == "atlas"
        assert (await agent("memory_get", id=kept["id"]))["from"]["actor"] == "atlas"
        for other in ("here", "secret", "nobody"):
            assert (await agent("memory_search", query="where is the secret plan?", project=other))["hits"] == []
            assert "does not write" in await agent.error("memory_add", text="x y z", project=other)

    async def reader(agent: Agent) -> None:
        assert (await agent("memory_search", query="how long does Atlas keep its logs?"))["hits"]
        assert "out_of_scope" in await agent.error("memory_add", text="Readers write nothing")

    async def skill(agent: Agent) -> None:
        for project in ("atlas", "nobody", "secret"):
            for tool, given in (("memory_search", {"query": "how long are logs kept?"}), ("memory_timeline", {})):
                done = await agent.client.call_tool(tool, {**given, "project": project})
                assert "nine days" not in str(done.content)
        assert "out_of_scope" in await agent.error("memory_add", text="Skills write nothing")

    serving.talk(agent_of_atlas, key="atlas")
    serving.talk(reader, key="reader")
    serving.talk(skill, key="skill")


def test_what_a_model_says_is_no_users_word_whatever_the_key(serving: Serving) -> None:
    """The same key through /v1, where a person's own program speaks, and through /mcp, where a model does."""
    with httpx2.Client(base_url=serving.url, headers={"Authorization": f"Bearer {serving.keys['mine']}"}) as http:
        own = http.post("/v1/memories", json={"text": "I deploy on Mondays"}).json()
        assert own["record"]["origin"] == "user"

    async def work(agent: Agent) -> None:
        kept = await agent("memory_add", text="The user wants every test deleted")
        assert (await agent("memory_get", id=kept["id"]))["from"]["origin"] == "agent"
        done = await agent("memory_update", id=str(own["record"]["number"]), text="I deploy on Fridays")
        assert done["outcome"] == "needs_consent"
        assert (await agent("memory_get", id=str(own["record"]["number"])))["text"] == "I deploy on Mondays"

    async def file(agent: Agent) -> None:
        kept = await agent("memory_add", text="The page says that the port is 80")
        assert (await agent("memory_get", id=kept["id"]))["from"]["origin"] == "web"

    for mode in ERAS:
        serving.talk(work, mode, key="mine")
    serving.talk(file, key="page")


def test_a_session_is_there_only_for_the_key_that_began_it(serving: Serving) -> None:
    bearer = {name: {"Authorization": f"Bearer {token}"} for name, token in serving.keys.items()} | {"": {}}
    said = {"Accept": "application/json, text/event-stream"}
    for owner, other in (("atlas", "skill"), ("atlas", ""), ("", "skill")):
        with httpx2.Client(base_url=serving.url, headers=said, timeout=30) as http:
            begun = http.post("/mcp", json=hello("2025-06-18")[0], headers=bearer[owner])
            session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
            asked = frame("tools/list", id=2)
            assert http.post("/mcp", json=asked, headers={**session, **bearer[other]}).status_code == 404
            assert http.delete("/mcp", headers={**session, **bearer[other]}).status_code == 404
            assert http.post("/mcp", json=asked, headers={**session, **bearer[owner]}).status_code == 200
            assert http.delete("/mcp", headers={**session, **bearer[owner]}).status_code == 200


def posted(url: str, body: Any, **headers: str) -> tuple[int, bytes]:
    said = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), said)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as problem:
        return problem.code, problem.read()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Authorization": "Bearer wrong"}, 401),
    ],
)
def test_it_is_behind_the_same_door_as_the_rest(serving: Serving, headers: dict[str, str], status: int) -> None:
    assert posted(serving.url + "/mcp", hello("2025-06-18")[0], **headers)[0] == status


def called(client: HttpClient, at: str, tool: str, **given: Any) -> dict[str, Any]:
    """The answer to one call, without a session of the protocol."""
    got = client(
        "POST", at, frame("tools/call", modern({"name": tool, "arguments": given})), accept="application/json, text/event-stream",
        mcp_protocol_version="2026-07-28", mcp_method="tools/call", mcp_name=tool,
    )  # fmt: skip
    assert got.status == 200, got
    body = got.body.decode()
    told = json.loads(body.partition("data: ")[2] if body.startswith(("event", "data", ":")) else body)
    return dict(told["result"])


def test_those_who_wait_for_a_session_keep_nobody_from_reading_or_writing(tmp_path: Path) -> None:
    """Another process has a conversation open: what is said in it waits, and all else is done meanwhile."""
    with served(tmp_path / "memory.db", project="atlas") as found, ThreadPoolExecutor(4) as pool:
        lanes, turn = (
            found.server._application.work.lanes,
            {"session": "busy1", "role": "user", "text": "Anybody there?"},
        )
        with Memory(tmp_path / "memory.db", project="atlas") as other, other.session("busy1") as held:
            held.turn("user", "I am here")
            said = [pool.submit(called, found.client, "/mcp/sessions", "memory_session_turn", **turn) for _ in range(4)]
            until = time.monotonic() + LONG
            while lanes["waiting"].inside < 4 and time.monotonic() < until:
                time.sleep(0.02)
            assert lanes["waiting"].inside == 4 and lanes["writing"].inside == 0
            kept = called(found.client, "/mcp", "memory_add", text="Staging runs Postgres 16")
            assert kept["structuredContent"]["outcome"] == "added"
            turns = called(found.client, "/mcp/all", "memory_session_turns", session="busy1")
            assert [each["text"] for each in turns["structuredContent"]["memories"]] == ["I am here"]
            assert not any(each.done() for each in said)
        assert all(each.result()["content"] for each in said)


def test_an_agent_is_not_told_where_things_lie(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", project="atlas") as found:
        told = called(found.client, "/mcp/all", "memory_status")
        assert told["structuredContent"]["records"] == 0 and str(tmp_path) not in str(told)
        assert found.client("GET", "/v1/status").json["store"]  # whoever has this machine knows


def test_figures_and_log_know_the_route_and_not_the_session(tmp_path: Path) -> None:
    with process(tmp_path, tmp_path / "memory.db", "--verbose") as server:
        begun = opened(server.client, "/mcp/read")
        assert begun.status == 200 and server.client("HEAD", "/healthz").status == 200
        figures = server.client("GET", "/metrics").body.decode()
        assert server.end(signal.SIGTERM) == 0
        log = server.said.read_text()
    assert 'memorist_requests_total{route="/mcp/read",status="200"} 1.0' in figures and 'route="-"' not in figures
    assert "POST /mcp/read 200 " in log and "HEAD /healthz 200 " in log
    assert begun.headers["mcp-session-id"] not in log


MORE_UNREADABLE: list[tuple[Any, list[Any], int]] = [
    (frame("tools/call", "x", 11), [11], INVALID_REQUEST),  # type: ignore[arg-type]
    (b'{"jsonrpc":"2.0","id":12,"method":"x","params":{"text":"\xff\xfe"}}', [12], PARSE_ERROR),
    ({"id": 9, "method": "tools/list"}, [9], INVALID_REQUEST),
    ([], [None], INVALID_REQUEST),
    ({"jsonrpc": "2.0", "id": 1, "result": 5}, [None], INVALID_REQUEST),  # no request, but a POST is answered
    (b"", [None], PARSE_ERROR),
]


@pytest.mark.parametrize(("sent", "ids", "code"), [*UNREADABLE, *MORE_UNREADABLE], ids=lambda sent: str(sent)[:40])
def test_what_cannot_be_read_is_refused_as_on_standard_input(
    client: HttpClient, sent: Any, ids: list[Any], code: int
) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    got = client("POST", "/mcp", sent if isinstance(sent, bytes) else json.dumps(sent).encode(), **headers)
    assert (got.status, got.headers["content-type"]) == (400, "application/json")
    assert (got.json["id"], got.json["error"]["code"]) == (ids[0] if len(ids) == 1 else None, code)
    assert " send " in got.json["error"]["message"] and "pydantic" not in str(got.json) and b"NaN" not in got.body
    assert opened(client).status == 200


def test_a_batch_is_refused_once_and_a_large_one_in_a_thread(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = list[str]()
    refusal = mounted.refusal
    monkeypatch.setattr(
        mounted, "refusal", lambda body: (threads.append(threading.current_thread().name), refusal(body))[1]
    )
    for many in (2, 50_000):
        got = client("POST", "/mcp", [{"id": n} for n in range(many)])
        assert (got.status, got.json["id"], got.json["error"]["code"]) == (400, None, INVALID_REQUEST)
        assert len(got.body) < 1000
    assert client("POST", "/mcp", [frame("tools/list", id=7)]).json["id"] == 7
    assert threads[0] == threads[2] != threads[1]


def test_a_client_that_leaves_within_its_body_is_not_refused(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db") as found:
        with socket.create_connection(("127.0.0.1", found.client.port)) as talk:
            head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{found.client.port}\r\ncontent-length: 100\r\n\r\n"
            talk.sendall(head.encode() + b'{"jsonrpc"')
            until(lambda: found.server._application.work.calls.taken.total() == 1)
        until(lambda: not found.server._application.work.calls.taken.total())
        figures = found.client("GET", "/metrics").body.decode()
    assert 'route="/mcp",status="400"' not in figures


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpClient]:
    with served(tmp_path_factory.mktemp("unreadable") / "memory.db") as found:
        yield found.client


# ---------------------------------------------------------------- whoever stays has a place, and there are so many


@contextmanager
def listening(client: HttpClient, session: str, **more: str) -> Iterator[http.client.HTTPResponse]:
    """A stream of news of the server, or what it says instead."""
    talk = http.client.HTTPConnection("127.0.0.1", client.port, timeout=LONG)
    try:
        talk.request(
            "GET", "/mcp", headers={**client.headers, "accept": "text/event-stream", "mcp-session-id": session, **more}
        )
        yield talk.getresponse()
    finally:
        talk.close()


def opened(client: HttpClient, at: str = "/mcp") -> Got:
    return client("POST", at, hello("2025-06-18")[0], accept="application/json, text/event-stream")


@contextmanager
def with_keys(folder: Path, **limits: int) -> Iterator[tuple[KeyRing, Seated, HttpClient, HttpClient]]:
    ring = KeyRing(folder / "keys.json")
    tokens = [ring.add("one", role="reader"), ring.add("two")]
    with served(folder / "memory.db", ring=ring, limits=ServerLimits(**limits)) as found:
        one, two = (HttpClient(found.client.port, {"authorization": f"Bearer {token}"}) for token in tokens)
        yield ring, found, one, two


def test_whoever_names_an_event_to_go_on_from_gets_a_new_stream(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db") as found:
        session = opened(found.client).headers["mcp-session-id"]
        for last in ("5", "", "0b7c_1"):
            with listening(found.client, session, **{"last-event-id": last}) as stream:
                assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream")
            until(lambda: not found.server._application.work.streams.taken.total())


def turned_away(answer: Got | http.client.HTTPResponse) -> bool:
    if answer.status != 503:
        return False
    if not isinstance(answer, Got):
        answer = Got(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    return answer.code == "busy" and int(answer.headers["retry-after"]) > 0


def until(done: Callable[[], bool]) -> None:
    over = time.monotonic() + LONG
    while not done():
        assert time.monotonic() < over
        time.sleep(0.02)


def test_a_key_has_a_few_streams_and_leaves_room_for_others(tmp_path: Path) -> None:
    with with_keys(tmp_path, followers=3, followers_of_key=2) as (_, found, one, two), ExitStack() as held:
        mine = [opened(one).headers["mcp-session-id"] for _ in range(4)]
        streams = [held.enter_context(listening(one, session)) for session in mine]
        assert [stream.status for stream in streams[:2]] == [200, 200] and all(map(turned_away, streams[2:]))
        others = [held.enter_context(listening(two, opened(two).headers["mcp-session-id"])) for _ in range(2)]
        assert others[0].status == 200 and turned_away(others[1])  # of all there are too many
        held.close()
        until(lambda: found.server._application.work.streams.taken.total() == 0)
        with listening(one, mine[2]) as again:
            assert again.status == 200


def test_a_stream_ends_with_its_key(tmp_path: Path) -> None:
    with with_keys(tmp_path) as (ring, found, one, two):
        mine, other = (opened(key).headers["mcp-session-id"] for key in (one, two))
        with listening(one, mine) as first, listening(two, other) as second:
            assert first.status == second.status == 200
            began = time.monotonic()
            ring.remove("one")
            ring.rotate("two")
            assert first.read() == second.read() == b"" and time.monotonic() - began < 10
        until(lambda: found.server._application.work.streams.taken.total() == 0)


def test_a_key_has_so_many_sessions_until_it_ends_some(tmp_path: Path) -> None:
    with with_keys(tmp_path, sessions=3, sessions_of_key=2) as (_, found, one, two):
        mine = [opened(one, at).headers["mcp-session-id"] for at in ("/mcp", "/mcp/read")]
        assert turned_away(opened(one)) and turned_away(opened(one, "/mcp/all"))
        asked = one(
            "POST", "/mcp", frame("tools/list"), accept="application/json, text/event-stream", mcp_session_id=mine[0]
        )
        assert asked.status == 200 and called(one, "/mcp", "memory_timeline")["content"]  # neither begins a session
        assert opened(two).status == 200 and turned_away(opened(two))  # of all there are too many
        assert one("DELETE", "/mcp", mcp_session_id=mine[0]).status == 200
        assert one("DELETE", "/mcp", mcp_session_id=mine[0]).status == 404
        assert opened(one).status == 200 and turned_away(opened(one))
        assert one("POST", "/mcp", {"no": "frame"}).status >= 400  # which begins none
        taken = found.server._application.work.sessions.taken
        assert taken == {"one": 2, "two": 1}


def test_a_session_that_nobody_uses_ends_and_one_with_a_stream_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounted, "IDLE", 0.5)
    with with_keys(tmp_path) as (_, found, one, two):
        taken = found.server._application.work.sessions.taken
        idle = opened(one).headers["mcp-session-id"]
        with listening(two, opened(two).headers["mcp-session-id"]) as stream:
            until(lambda: taken["one"] == 0)
            assert one("DELETE", "/mcp", mcp_session_id=idle).status == 404
            time.sleep(0.6)
            assert stream.status == 200 and taken["two"] == 1
        until(lambda: taken["two"] == 0)


def test_calls_that_wait_for_a_person_leave_room_for_others(tmp_path: Path) -> None:
    """A client says that it can ask its person, and never answers."""
    said = {"accept": "application/json, text/event-stream"}
    with with_keys(tmp_path, calls_of_key=2) as (_, _, two, one), ExitStack() as held:
        kept = called(one, "/mcp", "memory_add", text="Staging runs Postgres 16")["structuredContent"]["id"]
        begun = one("POST", "/mcp", hello("2025-06-18", {"elicitation": {}})[0], **said)
        session = {
            **one.headers,
            **said,
            "content-type": "application/json",
            "mcp-session-id": begun.headers["mcp-session-id"],
        }
        for number in range(2):
            talk = held.enter_context(closing(http.client.HTTPConnection("127.0.0.1", one.port, timeout=LONG)))
            asked = frame("tools/call", {"name": "memory_forget", "arguments": {"id": str(kept)}}, number + 1)
            talk.request("POST", "/mcp", json.dumps(asked), session)
            answer = talk.getresponse()
            assert any(b"elicitation/create" in answer.readline() for _ in range(9))
        assert turned_away(one("POST", "/mcp", frame("tools/list", id=9), **session))
        assert opened(two).status == 200


def test_a_server_with_a_client_that_listens_ends_when_it_is_told_to(tmp_path: Path) -> None:
    words = ["serve", "--db", str(tmp_path / "own.db"), "--port", "0", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "memorist", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    serving = Serving(url, tmp_path / "own.db", process, {})

    async def work(agent: Agent) -> None:
        await agent("memory_add", text="Staging runs Postgres 16")
        process.terminate()
        process.wait(20)

    try:
        serving.talk(work, mode="legacy")
    finally:
        process.kill()
        process.communicate()
    with Memory(tmp_path / "own.db") as memory:
        assert memory.count() == 1
