"""What a context leaves behind: the exact text that went into a prompt, out of what, and what kind of prompt it was."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from memorist.records import Context, Hit
from memorist.store.nouns import Receipt
from memorist.store.protocol import Store
from memorist.store.where import Where
from memorist.text.words import query_terms


def rendered(context: Context, lanes: Mapping[str, str]) -> Mapping[str, Any]:
    """What the recall log keeps of a context: all that is needed to show it again. `lanes` says by which lane a memory came."""
    return {
        "text": context.text,
        "digest": _digest(context.text),
        "items": [[hit.record.id, lanes.get(hit.record.id, "")] for hit in context.items],
        "tokens": context.tokens,
        "budget": context.budget,
        "ratio": context.compression_ratio,
        "left_out": list(context.left_out),
        "stable": context.stable,
        "lanes": context.lanes,
        "fingerprint": context.fingerprint,
    }


def shown_again(line: Receipt, store: Store, where: Where) -> Context:
    """What a receipt stands for: the exact text that went into the prompt, and the memories in it as they are now."""
    scores = dict(line.shown)

    def hits(ids: Sequence[str]) -> tuple[Hit, ...]:
        return tuple(Hit(record, scores.get(record.id, 0.0)) for record in store.get(ids, where))

    kept = line.rendered
    if kept is None:
        because = "that was a recall; nothing was put into a prompt"
        return Context("", hits(list(scores)), receipt=line.id, empty_because=because)
    exact = _digest(kept["text"]) == kept["digest"]  # no rule for secrets has touched it since
    return Context(
        kept["text"],
        hits([id for id, _ in kept["items"]]),
        kept["tokens"],
        kept["budget"],
        kept["ratio"],
        line.id,
        tuple(kept["left_out"]),
        line.empty_because if exact else "a secret was taken out of this text before it was kept",
        kept["stable"],
        kept["lanes"],
        kept.get("fingerprint", {}),
    )


def fingerprint(query: str, **facts: Any) -> dict[str, Any]:
    """What kind of prompt it was, without its words: prompts of one hash can be compared by what became of them."""
    facts["words"] = len(query_terms(query))
    return facts | {"hash": _digest(json.dumps(facts))}


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
