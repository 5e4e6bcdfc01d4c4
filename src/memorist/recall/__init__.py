"""How a question finds its memories: a visible tuple of small stages, each of which says what it did.

A module is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.recall import alike, lookup, pipeline, walk

__all__ = ["alike", "lookup", "pipeline", "walk"]
if not TYPE_CHECKING:  # or every name would be there for a type checker
    __getattr__ = modules(__name__, __all__)
