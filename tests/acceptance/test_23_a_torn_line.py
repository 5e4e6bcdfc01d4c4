"""Acceptance row 23, first half: one torn line in a session's JSONL costs that line only, and it is reported."""

import json
from pathlib import Path

import pytest

from memorist import Memory
from memorist.files.follow import Follower
from memorist.files.transcripts import read

pytestmark = pytest.mark.covers("W2-11")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.ingest([{"role": "user", "content": f"line {number}"} for number in range(1, 6)], session="monday")
        Follower(memory, tmp_path / "files").follow()
    return tmp_path / "files" / "sessions" / "monday.jsonl"


def test_all_other_lines_are_read_and_the_bad_one_is_reported(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:40] + b"\n"
    file.write_bytes(b"".join(lines))
    found = read(file)
    assert [line["content"] for line in found.lines] == ["line 1", "line 2", "line 4", "line 5"]
    [problem] = found.problems
    assert problem.startswith("monday.jsonl:3: is not JSON")


@pytest.mark.covers("N2-1", "S2-8")
def test_a_torn_end_costs_nothing_because_the_row_is_the_truth(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:-25])  # the process was killed in the middle of its last line
    found = read(file)
    assert [line["content"] for line in found.lines] == ["line 1", "line 2", "line 3", "line 4"]
    assert found.problems[0].startswith("monday.jsonl:5: ") and "has no end" in found.problems[0]
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        told = Follower(memory, tmp_path / "files").sync().told
    assert told == ("line 5 of monday.jsonl was torn; what there is of it is kept in monday.jsonl.torn",)
    assert file.read_bytes() == whole and read(file).problems == []
    assert (
        file.with_name("monday.jsonl.torn").read_bytes()
        == whole.splitlines()[4][: len(whole.splitlines()[4]) - 24] + b"\n"
    )


def test_the_next_line_does_not_grow_together_with_a_torn_one(file: Path, tmp_path: Path) -> None:
    file.write_bytes(file.read_bytes()[:-25])
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.ingest([{"role": "user", "content": "line 6", "id": "six"}], session="monday")
        Follower(memory, tmp_path / "files").follow()
    assert read(file).problems == []
    assert [line["content"] for line in read(file).lines] == [f"line {number}" for number in range(1, 7)]
    [entry] = json.loads((tmp_path / "files" / "sessions.json").read_text())["sessions"]
    assert (entry["id"], entry["turns"], entry["bytes"]) == ("monday", 6, file.stat().st_size)
