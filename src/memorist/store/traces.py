"""What erasing searches for and what it remembers: words in the bytes of a file, and the ids of what was erased."""

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from memorist.errors import StoreUnavailable
from memorist.redact import strings_in
from memorist.store.files import BINARY
from memorist.store.nouns import parts
from memorist.text.linear import Expression
from memorist.text.words import terms

FEW = 12  # words searched one by one, which is ten times faster than one expression
MANY = 300  # words in one expression; a few thousand would exceed its memory
SHORTEST = 6  # bytes; shorter ones occur by chance in any file


def finder(traces: Sequence[bytes]) -> Callable[[bytes], bool]:
    """A function that says whether some bytes contain one of these words or vector parts, even inside of something longer,
    because columns are stored next to each other."""
    if len(traces) <= FEW:
        return lambda block: any(trace in block for trace in traces)
    expressions = [Expression(b"|".join(map(re.escape, some))) for some in parts(traces, MANY)]
    return lambda block: any(expression.search(block) is not None for expression in expressions)


def tells(document: str, ids: Collection[str], words: Collection[str]) -> bool:
    """Whether a JSON text names one of these ids or contains one of these words."""
    return any(text in ids or any(term in words for term in terms(text)) for text in strings_in(json.loads(document)))


class ErasedIds:
    """The ids of what was erased, in a file beside the store: an earlier backup must not bring it back, even when the store
    itself is gone. Ids reveal no content."""

    def __init__(self, store: Path | None) -> None:
        self._path = store.with_name(store.name + ".erased") if store else None

    def read(self) -> set[str]:
        if self._path is None or not self._path.exists():
            return set()
        try:
            return set(self._path.read_text(encoding="ascii", errors="replace").split())
        except OSError as problem:
            raise StoreUnavailable(
                f"{self._path}, which names what was erased, cannot be read: {problem.strerror}; mend it, then `memorist compact`"
            ) from problem

    def add(self, ids: Iterable[str]) -> None:
        """Appends with a single write, so that several processes can add at once."""
        if self._path is None:
            return
        lines = "".join(f"{id}\n" for id in sorted(set(ids) - self.read())).encode()
        if not lines:
            return
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY, 0o600)
            try:
                # The first newline ends what a full disk left unfinished.
                if os.write(file, b"\n" + lines) <= len(lines):
                    raise OSError(28, "the disk is full")
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as problem:
            raise StoreUnavailable(
                f"it is erased in the store, but {self._path} cannot be written: {problem.strerror}; "
                "make room, and `memorist compact` does what is left to do"
            ) from problem
