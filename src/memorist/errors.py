"""Every error memorist raises, by what the caller can do about it.

    MemoristError
    ├── Invalid            an argument cannot be accepted: change it        (also a ValueError)
    ├── NotFound           no such memory is readable here                  (also a LookupError)
    │   └── Ambiguous      the reference fits several memories: use a longer one
    ├── OutOfScope         this access may not read or write there          (also a PermissionError)
    ├── Refused            the engine will not do this, by policy
    ├── Conflict           another writer got there first
    ├── StoreUnavailable   locked, closed, full or unreachable: later may work
    ├── StoreDamaged       the file is not what it should be: nothing was changed
    ├── StoreTooNew        written by a newer memorist: nothing was changed
    └── ModelUnavailable   a model cannot be used: what is done with words goes on

The docstring of a class is its default message. `code` is stable for programs, `exit_code` is what the command
line returns, and `retry_safe` says whether sending the same call again can do harm: it never can when an
idempotency key was given.
"""

import errno
from collections.abc import Iterable
from typing import ClassVar

FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


class MemoristError(Exception):
    """memorist could not do that."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    retry_safe: ClassVar[bool] = False

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


class Invalid(MemoristError, ValueError):
    """An argument cannot be accepted."""

    code = "invalid"
    exit_code = 2


class NotFound(MemoristError, LookupError):
    """No such memory is readable here. `memorist list` shows what is."""

    code = "not_found"
    exit_code = 3


class Ambiguous(NotFound):
    """The reference fits several memories. Use more characters of the id, or the short number."""

    code = "ambiguous"


class OutOfScope(MemoristError, PermissionError):
    """This access may not read or write there."""

    code = "out_of_scope"
    exit_code = 4


class Refused(MemoristError):
    """The engine will not do this."""

    code = "refused"
    exit_code = 5


class Conflict(MemoristError):
    """The memory changed in between, or the idempotency key was used for something else."""

    code = "conflict"
    exit_code = 6


class StoreUnavailable(MemoristError):
    """The store cannot be used right now. Nothing acknowledged was lost; try again."""

    code = "store_unavailable"
    exit_code = 7
    retry_safe = True


class StoreDamaged(MemoristError):
    """The store's file is damaged. It was left as it is; restore a backup with `memorist backup --restore FILE`."""

    code = "store_damaged"
    exit_code = 8


class StoreTooNew(MemoristError):
    """The store was written by a newer memorist. It was left untouched; upgrade memorist to open it."""

    code = "store_too_new"
    exit_code = 9


class ModelUnavailable(MemoristError):
    """A model cannot be used. What is done with words goes on; try again, or name another with `embed`."""

    code = "model_unavailable"
    exit_code = 10
    retry_safe = True


def unavailable(problem: OSError, what: str = "the store") -> StoreUnavailable:
    """What the system refused, in our words: the fact, and the next step."""
    if problem.errno in FULL:
        return StoreUnavailable("the disk is full: nothing was written and nothing was lost; free space and try again")
    if problem.errno in (errno.EMFILE, errno.ENFILE):
        return StoreUnavailable("too many files are open: close some, or raise the limit (`ulimit -n`), then try again")
    if problem.errno == errno.ENAMETOOLONG:
        return StoreUnavailable(f"{what[:60]} has too long a name for this disk; choose a shorter one")
    said = problem.strerror or str(problem)
    if problem.errno == errno.EIO:
        return StoreUnavailable(f"the disk failed while {what} was used ({said}); look after the disk, then try again")
    return StoreUnavailable(f"{what} cannot be used ({said}); check the disk and the permissions, then try again")


def meant(word: object, known: Iterable[str]) -> str:
    """What was probably meant, as a part of a message; nothing where none of the known words is much like it.

    >>> meant("descision", ["decision", "fact"])
    "; did you mean 'decision'?"
    """
    from difflib import get_close_matches  # imported late: only a mistake needs it

    alike = get_close_matches(str(word)[:60].lower(), list(known), 1, 0.75)
    return f"; did you mean {alike[0]!r}?" if alike else ""
