"""Matches lines of a page to memories: by the mark in them, by their digests at the last comparison, or by their place
between two others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memorist.files.page import Passage, labels_beside, says_the_same
from memorist.records import Record
from memorist.store.mirrors import Counterpart

RETRY = "retry"  # the state of a row that is to be tried again
ALIKE = 0.3  # the share of words that two texts need in common for one to be an edit of the other


@dataclass(slots=True)
class Pairing:
    ids: dict[int, str] = field(default_factory=dict)  # index of a passage → its memory
    fresh: list[int] = field(default_factory=list)  # indices of new passages
    seen: list[Counterpart] = field(default_factory=list)  # passages that are no memory, for a reason already reported


def paired(
    passages: Sequence[Passage], keys: Sequence[str], rows: Sequence[Counterpart], records: Mapping[str, Record]
) -> Pairing:
    """The memory of each passage. A passage that repeats another one of the same memory is a copy, and stays as it is.
    `keys` are the digests of the passages, `rows` the findings of the last time, in the page order of then."""
    return _Pairs(passages, keys, rows, records).all()


@dataclass(slots=True)
class _Pairs:
    passages: Sequence[Passage]
    keys: Sequence[str]
    rows: Sequence[Counterpart]
    records: Mapping[str, Record]
    found: Pairing = field(default_factory=Pairing)
    taken: set[str] = field(default_factory=set)

    def all(self) -> Pairing:
        loose = self._by_lines(self._by_mark())
        order = [row for row in self.rows if row.page and row.id]
        places = {row.id: place for place, row in enumerate(order)}
        told = dict(self._told())
        for place in loose:
            if self._is_copy(self.passages[place], told):
                continue
            before = self.found.ids.get(place - 1)
            at = places.get(before, -1) + 1 if before else 0
            if not (at < len(order) and self._follows_on(place, order[at].id)):
                self.found.fresh.append(place)
        return self.found

    def _take(self, place: int, id: str) -> None:
        self.found.ids[place] = id
        self.taken.add(id)

    def _by_mark(self) -> list[int]:
        """Returns the passages without a known mark, or with one that another passage has a better claim to."""
        marked = dict[str, list[int]]()
        for place, id in self._marks():
            marked.setdefault(id, []).append(place)
        copies, compared = set[int](), {row.id: row.page for row in self.rows}
        for id, places in marked.items():
            best = min(places, key=lambda place: self._strangeness(place, self.records[id], compared.get(id)))
            self._take(best, id)
            copies |= {place for place in places if self.keys[place] == self.keys[best]}
        return [place for place in range(len(self.passages)) if place not in copies]

    def _marks(self) -> Iterator[tuple[int, str]]:
        """The known marks, except on a copy that was edited and is another memory since."""
        owners = {row.page: row.id for row in reversed(self.rows)}
        for place, passage in enumerate(self.passages):
            if passage.mark in self.records and owners.get(self.keys[place], passage.mark) == passage.mark:
                yield place, str(passage.mark)

    def _strangeness(self, place: int, record: Record, page: str | None) -> int:
        if page == self.keys[place]:
            return 0
        return 1 if says_the_same(self.passages[place], record) else 2

    def _by_lines(self, places: Sequence[int]) -> list[int]:
        known = {row.page: row for row in reversed(self.rows) if row.page}
        loose = []
        for place in places:
            row = known.get(self.keys[place])
            if row is None or (row.id not in self.records if row.id else row.state == RETRY):
                loose.append(place)
            elif not row.id:
                self.found.seen.append(row)
            elif row.id not in self.taken:
                self._take(place, row.id)
        return loose

    def _told(self) -> Iterator[tuple[str, Record]]:
        """The texts of lines that are unchanged since the last time, with their memories."""
        for place, id in self.found.ids.items():
            if self.records[id].state == "active" and says_the_same(self.passages[place], self.records[id]):
                yield self.records[id].text, self.records[id]

    def _is_copy(self, passage: Passage, told: Mapping[str, Record]) -> bool:
        """Whether it repeats another line, and has no tags that the memory lacks."""
        record = told.get(passage.labelled.text)
        return record is not None and "tags" not in labels_beside(passage, record)

    def _follows_on(self, place: int, id: str) -> bool:
        """Whether this reads like an edit of the memory whose lines stood here the last time, and are nowhere now."""
        if id in self.taken or id not in self.records:
            return False
        alike = _alike(self.passages[place].labelled.text, self.records[id].text)
        if alike:
            self._take(place, id)
        return alike


def _alike(one: str, other: str) -> bool:
    words, others = set(one.casefold().split()), set(other.casefold().split())
    return len(words & others) >= ALIKE * max(len(words), len(others), 1)
