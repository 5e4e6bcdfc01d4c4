"""The built-in encoder: the rows of the static table, each weighted and corrected by its context.

A sum of rows knows words but not how they belong together. One or two small attention layers over the same rows do: they give
each row its own weight and add what the sum lacks, so that the vector comes closer to that of a sentence model
(docs/why/0032-an-encoder-of-our-own.md). A text's vector is the same bit for bit whatever other texts it is computed with:
only windows of the same size go through the layers together, by products of the same size as for a single one. The layers are
one flat file of half floats, and what they get for each token in addition to its row is a table of bytes; both are read on
first use. Importing this module imports no numpy.
"""

import json
import threading
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from memorist.fork import inside
from memorist.models import embed
from memorist.models.embed import FOLDER

if TYPE_CHECKING:
    from numpy import float16, int8, int_
    from numpy.typing import NDArray

    from memorist.models.embed import Floats

WIDTH = 256
TOLD_BESIDE = 64  # dimensions that the layers get for a token in addition to its row
WINDOW = 96  # tokens that see each other; a longer text is cut into windows
EPSILON = 1e-5

# The usual linear algebra libraries start threads for products above some size (OpenBLAS: 2¹⁸ multiplications, or a matrix of
# 9,216 numbers and a vector). For products as small as these, that costs more than it gains, and milliseconds on a busy
# machine. So all are cut into smaller tiles: at most 32 rows of a window and a strip of 32 columns, which the processor keeps
# in its cache while the tiles of all windows are multiplied with it.
TILE = 32
STRIP = 32
BLOCK = 64  # columns of a matrix that are stored together
TOGETHER = 224  # tokens of windows that go through the layers together: the matrices are fetched once for all of them


class Layer(NamedTuple):
    """One attention layer with its matrices in strips. What a norm multiplies and adds is folded into the matrix after it, the
    1/8 of the scores into the queries, and the half of the activation into `down`."""

    attend: "Floats"  # questions, keys and values of each head
    attend_add: "Floats"  # to the questions alone: it is part of `join_add` for values, and of keys it changes no score
    join: "Floats"
    join_add: "Floats"
    up: "Floats"
    up_add: "Floats"
    down: "Floats"
    down_add: "Floats"


class Layers(NamedTuple):
    """Everything that is learnt besides the table."""

    layers: tuple[Layer, ...]
    scale: "Floats"  # of a row, where it enters the layers
    places: "Floats"
    gate: "Floats"
    gate_add: "Floats"
    out: "Floats"
    out_add: "Floats"
    lift: "Floats"  # of what stands beside a row, where both enter the layers


def shapes(heads: int, inner: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The shapes of what is stored, in order: first those of `Layers` itself, then those of every `Layer`."""
    size, blocks = WIDTH // heads, inner // BLOCK
    out = (WIDTH // STRIP, WIDTH, STRIP)
    once: list[tuple[int, ...]] = [(1,), (WINDOW + 1, WIDTH), (WIDTH,), (1,), out, (WIDTH,), (TOLD_BESIDE, WIDTH)]
    attend, join = (3 * heads, 1, WIDTH, size), (heads, 1, size, WIDTH)
    up, down = (blocks, 1, WIDTH, BLOCK), (blocks, 1, BLOCK, WIDTH)
    return once, [attend, (3 * heads, 1, 1, size), join, (WIDTH,), up, (blocks, 1, 1, BLOCK), down, (WIDTH,)]


@cache
def about() -> dict[str, Any]:
    """Facts about the layers: digests, the table they belong to, training text and settings, measured figures."""
    described: dict[str, Any] = json.loads((FOLDER / "layered-256.json").read_text("utf-8"))
    return described


@cache  # two threads may both load it, once, with the same result
def _layers() -> Layers:
    import numpy as np

    described = about()
    flat = _widened(np.asarray(np.load(FOLDER / "layered-256.npy", mmap_mode="r")))
    once, each = shapes(described["heads"], described["inner"])
    wanted = [*once, *each * described["layers"]]
    ends = np.cumsum([int(np.prod(shape)) for shape in wanted])
    parts = [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), wanted, strict=True)]
    rest = parts[len(once) :]
    layers = (_ready(Layer(*rest[at : at + len(each)])) for at in range(0, len(rest), len(each)))
    learnt = Layers(tuple(layers), *parts[: len(once)])
    return learnt._replace(lift=_in_strips(learnt.lift))


def _ready(layer: Layer) -> Layer:
    """The layer in the form used for multiplication. What it adds to the rows has mean zero, as the rows have on entry, so a
    norm need not subtract the mean."""
    join, down = layer.join.reshape(1, -1, WIDTH), layer.down.reshape(-1, WIDTH, WIDTH)
    asks, _, values = layer.attend_add.reshape(3, len(layer.join), -1)
    return Layer(
        attend=_in_strips(layer.attend),
        attend_add=asks,
        join_add=_centred(layer.join_add + values.ravel() @ join[0]),
        join=_in_strips(_centred(join)),
        up=_in_strips(layer.up),
        up_add=layer.up_add.ravel(),
        down=_in_strips(_centred(down), len(down)),
        down_add=_centred(layer.down_add),
    )


def _centred(rows: "Floats") -> "Floats":
    rows -= rows.mean(axis=-1, keepdims=True)
    return rows


def _in_strips(blocks: "Floats", stretches: int = 1) -> "Floats":
    """A matrix cut by columns, which may be stored in blocks; if it has too many rows, one stretch after the other."""
    import numpy as np

    rows, columns = blocks.shape[-2:]
    cut = blocks.reshape(-1, rows, columns // STRIP, STRIP).swapaxes(1, 2)
    return np.ascontiguousarray(cut).reshape(stretches, -1, 1, rows, STRIP)


class _Room(threading.local):
    """Buffers for a thread's products. Tables of this size are returned to the system when freed, and allocating them anew
    takes a third of the time."""

    def __init__(self) -> None:
        self._tables: dict[str, Floats] = {}

    def of(self, name: str, *shape: int) -> "Floats":
        """A table of this shape with arbitrary content."""
        import numpy as np

        size, held = prod(shape), self._tables.get(name)
        if held is None or held.size < size:
            held = self._tables[name] = np.empty(size, np.float32)
        return held[:size].reshape(shape)


_room = _Room()


def _widened(halves: "NDArray[float16]") -> "Floats":
    """The same numbers as single floats, converted by their bits, which takes a sixth of the time of `astype`. Sign and digits
    are moved to their places in a single float, and a product corrects the exponent."""
    import numpy as np

    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= np.int32(~0x70001FFF)
    floats = bits.view(np.float32)
    floats *= np.float32(2.0**112)
    return floats


@cache
def _beside() -> "NDArray[int8]":
    """What the layers get for each token in addition to its row."""
    import numpy as np

    return np.asarray(np.load(FOLDER / "layered-256.beside.npy", mmap_mode="r"))


class LayeredEmbedder:
    """Embeds texts with the table and the layers, without a network or a second process: about a millisecond per note."""

    cheap = True
    dimension = WIDTH

    def __init__(self) -> None:
        self.name: str = f"layered-{WIDTH}@{about()['identity'][:12]}"

    def embed(self, texts: Sequence[str]) -> "Floats":
        """One row per text, of length 1; a text without a known token gives zeros."""
        import numpy as np

        table = embed.loaded_table()
        alike: dict[int, list[tuple[int, NDArray[int_]]]] = {}  # windows by number of tokens
        for place, text in enumerate(texts):
            ids = np.array(table.tokens.ids(text), np.int_)
            for start in range(0, len(ids), WINDOW):
                some = ids[start : start + WINDOW]
                some = some[table.rows[some].any(axis=1)]  # tokens that the table does not know would only add noise
                alike.setdefault(len(some), []).append((place, some))
        alike.pop(0, None)
        out = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for count in sorted(alike):  # so the windows of a text are added in the same order whatever the other texts are
            step = max(1, TOGETHER // count)
            for start in range(0, len(alike[count]), step):
                together = alike[count][start : start + step]
                ids = np.stack([some for _, some in together])
                with inside:  # even a small product is computed in memory that is handed out under a lock
                    found = _directions(table.rows[ids] * table.scales[ids][..., None], _beside()[ids])
                for (place, _), direction in zip(together, found, strict=True):
                    out[place] += direction * count
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
        np.divide(out, lengths, out=out, where=lengths > 0)
        return out


def _directions(known: "Floats", beside: "NDArray[int8]") -> "Floats":
    """The directions of the rows of each window, with length one. The windows have the same size, and the result for one does
    not depend on how many there are."""
    import numpy as np

    learnt, (windows, count, _) = _layers(), known.shape
    tiles = -(-(1 + count) // TILE)
    tall = -(-(1 + count) // tiles)
    rows = np.zeros((windows, tiles * tall, WIDTH), np.float32)
    rows[:, 1 : 1 + count] = known  # before them [CLS], which is empty in the table: looked at, never summed
    x = rows * learnt.scale
    x[:, : 1 + count] += learnt.places[: 1 + count]
    more = np.zeros((windows, tiles * tall, TOLD_BESIDE), np.float32)
    more[:, 1 : 1 + count] = beside
    _add(x, more.reshape(1, windows * tiles, tall, TOLD_BESIDE), learnt.lift)
    x -= np.add.reduce(x, axis=-1, keepdims=True) / np.float32(WIDTH)
    for layer in learnt.layers:
        _attend(x, layer, tiles, 1 + count)
        _think(x, layer, tiles)
    x = _normed(x)
    weights = np.tanh(x.reshape(windows, tiles, tall, WIDTH) @ learnt.gate + learnt.gate_add)
    weights += 1
    found: Floats = (weights[..., None, :] @ rows.reshape(windows, tiles, tall, WIDTH)).sum(axis=1)[:, 0]
    middle = np.add.reduce(x[:, 1 : 1 + count], axis=1) / np.float32(count)
    found += (middle[:, None, None] @ learnt.out).reshape(found.shape)
    found += learnt.out_add
    found /= np.sqrt(np.einsum("ij,ij->i", found, found))[:, None] + np.float32(1e-9)
    return found


def _normed(x: "Floats") -> "Floats":
    """Each row, whose mean is zero, scaled to variance one."""
    import numpy as np

    spread = np.einsum("...i,...i->...", x, x)
    spread /= WIDTH
    spread += EPSILON
    np.sqrt(spread, out=spread)
    np.reciprocal(spread, out=spread)
    normed: Floats = np.multiply(x, spread[..., None], out=_room.of("normed", *x.shape))
    return normed


def _attend(x: "Floats", layer: Layer, tiles: int, count: int) -> None:
    """Adds to each row what it takes from the other rows of its window, of which there are `count`."""
    import numpy as np

    (windows, rows, _), (heads, size) = x.shape, layer.attend_add.shape
    tall = rows // tiles
    made = _product(_normed(x).reshape(1, windows * tiles, tall, WIDTH), layer.attend)
    asked, keys, values = made.reshape(windows, rows, 3, heads, size).transpose(2, 3, 0, 1, 4)
    asked += layer.attend_add[:, None, None]
    asked = asked.reshape(heads, windows, tiles, tall, size)
    keys, values = keys[:, :, None, :count], values[:, :, None, :count]
    scores = np.matmul(asked, keys.swapaxes(3, 4), out=_room.of("scores", heads, windows, tiles, tall, count))
    scores -= scores.max(axis=4, keepdims=True)
    np.exp(scores, out=scores)
    scores /= np.add.reduce(scores, axis=4, keepdims=True)
    seen = _room.of("narrow", windows, tiles, tall, heads, size)
    np.matmul(scores, values, out=seen.transpose(3, 0, 1, 2, 4))
    _add(x, seen.reshape(1, windows * tiles, tall, WIDTH), layer.join)
    x += layer.join_add


def _think(x: "Floats", layer: Layer, tiles: int) -> None:
    """Adds to each row what follows from it alone: widened, passed through an activation (GELU, by tanh), and narrowed."""
    import numpy as np

    many, tall = len(x) * tiles, x.shape[1] // tiles
    wide = _product(_normed(x).reshape(1, many, tall, WIDTH), layer.up)[0]
    wide += layer.up_add
    bent = np.multiply(wide, wide, out=_room.of("bent", *wide.shape))
    bent *= 0.0356774081  # √(2/π) · 0.044715
    bent += 0.7978845608  # √(2/π)
    bent *= wide
    np.tanh(bent, out=bent)
    bent += 1
    bent *= wide
    _add(x, bent.reshape(many, tall, len(layer.down), -1).transpose(2, 0, 1, 3), layer.down)
    x += layer.down_add


def _product(given: "Floats", matrix: "Floats") -> "Floats":
    """The product with each stretch of a matrix, strip by strip (ensured by `order`), so that each is fetched once."""
    import numpy as np

    (stretches, many, tall, _), strips = given.shape, matrix.shape[1]
    made = _room.of("wide", stretches, many, tall, strips, STRIP)
    np.matmul(given[:, None], matrix, out=made.transpose(0, 3, 1, 2, 4), order="C")
    return made.reshape(stretches, many, tall, -1)


def _add(x: "Floats", given: "Floats", matrix: "Floats") -> None:
    for each in _product(given, matrix):
        x += each.reshape(x.shape)
