"""What was changed and what was seen, in RAM: journal, recall log, keys, runs and settings, under one lock."""

import functools
import json
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar

from memorist.errors import StoreUnavailable
from memorist.records import Event
from memorist.store.chain import ChainLink
from memorist.store.nouns import RENDERED_AT_MOST, KeyUse, Receipt, Run
from memorist.store.undo import Undo
from memorist.store.where import canonical

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="InMemoryLedger")


def reading(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Waits until no other thread's transaction is under way."""

    @functools.wraps(method)
    def alone(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.alone():
            return method(self, *args, **kwargs)

    return alone


def writing(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Joins the transaction, or is one of its own."""

    @functools.wraps(method)
    def whole(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.transaction():
            return method(self, *args, **kwargs)

    return whole


class InMemoryLedger:
    """What was changed and what was seen; `InMemoryStore` adds what is remembered."""

    def __init__(self, undo: Undo | None = None) -> None:
        self._lock = threading.RLock()
        self._closed = False
        self._undo = undo or Undo()
        self._empty()

    def _empty(self) -> None:
        self._events: dict[int, Event] = {}
        self._journals: dict[str, dict[int, None]] = {}
        self._chain: dict[int, ChainLink] = {}
        self._key_uses: dict[str, KeyUse] = {}
        self._receipts: tuple[Receipt, ...] = ()
        self._runs: dict[int, Run] = {}
        self._settings = {"secret": secrets.token_hex(32)}

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise StoreUnavailable("this memory was closed; open it again")
            yield

    @contextmanager
    def moment(self) -> Iterator[None]:
        with self.alone():
            yield

    @contextmanager
    def transaction(self, durable: bool = True, wait: float | None = None) -> Iterator[None]:
        with self.alone(), self._undo.all_or_nothing():
            yield

    @reading
    def journal(self, record: str) -> list[Event]:
        return [self._event(seq) for seq in self._journals.get(record, {})]

    def _event(self, seq: int) -> Event:
        return _own(self._events[seq])

    @reading
    def batch(self, name: str) -> list[Event]:
        return [self._event(seq) for seq, event in self._events.items() if event.batch == name]

    @reading
    def latest(self, before: int | None, limit: int) -> list[Event]:
        last = max(self._events, default=0) if before is None else before - 1
        return [self._event(seq) for seq in range(last, max(0, last - limit), -1)]

    @reading
    def chain(self) -> Iterator[tuple[ChainLink, list[Event]]]:
        parts = [
            (link, [self._events[seq] for seq in range(link.first, link.last + 1)]) for link in self._chain.values()
        ]
        return ((link, [_own(event) for event in events]) for link, events in parts)

    @reading
    def head(self) -> ChainLink | None:
        return next(reversed(self._chain.values()), None)

    @writing
    def append(self, events: Sequence[Event], link: ChainLink) -> None:
        for event in events:
            before = None if event.before is None else json.loads(canonical(dict(event.before)))
            self._keep_event(replace(event, before=before))
        self._undo.set(self._chain, link.last, link)

    def _keep_event(self, event: Event) -> None:
        self._undo.set(self._events, event.seq, event)
        self._undo.set(self._journals.setdefault(event.record, {}), event.seq, None)

    @reading
    def key_use(self, key: str) -> KeyUse | None:
        return self._key_uses.get(key)

    @writing
    def write_key_uses(self, uses: Sequence[KeyUse]) -> None:
        for use in uses:
            self._undo.set(self._key_uses, use.key, use)

    @writing
    def log(self, receipts: Sequence[Receipt], most: int, oldest: datetime) -> None:
        lines = tuple(line for line in (*self._receipts, *receipts) if line.at >= oldest)
        self._undo.note(functools.partial(setattr, self, "_receipts", self._receipts))
        self._receipts = _without_old_texts(lines[max(0, len(lines) - most) :])

    @reading
    def receipts(self, space: str, limit: int, id: str | None = None) -> list[Receipt]:
        here = [receipt for receipt in self._receipts if receipt.space == space and id in (None, receipt.id)]
        return sorted(here, key=lambda receipt: (receipt.at, receipt.id), reverse=True)[:limit]

    @reading
    def runs(self, space: str, job: str | None, limit: int) -> list[Run]:
        found = [run for run in reversed(self._runs.values()) if run.space == space and job in (None, run.job)]
        return found[:limit]

    @reading
    def questions(self, space: str) -> list[Run]:
        found = [run for run in self._runs.values() if run.space == space and run.state == "asks"]
        return sorted((replace(run, question=deepcopy(run.question)) for run in found), key=lambda run: run.id)

    @writing
    def save_run(self, run: Run) -> int:
        asked = None if run.question is None else json.loads(canonical(dict(run.question)))
        checkpoint = json.loads(canonical(dict(run.checkpoint)))
        kept = replace(run, id=run.id or len(self._runs) + 1, checkpoint=checkpoint, question=asked)
        self._undo.set(self._runs, kept.id, kept)
        return kept.id

    @reading
    def setting(self, name: str) -> str | None:
        return self._settings.get(name)

    @writing
    def set_setting(self, name: str, value: str) -> None:
        self._undo.set(self._settings, name, value)


def _own(event: Event) -> Event:
    """A copy that shares nothing a caller could change."""
    return event if event.before is None else replace(event, before=deepcopy(event.before))


def _without_old_texts(lines: tuple[Receipt, ...]) -> tuple[Receipt, ...]:
    """Without the oldest of the lines that hold a text for a prompt, where there are too many of them."""
    long = [line.id for line in lines if line.rendered is not None]
    gone = set(long[: max(0, len(long) - RENDERED_AT_MOST)])
    return tuple(line for line in lines if line.id not in gone) if gone else lines
