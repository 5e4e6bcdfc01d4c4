"""The default store: one SQLite file through apsw, or a database in RAM, with everything a write touches in one transaction.

It rests on three ideas. *Shelves*: each indexed term is qualified with its (space, scope, layer), so a query in a project of a
thousand memories never pays for the million beside it. *The index is derived*: `store/index.py` says which rows a record has;
whenever a record is written, its rows are compared with that and replaced if they differ. *Nothing is read that the access
does not allow*: the readable shelves are determined once from the `Access` and bound into every query.

Reading is in `read.py` (records, links, words) and `scan.py` (by meaning), `vectors.py` stores the vectors, and this module
writes, and reads the tables besides the records: journal, recall log, keys, runs, settings.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import apsw

from memorist.errors import Invalid, Refused, StoreDamaged, StoreTooNew, StoreUnavailable
from memorist.fork import inside
from memorist.lazy import dataclass
from memorist.records import Event, Link, Record, from_micros, to_micros
from memorist.store.files import create_private, names_of, refuse_taken, size_of
from memorist.store.index import CHUNKS, numbered_rows, stated, states, topics_of
from memorist.store.journal import refuse_if_lost
from memorist.store.nouns import (
    COLUMNS,
    COUNTERS,
    LESSONS_AT_MOST,
    RENDERED_AT_MOST,
    ChainLink,
    Commit,
    Counted,
    Diagnosis,
    Erased,
    KeyUse,
    Lesson,
    Receipt,
    Run,
    Sealed,
    Shelf,
    Size,
    counters_of,
    shelf_of,
    tally,
)
from memorist.store.sqlite.connection import (
    SET,
    Connections,
    Shelves,
    can_have_a_log,
    explained,
    misplaced,
    one_moment,
    upsert,
)
from memorist.store.sqlite.migrate import (
    DELETE_TOPICS,
    INSERT_TOPICS,
    SCHEMA,
    bring_topics_up_to_date,
    copy_verified,
    migrate,
    migrations_in,
    version_of,
)
from memorist.store.sqlite.read import SOUND_ROWS, ascending, of_types
from memorist.store.sqlite.scan import VectorCache, VectorMatcher
from memorist.store.sqlite.ties import TieReader
from memorist.store.sqlite.vectors import Move, VectorKeeper
from memorist.store.where import Where, canonical
from memorist.text.visible import visible

UNNAMED = Path(":memory:")  # shown in place of a file name
PAGES_AT_ONCE = 64  # index pages merged in one transaction, which takes a few milliseconds
INSERT = f"INSERT INTO records (shelf, key, checksum, {', '.join(COLUMNS)}) VALUES (?, ?, ?{', ?' * len(COLUMNS)})"
UPDATE = (
    f"UPDATE records SET shelf = ?, key = ?, checksum = ?, {', '.join(f'{name} = ?' for name in COLUMNS)},"
    " rewrites = rewrites + 1 WHERE number = ?"
)
WORD_COLUMNS = "id, shelf, start, end, prepared, length"
INSERT_WORDS = f"INSERT INTO words ({WORD_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
OWN_WORDS = f"FROM words WHERE id >= ?1 * {CHUNKS} AND id < (?1 + 1) * {CHUNKS}"
LINKS_AT_ONCE = 500
EVENT_TYPES = (str, str, str, str, str, str, bytes, bytes)  # verb, id, actor, surface, batch, because, mac, after
MOST_EVENTS = 2**62
RECEIPT = "id, at, space, query, actor, surface, session, ms, shown, empty_because, rendered, home"
LOG = f"INSERT INTO recalls ({RECEIPT}) VALUES (?{', ?' * RECEIPT.count(',')})"
COUNT_ALL = "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM journal), (SELECT count(*) FROM recalls)"
COUNTED = (
    "SELECT (SELECT count(*) FROM records WHERE shelf IN (SELECT value FROM json_each(?1))),"
    " (SELECT count(*) FROM recalls WHERE space = ?2 AND ifnull(actor = ?3, 1)), (SELECT total(c.used)"
    " FROM counters c JOIN records r ON r.number = c.record WHERE r.shelf IN (SELECT value FROM json_each(?1)))"
)
DONE = (  # CROSS: the journal once, then the few records; otherwise it is looked up for every record
    "SELECT j.verb, j.surface, count(*) FROM journal j CROSS JOIN records r ON r.number = j.record"
    " WHERE r.shelf IN (SELECT value FROM json_each(?)) GROUP BY j.verb, j.surface"
)
RUN = "id, space, name, state, owner, lease, at, updated, batch, checkpoint, changed, problem, question"
SAVE_RUN = upsert("jobs", RUN, "id")
COUNT = upsert("counters", f"record, {', '.join(COUNTERS)}, last_used, tally", "record")
USE_KEY = upsert("key_uses", "key, draft, record, outcome, at", "key")  # an erased key may be used again
LEARN = upsert("lessons", "id, space, home, record, question, places, users, others, at", "id")
LEARNT = (
    "SELECT l.id, l.space, l.home, r.id, l.question, l.places, l.users, l.others, l.at FROM lessons l"
    " JOIN records r ON r.number = l.record WHERE l.space = ?1 AND {} ORDER BY l.at, l.id"
)
LINK = upsert("links", "a, b, kind, weight, evidence, tally", "a, b, kind")


@dataclass(frozen=True, slots=True)
class OldRow:
    """What the store holds of a record that is being rewritten."""

    number: int
    shelf: int
    has_vectors: bool  # or at least its shelf has some
    text: str
    title: str | None
    kind: str
    state: str


class SqliteStore(VectorMatcher, VectorKeeper, TieReader):
    """`memorist.store.protocol.Store` over one SQLite file, or in RAM if none is named."""

    def __init__(self, path: Path | None = None, wait: float = 30.0, schema: Path = SCHEMA) -> None:
        self._names: Sequence[Path] = names_of(path) if path else ()
        self._path = path = self._names[0] if path else None  # files beside a store lie beside the real file
        writable = path is None or self._prepare_file(path)
        self._connections = Connections(path, wait, writable)
        self._shelves = Shelves()
        self._sound_shelves = set()
        self._vector_cache = VectorCache()
        self._erased_vectors: list[bytes] = []  # until their bytes were searched for in the file
        try:
            self._open(schema)
        except BaseException:
            self._connections.close()
            raise

    @staticmethod
    def _prepare_file(path: Path) -> bool:
        """Creates a private file if there is none, and says whether the file may be written."""
        shown = visible(str(path)[:300])
        try:
            folder = path.is_dir()
            if not folder:
                refuse_if_lost(path, lambda: size_of(path) == 0)
                create_private(path)
        except OSError as problem:
            raise StoreUnavailable(f"{shown} cannot be created: {problem.strerror}; choose another place") from problem
        except ValueError as problem:
            raise Invalid(f"{shown} cannot be the name of a file; choose another") from problem
        if folder:
            raise Invalid(f"{shown} is a folder; name a file in it, such as {shown}/memory.db")
        return os.access(path, os.W_OK) and can_have_a_log(path)

    def _open(self, schema: Path) -> None:
        path, steps = self._path or UNNAMED, migrations_in(schema)
        self.steps = steps
        with self._connections as one:
            if self._path:
                refuse_if_lost(path, lambda: version_of(one, path, steps) == 0)
            version_of(one, path, steps)
            if self.writable and not self._connections.use_write_ahead_log():
                raise StoreUnavailable(f"{path} lies where SQLite cannot use its write-ahead log; use a local disk")
            migrate(one, path, steps)
            if self.writable:
                bring_topics_up_to_date(one)
            self._connections.accept()

    @staticmethod
    def has_this_schema(path: Path, wait: float) -> bool:
        """Whether that file is a store that opening would not change. Raises if it is merely busy."""
        steps = migrations_in(SCHEMA)
        try:
            with inside, closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as one:
                one.set_busy_timeout(int(wait * 1000))
                return version_of(one, path, steps) == len(steps)
        except (apsw.CorruptError, apsw.NotADBError, StoreDamaged, StoreTooNew):
            return False
        except apsw.Error as problem:
            raise explained(problem) from problem

    @property
    def path(self) -> Path | None:
        return self._path

    @property
    def database(self) -> Path | None:
        """The file that SQLite writes; None in RAM, even if another kind of file backs it."""
        return self._path

    @property
    def writable(self) -> bool:
        return self._connections.writable

    def connect(self) -> apsw.Connection:
        """A new connection of the caller's own."""
        return self._connections.connect()

    # ------------------------------------------------------------ writing

    @contextmanager
    def transaction(self, durable: bool = True, wait: float | None = None) -> Iterator[None]:
        self._shelves.forget_view()
        try:
            with self._connections.transaction(durable, wait):
                yield
        except apsw.Error as problem:
            raise explained(problem) from problem

    def write(self, commit: Commit) -> list[int]:
        with self._connections as one:
            numbers = self._write(one, commit.records)[0] if commit.records else []
            if commit.vectors:
                ready = zip(commit.records, numbers, strict=True)
                firsts = {sealed.record.id: number * CHUNKS for sealed, number in ready}
                for generation, some in commit.vectors.items():
                    rows = {firsts[id] + n: each for id, own in some.items() for n, each in enumerate(own)}
                    self.put_vectors(generation, rows)
            return [*numbers, *self._enter(one, commit)]

    def _write(self, one: apsw.Connection, records: Sequence[Sealed]) -> tuple[list[int], list[bytes]]:
        """The records' numbers, and the vectors that were removed because they no longer belong to anything."""
        known = _known(one, [sealed.record.id for sealed in records if not sealed.new])
        shelves: dict[Shelf, int] = {}
        numbers, rows, topics, moves = [], [], [], []
        for sealed in records:
            shelf = shelf_of(sealed.record)
            if shelf not in shelves:
                shelves[shelf] = self._shelves.id_of(one, shelf)
            old = known.get(sealed.record.id)
            number = _write_row(one, sealed, shelves[shelf], old.number if old else None)
            rows.append((sealed.record, shelves[shelf], number, old is None))
            topics += _changed_topics(one, sealed.record, number, old)
            moves += _moves(old, sealed.record, shelves[shelf])
            numbers.append(number)
        # Separately, with one DELETE and rising: otherwise FTS5 flushes for each record, at five times the cost.
        one.executemany(INSERT_WORDS, changed_words(one, rows))
        if topics:
            one.executemany(INSERT_TOPICS, topics)
        return numbers, self._move(one, moves) if moves else []

    def erase(
        self, tombstones: Sequence[Sealed], resealed: Sequence[Sealed] = (), receipts: Sequence[str] = ()
    ) -> Erased:
        from memorist.store.sqlite.erase import take_out_traces, terms_of

        numbers = list(self._numbers([sealed.record.id for sealed in (*tombstones, *resealed)]).values())
        spaces = {sealed.record.space for sealed in (*tombstones, *resealed)}
        ids, heads = ([sealed.record.id for sealed in some] for some in (tombstones, resealed))
        with self._connections as one:
            words = terms_of(one, numbers)
            _, vectors = self._write(one, [*tombstones, *resealed])
            self._erased_vectors += vectors
            shelves = [id for id, shelf in self._shelves.now(one).seen.shelves.items() if shelf.space in spaces]
            sql = "DELETE FROM recalls WHERE id IN (SELECT value FROM json_each(?))"
            one.execute(sql, (canonical(list(receipts)),))
            return take_out_traces(one, ids, heads, words, shelves)

    # ------------------------------------------------------------ journal, recall log, keys, runs, settings

    def journal(
        self,
        *,
        record: str | None = None,
        batch: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        asked: dict[str, Any] = {"r.id = ?": record, "j.batch = ?": batch, "j.seq < ?": before}
        if batch is not None:  # named after its first event, so nothing earlier is read
            asked["j.seq >= ?"] = int(batch[1:]) if batch[1:].isdecimal() and len(batch) < 19 else MOST_EVENTS
        asked = {part: value for part, value in asked.items() if value is not None}
        rest = f"WHERE {' AND '.join(asked) or '1'} ORDER BY j.seq DESC LIMIT ?"
        events = self._events(rest, [*asked.values(), -1 if limit is None else limit])[::-1]
        return _in_order(events, MOST_EVENTS if before is None else before)

    def _events(self, rest: str, values: Sequence[Any] = ()) -> list[Event]:
        sql = (
            "SELECT j.verb, r.id, j.at, j.actor, j.surface, j.batch, j.because, j.before, j.seq, j.mac, j.after"
            f" FROM journal j JOIN records r ON r.number = j.record {rest}"
        )
        with self._connections as one:
            return [_event(row) for row in one.execute(sql, values)]

    def chain(self) -> Iterator[tuple[ChainLink, list[Event]]]:
        """Reads a few hundred links at a time, because a long open cursor would keep the log from being folded in."""
        last = 0
        sql = "SELECT seq, digest FROM journal WHERE seq > ? AND digest IS NOT NULL ORDER BY seq LIMIT ?"
        while links := ascending(self._rows(sql, (last, LINKS_AT_ONCE)), last):
            events = self._events("WHERE j.seq > ? AND j.seq <= ? ORDER BY j.seq", (last, links[-1][0]))
            for seq, digest in links:
                some = [event for event in events if last < event.seq <= seq]
                yield ChainLink(last + 1, seq, digest), some
                last = seq
        sealed = "(SELECT ifnull(max(seq), 0) FROM journal WHERE digest IS NOT NULL)"
        beyond = self._events(f"WHERE j.seq > {sealed} ORDER BY j.seq")  # in one read, since others may be writing
        if beyond:
            yield ChainLink(last + 1, beyond[-1].seq, b"no digest"), beyond

    def receipts(self, space: str, limit: int, id: str | None = None, session: str | None = None) -> list[Receipt]:
        chosen = {"id": id, "session": session, "space": space}
        values = {name: value for name, value in chosen.items() if value is not None}
        lines = "" if session is None else "INDEXED BY recalls_rendered"  # which are few
        where = " AND ".join([f"{name} = ?" for name in values] + ["rendered IS NOT NULL"] * (session is not None))
        sql = f"SELECT {RECEIPT} FROM recalls {lines} WHERE {where} ORDER BY at DESC, id DESC LIMIT ?"
        with SOUND_ROWS:
            return [_receipt(row) for row in self._rows(sql, (*values.values(), limit))]

    def runs(self, space: str, job: str | None = None, state: str | None = None, limit: int | None = None) -> list[Run]:
        named = "ifnull(name = ?2, 1)" if job is None else "name = ?2"
        # Written out, for its index.
        stands = f"state = '{state}'" if state in ("asks", "running") else "ifnull(state = ?3, 1)"
        sql = f"SELECT {RUN} FROM jobs WHERE space = ?1 AND {named} AND {stands} ORDER BY id DESC LIMIT ?4"
        with SOUND_ROWS:
            return [_run(row) for row in self._rows(sql, (space, job, state, -1 if limit is None else limit))]

    def size(self, where: Where | None = None) -> Size:
        with self._connections as one:
            page = one.execute("PRAGMA page_size").get if self._connections.path else 0
            pages, free = one.execute("PRAGMA page_count").get, one.execute("PRAGMA freelist_count").get
            room = (pages * page, (pages - free) * page)
            if where is None:
                records, events, receipts = one.execute(COUNT_ALL).get
                return Size(records, *room, events, receipts)
            shelves, who = self._readable(where), where.access
            actor = None if who.sees_every_project else who.actor
            records, receipts, used = one.execute(COUNTED, (shelves, who.space, actor)).get
            done = {(verb, surface): count for verb, surface, count in one.execute(DONE, (shelves,))}
        return Size(records, *room, sum(done.values()), receipts, int(used), done)

    def setting(self, name: str) -> str | None:
        with self._connections as one:
            rows = of_types(one.execute("SELECT value FROM settings WHERE name = ?", (name,)), {str})
        return rows[0][0] if rows else None

    def head(self, up_to: int | None = None) -> ChainLink | None:
        sql = "SELECT seq, digest FROM journal WHERE seq <= ? ORDER BY seq DESC LIMIT 1"
        with self._connections as one:
            row = one.execute(sql, (MOST_EVENTS if up_to is None else up_to,)).get
        return ChainLink(row[0], row[0], row[1] or b"") if row else None

    def key_use(self, key: str) -> KeyUse | None:
        with self._connections as one:
            row = one.execute("SELECT draft, record, outcome, at FROM key_uses WHERE key = ?", (key,)).get
        return KeyUse(key, row[0], row[1], row[2], from_micros(row[3])) if row else None

    def lessons(self, space: str, home: str | None = None) -> list[Lesson]:
        sql, values = LEARNT.format("1" if home is None else "l.home = ?2"), (space,) if home is None else (space, home)
        with self._connections as one, one_moment(one):
            kept = self._shelves.now(one).lessons
            if (space, home) not in kept:
                with SOUND_ROWS:
                    kept[space, home] = [_lesson(row) for row in self._rows(sql, values)]
            return list(kept[space, home])

    def log(self, receipts: Sequence[Receipt], most: int, oldest: datetime) -> None:
        counted = self._counted(list(chain.from_iterable(line.ids for line in receipts)))
        lines = [line for line in receipts if counted.keys() >= set(line.ids)]
        shown = Counter(chain.from_iterable(line.ids for line in lines))
        with self._connections as one:
            one.executemany(LOG, map(_line, lines))
            one.execute("DELETE FROM recalls WHERE at < ?", (to_micros(oldest),))
            _keep_newest(one, "recalls", most)
            if any(line.rendered is not None for line in lines):
                _keep_newest(one, "recalls INDEXED BY recalls_rendered WHERE rendered IS NOT NULL", RENDERED_AT_MOST)
            self._count_up(one, [_shown_again(counted[id], n) for id, n in shown.items()])

    def _counted(self, ids: Sequence[str]) -> dict[str, Counted]:
        """The counters of the records that exist and are not erased."""
        sql = f"SELECT r.number, r.id, {', '.join(f'c.{name}' for name in COUNTERS)}, c.last_used FROM records r"
        sql += " LEFT JOIN counters c ON c.record = r.number WHERE r.id IN (SELECT value FROM json_each(?))"
        with self._connections as one:
            rows = one.execute(f"{sql} AND r.state <> 'erased'", (canonical(ids),))
            return {id: Counted(id, *counters_of(number, counted)) for number, id, *counted in rows}

    # ------------------------------------------------------------ what a commit writes beside records

    def _enter(self, one: apsw.Connection, commit: Commit) -> list[int]:
        """Writes everything else in the commit. Returns the ids of the runs."""
        if commit.counted:
            self._count_up(one, commit.counted)
        if commit.links or commit.unlinked:
            self._link(one, commit.links, commit.unlinked)
        uses = [(use.key, use.draft, use.record, use.outcome, to_micros(use.at)) for use in commit.keys]
        if uses:
            one.executemany(USE_KEY, uses)
        if commit.events:
            _append(one, commit.events, commit.digest)
        if commit.settings:
            one.executemany(SET, list(commit.settings.items()))
        if commit.lessons:
            self._learn(one, commit.lessons)
        return [_save_run(one, run) for run in commit.runs]

    def _count_up(self, one: apsw.Connection, counted: Sequence[Counted]) -> None:
        numbers = self._numbers([each.record for each in counted])
        rows = []
        for each in counted:
            c, used = each.counters, None if each.used is None else to_micros(each.used)
            values = (c.up, c.down, c.used, c.surfaced, c.rejected, c.strength, used)
            rows.append((numbers[each.record], *values, tally(numbers[each.record], values)))
        one.executemany(COUNT, rows)

    def _link(self, one: apsw.Connection, links: Sequence[Link], removed: Sequence[Link]) -> None:
        numbers = self._numbers([end for link in (*links, *removed) for end in (link.a, link.b)])
        gone = [(numbers[link.a], link.kind, numbers[link.b]) for link in removed]
        rows = [(numbers[k.a], numbers[k.b], k.kind, float(k.weight), k.evidence) for k in links]
        one.executemany("DELETE FROM links WHERE (a, kind, b) = (?, ?, ?)", gone)
        one.executemany(LINK, [(*row, tally(row[0], row[1:])) for row in rows])

    def _learn(self, one: apsw.Connection, lessons: Sequence[Lesson]) -> None:
        numbers = self._numbers([each.record for each in lessons])
        for k in lessons:
            told = (k.question, canonical(k.places), k.users, k.others, to_micros(k.at))
            one.execute(LEARN, (k.id, k.space, k.home, numbers[k.record], *told))
        beyond = (
            "DELETE FROM lessons WHERE id IN (SELECT id FROM lessons WHERE space = ? AND home = ?"
            " ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)"
        )
        one.executemany(beyond, [(*place, LESSONS_AT_MOST) for place in {(k.space, k.home) for k in lessons}])

    def _numbers(self, ids: Sequence[str]) -> Mapping[str, int]:
        sql = "SELECT id, number FROM records WHERE id IN (SELECT value FROM json_each(?))"
        with self._connections as one:
            return dict(one.execute(sql, (canonical(list(ids)),)))

    # ------------------------------------------------------------ the whole

    def checkup(self, repair: bool = False) -> list[Diagnosis]:
        from memorist.store.sqlite.doctor import checkup

        repaired = self._repaired() if repair else []
        with self._connections as one:
            return [*repaired, *checkup(one, self)]

    def _repaired(self) -> list[Diagnosis]:
        from memorist.store.sqlite.doctor import repair

        with self._connections as one:
            return repair(one, self)

    def scrub(self, traces: Sequence[bytes]) -> str | None:
        from memorist.store.sqlite.erase import INDEX_KEPT, remove_old_index, scrub, vector_traces

        if self._path is None:
            self._erased_vectors = []
            return None
        kept = None if remove_old_index(self._path) else INDEX_KEPT
        with self._connections as one:
            vectors = vector_traces(one, self._erased_vectors)
            if vectors is None:
                self.compact()
            in_the_way = scrub(self._connections, self._path, [*traces, *(vectors or ())])
        if in_the_way is None:
            self._erased_vectors = []
        return in_the_way or kept

    def tidy(self) -> bool:
        """Merges some of the segments of the word index: every transaction adds one, and a query reads all of them. False if
        there was nothing to merge."""
        with self.transaction(durable=False), self._connections as one:
            one.execute("INSERT INTO word_index (word_index, rank) VALUES ('usermerge', 2)")
            before = one.total_changes()
            one.execute("INSERT INTO word_index (word_index, rank) VALUES ('merge', ?)", (PAGES_AT_ONCE,))
            return one.total_changes() - before >= 2  # the sign that FTS5 gives

    def compact(self) -> None:
        from memorist.store.sqlite.erase import compact

        with self._connections:
            compact(self._connections)

    def backup(self, path: Path) -> None:
        if self._path is None:
            raise Refused(
                "there is nothing to copy in RAM; name a file when you open the memory, then it can be copied"
            )
        refuse_taken(path)
        with self._connections as one:
            copy_verified(one, path)

    def close(self) -> None:
        self._connections.close()


def _known(one: apsw.Connection, ids: Sequence[str]) -> Mapping[str, OldRow]:
    if not ids:
        return {}
    sql = (
        "SELECT r.id, r.number, r.shelf, s.vectors, r.text, r.title, r.kind, r.state FROM records r"
        " JOIN shelves s ON s.id = r.shelf WHERE r.id IN (SELECT value FROM json_each(?))"
    )
    return {id: OldRow(*rest) for id, *rest in one.execute(sql, (canonical(list(ids)),))}


def _write_row(one: apsw.Connection, sealed: Sealed, shelf: int, number: int | None) -> int:
    values = (shelf, sealed.key, sealed.checksum, *sealed.row)
    if number is None:
        one.execute(INSERT, values)
        return one.last_insert_rowid()
    one.execute(UPDATE, (*values, number))
    return number


def changed_words(one: apsw.Connection, many: Sequence[tuple[Record, int, int, bool]]) -> list[tuple[Any, ...]]:
    """The index rows to add, in rising order, for records with their shelf, number and whether they are new. Existing rows
    that differ are removed first."""
    added, gone = [], []
    for record, shelf, number, new in many:
        found = numbered_rows(record, number).items()
        rows = [(id, shelf, row.start, row.end, row.prepared, len(row.terms)) for id, row in found]
        old = [] if new else one.execute(f"SELECT {WORD_COLUMNS} {OWN_WORDS} ORDER BY id", (number,)).fetchall()
        if new or old != rows:
            added += rows
            gone += [id for id, *_ in old]
    if gone:
        one.execute("DELETE FROM words WHERE id IN (SELECT value FROM json_each(?))", (canonical(gone),))
    return sorted(added)


def _changed_topics(one: apsw.Connection, record: Record, number: int, old: OldRow | None) -> list[tuple[int, int]]:
    """The topics to add. Those of a former text are removed."""
    if old is not None:
        was, now = (each.state != "erased" and states(each.kind) for each in (old, record))
        if old.text == record.text and was == now:
            return []
        one.executemany(DELETE_TOPICS, [(topic, number) for topic in stated(old.text)])
    return [(topic, number) for topic in topics_of(record)]


def _moves(old: OldRow | None, record: Record, shelf: int) -> list[Move]:
    """What happens to its vectors, if it has any."""
    if old is None or not old.has_vectors:
        return []
    same = record.state != "erased" and (record.text, record.title) == (old.text, old.title)
    if same and shelf == old.shelf:
        return []
    return [Move(old.number, old.shelf, shelf if same else None)]


# ---------------------------------------------------------------- the tables beside the records


def _append(one: apsw.Connection, events: Sequence[Event], digest: bytes) -> None:
    sql = (
        "INSERT INTO journal (seq, at, actor, surface, verb, record, batch, because, before, mac, after, digest)"
        " VALUES (?, ?, ?, ?, ?, (SELECT number FROM records WHERE id = ?), ?, ?, ?, ?, ?, ?)"
    )
    rows = [
        (e.seq, to_micros(e.at), e.actor, e.surface, e.verb, e.record, e.batch, e.because,
         None if e.before is None else canonical(dict(e.before)), e.mac, e.after,
         digest if e is events[-1] else None)
        for e in events
    ]  # fmt: skip
    one.executemany(sql, rows)


def _in_order(events: list[Event], before: int) -> list[Event]:
    """The events, after checking their order: otherwise paging on from the last one might never end."""
    numbers = [*(event.seq for event in events), before]
    if any(one >= next for one, next in pairwise(numbers)):
        raise misplaced("events of the journal are out of order")
    return events


def _save_run(one: apsw.Connection, run: Run) -> int:
    moments = (to_micros(run.lease), to_micros(run.at), to_micros(run.updated))
    question = None if run.question is None else canonical(dict(run.question))
    said = (run.batch, canonical(dict(run.checkpoint)), run.changed, run.problem, question)
    one.execute(SAVE_RUN, (run.id or None, run.space, run.job, run.state, run.owner, *moments, *said))
    return run.id or one.last_insert_rowid()


def _line(receipt: Receipt) -> tuple[Any, ...]:
    """The values of RECEIPT."""
    r, rendered = receipt, None if receipt.rendered is None else canonical(dict(receipt.rendered))
    asked = (r.id, to_micros(r.at), r.space, r.query, r.actor, r.surface, r.session)
    return *asked, r.ms, canonical(r.shown), r.empty_because, rendered, r.home


def _shown_again(counted: Counted, times: int) -> Counted:
    return replace(counted, counters=replace(counted.counters, surfaced=counted.counters.surfaced + times))


def _keep_newest(one: apsw.Connection, lines: str, most: int) -> None:
    """Counts in an index instead of reading the log, because a context writes its entry before it is handed out."""
    over = one.execute(f"SELECT count(*) FROM {lines}").get - most
    if over > 0:
        one.execute(f"DELETE FROM recalls WHERE rowid IN (SELECT rowid FROM {lines} ORDER BY rowid LIMIT ?)", (over,))


def _event(row: Sequence[Any]) -> Event:
    verb, id, at, actor, surface, batch, because, before, seq, mac, after = row
    try:
        moment = from_micros(at)
        if tuple(map(type, (verb, id, actor, surface, batch, because or "", mac, after))) != EVENT_TYPES:
            raise TypeError("a column has another type")  # a flipped bit can do that
    except (OverflowError, TypeError) as problem:
        raise StoreDamaged(
            f"event {seq} of the journal cannot be read ({problem}); it was left as it is. "
            "`memorist backup --restore FILE` brings a backup back"
        ) from problem
    return Event(verb, id, moment, actor, surface, batch, because, _before(before), seq, mac, after)


def _run(row: Sequence[Any]) -> Run:
    id, space, job, state, owner, lease, at, updated, batch, checkpoint, changed, problem, question = row
    moments = (from_micros(lease), from_micros(at), from_micros(updated))
    asked = _before(question)
    return Run(id, space, job, state, owner, *moments, batch, json.loads(checkpoint), changed, problem, asked)


def _before(text: str | None) -> dict[str, Any] | None:
    """The previous values. Spoilt ones are shown as they are; the event's digest reveals that."""
    try:
        found = json.loads(text) if text else None
    except ValueError:
        found = text
    return found if found is None or isinstance(found, dict) else {"unreadable": found}


def _receipt(row: Sequence[Any]) -> Receipt:
    id, at, space, query, actor, surface, session, ms, shown, because, rendered, home = row
    kept, scores = None if rendered is None else json.loads(rendered), tuple(map(tuple, json.loads(shown)))
    return Receipt(id, from_micros(at), space, query, actor, surface, session, ms, scores, because, kept, home)


def _lesson(row: Sequence[Any]) -> Lesson:
    id, space, home, record, question, places, users, others, at = row
    return Lesson(id, space, home, record, question, _places(places), users, others, from_micros(at))


@lru_cache(maxsize=100)  # most lessons of a project come from the same few places
def _places(text: str) -> tuple[tuple[str, str | None], ...]:
    return tuple((scope, home) for scope, home in json.loads(text))
