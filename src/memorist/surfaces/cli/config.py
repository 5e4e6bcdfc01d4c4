"""What holds here, at the command line: settings, the switch, designs and projects.

`design show` prints a design as the text of a TOML file: saved in the user's folder of designs and edited, it is a design of
their own. `design use` changes a setting and nothing else: a design owns no data, so every store can be read under any of them.
"""

from collections.abc import Callable
from dataclasses import replace
from difflib import ndiff
from functools import partial
from pathlib import Path
from typing import Any

from memorist import checks, designs
from memorist.access import access_for
from memorist.commands import meaning
from memorist.design import Design
from memorist.designs import own
from memorist.errors import Invalid, Refused
from memorist.surfaces import settings
from memorist.surfaces.cli.arguments import JSON, PLACE, Option
from memorist.surfaces.cli.screen import Screen, aside, one_line, safe
from memorist.surfaces.cli.verbs import Place, opened
from memorist.text import toml

# Settings and the keys of designs they cover. The schedule is none of them: it says when, not what.
TUNED = {"reinforce_weight": "reinforce", "demote_weight": "demote", "max_size": "max_size", "prune_percent": "percent"}
UNSCHEDULED = "nothing runs by itself: the schedule is only kept; `memorist upkeep --watch CRON` stays and keeps it"
MOVES_LATER = "`memorist upkeep` moves the store to it; words find everything meanwhile"

# ---------------------------------------------------------------- settings


def get_setting(place: Place, key: str) -> int:
    value = settings.get_setting(key, Path.cwd())
    return Screen.of(place.json).answer({key: value}, one_line(value or ""))


def set_setting(place: Place, key: str, value: str | None = None) -> int:
    """Sets it, or takes it back, and says what holds now, which may come from elsewhere than the file that was changed."""
    file = settings.unset_setting(key) if value is None else settings.set_setting(key, value, Path.cwd())
    now = settings.get_setting(key, Path.cwd())
    note = _note_on(settings.known(key)) if now else None
    said = f"{key} is now {one_line(now) if now else 'not set'} ({one_line(str(file))} was written)"
    document = {key: now, "file": file} | ({"note": note} if note else {})
    return Screen.of(place.json).answer(document, said, *([f"  {one_line(note)}"] if note else []))


def _note_on(key: str) -> str | None:
    """What the user must know about a setting that does not do all that its name says."""
    if key in ("prune_schedule", "embed"):
        return UNSCHEDULED if key == "prune_schedule" else MOVES_LATER
    if key not in TUNED or (used := _used_now()) is None:
        return None
    has = any(line.split(" = ")[0].endswith(f".{TUNED[key]}") for line in _lines(used))
    return None if has else f"the design {used.name} has no {TUNED[key]} to change, so this has no effect on it"


def list_settings(place: Place) -> int:
    found = settings.all_settings(Path.cwd())
    document = {key: {"value": value, "source": source} for key, (value, source) in found.items()}
    rows = [(key, value or "", source) for key, (value, source) in found.items()]
    return Screen.of(place.json).table(document, ("setting", "value", "from"), rows)


def switch(off: bool, place: Place) -> int:
    file = settings.switch(off)
    because = settings.off_because()
    document = {"off": because is not None, "because": because, "file": file}
    return Screen.of(place.json).answer(document, one_line(because or "memory is on"))


# ---------------------------------------------------------------- designs


def list_designs(place: Place) -> int:
    current = settings.load(Path.cwd()).design
    known = dict.fromkeys(designs.DESIGNS, "built in")
    known |= {name: str(file) for name, file in designs.files_in(settings.designs_folder()).items()}
    known |= {current: current} if checks.is_path(current) else {}
    rows = [(name, _about(name), where) for name, where in known.items()]
    document = [{"name": n, "about": about, "from": where, "current": n == current} for n, about, where in rows]
    marked = [("*" if row[0] == current else "", *row) for row in rows]
    return Screen.of(place.json).table(document, ("", "design", "about", "from"), marked)


def _about(name: str) -> str:
    """A design that cannot be read is listed with the reason, so that it can be found and mended."""
    try:
        return designs.find(name, settings.designs_folder()).about
    except Invalid as problem:
        return f"cannot be used: {problem}"


def show_design(place: Place, name: str | None = None) -> int:
    wanted = name or settings.load(Path.cwd()).design
    text = own.text_of(designs.find(wanted, settings.designs_folder()))
    found = settings.all_settings(Path.cwd())
    tuned = [(key, value, source) for key in TUNED for value, source in [found[key]] if value is not None]
    covers = [f"# {k} = {one_line(value)} in {one_line(source)} covers what stands here" for k, value, source in tuned]
    document = {"name": wanted, **toml.parse(text, Path(wanted))}
    return Screen.of(place.json).answer(document, *covers, safe(text).rstrip("\n"))


def use_design(place: Place, name: str) -> int:
    old, new = _used_now(), designs.find(name, settings.designs_folder())
    lines = ndiff(_lines(old), _lines(new)) if old is not None else ()
    changes = [line.strip() for line in lines if line.startswith(("- ", "+ "))]
    file = settings.set_setting("design", name, Path.cwd())
    now, source = settings.all_settings(Path.cwd())["design"]
    Screen.of(place.json).answer(
        {"design": now, "from": source, "file": file, "changes": changes},
        f"design is now {one_line(now or '')} ({one_line(str(file))} was written)",
        *(f"  {safe(line)}" for line in changes),
        "memories stay as they are; what was counted under another design counts under this one",
    )
    if source != str(file) and not place.json:
        aside(f"{source} names another design, which holds here: {now}")
    return 0


def _used_now() -> Design | None:
    """The design before the change; one that cannot be read any more must not keep the user from choosing another."""
    try:
        return designs.find(settings.load(Path.cwd()).design, settings.designs_folder())
    except Invalid:
        return None


def _lines(design: Design) -> list[str]:
    """What a design is, each line with the table it stands in."""
    table = toml.parse(own.text_of(design), Path(design.name))
    found = [f"{key} = {toml.written(table[key])}" for key in ("reads", "stages", "jobs")]
    for part in ("recall", "upkeep"):
        for name, values in table.get(part, {}).items():
            found += [f"{part}.{name}.{key} = {toml.written(value)}" for key, value in values.items()]
    return found


# ---------------------------------------------------------------- projects


def list_projects(place: Place) -> int:
    with opened(place) as memory:
        if place.scope is None:  # the owner of a store may know which projects it holds, without reading them from here
            memory.access = replace(access_for("admin", memory.project.scope), space=memory.space)
        here, counts = memory.project.scope, memory.status()["scopes"]
    names = sorted({*counts, here})
    rows = [{"scope": name, "memories": counts.get(name, 0), "current": name == here} for name in names]
    marked = [("*" if name == here else "", name, f"{counts.get(name, 0):,}") for name in names]
    return Screen.of(place.json).table(rows, ("", "scope", "memories"), marked)


def assign(place: Place, what: str, to: str) -> int:
    """The owner of a store says whose an older task or session is; no project could, because none of them sees it."""
    with opened(place, narrowed=False) as memory:
        here = memory.access
        if here.origin != "user":
            raise Refused("only a person says which project it belongs to; run this at a terminal")
        admin = access_for("admin", memory.project.scope, actor=here.actor, surface=here.surface, origin="user")
        memory.access = replace(admin, space=memory.space)
        report = memory.assign(what, to if to.startswith("project/") else f"project/{to}")
    done = {"scope": what, "project": to, "memories": len(report.changed), "batch": report.batch}
    return Screen.of(place.json).table(
        [done], ("scope", "project", "memories"), [(what, to, f"{len(report.changed):,}")]
    )


# ---------------------------------------------------------------- the table

NAME = "The design: a name that `design list` shows, or the path of a TOML file"
KEY = Option("key", "The name of the setting.", needed=True)
VALUE = Option("value", "Its new value.", needed=True)
WHAT = Option("what", meaning("assign", "scope"), needed=True)
TO = Option("to", meaning("assign", "project"), needed=True)
commands: dict[str, tuple[tuple[Option, ...], Callable[..., Any]]] = {
    "project list": (PLACE, list_projects),
    "project assign": ((WHAT, TO, *PLACE), assign),
    "design list": ((JSON,), list_designs),
    "design show": ((Option("name", f"{NAME}; the one in use without it."), JSON), show_design),
    "design use": ((Option("name", f"{NAME}.", needed=True), JSON), use_design),
    "config get": ((KEY, JSON), get_setting),
    "config set": ((KEY, VALUE, JSON), set_setting),
    "config unset": ((KEY, JSON), set_setting),
    "config list": ((JSON,), list_settings),
    "off": ((JSON,), partial(switch, True)),
    "on": ((JSON,), partial(switch, False)),
}
