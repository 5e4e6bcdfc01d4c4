"""The second founding document as a naive program: one table, one formula, whole scans.

It was written from the document alone and knows nothing of memorist. Every decision that a better engine may take otherwise is a
method of its own, so that a test can name what differs and keep the rest.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

DAY = 86400.0


@dataclass(slots=True)
class Row:
    """The columns of `memories` that rank."""

    id: int
    content: str
    tags: str
    source: str
    created_at: datetime
    last_hit_at: datetime | None = None
    score: int = 0


@dataclass(slots=True)
class Model:
    """`memories` and the five tools."""

    clock: Callable[[], datetime]
    reinforce_weight: int = 3
    demote_weight: int = 1
    rows: dict[int, Row] = field(default_factory=dict)

    # ------------------------------------------------------------ the tools

    def store(self, id: int, content: str, tags: str = "", source: str = "agent") -> int:
        """memory_store: each memory is a discrete unit; the caller hands out ids."""
        assert id not in self.rows
        self.rows[id] = Row(id, content, tags, source, self.clock())
        return id

    def reinforce(self, id: int) -> int:
        """memory_reinforce: "score += 3, last_hit_at resets"."""
        row = self.rows[id]
        row.score = self.voted(row.score, self.reinforce_weight)
        row.last_hit_at = self.clock()
        return row.score

    def demote(self, id: int) -> int:
        """memory_demote: "score -= 1"; the clock goes on."""
        row = self.rows[id]
        row.score = self.voted(row.score, -self.demote_weight)
        return row.score

    def update(self, id: int, content: str, tags: str | None = None) -> int:
        """memory_update: "in place (preserves score, refreshes last_hit_at)"."""
        row = self.rows[id]
        row.content, row.last_hit_at = content, self.clock()
        row.tags = row.tags if tags is None else tags
        return row.score

    def query(self, question: str, limit: int = 5) -> list[tuple[int, float]]:
        """memory_query: (id, finalRank), best first. Who is returned and not acted upon gets no signal."""
        return self.ranked(question, limit)[:limit]

    def ranked(self, question: str, limit: int) -> list[tuple[int, float]]:
        ranks = {row.id: rank * self.worth(row) for row, rank in self.found(self.sanitised(question), limit)}
        best = sorted(ranks, key=lambda id: (-ranks[id], -id))
        return [(id, ranks[id]) for id in best if self.shown(ranks[id], ranks[best[0]])]

    # ------------------------------------------------------------ the formula

    def worth(self, row: Row) -> float:
        """scoreWeight × recency: what a row is worth whatever is asked."""
        return self.weight(row.score) * self.recency(row)

    def voted(self, score: int, points: int) -> int:
        return score + points

    def weight(self, score: int) -> float:
        return math.exp(score * 0.2)

    def recency(self, row: Row) -> float:
        return 1 / (1 + 0.01 * self.days(row))

    def days(self, row: Row) -> float:
        """ "uses last_hit_at when available, falling back to created_at"."""
        return (self.clock() - (row.last_hit_at or row.created_at)).total_seconds() / DAY

    def shown(self, rank: float, best: float) -> bool:
        """Everything that matched may be shown."""
        return True

    # ------------------------------------------------------------ FTS5

    def sanitised(self, question: str) -> list[str]:
        """URLs, hyphens, punctuation, single characters; what is left are literal words, joined with OR."""
        bare = re.sub(r"\S+://\S+", " ", question).replace("-", " ")
        words = re.sub(r"[^\w\s]", " ", bare).casefold().split()
        return list(dict.fromkeys(word for word in words if self.is_word(word)))

    def is_word(self, word: str) -> bool:
        return len(word) > 1

    def tokens(self, row: Row) -> list[str]:
        """The indexed columns: content, tags, source."""
        return re.findall(r"\w+", f"{row.content} {row.tags} {row.source}".casefold())

    def found(self, words: list[str], limit: int) -> list[tuple[Row, float]]:
        """Every row that holds one of the words, with its BM25."""
        held = {id: self.tokens(row) for id, row in self.rows.items()}
        average = sum(map(len, held.values())) / max(1, len(held))
        idf = {word: self.idf(sum(word in tokens for tokens in held.values()), len(held)) for word in words}
        return [
            (
                self.rows[id],
                sum(idf[word] * self.saturated(tokens.count(word), len(tokens) / average) for word in words),
            )
            for id, tokens in held.items()
            if not set(words).isdisjoint(tokens)
        ]

    def idf(self, holding: int, rows: int) -> float:
        """As FTS5 has it: what more than half of the rows hold tells next to nothing."""
        return max(1e-6, math.log((rows - holding + 0.5) / (holding + 0.5)))

    def saturated(self, times: int, length: float) -> float:
        return times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length))
