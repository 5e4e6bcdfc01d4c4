"""What every store derives from a record, computed in one place: its index rows and its topics. `doctor` computes both again
and compares.

*Index rows*: a long text is cut into chunks, and each chunk is a row. Title, tags, files and speaker are part of every row, so
that a tag and a word deep in the text can match together. *Topics*: what a memory makes claims about, as numbers, so that a
write finds possible contradictions with one lookup; searching by words would cost more than the write itself. A topic is only
a hint: the texts are compared afterwards. It depends on the text alone, so a memory keeps its topics when it is archived or
moved.
"""

from collections.abc import Iterable
from functools import lru_cache

from memorist.errors import Invalid
from memorist.kinds import KINDS, MEMORY
from memorist.lazy import dataclass
from memorist.records import Record
from memorist.text.words import chunks, terms

CHUNKS = 4096  # index rows a record can have: row number = record number × CHUNKS + chunk
TOPICS_AT_MOST = 8  # of one text
RULES = "3"  # incremented whenever some text gets other topics; a store made with other rules rebuilds its own


@dataclass(frozen=True, slots=True)
class IndexRow:
    start: int
    end: int
    terms: tuple[str, ...]

    @property
    def prepared(self) -> str:
        return " ".join(("", *self.terms))


def numbered_rows(record: Record, number: int) -> dict[int, IndexRow]:
    """Its index rows by number. Later records have larger numbers, so that among equal scores the later one wins."""
    rows = index_rows(record)
    if len(rows) > CHUNKS:
        raise Invalid(f"the text has {len(rows):,} parts to index; {CHUNKS:,} are allowed: split it")
    return dict(enumerate(rows, number * CHUNKS))


def index_rows(record: Record) -> list[IndexRow]:
    """Its index rows; none for an erased record."""
    if record.state == "erased":
        return []
    return rows_of(record.text, [record.title, *record.tags, *record.files, record.provenance.speaker])


def rows_of(text: str, labels: Iterable[str | None]) -> list[IndexRow]:
    shared = terms("\n".join(label for label in labels if label))
    return [IndexRow(start, end, (*shared, *terms(text[start:end]))) for start, end in chunks(text)]


def embedded_rows(record: Record) -> dict[int, str]:
    if record.state == "erased":
        return {}
    spans = enumerate(chunks(record.text), record.number * CHUNKS)
    return {row: embedded_text(record.title, record.text, start, end) for row, (start, end) in spans}


def embedded_text(title: str | None, text: str, start: int, end: int) -> str:
    """The text of an index row for an embedder: its chunk, preceded by the title if there is one. Speaker, tags and files
    serve words and filters; they would only blur the meaning of the text."""
    return f"{title}\n{text[start:end]}" if title else text[start:end]


def has_triggers(space: str) -> str:
    """The setting that exists once a memory with triggers was stored in that space, and that names the latest one. So most
    queries need not look for triggers, and the others need not read them again."""
    return f"triggers {space}"


# ---------------------------------------------------------------- topics


def topics_of(record: Record) -> tuple[int, ...]:
    """The topics of the memory's claims. Turns, documents and erased records have none."""
    return stated(record.text) if record.state != "erased" and states(record.kind) else ()


def states(kind: str) -> bool:
    known = KINDS.get(kind)
    return known is None or (known.layer == MEMORY and not known.append_only)


def stated(text: str) -> tuple[int, ...]:
    return _topics(text)[0]


def opposed(text: str) -> tuple[int, ...]:
    """The topics of a text that would contradict this one."""
    return _topics(text)[1]


@lru_cache(maxsize=1 << 10)
def _topics(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    from memorist.text import claims  # here, because who only reads need not wait for its patterns

    here, there = claims.topics(text)
    return claims.digests(here[:TOPICS_AT_MOST]), claims.digests(there[:TOPICS_AT_MOST])
