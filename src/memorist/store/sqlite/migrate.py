"""Numbered SQL steps bring a store to the newest schema, each in one transaction together with its mark. A new store gets all
of them in one, because every transaction waits for the disk.

Rules: a store written by a newer memorist is refused and not touched; before the first step over existing data a backup is
made and verified; a step never drops anything; the mark (`user_version`) and the table of applied steps must agree. Processes
that open the same old file at once queue on SQLite's own write lock and check again once they have it.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw

from memorist.errors import StoreDamaged, StoreTooNew, StoreUnavailable
from memorist.kinds import ARCHIVE, MEMORY
from memorist.lazy import dataclass
from memorist.store.files import create_private, unfinished
from memorist.store.index import RULES, stated, states
from memorist.store.sqlite.connection import SET, committed, one_moment
from memorist.text.visible import visible

SCHEMA = Path(__file__).parent / "schema"
NUMBERED = re.compile(r"\d{4}_.+\.sql")
APPLICATION_ID = 0x6D656D6F  # "memo", in the file's header
RESTORE = "`memorist backup --restore FILE` brings a backup back"
FOREIGN = (
    f"is an SQLite file but not a memorist store; it was left as it is. Name another file; if it was one, {RESTORE}"
)
OLDER = "this store was made by an older version; open it once where it may be written"
INSERT_TOPICS = "INSERT OR IGNORE INTO topics (topic, record) VALUES (?, ?)"
DELETE_TOPICS = "DELETE FROM topics WHERE topic = ? AND record = ?"
_THERE = (  # and the store is intact: one that lost its secret is refused, and left as it is
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'topics')"
    " AND EXISTS (SELECT 1 FROM settings WHERE name = 'secret')"
)
_TEXTS = (
    "SELECT r.number, r.kind, r.text FROM records r JOIN shelves s ON s.id = r.shelf"
    f" WHERE r.state <> 'erased' AND s.layer IN ('{MEMORY}', '{ARCHIVE}')"
)


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations_in(folder: Path) -> list[Migration]:
    files = sorted(file for file in folder.iterdir() if NUMBERED.fullmatch(file.name))  # `glob` may give up silently
    steps = [Migration(int(file.stem[:4]), file.stem, file.read_text(encoding="utf-8")) for file in files]
    assert [step.number for step in steps] == list(range(1, len(steps) + 1)), "steps are numbered 1, 2, 3 …"
    return steps


def migrate(connection: apsw.Connection, path: Path, steps: Sequence[Migration]) -> None:
    """Brings the store to the newest step, or refuses and changes nothing."""
    version = version_of(connection, path, steps)
    if 0 < version < len(steps) and connection.readonly("main"):
        raise StoreUnavailable(f"{visible(str(path)[:300])}: {OLDER}")
    left = list(steps[version:])
    for some in [[step] for step in left] if version > 0 else [left]:
        _apply(connection, path, steps, some, back_up=version > 0 and some[0].number == version + 1)


def version_of(connection: apsw.Connection, path: Path, steps: Sequence[Migration]) -> int:
    """How many steps the store has seen. A file that is foreign, too new or inconsistent is refused; nothing is written."""
    with one_moment(connection):
        return _version(connection, path, steps)


def _version(connection: apsw.Connection, path: Path, steps: Sequence[Migration]) -> int:
    version: int = connection.execute("PRAGMA user_version").get
    if version == 0:
        if connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise StoreDamaged(f"{path} {FOREIGN}")
        return 0
    if connection.execute("PRAGMA application_id").get != APPLICATION_ID:
        raise StoreDamaged(f"{path} {FOREIGN}")
    if version > len(steps):
        raise StoreTooNew(
            f"{path} has schema {version}, this memorist knows {len(steps)}; it was left untouched. "
            "Upgrade memorist to open it"
        )
    applied = connection.execute("SELECT number, digest FROM migrations ORDER BY number").fetchall()
    if applied != [(step.number, step.digest) for step in steps[:version]]:
        raise StoreDamaged(
            f"{path} is marked as schema {version} but its applied steps say otherwise; it was left as it is. {RESTORE}"
        )
    return version


def _apply(
    connection: apsw.Connection, path: Path, steps: Sequence[Migration], some: Sequence[Migration], back_up: bool
) -> None:
    connection.execute("BEGIN IMMEDIATE")
    with committed(connection):
        done = version_of(connection, path, steps)  # another process may have been faster
        # Under the lock: nobody writes, and nobody else makes the same backup. A store that another process is just creating
        # has seen its first step and holds nothing yet.
        if back_up and done < some[0].number and connection.execute("SELECT EXISTS (SELECT 1 FROM records)").get:
            with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as reader:
                copy_verified(reader, path.with_name(f"{path.name}.before-{some[0].number:04}.bak"))
        for step in (step for step in some if step.number > done):
            connection.execute(step.sql)
            row = (step.number, step.name, step.digest, datetime.now(UTC).isoformat())
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?, ?)", row)
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", step.number)


def copy_verified(connection: apsw.Connection, target: Path) -> None:
    """Makes an online copy under another name, verifies it, and only then puts it in place."""
    try:
        with unfinished(target) as partial:
            create_private(partial)
            verdict = _copied(connection, partial)
            if verdict != "ok":
                raise StoreDamaged(f"the copy for {target} did not verify ({verdict}); the store itself may be damaged")
            partial.replace(target)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "no file can have such a name"
        raise StoreUnavailable(
            f"{visible(str(target)[:300])} cannot be written: {reason}; choose another place"
        ) from problem


def of_the_index(said: str) -> bool:
    """Whether a line of SQLite's own check concerns only the word index, which can be rebuilt from the records."""
    return "word_index" in said and "fts5" in said.lower()


def _copied(connection: apsw.Connection, target: Path) -> str:
    """Copies, and returns SQLite's verdict on the copy. A damaged index does not count, since it can be rebuilt from the
    records."""
    copy = apsw.Connection(str(target))
    try:
        with copy.backup("main", connection, "main") as backup:
            backup.step()
        copy.execute("PRAGMA journal_mode = DELETE")  # a single file, with nothing beside it
        said = [str(line) for (line,) in copy.execute("PRAGMA quick_check")]
        return next((line for line in said if not of_the_index(line)), "ok")
    finally:
        copy.close()


# ---------------------------------------------------------------- topics


def bring_topics_up_to_date(one: apsw.Connection) -> None:
    """Rebuilds topics when the rules for reading claims have changed, and once for a store from before topics: otherwise
    contradictions of its memories would never be found. The first process does it, in one transaction; the others wait."""
    if not one.execute(_THERE).get or _are_by(one, RULES):
        return
    one.execute("BEGIN IMMEDIATE")
    with committed(one):
        if not _are_by(one, RULES):
            rebuild_topics(one)


def _are_by(one: apsw.Connection, rules: str) -> bool:
    return bool(one.execute("SELECT value FROM settings WHERE name = 'topics'").get == rules)


def rebuild_topics(one: apsw.Connection) -> None:
    """Rebuilds all of them from the texts; inside a transaction of the caller."""
    one.execute("DELETE FROM topics")
    one.cursor().executemany(INSERT_TOPICS, _wanted(one))
    one.execute(SET, ("topics", RULES))


def _wanted(one: apsw.Connection) -> Iterator[tuple[int, int]]:
    texts = one.execute(_TEXTS)
    return ((topic, number) for number, kind, text in texts if states(kind) for topic in stated(text))


def topics_differ(one: apsw.Connection) -> bool:
    """Whether the stored topics differ from those of the texts; compared as sums, so that it works for a store of any size."""
    there = one.execute("SELECT topic, record FROM topics")
    return _are_by(one, RULES) and _sum(there) != _sum(_wanted(one))


def _sum(rows: Iterable[tuple[int, int]]) -> tuple[int, int]:
    count = total = 0
    for row in rows:
        count, total = count + 1, (total + hash(row)) & 0xFFFF_FFFF_FFFF_FFFF
    return count, total
