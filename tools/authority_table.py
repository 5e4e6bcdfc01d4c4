"""Who may do what, as the table in docs/security.md: asked of the judge itself, cell by cell.

python tools/authority_table.py
"""

from dataclasses import replace
from typing import get_args

from memorist import Memory
from memorist.access import ROLES, WRITERS
from memorist.records import Origin, Record, changed
from memorist.remember.authority import Effect, reason_to_ask, status_of, trust_of
from memorist.remember.changes import Caller
from memorist.testing import START, a_record

DOORS: tuple[Origin, ...] = get_args(Origin)


def said_by(origin: Origin, **more: object) -> Record:
    trust = trust_of(origin)
    given = {"scope": "project/a", "origin": origin, "trust": trust, "status": status_of(trust), **more}
    return changed(a_record("Deploys need a review"), **given)


def cell(effect: Effect, by: Caller) -> str:
    return "asks" if reason_to_ask(effect, by) else "yes"


def changing(by: Caller, door: Origin) -> list[str]:
    """One row: what this door may do with a memory that each of the others said."""
    olds = [said_by(origin) for origin in DOORS]
    return [door, *(cell(Effect("revised", old, changed(old, text="Never mind")), by) for old in olds)]


def reaching(by: Caller, door: Origin) -> list[str]:
    """One row: what this door may add, and where."""
    here, everywhere = said_by(door), said_by(door, scope="global")
    return [
        door,
        f"{here.trust}, {here.status}",
        cell(Effect("added", None, changed(everywhere, kind="fact")), by),
        cell(Effect("added", None, changed(everywhere, kind="preference")), by),
        cell(Effect("added", None, changed(everywhere, kind="convention")), by),
        cell(Effect("revised", here, changed(here, scope="global")), by),
        "yes" if door == "user" else "no",
    ]


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables() -> str:
    with Memory(":memory:", project="a", clock=lambda: START) as memory:
        plain = memory._caller
        doors = [(plain.through(replace(plain.access, origin=door)), door) for door in DOORS]
        change = table(["door", *(f"{door}'s" for door in DOORS)], [changing(*each) for each in doors])
        head = [
            "door",
            "what it says is",
            "global fact",
            "global preference",
            "global convention",
            "move to global",
            "approves",
        ]
        reach = table(head, [reaching(*each) for each in doors])
    roles = table(
        ["role", "reads", "writes"], [[r, "its grants", "its grants" if r in WRITERS else "nothing"] for r in ROLES]
    )
    parts = {
        "Change, hide, restore, erase, retag, pin or unpin a memory, or vote it below neutral, that is the …": change,
        "Add, and reach further": reach,
        "Roles": roles,
    }
    return "\n\n".join(f"**{title}**\n\n{body}" for title, body in parts.items())


if __name__ == "__main__":
    print(tables())
