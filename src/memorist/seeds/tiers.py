"""Task, project and global memory as they were first written down: the tiers design under its own names.

    tiers = memorist.seeds.tiers(memory)
    tiers.task("42").add_reasoning("The parser drops empty bodies", "analyse")
    tiers.add_decision("Sign empty bodies as ''", ["payments"])
    tiers.build_context("42", "why does the signature fail?", budget=1500)
    tiers.cleanup_task("42")

A project cannot see another's memory, and nothing moves up a tier automatically. A global preference needs consent; without a
person to ask, it waits in `review`.
"""

import builtins
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from memorist import checks, setup
from memorist.access import GLOBAL
from memorist.designs import DESIGNS, TIERS
from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.memory import Memory
from memorist.records import LIVING, Outcome, Record, Report
from memorist.seeds.items import EVERYTHING, ContextItem, Items, ids_of, item_of
from memorist.seeds.plain import data_of
from memorist.surfaces import settings
from memorist.text.question import kinds_in
from memorist.text.wishes import wished

NAMES = tuple(lane.name for lane in TIERS.lanes)
VERBS = ("add", "query", "get", "delete", "list_all", "clear", "count")
Severity = Literal["high", "medium", "low"]
_FILE = re.compile(r"[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{0,4}\b")
_SERIOUS = re.compile(r"\b(?:never|always|must|critical|important|danger\w*)\b", re.IGNORECASE)
_MILD = re.compile(r"\b(?:maybe|usually|perhaps|rather|if possible|nice to have)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ContextPackage:
    """The context for a prompt. `str(package)` is the text."""

    id: str
    items: tuple[ContextItem, ...]
    text: str
    tokens: int
    compression_ratio: float
    receipt: str
    summary: str | None = None

    @property
    def context_package_id(self) -> str:
        return self.id

    def __str__(self) -> str:
        return self.text


class TaskItems(Items):
    """The items of one task, until it is finished."""

    def __init__(self, memory: Memory, task: str) -> None:
        super().__init__(memory, f"task/{task}")
        self.task = task

    def add_reasoning(self, text: str, stage_id: str) -> ContextItem | None:
        return self.add(
            ContextItem({"text": text}, kind="reasoning", source=self._source(stage_id), tags=("task", stage_id))
        )

    def add_tool_output(self, tool_id: str, output: Any, stage_id: str | None = None) -> ContextItem | None:
        """With a stage, it counts among the outputs of that stage."""
        tags = ("task", "tool", tool_id, *([stage_id] if stage_id else []))
        payload = {"tool_id": tool_id, "output": output}
        return self.add(ContextItem(payload, kind="tool_output", source=self._source(stage_id), tags=tags))

    def add_artifact(
        self, artifact_id: str, payload: Any, node_id: str = "", type: str = "", schema_ref: str = ""
    ) -> ContextItem | None:
        """Keeps what a step made; one of the same id is replaced."""
        about = {"artifact_id": artifact_id, "task_id": self.task, "node_id": node_id, "type": type}
        tags = ("task", "artifact", *filter(None, (type, node_id)))
        about |= {"schema_ref": schema_ref}
        return self.add(ContextItem(payload, artifact_id, "artifact", self.scope, tags=tags, metadata=about))

    def query_artifacts(self, type: str | None = None) -> builtins.list[ContextItem]:
        return _query(self, "artifact", None if type is None else [type])

    def get_stage_outputs(self, stage_id: str) -> builtins.list[ContextItem]:
        source = self._source(stage_id)
        # Stages that said the same were once kept as one.
        again = self.query({"data.sources": [source]}, limit=1000)
        found = {item.id: item for item in (*again, *self.query({"source": source}, limit=1000))}
        return sorted(found.values(), key=lambda item: item.timestamp, reverse=True)[:1000]

    def promote(self, item_id: str, because: str = "promoted on request") -> Outcome:
        """Moves an item to the project, where it outlives the task."""
        found = self._find(item_id)
        if found is None:
            raise Invalid(f"{self.scope} has no item {item_id[:60]!r}; list_all() names them")
        done = self._memory.promote(found.id, because=because)
        assert isinstance(done, Outcome)
        return done

    def clear(self) -> bool:
        """Ends the task, as `cleanup_task` does, whoever asks: it takes its items along, and what is pinned moves on."""
        return bool(self._memory.finish(self.scope, "cleared"))

    def _source(self, stage_id: str | None) -> str:
        return f"{self.scope}/{stage_id}" if stage_id else self.scope


class Mirrored(Items):
    """The items of one scope beside a backend of the caller's own: any object that has the seven verbs.

    What the backend holds and the tier never had is imported when the tier is made: as candidates, since nobody here has seen
    it, whoever opens it. From then on it is told what was kept, exactly as it was stored, and what was let go by these verbs; what
    the gate refuses or redacts never reaches it. Questions are answered by the memory alone. What is to be gone must be erased in
    both.
    """

    def __init__(self, memory: Memory, scope: str, backend: Any) -> None:
        super().__init__(memory.through(replace(memory.access, origin="import")), scope)
        if not all(callable(getattr(backend, verb, None)) for verb in VERBS):
            raise Invalid(f"a backend has {', '.join(VERBS)}; {type(backend).__name__} has not all of them")
        self._backend = backend
        had = memory.list({"scope": scope, "state": {"$in": list(LIVING)}}, limit=EVERYTHING)
        known = {id for record in had for id in (record.id, *ids_of(record))}
        found = map(item_of, backend.list_all())
        self.add_all({item.id: item for item in found if item.id and item.id not in known})
        self._memory = memory

    def clear(self) -> bool:
        cleared = super().clear()
        if cleared:
            self._backend.clear()
        return cleared

    def enforce_retention(self, max_items: int) -> int:
        gone = super().enforce_retention(max_items)
        here = {item.id for item in self.list_all()} if gone else set()
        for item in map(item_of, self._backend.list_all()) if gone else ():
            if item.id not in here:
                self._backend.delete(item.id)
        return gone

    def _settled(self, item: ContextItem, outcome: Outcome, known: Record | None) -> Record | None:
        record = super()._settled(item, outcome, known)
        if record is not None:
            self._backend.add(self._item(record, item.id))
        return record

    def _let_go(self, record: Record, item_id: str, because: str) -> bool:
        gone = super()._let_go(record, item_id, because)
        if gone:
            self._backend.delete(item_id)
        return gone


class Tiers:
    """The three tiers of one memory. A project and what is global can have a backend of the caller's own beside them."""

    def __init__(self, memory: Memory, backends: Mapping[str, Any] | None = None) -> None:
        self._memory = memory.through(memory.access)
        lanes = {lane.name for lane in memory.design.lanes}
        mine = memory.design.name not in DESIGNS or lanes.issuperset(NAMES)  # of the user's own, or with these tiers
        self._memory.design = memory.design if mine else setup.tuned(TIERS, settings.load())
        own = dict(backends or {})
        self.project = self._items(memory.home, own.pop("project", None))
        self.everywhere = self._items(GLOBAL, own.pop("global", None))
        if own:
            raise Invalid(f"there is no lasting tier {next(iter(own))!r:.60}; a backend is for project or global")

    def _items(self, scope: str, backend: Any) -> Items:
        return Items(self._memory, scope) if backend is None else Mirrored(self._memory, scope, backend)

    def task(self, task_id: str) -> TaskItems:
        return TaskItems(self._memory, task_id)

    # ------------------------------------------------------------ the project

    def add_decision(self, decision: str, tags: Sequence[str] = ()) -> ContextItem | None:
        return self._add(self.project, "decision", decision, tags)

    def add_convention(self, convention: str, scope: str) -> ContextItem | None:
        return self._add(self.project, "convention", convention, [scope], scope=scope)

    def add_failure(self, failure: Any, lesson: str) -> ContextItem | None:
        """`failure` says how it failed; its `code` becomes a tag."""
        said = data_of(failure)
        code = str(said.get("code", "") if isinstance(said, Mapping) else said)
        payload = {"failure": said, "lesson": lesson}
        tags = ("project", "failure", *([code] if 0 < len(code) <= checks.LONGEST_LABEL else []))
        item = ContextItem(payload, kind="failure", source=self.project.scope, tags=tags)
        return self.project.add(item)

    def query_decisions(self, tags: Sequence[str] | None = None) -> builtins.list[ContextItem]:
        return _query(self.project, "decision", tags)

    def query_conventions(self, scope: str | None = None) -> builtins.list[ContextItem]:
        return _query(self.project, "convention", None if scope is None else [scope])

    def query_failures(self, code: str | None = None) -> builtins.list[ContextItem]:
        """Also what was remembered as an error, without these verbs."""
        return _query(self.project, {"$in": ["failure", "error"]}, None if code is None else [code])

    def remember(self, said: str) -> ContextItem | None:
        """Keeps free text such as "remember this: …": in the project, or globally if it is an obvious preference."""
        meant = override_of(said)
        items = self.everywhere if meant.scope == GLOBAL else self.project
        tags = (meant.scope, meant.kind, meant.severity, *([meant.target] if meant.target else []))
        return items.add(ContextItem(meant.text, kind=meant.kind, source=items.scope, tags=tags))

    # ------------------------------------------------------------ everywhere

    def add_preference(self, preference: str, category: str, require_confirmation: bool = True) -> ContextItem | None:
        """None if the person declined or could not be asked. Whatever `require_confirmation` says, they are asked: what
        would stand in the prompts of every project is theirs to decide."""
        return self._add(self.everywhere, "preference", preference, [category], category=category)

    def add_pattern(self, pattern: str, domain: str) -> ContextItem | None:
        return self._add(self.everywhere, "pattern", pattern, [domain], domain=domain)

    def clear_all(self) -> bool:
        """Archives all that is global. False: a person has to agree first, or did not."""
        return self.everywhere.clear()

    def query_preferences(self, category: str | None = None) -> builtins.list[ContextItem]:
        return _query(self.everywhere, "preference", None if category is None else [category])

    def query_patterns(self, domain: str | None = None) -> builtins.list[ContextItem]:
        return _query(self.everywhere, "pattern", None if domain is None else [domain])

    # ------------------------------------------------------------ the prompt, and the end of a task

    def build_context(
        self,
        task: Any,
        request: Any,
        budget: int | None = None,
        shares: Mapping[str, float] | None = None,
        **more: Any,
    ) -> ContextPackage:
        """The three tiers within a budget, else the one chosen for the project or the design's: each with its share, 40 % task,
        40 % project, 20 % global unless `shares` says otherwise. `more` are other arguments of `Memory.context`: style,
        profile, mode, files … `task` is an id, or what has a `task_id`; `request` the question, or what has it as its `query`
        or `text`, if it has one, and perhaps `budget_tokens`."""
        task_id = str(_said(task, "task_id") or "")
        plainly = request is None or isinstance(request, str)
        asked = request if plainly else _said(request, "query", "text") or ""
        tokens = budget if plainly or budget is not None else _said(request, "budget_tokens")
        made = self._memory.context(asked, task=task_id, budget=tokens, shares=shares, **more)
        of = {self.project.scope: self.project, GLOBAL: self.everywhere}
        items = tuple(of.get(hit.record.scope, self.project)._item(hit.record) for hit in made.items)
        return ContextPackage(f"ctx-{task_id}", items, made.text, made.tokens, made.compression_ratio, made.receipt)

    def cleanup_task(self, task_id: str, outcome: str = "done", keep: Sequence[str] = ()) -> Report:
        """Ends a task: the items named in `keep` and the pinned ones move to the project, the rest goes to the archive."""
        task = self.task(task_id)
        found = {id: task._find(id) for id in keep}
        missing = next((id for id, record in found.items() if record is None), None)
        if missing is not None:
            raise Invalid(f"{task.scope} has no item {missing[:60]!r}; list_all() names them")
        return self._memory.finish(task.scope, outcome, keep=[record.id for record in found.values() if record])

    def _add(self, items: Items, kind: str, text: str, tags: Sequence[str], **more: str) -> ContextItem | None:
        tier = "global" if items.scope == GLOBAL else "project"
        return items.add(ContextItem({kind: text, **more}, kind=kind, source=items.scope, tags=(tier, kind, *tags)))


def _said(given: Any, *names: str) -> Any:
    """The first of these fields that an object or a dict has; a plain value is what it says itself."""
    if isinstance(given, str | int):
        return given
    told = given if isinstance(given, Mapping) else {name: getattr(given, name, None) for name in names}
    return next((told[name] for name in names if told.get(name) is not None), None)


def _query(items: Items, kind: Any, tags: Sequence[str] | None) -> builtins.list[ContextItem]:
    return items.query({"kind": kind} | ({"tags": list(tags)} if tags else {}), limit=100)


# ---------------------------------------------------------------- overrides


@dataclass(frozen=True, slots=True)
class Override:
    """How free text is to be remembered."""

    text: str
    kind: str
    scope: Literal["project", "global"]
    target: str | None  # the file it is about
    severity: Severity


def override_of(said: str) -> Override:
    """Reads a kind, a scope, a target and a severity from "remember this …". The scope is the project, except for an obvious
    preference of the user, which is global; "for this project only" and "for all projects" decide. A person is asked about
    what would stand in the prompts of every project.

    >>> override_of("Remember this: I prefer tabs")
    Override(text='I prefer tabs', kind='preference', scope='global', target=None, severity='medium')
    >>> override_of("remember that we never edit schema.sql by hand").target
    'schema.sql'
    """
    text, place = wished(said)
    kind = next(iter(kinds_in(text)), "fact")
    file = _FILE.search(text)
    severity: Severity = "high" if _SERIOUS.search(text) else "low" if _MILD.search(text) else "medium"
    scope = place or ("global" if kind == "preference" else "project")
    return Override(text, kind, scope, file[0] if file else None, severity)
