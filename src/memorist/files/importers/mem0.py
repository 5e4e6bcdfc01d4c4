"""mem0: the result of `get_all` or of an export: a list of memories, or an object with such a list in `results` or
`memories`.

A memory of a user goes into that user's scope, any other into the project.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from memorist import checks
from memorist.errors import Invalid
from memorist.files.importers import Item, Values, label, storable
from memorist.records import Draft, Scope, id_at, utc

program = "mem0"
LARGEST_METADATA = 4000  # characters, as JSON


def recognise(first: Sequence[Mapping[str, Any]]) -> bool:
    return bool(first) and all(isinstance(first[0].get(name), str) for name in ("id", "memory"))


def read(values: Values) -> Iterator[Item]:
    for item in values:
        if recognise([item]) and item["memory"].strip():
            at, user = _moment(item.get("created_at")), item.get("user_id")
            named = item.get("categories")
            tags = [tag for each in named if (tag := label(each))] if isinstance(named, list) else []
            about = {
                "mem0": label(item["id"]),
                "updated": label(item.get("updated_at")),
                "said": _metadata(item.get("metadata")),
            }
            yield Draft(
                storable(item["memory"]), "fact", _scope(user), tags=tags[:20], at=at, agent=label(item.get("agent_id")),
                session=label(item.get("run_id")), data={name: value for name, value in about.items() if value},
                id=id_at(at, f"mem0 {item['id']}"),
            )  # fmt: skip


def _scope(user: Any) -> str | None:
    try:
        return Scope(f"user/{user}") if isinstance(user, str) and user else None
    except Invalid:
        return None


def _metadata(value: Any) -> Any:
    """None if it is too large or too deep to be kept as data."""
    try:
        checks.data({"value": value})
        return value if len(json.dumps(value, default=str)) <= LARGEST_METADATA else None
    except (Invalid, ValueError, TypeError, RecursionError):
        return None


def _moment(value: Any) -> datetime | None:
    try:
        return utc(value) if isinstance(value, str) and value else None
    except (Invalid, ValueError, OverflowError):
        return None
