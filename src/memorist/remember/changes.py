"""Who writes, and with what: the one value that every verb of this room is handed."""

from dataclasses import dataclass, replace
from datetime import datetime

from memorist.access import Access
from memorist.design import Tools
from memorist.store.protocol import Store
from memorist.store.where import Where
from memorist.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes a store, the writer that does it, and the tools at hand."""

    access: Access
    writer: Writer
    tools: Tools

    @property
    def store(self) -> Store:
        return self.tools.store

    @property
    def where(self) -> Where:
        """Everything that this author may read."""
        return Where(self.access)

    def now(self) -> datetime:
        return self.tools.clock()

    def through(self, access: Access) -> "Author":
        """The same writer and tools under another access."""
        return replace(self, access=access)
