"""The command behind `memorist bench`: runs the measures and prints one table, for people or as JSON."""

import argparse
import json
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from memorist import __version__
from memorist.bench.speed import (
    Measure,
    command_line,
    designs,
    erasing,
    growth,
    isolation,
    json_file,
    recalling,
    writing,
)


def main(argv: Sequence[str]) -> int:
    """Exit code 1 when a promised number was not kept."""
    parser = argparse.ArgumentParser(prog="memorist bench", description="what memorist costs on this machine")
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes, for a first look")
    parser.add_argument("--growth", action="store_true", help="only store and recall from 1,000 to 1,000,000 memories")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    options = parser.parse_args(argv)
    measures = []
    for measure in _measures(options.quick, options.growth):
        measures.append(measure)
        if not options.json:
            sys.stdout.write(_line(measure) + "\n")
            sys.stdout.flush()
    if options.json:
        rows = [{**asdict(measure), "kept": measure.kept} for measure in measures]
        about = {"memorist": __version__, "python": platform.python_version(), "machine": platform.machine()}
        sys.stdout.write(json.dumps({**about, "measures": rows}, indent=2) + "\n")
    return 1 if any(measure.kept is False for measure in measures) else 0


def _measures(quick: bool, only_growth: bool) -> Iterator[Measure]:
    if only_growth:
        return (yield from growth([1_000, 10_000, 100_000, 1_000_000]))
    part = 10 if quick else 1
    yield from writing()
    yield from recalling(100_000 // part)
    yield from designs(100_000 // part)
    yield from isolation(1_000, 500_000 // part)
    yield from erasing(100_000 // part)
    yield from command_line(10_000 // part)
    yield from json_file(10_000 // part)
    yield from growth([1_000, 10_000] if quick else [1_000, 10_000, 100_000])


def _line(measure: Measure) -> str:
    promised = ""
    if measure.limit is not None:
        sign = "≥" if measure.at_least else "≤"
        promised = f"{'kept' if measure.kept else 'MISSED'} ({sign} {measure.limit:,g})"
    return f"{measure.name:<62} {measure.value:>12,.2f} {measure.unit:<15} {promised:<20} {measure.detail}".rstrip()
