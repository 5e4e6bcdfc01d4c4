"""When do two statements not fit together? Same subject and opposite polarity, or one slot with two values.

    contradictory   one is for it, the other against it
    superseded      the same slot has another value: the later statement replaces the earlier one, where that is clear
    ambiguous       they may both hold: one speaks of a case of what the other speaks of

Words are compared as words and subjects as wholes, so "because" holds no "use", and two prohibitions of one thing agree.
"""

from dataclasses import dataclass
from itertools import product
from typing import Literal

from memorist.text.claims import (
    CLEAR,
    MANY,
    Claims,
    Slot,
    Stance,
    claims,
    exchangeable,
    other_value,
    same_slot,
    same_words,
    unrelated,
    within,
)

DisputeKind = Literal["contradictory", "superseded", "ambiguous"]
Severity = Literal["high", "medium", "low"]
LONGEST_SAID = 60


@dataclass(frozen=True, slots=True)
class Clash:
    """Why two statements do not fit together. `clear`: whichever is newer tells how it is now."""

    kind: DisputeKind
    severity: Severity
    reason: str
    clear: bool = False


def between(old: str, new: str) -> Clash | None:
    """The first clash of two texts, if there is any.

    >>> between("Billing listens on port 8080", "Billing listens on port 9090").reason
    'another value: 8080, and 9090'
    >>> between("Never deploy on Fridays", "Don't deploy on Fridays") is None
    True
    """
    return clash(claims(old), claims(new))


def clash(old: Claims, new: Claims, corrects: bool = False) -> Clash | None:
    """`corrects`: the new one is known to correct something, even where its words do not say so."""
    corrects = corrects or new.corrects
    for was, now in product(old.slots, new.slots):
        found = _other_value(was, now, corrects)
        if found:
            return found
    for before, after in product(old.stances, new.stances):
        found = _against(before, after, corrects)
        if found:
            return found
    return None


def _other_value(was: Slot, now: Slot, corrects: bool) -> Clash | None:
    grade = min(was.grade, now.grade)
    if grade == MANY or not same_slot(was, now) or not other_value(was, now) or _of_another_sort(was, now):
        return None
    alike = exchangeable(was.said, now.said, now.counted)
    if not alike and grade != CLEAR:
        return None
    reason = f"another value: {_short(was.said)}, and {_short(now.said)}"
    clear = alike and (grade == CLEAR or corrects)
    return Clash("superseded" if clear else "ambiguous", "medium" if clear else "low", reason, clear)


def _of_another_sort(was: Slot, now: Slot) -> bool:
    """Postgres, and in Berlin; in Berlin, and on Torstrasse; on Monday, and at noon; Anna, and Irish."""
    placed = was.how != now.how and not now.counted
    return placed or unrelated(was.said, now.said, now.counted)


def _against(was: Stance, now: Stance, corrects: bool) -> Clash | None:
    if was.favours == now.favours or was.act != now.act:
        return None
    what = " ".join((*([was.act] if was.act else ()), *min((was.words, now.words), key=len)))
    tones = {was.tone, now.tone}
    severity: Severity = "high" if tones == {"high"} else "low" if "low" in tones and "high" not in tones else "medium"
    if same_words(was, now):
        return Clash("contradictory", severity, f"one is for it, the other against it: {_short(what)}", corrects)
    rules = bool(was.act) or (was.strict and now.strict)
    if rules and within(was, now):
        return Clash("ambiguous", "low", f"one of them only in some case: {_short(what)}")
    return None


def _short(said: str) -> str:
    return said if len(said) <= LONGEST_SAID else said[: LONGEST_SAID - 1] + "…"
