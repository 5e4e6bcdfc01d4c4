"""The mark of our entries in somebody's settings: the command that they run.

A hook is ours that runs `memorist hook CLIENT …`, and a server that runs `memorist mcp`: by name, by a path, or through
launchers such as `uvx` and `env`, with their options. A command that only mentions these words, as `echo` does, that hands
them to another program, or that goes on with another command, is somebody else's.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

MEMORIST = "memorist"
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|\\ |[^\s"'])+""")  # of a command, as a shell reads it
_GOES_ON = re.compile(r"""^(?:"[^"]*"|'[^']*'|\\.|[^"'\\])*?(?:[;|\n]|&&)""")  # with another command
_VARIABLE = re.compile(r"\w+=(?!=)")  # `uvx memorist==0.2` sets none
_PROGRAM = re.compile(r"(?:.*[\\/])?memorist(?:\.(?:exe|cmd|bat))?(?:\[[\w,-]+\])?(?:(?:@|==)[\w.]+)?")
_PYTHON = re.compile(r"(?:.*[\\/])?(?:python[\d.]*|py)(?:\.exe)?")
# Launchers, and which of their options take the next word. Those of uv are too many to list, so those that take none are.
_LAUNCHERS = {
    _PYTHON: re.compile(r"-[A-Za-z]*[XW]"),
    re.compile(r"(?:.*[\\/])?env(?:\.exe)?"): re.compile(r"-[A-Za-z]*[uC]|--unset|--chdir"),
    re.compile(r"(?:.*[\\/])?(?:uvx?|pipx)(?:\.exe)?"): re.compile(
        r"(?!(?:--|-[qvnmU]+|--(?:quiet|verbose|module|isolated|offline|refresh|upgrade|locked|frozen|no-.*|.*=.*))$)-.*"
    ),
}
_VERBS = ("run", "tool")  # of launchers


def words_of(command: str) -> list[str]:
    """The words of a command, without quotes."""
    return [re.sub(r"""["']|\\(?= )""", "", word) for word in _WORD.findall(command)]


def hook_command(client: str, event: str) -> str:
    """A hook of ours as we write it."""
    return f"{MEMORIST} hook {client} {event}"


def sets_variable(word: str) -> bool:
    return _VARIABLE.match(word) is not None


def called(words: Sequence[str]) -> slice | None:
    """The words that call our program, from its launcher on, if it has one. Variables that the command sets come before
    them, what our program is told after them. None if another program is called."""
    first = next((at for at, word in enumerate(words) if not sets_variable(word)), len(words))
    for at in range(first, len(words) - 1):
        if _PROGRAM.fullmatch(words[at]) and words[at + 1] in ("hook", "mcp"):
            return slice(first, at + 1) if at == first or _only_launch(words[first:at]) else None
    return None


def _only_launch(words: Sequence[str]) -> bool:
    """Whether these words name launchers and what they are told, and no other program."""
    valued: re.Pattern[str] | None = None
    for before, word in pairwise(("", *words)):
        if valued is not None and (
            valued.fullmatch(before) or word.startswith("-") or word in _VERBS or sets_variable(word)
        ):
            continue
        valued = next((options for name, options in _LAUNCHERS.items() if name.fullmatch(word)), None)
        if valued is None:
            return False
    return True


def is_hook(command: object, client: str) -> bool:
    """Whether that command is a hook of ours for that agent, from this installation or another."""
    words = words_of(command) if isinstance(command, str) and not _GOES_ON.match(command) else []
    at = called(words)
    return at is not None and words[at.stop : at.stop + 2] == ["hook", client]


def is_server(entry: object) -> bool:
    """Whether that server is ours, from this installation or another."""
    words = server_words(entry)
    at = called(words)
    return at is not None and words[at.stop] == "mcp"


def hooks_in(entry: object) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """The hooks of an entry of an event, each with its place in it. In some formats the entry itself is the hook."""
    if not isinstance(entry, Mapping):
        return
    inner = entry.get("hooks")
    if "command" in entry:
        yield (), entry
    for number, hook in enumerate(inner if isinstance(inner, list) else []):
        yield ("hooks", number), hook


def runs_ours(hook: object, client: str) -> bool:
    return isinstance(hook, Mapping) and is_hook(hook.get("command"), client)


def server_words(entry: object) -> list[str]:
    """The words that start a server, in either format."""
    if not isinstance(entry, Mapping):
        return []
    command, args = entry.get("command"), entry.get("args", [])
    return [str(word) for word in (*_listed(command), *_listed(args))]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


# ---------------------------------------------------------------- paths that are gone


def is_gone(words: Sequence[str]) -> bool:
    """Whether a call of ours leads to a file that is gone."""
    return _gone(words) is not None


def hook_by_name(command: str) -> str:
    """A hook of ours that calls us by name instead of by a path that is gone. All else stays."""
    places, gone = [*_WORD.finditer(command)], _gone(words_of(command))
    if gone is None:
        return command
    return command[: places[gone.start].start()] + MEMORIST + command[places[gone.stop - 1].end() :]


def server_by_name(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same of a server."""
    words = server_words(entry)
    if gone := _gone(words):
        words[gone] = [MEMORIST]
    if isinstance(entry["command"], list):
        return {**entry, "command": words}
    return {**entry, "command": words[0], "args": words[1:]}


def _gone(words: Sequence[str]) -> slice | None:
    """The words that our name can replace: a path to us that is gone, or a Python that is gone and what makes it run us.
    Other launchers stay, because we would lose the folder and the variables that they may set."""
    at = called(words)
    if at is None:
        return None
    if _is_missing(words[at.stop - 1]):
        return slice(at.stop - 1, at.stop)
    return at if _PYTHON.fullmatch(words[at.start]) and _is_missing(words[at.start]) else None


def _is_missing(program: str) -> bool:
    """What only a shell or the agent finds, by its name or through a variable, counts as there."""
    return Path(program).is_absolute() and "$" not in program and shutil.which(program) is None
