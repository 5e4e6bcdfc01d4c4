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


def find(named: str, folder: Path | None) -> Design:
    """A built-in design, one from the user's folder, or one by the path of its file."""
    if not isinstance(named, str):
        raise Invalid(f"a design is a name, the path of a file or a Design, not {quoted(named)}")
    if named in DESIGNS:
        return DESIGNS[named]
    from memorist.designs import own

    if checks.is_path(named):
        return own.load(Path(named))
    files = files_in(folder)
    if named not in files:
        raise Invalid(f"there is no design {quoted(named)}; designs are {', '.join([*DESIGNS, *files])}")
    design = own.load(files[named])
    if design.name != named:
        raise Invalid(f"{files[named]}: name is {design.name!r}, but the file is called {named!r}; remove that line")
    return design


def files_in(folder: Path | None) -> dict[str, Path]:
    """The designs in the user's folder, by name. A file with the name of a built-in design is ignored."""
    if folder is None or not folder.is_dir():
        return {}
    found = {file.stem: file for file in sorted(folder.glob("*.toml"))}
    return {name: file for name, file in found.items() if NAME.fullmatch(name) and name not in DESIGNS}


def adjusted(design: Design, **values: float | None) -> Design:
    """The design with these values set where votes are weighed and where too much is pruned; None keeps the design's own."""
    chosen: Any = {name: value for name, value in values.items() if value is not None}
    if not chosen:
        return design
    from memorist.recall.stages.weigh import WeighByVotes
    from memorist.upkeep.retain import Prune

    def tuned(part: Any) -> Any:
        if not isinstance(part, WeighByVotes | Prune):
            return part
        return replace(part, **{name: value for name, value in chosen.items() if hasattr(part, name)})

    return replace(design, recall=tuple(map(tuned, design.recall)), upkeep=tuple(map(tuned, design.upkeep)))
