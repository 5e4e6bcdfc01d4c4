"""MEMORY.md under crashes and haste: readers see whole files, no line of a person is lost, and both sides end up the same."""

import os
import random
import re
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import rounds
from faults.disks import files_at_most, files_of_any_size
from faults.processes import Child, all_at_once, needs_fork
from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.files import memory_md, whole
from memorist.files.conflict import conflict_copies
from memorist.files.memory_md import Limits, sync
from memorist.files.page import parse
from memorist.store import mirrors
from memorist.store.writer import Writer

pytestmark = needs_fork
SMALL, LARGE = Limits(total=4000, section=3000), Limits(total=10**6, section=10**6)


def opened(folder: Path) -> Memory:
    return Memory(folder / "memory.db", project="atlas", embed="none")


# ---------------------------------------------------------------- P15


@pytest.mark.covers("P15")
def test_a_reader_never_sees_half_a_file_and_mode_and_link_stay(tmp_path: Path) -> None:
    file, link = tmp_path / "real.md", tmp_path / "MEMORY.md"
    file.write_bytes(b"0" * 10)
    file.chmod(0o640)
    link.symlink_to("real.md")

    def poll(say: Callable[[object], None]) -> None:
        say("ready")
        while True:
            seen = link.read_bytes()
            if not seen or len(set(seen)) != 1 or len(seen) % 10:
                say(f"half a file: {len(seen)} bytes")

    readers = [Child(poll), Child(poll)]
    assert [reader.line() for reader in readers] == ["ready", "ready"]
    known = file.read_bytes()
    for number in range(rounds(10_000, 0.02)):
        content = str(number % 10).encode() * (10 * (1 + number % 700))
        assert whole.put(whole.real_file(link, None), content, known)
        known = content
    assert [reader.kill() for reader in readers] == [[], []]
    assert link.is_symlink() and stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["MEMORY.md", "real.md"]


@pytest.mark.covers("P17")
def test_what_was_saved_in_the_moment_of_the_swap_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a swap by the system, and where the system has none."""
    for swaps in (True, False):
        file = tmp_path / f"{swaps}.md"
        file.write_bytes(b"old")
        swap = whole._swapped

        def late(one: Path, other: Path, swaps: bool = swaps, swap: Any = swap) -> bool:
            if other.read_bytes() == b"old":
                other.write_bytes(b"saved by a person")
            return swaps and bool(swap(one, other))

        with monkeypatch.context() as patch:
            patch.setattr(whole, "_swapped", late)
            assert not whole.put(file, b"ours", b"old")
        assert file.read_bytes() == b"saved by a person"


# ---------------------------------------------------------------- kill -9


def killed_sync(folder: Path, step: int, limits: Limits = SMALL) -> None:
    """Syncs in a child that is killed before its so manieth step towards the disk."""

    def work(say: Callable[[object], None]) -> None:
        left = iter(range(step, -1, -1))

        def dying(function: Any) -> Any:
            def called(*arguments: Any, **more: Any) -> Any:
                if next(left, 0) == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*arguments, **more)

            return called

        places = ((whole, "_write"), (whole, "_swapped"), (whole, "_keep_name"), (mirrors, "keep"), (Writer, "commit"))
        for place, name in (*places, (memory_md, "keep_copy")):
            setattr(place, name, dying(getattr(place, name)))
        sync(opened(folder), folder / "MEMORY.md", limits=limits)

    Child(work).end()


class Day:
    """A person with an editor and an agent with a memory, who do things in any order."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.page, self.random = folder, folder / "MEMORY.md", random.Random(seed)
        self.memory = opened(folder)
        self.lines: set[str] = set()  # what the person wrote and did not take back
        self.facts: list[str] = []
        self.count = 0

    def said(self, who: str) -> str:
        self.count += 1
        return f"{who} thing {self.count} {self.random.choice(['heron', 'stork', 'weir', 'mill'])}"

    def save(self, lines: list[str]) -> None:
        end = self.random.choice(["\n", "\n", "\n", "\r\n"])
        self.page.write_bytes("".join(line + end for line in lines).encode())

    def edit(self) -> None:
        lines = parse(self.page.read_text(encoding="utf-8")).text.splitlines() if self.page.exists() else []
        act = self.random.choice(["append", "insert", "own", "agents", "remove", "shuffle", "copy", "mark"])
        mine = [n for n, line in enumerate(lines) if line.removeprefix("- ") in self.lines]
        theirs = [n for n, line in enumerate(lines) if "agent thing" in line and "<!-- m:" in line]
        if act in ("append", "insert"):
            lines.insert(len(lines) if act == "append" else self._between(lines), f"- {self._new('person')}")
        elif act == "own" and mine:
            place = self.random.choice(mine)
            self.lines.discard(lines[place].removeprefix("- "))
            lines[place] = f"- {self._new('person')}"
        elif act == "agents" and theirs:
            place = self.random.choice(theirs)
            new = self._new("person")
            lines[place] = re.sub(r"(?:agent|person) thing \d+ \w+", new, lines[place])
        elif act == "remove" and mine:
            self.lines.discard(lines.pop(self.random.choice(mine)).removeprefix("- "))
        elif act == "shuffle":
            self.random.shuffle(lines)
        elif act == "copy" and theirs:
            lines.append(lines[self.random.choice(theirs)])
        elif act == "mark" and theirs:
            place = self.random.choice(theirs)
            lines[place] = lines[place].replace("<!-- m:0", "<!-- m:1")
        self.save(lines)

    def _between(self, lines: list[str]) -> int:
        """Somewhere below the properties."""
        return self.random.randint(min(6, len(lines)), len(lines))

    def _new(self, who: str) -> str:
        before, behind = self.random.choice([("", ""), ("", ""), ("[decision] ", " #river #bird"), ("", " #river")])
        line = f"{before}{self.said(who)}{behind}"
        self.lines.add(line)
        return line

    def write(self) -> None:
        kind = self.random.choice(["fact", "decision", "summary", "summary"])
        mine = [record for record in self.memory.list() if record.origin == "agent" and "agent thing" in record.text]
        if mine and self.random.random() < 0.4:
            self.memory.revise(self.random.choice(mine).id, self._fact())
        else:
            self.memory.remember(self._fact() + " and more" * self.random.randint(0, 30), kind=kind)

    def _fact(self) -> str:
        self.facts.append(self.said("agent"))
        return self.facts[-1]

    def sync(self) -> memory_md.Synced:
        return sync(self.memory, self.page, limits=SMALL)

    def check(self) -> None:
        files = [self.page, *conflict_copies(self.page)]
        text = "\n".join(file.read_text(encoding="utf-8") for file in files)
        assert not [line for line in self.lines if line not in text], "a line of a person is lost"
        living = {"state": {"$in": ["active", "archived", "superseded"]}}
        stored = "\n".join(record.text for record in self.memory.list(living, limit=10_000))
        assert not [fact for fact in self.facts if fact not in stored], "a fact of the agent is lost"


@pytest.mark.covers("P17", "W2-4")
def test_no_line_of_a_person_and_no_fact_of_an_agent_is_ever_lost(tmp_path: Path) -> None:
    """Random interleavings of a person's edits, an agent's writes and full pages, with syncs that are killed at any step."""
    acts = rounds(2000, 0.024)
    for seed in range(0, acts, 40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        day = Day(folder, seed)
        for _ in range(40):
            for _ in range(day.random.randint(1, 3)):
                day.random.choice([day.edit, day.write])()
            if day.random.random() < 0.3:
                killed_sync(folder, day.random.randint(0, 12))
            else:
                day.sync()
            day.check()
        day.sync()
        before = day.page.read_bytes()
        assert not day.sync().changed and day.page.read_bytes() == before
        day.check()
        day.memory.close()


@pytest.mark.covers("P18")
def test_after_any_crash_the_page_shows_the_store_and_the_second_sync_is_none(tmp_path: Path) -> None:
    chance, memory, page = random.Random(18), opened(tmp_path), tmp_path / "MEMORY.md"
    for number in range(rounds(500, 0.024)):
        memory.remember(f"fact {number} about {chance.choice(['herons', 'storks'])}")
        known = memory.list(limit=1000)
        if chance.random() < 0.5:
            memory.revise(chance.choice(known).id, f"revised in round {number}")
        if chance.random() < 0.2:
            memory.forget(chance.choice(known).id)
        killed_sync(tmp_path, chance.randint(0, 4), LARGE)
        sync(memory, page, limits=LARGE)
        shown = [passage.text for passage in parse(page.read_text(encoding="utf-8")).entries()]
        there = {record.text for record in memory.list(limit=1000)}
        assert set(shown) == there and len(shown) == len(there), "the page is what the store holds"
        before = page.read_bytes()
        assert not sync(memory, page, limits=LARGE).changed and page.read_bytes() == before and memory.review() == []
    memory.close()


@pytest.mark.covers("P17")
def test_processes_that_sync_at_once_write_each_line_once(tmp_path: Path) -> None:
    page = tmp_path / "MEMORY.md"
    with opened(tmp_path) as memory:
        sync(memory, page)
    page.write_text(page.read_text() + "".join(f"- a person's line {number}\n" for number in range(20)))

    def work(name: str) -> Callable[[], None]:
        def run() -> None:
            with opened(tmp_path) as memory:
                for number in range(5):
                    memory.remember(f"fact {number} of {name}")
                    sync(memory, page)

        return run

    assert all_at_once([work(name) for name in "abc"]) == [0, 0, 0]
    with opened(tmp_path) as memory:
        sync(memory, page)
        shown = [passage.text for passage in parse(page.read_text()).entries()]
        assert len(shown) == len(set(shown)) == 35 and memory.count() == 35
        assert not sync(memory, page).changed and memory.review() == []


@pytest.mark.covers("P15")
def test_a_full_disk_leaves_the_page_as_it_was(tmp_path: Path) -> None:
    """Nasty input 19: nothing of a page is lost where the new one cannot be written."""

    def work(say: Callable[[object], None]) -> None:
        page = tmp_path / "MEMORY.md"
        page.write_text("- by a person\n" * 1 + "x" * 3000 + "\n")
        memory = Memory(":memory:", project="atlas", embed="none")
        memory.remember("a fact " + "y" * 2000)
        files_at_most(4096)
        try:
            sync(memory, page)
        except StoreUnavailable as problem:
            say(f"told: {problem}")
        files_of_any_size()
        say(sorted(path.name for path in tmp_path.iterdir()))
        say(page.read_text() == "- by a person\n" + "x" * 3000 + "\n")
        say(sync(memory, page).changed and "a fact" in page.read_text())

    child = Child(work)
    told, names, kept, after = child.lines()
    assert child.end() == 0
    assert "disk is full" in told and names == "['MEMORY.md']" and (kept, after) == ("True", "True")
