"""The designs. Each is a page of data at most and loads on first use, so that one does not load the stages of another.

A design is built in, in the user's folder, or a file. `own.py` reads the files; it knows every stage and job, and is
loaded only for them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.design import Design
from memorist.errors import Invalid
from memorist.text.visible import quoted

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
NAMES = ("balanced", "tiers", "hebbian", "curated", "notebook", "associative")


class _Designs(Mapping[str, Design]):
    def __getitem__(self, name: str) -> Design:
        if name not in NAMES:
            raise KeyError(name)
        found: Design = getattr(import_module(f"memorist.designs.{name}"), name.upper())
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


DESIGNS: Mapping[str, Design] = _Designs()


def __getattr__(name: str) -> Any:
    if name.lower() in NAMES and name.isupper():
        return DESIGNS[name.lower()]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def design_named(name: str) -> Design:
    """A built-in design; `find` also finds the user's own."""
    if name not in DESIGNS:
        raise Invalid(f"there is no design {quoted(name)}; designs are {', '.join(DESIGNS)}")
    return DESIGNS[name]


def _load(file: Path) -> Design:
    from memorist.designs import own

    return own.load(file)


def find(named: str, folder: Path | None) -> Design:
    """A built-in design, one from the user's folder, or one by the path of its file."""
    if not isinstance(named, str):
        raise Invalid(f"a design is a name, the path of a file or a Design, not {quoted(named)}")
    if checks.is_path(named):
        return _load(Path(named))
    if named in DESIGNS:
        return DESIGNS[named]
    files = files_in(folder)
    if named not in files:
        raise Invalid(f"there is no design {quoted(named)}; designs are {', '.join([*DESIGNS, *files])}")
    design = _load(files[named])
    if design.name != named:
        raise Invalid(f"{files[named]}: name is {design.name!r}, but the file is called {named!r}; remove that line")
    return design


def files_in(folder: Path | None) -> dict[str, Path]:
    """The designs in the user's folder, by name. A file with the name of a built-in design is ignored."""
    if folder is None or not folder.is_dir():
        return {}
    found = {file.stem: file for file in sorted(folder.glob("*.toml"))}
    return {name: file for name, file in found.items() if NAME.fullmatch(name) and name not in DESIGNS}


def adjusted(
    design: Design,
    reinforce: float | None = None,
    demote: float | None = None,
    max_bytes: int | None = None,
    percent: float | None = None,
) -> Design:
    """The design with these values set in every stage and job that has them; None keeps the design's own value."""
    votes = {name: value for name, value in (("reinforce", reinforce), ("demote", demote)) if value is not None}
    room = {name: value for name, value in (("max_bytes", max_bytes), ("percent", percent)) if value is not None}
    if not votes and not room:
        return design
    from memorist.recall.stages.weigh import WeighByVotes
    from memorist.upkeep.retain import Prune

    changes: Any = votes | room
    recall = tuple(replace(stage, **votes) if isinstance(stage, WeighByVotes) else stage for stage in design.recall)
    upkeep = tuple(replace(job, **changes) if isinstance(job, Prune) else job for job in design.upkeep)
    return replace(design, recall=recall, upkeep=upkeep)
