"""Files at the command line: backup and restore, import and export, items of a project's files, and a memory in an
editor.

A restore asks first: at a terminal by a question, elsewhere it needs `--yes`. An export is private and never replaces a
file. What an import or an index cannot read is listed on standard error, and the exit code is 1. An edit is a revision
like any other, and refuses to overwrite what was changed elsewhere while the editor was open.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memorist import setup
from memorist.access import of_the_owner
from memorist.commands import ARGUMENTS
from memorist.errors import Invalid, Refused
from memorist.files import transfer
from memorist.files.importers import places
from memorist.files.layout import lay_out
from memorist.files.sources import Source
from memorist.memory import Memory
from memorist.records import Outcome, Record, memories, zoned
from memorist.store.files import write_new
from memorist.store.open import noting_copy
from memorist.surfaces.cli import arguments, progress, show
from memorist.surfaces.cli.arguments import PLACE, Commands, Option
from memorist.surfaces.cli.screen import Screen, aside, one_line, safe
from memorist.surfaces.cli.verbs import Place, exit_code, opened
from memorist.text.visible import decoded, is_blank

EDITORS = ("VISUAL", "EDITOR")
SHOWN_PROBLEMS = 20  # the rest is counted
SHOWN_SCOPES = 5
VOUCH = "bring it back as it was, with its pins, votes and trust? Only do this with an export that you made yourself."
LAYOUTS = {"associative": lay_out}
STYLES = {
    "jsonl": transfer.export,
    "markdown": transfer.export_markdown,
    "canonical": transfer.export_canonical,
}

# ---------------------------------------------------------------- backups


def backup(place: Place, path: str | None = None, restore: str | None = None, yes: bool = False) -> int:
    if restore is not None:
        if path is not None:
            raise Invalid("give a file to write, or --restore with a backup to bring back, not both")
        return _restore(place, Path(restore).expanduser(), yes)
    with opened(place) as memory:
        store = Path(memory.status()["store"])
        done = memory.backup(path or f"{store}.backup-{datetime.now(UTC):%Y%m%dT%H%M%S}Z")
    screen = place.screen
    said = f"{screen.styled('backed up', 'good')} {one_line(str(store))} to {one_line(str(done))}"
    return screen.answer({"backup": done, "store": store}, said)


def _restore(place: Place, file: Path, yes: bool) -> int:
    from memorist.store.open import file_of, restore

    db = setup.setup_for(place.db, place.project, place.space, None).db
    store = file_of(db)
    if store is None:
        raise Refused(f"a backup is restored into a file, not into {db}")
    if not yes and not arguments.agreed(f"replace {store} by {file}? What is there is kept beside it."):
        return arguments.declined()
    kept = restore(store, file, datetime.now(UTC))
    screen = place.screen
    return screen.answer(
        {"restored": file, "store": store, "kept": kept},
        f"{screen.styled('restored', 'good')} {one_line(str(store))} from {one_line(str(file))}",
        *([f"what was there is kept as {one_line(str(kept))}"] if kept else []),
        "restart programs that have the store open",
    )


# ---------------------------------------------------------------- an editor


def edit(place: Place, id: str) -> int:
    with opened(place) as memory:
        record = memory.get(id)
        text = _edited(record)
        if text == record.text:
            outcome = Outcome("unchanged", "the text is the same", record.id, record)
        else:
            outcome = memory.revise(record.id, text, expected_version=record.version, because="edited")
        show.show(show.Result("edit", outcome, memory), place.screen)
    return exit_code(outcome)


def _edited(record: Record) -> str:
    """The text after the user edited it, in a private file that is deleted afterwards."""
    editor = next((words for name in EDITORS if (words := os.environ.get(name, "").strip())), None)
    if editor is None:
        raise Invalid(f"no editor is set; set {' or '.join(EDITORS)}, or use `memorist revise`")
    with tempfile.TemporaryDirectory(prefix="memorist-") as folder:
        file = Path(folder) / f"memory-{record.number}.md"
        file.write_text(record.text + "\n", encoding="utf-8", newline="")
        try:
            with progress.apart():
                code = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
        except (OSError, ValueError) as problem:
            raise Invalid(f"the editor {editor!r} cannot be started: {problem}; set EDITOR") from problem
        if code:
            raise Refused(f"the editor ended with status {code}; nothing was changed")
        text = decoded(file.read_bytes(), "the edited text").removesuffix("\n").removesuffix("\r")
    if is_blank(text):
        raise Refused(f"the text was emptied, so nothing was changed; `memorist forget {record.number}` hides it")
    return text


# ---------------------------------------------------------------- in


def import_command(place: Place, paths: Sequence[str] = (), own: bool = False, yes: bool = False, **how: Any) -> int:
    with opened(place, narrowed=False) as memory:
        if own and not _vouched(memory, yes or how.get("dry_run", False)):
            return arguments.declined()
        told, home = _brought(memory, paths, {**how, "scope": place.scope, "own": own}), memory.home
    _show_all(told, own, place.scope or home, place.screen)
    return _name_problems([problem for done in told for problem in done.problems])


def _brought(memory: Memory, paths: Sequence[str], how: Mapping[str, Any]) -> list[transfer.Imported]:
    """The results of an import: one for all files together, or one for each from a server."""
    if not isinstance(memory, Memory):
        return memory.brought(paths, **how)
    return [transfer.import_files(memory, _named(paths, memory), heard=progress.come, **how)]


def _named(paths: Sequence[str], memory: Memory) -> Sequence[str | Source]:
    """The files that are meant: by their paths, or by the name of the program that wrote them."""
    client, *rest = paths or ("",)
    if client not in places.CLIENTS or os.path.lexists(client):
        return paths
    if len(rest) > 1:
        raise Invalid(f"name one folder or file of {client}, or none for those of this project")
    from memorist.surfaces.agents.clients import CLIENTS  # other imports do without it

    path, home = Path(rest[0]).expanduser() if rest else None, CLIENTS[client].home()
    if path is None and (said := places.passed_over(client, home)):
        aside(said)
    return places.transcripts(client, path, memory.project.root or Path.cwd(), home)


def _name_problems(problems: Sequence[str]) -> int:
    """→ the exit code"""
    for problem in problems[:SHOWN_PROBLEMS]:
        aside(problem)
    if len(problems) > SHOWN_PROBLEMS:
        aside(f"and {len(problems) - SHOWN_PROBLEMS:,} more; --json names them all")
    return 1 if problems else 0


def _vouched(memory: Memory, unasked: bool) -> bool:
    """Whether the person at the terminal vouches that the export is their own; elsewhere the import refuses."""
    if memory.access.origin == "user" and isinstance(memory, Memory):
        memory.access = of_the_owner(memory.access)
        return unasked or arguments.agreed(VOUCH)
    return True


def _show_all(told: Sequence[transfer.Imported], own: bool, home: str, screen: Screen) -> None:
    if screen.json:
        screen.document(told if len(told) > 1 else told[0])
        return
    for done in told:
        if done.dry_run:
            _show_drafts(done, home, screen)
        else:
            _show_imported(done, own, screen)


def _show_imported(done: transfer.Imported, own: bool, screen: Screen) -> None:
    screen.line(f"{screen.styled('imported', 'good')} {_counted(len(done.files), done.outcomes, 'no memories')}")
    for because, count in done.reasons.items():
        screen.line(f"  {count:,} unchanged: {one_line(because)}")
    for note in done.notes:
        screen.line(f"  {one_line(note)}")
    _show_batch(done.batch, not own, screen)


def _counted(files: int, outcomes: Mapping[str, int], none: str) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in outcomes.items()) or none
    return f"{files:,} {'file' if files == 1 else 'files'}: {counts}"


def _show_batch(batch: str | None, unconfirmed: bool, screen: Screen) -> None:
    if batch:
        confirm = f", `memorist review {batch} --decide approve` confirms it" if unconfirmed else ""
        screen.line(f"`memorist undo {batch}` takes it back{confirm}")


def _show_drafts(done: transfer.Imported, home: str, screen: Screen) -> None:
    drafts = done.drafts
    days = [zoned(draft.at).date().isoformat() if draft.at else "" for draft in drafts]
    rows = [(d.kind, day, d.scope or home, d.title or "", d.text) for d, day in zip(drafts, days, strict=True)]
    screen.rows(("kind", "happened", "scope", "title", "text"), rows)
    for note in done.notes:
        screen.line(one_line(note))
    aside(f"{memories(done.found)} would be imported")


# ---------------------------------------------------------------- items


def index(place: Place, paths: Sequence[str] = (), dry_run: bool = False) -> int:
    """Stores the contents of the project's files as items, and archives the items that are gone."""
    from memorist.files import items  # an import and an export need not wait for this

    with opened(place) as memory:
        done = items.index(memory, paths, dry_run=dry_run)
    screen = place.screen
    if screen.json:
        screen.document(done)
    else:
        if dry_run:
            rows = [(str(d.data["type"]), f"{d.files[0]}:{d.data['line']}", d.text) for d in done.drafts]
            screen.rows(("type", "where", "text"), rows)
        what = "would be indexed:" if dry_run else screen.styled("indexed", "good")
        screen.line(f"{what} {_counted(done.files, done.outcomes, 'no items')}")
        _show_batch(done.batch, "added" in done.outcomes, screen)
    return _name_problems([*map(one_line, done.problems)])


# ---------------------------------------------------------------- out


def export_command(
    place: Place,
    path: str | None = None,
    style: str = "jsonl",
    where: Mapping[str, Any] | None = None,
    all: bool = False,
    layout: str | None = None,
) -> int:
    if layout is not None:
        return _lay_out(place, path, layout, odd=(style, where, all) != ("jsonl", None, False))
    _refuse_odd(style, all, place)
    with opened(place, narrowed=not place.server) as memory:
        lines, screen = _exported(memory, style, where, all, place.scope), place.screen
        if path not in (None, "-"):
            _to_file(Path(str(path)).expanduser(), lines, memory, screen)
        else:
            _write_out(lines, style, screen)
        if not all and isinstance(memory, Memory):
            _name_left_out(memory, where or {})
    return 0


def _to_file(target: Path, lines: Iterator[str], memory: Memory, screen: Screen) -> None:
    if os.path.lexists(target):
        raise Invalid(f"{target} is there already; name a new file")
    written = _Written(memory.status()["records"])
    with noting_copy(memory._tools.store, target) if isinstance(memory, Memory) else nullcontext():
        write_new(target, written.noting(lines))
    said = f"{screen.styled('exported', 'good')} {memories(written.count)} to {one_line(str(target))}"
    screen.answer({"export": target, "memories": written.count, "bytes": target.stat().st_size}, said)


def _lay_out(place: Place, path: str | None, layout: str, odd: bool) -> int:
    """Writes the folder that the founding document of a design describes."""
    if layout not in LAYOUTS:
        raise Invalid(f"there is no layout {layout[:60]!r}; layouts are {', '.join(LAYOUTS)}")
    if path in (None, "-"):
        raise Invalid("a layout is a folder; name one that is not there yet")
    if odd or place.scope is not None or place.server:
        raise Invalid(
            "a layout has the project and what is global, of a store of this machine; leave the other options out"
        )
    with opened(place) as memory:
        done = LAYOUTS[layout](memory, str(path))
    screen = place.screen
    said = f"{screen.styled('exported', 'good')} {memories(done.memories)} to {one_line(str(done.folder))}"
    return screen.answer(done, said, *(f"  {one_line(str(file))}" for file in done.files))


def _exported(
    memory: Memory, style: str, where: Mapping[str, Any] | None, all: bool, scope: str | None
) -> Iterator[str]:
    if not isinstance(memory, Memory):
        if scope is not None and "scope" in (where or {}):
            raise Invalid("scope is given as an option and in --where; give it once")
        return memory.exported(style, where if scope is None else {**(where or {}), "scope": scope}, all)
    if all:
        memory.access = of_the_owner(memory.access)
    return STYLES[style](memory, where, everything=all)


@dataclass(slots=True)
class _Written:
    """How many memories were written, and about how many there are."""

    total: int
    count: int = 0

    def noting(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            self.count += line.lstrip().startswith(('{"id":', "- "))  # a memory, in each of the styles
            progress.come(self.count, self.total)
            yield line


def _write_out(lines: Iterator[str], style: str, screen: Screen) -> None:
    if screen.json:
        screen.document([json.loads(line) for line in lines] if style != "markdown" else {"markdown": "".join(lines)})
        return
    progress.end()
    for line in lines:
        sys.stdout.write(safe(line) if screen.terminal else line)


def _refuse_odd(style: str, everything: bool, place: Place) -> None:
    if style not in STYLES:
        raise Invalid(f"there is no style {style[:60]!r}; styles are {', '.join(STYLES)}")
    if everything and place.scope is not None:
        raise Invalid("give --scope for one scope, or --all for every one, not both")


def _name_left_out(memory: Memory, where: Mapping[str, Any]) -> None:
    scopes = {} if "scope" in where else transfer.left_out(memory)
    if scopes:
        shown = ", ".join(f"{count:,} in {one_line(scope)}" for scope, count in [*scopes.items()][:SHOWN_SCOPES])
        more = " …" if len(scopes) > SHOWN_SCOPES else ""
        aside(f"not of this project, and left out: {shown}{more}; --scope SCOPE exports one, --all everything")


# ---------------------------------------------------------------- the table

BACKUP = (
    Option("path", "The file to write; one beside the store without it.", type="path"),
    Option("restore", "Brings this backup back.", "--restore", "path", placeholder="FILE"),
    Option("yes", "Does not ask before it replaces the store.", "--yes", "flag"),
    *PLACE,
)
IMPORT = (
    Option("paths", "A Markdown file, a folder with MEMORY.md or memory/*.md, an export, a transcript or an export of another "
           "program, or any other text, as a document; several may be given. Or claude-code, codex or gemini, for the "
           "transcripts of this project, or of the folder named after it.", type="paths"),
    Option("dry_run", "Shows what is in the files, and imports nothing.", "--dry-run", "flag"),
    Option("own", "Brings your own export back as it was, with pins, votes, states and trust; asks first.", "--own",
           "flag"),
    Option("document", "Takes every file as a document, also Markdown, and of a folder all of its text.", "--document",
           "flag"),
    Option("yes", "Does not ask whether it is your own.", "--yes", "flag"),
    *PLACE,
)  # fmt: skip
EXPORT = (
    Option("path", "The file to write, which must not exist yet; standard output without it, or -.", type="path"),
    Option(
        "style",
        "jsonl, which import brings back, markdown, to read, or canonical, to compare two stores; jsonl without it.",
        "--style",
    ),
    Option("where", ARGUMENTS["where"], "--where", "json"),
    Option("all", "Exports every scope of every project, not only this project.", "--all", "flag"),
    Option("layout", "associative: a new folder of JSON files for people, instead of a file.", "--layout"),
    *PLACE,
)
INDEX = (
    Option(
        "paths", "A file or a folder of the project; several may be given, and all of it without any.", type="paths"
    ),
    Option("dry_run", "Shows what is in the files, and keeps nothing.", "--dry-run", "flag"),
    *PLACE,
)
commands: Commands = {
    "backup": (BACKUP, backup),
    "import": (IMPORT, import_command),
    "export": (EXPORT, export_command),
    "index": (INDEX, index),
    "edit": ((Option("id", ARGUMENTS["id"], needed=True), *PLACE), edit),
}
