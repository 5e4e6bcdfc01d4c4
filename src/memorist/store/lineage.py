"""What was derived from a memory: summaries and narratives linked to it, and findings extracted from a text.

A link `derived_from` is explicit; the narrative in a provenance only says what was told when a memory was written. A summary
of turns names their sessions and, unless it covers all of them, the first and the last turn; it was made of all turns between
these. A finding keeps a snippet of the surrounding text and the session it was found in. If the whole snippet occurs in a
memory of the same session, the finding was made from that memory. If the two only share some words, the snippet quotes the
memory, and the finding stands on its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from memorist.access import family_of
from memorist.lazy import dataclass
from memorist.records import Record
from memorist.store.nouns import parts
from memorist.store.protocol import Store
from memorist.store.traces import SHORTEST
from memorist.store.where import Order, everywhere
from memorist.text.twins import normalised

PHRASE = 24  # characters: long enough that no other text is likely to contain them
IDS_AT_ONCE = 200  # ids in one query
MOST_NUMBER = 1 << 62


@dataclass(frozen=True, slots=True)
class Quote:
    """The relevant parts of a record with a snippet."""

    id: str
    snippet: str  # normalised
    project: str | None

    def may_be_of(self, source: Record) -> bool:
        """Whether both may be from one project, as far as known: two projects may have sessions of the same name."""
        projects = {self.project, _project_of(source)} - {None}
        return self.id != source.id and len(projects) < 2


@dataclass(slots=True)
class Lineage:
    """Reads what was derived in one space, in any scope; the caller must show only what may be seen."""

    store: Store
    space: str
    _findings: dict[str, list[Quote]] = field(default_factory=dict)  # by session

    def derived(self, sources: Sequence[Record]) -> Iterator[tuple[str, Record]]:
        """The ids of what was derived directly from these, each with its source."""
        yield from self._linked({record.id: record for record in sources})
        yield from self._covering([record for record in sources if record.kind == "turn"])
        yield from ((found.id, source) for found, source, whole in self._snippets(sources) if whole)

    def _covering(self, turns: Sequence[Record]) -> Iterator[tuple[str, Record]]:
        """The summaries of these turns: of part of a session, or of all of it."""
        said = {turn.provenance.session for turn in turns} - {None}
        if not said:
            return
        told = everywhere(self.space).also("kind", "eq", "summary").also("data.sessions", "ne", None)
        for summary in self.store.find(told, Order("number", ascending=True)):
            told_of = summary.data["sessions"]
            if not isinstance(told_of, list | tuple) or said.isdisjoint(told_of):
                continue
            first, last = self._span(summary)
            yield from ((summary.id, turn) for turn in turns if _is_covered(turn, summary, first, last))

    def _span(self, summary: Record) -> tuple[int, int]:
        """The numbers of the first and the last covered turn; all, if it names none."""
        covers = summary.data.get("covers")
        ids = [id for id in covers if isinstance(id, str)] if isinstance(covers, list | tuple) else []
        found = [record.number for record in self.store.get(ids, everywhere(self.space))]
        return (min(found), max(found)) if len(found) == 2 else (0, MOST_NUMBER)

    def _linked(self, sources: Mapping[str, Record]) -> Iterator[tuple[str, Record]]:
        for some in parts(list(sources), IDS_AT_ONCE):
            links = self.store.links(everywhere(self.space), some, "derived_from")
            yield from ((link.a, sources[link.b]) for link in links if link.b in sources)

    def quoting(self, sources: Sequence[Record]) -> Iterator[tuple[str, Record]]:
        """The ids of findings made from another text whose snippets quote one of these."""
        yield from ((found.id, source) for found, source, whole in self._snippets(sources) if not whole)

    def _snippets(self, sources: Sequence[Record]) -> Iterator[tuple[Quote, Record, bool]]:
        """Findings of the same session that share words with a source, and whether the whole snippet occurs there."""
        self._look_up({session for source in sources if (session := session_of(source))})
        for source in sources:
            text = normalised(source.text)
            for found in self._findings.get(session_of(source) or "", ()):
                if found.may_be_of(source) and shares(found.snippet, text):
                    yield found, source, found.snippet in text

    def _look_up(self, sessions: Iterable[str]) -> None:
        missing = [session for session in sessions if session not in self._findings]
        for some in parts(missing, IDS_AT_ONCE):
            self._findings |= {session: [] for session in some}
            where = everywhere(self.space).also("session", "in", tuple(some)).also("state", "ne", "erased")
            for record in self.store.find(where, Order("number", ascending=True)):
                said = record.provenance
                if said.snippet and said.session:
                    self._findings[said.session].append(Quote(record.id, normalised(said.snippet), _project_of(record)))


def _is_covered(turn: Record, summary: Record, first: int, last: int) -> bool:
    projects = {_project_of(turn), _project_of(summary)} - {None}
    same = turn.provenance.session in summary.data["sessions"] and len(projects) < 2
    return same and first <= turn.number <= last


def _project_of(record: Record) -> str | None:
    return record.home or (record.scope if family_of(record.scope) == "project" else None)


def session_of(record: Record) -> str | None:
    in_one = family_of(record.scope) == "session"
    return record.provenance.session or (record.scope.partition("/")[2] if in_one else None)


def shares(snippet: str, text: str) -> bool:
    """Whether one contains the other, or they have more than a few words in common."""
    if snippet in text or (len(text) >= SHORTEST and text in snippet):
        return True
    starts = range(0, len(snippet) - PHRASE + 1, PHRASE)
    return any(snippet[start : start + PHRASE] in text for start in starts)
