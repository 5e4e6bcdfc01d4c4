"""Jobs that only suggest: aliases, and other shares for the lanes of a prompt. Nothing changes until a person accepts
it.

*Aliases* are read from memories and queries, by three signs. Brackets: "continuous integration (CI)" says it outright.
Parts of names: `cfg` consists of letters of "config", and both occur in the same memories. Use: a query has a word that
no memory holds, and the memories that helped share another word.

*Lanes* are judged by receipts: which memories each lane showed, and which of them were used. A share decides what a
model gets to see, so it belongs in the design's file, where a person can read it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, ClassVar, TypeVar

from memorist.access import Access, family_of
from memorist.design import Ask, Proposal, Tools, bounded, itself, told
from memorist.recall.stages.words import effective
from memorist.records import Record
from memorist.remember.edit import use_key
from memorist.store.choices import chosen
from memorist.store.nouns import Receipt, shelf_of
from memorist.store.protocol import Store
from memorist.store.where import Order, Where
from memorist.text.words import STOP_WORDS, chunks, query_terms

T = TypeVar("T")
Pair = tuple[str, str]  # a word, and another that it seems to mean
LATEST = 2000  # memories and receipts that are read
FAMILIES = ("project", "user", "global")  # sessions end too soon for aliases
OUTRIGHT = 100  # the weight of brackets against other signs
BRACKETS = re.compile(r"(?<![A-Za-z])([A-Za-z][\w-]{0,40}+(?:[ ][A-Za-z][\w-]{0,40}+){0,4}) \(([A-Za-z][\w-]{1,15})\)")
WORD = re.compile(r"[A-Za-z]{2,24}")
HUMPS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
BECAUSE = "memories and questions use one for the other"
FEWEST_RECEIPTS = 20  # receipts with a reported use; fewer say nothing
SMALLEST_STEP, LARGEST_STEP = 0.02, 0.1  # a share moves by at least and at most this much
PROTECTED = ("", "turns")  # memories that came through no lane


@dataclass(frozen=True, slots=True)
class SuggestAliases:
    """Asks a person about at most `most` pairs of words: whether one also means the other."""

    most: int = bounded(1, 100, 10)
    times: int = bounded(1, 100, 2)  # that a sign must be seen, except for brackets
    name: ClassVar[str] = "suggest_aliases"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        where = Where(who).also("state", "eq", "active")
        by_scope: dict[str, list[Record]] = {}
        for record in tools.store.find(where, Order("number"), LATEST):
            if family_of(record.scope) in FAMILIES and who.may_write(record.scope):
                by_scope.setdefault(record.scope, []).append(record)
        asks = [ask for scope, records in by_scope.items() for ask in self._asks(scope, records, who, tools)]
        asks = asks[: self.most]
        return Proposal("changed", itself, BECAUSE, (), partial(told, asks), asks)

    def _asks(self, scope: str, records: Sequence[Record], who: Access, tools: Tools) -> Iterator[Ask]:
        signs, outright = Counter[Pair](), set[Pair]()
        for record in _in_time(records, tools):
            signs.update(_parts_of_names(record, tools))
            outright.update(_in_brackets(record))
        if family_of(scope) == "project":  # memories outside a project may be shown for queries of any project
            signs.update(_used_for(records, who, tools))
        signs.update(dict.fromkeys(outright, OUTRIGHT))
        known = effective(chosen(tools.store, who.space, scope).aliases)
        for (word, other), seen in sorted(signs.items(), key=lambda each: (-each[1], each[0])):
            if seen >= self.times and not _is_known(word, other, known):
                summary = f"in {scope}, let {word!r} also find {other!r}"
                yield Ask("alias", summary, None, {"word": word, "others": [other], "scope": scope})


def _in_brackets(record: Record) -> Iterator[Pair]:
    """`continuous integration (CI)`: the abbreviation has one letter for each of the words before it."""
    for before, short in BRACKETS.findall(record.text):
        words = before.split()[-len(short) :]
        if len(words) == len(short) > 1 and [word[0].lower() for word in words] == list(short.lower()):
            yield short.lower(), " ".join(words).lower()


def _parts_of_names(record: Record, tools: Tools) -> set[Pair]:
    """A short and a long word that stand close together, where the short one abbreviates the long one."""
    said, pairs = " ".join((record.text, *record.tags, *record.files)), set[Pair]()
    for start, end in _in_time(chunks(said), tools):
        words = _words(said[start:end])
        long = [word for word in words if len(word) >= 6]
        for short in (word for word in words if 2 <= len(word) <= 4):
            pairs.update((short, word) for word in long if _abbreviates(short, word))
    return pairs


def _words(said: str) -> set[str]:
    return {word.lower() for part in WORD.findall(said) for word in HUMPS.findall(part)} - STOP_WORDS


def _abbreviates(short: str, long: str) -> bool:
    """Whether it is the first letter and then only consonants, in order. A mere prefix does not count, since search
    finds it anyway."""
    if short[0] != long[0] or long.startswith(short):
        return False
    letters = iter(long)
    return all(letter in letters for letter in short) and not set(short[1:]) & set("aeiou")


def _in_time(some: Sequence[T], tools: Tools) -> Iterator[T]:
    return takewhile(lambda _: not tools.over(), some)


def _used_for(records: Sequence[Record], who: Access, tools: Tools) -> Counter[Pair]:
    """Words of queries that no memory holds, paired with the tags of the memory that helped."""
    useful = {record.id: record for record in records if record.counters.used or record.counters.up}
    pairs: Counter[Pair] = Counter()
    for receipt in _in_time(tools.store.receipts(who.space, LATEST) if useful else (), tools):
        helped = next((useful[id] for id, _ in receipt.shown if id in useful), None)
        if helped is not None:
            pairs.update(_asked_for(helped, receipt.query, who, tools))
    return pairs


def _asked_for(helped: Record, query: str, who: Access, tools: Tools) -> Iterator[Pair]:
    words = {word.lower() for word in WORD.findall(query) if len(word) > 2} - STOP_WORDS
    asked = set(query_terms(query))
    others = [tag.lower() for tag in helped.tags if not asked & set(query_terms(tag))]
    for word in words:
        if not _holds(query_terms(word), helped, who, tools):
            yield from ((word, other) for other in others)


def _holds(terms: Sequence[str], record: Record, who: Access, tools: Tools) -> bool:
    shelf, where = [shelf_of(record)], Where(who)
    return any(term in tools.store.vocabulary(term, shelf, where, 1) for term in terms)


def _is_known(word: str, other: str, known: Mapping[str, tuple[str, ...]]) -> bool:
    return other in known.get(word, ()) or word in known.get(other, ()) or query_terms(word) == query_terms(other)


# ---------------------------------------------------------------- lanes


@dataclass(frozen=True, slots=True)
class TuneLanes:
    """Compares each lane's share of tokens with its share of useful memories, over the last so many receipts."""

    receipts: int = bounded(1, 10_000, 500)
    name: ClassVar[str] = "tune_lanes"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        lines = [line for line in tools.store.receipts(who.space, self.receipts) if line.rendered and line.shown]
        used = [by_lane for line in lines if (by_lane := _used(line, tools.store))]
        return Proposal("tuned", itself, "it changes nothing", [], _advice(lines, used))


def _used(line: Receipt, store: Store) -> Counter[str]:
    """How many memories of each lane the answer to this prompt used."""
    items: Sequence[Any] = (line.rendered or {}).get("items", ())
    return Counter(lane for id, lane in items if lane not in PROTECTED and store.key_use(use_key(line.id, id)))


def _advice(lines: Sequence[Receipt], used: Sequence[Counter[str]]) -> str:
    if len(used) < FEWEST_RECEIPTS:
        few = f"{len(used)} of the last {len(lines)} contexts have a reported use"
        return f"{few}, {FEWEST_RECEIPTS} are needed; see `used`"
    helped = sum(used, Counter[str]())
    given: Counter[str] = Counter()
    for line in lines:
        for lane, spent in (line.rendered or {}).get("lanes", {}).items():
            given[lane] += spent["spent"]
    total, paid = helped.total(), max(1, given.total())
    moved = []
    for lane, tokens in given.items():
        share = tokens / paid
        step = max(-LARGEST_STEP, min(LARGEST_STEP, helped[lane] / total - share))
        if abs(step) >= SMALLEST_STEP:
            moved.append(f"{lane} {share:.2f} → {share + step:.2f}")
    if not moved:
        return f"the lanes earn what they get, by {len(used)} contexts with a reported use"
    return f"by {len(used)} contexts with a reported use, of the tokens spent: {', '.join(moved)}; `lane.NAME.share` sets it"
