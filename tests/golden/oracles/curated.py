"""A naive model of founding document 3, written from the document alone: one list of entries.

Section numbers are the document's. Weights of the ranking that it names without a number are those of its program (C3-1, C3-2,
C3-3). Time is a number of days. Nothing here knows how memorist works; where memorist differs, `test_oracle_curated.py` says so.
"""

import math
from dataclasses import dataclass, field

TTL = dict(task_progress=14, discovery=21, file_change=21, warning=30, decision=90, error=90) | dict(
    pattern=180, architecture=180, preference=365
)  # §16
WEIGHTS = dict(warning=1.4, decision=1.3, architecture=1.2, error=1.2, pattern=1.0, file_change=1.0) | dict(
    task_progress=0.9, discovery=0.9, preference=0.8
)
RECENCY = ((1, 1.0), (7, 0.9), (14, 0.7), (30, 0.5))
TOP, INJECTED, PINNED, PER_SESSION = 15, 5, 5, 2  # §6


@dataclass
class Entry:
    """§4.2"""

    content: str
    category: str
    importance: float
    status: str
    created: float
    session: str | None = None
    pinned: bool = False
    by_user: bool = False  # it came by /remember
    files: tuple[str, ...] = ()
    repeated: int = 0
    used: int = 0
    accessed: float = 0.0
    updated: float = 0.0
    number: int = 0

    @property
    def accesses(self) -> int:
        return self.used + self.repeated

    @property
    def touched(self) -> float:
        return max(self.accessed, self.updated)


@dataclass
class Curated:
    limit: int = 3000
    entries: list[Entry] = field(default_factory=list)
    numbers: int = 0

    # -- what is said (§9, §10, §12)

    def remember(self, content: str, category: str, importance: float, now: float, **more: object) -> str:
        known = self.entry(content)
        if known:
            self.boost(known, now)
            return "reinforced"
        number = self.next()
        new = Entry(content, category, importance, "confirmed", now, accessed=now, updated=now, number=number, **more)  # type: ignore[arg-type]
        self.entries.append(new)
        return "added"

    def boost(self, entry: Entry, now: float) -> None:
        entry.importance = min(1.0, entry.importance + 0.1)
        entry.repeated, entry.accessed, entry.updated = entry.repeated + 1, now, now

    def access(self, entry: Entry, now: float) -> None:
        entry.used, entry.accessed = entry.used + 1, now

    def pin(self, entry: Entry, now: float) -> None:
        entry.pinned, entry.updated = not entry.pinned, now

    # -- a start of the program (§5, §9, §16)

    def start(self, now: float) -> None:
        for entry in self.entries:
            if entry.status == "candidate" and now - self.since(entry) >= 1:
                self.judge(entry, now)
        self.entries = [entry for entry in self.entries if not self.expired(entry, now)]
        if len(self.entries) > self.limit:
            may_go = [entry for entry in self.entries if not self.spared(entry, now)]
            may_go.sort(key=lambda entry: (self.decayed(entry, now), entry.created, entry.number))
            gone = may_go[: len(self.entries) - int(self.limit * 0.9)]
            self.entries = [entry for entry in self.entries if entry not in gone]

    def since(self, entry: Entry) -> float:
        return entry.created

    def judge(self, entry: Entry, now: float) -> None:
        """The end of a quarantine."""
        if entry.accesses:
            entry.status, entry.updated = "confirmed", now
        else:
            entry.importance *= 0.8

    def decayed(self, entry: Entry, now: float) -> float:
        status = 0.9 if entry.status == "candidate" else 1.0
        return entry.importance * 0.95 ** ((now - entry.accessed) / 7) * status * min(1.0, 0.5 + 0.05 * entry.accesses)

    def expired(self, entry: Entry, now: float) -> bool:
        return not entry.pinned and entry.accesses < 3 and now - entry.touched > TTL[entry.category]

    def spared(self, entry: Entry, now: float) -> bool:
        return entry.pinned or (entry.accesses > 0 and now - entry.accessed < 1)

    # -- a question (§6), for a word that all entries hold alike

    def score(self, entry: Entry, now: float, files: set[str]) -> float:
        recency = next((weight for under, weight in RECENCY if now - entry.created < under), 0.3)
        access = 1 + min(0.5, 0.1 * math.log2(entry.accesses + 1))
        status = 2.0 if entry.pinned else 0.7 if entry.status == "candidate" else 1.0
        return WEIGHTS[entry.category] * recency * access * (1 + 0.3 * len(files & {*entry.files})) * status

    def answer(self, now: float, files: set[str]) -> list[float]:
        scored = [(self.score(entry, now, files), entry) for entry in self.entries]
        best = sorted(scored, key=lambda pair: (-round(pair[0], 9), -pair[1].number))
        pins = [pair for pair in best if pair[1].pinned]
        best = self.spread(self.without_tail([pair for pair in best if pair in best[:TOP] or pair in pins]))
        first = pins[:PINNED]
        return [score for score, _ in [*first, *(pair for pair in best if pair not in first)][:INJECTED]]

    def without_tail(self, best: list[tuple[float, Entry]]) -> list[tuple[float, Entry]]:
        if len(best) < 3:
            return best
        median = (best[(len(best) - 1) // 2][0] + best[len(best) // 2][0]) / 2
        return [pair for pair in best if pair[0] >= median / 2 or pair[1].pinned]

    def spread(self, best: list[tuple[float, Entry]]) -> list[tuple[float, Entry]]:
        kept, taken = [], dict[str, int]()
        for pair in best:
            session = None if pair[1].pinned else pair[1].session
            if session:
                taken[session] = taken.get(session, 0) + 1
            if session is None or taken[session] <= PER_SESSION:
                kept.append(pair)
        return kept

    # -- the budget (§8)

    @staticmethod
    def lanes(remaining: int) -> tuple[int, int, int, int, int]:
        """The total, and of it: always injected, context bridge, retrieval, summary."""
        total = min(remaining * 8 // 100, 5000)
        always = min(400, max(200, total * 8 // 100))
        bridge = min(3000, max(500, (total - always) * 50 // 100))
        retrieval = min(1500, max(300, (total - always - bridge) * 65 // 100))
        return total, always, bridge, retrieval, min(600, max(200, total - always - bridge - retrieval))

    def entry(self, content: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.content == content), None)

    def next(self) -> int:
        self.numbers += 1
        return self.numbers
