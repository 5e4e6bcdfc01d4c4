"""What the verbs of `Memory` share: the open store, the tools, and the few steps they have in common.

`setup.py` decides what is opened. Whether memory is off is checked in one place: `_caller`, through which every verb
reaches the memories.
"""

import copy
import logging
import os
import time
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from memorist import checks, recall, remember, upkeep
from memorist.access import Access, family_of
from memorist.bus import Bus, read, written
from memorist.design import Clock, Confirmer, Design, Reranker, Tools
from memorist.errors import Invalid, MemoristError, ModelUnavailable, Refused, StoreDamaged, StoreUnavailable
from memorist.folder import Folder
from memorist.fork import must_be_ours
from memorist.kinds import KINDS, Kind, Kinds
from memorist.models import reader
from memorist.models.chat import Chat
from memorist.models.embed import NONE, Embedder, checked, shown
from memorist.models.onnx import NamedReranker
from memorist.noun import SHOWN_IN_A_CELL, line
from memorist.project import Project
from memorist.records import Context, Draft, Link, LinkKind, Outcome, Recall, Record, Reference, Report, Scope, now_utc
from memorist.setup import Setup, check, models_of, own_rules, setup_for
from memorist.store import calls, captures, checkouts, choices
from memorist.store.meaning import Meaning
from memorist.store.nouns import Diagnosis, Receipt
from memorist.store.open import IN_RAM, open_store
from memorist.store.where import Order, Where, everywhere
from memorist.store.writer import Writer
from memorist.text.tokens import TokenCounter
from memorist.text.tokens import count_tokens as default_count

if TYPE_CHECKING:
    from memorist.prompt.context import Shown, Wish
    from memorist.recall.pipeline import Query
    from memorist.remember.bring import Import
    from memorist.remember.changes import Caller

LEAST_TIME = 1e-6  # seconds left to a recall once the deadline of its prompt has passed
RECEIPTS_READ = 200  # receipts searched for the last prompt that got something; older ones do not matter
WAITING_AT_MOST = 10_000  # a status counts waiting rows up to here
MEND_MODEL = "fix it, or choose another: `memorist model list` shows them, `memorist model use NAME` uses one"
Filter = Mapping[str, Any]
log = logging.getLogger("memorist")


def _clean_files(*given: Any) -> None:
    """Removes erased content from the files that follow the store, whichever surface erased it
    (docs/why/0043-files-follow-the-journal.md)."""
    from memorist.files.follow import clean

    clean(*given)


def ends(deadline: float | None) -> float | None:
    """When a deadline in so many seconds passes, on the clock of `time.perf_counter`."""
    return None if deadline is None else time.perf_counter() + checks.seconds(deadline, "deadline")


def over_at(until: float | None) -> Callable[[], bool]:
    return lambda: until is not None and time.perf_counter() >= until


# ---------------------------------------------------------------- an open memory


def _last_told(lines: Sequence[Receipt]) -> str:
    """When a prompt was last given a memory, by the newest of these lines. A prompt in which nothing fitted does not count."""
    told = (line.at.isoformat(timespec="seconds") for line in lines if line.rendered is not None and line.ids)
    return next(told, "never")


class Engine:
    """An open memory without its verbs."""

    _held: set[Any]  # the sessions open in it
    _behind: dict[Any, Any]  # what sessions were shown, by name and access
    adopted: Report | None  # what was adopted on opening, because the checkout was moved or got a remote
    _confirmed: Mapping[str, int] | None = None  # what a person was shown who confirmed what is done through it

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        project: str | None = None,
        space: str | None = None,
        access: Access | None = None,
        design: Design | str | None = None,
        clock: Clock = now_utc,
        count_tokens: TokenCounter = default_count,
        kinds: Mapping[str, Kind] | None = None,
        embed: Embedder | str | None = None,
        rerank: Reranker | str | None = None,
        chat: Chat | str | None = None,
        wait: float = 30.0,
        confirm: Confirmer | None = None,
    ) -> None:
        check(access, space, clock, count_tokens, kinds, rerank, confirm)
        here = setup_for(path, project, space, design)
        self.space = (access or Access(here.space)).space  # checks the space's name before any file is made
        self.bus, self._held, self._behind = Bus(lambda: self.access), set(), {}
        self.design, self._process, self._problems = here.design, os.getpid(), here.told()
        self._off_because, self._here = here.off_because, here
        models, self._own, talker = models_of(here, embed), own_rules(), here.talker(chat)
        store = open_store(here.db, checks.seconds(wait, "wait"))
        meaning = Meaning(store, *models, own=self._own)
        self._writer = Writer(store, clock, meaning, here.min_free)
        self._tools = Tools(
            store, clock, count_tokens, Kinds({**KINDS, **here.kinds, **(kinds or {})}), meaning, confirm, here.reranker(rerank),
            folder=Folder(here.project.root, here.directory), clean_files=partial(_clean_files, self),
            chat=calls.port(talker, self._writer, clock, self.space), reading=here.reading,
        )  # fmt: skip
        self._settle(here, access)
        self._settle_homes()
        self._monitor = recall.monitor.Monitor()
        self._slices = upkeep.due.Slices(self._tools, self._writer, self._off_because, self._tell_all)
        self._slices.opened(self.design, self.access)

    def _settle(self, here: Setup, access: Access | None) -> None:
        """Decides which project this is, using what the store knows of the folder. Memories under the folder's earlier name
        come along. Where that is not possible (a read-only store, memory switched off), the earlier name stays in use."""
        found = checkouts.Settled(here.project)
        if here.project.by_folder:
            found = checkouts.settle(here.project, self._tools.store, self.space)
        project, self.adopted = found.project, None
        self.access = self._rights(here, access, project)
        if found.adopts is not None and not self._adopt(found.adopts, project.scope):
            project, found = replace(project, scope=found.adopts), replace(found, known=True)  # until it is adopted
        if access is not None and not access.may_read(project.scope):
            project = here.project
        self.access = self._rights(here, access, project)
        self.project, self._is_known = project, found.known
        self.home = project.scope if here.home == here.project.scope else here.home
        for name in (self.space, self.home):
            self._writer.refuse_secret(name, "the space or project")

    def _rights(self, here: Setup, access: Access | None, project: Project) -> Access:
        return (access or replace(here, project=project).access).at_home_in(project.scope)

    def _adopt(self, old: Scope, new: Scope) -> bool:
        store = self._tools.store
        if self._off_because() or not store.writable or not self.access.may_write(new):
            return False
        try:
            caller = self._caller
            report = remember.move.adopt(old, new, caller)
            self.adopted = report if report.changed else None
            with caller.writer.transaction():
                checkouts.tell(self._here.project, store, self.space)
            return True
        except MemoristError as problem:
            log.warning("%s could not become %s yet: %s", old, new, problem)
            return False

    def _settle_homes(self) -> None:
        """Gives homes to the tasks of a store from before they had any, once. If it fails, the next opening tries again."""
        if not self._tools.store.writable or self._writer.homes_are_told(self.space) or self._off_because():
            return
        try:
            remember.homes.settle(remember.changes.Caller(self.access, self._writer, self._tools))
        except (StoreUnavailable, StoreDamaged) as problem:
            log.warning("the tasks and sessions of this older store have no homes yet: %s", problem)

    def through(self, access: Access) -> Self:
        """The same open memory, seen through another `access`. Closing one closes both."""
        if access.space != self.space:
            raise Invalid(f"this memory is open for space {self.space!r}, not {access.space!r}; open another")
        other = copy.copy(self)
        other.access = access.at_home_in(self.project.scope)
        other.bus = self.bus.seen_by(lambda: other.access)
        return other

    def _as_shown(self, versions: Mapping[str, int]) -> Self:
        """The same open memory for what a person confirmed: it changes these memories in these versions, and no other."""
        other = self.through(self.access)
        other._confirmed = versions
        return other

    def close(self) -> None:
        """Flushes what was only noted, writes the anchor, closes. Upkeep in the background ends with its step."""
        if os.getpid() != self._process:
            return  # the parent process closes it
        self._slices.close()
        calls.keep(self._tools.chat, self._tools.store, self.space)
        try:
            self._writer.close()
        finally:
            self._tools.store.close()

    def __repr__(self) -> str:
        where = line(str(self._tools.store.path or IN_RAM), SHOWN_IN_A_CELL)
        return f"<{type(self).__name__} {where}, {self.project.scope}, design {self.design.name}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # ------------------------------------------------------------ how a verb begins

    @property
    def _caller(self) -> "Caller":
        """Who reads and writes memories, and with which tools; raises `Refused` while memory is off."""
        must_be_ours(self._process)
        off = self._off_because()
        if off:
            raise Refused(off)
        return remember.changes.Caller(self.access, self._writer, self._tools, shown=self._confirmed)

    @property
    def _keeper(self) -> "Caller":
        """Who maintains the store as a whole, even while memory is off. Only roles that may write are allowed this, not
        readers or skills."""
        must_be_ours(self._process)
        self.access.over_the_space(self.access.surface)
        return remember.changes.Caller(self.access, self._writer, self._tools)

    # ------------------------------------------------------------ which memories are meant

    def _must_get(self, id: Reference) -> Record:
        caller = self._caller
        return recall.lookup.resolve(checks.reference(id), caller.store, caller.where)

    def _both(self, a: Reference, b: Reference) -> tuple[Record, Record]:
        return self._must_get(a), self._must_get(b)

    def _where(self, filter: Filter | None) -> Where:
        """The condition for a caller's filter; only active records unless the filter mentions states."""
        where = Where.of(self.access, filter)
        return where if where.speaks_of("state") else where.also("state", "eq", "active")

    def _chosen(self, id: Reference | None, filter: Filter | None, states: Sequence[str]) -> tuple[Where, list[str]]:
        """The memories that are meant: one by id, or all that match a non-empty filter. They are in these states unless
        the filter mentions states. Each must still match when it is changed."""
        if (id is None) == (filter is None):
            raise Invalid("name one memory, or give a filter with where=; not both, and not neither")
        if id is not None:
            record = self._must_get(id)
            self.access.must_write(record.scope, record.home)
            return Where(self.access), [record.id]
        if not filter:
            raise Invalid("an empty filter means everything; say so with where={'number': {'$gte': 1}}")
        where = Where.of(self.access, filter)
        where = where if where.speaks_of("state") else where.also("state", "in", tuple(states))
        return where, [brief.id for brief in self._tools.store.briefs(where)]

    # ------------------------------------------------------------ steps of writing

    def _edit(self, id: Reference, verb: str, edit: Callable[[Record], Record], because: str) -> Outcome:
        find = partial(self._must_get, id)
        return self._tell(remember.edit.edit(find, verb, edit, self._caller, because))

    def _relate(
        self, a: Reference, b: Reference, kind: LinkKind, weight: float | None, evidence: str | None
    ) -> Outcome:
        find = partial(self._both, a, b)
        return self._tell(remember.edit.relate(find, kind, self._caller, weight, evidence))

    def _checked(self, given: Mapping[str, Any]) -> Draft:
        """A draft that `remember_many` will accept. While memory is off it is not checked: `remember_many` refuses
        every draft then."""
        draft = remember.gate.draft_of(given)
        if not self._off_because():
            remember.gate.check(draft, self._caller, self.home)
        return draft

    def _import(self, ids: Container[str], batch: str | None) -> "Import":
        """An import of exported memories: with the user's rank if the user runs it and so vouches for them, else with
        that of imports."""
        caller = self._caller.through(replace(self.access, surface="import"))
        by = caller.with_consent() if self.access.origin == "user" else caller
        return remember.bring.Import(by, self.home, ids, batch)

    def _links(self, ids: Sequence[str]) -> list[Link]:
        """The relations of these memories to others that may be read."""
        caller = self._caller
        return caller.store.links(caller.where, ids)

    def _tell(self, outcome: Outcome) -> Outcome:
        if outcome.record is not None and outcome.outcome not in ("unchanged", "repeated"):
            self._tell_of(outcome.record, outcome.batch, outcome.outcome, outcome.because)
            self._count_use()
            if not self._is_known and outcome.record.scope in self._homes:
                self._keep_checkout()
        return outcome

    def _kept(self, draft: Draft, outcome: Outcome) -> Outcome:
        """The outcome of a draft, with the scope that it has or would have had."""
        if outcome.record is not None and outcome.record.kind == "turn" and outcome.outcome == "added":
            self._slices.said(outcome.record, self.design, self.access)
        return self._tell(outcome if outcome.scope else replace(outcome, scope=draft.scope or self.home))

    def _told(self, done: Outcome | Report) -> Outcome | Report:
        return self._tell(done) if isinstance(done, Outcome) else self._tell_all(done)

    def _moved(self, report: Report) -> Report:
        """Finishes the renaming of a project: from now on its mark identifies this checkout."""
        if not report.dry_run and not self._is_known:
            self._keep_checkout()
        return self._tell_all(report)

    def _keep_checkout(self) -> None:
        """Records this checkout's mark in the store, so that it is recognised even if its remote and path change."""
        self._is_known = True
        with suppress(MemoristError), self._writer.transaction():  # the memory itself is stored either way
            checkouts.tell(self._here.project, self._tools.store, self.space)

    def _tell_all(self, report: Report) -> Report:
        if report.dry_run or not self.bus.is_heard:
            return report
        reasons = {each.id: each.because for each in report.changed}
        for some in remember.edit.portions(list(reasons)):
            for record in self._tools.store.get(some, everywhere(self.space)):
                self._tell_of(record, report.batch, report.verb, reasons[record.id])
        return report

    def _tell_of(self, record: Record, batch: str | None, outcome: str, because: str) -> None:
        """Emits one event about one memory. The facts are looked up only if somebody listens."""
        if self.bus.is_heard:
            events = self._tools.store.journal(record=record.id, batch=batch) if batch else []
            facts = written(record, events, self._past) | {"outcome": outcome, "because": because}
            self.bus.emit("memory:write", [(record.scope, record.home)], **facts)

    def _past(self, id: str) -> str:
        return "".join(record.text for record in self._tools.store.get([id], everywhere(self.space)))

    def _read(self, records: list[Record]) -> list[Record]:
        """Returns these records and emits a read event for each."""
        for record in records if self.bus.is_heard else ():
            self.bus.emit("memory:read", [(record.scope, record.home)], **read(record))
        return records

    def _shown(self, report: Report) -> Report:
        """What this access may see of a report about the whole space. A report about moving this project to another
        name is shown whole."""
        if report.batch and checkouts.named_by(report.batch, self._tools.store):
            return report
        seen = self._readable([*(each.id for each in report.changed), *report.left])
        changed = tuple(each for each in report.changed if each.id in seen)
        return replace(report, changed=changed, left={id: why for id, why in report.left.items() if id in seen})

    def _readable(self, ids: Sequence[str]) -> set[str]:
        """Which of these this access may read. Looked up in portions: an import may have a hundred thousand."""
        found = (self._tools.store.get(some, Where(self.access)) for some in remember.edit.portions(ids))
        return {record.id for records in found for record in records}

    def _count_use(self) -> None:
        """Counts a recall or a write towards upkeep, if the design starts upkeep by use, hours or idle time."""
        due = self.design.due
        if (due.uses, due.hours, due.idle, due.above) != (None,) * 4:
            self._slices.used(self.design, self.access)

    def _choices(self) -> choices.Choices:
        """What was chosen for this project, which is stored beside its memories."""
        return choices.chosen(self._caller.store, self.space, self.access.must_read(self._choosing))

    def _choose(self, **values: Any) -> choices.Choices:
        return remember.choices.change(self._choosing, self._caller, **values)

    @property
    def _choosing(self) -> str:
        """The scope that choices are stored for: the project itself, or the home of a task or session."""
        return self.access.home_of(self.home) or self.home

    # ------------------------------------------------------------ steps of reading

    @property
    def _homes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.home, self.project.scope)))

    def _answer(self, query: "Query", logged: bool = False) -> Recall:
        try:
            tools = self._caller.tools
        except Refused as off:
            return Recall(str(query.text), empty_because=str(off))
        hurried = self._monitor.hurried
        answer, took = recall.pipeline.answer(query, self.access, self._homes, self.design, tools, hurried)
        self._monitor.note(took - recall.pipeline.waited(answer))
        self._count_use()
        calls.keep(tools.chat, tools.store, self.space)
        if not answer and self.project.scope in answer.scopes:
            withheld = query.session is not None and f"session/{query.session}" not in answer.scopes
            told = [f"session {query.session} was held for a user; name that user (user=, --user)"] if withheld else []
            unread = recall.scopes.of_users(query, self.access, tools)
            said = [answer.empty_because, *told, *unread, *map(str, self._neighbours())]
            answer = replace(answer, empty_because="; ".join(filter(None, said)))
        if logged:
            self._note(answer, took, query)
        return answer

    def _projects(self) -> list[checkouts.Holding]:
        store, here = self._caller.store, self.project
        seen = store.count(Where(self.access).also("state", "eq", "active"))
        own = [here.scope] if self.access.may_read(here.scope) else []  # a skill reads none
        names = [*own, *sorted({name for name in seen if family_of(name) == "project"} - {here.scope})]
        counts = checkouts.held(names, store, self.space)
        about = {each.scope: each.what for each in self._neighbours()} | {here.scope: here.how}
        return [checkouts.Holding(name, counts.get(name, 0), name == here.scope, about.get(name)) for name in names]

    def _neighbours(self) -> list[checkouts.Neighbour]:
        """Other places with memories of this folder: an earlier name of it, or a folder above. Other projects are not named."""
        directory, store = self._here.directory, self._tools.store
        if directory is None or not self.access.may_read(self.project.scope):
            return []
        return checkouts.neighbours(self.project, self._here.project, directory, store, self.space)

    def _note(self, answer: Recall, took: float, query: "Query", **more: Any) -> None:
        """Writes the line of the recall log and emits the event."""
        who, scores = self.access, tuple((hit.record.id, round(hit.score, 6)) for hit in answer)
        asked = answer.query[:1000].encode("utf-8", "replace").decode()
        line = Receipt(
            answer.receipt, self._tools.clock(), who.space, asked, who.actor, who.surface, query.session, took, scores,
            answer.empty_because, home=who.home,
        )  # fmt: skip
        self._writer.note(replace(line, **more))
        self._slices.asked(query, answer, self.design, self.access)
        if more:  # a prompt's receipt must be in the log before the caller gets it
            self._writer.flush()
        read = [(scope, self.access.home_of(scope)) for scope in answer.scopes]
        # The words of a query belong to the project in which it is asked.
        places = [(self.access.home or self.project.scope, None), *read]
        ids = [hit.record.id for hit in answer]
        self.bus.emit("memory:search", places, query=answer.query, results=len(answer), ids=ids)
        if more and answer:
            size, path = len(more["rendered"]["text"]), f"context/{line.id}"
            self.bus.emit("memory:read", places, type="working", path=path, size=size, ids=ids)

    def _context(self, wish: "Wish") -> Context:
        from memorist.prompt.context import Prompt, context

        try:
            caller = self._caller
        except Refused as off:
            return Context("", empty_because=str(off))
        asked = recall.pipeline
        query = asked.Query(
            wish.query, scope=wish.scope, user=wish.user, session=wish.session, kinds=wish.kinds,
            where=wish.where, files=wish.files, task=wish.task, min_relevance=wish.min_relevance,
        )  # fmt: skip
        scopes = recall.scopes.scopes_of(query, self.access, self._homes, self.design, caller.store)
        kinds = asked.kinds_of(wish.kinds, caller.tools)
        until = ends(self.design.budget.deadline if wish.deadline is None else wish.deadline)
        tools = replace(caller.tools, over=over_at(until))
        wish, chosen = replace(wish, kinds=kinds), self._chosen_budget()
        plan = Prompt(wish, self.design, chosen, scopes, self.access, tools)

        def recalled(scope: str | None, limit: int, search: str) -> Recall:
            left = None if until is None else max(LEAST_TIME, until - time.perf_counter())
            where = query.scope if scope is None else scope
            return self._answer(replace(query, scope=where, limit=limit, search=search, deadline=left))

        def keep(answer: Recall, took: float, shown: "Shown", rendered: Mapping[str, Any]) -> None:
            read = [(scope, home) for scope in scopes for home in self.access.homes_of(scope)]
            self._note(answer, took, query, shown=shown, rendered={**rendered, "places": read})

        return context(plan, recalled, keep, caller.writer.digest)

    def _chosen_budget(self) -> int | None:
        """The budget chosen for this project. If the store cannot be read, the steps after this report why."""
        if self.access.may_read(self._choosing):
            with suppress(MemoristError):
                chosen = choices.chosen(self._tools.store, self.space, self._choosing).budget
                return chosen and min(chosen, checks.LARGEST_PROMPT)  # 0.1.0 took any number
        return None

    # ------------------------------------------------------------ what a user asks for first

    def _facts(self) -> dict[str, Any]:
        """The facts that `status` shows. They are counted from what is stored anyway; what is in order is left out."""
        store, access = self._tools.store, self.access
        waiting = remember.consent.waiting(access, store)
        known = {
            "lost": self._writer.lost,
            "clock": upkeep.retain.jumped(self._tools),
            "upkeep_problem": self._slices.problem,
            "questions": len(waiting) or None,
            "left_out": captures.TOLD_OUT if captures.left_out(store, self.space, self.home) else None,
            "settings_problems": list(self._problems),
            "secret_rules_problem": "; ".join(self._own.problems),
        }
        return {
            "store": str(store.path) if store.path else IN_RAM,
            "project": self.project.scope,
            "project_from": self.project.how,
            **self._whose(),
            "space": access.space,
            "design": self.design.name,
            "memory": self._off_because() or "on",
            **self._vectors(),
            **self._reranker(),
            "chat": self._tools.chat.name,
            **self._tools.chat.tally().show(),
            "scopes": store.count(Where(access).also("state", "eq", "active")),
            **self._lately(),
            "upkeep_due": upkeep.due.shown(self.design.due),
            **{name: fact for name, fact in known.items() if fact},
        }

    def _whose(self) -> dict[str, str]:
        """The folder of the project, and where else memories of it are."""
        folder = {"project_folder": str(self.project.root)} if self.project.root else {}
        elsewhere = "; ".join(map(str, self._neighbours()))
        return folder | ({"elsewhere": elsewhere} if elsewhere else {})

    def _lately(self) -> dict[str, Any]:
        """How much of what this access may read is stored, what became of it, and when upkeep last ran."""
        store, who = self._tools.store, self.access
        mine = [line for line in store.receipts(who.space, RECEIPTS_READ) if remember.edit.may_show(line, who)]
        size = asdict(store.size(Where(who)))
        done, used = size.pop("done"), size.pop("used")
        return {
            **size,
            **self._writer.room.told(),
            "buffered": self._writer.waiting,
            "created": self._began(),
            "promotions": sum(count for (verb, _), count in done.items() if verb == "promoted"),
            "evictions": sum(done.get((verb, upkeep.runner.UPKEEP), 0) for verb in ("evicted", "expired", "forgotten")),
            "accesses": used,
            "last_upkeep": self._slices.told(who.space),
            **upkeep.night.told(store, who),
            "last_injection": _last_told(mine),
            **self._monitor.shown([line.ms for line in mine]),
        }

    def _began(self) -> str:
        """When the first memory of this space was stored."""
        store = self._tools.store
        first = store.find(everywhere(self.space), Order("number", ascending=True), 1)
        events = store.journal(record=first[0].id) if first else []
        return events[0].at.isoformat(timespec="seconds") if events else "not yet"

    def _unusable_models(self) -> list[Diagnosis]:
        """The configured models that cannot be used, found by using each of them once."""
        embedder, problem, judge = self._tools.meaning.embedder(), self._tools.meaning.problem, self._tools.rerank
        if embedder is not None and not problem:
            try:
                checked(embedder, ["ready?"])
            except ModelUnavailable as unavailable:
                problem = str(unavailable)
        wrong = {
            "embedder": problem,
            "reranker": judge.problem() if isinstance(judge, NamedReranker) else None,
            "reader": reader.problem() if self._tools.reading else None,
        }
        return [Diagnosis(False, name, problem, MEND_MODEL) for name, problem in wrong.items() if problem]

    def _reranker(self) -> dict[str, str]:
        """Which reranker is used, or why it cannot be."""
        judge = self._tools.rerank
        if judge is None:
            return {}
        if not isinstance(judge, NamedReranker):
            return {"reranker": "a function of the caller's"}
        return {"reranker": judge.problem() or judge.model.name}

    def _vectors(self) -> dict[str, Any]:
        """Which embedder this process has, which vectors the store has, how many rows wait for one, and what to do about them."""
        meaning = self._tools.meaning
        living, made = meaning.living(), [each.embedder() for each in meaning.models]
        waiting, names = meaning.waiting(WAITING_AT_MOST), [shown(each.name) if each else NONE for each in made]
        facts = {
            "embedder": meaning.problem or names[0],
            **dict(zip(("embedder_turns",), names[1:], strict=False)),
            "vectors": ", ".join(f"{shown(each.model)} ({each.use})" for each in living)
            or NONE + " yet" * (names[0] != NONE),
            "rows_waiting": waiting,
        }
        advice = meaning.advice(living) or ("run `memorist upkeep`" if waiting else None)
        return facts | ({"vectors_advice": advice} if advice else {})
