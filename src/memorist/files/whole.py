"""Files that people edit while programs write them: read with care, replaced whole, and never over an edit that nobody
has read.

A reader sees the old file or the new one. Mode and links stay: a link is followed to the file behind it, if that lies
in the link's folder or in the project. Where the system can swap two names in one step (Linux, macOS), the replaced
file is checked after the swap, so that not even an edit of the last microsecond is lost; elsewhere it is checked just
before.
"""

import ctypes
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

from memorist.errors import Invalid, Refused, unavailable
from memorist.store.files import create_private, sync_folder, unfinished
from memorist.text.visible import decoded

LARGEST_FILE = 5_000_000  # bytes: a page for people is a hundredth of that
SWAPS = 20  # tries before giving up against another writer
_HERE, _SWAP = -100, 2  # AT_FDCWD; RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS


def real_file(path: Path, root: Path | None) -> Path:
    """The file behind the name. A link that leads out of its folder and of the project is not followed: a cloned
    project must not decide which of the user's files is read and written."""
    file = Path(os.path.realpath(path))
    inside = [Path(os.path.realpath(folder)) for folder in (path.absolute().parent, root) if folder is not None]
    if path.is_symlink() and not any(file.is_relative_to(folder) for folder in inside):
        raise Refused(f"{path} leads to {file}, outside of its folder and its project; name that file itself")
    return file


def read(file: Path, largest: int = LARGEST_FILE) -> bytes | None:
    """Its content, None if there is no such file. Only a plain file of no more than so many bytes is opened."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise unavailable(problem, str(file)) from problem
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise Invalid(f"{file} is no plain file; move it away, or name another")
        if about.st_size > largest:
            raise Invalid(f"{file} has {about.st_size:,} bytes; at most {largest:,} are read, so make it smaller")
        with os.fdopen(handle, "rb", closefd=False) as opened:
            return opened.read()
    except OSError as problem:
        raise unavailable(problem, str(file)) from problem
    finally:
        os.close(handle)


def text_of(raw: bytes, file: Path) -> str:
    """Its text in UTF-8, because it is written back as that."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        decoded(raw, str(file))  # this says what is wrong, unless it is a mark of another encoding
        raise Invalid(f"{file} is not in UTF-8; save it in that encoding") from None


def put(file: Path, content: bytes, known: bytes | None, largest: int = LARGEST_FILE) -> bool:
    """Replaces the content that is `known` to be there. If the file has other content by now, it stays, and the answer
    is False: then it has to be read first."""
    try:
        with unfinished(file) as partial:
            _write(partial, content, file)
            if known is None or not _swapped(partial, file):
                done = _put_if(partial, file, known, largest)
            else:
                done = read(partial, largest) == known
                if not done:
                    _give_back(partial, file, content, largest)
            with suppress(OSError):
                sync_folder(file.parent)  # else a power cut may bring the old file back
            return done
    except OSError as problem:
        raise unavailable(problem, str(file)) from problem


def _write(partial: Path, content: bytes, like: Path) -> None:
    create_private(partial)
    with partial.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    with suppress(FileNotFoundError):
        partial.chmod(stat.S_IMODE(like.stat().st_mode))


def _put_if(partial: Path, file: Path, known: bytes | None, largest: int) -> bool:
    if read(file, largest) != known:
        return False
    try:
        if known is None:
            os.link(partial, file)  # unlike a replacement, it fails if the file exists by now
        else:
            partial.replace(file)
    except FileExistsError:
        return False
    except OSError:
        if known is not None or file.exists():
            raise
        partial.replace(file)  # a disk without hard links
    return True


def _give_back(partial: Path, file: Path, ours: bytes, largest: int) -> None:
    """Swaps until the file taken out is ours: what a person saved meanwhile must end up in place."""
    for _ in range(SWAPS):
        if not _swapped(partial, file) or read(partial, largest) == ours:
            return


def _swapped(one: Path, other: Path) -> bool:
    """Whether the system swapped the two names in one step."""
    a, b = os.fsencode(one), os.fsencode(other)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return bool(libc.renamex_np(a, b, _SWAP) == 0)
        return bool(sys.platform == "linux" and libc.renameat2(_HERE, a, _HERE, b, _SWAP) == 0)
    except (OSError, AttributeError, TypeError):  # a system without it
        return False
