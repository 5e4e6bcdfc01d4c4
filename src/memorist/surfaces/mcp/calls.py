"""One tool call, without the protocol: reads the arguments, calls the verb and shapes the answer.

An error is an answer too, marked as one: it states the fact and what to do next, in words that fit this surface. The
engine names verbs and their arguments; an agent has only some of them, as tools under other names. A verb without a
tool here is something that a person does at a shell.
"""

import hashlib
import json
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from memorist import seeds
from memorist.commands import VERBS
from memorist.errors import Conflict, Invalid, MemoristError, OutOfScope, meant
from memorist.memory import Memory
from memorist.records import Outcome, Record, Report, memories
from memorist.remember.consent import shown_in_question
from memorist.session.lease import StillHeld
from memorist.store.nouns import parts
from memorist.store.where import Order
from memorist.surfaces import wire
from memorist.surfaces.mcp import graph, shapes
from memorist.surfaces.mcp.projects import Served
from memorist.surfaces.mcp.tools import Tool
from memorist.text.visible import quoted, visible

log = logging.getLogger("memorist")
Opening = Callable[[], AbstractContextManager[Served]]
FOUND = 10  # results of `search`
SAME = 60.0  # seconds in which the same vote again counts as sent twice
VOTES_KNOWN = 1000
TAKES_BACK = ("undone", "erased")  # verbs of the journal
LOOKED_UP = 500  # records read at once
# The tool that finds memories, under its name in each profile.
FINDING = ("memory_search", "memory_query", "memory", "search_nodes", "search")
FINDS, SHOWS = "{} finds memories and their ids", "{} shows one as it is now"
NEXT: Mapping[str, tuple[str, tuple[str, ...]]] = {  # advice for an error, with the first of these tools that the profile has
    "not_found": (FINDS, FINDING), "ambiguous": (SHOWS, ("memory_get",)), "conflict": (SHOWS, ("memory_get",)),
}  # fmt: skip
VERB = re.compile(r"`([a-z_]+)`")
ADVISING = ("because", "advice", "notes")  # the fields of an answer that say what to do next
LISTED = "; `list` shows what is"  # replaced by the name of the tool that finds them
USERS = ", which are read where the user is named (user=, --user)"
MORE = "remember(messages, session=…)"
REVISED = re.compile(r"(?<=nothing to revise was given; name )a text, .*")
NOT_REVISED = ("id", "expected_version", "because", "project")  # arguments that say how to revise, not what to change


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's answer: JSON, the same as a text, whether it failed, and the question that waits for a person."""

    said: dict[str, Any]
    text: str
    failed: bool = False
    pending: str | None = None


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a person is asked before something is destroyed, and the versions of the memories that this is about. Without any
    there is nothing to ask."""

    question: str
    versions: Mapping[str, int]

    @property
    def mark(self) -> str:
        """Stands for these memories in these versions."""
        return hashlib.sha256(json.dumps(sorted(self.versions.items())).encode()).hexdigest()


NOTHING = Confirmation("", {})


class Calls:
    """The calls of one server. It remembers recent votes, so that a vote that was sent twice counts once."""

    def __init__(self, offered: Mapping[str, Tool], wrote: Callable[[Memory], None] = lambda memory: None) -> None:
        self._offered, self._wrote = offered, wrote
        self._votes: OrderedDict[str, tuple[float, ToolAnswer]] = OrderedDict()
        self._voting = threading.Lock()

    def answer(self, tool: Tool, given: Mapping[str, Any], served: Opening, agreed: str | None = None) -> ToolAnswer:
        """Answers a call, whatever happens. If a person was asked about it first, `agreed` is the mark of what they agreed to."""
        place: Served | None = None
        try:
            with served() as place:
                return self._performed(tool, given, place, agreed)
        except StillHeld:  # which a server tries again
            raise
        except Exception as error:
            return self.failure(error, place, tool)

    def failure(self, error: Exception, place: Served | None, tool: Tool | None = None) -> ToolAnswer:
        """An error, with what to do next."""
        told = wire.problem(error)
        if told.code == "fault":
            log.error("a tool failed", exc_info=error)
        detail = told.detail if place is None else place.renamed(told.detail)
        takes = {} if tool is None else tool.input["properties"]
        detail = _fitted(_revisable(detail, takes), self._offered, takes)
        words, tools = NEXT.get(told.code, ("", ()))
        advice = next((f"; {words.format(name)}" for name in tools if name in self._offered), "")
        where = f" (project {place.name})" if place is not None else ""
        said = f"{told.code}: {visible(detail)}{advice}{where}"
        return ToolAnswer({}, said, failed=True)

    def confirmation(self, tool: Tool, given: Mapping[str, Any], served: Opening) -> Confirmation:
        """What to ask a person before this call destroys something."""
        try:
            with served() as place:
                return _confirmation(tool, given, place.memory)
        except (MemoristError, OSError):
            return NOTHING  # the call itself will report what is wrong

    def told(self, outcome: str, because: str, served: Opening, pending: str | None = None) -> ToolAnswer:
        """An outcome that no verb returned."""
        try:
            with served() as place:
                said = {"outcome": outcome, "because": because} | ({"pending": pending} if pending else {})
                said["project"] = place.name
                return ToolAnswer(said, _text("outcome", said), pending=pending)
        except (MemoristError, OSError) as error:
            return self.failure(error, None)

    def decided(self, pending: str, approve: bool, served: Opening) -> ToolAnswer:
        """Carries out a person's decision on a question, as that person's act."""
        try:
            with served() as place:
                person = place.memory.through(replace(place.memory.access, origin="user"))
                done = person.review(pending, decide="approve" if approve else "deny")
                self._wrote(place.memory)
                return self._said("any", done, place, ())
        except MemoristError as error:
            return self.failure(error, None)

    # ------------------------------------------------------------ one call

    def _performed(self, tool: Tool, given: Mapping[str, Any], served: Served, agreed: str | None) -> ToolAnswer:
        _check_names(tool, given)
        if tool.act != "reads" and not served.real:
            raise OutOfScope(f"this server does not write to project {quoted(served.name)}; leave the project out")
        if tool.verb != "feedback":
            return self._called(tool, given, served, agreed)
        who, gone = served.memory.access, _taken_back(given, served.memory)
        vote = json.dumps([who.space, who.actor, served.name, given, gone], sort_keys=True, default=str)
        with self._voting:  # held while counting too: the same vote may arrive twice at once
            at, known = self._votes.get(vote, (0.0, None))
            if known is None or time.monotonic() - at >= SAME:
                known = self._called(tool, given, served)
                self._votes[vote] = time.monotonic(), known
                while len(self._votes) > VOTES_KNOWN:
                    self._votes.popitem(last=False)
            return known

    def _called(self, tool: Tool, given: Mapping[str, Any], served: Served, agreed: str | None = None) -> ToolAnswer:
        memory = served.memory
        value = _value(tool, given, memory) if agreed is None else _as_agreed(tool, given, memory, agreed)
        if tool.act != "reads":
            self._wrote(served.memory)
        return self._said(tool.gives, value, served, tool.input["properties"])

    def _said(self, gives: str, value: Any, served: Served, takes: Container[str]) -> ToolAnswer:
        value = _numbered(value, served.memory) if isinstance(value, Report) else value
        said = _fitted_answer(shapes.SHAPES[gives].write(value, served.memory.home), self._offered, takes)
        if gives == "sessions":
            _count_turns(said["memories"], value, served.memory)
        if not served.real:
            said = _renamed(said, served)
        said["project"] = served.name
        pending = value.pending if isinstance(value, Outcome | Report) else None
        refused = isinstance(value, Outcome) and value.outcome == "refused"
        return ToolAnswer(said, _text(gives, said), refused, pending)


def may_destroy(tool: Tool, given: Mapping[str, Any]) -> bool:
    """Whether this call may destroy something, so that a person is asked about it where one can be."""
    forgets = tool.by != "associative" or given.get("action") == "forget"
    return tool.act == "destroys" and forgets and not given.get("dry_run")


def _confirmation(tool: Tool, given: Mapping[str, Any], memory: Memory) -> Confirmation:
    """It is about all that would be destroyed if the person agrees to what is theirs, too."""
    person = memory.through(replace(memory.access, origin="user"))
    if tool.by == "graph":
        found = graph.CONCERNED[tool.verb](person, **given)
        shown = f": {shown_in_question(json.dumps(given, ensure_ascii=False))}, which concerns {memories(len(found))}"
    else:
        verb, said = ("forget", {"id": given["id"]}) if tool.by == "associative" else (tool.verb, given)
        plan = wire.call(person, verb, {**wire.arguments(verb, said), "dry_run": True})
        found = _records(person, [each.id for each in plan.changed])
        shown = _shown(found, None if said.get("id") is None else person._must_get(said["id"]))
    return Confirmation(f"{tool.title}{shown}", {each.id: each.version for each in found})


def _records(memory: Memory, ids: Sequence[str]) -> list[Record]:
    by = memory._caller
    return [record for some in parts(ids, LOOKED_UP) for record in by.store.get(some, by.where)]


def _shown(found: Sequence[Record], named: Record | None) -> str:
    """The memory that was named, and how many go with it; or how many there are. A past text is no memory of its own."""
    count = sum(record.superseded_by is None for record in found)
    if named is None:
        return f": {memories(count)}"
    more = f", and {memories(count - 1)} derived from it" if count > 1 else ""
    return f" [id:{named.number}]: {shown_in_question(named.text)}{more}"


def _as_agreed(tool: Tool, given: Mapping[str, Any], memory: Memory, agreed: str) -> Any:
    """Does what a person agreed to: on the memories they were asked about, in those versions, or not at all."""
    at_once = nullcontext() if tool.verb == "erase" else memory._writer.transaction()  # an erasure cleans files, too
    with at_once:
        now = _confirmation(tool, given, memory)
        if now.mark != agreed:
            raise Conflict(
                "what the person was asked about has changed since, so nothing was done; call again to ask anew"
            )
        return _value(tool, given, memory._as_shown(now.versions))


def _taken_back(given: Mapping[str, Any], memory: Memory) -> list[int]:
    """The numbers of the events after which an earlier vote on this memory may count no more."""
    events = memory._caller.store.journal(record=memory._must_get(given["id"]).id)
    return [event.seq for event in events if event.verb in TAKES_BACK]


def _value(tool: Tool, given: Mapping[str, Any], memory: Memory) -> Any:
    if tool.by == "memory":
        answer = wire.call(memory, tool.verb, wire.arguments(tool.verb, given))
        return wire.without_places(tool.verb, answer)
    if tool.by == "seed":
        method = getattr(seeds.hebbian, tool.verb)
        return method(seeds.hebbian(memory), **wire.arguments_for(method, given))
    if tool.by == "associative":
        return seeds.associative(memory).memory(**given)
    if tool.by == "graph":
        return graph.GRAPH_TOOLS[tool.verb](memory, **given)
    if tool.verb == "latest":
        return _latest(memory, given["limit"])
    return memory.recall(given["query"], limit=FOUND) if tool.verb == "search" else memory.get(given["id"])


def _latest(memory: Memory, limit: int) -> list[Record]:
    """The latest memories of the kinds that recall finds: no turns, no tasks, none of the engine's own."""
    by = memory._caller
    where = by.where.also("state", "eq", "active")
    for kind in by.tools.kinds.values():
        where = where if kind.recalled else where.also("kind", "ne", kind.name)
    return memory._read(by.store.find(where, Order("at"), limit))


def _numbered(report: Report, memory: Memory) -> Report:
    """A report that lists what it left unchanged by the numbers that tools take as ids."""
    by = memory._caller if report.left else None
    known = {} if by is None else {each.id: str(each.number) for each in by.store.get([*report.left], by.where)}
    return replace(report, left={known.get(id, id): why for id, why in report.left.items()})


def _count_turns(shown: list[dict[str, Any]], records: list[Record], memory: Memory) -> None:
    for each, record in zip(shown, records, strict=True):
        each["turns"] = memory.count({"session": record.title, "kind": "turn", "scope": record.scope})


def _check_names(tool: Tool, given: Mapping[str, Any]) -> None:
    """Refuses unknown arguments by name, in terms of the tool."""
    takes = tool.input
    names = [*takes["properties"]]
    unknown = [name for name in given if name not in names]
    if unknown:
        named = ", ".join(quoted(name) for name in unknown[:10])
        raise Invalid(f"{tool.name} has no argument {named}{meant(unknown[0], names)}; it takes {', '.join(names)}")
    missing = [name for name in takes.get("required", ()) if name not in given]
    if missing:
        raise Invalid(f"{tool.name} needs {', '.join(missing)}; it takes {', '.join(names)}")
    if tool.by == "memory":
        _check_texts(tool, given)


def _check_texts(tool: Tool, given: Mapping[str, Any]) -> None:
    """Refuses anything but a text where this tool takes only a text, though its verb takes more."""
    other = [name for name in tool.types if name in given and not isinstance(given[name], str)]
    if other:
        raise Invalid(
            f"{other[0]} must be a text, not {quoted(given[other[0]])}; {tool.name} keeps one memory at a time"
        )


def _text(gives: str, said: Mapping[str, Any]) -> str:
    """The answer for clients that show text: prose where it is prose, else the JSON itself."""
    if gives == "context" and said.get("text"):
        named = [f"{name} {said[name]}" for name in ("project", "receipt") if name in said]
        return f"{said['text'].rstrip()}\n\n({', '.join(named)})"
    if gives == "said" and said.get("text"):
        return str(said["text"])
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def _renamed(value: Any, served: Served) -> Any:
    if isinstance(value, str):
        return served.renamed(value)
    if isinstance(value, dict):
        return {key: _renamed(each, served) for key, each in value.items()}
    return [_renamed(each, served) for each in value] if isinstance(value, list) else value


# ---------------------------------------------------------------- the next step


def _fitted(said: str, offered: Container[str], takes: Container[str] = ()) -> str:
    """Rewrites the engine's words for a tool with these arguments, naming only tools that are offered."""
    users = ", which are read where `user` names theirs" if "user" in takes else ", which this tool does not read"
    said = said.replace(LISTED, "").replace(USERS, users).replace(MORE, "memory_session_turn")
    return VERB.sub(lambda found: _at_this_door(found[1], offered) or found[0], said)


def _at_this_door(verb: str, offered: Container[str]) -> str | None:
    known = VERBS.get(verb)
    if known is None:
        return None
    return str(known.tool) if known.tool in offered else known.command and f"`memorist {known.command}`"


def _fitted_answer(said: Mapping[str, Any], offered: Container[str], takes: Container[str]) -> dict[str, Any]:
    """An answer whose advice fits this surface. A batch is named for the tool that takes it back."""

    def fit(name: str, value: Any) -> Any:
        if name in ADVISING and isinstance(value, str):
            return _fitted(value, offered, takes)
        return [fit(name, each) for each in value] if name in ADVISING and isinstance(value, list) else value

    return {name: fit(name, each) for name, each in said.items() if name != "batch" or "memory_undo" in offered}


def _revisable(said: str, takes: Mapping[str, Any]) -> str:
    """What can be revised, by the names of the tool's own arguments."""
    return REVISED.sub(", ".join(name for name in takes if name not in NOT_REVISED), said)
