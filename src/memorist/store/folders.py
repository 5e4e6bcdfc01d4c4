"""The folders in which memories lie as files too, each with the project whose memories they are.

A store must know them before the first byte is in them: whoever erases, from any process and also through the bare library,
has to clean them. They are settings of the store, one for each space.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from memorist.errors import StoreDamaged
from memorist.store.files import path_read, path_written
from memorist.store.nouns import Commit
from memorist.store.protocol import Store
from memorist.store.where import canonical


@dataclass(frozen=True, slots=True)
class Filed:
    """A folder with files, and the project they are of."""

    path: Path
    scope: str


def known(store: Store, space: str) -> list[Filed]:
    """Every folder that a process ever wrote files of this space into."""
    said = store.setting(_name(space))
    try:
        return [Filed(path_read(path), scope) for path, scope in json.loads(said or "[]")]
    except (ValueError, TypeError) as problem:
        raise StoreDamaged(f"which folders hold files cannot be read ({problem}); restore a backup") from problem


def note(folder: Filed, store: Store, space: str) -> None:
    """Keeps it; inside a transaction of the writer."""
    others = [each for each in known(store, space) if each.path != folder.path]
    written = [[path_written(each.path), each.scope] for each in (*others, folder)]
    store.write(Commit(settings={_name(space): canonical(written)}))


def _name(space: str) -> str:
    return f"folders of {space}"
