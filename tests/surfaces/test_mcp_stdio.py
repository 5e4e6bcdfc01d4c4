"""`memorist mcp` as clients start it: a process that speaks the protocol on standard output, and nothing else there."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any

import anyio
import pytest
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from conftest import rounds
from memorist import Memory
from memorist.surfaces.cli.serve import NEEDED
from surfaces.agents import UNREADABLE, Agent, Raw, command, frame, hello, modern, talk_stdio
from surfaces.conftest import Cli

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of this system")
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


def begin(raw: Raw, version: str = "2025-06-18") -> None:
    raw.send(*hello(version))
    assert "result" in raw.answer(0)


def call(tool: str, id: Any = 1, **given: Any) -> dict[str, Any]:
    return frame("tools/call", {"name": tool, "arguments": given}, id)


# ---------------------------------------------------------------- versions


def test_these_are_the_versions_of_the_protocol() -> None:
    assert set(VERSIONS) == set(KNOWN_PROTOCOL_VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_of_the_protocol_is_spoken(version: str, tmp_path: Path) -> None:
    wrap = modern if version in MODERN_PROTOCOL_VERSIONS else lambda params=None: params or {}
    with Raw("--db", "own.db", folder=tmp_path) as raw:
        if version in MODERN_PROTOCOL_VERSIONS:
            raw.send(frame("server/discover", wrap(), 0))
            first = raw.answer(0)["result"]
            assert version in first["supportedVersions"]
        else:
            raw.send(*hello(version))
            first = raw.answer(0)["result"]
            assert (first["protocolVersion"], first["serverInfo"]["name"]) == (version, "memorist")
        assert "memory_search" in first["instructions"] and first["capabilities"].keys() >= {
            "tools",
            "resources",
            "prompts",
        }
        raw.send(frame("tools/list", wrap(), 1))
        assert len(raw.answer(1)["result"]["tools"]) == 8
        given = {"name": "memory_add", "arguments": {"text": "Staging runs Postgres 16"}}
        raw.send(frame("tools/call", wrap(given), 2))
        done = raw.answer(2)["result"]
        assert json.loads(done["content"][0]["text"])["outcome"] == "added"
        assert done["structuredContent"] == json.loads(done["content"][0]["text"])  # older clients read the text
        raw.send(frame("prompts/get", wrap({"name": "recall_protocol"}), 3))
        assert "three times at most" in raw.answer(3)["result"]["messages"][0]["content"]["text"]
        raw.send(frame("resources/read", wrap({"uri": "memory://item/1"}), 4))
        assert "Postgres 16" in raw.answer(4)["result"]["contents"][0]["text"]
        assert raw.end()[0] == 0


# ---------------------------------------------------------------- standard output


def test_what_a_plugin_prints_does_not_reach_the_protocol(tmp_path: Path) -> None:
    """An embedder or a reranker may print, and so may the libraries it loads."""
    (tmp_path / "sitecustomize.py").write_text(
        "import memorist.memory as m\nold = m.Memory._answer\n"
        "def loud(self, *a, **k):\n"
        "    print('a word on standard output', flush=True)\n"
        "    import os; os.system('echo a word of a child')\n"
        "    return old(self, *a, **k)\n"
        "m.Memory._answer = loud\n"
    )
    with Raw("--db", "own.db", folder=tmp_path, alone=True, PYTHONPATH=str(tmp_path)) as raw:
        begin(raw)
        raw.send(call("memory_search", 5, query="anything"))
        assert raw.answer(5)["result"]["content"]
        code, out, err = raw.end()
        assert (code, out) == (0, b"")
        assert b"a word on standard output" in err and b"a word of a child" in err


def test_without_the_package_it_says_what_to_install(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nold = u.find_spec\nu.find_spec = lambda n, *a: None if n == 'mcp' else old(n, *a)\n"
    )
    ended = cli("mcp", PYTHONPATH=str(tmp_path))
    assert ended.code == 5 and "pip install 'memorist[mcp]'" in ended.err and not ended.out


def test_it_needs_no_package_of_the_http_server(tmp_path: Path) -> None:
    """`pip install 'memorist[mcp]'` brings none of them."""
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    missing = [re.split(r"[^\w-]", line)[0].replace("-", "_") for line in extras["server"]]
    assert sorted(missing) == sorted(NEEDED), "`memorist serve` looks for what its extra brings"
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules |= dict.fromkeys({missing!r})\n")
    with Raw("--db", "own.db", folder=tmp_path, alone=True, PYTHONPATH=str(tmp_path)) as raw:
        begin(raw)
        raw.send(call("memory_add", 5, text="Staging runs Postgres 16"))
        assert "added" in str(raw.answer(5))


def test_a_setting_that_names_a_server_is_told_of(tmp_path: Path) -> None:
    with Raw(folder=tmp_path, MEMORIST_URL="http://127.0.0.1:9", MEMORIST_DB=str(tmp_path / "own.db")) as raw:
        begin(raw)
        raw.send(call("memory_add", 5, text="Staging runs Postgres 16"))
        assert "added" in str(raw.answer(5))
        code, _, err = raw.end()
    assert (
        code == 0
        and b"this serves the store of this machine, and http://127.0.0.1:9/mcp the other one" in b" ".join(err.split())
    )


def test_the_recall_protocol_is_a_command(cli: Cli) -> None:
    assert "memory_search" in cli("prompt").out
    assert "memory_query" in cli("prompt", "--tools", "seed").out
    assert len(cli("prompt").out.encode()) < 2048
    assert cli("prompt", "--tools", "some").code == 2


# ---------------------------------------------------------------- many at once, and ends


def test_forty_parallel_stores_in_one_session_are_forty_memories(tmp_path: Path) -> None:
    async def work(agent: Agent) -> None:
        async def store(number: int) -> None:
            done = await agent("memory_add", text=f"Relay {number} is in cabinet {number * 7919 % 1000}")
            kept.append(done["outcome"])

        kept: list[str] = []
        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(store, number)
        assert kept == ["added"] * 40

    talk_stdio(command("--db", "own.db"), work, tmp_path)
    with Memory(tmp_path / "own.db") as memory:
        assert memory.count() == 40 and memory.audit().ok


def test_a_read_and_a_write_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """Another process holds the store's lock for writing, and one a conversation: each call waits for its own cause only."""
    said = {"session": "busy1", "role": "user", "text": "Anybody there?"}
    with Raw("--db", "own.db", "--tools", "sessions", folder=tmp_path) as raw:
        begin(raw)
        raw.send(call("memory_add", 1, text="Staging runs Postgres 16"))
        raw.answer(1)
        with Memory(tmp_path / "own.db") as other:
            with other._tools.store.transaction():
                raw.send(*(call("memory_add", 10 + n, text=f"Relay {n} is in cabinet {n}") for n in range(3)))
                for id in range(2, 5):
                    raw.send(call("memory_search", id, query="which database does staging run?"))
                    found = raw.read()
                    assert found["id"] == id and "Postgres 16" in str(found), "the writes wait on"
            assert {raw.read()["id"] for _ in range(3)} == {10, 11, 12}
            with other.session("busy1"):
                raw.send(*(call("memory_session_turn", 20 + n, **said) for n in range(3)))
                raw.send(call("memory_add", 30, text="Production runs Postgres 15"), call("memory_sessions", 31))
                assert {raw.read()["id"] for _ in range(2)} == {30, 31}
            assert {raw.read()["id"] for _ in range(3)} == {20, 21, 22}
        raw.end()


def test_a_pipe_that_nobody_reads_does_not_end_it(tmp_path: Path) -> None:
    with Raw("--db", "own.db", folder=tmp_path, alone=True) as raw:
        begin(raw)
        raw.process.send_signal(signal.SIGPIPE)
        raw.send(call("memory_add", 1, text="Staging runs Postgres 16"))
        assert raw.answer(1)
        assert raw.end()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_everything_that_was_acknowledged(tmp_path: Path, number: signal.Signals) -> None:
    with Raw("--db", "own.db", folder=tmp_path, alone=True) as raw:
        begin(raw)
        raw.send(call("memory_add", 1, text="Staging runs Postgres 16"))
        assert raw.answer(1)
        raw.process.send_signal(number)
        assert raw.process.wait(10) == 128 + number
    with Memory(tmp_path / "own.db") as memory:
        assert memory.count() == 1 and all(finding.ok for finding in memory.doctor())


@pytest.mark.covers("P1")
def test_an_acknowledged_write_survives_kill_9(tmp_path: Path) -> None:
    """Promise P1 on this surface: the server is killed at a random moment while it writes."""
    chance, kept = random.Random("mcp"), 0
    for _ in range(rounds(200, 0.01)):
        acknowledged: list[int] = []
        with Raw("--db", "own.db", folder=tmp_path, alone=True) as raw:
            begin(raw)
            raw.send(*(call("memory_add", 1 + n, text=f"Fact {kept + n}: relay {kept + n} answers") for n in range(60)))
            acknowledged.append(raw.read()["id"])
            time.sleep(chance.uniform(0, 0.05))
            raw.process.kill()
            assert raw.process.stdout is not None
            whole = [line for line in raw.process.stdout.read().split(b"\n")[:-1]]
            acknowledged += [json.loads(line)["id"] for line in whole]
        with Memory(tmp_path / "own.db") as memory:
            texts = {record.text for record in memory.list(limit=100_000)}
            for id in acknowledged:
                assert f"Fact {kept + id - 1}: relay {kept + id - 1} answers" in texts
            assert memory.audit().ok and all(finding.ok for finding in memory.doctor())
            kept += 60


# ---------------------------------------------------------------- nasty frames


@pytest.fixture(scope="module")
def outlives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    """One server for all that bad clients send; in the end it is still in order."""
    with Raw("--db", "own.db", folder=tmp_path_factory.mktemp("nasty")) as raw:
        begin(raw)
        yield raw
        code, out, _ = raw.end()
        assert code == 0 and all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    """One that was asked nothing of which the answer is still to come."""
    with Raw("--db", "own.db", folder=tmp_path_factory.mktemp("quiet")) as raw:
        begin(raw)
        yield raw


def alive(raw: Raw, id: str = "alive") -> None:
    raw.send(call("memory_timeline", id))
    assert raw.answer(id)["result"]["isError"] is False


@pytest.mark.covers("Z19")
@pytest.mark.parametrize(
    "sent",
    [
        [frame("no/such/method")],
        [[frame("tools/list", id=7), frame("tools/list", id=8)]],  # a batch
        [{"jsonrpc": "2.0", "method": "tools/list"}],  # no id
        [{"jsonrpc": "2.0", "id": None, "method": "tools/list"}],
        [frame("tools/list", id="x" * 1_000_000)],
        [frame("tools/list", id=2**80)],
        [frame("tools/list", id=1.5)],
        [{"jsonrpc": "2.0", "method": "notifications/nothing", "params": {"n": n}} for n in range(2000)],
        hello("2025-06-18"),  # a second time
        [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99, "reason": "over"}}],
        [b"\xff\xfe\x00", b"", b"   ", b"null", b"[]", b"{}", b"42", b'"text"', b"{" * 10_000, b"[" * 100_000],
        [b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_add","arguments":{"text":"\\ud800"}}}'],
        [call("memory_add", text="a\x00b"), call("memory_add", text="x" * 2_000_000), call("memory_add", text="")],
        [frame("tools/call", {"name": 5}), frame("tools/call", {}), frame("tools/call", {"name": "memory_add", "arguments": []})],
        [frame("tools/call", {"name": "memory_search", "arguments": {"query": "(" * 2000}})],
        [frame("resources/read", {"uri": "file:///etc/passwd"}), frame("resources/read", {"uri": "memory://item/../../1"})],
        [frame("prompts/get", {"name": "start_task", "arguments": {}}), frame("prompts/get", {"name": "x"})],
        [{"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}],
    ],
    ids=lambda sent: str(sent)[:40],
)  # fmt: skip
def test_the_server_outlives_what_a_bad_client_sends(sent: list[Any], outlives: Raw) -> None:
    outlives.send(*sent)
    alive(outlives)


@pytest.mark.covers("Z19")
@pytest.mark.parametrize(("sent", "ids", "code"), UNREADABLE, ids=lambda sent: str(sent)[:40])
def test_what_cannot_be_read_is_answered_under_its_id(sent: Any, ids: list[Any], code: int, quiet: Raw) -> None:
    """Not under the id of something inside it, which may be that of another request."""
    quiet.send(sent)
    told = [quiet.read() for _ in ids]
    assert [(each["id"], each["error"]["code"]) for each in told] == [(id, code) for id in ids]
    assert all(" send " in each["error"]["message"] for each in told)
    alive(quiet)


@pytest.mark.parametrize("sent", [b"", b"   ", {"jsonrpc": "2.0", "id": 1, "result": 5}, {"id": 1, "error": "no"}])
def test_what_is_no_request_is_not_answered(sent: Any, quiet: Raw) -> None:
    quiet.send(sent, frame("ping", id="next"))
    assert quiet.read()["id"] == "next"


def test_half_a_frame_and_then_nothing_ends_it_in_peace(tmp_path: Path) -> None:
    with Raw("--db", "own.db", folder=tmp_path) as raw:
        begin(raw)
        assert raw.process.stdin is not None
        raw.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"meth')
        code, out, _ = raw.end()
        assert code == 0 and [json.loads(line)["id"] for line in out.splitlines()] == [1]


@pytest.mark.parametrize("first", ["stdin", "stdout"])
def test_a_client_that_dies_in_mid_call_leaves_the_store_whole(tmp_path: Path, first: str) -> None:
    with Raw("--db", "own.db", folder=tmp_path) as raw:
        begin(raw)
        assert raw.process.stdin is not None and raw.process.stdout is not None and raw.process.stderr is not None
        if first == "stdout":
            raw.process.stdout.close()
        raw.send(*(call("memory_add", n, text=f"Relay {n} is in cabinet {n}") for n in range(30)))
        raw.process.stdin.close()
        raw.process.stdout.close()
        assert (raw.process.wait(20), raw.process.stderr.read()) == (0, b"")
    with Memory(tmp_path / "own.db") as memory:
        assert memory.audit().ok and all(finding.ok for finding in memory.doctor())


VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    1e308,
    "",
    "\u0000",
    "x" * 5000,
    [],
    {},
    [[[[]]]],
    {"a": {"b": None}},
    "memory_add",
)


def on_one_line(raw: bytes | bytearray) -> bytes:
    return bytes(raw).replace(b"\n", b" ").replace(b"\r", b" ")


def damaged(chance: random.Random, id: int) -> bytes:
    """A frame with something wrong: bytes, structure, or values."""
    choice, whole = (
        chance.randrange(4),
        json.dumps(call("memory_search", id, query="which database does it run?")).encode(),
    )
    if choice == 0:
        raw = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        return on_one_line(raw)
    if choice == 1:
        return whole[: chance.randrange(len(whole))]
    if choice == 2:
        return on_one_line(bytes(chance.randrange(256) for _ in range(chance.randint(0, 200))))
    found = frame(
        chance.choice(["tools/call", "tools/list", "resources/read", "prompts/get", "ping", "initialize", "x"]), {}, id
    )
    for place in (found, found["params"]):
        for key in chance.sample(
            ["jsonrpc", "id", "method", "params", "name", "arguments", "uri", "_meta", "cursor"], 3
        ):
            place[key] = chance.choice(VALUES)
    return json.dumps(found).encode()


def meant(sent: bytes) -> Any:
    try:
        return json.loads(sent.decode(errors="replace"))
    except ValueError:
        return ...


def waits(sent: bytes) -> bool:
    """Whether whoever sends it waits for an answer: all but what is blank, a notification, or an answer itself."""
    said = meant(sent)
    if not isinstance(said, dict):
        return bool(sent.strip())
    heard = said.get("jsonrpc") == "2.0" and isinstance(said.get("method"), str) and "id" not in said
    fits = isinstance(said.get("params"), dict | NoneType)
    return not (heard and fits)


def wanted(sent: bytes) -> list[Any]:
    """The ids that its answer may bear: its own, and where it cannot be read what looks like one."""
    said = meant(sent)
    if not isinstance(said, dict):
        return [None, *(int(found) for found in re.findall(rb'"id": (\d+)', sent))]
    id = said.get("id")
    return [id if isinstance(id, str | int | float) and not isinstance(id, bool) else None]


@pytest.mark.covers("Z19")
def test_thousands_of_damaged_frames_each_request_answered_and_the_server_lives(tmp_path: Path) -> None:
    chance, number = random.Random("frames"), rounds(2000, 0.02)
    with Raw("--db", "own.db", folder=tmp_path) as raw:
        begin(raw)
        for at in range(number):
            sent = damaged(chance, at)
            raw.send(sent)
            if waits(sent):
                told = raw.read()
                assert told.keys() & {"result", "error"} and told["id"] in wanted(sent), (sent, told)
            if at % 20 == 19:
                alive(raw, f"alive-{at}")
        alive(raw)
        code, out, _ = raw.end()
        assert code == 0 and all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())


# ---------------------------------------------------------------- what it costs to start


def test_the_program_starts_without_what_it_does_not_need() -> None:
    """`memorist --version` and a recall do not import the SDK; the modules of tools and words do not either."""
    for line in ("import memorist.surfaces.cli.app", "import memorist.surfaces.mcp.tools, memorist.surfaces.mcp.words"):
        check = f"{line}; import sys; print([name for name in ('mcp', 'pydantic', 'starlette') if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]", line
