"""Every text of a record that a caller can have put there: what redaction looks at, and what erasing looks for."""

from collections.abc import Iterator, Mapping
from typing import Any

from memorist.records import Record


def texts_of(record: Record) -> Iterator[str]:
    """Every text a caller can have put into the record."""
    said = record.provenance
    yield record.text
    yield from record.tags
    yield from record.files
    yield from strings_in(record.data)
    for text in (
        record.title, record.reason, record.season, said.actor, said.surface, said.session, said.role, said.speaker,
        said.agent, said.task, said.narrative, said.snippet, said.confidence_because,
    ):  # fmt: skip
        if text:
            yield text


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from strings_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings_in(each)
