"""Stages that find. Each brings its own scale to 0..1, so that weights can multiply it."""

from dataclasses import dataclass, replace

from memorist.design import Tools
from memorist.recall.pipeline import Search, found


@dataclass(frozen=True, slots=True)
class ByWords:
    """Records that hold the question's words.

    Raw BM25 is not comparable between questions, and a word found in most records scores near zero whatever the record.
    Divided by the most this question could score here, it says how much of the question a record covers.
    """

    pool: int = 60

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.terms:
            return search
        pool = search.pool(max(self.pool, 4 * search.limit))
        matches = tools.store.match(search.terms, search.shelves, search.where, pool)
        hits = [found(match.record, words=match.score / matches.ceiling) for match in matches.hits]
        if hits:
            return search.with_hits(hits)
        filtered = " and passes the filter" if search.filtered else ""
        return replace(search, empty_because=f"no memory here holds any of the question's words{filtered}")
