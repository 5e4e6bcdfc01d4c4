"""The reader: a small cross-encoder that answers two questions about English text.

    statements(texts)   is this sentence worth keeping in later weeks, and what kind of memory is it?
    relations(pairs)    what does a newer text do to an older one: the same, replaces it, unsure, both hold, other

It reads `[CLS] older [SEP] newer [SEP]`, or one sentence, through three attention layers; a token that also stands on the other
side is marked. It was trained on lines written for this project (`tools/make_reader`), where the error that each bar buys is
measured on writers it never saw. For other languages it is seldom sure, so its bars are not reached. Weights are signed bytes
with a scale per row, read on first use; importing this module imports no numpy.
"""

import logging
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from memorist.errors import ModelUnavailable
from memorist.fork import inside
from memorist.models.embed import FOLDER, loaded_table

if TYPE_CHECKING:
    from memorist.models.embed import Floats

KINDS = ("decision", "convention", "preference", "warning", "procedure", "correction", "error", "fact", "none")
SIDE, ALONE = 44, 64  # tokens that are read of each text of a pair, and of a sentence alone
READ_AT_MOST = 2000  # characters of a text that are cut into tokens
CACHED = 4096  # verdicts
TOGETHER = 16  # sequences of like length in one product
CLS, SEP = 101, 102
HEADS = 12

# Bars, each with what it buys on writers that were kept aside (tools/make_reader/README.md).
KEEP = 0.5  # worth keeping: 91 % kept, 2 % false
RETIRE, FLAG = 0.96, 0.92  # replaces: 28 % found at 1 % false, 46 at 4
ORDER = 0.4  # replaces, where a question brings both: notes-dev's outdated first 18.6 % at .6, 14.0 at .5, 10.5 at .4
# replaces, of texts that are the same but for one value: from SOME on a flag; from SURE on it retires the older one, if it says
# that it is so now, and a number that may be part of a name is flagged.
SOME, SURE = 0.2, 0.6
ASKED = 3  # near memories of a new one


class Worth(NamedTuple):
    """What a sentence is: how likely it is worth keeping, and the kind it would have."""

    worth: float
    kind: str


class Relation(NamedTuple):
    """The probabilities of what a newer text does to an older one."""

    same: float
    replaces: float
    unsure: float
    both: float
    other: float


_statements: dict[str, Worth] = {}
_relations: dict[tuple[str, str], Relation] = {}


def statements(texts: Sequence[str]) -> list[Worth]:
    """What each of these sentences is.

    >>> [found.worth >= KEEP for found in statements(["We decided to use Postgres 16 for billing.", "ok, go on"])]
    [True, False]
    """
    found: dict[str, Any] = {text: _statements.get(text) for text in texts}  # another thread may empty the cache
    new = [text for text, verdict in found.items() if verdict is None]
    rows = [[CLS, *_tokens(text)[:ALONE], SEP] for text in new]
    for text, chances in zip(new, _read([(row, None) for row in rows], "kind"), strict=True):
        best = max(range(len(KINDS) - 1), key=chances.__getitem__)
        found[text] = _remember(_statements, text, Worth(1 - chances[-1], KINDS[best]))
    return [found[text] for text in texts]


def relations(pairs: Sequence[tuple[str, str]]) -> list[Relation]:
    """What the newer text of each pair (older, newer) does to the older one.

    >>> [verdict] = relations([("Staging runs Postgres 15", "we moved staging to Postgres 17 yesterday")])
    >>> max(verdict._asdict(), key=verdict._asdict().get)
    'replaces'
    """
    found: dict[tuple[str, str], Any] = {pair: _relations.get(pair) for pair in pairs}
    new = [pair for pair, verdict in found.items() if verdict is None]
    rows = []
    for older, newer in new:
        one, two = _tokens(older)[:SIDE], _tokens(newer)[:SIDE]
        rows.append(([CLS, *one, SEP, *two, SEP], len(one) + 2))
    for pair, chances in zip(new, _read(rows, "relation"), strict=True):
        found[pair] = _remember(_relations, pair, Relation(*chances))
    return [found[pair] for pair in pairs]


@cache
def problem() -> str | None:
    """Why the reader cannot be asked; None if it can. Words and meaning work without it."""
    try:
        _read([([CLS, SEP], None)], "kind")
    except ModelUnavailable as missing:
        logging.getLogger("memorist").warning("%s", missing)
        return str(missing)
    return None


def _remember(cache: dict[Any, Any], key: Any, verdict: Any) -> Any:
    if len(cache) >= CACHED:
        cache.clear()
    cache[key] = verdict
    return verdict


def _tokens(text: str) -> list[int]:
    return loaded_table().tokens.ids(text[:READ_AT_MOST])


@cache
def _threads() -> Any:
    """Limits the threads of the linear algebra library: for products of this size they cost thirty times what they save."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _weights() -> "tuple[Floats, Floats, dict[str, Floats]]":
    """The rows of the words, which are bytes and scaled when they are used; their scales; and all other parts, by name."""
    from zipfile import BadZipFile

    import numpy as np

    try:
        words = np.load(FOLDER / "reader.words.npy", mmap_mode="r")
        stored = dict(np.load(FOLDER / "reader.npz"))
        parts = {
            name: values.astype(np.float32) * stored.get(f"{name}:scale", np.float32(1)).astype(np.float32)
            for name, values in stored.items()
            if not name.endswith(":scale")
        }
        return words, parts.pop("scales"), parts
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as problem:
        raise ModelUnavailable("the reader's weights are missing or damaged; reinstall memorist") from problem


def _read(rows: Sequence[tuple[list[int], int | None]], head: str) -> list[list[float]]:
    """The probabilities of a head for each sequence; for a pair, the place where its second side begins."""
    found: list[list[float]] = [[] for _ in rows]
    _weights()  # loads numpy's libraries before their threads are counted
    order = sorted(range(len(rows)), key=lambda place: len(rows[place][0]))
    for start in range(0, len(order), TOGETHER):
        some = order[start : start + TOGETHER]
        with inside, _threads().limit(limits=1, user_api="blas"):
            for place, chances in zip(some, _chances([rows[place] for place in some], head), strict=True):
                found[place] = chances
    return found


def _chances(rows: Sequence[tuple[list[int], int | None]], head: str) -> list[list[float]]:
    import numpy as np

    words, scales, part = _weights()
    many, longest = len(rows), max(len(ids) for ids, _ in rows)
    ids = np.zeros((many, longest), np.int64)
    sides, shared = np.zeros_like(ids), np.zeros_like(ids)
    for row, (tokens, second) in enumerate(rows):
        ids[row, : len(tokens)] = tokens
        if second is not None:
            sides[row, second : len(tokens)] = 1
            both = {*tokens[1 : second - 1]} & {*tokens[second:-1]}
            shared[row, : len(tokens)] = [token in both for token in tokens]
    seen = ids > 0
    hidden = np.where(seen, np.float32(0), np.float32(-1e9))[:, None, None, :]
    x = words[ids].astype(np.float32) * scales[ids]
    x += part["places"][:longest] + part["sides"][sides] + part["shared"][shared]
    x = _normed(x, part["norm.weight"], part["norm.bias"])
    width = x.shape[-1]
    for layer in range(sum(name.endswith("qkv.weight") for name in part)):
        at = f"layers.{layer}."

        def weigh(given: "Floats", name: str, at: str = at) -> "Floats":
            flat: Floats = given.reshape(-1, given.shape[-1]) @ part[f"{at}{name}.weight"].T + part[f"{at}{name}.bias"]
            return flat.reshape(*given.shape[:-1], -1)

        qkv = weigh(x, "qkv").reshape(many, longest, 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
        scores = qkv[0] @ qkv[1].swapaxes(2, 3) / np.float32(np.sqrt(width / HEADS)) + hidden
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = (scores @ qkv[2]).transpose(0, 2, 1, 3).reshape(many, longest, width)
        x = _normed(x + weigh(mixed, "o"), part[f"{at}n1.weight"], part[f"{at}n1.bias"])
        wide = weigh(x, "up")
        bent = wide * wide
        bent *= wide
        bent *= np.float32(0.0356774081)  # √(2/π) · 0.044715
        bent += np.float32(0.7978845608) * wide
        wide *= np.float32(0.5) * np.tanh(bent) + np.float32(0.5)
        x = _normed(x + weigh(wide, "down"), part[f"{at}n2.weight"], part[f"{at}n2.bias"])
    mean = (x * seen[..., None]).sum(axis=1) / seen.sum(axis=1, keepdims=True, dtype=np.float32)
    joined = np.tanh(np.hstack([x[:, 0], mean]) @ part["join.weight"].T + part["join.bias"])
    levels = joined @ part[f"{head}.weight"].T + part[f"{head}.bias"]
    levels = np.exp(levels - levels.max(axis=1, keepdims=True))
    chances: list[list[float]] = (levels / levels.sum(axis=1, keepdims=True)).tolist()
    return chances


def _normed(x: "Floats", weight: "Floats", bias: "Floats") -> "Floats":
    import numpy as np

    x = x - x.mean(axis=-1, keepdims=True)
    x /= np.sqrt(np.einsum("...i,...i->...", x, x)[..., None] / np.float32(x.shape[-1]) + np.float32(1e-12))
    normed: Floats = x * weight + bias
    return normed
