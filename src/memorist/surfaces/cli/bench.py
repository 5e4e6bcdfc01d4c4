"""`memorist bench`: how well your own store answers, without changing it.

A personal store has no labels, so each memory of a sample is asked for in three ways that need no model: by its rarest
words, by its title, and by its first clause with one word left out. It ought to be found. `explain` asks, because it
logs and counts nothing.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from memorist.memory import Memory
from memorist.records import Record
from memorist.surfaces.cli.arguments import PLACE, Commands
from memorist.surfaces.cli.verbs import Place, opened

SAMPLE = 500
MOST_READ = 20_000  # memories looked at
DEPTHS = (1, 5, 10)
SEED = 5
OLD = timedelta(days=30)
NAMED = 5  # memories that a finding names
WORD = re.compile(r"\w{2,}")
SEARCHES = {"turn": "sessions", "document": "sources"}
NOT_RECALLED = ("narrative", "task", "gap", "cluster")


@dataclass(frozen=True, slots=True)
class FoundBy:
    """One way of asking: how many questions, and how many memories were among the first 1, 5 and 10."""

    way: str
    asked: int
    within: dict[int, int]


@dataclass(frozen=True, slots=True)
class Mine:
    """The findings about a store. They name memories by number and hold no text."""

    memories: int
    sampled: int
    found: list[FoundBy]
    lost: list[int] = field(default_factory=list)  # numbers of memories that no way found
    never_used: list[int] = field(default_factory=list)
    duplicates: list[list[int]] = field(default_factory=list)


def bench(place: Place) -> int:
    with opened(place) as memory:
        found = look(memory)
    return place.screen.answer(found, told(found))


commands: Commands = {"bench": (PLACE, bench)}


def look(memory: Memory) -> Mine:
    """Asks for a sample, and checks the rest."""
    records = [record for record in memory.list(limit=MOST_READ) if record.kind not in NOT_RECALLED]
    seen = Counter(word for record in records for word in _words(record.text))
    sample = random.Random(SEED).sample(records, min(SAMPLE, len(records)))
    places: dict[str, list[int | None]] = {}
    lost = []
    for record in sample:
        ranks = {way: _rank(memory, record, question) for way, question in _questions(record, seen)}
        for way, rank in ranks.items():
            places.setdefault(way, []).append(rank)
        if ranks and all(rank is None for rank in ranks.values()):
            lost.append(record.number)
    found = [FoundBy(way, len(ranks), _within(ranks)) for way, ranks in places.items()]
    return Mine(len(records), len(sample), found, lost, _never_used(records), _duplicates(records))


def _within(ranks: Sequence[int | None]) -> dict[int, int]:
    return {depth: sum(rank is not None and rank <= depth for rank in ranks) for depth in DEPTHS}


def told(mine: Mine) -> str:
    """The findings for people."""
    if not mine.memories:
        return "There is nothing in this store that could be asked for."
    lines = [f"{mine.memories:,} memories; {mine.sampled} of them asked for, none of it logged or counted.", ""]
    for found in mine.found:
        shares = ", ".join(f"{100 * count / found.asked:.0f} % at {depth}" for depth, count in found.within.items())
        lines.append(f"found by {found.way:<34} {shares}   ({found.asked} asked)")
    lines += [
        "",
        f"found by none of these ways: {_numbered(mine.lost)}",
        f"never shown, never used, older than {OLD.days} days: {_numbered(mine.never_used)}",
        f"saying the same in the same scope: {len(mine.duplicates)} groups"
        + "".join(f"; {' = '.join(map(str, group))}" for group in mine.duplicates[:NAMED]),
        "",
        "Being found by one's own words is the least that can be asked: it says nothing about questions in other words.",
        "Questions that came back empty are not counted here: the log of recalls has no reader in the public API.",
    ]
    return "\n".join(lines)


def _questions(record: Record, seen: Counter[str]) -> Iterator[tuple[str, str]]:
    words = sorted(_words(record.text), key=lambda word: (seen[word], word))
    if words:
        yield "its three rarest words", " ".join(words[:3])
    if record.title:
        yield "its title", record.title
    clause = re.split(r"[.,;:!?\n]", record.text.strip(), maxsplit=1)[0]
    long = [word for word in WORD.findall(clause) if len(word) > 3]
    if len(long) > 1:
        dropped = random.Random(record.number).choice(long)
        yield "its first clause, a word left out", re.sub(rf"\b{re.escape(dropped)}\b", "", clause, count=1)


def _rank(memory: Memory, record: Record, question: str) -> int | None:
    search = SEARCHES.get(record.kind, "memory")
    answer = memory.explain(question, limit=max(DEPTHS), search=search, scope=record.scope)
    return next((place for place, hit in enumerate(answer, 1) if hit.record.id == record.id), None)


def _never_used(records: Sequence[Record]) -> list[int]:
    before = datetime.now(UTC) - OLD
    old = [record for record in records if record.times.created < before]
    return [record.number for record in old if not record.counters.used and not record.counters.surfaced]


def _duplicates(records: Sequence[Record]) -> list[list[int]]:
    """Memories of one scope with the same words in any order; turns may repeat themselves."""
    groups: dict[tuple[str, frozenset[str]], list[int]] = {}
    for record in records:
        if record.kind != "turn":
            groups.setdefault((record.scope, frozenset(_words(record.text))), []).append(record.number)
    return [sorted(group) for (_, words), group in groups.items() if len(group) > 1 and words]


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.casefold()))


def _numbered(numbers: Sequence[int]) -> str:
    if not numbers:
        return "none"
    some = ", ".join(map(str, numbers[:NAMED]))
    return f"{len(numbers):,} ({some}{', …' if len(numbers) > NAMED else ''})"
