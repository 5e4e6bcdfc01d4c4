"""A BERT as an ONNX graph, written operator by operator from its weights, and the same in numpy to compare it with.

Names of weights are those under which such models are published, so that the one writer serves seeded toys in the unit tests
and a real model in `make test-onnx`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Floats = NDArray[numpy.float32]
Weights = Mapping[str, Floats]
EPSILON = 1e-12
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"the a heron stork nests near river weir on roof of mill ##s ##ing , .".split(),
]


def seeded(layers: int = 2, size: int = 24, positions: int = 16, seed: int = 7) -> dict[str, Floats]:
    """Weights for a small model over `WORDS`."""
    chance = numpy.random.default_rng(seed)

    def some(*shape: int) -> Floats:
        return chance.normal(0, 0.3, shape).astype(numpy.float32)

    found = {
        "embeddings.word_embeddings.weight": some(len(WORDS), size),
        "embeddings.position_embeddings.weight": some(positions, size),
        "embeddings.token_type_embeddings.weight": some(2, size),
        "embeddings.LayerNorm.weight": some(size) + 1,
        "embeddings.LayerNorm.bias": some(size),
    }
    for layer in range(layers):
        at = f"encoder.layer.{layer}."
        parts = {f"attention.self.{part}": (size, size) for part in ("query", "key", "value")}
        parts |= {"attention.output.dense": (size, size), "intermediate.dense": (4 * size, size)}
        parts["output.dense"] = (size, 4 * size)
        for part, shape in parts.items():
            found |= {f"{at}{part}.weight": some(*shape), f"{at}{part}.bias": some(shape[0])}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            found |= {f"{at}{part}.weight": some(size) + 1, f"{at}{part}.bias": some(size)}
    return found


def layers_of(weights: Weights) -> int:
    return len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})


# ---------------------------------------------------------------- the graph


class Graph:
    """Collects nodes; each method gives the name of what its node gives."""

    def __init__(self, weights: Weights) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]

    def add(self, kind: str, *given: str, **attributes: object) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(given), [name], **attributes))
        return name

    def constant(self, value: object, kind: type = numpy.int64) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(value, kind), name))
        return name

    def dense(self, given: str, name: str) -> str:
        turned = self.add("Transpose", f"{name}.weight", perm=[1, 0])
        return self.add("Add", self.add("MatMul", given, turned), f"{name}.bias")

    def normalised(self, given: str, name: str) -> str:
        return self.add("LayerNormalization", given, f"{name}.weight", f"{name}.bias", axis=-1, epsilon=EPSILON)

    def heads(self, given: str, count: int, size: int, order: Sequence[int]) -> str:
        split = self.add("Reshape", given, self.constant([0, 0, count, size // count]))
        return self.add("Transpose", split, perm=list(order))


def write(weights: Weights, heads: int, path: Path, pooled: bool = False) -> None:
    """The graph from ids and mask to the last layer, or to one vector of length one per text."""
    size = weights["embeddings.word_embeddings.weight"].shape[1]
    graph = Graph(weights)
    state = _embedded(graph)
    mask = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    hidden = graph.add("Sub", graph.constant(1.0, numpy.float32), mask)
    hidden = graph.add("Mul", hidden, graph.constant(-1e9, numpy.float32))
    hidden = graph.add("Unsqueeze", hidden, graph.constant([1, 2]))
    for layer in range(layers_of(weights)):
        state = _layer(graph, state, f"encoder.layer.{layer}.", heads, size, hidden)
    shape = ["texts", size] if pooled else ["texts", "tokens", size]
    last = _pooled(graph, state, mask) if pooled else state
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in
              ("input_ids", "attention_mask", "token_type_ids")]  # fmt: skip
    output = helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)
    model = helper.make_model(
        helper.make_graph(graph.nodes, "bert", inputs, [output], graph.constants),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=10,
    )
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())


def _embedded(graph: Graph) -> str:
    words = graph.add("Gather", "embeddings.word_embeddings.weight", "input_ids")
    kinds = graph.add("Gather", "embeddings.token_type_embeddings.weight", "token_type_ids")
    length = graph.add("Slice", graph.add("Shape", "input_ids"), graph.constant([1]), graph.constant([2]))
    places = graph.add(
        "Slice", "embeddings.position_embeddings.weight", graph.constant([0]), length, graph.constant([0])
    )
    return graph.normalised(graph.add("Add", graph.add("Add", words, kinds), places), "embeddings.LayerNorm")


def _layer(graph: Graph, state: str, at: str, heads: int, size: int, hidden: str) -> str:
    query = graph.heads(graph.dense(state, f"{at}attention.self.query"), heads, size, (0, 2, 1, 3))
    key = graph.heads(graph.dense(state, f"{at}attention.self.key"), heads, size, (0, 2, 3, 1))
    value = graph.heads(graph.dense(state, f"{at}attention.self.value"), heads, size, (0, 2, 1, 3))
    scores = graph.add("Div", graph.add("MatMul", query, key), graph.constant(math.sqrt(size / heads), numpy.float32))
    weighed = graph.add("MatMul", graph.add("Softmax", graph.add("Add", scores, hidden), axis=-1), value)
    joined = graph.add("Reshape", graph.add("Transpose", weighed, perm=[0, 2, 1, 3]), graph.constant([0, 0, size]))
    attended = graph.add("Add", graph.dense(joined, f"{at}attention.output.dense"), state)
    attended = graph.normalised(attended, f"{at}attention.output.LayerNorm")
    inner = graph.add("Gelu", graph.dense(attended, f"{at}intermediate.dense"))
    return graph.normalised(
        graph.add("Add", graph.dense(inner, f"{at}output.dense"), attended), f"{at}output.LayerNorm"
    )


def _pooled(graph: Graph, state: str, mask: str) -> str:
    counted = graph.add("Unsqueeze", mask, graph.constant([2]))
    total = graph.add("ReduceSum", graph.add("Mul", state, counted), graph.constant([1]), keepdims=0)
    mean = graph.add("Div", total, graph.add("ReduceSum", counted, graph.constant([1]), keepdims=0))
    return graph.add("Div", mean, graph.add("ReduceL2", mean, graph.constant([1]), keepdims=1))


# ---------------------------------------------------------------- the same in numpy


def forward(weights: Weights, heads: int, ids: Sequence[int]) -> Floats:
    """The vector of one text: the mean of the last layer, of length one."""
    state = weights["embeddings.word_embeddings.weight"][list(ids)]
    state = state + weights["embeddings.position_embeddings.weight"][: len(ids)]
    state = _norm(state + weights["embeddings.token_type_embeddings.weight"][0], weights, "embeddings.LayerNorm")
    for layer in range(layers_of(weights)):
        at = f"encoder.layer.{layer}."
        query, key, value = (
            _dense(state, weights, f"{at}attention.self.{part}").reshape(len(ids), heads, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / math.sqrt(query.shape[-1])
        shares = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True) @ value).swapaxes(0, 1).reshape(len(ids), -1)
        state = _norm(
            _dense(mixed, weights, f"{at}attention.output.dense") + state, weights, f"{at}attention.output.LayerNorm"
        )
        inner = _dense(state, weights, f"{at}intermediate.dense")
        inner = inner * (1 + numpy.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        state = _norm(_dense(inner, weights, f"{at}output.dense") + state, weights, f"{at}output.LayerNorm")
    mean = state.mean(axis=0)
    return numpy.asarray(mean / numpy.linalg.norm(mean), numpy.float32)


def _dense(given: Floats, weights: Weights, name: str) -> Floats:
    return numpy.asarray(given @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])


def _norm(given: Floats, weights: Weights, name: str) -> Floats:
    centred = given - given.mean(-1, keepdims=True)
    spread = numpy.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    return numpy.asarray(centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"])


# ---------------------------------------------------------------- files


def read_safetensors(path: Path) -> dict[str, Floats]:
    """The 32-bit weights of such a file: a header that says where each lies, then the bytes."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    found: dict[str, Floats] = {}
    for name, told in json.loads(content[8 : 8 + size]).items():
        if name != "__metadata__" and told["dtype"] == "F32":
            start, end = (8 + size + place for place in told["data_offsets"])
            found[name] = numpy.frombuffer(content[start:end], numpy.float32).reshape(told["shape"])
    return found
