"""Two trees that take turns: every row can be run with the verbs there are, and the table says what was promised."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import turns
from bench.turns import ROWS, Stores, compared


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    stores = Stores(tmp_path_factory.mktemp("turns"))
    stores.fill(dict.fromkeys(turns.SIZES | turns.LARGE, 60))
    yield stores
    stores.close()


@pytest.mark.parametrize("name", ROWS)
def test_every_row_takes_time(stores: Stores, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "QUESTIONS", turns.QUESTIONS[:3])
    monkeypatch.setattr(turns, "STARTS", 1)
    monkeypatch.setattr(turns, "MANY", 60)
    spent = ROWS[name].run(stores, 1)
    assert spent > 0 or name == "context beyond its recall"


def test_the_median_of_the_pairs_counts_and_a_promise_that_is_not_kept_is_marked() -> None:
    recall, listed = "recall, 1,000 memories", "memorist list, cold, 10,000 memories"
    good, kept = compared([(recall, 4.0, 3.0), (recall, 4.0, 9.0), (recall, 4.0, 3.6)])
    assert kept and "0.900" in good and "0.75 – 2.25" in good and "kept (≤ 1)" in good
    slow, kept = compared([(recall, 4.0, 3.0), (listed, 290.0, 210.0)])
    assert not kept and "MISSED (≤ 1.05, 200 ms)" in slow


def test_a_tree_runs_its_own_package(tmp_path: Path) -> None:
    tree = turns.Tree(turns.ROOT, tmp_path, {"1k.db": 20})
    assert tree.run("recall, 1,000 memories", 1) > 0
    tree.close()
    with pytest.raises(SystemExit, match="was to be measured"):
        turns.Tree(tmp_path, tmp_path, {"1k.db": 20})
