"""A design is data: which scopes a question reads and which stages answer it. It owns no tables and no code.

`Tools` is the world a policy may touch. It is handed in, so that a test passes any clock it likes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memorist.kinds import Kind
from memorist.store.protocol import Store
from memorist.text.tokens import TokenCounter

if TYPE_CHECKING:
    from memorist.recall.pipeline import Stage

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Tools:
    store: Store
    clock: Clock
    count_tokens: TokenCounter
    kinds: Mapping[str, Kind]


@dataclass(frozen=True, slots=True)
class Design:
    """One way to remember. `reads` names scope families in the order in which they matter."""

    name: str
    about: str
    reads: tuple[str, ...]
    recall: tuple["Stage", ...]
