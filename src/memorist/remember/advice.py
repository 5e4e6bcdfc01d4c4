"""What a language model advises about memories that lie beside one another: which of two contradict, and which say the same.

For jobs that propose: nothing here changes anything. What rules find stands, whatever a model says; what only a model finds is
flagged and never retires a memory. A text that it proposes for several holds no number and hardly a word that none of them has.
Without a model, or if it fails, the rules alone answer, and the failure is counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memorist.models.chat import ChatFailed, ChatPort, about_data
from memorist.records import Record
from memorist.remember.conflicts import Clash, between
from memorist.text.borne import Borne, numbers_in
from memorist.text.injection import gives_orders

MOST_PAIRS, MOST_RECORDS = 20, 30  # of one call
LONGEST_READ = 600  # characters of a memory
BORNE_OUT = 0.8  # of the words of a proposed text stand in those it is for
ADVISED = "a model says that both cannot hold"
PAIRS = {
    "type": "object",
    "properties": {"contradict": {"type": "array", "items": {"type": "integer"}}},
    "required": ["contradict"],
    "additionalProperties": False,
}
GROUPS = {
    "type": "object",
    "properties": {
        "groups": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"notes": {"type": "array", "items": {"type": "integer"}}, "text": {"type": "string"}},
                "required": ["notes", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["groups"],
    "additionalProperties": False,
}
CONTRADICT = """\
You get numbered pairs of notes, the older one and the newer one. Name the pairs whose notes cannot both hold now: one gives another
value for the same thing, or one is for something and the other against it. Notes about different things, or one that adds to the
other, can both hold. Most pairs can. Answer with the numbers of those that cannot."""
CONSOLIDATE = """\
You get numbered notes. Name the groups of notes that say the same thing in other words, so that one sentence could stand for all of
the group without losing a name, a number, a date, a condition or a "not". For each group give the numbers of its notes and that
sentence, in words that stand in the notes. Notes that only are about the same thing are no group. Most notes are in none."""


def contradictions(pairs: Sequence[tuple[str, str]], chat: ChatPort) -> list[Clash | None]:
    """For each pair of texts, the older one and the newer one: why they contradict one another, if they do."""
    found = [between(old, new) for old, new in pairs]
    open_ = [place for place, clash in enumerate(found) if clash is None] if chat.ready else []
    for start in range(0, len(open_), MOST_PAIRS):
        some = open_[start : start + MOST_PAIRS]
        shown = [
            {"number": number, "older": pairs[place][0][:LONGEST_READ], "newer": pairs[place][1][:LONGEST_READ]}
            for number, place in enumerate(some, 1)
        ]
        read = partial(_named, most=len(some))
        try:
            named = chat.ask("contradiction", about_data(CONTRADICT, shown, PAIRS), read)
        except ChatFailed:  # counted, and told by `status`
            break
        for number in named:
            found[some[number - 1]] = Clash("ambiguous", "low", ADVISED)
    return found


@dataclass(frozen=True, slots=True)
class Consolidation:
    """Memories that say the same, and a text that could stand for all of them."""

    ids: tuple[str, ...]
    text: str


def consolidations(records: Sequence[Record], chat: ChatPort) -> list[Consolidation]:
    """What of these could become one memory; nothing without a model. Each memory is in one group at most."""
    if len(records) < 2 or not chat.ready:
        return []
    some = records[:MOST_RECORDS]
    shown = [{"number": number, "note": each.text[:LONGEST_READ]} for number, each in enumerate(some, 1)]
    try:
        told = chat.ask("consolidation", about_data(CONSOLIDATE, shown, GROUPS), lambda told: _groups(told, len(some)))
    except ChatFailed:  # counted, and told by `status`
        return []
    return list(_sound(told, some))


def _sound(told: Sequence[tuple[list[int], str]], some: Sequence[Record]) -> Iterator[Consolidation]:
    taken: set[int] = set()
    for numbers, text in told:
        group = [some[number - 1] for number in numbers]
        if len(group) > 1 and taken.isdisjoint(numbers) and _stands(text, group):
            taken.update(numbers)
            yield Consolidation(tuple(each.id for each in group), text)


def _named(told: Any, most: int) -> list[int]:
    return _numbers(told["contradict"], most)


def _numbers(named: Any, most: int) -> list[int]:
    if not isinstance(named, list) or not all(type(each) is int and 1 <= each <= most for each in named):
        raise ValueError("not a list of numbers that were given")
    return list(dict.fromkeys(named))


def _groups(told: Mapping[str, Any], most: int) -> list[tuple[list[int], str]]:
    found = [(_numbers(each["notes"], most), each["text"]) for each in told["groups"]]
    if not all(isinstance(text, str) for _, text in found):
        raise ValueError("a group without a text")
    return [(numbers, " ".join(text.split())) for numbers, text in found]


def _stands(text: str, group: Sequence[Record]) -> bool:
    """Whether it says nothing that none of them says, and leaves no number of any of them out."""
    said = Borne.by(each.text for each in group)
    return said.bears_out(text, BORNE_OUT) and numbers_in(text) == said.numbers and not gives_orders(text)
