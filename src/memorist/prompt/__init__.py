"""How memories enter a prompt: within a budget that is counted on the rendered text.

A module is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.prompt import context, receipt

__all__ = ["context", "receipt"]
if not TYPE_CHECKING:  # or every name would be there for a type checker
    __getattr__ = modules(__name__, __all__)
