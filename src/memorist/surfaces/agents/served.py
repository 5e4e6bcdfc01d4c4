"""Hooks answered by a running process: `memorist serve` keeps one beside it, so that a hook need not load anything.

They talk over a socket in the folder of the user's settings, which only that user can open: no web page reaches it, and
it needs no key, because whoever can connect can run `memorist hook` as well. A hook hands over its arguments, its
folder, its environment and what the agent said. One hook after the other, the process does what the hook would have
done by itself: on the same store, under the same settings, with the same rights. A hook that gets no answer in time, or
meets another version, does the work itself (docs/why/0066-a-hook-in-little-time.md). A compaction, and what OpenCode
hands over at once, is not answered here, because others would wait for it. If any other event still takes too long, the
whole process gives it up and restarts.

Each side sends everything at once and then closes its direction. Of several servers the one that holds the lock has the
socket; the processes of the others wait for it, and load nothing until they get it.
"""

import json
import os
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from memorist import __version__
from memorist.surfaces import places

FILE_NAME = "hooks.sock"
LOCK_NAME = "hooks.lock"
LARGEST_EVENT = 20_000_000  # bytes read of what an agent hands over
LARGEST_HEAD = 4_000_000  # bytes: an environment
LONGEST_PLACE = 100  # bytes of a path that every system accepts for a socket
CONNECTING = 0.2  # seconds
ANSWERING = 1.5  # seconds after which a hook does the work itself
SENDING = 0.3  # seconds for a hook to hand over everything
LONGEST_EVENT = 8.0  # seconds after which an event is given up and the process restarts
GOING = 5.0  # seconds
TAKING_OVER = 1.0  # seconds between two attempts of a waiting process to get the socket
UNIX = hasattr(socket, "AF_UNIX")
PROGRAM = "import sys; sys.path[:] = {!r}; from memorist.surfaces.agents.served import main; main()"
Answer = Callable[[Sequence[str], bytes, Callable[[str], None]], None]


def place() -> Path | None:
    """The path of the socket, if there can be one."""
    given = os.environ.get("MEMORIST_CONFIG")
    try:
        folder = Path(given).expanduser().absolute().parent if given else Path(places.folder(config=True))
    except (RuntimeError, OSError):
        return None
    found = folder / FILE_NAME
    return found if UNIX and folder.is_absolute() and len(os.fsencode(found)) <= LONGEST_PLACE else None


# ---------------------------------------------------------------- in the hook


def asked(words: Sequence[str], raw: bytes) -> str | None:
    """What the agent is told, perhaps nothing; None if nobody answered."""
    at = place()
    try:
        if at is None or not _is_mine(at) or len(raw) > LARGEST_EVENT:
            return None
        with socket.socket(socket.AF_UNIX) as talk:
            talk.settimeout(CONNECTING)
            talk.connect(str(at))
            head = {
                "version": __version__,
                "words": [*words],
                "folder": str(Path.cwd()),
                "environment": dict(os.environ),
            }
            talk.sendall(json.dumps({**head, "size": len(raw)}).encode() + b"\n" + raw)
            talk.shutdown(socket.SHUT_WR)
            told = _all(talk, ANSWERING, LARGEST_EVENT).decode()
            return told[:-1] if told.endswith("\n") else None  # else it ended before it had answered
    except (OSError, ValueError):
        return None


def _is_mine(at: Path) -> bool:
    found = at.lstat()
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid()


def _all(talk: socket.socket, seconds: float, most: int) -> bytes:
    """Reads until the other side closes; ValueError if that is too much, or does not end in time."""
    until, found = time.monotonic() + seconds, bytearray()
    while (left := until - time.monotonic()) > 0 and len(found) <= most:
        talk.settimeout(left)
        some = talk.recv(1 << 20)
        if not some:
            return bytes(found)
        found += some
    raise ValueError("too much, or too late")


# ---------------------------------------------------------------- in the process that answers


@contextmanager
def process() -> Iterator[None]:
    """Keeps a process that answers hooks, as soon as no other server does; none if the system has no such sockets."""
    import subprocess

    if place() is None or os.name != "posix":
        yield
        return
    started = subprocess.Popen(_words(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        with suppress(subprocess.TimeoutExpired):
            started.communicate(timeout=GOING)  # closes its standard input, and so ends it
        started.kill()
        started.wait()


def _words() -> list[str]:
    return [sys.executable, "-c", PROGRAM.format(sys.path)]


def main() -> None:
    """Answers until its standard input ends, however the server ended. The terminal's signals are for the server."""
    import select
    import signal

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    at = place()
    if at is None:
        return
    os.umask(0o077)
    at.parent.mkdir(parents=True, exist_ok=True)
    waited = False
    with ExitStack() as stack:
        while not _holds(stack, at.with_name(LOCK_NAME)):
            waited = True
            if select.select([0], [], [], TAKING_OVER)[0] and not os.read(0, 1):
                return
        if waited:  # perhaps for days: the installed program may have changed
            stack.close()
            os.execve(sys.executable, _words(), dict(os.environ))
        _listen(at)


def _holds(stack: ExitStack, lock: Path) -> bool:
    """Whether this process has the lock now. If it can never get it, the process exits with the reason."""
    from memorist.errors import StoreUnavailable
    from memorist.store.lock import Busy, locked

    try:
        stack.enter_context(locked(lock, wait=0))
    except Busy:
        return False
    except StoreUnavailable as problem:
        sys.exit(f"memorist: hooks answer by themselves, without this server: {problem}")
    return True


def _listen(at: Path) -> None:
    from memorist.surfaces.agents import capture, moments  # noqa: F401  # so that no hook waits for them
    from memorist.surfaces.cli.hook import answered

    with socket.socket(socket.AF_UNIX) as listening:
        at.unlink(missing_ok=True)  # left by a killed process: whoever holds the lock owns the socket
        listening.bind(str(at))
        try:
            listening.listen(16)
            _serve(listening, answered)
        finally:
            at.unlink(missing_ok=True)


def _serve(listening: socket.socket, answered: Answer) -> None:
    import select

    while True:
        ready, _, _ = select.select([listening.fileno(), 0], [], [])
        if 0 in ready and not os.read(0, 1):
            return
        if listening.fileno() in ready:
            talk, _ = listening.accept()
            with talk, suppress(Exception):  # the client may be gone, or no hook of ours, whatever it sends
                _attend(talk, answered)


def _attend(talk: socket.socket, answered: Answer) -> None:
    first, _, raw = _all(talk, SENDING, LARGEST_HEAD + LARGEST_EVENT).partition(b"\n")
    head = json.loads(first)
    if head["version"] != __version__ or head["size"] != len(raw) or _is_long(head["words"]):
        return
    talk.settimeout(SENDING)
    said: list[str] = []

    def say(document: str) -> None:
        said.append(document)
        talk.sendall(document.encode() + b"\n")
        talk.shutdown(socket.SHUT_WR)  # the hook ends here; what is done after this keeps nobody waiting

    with _in_time(), _as_there(head["folder"], head["environment"]):
        answered(head["words"], raw, say)
    if not said:
        talk.sendall(b"\n")


def _is_long(words: Sequence[str]) -> bool:
    return any(part in word.lower() for word in words for part in ("compac", "compress", "session.idle"))


@contextmanager
def _in_time() -> Iterator[None]:
    """Restarts this process in place, with its standard input, if the work takes too long: one stuck event would block
    all others. Interrupted work is whole or undone, as after a power cut."""
    import threading

    here, mine = Path.cwd(), dict(os.environ)

    def begin_anew() -> None:
        os.chdir(here)
        os.execve(sys.executable, _words(), mine)

    late = threading.Timer(LONGEST_EVENT, begin_anew)
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


@contextmanager
def _as_there(folder: str, environment: Mapping[str, Any]) -> Iterator[None]:
    """Runs in the folder and the environment of the hook, then restores both."""
    here, mine = Path.cwd(), dict(os.environ)
    try:
        os.chdir(folder)
        _be(environment)
        yield
    finally:
        _be(mine)
        os.chdir(here)


def _be(environment: Mapping[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(environment)
