"""The real program, run as users run it: in a process of its own, in a folder of its own, with a home of its own."""

import io
import json
import os
import re
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import warm
from memorist.errors import Invalid
from memorist.surfaces import settings
from memorist.surfaces.cli.app import run

PROGRAM = warm.PROGRAM


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def all_hold(directory: Path | None = None) -> settings.Settings:
    """The settings there, or all that is wrong with them."""
    found = settings.load(directory)
    if found.problems:
        raise Invalid("; ".join(found.problems.values()))
    return found


def on_screen(drawn: str) -> str:
    """What a person sees in the end: a line that was drawn over is gone."""
    return re.sub(r"[^\n]*\r", "", drawn)


@dataclass(frozen=True)
class Cli:
    """`cli("remember", "text")` runs `memorist remember text` in `folder`."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str | bytes, stdin: str | bytes = b"", **environment: str | None) -> Ended:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        done = warm.run(arguments, cwd=self.folder, env=self.env(environment), input=raw)
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def by_hand(self, *arguments: str, typed: str = "y\n") -> Ended:
        """As `inside`, by a person at the keyboard, who agrees to what they are asked."""
        return self.inside(*arguments, stdin=typed, person=True)

    def inside(self, *arguments: str, stdin: str = "", person: bool = False) -> Ended:
        """The same in this process, where many runs would cost too much: no terminal, no signals, no exit."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.folder)
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            patch.setattr("memorist.surfaces.cli.arguments.at_terminal", lambda: person)
            for name, value in self.environment.items():
                patch.setenv(name, value)
            code = run(arguments)
        return Ended(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]

    def env(self, more: dict[str, str | None]) -> dict[str, str]:
        mixed = {**os.environ, "TERM": "xterm", **self.environment, **more}
        return {name: value for name, value in mixed.items() if value is not None}

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
        """The program, running; whoever starts it ends it."""
        environment = self.env(more.pop("environment", {}))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([*PROGRAM, *arguments], cwd=self.folder, env=environment, **{**pipes, **more})

    def at_terminal(self, *arguments: str, typed: str = "", **environment: str | None) -> Ended:
        """The program at a terminal; what it writes to either stream comes back as `out`, and as `err` with all that was
        drawn over meanwhile: on a slow machine, whatever takes a second shows that it is at work."""
        import pty

        ours, theirs = pty.openpty()
        plain = {"COLUMNS": "120", "NO_COLOR": None, **environment}
        child: warm.Forked | subprocess.Popen[bytes]
        if warm.forks(self.env(plain)):
            child = warm.Forked(arguments, self.folder, self.env(plain), (theirs,) * 3)
        else:
            child = self.start(*arguments, environment=plain, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        if typed:
            os.write(ours, typed.encode())
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # how Linux says that the other side is closed
            pass
        os.close(ours)
        drawn = shown.decode().replace("\r\n", "\n")
        return Ended(child.wait(60), on_screen(drawn), drawn)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    (tmp_path / "work").mkdir()
    return Cli(tmp_path / "work", {"MEMORIST_DB": str(tmp_path / "memory.db"), "MEMORIST_PROJECT": "atlas"})


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project of its own, in which this process is, with a store of its own."""
    folder = tmp_path / "atlas"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "m.db"))
    return folder
