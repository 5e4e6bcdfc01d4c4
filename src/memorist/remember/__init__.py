"""How a text becomes a memory: one gate, through which every surface, importer and job goes.

A module is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.remember import (
        aliases,
        change,
        changes,
        choosing,
        consent,
        deciding,
        drafts,
        erasing,
        findings,
        finishing,
        gate,
        many,
        pending,
        promoting,
        resolving,
        undoing,
        using,
    )  # fmt: skip

__all__ = [
    "aliases", "change", "changes", "choosing", "consent", "deciding", "drafts", "erasing", "findings",
    "finishing", "gate", "many", "pending", "promoting", "resolving", "undoing", "using",
]  # fmt: skip
__getattr__ = modules(__name__, __all__)
