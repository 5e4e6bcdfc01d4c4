"""Which times a question speaks of, in English or in any language: the setting `dates` chooses between the two.

English is our own grammar and costs next to nothing. `any` asks `dateparser` (the extra `dates`) where English finds no time;
loading it takes longer than a whole recall, so it is never loaded unless it is asked for, and then for the first question that
may hold a date in another language. What it raises becomes a note in the trace and never an error of the question.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import NamedTuple

from memorist.errors import Invalid
from memorist.text import dates
from memorist.text.dates import Span


class Times(NamedTuple):
    """What was read, and what went wrong meanwhile."""

    spans: tuple[Span, ...]
    note: str | None = None


TimeReader = Callable[[str, datetime], Times]


def english(text: str, now: datetime) -> Times:
    return Times(tuple(dates.spans(text, now)))


def any_language(text: str, now: datetime) -> Times:
    """English first; where it finds nothing, the language that the text is in, if that is one of ours."""
    found = english(text, now)
    if found.spans:
        return found
    from memorist.text import foreign_dates

    try:
        spans, whole = foreign_dates.look(text, now.astimezone(UTC))
    except Exception as problem:  # it is somebody else's code, and the question can be answered without it
        return Times((), f"times in other languages were not read: {type(problem).__name__}: {str(problem)[:200]}")
    return Times(
        tuple(spans), None if whole else "times in other languages were looked for in a part of the question only"
    )


READERS: dict[str, TimeReader] = {"english": english, "any": any_language}


def reader(which: str) -> TimeReader:
    """The reader that the setting `dates` names."""
    if which == "any" and find_spec("dateparser") is None:
        raise Invalid("dates = 'any' needs dateparser: pip install 'memorist[dates]', or set dates to 'english'")
    return READERS[which]
