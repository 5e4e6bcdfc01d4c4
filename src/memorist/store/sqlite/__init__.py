"""A store in one SQLite file, or in RAM."""

from memorist.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
