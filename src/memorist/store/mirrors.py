"""What a store knows about the pages that mirror it: which memory each line of a page is, and the state of both when they were
last compared.

A text is represented by a keyed digest of each of its lines, never by its words, so two sides and their common ancestor can be
compared without storing the common text. These are settings of the store, one per page, and travel with the file.
"""

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from memorist.errors import StoreDamaged
from memorist.store.nouns import Commit
from memorist.store.protocol import Store
from memorist.store.where import canonical


class Counterpart(NamedTuple):
    """One memory of a page. `page`: the digests of its lines there, or "" if it has none; `store`: the digest of its text in
    the store. `state`: if the two differ, why: the question that waits for a person, or one of the words of
    `files/memory_md.py`."""

    id: str
    page: str
    store: str
    state: str = ""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A page when it was last compared: the last event of the journal then, the digest of the whole page, and its memories."""

    event: int = 0
    digest: str = ""
    rows: tuple[Counterpart, ...] = ()


def mirror_of(store: Store, space: str, scope: str, path: str) -> Mirror | None:
    said = store.setting(_name(space, scope, path))
    if not said:
        return None
    try:
        event, digest, rows = json.loads(said)
        return Mirror(int(event), str(digest), tuple(Counterpart(*map(str, row)) for row in rows))
    except (ValueError, TypeError) as problem:
        raise StoreDamaged(f"what is known of {path} cannot be read ({problem}); restore a backup") from problem


def keep(store: Store, space: str, scope: str, path: str, mirror: Mirror) -> None:
    """Stores it; inside a transaction of the writer."""
    said = {_name(space, scope, path): canonical([mirror.event, mirror.digest, [list(row) for row in mirror.rows]])}
    known = pages(store, space)
    if (scope, path) not in known:
        said[f"mirrors in {space}"] = canonical([*map(list, known), [scope, path]])
    store.write(Commit(settings=said))


def pages(store: Store, space: str) -> list[tuple[str, str]]:
    """The scope and path of every page that was ever compared."""
    return [(str(scope), str(path)) for scope, path in json.loads(store.setting(f"mirrors in {space}") or "[]")]


def forget_rows(store: Store, space: str, scope: str, path: str, ids: Set[str] | Sequence[str]) -> None:
    """Removes these memories once the page no longer holds them; inside a transaction of the writer."""
    known = mirror_of(store, space, scope, path)
    if known is not None and any(row.id in ids for row in known.rows):
        rows = tuple(row for row in known.rows if row.id not in ids)
        keep(store, space, scope, path, replace(known, rows=rows, digest=""))


def _name(space: str, scope: str, path: str) -> str:
    return f"mirror {canonical([space, scope, path])}"
