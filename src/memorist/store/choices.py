"""What was chosen for a scope rather than a memory: aliases of words, how much goes into a prompt, what is promoted.

These are settings of the store, one per scope: nobody learns the words of a scope that they may not read, and everything
travels with the file. Words are content, so erasing removes those that only erased texts held.
"""

import json
from collections.abc import Mapping, Set
from dataclasses import asdict, field, replace
from typing import Any

from memorist.access import is_homed
from memorist.errors import StoreDamaged
from memorist.lazy import dataclass
from memorist.store.nouns import Commit
from memorist.store.protocol import Store
from memorist.store.where import canonical
from memorist.text.words import terms


@dataclass(frozen=True, slots=True)
class Choices:
    """None means: as in the design."""

    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # word → other words; none: not even the usual
    budget: int | None = None  # tokens in a prompt, at most
    auto: bool | None = None  # whether findings are promoted at all
    preset: str | None = None  # how much that takes
    offered: tuple[str, ...] = ()  # digests of the aliases a person was asked about, since nobody is asked twice


def chosen(store: Store, space: str, scope: str) -> Choices:
    """What was chosen for that scope; nothing for scopes that end with a task or session."""
    if is_homed(scope):
        return Choices()
    said = store.setting(_name(space, scope))
    if not said:
        return Choices()
    try:
        table: dict[str, Any] = json.loads(said)
        aliases = {word: tuple(others) for word, others in table.pop("aliases").items()}
        return Choices(aliases, offered=tuple(table.pop("offered", ())), **table)
    except (ValueError, LookupError, TypeError, AttributeError) as problem:
        raise StoreDamaged(f"what was chosen for {scope} cannot be read ({problem}); restore a backup") from problem


def choose(store: Store, space: str, scope: str, choices: Choices) -> None:
    """Stores the choices; inside a transaction of the writer, which has checked for secrets."""
    said, places = {_name(space, scope): canonical(asdict(choices))}, _places(store, space)
    if scope not in places:
        said[f"chosen in {space}"] = canonical([*places, scope])
    store.write(Commit(settings=said))


def forget_words(store: Store, space: str, words: Set[str]) -> None:
    """Removes the aliases with a word that no memory holds any more, because what held it was erased."""
    for scope in _places(store, space) if words else ():
        choices = chosen(store, space, scope)
        kept = {
            word: others
            for word, others in choices.aliases.items()
            if not words & set(terms(" ".join((word, *others))))
        }
        if len(kept) < len(choices.aliases):
            choose(store, space, scope, replace(choices, aliases=kept))


def _places(store: Store, space: str) -> list[str]:
    """The scopes for which anything was ever chosen; some may hold no memories."""
    return [str(scope) for scope in json.loads(store.setting(f"chosen in {space}") or "[]")]


def _name(space: str, scope: str) -> str:
    return f"choices {canonical([space, scope])}"
