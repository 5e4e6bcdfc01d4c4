"""Designs at the command line: which there are, what one is, and which one this user uses.

`show` prints a design as the text of a TOML file: saved in the user's folder of designs and edited, it is a design of
their own. `use` changes a setting and nothing else: a design owns no data, so every store can be read under any of them.
"""

from collections.abc import Iterator, Mapping
from difflib import ndiff
from pathlib import Path
from typing import Any

from memorist import checks, designs
from memorist.design import Design
from memorist.designs import DESIGNS, own
from memorist.errors import Invalid
from memorist.surfaces import settings
from memorist.surfaces.cli.screen import Screen, aside, one_line, safe
from memorist.surfaces.cli.spelling import JSON, Command, Option
from memorist.surfaces.cli.verbs import Place
from memorist.surfaces.setting_values import known
from memorist.text import toml

# Settings and the keys of designs they cover. The schedule is none of them: it says when, not what.
TUNED = {"reinforce_weight": "reinforce", "demote_weight": "demote", "max_size": "max_size", "prune_percent": "percent"}
UNSCHEDULED = "nothing runs by itself: the schedule is only kept; `memorist upkeep --watch CRON` stays and keeps it"
MOVES_LATER = "`memorist upkeep` moves the store to it; words find everything meanwhile"
NAME = "The design: a name that `design list` shows, or the path of a TOML file"


def list_designs(place: Place) -> int:
    current = settings.load(Path.cwd()).design
    rows = [_described(name, where, name == current) for name, where in _known(current).items()]
    screen = Screen.of(place.json)
    if screen.json:
        screen.document(rows)
    else:
        shown = [("*" if row["current"] else "", row["name"], row["about"], row["from"]) for row in rows]
        screen.rows(("", "design", "about", "from"), shown)
    return 0


def _known(current: str) -> dict[str, str]:
    """Every design by the name that chooses it, and where it comes from."""
    known = dict.fromkeys(DESIGNS, "built in")
    known |= {name: str(file) for name, file in designs.files_in(settings.designs_folder()).items()}
    return known if not checks.is_path(current) else known | {current: current}


def _described(name: str, where: str, current: bool) -> dict[str, Any]:
    """One that cannot be read is listed with the reason, so that it can be found and mended."""
    try:
        about = designs.find(name, settings.designs_folder()).about
    except Invalid as problem:
        about = f"cannot be used: {problem}"
    return {"name": name, "about": about, "from": where, "current": current}


def show_design(place: Place, name: str | None = None) -> int:
    here = settings.load(Path.cwd())
    wanted = name or here.design
    text = own.text_of(designs.find(wanted, settings.designs_folder()))
    screen = Screen.of(place.json)
    if screen.json:
        screen.document({"name": wanted, **toml.parse(text, Path(wanted))})
        return 0
    for key, value, source in _tuning():
        screen.line(f"# {key} = {one_line(value)} in {one_line(source)} covers what stands here")
    screen.line(safe(text).rstrip("\n"))
    return 0


def use_design(place: Place, name: str) -> int:
    new = designs.find(name, settings.designs_folder())
    changes = [line.strip() for line in _changes(_used_now(), new)]
    file = settings.set_setting("design", name, Path.cwd())
    now, source = settings.all_settings(Path.cwd())["design"]
    screen = Screen.of(place.json)
    if screen.json:
        screen.document({"design": now, "from": source, "file": file, "changes": changes})
        return 0
    screen.line(f"design is now {one_line(now or '')} ({one_line(str(file))} was written)")
    for line in changes:
        screen.line(f"  {safe(line)}")
    screen.line("memories stay as they are; what was counted under another design counts under this one")
    if source != str(file):
        aside(f"{source} names another design, which holds here: {now}")
    return 0


def _used_now() -> Design | None:
    """The design before the change; one that cannot be read any more must not keep anybody from choosing another."""
    try:
        return designs.find(settings.load(Path.cwd()).design, settings.designs_folder())
    except Invalid:
        return None


def _changes(old: Design | None, new: Design) -> Iterator[str]:
    """The lines of the old design that go and those of the new one that come, each with the table it stands in."""
    if old is not None:
        lines = ndiff(_lines(old), _lines(new))
        yield from (line for line in lines if line.startswith(("- ", "+ ")))


def _lines(design: Design) -> list[str]:
    table = toml.parse(own.text_of(design), Path(design.name))
    found = [f"{key} = {toml.written(table[key])}" for key in ("reads", "stages", "jobs")]
    for part in ("recall", "upkeep"):
        for name, values in table.get(part, {}).items():
            found += [f"{part}.{name}.{key} = {toml.written(value)}" for key, value in values.items()]
    return found


# ---------------------------------------------------------------- settings that tune a design


def _tuning() -> list[tuple[str, str, str]]:
    """The tuning settings that are set: name, value and source."""
    found = settings.all_settings(Path.cwd())
    return [(key, value, source) for key in TUNED for value, source in [found[key]] if value is not None]


def note_on(key: str) -> str | None:
    """What somebody who sets a setting must know, because it does not do all that its name says."""
    name = known(key)
    if name == "prune_schedule":
        return UNSCHEDULED
    if name == "embed":
        return MOVES_LATER
    if name not in TUNED or (used := _used_now()) is None:
        return None
    has = any(line.split(" = ")[0].endswith(f".{TUNED[name]}") for line in _lines(used))
    return None if has else f"the design {used.name} has no {TUNED[name]} to change, so this has no effect on it"


_TABLE: Mapping[str, tuple[tuple[Option, ...], Any]] = {
    "design list": ((JSON,), list_designs),
    "design show": ((Option("name", f"{NAME}; the one in use without it."), JSON), show_design),
    "design use": ((Option("name", f"{NAME}.", needed=True), JSON), use_design),
}


def command(name: str, help: str) -> Command:
    options, perform = _TABLE[name]
    return Command(name, help, options, perform)
