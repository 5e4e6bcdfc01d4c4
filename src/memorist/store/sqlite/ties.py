"""Walking over links in an SQLite store, a few records at a time: the neighbours of each, and which records share a word.

A record may have a hundred thousand links, so for each kind and direction only those to the newest records are examined; the
key and the index of links are in that order. They are filtered before the strongest are chosen.
"""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from types import NoneType

import apsw

from memorist.store.index import CHUNKS
from memorist.store.nouns import TIES_AT_MOST, Shelf, Tie
from memorist.store.sqlite.connection import one_moment
from memorist.store.sqlite.filters import where_sql
from memorist.store.sqlite.read import AMONG, ON_SHELVES, SOUND, SOUND_ROWS, Reader, WordIndex, of_types
from memorist.store.where import Where, canonical

FOLLOWED = ("relates_to", "contradicts", "derived_from", "in_cluster")  # in both directions
ARMS = (
    "SELECT a AS there, kind, weight, evidence, 0 AS outward FROM links WHERE b = j.value ORDER BY a DESC LIMIT ?2",
    *(
        f"SELECT b, kind, weight, evidence, 1 FROM links WHERE a = j.value AND kind = '{kind}' ORDER BY b DESC LIMIT ?2"
        for kind in FOLLOWED
    ),
)
# One JSON array per record instead of one Python row per link: half the cost.
LINKS_OF = (
    "SELECT j.value, (SELECT json_group_array(json_array(there, kind, weight, evidence, outward)) FROM"
    f" ({' UNION ALL '.join(f'SELECT * FROM ({arm})' for arm in ARMS)}) WHERE there <> j.value) FROM json_each(?1) j"
)
TYPES: tuple[set[type], ...] = ({int}, {str}, {float}, {str, NoneType}, {int})
BARE = "FROM json_each(?) j CROSS JOIN records r ON r.number = j.value"
SUPERSEDES = "supersedes"
Found = tuple[int, str, float, str | None, int]  # the other end, kind, weight, evidence, and whether it leads outward


class TieReader(Reader):
    """Reads links and shared words."""

    def neighbours(self, numbers: Sequence[int], where: Where, limit: int) -> list[Tie]:
        with self._connections as one, one_moment(one):
            if not numbers or not one.execute("SELECT EXISTS (SELECT 1 FROM links)").get:
                return []
            with SOUND_ROWS:
                found = _links_of(one, list(dict.fromkeys(numbers)))
            states = self._states(one, {each[0] for each in chain.from_iterable(found.values())}, where)
        return [tie for here, some in found.items() for tie in _strongest(here, some, states, limit)]

    def _states(self, one: apsw.Connection, numbers: Iterable[int], where: Where) -> dict[int, str]:
        """The states of those of these records that match."""
        condition, values = where_sql(where)
        source = AMONG if where.clauses else BARE  # tables that no filter needs are not joined
        sql = f"SELECT r.number, r.state {source} WHERE {ON_SHELVES} AND {condition}"
        readable = self._readable(where)
        return dict(of_types(one.execute(sql, (canonical(sorted(numbers)), readable, *values)), {int}, {str}))

    def sharing(
        self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, most: int
    ) -> Mapping[str, Sequence[int]]:
        with self._connections as one, one_moment(one):
            view = self._shelves.now(one)
            ids = view.readable(shelves, where.access)
            if not ids or not terms:
                return {}
            with SOUND:
                found = _holders(WordIndex(one, view, ids, terms=terms), terms, most)
            if where.clauses:
                found = _fitting(found, self._states(one, set(chain.from_iterable(found.values())), where))
        return found


def _fitting(found: Mapping[str, list[int]], fit: Container[int]) -> dict[str, list[int]]:
    left = {term: [number for number in some if number in fit] for term, some in found.items()}
    return {term: some for term, some in left.items() if some}


def _holders(index: WordIndex, terms: Sequence[str], most: int) -> dict[str, list[int]]:
    """The records that hold each of the rare ones among these terms, newest first."""
    rare = [term for term in terms if 0 < index.frequency(term) <= most]
    return {term: list(dict.fromkeys([row // CHUNKS for row in index.holding(term, most)])) for term in rare}


def _strongest(here: int, found: Iterable[Found], states: Mapping[int, str], limit: int) -> list[Tie]:
    fit = [each for each in found if _leads_on(each, states.get(each[0]))]
    strongest = sorted(fit, key=itemgetter(2, 0), reverse=True)[:limit]
    return [Tie(here, *each[:4], bool(each[4]), len(fit)) for each in strongest]


def _links_of(one: apsw.Connection, numbers: Sequence[int]) -> dict[int, list[Found]]:
    """The links of each of these records that are examined."""
    rows = one.execute(LINKS_OF, (canonical(numbers), TIES_AT_MOST))
    return {number: of_types(map(tuple, json.loads(links)), *TYPES) for number, links in rows}


def _leads_on(found: Found, state: str | None) -> bool:
    """Whether it leads to an active record; or to a replacement, which may have been replaced in turn."""
    return state == "active" or (state == "superseded" and found[1] == SUPERSEDES)
