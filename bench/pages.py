"""`benchmarks.md` and `benchmarks.json`: written part by part, so that a short run does not wipe out a long one."""

import json
import math
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.sets import NAMES
from memorist import __version__

HEAD = """# Benchmarks

Written by `make bench`, `make bench-growth` and `make bench-peers`; every part tells when it was measured and with what.
Nothing here is set by hand.

How to read it: *any@k* is the share of questions with at least one piece of the evidence among the first k hits, *all@k* with
every piece, *rec@k* the mean share of the evidence, in percent, with 95 % bootstrap intervals over questions in brackets; *ours
ahead* is the difference question by question, so that its interval is that of the comparison. *tokens* is what the twenty hits
would cost a model, at four characters each. Times are CPU times of one thread. Beside us in the same run, on the same documents:
the newest first, the plain word search of SQLite (FTS5, any of the words), the built-in embedding alone, and plain ways to join
the two. memorist is asked through `remember_many`, `recall` and `context` only: once as it comes, where `limit` is a maximum and
what has no fair chance is left out, and once with that cut off (`min_relevance=0`), which fills all places as the plain ways
do; *ours ahead* compares the latter. The public sets are the parts of them that were kept for
development, so our own figures on them are those of a pupil who has seen the exercises; the sets are read from a folder and are
no part of this project.
"""
TITLES = {
    "quality": "## Finding the right things",
    "reliability": "## What a relevance means",
    "week": "## A week with a coding agent",
    "speed": "## Cost",
    "growth": "## Growth",
    "peers": "## Beside others",
}
ORDER = (*(f"quality {name}" for name in NAMES), "reliability", "week", "speed", "growth", "peers")


def about(embedder: str) -> dict[str, str]:
    """What was run, and when."""
    return {
        "memorist": __version__,
        "embedder": embedder,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def said(facts: Mapping[str, str]) -> str:
    return (
        f"memorist {facts['memorist']}, embedding {facts['embedder']}, Python {facts['python']} on {facts['machine']},"
        f" {facts['when']}."
    )


def keep(
    folder: Path, part: str, text: str, facts: Mapping[str, str], found: Mapping[str, Any] | Sequence[Any]
) -> None:
    """Puts a part in the place of what an earlier run said."""
    folder.mkdir(parents=True, exist_ok=True)
    data, page = folder / "benchmarks.json", folder / "benchmarks.md"
    whole: dict[str, Any] = json.loads(data.read_text(encoding="utf-8")) if data.exists() else {}
    whole[part] = {"about": dict(facts), "found": _rounded(found)}
    parts = _parts(page.read_text(encoding="utf-8")) if page.exists() else {}
    parts[part] = f"{text.strip()}\n\n{said(facts)}"
    data.write_text(json.dumps(whole, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(_page(parts), encoding="utf-8")


def _rounded(found: Any) -> Any:
    """Three decimals say all that there is to say, and what could not be computed is null."""
    if isinstance(found, float):
        return round(found, 3) if math.isfinite(found) else None
    if isinstance(found, Mapping):
        return {str(name): _rounded(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_rounded(value) for value in found]
    return found


def _parts(page: str) -> dict[str, str]:
    return dict(re.findall(r"<!-- part: (.+?) -->\n(.*?)\n<!-- end -->", page, flags=re.S))


def _page(parts: Mapping[str, str]) -> str:
    written, lines = set(), [HEAD]
    for part in (part for part in ORDER if part in parts):
        kind = part.partition(" ")[0]
        if kind not in written:
            lines.append(TITLES[kind] + "\n")
            written.add(kind)
        lines.append(f"<!-- part: {part} -->\n{parts[part]}\n<!-- end -->\n")
    return "\n".join(lines)
