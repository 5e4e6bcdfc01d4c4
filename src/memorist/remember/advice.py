"""A language model's opinion on which of neighbouring memories contradict each other.

Used by the nightly job that asks for it (`upkeep/tidy.py`); nothing here changes anything. What rules find stands, whatever a
model says; what only a model finds is put to a person. Without a model, or if it fails, the rules alone answer, and the
failure is counted.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from memorist.models.chat import ChatFailed, ChatPort, about_data
from memorist.remember.conflicts import Clash, between
from memorist.store.nouns import parts

MOST_PAIRS = 20  # in one call
LONGEST_READ = 600  # characters of a memory
ADVISED = "a model says that both cannot hold"
PAIRS = {
    "type": "object",
    "properties": {"contradict": {"type": "array", "items": {"type": "integer"}}},
    "required": ["contradict"],
    "additionalProperties": False,
}
CONTRADICT = """\
You get numbered pairs of notes, the older one and the newer one. Name the pairs whose notes cannot both hold now: one gives another
value for the same thing, or one is for something and the other against it. Notes about different things, or one that adds to the
other, can both hold. Most pairs can. Answer with the numbers of those that cannot."""


def contradictions(pairs: Sequence[tuple[str, str]], chat: ChatPort) -> list[Clash | None]:
    """For each pair of texts, older and newer: why they contradict each other, if they do."""
    found = [between(old, new) for old, new in pairs]
    open_ = [place for place, clash in enumerate(found) if clash is None] if chat.ready else []
    for some in parts(open_, MOST_PAIRS):
        shown = [
            {"number": number, "older": pairs[place][0][:LONGEST_READ], "newer": pairs[place][1][:LONGEST_READ]}
            for number, place in enumerate(some, 1)
        ]
        read = partial(_named, most=len(some))
        try:
            named = chat.ask("contradiction", about_data(CONTRADICT, shown, PAIRS, most=300), read)
        except ChatFailed:  # counted, and reported by `status`
            break
        for number in named:
            found[some[number - 1]] = Clash("ambiguous", "low", ADVISED)
    return found


def _named(told: Any, most: int) -> list[int]:
    named = told["contradict"]
    if not isinstance(named, list) or not all(type(each) is int and 1 <= each <= most for each in named):
        raise ValueError("not a list of numbers that were given")
    return list(dict.fromkeys(named))
