"""Who may change what. Every change-set passes `judge` on its way to the writer, whichever verb made it.

The origin of a memory is that of the door its text came through (`Access.origin`), and trust follows from it:

    user, and what the user confirmed  >  recorded (the door saw a person type)  >  agent  >  tool, web, file, import

A door may change what a door of its own rank or a lower one said. A change to what a higher one said is held: a person is
asked, and nothing happens until they agree. Being read, repeated, moved or touched never raises trust; only the user's word
does. What is derived from several texts is trusted like the least trusted of them.

Consent also depends on the effect: what would stand in the prompts of every project, and what would hide most of a scope, is
held for every door. The past is never changed: a record that keeps an earlier text stays as it is, or is erased.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from memorist.access import GLOBAL
from memorist.errors import Conflict, MemoristError, Refused
from memorist.kinds import TURNS, Kind
from memorist.lazy import dataclass
from memorist.records import Origin, Record, Status, Trust, changed, to_micros
from memorist.scoring import vouched_for
from memorist.store.where import canonical, everywhere
from memorist.store.writer import door_of
from memorist.text.triggers import said_in

if TYPE_CHECKING:
    from memorist.remember.changes import Caller

FROM_FILES = ("import", "file")
RANK: Mapping[Origin, int] = {"user": 3, "recorded": 2, "agent": 1, "tool": 0, "web": 0, "file": 0, "import": 0}
TRUST: Mapping[Origin, Trust] = {
    "user": "high", "recorded": "medium", "agent": "medium", "tool": "low", "web": "low", "file": "low", "import": "low",
}  # fmt: skip
WHOSE: Mapping[Origin, str] = {"user": "the user's word", "recorded": "what a person typed", "agent": "an agent's"}
STANDING = ("convention", "summary", "narrative", "preference")  # kinds that a prompt shows whatever the query
LARGE = 20  # memories; from this size on, most of a scope is not hidden without asking
LATELY = timedelta(minutes=10)
MINUTE = 60_000_000  # microseconds: hidden memories are counted per minute
BROUGHT_BACK = "said again"  # the verb for a forgotten memory whose text came again
EVERY_PROJECT = "it would stand in the prompts of every project"
ASK_ANEW = "nothing was done; ask anew"


# ---------------------------------------------------------------- origin and trust


def trust_of(origin: Origin) -> Trust:
    return TRUST[origin]


def status_of(trust: Trust) -> Status:
    """Text of low trust waits as a candidate until a person confirms it."""
    return "candidate" if trust == "low" else "confirmed"


def least(*origins: Origin) -> Origin:
    """The least trusted of these; of equals, the first."""
    return min(origins, key=RANK.__getitem__)


def users_word(record: Record) -> Record:
    """The record once the user has said or confirmed it; its provenance still names who drafted it."""
    return changed(record, origin="user", trust=trust_of("user"), status="confirmed")


def derived(record: Record, *sources: Origin) -> Record:
    """The record with the trust of the least trusted of its own origin and these."""
    origin = least(record.origin, *sources)
    trust = trust_of(origin)
    doubtful = "candidate" in (record.status, status_of(trust))
    return changed(record, origin=origin, trust=trust, status="candidate" if doubtful else "confirmed")


# ---------------------------------------------------------------- effects

Place = tuple[str, str | None]  # a scope and its home


def place_of(record: Record) -> Place:
    return record.scope, record.home


@dataclass(frozen=True, slots=True)
class Effect:
    """What happens to one record. `counted`: only its counters change. If `new` is `old`: only its links do."""

    verb: str
    old: Record | None
    new: Record
    counted: bool = False

    @property
    def hides(self) -> int:
        """1 if a memory is no longer recalled in its place, -1 if it newly is, otherwise 0. So a replacement hides nothing on
        balance."""
        old, new, moment = self.old, self.new, self.new.times.updated
        was, now = old is not None and _holds(old, moment), _holds(new, moment)
        away = old is not None and place_of(old) != place_of(new) and old.home != new.scope  # not to its own project
        return int(was and (not now or away)) - int(now and not was)


def _holds(record: Record, now: datetime) -> bool:
    """Whether it can be recalled: not archived, and not outside its validity."""
    start, end = record.times.valid_from, record.times.valid_to
    return record.state == "active" and (start is None or start <= now) and (end is None or end > now)


class Held(MemoristError):
    """A person has to agree to this change. Nothing was written; the verb that catches it asks."""

    code = "needs_consent"

    def __init__(self, reason: str, effects: Sequence[Effect]) -> None:
        super().__init__(reason)
        self.effects = effects

    @property
    def record(self) -> Record:
        return self.effects[0].old or self.effects[0].new

    @property
    def versions(self) -> dict[str, int]:
        return {effect.old.id: effect.old.version for effect in self.effects if effect.old is not None}


@dataclass(frozen=True, slots=True)
class Agreed:
    """A person's consent: the versions it applies to, and who drafted the change if that was somebody else."""

    versions: Mapping[str, int] = field(default_factory=dict)
    drafted_by: str | None = None


def stands_everywhere(record: Record) -> bool:
    """Whether prompts of every project show it whatever the query, because of what it is or through its triggers."""
    everywhere = GLOBAL in (record.scope, record.home) and record.state == "active" and vouched_for(record)
    return everywhere and (record.pinned or record.kind in STANDING or bool(said_in(record.data)))


def holds_everywhere(record: Record) -> bool:
    """Whether it is a preference for every project; even the user is asked before one is added or changed. Text from a file is
    a candidate, and applies nowhere until a person confirms it."""
    said = vouched_for(record) or record.origin not in FROM_FILES
    return record.kind == "preference" and record.scope == GLOBAL and record.state == "active" and said


# ---------------------------------------------------------------- the judge


def judge(effects: Sequence[Effect], by: "Caller") -> None:
    """Raises `Refused` for what nobody may do, `Held` for what a person has to agree to first."""
    for effect in effects:
        _refuse_other_past(effect)
        _refuse_lift(effect, by)
    must_be_as_shown((effect.old for effect in effects if effect.old is not None), by)
    if by.agreed is not None:
        return _must_be_as_agreed(effects, by.agreed)
    for effect in effects:
        reason = reason_to_ask(effect, by)
        if reason:
            raise Held(reason, [effect, *(other for other in effects if other is not effect)])


def reason_to_ask(effect: Effect, by: "Caller") -> str | None:
    """Why a person has to agree to this; None if they need not, or already did."""
    if by.agreed is not None:
        return None
    if effect.counted or effect.new is effect.old:
        return _outranked(effect, by)
    return _reaches_everybody(effect, by) or _outranked(effect, by)


def _reaches_everybody(effect: Effect, by: "Caller") -> str | None:
    """Why a change needs consent because of its reach. The user's own act is consent, but if the user can be asked, they are
    asked about preferences for every project."""
    old, new, users = effect.old, effect.new, by.access.origin == "user"
    if GLOBAL not in (new.scope, new.home, old and old.scope, old and old.home):
        return None
    concerned = [new] if old is None or by.steward else [old, new]
    asked = not users or (by.tools.confirm is not None and effect.verb != "undone")
    if asked and any(map(holds_everywhere, concerned)):
        return "it is a preference for every project"
    if not users and any(map(stands_everywhere, concerned)):
        return EVERY_PROJECT
    return "it would be known in every project" if asked and _moves_to_everybody(effect, by) else None


def _moves_to_everybody(effect: Effect, by: "Caller") -> bool:
    there = effect.old is not None and effect.old.scope != GLOBAL == effect.new.scope
    return there and effect.verb != "undone" and not by.steward


def _outranked(effect: Effect, by: "Caller") -> str | None:
    """Why a door is too little trusted for this change. Any door may vote a memory up, or down until its votes are even."""
    old, door = effect.old, by.access.origin
    if old is None or by.steward or door == "user":
        return None
    if RANK[door] >= RANK[old.origin]:
        return None if effect.verb in (BROUGHT_BACK, "undone") else _overturned(old, effect.new, by)
    if effect.counted:
        was, now = (_balance(record) for record in (old, effect.new))
        return f"it is {WHOSE[old.origin]}, and would be voted below neutral" if now < min(was, 0) else None
    return f"it is {WHOSE[old.origin]}, and this door is the {door}'s"


def _overturned(old: Record, new: Record, by: "Caller") -> str | None:
    """Why it would reverse what a more trusted door did to the memory: hiding it, or removing its pin."""
    undone = {"state": old.state != "active" == new.state, "pinned": new.pinned and not old.pinned}
    names = {name for name, is_so in undone.items() if is_so}
    events = reversed(by.store.journal(record=old.id)) if names else ()
    last = next((event for event in events if names & set(event.before or ())), None)
    if last is None or RANK[door_of(last)] <= RANK[by.access.origin]:
        return None
    return f"the {door_of(last)} decided otherwise"


def _balance(record: Record) -> int:
    return record.counters.up - record.counters.down - record.counters.rejected


def _refuse_other_past(effect: Effect) -> None:
    """Raises if a record that keeps an earlier text would change; only an undo's removal of it may be recorded."""
    old, new = effect.old, effect.new
    if effect.counted or old is None or old.superseded_by is None or new.state == "erased":
        return
    as_it_was = changed(
        new, state=old.state, reason=old.reason, version=old.version, times=old.times, counters=old.counters
    )
    if new.state == "active" or as_it_was != old:
        raise Refused(
            f"memory {old.number} is a past text of another memory and stays as it was; revise the one that holds now"
        )


def _refuse_lift(effect: Effect, by: "Caller") -> None:
    """Raises if trust would rise other than by the user's word. An undo restores what was there, up to the rank of its own
    door."""
    new, door = effect.new, by.access.origin
    if door != "user" and (RANK[new.origin] > _highest(effect, by) or _confirms(effect, by)):
        raise Refused(
            f"only the user's word makes a memory {new.origin}'s or confirmed, and this door is the {door}'s; ask the user to"
            " confirm it"
        )


def _highest(effect: Effect, by: "Caller") -> int:
    """The highest rank that the memory may have afterwards."""
    old, own = effect.old, RANK[by.access.origin]
    if old is None:  # a record that keeps an earlier text ranks like its memory, whose own change is judged
        return own if effect.new.superseded_by is None else RANK["user"]
    return max(own, RANK[old.origin]) if effect.verb == "undone" else RANK[old.origin]


def _confirms(effect: Effect, by: "Caller") -> bool:
    """Whether a candidate becomes confirmed, other than by upkeep in a design that confirms what helped."""
    if effect.old is None or (effect.old.status, effect.new.status) != ("candidate", "confirmed"):
        return False
    return effect.new.trust == "low" or not (by.steward or effect.verb == "undone")


def _must_be_as_agreed(effects: Iterable[Effect], agreed: Agreed) -> None:
    for old in (effect.old for effect in effects if effect.old is not None):
        if agreed.versions.get(old.id, old.version) != old.version:
            raise Conflict(
                f"memory {old.number} is at version {old.version}, not {agreed.versions[old.id]}: it was changed while a "
                "person was asked; read it again"
            )


def must_be_as_shown(records: Iterable[Record], by: "Caller") -> None:
    """Raises unless the person who confirmed the act was shown these memories, in these versions."""
    other = (record for record in records if by.shown is not None and by.shown.get(record.id) != record.version)
    for record in other:
        raise Conflict(f"memory {record.number} is not as the person was asked about it; {ASK_ANEW}")


def refuse_pinned_turn(kind: Kind, pinned: bool) -> None:
    """Raises for a pinned turn: a turn is what somebody said at some time, and a prompt never shows it as settled."""
    if pinned and kind.layer == TURNS:
        raise Refused(f"a {kind.name} is never pinned; remember what it says as a memory, and pin that")


# ---------------------------------------------------------------- hiding most of a scope, little by little


def noted(effects: Sequence[Effect], by: "Caller", now: datetime) -> dict[str, str]:
    """The setting that records what was hidden in the last minutes and by whom, including these effects. Raises `Held` if this
    door and actor would have hidden more than half of a large scope. A person's own acts need no such limit."""
    if by.steward or by.access.origin == "user" or all(effect.old is None or effect.counted for effect in effects):
        return {}
    counts = _hidden([effect for effect in effects if not _replaces_a_candidate(effect)])
    if not counts:
        return {}
    lines = _lines(by, now)
    mine = lines.setdefault(_who(by), [])
    mine[:] = _added(mine, counts, to_micros(now) // MINUTE * MINUTE)
    hidden = _summed(mine)
    most = next((place for place, count in counts.items() if most_of(place, hidden[place], count, by)), None)
    if most is not None:
        raise Held(f"{hidden[most]:,} memories of {most[0]} would be hidden within ten minutes, most of it", effects)
    return {_name(by): canonical({who: some for who, some in lines.items() if some})}


def _added(lines: Iterable[Sequence[Any]], counts: Mapping[Place, int], minute: int) -> list[list[Any]]:
    """The lines with these counts: one line for each minute and place."""
    sums: Counter[tuple[Any, ...]] = Counter()
    for *when_and_where, count in lines:
        sums[tuple(when_and_where)] += count
    for place, count in counts.items():
        sums[(minute, *place)] += count
    return [[*key, count] for key, count in sums.items() if count]


def _replaces_a_candidate(effect: Effect) -> bool:
    """Whether an unconfirmed memory was replaced by another statement, or removed from its own file; that does not count as
    hidden."""
    return effect.verb in ("superseded", "expired") and effect.old is not None and effect.old.status == "candidate"


def _hidden(effects: Sequence[Effect]) -> dict[Place, int]:
    """How many memories of each place are hidden, minus those that are new or back; a surplus of new ones is not credited."""
    counts: Counter[Place] = Counter()
    for effect in effects:
        counts[place_of(effect.old or effect.new)] += effect.hides
    back = {place_of(effect.new) for effect in effects if effect.old is not None and effect.hides < 0}
    return {place: count for place, count in counts.items() if count > 0 or (count and place in back)}


def hidden_lately(by: "Caller", now: datetime) -> Counter[Place]:
    """How many memories of each scope this door and actor have hidden in the last minutes."""
    return _summed(_lines(by, now).get(_who(by), []))


def most_of(place: Place, hidden: int, of_these: int, by: "Caller") -> bool:
    """Whether `hidden` is more than half of a large scope. `of_these` of them are still valid, the others no longer."""
    if 2 * hidden <= LARGE:
        return False
    now, active = by.now(), everywhere(by.access.space).also("state", "eq", "active")
    here = active.also("scope", "eq", place[0]).also("home", "eq", place[1])
    counts = [here, here.also("valid_to", "lte", now), here.also("valid_from", "gt", now)]
    all, ended, later = (sum(by.store.count(where).values()) for where in counts)
    there = all - ended - later + hidden - of_these
    return there >= LARGE and 2 * hidden > there


def _lines(by: "Caller", now: datetime) -> dict[str, list[list[Any]]]:
    kept: dict[str, list[list[Any]]] = json.loads(by.store.setting(_name(by)) or "{}")
    since = to_micros(now - LATELY) - MINUTE
    return {who: [line for line in lines if since < line[0] <= to_micros(now)] for who, lines in kept.items()}


def _summed(lines: Iterable[Sequence[Any]]) -> Counter[Place]:
    hidden: Counter[Place] = Counter()
    for _, scope, home, count in lines:
        hidden[scope, home] += count
    return hidden


def _name(by: "Caller") -> str:
    return f"hidden {by.access.space}"


def _who(by: "Caller") -> str:
    return by.writer.digest(canonical([by.access.origin, by.access.surface, by.access.actor]))
