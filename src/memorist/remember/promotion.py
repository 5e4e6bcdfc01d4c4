"""What speaks for a finding: signals, their points, and how many it takes.

Findings that say the same in other words are one finding, so that something heard in a second session counts
(`text/twins.py`). A preset says how many points are needed, and what is too short or too unimportant to look at. Being repeated
raises the points, never the trust. What is known in its project, or was forgotten, revised or taken back there, does not
come in by itself.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from memorist.access import Access
from memorist.design import Promotion, Tools
from memorist.errors import Invalid
from memorist.kinds import ARCHIVE, MEMORY
from memorist.records import Record
from memorist.remember.findings import agents_of, findings
from memorist.store.choices import Choices, chosen
from memorist.store.nouns import Shelf
from memorist.store.where import Where
from memorist.text.twins import Claim, claim_of, same_claim
from memorist.text.visible import quoted
from memorist.text.words import query_terms

POINTS: Mapping[str, int] = {
    "user-intent": 5,
    "explicit-pin": 5,
    "multi-session": 2,
    "error-resolution": 2,
    "multi-agent": 1,
    "high-importance": 1,
}
HIGH_IMPORTANCE = 0.7
COMMON = 500  # findings with a word in common, from which on the word says nothing
ALIKE_AT_MOST = 10  # memories of a project that are compared with one finding
MAY_COME_BACK = ("expired", "evicted", "pruned")  # the reasons of upkeep: nobody said that it was wrong


@dataclass(frozen=True, slots=True)
class Preset:
    """What it takes: points, and the hard filters that come before them."""

    points: int
    importance: float
    length: int


PRESETS: Mapping[str, Preset] = {
    "conservative": Preset(4, 0.4, 50),
    "balanced": Preset(3, 0.25, 30),
    "aggressive": Preset(2, 0.15, 20),
}


Worked = dict[str, dict[str, tuple[datetime, int]]]  # project → command → when it last worked


@dataclass(frozen=True, slots=True)
class Weighed:
    """A finding with its points, and what became of it. `others` say the same and were found elsewhere."""

    id: str
    number: int
    kind: str
    text: str
    scope: str  # where it would go
    points: int
    signals: tuple[str, ...]
    sessions: int
    agents: int
    outcome: Literal["waits", "enough", "known", "asked", "promoted", "left"]
    because: str
    others: tuple[str, ...] = ()
    pending: str | None = None  # the question that waits for a person


def weighed(promotion: Promotion, home: str | None, who: Access, tools: Tools) -> list[Weighed]:
    """Every finding for that project, or for all, with its points; most points first."""
    found = findings(home, who, tools)
    worked = _worked(found)
    homes = {str(record.data["home"]) for record in found}
    choices = {scope: chosen(tools.store, who.space, scope) for scope in homes}
    presets = {scope: preset_named(choices[scope].preset or promotion.preset) for scope in homes}
    answers = [
        _unless_doubtful(_weigh(group, worked, presets[str(group[0].data["home"])]), group[0], promotion)
        for group in _groups(found)
    ]
    known = [_unless_unwanted(each, choices[each.scope], who, tools) for each in answers]
    return sorted(known, key=lambda each: (-each.points, each.number))


def _worked(found: Iterable[Record]) -> Worked:
    """For each project: the commands that worked, and when last."""
    worked: Worked = {}
    for record in found:
        if record.data.get("worked") is True:
            commands = worked.setdefault(str(record.data["home"]), {})
            commands[str(record.data.get("subject"))] = (record.times.created, record.number)  # they come oldest first
    return worked


def preset_named(name: str) -> Preset:
    if name not in PRESETS:
        raise Invalid(f"there is no preset {quoted(name)}; presets are {', '.join(PRESETS)}")
    return PRESETS[name]


def _groups(found: Sequence[Record]) -> list[list[Record]]:
    """Findings that say the same, for the same project and of the same trust: a text nobody vouches for must neither borrow
    the points of a trusted one nor lend it its doubts. Each is compared with the first of a group: meanings must not drift."""
    groups: list[tuple[Claim, list[Record]]] = []
    places: dict[tuple[str, str, str], list[int]] = {}
    for record in found:
        claim = claim_of(record.text)
        keys = [(str(record.data["home"]), record.trust, word) for word in claim.words or (claim.text,)]
        alike = Counter(place for key in keys if len(places.get(key, ())) < COMMON for place in places.get(key, ()))
        for place, _ in alike.most_common():
            if same_claim(groups[place][0], claim):
                groups[place][1].append(record)
                break
        else:
            for key in keys:
                places.setdefault(key, []).append(len(groups))
            groups.append((claim, [record]))
    return [members for _, members in groups]


def _weigh(group: Sequence[Record], worked: Worked, preset: Preset) -> Weighed:
    best = max(group, key=lambda record: (_asked_for(record), record.importance, -record.number))
    signals = tuple(name for name in POINTS if _SIGNALS[name](group, worked))
    points = sum(POINTS[name] for name in signals)
    because = _short_of(best, signals, points, preset)
    sessions = {record.provenance.session for record in group} - {None}
    return Weighed(
        best.id, best.number, best.kind, best.text, str(best.data["home"]), points, signals, len(sessions),
        len(set().union(*map(agents_of, group))), "waits" if because else "enough",
        because or f"{_counted(points)}: {', '.join(signals)}",
        tuple(record.id for record in group if record.id != best.id),
    )  # fmt: skip


def _unless_doubtful(found: Weighed, first: Record, promotion: Promotion) -> Weighed:
    """No number of points moves what nobody vouches for by itself: a page that a tool read may stage its own success."""
    if found.outcome != "enough" or first.trust != "low" or promotion.mode != "auto":
        return found
    because = f"{found.because}, but nobody vouches for it; a person may promote it by its number"
    return replace(found, outcome="waits", because=because)


def _short_of(record: Record, signals: Sequence[str], points: int, preset: Preset) -> str | None:
    """What it lacks. Who asks for something to be remembered is not asked how long it is."""
    if "user-intent" in signals:
        return None
    if len(record.text) < preset.length:
        return f"{len(record.text)} characters; {preset.length} are needed"
    if record.importance < preset.importance:
        return f"importance {record.importance:g}; {preset.importance:g} is needed"
    told = f" ({', '.join(signals)})" if signals else ""
    return f"{_counted(points)}{told}; {preset.points} are needed" if points < preset.points else None


def _counted(points: int) -> str:
    return "1 point" if points == 1 else f"{points} points"


def _asked_for(record: Record) -> bool:
    by_a_person = record.provenance.role == "user" or record.origin == "user"
    return record.data.get("asked_for") is True and by_a_person and record.trust != "low"


def _repeated(group: Sequence[Record], sources: Iterable[Any]) -> bool:
    """Whether two vouch for it. What nobody vouches for gains nothing by being repeated: that is how poison would spread."""
    return group[0].trust != "low" and len(set(sources)) >= 2


def _resolved(group: Sequence[Record], worked: Worked) -> bool:
    """Whether an error has an end: what failed worked later, the same command or one on the file that failed."""
    from memorist.remember.extract import works_for  # its rules take a while to load

    commands = worked.get(str(group[0].data["home"]), {})
    errors = [record for record in group if record.kind == "error"]
    return any(
        error.data.get("resolved") is True
        or any(
            when > (error.times.created, error.number) and works_for(error.data.get("subject"), error.files, command)
            for command, when in commands.items()
        )
        for error in errors
    )


_SIGNALS: Mapping[str, Callable[[Sequence[Record], Worked], bool]] = {
    "user-intent": lambda group, _: any(map(_asked_for, group)),
    "explicit-pin": lambda group, _: any(record.pinned and record.trust != "low" for record in group),
    "multi-session": lambda group, _: _repeated(group, (r.provenance.session for r in group if r.provenance.session)),
    "error-resolution": _resolved,
    "multi-agent": lambda group, _: _repeated(group, (agent for record in group for agent in agents_of(record))),
    "high-importance": lambda group, _: any(record.importance >= HIGH_IMPORTANCE for record in group),
}


def _unless_unwanted(found: Weighed, choices: Choices, who: Access, tools: Tools) -> Weighed:
    """A project may be left alone; and where something alike is in it, it is known there, or somebody did not want it."""
    if found.outcome != "enough":
        return found
    if choices.auto is False:
        return replace(found, outcome="waits", because=f"{found.because}, but promotion is off for {found.scope}")
    shelves = [Shelf(who.space, found.scope, layer) for layer in (MEMORY, ARCHIVE)]
    where = Where(who).also("scope", "eq", found.scope)
    terms = query_terms(found.text)
    claim = claim_of(found.text)
    for match in tools.store.match(terms, shelves, where, ALIKE_AT_MOST).hits if terms else ():
        other = match.record
        by_upkeep = other.state == "archived" and (other.reason or "").startswith(MAY_COME_BACK)
        if by_upkeep or not same_claim(claim, claim_of(other.text)):
            continue
        what = "says so already" if other.state == "active" else f"said so and is {other.state} ({other.reason})"
        return replace(found, outcome="known", because=f"memory {other.number} {what}")
    return found
