"""What callers hand in, made uniform: drafts for `remember_many`, checked changes for `revise`."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from memorist import checks
from memorist.errors import Invalid
from memorist.kinds import Kind, kind_named
from memorist.records import Draft, Scope

FIELDS = {field.name for field in fields(Draft)}


def draft_of(given: Draft | Mapping[str, Any] | str) -> Draft:
    if isinstance(given, Draft):
        return given
    if isinstance(given, str):
        return Draft(given)
    if not isinstance(given, Mapping):
        raise Invalid(f"a draft must be a text, a dict or a Draft, not {type(given).__name__}")
    arguments = dict(given)
    arguments["scope"] = scope_of(arguments.get("scope"), arguments.pop("user", None))
    unknown = sorted(str(name) for name in set(arguments) - FIELDS)
    if unknown or "text" not in arguments:
        problem = f"has an unknown field {unknown[0][:60]!r}" if unknown else "has no text"
        raise Invalid(f"a draft {problem}; its fields are {', '.join(sorted(FIELDS))}, user")
    return Draft(**arguments)


def scope_of(scope: str | None, user: str | None) -> str | None:
    """The scope that was meant: `user="ann"` is short for `scope="user/ann"`."""
    if scope is not None and user is not None:
        raise Invalid("give scope or user, not both: user='ann' means scope='user/ann'")
    return f"user/{user}" if user is not None else scope


def revision(kinds: Mapping[str, Kind], **given: Any) -> dict[str, Any]:
    """The changes that were given, each checked."""
    check: dict[str, Callable[[Any], Any]] = {
        "text": checks.text,
        "title": lambda value: checks.label(value, "the title"),
        "kind": lambda value: kind_named(value, kinds).name,
        "scope": Scope,
        "importance": lambda value: checks.share(value, "importance"),
        "confidence": lambda value: checks.share(value, "confidence"),
        "valid_from": lambda value: checks.moment(value, "valid_from"),
        "valid_to": lambda value: checks.moment(value, "valid_to"),
        "tags": lambda value: checks.labels(value, "tags"),
        "data": checks.data,
    }
    changes = {name: check[name](value) for name, value in given.items() if value is not None}
    if not changes:
        raise Invalid("nothing to revise was given; name a text, title, kind, scope, importance, validity, tags, data")
    return changes
