"""What is said in the scripted weeks (`week/`), and what of it holds when."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

WEEK = Path(__file__).parent / "week"
SIX = ("payments", "notesapp", "kitchen", "thesis", "events", "clinic")
FOUR = ("api", "cli", "web", "infra")


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
    def told(self) -> list[dict[str, str]]:
        """What each note and each prompt says that may be remembered, by its names, in the order of the week."""
        every = (line for session in self.sessions for line in (*session.before, *session.lines))
        return [{line["memory"]: line["text"]} if "memory" in line else dict(line.get("says", {})) for line in every]

    @property
    def texts(self) -> dict[str, str]:
        """What each memory says, by its name."""
        return {id: text for told in self.told for id, text in told.items()}

    def current(self, line: Mapping[str, Any]) -> dict[str, str]:
        """For each outdated memory of a prompt, what holds instead: of what the prompt needs and what was said later, the one
        with the most of its words."""
        texts, found = self.texts, dict[str, str]()
        order = [id for told in self.told for id in told]
        for old in line.get("stale", ()):
            later = [id for id in line["need"] if order.index(id) > order.index(old) and not self._together(id, old)]
            found[old] = max(later, key=lambda id: share(words(texts[old]), set(words(texts[id]))))
        return found

    def _together(self, id: str, other: str) -> bool:
        """Whether both were noted before the same session, so that neither replaces the other."""
        return any({id, other} <= {line["memory"] for line in session.before} for session in self.sessions)


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


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def share(some: Sequence[str], among: set[str]) -> float:
    """How much of these words is among those."""
    return sum(word in among for word in some) / len(some)
