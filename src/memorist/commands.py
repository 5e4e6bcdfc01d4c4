"""Every verb once: its name on each surface, its one-line help, and whether it writes.

A surface takes the parameters of a verb from the signature of `Memory`, and the words for people from here. So a verb
has the same name, arguments and meaning at a shell as in Python, and there is one place to look when it has not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Part = Literal["writing", "reading", "keeping"]


@dataclass(frozen=True, slots=True)
class Verb:
    """A method of `Memory`. `command` is what is typed at a shell; None where a program needs no such command."""

    name: str
    command: str | None
    part: Part
    help: str
    writes: bool = False


_TABLE = (
    Verb("remember", "remember", "writing", "Keeps one memory.", writes=True),
    Verb("remember_many", "remember --batch", "writing", "Keeps many memories, one per line.", writes=True),
    Verb("revise", "revise", "writing", "Changes a memory; its old text is kept.", writes=True),
    Verb("pin", "pin", "writing", "Marks a memory as always important.", writes=True),
    Verb("unpin", "unpin", "writing", "Takes that mark away.", writes=True),
    Verb("tag", "tag", "writing", "Adds tags to a memory, or removes them.", writes=True),
    Verb("link", "link", "writing", "Relates two memories.", writes=True),
    Verb("unlink", "unlink", "writing", "Removes a relation between two memories.", writes=True),
    Verb("feedback", "feedback", "writing", "Tells how a memory did: useful, irrelevant or wrong.", writes=True),
    Verb("used", "used", "writing", "Tells which memories of a context or recall an answer used.", writes=True),
    Verb(
        "forget",
        "forget",
        "writing",
        "Hides a memory, or all that match a filter; restore brings it back.",
        writes=True,
    ),
    Verb("restore", "restore", "writing", "Brings a forgotten memory back.", writes=True),
    Verb("erase", "erase", "writing", "Removes a memory for good, from every place it lies in.", writes=True),
    Verb("undo", "undo", "writing", "Takes back your last action, or a named one.", writes=True),
    Verb("extract", "extract", "writing", "Keeps what rules find worth keeping in a text, as candidates.", writes=True),
    Verb(
        "promote", "promote", "writing", "Makes a finding a memory of its project, or weighs all findings.", writes=True
    ),
    Verb("finish", "finish", "writing", "Ends a task: keeps what is named or pinned, archives the rest.", writes=True),
    Verb("resolve", "resolve", "writing", "Says which of two contradicting memories holds.", writes=True),
    Verb("review", "review", "writing", "Lists what waits for a person's decision, and decides it.", writes=True),
    Verb("alias", "alias", "writing", "Lets a word also find others, or no more.", writes=True),
    Verb("recall", "recall", "reading", "Finds what matters for a question."),
    Verb("context", "context", "reading", "Gives what matters for a question as text for a prompt, within a budget."),
    Verb("receipt", "receipt", "reading", "Shows again what was put into a prompt."),
    Verb("get", "get", "reading", "Shows one memory."),
    Verb("list", "list", "reading", "Lists memories, newest first."),
    Verb("count", "count", "reading", "Counts memories."),
    Verb("links", "links", "reading", "Shows the relations of a memory."),
    Verb("timeline", "timeline", "reading", "Shows memories in the order in which they happened."),
    Verb("history", "history", "reading", "Shows what happened to a memory: the journal, oldest first."),
    Verb("aliases", "aliases", "reading", "Lists the words that also find others."),
    Verb("conflicts", "conflicts", "reading", "Lists memories that contradict each other."),
    Verb("explain", "explain", "reading", "Recalls off the record, and shows how the answer was found."),
    Verb("why_not", "why-not", "reading", "Tells why a memory is not among the answers to a question."),
    Verb(
        "upkeep",
        "upkeep",
        "keeping",
        "Keeps the store in order: embeds what waits, prunes to the archive what is worth least.",
        writes=True,
    ),
    Verb("compact", "compact", "keeping", "Shrinks the store's file to what it holds."),
    Verb("audit", "audit", "keeping", "Verifies the journal, and every memory against it."),
    Verb("status", "status", "keeping", "Shows which store, project and design are used, and what they hold."),
    Verb("backup", "backup", "keeping", "Copies the whole store while it is in use, or brings a copy back."),
    Verb("doctor", "doctor", "keeping", "Looks for what is wrong with the store, and says what to do."),
    Verb("through", None, "keeping", "The same open memory, seen through another access."),
    Verb("close", None, "keeping", "Writes what was only noted, and closes."),
)
VERBS: Mapping[str, Verb] = MappingProxyType({verb.name: verb for verb in _TABLE})

ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "id": "The memory: its number, its id, or a unique part of the id.",
        "a": "The first memory: the newer one in supersedes.",
        "b": "The second memory.",
        "text": "The text.",
        "query": "The question, in any words.",
        "kind": "What it is: fact, decision, preference, warning, …",
        "link.kind": "relates_to, supersedes, contradicts, derived_from or in_cluster.",
        "unlink.kind": "relates_to, supersedes, contradicts, derived_from or in_cluster.",
        "kinds": "Only this kind; may be repeated.",
        "scope": "Where: global, or a name and an id such as project/atlas or user/ann.",
        "user": "The user it is about: ann means the scope user/ann.",
        "title": "A title.",
        "tags": "A tag; may be repeated.",
        "remove": "A tag to take away; may be repeated.",
        "files": "A file it is about; may be repeated.",
        "recall.files": "A file that is being worked on; may be repeated.",
        "explain.files": "A file that is being worked on; may be repeated.",
        "why_not.files": "A file that is being worked on; may be repeated.",
        "word": "The word that is asked with.",
        "means": "A word, or a few in quotes, that it means as well; may be repeated.",
        "alias.remove": "Takes these away, or all where none is named.",
        "data": "Structure of your own, as a JSON object.",
        "importance": "From 0 to 1.",
        "confidence": "From 0 to 1.",
        "pinned": "Marks it as always important.",
        "at": "When it happened.",
        "valid_from": "From when on it holds.",
        "valid_to": "Until when it holds.",
        "session": "The session it belongs to.",
        "role": "The role of the one who said it.",
        "speaker": "Who said it.",
        "agent": "The agent it came from.",
        "task": "The task it came from.",
        "season": "The season it belongs to.",
        "key": "The same key is stored once, however often it is sent.",
        "revise.tags": "A tag in place of those it has; may be repeated.",
        "used": "Counts it as used just now; its votes stay.",
        "expected_version": "Only if the memory still has this version.",
        "because": "The reason, for the journal.",
        "finish.scope": "What ends, such as task/42 or session/s1.",
        "outcome": "How it ended: done, failed, given up …",
        "keep": "A memory of it that moves to the project; may be repeated.",
        "weight": "How strong the relation is, from 0 to 1.",
        "evidence": "What the relation rests on.",
        "verdict": "useful, irrelevant or wrong.",
        "limit": "At most so many.",
        "search": "Where to look: memory, sessions, sources, items, archive or all.",
        "where": 'A filter as a JSON object, such as {"importance": {"$gte": 0.7}}.',
        "recall.at": "The moment of asking, for 'last week' and the like; now without it.",
        "as_of": "What was believed at that time.",
        "deadline": "Seconds after which optional steps are skipped.",
        "exact": "Compare with every vector, also where an approximation would be faster.",
        "budget": "At most so many tokens.",
        "remaining": "Tokens that remain in the model's window; a share of them is used.",
        "window": "Tokens of a whole window; what reserve does not keep free is used.",
        "reserve": "Tokens of the window that are kept free.",
        "style": "xml, markdown, plain or json; plain without it.",
        "client": "The agent that reads it: claude-code, gemini, codex or opencode; it picks the style.",
        "mode": "How hard to save tokens: cheap, balanced or max_quality.",
        "profile": "For whom: planner, implementer, reviewer, assistant, global or none.",
        "inject": "pull (nothing), core (what is always there) or push (that and what fits the question).",
        "context.files": "A file that is being worked on; may be repeated.",
        "context.task": "The task at hand, for designs that read the memories of tasks.",
        "receipt": "The receipt, as a context or a recall names it.",
        "receipt.id": "The receipt, as a context or a recall names it.",
        "answer": "What the model answered; the memories whose words it holds were used.",
        "ids": "A memory that was used; may be repeated.",
        "order": "The field to sort by, the highest first; a leading - reverses it.",
        "around": "A memory or a time; the latest memories without it.",
        "path": "The file to write.",
        "dry_run": "Only shows what would happen.",
        "batch": "The batch to take back, as an outcome or `history` names it; the last one without it.",
        "switch": "Moves the vectors to the embedder in use, also back to one that the store has left.",
        "seconds": "Stops after so many seconds; the next upkeep goes on from there.",
        "repair": "Rebuilds the index where it is wrong, after a backup.",
        "extract.session": "The session the text comes from; needed.",
        "extract.agent": "The agent whose text it is.",
        "message": "The number of the message in its session.",
        "promote.id": "The memory to promote; without it all findings of the project are weighed.",
        "promote.scope": "Where to; the project without it.",
        "resolve.a": "One of the two memories.",
        "resolve.b": "The other one.",
        "resolve.keep": "a, b, both, or the number or id of the one that holds.",
        "review.id": "The question, such as q3; all that wait without it.",
        "decide": "approve, which does what was asked, or deny, which drops it.",
        "access": "Who is asking, and what they may read and write.",
    }
)


def meaning(verb: str, argument: str) -> str:
    """What an argument of a verb means, for people."""
    return ARGUMENTS.get(f"{verb}.{argument}") or ARGUMENTS[argument]
