"""The table of the peers for the docs: `python -m bench.peers.table WORK DOCS`, in memorist's own environment."""

import json
import sys
from pathlib import Path
from typing import Any

from bench import pages
from bench.report import table

ORDER = ("memorist", "floor", "lancedb", "mempalace", "chromadb", "langgraph", "mem0", "mcp-memory")
HEAD = (
    "", "rec@10", "all@10", "add one, 1k · 10k", "add many, each", "search, 1k · 10k", "resident MB", "bytes each", "reached",
)  # fmt: skip
ABOUT = """LoCoMo-dev turns ({questions} questions, {data}) and a text of our own for cost. Every peer runs in its own
environment, with no network and no model, and gets the same vectors ({embedder}) through a look-up, so what
differs is the search, not the embedding; memorist alone embeds inside the times shown. A turn is "speaker: text" to the peers;
memorist is told speaker and session as such, because it ranks by them. Its weights were fitted with this set among others, those
of the peers were not: the rows of the plain ways above and other sets say more about quality than this one. Costs are CPU
milliseconds over all threads (half of 60 questions took at most so long); waiting for the disk does not show in them. Adding many
goes by {batch} where the peer has such a call. A stage ends after {cap} seconds: the second of two numbers is at as many memories
as were *reached*. One run each: read a ratio under one and a half as none.
"""


def main() -> None:
    work, docs = Path(sys.argv[1]), Path(sys.argv[2])
    task = json.loads((work / "task.json").read_text(encoding="utf-8"))
    paths = [work / f"{name}.result.json" for name in ORDER]
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]
    missing = [name for name, path in zip(ORDER, paths, strict=True) if not path.exists()]
    facts = {"data": task["data"], "embedder": task["embedder"], "batch": 500, "cap": 120}
    lines = [ABOUT.format(questions=sum(len(s["questions"]) for s in task["shelves"]), **facts)]
    lines.append(table(HEAD, [_row(result) for result in found]))
    failed = [f"{r['peer']}: {part['failed']}" for r in found for part in (r["locomo"], r["scale"]) if "failed" in part]
    if failed or missing:
        lines.append(
            "\nCould not be run: " + "; ".join([*failed, *(f"{name} (not installed)" for name in missing)]) + "."
        )
    pages.keep(docs, "peers", "\n".join(lines), pages.about(task["embedder"]), found)


def _row(result: dict[str, Any]) -> list[str]:
    versions = " + ".join(f"{name} {version}" for name, version in result["versions"].items())
    name = result["peer"] if "bare" in result["peer"] else f"{result['peer']} ({versions})"
    quality, sizes = result["locomo"], result["scale"]
    if "failed" in sizes:
        return [name, *_quality(quality), *["–"] * (len(HEAD) - 3)]
    last = sizes[-1]
    return [
        name,
        *_quality(quality),
        _pair([row["add_one_ms"] for row in sizes]),
        f"{last['add_many_ms']:.2f}",
        _pair([row["search_ms"] for row in sizes]),
        f"{last['rss_mb']:.0f}",
        f"{last['bytes_each']:,.0f}",
        f"{last['reached']:,}",
    ]


def _quality(found: dict[str, Any]) -> list[str]:
    return ["–", "–"] if "failed" in found else [f"{found['rec@10']:.1f}", f"{found['all@10']:.1f}"]


def _pair(numbers: list[float]) -> str:
    return " · ".join(f"{number:.2f}" if number < 10 else f"{number:.0f}" for number in numbers)


if __name__ == "__main__":
    main()
