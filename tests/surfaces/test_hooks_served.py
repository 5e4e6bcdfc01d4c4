"""Hooks that the process beside a server answers: the same as without it, and without it where it does not answer."""

import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memorist import __version__
from memorist.surfaces.agents import served
from memorist.surfaces.cli import hook
from surfaces.conftest import PROGRAM
from surfaces.hooked import answered, say

pytestmark = pytest.mark.skipif(not served.UNIX, reason="no such sockets here")
ASKED = json.dumps({"session_id": "s1", "prompt": "which database does staging run?"}).encode()
LONG = 60.0  # seconds after which something hangs


@pytest.fixture
def work(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a folder for settings whose path is short enough."""
    (work.parent / "c").mkdir()
    monkeypatch.setenv("MEMORIST_CONFIG", str(work.parent / "c" / "config.toml"))
    say("Staging runs Postgres 16")
    return work


@contextmanager
def running() -> Iterator[Path]:
    with served.process():
        yield answering()


def answering() -> Path:
    """Where the process answers, as soon as it does."""
    at, until = served.place(), time.monotonic() + LONG
    assert at is not None
    while not _is_answered(at):
        assert time.monotonic() < until
        time.sleep(0.05)
    return at


def _is_answered(at: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as talk:
        return talk.connect_ex(str(at)) == 0


def ask(words: tuple[str, ...] = ("claude-code", "UserPromptSubmit"), raw: bytes = ASKED) -> str | None:
    """As a hook does, which may have to wait on a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(served, "ANSWERING", LONG)
        return served.asked(words, raw)


def test_it_says_what_the_hook_would_say_itself(work: Path) -> None:
    with running() as at:
        assert not stat.S_IMODE(at.lstat().st_mode) & 0o077
        told = ask()
        assert told is not None and "Postgres 16" in json.loads(told)["hookSpecificOutput"]["additionalContext"]
        assert answered("claude-code", "UserPromptSubmit", ASKED) == [], "both know what the session was shown"
        assert ask() == "" == ask(raw=b"{") == ask(("nobody", "Nothing")), "nothing to say is an answer"
        other = work.parent / "other"
        other.mkdir()
        assert ask(raw=json.dumps({**json.loads(ASKED), "session_id": "s2", "cwd": str(other)}).encode()) == ""
    assert not at.exists() and ask() is None


def test_it_sees_the_hooks_own_settings_and_keeps_none_of_them(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEMORIST_OFF", "1")
            assert ask() == ""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEMORIST_DB", str(work.parent / "another.db"))
            assert ask() == ""
        assert "Postgres 16" in str(ask())


def test_a_compaction_is_left_to_the_hook(work: Path) -> None:
    with running():
        assert ask(("claude-code", "PreCompact")) is None and ask(("gemini", "PreCompress")) is None


def test_a_process_that_hangs_or_is_another_version_is_not_waited_for(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = served.place()
    assert at is not None
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(at))
        silent.listen()
        monkeypatch.setattr(served, "ANSWERING", 0.1)
        assert served.asked(("claude-code", "UserPromptSubmit"), ASKED) is None
    assert served.asked(("claude-code", "UserPromptSubmit"), ASKED) is None, "nobody listens at what it left"
    with running():
        monkeypatch.setattr(served, "__version__", "0.0.0")
        assert ask() is None


def test_what_is_no_socket_of_mine_is_not_asked(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = served.place()
    assert at is not None
    at.write_text("a file")
    assert ask() is None
    at.unlink()
    with running():
        monkeypatch.setattr(os, "getuid", lambda: -1)
        assert ask() is None


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\n",
        b"{}\n",
        b"[]\n",
        b'{"version": 1}\n',
        b"\xff" * 100,
        b'{"version": "x", "size": "y", "words": 3}\n',
        b"[" * 200_000,
        f'{{"version": "{__version__}", "size": 0, "words": [1]}}\n'.encode(),
    ],
)
def test_what_is_no_hook_does_not_end_it(sent: bytes, work: Path) -> None:
    with running() as at:
        with socket.socket(socket.AF_UNIX) as talk:
            talk.connect(str(at))
            talk.sendall(sent)
        assert "Postgres 16" in str(ask())


def test_a_lock_that_can_never_be_had_is_no_reason_to_wait(work: Path) -> None:
    lock = Path(str(served.place())).with_name(served.LOCK_NAME)
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.symlink_to("elsewhere")
    ended = subprocess.run(served._words(), stdin=subprocess.PIPE, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and ended.stderr.startswith("memorist: hooks answer by themselves"), ended.stderr


def test_of_several_servers_one_answers_as_long_as_one_runs(work: Path) -> None:
    """Whichever of them was first, and ends first: the others were started at the same time, and while it ran."""
    with ExitStack() as last:
        with ExitStack() as later, ExitStack() as first:
            first.enter_context(served.process())
            later.enter_context(served.process())
            answering()
            last.enter_context(served.process())
            first.close()
            assert "Postgres 16" in str(in_time())
            later.close()
        assert in_time() == ""
    assert ask() is None


def in_time() -> str | None:
    until = time.monotonic() + LONG
    while (told := ask()) is None:
        assert time.monotonic() < until, "nobody took it over"
        time.sleep(0.05)
    return told


def test_what_was_noted_and_not_heard_is_told_by_the_hook_itself(work: Path) -> None:
    """Of a process that ended between the two, or took so long that the hook gave up."""
    at = served.place()
    assert at is not None

    def end_too_soon(listening: socket.socket) -> None:
        talk, _ = listening.accept()
        with talk:
            served._all(talk, LONG, 1 << 20)
            assert "Postgres 16" in answered("claude-code", "UserPromptSubmit", ASKED)[0]

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(at))
        listening.listen()
        thread = threading.Thread(target=end_too_soon, args=(listening,))
        thread.start()
        done = subprocess.run([*PROGRAM, "hook", "claude-code", "UserPromptSubmit"], input=ASKED, capture_output=True)
        thread.join()
    assert b"Postgres 16" in done.stdout


def test_the_program_loads_nothing_when_it_is_answered(work: Path) -> None:
    """With an answer of another process, which says what it was asked."""
    at = served.place()
    assert at is not None
    heard: list[dict[str, Any]] = []

    def answer(listening: socket.socket) -> None:
        talk, _ = listening.accept()
        with talk:
            heard.append(json.loads(served._all(talk, LONG, 1 << 20).partition(b"\n")[0]))
            talk.sendall(b'{"told": 1}\n')

    code = (
        "import sys, os; os._exit = lambda code: None; sys.argv = ['memorist', 'hook', 'codex', 'Stop']; "
        "from memorist.__main__ import _hooked; _hooked(sys.argv[2:]); "
        "print(sorted({'numpy', 'memorist.memory', 'memorist.surfaces.settings', 'memorist.errors', 're2'} & set(sys.modules)))"
    )
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(at))
        listening.listen()
        thread = threading.Thread(target=answer, args=(listening,))
        thread.start()
        done = subprocess.run([sys.executable, "-c", code], input=b"{}", capture_output=True)
        thread.join()
    assert done.stdout.decode() == '{"told": 1}\n[]\n', done.stderr
    assert heard[0]["words"] == ["codex", "Stop"] and heard[0]["size"] == 2


def test_a_server_keeps_one_and_ends_it(work: Path) -> None:
    words = [*PROGRAM, "serve", "--port", "0", "--workers", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None and server.stdout.readline()
            at = answering()
            assert "Postgres 16" in str(ask())
        finally:
            server.terminate()
            server.wait(LONG)
    assert not at.exists()


def test_a_hook_that_went_away_while_it_sent_keeps_nobody_waiting() -> None:
    """Nothing comes any more, which is not the same as nothing yet."""
    here, there = socket.socketpair()
    head = {"version": served.__version__, "words": ["codex", "Stop"], "size": 10}
    with here, there, pytest.MonkeyPatch.context() as patch:
        patch.setattr(served, "SENDING", LONG)
        there.sendall(json.dumps(head).encode() + b"\n{")
        there.close()
        begun = time.monotonic()
        served._attend(here, lambda words, raw, say: pytest.fail("half an event was answered"))
    assert time.monotonic() - begun < LONG / 2


def test_an_event_that_takes_too_long_does_not_hold_up_the_others(work: Path) -> None:
    code = (
        "import time; from memorist.surfaces.agents import served; from memorist.surfaces.cli import hook; "
        "served.LONGEST_EVENT = 0.2; hook.answered = lambda *given: time.sleep(999); served.main()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            at = answering()
            assert ask() is None, "it was given up"
            assert "Postgres 16" in str(in_time()) and process.poll() is None
            process.stdin.close()
            assert process.wait(LONG) == 0 and not at.exists(), "it ends with its server, as before"
        finally:
            process.kill()


def test_what_opencode_hands_over_at_once_is_left_to_the_hook(work: Path) -> None:
    with running():
        assert ask(("opencode", "session.idle"), b'{"session_id": "s1", "messages": []}') is None


def test_the_time_of_a_hook_begins_before_anything_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent may never close what it writes to."""
    happened: list[str] = []

    class Pipe:
        def read(self, most: int) -> bytes:
            happened.append("read")
            return b"{}"

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Pipe()))
    monkeypatch.setattr(served, "asked", lambda words, raw: "")
    hook.run(("codex", "Stop"), lambda: happened.append("begun"))
    assert happened == ["begun", "read"]
