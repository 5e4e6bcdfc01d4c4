"""A design is data: which scopes a query reads, which stages answer it, and which jobs keep the store in order. It has
no tables and no code, so a store can change its design at any time.

`Tools` holds everything that a stage, a job or a verb may use of the outside world. It is passed in, so a test can pass
any clock it likes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, field, fields
from datetime import datetime
from functools import partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, cast, get_args, get_origin

from memorist import checks
from memorist.access import Access
from memorist.errors import Invalid
from memorist.folder import Folder
from memorist.kinds import Kinds
from memorist.lazy import dataclass
from memorist.models import reader
from memorist.models.chat import ChatPort
from memorist.patience import Patience
from memorist.records import Record
from memorist.store.copies import Cleaning
from memorist.store.meaning import Meaning
from memorist.store.protocol import Store
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

    def __new__(cls, verb: str, summary: str, danger: str | None = None, details: Any = None) -> Self:
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
    patience: Patience = field(default_factory=Patience)  # waits for the reranker as long as the deadline allows
    clean_files: CleanFiles | None = None  # removes what was erased from files that follow the store
    over: Callable[[], bool] = lambda: False  # whether this run's time is up; asked between steps of bounded work
    # The project's folder, for memories about its files; never read inside a transaction.
    folder: Folder = field(default_factory=lambda: Folder(None))
    chat: ChatPort = field(default_factory=ChatPort)  # a language model, where one was named
    reading: bool = True  # whether the setting lets the reader judge texts

    @property
    def reads(self) -> bool:
        """Whether the reader can be asked: it is switched on, and its weights are sound."""
        return self.reading and reader.problem() is None


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


# ---------------------------------------------------------------- the parts of a design

Check = Callable[[Any, str], Any]  # takes a value and what it is called, raises `Invalid`
LARGEST_PROMPT = checks.LARGEST_PROMPT


def bounded(least: float, most: float, default: Any) -> Any:
    """A field that holds a number within these bounds."""
    return field(default=default, metadata={"bounds": (least, most)})


def check_of(each: "Field[Any]") -> tuple[Check | None, bool]:
    """What checks the values of a field, and whether it may be None: its own check, or one by its type and bounds. Without
    bounds a whole number is from 1 to 1000, and any other a share, from 0 to 1. None for what a file cannot say."""
    kinds = get_args(each.type) if isinstance(each.type, UnionType) else (each.type,)
    kind = kinds[0]
    check: Check | None = each.metadata.get("check")
    if check is None and kind in (int, float):
        least, most = each.metadata.get("bounds", (1, 1000) if kind is int else (0, 1))
        check = partial(cast(Any, checks.whole if kind is int else checks.number), least=least, most=most)
    elif check is None and get_origin(kind) is Literal:
        check = partial(checks.one_of, allowed=get_args(kind))
    elif check is None:
        check = {bool: checks.flag, str: checks.label}.get(kind)
    return check, NoneType in kinds


def verify(part: Any) -> None:
    """Checks all fields of a part of a design."""
    called = type(part).__name__.lower()
    for each in fields(part):
        check, may_be_none = check_of(each)
        if check and not (may_be_none and getattr(part, each.name) is None):
            check(getattr(part, each.name), f"the {each.name} of the {called} {getattr(part, 'name', '')}".rstrip())


@dataclass(frozen=True, slots=True)
class Lane:
    """A part of a prompt's budget. Lanes are served in order, and what one does not use goes to the next. Steady lanes
    come first. For pins the share is a minimum, limited only by the floors of the other lanes."""

    name: str  # what goes in: one of LANES, or a scope family such as task, project, global
    share: float  # of the total or of the rest
    floor: int = bounded(0, LARGEST_PROMPT, 0)  # tokens it gets at least, while any are left
    ceiling: int | None = bounded(0, LARGEST_PROMPT, None)  # tokens it never exceeds
    of: Literal["total", "rest"] = "total"  # the rest is what earlier lanes did not get
    of_above: float = 0.0  # the score that each but the best memory needs, as a share of the sum of all better ones

    def __post_init__(self) -> None:
        verify(self)


# Lanes that do not depend on the query: the part of a prompt that stays the same.
PINNED = "pinned"
STEADY = (PINNED, "standing", "decisions", "preferences", "conventions", "known", "summaries")
BRIDGE = "bridge"  # what other agents noted or found in a session since this one last spoke there
LANES = (*STEADY, BRIDGE, "recall")


@dataclass(frozen=True, slots=True)
class Budget:
    """What a prompt may spend on memories: a fixed number of tokens, or a share of the remaining window if that is known."""

    tokens: int = bounded(1, LARGEST_PROMPT, 1500)
    share: float = 0.08
    most: int = bounded(1, LARGEST_PROMPT, 5000)  # upper limit of the share, in tokens
    hits: int | None = bounded(
        1, MOST_HITS, None
    )  # memories recalled for one query; None: as many as the tokens may hold
    deadline: float | None = field(default=None, metadata={"check": checks.seconds})  # for all of it; None: no limit

    def __post_init__(self) -> None:
        verify(self)


@dataclass(frozen=True, slots=True)
class Compression:
    """How a prompt saves tokens on long memories."""

    mode: Literal["cheap", "balanced", "max_quality"] = "balanced"  # used unless the caller names one
    ratio: float | None = None  # the fraction of a long memory's text that is kept
    head_tail_preserve: int = bounded(
        0, MOST_HITS, 0
    )  # so many at each end of a prompt are shown whole, if there are more
    middle_compress: bool = False  # the others are as short as in mode cheap

    def __post_init__(self) -> None:
        verify(self)


Inject = Literal["pull", "core", "push"]  # nothing; the steady lanes; those and what matches the query
Conflicts = Literal["flag", "supersede", "ask"]
Twins = Literal["exact", "near"]  # what counts as saying a memory again: the same words only, or other words too
Files = Literal["off", "export", "mirror"]  # no files; files that are only written; files that are read back too


@dataclass(frozen=True, slots=True)
class Due:
    """When upkeep starts by itself, one short slice at a time; None switches that trigger off. Deep maintenance starts after
    `idle` minutes without a call in this process, if anything was written since the last one; with more than `above`
    memories, one quiet minute is enough."""

    on_open: bool = False
    uses: int | None = bounded(1, LARGEST_PROMPT, None)  # after so many recalls and writes
    hours: float | None = bounded(0, LARGEST_PROMPT, None)  # since the last run
    idle: float | None = bounded(0, LARGEST_PROMPT, None)
    above: int | None = bounded(1, LARGEST_PROMPT, None)

    def __post_init__(self) -> None:
        verify(self)


@dataclass(frozen=True, slots=True)
class Promotion:
    """How findings become memories: `manual` shows their points, `propose` asks a person, `auto` stores candidates.
    `direct` needs no points: findings become candidates of the project as soon as they are found."""

    mode: Literal["manual", "propose", "auto", "direct"] = "propose"
    preset: Literal["conservative", "balanced", "aggressive"] = "balanced"
    every: int | None = bounded(
        1, LARGEST_PROMPT, None
    )  # an open session is read after so many turns; None: at its end

    def __post_init__(self) -> None:
        verify(self)


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
        verify(self)
        is_part: Mapping[str, Callable[[Any], bool]] = {
            "reads": lambda each: isinstance(each, str), "recall": callable, "upkeep": lambda each: hasattr(each, "propose"),
            "lanes": lambda each: isinstance(each, Lane),
        }  # fmt: skip
        for name, fits in is_part.items():
            if not isinstance(values := getattr(self, name), tuple) or not all(map(fits, values)):
                raise Invalid(f"a design's {name} are a tuple of them, as in `memorist.designs`; not {quoted(values)}")
        for kind in (Budget, Compression, Promotion, Due):
            if not isinstance(value := getattr(self, name := kind.__name__.lower()), kind):
                raise Invalid(f"a design's {name} is a {kind.__name__}, not {quoted(value)}")
