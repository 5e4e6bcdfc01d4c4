"""`Memory`: every verb a user can type, in reading order. This file is the table of contents of the engine.

    writing   remember, remember_many, revise, pin, unpin, tag, feedback, used, forget, restore, erase, undo
    judging   extract, promote, finish, conflicts, resolve, review, alias, aliases
    projects  projects, rename_project, merge_project
    reading   recall, context, receipt, get, list, count, timeline, history, log, explain, why_not, gaps
    keeping   assign, upkeep, rescan, compact, audit, status, backup, doctor, through, close

The verbs are short because the work is elsewhere: the gate (`remember/gate.py`) stores, the pipeline (`recall/pipeline.py`)
finds, `prompt/context.py` writes for a prompt, the store keeps. What all verbs share is in `engine.py`, `through` and `close`
included; `conversation.py` has the verbs about conversations: session, sessions, ingest; `association.py` those about how
memories hang together: link, unlink, links, related, path, similar. A `Memory` is safe to share between threads; open a new one
after a fork.
"""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from memorist import checks, recall, remember, upkeep
from memorist.association import Association
from memorist.conversation import Messages
from memorist.design import Inject
from memorist.engine import Filter, ends, over_at
from memorist.errors import Invalid, StoreDamaged, StoreUnavailable
from memorist.kinds import KindName
from memorist.records import (
    LIVING,
    Context,
    Draft,
    Event,
    Moment,
    Outcome,
    Recall,
    Record,
    Reference,
    Report,
    SearchName,
)
from memorist.setup import must_hold
from memorist.store.nouns import Diagnosis
from memorist.store.open import noting_copy
from memorist.store.where import order_of

if TYPE_CHECKING:
    from memorist.prompt.modes import Profile, ProfileName
    from memorist.remember.conflicts import Dispute
    from memorist.remember.consent import Pending
    from memorist.remember.gaps import Gap
    from memorist.remember.promotion import Weighed
    from memorist.store.checkouts import Holding
    from memorist.store.journal import Audit

Role = Literal["user", "assistant", "system", "tool"] | str


class Memory(Association):
    """A memory for agents: one store, one project, one access.

    >>> memory = Memory(":memory:")
    >>> memory.remember("Staging runs Postgres 16", kind="decision").outcome
    'added'
    >>> [hit.text for hit in memory.recall("which database does staging use?")]
    ['Staging runs Postgres 16']

    path: the store's file, or ":memory:"; the user's own store without it · project: a name; that of this folder without it
    space: a part of the store that no other part sees · access: what may be read and written, instead of the usual rights
    design: how memories are found and kept, by name or as a `Design` · kinds: kinds of your own
    embed: "layered", "static", "none", "onnx:FOLDER", the address of a server, or an object
    rerank: a second opinion on the hits: "onnx:FOLDER", a cross-encoder, or a function; "none" for none
    chat: a language model for what rules do otherwise: a server's address, or an object with a name and answer(prompt, seconds)
    confirm: is asked what a person has to agree to · wait: seconds to wait for another writer
    clock, count_tokens: the time now, and how many tokens a text has

    In every verb: `id` (or `a`, `b`) is a memory's number, its id, a unique beginning or end of the id, or the hit,
    record or outcome that a verb gave. A time is a datetime, a date, or a text in ISO form; without a zone it is local
    time, and a date is the beginning of that day. A scope is "global", or a name and an id such as "project/atlas" or
    "user/ann". `where` is a filter such as {"kind": "decision", "importance": {"$gte": 0.7}}. `because` is the reason,
    for the journal. `dry_run` only shows what would happen. `limit` is how many at most.
    """

    # ------------------------------------------------------------ writing

    @overload
    def remember(
        self, text: str, *, kind: KindName = ..., scope: str | None = ..., title: str | None = ...,
        tags: Sequence[str] = ..., files: Sequence[PathLike[str] | str] = ..., data: Mapping[str, Any] | None = ...,
        importance: float | None = ..., confidence: float | None = ..., pinned: bool = ..., at: Moment | None = ...,
        valid_from: Moment | None = ..., valid_to: Moment | None = ..., user: str | None = ..., session: str | None = ...,
        role: Role | None = ..., speaker: str | None = ..., agent: str | None = ..., task: str | None = ...,
        season: str | None = ..., key: str | None = ..., home: str | None = ...,
    ) -> Outcome: ...  # fmt: skip
    @overload
    def remember(
        self, text: Messages, *, session: str, scope: str | None = ..., user: str | None = ..., title: str | None = ...,
        tags: Sequence[str] = ..., files: Sequence[PathLike[str] | str] = ..., data: Mapping[str, Any] | None = ...,
        at: Moment | None = ..., speaker: str | None = ..., agent: str | None = ..., task: str | None = ...,
        season: str | None = ..., key: str | None = ..., home: str | None = ...,
    ) -> "builtins.list[Outcome]": ...  # fmt: skip
    def remember(
        self, text: str | Messages, *, kind: KindName = "fact", scope: str | None = None, title: str | None = None,
        tags: Sequence[str] = (), files: Sequence[PathLike[str] | str] = (), data: Mapping[str, Any] | None = None,
        importance: float | None = None, confidence: float | None = None, pinned: bool = False, at: Moment | None = None,
        valid_from: Moment | None = None, valid_to: Moment | None = None, user: str | None = None,
        session: str | None = None, role: Role | None = None, speaker: str | None = None, agent: str | None = None,
        task: str | None = None, season: str | None = None, key: str | None = None, home: str | None = None,
    ) -> "Outcome | builtins.list[Outcome]":  # fmt: skip
        """Keeps one memory, and says what became of it: added, reinforced, restored, repeated, refused or needs_consent. The
        outcome is false if it was refused or waits for a person; its `advice` tells of secrets that were replaced.

        text: what to remember; or chat messages {"role": …, "content": …}, kept as the turns of `session`: then the
            answer is a list of outcomes, one for each turn, and each gets a `key` of its own
        kind: what it is; help(memorist.kinds) lists the kinds · title: a title
        scope: where it goes; the project without it · user: short for a user's scope, "ann" for "user/ann"
        tags, files: words to find it by, and the files it is about, as texts or Paths
        data: your own structure, as for JSON; times in it become texts
        importance, confidence: from 0 to 1; the kind's own importance, and 1, without them
        pinned: whether it is always important
        at: when it happened; now without it · valid_from, valid_to: from when and until when it holds
        session, role, speaker, agent, task: the conversation, and who said it there; the agent and the task it came from
        season: a phase of the project it belongs to
        key: an idempotency key; the same draft with the same key is stored once
        home: the project that a task, a session or an agent belongs to; this one without it
        """
        draft = Draft(
            cast(str, text), kind, remember.gate.scope_of(scope, user), title, tags, files, data or {}, importance, confidence,
            pinned, at, valid_from, valid_to, session, role, speaker, agent, task, season, key, home=home,
        )  # fmt: skip
        if remember.turns.is_conversation(text):
            return self._turns(remember.turns.turns_of(text, draft))
        return self.remember_many([draft])[0]

    def remember_many(self, many: Iterable[Draft | Mapping[str, Any] | str]) -> builtins.list[Outcome]:
        """Keeps many, a few hundred in one transaction and all in one batch; what was stored before an error stays stored.

        many: texts, `Draft`s, or dicts of the arguments of `remember`; an error names the draft by its place
        """
        return self._admit(remember.gate.drafts_of(many))

    def revise(
        self, id: Reference, text: str | None = None, *, title: str | None = None, kind: KindName | None = None,
        scope: str | None = None, importance: float | None = None, confidence: float | None = None,
        valid_from: Moment | None = None, valid_to: Moment | None = None, tags: Sequence[str] | None = None,
        data: Mapping[str, Any] | None = None, used: bool = False, expected_version: int | None = None,
        because: str = "revised",
    ) -> Outcome:  # fmt: skip
        """Changes what is given. A new text keeps id, number and votes; the old one stays as a superseded record.

        id: the memory · text: its new text
        title, kind, scope, importance, confidence, valid_from, valid_to, data: as in `remember`
        tags: those that replace the tags it has
        used: whether it counts as used just now, because to correct a memory is to use it
        expected_version: the version it must still have · because: the reason, for the journal
        """
        caller = self._caller
        changes = remember.edit.revision(
            caller.tools.kinds, text=text, title=title, kind=kind, scope=scope, importance=importance,
            confidence=confidence, valid_from=valid_from, valid_to=valid_to, tags=tags, data=data,
        )  # fmt: skip
        find = partial(self._must_get, id)
        return self._tell(remember.edit.revise(find, changes, caller, expected_version, because, used))

    def pin(self, id: Reference) -> Outcome:
        """Marks the memory `id` as always important. What the user pins is the user's word; the pin of what nobody vouches for
        does not count until then. A turn is never pinned."""
        caller = self._caller

        def pin(record: Record) -> Record:
            remember.authority.refuse_pinned_turn(caller.tools.kinds[record.kind], True)
            said = remember.authority.users_word(record) if caller.access.origin == "user" else record
            return replace(said, pinned=True)

        return self._edit(id, "pinned", pin, "pinned")

    def unpin(self, id: Reference) -> Outcome:
        """Takes that mark away from the memory `id`."""
        return self._edit(id, "unpinned", lambda record: replace(record, pinned=False), "unpinned")

    def tag(self, id: Reference, *tags: str, remove: Sequence[str] = ()) -> Outcome:
        """Adds `tags` to the memory `id`, and removes those in `remove`."""
        added, gone = checks.labels(tags, "tags"), set(checks.labels(remove, "tags"))
        if not added and not gone:
            raise Invalid("no tag was given; name the tags to add or to remove")

        def retag(record: Record) -> Record:
            kept = [tag for tag in dict.fromkeys((*record.tags, *added)) if tag not in gone]
            return replace(record, tags=checks.labels(kept, "tags"))

        return self._edit(id, "tagged", retag, "tagged")

    def feedback(
        self, id: Reference, verdict: Literal["useful", "irrelevant", "wrong"], *, receipt: str | None = None
    ) -> Outcome:
        """Tells how the recalled memory `id` did. Useful is a vote for it, wrong one against it, and irrelevant a small one. With
        a receipt it is about that question: like ones in this project are answered accordingly, and only wrong is a vote too.

        id: the memory; it need not have been among the hits · verdict: how it did
        receipt: of the context or the recall whose question is meant
        """
        done = remember.edit.feedback(partial(self._must_get, id), verdict, receipt, self._caller)
        if receipt is not None and (verdict, done.outcome) == ("useful", "changed") and done.id:
            self._credit(receipt, [done.id], done.batch)
        return self._tell(done)

    def used(self, receipt: str, answer: str | None = None, *, ids: Sequence[Reference] | None = None) -> Report:
        """Tells what of a context or a recall was used. Use starts a memory's clock again, and says a little about the question;
        it is counted once for each receipt.

        receipt: of the context or the recall · answer: what the model said; memories whose words are in it were used
        ids: the memories that were used, where you know
        """
        caller = self._caller
        named = None if ids is None else [self._must_get(id).id for id in checks.references(ids, "ids")]
        done = self._tell_all(remember.edit.use(receipt, answer, named, caller))
        self._credit(receipt, [each.id for each in done.changed], done.batch)
        return done

    @overload
    def forget(self, id: Reference, *, expected_version: int | None = ..., because: str = ...) -> Outcome: ...
    @overload
    def forget(self, *, where: Filter, dry_run: bool = ..., because: str = ...) -> Report: ...
    def forget(
        self,
        id: Reference | None = None,
        *,
        where: Filter | None = None,
        dry_run: bool = False,
        expected_version: int | None = None,
        because: str = "forgotten on request",
    ) -> Outcome | Report:
        """Hides the memory `id`, or all that match the filter `where`. They stay searchable in the archive, and `restore` brings
        them back. With `dry_run` nothing happens; `expected_version` is the version that the memory must still have; `because`
        is the reason, for the journal."""
        reason = checks.label(because, "the reason")
        if where is not None and expected_version is not None:
            raise Invalid("expected_version is of one memory; name it by its id, and leave the filter out")
        archive = partial(remember.edit.archived, because=reason, version=expected_version)
        if where is None and id is not None and not dry_run:
            return self._edit(id, "forgotten", archive, reason)
        caller = self._caller
        chosen, ids = self._chosen(id, where, ("active",))
        sweep = remember.edit.Sweep("forgotten", archive, reason, chosen, caller)
        if dry_run:
            return sweep.plan(ids)
        by = remember.consent.to_clear("forget", chosen, ids, reason, caller)
        return by if isinstance(by, Report) else self._tell_all(replace(sweep, by=by).apply_or_ask(ids))

    def restore(self, id: Reference, *, because: str = "restored on request") -> Outcome:
        """Brings the forgotten memory `id` back with everything it had; `because` is the reason, for the journal."""
        back = partial(remember.edit.brought_back, store=self._tools.store)
        return self._edit(id, "restored", back, checks.label(because, "the reason"))

    def erase(
        self,
        id: Reference | None = None,
        *,
        where: Filter | None = None,
        dry_run: bool = False,
        derived: Literal["erase", "list"] = "erase",
        because: str = "erased on request",
    ) -> Report:
        """Removes a memory and its past texts from every place they lie in. There is no undo.

        id, where: the memory; or a filter for several · dry_run: whether to show only what would go
        derived: what happens to what was made of it; "list" only names it · because: the reason, for the journal
        """
        caller, reason = self._caller, checks.label(because, "the reason")
        chosen, ids = self._chosen(id, where, LIVING)
        if where is not None and not dry_run:
            by = remember.consent.to_clear("erase", chosen, ids, reason, caller, derived=derived)
            if isinstance(by, Report):
                return by
            caller = by
        return self._tell_all(remember.erase.erase(ids, reason, chosen, caller, dry_run, derived))

    def undo(self, batch: str | None = None) -> Report:
        """Takes back the last action of this actor, or the `batch` that an outcome or a report names: what was added is
        archived, what was changed is as it was. What was changed again since is left alone, and named."""
        return self._shown(self._tell_all(remember.undo.undo(batch, self._caller)))

    # ------------------------------------------------------------ judging

    def extract(
        self,
        text: str | Messages,
        *,
        session: str | None = None,
        agent: str | None = None,
        role: Role | None = None,
        message: int | None = None,
    ) -> builtins.list[Outcome]:
        """Keeps what rules find in a text, at most eight findings of a message, as candidates in the scope of its session.
        What is found is a piece of the text; where `chat` names a model, it reads what was said instead. `promote` decides what
        becomes a memory of the project. Under a design that promotes directly they are candidates of the project at once.

        text: what was said; or chat messages as in `remember`, each with its own role, and one `undo` for all of them
        session: where; it must be named · agent: whose text it is · role: of the speaker
        message: the number of the message in its session; of several, of the first
        """
        mode, caller, home = self.design.promotion.mode, self._caller, self._place(session)
        outcomes: builtins.list[Outcome] = []
        pieces = remember.turns.pieces_of(text, role, message)
        heard = [remember.promotion.Overheard(said, who, agent, number, caller) for who, said, number in pieces]
        if session is not None and caller.tools.chat.ready and remember.promotion.looks(home, caller):
            heard = remember.distil.together(heard, home, caller)
        for each in heard:
            batch = next((outcome.batch for outcome in outcomes if outcome.batch), None)
            outcomes += remember.promotion.keep_all([each], session, home, mode, batch)
        return [self._tell(outcome) for outcome in outcomes]

    def promote(
        self,
        id: Reference | None = None,
        *,
        scope: str | None = None,
        dry_run: bool = False,
        because: str = "promoted on request",
        deadline: float | None = None,
    ) -> "Outcome | builtins.list[Weighed]":
        """Moves a memory to its project; into global a person has to agree, and the user's own word confirms it too. Without
        an id the findings of the project are weighed: by the design, they are shown with their points, asked about, or
        moved as candidates.

        id: the memory · scope: where it moves; the project without it, or the user whose session it is from
        because: the reason, for the journal · dry_run: whether findings are only weighed
        deadline: seconds after which the rest waits for the next time
        """
        caller, reason = self._caller, checks.label(because, "the reason")
        dry_run, home = checks.flag(dry_run, "dry_run"), self.home if scope is None else scope
        if id is not None and dry_run:
            raise Invalid("dry_run weighs findings without promoting any; leave the id out")
        if id is not None:
            target = self._place_after(self._must_get(id).scope) if scope is None else scope
            return self._tell(remember.promotion.promote(partial(self._must_get, id), target, reason, caller))
        caller = replace(caller, tools=replace(caller.tools, over=over_at(ends(deadline))))
        found, report = remember.promotion.all_of(self.design.promotion, home, caller, dry_run)
        if report is not None:
            self._tell_all(report)
        return found

    def finish(
        self, scope: str, outcome: str = "done", *, keep: Sequence[Reference] = (), dry_run: bool = False
    ) -> Report:
        """Ends a task or a session: what is kept or pinned, and a session's summary, moves to the project, the rest goes to the
        archive. What `extract` found waits on to be promoted. One `undo` takes it back.

        scope: what ends, such as "task/42" · outcome: how it ended, in a word · keep: memories that move to the project
        dry_run: whether to show only what would happen
        """
        caller, said = self._caller, checks.label(outcome, "the outcome")
        named = [self._must_get(id) for id in checks.references(keep, "keep")]
        flag = checks.flag(dry_run, "dry_run")
        home = self._place_after(scope)
        return self._tell_all(remember.promotion.finish(scope, said, named, home, caller, flag))

    def conflicts(self, where: Filter | None = None, *, limit: int = 50) -> "builtins.list[Dispute]":
        """Pairs of active memories that contradict each other, the newest first, until `resolve` says which one holds. The
        filter `where` must match both; `limit` is how many pairs at most."""
        store, limit = self._caller.store, checks.whole(limit, "limit", 1, 10_000)
        return remember.conflicts.disputes(self._where(where).also("state", "eq", "active"), limit, store)

    def resolve(self, a: Reference, b: Reference, keep: Reference, *, because: str = "resolved on request") -> Outcome:
        """Closes the conflict of `a` and `b`: `keep` is "a", "b", "both", or one of the two by its number or id. The other one
        is superseded, and found by `as_of` and in the archive only; a memory that was superseded by mistake comes back this
        way. `because` is the reason, for the journal."""
        find = partial(self._both, a, b)
        return self._tell(remember.conflicts.resolve(find, checks.named(keep), because, self._caller))

    def review(
        self, id: str | None = None, *, decide: Literal["approve", "deny"] | None = None
    ) -> "builtins.list[Pending] | builtins.list[Outcome | Report] | Outcome | Report":
        """What waits for a person, oldest first, or the one question `id`; with `decide="approve"` what it asks for is done, as
        the act of the person who approves, and with `decide="deny"` it is dropped. Only a person's access approves. The id
        `all` decides every question; that of a batch confirms what an import brought, or puts it away."""
        caller = self._caller
        if remember.review.is_batch(id):
            return self._tell_all(remember.review.decide_batch(str(id), decide, caller))
        if id == "all" and decide is not None:
            return [self._told(done) for done in remember.review.decide_all(decide, caller)]
        if decide is not None and id is None:
            raise Invalid("name the question to decide, such as 'q3', or 'all'; `review` lists them")
        if id in (None, "all"):
            return remember.consent.waiting(self.access, caller.store)
        if decide is None:
            return [remember.consent.shown(remember.consent.find(id, self.access, caller.store))]
        return self._told(remember.review.decide(id, decide, caller))

    def alias(self, word: str, *means: str, remove: bool = False) -> Outcome:
        """Lets a `word` also find what it `means`, in this project and for designs that use aliases. With `remove` these are
        taken away again; without any named, all of them, and what the word means by default."""
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
        """Gives the project `old` the name `new`, which no project may have yet. Its folder is known under that name from now
        on. With `dry_run` nothing happens; `because` is the reason, for the journal."""
        caller, reason = self._caller, checks.label(because, "the reason")
        return self._moved(remember.move.rename(old, new, reason, caller, checks.flag(dry_run, "dry_run")))

    def merge_project(
        self, old: str, new: str | None = None, *, dry_run: bool = False, because: str = "merged on request"
    ) -> Report:
        """Adds the memories of the project `old` to `new`, or to this one. What is said there already is not doubled. With
        `dry_run` nothing happens; `because` is the reason, for the journal."""
        caller, reason = self._caller, checks.label(because, "the reason")
        into = self.project.scope if new is None else new
        return self._moved(remember.move.merge(old, into, reason, caller, checks.flag(dry_run, "dry_run")))

    # ------------------------------------------------------------ reading

    def recall(
        self,
        query: str | None = None,
        *,
        limit: int = 5,
        search: SearchName = "memory",
        scope: str | None = None,
        user: str | None = None,
        session: str | None = None,
        kinds: Sequence[KindName] | None = None,
        where: Filter | None = None,
        at: Moment | None = None,
        as_of: Moment | None = None,
        deadline: float | None = None,
        exact: bool = False,
        files: Sequence[PathLike[str] | str] = (),
        min_relevance: float | None = None,
    ) -> Recall:
        """Finds what matters for a question, best first. Nothing found is an answer, and `empty_because` explains it.

        query: the question, in any words; without it what the last turns of `session` ask for, and nothing that was said there
        limit: how many at most
        search: where to look: memories, turns of sessions, documents (sources), what was imported (items), the archive, or all
        scope: only there · user, session: a user and a session that are read as well
        kinds, where: only these kinds; only what a filter lets through · files: those being worked on, for designs that go by them
        at: the moment of asking, for "last week"; now without it · as_of: answers as things were believed then
        deadline: seconds after which what is optional is skipped
        exact: whether to compare with every vector, where a large store would guess well
        min_relevance: what a hit must have instead of what the design asks for; 0 brings as many as `limit` says
        """
        text, where = self._asked(query, session, user, where)
        asked = recall.pipeline.Query(
            text, limit=limit, search=search, scope=scope, user=user, session=session, kinds=kinds, where=where,
            at=at, as_of=as_of, deadline=deadline, exact=exact, files=files, min_relevance=min_relevance,
        )  # fmt: skip
        return self._answer(asked, logged=True)

    def context(
        self, query: str, *, budget: int | None = None, remaining: int | None = None, window: int | None = None,
        reserve: int | None = None, style: Literal["xml", "markdown", "plain", "json"] | None = None,
        client: Literal["claude-code", "gemini", "codex", "opencode"] | None = None,
        mode: Literal["cheap", "balanced", "max_quality"] | None = None, profile: "ProfileName | Profile | None" = None,
        shares: Mapping[str, float] | None = None, inject: Inject | None = None, limit: int | None = None,
        files: Sequence[PathLike[str] | str] = (), scope: str | None = None, user: str | None = None, session: str | None = None,
        agent: str | None = None, task: str | None = None, kinds: Sequence[KindName] | None = None,
        where: Filter | None = None, deadline: float | None = None, min_relevance: float | None = None,
    ) -> Context:  # fmt: skip
        """What matters for a question as text for a prompt, within a budget that is counted on that text. A failing store
        gives an empty context that says why, never an error; wrong arguments do.

        query, limit, files, scope, user, session, kinds, where: as in `recall`; limit is how many of them are recalled
        budget: tokens at most; or remaining: tokens left in the window, of which a share is used; or window: all of its tokens,
            less the reserve. Without any, what the project or the design has for usual
        style: how it is written; plain without it · client: who reads it, which sets the style
        mode: how hard to save tokens · profile: the reader's role, and what it needs first · shares: of each lane or scope, by name
        inject: nothing (pull), what does not depend on the question (core), or that and what matches it (push)
        agent: who reads it: what others noted or found in the session since its last turn comes first
        task: the current task, for designs that read the memories of tasks
        deadline: seconds for all of it, after which what is optional is skipped
        min_relevance: the chance to matter that a memory needs, from 0 to 1; 0 shows all that was found, within the budget
        """
        from memorist.prompt.context import Wish

        wish = Wish(
            query, limit, checks.files(files), scope, user, session, task, kinds, where, budget, remaining, window, reserve, style,
            client, mode, profile, inject, deadline, shares, min_relevance, agent,
        )  # fmt: skip
        return self._seen(self._context(wish), session, user)

    def receipt(self, id: str) -> Context:
        """What was put into a prompt under the receipt `id`: the exact text, out of what, and what was left out."""
        from memorist.prompt.context import shown_again

        caller = self._caller
        caller.writer.flush()
        line = remember.edit.receipt_of(id, self.access, caller.store)
        return shown_again(line, caller.store, caller.where)

    def get(self, id: Reference) -> Record:
        """One record: `id` is its id, its short number, or a unique beginning or end of the id."""
        return self._read([self._must_get(id)])[0]

    def list(self, where: Filter | None = None, *, order: str = "at", limit: int = 100) -> builtins.list[Record]:
        """Records that match the filter `where`, `limit` at most. `order` is the field to sort by, the highest first;
        `order="-at"` gives the oldest first."""
        store, limit = self._caller.store, checks.whole(limit, "limit", 1, 1_000_000)
        return self._read(store.find(self._where(where), order_of(order), limit))

    def count(self, where: Filter | None = None) -> int:
        """How many match the filter `where`."""
        return sum(self._caller.store.count(self._where(where)).values())

    def timeline(
        self, around: Reference | date | None = None, *, limit: int = 20, where: Filter | None = None
    ) -> builtins.list[Record]:
        """Records in the order in which they happened, `limit` at most, those that match the filter `where`: `around` a time
        or a memory, or the latest."""
        store, limit = self._caller.store, checks.whole(limit, "limit", 1, 10_000)
        moment = recall.lookup.when(around, self._must_get)
        return self._read(recall.lookup.timeline(moment, limit, self._where(where), store))

    def history(self, id: Reference) -> builtins.list[Event]:
        """The journal of the memory `id`, oldest first."""
        caller = self._caller
        wanted = recall.lookup.Wanted(record=self._must_get(id).id)
        return recall.lookup.journal(wanted, None, caller.store, caller.where)

    def log(
        self,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        actor: str | None = None,
        surface: str | None = None,
        verbs: Sequence[str] = (),
        id: Reference | None = None,
        scope: str | None = None,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> builtins.list[Event]:
        """The journal of all that may be read: who did what to which memory, when and because of what. The last events that fit,
        oldest first.

        since, until: when · actor: who · surface: through which door · verbs: what was done, such as "revised"
        id: of this memory only · scope: where it lay then · after: the number of the last event that is known already
        before: the number of an event, for those that came before it · limit: how many at most
        """
        caller, limit = self._caller, checks.whole(limit, "limit", 1, 1_000_000)
        last = checks.whole(0 if after is None else after, "after", 0, 1 << 53)
        end = checks.whole(1 << 53 if before is None else before, "before", 0, 1 << 53)
        wanted = recall.lookup.Wanted(
            checks.moment(since, "since"), checks.moment(until, "until"), checks.optional_label(actor, "the actor"),
            checks.optional_label(surface, "the surface"), checks.labels(verbs, "verbs") if verbs else (),
            None if scope is None else self.access.must_read(scope, self.access.home_of(scope)),
            None if id is None else self._must_get(id).id, range(last + 1, end),
        )  # fmt: skip
        return recall.lookup.journal(wanted, limit, caller.store, caller.where)

    def explain(self, /, query: str, **arguments: Any) -> Recall:
        """A recall that is not logged and counts nothing, for looking at its trace: `query` and `arguments` as in `recall`."""
        return self._answer(recall.pipeline.Query(query, **arguments))

    def why_not(self, /, id: Reference, query: str, **arguments: Any) -> str:
        """Why the memory `id` is not among the hits: where it was lost, and the reason. `query` and `arguments` as in `recall`."""
        record, answer = self._must_get(id), self.explain(query, **arguments)
        chosen = bool(arguments.get("kinds"))
        return recall.why.why_not(record, answer, arguments.get("search", "memory"), chosen)

    def gaps(self, *, user: str | None = None, limit: int = 20) -> "builtins.list[Gap]":
        """Questions that found nothing, in designs that keep them, the last one first, and what answers them by now: those of the
        project, or of that `user`; `limit` is how many at most."""
        caller, most = self._caller, checks.whole(limit, "limit", 1, 1000)
        place = remember.gate.scope_of(None, user) or self._choosing
        found = remember.gaps.listed(self.access.must_read(place, self.access.home_of(place)), most, caller)
        return [
            remember.gaps.Gap(remember.gaps.said(each), each.counters.strength + 1, each, self._answer_to(each, user))
            for each in found
        ]

    def _answer_to(self, gap: Record, user: str | None) -> Record | None:
        """A memory that answers a gap by its words and meaning; a list does not call a model. The judge has already rejected
        what was there when the gap was noted, so where there is a judge, an answer must have come or changed since."""
        tools, rules = self._caller.tools, recall.pipeline.unjudged(self.design)
        query = recall.pipeline.Query(remember.gaps.said(gap), remember.gaps.FEW_ANSWERS, user=user)
        hits, _ = recall.pipeline.answer(query, self.access, self._homes, rules, tools)
        judged = tools.chat.ready and rules is not self.design
        fresh = (hit.record for hit in hits if not judged or hit.record.times.updated >= gap.times.updated)
        return next(fresh, None)

    # ------------------------------------------------------------ keeping

    def assign(self, scope: str, project: str) -> Report:
        """Gives the memories of a task, a session or an agent, the `scope`, that belong to no project to this `project`. Only a
        store from before 0.2.0 has any, where two projects used the same name; `doctor` lists them. It takes an admin's
        access."""
        return self._tell_all(remember.homes.assign(scope, project, self._caller))

    def upkeep(
        self, *, dry_run: bool = False, seconds: float | None = None, switch: bool = False, deep: bool = False
    ) -> builtins.list[Report]:
        """Runs what the design keeps in order, in short steps that can be interrupted; one report per job. Before it come the
        vectors that are missing, and the end of sessions that were left open. It ends after so many `seconds`; `dry_run` only
        shows what would happen; `switch` moves the store to this memory's embedder, also back to one it has left. `deep` is a
        night: it looks at the whole store, merges what is said twice, asks about what contradicts each other, and one `undo`
        takes all of it back."""
        caller = self._caller
        limit = None if seconds is None else checks.seconds(seconds, "seconds")
        jobs, policy = upkeep.runner.jobs_of(self.design), self.design.promotion
        with self._slices.make_way():
            if checks.flag(deep, "deep"):
                reports = upkeep.night.sleep(self.design, caller, dry_run, limit, switch)
            else:
                reports = upkeep.runner.run(jobs, caller, dry_run, limit, switch, policy=policy)
        return [self._shown(self._tell_all(report)) for report in reports]

    def rescan(self, *, dry_run: bool = False) -> Report:
        """Replaces the secrets that today's rules find in what is stored, past texts and the journal included, and wipes them
        from the files. `dry_run` only says which memories hold one, and what kind. There is no undo."""
        caller = self._caller
        caller.access.over_the_space(caller.access.surface)
        must_hold(self._own)
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
            cause = left or "something was erased meanwhile; compact it again"
            raise StoreUnavailable(f"the file was compacted, but an erasure is not finished: {cause}")
        return {"before": before, "after": store.size().bytes}

    def audit(self) -> "Audit":
        """Verifies the journal's chain, its anchor, and that every record is the one last journalled."""
        return self._keeper.writer.audit()

    def status(self) -> dict[str, Any]:
        """What this memory is and holds."""
        return self._facts()

    def backup(self, path: str | Path) -> Path:
        """An online copy of the whole store at that `path`, verified after it was made."""
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
        with suppress(StoreDamaged):  # the first checks have reported it
            found += remember.homes.checked(keeper)
        found += [Diagnosis(False, "settings", problem, "mend it, or take it out") for problem in self._problems]
        found += self._unusable_models() + upkeep.night.checked(store, self.access)
        return [*found, Diagnosis(audit.ok, "journal", detail, audit.advice)]
