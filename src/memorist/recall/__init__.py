"""Recall: a query passes through a visible tuple of small stages, each of which reports what it did.

Modules are loaded on first use.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.recall import alike, lookup, pipeline, walk

__all__ = ["alike", "lookup", "pipeline", "walk"]
if not TYPE_CHECKING:  # otherwise a type checker would accept any name
    __getattr__ = modules(__name__, __all__)
