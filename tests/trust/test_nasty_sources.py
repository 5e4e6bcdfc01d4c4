"""Nasty input 11, for what is extracted: a source replaced by a link, a folder, a pipe or a huge file, or gone meanwhile.

Nothing outside the folder is read, nothing blocks, the other files are indexed, and the items of what cannot be read stay.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memorist import Memory
from memorist.errors import Invalid
from memorist.files.items import LARGEST_SOURCE, extracted, index
from memorist.folder import Folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and links are POSIX's")
OUTSIDE = "TODO: this lies outside\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.md").write_text("TODO: of a\n")
    (folder / "b.md").write_text("TODO: of b\n")
    (tmp_path / "outside.md").write_text(OUTSIDE)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "c.md").write_text(OUTSIDE)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    return folder


@pytest.fixture
def memory(project: Path) -> Iterator[Memory]:
    with Memory() as memory:
        yield memory


def huge(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(2 << 30)


def binary(file: Path) -> None:
    file.write_bytes(b"TODO: x\0\1\2")


NASTY: dict[str, Callable[[Path], None]] = {
    "a link out of the folder": lambda file: file.symlink_to("../outside.md"),
    "a link to a folder outside": lambda file: file.symlink_to("../outside"),
    "a link to itself": lambda file: file.symlink_to(file.name),
    "a folder": lambda file: file.mkdir(),
    "a pipe": os.mkfifo,
    "a sparse file of 2 GB": huge,
    "no text": binary,
    "not UTF-8": lambda file: file.write_bytes(b"TODO: caf\xe9\n"),
    "a device": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("how", NASTY)
def test_what_a_source_was_replaced_by(how: str, memory: Memory, project: Path) -> None:
    index(memory)
    (project / "a.md").unlink()
    NASTY[how](project / "a.md")
    done = index(memory)
    texts = {record.text for record in extracted(memory)}
    assert "of b" in texts and "this lies outside" not in texts
    assert len(texts) == 2 or done.outcomes["expired"] == 1, "its items stay, or are archived with a reason"


@pytest.mark.parametrize(
    "how", ["a link out of the folder", "a link to itself", "a pipe", "a sparse file of 2 GB", "no text"]
)
def test_a_file_that_is_named_is_refused_or_told(how: str, memory: Memory, project: Path) -> None:
    NASTY[how](project / "x.md")
    try:
        done = index(memory, ["x.md"])
    except Invalid as problem:
        assert "\n" not in str(problem)
    else:
        assert len(done.problems) == 1 and done.outcomes == {}
    assert memory.count() == 0


def test_a_link_to_a_folder_outside_is_not_walked(memory: Memory, project: Path) -> None:
    (project / "docs").symlink_to("../outside")
    assert index(memory).outcomes == {"added": 2}
    with pytest.raises(Invalid, match="outside of the project's folder"):
        index(memory, ["docs"])
    with pytest.raises(Invalid, match="outside of the project's folder"):
        index(memory, [".."])


def test_a_file_removed_between_the_look_and_the_reading(
    memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(memory)
    content = Folder.content

    def gone(self: Folder, name: str, room: int) -> tuple[bytes, float]:
        (project / "a.md").unlink(missing_ok=True)
        return content(self, name, room)

    monkeypatch.setattr(Folder, "content", gone)
    done = index(memory)
    assert done.outcomes == {"unchanged": 1} and len(done.problems) == 1
    assert index(memory).outcomes == {"unchanged": 1, "expired": 1}


def test_a_file_replaced_by_a_link_after_the_look(
    memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Folder.content

    def swapped(self: Folder, name: str, room: int) -> tuple[bytes, float]:
        if name == "a.md":
            (project / "a.md").unlink(missing_ok=True)
            (project / "a.md").symlink_to("../outside.md")
        return content(self, name, room)

    monkeypatch.setattr(Folder, "content", swapped)
    index(memory)
    assert {record.text for record in extracted(memory)} == {"of b"}


def test_a_file_that_may_not_be_read_keeps_its_items(
    memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(memory)

    def closed(self: Folder, name: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Folder, "_opened", closed)
    done = index(memory)
    assert len(done.problems) == 2 and "Permission denied" in done.problems[0]
    assert len(extracted(memory)) == 2


def test_odd_names_are_told_and_the_others_read(memory: Memory, project: Path) -> None:
    odd = ["x" * 200 + "/" + "y" * 100 + ".md", "\x1b[2J.md", "line\nbreak.md", "🙂 and blanks.md"]
    for name in odd:
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("TODO: of an odd name\n")
    with open(os.fsencode(project) + b"/caf\xe9.md", "wb") as file:  # noqa: PTH123
        file.write(b"TODO: of bytes\n")
    done = index(memory)
    assert done.outcomes == {"added": 5} and len(done.problems) == 2
    assert all("\x1b" not in problem and "\n" not in problem for problem in done.problems)


def test_a_large_file_is_told(memory: Memory, project: Path) -> None:
    (project / "large.md").write_text("TODO: x\n\n" * (LARGEST_SOURCE // 9 + 1))
    done = index(memory)
    assert done.outcomes == {"added": 2} and "larger than" in done.problems[0]
