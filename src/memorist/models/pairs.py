"""Does one note take the place of another? A small classifier of pairs: the older text, the newer one, and its confidence.

    Alley code 2580#                  Since the burglary it's 9016#             surely
    Long run pace: 5:50/km            Marathon race pace: 5:12/km               hardly: both hold

It adds up what the two have in common, what the newer one says about a change, and what speaks against it, with weights from
`pairs.toml`, fitted by `tools/fit_pairs`; the sum is a log-odds. From ORDER on, the newer one is shown first; from FLAG on,
the two are said to contradict each other; and from RETIRE on, the older one may be superseded. Meaning is compared with the
built-in table, whatever model the store has: it is always available, and the weights are only valid for its cosines.
"""

import math
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from memorist.fork import inside
from memorist.models.embed import StaticEmbedder
from memorist.text import toml
from memorist.text.gist import OPENING, SELF, Difference, Gist, compared, gist, glance, other_thing

if TYPE_CHECKING:
    from memorist.models.embed import Floats

FITTED = Path(__file__).parent / "data" / "pairs.toml"
UNSTORED_AT_MOST = 4096  # texts of one batch that the next is compared with
HARDLY_KIN = 0.1  # cosine of texts that may be about the same thing, if a query brings both
KIN = 0.2  # cosine of texts that are about the same thing although they share no word
NO_VALUES = dict.fromkeys(
    ("other_value", "same_value", "value_joined", "value_gone", "other_sort", "value_in_place"), 0.0
)
OF_CHANGE = frozenset(("turn", "new", "change"))  # cues that something is different now
OF_A_GROUP = ("turn", "change", "event", "reason", "stays", "whole", "beside", "past")  # cues that are signs
ROUNDING = 1e-9  # for sums added in a different order
LONGEST_JUDGED = 600  # characters; a longer text says too much to be replaced by another


def sure(old: str, new: str) -> float:
    """The log-odds that the newer text takes the place of the older one.

    >>> sure("Alley code 2580#", "Since the burglary it's 9016#") > sure("Run pace 5:50", "Race pace 5:12")
    True
    """
    if max(len(old), len(new)) > LONGEST_JUDGED or old == new:
        return -math.inf
    return _sure(old, new)


def reaches(old: str, new: str, least: float) -> bool:
    """Whether the log-odds are at least `least`. Meaning is compared only if it can decide, because it costs the most."""
    if max(len(old), len(new)) > LONGEST_JUDGED or old == new:
        return False
    most = _most_meaning(new)
    return _at_most(old, new) + most >= least and _without_meaning(old, new) + most >= least and sure(old, new) >= least


def flags(old: str, new: str) -> bool:
    """Whether they contradict each other. A newer text that mentions no change may just be about something else."""
    return _tells_of(old, new, least("flag"))


def retires(old: str, new: str) -> bool:
    """Whether the older one no longer holds."""
    return _tells_of(old, new, least("retire"))


def _tells_of(old: str, new: str, least: float) -> bool:
    """Checks a glance first, which leaves few candidates to be read closely."""
    return gist(new).tells and may_reach(old, new, least) and akin(old, new) and reaches(old, new, least)


def akin(old: str, new: str) -> bool:
    """Whether the texts themselves show that they are about one thing. For ordering they need not: a query that brings both
    shows it too."""
    was, now = gist(old), gist(new)
    return not _apart(was, now) and (not was.words.isdisjoint(now.words) or _cosine(old, new) >= KIN)


def least(name: str) -> float:
    """The log-odds required to `order`, `flag` or `retire`."""
    return _fitted()["least"][name]


def meet(old: str, new: str) -> bool:
    """Whether a closer look is worthwhile: they share a word, or the newer one mentions a change. Costs next to nothing."""
    was, now = glance(old), glance(new)
    return now.tells or not was.words.isdisjoint(now.words)


@lru_cache(maxsize=1 << 13)
def _sure(old: str, new: str) -> float:
    without = _without_meaning(old, new)
    if without == -math.inf:
        return without
    cosine = _cosine(old, new)
    apart = cosine < HARDLY_KIN and gist(old).words.isdisjoint(gist(new).words)
    return -math.inf if apart else without + _meaning(new, cosine)


@lru_cache(maxsize=1 << 13)
def _without_meaning(old: str, new: str) -> float:
    """The log-odds without the cosine; minus infinity if they are no pair."""
    was, now = gist(old), gist(new)
    if was.asks or now.asks or other_thing(was, now) or (_apart(was, now) and not now.tells):
        return -math.inf
    formed = compared(was.raw, now.raw)
    if formed.numbered:
        return -math.inf
    return _of_one(old, True) + _of_one(new, False) + _weighed(_of_both(was, now, formed))


def may_reach(old: str, new: str, least: float) -> bool:
    """Whether the log-odds may reach `least`, judged by a glance at each: the maximum that every possible sign can add. Few of
    a query's pairs get further, and reading a text closely costs five times as much."""
    return _at_a_glance(old, new) >= least


def _at_a_glance(old: str, new: str) -> float:
    was, now = glance(old), glance(new)
    shared = _most_shared(len(was.words & now.words) + was.owners + now.owners, was.least, len(now.words))
    valued, alike = was.valued or now.valued, was.opens == now.opens
    more = _may_add(True, was.valued and now.valued, valued, alike, "change" in now.cues)
    return shared + more + _most_of_one(old, True) + _most_of_one(new, False)


@lru_cache(maxsize=1 << 12)
def _most_shared(shared: int, least: int, of_new: int) -> float:
    """The maximum for up to `shared` common words, if the older text has at least `least` words and the newer one at most
    `of_new`."""
    weights, own = _fitted()["weights"], max(1, least)
    told = [weights["nothing_shared"]]
    for count in range(1, shared + 1):
        covers = weights["old_covered"] * min(1.0, count / own) if weights["old_covered"] > 0 else 0.0
        covered = weights["new_covered"] * (1.0 if weights["new_covered"] > 0 else min(1.0, count / max(1, of_new)))
        told.append(weights["shared"] * _few(count, 4) + covers + covered)
    return max(told)


@lru_cache(maxsize=1 << 12)
def _most_of_one(text: str, older: bool) -> float:
    """The maximum that one of the two can contribute; its length is known. For the newer one, this includes the maximum that
    meaning may add."""
    seen, weights = glance(text), _fitted()["weights"]
    if older:
        return weights["old_long"] * _beyond(seen.length, 8) + _for_it("old_cue", "old_event", "old_beside", "old_rule")
    told, early = not seen.cues.isdisjoint(OF_CHANGE), not seen.cues.isdisjoint(OPENING)
    signs = ["rule", "back", "placed", "cosine", *(sign for sign in OF_A_GROUP if sign in seen.cues)]
    signs += ["early"] * early + ["cue", "dense", "told"] * told
    return weights["long"] * _beyond(seen.length, 12) + weights["level"] + _for_it(*signs)


@cache
def _for_it(*signs: str) -> float:
    """What these signs add if all of them are present and positive. Cached, since there are few sets of them."""
    return sum([max(0.0, _fitted()["weights"][sign]) for sign in signs]) + ROUNDING


def _at_most(old: str, new: str) -> float:
    """An upper bound of `_without_meaning`: shared words are counted, and everything else that may speak for it is assumed.
    Hardly any of the many pairs examined gets further, and this takes a third of the time."""
    was, now, weights = gist(old), gist(new), _fitted()["weights"]
    shared = len(was.words & now.words)
    told = weights["nothing_shared"] if not shared else weights["shared"] * _few(shared, 4)
    old_covered, new_covered = (weights[name] * shared for name in ("old_covered", "new_covered"))
    told += old_covered / max(1, len(was.words)) + new_covered / max(1, len(now.words))
    more = _may_add(bool(was.names or now.names), bool(was.digits and now.digits), bool(was.values or now.values))
    return told + more + _of_one(old, True) + _of_one(new, False)


@cache
def _may_add(names: bool, digits: bool, values: bool, alike: bool = True, change: bool = True) -> float:
    """The maximum that comparing the two texts can add; every sign is a number from 0 to 1. Only texts that begin `alike`
    differ in one place, and only one that mentions a `change` keeps a name in it."""
    signs = ["names_lost", "denied", "at_start", *["in_place"] * alike]
    signs += ["name_shared", *["name_kept_in_change"] * change] * names + ["digits_kept"] * digits
    signs += [sign for sign in NO_VALUES if alike or sign != "value_in_place"] * values
    return _for_it(*signs)


@lru_cache(maxsize=1 << 12)
def _most_meaning(new: str) -> float:
    return _meaning(new, 1.0)


def _meaning(new: str, cosine: float) -> float:
    return _weighed({"cosine": cosine, "told": cosine * _told(gist(new)), "level": 1.0})


def _apart(was: Gist, now: Gist) -> bool:
    """Whether they share no word, and the newer one neither refers back, nor says what changed for the same "I", nor has
    another time, price or code that it calls new."""
    same_self = now.cues["change"] and was.raw[:1] == now.raw[:1] and now.raw[0] in SELF
    if now.back or same_self or not was.words.isdisjoint(now.words):
        return False
    both = was.values.keys() & now.values.keys() - {"number"}
    other = any(was.values[sort].isdisjoint(now.values[sort]) for sort in both)
    return not other or not (now.cues["turn"] or now.cues["new"])


@lru_cache(maxsize=1 << 12)
def _of_one(text: str, older: bool) -> float:
    return _weighed(_of_the_old(gist(text)) if older else _of_the_new(gist(text)))


def _weighed(found: Mapping[str, float]) -> float:
    weights = _fitted()["weights"]
    return sum([weights[name] * value for name, value in found.items() if value])


@cache
def _fitted() -> Mapping[str, Mapping[str, float]]:
    return toml.load(FITTED, "weights")


class Unstored:
    """The last few thousand texts about to be stored, to be found by meaning."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._texts: list[str] = []
        self._rows: Floats | None = None
        self._known = 0  # how many of them have a row

    def add(self, name: str, text: str) -> None:
        self._names.append(name)
        self._texts.append(text)

    def nearest(self, text: str, most: int) -> list[str]:
        """The names of those most similar in meaning; all, if there are so few that there is no choice."""
        if len(self._names) <= most:
            return list(self._names)
        table, vector = self._table()[-UNSTORED_AT_MOST:], _vector(text)
        with inside:  # the linear algebra library starts threads for it
            cosines = table @ vector
        best = cosines.argsort()[: -most - 1 : -1]
        return [self._names[-len(cosines) :][place] for place in best.tolist()]

    def _table(self) -> "Floats":
        import numpy as np

        size, known = len(self._texts), self._known
        if self._rows is None or size > len(self._rows):
            grown = np.zeros((2 * size + 64, _embedder().dimension), np.float32)
            if self._rows is not None:
                grown[:known] = self._rows[:known]
            self._rows = grown
        if known < size:
            self._rows[known:size] = _embedder().embed(self._texts[known:])
        self._known = size
        return self._rows[:size]


# ---------------------------------------------------------------- what is added up


def features(old: str, new: str) -> dict[str, float]:
    """Every sign for or against it, each between -1 and 2 or so."""
    was, now, cosine = gist(old), gist(new), _cosine(old, new)
    both = _of_both(was, now, compared(was.raw, now.raw))
    return {**_of_the_old(was), **_of_the_new(now), **both, "cosine": cosine, "told": cosine * _told(now), "level": 1.0}


def _cosine(old: str, new: str) -> float:
    return float(_vector(old) @ _vector(new))


def _told(now: Gist) -> float:
    return float(any(now.cues[group] for group in ("turn", "new", "change")))


def _of_the_old(was: Gist) -> dict[str, float]:
    cues = was.cues
    return {
        "old_cue": float(bool(cues["turn"] or cues["new"] or cues["change"])),
        "old_event": float(bool(cues["event"] or cues["reason"])),
        "old_beside": float(bool(cues["beside"])),
        "old_rule": float(was.rules),
        "old_long": _beyond(was.length, 8),
    }


def _of_the_new(now: Gist) -> dict[str, float]:
    cues = now.cues
    told = 2 * cues["turn"] + cues["new"] + cues["change"]
    return {
        "cue": float(told > 0),
        "turn": _few(cues["turn"]),
        "change": _few(cues["change"]),
        "event": _few(cues["event"]),
        "reason": float(cues["reason"] > 0),
        "stays": float(cues["stays"] > 0),
        "whole": float(cues["whole"] > 0),
        "beside": float(cues["beside"] > 0),
        "past": float(cues["past"] > 0),
        "rule": float(now.rules),
        "dense": min(1.0, told / math.sqrt(now.length + 1)),
        "early": float(now.early),
        "back": float(now.back),
        "placed": float(now.placed),
        "long": _beyond(now.length, 12),
    }


def _of_both(was: Gist, now: Gist, formed: Difference) -> dict[str, float]:
    shared = was.words & now.words
    named = was.names & now.words
    return {
        "old_covered": len(shared) / max(1, len(was.words)),
        "new_covered": len(shared) / max(1, len(now.words)),
        "shared": _few(len(shared), 4),
        "nothing_shared": float(not shared),
        "name_shared": _few(len(shared & (was.names | now.names))),
        "names_lost": _few(len(was.names - now.words), 3),
        "name_kept_in_change": float(bool(named and now.cues["change"])),
        "denied": float(bool(now.denied & was.words)),
        "digits_kept": float(bool(was.digits & now.digits)),
        "in_place": float(formed.in_place),
        "at_start": float(formed.at_start),
        **(_of_values(was, now, formed.in_place) if was.values or now.values else NO_VALUES),
    }


def _of_values(was: Gist, now: Gist, in_place: bool) -> dict[str, float]:
    """Whether the same sorts of numbers, times and codes have other values."""
    both = was.values.keys() & now.values.keys()
    other = [sort for sort in both if not was.values[sort] & now.values[sort]]
    same = len(both) - len(other)
    return {
        "other_value": float(bool(other and not same)),
        "same_value": _few(same),
        "value_joined": float(any(now.values[sort] - was.values[sort] for sort in both if sort not in other)),
        "value_gone": float(bool(was.values and not now.values)),
        "other_sort": float(bool(was.values and now.values and not both)),
        "value_in_place": float(bool(in_place and other)),
    }


def _few(count: int, most: int = 2) -> float:
    return min(count, most) / most


def _beyond(length: int, usual: int) -> float:
    """How much longer than usual: long texts say many things, and are seldom replaced or corrected as a whole."""
    return min(max(math.log(max(1, length) / usual), 0.0), 1.5)


@lru_cache(maxsize=1 << 11)
def _vector(text: str) -> "Floats":
    found: Floats = _embedder().embed([text])[0]
    return found


@cache
def _embedder() -> StaticEmbedder:
    return StaticEmbedder()
