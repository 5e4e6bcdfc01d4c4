"""The one table of verbs: the name of each on every surface, its one-line help, and whether it writes.

A surface takes a verb's parameters from the signature of `Memory` and its help texts from here, so a verb has the same
name, arguments and meaning in a shell as in Python.
"""

from collections.abc import Container, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from memorist.kinds import KEPT_BY, KINDS
from memorist.lazy import dataclass

Part = Literal["writing", "reading", "keeping"]


@dataclass(frozen=True, slots=True)
class Verb:
    """A method of `Memory`. `command` is its name in a shell, `http` its HTTP method and path, `tool` its name for
    agents (MCP); None where a surface has no such name. Braces in a path mark an argument. The other arguments go into
    the query string (GET, DELETE) or into a JSON object."""

    name: str
    command: str | None
    part: Part
    help: str
    http: str | None
    tool: str | None = None
    lacks: tuple[str, ...] = ()  # arguments that this route does not take

    @property
    def writes(self) -> bool:
        return self.part == "writing" or self.name in ("upkeep", "assign", "rescan")


_TABLE: tuple[tuple[str, Part, str], ...] = (
    ("remember", "writing", "Keeps one memory."),
    ("remember_many", "writing", "Keeps many memories, one per line."),
    ("revise", "writing", "Changes a memory; its old text is kept."),
    ("pin", "writing", "Marks a memory as always important."),
    ("unpin", "writing", "Removes that mark."),
    ("tag", "writing", "Adds tags to a memory, or removes them."),
    ("link", "writing", "Relates two memories."),
    ("unlink", "writing", "Removes a relation between two memories."),
    ("feedback", "writing", "Rates a memory: useful, irrelevant or wrong."),
    ("used", "writing", "Reports which memories of a context or recall an answer used."),
    ("forget", "writing", "Hides a memory, or all that match a filter; restore undoes it."),
    ("restore", "writing", "Brings a forgotten memory back."),
    ("erase", "writing", "Removes a memory for good, from every file of the store."),
    ("undo", "writing", "Undoes your last action, or a named one."),
    ("extract", "writing", "Finds decisions, warnings and the like in a text; keeps them."),
    ("promote", "writing", "Makes a finding a memory of its project, or weighs all findings."),
    ("finish", "writing", "Ends a task: keeps named and pinned memories, archives the rest."),
    ("resolve", "writing", "Decides which of two contradicting memories holds."),
    ("review", "writing", "Lists the questions that wait for a person, and decides them."),
    ("alias", "writing", "Makes a word also find others, or stops that."),
    ("rename_project", "writing", "Gives a project another name."),
    ("merge_project", "writing", "Adds the memories of a project to another."),
    ("session", "writing", "Opens a conversation, new or resumed, for one writer."),
    ("ingest", "writing", "Keeps a conversation from a file of chat messages as the turns of a session."),
    ("narrate", "writing", "Records what was thought and why, in the thread of its topic."),
    ("add_task", "writing", "Adds something to be done."),
    ("move_task", "writing", "Takes a task to its next status."),
    ("recall", "reading", "Finds the memories that answer a question."),
    ("context", "reading", "Writes the memories for a question as text for a prompt, within a budget."),
    ("receipt", "reading", "Shows the exact text that went into a prompt."),
    ("get", "reading", "Shows one memory."),
    ("list", "reading", "Lists memories, newest first."),
    ("count", "reading", "Counts memories."),
    ("sessions", "reading", "Lists the conversations of the project, the last one first."),
    ("narratives", "reading", "Lists the latest narratives, those with some words, or a thread."),
    ("tasks", "reading", "Lists the tasks, the most urgent first."),
    ("links", "reading", "Shows the relations of a memory."),
    ("related", "reading", "Shows what is connected with a memory, and how."),
    ("path", "reading", "Shows the memories that lead from one to another."),
    ("similar", "reading", "Shows the memories that are most like a given one."),
    ("timeline", "reading", "Shows memories in the order in which they happened."),
    ("history", "reading", "Shows what happened to a memory: the journal, oldest first."),
    ("log", "reading", "Shows what was done here, by whom and why: the journal, oldest first."),
    ("aliases", "reading", "Lists the words that also find others."),
    ("conflicts", "reading", "Lists memories that contradict each other."),
    ("gaps", "reading", "Lists questions that found nothing, and what answers them by now."),
    ("explain", "reading", "Recalls without logging it, and shows how the answer was found."),
    ("why_not", "reading", "Says why a memory is not among the answers to a question."),
    ("projects", "keeping", "Lists the projects of the store with their memories; * marks the current one."),
    ("assign", "keeping", "Gives what an older store keeps for no project, such as session/main, to one."),
    ("upkeep", "keeping", "Keeps the store in order: adds missing vectors, archives the memories worth least."),
    ("rescan", "keeping", "Replaces the secrets in what is stored, by today's rules."),
    ("compact", "keeping", "Gives back unused space in the store's file."),
    ("audit", "keeping", "Verifies the journal, and every memory against it."),
    ("status", "keeping", "Shows which store, project and design are used, and their figures."),
    ("backup", "keeping", "Copies the whole store while it is in use, or restores a copy."),
    ("doctor", "keeping", "Checks the store for problems, and says what to do about them."),
    ("through", "keeping", "The same open memory with another access."),
    ("close", "keeping", "Writes the buffered log lines, and closes."),
)
_SPELLED = {  # the others keep their names, with dashes
    "remember_many": "remember --batch", "projects": "project list", "rename_project": "project rename",
    "merge_project": "project merge", "assign": "project assign", "through": None, "close": None,
    "session": None, "sessions": "session list", "narrate": "narrative add", "narratives": "narrative list",
    "add_task": "task add", "move_task": "task move", "tasks": "task list",
}  # fmt: skip
_ROUTES = {  # the others are POST /v1/NAME, with dashes
    "remember": "POST /v1/memories", "remember_many": "POST /v1/memories/batch", "revise": "PATCH /v1/memories/{id}",
    "pin": "POST /v1/memories/{id}/pin", "unpin": "POST /v1/memories/{id}/unpin", "tag": "POST /v1/memories/{id}/tags",
    "feedback": "POST /v1/memories/{id}/feedback", "restore": "POST /v1/memories/{id}/restore",
    "get": "GET /v1/memories/{id}", "links": "GET /v1/memories/{id}/links",
    "related": "GET /v1/memories/{id}/related", "similar": "GET /v1/memories/{id}/similar", "path": "GET /v1/path",
    "history": "GET /v1/memories/{id}/history",
    "list": "GET /v1/memories", "count": "GET /v1/count", "timeline": "GET /v1/timeline", "log": "GET /v1/log",
    "link": "POST /v1/links", "unlink": "DELETE /v1/links", "conflicts": "GET /v1/conflicts", "gaps": "GET /v1/gaps",
    "receipt": "GET /v1/receipts/{id}", "used": "POST /v1/receipts/{receipt}/used",
    "alias": "POST /v1/aliases", "aliases": "GET /v1/aliases",
    "projects": "GET /v1/projects", "rename_project": "POST /v1/projects/rename",
    "merge_project": "POST /v1/projects/merge", "assign": "POST /v1/projects/assign",
    "session": "POST /v1/sessions", "sessions": "GET /v1/sessions",
    "narrate": "POST /v1/narratives", "narratives": "GET /v1/narratives",
    "add_task": "POST /v1/tasks", "move_task": "POST /v1/tasks/{id}/move", "tasks": "GET /v1/tasks",
    "audit": "GET /v1/audit", "status": "GET /v1/status",
    "through": None,  # the key of a request decides which access is used
    "close": None,  # only the server closes it
}  # fmt: skip
_TOOLS = {  # the others are memory_NAME
    "recall": "memory_search", "remember": "memory_add", "remember_many": "memory_add_many", "revise": "memory_update",
    "session": None,  # it stays open; its steps are separate tools
    # Upkeep of the whole store is up to a person, and a server opens and closes it.
    **dict.fromkeys(("rename_project", "merge_project", "assign", "upkeep", "rescan", "compact", "audit", "backup", "doctor")),
    **dict.fromkeys(("through", "close")),
}  # fmt: skip
# Second routes to the same verbs, where clients expect them.
ALSO = {"DELETE /v1/memories/{id}": "forget", "GET /v1/review": "review", "GET /v1/search": "recall"}
_WRITES_WITH = {"review": ("decide",)}  # a verb that only reads without these arguments


def _verb(name: str, part: Part, help: str) -> Verb:
    dashed = name.replace("_", "-")
    route, tool = _ROUTES.get(name, f"POST /v1/{dashed}"), _TOOLS.get(name, f"memory_{name}")
    return Verb(name, _SPELLED.get(name, dashed), part, help, route, tool)


VERBS: Mapping[str, Verb] = MappingProxyType({row[0]: _verb(*row) for row in _TABLE})


def also(route: str) -> Verb:
    """The verb behind a second route. By GET it only reads, and takes no argument that would make it write."""
    verb = VERBS[ALSO[route]]
    return replace(verb, part="reading", lacks=_WRITES_WITH.get(verb.name, ())) if route.startswith("GET ") else verb


def only_reads(verb: Verb, given: Container[str]) -> bool:
    """Whether a call with these arguments changes nothing."""
    return not verb.writes or (verb.name in _WRITES_WITH and not any(name in given for name in _WRITES_WITH[verb.name]))


def _part(name: str, part: Part, help: str, http: str) -> Verb:
    return Verb(f"session.{name}", None, part, help, http, f"memory_session_{name}")


# What a `Session` can do, for surfaces that do not hold one open: each call opens it, does its part, and leaves it
# open.
SESSION_PARTS: Mapping[str, Verb] = MappingProxyType(
    {
        verb.name: verb
        for verb in (
            _part("turns", "reading", "What was said in a conversation.", "GET /v1/sessions/{session}/turns"),
            _part("turn", "writing", "Keeps what somebody said.", "POST /v1/sessions/{session}/turns"),
            _part("note", "writing", "Keeps a note while it lasts.", "POST /v1/sessions/{session}/notes"),
            _part("tool_call", "writing", "Keeps the call of a tool.", "POST /v1/sessions/{session}/calls"),
            _part("tool_result", "writing", "Keeps what a call returned.", "POST /v1/sessions/{session}/results"),
            _part("window", "writing", "What to show a model now.", "POST /v1/sessions/{session}/window"),
            _part("compact", "writing", "Summarises its older turns.", "POST /v1/sessions/{session}/compact"),
            _part("flush", "writing", "Notes what lasts.", "POST /v1/sessions/{session}/flush"),
            _part("prefetch", "reading", "Looks up ahead what matters.", "POST /v1/sessions/{session}/prefetch"),
            _part("ready", "reading", "What was looked up ahead, once.", "POST /v1/sessions/{session}/ready"),
            _part("fork", "writing", "Begins another one with what was said.", "POST /v1/sessions/{session}/fork"),
            _part("close", "writing", "Ends it, and keeps a summary.", "POST /v1/sessions/{session}/close"),
        )
    }
)

ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "id": "The memory: its number, its id, or a unique part of the id.",
        "a": "The first memory: the newer one in supersedes.",
        "b": "The second memory.",
        "text": "The text.",
        "query": "The question, in any words.",
        "kind": f"Its kind: {', '.join(name for name in KINDS if name not in KEPT_BY)}, or one of your own; default: fact.",
        "revise.kind": "Its new kind; `memorist remember --help` lists them.",
        "link.kind": "relates_to, supersedes, contradicts, derived_from or in_cluster.",
        "unlink.kind": "relates_to, supersedes, contradicts, derived_from or in_cluster.",
        "kinds": "Only this kind; may be repeated.",
        "scope": "Where: global, or a name and an id such as project/atlas or user/ann.",
        "user": "A user's scope: ann means user/ann.",
        "home": "The project that a task, a session or an agent belongs to; default: this one. global: an agent of all projects.",
        "assign.scope": "The task, session or agent, such as session/main.",
        "project": "The project, such as atlas or project/atlas.",
        "title": "A title.",
        "tags": "A tag; may be repeated.",
        "remove": "A tag to remove; may be repeated.",
        "files": "A file that is being worked on; may be repeated.",
        "remember.files": "A file it is about; may be repeated.",
        "old": "The project whose memories move, such as atlas or project/atlas.",
        "new": "The name it gets.",
        "merge_project.new": "The project they are added to; default: this one.",
        "word": "The word in a question.",
        "means": "A word, or a few in quotes, that it also means; may be repeated.",
        "alias.remove": "Removes these, or all if none is named.",
        "data": "Your own structured data, as a JSON object.",
        "importance": "From 0 to 1.",
        "confidence": "From 0 to 1.",
        "pinned": "Marks it as always important.",
        "at": "When it happened.",
        "valid_from": "When it begins to hold.",
        "valid_to": "When it stops holding.",
        "session": "The session it belongs to.",
        "role": "The role of the speaker: user, assistant, system or tool.",
        "speaker": "Who said it.",
        "agent": "The agent it came from.",
        "task": "The task it came from.",
        "season": "The season it belongs to.",
        "key": "An idempotency key: sent again, it is stored once.",
        "revise.tags": "A tag that replaces those it has; may be repeated.",
        "used": "Counts it as used just now; its votes stay.",
        "expected_version": "Only if the memory still has this version.",
        "derived": "What to do with what was made of it: erase, or list, which only names it; default: erase.",
        "because": "The reason, for the journal.",
        "finish.scope": "The scope that ends, such as task/42 or session/s1.",
        "outcome": "How it ended: done, failed, given up …",
        "keep": "A memory of it that moves to the project; may be repeated.",
        "path.a": "The memory to begin with.",
        "path.b": "The memory to arrive at.",
        "depth": "How many steps along links; from 2 on, also through tags, files and names that few memories share.",
        "weight": "How strong the relation is, from 0 to 1.",
        "evidence": "The evidence for the relation.",
        "verdict": "useful, irrelevant or wrong.",
        "limit": "How many at most.",
        "search": "Where to look: memory, sessions, sources, items, archive or all.",
        "where": 'A filter as a JSON object, such as {"importance": {"$gte": 0.7}}.',
        "recall.at": "The moment of asking, for 'last week' and the like; default: now.",
        "as_of": "Answers as things were believed at that time.",
        "deadline": "Seconds after which optional steps are skipped.",
        "exact": "Compares every vector in full, even where a first look at their signs would be faster.",
        "min_relevance": "What a hit must have instead of the design's cut, where hits have a relevance (balanced); 0: no cut.",
        "budget": "How many tokens at most.",
        "remaining": "Tokens that remain in the model's window; a share of them is used.",
        "window": "Tokens of the whole window; all but the reserve is used.",
        "reserve": "Tokens of the window that are kept free.",
        "style": "xml, markdown, plain or json; default: plain.",
        "client": "The agent that reads it: claude-code, gemini, codex or opencode; sets the style.",
        "mode": "How hard to save tokens: cheap, balanced or max_quality; default: the design's.",
        "profile": "The reader's role: planner, implementer, reviewer, assistant, global or none.",
        "shares": 'The parts of the budget by lane as a JSON object, such as {"project": 0.5}.',
        "inject": "pull (nothing), core (the steady lanes) or push (those and what matches the question).",
        "context.agent": "The agent that reads it: what others noted in the session since its last turn comes first.",
        "context.task": "The current task, for designs that read the memories of tasks.",
        "recall.query": "The question, in any words; without it, what the last turns of --session ask for.",
        "session.prefetch.context": "What is being talked about; the last turns of the session without it.",
        "receipt": "The receipt, as a context or a recall names it.",
        "receipt.id": "The receipt, as a context or a recall names it.",
        "answer": "The model's answer; memories whose words it contains count as used.",
        "ids": "A memory that was used; may be repeated.",
        "since": "Only what was done at that time or later.",
        "until": "Only what was done before that time.",
        "actor": "Only what this actor did.",
        "surface": "Only what was done through this door: cli, library, import …",
        "verbs": "Only this verb, such as added, revised or forgotten; may be repeated.",
        "log.id": "Only of this memory: its number, its id, or a unique part of the id.",
        "after": "Only events with a larger number.",
        "before": "Only events with a smaller number.",
        "order": "The field to sort by, the highest first; a leading - reverses it.",
        "around": "A memory or a time; default: the latest memories.",
        "path": "The file to write.",
        "dry_run": "Only shows what would happen.",
        "batch": "The batch to undo, as an outcome or `history` names it; default: your last one.",
        "deep": "A night's work: merges what is said twice, asks about what contradicts each other; one undo takes it back.",
        "switch": "Moves the vectors to the current embedder, even back to one that the store has left.",
        "seconds": "Stops after so many seconds; the next upkeep continues from there.",
        "repair": "Rebuilds the index where it is wrong, after a backup.",
        "extract.session": "The session the text comes from; required.",
        "extract.agent": "The agent whose text it is.",
        "message": "The number of the message in its session.",
        "promote.id": "The memory to promote; without it all findings of the project are weighed.",
        "promote.scope": "The scope it moves to; default: the project.",
        "resolve.a": "One of the two memories.",
        "resolve.b": "The other one.",
        "resolve.keep": "a, b, both, or the number or id of the one that holds.",
        "review.id": "The question, such as q3; all of them with all; or the batch of an import, such as b12.",
        "decide": "approve, which carries it out, or deny, which drops it.",
        "messages": "A file of chat messages: a JSON list, an object with messages, or one object per line; - is standard input.",
        "ingest.session": "The name of the conversation; a new one without it.",
        "session.id": "The name of the conversation; a new one without it.",
        "session.agent": "The agent that takes part.",
        "wait": "Seconds to wait for another writer.",
        "busy": "Whether to wait for another writer (queue), to give up (drop) or to take the session over (interrupt).",
        "sessions.state": "Only those that are open, closing or closed.",
        "gaps.user": "Those that were asked for this user, instead of the project's.",
        "sessions.user": "Only those that were held for this user.",
        "summary": "What was thought and why, in a sentence or two.",
        "topic": "What it is about; the last topic of the session without it.",
        "narrate.memories": "A memory it tells of; may be repeated.",
        "previous": "The narrative it follows; default: the last one on its topic.",
        "narrate.session": "The session whose thread it is.",
        "narratives.query": "Words of the topic or the summary.",
        "narratives.id": "A narrative, followed back along its thread; or a memory, for the narratives it belongs to.",
        "narratives.session": "Only of this session.",
        "narratives.user": "Those of this user's sessions, instead of the project's.",
        "add_task.title": "What is to be done, in a line.",
        "add_task.text": "All that whoever does it must know; default: the title.",
        "milestone": "What it is a part of; once that is done, its tasks are archived.",
        "priority": "0 and up, the lowest first.",
        "criteria": "What must be so when it is completed; may be repeated.",
        "blocked_by": "A task that must be completed first; may be repeated.",
        "skill": "The skill it takes.",
        "move_task.id": "The task: its name such as TASK-007, its number, or its id.",
        "status": "pending, running, blocked, completed or failed.",
        "result": "What came out, which is kept as a memory; or that memory, such as [id:12].",
        "tasks.status": "Only those that are pending, running, blocked, completed or failed.",
        "tasks.milestone": "Only those of this milestone.",
        "ready": "Only those that are pending and wait for nothing that is not completed.",
        "access": "Who is asking, and what they may read and write.",
    }
)


# The verbs that the journal may hold; a custom upkeep job may add others.
EVENTS = (
    "added", "reinforced", "said again", "found again", "revised", "superseded", "pinned", "unpinned", "tagged", "linked",
    "unlinked", "merged", "clustered", "verified", "feedback", "learnt", "used", "counted", "promoted", "confirmed", "lowered",
    "forgotten", "evicted", "expired",
    "finished", "task moved", "opened", "read", "closed", "restored", "undone", "moved", "assigned", "rescanned", "erased",
)  # fmt: skip


def meaning(verb: str, argument: str) -> str:
    """What an argument of a verb means, as help text."""
    own = {"explain": "recall", "why_not": "recall"}.get(verb, verb)  # they take what recall takes
    return ARGUMENTS.get(f"{own}.{argument}") or ARGUMENTS[argument]
