"""Expressions that take time in proportion to the text, however they are written: RE2's, over bytes.

RE2 extends its automata while it searches, under locks that all threads share. A process forked by one thread while another
searches would inherit them locked and wait for ever at its first search, so every search is `inside` (memorist/fork.py).
Importing this module does not load RE2.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from memorist.fork import inside


class Unusable(ValueError):
    """The pattern is not one that RE2 knows; says why."""


class Expression:
    """A compiled pattern."""

    def __init__(self, pattern: bytes, **options: Any) -> None:
        import re2  # type: ignore[import-untyped]  # loaded where a text is searched: most questions need none

        try:
            self._re2 = re2.compile(pattern, _options(**options))
        except re2.error as problem:
            told = problem.args[0] if problem.args else ""
            raise Unusable(told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)) from problem
        self.groups: int = self._re2.groups

    @property
    def size(self) -> int:
        """The steps of the larger of its two programs; where RE2 has to fall back, each of them examines each character."""
        size: int = max(self._re2.programsize, self._re2.reverseprogramsize)
        return size

    def search(self, data: bytes) -> Any:
        with inside:
            return self._re2.search(data)

    def match(self, data: bytes, whole: bool = False) -> Any:
        with inside:
            return self._re2.fullmatch(data) if whole else self._re2.match(data)

    def finditer(self, data: bytes, start: int = 0) -> Iterator[Any]:
        matches = self._re2.finditer(data, start)
        while True:
            with inside:
                match = next(matches, None)
            if match is None:
                return
            yield match


def which_of(patterns: Sequence[bytes], **options: Any) -> Callable[[bytes], list[int]]:
    """A function that says which of these match somewhere in some bytes."""
    import re2

    several = re2.Set.MatchSet(_options(**options))
    for pattern in patterns:
        several.Add(pattern)
    several.Compile()

    def which(data: bytes) -> list[int]:
        with inside:
            found: list[int] = several.Match(data)
        return found

    return which


def _options(utf8: bool = False, **more: Any) -> Any:
    """What RE2 is told. Without `utf8` it reads byte by byte."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.UTF8 if utf8 else re2.Options.Encoding.LATIN1
    options.log_errors = False
    for name, value in more.items():
        setattr(options, name, value)
    return options
