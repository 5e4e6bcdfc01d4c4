"""Infers tags that nobody named: for memories that were useful together but share no tag; and, for a memory about files
without tags, the language of the files and the folder in which they lie.

For memories that were used together, only their own words count: a tag of one is given to another that contains its words.
Each gets at most one, and never one that was removed from it before. It is an edit like any other: journalled with its reason,
and reverted by `undo` or `tag`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from memorist.records import Draft, Outcome, Record
from memorist.remember import edit
from memorist.remember.authority import Held
from memorist.remember.changes import Caller
from memorist.remember.gate import Inferred
from memorist.text.words import terms

MOST_TAGS = 8  # a memory with this many needs no more
FEW_TOGETHER = 10  # memories of one answer that are compared
MOST_INFERRED = 3  # tags inferred from the files of one memory
LANGUAGES = {
    ending: language
    for language, endings in (
        ("python", "py pyi ipynb"), ("javascript", "js jsx mjs cjs"), ("typescript", "ts tsx mts"), ("rust", "rs"),
        ("go", "go"), ("java", "java"), ("kotlin", "kt kts"), ("swift", "swift"), ("ruby", "rb"), ("php", "php"),
        ("csharp", "cs"), ("c", "c h"), ("cpp", "cc cpp cxx hpp"), ("shell", "sh bash zsh"), ("sql", "sql"), ("html", "html htm"),
        ("css", "css scss less"), ("elixir", "ex exs"), ("haskell", "hs"), ("scala", "scala"), ("lua", "lua"), ("r", "r"),
    )
    for ending in endings.split()
}  # fmt: skip
ANYWHERE = frozenset(
    "src lib libs app apps pkg packages internal cmd main test tests spec docs build dist bin com org".split()
)


def by_files(draft: Draft) -> Draft:
    """The draft with tags inferred from its files, if it has files and no tags."""
    if draft.tags or not isinstance(draft.files, list | tuple):
        return draft
    found = dict.fromkeys(tag for file in draft.files for tag in _tags_of(str(file)))
    return replace(draft, tags=Inferred(tuple(found)[:MOST_INFERRED])) if found else draft


def _tags_of(file: str) -> Iterator[str]:
    """The language of a file, and the innermost folder above it that says what it is about."""
    path = PurePath(file.replace("\\", "/"))
    ending = path.suffix.removeprefix(".").lower()
    if ending in LANGUAGES:
        yield LANGUAGES[ending]
    folders = [name.lower() for name in path.parts[:-1] if name.replace("-", "").replace("_", "").isalpha()]
    told = [name for name in folders if name not in ANYWHERE] if not path.is_absolute() else []
    yield from told[-1:]


def infer(ids: Sequence[str], by: Caller) -> list[Outcome]:
    """Gives memories that were used together the one tag of theirs that fits most of them."""
    where = by.where.also("state", "eq", "active").also("kind", "ne", "turn")
    records = by.store.get(list(ids)[:FEW_TOGETHER], where)
    chosen = _closest(records)
    if chosen is None:
        return []
    holder = next(record for record in records if chosen in record.tags)
    because = f"used together with memory {holder.number}, which is tagged {chosen!r}, and holds these words too"
    done = [_tagged(each, chosen, because, by) for each in _told(chosen, records)]
    return [outcome for outcome in done if outcome is not None]


def _closest(records: Sequence[Record]) -> str | None:
    """The tag of one of them that fits most of the others; None if two of them share one."""
    tags = sorted(tag for record in records for tag in record.tags)
    shared = len(set(tags)) < len(tags)
    return None if shared or len(records) < 2 else max(tags, key=lambda tag: len(_told(tag, records)), default=None)


def _told(tag: str, records: Sequence[Record]) -> list[Record]:
    """Those that contain the words of a tag and have room for it."""
    words = set(terms(tag))
    return [
        record
        for record in records
        if words and words <= set(terms(record.text)) and tag not in record.tags and len(record.tags) < MOST_TAGS
    ]


def _tagged(record: Record, tag: str, because: str, by: Caller) -> Outcome | None:
    had = (event.before or {} for event in by.store.journal(record=record.id))
    if any(tag in before.get("tags", ()) for before in had) or not by.access.may_write(record.scope, record.home):
        return None  # somebody removed it, or it is not ours to tag
    find, keeper = partial(edit.newest, record.id, by), replace(by, steward=True)
    try:
        return edit.edit(find, "tagged", lambda now: replace(now, tags=(*now.tags, tag)), keeper, because)
    except Held:  # not worth a person's time
        return None
