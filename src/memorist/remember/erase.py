"""Erasing: a memory and its past texts, removed from every place that holds them, with a receipt that has no content.

In order: one transaction replaces the records by tombstones, empties everything that mentions them, and marks the files as
still to be cleaned; the ids go to the list beside the store, so that no backup can bring them back even if the store itself
is lost; automatic copies beside the store are rewritten or removed; finally the files are scrubbed and searched. If this is
interrupted, the mark stays, and the next erasure, or `compact`, does the rest. The report says what could not be reached.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from memorist.records import Planned, Record, Report
from memorist.redact import strings_in, texts_of
from memorist.remember.changes import Caller, same_texts
from memorist.store.copies import clean_copies, remove_unfinished
from memorist.store.nouns import Diagnosis
from memorist.store.protocol import Store
from memorist.store.traces import ErasedIds
from memorist.store.where import Order, Where, everywhere
from memorist.store.writer import unscrubbed
from memorist.text.words import terms

ERASED_AT_ONCE = 200  # memories in one transaction
TOKEN = re.compile(r"\w{6,}")
PHRASE = 24  # characters: long enough that no other text is likely to begin with them
NAMED = 5  # twins
COPIES_WAIT = 5.0  # seconds for a process that has a copy open


def erase(ids: Sequence[str], because: str, where: Where, by: Caller, dry_run: bool = False) -> Report:
    """Erases those of these memories that still match `where`, with all their past texts. Memories that are erased already
    or may not be written are left."""
    erasure = _Erasure(because, where, by)
    interrupted = bool(checked(by.store, where.access.space))
    report = Report("erased", dry_run=dry_run)
    for start in range(0, len(ids), ERASED_AT_ONCE):
        report = erasure.step(ids[start : start + ERASED_AT_ONCE], report)
    advice = erasure.same_text()
    if not dry_run:
        if interrupted:  # our traces do not include what it left behind
            by.store.compact()
        advice += finish(by, because, erasure.traces)
    return replace(report, advice="; ".join(advice) or None)


def finish(by: Caller, because: str = "erased", traces: Set[bytes] = frozenset()) -> list[str]:
    """Cleans the files after an erasure, this one or an interrupted one; returns what could not be done."""
    store = by.store
    mark = store.setting(unscrubbed(by.access.space))
    if not mark:
        return remove_unfinished(store).said
    gone = everywhere(by.access.space).also("state", "eq", "erased")  # also unreadable ones: ids are no content
    ids = [brief.id for brief in store.briefs(gone)]
    ErasedIds(store.path).add(ids)
    cleaning = clean_copies(store, ids, by.access, because, COPIES_WAIT)
    in_the_way = store.scrub(sorted(traces))
    if in_the_way is None and cleaning.done:
        by.writer.scrubbed(by.access.space, mark)
    return [*cleaning.said, *([in_the_way] if in_the_way else [])]


def checked(store: Store, space: str) -> list[Diagnosis]:
    """For the doctor: whether an erasure was interrupted before the files were cleaned."""
    if not store.setting(unscrubbed(space)):
        return []
    return [Diagnosis(False, "erasures", "one was interrupted before its traces were wiped", "run `memorist compact`")]


@dataclass(slots=True)
class _Erasure:
    """What one call erases, and the traces to search for afterwards."""

    because: str
    where: Where
    by: Caller
    traces: set[bytes] = field(default_factory=set)
    texts: dict[tuple[str, str], int] = field(default_factory=dict)  # (scope, fingerprint) → the number of one of them
    gone: set[str] = field(default_factory=set)

    def step(self, ids: Sequence[str], report: Report) -> Report:
        """Erases these in one transaction and adds them to the report."""
        who = self.where.access
        with self.by.writer.transaction():
            records, left = self._erasable([id for id in ids if id not in self.gone])
            heads = tuple(record.id for record in records)
            of_these = everywhere(who.space).also("superseded_by", "in", heads)  # wherever they lie: the same memory
            pasts = self.by.store.find(of_these, Order("number", ascending=True))
            known = self.gone | {record.id for record in records}
            whole = [*records, *(past for past in pasts if past.state != "erased" and past.id not in known)]
            planned = tuple(Planned(record.id, record.number, self.because) for record in whole)
            report = replace(report, changed=(*report.changed, *planned), left={**report.left, **left})
            self._note(whole)
            if report.dry_run or not whole:
                return report
            gone = self.by.writer.erase(whole, who, self.because, report.batch)
        self.traces |= _traces(whole, gone.words)
        return replace(report, batch=gone.batch)

    def _erasable(self, ids: Sequence[str]) -> tuple[list[Record], dict[str, str]]:
        who, found, left = self.where.access, [], {}
        for record in self.by.store.get(ids, self.where):
            if record.state == "erased":
                left[record.id] = "it is erased already"
            elif not who.may_write(record.scope):
                left[record.id] = f"this {who.role} access may not write {record.scope}"
            else:
                found.append(record)
        return found, left

    def _note(self, records: Sequence[Record]) -> None:
        for record in records:
            self.gone.add(record.id)
            if self.by.tools.kinds[record.kind].deduplicated:
                self.texts.setdefault((record.scope, record.fingerprint), record.number)

    def same_text(self) -> list[str]:
        """Warns about other memories with the same text, which are not erased."""
        who, said = self.where.access, []
        for (scope, fingerprint), number in self.texts.items():
            twins = same_texts(self.by.store, who.space, scope, [fingerprint]) if who.may_read(scope) else []
            others = [f"[id:{twin.number}]" for twin in twins if twin.id not in self.gone]
            if others:
                more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
                shown = ", ".join(others[:NAMED]) + more
                said.append(f"{shown} in {scope} had the same text as [id:{number}] and were not erased")
        return said


def _traces(records: Sequence[Record], words: Set[str]) -> set[bytes]:
    """What to search the files for: words that nothing else holds, as indexed and as written. Texts without such a word, and
    data, which is not indexed, are searched for by their beginning."""
    found = set(words)
    for record in records:
        tokens = {token for text in texts_of(record) for token in TOKEN.findall(text)}
        lonely = {token for token in tokens if words >= set(terms(token))}
        texts = [*strings_in(record.data), *([] if lonely else [record.text])]
        found |= lonely | {text[: 2 * PHRASE] for text in texts if len(text) >= PHRASE}
    return {trace.encode() for trace in found}
