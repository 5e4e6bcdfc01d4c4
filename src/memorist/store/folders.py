"""The folders that hold memories as files too, each with the project whose memories they are.

A store must know a folder before the first byte is written to it, so that whoever erases something, from any process and also
through the bare library, can clean it. These are settings of the store, one per space.
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
    """A folder with files, and the project they belong to."""

    path: Path
    scope: str


def known(store: Store, space: str) -> list[Filed]:
    """Every folder that any process ever wrote files of this space into."""
    said = store.setting(_name(space))
    try:
        return [Filed(path_read(path), scope) for path, scope in json.loads(said or "[]")]
    except (ValueError, TypeError) as problem:
        raise StoreDamaged(f"which folders hold files cannot be read ({problem}); restore a backup") from problem


def note(folder: Filed, store: Store, space: str) -> None:
    """Stores the folder; inside a transaction of the writer."""
    others = [each for each in known(store, space) if each.path != folder.path]
    written = [[path_written(each.path), each.scope] for each in (*others, folder)]
    store.write(Commit(settings={_name(space): canonical(written)}))


def _name(space: str) -> str:
    return f"folders of {space}"
