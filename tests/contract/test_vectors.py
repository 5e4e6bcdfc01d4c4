"""Vectors follow their records, whatever is done in whatever order, and likeness is what plain arithmetic says it is.

Hypothesis invents writes, moves, erasures, generations and transactions that fail, and plays them to a store and to two
dicts; after each step every question must be answered as the dicts answer it.
"""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from conftest import TORTURE
from memorist.kinds import ARCHIVE, LAYERS, MEMORY, TURNS
from memorist.records import Record
from memorist.store.index import CHUNKS, embedded_rows
from memorist.store.json_file.store import JsonFileStore
from memorist.store.nouns import Commit, Generation, Shelf, shelf_of
from memorist.store.packing import direction, pack, unpack
from memorist.store.protocol import Store
from memorist.store.sqlite import SqliteStore
from memorist.store.sqlite import scan as scans
from memorist.store.sqlite.scan import Block, Scan
from memorist.store.sqlite.vectors import block_of, closed
from memorist.store.where import Where
from memorist.testing import EVERYWHERE, a_record, sealed, stored
from memorist.testing.records import a_tombstone

MACHINE = settings(
    max_examples=500 if TORTURE else 14,
    stateful_step_count=40 if TORTURE else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
DIMENSION = 3
SCOPES = ("project/atlas", "global")
SHELVES = [Shelf("default", scope, layer) for scope in SCOPES for layer in (MEMORY, TURNS, ARCHIVE)]
SEEN = Where(EVERYWHERE)
LONG = "One sentence of many. " * 120  # three rows
NUMBERS = st.floats(-10, 10, width=32)
VECTORS = st.lists(NUMBERS, min_size=DIMENSION, max_size=DIMENSION).map(tuple)
PICKS = st.integers(0, 99)


# ---------------------------------------------------------------- a store and two dicts


class Undone(Exception):
    """Raised to take a transaction back."""


class VectorMachine(RuleBasedStateMachine):
    """Records as they should be, and which of their index rows has which vector of which generation."""

    file: str | None = "memory.db"

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memorist-"))
        self.records: dict[int, Record] = {}
        self.vectors: dict[tuple[int, int], bytes] = {}
        self.states: dict[int, str] = {}
        self.layers: dict[int, tuple[str, ...]] = {}

    @initialize()
    def begin(self) -> None:
        self.store = self.opened()
        self.add_generation(LAYERS)

    def opened(self) -> Store:
        if self.file is None:
            return SqliteStore()
        path = self.folder / self.file
        return JsonFileStore(path) if path.suffix == ".json" else SqliteStore(path)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            findings = self.store.checkup()
            self.store.close()
            assert [finding for finding in findings if not finding.ok] == []
        shutil.rmtree(self.folder)

    @rule(
        text=st.sampled_from(["a", "b", LONG]),
        scope=st.sampled_from(SCOPES),
        kind=st.sampled_from(["fact", "turn"]),
        count=st.sampled_from([1, 1, 1, 20]),
    )
    def write(self, text: str, scope: str, kind: str, count: int) -> None:
        made = stored(self.store, *(a_record(text, scope=scope, kind=kind) for _ in range(count)))
        self.records |= {record.number: record for record in made}

    @precondition(lambda self: self.records)
    @rule(
        pick=PICKS,
        changes=st.sampled_from(
            [{"state": "archived"}, {"state": "active"}, {"scope": "global"}, {"scope": SCOPES[0]}, {"kind": "turn"},
             {"text": "a"}, {"text": LONG}, {"title": "T"}, {"title": None}, {"tags": ("x",)}, {"pinned": True}]
        ),
        fails=st.booleans(),
    )  # fmt: skip
    def change(self, pick: int, changes: dict[str, object], fails: bool) -> None:
        old = list(self.records.values())[pick % len(self.records)]
        if old.state == "erased":
            return
        new = replace(old, **changes)
        try:
            with self.store.transaction():
                self.store.write(Commit([sealed(new)]))
                if fails:
                    self.asked()  # what was not committed must not stay in any cache
                    raise Undone
        except Undone:
            return
        self.records[new.number] = new
        if (old.text, old.title) != (new.text, new.title):
            self.forget(new.number)
        self.forget_astray()

    @precondition(lambda self: self.records)
    @rule(pick=PICKS)
    def erase(self, pick: int) -> None:
        old = list(self.records.values())[pick % len(self.records)]
        with self.store.transaction():
            self.store.erase([a_tombstone(old)])
        self.records[old.number] = replace(old, text="", title=None, state="erased")
        self.forget(old.number)

    def here(self, generation: int, record: Record) -> bool:
        return shelf_of(record).layer in self.layers[generation]

    def forget_astray(self) -> None:
        """What lies on a layer that its generation is not for, or no longer."""
        self.vectors = {key: v for key, v in self.vectors.items() if self.here(key[0], self.records[key[1] // CHUNKS])}

    def forget(self, number: int) -> None:
        self.vectors = {key: vector for key, vector in self.vectors.items() if key[1] // CHUNKS != number}

    @precondition(lambda self: self.records)
    @rule(pick=PICKS, many=st.booleans(), vector=VECTORS, fails=st.booleans())
    def embed(self, pick: int, many: bool, vector: tuple[float, ...], fails: bool) -> None:
        open = [id for id, state in self.states.items() if state != "retired"]
        if not open:
            return
        generation, chosen = open[pick % len(open)], list(self.records.values())
        some = chosen if many else [chosen[pick % len(chosen)]]
        rows = [row for record in some if self.here(generation, record) for row in embedded_rows(record)]
        packed = dict(zip(rows, pack([np.roll(vector, row // CHUNKS) for row in rows]), strict=True))
        try:
            with self.store.transaction():
                self.store.put_vectors(generation, packed)
                if fails:
                    self.asked()
                    raise Undone
        except Undone:
            return
        self.vectors |= {(generation, row): vector for row, vector in packed.items()}

    @rule(layers=st.sampled_from([LAYERS, (MEMORY,), (TURNS, ARCHIVE)]))
    def add_generation(self, layers: tuple[str, ...]) -> None:
        with self.store.transaction():
            made = self.store.save_generation(Generation(0, f"model {len(self.states)}", DIMENSION, "filling", layers))
        assert made.id > max(self.states, default=0)
        self.states[made.id], self.layers[made.id] = "filling", layers

    @rule(pick=PICKS, state=st.sampled_from(["current", "current", "retired"]))
    def set_generation(self, pick: int, state: str) -> None:
        if not self.states:
            return
        chosen = list(self.states)[pick % len(self.states)]
        with self.store.transaction():
            self.store.save_generation(Generation(chosen, "model", DIMENSION, state, self.layers[chosen]))
        for other in [id for id, was in self.states.items() if (state, was) == ("current", "current") and id != chosen]:
            left = tuple(layer for layer in self.layers[other] if layer not in self.layers[chosen])
            self.states[other], self.layers[other] = "current" if left else "retired", left or self.layers[other]
        self.states[chosen] = state
        self.forget_astray()

    @rule(most=st.integers(1, 9))
    def drop(self, most: int) -> None:
        for id in list(self.states):
            if self.states[id] != "retired":  # of what it has lost, how much there is is the store's own affair
                with self.store.transaction():
                    assert self.store.drop_vectors(id, most) <= most
                continue
            had = [key for key in self.vectors if key[0] == id]
            with self.store.transaction():
                gone = self.store.drop_vectors(id, most)
            assert min(most, len(had)) <= gone <= most
            if id not in {each.id for each in self.store.generations()}:
                del self.states[id]
                self.vectors = {key: vector for key, vector in self.vectors.items() if key[0] != id}
            else:  # which ones went is the store's own affair
                left = {piece.row for piece in self.store.unembedded(id, numbers=list(self.records))}
                self.vectors = {
                    key: vector for key, vector in self.vectors.items() if key[0] != id or key[1] not in left
                }
                assert len([key for key in self.vectors if key[0] == id]) >= len(had) - most

    @precondition(lambda self: self.file)
    @rule(closing=st.booleans())
    def reopen(self, closing: bool) -> None:
        if closing:
            self.store.close()
        self.store = self.opened()

    def asked(self) -> None:
        for id in self.states:
            self.store.nearest(id, np.ones(DIMENSION, np.float32), SHELVES, SEEN, 5)

    @invariant()
    def both_answer_the_same(self) -> None:
        if not hasattr(self, "store"):
            return
        known = {each.id: (each.state, each.layers) for each in self.store.generations()}
        assert known == {id: (state, self.layers[id]) for id, state in self.states.items()}
        question = np.array([1, 2, -1], np.float32)
        for id, state in self.states.items():
            rows = {row: vector for (generation, row), vector in self.vectors.items() if generation == id}
            fitting = [record for record in self.records.values() if self.here(id, record)]
            missing = [row for record in fitting for row in embedded_rows(record) if row not in rows]
            assert [piece.row for piece in self.store.unembedded(id, 0, 10_000)] == sorted(missing)
            assert [piece.row for piece in self.store.unembedded(id, numbers=list(self.records))] == sorted(missing)
            for shelves in (SHELVES, *([shelf] for shelf in SHELVES)):
                here = {row: v for row, v in rows.items() if shelf_of(self.records[row // CHUNKS]) in shelves}
                expected = likeness(question, here if state != "retired" else {})
                found = self.store.nearest(id, question, shelves, SEEN, 10_000)
                assert dict(found.hits) == pytest.approx(expected, abs=1e-5)
                assert found.rows == (len(here) if state != "retired" else 0)
                assert self.store.similarities(id, question, shelves, list(self.records)) == pytest.approx(
                    expected, abs=1e-5
                )


class VectorsInRam(VectorMachine):
    file = None


class VectorsInJson(VectorMachine):
    file = "memory.json"


def likeness(question: np.ndarray, rows: dict[int, bytes]) -> dict[int, float]:
    """The best cosine of each record, the plain way."""
    best: dict[int, float] = {}
    for row, vector in rows.items():
        cosine = float(unpack([vector])[0] @ (question / np.linalg.norm(question)))
        best[row // CHUNKS] = max(cosine, best.get(row // CHUNKS, -2))
    return best


@pytest.mark.covers("P20")
@pytest.mark.parametrize("machine", [VectorMachine, VectorsInRam, VectorsInJson])
def test_vectors_follow_their_records(machine: type[VectorMachine]) -> None:
    run_state_machine_as_test(machine, settings=MACHINE)


# ---------------------------------------------------------------- the arithmetic

ROWS = st.integers(1, 3 * 15 * CHUNKS // 500).map(lambda n: n * 500)


@given(st.lists(st.dictionaries(ROWS, VECTORS, max_size=30), max_size=12), VECTORS, st.integers(1, 9))
def test_a_scan_finds_what_plain_arithmetic_finds(
    steps: list[dict[int, tuple[float, ...]]], asked: tuple[float, ...], limit: int
) -> None:
    """Blocks come, grow, shrink and go; what is left is compared row by row."""
    scan, rows = Scan(DIMENSION), dict[int, bytes]()
    for number, step in enumerate(steps):
        changed = {block_of(row) for row in step}
        rows = {row: vector for row, vector in rows.items() if block_of(row) not in changed or number % 2}
        rows |= dict(zip(step, pack(list(step.values())), strict=True))
        blocks = [Block(b, *closed({r: v for r, v in rows.items() if block_of(r) == b})) for b in sorted(changed)]
        scan.fill(blocks) if number % 3 else [scan.put(block) for block in blocks]
        scan = scan.copy() if number % 4 == 3 else scan
    question = direction(asked, DIMENSION)
    expected = likeness(question if question.any() else np.array([1, 0, 0]), rows)
    expected = expected if question.any() else dict.fromkeys(expected, 0.0)
    found = scans.nearest([scan], question, limit, False, None)
    assert found.rows == scan.count == len(rows)
    assert [cosine for _, cosine in found.hits] == pytest.approx(
        sorted(expected.values(), reverse=True)[:limit], abs=1e-5
    )
    assert all(cosine == pytest.approx(expected[number], abs=1e-5) for number, cosine in found.hits)
    every = [float(unpack([vector])[0] @ question) for vector in rows.values()]
    if every:
        assert (found.mean, found.spread) == pytest.approx((np.mean(every), np.std(every)), abs=1e-3)
    assert scan.of(question, [1, 2, 40]) == pytest.approx(
        {n: expected[n] for n in (1, 2, 40) if n in expected}, abs=1e-5
    )


@given(st.lists(VECTORS, min_size=1, max_size=20))
def test_packing_is_stable_and_unpacking_gives_the_direction(vectors: list[tuple[float, ...]]) -> None:
    packed = pack(vectors)
    assert [pack([vector]) for vector in vectors] == [[each] for each in packed]
    back, given = unpack(packed), np.array(vectors, np.float32)
    assert pack(back) == packed
    lengths = np.linalg.norm(given.astype(np.float64), axis=1)
    cosines = (back * given).sum(axis=1)[lengths > 1e-30] / lengths[lengths > 1e-30]
    assert (cosines > 0.99).all() and (back[~given.any(axis=1)] == 0).all()


@pytest.mark.parametrize("dimension", [4, 64, 100])
def test_a_large_shelf_is_searched_well_by_signs(monkeypatch: pytest.MonkeyPatch, dimension: int) -> None:
    """Also while it changes, and exactly where the filter leaves few or that is asked for."""
    monkeypatch.setattr(scans, "EXACT_ROWS", 1000)
    monkeypatch.setattr(scans, "SAMPLE", 500)
    chance = np.random.default_rng(3)
    centres = chance.normal(size=(60, dimension))
    vectors = (centres[chance.integers(0, 60, 4000)] + 0.4 * chance.normal(size=(4000, dimension))).astype(np.float32)
    packed = dict(zip(range(CHUNKS, 4001 * CHUNKS, CHUNKS), pack(vectors), strict=True))
    blocks: dict[int, dict[int, bytes]] = {}
    for row, vector in packed.items():
        blocks.setdefault(block_of(row), {})[row] = vector
    scan = Scan(dimension)
    scan.fill(Block(number, *closed(rows)) for number, rows in blocks.items())
    shares = []
    for n in range(30):
        asked = direction(centres[n] + 0.3 * chance.normal(size=dimension), dimension)
        exact = scans.nearest([scan], asked, 10, True, None)
        found = scans.nearest([scan], asked, 10, False, None)
        shares.append(len(dict(exact.hits).keys() & dict(found.hits).keys()) / 10)
        assert (found.mean, found.spread) == pytest.approx((exact.mean, exact.spread), abs=0.05)
        first = next(iter(blocks))
        scan.put(Block(first, *closed({})) if n % 2 else Block(first, *closed(blocks[first])))
    assert np.mean(shares) > (0.98 if dimension > 4 else 0.5)
    rare = scans.nearest([scan], asked, 5, False, lambda numbers: {n for n in numbers if n % 500 == 7})
    every = scans.nearest([scan], asked, 4000, True, None)
    assert dict(rare.hits) == pytest.approx(dict([hit for hit in every.hits if hit[0] % 500 == 7][:5]))


# ---------------------------------------------------------------- several connections


@pytest.fixture(params=["memory.db", "memory.json"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """The same file opened twice, as two processes would."""
    make = SqliteStore if request.param.endswith("db") else JsonFileStore
    one, other = make(tmp_path / request.param), make(tmp_path / request.param)
    yield one, other
    one.close()
    other.close()


def filled(store: Store, count: int = 3) -> tuple[Generation, list[Record]]:
    records = stored(store, *(a_record(f"r{n}") for n in range(count)))
    with store.transaction():
        generation = store.save_generation(Generation(0, "a model", DIMENSION, "filling"))
        rows = [record.number * CHUNKS for record in records]
        store.put_vectors(generation.id, dict(zip(rows, pack([(1, n, 0) for n in range(count)]), strict=True)))
    return generation, records


def numbers_near(store: Store, generation: Generation, shelf: Shelf = SHELVES[0]) -> set[int]:
    asked = np.array([1, 0, 0], np.float32)
    return {number for number, _ in store.nearest(generation.id, asked, [shelf], SEEN, 100_000).hits}


def test_what_one_writes_the_other_sees(two: tuple[Store, Store]) -> None:
    one, other = two
    generation, records = filled(one)
    assert numbers_near(other, generation) == {1, 2, 3}
    stored(other, replace(records[0], state="archived"), replace(records[1], text="another"))
    assert numbers_near(one, generation) == {3} == numbers_near(other, generation)
    assert numbers_near(one, generation, SHELVES[2]) == {1}
    with one.transaction():
        one.put_vectors(generation.id, {2 * CHUNKS: pack([(0, 0, 1)])[0]})
    assert numbers_near(other, generation) == {2, 3}
    with other.transaction():
        other.erase([a_tombstone(records[2])])
        other.save_generation(replace(generation, state="current"))
    assert numbers_near(one, generation) == {2}
    with pytest.raises(Undone), one.transaction():
        one.write(Commit([sealed(replace(records[1], text="another", state="archived"))]))
        assert numbers_near(one, generation) == set() and numbers_near(one, generation, SHELVES[2]) == {1, 2}
        raise Undone
    stored(other, replace(records[0], state="active"))
    assert numbers_near(one, generation) == {1, 2} == numbers_near(other, generation)


def test_many_threads_read_while_one_writes(tmp_path: Path) -> None:
    """Also with so little room that shelves are let go of all the time."""
    store = SqliteStore(tmp_path / "memory.db")
    generation, records = filled(store, 40)
    done, wrong = threading.Event(), list[object]()

    def read() -> None:
        while not done.is_set():
            try:
                found = numbers_near(store, generation) | numbers_near(store, generation, SHELVES[2])
                facts = store.facts(list(found), SHELVES, SEEN)
                if len(facts) != len(found) or not 20 <= len(found) <= 40:  # some may move between the two looks
                    wrong.append(found)
            except Exception as problem:
                wrong.append(problem)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for n in range(60):
        record = records[n % 40]
        stored(store, replace(record, state="archived" if n % 3 else "active"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scans, "MOST_BYTES", 0 if n % 2 else 10**9)
            numbers_near(store, generation)
    done.set()
    for reader in readers:
        reader.join()
    store.close()
    assert wrong == []


def test_generations_that_are_gone_are_let_go_of(two: tuple[Store, Store]) -> None:
    one, other = two
    if not isinstance(other, SqliteStore):
        return
    generation, records = filled(one)
    assert numbers_near(other, generation) == {1, 2, 3}
    with one.transaction():
        one.save_generation(replace(generation, state="retired"))
        assert one.drop_vectors(generation.id, 100) == 3
        newer = one.save_generation(Generation(0, "another model", DIMENSION, "filling"))
        one.put_vectors(newer.id, {records[0].number * CHUNKS: pack([(1, 0, 0)])[0]})
    assert numbers_near(other, newer) == {1}
    assert {id for id, _ in other._vector_cache._held} == {newer.id}


# ---------------------------------------------------------------- what has no vector


@pytest.mark.parametrize("bare", [[1], [100], [40, 41], [1, 60, 100], [2000], [1999, 2000], [15, 1000, 2000], []])
def test_rows_without_a_vector_are_found_wherever_they_are(tmp_path: Path, bare: list[int]) -> None:
    """Among the newest, where they are looked for first, and elsewhere; from any row on."""
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        records = stored(store, *(a_record(f"r{n}", scope=SCOPES[n % 2]) for n in range(2000)))
        with store.transaction():
            generation = store.save_generation(Generation(0, "a model", DIMENSION, "filling"))
            rows = [record.number * CHUNKS for record in records if record.number not in bare]
            store.put_vectors(generation.id, dict.fromkeys(rows, pack([(1, 2, 3)])[0]))
        for after in (0, *(number * CHUNKS for number in bare)):
            wanted = [number * CHUNKS for number in bare if number * CHUNKS > after]
            assert [piece.row for piece in store.unembedded(generation.id, after, 10)] == wanted
            assert [piece.row for piece in store.unembedded(generation.id, after, 1)] == wanted[:1]


# ---------------------------------------------------------------- a process of the version before

OF_BEFORE = {
    "a text": ("UPDATE records SET text = 'another', state = state WHERE number = 20", True),
    "a title": ("UPDATE records SET title = 'another' WHERE number = 20", True),
    "a shelf": ("UPDATE records SET shelf = 2 WHERE number = 20", True),
    "an erasure": ("UPDATE records SET text = '', state = 'erased' WHERE number = 20", True),
    "a tag": ("UPDATE records SET text = text, title = title, shelf = shelf, tags = '[]' WHERE number = 20", False),
}


@pytest.mark.parametrize("change", OF_BEFORE)
def test_vectors_go_when_somebody_who_knows_none_changes_a_record(tmp_path: Path, change: str) -> None:
    """A process of the version before may still run: it writes records and their index rows, and nothing else."""
    sql, makes_stale = OF_BEFORE[change]
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        generation, _ = filled(store, 40)
        stored(store, a_record("elsewhere", scope="global"))
        long = stored(store, a_record(LONG * 40))[0]
        with store.transaction():
            store.put_vectors(generation.id, dict.fromkeys(embedded_rows(long), pack([(1, 1, 1)])[0]))
        assert numbers_near(store, generation) == {*range(1, 41), long.number}
        with closing(apsw.Connection(str(store.path))) as before:
            before.execute(sql)
        group = set(range(15, 30)) if makes_stale else set()  # neighbours share its blocks
        assert numbers_near(store, generation) == {*range(1, 41), long.number} - group
        waiting = {piece.row // CHUNKS for piece in store.unembedded(generation.id, 0, 1000)}
        assert waiting == group | {41}
        with closing(apsw.Connection(str(store.path))) as before:
            before.execute(f"UPDATE records SET text = 'short' WHERE number = {long.number}")
        assert numbers_near(store, generation) == {*range(1, 30)} - group


def test_who_knows_vectors_keeps_those_of_the_neighbours(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        generation, records = filled(store, 10)
        stored(store, replace(records[3], text="another"), replace(records[5], state="archived"))
        assert numbers_near(store, generation) == {*range(1, 11)} - {4, 6}
        assert numbers_near(store, generation, SHELVES[2]) == {6}


@pytest.mark.parametrize("machine", [VectorMachine, VectorsInRam, VectorsInJson])
def test_a_generation_that_is_taken_up_again_is_read_anew(machine: type[VectorMachine]) -> None:
    """Part of its vectors were dropped while it was retired, and the process still had them in memory."""
    state = machine()
    state.begin()
    for _ in range(2):
        state.write(count=1, kind="fact", scope="project/atlas", text="a")
    state.embed(fails=False, many=True, pick=0, vector=(0.0, 0.0, 0.0))
    state.both_answer_the_same()
    state.set_generation(pick=0, state="retired")
    state.drop(most=1)
    state.both_answer_the_same()
    state.set_generation(pick=0, state="current")
    state.both_answer_the_same()
    state.teardown()
