"""`Memory`: every verb a user can type, in reading order. This file is the table of contents of the engine.

    writing   remember, remember_many, revise, pin, unpin, tag, link, unlink, feedback, forget, restore
    reading   recall, context, get, list, count, links, timeline, history, explain, why_not
    keeping   audit, status, backup, doctor, close

The verbs are short because the work is elsewhere: the gate (`remember/gate.py`) stores, the pipeline (`recall/pipeline.py`)
finds, the store keeps. A `Memory` is safe to share between threads; open a new one after a fork.
"""

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from memorist import checks, opening
from memorist.access import Access
from memorist.bus import Bus
from memorist.design import Clock, Design, Tools
from memorist.errors import Invalid, OutOfScope, Refused
from memorist.kinds import Kind
from memorist.prompt import render
from memorist.recall import asking, reference
from memorist.records import (
    Context,
    Draft,
    Event,
    Link,
    LinkKind,
    Outcome,
    Recall,
    Record,
    now_utc,
)
from memorist.remember import change, drafts, gate
from memorist.store.chain import Audit
from memorist.store.protocol import Finding
from memorist.store.where import Where, order_of
from memorist.store.writer import Writer
from memorist.text.tokens import TokenCounter
from memorist.text.tokens import count_tokens as default_count

Filter = Mapping[str, Any]
BATCH = 250  # drafts in one transaction of remember_many


class Memory:
    """A memory for agents: one store, one project, one access.

    >>> memory = Memory(":memory:")
    >>> memory.remember("Staging runs Postgres 16", kind="decision").outcome
    'added'
    >>> [hit.record.text for hit in memory.recall("which database does staging use?")]
    ['Staging runs Postgres 16']
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        project: str | None = None,
        space: str | None = None,
        access: Access | None = None,
        design: Design | str | None = None,
        clock: Clock = now_utc,
        count_tokens: TokenCounter = default_count,
        kinds: Mapping[str, Kind] | None = None,
        wait: float = 30.0,
    ) -> None:
        place = opening.place(path, project, space, design)
        self.project = place.project
        self.design = place.design
        self.home = place.home
        if access is not None and space not in (None, access.space):
            raise Invalid(f"the access is for space {access.space!r}, not {space!r}; name one of them")
        self.access = access or opening.usual_access(place)
        self.space = self.access.space
        self.bus = Bus()
        self._off_because = place.off_because
        store = opening.store(place.db, checks.seconds(wait, "wait"))
        self._tools = Tools(store, clock, count_tokens, {**place.kinds, **(kinds or {})})
        self._writer = Writer(store, clock)
        self._writer.refuse_secret(f"{self.space} {self.home}", "the space or project")

    # ------------------------------------------------------------ writing

    def remember(
        self,
        text: str,
        *,
        kind: str = "fact",
        scope: str | None = None,
        title: str | None = None,
        tags: Sequence[str] = (),
        files: Sequence[str] = (),
        data: Mapping[str, Any] | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        pinned: bool = False,
        at: datetime | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        user: str | None = None,
        session: str | None = None,
        role: str | None = None,
        speaker: str | None = None,
        agent: str | None = None,
        task: str | None = None,
        season: str | None = None,
        key: str | None = None,
    ) -> Outcome:
        """Keeps one memory and says what became of it: added, reinforced, restored, repeated or refused."""
        scope = drafts.scope_of(scope, user)
        return self.remember_many(
            [Draft(text, kind, scope, title, tags, files, data or {}, importance, confidence, pinned, at, valid_from,
                   valid_to, session, role, speaker, agent, task, season, key)]
        )[0]  # fmt: skip

    def remember_many(self, many: Iterable[Draft | Mapping[str, Any] | str]) -> builtins.list[Outcome]:
        """Keeps many, a few hundred in one transaction; what was stored before an error stays stored."""
        wanted = [drafts.draft_of(draft) for draft in many]
        off = self._off_because()
        if off:
            return [Outcome("refused", off) for _ in wanted]
        outcomes: builtins.list[Outcome] = []
        for start in range(0, len(wanted), BATCH):
            some = wanted[start : start + BATCH]
            stored = gate.admit(some, self.access, self.home, self._tools, self._writer)
            outcomes += [self._tell(outcome) for outcome in stored]
        return outcomes

    def revise(
        self,
        id: str | int,
        text: str | None = None,
        *,
        title: str | None = None,
        kind: str | None = None,
        scope: str | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        data: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
        because: str = "revised",
    ) -> Outcome:
        """Changes what is given. A new text keeps id, number and votes; the old one stays as a superseded record."""
        self._must_be_on()
        changes = drafts.revision(
            self._tools.kinds, text=text, title=title, kind=kind, scope=scope, importance=importance,
            confidence=confidence, valid_from=valid_from, valid_to=valid_to, data=data,
        )  # fmt: skip
        find = partial(self._must_get, id)
        return self._tell(
            change.revise(find, changes, self.access, self._writer, self._tools, expected_version, because)
        )

    def pin(self, id: str | int) -> Outcome:
        """Marks a memory as always important."""
        return self._edit(id, "pinned", lambda record: replace(record, pinned=True), "pinned")

    def unpin(self, id: str | int) -> Outcome:
        """Takes the mark away."""
        return self._edit(id, "unpinned", lambda record: replace(record, pinned=False), "unpinned")

    def tag(self, id: str | int, *tags: str, remove: Sequence[str] = ()) -> Outcome:
        """Adds tags, and removes those in `remove`."""
        added, gone = checks.labels(tags, "tags"), set(checks.labels(remove, "tags"))
        if not added and not gone:
            raise Invalid("no tag was given; name the tags to add or to remove")

        def retag(record: Record) -> Record:
            kept = [tag for tag in dict.fromkeys((*record.tags, *added)) if tag not in gone]
            return replace(record, tags=checks.labels(kept, "tags"))

        return self._edit(id, "tagged", retag, "tagged")

    def link(
        self,
        a: str | int,
        b: str | int,
        kind: LinkKind = "relates_to",
        *,
        weight: float = 1.0,
        evidence: str | None = None,
    ) -> Outcome:
        """Relates two memories. In `supersedes`, `a` is the newer one."""
        return self._relate(a, b, kind, weight, evidence)

    def unlink(self, a: str | int, b: str | int, kind: LinkKind = "relates_to") -> Outcome:
        """Removes that relation."""
        return self._relate(a, b, kind, None, None)

    def feedback(self, id: str | int, verdict: str) -> Outcome:
        """Tells how a recalled memory did: `useful`, `irrelevant` or `wrong`."""
        self._must_be_on()
        return self._tell(
            change.vote(partial(self._must_get, id), verdict, self.access, self._writer, self._tools.clock())
        )

    def forget(self, id: str | int, *, because: str = "forgotten on request") -> Outcome:
        """Hides a memory. It stays searchable in the archive and `restore` brings it back."""
        reason = checks.label(because, "the reason")

        def archive(record: Record) -> Record:
            if record.state in ("superseded", "erased"):
                raise Refused(f"memory {record.number} is {record.state} already")
            return record if record.state == "archived" else replace(record, state="archived", reason=reason)

        return self._edit(id, "forgotten", archive, reason)

    def restore(self, id: str | int, *, because: str = "restored on request") -> Outcome:
        """Brings a forgotten memory back with everything it had."""

        def bring_back(record: Record) -> Record:
            if record.state in ("superseded", "erased"):
                raise Refused(f"memory {record.number} is {record.state}; only forgotten memories can be restored")
            return replace(record, state="active", reason=None)

        return self._edit(id, "restored", bring_back, checks.label(because, "the reason"))

    # ------------------------------------------------------------ reading

    def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        search: str = "memory",
        scope: str | None = None,
        user: str | None = None,
        session: str | None = None,
        kinds: Sequence[str] | None = None,
        where: Filter | None = None,
        as_of: datetime | None = None,
        deadline: float | None = None,
    ) -> Recall:
        """Finds what matters for a question, best first. Nothing found is an answer, and `empty_because` explains it."""
        off = self._off_because()
        if off:
            return Recall(str(query), empty_because=off)
        question = asking.Question(query, limit, search, scope, user, session, kinds, where, as_of, deadline)
        answer, took = self._ask(question)
        self._writer.note(asking.receipt(answer, took, session, self.access, self._tools))
        self.bus.emit("memory:search", query=answer.query, results=len(answer), ids=[hit.record.id for hit in answer])
        return answer

    def context(
        self,
        query: str,
        *,
        budget: int = 1500,
        limit: int = 20,
        scope: str | None = None,
        user: str | None = None,
        session: str | None = None,
        kinds: Sequence[str] | None = None,
        where: Filter | None = None,
    ) -> Context:
        """The best hits as text for a prompt, at most `budget` tokens as counted on that text."""
        checks.whole(budget, "budget", 0, 10_000_000)
        answer = self.recall(query, limit=limit, scope=scope, user=user, session=session, kinds=kinds, where=where)
        self._writer.flush()
        return render.plain(answer, budget, self._tools.count_tokens)

    def get(self, id: str | int) -> Record:
        """One record, by id, short number, or a unique beginning or end of the id."""
        self._must_be_on()
        record = self._must_get(id)
        self.bus.emit("memory:read", id=record.id, kind=record.kind, size=len(record.text))
        return record

    def list(self, where: Filter | None = None, *, order: str = "at", limit: int = 100) -> builtins.list[Record]:
        """Records by filter, newest first; `order="-at"` gives the oldest first."""
        self._must_be_on()
        return self._tools.store.find(self._where(where), order_of(order), checks.whole(limit, "limit", 1, 1_000_000))

    def count(self, where: Filter | None = None) -> int:
        """How many there are."""
        self._must_be_on()
        return self._tools.store.count(self._where(where))

    def links(self, id: str | int) -> builtins.list[Link]:
        """The relations of a memory, to others that may be read."""
        self._must_be_on()
        return self._tools.store.links_of([self._must_get(id).id], Where(self.access))

    def timeline(
        self, around: str | int | datetime | None = None, *, limit: int = 20, where: Filter | None = None
    ) -> builtins.list[Record]:
        """Records in the order in which they happened, around a moment or a memory; the latest if neither is given."""
        self._must_be_on()
        limit = checks.whole(limit, "limit", 1, 10_000)
        moment = around if isinstance(around, datetime) or around is None else self._must_get(around).times.at
        return asking.timeline(moment, limit, self._where(where), self._tools.store)

    def history(self, id: str | int) -> builtins.list[Event]:
        """The journal of one memory, oldest first."""
        self._must_be_on()
        return asking.told(self._tools.store.journal(self._must_get(id).id), self._tools.store, Where(self.access))

    def explain(self, query: str, **arguments: Any) -> Recall:
        """A recall that is not logged and counts nothing, for looking at its trace."""
        off = self._off_because()
        return Recall(str(query), empty_because=off) if off else self._ask(asking.Question.of(query, arguments))[0]

    def why_not(self, id: str | int, query: str, **arguments: Any) -> str:
        """Why a memory is not among the hits: where it was lost, and the reason."""
        self._must_be_on()
        return asking.why_not(self._must_get(id), self.explain(query, **arguments), arguments.get("search", "memory"))

    # ------------------------------------------------------------ keeping

    def audit(self) -> Audit:
        """Verifies the journal's chain, its anchor, and that every record is the one last journalled."""
        self._must_look_after()
        return self._writer.audit()

    def status(self) -> dict[str, Any]:
        """What this memory is and holds."""
        return opening.status(self._tools.store, self.project, self.design, self.access, self._off_because())

    def backup(self, path: str | Path) -> Path:
        """An online copy of the whole store, verified after it was made."""
        self._must_look_after()
        self._writer.flush()
        target = Path(path).expanduser()
        self._tools.store.backup(target)
        return target

    def doctor(self) -> builtins.list[Finding]:
        """Looks for what is wrong, and says what to do about it."""
        self._must_look_after()
        audit = self._writer.audit()
        detail = f"{audit.events:,} events, {audit.records:,} records" if audit.ok else "; ".join(audit.problems[:5])
        advice = None if audit.ok else "somebody changed the file, or it is damaged: compare with a backup"
        return [*self._tools.store.checkup(), Finding(audit.ok, "journal", detail, advice)]

    def close(self) -> None:
        """Flushes what was only noted, writes the anchor, closes."""
        try:
            self._writer.close()
        finally:
            self._tools.store.close()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # ------------------------------------------------------------ what the verbs share

    def _must_get(self, id: str | int) -> Record:
        return reference.resolve(id, self._tools.store, Where(self.access))

    def _ask(self, question: asking.Question) -> tuple[Recall, float]:
        homes = tuple(dict.fromkeys((self.home, self.project.scope)))
        return asking.ask(question, self.access, homes, self.design, self._tools)

    def _edit(self, id: str | int, verb: str, edit: Callable[[Record], Record], because: str) -> Outcome:
        self._must_be_on()
        find = partial(self._must_get, id)
        return self._tell(change.edit(find, verb, edit, self.access, self._writer, self._tools, because))

    def _relate(
        self, a: str | int, b: str | int, kind: LinkKind, weight: float | None, evidence: str | None
    ) -> Outcome:
        self._must_be_on()
        store, find = self._tools.store, partial(self._both, a, b)
        return self._tell(change.relate(find, kind, self.access, self._writer, store, weight, evidence))

    def _both(self, a: str | int, b: str | int) -> tuple[Record, Record]:
        return self._must_get(a), self._must_get(b)

    def _where(self, filter: Filter | None) -> Where:
        """What is asked for; active records unless the filter speaks of states itself."""
        where = Where.of(self.access, filter)
        return where if where.speaks_of("state") else where.also("state", "eq", "active")

    def _must_be_on(self) -> None:
        off = self._off_because()
        if off:
            raise Refused(off)

    def _must_look_after(self) -> None:
        """The store as a whole is for those who work in it, not for readers and skills."""
        if self.access.role not in ("admin", "project"):
            raise OutOfScope(f"a {self.access.role} access may not look after the whole store; use a project's access")

    def _tell(self, outcome: Outcome) -> Outcome:
        if outcome.record is not None and outcome.outcome not in ("unchanged", "repeated"):
            facts = {"kind": outcome.record.kind, "scope": outcome.record.scope}
            self.bus.emit("memory:write", id=outcome.id, outcome=outcome.outcome, because=outcome.because, **facts)
        return outcome
