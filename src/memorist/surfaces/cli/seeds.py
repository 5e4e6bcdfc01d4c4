"""The founding documents' own commands. The overview omits them; readers of such a document find them, with help.

`memorist memory_store TEXT`, `memory_query`, `memory_reinforce`, `memory_demote`, `memory_update`, `narrative_update`
and `narrative_search` are the tools of `memorist.seeds.hebbian`, with dashes or underscores; `memorist memories export`
is `memorist export`. `memorist slash "/remember …"` runs a slash command of `memorist.seeds.curated`, and `memorist
memory '{"action": …}'` the one tool of `memorist.seeds.associative`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from memorist import seeds
from memorist.commands import ARGUMENTS
from memorist.errors import Refused
from memorist.seeds.associative import CALL_EXAMPLE, call_of
from memorist.seeds.hebbian import Done
from memorist.surfaces.cli import arguments
from memorist.surfaces.cli.arguments import PLACE, Commands, Option
from memorist.surfaces.cli.screen import safe
from memorist.surfaces.cli.verbs import PATIENCE, PATIENCE_OF_READERS, Place, opened

ID = Option("id", ARGUMENTS["id"], needed=True)
CONTENT = Option("content", "The text; standard input without it.")
TAGS = Option("tags", "Tags, with commas between them.", "--tags")
LIMIT = Option("limit", ARGUMENTS["limit"], "--limit", "whole")
QUERY = Option("query", "The words to look for; standard input without them.")
LINE = Option("line", "The command in quotes, such as '/remember We deploy on Mondays'.", needed=True)
YES = Option("yes", "Forgets or pins what a keyword finds without asking.", "--yes", "flag")
CALL = Option("call", f"The call, such as '{CALL_EXAMPLE}'; standard input without it.")
SUMMARY = Option("summary", ARGUMENTS["summary"], needed=True)
MEMORY_IDS = Option("memory_ids", ARGUMENTS["narrate.memories"], "--memory", "texts")
PREVIOUS = Option("previous_narrative_id", ARGUMENTS["previous"], "--previous")
TOPIC = Option("topic", ARGUMENTS["topic"], "--topic")
SESSION = Option("session_id", ARGUMENTS["narrate.session"], "--session")
NARRATIVE_ID = Option("id", ARGUMENTS["narratives.id"], "--id")
KEYWORDS = Option("keywords", ARGUMENTS["narratives.query"])
_TOOLS: Mapping[str, tuple[Option, ...]] = {
    "memory_store": (CONTENT, TAGS),
    "memory_query": (QUERY, LIMIT),
    "memory_reinforce": (ID,),
    "memory_demote": (ID,),
    "memory_update": (ID, CONTENT, TAGS),
    "narrative_update": (SUMMARY, MEMORY_IDS, PREVIOUS, TOPIC, SESSION),
    "narrative_search": (KEYWORDS, NARRATIVE_ID, SESSION),
}


def _perform(tool: str, place: Place, **given: Any) -> int:
    for name in ("content", "query"):
        if name in {option.name for option in _TOOLS[tool]}:
            given[name] = arguments.text_or_stdin(given.get(name), name, required=True)
    wait = PATIENCE_OF_READERS if tool in ("memory_query", "narrative_search") else PATIENCE
    with opened(place, wait=wait) as memory:
        answer = getattr(seeds.hebbian(memory), tool)(**given)
    place.screen.answer(answer, safe(str(answer)))
    return Refused.exit_code if isinstance(answer, Done) and answer.outcome == "refused" else 0


def _slash(place: Place, line: str, yes: bool = False) -> int:
    """Confirms first what a keyword would forget or pin: at a terminal by a question, elsewhere by requiring `--yes`."""
    with opened(place) as memory:
        answer = seeds.curated.slash(memory, line, confirm=yes)
        if answer.asks and not yes and arguments.at_terminal() and arguments.agreed(f"{safe(answer.text)}\ndo it?"):
            answer = seeds.curated.slash(memory, f"{answer.command} {answer.ids[0]}")
    place.screen.answer(answer, safe(answer.text))
    return int(answer.asks)


def _memory(place: Place, call: str | None = None) -> int:
    said = call_of(arguments.text_or_stdin(call, "call", required=True) or "")
    with opened(place) as memory:
        answer = seeds.associative(memory).memory(**said)
    place.screen.answer(answer, safe(str(answer)))
    return Refused.exit_code if answer.outcome == "refused" else 0


commands: Commands = {
    "slash": ((LINE, YES, *PLACE), _slash),
    "memory": ((CALL, *PLACE), _memory),
    **{tool: ((*options, *PLACE), partial(_perform, tool)) for tool, options in _TOOLS.items()},
}
