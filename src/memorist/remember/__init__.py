"""How a text becomes a memory: one gate for every surface, importer and job.

A module is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.remember import (
        authority,
        bring,
        changes,
        choices,
        conflicts,
        consent,
        distil,
        edit,
        erase,
        gaps,
        gate,
        homes,
        move,
        promotion,
        rescan,
        review,
        sharing,
        strengthen,
        turns,
        undo,
    )

__all__ = [
    "authority",
    "bring",
    "changes",
    "choices",
    "conflicts",
    "consent",
    "distil",
    "edit",
    "erase",
    "gaps",
    "gate",
    "homes",
    "move",
    "promotion",
    "rescan",
    "review",
    "sharing",
    "strengthen",
    "turns",
    "undo",
]
if not TYPE_CHECKING:  # or every name would be there for a type checker
    __getattr__ = modules(__name__, __all__)
