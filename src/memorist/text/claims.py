"""What two short texts say against each other, by exact rules: no model is needed for these.

    opposite    the same words, once for it and once against it: "use tabs", "don't use tabs", "avoid tabs"
    other value the same words with another value in one place: "listens on port 8080", "now listens on port 9090"

Everything else is the reader's (`models/reader.py`), which also doubts a value that both can have. A text is read clause by clause,
so a reason can contradict a rule. Topics are digests of what a text is about, by which a store finds candidates in one look-up.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from memorist.text.words import terms

LONGEST_CLAIM = 600  # characters; a longer text says too much to be contradicted as a whole
MOST_CLAUSES, MOST_WORDS = 4, 16  # of a text, and of a clause: what is longer is told apart by its first words only
LONGEST_VALUE, FEWEST_SHARED = 4, 3  # words that differ in one place, and words that are the same around them
SUBJECT = 2  # the first words of a text say what it is about

CLAUSE = re.compile(r"[.;:!?\n]+(?=\s|$)|\b(?:because|since|so that|although|but|and then)\b", re.IGNORECASE)
NOT = re.compile(r"n['’]t\b", re.IGNORECASE)
WORD = re.compile(r"\w+(?:[.:/@+-]\w+)*[#%€$]?|[€$£]\d[\d.,]*")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
NEGATIONS = frozenset("not n't cannot never no don dont without stop nobody neither".split())
# Words that turn a rule around, by the word they negate. The golden suite holds these pairs (S3-24).
OPPOSITES = {
    "avoid": "use", "prefer": "use", "disable": "enable", "remove": "add", "exclude": "include", "disallow": "allow",
    "forbid": "allow", "deny": "allow", "reject": "accept", "hide": "show", "deactivate": "activate", "drop": "keep",
    "stop": "", "without": "with", "uninstall": "install", "unpin": "pin", "skip": "run",
}  # fmt: skip
FAVOURING = frozenset(("prefer",))
# Little words that change nothing of what a rule is about.
LITTLE = frozenset(
    "a an the we i you they it our my your please always ever must should shall can will do does did is are be been to from in"
    " into of on for at only just all any that this ca".split()
)
NOW = frozenset(
    "now currently from today since instead again meanwhile actually already longer new newly anymore".split()
)
STATES = frozenset("is are was were has have had".split())  # the verb after a subject
# What one has only one of at a time, by the two words before the value: the reader has met too few to be sure of these.
SINGLE = frozenset((("lives", "in"), ("live", "in"), ("is", "called"), ("is", "named")))
PERSONAL = frozenset("i i'm i've my me mine we our us".split())


class Stance(NamedTuple):
    """What a clause is about, and whether it is for it."""

    about: frozenset[str]
    favours: bool


class Other(NamedTuple):
    """The values in which two texts differ that are the same but for one place."""

    was: str
    now: str
    names: bool = False  # numbers that are part of a name: invoice 12, shed 3
    single: bool = False  # there can be only one at a time
    says_now: bool = False  # the newer text says that it is so now


def stances(text: str) -> list[Stance]:
    """What the clauses of a text are for or against.

    >>> [(sorted(each.about), each.favours) for each in stances("Never use tabs")]
    [(['tab', 'use'], False)]
    """
    return list(_stances(text)) if len(text) <= LONGEST_CLAIM else []


@lru_cache(maxsize=1 << 11)
def _stances(text: str) -> tuple[Stance, ...]:
    found = []
    for clause in CLAUSE.split(text)[:MOST_CLAUSES]:
        words = WORD.findall(NOT.sub(" not", clause).lower())
        if not 1 < len(words) <= MOST_WORDS:
            continue
        favours, about = True, set[str]()
        for word in words:
            base = next((end for end in _uninflected(word) if end in OPPOSITES), None)
            if base is not None:
                favours = favours if base in FAVOURING else not favours
                about.update(terms(OPPOSITES[base]) or filter(None, (OPPOSITES[base],)))
            elif word in NEGATIONS:
                favours = not favours
            elif word not in LITTLE:
                about.update(terms(word) or (word,))
        if len(about) >= 2:
            found.append(Stance(frozenset(about), favours))
    return tuple(found)


def _uninflected(word: str) -> tuple[str, ...]:
    return word, word.removesuffix("ed"), word.removesuffix("d"), word.removesuffix("s")


def opposite(old: str, new: str) -> str | None:
    """What one of the texts is for and the other against."""
    for was in stances(old):
        for now in stances(new):
            if was.about == now.about and was.favours != now.favours:
                return " ".join(sorted(was.about, key=old.lower().find))
    return None


def other_value(old: str, new: str) -> Other | None:
    """The values in which two texts differ that are the same but for one place.

    >>> other_value("The gateway listens on port 8080", "The gateway now listens on port 9090")
    Other(was='8080', now='9090', names=False, single=False, says_now=True)
    """
    if max(len(old), len(new)) > LONGEST_CLAIM:
        return None
    was, now = _words(old), _words(new)
    start = next((n for n, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now)))
    end = 0
    while end < min(len(was), len(now)) - start and was[-1 - end] == now[-1 - end]:
        end += 1
    before, after = was[start : len(was) - end], now[start : len(now) - end]
    shared = start + end
    if not before or not after or max(len(before), len(after)) > LONGEST_VALUE:
        return None
    if shared < FEWEST_SHARED or set(was[:start]) <= LITTLE or NEGATIONS & {*before, *after}:
        return None
    if set(before) & set(after):  # they differ in two places: room 6 has 42 lamps, and room 7 has 49
        return None
    short = start > 0 and was[start - 1] not in LITTLE | STATES and max(map(len, (*before, *after))) < 4
    subject = end > 0 and (len(set(was[:start]) - LITTLE) < 2 or was[-end] in STATES)
    names = before[0][0].isdigit() and after[0][0].isdigit() and (short or subject)
    single = len(before) == len(after) == 1 and tuple(was[max(0, start - 2) : start]) in SINGLE
    says_now = not NOW.isdisjoint(map(str.lower, WORD.findall(new)))
    return Other(" ".join(before), " ".join(after), names, single and not names, says_now)


def is_one_of_many(a: str, b: str) -> bool:
    """Whether two texts differ in nothing but several numbers: they are about different things, like two lines of a table."""
    one, other, differ = _differing(a, b)
    return len(differ) > 1 and all(NUMBER.search(one[place]) and NUMBER.search(other[place]) for place in differ)


def is_of_another(a: str, b: str) -> bool:
    """Whether two texts say something else of another subject, in the same words: "Ann lives in Oslo", "Ben lives in Rome"."""
    one, _, differ = _differing(a, b)
    return 1 < len(differ) <= len(one) / 2 and differ[0] < SUBJECT


def _differing(a: str, b: str) -> tuple[list[str], list[str], list[int]]:
    """The words of two texts, and the places where they differ if both have as many."""
    one, other = WORD.findall(a.lower()), WORD.findall(b.lower())
    places = [place for place, (x, y) in enumerate(zip(one, other, strict=False)) if x != y]
    return one, other, places if len(one) == len(other) else []


def is_alike(a: str, b: str) -> bool:
    """Whether two texts are the same but for one value, or for their numbers."""
    return is_one_of_many(a, b) or other_value(a, b) is not None or NUMBER.sub("0", a) == NUMBER.sub("0", b)


@lru_cache(maxsize=1 << 11)
def _words(text: str) -> tuple[str, ...]:
    """The words of a text, without those that only say that it is so now."""
    return tuple(word for word in map(str.lower, WORD.findall(text)) if word not in NOW)


def is_personal(text: str) -> bool:
    """Whether it is about whoever says it: two people may both live in Oslo."""
    return not PERSONAL.isdisjoint(_words(text[:LONGEST_CLAIM]))


# ---------------------------------------------------------------- topics


def topics(text: str) -> tuple[list[str], list[str]]:
    """What a text is about, and what a text that contradicts it would be about."""
    here, there = list[str](), list[str]()
    for each in stances(text):
        what = " ".join(sorted(each.about))
        sides = (f"for {what}", f"against {what}")
        here.append(sides[not each.favours])
        there.append(sides[each.favours])
    words = _words(text) if len(text) <= LONGEST_CLAIM else ()
    frames = [f"frame {' '.join(words[:-cut])}" for cut in range(1, LONGEST_VALUE + 1) if len(words) - cut >= 2]
    return here + frames, there + frames


def digests(names: Sequence[str]) -> tuple[int, ...]:
    """The names as numbers, as a store indexes them."""
    raw = (
        hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in dict.fromkeys(names)
    )
    return tuple(int.from_bytes(digest, signed=True) for digest in raw)
