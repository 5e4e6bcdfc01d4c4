"""The port for embedders: what one is, which there are, and the one place where their answers are checked.

An embedder turns texts into vectors whose angles say how alike the texts are. It may be the built-in table, a file, a
server, or any object of the caller's with these four things; so nothing it answers is believed: count, dimension and
numbers are checked on every call, and lengths are made equal here. Whatever goes wrong in one comes out as
`ModelUnavailable`. There is no name for an embedder that only pretends.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from memorist.errors import Invalid, MemoristError, ModelUnavailable
from memorist.text.vectors import MOST_DIMENSIONS
from memorist.text.visible import quoted, visible

if TYPE_CHECKING:
    from concurrent.futures import Future

    from numpy import float32
    from numpy.typing import NDArray

    Floats = NDArray[float32]

T = TypeVar("T")
LONGEST_NAME = 200
STATIC_SIZES = (256, 128, 64)
NONE = "none"
ALLOWED = f"static, static:128, static:64, {NONE}, onnx:FOLDER, or https://HOST/…/embeddings?model=NAME&key=VARIABLE"


class Embedder(Protocol):
    """Gives vectors. Two with the same `name` give the same ones, so it holds the model's digest where there is one."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def cheap(self) -> bool:
        """Whether a write may wait for it: microseconds a text, no network."""

    def embed(self, texts: Sequence[str]) -> "Floats":
        """One row per text, in their order."""


Secret = Callable[[str], str | None]
Make = Callable[[], Embedder | None]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which embedder is meant. It is made when the first vector is needed: most commands need none. Making it may fail in
    any way."""

    spelled: str
    make: Make
    cheap: bool  # known before it is made
    asked: bool  # it was named; the default may not move a store to another model


NO_EMBEDDER = Choice(NONE, lambda: None, False, False)


class Known:
    """An embedder whose name and dimension were read once: what it says later cannot mix two models."""

    def __init__(self, embedder: Embedder, name: str, cheap: bool) -> None:
        self.name = name
        self.cheap = cheap
        self._embedder = embedder
        self._dimension: int | None = None

    @property
    def dimension(self) -> int:
        """Read when it is first needed: a server has to be asked for it."""
        if self._dimension is None:
            self._dimension = self._embedder.dimension
        return self._dimension

    def embed(self, texts: Sequence[str]) -> "Floats":
        return self._embedder.embed(texts)


# ---------------------------------------------------------------- choosing


def chosen(embed: Embedder | str, secret: Secret = lambda _: None, asked: bool = True) -> Choice:
    """What a caller or the settings mean. A name that cannot work is refused at once; a file is opened later."""
    if isinstance(embed, str):
        return Choice(embed, _maker(embed, secret), embed.startswith("static"), asked)
    for part in ("name", "dimension", "cheap", "embed"):
        if not _has(embed, part):
            raise Invalid(f"an embedder has name, dimension, cheap and embed(texts); {quoted(embed)} has no {part}")
    try:
        name, cheap = embed.name, bool(embed.cheap)
    except Exception as problem:  # it may be anybody's code
        raise Invalid(f"the name of the embedder cannot be read ({type(problem).__name__})") from problem
    known = Known(embed, must_name_a_model(name), cheap)
    return Choice(known.name, lambda: known, cheap, asked)


def _has(embed: object, part: str) -> bool:
    """Looked up on its type first: a dimension may be worked out by asking a server, and opening a store asks none."""
    try:
        return hasattr(type(embed), part) or hasattr(embed, part)
    except Exception:  # then it is there, and using it tells
        return True


def must_name_a_model(name: object) -> str:
    """The name that a generation is to bear: it is compared, stored, and shown on terminals."""
    if not isinstance(name, str) or not name.strip() or name == NONE:
        raise Invalid(f"the name of an embedder says which model it is; {quoted(name)} does not")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid(
            f"the name of an embedder has at most {LONGEST_NAME} characters, all printable; {quoted(name)} is none such"
        )
    return name


def checked_name(spelled: object) -> str:
    """The name of an embedder as settings may hold it."""
    if not isinstance(spelled, str):
        raise Invalid(f"embed must be the name of an embedder: {ALLOWED}; not {quoted(spelled)}")
    _maker(spelled, lambda _: None)
    return spelled


def _maker(spelled: str, secret: Secret) -> Make:
    if spelled == NONE:
        return lambda: None
    if spelled in ("static", *(f"static:{size}" for size in STATIC_SIZES)):
        size = int(spelled.partition(":")[2] or STATIC_SIZES[0])
        return lambda: _static(size)
    if spelled.startswith("onnx:") and spelled != "onnx:":
        return lambda: _onnx(spelled.removeprefix("onnx:"))
    if spelled[:8].lower().startswith(("http://", "https://")):
        from memorist.models.remote import RemoteEmbedder

        remote = RemoteEmbedder.at(spelled, secret)
        known = Known(remote, must_name_a_model(remote.name), remote.cheap)
        return lambda: known
    told = spelled.partition("://")[0] if "://" in spelled else spelled  # there may be a key in an address
    raise Invalid(f"there is no embedder {quoted(told)}; embedders are {ALLOWED}")


def _static(size: int) -> Embedder:
    from memorist.models.static import StaticEmbedder

    try:
        return StaticEmbedder(size)
    except Exception as problem:
        raise ModelUnavailable(
            f"the built-in table of vectors cannot be read ({type(problem).__name__}); install again"
        ) from problem


def _onnx(folder: str) -> Embedder:
    from memorist.models.onnx import OnnxEmbedder

    try:
        made = OnnxEmbedder(Path(folder).expanduser())
    except MemoristError:
        raise
    except Exception as problem:  # no such user, a path that is too long, a file that another program holds
        raise ModelUnavailable(f"the model in {shown(folder)} cannot be opened ({type(problem).__name__})") from problem
    return Known(made, made.name, made.cheap)


def built_in(model: str) -> Embedder | None:
    """The built-in embedder that made vectors of that model; None if another version of it did, or none of ours."""
    if not model.startswith("static"):
        return None
    found = (_static(size) for size in STATIC_SIZES)
    return next((embedder for embedder in found if embedder.name == model), None)


# ---------------------------------------------------------------- asking


def checked(embedder: Embedder, texts: Sequence[str]) -> "Floats":
    """The vectors of the texts, each of length one, or zero where a text means nothing to the model."""
    import numpy

    try:
        answer: Any = embedder.embed(texts)
    except ModelUnavailable:
        raise
    except Exception as problem:  # it may be anybody's code
        raise _unusable(embedder, f"it failed with {type(problem).__name__}") from problem
    try:
        given = numpy.asarray(answer)
        if given.dtype.kind not in "biufO":
            raise TypeError(given.dtype)
        table = given.astype(numpy.float64)
    except Exception as problem:  # what an object does when it is to become numbers is its own affair
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


def dimension_of(embedder: Embedder) -> int:
    try:
        size = embedder.dimension
    except ModelUnavailable:
        raise
    except Exception as problem:  # it may be anybody's code
        raise _unusable(embedder, f"its dimension cannot be read ({type(problem).__name__})") from problem
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_DIMENSIONS:
        raise _unusable(embedder, f"its vectors have dimension {quoted(size)}; 1 to {MOST_DIMENSIONS:,} are allowed")
    return size


def _unusable(embedder: Embedder, because: str) -> ModelUnavailable:
    return ModelUnavailable(f"the embedder {shown(embedder.name)} cannot be used: {because}")


def shown(model: str) -> str:
    """The name of a model for a message. One that a store brings along was checked by nobody."""
    return visible(model[:LONGEST_NAME]).replace("\n", " ")


# ---------------------------------------------------------------- waiting

SHARE = 0.6  # of the time that is left: the rest of the question needs some too


class Patience:
    """One slow thing at a time, waited for only as long as a question has time. Per process, shared between threads.

    Only what may be left out is waited for like this: an embedder behind a network, a second opinion. It runs in a thread of
    its own; a question that gives up goes on without it, and until it has come back nothing starts the same again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = False

    def within(self, seconds: float, work: Callable[[], T]) -> T | None:
        """What the work gives, or None if it takes longer, or an earlier one has not come back yet."""
        with self._lock:
            if self._busy or seconds <= 0:
                return None
            self._busy = True
        from concurrent.futures import Future

        done: Future[T] = Future()
        threading.Thread(target=self._run, args=(work, done), name="memorist waiting", daemon=True).start()
        try:
            return done.result(timeout=seconds * SHARE)
        except TimeoutError:
            if done.done():  # it was the work that said so
                raise
            return None

    def _run(self, work: Callable[[], T], done: "Future[T]") -> None:
        try:
            result = work()
        except BaseException as problem:
            self._busy = False
            done.set_exception(problem)
        else:
            self._busy = False
            done.set_result(result)
