"""A design is data: which scopes a question reads, which stages answer it, which jobs keep it in order. It owns no tables
and no code, so a store can change its design at any time.

`Tools` is the world a policy may touch. It is handed in, so that a test passes any clock it likes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from memorist.access import Access
from memorist.kinds import Kind
from memorist.records import Record
from memorist.store.meaning import Meaning
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
    meaning: Meaning  # which vectors can be read, and a question as vectors for them


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a job would do: one change, and the memories to make it to, in this order."""

    verb: str
    edit: Callable[[Record], Record]
    because: str
    ids: Sequence[str]
    advice: str | None = None


class Job(Protocol):
    """Upkeep of one kind. It only looks and proposes; `upkeep/runner.py` does."""

    @property
    def name(self) -> str: ...

    def propose(self, who: Access, tools: Tools) -> Proposal: ...


@dataclass(frozen=True, slots=True)
class Design:
    """One way to remember. `reads` names scope families in the order in which they matter; `upkeep` keeps it in order."""

    name: str
    about: str
    reads: tuple[str, ...]
    recall: tuple["Stage", ...]
    upkeep: tuple[Job, ...] = ()
