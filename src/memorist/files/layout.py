"""The founding document's folder of the associative design, as an export: JSON that people can read, one file for each idea.

    graph.json               nodes of all kinds by id, and the links between them
    projects/HASH.json       the memories of the project, named by what it is and not by where it lies
    global.json              those that hold everywhere
    embeddings/vectors.json  which model made the vectors, and how many memories wait for one
    clusters/clusters.json   what belongs together, by what upkeep found
    tags/tags.json           each tag, how many memories bear it, and which

It is written once, where nothing is yet, and not read back: `transfer.export` is what comes back whole. Only the project and what
is global is in it, as far as the access reads them, and nothing that was erased. Past texts and what was forgotten is there with
`active: false`. Everything is written a page at a time; ids alone are held.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memorist.access import GLOBAL
from memorist.errors import Invalid, unavailable
from memorist.files.transfer import paged
from memorist.kinds import MEMORY
from memorist.memory import Memory
from memorist.records import LIVING, Link, Record
from memorist.store.files import write_new
from memorist.store.nouns import parts
from memorist.store.open import noting_copy
from memorist.unseen import unseen

LAYOUT_PAGE = 250
LAYOUT_VERSION = 1
EDGE_NAMES = {
    "relates_to": "RelatesTo", "supersedes": "Supersedes", "contradicts": "Contradicts", "derived_from": "DerivedFrom",
    "in_cluster": "InCluster",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LaidOut:
    """The result: the folder, its files, and how many memories they hold."""

    folder: Path
    files: tuple[Path, ...]
    memories: int


@dataclass(slots=True)
class _Seen:
    """What was written so far: the ids of memories and of clusters, and who bears which tag."""

    memories: list[str] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    tags: dict[str, list[str]] = field(default_factory=dict)


def lay_out(memory: Memory, folder: str | Path) -> LaidOut:
    """Writes the folder, which must not exist yet; whole or not at all."""
    target, seen = Path(folder).expanduser(), _Seen()
    try:
        target.mkdir(mode=0o700, parents=False)
    except FileExistsError:
        raise Invalid(f"{target} is there already; name a new folder") from None
    except OSError as problem:
        raise unavailable(problem, str(target)) from problem
    try:
        files = list(_written(memory, target, seen))
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return LaidOut(target, tuple(files), len(seen.memories))


def _written(memory: Memory, target: Path, seen: _Seen) -> Iterator[Path]:
    here = memory.home
    project = f"projects/{hashlib.sha256(here.encode()).hexdigest()[:16]}.json"
    contents: tuple[tuple[str, Iterable[str]], ...] = (
        *([(project, _entries(memory, here, seen))] if here != GLOBAL else []),
        ("global.json", _entries(memory, GLOBAL, seen)),
        ("clusters/clusters.json", _clusters(memory, here, seen)),
        ("tags/tags.json", _tags(seen)),
        ("embeddings/vectors.json", _vectors(memory)),
        ("graph.json", _graph(memory, here, seen)),
    )
    for name, content in contents:
        file = target / name
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with noting_copy(memory._tools.store, file):
            write_new(file, content)
        yield file


# ---------------------------------------------------------------- the files


def _entries(memory: Memory, scope: str, seen: _Seen) -> Iterator[str]:
    def told() -> Iterator[tuple[str, Any]]:
        for record in paged(memory, {"scope": scope, "state": {"$in": LIVING}}, everything=True):
            if _is_memory(record, memory):
                seen.memories.append(record.id)
                for tag in record.tags if record.state == "active" else ():
                    seen.tags.setdefault(tag, []).append(record.id)
                yield record.id, entry(record)
            elif record.kind == "cluster" and record.state == "active":
                seen.clusters.append(record.id)

    yield from _document({"version": LAYOUT_VERSION, "scope": scope}, "memories", told())


def entry(record: Record) -> dict[str, Any]:
    """A memory in the founding document's own words."""
    said, times, counted = record.provenance, record.times, record.counters
    return {
        "number": record.number,
        "content": record.text,
        "title": record.title,
        "category": "negative" if record.kind == "warning" else record.kind,
        "scope": record.scope.split("/")[0],
        "session_id": said.session,
        "message_range": said.messages,
        "file_paths": record.files,
        "tags": record.tags,
        "provenance": {
            "source": record.origin, "actor": said.actor, "surface": said.surface, "context": said.snippet,
            "because": said.confidence_because,
        },
        "created_at": _iso(times.at),
        "updated_at": _iso(times.updated),
        "last_accessed": _iso(times.used),
        "valid_from": _iso(times.valid_from),
        "valid_to": _iso(times.valid_to),
        "access_count": counted.used,
        "strength": counted.strength,
        "confidence": record.confidence,
        "trust": record.trust,
        "confirmed": record.status == "confirmed",
        "season": record.season,
        "data": dict(record.data),
        "active": record.state == "active",
        "superseded_by": record.superseded_by,
    }  # fmt: skip


def _clusters(memory: Memory, scope: str, seen: _Seen) -> Iterator[str]:
    def told() -> Iterator[tuple[str, Any]]:
        for some in parts(seen.clusters, LAYOUT_PAGE):
            members: dict[str, list[str]] = {id: [] for id in some}
            for link in memory._links(some):
                if link.kind == "in_cluster" and link.b in members:
                    members[link.b].append(link.a)
            for head in memory.list({"id": {"$in": some}, "scope": {"$in": [scope, GLOBAL]}}, limit=LAYOUT_PAGE):
                yield head.id, {"centre": head.data.get("centre"), "members": sorted(members[head.id])}

    yield from _document({"version": LAYOUT_VERSION}, "clusters", told())


def _tags(seen: _Seen) -> Iterator[str]:
    tags = ((tag, {"count": len(ids), "memories": ids}) for tag, ids in sorted(seen.tags.items()))
    yield from _document({"version": LAYOUT_VERSION}, "tags", tags)


def _vectors(memory: Memory) -> Iterator[str]:
    models = (
        (str(each.id), {"model": each.model, "dimension": each.dimension, "state": each.state, "layers": each.layers})
        for each in memory._tools.store.generations()
    )
    yield from _document({"version": LAYOUT_VERSION, "waiting": memory.status()["rows_waiting"]}, "generations", models)


def _graph(memory: Memory, scope: str, seen: _Seen) -> Iterator[str]:
    """All nodes by what they are, and all edges: tags among them, as the founding document has it."""
    yield from _head({"version": LAYOUT_VERSION, "scope": scope, "written": memory._tools.clock().isoformat()})
    kinds = (("memory", seen.memories), ("cluster", seen.clusters), ("tag", seen.tags))
    nodes = ((f"tag:{each}" if kind == "tag" else each, kind) for kind, names in kinds for each in names)
    yield '  "nodes": {\n'
    yield from _joined(f"    {_json(name)}: {_json(kind)}" for name, kind in nodes)
    yield '\n  },\n  "edges": [\n'
    yield from _joined(f"    {_json(each)}" for each in _edges(memory, seen))
    yield "\n  ]\n}\n"


def _edges(memory: Memory, seen: _Seen) -> Iterator[dict[str, Any]]:
    nodes = {*seen.memories, *seen.clusters}
    for some in parts(seen.memories, LAYOUT_PAGE):
        ids = set(some)
        found = [link for link in memory._links(some) if link.a in ids and link.b in nodes]
        yield from map(_edge, sorted(found, key=lambda link: (link.a, link.b, link.kind)))
    for tag, bearers in sorted(seen.tags.items()):
        yield from ({"from": id, "to": f"tag:{tag}", "kind": "HasTag"} for id in bearers)


def _edge(link: Link) -> dict[str, Any]:
    told = {"from": link.a, "to": link.b, "kind": EDGE_NAMES[link.kind], "weight": link.weight}
    return told | ({"evidence": link.evidence} if link.evidence else {})


def _is_memory(record: Record, memory: Memory) -> bool:
    kind = memory._tools.kinds[record.kind]
    return kind.recalled and kind.layer == MEMORY


def _document(head: Mapping[str, Any], name: str, entries: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """A JSON object whose last value is an object of these."""
    yield from _head(head)
    yield f"  {_json(name)}: {{\n"
    yield from _joined(f"    {_json(key)}: {_json(value, 4)}" for key, value in entries)
    yield "\n  }\n}\n"


def _head(head: Mapping[str, Any]) -> Iterator[str]:
    yield "{\n"
    yield from (f"  {_json(key)}: {_json(value)},\n" for key, value in head.items())


def _joined(parts: Iterable[str]) -> Iterator[str]:
    for number, part in enumerate(parts):
        yield f",\n{part}" if number else part


def _json(value: Any, inside: int = 0) -> str:
    """As people read it: over lines where it stands inside of something, and what cannot be seen written out."""
    said = json.dumps(value, ensure_ascii=False, indent=2 if inside else None).replace("\n", "\n" + " " * inside)
    for hidden in unseen(said) - {"\n"}:
        said = said.replace(hidden, json.dumps(hidden)[1:-1])
    return said


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
