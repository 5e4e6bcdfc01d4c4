"""`Memory`: every verb a user can type, in reading order. This file is the table of contents of the engine.

    writing   remember, remember_many, revise, pin, unpin, tag, link, unlink, feedback, used, forget, restore, erase, undo
    judging   extract, promote, finish, conflicts, resolve, review, alias, aliases
    projects  projects, rename_project, merge_project
    reading   recall, context, receipt, get, list, count, links, timeline, history, explain, why_not
    keeping   assign, upkeep, rescan, compact, audit, status, backup, doctor, through, close

The verbs are short because the work is elsewhere: the gate (`remember/gate.py`) stores, the pipeline (`recall/pipeline.py`)
finds, `prompt/context.py` writes for a prompt, the store keeps. What all verbs share is in `engine.py`, `through` and `close`
included. A `Memory` is safe to share between threads; open a new one after a fork.
"""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from memorist import checks, prompt, recall, remember, upkeep
from memorist.engine import Engine, Filter, ends, over_at
from memorist.errors import Invalid, Refused, StoreDamaged, StoreUnavailable
from memorist.records import LIVING, Context, Draft, Event, Link, LinkKind, Outcome, Recall, Record, Report
from memorist.store.nouns import Diagnosis, parts
from memorist.store.open import noting_copy
from memorist.store.where import order_of

if TYPE_CHECKING:
    from memorist.prompt.modes import Profile
    from memorist.remember.conflicts import Dispute
    from memorist.remember.consent import Pending
    from memorist.remember.promotion import Weighed
    from memorist.store.checkouts import Holding
    from memorist.store.journal import Audit

BATCH = 250  # drafts in one transaction of remember_many


class Memory(Engine):
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
        home: str | None = None,
    ) -> Outcome:
        """Keeps one memory and says what became of it: added, reinforced, restored, repeated or refused."""
        scope = remember.gate.scope_of(scope, user)
        return self.remember_many(
            [Draft(text, kind, scope, title, tags, files, data or {}, importance, confidence, pinned, at, valid_from,
                   valid_to, session, role, speaker, agent, task, season, key, home=home)]
        )[0]  # fmt: skip

    def remember_many(self, many: Iterable[Draft | Mapping[str, Any] | str]) -> builtins.list[Outcome]:
        """Keeps many, a few hundred in one transaction and all in one batch; what was stored before an error stays stored."""
        wanted = [remember.gate.draft_of(draft) for draft in many]
        try:
            caller = self._caller
        except Refused as off:
            return [Outcome("refused", str(off)) for _ in wanted]
        outcomes: builtins.list[Outcome] = []
        batch: str | None = None
        for some in parts(wanted, BATCH):
            stored = remember.gate.admit(some, caller, self.home, batch, policy=self.design.conflicts)
            outcomes += map(self._tell, stored)
            batch = next((outcome.batch for outcome in outcomes if outcome.batch), None)
        while len(wanted) > BATCH and caller.store.tidy():
            pass
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
        `used` it counts as used just now, because to correct a memory is to use it."""
        caller = self._caller
        changes = remember.edit.revision(
            caller.tools.kinds, text=text, title=title, kind=kind, scope=scope, importance=importance,
            confidence=confidence, valid_from=valid_from, valid_to=valid_to, tags=tags, data=data,
        )  # fmt: skip
        find = partial(self._must_get, id)
        return self._tell(remember.edit.revise(find, changes, caller, expected_version, because, used))

    def pin(self, id: str | int) -> Outcome:
        """Marks a memory as always important. What the user pins is the user's word; the pin of what nobody vouches for does
        not count until then. A turn is never pinned."""
        caller = self._caller

        def pin(record: Record) -> Record:
            remember.authority.refuse_pinned_turn(caller.tools.kinds[record.kind], True)
            said = remember.authority.users_word(record) if caller.access.origin == "user" else record
            return replace(said, pinned=True)

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
        return self._tell(remember.edit.vote(partial(self._must_get, id), verdict, self._caller))

    def used(self, receipt: str, answer: str | None = None, *, ids: Sequence[str | int] | None = None) -> Report:
        """Tells what of a context or a recall was used: the memories in `ids`, or those whose words are in the answer. Only
        use resets a memory's clock; it is counted once for each receipt."""
        caller = self._caller
        named = None if ids is None else [self._must_get(id).id for id in checks.references(ids, "ids")]
        return self._tell_all(remember.edit.use(receipt, answer, named, caller))

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
        """Hides a memory, or all that match a filter. They stay searchable in the archive and `restore` brings them back."""
        reason = checks.label(because, "the reason")
        archive = partial(remember.edit.archived, because=reason)
        if where is None and id is not None and not dry_run:
            return self._edit(id, "forgotten", archive, reason)
        caller = self._caller
        chosen, ids = self._chosen(id, where, ("active",))
        sweep = remember.edit.Sweep("forgotten", archive, reason, chosen, caller)
        if dry_run:
            return sweep.plan(ids)
        by = remember.consent.to_clear("forget", chosen, ids, reason, caller)
        return by if isinstance(by, Report) else self._tell_all(replace(sweep, by=by).apply_or_ask(ids))

    def restore(self, id: str | int, *, because: str = "restored on request") -> Outcome:
        """Brings a forgotten memory back with everything it had."""
        return self._edit(id, "restored", remember.edit.brought_back, checks.label(because, "the reason"))

    def erase(
        self,
        id: str | int | None = None,
        *,
        where: Filter | None = None,
        dry_run: bool = False,
        derived: str = "erase",
        because: str = "erased on request",
    ) -> Report:
        """Removes a memory and its past texts, or all that match a filter, from every place they lie in, and what was derived
        from it; with `derived="list"` that is only named. There is no undo."""
        caller, reason = self._caller, checks.label(because, "the reason")
        chosen, ids = self._chosen(id, where, LIVING)
        if where is not None and not dry_run:
            by = remember.consent.to_clear("erase", chosen, ids, reason, caller, derived=derived)
            if isinstance(by, Report):
                return by
            caller = by
        return self._tell_all(remember.erase.erase(ids, reason, chosen, caller, dry_run, derived))

    def undo(self, batch: str | None = None) -> Report:
        """Takes back the last action of this actor, or the named batch: what was added is archived, what was changed is as
        it was. What was changed again since is left alone, and named."""
        return self._shown(self._tell_all(remember.undo.undo(batch, self._caller)))

    # ------------------------------------------------------------ judging

    def extract(
        self,
        text: str,
        *,
        session: str | None = None,
        agent: str | None = None,
        role: str | None = None,
        message: int | None = None,
    ) -> builtins.list[Outcome]:
        """Keeps what rules find in a text, at most eight findings of a message, as candidates in the scope of its session.
        What is found is a piece of the text; `promote` decides what becomes a memory of the project."""
        found = remember.promotion.keep(text, session, agent, role, message, self._caller, self.home)
        return [self._tell(outcome) for outcome in found]

    def promote(
        self,
        id: str | int | None = None,
        *,
        scope: str | None = None,
        dry_run: bool = False,
        because: str = "promoted on request",
        deadline: float | None = None,
    ) -> "Outcome | builtins.list[Weighed]":
        """Moves a memory to its project, or to `scope`; into global a person has to agree, and the user's own word confirms
        it too. Without an id the findings of the project are weighed: by the design, they are shown with their points,
        asked about, or moved as candidates; after `deadline` seconds, the rest waits for the next time."""
        caller, reason = self._caller, checks.label(because, "the reason")
        target, dry_run = self.home if scope is None else scope, checks.flag(dry_run, "dry_run")
        if id is not None and dry_run:
            raise Invalid("dry_run weighs findings without promoting any; leave the id out")
        if id is not None:
            find = partial(self._must_get, id)
            return self._tell(remember.promotion.promote(find, target, reason, caller))
        caller = replace(caller, tools=replace(caller.tools, over=over_at(ends(deadline))))
        found, report = remember.promotion.all_of(self.design.promotion, target, caller, dry_run)
        if report is not None:
            self._tell_all(report)
        return found

    def finish(
        self, scope: str, outcome: str = "done", *, keep: Sequence[str | int] = (), dry_run: bool = False
    ) -> Report:
        """Ends a task or a session: what `keep` names and what is pinned moves to the project, the rest goes to the archive.
        What `extract` found waits on to be promoted. One `undo` takes it back."""
        caller, said = self._caller, checks.label(outcome, "the outcome")
        named = [self._must_get(id) for id in checks.references(keep, "keep")]
        flag = checks.flag(dry_run, "dry_run")
        return self._tell_all(remember.promotion.finish(scope, said, named, self.home, caller, flag))

    def conflicts(self, where: Filter | None = None, *, limit: int = 50) -> "builtins.list[Dispute]":
        """Pairs of active memories that contradict each other, the newest first, until `resolve` says which one holds. A
        filter must match both."""
        store, limit = self._caller.store, checks.whole(limit, "limit", 1, 10_000)
        return remember.conflicts.disputes(self._where(where).also("state", "eq", "active"), limit, store)

    def resolve(self, a: str | int, b: str | int, keep: str | int, *, because: str = "resolved on request") -> Outcome:
        """Closes a conflict: `keep` is "a", "b", "both", or one of the two by its number or id. The other one is superseded,
        and found by `as_of` and in the archive only; a memory that was superseded by mistake comes back this way."""
        find = partial(self._both, a, b)
        return self._tell(remember.conflicts.resolve(find, keep, because, self._caller))

    def review(
        self, id: str | None = None, *, decide: str | None = None
    ) -> "builtins.list[Pending] | Outcome | Report":
        """What waits for a person, oldest first, or one question of it; with `decide="approve"` what it asks for is done, as
        the act of the person who approves, and with `decide="deny"` it is dropped. Only a person's access approves."""
        caller = self._caller
        if decide is not None and id is None:
            raise Invalid("name the question to decide, such as 'q3'; review() lists them")
        if id is None:
            return remember.consent.waiting(self.access, caller.store)
        if decide is None:
            return [remember.consent.shown(remember.consent.find(id, self.access, caller.store))]
        done = remember.review.decide(id, decide, caller)
        return self._tell(done) if isinstance(done, Outcome) else self._tell_all(done)

    def alias(self, word: str, *means: str, remove: bool = False) -> Outcome:
        """Lets a word also find others, in this project and for designs that use aliases. With `remove` these are taken
        away again; without any named, all of them, and what the word means by default."""
        caller, words = self._caller, remember.choices
        change = words.remove if checks.flag(remove, "remove") else words.add
        return change(word, means, self._choosing, caller)

    def aliases(self) -> dict[str, tuple[str, ...]]:
        """The words that also find others, in this project: its own, and the usual ones that it has not replaced."""
        from memorist.recall.stages.words import effective

        return effective(self._choices().aliases)

    # ------------------------------------------------------------ projects

    def projects(self) -> "builtins.list[Holding]":
        """The projects that may be read, with how many memories each has; this one first, then by name."""
        return self._projects()

    def rename_project(
        self, old: str, new: str, *, dry_run: bool = False, because: str = "renamed on request"
    ) -> Report:
        """Gives a project another name, which no project may have yet. Its folder is known under that name from now on."""
        caller, reason = self._caller, checks.label(because, "the reason")
        return self._moved(remember.move.rename(old, new, reason, caller, checks.flag(dry_run, "dry_run")))

    def merge_project(
        self, old: str, new: str | None = None, *, dry_run: bool = False, because: str = "merged on request"
    ) -> Report:
        """Adds the memories of a project to another one, or to this one. What is said there already is not doubled."""
        caller, reason = self._caller, checks.label(because, "the reason")
        into = self.project.scope if new is None else new
        return self._moved(remember.move.merge(old, into, reason, caller, checks.flag(dry_run, "dry_run")))

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
        asked = recall.pipeline.Query(
            query, limit=limit, search=search, scope=scope, user=user, session=session, kinds=kinds, where=where,
            at=at, as_of=as_of, deadline=deadline, exact=exact, files=files,
        )  # fmt: skip
        return self._answer(asked, logged=True)

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
        profile: "str | Profile | None" = None,
        inject: str | None = None,
        limit: int = 20,
        files: Sequence[str] = (),
        scope: str | None = None,
        user: str | None = None,
        session: str | None = None,
        task: str | None = None,
        kinds: Sequence[str] | None = None,
        where: Filter | None = None,
        deadline: float | None = None,
    ) -> Context:
        """What matters for a question as text for a prompt, within a budget that is counted on that text. A failing store
        gives an empty context that says why, never an error; wrong arguments do. `deadline` is for all of it, in seconds."""
        return self._context(
            prompt.context.Wish(query, limit, files, scope, user, session, task, kinds, where, budget, remaining, window,
                                reserve, style, client, mode, profile, inject, deadline)
        )  # fmt: skip

    def receipt(self, id: str) -> Context:
        """What was put into a prompt under that receipt: the exact text, out of what, and what was left out."""
        caller = self._caller
        caller.writer.flush()
        line = remember.edit.receipt_of(id, self.access, caller.store)
        return prompt.context.shown_again(line, caller.store, caller.where)

    def get(self, id: str | int) -> Record:
        """One record, by id, short number, or a unique beginning or end of the id."""
        record = self._must_get(id)
        self.bus.emit(
            "memory:read", [(record.scope, record.home)], id=record.id, kind=record.kind, size=len(record.text)
        )
        return record

    def list(self, where: Filter | None = None, *, order: str = "at", limit: int = 100) -> builtins.list[Record]:
        """Records by filter, newest first; `order="-at"` gives the oldest first."""
        store, limit = self._caller.store, checks.whole(limit, "limit", 1, 1_000_000)
        return store.find(self._where(where), order_of(order), limit)

    def count(self, where: Filter | None = None) -> int:
        """How many there are."""
        return sum(self._caller.store.count(self._where(where)).values())

    def links(self, id: str | int) -> builtins.list[Link]:
        """The relations of a memory, to others that may be read."""
        caller = self._caller
        return caller.store.links(caller.where, [self._must_get(id).id])

    def timeline(
        self, around: str | int | datetime | None = None, *, limit: int = 20, where: Filter | None = None
    ) -> builtins.list[Record]:
        """Records in the order in which they happened, around a moment or a memory; the latest if neither is given."""
        store, limit = self._caller.store, checks.whole(limit, "limit", 1, 10_000)
        moment = around if isinstance(around, datetime) or around is None else self._must_get(around).times.at
        return recall.lookup.timeline(moment, limit, self._where(where), store)

    def history(self, id: str | int) -> builtins.list[Event]:
        """The journal of one memory, oldest first."""
        caller = self._caller
        return recall.lookup.told(self._must_get(id), caller.store, caller.where)

    def explain(self, query: str, **arguments: Any) -> Recall:
        """A recall that is not logged and counts nothing, for looking at its trace."""
        return self._answer(recall.pipeline.Query.of(query, arguments))

    def why_not(self, id: str | int, query: str, **arguments: Any) -> str:
        """Why a memory is not among the hits: where it was lost, and the reason."""
        record, answer = self._must_get(id), self.explain(query, **arguments)
        return recall.pipeline.why_not(record, answer, arguments.get("search", "memory"))

    # ------------------------------------------------------------ keeping

    def assign(self, scope: str, project: str) -> Report:
        """Gives the memories of a task, a session or an agent that belong to no project to this one. Only a store from before
        0.2.0 has any, where two projects used the same name; `doctor` lists them. It takes an admin's access."""
        return self._tell_all(remember.homes.assign(scope, project, self._caller))

    def upkeep(
        self, *, dry_run: bool = False, seconds: float | None = None, switch: bool = False
    ) -> builtins.list[Report]:
        """Runs what the design keeps in order, in short steps that can be interrupted; one report per job. Before it come the
        vectors that are missing; `switch` moves the store to this memory's embedder, also back to one it has left."""
        caller = self._caller
        limit = None if seconds is None else checks.seconds(seconds, "seconds")
        reports = upkeep.runner.run(upkeep.runner.jobs_of(self.design), caller, dry_run, limit, switch)
        return [self._shown(self._tell_all(report)) for report in reports]

    def rescan(self, *, dry_run: bool = False) -> Report:
        """Replaces the secrets that today's rules find in what is stored, past texts and the journal included, and wipes them
        from the files. A dry run says which memories hold one, and what kind. There is no undo."""
        caller = self._caller
        caller.access.over_the_space(caller.access.surface)
        self._must_have_own_rules()
        return self._tell_all(remember.rescan.rescan(caller, checks.flag(dry_run, "dry_run")))

    def compact(self) -> dict[str, int]:
        """Shrinks the file to what it holds, and finishes an erasure that was interrupted. → bytes before and after."""
        keeper = self._keeper
        store, erase = keeper.store, remember.erase
        keeper.writer.flush()
        before = store.size().bytes
        store.compact()
        left = "; ".join(erase.finish(keeper))
        if erase.checked(store, self.space):
            raise StoreUnavailable(f"the file was compacted, but an erasure is not finished: {left}")
        return {"before": before, "after": store.size().bytes}

    def audit(self) -> "Audit":
        """Verifies the journal's chain, its anchor, and that every record is the one last journalled."""
        return self._keeper.writer.audit()

    def status(self) -> dict[str, Any]:
        """What this memory is and holds."""
        return self._facts()

    def backup(self, path: str | Path) -> Path:
        """An online copy of the whole store, verified after it was made."""
        keeper, target = self._keeper, Path(path).expanduser()
        keeper.writer.flush()
        with noting_copy(keeper.store, target):
            keeper.store.backup(target)
        return target

    def doctor(self, *, repair: bool = False) -> builtins.list[Diagnosis]:
        """Looks for what is wrong, and says what to do about it. `repair` rebuilds the index where it is wrong."""
        keeper, store = self._keeper, self._tools.store
        found = store.checkup(repair)
        audit = keeper.writer.audit()
        detail = f"{audit.events:,} events, {audit.records:,} records" if audit.ok else "; ".join(audit.problems[:5])
        found += remember.erase.checked(store, self.space)
        found += remember.consent.checked(store, self.space)
        with suppress(StoreDamaged):  # which the first checks have told
            found += remember.homes.checked(keeper)
        found += [Diagnosis(False, "settings", problem, "mend it, or take it out") for problem in self._problems]
        return [*found, Diagnosis(audit.ok, "journal", detail, audit.advice)]
