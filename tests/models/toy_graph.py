"""Small but real models in the form in which such models are published: a graph, a tokenizer and their settings."""

import json
from pathlib import Path
from typing import Any

import numpy
import onnx
from onnx import helper, numpy_helper

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"the a heron stork nests near river weir on roof of mill ##s ##ing , .".split(),
]


def rows(size: int = 24, seed: int = 7) -> Any:
    """What the graph looks up: a row of numbers for each token."""
    return numpy.random.default_rng(seed).normal(0, 0.2, (len(WORDS), size)).astype(numpy.float32)


def write_model(folder: Path, size: int = 24, seed: int = 7, joined: bool = False, longest: int = 16) -> Path:
    """A model that looks up a row for each token; `joined` ones add up those that are masked, to one row a text."""
    folder.mkdir(parents=True, exist_ok=True)
    steps = [helper.make_node("Gather", ["rows", "input_ids"], ["tokens"])]
    more = [numpy_helper.from_array(rows(size, seed), "rows")]
    if joined:
        more += [numpy_helper.from_array(numpy.array([1]), "one"), numpy_helper.from_array(numpy.array([2]), "two")]
        steps += [
            helper.make_node("Cast", ["attention_mask"], ["mask"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["mask", "two"], ["tall"]),
            helper.make_node("Mul", ["tokens", "tall"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "one"], ["joined"], keepdims=0),
        ]
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["texts", "length"])
        for name in (("input_ids", "attention_mask") if joined else ("input_ids",))
    ]
    shape = ["texts", size] if joined else ["texts", "length", size]
    outputs = [helper.make_tensor_value_info("joined" if joined else "tokens", onnx.TensorProto.FLOAT, shape)]
    graph = helper.make_graph(steps, "toy", inputs, outputs, more)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    marks = [{"SpecialToken": {"id": mark, "type_id": 0}} for mark in ("[CLS]", "[SEP]")]
    one = [marks[0], {"Sequence": {"id": "A", "type_id": 0}}, marks[1]]
    two = [*one, {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    specials = {mark: {"id": mark, "ids": [WORDS.index(mark)], "tokens": [mark]} for mark in ("[CLS]", "[SEP]")}
    tokenizer = {
        "version": "1.0",
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": one, "pair": two, "special_tokens": specials},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {word: number for number, word in enumerate(WORDS)}},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": longest}))
    return folder
