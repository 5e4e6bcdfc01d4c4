"""Row 16: all backends pass one conformance suite, including operators on missing values and tag filters (W0-9, C0-6).

A backend that nobody put under the contract would be one that silently ignores a filter, so the classes are counted; and
the table of filters is asked of all of them at once, so that they agree with one another and not only with the table.
"""

import ast
from pathlib import Path

import pytest

import memorist.store
from contract import test_stores
from memorist.store.open import open_store as opened
from memorist.store.protocol import Store
from memorist.store.where import Where, order_of
from memorist.testing import EVERYWHERE, StoreContract, stored
from memorist.testing.contract import FILTERED, FILTERS

PLACES = ("memory.db", ":memory:", "memory.json")


def store_classes() -> set[str]:
    """Every class of the package that is called a store, but for the protocol itself."""
    folder = Path(memorist.store.__file__).parent
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py"))
    names = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return {name for name in names if name.endswith("Store") and name != "Store"}


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, Store]:
    return {place: opened(place if place == ":memory:" else str(tmp_path / place), 30.0) for place in PLACES}


@pytest.mark.covers("W0-9", "S0-5")
def test_every_store_is_under_the_contract_and_can_be_opened(tmp_path: Path, stores: dict[str, Store]) -> None:
    tested = [cls for cls in vars(test_stores).values() if isinstance(cls, type) and issubclass(cls, StoreContract)]
    made = {type(cls().make(tmp_path)).__name__ for cls in tested if cls is not StoreContract}
    assert made == store_classes() == {type(store).__name__ for store in stores.values()}


@pytest.mark.covers("W0-9", "C0-6", "S0-3", "S0-4", "S0-5")
def test_every_store_answers_every_filter_alike(stores: dict[str, Store]) -> None:
    records = {name: stored(store, *FILTERED) for name, store in stores.items()}
    assert len({tuple(kept) for kept in ([r.id for r in kept] for kept in records.values())}) == 1
    for filter, expected in FILTERS:
        where = Where.of(EVERYWHERE, filter)
        for key in ("-number", "title", "importance", "-valid_from"):
            found = {name: store.find(where, order_of(key), 9) for name, store in stores.items()}
            assert found["memory.db"] == found[":memory:"] == found["memory.json"], (filter, key)
            assert sorted(record.text for record in found["memory.json"]) == sorted(expected), filter
        assert {sum(store.count(where).values()) for store in stores.values()} == {len(expected)}, filter
