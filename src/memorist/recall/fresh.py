"""Whether what the hits of an answer are about is still as it was: the files of the project's folder are compared with the
digests that memories keep of them (`folder.py`).

It happens last, outside of the moment in which the store was read, and only for the hits that are shown. What belongs to no
project, or to another, says nothing: `src/main.py` is another file there.
"""

from collections.abc import Sequence
from dataclasses import replace

from memorist.design import Tools
from memorist.folder import HASHES
from memorist.records import Hit, Record


def compared(hits: Sequence[Hit], project: str | None, tools: Tools) -> tuple[Hit, ...]:
    """The hits; those of the project that are about its files say whether these are what they were."""
    return tuple([_compared(hit, tools) if _is_of(project, hit.record) else hit for hit in hits])


def _is_of(project: str | None, record: Record) -> bool:
    return HASHES in record.data and (record.home or record.scope) == project


def _compared(hit: Hit, tools: Tools) -> Hit:
    return replace(hit, freshness=tools.folder.freshness(hit.record.data[HASHES]))
