"""One tool for everything, `memory {action: …}`: the associative design as it was first written down.

    remember   content, category, scope, tags       keeps it
    recall     query, mode recent | semantic | cascade   what matters; without a query the latest, or what the session asks for
    search     query                                all that fits, without a gate
    list       tag                                  those that matter most, of one tag
    forget     id                                   hides it; a person can restore it
    link       from, to, relation, weight           relates two
    tag        id, tags                             adds tags
    related    id, depth                            what hangs together with it

A memory of any design can be passed in. Questions are answered by its own design if that follows links, else by `associative`.
"""

import builtins
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, overload

from memorist import checks, scoring, setup
from memorist.access import GLOBAL, Access
from memorist.design import Design
from memorist.designs import ASSOCIATIVE
from memorist.errors import Invalid, meant
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.memory import Memory
from memorist.recall.stages.cascade import Cascade
from memorist.recall.stages.judge import Judge
from memorist.recall.stages.keep import KeepClose
from memorist.records import LINK_KINDS, Hit, LinkKind, Outcome, Record, Reference
from memorist.remember.authority import least
from memorist.surfaces import settings
from memorist.text.injection import LABEL, suspect
from memorist.text.visible import quoted, visible

CATEGORIES: Mapping[str, str] = MappingProxyType(
    {name: name for name in ("fact", "preference", "entity", "correction", "procedure")} | {"negative": "warning"}
)
RECALL_MODES = ("recent", "semantic", "cascade")
SCOPE_NAMES = ("project", "global", "session", "all")
LINK_WEIGHT = 0.5  # of a link, where nothing is said
WALK_STEPS = 2
BEST_FOUND, LATEST, MOST_ENTRIES = 10, 20, 100  # memories of an answer: of a question, of a list, at all
NOTHING_THERE = "nothing is remembered there yet"
COMPARED = 1000  # the latest, of which a list has the best


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """A memory in the columns of the founding document. `str(entry)` is the line for the agent."""

    id: int
    content: str
    category: str
    scope: str
    tags: tuple[str, ...]
    confidence: float
    strength: int
    access_count: int
    provenance: str
    trust: str
    created_at: str
    score: float | None = None
    suspect: bool = False  # it reads like instructions to a model

    def __str__(self) -> str:
        score = "" if self.score is None else f" {self.score:.3f}"
        doubts = ", low trust" * (self.trust == "low") + f", {LABEL}" * self.suspect
        body = visible(self.content).strip().replace("\n", "\n  ")  # no line of a text may look like the next result
        tags = "".join(f" #{visible(tag)}" for tag in self.tags)
        return f"[id:{self.id}]{score} ({self.category}, {visible(self.scope)}{doubts}) {body}{tags}"


@dataclass(frozen=True, slots=True)
class ActionAnswer(Sequence[MemoryEntry]):
    """What the tool says to one action, with the memories that it is about. `str(answer)` is the text for the agent."""

    action: str
    entries: tuple[MemoryEntry, ...] = ()
    outcome: str | None = None  # of what was done, and why
    because: str | None = None
    advice: str | None = None

    @overload
    def __getitem__(self, index: int) -> MemoryEntry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[MemoryEntry, ...]: ...
    def __getitem__(self, index: int | slice) -> MemoryEntry | tuple[MemoryEntry, ...]:
        return self.entries[index]

    def __len__(self) -> int:
        return len(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries) or self.outcome in SUCCEEDED

    def __str__(self) -> str:
        if self.outcome is None:
            return "\n".join(map(str, self.entries)) or f"Nothing found: {visible(self.because or 'nothing is there')}."
        about = "".join(f" [id:{each.id}]" for each in self.entries)
        advice = f" ({visible(self.advice)})" if self.advice else ""
        return f"{self.outcome}{about}: {visible(self.because or '')}{advice}"


SUCCEEDED = ("added", "reinforced", "restored", "repeated", "changed", "unchanged")


class Associative:
    """The tool. What it writes has the origin `agent`, even if a user opened the memory."""

    def __init__(self, memory: Memory) -> None:
        origin = least("agent", memory.access.origin)
        self._memory = memory.through(replace(memory.access, origin=origin))
        self._memory.design = _following_links(memory.design)

    def memory(self, action: str, **given: Any) -> ActionAnswer:
        """Does what `action` names, with the arguments of that action.

        >>> tool = Associative(Memory(":memory:"))
        >>> print(tool.memory("remember", content="Staging runs Postgres 16", tags=["db"]))
        added [id:1]: nothing like it was there
        >>> print(tool.memory("list", tag="db"))
        [id:1] (fact, project/default) Staging runs Postgres 16 #db
        """
        act = _checked(action, given)
        said = {RENAMED.get(name, name): value for name, value in given.items() if value is not None}
        return act.does(self, **said)

    # ------------------------------------------------------------ writing

    def remember(
        self,
        content: str,
        category: str = "fact",
        scope: str = "project",
        tags: str | Sequence[str] = (),
        session: str | None = None,
        triggers: Sequence[str] = (),
    ) -> ActionAnswer:
        """Keeps it. `triggers` are words on which a warning or a procedure comes up by itself."""
        if not isinstance(category, str) or category not in CATEGORIES:
            raise Invalid(f"there is no category {quoted(category)}; categories are {', '.join(CATEGORIES)}")
        if scope == "all":
            raise Invalid("a memory is kept in one scope; scopes to keep it in are project, global and session")
        done = self._memory.remember(
            content,
            kind=CATEGORIES[category],
            scope=self._place(scope, session),
            tags=_tags(tags),
            session=session,
            data={"triggers": triggers} if triggers else None,
        )
        return self._done("remember", done)

    def forget(self, id: Reference) -> ActionAnswer:
        return self._done("forget", self._memory.forget(id, because="forgotten by the agent"))

    def link(
        self, a: Reference, b: Reference, relation: str = "relates_to", weight: float = LINK_WEIGHT
    ) -> ActionAnswer:
        """Relates two. A relation that is none of the engine's kinds is a plain one, with that word as its evidence."""
        kind = _kind(checks.label(relation, "relation"))
        evidence = relation if kind is None else None
        return self._done("link", self._memory.link(a, b, kind or "relates_to", weight=weight, evidence=evidence))

    def tag(self, id: Reference, tags: str | Sequence[str]) -> ActionAnswer:
        return self._done("tag", self._memory.tag(id, *_tags(tags)))

    # ------------------------------------------------------------ reading

    def recall(
        self,
        query: str | None = None,
        mode: str | None = None,
        limit: int = BEST_FOUND,
        scope: str = "all",
        session: str | None = None,
    ) -> ActionAnswer:
        """What matters for a question. Without one: what the last turns of `session` ask for, or else the latest memories."""
        manner = mode or ("cascade" if query or session else "recent")
        checks.one_of(manner, "mode", RECALL_MODES)
        if manner == "recent":
            latest = self._known({}, checks.whole(limit, "limit", 1, MOST_ENTRIES), scope, session)
            return ActionAnswer("recall", tuple(map(self._entry, latest)), because=NOTHING_THERE)
        if query is None and session is None:
            raise Invalid(f"mode {manner} needs a query, or the session whose last turns are one; or mode recent")
        dropped = (Cascade,) if manner == "semantic" else ()
        return self._found("recall", query, dropped, limit, scope, session)

    def search(self, query: str, limit: int = LATEST, scope: str = "all", session: str | None = None) -> ActionAnswer:
        """All that fits, the best first: neither a judge nor the gate that keeps only the best takes anything out."""
        return self._found("search", query, (Cascade, Judge, KeepClose), limit, scope, session)

    def list(
        self, tag: str | None = None, limit: int = LATEST, scope: str = "all", session: str | None = None
    ) -> ActionAnswer:
        """What matters most, also where nothing is asked: by age, use, category, trust and how often it was said."""
        most = checks.whole(limit, "limit", 1, MOST_ENTRIES)
        known = self._known({} if tag is None else {"tags": [tag]}, COMPARED, scope, session)
        now = self._memory._tools.clock()
        best = sorted(known, key=lambda record: (-scoring.listed(record, now), -record.number))[:most]
        return ActionAnswer("list", tuple(map(self._entry, best)), because=NOTHING_THERE)

    def related(self, id: Reference, depth: int = WALK_STEPS, limit: int = BEST_FOUND) -> ActionAnswer:
        hits = self._memory.related(id, depth=depth, limit=checks.whole(limit, "limit", 1, MOST_ENTRIES))
        return ActionAnswer("related", self._entries(hits), because="nothing hangs together with it yet")

    # ------------------------------------------------------------ what they share

    def _found(
        self,
        action: str,
        query: str | None,
        without: tuple[type, ...],
        limit: int,
        scope: str,
        session: str | None,
    ) -> ActionAnswer:
        usual = self._memory.design
        door = self._memory.through(self._memory.access)
        door.design = replace(usual, recall=tuple(each for each in usual.recall if not isinstance(each, without)))
        place = None if scope == "all" else self._place(scope, session)
        some = checks.whole(limit, "limit", 1, MOST_ENTRIES)
        found = door.recall(query, limit=some, scope=place, session=session)
        return ActionAnswer(action, self._entries(found), because=found.empty_because)

    def _known(self, where: Mapping[str, Any], limit: int, scope: str, session: str | None) -> builtins.list[Record]:
        kinds = [kind.name for kind in self._memory._tools.kinds.values() if kind.recalled and kind.layer == MEMORY]
        scopes = self._read(session) if scope == "all" else [self._place(scope, session)]
        wanted = {"kind": {"$in": kinds}, "scope": {"$in": scopes}, **where}
        return self._memory.list(wanted, limit=limit)

    def _read(self, session: str | None) -> builtins.list[str]:
        who: Access = self._memory.access
        named = [self._memory.home, GLOBAL, *([f"session/{session}"] if session else [])]
        return [each for each in named if who.may_read(each, who.home_of(each))]

    def _place(self, scope: str, session: str | None) -> str:
        checks.one_of(scope, "scope", SCOPE_NAMES)
        if scope == "session":
            if session is None:
                raise Invalid("scope session needs the session; name it")
            return f"session/{session}"
        return GLOBAL if scope == "global" else self._memory.home

    def _done(self, action: str, done: Outcome) -> ActionAnswer:
        about = () if done.record is None else (self._entry(done.record),)
        return ActionAnswer(action, about, done.outcome, done.because, done.advice)

    def _entries(self, hits: Iterable[Hit]) -> tuple[MemoryEntry, ...]:
        return tuple(self._entry(hit.record, hit.score) for hit in hits)

    def _entry(self, record: Record, score: float | None = None) -> MemoryEntry:
        return MemoryEntry(
            id=record.number,
            content=record.text,
            category=record.kind,
            scope=record.scope,
            tags=record.tags,
            confidence=record.confidence,
            strength=record.counters.strength,
            access_count=record.counters.used,
            provenance=record.origin,
            trust=record.trust,
            created_at=record.times.at.isoformat(),
            score=score,
            suspect=suspect(record),
        )


@dataclass(frozen=True, slots=True)
class Action:
    """What an action does, what it takes, and what of that it cannot do without."""

    does: Callable[..., ActionAnswer]
    takes: tuple[str, ...]
    needs: tuple[str, ...] = ()


RENAMED = {"from": "a", "to": "b"}  # the founding document's names that cannot be ours
ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        name: Action(getattr(Associative, name), tuple(takes.split()), tuple(needs.split()))
        for name, takes, needs in (
            ("remember", "content category scope tags session triggers", "content"),
            ("recall", "query mode limit scope session", ""),
            ("search", "query limit scope session", "query"),
            ("list", "tag limit scope session", ""),
            ("forget", "id", "id"),
            ("link", "from to relation weight", "from to"),
            ("tag", "id tags", "id tags"),
            ("related", "id depth limit", "id"),
        )
    }
)
CALL_EXAMPLE = '{"action": "recall", "query": "which database?"}'


def _checked(action: str, given: Mapping[str, Any]) -> Action:
    """The action of that name, which takes what was given."""
    if not isinstance(action, str) or action not in ACTIONS:
        raise Invalid(f"there is no action {quoted(action)}; actions are {', '.join(ACTIONS)}")
    act = ACTIONS[action]
    unknown = next((name for name in given if name not in act.takes), None)
    if unknown is not None:
        raise Invalid(
            f"{action} takes no {quoted(unknown)}{meant(unknown, act.takes)}; it takes {', '.join(act.takes)}"
        )
    missing = [name for name in act.needs if given.get(name) is None]
    if missing:
        raise Invalid(f"{action} needs {', '.join(missing)}; it takes {', '.join(act.takes)}")
    return act


def call_of(said: str) -> dict[str, Any]:
    """What a line such as `{"action": "list", "tag": "db"}` asks for."""
    try:
        call = json.loads(said)
    except (ValueError, RecursionError) as problem:
        raise Invalid(f"the call is not JSON: {problem}; write {CALL_EXAMPLE}") from problem
    if not isinstance(call, dict) or not isinstance(call.get("action"), str):
        raise Invalid(f"a call is an object with an action, such as {CALL_EXAMPLE}")
    return call


def _kind(relation: str) -> LinkKind | None:
    plain = relation.replace("_", "").replace("-", "").replace(" ", "").lower()
    return next((kind for kind in LINK_KINDS if kind.replace("_", "") == plain), None)


def _tags(given: str | Sequence[str]) -> builtins.list[str]:
    """Words with commas between them, or a list, which the gate checks."""
    words = [word.strip() for word in given.split(",") if word.strip()] if isinstance(given, str) else given
    return list(checks.labels(words, "tags"))


def _following_links(design: Design) -> Design:
    if any(isinstance(stage, Cascade) for stage in design.recall):
        return design
    return setup.tuned(ASSOCIATIVE, settings.load())
