"""`python -m bench`: runs what is asked for and prints it, for people or as JSON."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench import notes, pages, quality, reliability, report, sets
from bench.baselines import Embed, vectors_of
from bench.growth import answering, growth
from bench.imports import importing
from bench.nights import nights
from bench.sessions import conversations
from bench.speed import (
    Measure,
    command_line,
    designs,
    erasing,
    hooks,
    isolation,
    json_file,
    prompts,
    redacting,
    syncing,
    transcripts,
    writing,
)
from bench.week import week
from memorist import Memory

SIZES = (1_000, 10_000, 100_000, 1_000_000)
DATA = Path(__file__).parents[2] / "shared" / "data"  # beside a checkout of the project


def main(argv: Sequence[str]) -> int:
    """Exit code 1 when a promised number was not kept."""
    options = _options(argv)
    vectors = vectors_of(options.embed)[0]
    told = Told(options.json, options.into, _embedder(options.embed))
    named = (options.quality, options.reliability, options.week, options.speed, options.growth, options.set)
    everything = not any(named)
    if options.quality or options.set or everything:
        _quality(options, vectors, told)
    if options.reliability or (everything and not options.quick):
        _reliability(options, told)
    if options.week or (everything and not options.quick):
        told.measures("week", week())
    if options.speed or everything:
        told.measures("speed", _speed(options.quick, vectors))
    if options.growth:
        told.measures("growth", _growth())
    if options.json:
        sys.stdout.write(json.dumps({"about": pages.about(told.embedder), **told.found}, indent=2) + "\n")
    return 1 if told.missed else 0


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="how well memorist finds, and what it costs on this machine"
    )
    parser.add_argument(
        "--quick", action="store_true", help="the synthetic set and a tenth of the sizes, for a first look"
    )
    parser.add_argument("--quality", action="store_true", help="only how well the right things are found")
    parser.add_argument("--reliability", action="store_true", help="only what a relevance means")
    parser.add_argument("--week", action="store_true", help="only what hooks tell an agent in scripted weeks")
    parser.add_argument("--set", action="append", choices=sets.NAMES, help="only this test set; may be repeated")
    parser.add_argument(
        "--half", type=int, choices=(1, 2), help="only every other conversation: tune on one half, tell the other"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the public test sets")
    parser.add_argument("--embed", help="the embedder: static, none, …; what your settings say without it")
    parser.add_argument("--model-folder", type=Path, help="a sentence model in ONNX to compare with on the notes")
    parser.add_argument("--speed", action="store_true", help="only what writing and asking cost")
    parser.add_argument("--growth", action="store_true", help="only store and recall from 1,000 to 1,000,000 memories")
    parser.add_argument("--into", type=Path, help="also puts the results into benchmarks.md and .json of this folder")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    return parser.parse_args(argv)


def _embedder(embed: str | None) -> str:
    """What memories are embedded with, and turns where they have a model of their own."""
    with Memory(":memory:", embed=embed) as memory:
        told = memory.status()
    return ", turns ".join(dict.fromkeys(str(told[name]) for name in ("embedder", "embedder_turns") if name in told))


@dataclass(slots=True)
class Told:
    """What was found so far; people see it as it comes."""

    as_json: bool
    into: Path | None
    embedder: str
    found: dict[str, Any] = field(default_factory=dict)
    missed: bool = False

    def say(self, text: str) -> None:
        if not self.as_json:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def part(self, name: str, text: str, data: Any) -> None:
        """One finished part."""
        self.found[name] = data
        if self.into:
            pages.keep(self.into, name, text, pages.about(self.embedder), data)

    def measures(self, name: str, measures: Iterator[Measure]) -> None:
        rows = []
        for measure in measures:
            rows.append(measure)
            self.say(measure.line)
        self.missed |= any(measure.kept is False for measure in rows)
        data = [{**asdict(measure), "kept": measure.kept} for measure in rows]
        self.part(name, _table(rows), data)


def _quality(options: argparse.Namespace, vectors: Embed | None, told: Told) -> None:
    there = sets.available(options.data)
    wanted = options.set or (["synthetic"] if options.quick else there)
    if not options.quick and there == ["synthetic"]:
        told.say(f"{options.data} holds none of the public test sets (see --data); only our own synthetic set runs.\n")
    for name in wanted:
        if name not in there:
            told.say(f"{name}: {options.data / sets.FILES[name]} is not there; name the folder with --data.\n")
            continue
        text, data = _of_set(name, options, vectors, told)
        told.say(text)
        told.part(f"quality {name}", text, data)


def _of_set(name: str, options: argparse.Namespace, vectors: Embed | None, told: Told) -> tuple[str, dict[str, Any]]:
    if name == "notes":
        return notes.run(options.data, options.embed, options.model_folder, options.half)
    test, digest = sets.half(sets.load(name, options.data), options.half), sets.digest(name, options.data)
    results = quality.run(test, options.embed, vectors, lambda line: told.say(f"({line})\n"))
    return report.of_set(test, digest, results), report.as_data(test, digest, results)


def _reliability(options: argparse.Namespace, told: Told) -> None:
    text, data = reliability.run(options.data, options.embed)
    if data:
        told.say(text)
        told.part("reliability", text, data)
    else:
        told.say(f"{options.data} holds nothing to tell what a relevance means by; name the folder with --data.\n")


def _speed(quick: bool, vectors: Embed | None) -> Iterator[Measure]:
    part = 10 if quick else 1
    yield from writing(embed=vectors)
    yield from transcripts()
    yield from answering([size // part for size in SIZES[:3]], vectors)
    yield from designs(100_000 // part)
    yield from isolation(1_000, 100_000 // part)
    yield from prompts(10_000 // part)
    yield from conversations(10_000 // part)
    yield from nights(50_000 // part)
    yield from erasing(100_000 // part)
    yield from redacting(500_000 // part)
    yield from syncing(50_000 // part)
    yield from command_line(10_000 // part)
    yield from hooks(10_000 // part)
    yield from json_file(10_000 // part)
    yield from importing(100_000 // part)
    yield from growth([10_000 // part])


def _growth() -> Iterator[Measure]:
    yield from isolation(1_000, 500_000)
    yield from growth(SIZES)


def _table(measures: Sequence[Measure]) -> str:
    head = ("measure", "value", "promised", "in detail")
    rows = [(one.name, f"{one.value:,.2f} {one.unit}", one.promised, one.detail) for one in measures]
    return report.table(head, rows)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
