"""Finds memories similar to a given one, by words and meaning together as for a query, but only among texts of its own layer.

There is no fixed cosine threshold: what 0.5 means differs from model to model and from shelf to shelf (W4-5). Instead the
blend estimates, for these shelves, how likely each memory is to matter. If that yields fewer than were requested, other
members of the memory's cluster fill up the list.
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

SUMMED = 50  # cluster members from which the centroid is computed
SEARCHED = {"memory": "memory", "turns": "sessions", "documents": "sources"}  # the `search=` value for each layer


@dataclass(frozen=True, slots=True)
class Whole:
    """Uses the whole text as the query, since nothing was pasted around it: computes its terms and its vectors."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        text = search.query[:LONGEST_QUERY]
        layers = {shelf.layer for shelf in search.shelves}
        told, late = tools.meaning.in_time(text[:LONGEST_MESSAGE], search.left(), layers)
        vectors = tuple((generation, vector) for generation, vector in told if vector.any())
        return search.but(terms=tuple(query_terms(text)), asked=Asked(text, vectors=vectors), note=late)


STAGES = (Whole(), Gather(), Blend(), Believed(), Suspect(), DropUnlikely(below=0.02, behind=4.0), KeepBest())


def similar(record: Record, limit: int, who: Access, homes: tuple[str, ...], design: Design, tools: Tools) -> list[Hit]:
    """The memories most similar to `record`: from the scopes a query reads by default or, if it lies outside them, from its
    own."""
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
    """Other members of the cluster, nearest to its centroid first, ranked after what was found. They share its subject,
    perhaps without sharing a word. Memories that nobody vouches for are left out."""
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
    """The members of the clusters that `record` is in, by number."""
    where, store = Where(who).also("state", "eq", "active"), tools.store
    heads = [link.b for link in store.links(where, [record.id], "in_cluster") if link.a == record.id]
    links = store.links(where, heads, "in_cluster") if heads else []
    linked = store.get(sorted({link.a for link in links}), where)
    return {each.number: each for each in linked if each.trust != "low" and not suspect(each)}
