"""Every door to one store, each as a function from a verb and its arguments in JSON's terms to the answer in JSON's terms."""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from memorist import AsyncClient, AsyncMemory, Client, Memory
from memorist.commands import VERBS
from memorist.errors import MemoristError
from memorist.noun import plain
from memorist.surfaces import wire
from memorist.surfaces.cli import app
from memorist.surfaces.cli.arguments import SEVERAL, Option
from memorist.surfaces.http.server import Server, Serving, serve
from surfaces.agents import Agent, door
from surfaces.conftest import Cli


@dataclass
class Problem(Exception):
    """How a door told an error."""

    code: str
    said: str


Call = Callable[[str, Mapping[str, Any]], Any]


@dataclass
class Doors:
    """The doors by name, over one store."""

    path: Path
    url: str
    all: dict[str, Call] = field(default_factory=dict)


@contextmanager
def served(db: Path, project: str = "atlas", **more: Any) -> Iterator[str]:
    """A real server on a free port of this machine, in a thread; its address."""
    ready, addresses, servers = threading.Event(), list[str](), list[Server]()

    def is_ready(address: str, memories: Any) -> None:
        addresses.append(address)
        ready.set()

    serving = Serving(str(db), project, port=0, **more)
    thread = threading.Thread(target=serve, args=(serving, is_ready, servers.append), daemon=True)
    thread.start()
    try:
        assert ready.wait(60), "the server did not start"
        yield addresses[0]
    finally:
        servers[0].should_exit = True
        thread.join(60)


@contextmanager
def opened(folder: Path) -> Iterator[Doors]:
    """All doors to one new store."""
    path = folder / "me.db"
    with ExitStack() as stack:
        loop = stack.enter_context(_loop())
        memory = stack.enter_context(Memory(path, project="atlas"))
        awaited = AsyncMemory(path, project="atlas")
        stack.callback(lambda: loop(awaited.close()))
        url = stack.enter_context(served(path))
        client = stack.enter_context(Client(url))
        client_awaited = AsyncClient(url)
        stack.callback(lambda: loop(client_awaited.close()))
        raw = stack.enter_context(httpx2.Client(base_url=url, trust_env=False, timeout=60))
        agent = stack.enter_context(_Agent.at(path))
        (folder / "work").mkdir()
        cli = Cli(folder / "work", {"MEMORIST_DB": str(path), "MEMORIST_PROJECT": "atlas"})
        doors = Doors(path, url)
        doors.all = {
            "facade": _own(lambda verb, given: wire.call(memory, verb, given)),
            "async": _own(lambda verb, given: loop(wire.call(awaited, verb, given))),  # type: ignore[arg-type]
            "cli": lambda verb, given: _at_shell(cli, (), verb, given),
            "http": lambda verb, given: _over_http(raw, verb, given),
            "client": _own(lambda verb, given: wire.call(client, verb, given)),  # type: ignore[arg-type]
            "async client": _own(lambda verb, given: loop(wire.call(client_awaited, verb, given))),  # type: ignore[arg-type]
            "cli --url": lambda verb, given: _at_shell(cli, ("--url", url), verb, given),
            "mcp": agent.call,
        }
        yield doors


def _own(call: Callable[[str, Mapping[str, Any]], Any]) -> Call:
    """A door of this process, whose answers are nouns and whose errors are raised."""

    def told(verb: str, given: Mapping[str, Any]) -> Any:
        try:
            return plain(call(verb, given))
        except MemoristError as problem:
            raise Problem(problem.code, str(problem)) from problem

    return told


@contextmanager
def _loop() -> Iterator[Callable[[Any], Any]]:
    """An event loop in a thread: `do(coroutine)` waits for its answer."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield lambda work: asyncio.run_coroutine_threadsafe(_awaited(work), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(60)
    loop.close()


async def _awaited(work: Any) -> Any:
    return await work


# ---------------------------------------------------------------- a shell, HTTP, MCP


def _at_shell(cli: Cli, place: Sequence[str], verb: str, given: Mapping[str, Any]) -> Any:
    name = str(VERBS[verb].command)
    options = {option.name: option for option in app.command_named(name).options}
    words = [word for each, value in given.items() if options[each].flag for word in _flagged(options[each], value)]
    placed = [str(word) for option in options.values() if not option.flag and option.name in given
              for word in _several(given[option.name])]  # fmt: skip
    ended = cli.inside(*place, *name.split(), "--json", *words, "--", *placed)
    answer = json.loads(ended.out)
    if isinstance(answer, dict) and "error" in answer:
        raise Problem(answer["error"]["code"], answer["error"]["message"])
    return answer


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def _flagged(option: Option, value: Any) -> list[str]:
    if option.type == "flag":
        return [option.flag] if value else []
    several = value if option.type in SEVERAL else [value]
    return [
        word for each in several for word in (option.flag, json.dumps(each) if option.type == "json" else str(each))
    ]


def _over_http(client: httpx2.Client, verb: str, given: Mapping[str, Any]) -> Any:
    method, _, path = str(VERBS[verb].http).partition(" ")
    rest = dict(given)
    for name in re.findall(r"{(\w+)}", path):
        path = path.replace(f"{{{name}}}", quote(str(rest.pop(name)), safe=""))
    if method in ("GET", "DELETE"):
        pairs = [(name, each) for name, value in rest.items() for each in _several(value)]
        query = [(name, each if isinstance(each, str) else json.dumps(each)) for name, each in pairs]
        answer = client.request(method, path, params=tuple(query))
    else:
        answer = client.request(method, path, json=rest)
    told = answer.json()
    if not answer.is_success:
        assert answer.headers["content-type"].startswith("application/problem+json")
        raise Problem(told["code"], told["detail"])
    return told


@dataclass
class _Agent:
    """An agent that is connected in memory, in a thread of its own."""

    asks: "asyncio.Queue[Any]"
    loop: asyncio.AbstractEventLoop

    @classmethod
    @contextmanager
    def at(cls, path: Path) -> Iterator["_Agent"]:
        from mcp import Client as McpClient

        ready, made = threading.Event(), list[_Agent]()

        async def live() -> None:
            at = door(path, "all", names=("atlas",))
            async with McpClient(at.server(), mode="2026-07-28") as client:
                agent = cls(asyncio.Queue(), asyncio.get_running_loop())
                made.append(agent)
                ready.set()
                while (asked := await agent.asks.get()) is not None:
                    name, given, answer = asked
                    try:
                        answer.set_result(await Agent(client).client.call_tool(name, given))
                    except BaseException as problem:
                        answer.set_exception(problem)
            at.places.close()

        thread = threading.Thread(target=lambda: asyncio.run(live()), daemon=True)
        thread.start()
        assert ready.wait(60)
        try:
            yield made[0]
        finally:
            made[0].loop.call_soon_threadsafe(made[0].asks.put_nowait, None)
            thread.join(60)

    def call(self, verb: str, given: Mapping[str, Any]) -> Any:
        from concurrent.futures import Future

        answer: Future[Any] = Future()
        self.loop.call_soon_threadsafe(self.asks.put_nowait, (VERBS[verb].tool, dict(given), answer))
        done = answer.result(60)
        if done.is_error:
            code, _, said = done.content[0].text.partition(": ")
            raise Problem(code, said)
        return done.structured_content
