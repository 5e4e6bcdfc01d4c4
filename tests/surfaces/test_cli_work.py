"""`memorist narrative …` and `memorist task …`: what a person reads, and what a program does."""

import json
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.surfaces.cli import app


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command on a store of its own: → the exit code, what it said, and what it said aside."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        code = app.run([*words, "--db", str(tmp_path / "memory.db")])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.mark.covers("N1-3", "N1-4")
def test_a_narrative_is_told_listed_and_shown_with_what_belongs_to_it(shell: Any) -> None:
    shell("remember", "Staging runs Postgres 16")
    assert shell("narrative", "add", "We move because 12 ends", "--topic", "postgres", "--memory", "1")[0] == 0
    shell("remember", "The driver is old")
    code, said, _ = shell("narrative", "add", "The driver goes first", "--topic", "Postgres", "--session", "s1")
    assert code == 0 and "it continues “postgres” [id:2]" in said
    _, said, _ = shell("narrative", "list")
    rows = [line.split("\t") for line in said.splitlines()]
    assert [(row[0], *row[2:]) for row in rows] == [
        ("[id:4]", "s1", "postgres", "The driver goes first"),
        ("[id:2]", "", "postgres", "We move because 12 ends"),
    ]
    assert shell("narrative", "list", "driver")[1].startswith("[id:4]")
    assert shell("narrative", "list", "--id", "3")[1].startswith("[id:2]"), "the one that it was written in"
    _, said, _ = shell("narrative", "show", "2")
    for shown in (
        "We move because 12 ends",
        "tells of:\n  [id:1] fact Staging runs Postgres 16",
        "written meanwhile:\n  [id:3] fact The driver is old",
        "followed by:\n  [id:4] narrative postgres",
    ):
        assert shown in said
    assert "follows:\n  [id:2] narrative" in shell("narrative", "show", "4")[1]
    told = json.loads(shell("narrative", "show", "2", "--json")[1])
    assert (told["record"]["number"], [each["number"] for each in told["followed_by"]]) == (2, [4])


@pytest.mark.covers("S2-7")
def test_a_task_is_added_listed_shown_and_moved(shell: Any) -> None:
    _, said, _ = shell("task", "add", "Lock", "--priority", "2", "--criterion", "One writer", "--milestone", "M1")
    assert said.startswith("added TASK-001 [id:1]"), "as `task move` takes it"
    shell("task", "add", "Queue", "--text", "A second writer waits", "--blocked-by", "TASK-001")
    rows = [line.split("\t") for line in shell("task", "list")[1].splitlines()]
    assert rows == [["TASK-001", "ready", "2", "M1", "Lock"], ["TASK-002", "pending", "", "", "Queue"]]
    code, _, said = shell("task", "move", "TASK-002", "running")
    assert code == 5 and "waits for TASK-001 (pending)" in said
    code, _, said = shell("task", "move", "1", "completed")
    assert code == 5 and "becomes running or blocked" in said
    assert shell("task", "move", "task-1", "running", "--because", "Ann has time")[0] == 0
    code, said, _ = shell("task", "move", "TASK-001", "completed", "--result", "A lease of 15 minutes")
    assert code == 0 and "the milestone M1 is done" in said
    assert [line.split("\t")[:2] for line in shell("task", "list", "--ready")[1].splitlines()] == [
        ["TASK-002", "ready"]
    ]
    _, said, _ = shell("task", "show", "TASK-001")
    assert "result:\n  [id:3] fact A lease of 15 minutes" in said and "archived: the milestone M1 is done" in said
    assert "waits for:\n  TASK-001 completed Lock" in shell("task", "show", "2")[1]
    assert [each["number"] for each in json.loads(shell("task", "list", "--json")[1])] == [2]
    assert "no open task fits" in shell("task", "list", "--milestone", "M9")[2]


def test_where_nothing_was_narrated_the_last_session_says_where_it_was(shell: Any) -> None:
    for name, thing in (("s1", "ferry"), ("s2", "harbour")):
        for number in range(6):
            shell(
                "session", "turn", name, "assistant" if number % 2 else "user", f"We repaint {thing} hull {number} blue"
            )
        shell("session", "close", name)
    _, said, aside = shell("narrative", "list")
    assert "harbour" in said and "ferry" not in said and "the summary of the last session" in aside
    assert "ferry" in shell("narrative", "list", "--session", "s1")[1]
    assert shell("narrative", "list", "hull")[1] == "", "the words of a question are those of narratives"
    shell("narrative", "add", "We wait for paint", "--topic", "hulls")
    _, said, aside = shell("narrative", "list")
    assert "We wait for paint" in said and "harbour" not in said and aside == ""


def test_what_is_something_else_is_said(shell: Any) -> None:
    shell("remember", "A fact")
    assert "memory 1 is a fact" in shell("task", "show", "1")[2]
    assert "memory 1 is a fact" in shell("narrative", "show", "1")[2]
    assert "no narrative was told" in shell("narrative", "list")[2]
    assert "there are narrative add, narrative list, narrative show" in shell("narrative")[2]
    assert "there are task add" in shell("task", "done")[2]


def test_the_documents_names_work_too(shell: Any, tmp_path: Path) -> None:
    shell("memory_store", "The payment API is strict")
    code, said, _ = shell("narrative_update", "So we sign what is sent", "--memory", "1", "--topic", "payments")
    assert code == 0 and said.startswith("added [id:2]")
    assert (
        "“payments”" in shell("narrative-search")[1] and "(about [id:1])" in shell("narrative_search", "sign sent")[1]
    )
    with Memory(tmp_path / "memory.db") as memory:
        assert memory.get(2).origin == "agent"


@pytest.mark.parametrize("word", ["task", "narrative", "session", "project", "design", "model", "config"])
def test_a_family_of_commands_has_a_help(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([word, "--help"], ["help", word], [word, "-h"]):
        assert app.run(words) == 0
        said = capsys.readouterr().out
        assert [name for name in app.SHELL if name.startswith(f"{word} ") and name not in said] == []
    assert app.run([word]) == 2 and "is no command by itself" in capsys.readouterr().err
