"""What the golden suite may use of memorist. This file alone knows public names, arguments, routes and options: when one of
them changes, it changes here and nowhere else. Tests speak in the verbs below, and look only at results and error classes."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import memorist
import warm
from memorist import designs, errors, seeds
from memorist.seeds.items import ContextItem
from memorist.testing import START, HashEmbedder, MovableClock, ScriptedChat

Clock, Words, Script, BEGIN = MovableClock, HashEmbedder, ScriptedChat, START
item_of, at = ContextItem, partial(datetime, tzinfo=UTC)
DESIGNS = tuple(designs.DESIGNS)
LIVING = {"state": {"$in": ["active", "archived", "superseded"]}}

Error, Invalid, NotFound, Ambiguous = errors.MemoristError, errors.Invalid, errors.NotFound, errors.Ambiguous
OutOfScope, Refused, Conflict, Unavailable = errors.OutOfScope, errors.Refused, errors.Conflict, errors.StoreUnavailable
Damaged, TooNew, NoModel = errors.StoreDamaged, errors.StoreTooNew, errors.ModelUnavailable

# Where the suite's short names live on a record, a hit, an answer or a prompt; every other name is the attribute itself.
PATHS = {
    **{name: f"counters.{name}" for name in ("up", "down", "used", "surfaced", "rejected", "strength")},
    **{name: f"provenance.{name}" for name in ("actor", "session", "role", "speaker", "agent", "task", "snippet")},
    **{name: f"times.{name}" for name in ("at", "created", "updated", "valid_from", "valid_to")},
    "used_at": "times.used",
    "ratio": "compression_ratio",
    "empty": "empty_because",
}
OF_A_HIT = ("score", "why", "signals", "conflicts", "replaces", "freshness")


class Row:
    """A memory, a hit or a session's turn, seen through the names above."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __getattr__(self, name: str) -> Any:
        source = getattr(self.raw, "record", self.raw) if name not in OF_A_HIT else self.raw
        return attrgetter(PATHS.get(name, name))(source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.raw == other.raw


def bare(given: Any) -> Any:
    return given.raw if isinstance(given, Row) else given


class Rows(list[Row]):
    """An answer: its memories, best first, and everything that is said about it."""

    def __init__(self, raw: Any, hits: Any = None) -> None:
        super().__init__(map(Row, raw if hits is None else hits))
        self.raw, self.rows = raw, self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, PATHS.get(name, name))

    texts = property(lambda self: [row.text for row in self])
    numbers = property(lambda self: [row.number for row in self])


class Prompt(Rows):
    """A text for a prompt: text, tokens, budget, ratio, receipt, left_out, stable, lanes, and its memories."""

    def __init__(self, raw: Any) -> None:
        super().__init__(raw, raw.items)

    def __bool__(self) -> bool:
        return bool(self.raw)

    prefix = property(lambda self: self.raw.text[: self.raw.stable])


def own_design(base: str, **changes: Any) -> Any:
    """A design of the user's own: a built-in one, and what differs by name; a dict is what differs in that part."""
    found = designs.DESIGNS[base]
    parts = {name: replace(getattr(found, name), **it) if isinstance(it, dict) else it for name, it in changes.items()}
    return replace(found, **parts)


def retaining(base: str, **values: Any) -> Any:
    """A design that keeps at most that much, max_items or max_bytes, and tidies up only when it is told to."""
    jobs = designs.DESIGNS[base].upkeep
    kept = tuple(replace(job, **values) if all(hasattr(job, name) for name in values) else job for job in jobs)
    return own_design(base, upkeep=kept, due=dict(on_open=False, uses=None, hours=None, idle=None, above=None))


class Lib:
    """The library: one store, as one caller sees it."""

    def __init__(self, place: Path | str = ":memory:", memory: Any = None, **options: Any) -> None:
        self.memory = memory or memorist.Memory(place, **{"project": "atlas", **options})

    def __enter__(self) -> "Lib":
        return self

    def __exit__(self, *_: object) -> None:
        self.memory.close()

    def caller(self, origin: str = "agent", **grants: Any) -> "Lib":
        """The same store for another caller: origin, actor, role, reads, writes."""
        return Lib(memory=self.memory.through(replace(self.memory.access, origin=origin, **grants)))

    def keep(self, text: Any, **fields: Any) -> Any:
        return self.memory.remember(text, **fields)

    def keep_many(self, many: Iterable[Any]) -> list[Any]:
        return self.memory.remember_many(many)

    def change(self, id: Any, text: str | None = None, **fields: Any) -> Any:
        return self.memory.revise(bare(id), text, **fields)

    def vote(self, id: Any, verdict: str = "useful", receipt: str | None = None) -> Any:
        return self.memory.feedback(bare(id), verdict, receipt=receipt)

    def find(self, query: str | None, **options: Any) -> Rows:
        return Rows(self.memory.recall(query, **options))

    def texts(self, query: str | None, **options: Any) -> list[str]:
        return self.find(query, **options).texts

    def look(self, query: str, **options: Any) -> Rows:
        """As `find`, but nothing is logged or counted."""
        return Rows(self.memory.explain(query, **options))

    def prompt(self, query: str, **options: Any) -> Prompt:
        return Prompt(self.memory.context(query, **options))

    def get(self, id: Any) -> Row:
        return Row(self.memory.get(bare(id)))

    def all(self, where: Any = None, order: str = "-number", limit: int = 1000) -> list[Row]:
        """In the order of their numbers, unless another is named."""
        return [Row(record) for record in self.memory.list(where, order=order, limit=limit)]

    def everything(self) -> list[Row]:
        return self.all(LIVING)

    def state(self) -> str:
        """All that is active, as one text to compare; without what counts its changes."""
        rows = [row.raw.to_dict() for row in self.all()]
        return json.dumps([{**row, "version": 0, "times": {**row["times"], "updated": 0}} for row in rows], default=str)

    def upkeep(self, **options: Any) -> list[int]:
        """The numbers of the memories that it changed."""
        return [each.number for report in self.memory.upkeep(**options) for each in report.changed]

    def rows(self, verb: str, *values: Any, **options: Any) -> Rows:
        """What another reading verb gives: related, path, similar, timeline, sessions, tasks, threads, conflicts, …"""
        return Rows(self.call(verb, *values, **options))

    def call(self, verb: str, *values: Any, **options: Any) -> Any:
        """A verb whose name needs no words here: pin, unpin, tag, forget, restore, erase, undo, status, …"""
        name = {"threads": "narratives", "thread": "narrate", "why not": "why_not"}.get(verb, verb)
        return getattr(self.memory, name)(*map(bare, values), **options)

    def __getattr__(self, verb: str) -> Any:
        """`lib.link(…)`, `lib.used(…)`, `lib.session(…)`: the same."""
        return partial(self.call, verb)

    def hears(self) -> list[tuple[str, Mapping[str, Any]]]:
        """A list that grows by each event that is told from now on."""
        heard: list[tuple[str, Mapping[str, Any]]] = []
        self.memory.bus.listen(lambda name, facts: heard.append((name, facts)))
        return heard


def grants_of(lib: Lib, role: str, project: str) -> Lib:
    """The same store for the usual caller of one project: "project", "reader", or "admin", who may do everything."""
    here = ("*", "project/*" if role == "admin" else f"project/{project}")
    return lib.caller(role=role, reads=here, writes=() if role == "reader" else here, home=f"project/{project}")


def plain(given: Any) -> Any:
    """An answer as plain data, for tests that look whether something is anywhere in it."""
    if isinstance(given, list | tuple):
        return [plain(each) for each in given]
    return given.to_dict() if hasattr(given, "to_dict") else given


def seed(name: str, lib: Lib, *more: Any, **options: Any) -> Any:
    """The tools of a founding document under their own names."""
    return getattr(seeds, name)(lib.memory, *more, **options)


def slash(lib: Lib, line: str) -> str:
    """A command of the curated design, as it is typed in a chat."""
    return str(seeds.curated.slash(lib.memory, line).text)


# ---- outside

PROGRAM, LONG = (sys.executable, "-m", "memorist"), 60.0  # seconds after which something hangs
ENDS = "done error invalid not_found out_of_scope refused conflict unavailable damaged too_new no_model waits".split()
CODES = {"store_unavailable": "unavailable", "store_damaged": "damaged", "ambiguous": "not_found"}
COMMANDS = {"projects": "project list", "rename_project": "project rename", "set": "config set", "add_key": "key add",
            "remove_key": "key remove", "rotate_key": "key rotate"}  # fmt: skip
VARIABLES = {"config": "MEMORIST_CONFIG", "db": "MEMORIST_DB", "project": "MEMORIST_PROJECT"}
PULSE, FIGURES, CONTRACT = "/healthz", "/metrics", "/openapi.json"
OPTIONS = {"pinned": "--pin", "tags": "--tag", "projects": "--project"}
ONE = "/memories/{id}"
READ = "count log timeline audit status projects tasks sessions conflicts gaps export events".split()
ROUTES = {
    "remember": "POST /memories", "revise": f"PATCH {ONE}", "get": f"GET {ONE}", "forget": f"DELETE {ONE}",
    "pin": f"POST {ONE}/pin", "tag": f"POST {ONE}/tags", "feedback": f"POST {ONE}/feedback", "restore": f"POST {ONE}/restore",
    "list": "GET /memories", "history": f"GET {ONE}/history", "turn": "POST /sessions/{session}/turns",
    "turns": "GET /sessions/{session}/turns",
    "close": "POST /sessions/{session}/close", "receipt": "GET /receipts/{id}", "used": "POST /receipts/{receipt}/used",
}  # fmt: skip
TOOLS = {"remember": "memory_add", "recall": "memory_search", "revise": "memory_update", "turn": "memory_session_turn"}
EVENTS = {"claude-code": {"start": "SessionStart", "prompt": "UserPromptSubmit", "compact": "PreCompact", "end": "SessionEnd"},
          "codex": {"start": "SessionStart", "prompt": "UserPromptSubmit", "compact": "PreCompact"},
          "gemini": {"start": "SessionStart", "prompt": "BeforeAgent", "compact": "PreCompress", "end": "SessionEnd"}}  # fmt: skip


def parsed(said: str) -> Any:
    with suppress(ValueError):
        return json.loads(said)
    return said


@dataclass(frozen=True)
class Answer:
    """What any door said: `error` is empty, or one of ENDS; `data` is what a program reads of it."""

    error: str
    data: Any
    text: str
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return int((self.data.get("record") or {}).get("number") or self.data["id"])

    @property
    def texts(self) -> list[str]:
        rows = self.data if isinstance(self.data, list) else self.data.get("hits") or self.data.get("memories") or []
        return [str((row.get("record") or row)["text"]) for row in rows]


@dataclass(frozen=True)
class Shell:
    """`shell("remember", "text", kind="fact")` runs the program in a folder, in a process of its own that was forked from one that
    has loaded it; `shell.start(…)` starts it afresh, and with `shell.person(…)` somebody sits at a terminal."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def words(self, verb: str, *given: object, **options: Any) -> list[str]:
        words = COMMANDS.get(verb, verb.replace("_", "-")).split()
        for name, value in options.items():
            option = OPTIONS.get(name, "--" + name.replace("_", "-"))
            for each in value if isinstance(value, list) else [value]:
                said = json.dumps(each) if isinstance(each, dict) else str(each)
                words += [option] if each is True else [option, said]
        named = [str(each) for each in given]
        return [*words, *(["--"] if any(each.startswith("-") for each in named) else []), *named]

    @property
    def variables(self) -> dict[str, str]:
        return {**os.environ, "TERM": "dumb", **{VARIABLES.get(n, n): value for n, value in self.environment.items()}}

    def __call__(self, verb: str, *given: object, stdin: Any = b"", json: bool = True, **options: Any) -> Answer:
        words = self.words(verb, *given, **({"json": True} if json else {}), **options)
        return self.run(words, stdin if isinstance(stdin, bytes) else stdin.encode())

    def run(self, words: Sequence[str | bytes], stdin: bytes = b"") -> Answer:
        done = warm.run(words, cwd=self.folder, env=self.variables, input=stdin, timeout=LONG)
        assert 0 <= done.returncode < len(ENDS) and b"Traceback" not in done.stderr, done.stderr.decode()
        said, error = done.stdout.decode(), ENDS[done.returncode].replace("done", "")
        return Answer(error, parsed(said), said + done.stderr.decode(), done.returncode)

    def start(self, verb: str, *given: object, **options: Any) -> Any:
        pipes = {name: options.pop(name, subprocess.DEVNULL) for name in ("stdin", "stdout", "stderr")}
        words = [*PROGRAM, *self.words(verb, *given, **options)]
        return subprocess.Popen(words, cwd=self.folder, env=self.variables, **pipes)

    def person(self, verb: str, *given: object, typed: str = "y\n", **options: Any) -> Answer:
        """At a terminal, where somebody types; colours and questions are in the text."""
        ours, theirs = os.openpty()
        if warm.forks(self.variables):
            child: Any = warm.Forked(self.words(verb, *given, **options), self.folder, self.variables, (theirs,) * 3)
        else:
            child = self.start(verb, *given, stdin=theirs, stdout=theirs, stderr=theirs, **options)
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        with suppress(OSError), open(ours, "rb", buffering=0) as screen:  # noqa: PTH123 - an error says that it is closed
            while piece := screen.read(65536):
                shown += piece
        code = child.wait(LONG)
        return Answer(ENDS[code].replace("done", ""), None, shown.decode(), code)

    def hook(self, client: str, event: str, raw: bytes = b"", **given: Any) -> str:
        """What the agent's model reads, when the agent says this; a hook never fails."""
        said = raw or json.dumps({"session_id": "s1", "cwd": str(self.folder), **given}).encode()
        done = self.run(["hook", client, EVENTS[client][event]], said)
        assert done.status == 0 and (isinstance(done.data, dict) or not done.data), done.text
        return str((done.data or {}).get("hookSpecificOutput", {}).get("additionalContext", ""))


def route(verb: str) -> tuple[str, str]:
    method, _, path = ROUTES.get(verb, f"{'GET' if verb in READ else 'POST'} /{verb}").partition(" ")
    return method, f"/v1{path}"


@dataclass(frozen=True)
class Web:
    """`web("remember", text="…")` asks a server; `web.send(method, path or verb, …)` sends what no client would."""

    port: int
    key: str = ""
    process: Any = None

    def __call__(self, verb: str, headers: Mapping[str, str] | None = None, project: str = "", **given: Any) -> Answer:
        method, path = route(verb)
        for name in [name for name in given if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", quote(str(given.pop(name)), safe=""))
        query, body, sort = {"project": project} if project else {}, given.pop("body", None), "application/x-ndjson"
        if method in ("GET", "DELETE") or body is not None:
            query |= {k: json.dumps(v) if isinstance(v, dict) else v for k, v in given.items()}
        else:
            body, sort = json.dumps(given).encode(), "application/json"
        path += f"?{urlencode(query, doseq=True)}" if query else ""
        return self.send(method, path, body, {**({"content-type": sort} if body else {}), **(headers or {})})

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        talk = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        try:
            shown = {"authorization": f"Bearer {self.key}"} if self.key else {}
            talk.request(method, path if path.startswith("/") else route(path)[1], body, {**shown, **(headers or {})})
            answer = talk.getresponse()
            said = answer.read().decode()
        finally:
            talk.close()
        data = parsed(said)
        code = data["code"] if answer.status >= 400 else "waits" if answer.status == 202 else ""
        return Answer(CODES.get(code, code), data, said, answer.status, {k.lower(): v for k, v in answer.getheaders()})


@contextmanager
def serving(shell: Shell, **options: Any) -> Iterator[Web]:
    """A server in a process of its own; it ends with the block."""
    process = shell.start("serve", port=0, json=True, workers=1, stdout=subprocess.PIPE, **options)
    try:
        yield Web(int(json.loads(process.stdout.readline())["url"].rpartition(":")[2]), process=process)
    finally:
        process.kill()
        process.communicate()


def tool(verb: str) -> str:
    return TOOLS.get(verb, f"memory_{verb}")


@dataclass(frozen=True)
class Agent:
    """`agent("recall", query="…")` calls a tool; anything else goes through the client of the protocol."""

    portal: Any
    client: Any

    def __call__(self, verb: str, **given: Any) -> Answer:
        try:
            done = self.portal.call(self.client.call_tool, tool(verb), given)
        except Exception as problem:  # an error of the protocol: no such tool
            return Answer("no_tool", None, str(problem))
        text = "\n".join(getattr(part, "text", "") for part in done.content)
        said = done.structured_content or parsed(text)
        outcome = said.get("outcome") if isinstance(said, dict) else None
        told = outcome or text.partition(":")[0] if done.is_error else ""
        code = "waits" if outcome == "needs_consent" else told
        return Answer(CODES.get(code, code), done.structured_content, text)

    def tools(self) -> list[Any]:
        return list(self.portal.call(self.client.list_tools).tools)


@contextmanager
def speaking(shell: Shell, **options: Any) -> Iterator[Agent]:
    """An agent that has our tools over standard input and output."""
    from anyio.from_thread import start_blocking_portal
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program = warm.program("mcp")
    words = [*program[1:], *shell.words("mcp", **options)]
    started = StdioServerParameters(command=program[0], args=words, env=shell.variables, cwd=shell.folder)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(stdio_client(started))) as client:
        yield Agent(portal, client)
