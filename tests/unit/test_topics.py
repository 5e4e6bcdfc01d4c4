"""Topics, by which a write finds what may contradict it: made for what was stored before there were any, kept in step with the
text, looked at by the doctor."""

import hashlib
from pathlib import Path

import apsw
import pytest

from memorist import Memory
from memorist.store.index import RULES, stated
from unit.near_misses import conflicts, near_misses

OF_THE_RULES = {"2": "77f83a4a9936bfec"}


def topics_of_the_corpus() -> str:
    texts = sorted(
        {text for make in (near_misses, conflicts) for pair in make(40, 1) for text in (pair.first, pair.second)}
    )
    return hashlib.sha256(repr([(text, stated(text)) for text in texts]).encode()).hexdigest()[:16]


def test_other_topics_are_other_rules() -> None:
    """If this fails, count `RULES` up: stores that were made before are then brought up to date."""
    assert topics_of_the_corpus() == OF_THE_RULES[RULES]


def run(path: Path, *statements: str) -> None:
    one = apsw.Connection(str(path))
    for statement in statements:
        one.execute(statement)
    one.close()


@pytest.mark.covers("X10")
@pytest.mark.parametrize(
    "mark", ["DELETE FROM settings WHERE name = 'topics'", "UPDATE settings SET value = '0' WHERE name = 'topics'"]
)
def test_what_was_stored_before_there_were_topics_is_found_by_what_contradicts_it(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, embed="none") as memory:
        old = memory.remember("Anna lives in Rome")
    run(path, "DELETE FROM topics", "INSERT INTO topics VALUES (7, 1)", mark)
    with Memory(path, embed="none") as memory:
        memory.remember("Anna lives in Lima")
        assert memory.get(old.id).state == "superseded"
        assert all(finding.ok for finding in memory.doctor())


def test_the_doctor_sees_lost_topics_and_heals_them(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, embed="none") as memory:
        old = memory.remember("Anna lives in Rome")
    run(path, "DELETE FROM topics")
    with Memory(path, embed="none") as memory:
        assert [finding.check for finding in memory.doctor() if not finding.ok] == ["topics"]
        memory.doctor(repair=True)
        assert all(finding.ok for finding in memory.doctor())
        memory.remember("Anna lives in Lima")
        assert memory.get(old.id).state == "superseded"


def test_topics_go_with_what_is_erased(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, embed="none") as memory:
        old = memory.remember("Anna lives in Rome")
        memory.revise(old.id, "Anna lives in Oslo")
        memory.erase(old.id)
    one = apsw.Connection(str(path))
    assert one.execute("SELECT count(*) FROM topics").get == 0
