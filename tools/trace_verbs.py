"""What one call of a verb passes through: files, functions, SQL statements, and frames from the facade to its SQL.

    python tools/trace_verbs.py [--files] [VERB …]

A small SQLite store is filled first and each verb is called once to warm up, so that imports, caches and the model are not
counted. Only frames of the package count; the depth of a statement is the number of them between the caller and SQLite.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import apsw

import memorist
from memorist import Memory

PACKAGE = str(Path(memorist.__file__).parent)
TOPICS = ("staging", "billing", "search", "deploy", "backup", "login", "cache", "export")
TEXTS = [f"The {topic} service number {n} runs on port {8000 + n}" for n in range(8) for topic in TOPICS]


class Trace:
    """Counts what happens while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.files: set[str] = set()
        self.functions: set[tuple[str, str]] = set()
        self.calls = 0
        self.depths: list[int] = []

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and self.on and frame.f_code.co_filename.startswith(PACKAGE):
            self.calls += 1
            self.files.add(frame.f_code.co_filename[len(PACKAGE) + 1 :])
            self.functions.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    def statement(self, *_: object) -> bool:
        if self.on:
            frame: FrameType | None = sys._getframe(1)
            depth = 0
            while frame is not None:
                depth += frame.f_code.co_filename.startswith(PACKAGE)
                frame = frame.f_back
            self.depths.append(depth)
        return True


def verbs(memory: Memory) -> dict[str, Callable[[], Any]]:
    fresh = iter(range(1000))
    return {
        "recall": lambda: memory.recall("which port does the billing service number 3 use?"),
        "remember": lambda: memory.remember(f"Release {next(fresh)} of the search index needs a new worker"),
        "context": lambda: memory.context("which port does the billing service number 3 use?"),
        "erase": lambda: memory.erase(memory.list(limit=1)[0].id),
    }


def traced(call: Callable[[], Any]) -> Trace:
    trace = Trace()
    call()  # to warm up
    apsw_hook = _hooked(trace)
    sys.setprofile(trace.profile)
    trace.on = True
    try:
        call()
    finally:
        trace.on = False
        sys.setprofile(None)
        apsw_hook()
    return trace


def _hooked(trace: Trace) -> Callable[[], None]:
    for one in OPENED:
        one.exec_trace = trace.statement
    return lambda: [setattr(one, "exec_trace", None) for one in OPENED] and None


OPENED: list[apsw.Connection] = []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verbs", nargs="*")
    parser.add_argument("--files", action="store_true", help="list the files too")
    asked = parser.parse_args()
    apsw.connection_hooks.append(OPENED.append)
    print(f"{'verb':<10}{'files':>7}{'functions':>11}{'calls':>8}{'statements':>12}{'frames to SQL':>15}")
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db", project="trace") as memory:
        memory.remember_many(TEXTS)
        for name, call in verbs(memory).items():
            if asked.verbs and name not in asked.verbs:
                continue
            trace = traced(call)
            depth = max(trace.depths, default=0)
            print(
                f"{name:<10}{len(trace.files):>7}{len(trace.functions):>11}{trace.calls:>8}"
                f"{len(trace.depths):>12}{depth:>15}"
            )
            if asked.files:
                print("\n".join(f"    {file}" for file in sorted(trace.files)))


if __name__ == "__main__":
    main()
