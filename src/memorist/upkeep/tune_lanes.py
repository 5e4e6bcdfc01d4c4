"""Which lanes of a prompt earn their tokens? Told from receipts: what was shown by which lane, and what of it was used.

The job looks and proposes other shares; it never applies them. A share is a decision about what a model gets to see, and it
belongs into the design's file, where somebody can read it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from memorist.access import Access
from memorist.design import Proposal, Tools
from memorist.records import Record
from memorist.remember.using import use_key
from memorist.store.nouns import Receipt
from memorist.store.protocol import Store

LEAST = 20  # receipts with a use; fewer say nothing
STEP = 0.1  # a share moves by so much at most
PROTECTED = ("", "turns")  # what came by no lane


@dataclass(frozen=True, slots=True)
class TuneLanes:
    """Compares what each lane was given with what was used of it, over the last so many receipts."""

    receipts: int = 500
    name: ClassVar[str] = "tune_lanes"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        lines = [line for line in tools.store.receipts(who.space, self.receipts) if line.rendered and line.shown]
        used = [by_lane for line in lines if (by_lane := _used(line, tools.store))]
        return Proposal("tuned", _same, "nothing is changed by it", [], _advice(lines, used))


def _used(line: Receipt, store: Store) -> Counter[str]:
    """How many memories of each lane the answer to this prompt used."""
    items: Sequence[Any] = (line.rendered or {}).get("items", ())
    return Counter(lane for id, lane in items if lane not in PROTECTED and store.key_use(use_key(line.id, id)))


def _advice(lines: Sequence[Receipt], used: Sequence[Counter[str]]) -> str:
    if len(used) < LEAST:
        return f"{len(used)} of the last {len(lines)} contexts have a reported use, {LEAST} are needed; see `used`"
    helped = sum(used, Counter[str]())
    given: Counter[str] = Counter()
    for line in lines:
        for lane, spent in (line.rendered or {}).get("lanes", {}).items():
            given[lane] += spent["spent"]
    total, paid = helped.total(), max(1, given.total())
    shares = {lane: given[lane] / paid for lane in given}
    wanted = {lane: shares[lane] + max(-STEP, min(STEP, helped[lane] / total - shares[lane])) for lane in shares}
    moved = [
        f"{lane} {shares[lane]:.2f} → {wanted[lane]:.2f}" for lane in shares if _differs(shares[lane], wanted[lane])
    ]
    if not moved:
        return f"the lanes earn what they get, by {len(used)} contexts with a reported use"
    return f"by {len(used)} contexts with a reported use, of the tokens spent: {', '.join(moved)}; `lane.NAME.share` sets it"


def _differs(a: float, b: float) -> bool:
    return abs(a - b) >= 0.02


def _same(record: Record) -> Record:
    return record
