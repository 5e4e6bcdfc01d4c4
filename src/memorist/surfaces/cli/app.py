"""The program: which commands there are, and how it ends.

Only the command that was asked for is built, with its own imports. An error the user can do something about is one line on
standard error and an exit code of its own (see `memorist.errors`); with `--json` it is also a JSON object on standard
output. A traceback means a fault of ours.
"""

import json
import os
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from memorist.commands import VERBS
from memorist.errors import Invalid, MemoristError

if TYPE_CHECKING:
    from memorist.surfaces.cli.spelling import Command

SHELL = {
    "edit": "Opens a memory in $VISUAL or $EDITOR, and revises it.",
    "project list": "Lists the scopes of the store with their memories; * marks the current project.",
    "config get": "Shows one setting.",
    "config set": "Sets one setting for this user.",
    "config unset": "Takes one setting back, so that the default holds.",
    "config list": "Lists every setting, and where it comes from.",
    "off": "Switches memory off: nothing is stored, nothing recalled.",
    "on": "Switches memory on again.",
    "bench": "Measures what memorist costs on this machine.",
}
COMMANDS = {verb.command: verb for verb in VERBS.values() if verb.command and " " not in verb.command}
ABOUT = """Usage: memorist COMMAND [ARGUMENTS] [OPTIONS]

  A memory for LLM agents: one SQLite file, no key, no network, no daemon.
"""
END = """
Every command takes --help; those on a store take --db, --project, --scope, --space and --json.
`memorist --version` tells the version."""


def run(arguments: Sequence[str]) -> int:
    """Runs one command and gives the exit code."""
    _prepare_streams()
    try:
        code = _run(list(arguments))
        sys.stdout.flush()
        return code
    except MemoristError as problem:
        return _failed(arguments, problem)
    except OSError as problem:
        _abandon_output()
        place = problem.filename or "standard output"
        return _failed(arguments, MemoristError(f"{problem.strerror or problem}: {place}"))


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("--help", "-h"):
        sys.stdout.write(_overview() + "\n")
        return 0
    name, words = _named(arguments)
    if name == "bench":
        from memorist.bench.command import main

        return main(words)
    from memorist.surfaces.cli import spelling, verbs

    command = _command(name)
    values = spelling.parse(command, words)
    if "help" in values:
        sys.stdout.write(spelling.help_of(command) + "\n")
        return 0
    return command.perform(verbs.Place.of(values), **values)


def _named(arguments: list[str]) -> tuple[str, list[str]]:
    """The command's name, of one word or two, and the words after it."""
    for length in (2, 1):
        name = " ".join(arguments[:length])
        if name in COMMANDS or name in SHELL:
            return name, arguments[length:]
    word = arguments[0]
    if word.startswith("-"):
        raise Invalid(f"{word[:60]} stands before a command; options go after it, see `memorist --help`")
    longer = [name for name in SHELL if name.startswith(f"{word} ")]
    if longer:
        raise Invalid(f"{word} is followed by another word: {', '.join(longer)}")
    from difflib import get_close_matches

    alike = get_close_matches(word, [*COMMANDS, *SHELL], 1)
    advice = f"; did you mean {alike[0]!r}?" if alike else "; see `memorist --help`"
    raise Invalid(f"there is no command {word[:60]!r}{advice}")


def _command(name: str) -> "Command":
    if name in COMMANDS and name != "backup":
        from memorist.surfaces.cli import verbs

        return verbs.command(COMMANDS[name])
    from memorist.surfaces.cli import keeping

    help = COMMANDS[name].help if name in COMMANDS else SHELL[name]
    return keeping.command(name, help)


def _overview() -> str:
    lines = [ABOUT]
    for part in ("writing", "reading", "keeping"):
        known = {name: verb.help for name, verb in COMMANDS.items() if verb.part == part}
        shown = known if part != "keeping" else known | SHELL
        lines += [f"{part.title()}:", *(f"  {name:<13} {help}" for name, help in shown.items()), ""]
    return "\n".join(lines).rstrip() + "\n" + END


# ---------------------------------------------------------------- how it ends


def _failed(arguments: Sequence[str], problem: MemoristError) -> int:
    from memorist.surfaces.cli.screen import aside

    if "--json" in takewhile(lambda argument: argument != "--", arguments):
        error = {"code": problem.code, "message": str(problem), "retry_safe": problem.retry_safe}
        sys.stdout.write(json.dumps({"error": error}) + "\n")
    aside(str(problem))
    return problem.exit_code


def _prepare_streams() -> None:
    """Somebody may have closed them, and no letter is too strange for a locale."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _abandon_output() -> None:
    """Standard output may be what failed; then nothing more must be written to it at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
