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
from memorist.surfaces.cli import progress, watch
from surfaces.conftest import Cli

pytestmark = pytest.mark.covers("D2")


def filled_with(cli: Cli, tmp_path: Path, number: int) -> None:
    with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
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
    number = rounds(12_000, 0.036)
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


# ---------------------------------------------------------------- a conversation

SAID = [{"role": "user", "content": "Marie visits me in May"}, {"role": "assistant", "content": "How nice!"}]


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("piped", [False, True])
def test_a_conversation_is_kept_turn_by_turn(cli: Cli, piped: bool, lines: bool) -> None:
    text = "\n".join(map(json.dumps, SAID)) if lines else json.dumps(SAID, indent=2)
    (cli.folder / "talk.json").write_text(text)
    said = cli.inside("remember", "--messages", "-" if piped else "talk.json", "--session", "s1", stdin=text)
    assert (said.code, said.out) == (0, "2 added in project/atlas\n")
    turns = cli.inside("list", "--kind", "turn", "--order", "-number", "--json").json
    assert [(each["text"], each["provenance"]["role"]) for each in turns] == [
        (message["content"], message["role"]) for message in SAID
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--messages", "-"], "such as --session"),
        (["--messages", "-", "--session", "s", "--batch"], "leave the text and --batch out"),
        (["a text", "--messages", "-", "--session", "s"], "leave the text and --batch out"),
        (["--messages", "gone.json", "--session", "s"], "No such file or directory: gone.json"),
        (["--messages", "-", "--session", "s"], "line 1 of --messages takes a JSON object"),
    ],
)
def test_what_is_no_conversation_is_refused(cli: Cli, words: list[str], told: str) -> None:
    said = cli.inside("remember", *words, stdin="hello")
    assert said.code and told in said.err and cli.inside("count").out == "0\n"


def test_a_conversation_that_is_stored_as_a_text_is_told(cli: Cli) -> None:
    assert "--messages keeps its turns" in cli.inside("remember", "--session", "s1", stdin=json.dumps(SAID)).err
    assert cli.inside("remember", "[1] is a footnote").err == cli.inside("remember", '["a", "list"]').err == ""


# ---------------------------------------------------------------- questions


def test_a_decision_tells_what_it_was_about(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.by_hand("review", "all", "--decide", "approve").err == "memorist: nothing waits for a decision\n"
    assert screened(cli, monkeypatch, 80, "review") == "memorist: nothing waits for a decision\n"
    cli.inside("remember", "Ann prefers tea", "--kind", "preference", "--scope", "global")
    assert "Ann prefers tea" in cli.by_hand("review", "q1", "--decide", "approve").out


def test_who_says_no_is_told_that_nothing_was_done(cli: Cli) -> None:
    cli.inside("remember", "One")
    cli.inside("export", "out.jsonl")
    for words in (["import", "out.jsonl", "--own"], ["erase", "1"], ["backup", "--restore", "out.jsonl"]):
        said = cli.by_hand(*words, typed="n\n")
        assert said.code == 1 and said.err.endswith("memorist: nothing was done\n")


def test_the_time_of_a_question_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    line = progress._Line("erase")
    monkeypatch.setattr(progress, "_now", line)
    with progress.apart():
        now[0] = 60.0
    assert line.begun == 60.0
