"""The short form of what was said, by rules."""

from collections.abc import Sequence

from memorist.records import Record
from memorist.text.tokens import TokenCounter


def summarise(turns: Sequence[Record], count_tokens: TokenCounter, most: int = 500) -> str:
    """These turns in no more than so many tokens."""
    said = [turn for turn in turns if turn.provenance.role in ("user", "assistant") and "call" not in turn.data]
    lines = [f"- {turn.provenance.role}: {turn.text[:200]}" for turn in said]
    while lines and count_tokens("\n".join(lines)) > most:
        lines.pop(0)
    return "\n".join([f"{len(turns)} turns.", *lines])
