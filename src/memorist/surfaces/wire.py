"""JSON and the facade: what a client may send, what it gets back, and how errors are reported. Every surface but the
command line uses it.

    arguments(verb, given)   a JSON object as the keyword arguments of a verb; each refusal names the field
    schema(verb)             the JSON schema of that object
    call(memory, verb, …)    the verb itself; `session.turn` and the like are the parts of a session (`commands.SESSION_PARTS`)
    returns(verb), noun      the type of a verb's answer, and such an answer rebuilt from JSON (`noun.plain` wrote it)
    problem(error), raised   an error as status, code and words, and the error rebuilt

Everything is read from the signatures and annotations of `Memory` and `Session`, so that an argument added there is
known here.
"""

import builtins
import inspect
import json
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from functools import cache
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from memorist import errors, strict_json
from memorist.commands import ARGUMENTS, SESSION_PARTS, VERBS, meaning
from memorist.errors import Invalid, MemoristError, NotFound, OutOfScope, StoreUnavailable, meant, unavailable
from memorist.kinds import KEPT_BY
from memorist.store.room import DiskLow
from memorist.strict_json import NotStrict
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.memory import Memory
    from memorist.remember.changes import Caller
    from memorist.session.name import Name
    from memorist.session.session import Session

Schema = dict[str, Any]
JSON_NAMES: Mapping[Any, tuple[str, str]] = {  # for each form its JSON type, and its name in a refusal
    str: ("string", "a text"), int: ("integer", "a whole number"), float: ("number", "a number"),
    bool: ("boolean", "true or false"), list: ("array", "a list"), dict: ("object", "an object"),
    NoneType: ("null", "null"),
}  # fmt: skip
BEGINS = ("turn", "note", "tool_call", "tool_result")  # the parts that may begin a session
TAKES_A_TEXT = ("remember", "revise", "session.note")  # a text whose kind the client names
UNHELD = ("prefetch", "ready")  # the parts that do not hold the session
WHOSE = ("agent", "user")  # who takes part in a session, and whose it is: repeated with each part
OF_THE_SESSION = ("scope", "home", "user", "session", "agent")  # arguments of a note that the session supplies
DEPTH = 100  # how deep objects and lists may be nested
# Fields of a status.
OF_THE_MACHINE = ("store", "project_folder", "elsewhere", "settings_problems", "secret_rules_problem")
OF_MANY = "The memories: texts, or objects with the arguments of `remember`."


# ---------------------------------------------------------------- what the facade takes


@cache
def parameters(verb: str) -> Mapping[str, inspect.Parameter]:
    """The parameters of a verb by name, with their annotations resolved; `**arguments` is replaced by what it passes on
    to."""
    found = _own(_method(verb))
    if found.pop("arguments", None):  # in explain and why_not
        found |= {name: each for name, each in parameters("recall").items() if each.kind is each.KEYWORD_ONLY}
    if found.pop("draft", None):  # in a note
        draft = {name: each for name, each in parameters("remember").items() if name not in OF_THE_SESSION}
        found = draft | found
    if verb in SESSION_PARTS:
        found = {"session": _NAME} | {name: parameters("session")[name] for name in WHOSE} | found
    return found


def _own(method: Any) -> dict[str, inspect.Parameter]:
    """The parameters as the signature has them."""
    hints = get_type_hints(method, localns=_types())
    taken = {name: each for name, each in inspect.signature(method).parameters.items() if name != "self"}
    return {name: each.replace(annotation=hints.get(name, Any)) for name, each in taken.items()}


_NAME = inspect.Parameter("session", inspect.Parameter.KEYWORD_ONLY, annotation=str)


def _method(verb: str) -> Any:
    from memorist.memory import Memory
    from memorist.session.session import Session

    return getattr(Session, verb.partition(".")[2]) if verb in SESSION_PARTS else getattr(Memory, verb)


@cache
def _types() -> dict[str, Any]:
    """The names that annotations use without importing them."""
    from memorist.prompt.modes import Profile, ProfileName
    from memorist.remember.conflicts import Dispute
    from memorist.remember.consent import Pending
    from memorist.remember.gaps import Gap
    from memorist.remember.promotion import Weighed
    from memorist.session.session import Ingested, Session
    from memorist.session.tasks import TaskStatus
    from memorist.store.checkouts import Holding
    from memorist.store.journal import Audit

    return {
        "Profile": Profile, "ProfileName": ProfileName, "Dispute": Dispute, "Pending": Pending, "Weighed": Weighed, "Gap": Gap,
        "Ingested": Ingested, "Session": Session, "TaskStatus": TaskStatus, "Holding": Holding, "Audit": Audit,
        "builtins": builtins,
    }  # fmt: skip


# ---------------------------------------------------------------- forms: what of an annotation JSON can say


@cache
def _forms(annotation: Any) -> tuple[Any, ...]:
    """The JSON forms that an argument takes. Of several ways to say the same, such as a time as a text or as a
    datetime, it lists those that JSON has; a form for any text replaces a few named texts."""
    union = get_origin(annotation) in (Union, types.UnionType)
    parts = [form for each in (get_args(annotation) if union else [annotation]) for form in _form(each)]
    if str in parts:
        parts = [each for each in parts if get_origin(each) is not Literal]
    return tuple(dict.fromkeys(parts))


def _form(annotation: Any) -> tuple[Any, ...]:
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return _forms(annotation)
    if annotation in JSON_NAMES or annotation is Any or origin is Literal:
        return (annotation,)
    if origin in (Sequence, Iterable, list):
        return (list[get_args(annotation)[0]],)  # type: ignore[misc]
    if origin in (Mapping, dict):
        return (dict[str, get_args(annotation)[1]],)  # type: ignore[misc]
    if inspect.isclass(annotation) and issubclass(annotation, date | Path | PathLike):
        return (str,)
    return ()  # a Python object: its JSON form stands beside it in the union


def _schema(annotation: Any) -> Schema:
    simple, others = list[str](), list[Schema]()
    for form in _forms(annotation):
        if form is Any:
            return {}
        origin = get_origin(form)
        if origin is Literal:
            others.append({"type": "string", "enum": [*get_args(form)]})
        elif origin is list:
            others.append({"type": "array", "items": _schema(get_args(form)[0])})
        elif origin is dict:
            inner = _schema(get_args(form)[1])
            others.append({"type": "object"} | ({"additionalProperties": inner} if inner else {}))
        else:
            simple.append(JSON_NAMES[form][0])
    return _joined(simple, others)


def _joined(simple: list[str], others: list[Schema]) -> Schema:
    """One schema of these types and schemas; beside a single other schema, null becomes one more of its types and
    values."""
    if len(others) == 1 and simple == ["null"]:
        [only] = others
        return {**only, "type": [only["type"], "null"]} | ({"enum": [*only["enum"], None]} if "enum" in only else {})
    plain_ones: list[Schema] = [{"type": simple[0] if len(simple) == 1 else simple}] if simple else []
    both = [*plain_ones, *others]
    return both[0] if len(both) == 1 else {"anyOf": both}


@cache
def schema(verb: str) -> Schema:
    """The JSON schema of a verb's arguments."""
    takes, found = parameters(verb), dict[str, Schema]()
    for name, each in takes.items():
        said = _about(verb, name)
        default = {} if each.default in (each.empty, None, ()) else {"default": each.default}
        found[name] = _schema(_annotation(each)) | ({"description": said} if said else {}) | default
    return {"type": "object", "properties": found, "required": _needed(takes), "additionalProperties": False}


def _needed(takes: Mapping[str, inspect.Parameter]) -> list[str]:
    """The required arguments."""
    return [name for name, each in takes.items() if each.default is each.empty and each.kind is not each.VAR_POSITIONAL]


def _about(verb: str, name: str) -> str | None:
    if name == "many":
        return OF_MANY
    return meaning(verb, name) if verb in VERBS else ARGUMENTS.get(name)


# ---------------------------------------------------------------- what was given


def arguments(verb: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Turns a client's JSON object into the arguments of the verb. Unknown names and values of another type are refused
    by name."""
    read = _checked(verb, parameters(verb), given)
    if verb in TAKES_A_TEXT and read.get("kind") in KEPT_BY:
        raise Invalid(
            f"{verb} keeps no {read['kind']}: {KEPT_BY[read['kind']]}; for a text take another kind, such as note"
        )
    return {"many": [*map(_draft, range(1, len(read["many"]) + 1), read["many"])]} if verb == "remember_many" else read


def arguments_for(method: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a method that is not a verb, such as a tool of a founding document."""
    return _checked(method.__name__, _own(method), given)


def _checked(name: str, takes: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise Invalid(f"{name} takes an object of arguments, not {quoted(given)}")
    _refuse_unknown(name, given, takes)
    if missing := [each for each in _needed(takes) if each not in given]:
        raise Invalid(f"{name} needs {', '.join(missing)}; it takes {', '.join(takes)}")
    return {each: _timed(_read(value, _annotation(takes[each]), each), takes[each]) for each, value in given.items()}


def _timed(value: Any, parameter: inspect.Parameter) -> Any:
    """A time in words, such as "yesterday", as the moment when it begins by the clock of this machine; else the value
    as given."""
    if not isinstance(value, str) or date not in get_args(parameter.annotation):
        return value
    try:
        datetime.fromisoformat(value.strip())
    except ValueError:
        from memorist.records import zoned
        from memorist.text.dates import in_words

        found = in_words(value, datetime.now())
        return value if found is None else zoned(found, parameter.name)
    return value


def _draft(place: int, given: Any) -> Any:
    """One of many memories: a text, or the arguments of `remember`."""
    try:
        return given if isinstance(given, str) else arguments("remember", given)
    except Invalid as problem:
        raise Invalid(f"memory {place}: {problem}; nothing was stored") from problem


def _refuse_unknown(verb: str, given: Mapping[str, Any], takes: Mapping[str, Any]) -> None:
    unknown = [name for name in given if name not in takes]
    if unknown:
        named = ", ".join(quoted(name) for name in unknown[:10])
        hint = meant(unknown[0], takes) or f"; it takes {', '.join(takes) or 'none'}"
        raise Invalid(f"{verb} has no argument {named}{hint}")


def _annotation(parameter: inspect.Parameter) -> Any:
    return list[str] if parameter.kind is parameter.VAR_POSITIONAL else parameter.annotation


def _read(value: Any, annotation: Any, name: str) -> Any:
    forms = _forms(annotation)
    for form in forms:
        if _fits(value, form):
            return _inside(value, form, name)
    said = " or ".join(dict.fromkeys(_said(form) for form in forms if form is not NoneType))
    raise Invalid(f"{name} must be {said}, not {quoted(value)}")


def _fits(value: Any, form: Any) -> bool:
    """Whether a value has that form, as JSON counts it: 5.0 is a whole number, and true is not."""
    if form is Any:
        return True
    if get_origin(form) is Literal:
        return isinstance(value, str) and value in get_args(form)
    if isinstance(value, bool) or form is bool:
        return isinstance(value, bool) and form is bool
    return _whole(value) if form is int else isinstance(value, {float: int | float}.get(form, get_origin(form) or form))


def _whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _inside(value: Any, form: Any, name: str) -> Any:
    origin = get_origin(form)
    if origin is list:
        return [_read(each, get_args(form)[0], f"one of {name}") for each in value]
    if origin is dict:
        return {key: _read(each, get_args(form)[1], f"{name}.{key[:60]}") for key, each in value.items()}
    return int(value) if form is int else value


def _said(form: Any) -> str:
    origin = get_origin(form)
    if origin is Literal:
        return " or ".join(map(str, get_args(form)))
    if origin is list:
        inner = _forms(get_args(form)[0])
        return "a list of texts" if inner == (str,) else "a list"
    return JSON_NAMES[origin or form][1]


def queried(verb: str, pairs: Iterable[tuple[str, str]], depth: int = DEPTH) -> dict[str, Any]:
    """A query (`limit=5&kinds=fact&kinds=decision`) as the JSON object it stands for. A list is a repeated name, an
    object is written as JSON. Unreadable values stay text, and `arguments` refuses them."""
    takes, found = parameters(verb), dict[str, Any]()
    for name, text in pairs:
        forms = _forms(_annotation(takes[name])) if name in takes else (str,)
        several = any(get_origin(form) is list for form in forms)
        if name in found and not several:
            raise Invalid(f"{name} was given more than once; it takes one value")
        value = _worded(text, forms)
        value = parsed(text, name, depth) if isinstance(value, dict) else value
        found[name] = [*found.get(name, []), value] if several else value
    return found


def _worded(text: str, forms: Sequence[Any]) -> Any:
    """One value of a query, where a text would not do."""
    if str in forms or any(get_origin(form) is list for form in forms):
        return text
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    return value if any(_fits(value, form) for form in forms) else text


def parsed(text: str | bytes, what: str, depth: int = DEPTH) -> Any:
    """The value of a JSON text. Nothing in it is guessed: each name once, no NaN, no depth without end. `what` it is called
    in a refusal."""
    try:
        found = strict_json.loads(text)
    except RecursionError as problem:
        raise TurnedAway("malformed", f"{what} is nested more than {depth} levels deep; flatten it") from problem
    except UnicodeDecodeError as problem:
        said = f"{what} is no UTF-8 at byte {problem.start}; send JSON in UTF-8, and not packed"
        raise TurnedAway("malformed", said) from problem
    except json.JSONDecodeError as problem:
        raise TurnedAway("malformed", f"{what} is no JSON: {str(problem)[:120]}") from problem
    except NotStrict as problem:
        raise TurnedAway(
            "malformed", f"{what} {problem}; say each thing once, and numbers as JSON has them"
        ) from problem
    except ValueError as problem:  # the only other ValueError that JSON can cause
        raise TurnedAway("malformed", f"{what} holds a number with too many digits; shorten it") from problem
    _must_be_flat(found, what, depth)
    return found


def _must_be_flat(value: Any, what: str, depth: int) -> None:
    level = [value]
    for _ in range(depth):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise TurnedAway("malformed", f"{what} is nested more than {depth} levels deep; flatten it")


# ---------------------------------------------------------------- a call


def call(memory: "Memory", verb: str, given: Mapping[str, Any]) -> Any:
    """Calls the verb with these arguments, which `arguments` has checked."""
    if verb in SESSION_PARTS:
        return _part(memory, verb, dict(given))
    rest, first = dict(given), list[Any]()
    names = [*parameters(verb)]
    for star in (name for name, each in parameters(verb).items() if each.kind is each.VAR_POSITIONAL):
        first = [rest.pop(name) for name in names[: names.index(star)]] + [*rest.pop(star, ())]  # all by position
    answer = getattr(memory, verb)(*first, **rest)
    return _left(answer) if verb == "session" else answer


def _left(session: "Session") -> Any:
    """The record of a session that was opened. The session stays open, for whoever continues it."""
    try:
        return session.record
    finally:
        session.leave()


def _part(memory: "Memory", verb: str, given: dict[str, Any]) -> Any:
    """Runs one part of a session, which is opened for it and left open."""
    from memorist import checks
    from memorist.session import behind
    from memorist.session.name import name_of, turns_of
    from memorist.session.session import forked

    part, id, user = verb.partition(".")[2], given.pop("session"), given.pop("user", None)
    by = memory._caller
    name = name_of(id, user, memory.home, by)
    if part not in BEGINS:
        _must_be_known(name, by)
    if part == "turns":
        limit = given.get("limit")
        return turns_of(name, by, None if limit is None else checks.whole(limit, "limit", 1, 1_000_000))
    if part in UNHELD:
        given.pop("agent", None)
        return getattr(behind, part)(memory, name, **given)
    if part == "fork":
        return _left(forked(memory, name, given.get("id"), given.get("agent")))  # type: ignore[arg-type]
    session = memory.session(id, agent=given.pop("agent", None), user=user)
    try:
        return getattr(session, part)(**given)
    finally:
        session.leave()


def _must_be_known(name: "Name", by: "Caller") -> None:
    """A typo must not create a session: only the parts in `BEGINS` may begin one."""
    from memorist.session.name import record_of, turns_of

    if record_of(name, by) is None and not turns_of(name, by, 1):
        raise NotFound(f"there is no session {name.id!r:.60} here; `sessions` lists them")


# ---------------------------------------------------------------- answers


def without_places(verb: str, value: Any) -> Any:
    """An answer for clients that do not administer this machine: without its paths."""
    if verb != "status":
        return value
    return {name: fact for name, fact in value.items() if name not in OF_THE_MACHINE}


@cache
def returns(verb: str) -> Any:
    """The type of a verb's answer. A session is answered with its record."""
    from memorist.records import Record
    from memorist.session.session import Session

    found = get_type_hints(_method(verb), localns=_types())["return"]
    return Record if found is Session else found


SORTS: Mapping[Any, str] = {  # for annotations, by their origin
    Union: "union", types.UnionType: "union", list: "list", Sequence: "list", tuple: "tuple", Mapping: "dict", dict: "dict",
    Literal: "literal",
}  # fmt: skip


def _sort(kind: Any) -> str:
    return "noun" if is_dataclass(kind) else SORTS.get(get_origin(kind), "value")


@cache
def _fields(kind: Hashable) -> dict[str, Any]:
    hints = get_type_hints(kind, localns=_types())
    return {field.name: hints[field.name] for field in fields(cast(Any, kind))}


def noun(kind: Any, data: Any) -> Any:
    """Rebuilds one of our values from JSON: what `noun.plain` wrote of a `kind`, such as Recall or list[Record]."""
    return None if data is None else AGAIN.get(_sort(kind), _made)(kind, data)


def _made(kind: Any, data: Any) -> Any:
    make = {datetime: datetime.fromisoformat, bytes: bytes.fromhex, Path: Path}.get(kind)
    return data if make is None else make(data)


def _tuple(kind: Any, data: Any) -> Any:
    inner = get_args(kind)
    kinds = [inner[0]] * len(data) if inner[1:] == (...,) else inner
    return tuple(noun(*pair) for pair in zip(kinds, data, strict=True))


def _made_noun(kind: Any, data: Any) -> Any:
    hints = _fields(kind)
    return kind(**{name: noun(hints[name], each) for name, each in data.items() if name in hints})


AGAIN: Mapping[str, Callable[[Any, Any], Any]] = {
    "union": lambda kind, data: noun(next((each for each in get_args(kind) if _wrote(each, data)), Any), data),
    "list": lambda kind, data: [noun(get_args(kind)[0], each) for each in data],
    "dict": lambda kind, data: {key: noun(get_args(kind)[1], each) for key, each in data.items()},
    "tuple": _tuple,
    "noun": _made_noun,
}


def _wrote(kind: Any, data: Any) -> bool:
    """Whether JSON was written of this kind."""
    sort = _sort(kind)
    if sort == "noun":
        return isinstance(data, dict) and data.keys() == _fields(kind).keys()
    if sort in ("list", "tuple"):
        return isinstance(data, list) and all(_wrote(get_args(kind)[0], each) for each in data[:1])
    if sort == "union":
        return any(_wrote(each, data) for each in get_args(kind))
    written = {"dict": dict, "literal": str}.get(sort) or (str if kind in (datetime, Path, bytes) else kind)
    return isinstance(data, written)


def answers(verb: str, refs: str = "#/components/schemas/") -> tuple[Schema, dict[str, Schema]]:
    """The JSON schema of a verb's answer, and the schemas of the nouns in it, by name."""
    nouns: dict[str, Schema] = {}
    return shape(returns(verb), nouns, refs), nouns


def shape(kind: Any, nouns: dict[str, Schema], refs: str) -> Schema:
    """The JSON schema of what `noun.plain` writes of that kind; nouns are added to `nouns` and referenced."""
    sort, inner = _sort(kind), get_args(kind)
    if sort == "noun":
        _add(kind, nouns, refs)
        return {"$ref": f"{refs}{kind.__name__}"}
    if sort == "union":
        return {"anyOf": [shape(each, nouns, refs) for each in inner]}
    if sort in ("list", "tuple"):
        return {"type": "array", "items": shape(inner[0], nouns, refs)}
    if sort == "dict":
        return {"type": "object", "additionalProperties": shape(inner[1], nouns, refs)}
    return {"type": "string", "enum": [*inner]} if sort == "literal" else _plainly(kind)


def _plainly(kind: Any) -> Schema:
    if kind is Any:
        return {}
    return {"type": JSON_NAMES[kind][0] if kind in JSON_NAMES else "string"} | (
        {"format": "date-time"} if kind is datetime else {}
    )


def _add(kind: Any, nouns: dict[str, Schema], refs: str) -> None:
    if kind.__name__ in nouns:
        return
    nouns[kind.__name__] = {}  # set first, because a noun may contain others of its kind
    told = _fields(kind) | getattr(kind, "TOLD_TOO", {})
    properties = {name: shape(each, nouns, refs) for name, each in told.items()}
    nouns[kind.__name__] = {"type": "object", "properties": properties, "required": [*properties]}


# ---------------------------------------------------------------- errors

STATUS: Mapping[str, int] = {
    "invalid": 422, "not_found": 404, "ambiguous": 404, "out_of_scope": 403, "refused": 403, "conflict": 409,
    "store_unavailable": 503, "model_unavailable": 503, "store_damaged": 500, "store_too_new": 500, "error": 500,
}  # fmt: skip
FAULT = "this is a fault of memorist, not of the request; the server's log tells of it under this request id"


class Problem(NamedTuple):
    """An error as every surface reports it."""

    status: int
    code: str
    title: str
    detail: str


class Door(NamedTuple):
    """A refusal before any verb was reached: its kind at the other end tells a program what it can do about it."""

    status: int
    title: str
    becomes: type[MemoristError]


DOORS: Mapping[str, Door] = {
    "malformed": Door(400, "The request cannot be read", Invalid),
    "unauthorized": Door(401, "A key is needed", OutOfScope),
    "forbidden": Door(403, "Nothing is answered from there", OutOfScope),
    "no_such_path": Door(404, "There is no such path", NotFound),
    "no_such_method": Door(405, "This path has no such method", Invalid),
    "too_slow": Door(408, "The request took too long to arrive", StoreUnavailable),
    "too_large": Door(413, "The request is too large", Invalid),
    "no_json": Door(415, "The body is not JSON", Invalid),
    "too_many": Door(429, "So many requests are not taken", StoreUnavailable),
    "busy": Door(503, "The server is busy", StoreUnavailable),
    "disk_low": Door(507, "The disk is nearly full", StoreUnavailable),
}
COME_BACK = ("too_many", "busy")  # the same request may succeed a little later; nothing of it was begun


class TurnedAway(MemoristError):
    """A server refused a request before any verb ran."""

    def __init__(self, code: str, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.door, self.after = code, after  # the code, and seconds after which another try may work


def problem(error: BaseException) -> Problem:
    """An error as all surfaces report it. An error of any other class is a fault, and its words stay in the log."""
    if isinstance(error, DiskLow):  # which a server that looks sooner says in the same way
        error = TurnedAway("disk_low", str(error))
    if isinstance(error, TurnedAway):
        return Problem(DOORS[error.door].status, error.door, DOORS[error.door].title, str(error))
    if isinstance(error, OSError) and not isinstance(error, MemoristError):
        error = unavailable(error)
    if not isinstance(error, MemoristError):
        return Problem(500, "fault", "A fault of memorist", FAULT)
    title = (type(error).__doc__ or "").partition(".")[0]
    return Problem(STATUS[error.code], error.code, title, str(error))


def raised(code: str, detail: str) -> MemoristError:
    """The error rebuilt at the other end, with the same class."""
    if code in DOORS:
        return DOORS[code].becomes(detail)
    return _classes().get(code, MemoristError)(detail)


@cache
def _classes() -> Mapping[str, type[MemoristError]]:
    """The error classes by their codes."""
    named = (each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, MemoristError))
    return {each.code: each for each in named}
