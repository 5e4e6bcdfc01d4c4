"""Scripted weeks with an agent: 414 prompts in ten repositories (`week/`), through the program that its hooks call.

Counted is what a session was told: whether a prompt was told all that it needs by then, here, earlier in the session or at its
start; how often it was misled by something outdated; how much was told that nobody needed; and how often small talk and plain tasks
were told nothing. What a prompt itself says is remembered only through the transcript, as in real sessions.
"""

import argparse
import html
import json
import multiprocessing
import os
import re
import runpy
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.quality import tokens as count_tokens
from bench.speed import Measure, folder
from bench.week_script import FOUR, SIX, Repository, Session, load, share, words
from memorist import Memory

GROUPS = {"six": ("six",), "four": ("open", "kept aside")}  # which halves each has
CLIENT = "claude-code"
BEFORE = timedelta(days=7)  # how old is what was there when the week began; all else is of its days
UNHURRIED = "60000"  # milliseconds: what is found must not depend on what else this machine does
SAME = 0.6  # of the words that a prompt said: a line with so many of them shows what was said
PRELOADED = ["bench.week", "numpy", "memorist.surfaces.cli.app", "memorist.surfaces.agents.capture"]
SHOWN = re.compile(r"\[(\d+)[^\]]*\] ")  # how the first line of a memory begins: its number and what is said about it
OUTDATED = re.compile(r"\[[^\]]*\boutdated\b")  # one that is marked as replaced
DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


# ---------------------------------------------------------------- what came of it


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory as a session was shown it."""

    names: frozenset[str]  # in the script, which may have none for it
    text: str = ""


@dataclass(slots=True)
class Told:
    """What one prompt brought, or a start (which has no prompt)."""

    half: str
    prompt: Mapping[str, Any] = field(default_factory=dict)
    here: Sequence[Shown] = ()
    before: frozenset[str] = frozenset()  # names that the session had been shown
    start: Sequence[Shown] = ()  # what its start showed
    current: Mapping[str, str] = field(default_factory=dict)  # what holds instead of each outdated memory
    tokens: int = 0
    foreign: int = 0  # memories of another repository in its text

    @property
    def need(self) -> list[str]:
        return list(self.prompt.get("need", ()))

    @property
    def served(self) -> list[bool]:
        """For each memory that it needs, whether the session had been shown it by then."""
        return [name in self.before or name in _names(self.here) for name in self.need]

    @property
    def misled(self) -> str:
        """`alone` if something outdated was shown here, or at the start, without what holds instead; `beside` if with it. At a
        start that is no harm if it tells when that was said."""
        found, here = set[str](), _names(self.here)
        for old, now in self.current.items():
            if old in _names(self.here, marked=False):
                found.add("beside" if now in here else "alone")
            dated = any(now in each.names and DATE.search(each.text) for each in self.start)
            if old in _names(self.start, marked=False) and not dated:
                found.add("beside" if now in here | self.before else "alone")
        return min(found, default="")


@dataclass(slots=True)
class Outcome:
    prompts: list[Told] = field(default_factory=list)
    starts: list[Told] = field(default_factory=list)  # each needs what the prompts of its session need
    same: list[bool] = field(default_factory=list)  # whether a start said the same again while nothing changed


def _names(shown: Sequence[Shown], marked: bool = True) -> set[str]:
    return {name for each in shown if marked or not OUTDATED.match(each.text) for name in each.names}


# ---------------------------------------------------------------- running it


def program(words: Sequence[str], place: Path, given: bytes, environment: Mapping[str, str]) -> bytes:
    """In a process of its own, forked from one that has loaded what it needs, because a start costs half a second of CPU."""
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

    def __init__(self, repository: Repository, place: Path, others: Sequence[str]) -> None:
        self.repository, self.others = repository, others
        self.place, self.db = place / repository.name, place / "week.db"
        self.place.mkdir()
        home = str(place / "home")
        own = {"HOME": home, "XDG_CONFIG_HOME": home, "MEMORIST_DB": str(self.db), "MEMORIST_HOOK_MS": UNHURRIED}
        self.environment = {**os.environ, **own}
        self.noted: dict[int, set[str]] = {}
        self.said: list[Mapping[str, str]] = []  # what notes and prompts have said so far
        self.project = json.loads(self("status", "--json"))["project"].removeprefix("project/")

    def __call__(self, *words: str, given: str = "") -> str:
        return program(words, self.place, given.encode(), self.environment).decode()

    def note(self, lines: Sequence[Mapping[str, Any]], session: str | None = None) -> None:
        """What the user noted at a terminal, or the agent in a session, which it does through its tool."""
        if not lines:
            return
        with Memory(self.db, project=self.project) as opened:
            user = replace(opened.access, origin="user", surface="cli")
            memory = opened.through(user if session is None else replace(user, origin="agent", surface="mcp"))
            at = None if self.noted else datetime.now(UTC) - BEFORE
            for line in lines:
                done = memory.remember(line["text"], kind=line["kind"], at=at, session=session)
                if done.record is None:
                    raise SystemExit(f"{line['memory']} was not kept: {done.because}")
                self.noted.setdefault(done.record.number, set()).add(line["memory"])
                self.said.append({line["memory"]: line["text"]})

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

    def told(self, text: str) -> Told:
        """A text, read as a model reads it: each memory begins with its number, and its further lines are indented."""
        text = html.unescape(text)
        blocks = re.findall(r"^\[\d.*(?:\n  .*)*", text, re.MULTILINE)
        shown = [Shown(self.names(block), block) for block in blocks]
        foreign = sum(other in text for other in self.others)
        return Told(self.repository.half, here=shown, tokens=count_tokens(text), foreign=foreign)

    def names(self, block: str) -> frozenset[str]:
        """Which memories of the script it shows. A line shows what it has the most words of, with all else that was said in the
        same breath and that it has."""
        mark = SHOWN.match(block)
        if mark and int(mark[1]) in self.noted:
            return frozenset(self.noted[int(mark[1])])
        found = set[str]()
        for line in SHOWN.sub("", block, count=1).splitlines():
            shown = set(words(line))
            shares = [{id: share(words(text), shown) for id, text in said.items()} for said in self.said if said]
            best = max(shares, key=lambda each: max(each.values()), default={})
            found.update(id for id, much in best.items() if much >= SAME)
        return frozenset(found)

    def session(self, session: Session, outcome: Outcome) -> None:
        self.note(session.before)
        start = self.start(session, outcome)
        seen = _names(start.here)
        for line in session.lines:
            if "memory" in line:
                self.note([line], session.name)
                continue
            one = self.told(self.hook("UserPromptSubmit", session.name, prompt=line["prompt"]))
            self.typed(session.name, line["prompt"])
            one.prompt, one.current = line, self.repository.current(line)
            one.start, one.before = start.here, frozenset(seen)
            seen |= _names(one.here)
            self.said.append(line.get("says", {}))
            outcome.prompts.append(one)
        start.prompt = {"need": [name for line in session.lines for name in line.get("need", ())]}
        outcome.starts.append(start)
        self.hook("SessionEnd", session.name, reason="other")

    def start(self, session: Session, outcome: Outcome) -> Told:
        """A session starts, and once more: the same must be said. Then it is taken up again, which still has it."""
        how = ("startup", "startup", "resume")
        first, again, resumed = (self.hook("SessionStart", session.name, source=each) for each in how)
        outcome.same.append(first == again and resumed == "")
        return self.told(first)


def run(repositories: Sequence[Repository], place: Path) -> Outcome:
    """The week, day by day; at the end of a day upkeep runs in each repository."""
    outcome, works = Outcome(), []
    for each in repositories:
        others = [text for other in repositories if other is not each for text in other.texts.values()]
        works.append(Work(each, place, others))
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
        yield from measures(run([load(name) for name in (*SIX, *FOUR)], place))


def measures(outcome: Outcome) -> Iterator[Measure]:
    for group, halves in GROUPS.items():
        prompts = [one for one in outcome.prompts if one.half in halves]
        starts = [one for one in outcome.starts if one.half in halves]
        if prompts:
            yield from (replace(one, name=f"{group}: {one.name}") for one in _of_group(prompts, starts))
    changed, detail = outcome.same.count(False), f"of {len(outcome.same)}"
    yield Measure("starts that said something else again", changed, "", 0, False, detail)


def _of_group(prompts: Sequence[Told], starts: Sequence[Told]) -> Iterator[Measure]:
    needy, misled = [one.served for one in prompts if one.need], [one.misled for one in prompts if one.current]
    any_of, single = _percent(map(any, needy)), _percent(ok for one in needy for ok in one)
    told = f"at least one {any_of:.1f}; of all needed memories {single:.1f}; of {len(needy)}"
    yield Measure("prompts told all that they need", _percent(map(all, needy)), "percent", 80, True, told)
    told = f"of {len(misled)}"
    yield Measure("prompts told something outdated alone", misled.count("alone"), "", 0, False, told)
    yield Measure("prompts told it beside what holds now", misled.count("beside"), "", None, False, told)
    for name, every, most in (("prompts", prompts, 33.3), ("starts", starts, None)):
        idle = [each.names.isdisjoint(one.need) for one in every for each in one.here]
        told = f"of {len(idle)}"
        yield Measure(f"of what {name} were told, not needed", _percent(idle), "percent", most, False, told)
    talk = [not one.here for one in prompts if "talk" in one.prompt]
    yield Measure("small talk that was told nothing", _percent(talk), "percent", 95, True, f"of {len(talk)}")
    plain = [one for one in prompts if not one.need and "talk" not in one.prompt]
    mute = [not one.here for one in plain if "says" not in one.prompt]
    told = f"of {len(plain)}; {_percent(mute):.1f} of the {len(mute)} that say nothing to remember"
    yield Measure("plain tasks that were told nothing", _percent(not one.here for one in plain), "percent", detail=told)
    some = [one for one in prompts if one.here]
    for name, every in (("a start", starts), ("a prompt that was told something", some)):
        tokens = [one.tokens for one in every] or [0]
        yield Measure(name, statistics.median(tokens), "tokens, median", detail=f"most {max(tokens):,}")
    yield Measure("memories of another repository", sum(one.foreign for one in (*prompts, *starts)), "", 0)


def _percent(values: Iterable[bool]) -> float:
    return 100 * statistics.fmean([*values] or [0])


def _described(one: Told) -> str:
    """A prompt, what it needs, and what was shown; without a name, the words."""
    shown = [",".join(sorted(each.names)) or repr(each.text) for each in one.here]
    marks = [f"need {one.need} served {one.served}", f"shown {shown}", f"start {sorted(_names(one.start))}"]
    if one.current:
        marks.append(f"stale {dict(one.current)} {one.misled or 'not shown'}")
    return f"{one.prompt['prompt']!r}\n    " + "\n    ".join(marks) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.week", description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", help=f"only these: {', '.join((*SIX, *FOUR))}")
    parser.add_argument("-v", "--verbose", action="store_true", help="every prompt too")
    asked = parser.parse_args()
    with folder() as place:
        outcome = run([load(name) for name in asked.name or (*SIX, *FOUR)], place)
    for one in outcome.prompts if asked.verbose else ():
        sys.stdout.write(_described(one))
    found = list(measures(outcome))
    sys.stdout.writelines(f"{row.line}\n" for row in found)
    return 1 if any(row.kept is False for row in found) else 0


if __name__ == "__main__":
    from bench import week as this  # a process finds its functions there, and need not run this file as its main one

    vars(sys.modules["__main__"]).update(__spec__=None, __file__=None)
    raise SystemExit(this.main())
