"""What is erased is in no byte of any file that memorist owns, comes back through nothing, and what is left tells nothing of it."""

import base64
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from golden.children import killed
from golden.conftest import rounds
from golden.driver import Lib, NotFound, Refused, Web, serving, speaking
from golden.outside_fixtures import lib_in, shell_in, store_in
from golden.test_kills import is_whole


def canary(dice: random.Random) -> str:
    return "q" + "".join(dice.choice("bdfgklmnprstvz") + dice.choice("aeiou") for _ in range(6)) + "x"


def forms(word: str) -> Iterator[bytes]:
    yield from (word.encode(), word.capitalize().encode(), word.encode("utf-16-le"), word.encode("utf-16-be"))
    for shift in range(3):  # the ways in which base64 meets the word inside a longer text
        yield base64.b64encode(b" " * shift + word.encode())[4 if shift else 0 : -4]


def found_in(folder: Path, words: list[str], but: str = "nothing") -> list[tuple[str, str]]:
    """Every (file, word) where one of the words is in any form. Another process reads: a plain open and close in this one would
    drop the locks of a store that is open."""
    code = "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and but not in path.name):
        data = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, check=True).stdout
        found += [(file.name, word) for word in words if any(form in data for form in forms(word))]
    return found


def plant(lib: Lib, words: list[str], number: int) -> str:
    """A memory with a canary in every place that takes text; other memories and the logs mention it too."""
    text, title, tag, file, data, session, speaker, reason, question = words
    kept = lib.keep(
        f"Number {number}: {text} is what must go", title=f"About {title}", tags=[tag], files=[f"notes/{file}.md"],
        data={"deep": [data]}, session=session, speaker=speaker.capitalize(), task=speaker, key=f"k{number}",
    )  # fmt: skip
    other = lib.keep(f"Number {number} has a neighbour")
    lib.link(other.id, kept.id, "contradicts", evidence=f"since {text} it does not hold")
    lib.change(kept.id, f"Number {number}: {text} and {question} must go", because=f"for {reason}")
    lib.vote(kept.id)
    lib.call("forget", kept.id, because=f"tired of {reason}")
    lib.call("restore", kept.id)
    lib.find(f"where is {text}?")
    lib.prompt(f"{question} {tag}")
    return str(kept.id)


@pytest.mark.covers("G1", "G4", "P12", "W3-11")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_no_byte_of_it_is_left_in_any_file(tmp_path: Path, name: str) -> None:
    dice = random.Random("canaries")
    with Lib(tmp_path / name) as lib:
        lib.keep_many([f"Lighthouse {n} blinks every {n % 13} seconds" for n in range(200)])
        some = [[canary(dice) for _ in range(9)] for _ in range(rounds(50, 0.06))]
        ids = [plant(lib, words, number) for number, words in enumerate(some)]
    words = [word for each in some for word in each]
    assert {word for _, word in found_in(tmp_path, words)} == set(words), "else nothing would be proved"
    with Lib(tmp_path / name) as lib:
        owner = lib.caller("user")
        owner.find(words[0])  # noted, and perhaps not yet written
        for id in ids[1:]:
            owner.call("erase", id)
        owner.call("erase", where={"id": {"$in": ids[:1]}})
        assert found_in(tmp_path, words) == [], "while the store is still open"
        assert is_whole(lib) and not any(
            word in text for text in lib.look(" ".join(words), limit=100).texts for word in words
        )
        assert {lib.get(id).state for id in ids} == {"erased"}, "that it was there, and that it went, is told"
        assert {"erased"} <= {event.verb for id in ids for event in lib.call("history", id)}
    assert found_in(tmp_path, words) == []


@pytest.mark.covers("G1", "G4", "P2")
def test_what_remains_cannot_be_used_or_guessed(tmp_path: Path) -> None:
    with Lib(tmp_path / "memory.db") as lib:
        lib.keep("the pin of the front door is four two four two", key="k")
        lib.caller("user").call("erase", 1)
        for act in (
            lambda: lib.change(1, "x"),
            lambda: lib.call("pin", 1),
            lambda: lib.call("restore", 1),
            lambda: lib.link(1, 1),
        ):
            with pytest.raises((Refused, NotFound, ValueError)):
                act()
        again = lib.keep("the pin of the front door is four two four two")
        assert again.outcome == "added" and again.record.number != 1, "said again, it is a new memory"


@pytest.mark.covers("G2", "P10")
def test_a_restored_backup_and_an_old_export_do_not_bring_it_back(tmp_path: Path) -> None:
    shell = shell_in(tmp_path)
    with lib_in(tmp_path) as lib:
        lib.keep("The heronqualm nests at the weir")
        lib.keep("Beta lies south")
    shell("export", tmp_path / "copy.jsonl")
    shell("backup", tmp_path / "copy.db")
    shell.person("erase", 1)
    for damage in (False, True):
        if damage:
            store_in(tmp_path).write_bytes(b"damaged beyond reading" * 100)
        assert not shell("backup", restore=tmp_path / "copy.db", yes=True).error
        assert shell("list").texts == ["Beta lies south"] and shell("get", 1).data["state"] == "erased"
    shell("import", tmp_path / "copy.jsonl")
    shell.person("import", tmp_path / "copy.jsonl", own=True)
    assert shell("list").texts == ["Beta lies south"] and not shell("audit").error
    for file in store_in(tmp_path).parent.glob("*damaged*"):
        file.unlink()
    assert found_in(store_in(tmp_path).parent, ["heronqualm"]) == []


@pytest.mark.covers("G3", "E12")
def test_what_was_made_of_it_goes_with_it(tmp_path: Path) -> None:
    with Lib(tmp_path / "memory.db") as lib:
        count, dice = rounds(1000, 0.05), random.Random(12)
        lib.keep_many([f"Nest {n} of the heronqualm{n:04}x" for n in range(count)])
        lib.keep_many([f"Stop {n} lies there" for n in range(20)])
        for n in range(1, count):
            lib.link(n + 1, dice.randint(max(1, n - 30), n), "derived_from")
        assert len(lib.caller("user").call("erase", 1).changed) == count
        assert len(lib.all()) == 20 and is_whole(lib)
    assert found_in(tmp_path, [f"heronqualm{n:04}x" for n in range(0, count, 10)]) == []


@pytest.mark.covers("G3", "E12")
def test_only_listed_it_stays_and_is_named(lib: Lib) -> None:
    lib.keep("The heron nests at the weir")
    lib.keep("Birds nest near water")
    lib.link(2, 1, "derived_from")
    report = lib.call("erase", 1, derived="list")
    assert set(report.left) == {lib.get(2).id} and [row.number for row in lib.all()] == [2]


@pytest.mark.covers("G1", "E12", "S3-3")
def test_a_conversation_goes_with_what_was_found_in_it(tmp_path: Path) -> None:
    with Lib(tmp_path / "memory.db") as lib:
        with lib.session("s1") as talk:
            talk.turn("user", "We decided that the heronqualm runs on Postgres 16.", id="m1")
            talk.turn("assistant", "Noted.", id="m2")
        owner = lib.caller("user")
        found = [row for row in lib.everything() if "heronqualm" in row.text]
        assert len(found) > 1, "else nothing would be proved"
        owner.call("erase", where={"session": "s1"})
        for row in lib.everything():
            owner.call("erase", row) if "heronqualm" in f"{row.text} {row.title}" else None
        assert is_whole(lib)
    assert found_in(tmp_path, ["heronqualm"]) == []


@pytest.mark.covers("G1", "P4")
def test_an_erasure_that_was_cut_off_is_finished(tmp_path: Path) -> None:
    dice = random.Random("cut")
    for number in range(rounds(40, 0.08)):
        place = tmp_path / str(number) / "memory.db"
        with Lib(place) as lib:
            lib.keep_many([f"The heronqualm {n} nests at the weir" for n in range(40)])
            lib.keep_many([f"Stop {n} lies there" for n in range(50)])

        def work(say: object, place: Path = place) -> None:
            with Lib(place) as lib:
                say("begun")  # type: ignore[operator]
                lib.caller("user").call("erase", where={"number": {"$lte": 40}})

        killed(work, dice.uniform(0, 0.05))
        with Lib(place) as lib:
            lib.caller("user").call("erase", where={"number": {"$lte": 40}})
            lib.call("compact")
            assert found_in(place.parent, ["heronqualm"]) == [] and is_whole(lib)


@pytest.mark.covers("G1", "Z6")
def test_it_may_be_erased_through_any_door_that_may(tmp_path: Path) -> None:
    shell = shell_in(tmp_path)
    with serving(shell) as web, speaking(shell, tools="all") as agent:
        for name, door in (("heronone", web), ("herontwo", agent)):
            number = door("remember", text=f"The {name} nests at the weir").number
            door("recall", query=f"where does the {name} nest?")
            assert not door("erase", id=number).error
            assert web("get", id=number).data["state"] == "erased"
            assert found_in(store_in(tmp_path).parent, [name]) == [], "though all of them have the store open"
        shell("remember", "The heronsix nests at the weir")
        assert shell("erase", 3).error == "refused", "without a yes nothing goes"
        assert not shell("erase", 3, yes=True).error
        assert found_in(tmp_path, ["heronsix", "heronone", "herontwo"]) == []


@pytest.mark.covers("G1")
def test_an_answer_that_is_given_again_holds_nothing_that_was_erased(web: Web) -> None:
    key = {"idempotency-key": "erase-1"}
    done = web("turn", headers=key, session="s9", role="user", text="The heronseven nests at the weir")
    web("erase", id=done.number)
    assert (
        "heronseven"
        not in web("turn", headers=key, session="s9", role="user", text="The heronseven nests at the weir").text
    )


@pytest.mark.covers("G1", "G7")
def test_pages_and_exports_of_ours_follow(tmp_path: Path) -> None:
    """MEMORY.md is ours: what was erased leaves it with the next sync, and does not come back from it."""
    shell = shell_in(tmp_path)
    shell("remember", "The heronqualm nests at the weir", pinned=True)
    shell("remember", "Deploys need two approvals", pinned=True)
    shell("sync")
    page = shell.folder / "MEMORY.md"
    assert "heronqualm" in page.read_text()
    shell("erase", 1, yes=True)
    shell("sync")
    assert "heronqualm" not in page.read_text() and "two approvals" in page.read_text()
    assert shell("list").texts == ["Deploys need two approvals"]
    assert found_in(tmp_path, ["heronqualm"]) == []


@pytest.mark.covers("G1")
def test_forgetting_is_something_else(tmp_path: Path) -> None:
    with Lib(tmp_path / "memory.db") as lib:
        lib.keep("The heronqualm nests at the weir")
        lib.call("forget", 1)
        assert not lib.find("where does the heronqualm nest?") and lib.get(1).state == "archived"
        assert lib.find("where does the heronqualm nest?", search="archive")
        lib.call("restore", 1)
        assert lib.find("where does the heronqualm nest?")
    shutil.rmtree(tmp_path)
