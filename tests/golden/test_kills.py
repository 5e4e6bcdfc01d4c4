"""A process dies at any moment: what was acknowledged is there, nothing is there twice, and every part tells the same story."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from golden.children import Child, Say, Work, killed, together
from golden.conftest import rounds
from golden.driver import Error, Lib, serving, speaking
from golden.outside_fixtures import lib_in, shell_in, store_in

ON_ONE_FILE = 5


def text_of(number: int) -> str:
    return f"Fact {number}: the relay in cabinet {number * 7919 % 1000} answers on channel {number}"


def keep_on(place: Path, first: int, after: Callable[[Lib, int], object] | None = None) -> Work:
    """Remembers one text after another, and says so once the call has returned."""

    def work(say: Say) -> None:
        lib, number = Lib(place), first
        while True:
            lib.keep(text_of(number), key=f"op-{number}")
            if after:
                after(lib, number)
            say(number)
            number += 1

    return work


def is_whole(lib: Lib, but_for: str = "") -> bool:
    audit = lib.call("audit")
    assert audit.ok, audit.problems
    assert not [each for each in lib.call("doctor") if not each.ok and each.check != but_for]
    return True


def assert_kept(lib: Lib, acknowledged: int) -> None:
    texts = [row.text for row in lib.all(limit=100_000)]
    assert texts[:acknowledged] == [text_of(number) for number in range(acknowledged)]
    assert len(texts) <= acknowledged + 1, "at most the write that was under way"
    assert is_whole(lib) and lib.call("audit").records == len(texts)


@pytest.mark.covers("P1", "P2", "P12", "W3-11", "S0-5", "S3-11")
@pytest.mark.parametrize("suffix", ["db", "json"])
def test_an_acknowledged_write_survives_kill_9_and_a_retry_stores_it_once(tmp_path: Path, suffix: str) -> None:
    chance, done = random.Random(suffix), dict[Path, int]()
    for number in range(rounds(200, 0.02)):
        place = tmp_path / f"{number // ON_ONE_FILE}.{suffix}"
        first = done.get(place, 0)
        said = killed(keep_on(place, first), chance.uniform(0, 0.05))
        unsure = int(said[-1]) + 1
        with Lib(place) as lib:
            assert_kept(lib, unsure)
            there = len(lib.all({"text": text_of(unsure)}))
            assert lib.keep(text_of(unsure), key=f"op-{unsure}").outcome == ("repeated" if there else "added")
            assert len(lib.all({"text": text_of(unsure)})) == 1
        done[place] = unsure + 1


@pytest.mark.covers("P1", "P8")
@pytest.mark.parametrize("suffix", ["db", "json"])
def test_a_kill_while_a_store_is_made_leaves_one_that_opens(tmp_path: Path, suffix: str) -> None:
    chance = random.Random("opening")
    for number in range(rounds(200, 0.03)):
        place = tmp_path / f"{number}.{suffix}"
        child = Child(keep_on(place, 0))
        time.sleep(chance.uniform(0, 0.04))
        said = child.end(kill=True)
        with Lib(place) as lib:
            assert_kept(lib, len(said))
            assert lib.keep("Written afterwards").outcome in ("added", "reinforced")


@pytest.mark.covers("P2", "P6")
def test_one_key_stores_once_through_retries_and_processes(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    Lib(place).memory.close()

    def work(say: Say) -> None:
        with Lib(place) as lib:
            for _ in range(5):
                say(lib.keep(text_of(1), key="the same").outcome)

    outcomes = [line for said in together([work] * 4) for line in said]
    assert sorted(outcomes) == ["added", *["repeated"] * 19]
    with Lib(place) as lib:
        assert len(lib.all()) == 1


@pytest.mark.covers("P4", "P12", "P21")
def test_what_a_write_brings_along_is_there_or_nothing_of_it(tmp_path: Path) -> None:
    """A correction, tags, a link, a vote: after a kill each is told by the journal, and no half of one is there."""

    def more(lib: Lib, number: int) -> None:
        rows = lib.all()[-2:]
        lib.change(rows[-1], title="corrected")
        lib.call("tag", rows[-1], "relay")
        lib.vote(rows[-1])
        if number:
            lib.link(*rows)

    chance = random.Random("halves")
    for number in range(rounds(100, 0.03)):
        place = tmp_path / f"{number}.db"
        said = [int(each) for each in killed(keep_on(place, 0, more), chance.uniform(0, 0.1))]
        with Lib(place) as lib:
            assert is_whole(lib)
            for row in lib.all()[: len(said)]:
                assert row.title == "corrected" and row.tags == ("relay",) and row.up == 1
                assert len(lib.call("links", row.number)) >= (row.number > 1)


@pytest.mark.covers("P4", "S2-21", "S1-12", "G1")
@pytest.mark.parametrize("verb", ["undo", "forget", "erase"])
def test_what_was_cut_off_leaves_each_memory_as_it_was_or_as_it_should_be(tmp_path: Path, verb: str) -> None:
    chance = random.Random(verb)
    states = {"undo": {"active", "archived", "erased"}, "forget": {"active", "archived"}, "erase": {"active", "erased"}}
    for number in range(rounds(60, 0.05)):
        place = tmp_path / f"{verb}{number}.db"
        with Lib(place) as lib:
            lib.keep_many([f"Zanzibar {n} lies at mile {n}" for n in range(60)])
            lib.keep_many([f"Stop {n} lies at mile {n}" for n in range(70)])

        def work(say: Say, place: Path = place) -> None:
            with Lib(place) as lib:
                say("begun")
                lib.call(verb) if verb == "undo" else lib.caller("user").call(verb, where={"number": {"$lte": 60}})

        killed(work, chance.uniform(0, 0.04))
        with Lib(place) as lib:
            assert is_whole(
                lib, but_for="erasures"
            )  # one may be cut off before its traces are wiped: the next wipes them
            rows = lib.all({"state": {"$in": ["active", "archived", "erased"]}})
            assert len(rows) == 130 and {row.state for row in rows} <= states[verb]
            if verb != "undo":
                assert lib.caller("user").call(verb, where={"number": {"$lte": 60}}) is not None
                assert len(lib.all()) == 70 and is_whole(lib)


@pytest.mark.covers("P4", "S1-12")
def test_upkeep_that_was_killed_is_done_by_the_next(tmp_path: Path) -> None:
    chance = random.Random("upkeep")
    for number in range(rounds(40, 0.05)):
        place = tmp_path / f"{number}.db"
        with Lib(place) as lib:
            lib.keep_many([f"Buoy {n} drifted {n} miles" for n in range(120)])

        def work(say: Say, place: Path = place) -> None:
            with Lib(place) as lib:
                say("begun")
                lib.upkeep()

        killed(work, chance.uniform(0, 0.2))
        with Lib(place) as lib:
            lib.upkeep()
            assert len(lib.all()) == 120 and is_whole(lib)
            assert lib.find("which buoy drifted 77 miles?")[0].text == "Buoy 77 drifted 77 miles"


@pytest.mark.covers("S3-3", "N2-4")
def test_a_killed_session_keeps_every_turn_and_goes_on(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"

    def work(say: Say) -> None:
        lib = Lib(place)
        with lib.session("s1") as talk:
            for number in range(10_000):
                talk.turn(
                    "user" if number % 2 == 0 else "assistant", f"Remark {number} about the relay", id=f"m{number}"
                )
                say(number)

    said = killed(work, 0.1)
    with Lib(place) as lib:
        turns = [row.text for row in lib.all({"kind": "turn"}, limit=20_000)]
        assert turns[: len(said)] == [f"Remark {number} about the relay" for number in range(len(said))]
        with lib.session("s1") as talk:  # nobody has to wait for the dead one
            talk.turn("user", "We decided to use Postgres 16 for staging.")
        assert is_whole(lib)


@pytest.mark.covers("P9")
def test_a_child_writes_beside_its_parent_through_a_store_of_its_own(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with Lib(place) as lib:
        lib.keep("The parent was first")

        def work(say: Say) -> None:
            try:
                lib.keep("Through the parent's")  # refused in words, or as good as one's own
            except Error as problem:
                say(type(problem).__name__)
            with Lib(place) as own:
                say(own.keep("The child came second").outcome)

        [said] = together([work])
        assert said[-1] == "added"
        lib.keep("The parent goes on")
        assert {"The parent was first", "The child came second", "The parent goes on"} <= {
            row.text for row in lib.all()
        }
        assert is_whole(lib)


# ---------------------------------------------------------------- through the doors


@pytest.mark.covers("P1")
def test_what_a_server_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    shell = shell_in(tmp_path)
    with serving(shell) as web:
        for number in range(rounds(400, 0.05)):
            assert web("remember", text=text_of(number)).status == 201
        web.process.kill()
        web.process.wait()
    with lib_in(tmp_path) as lib:
        assert_kept(lib, rounds(400, 0.05))


@pytest.mark.covers("P1")
def test_what_an_agents_server_acknowledged_survives_its_client(tmp_path: Path) -> None:
    with speaking(shell_in(tmp_path)) as agent:
        for number in range(rounds(200, 0.05)):
            assert not agent("remember", text=text_of(number)).error
    with lib_in(tmp_path) as lib:
        assert_kept(lib, rounds(200, 0.05))


@pytest.mark.covers("P1")
def test_a_server_that_is_told_to_end_finishes_what_it_began(tmp_path: Path) -> None:
    with serving(shell_in(tmp_path)) as web:
        web("remember", text="The heron nests at the weir")
        web("recall", query="where does the heron nest?")
        web.process.terminate()
        assert web.process.wait(30) == 0
    with lib_in(tmp_path) as lib:
        assert is_whole(lib) and lib.call("status")["receipts"] == 1, "the question was noted too"
    assert sorted(path.suffix for path in store_in(tmp_path).parent.glob("*-wal")) == []
