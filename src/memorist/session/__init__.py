"""Conversations while they are held: sessions with one writer each, and what becomes of them at their end.

Nothing here touches a file. A module is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.session import behind, close, compaction, lease, lookout, name, narrative, session, tasks

__all__ = ["behind", "close", "compaction", "lease", "lookout", "name", "narrative", "session", "tasks"]
if not TYPE_CHECKING:  # or every name would be there for a type checker
    __getattr__ = modules(__name__, __all__)
