"""The tools that agents see, as data. A tool is a verb of `Memory` under the name it has in `commands.py`.

The arguments of a verb come from the facade's signature. The eight default tools take only what an agent needs, in few
words, because every client sends the whole list to its model with each conversation. The profile `all` has every verb
with all of its arguments.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from memorist.commands import SESSION_PARTS, VERBS
from memorist.surfaces import wire
from memorist.surfaces.mcp import shapes

Act = Literal["reads", "writes", "destroys"]
By = Literal["memory", "seed", "associative", "graph", "openai", "resources"]  # whose method it is
PROJECT = "One of the projects served here; default: this one."
DEFAULT = "core"
TOLD = ("type", "enum", "items", "anyOf", "default")  # kept from the schema of an argument


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `verb` is the method it calls, `gives` the shape of its answer. `takes` describes each argument in a
    few words; None means all arguments of the verb, as described in `commands.py`."""

    name: str
    title: str
    says: str
    verb: str
    gives: str = "any"
    takes: Mapping[str, str] | None = None
    act: Act = "reads"
    repeatable: bool = True  # calling it twice has the effect of calling it once
    by: By = "memory"
    types: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of arguments that no verb declares
    needs: tuple[str, ...] = ()  # required arguments: of those, and of ones that a verb makes optional

    @property
    def hints(self) -> dict[str, bool]:
        """All four hints of the protocol. A memory is a closed world: nothing is fetched from elsewhere."""
        return {
            "readOnlyHint": self.act == "reads", "destructiveHint": self.act == "destroys",
            "idempotentHint": self.repeatable, "openWorldHint": False,
        }  # fmt: skip

    @property
    def input(self) -> dict[str, Any]:
        """The schema of its arguments."""
        own: dict[str, Any] = {"properties": self.types, "required": self.needs}
        whole = wire.schema(self.verb) if self.by == "memory" else own
        known, words = {**whole["properties"], **self.types}, self.takes
        properties = dict(known) if words is None else {name: _typed(known[name], said) for name, said in words.items()}
        properties["project"] = {"type": "string"} | ({} if words is not None else {"description": PROJECT})
        needed = [name for name in dict.fromkeys((*whole["required"], *self.needs)) if name in properties]
        required = {"required": needed} if needed else {}
        return {"type": "object", "properties": properties, **required}

    def given(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a call gives it. Models send null for what they leave out, also where no null is taken."""
        takes = self.input["properties"]
        return {
            name: value
            for name, value in arguments.items()
            if value is not None or name not in takes or "null" in takes[name].get("type", ())
        }

    @property
    def output(self) -> dict[str, Any]:
        return shapes.SHAPES[self.gives].schema


def _typed(schema: Mapping[str, Any], said: str) -> dict[str, Any]:
    """The type of an argument, as briefly as possible: clients omit an argument instead of sending null."""
    kept = {key: _without_null(value) for key, value in schema.items() if key in TOLD}
    return kept | ({"description": said} if said else {})


def _without_null(value: Any) -> Any:
    """One type name, or several, or a list of values."""
    if not isinstance(value, list):
        return value
    left = [each for each in value if each not in ("null", None)]
    return left[0] if len(left) == 1 and "null" in value else left


_TEXT: Mapping[str, Any] = {"type": "string"}
_CORE = (
    Tool(
        "memory_search", "Search memory",
        "Finds what was learnt before: decisions, preferences, facts, fixes. Call it BEFORE you answer or act on what earlier "
        "work may touch.",
        "recall", "hits",
        {"query": "A question, or keywords with synonyms", "limit": "", "kinds": "", "search": "", "as_of": "Time: as known then"},
        needs=("query",),
    ),
    Tool("memory_get", "Read one memory", "Shows one memory in full.", "get", "memory", {"id": ""}),
    Tool(
        "memory_add", "Remember",
        "Keeps one fact, decision, preference, warning or procedure: say which as its kind. Call it AFTER you learnt something "
        "worth keeping, in your own words, with its reason; no secrets or transcripts. The same text is kept once.",
        "remember", "outcome",
        {"text": "", "kind": "", "tags": "", "files": "", "key": "Idempotency"},
        act="writes", types={"text": _TEXT},
    ),
    Tool(
        "memory_update", "Correct a memory",
        "Corrects a memory; its old text is kept.",
        "revise", "outcome", {"id": "", "text": "", "kind": "", "tags": "", "expected_version": ""}, act="writes",
    ),
    Tool(
        "memory_forget", "Forget a memory",
        "Hides a memory that is wrong or unwanted; a person can restore it.",
        "forget", "outcome", {"id": "", "because": ""}, act="destroys", needs=("id",),
    ),
    Tool(
        "memory_context", "Context for a task",
        "Writes what matters for a task as text, within a budget of tokens. Call it when you begin one.",
        "context", "context", {"query": "The task", "budget": "", "files": ""},
    ),
    Tool(
        "memory_feedback", "Rate a memory",
        "Says how a found memory did; this ranks later answers.",
        "feedback", "outcome", {"id": "", "verdict": "", "receipt": "Of the search"}, act="writes",
    ),
    Tool(
        "memory_timeline", "Timeline",
        "Lists memories as they happened, the latest by default.",
        "timeline", "records", {"around": "A time or an id", "limit": ""},
    ),
)  # fmt: skip

_SESSION = "The conversation, as you named it"
_SESSIONS = (
    Tool(
        "memory_ingest", "Keep a conversation",
        "Keeps a conversation as turns of a session. Hand it in again when it has grown: only what is new is added.",
        "ingest", "ingested", {"messages": 'As {"role", "content"}', "session": _SESSION, "user": "", "agent": ""}, act="writes",
    ),
    Tool(
        "memory_sessions", "List conversations", "Lists the latest conversations.", "sessions", "sessions",
        {"limit": "", "state": "", "user": ""},
    ),
    Tool(
        "memory_session_turn", "Add a turn", "Adds what somebody said to a conversation, a new one or one that goes on.",
        "session.turn", "outcome", {"session": _SESSION, "role": "user, assistant, system or tool", "text": "", "id": "Yours"},
        act="writes",
    ),
    Tool(
        "memory_session_note", "Note in a conversation", "Keeps a note for as long as the conversation lasts.",
        "session.note", "outcome", {"session": _SESSION, "text": "", "kind": ""}, act="writes",
    ),
    Tool(
        "memory_session_close", "End a conversation", "Ends a conversation: keeps what was found in it, and a summary.",
        "session.close", takes={"session": _SESSION}, act="writes",
    ),
)  # fmt: skip
_ID: Mapping[str, Any] = {"type": ["integer", "string"]}
_TAGS: Mapping[str, Any] = {"type": ["string", "array"], "items": _TEXT}
_IDS: Mapping[str, Any] = {"type": "array", "items": _ID}
_SEED = (
    Tool(
        "memory_store", "Store", "Keeps one fact, decision or piece of context.", "memory_store", "said",
        {"content": "", "tags": "A list, or words with commas"}, "writes", by="seed",
        types={"content": _TEXT, "tags": _TAGS}, needs=("content",),
    ),
    Tool(
        "memory_query", "Query", "Finds by words; votes and recency decide among what fits.", "memory_query", "said",
        {"query": "Words and their synonyms", "limit": ""}, by="seed",
        types={"query": _TEXT, "limit": {"type": "integer"}}, needs=("query",),
    ),
    Tool(
        "memory_reinforce", "Reinforce", "This memory helped: its score rises.", "memory_reinforce", "said", {"id": ""},
        "writes", repeatable=False, by="seed", types={"id": _ID}, needs=("id",),
    ),
    Tool(
        "memory_demote", "Demote", "This memory is wrong, stale or beside the point: its score falls.", "memory_demote", "said",
        {"id": ""}, "writes", repeatable=False, by="seed", types={"id": _ID}, needs=("id",),
    ),
    Tool(
        "memory_update", "Update", "Corrects a memory in place; its score stays.", "memory_update", "said",
        {"id": "", "content": "", "tags": "Instead of those it has"}, "writes", by="seed",
        types={"id": _ID, "content": _TEXT, "tags": _TAGS}, needs=("id", "content"),
    ),
    Tool(
        "narrative_update", "Tell a narrative", "Tells what was thought and why, in the thread of its topic.",
        "narrative_update", "said",
        {"summary": "", "memory_ids": "", "previous_narrative_id": "", "topic": "", "session_id": ""},
        "writes", repeatable=False, by="seed",
        types={"summary": _TEXT, "memory_ids": _IDS, "previous_narrative_id": _ID, "topic": _TEXT, "session_id": _TEXT},
        needs=("summary",),
    ),
    Tool(
        "narrative_search", "Where was I?", "Finds a narrative by its id or by words; the latest without any.",
        "narrative_search", "said", {"keywords": "", "id": "", "session_id": ""}, by="seed",
        types={"keywords": _TEXT, "id": _ID, "session_id": _TEXT},
    ),
)  # fmt: skip
_ACTIONS = ("remember", "recall", "search", "list", "forget", "link", "tag", "related")
_ASSOCIATIVE = (
    Tool(
        "memory", "Memory",
        "One tool: remember(content, category, scope, tags, triggers), recall(query, mode), search(query), list(tag), forget(id), "
        "link(from, to, relation, weight), tag(id, tags), related(id, depth). Recall BEFORE you act on what earlier work touches.",
        "memory", "said",
        {"action": "", "content": "One fact, your own words", "category": "", "scope": "", "session": "Of scope session",
         "tags": "A list, or words with commas", "triggers": "Words on which it comes up by itself", "query": "", "mode": "",
         "tag": "", "id": "", "from": "", "to": "", "relation": "", "weight": "0 to 1; 0.5", "depth": "1 to 4; 2", "limit": ""},
        "destroys", repeatable=False, by="associative",
        types={
            "action": {"type": "string", "enum": list(_ACTIONS)}, "content": _TEXT,
            "category": {"type": "string", "enum": ["fact", "preference", "entity", "correction", "procedure", "negative"]},
            "scope": {"type": "string", "enum": ["project", "global", "session", "all"]}, "session": _TEXT, "tags": _TAGS,
            "triggers": {"type": "array", "items": _TEXT}, "query": _TEXT,
            "mode": {"type": "string", "enum": ["recent", "semantic", "cascade"]}, "tag": _TEXT, "id": _ID, "from": _ID, "to": _ID,
            "relation": _TEXT, "weight": {"type": "number"}, "depth": {"type": "integer"}, "limit": {"type": "integer"},
        },
        needs=("action",),
    ),
)  # fmt: skip


def _listed(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": [*properties]},
    }


_TEXTS: Mapping[str, Any] = {"type": "array", "items": _TEXT}
_RELATIONS = _listed(**{"from": _TEXT, "to": _TEXT, "relationType": _TEXT})


def _node(name: str, title: str, says: str, act: Act, **types: Mapping[str, Any]) -> Tool:
    takes = dict.fromkeys(types, "")
    return Tool(name, title, says, name, "graph", takes, act, by="graph", types=types, needs=tuple(types))


_GRAPH = (
    _node("create_entities", "Create entities", "Adds entities with observations; names that are there stay as they are.",
          "writes", entities=_listed(name=_TEXT, entityType=_TEXT, observations=_TEXTS)),
    _node("create_relations", "Create relations", "Relates entities, in active voice.", "writes", relations=_RELATIONS),
    _node("add_observations", "Add observations", "Adds what was observed of entities that are there.", "writes",
          observations=_listed(entityName=_TEXT, contents=_TEXTS)),
    _node("delete_entities", "Delete entities", "Hides entities with their observations and relations; a person can restore them.",
          "destroys", entityNames=_TEXTS),
    _node("delete_observations", "Delete observations", "Hides observations of entities.", "destroys",
          deletions=_listed(entityName=_TEXT, observations=_TEXTS)),
    _node("delete_relations", "Delete relations", "Removes relations.", "destroys", relations=_RELATIONS),
    _node("read_graph", "Read the graph", "Shows the latest entities, with what relates them.", "reads"),
    _node("search_nodes", "Search nodes", "Finds entities by a text in their name, type or observations. Call it BEFORE you "
          "answer what earlier work may touch.", "reads", query=_TEXT),
    _node("open_nodes", "Open nodes", "Shows entities by their names.", "reads", names=_TEXTS),
)  # fmt: skip
_OPENAI = (
    Tool(
        "search", "Search", "Finds memories that answer a question.", "search", "results", {"query": ""}, by="openai",
        types={"query": _TEXT}, needs=("query",),
    ),
    Tool(
        "fetch", "Fetch", "Shows one memory in full.", "fetch", "fetched", {"id": ""}, by="openai",
        types={"id": _TEXT}, needs=("id",),
    ),
)  # fmt: skip

# Tools of `all` with a shape or hints of their own.
_DONE = ("pin", "unpin", "tag", "link", "unlink", "restore", "resolve", "alias", "narrate", "add_task", "move_task")
_GIVES: Mapping[str, str] = MappingProxyType(
    {tool.verb: tool.gives for tool in _CORE if tool.verb != "forget"}
    | dict.fromkeys((*_DONE, "session.turn", "session.note", "session.tool_call", "session.tool_result"), "outcome")
    | dict.fromkeys(("list", "narratives", "tasks", "session.turns"), "records")
    | {"explain": "hits", "sessions": "sessions", "ingest": "ingested", "session.window": "window"}
    | dict.fromkeys(("related", "path", "similar"), "near")
    | {"session.ready": "context"}
    | {"history": "events", "log": "events"}
)
_DESTROYS = ("forget", "erase")
_AGAIN = ("undo", "extract", "narrate", "add_task", "review", "session.ready")  # calling these twice may do more


def _whole(verb: str) -> Tool:
    """A verb with all of its arguments."""
    known = VERBS.get(verb) or SESSION_PARTS[verb]
    short = next((tool for tool in (*_CORE, *_SESSIONS) if tool.verb == verb), None)
    act: Act = "destroys" if verb in _DESTROYS else "writes" if known.writes else "reads"
    title = short.title if short else verb.replace("_", " ").replace(".", ": ").capitalize()
    says, again = short.says if short else known.help, verb in _AGAIN
    return Tool(str(known.tool), title, says, verb, _GIVES.get(verb, "any"), act=act, repeatable=not again)


def _all() -> tuple[Tool, ...]:
    order = [tool.verb for tool in _CORE]
    rest = [verb.name for verb in (*VERBS.values(), *SESSION_PARTS.values()) if verb.tool and verb.name not in order]
    return tuple(map(_whole, (*order, *rest)))


_MADE: Mapping[str, tuple[Tool, ...]] = MappingProxyType(
    {
        "read": tuple(tool for tool in _CORE if tool.act == "reads"),
        "core": _CORE,
        "sessions": (*_CORE, *_SESSIONS),
        "all": _all(),
        "seed": _SEED,
        "associative": _ASSOCIATIVE,
        "graph": _GRAPH,
        "openai": _OPENAI,
    }
)
PROFILES = tuple(_MADE)


@cache
def profile(name: str) -> Mapping[str, Tool]:
    """The tools of a profile by their names, always in the same order."""
    return MappingProxyType({tool.name: tool for tool in _MADE[name]})


def reads_only(name: str) -> bool:
    """Whether no tool of a profile changes anything."""
    return all(tool.act == "reads" for tool in profile(name).values())
