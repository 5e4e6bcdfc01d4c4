"""What is like a memory: by words and by meaning together, as a question is answered, and of one kind of text.

There is no floor for a cosine: what 0.5 means differs from model to model and from shelf to shelf (W4-5). The blend says how
likely each is to matter beside the text, on these shelves. Where that finds fewer than were asked for, the rest of
its cluster follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memorist.access import Access
from memorist.design import Design, Tools
from memorist.kinds import MEMORY
from memorist.recall.pipeline import Asked, Query, Search, answer, scopes_of
from memorist.recall.stages.blend import Blend
from memorist.recall.stages.gather import LONGEST_MESSAGE, Gather
from memorist.recall.stages.keep import Believed, DropUnlikely, KeepBest
from memorist.recall.stages.weigh import Suspect
from memorist.records import Hit, Record
from memorist.store.nouns import shelf_of
from memorist.store.where import Where
from memorist.text.injection import suspect
from memorist.text.words import LONGEST_QUERY, query_terms

SUMMED = 50  # members that the centroid of a cluster is made of
SEARCHED = {"memory": "memory", "turns": "sessions", "documents": "sources"}  # where one looks for each layer


@dataclass(frozen=True, slots=True)
class Whole:
    """Takes a text as it is, for nothing in it was pasted around a question: its terms, and what it means."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        text = search.query[:LONGEST_QUERY]
        layers = {shelf.layer for shelf in search.shelves}
        told, late = tools.meaning.in_time(text[:LONGEST_MESSAGE], search.left(), layers)
        vectors = tuple((generation, vector) for generation, vector in told if vector.any())
        return search.but(terms=tuple(query_terms(text)), asked=Asked(text, vectors=vectors), note=late)


STAGES = (Whole(), Gather(), Blend(), Believed(), Suspect(), DropUnlikely(below=0.02, behind=4.0), KeepBest())


def similar(record: Record, limit: int, who: Access, homes: tuple[str, ...], design: Design, tools: Tools) -> list[Hit]:
    """The memories that are most like it, in the scopes that a question reads, or else in its own."""
    layer = tools.kinds[record.kind].layer
    kinds = [kind.name for kind in tools.kinds.values() if kind.layer == layer and (kind.recalled or layer != MEMORY)]
    text = f"{record.title}\n{record.text}" if record.title else record.text
    wanted = kinds if record.kind in kinds else [*kinds, record.kind]
    asked = Query(text, limit, SEARCHED.get(layer, "all"), kinds=wanted, where={"id": {"$ne": record.id}})
    usual = scopes_of(asked, who, homes, design, tools.store)
    asked = asked if record.scope in usual else replace(asked, scope=record.scope)
    found = list(answer(asked, who, homes, replace(design, recall=STAGES), tools)[0].hits)
    return found if len(found) >= limit else [*found, *_from_cluster(record, found, limit - len(found), who, tools)]


def _from_cluster(record: Record, found: Sequence[Hit], limit: int, who: Access, tools: Tools) -> list[Hit]:
    """The other members of its cluster, nearest to its centroid first, behind what was found: they share a subject with it, and
    perhaps no word. What nobody vouches for is not brought along."""
    members = _members(record, who, tools)
    cosines: dict[int, float] = {}
    for generation in tools.meaning.living():
        shelves = generation.fitting({shelf_of(each) for each in members.values()})
        cosines |= tools.store.similarities(generation.id, list(members)[:SUMMED], shelves, list(members))
    known = {record.number, *(hit.record.number for hit in found)}
    others = sorted(cosines.keys() - known, key=lambda number: (-cosines[number], number))
    least = min((hit.score for hit in found), default=1.0)
    why = {number: {"behind": least, "cluster": cosines[number]} for number in others[:limit]}
    return [Hit(members[number], least * cosines[number], told) for number, told in why.items()]


def _members(record: Record, who: Access, tools: Tools) -> dict[int, Record]:
    """What is in a cluster with it, by number."""
    where, store = Where(who).also("state", "eq", "active"), tools.store
    heads = [link.b for link in store.links(where, [record.id], "in_cluster") if link.a == record.id]
    links = store.links(where, heads, "in_cluster") if heads else []
    linked = store.get(sorted({link.a for link in links}), where)
    return {each.number: each for each in linked if each.trust != "low" and not suspect(each)}
