"""Filters as one frozen value, always built from an `Access`.

A caller writes a dict such as {"importance": {"$gte": 0.7}, "tags": ["db", "api"]}; `Where.of` is the only place that reads
it. Fields and operators come from an allow-list: any other name is an error that lists the allowed ones, so no attribute and
no SQL can be reached through a filter. `Where.matches` defines the meaning; a store that compiles the filter to SQL must agree
with it (the contract suite compares them).
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from memorist.access import Access
from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.records import Record, iso, utc
from memorist.scoring import vouched_for
from memorist.text.visible import flaw

Type = Literal["text", "number", "bool", "time", "list", "any"]
MOST_VALUES = 500  # in one filter: SQLite accepts at most a thousand levels in a condition
DEEPEST = 20
TRIGGERS_HELD = '"triggers":['  # in the stored data of a memory with triggers
OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "any")  # also "ends" for ids, which callers cannot use


class Field(NamedTuple):
    """A name that a filter may use: its type, and how to read it from a record."""

    type: Type
    read: Callable[[Record], Any]


_FIELDS: tuple[tuple[Type, str, str], ...] = (  # type, the part of a record that holds them, names
    ("text", "", "id"), ("number", "", "number"), ("text", "", "scope home kind text title"), ("list", "", "tags files"),
    ("text", "", "status state reason"), ("bool", "", "pinned"), ("number", "", "importance confidence"),
    ("text", "", "origin trust season"), ("number", "", "version"), ("text", "", "fingerprint superseded_by"),
    ("text", "provenance.", "actor surface session role speaker agent task narrative"),
    ("time", "times.", "at created updated last_used valid_from valid_to"),
    ("number", "counters.", "up down used surfaced rejected strength"),
)  # fmt: skip
FIELDS: Mapping[str, Field] = {
    **{
        name: Field(type, attrgetter(part + {"last_used": "used"}.get(name, name)))
        for type, part, names in _FIELDS
        for name in names.split()
    },
    "verified": Field("bool", vouched_for),
    # Whether a later session may be told it: anything but what belongs to a session.
    "passed_on": Field("bool", lambda record: not record.scope.startswith("session/")),
    # Whether something may bring it up by itself (`text/triggers.py`).
    "triggered": Field("bool", lambda record: TRIGGERS_HELD in canonical(record.data)),
}
ALIASES = {"timestamp": "at", "content": "text"}
SORT_KEYS = tuple(name for name, field in FIELDS.items() if field.type != "list")


@dataclass(frozen=True, slots=True)
class Clause:
    """One comparison. The value is already checked: text, number, bool, UTC time, None or a tuple of those."""

    field: str
    op: str
    value: Any


@dataclass(frozen=True, slots=True)
class Order:
    """Descending unless `ascending`; ties are ordered by number in the same direction."""

    field: str = "at"
    ascending: bool = False


@dataclass(frozen=True, slots=True)
class Where:
    """What may be seen at all (`access`), and what is asked for (`clauses`, all of which must hold)."""

    access: Access
    clauses: tuple[Clause, ...] = ()

    @classmethod
    def of(cls, access: Access, filter: Mapping[str, Any] | None = None) -> "Where":
        if filter is not None and not isinstance(filter, Mapping):
            raise Invalid(f"a filter must be a dict such as {{'kind': 'decision'}}, not {type(filter).__name__}")
        clauses = [clause for name, wanted in (filter or {}).items() for clause in _clauses(name, wanted)]
        values = sum(len(c.value) if isinstance(c.value, tuple) else 1 for c in clauses)
        if values > MOST_VALUES:
            raise Invalid(f"a filter compares with {values:,} values; {MOST_VALUES} are allowed: ask in parts")
        return cls(access, tuple(clauses))

    def also(self, field: str, op: str, value: Any) -> "Where":
        return replace(self, clauses=(*self.clauses, Clause(field, op, value)))

    def speaks_of(self, field: str) -> bool:
        return any(clause.field == field for clause in self.clauses)

    def matches(self, record: Record) -> bool:
        visible = record.space == self.access.space and self.access.may_read(record.scope, record.home)
        return visible and all(holds(clause, value_of(record, clause.field)) for clause in self.clauses)


@lru_cache(maxsize=64)
def everywhere(space: str) -> Where:
    """Everything in a space: for the engine itself, which then withholds what a caller may not see."""
    return Where(Access.to_read(space))


def order_of(key: str) -> Order:
    """The order named by `key`: descending by that field, ascending with a leading minus."""
    name = key[1:] if isinstance(key, str) and key.startswith("-") else key
    name = ALIASES.get(name, name) if isinstance(name, str) else name
    if name not in SORT_KEYS:
        raise Invalid(f"cannot sort by {str(key)[:60]!r}; sort keys are {', '.join(SORT_KEYS)}")
    return Order(name, ascending=key.startswith("-"))


def type_of(field: str) -> Type:
    return "any" if field.startswith("data.") else FIELDS[field].type


def value_of(record: Record, field: str) -> Any:
    return record.data.get(field[5:]) if field.startswith("data.") else FIELDS[field].read(record)


# ---------------------------------------------------------------- the meaning


def holds(clause: Clause, have: Any) -> bool:
    """Whether the comparison holds. A missing value supports only eq and ne; values of different types are never equal or
    ordered."""
    op, want = clause.op, clause.value
    if op == "eq":
        return same(have, want)
    if op == "ne":
        return not same(have, want)
    if op == "in":
        return any(same(have, each) for each in want)
    if op == "ends":
        return isinstance(have, str) and have.endswith(want)
    if op == "any":
        return isinstance(have, list | tuple) and any(same(h, w) for h in have for w in want)
    sort = class_of(have)
    if sort != class_of(want) or sort not in ("text", "number", "time", "bool"):
        return False
    return bool({"gt": have > want, "gte": have >= want, "lt": have < want, "lte": have <= want}[op])


def same(a: Any, b: Any) -> bool:
    sort = class_of(a)
    if sort != class_of(b):
        return False
    return canonical(a) == canonical(b) if sort in ("list", "dict") else bool(a == b)


def class_of(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, datetime):
        return "time"
    return "dict" if isinstance(value, Mapping) else "list"


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)


def canonical(value: Any) -> str:
    """JSON in the one form in which it is stored and compared."""
    return _JSON.encode(value)


# ---------------------------------------------------------------- reading what a caller wrote


def _clauses(name: str, wanted: Any) -> list[Clause]:
    field = _known(name)
    if isinstance(wanted, Mapping):
        return [_clause(field, _operator(key), value) for key, value in wanted.items()]
    if isinstance(wanted, list | tuple | set | frozenset):
        return [_clause(field, "any", wanted)]
    return [_clause(field, "eq", wanted)]


def _known(name: str) -> str:
    field = ALIASES.get(name, name) if isinstance(name, str) else name
    if field in FIELDS or (isinstance(field, str) and field.startswith("data.") and len(field) > 5 and not flaw(field)):
        return field
    raise Invalid(f"there is no field {str(name)[:60]!r}; fields are {', '.join(FIELDS)}, data.<key>")


def _operator(key: Any) -> str:
    op = key[1:] if isinstance(key, str) and key.startswith("$") else key
    if op not in OPERATORS:
        raise Invalid(f"there is no operator {str(key)[:60]!r}; operators are ${', $'.join(OPERATORS)}")
    return str(op)


def _clause(field: str, op: str, value: Any) -> Clause:
    if op in ("in", "any"):
        if not isinstance(value, list | tuple | set | frozenset):
            raise Invalid(f"${op} on {field!r} takes a list, not {value!r:.60}")
        return Clause(field, op, tuple(_value(field, each) for each in value))
    return Clause(field, op, _value(field, value))


def _value(field: str, value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if type_of(field) == "time" and isinstance(value, date | str):
        return utc(value, field)
    if isinstance(value, date) and type_of(field) == "any":
        return iso(value)
    if isinstance(value, datetime):  # never equal to a text, which is a valid result
        return utc(value, field)
    if isinstance(value, float) and not math.isfinite(value):
        raise Invalid(f"{field!r} cannot be compared with {value!r}; use a finite number")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise Invalid(f"{field!r} cannot be compared with a number of more than 64 bits")
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if isinstance(value, int | float):
        return value
    if isinstance(value, list | tuple) and type_of(field) in ("list", "any"):
        if depth > DEEPEST:
            raise Invalid(f"{field[:60]!r} is compared with lists nested more than {DEEPEST} deep; flatten them")
        return tuple(_value(field, each, depth + 1) for each in value)
    raise Invalid(f"{field!r} cannot be compared with a {type(value).__name__}")
