"""Translates a `Where` to SQL with the same meaning as `Where.matches`. Only names from the allow-list reach a statement, and
every value is bound."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memorist.records import to_micros
from memorist.store.nouns import COUNTERS
from memorist.store.where import TRIGGERS_HELD, Clause, Order, Where, canonical, class_of, type_of

NAMED_BY = {"id", "number", "fingerprint", "superseded_by"}  # fields that identify few records, and have an index
Fragment = tuple[str, list[Any]]
NEVER: Fragment = ("0", [])
EXPRESSIONS = {
    "scope": "+s.named",
    "home": "s.home",
    "last_used": "c.last_used",
    "verified": "(r.trust <> 'low' OR r.status = 'confirmed')",
    "passed_on": "(s.named NOT LIKE 'session/%')",
    "triggered": f"(instr(ifnull(r.data, ''), '{TRIGGERS_HELD}') > 0)",
}
COMPARE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
ALWAYS_SHOWN = ("convention", "summary", "narrative")  # kinds that are looked up for every prompt, and are few
JSON_TYPES = {
    "number": "'integer','real'",
    "text": "'text'",
    "bool": "'true','false'",
    "list": "'array'",
    "dict": "'object'",
}


def where_sql(where: Where) -> Fragment:
    """The clauses as one condition on `r` (records), `c` (counters, may be absent) and `s` (shelves)."""
    return _joined(where.clauses, " AND ", "1")


def _joined(clauses: Iterable[Clause], by: str, none: str) -> Fragment:
    parts = [_clause(clause) for clause in clauses]
    return by.join(f"({sql})" for sql, _ in parts) or none, [value for _, values in parts for value in values]


def order_sql(order: Order) -> str:
    way = "ASC" if order.ascending else "DESC"
    return f"{column(order.field)} {way}, r.number {way}"


def column(field: str) -> str:
    """The SQL expression of an allow-listed field."""
    if field in COUNTERS:
        return f"ifnull(c.{field}, 0)"
    # Without the plus, SQLite would prepare the statement again for each value, in case an index fits that one better.
    return EXPRESSIONS.get(field, f"r.{field}")


def _clause(clause: Clause) -> Fragment:
    kind = type_of(clause.field)
    if clause.op == "ne":
        sql, values = _clause(Clause(clause.field, "eq", clause.value))
        return f"NOT ifnull(({sql}), 0)", values  # a missing value is different
    if clause.op == "in" and clause.field in NAMED_BY and all(_is_plain(each, kind) for each in clause.value):
        return f"{column(clause.field)} IN (SELECT value FROM json_each(?))", [canonical(clause.value)]
    if clause.op == "in":
        return _joined((Clause(clause.field, "eq", each) for each in clause.value), " OR ", "0")
    if kind == "any":
        return _data(clause)
    if kind == "list":
        return _list(clause)
    return _plain(clause, kind)


def _is_plain(value: Any, kind: str) -> bool:
    """Whether JSON passes the value on unchanged; a text would end at its first NUL."""
    return class_of(value) == kind and "\0" not in str(value)


def _plain(clause: Clause, kind: str) -> Fragment:
    value, expression = clause.value, column(clause.field)
    if clause.op == "eq" and value is None:
        return f"{expression} IS NULL", []
    if clause.op == "any" or class_of(value) != kind:
        return NEVER
    if clause.op == "eq" and kind == "bool":
        return f"{expression} = {int(value)}", []  # written out, for the indexes of pinned and of triggers
    if clause.op == "eq" and clause.field == "kind" and value in ALWAYS_SHOWN:
        return f"{expression} = '{value}'", []  # likewise for its index
    if clause.op == "eq":
        return f"{expression} = ?", [_bound(value)]  # not IS, which cannot use a partial index
    if clause.op == "ends":
        return f"substr({expression}, -?) = ?", [len(value), value]
    if clause.field in NAMED_BY:  # a missing value never matches, and this can use their index
        return f"{expression} {COMPARE[clause.op]} ?", [_bound(value)]
    return f"ifnull({expression} {COMPARE[clause.op]} ?, 0)", [_bound(value)]


def _list(clause: Clause) -> Fragment:
    if clause.op == "eq":
        if class_of(clause.value) != "list":
            return NEVER
        return f"ifnull({column(clause.field)}, '[]') = ?", [canonical(clause.value)]
    if clause.op != "any":
        return NEVER
    wanted = [value for value in clause.value if isinstance(value, str)]
    sql = f"EXISTS (SELECT 1 FROM json_each({column(clause.field)}) WHERE value IN (SELECT value FROM json_each(?)))"
    return sql, [canonical(wanted)]


def _data(clause: Clause) -> Fragment:
    key, value = clause.field[5:], clause.value
    if clause.op == "any":
        return _data_any(key, value)
    if value is None:
        held = "EXISTS (SELECT 1 FROM json_each(r.data) j WHERE j.key = ? AND j.type <> 'null')"
        return (f"NOT {held}", [key]) if clause.op == "eq" else NEVER
    sort = class_of(value)
    if sort not in JSON_TYPES or (clause.op != "eq" and sort in ("list", "dict")):
        return NEVER
    compare = "=" if clause.op == "eq" else COMPARE[clause.op]
    sql = (
        "EXISTS (SELECT 1 FROM json_each(r.data) j"
        f" WHERE j.key = ? AND j.type IN ({JSON_TYPES[sort]}) AND j.value {compare} ?)"
    )
    return sql, [key, canonical(value) if sort in ("list", "dict") else _bound(value)]


def _data_any(key: str, wanted: tuple[Any, ...]) -> Fragment:
    parts: list[str] = []
    values: list[Any] = [key]
    for value in wanted:
        sort = class_of(value)
        if sort == "none":
            parts.append("v.type = 'null'")
        elif sort in JSON_TYPES:
            parts.append(f"(v.type IN ({JSON_TYPES[sort]}) AND v.value = ?)")
            values.append(canonical(value) if sort in ("list", "dict") else _bound(value))
    sql = (
        "EXISTS (SELECT 1 FROM json_each(r.data) j,"
        " json_each(CASE j.type WHEN 'array' THEN j.value ELSE '[]' END) v"
        f" WHERE j.key = ? AND j.type = 'array' AND ({' OR '.join(parts) or '0'}))"
    )
    return sql, values


def _bound(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    return int(value) if isinstance(value, bool) else value
