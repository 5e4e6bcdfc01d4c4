"""Modes (how hard to save tokens) and profiles (for which role) of a context. Both are data.

A profile weighs the hits for one kind of work. Its factors are bounded: they decide which of the matching memories enter
first, and never add one that does not match. Only the policy `recency` ignores the query and takes the latest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import PurePath
from typing import Literal

from memorist import checks
from memorist.access import family_of
from memorist.design import LARGEST_PROMPT, bounded, verify
from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.records import Record
from memorist.scoring import days_since
from memorist.text.visible import quoted

Policy = Literal["recency", "semantic", "hybrid"]
ProfileName = Literal["planner", "implementer", "reviewer", "assistant", "global", "none"]
TURNS = 3
NONE = "none"  # the profile of a prompt that gets no memories
FILE_FACTOR, TAG_FACTOR = 1.3, 1.25
RECENT_DAYS, RECENT_DECISION = 14.0, 1.2


@dataclass(frozen=True, slots=True)
class Mode:
    """How hard to save tokens."""

    name: str
    share: float  # of the budget
    longest: int | None  # characters of one memory; of a longer one the sentences that matter are kept


MODES: Mapping[str, Mode] = {
    mode.name: mode for mode in (Mode("cheap", 0.5, 240), Mode("balanced", 1.0, 1200), Mode("max_quality", 1.0, None))
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What one role needs first. `policy` orders the hits: by time, by score, or by both."""

    name: str
    policy: Policy = "hybrid"
    tokens: int | None = bounded(1, LARGEST_PROMPT, None)  # its own budget, unless the caller gives one
    kinds: Mapping[str, float] = field(default_factory=dict)  # factors, 0.5 to 2
    tags: Sequence[str] = ("bug_root_cause", "design_constraint")
    turns: int = bounded(0, 1000, TURNS)  # last turns of the session, shown before anything else
    shares: Mapping[str, float] = field(default_factory=dict)  # of the budget, by lane; else the design's
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)  # families it reads, with any-of tags; none: all

    def __post_init__(self) -> None:
        verify(self)
        checks.labels(self.tags, "tags")
        for name in ("kinds", "shares", "sources"):
            if not isinstance(given := getattr(self, name), Mapping):
                raise Invalid(
                    f"{name} must be a dict, such as Profile('mine', shares={{'project': 0.5}}), not {quoted(given)}"
                )
        for kind, factor in self.kinds.items():
            checks.number(factor, f"the factor of {quoted(kind)}", 0.5, 2)
        for family, tags in self.sources.items():
            checks.labels(tags, f"the tags of {quoted(family)}")

    def takes(self, record: Record) -> bool:
        """Whether this role reads the place of a memory."""
        tags = self.sources.get(family_of(record.scope)) if self.sources else ()
        return tags is not None and (not tags or not set(tags).isdisjoint(record.tags))


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            "planner",
            kinds={"decision": 1.25, "architecture": 1.25, "convention": 1.1, "progress": 1.1, "task_progress": 1.1},
        ),
        Profile("implementer", kinds={"convention": 1.2, "procedure": 1.2, "error": 1.15, "pattern": 1.15}),
        Profile("reviewer", kinds={"warning": 1.25, "correction": 1.25, "error": 1.2, "convention": 1.2}),
        Profile("assistant", kinds={"preference": 1.25}),
        Profile("global", policy="recency", tokens=8000, tags=()),
    )
}


def weighed(
    record: Record, score: float, profile: Profile | None, files: Sequence[str], query: str, now: datetime
) -> float:
    """The weight of a memory with this score, which decides how early it enters for this role. What is about one of these
    files, or about one that the query names, enters earlier."""
    if profile is None:
        return score
    days = days_since(record.times.at, now)
    if profile.policy == "recency":
        return 1 / (1 + days)
    wanted, own = ({n for file in some for n in (file, PurePath(file).name)} for some in (files, record.files))
    score *= profile.kinds.get(record.kind, 1.0)
    if own & wanted or any(len(name) > 3 and name in query for name in own):
        score *= FILE_FACTOR
    if set(record.tags) & set(profile.tags):
        score *= TAG_FACTOR
    if profile.policy == "hybrid" and record.kind in ("decision", "architecture") and days <= RECENT_DAYS:
        score *= RECENT_DECISION
    return score
