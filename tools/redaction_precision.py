"""Counts how many lines of the source and documentation of installed packages the redactor would change.

    python tools/redaction_precision.py [FOLDER ...] [--show N]

Without a folder it reads the site-packages of the Python that runs it. Whole files are looked at, as
memories are, because a secret may be broken over lines; what is counted are the lines it stands on. Nothing there is somebody's
secret, apart from the keys that packages ship for their own tests: each line is a false alarm, or one of those. The promise is
at most 1 line in 10,000.
"""

import argparse
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from memorist.redact import Redactor

KINDS = {".py", ".pyi", ".md", ".rst", ".txt", ".toml", ".cfg", ".ini", ".json", ".yaml", ".yml", ".js", ".ts", ".css", ".html",
         ".c", ".h", ".pyx", ".sh", ".xml", ".csv"}  # fmt: skip
LARGEST = 2_000_000  # bytes of a file
LIMIT = 1 / 10_000


def files_in(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            is_text = path.suffix in KINDS or path.name in ("METADATA", "LICENSE", "RECORD")
            if is_text and path.is_file() and path.stat().st_size <= LARGEST:
                yield path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--show", type=int, default=100, help="so many of the lines are printed")
    arguments = parser.parse_args()
    paths = sysconfig.get_paths()
    folders = arguments.folders or [Path(paths["purelib"])]
    redactor, types = Redactor(b"precision"), Counter[str]()
    files = lines = flagged = 0
    for path in files_in(folders):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        files, lines = files + 1, lines + text.count("\n") + 1
        for secret in redactor.find(text):
            first, last = text.count("\n", 0, secret.start), text.count("\n", 0, secret.end)
            flagged, types[secret.type] = flagged + last - first + 1, types[secret.type] + last - first + 1
            if sum(types.values()) <= arguments.show:
                shown = text[max(text.rfind("\n", 0, secret.start) + 1, secret.start - 60) : secret.end + 10]
                print(f"{path}:{first + 1}: {secret.type}: {shown!r:.200}")
    print(
        f"{flagged:,} of {lines:,} lines in {files:,} files: 1 in {lines // max(1, flagged):,}; {dict(types.most_common())}"
    )
    return 0 if flagged <= lines * LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
