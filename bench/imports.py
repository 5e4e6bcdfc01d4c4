"""What it costs to import a long transcript: time, and memory, which must not grow with its length."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.corpus import Corpus
from bench.speed import Measure, folder

FEW = 2_000  # lines to compare with
# In a process of its own: only so its peak is that of the import.
CHILD = """
import json, resource, sys, time
from memorist import Memory
from memorist.files.transfer import import_files
with Memory(sys.argv[1]) as memory:
    memory.remember("so that everything is loaded")
    began = time.process_time()
    added = import_files(memory, [sys.argv[2]]).outcomes["added"]
    seconds = time.process_time() - began
print(json.dumps([added, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def importing(size: int = 100_000) -> Iterator[Measure]:
    """A transcript of so many lines, beside a short one."""
    with folder() as place:
        _, _, little = _imported(place, FEW)
        added, seconds, peak = _imported(place, size)
    yield Measure(f"import of a transcript, {size:,} lines", added / seconds, "per CPU-second")
    beside = f"{peak:.0f} MB at most, {little:.0f} MB with {FEW:,} lines"
    yield Measure(f"import of {size:,} lines / of {FEW:,}: memory", peak / little, "×", 1.2, detail=beside)


def _imported(place: Path, size: int) -> tuple[int, float, float]:
    file, texts = place / f"{size}.jsonl", Corpus(14).memories(size)
    with file.open("w", encoding="utf-8") as writing:
        writing.writelines(_line(number, text) + "\n" for number, text in enumerate(texts))
    words = [sys.executable, "-c", CHILD, str(place / f"{size}.db"), str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    added, seconds, peak = json.loads(done)
    return added, seconds, peak


def _line(number: int, text: str) -> str:
    role = ("user", "assistant")[number % 2]
    said = {"role": role, "content": [{"type": "text", "text": text}]}
    about = {"uuid": f"u{number}", "sessionId": f"s{number // 500}", "timestamp": "2026-03-01T10:00:00Z"}
    return json.dumps({"type": role, "message": said, **about})
