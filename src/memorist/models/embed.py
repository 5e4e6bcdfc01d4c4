"""Texts as vectors: what an embedder is, the available ones, the built-in one, and how a store represents a vector.

An embedder turns texts into vectors whose angles express how similar the texts are. It may be the built-in table, a file, a
server, or any object of the caller's with these four attributes, so nothing it returns is trusted: count, dimension and
numbers are checked on every call, and lengths are normalised here. Any failure surfaces as `ModelUnavailable`. No name stands
for an embedder that only pretends. Importing this module imports no numpy and reads no table.
"""

import json
import os
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from memorist.errors import Invalid, MemoristError, ModelUnavailable
from memorist.fork import inside
from memorist.lazy import dataclass
from memorist.text.visible import quoted, visible

if TYPE_CHECKING:
    from concurrent.futures import Future

    from numpy import float32, int8
    from numpy.typing import NDArray

    Floats = NDArray[float32]

T = TypeVar("T")
LONGEST_NAME = 200
DIMENSIONS = (256, 128, 64)  # of the built-in table
MOST_DIMENSIONS = 16_384  # of any vector
LENGTH_ONE = 1e-6  # how far the square of a length may be from 1, due to rounding
NONE = "none"
LAYERED = "layered"  # the table with attention layers on top
DEFAULT, DEFAULT_TURNS = LAYERED, "static"  # the defaults for memories, and for turns and documents
FORMER = ("static-256",)  # former defaults, from which a store moves on without being asked
# What can be named without a file or an address, and its cost.
BUILT_IN = {
    LAYERED: "260 bytes a vector, a millisecond a text",
    "static": "260 bytes a vector, microseconds a text",
    "static:128": "132 bytes a vector, microseconds a text",
    "static:64": "68 bytes a vector, microseconds a text",
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
        """Whether a write may wait for it: microseconds per text, no network."""

    def embed(self, texts: Sequence[str]) -> "Floats":
        """One row per text, in the same order."""


Secret = Callable[[str], str | None]
Make = Callable[[], Embedder | None]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which embedder to use. It is made when the first vector is needed, since most commands need none. Making it may fail in
    any way."""

    spelled: str
    make: Make
    cheap: bool  # known before it is made
    asked: bool  # it was named; a default may not move a store to another model
    local: bool = False  # no network: a few texts are embedded right after their write, even if it is not cheap


NO_EMBEDDER = Choice(NONE, lambda: None, False, False)


class Known:
    """An embedder whose name and dimension are read once, so that later changes cannot mix two models."""

    def __init__(self, embedder: Embedder, name: str, cheap: bool) -> None:
        self.name = name
        self.cheap = cheap
        self._embedder = embedder
        self._dimension: int | None = None

    @property
    def dimension(self) -> int:
        """Read on first use, because a server may have to be asked."""
        if self._dimension is None:
            self._dimension = self._embedder.dimension
        return self._dimension

    def embed(self, texts: Sequence[str]) -> "Floats":
        return self._embedder.embed(texts)


# ---------------------------------------------------------------- choosing


def chosen(embed: Embedder | str, secret: Secret = lambda _: None, asked: bool = True) -> Choice:
    """The embedder that a caller or the settings mean. An impossible name is refused at once; a file is opened later."""
    if isinstance(embed, str):
        cheap, local = embed.startswith(("static", LAYERED)), embed.startswith("onnx:")
        return Choice(embed, _maker(embed, secret), cheap, asked, local)
    for part in ("name", "dimension", "cheap", "embed"):
        if not _has(embed, part):
            raise Invalid(f"an embedder has name, dimension, cheap and embed(texts); {quoted(embed)} has no {part}")
    try:
        name, cheap = embed.name, bool(embed.cheap)
    except Exception as problem:  # it may be foreign code
        raise Invalid(f"the name of the embedder cannot be read ({type(problem).__name__})") from problem
    known = Known(embed, must_name_a_model(name), cheap)
    return Choice(known.name, lambda: known, cheap, asked)


def _has(embed: object, part: str) -> bool:
    """Looks at the type first: a dimension may be computed by asking a server, and opening a store must not ask one."""
    try:
        return hasattr(type(embed), part) or hasattr(embed, part)
    except Exception:  # it exists, and using it will show
        return True


def chosen_for_turns(embed: Choice, turns: Embedder | str | None, secret: Secret = lambda _: None) -> Choice:
    """The embedder for turns: their own if one was named, otherwise the one named for all, otherwise the default for turns."""
    if turns is not None:
        return chosen(turns, secret)
    return embed if embed.asked else chosen(DEFAULT_TURNS, asked=False)


def must_name_a_model(name: object) -> str:
    """Checks the name of a model, which is compared, stored, and shown on terminals."""
    if not isinstance(name, str) or not name.strip() or name == NONE:
        raise Invalid(f"the name of an embedder says which model it is; {quoted(name)} does not")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid(
            f"the name of an embedder has at most {LONGEST_NAME} characters, all printable; {quoted(name)} is not such a name"
        )
    return name


def checked_name(spelled: object) -> str:
    """The name of an embedder in the form allowed in settings; raises if invalid."""
    if not isinstance(spelled, str):
        raise Invalid(f"embed must be the name of an embedder: {ALLOWED}; not {quoted(spelled)}")
    _maker(spelled, lambda _: None)
    return spelled


def _maker(spelled: str, secret: Secret) -> Make:
    if spelled == NONE:
        return lambda: None
    if spelled in ("static", *(f"static:{size}" for size in DIMENSIONS)):
        size = int(spelled.partition(":")[2] or DIMENSIONS[0])
        return lambda: _static(size)
    if spelled == LAYERED:
        return _layered
    if spelled.startswith("onnx:") and spelled != "onnx:":
        return lambda: _onnx(spelled.removeprefix("onnx:"))
    if spelled[:8].lower().startswith(("http://", "https://")):
        from memorist.models.remote import RemoteEmbedder

        made = RemoteEmbedder.at(spelled, secret)
        remote = Known(made, must_name_a_model(made.name), made.cheap)
        return lambda: remote
    told = spelled.partition("://")[0] if "://" in spelled else spelled  # an address may contain a key
    raise Invalid(f"there is no embedder {quoted(told)}; embedders are {ALLOWED}")


def _static(size: int) -> Embedder:
    return _installed(lambda: StaticEmbedder(size), "table of vectors")


def _layered() -> Embedder:
    from memorist.models.encoder import LayeredEmbedder

    return _installed(LayeredEmbedder, "encoder")


def _installed(make: Callable[[], Embedder], what: str) -> Embedder:
    try:
        return make()
    except Exception as problem:
        told = f"the built-in {what} cannot be read ({type(problem).__name__}); install again"
        raise ModelUnavailable(told) from problem


def _onnx(folder: str) -> Embedder:
    from memorist.models.onnx import OnnxEmbedder

    try:
        made = OnnxEmbedder(Path(folder).expanduser())
    except MemoristError:
        raise
    except Exception as problem:  # no such user, a path that is too long, a file held by another program
        raise ModelUnavailable(f"the model in {shown(folder)} cannot be opened ({type(problem).__name__})") from problem
    return Known(made, made.name, made.cheap)


def built_in(model: str) -> Embedder | None:
    """The built-in embedder that made that model's vectors; None if it was another version of it, or not one of ours."""
    makers: dict[str, list[Make]] = {"static": [partial(_static, size) for size in DIMENSIONS], LAYERED: [_layered]}
    found = (make() for make in makers.get(model.partition("-")[0], ()))
    return next((embedder for embedder in found if embedder and embedder.name == model), None)


# ---------------------------------------------------------------- asking


def checked(embedder: Embedder, texts: Sequence[str]) -> "Floats":
    """The vectors of the texts, each of length one, or zero if a text means nothing to the model."""
    import numpy

    try:
        answer: Any = embedder.embed(texts)
    except ModelUnavailable:
        raise
    except Exception as problem:  # it may be foreign code
        raise _unusable(embedder, f"it failed with {type(problem).__name__}") from problem
    try:
        given = numpy.asarray(answer)
        if given.dtype.kind not in "biufO":
            raise TypeError(given.dtype)
        table = given.astype(numpy.float64)
    except Exception as problem:  # converting a foreign object to numbers may do anything
        raise _unusable(embedder, "it gave something other than rows of numbers") from problem
    wanted = (len(texts), dimension_of(embedder))
    if table.shape != wanted:
        raise _unusable(embedder, f"it gave numbers of shape {table.shape} where {wanted} was due")
    with numpy.errstate(over="ignore"):
        lengths = numpy.sqrt(numpy.einsum("ij,ij->i", table, table))[:, None]
    if not numpy.isfinite(lengths).all():
        raise _unusable(embedder, "it gave numbers that are not finite")
    lengths[lengths == 0] = 1
    return numpy.asarray(table / lengths, dtype=numpy.float32)


def trouble(embedder: Embedder) -> str | None:
    """Why it cannot be used, if so; found out by using it."""
    try:
        checked(embedder, ["ready?"])
    except ModelUnavailable as problem:
        return str(problem)
    return None


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


# ---------------------------------------------------------------- waiting

SHARE = 0.6  # of the remaining time, since the rest of the query needs some too


def apart(work: Callable[[], T], name: str) -> "Future[T]":
    """The future result of the work, done in a separate thread, which is abandoned when nobody waits for it any longer."""
    from concurrent.futures import Future

    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as problem:
            done.set_exception(problem)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done


class Patience:
    """One slow thing at a time, waited for only as long as a query has time. Per process, shared between threads.

    Only optional work is waited for like this: an embedder behind a network, a second opinion. It runs in a separate thread; a
    query that gives up goes on without it, and until it has returned nothing starts the same again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = False

    def within(self, seconds: float, work: Callable[[], T]) -> T | None:
        """The result of the work, or None if it takes longer, or an earlier one has not returned yet."""
        with self._lock:
            if self._busy or seconds <= 0:
                return None
            self._busy = True

        def alone() -> T:
            try:
                return work()
            finally:
                self._busy = False

        try:
            done = apart(alone, "memorist waiting")
        except RuntimeError:  # no thread is available
            self._busy = False
            return None
        try:
            return done.result(timeout=seconds * SHARE)
        except TimeoutError:
            return done.result() if done.done() else None  # the work may have raised this itself, or finished just now


# ---------------------------------------------------------------- the built-in table
# One vector per WordPiece token, summed and normalised. A sentence model costs milliseconds per text and a large dependency;
# this costs microseconds and numpy, and fused with word search it finds as much. The table was trained so that sums of its
# rows point where a sentence model's vectors point; the length of a row is the weight of its token. Prefixes of a vector are
# vectors too, so a store short of space can keep the first 128 or 64 dimensions. It is signed bytes with one scale per token,
# memory-mapped on first use.

FOLDER = Path(__file__).parent / "data"
_AT_ONCE = 4096  # tokens turned to floats together, so that a long text needs little memory
_loading = threading.Lock()


def _fresh_lock() -> None:
    global _loading
    _loading = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fresh_lock)  # the thread that held it does not exist here


class _Table(NamedTuple):
    rows: "NDArray[int8]"
    scales: "Floats"
    tokens: "WordPiece"


@cache
def about() -> dict[str, Any]:
    """Facts about the table: digests, training text and settings, measured figures."""
    described: dict[str, Any] = json.loads((FOLDER / "static-256.json").read_text("utf-8"))
    return described


@cache
def _loaded() -> _Table:
    import numpy as np

    rows = np.asarray(np.load(FOLDER / "static-256.npy", mmap_mode="r"))
    scales = np.load(FOLDER / "static-256.scales.npy").astype(np.float32)
    tokens = WordPiece((FOLDER / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n"))
    return _Table(rows, scales, tokens)


def loaded_table() -> _Table:
    with _loading:  # `cache` alone would let two threads load at once
        return _loaded()


class StaticEmbedder:
    """Embeds texts without a model run, a network or a second process."""

    cheap = True

    def __init__(self, dimension: int = 256) -> None:
        if dimension not in DIMENSIONS:
            raise ValueError(f"dimension must be one of {DIMENSIONS}, not {dimension}")
        self.dimension = dimension
        self.name: str = f"static-{dimension}@{about()['identity'][:12]}"

    def embed(self, texts: Sequence[str]) -> "Floats":
        """One row per text, of length 1; a text without a known token gives zeros."""
        import numpy as np

        table = loaded_table()
        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            ids = table.tokens.ids(text)
            for start in range(0, len(ids), _AT_ONCE):
                some = ids[start : start + _AT_ONCE]
                rows = table.rows[some, : self.dimension].astype(np.float32)
                with inside:  # the linear algebra library starts threads for many tokens
                    out[row] += table.scales[some] @ rows
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
        np.divide(out, lengths, out=out, where=lengths > 0)
        return out


# ---------------------------------------------------------------- the cut into tokens
# It must be the cut of BERT's uncased vocabulary, with which the table was trained: another gives silently worse vectors. It is
# written here because the usual library brings fifteen packages for what fits on a page. One deliberate difference: "[SEP]" or
# "[MASK]" written in a text is ordinary text, never a control token.
#
# Every character maps to its cleaned, decomposed, lower-case form without accents, with spaces around what stands alone; so
# one `translate` and one `split` give the words.

LONGEST_WORD = 100  # BERT gives up on longer words, which also keeps the greedy search linear in the text
CACHED_WORDS = 65_536
UNKNOWN = "[UNK]"

# Ideographs stand alone; these are the blocks BERT names, later extensions are not among them.
_IDEOGRAPHS = (
    range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x2A6E0), range(0x2A700, 0x2B740),
    range(0x2B740, 0x2B820), range(0x2B920, 0x2CEB0), range(0x2F800, 0x2FA20),
)  # fmt: skip


class _Alphabet(dict[int, str]):
    """What each character becomes; filled as characters are met, so it never outgrows Unicode."""

    def __missing__(self, code: int) -> str:
        kept = self[code] = _kept(code)
        return kept


def _kept(code: int) -> str:
    char = chr(code)
    if char in "\t\n\r":
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if char.isspace():
        return " "
    parts = (part for part in unicodedata.normalize("NFD", char) if unicodedata.category(part) != "Mn")
    lowered = "".join(f" {part} " if _alone(part) else part.lower() for part in parts)
    return f" {lowered} " if _is_ideograph(code) else lowered


def _is_ideograph(code: int) -> bool:
    return any(code in block for block in _IDEOGRAPHS)


def _alone(char: str) -> bool:
    """Whether it is punctuation; BERT counts every printable ASCII sign as such."""
    sign = char.isascii() and char.isprintable() and not char.isalnum() and char != " "
    return sign or unicodedata.category(char)[0] == "P"


_ALPHABET = _Alphabet()


class WordPiece:
    """Token ids of texts. Threads may share one: its cache is only ever added to or emptied."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        self._unknown = (self._ids[UNKNOWN],)
        self._cache: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self, text: str) -> list[int]:
        """The ids of a text's tokens, without [CLS] and [SEP]."""
        found: list[int] = []
        cache = self._cache
        for word in self.words(text):
            ids = cache.get(word)
            found += self._cut(word) if ids is None else ids
        return found

    def words(self, text: str) -> list[str]:
        """What is cut into tokens: words, punctuation marks and single Chinese characters, without case and accents."""
        return text.translate(_ALPHABET).split()

    def _cut(self, word: str) -> Sequence[int]:
        """Greedy longest match from the left; a word that cannot be covered completely is unknown as a whole."""
        if len(word) > LONGEST_WORD:
            return self._unknown
        ids = self._matched(word)
        if len(self._cache) >= CACHED_WORDS:
            self._cache.clear()
        self._cache[word] = ids
        return ids

    def _matched(self, word: str) -> tuple[int, ...]:
        known, found, start, size = self._ids, [], 0, len(word)
        while start < size:
            mark = "##" if start else ""
            for end in range(size, start, -1):
                number = known.get(mark + word[start:end])
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return self._unknown
        return tuple(found)


# ---------------------------------------------------------------- a vector as it is stored
# One byte per dimension, and one number that scales the whole to length one. Only directions are stored, because only
# directions are compared: the largest component is scaled to 127, the others are rounded in proportion, and the number is one
# divided by the resulting length. So the product with a query of length one is the cosine, the same to the last digit in every
# store, and a vector takes a quarter of the space of floats.

SCALE = 4  # bytes after the codes: the scale as a little-endian float


def pack(vectors: "Sequence[Any] | NDArray[Any]") -> list[bytes]:
    """Each of these vectors in stored form. A vector of zeros stays zeros and is similar to nothing."""
    import numpy as np

    if not len(vectors):
        return []
    given = _finite(vectors, 2, "vectors come as rows of one table")
    check_dimension(given.shape[1])
    largest = np.abs(given).max(axis=1, keepdims=True)
    largest[largest == 0] = 1
    codes = np.rint(given / largest * 127).astype(np.int8)
    length = np.sqrt(np.square(codes, dtype=np.float32).sum(axis=1))
    scales = np.divide(1, length, out=np.zeros_like(length), where=length > 0)
    packed = np.hstack([codes.view(np.uint8), scales.astype("<f4").view(np.uint8).reshape(-1, SCALE)])
    return [row.tobytes() for row in packed]


def unpack(packed: Sequence[bytes]) -> "Floats":
    """Packed vectors of one generation as rows of length one, or of zeros."""
    import numpy as np

    if not packed:
        return np.zeros((0, 0), np.float32)
    if len({len(each) for each in packed}) > 1:
        raise Invalid("vectors of different lengths cannot be compared; they come from different models")
    codes, scales = split(b"".join(packed), len(packed[0]) - SCALE)
    return codes.astype(np.float32) * scales[:, None]


def split(packed: bytes, dimension: int) -> "tuple[NDArray[int8], Floats]":
    """The codes and scales of concatenated vectors."""
    import numpy as np

    table = np.frombuffer(packed, np.uint8).reshape(-1, dimension + SCALE)
    scales = np.ascontiguousarray(table[:, dimension:]).view("<f4").reshape(-1)
    return table[:, :dimension].view(np.int8), scales.astype(np.float32, copy=False)


def are_sound(packed: Sequence[bytes]) -> bool:
    """Whether each has the length it was given, or none: most flipped bits show in that."""
    import numpy as np

    if not packed:
        return True
    codes, scales = split(b"".join(packed), len(packed[0]) - SCALE)
    lengths = np.sqrt(np.square(codes, dtype=np.float32).sum(axis=1)) * scales
    return bool((np.isclose(lengths, 1, atol=1e-6) | ((lengths == 0) & (scales == 0))).all())


def direction(vector: Any, dimension: int) -> "Floats":
    """A query's vector, checked and scaled to length one; zeros stay zeros."""
    import numpy as np

    alike = isinstance(vector, np.ndarray) and (vector.dtype, vector.shape) == (np.float32, (dimension,))
    # The form in which `checked` leaves it; non-finite values are not near 1.
    if alike and abs(float(vector @ vector) - 1) < LENGTH_ONE:
        return np.asarray(vector)
    given = _finite(vector, 1, "a question has one vector")
    if len(given) != dimension:
        raise Invalid(
            f"the question's vector has {len(given):,} dimensions and the stored ones have {dimension:,}; "
            "ask with the model that made them"
        )
    given = given / (np.abs(given).max() or 1)  # before computing the length, since squares of tiny numbers vanish
    return np.asarray(given / (np.linalg.norm(given) or 1), np.float32)


def check_dimension(dimension: int) -> None:
    if type(dimension) is not int or not 0 < dimension <= MOST_DIMENSIONS:
        raise Invalid(f"a vector has 1 to {MOST_DIMENSIONS:,} dimensions, not {dimension!r:.60}; use another model")


def _finite(values: Any, axes: int, otherwise: str) -> "Floats":
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # numbers that are too large become infinite, and are refused
            given = np.asarray(values, np.float32)
    except (ValueError, TypeError) as problem:
        raise Invalid(f"that is not a vector of numbers ({str(problem)[:200]})") from problem
    if given.ndim != axes:
        raise Invalid(f"{otherwise}; this has {given.ndim} axes")
    if not np.isfinite(given).all():
        raise Invalid("a vector holds a number that is infinite or not a number; the model that made it is broken")
    return given
