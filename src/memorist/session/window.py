"""What a model is shown of a session: the system's words, a summary of what was said before, the turns since, and memory.

A window is a view. It is put together from rows for one call of a model, and nothing of it is stored. Turns are never
rewritten; what a summary stands for is only left out of the view (`compaction.py`). Turns are in order of arrival, with the
summary before them, whenever it was written.

Old tool results are replaced by a line that says what is missing and where it is. The calls stay, because a model that does
not see what it has done does it again. Three bounds watch the size: from `flush` on, what matters should be noted; from
`compact` on, the older turns are summarised; from `reject` on, a window is useless, but only after a compaction was tried.
If it is far below them, the length of its texts shows that; tokens are counted only near the bounds, or when somebody asks.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import field, fields
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from memorist import checks
from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.noun import Noun, line
from memorist.prompt.render import ROLES
from memorist.records import Outcome, Record
from memorist.store.nouns import Glimpse, parts
from memorist.store.protocol import Store
from memorist.store.where import Order, Where
from memorist.text.tokens import TokenCounter, at_most, count_tokens
from memorist.text.visible import quoted

RESULTS = 5  # the last tool results, which are shown whole
OVERHEAD = 4  # tokens that a message costs besides its text
FLUSH, COMPACT, REJECT = 0.70, 0.85, 0.95
EVENTS_AT_MOST = 1000  # searched for changes; after more, everything is read again
State = Literal["fits", "flush", "compact", "reject"]
Part = Literal["system", "summary", "kept", "turn", "memory"]


# ---------------------------------------------------------------- the bounds


@dataclass(frozen=True, slots=True)
class Bounds(Noun):
    """The numbers of tokens from which something must be done about a window."""

    limit: int
    flush: int
    compact: int
    reject: int

    def state(self, tokens: int, flushed: bool = False) -> State:
        """What a window of this size needs; `flush` only if that was not done yet."""
        if tokens >= self.reject:
            return "reject"
        if tokens >= self.compact:
            return "compact"
        return "flush" if tokens >= self.flush and not flushed else "fits"


def bounds(limit: int, flush: float = FLUSH, compact: float = COMPACT, reject: float = REJECT) -> Bounds:
    """The three bounds in tokens. A whole number means tokens, a negative one the distance from the limit, a fraction a share
    of it.

    >>> bounds(128_000, flush=-8000, compact=-4000, reject=1.0)
    Bounds(limit=128000, flush=120000, compact=124000, reject=128000)
    """
    most = checks.whole(limit, "limit", 1, 1 << 53)
    found = [_tokens(each, name, most) for name, each in (("flush", flush), ("compact", compact), ("reject", reject))]
    if not 0 < found[0] < found[1] < found[2] <= most:
        said = ", ".join(f"{name} {each:,}" for name, each in zip(("flush", "compact", "reject"), found, strict=True))
        raise Invalid(
            f"in a window of {most:,} tokens these are {said}; they must grow, from above 0 to no more than the window"
        )
    return Bounds(most, *found)


def _tokens(given: Any, name: str, limit: int) -> int:
    if isinstance(given, float) and 0 < given <= 1:
        return int(limit * given)
    if isinstance(given, int) and not isinstance(given, bool):
        return limit + given if given < 0 else given
    raise Invalid(
        f"{name} must be tokens such as 100_000, a distance from the limit such as -4000, or a share such as 0.85, "
        f"not {quoted(given)}"
    )


# ---------------------------------------------------------------- what stands in it


@dataclass(frozen=True, slots=True)
class Pane(Noun):
    """One message of a window, and the id of the record it shows."""

    role: str
    text: str
    part: Part
    tokens: int
    id: str | None = None
    call: Mapping[str, Any] | None = field(default=None, hash=False)  # of a tool: id, the tool's name and the input
    result: str | None = None  # the id of the call that this answers
    left_out: bool = False  # the text only says what is missing

    def _line(self) -> str:
        return f"{self.part}, {self.role}, {self.tokens:,} tokens: {line(self.text)}"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Counts the tokens of a turn when somebody first asks for them."""
            return _counted(self, name, lambda: count_tokens(self.text) + OVERHEAD)


@dataclass(frozen=True, slots=True, repr=False)
class Window(Noun):
    """What to show a model. It is false if it is too large even after a compaction."""

    panes: tuple[Pane, ...]
    tokens: int
    bounds: Bounds
    state: State
    because: str
    compacted: Outcome | None = None  # the compaction that this call made
    ask: str | None = None  # a request to the model to note what lasts; its reply goes to `flush`
    receipt: str | None = None  # of the memory shown, for `used`

    TOLD_TOO: ClassVar[Mapping[str, Any]] = {"messages": list[dict[str, Any]]}  # shown beside the fields, with its type

    def to_dict(self) -> dict[str, Any]:
        """Its fields, and the messages in a form that can be sent on as JSON."""
        return {**Noun.to_dict(self), "messages": self.messages}

    def __bool__(self) -> bool:
        return self.state != "reject"

    def _line(self) -> str:
        return (
            f"{len(self.panes)} messages, {self.tokens:,} of {self.bounds.limit:,} tokens, {self.state}: {self.because}"
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Counts its tokens when somebody first asks, if it was clear without them that it fits."""
            return _counted(self, name, lambda: sum(pane.tokens for pane in self.panes))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The window as chat messages in OpenAI's format. Model servers refuse a call without a result, and a result
        that does not follow its call; both are shown as text."""
        runs = [(sort, list(some)) for sort, some in groupby(self.panes, key=_sort)]
        said, open_ids = list[dict[str, Any]](), set[str]()
        for (sort, some), (then, following) in pairwise([*runs, ("text", [])]):
            if sort == "call":
                open_ids = _ids(some) & _ids(following) if then == "result" else set()
            paired, alone = _split(some, open_ids)
            if sort == "call":
                said += [*map(_as_text, alone), *_calling(paired)]
            else:
                said += [*map(_answering, paired), *map(_as_text, alone)]
                open_ids = set()
        return said


def _counted(noun: Noun, name: str, count: Callable[[], int]) -> int:
    if name != "tokens":
        raise AttributeError(f"{type(noun).__name__} has no {name}", name=name, obj=noun)
    tokens = count()
    object.__setattr__(noun, name, tokens)
    return tokens


def counted_later(window: Window) -> Window:
    """The same window without its count of tokens, which is computed from its panes when needed."""
    object.__delattr__(window, "tokens")
    return window


def _sort(pane: Pane) -> str:
    return "call" if pane.call else "result" if pane.result else "text"


def _call_id(pane: Pane) -> str:
    return pane.result or str((pane.call or {}).get("id") or "")


def _ids(panes: Iterable[Pane]) -> set[str]:
    return set(map(_call_id, panes)) - {""}


def _split(panes: Sequence[Pane], ids: Set[str]) -> tuple[list[Pane], list[Pane]]:
    """The first pane for each of these ids, and the rest."""
    paired, alone, left = list[Pane](), list[Pane](), set(ids)
    for pane in panes:
        (paired if _call_id(pane) in left else alone).append(pane)
        left.discard(_call_id(pane))
    return paired, alone


def _calling(panes: Sequence[Pane]) -> list[dict[str, Any]]:
    calls = [(_call_id(each), each.call or {}) for each in panes]
    made = [
        (id, {"name": call.get("name"), "arguments": json.dumps(call.get("input"), ensure_ascii=False)})
        for id, call in calls
    ]
    asked = [{"id": id, "type": "function", "function": function} for id, function in made]
    return [{"role": "assistant", "content": None, "tool_calls": asked}] if asked else []


def _answering(pane: Pane) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": pane.result, "content": pane.text}


def _as_text(pane: Pane) -> dict[str, Any]:
    if pane.role == "tool":
        return {"role": "assistant", "content": f"(A tool returned:) {pane.text}"}
    return {"role": pane.role, "content": pane.text}


def pane_of(turn: Record, count: TokenCounter, part: Part = "turn") -> Pane:
    said = turn.provenance.role
    seen = Glimpse(turn.number, turn.id, turn.version, turn.text, said, turn.origin, turn.trust, turn.data)
    return _pane(seen, count, part)


def _pane(turn: Glimpse, count: TokenCounter, part: Part = "turn") -> Pane:
    """Fills the pane field by field, because there can be ten thousand of them. A caller's own token counter runs at
    once, ours later."""
    pane, call, result = object.__new__(Pane), None, None
    if turn.data:
        call, result = _tool(turn.data)
    _set_role(pane, _role(turn))
    _set_text(pane, turn.text)
    _set_part(pane, part)
    _set_id(pane, turn.id)
    _set_call(pane, call)
    _set_result(pane, result)
    _set_left_out(pane, False)
    if count is not count_tokens:
        _set_tokens(pane, count(turn.text) + OVERHEAD)
    return pane


def _tool(data: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str | None]:
    """The call that a turn is, and the id of the call that it answers."""
    call, result = data.get("call"), data.get("result")
    return call if isinstance(call, Mapping) else None, result if isinstance(result, str) else None


_set_role, _set_text, _set_part, _set_tokens, _set_id, _set_call, _set_result, _set_left_out = (
    getattr(Pane, each.name).__set__ for each in fields(Pane)
)


def _role(turn: Glimpse) -> str:
    """The role shown for a turn. Untrusted text never speaks as the system, whatever role it was stored with."""
    if turn.role not in ROLES:
        return "user" if turn.origin in ("user", "recorded") else "assistant"
    return "assistant" if turn.role == "system" and turn.trust == "low" else turn.role


def left_out(turn: Record | Glimpse, whole: Pane, tool: str | None, count: TokenCounter) -> Pane:
    """A line in place of an old result, or the result itself if that is no longer than the line."""
    text = f"[The result of {line(tool or 'a tool', 60)} is left out here, {whole.tokens:,} tokens; memory {turn.number} has it.]"
    tokens = count(text) + OVERHEAD
    if tokens >= whole.tokens:
        return whole
    return Pane(whole.role, text, whole.part, tokens, whole.id, whole.call, whole.result, left_out=True)


# ---------------------------------------------------------------- reading it


@dataclass(slots=True)
class History:
    """The turns of a session since its last compaction, and what stands for those before. They are read once, and only the
    parts that are shown. After that, the journal says whether one of them was changed, and only new turns are read."""

    said: Sequence[Where]  # its turns, after those of the sessions it was forked from
    summaries: Where  # its compactions
    count: TokenCounter
    summary: Record | None = None
    kept: list[Record] = field(default_factory=list)  # turns covered by the summary but still shown
    turns: list[Glimpse] = field(default_factory=list)
    most: int | None = 0  # upper bound of the turns' tokens, without counting; None with a caller's own counter
    _panes: list[Pane] = field(default_factory=list)
    _short: dict[int, Pane] = field(default_factory=dict)  # position of a tool result → the line that may replace it
    _tools: dict[str, str] = field(default_factory=dict)  # call id → name of the tool
    _ids: set[str] = field(default_factory=set)
    _seen: int | None = None  # the last known journal event

    def read(self, store: Store) -> None:
        with store.moment():
            head = store.head()
            now, (summary, covered) = head.last if head else 0, self._latest(store)
            if self._seen is None or _id(summary) != _id(self.summary) or self._changed(now - self._seen, store):
                self._begin(summary, store)
            if now != self._seen:
                after = self.turns[-1].number if self.turns else covered
                for said in self.said:
                    self._add(store.glimpses(said.also("number", "gt", after)))
            self._seen = now

    @property
    def versions(self) -> set[tuple[str, int]]:
        """The id and version of everything that the view is made of."""
        told = [*([] if self.summary is None else [self.summary]), *self.kept]
        return {(each.id, each.version) for each in told} | {(turn.id, turn.version) for turn in self.turns}

    def records(self, turns: int, store: Store) -> list[Record]:
        """The full records of the first `turns` turns, as they are now."""
        living = Where(self.summaries.access).also("state", "eq", "active")
        return [
            record
            for some in parts([turn.id for turn in self.turns[:turns]], 500)
            for record in store.get(some, living)
        ]

    @property
    def cycle(self) -> str:
        """Identifies the time between two compactions by the summary that it began with."""
        return _id(self.summary) or "first"

    def _latest(self, store: Store) -> tuple[Record | None, int]:
        """The newest compaction whose turns still exist, and the number of the last of them."""
        for record in store.find(self.summaries, Order("number"), 5):
            covers = record.data.get("covers")
            last = covers[-1] if isinstance(covers, list | tuple) and covers else None
            found = store.get([last], Where(self.summaries.access)) if isinstance(last, str) else []
            if found:
                return record, found[0].number
        return None, 0

    def _changed(self, events: int, store: Store) -> bool:
        """Whether one of the last `events` events changed a turn that is shown."""
        if events > EVENTS_AT_MOST:
            return True
        return events > 0 and any(event.record in self._ids for event in store.journal(limit=events))

    def _begin(self, summary: Record | None, store: Store) -> None:
        self.summary, self.turns, self._panes, self._short, self._tools = summary, [], [], {}, {}
        self.most = 0 if self.count is count_tokens else None
        named = summary.data.get("kept") if summary else None
        ids = [id for id in named if isinstance(id, str)] if isinstance(named, list | tuple) else []
        living = Where(self.summaries.access).also("state", "eq", "active").also("kind", "eq", "turn")
        self.kept = store.get(ids, living)
        self._ids, self._seen = {turn.id for turn in self.kept}, None

    def _add(self, turns: Sequence[Glimpse]) -> None:
        for turn in turns:
            pane = _pane(turn, self.count)
            if pane.call:
                self._tools[str(pane.call.get("id"))] = str(pane.call.get("name"))
            if pane.role == "tool":
                tool = self._tools.get(pane.result or "")
                self._short[len(self._panes)] = left_out(turn, pane, tool, self.count)
            self._panes.append(pane)
        self._ids.update([turn.id for turn in turns])
        self.turns += turns
        if self.most is not None:
            self.most += at_most([turn.text for turn in turns]) + OVERHEAD * len(turns)

    def panes(self, results: int = RESULTS) -> list[Pane]:
        """The turns as shown; of the tool results, only the last `results` are whole."""
        shown = list(self._panes)
        places = list(self._short)
        for place in places[: max(0, len(places) - results)]:
            shown[place] = self._short[place]
        return shown


def _id(record: Record | None) -> str | None:
    return record.id if record else None
