"""The program in a process of its own, without the time it takes to start: one process has loaded it and forks for each command.

The tests run `memorist` some hundred times, and most of that time was the interpreter's start and the imports. A forked copy
has what a fresh process has: arguments, environment, folder and standard streams of its own, and an end with an exit code. What
holds from the start on (variables of the interpreter, language, time zone) makes it start afresh, and so does a system that
does not fork. That the program also starts by itself is shown by the tests that start it so: servers, signals, kills, wheels.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

PROGRAM = [sys.executable, "-m", "memorist"]
FORKS = hasattr(os, "pidfd_open")
if FORKS:
    import forked  # sockets that hand on open files
OF_THE_START = ("PYTHON", "LC_", "LANG", "TZ", "OMP_", "OPENBLAS_", "LD_")


def of_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(OF_THE_START)}


class Warm:
    """The process that forks; it ends with this one. It has loaded what the command line needs, or the server of an agent."""

    def __init__(self, what: str) -> None:
        self.environment, folder = of_the_start(os.environ), tempfile.mkdtemp(prefix="memorist-warm-")
        self.place = f"{folder}/socket"
        words = [sys.executable, str(Path(forked.__file__).with_name("forking.py")), self.place, what]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None and self._process.stdout.readline() == b"ready\n"
        atexit.register(self._end, folder, os.getpid())

    def _end(self, folder: str, owner: int) -> None:
        if os.getpid() != owner:  # a child that a test forked
            return
        self._process.kill()
        self._process.communicate()
        shutil.rmtree(folder)


_started: dict[str, Warm] = {}
_lock = threading.Lock()


def warm(what: str = "cli") -> Warm:
    with _lock:
        if what not in _started:
            _started[what] = Warm(what)
        return _started[what]


def forks(environment: Mapping[str, str], what: str = "cli") -> bool:
    return FORKS and of_the_start(environment) == warm(what).environment


class Forked:
    """A command that was begun, with these standard streams."""

    def __init__(
        self, words: Sequence[str | bytes], folder: Path, environment: Mapping[str, str], streams: Sequence[int]
    ) -> None:
        here = os.open(folder, os.O_RDONLY)
        said = [os.fsdecode(word) for word in words]
        self._talk = forked.asked(warm().place, said, dict(environment), (*streams, here))
        os.close(here)

    def wait(self, seconds: float) -> int:
        with self._talk:  # whoever gives up closes it, and the command is killed
            self._talk.settimeout(seconds)
            return int(self._talk.recv(16))


def run(
    words: Sequence[str | bytes],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] = os.environ,
    input: bytes = b"",
    timeout: float = 60,
) -> "subprocess.CompletedProcess[bytes]":
    """As `subprocess.run` of the program with these arguments, its output captured."""
    command = [*PROGRAM, *words]
    if not forks(env):
        return subprocess.run(command, cwd=cwd, env=env, input=input, capture_output=True, timeout=timeout)
    theirs, ours = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        running = Forked(words, cwd or Path(), env, (theirs, out.fileno(), err.fileno()))
        os.close(theirs)
        typing = threading.Thread(target=_type, args=(ours, input))
        typing.start()
        code = running.wait(timeout)
        typing.join()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, code, out.read(), err.read())


def run_in_text(
    words: Sequence[str], *, cwd: Path | None = None, input: str = ""
) -> "subprocess.CompletedProcess[str]":
    done = run(words, cwd=cwd, input=input.encode())
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _type(to: int, text: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(to, "wb") as pipe:
        pipe.write(text)


def program(what: str = "cli") -> list[str]:
    """The words with which another process starts the program, which is forked. A signal ends only the one that asked for it."""
    return [sys.executable, "-S", "-E", forked.__file__, warm(what).place] if forks(os.environ, what) else PROGRAM
