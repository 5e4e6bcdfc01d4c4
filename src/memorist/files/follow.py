"""Files that follow the store. The rows are the truth; each file is written from them, up to a position in the journal.

    follow(memory)   writes what is due, where the settings say so: `files.mode`, `files.folder`; `listen` does so after every write
    Follower         the same for one folder; `follow` goes on from the last position, `sync` compares everything
    clean            takes what was erased out of every folder that the store knows of; `erase` calls it, from any process

The folder itself records how far its files are (`.memorist/follow.json`): the last event of the journal, with the
chain's value at that event. So a folder that was away, a store that was restored, and a process that was killed between
a row and its line are all noticed, and what is missing is written. One process at a time works in a folder, under its
lock.

A folder is registered in the store before its first byte is written (`store/folders.py`), because erasing must find all
files in order to rewrite them. What could not be cleaned is reported, and tried again by the next erasure, by
`compact`, and by every follower.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import cast, get_args

from memorist.checks import one_of
from memorist.design import Files
from memorist.errors import Invalid, MemoristError, StoreUnavailable, unavailable
from memorist.files import conflict, items, tasks_json
from memorist.files.memory_md import MEMORY_MD, sync
from memorist.files.projections import (
    INNER,
    Changed,
    Maker,
    Projection,
    Rendered,
    Target,
    Wipe,
    content,
    must_be_no_link,
    opened,
)
from memorist.files.transcripts import FOLDER, INDEX, Transcripts, name_of
from memorist.memory import Memory
from memorist.records import Event
from memorist.store import folders
from memorist.store.checkouts import called
from memorist.store.copies import Cleaning
from memorist.store.files import clear_leftovers, create_private, replace_private
from memorist.store.folders import Filed
from memorist.store.lock import locked
from memorist.store.nouns import ChainLink
from memorist.store.traces import SHORTEST, finder
from memorist.store.where import Order, everywhere
from memorist.surfaces import settings
from memorist.text.visible import quoted, visible


class MemoryPage:
    """`MEMORY.md` in the folder of a project's files: if the mode is `mirror`, edits come back."""

    name = MEMORY_MD

    def __init__(self, place: Target) -> None:
        self.file, self.scope, self.mode = place.folder / MEMORY_MD, place.scope, place.mode

    def files(self) -> list[Path]:
        return [file for file in (self.file, *conflict.conflict_copies(self.file)) if file.exists()]

    def write(self, memory: Memory, changed: Changed) -> list[str]:
        """Syncs the page with the store; returns what the user should hear of it. It is the project's page, whoever
        follows, and the project records its last state, whatever `changed` says."""
        rights = ("*", self.scope)
        access = replace(memory.access, reads=rights, writes=rights, role="project", home=self.scope)
        done = sync(memory.through(access), self.file, scope=self.scope, edits=self.mode == "mirror")
        edited = f"edits of {MEMORY_MD} came in; `memorist undo {done.batch}` takes them back"
        copies = (f"{copy} has what both sides said" for copy in done.conflicts)
        return [*([edited] if done.batch else []), *done.problems, *copies]

    def erase(self, memory: Memory, gone: Wipe) -> list[str]:
        return conflict.erase_from(self.file, memory, self.scope, gone.ids, gone.traces)


# In the order in which they are written.
PROJECTIONS: tuple[Maker, ...] = (
    Transcripts,
    MemoryPage,
    partial(Rendered, name=tasks_json.TASKS_FILE, render=tasks_json.render),
    partial(Rendered, name=items.ITEMS_FILE, render=items.render),
)
WAIT = 30.0  # seconds for another process that follows
ERASING_WAIT = 5.0
EVENTS_AT_ONCE = 1000
MOST_EVENTS = 50_000  # beyond that it is faster to compare everything
A_TURN = 20  # records that one turn changes at most, with its session
TALK = ("turn", "session")
LONGEST_TRACE = 256  # bytes
WIPING = ("erased", "past erased")  # verbs of events after which a file must be rewritten
LOCK, STATE, IGNORED = "lock", "follow.json", ".gitignore"
# Patterns of the names of our files: people may keep other files in that folder, and may share MEMORY.md.
KEPT_OUT = f"/{INNER}*\n/{FOLDER}/\n/{INDEX}\n/{tasks_json.TASKS_FILE}\n/{items.ITEMS_FILE}\n/MEMORY.conflict-*\n"


@dataclass(frozen=True, slots=True)
class Followed:
    """The result for a folder: how far its files are, and what the user should hear."""

    folder: Path
    position: int
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _State:
    """How far the files of a folder are, and which store they belong to."""

    store: str  # a mark that only this store makes
    scope: str
    position: int = 0
    chain: str = ""
    space: str = ""


# ---------------------------------------------------------------- where the settings say so


def follow(memory: Memory) -> Followed | None:
    """Brings the files of this project up to date, if the settings or the design want any.

    >>> from memorist import Memory
    >>> follow(Memory(":memory:")) is None
    True
    """
    follower = follower_of(memory)
    return None if follower is None else follower.follow()


def listen(memory: Memory) -> Callable[[], None]:
    """Follows after every write of this memory, if the settings want files; returns a function that stops it. A failure
    is logged, and the next write tries again."""
    follower = follower_of(memory)
    if follower is None:
        return lambda: None
    follower.follow()

    def written(event: str, facts: Mapping[str, object]) -> None:
        follower.follow()

    return memory.bus.listen(written, "memory:write")


def follower_of(memory: Memory) -> "Follower | None":
    """The follower of this project's files; None if it has none."""
    target = target_of(memory)
    return None if target is None else Follower(memory, target.folder, target.mode)


def target_of(memory: Memory) -> Target | None:
    """Where this project's files go, by the settings and the design; None: nowhere."""
    here = settings.load(memory._here.directory)
    mode = cast(Files, here.files_mode or memory.design.files)
    if mode == "off" or (here.files_mode is None and not _may_by_design(memory, here.files_folder)):
        return None
    return Target(_folder(memory, here.files_folder), memory.project.scope, mode)


def _may_by_design(memory: Memory, named: str) -> bool:
    """A design alone creates a folder only in a checkout or beside a `.memorist.toml`, not wherever a command happens
    to run."""
    root = memory.project.own_root
    marked = root is not None and (memory.project.own is not None or (root / settings.LOCAL_NAME).is_file())
    return marked or Path(named).expanduser().is_absolute()


def _folder(memory: Memory, named: str) -> Path:
    """A relative folder lies in the project's own; an absolute one has a subfolder for each project."""
    folder = Path(named).expanduser()
    if folder.is_absolute():
        return folder / name_of(memory.project.scope.removeprefix("project/"))
    root = memory.project.own_root
    if root is None:
        raise Invalid(f"{memory.project.scope} has no folder of its own; set files.folder to a full path for its files")
    if not Path(os.path.realpath(root / folder)).is_relative_to(os.path.realpath(root)):
        raise Invalid(
            f"{visible(str(root / folder))} leads out of the project; name it by its full path in files.folder"
        )
    return root / folder


# ---------------------------------------------------------------- one folder


class Follower:
    """Keeps the files of one folder in step with the store.

    memory: an open one · folder: where the files go · mode: `mirror` if they are read back too
    scope: whose files they are; the memory's own project without it
    """

    def __init__(
        self, memory: Memory, folder: str | os.PathLike[str], mode: Files = "export", scope: str | None = None
    ) -> None:
        one_of(mode, "files.mode", get_args(Files)[1:])
        self.memory = memory
        self.target = Target(Path(os.path.realpath(Path(folder).expanduser())), scope or memory.project.scope, mode)
        self.projections: tuple[Projection, ...] = tuple(make(self.target) for make in PROJECTIONS)
        self._done: ChainLink | None = None  # how far this follower has written
        self._began = False  # whether the store knows of the folder, and it is in order
        self._works: int | None = None  # the thread that is at work here

    def follow(self) -> Followed:
        """Writes what changed since the files were last written. If nothing is due, it costs one look at the journal."""
        return self._bring_up_to_date(whole=False)

    def sync(self) -> Followed:
        """Compares every file with the rows, whatever was recorded, and writes what is missing."""
        return self._bring_up_to_date(whole=True)

    def _bring_up_to_date(self, whole: bool) -> Followed:
        caller = self.memory._caller
        caller.access.over_the_space(caller.access.surface)  # a skill or a reader may not write files
        head = caller.store.head()
        if not whole and head is not None and head == self._done and self.target.mode != "mirror":
            return Followed(self.target.folder, head.last)
        if self._works == get_ident():  # what it takes in is written too, and announced to listeners
            return Followed(self.target.folder, self._done.last if self._done else 0)
        self._tell_store()
        with self._locked(WAIT), self._at_work():
            state, head = self._state(), caller.store.head()  # as another process left it
            due = None if whole or state is None else self._events(state, head)
            told = [*self._erase_again(due), *self._write(due), *self._left_behind(due)]
            return Followed(self.target.folder, self._keep(head, state), tuple(told))

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        self._works = get_ident()
        try:
            yield
        finally:
            self._works = None

    def _write(self, due: Sequence[Event] | None) -> list[str]:
        ids = None if due is None else tuple(dict.fromkeys(event.record for event in due))
        concerned = self._concerned(ids)
        return self._each(lambda each: each.write(self.memory, ids) if isinstance(each, concerned) else [])

    def _concerned(self, ids: Sequence[str] | None) -> type | tuple[type, ...]:
        """The projections affected by changes of these records; a page that is read back always is."""
        if self.target.mode == "mirror":
            return MemoryPage if ids == () else object
        if ids == ():
            return ()
        return Transcripts if ids is not None and self._is_talk(ids) else object

    def _is_talk(self, ids: Sequence[str]) -> bool:
        """Whether they are only turns and sessions, which appear in transcripts and nowhere else: a turn then costs no
        more than its line."""
        found = self.memory._tools.store.get(ids[:A_TURN], everywhere(self.memory.space))
        return len(found) == len(ids) and all(record.kind in TALK for record in found)

    def _left_behind(self, due: Sequence[Event] | None) -> Iterator[str]:
        """Folders of this project under an earlier name, which are no longer written; reported when everything is
        compared."""
        if due is not None:
            return
        store, space, here = self.memory._tools.store, self.memory.space, self.target
        others = [each for each in folders.known(store, space) if each.scope != here.scope and each.path.is_dir()]
        for each in others:
            if each.path != here.folder and called(each.scope, store, space, adopted=True) == here.scope:
                yield (
                    f"{visible(str(each.path))} has the files of {each.scope}, which is {here.scope} now: they are not written "
                    "any more; move what you want to keep, and remove that folder"
                )

    def _erase_again(self, due: Sequence[Event] | None) -> list[str]:
        """What was erased while nobody could reach this folder; for a folder that is compared as a whole, everything
        ever erased."""
        ids = erased(self.memory) if due is None else {event.record for event in due if event.verb in WIPING}
        return self._each(lambda each: each.erase(self.memory, Wipe(frozenset(ids)))) if ids else []

    def erase(self, wipe: Wipe) -> list[str]:
        """Takes that out of every file, and returns what somebody has to look at: a file that still holds a word of it
        is named. A folder that another store has taken over is left to that store."""
        if self.is_of_another_store():
            return self._still_with(wipe)
        with self._locked(ERASING_WAIT):
            told = self._each(lambda each: each.erase(self.memory, wipe))
            return list(dict.fromkeys(told + self._still_with(wipe)))

    def is_of_another_store(self) -> bool:
        noted = self._noted()
        return noted is not None and noted.store != self._mark

    def _still_with(self, wipe: Wipe) -> list[str]:
        traced = finder([trace for trace in wipe.traces if len(trace) >= SHORTEST])
        files = [file for each in self.projections for file in each.files()]
        return [f"{visible(str(file))} {conflict.STILL_HOLDS}" for file in files if _has(file, traced)]

    def _each(self, work: Callable[[Projection], list[str]]) -> list[str]:
        """Runs every projection; if one fails, the others are still written, and the files stay due."""
        told, failed = list[str](), list[str]()
        for each in self.projections:
            try:
                told += work(each)
            except MemoristError as problem:
                failed.append(f"{each.name}: {problem}")
            except OSError as problem:
                failed.append(f"{each.name}: {unavailable(problem, each.name)}")
        if failed:
            raise StoreUnavailable(
                f"the files in {visible(str(self.target.folder))} are not up to date ({'; '.join(failed)}); the memories are "
                "stored, and `memorist sync` tries again"
            )
        return told

    # ------------------------------------------------------------ how far the files are

    def _events(self, state: _State, head: ChainLink | None) -> list[Event] | None:
        """What happened since; None if the files were written from another journal, or if it is too much."""
        store, last = self.memory._tools.store, head.last if head else 0
        then = store.head(state.position) if 0 < state.position <= last else None
        if last - state.position > MOST_EVENTS or (then.digest.hex() if then else "") != state.chain:
            return None
        found: list[Event] = []
        for first in range(state.position, last, EVENTS_AT_ONCE):
            end = min(first + EVENTS_AT_ONCE, last)
            found += store.journal(before=end + 1, limit=end - first)
        return found

    def _noted(self) -> _State | None:
        """What the folder records about itself; None if that cannot be trusted."""
        file = self.target.own / STATE
        must_be_no_link(self.target.own)
        if not file.exists():
            return None
        said = content(file)
        try:
            value = json.loads(said)
            return _State(value["store"], value["scope"], value["position"], value["chain"], value.get("space", ""))
        except (ValueError, LookupError, TypeError, RecursionError):
            return None

    def _state(self) -> _State | None:
        """How far its files are; None if they have to be compared as a whole. An error if they are not ours."""
        state = self._noted()
        if state is None:
            return None
        store, space, scope = self.memory._tools.store, self.memory.space, self.target.scope
        known = state.scope == scope or called(state.scope, store, space, adopted=True) == scope
        if state.store != self._mark or not known:
            raise Invalid(
                f"{visible(str(self.target.folder))} holds the files of {quoted(state.scope)} of {self._whose(state)}; name "
                "another folder with files.folder, or move these files away"
            )
        return state if state.scope == scope else None

    def _keep(self, head: ChainLink | None, before: _State | None) -> int:
        """Records how far the files are; writes nothing if that is known."""
        position, chain = (0, "") if head is None else (head.last, head.digest.hex())
        now = _State(self._mark, self.target.scope, position, chain, self.memory.space)
        if now != before:
            value = {"memorist": "follow", "version": 1, **asdict(now)}
            _overwrite(self.target.own / STATE, json.dumps(value).encode() + b"\n")
        self._done = head
        return position

    @property
    def _mark(self) -> str:
        return self._mark_of(self.memory.space)

    def _mark_of(self, space: str) -> str:
        return self.memory._writer.digest(f"files of {space}")

    def _whose(self, state: _State) -> str:
        """Whose the files are, in words: of this store, of another space of it, or of another store."""
        if state.store == self._mark:
            return "this store"
        ours = state.store == self._mark_of(state.space)
        return f"the space {quoted(state.space)}, and this is {quoted(self.memory.space)}" if ours else "another store"

    def _tell_store(self) -> None:
        """Registers the folder in the store, unless somebody else's files are in it."""
        if self._began:
            return
        store, space, here = self.memory._tools.store, self.memory.space, Filed(self.target.folder, self.target.scope)
        foreign = _foreign(here.path) if self._state() is None else None  # first: other processes register, then write
        known = folders.known(store, space)
        if here in known:
            return
        if foreign is not None and all(each.path != here.path for each in known):
            raise Invalid(
                f"{visible(str(foreign))} is not ours and would be overwritten; move it away, or name another folder "
                "with files.folder"
            )
        with self.memory._writer.transaction():
            folders.note(here, store, space)

    def _locked(self, wait: float) -> AbstractContextManager[None]:
        try:
            self._prepare()
        except OSError as problem:
            raise unavailable(problem, visible(str(self.target.folder))) from problem
        return locked(self.target.own / LOCK, wait, what=f"the files in {visible(str(self.target.folder))}")

    def _prepare(self) -> None:
        """Excludes our files from version control, except those that people read and edit: conversations are nobody
        else's business. Removes what killed processes left."""
        must_be_no_link(self.target.own)
        if not os.path.lexists(self.target.folder / IGNORED):
            replace_private(self.target.folder / IGNORED, KEPT_OUT)
        create_private(self.target.own / LOCK)
        if not self._began:
            inner = {file.parent for each in self.projections for file in each.files()}
            clear_leftovers((self.target.folder, self.target.own, *inner))
        self._began = True


def _overwrite(file: Path, data: bytes) -> None:
    """Overwrites in place: replacing or emptying the file first would wait for the disk. A half-written file is
    invalid, and then everything is compared."""
    with opened(file, os.O_RDWR | os.O_CREAT) as note:
        note.write(data)
        note.truncate(len(data))


def _foreign(folder: Path) -> Path | None:
    """A file that may be a person's own, and that one of ours would replace as a whole."""
    files = (folder / name for name in (INDEX, tasks_json.TASKS_FILE, items.ITEMS_FILE))
    return next((file for file in files if os.path.lexists(file)), None)


def _has(file: Path, traced: Callable[[bytes], bool]) -> bool:
    """Searches a file in overlapping parts. A pipe counts as empty, because reading it would block."""
    if not file.is_file():
        return False
    try:
        with file.open("rb") as opened:
            block = b""
            while more := opened.read(1 << 20):
                block = block[-LONGEST_TRACE:] + more
                if traced(block):
                    return True
    except OSError:
        return False
    return False


# ---------------------------------------------------------------- erasing


def clean(memory: Memory, ids: Collection[str], traces: Collection[bytes], cleaning: Cleaning) -> None:
    """Takes these memories out of the files in every folder that the store knows of, of whatever project, and adds what
    needs reporting. A folder that cannot be reached is tried again later."""
    wipe, foreign = Wipe(frozenset(ids), tuple(traces)), set[Path]()
    for filed in folders.known(memory._tools.store, memory.space):
        shown = visible(str(filed.path))
        try:
            if filed.path.is_dir():
                follower = Follower(memory, filed.path, scope=filed.scope)
                foreign |= {filed.path} if follower.is_of_another_store() else set()
                cleaning.said += follower.erase(wipe)
            elif not filed.path.parent.is_dir():  # else somebody removed it, with all that was in it
                cleaning.said.append(
                    f"{shown}, which held files of {filed.scope}, is not there; `memorist sync` cleans it"
                )
        except (MemoristError, OSError) as problem:
            cleaning.not_yet(f"the files in {shown} could not be cleaned ({problem})")
    elsewhere = conflict.erase(memory, frozenset(ids), traces, foreign)
    cleaning.said += [said for said in elsewhere if said not in cleaning.said]


def erased(memory: Memory) -> set[str]:
    """The ids of everything ever erased in this space, and of memories that lost a past text; ids are not content."""
    store, gone = memory._tools.store, everywhere(memory.space).also("state", "eq", "erased")
    pasts = store.find(gone.also("superseded_by", "ne", None), Order("number"))
    return {brief.id for brief in store.briefs(gone)} | {record.superseded_by or "" for record in pasts}
