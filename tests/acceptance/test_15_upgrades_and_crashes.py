"""Acceptance row 15: a newer store is refused untouched, an upgrade keeps everything, a crash leaves old or new.

The last schema step is only a test's: the real ones are copied beside it into a folder, and a store is opened with that
folder as its schema.
"""

import hashlib
import random
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import rounds
from faults.processes import Child, all_at_once, needs_fork
from memorist import Memory
from memorist.errors import MemoristError, StoreDamaged, StoreTooNew
from memorist.kinds import Kind
from memorist.store.sqlite import SqliteStore
from memorist.store.sqlite.migrate import SCHEMA

TODAY = len(list(SCHEMA.glob("*.sql")))
NEXT = TODAY + 1
NEXT_STEP = """
ALTER TABLE records ADD COLUMN mood TEXT;
CREATE TABLE visits (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, padding TEXT NOT NULL) STRICT;
INSERT INTO visits (number, padding) SELECT number, hex(randomblob(20)) FROM records;
UPDATE records SET mood = 'calm ' || number;
INSERT INTO settings VALUES ('upgrades', '1') ON CONFLICT DO UPDATE SET value = value + 1;
"""
SLOW = """
WITH RECURSIVE counted (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM counted WHERE n < 20000)
  INSERT INTO visits (number, padding) SELECT n, hex(randomblob(20)) FROM counted;
"""


def schema_of_tomorrow(folder: Path, more: str = "") -> Path:
    folder.mkdir()
    for step in SCHEMA.glob("*.sql"):
        shutil.copy(step, folder)
    (folder / f"{NEXT:04}_test.sql").write_text(NEXT_STEP + more, encoding="utf-8")
    return folder


def a_store_of_today(path: Path, facts: int = 40) -> Path:
    """A closed store with a bit of everything in it."""
    with Memory(path, project="atlas") as memory:
        ids = [o.id for o in memory.remember_many([f"Fact {n}: shelf {n} holds {n * 3} boxes" for n in range(facts)])]
        memory.revise(ids[0], "Fact 0: shelf 0 was emptied")
        memory.tag(ids[1], "storage", "boxes")
        memory.link(ids[1], ids[2])
        memory.feedback(ids[3], "useful")
        memory.forget(ids[4])
        memory.recall("which shelf holds boxes?")
    return path


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that the first step made, by the columns it made."""
    one = apsw.Connection(":memory:")
    one.execute((SCHEMA / "0001_spine.sql").read_text(encoding="utf-8"))
    listed = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'"
    tables = [name for (name,) in one.execute(listed) if name != "migrations"]
    columns = {name: [row[1] for row in one.execute(f"PRAGMA table_info({name})")] for name in tables}
    file = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        rows = {name: file.execute(f"SELECT {', '.join(columns[name])} FROM {name}").fetchall() for name in tables}
        rows["settings"] = [row for row in rows["settings"] if row[0] != "upgrades"]
        return rows
    finally:
        file.close()


def ask(path: Path, sql: str) -> Any:
    one = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return one.execute(sql).get
    finally:
        one.close()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def opening(path: Path, schema: Path) -> Callable[[], None]:
    def work() -> None:
        store = SqliteStore(path, schema=schema)
        assert store.setting("secret")
        store.close()

    return work


# ---------------------------------------------------------------- newer, foreign and drifted files


@pytest.mark.covers("P13", "W3-14")
def test_a_store_of_a_newer_memorist_is_refused_and_not_a_byte_of_it_changes(tmp_path: Path) -> None:
    path = a_store_of_today(tmp_path / "memory.db")
    ask(path, "PRAGMA user_version = 99")
    before, listed = digest(path), sorted(tmp_path.iterdir())
    for _ in range(3):
        with pytest.raises(StoreTooNew, match=r"schema 99.*untouched.*Upgrade memorist"):
            Memory(path, project="atlas")
    assert digest(path) == before
    assert sorted(tmp_path.iterdir()) == listed
    assert dump(path)["records"], "and everything is still in it"


@pytest.mark.covers("P13", "W3-14")
def test_todays_memorist_refuses_a_store_that_tomorrows_upgraded(tmp_path: Path) -> None:
    path = a_store_of_today(tmp_path / "memory.db")
    opening(path, schema_of_tomorrow(tmp_path / "schema"))()
    before = digest(path)
    with pytest.raises(StoreTooNew):
        Memory(path)
    assert digest(path) == before


@pytest.mark.covers("P13")
@pytest.mark.parametrize(
    "drift",
    [
        "DELETE FROM migrations",
        "UPDATE migrations SET digest = 'another'",
        f"INSERT INTO migrations VALUES ({NEXT}, 'other', 'x', 'now')",
        f"PRAGMA user_version = {NEXT}",
    ],
)
def test_drift_between_the_mark_and_the_table_of_steps_is_refused(tmp_path: Path, drift: str) -> None:
    path = a_store_of_today(tmp_path / "memory.db")
    schema = schema_of_tomorrow(tmp_path / "schema")
    ask(path, drift)
    before = digest(path)
    with pytest.raises(StoreDamaged, match=r"applied steps say otherwise.*left as it is"):
        SqliteStore(path, schema=schema)
    assert digest(path) == before
    assert not list(tmp_path.glob("*.bak*"))


@pytest.mark.covers("P13", "P11")
@pytest.mark.parametrize("sql", ["CREATE TABLE notes (text)", "CREATE TABLE notes (text); PRAGMA user_version = 1"])
def test_somebody_elses_database_is_refused_and_left_alone(tmp_path: Path, sql: str) -> None:
    path = tmp_path / "notes.db"
    made = apsw.Connection(str(path))
    made.execute(sql)
    made.close()
    before = digest(path)
    with pytest.raises(StoreDamaged, match="not a memorist store"):
        Memory(path)
    assert digest(path) == before


@pytest.mark.covers("W1-6")
def test_opening_a_store_again_and_again_drops_nothing(tmp_path: Path) -> None:
    path = a_store_of_today(tmp_path / "memory.db")
    before = dump(path)
    for _ in range(20):
        Memory(path, project="atlas").close()
    assert dump(path) == before
    for step in SCHEMA.glob("*.sql"):
        assert not re.search(r"\b(DROP|DELETE\s+FROM|REPLACE\s+INTO)\b", step.read_text(encoding="utf-8"), re.I)


@pytest.mark.covers("P13")
def test_a_memory_of_a_kind_nobody_knows_any_more_is_found_and_changed_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, kinds={"recipe": Kind("recipe", half_life_days=90)}) as memory:
        memory.remember("Pancakes need eggs", kind="recipe")
    with Memory(path) as memory:
        assert [hit.record.kind for hit in memory.recall("what do pancakes need?")] == ["recipe"]
        assert "Pancakes" in memory.context("pancakes").text
        assert memory.revise(1, "Pancakes need eggs and milk").outcome == "changed"
        assert [finding for finding in memory.doctor() if not finding.ok] == []


# ---------------------------------------------------------------- upgrades


@pytest.mark.covers("P13")
def test_an_upgrade_keeps_everything_and_leaves_a_verified_backup(tmp_path: Path) -> None:
    path = a_store_of_today(tmp_path / "memory.db")
    before = dump(path)
    opening(path, schema_of_tomorrow(tmp_path / "schema"))()
    backup = tmp_path / f"memory.db.before-{NEXT:04}.bak"
    assert dump(path) == before == dump(backup)
    assert ask(path, "SELECT count(*) FROM visits") == len(before["records"])
    assert ask(path, "PRAGMA user_version") == NEXT
    assert ask(backup, "PRAGMA user_version") == TODAY
    assert ask(backup, "PRAGMA integrity_check") == "ok"
    assert not list(tmp_path.glob("*.partial*"))


@pytest.mark.covers("P13")
def test_the_backup_of_an_upgrade_is_a_store_that_opens(tmp_path: Path) -> None:
    path = a_store_of_today(tmp_path / "memory.db")
    opening(path, schema_of_tomorrow(tmp_path / "schema"))()
    with Memory(tmp_path / f"memory.db.before-{NEXT:04}.bak", project="atlas") as old:
        assert old.audit().ok
        assert [finding for finding in old.doctor() if not finding.ok] == []
        assert old.remember("And it can be written").outcome == "added"


@pytest.mark.covers("P13")
def test_an_upgraded_store_has_the_schema_of_a_new_one(tmp_path: Path) -> None:
    schema = schema_of_tomorrow(tmp_path / "schema")
    old, new = a_store_of_today(tmp_path / "old.db"), tmp_path / "new.db"
    opening(old, schema)()
    opening(new, schema)()
    text = "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema ORDER BY type, name)"
    assert ask(old, text) == ask(new, text)
    assert not list(tmp_path.glob("new.db*.bak")), "an empty store needs no backup"


@pytest.mark.covers("P13", "P4")
@pytest.mark.parametrize("flaw", ["SELECT no_such_function();", "INSERT INTO nowhere VALUES (1);", "CREATE TABLE ("])
def test_a_step_that_fails_changes_nothing(tmp_path: Path, flaw: str) -> None:
    path = a_store_of_today(tmp_path / "memory.db")
    before = dump(path)
    with pytest.raises(MemoristError):
        SqliteStore(path, schema=schema_of_tomorrow(tmp_path / "schema", flaw))
    assert ask(path, "PRAGMA user_version") == TODAY
    assert dump(path) == before
    assert ask(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'visits'") == 0
    with Memory(path, project="atlas") as memory:
        assert memory.audit().ok


@needs_fork
@pytest.mark.covers("P13")
def test_a_kill_in_the_middle_of_an_upgrade_leaves_old_or_new_never_between(tmp_path: Path) -> None:
    original = a_store_of_today(tmp_path / "original.db")
    before = dump(original)
    schema = schema_of_tomorrow(tmp_path / "schema", SLOW)
    chance = random.Random("upgrade")
    seen = set()
    for number in range(rounds(50, 0.14)):
        path = tmp_path / f"{number}.db"
        shutil.copy(original, path)
        child = Child(lambda say, path=path: opening(path, schema)())
        time.sleep(chance.uniform(0, 0.08) * (number % 4) / 3)  # every fourth at once, however busy the machine is
        child.kill()
        seen.add(assert_old_or_new(path))
        assert dump(path) == before
        opening(path, schema)()
        assert (assert_old_or_new(path), dump(path)) == (NEXT, before)
        assert ask(path, "SELECT value FROM settings WHERE name = 'upgrades'") == "1"
    assert TODAY in seen, "the kills came too late to prove anything"


def assert_old_or_new(path: Path) -> int:
    version = ask(path, "PRAGMA user_version")
    assert ask(path, "PRAGMA integrity_check") == "ok"
    assert ask(path, "SELECT max(number) FROM migrations") == version
    assert ask(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'visits'") == version - TODAY
    assert ask(path, "SELECT count(*) FROM pragma_table_info('records') WHERE name = 'mood'") == version - TODAY
    assert ask(path, "SELECT count(*) FROM settings WHERE name = 'upgrades'") == version - TODAY
    if version == NEXT:
        assert ask(path, "SELECT count(*) FROM visits") == ask(path, "SELECT count(*) FROM records") + 20_000
    return int(version)


@needs_fork
@pytest.mark.covers("P8", "P13")
def test_sixteen_processes_that_open_an_old_store_at_once_upgrade_it_once(tmp_path: Path) -> None:
    schema = schema_of_tomorrow(tmp_path / "schema")
    original = a_store_of_today(tmp_path / "original.db")
    before = dump(original)
    for number in range(rounds(50, 0.06)):
        path = tmp_path / str(number) / "memory.db"
        path.parent.mkdir()
        shutil.copy(original, path)
        assert all_at_once([opening(path, schema)] * 16) == [0] * 16
        assert ask(path, "SELECT value FROM settings WHERE name = 'upgrades'") == "1"
        backups = [file.name for file in path.parent.iterdir() if ".bak" in file.name]
        assert backups == [f"memory.db.before-{NEXT:04}.bak"]
        assert dump(path) == before == dump(path.parent / backups[0])


# ---------------------------------------------------------------- crashes


class Story:
    """Acts on a store, in an order that a seed decides, and what the memories must be after each of them."""

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(seed)
        self.texts: dict[int, str] = {}  # by short number
        self.forgotten: set[int] = set()
        self.tags: dict[int, str] = {}

    def next(self) -> tuple[str, int, str]:
        word = f"word{self._chance.randrange(10**9)}"
        verbs = ["remember"] if not self.texts else ["remember", "revise", "tag", "forget", "restore"]
        number = self._chance.choice(sorted(self.texts)) if self.texts else 0
        return self._chance.choice(verbs), number, word

    def play(self, memory: Memory, act: tuple[str, int, str]) -> int:
        """Does it; the short number of the memory that it was about."""
        verb, number, word = act
        if verb == "remember":
            record = memory.remember(f"{word} came by today").record
            assert record
            return record.number
        if verb == "revise" and number not in self.forgotten:
            memory.revise(number, f"The train ends at {word}")
        elif verb == "tag":
            memory.tag(number, word, remove=[self.tags[number]] if number in self.tags else [])
        elif verb in ("forget", "restore"):
            getattr(memory, verb)(number)
        return number

    def note(self, act: tuple[str, int, str], number: int) -> None:
        verb, _, word = act
        if verb == "remember":
            self.texts[number] = f"{word} came by today"
        elif verb == "revise" and number not in self.forgotten:
            self.texts[number] = f"The train ends at {word}"
        elif verb == "tag":
            self.tags[number] = word
        elif verb == "forget":
            self.forgotten.add(number)
        elif verb == "restore":
            self.forgotten.discard(number)

    def state(self, number: int) -> tuple[str, tuple[str, ...], str]:
        tags = (self.tags[number],) if number in self.tags else ()
        return self.texts[number], tags, "archived" if number in self.forgotten else "active"


def found(memory: Memory, number: int) -> tuple[str, tuple[str, ...], str]:
    record = memory.get(number)
    return record.text, record.tags, record.state


def live(path: Path, seed: str) -> Callable[[Callable[[object], None]], None]:
    def work(say: Callable[[object], None]) -> None:
        memory, story = Memory(path, project="atlas"), Story(seed)
        while True:
            act = story.next()
            number = story.play(memory, act)
            story.note(act, number)
            say(number)

    return work


@needs_fork
@pytest.mark.covers("P1", "P21", "W3-11")
def test_a_kill_at_any_moment_loses_nothing_acknowledged_and_ledger_and_tables_agree(tmp_path: Path) -> None:
    chance = random.Random("any moment")
    for round_ in range(rounds(50, 0.12)):
        path, seed = tmp_path / f"{round_}.db", f"life {round_}"
        child = Child(live(path, seed))
        first = child.line()
        time.sleep(chance.uniform(0, 0.1))
        acknowledged = [int(line) for line in ([first] if first else []) + child.kill()]
        assert acknowledged, "the child died by itself"
        with Memory(path, project="atlas") as memory:
            assert_remembers(memory, seed, acknowledged)
            assert memory.audit().ok, memory.audit().problems
            assert [finding for finding in memory.doctor() if not finding.ok] == []


def assert_remembers(memory: Memory, seed: str, acknowledged: list[int]) -> None:
    """Everything is as the acknowledged acts left it; of the one under way, all or nothing is seen."""
    story = Story(seed)
    for number in acknowledged:
        story.note(story.next(), number)
    before = {number: story.state(number) for number in story.texts}
    act = story.next()
    if act[0] != "remember":
        story.note(act, act[1])
    for number, state in before.items():
        assert found(memory, number) in (state, story.state(number))
    stops = [record.text for record in memory.list({"state": {"$ne": "superseded"}}, limit=100_000)]
    extra = [text for text in stops if text not in {state[0] for state in before.values()}]
    assert len(stops) == len(set(stops)), "nothing is there twice"
    assert all(act[2] in text for text in extra), "only the act under way may have left something new"
