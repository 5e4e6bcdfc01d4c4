"""Pairs of memories for the merger of duplicates, made before it was: some state the same in other words, some only look alike.

Each of `sayings.json` is one thing that somebody may want to remember, said in several ways, with what may change in it as slots.
The merger is made with the first half (`DEV`), and its figures are those of the other (`HELD`).
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SAME = ("case", "wrapped", "reordered", "reworded", "synonym", "detail")
_DATA = json.loads(Path(__file__).with_name("sayings.json").read_text(encoding="utf-8"))
SLOTS, SAYINGS = _DATA["slots"], _DATA["sayings"]
DEV, HELD = range(len(SAYINGS))[::2], range(len(SAYINGS))[1::2]
# Changing a slot makes a near-miss of this class.
CHANGED = {"n": "number", "who": "name", "svc": "name", "tool": "name", "lang": "name", "city": "place", "env": "place",
           "day": "time", "month": "time"}  # fmt: skip


class Pair(NamedTuple):
    kind: str
    first: str
    second: str


def pairs(templates: range) -> list[Pair]:
    """The pairs of these templates, every form of each with five fillings; the same each time."""
    made: dict[Pair, None] = {}
    for place in templates:
        pick = random.Random(f"twins {place}")
        for _ in range(5):
            made.update(
                dict.fromkeys(pair for pair in _pairs_of(SAYINGS[place], place, pick) if pair.first != pair.second)
            )
    return list(made)


def _pairs_of(saying: dict[str, Any], place: int, pick: random.Random) -> Iterator[Pair]:
    values = {slot: pick.choice(words) for slot, words in SLOTS.items()}
    base = _filled(saying["base"], values)
    forms = (base.lower(), base.upper(), f"{base}.", f"  {base.replace(',', ' ,')} !", f'"{base}"')
    yield Pair("case", base, pick.choice(forms))
    yield Pair("wrapped", base, pick.choice(_DATA["wrapped"][place % 2]).format(base))
    for kind in SAME[2:]:
        yield from (Pair(kind, base, _filled(form, values)) for form in saying.get(kind, ()))
    orders = (saying["base"], *saying.get("reordered", ()), *saying.get("reworded", ()))
    for slot, kind in CHANGED.items():
        if "{" + slot + "}" in saying["base"]:
            other = {**values, slot: pick.choice([value for value in SLOTS[slot] if value != values[slot]])}
            yield Pair(kind, base, _filled(saying["base"], other))
            yield Pair(kind, base, _filled(pick.choice(orders), other))
    first, second = _DATA["swapped"][place]
    yield Pair("swapped", _filled(first, values), _filled(second, values))
    for kind, misses in saying.get("misses", {}).items():
        yield from (Pair(kind, base, _filled(form, values)) for form in misses)


def _filled(form: str, values: dict[str, str]) -> str:
    text = form.format(**values)
    return text[0].upper() + text[1:]
