"""The bridge between the agents of a session: what others noted or found there since this one last spoke.

It is a lane before all that depend on the query, in every context that names a session and an agent, and takes the place
of a design's session lane. It includes what the user noted meanwhile, but no turns: an agent that takes over a session
reads those separately.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memorist import checks
from memorist.design import BRIDGE, STEADY, Lane
from memorist.kinds import Kind
from memorist.records import Hit
from memorist.store.protocol import Store
from memorist.store.where import Order, Where

MOST_NOTES = 50


def bridged(lanes: Sequence[Lane], session: str | None, agent: str | None) -> tuple[Lane, ...]:
    """The lanes with the bridge, or without it if no agent or session is named: then nobody can say what is new to whom."""
    if checks.optional_label(agent, "the agent") is None or session is None:
        return tuple(lane for lane in lanes if lane.name != BRIDGE)
    names = [lane.name for lane in lanes]
    if BRIDGE in names:
        return tuple(lanes)
    if "session" in names:
        return tuple(replace(lane, name=BRIDGE) if lane.name == "session" else lane for lane in lanes)
    first = next((place for place, name in enumerate(names) if name not in STEADY), len(names))
    return (*lanes[:first], Lane(BRIDGE, 0.5, 0, 3000, "rest"), *lanes[first:])


def notes_of_others(
    agent: str | None, turns: Where, notes: Where, store: Store, kinds: Mapping[str, Kind]
) -> list[Hit]:
    """Of these notes of a session, those by others since the agent's last turn, the latest first."""
    last = next((turn.number for turn in store.find(turns.also("agent", "eq", agent), Order("number"), 1)), 0)
    found = store.find(notes.also("number", "gt", last).also("agent", "ne", agent), Order("number"), MOST_NOTES)
    attributed = [each for each in found if each.provenance.agent is not None or each.origin == "user"]
    others = [record for record in attributed if kinds[record.kind].recalled]
    return [Hit(record, 1.0 - place / len(others), {BRIDGE: 1.0}) for place, record in enumerate(others)]
