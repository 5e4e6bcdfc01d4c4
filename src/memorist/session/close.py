"""The end of a session: what was found in it, what of that is promoted, and a summary.

    turns → findings → promotion, as the design says → summary → the notes go to the archive → closed

Each step can be repeated. How far the turns were read is stored together with what was found in them, in one transaction. So
a session that was cut off anywhere is ended later from where it stood: by the next one that is opened, or by upkeep. Findings
are trusted like the turn they were found in, whoever ends the session. If a project has switched findings off, a session just
ends.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

from memorist.access import GLOBAL
from memorist.design import Promotion
from memorist.errors import Conflict, MemoristError
from memorist.lazy import dataclass
from memorist.records import Draft, Outcome, Planned, Record, Report, iso
from memorist.remember import edit, gate, promotion
from memorist.remember.authority import least
from memorist.remember.changes import Caller
from memorist.session.compaction import is_talk, sessions, summed_up
from memorist.session.lease import NOBODY, RECORD, Lease, lasts
from memorist.session.name import CLOSED, CLOSING, KIND, Name, mark, may_end, of, turns_of
from memorist.session.weighing import weigh, weigh_left
from memorist.store.choices import chosen
from memorist.store.nouns import Run

A_STEP = 0.1  # seconds in one transaction, during which other writers wait
TURNS_AT_ONCE = 32  # turns whose findings are stored together
FAST = 0.2  # seconds in the only transaction of a fast end
WEIGHING = 2.0  # seconds for promotion; the rest is left to whoever recovers sessions
FEWEST_TURNS = 4  # a summary needs at least this many: fewer speak for themselves
SHORT_WAIT = 1.0  # seconds to wait for the lease of a session that nobody holds
Over = Callable[[], bool]
log = logging.getLogger("memorist")


class Unfinished(Conflict):
    """Its time was over before all of its turns were read. What was found is kept, and whoever ends it later goes on there."""


def end(record: Record, by: Caller, policy: Promotion) -> Report:
    """Ends a session from where it stands, as one batch: undoing it opens the session again."""
    name = of(record)
    by = replace(by, access=replace(by.access, home=name.home), batch=[])
    done: list[Outcome] = []
    if _looks(name, by):
        done += read(record, by, policy.mode)
        _promote(record, by, policy)
        done += _summed_up(name, record, by)
    summary = next((outcome.id for outcome in done if outcome.record and outcome.record.kind == "summary"), None)
    finished = promotion.finish(name.scope, CLOSED, [], name.place, by)
    told = {} if summary is None else {"summary": summary}
    changed = {each.id: each for each in (*finished.changed, *_planned(done))}  # the summary is both made and moved
    marked = mark(record.id, by, "closed", state=CLOSED, closed=iso(by.now()), **told)
    return replace(finished, verb=CLOSED, batch=marked.batch, changed=tuple(changed.values()))


def end_fast(record: Record, by: Caller, policy: Promotion) -> Report:
    """Closes a session in one transaction and leaves its end for later. Findings in the last turns are stored as they are."""
    from memorist.remember import extract  # its rules load slowly: do that before the transaction

    name = of(record)
    by = by.through(replace(by.access, home=name.home))
    extract.extract(name.id)
    with by.writer.transaction():
        done = read(record, by, policy.mode, FAST) if _looks(name, by) else []
        mark(record.id, by, "closed in a hurry; the next session that is opened ends it", state=CLOSING)
    return Report(CLOSING, tuple(_planned(done)))


def _looks(name: Name, by: Caller) -> bool:
    """Whether to look for findings, which a project can switch off."""
    return chosen(by.store, by.access.space, name.home).auto is not False


def _planned(done: list[Outcome]) -> Iterator[Planned]:
    for outcome in done:
        if outcome.record is not None and outcome.outcome in ("added", "changed"):
            yield Planned(outcome.record.id, outcome.record.number, f"{outcome.record.kind}: {outcome.because}")


# ---------------------------------------------------------------- findings


def noted(record: Record, by: Caller, policy: Promotion) -> list[Outcome]:
    """Stores what is found in the turns so far, in a session that goes on."""
    by = by.through(replace(by.access, home=of(record).home))
    return read(record, by, policy.mode) if _looks(of(record), by) else []


def read(record: Record, by: Caller, mode: promotion.PromotionMode, seconds: float | None = None) -> list[Outcome]:
    """Stores what is found in unread turns, in short transactions. If `seconds` is given, it uses only one, of that length."""
    name = of(record)
    turns = deque(turns_of(name, by, after=read_until(record)))
    heeded = [] if seconds is not None else _listened(list(turns), name, by)  # no time for a model
    done: list[Outcome] = []
    while turns:
        with by.writer.transaction():
            until = time.monotonic() + (seconds or A_STEP)  # starts once the lock is held
            turns = _unread(turns, record.id, by)
            if not turns:
                break
            while turns:  # at least one round, however slow the machine is
                some = [turns.popleft() for _ in range(min(TURNS_AT_ONCE, len(turns)))]
                last = some[-1].number
                done += promotion.keep_all(_told(_still_there(some, by), heeded, by), name.id, name.place, mode)
                if time.monotonic() >= until:
                    break
            mark(record.id, by, "its turns were read", read=last)
        if seconds is not None:
            break
        _must_have_time(len(turns), name, by)
    return done


def _must_have_time(left: int, name: Name, by: Caller) -> None:
    if left and by.tools.over():
        raise Unfinished(f"session {name.id} has {left} turns left to read, and its time is over; end it later")


def read_until(record: Record) -> int:
    """The number of the last turn of a session that was read for findings."""
    last = record.data.get("read")
    return last if isinstance(last, int) else 0


def _unread(turns: deque[Record], id: str, by: Caller) -> deque[Record]:
    """Turns that nobody else has read meanwhile, such as a reading in the background or another process that ends the
    session. None if the session was erased."""
    now = by.store.get([id], by.where.also("state", "eq", "active"))
    return deque(turn for turn in turns if turn.number > read_until(now[0])) if now else deque()


def _still_there(turns: list[Record], by: Caller) -> list[Record]:
    """The turns as they are now: what was erased since they were read must not come back as a finding."""
    now = by.store.get([turn.id for turn in turns], by.where.also("state", "eq", "active"))
    return sorted(now, key=lambda turn: turn.number)


def _heard(turns: list[Record], by: Caller) -> list[promotion.Overheard]:
    """The turns that rules look at. Each is trusted like its turn, but not more than the caller who ends the session."""
    said = [turn for turn in turns if "call" not in turn.data and turn.provenance.role != "system"]  # to somebody
    finders = [by.through(replace(by.access, origin=least(by.access.origin, turn.origin))) for turn in said]
    return [
        promotion.Overheard(turn.text, turn.provenance.role, turn.provenance.agent, turn.number, finder)
        for turn, finder in zip(said, finders, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Listened:
    """Turns that a model has read, as they were then, and what it found in them."""

    turns: tuple[Record, ...]
    found: tuple[promotion.Overheard, ...]


def _listened(turns: list[Record], name: Name, by: Caller) -> list[Listened]:
    """What a model finds, if one is configured."""
    if not by.tools.chat.ready or not turns:
        return []
    from memorist.remember import distil  # imported late: few need it

    heard, known = _heard(turns, by), {turn.number: turn for turn in turns}
    return [
        Listened(tuple(known[heard[place].message or 0] for place in each.places), each.found)
        for each in distil.listened(heard, name.place, by)
    ]


def _told(turns: list[Record], heeded: list[Listened], by: Caller) -> list[promotion.Overheard]:
    """These turns, for the rules, and what a model found in windows that end among them. A window counts only if none
    of its turns was changed or erased since."""
    read = {turn.number for each in heeded for turn in each.turns}
    heard = [each._replace(read=each.message in read) for each in _heard(turns, by)]
    here = {turn.number for turn in turns}
    for each in heeded:
        if each.turns[-1].number in here and _versions(_still_there(list(each.turns), by)) == _versions(
            list(each.turns)
        ):
            heard += each.found
    return heard


def _promote(record: Record, by: Caller, policy: Promotion) -> None:
    """Promotes findings with enough points, or asks about them, as the design says."""
    if policy.mode in ("manual", "direct") or record.scope == GLOBAL:
        return
    until = time.monotonic() + WEIGHING
    over = by.tools.over
    weigh(record, replace(by, tools=replace(by.tools, over=lambda: over() or time.monotonic() > until)), policy)


# ---------------------------------------------------------------- the summary


def _summed_up(name: Name, record: Record, by: Caller) -> list[Outcome]:
    """Stores a summary of the whole session. It is made before the transaction, and made again if a turn was changed or
    erased in between."""
    turns = turns_of(name, by)
    while sum(map(is_talk, turns)) >= FEWEST_TURNS:
        text = summed_up(turns, by.tools)
        with by.writer.transaction():
            now = turns_of(name, by)
            if _versions(now) == _versions(turns):
                return _kept(text, turns, name, record, by)
        turns = now
    return []


def _versions(turns: list[Record]) -> list[tuple[str, int]]:
    return [(turn.id, turn.version) for turn in turns]


def _kept(text: str, turns: list[Record], name: Name, record: Record, by: Caller) -> list[Outcome]:
    """Stores the summary, replacing the one from the last time the session was closed. It is trusted like the least
    trusted of what it quotes."""
    quoted = (turn.origin for turn in turns if is_talk(turn))
    teller = by.through(replace(by.access, origin=least(by.access.origin, *quoted)))
    known = by.store.get([str(record.data.get("summary"))], by.where.also("state", "eq", "active"))
    if known:
        keeper = replace(teller, steward=True)
        return [edit.revise(lambda: known[0], {"text": text}, keeper, None, "the session went on")]
    told = {"ended": True, "sessions": sessions(turns)}
    draft = Draft(text, "summary", name.scope, session=name.id, agent=record.provenance.agent, data=told)
    return gate.admit([draft], teller, name.place)


# ---------------------------------------------------------------- what was left open


def left_open(by: Caller) -> Iterator[tuple[Run, Record]]:
    """Sessions that nobody writes any more and that have not ended: closed fast, or with an expired lease."""
    running = by.store.runs(by.access.space, state="running")
    now = by.now()  # read after the runs, whose times could otherwise seem to come from another clock
    for run in running:
        id = run.checkpoint.get(RECORD) if run.job.startswith(f"{KIND} ") else None
        known = by.store.get([id], by.where.also("state", "eq", "active")) if isinstance(id, str) else []
        for record in known:
            if may_end(record, by) and _is_left(run, str(record.data.get("state")), now):
                yield run, record


def _is_left(run: Run, state: str, now: datetime) -> bool:
    return state != CLOSED and (not lasts(run, now) or (state == CLOSING and run.owner == NOBODY))


def recover(by: Caller, policy: Promotion, over: Over, again: bool = False) -> list[Report]:
    """While there is time, ends sessions that were left open, then weighs what earlier ends had no time for. A session that
    another process is ending is left to it. One that cannot be ended is logged and left for the next time."""
    quiet = replace(by, tools=replace(by.tools, confirm=None))  # nobody is asked about other people's sessions
    done = []
    for run, record in left_open(quiet):
        if over():
            break
        lease = Lease(run.job, f"session {record.title}", quiet)
        ended = False
        try:
            lease.take(SHORT_WAIT, "drop")
            done.append(end(record, lease.holding(quiet), policy))
            ended = True
        except MemoristError as problem:
            log.info("session %s could not be ended yet: %s", record.title, problem)
        finally:
            lease.give_back(over=ended)
    weigh_left(quiet, policy, over, again)
    return done
