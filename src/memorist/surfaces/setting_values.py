"""What each setting may be: one check per setting, its default, and the names it goes by.

Five of them tune a design, whichever is chosen: what a vote weighs, how much room memories may take, how much is pruned at
once and when. The founding document spells them reinforceWeight, maxSize … in a table `memory`; both spellings are read.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from memorist import checks
from memorist.errors import Invalid
from memorist.kinds import Kind, own_kinds
from memorist.models.embed import checked_name
from memorist.project import resolve_project
from memorist.records import Scope
from memorist.text.dates import READERS
from memorist.text.visible import quoted
from memorist.upkeep import cron

LARGEST_BUDGET = 1_000_000
YES = ("1", "true", "yes", "on")
NO = ("", "0", "false", "no", "off")


def one_line(key: str, value: object) -> str:
    """One short line, by the rules of scopes, since these words stand beside scopes in the store."""
    if isinstance(value, str):
        plain = unicodedata.normalize("NFC", value)
        with suppress(Invalid):
            return Scope(f"{key}/{plain}").removeprefix(f"{key}/")
    raise Invalid(f"{key} must be a short text without '*', line breaks or blanks around it, not {quoted(value)}")


def _path(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or any(unicodedata.category(char) == "Cc" for char in value):
        raise Invalid(f"{key} must be the path of a file, or ':memory:', not {quoted(value)}")
    return value


def _design(key: str, value: object) -> str:
    return _path(key, value) if isinstance(value, str) and checks.is_path(value) else one_line(key, value)


def _dates(key: str, value: object) -> str:
    if not isinstance(value, str) or value not in READERS:
        raise Invalid(f"{key} must be {' or '.join(READERS)}, not {quoted(value)}")
    return value


def _budget(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_BUDGET:
        raise Invalid(f"{key} must be a whole number of tokens from 1 to {LARGEST_BUDGET:,}, not {quoted(value)}")
    return value


def _off(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise Invalid(f"{key} must be true or false, not {quoted(value)}")
    return value


def _kinds(key: str, value: object) -> Mapping[str, Kind]:
    if not isinstance(value, Mapping) or not all(isinstance(kind, Mapping) for kind in value.values()):
        raise Invalid("kinds must be a table of tables, such as [kinds.recipe]")
    return MappingProxyType(own_kinds(value))


def _weight(key: str, value: object) -> float:
    return checks.number(value, key, 0, 100)


def _schedule(key: str, value: object) -> str:
    return cron.parse(value, key).text


# ---------------------------------------------------------------- the tables

CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "db": _path,
    "project": lambda _, value: resolve_project(value, None).name,
    "space": one_line,
    "scope": lambda _, value: Scope(value),
    "design": _design,
    "embed": lambda _, value: checked_name(value),
    "dates": _dates,
    "budget": _budget,
    "actor": one_line,
    "off": _off,
    "kinds": _kinds,
    "reinforce_weight": _weight,
    "demote_weight": _weight,
    "max_size": lambda key, value: checks.size_text(checks.size(value, key)),
    "prune_percent": lambda key, value: checks.number(value, key, 0.01, 100),
    "prune_schedule": _schedule,
}
TUNING = ("reinforce_weight", "demote_weight", "max_size", "prune_percent", "prune_schedule")
MEMORY_TABLE = "memory"
ALIASES: Mapping[str, str] = {re.sub("_(.)", lambda found: found[1].upper(), key): key for key in TUNING}
ENVIRONMENT = {key: f"MEMORIST_{key.upper()}" for key in CHECKS if key not in ("off", "kinds")}
LOCAL = ("scope", "design", "budget")
DEFAULTS = {
    "space": "default",
    "design": "balanced",
    "embed": "static",
    "dates": "english",
    "budget": 1500,
    "off": False,
    "kinds": MappingProxyType({}),
}
_NUMBERS = ("reinforce_weight", "demote_weight", "prune_percent")


def typed(key: str, text: str) -> object:
    """What a text from outside stands for. What cannot be read stays text, and the check of its key refuses it."""
    if key == "off" and text.strip().lower() in YES + NO:
        return text.strip().lower() in YES
    if key == "budget" and re.fullmatch(r"\s*\d{1,9}\s*", text, re.ASCII):
        return int(text)
    if key in _NUMBERS and re.fullmatch(r"\s*\d{1,9}(\.\d{1,9})?\s*", text, re.ASCII):
        return float(text)
    return text


def known(key: str) -> str:
    """The setting of that name, however it is spelled."""
    own = _own_name(key)
    if own not in CHECKS:
        raise Invalid(f"there is no setting {quoted(key)}; settings are {', '.join(CHECKS)}")
    return own


def flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """A settings file with every tuning setting under its own name, wherever and however it was spelled."""
    inner = table.get(MEMORY_TABLE, {})
    if not isinstance(inner, Mapping):
        raise Invalid(f"{MEMORY_TABLE} must be a table, such as [{MEMORY_TABLE}]")
    found: dict[str, Any] = {}
    for spelled, value in [*table.items(), *((f"{MEMORY_TABLE}.{key}", value) for key, value in inner.items())]:
        key = _own_name(spelled)
        if key in found:
            raise Invalid(f"{key} is set twice, the second time as {spelled}; keep one of them")
        if spelled != MEMORY_TABLE:
            found[key] = value
    return found


def _own_name(spelled: str) -> str:
    inner = spelled.removeprefix(f"{MEMORY_TABLE}.")
    if inner == spelled:
        return ALIASES.get(spelled, spelled)
    if inner not in ALIASES and inner not in TUNING:
        raise Invalid(f"[{MEMORY_TABLE}] has no key {quoted(inner)}; keys are {', '.join(ALIASES)}")
    return ALIASES.get(inner, inner)


def shown(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(value)
    return None if value is None else str(value)
