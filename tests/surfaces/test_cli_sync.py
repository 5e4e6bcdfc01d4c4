"""`memorist sync`: the edits are shown, adopted at a terminal, and proposals down a pipe."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from surfaces.conftest import Cli


@pytest.fixture
def page(cli: Cli) -> Path:
    return cli.folder / "MEMORY.md"


def test_a_page_is_written_and_an_edit_down_a_pipe_is_a_proposal(cli: Cli, page: Path) -> None:
    cli.inside("remember", "The port is 8080")
    first = cli.inside("sync", str(page))
    assert first.code == 0 and "1 lines written" in first.out and "The port is 8080" in page.read_text()
    page.write_text(page.read_text().replace("8080", "9090") + "- typed by hand\n")
    second = cli.inside("sync", str(page))
    assert second.code == 11 and "- The port is 8080\n+ The port is 9090\n+ typed by hand\n" in second.out
    assert "memorist review" in second.out and "8080" in cli.inside("get", "1").out
    assert cli.inside("sync", str(page), "--json").json["proposals"] == ["q1"]


def test_what_is_adopted_at_a_terminal_is_the_users_word(cli: Cli, page: Path) -> None:
    cli.inside("remember", "The port is 8080")
    cli.inside("sync", str(page))
    page.write_text(page.read_text().replace("8080", "9090"))
    shown = cli.inside("sync", str(page), "--dry-run")
    assert shown.code == 0 and "+ The port is 9090" in shown.out and "8080" in cli.inside("get", "1").out
    declined = cli.by_hand("sync", str(page), typed="n\n")
    assert declined.code == 11 and "8080" in cli.inside("get", "1").out
    adopted = cli.by_hand("sync", str(page))
    assert adopted.code == 0 and "adopt these edits as your word?" in adopted.err
    record = cli.inside("get", "1", "--json").json
    assert (record["text"], record["origin"]) == ("The port is 9090", "user")
    assert cli.inside("review", "--json").json == []


def test_the_batch_of_the_edits_is_named_and_undo_takes_all_of_them_back(cli: Cli, page: Path) -> None:
    page.write_text("- The heron nests at the weir\n")
    cli.inside("sync", str(page))
    page.write_text("- The heron nests at the mill\n- typed by hand\n")
    done = cli.inside("sync", str(page))
    batch = done.out.partition("`memorist undo ")[2].partition("`")[0]
    assert "takes the edits back" in done.out and "2 memories" in cli.inside("undo", batch).out
    again = cli.inside("sync", str(page))
    assert "memorist undo" not in again.out and "edits came in" not in again.out
    assert "- typed by hand" in page.read_text() and "typed by hand" not in cli.inside("list").out


def test_a_line_that_nobody_confirmed_is_explained(cli: Cli, page: Path) -> None:
    page.write_text("- typed by hand\n")
    assert "nobody has confirmed" not in cli.inside("sync", str(page)).out
    assert "? typed by hand\n? came in before, and nobody has confirmed it" in cli.inside("sync", str(page)).out


def test_nothing_is_adopted_that_was_not_shown_in_full(cli: Cli, page: Path) -> None:
    long = "The rule is " + "very " * 200 + "strict, as the heronqualm says"
    page.write_text("".join(f"- typed line number {number}\n" for number in range(60)) + f"- {long}\n")
    adopted = cli.by_hand("sync", str(page))
    assert adopted.code == 0 and f"+ {long}\n" in adopted.out and "+ typed line number 59\n" in adopted.out


def test_a_path_that_is_no_page_is_one_line(cli: Cli, page: Path) -> None:
    page.mkdir()
    failed = cli.inside("sync", str(page))
    assert failed.code == 2 and "no plain file" in failed.err and "Traceback" not in failed.err


def test_the_usual_page_lies_in_the_folder_of_the_project(cli: Cli) -> None:
    cli.inside("remember", "a fact")
    assert cli.inside("sync").code == 0 and (cli.folder / "MEMORY.md").exists()


def test_it_watches_both_sides_until_it_is_stopped(cli: Cli, page: Path) -> None:
    program = cli.start("sync", str(page), "--watch")
    try:
        _until(page.exists)
        cli.inside("remember", "from the store")
        _until(lambda: "from the store" in page.read_text())
        page.write_text(page.read_text() + "- from the page\n")
        _until(lambda: "from the page" in cli.inside("list").out)
    finally:
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 0
        program.communicate()


def _until(so: Callable[[], bool]) -> None:
    for _ in range(300):
        if so():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen within thirty seconds")
