"""`Memory`: every verb a user can type, in reading order. This file is the table of contents of the engine.

    writing   remember, remember_many, revise, pin, unpin, tag, link, unlink, feedback, used, forget, restore, erase, undo
    reading   recall, context, receipt, get, list, count, links, timeline, history, explain, why_not
    keeping   upkeep, compact, audit, status, backup, doctor, through, close

The verbs are short because the work is elsewhere: the gate (`remember/gate.py`) stores, the pipeline (`recall/pipeline.py`)
finds, the store keeps; what all verbs share is in `opened.py`, the verbs that judge are in `judging.py` and those that keep
in `keeping.py`. A `Memory` is safe to share between threads; open a new one
after a fork.
"""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, overload

from memorist import checks, injecting
from memorist.errors import Invalid
from memorist.judging import Judging
from memorist.opened import Filter
from memorist.prompt.modes import Profile
from memorist.recall import lookup
from memorist.recall.query import Query, receipt_for
from memorist.recall.query import why_not as lost_at
from memorist.records import Context, Draft, Event, Link, LinkKind, Outcome, Recall, Record, Report
from memorist.remember import change, consent, drafts, erasing, gate, many, undoing, using
from memorist.store.where import Where, order_of

BATCH = 250  # drafts in one transaction of remember_many


class Memory(Judging):
    """A memory for agents: one store, one project, one access.

    >>> memory = Memory(":memory:")
    >>> memory.remember("Staging runs Postgres 16", kind="decision").outcome
    'added'
    >>> [hit.record.text for hit in memory.recall("which database does staging use?")]
    ['Staging runs Postgres 16']
    """

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
        """Keeps many, a few hundred in one transaction and all in one batch; what was stored before an error stays stored."""
        wanted = [drafts.draft_of(draft) for draft in many]
        off = self._off_because()
        if off:
            return [Outcome("refused", off) for _ in wanted]
        outcomes: builtins.list[Outcome] = []
        batch: str | None = None
        for start in range(0, len(wanted), BATCH):
            some = wanted[start : start + BATCH]
            policy = self.design.conflicts
            stored = gate.admit(some, self.access, self.home, self._tools, self._writer, batch, conflicts=policy)
            outcomes += [self._tell(outcome) for outcome in stored]
            batch = batch or next((outcome.batch for outcome in stored if outcome.batch), None)
        if len(wanted) > BATCH:
            self._tidy()
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
        tags: Sequence[str] | None = None,
        data: Mapping[str, Any] | None = None,
        used: bool = False,
        expected_version: int | None = None,
        because: str = "revised",
    ) -> Outcome:
        """Changes what is given. A new text keeps id, number and votes; the old one stays as a superseded record. With
        `used` it counts as used just now, as whoever corrects a memory used it."""
        self._must_be_on()
        changes = drafts.revision(
            self._tools.kinds, text=text, title=title, kind=kind, scope=scope, importance=importance,
            confidence=confidence, valid_from=valid_from, valid_to=valid_to, tags=tags, data=data,
        )  # fmt: skip
        find = partial(self._must_get, id)
        done = change.revise(find, changes, self.access, self._writer, self._tools, expected_version, because, used)
        return self._tell(done)

    def pin(self, id: str | int) -> Outcome:
        """Marks a memory as always important. The pin of what nobody vouches for counts once a person sets or confirms it."""
        by_a_person = self.access.origin == "user"

        def pin(record: Record) -> Record:
            confirms = by_a_person and record.trust == "low"
            return replace(record, pinned=True, status="confirmed" if confirms else record.status)

        return self._edit(id, "pinned", pin, "pinned")

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

    def used(self, receipt: str, answer: str | None = None, *, ids: Sequence[str | int] | None = None) -> Report:
        """Tells what of a context or a recall was used: the memories in `ids`, or those whose words are in the answer. Only
        use resets a memory's clock; it is counted once for each receipt."""
        self._must_be_on()
        named = None if ids is None else [self._must_get(id).id for id in checks.references(ids, "ids")]
        return self._tell_all(using.used(receipt, answer, named, self.access, self._writer, self._tools))

    @overload
    def forget(self, id: str | int, *, because: str = ...) -> Outcome: ...
    @overload
    def forget(self, *, where: Filter, dry_run: bool = ..., because: str = ...) -> Report: ...
    def forget(
        self,
        id: str | int | None = None,
        *,
        where: Filter | None = None,
        dry_run: bool = False,
        because: str = "forgotten on request",
    ) -> Outcome | Report:
        """Hides a memory, or all that fit a filter. They stay searchable in the archive and `restore` brings them back."""
        reason = checks.label(because, "the reason")
        archive = partial(many.archived, because=reason)
        if where is None and id is not None and not dry_run:
            return self._edit(id, "forgotten", archive, reason)
        self._must_be_on()
        chosen, ids = self._chosen(id, where, ("active",))
        sweep = many.Sweep("forgotten", archive, reason, chosen, self._writer, self._tools)
        if dry_run:
            return sweep.plan(ids)
        held = consent.to_clear("forget", chosen, ids, reason, self._writer, self._tools)
        return held or self._tell_all(sweep.apply(ids))

    def restore(self, id: str | int, *, because: str = "restored on request") -> Outcome:
        """Brings a forgotten memory back with everything it had."""
        return self._edit(id, "restored", many.brought_back, checks.label(because, "the reason"))

    def erase(
        self,
        id: str | int | None = None,
        *,
        where: Filter | None = None,
        dry_run: bool = False,
        because: str = "erased on request",
    ) -> Report:
        """Removes a memory and its past texts, or all that fit a filter, from every place they lie in. There is no undo."""
        self._must_be_on()
        reason = checks.label(because, "the reason")
        chosen, ids = self._chosen(id, where, ("active", "archived", "superseded"))
        if where is not None and not dry_run:
            held = consent.to_clear("erase", chosen, ids, reason, self._writer, self._tools)
            if held:
                return held
        return self._tell_all(erasing.erase(ids, reason, chosen, self._writer, self._tools, dry_run))

    def undo(self, batch: str | None = None) -> Report:
        """Takes back the last action of this actor, or the named batch: what was added is archived, what was changed is as
        it was. Whatever was changed again since is left alone, and named."""
        self._must_be_on()
        return self._tell_all(undoing.undo(batch, self.access, self._writer, self._tools))

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
        at: datetime | None = None,
        as_of: datetime | None = None,
        deadline: float | None = None,
        exact: bool = False,
        files: Sequence[str] = (),
    ) -> Recall:
        """Finds what matters for a question, best first. Nothing found is an answer, and `empty_because` explains it. `at` is
        the moment of asking, for "last week"; `exact` compares with every vector, where a large store would guess well;
        `files` are those being worked on, for designs that go by them."""
        off = self._off_because()
        if off:
            return Recall(str(query), empty_because=off)
        question = Query(query, limit, search, scope, user, session, kinds, where, as_of, deadline, at, exact, files)
        answer, took = self._ask(question)
        self._writer.note(receipt_for(answer, took, session, self.access, self._tools))
        self.bus.emit("memory:search", query=answer.query, results=len(answer), ids=[hit.record.id for hit in answer])
        return answer

    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        remaining: int | None = None,
        window: int | None = None,
        reserve: int | None = None,
        style: str | None = None,
        client: str | None = None,
        mode: str = "balanced",
        profile: str | Profile | None = None,
        inject: str | None = None,
        limit: int = 20,
        files: Sequence[str] = (),
        scope: str | None = None,
        user: str | None = None,
        session: str | None = None,
        task: str | None = None,
        kinds: Sequence[str] | None = None,
        where: Filter | None = None,
    ) -> Context:
        """What matters for a question as text for a prompt, within a budget that is counted on that text. A failing store
        gives an empty context that says why, never an error; wrong arguments do."""
        off = self._off_because()
        if off:
            return Context("", empty_because=off)
        question = Query(query, limit, "memory", scope, user, session, kinds, where, files=files, task=task)
        said = {
            "budget": budget, "remaining": remaining, "window": window, "reserve": reserve, "style": style,
            "client": client, "mode": mode, "profile": profile, "inject": inject,
        }  # fmt: skip
        return injecting.inject(self, injecting.plan_of(self, question, said), question)

    def receipt(self, id: str) -> Context:
        """What was put into a prompt under that receipt: the exact text, out of what, and what was left out."""
        self._must_be_on()
        return injecting.shown_again(self, id)

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
        return lookup.timeline(moment, limit, self._where(where), self._tools.store)

    def history(self, id: str | int) -> builtins.list[Event]:
        """The journal of one memory, oldest first."""
        self._must_be_on()
        return lookup.told(self._tools.store.journal(self._must_get(id).id), self._tools.store, Where(self.access))

    def explain(self, query: str, **arguments: Any) -> Recall:
        """A recall that is not logged and counts nothing, for looking at its trace."""
        off = self._off_because()
        return Recall(str(query), empty_because=off) if off else self._ask(Query.of(query, arguments))[0]

    def why_not(self, id: str | int, query: str, **arguments: Any) -> str:
        """Why a memory is not among the hits: where it was lost, and the reason."""
        self._must_be_on()
        return lost_at(self._must_get(id), self.explain(query, **arguments), arguments.get("search", "memory"))
