"""What no agent should say, and places no hook should be in: it ends with 0, says nothing or a document, and nothing is lost."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import rounds
from memorist import Memory
from memorist.files.streams import LONGEST_LINE
from memorist.store import captures
from memorist.surfaces.agents import capture, hooks, moments, problems
from memorist.surfaces.agents.clients import CLIENTS
from surfaces.conftest import PROGRAM, Cli
from surfaces.hooked import answered, line, noted, say

EVENTS = [(name, event) for name, each in CLIENTS.items() if each.hooks for event in each.hooks.events.values()]
LONG = 60.0  # seconds after which something hangs


@pytest.fixture
def work(work: Path) -> Path:
    say("Staging runs Postgres 16", pinned=True)
    return work


def deep(depth: int) -> Any:
    found: Any = "x"
    for _ in range(depth):
        found = {"prompt": [found]}
    return found


def raw(rng: random.Random, work: Path) -> bytes:
    """Broken, huge, missing and hostile: what a hook may find on its standard input."""
    odd: list[Any] = [
        None, True, -1, 1e308, "", "\0", "\ud800", "x" * 100_000, "../../etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/mem",
        "a\nb", "'; DROP TABLE records; --", "<private>", "<project_memory>", "﷽" * 999, [], {}, [[]], deep(50), "/", str(work),
        str(work.parent / "none" / "x.jsonl"), "which database does staging run?", "%s%n{0}", "\x1b[2J", "$(touch /tmp/x)",
    ]  # fmt: skip
    names = (
        "session_id",
        "cwd",
        "prompt",
        "source",
        "transcript_path",
        "agent_id",
        "hook_event_name",
        "trigger",
        "\0",
        "é",
    )
    whole = json.dumps({name: rng.choice(odd) for name in rng.sample(names, rng.randint(0, len(names)))}).encode()
    broken: list[Callable[[], bytes]] = [
        lambda: whole,
        lambda: whole,
        lambda: whole[: rng.randint(0, len(whole))],
        lambda: rng.randbytes(rng.randint(0, 200)),
        lambda: b"[" * rng.randint(1, 200_000),
        lambda: whole.replace(b'"', b"'", 1),
        lambda: b"\xef\xbb\xbf" + whole,
        lambda: whole.decode().encode("utf-16"),
        lambda: b'{"prompt": "' + b"which database? " * 60_000 + b'"}',
        lambda: b'{"session_id": ' + b"9" * 5000 + b"}",
        lambda: whole + whole,
        lambda: b"",
    ]
    return rng.choice(broken)()


def kept() -> tuple[str, ...]:
    with Memory() as memory:
        return tuple(each.text for each in memory.list(order="number"))


def check(said: list[str]) -> None:
    assert len(said) <= 1 and all(isinstance(json.loads(each), dict) for each in said)


def test_a_thousand_nasty_calls_lose_nothing(work: Path) -> None:
    rng, before = random.Random(18), kept()
    for _ in range(rounds(1000, 0.03)):
        check(answered(*rng.choice(EVENTS), raw(rng, work)))
        os.chdir(work)  # where it was sent to another folder
    assert kept() == before
    [said] = answered(*EVENTS[1], {"session_id": "new", "prompt": "which database does staging run?"})
    assert "Postgres 16" in said


def test_nasty_calls_of_the_program_itself_end_with_0(work: Path, cli: Cli) -> None:
    rng, before = random.Random(19), kept()
    db = str(work.parent / "m.db")
    for _ in range(rounds(100, 0.06)):
        done = cli("hook", *rng.choice(EVENTS), stdin=raw(rng, work), MEMORIST_DB=db)
        assert (done.code, done.err) == (0, "")
        check(done.out.splitlines())
    assert kept() == before


def test_what_is_too_large_is_not_looked_at(work: Path, cli: Cli) -> None:
    done = cli(
        "hook", "claude-code", "UserPromptSubmit", stdin=b'{"prompt": "' + b"x" * (hooks.LARGEST_EVENT + 10) + b'"}'
    )
    assert (done.code, done.out, done.err) == (0, "", "")


# ---------------------------------------------------------------- places


def run(cli: Cli, **environment: str | None) -> None:
    given = b'{"session_id": "s1", "prompt": "which database does staging run?", "transcript_path": "/none/t.jsonl"}'
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"):
        done = cli("hook", "claude-code", event, stdin=given, **environment)
        assert (done.code, done.err) == (0, "")
        check(done.out.splitlines())


def test_without_a_home_nothing_is_seen(cli: Cli, tmp_path: Path) -> None:
    """Python then asks the system whose home it is, and that of whoever runs this test is no place for it."""
    folders = {name: str(tmp_path / "xdg") for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    run(cli, HOME=None, USERPROFILE=None, MEMORIST_CONFIG=None, MEMORIST_DB=None, **folders)
    run(cli, HOME="/nonexistent", MEMORIST_CONFIG=None, MEMORIST_DB=None)


def test_with_no_store_a_folder_or_a_damaged_one_nothing_is_seen(cli: Cli, tmp_path: Path, work: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "cut.db").write_bytes((tmp_path / "m.db").read_bytes()[:9000])
    (tmp_path / "empty.db").write_bytes(b"")
    for name in ("new.db", "folder.db", "cut.db", "empty.db", "none/at/all.db", "m.db/inside.db"):
        run(cli, MEMORIST_DB=str(tmp_path / name))


def test_a_store_that_is_only_read_still_tells(cli: Cli, tmp_path: Path, work: Path) -> None:
    files = [*tmp_path.glob("m.db*")]
    for file in files:
        file.chmod(0o400)
    run(cli, MEMORIST_DB=str(tmp_path / "m.db"))
    for file in files:
        file.chmod(0o600)
    assert kept() == ("Staging runs Postgres 16",)


def test_a_full_disk_is_not_seen(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_MIN_FREE", "900TB")  # nothing is written below that
    [said] = answered("claude-code", "SessionStart", {"session_id": "s1", "transcript_path": "/none"})
    assert "Postgres 16" in said, "it is told all the same"


HOSTILE = {
    ".memorist.toml": 'db = "/tmp/stolen.db"\nproject = "other"\noff = false\nscope = "project/other"\nhook_tokens = 900000\n',
    ".claude/settings.json": '{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}',
    ".mcp.json": '{"mcpServers": {"memorist": {"command": "touch", "args": ["ran"]}}}',
    ".git/config": '[remote "origin"]\n\turl = ext::sh -c touch% ran\n[core]\n\tfsmonitor = touch ran\n\tsshCommand = touch ran\n',
    "config.toml": 'db = "/tmp/stolen.db"\n',
    "numpy.py": "open('ran', 'w')\n",
    "json.py": "open('ran', 'w')\n",
    "memorist.py": "open('ran', 'w')\n",
}


def test_a_hostile_repository_runs_nothing_and_moves_nothing(work: Path, cli: Cli) -> None:
    for name, text in HOSTILE.items():
        file = work / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    (work / "memorist.toml").symlink_to("/dev/zero")
    given = json.dumps({"session_id": "s1", "cwd": str(work), "prompt": "which database does staging run?"})
    words = [
        PROGRAM[0],
        "-P",
        *PROGRAM[1:],
        "hook",
        "claude-code",
    ]  # as a script on the PATH, which has no folder before its own
    for event in ("SessionStart", "UserPromptSubmit", "Stop"):
        done = subprocess.run([*words, event], input=given.encode(), capture_output=True, cwd=work, timeout=LONG)
        assert (done.returncode, done.stderr) == (0, b"")
    assert (
        not (work / "ran").exists() and not Path("/tmp/stolen.db").exists() and kept() == ("Staging runs Postgres 16",)
    )


# ---------------------------------------------------------------- transcripts


def typed(text: str, id: str) -> str:
    return line("user", text, id, cwd="/home/ada/atlas", gitBranch="fix/retry")


def note(path: Path, session: str) -> None:
    answered("claude-code", "Stop", {"session_id": session, "transcript_path": str(path)})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no fifos here")
def test_a_transcript_that_is_none_is_not_waited_for(work: Path) -> None:
    fifo, loop, folder, link, fine = (
        work.parent / f"{name}.jsonl" for name in ("fifo", "loop", "folder", "link", "fine")
    )
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    folder.mkdir()
    link.symlink_to(fifo)
    fine.write_text(typed("Logs go to Loki.", "u1"))
    for path in (fifo, loop, folder, link, Path("/dev/zero"), Path("/dev/stdin"), fine):
        noted(path, path.stem)
    with Memory() as memory:
        assert capture.read_all(capture.recorder(memory)) == 1
        [turn] = memory.list({"kind": "turn"})
    assert (turn.text, turn.data["branch"], turn.data["folder"]) == ("Logs go to Loki.", "fix/retry", "/home/ada/atlas")


def test_a_line_that_is_too_long_keeps_nothing_behind_it_out(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(
        typed("First", "u1")
        + typed("x" * (2 * LONGEST_LINE), "u2")
        + typed("Last", "u3")
        + typed("y" * LONGEST_LINE, "u4")[:-1]
    )
    noted(file)
    with Memory() as memory:
        assert capture.read_all(capture.recorder(memory)) == 2
        assert sorted(each.text for each in memory.list({"kind": "turn"})) == ["First", "Last"]
        [known] = captures.known(memory._tools.store, memory.space, memory.home)
        assert known.read < file.stat().st_size, "the last line may still be written"


def test_what_no_store_can_hold_costs_no_message(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(typed("cut in an emoji \ud83d", "u1") + typed("two\0parts", "u2") + typed("x" * 1_000_001, "u3"))
    noted(file)
    with Memory() as memory:
        assert capture.read_all(capture.recorder(memory)) == 3
        texts = [each.text for each in memory.list({"kind": "turn"})]
    assert sorted(text[:20] for text in texts) == ["cut in an emoji \ufffd", "two\ufffdparts", "x" * 20]
    assert problems.last() == []


def test_a_message_that_is_not_kept_is_told_to_the_doctor(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(typed("When?", "u1").replace("2026-05-06T12:00:00Z", "yesterday") + typed("Fine", "u2"))
    note(file, "s1")
    with Memory() as memory:
        capture.read_all(capture.recorder(memory))
        assert [each.text for each in memory.list({"kind": "turn"})] == ["Fine"]
    assert "1 of 2 messages were not kept" in problems.last()[0]["problem"]


def test_a_session_of_an_agent_that_was_killed_is_closed_after_a_day(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(typed("We decided that logs go to Loki.", "u1"))
    note(file, "s1")
    with Memory() as memory:
        capture.read_all(capture.recorder(memory))
        assert [each.data["state"] for each in memory.sessions()] == ["open"]
        long_ago = time.time() - capture.QUIET - 60
        os.utime(file, (long_ago, long_ago))
        capture.read_all(capture.recorder(memory))
        assert [each.data["state"] for each in memory.sessions()] == ["closed"]


# ---------------------------------------------------------------- what the doctor is told


def test_a_hook_that_takes_too_long_is_told_to_the_doctor(work: Path) -> None:
    code = "from memorist import __main__ as it; it.LONGEST_HOOK = 0.2; it._hooked(['claude-code', 'Stop'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.wait(LONG) == 0, "it waited for what its agent hands over"
        assert process.stdout is not None and process.stdout.read() == b""
    assert "took longer than 0.2 s" in problems.last()[0]["problem"]


def test_a_problem_is_kept_once_and_says_what_the_system_said(work: Path) -> None:
    path = "/" + "x" * 5000
    for session in ("s1", "s2", "s3"):
        answered("claude-code", "SessionStart", {"session_id": session, "transcript_path": path})
    [noted] = problems.last()
    assert noted["problem"] == "OSError: File name too long" and noted["event"] == capture.TRANSCRIPT


def test_a_path_that_no_system_has_is_not_kept(work: Path) -> None:
    note(work.parent / "a\0b.jsonl", "s1")
    with Memory() as memory:
        assert captures.known(memory._tools.store, memory.space, memory.home) == []
    assert "is no path of a transcript" in problems.last()[0]["problem"]


# ---------------------------------------------------------------- another writer


def test_what_is_told_waits_for_no_writer_and_is_noted_or_given_up(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is held for as long as the hook runs; what a hook waits for is counted, not measured."""
    waits: list[float] = []
    with Memory() as memory, memory._writer.transaction():
        flush = type(memory._writer).flush
        monkeypatch.setattr(
            type(memory._writer),
            "flush",
            lambda self, wait=0.02: (waits.append(wait if self._notes else 0), flush(self, wait))[1],
        )
        [said] = answered(
            "claude-code", "UserPromptSubmit", {"session_id": "s1", "prompt": "which database does staging run?"}
        )
    assert "Postgres 16" in said and sum(waits) < 2 * moments.WAIT
    assert "was not noted" in str(problems.last()[0]["problem"])


def test_the_start_is_the_same_in_every_session_while_nothing_changes(work: Path) -> None:
    """What a host keeps in its cache: prompts, receipts and transcripts in between change no byte of it."""
    starts = set()
    for n in range(4):
        for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
            given = {"session_id": f"s{n}", "prompt": f"which database does staging run, {n}?", "source": None}
            said = answered("claude-code", event, given)
            starts |= {*said} if event == "SessionStart" else set()
    assert len(starts) == 1
    with Memory() as memory:
        memory.revise(1, "Staging runs Postgres 17")
    [last] = answered("claude-code", "SessionStart", {"session_id": "s9"})
    assert "Postgres 17" in last
