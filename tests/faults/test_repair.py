"""Promise P12: `doctor(repair=True)` heals an index that differs from the records, and touches nothing else.

Each kind of desynchronisation is done through a plain SQLite connection. After the repair the doctor finds nothing, every
memory is found by its words again, and records, journal, links and counters are, byte for byte, what they were. Where
something else is damaged the repair refuses and changes nothing.
"""

import hashlib
import shutil
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.access import Access
from memorist.errors import StoreDamaged, StoreUnavailable
from memorist.kinds import LAYERS
from memorist.store.nouns import Diagnosis, Generation, Shelf
from memorist.store.open import restore
from memorist.store.packing import pack
from memorist.store.sqlite import SqliteStore
from memorist.store.where import Where

NOW = datetime(2026, 5, 1, tzinfo=UTC)
TREES = "alder beech cherry dogwood elm fir ginkgo hazel ivy juniper".split()
TRUTH = "records journal counters links settings key_uses migrations".split()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with memories in several places and states, and one text of several chunks."""
    with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
        memory.remember_many([f"The {tree} stands in row {n}" for n, tree in enumerate(TREES)])
        memory.revise(1, "The alder was felled", because="storm")
        memory.remember("The keys hang by the door", scope="global", key="once")
        memory.remember("In the long grass " + " ".join(f"stone{n}" for n in range(3000)), kind="document")
        memory.link(2, 3)
        memory.feedback(4, "useful")
        memory.forget(5)
    return tmp_path / "memory.db"


def tamper(path: Path, *statements: str) -> None:
    one = apsw.Connection(str(path))
    try:
        for statement in statements:
            one.execute(statement)
    finally:
        one.close()


def truth(path: Path) -> str:
    """A digest of everything that a repair must not touch."""
    one = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        rows = [one.execute(f"SELECT * FROM {table}").fetchall() for table in TRUTH]
    finally:
        one.close()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def wrong(findings: list[Diagnosis]) -> list[str]:
    return [finding.check for finding in findings if not finding.ok]


def backups(path: Path) -> list[Path]:
    return sorted(path.parent.glob("*.before-repair-*.bak"))


def assert_found_by_its_words(memory: Memory) -> None:
    for number, tree in enumerate(TREES[1:], 2):
        layer = "archive" if number == 5 else "memory"
        assert [hit.record.number for hit in memory.recall(tree, search=layer)] == [number]
    assert memory.recall("where do the keys hang?")
    assert [hit.record.kind for hit in memory.recall("stone2999", search="all")] == ["document"]


ROW = "(SELECT id FROM words WHERE id / 4096 = 3 LIMIT 1)"
FREE = "DROP TRIGGER words_stay"
DESYNC: dict[str, list[str]] = {
    # the index
    "a row missing in the index": [f"DELETE FROM word_index WHERE rowid = {ROW}"],
    "a row deleted from it with another text": [
        f"INSERT INTO word_index (word_index, rowid, prepared) VALUES ('delete', {ROW}, ' 1·nonsense')"
    ],
    "a row in it twice": [
        f"INSERT INTO word_index (rowid, prepared) SELECT id, prepared FROM shelved WHERE id = {ROW}",
        f"INSERT INTO word_index (rowid, prepared) SELECT id + 1000, prepared FROM shelved WHERE id = {ROW}",
    ],
    "an emptied index": ["INSERT INTO word_index (word_index) VALUES ('delete-all')"],
    "a block of it gone": ["DELETE FROM word_index_data WHERE id > 10"],
    "a block of it spoilt": ["UPDATE word_index_data SET block = zeroblob(20) WHERE id = 10"],
    # the index rows
    "words missing": ["DELETE FROM words WHERE id / 4096 = 3"],
    "words missing behind the trigger's back": ["DROP TRIGGER words_removed", "DELETE FROM words WHERE id / 4096 = 3"],
    "words changed": [FREE, "UPDATE words SET prepared = ' forged' WHERE id / 4096 = 3"],
    "words of another length": [FREE, "UPDATE words SET length = length + 1 WHERE id / 4096 = 3"],
    "words on another shelf": [FREE, "UPDATE words SET shelf = (SELECT max(id) FROM shelves) WHERE id / 4096 = 3"],
    "words on a shelf that does not exist": [FREE, "UPDATE words SET shelf = 999 WHERE id / 4096 = 3"],
    "words at another place": [FREE, "UPDATE words SET start = 3, end = 4 WHERE id / 4096 = 3"],
    "words of nobody": [
        "INSERT INTO words (id, shelf, start, end, length, prepared) VALUES (4096 * 999, 1, 0, 4, 1, ' ghost')"
    ],
    "all words gone": ["DELETE FROM words"],
    "a word too many": [
        "INSERT INTO words (id, shelf, start, end, length, prepared) SELECT id + 9, shelf, 0, 4, 1, ' ghost'"
        " FROM words WHERE id / 4096 = 3"
    ],
    # the sizes of shelves
    "a shelf that counts too many": ["UPDATE shelves SET chunks = chunks + 5, length = 0 WHERE id = 1"],
    "an empty shelf that counts some": [
        "INSERT INTO shelves (space, scope, layer, chunks, length) VALUES ('default', 'user/ann', 'memory', 7, 70)"
    ],
    # what keeps them in step
    "a trigger missing": ["DROP TRIGGER words_added"],
    "a trigger changed": [
        "DROP TRIGGER words_removed",
        "CREATE TRIGGER words_removed AFTER DELETE ON words BEGIN SELECT 1; END",
    ],
    "a trigger too many": ["CREATE TRIGGER \"spy \"\" \" AFTER INSERT ON words BEGIN DELETE FROM shelves WHERE 0; END"],
    "the view changed": ["DROP VIEW shelved", "CREATE VIEW shelved (id, prepared) AS SELECT id, 'x' FROM words"],
    "an index missing": ["DROP INDEX journal_by_record"],
    "everything at once": [
        "DROP TRIGGER words_stay", "DROP TRIGGER words_removed", "DROP VIEW shelved", "DROP INDEX records_by_time",
        "DELETE FROM words WHERE id / 4096 = 7", "UPDATE words SET prepared = ' x', shelf = 999 WHERE id / 4096 = 8",
        "UPDATE shelves SET chunks = -1, length = -1", "DELETE FROM word_index_data WHERE id > 10",
    ],
}  # fmt: skip


@pytest.mark.covers("P12")
@pytest.mark.parametrize("desync", DESYNC)
def test_a_repair_heals(path: Path, desync: str) -> None:
    tamper(path, *DESYNC[desync])
    before, spoilt = truth(path), hashlib.sha256(path.read_bytes()).hexdigest()
    with Memory(path, project="atlas", embed="none") as memory:
        found = memory.doctor()
        assert wrong(found), "nothing was wrong, so nothing would be proved"
        assert all("--repair" in (finding.advice or "") for finding in found if not finding.ok)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == spoilt, "looking is not repairing"
        first, *rest = memory.doctor(repair=True)
        assert (first.ok, first.check, wrong(rest)) == (True, "repair", []), (first, rest)
        assert truth(path) == before
        assert_found_by_its_words(memory)
        memory.revise(3, "The cherry moved to row 99")
        memory.remember("A new lime tree")
        assert wrong(memory.doctor()) == []
    [kept] = backups(path)
    assert kept.name in first.detail and oct(kept.stat().st_mode)[-3:] == "600"
    assert truth(kept) == before


@pytest.mark.covers("P12")
def test_a_healthy_store_is_left_alone(path: Path) -> None:
    before = path.read_bytes()
    with Memory(path, project="atlas", embed="none") as memory:
        first, *rest = memory.doctor(repair=True)
    assert first.ok and "nothing to repair" in first.detail and wrong(rest) == []
    assert path.read_bytes() == before and backups(path) == []


ONE_BLOCK = "WHERE rowid = (SELECT min(rowid) FROM vectors)"
BAD_VECTORS: dict[str, tuple[list[str], range]] = {  # and how many are then missing
    "of a memory that is not there": (
        [f"UPDATE vectors SET rows = CAST(substr(rows, 1, 2) || x'99' || substr(rows, 4) AS BLOB) {ONE_BLOCK}"],
        range(1, 2),
    ),
    "on a shelf that is not there": ([f"UPDATE vectors SET shelf = 999 {ONE_BLOCK}"], range(2, 16)),
    "cut off": ([f"UPDATE vectors SET codes = substr(codes, 2) {ONE_BLOCK}"], range(2, 16)),
    "with a flipped bit": (
        [f"UPDATE vectors SET codes = CAST(x'03' || substr(codes, 2) AS BLOB) {ONE_BLOCK}"],
        range(1, 2),
    ),
    "counted wrong": (["UPDATE vectors SET count = 9"], range(1)),
    "of a model that is not there": ([f"UPDATE vectors SET generation = 77 {ONE_BLOCK}"], range(2, 16)),
    "of words that are gone": (["DELETE FROM words WHERE id / 4096 = 3"], range(1)),
}


@pytest.mark.covers("P12")
@pytest.mark.parametrize("damage", BAD_VECTORS)
def test_a_repair_drops_vectors_that_fit_nothing_and_keeps_the_others(path: Path, damage: str) -> None:
    with closing(SqliteStore(path)) as store, store.transaction():
        generation = store.save_generation(Generation(0, "a model", 4, "filling")).id
        rows = [piece.row for piece in store.unembedded(generation, 0, 10_000)]
        store.put_vectors(generation, dict(zip(rows, pack([(1, row % 7, 0, 2) for row in rows]), strict=True)))
    statements, lost = BAD_VECTORS[damage]
    tamper(path, *statements)
    before = truth(path)
    with Memory(path, project="atlas", embed="none") as memory:
        assert "vectors" in wrong(memory.doctor())
        first, *rest = memory.doctor(repair=True)
        assert (first.ok, wrong(rest)) == (True, []), (first, rest)
    assert truth(path) == before
    with closing(SqliteStore(path)) as store:
        missing = store.unembedded(generation, 0, 10_000)
        assert len(missing) in lost
        asked, everywhere = np.ones(4, np.float32), Access.to_read("default")
        shelves = [Shelf("default", scope, layer) for scope in store.count(Where(everywhere)) for layer in LAYERS]
        found = store.nearest(generation, asked, shelves, Where(everywhere), 1000)
        assert found.rows == len(rows) - len(missing)


BEYOND: dict[str, list[str]] = {
    "a text changed": ["UPDATE records SET text = 'The cherry never was' WHERE number = 3"],
    "an unreadable record": ["UPDATE records SET tags = '[broken' WHERE number = 3"],
    "a record on another shelf": [
        "UPDATE records SET shelf = (SELECT id FROM shelves WHERE layer = 'archive') WHERE number = 3"
    ],
    "a journal row changed": ["UPDATE journal SET actor = 'eve' WHERE seq = 3"],
    "a journal cut off": ["DELETE FROM journal WHERE seq > 9"],
    "counters flipped": ["UPDATE counters SET up = up | 64"],
    "a link changed": ["UPDATE links SET weight = 0.5"],
    "a table too many": ["CREATE TABLE notes (text)"],
    "a column too many": ["ALTER TABLE links ADD COLUMN mood TEXT"],
}


@pytest.mark.covers("P12", "P11")
@pytest.mark.parametrize("also", [[], DESYNC["words changed"]], ids=["alone", "with a broken index"])
@pytest.mark.parametrize("damage", BEYOND)
def test_a_repair_refuses_where_the_damage_is_not_in_the_index(path: Path, damage: str, also: list[str]) -> None:
    """An index rebuilt from a damaged text would hide the damage."""
    tamper(path, *also, *BEYOND[damage])
    before = path.read_bytes()
    with Memory(path, project="atlas", embed="none") as memory:
        first, *rest = memory.doctor(repair=True)
    assert not first.ok and first.check == "repair" and "nothing was changed" in first.detail, first
    assert "backup --restore" in (first.advice or "")
    assert wrong(rest)
    assert path.read_bytes() == before and backups(path) == []


@pytest.mark.covers("P12", "P11")
def test_a_broken_page_is_not_repaired_but_named(path: Path) -> None:
    content = bytearray(path.read_bytes())
    root = page_of(path, "records")
    content[root + 50 : root + 1500] = bytes(1450)
    path.write_bytes(content)
    with Memory(path, project="atlas", embed="none") as memory:
        first, *_ = memory.doctor(repair=True)
    assert not first.ok and "nothing was changed" in first.detail
    assert path.read_bytes() == bytes(content)


def page_of(path: Path, table: str) -> int:
    one = apsw.Connection(str(path))
    try:
        return 4096 * (one.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get - 1)
    finally:
        one.close()


@pytest.mark.covers("P12", "P4")
@pytest.mark.parametrize("at", ["words", "shelves", "word_index_data"])
def test_a_repair_that_fails_takes_everything_back(path: Path, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tamper(path, *DESYNC["everything at once"])
    before = dump(path)
    with Memory(path, project="atlas", embed="none") as memory:
        one = memory._tools.store._connections.here()  # type: ignore[attr-defined]
        writes = {apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE}
        one.set_authorizer(
            lambda what, table, *_: apsw.SQLITE_DENY if what in writes and table == at else apsw.SQLITE_OK
        )
        with pytest.raises(StoreUnavailable):
            memory._tools.store.checkup(repair=True)
        one.set_authorizer(None)
        assert dump(path) == before
        assert wrong(memory.doctor(repair=True)) == []


def dump(path: Path) -> list[Any]:
    one = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        tables = (*TRUTH, "words", "shelves", "word_index_data", "word_index_idx")
        schema = one.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
        return [schema, *(one.execute(f"SELECT * FROM {table}").fetchall() for table in tables)]
    finally:
        one.close()


@needs_fork
@pytest.mark.covers("P12", "P6")
def test_others_write_while_a_store_is_repaired(path: Path) -> None:
    tamper(path, *DESYNC["everything at once"][:-1])

    def write(say: Callable[[object], None]) -> None:
        with Memory(path, project="atlas", embed="none") as memory:
            for number in range(20):
                memory.remember(f"Bird {number} sat in the hedge")
                say(number)

    with Memory(path, project="atlas", embed="none") as memory:
        child = Child(write)
        child.line()
        findings = memory.doctor(repair=True)
        assert findings[0].ok, findings[0]
        assert len(list(child.lines())) == 19 and child.end() == 0
        memory.doctor(repair=True)  # what was written before the triggers were back
        assert wrong(memory.doctor()) == []
        assert memory.count({"text": {"$in": [f"Bird {n} sat in the hedge" for n in range(20)]}}) == 20


@pytest.mark.covers("P12", "P6")
def test_threads_that_have_the_store_open_see_the_repaired_index(path: Path) -> None:
    tamper(path, *DESYNC["an emptied index"])
    asked, repaired = threading.Event(), threading.Event()
    found: list[int] = []

    def ask(memory: Memory) -> None:
        with pytest.raises(StoreDamaged, match="doctor --repair"):
            memory.recall("hazel")
        asked.set()
        repaired.wait(30)
        found.append(len(memory.recall("hazel")))

    with Memory(path, project="atlas", embed="none") as memory:
        thread = threading.Thread(target=ask, args=(memory,))
        thread.start()
        asked.wait(30)
        memory.doctor(repair=True)
        repaired.set()
        thread.join()
    assert found == [1]


@pytest.mark.covers("P10", "P12")
def test_a_backup_whose_index_is_broken_is_restored_and_healed(path: Path, tmp_path: Path) -> None:
    tamper(path, *DESYNC["everything at once"])
    shutil.copy(path, tmp_path / "backup.db")
    before = truth(path)
    place = tmp_path / "elsewhere" / "memory.db"
    restore(place, tmp_path / "backup.db", NOW)
    assert truth(place) == before
    with Memory(place, project="atlas", embed="none") as memory:
        assert wrong(memory.doctor()) == []
        assert_found_by_its_words(memory)


@pytest.mark.covers("P12")
def test_an_index_in_ram_is_made_anew_too() -> None:
    with Memory(":memory:", project="atlas", embed="none") as memory:
        memory.remember_many([f"The {tree} stands" for tree in TREES])
        memory.forget(5)
        first = memory.doctor(repair=True)[0]
        assert first.ok and "nothing to repair" in first.detail
        with closing(memory._tools.store.connect()) as one:  # type: ignore[attr-defined]
            expected = one.execute("SELECT * FROM words").fetchall()
            one.execute("DELETE FROM words WHERE id / 4096 = 3")
        assert {"words"} <= set(wrong(memory.doctor()))
        assert not memory.recall(TREES[2])
        assert wrong(memory.doctor(repair=True)) == []
        with closing(memory._tools.store.connect()) as one:  # type: ignore[attr-defined]
            assert one.execute("SELECT * FROM words").fetchall() == expected
        assert len(memory.recall(TREES[2])) == 1


@pytest.mark.covers("P11", "P12")
def test_a_letter_changed_inside_the_index_is_seen_where_sqlites_own_check_sees_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas", embed="none") as memory:
        memory.remember_many([f"Harbour {number}" for number in range(4)])
    one = apsw.Connection(str(path))
    for id, block in one.execute("SELECT id, block FROM word_index_data WHERE id > 10").fetchall():
        spoilt = block.replace(b"harbour", b"harbous")
        one.execute("UPDATE word_index_data SET block = ? WHERE id = ?", (spoilt, id))
    one.execute(
        "INSERT INTO word_index (word_index, rank) VALUES ('integrity-check', 1)"
    )  # raises where it sees damage
    one.close()
    with Memory(path, project="atlas", embed="none") as memory:
        with pytest.raises(StoreDamaged, match="doctor --repair"):
            memory.recall("harbour")
        assert wrong(memory.doctor()) == ["index"]
        assert wrong(memory.doctor(repair=True)) == []
        assert len(memory.recall("harbour")) == 4
