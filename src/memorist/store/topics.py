"""What a memory makes a claim about, as numbers: so that a write finds what may contradict it with one look.

Searching the words for it would cost more than the write itself. A topic is only a hint: whoever finds a memory by it
compares the texts. It depends on the text alone, so a memory keeps its topics when it is archived or moved.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from memorist.kinds import KINDS, MEMORY
from memorist.records import Record
from memorist.text.claims import LONGEST_CLAIM, claims
from memorist.text.words import terms

MOST = 4  # of one text
RULES = "2"  # counts up whenever a text comes to have other topics; a store that was made by others makes its own anew


def topics_of(record: Record) -> tuple[int, ...]:
    """What the memory states. Turns, documents and what is erased state nothing."""
    return stated(record.text) if record.state != "erased" and states(record.kind) else ()


def states(kind: str) -> bool:
    known = KINDS.get(kind)
    return known is None or (known.layer == MEMORY and not known.append_only)


def stated(text: str) -> tuple[int, ...]:
    return _sides(text)[0] if len(text) <= LONGEST_CLAIM else ()


def opposed(text: str) -> tuple[int, ...]:
    """What a text would state that contradicts this one: the same slots, and the other side of what it is for or against."""
    return _sides(text)[1] if len(text) <= LONGEST_CLAIM else ()


@lru_cache(maxsize=1 << 10)
def _sides(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    found = claims(text)
    slots = [
        f"{'number' if slot.counted else 'value'} {' '.join(sorted(slot.about))}" for slot in found.slots if slot.grade
    ]
    here, there = list(slots), list(slots)
    for stance in found.stances:
        what = f"{stance.act} {' '.join(sorted(_stem(word) for word in stance.words[: stance.head]))}"
        sides = (f"for {what}", f"against {what}")
        here.append(sides[not stance.favours])
        there.append(sides[stance.favours])
    return _numbers(here), _numbers(there)


def _stem(word: str) -> str:
    """Without inflection: supports, support."""
    return terms(word)[0] if word.isascii() and word.isalpha() else word


def _numbers(names: Sequence[str]) -> tuple[int, ...]:
    unique = list(dict.fromkeys(names))[:MOST]
    digests = (hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in unique)
    return tuple(int.from_bytes(digest, signed=True) for digest in digests)
