"""The cycle of an open session: its window grows, what lasts is noted, the older turns are summarised, and it grows
again.

Everything is read from rows, so a session that was killed continues where it was. The summary that the view shows
identifies the cycle. The record of the session names the last turn whose lasting content was noted, and the cycle in
which that was done. The next compaction, or undoing one, starts another cycle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

from memorist import checks
from memorist.errors import Conflict, MemoristError
from memorist.prompt.context import Wish
from memorist.prompt.render import boxed
from memorist.records import Context, Draft, Outcome, Record
from memorist.remember import gate
from memorist.remember.authority import least
from memorist.remember.changes import Caller
from memorist.session import behind, close, compaction
from memorist.session.name import lineage, mark, turns_where
from memorist.session.window import OVERHEAD, Bounds, History, Pane, State, Window, counted_later, pane_of

if TYPE_CHECKING:
    from memorist.session.session import Session

TITLE = "What was said earlier in this conversation, in short"
MOST_TURNS = 1_000_000
LEAST_SUMMARY = 100  # tokens, whatever the size of the window
Reason = Literal["threshold", "compaction_pending", "manual", "session_end", "topic_change"]
FEWEST_OF_A_TOPIC = 4  # unread turns: with fewer, a topic is not over yet
ASKS = {
    "fits": "it fits",
    "flush": "what lasts should be noted before the older turns are summarised; `ask` is for the model",
    "compact": "the older turns should be summarised",
    "reject": "it is too large, and a compaction did not help; raise the limit, or keep large results out of the session",
}


@dataclass(frozen=True, slots=True)
class Trim:
    """How much of a session stays in its window unchanged."""

    keep: int  # the last turns that stay when older ones are summarised
    results: int  # the last tool results shown whole
    raw: int | None  # more turns than this are summarised in any case
    preserve: int  # tokens of older, marked turns
    most: int  # tokens of the summary


class Cycle:
    """What a session has shown so far, and what has to be done about it."""

    def __init__(self, session: "Session") -> None:
        self._session, self._memory, self._name = session, session._memory, session._name
        by, name = self._memory._caller, self._name
        said = [turns_where(each, by, last) for each, last in lineage(name, by)][::-1]
        told = by.where.also("scope", "eq", name.scope).also("home", "eq", name.home).also("state", "eq", "active")
        told = told.also("kind", "eq", "summary").also("data.covers", "ne", None)
        self._past = History(said, told, by.tools.count_tokens)
        self._alone = RLock()  # threads that share a session get their windows one after the other

    def window(self, edges: Bounds, trim: Trim, system: str | None, query: str | None, writes: bool) -> Window:
        head = [] if system is None else [self._pane("system", checks.text(system, "system"), "system")]
        with self._alone:
            panes, done = self.panes(head, trim), None
            if writes and self._is_due(panes, edges, trim):
                done = self._shrink(panes, edges, trim)
                panes = self.panes(head, trim)
            return self._window(panes, edges, done, query)

    def flush(self, reply: str | None, reason: str) -> list[Outcome]:
        with self._alone:
            self._read()
            if reply is None and reason == "topic_change" and self._fresh() < FEWEST_OF_A_TOPIC:
                return []
            return self._flush(reply, reason)

    def compact_all(self, trim: Trim) -> Outcome:
        """Compacts whatever the size of the window."""
        with self._alone:
            return self.compact(self.panes([], trim), trim)

    def _flush(self, reply: str | None, reason: str) -> list[Outcome]:
        self._session._hold()
        by, record = self._session._holder, self._session.record
        if reply is None:
            saved = [self._memory._tell(each) for each in close.noted(record, by, self._memory.design.promotion)]
        else:
            saved = self._replied(compaction.notes(reply), by)
        mark(record.id, by, f"flushed: {reason}", flushed=self._past.cycle)
        self._announce("memory:flush", reason=reason, saved=sum(map(bool, saved)))
        return saved

    def _replied(self, drafts: Sequence[Draft], by: Caller) -> list[Outcome]:
        """Stores what a model replied. Through any surface it counts as an agent's word, like the turns of the assistant."""
        if not drafts:
            return []
        place = self._name.place
        who = by.through(replace(by.access, origin=least(by.access.origin, "agent")))
        whose = [replace(draft, scope=place, session=self._name.id, agent=self._session.agent) for draft in drafts]
        saved = gate.admit(whose, who, self._memory.home, policy=self._memory.design.conflicts)
        return [self._memory._tell(each) for each in saved]

    # ------------------------------------------------------------ what stands in it

    def _read(self) -> History:
        """What was said since the last compaction, as it is now; the steps after this one see the same state."""
        self._past.read(self._memory._caller.store)
        return self._past

    def panes(self, head: Sequence[Pane], trim: Trim) -> list[Pane]:
        past = self._read()
        kept = [pane_of(turn, past.count, "kept") for turn in past.kept]
        system = [pane for pane in kept if pane.role == "system"]
        summary = [] if past.summary is None else [self._shown(past.summary.text, past.summary.id)]
        others = [pane for pane in kept if pane.role != "system"]
        return [*head, *system, *summary, *others, *past.panes(trim.results)]

    def _shown(self, summary: str, id: str | None = None) -> Pane:
        """A summary as the window shows it: boxed, because what it quotes is data."""
        return self._pane("user", boxed(TITLE, summary, self._memory._caller.writer.digest), "summary", id)

    def _pane(self, role: str, text: str, part: Any, id: str | None = None) -> Pane:
        return Pane(role, text, part, self._memory._caller.tools.count_tokens(text) + OVERHEAD, id)

    def _window(self, panes: list[Pane], edges: Bounds, done: Outcome | None, query: str | None) -> Window:
        state = self._state(panes, edges, self._is_flushed())
        if state == "reject" and done is None:  # not before a compaction was tried
            state = "compact"
        because = ASKS[state] if done is None or done else f"{ASKS[state]}; it was not compacted: {done.because}"
        ask, receipt = compaction.REQUEST if state == "flush" else None, None
        if query is not None:
            memory = self._remembered(query, panes, edges)
            panes, receipt = self._with_memory(panes, memory), memory.receipt
        return counted_later(Window(tuple(panes), 0, edges, state, because, done, ask, receipt))

    def _state(self, panes: Sequence[Pane], edges: Bounds, flushed: bool = False) -> State:
        """What the window needs. The turns are not counted if the length of their texts already shows that they fit."""
        turns, most = len(self._past.turns), self._past.most
        if most is not None and most + _tokens(panes[: len(panes) - turns]) < edges.flush:
            return "fits"
        return edges.state(_tokens(panes), flushed)

    def _remembered(self, query: str, panes: Sequence[Pane], edges: Bounds) -> Context:
        """Memory for the room that is left, without what the window already shows."""
        ids = {pane.id for pane in panes}
        name, agent = self._name, self._session.agent
        wish = Wish(query, user=name.user, session=name.id, agent=agent, profile=behind.NO_TURNS)
        wish = replace(wish, shown=lambda record: record.id in ids)
        room = max(0, edges.compact - _tokens(panes))
        made = self._memory._context(replace(wish, where={"data.covers": None}, remaining=room))
        behind.shown(self._memory, name, made.items)
        return made

    def _with_memory(self, panes: list[Pane], memory: Context) -> list[Pane]:
        """Inserts memory right before the user's last words. Everything above it stays the same from call to call, so a
        model's cache can reuse it."""
        if not memory.text:
            return panes
        said = (n for n in range(len(panes) - 1, -1, -1) if (panes[n].role, panes[n].part) == ("user", "turn"))
        place = next(said, len(panes))
        return [*panes[:place], self._pane("user", memory.text, "memory"), *panes[place:]]

    # ------------------------------------------------------------ making it small

    def _is_due(self, panes: Sequence[Pane], edges: Bounds, trim: Trim) -> bool:
        many = trim.raw is not None and len(self._past.turns) > trim.raw
        return many or self._state(panes, edges) in ("compact", "reject")

    def _shrink(self, panes: Sequence[Pane], edges: Bounds, trim: Trim) -> Outcome:
        """Compacts, keeping the last turns if they fit and fewer if they do not. If the store accepts no writes, the
        window goes on without a compaction and says so."""
        trim = replace(trim, keep=self._fitting(panes, edges, trim))
        try:
            return self.compact(panes, trim)
        except Conflict:
            raise
        except MemoristError as problem:
            return Outcome("refused", str(problem), scope=self._name.scope)

    def _fitting(self, panes: Sequence[Pane], edges: Bounds, trim: Trim) -> int:
        """How many turns can stay: all that should, else half as many, else half of those, and so on."""
        turns, keep = self._past.turns, trim.keep
        costs = [pane.tokens for pane in panes[len(panes) - len(turns) :]]
        head = _tokens([pane for pane in panes if pane.role == "system"])
        room = edges.compact - head - trim.most - trim.preserve
        while keep > 1 and sum(costs[compaction.border(turns, keep) :]) >= room:
            keep //= 2
        return keep

    def compact(self, panes: Sequence[Pane], trim: Trim) -> Outcome:
        past = self._past
        cut = compaction.border(past.turns, trim.keep)
        if cut == 0:
            because = f"nothing is older than the {trim.keep} turns that stay, and the calls of their results"
            return Outcome("unchanged", because, scope=self._name.scope)
        self._session._hold()
        if not self._is_flushed() and self._fresh():
            self._flush(None, "compaction_pending")
        covered, earlier = past.records(cut, self._memory._caller.store), [] if past.summary is None else [past.summary]
        told, kept = [*earlier, *covered], compaction.preserved([*past.kept, *covered], trim.preserve, past.count)
        text = compaction.summed_up(told, self._memory._caller.tools, trim.most)
        before = _tokens([pane for pane in panes if pane.part != "system"])
        stay = past.panes(trim.results)[cut:]
        after = _tokens([self._shown(text), *(pane_of(turn, past.count, "kept") for turn in kept), *stay])
        first = past.summary.data["covers"][0] if past.summary else covered[0].id
        data = {
            "covers": [first, covered[-1].id], **compaction.figures(told).data(), "before": before, "after": after,
            "kept": [turn.id for turn in kept], "sessions": compaction.sessions(told),
        }  # fmt: skip
        return self._told(self._stored(text, data, told, kept), before, after)

    def _stored(self, text: str, data: dict[str, Any], told: Sequence[Record], kept: Sequence[Record]) -> Outcome:
        """Stores the summary, unless one of the turns that it covers was changed or erased meanwhile."""
        by = self._session._holder
        draft = Draft(
            text, "summary", self._name.scope, data=data, session=self._name.id, agent=self._session.agent,
            at=told[-1].times.at, home=self._name.home,
        )  # fmt: skip
        teller = by.through(replace(by.access, origin=compaction.origin_of(told, by.access.origin)))
        with by.writer.transaction():
            if not {(each.id, each.version) for each in (*told, *kept)} <= self._read().versions:
                return Outcome("unchanged", "a turn was changed meanwhile; compact it again", scope=self._name.scope)
            [stored] = gate.admit([draft], teller, self._name.place)
        return self._memory._tell(stored)

    def _told(self, outcome: Outcome, before: int, after: int) -> Outcome:
        if outcome.batch:
            self._announce("memory:compact", before=before, after=after, id=outcome.id)
        return outcome

    # ------------------------------------------------------------ what lasts

    def _is_flushed(self) -> bool:
        """Whether lasting content was noted in this cycle."""
        return bool(self._session.record.data.get("flushed") == self._past.cycle)

    def _fresh(self) -> int:
        """The number of turns that nobody has read for lasting content yet."""
        read = close.read_until(self._session.record)
        return sum(turn.number > read for turn in self._past.turns)

    def _announce(self, event: str, **facts: Any) -> None:
        places = [(self._name.place, None), (self._name.scope, self._name.home)]
        self._memory.bus.emit(event, places, sessionId=self._name.id, **facts)


def trim_of(keep: int, results: int, raw: int | None, preserve: int, summary: int = compaction.MOST) -> Trim:
    stay = checks.whole(keep, "keep", 1, MOST_TURNS)
    most = None if raw is None else checks.whole(raw, "raw (at least `keep`)", stay, MOST_TURNS)
    shown, marked = checks.whole(results, "results", 0, MOST_TURNS), checks.whole(preserve, "preserve", 0, MOST_TURNS)
    return Trim(stay, shown, most, marked, summary)


def _tokens(panes: Sequence[Pane]) -> int:
    return sum([pane.tokens for pane in panes])
