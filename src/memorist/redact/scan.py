"""Finds the secrets of a text: all formats in one linear pass, then each rule alone to determine the type and the
extent.

Most texts are clean, so finding nothing must be cheap. If the one expression also returned its groups, a clean text
would cost more than twice as much (2 to 5 us). The expressions are built when there is something to look at: a program
that only asks a question would wait longer for them than for its answer.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any, AnyStr

from memorist.fork import inside
from memorist.redact.formats import ALONE, EVERYWHERE, GLUED, TOGETHER, Rule
from memorist.text import linear
from memorist.text.linear import Expression

SHORTEST = 16  # characters of a secret that has a shape of its own, in a row
Found = tuple[str, int, int]  # type, start, end
PLACE = itemgetter(1)


def compiled(pattern: str, captures: bool = True, memory: int = 8 << 20) -> Expression:
    """An expression over bytes: UTF-8 is read byte by byte. Every secret begins and ends next to an ASCII character, so
    byte offsets convert to character offsets without rounding."""
    return Expression(pattern.encode(), never_capture=not captures, max_mem=memory)


def which_of(patterns: Sequence[str]) -> Callable[[bytes], list[int]]:
    """A function that says which of these match somewhere in some bytes."""
    return linear.which_of([pattern.encode() for pattern in patterns], max_mem=64 << 20)


class Together:
    """Many rules: one expression finds where, and each rule alone determines which and what."""

    def __init__(self, rules: Sequence[Rule], pattern: str) -> None:
        self.rules = rules
        # With less memory some texts outgrow it, and RE2 then falls back to a slow matcher.
        self._any = compiled(pattern, captures=False, memory=64 << 20)

    @cached_property
    def _each(self) -> list[Any]:
        """Python's own expressions are faster for so few bytes, except for a key block, which could take them long."""
        return [
            compiled(rule.pattern)
            if rule.type == "private-key"
            else re.compile(rule.pattern.replace(r"\z", r"\Z").encode())
            for rule in self.rules
        ]

    @cached_property
    def _which(self) -> Callable[[bytes], list[int]]:
        return which_of([rule.pattern for rule in self.rules])

    def alone(self, piece: bytes) -> tuple[Rule, int, int]:
        """Which rule matches there, and where the secret starts and ends."""
        with inside:  # before Python 3.12, a lock is held while a cached property is computed
            which, rules = min(self._which(piece)), self._each
        rule = rules[which]
        return self.rules[which], *rule.match(piece).span(rule.groups)

    def _judged(self, piece: bytes) -> tuple[str | None, int, int]:
        """Its rule, if it holds, and its position."""
        rule, start, end = self.alone(piece)
        held = rule.holds(piece[start:end].decode("utf-8", "surrogatepass"))
        return named(rule, piece[start:end]) if held else None, start, end

    def found(self, data: bytes) -> Iterator[Found]:
        """All that holds, in order and without overlap."""
        at, matches = 0, self._any.finditer(data)
        judged: dict[bytes, tuple[str | None, int, int]] = {}  # a text may repeat itself
        while match := next(matches, None):
            first, last = match.span()
            piece = data[first:last]
            held, start, end = judged.get(piece) or judged.setdefault(piece, self._judged(piece))
            start, end = first + start, first + end
            if held:
                yield (held, start, end)
            # What was rejected is searched once more, without what made it a candidate: ${KEY}AKIA...
            at = end if held or start in (at, first) else start
            if at != last:
                matches = self._any.finditer(data, at)

    def is_one(self, data: bytes) -> Rule | None:
        """The rule that matches all of these bytes."""
        match = self._any.search(data)
        if match is None or match.span() != (0, len(data)):
            return None
        rule, start, end = self.alone(data)
        return rule if (start, end) == (0, len(data)) else None


@lru_cache(maxsize=1)
def everywhere() -> Together:
    # Built on first use: it costs tens of milliseconds, and not every command writes.
    return Together(TOGETHER, EVERYWHERE)


@lru_cache(maxsize=1)
def glued() -> Together:
    return Together(GLUED, "|".join(f"(?:{rule.pattern})" for rule in GLUED))


@lru_cache(maxsize=1)
def _alone() -> list[tuple[bytes, Together]]:
    return [(needs, Together([rule], rule.pattern)) for needs, rule in ALONE]


def formats_in(data: bytes) -> list[Found]:
    """All secrets recognisable by shape, in order, without overlap."""
    found = [each for needs, rule in _alone() if needs in data for each in rule.found(data)]
    found += everywhere().found(blanked(data, found, b"\0"))
    return sorted(found, key=PLACE)


def blanked(data: AnyStr, found: Sequence[Found], nothing: AnyStr) -> AnyStr:
    """The bytes with those spans blanked out."""
    pieces: list[AnyStr] = []
    at = 0
    for _, start, end in sorted(found, key=PLACE):
        pieces += [data[at:start], nothing * (end - start)]
        at = end
    pieces.append(data[at:])
    return data[:0].join(pieces)


def in_characters(text: str, found: Sequence[Found]) -> Iterator[Found]:
    """Byte offsets as character offsets."""
    if text.isascii():
        yield from found
        return
    data = text.encode("utf-8", "surrogatepass")
    at = chars = 0
    for type, start, end in found:
        first = chars + _length(data[at:start])
        at, chars = end, first + _length(data[start:end])
        yield type, first, chars


def _length(data: bytes) -> int:
    return len(data.decode("utf-8", "surrogatepass"))


def named(rule: Rule, secret: bytes) -> str:
    """A known token in a URL or a header keeps its name."""
    if rule.type in ("url-password", "bearer-token") and len(secret) >= SHORTEST:
        inner = everywhere().is_one(secret)
        return inner.type if inner else rule.type
    return rule.type
