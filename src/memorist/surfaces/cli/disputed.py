"""How conflicts are shown: both sides, each with its date and its origin, and why they do not fit."""

from typing import TYPE_CHECKING

from memorist.records import Record
from memorist.remember.conflicts import Dispute
from memorist.surfaces.cli.screen import Screen, aside, one_line

if TYPE_CHECKING:
    from memorist.surfaces.cli.show import Answer


def conflicts(answer: "Answer", screen: Screen) -> None:
    found: list[Dispute] = answer.value
    for each in found:
        screen.line(f"{screen.styled(each.kind, 'bad')}, {each.severity}: {one_line(each.reason)}")
        screen.line(_side(each.a, screen))
        screen.line(_side(each.b, screen))
    if found:
        aside("`memorist resolve A B KEEP` says which one holds; KEEP is its number, or both")
    else:
        aside("no memories are known to contradict each other")


def _side(record: Record, screen: Screen) -> str:
    mark = screen.styled(f"[id:{record.number}]", "mark")
    said = screen.styled(f"({record.times.at.date().isoformat()}, {record.origin})", "dim")
    return f"  {mark} {said} {one_line(record.text)}"
