"""What was used together hangs together: a relation between two memories that one answer needed is made, or grows stronger.

Only *used* counts, never shown: what is shown together would be tied for being shown, and shown for being tied. A relation grows by
a part of what is left and never quite becomes certain; what loosens with time is computed when it is read (`worth.bond`).

Nobody climbs by it. Only memories that somebody vouches for are tied, by the user and by agents, and not by a tool, a page or a
file: its texts would be tied to trusted ones by being shown beside them. A relation that a person made keeps its evidence.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, combinations

from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.records import Link, Record
from memorist.remember import lessons
from memorist.remember.authority import RANK
from memorist.remember.changes import Caller, Changes
from memorist.remember.edit import receipt_of, use_key
from memorist.store.nouns import Receipt, Tie
from memorist.store.where import everywhere
from memorist.text.patterns import regex
from memorist.worth import vouched_for

FIRST_USE = 0.3  # the weight of a relation that one use together makes
GROWTH = 0.2  # of what is left to STRONGEST, with every further one
STRONGEST = 0.9  # a person may say more
TIED_AT_ONCE = 6  # memories of one answer that are tied to one another
TIED_AT_MOST = 60  # relations of a memory: what has so many gets no more by use
TOGETHER = regex(r"used together (\d{1,6})×", re.ASCII)


@dataclass(frozen=True, slots=True)
class UsedTogether:
    """Memories that were just of use for the question of a receipt, and the batch in which that was noted."""

    receipt: str
    ids: tuple[str, ...]
    batch: str | None = None


def credit(receipt: str, ids: Sequence[str], by: Caller, batch: str | None = None) -> int:
    """Ties what was just found to be of use for the question of a receipt, TIED_AT_ONCE of them at most, to each other and to what
    was before, as far as the caller may and they may be tied: `used` names several at once, and `feedback` one after the other.
    → how many relations were made or grew"""
    line = receipt_of(receipt, by.access, by.store)
    fresh = list(dict.fromkeys(ids))[:TIED_AT_ONCE]
    before = [id for id in _of_use(line, by) if id not in ids][:TIED_AT_ONCE]
    pairs = [*combinations(fresh, 2), *((old, new) for old in before for new in fresh)]
    return _tie(pairs, f"receipt {line.id}", by, batch)


def _of_use(line: Receipt, by: Caller) -> list[str]:
    """What was used under the receipt, or found useful for its question since it was asked."""
    used = [id for id in line.ids if by.store.key_use(use_key(line.id, id)) is not None]
    question = lessons.question_in(line)
    learnt = by.store.lessons(line.space, line.home) if line.home is not None else []
    since = [each for each in learnt if each.question == question and each.at >= line.at]
    return [*used, *(each.record for each in since if each.users + each.others > 0)]


def _tie(pairs: Sequence[tuple[str, str]], evidence: str, by: Caller, batch: str | None) -> int:
    if not pairs or RANK[by.access.origin] < RANK["agent"]:
        return 0
    with by.writer.transaction():
        changes, ends = Changes.of(by), _ends(pairs, by)
        ties = by.store.neighbours([each.number for each in ends.values()], everywhere(by.access.space), TIED_AT_MOST)
        for one, other in pairs:
            if one in ends and other in ends:
                _grow(ends[one], ends[other], ties, evidence, changes)
        changes.commit(batch)
    return len(changes.links)


def _ends(pairs: Iterable[tuple[str, str]], by: Caller) -> dict[str, Record]:
    """Those that may be tied, by their ids."""
    records = by.store.get(list(dict.fromkeys(chain.from_iterable(pairs))), by.where)
    return {record.id: record for record in records if _may_be_tied(record, by)}


def _may_be_tied(record: Record, by: Caller) -> bool:
    """A turn hangs together with its neighbours by itself."""
    is_memory = record.state == "active" and by.tools.kinds[record.kind].layer == MEMORY
    return is_memory and vouched_for(record) and by.access.may_write(record.scope, record.home)


def _grow(a: Record, b: Record, ties: Sequence[Tie], evidence: str, changes: Changes) -> None:
    """Makes or strengthens the relation of the two, whichever way it goes."""
    between = [tie for tie in ties if (tie.here, tie.there, tie.kind) == (a.number, b.number, "relates_to")]
    if not between:
        if max((tie.degree for tie in ties if tie.here in (a.number, b.number)), default=0) < TIED_AT_MOST:
            changes.link(a, Link(a.id, b.id, "relates_to", FIRST_USE, _said(1, evidence)), "used together")
        return
    tie = between[0]
    weight = tie.weight + GROWTH * (STRONGEST - tie.weight)
    if weight > tie.weight:
        first, second = (a, b) if tie.outward else (b, a)
        was = Link(first.id, second.id, "relates_to", tie.weight, tie.evidence)
        new = Link(first.id, second.id, "relates_to", round(weight, 4), _told_again(tie.evidence, evidence))
        changes.link(first, new, "used together again", was=was)


def _told_again(before: str | None, evidence: str) -> str | None:
    """One time more; what a person gave as evidence stays."""
    counted = TOGETHER.match(before or "")
    return before if counted is None and before else _said(int(counted[1]) + 1 if counted else 1, evidence)


def _said(times: int, evidence: str) -> str:
    return f"used together {times}×, last: {evidence}"
