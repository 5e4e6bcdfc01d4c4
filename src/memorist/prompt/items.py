"""One memory on its way into a prompt: its text as it may be shown, and what is said about it.

Everything that was stored is data of unknown intent. Whatever cannot be seen is written out here, once for all styles; that
the rest stays inside its box is each style's own business.
"""

from dataclasses import dataclass
from datetime import datetime

from memorist.records import Hit, Record
from memorist.text.visible import visible

ROLES = ("user", "assistant", "system", "tool")


@dataclass(frozen=True, slots=True)
class Item:
    """A memory and the lane it came by. `age` is None in the part that must not change from turn to turn."""

    hit: Hit
    lane: str
    body: str
    age: str | None = None
    weight: float = 0.0  # how early it enters
    protected: bool = False  # comes before anything else

    @property
    def record(self) -> Record:
        return self.hit.record

    @property
    def facts(self) -> dict[str, str]:
        """What is said about the memory, in this order. All of it is ours, or a name that was checked: no free text."""
        record = self.record
        said = {
            "id": str(record.number),
            "kind": record.kind,
            "date": record.times.at.date().isoformat(),
            "age": self.age,
            "origin": record.origin,
            "trust": record.trust,
            "status": "unconfirmed" if record.status == "candidate" else None,
            "role": record.provenance.role if record.provenance.role in ROLES and record.kind == "turn" else None,
        }
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Clash:
    """Two memories that contradict each other, and nobody has decided between them."""

    a: Record
    b: Record

    @property
    def said(self) -> str:
        both = " and ".join(f"[id:{r.number}] ({r.times.at.date().isoformat()}, {r.origin})" for r in (self.a, self.b))
        return f"{both} contradict each other; verify before relying on either."


def body_of(record: Record, longest: int | None) -> str:
    """The text as it may be shown. Where the middle is left out, the text says how much and where it is."""
    text = record.text
    head, tail = 2 * (longest or 0) // 3, (longest or 0) // 3
    if longest is None or len(text) <= head + tail:
        return visible(text)
    note = f" […{len(text) - head - tail:,} characters left out, memory {record.number} has them…] "
    return visible(text[:head]) + note + visible(text[len(text) - tail :])


def age_of(record: Record, now: datetime) -> str:
    """How old it is, in a word or two.

    >>> from datetime import UTC, timedelta
    >>> from memorist.testing import a_record
    >>> record = a_record()
    >>> age_of(record, record.times.at + timedelta(days=75))
    '2 months'
    """
    days = max(0, (now - record.times.at).days)
    for unit, length in (("year", 365), ("month", 30), ("week", 7), ("day", 1)):
        if days >= (2 * length if unit == "week" else length):
            return f"{days // length} {unit}{'s' if days // length > 1 else ''}"
    return "today"
