"""Indexes over the vectors of large shelves: near enough to the exact answer, never older than the store, never in the way."""

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.kinds import ARCHIVE, MEMORY
from memorist.records import Record
from memorist.store import ann, ann_build, vector_cache
from memorist.store.index import CHUNKS
from memorist.store.nouns import Generation, Near, Shelf
from memorist.store.restore import _replace
from memorist.store.sqlite import SqliteStore
from memorist.store.where import Where
from memorist.testing import EVERYWHERE, a_record, stored
from memorist.testing.keeping import a_tombstone
from memorist.text.vectors import pack
from memorist.upkeep.index import Index

pytest.importorskip("usearch")
ROWS, DIMENSION = 2000, 32
SHELVES = ("global", MEMORY), ("project/other", MEMORY), ("global", ARCHIVE)
WIDE, OTHER, GONE = (Shelf("default", *each) for each in SHELVES)
SEEN = Where(EVERYWHERE)


class Model:
    """The model whose vectors the store has; it is asked for none."""

    name, dimension, cheap = "a model", DIMENSION, True

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.ones((len(texts), DIMENSION), np.float32)


@dataclass
class Filled:
    """A store with two shelves over the limit, and the vectors that were put in by the numbers of their records."""

    store: SqliteStore
    generation: Generation
    records: list[Record]
    vectors: dict[int, np.ndarray]

    @property
    def folder(self) -> Path:
        return self.store.path.with_name(self.store.path.name + ".ann")

    def near(self, asked: np.ndarray, *shelves: Shelf, limit: int = 10, exact: bool = False) -> Near:
        return self.store.nearest(self.generation.id, asked, shelves or (WIDE,), SEEN, limit, exact)

    def first(self, number: int, *shelves: Shelf) -> int | None:
        return next((found for found, _ in self.near(self.vectors[number], *shelves).hits), None)

    def add(self, vectors: np.ndarray, scope: str = "global") -> list[Record]:
        made = stored(self.store, *(a_record(f"memory {n}", scope=scope) for n in range(len(vectors))))
        self.put({record.number: vector for record, vector in zip(made, vectors, strict=True)})
        return made

    def put(self, vectors: dict[int, np.ndarray]) -> None:
        packed = pack(np.array(list(vectors.values())))
        with self.store.transaction():
            rows = [number * CHUNKS for number in vectors]
            self.store.put_vectors(self.generation.id, dict(zip(rows, packed, strict=True)))
        self.vectors |= vectors

    def build(self) -> int:
        return sum(Index.of(self.store).steps())


def clustered(count: int, seed: int = 5) -> np.ndarray:
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(size=(40, DIMENSION))
    return (centres[chance.integers(0, 40, count)] + 0.7 * chance.normal(size=(count, DIMENSION))).astype(np.float32)


@pytest.fixture(autouse=True)
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shelves of a thousand rows are large here, and a search follows few rows."""
    monkeypatch.setattr(ann, "LEAST_ROWS", 1000)
    monkeypatch.setattr(ann, "EXPANSION_SEARCH", 100)


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Filled]:
    store = SqliteStore(tmp_path / "memory.db")
    with store.transaction():
        generation = store.add_generation("a model", DIMENSION)
        store.set_generation(generation.id, "current")
    it = Filled(store, replace(generation, state="current"), [], {})
    it.records = it.add(clustered(ROWS))
    it.add(clustered(ROWS // 2 + 100, seed=6), "project/other")
    yield it
    store.close()


def reads_an_index(filled: Filled, *shelves: Shelf) -> bool:
    """Whether a question does without holding the shelf in RAM."""
    with closing(SqliteStore(filled.store.path)) as other:
        other.nearest(filled.generation.id, clustered(1)[0], shelves or (WIDE,), SEEN, 10)
        return all(indexed for _, _, indexed in other._vector_cache._held)


# ---------------------------------------------------------------- answers


def test_answers_are_those_of_an_exact_comparison(filled: Filled) -> None:
    assert filled.build() == ROWS + ROWS // 2 + 100
    assert reads_an_index(filled) and reads_an_index(filled, WIDE, OTHER)
    shares = []
    for asked in clustered(40, seed=9):
        for shelves in ([WIDE], [WIDE, OTHER]):
            exact, found = (filled.near(asked, *shelves, exact=each) for each in (True, False))
            common = dict(exact.hits).keys() & dict(found.hits).keys()
            shares.append(len(common) / 10)
            assert {n: dict(found.hits)[n] for n in common} == pytest.approx({n: dict(exact.hits)[n] for n in common})
            assert (found.mean, found.spread) == pytest.approx((exact.mean, exact.spread), abs=0.02)
            assert found.rows == exact.rows
    assert np.mean(shares) >= 0.98


def test_similarities_read_only_what_they_need(filled: Filled) -> None:
    numbers = [record.number for record in filled.records[::97]]
    asked = (filled.generation.id, clustered(1)[0], [WIDE], numbers)
    before = filled.store.similarities(*asked)
    filled.build()
    with closing(SqliteStore(filled.store.path)) as other:
        assert other.similarities(*asked) == pytest.approx(before) and len(before) == len(numbers)
        assert all(indexed for _, _, indexed in other._vector_cache._held)


def test_what_is_new_changed_or_gone_is_seen_at_once(filled: Filled) -> None:
    filled.build()
    [fresh] = filled.add(-clustered(1))
    assert filled.first(fresh.number) == fresh.number
    moved, changed, archived = filled.records[3], filled.records[700], filled.records[1400]
    filled.put({changed.number: -clustered(1, seed=77)[0]})
    assert filled.first(changed.number) == changed.number
    stored(filled.store, replace(moved, scope="project/other"), replace(archived, state="archived"))
    for record, shelf in ((moved, OTHER), (archived, GONE)):
        near = filled.near(filled.vectors[record.number], WIDE, limit=50)
        assert record.number not in dict(near.hits)
        assert filled.first(record.number, shelf) == record.number
    assert reads_an_index(filled)


def test_what_is_not_committed_is_seen_by_its_transaction_alone(filled: Filled) -> None:
    filled.build()
    number = filled.records[5].number
    with pytest.raises(ZeroDivisionError), filled.store.transaction():
        filled.store.put_vectors(filled.generation.id, {number * CHUNKS: pack([-clustered(1, seed=3)[0]])[0]})
        assert filled.near(-clustered(1, seed=3)[0]).hits[0][0] == number
        raise ZeroDivisionError
    assert filled.first(number) == number


def test_shelves_are_never_mixed(filled: Filled) -> None:
    filled.build()
    wide = {record.number for record in filled.records}
    for asked in clustered(20, seed=8):
        assert dict(filled.near(asked, WIDE).hits).keys() <= wide
        assert not dict(filled.near(asked, OTHER).hits).keys() & wide


def test_a_filter_that_leaves_few_is_answered_in_full(filled: Filled) -> None:
    rare = stored(filled.store, *(replace(record, tags=("rare",)) for record in filled.records[::250]))
    filled.build()
    where = Where.of(EVERYWHERE, {"tags": ["rare"]})
    asked = clustered(1, seed=4)[0]
    found = filled.store.nearest(filled.generation.id, asked, [WIDE], where, len(rare))
    assert dict(found.hits).keys() == {record.number for record in rare}


# ---------------------------------------------------------------- files that are not to be used


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize("end", ["usearch", "json"])
@pytest.mark.parametrize("harm", ["flipped", "cut", "empty", "missing", "a folder"])
def test_damaged_files_are_passed_over_and_made_anew(filled: Filled, end: str, harm: str) -> None:
    filled.build()
    path = filled.folder / f"{filled.generation.id}-1.{end}"
    if harm == "flipped":
        flip(path)
    elif harm == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif harm == "empty":
        os.truncate(path, 0)
    else:
        path.unlink()
    if harm == "a folder":
        path.mkdir()
    assert filled.first(7) == 7
    if harm != "flipped" or end == "usearch":  # a note may be flipped where it does not matter
        assert not reads_an_index(filled)
    if harm == "a folder":
        path.rmdir()
    filled.build()
    assert reads_an_index(filled) and filled.first(7) == 7


def test_a_file_with_other_times_is_known_by_its_digest(filled: Filled) -> None:
    filled.build()
    os.utime(filled.folder / f"{filled.generation.id}-1.usearch")
    assert reads_an_index(filled)


def test_an_index_of_another_store_or_shelf_is_passed_over(filled: Filled, tmp_path: Path) -> None:
    filled.build()
    for end in ("usearch", "json"):
        (filled.folder / f"{filled.generation.id}-2.{end}").replace(filled.folder / f"{filled.generation.id}-1.{end}")
    assert not reads_an_index(filled) and filled.first(7) == 7
    filled.build()
    note = filled.folder / f"{filled.generation.id}-1.json"
    told = json.loads(note.read_text())
    for changes in ({"store": "0" * 32}, {"digest": "00"}, {"schema": 0}, {"erased": "1"}):
        note.write_text(json.dumps({**told, "origin": {**told["origin"], **changes}}))
        assert not reads_an_index(filled), changes
    note.write_text(json.dumps(told))
    assert reads_an_index(filled)


def test_a_restored_backup_does_not_meet_an_index_of_later(filled: Filled, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    filled.store.backup(backup)
    assert not backup.with_name("backup.db.ann").exists()
    [late] = filled.add(-clustered(1))
    filled.build()
    _replace(filled.store.path, backup)  # as `restore` does, after it has verified everything
    assert not reads_an_index(filled)
    found = filled.near(-clustered(1)[0], limit=50)
    assert found.hits and late.number not in dict(found.hits)


def test_an_index_with_too_many_changes_is_passed_over_and_made_anew(filled: Filled) -> None:
    filled.build()
    filled.add(clustered(ROWS // 6, seed=21))
    assert reads_an_index(filled)
    filled.add(clustered(ROWS // 10, seed=22))
    assert not reads_an_index(filled)
    assert filled.build() == ROWS + ROWS // 6 + ROWS // 10
    assert reads_an_index(filled)


def test_without_the_library_nothing_changes(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    filled.build()
    monkeypatch.setattr(ann, "library", lambda: None)
    assert not reads_an_index(filled) and filled.first(7) == 7
    assert filled.store.index_building.due() == []


# ---------------------------------------------------------------- making them


def test_files_are_private_and_small_shelves_have_none(filled: Filled) -> None:
    filled.add(clustered(50), "project/small")
    filled.build()
    files = sorted(filled.folder.iterdir())
    assert [file.name for file in files] == [f"1-{shelf}.{end}" for shelf in (1, 2) for end in ("json", "usearch")]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(filled.folder.stat().st_mode) == 0o700
    assert filled.build() == 0


def test_what_is_written_while_an_index_is_made_is_found(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann_build, "AT_ONCE", 20)
    steps = Index.of(filled.store).steps()
    next(steps)
    early, late = filled.records[0].number, filled.records[-5].number
    filled.put({early: -clustered(1, seed=31)[0], late: -clustered(1, seed=32)[0]})
    [fresh] = filled.add(-clustered(1, seed=33))
    list(steps)
    assert reads_an_index(filled)
    assert [filled.first(number) for number in (early, late, fresh.number)] == [early, late, fresh.number]


def test_a_build_that_is_cut_off_goes_on_where_it_was(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann_build, "AT_ONCE", 20)
    steps = Index.of(filled.store).steps()
    done = next(steps) + next(steps)
    steps.close()
    assert [file.name for file in sorted(filled.folder.iterdir())] == ["1-1-unfinished.json", "1-1-unfinished.usearch"]
    assert not reads_an_index(filled)
    assert filled.build() == ROWS - done + ROWS // 2 + 100
    assert len(list(filled.folder.iterdir())) == 4 and reads_an_index(filled) and filled.first(7) == 7


def test_upkeep_shows_it_and_does_it(filled: Filled) -> None:
    with Memory(filled.store.path, embed=Model()) as memory:
        rows = ROWS + ROWS // 2 + 100
        planned = [report for report in memory.upkeep(dry_run=True) if report.verb == "index"]
        assert [(report.dry_run, report.rows) for report in planned] == [(True, rows)] and not filled.folder.exists()
        done = [report for report in memory.upkeep() if report.verb == "index"]
        [said] = [(report.rows, report.advice) for report in done]
        assert said[0] == rows and said[1] is not None
        assert re.fullmatch(r"(made an index of [\d,]+ vectors on shelf \d in \d+ s(; )?){2}", said[1])
        assert [report for report in memory.upkeep() if report.verb == "index"] == []
    assert reads_an_index(filled)


def test_upkeep_makes_an_index_of_what_was_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the front door, with a journal of more than one link."""
    monkeypatch.setattr(ann, "LEAST_ROWS", 50)
    with Memory(tmp_path / "memory.db") as memory:
        memory.remember_many([f"Note {n} about cats, {n * 31} of them" for n in range(300)])
        memory.remember("The last of all notes is about violins")
        [report] = [report for report in memory.upkeep() if report.verb == "index"]
        assert report.rows == 301 and report.advice and report.advice.startswith("made an index of 301 vectors")
        assert list(tmp_path.glob("memory.db.ann/*.usearch"))
        memory.remember("A new note is about an orchestra")
        assert [hit.record.number for hit in memory.recall("orchestra", limit=1)] == [302]
        assert [report for report in memory.upkeep() if report.verb == "index"] == []


def test_a_whole_shelf_is_not_held_for_long_beside_its_index(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, cache = clustered(1)[0], filled.store._vector_cache
    filled.near(asked)
    filled.build()
    filled.near(asked)
    assert sorted(indexed for _, _, indexed in cache._held) == [False, True]
    monkeypatch.setattr(vector_cache, "UNUSED", 0.0)
    filled.near(asked)
    assert [indexed for _, _, indexed in cache._held] == [True]
    filled.near(asked, exact=True)
    assert [indexed for _, _, indexed in cache._held] == [False]


def test_files_that_no_shelf_needs_are_taken_away(filled: Filled) -> None:
    filled.build()
    with filled.store.transaction():
        filled.store.set_generation(filled.generation.id, "retired")
    assert Index.of(filled.store).has_work()
    filled.build()
    assert list(filled.folder.iterdir()) == []


def test_a_disk_that_takes_nothing_is_no_trouble_for_questions(filled: Filled) -> None:
    filled.folder.write_text("in the way")
    with Memory(filled.store.path, embed=Model()) as memory:
        [report] = [report for report in memory.upkeep() if report.verb == "index"]
    assert report.advice and "could not be written" in report.advice
    assert filled.first(7) == 7


# ---------------------------------------------------------------- erasing


def test_erasing_takes_every_index_away(filled: Filled) -> None:
    filled.build()
    with Memory(filled.store.path, embed=Model()) as memory:
        memory.erase(filled.records[7].id)
    assert not filled.folder.exists()
    near = filled.near(filled.vectors[filled.records[7].number], limit=50)
    assert filled.records[7].number not in dict(near.hits)
    filled.build()
    assert reads_an_index(filled)


def test_an_index_that_was_begun_before_an_erasure_is_given_up(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann_build, "AT_ONCE", 20)
    steps = Index.of(filled.store).steps()
    next(steps)
    with Memory(filled.store.path, embed=Model()) as memory:
        memory.erase(filled.records[7].id)
    list(steps)
    assert [file.name for file in filled.folder.iterdir() if file.name.startswith("1-1")] == []
    assert reads_an_index(filled, OTHER) and not reads_an_index(filled)


def test_an_index_that_cannot_be_removed_is_named(filled: Filled) -> None:
    filled.build()
    (filled.folder / "kept").mkdir()
    with filled.store.transaction():
        filled.store.erase([a_tombstone(filled.records[7])])
    assert "could not be removed" in (filled.store.scrub(()) or "")
    (filled.folder / "kept").rmdir()
    assert filled.store.scrub(()) is None and not filled.folder.exists()


# ---------------------------------------------------------------- several processes


@needs_fork
def test_what_another_process_does_is_seen(filled: Filled) -> None:
    """It builds, writes and erases; we have the file open all the while."""
    assert filled.first(7) == 7
    path, victim = filled.store.path, filled.records[7]

    def work(say: object) -> None:
        with closing(SqliteStore(path)) as store:
            other = Filled(store, filled.generation, filled.records, dict(filled.vectors))
            other.build()
            other.put({filled.records[9].number: -clustered(1, seed=41)[0]})

    def erase(say: object) -> None:
        with Memory(path, embed=Model()) as memory:
            memory.erase(victim.id)

    Child(work).end()
    assert filled.folder.exists()
    assert filled.near(-clustered(1, seed=41)[0]).hits[0][0] == filled.records[9].number
    assert reads_an_index(filled)
    Child(erase).end()
    assert not filled.folder.exists()
    assert victim.number not in dict(filled.near(filled.vectors[victim.number], limit=50).hits)
