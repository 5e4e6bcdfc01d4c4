"""The files behind some paths, and their content: regular files only, within limits, and none outside a named folder.

A problem with a named file is an error, and nothing is imported. A file in a folder that cannot be read is reported,
and the others are read.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from memorist.checks import LONGEST_LABEL
from memorist.errors import Invalid
from memorist.folder import FILLED
from memorist.lazy import dataclass
from memorist.text.visible import quoted, visible

MARKDOWN = (".md", ".markdown", ".txt")
NOTES = (".md",)  # of a vault
LOOKED_INTO = 20  # files examined to tell whether a folder is a vault
JSON = (".json", ".jsonl", ".bak")
DOCUMENTS = (*MARKDOWN, ".py", ".json", ".yaml", ".yml")  # in a folder; a file that is named may be any text
MOST_FILES = 10_000
MOST_LINES = 200_000  # in one Markdown file
MOST_MEMORIES = 10_000_000  # in one import, which keeps eight bytes of each
# Reading a pipe without a writer would block for ever.
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
ENTRIES, SESSIONS = ("project.json", "project.json.bak"), "sessions/*.memory.json"
FOLDER_FILE, FOLDER = "MEMORY.md", "memory"


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: `name` is its name in memories, `shown` its name in messages."""

    path: Path
    name: str
    found: bool = False  # found in a folder, not named itself
    entry: str | None = None  # the file's name in an archive
    sent: bool = False  # uploaded: the sender's name for it counts, and its path here means nothing

    @property
    def size(self) -> int:
        """In bytes, as far as known without reading it."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    @property
    def shown(self) -> str:
        path = readable(str(self.path))
        return path if self.entry is None else f"{path}/{readable(self.entry)}"


def sources(paths: Iterable[str | Path | Source], documents: bool = False) -> tuple[list[Source], list[str], list[str]]:
    """The files behind these paths, each once, the problems of those left out, and notes. In a folder, only files that
    hold memories count, or only documents."""
    wanted: dict[Path, Source] = {}
    problems: list[str] = []
    notes: list[str] = []
    for given in paths:
        if isinstance(given, Source):
            wanted.setdefault(_real(given.path), given)
            continue
        path = _path(given)
        if not path.is_dir():
            wanted.setdefault(_real(path), Source(path, readable(path.name)))
            continue
        notes += _left_out(path) if documents else []
        for source, flaw in _inside(path, documents):
            if flaw:
                problems.append(f"{source.shown}: {flaw}")
            else:
                wanted.setdefault(_real(source.path), source)
    if len(wanted) > MOST_FILES:
        raise Invalid(f"{len(wanted):,} files were found; {MOST_FILES:,} can be imported at once: name fewer")
    return list(wanted.values()), problems, notes


@contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """A regular file, open for reading."""
    try:
        with os.fdopen(os.open(source.path, _READ), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Invalid(f"{source.shown} is not a regular file; name a file or a folder")
            yield file
    except FileNotFoundError as problem:
        raise Invalid(f"there is no file {source.shown}; name a file or a folder") from problem
    except OSError as problem:
        raise Invalid(f"{source.shown} cannot be read: {problem.strerror}") from problem


def backup_of(source: Source) -> Source | None:
    """The backup beside a project.json, if there is one."""
    beside = source.path.with_name(ENTRIES[1])
    return replace(source, path=beside) if source.path.name == ENTRIES[0] and beside.is_file() else None


def name_in(root: Path | None, source: Source) -> str:
    """The path of a document below the project's folder; the whole path if it is elsewhere, or if the project has no
    folder. For an uploaded file, the name it was sent under."""
    if source.sent:
        return readable(source.name)
    path, top = _real(source.path), None if root is None else _real(root)
    label = readable((path.relative_to(top) if top and path.is_relative_to(top) else path).as_posix())
    return label if len(label) <= LONGEST_LABEL else "…" + label[1 - LONGEST_LABEL :]


def must_fit(memories: int) -> None:
    if memories > MOST_MEMORIES:
        raise Invalid(f"these files hold more than {MOST_MEMORIES:,} memories; import them in parts")


def readable(path: str) -> str:
    """A path that can be shown and stored: its bytes may not be text, and its characters may be invisible."""
    return visible(os.fsencode(path).decode(errors="replace"))


def _inside(folder: Path, documents: bool) -> Iterator[tuple[Source, str | None]]:
    """The files of a folder by name, each with its problem, if any."""
    top = _real(folder)
    paths = _below(folder, DOCUMENTS) if documents else _with_memories(folder)
    if not paths:
        wanted = ", ".join(DOCUMENTS) if documents else f"{FOLDER_FILE} and no Markdown file below {FOLDER}/"
        raise Invalid(f"{readable(str(folder))} holds no {wanted}; name the files")
    for path in paths:
        label = readable(path.relative_to(folder).as_posix())
        source = Source(path, label if len(label) <= LONGEST_LABEL else readable(path.name), found=True)
        outside = not _real(path).is_relative_to(top)
        yield source, "a link that leads out of the folder; name the file itself" if outside else None


def _with_memories(folder: Path) -> list[Path]:
    """Files that hold memories: Markdown, and those of the curated memory's own program."""
    inner = folder if _real(folder).name == FOLDER else folder / FOLDER
    own = [path for path in (folder / FOLDER_FILE,) if path.is_symlink() or path.exists()]
    if inner.is_symlink() and inner != folder:
        return [*own, inner]
    entries = [path for name in ENTRIES if (path := inner / name).exists()]
    found = [*own, *entries[:1], *sorted(inner.glob(SESSIONS)), *_below(inner, MARKDOWN)]
    return found if found or not _is_vault(folder) else _below(folder, NOTES)


def _is_vault(folder: Path) -> bool:
    """Whether a folder is full of notes: Obsidian marks it with a folder of its own, basic-memory in the front matter."""
    return (folder / ".obsidian").is_dir() or any(map(_has_permalink, _below(folder, NOTES)[:LOOKED_INTO]))


def _has_permalink(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"\npermalink:" in file.read(4096)
    except OSError:
        return False


def _below(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """Files with these suffixes, and links that lead outside, which are reported and not followed."""
    found = []
    for here, folders, files in os.walk(folder):
        folders[:] = filter(_is_written, folders) if suffixes in (DOCUMENTS, NOTES) else folders
        found += [Path(here, name) for name in files if Path(name).suffix.lower() in suffixes]
        links = [link for name in folders if (link := Path(here, name)).is_symlink()]
        found += [link for link in links if not _real(link).is_relative_to(_real(folder))]
        if len(found) > MOST_FILES:
            break
    return sorted(found)


def below(folder: Path, suffixes: tuple[str, ...]) -> list[Source]:
    """The files below a folder with these suffixes, without links that lead out of it; none where there is no folder."""
    top = _real(folder)
    paths = [path for path in _below(folder, suffixes) if _real(path).is_relative_to(top) and path.is_file()]
    return [Source(path, readable(path.name), found=True) for path in paths]


def _left_out(folder: Path) -> list[str]:
    """What else a folder of documents contains, in a sentence."""
    others, closed = 0, set[str]()
    for _, folders, files in os.walk(folder):
        closed |= {name for name in folders if not _is_written(name)}
        folders[:] = filter(_is_written, folders)
        others += sum(Path(name).suffix.lower() not in DOCUMENTS for name in files)
    said = [f"{others:,} {'file is' if others == 1 else 'files are'} not {', '.join(DOCUMENTS)}"] if others else []
    said += [f"folders such as {readable(min(closed))} are hidden or a tool's"] if closed else []
    return [f"left out of {readable(str(folder))}: {'; '.join(said)}; name what you want"] if said else []


def _is_written(folder: str) -> bool:
    """Whether people wrote it: not hidden, and not filled by a tool."""
    return not folder.startswith(".") and folder not in FILLED


def _path(given: str | Path) -> Path:
    if not isinstance(given, str | Path) or not str(given).strip() or "\x00" in str(given):
        raise Invalid(f"{quoted(given)} is not a path; name a file or a folder")
    try:
        return Path(given).expanduser()
    except RuntimeError as problem:
        raise Invalid(f"{readable(str(given))} cannot be found: {problem}") from problem


def _real(path: Path) -> Path:
    """The real path; a link to itself is not an error here."""
    return Path(os.path.realpath(path))


def moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):  # file systems may hold any time
        return datetime.fromtimestamp(0, UTC)
