"""Vectors for the plain ways to search that run beside us, from the embedder that memorist itself would use."""

from collections.abc import Sequence

from memorist import errors
from memorist.bench.baselines import Embed, Vectors


def vectors_of(embed: str | None) -> tuple[Embed | None, str]:
    """A function from texts to vectors and the name of the embedder; none when there is no embedder."""
    try:
        from memorist.models.embed import checked, chosen

        embedder = chosen(embed or "static", lambda _: None).make()
    except (ImportError, OSError, errors.MemoristError):
        return None, "none"
    if embedder is None:
        return None, "none"

    def vectors(texts: Sequence[str]) -> Vectors:
        return checked(embedder, texts)

    return vectors, embedder.name
