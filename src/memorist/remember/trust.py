"""Where a text comes from and how far it is trusted. Stamped by the engine from the door it came through, never by the text.

Trust is never raised by being read, repeated or old; only an act of the user raises it.
"""

from memorist.access import Access
from memorist.records import Origin, Status, Trust

_BY_ORIGIN: dict[Origin, Trust] = {"user": "high", "agent": "medium", "import": "low", "file": "low", "tool": "low"}
_BY_ROLE: dict[str, Origin] = {"user": "user", "assistant": "agent", "system": "agent", "tool": "tool"}


def origin_of(kind: str, role: str | None, who: Access) -> Origin:
    """The door decides; a chat turn is its role's, unless it came through a door of low trust."""
    if kind == "turn" and who.origin in ("user", "agent"):
        return _BY_ROLE.get(role or "", who.origin)
    return who.origin


def trust_of(origin: Origin) -> Trust:
    return _BY_ORIGIN[origin]


def status_of(trust: Trust) -> Status:
    """Text of low trust waits as a candidate until somebody confirms it."""
    return "candidate" if trust == "low" else "confirmed"
