"""The table of the peers for the docs: `python -m bench.peers.table WORK DOCS`, in memorist's own environment."""

import json
import sys
from pathlib import Path
from typing import Any

from bench import pages
from bench.peers.common import asked_with
from bench.report import table

ORDER = ("memorist", "floor", "lancedb", "txtai", "mempalace", "chromadb", "langgraph", "mem0", "mcp-memory")
FOUND = {  # part → its title and what is shown of it
    "locomo": ("LoCoMo rec@10 · all@10", ("rec@10", "all@10")),
    "locomo, other": ("with MiniLM", ("rec@10", "all@10")),
    "notes": ("notes any@1 · any@3 · rec@5", ("any@1", "any@3", "rec@5")),
    "notes, other": ("with MiniLM", ("any@1", "any@3", "rec@5")),
}
COSTS = ("add one, 1k · 10k", "add many, each", "search, 1k · 10k", "resident MB", "bytes each", "reached")
ABOUT = """LoCoMo-dev turns ({locomo}), notes-dev ({notes}), and a text of our own for cost. Every peer runs in its own
environment, with no network and no model, and gets the same vectors ({embedders}) through a look-up, so what
differs is the search, not the embedding; memorist alone embeds inside the times shown, by turns with the model that it has for
them. A turn is "speaker: text" to the peers; memorist is told speaker and session as such, because it ranks by them, and is asked
with the cut off. Its weights were fitted with these sets among others, those of the peers were not: the rows of the plain ways
above and other sets say more about quality than this one. Costs are CPU milliseconds over all threads (half of 60 questions took
at most so long); waiting for the disk does not show in them. Adding many goes by {batch} where the peer has such a call. A stage
ends after {cap} seconds: the second of two numbers is at as many memories as were *reached*. One run each: read a ratio under one
and a half as none.
"""


def main() -> None:
    work, docs = Path(sys.argv[1]), Path(sys.argv[2])
    task = json.loads((work / "task.json").read_text(encoding="utf-8"))
    paths = [work / f"{name}.result.json" for name in ORDER]
    known = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]
    found = [result for result in known if result.get("given") == asked_with(task)]
    missing = [f"{name} (not installed)" for name, path in zip(ORDER, paths, strict=True) if not path.exists()]
    missing += [f"{result['peer']} (only with other vectors or questions)" for result in known if result not in found]
    shown = [part for part in FOUND if any(part in result for result in found)]
    facts = {name: _asked(task[name]) for name in ("locomo", "notes")} | {"batch": 500, "cap": 120}
    embedders = task["embedders"]
    lines = [ABOUT.format(embedders=", then ".join(embedders.values()), **facts)]
    lines.append(table(["", *(FOUND[part][0] for part in shown), *COSTS], [_row(result, shown) for result in found]))
    failed = [f"{r['peer']}, {part}: {r[part]['failed']}" for r in found for part in r if "failed" in r[part]]
    if failed or missing:
        lines.append("\nCould not be run: " + "; ".join([*failed, *missing]) + ".")
    pages.keep(docs, "peers", "\n".join(lines), pages.about(embedders["ours"]), found)


def _asked(given: dict[str, Any]) -> str:
    return f"{sum(len(shelf['questions']) for shelf in given['shelves'])} questions, {given['data']}"


def _row(result: dict[str, Any], shown: list[str]) -> list[str]:
    versions = " + ".join(f"{name} {version}" for name, version in result["versions"].items())
    name = result["peer"] if "bare" in result["peer"] else f"{result['peer']} ({versions})"
    return [name, *(_quality(result.get(part, {}), FOUND[part][1]) for part in shown), *_costs(result["scale"])]


def _costs(sizes: Any) -> list[str]:
    if "failed" in sizes:
        return ["–"] * len(COSTS)
    last = sizes[-1]
    return [
        _pair([row["add_one_ms"] for row in sizes]),
        f"{last['add_many_ms']:.2f}",
        _pair([row["search_ms"] for row in sizes]),
        f"{last['rss_mb']:.0f}",
        f"{last['bytes_each']:,.0f}",
        f"{last['reached']:,}",
    ]


def _quality(found: dict[str, Any], names: tuple[str, ...]) -> str:
    return " · ".join(f"{found[name]:.1f}" for name in names) if names[0] in found else "–"


def _pair(numbers: list[float]) -> str:
    return " · ".join(f"{number:.2f}" if number < 10 else f"{number:.0f}" for number in numbers)


if __name__ == "__main__":
    main()
