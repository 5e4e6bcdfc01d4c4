"""Texts as vectors: what an embedder is, which there are, the built-in table, and how a store represents a vector.

An embedder turns texts into vectors whose angles express how similar the texts are. It may be built in, a folder, a server, or
any object with the four attributes of `Embedder`, so nothing it returns is trusted: count, dimension and numbers are checked on
every call, and lengths are normalised here. Any failure surfaces as `ModelUnavailable`. Importing this module imports no numpy
and reads no table.
"""

import json
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memorist.errors import Invalid, MemoristError, ModelUnavailable
from memorist.fork import inside
from memorist.lazy import dataclass
from memorist.text.visible import quoted, visible

if TYPE_CHECKING:
    from numpy import float32, int8
    from numpy.typing import NDArray

    Floats = NDArray[float32]

LONGEST_NAME = 200
MOST_DIMENSIONS = 16_384
NONE = "none"
DEFAULT = LAYERED = "layered"  # the table with attention layers on top
# What can be named without a folder or an address, and its cost.
BUILT_IN = {
    LAYERED: "260 bytes a vector, a millisecond a text",
    "static": "260 bytes a vector, microseconds a text",
    NONE: "no vectors: words alone find",
}
ALLOWED = f"{', '.join(BUILT_IN)}, onnx:FOLDER, or https://HOST/…/embeddings?model=NAME&key=VARIABLE"


class Embedder(Protocol):
    """Computes vectors. Two with the same `name` give the same ones, so the name includes the model's digest if there is one."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def cheap(self) -> bool:
        """Whether a write may wait for it: a millisecond per text, no network."""

    def embed(self, texts: Sequence[str]) -> "Floats":
        """One row per text, in the same order."""


Secret = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which embedder to use. It is made when the first vector is needed, since most commands need none; that may fail in any
    way."""

    spelled: str
    make: Callable[[], Embedder | None]
    cheap: bool  # known before it is made
    asked: bool  # it was named; a default may not move a store to another model
    local: bool = False  # no network: a few texts are embedded right after their write, even if it is not cheap


NO_EMBEDDER = Choice(NONE, lambda: None, False, False)


class FixedName:
    """An embedder whose name and dimension are read once, so that later changes cannot mix two models."""

    def __init__(self, embedder: Embedder, name: str, cheap: bool) -> None:
        self.name, self.cheap, self.embed = name, cheap, embedder.embed
        self._embedder = embedder

    @cached_property
    def dimension(self) -> int:
        return self._embedder.dimension  # of a server, which is asked on first use


# ---------------------------------------------------------------- choosing


def chosen(embed: Embedder | str, secret: Secret = lambda _: None, asked: bool = True) -> Choice:
    """The embedder that a caller or the settings mean. An impossible name is refused at once; a folder is opened later."""
    if isinstance(embed, str):
        kind, _, rest = embed.partition(":")
        if kind.lower() in ("http", "https") and rest.startswith("//"):
            from memorist.models.remote import RemoteEmbedder

            remote = RemoteEmbedder.at(embed, secret)
            server = FixedName(remote, must_name_a_model(remote.name), remote.cheap)
            return Choice(embed, lambda: server, False, asked)
        if embed not in BUILT_IN and not (kind == "onnx" and rest):
            meant = kind if "://" in embed else embed  # an address may contain a key
            raise Invalid(f"there is no embedder {quoted(meant)}; embedders are {ALLOWED}")
        return Choice(embed, lambda: _opened(embed), embed in ("static", LAYERED), asked, local=kind == "onnx")
    for part in ("name", "dimension", "cheap", "embed"):  # of its type first: to read a dimension may ask a server
        if not hasattr(type(embed), part) and not hasattr(embed, part):
            needs = "or has name, dimension, cheap and embed(texts)"
            raise Invalid(f"an embedder is {ALLOWED}, {needs}; {quoted(embed)} has no {part}")
    try:
        name, cheap = embed.name, bool(embed.cheap)
    except Exception as problem:  # it may be foreign code
        raise Invalid(f"the name of the embedder cannot be read ({type(problem).__name__})") from problem
    fixed = FixedName(embed, must_name_a_model(name), cheap)
    return Choice(fixed.name, lambda: fixed, cheap, asked)


def must_name_a_model(name: object) -> str:
    """Checks the name of a model, which is compared, stored, and shown on terminals."""
    if isinstance(name, str) and name.strip() not in ("", NONE) and name.isprintable() and len(name) <= LONGEST_NAME:
        return name
    raise Invalid(f"a model needs a name of at most {LONGEST_NAME} printable characters, not {quoted(name)}")


def checked_name(spelled: str) -> str:
    """The name of an embedder in the form allowed in settings; raises if invalid."""
    return chosen(spelled).spelled


def _opened(spelled: str) -> Embedder | None:
    try:
        if spelled == NONE:
            return None
        if spelled == "static":
            return StaticEmbedder()
        if spelled == LAYERED:
            from memorist.models.encoder import LayeredEmbedder

            return LayeredEmbedder()
        from memorist.models.onnx import OnnxEmbedder

        return OnnxEmbedder(Path(spelled.removeprefix("onnx:")).expanduser())
    except MemoristError:
        raise
    except Exception as problem:  # no such user, a path that is too long, a file held by another program
        then = "; reinstall memorist" if spelled in BUILT_IN else ""
        raise ModelUnavailable(
            f"the embedder {shown(spelled)} cannot be opened ({type(problem).__name__}){then}"
        ) from problem


def built_in(model: str) -> Embedder | None:
    """The built-in embedder that made that model's vectors; None if it was another version of it, or not one of ours."""
    embedder = _opened(family) if (family := model.partition("-")[0]) in BUILT_IN else None
    return embedder if embedder is not None and embedder.name == model else None


# ---------------------------------------------------------------- asking


def checked(embedder: Embedder, texts: Sequence[str]) -> "Floats":
    """The vectors of the texts, each of length one, or zero if a text means nothing to the model."""
    import numpy

    try:
        given = numpy.asarray(embedder.embed(texts))
        if given.dtype.kind not in "biufO":
            raise TypeError(given.dtype)
        table = given.astype(numpy.float64)
    except ModelUnavailable:
        raise
    except Exception as problem:  # it may be foreign code, and converting a foreign object to numbers may do anything
        raise _unusable(embedder, f"it gave no rows of numbers ({type(problem).__name__})") from problem
    wanted = (len(texts), dimension_of(embedder))
    if table.shape != wanted:
        raise _unusable(embedder, f"it gave numbers of shape {table.shape} where {wanted} was due")
    with numpy.errstate(over="ignore"):
        lengths = numpy.sqrt(numpy.einsum("ij,ij->i", table, table))[:, None]
    if not numpy.isfinite(lengths).all():
        raise _unusable(embedder, "it gave numbers that are not finite")
    lengths[lengths == 0] = 1
    return numpy.asarray(table / lengths, dtype=numpy.float32)


def dimension_of(embedder: Embedder) -> int:
    try:
        size = embedder.dimension
    except ModelUnavailable:
        raise
    except Exception as problem:  # it may be foreign code
        raise _unusable(embedder, f"its dimension cannot be read ({type(problem).__name__})") from problem
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_DIMENSIONS:
        raise _unusable(embedder, f"its vectors have dimension {quoted(size)}; 1 to {MOST_DIMENSIONS:,} are allowed")
    return size


def _unusable(embedder: Embedder, because: str) -> ModelUnavailable:
    return ModelUnavailable(f"the embedder {shown(embedder.name)} cannot be used: {because}")


def shown(model: str) -> str:
    """The name of a model for a message. A name stored in a store may not have been checked."""
    return visible(model[:LONGEST_NAME]).replace("\n", " ")


# ---------------------------------------------------------------- the built-in table
# One vector per WordPiece token, summed and normalised: microseconds and numpy, where a sentence model costs milliseconds per
# text and a large dependency. The table was trained so that sums of its rows point where a sentence model's vectors point; the
# length of a row is the weight of its token. It is signed bytes with one scale per token, memory-mapped on first use.

FOLDER = Path(__file__).parent / "data"
TOKENS_AT_ONCE = 4096  # tokens turned to floats together, so that a long text needs little memory


class TokenTable(NamedTuple):
    rows: "NDArray[int8]"
    scales: "Floats"
    tokens: "WordPiece"


@cache
def about(model: str = "static-256") -> dict[str, Any]:
    """Facts about the table or the layers: digests, training text and settings, measured figures."""
    described: dict[str, Any] = json.loads((FOLDER / f"{model}.json").read_text("utf-8"))
    return described


@cache  # two threads may both load it, once, with the same result
def loaded_table() -> TokenTable:
    import numpy as np

    rows = np.asarray(np.load(FOLDER / "static-256.npy", mmap_mode="r"))
    scales = np.load(FOLDER / "static-256.scales.npy").astype(np.float32)
    if not np.isfinite(scales).all():
        raise ModelUnavailable("the built-in table of vectors is damaged; reinstall memorist")
    return TokenTable(rows, scales, WordPiece((FOLDER / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n")))


class StaticEmbedder:
    """Embeds texts without a model run, a network or a second process."""

    cheap, dimension = True, 256

    def __init__(self) -> None:
        self.name: str = f"static-256@{about()['identity'][:12]}"

    def embed(self, texts: Sequence[str]) -> "Floats":
        """One row per text, of length 1; a text without a known token gives zeros."""
        import numpy as np

        table, out = loaded_table(), np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            ids = table.tokens.ids(text)
            for some in (ids[start : start + TOKENS_AT_ONCE] for start in range(0, len(ids), TOKENS_AT_ONCE)):
                with inside:  # the linear algebra library starts threads for many tokens
                    out[row] += table.scales[some] @ table.rows[some].astype(np.float32)
        return scale_to_one(out)


def scale_to_one(rows: "Floats") -> "Floats":
    """The rows with length one; those of zeros stay zeros."""
    import numpy as np

    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


# ---------------------------------------------------------------- the cut into tokens
# It must be the cut of BERT's uncased vocabulary, with which the table was trained: another gives silently worse vectors. One
# deliberate difference: "[SEP]" or "[MASK]" written in a text is ordinary text, never a control token.

LONGEST_WORD = 100  # BERT gives up on longer words, which also keeps the greedy search linear in the text
CACHED_WORDS = 65_536


class Alphabet(dict[int, str]):
    """What each character becomes, so that one `translate` and one `split` give the words: its decomposed, lower-case form
    without accents, with spaces around punctuation and ideographs. Filled as characters are met."""

    def __missing__(self, code: int) -> str:
        kept, char = "", chr(code)
        if char.isspace() and (char in "\t\n\r" or unicodedata.category(char) != "Cc"):
            kept = " "
        elif char != "\ufffd" and unicodedata.category(char) not in ("Cc", "Cf", "Co", "Cs"):
            ideograph = unicodedata.name(char, "").startswith(("CJK UNIFIED", "CJK COMPATIBILITY ID"))
            for part in unicodedata.normalize("NFD", char):
                kind = unicodedata.category(part)
                alone = ideograph or kind[0] == "P" or (part.isascii() and not part.isalnum())  # as BERT counts signs
                kept += f" {part} " if alone else "" if kind == "Mn" else part.lower()
        self[code] = kept
        return kept


ALPHABET = Alphabet()


class WordPiece:
    """Token ids of texts. Threads may share one."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        self._unknown = [self._ids["[UNK]"]]
        self._cut_once = lru_cache(CACHED_WORDS)(self._cut)

    def ids(self, text: str) -> list[int]:
        """The ids of a text's tokens, without [CLS] and [SEP]."""
        ids, cut = list[int](), self._cut_once
        for word in self.words(text):
            ids += cut(word) if len(word) <= LONGEST_WORD else self._unknown
        return ids

    def words(self, text: str) -> list[str]:
        """What is cut into tokens: words, punctuation marks and single Chinese characters, without case and accents."""
        return text.translate(ALPHABET).split()

    def _cut(self, word: str) -> Sequence[int]:
        """Greedy longest match from the left; a word that cannot be covered completely is unknown as a whole."""
        ids, start, size = list[int](), 0, len(word)
        while start < size:
            begin = "##" if start else ""
            end = next((end for end in range(size, start, -1) if begin + word[start:end] in self._ids), start)
            if end == start:
                return self._unknown
            ids.append(self._ids[begin + word[start:end]])
            start = end
        return ids
