"""The cycle of an open session: its window grows, what lasts is noted, the older turns are summarised, and it grows again.

Everything is read from rows, so a session that was killed goes on where it was: the record of the session names the last turn
whose lasting content was noted, and a summary the last turn that it covers. If the first lies behind the second, the flush of
this cycle is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from memorist import checks
from memorist.errors import Conflict, MemoristError
from memorist.prompt.modes import Profile
from memorist.prompt.render import boxed
from memorist.records import Context, Draft, Outcome, Record
from memorist.remember import edit, gate
from memorist.session import compaction
from memorist.session.window import (
    COMPACT,
    FLUSH,
    OVERHEAD,
    REJECT,
    RESULTS,
    Bounds,
    History,
    Pane,
    Window,
    bounds,
    pane_of,
)

if TYPE_CHECKING:
    from memorist.session.session import Host, Name

TITLE = "What was said earlier in this conversation, in short"
NO_TURNS = Profile("window", policy="semantic", tags=(), turns=0)  # the turns are in the window already
MOST_TURNS = 1_000_000
Reason = Literal["threshold", "compaction_pending", "manual", "session_end"]
ASKS = {
    "fits": "it fits",
    "flush": "what lasts should be noted before the older turns are summarised; `ask` is for the model",
    "compact": "the older turns should be summarised",
    "reject": "it is too large, and a compaction did not help; raise the limit, or keep large results out of the session",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """How much of a session stands in its window as it is."""

    keep: int  # the last turns, when the older ones are summarised
    results: int  # the last results of tools
    raw: int | None  # turns, until the older ones are summarised in any case
    preserve: int  # tokens of marked turns that are older


class Cycle:
    """What an open session shows a model, and how that stays small."""

    _memory: "Host"
    _name: "Name"
    _past: History | None = None
    agent: str | None

    if TYPE_CHECKING:

        @property
        def id(self) -> str: ...
        @property
        def record(self) -> Record: ...
        def context(self, query: str, **more: Any) -> Context: ...

    def window(
        self,
        limit: int,
        *,
        query: str | None = None,
        system: str | None = None,
        flush: float = FLUSH,
        compact: float = COMPACT,
        reject: float = REJECT,
        keep: int = compaction.KEEP,
        results: int = RESULTS,
        raw: int | None = None,
        preserve: int | None = None,
        dry_run: bool = False,
    ) -> Window:
        """What to show a model now, in no more than `limit` tokens: `messages` are ready to be sent. Where it grew too large,
        the older turns are summarised first; it is false if that did not help.

        query: what memories are wanted for; none without it · system: what stands before everything
        flush, compact, reject: from where on what lasts should be noted, older turns are summarised, and the window is refused:
            tokens such as 100_000, a distance from the limit such as -4000, or a share of it such as 0.85
        keep: turns that stay when the older ones are summarised, the last ones
        results: of tools that are shown whole, the last ones
        raw: turns that may stand as they are, for a summary that rolls along; as many as fit without it
        preserve: tokens for older turns that were marked as important · dry_run: whether nothing is summarised, only told
        """
        edges = bounds(limit, flush, compact, reject)
        shape = _shape(keep, results, raw, edges.limit // 20 if preserve is None else preserve)
        head = [] if system is None else [self._pane("system", checks.text(system, "system"), "system")]
        panes, done = self._panes(head, shape), None
        if not checks.flag(dry_run, "dry_run") and self._is_due(panes, edges, shape):
            done = self._shrink(panes, edges, shape)
            panes = self._panes(head, shape)
        return self._window(panes, edges, done, query)

    def compact(self, keep: int = compaction.KEEP, preserve: int = compaction.PRESERVED) -> Outcome:
        """Summarises all but the last `keep` turns. The turns stay as they are; the window shows the summary in their place,
        and beside it those that were marked as important, in up to `preserve` tokens. Undo the outcome's batch to see the
        turns again. Before that, what lasts is noted, unless `flush` was called since the last time."""
        shape = _shape(keep, RESULTS, None, preserve)
        return self._compact(self._panes([], shape), shape)

    def flush(self, reply: str | None = None, reason: Reason = "manual") -> list[Outcome]:
        """Notes what lasts, before the turns that say it are summarised: what a model replied to the `ask` of a window, line by
        line for its sections; without a reply, what rules find in the turns since the last time. It adds and never replaces."""
        checks.one_of(reason, "the reason of a flush", compaction.REASONS)
        past = self._read()
        fresh = past.turns[self._flushed(past) :]
        saved = self._noted(fresh) if reply is None else self._replied(checks.text(reply, "the reply"))
        if fresh:
            self._mark(fresh[-1].id, reason)
        self._announce("memory:flush", reason=reason, saved=sum(map(bool, saved)))
        return saved

    # ------------------------------------------------------------ what stands in it

    def _read(self) -> History:
        """What was said since the last compaction, as it is now."""
        by = self._memory._caller
        if self._past is None:
            mine = by.where.also("session", "eq", self.id).also("state", "eq", "active")
            said = mine.also("scope", "eq", self._name.place).also("kind", "eq", "turn")
            told = mine.also("scope", "eq", self._name.scope).also("home", "eq", self._name.home)
            told = told.also("kind", "eq", "summary").also("data.covers", "ne", None)
            self._past = History(by.store, said, told, by.tools.count_tokens)
        self._past.read()
        return self._past

    def _panes(self, head: Sequence[Pane], shape: Shape) -> list[Pane]:
        past = self._read()
        kept = [pane_of(turn, past.count, "kept") for turn in past.kept]
        system = [pane for pane in kept if pane.role == "system"]
        summary = [] if past.summary is None else [self._shown(past.summary.text, past.summary.id)]
        others = [pane for pane in kept if pane.role != "system"]
        return [*head, *system, *summary, *others, *past.panes(shape.results)]

    def _shown(self, summary: str, id: str | None = None) -> Pane:
        """A summary as the window shows it: what it quotes is data."""
        return self._pane("user", boxed(TITLE, summary, self._memory._caller.writer.digest), "summary", id)

    def _pane(self, role: str, text: str, part: Any, id: str | None = None) -> Pane:
        return Pane(role, text, part, self._memory._caller.tools.count_tokens(text) + OVERHEAD, id)

    def _window(self, panes: list[Pane], edges: Bounds, done: Outcome | None, query: str | None) -> Window:
        flushed = self._flushed(self._read()) > 0
        state = edges.state(_tokens(panes), flushed)
        if state == "reject" and done is None:  # not before a compaction was tried
            state = "compact"
        because = ASKS[state] if done is None or done else f"{ASKS[state]}; it was not compacted: {done.because}"
        receipt = None
        if query is not None:
            memory = self.context(
                query, remaining=max(0, edges.compact - _tokens(panes)), profile=NO_TURNS, where={"data.covers": None}
            )
            receipt = memory.receipt
            panes = self._with_memory(panes, memory)
        ask = compaction.REQUEST if state == "flush" else None
        return Window(tuple(panes), _tokens(panes), edges, state, because, done, ask, receipt)

    def _with_memory(self, panes: list[Pane], memory: Context) -> list[Pane]:
        """Memory stands right before the last words of the user: what is before it stays the same from call to call, and a
        model's cache can reuse it."""
        if not memory.text:
            return panes
        said = (n for n in range(len(panes) - 1, -1, -1) if (panes[n].role, panes[n].part) == ("user", "turn"))
        place = next(said, len(panes))
        return [*panes[:place], self._pane("user", memory.text, "memory"), *panes[place:]]

    # ------------------------------------------------------------ making it small

    def _is_due(self, panes: Sequence[Pane], edges: Bounds, shape: Shape) -> bool:
        many = shape.raw is not None and len(self._read().turns) > shape.raw
        return many or edges.state(_tokens(panes)) in ("compact", "reject")

    def _shrink(self, panes: Sequence[Pane], edges: Bounds, shape: Shape) -> Outcome:
        """A compaction that keeps the last turns if they fit, and as few of them as must be if not. If the store takes no
        writes, the window goes on without one, and says so."""
        shape = replace(shape, keep=self._fitting(panes, edges, shape))
        try:
            return self._compact(panes, shape)
        except Conflict:
            raise
        except MemoristError as problem:
            return Outcome("refused", str(problem), scope=self._name.scope)

    def _fitting(self, panes: Sequence[Pane], edges: Bounds, shape: Shape) -> int:
        """How many turns can stay: all that should, or half as many, or half of these …"""
        turns, keep = self._read().turns, shape.keep
        costs = [pane.tokens for pane in panes[len(panes) - len(turns) :]]
        head = _tokens([pane for pane in panes if pane.role == "system"])
        room = edges.compact - head - compaction.MOST - shape.preserve
        while keep > 1 and sum(costs[compaction.border(turns, keep) :]) >= room:
            keep //= 2
        return keep

    def _compact(self, panes: Sequence[Pane], shape: Shape) -> Outcome:
        past = self._read()
        cut = compaction.border(past.turns, shape.keep)
        if cut == 0:
            because = f"nothing is older than the {shape.keep} turns that stay, and the calls of their results"
            return Outcome("unchanged", because, scope=self._name.scope)
        if not self._flushed(past):
            self.flush(reason="compaction_pending")
        covered, earlier = past.turns[:cut], [] if past.summary is None else [past.summary]
        told, kept = [*earlier, *covered], compaction.preserved([*past.kept, *covered], shape.preserve, past.count)
        text = compaction.summarise(told, past.count)
        before = _tokens([pane for pane in panes if pane.part != "system"])
        stay = past.panes(shape.results)[cut:]
        after = _tokens([self._shown(text), *(pane_of(turn, past.count, "kept") for turn in kept), *stay])
        first = past.summary.data["covers"][0] if past.summary else covered[0].id
        data = {
            "covers": [first, covered[-1].id], **compaction.figures(told).data(), "before": before, "after": after,
            "kept": [turn.id for turn in kept],
        }  # fmt: skip
        return self._told(self._stored(text, data, told), before, after)

    def _stored(self, text: str, data: dict[str, Any], told: Sequence[Record]) -> Outcome:
        by = self._memory._caller
        draft = Draft(
            text, "summary", self._name.scope, data=data, session=self.id, agent=self.agent, at=told[-1].times.at,
            home=self._name.home,
        )  # fmt: skip
        origin = compaction.origin_of(told, by.access.origin)
        return self._memory._tell(
            gate.admit([draft], by.through(replace(by.access, origin=origin)), self._name.place)[0]
        )

    def _told(self, outcome: Outcome, before: int, after: int) -> Outcome:
        if outcome:
            self._announce("memory:compact", before=before, after=after, id=outcome.id)
        return outcome

    # ------------------------------------------------------------ what lasts

    def _flushed(self, past: History) -> int:
        """How many of the turns since the last compaction have been looked through for what lasts."""
        last = self.record.data.get("flushed")
        return next((n + 1 for n in range(len(past.turns) - 1, -1, -1) if past.turns[n].id == last), 0)

    def _noted(self, turns: Sequence[Record]) -> list[Outcome]:
        return [
            outcome
            for turn in turns
            if turn.provenance.role in compaction.TALKERS and "call" not in turn.data
            for outcome in self._memory.extract(
                turn.text, session=self.id, agent=turn.provenance.agent, role=turn.provenance.role
            )
        ]

    def _replied(self, reply: str) -> list[Outcome]:
        drafts = [replace(draft, session=self.id, agent=self.agent) for draft in compaction.notes(reply)]
        return self._memory.remember_many(drafts)

    def _mark(self, turn: str, reason: str) -> None:
        def change(record: Record) -> Record:
            return replace(record, data={**record.data, "flushed": turn})

        by = replace(self._memory._caller, steward=True)
        edit.edit(lambda: self.record, "flushed", change, by, f"flushed: {reason}")

    def _announce(self, event: str, **facts: Any) -> None:
        places = [(self._name.place, None), (self._name.scope, self._name.home)]
        self._memory.bus.emit(event, places, sessionId=self.id, **facts)


def _shape(keep: int, results: int, raw: int | None, preserve: int) -> Shape:
    most = None if raw is None else checks.whole(raw, "raw", 1, MOST_TURNS)
    return Shape(
        checks.whole(keep, "keep", 1, MOST_TURNS),
        checks.whole(results, "results", 0, MOST_TURNS),
        most,
        checks.whole(preserve, "preserve", 0, checks.LARGEST_PROMPT),
    )


def _tokens(panes: Sequence[Pane]) -> int:
    return sum(pane.tokens for pane in panes)
