"""Memories in and out of files at the command line: `import` and `export`.

An export is private and never replaces a file. What cannot be read is told on standard error, and the exit code is 1.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memorist.commands import ARGUMENTS
from memorist.errors import Invalid
from memorist.files import transfer
from memorist.records import Draft
from memorist.surfaces.cli.screen import Screen, aside, one_line, safe
from memorist.surfaces.cli.spelling import PLACE, Command, Option
from memorist.surfaces.cli.verbs import Place, opened

SHOWN_PROBLEMS = 20  # the rest is counted
STYLES = {"jsonl": transfer.export, "markdown": transfer.export_markdown}
IMPORT = (
    Option("paths", "A Markdown file, a folder with MEMORY.md or memory/*.md, or an export; several may be given.",
           type="paths"),
    Option("dry_run", "Shows what is in the files, and imports nothing.", "--dry-run", "flag"),
    *PLACE,
)  # fmt: skip
EXPORT = (
    Option("path", "The file to write, which must not exist yet; standard output without it.", type="path"),
    Option("style", "jsonl, which import brings back, or markdown, to read; jsonl without it.", "--style"),
    Option("where", ARGUMENTS["where"], "--where", "json"),
    *PLACE,
)

# ---------------------------------------------------------------- in


def import_command(place: Place, paths: Sequence[str] = (), dry_run: bool = False) -> int:
    with opened(place, narrowed=False) as memory:
        done = transfer.import_files(memory, paths, scope=place.scope, dry_run=dry_run)
        home = memory.home
    screen = Screen.of(place.json)
    if screen.json:
        screen.document(done)
    elif dry_run:
        _show_drafts(done.drafts, place.scope or home, screen)
    else:
        _show_imported(done, screen)
    for problem in done.problems[:SHOWN_PROBLEMS]:
        aside(problem)
    if len(done.problems) > SHOWN_PROBLEMS:
        aside(f"and {len(done.problems) - SHOWN_PROBLEMS:,} more; --json names them all")
    return 1 if done.problems else 0


def _show_imported(done: transfer.Imported, screen: Screen) -> None:
    counts = ", ".join(f"{count:,} {name}" for name, count in done.outcomes.items()) or "no memories"
    screen.line(f"{screen.styled('imported', 'good')} {_files(len(done.files))}: {counts}")
    for because, count in done.reasons.items():
        screen.line(f"  {count:,} unchanged: {one_line(because)}")
    if done.batch:
        screen.line(f"`memorist undo {done.batch}` takes it back")


def _show_drafts(drafts: Sequence[Draft], home: str, screen: Screen) -> None:
    rows = [
        (
            draft.kind,
            draft.at.date().isoformat() if draft.at else "",
            draft.scope or home,
            draft.title or "",
            draft.text,
        )
        for draft in drafts
    ]
    screen.rows(("kind", "happened", "scope", "title", "text"), rows)
    aside(f"{len(drafts):,} memories would be imported")


def _files(number: int) -> str:
    return f"{number:,} file" if number == 1 else f"{number:,} files"


# ---------------------------------------------------------------- out


def export_command(
    place: Place, path: str | None = None, style: str = "jsonl", where: Mapping[str, Any] | None = None
) -> int:
    if style not in STYLES:
        raise Invalid(f"there is no style {style[:60]!r}; styles are {', '.join(STYLES)}")
    with opened(place) as memory:
        lines = STYLES[style](memory, where)
        screen = Screen.of(place.json)
        if path is not None:
            target = Path(path).expanduser()
            _write_new(target, lines)
            _show_written(target, screen)
        elif screen.json:
            screen.document([json.loads(line) for line in lines] if style == "jsonl" else {"markdown": "".join(lines)})
        else:
            for line in lines:
                sys.stdout.write(safe(line) if screen.terminal else line)
    return 0


def _write_new(target: Path, lines: Iterator[str]) -> None:
    """Writes a private file of that name, whole or not at all, where there is none."""
    try:
        handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as problem:
        raise Invalid(f"{target} is there already; name a new file") from problem
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _show_written(target: Path, screen: Screen) -> None:
    if screen.json:
        screen.document({"export": target, "bytes": target.stat().st_size})
    else:
        screen.line(f"{screen.styled('exported', 'good')} to {one_line(str(target))}")


def command(name: str, help: str) -> Command:
    if name == "import":
        return Command(name, help, IMPORT, import_command)
    return Command(name, help, EXPORT, export_command)
