"""server-memory, the memory of the Model Context Protocol's own servers: lines of entities and relations.

An entity is a memory of its kind, each observation of it a fact that names it, and a relation a fact and a link between two
entities. The file holds no times.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memorist.files.importers import Item, Values, label, storable
from memorist.records import Draft, Link, id_at

program = "server-memory"


def recognise(first: Sequence[Mapping[str, Any]]) -> bool:
    return bool(first) and all(_is_entity(line) or _is_relation(line) for line in first)


def read(values: Values) -> Iterator[Item]:
    for line in values:
        if _is_entity(line):
            yield from _entity(line)
        elif _is_relation(line):
            yield from _relation(line)


def _is_entity(line: Mapping[str, Any]) -> bool:
    named = isinstance(line.get("name"), str) and isinstance(line.get("entityType"), str)
    return line.get("type") == "entity" and named and isinstance(line.get("observations"), list)


def _is_relation(line: Mapping[str, Any]) -> bool:
    return line.get("type") == "relation" and all(isinstance(line.get(n), str) for n in ("from", "to", "relationType"))


def _entity(line: Mapping[str, Any]) -> Iterator[Draft]:
    name, kind, title = line["name"], line["entityType"], label(line["name"])
    tags = [tag] if (tag := label(kind)) else []
    yield Draft(storable(f"{name} ({kind})"), "entity", title=title, tags=tags, id=_id(name), data={"entity": kind})
    for said in line["observations"]:
        if isinstance(said, str) and said.strip():
            yield Draft(storable(f"{name}: {said}"), "fact", title=title, tags=tags)


def _relation(line: Mapping[str, Any]) -> Iterator[Item]:
    a, b, how = line["from"], line["to"], line["relationType"]
    yield Draft(storable(f"{a} {how.replace('_', ' ')} {b}"), "fact", title=label(a))
    yield Link(_id(a), _id(b), "relates_to", evidence=label(how))


def _id(name: str) -> str:
    return id_at(None, f"server-memory {name}")
