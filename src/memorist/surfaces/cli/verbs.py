"""A verb as a command: opens the memory, calls the facade, shows the answer, and says by the exit code how it went.

The door decides how a text is labelled: what a person types at a terminal is the user's word, what comes through a pipe
is an agent's. `--scope` is an argument of the verbs that have one; for the others it narrows what they may see.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from memorist.commands import Part, Verb
from memorist.design import Confirmer
from memorist.errors import Invalid, Refused
from memorist.memory import Memory
from memorist.records import Outcome, Report
from memorist.surfaces import settings
from memorist.surfaces.cli import given, questions, show, spelling
from memorist.surfaces.cli.screen import Screen

# Seconds to wait for another writer. A question needs the store only to note that it was asked.
PATIENCE: Mapping[Part, float] = {"writing": 30.0, "reading": 2.0, "keeping": 30.0}


@dataclass(frozen=True, slots=True)
class Place:
    """What `--db`, `--project`, `--scope`, `--space` and `--json` said."""

    db: str | None = None
    project: str | None = None
    scope: str | None = None
    space: str | None = None
    json: bool = False

    @classmethod
    def of(cls, values: dict[str, Any]) -> "Place":
        """Takes its part out of the values."""
        return cls(**{option.name: values.pop(option.name) for option in spelling.PLACE if option.name in values})


@contextmanager
def opened(
    place: Place, *, narrowed: bool = True, wait: float = PATIENCE["keeping"], confirm: Confirmer | None = None
) -> Iterator[Memory]:
    """The memory at that place, through this door. Whoever sits at the terminal is asked, unless `confirm` knows better."""
    ask = confirm or questions.confirmer()
    with Memory(place.db, project=place.project, space=place.space, wait=wait, confirm=ask) as memory:
        memory.access = replace(memory.access, origin="user" if given.at_terminal() else "agent", surface="cli")
        if place.scope is not None and narrowed:
            scope = memory.access.must_read(place.scope)
            writes = (scope,) if memory.access.may_write(scope) else ()
            memory.access = replace(memory.access, reads=(scope,), writes=writes)
        yield memory


def command(verb: Verb) -> spelling.Command:
    name = verb.command or verb.name
    return spelling.Command(name, verb.help, spelling.options_of(verb.name), partial(_perform, verb))


def _perform(which: Verb, place: Place, **arguments: Any) -> int:
    verb = which.name
    if "watch" in arguments:
        from memorist.surfaces.cli import watching

        return watching.watch(place, arguments.pop("watch"), arguments)
    why, batch = arguments.pop("why", False), verb == "remember" and arguments.pop("batch", False)
    parameters = spelling.parameters_of(verb)
    if "scope" in parameters and place.scope is not None:
        arguments["scope"] = place.scope
    elif "scope" in parameters and parameters["scope"].default is parameters["scope"].empty:
        raise Invalid(f"{which.command} needs --scope, such as --scope task/42")
    if set(spelling.FILTERS) <= set(spelling.EXTRAS.get(verb, ())):
        arguments["where"] = _filter(arguments) or None
    if verb == "context" and not {"budget", "remaining", "window"} & set(arguments):
        arguments |= _usual_budget(place)
    for name in ("text", "query"):
        if name in parameters and not batch:
            needed = parameters[name].default is parameters[name].empty
            arguments[name] = given.text_or_stdin(arguments.get(name), name, required=needed)
    confirm = questions.agreed_already if verb == "erase" else None
    with opened(place, narrowed="scope" not in parameters, wait=PATIENCE[which.part], confirm=confirm) as memory:
        if verb == "erase" and not _may_erase(memory, arguments):
            return 1
        answer = _batch(memory, arguments) if batch else _call(memory, verb, dict(arguments))
        show.show(show.Answer(verb, answer, memory, arguments, why), Screen.of(place.json))
        sys.stdout.flush()  # before the recall log is written, which may have to wait
    return _exit_code(answer)


def _usual_budget(place: Place) -> dict[str, int]:
    """What the settings say; where they say nothing, the project's choice or its design holds."""
    found = settings.load(None if place.db else Path.cwd())
    return {} if found.sources["budget"] == "default" else {"budget": found.budget}


def _may_erase(memory: Memory, arguments: dict[str, Any]) -> bool:
    """What cannot be undone is asked for twice: at a terminal by a question, elsewhere by wanting `--yes`."""
    if arguments.pop("yes", False) or arguments.get("dry_run"):
        return True
    plan = memory.erase(**{**arguments, "dry_run": True})
    return given.agreed(f"erase {len(plan.changed):,} memories, past texts included, for good?")


def _call(memory: Memory, verb: str, arguments: dict[str, Any]) -> Any:
    if verb == "alias":
        return memory.alias(arguments.pop("word"), *arguments.pop("means", ()), **arguments)
    if verb == "tag":
        return memory.tag(arguments.pop("id"), *arguments.pop("tags", ()), **arguments)
    return getattr(memory, verb)(**arguments)


def _batch(memory: Memory, defaults: dict[str, Any]) -> list[Outcome]:
    if "text" in defaults:
        raise Invalid("--batch reads its texts from standard input; leave the text out")
    if given.at_terminal():
        raise Invalid("--batch reads one draft per line from standard input; pipe them in")
    return memory.remember_many(given.drafts(defaults))


def _filter(arguments: dict[str, Any]) -> dict[str, Any]:
    """`--where`, joined with the short options for what is asked most."""
    where: dict[str, Any] = dict(arguments.get("where", {}))
    for option, field, operator in (("kind", "kind", "$in"), ("tag", "tags", "$any"), ("state", "state", "$in")):
        if option in arguments:
            if field in where:
                raise Invalid(f"{field} is given as an option and in --where; give it once")
            where[field] = {operator: arguments.pop(option)}
    return where


def _exit_code(answer: Any) -> int:
    """0, unless something was refused or found wrong."""
    outcomes = answer if isinstance(answer, list) else [answer]
    if any(isinstance(each, Outcome) and each.outcome == "refused" for each in outcomes):
        return Refused.exit_code
    if any(isinstance(each, Outcome) and each.outcome == "needs_consent" for each in outcomes):
        return questions.EXIT_CODE
    if any(isinstance(each, Report) and each.pending for each in outcomes):
        return questions.EXIT_CODE
    return int(any(getattr(each, "ok", True) is False for each in outcomes))
