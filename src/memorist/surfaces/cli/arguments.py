"""How commands are spelled, and how the words of a command line are read.

The options of a verb come from the facade's signature, so that an argument added there is an option here at once:
parameters that can be positional become arguments, the rest options, and a parameter with several values becomes an
option in the singular that may be repeated. Measured for one recall: typer spends 230 ms on its imports, two thirds of
them for pydantic at the first value; argparse takes 12 ms but cannot read `remember -- -x`; getopt takes one and reads
it.

The values are converted to what the facade takes. A refusal names the place and the fix; nothing is guessed.
"""

import getopt
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from memorist.commands import meaning
from memorist.errors import Invalid, Refused, meant
from memorist.lazy import dataclass
from memorist.store.where import FIELDS
from memorist.surfaces.cli import progress
from memorist.surfaces.cli.screen import aside, filled, one_line, two_columns
from memorist.text.visible import decoded

TYPES: Mapping[Any, str] = {
    Sequence: "texts", int: "whole", float: "number", bool: "flag", datetime: "time", Mapping: "json",
}  # fmt: skip
SEVERAL = ("texts", "paths")  # parameters that may be given more than once
PLACEHOLDERS = {"text": "TEXT", "texts": "TEXT", "whole": "N", "number": "NUMBER", "time": "TIME", "json": "JSON"}
FLAGS = {
    "tags": "--tag", "files": "--file", "kinds": "--kind", "pinned": "--pin", "ids": "--id", "verbs": "--verb",
    "memories": "--memory", "criteria": "--criterion",
}  # fmt: skip
SHORT = {"limit": "n", "help": "h", "follow": "f"}
# What other programs call an option.
ELSEWHERE = {
    **dict.fromkeys(("type", "category"), "kind"),
    **dict.fromkeys(("top", "top-k", "count", "max", "max-results"), "limit"),
    **dict.fromkeys(("label", "labels"), "tag"),
    **dict.fromkeys(("format", "output"), "style"),
    **dict.fromkeys(("force", "assume-yes"), "yes"),
    "namespace": "scope",
    "pinned": "pin",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a command. Without a flag it is an argument, given by position."""

    name: str
    help: str
    flag: str = ""
    type: str = "text"
    needed: bool = False
    placeholder: str = ""

    @property
    def shown(self) -> str:
        """As the help shows it."""
        if not self.flag:
            return self.name.upper()
        short = f"-{SHORT[self.name]}, " if self.name in SHORT else ""
        return f"{short}{self.flag} {self.placeholder or PLACEHOLDERS.get(self.type, '')}".rstrip()

    def take(self, said: str, values: dict[str, Any]) -> None:
        """Converts a word, and adds it to the values."""
        value = READERS[self.type](said, self.flag or self.name.upper()) if self.type != "flag" else True
        values[self.name] = [*values.get(self.name, []), value] if self.type in SEVERAL else value


@dataclass(frozen=True, slots=True)
class Command:
    """What `memorist NAME …` does: `perform` takes a `Place` and the values, and returns the exit code."""

    name: str
    help: str
    options: tuple[Option, ...]
    perform: Callable[..., int]


# The commands of a module: by name, the options and the function of each.
Commands = Mapping[str, tuple[tuple[Option, ...], Callable[..., int]]]
JSON = Option("json", "Answers with one JSON document.", "--json", "flag")
DB = Option("db", "The store's file; your own store without it.", "--db", "path", placeholder="PATH")
WHICH_PROJECT = Option(
    "project", "The project; that of the current folder without it.", "--project", placeholder="NAME"
)
SCOPE = Option(
    "scope", "Only this scope: global, or a kind and a name such as user/ann.", "--scope", placeholder="SCOPE"
)
SPACE = Option("space", "The space; that of your settings without it.", "--space", placeholder="NAME")
URL = Option(
    "url",
    "A server that has the store, instead of a file; MEMORIST_TOKEN is the key for it.",
    "--url",
    placeholder="URL",
)
PLACE = (DB, WHICH_PROJECT, SCOPE, SPACE, URL, JSON)
HELP = Option("help", "Shows this help.", "--help", "flag")
USER = Option("user", "Only of this user: ann means user/ann.", "--user", placeholder="NAME")
FILTERS = (
    Option("kind", "Only this kind; may be repeated.", "--kind", "texts"),
    Option("tag", "Only with this tag, or one of these.", "--tag", "texts"),
    Option("state", "active, archived, superseded or erased; active without it.", "--state", "texts"),
    USER,
)
BATCH = Option("batch", "One memory per line of standard input: plain text, or a JSON object.", "--batch", "flag")
MESSAGES = Option(
    "messages", "A conversation, kept as the turns of --session: a file of chat messages, as a JSON list or one JSON object per "
    "line; - reads standard input.", "--messages", "path", placeholder="FILE",
)  # fmt: skip
WHY = Option("why", "Shows the factors of each score.", "--why", "flag")
EVERY_KIND = Option(
    "all",
    "Also turns, sessions, tasks and the like, which a question finds only when it asks for them.",
    "--all",
    "flag",
)
YES = Option("yes", "Does not ask before it erases.", "--yes", "flag")
WATCH = Option(
    "watch", "Stays, and runs at the times of a cron line in UTC, else of prune_schedule or at four, until it is stopped.",
    "--watch", placeholder="[CRON]",
)  # fmt: skip
FOLLOW = Option("follow", "Stays, and shows what is done from now on, until it is stopped.", "--follow", "flag")
EXTRAS: Mapping[str, tuple[Option, ...]] = {
    "log": (FOLLOW,),
    "upkeep": (WATCH,),
    "remember": (BATCH, MESSAGES), "recall": (WHY,), "list": (*FILTERS, EVERY_KIND), "count": FILTERS, "timeline": FILTERS,
    "forget": FILTERS, "erase": (*FILTERS, YES),
}  # fmt: skip
# Verbs on one memory that take several on the command line; not `tag` and `feedback`, because the words after their id
# are no ids.
ON_SEVERAL = ("pin", "unpin", "forget", "restore", "erase", "get")


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
    """The facade's parameters, the options that only the command line has, and the place."""
    own = [_option(verb, parameter) for name, parameter in parameters_of(verb).items() if name != "scope"]
    return (*own, *EXTRAS.get(verb, ()), *PLACE)


def _option(verb: str, parameter: inspect.Parameter) -> Option:
    name, help = parameter.name, meaning(verb, parameter.name)
    if parameter.kind is parameter.VAR_POSITIONAL:
        return Option(name, help, type="texts")
    several = get_args(parameter.annotation)
    type = "reference" if {int, date} <= set(several) else TYPES.get(_base(parameter.annotation), "text")
    if name == "id" and verb in ON_SEVERAL:
        return Option(name, f"{help} Several may be given.", type="texts", needed=parameter.default is parameter.empty)
    if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and name != "where":
        needed = parameter.default is parameter.empty and name not in ("text", "query")  # those may be piped in
        return Option(name, help, type=type, needed=needed)
    return Option(name, help, FLAGS.get(name, "--" + name.replace("_", "-")), type)


def _base(annotation: Any) -> Any:
    """The type of a parameter, without `| None`; of several types the first, without its own parameters."""
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(part for part in get_args(annotation) if part is not NoneType)
    return get_origin(annotation) or annotation


# ---------------------------------------------------------------- reading a command line


def parse(command: Command, words: Sequence[str]) -> dict[str, Any]:
    """The values by name. Options may stand anywhere before `--`; a value may begin with a dash."""
    flagged = _flagged(command)
    short = "".join(flag[1:] + ":" * (option.type != "flag") for flag, option in flagged.items() if len(flag) == 2)
    long = [flag[2:] + "=" * (option.type != "flag") for flag, option in flagged.items() if len(flag) > 2]
    try:
        pairs, rest = getopt.gnu_getopt(_with_values(words) if WATCH in command.options else list(words), short, long)
    except getopt.GetoptError as problem:
        raise Invalid(f"{_wrong(problem, command, flagged)}; see `memorist {command.name} --help`") from problem
    values: dict[str, Any] = {}
    for flag, said in pairs:
        flagged[flag].take(said, values)
    return values if "help" in values else _placed(command, rest, values)


def _with_values(words: Sequence[str]) -> list[str]:
    """The words with a value after every `--watch`, which may lack one: getopt knows no optional values."""
    bare = [next is None or next.startswith("-") for _, next in zip_longest(words, words[1:])]
    return [f"{word}=" if word == WATCH.flag and alone else word for word, alone in zip(words, bare, strict=True)]


def _wrong(problem: getopt.GetoptError, command: Command, flags: Iterable[str]) -> str:
    """What is wrong with an option, and what to do; for example, an option that names the store for a command that uses
    none."""
    name = problem.opt
    if "not recognized" not in problem.msg:
        return problem.msg
    if not any(option.name == name for option in PLACE):
        return problem.msg + _advice(name, flags)
    why = "works on this machine, and not on a server" if name == "url" else f"takes no --{name}"
    return f"`memorist {command.name}` {why}; leave --{name} out"


def _advice(word: str, flags: Iterable[str]) -> str:
    """The option that was probably meant, if one is similar, or the filter."""
    known = {flag[2:]: flag for flag in flags if flag.startswith("--")}
    if (other := ELSEWHERE.get(word)) in known:
        return f"; did you mean --{other}?"
    if alike := meant(word, known):
        return alike.replace("'", "--", 1).replace("'", "")
    if word in FIELDS and "where" in known:
        value = "true" if FIELDS[word].type == "bool" else '"…"'
        return f"; did you mean --where '{{\"{word}\": {value}}}'?"
    return "; text that begins with a dash goes after --"


def _flagged(command: Command) -> dict[str, Option]:
    """The options by their flags, long and short."""
    options = [option for option in (*command.options, HELP) if option.flag]
    return {option.flag: option for option in options} | {
        f"-{SHORT[option.name]}": option for option in options if option.name in SHORT
    }


def _placed(command: Command, rest: list[str], values: dict[str, Any]) -> dict[str, Any]:
    """The values including the positional arguments."""
    places = [option for option in command.options if not option.flag]
    if places and places[-1].type in SEVERAL:
        places[-1:] = [places[-1]] * max(int(places[-1].needed), len(rest) - len(places) + 1)
    for option, said in zip_longest(places, rest):
        if option is None:
            raise Invalid(f"{said[:60]!r} is one argument too many; {_too_many(command)}")
        if said is not None:
            option.take(said, values)
        elif option.needed:
            raise Invalid(f"{option.name.upper()} is missing; see `memorist {command.name} --help`")
    return values


def _too_many(command: Command) -> str:
    """What to do about an argument too many: a text needs quotes, an id needs a command of its own."""
    taken = {option.name for option in command.options if not option.flag}
    if taken & {"text", "query", "content", "means", "line"}:
        return "put a text of several words in quotes"
    return f"`memorist {command.name} --help` shows what it takes"


def help_of(command: Command) -> str:
    """The help text of one command."""
    places = [option for option in command.options if not option.flag]
    usage = "".join(f" {o.shown if o.needed else f'[{o.shown}]'}{'…' * (o.type in SEVERAL)}" for o in places)
    shown = [*places, *(option for option in command.options if option.flag), HELP]
    rows = [(option.shown, option.help) for option in shown]
    head = [filled(f"Usage: memorist {command.name}{usage} [OPTIONS]", 2), "", filled(f"  {command.help}", 2), ""]
    return "\n".join([*head, *two_columns(rows)])


# ---------------------------------------------------------------- what was given

LARGEST_TEXT = 4_000_004  # bytes: a million characters of four bytes, and the byte order mark
LARGEST_BATCH = 1 << 28  # bytes of drafts in one call
LOOKS_LIKE_A_TIME = re.compile(r"\d{4}-\d\d")
EXAMPLE = "2026-05-01T12:00+02:00"


def at_terminal() -> bool:
    """Whether a person sits at the keyboard. With a closed standard input nobody does."""
    return sys.stdin is not None and sys.stdin.isatty()


def agreed(question: str) -> bool:
    """Asks at the terminal; without a terminal, only `--yes` counts."""
    if not at_terminal():
        raise Refused(f"without a terminal to ask at, this needs --yes: {question}")
    with progress.apart():
        sys.stderr.write(filled(f"memorist: {one_line(question)}", 2, sys.stderr) + " [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")


def declined() -> int:
    """Reports that the person said no. → the exit code."""
    aside("nothing was done")
    return 1


def text_or_stdin(text: str | None, what: str, *, required: bool) -> str | None:
    """The text itself; standard input for `-`, and for a required text that is missing while something is piped in."""
    if text is not None and text != "-":
        return text
    if text is None and not required:
        return None
    if text is None and (sys.stdin is None or at_terminal()):
        raise Invalid(f"the {what} is missing; give it as an argument, or pipe it in")
    read = decoded(_stdin(LARGEST_TEXT), "standard input")
    return read.removesuffix("\n").removesuffix("\r")


def drafts(defaults: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """One draft per line of standard input, with its line number: a JSON object of remember's arguments, or plain text."""
    text = decoded(_stdin(LARGEST_BATCH), "standard input")
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if words:
            given = json_object(words, f"line {number}") if words.startswith("{") else {"text": words}
            yield number, {**defaults, **given, **_times(given, number)}


def conversation(path: str, given: Mapping[str, Any]) -> list[Any]:
    """Chat messages: a JSON list, or one message per line."""
    if "text" in given or "batch" in given:
        raise Invalid("--messages is all there is to remember; leave the text and --batch out")
    if "session" not in given:
        raise Invalid("a conversation is kept as the turns of a session; name it, such as --session 2026-05-01")
    return messages_in(path, "--messages")


def messages_in(path: str, what: str = "the messages") -> list[Any]:
    """The content of a file of chat messages, or standard input for `-`."""
    read = _stdin(LARGEST_BATCH) if path == "-" else Path(path).expanduser().read_bytes()
    text = decoded(read, what).strip()
    if (found := _list_in(text)) is not None:
        return found
    lines = enumerate(text.split("\n"), 1)
    return [json_object(line, f"line {number} of {what}") for number, line in lines if line.strip()]


def is_conversation(text: object) -> bool:
    """Whether the text is a list of chat messages."""
    found = _list_in(text) if isinstance(text, str) else None
    return bool(found) and all(isinstance(each, dict) and {"role", "content"} <= each.keys() for each in found or ())


def _list_in(text: str) -> list[Any] | None:
    from memorist.remember.turns import inside

    try:
        found = inside(json.loads(text)) if text.startswith(("[", "{")) else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _times(draft: dict[str, Any], line: int) -> dict[str, datetime]:
    names = [name for name in ("at", "valid_from", "valid_to") if isinstance(draft.get(name), str)]
    return {name: moment(draft[name], f"{name} in line {line}") for name in names}


def _stdin(most: int) -> bytes:
    if sys.stdin is None:
        raise Invalid("standard input is closed; give the text as an argument, or pipe it in")
    with progress.apart():  # it may be typed
        read = sys.stdin.buffer.read(most + 1)
    if len(read) > most:
        raise Invalid(f"standard input holds more than {most:,} bytes; split it")
    return read


def well_formed(argument: str, name: str) -> str:
    """An argument as it was typed, even where the locale knows only ASCII."""
    try:
        argument.encode()
        return argument
    except UnicodeEncodeError:
        return decoded(os.fsencode(argument), name)


def moment(text: str, name: str) -> datetime:
    """A time in ISO form or in words. A day, or anything longer, means its first moment; without a zone it is local."""
    from memorist.records import zoned
    from memorist.text.dates import in_words

    found: datetime | None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        found = in_words(text, datetime.now()) or in_words(f"in {text.strip()}", datetime.now())  # "May", "2025"
    if found is None:
        raise Invalid(f"{name} takes a time such as 2026-05-01, {EXAMPLE}, yesterday or 'last week', not {text[:60]!r}")
    return zoned(found, name)


def json_object(text: str, name: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Invalid(f"{name} takes a JSON object, and this is none: {problem}") from problem
    if not isinstance(value, dict):
        raise Invalid(f'{name} takes a JSON object such as {{"step": 3}}, not {text[:60]!r}')
    return value


def reference(text: str, name: str) -> str | datetime:
    """A memory, or a time if it looks like one."""
    from memorist.text.dates import in_words

    is_time = LOOKS_LIKE_A_TIME.match(text) or in_words(text, datetime.now())
    return moment(text, name) if is_time else well_formed(text, name)


def number(read: Callable[[str], float], said: str, text: str, name: str) -> float:
    try:
        return read(text)
    except ValueError as problem:
        raise Invalid(f"{name} takes {said}, not {text[:60]!r}") from problem


READERS: Mapping[str, Callable[[str, str], Any]] = {
    "text": well_formed,
    "texts": well_formed,
    "path": lambda text, name: text,  # a name of bytes to the system, which stays as it is
    "paths": lambda text, name: text,
    "reference": reference,
    "whole": partial(number, int, "a whole number"),
    "number": partial(number, float, "a number"),
    "time": moment,
    "json": json_object,
}
