"""A scripted week with a coding agent: 200 prompts in four repositories (`week/`), through the program that its hooks call.

Counted is what a session was told: of what was injected at prompts, how much the prompt needed; of what prompts needed, how much
the session had been told by then, at this prompt, an earlier one or its start; at how much small talk nothing was said; and whether
anything of another repository ever came. What a prompt itself says is remembered only through the transcript, as in real sessions.
"""

import json
import multiprocessing
import os
import re
import runpy
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.speed import Measure, folder
from memorist import Memory

WEEK = Path(__file__).parent / "week"
NAMES = ("api", "cli", "web", "infra")
HALVES = ("open", "kept aside")
CLIENT = "claude-code"
BEFORE = timedelta(days=7)  # how old is what was there when the week began; all else is of its days
UNHURRIED = "60000"  # milliseconds: what is found must not depend on what else this machine does
SAME = 0.6  # of the words that a prompt said: a memory with so many of them is what was said
PRELOADED = ["bench.week", "numpy", "memorist.surfaces.cli.app", "memorist.surfaces.agents.capture"]
Program = Callable[[Sequence[str], Path, bytes, Mapping[str, str]], bytes]  # arguments, folder, input, environment


# ---------------------------------------------------------------- the script


@dataclass(frozen=True, slots=True)
class Session:
    """One session, with what was noted before it began."""

    name: str
    day: int
    before: tuple[Mapping[str, Any], ...]
    lines: tuple[Mapping[str, Any], ...]  # prompts, and what the agent notes between them


@dataclass(frozen=True, slots=True)
class Repository:
    name: str
    half: str
    sessions: tuple[Session, ...]

    @property
    def prompts(self) -> list[Mapping[str, Any]]:
        return [line for session in self.sessions for line in session.lines if "prompt" in line]

    @property
    def texts(self) -> dict[str, str]:
        """What each memory says, by its name."""
        everything = [line for session in self.sessions for line in (*session.before, *session.lines)]
        noted = {line["memory"]: line["text"] for line in everything if "memory" in line}
        return noted | {id: text for line in everything for id, text in line.get("says", {}).items()}


def load(name: str) -> Repository:
    head, *lines = map(json.loads, (WEEK / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    sessions: list[Session] = []
    before: list[Mapping[str, Any]] = []
    for line in lines:
        if "session" in line:
            sessions.append(Session(line["session"], line["day"], tuple(before), ()))
            before = []
        elif "memory" in line and line.get("by") != "agent":
            before.append(line)
        else:
            sessions[-1] = replace(sessions[-1], lines=(*sessions[-1].lines, line))
    return Repository(head["repository"], head["half"], tuple(sessions))


# ---------------------------------------------------------------- what came of it


@dataclass(slots=True)
class Told:
    """What one prompt brought: the memories by their names in the script, None for one that the script does not have."""

    half: str
    prompt: Mapping[str, Any]
    here: list[str | None] = field(default_factory=list)
    before: set[str | None] = field(default_factory=set)  # what the session had been told
    tokens: int = 0
    foreign: int = 0  # memories of another repository in its text

    @property
    def need(self) -> list[str]:
        return list(self.prompt.get("need", ()))


@dataclass(slots=True)
class Outcome:
    prompts: list[Told] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # tokens
    standing: list[bool] = field(default_factory=list)  # whether what a start told was needed in its session
    same: list[bool] = field(default_factory=list)  # whether a start said the same again while nothing changed
    foreign: int = 0  # at starts


# ---------------------------------------------------------------- running it


def program(words: Sequence[str], place: Path, given: bytes, environment: Mapping[str, str]) -> bytes:
    """In a process of its own, forked from one that has loaded what it needs: a start costs half a second of CPU, and there are
    four hundred. How long a hook takes is measured elsewhere (`bench/speed.py`)."""
    with tempfile.TemporaryFile() as typed, tempfile.TemporaryFile() as said:
        typed.write(given)
        typed.seek(0)
        from multiprocessing import reduction  # what it has differs by system

        streams = [reduction.DupFd(file.fileno()) for file in (typed, said)]
        command = _forks().Process(target=_command, args=(list(words), place, dict(environment), streams))
        command.start()
        command.join()
        if command.exitcode:
            raise SystemExit(f"memorist {' '.join(words)} ended with {command.exitcode}")
        said.seek(0)
        return said.read()


@cache
def _forks() -> Any:
    """Not every system has them, and only who runs the week needs them."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(PRELOADED)
    return forks


def _command(words: list[str], place: Path, environment: dict[str, str], streams: list[Any]) -> None:
    """What the interpreter and a shell do for a program that is started."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(place)
    for number, stream in enumerate(streams):
        os.dup2(stream.detach(), number)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.argv = ["memorist", *words]
    runpy.run_module("memorist", run_name="__main__")  # as `python -m memorist` does


class Work:
    """One repository in its folder, with the numbers of its memories."""

    def __init__(self, repository: Repository, place: Path, run: Program, others: Sequence[str]) -> None:
        self.repository, self.run, self.others = repository, run, others
        self.place, self.db = place / repository.name, place / "week.db"
        self.place.mkdir()
        home = place / "home"
        own = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "MEMORIST_DB": str(self.db),
            "MEMORIST_HOOK_MS": UNHURRIED,
        }
        self.environment = {**os.environ, **own}
        self.names: dict[int, str | None] = {}
        self.project = json.loads(self("status", "--json"))["project"].removeprefix("project/")

    def __call__(self, *words: str, given: str = "") -> str:
        return self.run(words, self.place, given.encode(), self.environment).decode()

    def note(self, lines: Sequence[Mapping[str, Any]], session: str | None = None) -> None:
        """What the user noted at a terminal, or the agent in a session, which it does through its tool."""
        if not lines:
            return
        with Memory(self.db, project=self.project) as opened:
            user = replace(opened.access, origin="user", surface="cli")
            memory = opened.through(user if session is None else replace(user, origin="agent", surface="mcp"))
            at = None if self.names else datetime.now(UTC) - BEFORE
            for line in lines:
                done = memory.remember(line["text"], kind=line["kind"], at=at, session=session)
                if done.record is None:
                    raise SystemExit(f"{line['memory']} was not kept: {done.because}")
                self.names[done.record.number] = line["memory"]

    def hook(self, event: str, session: str, **more: Any) -> str:
        """What the agent is told."""
        transcript = self.place.parent / f"{session}.jsonl"
        given = {"session_id": session, "transcript_path": str(transcript), "cwd": str(self.place), **more}
        said = self("hook", CLIENT, event, given=json.dumps(given))
        return str(json.loads(said)["hookSpecificOutput"]["additionalContext"]) if said.strip() else ""

    def typed(self, session: str, prompt: str) -> None:
        """Adds a turn to the transcript, as the agent does."""
        with (self.place.parent / f"{session}.jsonl").open("a", encoding="utf-8") as file:
            for place, (role, text) in enumerate((("user", prompt), ("assistant", "Done."))):
                at = datetime.now(UTC).isoformat()
                line = {"type": role, "sessionId": session, "uuid": f"{session}-{file.tell()}-{place}", "timestamp": at}
                file.write(json.dumps({**line, "message": {"role": role, "content": text}}) + "\n")

    def foreign(self, text: str) -> int:
        return sum(other in text for other in self.others)

    def receipts(self, session: str) -> list[Mapping[str, Any]]:
        """What the session was told, the first first."""
        every = json.loads(self("receipts", "--json", "--limit", "1000"))
        return [line for line in reversed(every) if line["session"] == session]

    def name(self, number: int) -> str | None:
        """Which memory of the script that is; None if it is none."""
        if number not in self.names:
            words = set(_words(json.loads(self("get", str(number), "--json"))["text"]))
            said = {id: text for line in self.repository.prompts for id, text in line.get("says", {}).items()}
            self.names[number] = next((id for id, text in said.items() if _share(_words(text), words) >= SAME), None)
        return self.names[number]

    def session(self, session: Session, outcome: Outcome) -> None:
        self.note(session.before)
        self.start(session, outcome)
        told = [one for line in session.lines if (one := self.line(session, line)) is not None]
        prompts = iter(one for one in told if one.tokens)
        shown: set[str | None] = set()
        receipts = self.receipts(session.name)
        outcome.starts.append(next((line["tokens"] for line in receipts if line["moment"] == "start"), 0))
        for receipt in receipts:
            names = [self.name(number) for number in receipt["ids"]]
            if receipt["moment"] == "prompt":
                one = next(prompts)
                one.here, one.tokens = names, receipt["tokens"]
            else:
                shown.update(names)
        wanted = {name for one in told for name in one.need}
        outcome.standing += [name in wanted for name in shown]
        for one in told:
            one.before = set(shown)
            shown.update(one.here)
        outcome.prompts += told
        self.hook("SessionEnd", session.name, reason="other")

    def start(self, session: Session, outcome: Outcome) -> None:
        """A session starts, and once more: the same must be said. Then it is taken up again, which still has it."""
        first = self.hook("SessionStart", session.name, source="startup")
        again, resumed = (self.hook("SessionStart", session.name, source=how) for how in ("startup", "resume"))
        outcome.same.append(first == again and resumed == "")
        outcome.foreign += self.foreign(first)

    def line(self, session: Session, line: Mapping[str, Any]) -> Told | None:
        if "memory" in line:
            self.note([line], session.name)
            return None
        text = self.hook("UserPromptSubmit", session.name, prompt=line["prompt"])
        self.typed(session.name, line["prompt"])
        return Told(self.repository.half, line, tokens=len(text), foreign=self.foreign(text))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _share(words: Sequence[str], among: set[str]) -> float:
    return sum(word in among for word in words) / len(words)


def run(repositories: Sequence[Repository], place: Path, program: Program = program) -> Outcome:
    """The week, day by day; at the end of a day upkeep runs in each repository."""
    outcome, works = Outcome(), []
    for each in repositories:
        others = [text for other in repositories if other is not each for text in other.texts.values()]
        works.append(Work(each, place, program, others))
    turns = [(session.day, work, session) for work in works for session in work.repository.sessions]
    for _, day in groupby(sorted(turns, key=lambda turn: turn[0]), key=lambda turn: turn[0]):
        today = list(day)
        for _, work, session in today:
            work.session(session, outcome)
        for work in dict.fromkeys(work for _, work, _ in today):
            work("upkeep")
    return outcome


# ---------------------------------------------------------------- measuring it


def week() -> Iterator[Measure]:
    with folder() as place:
        yield from measures(run([load(name) for name in NAMES], place))


def measures(outcome: Outcome) -> Iterator[Measure]:
    def both(of: Callable[[Sequence[Told]], float]) -> tuple[float, str]:
        halves = {half: [one for one in outcome.prompts if one.half == half] for half in HALVES}
        return of(outcome.prompts), ", ".join(f"{half} {of(some):,.1f}" for half, some in halves.items() if some)

    value, detail = both(precision)
    yield Measure("of what prompts were told, needed", value, "percent", 45, True, detail)
    value, detail = both(needed)
    yield Measure("of what prompts needed, told", value, "percent", 70, True, detail)
    value, detail = both(silent)
    yield Measure("small talk that was told nothing", value, "percent", 95, True, detail)
    value, detail = both(lambda some: _middle([one.tokens for one in some if one.tokens]))
    yield Measure("a prompt that was told something", value, "tokens, median", 250, False, detail)
    every = [one.tokens for one in outcome.prompts]
    yield Measure("all prompts", sum(every) / len(every), "tokens, mean", None, False, f"most {max(every):,}")
    needed_there = 100 * sum(outcome.standing) / max(1, len(outcome.standing))
    starts = f"most {max(outcome.starts):,}; needed in its session {needed_there:.1f} percent of its memories"
    yield Measure("start of a session", _middle(outcome.starts), "tokens, median", None, False, starts)
    foreign = outcome.foreign + sum(one.foreign for one in outcome.prompts)
    yield Measure("memories told of another repository", foreign, "", 0)
    changed = len(outcome.same) - sum(outcome.same)
    yield Measure("starts that said something else again", changed, "", 0, False, f"of {len(outcome.same)}")


def precision(some: Sequence[Told]) -> float:
    right = [name in one.need for one in some for name in one.here]
    return 100 * sum(right) / max(1, len(right))


def needed(some: Sequence[Told]) -> float:
    there = [name in one.before or name in one.here for one in some for name in one.need]
    return 100 * sum(there) / max(1, len(there))


def silent(some: Sequence[Told]) -> float:
    nothing = [not one.here for one in some if "talk" in one.prompt]
    return 100 * sum(nothing) / max(1, len(nothing))


def _middle(values: Sequence[int]) -> float:
    return float(statistics.median(values)) if values else 0.0
