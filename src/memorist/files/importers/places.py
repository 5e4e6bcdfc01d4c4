"""Where coding agents keep the transcripts of a project.

Without a path, only those of this project's folder are read, because a transcript of other work does not belong here.
Each agent records the folder in its own way: Claude Code in a folder's name, Codex in a transcript's first line, Gemini
as a digest of the path or in its own list. With a path, all transcripts below it are read, and nothing outside it.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from memorist.errors import Invalid
from memorist.files.importers import Values
from memorist.files.jsonl import parsed
from memorist.files.sources import Source, below, readable
from memorist.files.streams import Damaged, Stream

WHOLE = "name a folder or a file to import it whatever its project is"


def transcripts(client: str, path: Path | None, root: Path, home: Path) -> list[Source]:
    """The transcripts of that client below the path, or else those in its home that belong to the project in that
    folder."""
    files = _all(path, client) if path is not None else list(CLIENTS[client](root, home))
    if not files:
        where = readable(str(path or home))
        of = "" if path else f" of {readable(str(root))}"
        raise Invalid(f"{where} holds no transcripts of {client}{of}; {WHOLE}")
    return sorted(files, key=lambda source: source.path.name)


def passed_over(client: str, home: Path) -> str | None:
    """The note about packed transcripts in that home: only their content says which project they belong to."""
    packed = below(home, (".zst",)) if client == "codex" else []
    if not packed:
        return None
    what = "1 transcript is" if len(packed) == 1 else f"{len(packed):,} transcripts are"
    some = f"{packed[0].shown}{' and others' if len(packed) > 1 else ''}"
    return f"{what} packed, and not read: {some}; unpack those that you want, and import again"


def _all(path: Path, client: str) -> list[Source]:
    if path.is_file():
        return [Source(path, readable(path.name))]
    if not path.is_dir():
        raise Invalid(f"there is no folder {readable(str(path))}; name the transcripts of {client}, or their folder")
    # What sub-agents said is not part of the conversation. Packed files are reported as not read.
    return [
        source for source in below(path, (".jsonl", ".zst")) if "subagents" not in source.path.relative_to(path).parts
    ]


def _claude_code(root: Path, home: Path) -> Iterator[Source]:
    folder = home / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root))
    yield from (source for source in below(folder, (".jsonl",)) if source.path.parent == folder)


def _codex(root: Path, home: Path) -> Iterator[Source]:
    for source in below(home / "sessions", (".jsonl",)):
        first = next(iter(Values(Stream(source)).first()), {})
        payload = first.get("payload")
        folder = payload.get("cwd") if isinstance(payload, Mapping) else None
        if isinstance(folder, str) and Path(folder).is_relative_to(root):
            yield source


def _gemini(root: Path, home: Path) -> Iterator[Source]:
    names = {
        hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest(),
        _named(home / "projects.json", root),
    }
    for name in filter(None, names):
        yield from below(home / "tmp" / name / "chats", (".jsonl", ".json"))


def _named(file: Path, root: Path) -> str | None:
    """Gemini's name for that folder."""
    try:
        projects = parsed(file.read_bytes()[:1_000_000]).get("projects", {})
        name = projects.get(str(root))
    except (OSError, Damaged, AttributeError):
        return None
    return name if isinstance(name, str) and re.fullmatch(r"[\w.-]+", name) and name.strip(".") else None


CLIENTS: Mapping[str, Callable[[Path, Path], Iterator[Source]]] = {
    "claude-code": _claude_code, "codex": _codex, "gemini": _gemini,
}  # fmt: skip
