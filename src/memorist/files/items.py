"""The marked contents of a project's files as items: entities, claims, tasks, decisions and notes, each with its file
and line.

An item is a memory of its kind with the origin `file`: of low trust, a candidate until a person confirms it, found by
any question and by `search="items"`. Its `data` has the item's own id, its type, its line and the digest of its file
(`folder.py`), so that a hit can say whether the file has changed since. `markers.py` defines what counts as an item.

    claim → fact      decision, note, entity → the same      task → note, tagged `task`

A task of a file is a note because the file owns its status: whoever checks the box ends it. Only this pipeline writes
items, and `index` replaces only what it wrote. An item that is still in the file keeps its id, its votes and its
history, even if it moved; an item that is gone is archived with the reason, and comes back as it was if the file has it
again. What a person confirmed, revised or forgot is theirs, and no file changes it.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.errors import Invalid
from memorist.files import documents, sources
from memorist.files.projections import rows_of
from memorist.folder import HASHES, Folder, hash_of
from memorist.memory import Memory
from memorist.noun import Noun, line
from memorist.records import Draft, Record, Report
from memorist.remember.changes import Caller
from memorist.remember.edit import Sweep, archived
from memorist.store.where import Where
from memorist.text.markers import ItemType, Marked, marked_in
from memorist.text.visible import flaw
from memorist.upkeep.items import DELETED, GONE, INDEX, items_of

BACK = "its file says it again"
MOVED = "its file changed around it"
PROSE = (".md", ".markdown", ".txt", ".rst", ".adoc", ".org")
CODE = tuple(
    ".py .pyi .js .jsx .mjs .ts .tsx .go .rs .java .kt .kts .scala .c .h .cc .cpp .hpp .cs .swift .m .rb .php .pl .lua .r .jl .ex"
    " .exs .erl .hs .ml .clj .dart .sh .bash .zsh .fish .ps1 .sql .toml .yaml .yml .ini .cfg .tf .css .scss .vue .svelte".split()
)
OWN_FILE = "MEMORY"  # beginning of the names of files that memories are written to: those are synced, not extracted
LARGEST_SOURCE = 4 << 20  # bytes of one file
LARGEST_INDEX = 64 << 20  # bytes of everything that is read at once
MOST_ITEMS = 2000  # of one file
TITLE = 60  # characters
KINDS_OF: Mapping[ItemType, str] = {
    "entity": "entity", "claim": "fact", "task": "note", "decision": "decision", "note": "note",
}  # fmt: skip
PREFIXES: Mapping[ItemType, str] = {"entity": "ent", "claim": "clm", "task": "tsk", "decision": "dec", "note": "nte"}


@dataclass(frozen=True, slots=True, repr=False)
class Indexed(Noun):
    """The result of an index. `memory.undo(batch)` takes it back."""

    batch: str | None
    files: int  # that were read
    outcomes: Mapping[str, int] = field(hash=False)  # added, unchanged, moved, restored, expired, refused
    problems: tuple[str, ...] = ()
    dry_run: bool = False
    drafts: tuple[Draft, ...] = ()  # for a dry run: what would be new

    def _line(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.outcomes.items()) or "no items"
        done = "dry run" if self.dry_run else f"batch {self.batch}"
        return f"{self.files:,} files: {counts}, {done}; {len(self.problems):,} problems"


# ---------------------------------------------------------------- the pipeline


def index(memory: Memory, paths: Iterable[str | Path] = (), *, dry_run: bool = False) -> Indexed:
    """Extracts items from some files of the project's folder, or from all of it, and stores them in the project, in one
    batch. Items within the paths that are no longer there are archived. `dry_run` only shows what would happen."""
    scope = memory.project.scope
    memory.access.must_write(scope)
    door = memory.through(replace(memory.access, origin="file", surface=INDEX))
    caller, folder = door._caller, door._tools.folder
    if folder.root is None:
        raise Invalid(
            "this memory has no project folder; open it without a path, where the project is: Memory(project=…)"
        )
    known = items_of(Where(door.access), scope, caller.store)
    wanted = _wanted(paths, folder, {record.files[0] for record in known})
    read = _read(wanted.files, folder, memory)
    plan = _plan(read, [record for record in known if wanted.covers(record.files[0])], scope, folder)
    if dry_run:
        return Indexed(None, len(read.sources), plan.counted(), tuple(read.problems), True, tuple(plan.new))
    done = door.remember_many(plan.new)
    batch = _replace(plan, next((each.batch for each in done if each.batch), None), door, caller)
    known_already = sum(each.outcome != "added" for each in done)
    return Indexed(batch, len(read.sources), plan.counted(known_already), tuple(read.problems))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The files to read, and the extent of an index: these files, and everything that was below some folders."""

    files: tuple[str, ...]
    named: frozenset[str]
    tops: tuple[str, ...]

    def covers(self, name: str) -> bool:
        return name in self.named or any(not top or name.startswith(f"{top}/") for top in self.tops)


def _wanted(paths: Iterable[str | Path], folder: Folder, known: set[str]) -> _Wanted:
    """Resolves the paths. What was indexed before is looked at again, whatever its name."""
    names = _names(paths, folder)
    tops = tuple(name for name in names if folder.is_folder(name))
    wanted = _Wanted((), frozenset(names) - frozenset(tops), tops)
    _refuse_absent(wanted.named - known, folder)
    before = {name for name in (*known, *wanted.named) if wanted.covers(name) and folder.name_of(name) == name}
    files = before.union(*(filter(_is_indexed, folder.walk(top)) for top in tops))
    if len(files) > sources.MOST_FILES:
        raise Invalid(f"{len(files):,} files were found; {sources.MOST_FILES:,} can be indexed at once: name fewer")
    return replace(wanted, files=tuple(sorted(files)))


def _refuse_absent(names: Iterable[str], folder: Folder) -> None:
    for name in names:
        if folder.name_of(name) != name:
            raise Invalid(f"there is no file {name} in {folder.root}; name a file or a folder of it")


def _names(paths: Iterable[str | Path], folder: Folder) -> list[str]:
    if isinstance(paths, str | Path):
        raise Invalid("the paths must be a list, such as ['docs']")
    return [_below(given, folder) for given in paths] or [""]


def _below(given: str | Path, folder: Folder) -> str:
    if not isinstance(given, str | Path) or not str(given).strip() or flaw(str(given)):
        raise Invalid("a path is a text or a Path such as 'docs'; name a file or a folder of the project")
    name = folder.below((folder.here or Path()) / Path(given).expanduser())
    if name is None:
        raise Invalid(
            f"{sources.readable(str(given))} is outside of the project's folder {folder.root}; only its files are indexed"
        )
    if name and folder.is_ignored(name, folder.is_folder(name)):
        raise Invalid(f"{name} is ignored (.gitignore, .secretsignore, .env*), so it is not indexed; name another path")
    return name


def _is_indexed(name: str) -> bool:
    file = Path(name)
    return file.suffix.lower() in (*PROSE, *CODE) and not (file.name.startswith(OWN_FILE) and file.suffix == ".md")


# ---------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class _Source:
    hash: str
    changed: datetime
    items: Sequence[Marked]


@dataclass(slots=True)
class _Read:
    sources: dict[str, _Source] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)  # exists and cannot be read: its items stay
    problems: list[str] = field(default_factory=list)


def _read(names: Iterable[str], folder: Folder, memory: Memory) -> _Read:
    read, room, count = _Read(), LARGEST_INDEX, 0
    for name in names:
        try:
            raw, changed = folder.content(_storable(name, memory), min(LARGEST_SOURCE, room))
            text = memory._writer.redact_lines(documents.text_of(raw, name))
            found = marked_in(text, Path(name).suffix.lower() not in CODE)
        except Invalid as problem:
            read.problems.append(str(problem))
            read.unread.add(name)
            continue
        if len(found) > MOST_ITEMS:
            read.problems.append(f"{name} holds {len(found):,} items; the first {MOST_ITEMS:,} were taken")
        room, count = room - len(raw), count + len(found)
        sources.must_fit(count)
        read.sources[name] = _Source(hash_of(raw), datetime.fromtimestamp(changed, UTC), found[:MOST_ITEMS])
    return read


def _storable(name: str, memory: Memory) -> str:
    """A name under which a file can be found again."""
    if flaw(name) or len(name) > checks.LONGEST_LABEL or memory._writer.redact(name) != name:
        raise Invalid(f"{sources.readable(name)} has a name that is too long, no text, or holds a secret; rename it")
    return name


# ---------------------------------------------------------------- what changes


@dataclass(slots=True)
class _Plan:
    new: list[Draft] = field(default_factory=list)
    back: dict[str, Draft] = field(default_factory=dict)  # by the ids of records
    moved: dict[str, Draft] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    same: int = 0

    def counted(self, known: int = 0) -> dict[str, int]:
        """Counts by outcome; some of the new ones turned out to be known, forgotten or revised here."""
        names = {
            "added": len(self.new) - known, "unchanged": self.same + known, "moved": len(self.moved),
            "restored": len(self.back), "expired": len(self.gone) + len(self.deleted),
        }  # fmt: skip
        return {name: count for name, count in names.items() if count}


def _plan(read: _Read, known: Sequence[Record], scope: str, folder: Folder) -> _Plan:
    plan = _Plan()
    found = {str(draft.data["item"]): draft for draft in _drafts(read, scope, folder)}
    for record in known:
        draft, file = found.pop(str(record.data["item"]), None), record.files[0]
        if draft is None:
            if record.state == "active" and file not in read.unread:
                (plan.gone if file in read.sources else plan.deleted).append(record.id)
        elif record.state != "active":
            plan.back[record.id] = draft
        elif (record.data.get("line"), record.data.get(HASHES)) != (draft.data["line"], draft.data[HASHES]):
            plan.moved[record.id] = draft
        else:
            plan.same += 1
    plan.new = list(found.values())
    return plan


def _drafts(read: _Read, scope: str, folder: Folder) -> Iterator[Draft]:
    for name, source in read.sources.items():
        times: Counter[tuple[str, str]] = Counter()
        for each in source.items:
            times[each.type, each.text] += 1
            data = {
                "item": item_id(each.type, each.text, f"{name}#{times[each.type, each.text]}"), "type": each.type,
                "line": each.line, "folder": folder.mark, HASHES: {name: source.hash},
            }  # fmt: skip
            yield Draft(
                each.text, KINDS_OF[each.type], scope, tags=("task",) if each.type == "task" else (), files=(name,), data=data,
                confidence=each.confidence, at=source.changed, confidence_because=each.because,
            )  # fmt: skip


def item_id(type: ItemType, text: str, place: str) -> str:
    """The item's own id: what it is and says, and in which file; for one that is said there twice, which one of them.

    >>> item_id("decision", "ship on Friday", "PLAN.md#1")
    'dec_9c8bcacbff00934e'
    """
    return f"{PREFIXES[type]}_{hashlib.sha256(f'{type}|{text}|{place}'.encode()).hexdigest()[:16]}"


def _replace(plan: _Plan, batch: str | None, door: Memory, by: Caller) -> str | None:
    """Brings back, moves and archives items, in the batch of those that were added. → the batch"""

    def moved(record: Record, drafts: Mapping[str, Draft]) -> Record:
        return replace(record, state="active", reason=None, data={**record.data, **drafts[record.id].data})

    steps = (
        ("restored", partial(moved, drafts=plan.back), BACK, list(plan.back)),
        ("revised", partial(moved, drafts=plan.moved), MOVED, list(plan.moved)),
        ("expired", partial(archived, because=GONE), GONE, plan.gone),
        ("expired", partial(archived, because=DELETED), DELETED, plan.deleted),
    )
    for verb, change, because, ids in steps:
        done = Sweep(verb, change, because, by.where, by).apply(ids, Report(verb, batch=batch))
        batch = door._tell_all(done).batch
    return batch


# ---------------------------------------------------------------- items.json


ITEMS_FILE = "items.json"


def render(memory: Memory, scope: str) -> bytes:
    """The file of that project; nothing if it has no item."""
    found = extracted(memory, scope)
    return items_json(found) if found else b""


def extracted(memory: Memory, scope: str | None = None) -> list[Record]:
    """The items of the project as they are now, read with the project's rights, whoever asks."""
    project = scope or memory.project.scope
    found = items_of(rows_of(memory, project), project, memory._tools.store)
    return [record for record in found if record.state == "active"]


def items_json(records: Iterable[Record]) -> bytes:
    """The items as the founding document's `items.json`: the same items give the same bytes."""
    items = [_item(record) for record in records]
    items.sort(key=lambda item: (item["sourceFile"], item["lineNumber"], item["id"]))
    return (json.dumps(items, ensure_ascii=False, indent=2) + "\n").encode()


def _item(record: Record) -> dict[str, Any]:
    data = record.data
    name = record.text.partition(": ")[0] if data["type"] == "entity" else record.text
    return {
        "id": data["item"],
        "type": data["type"],
        "title": record.title or line(name, TITLE),
        "content": record.text,
        "sourceFile": record.files[0],
        "lineNumber": data["line"],
        "confidence": record.confidence,
        "extractedAt": record.times.created.isoformat(),
        "hash": next(iter(data[HASHES].values())),
        "memory": record.id,
    }
