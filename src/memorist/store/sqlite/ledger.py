"""The tables beside the records of an SQLite store: journal, recall log, counters, links, keys, runs, settings, and their sizes."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw

from memorist.errors import StoreDamaged
from memorist.records import Event, Link, from_micros, to_micros
from memorist.store.journal import ChainLink
from memorist.store.nouns import RENDERED_AT_MOST, Commit, Counted, KeyUse, Receipt, Run, Size
from memorist.store.rows import COUNTERS, counters_of, tally
from memorist.store.sqlite.connection import Connections
from memorist.store.where import canonical

LINKS_AT_ONCE = 500
EVENT_TYPES = (str, str, str, str, str, str, bytes, bytes)  # verb, id, actor, surface, batch, because, mac, after
MOST_EVENTS = 2**62
RECEIPT = "id, at, space, query, actor, surface, session, ms, shown, empty_because, rendered"
USES = (
    "SELECT total(c.used) FROM counters c JOIN records r ON r.number = c.record JOIN shelves s ON s.id = r.shelf"
    " WHERE s.space = ?"
)
DONE = (  # CROSS: the journal once, and then the few records; the other way round it is looked up for every record
    "SELECT j.verb, j.surface, count(*) FROM journal j CROSS JOIN records r ON r.number = j.record"
    " CROSS JOIN shelves s ON s.id = r.shelf WHERE s.space = ? GROUP BY j.verb, j.surface"
)
RUN = "id, space, name, state, owner, lease, at, updated, batch, checkpoint, changed, problem, question"
SAVE_RUN = f"INSERT INTO jobs ({RUN}) VALUES (?{', ?' * RUN.count(',')}) ON CONFLICT (id) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in RUN.split(", ")[1:]
)
COUNT = (
    f"INSERT INTO counters (record, {', '.join(COUNTERS)}, last_used, tally) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (record) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in (*COUNTERS, "last_used", "tally"))
)
LINK = (
    "INSERT INTO links (a, b, kind, weight, evidence, tally) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET weight = excluded.weight, evidence = excluded.evidence, tally = excluded.tally"
)
SET = "INSERT INTO settings VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"


class Ledger:
    """What was changed and what was seen; `SqliteStore` adds what is remembered."""

    _connections: Connections

    def journal(
        self,
        *,
        record: str | None = None,
        batch: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        asked: dict[str, Any] = {"r.id = ?": record, "j.batch = ?": batch, "j.seq < ?": before}
        if batch is not None:  # it bears the number of its first event, so nothing before that is looked at
            asked["j.seq >= ?"] = int(batch[1:]) if batch[1:].isdecimal() and len(batch) < 19 else MOST_EVENTS
        asked = {part: value for part, value in asked.items() if value is not None}
        rest = f"WHERE {' AND '.join(asked) or '1'} ORDER BY j.seq DESC LIMIT ?"
        return self._events(rest, [*asked.values(), -1 if limit is None else limit])[::-1]

    def _events(self, rest: str, values: Sequence[Any] = ()) -> list[Event]:
        sql = (
            "SELECT j.verb, r.id, j.at, j.actor, j.surface, j.batch, j.because, j.before, j.seq, j.mac, j.after"
            f" FROM journal j JOIN records r ON r.number = j.record {rest}"
        )
        with self._connections as one:
            return [_event(row) for row in one.execute(sql, values)]

    def chain(self) -> Iterator[tuple[ChainLink, list[Event]]]:
        """Short reads of a few hundred links each: a long open cursor would keep the log from being folded in."""
        last = 0
        sql = "SELECT seq, digest FROM journal WHERE seq > ? AND digest IS NOT NULL ORDER BY seq LIMIT ?"
        while links := self._lines(sql, (last, LINKS_AT_ONCE)):
            events = self._events("WHERE j.seq > ? AND j.seq <= ? ORDER BY j.seq", (last, links[-1][0]))
            for seq, digest in links:
                some = [event for event in events if last < event.seq <= seq]
                yield ChainLink(last + 1, seq, digest), some
                last = seq
        sealed = "(SELECT ifnull(max(seq), 0) FROM journal WHERE digest IS NOT NULL)"
        beyond = self._events(f"WHERE j.seq > {sealed} ORDER BY j.seq")  # in one look: others may be writing
        if beyond:
            yield ChainLink(last + 1, beyond[-1].seq, b"no digest"), beyond

    def _lines(self, sql: str, values: Sequence[Any]) -> list[Any]:
        with self._connections as one:
            return one.execute(sql, values).fetchall()

    def receipts(self, space: str, limit: int, id: str | None = None) -> list[Receipt]:
        chosen = "" if id is None else "id = ? AND "
        sql = f"SELECT {RECEIPT} FROM recalls WHERE {chosen}space = ? ORDER BY at DESC, id DESC LIMIT ?"
        values = (space, limit) if id is None else (id, space, limit)
        return [_receipt(row) for row in self._lines(sql, values)]

    def runs(self, space: str, job: str | None = None, state: str | None = None, limit: int | None = None) -> list[Run]:
        asks = "state = 'asks'" if state == "asks" else "ifnull(state = ?3, 1)"  # written out, for its index
        sql = f"SELECT {RUN} FROM jobs WHERE space = ?1 AND ifnull(name = ?2, 1) AND {asks} ORDER BY id DESC LIMIT ?4"
        return [_run(row) for row in self._lines(sql, (space, job, state, -1 if limit is None else limit))]

    def size(self, space: str | None = None) -> Size:
        counts = "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM journal), (SELECT count(*) FROM recalls)"
        with self._connections as one:
            page = one.execute("PRAGMA page_size").get if self._connections.path else 0
            pages, free = one.execute("PRAGMA page_count").get, one.execute("PRAGMA freelist_count").get
            records, events, receipts = one.execute(counts).get
            used, done = (one.execute(USES, (space,)).get, one.execute(DONE, (space,))) if space else (0, ())
            told = {(verb, surface): count for verb, surface, count in done}
        return Size(records, pages * page, (pages - free) * page, events, receipts, int(used), told)

    def setting(self, name: str) -> str | None:
        with self._connections as one:
            value: str | None = one.execute("SELECT value FROM settings WHERE name = ?", (name,)).get
        return value

    def head(self) -> ChainLink | None:
        with self._connections as one:
            row = one.execute("SELECT seq, digest FROM journal ORDER BY seq DESC LIMIT 1").get
        return ChainLink(row[0], row[0], row[1] or b"") if row else None

    def key_use(self, key: str) -> KeyUse | None:
        with self._connections as one:
            row = one.execute("SELECT draft, record, outcome, at FROM key_uses WHERE key = ?", (key,)).get
        return KeyUse(key, row[0], row[1], row[2], from_micros(row[3])) if row else None

    def log(self, receipts: Sequence[Receipt], most: int, oldest: datetime) -> None:
        counted = self._counted([id for line in receipts for id, _ in line.shown])
        lines = [line for line in receipts if counted.keys() >= {id for id, _ in line.shown}]
        rows = [
            (r.id, to_micros(r.at), r.space, r.query, r.actor, r.surface, r.session, r.ms, canonical(r.shown),
             r.empty_because, None if r.rendered is None else canonical(dict(r.rendered)))
            for r in lines
        ]  # fmt: skip
        shown = Counter(id for line in lines for id, _ in line.shown)
        with self._connections as one:
            one.executemany(f"INSERT INTO recalls ({RECEIPT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            one.execute("DELETE FROM recalls WHERE at < ?", (to_micros(oldest),))
            _keep_newest(one, "recalls", most)
            if any(line.rendered is not None for line in lines):
                _keep_newest(one, "recalls INDEXED BY recalls_rendered WHERE rendered IS NOT NULL", RENDERED_AT_MOST)
            self._count_up(one, [_shown_again(counted[id], n) for id, n in shown.items()])

    def _counted(self, ids: Sequence[str]) -> dict[str, Counted]:
        """The counters of those records that exist and are not erased."""
        sql = f"SELECT r.number, r.id, {', '.join(f'c.{name}' for name in COUNTERS)}, c.last_used FROM records r"
        sql += " LEFT JOIN counters c ON c.record = r.number WHERE r.id IN (SELECT value FROM json_each(?))"
        with self._connections as one:
            rows = one.execute(f"{sql} AND r.state <> 'erased'", (canonical(ids),))
            return {id: Counted(id, *counters_of(number, counted)) for number, id, *counted in rows}

    # ------------------------------------------------------------ what a commit writes beside records

    def _enter(self, one: apsw.Connection, commit: Commit) -> list[int]:
        """The ids of the runs."""
        if commit.counted:
            self._count_up(one, commit.counted)
        if commit.links or commit.unlinked:
            self._link(one, commit.links, commit.unlinked)
        uses = [(use.key, use.draft, use.record, use.outcome, to_micros(use.at)) for use in commit.keys]
        if uses:
            one.executemany("INSERT INTO key_uses VALUES (?, ?, ?, ?, ?)", uses)
        if commit.events:
            _append(one, commit.events, commit.digest)
        if commit.settings:
            one.executemany(SET, list(commit.settings.items()))
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

    def _numbers(self, ids: Sequence[str]) -> Mapping[str, int]:
        sql = "SELECT id, number FROM records WHERE id IN (SELECT value FROM json_each(?))"
        with self._connections as one:
            return {id: found for id, found in one.execute(sql, (canonical(list(ids)),))}


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


def _save_run(one: apsw.Connection, run: Run) -> int:
    moments = (to_micros(run.lease), to_micros(run.at), to_micros(run.updated))
    question = None if run.question is None else canonical(dict(run.question))
    said = (run.batch, canonical(dict(run.checkpoint)), run.changed, run.problem, question)
    one.execute(SAVE_RUN, (run.id or None, run.space, run.job, run.state, run.owner, *moments, *said))
    return run.id or one.last_insert_rowid()


def _shown_again(counted: Counted, times: int) -> Counted:
    return replace(counted, counters=replace(counted.counters, surfaced=counted.counters.surfaced + times))


def _keep_newest(one: apsw.Connection, lines: str, most: int) -> None:
    """Counted in an index, because a context leaves its line before it is handed out: the log is not read through."""
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
    """What was there before. What somebody spoilt is shown as it is, and the event's digest tells."""
    try:
        found = json.loads(text) if text else None
    except ValueError:
        found = text
    return found if found is None or isinstance(found, dict) else {"unreadable": found}


def _receipt(row: Sequence[Any]) -> Receipt:
    id, at, space, query, actor, surface, session, ms, shown, because, rendered = row
    kept = None if rendered is None else json.loads(rendered)
    return Receipt(id, from_micros(at), space, query, actor, surface, session, ms, _shown(shown), because, kept)


def _shown(text: str) -> tuple[tuple[str, float], ...]:
    return tuple((id, score) for id, score in json.loads(text))
