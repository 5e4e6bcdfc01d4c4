"""What the verbs of `Memory` share: which store, project, design and rights are meant; the open store; the few common steps.

The only place of the engine that asks the settings (environment and files): `Memory()` must see the very store and project that
the command line sees, so both ask here (docs/why/0003-opening.md). Whether memory is off is asked in one: `_caller`, by which
every verb reaches the memories.
"""

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from memorist import checks, designs, prompt, recall, remember, upkeep
from memorist.access import Access, access_for
from memorist.design import Clock, Confirmer, Design, Reranker, Tools
from memorist.errors import Invalid, MemoristError, Refused
from memorist.kinds import KINDS, Kind, Kinds
from memorist.models.embed import NONE, Choice, Embedder, chosen, shown
from memorist.project import Project, resolve_project
from memorist.records import Context, LinkKind, Outcome, Recall, Record, Report, Scope, now_utc
from memorist.store import choices
from memorist.store.meaning import Meaning
from memorist.store.open import IN_RAM, open_store
from memorist.store.where import Where
from memorist.store.writer import Writer
from memorist.surfaces import settings
from memorist.text.dates import TimeReader, reader_named
from memorist.text.tokens import TokenCounter
from memorist.text.tokens import count_tokens as default_count

if TYPE_CHECKING:
    from memorist.prompt.context import Shown, Wish
    from memorist.recall.pipeline import Query
    from memorist.remember.changes import Caller

RECEIPTS_READ = 200  # for when something last went into a prompt; what is older than these was long ago
WAITING_AT_MOST = 10_000  # rows that a status counts; with more it says so many
Filter = Mapping[str, Any]
log = logging.getLogger("memorist")


# ---------------------------------------------------------------- which store, project, design and rights


@dataclass(frozen=True, slots=True)
class Setup:
    """Where a memory is opened, and what the settings say about it."""

    db: str
    project: Project
    home: Scope  # where a memory goes that names no scope: the project, unless the settings say otherwise
    space: str
    design: Design
    kinds: Mapping[str, Kind]
    actor: str
    embed: Choice
    times: TimeReader
    off_because: Callable[[], str | None]

    @property
    def access(self) -> Access:
        """The usual rights there."""
        return replace(access_for("project", self.project.scope), space=self.space, actor=self.actor)


def setup_for(path: str | Path | None, project: str | None, space: str | None, design: Design | str | None) -> Setup:
    """A named file means `project/default` unless a project is named; no file means the user's store and this project."""
    if path is not None and not str(path).strip():
        raise Invalid("the path of the store is empty; name a file, or ':memory:'")
    directory = Path.cwd() if path is None else None
    here = settings.load(directory)
    named = project if project is not None or path is not None else here.project
    found = resolve_project(named, directory)
    return Setup(
        db=here.db if path is None else str(path),
        project=found,
        home=Scope(here.scope) if here.scope else found.scope,
        space=here.space if space is None else space,
        design=_design(here, design),
        kinds=here.kinds,
        actor=here.actor,
        embed=embedder(here.embed, asked=here.sources["embed"] != "default"),
        times=reader_named(here.dates),
        off_because=settings.off_because,
    )


def _design(here: settings.Settings, named: Design | str | None) -> Design:
    """The design that is meant. A project's file, which came with a clone, may say how its questions are answered, but not
    how the whole store is kept in order: that is as the user has it."""
    if named is not None:
        return tuned(named, here)
    found = tuned(here.design, here)
    if Path(here.sources["design"]).name != settings.LOCAL_NAME:
        return found
    mine = tuned(settings.load().design, here)
    return replace(found, upkeep=mine.upkeep, due=mine.due)


def tuned(design: Design | str, here: settings.Settings) -> Design:
    """The design that is meant, with what the settings say about votes and room."""
    found = design if isinstance(design, Design) else designs.find(design, settings.designs_folder())
    room = None if here.max_size is None else checks.size(here.max_size, "max_size")
    return designs.adjusted(found, here.reinforce_weight, here.demote_weight, room, here.prune_percent)


def embedder(embed: Embedder | str, asked: bool = True) -> Choice:
    """The embedder that is meant. Keys are read from the environment, by the settings, when they are sent."""
    return chosen(embed, settings.secret, asked)


# ---------------------------------------------------------------- word to those who listen

Listener = Callable[[str, Mapping[str, Any]], None]


class Bus:
    """Calls plain functions after the fact, in the caller's thread, for `memory:write`, `memory:read` and `memory:search`.

    A listener that fails never fails the verb that woke it: the change is stored by then. Its error is logged, not hidden.
    """

    def __init__(self) -> None:
        self._listeners: list[tuple[str | None, Listener]] = []

    def listen(self, listener: Listener, event: str | None = None) -> Callable[[], None]:
        """Calls `listener(event, facts)` for every event, or for the named one; returns a function that stops it."""
        entry = (event, listener)
        self._listeners.append(entry)
        return lambda: self._listeners.remove(entry) if entry in self._listeners else None

    def emit(self, event: str, **facts: Any) -> None:
        for wanted, listener in tuple(self._listeners):
            if wanted in (None, event):
                try:
                    listener(event, facts)
                except Exception:
                    log.exception("a listener for %s failed; the memory itself is fine", event)


# ---------------------------------------------------------------- an open memory


class Engine:
    """An open memory, before it can do anything."""

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
        embed: Embedder | str | None = None,
        rerank: Reranker | None = None,
        wait: float = 30.0,
        confirm: Confirmer | None = None,
    ) -> None:
        here = setup_for(path, project, space, design)
        self.project, self.design, self.home = here.project, here.design, here.home
        if access is not None and space not in (None, access.space):
            raise Invalid(f"the access is for space {access.space!r}, not {space!r}; name one of them")
        self.access = access or here.access
        self.space = self.access.space
        self.bus = Bus()
        self._off_because = here.off_because
        choice = here.embed if embed is None else embedder(embed)
        store = open_store(here.db, checks.seconds(wait, "wait"))
        self._own = settings.own_rules()
        for problem in self._own.problems:
            log.warning("a rule for secrets is not used: %s: %s", settings.rules_file(), problem)
        meaning = Meaning(store, choice, self._own)
        self._writer = Writer(store, clock, meaning, self._own)
        known = Kinds({**KINDS, **here.kinds, **(kinds or {})})
        self._tools = Tools(store, clock, count_tokens, known, meaning, confirm, rerank, here.times)
        for name in (self.space, self.home):
            self._writer.refuse_secret(name, "the space or project")
        self._monitor = recall.pipeline.Monitor()
        self._slices = upkeep.due.Slices(self._tools, self._writer, self._off_because, self._tell_all)
        self._slices.opened(self.design, self.access)

    def through(self, access: Access) -> Self:
        """The same open memory, seen through another access. Closing one closes both."""
        if access.space != self.space:
            raise Invalid(f"this memory is open for space {self.space!r}, not {access.space!r}; open another")
        other = copy.copy(self)
        other.access = access
        return other

    def close(self) -> None:
        """Flushes what was only noted, writes the anchor, closes. Upkeep in the background ends with its step."""
        self._slices.close()
        try:
            self._writer.close()
        finally:
            self._tools.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # ------------------------------------------------------------ how a verb begins

    @property
    def _caller(self) -> "Caller":
        """Who reads and writes memories, with what; refused while memory is off."""
        off = self._off_because()
        if off:
            raise Refused(off)
        return remember.changes.Caller(self.access, self._writer, self._tools)

    @property
    def _keeper(self) -> "Caller":
        """Who looks after the store as a whole, also while memory is off: those who work in it, not readers and skills."""
        self.access.over_the_space(self.access.surface)
        return remember.changes.Caller(self.access, self._writer, self._tools)

    def _must_have_own_rules(self) -> None:
        """Where all depends on the user's rules for secrets, one that cannot be used is an error."""
        if self._own.problems:
            raise Invalid(f"{settings.rules_file()}: {'; '.join(self._own.problems)}")

    # ------------------------------------------------------------ which memories are meant

    def _must_get(self, id: str | int) -> Record:
        caller = self._caller
        return recall.lookup.resolve(id, caller.store, caller.where)

    def _both(self, a: str | int, b: str | int) -> tuple[Record, Record]:
        return self._must_get(a), self._must_get(b)

    def _where(self, filter: Filter | None) -> Where:
        """What is asked for; active records unless the filter speaks of states itself."""
        where = Where.of(self.access, filter)
        return where if where.speaks_of("state") else where.also("state", "eq", "active")

    def _chosen(self, id: str | int | None, filter: Filter | None, states: Sequence[str]) -> tuple[Where, list[str]]:
        """The memories that are meant: one by its id, or all that match a filter, which must not be empty. In these states,
        unless the filter speaks of states itself. What is chosen must still fit when it is changed."""
        if (id is None) == (filter is None):
            raise Invalid("name one memory, or give a filter with where=; not both, and not neither")
        if id is not None:
            record = self._must_get(id)
            self.access.must_write(record.scope)
            return Where(self.access), [record.id]
        if not filter:
            raise Invalid("an empty filter means everything; say so with where={'number': {'$gte': 1}}")
        where = Where.of(self.access, filter)
        where = where if where.speaks_of("state") else where.also("state", "in", tuple(states))
        return where, [brief.id for brief in self._tools.store.briefs(where)]

    # ------------------------------------------------------------ steps of writing

    def _edit(self, id: str | int, verb: str, edit: Callable[[Record], Record], because: str) -> Outcome:
        find = partial(self._must_get, id)
        return self._tell(remember.edit.edit(find, verb, edit, self._caller, because))

    def _relate(
        self, a: str | int, b: str | int, kind: LinkKind, weight: float | None, evidence: str | None
    ) -> Outcome:
        find = partial(self._both, a, b)
        return self._tell(remember.edit.relate(find, kind, self._caller, weight, evidence))

    def _tell(self, outcome: Outcome) -> Outcome:
        if outcome.record is not None and outcome.outcome not in ("unchanged", "repeated"):
            facts = {"kind": outcome.record.kind, "scope": outcome.record.scope}
            self.bus.emit("memory:write", id=outcome.id, outcome=outcome.outcome, because=outcome.because, **facts)
            self._count_use()
        return outcome

    def _tell_all(self, report: Report) -> Report:
        if not report.dry_run:
            for each in report.changed:
                self.bus.emit("memory:write", id=each.id, outcome=report.verb, because=each.because)
        return report

    def _count_use(self) -> None:
        """Something was recalled or written: upkeep may be due, where the design starts it by uses or by hours."""
        due = self.design.due
        if due.uses is not None or due.hours is not None:
            self._slices.used(self.design, self.access)

    def _choices(self) -> choices.Choices:
        """What was chosen for this project beside its memories."""
        return choices.chosen(self._caller.store, self.space, self.access.must_read(self.home))

    def _choose(self, **values: Any) -> choices.Choices:
        return remember.choices.change(self.home, self._caller, **values)

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
        self._monitor.note(took)
        self._count_use()
        if logged:
            self._note(answer, took, query.session)
        return answer

    def _note(self, answer: Recall, took: float, session: str | None, **more: Any) -> None:
        """The line of the recall log, and word to those who listen."""
        line = recall.pipeline.receipt_for(answer, took, session, self.access, self._tools)
        self._writer.note(replace(line, **more))
        if more:  # a prompt's receipt is in the log before the caller has it
            self._writer.flush()
        self.bus.emit("memory:search", query=answer.query, results=len(answer), ids=[hit.record.id for hit in answer])

    def _context(self, wish: "Wish") -> Context:
        try:
            caller = self._caller
        except Refused as off:
            return Context("", empty_because=str(off))
        asked = recall.pipeline
        query = asked.Query(
            asked.text_of(wish.query), wish.limit, "memory", wish.scope, wish.user, wish.session, wish.kinds, wish.where,
            files=wish.files, task=wish.task,
        )  # fmt: skip
        scopes = asked.scopes_of(query, self.access, self._homes, self.design)
        kinds = None if wish.kinds is None else asked.kinds_of(wish.kinds, caller.tools)
        plan = prompt.context.plan_of(wish, self.design, self._chosen_budget(), scopes, kinds)

        def recalled(scope: str | None) -> Recall:
            return self._answer(query if scope is None else replace(query, scope=scope))

        def keep(answer: Recall, took: float, shown: "Shown", rendered: Mapping[str, Any]) -> None:
            self._note(answer, took, wish.session, shown=shown, rendered=rendered)

        return prompt.context.context(plan, recalled, keep, self.access, caller.tools, caller.writer.digest)

    def _chosen_budget(self) -> int | None:
        """What was chosen for this project. Where the store cannot say, the rest of the way will find out why."""
        if self.access.may_read(self.home):
            with suppress(MemoristError):
                return choices.chosen(self._tools.store, self.space, self.home).budget
        return None

    # ------------------------------------------------------------ what a user asks for first

    def _facts(self) -> dict[str, Any]:
        """What this memory is and holds. Counted from what is kept anyway; what is in order is not mentioned."""
        store, access = self._tools.store, self.access
        waiting = remember.consent.waiting(access, store)
        known = {
            "clock": upkeep.retain.jumped(self._tools),
            "upkeep_problem": self._slices.problem,
            "questions": len(waiting) or None,
            "secret_rules_problem": "; ".join(self._own.problems),
        }
        return {
            "store": str(store.path) if store.path else IN_RAM,
            "project": self.project.scope,
            "project_from": self.project.how,
            "space": access.space,
            "design": self.design.name,
            "memory": self._off_because() or "on",
            **self._vectors(),
            "scopes": store.count(Where(access).also("state", "eq", "active")),
            **self._lately(),
            **self._monitor.shown(),
            "upkeep_due": upkeep.due.shown(self.design.due),
            **{name: fact for name, fact in known.items() if fact},
        }

    def _lately(self) -> dict[str, Any]:
        """How much there is, what became of memories, all in all, and when the store was last looked after."""
        store, space = self._tools.store, self.space
        looked = self._slices.last(space)
        shown = [receipt.at for receipt in store.receipts(space, RECEIPTS_READ) if receipt.rendered is not None]
        size = asdict(store.size(space))
        done, used = size.pop("done"), size.pop("used")
        return {
            **size,
            "promotions": sum(count for (verb, _), count in done.items() if verb == "promoted"),
            "evictions": sum(done.get((verb, upkeep.runner.UPKEEP), 0) for verb in ("evicted", "expired", "forgotten")),
            "accesses": used,
            "last_upkeep": looked.isoformat(timespec="seconds") if looked else "never",
            "last_injection": shown[0].isoformat(timespec="seconds") if shown else "never",
        }

    def _vectors(self) -> dict[str, Any]:
        """Which embedder this process has, which vectors the store has, how many rows wait for one, and what to do then."""
        meaning = self._tools.meaning
        embedder, living = meaning.embedder(), meaning.living()
        waiting = meaning.waiting(WAITING_AT_MOST)
        facts = {
            "embedder": meaning.problem or (shown(embedder.name) if embedder else NONE),
            "vectors": ", ".join(f"{shown(each.model)} ({each.state})" for each in living) or NONE,
            "rows_waiting": waiting,
        }
        advice = meaning.advice(living) or ("run `memorist upkeep`" if waiting else None)
        return facts | ({"vectors_advice": advice} if advice else {})
