"""Slash commands and aliases at a shell."""

import pytest

from surfaces.conftest import Cli


@pytest.mark.covers("S3-23")
def test_a_slash_command_runs_and_answers(cli: Cli) -> None:
    added = cli.inside("slash", "/remember [warning] Never push on Fridays")
    assert (added.code, added.out) == (0, "added [id:1] warning: Never push on Fridays\n")
    found = cli.inside("slash", "/memory list warning", "--json")
    assert found.json["text"] == "[id:1] warning: Never push on Fridays"
    assert cli.inside("slash", "--help").out.startswith("Usage: memorist slash LINE")
    assert "slash" not in cli.inside("--help").out  # whoever read the document knows it


@pytest.mark.covers("S3-23", "W3-15")
def test_a_keyword_forgets_only_with_yes(cli: Cli) -> None:
    cli.inside("slash", "/remember Never push on Fridays")
    asked = cli.inside("slash", "/forget fridays")
    assert asked.code == 1 and asked.out.startswith("would forget [id:1]")
    assert cli.inside("count").out == "1\n"
    done = cli.inside("slash", "/forget fridays", "--yes")
    assert done.code == 0 and done.out.startswith("forgotten [id:1]")
    assert cli.inside("count").out == "0\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/erase all", "commands are /remember, /forget, /pin, /memory"),
        ("/forget 7", "no memory '7'"),
        ("", "no command"),
    ],
)
def test_what_is_no_command_is_one_line_and_an_exit_code(cli: Cli, line: str, words: str) -> None:
    ended = cli.inside("slash", line)
    assert ended.code > 1 and words in ended.err and ended.err.count("\n") == 1


@pytest.mark.covers("S3-13")
def test_aliases_at_a_shell(cli: Cli) -> None:
    cli.inside("remember", "Kubernetes runs in Frankfurt")
    added = cli.inside("alias", "k8s", "kubernetes", "container cluster")
    assert (added.code, "k8s also means kubernetes, container cluster" in added.out) == (0, True)
    assert "k8s" in cli.inside("aliases").out
    assert cli.inside("aliases", "--json").json["k8s"] == ["kubernetes", "container cluster"]
    cli.inside("alias", "k8s", "--remove")
    assert "k8s" not in cli.inside("aliases").out
    assert cli.inside("alias", "k8s").code > 1
