"""The program: its commands, and how it ends.

Only the requested command is built, with its own imports. An error that the user can fix is one line on standard error
and an exit code of its own (see `memorist.errors`); with `--json` it is also a JSON object on standard output. A
traceback means a bug in memorist.
"""

import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING

from memorist.commands import VERBS
from memorist.errors import Invalid, MemoristError, meant

if TYPE_CHECKING:
    from memorist.surfaces.cli.arguments import Command

SHELL = {
    "import": "Imports memories and documents from files, unconfirmed; --own brings back an export of your own as it was.",
    "export": "Writes this project as lines of JSON, or its active memories as Markdown; --all writes every project.",
    "index": "Extracts tasks, decisions, claims, notes and names from the project's files, and drops those that are gone.",
    "edit": "Opens a memory in $VISUAL or $EDITOR, and revises it.",
    "session list": VERBS["sessions"].help,
    "session show": "Shows what was said in a conversation.",
    "session turn": "Adds what somebody said to a conversation, or begins a new one with it.",
    "session note": "Keeps a note for as long as the conversation lasts.",
    "session close": "Ends a conversation: keeps what was found in it, and a summary.",
    "session fork": "Begins another conversation with what was said in this one.",
    "sync": "Keeps MEMORY.md and the store in step: reads your edits back, and writes memories to the page.",
    "project list": VERBS["projects"].help,
    "project show": "Shows which project this is and why, and where else its memories may lie.",
    "project rename": VERBS["rename_project"].help,
    "project move": "Makes this folder the project that had another path, with all its memories.",
    "project merge": VERBS["merge_project"].help,
    "project assign": VERBS["assign"].help,
    "narrative add": VERBS["narrate"].help,
    "narrative list": VERBS["narratives"].help,
    "narrative show": "Shows a narrative: what it tells of, what it follows, and what follows it.",
    "task add": VERBS["add_task"].help,
    "task list": VERBS["tasks"].help,
    "task show": "Shows a task: what it waits for, its result, and the memories of it.",
    "task move": VERBS["move_task"].help,
    "design list": "Lists the designs; * marks the one in use.",
    "design show": "Shows a design as a TOML file, which can be edited into one of your own.",
    "design use": "Uses that design from now on.",
    "model list": "Lists the models for meaning and second opinions, what each costs, and which are used.",
    "model use": "Uses that model from now on, and says what the store needs for it.",
    "model try": "Asks the chat model one thing, and says what came of it.",
    "config get": "Shows one setting.",
    "config set": "Sets one setting for this user.",
    "config unset": "Removes one of your settings, so that the default holds again.",
    "config list": "Lists every setting, and where it comes from.",
    "serve": "Serves the memory over HTTP, to this machine, or with keys to others.",
    "key add": "Makes a key for a server, and shows it once.",
    "key list": "Lists the keys of a server, without the keys' secrets.",
    "key rotate": "Replaces a key with a new one that has the same rights.",
    "key remove": "Removes a key; whoever has it is refused from then on.",
    "off": "Switches memory off: nothing is stored, nothing recalled.",
    "on": "Switches memory on again.",
    "install": "Gives coding agents this memory: adds hooks and tools to their settings, and shows each line first.",
    "uninstall": "Removes exactly what `install` added to the settings of coding agents.",
    "plugin": "Writes plugins for coding agents into a folder, for those who prefer them to lines in settings.",
    "receipts": "Lists what coding agents were told here, for how many tokens, and what of it was used.",
    "mcp": "Serves an agent on standard input and output (Model Context Protocol).",
    "prompt": "Writes what to tell an agent about its memory: when to ask it, and what to keep.",
    "bench": "Measures how well your own store answers, without changing it.",
    "completion": "Writes a script that completes commands and options, for bash, zsh or fish.",
}
# Commands of the founding documents, which the overview does not show.
SEEDS = {
    "memory_store": "Keeps one fact, decision or piece of context.",
    "memory_query": "Finds by words; votes and recency decide among what fits.",
    "memory_reinforce": "This memory helped: its score rises.",
    "memory_demote": "This memory is wrong, stale or beside the point: its score falls.",
    "memory_update": "Corrects a memory in place; its score stays.",
    "narrative_update": "Tells what was thought and why, in the thread of its topic.",
    "narrative_search": "Finds a narrative by its id or by words; the latest without any.",
    "hook": "Answers an event of a coding agent, whose settings call it: JSON in, JSON out.",
    "memory": "Does what a call of the one tool asks for: remember, recall, search, list, forget, link, tag or related.",
    "slash": "Runs a slash command: /remember, /forget, /pin, /memory or /consolidate.",
}
SPELLED = {"memories export": "export"} | {name.replace("_", "-"): name for name in SEEDS}
# The module of each command, by the first word of its name; verbs are in `verbs`.
MODULES = {
    **dict.fromkeys(("backup", "import", "export", "index", "edit"), "files"),
    **dict.fromkeys(("design", "config", "off", "on"), "config"),
    "project": "project",
    **dict.fromkeys(("session", "ingest"), "session"),
    "model": "model",
    **dict.fromkeys(("mcp", "prompt"), "mcp"),
    **dict.fromkeys(("serve", "key"), "serve"),
    **dict.fromkeys(("install", "uninstall", "receipts", "hook", "plugin"), "agents"),
    **dict.fromkeys(("narrative", "task"), "work"),
    **dict.fromkeys((name for name in SEEDS if name != "hook"), "seeds"),
    **{name: name for name in ("bench", "completion", "sync")},
}
# Names of the commands in other programs.
ELSEWHERE = {
    **dict.fromkeys(("add", "store", "save", "put", "note", "new"), "remember"),
    **dict.fromkeys(("search", "find", "query", "ask"), "recall"),
    **dict.fromkeys(("delete", "del", "rm", "remove", "drop"), "forget"),
    **dict.fromkeys(("show", "cat", "view"), "get"),
    **dict.fromkeys(("update", "change"), "revise"),
    **dict.fromkeys(("info", "stats"), "status"),
    **dict.fromkeys(("gc", "vacuum"), "compact"),
    **dict.fromkeys(("wipe", "purge", "clear", "reset"), "erase"),
    **dict.fromkeys(("ls", "memories"), "list"),
    "set": "config set",
    "models": "model list",
    "sessions": "session list",
    "version": "--version",
    "dump": "export",
    "load": "import",
    "check": "doctor",
    "prune": "upkeep",
    "confirm": "review",
}
COMMANDS = {verb.command: verb for verb in VERBS.values() if verb.command and " " not in verb.command}
PLACE_FLAGS = ("--db", "--project", "--scope", "--space", "--url")
ABOUT = """Usage: memorist COMMAND [ARGUMENTS] [OPTIONS]

  A memory for LLM agents: one SQLite file, no key, no network, no daemon.
"""
END = """
Every command takes --help; those on a store take --db, --project, --scope, --space, --url and --json.
`memorist --version` shows the version."""


def run(arguments: Sequence[str]) -> int:
    """Runs one command and returns the exit code."""
    _prepare_streams()
    if arguments[:1] == ["hook"] and not {"--help", "-h"} & {*arguments}:
        return _hooked(arguments[1:])
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


def _hooked(words: Sequence[str]) -> int:
    """Runs an agent's hook before anything is parsed: it must end with 0 whatever its arguments are."""
    from memorist.surfaces.cli import hook

    hook.run(words)
    _abandon_output()
    return 0


def _run(arguments: list[str]) -> int:
    first, rest = _place_first(arguments)
    while rest[:1] == ["help"]:
        rest = [*rest[1:], "--help"]
    if not rest or rest[0] in ("--help", "-h"):
        sys.stdout.write(_overview() + "\n")
        return 0
    if rest[1:2] in (["--help"], ["-h"]) and (longer := _longer(rest[0])):
        sys.stdout.write(_family(rest[0], longer) + "\n")
        return 0
    name, words = _named(rest)
    words = [*first, *words]
    from memorist.surfaces.cli import arguments as given
    from memorist.surfaces.cli import verbs

    command = command_named(name)
    values = given.parse(command, words)
    if "help" in values:
        sys.stdout.write(given.help_of(command) + "\n")
        return 0
    from memorist.surfaces.cli import progress

    place = verbs.Place.of(values)
    verbs.must_reach(place, command, name in COMMANDS and name not in MODULES, values)
    with progress.shown(name):
        return command.perform(place, **values)


def _place_first(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Accepts place options before the command (`memorist --db notes.json recall …`), as other programs do."""
    place: list[str] = []
    rest = list(arguments)
    while rest and (rest[0] == "--json" or rest[0].partition("=")[0] in PLACE_FLAGS):
        alone = rest[0] == "--json" or "=" in rest[0]
        place, rest = [*place, *rest[: 1 if alone else 2]], rest[1 if alone else 2 :]
    if place and not rest:
        raise Invalid(f"{place[0]} is followed by no command; see `memorist --help`")
    return place, rest


def _named(arguments: list[str]) -> tuple[str, list[str]]:
    """The command's name, of one word or two, and the words after it."""
    for length in (2, 1):
        typed = " ".join(arguments[:length])
        name = SPELLED.get(typed, typed)
        if any(name in known for known in (COMMANDS, SHELL, SEEDS)):
            return name, arguments[length:]
    word = arguments[0]
    if word.startswith("-"):
        raise Invalid(f"{word[:60]} stands before a command; options go after it, see `memorist --help`")
    if longer := _longer(word):
        raise Invalid(f"{word} is no command by itself; there are {', '.join(longer)}")
    raise Invalid(f"there is no command {word[:60]!r}{_advice(word) or '; see `memorist --help`'}")


def _longer(word: str) -> list[str]:
    """The commands of two words that begin with this one."""
    return [name for name in SHELL if name.startswith(f"{word} ")]


def _advice(word: str) -> str:
    if known := ELSEWHERE.get(word.lower()):
        return f"; did you mean {known!r}?"
    return meant(word, dict.fromkeys([*COMMANDS, *(name.partition(" ")[0] for name in SHELL), "help"]))


def command_named(name: str) -> "Command":
    module = MODULES.get(name.partition(" ")[0])
    if module is None:
        from memorist.surfaces.cli import verbs

        return verbs.command(COMMANDS[name])
    from memorist.surfaces.cli.arguments import Command

    help = COMMANDS[name].help if name in COMMANDS else (SHELL | SEEDS)[name]
    options, perform = import_module(f"memorist.surfaces.cli.{module}").commands[name]
    return Command(name, help, options, perform)


def _overview() -> str:
    from memorist.surfaces.cli.screen import filled, two_columns

    lines = [filled(ABOUT, 2)]
    for part in ("writing", "reading", "keeping"):
        known = {name: verb.help for name, verb in COMMANDS.items() if verb.part == part}
        shown = known if part != "keeping" else known | SHELL
        lines += [f"{part.title()}:", *two_columns([*shown.items()], max(map(len, SHELL))), ""]
    return "\n".join(lines).rstrip() + "\n" + filled(END, 0)


def _family(word: str, names: list[str]) -> str:
    from memorist.surfaces.cli.screen import filled, two_columns

    end = f"`memorist {names[0]} --help` shows what that one takes."
    usage = filled(f"Usage: memorist {word} COMMAND [ARGUMENTS] [OPTIONS]", 2)
    return "\n".join([usage, "", *two_columns([(name, SHELL[name]) for name in names]), "", filled(end, 0)])


# ---------------------------------------------------------------- how it ends


def _failed(arguments: Sequence[str], problem: MemoristError) -> int:
    from memorist.surfaces.cli.screen import aside

    if "--json" in takewhile(lambda argument: argument != "--", arguments):
        error = {"code": problem.code, "message": str(problem), "retry_safe": problem.retry_safe}
        sys.stdout.write(json.dumps({"error": error}) + "\n")
    aside(str(problem))
    return problem.exit_code


def _prepare_streams() -> None:
    """Prepares the standard streams: they may be closed, and any character must print in any locale."""
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
