"""Files at the command line: they follow after a command that writes, and a failure costs the command nothing."""

import json
import subprocess
from pathlib import Path

import pytest

import warm

pytestmark = pytest.mark.covers("S2-3", "P18")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("MEMORIST_FILES_MODE", "export")
    return folder


def memorist(work: Path, *words: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    done = warm.run_in_text(words, cwd=work, input=stdin)
    assert done.returncode == 0, done.stderr
    return done


def say(work: Path, text: str) -> "subprocess.CompletedProcess[str]":
    return memorist(
        work, "remember", "--messages", "-", "--session", "s", stdin=json.dumps([{"role": "user", "content": text}])
    )


def said(work: Path) -> list[str]:
    file = work / "memory" / "sessions" / "s.jsonl"
    return [json.loads(line)["content"] for line in file.read_text().splitlines()]


def test_files_follow_after_a_command_that_writes_and_only_then(work: Path) -> None:
    say(work, "one")
    assert said(work) == ["one"]
    (work / "memory" / "sessions" / "s.jsonl").unlink()
    memorist(work, "recall", "one", "--search", "sessions")
    assert not (work / "memory" / "sessions" / "s.jsonl").exists(), "a question writes no files"
    say(work, "two")
    assert said(work) == ["one", "two"]
    memorist(work, "erase", "1", "--yes")
    assert said(work) == ["two"]


def test_upkeep_follows_what_others_wrote(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_FILES_MODE", "off")
    say(work, "one")
    assert not (work / "memory").exists()
    monkeypatch.setenv("MEMORIST_FILES_MODE", "export")
    memorist(work, "upkeep")
    assert said(work) == ["one"]


@pytest.mark.covers("P24")
def test_files_that_cannot_be_written_are_told_and_the_memory_is_kept(work: Path) -> None:
    (work / "memory").write_text("in the way")
    done = say(work, "one")
    assert "memory" in done.stderr and "1 added" in done.stdout + done.stderr
    assert "one" in memorist(work, "list", "--kind", "turn").stdout
    (work / "memory").unlink()
    memorist(work, "upkeep")
    assert said(work) == ["one"]


@pytest.mark.covers("Z7")
@pytest.mark.parametrize("session", ["../../up", "/etc/passwd", "C:\\x", "CON", "a.", "%2e%2e%2fup", "..%252f", "~/x"])
def test_no_session_leads_out_of_the_folder(work: Path, session: str) -> None:
    memorist(work, "remember", "--messages", "-", "--session", session, stdin='[{"role": "user", "content": "one"}]')
    made = [path for path in work.parent.rglob("*.jsonl")]
    assert len(made) == 1 and made[0].parent == work / "memory" / "sessions"
    assert json.loads((work / "memory" / "sessions.json").read_text())["sessions"][0]["id"] == session
    assert not any(path.name.lower().startswith("con.") for path in made)
