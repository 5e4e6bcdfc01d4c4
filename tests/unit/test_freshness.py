"""Does a memory about a file say when the file is not what it was?"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import STORES, place_of
from memorist import Memory
from memorist.errors import Conflict
from memorist.files.items import index
from memorist.files.transfer import export, import_files
from memorist.folder import HASHES, LARGEST_HASHED, Folder
from memorist.testing import MovableClock

QUESTION = "how are bodies signed?"
SAID = "Empty bodies are signed as an empty text"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "sign.py").write_text("one\n")
    (folder / "other.py").write_text("two\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(params=STORES)
def memory(
    request: pytest.FixtureRequest, project: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    monkeypatch.setenv("MEMORIST_DB", str(place_of(request.param, project.parent)))
    with Memory(clock=clock) as memory:
        yield memory


def freshness(memory: Memory) -> str | None:
    [hit] = memory.recall(QUESTION)
    return hit.freshness


@pytest.mark.covers("S2-15", "N2-8")
def test_a_changed_file_makes_a_memory_stale_and_a_missing_one_unverifiable(memory: Memory, project: Path) -> None:
    memory.remember(SAID, files=["src/sign.py"])
    assert freshness(memory) == "fresh"
    (project / "src" / "sign.py").write_text("other\n")
    assert freshness(memory) == "stale"
    (project / "src" / "sign.py").unlink()
    assert freshness(memory) == "unverifiable"
    (project / "src" / "sign.py").write_text("one\n")
    assert freshness(memory) == "fresh"


def test_the_same_size_at_the_same_time_is_another_file(memory: Memory, project: Path) -> None:
    """A change within the same tick of the clock is seen."""
    file = project / "src" / "sign.py"
    memory.remember(SAID, files=["src/sign.py"])
    for text in ("abc\n", "one\n") * 20:
        file.write_text(text)
        assert freshness(memory) == ("fresh" if text == "one\n" else "stale")


def test_a_file_that_stayed_is_not_read_again(memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "src" / "sign.py"
    os.utime(file, (1_000_000_000, 1_000_000_000))
    memory.remember(SAID, files=["src/sign.py"])
    monkeypatch.setattr("memorist.folder.hash_of", lambda raw: pytest.fail("it was read"))
    assert freshness(memory) == "fresh"


def test_it_is_said_in_a_prompt(memory: Memory, project: Path) -> None:
    memory.remember(SAID, files=["src/sign.py"])
    assert "stale" not in str(memory.context(QUESTION)) and "fresh" not in str(memory.context(QUESTION))
    (project / "src" / "sign.py").write_text("other\n")
    assert "[1, stale] Empty bodies" in str(memory.context(QUESTION))


def test_one_of_several_files_is_enough(memory: Memory, project: Path) -> None:
    memory.remember(SAID, files=["src/sign.py", "other.py", "nowhere.py"])
    assert set(memory.get(1).data[HASHES]) == {"src/sign.py", "other.py"}
    (project / "other.py").unlink()
    assert freshness(memory) == "unverifiable"
    (project / "src" / "sign.py").write_text("other\n")
    assert freshness(memory) == "stale"


def test_what_names_no_file_of_the_folder_says_nothing(memory: Memory, project: Path) -> None:
    outside = project.parent / "outside.py"
    outside.write_text("x\n")
    memory.remember(SAID, files=["nowhere.py", str(outside), "../outside.py", "src", "\x1b[2J", "a" * 250])
    assert HASHES not in memory.get(1).data and freshness(memory) is None


@pytest.mark.covers("S4-23")
def test_what_is_ignored_is_never_hashed(memory: Memory, project: Path) -> None:
    (project / ".env").write_text("TOKEN=1\n")
    (project / ".gitignore").write_text("other.py\n")
    (project / ".secretsignore").write_text("src/\n")
    (project / "link.txt").symlink_to(".env")
    memory.remember(SAID, files=[".env", "other.py", "src/sign.py", "link.txt", ".git/config"])
    assert HASHES not in memory.get(1).data


def test_what_is_ignored_since_is_unverifiable(memory: Memory, project: Path) -> None:
    memory.remember(SAID, files=["src/sign.py"])
    (project / ".gitignore").write_text("*.py\n")
    assert freshness(memory) == "unverifiable"


def test_said_again_it_is_fresh(memory: Memory, project: Path) -> None:
    memory.remember(SAID, files=["src/sign.py"])
    (project / "src" / "sign.py").write_text("other\n")
    assert memory.remember(SAID, files=["src/sign.py"]).outcome == "reinforced"
    assert freshness(memory) == "fresh"


def test_a_tool_that_repeats_the_user_does_not_make_it_fresh(memory: Memory, project: Path) -> None:
    memory.through(replace(memory.access, origin="user")).remember(SAID, files=["src/sign.py"])
    (project / "src" / "sign.py").write_text("other\n")
    memory.through(replace(memory.access, origin="tool")).remember(SAID, files=["src/sign.py"])
    assert freshness(memory) == "stale"


def test_revised_it_is_fresh_and_other_changes_leave_it(memory: Memory, project: Path) -> None:
    memory.remember(SAID, files=["src/sign.py"], data={"mine": 1})
    (project / "src" / "sign.py").write_text("other\n")
    memory.revise(1, data={"mine": 2})
    assert freshness(memory) == "stale" and memory.get(1).data["mine"] == 2
    memory.revise(1, "Empty bodies are signed as nothing")
    assert freshness(memory) == "fresh"


@pytest.mark.covers("W1-4")
def test_a_key_sent_again_after_the_file_changed_is_the_same_draft(memory: Memory, project: Path) -> None:
    memory.remember(SAID, files=["src/sign.py"], key="k")
    (project / "src" / "sign.py").write_text("other\n")
    assert memory.remember(SAID, files=["src/sign.py"], key="k").outcome == "repeated"
    with pytest.raises(Conflict):
        memory.remember(SAID, files=["src/sign.py"], key="k", data={"mine": 1})


def test_only_a_memory_of_the_project_speaks_of_its_files(memory: Memory, project: Path) -> None:
    """In another project `src/sign.py` is another file."""
    memory.remember(SAID, files=["src/sign.py"], scope="user/ann")
    assert HASHES not in memory.get(1).data
    memory.remember(SAID, files=["src/sign.py"], scope="session/s1")
    assert HASHES in memory.get(2).data


def test_the_past_is_not_compared(memory: Memory, project: Path, clock: MovableClock) -> None:
    memory.remember(SAID, files=["src/sign.py"])
    clock.move(days=1)
    (project / "src" / "sign.py").write_text("other\n")
    [hit] = memory.recall(QUESTION, as_of=clock())
    assert hit.freshness is None


def test_without_a_folder_nothing_is_read(tmp_path: Path, project: Path) -> None:
    with Memory(tmp_path / "x.db") as memory:
        memory.remember(SAID, files=["src/sign.py", str(project / "other.py")])
        assert memory.get(1).data == {} and freshness(memory) is None


def test_a_file_is_found_from_where_the_caller_works(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git").mkdir()
    monkeypatch.chdir(project / "src")
    monkeypatch.setenv("MEMORIST_DB", ":memory:")
    with Memory() as memory:
        memory.remember(SAID, files=["sign.py", project / "other.py"])
        assert set(memory.get(1).data[HASHES]) == {"src/sign.py", "other.py"}


def test_no_file_is_read_inside_a_transaction(memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor inside the moment in which a question reads: a slow disk must not hold a lock."""
    opened, looks = Folder._opened, list[str]()

    def watched(self: Folder, name: str) -> object:
        assert getattr(memory._writer._here, "transaction", None) is None
        looks.append(name)
        return opened(self, name)

    monkeypatch.setattr(Folder, "_opened", watched)
    user = memory.through(replace(memory.access, origin="user"))
    user.remember(SAID, files=["src/sign.py"])
    memory.recall(QUESTION)
    held = memory.revise(1, "Empty bodies are signed as nothing")
    assert held.outcome == "needs_consent"
    user.review(held.pending, decide="approve")
    assert memory.get(1).text.endswith("nothing") and len(looks) == 3
    (project / "PLAN.md").write_text("TODO: one\n")
    index(memory)
    (project / "PLAN.md").unlink()
    memory.upkeep()
    assert looks[3:] == ["PLAN.md", "other.py", "src/sign.py"], "all of the folder, once"


def test_an_export_carries_it(memory: Memory, project: Path) -> None:
    memory.remember(SAID, files=["src/sign.py"])
    (project.parent / "out.jsonl").write_text("".join(export(memory)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMORIST_DB", ":memory:")
        with Memory() as other:
            import_files(other, [project.parent / "out.jsonl"])
            assert freshness(other) == "fresh"
            (project / "src" / "sign.py").write_text("other\n")
            assert freshness(other) == "stale"


@pytest.mark.parametrize("kept", [None, 1, "x", [], {}, {"src/sign.py": 1}, {"../x": "y"}, {"\0": "y"}, {"": "y"}])
def test_whatever_stands_in_the_data_is_no_error(memory: Memory, kept: object) -> None:
    folder = memory._tools.folder
    assert folder.freshness(kept) in (None, "stale", "unverifiable")


# ---------------------------------------------------------------- nasty input 11


@pytest.mark.skipif(os.name != "posix", reason="pipes are POSIX's")
def test_what_is_no_regular_file_of_the_folder_is_not_read(project: Path) -> None:
    folder = Folder(project)
    (project / "out.py").symlink_to("/etc/passwd")
    (project / "loop.py").symlink_to("loop.py")
    (project / "folder.py").mkdir()
    (project / "within.py").symlink_to("other.py")
    os.mkfifo(project / "pipe.py")
    with (project / "huge.py").open("wb") as file:
        file.truncate(LARGEST_HASHED + 1)
    names = ["out.py", "loop.py", "folder.py", "pipe.py", "huge.py", "within.py", "other.py/x", "gone.py"]
    assert list(folder.hashes(names)) == ["other.py"], "only a link to a file of the folder is one"


def test_a_file_that_is_gone_between_two_looks(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(project)
    looked = Folder._readable

    def gone(self: Folder, path: str, start: Path | None) -> str | None:
        name = looked(self, path, start)
        (project / "other.py").unlink(missing_ok=True)
        return name

    monkeypatch.setattr(Folder, "_readable", gone)
    assert folder.hashes(["other.py"]) == {}


def test_a_file_of_rules_that_cannot_be_read_hides_everything(project: Path) -> None:
    (project / ".gitignore").symlink_to("/etc/hostname")
    assert Folder(project).is_ignored("other.py")
    (project / ".gitignore").unlink()
    (project / ".gitignore").mkdir()
    assert not Folder(project).is_ignored("other.py"), "git does not read a folder of that name either"
    (project / ".gitignore").rmdir()
    (project / ".gitignore").write_bytes(b"\xff\xfe\n*.py\n")
    assert Folder(project).is_ignored("other.py")
