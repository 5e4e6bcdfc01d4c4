"""The designs: each a page of data at most, and read when it is asked for: what one is made of, another need not load."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from memorist.design import Design
from memorist.errors import Invalid

if TYPE_CHECKING:
    from memorist.designs.balanced import BALANCED
    from memorist.designs.curated import CURATED
    from memorist.designs.hebbian import HEBBIAN
    from memorist.designs.tiers import TIERS

NAMES = ("balanced", "tiers", "hebbian", "curated")


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

    def __contains__(self, name: object) -> bool:
        return name in NAMES


DESIGNS: Mapping[str, Design] = _Designs()

__all__ = ["BALANCED", "CURATED", "DESIGNS", "HEBBIAN", "TIERS", "design_named"]


def __getattr__(name: str) -> Any:
    if name.lower() in NAMES and name.isupper():
        return DESIGNS[name.lower()]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def design_named(name: str) -> Design:
    if name not in DESIGNS:
        raise Invalid(f"there is no design {name!r:.60}; designs are {', '.join(DESIGNS)}")
    return DESIGNS[name]
