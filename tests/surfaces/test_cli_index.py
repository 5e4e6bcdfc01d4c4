"""`memorist index`: what the project's files mark, at the command line."""

from pathlib import Path

import pytest

from .conftest import Cli

pytestmark = pytest.mark.covers("S2-6")


@pytest.fixture
def plan(cli: Cli) -> Path:
    file = cli.folder / "PLAN.md"
    file.write_text("DECISION: Staging runs Postgres 16\n\n- [ ] Renew the certificate\n")
    return file


def test_it_tells_what_became_of_the_items(cli: Cli, plan: Path) -> None:
    shown = cli("index", "--dry-run")
    assert shown.code == 0 and "PLAN.md:3" in shown.out and "would be indexed: 1 file: 2 added" in shown.out
    assert "2 added" in cli("index").out and "2 unchanged" in cli("index").out
    plan.unlink()
    done = cli("index", "--json").json
    assert done["outcomes"] == {"expired": 2} and done["problems"] == []


def test_what_cannot_be_read_is_told_and_the_code_is_one(cli: Cli, plan: Path) -> None:
    (cli.folder / "image.md").write_bytes(b"\x89PNG\0\0")
    done = cli("index")
    assert done.code == 1 and "2 added" in done.out and "image.md is not a text file" in done.err


def test_what_is_ignored_or_outside_is_refused(cli: Cli, plan: Path) -> None:
    (cli.folder / ".env").write_text("TODO: x\n")
    assert "is ignored" in cli("index", ".env").err
    assert "outside of the project's folder" in cli("index", "..").err
    assert cli("index", "nowhere.md").code == 2


@pytest.mark.covers("S2-15")
def test_a_hit_says_that_its_file_changed(cli: Cli, plan: Path) -> None:
    cli("remember", "Certificates are renewed in March", "--file", "PLAN.md")
    assert "stale" not in cli("recall", "when are certificates renewed?").out
    plan.write_text("Nothing.\n")
    assert "stale: its file changed since: PLAN.md" in cli("recall", "when are certificates renewed?").out
    plan.unlink()
    assert (
        "unverifiable: its file is not there, or cannot be read: PLAN.md" in cli("recall", "certificates renewed").out
    )
    assert cli("recall", "certificates renewed", "--json").json["hits"][0]["freshness"] == "unverifiable"
