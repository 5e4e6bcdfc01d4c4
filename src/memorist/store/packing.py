"""How a store represents a vector: one byte per dimension, and one number that scales the whole to length one.

Only directions are stored, because only directions are compared: the largest component is scaled to 127, the others are rounded
in proportion, and the number is one divided by the resulting length. So the product with a query of length one is the cosine,
the same to the last digit in every store, and a vector takes a quarter of the space of floats.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memorist.errors import Invalid
from memorist.models.embed import MOST_DIMENSIONS

if TYPE_CHECKING:
    from numpy import int8
    from numpy.typing import NDArray

    from memorist.models.embed import Floats

SCALE = 4  # bytes after the codes: the scale as a little-endian float


def pack(vectors: "Sequence[Any] | NDArray[Any]") -> list[bytes]:
    """Each of these vectors in stored form. A vector of zeros stays zeros and is similar to nothing."""
    import numpy as np

    if not len(vectors):
        return []
    given = _finite(vectors, 2)
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

    lengths = np.linalg.norm(unpack(packed), axis=1)
    return bool((np.isclose(lengths, 1, atol=1e-6) | (lengths == 0)).all())


def direction(vector: Any, dimension: int) -> "Floats":
    """A query's vector, checked and scaled to length one; zeros stay zeros."""
    import numpy as np

    given = _finite(vector, 1)
    if len(given) != dimension:
        raise Invalid(
            f"the question's vector has {len(given):,} dimensions and the stored ones have {dimension:,}; "
            "ask with the model that made them"
        )
    if abs(float(given @ given) - 1) < 1e-6:  # as `checked` leaves it, but for rounding
        return given
    given = given / (np.abs(given).max() or 1)  # before computing the length, since squares of tiny numbers vanish
    return np.asarray(given / (np.linalg.norm(given) or 1), np.float32)


def check_dimension(dimension: int) -> None:
    if type(dimension) is not int or not 0 < dimension <= MOST_DIMENSIONS:
        raise Invalid(f"a vector has 1 to {MOST_DIMENSIONS:,} dimensions, not {dimension!r:.60}; use another model")


def _finite(values: Any, axes: int) -> "Floats":
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # numbers that are too large become infinite, and are refused
            given = np.asarray(values, np.float32)
    except (ValueError, TypeError) as problem:
        raise Invalid(f"that is not a vector of numbers ({str(problem)[:200]})") from problem
    if given.ndim != axes:
        raise Invalid(f"a question has one vector, and vectors come as rows of one table; this has {given.ndim} axes")
    if not np.isfinite(given).all():
        raise Invalid("a vector holds a number that is infinite or not a number; the model that made it is broken")
    return given
