"""Private files: readable by nobody else from the first moment, and replaced as a whole or not at all.

An unfinished file has a name of its own beside its target, which nobody can guess and no user would choose: a dot, `memorist`,
the machine and the process that make it, and a random part. So no user's file is mistaken for ours, and what a killed process
left behind is recognised and removed. A name ending in `.copy` becomes an automatic copy, which erasing takes care of;
everything else ends in `.partial`.
"""

import hashlib
import os
import random
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from memorist.errors import Invalid
from memorist.store.nouns import Diagnosis

# The suffix of a copy that nobody asked for.
AUTOMATIC = re.compile(r"\.(before-[\w.-]+\.bak|replaced-[0-9TZ]+)")
_MAKER = re.compile(r"([0-9a-f]{8})-([0-9]+)-")  # machine and process
OURS = re.compile(r"\.memorist-" + _MAKER.pattern + r"\w+\.(?:partial|copy)(?:-journal|-wal|-shm)?")
UNFINISHED = 600.0  # seconds without a change after which an unfinished file counts as left over from a crash
PARTIAL, COPY = ".partial", ".copy"
BINARY = getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # nor a pipe, which would wait for its other end
MOST_LINKS = 40


def create_private(path: Path) -> None:
    """Creates an empty file with mode 0600, and its folder with 0700 if it is missing. An existing file is left alone."""
    _create_folders(path.parent)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def replace_private(path: Path, text: str, durable: bool = True) -> None:
    """Writes a small private file so that readers see the old or the new one, never half of it. If not `durable`, it may be
    empty after a power cut."""
    with unfinished(path) as partial:
        create_private(partial)
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())  # otherwise a power cut may leave the new name with no content
        partial.replace(path)


def write_new(path: Path, parts: Iterable[str]) -> None:
    """Writes a new private file, whole or not at all."""
    with unfinished(path) as partial:
        handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        put_in_place(partial, path)


def put_in_place(partial: Path, path: Path) -> None:
    """Gives a finished file its name, unless that has been taken meanwhile."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise Invalid(f"{path} is there already; name a new file") from None
    except OSError:  # a disk without links
        refuse_taken(path)
        partial.replace(path)


def sync_folder(folder: Path) -> None:
    """Makes names durable; Windows does that by itself."""
    if os.name == "posix":
        sync(folder, os.O_RDONLY)


def sync(path: Path, flags: int = os.O_RDWR) -> None:
    """Makes the file's content durable."""
    file = os.open(path, flags | BINARY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


# ---------------------------------------------------------------- what is not whole yet


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """A name beside that file under which to write it; what is still there at the end is removed."""
    end = COPY if AUTOMATIC.search(path.name) else PARTIAL
    partial = path.with_name(f"{unfinished_prefix()}{secrets.token_hex(8)}{end}")
    try:
        yield partial
    finally:
        with suppress(OSError, ValueError):
            remove(partial)


def unfinished_prefix() -> str:
    """The prefix of this process's unfinished files."""
    return f".memorist-{maker()}-"


def maker() -> str:
    """This process in a form that others recognise even after it has ended."""
    return f"{_machine()}-{os.getpid()}"


def remove(left: Path) -> None:
    """Removes a file with SQLite's files beside it, or a whole folder."""
    if left.is_dir() and not left.is_symlink():
        import shutil  # not needed at a cold start

        shutil.rmtree(left)
        return
    for end in ("", "-journal", "-wal", "-shm"):
        left.with_name(left.name + end).unlink(missing_ok=True)


def clear_leftovers(folders: Iterable[Path]) -> list[Path]:
    """Removes what killed processes left unfinished in these folders. Returns what cannot be removed, and automatic copies
    still being made; a backup being made is its user's business."""
    still = []
    for folder in folders:
        for left in _unfinished_in(folder):
            try:
                if maker_is_gone(left):
                    remove(left)
                elif left.name.endswith(COPY):
                    still.append(left)
            except FileNotFoundError:  # it was finished meanwhile
                continue
            except OSError:
                still.append(left)
    return still


def _unfinished_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [folder / entry.name for entry in entries if OURS.fullmatch(entry.name)]
    except OSError:  # whoever may not look here cannot have left anything
        return []


def maker_is_gone(left: Path) -> bool:
    """Whether the process that was making it has ended or has not touched it for a long time. The latter matters because its
    number may have been reused, and numbers from other machines mean nothing here."""
    return is_of_the_dead(left.name) or time.time() - left.stat().st_mtime >= UNFINISHED


def is_of_the_dead(name: str) -> bool:
    """Whether the name belongs to a process of this machine that has ended."""
    named = _MAKER.match(name.removeprefix(".memorist-"))
    return named is not None and named[1] == _machine() and not _is_alive(int(named[2]))


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":  # checking would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's process
        pass
    return True


def _machine() -> str:
    """A digest of the machine's name and its process namespace, since two containers may share a name."""
    if hasattr(os, "uname"):
        name = os.uname().nodename
    else:
        import platform  # slower to load

        name = platform.node()
    with suppress(OSError):
        name += f" {Path('/proc/self/ns/pid').stat().st_ino}"
    return hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=4).hexdigest()


# ---------------------------------------------------------------- names


def names_of(path: Path) -> tuple[Path, ...]:
    """The real file, then the links from `path` that lead to it; copies may lie beside each of them."""
    links = [path]
    with suppress(OSError):
        while links[-1].is_symlink() and len(links) <= MOST_LINKS:
            links.append(links[-1].parent / links[-1].readlink())
    return (path,) if len(links) == 1 else (Path(os.path.realpath(path)), *links[-2::-1])


def path_written(path: Path | None) -> str:
    """A path as text that any store can hold, whatever bytes it contains."""
    return quote_from_bytes(os.fsencode(path)) if path else ""


def path_read(written: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(written)))


def refuse_taken(path: Path) -> None:
    """Raises unless the path is free: a backup goes to a new file."""
    if not path.name.strip():
        raise Invalid(f"{str(path)!r} names no file; name a new file for the backup")
    with suppress(OSError):  # what prevents looking will prevent writing too, and is explained there
        if os.path.lexists(path):  # a dangling link is somebody's too
            raise Invalid(f"{path} exists; name a new file for the backup")


def size_of(path: Path) -> int:
    """The file's size in bytes, or 0 if there is none. A single call, since others may remove the file between two."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def permissions(paths: Iterable[Path]) -> Diagnosis:
    """Checks that the store and the files beside it are accessible to the user only."""
    exposed = [path.name for path in paths if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    if exposed and hasattr(stat, "S_IRWXG"):
        return Diagnosis(
            False, "permissions", f"others can open {', '.join(exposed)}", f"chmod 600 {' '.join(exposed)}"
        )
    return Diagnosis(True, "permissions", "the files are private")


def pause(until: float) -> bool:
    """Waits a moment for what others hold; False once `until` has passed. Random pauses keep any of many writers from
    starving."""
    if time.monotonic() >= until:
        return False
    time.sleep(random.uniform(0.0002, 0.004))
    return True


def _create_folders(folder: Path) -> None:
    """Creates the folder and its parents with mode 0700; `mkdir(parents=True)` would apply the mode to the last one only."""
    missing = []
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
