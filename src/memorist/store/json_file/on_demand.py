"""A dict whose values are made when they are first asked for, out of what is much cheaper to hold.

Not for several threads: asking changes it. Whoever holds it holds a lock.
"""

from collections.abc import Callable, ItemsView, Iterable, ValuesView
from typing import Any, Generic, TypeVar

from memorist.errors import StoreDamaged

K = TypeVar("K")
V = TypeVar("V")
Raw = dict[str, Any]


class OnDemand(dict[K, V], Generic[K, V]):
    """Entries keep their places in the order, made or not."""

    def __init__(self, make: Callable[[Raw], V]) -> None:
        super().__init__()
        self._make = make
        self._unmade: dict[K, Raw] = {}

    def put(self, key: K, raw: Raw) -> None:
        """An entry that is not made yet."""
        self._unmade[key] = raw
        super().__setitem__(key, raw)  # type: ignore[assignment]

    def peek(self) -> Iterable[V | Raw]:
        """The values, or what they would be made of."""
        return super().values()

    def peek_items(self) -> Iterable[tuple[K, V | Raw]]:
        return super().items()

    def __getitem__(self, key: K) -> V:
        if key in self._unmade:
            self[key] = self._made(self._unmade[key])
        return super().__getitem__(key)

    def __setitem__(self, key: K, value: V) -> None:
        self._unmade.pop(key, None)
        super().__setitem__(key, value)

    def __delitem__(self, key: K) -> None:
        self._unmade.pop(key, None)
        super().__delitem__(key)

    def get(self, key: K, default: Any = None) -> Any:
        if key not in self:
            return default
        return self[key]

    def pop(self, key: K, default: Any = None) -> Any:
        value = self.get(key, default)
        if key in self:
            del self[key]
        return value

    def values(self) -> ValuesView[V]:  # type: ignore[override]
        self._make_all()
        return super().values()

    def items(self) -> ItemsView[K, V]:  # type: ignore[override]
        self._make_all()
        return super().items()

    def _make_all(self) -> None:
        for key, raw in self._unmade.items():
            super().__setitem__(key, self._made(raw))
        self._unmade = {}

    def _made(self, raw: Raw) -> V:
        try:
            return self._make(raw)
        except (ValueError, TypeError, LookupError, OverflowError) as problem:
            raise StoreDamaged(f"a row of the store cannot be read ({problem}); restore a backup") from problem
