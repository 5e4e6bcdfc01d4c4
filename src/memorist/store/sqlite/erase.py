"""Erasing in an SQLite file: from every table, from the pages, and from the log.

A DELETE by itself erases nothing: old bytes stay in free pages, in the write-ahead log, and in the gaps that moved rows leave
behind. So three things are done. Content is overwritten in place (`secure_delete`, also inside FTS5); the log is folded in and
truncated; and then the file is *read*, through SQLite's own file layer, and searched for what must be gone. Only if something
is found is the whole file rewritten.
"""

import itertools
import json
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

import apsw

from memorist.errors import StoreUnavailable
from memorist.records import from_micros
from memorist.store.files import pause
from memorist.store.index import CHUNKS
from memorist.store.nouns import ERASED_MESSAGE, MESSAGE_KEPT, Erased, KeyUse
from memorist.store.sqlite.connection import Connections
from memorist.store.traces import SHORTEST, finder, tells
from memorist.store.where import canonical
from memorist.text.words import terms

READ_AT_ONCE = 1 << 22  # bytes
TRACE = 16  # bytes of a vector
MANY_VECTORS = 500  # beyond that, rewriting the file is cheaper than searching it
STILL_READ = (
    "another process still reads an older state of the store, and the log keeps it; run `memorist compact` later"
)
INDEX_KEPT = (
    "an index of vectors that version 0.1.0 made (the folder .ann beside the store) could not be removed; remove it, then run "
    "`memorist compact`"
)


def terms_of(one: apsw.Connection, numbers: Sequence[int]) -> set[str]:
    """The words under which these records are indexed."""
    sql = f"SELECT prepared FROM words WHERE id >= ?1 * {CHUNKS} AND id < (?1 + 1) * {CHUNKS}"
    rows = itertools.chain.from_iterable(one.execute(sql, (number,)) for number in numbers)
    return {term for (prepared,) in rows for term in prepared.split(" ")[1:]}


def take_out_traces(
    one: apsw.Connection, ids: Sequence[str], heads: Sequence[str], words: Collection[str], shelves: Sequence[int]
) -> Erased:
    """Removes what refers to these records from every table except `records` and `words`, where they are tombstones already."""
    names = canonical(list(ids))
    numbers = "SELECT number FROM records WHERE id IN (SELECT value FROM json_each(?1))"
    one.execute(f"DELETE FROM counters WHERE record IN ({numbers})", (names,))
    one.execute(f"DELETE FROM links WHERE a IN ({numbers}) OR b IN ({numbers})", (names,))
    empty = "UPDATE journal SET before = NULL, because = NULL WHERE"
    one.execute(f"{empty} record IN ({numbers})", (names,))
    used = "WHERE record IN (SELECT value FROM json_each(?))"
    one.execute(
        f"UPDATE key_uses SET draft = '', outcome = '{ERASED_MESSAGE}' {used} AND outcome = '{MESSAGE_KEPT}'", (names,)
    )
    # Any other may quote the text, and could be used to verify guesses.
    one.execute(f"DELETE FROM key_uses {used} AND outcome <> '{ERASED_MESSAGE}'", (names,))
    one.execute("DELETE FROM key_uses WHERE outcome = 'erased'")  # kept by version 0.1.0
    one.execute(f"UPDATE key_uses SET draft = '' {used}", (canonical(list(heads)),))
    events = _events_about(one, names, canonical(list(heads)))
    one.execute(f"{empty} seq IN (SELECT value FROM json_each(?))", (canonical(events),))
    gone = frozenset(word for word in words if not _is_held(one, word, shelves))
    _drop_receipts(one, set(ids), set(heads), gone)
    _withdraw_questions(one, set(ids), gone)
    return Erased(tuple(events), gone, _unlearn(one, set(ids), gone))


def erased_messages(one: apsw.Connection, secret: str | None) -> list[KeyUse]:
    """The keys of messages whose turns were erased in this store; none if it has another secret, since its keys would mean
    nothing."""
    if one.execute("SELECT value FROM settings WHERE name = 'secret'").get != secret:
        return []
    rows = one.execute("SELECT key, draft, record, outcome, at FROM key_uses WHERE outcome = ?", (ERASED_MESSAGE,))
    return [KeyUse(key, draft, record, outcome, from_micros(at)) for key, draft, record, outcome, at in rows]


def _events_about(one: apsw.Connection, names: str, heads: str) -> list[int]:
    """Events of other records that mention one of these: events about a link, whose evidence may quote it, and all events of
    the memories whose past texts are erased."""
    among = "IN (SELECT value FROM json_each(?1))"
    sql = (
        f"SELECT seq FROM journal WHERE json_valid(before) AND before ->> 'other' {among}"
        f" AND record NOT IN (SELECT number FROM records WHERE id {among}) UNION SELECT seq FROM journal"
        " WHERE record IN (SELECT number FROM records WHERE id IN (SELECT value FROM json_each(?2))) ORDER BY seq"
    )
    return [seq for (seq,) in one.execute(sql, (names, heads))]


def _is_held(one: apsw.Connection, word: str, shelves: Sequence[int]) -> bool:
    sql = "SELECT 1 FROM word_frequency WHERE term = ?"
    return any(one.execute(sql, (f"{shelf}·{word}",)).get for shelf in shelves)


def _drop_receipts(one: apsw.Connection, ids: set[str], heads: set[str], words: Collection[str]) -> None:
    """Removes recall log entries whose answer showed one of these or whose query contains a word that only these held; and
    rendered texts that showed a memory whose past text is among these, since it may have been that text."""
    lines = one.execute("SELECT id, query, shown, rendered IS NOT NULL FROM recalls").fetchall()
    bad = [
        id
        for id, query, shown, text in lines
        if any(name in ids or (text and name in heads) for name, _ in json.loads(str(shown)))
        or any(term in words for term in terms(str(query)))
    ]
    one.execute("DELETE FROM recalls WHERE id IN (SELECT value FROM json_each(?))", (canonical(bad),))


def _unlearn(one: apsw.Connection, ids: Collection[str], words: Collection[str]) -> frozenset[str]:
    """Removes lessons about one of these, or from a query with a word that only these held. Recall log entries with the same
    queries go too; the queries are returned."""
    lines = one.execute("SELECT l.id, r.id, l.question FROM lessons l JOIN records r ON r.number = l.record").fetchall()
    bad = {
        id: str(question)
        for id, record, question in lines
        if record in ids or any(term in words for term in terms(str(question)))
    }
    one.execute("DELETE FROM lessons WHERE id IN (SELECT value FROM json_each(?))", (canonical(list(bad)),))
    asked = "EXISTS (SELECT 1 FROM json_each(?) WHERE instr(query, value))"
    one.execute(f"DELETE FROM recalls WHERE {asked}", (canonical(list(bad.values())),))
    return frozenset(bad.values())


def _withdraw_questions(one: apsw.Connection, ids: Collection[str], words: Collection[str]) -> None:
    """Withdraws pending questions for a person that are about one of these or contain a word that only these held."""
    lines = one.execute("SELECT id, question FROM jobs WHERE question IS NOT NULL").fetchall()
    bad = [id for id, question in lines if tells(str(question), ids, words)]
    sql = "UPDATE jobs SET state = 'withdrawn', question = NULL WHERE id IN (SELECT value FROM json_each(?))"
    one.execute(sql, (canonical(bad),))


# ---------------------------------------------------------------- the file itself


def vector_traces(one: apsw.Connection, vectors: Sequence[bytes]) -> list[bytes] | None:
    """Parts of these vectors that no living vector shares, as those of nearly identical texts would. None if there are too
    many to search one by one."""
    if len(vectors) > MANY_VECTORS:
        return None
    parts = {vector[start : start + TRACE] for vector in vectors for start in range(0, len(vector), 4 * TRACE)}
    parts = {part for part in parts if len(set(part)) >= SHORTEST}
    if parts:
        held = finder(list(parts))
        for (codes,) in one.execute("SELECT codes FROM vectors"):
            if held(codes):
                parts -= {part for part in parts if part in codes}
    return sorted(parts)


def remove_old_index(store: Path) -> bool:
    """Removes the index of vectors that version 0.1.0 could keep in a folder beside the store. Whether nothing of it is left."""
    folder = store.with_name(store.name + ".ann")
    for file in folder.glob("*"):
        with suppress(OSError):
            file.unlink()
    with suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def scrub(connections: Connections, path: Path, traces: Sequence[bytes]) -> str | None:
    """Folds in and truncates the log, then searches for the traces. Returns what prevented that, if anything.

    If a trace is found, even inside another word, the whole file is rewritten; it then holds only what is alive.
    """
    if _still_separates(connections.here(), traces):
        with connections.transaction():
            connections.here().execute("INSERT INTO word_index (word_index) VALUES ('rebuild')")
    if not _cut_log(connections):
        return STILL_READ
    schema = connections.here().execute("SELECT group_concat(sql) FROM sqlite_schema").get.encode()
    long = [trace for trace in traces if len(trace) >= SHORTEST and trace not in schema]  # those occur in any case
    if long and _holds(path, long):
        compact(connections)
    return None if _cut_log(connections) else STILL_READ


def _still_separates(one: apsw.Connection, traces: Sequence[bytes]) -> bool:
    """Whether the index still uses the beginning of an erased word, one that no other word has, to separate two of its pages."""
    beginnings = {trace[:end] for trace in traces for end in range(SHORTEST, len(trace) + 1)}
    for (separator,) in one.execute("SELECT DISTINCT CAST(term AS BLOB) FROM word_index_idx"):
        if separator.partition("·".encode())[2] in beginnings:
            least = separator[1:].decode("utf-8", "ignore")  # FTS5 puts a digit of its own before each
            living = "SELECT EXISTS (SELECT 1 FROM word_frequency WHERE term >= ?1 AND term < ?1 || char(1114111))"
            if not one.execute(living, (least,)).get:
                return True
    return False


def compact(connections: Connections) -> None:
    """Rewrites the file without unused space."""
    with connections.alone():
        connections.here().execute("VACUUM")
    _cut_log(connections)


def _cut_log(connections: Connections) -> bool:
    """Truncates the log and says whether that worked: a reader of an older state may prevent it for as long as we wait."""
    until = time.monotonic() + connections.wait
    while connections.here().execute("PRAGMA wal_checkpoint(TRUNCATE)").get[0]:
        if not pause(until):
            return False
    return True


def _holds(path: Path, traces: Sequence[bytes]) -> bool:
    """Whether the file contains one of the traces. Read through SQLite, because a plain `open` would drop its locks."""
    found, overlap = finder(traces), max(map(len, traces)) - 1  # for a word across two blocks
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    file = apsw.VFSFile("", str(path.absolute()), flags)
    try:
        size = file.xFileSize()
        starts, most = range(0, size, READ_AT_ONCE), READ_AT_ONCE + overlap
        return any(found(file.xRead(min(most, size - start), start)) for start in starts)
    except apsw.Error as problem:
        raise StoreUnavailable(f"the file could not be searched after the erase: {problem}; try again") from problem
    finally:
        file.xClose()
