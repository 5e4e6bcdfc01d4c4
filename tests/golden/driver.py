"""What the golden suite may use of memorist. This file alone knows public names, arguments, routes and options: when one of
them changes, it changes here and nowhere else. Tests speak in the verbs below, and look only at results and error classes."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import memorist
from memorist import designs, errors, seeds
from memorist.testing import START, HashEmbedder, MovableClock, ScriptedChat

Clock, Words, Script, BEGIN = MovableClock, HashEmbedder, ScriptedChat, START
DESIGNS = tuple(designs.DESIGNS)
LIVING = {"state": {"$in": ["active", "archived", "superseded"]}}

Error, Invalid, NotFound, Ambiguous = errors.MemoristError, errors.Invalid, errors.NotFound, errors.Ambiguous
OutOfScope, Refused, Conflict, Unavailable = errors.OutOfScope, errors.Refused, errors.Conflict, errors.StoreUnavailable
Damaged, TooNew, NoModel = errors.StoreDamaged, errors.StoreTooNew, errors.ModelUnavailable

# Where the suite's short names live on a record, a hit, an answer or a prompt; every other name is the attribute itself.
PATHS = {
    **{name: f"counters.{name}" for name in ("up", "down", "used", "surfaced", "rejected", "strength")},
    **{name: f"provenance.{name}" for name in ("actor", "session", "role", "speaker", "agent", "task", "snippet")},
    **{name: f"times.{name}" for name in ("at", "created", "updated", "valid_from", "valid_to")},
    "used_at": "times.used",
    "ratio": "compression_ratio",
    "empty": "empty_because",
}
OF_A_HIT = ("score", "why", "signals", "conflicts", "replaces", "freshness")


class Row:
    """A memory, a hit or a session's turn, seen through the names above."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __getattr__(self, name: str) -> Any:
        source = getattr(self.raw, "record", self.raw) if name not in OF_A_HIT else self.raw
        return attrgetter(PATHS.get(name, name))(source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Row({self.number}, {self.text!r})"


class Rows(list[Row]):
    """An answer: its memories, best first, and what is said about it."""

    def __init__(self, raw: Any) -> None:
        super().__init__(map(Row, raw))
        self.raw = raw

    receipt = property(lambda self: self.raw.receipt)
    empty = property(lambda self: self.raw.empty_because)
    dropped = property(lambda self: {id for step in self.raw.trace for id in step.dropped})
    texts = property(lambda self: [row.text for row in self])
    numbers = property(lambda self: [row.number for row in self])


class Prompt:
    """A text for a prompt: text, tokens, budget, ratio, receipt, left_out, stable, lanes, topic_changed, and its rows."""

    def __init__(self, raw: Any) -> None:
        self.raw, self.rows = raw, [Row(hit) for hit in raw.items]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, PATHS.get(name, name))

    def __bool__(self) -> bool:
        return bool(self.raw)

    texts = property(lambda self: [row.text for row in self.rows])
    numbers = property(lambda self: [row.number for row in self.rows])
    prefix = property(lambda self: self.raw.text[: self.raw.stable])


def as_row(given: Any) -> Any:
    return given.raw if isinstance(given, Row) else given


def own_design(base: str, **changes: Any) -> Any:
    """A design of the user's own: a built-in one, and what differs from it by name."""
    return replace(designs.DESIGNS[base], **changes)


def promoting(base: str, mode: str, preset: str = "balanced") -> Any:
    found = designs.DESIGNS[base]
    return replace(found, promotion=replace(found.promotion, mode=mode, preset=preset))


def retaining(base: str, **values: Any) -> Any:
    """A design whose upkeep keeps at most that many: max_items, or max_bytes."""
    found = designs.DESIGNS[base]
    jobs = [job for job in found.upkeep if all(hasattr(job, name) for name in values)]
    return replace(found, upkeep=tuple(replace(job, **values) for job in jobs))


class Lib:
    """The library: one store, as one caller sees it."""

    def __init__(self, place: Path | str = ":memory:", memory: Any = None, **options: Any) -> None:
        self.memory = memory or memorist.Memory(place, **{"project": "atlas", **options})

    def __enter__(self) -> "Lib":
        return self

    def __exit__(self, *_: object) -> None:
        self.memory.close()

    def caller(self, origin: str = "agent", **grants: Any) -> "Lib":
        """The same store for another caller: origin, actor, role, reads, writes."""
        return Lib(memory=self.memory.through(replace(self.memory.access, origin=origin, **grants)))

    def skill(self) -> "Lib":
        return self.caller(role="skill", reads=(), writes=())

    # writing
    def keep(self, text: Any, **fields: Any) -> Any:
        return self.memory.remember(text, **fields)

    def keep_many(self, many: Iterable[Any]) -> list[Any]:
        return self.memory.remember_many(many)

    def change(self, id: Any, text: str | None = None, **fields: Any) -> Any:
        return self.memory.revise(as_row(id), text, **fields)

    def vote(self, id: Any, verdict: str = "useful", receipt: str | None = None) -> Any:
        return self.memory.feedback(as_row(id), verdict, receipt=receipt)

    def used(self, receipt: str, answer: str | None = None, ids: Sequence[Any] | None = None) -> Any:
        return self.memory.used(receipt, answer, ids=ids)

    def link(self, a: Any, b: Any, kind: str = "relates_to", **more: Any) -> Any:
        return self.memory.link(as_row(a), as_row(b), kind, **more)

    # reading
    def find(self, query: str | None, **options: Any) -> Rows:
        return Rows(self.memory.recall(query, **options))

    def texts(self, query: str | None, **options: Any) -> list[str]:
        return self.find(query, **options).texts

    def look(self, query: str, **options: Any) -> Rows:
        """As `find`, but nothing is logged or counted."""
        return Rows(self.memory.explain(query, **options))

    def prompt(self, query: str, **options: Any) -> Prompt:
        return Prompt(self.memory.context(query, **options))

    def receipt(self, id: str) -> Prompt:
        return Prompt(self.memory.receipt(id))

    def get(self, id: Any) -> Row:
        return Row(self.memory.get(as_row(id)))

    def all(self, where: Any = None, order: str = "-number", limit: int = 1000) -> list[Row]:
        """In the order of their numbers, unless another is named."""
        return [Row(record) for record in self.memory.list(where, order=order, limit=limit)]

    def everything(self) -> list[Row]:
        return self.all(LIVING)

    def state(self) -> str:
        """All that is stored, as one text to compare; without what counts its changes."""
        rows = [row.raw.to_dict() for row in self.everything()]
        return json.dumps([{**row, "version": 0, "times": {**row["times"], "updated": 0}} for row in rows], default=str)

    def upkeep(self, **options: Any) -> list[int]:
        """The numbers of the memories that it changed."""
        return [each.number for report in self.memory.upkeep(**options) for each in report.changed]

    def rows(self, verb: str, *values: Any, **options: Any) -> Rows:
        """What another reading verb gives: related, path, similar, timeline, sessions, tasks, threads, conflicts, …"""
        return Rows(self.call(verb, *values, **options))

    def call(self, verb: str, *values: Any, **options: Any) -> Any:
        """A verb whose name needs no words here: pin, unpin, tag, forget, restore, erase, undo, status, …"""
        name = {"threads": "narratives", "thread": "narrate", "why not": "why_not"}.get(verb, verb)
        return getattr(self.memory, name)(*map(as_row, values), **options)

    @contextmanager
    def session(self, id: str | None = None, **options: Any) -> Iterator[Any]:
        with self.memory.session(id, **options) as talk:
            yield talk


def seed(name: str, lib: Lib, *more: Any, **options: Any) -> Any:
    """The tools of a founding document under their own names."""
    return getattr(seeds, name)(lib.memory, *more, **options)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


# ---- outside
