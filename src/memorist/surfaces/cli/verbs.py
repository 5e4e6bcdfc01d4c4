"""A verb as a command: opens the memory, calls the facade, shows the answer, and reports success in the exit code.

The surface decides how a text is labelled: what a person types at a terminal is the user's word, what comes through a
pipe is an agent's. Where several memories are named, all are looked up first, so that a wrong id changes nothing; then
each is done and reported by itself, but `forget` and `erase` do all in one batch. `--scope` is an argument of the verbs
that have one; for the others it narrows what they may see. Questions for a person are asked at a terminal at once; down
a pipe nobody can be asked, so what needs consent waits in the queue.
"""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.access import of_the_owner
from memorist.commands import Verb
from memorist.design import Ask, Confirmer
from memorist.errors import Invalid, MemoristError, Refused
from memorist.kinds import KINDS
from memorist.lazy import dataclass
from memorist.memory import Memory
from memorist.records import Draft, Outcome, Record, Report
from memorist.store.where import Where, order_of
from memorist.surfaces import settings
from memorist.surfaces.cli import arguments, progress, show
from memorist.surfaces.cli.screen import Screen, aside

# Seconds to wait for another writer. A question needs the store only to note that it was asked.
PATIENCE, PATIENCE_OF_READERS = 30.0, 2.0
SHORT_FILTERS = (("kind", "kind", "$in"), ("tag", "tags", "$any"), ("state", "state", "$in"), ("user", "scope", "$eq"))
SAYS_WHICH = ("kind", "session", "role", "speaker", "id", "number")
CONSENT_CODE = 11  # the exit code when something waits for a person
# Commands that are not verbs, but work entirely through verbs or through the streams of a server.
BESIDE_A_SERVER = (
    "export", "import", "ingest", "narrative add", "narrative list", "task add", "task list", "task move", "project list",
    "project rename", "project merge", "session list", "session show", "session turn", "session note", "session close",
    "session fork",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """The values of `--db`, `--project`, `--scope`, `--space`, `--url` and `--json`."""

    db: str | None = None
    project: str | None = None
    scope: str | None = None
    space: str | None = None
    url: str | None = None
    json: bool = False

    @property
    def server(self) -> str | None:
        """The address of the server that is meant; None if it is a file."""
        if self.db is not None and self.url is not None:
            raise Invalid("--db names a file and --url a server; give one of them")
        if self.db is not None or self.url is not None:
            return self.url
        found = settings.load()
        if "url" in found.problems:  # falling back to the file would use the wrong place
            raise Invalid(found.problems["url"])
        return found.url

    @property
    def screen(self) -> Screen:
        return Screen.of(self.json)

    @classmethod
    def of(cls, values: dict[str, Any]) -> "Place":
        """Takes its part out of the values."""
        return cls(**{option.name: values.pop(option.name) for option in arguments.PLACE if option.name in values})


def opened(
    place: Place, *, narrowed: bool = True, wait: float = PATIENCE, confirm: Confirmer | None = None
) -> AbstractContextManager[Memory]:
    """The memory at that place, with the rights of this surface. The person at the terminal is asked, unless `confirm`
    says otherwise."""
    return _reached(place, narrowed) if place.server else _opened(place, narrowed, wait, confirm)


@contextmanager
def _opened(place: Place, narrowed: bool, wait: float, confirm: Confirmer | None) -> Iterator[Memory]:
    person = arguments.at_terminal()
    confirm = confirm or (_asked if person else None)
    with (
        _warnings(),
        Memory(place.db, project=place.project, space=place.space, wait=wait, confirm=confirm) as memory,
    ):
        memory.access = replace(memory.access, origin="user" if person else "agent", surface="cli")
        progress.follow(memory)
        if memory.adopted is not None:
            aside(show.came_along(memory.adopted))
        if place.scope is not None and narrowed:
            home = memory.access.home_of(place.scope)
            scope = memory.access.must_read(place.scope, home)
            writes = (scope,) if memory.access.may_write(scope, home) else ()
            memory.access = replace(memory.access, reads=(scope,), writes=writes)
        before = memory._tools.store.head()
        yield memory
        if memory._tools.store.head() != before:
            follow(memory)


@contextmanager
def _reached(place: Place, narrowed: bool) -> Iterator[Memory]:
    """The memory behind a server, with the interface of a local one."""
    from memorist.surfaces.cli import remote

    if place.scope is not None and narrowed:
        raise Invalid("what a server shows is narrowed by its key; --scope is for verbs that take one")
    with _warnings(), remote.opened(place) as there:
        yield there


def must_reach(place: Place, command: arguments.Command, is_verb: bool, values: Mapping[str, Any]) -> None:
    """Refuses, on a server, a command that needs the files of this machine."""
    if not any(option.name == "url" for option in command.options) or not place.server:
        return
    by = "leave --url out" if place.url else "`memorist config unset url` ends the setting that names a server"
    if not is_verb and command.name not in BESIDE_A_SERVER:
        raise Invalid(f"`memorist {command.name}` works on a store of this machine; name it with --db; {by}")
    if values.keys() & {"watch", "follow"}:
        raise Invalid(f"--watch and --follow stay with a store of this machine; name it with --db; {by}")


def follow(memory: Memory) -> None:
    """Updates the files of the project, if it has any. What was stored stays stored, whatever becomes of its files."""
    here = settings.load(memory._here.directory)
    if (here.files_mode or memory.design.files) == "off":
        return
    from memorist.files import follow as files

    try:
        done = files.follow(memory)
        for said in done.told if done else ():
            aside(said)
    except MemoristError as problem:
        aside(str(problem))


class _Aside(logging.Handler):
    """Shows the engine's warnings as a word to the person."""

    def emit(self, record: logging.LogRecord) -> None:
        aside(record.getMessage())


@contextmanager
def _warnings() -> Iterator[None]:
    log, told = logging.getLogger("memorist"), _Aside(logging.WARNING)
    log.addHandler(told)
    try:
        yield
    finally:
        log.removeHandler(told)


def _asked(ask: Ask) -> bool:
    danger = f" {ask.danger}" if ask.danger else ""
    return arguments.agreed(f"{ask.summary}?{danger}")


def command(verb: Verb) -> arguments.Command:
    name = verb.command or verb.name
    return arguments.Command(name, verb.help, arguments.options_of(verb.name), partial(_perform, verb))


def _perform(verb: Verb, place: Place, **given: Any) -> int:
    if given.keys() & {"watch", "follow"}:
        from memorist.surfaces.cli import watch

        return watch.follow(place, given) if given.pop("follow", False) else watch.upkeep(place, given)
    if "messages" in given:
        given["text"] = arguments.conversation(given.pop("messages"), given)
    why, batch = given.pop("why", False), verb.name == "remember" and given.pop("batch", False)
    scoped = _fill_in(verb, place, given, batch)
    _tell_of_conversation(verb, given.get("text"))
    # At a terminal `erase` asks before it begins; down a pipe nobody can say yes for the user.
    confirm: Confirmer | None = (lambda ask: True) if verb.name == "erase" and arguments.at_terminal() else None
    wait = PATIENCE_OF_READERS if verb.part == "reading" else PATIENCE
    with opened(place, narrowed=not scoped, wait=wait, confirm=confirm) as memory:
        _name_all(memory, verb.name, given)
        if verb.name == "review" and given.get("decide") and not place.server:
            _with_rights_to_move(memory, place, given.get("id"))
        if verb.name == "erase" and not _may_erase(memory, given):
            return arguments.declined()
        if verb.name == "upkeep" and not place.server and not given.get("dry_run"):
            read_transcripts(memory, given.get("seconds"))
        answer = _batch(memory, given) if batch else _each(memory, verb.name, given)
        if verb.name == "doctor" and not place.server:
            from memorist.surfaces.agents import receipts

            answer = [*answer, *receipts.checked(memory)]
        show.show(show.Result(verb.name, answer, memory, given, why), place.screen)
        if verb.name == "upkeep" and not place.server:
            follow(memory)  # includes what other processes wrote
        sys.stdout.flush()  # before writing the recall log, which may have to wait
    return exit_code(answer)


def _with_rights_to_move(memory: Memory, place: Place, id: str | None) -> None:
    """Whoever sits at a terminal owns the store, and may agree to what the rights to one project do not allow: renaming
    it. The question must be one that this project sees."""
    from memorist.remember import consent

    asked = (
        consent.waiting(memory.access, memory._tools.store) if arguments.at_terminal() and place.scope is None else []
    )
    if any(each.id == id and each.verb == "move" for each in asked):
        memory.access = of_the_owner(memory.access)


def read_transcripts(memory: Memory, seconds: float | None = None) -> None:
    """Reads the transcripts of agents, as far as hooks noted them."""
    from memorist.store import captures

    if captures.known(memory._tools.store, memory.space, memory.home):
        from memorist.surfaces.agents import capture

        capture.read_all(capture.recorder(memory), seconds)


def _tell_of_conversation(verb: Verb, text: object) -> None:
    if verb.name == "remember" and arguments.is_conversation(text):
        aside("this is a conversation, and is kept as one text; --messages keeps its turns")


def _fill_in(verb: Verb, place: Place, given: dict[str, Any], batch: bool) -> bool:
    """Adds the arguments that come from elsewhere: the place, the short filters, the settings, standard input. Returns
    whether the verb has a scope of its own."""
    parameters = arguments.parameters_of(verb.name)
    needed = {name for name, parameter in parameters.items() if parameter.default is parameter.empty}
    scoped = "scope" in parameters
    if scoped and place.scope is not None:
        given["scope"] = place.scope
    elif "scope" in needed:
        raise Invalid(f"{verb.command} needs --scope, such as --scope task/42")
    if set(arguments.FILTERS) <= set(arguments.EXTRAS.get(verb.name, ())):
        given["where"] = _filter(given) or None
    if verb.name == "context":
        given |= _usual_budget(place, given)
    for name in ("text", "query"):
        if name in parameters and not batch:
            asks = name in needed or (verb.name == "recall" and "session" not in given)
            given[name] = arguments.text_or_stdin(given.get(name), name, required=asks)
    return scoped


def _usual_budget(place: Place, given: Mapping[str, Any]) -> dict[str, int]:
    """The budget from the settings, unless the user gives one; without both, the project's choice or its design
    decides."""
    if {"budget", "remaining", "window"} & set(given):
        return {}
    found = settings.load(None if place.db else Path.cwd())
    return {} if found.sources["budget"] == "default" else {"budget": found.budget}


def _may_erase(memory: Memory, given: dict[str, Any]) -> bool:
    """Confirms what cannot be undone: at a terminal by a question, elsewhere by requiring `--yes`."""
    if given.pop("yes", False) or given.get("dry_run"):
        return True
    plan = memory.erase(**{**given, "dry_run": True})
    if not plan.changed and not plan.pending:
        given["dry_run"] = True  # there is nothing to ask about, and nothing that comes meanwhile was agreed to
        return True
    return arguments.agreed(
        f"erase {len(plan.changed):,} memories, past texts and what was derived included, for good?"
    )


def _name_all(memory: Memory, verb: str, given: dict[str, Any]) -> None:
    """One id as it is; several as the full ids of what they name. `forget` and `erase` take them as one filter."""
    named: list[str] = given.pop("id", []) if verb in arguments.ON_SEVERAL else []
    if verb in ("forget", "erase") and bool(named) == bool(given.get("where")):
        raise Invalid(f"name memories, or give a filter such as --tag or --where{'; not both' if named else ''}")
    if len(named) == 1:
        given["id"] = named[0]
    elif named:
        given["id"] = list(dict.fromkeys(memory.get(each).id for each in named))
        if "where" in arguments.parameters_of(verb):
            given["where"] = {"id": {"$in": given.pop("id")}}


def _each(memory: Memory, verb: str, given: Mapping[str, Any]) -> Any:
    """The answer of a verb, or those for several memories."""
    named = given.get("id")
    if not isinstance(named, list):
        return _call(memory, verb, dict(given))
    return [_call(memory, verb, {**given, "id": each}) for each in named]


def _list(memory: Memory, where: Any = None, order: str = "at", limit: int = 100, all: bool = False) -> list[Record]:
    """`Memory.list`, but turns do not bury memories: they are left out unless the filter names kinds or a speaker."""
    if all or any(map(Where.of(memory.access, where).speaks_of, SAYS_WHICH)):
        return memory.list(where, order=order, limit=limit)
    if isinstance(memory, Memory):
        found, hidden = _listed(memory, where, order, limit)
    else:
        found, hidden = memory.listed(where, order, limit)
    if hidden:
        aside(f"{hidden:,} turns, sessions, tasks and the like are not shown; --all lists them too")
    return found


def _listed(memory: Memory, where: Any, order: str, limit: int) -> tuple[list[Record], int]:
    whole = narrowed = memory._where(where)
    for kind in (kind.name for kind in KINDS.values() if not kind.recalled):
        narrowed = narrowed.also("kind", "ne", kind)
    store, most = memory._caller.store, checks.whole(limit, "limit", 1, 1_000_000)
    found = memory._read(store.find(narrowed, order_of(order), most))
    return found, sum(store.count(whole).values()) - sum(store.count(narrowed).values())


def _call(memory: Memory, verb: str, given: dict[str, Any]) -> Any:
    if verb == "list":
        return _list(memory, **given)
    placed = {"alias": ("word", "means"), "tag": ("id", "tags")}.get(verb)
    if placed is None:
        return getattr(memory, verb)(**given)
    first, several = placed  # a method with a star takes these by position
    return getattr(memory, verb)(given.pop(first), *given.pop(several, ()), **given)


def _batch(memory: Memory, defaults: dict[str, Any]) -> list[Outcome]:
    if "text" in defaults:
        raise Invalid("--batch reads its texts from standard input; leave the text out")
    if arguments.at_terminal():
        raise Invalid("--batch reads one draft per line from standard input; pipe them in")
    drafts = arguments.drafts(defaults)
    if not isinstance(memory, Memory):  # a server checks all of them before it stores any
        return memory.remember_many([each for _, each in drafts])
    return memory.remember_many([_checked(number, each, memory) for number, each in drafts])


def _checked(line: int, given: dict[str, Any], memory: Memory) -> Draft:
    """Checks a draft before any is stored, so that a bad line stores nothing."""
    try:
        return memory._checked(given)
    except MemoristError as problem:
        raise type(problem)(f"line {line}: {problem}; nothing was stored") from problem


def _filter(given: dict[str, Any]) -> dict[str, Any]:
    """`--where`, joined with the short options for common filters."""
    where: dict[str, Any] = dict(given.get("where", {}))
    if "user" in given:
        given["user"] = f"user/{given['user']}"
    for option, field, operator in SHORT_FILTERS:
        if option in given:
            if field in where:
                raise Invalid(f"{field} is given as an option and in --where; give it once")
            where[field] = {operator: given.pop(option)}
    return where


def exit_code(answer: Any) -> int:
    """0, unless something was refused, waits for a person, or is wrong."""
    answers = answer if isinstance(answer, list) else [answer]
    outcomes = {each.outcome for each in answers if isinstance(each, Outcome)}
    if "refused" in outcomes:
        return Refused.exit_code
    if "needs_consent" in outcomes or any(isinstance(each, Report) and each.pending for each in answers):
        return CONSENT_CODE
    return int(any(getattr(each, "ok", True) is False for each in answers))
