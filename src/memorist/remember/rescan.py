"""Applies the present rules for secrets to what was stored before they existed.

Revising would not do, since it keeps the old text. So each memory that holds a secret gets its cleaned text under a new key,
and its former state is erased like any past text (`erase.py`): from the journal, the recall log, waiting questions, the index
and the pages of the file. A tombstone stands for that past text and names the events that were emptied, so that an audit can
tell this from tampering.

It acts on behalf of the store's owner, as upkeep does, and examines the whole space; it reports only what the access may read.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memorist.records import Link, Planned, Record, Report
from memorist.redact import strings_in, texts_of
from memorist.remember.changes import Caller
from memorist.remember.erase import checked, finish
from memorist.store.journal import newest_first
from memorist.store.nouns import Receipt, Run, parts
from memorist.store.where import Where, everywhere
from memorist.store.writer import RECEIPTS_AT_MOST

AT_ONCE = 100  # memories in one transaction
READ_AT_ONCE = 500
BECAUSE = "it held a secret"
RESTORE = "a backup made before holds the secrets still: rescan again after restoring one"


def rescan(by: Caller, dry_run: bool = False) -> Report:
    """Replaces every stored secret; a dry run reports which memories hold one, and which rules found it."""
    by.writer.flush()
    interrupted = bool(checked(by.store, by.access.space))
    search = _Search(by)
    held = search.memories()
    told = [id for id in held if id in search.readable]
    planned = tuple(Planned(id, search.readable[id], f"holds {', '.join(sorted(held[id]))}") for id in told)
    report = Report("rescanned", planned, dry_run=dry_run)
    if dry_run:
        return report
    batch = search.replace(sorted(held))
    search.tell_others()
    if interrupted:  # our traces do not include what it left behind
        by.store.compact()
    elif not held and not search.secrets:
        return report
    said = finish(by, BECAUSE, search.traces(), sorted(held))
    return replace(report, batch=batch, advice="; ".join([*said, RESTORE]))


@dataclass(slots=True)
class _Search:
    """The secrets and what was found along with them."""

    by: Caller
    secrets: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)  # that no memory holds any more
    readable: dict[str, int] = field(default_factory=dict)  # number of each memory that may be reported

    def memories(self) -> dict[str, set[str]]:
        """The memories that hold a secret, or whose journal or links do, each with the rules that found it."""
        held: dict[str, set[str]] = {}
        where, living = everywhere(self.by.access.space), set[str]()
        for record in self._get([brief.id for brief in self.by.store.briefs(where)], where):
            living |= set() if record.state == "erased" else {record.id}
            self._note(held, record.id, texts_of(record))
        for link in self._links(sorted(living)):
            self._note(held, link.a, [link.evidence or ""])
        for event in newest_first(self.by.store):
            self._note(held, event.record, strings_in([event.because, event.before]))
        self.readable = {record.id: record.number for record in self._get(sorted(held), Where(self.by.access))}
        return {id: types for id, types in held.items() if id in living}

    def _get(self, ids: Sequence[str], where: Where) -> Iterator[Record]:
        return (record for some in parts(ids, READ_AT_ONCE) for record in self.by.store.get(some, where))

    def _note(self, held: dict[str, set[str]], id: str, texts: Iterable[str]) -> None:
        for type, secret in self.by.writer.secrets_in(texts):
            held.setdefault(id, set()).add(type)
            self.secrets.add(secret)

    def replace(self, ids: Sequence[str]) -> str | None:
        """Replaces the texts by cleaned ones."""
        batch: str | None = None
        for some in parts(ids, AT_ONCE):
            with self.by.writer.transaction():
                records = self.by.store.get(some, everywhere(self.by.access.space))
                links = self._links([record.id for record in records])
                batch, gone = self.by.writer.replace_secrets(records, links, self.by.access, BECAUSE, batch)
            self.words |= gone.words
        return batch

    def _links(self, ids: Sequence[str]) -> list[Link]:
        where = everywhere(self.by.access.space)
        found = (link for some in parts(ids, READ_AT_ONCE) for link in self.by.store.links(where, some))
        return [link for link in dict.fromkeys(found) if link.evidence and self._holds([link.evidence])]

    def tell_others(self) -> None:
        """Rewrites waiting questions, and the queries of lessons, without the secret; removes recall log entries that hold
        one."""
        store, space = self.by.store, self.by.access.space
        for run in store.runs(space):
            if run.question is not None and self._holds(_strings(run)):
                self.by.writer.save_run(run)
        lines = [line.id for line in store.receipts(space, RECEIPTS_AT_MOST) if self._holds(_strings(line))]
        taught = [lesson for lesson in store.lessons(space) if self._holds([lesson.question])]
        self.by.writer.save_lessons(taught)
        if lines or taught:
            self.by.writer.drop_receipts(lines, space)

    def _holds(self, texts: Iterable[str]) -> bool:
        found = self.by.writer.secrets_in(texts)
        self.secrets |= {secret for _, secret in found}
        return bool(found)

    def traces(self) -> set[bytes]:
        """What to search the files for: the secrets, literally and as in JSON, and the words that went with them."""
        spelled = {json.dumps(secret, ensure_ascii=plain)[1:-1] for secret in self.secrets for plain in (True, False)}
        return {trace.encode("utf-8", "surrogatepass") for trace in self.secrets | spelled | self.words}


def _strings(told: Receipt | Run) -> list[str]:
    content: Mapping[str, Any] | None = told.rendered if isinstance(told, Receipt) else told.question
    return [told.query if isinstance(told, Receipt) else "", *strings_in(content or {})]
