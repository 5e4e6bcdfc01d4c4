"""The tools of the protocol's own memory server, a graph of entities, on top of memories: the profile `graph`.

An entity is a memory of that kind whose title is its name. An observation is a fact with the same title whose text
begins with the name; the importer of that server's files makes the same (`files/importers/server_memory.py`). A
relation is a link between two entities, and its types are the link's evidence. To delete is to forget, so a person can
restore it; memories from a more trusted source are not deleted, and `notes` says so. Answers are bounded, and say how
to get the rest.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

from memorist import checks
from memorist.errors import Invalid
from memorist.memory import Memory
from memorist.records import Link, Outcome, Record, Report
from memorist.store.nouns import parts
from memorist.surfaces.mcp.shapes import doubts, lean
from memorist.text.visible import quoted, visible

MOST_ENTITIES = 100  # entities in one answer
MOST_OBSERVED = 1000  # observations in one answer
BY_WORDS = 10  # entities found by words, at most
MOST_SCANNED = 5000  # the newest entities and the newest observations that a search looks at
MOST_GIVEN = 100  # entries in one call
TYPE_BREAK = "; "  # separates the relation types between the same two entities
OF_ENTITY = "observation"  # the evidence that ties an observation to its entity
NEW_NODE = ("added", "restored")
NOT_WANTED = "deleted from the graph"
NO_ENTITY = "Entity with name {} not found; create_entities makes it"
LEFT_OUT = "{} more are left out; search_nodes or open_nodes shows them"


def create_entities(memory: Memory, entities: Any) -> dict[str, Any]:
    """Creates the new ones and returns them; an existing name stays as it is."""
    made, notes = list[dict[str, Any]](), list[str]()
    for each in _objects(entities, "entities", "name", "entityType"):
        name, kind = each["name"], each["entityType"]
        said = _texts(each.get("observations", []), "observations")
        if _entities(memory, [name]):
            continue
        data = {"entity": kind}
        done = memory.remember(f"{name} ({kind})", kind="entity", title=name, tags=[kind], data=data)
        if not _noted(done, NEW_NODE, notes):
            continue
        kept = _observe(memory, name, kind, said, notes)
        made.append({"name": name, "entityType": kind, "observations": kept})
    return {"entities": made, "notes": notes}


def create_relations(memory: Memory, relations: Any) -> dict[str, Any]:
    """Creates the new ones and returns them."""
    made, notes = list[dict[str, Any]](), list[str]()
    for each in _objects(relations, "relations", "from", "to", "relationType"):
        a, b, how = _must_find(memory, each["from"]), _must_find(memory, each["to"]), each["relationType"]
        if TYPE_BREAK.strip() in how:
            raise Invalid(
                f"a relation type cannot hold {TYPE_BREAK.strip()!r}, as {quoted(how)} does; give one at a time"
            )
        link = _between(memory, a, b)
        if link is not None and how in _types(link):
            continue
        done = memory.link(a.id, b.id, evidence=TYPE_BREAK.join([*(_types(link) if link else ()), how]))
        if _noted(done, ("changed",), notes):
            made.append({"from": each["from"], "to": each["to"], "relationType": how})
    return {"relations": made, "notes": notes}


def add_observations(memory: Memory, observations: Any) -> dict[str, Any]:
    results, notes = list[dict[str, Any]](), list[str]()
    for each in _objects(observations, "observations", "entityName"):
        entity = _must_find(memory, each["entityName"])
        said = _texts(each.get("contents"), "contents")
        kept = _observe(memory, each["entityName"], _type(entity), said, notes)
        results.append({"entityName": each["entityName"], "addedObservations": kept})
    return {"results": results, "notes": notes}


def delete_entities(memory: Memory, entityNames: Any) -> dict[str, Any]:
    """Deletes entities, their observations and so their relations."""
    return _deleted("entities", _forgotten(memory, _of_entities(memory, entityNames)))


def delete_observations(memory: Memory, deletions: Any) -> dict[str, Any]:
    return _deleted("observations", _forgotten(memory, _of_observations(memory, deletions)))


def delete_relations(memory: Memory, relations: Any) -> dict[str, Any]:
    notes = list[str]()
    for each in _objects(relations, "relations", "from", "to", "relationType"):
        link = _named(memory, each)
        if link is None:
            continue
        left = [how for how in _types(link) if how != each["relationType"]]
        done = memory.link(link.a, link.b, weight=link.weight, evidence=TYPE_BREAK.join(left)) if left else None
        _noted(done or memory.unlink(link.a, link.b), ("changed",), notes)
    return _deleted("relations", notes)


def read_graph(memory: Memory) -> dict[str, Any]:
    return _graph(memory, _entities(memory, limit=MOST_ENTITIES), memory.count(_entity(memory)), within=True)


def search_nodes(memory: Memory, query: Any) -> dict[str, Any]:
    """Entities whose name, type or observations contain that text, ignoring case; if there are none, those found by its
    words."""
    if not isinstance(query, str):
        raise Invalid(f"query must be a text, not {quoted(query)}")
    entities = {str(each.title): each for each in _entities(memory, limit=MOST_SCANNED)}
    found = [
        entities[name] for name in _holding(memory, query.casefold(), entities) or _by_words(memory, query, entities)
    ]
    return _graph(memory, found[:MOST_ENTITIES], len(found))


def _holding(memory: Memory, wanted: str, entities: Mapping[str, Record]) -> list[str]:
    """The names of the entities that have the text in their name, type or observations."""
    named = [name for name, each in entities.items() if wanted in f"{name}\0{_type(each)}".casefold()]
    seen = _observations(memory, limit=MOST_SCANNED)
    told = [str(each.title) for each in seen if wanted in _said(each).casefold() and each.title in entities]
    return list(dict.fromkeys((*named, *told)))


def _by_words(memory: Memory, query: str, entities: Mapping[str, Record]) -> list[str]:
    hits = memory.recall(query, kinds=["entity", "fact"], scope=memory.home, limit=BY_WORDS)
    return list(dict.fromkeys(str(hit.record.title) for hit in hits if hit.record.title in entities))


def open_nodes(memory: Memory, names: Any) -> dict[str, Any]:
    found = _entities(memory, _texts(names, "names"))
    return _graph(memory, found[:MOST_ENTITIES], len(found))


GRAPH_TOOLS: Mapping[str, Callable[..., dict[str, Any]]] = MappingProxyType(
    {
        tool.__name__: tool
        for tool in (
            create_entities, create_relations, add_observations, delete_entities, delete_observations, delete_relations,
            read_graph, search_nodes, open_nodes,
        )
    }
)  # fmt: skip


# ---------------------------------------------------------------- what a deletion is about


def _of_entities(memory: Memory, entityNames: Any) -> list[Record]:
    names = _texts(entityNames, "entityNames")
    return [*_entities(memory, names), *_observations(memory, names)]


def _of_observations(memory: Memory, deletions: Any) -> list[Record]:
    found = dict[str, Record]()
    for each in _objects(deletions, "deletions", "entityName"):
        said = set(_texts(each.get("observations"), "observations"))
        found |= {record.id: record for record in _observations(memory, [each["entityName"]]) if _said(record) in said}
    return [*found.values()]


def _of_relations(memory: Memory, relations: Any) -> list[Record]:
    """The ends of the relations that are there."""
    named = _objects(relations, "relations", "from", "to", "relationType")
    links = [link for each in named if (link := _named(memory, each)) is not None]
    return _living(memory, sorted({end for link in links for end in (link.a, link.b)}))


def _named(memory: Memory, relation: Mapping[str, Any]) -> Link | None:
    """The link that holds a relation of these names and this type."""
    a, b = (_entities(memory, [relation[end]]) for end in ("from", "to"))
    link = _between(memory, a[0], b[0]) if a and b else None
    return link if link is not None and relation["relationType"] in _types(link) else None


CONCERNED: Mapping[str, Callable[..., list[Record]]] = MappingProxyType(
    {"delete_entities": _of_entities, "delete_observations": _of_observations, "delete_relations": _of_relations}
)  # the memories that a deletion with these arguments would change


# ---------------------------------------------------------------- reading


def _entity(memory: Memory) -> dict[str, Any]:
    return {"kind": "entity", "scope": memory.home}


def _entities(memory: Memory, names: Sequence[str] | None = None, limit: int = MOST_SCANNED) -> list[Record]:
    """Entities with these names, or the latest; should two share a name, the oldest counts."""
    found = _titled(memory, "entity", names, limit)
    return list({record.title: record for record in found if record.title}.values())


def _observations(memory: Memory, names: Sequence[str] | None = None, limit: int = MOST_SCANNED) -> list[Record]:
    """The observations of these entities, or of all, oldest first."""
    found = reversed(_titled(memory, "fact", names, limit))
    return [record for record in found if record.title and record.text.startswith(f"{record.title}: ")]


def _titled(memory: Memory, kind: str, names: Sequence[str] | None, limit: int) -> list[Record]:
    if names is None:
        return memory.list({"kind": kind, "scope": memory.home}, limit=limit)
    return memory.list({"kind": kind, "scope": memory.home, "title": {"$in": [*names]}}, limit=limit) if names else []


def _said(record: Record) -> str:
    return record.text.removeprefix(f"{record.title}: ")


def _type(record: Record) -> str:
    kind = record.data.get("entity")
    return kind if isinstance(kind, str) else next(iter(record.tags), "entity")


def _must_find(memory: Memory, name: str) -> Record:
    found = _entities(memory, [name])
    if not found:
        raise Invalid(NO_ENTITY.format(visible(name)[:80]))
    return found[0]


def _types(link: Link) -> list[str]:
    return (link.evidence or "relates_to").split(TYPE_BREAK)


def _between(memory: Memory, a: Record, b: Record) -> Link | None:
    return next(
        (link for link in memory.links(a.id) if (link.a, link.b, link.kind) == (a.id, b.id, "relates_to")), None
    )


def _graph(memory: Memory, found: Sequence[Record], total: int, within: bool = False) -> dict[str, Any]:
    """These entities and their relations: to any other entity, or only among them."""
    told = defaultdict[str, list[Record]](list)
    for record in _observations(memory, [str(each.title) for each in found], MOST_OBSERVED):
        told[str(record.title)].append(record)
    notes = [LEFT_OUT.format(f"{total - len(found):,} entities")] if total > len(found) else []
    return {
        "entities": [_node(each, told[str(each.title)]) for each in found],
        "relations": _relations(memory, {each.id: str(each.title) for each in found}, within),
        "notes": notes,
    }


def _relations(memory: Memory, shown: Mapping[str, str], within: bool) -> list[dict[str, str]]:
    """Relations by the names of their ends, one entry for each type."""
    links = sorted(memory._links(sorted(shown)), key=lambda link: (link.a, link.b)) if shown else []
    ends = {end for link in links for end in (link.a, link.b)}
    others = [] if within else _living(memory, sorted(ends - shown.keys()))
    names = {**shown, **{each.id: str(each.title) for each in others}}
    told = (relation for link in links if link.kind == "relates_to" for relation in _told(link, names))
    return list(islice(told, MOST_OBSERVED))


def _told(link: Link, names: Mapping[str, str]) -> Iterator[dict[str, str]]:
    if link.a in names and link.b in names:
        ends = {"from": visible(names[link.a]), "to": visible(names[link.b])}
        yield from ({**ends, "relationType": visible(how)} for how in _types(link))


def _living(memory: Memory, ids: Sequence[str]) -> list[Record]:
    """The existing entities among these names."""
    some = parts(ids, MOST_GIVEN)
    return [record for each in some for record in memory.list({**_entity(memory), "id": {"$in": [*each]}})]


def _node(entity: Record, observed: Sequence[Record]) -> dict[str, Any]:
    doubted = [{"observation": visible(_said(each)), "because": why} for each in observed if (why := doubts(each))]
    node = {"name": visible(str(entity.title)), "entityType": visible(_type(entity))}
    return {**node, "observations": [visible(_said(each)) for each in observed], **lean({"doubts": doubted})}


# ---------------------------------------------------------------- writing


def _observe(memory: Memory, name: str, kind: str, said: Sequence[str], notes: list[str]) -> list[str]:
    """Stores observations, each tied to its entity. → those that are new"""
    entity, kept = _must_find(memory, name), list[str]()
    known = {_said(record) for record in _observations(memory, [name])}
    for text in dict.fromkeys(said):
        if text in known:
            continue
        done = memory.remember(f"{name}: {text}", title=name, tags=[kind])
        if _noted(done, NEW_NODE, notes) and done.id is not None:
            memory.link(entity.id, done.id, "relates_to", evidence=OF_ENTITY)
            kept.append(text)
    return kept


def _forgotten(memory: Memory, records: Iterable[Record]) -> list[str]:
    """Forgets these. → why some are left"""
    notes = list[str]()
    for record in records:
        _noted(memory.forget(record.id, because=NOT_WANTED), ("changed", "forgotten"), notes)
    return notes


def _noted(done: Outcome | Report, wanted: Sequence[str], notes: list[str]) -> bool:
    """Whether it was done; if not, notes the reason."""
    assert isinstance(done, Outcome)
    if done.outcome in wanted:
        return True
    notes.append(f"{done.outcome}: {visible(done.because)}")
    return False


def _deleted(what: str, notes: list[str]) -> dict[str, Any]:
    message = f"{what.capitalize()} deleted; a person can restore them" if not notes else "Some are left; notes say why"
    return {"success": not notes, "message": message, "notes": notes}


# ---------------------------------------------------------------- what was given


def _objects(given: Any, what: str, *needed: str) -> list[dict[str, Any]]:
    """A bounded list of objects with these texts."""
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise Invalid(f"{what} must be a list of objects with {', '.join(needed)}, not {quoted(given)}")
    _must_be_few(given, what)
    for each in given:
        for name in needed:
            checks.label(each.get(name), f"{name} in {what}")
    return given


def _texts(given: Any, what: str) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise Invalid(f"{what} must be a list of texts, not {quoted(given)}")
    _must_be_few(given, what)
    return given


def _must_be_few(given: Sequence[Any], what: str) -> None:
    if len(given) > MOST_GIVEN:
        raise Invalid(f"{len(given):,} {what} were given; {MOST_GIVEN} are taken at once: give them in parts")
