"""A design is data: which scopes a question reads, which stages answer it, which jobs keep the store in order. It has no
tables and no code, so a store can change its design at any time.

`Tools` is everything that a stage, a job or a verb may use of the outside world. It is passed in, so a test can pass any
clock it likes.
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
from memorist.models.embed import Patience
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
MOST_HITS = 1000  # that one may ask for


@dataclass(frozen=True, eq=False)
class Ask(str):
    """A question for a person. It is a string, so that a plain function from text to yes or no is a confirmer; one that
    wants more reads the fields."""

    verb: str
    summary: str  # what would be done, in one line
    danger: str | None = None  # what cannot be undone, if anything
    details: Mapping[str, Any] = field(default_factory=dict)  # exactly what an approval does

    def __new__(
        cls, verb: str, summary: str, danger: str | None = None, details: Mapping[str, Any] | None = None
    ) -> Self:
        return super().__new__(cls, summary if danger is None else f"{summary}\n{danger}")


Answer = Literal["approve", "deny", "queue"]
Confirmer = Callable[[Ask], Answer | bool]  # True approves, False denies


# From a question and texts to how well each text answers it: one number from 0 to 1 for each.
Reranker = Callable[[str, Sequence[str]], Sequence[float]]


# From the ids of what is gone and words that only it held to what is done and what has to be said.
CleanFiles = Callable[[Collection[str], Collection[bytes], Cleaning], None]


@dataclass(frozen=True, slots=True)
class Tools:
    store: Store
    clock: Clock
    count_tokens: TokenCounter
    kinds: Kinds
    meaning: Meaning  # which vectors can be read, and the question as vectors for them
    confirm: Confirmer | None = None  # asks a person; without one, questions wait in the queue
    rerank: Reranker | None = None  # a second opinion on the hits
    times: TimeReader = english  # reads the times in a question
    patience: Patience = field(default_factory=Patience)  # waits for the reranker as long as the deadline allows
    clean_files: CleanFiles | None = None  # takes what was erased out of files that follow the store
    over: Callable[[], bool] = lambda: False  # whether the time of this run is up; asked between steps of bounded work
    # The project's, for memories about its files; never asked inside a transaction.
    folder: Folder = field(default_factory=lambda: Folder(None))
    chat: ChatPort = field(default_factory=ChatPort)  # a language model, where one was named


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a job would do: one change, and the memories to apply it to, in this order. What concerns more than that memory, such
    as one that is merged into another, is filled into the change-set of its step (`remember/fill.py`)."""

    verb: str
    edit: Callable[[Record], Record]
    because: str
    ids: Sequence[str]
    advice: str | Callable[[Access], str | None] | None = None  # or what somebody with that access may be told
    asks: Sequence[Ask] = ()  # questions for a person, each asked once; `details` name the scope
    fill: Callable[[Record, Any], None] | None = None  # instead of the edit: the memory, and its `Changes`
    most: int | None = None  # questions that are asked at once, of those that nobody was asked before


def told(asks: Sequence[Ask], reader: Access) -> str | None:
    """The questions that somebody with that access may be told of."""
    return "; ".join(ask.summary for ask in asks if reader.may_read(ask.details["scope"])) or None


def itself(record: Record) -> Record:
    """The edit of a proposal that only asks, or that fills."""
    return record


class Job(Protocol):
    """One kind of upkeep. It only reads and proposes; `upkeep/runner.py` applies."""

    @property
    def name(self) -> str: ...

    def propose(self, who: Access, tools: Tools) -> Proposal: ...


@dataclass(frozen=True, slots=True)
class Lane:
    """A part of a prompt's budget. Lanes are served in order; what one does not use goes to the next. Steady ones come first;
    for pins the share is what they get at least, and the floors of the others limit them."""

    name: str  # what goes in: one of LANES, or a scope family such as task, project, global
    share: float  # of the total or of the rest, 0 to 1
    floor: int = 0  # tokens it gets at least, while any are left
    ceiling: int | None = None  # tokens it never exceeds
    of: Literal["total", "rest"] = "total"  # the rest is what the lanes before it did not get
    least: float = 0.0  # the chance to matter that a memory needs to enter, where the design knows one
    of_best: float = 0.0  # the part of the best score that it needs

    def __post_init__(self) -> None:
        checks.label(self.name, "the name of a lane")
        checks.share(self.share, f"the share of {self.name}")
        checks.whole(self.floor, f"the floor of {self.name}", 0, checks.LARGEST_PROMPT)
        if self.ceiling is not None:
            checks.whole(self.ceiling, f"the ceiling of {self.name}", 0, checks.LARGEST_PROMPT)
        checks.one_of(self.of, f"`of` in the lane {self.name}", ("total", "rest"))
        checks.share(self.least, f"`least` in the lane {self.name}")
        checks.share(self.of_best, f"`of_best` in the lane {self.name}")


# Lanes that do not depend on the question: the part of a prompt that stays the same.
PINNED = "pinned"
STEADY = (PINNED, "decisions", "preferences", "conventions", "known", "summaries")
BRIDGE = "bridge"  # what other agents noted or found in a session since this one last spoke there
LANES = (*STEADY, BRIDGE, "recall")


@dataclass(frozen=True, slots=True)
class Budget:
    """What a prompt may spend on memories. Its tokens are a fixed number, or a share of the remaining window where it is known."""

    tokens: int = 1500
    share: float = 0.08
    most: int = 5000  # tokens that the share never exceeds
    hits: int | None = None  # memories that are recalled for a question; None: as many as the tokens may hold
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

    mode: Literal["cheap", "balanced", "max_quality"] = "balanced"  # where the caller names none
    ratio: float | None = None  # of a long memory's text that is kept
    head_tail_preserve: int = 0  # so many at the start and at the end of a prompt are shown whole, if there are more
    middle_compress: bool = False  # the others as short as in mode cheap

    def __post_init__(self) -> None:
        checks.one_of(self.mode, "the mode of a compression", ("cheap", "balanced", "max_quality"))
        if self.ratio is not None:
            checks.share(self.ratio, "the ratio of a compression")
        checks.whole(self.head_tail_preserve, "head_tail_preserve", 0, MOST_HITS)
        checks.flag(self.middle_compress, "middle_compress")


Inject = Literal["pull", "core", "push"]  # nothing; the steady lanes; those and what matches the question


@dataclass(frozen=True, slots=True)
class Due:
    """When upkeep starts automatically, one short slice at a time; None: never for that reason."""

    on_open: bool = False
    uses: int | None = None  # after so many recalls and writes
    hours: float | None = None  # since the last run
    # And when a night starts: after so many minutes in which this process was not asked for anything, where something was written
    # since the last one; above so many memories a minute is enough.
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
    """How findings become memories: `manual` shows their points, `propose` asks a person, `auto` stores candidates; `direct`
    waits for no points: they are candidates of the project as soon as they are found."""

    mode: Literal["manual", "propose", "auto", "direct"] = "propose"
    preset: Literal["conservative", "balanced", "aggressive"] = "balanced"
    every: int | None = None  # turns of an open session after which it is read in the background; None: at its end

    def __post_init__(self) -> None:
        checks.one_of(self.mode, "the mode of a promotion", ("manual", "propose", "auto", "direct"))
        checks.one_of(self.preset, "the preset of a promotion", ("conservative", "balanced", "aggressive"))
        if self.every is not None:
            checks.whole(self.every, "`every` of a promotion", 1, checks.LARGEST_PROMPT)


Conflicts = Literal["flag", "supersede", "ask"]
Twins = Literal["exact", "near"]  # a memory that is said again: in the same words; or in others too
Files = Literal["off", "export", "mirror"]  # none; files that are only written; files that are read back too


@dataclass(frozen=True, slots=True)
class Design:
    """One way to remember. `reads` names scope families, the most important first; `upkeep` keeps the store in order."""

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
    twins: Twins = "exact"  # what is said again reinforces what is there
    files: Files = "off"  # whether memories lie in files too, where the settings do not say
    associates: bool = False  # whether what was used together is tied together

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
