"""D5: what a person at a shell reads and copies: a long log, documents that are never broken, relations and batches by name."""

import json
import threading
import tomllib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from conftest import rounds
from found.test_d02_manners import screened
from memorist import Memory
from memorist.surfaces.cli import watch
from surfaces.conftest import Cli

pytestmark = pytest.mark.covers("D2")


def filled_with(cli: Cli, tmp_path: Path, number: int) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember_many(f"fact number {n}" for n in range(number))


# ---------------------------------------------------------------- the journal


def test_a_log_of_any_number_of_memories(cli: Cli, tmp_path: Path) -> None:
    filled_with(cli, tmp_path, 700)
    said = cli.inside("log", "-n", "2000")
    lines = said.out.splitlines()
    assert said.code == 0 and len(lines) == 700 and all("[id:" in line for line in lines)


class Stop(threading.Event):
    """Somebody imports much between two looks; after the second one it is time to stop."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self.act: Callable[[], object] | None = act

    def wait(self, timeout: float | None = None) -> bool:
        act, self.act = self.act, None
        if act:
            act()
        else:
            self.set()
        return self.is_set()


def test_one_look_of_a_followed_log_leaves_nothing_out(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = rounds(12_000, 0.06)
    stop = Stop(lambda: filled_with(cli, tmp_path, number))
    monkeypatch.setattr(watch, "_until_stopped", lambda: nullcontext(stop))
    said = cli.inside("log", "--follow")
    assert said.code == 0 and len(said.out.splitlines()) == number


def test_history_and_log_name_the_batch(cli: Cli) -> None:
    batch = cli.inside("remember", "The sky is blue", "--json").json["batch"]
    assert cli.inside("history", "1").out.endswith(f"\t{batch}\n")
    assert cli.inside("log").out.endswith(f"\t{batch}\n")


@pytest.mark.parametrize("verb", ["pin", "unpin", "restore", "forget"])
def test_a_change_names_its_batch(cli: Cli, verb: str) -> None:
    for text in ("One is red", "Two is green"):
        cli.inside("remember", text)
    if verb in ("unpin", "restore"):
        cli.inside({"unpin": "pin", "restore": "forget"}[verb], "1", "2")
    said = cli.inside(verb, "1", "2").out.splitlines()
    batches = [line.rpartition(", batch ")[2] for line in said if ", batch b" in line]
    assert len(batches) == (1 if verb == "forget" else 2)
    for batch in batches:
        assert cli.inside("undo", batch).code == 0


# ---------------------------------------------------------------- to be copied


LONG = "The service for invoices runs on three machines in Frankfurt and is restarted every night at four o'clock"


def test_a_design_on_a_narrow_terminal_is_toml(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tiers", "curated", "balanced"):
        assert tomllib.loads(screened(cli, monkeypatch, 40, "design", "show", name))


def test_prompts_receipts_exports_and_texts_are_not_broken(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.inside("remember", LONG)
    receipt = cli.inside("context", "invoices", "--json").json["receipt"]
    for words in (["context", "invoices"], ["receipt", receipt], ["export", "--style", "markdown"], ["get", "1"]):
        assert LONG in screened(cli, monkeypatch, 40, *words), words
    shown = screened(cli, monkeypatch, 40, "context", "invoices", "--style", "json")
    assert LONG in json.dumps(json.loads(shown))


# ---------------------------------------------------------------- tables


def test_an_empty_cell_is_seen_on_a_narrow_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = screened(cli, monkeypatch, 50, "config", "list")
    assert "\nscope  -  default\n" in shown
    assert "\nhebbian" in "\n" + screened(cli, monkeypatch, 50, "design", "list")


def test_relations_are_shown_by_number_and_text(cli: Cli) -> None:
    for text in ("One is red", "Two is green", "Three is blue"):
        cli.inside("remember", text)
    cli.inside("link", "1", "2", "supersedes")
    cli.inside("link", "3", "1")
    rows = [line.split("\t") for line in cli.inside("links", "1").out.splitlines()]
    assert sorted(rows) == [
        ["[id:1]", "supersedes", "[id:2]", "1", "Two is green", ""],
        ["[id:3]", "relates_to", "[id:1]", "1", "Three is blue", ""],
    ]
