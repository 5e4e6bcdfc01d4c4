"""One source that nobody vouches for has one voice in an answer, however often it speaks.

Hundreds of texts of much the same words would fill every place, and what the user said would not be read. So of what is of low
trust and confirmed by nobody, an answer holds each claim once, and of what one tool wrote in one session the best only. What
is trusted is never touched. A user's own imported notes are of low trust too: there only what says the same goes.

A crowd also fills the pools that are looked at before anything is read. Where so much was dropped that others may have been
kept out, the question is asked once more without texts of that origin, beside the voices that were heard.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from memorist.design import Tools
from memorist.kinds import TURNS, kind_of
from memorist.recall.pipeline import Search
from memorist.records import Hit, Record
from memorist.text.twins import LONGEST_COMPARED, TRIGRAMS_SHARED, jaccard, near_twins, normalised, trigrams
from memorist.worth import vouched_for


@dataclass(frozen=True, slots=True)
class OneVoice:
    """Drops what repeats a better hit of low trust, and all but the best of what one tool wrote. It stands right before
    `keep_best` and looks until so many are left as were asked for: what comes after those is not shown anyway."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        hits = (*search.hits, *(search.heard or ()))
        if all(vouched_for(hit.record) for hit in hits):
            return search.but(hits=hits)
        kept, lost = _voices(hits, search.limit, tools)
        crowded = search.heard is None and bool(lost) and (len(kept) < search.limit or len(lost) > search.limit)
        search = search.but(hits=tuple(kept), dropped=lost)
        if not crowded:
            return search
        crowd = tuple(sorted({hit.record.origin for hit in hits if hit.record.id in lost}))
        heard = tuple(hit for hit in kept if hit.record.origin in crowd)
        return search.but(crowd=crowd, heard=heard, note=f"a crowd of origin {' and '.join(crowd)}: asking again")


def _voices(hits: Sequence[Hit], limit: int, tools: Tools) -> tuple[list[Hit], dict[str, str]]:
    """Those that have something of their own to say, best first, and why the others have not."""
    kept: list[Hit] = []
    lost: dict[str, str] = {}
    ordered = sorted(hits, key=lambda hit: (-hit.score, -hit.record.number))
    for place, hit in enumerate(ordered):
        if len(kept) >= limit:
            return [*kept, *ordered[place:]], lost
        because = None if vouched_for(hit.record) else _said_before(hit.record, kept, tools)
        if because is None:
            kept.append(hit)
        else:
            lost[hit.record.id] = because
    return kept, lost


def without_crowd(asked: Search, crowded: Search) -> Search:
    """The question as it was asked, but for texts of the origins that crowd; what was kept of them comes along."""
    where = asked.where
    for origin in crowded.crowd:
        where = where.also("origin", "ne", origin)
    return asked.but(where=where, heard=crowded.heard)


def _said_before(record: Record, kept: Sequence[Hit], tools: Tools) -> str | None:
    """Why it adds nothing to those that nobody vouches for either; None if it does."""
    for other in (hit.record for hit in kept if not vouched_for(hit.record)):
        if near_twins(record.text, other.text) or (
            _by_a_tool(record, other) and _spelled_alike(record.text, other.text)
        ):
            return f"memory {other.number} says nearly the same, and nobody vouches for either"
        if _one_source(record, other) and kind_of(record.kind, tools.kinds).layer != TURNS:
            return f"memory {other.number} is of the same tool and session, and nobody vouches for either"
    return None


def _by_a_tool(a: Record, b: Record) -> bool:
    return a.origin == "tool" and b.origin == "tool"


def _one_source(a: Record, b: Record) -> bool:
    return _by_a_tool(a, b) and _source(a) == _source(b)


def _source(record: Record) -> tuple[str | None, ...]:
    said = record.provenance
    return said.actor, said.surface, said.session, said.speaker


def _spelled_alike(a: str, b: str) -> bool:
    """Most of the letters are the same: another number or name is another claim, but for a tool's it is the same voice."""
    return jaccard(_trigrams(a[:LONGEST_COMPARED]), _trigrams(b[:LONGEST_COMPARED])) >= TRIGRAMS_SHARED


@lru_cache(maxsize=1024)
def _trigrams(text: str) -> frozenset[str]:
    return trigrams(normalised(text))
