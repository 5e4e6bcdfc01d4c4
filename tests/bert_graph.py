"""Small BERTs with seeded weights as folders, and their forward pass in numpy, to compare a converted graph with.

Names of weights are those under which such models are published, so that the one forward pass serves seeded toys in the unit
tests and a real model in `make test-onnx`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from memorist.models.convert import DISTILLED, KINDS_OF_TEXT, PLACES, WEIGHTS, WORD_ROWS, Bert, due, graph_of

Floats = NDArray[numpy.float32]
Weights = Mapping[str, Floats]
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"the a heron stork nests near river weir on roof of mill ##s ##ing , .".split(),
]


def seeded(
    layers: int = 2, size: int = 24, positions: int = 16, seed: int = 7, heads: int = 4, kinds: bool = True,
    judges: bool = False, **more: Any,
) -> Bert:  # fmt: skip
    """A small model over `WORDS`."""
    chance = numpy.random.default_rng(seed)

    def some(*shape: int) -> Floats:
        return chance.normal(0, 0.3, shape).astype(numpy.float32)

    found = {WORD_ROWS: some(len(WORDS), size), PLACES: some(positions, size)}
    found |= {KINDS_OF_TEXT: some(2, size)} if kinds else {}
    found |= {"classifier.weight": some(1, size)} if judges else {}
    found |= {f"encoder.layer.{layer}.intermediate.dense.bias": some(4 * size) for layer in range(layers)}
    bert = Bert(found, layers, heads, **more)
    for name, shape in due(bert):
        if name not in found:
            found[name] = some(*shape) + (1 if name.endswith("LayerNorm.weight") else 0)
    return bert


# ---------------------------------------------------------------- files


def write(bert: Bert, path: Path, pooled: bool = False) -> None:
    """The graph to the last layer, or to one vector of length one per text. Whatever is written is checked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    graph_of(bert).save(path)
    model = onnx.load(path)
    if pooled:
        _pool(model.graph, bert.size)
        path.write_bytes(model.SerializeToString())
    onnx.checker.check_model(model, full_check=True)


def _pool(graph: onnx.GraphProto, size: int) -> None:
    for name, value in (("second", [1]), ("third", [2])):
        graph.initializer.append(numpy_helper.from_array(numpy.asarray(value), name))
    for kind, given, name, attributes in (
        ("Cast", ["attention_mask"], "mask", {"to": onnx.TensorProto.FLOAT}),
        ("Unsqueeze", ["mask", "third"], "counted", {}),
        ("Mul", [graph.output[0].name, "counted"], "own", {}),
        ("ReduceSum", ["own", "second"], "total", {"keepdims": 0}),
        ("ReduceSum", ["counted", "second"], "tokens_of", {"keepdims": 0}),
        ("Div", ["total", "tokens_of"], "mean", {}),
        ("ReduceL2", ["mean", "second"], "length", {"keepdims": 1}),
        ("Div", ["mean", "length"], "vector", {}),
    ):
        graph.node.append(helper.make_node(kind, given, [name], **attributes))
    graph.output[0].CopyFrom(helper.make_tensor_value_info("vector", onnx.TensorProto.FLOAT, ["texts", size]))


KINDS_OF_NUMBER = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def write_weights(weights: Weights, path: Path, kind: str = "F32") -> None:
    """Such a file, with a number that is no weight in it, as old ones have."""
    told: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    content = b""
    for name, value in {**weights, "embeddings.position_ids": numpy.arange(16)}.items():
        is_weight = value.dtype == numpy.float32
        if is_weight and kind == "BF16":
            value = (value.view("<u4") >> 16).astype("<u2")
        raw = (value.astype(KINDS_OF_NUMBER[kind]) if is_weight else value).tobytes()
        told[name] = {"dtype": kind if is_weight else "I64", "shape": value.shape, "data_offsets": [len(content), len(content) + len(raw)]}  # fmt: skip # noqa: E501
        content += raw
    header = json.dumps(told).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + content)


def write_model(bert: Bert, folder: Path, kind: str = "F32", prefix: str = "", **config: Any) -> Path:
    """The folder of such a model as it is published."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {
        "model_type": "bert",
        "num_hidden_layers": bert.layers,
        "num_attention_heads": bert.heads,
        "hidden_act": bert.activation,
        "layer_norm_eps": bert.epsilon,
        "max_position_embeddings": bert.weights[PLACES].shape[0],
    }
    (folder / "config.json").write_text(json.dumps(said | config))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    write_weights({f"{prefix}{name}": value for name, value in bert.weights.items()}, folder / WEIGHTS, kind)
    return folder


def write_distilled(bert: Bert, folder: Path) -> Path:
    """The same under the names that DistilBERT has for everything."""
    names = {name: name for name in bert.weights}
    for new, old in reversed(DISTILLED):
        names = {name: spelled.replace(old, new) if _meant(name, old) else spelled for name, spelled in names.items()}
    renamed = replace(bert, weights={f"distilbert.{names[name]}": value for name, value in bert.weights.items()})
    folder.mkdir(parents=True)
    said = {"model_type": "distilbert", "n_layers": bert.layers, "n_heads": bert.heads, "activation": bert.activation}
    (folder / "config.json").write_text(json.dumps(said | {"max_position_embeddings": 16}))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    write_weights(renamed.weights, folder / WEIGHTS)
    return folder


def _meant(name: str, old: str) -> bool:
    """`output` is the name of a part of attention and of the part after it."""
    return old not in (".output.dense.", ".output.LayerNorm.") or "attention" not in name


# ---------------------------------------------------------------- the same in numpy


def forward(bert: Bert, ids: Sequence[int], first: int | None = None) -> Floats:
    """The last layer, a row for each token; from `first` on they are those of a second text."""
    weights, count = bert.weights, len(ids)
    state = weights[WORD_ROWS][list(ids)] + weights[PLACES][:count]
    if KINDS_OF_TEXT in weights:
        state = state + weights[KINDS_OF_TEXT][[int(first is not None and place >= first) for place in range(count)]]
    state = _norm(state, bert, "embeddings.LayerNorm")
    for layer in range(bert.layers):
        at = f"encoder.layer.{layer}."
        query, key, value = (
            _dense(state, bert, f"{at}attention.self.{part}").reshape(count, bert.heads, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / math.sqrt(query.shape[-1])
        shares = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True) @ value).swapaxes(0, 1).reshape(count, -1)
        state = _norm(
            _dense(mixed, bert, f"{at}attention.output.dense") + state, bert, f"{at}attention.output.LayerNorm"
        )
        inner = ACTIVE[bert.activation](_dense(state, bert, f"{at}intermediate.dense"))
        state = _norm(_dense(inner, bert, f"{at}output.dense") + state, bert, f"{at}output.LayerNorm")
    return state


def vector(bert: Bert, ids: Sequence[int], way: str = "mean") -> Floats:
    """The vector of one text, of length one."""
    state = forward(bert, ids)
    joined = state.mean(axis=0) if way == "mean" else state[0]
    return numpy.asarray(joined / numpy.linalg.norm(joined), numpy.float32)


def judged(bert: Bert, ids: Sequence[int], first: int) -> float:
    """What a cross-encoder says of a pair, from 0 to 1."""
    pooled = _dense(forward(bert, ids, first)[0], bert, "pooler.dense")
    squashed = numpy.tanh(pooled) if bert.squash == "Tanh" else numpy.maximum(pooled, 0)
    [logit] = _dense(squashed, bert, "classifier")
    return 1 / (1 + math.exp(-logit))


ACTIVE: Mapping[str, Any] = {
    "gelu": lambda x: x * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2))) / 2,
    "gelu_new": lambda x: x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "relu": lambda x: numpy.maximum(x, 0),
}


def _dense(given: Floats, bert: Bert, name: str) -> Floats:
    return numpy.asarray(given @ bert.weights[f"{name}.weight"].T + bert.weights[f"{name}.bias"])


def _norm(given: Floats, bert: Bert, name: str) -> Floats:
    centred = given - given.mean(-1, keepdims=True)
    spread = numpy.sqrt((centred**2).mean(-1, keepdims=True) + bert.epsilon)
    return numpy.asarray(centred / spread * bert.weights[f"{name}.weight"] + bert.weights[f"{name}.bias"])
