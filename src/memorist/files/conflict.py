"""What lies beside a page: copies with what both sides said. And how erased memories are taken out of all of it."""

import re
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from memorist.errors import MemoristError
from memorist.files import page as pages
from memorist.files import whole
from memorist.files.page import Edits
from memorist.memory import Memory
from memorist.store import mirrors
from memorist.store.files import write_new
from memorist.store.mirrors import Mirror
from memorist.store.writer import Writer

TRIES = 20  # to find a moment in which nobody else writes the page
DIGITS = 12  # of the digest of a line


def key_of(lines: Iterable[str], writer: Writer) -> str:
    """Lines as digests: they can be compared, and not read."""
    return " ".join(writer.digest(f"line {line}")[:DIGITS] for line in lines)


def keep_copy(file: Path, text: str, moment: str) -> Path:
    """A new file beside the page with that text; the one that an interrupted try made, if there is one."""
    for copy in conflict_copies(file):
        if whole.read(copy) == text.encode():
            return copy
    names = (f"{file.stem}.conflict-{moment}{more}{file.suffix}" for more in ("", *(f"-{n}" for n in range(2, 1000))))
    copy = next(path for name in names if not (path := file.with_name(name)).exists())
    write_new(copy, [text])
    return copy


def conflict_copies(file: Path) -> list[Path]:
    """What lies beside a page with what both sides said."""
    name = re.compile(rf"{re.escape(file.stem)}\.conflict-[0-9TZ-]+{re.escape(file.suffix)}")
    try:
        return sorted(other for other in file.parent.iterdir() if name.fullmatch(other.name))
    except OSError:
        return []


def erase(memory: Memory, ids: Set[str], traces: Iterable[bytes] = ()) -> list[str]:
    """Takes erased memories out of every page that mirrors this space, its copies, and what is known of them: the passages that
    were theirs, and those with a word that only they had. Returns what could not be done."""
    words = [trace.decode("utf-8", "ignore") for trace in traces]
    said: list[str] = []
    for scope, path in mirrors.pages(memory._tools.store, memory.space):
        known = mirrors.mirror_of(memory._tools.store, memory.space, scope, path) or Mirror()
        theirs = {row.page for row in known.rows if row.id in ids and row.page}
        for file in (Path(path), *conflict_copies(Path(path))):
            said += _erased_from(file, ids, theirs, words, memory)
        with memory._writer.transaction():
            mirrors.forget_rows(memory._tools.store, memory.space, scope, path, ids)
    return said


def _erased_from(file: Path, ids: Set[str], keys: Set[str], words: Sequence[str], memory: Memory) -> list[str]:
    try:
        for _ in range(TRIES):
            raw = whole.read(file)
            page = pages.parse(whole.text_of(raw or b"", file))
            edits = Edits(page)
            for passage in page.entries():
                if passage.mark in ids or key_of(passage.lines, memory._writer) in keys:
                    edits.remove(passage.block)
            edits.remove_lines_with(words)
            if not edits or whole.put(file, edits.text().encode(), raw):
                return []
        return [f"{file} is written again and again by others; erase again when they are done"]
    except MemoristError as problem:
        return [f"{file} could not be cleaned: {problem}"]
