"""The configuration at the command line: settings, the switch and designs.

`design show` prints a design as a TOML file: saved in the user's folder of designs and edited, it becomes a design of
their own. `design use` changes a setting and nothing else: a design owns no data, so every store can be read under any
of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from memorist import checks, designs
from memorist.design import Design
from memorist.designs import own
from memorist.errors import Invalid, MemoristError, Refused
from memorist.store import captures
from memorist.surfaces import settings
from memorist.surfaces.cli.arguments import JSON, Commands, Option
from memorist.surfaces.cli.screen import aside, one_line, safe
from memorist.surfaces.cli.verbs import Place, opened
from memorist.text import toml

# Settings and the keys of designs they override. The schedule is not among them: it says when, not what.
TUNED = {"reinforce_weight": "reinforce", "demote_weight": "demote", "max_size": "max_size", "prune_percent": "percent"}
UNSCHEDULED = "nothing runs by itself: the schedule is only kept; `memorist upkeep --watch` stays and keeps it"

# ---------------------------------------------------------------- settings


def get_setting(place: Place, key: str) -> int:
    value = settings.get_setting(key, Path.cwd())
    _tell_problems()
    return place.screen.answer({key: value}, one_line(value or ""))


def set_setting(place: Place, key: str, value: str | None = None) -> int:
    """Sets or unsets it, and says which value is now in force: that may come from elsewhere than the changed file."""
    file = settings.unset_setting(key) if value is None else settings.set_setting(key, value, Path.cwd())
    now = settings.get_setting(key, Path.cwd())
    note = _note_on(settings.known(key), place) if now else None
    said = f"{key} is now {one_line(now) if now else 'not set'} ({one_line(str(file))} was written)"
    document = {key: now, "file": file} | ({"note": note} if note else {})
    return place.screen.answer(document, said, *([f"  {one_line(note)}"] if note else []))


def _note_on(key: str, place: Place) -> str | None:
    """What the user must know about a setting that does not do all that its name says."""
    if key in ("prune_schedule", "embed"):
        return UNSCHEDULED if key == "prune_schedule" else store_needs(place)
    if key not in TUNED or (used := _used_now()) is None:
        return None
    has = any(line.split(" = ")[0].endswith(f".{TUNED[key]}") for line in _lines(used))
    return None if has else f"the design {used.name} has no {TUNED[key]} to change, so this has no effect on it"


def store_needs(place: Place) -> str | None:
    """What to do after another model was named: only the store knows whether upkeep moves it there, or must be told to.
    A store that does not exist yet needs nothing."""
    try:
        if not Path(place.db or settings.load(Path.cwd()).db).exists():
            return None
        with opened(place) as memory:
            return str(memory._vectors().get("vectors_advice", "the store has its vectors; nothing has to be moved"))
    except MemoristError:  # the setting is in force all the same
        return "`memorist status` says what the store needs for it"


def _tell_problems() -> None:
    here = settings.load(Path.cwd())
    told = list(here.problems.values())
    try:
        _design(here.design)
    except Invalid as problem:
        told.append(f"{here.sources['design']}: the design cannot be used: {problem}")
    for each in told:
        aside(f"a setting does not hold: {each}")


def list_settings(place: Place) -> int:
    found = settings.all_settings(Path.cwd())
    document = {key: {"value": value, "source": source} for key, (value, source) in found.items()}
    rows = [(key, value or "", source) for key, (value, source) in found.items()]
    _tell_problems()
    return place.screen.table(document, ("setting", "value", "from"), rows)


def switch(off: bool, place: Place, here: bool = False) -> int:
    if here:
        return _leave_out(off, place)
    file = settings.switch(off)
    because = settings.off_because()
    document = {"off": because is not None, "because": because, "file": file}
    return place.screen.answer(document, one_line(because or "memory is on"))


def _leave_out(out: bool, place: Place) -> int:
    """Silences hooks in this project and stops recording its agents; everything else goes on."""
    if place.server:
        raise Refused(
            "hooks work on the store of this machine, and the setting url names a server; "
            "take it out for this one (`memorist config unset url`, or unset MEMORIST_URL)"
        )
    with opened(place) as memory:
        with memory._writer.transaction():
            captures.leave_out(out, memory._tools.clock(), memory._tools.store, memory.space, memory.home)
        said = f"{memory.home} is left out: hooks say nothing there, and nothing of its agents is kept; tools over MCP still answer"
        back = "; `memorist on --here` takes it in again"
        document = {"project": memory.home, "left_out": out}
        return place.screen.answer(document, said + back if out else f"{memory.home} is not left out")


# ---------------------------------------------------------------- designs


def list_designs(place: Place) -> int:
    current = settings.load(Path.cwd()).design
    known = dict.fromkeys(designs.DESIGNS, "built in")
    known |= {name: str(file) for name, file in designs.files_in(settings.designs_folder()).items()}
    known |= {current: current} if checks.is_path(current) else {}
    rows = [(name, _about(name), where) for name, where in known.items()]
    document = [{"name": n, "about": about, "from": where, "current": n == current} for n, about, where in rows]
    marked = [("*" if row[0] == current else "", *row) for row in rows]
    return place.screen.table(document, ("", "design", "about", "from"), marked)


def _design(name: str) -> Design:
    return designs.find(name, settings.designs_folder())


def _about(name: str) -> str:
    """A design that cannot be read is listed with the reason, so that it can be found and repaired."""
    try:
        return _design(name).about
    except Invalid as problem:
        return f"cannot be used: {problem}"


def show_design(place: Place, name: str | None = None) -> int:
    wanted = name or settings.load(Path.cwd()).design
    text = own.text_of(_design(wanted))
    found = settings.all_settings(Path.cwd())
    tuned = [(key, value, source) for key in TUNED for value, source in [found[key]] if value is not None]
    covers = [f"# {k} = {one_line(value)} in {one_line(source)} covers what stands here" for k, value, source in tuned]
    screen = place.screen
    if screen.json:
        return screen.answer({"name": wanted, **toml.parse(text, Path(wanted))})
    screen.verbatim("\n".join([*covers, text.rstrip("\n")]))
    return 0


def use_design(place: Place, name: str) -> int:
    old, new = _used_now(), _design(name)
    changes = _changes(_lines(old), _lines(new)) if old is not None else []
    file = settings.set_setting("design", name, Path.cwd())
    now, source = settings.all_settings(Path.cwd())["design"]
    place.screen.answer(
        {"design": now, "from": source, "file": file, "changes": changes},
        f"design is now {one_line(now or '')} ({one_line(str(file))} was written)",
        *(f"  {safe(line)}" for line in changes),
        "memories stay as they are; what was counted under another design counts under this one",
    )
    if source != str(file) and not place.json:
        aside(f"{source} names another design, which holds here: {now}")
    return 0


def _changes(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Every line that differs, the old before the new, each with its own key."""
    gone, come = ([line for line in one if line not in other] for one, other in ((old, new), (new, old)))
    order = list(dict.fromkeys(line.partition(" = ")[0] for line in (*new, *old)))
    marked = [*(("- ", line) for line in gone), *(("+ ", line) for line in come)]
    return [mark + line for mark, line in sorted(marked, key=lambda each: order.index(each[1].partition(" = ")[0]))]


def _used_now() -> Design | None:
    """The design before the change; an unreadable one must not keep the user from choosing another."""
    try:
        return _design(settings.load(Path.cwd()).design)
    except Invalid:
        return None


def _lines(design: Design) -> list[str]:
    """What a design is, each line with the table it stands in."""
    table = toml.parse(own.text_of(design), Path(design.name))
    return list(_flat({key: value for key, value in table.items() if key not in ("base", "about")}))


def _flat(table: Mapping[str, Any], inside: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{inside}{key}.")
        else:
            yield f"{inside}{key} = {toml.written(value)}"


# ---------------------------------------------------------------- the table

NAME = "The design: a name that `design list` shows, or the path of a TOML file"
ONLY_HERE = Option("here", "Only for coding agents, and only in this project.", "--here", "flag")
KEY = Option("key", "The name of the setting.", needed=True)
VALUE = Option("value", "Its new value.", needed=True)
commands: Commands = {
    "design list": ((JSON,), list_designs),
    "design show": ((Option("name", f"{NAME}; the one in use without it."), JSON), show_design),
    "design use": ((Option("name", f"{NAME}.", needed=True), JSON), use_design),
    "config get": ((KEY, JSON), get_setting),
    "config set": ((KEY, VALUE, JSON), set_setting),
    "config unset": ((KEY, JSON), set_setting),
    "config list": ((JSON,), list_settings),
    "off": ((ONLY_HERE, JSON), partial(switch, True)),
    "on": ((ONLY_HERE, JSON), partial(switch, False)),
}
