"""What the user gave, turned into what the facade takes. A refusal names the place and the fix; nothing is guessed."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from memorist.errors import Invalid, Refused
from memorist.surfaces.cli.screen import one_line
from memorist.text.visible import decoded

LARGEST_TEXT = 4_000_004  # bytes: a million characters of four bytes, and the mark
LARGEST_BATCH = 1 << 28  # bytes of drafts in one call
LOOKS_LIKE_A_TIME = re.compile(r"\d{4}-\d\d")


def at_terminal() -> bool:
    """Whether a person sits at the keyboard. A closed standard input is nobody."""
    return sys.stdin is not None and sys.stdin.isatty()


def agreed(question: str) -> bool:
    """Asks at the terminal; without one, only `--yes` will do."""
    if not at_terminal():
        raise Refused(f"without a terminal to ask at, this needs --yes: {question}")
    sys.stderr.write(f"memorist: {one_line(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def text_or_stdin(text: str | None, what: str, *, required: bool) -> str | None:
    """The text itself; standard input for `-`, and for a missing text that is needed while something is piped in."""
    if text is not None and text != "-":
        return text
    if text is None and not required:
        return None
    if text is None and (sys.stdin is None or at_terminal()):
        raise Invalid(f"the {what} is missing; give it as an argument, or pipe it in")
    read = decoded(_stdin(LARGEST_TEXT), "standard input")
    return read.removesuffix("\n").removesuffix("\r")


def drafts(defaults: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One draft per line of standard input: a JSON object of remember's arguments, or plain text."""
    text = decoded(_stdin(LARGEST_BATCH), "standard input")
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if words:
            given = json_object(words, f"line {number}") if words.startswith("{") else {"text": words}
            yield {**defaults, **given, **_times(given, number)}


def _times(draft: dict[str, Any], line: int) -> dict[str, datetime]:
    names = [name for name in ("at", "valid_from", "valid_to") if isinstance(draft.get(name), str)]
    return {name: moment(draft[name], f"{name} in line {line}") for name in names}


def _stdin(most: int) -> bytes:
    if sys.stdin is None:
        raise Invalid("standard input is closed; give the text as an argument, or pipe it in")
    read = sys.stdin.buffer.read(most + 1)
    if len(read) > most:
        raise Invalid(f"standard input holds more than {most:,} bytes; split it")
    return read


def well_formed(argument: str, name: str) -> str:
    """An argument as the text it was typed as, also where the locale knows only ASCII."""
    return argument if argument.isascii() or _encodes(argument) else decoded(os.fsencode(argument), name)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def moment(text: str, name: str) -> datetime:
    """A time in ISO form, with its zone."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as problem:
        raise Invalid(f"{name} takes a time such as 2026-05-01T12:00+00:00, not {text[:60]!r}") from problem
    if found.tzinfo is None:
        zoned = found.isoformat(timespec="minutes")
        raise Invalid(f"{name} has no time zone: {text[:60]!r}; add one, such as {zoned}Z or {zoned}+02:00")
    return found


def json_object(text: str, name: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Invalid(f"{name} takes a JSON object, and this is none: {problem}") from problem
    if not isinstance(value, dict):
        raise Invalid(f'{name} takes a JSON object such as {{"step": 3}}, not {text[:60]!r}')
    return value


def reference(text: str, name: str) -> str | datetime:
    """A memory, or a time where it looks like one."""
    return moment(text, name) if LOOKS_LIKE_A_TIME.match(text) else well_formed(text, name)


def whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError as problem:
        raise Invalid(f"{name} takes a whole number, not {text[:60]!r}") from problem


def number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError as problem:
        raise Invalid(f"{name} takes a number, not {text[:60]!r}") from problem


def as_given(text: str, name: str) -> str:
    """A path is bytes to the system, and stays what it is."""
    return text


READERS: Mapping[str, Callable[[str, str], Any]] = {
    "text": well_formed,
    "texts": well_formed,
    "path": as_given,
    "paths": as_given,
    "reference": reference,
    "whole": whole,
    "number": number,
    "time": moment,
    "json": json_object,
}
