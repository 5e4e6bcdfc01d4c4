"""Tests for `memorist doctor` whether an agent's setup works: runs its hook with an event that does nothing, and asks
its tool server for its tools.

Only entries of the user's own settings are run, word by word and without a shell: a project's settings came with a
clone.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain, takewhile
from pathlib import Path
from tempfile import TemporaryFile

from memorist.surfaces.agents import entries, splice, switches
from memorist.surfaces.agents.clients import Agent
from memorist.surfaces.agents.marks import (
    MEMORIST,
    called,
    is_gone,
    is_server,
    server_words,
    sets_variable,
    words_of,
)

HARMLESS = b'{"prompt": "", "agent_id": "memorist doctor"}'  # no hook acts on this, at a prompt or a start
TRYING = 15.0  # seconds for each program that is tried
NO_WORD = f"it ended, or said nothing within {TRYING:g} s"
HELLO = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "memorist doctor", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)  # fmt: skip
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


def version_of(agent: Agent) -> str | None:
    """The version that the agent's own program reports, if it does."""
    program = shutil.which(agent.program) if agent.program else None
    try:
        done = _ran([program, "--version"]) if program else None
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout.decode(errors="replace")) if done and done.returncode == 0 else None
    return found[0] if found else None


def wrong(agent: Agent, tools: int | str | None) -> tuple[str, str] | None:
    """What of ours does not work, and what mends it; `tools` as found by `tools_of`."""
    problem = hook_problem(agent)
    if problem:
        return problem, _remedy(agent, _hook(agent) or [])
    return (tools, _remedy(agent, _server(agent) or [])) if isinstance(tools, str) else None


def _remedy(agent: Agent, words: Sequence[str]) -> str:
    """What mends an entry with these words."""
    at = called(words)
    if is_gone(words):
        return f"run `{MEMORIST} install {agent.name}` again, which then calls {MEMORIST} by its name"
    if at is None or words[at] != [MEMORIST]:  # an installation leaves it as it is
        return f"run `{MEMORIST} uninstall {agent.name}`, then `{MEMORIST} install {agent.name}`"
    return f"the {MEMORIST} on the PATH does not work; install it again, as `{MEMORIST}[mcp]`"


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
    """How many tools its server has, or what is wrong with it; None if it has no server of ours."""
    words = _server(agent)
    if words is None:
        return None
    try:
        return _listed(tuple(words))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as problem:
        return f"its tools do not answer: {_short(problem)}"


@contextmanager
def outliving_readers() -> Iterator[None]:
    """A context in which a program that does not read its input cannot end this process, as it would at a shell."""
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
    """Runs these words. Those before them that set variables are set, as a shell does it."""
    variables = [*takewhile(sets_variable, words)]
    environment = os.environ | {name: value for name, _, value in (each.partition("=") for each in variables)}
    words = words[len(variables) :]
    return subprocess.run(words, input=given, capture_output=True, timeout=TRYING, env=environment)


def _hook(agent: Agent) -> list[str] | None:
    """The words of that hook's command, as in the settings."""
    if agent.hooks is None:
        return None
    events = agent.hooks.events
    ours = entries.ours(switches.read(agent.file(agent.hooks, None)), events.get("prompt", events["start"]), agent)
    best = sorted(map(words_of, ours), key=is_gone)[:1]  # one that is gone only where no other is there
    words = [_expanded(word) for word in chain(*best)]
    at = called(words)
    return words[: at.stop + 3] if at else None


def _expanded(word: str) -> str:
    word = os.path.expandvars(word)
    return str(Path(word).expanduser()) if word.startswith("~") else word


def _server(agent: Agent) -> list[str] | None:
    found = splice.at(switches.read(agent.file(agent.servers, None)), (*agent.servers.path, MEMORIST))
    return server_words(found) if is_server(found) else None


@cache  # most agents have the same
def _listed(words: tuple[str, ...]) -> int:
    """Starts a tool server on pipes, asks for its tools, and ends it. If it ends by itself, its last line says why."""
    pipe = subprocess.PIPE
    with TemporaryFile() as errors, subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=errors) as server:
        late = threading.Timer(TRYING, server.kill)
        late.start()
        try:
            assert server.stdin is not None and server.stdout is not None
            with suppress(BrokenPipeError):  # it ended before it was asked
                os.write(server.stdin.fileno(), b"".join(json.dumps(each).encode() + b"\n" for each in HELLO))
            for line in server.stdout:
                said = json.loads(line)
                if said.get("id") == 2:
                    return len(said["result"]["tools"])
            killed = server.wait() < 0
            errors.seek(0)
            lines = errors.read().decode(errors="replace").split("\n")
            raise ValueError(NO_WORD if killed else next(filter(str.strip, reversed(lines)), NO_WORD))
        finally:
            late.cancel()
            server.kill()
