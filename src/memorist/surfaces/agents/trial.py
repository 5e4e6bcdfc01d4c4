"""Whether what an agent has of ours works, for `memorist doctor`: its hook is run with an event at which nothing is done, and its
server of tools is asked what it has.

Only what stands in the user's own settings is run, word by word and without a shell: a project's settings came with a clone.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from memorist.errors import Invalid
from memorist.surfaces.agents import splice
from memorist.surfaces.agents.clients import MEMORIST, Agent, commands_in, is_hook, is_server

HARMLESS = b'{"prompt": "", "agent_id": "memorist doctor"}'  # of which no hook makes anything, at a prompt or a start
TRYING = 15.0  # seconds for each program that is tried
HELLO = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "memorist doctor", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)  # fmt: skip
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


def version_of(agent: Agent) -> str | None:
    """Of the agent's own program, where it says so."""
    program = shutil.which(agent.program) if agent.program else None
    try:
        done = _ran([program, "--version"]) if program else None
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout.decode(errors="replace")) if done and done.returncode == 0 else None
    return found[0] if found else None


def hook_problem(agent: Agent) -> str | None:
    """What is wrong with its hook at a prompt, or at a start where it has no other; None if it works, or there is none."""
    words = _hook(agent)
    if words is None:
        return None
    try:
        done = _ran(words, HARMLESS)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"its hook does not run: {_short(problem)}"
    return None if done.returncode == 0 and not done.stdout else f"its hook ends with {done.returncode}"


def tools_of(agent: Agent) -> int | str | None:
    """How many tools its server has, or what is wrong with it; None where there is none of ours."""
    words = _server(agent)
    if words is None:
        return None
    try:
        return _listed(tuple(words))
    except (OSError, ValueError, LookupError, TypeError) as problem:
        return f"its tools do not answer: {_short(problem)}"


@contextmanager
def outliving_readers() -> Iterator[None]:
    """In which a program that reads nothing of what it is told does not end this one, as it would at a shell."""
    if not hasattr(signal, "SIGPIPE"):
        yield
        return
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)


def _short(problem: Exception) -> str:
    return str(getattr(problem, "strerror", None) or problem or type(problem).__name__)[:120]


def _ran(words: Sequence[str], given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(words, input=given, capture_output=True, timeout=TRYING)


def _hook(agent: Agent) -> list[str] | None:
    """The words of that hook, as its settings have them."""
    if agent.hooks is None:
        return None
    found = _read(agent.file(agent.hooks, None)).get("hooks")
    events = agent.hooks.events
    entries = found.get(events.get("prompt", events["start"])) if isinstance(found, Mapping) else None
    commands = [each for entry in entries for each in commands_in(entry)] if isinstance(entries, list) else []
    ours = next((each for each in commands if is_hook(each, agent.name)), None)
    return shlex.split(ours, posix=os.name == "posix")[:4] if ours else None


def _server(agent: Agent) -> list[str] | None:
    found: Any = _read(agent.file(agent.servers, None))
    for name in (*agent.servers.path, MEMORIST):
        found = found.get(name) if isinstance(found, Mapping) else None
    if not is_server(found):
        return None
    command, more = found["command"], found.get("args", [])
    return [str(word) for word in (command if isinstance(command, list) else [command, *more])]


def _read(file: Path) -> Mapping[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
        found: Any = tomllib.loads(text) if file.suffix == ".toml" else splice.read(text, file)
    except (OSError, ValueError, Invalid):  # which is told where its entries are read
        return {}
    return found if isinstance(found, Mapping) else {}


@cache  # most agents have the same
def _listed(words: tuple[str, ...]) -> int:
    """Asks a server of tools on its standard input, and ends it."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        late = threading.Timer(TRYING, server.kill)
        late.start()
        try:
            assert server.stdin is not None and server.stdout is not None
            server.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in HELLO))
            server.stdin.flush()
            for line in server.stdout:
                said = json.loads(line)
                if said.get("id") == 2:
                    return len(said["result"]["tools"])
            raise ValueError(f"it ended, or said nothing within {TRYING:g} s")
        finally:
            late.cancel()
            server.kill()
