"""MEMORY.md, both ways: a page that shows what is remembered, and whose edits come back through the gate.

For each memory, three things are compared: its lines on the page, its text in the store, and how both looked the last
time (`store/mirrors.py`). A change on one side goes to the other. If both changed, their lines are merged; if that
fails, the person's text stays on the page, the store keeps its own, a question waits in `review`, and a copy beside the
page, `MEMORY.conflict-….md`, has both.

The page belongs to whoever writes it: lines that a person wrote are never changed, unless the memory that they became
was changed or forgotten since. An edit has the origin `file`, because nobody can tell who had the editor open; a person
who adopts what `memorist sync` shows makes it their own word. So an edit of a more trusted source's words is a
proposal, and until it is decided the page and the store differ. To remove a line is to forget its memory, by the same
rule; a page that is missing or empty is written again, and forgets nothing. All edits of one sync are one batch: what
an undo took back does not come in again, and a line that the undo left without a memory stays where it is.

A crash loses nothing, because every step can be repeated without effect: edits are stored first, then the page is
replaced, in the transaction that records how both look now. The next comparison finds any step that did not happen.
"""

import time
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from memorist.errors import Conflict, MemoristError, Refused
from memorist.files import page as pages
from memorist.files import whole
from memorist.files.conflict import keep_copy, key_of
from memorist.files.merge import merged
from memorist.files.page import Edits, Passage, Sheet, item_of, says_the_same, without_marks
from memorist.files.pairs import RETRY, paired
from memorist.kinds import MEMORY
from memorist.memory import Memory
from memorist.noun import Noun
from memorist.records import Draft, Outcome, Record, Report, counted
from memorist.remember.authority import RANK
from memorist.remember.changes import UNDONE
from memorist.remember.consent import FULL
from memorist.remember.undo import UNDID
from memorist.store import mirrors
from memorist.store.mirrors import Counterpart, Mirror
from memorist.store.nouns import parts
from memorist.text.visible import is_blank

MEMORY_MD = "MEMORY.md"
TRIES, PAUSE = 20, 0.02  # to find a moment in which nobody else writes the page; seconds between two tries
MOST_SHOWN = 1000  # the newest memories that a new page considers: more would not fit
MOST_EVENTS = 5000  # of the journal, since the page was last compared
FETCHED_AT_ONCE = 200
EDITED = "edited in its file"
REMOVED = "removed from its file"
# Why a memory and its lines may differ, apart from a question that waits.
LEFT, FOLDED = "left", "folded"
Verdict = Literal["keep", "edit", "rewrite", "remove", "restore", "fresh", "merge", "conflict", "declined"]
TAKES_IN: tuple[Verdict, ...] = ("edit", "restore", "fresh", "merge", "conflict", "declined")


@dataclass(frozen=True, slots=True)
class Limits:
    """The size of a page, in characters, beyond which the oldest lines of agents leave it. What people wrote stays."""

    total: int = 50_000
    section: int = 10_000
    sections: int = 20


@dataclass(frozen=True, slots=True, repr=False)
class Edit(Noun):
    """One thing that a person did to a page; `unconfirmed` for a line that nobody has vouched for since it was written."""

    verb: Literal["added", "revised", "removed", "restored", "unconfirmed"]
    text: str
    before: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Synced(Noun):
    """What a page and the store got from each other."""

    path: str
    edits: tuple[Edit, ...] = ()  # that came in, or would in a dry run
    written: tuple[str, ...] = ()  # ids of memories whose lines are new, changed or gone on the page
    folded: tuple[str, ...] = ()  # those that left a full page, and are in the store
    proposals: tuple[str, ...] = ()  # questions that wait in `review`
    conflicts: tuple[str, ...] = ()  # copies with both sides of a conflict
    problems: tuple[str, ...] = ()
    batch: str | None = None  # of all edits that came in, for `undo`
    size: int = 0  # characters of the page
    limit: int = 0
    changed: bool = False  # whether the file was written
    dry_run: bool = False
    seen: str = field(default="", repr=False)  # the digest of the page that was read

    def _line(self) -> str:
        parts = [
            counted(len(some), what)
            for what, some in (
                ("edit{}", self.edits), ("line{} written", self.written), ("proposal{}", self.proposals),
                ("conflict{}", self.conflicts), ("problem{}", self.problems),
            )
            if some
        ]  # fmt: skip
        batch = f", batch {self.batch}" if self.batch else ""
        return f"{self.path}: {', '.join(parts) or 'nothing to do'}{batch}"


def sync(
    memory: Memory,
    path: str | Path,
    *,
    scope: str | None = None,
    edits: bool = True,
    adopt: Synced | None = None,
    dry_run: bool = False,
    limits: Limits | None = None,
) -> Synced:
    """Brings a page and the memories of a scope together; the scope is the project without one.

    edits: whether what people changed on the page comes back; without it the page only follows the store
    adopt: the dry run whose edits the user has seen and makes their own word; it takes an access of origin "user"
    """
    given = Path(path).expanduser()
    place = memory.access.must_write(scope or memory.home, memory.access.home_of(scope or memory.home))
    file = whole.real_file(given, memory.project.root)
    door = _door(memory, adopt)
    with memory._writer.one_batch(door.access) as batch:
        for _ in range(TRIES):
            done = _Sync(memory, door, str(place), file, edits, adopt, limits or Limits()).run(dry_run)
            if done is not None:
                return replace(done, batch=batch.name)
            time.sleep(PAUSE)
    raise Conflict(f"{file} is written again and again by others; sync it when they are done")


def _door(memory: Memory, adopt: Synced | None) -> Memory:
    if adopt is None:
        return memory.through(replace(memory.access, origin="file", surface="file"))
    if memory.access.origin != "user":
        raise Refused(f"only the user adopts edits as their word; this access is the {memory.access.origin}'s")
    return memory


@dataclass(slots=True)
class _Sync:
    """One comparison of a page with the store."""

    memory: Memory
    door: Memory
    scope: str
    file: Path
    takes_edits: bool
    adopt: Synced | None
    limits: Limits
    raw: bytes | None = None
    known: Mirror | None = None  # as the store has it
    base: Mirror = field(default_factory=Mirror)  # the state that this page is compared with
    page: Sheet = field(default_factory=lambda: pages.parse(""))
    passages: list[Passage] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    places: dict[str, Passage] = field(default_factory=dict)  # of memories that had lines before
    records: dict[str, Record] = field(default_factory=dict)
    waiting: Set[str] = frozenset()  # questions
    dry_run: bool = False
    rows: dict[str, Counterpart] = field(default_factory=dict)  # of the page as it will be, by id
    lost: list[tuple[Passage, Record]] = field(default_factory=list)  # for the copy with what both sides said
    told: list[Edit] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    folded: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    size: dict[str, int] = field(default_factory=dict)  # of each section

    def run(self, dry_run: bool) -> Synced | None:
        """The result; None if others changed the page or its record meanwhile."""
        self.dry_run, store = dry_run, self.memory._tools.store
        head = store.head()
        event = head.last if head else 0
        self.known = mirrors.mirror_of(store, self.memory.space, self.scope, str(self.file))
        self.base = self.known or Mirror()
        text = self._read()
        seen = self._digest(text)
        if self.adopt is not None and self.adopt.seen != seen:
            raise Conflict(f"{self.file} was changed since it was shown; look at it again")
        if self._is_as_it_was(seen, event):
            self.rows = {row.id: row for row in self.base.rows}
            return self._synced(text, seen)
        self._look()
        edits = Edits(self.page)
        self._compare(edits)
        return self._synced(text, seen) if dry_run else self._finish(edits, text, seen, event)

    def _is_as_it_was(self, seen: str, event: int) -> bool:
        """Whether neither side has changed, and no question was decided."""
        asked = {row.state for row in self.base.rows if row.state[:1] == "q"}
        self.waiting = _questions(self.memory) if asked else set()
        same = (self.base.digest, self.base.event) == (seen, event) and asked <= self.waiting
        return same and bool(self.raw) and not self._shows_all

    def _finish(self, edits: Edits, text: str, seen: str, event: int) -> Synced | None:
        self._write_out(edits)
        copies = self._keep_lost()
        after = edits.done(self.memory._tools.clock(), self.limits.sections) if edits or not self.raw else text
        rows = tuple(self.rows.values())
        if not self._commit(after, Mirror(event, self._digest(after), rows)):
            return None
        self._withdraw()
        return replace(self._synced(after, seen), conflicts=copies, changed=after.encode() != (self.raw or b""))

    @property
    def _shows_all(self) -> bool:
        """Whether to look also at what waits for the user's word."""
        return self.adopt is not None or self.dry_run

    def _synced(self, text: str, seen: str) -> Synced:
        asked = tuple(row.state for row in self.rows.values() if row.state[:1] == "q")
        return Synced(
            str(self.file), tuple(self.told), tuple(self.written), tuple(self.folded), asked,
            problems=tuple(self.problems), size=len(text), limit=self.limits.total, dry_run=self.dry_run, seen=seen,
        )  # fmt: skip

    # ------------------------------------------------------------ reading

    def _read(self) -> str:
        """The page, or a new one: a missing or empty page says nothing, so it forgets nothing."""
        raw = whole.read(self.file)
        text = "" if raw is None else whole.text_of(raw, self.file)
        self.raw = raw
        if not is_blank(text):
            self.page = pages.parse(text)
            begun = self.page.conflict_markers()
            if begun is not None:
                raise Conflict(
                    f"{self.file}:{begun} holds the marks of an unfinished merge; resolve it, then sync again"
                )
            return text
        self.base = replace(self.base, event=0, rows=tuple(row for row in self.base.rows if row.state == FOLDED))
        text = pages.new_page(self.file.stem, self.memory.access.actor, self.memory._tools.clock())
        self.page = pages.parse(text)
        return text

    def _look(self) -> None:
        """Collects the passages of the page, and the memories named by them and by the last comparison."""
        self.passages = [each for each in self.page.entries() if not each.says_nothing]
        self.keys = [self._key(*each.lines) for each in self.passages]
        self.size = self.page.sizes()
        marks = [each.mark for each in self.passages if each.mark]
        self._fetch([*(row.id for row in self.base.rows if row.id), *marks])

    def _fetch(self, ids: Iterable[str]) -> None:
        caller = self.memory._caller
        wanted = [id for id in dict.fromkeys(ids) if id not in self.records]
        home = self.memory.access.home_of(self.scope)
        for some in parts(wanted, FETCHED_AT_ONCE):
            found = caller.store.get(some, caller.where)
            self.records |= {each.id: each for each in found if (each.scope, each.home) == (self.scope, home)}

    def _digest(self, text: str) -> str:
        return self.memory._writer.digest(f"page {text}")

    def _key(self, *lines: str) -> str:
        return key_of(lines, self.memory._writer)

    def _seen(self, record: Record) -> str:
        """The text of a memory, as the last comparison recorded it."""
        return self._digest(record.text)[:24]

    # ------------------------------------------------------------ comparing

    def _compare(self, edits: Edits) -> None:
        found = paired(self.passages, self.keys, self.base.rows, self.records)
        self.rows |= {row.page: row for row in found.seen}
        self.places = {id: self.passages[place] for place, id in found.ids.items()}
        fresh = [*found.fresh, *self._settle_all(found.ids, edits)]
        if self.takes_edits:
            self._take(sorted(fresh))
        there = {*found.ids.values(), *self.rows}
        self._let_go([row for row in self.base.rows if row.id in self.records and row.id not in there], edits)
        if self._shows_all:
            self._vouch()

    def _settle_all(self, ids: Mapping[int, str], edits: Edits) -> list[int]:
        """Settles the passages that became separate memories."""
        known, fresh = {row.id: row for row in self.base.rows}, []
        for place, id in sorted(ids.items()):
            row = known.get(id)
            verdict = self._verdict(self.passages[place], self.keys[place], row, self.records[id])
            if verdict == "fresh":
                fresh.append(place)
            else:
                self._settle(verdict, place, row, self.records[id], edits)
        return fresh

    def _verdict(self, passage: Passage, key: str, row: Counterpart | None, record: Record) -> Verdict:
        found = self._judged(passage, key, row, record)
        return "keep" if found in TAKES_IN and not self.takes_edits else found

    def _judged(self, passage: Passage, key: str, row: Counterpart | None, record: Record) -> Verdict:
        if record.state != "active":
            return self._of_inactive(passage, key, row, record)
        if says_the_same(passage, record):
            return "keep"
        if row is None:
            return "rewrite" if self._said_before(passage, record) else "edit"
        ours = self._seen(record) != row.store
        if key != row.page:
            return "merge" if ours else "edit"
        return self._of_unsettled(row, ours) if row.state else self._of_changed(record) if ours else "keep"

    def _of_changed(self, record: Record) -> Verdict:
        """A line whose memory has a new text. An edit of the line that was taken back is treated like one that was
        denied."""
        told = [event for event in self.memory.history(record.id) if {"text", "superseded"} & {*(event.before or ())}]
        undid = told[-1].because if told and told[-1].verb == UNDONE else None
        edits = {UNDID + event.batch for event in told if (event.because or "").startswith(EDITED)}
        return "declined" if undid in edits else "rewrite"

    def _of_inactive(self, passage: Passage, key: str, row: Counterpart | None, record: Record) -> Verdict:
        """A line whose memory is forgotten, replaced or erased. If a person changed or brought back the line, it counts
        as said again. A line that a person wrote and whose import was undone stays theirs: it is no memory, and does
        not come in again."""
        if record.state == "erased":
            return "remove"
        if row is None:
            return "restore" if record.state == "archived" else "remove"
        if key != row.page:
            return "fresh"
        stays = row.state == LEFT or row.state in self.waiting or (record.reason == UNDONE and passage.mark is None)
        return "keep" if stays else "remove"

    def _of_unsettled(self, row: Counterpart, ours: bool) -> Verdict:
        """A line that differs from its memory for a known reason."""
        if row.state == LEFT:
            return "conflict" if ours else "keep"
        if row.state in (RETRY, FOLDED):
            return "edit"
        if ours:
            return "conflict"
        if row.state in self.waiting:
            return "edit" if self._shows_all else "keep"
        return "declined"

    def _said_before(self, passage: Passage, record: Record) -> bool:
        """Whether the line is an earlier text of the memory: then we wrote it, and a crash kept us from recording that."""
        past = self.memory.list({"superseded_by": record.id, "state": "superseded"}, limit=FETCHED_AT_ONCE)
        return any(says_the_same(passage, replace(record, text=each.text)) for each in past)

    def _settle(self, verdict: Verdict, place: int, row: Counterpart | None, record: Record, edits: Edits) -> None:
        passage, key, id = self.passages[place], self.keys[place], record.id
        if verdict == "keep":
            self.rows[id] = Counterpart(id, key, self._seen(record), self._kept_state(passage, key, row, record))
        elif verdict == "remove":
            # A sync that was killed may have forgotten a memory whose line a person removed and has since put back.
            back = (record.state, record.reason) == ("archived", REMOVED) and passage.mark != id
            self.lost += [(passage, record)] if back else []
            edits.remove(passage.block)
            self.written.append(id)
        elif verdict == "restore":
            self._restore(place, record)
        elif verdict in ("rewrite", "declined"):
            self.lost += [(passage, record)] if verdict == "declined" else []
            self._rewrite(passage, record, edits)
        else:
            self._merge(passage, key, row, record, edits, verdict)

    def _kept_state(self, passage: Passage, key: str, row: Counterpart | None, record: Record) -> str:
        if record.state == "active" and says_the_same(passage, record):
            return ""
        if row is not None and key == row.page:
            return row.state
        return "" if self.takes_edits else LEFT

    def _merge(
        self, passage: Passage, key: str, row: Counterpart | None, record: Record, edits: Edits, verdict: Verdict
    ) -> None:
        """Takes in an edit; if the store's text was changed too, merges both, or keeps both in a copy."""
        if verdict == "merge" and row is not None and not row.state:
            ours = without_marks(item_of(record, passage))
            joined = merged(row.page.split(" "), ours, passage.lines, self._key)
            if joined:
                mark = f"{joined[0]} <!-- m:{record.id[1:]} -->"
                edits.put(passage.block, [mark, *joined[1:]])
                self.written.append(record.id)
                passage = replace(passage, lines=tuple(joined), text=pages.said(joined, "item"))
                return self._edit(passage, self._key(*joined), record)
        if verdict in ("merge", "conflict"):
            self.lost.append((passage, record))
        self._edit(passage, key, record)

    def _rewrite(self, passage: Passage, record: Record, edits: Edits) -> None:
        lines = item_of(record, passage)
        edits.put(passage.block, lines)
        self.rows[record.id] = self._row_of(lines, record)
        self.written.append(record.id)

    def _row_of(self, lines: Sequence[str], record: Record) -> Counterpart:
        return Counterpart(record.id, self._key(*without_marks(lines)), self._seen(record))

    # ------------------------------------------------------------ what comes in

    def _edit(self, passage: Passage, key: str, record: Record) -> None:
        text, labels = pages.said_in(passage, record), pages.labels_beside(passage, record)
        self.told.append(Edit("revised", passage.text if labels else text, record.text, record.id))
        if self.dry_run:
            return
        state, now = LEFT, record
        try:
            outcome = self.door.revise(record.id, text, **labels, expected_version=record.version, because=EDITED)
            state, now = _state(outcome), outcome.record or record
        except MemoristError as problem:
            self._problem(passage, problem)
        self.rows[record.id] = Counterpart(record.id, key, self._seen(now), state)

    def _restore(self, place: int, record: Record) -> None:
        """Handles a line that a person brought back."""
        passage, state = self.passages[place], LEFT
        self.told.append(Edit("restored", record.text, None, record.id))
        if self.dry_run:
            return
        try:
            state = _state(self.door.restore(record.id, because="back in its file"))
            self._refresh([record.id])
        except MemoristError as problem:
            self._problem(passage, problem)
        now = self.records[record.id]
        if now.state == "active" and not says_the_same(passage, now):
            return self._edit(passage, self.keys[place], now)
        self.rows[record.id] = Counterpart(record.id, self.keys[place], self._seen(now), state)

    def _take(self, places: Sequence[int]) -> None:
        drafts = [self.passages[place].draft(self.scope) for place in places]
        self.told += [Edit("added", self._shown_as(place, draft)) for place, draft in zip(places, drafts, strict=True)]
        if self.dry_run:
            return
        for place, outcome in zip(places, self._remember(drafts, places), strict=True):
            self._taken_in(place, outcome)

    def _shown_as(self, place: int, draft: Draft) -> str:
        """The text with the labels that were read: whoever adopts it vouches for its kind and its tags too."""
        labels = self.passages[place].labelled
        return self.passages[place].text if labels.category or labels.behind else draft.text

    def _taken_in(self, place: int, outcome: Outcome | None) -> None:
        record, key = None if outcome is None else outcome.record, self.keys[place]
        if record is None:  # it waits for a person, or was refused
            self.rows[key] = Counterpart("", key, "", LEFT if outcome is None else _state(outcome))
            return
        if record.id in self.rows:
            return self._join(self.passages[place], self.records[record.id])
        self.records[record.id] = record
        if record.state == "archived" and record.reason == REMOVED:
            self._restore(place, record)
        else:
            state = "" if record.state == "active" else LEFT
            self.rows[record.id] = Counterpart(record.id, key, self._seen(record), state)

    def _join(self, passage: Passage, record: Record) -> None:
        """A second line with the same statement: the memory gets its tags too, if it is this surface's own word."""
        tags = pages.labels_beside(passage, record).get("tags")
        if tags and record.state == "active" and record.origin == self.door.access.origin:
            try:
                done = self.door.revise(record.id, tags=tags, expected_version=record.version, because=EDITED)
                self.records[record.id] = done.record or record
            except MemoristError as problem:
                self._problem(passage, problem)

    def _remember(self, drafts: Sequence[Draft], places: Sequence[int]) -> list[Outcome | None]:
        """Remembers each line by itself: one bad line does not stop the others."""
        if not drafts:
            return []
        try:
            return [*self.door.remember_many(drafts)]
        except MemoristError:
            return [self._remember_one(draft, place) for draft, place in zip(drafts, places, strict=True)]

    def _remember_one(self, draft: Draft, place: int) -> Outcome | None:
        try:
            return self.door.remember_many([draft])[0]
        except MemoristError as problem:
            self._problem(self.passages[place], problem)
            return None

    def _problem(self, passage: Passage, problem: MemoristError) -> None:
        self.problems.append(f"{self.file}:{passage.block.start + 1}: {problem}")

    def _vouch(self) -> None:
        """Confirms lines that came in before and that nobody has confirmed yet."""
        fresh = {edit.id for edit in self.told}
        for record in [self.records[id] for id, row in self.rows.items() if row.page and id in self.records]:
            if record.status == "candidate" and record.state == "active" and record.id not in fresh:
                self.told.append(Edit("unconfirmed", record.text, None, record.id))
                if not self.dry_run:
                    self._remember([Draft(record.text, record.kind, record.scope, at=record.times.at)], [0])
                    self._refresh([record.id])

    # ------------------------------------------------------------ what is gone from the page

    def _let_go(self, rows: Sequence[Counterpart], edits: Edits) -> None:
        """Handles memories that had lines at the last comparison and have none now."""
        forgotten: list[str] = []
        for row in rows:
            record = self.records[row.id]
            fate = self._fate(row, record)
            if fate == "forget":
                forgotten.append(row.id)
                self.told.append(Edit("removed", record.text, None, row.id))
            elif fate == "back":
                self._add(record, edits)
            elif fate == "keep":
                self.rows[row.id] = row
        if forgotten and not self.dry_run:
            self._forget(forgotten)

    def _fate(self, row: Counterpart, record: Record) -> Literal["forget", "back", "keep", "drop"]:
        if record.state != "active":
            return "drop"
        changed = self._seen(record) != row.store
        if row.state == FOLDED or not self.takes_edits:
            return "drop" if row.page else "back" if changed else "keep"
        if row.state in self.waiting:
            return "forget" if self._shows_all else "keep"
        return "back" if changed or self._declined(row) else "forget"

    def _declined(self, row: Counterpart) -> bool:
        """Whether a person decided that a memory stays although its line was removed."""
        return not row.page and row.state != RETRY

    def _forget(self, ids: Sequence[str]) -> None:
        for some in parts(ids, FETCHED_AT_ONCE):
            where = {"id": {"$in": list(some)}, "state": "active"}
            report = self.door.forget(where=where, because=REMOVED)
            done = {each.id for each in report.changed}
            for id in some:
                if id not in done:
                    state = report.pending or (RETRY if report.advice and FULL in report.advice else LEFT)
                    self.rows[id] = Counterpart(id, "", self._seen(self.records[id]), state)
            self.problems += [] if report.pending or len(done) == len(some) else [_why(report)]

    def _refresh(self, ids: Sequence[str]) -> None:
        for id in ids:
            self.records.pop(id, None)
        self._fetch(ids)

    # ------------------------------------------------------------ what goes out

    def _write_out(self, edits: Edits) -> None:
        """Writes memories that the page does not have yet."""
        taken = {row.page for row in self.rows.values()}
        left = [each for place, each in enumerate(self.passages) if self.keys[place] not in taken]
        loose = {text for each in left for text in (each.text, each.labelled.text)}
        new = [record for record in self._newer() if record.id not in self.rows and record.text not in loose]
        for record in new:
            self._add(record, edits)
        self._fold(edits)

    def _newer(self) -> list[Record]:
        """Memories of the scope that were written or changed since the last time, oldest first. Memories that nobody
        vouches for are left out, because the page goes into prompts."""
        found = self._since() if self.base.event else self._newest()
        return sorted(filter(self._shown, found), key=lambda record: record.number)

    def _newest(self) -> list[Record]:
        where = {"scope": self.scope, "status": "confirmed", "kind": {"$in": self._kinds()}}
        found = self.memory.list(where, order="number", limit=MOST_SHOWN)
        self.records |= {record.id: record for record in found}
        return found

    def _since(self) -> list[Record]:
        events = self.memory.log(after=self.base.event, limit=MOST_EVENTS)
        ids = list(dict.fromkeys(event.record for event in events))
        self._refresh([id for id in ids if id not in self.rows])
        return [self.records[id] for id in ids if id in self.records]

    def _kinds(self) -> list[str]:
        kinds = self.memory._tools.kinds
        return [name for name, kind in kinds.items() if kind.layer == MEMORY and kind.recalled]

    def _shown(self, record: Record) -> bool:
        kind, home = self.memory._tools.kinds[record.kind], self.memory.access.home_of(self.scope)
        here = record.scope == self.scope and record.home == home and record.state == "active"
        of_a_file = "hash" in record.data and "line" in record.data  # items extracted from a source carry these fields
        told = kind.layer == MEMORY and kind.recalled and not of_a_file
        return here and told and (record.status == "confirmed" or self._is_back(record))

    def _is_back(self, record: Record) -> bool:
        """Whether it came from a page, and the removal of its line was undone."""
        events = self.memory.history(record.id) if record.origin == "file" else []
        gone = [event.because or "" for event in events if event.verb == "forgotten"]
        return bool(gone) and gone[-1].startswith(REMOVED)

    def _add(self, record: Record, edits: Edits) -> None:
        lines, section = item_of(record), pages.section_for(record)
        edits.add(section, lines)
        self.rows[record.id] = self._row_of(lines, record)
        self.written.append(record.id)

    # ------------------------------------------------------------ limits

    def _fold(self, edits: Edits) -> None:
        """Lets lines leave a full page: the oldest summaries first, then the least recently used. It takes only lines
        that no person wrote, and never the newest. They stay in the store, and are recalled."""
        sizes = self._sizes(edits)
        for section, record in self._foldable():
            size = self._length(item_of(record))
            if sum(sizes.values()) <= self.limits.total and sizes.get(section, 0) <= self.limits.section:
                continue
            sizes[section] = sizes.get(section, 0) - size
            self._take_out(record, self.places.get(record.id), section, edits)

    def _length(self, lines: Iterable[str]) -> int:
        return sum(len(line) + len(self.page.newline) for line in lines)

    def _sizes(self, edits: Edits) -> dict[str, int]:
        sizes = {title.casefold(): 0 for title in self.size}
        for title, size in self.size.items():
            sizes[title.casefold()] += size
        for section, lines in edits.added.items():
            sizes[section.casefold()] = sizes.get(section.casefold(), 0) + self._length(lines)
        return sizes

    def _foldable(self) -> list[tuple[str, Record]]:
        shown = (self.records.get(row.id) for row in self.rows.values() if row.page and not row.state)
        mine = sorted((each for each in shown if each and _is_agents(each)), key=lambda each: each.number)
        return [(self._section(each), each) for each in sorted(mine[:-1], key=_first_to_go) if not each.pinned]

    def _section(self, record: Record) -> str:
        passage = self.places.get(record.id)
        return (pages.section_for(record) if passage is None else passage.section).casefold()

    def _take_out(self, record: Record, passage: Passage | None, section: str, edits: Edits) -> None:
        lines = item_of(record)
        if passage is not None:
            edits.remove(passage.block)
        else:
            for title, added in edits.added.items():
                if title.casefold() == section:
                    pages.take_out(added, lines)
        edits.added = {title: added for title, added in edits.added.items() if added}
        self.rows[record.id] = Counterpart(record.id, "", self._seen(record), FOLDED)
        self.folded.append(record.id)

    # ------------------------------------------------------------ the files

    def _keep_lost(self) -> tuple[str, ...]:
        """Writes a copy with both sides, where the page can have only one of them."""
        if not self.lost:
            return ()
        lines = [f"# What {self.file.name} and the store say differently", ""]
        for passage, record in self.lost:
            ours = [line.text for line in self.page.lines[passage.block.start : passage.block.stop]]
            lines += [f"## {self.file.name}", "", *ours, "", "## The store", "", *item_of(record), ""]
        text = "\n".join(lines)
        return (str(keep_copy(self.file, text, f"{self.memory._tools.clock():%Y%m%dT%H%M%SZ}")),)

    def _commit(self, after: str, mirror: Mirror) -> bool:
        store, space = self.memory._tools.store, self.memory.space
        with self.memory._writer.transaction():
            if mirrors.mirror_of(store, space, self.scope, str(self.file)) != self.known:
                return False  # another process compared meanwhile
            content = after.encode()
            if content != self.raw and not whole.put(self.file, content, self.raw):
                return False
            if mirror != self.known:
                mirrors.keep(store, space, self.scope, str(self.file), mirror)
        return True

    def _withdraw(self) -> None:
        """Withdraws questions about what a line said before."""
        asked = {row.state for row in self.rows.values()}
        for row in self.base.rows:
            if row.state in self.waiting and row.state not in asked:
                with suppress(MemoristError):  # it was decided meanwhile
                    self.door.review(row.state, decide="deny")


def _is_agents(record: Record) -> bool:
    return RANK[record.origin] == RANK["agent"]


def _first_to_go(record: Record) -> tuple[bool, datetime]:
    return record.kind != "summary", record.times.used or record.times.at


def _state(outcome: Outcome) -> str:
    if outcome.outcome == "needs_consent":
        return outcome.pending or LEFT
    return RETRY if outcome.because == FULL else LEFT if outcome.outcome == "refused" else ""


def _why(report: Report) -> str:
    return report.advice or "; ".join(dict.fromkeys(report.left.values()))


def _questions(memory: Memory) -> Set[str]:
    found = memory.review()
    return {str(getattr(each, "id", "")) for each in found} if isinstance(found, list) else set()
