"""When do two texts say the same in other words?

A wrong yes costs more than a wrong no: it would count one claim as a repetition of another. So the words that carry meaning
must be the same but for inflection, a few synonyms and what only one of the two adds, and everything that turns a claim
around must agree: numbers, negation, names, "before" against "after", and who does it to whom. Spelled almost alike is not
enough ("use tabs" against "use spaces" share most of their letters), nor is a similar meaning ("tea" and "coffee").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from memorist.text.twins import normalised
from memorist.text.words import STOP_WORDS, terms

TRIGRAMS_SHARED = 0.6  # of both texts' trigrams: the founding document's own bound for a near-duplicate
WORDS_SHARED = 0.6  # of both texts' words that carry meaning
LONGEST = 2000  # characters that are compared; two longer texts are the same only if they are twins

_SAME = (
    "fail break crash",
    "delete remove",
    "folder directory",
    "database db",
    "repository repo",
    "configuration config",
    "environment env",
    "authentication auth",
    "documentation docs",
    "function method",
    "error exception",
    "build compile",
    "need require",
    "like prefer",
    "begin start",
    "end finish",
    "big large",
    "fast quick",
    "fix repair",
    "show display",
    "get fetch",
    "keep retain",
    "everyone everybody",
)
# What people wrap a claim in: that it was chosen, said or is so adds nothing to what it says.
_LIGHT = """decide decided decision agree agreed choose chose chosen pick picked select selected go goes going went use uses used
using run runs running switch switched move moved adopt adopted settle settled stick want wants wanted let lets let's us
please note remember important actually basically really just now currently today always every time remind well ok okay
think believe turned turns found learned it's that's there's we're we've we'll i'm i've i'll thing things way make makes sure
we i you our my your must should shall will would can could"""
_AGAINST = frozenset(
    """not no never none nor neither cannot can't don't doesn't didn't won't isn't aren't wasn't weren't shouldn't mustn't
    wouldn't couldn't without stop stops stopped avoid avoids forbid forbidden disallow disallowed unlike except hardly""".split()
)
# Small words that turn a claim around when only one of two has them.
_TURNING = frozenset(
    "before after above below under over off down from against only until unless more most less least than".split()
)
_MEAN_THE_SAME = {"down": "off"}
_IN_ORDER = frozenset("than over before after from instead against by".split())  # "x over y" is not "y over x"
_PLACED = frozenset(
    "in on at for with inside within of during to into".split()
)  # "staging runs x": "x runs on staging"
_RAW = re.compile(r"[^\W_](?:[\w.'’/:-]*\w)?")
_BREAK = re.compile(r"[,;:.!?()]")


def near_twins(a: str, b: str) -> bool:
    """Whether the two say the same, in the same or in other words.

    >>> near_twins("We decided to use Postgres 16 for staging", "Staging runs Postgres 16")
    True
    >>> near_twins("Staging runs Postgres 16", "Staging runs Postgres 15")
    False
    """
    if max(len(a), len(b)) > LONGEST:
        return normalised(a) == normalised(b)
    return same_claim(claim_of(a), claim_of(b))


@dataclass(frozen=True, slots=True)
class Claim:
    """What a text says, as far as it can be compared with what another one says."""

    text: str  # in the form in which twins are equal
    words: tuple[str, ...]  # that carry meaning, each once, in order
    numbers: frozenset[str]
    names: frozenset[str]  # words with a capital inside a sentence, and code
    turning: frozenset[str]
    negative: bool
    ordered: bool  # it says something that its reverse would not
    placed: frozenset[str]  # words after "in", "on" and the like, which may stand anywhere


def claim_of(text: str) -> Claim:
    return _kept(text) if len(text) <= LONGEST else _claim_of(text)  # a long text is not kept for the sake of speed


def _claim_of(text: str) -> Claim:
    words: dict[str, None] = {}
    names: set[str] = set()
    placed: set[str] = set()
    small: list[str] = []
    against, inside, placing = 0, False, False
    for found in _RAW.finditer(text[:LONGEST]):
        raw = found[0].replace("’", "'")
        low = raw.lower()
        small.append(low)
        against += low in _AGAINST
        broken = bool(_BREAK.search(text, found.start() - 2, found.start())) if found.start() >= 2 else False
        placing = low in _PLACED or (placing and not broken and (low in ("the", "a", "an") or low not in _IDLE))
        for word in _meaning(raw, low):
            words[word] = None
            if _is_name(raw, inside and not broken):
                names.add(word)
            if placing:
                placed.add(word)
        inside = True
    turning = {_MEAN_THE_SAME.get(word, word) for word in small if word in _TURNING}
    return Claim(
        normalised(text),
        tuple(words),
        frozenset(word for word in words if any(map(str.isdigit, word))),
        frozenset(names),
        frozenset(turning),
        against % 2 == 1,
        not _IN_ORDER.isdisjoint(small),
        frozenset(placed),
    )


_kept = lru_cache(maxsize=4096)(_claim_of)


def same_claim(a: Claim, b: Claim) -> bool:
    if a.text == b.text:
        return True
    if (a.numbers, a.negative, a.turning) != (b.numbers, b.negative, b.turning):
        return False
    here, there = _joined(a.words, b.words)
    only_here, only_there = here.keys() - there.keys(), there.keys() - here.keys()
    if (only_here and only_there) or (only_here | only_there) & (a.names | b.names):
        return False  # a word in the place of another, or a name that the other one does not say
    shared = len(here.keys() & there.keys()) / max(1, len(here.keys() | there.keys()))
    close = shared >= WORDS_SHARED or jaccard(trigrams(a.text), trigrams(b.text)) >= TRIGRAMS_SHARED
    return bool(here) and close and _same_order(a, b, list(here), list(there))


def _joined(a: Iterable[str], b: Iterable[str]) -> tuple[dict[str, None], dict[str, None]]:
    """The words of both, where those of one root are one word: authenticate, authentication."""
    here, there = dict.fromkeys(a), dict.fromkeys(b)
    for word in there.keys() - here.keys():
        root = next((other for other in here.keys() - there.keys() if _one_root(word, other)), None)
        if root is not None:
            there = {root if each == word else each: None for each in there}
    return here, there


def _one_root(a: str, b: str) -> bool:
    least = max(5, round(0.6 * max(len(a), len(b))))
    return a.isalpha() and b.isalpha() and a[:least] == b[:least] and min(len(a), len(b)) >= least


def _same_order(a: Claim, b: Claim, here: list[str], there: list[str]) -> bool:
    """What both say comes in the same order. Where it was may stand anywhere, unless the order says something."""
    free = frozenset() if a.ordered or b.ordered else a.placed | b.placed
    common = (set(here) & set(there)) - free
    first, second = [word for word in here if word in common], [word for word in there if word in common]
    named = a.names | b.names
    return first == second and [w for w in here if w in named] == [w for w in there if w in named]


def _meaning(raw: str, low: str) -> list[str]:
    """The terms of a word that carry meaning."""
    if low in _IDLE or low in _AGAINST or low in _TURNING:
        return []
    return [_SYNONYMS.get(term, term) for term in terms(raw)]


def _is_name(raw: str, inside: bool) -> bool:
    """Written as names are: with a capital inside a sentence or inside the word, or as code with a joint or a digit."""
    return (inside and raw[0].isupper()) or any(map(str.isupper, raw[1:])) or not raw.replace("'", "").isalpha()


def trigrams(text: str) -> frozenset[str]:
    """
    >>> sorted(trigrams("abcd"))
    ['abc', 'bcd']
    """
    return frozenset(text[start : start + 3] for start in range(max(1, len(text) - 2)))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(1, len(a | b))


_IDLE = frozenset(_LIGHT.split()) | (STOP_WORDS - _TURNING)
_SYNONYMS = {term: terms(group)[0] for group in _SAME for term in terms(group)}
