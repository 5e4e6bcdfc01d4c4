"""A design is data: which scopes a question reads, which stages answer it, which jobs keep it in order. It owns no tables
and no code, so a store can change its design at any time.

`Tools` is the world a policy may touch. It is handed in, so that a test passes any clock it likes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from memorist.access import Access
from memorist.kinds import Kinds
from memorist.models.embed import Patience
from memorist.records import Record
from memorist.store.meaning import Meaning
from memorist.store.protocol import Store
from memorist.text.dates import TimeReader, english
from memorist.text.tokens import TokenCounter

if TYPE_CHECKING:
    from memorist.recall.pipeline import Stage

Clock = Callable[[], datetime]


@dataclass(frozen=True, eq=False)
class Ask(str):
    """A question for a person. It is its own text, so that a plain callback from text to yes or no is a confirmer too;
    one that wants more reads the parts."""

    verb: str
    summary: str  # what is going to be done, in one line
    danger: str | None = None  # what cannot be taken back, if anything
    details: Mapping[str, Any] = field(default_factory=dict)  # what an approval does, exactly

    def __new__(
        cls, verb: str, summary: str, danger: str | None = None, details: Mapping[str, Any] | None = None
    ) -> Self:
        return super().__new__(cls, summary if danger is None else f"{summary}\n{danger}")


Answer = Literal["approve", "deny", "queue"]
Confirmer = Callable[[Ask], Answer | bool]  # True approves, False denies


# How well each of these texts answers the question: one number from 0 to 1 for each.
Reranker = Callable[[str, Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Tools:
    store: Store
    clock: Clock
    count_tokens: TokenCounter
    kinds: Kinds
    meaning: Meaning  # which vectors can be read, and a question as vectors for them
    confirm: Confirmer | None = None  # whom to ask; without one, questions wait in the queue
    rerank: Reranker | None = None  # a second opinion on what was found
    times: TimeReader = english  # which times a question speaks of
    patience: Patience = field(default_factory=Patience)  # waits for a second opinion as long as a question has time


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a job would do: one change, and the memories to make it to, in this order."""

    verb: str
    edit: Callable[[Record], Record]
    because: str
    ids: Sequence[str]
    advice: str | None = None
    asks: Sequence[Ask] = ()  # what a person is asked, once each; `details` name the scope


class Job(Protocol):
    """Upkeep of one kind. It only looks and proposes; `upkeep/runner.py` does."""

    @property
    def name(self) -> str: ...

    def propose(self, who: Access, tools: Tools) -> Proposal: ...


@dataclass(frozen=True, slots=True)
class Lane:
    """A part of a prompt's budget. Lanes are served in their order; what one does not use flows on to the next."""

    name: str  # what goes in: one of LANES, or a scope family such as task, project, global
    share: float  # of the total or of the rest, 0 to 1
    floor: int = 0  # tokens it gets at least, while there are any left
    ceiling: int | None = None  # tokens it never passes
    of: Literal["total", "rest"] = "total"  # the rest is what the lanes before it have not got


STEADY = (
    "pinned",
    "conventions",
    "summaries",
)  # do not depend on the question: the part of a prompt that stays the same
LANES = (*STEADY, "recall")


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens a prompt may spend on memories: a fixed number, or of a window whose rest is known a share of that."""

    tokens: int = 1500
    share: float = 0.08
    most: int = 5000  # tokens that a share never passes


Inject = Literal["pull", "core", "push"]  # nothing by itself; what is always there; that and what fits the question


@dataclass(frozen=True, slots=True)
class Due:
    """When upkeep starts by itself, one short slice at a time; None: never for that reason."""

    on_open: bool = False
    uses: int | None = None  # every so many recalls and writes
    hours: float | None = None  # since the last run


@dataclass(frozen=True, slots=True)
class Promotion:
    """How findings become memories: `manual` shows their points, `propose` asks, `auto` stores candidates."""

    mode: Literal["manual", "propose", "auto"] = "propose"
    preset: Literal["conservative", "balanced", "aggressive"] = "balanced"


Conflicts = Literal["flag", "supersede", "ask"]


@dataclass(frozen=True, slots=True)
class Design:
    """One way to remember. `reads` names scope families in the order in which they matter; `upkeep` keeps it in order."""

    name: str
    about: str
    reads: tuple[str, ...]
    recall: tuple["Stage", ...]
    upkeep: tuple[Job, ...] = ()
    lanes: tuple[Lane, ...] = (Lane("pinned", 0.3), Lane("recall", 1.0))
    budget: Budget = Budget()
    inject: Inject = "push"
    conflicts: Conflicts = "flag"
    promotion: Promotion = Promotion()
    due: Due = Due()
