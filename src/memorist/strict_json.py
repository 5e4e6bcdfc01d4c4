"""JSON in which nothing has to be guessed: an object names each key once, and every number is one (NaN is Python's)."""

import json
from collections import Counter
from typing import Any


class NotStrict(ValueError):
    """What could be read in two ways."""


def loads(text: str | bytes) -> Any:
    return json.loads(text, object_pairs_hook=_of_different_keys, parse_constant=_no_number)


def _of_different_keys(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        counted = Counter(name for name, _ in members)
        twice = next(name for name in counted if counted[name] > 1)
        raise NotStrict(f"has the key {twice[:60]!r} twice")
    return found


def _no_number(said: str) -> None:
    raise NotStrict(f"holds {said}, which is not a number")


DECODER = json.JSONDecoder(object_pairs_hook=_of_different_keys, parse_constant=_no_number)
