"""What it costs to import a long transcript and to take it back: time, and memory, which must not grow with its length."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.corpus import Corpus
from bench.speed import Measure, folder

FEW = 2_000  # lines to compare with
TAKEN_BACK = 5  # a fifth of them: it takes a while
# In a process of its own: only so its peak is that of the import.
CHILD = """
import json, resource, sys, time
from dataclasses import replace
from memorist import Memory
from memorist.files.transfer import import_files
with Memory(sys.argv[1]) as memory:
    memory.remember("so that everything is loaded")
    began = time.process_time()
    done = import_files(memory, [sys.argv[2]])
    added = done.outcomes["added"]
    seconds, peak = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    undone = 0
    if len(sys.argv) > 3:
        user = memory.through(replace(memory.access, origin="user"))
        undone = len(user.undo(done.batch).changed)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([added + undone, seconds, peak / 1024]))
"""


def importing(size: int = 100_000) -> Iterator[Measure]:
    """A transcript of so many lines, beside a short one."""
    with folder() as place:
        _, _, little = _imported(place, FEW)
        added, seconds, peak = _imported(place, size)
        _, _, back = _imported(place, size // TAKEN_BACK, "undone")
    yield Measure(f"import of a transcript, {size:,} lines", added / seconds, "per CPU-second")
    beside = f"{peak:.0f} MB at most, {little:.0f} MB with {FEW:,} lines"
    yield Measure(f"import of {size:,} lines / of {FEW:,}: memory", peak / little, "×", 1.2, detail=beside)
    name = f"import of {size // TAKEN_BACK:,} lines taken back / of {FEW:,}: memory"
    yield Measure(
        name, back / little, "×", 1.3, detail=f"{back:.0f} MB at most; what was undone is listed in the answer"
    )


def _imported(place: Path, size: int, *undone: str) -> tuple[int, float, float]:
    file, texts = place / f"{size}{''.join(undone)}.jsonl", Corpus(14).memories(size)
    with file.open("w", encoding="utf-8") as writing:
        writing.writelines(_line(number, text) + "\n" for number, text in enumerate(texts))
    words = [sys.executable, "-c", CHILD, str(file.with_suffix(".db")), str(file), *undone]
    done = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    added, seconds, peak = json.loads(done)
    return added, seconds, peak


def _line(number: int, text: str) -> str:
    role = ("user", "assistant")[number % 2]
    said = {"role": role, "content": [{"type": "text", "text": text}]}
    about = {"uuid": f"u{number}", "sessionId": f"s{number // 500}", "timestamp": "2026-03-01T10:00:00Z"}
    return json.dumps({"type": role, "message": said, **about})
