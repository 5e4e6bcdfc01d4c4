"""What lies beside a page: copies with what both sides said. And how erased memories are taken out of all of it."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from memorist.errors import MemoristError
from memorist.files import page as pages
from memorist.files import whole
from memorist.files.page import Edits, Sheet, item_of, says_the_same
from memorist.memory import Memory
from memorist.records import Record
from memorist.store import mirrors
from memorist.store.files import write_new
from memorist.store.mirrors import Mirror
from memorist.store.where import everywhere
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
    """Takes erased memories out of every page that mirrors this space. Returns what could not be done."""
    known, words = mirrors.pages(memory._tools.store, memory.space), list(traces)
    return [said for scope, path in known for said in erase_from(Path(path), memory, scope, ids, words)]


def erase_from(file: Path, memory: Memory, scope: str, ids: Set[str], traces: Iterable[bytes] = ()) -> list[str]:
    """Out of one page, its copies, and what is known of it: the passages that were theirs, and those with a word that only they
    had. A memory that lives on without a text it once had is written as it is now."""
    store, space = memory._tools.store, memory.space
    known = mirrors.mirror_of(store, space, scope, str(file)) or Mirror()
    living = {each.id: each for each in store.get(sorted(ids), everywhere(space)) if each.state == "active"}
    theirs = {row.page: row.id for row in known.rows if row.id in ids}
    words = list(filter(None, (trace.decode("utf-8", "ignore") for trace in traces)))
    wiping = _Wiping(memory._writer, ids, theirs, living, words)
    said = [problem for each in (file, *conflict_copies(file)) for problem in wiping.out_of(each)]
    with memory._writer.transaction():
        mirrors.forget_rows(store, space, scope, str(file), ids)
    return said


@dataclass(frozen=True, slots=True)
class _Wiping:
    writer: Writer
    ids: Set[str]
    keys: Mapping[str, str]  # digests of lines → whose they are
    living: Mapping[str, Record]
    words: Sequence[str]

    def out_of(self, file: Path) -> list[str]:
        try:
            for _ in range(TRIES):
                raw = whole.read(file)
                edits = self._edits(pages.parse(whole.text_of(raw or b"", file)))
                if not edits or whole.put(file, edits.text().encode(), raw):
                    return []
            return [f"{file} is written again and again by others; erase again when they are done"]
        except MemoristError as problem:
            return [f"{file} could not be cleaned: {problem}"]

    def _edits(self, page: Sheet) -> Edits:
        edits = Edits(page)
        edits.remove_lines_with(self.words)
        for passage in page.entries():
            id = passage.mark if passage.mark in self.ids else self.keys.get(key_of(passage.lines, self.writer))
            record = self.living.get(id or "")
            if id and record is None:
                edits.remove(passage.block)
            elif record is not None and not says_the_same(passage, record):
                edits.put(passage.block, item_of(record, passage.sign))
        return edits
