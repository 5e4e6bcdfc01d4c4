"""D2: progress, bulk confirmation, reasons, line numbers, a true status, all that a design changes, and lines that fit."""

import io
import json
import re
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import apsw
import pytest

from conftest import rounds
from memorist import Memory, designs
from memorist.access import Access
from memorist.design import Proposal, Tools
from memorist.designs import own
from memorist.errors import StoreUnavailable
from memorist.recall.pipeline import Search
from memorist.recall.stages.keep import Abstain
from memorist.remember import erase, undo
from memorist.remember.edit import archived
from memorist.store.where import Where
from memorist.surfaces.cli import app, progress
from memorist.surfaces.cli.screen import aside, filled
from memorist.upkeep.runner import Runner
from surfaces.conftest import Cli, on_screen

pytestmark = pytest.mark.covers("D2")


# ---------------------------------------------------------------- progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def impatient(patch: pytest.MonkeyPatch) -> Terminal:
    """Standard error as a terminal of somebody who waits for nothing."""
    terminal = Terminal()
    patch.setattr(progress, "PATIENCE_OF_PEOPLE", 0.0)
    patch.setattr(progress, "STEP", 0.001)
    patch.setattr(sys, "stderr", terminal)
    patch.setenv("TERM", "xterm")
    return terminal


def until(terminal: Terminal, words: str) -> None:
    for _ in range(5000):
        if words in terminal.getvalue():
            return
        time.sleep(0.002)
    raise AssertionError(f"{words!r} did not come: {terminal.getvalue()!r}")


def test_work_shows_that_it_goes_on_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = impatient(monkeypatch)
    with progress.shown("import"), Memory(":memory:") as memory:
        progress.follow(memory)
        until(terminal, "memorist: import … 0 s")
        memory.remember_many(f"fact number {n}" for n in range(20))
        until(terminal, ", 20 memories")
        aside("a warning")
        until(terminal, "a warning\n\rmemorist: import")
    assert on_screen(terminal.getvalue()) == "memorist: a warning\n"
    drawn = len(terminal.getvalue())
    time.sleep(0.02)
    assert len(terminal.getvalue()) == drawn


def test_nothing_is_drawn_while_a_question_stands_there_nor_after_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = impatient(monkeypatch)
    with progress.shown("erase"):
        until(terminal, "erase")
        with progress.apart():
            drawn = len(terminal.getvalue())
            time.sleep(0.02)
            assert len(terminal.getvalue()) == drawn
        progress.end()
        drawn = len(terminal.getvalue())
        time.sleep(0.02)
        assert len(terminal.getvalue()) == drawn
    assert on_screen(terminal.getvalue()) == ""


def test_the_line_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = impatient(monkeypatch)
    monkeypatch.setenv("COLUMNS", "20")
    with progress.shown("project rename"):
        until(terminal, "memorist: project r")
    assert max(map(len, terminal.getvalue().split("\r"))) == 19


def locked(file: Path, seconds: float) -> threading.Thread:
    """Another writer holds the store for a while."""
    one = apsw.Connection(str(file))
    one.execute("BEGIN IMMEDIATE")

    def release() -> None:
        time.sleep(seconds)
        one.execute("ROLLBACK")
        one.close()

    thread = threading.Thread(target=release)
    thread.start()
    return thread


def test_a_command_of_seconds_tells_a_terminal_and_no_pipe(cli: Cli, tmp_path: Path) -> None:
    cli.inside("remember", "One")
    for seconds in (2.5, 10):  # a busy machine may take the former only to start the program
        held = locked(tmp_path / "memory.db", seconds)
        shown = cli.at_terminal("remember", f"Held for {seconds} s")
        held.join()
        if "…" in shown.err:
            break
    assert re.search(r"memorist: remember … \d+ s", shown.err) and "…" not in shown.out
    assert re.search(r"added\x1b\[0m \[id:\d\] in project/atlas\n$", shown.out)
    held = locked(tmp_path / "memory.db", 1.5)
    assert cli("remember", "Three").err == ""
    held.join()


# ---------------------------------------------------------------- large work


def test_undo_looks_at_the_events_of_a_batch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another door's batch, all events were looked at again for every portion."""
    looked = []
    real = undo._is_own
    monkeypatch.setattr(undo, "_is_own", lambda event, by: (looked.append(event), real(event, by))[1])
    with Memory(":memory:", embed="none") as memory:
        many = rounds(5000)
        batch = memory.remember_many(f"fact number {n}" for n in range(many))[0].batch
        person = memory.through(replace(memory.access, actor="ann", origin="user", surface="other"))
        assert len(person.undo(batch).changed) == many
        assert len(looked) <= 2 * many + 10


# ---------------------------------------------------------------- what an import brought


@pytest.fixture
def imported(cli: Cli) -> str:
    (cli.folder / "notes.md").write_text("- The sky is blue\n- The sea is deep\n- We deploy on Mondays\n")
    said = cli.by_hand("import", "notes.md").out
    found = re.search(r"`memorist undo (b\d+)` takes it back, `memorist review \1 --decide approve` confirms it", said)
    assert found
    return found[1]


def unconfirmed(cli: Cli) -> int:
    return int(cli.inside("count", "--where", '{"status": "candidate"}').out)


def test_an_import_is_confirmed_at_once_and_one_undo_takes_that_back(cli: Cli, imported: str) -> None:
    assert unconfirmed(cli) == 3
    shown = cli.by_hand("review", imported).out
    assert "confirmed, dry run: 3 memories" in shown and "The sea is deep" in shown and unconfirmed(cli) == 3
    assert cli.by_hand("review", imported, "--decide", "approve").out.startswith("confirmed: 3 memories, batch b")
    assert unconfirmed(cli) == 0
    assert {each["origin"] for each in cli.inside("list", "--json").json} == {"user"}
    assert "nothing of" in cli.by_hand("review", imported, "--decide", "approve").out
    assert cli.by_hand("undo").code == 0
    assert unconfirmed(cli) == 3


def test_an_import_is_put_away_at_once(cli: Cli, imported: str) -> None:
    cli.by_hand("promote", "1")
    assert cli.by_hand("review", imported, "--decide", "deny").out.startswith("forgotten: 2 memories")
    assert [each["number"] for each in cli.inside("list", "--json").json] == [1]


def test_what_was_changed_since_is_not_confirmed_with_the_rest(cli: Cli, imported: str) -> None:
    assert cli.inside("revise", "3", "We deploy whenever the proxy says so").code == 0
    assert cli.inside("link", "1", "2").code == cli.inside("feedback", "2", "useful").code == 0
    said = cli.by_hand("review", imported, "--decide", "approve").out
    assert said.startswith("confirmed: 2 memories") and "memory 3 was changed since by b" in said
    assert [each["number"] for each in cli.inside("list", "--json").json if each["origin"] != "user"] == [3]
    assert cli.by_hand("review", imported, "--decide", "deny").out.startswith("forgotten: 0")


def test_documents_are_replaced_with_their_files_whatever_was_confirmed(cli: Cli) -> None:
    (cli.folder / "conf.ini").write_text("port = 8080\n")
    assert cli.by_hand("import", "conf.ini").code == 0
    assert "nothing of b1 waits" in cli.by_hand("review", "b1", "--decide", "approve").out
    (cli.folder / "conf.ini").write_text("port = 9090\n")
    assert "1 replaced" in cli.by_hand("import", "conf.ini").out
    assert [each["text"] for each in cli.inside("list", "--all", "--json").json] == ["port = 9090"]


def test_only_a_person_confirms_an_import(cli: Cli, imported: str) -> None:
    refused = cli.inside("review", imported, "--decide", "approve")
    assert refused.code == 5 and "only a person approves" in refused.err and unconfirmed(cli) == 3
    assert cli.inside("review", imported, "--decide", "deny").code == 5
    assert cli.by_hand("review", "b999", "--decide", "approve").code == 3
    assert cli.by_hand("review", imported, "--decide", "maybe").code == 2


def test_all_questions_are_decided_at_once(cli: Cli) -> None:
    for text in ("Ann prefers tea", "Ben prefers milk"):
        assert cli.inside("remember", text, "--kind", "preference", "--scope", "global").code == 11
    assert len(cli.inside("review", "all", "--json").json) == 2
    done = cli.by_hand("review", "all", "--decide", "approve")
    assert done.code == 0 and done.out.count("added [id:") == 2
    assert cli.inside("review", "--json").json == []
    assert cli.by_hand("review", "all", "--decide", "deny").code == 0


# ---------------------------------------------------------------- reasons and numbers


def test_every_count_has_its_reason(cli: Cli) -> None:
    cli.inside("remember", "The sky is blue")
    said = cli.inside(
        "remember", "--batch", stdin="The sky is blue\nThe sea is deep\nThe sky is blue\n"
    ).out.splitlines()
    assert said[0] == "2 reinforced, 1 added in project/atlas"
    assert re.fullmatch(r"  2 reinforced: .+", said[1])


def test_what_another_export_has_put_away_is_left_out_with_the_reason(cli: Cli, tmp_path: Path) -> None:
    cli.inside("remember", "The sky is blue")
    cli.inside("remember", "The sky is grey")
    cli.inside("forget", "1")
    cli.inside("export", "out.jsonl")
    there = Cli(cli.folder, {**cli.environment, "MEMORIST_DB": str(tmp_path / "other.db")})
    said = there.inside("import", "out.jsonl").out
    assert "1 left out" in said.splitlines()[0]
    assert "  1 left out: forgotten or replaced where they come from" in said


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ('{"bad": 1}', "unknown field 'bad'"),
        ('{"text": "b", "kind": "vibes"}', "vibes"),
        ('{"text": "b", "importance": 7}', "importance must be a number from 0 to 1"),
        ('{"text": "b", "at": "whenever"}', "whenever"),
        ("{", "JSON"),
        ('{"text": ""}', "empty"),
    ],
)
def test_a_bad_line_has_its_number_and_stores_nothing(cli: Cli, bad: str, told: str) -> None:
    lines = [f"fact number {n}" for n in range(300)] + ["", bad, "last"]
    said = cli.inside("remember", "--batch", stdin="\n".join(lines))
    assert said.code == 2 and "line 302" in said.err and told in said.err
    assert cli.inside("count").out == "0\n"


def test_switched_off_a_batch_is_refused_as_ever(cli: Cli) -> None:
    said = cli("remember", "--batch", stdin="one\ntwo\n", MEMORIST_OFF="1")
    assert said.out.startswith("2 refused") and said.code == 5


@pytest.mark.parametrize("above", [1.000001, 1.001, 1.5])
def test_what_is_less_looks_less(above: float) -> None:
    balanced = designs.DESIGNS["balanced"]
    chances: list[float] = []

    def tell(search: Search, tools: Tools) -> Search:
        chances.append(search.chance or 0.0)
        return Abstain(below=min(1.0, chances[-1] * above))(search, tools)

    stages = tuple(tell if isinstance(stage, Abstain) else stage for stage in balanced.recall)
    with Memory(":memory:", design=replace(balanced, recall=stages)) as memory:
        memory.remember("The sea is deep")
        told = memory.explain("How far would the sea be from Madrid?").empty_because or ""
    shown = [float(number) for number in re.findall(r"\d\.\d+", told)]
    assert chances[0] and len(shown) == 2 and shown[0] < shown[1], told


# ---------------------------------------------------------------- status, history, compaction


def test_the_status_knows_of_recalls_of_other_processes(cli: Cli) -> None:
    assert "recall: normal: none yet" in cli.inside("status").out
    cli.inside("remember", "The sky is blue")
    cli.inside("recall", "sky")
    cli.inside("recall", "blue")
    assert re.search(r"recall: normal: 95 % within \d+ ms, last 2\n", cli.inside("status").out)


class PutAway:
    """A job with enough to do for several steps."""

    name = "put_away"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        ids = [brief.id for brief in tools.store.briefs(Where(who).also("state", "eq", "active"))]
        return Proposal("forgotten", partial(archived, because="old"), "old", ids)


def test_the_status_knows_of_an_upkeep_that_was_cut_short(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "last upkeep: never\n" in cli.inside("status").out
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.design = replace(memory.design, upkeep=(PutAway(),))
        memory.remember_many(f"note number {n}" for n in range(60))
        still = iter([False, False])  # for the sessions, and the first step of the job
        monkeypatch.setattr(Runner, "over", lambda self: next(still, True))
        memory.upkeep()
        assert 0 < memory.count() < 60
    assert re.search(r"last upkeep: 20\S+, not finished yet\n", cli.inside("status").out)


def test_a_history_shows_no_salt(cli: Cli) -> None:
    for text in ("One", "Two"):
        cli.inside("remember", text)
    cli.inside("link", "1", "2")
    cli.inside("revise", "1", "One and a half")
    told = cli.inside("history", "1", "--json").json
    assert [event["verb"] for event in told] == ["added", "linked", "revised"]
    assert "salt" not in json.dumps(told) and told[1]["before"]["other"] and told[2]["before"]["superseded"]


def test_a_compaction_that_is_not_finished_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is erased while the file is being compacted has left no reason of its own."""
    with Memory(":memory:") as memory:
        first = memory.remember("The first secret")
        monkeypatch.setattr(erase, "finish", lambda *given, **more: [])
        memory.erase(first.id)
        with pytest.raises(StoreUnavailable, match=r"not finished: \S.* again"):
            memory.compact()


# ---------------------------------------------------------------- a design


def test_using_a_design_shows_every_line_that_changes(cli: Cli) -> None:
    now = "balanced"
    for name in ("tiers", "curated", "hebbian", "balanced"):
        shown = cli.inside("design", "use", name).out
        changes = cli.inside("design", "use", now, "--json").json["changes"]
        cli.inside("design", "use", name)
        for line in flat(name) - flat(now):
            assert f"  + {line}\n" in shown and f"- {line}" in changes
        for line in flat(now) - flat(name):
            assert f"  - {line}\n" in shown
        now = name
    keys = {line.split(" = ")[0].split(".")[0] for name in designs.DESIGNS for line in flat(name) ^ flat("balanced")}
    assert {"reads", "stages", "jobs", "conflicts", "lanes", "lane", "promotion", "due"} <= keys


def flat(name: str) -> set[str]:
    """Every value of a design, as TOML has it."""
    found, table = set(), ""
    for line in own.text_of(designs.DESIGNS[name]).splitlines():
        if line.startswith("["):
            table = line.strip("[]") + "."
        elif line and not line.startswith(("base", "about")):
            found.add(table + line)
    return found


# ---------------------------------------------------------------- lines that fit


@pytest.mark.parametrize("wide", [40, 80])
def test_every_help_fits(monkeypatch: pytest.MonkeyPatch, wide: int) -> None:
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", str(wide))
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(Terminal, "reconfigure", lambda *_, **__: None, raising=False)
    for name in ["", *app.COMMANDS, *app.SHELL, *app.SEEDS]:
        assert app.run([*name.split(), "--help"]) == 0
    fits(terminal.getvalue(), wide)


def fits(text: str, wide: int) -> None:
    for line in re.sub(r"\x1b\[[0-9;]*m", "", text).split("\n"):
        assert len(line.rstrip()) <= wide or " " not in line.strip(), line


@pytest.mark.parametrize("wide", [40, 80])
def test_every_answer_fits(cli: Cli, monkeypatch: pytest.MonkeyPatch, wide: int) -> None:
    """All commands at a terminal of that width, one after another, but those whose answer is a text to be copied."""
    (cli.folder / "notes.md").write_text("- The warehouse in Antwerp is closed on public holidays of the province\n")
    long = "The service for invoices runs on three machines in Frankfurt and is restarted every night at four o'clock"
    told = ""
    for words in (
        ["remember", long, "--title", "Where the invoices are made", "--tag", "operations"],
        ["remember", "東京の倉庫は日曜日に閉まっています。" * 4], ["remember", long], ["import", "notes.md"],
        ["import", "notes.md", "--dry-run"], ["revise", "1", f"{long}, since Monday"], ["pin", "1", "2"], ["tag", "1", "x"],
        ["link", "1", "2"], ["links", "1"], ["feedback", "1", "useful"], ["recall", "where are invoices made?", "--why"],
        ["explain", "invoices"], ["why-not", "2", "invoices"], ["list"], ["count"],
        ["timeline"], ["history", "1"], ["alias", "bill", "invoice"], ["aliases"], ["conflicts"], ["review"], ["promote"],
        ["extract", f"Decision: {long}", "--session", "s1"], ["forget", "1", "--dry-run"], ["forget", "2"], ["restore", "2"],
        ["undo"], ["finish", "--scope", "session/s1"], ["upkeep"], ["rescan", "--dry-run"], ["compact"], ["audit"],
        ["status"], ["doctor"], ["backup"], ["project", "list"], ["project", "show"],
        ["design", "list"], ["design", "use", "tiers"], ["design", "use", "balanced"], ["config", "list"],
        ["config", "get", "design"], ["config", "set", "budget", "900"], ["config", "unset", "budget"], ["off"], ["on"],
        ["bench"], ["slash", f"/remember {long}"], ["memory_query", "invoices"], ["erase", "2", "--yes"], ["xyzzy"],
        ["recall"], ["receipt", "x"], ["used", "x", "y"], ["resolve", "1", "2", "both"],
    ):  # fmt: skip
        told += f"\n$ {words[0]}\n" + screened(cli, monkeypatch, wide, *words)
    fits(re.sub(r"\S*/\S*", "PATH", told), wide)


def screened(cli: Cli, monkeypatch: pytest.MonkeyPatch, wide: int, *words: str) -> str:
    """What a person at a terminal of that width sees of it."""
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    with monkeypatch.context() as patch:
        patch.chdir(cli.folder)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"y\n" * 9)))
        patch.setattr(sys, "stdout", terminal)
        patch.setattr(sys, "stderr", terminal)
        patch.setattr("memorist.surfaces.cli.arguments.at_terminal", lambda: True)
        patch.setenv("COLUMNS", str(wide))
        patch.setenv("TERM", "xterm")
        for name, value in cli.environment.items():
            patch.setenv(name, value)
        app.run(words)
    return on_screen(terminal.buffer.getvalue().decode())  # type: ignore[attr-defined]


def test_lines_are_broken_between_words_and_wide_letters_count_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    terminal = Terminal()
    assert filled("  one two three four five", 4, terminal) == "  one two three four\n    five"
    assert filled("日本 日本 日本 日本 日本", 2, terminal) == "日本 日本 日本 日本\n  日本"
    assert filled("\x1b[31mred\x1b[0m and green it is", 2, terminal) == "\x1b[31mred\x1b[0m and green it is"
    assert filled("/a/very/long/path/indeed/it/is x", 2, terminal) == "/a/very/long/path/indeed/it/is\n  x"
    assert filled("one two three four five six", 2, io.StringIO()) == "one two three four five six"
