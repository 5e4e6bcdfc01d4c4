"""What a prompt was given and an answer made use of. Shown is not used: only use resets a memory's clock.

A use is counted once for each receipt and memory, however often it is reported, and it never changes trust. What it adds to
a memory's worth is bounded there (`worth.py`), so that what is shown often does not come to be shown always.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memorist.access import Access
from memorist.errors import Invalid, NotFound
from memorist.records import Planned, Record, Report, to_micros
from memorist.remember.changes import Author
from memorist.store.nouns import KeyUse, Receipt
from memorist.store.protocol import Store
from memorist.store.where import Where
from memorist.store.writer import Change, Clean
from memorist.text.twins import used_in
from memorist.text.visible import quoted

LONGEST = 1_000_000  # characters of an answer


def used(receipt: str, answer: str | None, ids: Sequence[str] | None, by: Author) -> Report:
    """Counts a use of those shown memories that are named, or that the answer shows to have been used. `ids` are full ids."""
    by.writer.flush()
    line = receipt_of(receipt, by.access, by.store)
    shown = by.store.get([id for id, _ in line.shown], by.where)
    reasons = _named(ids, shown) if ids is not None else _detected(answer, line, shown)
    with by.writer.transaction():
        changes, left, keys = [], {}, []
        for record in by.store.get(list(reasons), by.where):
            key = use_key(line.id, record.id)
            problem = _not_now(record, by.access, by.store, key)
            if problem:
                left[record.id] = problem
                continue
            changes.append(_use(record, reasons[record.id], by.now()))
            keys.append(KeyUse(key, line.id, record.id, "used", by.now()))
        batch, done = by.writer.commit(changes, by.access, key_uses=keys)
    planned = tuple(Planned(record.id, record.number, reasons[record.id]) for record in done)
    advice = None if reasons else "the answer shows no use of what was recalled; name it with ids= if it was used"
    return Report("used", planned, left, batch or None, advice=advice)


def receipt_of(name: str, who: Access, store: Store) -> Receipt:
    """That line of the recall log, if all that it showed may be read."""
    if not isinstance(name, str):
        raise Invalid(f"a receipt is named by text such as 'r01…', not {quoted(name)}")
    found = store.receipts(who.space, 1, name.strip())
    if not found or len(store.get([id for id, _ in found[0].shown], Where(who))) < len(found[0].shown):
        raise NotFound(f"there is no receipt {quoted(name)} here; contexts and recalls name theirs, and old ones go")
    return found[0]


def use_key(receipt: str, record: str) -> str:
    """Under this key a use is counted once."""
    return f"used {receipt} {record}"


def _named(ids: Sequence[str], shown: Sequence[Record]) -> dict[str, str]:
    by_id = {record.id: record for record in shown}
    for id in ids:
        if id not in by_id:
            numbers = ", ".join(str(record.number) for record in shown) or "none"
            raise Invalid(f"memory {quoted(id)} was not shown under this receipt; it showed {numbers}")
    return dict.fromkeys(ids, "named by the caller")


def _detected(answer: str | None, line: Receipt, shown: Sequence[Record]) -> dict[str, str]:
    if answer is None:
        raise Invalid("give the answer, or the ids of what was used")
    if not isinstance(answer, str) or len(answer) > LONGEST:
        raise Invalid(f"an answer must be text of at most {LONGEST:,} characters, not {quoted(answer)}")
    found = used_in(answer, {record.number: record.text for record in shown}, line.query)
    return {record.id: found[record.number] for record in shown if record.number in found}


def _not_now(record: Record, who: Access, store: Store, key: str) -> str | None:
    if not who.may_write(record.scope):
        return f"this {who.role} access may not write {record.scope}"
    if record.state == "erased":
        return "it is erased"
    return "this use was counted already" if store.key_use(key) else None


def _use(record: Record, because: str, now: datetime) -> Change:
    had = record.counters
    counters = replace(had, used=had.used + 1)
    last = None if record.times.used is None else to_micros(record.times.used)
    after = Clean(replace(record, counters=counters, times=replace(record.times, used=now)))
    before = {"used": had.used, "last_used": last}
    return Change("used", after, before, f"used: {because}", counters, now, row=False)
