"""Erasing: a memory and its past texts are removed from every place that holds them, leaving a receipt without content.

In order: one transaction replaces the records by tombstones, empties everything that mentions them, and marks the files as
still to be cleaned; the ids are added to the list beside the store, so that no backup can bring them back even if the store
itself is lost; automatic copies beside the store are rewritten or removed, and so are files that follow it in folders of their
own (`files/follow.py`); finally the files of the store are scrubbed and searched. If this is interrupted, the mark stays, and
the next erasure, or `compact`, does the rest. The report says what could not be reached.

What was derived from a memory is erased with it, in the same transaction, because afterwards no link would lead to it. A
snippet that quotes it is removed, but its finding stays.
"""

import re
from collections import Counter
from collections.abc import Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from memorist.errors import Invalid
from memorist.records import Planned, Record, Report
from memorist.redact import strings_in, texts_of
from memorist.remember import consent
from memorist.remember.authority import Effect, Held, most_of, must_be_as_shown, noted, place_of, reason_to_ask
from memorist.remember.changes import Caller, Twins, same_texts, twins_of
from memorist.remember.turns import MESSAGE, may_tell
from memorist.store import mirrors
from memorist.store.copies import Cleaning, clean_copies, remove_unfinished
from memorist.store.folders import known
from memorist.store.lineage import PHRASE, Lineage
from memorist.store.nouns import Diagnosis, parts
from memorist.store.protocol import Store
from memorist.store.traces import ErasedIds
from memorist.store.where import Order, Where, everywhere
from memorist.store.writer import unscrubbed
from memorist.text.visible import quoted, visible
from memorist.text.words import terms

ERASED_AT_ONCE = 200  # memories in one transaction
TOKEN = re.compile(r"\w{6,}")
NAMED = 5  # twins in a warning
DERIVED = ("erase", "list")
COPIES_WAIT = 5.0  # seconds for a process that has a copy open


def erase(
    ids: Sequence[str], because: str, where: Where, by: Caller, dry_run: bool = False, derived: str = "erase"
) -> Report:
    """Erases those of these memories that still match `where`, with all their past texts and what was derived from them, which
    `derived="list"` only lists. Memories that are already erased or may not be written are left."""
    if derived not in DERIVED:
        raise Invalid(f"there is no way {quoted(derived)} to treat what was derived; ways are {', '.join(DERIVED)}")
    erasure = _Erasure(because, where, by, derived == "list", Lineage(by.store, where.access.space))
    seen, interrupted = by.now(), bool(checked(by.store, where.access.space))
    report = erasure.all(ids, Report("erased", dry_run=dry_run))
    told: list[str] = []
    if erasure.held and not dry_run:
        asked = consent.to_sweep("erase", erasure.held, seen, because, by, derived=derived)
        report = erasure.go_on(report) if asked.approved else replace(report, pending=asked.id)
        told = [] if asked.approved else [asked.because]
    advice = [*told, *erasure.said(), *erasure.same_text()]
    if not dry_run:
        if interrupted:  # our traces do not include what it left behind
            by.store.compact()
        advice += finish(by, because, erasure.traces)
    return replace(report, advice="; ".join(advice) or None)


def finish(
    by: Caller, because: str = "erased", traces: Set[bytes] = frozenset(), cleaned: Sequence[str] | None = None
) -> list[str]:
    """Cleans the files after an erasure, this one or an interrupted one; returns what could not be done. Records that were
    only `cleaned` here are removed from automatic copies altogether: these are for emergencies, and cannot be asked what they
    hold."""
    store = by.store
    mark = store.setting(unscrubbed(by.access.space))
    if not mark:
        return remove_unfinished(store).said
    stones = everywhere(by.access.space).also("state", "eq", "erased")  # even unreadable ones, since ids are no content
    ids = [brief.id for brief in store.briefs(stones)]
    ErasedIds(store.path).add(ids)
    gone = [*ids, *(cleaned or ())]
    cleaning = clean_copies(store, gone, by.access, because, COPIES_WAIT)
    _clean_files(by, gone, traces, cleaning)
    if cleaning.backups and cleaned is None:
        held = ", ".join(cleaning.backups)
        cleaning.said.append(f"backups made before may hold it ({held}); restoring one does not bring it back")
    in_the_way = store.scrub(sorted(traces))
    if in_the_way is None and cleaning.done:
        by.writer.scrubbed(by.access.space, mark)
    return [*cleaning.said, *([in_the_way] if in_the_way else [])]


def _clean_files(by: Caller, ids: Sequence[str], traces: Set[bytes], cleaning: Cleaning) -> None:
    """Removes these from the files in which memories are kept too."""
    filed = [str(each.path) for each in known(by.store, by.access.space)]
    filed += [path for _, path in mirrors.pages(by.store, by.access.space)]
    if filed and by.tools.clean_files is not None:
        by.tools.clean_files(ids, traces, cleaning)
    elif filed:
        shown = ", ".join(map(visible, filed))
        cleaning.not_yet(f"the files in {shown} may hold it, and this program cannot clean them")


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
    only_listed: bool  # what was derived
    lineage: Lineage
    traces: set[bytes] = field(default_factory=set)
    texts: dict[Twins, int] = field(default_factory=dict)  # → the number of one of them
    gone: set[str] = field(default_factory=set)
    unseen: set[str] = field(default_factory=set)  # derived from these, but not readable by this access
    quotes: dict[int, int] = field(default_factory=dict)  # the number of a finding → of what its snippet quotes
    reasons: dict[str, str] = field(default_factory=dict)  # id of what was derived → of what
    telling: int = 0  # messages whose ids may reveal their content
    held: list[str] = field(default_factory=list)  # ids of memories that a person has to agree to

    def all(self, ids: Sequence[str], report: Report) -> Report:
        at_once = nullcontext() if self.by.shown is None else self.by.writer.transaction()
        with at_once:  # what was confirmed goes as a whole
            for some in parts(ids, ERASED_AT_ONCE):
                report = self._step(some, report)
        return report

    def _step(self, ids: Sequence[str], report: Report) -> Report:
        """Erases these and what was derived from them in one transaction, and adds them to the report."""
        who = self.where.access
        with self.by.writer.transaction():
            records, left = self._erasable([id for id in ids if id not in self.gone], self.where)
            whole = self._with_pasts(records)
            found = self.by.store.get(self._derived(whole, left), self.by.where)
            whole += self._with_pasts(found, {record.id for record in whole})
            marks = {} if report.dry_run else self._noted(whole, found, left)
            planned = [Planned(each.id, each.number, self._reason(each)) for each in whole]
            report = replace(report, changed=(*report.changed, *planned), left={**report.left, **left})
            self._note(whole)
            quoting = self._quoting(whole)
            if report.dry_run or not whole:
                return report
            batch, gone = self.by.writer.erase(whole, who, self.because, report.batch, quoting, marks)
        self.traces |= _traces(whole, gone.words) | {question[: 2 * PHRASE].encode() for question in gone.questions}
        return replace(report, batch=batch)

    def _noted(self, whole: list[Record], found: Sequence[Record], left: dict[str, str]) -> dict[str, str]:
        """The record of what this actor has hidden lately, including these. If that is most of a scope, all of them are held.
        The same applies if the derived memories are most of one: links are cheap to make, and nobody named these memories."""
        effects = [Effect("erased", record, replace(record, state="erased")) for record in whole]
        try:
            counts = Counter(place_of(record) for record in found if record.state == "active")
            if self.by.access.origin != "user" and any(
                most_of(place, count, count, self.by) for place, count in counts.items()
            ):
                raise Held("most of a scope was derived from it and would go with it", effects)
            return noted(effects, self.by, self.by.now())
        except Held as problem:
            ids = [record.id for record in whole if record.superseded_by is None]
            left |= dict.fromkeys(ids, str(problem))
            self.held += ids
            whole.clear()
            return {}

    def _with_pasts(self, records: Sequence[Record], more: Set[str] = frozenset()) -> list[Record]:
        """These and their past texts, wherever those lie: they are the same memory."""
        heads = tuple(record.id for record in records)
        of_these = everywhere(self.where.access.space).also("superseded_by", "in", heads)
        pasts = self.by.store.find(of_these, Order("number", ascending=True)) if heads else []
        known = self.gone | set(heads) | more
        return [*records, *(past for past in pasts if past.state != "erased" and past.id not in known)]

    def _reason(self, record: Record) -> str:
        return self.reasons.get(record.id) or self.reasons.get(record.superseded_by or "") or self.because

    def go_on(self, report: Report) -> Report:
        """Erases what was held, after a person agreed."""
        ids, self.held = self.held, []
        self.by = self.by.with_consent()
        self.where = self.by.where
        return self.all(ids, replace(report, left={id: why for id, why in report.left.items() if id not in ids}))

    def _derived(self, sources: Sequence[Record], left: dict[str, str]) -> list[str]:
        """The ids of what was derived from these, step by step; what this access may not erase is added to `left`."""
        found: list[str] = []
        known, edge = self.gone | {record.id for record in sources}, list(sources)
        while edge:
            steps = {id: source.number for id, source in self.lineage.derived(edge) if id not in known}
            self.reasons |= {id: f"derived from memory {number}" for id, number in steps.items()}
            known |= set(steps)
            edge = self._living(list(steps), known)
            known |= {record.id for record in edge}
            mine, kept = self._may_erase([record for record in edge if record.id in steps])
            left |= {id: f"{self.reasons[id]}; {why}" for id, why in kept.items()}
            found += mine
        return found

    def _living(self, ids: Sequence[str], known: Set[str]) -> list[Record]:
        """Those of these that are not erased, in any place, and their past texts."""
        records = self.by.store.get(ids, everywhere(self.where.access.space))
        return self._with_pasts([record for record in records if record.state != "erased"], known)

    def _may_erase(self, records: Sequence[Record]) -> tuple[list[str], dict[str, str]]:
        """The ids that this access may erase, and the reasons for the others; what it may not read is only counted."""
        seen = [record.id for record in records if self.where.access.may_read(record.scope, record.home)]
        self.unseen |= {record.id for record in records}.difference(seen)
        if self.only_listed:
            return [], dict.fromkeys(seen, "only listed")
        mine, left = self._erasable(seen, self.by.where)
        return [record.id for record in mine], left

    def _quoting(self, whole: Sequence[Record]) -> list[Record]:
        """Findings that stay but lose their snippets, which quote one of these."""
        if self.only_listed:
            return []
        sources = {id: source.number for id, source in self.lineage.quoting(whole) if id not in self.gone}
        readable = self.by.store.get(list(sources), self.by.where)
        mine = [each for each in readable if self.by.access.may_write(each.scope, each.home) and not self._held(each)]
        self.quotes |= {record.number: sources[record.id] for record in mine}
        return [record for record in mine if record.state != "erased"]

    def said(self) -> list[str]:
        """Side effects, and what was found but cannot be named."""
        lost = [f"[id:{number}] loses its snippet, which quotes [id:{of}]" for number, of in self.quotes.items()]
        more = f" and {len(lost) - NAMED:,} more" if len(lost) > NAMED else ""
        hidden = f"derived from these and left, because this access may not read them: {len(self.unseen):,} memories"
        telling = (
            f"{self.telling:,} of the messages had an id that may tell what they say, which went too: handed in again, they are "
            "kept again"
        )
        lost = ["; ".join(lost[:NAMED]) + more] if lost else []
        return [*lost, *([hidden] if self.unseen else []), *([telling] if self.telling else [])]

    def _erasable(self, ids: Sequence[str], where: Where) -> tuple[list[Record], dict[str, str]]:
        who, found, left = where.access, [], {}
        for record in self.by.store.get(ids, where):
            if record.state == "erased":
                left[record.id] = "it is erased already"
            elif not who.may_write(record.scope, record.home):
                left[record.id] = f"this {who.role} access may not write {record.scope}"
            elif reason := self._held(record):
                left[record.id] = reason
                self.held.append(record.id)
            else:
                found.append(record)
        must_be_as_shown(found, self.by)
        return found, left

    def _held(self, record: Record) -> str | None:
        """Why a person has to agree before it is erased."""
        effect = Effect("erased", record, replace(record, state="erased"))
        return None if self.by.agreed is not None else reason_to_ask(effect, self.by)

    def _note(self, records: Sequence[Record]) -> None:
        for record in records:
            self.gone.add(record.id)
            self.telling += record.kind == "turn" and may_tell(str(record.data.get(MESSAGE, "")))
            if self.by.tools.kinds[record.kind].deduplicated:
                self.texts.setdefault(twins_of(record), record.number)

    def same_text(self) -> list[str]:
        """Warns about other memories with the same text, which are not erased."""
        who, said = self.where.access, []
        for (scope, home, fingerprint), number in self.texts.items():
            seen = who.may_read(scope, home)
            twins = same_texts(self.by.store, who.space, scope, home, [fingerprint]) if seen else []
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
