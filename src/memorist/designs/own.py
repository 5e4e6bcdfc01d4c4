"""A design of the user's own: a TOML file that names a base and says what is different. It holds no code.

    base = "hebbian"
    reads = ["project", "user", "global"]
    stages = ["understand", "words", "believed", "weigh", "keep_best"]
    [recall.weigh]
    factors = ["recency", "votes"]
    [upkeep.prune]
    max_size = "50 MB"

STAGES and JOBS are everything such a file can name, with the bounds of each value. What could not work is refused when the
file is read, with the file and the key; `text_of` writes any design in this form.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.design import Design
from memorist.designs import DESIGNS, design_named
from memorist.errors import Invalid
from memorist.recall.blend import Blend, FuseRanks
from memorist.recall.find import ByWords
from memorist.recall.gather import Gather
from memorist.recall.trim import Abstain, Believed, DropWeak, KeepBest, KeepClose, Weigh, WeighByVotes
from memorist.recall.understand import Recognise, Understand
from memorist.text import toml
from memorist.text.visible import quoted
from memorist.upkeep.prune import Prune
from memorist.worth import FACTORS

FAMILIES = ("session", "project", "user", "global")
KEYS = ("base", "name", "about", "reads", "stages", "recall", "jobs", "upkeep")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


# ---------------------------------------------------------------- what a file can name


def _names(value: Any, what: str, known: Sequence[str]) -> tuple[str, ...]:
    """A list of different names, all of them known."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise Invalid(f"{what} must be a list of names such as {list(known[:2])}, not {quoted(value)}")
    for place, name in enumerate(value):
        if name not in known:
            raise Invalid(f"{what}: there is no {quoted(name)}; names are {', '.join(known)}")
        if name in value[:place]:
            raise Invalid(f"{what} names {name} twice; once is enough")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a stage's table: the field it sets, what it may be, and how the field is written back."""

    field: str
    check: Callable[[Any, str], Any]
    written: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True, slots=True)
class Part:
    """A stage or job under its registered name."""

    make: type
    keys: Mapping[str, Key]


_vote = partial(checks.number, least=0, most=100)
_pool = partial(checks.whole, least=1, most=1000)
_VOTES = {"reinforce": Key("reinforce", _vote), "demote": Key("demote", _vote)}
STAGES: Mapping[str, Part] = {
    "understand": Part(Understand, {"most": Key("most", partial(checks.whole, least=1, most=64))}),
    "recognise": Part(Recognise, {}),
    "words": Part(ByWords, {"pool": Key("pool", _pool)}),
    "gather": Part(
        Gather, {"words": Key("words", _pool), "meaning": Key("meaning", _pool), "around": Key("around", _pool)}
    ),
    "blend": Part(Blend, {}),
    "fuse_ranks": Part(FuseRanks, {"k": Key("k", partial(checks.whole, least=1, most=1000))}),
    "believed": Part(Believed, {}),
    "weigh": Part(Weigh, {"factors": Key("factors", partial(_names, known=tuple(FACTORS)), list)}),
    "votes": Part(WeighByVotes, _VOTES),
    "abstain": Part(
        Abstain,
        {"below": Key("below", checks.share), "unless_covered": Key("unless_covered", checks.share)},
    ),
    "drop_weak": Part(DropWeak, {"share": Key("share", checks.share)}),
    "keep_close": Part(
        KeepClose,
        {
            "of_best": Key("of_best", checks.share),
            "of_previous": Key("of_previous", checks.share),
            "most": Key("most", partial(checks.whole, least=1, most=1000)),
        },
    ),
    "keep_best": Part(KeepBest, {}),
}
JOBS: Mapping[str, Part] = {
    "prune": Part(
        Prune,
        {
            "max_size": Key("max_bytes", checks.size, checks.size_text),
            "percent": Key("percent", partial(checks.number, least=0.01, most=100)),
            **_VOTES,
        },
    ),
}


# ---------------------------------------------------------------- finding


def find(named: str, folder: Path | None) -> Design:
    """A built-in design, one of the user's folder, or one by the path of its file."""
    if not isinstance(named, str):
        raise Invalid(f"a design is a name, the path of a file or a Design, not {quoted(named)}")
    if checks.is_path(named):
        return load(Path(named))
    if named in DESIGNS:
        return DESIGNS[named]
    files = files_in(folder)
    if named not in files:
        raise Invalid(f"there is no design {quoted(named)}; designs are {', '.join([*DESIGNS, *files])}")
    design = load(files[named])
    if design.name != named:
        raise Invalid(f"{files[named]}: name is {design.name!r}, but the file is called {named!r}; remove that line")
    return design


def files_in(folder: Path | None) -> dict[str, Path]:
    """The designs of the user's folder by name. A file that is called as a built-in design is none of them."""
    if folder is None or not folder.is_dir():
        return {}
    found = {file.stem: file for file in sorted(folder.glob("*.toml"))}
    return {name: file for name, file in found.items() if NAME.fullmatch(name) and name not in DESIGNS}


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
    return Design(
        name=name,
        about=checks.label(table.get("about", base.about), "about"),
        reads=_reads(table.get("reads", list(base.reads))),
        recall=recall,
        upkeep=_parts(table, "jobs", "upkeep", JOBS, base.upkeep),
    )


def _reads(value: Any) -> tuple[str, ...]:
    reads = _names(value, "reads", FAMILIES)
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
    names = _names(table.get(order, list(had)), order, tuple(known))
    given = table.get(values, {})
    if not isinstance(given, Mapping) or not all(isinstance(each, Mapping) for each in given.values()):
        raise Invalid(f"{values} must be a table of tables, such as [{values}.{next(iter(known))}]")
    for name in given:
        if name not in names:
            raise Invalid(f"{values}.{name[:60]}: {order} has no such name; it has {', '.join(names) or 'none'}")
    return tuple(_part(known[name], had.get(name), given.get(name, {}), f"{values}.{name}") for name in names)


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
    found = [name for name in names if name in ("words", "gather", "blend", "fuse_ranks")]
    if found not in (["words"], ["gather", "blend"], ["gather", "fuse_ranks"]):
        raise Invalid(
            "stages must find by words, or gather and then blend or fuse_ranks what was gathered; "
            f"they are {', '.join(names) or 'none'}"
        )
    inside = names[names.index(found[-1]) + 1 : -1]
    if names[0] != "understand" or names[-1] != "keep_best" or "believed" not in inside:
        raise Invalid(
            "stages must begin with understand, end with keep_best, and hold believed between what finds and keep_best "
            f"(without it what no longer holds is recalled); they are {', '.join(names)}"
        )
    if "abstain" in names and "blend" not in names:
        raise Invalid("abstain needs blend, which says how likely the answer is here; leave abstain out")
    weighed = [stage.factors for stage in stages if isinstance(stage, Weigh)]
    if weighed and "votes" in names and {"votes", "recency"} & set(weighed[0]):
        raise Invalid("stages weighs votes twice: take votes or recency out of recall.weigh, or the stage votes out")


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
    ]
    for table, parts, known in (("recall", design.recall, STAGES), ("upkeep", design.upkeep, JOBS)):
        for part in parts:
            name = _name_of(part, known)
            values = {key: each.written(getattr(part, each.field)) for key, each in known[name].keys.items()}
            if values:
                lines += ["", f"[{table}.{name}]", *(f"{key} = {toml.written(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- the settings' say


def adjusted(
    design: Design,
    reinforce: float | None = None,
    demote: float | None = None,
    max_bytes: int | None = None,
    percent: float | None = None,
) -> Design:
    """The design with these values in every stage and job that has them; None leaves the design's own."""
    votes = _given(reinforce=reinforce, demote=demote)
    room = _given(max_bytes=max_bytes, percent=percent)
    if not votes and not room:
        return design
    recall = tuple(replace(stage, **votes) if isinstance(stage, WeighByVotes) else stage for stage in design.recall)
    upkeep = tuple(replace(job, **votes, **room) if isinstance(job, Prune) else job for job in design.upkeep)
    return replace(design, recall=recall, upkeep=upkeep)


def _given(**values: float | None) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
