"""Files go wrong, disks fill up and clocks jump: damage has a name, is never answered by an empty store, and backups bring back."""

import os
import random
import resource
import shutil
import signal
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from golden.children import Child, Say, bytes_of, together
from golden.conftest import rounds
from golden.driver import BEGIN, VARIABLES, Clock, Damaged, Error, Invalid, Lib, Shell, TooNew, Unavailable
from golden.outside_fixtures import lib_in, shell_in, store_in
from golden.test_kills import is_whole

TEXTS = [f"Harbour {number} has {number * 3} berths" for number in range(30)]
NOBODY = 65534


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that has some history; copied and damaged by each test."""
    folder = tmp_path_factory.mktemp("sound")
    with Lib(folder / "memory.db") as lib:
        lib.keep_many(TEXTS)
        lib.keep("Fog horns are tested on Fridays", title="Horns", data={"hour": 9})
        lib.vote(3)
        lib.link(4, 5)
        lib.call("forget", 6)
    return folder


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "copy")
    return tmp_path / "copy" / "memory.db"


def sql(*statements: str) -> Callable[[Path], None]:
    def make(place: Path) -> None:
        with closing(sqlite3.connect(place, isolation_level=None)) as one:
            for statement in statements:
                one.execute(statement)

    return make


def anew(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda place: place.write_bytes(change(place.read_bytes())) and None


NASTY: dict[str, tuple[Callable[[Path], None], type[Error]]] = {
    "gone": (Path.unlink, Damaged),
    "0 bytes": (anew(lambda was: b""), Damaged),
    "a text": (anew(lambda was: b"Dear diary,\n" * 500), Damaged),
    "half of it": (anew(lambda was: was[: len(was) // 2]), Damaged),
    "noise": (anew(lambda was: random.Random(1).randbytes(len(was))), Damaged),
    "another program's": (sql("PRAGMA application_id = 7"), Damaged),
    "a newer one's": (sql("PRAGMA user_version = 9999"), TooNew),
}


def lasting(folder: Path) -> dict[str, bytes]:
    """What lies there; a shared memory and an empty log come and go with every look."""
    return {name: said for name, said in bytes_of(folder).items() if said and not name.endswith("-shm")}


@pytest.mark.covers("P11", "P13", "P22", "W0-9", "W3-14")
@pytest.mark.parametrize("name", NASTY)
def test_what_is_no_store_any_more_is_refused_and_left_as_it_is(place: Path, sound: Path, name: str) -> None:
    damage, error = NASTY[name]
    damage(place)
    before = lasting(place.parent)
    for _ in range(2):
        with pytest.raises(error):
            Lib(place)
        assert lasting(place.parent) == before, "nothing is made beside it either"
    shutil.copy(sound / "memory.db", place)
    with Lib(place) as lib:
        assert {row.text for row in lib.everything()} >= set(TEXTS) and is_whole(lib)


@pytest.mark.covers("P11", "W0-9")
@pytest.mark.parametrize(("name", "error"), [("noise", "damaged"), ("a newer one's", "too_new")])
def test_a_shell_ends_with_the_class_of_the_damage(tmp_path: Path, name: str, error: str) -> None:
    shell = shell_in(tmp_path)
    shell("remember", "The heron nests at the weir")
    NASTY[name][0](store_in(tmp_path))
    before = lasting(store_in(tmp_path).parent)
    for words in (("recall", "where does the heron nest?"), ("remember", "More")):
        assert shell(*words).error == error
    assert shell("doctor").status != 0, "it says what to do"
    assert shell.hook("claude-code", "prompt", prompt="where does the heron nest?") == "", "an agent is not disturbed"
    assert lasting(store_in(tmp_path).parent) == before


def seen(place: Path) -> list[object] | None:
    """What can be read there; None where the damage is named, by an error or by a finding."""
    try:
        with Lib(place) as lib:
            rows = [row.raw.to_dict() for row in lib.everything()]
            journals = [repr(lib.call("history", row["id"])) for row in rows]
            found = lib.look("which harbour has 27 berths?").texts
            return None if any(not each.ok for each in lib.call("doctor")) else [rows, journals, found]
    except Damaged:
        return None


@pytest.mark.covers("P10", "P11", "P12")
def test_a_flipped_bit_that_can_be_seen_is_named(sound: Path, tmp_path: Path) -> None:
    chance, whole = random.Random("bits"), seen(sound / "memory.db")
    assert whole is not None
    for number in range(rounds(400, 0.06)):
        folder = tmp_path / str(number)
        shutil.copytree(sound, folder)
        content = bytearray((folder / "memory.db").read_bytes())
        at = chance.randrange(len(content))
        content[at] ^= 1 << chance.randrange(8)
        (folder / "memory.db").write_bytes(content)
        assert seen(folder / "memory.db") in (None, whole), f"byte {at}"


@pytest.mark.covers("P11", "S0-5")
def test_a_json_store_notices_what_was_changed_behind_its_back(tmp_path: Path) -> None:
    with Lib(tmp_path / "memory.json") as lib:
        lib.keep_many(TEXTS)
    for file in [path for path in tmp_path.iterdir() if b"27 berths" in path.read_bytes()]:
        file.write_bytes(file.read_bytes().replace(b"27 berths", b"28 berths"))
    try:
        with Lib(tmp_path / "memory.json") as lib:
            assert any(not each.ok for each in lib.call("doctor")) or "27 berths" in lib.state()
    except Damaged:
        pass


@pytest.mark.covers("P12", "P21")
def test_an_index_that_differs_is_found_and_made_anew(place: Path) -> None:
    with closing(apsw.Connection(str(place))) as one:
        for (words,) in list(one.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%USING fts5 %'")):
            one.execute(f"INSERT INTO {words}({words}) VALUES('delete-all')")
    with Lib(place) as lib:
        assert any(not each.ok for each in lib.call("doctor"))
        before = lib.state()
        lib.call("doctor", repair=True)
        assert is_whole(lib) and lib.state() == before, "it touches nothing else"
        assert "Fog horns are tested on Fridays" in lib.texts("when are fog horns tested?")


@pytest.mark.covers("P10", "P22")
def test_a_backup_brings_everything_back_and_keeps_the_damaged_file(tmp_path: Path) -> None:
    shell, store = shell_in(tmp_path), store_in(tmp_path)
    with lib_in(tmp_path) as lib:
        lib.keep_many(TEXTS)
    assert not shell("backup", tmp_path / "monday.db").error
    assert shell("backup", tmp_path / "monday.db").error, "no file is overwritten"
    with lib_in(tmp_path) as lib:
        lib.keep("Written after the backup")
    store.write_bytes(b"damaged beyond reading" * 100)
    assert shell("list").error == "damaged"
    assert not shell("backup", restore=tmp_path / "monday.db", yes=True).error
    with lib_in(tmp_path) as lib:
        assert {row.text for row in lib.all()} == set(TEXTS) and is_whole(lib)
    assert any(b"damaged beyond" in content for content in bytes_of(store.parent).values()), "nothing is thrown away"
    for name, content in {"empty.db": b"", "text.db": b"hello" * 999}.items():
        (tmp_path / name).write_bytes(content)
        assert shell("backup", restore=tmp_path / name, yes=True).error in ("damaged", "invalid")
    assert len(shell("list", limit=100).texts) == 30


@pytest.mark.covers("P10", "P1")
def test_backups_made_while_others_write_are_a_moment_of_the_history(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"

    def work(say: Say) -> None:
        with Lib(place) as lib:
            for number in range(100_000):
                lib.keep(f"Line {number} of the log")
                say(number)

    with Lib(place) as lib:
        child = Child(work)
        for number in range(rounds(40, 0.1)):
            at_least = int(child.line())
            lib.call("backup", tmp_path / f"{number}.db")
            with Lib(tmp_path / f"{number}.db") as copy:
                texts = [row.text for row in copy.all(limit=100_000)]
                assert len(texts) > at_least and texts == [f"Line {n} of the log" for n in range(len(texts))]
                assert is_whole(copy)
        child.end(kill=True)


# ---------------------------------------------------------------- where nothing may be written


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that anybody may look into."""
    folder = Path(tempfile.mkdtemp(prefix="golden-"))
    folder.chmod(0o755)
    monkeypatch.setenv(VARIABLES["config"], str(folder / "none.toml"))
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.covers("P22")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_a_store_that_may_not_be_written_can_be_read(public: Path, name: str) -> None:
    with Lib(public / name) as lib:
        lib.keep("Read me")
        lib.find("read")
    for file in public.iterdir():
        file.chmod(0o444)
    public.chmod(0o555)

    def work(say: Say) -> None:
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        with Lib(public / name) as lib:
            say(lib.texts("read")[0])
            try:
                lib.keep("Not this")
            except Unavailable:
                say("refused")

    assert together([work]) == [["Read me", "refused"]]


@pytest.mark.covers("P4", "P5", "P24", "W3-14")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_on_a_full_disk_reading_goes_on_and_nothing_acknowledged_is_lost(tmp_path: Path, name: str) -> None:
    """A limit on the size of files does what a full disk does; a child has it, which may not lift it again."""

    def work(say: Say) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with Lib(tmp_path / name, embed="none") as lib:
            lib.keep("The first line")
            most = max(file.stat().st_size for file in tmp_path.iterdir())
            resource.setrlimit(resource.RLIMIT_FSIZE, (most + 60_000, resource.RLIM_INFINITY))
            number = 0
            try:
                while number < 5000:
                    lib.keep(f"Barge {number} carries gravel {'downstream ' * 20}", key=f"op-{number}")
                    number += 1
            except Unavailable as problem:
                say(problem.retry_safe)
            assert lib.find("which barge carries gravel?") and len(lib.all(limit=9999)) == number + 1
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            say(lib.keep(f"Barge {number} carries gravel at last", key=f"op-{number}").outcome)
            say(number)

    [[safe, outcome, count]] = together([work])
    assert (safe, outcome) == ("True", "added")
    with Lib(tmp_path / name, embed="none") as lib:
        assert len(lib.all(limit=9999)) == int(count) + 2 and is_whole(lib)


@pytest.mark.covers("Z17", "W3-11", "G1")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_every_file_is_private_from_its_first_moment(tmp_path: Path, name: str) -> None:
    before = os.umask(0)
    try:
        folder = tmp_path / "new"
        with Lib(folder / name) as lib:
            lib.keep("Between us")
            lib.call("backup", folder / "copy.db") if name.endswith("db") else None
            files = list(folder.iterdir())
            assert files and all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files), files
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        os.umask(before)


@pytest.mark.covers("Z17")
def test_what_the_program_makes_is_private_too(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        shell = shell_in(tmp_path)
        shell("remember", "Between us")
        shell("export", tmp_path / "all.jsonl")
        shell("set", "design", "curated")
        made = [*store_in(tmp_path).parent.iterdir(), tmp_path / "all.jsonl", tmp_path / "home" / "config.toml"]
    finally:
        os.umask(before)
    assert len(made) > 2 and all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in made)


# ---------------------------------------------------------------- clocks

JUMPS = {"ten years on": 3653, "ten years back": -3653, "to 1971": -20_000, "to 2100": 27_000}


@pytest.mark.covers("P16")
@pytest.mark.parametrize("days", JUMPS.values(), ids=JUMPS)
def test_nothing_expires_right_after_the_clock_jumped(tmp_path: Path, days: int) -> None:
    clock = Clock(BEGIN)
    with Lib(tmp_path / "memory.db", clock=clock) as lib:
        lib.keep_many([f"Stop {n} lies at mile {n}" for n in range(20)])
        lib.keep("The build is broken", kind="error")
        clock.set(BEGIN + timedelta(days=days))
        lib.keep("Written after the jump")
        lib.upkeep()
        assert len(lib.all()) == 22 and len({row.id for row in lib.everything()}) == 22
        assert lib.find("where does stop 3 lie?")
        clock.set(BEGIN + timedelta(hours=1))
        assert lib.keep("Written when it was right again").outcome == "added"
        lib.upkeep()
        assert len(lib.all()) == 23 and is_whole(lib)


@pytest.mark.covers("P16")
@pytest.mark.parametrize("year", [1970, 2038, 2100, 9000])
def test_any_year_can_be_remembered_in(tmp_path: Path, year: int) -> None:
    clock = Clock(BEGIN.replace(year=year))
    with Lib(tmp_path / "memory.db", clock=clock) as lib:
        first, second = (lib.keep(f"Said number {n} in a strange year").record for n in (1, 2))
        assert first.id != second.id and lib.find("what was said number 2?")
        assert [row.text for row in lib.rows("timeline")] and is_whole(lib)


@pytest.mark.covers("P16", "P22")
def test_a_place_that_can_be_no_store_is_refused(tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file" / "memory.db", tmp_path):
        with pytest.raises((Damaged, Invalid, Unavailable)):
            Lib(place)
    assert shell("list", db=tmp_path / "file" / "memory.db").error in ("damaged", "invalid", "unavailable")
