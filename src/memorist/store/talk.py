"""Whether a conversation belongs to a user or to nobody in particular.

A user's conversation lies in the user's scope, but what was noted and found in it lies in `session/<id>`, which names no user.
Whoever reads that, or moves something out of it, asks here first.
"""

from memorist.access import Access, family_of
from memorist.records import Record
from memorist.store.protocol import Store
from memorist.store.where import Order, everywhere

USER = "user"


def project_of(session: Record) -> str:
    """The project that the session of this record belongs to."""
    return str(session.data.get("project") or session.home or session.scope)


def users_of(session: str, project: str | None, space: str, store: Store) -> list[str]:
    """The scopes of the users for whom a session of that project was held, according to its record; if it was never opened,
    those that hold turns with that session name. Forgotten records count too, since other parts of the session may still
    exist."""
    said = everywhere(space).also("session", "eq", session).also("state", "ne", "erased")
    records = store.find(said.also("kind", "eq", "session"), Order("number"))
    here = [record.scope for record in records if project_of(record) == project]
    return sorted({scope for scope in here or store.count(said.also("kind", "eq", "turn")) if family_of(scope) == USER})


def place_of(session: str | None, home: str, who: Access, store: Store) -> str:
    """Where the results of a session go: to the user for whom it was held, otherwise to `home`."""
    users = [] if session is None else users_of(session, who.home, who.space, store)
    return users[0] if len(users) == 1 else home
