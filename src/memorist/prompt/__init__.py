"""How memories enter a prompt: within a budget that is counted on the rendered text.

Modules load on first use.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.prompt import context

__all__ = ["context"]
if not TYPE_CHECKING:  # hidden from type checkers, which would accept any name otherwise
    __getattr__ = modules(__name__, __all__)
