"""The next step, in words that hold at this door. The engine names verbs and their arguments; an agent has some of them, as tools
under other names. A verb without a tool here is what a person does at a shell.
"""

import re
from collections.abc import Container, Mapping
from typing import Any

from memorist.commands import VERBS

VERB = re.compile(r"`([a-z_]+)`")
FINDING = (
    "memory_search",
    "memory_query",
    "memory",
    "search_nodes",
    "search",
)  # the tool that finds memories, whatever the profile calls it
ADVISING = ("because", "advice", "notes")  # what of an answer says what to do next
LISTED = "; `list` shows what is"  # the tool that finds them is named instead
USERS = ", which are read where the user is named (user=, --user)"
MORE = "remember(messages, session=…)"
REVISED = re.compile(r"(?<=nothing to revise was given; name )a text, .*")
NOT_REVISED = ("id", "expected_version", "because", "project")  # what says how to revise, and not what


def fitted(said: str, offered: Container[str], takes: Container[str] = ()) -> str:
    """What the engine says, for a tool that takes these arguments, among the tools that are offered."""
    users = ", which are read where `user` names theirs" if "user" in takes else ", which this tool does not read"
    said = said.replace(LISTED, "").replace(USERS, users).replace(MORE, "memory_session_turn")
    return VERB.sub(lambda found: _named(found[1], offered) or found[0], said)


def _named(verb: str, offered: Container[str]) -> str | None:
    known = VERBS.get(verb)
    if known is None:
        return None
    return str(known.tool) if known.tool in offered else known.command and f"`memorist {known.command}`"


def fitted_answer(said: Mapping[str, Any], offered: Container[str], takes: Container[str]) -> dict[str, Any]:
    """An answer whose advice holds here. The batch is for the tool that takes one back."""

    def fit(name: str, value: Any) -> Any:
        if name in ADVISING and isinstance(value, str):
            return fitted(value, offered, takes)
        return [fit(name, each) for each in value] if name in ADVISING and isinstance(value, list) else value

    return {name: fit(name, each) for name, each in said.items() if name != "batch" or "memory_undo" in offered}


def revisable(said: str, takes: Mapping[str, Any]) -> str:
    """What can be revised, by the names of the tool's own arguments."""
    return REVISED.sub(", ".join(name for name in takes if name not in NOT_REVISED), said)
