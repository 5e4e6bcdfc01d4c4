"""One turn behind: memories are looked up while a model speaks and shown to it in its next turn.

`prefetch` hands what is being talked about to the one thread that looks ahead (`lookout.py`) and returns at once.
`ready` returns what was found, assembled as `context` does, receipt included. The state between the two belongs to one
session and one access: two sessions that are open at once share nothing (docs/why/0058-one-turn-behind.md).

What was found may be erased, forgotten, revised or moved before it is shown, so it is checked again then. If one memory
in its text has changed, none of it is shown, and it is looked up anew.

Repetition is noise, so a memory that was shown to the model counts as known for 45 minutes, and so does what the
session itself said. A change of topic is reported, but does not make anything unknown again.
"""

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from memorist import checks
from memorist.access import Access
from memorist.errors import Invalid, Refused
from memorist.models.embed import Embedder
from memorist.prompt.context import Wish
from memorist.prompt.modes import Profile
from memorist.records import Context, Hit, Record
from memorist.remember.changes import Caller
from memorist.session.lookout import lookout
from memorist.session.name import TURN, Name, lineage, turns_of
from memorist.text.question import question_of
from memorist.text.twins import normalised
from memorist.text.words import query_terms

if TYPE_CHECKING:
    from memorist.session.session import Host

VALID = timedelta(seconds=120)  # how long a result may be shown
UNCHANGED = timedelta(seconds=30)  # how long the same words are not looked up again
MOSTLY = 0.8  # this share of the texts makes two results alike
REPEATS = timedelta(seconds=180)  # a result like one shown within this time is held back
STAYS_KNOWN = timedelta(minutes=45)
OTHER_TOPIC = 0.3  # less similar words than this are another topic
LAST_TURNS = 6  # turns that say what a conversation is about
LONGEST_ASKED = 4000  # characters of them, counted from the end
LOOKS = 3  # attempts to find something unknown while more becomes known
SESSIONS_KEPT = 1000  # per open memory
FEW_EVENTS = 8  # so few journal events are faster to read than the memories
NO_TURNS = Profile("window", policy="semantic", tags=(), turns=0)  # the model already has the turns
NOTHING_ASKED = "nothing was looked up ahead; `prefetch` asks for it"
STILL_LOOKING = "it is being looked up; the next turn has it"
TOO_OLD = f"what was found is older than {VALID.seconds} s"
REPEATED = "most of what was found was shown a moment ago"
KNOWN_BY_NOW = "what was found became known meanwhile, and is looked up again"
CHANGED_BY_NOW = "what was found was changed meanwhile, and is looked up again"
log = logging.getLogger("memorist")
Key = tuple[Name, Access]


@dataclass(frozen=True, slots=True)
class Looking:
    """What to look up: some words, or else the last turns; and the token budget."""

    text: str | None
    budget: int | None


@dataclass(frozen=True, slots=True)
class Spotted:
    """A result: what was found, when, for which words; the version and state of each memory in its text; and the last
    journal event before anything was read."""

    context: Context
    at: datetime
    looking: Looking
    held: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    head: int | None = None


class Behind:
    """What one session was shown, is waiting for, and was last about. Every method is called with its lock held."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wanted: Looking | None = None
        self.queued = False
        self.found: Spotted | None = None
        self.topic: str | None = None  # the words looked up last
        self.last: tuple[Looking, datetime] | None = None  # the last request
        self._known: dict[str, datetime] = {}  # ids of known memories, and since when
        self._shown: list[tuple[datetime, frozenset[str]]] = []  # the texts shown together, and when

    def is_unchanged(self, looking: Looking, now: datetime) -> bool:
        """Whether the same was asked for a moment ago."""
        return self.last is not None and self.last[0] == looking and _within(UNCHANGED, self.last[1], now)

    def ask(self, looking: Looking, now: datetime) -> None:
        self.wanted = looking
        if looking.text is not None:  # what the last turns say is unknown until they are read
            self.last = looking, now

    def drop(self) -> None:
        """Forgets a request that found no room in the queue, so that the same can be asked for again at once."""
        self.wanted = self.last = None

    def known(self, now: datetime) -> frozenset[str]:
        self._known = {id: since for id, since in self._known.items() if _within(STAYS_KNOWN, since, now)}
        return frozenset(self._known)

    def knows(self, ids: Iterable[str], now: datetime) -> None:
        self._known |= dict.fromkeys(ids, now)

    def shows(self, items: Iterable[Hit], now: datetime) -> None:
        """Notes that these are shown to the model from now on."""
        hits = tuple(items)
        if not hits:
            return
        self.knows((hit.record.id for hit in hits), now)
        self._shown = [each for each in self._shown if _within(REPEATS, each[0], now)]
        self._shown.append((now, _texts(hits)))

    def against(self, found: Spotted, now: datetime) -> str | None:
        """Why this result is not shown, or None. A repetition need not be complete: it is enough that most texts were
        just shown."""
        if not _within(VALID, found.at, now):
            return TOO_OLD
        ids = {hit.record.id for hit in found.context.items}
        if any(_within(STAYS_KNOWN, self._known[id], now) for id in ids & self._known.keys()):
            return KNOWN_BY_NOW
        texts = _texts(found.context.items)
        alike = (at for at, shown in self._shown if texts and len(texts & shown) >= MOSTLY * len(texts))
        return REPEATED if any(_within(REPEATS, at, now) for at in alike) else None


def _within(span: timedelta, since: datetime, now: datetime) -> bool:
    return timedelta(0) <= now - since < span


def _texts(hits: Iterable[Hit]) -> frozenset[str]:
    return frozenset(normalised(hit.record.text) for hit in hits)


def behind_of(memory: "Host", name: Name) -> Behind:
    """The state of a session for this access. It lasts while the memory is open, so it survives when a server opens the
    session anew for each call. If there are very many sessions, the oldest states are dropped."""
    states: dict[Key, Behind] = memory._behind
    state = states.setdefault((name, memory.access), Behind())
    if len(states) > SESSIONS_KEPT:
        for old in list(states)[:-SESSIONS_KEPT]:
            states.pop(old, None)
    return state


# ---------------------------------------------------------------- the two verbs


def prefetch(memory: "Host", name: Name, context: str | None = None, budget: int | None = None) -> bool:
    """`Session.prefetch` of a session by its name; nobody needs to hold the session open."""
    text = None if context is None else checks.text(context, "the context")[-LONGEST_ASKED:]
    tokens = None if budget is None else checks.whole(budget, "budget", 1, checks.LARGEST_PROMPT)
    try:
        by = memory._caller
    except Refused:
        return False
    looking, now, behind = Looking(text, tokens), by.now(), behind_of(memory, name)
    with behind.lock:
        if behind.is_unchanged(looking, now):
            return True
        behind.ask(looking, now)
        return _queue(memory, name, behind, by)


def _queue(memory: "Host", name: Name, behind: Behind, by: Caller) -> bool:
    """Queues the session, once at a time; a later request replaces the one it is waiting with."""
    if not behind.queued:
        behind.queued = lookout.offer(by.store, partial(_look, memory, name, behind))
    if not behind.queued:
        behind.drop()
    return behind.queued


def ready(memory: "Host", name: Name) -> Context:
    """`Session.ready` of a session by its name."""
    try:
        by = memory._caller
    except Refused as off:
        return Context("", empty_because=str(off))
    now = by.now()
    behind = behind_of(memory, name)
    with behind.lock:
        found, behind.found = behind.found, None
        if found is None:
            return Context("", empty_because=STILL_LOOKING if behind.queued else NOTHING_ASKED)
        because = behind.against(found, now) or _changed(found, by)
        if because is None:
            behind.shows(found.context.items, now)
            return found.context
        if because in (KNOWN_BY_NOW, CHANGED_BY_NOW) and behind.wanted is None:
            behind.ask(found.looking, now)
            _queue(memory, name, behind, by)
        return Context("", empty_because=because, topic_changed=found.context.topic_changed)


# ---------------------------------------------------------------- in the thread that looks ahead


def _look(memory: "Host", name: Name, behind: Behind) -> None:
    with behind.lock:
        looking, behind.wanted, behind.queued = behind.wanted, None, False
    if looking is None:
        return
    head = None
    try:
        head = _head(memory._caller)
        found = _found(memory, name, behind, looking)
        held = {} if found is None else _held(found, memory._caller)
    except Exception as problem:  # the memory was closed meanwhile, or the caller's embedder failed
        log.warning("nothing was looked up ahead for session %s: %s", name.id, problem)
        found, held = Context("", empty_because=f"it could not be looked up: {problem}"), {}
    if found is not None:
        with behind.lock:
            behind.found = Spotted(found, memory._tools.clock(), looking, held, head)


def _held(found: Context, by: Caller) -> dict[str, tuple[int, str]]:
    """Version and state of the memories that the text may hold: its items as they were read, and others that its
    receipt names, such as the other side of a contradiction."""
    lines = by.store.receipts(by.access.space, 1, found.receipt) if found.items else []
    beside = _versions([id for line in lines for id in line.ids], by)
    return beside | {hit.record.id: (hit.record.version, hit.record.state) for hit in found.items}


def _head(by: Caller) -> int:
    link = by.store.head()
    return link.last if link else 0


def _changed(found: Spotted, by: Caller) -> str | None:
    """Says so if one of its memories changed. Every change is in the journal, so the few events since then usually settle it."""
    if not found.held:
        return None
    since = _head(by) - (found.head or 0)
    events = by.store.journal(limit=since) if 0 < since <= FEW_EVENTS else []
    told = since == 0 or (events and not any(event.record in found.held for event in events))
    return None if told or _versions(found.held, by) == found.held else CHANGED_BY_NOW


def _versions(ids: Iterable[str], by: Caller) -> dict[str, tuple[int, str]]:
    """Version and state of those that may be read, as they are now."""
    wanted = list(ids)
    return {each.id: (each.version, each.state) for each in by.store.get(wanted, by.where)} if wanted else {}


def _found(memory: "Host", name: Name, behind: Behind, looking: Looking) -> Context | None:
    """What matters for the request; None if that was just looked up."""
    by = memory._caller
    last = replace(looking, text=asked_last(name, by)) if looking.text is None else looking
    with behind.lock:
        if last is not looking and behind.is_unchanged(last, by.now()):
            return None
        behind.last = last, by.now()
        before, behind.topic = behind.topic, last.text
    likely = None if before is None else likeness(before, str(last.text), by.tools.meaning.embedder())
    return replace(_fresh(memory, name, behind, last), topic_changed=None if likely is None else likely < OTHER_TOPIC)


def _fresh(memory: "Host", name: Name, behind: Behind, looking: Looking) -> Context:
    """What matters, without anything that the session already knows."""
    by, made = memory._caller, Context("")
    known = own = _kept_in(name, by)
    wish = Wish(
        str(looking.text), user=name.user, session=name.id, budget=looking.budget, profile=NO_TURNS, where=not_of(name),
        shown=lambda record: record.id in known,
    )  # fmt: skip
    for _ in range(LOOKS):
        with behind.lock:
            known = own | behind.known(by.now())
        made = memory._context(wish)
        with behind.lock:
            if not {hit.record.id for hit in made.items} & behind.known(by.now()):
                break
    return made


def not_of(name: Name) -> Mapping[str, Mapping[str, str]]:
    """A filter that leaves out what was said, noted or found in a session."""
    return {"session": {"$ne": name.id}}


def _kept_in(name: Name, by: Caller) -> frozenset[str]:
    """What was stored in a session besides its turns, including the sessions it was forked from, up to the fork. These
    ids are excluded explicitly, because the other side of a contradiction is added past any filter."""
    found: list[str] = []
    for each, last in lineage(name, by):
        where = by.where.also("session", "eq", each.id).also("kind", "ne", TURN).also("state", "eq", "active")
        where = where if last is None else where.also("number", "lte", last)
        found += [brief.id for brief in by.store.briefs(where)]
    return frozenset(found)


def asked_last(name: Name, by: Caller) -> str:
    """The last turns of a session as a query: a transcript. The user's last words in it count first."""
    turns = turns_of(name, by, LAST_TURNS)
    text = "\n".join(f"{turn.provenance.role or 'user'}: {turn.text}" for turn in turns)[-LONGEST_ASKED:]
    if not text:
        raise Invalid(f"session {name.id} has no turns to take a question from; give a query")
    return text


def likeness(a: str, b: str, embedder: Embedder | None) -> float:
    """How similar two texts are in topic, from 0 to 1: by meaning if the embedder is cheap, else by words."""
    said = [question_of(a), question_of(b)]
    if embedder is not None and embedder.cheap:
        import numpy as np

        one, other = np.asarray(embedder.embed(said), dtype=float)
        size = float(np.linalg.norm(one) * np.linalg.norm(other))
        if size:
            return max(0.0, float(one @ other) / size)
    words = [set(query_terms(each)) for each in said]
    return len(words[0] & words[1]) / max(1, min(map(len, words)))


def heard(memory: "Host", session: str | None, records: Iterable[Record | None]) -> None:
    """Marks memories that were just stored in a session as known there, even if another session had said them before."""
    ids, now = [record.id for record in records if record is not None], memory._tools.clock()
    for (name, access), behind in tuple(memory._behind.items()):
        if name.id == session and access.home == memory.access.home:
            with behind.lock:
                behind.knows(ids, now)


def shown(memory: "Host", name: Name, items: Iterable[Hit]) -> None:
    """Marks memories that a session asked for as shown."""
    behind, now = behind_of(memory, name), memory._tools.clock()
    with behind.lock:
        behind.shows(items, now)
