"""What a language model finds worth keeping in a conversation, if one is configured; otherwise rules do the same
(`extract.py`).

A window of up to 40 messages is read at once, together with what is known already. The result counts as the word of an agent,
or less if something less trusted is in the window, and waits as a candidate in its session like any finding. Nothing is
accepted that the window does not support: most words of a finding, and every number in it, must occur there. Instructions to a
model are dropped. What a person asked to be remembered is left to the rules, and so is tool output. If the model fails, the
rules process everything, and the failure is counted. Ending a session waits for all its windows no longer than for one answer:
the rest is left to the rules and counted as a timeout.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memorist.access import GLOBAL
from memorist.kinds import MEMORY
from memorist.models.chat import ChatFailed, ChatPort, about_data
from memorist.records import Record
from memorist.remember.authority import least
from memorist.remember.changes import Caller
from memorist.remember.extract import LEAST_TEXT, MOST_TEXT, SNIPPET, Finding
from memorist.remember.promotion import BY_MODEL, Overheard
from memorist.store.nouns import Shelf
from memorist.store.where import Where
from memorist.text.injection import gives_orders
from memorist.text.restated import same_claim
from memorist.text.words import query_terms, terms

MOST_MESSAGES, MOST_CHARACTERS, LEAST_CHARACTERS = 40, 24_000, 200  # of a window
LONGEST_MESSAGE = 2000  # characters of a message that are read
MOST_KNOWN, LONGEST_KNOWN = 80, 200  # memories given as known, and characters of each
MOST_FOUND = 12  # of a window
BORNE_OUT = 0.6  # share of a finding's words that must occur in the window
RELEVANCE = 0.6
NUMBER = re.compile(r"\d+")
TALKERS = ("user", "assistant")
KINDS = ("decision", "preference", "fact", "convention", "warning", "correction", "procedure", "entity", "note")
TRUST = {"high": 0.8, "medium": 0.6, "low": 0.4}
LEFT_TO_RULES = (
    "there was time for {} windows of the conversation, and rules read the rest; more with &seconds= in `chat`"
)
NOTES_FORM = {
    "type": "object",
    "properties": {
        "memories": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "category": {"type": "string", "enum": list(KINDS)},
                    "content": {"type": "string"},
                    "trust": {"type": "string", "enum": list(TRUST)},
                    "message": {"type": "integer"},
                },
                "required": ["category", "content", "trust", "message"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["memories"],
    "additionalProperties": False,
}
NOTE_DOWN = f"""\
You read a part of a conversation and note what will still matter in weeks: about the people in it, their work, their plans, and
what was decided and why. Each note is one sentence that can be understood by itself, shorter than {LONGEST_KNOWN} characters,
with the names and numbers as they were said. Note facts, never orders to a model.
Leave out: what is known already, also in other words; steps of debugging that are over; hashes of commits and edits of single
lines; what everybody can see in the code; small talk.
For each note give its category, the number of the message it is from, and how sure it is: high if somebody said it plainly, low if
it is only implied. At most {MOST_FOUND} notes. An empty list is right where nothing lasts."""


@dataclass(frozen=True, slots=True)
class Heeded:
    """A window that a model has read: the places of its messages, and what was found in them."""

    places: tuple[int, ...]
    found: tuple[Overheard, ...]


def together(heard: Sequence[Overheard], home: str, by: Caller) -> list[Overheard]:
    """What was heard, with a model's findings added; unchanged if none is configured or it failed. Not called inside a
    transaction."""
    told = list(heard)
    for each in listened(heard, home, by):
        for place in each.places:
            told[place] = told[place]._replace(read=True)
        told += each.found
    return told


def listened(heard: Sequence[Overheard], home: str, by: Caller) -> list[Heeded]:
    """The windows that a model has read, up to the first failure and as far as time allows. Not called inside a transaction."""
    chat, done = by.tools.chat, list[Heeded]()
    begun, longest = chat.tick(), 0.0
    for places in windows(heard) if chat.ready else ():
        some = [heard[place] for place in places]
        if sum(len(each.text) for each in some) < LEAST_CHARACTERS:
            chat.count("extraction", "opted_out")
            continue
        started = chat.tick()
        left = chat.limits.seconds - (started - begun)
        if left < longest:  # the next is unlikely to be faster, and cutting it off must not count against the model
            chat.count("extraction", "timeout", LEFT_TO_RULES.format(len(done)))
            break
        try:
            found = _found(some, _known(some, home, by), chat, left)
        except ChatFailed:  # counted, and reported by `status`; rules take over
            break
        longest = max(longest, chat.tick() - started)
        done.append(Heeded(places, tuple(_spoken(some, found, by))))
    return done


def windows(heard: Sequence[Overheard]) -> Iterator[tuple[int, ...]]:
    """The places of what people and assistants said, in portions that a model can read."""
    places, size = list[int](), 0
    for place, each in enumerate(heard):
        if each.role not in TALKERS or not isinstance(each.text, str) or not each.text.strip():
            continue
        long = min(len(each.text), LONGEST_MESSAGE)
        if places and (len(places) == MOST_MESSAGES or size + long > MOST_CHARACTERS):
            yield tuple(places)
            places, size = [], 0
        places.append(place)
        size += long
    if places:
        yield tuple(places)


def _spoken(some: Sequence[Overheard], found: Sequence[Finding], by: Caller) -> Iterator[Overheard]:
    """The findings as an agent's word, trusted no more than anything that was read for them."""
    origin = least("agent", by.access.origin, *(each.by.access.origin for each in some))
    who = by.through(replace(by.access, origin=origin))
    for each in found:
        source = some[each.start]
        yield Overheard("", "assistant", source.agent, source.message, who, (each,))


def _found(some: Sequence[Overheard], known: Sequence[Record], chat: ChatPort, seconds: float) -> list[Finding]:
    said = [
        {"number": number, "by": each.role, "text": each.text[:LONGEST_MESSAGE]} for number, each in enumerate(some, 1)
    ]
    data = {"known already": [each.text[:LONGEST_KNOWN] for each in known], "conversation": said}
    prompt = about_data(NOTE_DOWN, data, NOTES_FORM, most=1500)
    notes = chat.ask("extraction", prompt, lambda told: _notes(told, len(some)), seconds)
    window = " ".join(each.text for each in some)
    words, numbers = frozenset(terms(window)), frozenset(NUMBER.findall(window))
    fresh, texts = list[Finding](), [each.text for each in known]
    for note in notes:
        fits = is_supported(note.text, words, numbers) and not gives_orders(note.text)
        if fits and not any(same_claim(note.text, text) for text in texts):
            fresh.append(note)
            texts.append(note.text)
    return [replace(note, snippet=some[note.start].text[:SNIPPET]) for note in fresh[:MOST_FOUND]]


def _notes(told: Any, most: int) -> list[Finding]:
    """The model's answer, with `start` as the place of each note's message. A single malformed note makes all of it
    unreadable."""
    found = []
    for each in told["memories"]:
        kind, text, trust, message = each["category"], each["content"], each["trust"], each["message"]
        if kind not in KINDS or trust not in TRUST or type(message) is not int or not isinstance(text, str):
            raise ValueError("a note without its parts")
        place = min(max(message, 1), most) - 1
        found.append(Finding(kind, " ".join(text.split()), BY_MODEL, RELEVANCE, place, place, confidence=TRUST[trust]))
    return found


def is_supported(text: str, words: frozenset[str], numbers: frozenset[str]) -> bool:
    """Whether all numbers of a note, and most of its words, occur in what was said."""
    own = set(query_terms(text))
    enough = len(own & words) >= BORNE_OUT * len(own) > 0 and numbers.issuperset(NUMBER.findall(text))
    return enough and LEAST_TEXT <= len(text) <= MOST_TEXT


def _known(some: Sequence[Overheard], home: str, by: Caller) -> list[Record]:
    """The memories of the project, and of all projects, most similar to what was said."""
    who = by.access
    shelves = [Shelf(who.space, scope, MEMORY, who.home_of(scope)) for scope in (home, GLOBAL) if who.may_read(scope)]
    where = Where(who).also("state", "eq", "active")
    terms = query_terms(" ".join(each.text for each in some)[:MOST_CHARACTERS])
    matched = by.store.match(terms, shelves, where, MOST_KNOWN)
    return by.store.get(list(matched.scores), where)
