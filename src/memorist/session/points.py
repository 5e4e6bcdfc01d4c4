"""The points of a summary as a language model makes them, where one is named; rules make them without it (`compaction.py`).

A point is one line that says who said what. It stands in the frame that every summary has, with its figures and topics, and is
dropped if it gives orders to a model or holds a number that nobody said. If the model fails, the rules make the summary, and the
failure is counted.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from memorist.design import Tools
from memorist.models.chat import ChatFailed, about_data
from memorist.records import Record
from memorist.session.compaction import MOST, POINTS, Point, fit, said_in, short, summarise
from memorist.text.borne import numbers_in

MOST_SAID, LONGEST_SAID, ALL_SAID = 200, 1000, 24_000  # turns, characters of a turn and of all, the latest ones
POINTS_FORM = {
    "type": "object",
    "properties": {
        "points": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"by": {"type": "string", "enum": ["user", "assistant"]}, "text": {"type": "string"}},
                "required": ["by", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["points"],
    "additionalProperties": False,
}
SUM_UP = f"""\
You sum up a conversation for somebody who has to go on with it. Give the points that matter, at most {POINTS}, in the order in
which they came: what the user wants, what was decided and why, what was found out, what is still open. Each point is one sentence
with the names and numbers as they were said, and says whether the user or the assistant said it. Leave out small talk and what was
settled on the way."""


def summed_up(turns: Sequence[Record], tools: Tools, most: int = MOST) -> str:
    """These turns in no more than so many tokens. It is not called inside a transaction."""
    return summarise(turns, tools.count_tokens, most, _points(turns, tools))


def _points(turns: Sequence[Record], tools: Tools) -> list[Point] | None:
    """What a model makes of them; None where none is named or it failed."""
    said = _latest(chain.from_iterable(map(said_in, turns))) if tools.chat.ready else []
    if not said:
        return None
    numbers = numbers_in(" ".join(each["text"] for each in said))
    try:
        told = tools.chat.ask("summary", about_data(SUM_UP, said, POINTS_FORM, most=1200), _read)
    except ChatFailed:  # counted, and told by `status`
        return None
    sound = [(role, text) for role, text in told if _stands(text, role, numbers)]
    return [Point(1 - place / 1000, place, role, short(text)) for place, (role, text) in enumerate(sound)] or None


def _latest(turns: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """As much of the end of a conversation as is read."""
    said = [{"by": role, "text": text[:LONGEST_SAID]} for role, text in turns][-MOST_SAID:]
    while len(said) > 1 and sum(len(each["text"]) for each in said) > ALL_SAID:
        said.pop(0)
    return said


def _stands(text: str, role: str, numbers: frozenset[str]) -> bool:
    """Whether it may stay: no order to a model, and no number that nobody said."""
    return fit(text, role) and fit(text, "assistant") and numbers_in(text) <= numbers


def _read(told: Any) -> list[tuple[str, str]]:
    found = [(each["by"], each["text"]) for each in told["points"]]
    if not all(role in ("user", "assistant") and isinstance(text, str) for role, text in found):
        raise ValueError("a point without its parts")
    return found
