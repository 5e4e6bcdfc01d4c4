"""The designs: each a page of data at most."""

from collections.abc import Mapping

from memorist.design import Design
from memorist.designs.balanced import BALANCED
from memorist.designs.hebbian import HEBBIAN
from memorist.errors import Invalid

DESIGNS: Mapping[str, Design] = {design.name: design for design in (BALANCED, HEBBIAN)}

__all__ = ["BALANCED", "DESIGNS", "HEBBIAN", "design_named"]


def design_named(name: str) -> Design:
    if name not in DESIGNS:
        raise Invalid(f"there is no design {name!r:.60}; designs are {', '.join(DESIGNS)}")
    return DESIGNS[name]
