"""Recall: a query passes through a visible tuple of small stages, each of which reports what it did.

Modules are loaded on first use.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.recall import alike, lookup, monitor, pipeline, scopes, walk, why

__all__ = ["alike", "lookup", "monitor", "pipeline", "scopes", "walk", "why"]
if not TYPE_CHECKING:  # otherwise a type checker would accept any name
    __getattr__ = modules(__name__, __all__)
