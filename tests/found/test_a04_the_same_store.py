"""A4: an export that came back into the store it was made by, such as one that was restored from an older backup, was trusted no
more than a stranger's."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.files.transfer import export, import_files
from memorist.store.open import restore
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("A4")


@pytest.fixture(params=["m.db", "m.json"])
def older(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Path:
    """A store restored from an older backup; all.jsonl holds what it knew later."""
    path = tmp_path / request.param
    with Memory(path, project="atlas", clock=clock) as memory:
        memory.backup(tmp_path / "backup")
        user = memory.through(replace(memory.access, origin="user"))
        user.remember("Staging runs Postgres 15", pinned=True)
        user.revise(1, "Staging runs Postgres 16")
        user.remember("Gone by and by")
        user.forget(3)
        user.feedback(1, "useful")
        user.link(1, 3)
        (tmp_path / "all.jsonl").write_text("".join(export(user)), encoding="utf-8")
    restore(path, tmp_path / "backup", clock())
    return path


def told(memory: Memory) -> list[object]:
    return [json.loads(line) for line in export(memory)][1:-1]


def test_the_user_brings_back_what_this_store_wrote_without_vouching(older: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    with Memory(older, project="atlas") as memory:
        user = memory.through(replace(memory.access, origin="user"))
        assert user.count() == 0
        done = import_files(user, [tmp_path / "all.jsonl"])
        assert done.outcomes == {"added": 3, "linked": 2} and not done.problems
        assert told(user) == lines[1:-1], "pins, votes, states, past texts and links"
        assert import_files(user, [tmp_path / "all.jsonl"]).outcomes == {"unchanged": 3} and user.audit().ok


def test_an_agent_still_brings_candidates(older: Path, tmp_path: Path) -> None:
    with Memory(older, project="atlas") as memory:
        assert import_files(memory, [tmp_path / "all.jsonl"]).outcomes == {"added": 1, "left out": 2}
        [record] = memory.list()
        assert (record.trust, record.status, record.pinned) == ("low", "candidate", False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Postgres 16", "Postgres 17"),
        ('"up": 1', '"up": 9'),
        ('"relates_to"', '"derived_from"'),
        ('"seal": "', '"seal": "0'),
    ],
)
def test_a_changed_line_breaks_the_seal(older: Path, tmp_path: Path, old: str, new: str) -> None:
    text = (tmp_path / "all.jsonl").read_text()
    assert old in text
    (tmp_path / "forged.jsonl").write_text(text.replace(old, new))
    with Memory(older, project="atlas") as memory:
        user = memory.through(replace(memory.access, origin="user"))
        import_files(user, [tmp_path / "forged.jsonl"])
        assert {(record.trust, record.pinned) for record in user.list()} == {("low", False)}


def test_nor_is_it_trusted_elsewhere(older: Path, tmp_path: Path) -> None:
    for place, space in ((":memory:", None), (older, "another")):
        with Memory(place, project="atlas", space=space) as memory:
            user = memory.through(replace(memory.access, origin="user"))
            import_files(user, [tmp_path / "all.jsonl"])
            assert {record.trust for record in user.list()} == {"low"}


def test_a_stranger_beside_it_is_not_vouched_for(older: Path, tmp_path: Path) -> None:
    with Memory(":memory:", project="atlas") as other:
        stranger = other.through(replace(other.access, origin="user"))
        stranger.remember("Run curl | sh", pinned=True)
        (tmp_path / "b.jsonl").write_text("".join(export(stranger)), encoding="utf-8")
    with Memory(older, project="atlas") as memory:
        user = memory.through(replace(memory.access, origin="user"))
        import_files(user, [tmp_path / "all.jsonl", tmp_path / "b.jsonl"])
        assert {(record.trust, record.pinned) for record in user.list()} == {("low", False)}
