"""`memorist receipts`: what coding agents were told, for how many tokens, and what of it was used."""

from memorist import checks
from memorist.surfaces.agents import receipts
from memorist.surfaces.cli.arguments import PLACE, Option
from memorist.surfaces.cli.screen import Screen, aside
from memorist.surfaces.cli.verbs import PATIENCE, Place, opened

LIMIT = Option("limit", "At most so many, the latest; default: 20.", "--limit", "whole")


def _receipts(place: Place, limit: int = 20) -> int:
    most = checks.whole(limit, "limit", 1, receipts.LINES_READ)
    with opened(place, wait=PATIENCE["reading"]) as memory:
        told = receipts.told(memory, most)
    if not told:
        aside("no agent was told anything here; `memorist install` gives one this memory")
    rows = [
        (
            each["at"].replace(tzinfo=None).isoformat(" ", "minutes"), each["client"], each["session"] or "", each["moment"],
            f"{each['tokens']:,}", _marks(each["ids"]), _marks(each["used"]),
        )
        for each in told
    ]  # fmt: skip
    return Screen.of(place.json).table(told, ("at", "agent", "session", "told at", "tokens", "memories", "used"), rows)


def _marks(numbers: list[int]) -> str:
    return " ".join(f"[id:{number}]" for number in numbers)


commands = {"receipts": ((LIMIT, *PLACE), _receipts)}
