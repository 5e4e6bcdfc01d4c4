"""Promise P18: the rows are the truth and the files follow them, whatever happens between a row and its line."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from conftest import rounds
from faults.processes import Child, all_at_once, needs_fork
from memorist import Memory
from memorist.access import Access, access_for
from memorist.errors import Invalid, MemoristError, OutOfScope, Refused, StoreUnavailable
from memorist.files import follow as following
from memorist.files import transcripts
from memorist.files.follow import Follower, MemoryPage, follow, listen
from memorist.files.projections import Changed
from memorist.files.transcripts import file_of, read
from memorist.store import folders
from memorist.store.lock import locked
from memorist.store.open import restore
from memorist.surfaces import settings

pytestmark = pytest.mark.covers("P18", "S2-3")


def say(memory: Memory, text: str, session: str = "s") -> None:
    memory.remember([{"role": "user", "content": text}], session=session)


def contents(folder: Path) -> dict[str, bytes]:
    """What a folder shows people: every file but our own notes about it. The second at which a page was written is left out."""
    found = [path for path in folder.rglob("*") if path.is_file() and ".memorist" not in path.parts]
    shown = {path: re.sub(rb"(?m)^updated: .*$", b"", path.read_bytes()) for path in found}
    return {str(path.relative_to(folder)): data for path, data in shown.items() if not path.name.endswith(".torn")}


def said(folder: Path, session: str = "s") -> list[str]:
    found = read(file_of(folder, session))
    assert found.problems == []
    return [line["content"] for line in found.lines]


# ---------------------------------------------------------------- what is due, and only that


def test_a_line_is_added_for_each_turn_and_none_is_touched(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    for number in range(5):
        say(memory, f"turn {number}")
        before = file_of(folder, "s").read_bytes() if number else b""
        Follower(memory, folder).follow()
        assert file_of(folder, "s").read_bytes().startswith(before)
        assert said(folder) == [f"turn {each}" for each in range(number + 1)]


def test_a_second_time_changes_no_byte(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    say(memory, "one")
    say(memory, "two", "t")
    Follower(memory, folder).follow()
    seen = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    time.sleep(0.02)
    Follower(memory, folder).follow()
    Follower(memory, folder).sync()
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()} == seen


def test_a_turn_costs_its_line_and_the_page_misses_no_memory(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, written, write = tmp_path / "files", list[int](), MemoryPage.write
    follower = Follower(memory, folder)

    def counted(page: MemoryPage, memory: Memory, changed: Changed) -> list[str]:
        written.append(1)
        return write(page, memory, changed)

    monkeypatch.setattr(MemoryPage, "write", counted)
    memory.remember("The gate is open", kind="decision")
    follower.follow()
    assert len(written) == 1
    for number in range(4):
        say(memory, f"turn {number}")
        follower.follow()
    assert len(written) == 1 and said(folder) == [f"turn {number}" for number in range(4)]
    memory.remember("The lock is shut", kind="decision")
    say(memory, "turn 4")
    follower.follow()
    page = (folder / "MEMORY.md").read_text(encoding="utf-8")
    assert len(written) == 2 and "The gate is open" in page and "The lock is shut" in page
    before = contents(folder)
    follower.sync()
    assert contents(folder) == before


def test_what_is_no_turn_moves_only_the_position(memory: Memory, tmp_path: Path) -> None:
    say(memory, "one")
    Follower(memory, tmp_path / "files").follow()
    before = contents(tmp_path / "files")
    memory.remember("Staging runs Postgres 16", kind="decision")
    done = Follower(memory, tmp_path / "files").follow()
    after = contents(tmp_path / "files")
    assert b"Staging runs Postgres 16" in after.pop("MEMORY.md") and before.pop("MEMORY.md")
    assert after == before and done.position == memory.log(limit=1)[0].seq


def test_what_was_forgotten_was_said(memory: Memory, tmp_path: Path) -> None:
    say(memory, "one")
    say(memory, "two")
    memory.forget(memory.list({"kind": "turn"}, order="-number")[0])
    Follower(memory, tmp_path / "files").follow()
    assert said(tmp_path / "files") == ["one", "two"]


def test_another_projects_turns_stay_out(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", project="one") as one, Memory(tmp_path / "m.db", project="two") as two:
        say(one, "of one")
        say(two, "of two")
        Follower(one, tmp_path / "one").follow()
        Follower(two, tmp_path / "two").follow()
    assert said(tmp_path / "one") == ["of one"] and said(tmp_path / "two") == ["of two"]


def test_a_users_conversation_is_in_the_files_of_its_project(memory: Memory, tmp_path: Path) -> None:
    memory.ingest([{"role": "user", "content": "I am Ann"}], session="hers", user="ann")
    Follower(memory, tmp_path / "files").follow()
    assert said(tmp_path / "files", "hers") == ["I am Ann"]


def test_the_index_tells_how_a_session_is(memory: Memory, tmp_path: Path) -> None:
    with memory.session("s", agent="scout") as talk:
        talk.turn("user", "hello")
        Follower(memory, tmp_path / "files").follow()
        [entry] = json.loads((tmp_path / "files" / "sessions.json").read_text())["sessions"]
        assert (entry["state"], entry["agent"]) == ("open", "scout")
    Follower(memory, tmp_path / "files").follow()
    [entry] = json.loads((tmp_path / "files" / "sessions.json").read_text())["sessions"]
    assert entry["state"] in ("closing", "closed")


def test_who_sees_little_does_not_make_files_forget(memory: Memory, tmp_path: Path) -> None:
    say(memory, "one")
    narrow = memory.through(Access(memory.space, reads=("task/7",), writes=("task/7",), home=memory.project.scope))
    Follower(narrow, tmp_path / "files").follow()
    assert said(tmp_path / "files") == ["one"]
    for role in ("reader", "skill"):
        with pytest.raises(OutOfScope):
            Follower(memory.through(access_for(role, memory.project.scope)), tmp_path / "files").follow()


def test_while_memory_is_off_nothing_is_written(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_OFF", "1")
    with pytest.raises(Refused):
        Follower(memory, tmp_path / "files").follow()
    assert not (tmp_path / "files").exists()


# ---------------------------------------------------------------- what happens to files


def test_lines_of_others_are_kept(memory: Memory, tmp_path: Path) -> None:
    say(memory, "one")
    Follower(memory, tmp_path / "files").follow()
    note = b'{"type": "note", "text": "by hand"}\n'
    with file_of(tmp_path / "files", "s").open("ab") as file:
        file.write(note)
    say(memory, "two")
    Follower(memory, tmp_path / "files").follow()
    assert [line.get("content", "note") for line in read(file_of(tmp_path / "files", "s")).lines] == [
        "one",
        "note",
        "two",
    ]
    assert note in file_of(tmp_path / "files", "s").read_bytes()


@pytest.mark.covers("S2-8")
@pytest.mark.parametrize("lost", ["sessions/s.jsonl", "sessions.json", ".memorist/follow.json", ".memorist", "."])
def test_what_somebody_removed_is_written_again(memory: Memory, tmp_path: Path, lost: str) -> None:
    folder = tmp_path / "files"
    say(memory, "one")
    say(memory, "other", "t")
    Follower(memory, folder).follow()
    before = contents(folder)
    gone = folder / lost
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    Follower(memory, folder).sync()
    assert contents(folder) == before


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b"null", b'{"sessions": [{"id": 1}]}', b"\xff", b"[" * 100_000])
def test_an_index_that_cannot_be_read_is_made_again(memory: Memory, tmp_path: Path, junk: bytes) -> None:
    say(memory, "one")
    say(memory, "other", "t")
    Follower(memory, tmp_path / "files").follow()
    before = contents(tmp_path / "files")
    (tmp_path / "files" / "sessions.json").write_bytes(junk)
    Follower(memory, tmp_path / "files").sync()
    assert contents(tmp_path / "files") == before


def test_a_damaged_line_is_told_once_and_its_turn_written_again(memory: Memory, tmp_path: Path) -> None:
    say(memory, "one")
    say(memory, "two")
    Follower(memory, tmp_path / "files").follow()
    file = file_of(tmp_path / "files", "s")
    first, second = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first[:60] + b"\n" + second)
    [told] = Follower(memory, tmp_path / "files").sync().told
    assert told.startswith("s.jsonl:1: is not JSON")
    assert [line["content"] for line in read(file).lines] == ["two", "one"]
    assert file.read_bytes() == first[:60] + b"\n" + second + first, "nothing is rewritten"


def test_a_restored_store_and_its_files_come_together_again(tmp_path: Path) -> None:
    path, folder = tmp_path / "m.db", tmp_path / "files"
    with Memory(path, project="atlas") as memory:
        say(memory, "one")
        memory.backup(tmp_path / "copy.db")
        say(memory, "two")
        Follower(memory, folder).follow()
    restore(path, tmp_path / "copy.db", datetime.now(UTC))
    with Memory(path, project="atlas") as memory:
        say(memory, "three")
        Follower(memory, folder).follow()
        say(memory, "four")
        Follower(memory, folder).follow()
    assert said(folder) == ["one", "two", "three", "four"], (
        "the line of what the backup does not know is not ours to remove"
    )


def test_a_folder_is_of_one_project_and_one_store(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    with Memory(tmp_path / "m.db", project="one") as one:
        say(one, "of one")
        Follower(one, folder).follow()
    for store, project in (("m.db", "two"), ("other.db", "one")):
        with Memory(tmp_path / store, project=project) as other:
            say(other, "of another")
            with pytest.raises(Invalid, match=r"holds the files of .*project/one.*files\.folder"):
                Follower(other, folder).follow()
    assert said(folder) == ["of one"]


@pytest.mark.parametrize("name", ["tasks.json", "items.json", "sessions.json"])
def test_a_persons_own_file_is_not_overwritten(memory: Memory, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / name).write_text('["mine"]')
    say(memory, "one")
    memory.remember("Order the bolts", kind="task")
    for _ in range(2):
        with pytest.raises(Invalid, match=rf"{name} is not ours.*move it away.*files\.folder"):
            Follower(memory, folder).follow()
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [(name, '["mine"]')]
    assert folders.known(memory._tools.store, memory.space) == []
    (folder / name).rename(tmp_path / "away")
    Follower(memory, folder).follow()
    assert said(folder) == ["one"]


def test_a_folder_of_another_space_of_the_store_says_of_which(tmp_path: Path) -> None:
    for space in ("home", "work"):
        with Memory(tmp_path / "m.db", project="one", space=space) as memory:
            say(memory, f"of {space}")
            if space == "home":
                Follower(memory, tmp_path / "files").follow()
            else:
                with pytest.raises(Invalid, match="project/one' of the space 'home', and this is 'work'; name"):
                    Follower(memory, tmp_path / "files").follow()
    assert said(tmp_path / "files") == ["of home"]


def test_a_renamed_project_keeps_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    with Memory(tmp_path / "m.db", project="one") as memory:
        say(memory, "as one")
        Follower(memory, folder).follow()
        memory.through(access_for("admin", "project/one", origin="user")).rename_project("one", "two")
    with Memory(tmp_path / "m.db", project="two") as memory:
        say(memory, "as two")
        Follower(memory, folder).follow()
    assert said(folder) == ["as one", "as two"]


def test_a_link_in_the_place_of_our_folder_is_not_followed(memory: Memory, tmp_path: Path) -> None:
    folder, outside = tmp_path / "files", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "sessions").symlink_to(outside)
    say(memory, "one")
    with pytest.raises(StoreUnavailable, match=r"is a link.*memories are stored.*memorist sync"):
        Follower(memory, folder).follow()
    assert list(outside.iterdir()) == []
    (folder / "sessions").unlink()
    Follower(memory, folder).follow()
    assert said(folder) == ["one"]


@pytest.mark.covers("E5")
@pytest.mark.parametrize("link", [".memorist", ".memorist/follow.json", ".memorist/lock"])
@pytest.mark.parametrize("there", [True, False])
def test_no_link_makes_us_write_elsewhere(memory: Memory, tmp_path: Path, link: str, there: bool) -> None:
    """Git keeps links, so a clone may have brought one."""
    folder, precious = tmp_path / "files", tmp_path / "precious"
    (folder / link).parent.mkdir(parents=True)
    (folder / link).symlink_to(precious)
    if there and link == ".memorist":
        precious.mkdir()
    elif there:
        precious.write_text("precious")
    say(memory, "one")
    with pytest.raises(MemoristError, match="link"):
        Follower(memory, folder).follow()
    if not there:
        assert not precious.exists()
    else:
        assert list(precious.iterdir()) == [] if precious.is_dir() else precious.read_text() == "precious"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("name", ["tasks.json", "sessions.json", ".memorist/follow.json", ".memorist/lock"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    """In a process of its own, which can be ended if it hangs."""
    folder = tmp_path / "files"
    with Memory(tmp_path / "m.db", project="atlas") as memory:
        say(memory, "one")
        memory.remember("Order the bolts", kind="task")
        Follower(memory, folder).follow()
        memory.remember("Order the nuts", kind="task")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    code = (
        "import sys; from memorist import Memory; from memorist.files.follow import Follower; from memorist.errors import *\n"
        "with Memory(sys.argv[1], project='atlas') as memory:\n"
        "    try: Follower(memory, sys.argv[2]).follow()\n"
        "    except MemoristError as problem: print(problem)\n"
        "    print(memory.erase(1).advice)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m.db", folder], capture_output=True, text=True, timeout=30
    )
    assert done.stdout.count("no regular file") == 2, done.stdout + done.stderr
    assert (folder / name).is_fifo()


def test_who_has_to_wait_too_long_is_told(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "WAIT", 0.1)
    say(memory, "one")
    (tmp_path / "files" / ".memorist").mkdir(parents=True)
    with (
        locked(tmp_path / "files" / ".memorist" / "lock", 1.0),
        pytest.raises(StoreUnavailable, match=r"files in .* busy for 0\.1 s"),
    ):
        Follower(memory, tmp_path / "files").follow()
    Follower(memory, tmp_path / "files").follow()
    assert said(tmp_path / "files") == ["one"]


# ---------------------------------------------------------------- crashes


class Killed(BaseException):
    """Nothing catches it, as nothing catches a signal."""


def killed_at(patch: pytest.MonkeyPatch, step: str) -> None:
    """Lets the process die right before one of the steps in which files are changed, or in the middle of a line."""

    def die(*given: Any, **named: Any) -> None:
        raise Killed

    if step == "line":
        write = transcripts.os.write

        def half(file: int, data: bytes) -> int:
            write(file, data[: len(data) // 2])
            raise Killed

        patch.setattr(transcripts.os, "write", half)
    else:
        module = following if step in ("_keep", "_tell_store") else transcripts
        owner = Follower if module is following else transcripts.Transcripts if step == "_save" else transcripts
        patch.setattr(owner, step, die)


STEPS = ("_tell_store", "append", "line", "_save", "_keep")


@pytest.mark.covers("P14", "S2-8")
def test_after_any_crash_the_files_are_those_of_the_rows(tmp_path: Path) -> None:
    chance = random.Random("crash")
    for number in range(rounds(500)):
        folder, fresh = tmp_path / f"{number}", tmp_path / f"{number}-fresh"
        with Memory(":memory:", project="atlas", embed="none") as memory:
            for _ in range(chance.randrange(2, 7)):
                for each in range(chance.randrange(1, 4)):
                    say(memory, f"turn {each} {chance.random()}", chance.choice(["s", "t", "UP", "../up"]))
                step = chance.choice((*STEPS, None))
                with pytest.MonkeyPatch.context() as patch:
                    if step is not None:
                        killed_at(patch, step)
                    try:
                        Follower(memory, folder).follow()
                    except Killed:
                        continue
            Follower(memory, folder).follow()
            Follower(memory, fresh).follow()
            assert contents(folder) == contents(fresh)
            before = contents(folder)
            Follower(memory, folder).sync()
            assert contents(folder) == before


def writing_and_following(path: Path, folder: Path, writer: int, count: int) -> Callable[[], None]:
    def work() -> None:
        with Memory(path, project="atlas", embed="none") as memory:
            follower = Follower(memory, folder)
            for number in range(count):
                say(memory, f"{writer}:{number}", "shared" if number % 2 else f"of {writer}")
                follower.follow()

    return work


@needs_fork
@pytest.mark.covers("W2-11", "P6")
def test_processes_that_follow_at_once_write_each_turn_once(tmp_path: Path) -> None:
    path, folder, count = tmp_path / "m.db", tmp_path / "files", rounds(200, 0.03)
    Memory(path, project="atlas").close()
    assert all_at_once([writing_and_following(path, folder, writer, count) for writer in range(4)]) == [0] * 4
    with Memory(path, project="atlas") as memory:
        before = contents(folder)
        Follower(memory, folder).sync()
        Follower(memory, tmp_path / "fresh").follow()
        assert contents(folder) == before == contents(tmp_path / "fresh")
        entries = json.loads(before["sessions.json"])["sessions"]
        assert sum(entry["turns"] for entry in entries) == 4 * count == memory.count({"kind": "turn"})


@needs_fork
@pytest.mark.covers("P18", "P14")
def test_kill_9_between_a_row_and_its_line_loses_nothing(tmp_path: Path) -> None:
    path, folder, chance = tmp_path / "m.db", tmp_path / "files", random.Random("kill")
    Memory(path, project="atlas").close()

    def work(told: Callable[[object], None]) -> None:
        with Memory(path, project="atlas", embed="none") as memory:
            follower, number = Follower(memory, folder), 0
            while True:
                say(memory, f"{number} " + "long " * chance.randrange(1, 2000))
                follower.follow()
                told(number)
                number += 1

    for _ in range(rounds(200, 0.02)):
        child = Child(work)
        assert child.line() is not None
        time.sleep(chance.uniform(0, 0.05))
        child.kill()
        with Memory(path, project="atlas") as memory:
            Follower(memory, folder).follow()
            rows = [record.text for record in memory.list({"kind": "turn"}, order="-number", limit=100_000)]
        assert said(folder) == rows


# ---------------------------------------------------------------- where the settings say so


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    return folder


def test_files_are_off_unless_somebody_wants_them(checkout: Path) -> None:
    with Memory() as memory:
        say(memory, "one")
        assert follow(memory) is None
    assert {path.name for path in checkout.iterdir()} == {".git"}


def test_a_relative_folder_lies_in_the_project(checkout: Path) -> None:
    settings.set_setting("files.mode", "export")
    with Memory() as memory:
        say(memory, "one")
        done = follow(memory)
    assert done is not None and done.folder == checkout / "memory" and said(checkout / "memory") == ["one"]


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
@pytest.mark.parametrize("there", [None, "MEMORY.md", "notes.md"])
def test_version_control_sees_the_page_and_what_is_not_ours(checkout: Path, there: str | None) -> None:
    """Also in the checkout of somebody who got the page from others."""
    (checkout / ".git").rmdir()
    subprocess.run(["git", "init", "-q"], check=True)
    if there:
        (checkout / "memory").mkdir()
        (checkout / "memory" / there).write_text("# Notes\n")
    settings.set_setting("files.mode", "export")
    with Memory() as memory:
        say(memory, "one")
        memory.remember("Order the bolts", kind="task")
        follow(memory)
    for more in (
        ".memorist-1-2-3.partial",
        "MEMORY.conflict-20260501T100000Z.md",
        "items.json",
        "sessions/s.jsonl.torn",
    ):
        (checkout / "memory" / more).write_text("[]")
    seen = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"], check=True, capture_output=True, text=True
    ).stdout
    assert set(seen.split()) == {f"memory/{name}" for name in {".gitignore", "MEMORY.md", there or "MEMORY.md"}}


@pytest.mark.covers("E5")
@pytest.mark.parametrize("how", ["link", "setting"])
def test_a_relative_folder_does_not_lead_out_of_the_project(checkout: Path, tmp_path: Path, how: str) -> None:
    (tmp_path / "outside").mkdir()
    settings.set_setting("files.mode", "export")
    if how == "link":
        (checkout / "memory").symlink_to(tmp_path / "outside")
    else:
        settings.set_setting("files.folder", "../outside")
    with Memory() as memory:
        say(memory, "one")
        with pytest.raises(Invalid, match=r"out of the project.*files\.folder"):
            follow(memory)
        assert folders.known(memory._tools.store, memory.space) == []
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_full_path_has_a_folder_for_each_project(tmp_path: Path) -> None:
    settings.set_setting("files.mode", "export")
    settings.set_setting("files.folder", str(tmp_path / "all"))
    for project in ("one", "Two", "two"):
        with Memory(tmp_path / "m.db", project=project) as memory:
            say(memory, f"of {project}")
            done = follow(memory)
            assert done is not None and said(done.folder) == [f"of {project}"]
    assert len(list((tmp_path / "all").iterdir())) == 3


def test_a_folder_that_a_renamed_project_leaves_behind_is_told(tmp_path: Path) -> None:
    base = tmp_path / "files"
    with Memory(tmp_path / "m.db", project="one", embed="none") as memory:
        memory.remember("hello", kind="turn", role="user", session="monday")
        Follower(memory, base / "one").follow()
        memory.through(access_for("admin", "project/one", origin="user")).rename_project("one", "two")
    with Memory(tmp_path / "m.db", project="two", embed="none") as memory:
        follower = Follower(memory, base / "two")
        for told in (follower.follow().told, follower.sync().told):
            (said,) = told
            assert str(base / "one") in said and "project/one, which is project/two now" in said and "remove" in said
        memory.remember("again", kind="turn", role="user", session="monday")
        assert follower.follow().told == (), "and not with every line"
        shutil.rmtree(base / "one")
        assert follower.sync().told == ()


def test_a_project_without_a_folder_is_told_to_name_one(tmp_path: Path) -> None:
    settings.set_setting("files.mode", "mirror")
    with Memory(tmp_path / "m.db", project="atlas") as memory, pytest.raises(Invalid, match=r"files\.folder"):
        follow(memory)


def test_a_named_project_does_not_take_the_folder_it_is_named_in(checkout: Path, tmp_path: Path) -> None:
    settings.set_setting("files.mode", "export")
    with Memory(project="other") as memory:
        say(memory, "of another")
        with pytest.raises(Invalid, match=r"project/other has no folder of its own.*files\.folder"):
            follow(memory)
    assert not (checkout / "memory").exists()
    with Memory() as memory:
        say(memory, "one")
        follow(memory)
    assert said(checkout / "memory") == ["one"]
    settings.set_setting("files.folder", str(tmp_path / "all"))
    with Memory(project="other") as memory:
        done = follow(memory)
        assert done is not None and said(done.folder) == ["of another"]


def test_whoever_listens_has_files_after_every_write(checkout: Path) -> None:
    settings.set_setting("files.mode", "export")
    with Memory() as memory:
        stop = listen(memory)
        for number in range(3):
            say(memory, f"turn {number}")
            assert len(said(checkout / "memory")) == number + 1
        stop()
        say(memory, "unheard")
        assert len(said(checkout / "memory")) == 3


def test_whoever_listens_takes_an_edit_in_without_waiting_for_itself(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(following, "WAIT", 0.2)
    settings.set_setting("files.mode", "mirror")
    page = checkout / "memory" / "MEMORY.md"
    with Memory() as memory:
        listen(memory)
        page.write_text(page.read_text() + "- typed by hand\n")
        memory.remember("The port is 8080")
        assert {record.text for record in memory.list()} == {"typed by hand", "The port is 8080"}
        memory.remember("The host is atlas")
    assert "The host is atlas" in page.read_text() and "typed by hand" in page.read_text()
    assert caplog.records == []


@pytest.mark.parametrize("name", ["files.mode", "files_mode"])
def test_the_settings_are_read_by_either_name(name: str, tmp_path: Path) -> None:
    settings.set_setting(name, "mirror")
    assert settings.get_setting("files.mode") == settings.get_setting("files_mode") == "mirror"
    settings.unset_setting(name)
    file = settings.user_file()
    assert file is not None and settings.load().files_mode is None
    file.write_text('[files]\nmode = "export"\nfolder = "notes"\n')
    assert (settings.load().files_mode, settings.load().files_folder) == ("export", "notes")
    with pytest.raises(Invalid, match=r"table \[files\]"):
        settings.set_setting(name, "off")
    for wrong in ("sometimes", "", "OFF"):
        with pytest.raises(Invalid, match=r"files\.mode"):
            settings.set_setting("files.mode", wrong)


@pytest.mark.covers("E5")
def test_a_cloned_project_does_not_switch_files_on(checkout: Path) -> None:
    """Else whoever publishes a repository could have conversations written into it."""
    (checkout / ".memorist.toml").write_text('[files]\nmode = "mirror"\nfolder = "public"\n')
    with Memory() as memory:
        assert follow(memory) is None
        assert any("may not set" in problem for problem in memory.status()["settings_problems"])


@pytest.mark.parametrize(("marked", "wanted"), [("", False), (".git", True), (".memorist.toml", True)])
def test_a_design_makes_files_only_where_a_project_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marked: str, wanted: bool
) -> None:
    folder = tmp_path / "anywhere"
    folder.mkdir()
    if marked:
        (folder / ".git").mkdir() if marked == ".git" else (folder / marked).write_text("")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    settings.set_setting("design", "notebook")
    with Memory() as memory:
        say(memory, "one")
        assert (follow(memory) is not None) == wanted == (folder / "memory").exists()
    with Memory(project="other") as memory:
        assert follow(memory) is None
    settings.set_setting("files.mode", "export")
    with Memory() as memory:
        assert follow(memory) is not None, "who asks for files has them anywhere"


@pytest.mark.covers("E5")
def test_a_cloned_project_does_not_switch_files_on_by_its_design(checkout: Path) -> None:
    (checkout / ".memorist.toml").write_text('design = "notebook"\n')
    with Memory() as memory:
        assert memory.design.name == "notebook" and memory.design.files == "off"
        say(memory, "one")
        assert follow(memory) is None
    settings.set_setting("design", "notebook")
    with Memory() as memory:
        assert memory.design.files == "mirror", "the user's own has it on"


# ---------------------------------------------------------------- the store knows


def test_the_store_knows_the_folder_before_a_byte_is_in_it(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "append", lambda *given: (_ for _ in ()).throw(MemoristError("no")))
    say(memory, "one")
    with pytest.raises(StoreUnavailable):
        Follower(memory, tmp_path / "files").follow()
    assert [filed.path for filed in folders.known(memory._tools.store, memory.space)] == [tmp_path / "files"]


@pytest.mark.covers("P24")
def test_a_place_where_no_folder_can_be_made_is_told(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    say(memory, "one")
    with pytest.raises(StoreUnavailable, match="taken"):
        Follower(memory, tmp_path / "taken" / "files").follow()
