"""Promises G1 and G7: what is erased is in no file that follows the store either, and every file is known to `erase` and named on
the privacy page.

Erasing may come from any process, from another project, while somebody follows, or be cut off; a folder may be busy or away.
"""

import fnmatch
import json
import random
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conftest import rounds
from memorist import Memory
from memorist.files import follow as following
from memorist.files import transcripts
from memorist.files.follow import Follower
from memorist.files.projections import Rendered, Target, rows_of
from memorist.files.transcripts import append, file_of, read
from memorist.store.files import unfinished_prefix
from memorist.store.open import restore
from memorist.store.where import Order
from memorist.surfaces import settings
from trust.test_erased_is_gone import canary, found_in

pytestmark = [pytest.mark.covers("G1"), pytest.mark.usefixtures("without_reader")]
PAGE = Path(__file__).parents[2] / "docs" / "privacy.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "files"


def talk(memory: Memory, words: list[str], session: str) -> list[str]:
    """A session with a canary in every place of its lines; the ids of its turns."""
    text, speaker, message, call, value, output, agent = words
    with memory.session(session, agent=agent) as open_session:
        kept = [
            open_session.turn("user", f"the {text} is here", id=message, speaker=speaker.capitalize()),
            open_session.tool_call("look", {"for": value}, id=call),
            open_session.tool_result(call, f"found {output}"),
        ]
        open_session.turn("assistant", f"number {session} is answered")
    return [str(outcome.id) for outcome in kept]


@pytest.mark.parametrize("backend", ["memory.db", "memory.json"])
def test_no_byte_of_it_is_left_in_any_file_that_follows(tmp_path: Path, folder: Path, backend: str) -> None:
    chance = random.Random("files")
    with Memory(tmp_path / backend, project="atlas", confirm=lambda ask: True) as memory:
        words, ids = list[str](), list[str]()
        for number in range(rounds(50, 0.06)):
            some = [canary(chance) for _ in range(7)]
            ids += talk(memory, some, f"s{number}")
            words += some[:6]  # the agent is named by the session and by its other turns
            Follower(memory, folder).follow()
        assert {word for _, word in found_in(folder, words)} == set(words), "else nothing would be proved"
        for id in ids[: len(ids) // 2]:
            assert memory.erase(id).advice is None
        assert memory.erase(where={"id": {"$in": ids[len(ids) // 2 :]}}).advice is None
        assert found_in(tmp_path, words) == []
        assert [finding for finding in memory.doctor() if not finding.ok] == []
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        Follower(memory, folder).sync()
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before | {
            folder / ".memorist" / "follow.json": (folder / ".memorist" / "follow.json").read_bytes()
        }
        [entry, *_] = json.loads((folder / "sessions.json").read_text())["sessions"]
        assert entry["turns"] == 1 == len(read(file_of(folder, "s0")).lines)


def test_a_session_that_is_erased_leaves_not_even_its_name(tmp_path: Path, folder: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas", confirm=lambda ask: True) as memory:
        for session in ("heronqualm", "Heron Qualm", "other"):
            memory.ingest([{"role": "user", "content": "said"}], session=session, agent="scout")
        Follower(memory, folder).follow()
        for session in ("heronqualm", "Heron Qualm"):
            memory.erase(where={"session": session})
        assert found_in(tmp_path, ["heronqualm"]) == []
        assert [path.name for path in (folder / "sessions").iterdir()] == ["other.jsonl"]
        assert [entry["id"] for entry in json.loads((folder / "sessions.json").read_text())["sessions"]] == ["other"]


def plant_leftovers(folder: Path) -> None:
    """All else in which a line can lie: a torn end, what somebody wrote beside it, what a dead process left."""
    file = file_of(folder, "s")
    whole = file.read_bytes()
    append(file, [whole.splitlines()[0][:-4]])
    append(file, [b'{"by": "hand", "text": "the heronqualm again"}\n'])
    assert b"heronqualm" in file.with_name("s.jsonl.torn").read_bytes()
    name = re.sub(r"-\d+-$", "-999999999-", unfinished_prefix())
    (folder / "sessions" / f"{name}abc.partial").write_bytes(whole)


def test_torn_ends_lines_of_others_and_leftovers_are_cleaned_too(tmp_path: Path, folder: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember([{"role": "user", "content": "the heronqualm nests"}], session="s")
        memory.remember([{"role": "user", "content": "at the weir"}], session="s")
        Follower(memory, folder).follow()
        plant_leftovers(folder)
        assert memory.erase(1).advice is None
        assert found_in(tmp_path, ["heronqualm"]) == []
        assert [line["content"] for line in read(file_of(folder, "s")).lines] == ["at the weir"]


def test_a_line_that_does_not_say_whose_it_is_is_named(tmp_path: Path, folder: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember([{"role": "user", "content": "the cat sat"}], session="s")
        memory.remember([{"role": "user", "content": "at the weir"}], session="s")
        Follower(memory, folder).follow()
        file = file_of(folder, "s")
        file.write_bytes(file.read_bytes() + b'damaged { "content": "the cat sat ..................."\n')
        assert "sessions/s.jsonl:2: is not JSON" in str(memory.erase(1).advice)
        assert [finding for finding in memory.doctor() if not finding.ok] == [], (
            "nothing is left that could be tried again"
        )


def test_a_file_that_still_holds_a_word_of_it_is_named(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a page with a line that a person wrote."""

    class Page(Rendered):
        def erase(self, *_: Any) -> list[str]:
            return []

    def page(target: Target) -> Rendered:
        return Page(target, "seen.md", lambda memory, scope: b"I saw the heronqualm\n")

    monkeypatch.setattr(following, "PROJECTIONS", (*following.PROJECTIONS, page))
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember("The heronqualm nests at the weir")
        Follower(memory, folder).follow()
        assert "seen.md still holds words of it; look at it" in str(memory.erase(1).advice)


def test_a_file_that_is_written_whole_is_written_anew(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def facts(memory: Memory, scope: str) -> bytes:
        where = rows_of(memory, scope).also("kind", "eq", "fact").also("state", "eq", "active")
        return b"".join(record.text.encode() + b"\n" for record in memory._tools.store.find(where, Order("number")))

    monkeypatch.setattr(
        following, "PROJECTIONS", (*following.PROJECTIONS, partial(Rendered, name="facts.txt", render=facts))
    )
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        Follower(memory, folder).follow()
        assert not (folder / "facts.txt").exists()
        memory.remember_many(["The heronqualm nests at the weir", "Beta lies south"])
        Follower(memory, folder).follow()
        assert (folder / "facts.txt").read_text() == "Beta lies south\nThe heronqualm nests at the weir\n"
        assert memory.erase(1).advice is None
        assert (folder / "facts.txt").read_text() == "Beta lies south\n"
        memory.erase(2)
        assert not (folder / "facts.txt").exists()


# ---------------------------------------------------------------- from anywhere


def erase_elsewhere(path: Path, project: str, id: str) -> str:
    """By the bare library, in a process that has never heard of files."""
    code = (
        "import sys; from memorist import Memory; from memorist.access import access_for\n"
        "memory = Memory(sys.argv[1], project=sys.argv[2], access=access_for('admin', 'project/' + sys.argv[2], origin='user'))\n"
        "print(memory.erase(sys.argv[3]).advice)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), project, id], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("project", ["atlas", "another"])
def test_any_process_of_any_project_cleans_them(tmp_path: Path, folder: Path, project: str) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        [kept, _] = memory.remember(
            [{"role": "user", "content": "the heronqualm nests"}, {"role": "user", "content": "it does"}], session="s"
        )
        Follower(memory, folder).follow()
    assert erase_elsewhere(tmp_path / "memory.db", project, str(kept.id)) == "None"
    assert found_in(tmp_path, ["heronqualm"]) == []
    assert [line["content"] for line in read(file_of(folder, "s")).lines] == ["it does"]


def test_a_program_that_cannot_clean_them_says_so(tmp_path: Path, folder: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember([{"role": "user", "content": "the heronqualm nests"}], session="s")
        Follower(memory, folder).follow()
        memory._tools = replace(memory._tools, clean_files=None)
        told = str(memory.erase(1).advice)
        assert f"the files in {folder}" in told and "may hold it, and this program cannot clean them" in told
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        assert "erasures" in [finding.check for finding in memory.doctor() if not finding.ok]
        memory.compact()
        assert found_in(tmp_path, ["heronqualm"]) == []


# ---------------------------------------------------------------- not at once


def test_a_busy_folder_is_named_and_cleaned_later(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "ERASING_WAIT", 0.1)
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember([{"role": "user", "content": "the heronqualm nests"}], session="s")
        follower = Follower(memory, folder)
        follower.follow()
        with follower._locked(1.0):
            assert re.search(r"files in .* could not be cleaned .*busy.*memorist compact", str(memory.erase(1).advice))
        assert "erasures" in [finding.check for finding in memory.doctor() if not finding.ok]
        memory.compact()
        assert [finding for finding in memory.doctor() if not finding.ok] == []
    assert found_in(tmp_path, ["heronqualm"]) == []


@pytest.mark.parametrize("way", ["compact", "erase", "follow"])
def test_an_erasure_that_was_cut_off_is_finished(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    finish: dict[str, Callable[[Memory], object]] = {
        "compact": Memory.compact,
        "erase": lambda memory: memory.erase(2),
        "follow": lambda memory: Follower(memory, folder).follow(),
    }

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        for text in ("the heronqualm nests", "beta lies south", "gamma lies west"):
            memory.remember([{"role": "user", "content": text}], session="s")
        Follower(memory, folder).follow()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(following, "clean", killed)
            memory.erase(1)
        assert found_in(folder, ["heronqualm"]) != []
        finish[way](memory)
        assert found_in(folder, ["heronqualm"]) == []


def test_a_folder_that_was_away_is_cleaned_when_it_is_back(tmp_path: Path) -> None:
    disk, away = tmp_path / "disk", tmp_path / "elsewhere"
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember([{"role": "user", "content": "the heronqualm nests"}], session="s")
        Follower(memory, disk / "files").follow()
        disk.rename(away)
        assert re.search(r"disk/files, which held files of project/atlas, is not there", str(memory.erase(1).advice))
        away.rename(disk)
        Follower(memory, disk / "files").follow()
        assert found_in(disk, ["heronqualm"]) == []


def test_a_folder_that_another_store_took_over_is_searched_and_not_written(tmp_path: Path, folder: Path) -> None:
    with Memory(tmp_path / "m.db", project="atlas") as memory:
        memory.remember("The heronqualm nests at the weir")
        Follower(memory, folder).follow()
        shutil.rmtree(folder)
        with Memory(tmp_path / "other.db", project="atlas") as other:
            other.remember([{"role": "user", "content": "a heronqualm is ours too"}], session="s")
            other.remember("Our heronqualm nests in the mill")
            Follower(other, folder).follow()
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        advice = memory.erase(1).advice
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
        assert "s.jsonl still holds words of it" in str(advice)


def test_a_folder_that_somebody_removed_is_no_problem(tmp_path: Path, folder: Path) -> None:
    import shutil

    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember([{"role": "user", "content": "the heronqualm nests"}], session="s")
        Follower(memory, folder).follow()
        shutil.rmtree(folder)
        assert memory.erase(1).advice is None


def test_what_is_erased_while_somebody_writes_it_does_not_stay(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The follower has read the row, and the eraser comes before its line is written."""
    path, read_it, go_on = tmp_path / "memory.db", threading.Event(), threading.Event()
    line_of = transcripts.line_of

    def slowly(turn: Any) -> bytes:
        read_it.set()
        go_on.wait(10)
        return line_of(turn)

    with Memory(path, project="atlas") as memory, Memory(path, project="atlas") as other:
        memory.remember([{"role": "user", "content": "the heronqualm nests"}], session="s")
        monkeypatch.setattr(transcripts, "line_of", slowly)
        thread = threading.Thread(target=Follower(memory, folder).follow)
        thread.start()
        assert read_it.wait(10)
        timer = threading.Timer(0.3, go_on.set)
        timer.start()
        assert other.erase(1).advice is None
        thread.join()
    assert found_in(tmp_path, ["heronqualm"]) == []


@pytest.mark.covers("G2")
def test_a_restored_backup_brings_no_line_back(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "memory.db"
    (tmp_path / "mine").mkdir()
    with Memory(path, project="atlas") as memory:
        memory.remember([{"role": "user", "content": "the heronqualm nests"}], session="s")
        memory.backup(tmp_path / "mine" / "copy.db")
        Follower(memory, folder).follow()
        memory.erase(1)
    restore(path, tmp_path / "mine" / "copy.db", datetime.now(UTC))
    with Memory(path, project="atlas") as memory:
        Follower(memory, folder).sync()
    assert found_in(folder, ["heronqualm"]) == []


@pytest.mark.covers("Z16")
def test_a_secret_that_is_found_later_is_taken_out_of_the_files(tmp_path: Path, folder: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember([{"role": "user", "content": "the badge is heron-4711-qualm"}], session="s")
        Follower(memory, folder).follow()
    file = settings.rules_file()
    assert file is not None
    file.write_text('[rules.badge]\npattern = "heron-[0-9]+-qualm"\n')
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        assert len(memory.rescan().changed) == 1
        assert found_in(tmp_path, ["heron-4711-qualm"]) == []
        [line] = read(file_of(folder, "s")).lines
        assert line["content"] == memory.get(1).text and "badge is" in line["content"]


# ---------------------------------------------------------------- every file is known


def named_on_the_page() -> list[str]:
    """The patterns of the files that the page names."""
    rows = re.findall(r"^\| (`[^|]+?) \|", PAGE.read_text(encoding="utf-8"), re.M)
    return [pattern for row in rows for pattern in re.findall(r"`([^`]+)`", row)]


@pytest.mark.covers("G7")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_every_file_is_named_on_the_privacy_page(tmp_path: Path, folder: Path, name: str) -> None:
    made = set[str]()

    def look() -> None:
        made.update(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())

    with Memory(tmp_path / name, project="atlas") as memory:
        memory.remember_many(["Alpha lies north", "Beta lies south"])
        memory.recall("Where is Alpha?")
        memory.remember([{"role": "user", "content": "said"}], session="s")
        Follower(memory, folder).follow()
        append(file_of(folder, "s"), [b'{"torn'])
        append(file_of(folder, "s"), [b"{}\n"])
        memory.erase(1)
        memory.backup(tmp_path / f"{name}.backup-20260101T000000Z")
        look()
    restore(tmp_path / name, tmp_path / f"{name}.backup-20260101T000000Z", datetime.now(UTC))
    look()
    patterns = [pattern.replace("memory.db", name) for pattern in named_on_the_page()]
    patterns += [f"{pattern}.anchor" for pattern in patterns] + [f"files/{pattern}" for pattern in patterns]
    assert [file for file in made if not any(fnmatch.fnmatch(file, pattern) for pattern in patterns)] == []
    assert len(made) > 10, "else nothing would be proved"


NO_CONTENT = {".gitignore", ".memorist/follow.json", ".memorist/lock"}


@pytest.mark.covers("G7")
def test_erase_knows_every_file_in_a_folder(tmp_path: Path, folder: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember([{"role": "user", "content": "said"}], session="s")
        follower = Follower(memory, folder)
        follower.follow()
        append(file_of(folder, "s"), [b'{"torn'])
        append(file_of(folder, "s"), [b"{}\n"])
        known = {file for projection in follower.projections for file in projection.files()}
        there = {path for path in folder.rglob("*") if path.is_file()}
        assert {path.relative_to(folder).as_posix() for path in there - known} == NO_CONTENT
        state = (folder / ".memorist" / "follow.json").read_text()
        assert "said" not in state and (folder / ".memorist" / "lock").stat().st_size == 0
