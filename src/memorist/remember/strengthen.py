"""Relates memories that are used together: a relation between two memories that one answer needed is created, or strengthened.

Only *use* counts, never being shown: otherwise memories would be related for being shown, and shown for being related. A
relation grows by a share of what is left and never becomes quite certain; how it loosens with time is computed on reading
(`scoring.bond`).

Nobody can climb by it. Only vouched-for memories are related, by the user and by agents, but not by a tool, a page or a file:
its texts would be related to trusted ones by being shown beside them. A relation that a person made keeps its evidence.
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
from memorist.scoring import vouched_for
from memorist.store.nouns import Receipt, Tie
from memorist.store.where import everywhere
from memorist.text.patterns import regex

FIRST_USE = 0.3  # the weight of a relation after one use together
GROWTH = 0.2  # the share of what is left to STRONGEST, with every further one
STRONGEST = 0.9  # a person may set more
TIED_AT_ONCE = 6  # memories of one answer that are related to each other
TIED_AT_MOST = 60  # relations of a memory; with so many, use adds no more
TOGETHER = regex(r"used together (\d{1,6})×", re.ASCII)


@dataclass(frozen=True, slots=True)
class UsedTogether:
    """Memories that were just useful for the query of a receipt, and the batch in which that was noted."""

    receipt: str
    ids: tuple[str, ...]
    batch: str | None = None


def credit(receipt: str, ids: Sequence[str], by: Caller, batch: str | None = None) -> int:
    """Relates what was just found useful for the query of a receipt (at most TIED_AT_ONCE) to each other and to what was found
    earlier, as far as the caller may and they may be related: `used` names several at once, `feedback` one after the other. →
    how many relations were created or grew"""
    line = receipt_of(receipt, by.access, by.store)
    fresh = list(dict.fromkeys(ids))[:TIED_AT_ONCE]
    before = [id for id in _of_use(line, by) if id not in ids][:TIED_AT_ONCE]
    pairs = [*combinations(fresh, 2), *((old, new) for old in before for new in fresh)]
    return _tie(pairs, f"receipt {line.id}", by, batch)


def _of_use(line: Receipt, by: Caller) -> list[str]:
    """What was used under the receipt, or found useful for its query since."""
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
    """Those that may be related, by id."""
    records = by.store.get(list(dict.fromkeys(chain.from_iterable(pairs))), by.where)
    return {record.id: record for record in records if _may_be_tied(record, by)}


def _may_be_tied(record: Record, by: Caller) -> bool:
    """Whether it is an active, vouched-for memory that may be written; turns are connected to their neighbours anyway."""
    is_memory = record.state == "active" and by.tools.kinds[record.kind].layer == MEMORY
    return is_memory and vouched_for(record) and by.access.may_write(record.scope, record.home)


def _grow(a: Record, b: Record, ties: Sequence[Tie], evidence: str, changes: Changes) -> None:
    """Creates or strengthens the relation of the two, in either direction."""
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
    """The evidence for one more use; what a person gave as evidence stays."""
    counted = TOGETHER.match(before or "")
    return before if counted is None and before else _said(int(counted[1]) + 1 if counted else 1, evidence)


def _said(times: int, evidence: str) -> str:
    return f"used together {times}×, last: {evidence}"
