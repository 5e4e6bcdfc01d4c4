"""What keeps a store in order over time: jobs that propose changes, and one runner that applies them.

A module is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.upkeep import afterwards, due, night, retain, runner, sessions

__all__ = ["afterwards", "due", "night", "retain", "runner", "sessions"]
if not TYPE_CHECKING:  # or every name would be there for a type checker
    __getattr__ = modules(__name__, __all__)
