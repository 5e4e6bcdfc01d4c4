"""Conversations in progress: sessions with one writer each, and what becomes of them at their end.

Nothing here touches a file. Modules load on first use.
"""

from typing import TYPE_CHECKING

from memorist.lazy import modules

if TYPE_CHECKING:
    from memorist.session import behind, close, compaction, lease, lookout, name, narrative, session, tasks, weighing

__all__ = ["behind", "close", "compaction", "lease", "lookout", "name", "narrative", "session", "tasks", "weighing"]
if not TYPE_CHECKING:  # hidden from type checkers, which would accept any name otherwise
    __getattr__ = modules(__name__, __all__)
