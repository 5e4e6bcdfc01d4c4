"""Statistics about language model calls, kept with the store so that `status` shows what any process met.

It is one setting of the store per space: counts, the calls and tokens of the day, and the last failure in words that reveal no
content.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from memorist.errors import StoreDamaged, StoreUnavailable
from memorist.models.chat import Chat, ChatPort
from memorist.store.nouns import Commit
from memorist.store.protocol import Store
from memorist.store.tally import Tally
from memorist.store.where import canonical
from memorist.store.writer import NOTES_WAIT, Writer

log = logging.getLogger("memorist")


def port(chat: Chat | None, writer: Writer, clock: Callable[[], datetime], space: str) -> ChatPort:
    """The access to a model for an open memory."""
    return ChatPort(chat, writer.redact, clock, lambda: known(writer.store, space))


def keep(port: ChatPort, store: Store, space: str) -> None:
    """Stores what was counted since the last time. If the store is busy, this is done later."""
    more = port.taken() if store.writable else None
    if more is None:
        return
    try:
        add(more, store, space)
    except StoreUnavailable as problem:
        log.info("what came of asking a model is noted later: %s", problem)
        port.note(more)


def known(store: Store, space: str) -> Tally:
    said = store.setting(_name(space))
    try:
        table: dict[str, Any] = json.loads(said or "{}")
        return Tally(**{field.name: table[field.name] for field in fields(Tally) if field.name in table})
    except (ValueError, TypeError) as problem:
        raise StoreDamaged(f"what came of asking a model cannot be read ({problem}); restore a backup") from problem


def add(more: Tally, store: Store, space: str) -> None:
    """Adds to the statistics, in a transaction of its own that need not survive a power cut."""
    with store.transaction(durable=False, wait=NOTES_WAIT):
        total = asdict(known(store, space).with_more(more))
        store.write(Commit(settings={_name(space): canonical(total)}))


def _name(space: str) -> str:
    return f"calls of {space}"
