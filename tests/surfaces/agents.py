"""An agent's side of the protocol: the SDK's own client, in memory, over standard input and output, and raw frames."""

import json
import os
import subprocess
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import INVALID_REQUEST, PARSE_ERROR

import warm
from memorist.surfaces.mcp import tools
from memorist.surfaces.mcp.projects import Projects
from memorist.surfaces.mcp.server import McpDoor

PATIENCE = 30.0  # seconds for an answer; then the program is ended, and whoever waits for it learns so
ERAS = ("legacy", "2026-07-28")


@dataclass
class Agent:
    """`await agent("memory_add", text=…)` gives the JSON of the answer; `await agent.error(…)` the words of an error."""

    client: Client

    async def __call__(self, name: str, **given: Any) -> dict[str, Any]:
        done = await self.client.call_tool(name, given)
        assert not done.is_error, done.content
        assert isinstance(done.structured_content, dict)
        return done.structured_content

    async def error(self, name: str, **given: Any) -> str:
        done = await self.client.call_tool(name, given)
        assert done.is_error, done.structured_content
        return text_of(done)


def text_of(done: types.CallToolResult) -> str:
    [content] = done.content
    assert isinstance(content, types.TextContent)
    return content.text


def door(path: str | Path = ":memory:", profile: str = tools.DEFAULT, trust: bool = False, **place: Any) -> McpDoor:
    return McpDoor(Projects(str(path), reader=tools.reads_only(profile), **place), profile, trust)


def talk(at: McpDoor, work: Callable[[Agent], Awaitable[Any]], mode: str = "2026-07-28", **client: Any) -> Any:
    """What the work gives, with a client connected in memory."""

    try:
        return within(lambda: Client(at.server(), mode=mode, **client), work)
    finally:
        assert isinstance(at.places, Projects)
        at.places.close()


def within(
    connect: Callable[[], Client],
    work: Callable[[Agent], Awaitable[Any]],
    end: Callable[[], Awaitable[None]] | None = None,
) -> Any:
    """What the work gives, or raises: by itself, not in the group of a task."""

    async def connected() -> tuple[Any, BaseException | None]:
        try:
            async with connect() as client:
                try:
                    return await work(Agent(client)), None
                except BaseException as problem:
                    return None, problem
        finally:
            if end is not None:
                await end()

    given, problem = anyio.run(connected)
    if problem is not None:
        raise problem
    return given


def command(*arguments: str) -> list[str]:
    return [*warm.program("mcp"), "mcp", *arguments]


def talk_stdio(
    words: Sequence[str], work: Callable[[Agent], Awaitable[Any]], folder: Path, mode: str = "auto", **client: Any
) -> Any:
    """The same with the real program, in a folder of its own."""
    started = StdioServerParameters(command=words[0], args=[*words[1:]], env=dict(os.environ), cwd=folder)
    return within(lambda: Client(stdio_client(started), mode=mode, **client), work)


# ---------------------------------------------------------------- raw frames

SINCE_2026 = "io.modelcontextprotocol/protocolVersion"


def frame(method: str, params: Mapping[str, Any] | None = None, id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method} | ({} if params is None else {"params": params})


def hello(version: str, capabilities: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """How a client of an older version begins."""
    who = {
        "protocolVersion": version,
        "capabilities": capabilities or {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    return [frame("initialize", who, 0), {"jsonrpc": "2.0", "method": "notifications/initialized"}]


def modern(params: Mapping[str, Any] | None = None, **capabilities: Any) -> dict[str, Any]:
    """The parameters of a request of 2026-07-28, which says with each what it speaks."""
    meta = {SINCE_2026: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": capabilities}
    return {**(params or {}), "_meta": meta}


DEEP = b"[" * 3000 + b"]" * 3000
UNREADABLE: list[tuple[Any, list[Any], int]] = [  # what is sent, the ids under which it is refused, and the code
    (b'{"method":"tools/call","params":{"arguments":{"query":"\\ud800","id":4}},"jsonrpc":"2.0","id":9}', [9], PARSE_ERROR),
    (b'{"method":"tools/call","params":{"arguments":{"tags":' + DEEP + b',"id":4}},"jsonrpc":"2.0","id":9}', [9], PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":"nine","method":"x","params":{"tags":' + DEEP + b',"id":4}}', ["nine"], PARSE_ERROR),
    (b'{"method":"tools/call","params":{"name":"memory_get","arguments":{"query":"x","id":4}', [None], PARSE_ERROR),  # cut
    (frame("tools/list", id=7.5), [7.5], INVALID_REQUEST),
    (frame("tools/list", id=None), [None], INVALID_REQUEST),
    (frame("tools/list", id=[]), [None], INVALID_REQUEST),
    (frame("tools/list", [], id=9), [9], INVALID_REQUEST),  # type: ignore[arg-type]
    (b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}', [None], PARSE_ERROR),
    ([frame("tools/list", id=7), frame("tools/list", id=8)], [7, 8], INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":1e400,"method":"tools/list"}', [None], INVALID_REQUEST),  # a number that JSON cannot say
    (b'{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}', [None], INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":1e400,"method":"tools/list"', [None], PARSE_ERROR),
    ([frame("tools/list", id=n) for n in range(101)], [None], INVALID_REQUEST),  # too many to be answered one by one
    (b'[{"jsonrpc":"2.0","id":7,"method":"tools/list"},', [None], PARSE_ERROR),
    (b"what is this?", [None], PARSE_ERROR),
    (b"42", [None], INVALID_REQUEST),
]  # fmt: skip


class Raw:
    """The real program, spoken to in lines; one that is to get a signal is started by itself (`alone`)."""

    def __init__(self, *arguments: str, folder: Path, alone: bool = False, **environment: str) -> None:
        words = [*warm.PROGRAM, "mcp", *arguments] if alone else command(*arguments)
        self.process = subprocess.Popen(
            words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )  # fmt: skip

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *problem: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()

    def send(self, *lines: Mapping[str, Any] | list[Any] | bytes | str) -> None:
        assert self.process.stdin is not None
        for line in lines:
            raw = (
                line
                if isinstance(line, bytes)
                else line.encode()
                if isinstance(line, str)
                else json.dumps(line).encode()
            )
            self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next line, which must be a frame of the protocol."""
        assert self.process.stdout is not None
        ending = threading.Timer(PATIENCE, self.process.kill)
        ending.start()
        line = self.process.stdout.readline()
        ending.cancel()
        assert line, self.rest()
        found = json.loads(line)
        assert found["jsonrpc"] == "2.0"
        return dict(found)

    def answer(self, id: Any) -> dict[str, Any]:
        """The answer to the request with that id; others are passed over."""
        while True:
            found = self.read()
            if found.get("id") == id and "method" not in found:
                return found

    def rest(self) -> str:
        assert self.process.stderr is not None
        self.process.kill()
        return self.process.stderr.read().decode()

    def end(self) -> tuple[int, bytes, bytes]:
        """Closes its standard input: the exit code, and what was left to read."""
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err
