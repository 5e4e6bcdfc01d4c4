"""`memorist log --follow` shows what every process does in a store, and what it asks, and nothing that may not be read."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.surfaces.cli import watch
from memorist.surfaces.cli.watch import Recalls
from surfaces.conftest import Cli

pytestmark = pytest.mark.covers("S2-20", "S3-32")


class Stop(threading.Event):
    """Something happens between two looks; after the last one it is time to stop."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        super().__init__()
        self.acts = list(acts)

    def wait(self, timeout: float | None = None) -> bool:
        if self.acts:
            self.acts.pop(0)()
        else:
            self.set()
        return self.is_set()


def followed(cli: Cli, monkeypatch: pytest.MonkeyPatch, acts: list[Callable[[], object]], *words: str) -> list[str]:
    monkeypatch.setattr(watch, "_until_stopped", lambda: nullcontext(Stop(*acts)))
    done = cli.inside("log", "--follow", *words)
    assert done.code == 0
    return done.out.splitlines()


def asks(tmp_path: Path, *questions: str, project: str = "atlas", actor: str | None = None) -> Callable[[], None]:
    """Another memory over the same file, as another process has it."""

    def act() -> None:
        with Memory(tmp_path / "memory.db", project=project, embed="none") as memory:
            for question in questions:
                memory.recall(question)

    return act


def fill(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
        memory.remember("Staging runs Postgres 16")


def test_what_others_ask_is_shown_as_it_comes(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path)
    asks(tmp_path, "long ago")()
    acts = [asks(tmp_path, "which Postgres runs?", "zebra"), asks(tmp_path, "staging")]
    said = [json.loads(line) for line in followed(cli, monkeypatch, acts, "--json")]
    assert said[0]["verb"] == "added"
    assert [(line["verb"], line["query"], line["results"]) for line in said[1:]] == [
        ("recalled", "which Postgres runs?", 1),
        ("recalled", "zebra", 0),
        ("recalled", "staging", 1),
    ]
    assert "long ago" not in str(said), "from now on"


def test_for_people_a_question_is_a_line_of_the_log(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path)
    added, asked = followed(cli, monkeypatch, [asks(tmp_path, "which Postgres runs?")])
    row = asked.split("\t")
    assert len(row) == len(added.split("\t")) and row[3] == "recalled"
    assert row[5] == "1 memory for: which Postgres runs?" and row[6].startswith("r")


def test_what_is_told_says_where_and_what_it_cost(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path)
    asked, session = "which Postgres runs?", "11111111-2222"

    def tells() -> None:
        with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
            memory.pin(1)
            memory.context(asked)
            memory.access = replace(memory.access, actor="claude-code", surface="hook")
            for query in (asked, ""):
                memory.context(query, session=session)

    *_, prompt, later, start = followed(cli, monkeypatch, [tells])
    told = [re.sub(r"\d+ tokens", "N tokens", each.split("\t")[5]) for each in (prompt, later, start)]
    assert told == [
        f"told in a prompt: N tokens from [id:1] for: {asked}",
        f"told claude-code at a prompt of session 11111111…: N tokens from [id:1] for: {asked}",
        "told claude-code at the start of session 11111111…: N tokens from [id:1]",
    ]
    with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
        assert f"{memory._tools.store.receipts(memory.space, 1)[0].tokens} tokens" in start


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--verb", "added"), 0),
        (("--verb", "recalled"), 2),
        (("--surface", "library"), 2),
        (("--surface", "cli"), 0),
        (("--actor", "nobody"), 0),
        (("--id", "1"), 1),
        (("--until", "2001-01-01"), 0),
        (("--since", "2001-01-01"), 2),
        (("--scope", "project/atlas"), 2),
        (("--scope", "global"), 0),
    ],
)
def test_the_filters_hold_for_questions_too(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], shown: int
) -> None:
    fill(tmp_path)
    said = followed(cli, monkeypatch, [asks(tmp_path, "which Postgres runs?", "zebra")], *words, "--json")
    assert sum(json.loads(line)["verb"] == "recalled" for line in said) == shown


@pytest.mark.covers("E13", "W2-10")
def test_what_another_project_asks_is_not_shown(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path)
    acts = [asks(tmp_path, f"the canary of {name}", project=name) for name in ("atlas-2", "atlasb", "b")]
    assert "canary" not in str(followed(cli, monkeypatch, acts))


@pytest.mark.covers("E13")
def test_what_showed_more_than_may_be_read_is_not_told(tmp_path: Path) -> None:
    from memorist.access import Access

    with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
        memory.remember("Ann likes canaries", scope="user/ann")
        reader = Recalls.of(memory.through(Access(reads=("project/atlas",), role="reader")), {})
        owner = Recalls.of(memory, {})
        memory.recall("canaries", user="ann")
        memory._writer.flush()
        assert reader.new() == [] and [line["query"] for line in owner.new()] == ["canaries"]


def test_one_look_leaves_nothing_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LINES_AT_ONCE", 2)
    with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
        memory.recall("before")
        memory._writer.flush()
        recalls = Recalls.of(memory, {})
        for round in range(3):
            for number in range(17):
                memory.recall(f"question {round} {number}")
            memory._writer.flush()
            told = [line["query"] for line in recalls.new()]
            assert told == [f"question {round} {number}" for number in range(17)] and recalls.new() == []


def test_who_asks_writes_it_down_at_once_only_while_somebody_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, embed="none") as asking, Memory(path, embed="none") as listening:
        asking.recall("nobody hears this yet")
        assert asking.status()["buffered"] == 1 and not (tmp_path / "memory.db.heard").exists()
        recalls = Recalls.of(listening, {})
        asking.recall("and this at once")
        assert asking.status()["buffered"] == 0
        assert [line["query"] for line in recalls.new()][-1] == "and this at once"
        monkeypatch.setattr("memorist.store.writer.HEARD", 0.0)  # the listener has not looked for a while
        asking.recall("nobody hears this any more")
        assert asking.status()["buffered"] == 1
        assert os.name != "posix" or (tmp_path / "memory.db.heard").stat().st_mode & 0o077 == 0
        assert (tmp_path / "memory.db.heard").read_bytes() == b""


def test_many_questions_are_written_together_though_somebody_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.store.writer.TOLD_EVERY", 60.0)
    with Memory(tmp_path / "memory.db", embed="none") as memory:
        memory._writer._flushed = -60.0
        recalls = Recalls.of(memory, {})
        for number in range(5):
            memory.recall(f"question {number}")
        assert [line["query"] for line in recalls.new()] == ["question 0"] and memory.status()["buffered"] == 4
        monkeypatch.setattr("memorist.store.writer.TOLD_EVERY", 0.0)  # a while later
        memory.recall("question 5")
        assert [line["query"] for line in recalls.new()] == [f"question {number}" for number in range(1, 6)]


def test_where_nothing_can_be_written_questions_are_heard_of_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(path)

    monkeypatch.setattr("memorist.store.writer.create_private", refuse)
    with Memory(tmp_path / "memory.db", embed="none") as memory:
        recalls = Recalls.of(memory, {})
        memory.recall("which Postgres runs?")
        assert memory.status()["buffered"] == 1 and recalls.new() == []
        memory._writer.flush()
        assert [line["query"] for line in recalls.new()] == ["which Postgres runs?"]


@pytest.mark.skipif(not hasattr(os, "kill") or sys.platform == "win32", reason="needs signals")
def test_it_follows_another_process(tmp_path: Path) -> None:
    fill(tmp_path)
    words = [sys.executable, "-m", "memorist", "--db", str(tmp_path / "memory.db"), "--project", "atlas"]
    following = subprocess.Popen([*words[:3], "log", "-f", "--json", *words[3:]], stdout=subprocess.PIPE, text=True)
    try:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["verb"] == "added"
        subprocess.run([*words[:3], "recall", "Postgres", *words[3:]], check=True, capture_output=True)
        subprocess.run([*words[:3], "pin", "1", *words[3:]], check=True, capture_output=True)
        came = [json.loads(following.stdout.readline()) for _ in range(2)]
        assert {(line["verb"], line["surface"]) for line in came} == {("recalled", "cli"), ("pinned", "cli")}
        with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
            memory.recall("asked by a program that goes on")
            assert json.loads(following.stdout.readline())["query"] == "asked by a program that goes on"
    finally:
        following.send_signal(signal.SIGTERM)
        following.communicate(timeout=30)
