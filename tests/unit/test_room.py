"""Room on the disk: `status` tells how much there is, and where it becomes scarce nothing new is stored."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.store import room

MB = 1 << 20
Disk = Callable[[int], None]


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """Sets how much of the disk is free, seen at once."""
    monkeypatch.setattr(room, "LOOKED", 0.0)

    def set_free(free: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))

    set_free(1000 * MB)
    return set_free


@pytest.fixture(params=["memory.db", "memory.json"])
def kept(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("MEMORIST_MIN_FREE", "100 MB")
    with Memory(tmp_path / request.param, project="atlas", embed="none") as memory:
        yield memory


@pytest.mark.covers("N1-8")
def test_where_room_is_scarce_nothing_new_is_stored_and_the_rest_goes_on(kept: Memory, disk: Disk) -> None:
    kept.remember("The ferry leaves at nine")
    extra = kept.remember("The museum opens at ten").id or ""
    disk(50 * MB)
    with pytest.raises(
        StoreUnavailable, match="only 50 MB of the disk are free, and min_free is 100 MB: nothing is st"
    ):
        kept.remember("The bakery closes at six")
    with pytest.raises(StoreUnavailable, match="nothing is stored or revised, while reading, forgetting and erasing"):
        kept.revise(extra, "The museum opens at eleven")
    with pytest.raises(StoreUnavailable, match="min_free"):
        kept.ingest([{"role": "user", "content": "Hello"}], session="s1")
    assert [hit.text for hit in kept.recall("when does the ferry leave?")] == ["The ferry leaves at nine"]
    assert kept.forget(extra) and kept.count() == 1
    disk(100 * MB)
    assert kept.remember("The bakery closes at six").outcome == "added" and kept.audit().ok


@pytest.mark.covers("N1-8")
def test_status_tells_of_the_room_and_of_what_is_not_written_yet(kept: Memory, disk: Disk) -> None:
    kept.remember("The ferry leaves at nine")
    disk(77 * MB)
    kept.recall("when does the ferry leave?")
    told = kept.status()
    assert (told["disk_free"], told["buffered"]) == (77 * MB, 1) and told["bytes"] > 0
    kept._writer.flush()
    assert kept.status()["buffered"] == 0


@pytest.mark.covers("N1-8")
def test_without_the_setting_a_disk_may_be_filled(tmp_path: Path, disk: Disk) -> None:
    disk(0)
    with Memory(tmp_path / "memory.db", embed="none") as memory:
        assert memory.remember("The ferry leaves at nine").outcome == "added"
    with Memory(":memory:", embed="none") as memory:
        assert "disk_free" not in memory.status()
