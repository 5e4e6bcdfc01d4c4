"""Kinds and sources as words of a query: "warning zebra" asks for zebras, and for warnings.

A kind is not in the word index: there, "error" would be worthless in a project full of errors. Instead it counts in addition
to the words, and less the more of the records are of that kind. The same holds for the source of a memory, in designs that
ask for it. Memories that match by nothing else are looked up only if the words found too few or the query names nothing else.
"""

from collections.abc import Mapping, Sequence, Set
from functools import cache

from memorist.design import Tools
from memorist.kinds import ARCHIVE, LIKE, Kind
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search
from memorist.records import Record
from memorist.store.where import Order
from memorist.text.bm25 import idf
from memorist.text.words import terms

LABEL = 0.5  # the weight of a label relative to a word of the text
LOOKED_UP = 50  # newest memories that match only by kind or source
# The founding document's words for the source of a memory, and the origins such memories can have.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "conversation": ("user",),
    "agent": ("agent",),
    "extraction": ("recorded", "agent", "tool", "web"),
    "migration": ("import", "file"),
    "narrative": (),
}


def source_of(record: Record) -> str:
    """The founding document's word for where a memory came from."""
    if record.kind == "narrative":
        return "narrative"
    if record.origin in ("import", "file"):
        return "migration"
    if record.provenance.messages or record.provenance.snippet or record.origin == "tool":
        return "extraction"
    return "conversation" if record.origin == "user" or record.kind == "turn" else "agent"


@dataclass(frozen=True, slots=True)
class Labels:
    """The kinds and sources that a query names."""

    kinds: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    alone: bool = False  # the query names nothing else

    @classmethod
    def of(cls, asked: Sequence[str], kinds: Mapping[str, Kind], source: bool = False) -> "Labels":
        words, nothing = frozenset(asked), frozenset[str]()
        named = {name for name in kinds if nothing < words_of(name) <= words}
        sources = {name for name in SOURCES if source and words_of(name) <= words}
        alone = any(words_of(name) == words for name in named | sources)
        return cls(frozenset(kind for kind in and_like(named) if kinds[kind].recalled), frozenset(sources), alone)

    def __bool__(self) -> bool:
        return bool(self.kinds or self.sources)

    def on(self, record: Record) -> int:
        """How many of these labels a record carries."""
        return (record.kind in self.kinds) + (bool(self.sources) and source_of(record) in self.sources)

    def look_up(self, found: int, search: Search, tools: Tools) -> list[Record]:
        """The newest records of each named kind or source, if the words found too few (`found`) or the query names nothing
        else."""
        if not self or not (self.alone or found < search.limit):
            return []
        scopes = tuple({shelf.scope for shelf in search.shelves if shelf.layer != ARCHIVE})
        where = search.where.also("scope", "in", scopes).also("state", "eq", "active")
        origins = tuple(origin for name in self.sources for origin in SOURCES[name])
        records = dict[str, Record]()
        for field, values in (("kind", tuple(self.kinds)), ("origin", origins)):
            newest = tools.store.find(where.also(field, "in", values), Order("at"), LOOKED_UP) if values else []
            records.update({record.id: record for record in newest if self.on(record)})
        return list(records.values())


def and_like(named: Set[str]) -> frozenset[str]:
    """These kinds, and those that mean the same: a query for discoveries means notes on them too."""
    return frozenset(named) | {kind for pair in LIKE.items() if not named.isdisjoint(pair) for kind in pair}


def share(carrying: int, among: int, whole: float, asked: Sequence[str]) -> float:
    """How much of a query a label covers if `carrying` of `among` records carry it: half of what a word would that as many
    hold. `whole` is the BM25 weight of the whole query; 0 if none of its words occurs."""
    return LABEL * idf(carrying, among) / whole if whole else LABEL / len(asked)


@cache
def words_of(name: str) -> frozenset[str]:
    """The terms of a kind's name."""
    return frozenset(terms(name.replace("_", " ")))
