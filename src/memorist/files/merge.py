"""Three-way merges of lines: the changes of a person and of a program since both had the same lines.

The base is known only by the digests of its lines. That is enough, because every line of the result comes from one of
the two sides, never from the base.
"""

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

MOST_LINES = 2000  # of one text: longer texts are not compared line by line
Range = tuple[int, int]


def merged(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str], key: Callable[[str], str]
) -> list[str] | None:
    """The lines with the changes of both sides, or None where both changed the same lines differently. `base` are keys.

    >>> merged(["a", "b", "c"], ["A", "b", "c"], ["a", "b", "C"], str)
    ['A', 'b', 'C']
    >>> merged(["a"], ["b"], ["c"], str) is None
    True
    """
    if max(len(base), len(ours), len(theirs)) > MOST_LINES:
        return None
    our_keys, their_keys = list(map(key, ours)), list(map(key, theirs))
    result: list[str] = []
    for was, we, they in _stretches(base, our_keys, their_keys):
        before, our, their = base[slice(*was)], our_keys[slice(*we)], their_keys[slice(*they)]
        if our == list(before):
            result += theirs[slice(*they)]
        elif their in (list(before), our):
            result += ours[slice(*we)]
        else:
            return None
    return result


def _stretches(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[Range, Range, Range]]:
    """The stretches of lines between those that all three have, and each common line by itself."""
    at_ours, at_theirs = _matches(base, ours), _matches(base, theirs)
    a = b = c = 0
    for number in sorted(at_ours.keys() & at_theirs.keys()):
        we, they = at_ours[number], at_theirs[number]
        yield (a, number), (b, we), (c, they)
        a, b, c = number + 1, we + 1, they + 1
        yield (number, a), (we, b), (they, c)
    yield (a, len(base)), (b, len(ours)), (c, len(theirs))


def _matches(base: Sequence[str], side: Sequence[str]) -> dict[int, int]:
    blocks = SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}
