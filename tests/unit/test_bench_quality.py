"""The quality run from end to end, on our own set: what it measures is far above chance, and it says what it did."""

import json
import math
from pathlib import Path

import pytest

from bench import pages, quality, report
from bench.__main__ import main
from bench.baselines import Baselines
from bench.sets import Document, Question, Shelf, TestSet
from bench.synthetic import synthetic


def test_the_tables_name_every_way_and_mark_what_proves_little() -> None:
    test = synthetic()
    small = TestSet("tiny", "Tiny", tuple(Shelf(s.name, s.documents[:30], s.questions) for s in test.shelves))
    text = report.of_set(small, "abc", quality.run(small, None, None, lambda line: None))
    for word in ("memorist", "recency", "words", "rec@10*", "proves little", "(abc)"):
        assert word in text


def test_the_plain_ways_rank_as_their_names_say() -> None:
    numpy = pytest.importorskip("numpy")
    texts = ("red cup", "green hat", "red hat")
    shelf = Shelf("s", tuple(Document(str(n), text) for n, text in enumerate(texts)), ())

    def embed(some: object) -> object:
        return numpy.array([[("red" in text), ("hat" in text)] for text in some], dtype=numpy.float32)  # type: ignore[attr-defined]

    plain = Baselines.of(shelf, "porter unicode61", embed)  # type: ignore[arg-type]
    found = plain.rankings(Question("q", 'the "red" hats?'), 3)
    assert found["recency"] == ["2", "1", "0"]
    for way in ("words", "meaning", "z-sum", "RRF 60", "RRF 10"):
        assert found[way][0] == "2", way
    assert plain.rankings(Question("q", "?!"), 3)["words"] == []


def test_twins_that_are_stored_once_count_once(tmp_path: Path) -> None:
    documents = (Document("1", "The lamp is in the attic"), Document("2", "The lamp is in the attic"))
    shelf = Shelf("s", documents, (Question("q", "where is the lamp?", frozenset({"1", "2"})),))
    test = TestSet("twins", "Twins", (shelf,), kind="fact", search="memory")
    (answers,) = quality.ask_all(test, tmp_path / "t.db", None)
    assert set(answers) == {"memorist", "memorist, cut off"}
    answer = answers["memorist"]
    assert answer.ids == ["1"] and answer.question.gold == {"1"}


def test_the_command_writes_both_files_part_by_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages.keep(tmp_path, "growth", "grown before", pages.about("none"), [{"a": 1.23456, "b": math.nan}])
    nowhere = tmp_path / "nowhere"
    assert main(["--quality", "--data", str(nowhere), "--into", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert f"{nowhere} holds none of the public test sets" in said and "Synthetic" in said
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert page.index("Synthetic chats") < page.index("grown before")
    data = json.loads((tmp_path / "benchmarks.json").read_text(encoding="utf-8"))
    assert set(data) == {"growth", "quality synthetic"} and data["growth"]["found"] == [{"a": 1.235, "b": None}]


def test_a_set_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--set", "locomo", "--data", str(tmp_path)]) == 0
    assert f"{tmp_path / 'locomo-dev.json.gz'} is not there" in capsys.readouterr().out
