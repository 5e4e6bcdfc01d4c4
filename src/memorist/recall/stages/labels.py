"""Kinds and sources as words of a query: "warning zebra" asks for zebras, and for warnings.

A kind is not in the word index: there, "error" would be worthless in a project full of errors. Instead it counts in addition
to the words, and less the more of the found records are of that kind. The same holds for the source of a memory, in designs
that ask for it. Memories that match by nothing but kind or source are looked up only if the words found too few or the query
names nothing else.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from functools import cache

from memorist.design import Tools
from memorist.kinds import ARCHIVE, LIKE, Kind
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search
from memorist.records import Record
from memorist.store.where import Order, Where
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
        named = _named(tuple(kinds), asked)
        came = _named(tuple(SOURCES), asked) if source else named
        if not named and not came:  # as for most queries; this runs on every one of them
            return NO_LABELS
        alone = any(words_of(name).issuperset(asked) for name in named | came)
        recalled = frozenset(name for name in and_like(named) if kinds[name].recalled)
        return cls(recalled, came if source else frozenset(), alone)

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
        origins = [origin for name in self.sources for origin in SOURCES[name]]
        some = (*_newest(where, "kind", self.kinds, tools), *_newest(where, "origin", origins, tools))
        return list(filter(self.on, {record.id: record for record in some}.values()))


def and_like(named: Set[str]) -> frozenset[str]:
    """These kinds, and those that mean the same: a query for discoveries means notes on them too."""
    return frozenset(named) | {kind for pair in LIKE.items() if not named.isdisjoint(pair) for kind in pair}


def _newest(where: Where, field: str, values: Collection[str], tools: Tools) -> list[Record]:
    return tools.store.find(where.also(field, "in", tuple(values)), Order("at"), LOOKED_UP) if values else []


NO_LABELS = Labels()


def share(carrying: int, among: int, whole: float, asked: Sequence[str]) -> float:
    """How much of a query a label covers if `carrying` of `among` found records carry it: half of what a word would that as
    many held. `whole` is the BM25 weight of the whole query; 0 if none of its words was found."""
    return LABEL * idf(carrying, among) / whole if whole else LABEL / len(asked)


def _named(names: tuple[str, ...], asked: Sequence[str]) -> frozenset[str]:
    """Those of `names` whose words all occur in the query."""
    by_word = _by_word(names)
    likely = {name for term in asked if term in by_word for name in by_word[term]}
    return frozenset(name for name in likely if words_of(name).issubset(asked))


@cache
def _by_word(names: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
    return {
        word: frozenset(name for name in names if word in words_of(name)) for each in names for word in words_of(each)
    }


@cache
def words_of(name: str) -> frozenset[str]:
    """The terms of a kind's name."""
    return frozenset(terms(name.replace("_", " ")))
