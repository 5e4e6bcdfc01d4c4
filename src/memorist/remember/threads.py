"""Which narrative a session is at, so that a memory written meanwhile names it in its provenance.

Narratives lie with the memories of the project, or for a user's session with the user, and each names its session; those that
name none are a thread of their own. A setting says whether a store has any narratives, so that other writes need not look for
them.
"""

from dataclasses import field

from memorist.lazy import dataclass
from memorist.remember.authority import FROM_FILES
from memorist.remember.changes import Caller, has_narratives
from memorist.store.talk import place_of
from memorist.store.where import Order, Where

NARRATIVE = "narrative"


def narratives_in(home: str, by: Caller) -> Where:
    """The narratives of that scope that are not undone or forgotten."""
    where = by.where.also("kind", "eq", NARRATIVE).also("state", "eq", "active").also("scope", "eq", home)
    return where.also("home", "eq", by.access.home_of(home))


@dataclass(slots=True)
class Threads:
    """The narrative that each session is at, looked up once for a batch of drafts."""

    by: Caller
    home: str
    _known: dict[str | None, str | None] = field(default_factory=dict)

    def at(self, session: str | None) -> str | None:
        """The id of the narrative that a memory of this session belongs to. Text from a file belongs to no narrative."""
        if session not in self._known:
            self._known[session] = self._look_up(session)
        return self._known[session]

    def _look_up(self, session: str | None) -> str | None:
        by = self.by
        if by.access.origin in FROM_FILES or not by.store.setting(has_narratives(by.access.space)):
            return None
        here = narratives_in(place_of(session, self.home, by.access, by.store), by)
        last = by.store.find(here.also("session", "eq", session), Order("number"), 1)  # by arrival, since clocks differ
        return last[0].id if last else None
