"""The built-in encoder: a small transformer over the rows of the static table (docs/why/0032-an-encoder-of-our-own.md).

It gives each row its own weight and adds what their sum lacks. A text's vector is the same bit for bit whatever texts it is
computed with: only windows of the same size go through the layers together, and each is multiplied by itself.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memorist.fork import inside
from memorist.models import embed
from memorist.models.embed import FOLDER, about

Floats = NDArray[np.float32]

WIDTH = 256
TOLD_BESIDE = 64  # dimensions that the layers get for a token in addition to its row
WINDOW = 96  # tokens that see each other; a longer text is cut into windows
EPSILON = 1e-5
BLOCK = 64  # columns of a matrix that are stored together
TOGETHER = 224  # tokens of windows that go through the layers together: the matrices are fetched once for all of them

# OpenBLAS starts threads for more than 2¹⁸ multiplications; for products as small as these that costs more than it gains, and
# milliseconds on a busy machine. So rows are multiplied in tiles of at most TILE, by STRIP columns of at most WIDTH numbers.
TILE, STRIP = 32, 32


class Layer(NamedTuple):
    """One attention layer. Norms are part of the matrix after them, the 1/8 of the scores of the queries, and the half of the
    activation of the matrix that narrows."""

    attend: Floats
    attend_add: Floats
    join: Floats
    join_add: Floats
    think: Sequence[tuple[Floats, Floats, Floats]]  # widens, adds, narrows; in parts of WIDTH inner dimensions
    think_add: Floats


class Layers(NamedTuple):
    """Everything that is learnt besides the table. Matrices are in strips of columns."""

    layers: Sequence[Layer]
    beside: NDArray[np.int8]
    lift: Floats
    scale: Floats
    places: Floats
    gate: Floats
    gate_add: Floats
    out: Floats
    out_add: Floats


@cache  # two threads may both load it, once, with the same result
def loaded_layers() -> Layers:
    """The weights, in the order in which `tools/make_encoder/install.py` writes them."""
    inner = about("layered-256")["inner"]
    flat = np.load(FOLDER / "layered-256.npy").astype(np.float32)
    end = 0

    def take(rows: int, columns: int, block: int = WIDTH) -> Floats:
        """The next matrix, which is stored in blocks of columns."""
        nonlocal end
        end += rows * columns
        blocks = flat[end - rows * columns : end].reshape(-1, rows, min(block, columns))
        return np.ascontiguousarray(blocks.swapaxes(0, 1)).reshape(rows, columns)

    def strips(matrix: Floats) -> Floats:
        return np.ascontiguousarray(matrix.reshape(len(matrix), -1, STRIP).swapaxes(0, 1))

    scale, places, gate, gate_add = take(1, 1)[0], take(WINDOW + 1, WIDTH), take(1, WIDTH)[0], take(1, 1)[0]
    out, out_add, lift = strips(take(WIDTH, WIDTH, STRIP)), take(1, WIDTH)[0], strips(take(TOLD_BESIDE, WIDTH))
    layers = []
    for _ in range(about("layered-256")["layers"]):
        attend, attend_add = strips(take(WIDTH, 3 * WIDTH, BLOCK)), take(1, 3 * WIDTH)[0]
        join, join_add = strips(take(WIDTH, WIDTH)), take(1, WIDTH)[0]
        up, up_add, down, down_add = take(WIDTH, inner, BLOCK), take(1, inner)[0], take(inner, WIDTH), take(1, WIDTH)[0]
        parts = [slice(start, start + WIDTH) for start in range(0, inner, WIDTH)]
        think = [(strips(up[:, part]), up_add[part], strips(down[part])) for part in parts]
        layers.append(Layer(attend, attend_add, join, join_add, think, down_add))
    beside = np.asarray(np.load(FOLDER / "layered-256.beside.npy", mmap_mode="r"))
    return Layers(layers, beside, lift, scale, places, gate, gate_add, out, out_add)


class LayeredEmbedder:
    """Embeds texts with the table and the layers, in about a millisecond per note."""

    cheap, dimension = True, WIDTH

    def __init__(self) -> None:
        self.name: str = f"layered-{WIDTH}@{about('layered-256')['identity'][:12]}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row per text, of length 1; a text without a known token gives zeros."""
        table = embed.loaded_table()
        windows: dict[int, list[tuple[int, NDArray[np.int_]]]] = {}  # by number of tokens
        for place, text in enumerate(texts):
            ids = np.array(table.tokens.ids(text), np.int_)
            for start in range(0, len(ids), WINDOW):
                window = ids[start : start + WINDOW]
                window = window[table.rows[window].any(axis=1)]  # the table does not know the others: they add noise
                windows.setdefault(len(window), []).append((place, window))
        windows.pop(0, None)
        out = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for size in sorted(windows):  # so those of a text are added in the same order whatever the other texts are
            step = max(1, TOGETHER // size)
            for start in range(0, len(windows[size]), step):
                some = windows[size][start : start + step]
                ids = np.stack([window for _, window in some])
                with inside:  # even a small product is computed in memory that is handed out under a lock
                    directions = compute_directions(table.rows[ids] * table.scales[ids][..., None], ids)
                for (place, _), direction in zip(some, directions, strict=True):
                    out[place] += direction * size
        return embed.scale_to_one(out)


def compute_directions(known: Floats, ids: NDArray[np.int_]) -> Floats:
    """The direction of each window, with length one, from the rows of its tokens in the table."""
    learnt, (windows, size) = loaded_layers(), ids.shape
    count = 1 + size  # with [CLS] before them, which is empty in the table: looked at, never summed
    tiles = -(-count // TILE)
    tall = -(-count // tiles)
    rows = np.zeros((windows, tiles * tall, WIDTH), np.float32)
    rows[:, 1:count] = known
    more = np.zeros((windows, tiles * tall, TOLD_BESIDE), np.float32)
    more[:, 1:count] = learnt.beside[ids]
    x = rows * learnt.scale
    x[:, :count] += learnt.places[:count]
    x = x.reshape(windows * tiles, tall, WIDTH)
    x += _product(more.reshape(windows * tiles, tall, TOLD_BESIDE), learnt.lift)
    for layer in learnt.layers:
        x += _product(_attend(_product(_norm(x), layer.attend) + layer.attend_add, tiles, count), layer.join)
        x += layer.join_add
        normed = _norm(x)
        for widen, widen_add, narrow in layer.think:
            x += _product(_activate(_product(normed, widen) + widen_add), narrow)
        x += layer.think_add
    x = _norm(x).reshape(rows.shape)
    weights = np.tanh(np.einsum("ijk,k->ij", x, learnt.gate) + learnt.gate_add) + 1
    middle = x[:, 1:count].sum(axis=1, keepdims=True) / np.float32(size)
    directions: Floats = np.einsum("ij,ijk->ik", weights, rows)
    directions += _product(middle, learnt.out)[:, 0] + learnt.out_add
    directions /= np.sqrt(np.einsum("ij,ij->i", directions, directions))[:, None] + np.float32(1e-9)
    return directions


def _product(x: Floats, strips: Floats) -> Floats:
    """The product of each tile with a matrix, strip by strip (ensured by `order`), so that each strip is fetched once."""
    made = np.empty((*x.shape[:2], len(strips), STRIP), np.float32)
    np.matmul(x, strips[:, None], out=made.transpose(2, 0, 1, 3), order="C")
    return made.reshape(*x.shape[:2], -1)


def _norm(x: Floats) -> Floats:
    """Each row with mean zero and variance one."""
    centred: Floats = x - np.mean(x, axis=-1, keepdims=True, dtype=np.float32)
    spread = np.einsum("...i,...i->...", centred, centred) / np.float32(WIDTH)
    centred *= np.reciprocal(np.sqrt(spread + np.float32(EPSILON)))[..., None]
    return centred


def _attend(made: Floats, tiles: int, count: int) -> Floats:
    """What each row takes from the `count` rows of its window, by the queries, keys and values made of them."""
    (many, tall, _), windows, heads = made.shape, len(made) // tiles, WIDTH // BLOCK
    queries, keys, values = made.reshape(windows, tiles, tall, 3, heads, BLOCK).transpose(3, 4, 0, 1, 2, 5)
    keys, values = (each.reshape(heads, windows, 1, tiles * tall, BLOCK)[:, :, :, :count] for each in (keys, values))
    scores = queries @ keys.swapaxes(3, 4)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= np.add.reduce(scores, axis=-1, keepdims=True)
    taken = np.empty((windows, tiles, tall, heads, BLOCK), np.float32)
    np.matmul(scores, values, out=taken.transpose(3, 0, 1, 2, 4))
    return taken.reshape(many, tall, WIDTH)


def _activate(wide: Floats) -> Floats:
    """GELU, by tanh; twice its value, because the matrix that narrows has the half."""
    bent = wide * wide
    bent *= np.float32(0.0356774081)  # √(2/π) · 0.044715
    bent += np.float32(0.7978845608)  # √(2/π)
    bent *= wide
    np.tanh(bent, out=bent)
    bent += 1
    bent *= wide
    return bent
