"""Which session is meant, and what the store has of it: its record, its turns, and those of the sessions it was forked
from.

A user's conversations are in the user's scope, so that no other user's queries find them; all others are in the
project. Within a project an id means one session, whichever user it belongs to: its notes are in `session/<id>`.
"""

from collections.abc import Iterator
from dataclasses import replace
from secrets import token_hex

from memorist import checks
from memorist.errors import Conflict
from memorist.lazy import dataclass
from memorist.records import Outcome, Record, Scope
from memorist.remember import edit
from memorist.remember.changes import Caller
from memorist.store.talk import USER, project_of
from memorist.store.where import Order, Where

KIND, TURN = "session", "turn"
OPEN, CLOSING, CLOSED = "open", "closing", "closed"
STATES = (OPEN, CLOSING, CLOSED)
VERBS = {OPEN: "opened", CLOSING: "closed", CLOSED: "closed"}  # journal verbs
OLDEST_FIRST = Order("number", ascending=True)
MOST_FORKS = 100  # generations that a view goes back


@dataclass(frozen=True, slots=True)
class Name:
    """A session: its id, the scope that its turns are in, and the project that it belongs to."""

    id: str
    place: str  # the project, or a user's scope
    home: str

    @property
    def scope(self) -> Scope:
        """The scope of its notes and findings."""
        return Scope(f"session/{self.id}")

    @property
    def user(self) -> str | None:
        family, _, user = self.place.partition("/")
        return user if family == USER else None

    @property
    def key(self) -> str:
        """The prefix of the idempotency keys of its turns."""
        return f"session/{self.place}/{self.id}"

    def job(self, by: Caller) -> str:
        """The name of the run that holds its lease."""
        return f"{KIND} {by.writer.digest(self.key)}"


def name_of(id: str | None, user: str | None, home: str, by: Caller) -> Name:
    """The session that is meant, with a fresh id if none is given; it is in `home`, or in a user's scope."""
    wanted = f"{by.now():%Y-%m-%d}-{token_hex(3)}" if id is None else checks.label(id, "the session")
    place = Scope(home if user is None else f"user/{checks.label(user, 'the user')}")
    name = Name(wanted, place, by.access.home_of(f"{KIND}/{wanted}") or home)
    for each in (name.id, name.scope):  # raises if it is not a valid name
        by.writer.refuse_secret(each, "the session")
    return name


def of(record: Record) -> Name:
    """The name of the session that this record describes."""
    return Name(str(record.title), record.scope, project_of(record))


def record_of(name: Name, by: Caller) -> Record | None:
    where = by.where.also("session", "eq", name.id).also("kind", "eq", KIND).also("state", "eq", "active")
    known = [record for record in by.store.find(where, Order("number")) if of(record).home == name.home]
    other = next((record for record in known if record.scope != name.place), None)
    if other is not None:
        raise Conflict(f"session {name.id} lies in {other.scope}, not in {name.place}; choose another id")
    return next(iter(known), None)


def may_end(record: Record, by: Caller) -> bool:
    """Whether this access may write both where the session's turns are and where its notes are: a user's session may
    belong to another project."""
    name = of(record)
    return by.access.may_write(record.scope, record.home) and by.access.may_write(name.scope, name.home)


def listed(home: str, state: str | None, place: str | None, limit: int, by: Caller) -> list[Record]:
    """The sessions of a project, or those of it in this place; the last one opened or closed comes first."""
    most = checks.whole(limit, "limit", 1, 1_000_000)
    where = by.where.also("kind", "eq", KIND).also("state", "eq", "active")
    if state is not None:
        where = where.also("data.state", "eq", checks.one_of(state, "the state of a session", STATES))
    where = where if place is None else where.also("scope", "eq", place)
    return [record for record in by.store.find(where, Order("updated")) if of(record).home == home][:most]


def mark(id: str, by: Caller, because: str, **facts: object) -> Outcome:
    """Changes what the record says about a session. Runs with the engine's rights, because anyone may have opened the session."""
    keeper = replace(by, steward=True)

    def change(record: Record) -> Record:
        return replace(record, data={**record.data, **facts})

    verb = VERBS.get(str(facts.get("state")), "read")
    return edit.edit(lambda: keeper.store.get([id], keeper.where)[0], verb, change, keeper, because)


# ---------------------------------------------------------------- turns


def turns_of(name: Name, by: Caller, limit: int | None = None, after: int = 0) -> list[Record]:
    """What was said in it, in order: the last `limit` turns, or those after this number. Turns from before a fork
    belong to the fork as well."""
    found: list[Record] = []
    for each, last in lineage(name, by):
        left = None if limit is None else limit - len(found)
        if left == 0 or (last is not None and last <= after):
            break
        found = [*_said(each, by, left, after, last), *found]
    return found


def _said(name: Name, by: Caller, limit: int | None, after: int, last: int | None) -> list[Record]:
    where = turns_where(name, by, last)
    where = where.also("number", "gt", after) if after else where
    if limit is None:
        return by.store.find(where, OLDEST_FIRST)
    return by.store.find(where, Order("number"), limit)[::-1]


def turns_where(name: Name, by: Caller, last: int | None = None, kind: str = TURN) -> Where:
    """The turns of this session alone, up to this number; or its other records of this kind in the same place."""
    where = by.where.also("session", "eq", name.id).also("scope", "eq", name.place)
    where = where.also("kind", "eq", kind).also("state", "eq", "active")
    return where if last is None else where.also("number", "lte", last)


def lineage(name: Name, by: Caller) -> Iterator[tuple[Name, int | None]]:
    """The session and those it was forked from, each with the number of its last turn that counts."""
    last: int | None = None
    for _ in range(MOST_FORKS):
        yield name, last
        record = record_of(name, by)
        parent, fork = (record.data.get("parent"), record.data.get("fork")) if record is not None else (None, None)
        if not isinstance(parent, str) or not isinstance(fork, int):
            return
        name, last = replace(name, id=parent), fork if last is None else min(last, fork)
