"""Finds memories similar to a given one, by words and meaning together as for a query, but only among texts of its own layer.

There is no fixed cosine threshold: what 0.5 means differs from model to model and from store to store (W4-5). Instead the
blend estimates how likely each memory is to matter.
"""

from dataclasses import dataclass, replace

from memorist.access import Access
from memorist.design import Design, Tools
from memorist.kinds import MEMORY
from memorist.recall.pipeline import Query, Search, answer
from memorist.recall.scopes import scopes_of
from memorist.recall.stages.blend import Blend
from memorist.recall.stages.gather import LONGEST_MESSAGE, Gather
from memorist.recall.stages.keep import Believed, DropUnlikely, KeepBest
from memorist.recall.stages.weigh import Suspect
from memorist.records import Hit, Record
from memorist.text.words import LONGEST_QUERY, query_terms

SEARCHED = {"memory": "memory", "turns": "sessions", "documents": "sources"}  # the `search=` value for each layer


@dataclass(frozen=True, slots=True)
class Whole:
    """Uses the whole text as the query, since nothing was pasted around it: computes its terms and its vectors."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        text, layers = search.query[:LONGEST_QUERY], {shelf.layer for shelf in search.shelves}
        vectors, note = tools.meaning.in_time(text[:LONGEST_MESSAGE], search.left(), layers)
        known = tuple((generation, vector) for generation, vector in vectors if vector.any())
        return search.but(terms=tuple(query_terms(text)), said=text, vectors=known, note=note)


STAGES = (Whole(), Gather(), Blend(), Believed(), Suspect(), DropUnlikely(behind=4.0, below=0.02), KeepBest())


def similar(record: Record, limit: int, who: Access, homes: tuple[str, ...], design: Design, tools: Tools) -> list[Hit]:
    """The memories most similar to `record`: from the scopes a query reads by default or, if it lies outside them, from its
    own."""
    layer = tools.kinds[record.kind].layer
    kinds = [kind.name for kind in tools.kinds.values() if kind.layer == layer and (kind.recalled or layer != MEMORY)]
    kinds = list(dict.fromkeys((*kinds, record.kind)))
    text = f"{record.title}\n{record.text}" if record.title else record.text
    query = Query(text, limit, SEARCHED.get(layer, "all"), kinds=kinds, where={"id": {"$ne": record.id}})
    if record.scope not in scopes_of(query, who, homes, design, tools.store):
        query = replace(query, scope=record.scope)
    return list(answer(query, who, homes, replace(design, recall=STAGES), tools)[0].hits)
