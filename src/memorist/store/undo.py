"""Dicts that can take back what happened to them since a transaction began.

Each change notes how it was before, so a transaction that fails costs what it changed and not a copy of everything. The
notes are undone newest first, which makes any sequence of changes come out right, also on dicts made in between.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Undo:
    """The changes of the transaction under way. Not for several threads: whoever holds it holds a lock."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], object]] | None = None

    @property
    def under_way(self) -> bool:
        return self._steps is not None

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """An exception takes everything back; inside another one it joins it."""
        if self._steps is not None:
            yield
            return
        steps = self._steps = []
        try:
            yield
        except BaseException:
            while steps:
                steps.pop()()
            raise
        finally:
            self._steps = None

    def set(self, table: dict[K, V], key: K, value: V) -> None:
        if key in table:
            self.note(functools.partial(table.__setitem__, key, table[key]))
        else:
            self.note(functools.partial(table.pop, key, None))
        table[key] = value

    def drop(self, table: dict[K, V], key: K) -> None:
        self.note(functools.partial(table.__setitem__, key, table[key]))
        del table[key]

    def note(self, taking_back: Callable[[], object]) -> None:
        assert self._steps is not None, "a change outside of a transaction"
        self._steps.append(taking_back)
