"""Conversations at the command line: list them, show one, add a turn or a note, end one.

Each command opens the session, does its part and leaves it open, so a conversation can be kept turn by turn from a
shell. It ends with `session close`, or by itself after fifteen minutes without a command.
"""

from functools import partial
from typing import Any

from memorist.commands import ARGUMENTS, meaning
from memorist.errors import NotFound
from memorist.memory import Memory
from memorist.records import Outcome, Record, Report, minute
from memorist.remember.gate import scope_of
from memorist.remember.promotion import WAITS
from memorist.store.where import Order
from memorist.surfaces import wire
from memorist.surfaces.cli import arguments, show
from memorist.surfaces.cli.arguments import PLACE, Commands, Option, options_of
from memorist.surfaces.cli.screen import Screen, aside, one_line
from memorist.surfaces.cli.verbs import PATIENCE_OF_READERS, Place, exit_code, opened

SHOWN_TURNS = 50
SHOWN_UNOPENED = 20
SHOWN_REFUSED = 20


def list_sessions(place: Place, **given: Any) -> int:
    with opened(place, wait=PATIENCE_OF_READERS) as memory:
        found = memory.sessions(**given)
        rows = [_row(memory, each) for each in found]
        if "state" not in given and isinstance(memory, Memory):
            rows += _unopened(memory, given.get("limit", SHOWN_UNOPENED))
    if not rows:
        aside("no conversation is kept here that fits; `memorist ingest` keeps one, `memorist session turn` begins one")
    return place.screen.table(found, ("session", "state", "turns", "changed", "agent", "from", "about"), rows)


def _row(memory: Memory, record: Record) -> tuple[str, ...]:
    said, agent = record.data, record.provenance.agent or ""
    brought = "source" in said  # came with an import, which knows its date and its former name
    about = record.text.removeprefix(f"Session {record.title} of {agent}: ") if brought else ""
    moment = record.times.at if brought else record.times.updated
    state, turns = str(said.get("state", "unopened")), _turns(memory, str(record.title), record.scope)
    return str(record.title), state, turns, minute(moment), agent, said.get("parent") or "", about


def _unopened(memory: Memory, limit: int) -> list[tuple[str, ...]]:
    """Among the latest conversations, those that `remember` stored as turns: no session was opened for them."""
    by, rows = memory._caller, list[tuple[str, ...]]()
    last = by.where.also("kind", "eq", "turn").also("state", "eq", "active").also("scope", "eq", memory.home)
    last = last.also("session", "ne", None)
    for _ in range(min(limit, SHOWN_UNOPENED)):
        for turn in by.store.find(last, Order("number"), 1):
            name = str(turn.provenance.session)
            last = last.also("session", "ne", name)
            if not memory.count({"kind": "session", "session": name}):
                moment, agent = minute(turn.times.updated), turn.provenance.agent or ""
                rows.append((name, "unopened", _turns(memory, name, turn.scope), moment, agent, "", ""))
    return rows


def _turns(memory: Memory, session: str, scope: str) -> str:
    return f"{memory.count({'session': session, 'kind': 'turn', 'scope': scope}):,}"


def show_session(place: Place, session: str, limit: int = SHOWN_TURNS, user: str | None = None) -> int:
    from memorist.session.name import record_of, turns_of

    with opened(place, wait=PATIENCE_OF_READERS) as memory:
        if isinstance(memory, Memory):
            by, name = memory._caller, memory._named(session, user)
            record, turns = record_of(name, by), turns_of(name, by, limit)
        else:
            record, turns = memory.talk(session, limit, user)
        if record is None and not turns:
            raise _unknown(session, user)
    lines = [f"[id:{turn.number}] {turn.provenance.role}: {one_line(turn.text)}" for turn in turns]
    head = [f"{record.title}: {record.data.get('state', 'unopened')}"] if record else []
    return place.screen.answer({"session": record, "turns": turns}, *head, *lines)


def _done(
    memory: Memory, session: str, part: str, agent: str | None = None, user: str | None = None, **given: Any
) -> Any:
    """Does one part of a session, which is opened for it and left open."""
    held = memory.session(session, agent=agent, user=user)
    try:
        return getattr(held, part)(**given)
    finally:
        held.leave()


def say(part: str, place: Place, session: str, text: str | None = None, **given: Any) -> int:
    """Adds a turn, or a note."""
    given["text"] = arguments.text_or_stdin(text, "text", required=True) or ""
    with opened(place) as memory:
        outcome: Outcome = _done(memory, session, part, **given)
        show.show(show.Result("remember", outcome, memory), place.screen)
    return exit_code(outcome)


def close(place: Place, session: str, user: str | None = None, **given: Any) -> int:
    _must_be_known(place, session, user)
    with opened(place) as memory:
        report: Report = _done(memory, session, "close", user=user, **given)
        screen = place.screen
        show.show(show.Result("finish", report, memory), screen)
        if not screen.json:
            _show_kept(memory, report, screen)
    return exit_code(report)


def _show_kept(memory: Memory, report: Report, screen: Screen) -> None:
    """Shows what remains of a conversation once it has ended, the summary first."""
    ids = dict.fromkeys([*(each.id for each in report.changed), *report.left])
    kept = [record for record in show.by_id(memory, ids).values() if record.state == "active"]
    for record in sorted(kept, key=lambda each: (each.kind != "summary", each.number)):
        screen.line(f"  [id:{record.number}] {record.kind}: {one_line(record.text)}")
    if any(because == WAITS for because in report.left.values()):
        screen.line("`memorist promote ID` keeps a finding for the project", "dim")


def fork(place: Place, session: str, new: str | None = None, user: str | None = None, **given: Any) -> int:
    _must_be_known(place, session, user)
    with opened(place) as memory:
        asked = {"session": session, "user": user, "id": new, **given}
        record = wire.call(memory, "session.fork", asked) if isinstance(memory, Memory) else memory.part("fork", asked)
    return place.screen.answer(record, f"{record.title}: forked from {session}")


def _must_be_known(place: Place, session: str, user: str | None) -> None:
    """Refuses to close or fork a session that never began: a typo must not create one."""
    with opened(place, wait=PATIENCE_OF_READERS) as memory:
        where = scope_of(None, user) or memory.home
        if not memory.count({"kind": "session", "session": session, "scope": where}):
            raise _unknown(session, user)


def _unknown(session: str, user: str | None) -> NotFound:
    whose = "" if user is None else f" of {user!r:.60}"
    return NotFound(f"there is no session {session!r:.60}{whose} here; `memorist session list` lists them")


def ingest(place: Place, messages: str, **given: Any) -> int:
    read = arguments.messages_in(messages)
    with opened(place) as memory:
        done = memory.ingest(read, **given)
    place.screen.answer(done, done._line())
    refused = [each.because for each in done.outcomes if each.outcome == "refused"]
    for because in refused[:SHOWN_REFUSED]:
        aside(because)
    if len(refused) > SHOWN_REFUSED:
        aside(f"and {len(refused) - SHOWN_REFUSED:,} more were refused; --json lists all of them")
    return exit_code(list(done.outcomes))


SESSION = Option("session", "The conversation, by its name.", needed=True)
ROLE = Option("role", "user, assistant, system or tool.", needed=True)
TEXT = Option("text", "What was said or is to be noted; standard input without it.")
AGENT = Option("agent", meaning("session", "agent"), "--agent")
USER = Option("user", meaning("session", "user"), "--user")
MESSAGE = Option("id", "The id of the message: sent again, it is kept once.", "--id")
AT = Option("at", ARGUMENTS["at"], "--at", "time")
SPEAKER = Option("speaker", ARGUMENTS["speaker"], "--speaker")
KIND = Option("kind", "What kind of note it is; default: note.", "--kind")
FAST = Option(
    "fast", "Keeps the last findings as they are; the next session that is opened does the rest.", "--fast", "flag"
)
NEW = Option("new", "The name of the fork; a new one without it.")
LIMIT = Option("limit", f"How many turns at most, the last ones; default: {SHOWN_TURNS}.", "--limit", "whole")
commands: Commands = {
    "session list": (options_of("sessions"), list_sessions),
    "session show": ((SESSION, LIMIT, USER, *PLACE), show_session),
    "session turn": ((SESSION, ROLE, TEXT, MESSAGE, AT, SPEAKER, AGENT, USER, *PLACE), partial(say, "turn")),
    "session note": ((SESSION, TEXT, KIND, AGENT, USER, *PLACE), partial(say, "note")),
    "session close": ((SESSION, FAST, USER, *PLACE), close),
    "session fork": ((SESSION, NEW, AGENT, USER, *PLACE), fork),
    "ingest": (options_of("ingest"), ingest),
}
