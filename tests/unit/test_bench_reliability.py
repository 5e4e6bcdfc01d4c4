"""The reliability table: buckets that can be counted by hand, and a run over small sets."""

from pathlib import Path

import pytest

import small_sets
from bench import reliability
from bench.__main__ import main
from bench.reliability import Bucket, buckets, error


def test_buckets_and_the_error() -> None:
    told = [(0.05, False), (0.15, True), (0.75, True), (0.75, True), (0.75, True), (0.75, False), (1.0, True)]
    found = buckets(told)
    assert found[0] == Bucket(1, 0.0, pytest.approx(5.0)) and found[2] == Bucket(0, 0.0, 0.0)
    assert found[7] == Bucket(4, 75.0, 75.0) and found[9] == Bucket(1, 100.0, 100.0)
    assert error(found) == pytest.approx((5 + 85 + 4 * 0 + 0) / 7)
    assert error(buckets([])) == 0.0


def test_notes_and_talk_are_looked_at_apart(tmp_path: Path) -> None:
    text, found = reliability.run(small_sets.locomo(small_sets.notes(tmp_path)), "none")
    assert set(found) == {"notes", "talk"} and "0.9–1.0" in text and "calibration error" in text
    hits = {group: sum(bucket["hits"] for bucket in told["buckets"]) for group, told in found.items()}
    assert hits["notes"] >= 1 and 1 <= hits["talk"] <= 2, "talk: only the question with an answer"
    matter = [round(b["hits"] * b["matter"] / 100) for b in found["notes"]["buckets"]]
    assert sum(matter) == 1


def test_the_command_keeps_the_part_and_says_when_there_is_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--reliability", "--data", str(tmp_path), "--into", str(tmp_path)]) == 0
    assert "holds nothing to tell what a relevance means by" in capsys.readouterr().out
    assert not (tmp_path / "benchmarks.md").exists()
    assert main(["--reliability", "--data", str(small_sets.notes(tmp_path)), "--into", str(tmp_path)]) == 0
    assert "## What a relevance means" in (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
