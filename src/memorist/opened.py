"""What the verbs of `Memory` share: an open store, who is asking, and the few steps that every verb takes.

It is apart from `memory.py` so that the verbs can be read in one go.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from memorist import checks, opening
from memorist.access import Access
from memorist.bus import Bus
from memorist.design import Clock, Confirmer, Design, Reranker, Tools
from memorist.errors import Invalid, Refused
from memorist.kinds import Kind
from memorist.models.embed import Embedder
from memorist.recall import lookup
from memorist.recall.pipeline import Monitor
from memorist.recall.query import Query, answer
from memorist.records import LinkKind, Outcome, Recall, Record, Report, now_utc
from memorist.remember import change
from memorist.store.where import Where
from memorist.store.writer import Writer
from memorist.text.tokens import TokenCounter
from memorist.text.tokens import count_tokens as default_count
from memorist.upkeep.due import Slices

Filter = Mapping[str, Any]


class Opened:
    """An open memory, before it can do anything."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        project: str | None = None,
        space: str | None = None,
        access: Access | None = None,
        design: Design | str | None = None,
        clock: Clock = now_utc,
        count_tokens: TokenCounter = default_count,
        kinds: Mapping[str, Kind] | None = None,
        embed: Embedder | str | None = None,
        rerank: Reranker | None = None,
        wait: float = 30.0,
        confirm: Confirmer | None = None,
    ) -> None:
        place = opening.place(path, project, space, design)
        self.project = place.project
        self.design = place.design
        self.home = place.home
        if access is not None and space not in (None, access.space):
            raise Invalid(f"the access is for space {access.space!r}, not {space!r}; name one of them")
        self.access = access or opening.usual_access(place)
        self.space = self.access.space
        self.bus = Bus()
        self._off_because = place.off_because
        embedder = place.embed if embed is None else opening.embedder(embed)
        store = opening.store(place.db, checks.seconds(wait, "wait"))
        self._writer = Writer(store, clock, embedder)
        own = {**place.kinds, **(kinds or {})}
        self._tools = Tools(store, clock, count_tokens, own, self._writer.meaning, confirm, rerank, place.times)
        self._writer.refuse_secret(f"{self.space} {self.home}", "the space or project")
        self._monitor = Monitor()
        self._slices = Slices(self._tools, self._writer, self._off_because, self._tell_all)
        self._slices.opened(self.design, self.access)

    def through(self, access: Access) -> Self:
        """The same open memory, seen through another access. Closing one closes both."""
        if access.space != self.space:
            raise Invalid(f"this memory is open for space {self.space!r}, not {access.space!r}; open another")
        other = copy.copy(self)
        other.access = access
        return other

    def close(self) -> None:
        """Flushes what was only noted, writes the anchor, closes. Upkeep in the background ends with its step."""
        self._slices.close()
        try:
            self._writer.close()
        finally:
            self._tools.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # ------------------------------------------------------------ what the verbs share

    def _must_get(self, id: str | int) -> Record:
        return lookup.resolve(id, self._tools.store, Where(self.access))

    def _ask(self, question: Query) -> tuple[Recall, float]:
        homes = tuple(dict.fromkeys((self.home, self.project.scope)))
        found, took = answer(question, self.access, homes, self.design, self._tools, self._monitor.hurried)
        self._monitor.note(took)
        self._slices.used(self.design, self.access)
        return found, took

    def _edit(self, id: str | int, verb: str, edit: Callable[[Record], Record], because: str) -> Outcome:
        self._must_be_on()
        find = partial(self._must_get, id)
        return self._tell(change.edit(find, verb, edit, self.access, self._writer, self._tools, because))

    def _relate(
        self, a: str | int, b: str | int, kind: LinkKind, weight: float | None, evidence: str | None
    ) -> Outcome:
        self._must_be_on()
        store, find = self._tools.store, partial(self._both, a, b)
        return self._tell(change.relate(find, kind, self.access, self._writer, store, weight, evidence))

    def _both(self, a: str | int, b: str | int) -> tuple[Record, Record]:
        return self._must_get(a), self._must_get(b)

    def _where(self, filter: Filter | None) -> Where:
        """What is asked for; active records unless the filter speaks of states itself."""
        where = Where.of(self.access, filter)
        return where if where.speaks_of("state") else where.also("state", "eq", "active")

    def _chosen(self, id: str | int | None, filter: Filter | None, states: Sequence[str]) -> tuple[Where, list[str]]:
        """The memories that are meant: one by its id, or all that fit a filter, which must not be empty. In these states,
        unless the filter speaks of states itself. What is chosen must still fit when it is changed."""
        if (id is None) == (filter is None):
            raise Invalid("name one memory, or give a filter with where=; not both, and not neither")
        if id is not None:
            record = self._must_get(id)
            self.access.must_write(record.scope)
            return Where(self.access), [record.id]
        if not filter:
            raise Invalid("an empty filter means everything; say so with where={'number': {'$gte': 1}}")
        where = Where.of(self.access, filter)
        where = where if where.speaks_of("state") else where.also("state", "in", tuple(states))
        return where, [brief.id for brief in self._tools.store.briefs(where)]

    def _must_be_on(self) -> None:
        off = self._off_because()
        if off:
            raise Refused(off)

    def _must_look_after(self) -> None:
        """The store as a whole is for those who work in it, not for readers and skills."""
        self.access.over_the_space(self.access.surface)

    def _tidy(self) -> None:
        while self._tools.store.tidy():
            pass

    def _tell(self, outcome: Outcome) -> Outcome:
        if outcome.record is not None and outcome.outcome not in ("unchanged", "repeated"):
            facts = {"kind": outcome.record.kind, "scope": outcome.record.scope}
            self.bus.emit("memory:write", id=outcome.id, outcome=outcome.outcome, because=outcome.because, **facts)
            self._slices.used(self.design, self.access)
        return outcome

    def _tell_all(self, report: Report) -> Report:
        if not report.dry_run:
            for each in report.changed:
                self.bus.emit("memory:write", id=each.id, outcome=report.verb, because=each.because)
        return report
