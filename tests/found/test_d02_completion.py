"""D2: bash, zsh and fish complete commands, options and known values, from the tables that the help is made of."""

import shutil
import subprocess
from pathlib import Path

import pytest

from memorist.kinds import KINDS
from memorist.surfaces.cli import app
from surfaces.conftest import Cli

pytestmark = pytest.mark.covers("D2")
BASH = shutil.which("bash")
NAMES = [*app.COMMANDS, *app.SHELL]


@pytest.fixture
def script(cli: Cli, tmp_path: Path) -> Path:
    file = tmp_path / "memorist.bash"
    file.write_text(cli.inside("completion", "bash").out)
    return file


def offered(script: Path, *typed: str, folder: Path | None = None) -> list[str]:
    """What bash itself offers for the last of these words, as its tab key would ask for it."""
    assert BASH
    ask = """source "$1"; shift; COMP_WORDS=(memorist "$@"); COMP_CWORD=$#; compopt() { echo "compopt $*"; }
    $(complete -p memorist | sed 's/.*-F \\([^ ]*\\).*/\\1/') memorist; printf '%s\\n' "${COMPREPLY[@]}" """
    done = subprocess.run([BASH, "-c", ask, "bash", script, *typed], capture_output=True, cwd=folder, timeout=60)
    assert done.stderr == b""
    return done.stdout.decode().split("\n")[:-1]


@pytest.mark.skipif(not BASH, reason="no bash here")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["rem"], ["remember"]),
        (["comp"], ["compact", "completion"]),
        (["design", ""], ["list", "show", "use"]),
        (["design", "use", "c"], ["curated"]),
        (["recall", "x", "--se"], ["--search", "--session"]),
        (["recall", "--search", "a"], ["archive", "all"]),
        (["recall", "--search", "=", "a"], ["archive", "all"]),
        (["recall", "-n", ""], [""]),
        (["list", "--state", "ar"], ["archived"]),
        (["remember", "x", "--kind", "dec"], ["decision"]),
        (["remember", "--title", ""], [""]),
        (["remember", "--key", ""], [""]),
        (["--db", "x.db", "--space", "list", "fo"], ["forget"]),
        (["--db", ""], ["compopt -o default", ""]),
        (["import", ""], ["compopt -o default", ""]),
        (["import", "--dr"], ["--dry-run"]),
        (["export", "--style", ""], ["jsonl", "markdown"]),
        (["context", "--style", "m"], ["markdown"]),
        (["feedback", "1", "u"], ["useful"]),
        (["link", "1", "2", "sup"], ["supersedes"]),
        (["config", "get", "bud"], ["budget"]),
        (["config", "set", "design", "t"], ["tiers"]),
        (["config", "set", "budget", "tie"], [""]),
        (["log", "--verb", "una"], [""]),
        (["log", "--verb", "unp"], ["unpinned"]),
        (["help", "why"], ["why-not"]),
        (["completion", "f"], ["fish"]),
        (["xyzzy", ""], [""]),
    ],
)
def test_bash_offers(script: Path, typed: list[str], expected: list[str]) -> None:
    assert offered(script, *typed) == expected


@pytest.mark.skipif(not BASH, reason="no bash here")
@pytest.mark.parametrize("name", NAMES)
def test_bash_offers_every_option_of_every_command(script: Path, name: str) -> None:
    options = [option.flag for option in app.command_named(name).options if option.flag]
    assert set(offered(script, *name.split(), "--")) == {*options, "--help"}
    assert name.split()[0] in offered(script, name.split()[0])


@pytest.mark.skipif(not BASH, reason="no bash here")
def test_bash_offers_every_kind(script: Path) -> None:
    assert offered(script, "recall", "--kind", "") == list(KINDS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_the_script(cli: Cli, shell: str) -> None:
    text = cli.inside("completion", shell).out
    for name in NAMES:
        flags = [option.flag for option in app.command_named(name).options if option.flag]
        assert all((f" -l {flag[2:]} " if shell == "fish" else f"{flag} ") in text for flag in flags), name


def test_an_unknown_shell_is_refused(cli: Cli) -> None:
    said = cli.inside("completion", "tcsh")
    assert said.code == 2 and "there is one for bash, zsh, fish" in said.err
