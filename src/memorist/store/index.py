"""The index rows of a record: what every store puts into its word index, computed in one place.

A long text is cut into chunks and each chunk is a row; title, tags, files and speaker are part of every row, so that a
tag and a word deep in the text still meet. `doctor` computes the same rows again and compares.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from memorist.errors import Invalid
from memorist.records import Record
from memorist.text.words import chunks, terms

CHUNKS = 4096  # index rows a record can have: row number = record number × CHUNKS + chunk
GROUP = 15  # records whose vectors are stored together: with 256 dimensions they fill a page of SQLite, and no more
PARTS = 64  # into which the vectors of a group are cut, by chunk: long texts have many, and most have one


@dataclass(frozen=True, slots=True)
class IndexRow:
    start: int
    end: int
    terms: tuple[str, ...]

    @property
    def prepared(self) -> str:
        return "".join(" " + term for term in self.terms)


def numbered_rows(record: Record, number: int) -> dict[int, IndexRow]:
    """Its index rows under their numbers. Later records have larger ones: among equal scores the later one wins."""
    rows = index_rows(record)
    if len(rows) > CHUNKS:
        raise Invalid(f"the text has {len(rows):,} parts to index; {CHUNKS:,} are allowed: split it")
    return dict(enumerate(rows, number * CHUNKS))


def index_rows(record: Record) -> list[IndexRow]:
    """Its index rows. An erased record has none."""
    if record.state == "erased":
        return []
    return rows_of(record.text, [record.title, *record.tags, *record.files, record.provenance.speaker])


def rows_of(text: str, labels: Iterable[str | None]) -> list[IndexRow]:
    """The index rows of a text with these labels."""
    shared = terms("\n".join(label for label in labels if label))
    return [IndexRow(start, end, (*shared, *terms(text[start:end]))) for start, end in chunks(text)]


def embedded_rows(record: Record) -> dict[int, str]:
    """What an embedder sees of each of its index rows."""
    if record.state == "erased":
        return {}
    spans = enumerate(chunks(record.text), record.number * CHUNKS)
    return {row: embedded_text(record.title, record.text, start, end) for row, (start, end) in spans}


def embedded_text(title: str | None, text: str, start: int, end: int) -> str:
    """What an embedder sees of an index row: its part of the text, under the title if there is one. Who spoke, tags and
    files are for words and filters; they would only blur what the text means."""
    return f"{title}\n{text[start:end]}" if title else text[start:end]


def block_of(row: int) -> int:
    """The block that holds the vector of an index row."""
    number, chunk = divmod(row, CHUNKS)
    return number // GROUP * PARTS + chunk * PARTS // CHUNKS


def blocks_of(number: int) -> range:
    """The blocks that may hold vectors of a record, and of the others in its group."""
    first = number // GROUP * PARTS
    return range(first, first + PARTS)
