"""The command line, the table of verbs and the facade say the same."""

import re
from pathlib import Path

import pytest

from memorist.commands import ARGUMENTS, SESSION_PARTS, VERBS, meaning
from memorist.surfaces.cli import app, arguments
from memorist.surfaces.cli.arguments import Command

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
AVAILABLE = sorted(set(re.findall(r"^### `([a-z_]+)\([^)]*\)` · available$", PAGE, re.M)))
NAMES = [*app.COMMANDS, *app.SHELL]
SPELLED = {
    "projects": "project list",
    "rename_project": "project rename",
    "merge_project": "project merge",
    "sessions": "session list",
    "narrate": "narrative add",
    "narratives": "narrative list",
    "add_task": "task add",
    "move_task": "task move",
    "tasks": "task list",
}
WITHOUT = (
    "remember_many",
    "assign",
    "close",
    "through",
    "session",
)  # a session is held in a program; `session …` has its parts


def test_the_table_lists_exactly_the_available_verbs() -> None:
    assert sorted(VERBS) == AVAILABLE


@pytest.mark.parametrize("verb", [name for name in AVAILABLE if name not in WITHOUT])
def test_a_command_takes_every_argument_of_its_verb(verb: str) -> None:
    command = VERBS[verb].command
    assert command == SPELLED.get(verb, verb.replace("_", "-"))
    taken = {option.name for option in app.command_named(command).options}
    assert set(arguments.parameters_of(verb)) <= taken


def test_many_are_remembered_by_an_option_of_remember() -> None:
    assert VERBS["remember_many"].command == "remember --batch"
    assert "--batch" in {option.flag for option in app.command_named("remember").options}


NOT_ON_A_STORE = ("off", "on", "completion", "model add", "model remove", "install", "uninstall", "plugin")
PROTOCOL = {"mcp": {"--db", "--project", "--space"}, "prompt": {"--tools"}}  # what they write is not for a screen
SERVES = {"serve": {"--db", "--project", "--space", "--json"}}  # requests name their scopes


@pytest.mark.parametrize("name", NAMES)
def test_every_command_on_a_store_takes_the_place_and_says_what_it_takes(name: str) -> None:
    command: Command = app.command_named(name)
    flags = {option.flag for option in command.options}
    on_a_store = not name.startswith(("config", "design", "key")) and name not in NOT_ON_A_STORE
    usual = {"--db", "--project", "--scope", "--space", "--json"} if on_a_store else {"--json"}
    assert flags >= (PROTOCOL | SERVES).get(name, usual)
    shown = arguments.help_of(command)
    assert f"Usage: memorist {name}" in shown
    assert all(option.shown in shown and option.help in shown for option in command.options)


@pytest.mark.parametrize("name", NAMES)
def test_no_two_options_of_a_command_are_spelled_the_same(name: str) -> None:
    spelled = [option.flag or option.name for option in app.command_named(name).options]
    assert len(spelled) == len(set(spelled))


def test_every_argument_of_the_facade_is_explained_and_nothing_else_is() -> None:
    used = {(verb, name) for verb in VERBS for name in arguments.parameters_of(verb) if verb != "remember_many"}
    assert all(meaning(verb, name) for verb, name in used)
    named = [name.rpartition(".") for name in ARGUMENTS]
    assert {name for verb, _, name in named if verb not in SESSION_PARTS} == {name for _, name in used}


def test_writing_verbs_are_those_of_the_writing_part() -> None:
    kept = ("upkeep", "assign", "rescan")
    assert all(verb.writes == (verb.part == "writing" or verb.name in kept) for verb in VERBS.values())


def test_the_overview_names_every_command() -> None:
    shown = app._overview()
    assert all(f"  {name} " in shown for name in [*app.COMMANDS, *app.SHELL])
