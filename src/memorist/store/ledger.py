"""The tables beside the records of an SQLite store: journal, recall log, idempotency keys, settings."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from memorist.errors import StoreDamaged
from memorist.records import Event, from_micros, to_micros
from memorist.store.chain import ChainLink
from memorist.store.connection import Connections, translated
from memorist.store.protocol import KeyUse, Receipt
from memorist.store.where import canonical

LINKS_AT_ONCE = 500


class Ledger:
    """What was changed and what was seen; `SqliteStore` adds what is remembered."""

    _connections: Connections

    @translated
    def journal(self, record: str) -> list[Event]:
        return self._events("WHERE r.id = ? ORDER BY j.seq", (record,))

    @translated
    def _events(self, rest: str, values: Sequence[Any] = ()) -> list[Event]:
        sql = (
            "SELECT j.verb, r.id, j.at, j.actor, j.surface, j.batch, j.because, j.before, j.seq, j.mac, j.after"
            f" FROM journal j JOIN records r ON r.number = j.record {rest}"
        )
        return [_event(row) for row in self._connections.here().execute(sql, values)]

    @translated
    def chain(self) -> Iterator[tuple[ChainLink, list[Event]]]:
        return self._walk_chain()

    def _walk_chain(self) -> Iterator[tuple[ChainLink, list[Event]]]:
        """Short reads of a few hundred links each: a long open cursor would keep the log from being folded in."""
        last = 0
        while links := self._links_after(last):
            events = self._events("WHERE j.seq > ? AND j.seq <= ? ORDER BY j.seq", (last, links[-1][0]))
            for seq, digest in links:
                some = [event for event in events if last < event.seq <= seq]
                yield ChainLink(last + 1, seq, digest), some
                last = seq
        sealed = "(SELECT ifnull(max(seq), 0) FROM journal WHERE digest IS NOT NULL)"
        beyond = self._events(f"WHERE j.seq > {sealed} ORDER BY j.seq")  # in one look: others may be writing
        if beyond:
            yield ChainLink(last + 1, beyond[-1].seq, b"no digest"), beyond

    @translated
    def _links_after(self, last: int) -> list[tuple[int, bytes]]:
        sql = "SELECT seq, digest FROM journal WHERE seq > ? AND digest IS NOT NULL ORDER BY seq LIMIT ?"
        found: list[Any] = self._connections.here().execute(sql, (last, LINKS_AT_ONCE)).fetchall()
        return found

    @translated
    def receipts(self, space: str, limit: int) -> list[Receipt]:
        sql = (
            "SELECT id, at, space, query, actor, surface, session, ms, shown, empty_because FROM recalls"
            " WHERE space = ? ORDER BY at DESC, id DESC LIMIT ?"
        )
        rows: list[Any] = self._connections.here().execute(sql, (space, limit)).fetchall()
        return [
            Receipt(id, from_micros(at), space, query, actor, surface, session, ms, _shown(shown), because)
            for id, at, space, query, actor, surface, session, ms, shown, because in rows
        ]

    @translated
    def setting(self, name: str) -> str | None:
        value: str | None = self._connections.here().execute("SELECT value FROM settings WHERE name = ?", (name,)).get
        return value

    @translated
    def head(self) -> ChainLink | None:
        row = self._connections.here().execute("SELECT seq, digest FROM journal ORDER BY seq DESC LIMIT 1").get
        return ChainLink(row[0], row[0], row[1] or b"") if row else None

    @translated
    def append(self, events: Sequence[Event], link: ChainLink) -> None:
        self._connections.here().executemany(
            "INSERT INTO journal (seq, at, actor, surface, verb, record, batch, because, before, mac, after, digest)"
            " VALUES (?, ?, ?, ?, ?, (SELECT number FROM records WHERE id = ?), ?, ?, ?, ?, ?, ?)",
            [
                (e.seq, to_micros(e.at), e.actor, e.surface, e.verb, e.record, e.batch, e.because,
                 None if e.before is None else canonical(dict(e.before)), e.mac, e.after,
                 link.digest if e.seq == link.last else None)
                for e in events
            ],
        )  # fmt: skip

    @translated
    def key_use(self, key: str) -> KeyUse | None:
        row = (
            self._connections.here()
            .execute("SELECT draft, record, outcome, at FROM key_uses WHERE key = ?", (key,))
            .get
        )
        return KeyUse(key, row[0], row[1], row[2], from_micros(row[3])) if row else None

    @translated
    def write_key_uses(self, uses: Sequence[KeyUse]) -> None:
        rows = [(use.key, use.draft, use.record, use.outcome, to_micros(use.at)) for use in uses]
        self._connections.here().executemany("INSERT INTO key_uses VALUES (?, ?, ?, ?, ?)", rows)

    @translated
    def log(self, receipts: Sequence[Receipt], most: int, oldest: datetime) -> None:
        one = self._connections.here()
        one.executemany(
            "INSERT INTO recalls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (r.id, to_micros(r.at), r.space, r.query, r.actor, r.surface, r.session, r.ms, canonical(r.shown), r.empty_because)
                for r in receipts
            ],
        )  # fmt: skip
        one.execute("DELETE FROM recalls WHERE at < ?", (to_micros(oldest),))
        one.execute(
            "DELETE FROM recalls WHERE rowid <= (SELECT rowid FROM recalls ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
            (most,),
        )

    @translated
    def set_setting(self, name: str, value: str) -> None:
        sql = "INSERT INTO settings VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
        self._connections.here().execute(sql, (name, value))


def _event(row: Sequence[Any]) -> Event:
    verb, id, at, actor, surface, batch, because, before, seq, mac, after = row
    try:
        moment = from_micros(at)
    except OverflowError as problem:
        raise StoreDamaged(f"event {seq} of the journal cannot be read ({problem}); restore a backup") from problem
    return Event(verb, id, moment, actor, surface, batch, because, _before(before), seq, mac, after)


def _before(text: str | None) -> dict[str, Any] | None:
    """What was there before. What somebody spoilt is shown as it is, and the event's digest tells."""
    try:
        found = json.loads(text) if text else None
    except ValueError:
        found = text
    return found if found is None or isinstance(found, dict) else {"unreadable": found}


def _shown(text: str) -> tuple[tuple[str, float], ...]:
    return tuple((id, score) for id, score in json.loads(text))
