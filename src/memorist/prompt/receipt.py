"""What the recall log stores about a prompt, and how the prompt is shown again from it."""

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
    """What the recall log stores about a context: everything needed to show it again. `lanes`: the lane of each memory."""
    return {
        "text": context.text,
        "digest": digest_of(context.text),
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
    """The context of a receipt: the exact text that went into the prompt, with its memories as they are now."""
    scores, kept = dict(line.shown), line.rendered

    def hits(ids: Sequence[str]) -> tuple[Hit, ...]:
        return tuple(Hit(record, scores.get(record.id, 0.0)) for record in store.get(ids, where))

    if kept is None:
        because = "that was a recall; nothing was put into a prompt"
        return Context("", hits(list(scores)), receipt=line.id, empty_because=because)
    is_exact = digest_of(kept["text"]) == kept["digest"]  # redaction changed nothing in it
    altered = line.empty_because if is_exact else "a secret was removed from this text before it was kept"
    return Context(
        kept["text"], hits([id for id, _ in kept["items"]]), kept["tokens"], kept["budget"], kept["ratio"], line.id,
        tuple(kept["left_out"]), altered, kept["stable"], kept["lanes"], kept.get("fingerprint", {}),
    )  # fmt: skip


def fingerprint(query: str, **facts: Any) -> dict[str, Any]:
    """What kind of prompt it was, without its words. Prompts with the same hash can be compared by their outcomes."""
    facts["words"] = len(query_terms(query))
    return facts | {"hash": digest_of(json.dumps(facts))}


def digest_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
