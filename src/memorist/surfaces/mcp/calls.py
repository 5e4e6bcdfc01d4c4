"""One tool call, without the protocol: reads the arguments, calls the verb and shapes the answer.

An error is an answer too, marked as one: it states the fact and what to do next, in words that fit this surface. The
engine names verbs and their arguments; an agent has only some of them, as tools under other names. A verb without a
tool here is something that a person does at a shell.
"""

import json
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from memorist import seeds
from memorist.commands import VERBS
from memorist.errors import Invalid, MemoristError, OutOfScope, meant
from memorist.memory import Memory
from memorist.records import Outcome, Record, Report, memories
from memorist.remember.consent import shown_in_question
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


class Calls:
    """The calls of one server. It remembers recent votes, so that a vote that was sent twice counts once."""

    def __init__(self, offered: Mapping[str, Tool], wrote: Callable[[Memory], None] = lambda memory: None) -> None:
        self._offered, self._wrote = offered, wrote
        self._votes: OrderedDict[str, tuple[float, ToolAnswer]] = OrderedDict()
        self._voting = threading.Lock()

    def answer(self, tool: Tool, given: Mapping[str, Any], served: Opening) -> ToolAnswer:
        """Answers a call, whatever happens."""
        place: Served | None = None
        try:
            with served() as place:
                return self._performed(tool, given, place)
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

    def question(self, tool: Tool, given: Mapping[str, Any], served: Opening) -> str | None:
        """What to ask a person before something is destroyed; None where there is nothing to ask about."""
        if given.get("dry_run"):
            return None
        try:
            with served() as place:
                return _question(tool, given, place.memory)
        except (MemoristError, OSError):
            return None  # the call itself will report what is wrong

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

    def _performed(self, tool: Tool, given: Mapping[str, Any], served: Served) -> ToolAnswer:
        _check_names(tool, given)
        if tool.act != "reads" and not served.real:
            raise OutOfScope(f"this server does not write to project {quoted(served.name)}; leave the project out")
        if tool.verb != "feedback":
            return self._called(tool, given, served)
        who = served.memory.access
        vote = json.dumps([who.space, who.actor, served.name, given], sort_keys=True, default=str)
        with self._voting:  # held while counting too: the same vote may arrive twice at once
            at, known = self._votes.get(vote, (0.0, None))
            if known is None or time.monotonic() - at >= SAME:
                known = self._called(tool, given, served)
                self._votes[vote] = time.monotonic(), known
                while len(self._votes) > VOTES_KNOWN:
                    self._votes.popitem(last=False)
            return known

    def _called(self, tool: Tool, given: Mapping[str, Any], served: Served) -> ToolAnswer:
        value = _value(tool, given, served.memory)
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


def _question(tool: Tool, given: Mapping[str, Any], memory: Memory) -> str | None:
    if tool.by == "graph":
        return f"{tool.title}: {shown_in_question(json.dumps(given, ensure_ascii=False))}"
    if tool.by == "associative" and given.get("action") != "forget":
        return None
    if "id" in given and given.get("where") is None:
        record = memory._must_get(given["id"])
        return f"{tool.title} [id:{record.number}]: {shown_in_question(record.text)}"
    plan = wire.call(memory, tool.verb, {**wire.arguments(tool.verb, given), "dry_run": True})
    return f"{tool.title}: {memories(len(plan.changed))}" if plan.changed else None


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
