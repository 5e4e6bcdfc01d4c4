"""What keeps a store in order over time: jobs that propose changes, and one runner that applies them.

Modules load on first use.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.upkeep import afterwards, due, night, retain, runner, sessions

__all__ = ["afterwards", "due", "night", "retain", "runner", "sessions"]
if not TYPE_CHECKING:  # hidden from type checkers, which would accept any name otherwise
    __getattr__ = modules(__name__, __all__)
