"""The copies beside a page that hold both sides of a conflict, and the removal of erased memories from pages and
copies."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from memorist.errors import MemoristError
from memorist.files import page as pages
from memorist.files import whole
from memorist.files.page import Edits, Passage, Sheet, Stretch, item_of, says_the_same
from memorist.memory import Memory
from memorist.records import Record
from memorist.store import mirrors
from memorist.store.files import write_new
from memorist.store.lineage import PHRASE
from memorist.store.mirrors import Mirror
from memorist.store.traces import SHORTEST, finder
from memorist.store.where import everywhere
from memorist.store.writer import Writer
from memorist.text.visible import visible

TRIES = 20  # to find a moment in which nobody else writes the page
DIGITS = 12  # of the digest of a line
_WORD = re.compile(r"\w+")
STILL_HOLDS = "still holds words of it; look at it"


def key_of(lines: Iterable[str], writer: Writer) -> str:
    """Lines as digests, which can be compared but not read."""
    return " ".join(writer.digest(f"line {line}")[:DIGITS] for line in lines)


def keep_copy(file: Path, text: str, moment: str) -> Path:
    """Writes the text to a new file beside the page; returns the existing one if an interrupted attempt made it."""
    for copy in conflict_copies(file):
        if whole.read(copy) == text.encode():
            return copy
    names = (f"{file.stem}.conflict-{moment}{more}{file.suffix}" for more in ("", *(f"-{n}" for n in range(2, 1000))))
    copy = next(path for name in names if not (path := file.with_name(name)).exists())
    write_new(copy, [text])
    return copy


def conflict_copies(file: Path) -> list[Path]:
    """The copies beside a page that hold both sides of a conflict."""
    name = re.compile(rf"{re.escape(file.stem)}\.conflict-[0-9TZ-]+{re.escape(file.suffix)}")
    try:
        return sorted(other for other in file.parent.iterdir() if name.fullmatch(other.name))
    except OSError:
        return []


def erase(memory: Memory, ids: Set[str], traces: Iterable[bytes] = (), foreign: Set[Path] = frozenset()) -> list[str]:
    """Takes erased memories out of every page that mirrors this space, except in folders that now belong to another
    store. Returns what could not be done."""
    words, known = tuple(traces), mirrors.pages(memory._tools.store, memory.space)
    ours = [(Path(path), scope) for scope, path in known if Path(path).parent not in foreign]
    return [said for path, scope in ours for said in erase_from(path, memory, scope, ids, words)]


def erase_from(file: Path, memory: Memory, scope: str, ids: Set[str], traces: Iterable[bytes] = ()) -> list[str]:
    """Cleans one page, its copies, and the records about it: removes the passages of erased memories, and passages with
    a word that only those had, and reports them. A memory that lives on without such a text is written as it is now."""
    store, space = memory._tools.store, memory.space
    known = mirrors.mirror_of(store, space, scope, str(file)) or Mirror()
    keys = {row.page: row.id for row in known.rows if row.page and row.id}
    owners = {*ids, *keys.values()}
    living = {each.id: each for each in store.get(sorted(owners), everywhere(space)) if each.state == "active"}
    wiping = _Wiping(memory._writer, ids, owners, keys, living, _Words.of(traces))
    said = [problem for each in (file, *conflict_copies(file)) for problem in wiping.out_of(each)]
    with memory._writer.transaction():
        mirrors.forget_rows(store, space, scope, str(file), ids)
    return said


@dataclass(frozen=True, slots=True)
class _Words:
    """The words that only erased memories had. A passage is removed if it has one of these words as a whole, or the
    beginning of a text. A page with weaker traces is only reported: a short word, or one inside another, is often a
    coincidence."""

    words: Set[str]
    phrases: Sequence[str]
    traced: Callable[[bytes], bool]

    @classmethod
    def of(cls, traces: Iterable[bytes]) -> "_Words":
        long = [trace for trace in traces if len(trace) >= SHORTEST]
        texts = [trace.decode("utf-8", "ignore") for trace in long]
        phrases = [text for text in texts if len(text) >= PHRASE and not _WORD.fullmatch(text)]
        return cls({text for text in texts if _WORD.fullmatch(text)}, phrases, finder(long))

    def are_in(self, text: str) -> bool:
        return not self.words.isdisjoint(_WORD.findall(text)) or any(phrase in text for phrase in self.phrases)


@dataclass(frozen=True, slots=True)
class _Wiping:
    writer: Writer
    ids: Set[str]
    owners: Set[str]  # whose lines may be on the page
    keys: Mapping[str, str]  # digests of lines → the memory they belong to
    living: Mapping[str, Record]
    words: _Words

    def out_of(self, file: Path) -> list[str]:
        shown = visible(str(file))
        try:
            for _ in range(TRIES):
                raw = whole.read(file)
                edits, others = self._edits(pages.parse(whole.text_of(raw or b"", file)))
                after = edits.text().encode()
                if not edits or whole.put(file, after, raw):
                    said = [f"{shown}:{line}: what stood there had a word of it, and was taken out" for line in others]
                    return said + ([f"{shown} {STILL_HOLDS}"] if self.words.traced(after) else [])
            return [f"{shown} is written again and again by others; erase again when they are done"]
        except MemoristError as problem:
            return [f"{shown} could not be cleaned: {problem}"]

    def _edits(self, page: Sheet) -> tuple[Edits, list[int]]:
        """The page without erased memories, and the lines at which other people's words went too. Headings and
        properties stay."""
        edits, others = Edits(page), list[int]()
        for passage in page.entries():
            id = self._owner(passage)
            record = self.living.get(id)
            goes = id in self.ids or self.words.are_in(passage.text)
            if goes and not (record and says_the_same(passage, record)):
                edits.put(passage.block, item_of(record, passage) if record else [])
                others += [] if id in self.ids else [passage.block.start + 1]
        for block in filter(lambda block: self._is_comment_with_them(page, block), page.blocks):
            edits.remove(block)
            others.append(block.start + 1)
        return edits, sorted(others)

    def _owner(self, passage: Passage) -> str:
        """The memory that these lines belong to; "" if they belong to none."""
        marked = passage.mark or ""
        return marked if marked in self.owners else self.keys.get(key_of(passage.lines, self.writer), "")

    def _is_comment_with_them(self, page: Sheet, block: Stretch) -> bool:
        lines = page.lines[block.start : block.stop] if block.sort == "comment" else ()
        return self.words.are_in("\n".join(line.text for line in lines))
