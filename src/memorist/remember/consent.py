"""What needs a person's consent, and the queue in which questions wait for a person.

That depends on the effect (`authority.py`); clearing most of a scope is checked before it begins. A confirmer, if one was
passed in, is asked at once, before anything is locked. Without one, or if it answers "queue", the question becomes a row in
state `asks` and nothing else changes. The same question is queued only once, the queue is bounded, and a decided question is
emptied: only the fact that it existed stays.

A question records exactly what an approval will do, even days later: the draft as given, the version of the memory, the scopes
and the newest number that a filter reached. `review.py` carries approvals out; this module only asks, so that everything that
writes can import it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from datetime import datetime
from typing import Any, Literal, cast

from memorist.access import GLOBAL, Access, is_homed
from memorist.design import Answer, Ask, Tools
from memorist.errors import Conflict, Invalid, NotFound
from memorist.lazy import dataclass
from memorist.noun import Noun, line
from memorist.records import Draft, Outcome, Record, Report
from memorist.redact import nothing_but_marks
from memorist.remember.authority import (
    LARGE,
    Held,
    Place,
    hidden_lately,
    holds_everywhere,
    most_of,
    place_of,
    stands_everywhere,
)
from memorist.remember.changes import Caller, same_texts, twin_of
from memorist.store.nouns import Brief, Diagnosis, Run, difference, parts
from memorist.store.protocol import Store
from memorist.store.where import MOST_VALUES, Clause, Where, canonical, everywhere, holds, type_of
from memorist.store.writer import Clean
from memorist.text.visible import quoted, visible

NAMED = 5  # memories in a question
SHOWN = 200  # characters of a text in a question
PLACES = ("scope", "home", "state")
BOUNDS = ("gt", "gte", "lt", "lte", "ne")
FOR_GOOD = "This cannot be undone."
CAN_UNDO = "They stay in the archive; undo or restore brings them back."
DANGER = {"forget": CAN_UNDO, "erase": FOR_GOOD}
DONE = {"forget": "forgotten", "erase": "erased"}
JOB = "question"
MOST_WAITING = 200  # questions in one space
KEPT_FREE = 50  # reserved for the user's own
MOST_OF_ONE = 40  # from one actor at one door
LONGEST_QUESTION = 200_000  # characters: nobody reads more
ANSWERS = ("approve", "deny", "queue")
FULL = "so many questions wait for a person that no more are taken; `memorist review` lists them, decide some first"


@dataclass(frozen=True, slots=True, repr=False)
class Pending(Noun):
    """A waiting question: what would be done and why, who asked and when."""

    id: str
    at: datetime
    verb: str
    summary: str
    because: str
    scope: str
    actor: str
    surface: str
    danger: str | None = None
    details: Mapping[str, Any] | None = field(default=None, hash=False)

    def _line(self) -> str:
        return f"{self.id} {self.verb} in {line(self.scope)}: {line(self.summary)}"


@dataclass(frozen=True, slots=True)
class Consent:
    """The answer of a person or the queue: whether it was approved, and the id of the question if it waits."""

    answer: Literal["approve", "deny", "queue", "full"]
    summary: str
    id: str | None = None

    @property
    def approved(self) -> bool:
        return self.answer == "approve"

    @property
    def because(self) -> str:
        if self.answer == "queue":
            return f"a person has to agree first: {self.summary}; `memorist review {self.id} --decide approve` or `deny` decides"
        return FULL if self.answer == "full" else f"declined: {self.summary}"

    def outcome(self, id: str | None = None) -> Outcome:
        """For a verb that this stopped."""
        named: Literal["needs_consent", "refused"] = "needs_consent" if self.answer == "queue" else "refused"
        return Outcome(named, self.because, id, pending=self.id)

    def report(self, verb: str) -> Report:
        return Report(verb, advice=self.because, pending=self.id)


# ---------------------------------------------------------------- asking


def ask(
    question: Ask,
    scope: str,
    because: str,
    by: Caller,
    home: str | None = None,
    also: Iterable[Place] = (),
    instead: Run | None = None,
) -> Consent:
    """Asks the confirmer if there is one, otherwise queues the question. Never inside a transaction: a person may take hours."""
    answer = "queue" if by.tools.confirm is None else _answered(by.tools.confirm(question))
    if answer != "queue":
        return Consent(answer, question.summary)
    return queue(question, scope, because, by, home, also, instead)


def queue(
    question: Ask,
    scope: str,
    because: str,
    by: Caller,
    home: str | None = None,
    also: Iterable[Place] = (),
    instead: Run | None = None,
) -> Consent:
    """Queues the question, even if a confirmer is available; inside a transaction it becomes part of it. Only those who may
    read the place it is about (`scope` and `home`) and all other places it mentions see the question. It may take the place
    of one that waits."""
    now, who = by.now(), by.access
    content = _content(question, who) | {"scope": scope, "because": because} | _places(scope, home, also)
    if len(canonical(content)) > LONGEST_QUESTION:
        raise Invalid(f"a question for a person has at most {LONGEST_QUESTION:,} characters; ask for less at once")
    point = {"digest": by.writer.digest(canonical([question.verb, scope, dict(question.details)]))}
    with by.writer.transaction():
        waiting = by.store.runs(who.space, state="asks")
        known = next((run for run in waiting if run.checkpoint.get("digest") == point["digest"]), None)
        if known is None and instead is None and not _has_room(waiting, who):
            return Consent("full", question.summary)
        fresh = instead or Run(0, who.space, JOB, "asks", who.actor, now, now, now)
        number = known.id if known else by.writer.save_run(replace(fresh, checkpoint=point, question=content))
    return Consent("queue", str(by.writer.redact(question.summary)), f"q{number}")


def _content(question: Ask, who: Access) -> dict[str, Any]:
    return {
        "verb": question.verb, "summary": question.summary, "danger": question.danger, "surface": who.surface,
        "door": who.origin, "details": dict(question.details),
    }  # fmt: skip


def _places(scope: str, home: str | None, also: Iterable[Place]) -> dict[str, Any]:
    """The home of the scope, and the other places that a question mentions, if any."""
    others = sorted({(place, of or "") for place, of in also} - {(scope, home or "")})
    return ({"home": home} if home else {}) | ({"also": others} if others else {})


def _has_room(waiting: Sequence[Run], who: Access) -> bool:
    """Whether one more question may wait: no actor can fill the queue for others, and places are reserved for the user."""
    if who.origin == "user":
        return len(waiting) < MOST_WAITING
    doors = [(run.owner, (run.question or {}).get("surface"), (run.question or {}).get("door")) for run in waiting]
    of_others = sum(door != "user" for *_, door in doors)
    return of_others < MOST_WAITING - KEPT_FREE and doors.count((who.actor, who.surface, who.origin)) < MOST_OF_ONE


def _answered(said: Any) -> Answer:
    if said is True or said is False:
        return "approve" if said else "deny"
    for answer in ANSWERS:
        if said == answer:
            return answer  # type: ignore[return-value]
    raise Invalid(f"a confirmer answers {', '.join(ANSWERS)}, True or False, not {quoted(said)}; nothing was changed")


def shown_in_question(text: str) -> str:
    line = " ".join(visible(text).split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}… ({len(line) - SHOWN:,} characters more)"


# ---------------------------------------------------------------- the queue


def waiting(who: Access, store: Store) -> list[Pending]:
    """The questions about places that this access may read, oldest first."""
    return [shown(run) for run in reversed(store.runs(who.space, state="asks")) if _may_see(run, who)]


def find(id: str, who: Access, store: Store) -> Run:
    """The waiting question with that id, if it is about a place that may be read."""
    wanted = id.strip().lower().removeprefix("q") if isinstance(id, str) else id
    for run in store.runs(who.space, state="asks"):
        if str(run.id) == str(wanted) and _may_see(run, who):
            return run
    raise NotFound(f"no question {quoted(id)} is waiting here; `memorist review` lists those that are")


def shown(run: Run) -> Pending:
    asked = dict(run.question or {})
    return Pending(
        id=f"q{run.id}",
        at=run.at,
        verb=str(asked.get("verb", "")),
        summary=str(asked.get("summary", "")),
        because=str(asked.get("because", "")),
        scope=_scope(run),
        actor=run.owner,
        surface=str(asked.get("surface", "")),
        danger=asked.get("danger"),
        details=asked.get("details", {}),
    )


def must_be_at(versions: Mapping[str, int], records: Iterable[Record]) -> None:
    """Refuses to carry a question out on a memory that is no longer what the person was asked about."""
    for record in records:
        if versions.get(record.id, record.version) != record.version:
            raise Conflict(f"memory {record.number} was changed since the question was asked; deny it, and ask again")


def about(verb: str, scope: str, versions: Mapping[str, int], by: Caller) -> Run | None:
    """The question that waits about one of these memories, in this version. Questions about other versions of them are
    withdrawn, because nobody can approve those any more."""
    found = None
    for run in by.store.runs(by.access.space, state="asks"):
        details = details_of(run)
        if (shown(run).verb, details.get("scope")) == (verb, scope) and details.get("id") in versions:
            if details["version"] == versions[details["id"]]:
                found = run
            else:
                close(run, "withdrawn", None, by)
    return found


def details_of(run: Run) -> Mapping[str, Any]:
    return (run.question or {}).get("details") or {}


def close(run: Run, state: Literal["done", "denied", "withdrawn"], batch: str | None, by: Caller) -> None:
    """Removes the question from the queue; nothing of its content is kept."""
    now = by.now()
    by.writer.save_run(replace(run, state=state, batch=batch, question=None, checkpoint={}, lease=now, updated=now))


def _scope(run: Run) -> str:
    return str((run.question or {}).get("scope", ""))


def _may_see(run: Run, who: Access) -> bool:
    asked = run.question or {}
    places = [(_scope(run), asked.get("home")), *asked.get("also", ())]
    return all(who.may_read(scope, home or None) for scope, home in places)


def checked(store: Store, space: str) -> list[Diagnosis]:
    """For the doctor: how many questions wait, and whether all of them can still be read."""
    runs = store.runs(space, state="asks")[::-1]
    broken = [f"q{run.id}" for run in runs if not shown(run).verb or not shown(run).summary]
    if broken:
        advice = "deny them with `memorist review ID --decide deny`"
        return [Diagnosis(False, "questions", f"{', '.join(broken)} cannot be read", advice)]
    return [Diagnosis(True, "questions", f"{len(runs):,} wait for a person")] if runs else []


# ---------------------------------------------------------------- what stands in every prompt, and what others said


def to_remember(draft: Draft, record: Clean, reason: str, by: Caller) -> Consent | None:
    """Asks about a new memory that would stand in the prompts of every project; None if a twin already does, and is only
    counted."""
    if record.text != draft.text and nothing_but_marks(record.text):
        return None  # the gate refuses it anyway
    twins = same_texts(by.store, record.space, record.scope, record.home, [record.fingerprint])
    twin = twin_of(record, twins, by.tools.kinds, by.now(), "active")
    if twin is not None and (holds_everywhere(twin) or stands_everywhere(twin)):
        return None
    checked = {"scope": record.scope, "kind": record.kind, "text": record.text, "data": dict(record.data)}
    checked |= {"tags": list(record.tags), "files": list(record.files)}
    details = {"draft": _given(draft) | {name: value for name, value in checked.items() if value}}
    told = ("title", "tags", "pinned", "data")
    more = _fields({name: value for name, value in details["draft"].items() if name in told})
    summary = f"remember a {record.kind} for every project: {shown_in_question(record.text)}{more}"
    return ask(Ask("remember", summary, None, details), record.scope, reason, by)


def settled(
    act: Callable[[Caller], Outcome],
    question: Callable[[Held], Ask],
    by: Caller,
    beside: Callable[[], Iterable[Record]] = tuple,
) -> Outcome:
    """The outcome of an act. If it is held, a person is asked while nothing is locked; if they agree, it is done as the user's
    act, provided that the memories still have the versions that were held. `beside` are other memories that the question
    mentions."""
    try:
        return act(by)
    except Held as held:
        told = [*(r for each in held.effects for r in (each.old, each.new) if r is not None), *beside()]
        said = ask(question(held), held.record.scope, str(held), by, held.record.home, map(place_of, told))
        return act(by.with_consent(held.versions)) if said.approved else said.outcome(held.record.id)


def to_change(held: Held, verb: str, because: str, by: Caller) -> Ask:
    """The question about a change to one memory, with the new values of its columns."""
    effect = next(each for each in held.effects if each.old is not None and each.new is not each.old)
    old, new = cast(Record, effect.old), effect.new
    columns = difference(new, old)
    details = {"id": old.id, "version": old.version, "verb": verb, "because": because, "columns": columns}
    asked, to = f"{by.access.actor} wants memory {old.number} {verb}, and {held}", _fields(columns)
    return Ask("change", f"{asked}: {shown_in_question(old.text)}{to}", None, details)


def to_revise(held: Held, given: Mapping[str, Any], because: str, used: bool) -> Ask:
    old, new = held.record, held.effects[0].new
    plain = {name: _plain(value) for name, value in given.items()}
    details = {"id": old.id, "version": old.version, "changes": plain, "because": because, "used": used}
    text = f": {shown_in_question(new.text)}" if new.text != old.text else ""
    rest = _fields({name: value for name, value in plain.items() if name != "text"})
    return Ask("revise", f"change memory {old.number}, and {held}{text}{rest}", None, details)


def _fields(values: Mapping[str, Any]) -> str:
    """What else would be set, since a person must see all of what they agree to."""
    hidden = ("fingerprint", "checksum", "reason", "source")
    told = {name: value for name, value in values.items() if value not in (None, [], {}) and name not in hidden}
    return f" ({'; '.join(f'{name}: {shown_in_question(str(value))}' for name, value in told.items())})" if told else ""


def draft_of(details: Mapping[str, Any]) -> Draft:
    return Draft(**{name: _moment(name, value) for name, value in details["draft"].items()})


def changes_of(details: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _moment(name, value) for name, value in details["changes"].items()}


def _given(draft: Draft) -> dict[str, Any]:
    """The fields of the draft that differ from the defaults."""
    blank = Draft("")
    said = {field.name: getattr(draft, field.name) for field in fields(Draft)}
    return {name: _plain(value) for name, value in said.items() if value != getattr(blank, name)}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return dict(value) if isinstance(value, Mapping) else value


def _moment(name: str, value: Any) -> Any:
    timed = name in ("at", "valid_from", "valid_to") and isinstance(value, str)
    return datetime.fromisoformat(value) if timed else value


# ---------------------------------------------------------------- clearing


def to_clear(verb: str, where: Where, ids: Sequence[str], because: str, by: Caller, **more: str) -> Caller | Report:
    """Asks before `forget` or `erase` of everything in a scope, or of most of a large one, whatever the filter says. Returns
    the caller, with a person's consent if that was needed, or the report of the waiting question."""
    everything = _says_everything(where, len(ids), by.tools)
    most = _most_of_a_scope(where, by) or (verb == "erase" and _most_of_an_archive(where, by))
    if by.agreed is not None or not ids or not (everything or most):
        return by
    briefs = [b for b in by.store.briefs(where) if where.access.may_write(b.scope, b.home)]
    places = list(dict.fromkeys((brief.scope, brief.home) for brief in briefs))
    scopes = list(dict.fromkeys(scope for scope, _ in places))
    reach = _reach(where, briefs, places, by)
    shown = f"{', '.join(scopes[:NAMED])}{' …' if len(scopes) > NAMED else ''}"
    summary = f"{verb} {'all ' if everything else ''}{len(ids):,} memories in {shown}"
    question = Ask(verb, summary, DANGER[verb], {"clauses": reach, "because": because, **more})
    private, home = next((place for place in places if place[0] != GLOBAL), (GLOBAL, None))
    said = ask(question, private, because, by, home, places)
    return by.with_consent() if said.approved else said.report(DONE[verb])


def _reach(where: Where, briefs: Sequence[Brief], places: Sequence[Place], by: Caller) -> list[list[Any]]:
    """The filter of the question: in these places, and excluding anything newer or changed later."""
    scopes, homes = ({place[part] for place in places} for part in (0, 1))
    if len(scopes) > MOST_VALUES:
        raise Invalid(f"{len(scopes):,} scopes would be cleared at once; name some of them in the filter")
    newest = max((brief.number for brief in briefs), default=0)
    reach = where.also("scope", "in", tuple(sorted(map(str, scopes)))).also("home", "in", tuple(homes))
    reach = reach.also("number", "lte", newest).also("updated", "lte", by.now())
    return [[clause.field, clause.op, _plain(clause.value)] for clause in reach.clauses]


def _most_of_a_scope(where: Where, by: Caller) -> bool:
    """Whether it is more than half of a large scope, including what this actor has hidden in the last minutes."""
    active = Counter((brief.scope, brief.home) for brief in by.store.briefs(where.also("state", "eq", "active")))
    lately = hidden_lately(by, by.now())
    return any(most_of(place, lately[place] + count, count, by) for place, count in active.items())


def _most_of_an_archive(where: Where, by: Caller) -> bool:
    """Whether it is more than half of a large scope in any state, since erased memories are gone for good."""
    counts = Counter((brief.scope, brief.home) for brief in by.store.briefs(where))
    living = everywhere(by.access.space).also("state", "ne", "erased")
    for (scope, home), count in counts.items():
        here = living.also("scope", "eq", scope).also("home", "eq", home)
        if 2 * count > LARGE and 2 * count > sum(by.store.count(here).values()) >= LARGE:
            return True
    return False


def to_sweep(verb: str, ids: Sequence[str], seen: datetime, because: str, by: Caller, **more: str) -> Consent:
    """Asks about memories that a `forget` or `erase` of many left because they are somebody else's, as they were when they were
    `seen`. A filter takes a few hundred ids, so there are several questions if there are more."""
    said = Consent("approve", verb)
    for some in parts(list(ids), MOST_VALUES):
        known = by.store.get(some, by.where)
        shown = ", ".join(f"[id:{record.number}]" for record in known[:NAMED]) + (" …" if len(known) > NAMED else "")
        clauses = [["id", "in", some], ["updated", "lte", seen.isoformat()]]
        details = {"clauses": clauses, "because": because, **more}
        asked = f"{by.access.actor} wants to {verb} {len(some):,} memories that a person has to agree to: {shown}"
        question = Ask(verb, asked, DANGER[verb], details)
        said = ask(question, known[0].scope, because, by, known[0].home, map(place_of, known))
        if not said.approved and said.answer != "queue":
            return said
    return said


def reach_of(details: Mapping[str, Any], who: Access) -> Where:
    """The filter in the question, with the rights of the person who approves: exactly those scopes, and nothing newer."""
    clauses = tuple(Clause(field, op, _value(field, value)) for field, op, value in details["clauses"])
    for clause in clauses:
        if (clause.field, clause.op) == ("scope", "in"):
            for scope in clause.value:
                if not is_homed(scope):  # for these the homes are checked, memory by memory
                    who.must_write(scope)
    return Where(who, clauses)


def _value(field: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_value(field, each) for each in value)
    return datetime.fromisoformat(value) if type_of(field) == "time" and isinstance(value, str) else value


def _says_everything(where: Where, found: int, tools: Tools) -> bool:
    """Whether the filter names nothing but places: no kind, no tag, no session. A caller who names more means certain
    memories; but a bound that excludes nothing, such as a time before the first memory, does not count."""
    places = tuple(clause for clause in where.clauses if clause.field in PLACES)
    if not all(holds(clause, "active") for clause in places if clause.field == "state"):
        return False
    others = [clause for clause in where.clauses if clause.field not in PLACES]
    if not all(clause.op in BOUNDS for clause in others):
        return False
    return not others or sum(tools.store.count(Where(where.access, places)).values()) == found
