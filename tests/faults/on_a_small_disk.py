"""Promises P5 and P14 on a real disk of a few megabytes, filled up by a ballast file: `make test-full-disk`.

A disk must be mounted for it, which few systems allow to everybody; where it is not allowed, these fail and say so. That is
why `make test` does not collect this file, while `make torture` names it.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import rounds
from faults.disks import fill, own_disk
from faults.processes import Child
from faults.test_full_disk import assert_whole, in_a_child, line, memorist, texts, write_until_full
from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.files.follow import Follower
from memorist.files.transcripts import file_of, read


@pytest.mark.covers("P5")
def test_a_disk_of_four_megabytes_with_a_ballast(tmp_path: Path) -> None:
    in_a_child(lambda: live_on_a_small_disk(tmp_path))


def live_on_a_small_disk(folder: Path) -> None:
    own_disk(folder, "4m")
    path, ballast, written = folder / "memory.db", folder / "ballast", 0
    with Memory(path, project="atlas") as memory:
        memory.remember(line(0), key="op-0")
        written = 1
        for number in range(rounds(20)):
            fill(ballast)
            written = write_until_full(memory, written)
            assert memory.recall("gravel") and texts(memory) == [line(n) for n in range(written)]
            with pytest.raises(StoreUnavailable):
                memory.backup(folder / f"{number}.copy")
            assert not list(folder.glob("*.copy*"))
            refused = memorist(path, "remember", line(written), "--key", f"op-{written}")
            assert refused.returncode == 7 and "disk is full" in refused.stderr, refused
            assert memorist(path, "count").stdout == f"{written}\n"
            os.truncate(ballast, max(0, ballast.stat().st_size - 150_000))
            assert memorist(path, "remember", line(written), "--key", f"op-{written}").returncode == 0
            assert memory.remember(line(written + 1), key=f"op-{written + 1}").outcome == "added"
            written += 2
        ballast.unlink()
        assert_whole(memory, written)
    with Memory(path, project="atlas") as memory:
        assert_whole(memory, written)


@pytest.mark.covers("P5", "P14")
def test_on_a_disk_that_is_really_full_the_row_is_kept_and_the_line_comes_later(tmp_path: Path) -> None:
    path, small = tmp_path / "m.db", tmp_path / "small"
    small.mkdir()

    def work(say: Callable[[object], None]) -> None:
        own_disk(small, "1m")
        with Memory(path, project="atlas") as memory:
            memory.remember([{"role": "user", "content": "one"}], session="s")
            Follower(memory, small / "files").follow()
            fill(small / "ballast")
            memory.remember([{"role": "user", "content": "two " * 5000}], session="s")
            with pytest.raises(StoreUnavailable, match=r"disk is full.*memories are stored"):
                Follower(memory, small / "files").follow()
            assert [line["content"] for line in read(file_of(small / "files", "s")).lines] == ["one"]
            (small / "ballast").unlink()
            Follower(memory, small / "files").follow()
            assert len(read(file_of(small / "files", "s")).lines) == 2
        say("whole")

    child = Child(work)
    assert list(child.lines()) == ["whole"] and child.end() == 0
