"""A design is data: which scopes a query reads, which stages answer it, and which jobs keep the store in order. It has
no tables and no code, so a store can change its design at any time.

`Tools` holds everything that a stage, a job or a verb may use of the outside world. It is passed in, so a test can pass
any clock it likes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, get_args

from memorist import checks
from memorist.access import Access
from memorist.errors import Invalid
from memorist.folder import Folder
from memorist.kinds import Kinds
from memorist.lazy import dataclass
from memorist.models.chat import ChatPort
from memorist.patience import Patience
from memorist.records import Record
from memorist.store.copies import Cleaning
from memorist.store.meaning import Meaning
from memorist.store.protocol import Store
from memorist.text.dates import TimeReader, english
from memorist.text.tokens import TokenCounter
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.recall.pipeline import Stage

Clock = Callable[[], datetime]
MOST_HITS = 1000  # that one query may ask for


@dataclass(frozen=True, eq=False)
class Ask(str):
    """A question for a person. It is a string, so a plain function from text to yes or no can answer it; one that needs
    more reads the fields."""

    verb: str
    summary: str  # one line: what would be done
    danger: str | None = None  # what cannot be undone, if anything
    details: Mapping[str, Any] = field(default_factory=dict)  # exactly what an approval would do

    def __new__(
        cls, verb: str, summary: str, danger: str | None = None, details: Mapping[str, Any] | None = None
    ) -> Self:
        return super().__new__(cls, summary if danger is None else f"{summary}\n{danger}")


Answer = Literal["approve", "deny", "queue"]
Confirmer = Callable[[Ask], Answer | bool]  # True approves, False denies


# Takes a question and texts; returns for each text a number from 0 to 1: how well it answers the question.
Reranker = Callable[[str, Sequence[str]], Sequence[float]]


# Takes the ids of what is gone, the words that only those held, and a report to add what was done and has to be said.
CleanFiles = Callable[[Collection[str], Collection[bytes], Cleaning], None]


@dataclass(frozen=True, slots=True)
class Tools:
    store: Store
    clock: Clock
    count_tokens: TokenCounter
    kinds: Kinds
    meaning: Meaning  # which vectors can be read; turns a query into vectors for them
    confirm: Confirmer | None = None  # asks a person; without one, questions wait in the queue
    rerank: Reranker | None = None  # a second opinion on the hits
    times: TimeReader = english  # reads the times in a question
    patience: Patience = field(default_factory=Patience)  # waits for the reranker as long as the deadline allows
    clean_files: CleanFiles | None = None  # removes what was erased from files that follow the store
    over: Callable[[], bool] = lambda: False  # whether this run's time is up; asked between steps of bounded work
    # The project's folder, for memories about its files; never read inside a transaction.
    folder: Folder = field(default_factory=lambda: Folder(None))
    chat: ChatPort = field(default_factory=ChatPort)  # a language model, where one was named


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a job would do: one change, and the memories to apply it to, in this order. A change that affects other
    memories too, such as a merge, fills in the change-set of its step (`remember/fill.py`)."""

    verb: str
    edit: Callable[[Record], Record]
    because: str
    ids: Sequence[str]
    advice: str | Callable[[Access], str | None] | None = None  # or a function of who may read it
    asks: Sequence[Ask] = ()  # questions for a person, each asked once; `details` name the scope
    fill: Callable[[Record, Any], None] | None = None  # replaces `edit`; takes the memory and its `Changes`
    most: int | None = None  # new questions that are asked at once


def told(asks: Sequence[Ask], reader: Access) -> str | None:
    """The questions that this access may be told of, as one line."""
    return "; ".join(ask.summary for ask in asks if reader.may_read(ask.details["scope"])) or None


def itself(record: Record) -> Record:
    """The edit of a proposal that only asks questions or uses `fill`."""
    return record


class Job(Protocol):
    """One kind of upkeep. A job only reads and proposes; `upkeep/runner.py` applies."""

    @property
    def name(self) -> str: ...

    def propose(self, who: Access, tools: Tools) -> Proposal: ...


@dataclass(frozen=True, slots=True)
class Lane:
    """A part of a prompt's budget. Lanes are served in order, and what one does not use goes to the next. Steady lanes
    come first. For pins the share is a minimum, limited only by the floors of the other lanes."""

    name: str  # what goes in: one of LANES, or a scope family such as task, project, global
    share: float  # of the total or of the rest, 0 to 1
    floor: int = 0  # tokens it gets at least, while any are left
    ceiling: int | None = None  # tokens it never exceeds
    of: Literal["total", "rest"] = "total"  # the rest is what earlier lanes did not get
    least: float = 0.0  # the chance of mattering that a memory needs to enter, in designs that compute one
    of_best: float = 0.0  # the fraction of the best score that a memory needs

    def __post_init__(self) -> None:
        checks.label(self.name, "the name of a lane")
        checks.share(self.share, f"the share of {self.name}")
        checks.whole(self.floor, f"the floor of {self.name}", 0, checks.LARGEST_PROMPT)
        if self.ceiling is not None:
            checks.whole(self.ceiling, f"the ceiling of {self.name}", 0, checks.LARGEST_PROMPT)
        checks.one_of(self.of, f"`of` in the lane {self.name}", ("total", "rest"))
        checks.share(self.least, f"`least` in the lane {self.name}")
        checks.share(self.of_best, f"`of_best` in the lane {self.name}")


# Lanes that do not depend on the query: the part of a prompt that stays the same.
PINNED = "pinned"
STEADY = (PINNED, "decisions", "preferences", "conventions", "known", "summaries")
BRIDGE = "bridge"  # what other agents noted or found in a session since this one last spoke there
LANES = (*STEADY, BRIDGE, "recall")


@dataclass(frozen=True, slots=True)
class Budget:
    """What a prompt may spend on memories: a fixed number of tokens, or a share of the remaining window if that is known."""

    tokens: int = 1500
    share: float = 0.08
    most: int = 5000  # upper limit of the share, in tokens
    hits: int | None = None  # memories recalled for one query; None: as many as the tokens may hold
    deadline: float | None = None  # seconds for all of it; None: no limit

    def __post_init__(self) -> None:
        if self.hits is not None:
            checks.whole(self.hits, "the hits of a budget", 1, MOST_HITS)
        if self.deadline is not None:
            checks.seconds(self.deadline, "the deadline of a budget")
        checks.whole(self.tokens, "the budget's tokens", 1, checks.LARGEST_PROMPT)
        checks.share(self.share, "the budget's share")
        checks.whole(self.most, "the most tokens of a budget", 1, checks.LARGEST_PROMPT)


@dataclass(frozen=True, slots=True)
class Compression:
    """How a prompt saves tokens on long memories."""

    mode: Literal["cheap", "balanced", "max_quality"] = "balanced"  # used unless the caller names one
    ratio: float | None = None  # the fraction of a long memory's text that is kept
    head_tail_preserve: int = 0  # so many memories at each end of a prompt are shown whole, if there are more
    middle_compress: bool = False  # the others are as short as in mode cheap

    def __post_init__(self) -> None:
        checks.one_of(self.mode, "the mode of a compression", ("cheap", "balanced", "max_quality"))
        if self.ratio is not None:
            checks.share(self.ratio, "the ratio of a compression")
        checks.whole(self.head_tail_preserve, "head_tail_preserve", 0, MOST_HITS)
        checks.flag(self.middle_compress, "middle_compress")


Inject = Literal["pull", "core", "push"]  # nothing; the steady lanes; those and what matches the query


@dataclass(frozen=True, slots=True)
class Due:
    """When upkeep starts by itself, one short slice at a time; None switches that trigger off."""

    on_open: bool = False
    uses: int | None = None  # after so many recalls and writes
    hours: float | None = None  # since the last run
    # A night starts after this many minutes without a call in this process, if anything was written since the last one.
    # With more than `above` memories, one quiet minute is enough.
    idle: float | None = None
    above: int | None = None

    def __post_init__(self) -> None:
        checks.flag(self.on_open, "on_open")
        if self.idle is not None:
            checks.number(self.idle, "idle", 0, checks.LARGEST_PROMPT)
        if self.above is not None:
            checks.whole(self.above, "above", 1, checks.LARGEST_PROMPT)
        if self.uses is not None:
            checks.whole(self.uses, "uses", 1, checks.LARGEST_PROMPT)
        if self.hours is not None:
            checks.number(self.hours, "hours", 0, checks.LARGEST_PROMPT)


@dataclass(frozen=True, slots=True)
class Promotion:
    """How findings become memories: `manual` shows their points, `propose` asks a person, `auto` stores candidates.
    `direct` needs no points: findings become candidates of the project as soon as they are found."""

    mode: Literal["manual", "propose", "auto", "direct"] = "propose"
    preset: Literal["conservative", "balanced", "aggressive"] = "balanced"
    every: int | None = None  # an open session is read in the background after this many turns; None: at its end

    def __post_init__(self) -> None:
        checks.one_of(self.mode, "the mode of a promotion", ("manual", "propose", "auto", "direct"))
        checks.one_of(self.preset, "the preset of a promotion", ("conservative", "balanced", "aggressive"))
        if self.every is not None:
            checks.whole(self.every, "`every` of a promotion", 1, checks.LARGEST_PROMPT)


Conflicts = Literal["flag", "supersede", "ask"]
Twins = Literal["exact", "near"]  # what counts as saying a memory again: the same words only, or other words too
Files = Literal["off", "export", "mirror"]  # no files; files that are only written; files that are read back too


@dataclass(frozen=True, slots=True)
class Design:
    """One way to remember. `reads` names scope families, the most important first; `upkeep` lists the jobs that keep
    the store in order."""

    name: str
    about: str
    reads: tuple[str, ...]
    recall: tuple["Stage", ...]
    upkeep: tuple[Job, ...] = ()
    lanes: tuple[Lane, ...] = (Lane("pinned", 0.3), Lane("recall", 1.0, 300))
    budget: Budget = Budget()
    compression: Compression = Compression()
    inject: Inject = "push"
    conflicts: Conflicts = "flag"
    promotion: Promotion = Promotion()
    due: Due = Due()
    twins: Twins = "exact"  # saying a memory again reinforces the one that is there
    files: Files = "off"  # whether memories are also kept as files, unless the settings decide
    associates: bool = False  # whether memories that were used together get linked

    def __post_init__(self) -> None:
        checks.label(self.name, "the name of a design")
        checks.one_of(self.files, "files", get_args(Files))
        checks.flag(self.associates, "associates")
        checks.one_of(self.twins, "twins", get_args(Twins))
        checks.one_of(self.inject, "inject", get_args(Inject))
        checks.one_of(self.conflicts, "conflicts", get_args(Conflicts))
        _all(self.reads, "reads", lambda each: isinstance(each, str))
        _all(self.recall, "recall", callable)
        _all(self.upkeep, "upkeep", lambda each: hasattr(each, "propose"))
        _all(self.lanes, "lanes", lambda each: isinstance(each, Lane))
        slots = ((self.budget, Budget), (self.compression, Compression), (self.promotion, Promotion), (self.due, Due))
        for value, kind in slots:
            if not isinstance(value, kind):
                raise Invalid(f"a design's {kind.__name__.lower()} is a {kind.__name__}, not {quoted(value)}")


def _all(values: object, what: str, fits: Callable[[Any], bool]) -> None:
    if not isinstance(values, tuple) or not all(map(fits, values)):
        raise Invalid(f"a design's {what} are a tuple of them, as in `memorist.designs`; not {quoted(values)}")
