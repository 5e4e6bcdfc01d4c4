"""Every store keeps the contract, and what SQLite computes in SQL is what the oracle computes in Python.

The contract's examples were chosen by a person; the properties below look where no person would: values of every type
against filters of every type, and words, states and shelves in any order.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import rounds
from contract.oracle import Oracle
from memorist.access import Access
from memorist.kinds import LAYERS
from memorist.records import Counters, Provenance, Record, Times
from memorist.store.json_file.store import JsonFileStore
from memorist.store.nouns import Commit, Counted, Shelf
from memorist.store.protocol import Store
from memorist.store.sqlite import SqliteStore
from memorist.store.where import FIELDS, OPERATORS, SORT_KEYS, Order, Where, type_of, value_of
from memorist.testing import EVERYWHERE, START, StoreContract, a_record, sealed, stored
from memorist.text.words import query_terms

PROPERTY = settings(max_examples=rounds(2000))


@pytest.mark.covers("S0-3", "S0-4", "C0-6", "W0-9", "P20")
class TestSqlite(StoreContract):
    def make(self, tmp_path: Path) -> Store:
        return SqliteStore(tmp_path / "memory.db")


@pytest.mark.covers("S0-3", "S0-4", "C0-6", "W0-9", "P20")
class TestInMemory(StoreContract):
    def make(self, tmp_path: Path) -> Store:
        return SqliteStore()


@pytest.mark.covers("S0-3", "S0-4", "S0-5", "C0-6", "W0-9", "P20")
class TestJsonFile(StoreContract):
    def make(self, tmp_path: Path) -> Store:
        return JsonFileStore(tmp_path / "memory.json")


# ---------------------------------------------------------------- stores to compare with the oracle


class Undone(Exception):
    """Raised to take an example's records back."""


@contextmanager
def undone(store: Store) -> Iterator[None]:
    """A store that is empty again afterwards: a new file for each example would cost more than the example."""
    try:
        with store.transaction():
            yield
            raise Undone
    except Undone:
        assert store.size().records == 0


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, ...]]:
    stores = SqliteStore(tmp_path_factory.mktemp("stores") / "memory.db"), SqliteStore()
    yield stores
    for store in stores:
        store.close()


# ---------------------------------------------------------------- any record, any filter

QUIRKS = ("", "0", "3", "-1", "1.0", "true", "null", '"', "'", "\\", "\\u0041", "%", "_", "*", "[1]", '{"k":1}', "\n",
          "\t", "\x7f", "é", "e\u0301", "ß", "SS", "İ", "\u200d", "\u2028", "\ufeff", "\ufffd", "🐘", "\U0010ffff",
          "日本語", "ا")  # fmt: skip
CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\x00")
TEXTS = st.one_of(st.sampled_from(QUIRKS), st.text(CHARACTERS, max_size=5))
MAYBE = st.none() | TEXTS
NUMBERS = st.one_of(
    st.integers(-2, 3),
    st.integers(1 - 2**63, 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.1, 0.1 + 0.2, -0.0, 2.0**53, 2**53 + 1, 1e308, 5e-324, 1e22, 9007199254740993.0]),
)
TIMES = st.one_of(
    st.integers(-3, 3).map(lambda hours: START + timedelta(hours=hours)),
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
UNSTORABLE = st.sampled_from(["\x00", "k\x00", "\ud800"])  # in no record, but a filter may ask for them
KEYS = ("k", "K", "a.b", 'q"', "\\", "é", "0", "[0]", "$", "\n")
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=2),
    max_leaves=5,
)
LABELS = st.lists(TEXTS.filter(bool), max_size=3, unique=True).map(tuple)
SHARES = st.floats(0, 1) | st.sampled_from([0, 1, 0.5])
COUNTS = st.integers(0, 3)
RECORDS = st.builds(
    a_record,
    text=TEXTS,
    space=st.sampled_from(["default", "other"]),
    scope=st.sampled_from(["project/atlas", "project/atlas2", "global"]),
    kind=st.sampled_from(["fact", "turn", "own kind"]),
    times=st.builds(Times, TIMES, TIMES, TIMES, st.none() | TIMES, st.none() | TIMES, st.none() | TIMES),
    title=MAYBE,
    tags=LABELS,
    files=LABELS,
    data=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=2),
    pinned=st.booleans(),
    state=st.sampled_from(["active", "archived", "superseded", "erased"]),
    reason=MAYBE,
    importance=SHARES,
    confidence=SHARES,
    counters=st.just(Counters()) | st.builds(Counters, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS),
    provenance=st.builds(Provenance, TEXTS, TEXTS, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE),
    season=MAYBE,
    fingerprint=TEXTS,
    version=st.integers(1, 3),
    superseded_by=MAYBE,
)
ACCESSES = st.sampled_from(
    [EVERYWHERE, replace(EVERYWHERE, space="other"), Access(reads=("*", "project/atlas")), Access(reads=("global",))]
)


def askable(value: Any) -> bool:
    """A filter compares with anything but a dict."""
    if isinstance(value, list | tuple):
        return all(askable(each) for each in value)
    return not isinstance(value, dict)


@st.composite
def parts(draw: st.DrawFn, records: Sequence[Record], names: Sequence[str]) -> tuple[str, Any]:
    """One entry of a filter, more often than not with a value that some record has."""
    field = draw(st.sampled_from(names))
    many = type_of(field) in ("list", "any")
    held = [value_of(record, field) for record in records]
    held += [each for value in held if isinstance(value, list | tuple) for each in value]
    held = [value for value in held if askable(value) and (many or not isinstance(value, list | tuple))]
    anything = SCALARS | UNSTORABLE | TIMES if type_of(field) != "time" else st.none() | NUMBERS | TIMES
    value = st.sampled_from(held) | anything if held else anything
    op = draw(st.sampled_from([None, *OPERATORS]))
    wanted = draw(st.lists(value, max_size=3) if op in ("in", "any") else value)
    return field, wanted if op is None and not isinstance(wanted, tuple) else {f"${op or 'eq'}": wanted}


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Record], Where]:
    records = draw(st.lists(RECORDS, max_size=4))
    names = (*FIELDS, *(f"data.{key}" for key in KEYS))
    filter = dict(draw(st.lists(parts(records, names), max_size=2)))
    return records, Where.of(draw(ACCESSES), filter)


def keep(store: Store, records: Sequence[Record]) -> list[Record]:
    """Stores the records with their counters, and gives them back with their numbers."""
    kept = stored(store, *records)
    counted = [Counted(record.id, record.counters, record.times.used) for record in records]
    store.write(Commit(counted=[each for each in counted if each.counters != Counters() or each.used]))
    return kept


@pytest.mark.covers("S0-3", "S0-4", "C0-6", "W0-9", "P20")
@PROPERTY
@given(cases(), st.sampled_from(SORT_KEYS), st.booleans(), st.integers(1, 5))
def test_find_and_count_are_what_matches_says(
    stores: tuple[Store, ...], case: tuple[list[Record], Where], key: str, ascending: bool, limit: int
) -> None:
    records, where = case
    for store in stores:
        with undone(store):
            oracle = Oracle.of(keep(store, records))
            assert store.count(where) == oracle.count(where)
            assert store.find(where, Order(key, ascending), limit) == oracle.find(where, Order(key, ascending), limit)
            ids = [record.id for record in records]
            assert store.get(ids, where) == oracle.get(ids, where)
            assert store.get([record.number for record in oracle.records.values()], where) == oracle.get(ids, where)


# ---------------------------------------------------------------- any words

WORDS = ("postgres", "Postgres", "läuft", "LÄUFT", "don't", "C++", "a_b", "x·y", 'say"so', "v1.5", "OR", "NOT", "NEAR(",
         "col:", "日本語", "東京タワー", "한국어", "ไทย", "é", "e\u0301", "🐘", "l'été", "foo-bar", "src/main.py",
         "the", "is", "running", "10.000", "ﬁne", "²", "İstanbul", "ß", "\u00ad", "*", "^", "naïve")  # fmt: skip
PLAIN = st.sampled_from(["postgres", "staging", "postgres on staging"])  # few, so that scores are often equal
SENTENCES = PLAIN | st.lists(st.sampled_from(WORDS) | st.text(CHARACTERS, max_size=4), max_size=8).map(" ".join)
LONG = SENTENCES.map(lambda text: (text + " and so on. ") * 150)
OTHERWISE = st.fixed_dictionaries(
    {
        "text": SENTENCES | LONG,
        "scope": st.sampled_from(["project/atlas", "global"]),
        "kind": st.sampled_from(["fact", "turn", "document"]),
        "state": st.sampled_from(["active", "archived", "erased"]),
        "tags": st.lists(st.sampled_from(WORDS), max_size=2, unique=True).map(tuple),
        "pinned": st.booleans(),
    }
)
WRITES = st.tuples(st.integers(0, 2), st.fixed_dictionaries({"text": PLAIN}) | OTHERWISE)
ALL_SHELVES = [Shelf("default", scope, layer) for scope in ("project/atlas", "global", "user/x") for layer in LAYERS]
SHELVES = st.just(ALL_SHELVES[:1]) | st.just(ALL_SHELVES) | st.lists(st.sampled_from(ALL_SHELVES), unique=True)


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[Record], Where]:
    """Writes in their order; a record written again is replaced."""
    writes = [a_record(id=f"m{which}", **changes) for which, changes in draw(st.lists(WRITES, max_size=8))]
    some = parts(writes, ("kind", "tags", "pinned", "text", "state")).map(lambda part: dict([part]))
    return writes, Where.of(draw(ACCESSES), draw(st.none() | some))


def found(store: Store, query: str, shelves: Sequence[Shelf], where: Where, limit: int) -> tuple[Any, ...]:
    answer = store.match(query_terms(query, 64), shelves, where, limit)
    return list(answer.scores.items()), answer.yardstick.ceiling


@pytest.mark.covers("W0-9", "P20")
@PROPERTY
@given(corpora(), SENTENCES, SHELVES, st.integers(1, 4))
def test_words_are_matched_alike_to_the_last_digit(
    stores: tuple[Store, ...], corpus: tuple[list[Record], Where], query: str, shelves: list[Shelf], limit: int
) -> None:
    writes, where = corpus
    oracle = Oracle()
    for record in writes:
        oracle.write(record)
    questions = [(query, shelves, where, limit)]
    questions += [(text, ALL_SHELVES, Where(EVERYWHERE), 9) for text in {record.text: 0 for record in writes}]
    for store in stores:
        with undone(store):
            for record in writes:
                store.write(Commit([sealed(record)]))
            for text, *rest in questions:
                assert found(store, text, *rest) == oracle.match(query_terms(text, 64), *rest)
            assert [finding for finding in store.checkup() if not finding.ok] == []


# ---------------------------------------------------------------- threads


@pytest.mark.parametrize("backend", [TestSqlite, TestInMemory, TestJsonFile])
def test_other_threads_see_whole_transactions(backend: type[StoreContract], tmp_path: Path) -> None:
    store = backend().make(tmp_path)
    odd: list[int] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            count = store.size().records
            if count % 2:
                odd.append(count)

    def write() -> None:
        for _ in range(20):
            with store.transaction():
                store.write(Commit([sealed(a_record("one"))]))
                store.write(Commit([sealed(a_record("other"))]))

    reader, writers = threading.Thread(target=read), [threading.Thread(target=write) for _ in range(3)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert odd == [] and store.count(Where(EVERYWHERE)) == {"project/atlas": 120}
    store.close()
