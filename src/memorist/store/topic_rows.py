"""The topics of an SQLite store, as rows. They are made anew when the rules that read a claim have changed, and once for a store
from before there were any: else what it holds would never be found by what contradicts it."""

from collections.abc import Iterable, Iterator

import apsw

from memorist.kinds import ARCHIVE, MEMORY
from memorist.store.topics import RULES, stated, states

INSERT_TOPICS = "INSERT OR IGNORE INTO topics (topic, record) VALUES (?, ?)"
DELETE_TOPICS = "DELETE FROM topics WHERE topic = ? AND record = ?"
_MARK = "INSERT INTO settings VALUES ('topics', ?) ON CONFLICT DO UPDATE SET value = excluded.value"
_THERE = (  # and the store is whole: one that lost its secret is refused, and left as it is
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'topics')"
    " AND EXISTS (SELECT 1 FROM settings WHERE name = 'secret')"
)
_TEXTS = (
    "SELECT r.number, r.kind, r.text FROM records r JOIN shelves s ON s.id = r.shelf"
    f" WHERE r.state <> 'erased' AND s.layer IN ('{MEMORY}', '{ARCHIVE}')"
)


def bring_up_to_date(one: apsw.Connection) -> None:
    """Whoever comes first does it, in one transaction; the others wait and find it done."""
    if not one.execute(_THERE).get or _are_by(one, RULES):
        return
    one.execute("BEGIN IMMEDIATE")
    try:
        if not _are_by(one, RULES):
            make_anew(one)
        one.execute("COMMIT")
    except BaseException:
        if one.in_transaction:
            one.execute("ROLLBACK")
        raise


def _are_by(one: apsw.Connection, rules: str) -> bool:
    return bool(one.execute("SELECT value FROM settings WHERE name = 'topics'").get == rules)


def make_anew(one: apsw.Connection) -> None:
    """All of them, from the texts; inside a transaction of the caller."""
    one.execute("DELETE FROM topics")
    one.cursor().executemany(INSERT_TOPICS, _wanted(one))
    one.execute(_MARK, (RULES,))


def _wanted(one: apsw.Connection) -> Iterator[tuple[int, int]]:
    texts = one.execute(_TEXTS)
    return ((topic, number) for number, kind, text in texts if states(kind) for topic in stated(text))


def differ(one: apsw.Connection) -> bool:
    """Whether there are other topics than the texts have; compared as sums, so that no store is too large for it."""
    there = one.execute("SELECT topic, record FROM topics")
    return _are_by(one, RULES) and _sum(there) != _sum(_wanted(one))


def _sum(rows: Iterable[tuple[int, int]]) -> tuple[int, int]:
    count = total = 0
    for row in rows:
        count, total = count + 1, (total + hash(row)) & 0xFFFF_FFFF_FFFF_FFFF
    return count, total
