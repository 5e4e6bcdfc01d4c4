"""Nasty inputs 11 and 30: a MEMORY.md that is no file, and what people do to one. A clear error, or nothing lost."""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.errors import Conflict, Invalid, MemoristError, Refused
from memorist.files import whole
from memorist.files.memory_md import sync
from memorist.records import LIVING


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", embed="none") as memory:
        memory.remember("Use Postgres", kind="decision")
        memory.remember("The port is 8080\non every host")
        yield memory


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work" / "MEMORY.md"


def everything(memory: Memory) -> set[str]:
    return {record.text for record in memory.list({"state": {"$in": list(LIVING)}})}


# ---------------------------------------------------------------- 11: what is no page


@pytest.mark.covers("P15")
def test_a_link_out_of_the_folder_is_not_followed(memory: Memory, page: Path, tmp_path: Path) -> None:
    target = tmp_path / "authorized_keys"
    target.write_text("ssh-ed25519 AAAA me\n")
    page.symlink_to(target)
    with pytest.raises(Refused, match="outside of its folder"):
        sync(memory, page)
    assert target.read_text() == "ssh-ed25519 AAAA me\n" and memory.count() == 2


def test_a_link_to_nowhere_outside_is_not_made(memory: Memory, page: Path, tmp_path: Path) -> None:
    page.symlink_to(tmp_path / "new")
    with pytest.raises(Refused):
        sync(memory, page)
    assert not (tmp_path / "new").exists()


@pytest.mark.covers("P15")
def test_a_link_inside_stays_a_link(memory: Memory, page: Path) -> None:
    real = page.with_name("notes.md")
    real.write_text("- by a person\n")
    page.symlink_to("notes.md")
    sync(memory, page)
    assert page.is_symlink() and "Use Postgres" in real.read_text()


def test_a_folder_a_pipe_and_a_loop_are_told(memory: Memory, page: Path) -> None:
    page.mkdir()
    with pytest.raises(MemoristError, match="no plain file"):
        sync(memory, page)
    page.rmdir()
    os.mkfifo(page)
    with pytest.raises(Invalid, match="no plain file"):
        sync(memory, page)
    page.unlink()
    page.symlink_to("MEMORY.md")
    with pytest.raises(MemoristError):
        sync(memory, page)


def test_two_gigabytes_are_not_read(memory: Memory, page: Path) -> None:
    with page.open("wb") as file:
        file.truncate(2 << 30)
    with pytest.raises(Invalid, match="2,147,483,648 bytes"):
        sync(memory, page)


def test_a_page_that_is_gone_between_two_looks_is_written_again(
    memory: Memory, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(memory, page)
    memory.remember("a third fact")
    read, removed = whole.read, []

    def racing(file: Path, *largest: int) -> bytes | None:
        content = read(file, *largest)
        if not removed:
            removed.append(page.unlink())
        return content

    monkeypatch.setattr(whole, "read", racing)
    sync(memory, page)
    assert all(text.partition("\n")[0] in page.read_text() for text in everything(memory)) and memory.count() == 3


def test_another_encoding_is_told(memory: Memory, page: Path) -> None:
    for content in (b"caf\xe9", "heron".encode("utf-16")):
        page.write_bytes(content)
        with pytest.raises(Invalid, match="UTF-8"):
            sync(memory, page)
        assert page.read_bytes() == content


# ---------------------------------------------------------------- 30: what people do


def test_a_page_that_is_missing_or_empty_forgets_nothing(memory: Memory, page: Path) -> None:
    sync(memory, page)
    for content in (None, b"", b"\n \n"):
        page.unlink() if content is None else page.write_bytes(content)
        done = sync(memory, page)
        assert done.edits == () and memory.count() == 2 and "Use Postgres" in page.read_text()


def test_half_of_the_page_deleted_is_asked_about(memory: Memory, page: Path) -> None:
    """Also of lines that are the file's own, where that is most of what there is."""
    page.write_text("".join(f"- line {number} of a person\n" for number in range(40)))
    sync(memory, page)
    whole_page = page.read_text()
    page.write_text("".join(whole_page.splitlines(keepends=True)[:5]))
    done = sync(memory, page)
    assert done.proposals and memory.count() == 42
    page.write_text(whole_page)
    sync(memory, page)
    assert memory.count() == 42 and memory.review() == [] and page.read_text() == whole_page


def test_lines_in_another_order_are_the_same_lines(memory: Memory, page: Path) -> None:
    page.write_text("- first of a person\n- second of a person\n")
    sync(memory, page)
    before = everything(memory)
    lines = page.read_text().splitlines(keepends=True)
    for seed in range(20):
        items = [line for line in lines if line.startswith("- ") and "8080" not in line]
        random.Random(seed).shuffle(items)
        page.write_text("".join(items) + "".join(line for line in lines if line not in items))
        text = page.read_text()
        assert sync(memory, page).edits == () and page.read_text() == text and everything(memory) == before


def test_a_changed_mark_is_found_by_its_text(memory: Memory, page: Path) -> None:
    sync(memory, page)
    original = page.read_text()
    for mark in ("<!-- m:01zzzzzzzzzzzzzzzzzzzzzzzz -->", "<!-- m: -->", "", "<!-- m:0"):
        line = next(line for line in original.splitlines() if "Use Postgres" in line)
        page.write_text(original.replace(line, f"- 2026-01-01: Use Postgres {mark}".rstrip()))
        done = sync(memory, page)
        assert [record.text for record in memory.list({"kind": "decision"})] == ["Use Postgres"], mark
        assert not [edit for edit in done.edits if edit.verb == "removed"] or done.proposals


def test_a_block_that_is_there_twice_is_one_memory_and_an_edited_copy_is_another(memory: Memory, page: Path) -> None:
    sync(memory, page)
    line = next(line for line in page.read_text().splitlines(keepends=True) if "Use Postgres" in line)
    page.write_text(page.read_text() + "\n" + line)
    doubled = page.read_text()
    assert sync(memory, page).edits == () and page.read_text() == doubled and memory.count() == 2
    page.write_text(doubled.replace("Use Postgres", "Use Postgres and SQLite", 1))
    done = sync(memory, page)
    assert [edit.text for edit in done.edits] == ["Use Postgres and SQLite"] and memory.count() == 3
    assert memory.get(1).text == "Use Postgres" and not sync(memory, page).changed


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_another_newline_is_no_edit_and_is_kept(memory: Memory, page: Path, end: str) -> None:
    page.write_text("- of a person\n\nand a paragraph\n")
    sync(memory, page)
    page.write_bytes(page.read_bytes().replace(b"\n", end.encode()))
    before = page.read_bytes()
    assert sync(memory, page).edits == () and page.read_bytes() == before
    memory.remember("a new fact")
    sync(memory, page)
    assert b"a new fact" in page.read_bytes() and page.read_bytes().replace(end.encode(), b"").count(b"\n") == 0


def test_a_mark_of_the_encoding_stays(memory: Memory, page: Path) -> None:
    page.write_bytes(b"\xef\xbb\xbf# Notes\n\n- of a person\n")
    sync(memory, page)
    assert page.read_bytes().startswith(b"\xef\xbb\xbf# Notes\n") and "of a person" in everything(memory)


def test_an_older_version_from_version_control_proposes_and_loses_nothing(memory: Memory, page: Path) -> None:
    sync(memory, page)
    older = page.read_text()
    memory.revise(1, "Use Postgres 17")
    memory.remember("A later fact")
    sync(memory, page)
    newer = page.read_text()
    page.write_text(older)
    done = sync(memory, page)
    assert len(done.proposals) == 2 and memory.get(1).text == "Use Postgres 17" and page.read_text() == older
    page.write_text(newer)
    sync(memory, page)
    assert memory.review() == [] and "A later fact" in everything(memory) and memory.get(1).text == "Use Postgres 17"


def test_what_could_not_be_merged_is_told_and_nothing_is_touched(memory: Memory, page: Path) -> None:
    sync(memory, page)
    text = page.read_text() + "<<<<<<< HEAD\n- mine\n=======\n- theirs\n>>>>>>> branch\n"
    page.write_text(text)
    memory.remember("a new fact")
    with pytest.raises(Conflict, match=r"MEMORY.md:\d+ holds the marks of an unfinished merge"):
        sync(memory, page)
    assert page.read_text() == text and memory.count() == 3


def test_a_mark_of_another_projects_memory_opens_nothing(memory: Memory, page: Path) -> None:
    owner = memory.through(replace(memory.access, reads=("*", "project/*"), writes=("*", "project/*"), role="admin"))
    other = owner.remember("The other project's plan", scope="project/other")
    page.write_text(f"- overwritten <!-- m:{str(other.id)[1:]} -->\n")
    sync(memory, page)
    assert owner.get(str(other.id)).text == "The other project's plan"
    assert "plan" not in page.read_text() and "overwritten" in everything(memory)
