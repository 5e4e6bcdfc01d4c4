"""What an agent's hooks cost beside those of others: `python -m bench.rivals_hooks [MEMORIES]`.

Measured is the CPU of all that a hook runs and waits for, and of the process that it asks, from where the hook begins to where it
ends; the clock is beside it. The commands are those that the others put into Claude Code. A rival is measured if
bench/peers/setup.sh made its environment (claude-mem, basic-memory). Both find by words alone here: their models are downloads.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.corpus import Corpus
from bench.servers import PEERS, cpu_of
from bench.speed import LONGEST_START, Measure, folder
from memorist import Memory

TIMES = 3  # the cheapest of so many
AT_ONCE = 500  # memories in one request
MOST_NOTES = 300  # basic-memory takes 40 ms of CPU to index one
START, PROMPT = "SessionStart", "UserPromptSubmit"


@dataclass
class Hooks:
    """The commands of a program at each event, and the CPU seconds that another process has spent for it by now."""

    name: str
    commands: Mapping[str, Sequence[Sequence[str]]]
    place: Path
    environment: Mapping[str, str]
    elsewhere: Callable[[], float] = lambda: 0.0
    before: Callable[[], None] = lambda: None  # each time
    told: list[str] = field(default_factory=list)

    def measured(self, event: str, how: str) -> Measure:
        spent = min(self._once(event, f"{how}{n}") for n in range(TIMES))
        name = f"{self.name} at {'the start' if event == START else 'a prompt'}, {how}"
        return Measure(
            name, spent[0], "ms CPU", detail=f"wall {spent[1]:,.0f} ms, {len(self.told[-1])} characters told"
        )

    def _once(self, event: str, session: str) -> tuple[float, float]:
        self.before()
        said_with = {"prompt": Corpus(10).question()} if event == PROMPT else {"source": "startup"}
        given = {"session_id": session, "cwd": str(self.place), "hook_event_name": event, **said_with}
        raw = json.dumps(given).encode()
        cpu, clock, said = _children() + self.elsewhere(), time.perf_counter(), ""
        for words in self.commands[event]:
            done = subprocess.run(words, input=raw, capture_output=True, cwd=self.place, env=self.environment)
            if done.returncode:
                raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
            said += done.stdout.decode()
        self.told.append(said)
        return (_children() + self.elsewhere() - cpu) * 1000, (time.perf_counter() - clock) * 1000


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# ---------------------------------------------------------------- ours


def memorist(size: int) -> Iterator[Measure]:
    with folder() as place:
        db = str(place / "hooks.db")
        there = {
            **os.environ,
            "MEMORIST_DB": db,
            "MEMORIST_PROJECT": "p",
            "MEMORIST_CONFIG": str(place / "config.toml"),
        }
        with Memory(db, project="p") as memory:
            memory.remember_many(Corpus(9).memories(size))
            memory.pin(1)
        program = [sys.executable, "-m", "memorist"]
        commands = {event: [[*program, "hook", "claude-code", event]] for event in (START, PROMPT)}
        yield from (Hooks("memorist", commands, place, there).measured(event, "cold") for event in (START, PROMPT))
        with subprocess.Popen([*program, "serve", "--port", "0"], stdout=subprocess.DEVNULL, env=there) as server:
            try:
                _wait_for(lambda: (place / "hooks.sock").exists())
                served = Hooks("memorist", commands, place, there, lambda: cpu_of(server.pid))
                yield from (served.measured(event, "with a server") for event in (START, PROMPT))
            finally:
                server.terminate()


def _wait_for(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + LONGEST_START
    while not happened():
        if time.monotonic() > until:
            raise RuntimeError(f"nothing answered within {LONGEST_START:.0f} s")
        time.sleep(0.1)


# ---------------------------------------------------------------- claude-mem


def claude_mem(size: int) -> Iterator[Measure]:
    """Its hooks ask a worker, which the start of a session starts; at a prompt without one they do nothing, and the fourth stops
    the prompt. With one they note the prompt, and tell nothing unless it is set up with a model."""
    plugin = PEERS / "claude-mem/package/plugin"
    if not plugin.is_dir():
        raise RuntimeError("bench/peers/setup.sh claude-mem makes its environment")
    document = json.loads((plugin / "hooks/hooks.json").read_text())["hooks"]
    commands = {
        event: [["bash", "-c", hook["command"]] for group in document[event] for hook in group["hooks"]]
        for event in (START, PROMPT)
    }
    with folder() as place, _worker(place, plugin) as (environment, url):

        def pid() -> int:
            try:
                with urllib.request.urlopen(f"{url}/api/health", timeout=5) as answer:
                    return int(json.load(answer)["pid"])
            except OSError:
                return 0

        def elsewhere() -> float:
            found = pid()
            return cpu_of(found) if found else 0.0

        def stop() -> None:
            subprocess.run(_worker_command(plugin, "stop"), env=environment, capture_output=True, check=True)
            _wait_for(lambda: not pid())

        warm = Hooks("claude-mem", commands, place, environment, elsewhere)
        warm._once(START, "first")
        for some in _observations(size, place.name):
            asked = urllib.request.Request(
                f"{url}/api/import", json.dumps(some).encode(), {"Content-Type": "application/json"}
            )
            urllib.request.urlopen(asked, timeout=60).close()
        yield from (warm.measured(event, "with its worker") for event in (START, PROMPT))
        yield Hooks("claude-mem", commands, place, environment, elsewhere, stop).measured(START, "cold")


def _worker_command(plugin: Path, verb: str) -> list[str]:
    return ["node", str(plugin / "scripts/bun-runner.js"), str(plugin / "scripts/worker-service.cjs"), verb]


@contextmanager
def _worker(place: Path, plugin: Path) -> Iterator[tuple[dict[str, str], str]]:
    """An environment with a port of its own, and its address; the worker is stopped at the end."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = f"{PEERS / 'claude-mem/node_modules/.bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ, "HOME": str(place), "PATH": path, "CLAUDE_PLUGIN_ROOT": str(plugin), "DO_NOT_TRACK": "1",
        "CLAUDE_MEM_DATA_DIR": str(place / "data"), "CLAUDE_MEM_WORKER_PORT": str(port), "CLAUDE_MEM_CHROMA_ENABLED": "false",
    }  # fmt: skip
    try:
        yield environment, f"http://127.0.0.1:{port}"
    finally:
        subprocess.run(_worker_command(plugin, "stop"), env=environment, capture_output=True)


def _observations(size: int, project: str) -> Iterator[dict[str, Any]]:
    """As its import takes them, in sessions of fifty."""
    texts, began = [*Corpus(9).memories(size)], 1_750_000_000_000
    for first in range(0, size, AT_ONCE):
        rows, sessions = [], {}
        for n, text in enumerate(texts[first : first + AT_ONCE], first):
            session = f"bench-{n // 50}"
            when = {"created_at": "2026-01-01T00:00:00Z", "created_at_epoch": began + n * 1000}
            sessions[session] = {
                "content_session_id": session, "memory_session_id": session, "project": project, "platform_source": "claude",
                "user_prompt": text, "started_at": when["created_at"], "started_at_epoch": when["created_at_epoch"],
                "completed_at": None, "completed_at_epoch": None, "status": "completed",
            }  # fmt: skip
            rows.append({
                "memory_session_id": session, "project": project, "text": None, "type": "decision", "title": text[:60],
                "subtitle": "", "facts": "[]", "narrative": text, "concepts": '["how-it-works"]', "files_read": "[]",
                "files_modified": "[]", "prompt_number": 1, **when,
            })  # fmt: skip
        yield {"sessions": [*sessions.values()], "observations": rows}


# ---------------------------------------------------------------- basic-memory


def basic_memory(size: int) -> Iterator[Measure]:
    """Its hook is for the start; at a prompt nothing is told, and what its agent would call is a search. It asks no process."""
    program = PEERS / "basic-memory/bin/basic-memory"
    if not program.is_file():
        raise RuntimeError("bench/peers/setup.sh basic-memory makes its environment")
    with folder() as place:
        notes, number = place / "notes", min(size, MOST_NOTES)
        for each in (notes, place / ".claude"):
            each.mkdir()
        for n, text in enumerate(Corpus(9).memories(number)):
            (notes / f"n{n}.md").write_text(f"---\ntitle: note {n}\ntype: note\n---\n\n{text}\n", encoding="utf-8")
        (place / ".claude/settings.json").write_text('{"basicMemory": {"primaryProject": "bench"}}')
        environment = {
            **os.environ, "HOME": str(place), "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false", "HF_HUB_OFFLINE": "1",
            "BASIC_MEMORY_AUTO_UPDATE": "false", "BASIC_MEMORY_NO_PROMOS": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }  # fmt: skip
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for words in (["project", "add", "bench", str(notes), "--default"], ["reindex", "--search"]):
            subprocess.run([program, *words], env=environment, cwd=place, capture_output=True, check=True)
        commands = {
            START: [[str(program), "hook", "session-start", "--harness", "claude"]],
            PROMPT: [[str(program), "tool", "search-notes", Corpus(10).question()]],
        }
        found = Hooks(f"basic-memory ({number:,} notes)", commands, place, environment)
        yield from (found.measured(event, "cold") for event in (START, PROMPT))


def rivals(size: int = 10_000) -> Iterator[Measure]:
    for one in (memorist, claude_mem, basic_memory):
        try:
            yield from one(size)
        except (RuntimeError, OSError, subprocess.CalledProcessError) as problem:
            sys.stderr.write(f"{one.__name__} was not measured: {problem}\n")


if __name__ == "__main__":
    for measure in rivals(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000):
        sys.stdout.write(f"{measure.name:<56} {measure.value:>9,.0f} {measure.unit}  {measure.detail}\n")
        sys.stdout.flush()
