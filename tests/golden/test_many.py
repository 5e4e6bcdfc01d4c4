"""Many at once: processes and threads share one store, nobody loses a write, and who waits is told so."""

import sqlite3
import threading
import time
from pathlib import Path

import pytest

from golden.children import Child, Say, Work, together
from golden.conftest import rounds
from golden.driver import Error, Lib, Unavailable, serving
from golden.outside_fixtures import shell_in, store_in
from golden.test_kills import is_whole


def writer(place: Path, name: str, count: int) -> Work:
    def work(say: Say) -> None:
        with Lib(place) as lib:
            for number in range(count):
                outcome = lib.keep(f"{name} wrote line {number} into the log of tower {number * 31 % 97}")
                say(outcome.record.number)

    return work


def reader(place: Path, count: int) -> Work:
    """Each list is a whole moment: numbers without a hole, in the order in which they were given."""

    def work(say: Say) -> None:
        with Lib(place) as lib:
            for _ in range(count):
                numbers = [row.number for row in lib.all(limit=100_000)]
                assert numbers == list(range(1, len(numbers) + 1))
                lib.find("who wrote into the log of tower 31?")
            say("done")

    return work


@pytest.mark.covers("P6", "P21", "W4-10")
@pytest.mark.parametrize("suffix", ["db", "json"])
def test_processes_write_and_read_and_nothing_is_lost(tmp_path: Path, suffix: str) -> None:
    place, each = tmp_path / f"memory.{suffix}", rounds(5000, 0.005)
    Lib(place).memory.close()
    names = [f"Keeper {n}" for n in range(8 if suffix == "db" else 4)]
    said = together([*(writer(place, name, each) for name in names), reader(place, 3), reader(place, 3)])
    numbers = [int(line) for lines in said[: len(names)] for line in lines]
    assert sorted(numbers) == list(range(1, each * len(names) + 1)), "each has a number of its own"
    with Lib(place) as lib:
        assert is_whole(lib) and len(lib.all(limit=100_000)) == each * len(names)


@pytest.mark.covers("P8")
@pytest.mark.parametrize("suffix", ["db", "json"])
def test_many_open_an_empty_place_at_once(tmp_path: Path, suffix: str) -> None:
    for number in range(rounds(20, 0.05)):
        place = tmp_path / f"{number}.{suffix}"
        together([writer(place, f"Keeper {n}", 1) for n in range(16 if suffix == "db" else 6)])
        with Lib(place) as lib:
            assert len(lib.all()) == (16 if suffix == "db" else 6) and is_whole(lib)


@pytest.mark.covers("P6", "P9")
def test_threads_share_one_memory(tmp_path: Path) -> None:
    with Lib(tmp_path / "memory.db") as lib:
        wrong: list[BaseException] = []

        def work(name: str) -> None:
            try:
                for number in range(20):
                    lib.keep(f"{name} wrote line {number} of the log")
                    assert lib.find(f"what did {name} write?")
            except BaseException as problem:
                wrong.append(problem)

        threads = [threading.Thread(target=work, args=(f"Keeper {n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not wrong and len(lib.all()) == 160 and is_whole(lib)


def locked(place: Path) -> Child:
    """Somebody else's program keeps the file to itself, until it is ended."""

    def work(say: Say) -> None:
        with sqlite3.connect(place, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            say("locked")
            time.sleep(60)

    child = Child(work)
    assert child.line() == "locked"
    return child


@pytest.mark.covers("P6")
def test_who_cannot_wait_is_told_and_goes_on_afterwards(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with Lib(place, wait=0.2) as lib:
        lib.keep("Kept before")
        holder = locked(place)
        with pytest.raises(Unavailable) as told:
            lib.keep("Kept meanwhile")
        assert told.value.retry_safe and lib.find("what was kept before?"), "reading goes on"
        holder.end(kill=True)
        assert lib.keep("Kept meanwhile").outcome == "added" and is_whole(lib)


@pytest.mark.covers("P6")
def test_a_store_that_is_busy_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with Lib(place, wait=20) as lib:
        lib.keep("Kept before")
        holder = locked(place)
        done: list[str] = []
        thread = threading.Thread(target=lambda: done.append(lib.keep("Kept at last").outcome))
        thread.start()
        thread.join(0.3)
        assert not done
        holder.end(kill=True)
        thread.join(30)
        assert done == ["added"]


@pytest.mark.covers("P6")
def test_what_another_process_writes_is_seen_at_once(kept: Lib, place: Path) -> None:
    """Also what it changes, forgets and erases."""
    kept.keep("The heron nests at the weir")

    def work(say: Say) -> None:
        with Lib(place) as lib:
            lib.keep("The kingfisher nests at the mill")
            lib.change(1, "The heron nests at the lock")
            lib.caller("user").call("erase", lib.keep("The owl nests in the barn").id)
            say("done")

    assert together([work]) == [["done"]]
    assert kept.texts("where does the kingfisher nest?")[:1] == ["The kingfisher nests at the mill"]
    assert [row.text for row in kept.all()] == ["The heron nests at the lock", "The kingfisher nests at the mill"]


@pytest.mark.covers("P21")
def test_an_audit_among_writers_sees_no_ghosts(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with Lib(place) as lib:
        child = Child(writer(place, "Keeper", rounds(2000, 0.03)))
        while child.line():
            assert lib.call("audit").ok
        child.end()
        assert is_whole(lib)


@pytest.mark.covers("P6")
def test_clients_of_a_server_lose_nothing(tmp_path: Path) -> None:
    shell = shell_in(tmp_path)
    with serving(shell) as web:
        answers: list[int] = []

        def work(name: str) -> None:
            for number in range(10):
                answers.append(web("remember", text=f"{name} wrote line {number}").number)

        threads = [threading.Thread(target=work, args=(f"Keeper {n}",)) for n in range(6)]
        for thread in threads:
            thread.start()
        shell("remember", "A shell wrote beside them")
        for thread in threads:
            thread.join(60)
        assert len(set(answers)) == 60 and web("count").data == 61


@pytest.mark.covers("P6", "P9")
def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    lib = Lib(tmp_path / "memory.db")
    lib.keep("Kept")
    lib.memory.close()
    for act in (lambda: lib.keep("More"), lambda: lib.find("what was kept?")):
        with pytest.raises(Error):
            act()


def test_shells_that_write_at_once_all_succeed(tmp_path: Path) -> None:
    shell = shell_in(tmp_path)
    shell("remember", "The first note makes the store")
    running = [shell.start("remember", f"Note {n} of the harbour") for n in range(4)]
    assert [each.wait(60) for each in running] == [0] * 4
    with Lib(store_in(tmp_path), project="atlas") as lib:
        assert len(lib.all()) == 5
