"""Converts the published weights of a BERT into an ONNX graph, operator by operator, with nothing but numpy.

Sentence models and cross-encoders are published as `model.safetensors` with a `config.json`; few come as a graph. The usual
tools for this step need gigabytes of packages, but the graph is a hundred lines of a simple format, so it is written here.
BERT and DistilBERT are supported, with 32-, 16- and bfloat16-bit weights. Everything the graph needs is looked up first, by
name and shape: a folder that is not such a model is refused with what is missing, and never half converted. The file of
weights is data and is read as such; a `pytorch_model.bin` is a program, and is not opened. The same weights give the same
bytes.
"""

import json
import math
import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.errors import Invalid, ModelUnavailable
from memorist.models.onnx import must_pool, table, vocabulary
from memorist.store.files import create_private, unfinished
from memorist.text.visible import quoted, visible

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Weights = Mapping[str, NDArray[float32]]

WEIGHTS = "model.safetensors"
SIZES = {"num_attention_heads": 1000, "num_hidden_layers": 1000, "max_position_embeddings": 1 << 20}  # at most
LARGEST_HEADER = 1 << 24  # bytes; for a model with a thousand weights it has a hundred thousand
LARGEST_GRAPH = (1 << 31) - (1 << 20)  # bytes; the limit of one such file
# What is copied to the converted folder: the vocabulary, and how it is used.
ALONG = ("config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json",
         "1_Pooling/config.json")  # fmt: skip
ELSEWHERE = "use such a model, or any other behind a server that answers /embeddings"
# The operator of an activation, and its attributes.
ACTIVATIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "gelu": ("Gelu", {}), "gelu_new": ("Gelu", {"approximate": "tanh"}), "relu": ("Relu", {}),
}  # fmt: skip
WORD_ROWS, PLACES, KINDS_OF_TEXT = (
    f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")
)
# DistilBERT has the same parts under other names, and no token types.
DISTILLED = (
    ("transformer.layer.", "encoder.layer."), (".q_lin.", ".self.query."), (".k_lin.", ".self.key."),
    (".v_lin.", ".self.value."), (".out_lin.", ".output.dense."), (".sa_layer_norm.", ".attention.output.LayerNorm."),
    (".ffn.lin1.", ".intermediate.dense."), (".ffn.lin2.", ".output.dense."),
    (".output_layer_norm.", ".output.LayerNorm."), ("pre_classifier.", "pooler.dense."),
)  # fmt: skip
DISTILLED_KEYS = {"num_attention_heads": "n_heads", "num_hidden_layers": "n_layers", "hidden_act": "activation"}


@dataclass(frozen=True, slots=True)
class Bert:
    """The weights of a model under BERT's names, and what else its graph depends on."""

    weights: "Weights"
    layers: int
    heads: int
    activation: str = "gelu"
    epsilon: float = 1e-12
    squash: str = "Tanh"  # applied to the first token before it is judged

    @property
    def size(self) -> int:
        return int(self.weights[WORD_ROWS].shape[1])

    @property
    def judges(self) -> bool:
        """Whether it is a cross-encoder."""
        return "classifier.weight" in self.weights


def convert(folder: Path, into: Path) -> Path:
    """Writes a folder with the ONNX graph of the model in `folder`, and returns it; it must not exist yet."""
    shown = visible(str(into)[:300])
    if into.exists():
        raise Invalid(f"{shown} is there already; name another folder")
    bert = read(folder)
    try:
        with unfinished(into) as partial:
            create_private(partial / "model.onnx")
            graph_of(bert).save(partial / "model.onnx")
            for name in ALONG:
                if (folder / name).is_file():
                    (partial / name).parent.mkdir(exist_ok=True)
                    shutil.copyfile(folder / name, partial / name)
            partial.rename(into)
    except OSError as problem:
        raise ModelUnavailable(f"{shown} cannot be written ({problem.strerror or problem})") from problem
    return into


# ---------------------------------------------------------------- what is in the folder


def read(folder: Path) -> Bert:
    """The model in that folder; raises with the reason if it cannot be converted."""
    shown, config = visible(str(folder)[:300]), table(folder / "config.json")
    _must_be_there(folder, shown)
    distilled = _architecture(config, shown) == "distilbert"
    words = vocabulary(folder)
    found = dict(_named(safetensors(folder / WEIGHTS), distilled))

    def told(key: str, usual: Any = None) -> Any:
        return config.get(DISTILLED_KEYS.get(key, key) if distilled else key, usual)

    for key, most in SIZES.items():
        if type(told(key)) is not int or not 1 <= told(key) <= most:
            raise Invalid(f"config.json in {shown} does not say {key}; download the model again")
    if told("hidden_act", "gelu") not in ACTIVATIONS:
        act = quoted(told("hidden_act"))
        raise Invalid(f"the model in {shown} has the activation {act}; {', '.join(ACTIVATIONS)} are known")
    epsilon = float(told("layer_norm_eps", 1e-12))
    squash = "Relu" if distilled else "Tanh"
    heads, layers = told("num_attention_heads"), told("num_hidden_layers")
    bert = Bert(found, layers, heads, told("hidden_act", "gelu"), epsilon, squash)
    _must_be_whole(bert, len(words), told("max_position_embeddings"), shown)
    if not bert.judges:
        must_pool(folder)
    return bert


def _must_be_there(folder: Path, shown: str) -> None:
    if (folder / WEIGHTS).is_file() and (folder / "config.json").is_file():
        return
    if not folder.is_dir():
        raise Invalid(f"there is no folder {shown}")
    if list(folder.glob("*.safetensors.index.json")):
        raise Invalid(f"the weights in {shown} lie in several files; only one {WEIGHTS} can be converted")
    if not (folder / WEIGHTS).is_file() and (folder / "pytorch_model.bin").is_file():
        raise Invalid(
            f"the weights in {shown} are a pytorch_model.bin, a kind of program that memorist does not open; download the "
            f"model as {WEIGHTS}"
        )
    missing = [name for name in (WEIGHTS, "config.json") if not (folder / name).is_file()]
    raise Invalid(
        f"{shown} holds no ONNX graph (model.onnx, onnx/model.onnx), and no weights to make one of: {' and '.join(missing)} "
        "missing; name the folder of a sentence model or cross-encoder"
    )


def _architecture(config: Mapping[str, Any], shown: str) -> str:
    kind = config.get("model_type")
    if kind not in ("bert", "distilbert"):
        raise Invalid(
            f"the model in {shown} is of the architecture {quoted(kind)}; bert and distilbert can be converted: {ELSEWHERE}"
        )
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise Invalid(f"the model in {shown} counts places in a way of its own, which cannot be converted: {ELSEWHERE}")
    return str(kind)


def _named(weights: "Weights", distilled: bool) -> "Iterator[tuple[str, NDArray[float32]]]":
    """The weights under the names of a bare BERT, whatever the surrounding model is called."""
    for given, value in weights.items():
        name = given.removeprefix("distilbert." if distilled else "bert.")
        for old, new in DISTILLED if distilled else (("LayerNorm.gamma", "LayerNorm.weight"),
                                                     ("LayerNorm.beta", "LayerNorm.bias")):  # fmt: skip
            name = name.replace(old, new)
        yield name, value


def due(bert: Bert) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every weight of the graph, with its shape. `-1` is any size."""
    size = bert.size
    yield from ((WORD_ROWS, (-1, size)), (PLACES, (-1, size)))
    if KINDS_OF_TEXT in bert.weights:
        yield KINDS_OF_TEXT, (-1, size)
    yield from _scaled("embeddings.LayerNorm", size)
    for layer in range(bert.layers):
        at = f"encoder.layer.{layer}."
        inner = int(bert.weights.get(f"{at}intermediate.dense.bias", bert.weights[WORD_ROWS]).shape[0])
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            yield from _dense(at + part, size, size)
        yield from (*_dense(f"{at}intermediate.dense", inner, size), *_dense(f"{at}output.dense", size, inner))
        yield from (*_scaled(f"{at}attention.output.LayerNorm", size), *_scaled(f"{at}output.LayerNorm", size))
    if bert.judges:
        yield from (*_dense("pooler.dense", size, size), *_dense("classifier", 1, size))


def _dense(name: str, gives: int, takes: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield from ((f"{name}.weight", (gives, takes)), (f"{name}.bias", (gives,)))


def _scaled(name: str, size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield from ((f"{name}.weight", (size,)), (f"{name}.bias", (size,)))


def _must_be_whole(bert: Bert, words: int, longest: int, shown: str) -> None:
    weights = bert.weights
    _must_have_all(bert, shown)
    if bert.size % bert.heads:
        raise Invalid(
            f"{bert.size:,} numbers cannot be split among {bert.heads:,} heads; config.json in {shown} is wrong"
        )
    if words > weights[WORD_ROWS].shape[0] or longest > weights[PLACES].shape[0]:
        raise Invalid(f"the vocabulary or config.json in {shown} is of another model than its weights")
    if sum(weights[name].nbytes for name, _ in due(bert)) > LARGEST_GRAPH:
        raise Invalid(f"the model in {shown} is too large for one graph (2 GB); {ELSEWHERE}")


def _must_have_all(bert: Bert, shown: str) -> None:
    weights = bert.weights
    if WORD_ROWS not in weights or weights[WORD_ROWS].ndim != 2:
        raise Invalid(f"the weights in {shown} are not those of a BERT: there is no {WORD_ROWS}; {ELSEWHERE}")
    if bert.judges and weights["classifier.weight"].shape[0] != 1:
        raise Invalid(
            f"the model in {shown} sorts texts into {weights['classifier.weight'].shape[0]:,} classes; a cross-encoder gives one "
            "number"
        )
    for name, shape in due(bert):
        if name not in weights or not _fits(weights[name].shape, shape):
            has = weights[name].shape if name in weights else "none"
            raise Invalid(
                f"the weights in {shown} lack {name} of shape {shape} (it has {has}); download the model again"
            )


def _fits(has: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(has) == len(shape) and all(size > 0 and due in (-1, size) for size, due in zip(has, shape, strict=True))


def safetensors(file: Path) -> "Weights":
    """The weights of such a file as 32-bit numbers: a header that says where each lies, then the bytes."""
    import numpy

    shown = visible(str(file)[:300])
    try:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            if size > LARGEST_HEADER:
                raise ValueError("that is no header")
            header = json.loads(opened.read(size))
        content = numpy.memmap(file, numpy.uint8, "r", 8 + size)
        told = {name: each for name, each in header.items() if name != "__metadata__"}
        return {name: array for name, each in told.items() if (array := _array(content, each)) is not None}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise ModelUnavailable(
            f"{shown} is not a whole file of safetensors ({type(problem).__name__}); download it again"
        ) from problem


def _array(content: Any, told: Mapping[str, Any]) -> "NDArray[float32] | None":
    """One weight; None for a type of numbers that is not used for weights."""
    import numpy

    start, end = told["data_offsets"]
    if not 0 <= start <= end <= len(content):
        raise ValueError("a weight lies outside of the file")
    raw, shape, kind = content[start:end], [int(size) for size in told["shape"]], told["dtype"]
    if kind == "BF16":  # the upper half of a 32-bit number
        return numpy.asarray((raw.view("<u2").astype("<u4") << 16).view("<f4").reshape(shape))
    if kind not in ("F32", "F16"):
        return None
    return numpy.ascontiguousarray(raw.view("<f4" if kind == "F32" else "<f2").reshape(shape), "<f4")


# ---------------------------------------------------------------- the graph


def graph_of(bert: Bert) -> "Graph":
    """The graph from ids and mask to the last layer, one row per token; for a cross-encoder, to one number per pair."""
    graph = Graph({name: bert.weights[name] for name, _ in due(bert)})
    state = _embedded(graph, bert)
    hidden = graph.add("Sub", graph.floats(1.0), graph.add("Cast", "attention_mask", to=FLOAT))
    hidden = graph.add("Unsqueeze", graph.add("Mul", hidden, graph.floats(-1e9)), graph.whole([1, 2]))
    for layer in range(bert.layers):
        state = _layer(graph, bert, state, f"encoder.layer.{layer}.", hidden)
    if bert.judges:
        first = graph.add("Gather", state, graph.whole(0), axis=1)
        squashed = graph.add(bert.squash, graph.dense(first, "pooler.dense"))
        graph.gives(graph.dense(squashed, "classifier"), ("texts", 1))
    else:
        graph.gives(state, ("texts", "tokens", bert.size))
    return graph


def _embedded(graph: "Graph", bert: Bert) -> str:
    total = graph.add("Gather", WORD_ROWS, graph.takes("input_ids"))
    graph.takes("attention_mask")
    length = graph.add("Slice", graph.add("Shape", "input_ids"), graph.whole([1]), graph.whole([2]))
    total = graph.add("Add", total, graph.add("Slice", PLACES, graph.whole([0]), length, graph.whole([0])))
    if KINDS_OF_TEXT in bert.weights:
        total = graph.add("Add", total, graph.add("Gather", KINDS_OF_TEXT, graph.takes("token_type_ids")))
    return graph.normalised(total, "embeddings.LayerNorm", bert.epsilon)


def _layer(graph: "Graph", bert: Bert, state: str, at: str, hidden: str) -> str:
    def heads(part: str, order: Sequence[int]) -> str:
        split = graph.whole([0, 0, bert.heads, bert.size // bert.heads])
        return graph.add(
            "Transpose", graph.add("Reshape", graph.dense(state, f"{at}attention.self.{part}"), split), perm=order
        )

    scores = graph.add("MatMul", heads("query", (0, 2, 1, 3)), heads("key", (0, 2, 3, 1)))
    scores = graph.add("Div", scores, graph.floats(math.sqrt(bert.size / bert.heads)))
    shares = graph.add("Softmax", graph.add("Add", scores, hidden), axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", shares, heads("value", (0, 2, 1, 3))), perm=(0, 2, 1, 3))
    joined = graph.add("Reshape", mixed, graph.whole([0, 0, bert.size]))
    attended = graph.add("Add", graph.dense(joined, f"{at}attention.output.dense"), state)
    attended = graph.normalised(attended, f"{at}attention.output.LayerNorm", bert.epsilon)
    operator, told = ACTIVATIONS[bert.activation]
    inner = graph.add(operator, graph.dense(attended, f"{at}intermediate.dense"), **told)
    total = graph.add("Add", graph.dense(inner, f"{at}output.dense"), attended)
    return graph.normalised(total, f"{at}output.LayerNorm", bert.epsilon)


# ---------------------------------------------------------------- as a file
# ONNX is a protocol buffer: a message is a sequence of fields, each with its number, and a field is a number, four bytes, or a
# length and as many bytes, which may be a message again. Messages are kept as their pieces until they are written, so that
# weights are never copied. The field numbers are those of onnx.proto.

FLOAT, INT64 = 1, 7
OPSET, IR_VERSION = 20, 10
Piece = bytes | memoryview
Pieces = list[Piece]


class Graph:
    """Collects nodes; `add` and the like return the name of their node's output."""

    def __init__(self, weights: "Weights") -> None:
        self._nodes: Pieces = []
        self._constants: Pieces = []
        self._takes: Pieces = []
        self._gives: Pieces = []
        self._count = 0
        for name, value in weights.items():
            self._constant(name, value)

    def add(self, kind: str, *given: str, **attributes: Any) -> str:
        name = self._fresh(kind)
        told = [piece for key, value in attributes.items() for piece in _inside(5, _attribute(key, value))]
        node = [*(_text(1, each) for each in given), _text(2, name), _text(4, kind), *told]
        self._nodes += _inside(1, node)
        return name

    def whole(self, value: object) -> str:
        import numpy

        return self._constant(self._fresh("whole"), numpy.asarray(value, "<i8"))

    def floats(self, value: float) -> str:
        import numpy

        return self._constant(self._fresh("number"), numpy.asarray(value, "<f4"))

    def dense(self, given: str, name: str) -> str:
        turned = self.add("Transpose", f"{name}.weight", perm=(1, 0))
        return self.add("Add", self.add("MatMul", given, turned), f"{name}.bias")

    def normalised(self, given: str, name: str, epsilon: float) -> str:
        return self.add("LayerNormalization", given, f"{name}.weight", f"{name}.bias", axis=-1, epsilon=epsilon)

    def takes(self, name: str) -> str:
        self._takes += _inside(11, _shaped(name, INT64, ("texts", "tokens")))
        return name

    def gives(self, name: str, shape: Sequence[int | str]) -> None:
        self._gives = _inside(12, _shaped(name, FLOAT, shape))

    def save(self, path: Path) -> None:
        graph = [*self._nodes, _text(2, "bert"), *self._constants, *self._takes, *self._gives]
        opset = _inside(8, [_text(1, ""), _whole(2, OPSET)])
        with path.open("wb") as file:
            file.writelines([_whole(1, IR_VERSION), _text(2, "memorist"), *_inside(7, graph), *opset])

    def _fresh(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count}"

    def _constant(self, name: str, value: "NDArray[Any]") -> str:
        kind = FLOAT if value.dtype.kind == "f" else INT64
        raw = value.reshape(-1).view("u1").data
        dims: Pieces = [_whole(1, size) for size in value.shape]
        self._constants += _inside(5, [*dims, _whole(2, kind), _text(8, name), *_inside(9, [raw])])
        return name


def _attribute(name: str, value: Any) -> Pieces:
    if isinstance(value, float):
        return [_text(1, name), _key(2, 5) + struct.pack("<f", value), _whole(20, 1)]
    if isinstance(value, str):
        return [_text(1, name), _text(4, value), _whole(20, 3)]
    if isinstance(value, int):
        return [_text(1, name), _whole(3, value), _whole(20, 2)]
    return [_text(1, name), *(_whole(8, each) for each in value), _whole(20, 7)]


def _shaped(name: str, kind: int, shape: Sequence[int | str]) -> Pieces:
    sizes = [_whole(1, size) if isinstance(size, int) else _text(2, size) for size in shape]
    dims = [piece for size in sizes for piece in _inside(1, [size])]
    return [_text(1, name), *_inside(2, _inside(1, [_whole(1, kind), *_inside(2, dims)]))]


def _inside(field: int, pieces: Sequence[Piece]) -> Pieces:
    return [_key(field, 2) + _varint(sum(map(len, pieces))), *pieces]


def _text(field: int, text: str) -> bytes:
    return b"".join(_inside(field, [text.encode()]))


def _whole(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value & (1 << 64) - 1)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(value: int) -> bytes:
    """Seven bits per byte, lowest first; the eighth says that more follow."""
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
