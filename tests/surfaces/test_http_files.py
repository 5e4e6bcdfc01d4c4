"""Files under a server: they follow what comes in through it, off the time of whoever writes, and all of it when it ends."""

import json
import logging
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.surfaces.http import files
from memorist.surfaces.http.files import FilesBehind
from memorist.surfaces.http.keys import KeyRing
from memorist.surfaces.http.work import Memories

from .agents import frame, modern
from .serving import LONG, Client, process, served

pytestmark = pytest.mark.covers("S2-3", "P18")


@pytest.fixture
def atlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the files of the usual project."""
    monkeypatch.setenv("MEMORIST_FILES_MODE", "export")
    monkeypatch.setenv("MEMORIST_FILES_FOLDER", str(tmp_path / "all"))
    return tmp_path / "all" / "atlas"


def within(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + LONG
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


def page(folder: Path) -> str:
    file = folder / "MEMORY.md"
    return file.read_text() if file.exists() else ""


def mcp(client: Client) -> None:
    call = modern({"name": "memory_add", "arguments": {"text": "The lamp burns green"}})
    got = client(
        "POST", "/mcp", frame("tools/call", call), accept="application/json, text/event-stream",
        mcp_protocol_version="2026-07-28", mcp_method="tools/call", mcp_name="memory_add",
    )  # fmt: skip
    assert got.status == 200 and b"added" in got.body, got


def imported(client: Client) -> None:
    got = client("POST", "/v1/import", b"- The lamp burns green\n", content_type="text/markdown")
    assert got.status == 200, got


def stored(client: Client) -> None:
    call = {"tool": "memory_store", "input": {"content": "The lamp burns green"}}
    assert client("POST", "/api/tools/call", call).status == 200


def remembered(client: Client) -> None:
    assert client("POST", "/v1/memories", {"text": "The lamp burns green"}).status == 201


@pytest.mark.parametrize("write", [remembered, mcp, stored, imported])
def test_files_follow_whatever_came_in(atlas: Path, tmp_path: Path, write: Callable[[Client], None]) -> None:
    shown = (
        "# MEMORY" if write is imported else "burns green"
    )  # what a file says is not on the page until it is confirmed
    with served(tmp_path / "memory.db", project="atlas") as server:
        write(server.client)
        assert within(lambda: shown in page(atlas)), page(atlas)


def test_turns_and_tasks_lie_in_their_files_too(atlas: Path, tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", project="atlas") as server:
        opened = server.client("POST", "/v1/sessions", {"id": "s"})
        assert opened.status == 200, opened
        turn = server.client("POST", "/v1/sessions/s/turns", {"role": "user", "text": "one"})
        task = server.client("POST", "/v1/tasks", {"title": "Paint the fence"})
        assert (turn.status, task.status) == (201, 201), (turn, task)
    lines = (atlas / "sessions" / "s.jsonl").read_text().splitlines()
    assert [json.loads(line)["content"] for line in lines] == ["one"]
    assert "Paint the fence" in (atlas / "tasks.json").read_text()


def test_a_question_writes_no_files(atlas: Path, tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.remember("The lamp burns green")
    with served(tmp_path / "memory.db", project="atlas") as server:
        assert server.client("POST", "/v1/recall", {"query": "lamp"}).status == 200
    assert not atlas.exists()


def test_a_server_that_is_told_to_end_leaves_its_files_up_to_date(atlas: Path, tmp_path: Path) -> None:
    with process(tmp_path, tmp_path / "memory.db", "--project", "atlas") as server:
        for number in range(20):
            assert server.client("POST", "/v1/memories", {"text": f"Shelf {number} holds jar {number}"}).status == 201
        assert server.end(signal.SIGTERM) == 0
        assert all(f"Shelf {number} holds" in page(atlas) for number in range(20))


@pytest.mark.covers("P24")
def test_files_that_cannot_be_written_are_told_once_and_the_memory_is_kept(
    atlas: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    atlas.parent.mkdir()
    atlas.write_text("in the way")
    with caplog.at_level(logging.WARNING, "memorist"), served(tmp_path / "memory.db", project="atlas") as server:
        for text in ("one lamp", "two chairs", "three doors"):
            assert server.client("POST", "/v1/memories", {"text": text}).status == 201
            assert within(lambda: bool(told(caplog)))
        assert len(told(caplog)) == 1
        atlas.unlink()
        server.client("POST", "/v1/memories", {"text": "four walls"})
        assert within(lambda: "one lamp" in page(atlas) and "four walls" in page(atlas))


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "the files of" in record.getMessage()]


@pytest.mark.covers("Z12")
def test_files_hold_what_was_written_in_their_project_and_nothing_else(atlas: Path, tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    tokens = {name: ring.add(name, projects=[f"project/{name}"]) for name in ("atlas", "borealis")}
    with served(tmp_path / "memory.db", project="atlas", ring=ring, require_key=True) as server:
        for name, token in tokens.items():
            got = server.client("POST", "/v1/memories", {"text": f"{name} sails"}, authorization=f"Bearer {token}")
            assert got.status == 201, got
    pages = {name: (atlas.parent / name / "MEMORY.md").read_text() for name in tokens}
    assert "atlas sails" in pages["atlas"] and "borealis" not in pages["atlas"]
    assert "borealis sails" in pages["borealis"] and "atlas" not in pages["borealis"]


def test_many_writes_while_files_are_written_are_one_more_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, turns = threading.Event(), threading.Event(), list[str]()

    def slow(memory: Memory) -> str:
        turns.append(str(memory.project.scope))
        begun.set()
        assert go_on.wait(LONG)
        return ""

    monkeypatch.setattr(files, "_up_to_date", slow)
    memories = Memories(str(tmp_path / "memory.db"), "atlas", None, 4)
    behind = FilesBehind(memories)
    with memories.kept_by_server("default", "project/atlas") as memory:
        behind.wrote(memory)
        assert begun.wait(LONG)
        for _ in range(100):
            behind.wrote(memory)
    go_on.set()
    behind.close()
    memories.close()
    assert turns == ["project/atlas"] * 2


@pytest.mark.parametrize("problem", [StoreUnavailable("the disk is full"), ZeroDivisionError("ours")])
def test_a_failure_does_not_end_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    turns = list[int]()

    def fails_once(memory: Memory) -> str:
        turns.append(1)
        if len(turns) == 1:
            raise problem
        return ""

    monkeypatch.setattr(files, "_up_to_date", fails_once)
    memories = Memories(str(tmp_path / "memory.db"), "atlas", None, 4)
    behind = FilesBehind(memories)
    with memories.kept_by_server("default", "project/atlas") as memory:
        behind.wrote(memory)
        assert within(lambda: len(told(caplog)) == 1)
        behind.wrote(memory)
    behind.close()
    memories.close()
    assert len(turns) == 2
