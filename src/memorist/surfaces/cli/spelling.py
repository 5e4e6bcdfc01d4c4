"""How commands are spelled, and how the words of a command line are read.

The options of a verb are taken from the facade's signature, so that an argument added there is an option here at once:
what can be given by position is an argument, the rest are options, and what takes several values is an option in the
singular that may be repeated. Measured for one recall: typer spends 230 ms on its imports, two thirds of them for
pydantic at the first value; argparse takes 12 ms but cannot read `remember -- -x`; getopt takes one and reads it.
"""

import getopt
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from memorist.commands import meaning
from memorist.errors import Invalid
from memorist.surfaces.cli import given

TYPES: Mapping[Any, str] = {
    Sequence: "texts", int: "whole", float: "number", bool: "flag", datetime: "time", Mapping: "json",
}  # fmt: skip
SEVERAL = ("texts", "paths")  # what may be given more than once
PLACEHOLDERS = {"text": "TEXT", "texts": "TEXT", "whole": "N", "number": "NUMBER", "time": "TIME", "json": "JSON"}
FLAGS = {"tags": "--tag", "files": "--file", "kinds": "--kind", "pinned": "--pin", "ids": "--id"}
SHORT = {"limit": "n"}


@dataclass(frozen=True, slots=True)
class Option:
    """One thing a command takes. Without a flag it is an argument, given by position."""

    name: str
    help: str
    flag: str = ""
    type: str = "text"
    needed: bool = False
    placeholder: str = ""

    @property
    def shown(self) -> str:
        """As it stands in the help."""
        if not self.flag:
            return self.name.upper()
        short = f"-{SHORT[self.name]}, " if self.name in SHORT else ""
        return f"{short}{self.flag} {self.placeholder or PLACEHOLDERS.get(self.type, '')}".rstrip()

    def read(self, said: str) -> Any:
        return given.READERS[self.type](said, self.flag or self.name.upper())


@dataclass(frozen=True, slots=True)
class Command:
    """What `memorist NAME …` does: `perform` takes a `Place` and the values, and gives the exit code."""

    name: str
    help: str
    options: tuple[Option, ...]
    perform: Callable[..., int]


JSON = Option("json", "Answers with one JSON document.", "--json", "flag")
PLACE = (
    Option("db", "The store's file; the usual one without it.", "--db", "path", placeholder="PATH"),
    Option("project", "The project; that of this folder without it.", "--project", placeholder="NAME"),
    Option("scope", "Only there: global, or a name and an id such as user/ann.", "--scope", placeholder="SCOPE"),
    Option("space", "The space; the usual one without it.", "--space", placeholder="NAME"),
    JSON,
)
HELP = Option("help", "Shows this and ends.", "--help", "flag")
FILTERS = (
    Option("kind", "Only this kind; may be repeated.", "--kind", "texts"),
    Option("tag", "Only with this tag, or one of these.", "--tag", "texts"),
    Option("state", "active, archived, superseded or erased; active without it.", "--state", "texts"),
)
BATCH = Option("batch", "One memory per line of standard input: plain text, or a JSON object.", "--batch", "flag")
WHY = Option("why", "Shows the factors of each score.", "--why", "flag")
YES = Option("yes", "Does not ask before it erases.", "--yes", "flag")
WATCH = Option(
    "watch", "Stays, and runs at the times of a cron line in UTC, until it is stopped.", "--watch", placeholder="CRON"
)
EXTRAS: Mapping[str, tuple[Option, ...]] = {
    "upkeep": (WATCH,),
    "remember": (BATCH,), "recall": (WHY,), "list": FILTERS, "count": FILTERS, "timeline": FILTERS,
    "forget": FILTERS, "erase": (*FILTERS, YES),
}  # fmt: skip


# ---------------------------------------------------------------- from the facade


def parameters_of(verb: str) -> dict[str, inspect.Parameter]:
    """The facade's own parameters of a verb; `**arguments` stands for those of recall."""
    from memorist.memory import Memory

    found = dict(inspect.signature(getattr(Memory, verb)).parameters)
    del found["self"]
    if found.pop("arguments", None):
        found |= {name: p for name, p in parameters_of("recall").items() if p.kind is p.KEYWORD_ONLY}
    return found


def options_of(verb: str) -> tuple[Option, ...]:
    """The facade's parameters, what only the command line has, and the place."""
    own = [_option(verb, parameter) for name, parameter in parameters_of(verb).items() if name != "scope"]
    return (*own, *EXTRAS.get(verb, ()), *PLACE)


def _option(verb: str, parameter: inspect.Parameter) -> Option:
    name, help = parameter.name, meaning(verb, parameter.name)
    if parameter.kind is parameter.VAR_POSITIONAL:
        return Option(name, help, type="texts")
    several = get_args(parameter.annotation)
    type = "reference" if {str, datetime} <= set(several) else TYPES.get(_base(parameter.annotation), "text")
    if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and name != "where":
        needed = parameter.default is parameter.empty and name not in ("text", "query")  # those may be piped in
        return Option(name, help, type=type, needed=needed)
    return Option(name, help, FLAGS.get(name, "--" + name.replace("_", "-")), type)


def _base(annotation: Any) -> Any:
    """What a parameter takes, without `| None`; of several the first, without its own parameters."""
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(part for part in get_args(annotation) if part is not NoneType)
    return get_origin(annotation) or annotation


# ---------------------------------------------------------------- reading a command line


def parse(command: Command, words: Sequence[str]) -> dict[str, Any]:
    """What was given, by name. Options may stand anywhere before `--`; a value may begin with a dash."""
    flagged = {option.flag: option for option in (*command.options, HELP) if option.flag}
    shorts = {f"-{SHORT[o.name]}": o for o in flagged.values() if o.name in SHORT} | {"-h": HELP}
    short = "".join(s[1:] + ("" if o.type == "flag" else ":") for s, o in shorts.items())
    long = [flag[2:] + ("" if option.type == "flag" else "=") for flag, option in flagged.items()]
    try:
        pairs, rest = getopt.gnu_getopt(list(words), short, long)
    except getopt.GetoptError as problem:
        dash = "; text that begins with a dash goes after --" if "not recognized" in problem.msg else ""
        raise Invalid(f"{problem.msg}{dash}; see `memorist {command.name} --help`") from problem
    values: dict[str, Any] = {}
    for flag, said in pairs:
        option = flagged.get(flag) or shorts[flag]
        value = True if option.type == "flag" else option.read(said)
        values[option.name] = [*values.get(option.name, []), value] if option.type in SEVERAL else value
    return values if "help" in values else values | _placed(command, rest)


def _placed(command: Command, rest: list[str]) -> dict[str, Any]:
    """The arguments by position."""
    places = [option for option in command.options if not option.flag]
    if places and places[-1].type in SEVERAL:
        places[-1:] = [places[-1]] * max(0, len(rest) - len(places) + 1)
    values: dict[str, Any] = {}
    for option, said in zip_longest(places, rest):
        if option is None:
            raise Invalid(f"{said[:60]!r} is one argument too many; put a text of several words in quotes")
        if said is None and option.needed:
            raise Invalid(f"{option.name.upper()} is missing; see `memorist {command.name} --help`")
        if said is not None:
            value = option.read(said)
            values[option.name] = [*values.get(option.name, []), value] if option.type in SEVERAL else value
    return values


def help_of(command: Command) -> str:
    """The help of one command."""
    places = [option for option in command.options if not option.flag]
    usage = "".join(f" {o.shown}" if o.needed else f" [{o.shown}]{'…' * (o.type in SEVERAL)}" for o in places)
    flags = [option for option in command.options if option.flag]
    lines = [f"Usage: memorist {command.name}{usage} [OPTIONS]", "", f"  {command.help}", ""]
    shown = [*places, *flags, HELP]
    width = max(len(option.shown) for option in shown) + 2
    return "\n".join([*lines, *(f"  {option.shown:<{width}}{option.help}" for option in shown)])
