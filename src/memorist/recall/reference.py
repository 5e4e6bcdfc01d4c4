"""Which memory is meant? A full id, the short number, or a unique beginning or end of the id.

Only what the caller may read is looked at, so an error never names somebody else's memory.
"""

from memorist.errors import Ambiguous, NotFound
from memorist.records import Record
from memorist.store.protocol import Store
from memorist.store.where import Where
from memorist.text.visible import visible

SHORTEST = 4  # characters of an id that can be meant; fewer fit too much
LONGEST = 27  # an id


def resolve(reference: str | int, store: Store, where: Where) -> Record:
    """The one memory that is meant, or an error that names the candidates."""
    wanted = _written(reference).removeprefix("[id:").removesuffix("]")
    found = _candidates(wanted, store, where) if len(wanted) <= LONGEST else []
    if not found:
        raise NotFound(f"no memory {visible(wanted[:60])!r} is readable here; `list` shows what is")
    if len(found) > 1:
        names = "; ".join(f"{r.id} [id:{r.number}] {visible(r.text[:40])!r}" for r in found[:5])
        raise Ambiguous(f"{wanted!r} fits several memories: {names}; use more of the id, or the number")
    return found[0]


def _written(reference: str | int) -> str:
    try:
        return "" if isinstance(reference, bool) else str(reference).strip().lower()
    except ValueError:  # a number of more digits than Python writes out
        return ""


def _candidates(wanted: str, store: Store, where: Where) -> list[Record]:
    if not wanted.isascii() or not wanted.isalnum():
        return []
    found = store.get([wanted], where)
    if found or not (wanted.isdecimal() or len(wanted) >= SHORTEST):
        return found
    return store.resolve(wanted, where, 6)
