"""Narratives: the thread of reasoning between facts. Each is a sentence or two on a topic, with the memories it is about and
the narrative before it. The facts themselves stay in the memories.

    the topic of this session goes on         → follows the last narrative on it in this session
    a new session takes up a topic again      → follows the last one on it in the project
    the topic shifts                          → a new thread, which follows where this session was
    the caller names the one before           → follows that one

A narrative is never changed, and nothing is scored: order of arrival is the only order. All but the first of a session
follow one of the same session, so two that run at the same time cannot interleave. Which one is the last is read in the
transaction that writes the next.

A narrative is linked to its memories as derived from them: it is trusted like the least trusted of them, and erased with
them. In the other direction, each memory records in its provenance the narrative that its session was at
(`remember/threads.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from memorist import checks
from memorist.access import GLOBAL
from memorist.errors import Invalid, Refused
from memorist.kinds import MEMORY
from memorist.noun import line
from memorist.records import Draft, Link, Outcome, Record, changed
from memorist.remember import gate
from memorist.remember.authority import derived
from memorist.remember.changes import Caller, Changes
from memorist.remember.threads import NARRATIVE, narratives_in
from memorist.store.nouns import Shelf
from memorist.store.where import Order, Where
from memorist.store.writer import Clean
from memorist.text.twins import normalised
from memorist.text.words import query_terms

TOPICS_COMPARED = 1_000  # the newest narratives of a session or project, whose topics are compared with a new one
SUMMARY = "summary"  # the kind that a session leaves at its end
TELLS_OF = "a narrative tells of it"
BEGINS = "the first narrative of its thread"


# ---------------------------------------------------------------- telling


def narrate(
    summary: str,
    topic: str | None,
    memories: Sequence[Record],
    previous: Record | None,
    session: str | None,
    home: str,
    by: Caller,
) -> Outcome:
    """Stores a narrative in its place in a thread. The caller names the memories and, if known, the previous narrative."""
    if home == GLOBAL:
        raise Refused("a narrative is told in a project, and global is none; name a project, or a scope of its own")
    if len(memories) > checks.MOST_LABELS:
        raise Invalid(f"{len(memories):,} memories were given; a narrative tells of at most {checks.MOST_LABELS}")
    if previous is not None and previous.kind != NARRATIVE:
        raise Invalid(f"memory {previous.number} is a {previous.kind}, not a narrative; `narratives` lists those")
    ids = list(dict.fromkeys(record.id for record in memories))
    draft, now = Draft(summary, NARRATIVE, title=topic, data={"memories": ids}, session=session), by.now()
    record = gate.checked(None, draft, by, home, now)
    if isinstance(record, Outcome):
        return record
    return gate.stored([draft], [record], partial(_told, previous, home), by, now, None)[0]


def _told(previous: Record | None, home: str, draft: Draft, record: Clean, changes: Changes) -> Outcome:
    """Inside the transaction: decides what it follows and how far it is trusted, and writes it."""
    by = changes.by
    place = _named(previous, record) if previous is not None else _place(record, home, by)
    about = _there(record.data["memories"], by)
    data = {"memories": [each.id for each in about], **({"previous": place.after.id} if place.after else {})}
    told = changed(record, title=place.topic, data=data)
    if told.origin != "user":
        told = derived(told, *(each.origin for each in about))
    outcome = gate.decide("flag", draft, by.writer.clean(told), changes)
    if outcome.outcome != "added":
        return outcome
    for each in about:
        changes.link(told, Link(told.id, each.id, "derived_from"), TELLS_OF)
    return replace(outcome, because=place.because)


@dataclass(frozen=True, slots=True)
class _Place:
    """What a narrative follows, and the topic it is on."""

    after: Record | None
    topic: str | None
    because: str


def _named(previous: Record, record: Record) -> _Place:
    """The place after a narrative that the caller names, from any session of the project."""
    if (previous.scope, previous.home) != (record.scope, record.home):
        raise Invalid(f"narrative {previous.number} lies in {previous.scope}, not in {record.scope}; name one of here")
    if previous.state == "erased":
        raise Refused(f"narrative {previous.number} is erased; name another one, or none")
    return _after(previous, record.title)


def _place(record: Record, home: str, by: Caller) -> _Place:
    here, topic = narratives_in(home, by), record.title
    mine = here.also("session", "eq", record.provenance.session)
    last = next(iter(by.store.find(mine, Order("number"), 1)), None)
    if topic is None or (last is not None and _same(topic, last)):
        return _after(last, topic)
    newest_first = by.store.find(mine if last else here, Order("number"), TOPICS_COMPARED)
    return _after(next((each for each in newest_first if _same(topic, each)), last), topic)


def _same(topic: str | None, other: Record) -> bool:
    return topic is None or normalised(topic) == normalised(other.title or "")


def _after(previous: Record | None, topic: str | None) -> _Place:
    if previous is None:
        return _Place(None, topic, BEGINS)
    if _same(topic, previous):
        return _Place(previous, previous.title, f"it continues {_called(previous)}")
    return _Place(previous, topic, f"a new thread, after {_called(previous)}")


def _called(record: Record) -> str:
    return f"“{line(record.title or record.text)}” [id:{record.number}]"


def _there(ids: Sequence[str], by: Caller) -> list[Record]:
    """These memories as they are now; refuses erased ones."""
    found = by.store.get(list(ids), by.where)
    gone = next((record for record in found if record.state == "erased"), None)
    if gone is not None:
        raise Refused(f"memory {gone.number} is erased; a narrative cannot tell of it, leave it out")
    return found


# ---------------------------------------------------------------- reading


def latest(session: str | None, limit: int, home: str, by: Caller) -> list[Record]:
    """The latest narratives of this session or of the whole project, newest first. If there are none, the summary that
    the last session left."""
    return by.store.find(_of(session, home, by), Order("number"), limit) or _summary(session, home, by)


def _summary(session: str | None, home: str, by: Caller) -> list[Record]:
    ended = by.where.also("kind", "eq", SUMMARY).also("state", "eq", "active").also("scope", "eq", home)
    ended = ended.also("data.ended", "eq", True)
    return by.store.find(ended if session is None else ended.also("session", "eq", session), Order("updated"), 1)


def about(query: str, session: str | None, limit: int, home: str, by: Caller) -> list[Record]:
    """Narratives whose topic or summary has these words, best first."""
    terms = query_terms(checks.text(query, "the question"))
    shelf = Shelf(by.access.space, home, MEMORY, by.access.home_of(home))
    where = _of(session, home, by)
    found = by.store.match(terms, [shelf], where, limit).scores if terms else {}
    return by.store.get(list(found)[:limit], where)


def _of(session: str | None, home: str, by: Caller) -> Where:
    here = narratives_in(home, by)
    return here if session is None else here.also("session", "eq", checks.label(session, "the session"))


def thread(record: Record, limit: int, by: Caller) -> list[Record]:
    """For a narrative: it and what it follows, newest first. For another memory: the narratives about it, and the one
    that its session was at when it was written."""
    if record.kind == NARRATIVE:
        return list(islice(_back(record, by), limit))
    links = by.store.links(by.where, [record.id], "derived_from")
    ids = {link.a for link in links if link.b == record.id} | {record.provenance.narrative or ""}
    found = by.store.get(sorted(ids), by.where.also("kind", "eq", NARRATIVE).also("state", "eq", "active"))
    return sorted(found, key=lambda each: each.number, reverse=True)[:limit]


def _back(record: Record, by: Caller) -> Iterator[Record]:
    """The narrative and those it follows, as far as they can be read; undone or forgotten ones are skipped."""
    seen: set[str] = set()
    step: Record | None = record
    while step is not None and step.id not in seen and step.kind == NARRATIVE:
        seen.add(step.id)
        if step.state == "active" or step is record:
            yield step
        before = step.data.get("previous")
        step = next(iter(by.store.get([before], by.where)), None) if isinstance(before, str) else None
