"""Promise P14: lines never tear, fuse or get lost, though many processes add them, are killed, and find the disk full.

Every line is added by `append` under the folder's lock, as the follower does it, and is acknowledged on a pipe once `append` has
returned. Children are killed at random moments, and some find that the file may not grow, in the middle of a line.
"""

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import rounds
from faults.processes import Child, needs_fork
from memorist.errors import StoreUnavailable
from memorist.files.transcripts import append, memory_of, read
from memorist.store.lock import locked

pytestmark = [needs_fork, pytest.mark.covers("P14")]
WRITERS = 8
SHORT, LONG = 200, 300_000  # bytes of a line
FULL_NOW_AND_THEN = 0.05


def line(writer: int, number: int, size: int) -> bytes:
    start = json.dumps({"memory": f"m{writer:02}{number:08}", "content": ""}).encode()[:-2]
    return start + b"x" * (size - len(start) - 3) + b'"}\n'


def adding(file: Path, writer: int, first: int, count: int, size: int) -> Callable[[Callable[[object], None]], None]:
    """Adds its lines from `first` on. Now and then the disk is full, and it tries again once there is room."""
    from faults.disks import files_at_most, files_of_any_size

    def work(say: Callable[[object], None]) -> None:
        chance = random.Random(f"{writer} {first} {os.getpid()}")
        for number in range(first, count):
            with locked(file.with_name("lock"), 60):
                if chance.random() < FULL_NOW_AND_THEN:
                    files_at_most(file.stat().st_size + chance.randrange(0, size) if file.exists() else 0)
                    with suppress(StoreUnavailable):
                        append(file, [line(writer, number, size)])
                    files_of_any_size()
                    assert file.stat().st_size == 0 or file.read_bytes()[-1:] == b"\n"
            with locked(file.with_name("lock"), 60):
                append(file, [line(writer, number, size)])
            say(number)

    return work


def until_all_is_said(file: Path, count: int, size: int, kills: int) -> set[str]:
    """Runs the writers, kills some of them, and starts each again behind what it had acknowledged."""
    chance, acknowledged, next_line = random.Random(size), set[str](), dict.fromkeys(range(WRITERS), 0)
    while any(number < count for number in next_line.values()):
        due = [writer for writer, number in next_line.items() if number < count]
        children = {writer: Child(adding(file, writer, next_line[writer], count, size)) for writer in due}
        doomed = set(chance.sample(due, min(len(due), 3))) if kills > 0 else set()
        kills -= len(doomed)
        time.sleep(chance.uniform(0.01, 0.3) if doomed else 0)
        for writer, child in sorted(children.items(), key=lambda each: each[0] not in doomed):
            said = child.kill() if writer in doomed else list(child.lines())
            assert writer in doomed or child.end() == 0
            acknowledged |= {f"m{writer:02}{int(number):08}" for number in said}
            next_line[writer] = max([next_line[writer], *(int(number) + 1 for number in said)])
    return acknowledged


@pytest.mark.parametrize(
    ("count", "size"), [(rounds(5000, 0.006), SHORT), (rounds(200, 0.03), LONG)], ids=["short", "long"]
)
def test_no_acknowledged_line_is_damaged(tmp_path: Path, count: int, size: int) -> None:
    file = tmp_path / "s.jsonl"
    kills = rounds(60, 0.09)
    acknowledged = until_all_is_said(file, count, size, kills)
    assert len(acknowledged) == WRITERS * count
    data = file.read_bytes()
    found = read(file)
    assert found.problems == [] and data.endswith(b"\n")
    assert {len(each) for each in data.splitlines(keepends=True)} == {size}, (
        "nothing was cut, and nothing grew together"
    )
    told = Counter(str(memory_of(each)) for each in data.splitlines())
    assert set(told) == acknowledged
    assert told.total() - len(told) <= kills + 2, (
        "each kill may leave one line that was not acknowledged, and is said again"
    )
    torn = file.with_name("s.jsonl.torn")
    for part in torn.read_bytes().splitlines() if torn.exists() else ():
        assert len(part) < size and part.startswith(b'{"memory"'[: len(part)])
