"""Commands that are more than one verb: backups and their return, an editor, projects, settings, the switch.

A restore asks first: at a terminal by a question, elsewhere by wanting `--yes`. An edit is a revision like any other,
and refuses to overwrite what somebody else changed while the editor was open.
"""

import shlex
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from os import environ
from pathlib import Path

from memorist import opening
from memorist.access import access_for
from memorist.commands import ARGUMENTS
from memorist.errors import Invalid, Refused
from memorist.records import Outcome, Record
from memorist.surfaces import settings
from memorist.surfaces.cli import given, show
from memorist.surfaces.cli.designs import note_on
from memorist.surfaces.cli.screen import Screen, one_line
from memorist.surfaces.cli.spelling import JSON, PLACE, Command, Option
from memorist.surfaces.cli.verbs import Place, opened
from memorist.text.visible import decoded, is_blank

EDITORS = ("VISUAL", "EDITOR")

# ---------------------------------------------------------------- backups


def backup(place: Place, path: str | None = None, restore: str | None = None, yes: bool = False) -> int:
    if restore is not None:
        if path is not None:
            raise Invalid("give a file to write, or --restore with a backup to bring back, not both")
        return _restore(place, Path(restore).expanduser(), yes)
    with opened(place) as memory:
        store = Path(memory.status()["store"])
        done = memory.backup(path or f"{store}.backup-{datetime.now(UTC):%Y%m%dT%H%M%S}Z")
    screen = Screen.of(place.json)
    if screen.json:
        screen.document({"backup": done, "store": store})
    else:
        screen.line(f"{screen.styled('backed up', 'good')} {one_line(str(store))} to {one_line(str(done))}")
    return 0


def _restore(place: Place, file: Path, yes: bool) -> int:
    from memorist.store.restore import restore

    db = opening.place(place.db, place.project, place.space, None).db
    if db == opening.IN_RAM or "://" in db:
        raise Refused(f"a backup is restored into a file, not into {db}")
    store = Path(db).expanduser()
    if not yes and not given.agreed(f"replace {store} by {file}? What is there is kept beside it."):
        return 1
    kept = restore(store, file, datetime.now(UTC))
    screen = Screen.of(place.json)
    if screen.json:
        screen.document({"restored": file, "store": store, "kept": kept})
        return 0
    screen.line(f"{screen.styled('restored', 'good')} {one_line(str(store))} from {one_line(str(file))}")
    if kept:
        screen.line(f"what was there is kept as {one_line(str(kept))}")
    screen.line("restart programs that have the store open")
    return 0


# ---------------------------------------------------------------- editing


def edit(place: Place, id: str) -> int:
    with opened(place) as memory:
        record = memory.get(id)
        text = _edited(record)
        if text == record.text:
            outcome = Outcome("unchanged", "the text is the same", record.id, record)
        else:
            outcome = memory.revise(record.id, text, expected_version=record.version, because="edited")
        show.show(show.Answer("edit", outcome, memory, {}), Screen.of(place.json))
    return 0


def _edited(record: Record) -> str:
    """The text after the user's editor had it, in a private file that is gone afterwards."""
    editor = next((words for name in EDITORS if (words := environ.get(name, "").strip())), None)
    if editor is None:
        raise Invalid(f"no editor is set; set {' or '.join(EDITORS)}, or use `memorist revise`")
    with tempfile.TemporaryDirectory(prefix="memorist-") as folder:
        file = Path(folder) / f"memory-{record.number}.md"
        file.write_text(record.text + "\n", encoding="utf-8", newline="")
        try:
            code = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
        except (OSError, ValueError) as problem:
            raise Invalid(f"the editor {editor!r} cannot be started: {problem}; set EDITOR") from problem
        if code:
            raise Refused(f"the editor ended with status {code}; nothing was changed")
        text = decoded(file.read_bytes(), "the edited text").removesuffix("\n").removesuffix("\r")
    if is_blank(text):
        raise Refused(f"the text was emptied, so nothing was changed; `memorist forget {record.number}` hides it")
    return text


# ---------------------------------------------------------------- projects and settings


def list_projects(place: Place) -> int:
    with opened(place) as memory:
        if place.scope is None:  # the owner of a store may know which projects it holds, without reading them from here
            memory.access = replace(access_for("admin", memory.project.scope), space=memory.space)
        here, counts = memory.project.scope, memory.status()["scopes"]
    names = sorted({*counts, here})
    rows = [{"scope": name, "memories": counts.get(name, 0), "current": name == here} for name in names]
    screen = Screen.of(place.json)
    if screen.json:
        screen.document(rows)
    else:
        marked = [("*" if row["current"] else "", str(row["scope"]), f"{row['memories']:,}") for row in rows]
        screen.rows(("", "scope", "memories"), marked)
    return 0


def get_setting(place: Place, key: str) -> int:
    value = settings.get_setting(key, Path.cwd())
    screen = Screen.of(place.json)
    if screen.json:
        screen.document({key: value})
    else:
        screen.line(one_line(value or ""))
    return 0


def set_setting(place: Place, key: str, value: str) -> int:
    file = settings.set_setting(key, value, Path.cwd())
    return _written(place, key, settings.get_setting(key, Path.cwd()), file)


def unset_setting(place: Place, key: str) -> int:
    file = settings.unset_setting(key)
    return _written(place, key, settings.get_setting(key, Path.cwd()), file)


def _written(place: Place, key: str, value: str | None, file: Path) -> int:
    """What holds now, which may come from elsewhere than the file that was changed."""
    screen, note = Screen.of(place.json), note_on(key) if value else None
    if screen.json:
        screen.document({key: value, "file": file} | ({"note": note} if note else {}))
    else:
        screen.line(f"{key} is now {one_line(value) if value else 'not set'} ({one_line(str(file))} was written)")
        if note:
            screen.line(f"  {one_line(note)}")
    return 0


def list_settings(place: Place) -> int:
    found = settings.all_settings(Path.cwd())
    screen = Screen.of(place.json)
    if screen.json:
        screen.document({key: {"value": value, "source": source} for key, (value, source) in found.items()})
    else:
        rows = [(key, value or "", source) for key, (value, source) in found.items()]
        screen.rows(("setting", "value", "from"), rows)
    return 0


def switch(off: bool, place: Place) -> int:
    file = settings.switch(off)
    because = settings.off_because()
    screen = Screen.of(place.json)
    if screen.json:
        screen.document({"off": because is not None, "because": because, "file": file})
    else:
        screen.line(one_line(because or "memory is on"))
    return 0


# ---------------------------------------------------------------- the table

ID = Option("id", ARGUMENTS["id"], needed=True)
KEY = Option("key", "The name of the setting.", needed=True)
VALUE = Option("value", "Its new value.", needed=True)
BACKUP = (
    Option("path", "The file to write; one beside the store without it.", type="path"),
    Option("restore", "Brings this backup back.", "--restore", "path", placeholder="FILE"),
    Option("yes", "Does not ask before it replaces the store.", "--yes", "flag"),
)
_TABLE: dict[str, tuple[tuple[Option, ...], Callable[..., int]]] = {
    "backup": ((*BACKUP, *PLACE), backup),
    "edit": ((ID, *PLACE), edit),
    "project list": (PLACE, list_projects),
    "config get": ((KEY, JSON), get_setting),
    "config set": ((KEY, VALUE, JSON), set_setting),
    "config unset": ((KEY, JSON), unset_setting),
    "config list": ((JSON,), list_settings),
    "off": ((JSON,), partial(switch, True)),
    "on": ((JSON,), partial(switch, False)),
}


def command(name: str, help: str) -> Command:
    options, perform = _TABLE[name]
    return Command(name, help, options, perform)
