"""`memorist sync`: the edits are shown, adopted at a terminal, and proposals down a pipe."""

import signal
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from memorist.errors import StoreUnavailable
from memorist.files.memory_md import Synced, sync
from surfaces.conftest import Cli


@pytest.fixture
def page(cli: Cli) -> Path:
    return cli.folder / "MEMORY.md"


def test_a_page_is_written_and_an_edit_down_a_pipe_is_a_proposal(cli: Cli, page: Path) -> None:
    cli.inside("remember", "The port is 8080")
    first = cli.inside("sync", str(page))
    assert first.code == 0 and "1 line written" in first.out and "The port is 8080" in page.read_text()
    page.write_text(page.read_text().replace("8080", "9090") + "- typed by hand\n")
    second = cli.inside("sync", str(page))
    assert second.code == 11 and "- The port is 8080\n+ The port is 9090\n+ typed by hand\n" in second.out
    assert "memorist review" in second.out and "8080" in cli.inside("get", "1").out
    assert cli.inside("sync", str(page), "--json").json["proposals"] == ["q1"]


def test_a_page_that_was_begun_is_said_and_so_is_one_that_is_passed_over(cli: Cli, page: Path) -> None:
    begun = cli.inside("sync")
    assert page.is_file() and begun.out.rstrip().endswith(": written")
    assert cli.inside("sync").out.rstrip().endswith(": nothing to do")
    cli.inside("config", "set", "files.folder", str(cli.folder / "files"))
    cli.inside("config", "set", "files.mode", "mirror")
    page.write_text(page.read_text() + "- typed by hand\n")
    other = cli.inside("sync")
    assert str(Path("files") / "atlas" / "MEMORY.md") in other.out and f"{page} is another page" in other.err


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


class Looks:
    """Stands for the signal that ends a watch: it comes after so many looks."""

    def __init__(self, most: int) -> None:
        self.left = most

    def is_set(self) -> bool:
        return self.left <= 0

    def wait(self, seconds: float) -> None:
        self.left -= 1


@pytest.mark.covers("P17")
def test_what_is_typed_in_the_moment_after_a_sync_is_seen(
    cli: Cli, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def then_typed(*given: Any, **more: Any) -> Synced:
        done = sync(*given, **more)
        if "from the page" not in page.read_text():
            page.write_text(page.read_text() + "- from the page\n")
        return done

    monkeypatch.setattr("memorist.surfaces.cli.watch._until_stopped", lambda: nullcontext(Looks(8)))
    monkeypatch.setattr("memorist.surfaces.cli.sync.sync", then_typed)
    cli.inside("remember", "from the store")
    assert cli.inside("sync", str(page), "--watch").code == 0
    assert "from the page" in cli.inside("list").out


def test_a_watch_tries_again_what_was_in_the_way_and_tells_it_once(
    cli: Cli, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def in_the_way(*given: Any, **more: Any) -> Synced:
        tries.append(given)
        if len(tries) < 4:
            raise StoreUnavailable("the disk is away")
        return sync(*given, **more)

    monkeypatch.setattr("memorist.surfaces.cli.watch._until_stopped", lambda: nullcontext(Looks(12)))
    monkeypatch.setattr("memorist.surfaces.cli.sync.sync", in_the_way)
    cli.inside("remember", "from the store")
    done = cli.inside("sync", str(page), "--watch")
    assert "from the store" in page.read_text() and done.err.count("the disk is away") == 1
    assert len(tries) < 8, "and then it is quiet"


def _until(so: Callable[[], bool]) -> None:
    for _ in range(300):
        if so():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen within thirty seconds")
