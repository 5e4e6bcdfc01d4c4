"""A design of the user's own: a TOML file that names a base and says what is different. It holds no code.

    base = "hebbian"
    reads = ["project", "user", "global"]
    stages = ["understand", "words", "believed", "weigh", "keep_best"]
    [recall.weigh]
    factors = ["recency", "votes"]
    [upkeep.prune]
    max_size = "50 MB"

`parts.py` has everything such a file can name, with the bounds of each value. What could not work is refused when the file is
read, with the file and the key; `text_of` writes any design in this form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, cast, get_args

from memorist import checks
from memorist.design import LANES, Conflicts, Design, Inject, Lane
from memorist.designs import DESIGNS, design_named
from memorist.designs.finding import NAME
from memorist.designs.parts import JOBS, LANE, SLOTS, STAGES, Part, names, one_of
from memorist.errors import Invalid
from memorist.recall.stages.weigh import Weigh
from memorist.text import toml
from memorist.text.visible import quoted

FAMILIES = ("task", "session", "project", "user", "global")
KEYS = (
    "base",
    "name",
    "about",
    "reads",
    "stages",
    "recall",
    "jobs",
    "upkeep",
    "conflicts",
    "inject",
    "lanes",
    "lane",
    *SLOTS,
)
BEFORE = (
    "understand",
    "recognise",
    "aliases",
    "widen",
)  # what looks at the question; everything else at what was found


# ---------------------------------------------------------------- reading


def load(file: Path) -> Design:
    """The design in that file."""
    table = toml.load(file, "a design")
    try:
        return _design(table, file.stem)
    except Invalid as problem:
        raise Invalid(f"{file}: {problem}") from problem


def _design(table: Mapping[str, Any], stem: str) -> Design:
    _only(table, KEYS, "a design")
    if not isinstance(table.get("base"), str):
        raise Invalid(f"base must name the design to begin with: {', '.join(DESIGNS)}")
    base = design_named(table["base"])
    name = table.get("name", stem)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Invalid(f"name must be of up to 64 letters, digits, '-' and '_', not {quoted(name)}")
    recall = _parts(table, "stages", "recall", STAGES, base.recall)
    _must_work(recall)
    return replace(
        base,
        name=name,
        about=checks.label(table.get("about", base.about), "about"),
        reads=_reads(table.get("reads", list(base.reads))),
        recall=recall,
        upkeep=_parts(table, "jobs", "upkeep", JOBS, base.upkeep),
        conflicts=_conflicts(table.get("conflicts", base.conflicts)),
        inject=cast(Inject, one_of(table.get("inject", base.inject), "inject", get_args(Inject))),
        lanes=_lanes(table, base.lanes),
        **{slot: _slot(table, slot, getattr(base, slot)) for slot in SLOTS},
    )


def _slot(table: Mapping[str, Any], slot: str, had: Any) -> Any:
    given = table.get(slot, {})
    if not isinstance(given, Mapping):
        raise Invalid(f"{slot} must be a table with {', '.join(SLOTS[slot].keys)}, not {quoted(given)}")
    return _part(SLOTS[slot], had, given, slot)


def _conflicts(value: Any) -> Conflicts:
    for known in get_args(Conflicts):
        if value == known:
            return known  # type: ignore[no-any-return]
    raise Invalid(f"conflicts must be one of {', '.join(get_args(Conflicts))}, not {quoted(value)}")


def _lanes(table: Mapping[str, Any], base: Sequence[Lane]) -> tuple[Lane, ...]:
    """The lanes in their order: those of the base, or the ones that are named, each with its values."""
    had = {lane.name: lane for lane in base}
    wanted = names(table.get("lanes", list(had)), "lanes", (*LANES, *FAMILIES))
    given = table.get("lane", {})
    if not isinstance(given, Mapping) or not all(isinstance(each, Mapping) for each in given.values()):
        raise Invalid("lane must be a table of tables, such as [lane.pinned]")
    for name in given:
        if name not in wanted:
            raise Invalid(f"lane.{name[:60]}: lanes has no such name; it has {', '.join(wanted) or 'none'}")
    lanes = tuple(_part(LANE, had.get(name) or Lane(name, 0.0), given.get(name, {}), f"lane.{name}") for name in wanted)
    for lane in lanes:
        if lane.ceiling is not None and lane.floor > lane.ceiling:
            raise Invalid(
                f"lane.{lane.name}: its floor of {lane.floor:,} is above its ceiling of {lane.ceiling:,}; lower the one or "
                f'raise the other, or set ceiling to "off"'
            )
    return lanes


def _reads(value: Any) -> tuple[str, ...]:
    reads = names(value, "reads", FAMILIES)
    if not {"project", "global"} & set(reads):
        raise Invalid(
            "reads must name project or global; a question that names no user and no session reads nothing else"
        )
    return reads


def _parts(
    table: Mapping[str, Any], order: str, values: str, known: Mapping[str, Part], base: Sequence[Any]
) -> tuple[Any, ...]:
    """The stages or jobs in their order: those of the base, or the ones that are named, each with its values."""
    had = {_name_of(part, known): part for part in base}
    wanted = names(table.get(order, list(had)), order, tuple(known))
    given = table.get(values, {})
    if not isinstance(given, Mapping) or not all(isinstance(each, Mapping) for each in given.values()):
        raise Invalid(f"{values} must be a table of tables, such as [{values}.{next(iter(known))}]")
    for name in given:
        if name not in wanted:
            raise Invalid(f"{values}.{name[:60]}: {order} has no such name; it has {', '.join(wanted) or 'none'}")
    return tuple(_part(known[name], had.get(name), given.get(name, {}), f"{values}.{name}") for name in wanted)


def _part(part: Part, had: Any, given: Mapping[str, Any], where: str) -> Any:
    _only(given, tuple(part.keys), where)
    values = {part.keys[key].field: part.keys[key].check(value, f"{where}.{key}") for key, value in given.items()}
    if had is not None:
        return replace(had, **values)
    needed = {field.name for field in fields(part.make) if field.default is MISSING} - set(values)
    if needed:
        raise Invalid(f"{where} needs {', '.join(sorted(needed))}; the base has no {where} to take it from")
    return part.make(**values)


def _must_work(stages: Sequence[Any]) -> None:
    """The order without which no question has an answer, or a wrong one."""
    names = [_name_of(stage, STAGES) for stage in stages]
    found = [name for name in names if name in ("words", "fields", "gather", "blend", "fuse_ranks")]
    if found not in (["words"], ["fields"], ["gather", "blend"], ["gather", "fuse_ranks"]):
        raise Invalid(
            "stages must find by words or by fields, or gather and then blend or fuse_ranks what was gathered; "
            f"they are {', '.join(names) or 'none'}"
        )
    finds = names.index(found[-1])
    inside = names[finds + 1 : -1]
    if names[0] != "understand" or names[-1] != "keep_best" or "believed" not in inside:
        raise Invalid(
            "stages must begin with understand, end with keep_best, and hold believed between what finds and keep_best "
            f"(without it what no longer holds is recalled); they are {', '.join(names)}"
        )
    if "abstain" in names and "blend" not in names:
        raise Invalid("abstain needs blend, which says how likely the answer is here; leave abstain out")
    early = [name for name in ("aliases", "widen") if name in names]
    if early and ("fields" not in names or max(map(names.index, early)) > names.index("fields")):
        raise Invalid(f"{early[0]} finds other words for the stage fields, and stands before it; leave {early[0]} out")
    if "one_voice" in names[:-2]:
        raise Invalid("one_voice looks at what would be shown, and stands right before keep_best; move it there")
    weighed = [stage.factors for stage in stages if isinstance(stage, Weigh)]
    if weighed and "votes" in names and {"votes", "recency"} & set(weighed[0]):
        raise Invalid("stages weighs votes twice: take votes or recency out of recall.weigh, or the stage votes out")
    _must_have_something_to_do(names[:finds], found)


def _must_have_something_to_do(before: Sequence[str], found: Sequence[str]) -> None:
    """A stage that weighs or drops does nothing where nothing is found yet, and whoever named it would not notice."""
    useless = [name for name in before if name not in (*BEFORE, *found)]
    if useless:
        raise Invalid(
            f"{useless[0]} stands before {found[-1]}, where nothing is found yet, and would do nothing; move it behind. "
            f"Before it stand {', '.join(BEFORE)}"
        )


def _only(table: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise Invalid(f"{where} has no key {quoted(key)}; keys are {', '.join(allowed) or 'none'}")


def _name_of(part: Any, known: Mapping[str, Part]) -> str:
    return next(name for name, each in known.items() if type(part) is each.make)


# ---------------------------------------------------------------- writing


def text_of(design: Design) -> str:
    """The design as the text of such a file, everything written out. Under the design's name it is the same design."""
    lines = [
        f"base = {toml.written(design.name if design.name in DESIGNS else 'balanced')}",
        f"about = {toml.written(design.about)}",
        f"reads = {toml.written(list(design.reads))}",
        f"stages = {toml.written([_name_of(stage, STAGES) for stage in design.recall])}",
        f"jobs = {toml.written([_name_of(job, JOBS) for job in design.upkeep])}",
        f"conflicts = {toml.written(design.conflicts)}",
        f"inject = {toml.written(design.inject)}",
        f"lanes = {toml.written([lane.name for lane in design.lanes])}",
    ]
    for table, parts, known in (("recall", design.recall, STAGES), ("upkeep", design.upkeep, JOBS)):
        for part in parts:
            name = _name_of(part, known)
            values = {key: each.written(getattr(part, each.field)) for key, each in known[name].keys.items()}
            if values:
                lines += ["", f"[{table}.{name}]", *(f"{key} = {toml.written(value)}" for key, value in values.items())]
    for lane in design.lanes:
        has = {key: each.written(getattr(lane, each.field)) for key, each in LANE.keys.items()}
        lines += ["", f"[lane.{lane.name}]", *(f"{key} = {toml.written(value)}" for key, value in has.items())]
    for slot, shape in SLOTS.items():
        said = {key: each.written(getattr(getattr(design, slot), each.field)) for key, each in shape.keys.items()}
        lines += ["", f"[{slot}]", *(f"{key} = {toml.written(value)}" for key, value in said.items())]
    return "\n".join(lines) + "\n"
