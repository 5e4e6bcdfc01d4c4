"""How a text becomes a memory: one gate for every surface, importer and job.

Modules are loaded on first use.
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
if not TYPE_CHECKING:  # otherwise a type checker would accept any name
    __getattr__ = modules(__name__, __all__)
