"""A verb as a route: from a request to the facade and back.

Everything that takes time, including parsing JSON, runs in a thread of the verb's lane; the event loop only passes
bytes on. An answer is what the facade returned, as JSON. An outcome that waits for a person is answered with 202, which
has that meaning, and the outcome as the body (docs/why/0046-the-http-api.md).
"""

import base64
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from memorist import checks
from memorist.commands import Verb
from memorist.errors import Conflict, Invalid, MemoristError, OutOfScope
from memorist.memory import Memory
from memorist.noun import plain
from memorist.records import Draft, Outcome, Record, utc
from memorist.remember.gate import draft_of
from memorist.remember.turns import is_conversation
from memorist.session.lease import StillHeld
from memorist.store.where import Order, order_of, type_of, value_of
from memorist.surfaces import wire
from memorist.surfaces.http.guard import Visitor
from memorist.surfaces.http.keys import ApiKey
from memorist.surfaces.http.replies import JSON_TYPE, Reply
from memorist.surfaces.http.work import ASKING, Work, lane_of, needs_notes
from memorist.surfaces.wire import TurnedAway

PAGED_FROM_FRONT = ("list", "sessions", "narratives", "tasks", "conflicts")  # pages start at the first entry
PAGED_FROM_END = ("log", "timeline", "session.turns")  # the last ones, oldest first: the next page is what came before
FURTHEST = {
    "timeline": 10_000,
    "narratives": 10_000,
    "conflicts": 10_000,
    "tasks": 100_000,
}  # the limits up to which the facade reads at once
FURTHEST_USUALLY = 1_000_000
ADDING = ("remember", "narrate", "add_task", *(f"session.{part}" for part in (*wire.BEGINS, "compact")))  # one memory
LONGEST_SESSION_WAIT = 30.0  # seconds that a request may wait for another writer of a session
BACKUPS = "backups"  # the folder beside the store for backups made by the server
BACKUP_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
OF_THE_WHOLE_STORE = ("backup", "compact")  # verbs that copy the whole store
OF_EVERY_PROJECT = ("upkeep", "rescan")  # verbs that change memories of all projects; doctor does where it repairs
REMEMBERED_ANSWERS = 1000
REMEMBERED_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request whose content has not been read yet."""

    verb: Verb
    method: str
    path: str
    placed: Mapping[str, str]  # the path parameters
    query: str
    headers: Mapping[str, str]
    body: bytes
    visitor: Visitor


# ---------------------------------------------------------------- from a request to the facade and back


async def perform(asked: HttpCall, work: Work, answers: "Answers") -> Reply:
    """Answers a request."""
    workers, reading = work.workers, work.lanes["reading"]
    if workers is not None and asked.verb.name in ASKING and workers.take(reading.inside):
        return await workers.answered(asked)
    lane = lane_of(asked.verb, len(asked.body))
    if (asked.verb.name, lane) == ("remember", "writing"):
        return await work.notes.do(asked)
    key = asked.headers.get("idempotency-key")
    if key is None or not asked.verb.writes or "key" in wire.parameters(asked.verb.name):
        return await work.lanes[lane].do(lambda: answered(asked, work))
    return await _once(asked, key, work, answers)


async def _once(asked: HttpCall, key: str, work: Work, answers: "Answers") -> Reply:
    """Answers a write; a repeated one gets the earlier answer."""
    answers.look(await work.lanes["reading"].do(lambda: work.memories.erased))
    found = answers.begin(asked, key)
    if found is not None:
        return found
    reply: Reply | None = None
    try:
        reply = await work.lanes[lane_of(asked.verb, len(asked.body))].do(lambda: answered(asked, work))
        return reply
    finally:
        answers.end(asked, key, reply)


def answered(asked: HttpCall, work: Work) -> Reply:
    """Reads the request, calls the verb and writes the answer. Runs in a thread."""
    try:
        project, cursor, arguments = _said(asked, work)
        with work.memories.seen_by(asked.visitor, project, needs_notes(asked.verb)) as memory:
            if _is_paged(asked, arguments):
                return _page(asked, memory, arguments, cursor)
            value = wire.call(memory, asked.verb.name, arguments)
            if asked.verb.writes:
                work.files.wrote(memory)
            return _reply(asked, _for_them(asked, value))
    except StillHeld:  # which its lane tries again
        raise
    except (MemoristError, OSError) as problem:
        return Reply.of_problem(problem, asked.visitor.request_id)


class _Note(NamedTuple):
    """A request to remember one text, read and checked."""

    place: int
    asked: HttpCall
    draft: Draft


def answered_together(calls: Sequence[HttpCall], work: Work) -> "list[Reply | Exception]":
    """Answers waiting requests to remember together: those of one key in one project share one transaction. Runs in a
    thread."""
    replies: dict[int, Reply | Exception] = {}
    notes: dict[tuple[ApiKey | None, str | None], list[_Note]] = {}
    for place, asked in enumerate(calls):
        try:
            project, _, arguments = _said(asked, work)
            if is_conversation(arguments["text"]):
                replies[place] = answered(asked, work)
            else:
                note = _Note(place, asked, draft_of({**arguments, "data": arguments.get("data") or {}}))
                notes.setdefault((asked.visitor.key, project), []).append(note)
        except Exception as problem:
            replies[place] = _of_its_own(problem, asked)
    for (_, project), some in notes.items():
        replies |= dict(_noted(some, project, work))
    return [replies[place] for place in range(len(calls))]


def _noted(notes: Sequence[_Note], project: str | None, work: Work) -> "Iterator[tuple[int, Reply | Exception]]":
    kept: Sequence[Outcome | Exception]
    try:
        with work.memories.seen_by(notes[0].asked.visitor, project) as memory:
            kept = memory._admit_apart([note.draft for note in notes])
            work.files.wrote(memory)
    except Exception as problem:
        kept = [problem] * len(notes)
    for (place, asked, _), outcome in zip(notes, kept, strict=True):
        try:
            told = outcome if isinstance(outcome, Exception) else _reply(asked, _for_them(asked, outcome))
        except Exception as fault:
            told = fault
        yield place, _of_its_own(told, asked) if isinstance(told, Exception) else told


def _of_its_own(problem: Exception, asked: HttpCall) -> Reply | Exception:
    """The problem as one request is told of it. An internal error is logged as usual, and its details are shown to
    nobody."""
    if isinstance(problem, MemoristError | OSError):
        return Reply.of_problem(problem, asked.visitor.request_id)
    return problem


def _for_them(asked: HttpCall, value: Any) -> Any:
    """The answer; paths on this machine are shown only to those who administer it."""
    return value if asked.visitor.is_keeper else wire.without_places(asked.verb.name, value)


def _reply(asked: HttpCall, value: Any) -> Reply:
    headers = {}
    if asked.verb.name == "get":
        return _shown(asked, value)
    record = getattr(value, "record", None)
    if isinstance(record, Record) and asked.verb.name in ("remember", "revise"):
        headers["etag"] = f'"{record.version}"'
    added = _added(asked, value)
    return Reply.of(value, 201 if added else 202 if waits(value) else 200, **headers, **added)


def _shown(asked: HttpCall, record: Record) -> Reply:
    """A memory under an ETag of its version and of all that is shown, because votes and uses change no version."""
    reply = Reply.of(record)
    tag = f'"{record.version}-{hashlib.sha256(reply.body).hexdigest()[:16]}"'
    if tag in _tags(asked.headers.get("if-none-match", "")):
        return Reply(304, b"", {"etag": tag})
    return replace(reply, headers={**reply.headers, "etag": tag})


def _added(asked: HttpCall, value: Any) -> dict[str, str]:
    """The address of a memory that was added, in the project that the request named; else nothing."""
    if asked.verb.name not in ADDING or not isinstance(value, Outcome) or value.outcome != "added":
        return {}
    named = [pair for pair in pairs_of(asked.query) if pair[0] == "project"]
    return {"location": f"/v1/memories/{value.id}" + (f"?{urlencode(named)}" if named else "")}


def waits(value: Any) -> bool:
    """Whether any part of the outcome waits for a person."""
    values = value if isinstance(value, list) else [value]
    return any(
        each.outcome == "needs_consent" if isinstance(each, Outcome) else getattr(each, "pending", None) is not None
        for each in values
    )


def _tags(header: str) -> list[str]:
    return [tag.strip().removeprefix("W/") for tag in header.split(",")]


# ---------------------------------------------------------------- what it says


def _said(asked: HttpCall, work: Work) -> tuple[str | None, str | None, dict[str, Any]]:
    """The project it is about, the cursor, and the arguments of the verb, checked."""
    paged, depth = asked.verb.name in (*PAGED_FROM_FRONT, *PAGED_FROM_END), work.limits.depth
    around, rest = taken_from(asked.query, "project", *(["cursor"] if paged else []))
    given = _in_body(asked, rest, depth) if asked.method not in ("GET", "DELETE") else _in_query(asked, rest, depth)
    if lacking := [name for name in asked.verb.lacks if name in given]:
        raise Invalid(f"{asked.method} only reads, and takes no {lacking[0]}; send it by {asked.verb.http}")
    arguments = wire.arguments(asked.verb.name, _with_headers(asked, _placed(asked, given)))
    _bounded(asked, arguments, work)
    return around.get("project"), around.get("cursor"), arguments


def taken_from(query: str, *names: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The values that a query gives these names, each once, and the rest of it."""
    found, rest = dict[str, str](), list[tuple[str, str]]()
    for name, value in pairs_of(query):
        if name in found:  # a slip must not decide where something is written
            raise Invalid(f"{name} was given more than once; it takes one value")
        if name in names:
            found[name] = value
        else:
            rest.append((name, value))
    return found, rest


def _in_body(asked: HttpCall, rest: list[tuple[str, str]], depth: int) -> dict[str, Any]:
    if rest:
        raise Invalid(f"{rest[0][0]!r:.60} is no part of this query; arguments are fields of a JSON object")
    found = read_json(asked.headers.get("content-type"), asked.body, depth)
    if "project" in found and "project" not in wire.parameters(asked.verb.name):
        raise Invalid("the project stands in the query, such as ?project=atlas; leave it out of the body")
    return found


def _in_query(asked: HttpCall, rest: list[tuple[str, str]], depth: int) -> dict[str, Any]:
    if asked.body.strip():
        raise Invalid(f"{asked.method} takes its arguments as a query; leave the body out, it would be ignored")
    return wire.queried(asked.verb.name, rest, depth)


def pairs_of(query: str) -> list[tuple[str, str]]:
    """The names and values of a query, which must be UTF-8."""
    try:
        return parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError as problem:
        raise TurnedAway("malformed", f"the query cannot be read: {problem}") from problem


def _placed(asked: HttpCall, given: dict[str, Any]) -> dict[str, Any]:
    for name in asked.placed:
        if name in given:
            raise Invalid(f"{name} stands in the path; leave it out")
    return {**given, **asked.placed}


def _with_headers(asked: HttpCall, given: dict[str, Any]) -> dict[str, Any]:
    """Adds the arguments that HTTP carries in headers: the expected version (If-Match) and the idempotency key."""
    match, key = asked.headers.get("if-match"), asked.headers.get("idempotency-key")
    takes = wire.parameters(asked.verb.name)
    if match is not None:
        given = _joined(given, "expected_version", _version(match), "If-Match", takes)
    if key is not None and asked.verb.writes:
        if not key.strip() or len(key) > 256:
            raise Invalid("an Idempotency-Key has 1 to 256 characters")
        if "key" in takes:
            given = _joined(given, "key", key, "Idempotency-Key", takes)
    return given


def _joined(given: dict[str, Any], name: str, value: Any, header: str, takes: Mapping[str, Any]) -> dict[str, Any]:
    if name not in takes:
        raise Invalid(f"this request takes no {header}; it would be ignored")
    if value is None:
        return given
    if given.get(name) not in (None, value):
        raise Invalid(f"{header} and {name} say different things; leave one out")
    return {**given, name: value}


def _version(match: str) -> int | None:
    """The version that an If-Match names; None for any."""
    found = re.fullmatch(r'"(\d{1,15})(-[0-9a-f]{16})?"', match.strip())
    if match.strip() == "*":
        return None
    if found is None:
        raise Invalid(f'If-Match takes the ETag of the memory, such as "3", not {match!r:.60}')
    return int(found[1])


def read_json(type: str | None, body: bytes, depth: int) -> dict[str, Any]:
    """The JSON object of a body."""
    if not body.strip():
        return {}
    sort = (type or "").partition(";")[0].strip().lower()
    if sort != JSON_TYPE:
        said = f"not {sort[:60] or 'nothing'!r}"
        raise TurnedAway("no_json", f"a body is {JSON_TYPE}; say so in its Content-Type, {said}")
    found = wire.parsed(body, "the body", depth)
    if not isinstance(found, dict):
        raise TurnedAway("malformed", "the body is a JSON object of arguments, such as {}")
    return found


def _bounded(asked: HttpCall, arguments: dict[str, Any], work: Work) -> None:
    """Refuses what a local program may do but a remote client may not: wait long, name files of the server, fill its
    disk."""
    verb = asked.verb.name
    if verb == "session" and arguments.get("wait", 0) > LONGEST_SESSION_WAIT:
        raise Invalid(f"over HTTP a session is waited for up to {LONGEST_SESSION_WAIT:g} seconds; ask again after that")
    _must_be_for_all(asked.visitor, verb, arguments)
    if verb in OF_THE_WHOLE_STORE or arguments.get("repair"):
        work.disk.must_have_room(work.memories.size)
    elif asked.verb.writes and asked.visitor.may_write:
        work.disk.must_have_room()
    if verb == "backup":
        arguments["path"] = str(_backup(arguments["path"], work.memories.path))


def _must_be_for_all(visitor: Visitor, verb: str, arguments: Mapping[str, Any]) -> None:
    """Refuses what concerns all projects to keys that are not for all of them."""
    if verb in OF_THE_WHOLE_STORE and not visitor.is_keeper:
        raise OutOfScope(f"{verb} is about the whole store, with all its projects; it takes a key with the role admin")
    changes_all = verb in OF_EVERY_PROJECT and not arguments.get("dry_run")
    if (changes_all or arguments.get("repair")) and not visitor.has_every_project:
        raise OutOfScope(f"{verb} works on all projects, and this key is for some; it takes one that names no project")


def _backup(name: str, store: Path | None) -> Path:
    if not BACKUP_NAME.fullmatch(name):
        raise Invalid(f"over HTTP a backup has a plain name such as 'monday.db', not {name!r:.60}")
    if store is None:
        raise Invalid("a store in RAM has no place for a backup; use /v1/export")
    folder = store.parent / BACKUPS
    folder.mkdir(mode=0o700, exist_ok=True)
    if (folder / name).exists():
        raise Invalid(f"there is a backup {name} already; choose another name")
    return folder / name


# ---------------------------------------------------------------- pages


def _is_paged(asked: HttpCall, arguments: Mapping[str, Any]) -> bool:
    name = asked.verb.name
    if name in PAGED_FROM_FRONT:
        return True
    return name in PAGED_FROM_END and arguments.get("around") is None and _limit(name, arguments) is not None


def _limit(verb: str, arguments: Mapping[str, Any]) -> int | None:
    limit: int | None = arguments.get("limit", wire.parameters(verb)["limit"].default)
    return limit


class Mark(NamedTuple):
    """Where a page begins: after the row with that number and that value of the sort column, or after so many rows."""

    passed: int = 0
    number: int = 0
    value: Any = None

    def written(self, question: str) -> str:
        said = json.dumps([question, self.passed, self.number, plain(self.value)])
        return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, cursor: str, question: str) -> "Mark":
        try:
            said = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        except (ValueError, RecursionError):
            said = None
        match said:
            case [str() as of, int() as passed, int() as number, None | int() | float() | str() as value] if (
                of == question
            ):
                if all(abs(each) < 1 << 53 for each in (passed, number, value) if isinstance(each, int)):
                    return cls(passed, number, value)
        raise Invalid("this cursor is of another question, or none; begin without it, and follow the Link of each page")


def _page(asked: HttpCall, memory: Memory, arguments: dict[str, Any], cursor: str | None) -> Reply:
    """One page of a list, as the facade returns it; if there is more, `Link` has the address of the next page."""
    verb, question = asked.verb.name, _question(asked)
    limit = checks.whole(_limit(verb, arguments), "limit", 1, FURTHEST.get(verb, FURTHEST_USUALLY))
    rest = {name: value for name, value in arguments.items() if name != "limit"}
    mark = None if cursor is None else Mark.read(cursor, question)
    order = order_of(rest.get("order", "at"))
    if verb == "log":
        rows, following = _of_journal(memory, rest, limit, mark)
    elif verb in ("list", "timeline") and type_of(order.field) != "text":
        rows, following = _sorted(memory, rest.get("where"), order, limit, mark)
        rows = rows if verb == "list" else rows[::-1]
    else:
        rows, following = _counted(memory, verb, rest, limit, mark)
    return Reply.of(rows) if following is None else Reply.of(rows, link=_link(asked, following.written(question)))


Page = tuple[list[Any], Mark | None]  # its rows, and where the next one begins


def _of_journal(memory: Memory, rest: dict[str, Any], limit: int, mark: Mark | None) -> Page:
    known = [each for each in (rest.get("before"), mark and mark.number) if each is not None]
    found = memory.log(**{**rest, "before": min(known, default=None), "limit": min(limit + 1, FURTHEST_USUALLY)})
    rows = found[-limit:]
    return rows, Mark(number=rows[0].seq) if len(found) > limit else None


def _sorted(memory: Memory, where: Any, order: Order, limit: int, mark: Mark | None) -> Page:
    """Records after a row that may be gone or changed by now. A missing value sorts lowest."""
    found, asked = list[Record](), memory._where(where)
    for clauses in [()] if mark is None else _behind(mark, order):
        if len(found) <= limit:
            part = reduce(lambda where, clause: where.also(*clause), clauses, asked)
            found += memory._caller.store.find(part, order, limit + 1 - len(found))
    rows = memory._read(found[:limit])
    return rows, Mark(0, rows[-1].number, value_of(rows[-1], order.field)) if len(found) > limit else None


def _behind(mark: Mark, order: Order) -> Iterator[tuple[tuple[str, str, Any], ...]]:
    """The condition for rows after the mark: the same value further on, a further value, or no value."""
    field, value, further = order.field, mark.value, "gt" if order.ascending else "lt"
    if type_of(field) == "time" and value is not None:
        value = utc(value, "the time in the cursor")
    yield (field, "eq", value), ("number", further, mark.number)
    if value is not None:
        yield ((field, further, value),)
    if (value is None) == order.ascending:
        yield ((field, "ne" if order.ascending else "eq", None),)


def _counted(memory: Memory, verb: str, rest: dict[str, Any], limit: int, mark: Mark | None) -> Page:
    passed = 0 if mark is None else mark.passed
    last = passed + limit
    is_far = last >= FURTHEST.get(verb, FURTHEST_USUALLY)  # then the facade says so, or there is no more
    found = wire.call(memory, verb, {**rest, "limit": last if is_far else last + 1})
    reached = len(found) - passed
    rows = found[passed:last] if verb in PAGED_FROM_FRONT else found[max(0, reached - limit) : max(0, reached)]
    return rows, Mark(last) if reached > limit else None


def _question(asked: HttpCall) -> str:
    """What a cursor is bound to: the arguments as they were given, since "now" is another moment on the next page."""
    said = sorted(pair for pair in pairs_of(asked.query) if pair[0] not in ("limit", "cursor"))
    return hashlib.sha256(json.dumps([asked.path, said]).encode()).hexdigest()[:16]


def _link(asked: HttpCall, cursor: str) -> str:
    pairs = [pair for pair in pairs_of(asked.query) if pair[0] != "cursor"]
    return f'<{quote(asked.path)}?{urlencode([*pairs, ("cursor", cursor)])}>; rel="next"'


# ---------------------------------------------------------------- answers that are given again


@dataclass(slots=True)
class Remembered:
    """A write with an idempotency key, and its answer once it is done."""

    digest: str
    has_content: bool  # whether its answer may hold the text of a memory
    done: bool = False
    reply: Reply | None = None
    withheld: bool = False  # something was erased since it began

    @property
    def size(self) -> int:
        return len(self.reply.body) if self.reply else 0


class Answers:
    """The last answers to writes that came with an Idempotency-Key and whose verb has no key of its own. They are kept
    while the server runs, and until something is erased; `remember` and `add_task` keep theirs in the store."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[ApiKey | None, str], Remembered] = OrderedDict()
        self._bytes = 0
        self._erased: str | None = None

    def look(self, erased: str | None) -> None:
        """Drops all answers if anyone erased something since: one of them may hold the erased text."""
        if erased == self._erased:
            return
        self._erased = erased
        for kept in self._kept.values():
            if kept.has_content:
                self._bytes -= kept.size
                kept.reply, kept.withheld = None, True

    def begin(self, asked: HttpCall, key: str) -> Reply | None:
        """Returns the earlier answer, or None if this is the first time."""
        who, digest = self._who(asked, key), _digest(asked)
        found = self._kept.get(who)
        if found is None:
            self._kept[who] = Remembered(digest, asked.verb.name != "erase")
            return None
        if found.digest != digest:
            said = "this Idempotency-Key was used for another request; choose a new one"
            return Reply.of_problem(Conflict(said), asked.visitor.request_id)
        if found.reply is None:
            said = "a request with this Idempotency-Key is being worked on; ask again in a moment"
            gone = "this was done, and its answer is not kept, since something was erased; see what became of it"
            return Reply.of_problem(Conflict(gone if found.done else said), asked.visitor.request_id)
        return Reply(found.reply.status, found.reply.body, {**found.reply.headers, "idempotent-replayed": "true"})

    def end(self, asked: HttpCall, key: str, reply: Reply | None) -> None:
        """Keeps the answer. After an error on our side the write may be tried again."""
        who = self._who(asked, key)
        if reply is None or reply.status >= 400:
            self._kept.pop(who, None)
            return
        kept = self._kept[who]
        kept.done, kept.reply = True, None if kept.withheld else reply
        self._bytes += kept.size
        self._bound()

    def _bound(self) -> None:
        while len(self._kept) > REMEMBERED_ANSWERS or self._bytes > REMEMBERED_BYTES:
            oldest = next((each for each, kept in self._kept.items() if kept.done), None)
            if oldest is None:
                return
            self._bytes -= self._kept.pop(oldest).size

    @staticmethod
    def _who(asked: HttpCall, key: str) -> tuple[ApiKey | None, str]:
        """The sender with all their rights: another key of that name, or other rights, have answers of their own."""
        return asked.visitor.key, key


def _digest(asked: HttpCall) -> str:
    said = "\0".join((asked.method, asked.path, asked.query)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(said + b"\0" + asked.body).hexdigest()
