"""A model from its published weights as a graph: it gives what the weights say, and what is no such model is refused."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bert_graph
from memorist.errors import Invalid, MemoristError, ModelUnavailable
from memorist.models.convert import WEIGHTS, Bert, convert, read, safetensors
from memorist.models.embed import checked
from memorist.models.onnx import OnnxEmbedder, OnnxReranker

TEXTS = ["The heron nests near the river", "a stork", "", "unseen words, mills", "the mill " * 30]
PAIRS = ("does the heron nest near the weir?", TEXTS)


def pools(folder: Path, **said: Any) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(said))


def vectors(folder: Path) -> Any:
    embedder = OnnxEmbedder(folder)
    return checked(embedder, TEXTS), [embedder._ids(text) for text in TEXTS]


# ---------------------------------------------------------------- what it gives

SHAPES: dict[str, Bert] = {
    "usual": bert_graph.seeded(),
    "without kinds of text": bert_graph.seeded(kinds=False),
    "one layer, one head": bert_graph.seeded(layers=1, size=10, heads=1, positions=9),
    "another activation": bert_graph.seeded(activation="gelu_new"),
    "a third one, and a larger epsilon": bert_graph.seeded(activation="relu", epsilon=1e-2),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", ["mean", "cls"])
def test_a_converted_model_gives_what_its_weights_say(shape: str, way: str, tmp_path: Path) -> None:
    bert = SHAPES[shape]
    folder = bert_graph.write_model(bert, tmp_path / "toy")
    pools(folder, **{f"pooling_mode_{each}": each.startswith(way) for each in ("cls_token", "mean_tokens")})
    found, ids = vectors(convert(folder, tmp_path / "made" / "toy"))
    due = numpy.stack([bert_graph.vector(bert, own, way) for own in ids])
    assert found.shape == (len(TEXTS), bert.size) and numpy.allclose(found, due, atol=1e-4)
    onnx.checker.check_model(onnx.load(tmp_path / "made" / "toy" / "model.onnx"), full_check=True)


@pytest.mark.parametrize("squash", ["Tanh", "Relu"])
def test_a_converted_cross_encoder_judges_as_its_weights_say(squash: str, tmp_path: Path) -> None:
    bert = bert_graph.seeded(judges=True, squash=squash, kinds=squash == "Tanh")
    written = bert_graph.write_model if squash == "Tanh" else bert_graph.write_distilled
    reranker = OnnxReranker(convert(written(bert, tmp_path / "toy"), tmp_path / "made"))
    found = reranker(*PAIRS)
    pairs = [reranker._pair(reranker._tokens.ids(PAIRS[0]), reranker._tokens.ids(text)) for text in TEXTS]
    assert numpy.allclose(found, [bert_graph.judged(bert, *pair) for pair in pairs], atol=1e-4)
    assert max(len(ids) for ids, _ in pairs) == 16 and len(set(found)) == len(TEXTS)
    assert reranker("", []) == []


@pytest.mark.parametrize("prefix", ["", "bert."])
@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_weights_come_in_three_widths_and_under_two_names(kind: str, prefix: str, tmp_path: Path) -> None:
    bert = bert_graph.seeded()
    found, ids = vectors(convert(bert_graph.write_model(bert, tmp_path / "toy", kind, prefix), tmp_path / "made"))
    due = numpy.stack([bert_graph.vector(bert, own) for own in ids])
    assert float((found * due).sum(axis=1).min()) > (0.999 if kind == "BF16" else 0.99999)


def test_a_distilled_one_has_other_names_for_the_same(tmp_path: Path) -> None:
    bert = bert_graph.seeded(kinds=False)
    found, ids = vectors(convert(bert_graph.write_distilled(bert, tmp_path / "toy"), tmp_path / "made"))
    assert numpy.allclose(found, numpy.stack([bert_graph.vector(bert, own) for own in ids]), atol=1e-4)


def test_old_names_of_a_norm_are_known(tmp_path: Path) -> None:
    folder = bert_graph.write_model(bert_graph.seeded(), tmp_path / "toy")
    due, _ = vectors(convert(folder, tmp_path / "made"))
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    renamed = {re.sub(r"LayerNorm\.\w+", lambda m: old[m[0]], k): v for k, v in bert_graph.seeded().weights.items()}
    bert_graph.write_weights(renamed, folder / WEIGHTS)
    assert numpy.array_equal(vectors(convert(folder, tmp_path / "again"))[0], due)


def test_the_same_weights_give_the_same_bytes_and_the_folder_is_whole(tmp_path: Path) -> None:
    folder = bert_graph.write_model(bert_graph.seeded(), tmp_path / "toy")
    pools(folder, pooling_mode_mean_tokens=True)
    first, second = (convert(folder, tmp_path / name / "toy") for name in ("one", "two"))
    graphs = {hashlib.sha256((each / "model.onnx").read_bytes()).hexdigest() for each in (first, second)}
    assert len(graphs) == 1 and OnnxEmbedder(first).name == OnnxEmbedder(second).name
    files = sorted(str(each.relative_to(first)) for each in first.rglob("*") if each.is_file())
    assert files == ["1_Pooling/config.json", "config.json", "model.onnx", "vocab.txt"]
    with pytest.raises(Invalid, match="is there already"):
        convert(folder, first)


# ---------------------------------------------------------------- what is refused

Spoils = Callable[[Path], object]


def says(**config: Any) -> Spoils:
    return lambda folder: (folder / "config.json").write_text(
        json.dumps({**json.loads((folder / "config.json").read_text()), **config})
    )


def without(name: str) -> Spoils:
    weights = {key: value for key, value in bert_graph.seeded().weights.items() if key != name}
    return lambda folder: bert_graph.write_weights(weights, folder / WEIGHTS)


def cut(folder: Path) -> None:
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[:-5000])


REFUSED: dict[str, Spoils] = {
    "'roberta'; bert and distilbert can be converted": says(model_type="roberta"),
    "architecture None": lambda folder: (folder / "config.json").write_text("{}"),
    "counts places in a way of its own": says(position_embedding_type="relative_key"),
    "does not say num_attention_heads": says(num_attention_heads="many"),
    "activation 'silu'; gelu, gelu_new, relu": says(hidden_act="silu"),
    "cannot be split among 5 heads": says(num_attention_heads=5),
    r"lack encoder\.layer\.2\.attention\.self\.query\.weight of shape \(24, 24\) \(it has none\)": says(
        num_hidden_layers=3
    ),
    r"lack encoder\.layer\.1\.output\.dense\.bias": without("encoder.layer.1.output.dense.bias"),
    r"there is no embeddings\.word_embeddings": without("embeddings.word_embeddings.weight"),
    "is of another model than its weights": says(max_position_embeddings=512),
    "not a whole file of safetensors": cut,
    "whole file of safetensors": lambda folder: (folder / WEIGHTS).write_bytes(b"PK"),
    "in several files": lambda folder: (folder / WEIGHTS).rename(folder / "model.safetensors.index.json"),
    "a kind of program": lambda folder: (folder / WEIGHTS).rename(folder / "pytorch_model.bin"),
    "model.safetensors missing": lambda folder: (folder / WEIGHTS).unlink(),
    "config.json missing": lambda folder: (folder / "config.json").unlink(),
    "no vocab.txt": lambda folder: (folder / "vocab.txt").unlink(),
    "tells capitals": lambda folder: (folder / "tokenizer.json").write_text('{"normalizer": {"lowercase": false}}'),
    "a part 'Dense'": lambda folder: (folder / "modules.json").write_text('[{"type": "sentence_transformers.models.Dense"}]'),
    "joins its tokens by max;": lambda folder: pools(folder, pooling_mode_max_tokens=True),
    "joins its tokens by mean_sqrt_len": lambda folder: pools(folder, pooling_mode_mean_sqrt_len_tokens=True),
    "joins its tokens by lasttoken": lambda folder: pools(folder, pooling_mode="lasttoken"),
}  # fmt: skip


@pytest.mark.parametrize("because", REFUSED)
def test_what_cannot_be_converted_is_refused_with_the_reason_and_leaves_nothing(because: str, tmp_path: Path) -> None:
    folder = bert_graph.write_model(bert_graph.seeded(), tmp_path / "toy")
    REFUSED[because](folder)
    with pytest.raises((Invalid, ModelUnavailable), match=because):
        convert(folder, tmp_path / "made" / "toy")
    assert not (tmp_path / "made").exists() or list((tmp_path / "made").iterdir()) == []


def test_a_model_of_several_classes_is_no_cross_encoder(tmp_path: Path) -> None:
    bert = bert_graph.seeded(judges=True)
    three = {**bert.weights, "classifier.weight": numpy.zeros((3, 24), numpy.float32)}
    folder = bert_graph.write_model(bert, tmp_path / "toy")
    bert_graph.write_weights(three, folder / WEIGHTS)
    with pytest.raises(Invalid, match="sorts texts into 3 classes"):
        convert(folder, tmp_path / "made")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="there is no folder"):
        read(tmp_path / "nowhere")


@given(noise=st.binary(max_size=200), size=st.integers(0, 300))
def test_no_file_of_weights_is_believed(noise: bytes, size: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "noise.safetensors"
    told = json.dumps({"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, size]}}).encode()
    for content in (noise, len(told).to_bytes(8, "little") + told + noise):
        file.write_bytes(content)
        try:
            assert safetensors(file)["a"].shape == (2, 3) and size == 24 <= len(noise)
        except MemoristError as problem:
            assert "download it again" in str(problem)


def test_an_embedder_is_no_reranker_and_the_other_way(tmp_path: Path) -> None:
    embeds = convert(bert_graph.write_model(bert_graph.seeded(), tmp_path / "toy"), tmp_path / "embeds")
    judge = bert_graph.write_model(bert_graph.seeded(judges=True), tmp_path / "judge")
    with pytest.raises(Invalid, match="no cross-encoder; name it as `embed`"):
        OnnxReranker(embeds)
    with pytest.raises(Invalid, match="name it as `rerank`"):
        OnnxEmbedder(convert(judge, tmp_path / "judges"))
