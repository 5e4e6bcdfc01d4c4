"""The built-in encoder: what the package computes is what was trained, for each text alone, whatever the text."""

import hashlib
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import computed, rounds
from memorist import Memory
from memorist.errors import ModelUnavailable
from memorist.models import embed, encoder
from memorist.models.embed import FOLDER, built_in, chosen
from memorist.models.encoder import WINDOW, LayeredEmbedder
from tools.make_encoder.install import as_bytes, flat, install

Weights = dict[str, Any]
INNER = 768
TEXTS = [
    "tea",
    "How do I reset my password?",
    "The standup moved from 9:30 to 10:00, because Priya now drops off her daughter first.",
    "ok",
    "Dentist on Tuesday; bring the insurance card (the blue one), and ask about the bill of 12.03.",
    "we met at the harbour " * 19,  # one token short of a window
    "we met at the harbour " * 20,
    "Ich wohne seit März in München und fahre mit dem Rad zur Arbeit.",
]
ODD = ["", "   ", "\x00", "​", "🙂", "ไทย", "日本", "\ud800", "x" * 200, "[MASK]"]


def weights(layers: int, plain: bool = False) -> Weights:
    """Weights as training leaves them, from fixed dice. Plain ones have norms that change nothing, so that installing them
    rounds nothing."""
    dice = np.random.default_rng(layers)

    def some(*shape: int, size: float = 0.05) -> Any:
        return (dice.standard_normal(shape) * size).astype(np.float16)

    made = {"scale": np.float16(9.7), "pos": some(128, 256, size=0.3), "out.weight": some(256, 256)}
    made |= {"gate.weight": some(1, 256), "gate.bias": some(1), "lift.weight": some(256, 64)}
    whole_bytes = dice.integers(-127, 128, (len(embed.loaded_table().rows), 64))
    whole_bytes[0] = 127
    whole_bytes[101] *= not plain  # what [CLS] is told is added to its place
    made["more.weight"] = (whole_bytes * 2.0**-6).astype(np.float16)  # so that bytes hold it whole
    norms = ["n"]
    for number in range(layers):
        name = f"layers.{number}"
        for part, rows, columns in (("qkv", 768, 256), ("o", 256, 256), ("f1", INNER, 256), ("f2", 256, INNER)):
            made |= {f"{name}.{part}.weight": some(rows, columns), f"{name}.{part}.bias": some(rows)}
        norms += [f"{name}.n1", f"{name}.n2"]
    for name in norms:
        made[f"{name}.weight"] = np.float16(1) + (some(256, size=0.2) if not plain else np.zeros(256, np.float16))
        made[f"{name}.bias"] = some(256, size=0.1) * (not plain)
    return made


def by_the_book(text: str, weights: Weights, heads: int = 4) -> Any:
    """The vector as the training script defines it: in double precision, step by step, nothing folded and nothing tiled."""
    table = embed.loaded_table()
    w = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    total = np.zeros(256)
    ids = table.tokens.ids(text)
    for start in range(0, len(ids), 96):
        some = [number for number in ids[start : start + 96] if table.rows[number].any()]
        if not some:
            continue
        rows = table.rows[[101, *some]].astype(np.float64) * table.scales[[101, *some]].astype(np.float64)[:, None]
        x = rows * w["scale"] + w["pos"][: len(rows)] + w["more.weight"][[101, *some]] @ w["lift.weight"].T
        for number in range(sum(name.endswith("qkv.weight") for name in w)):
            x = book_layer(x, w, f"layers.{number}", heads)
        x = book_norm(x, w, "n")[1:]
        gate = 2 / (1 + np.exp(-(x @ w["gate.weight"].T + w["gate.bias"])))
        found = (rows[1:] * gate).sum(axis=0) + (x @ w["out.weight"].T).mean(axis=0) + w.get("out.bias", 0)
        total += found / np.linalg.norm(found) * len(some)
    return total / (np.linalg.norm(total) or 1)


def book_layer(x: Any, w: Weights, name: str, heads: int) -> Any:
    made = book_norm(x, w, f"{name}.n1") @ w[f"{name}.qkv.weight"].T + w[f"{name}.qkv.bias"]
    asked, keys, values = (each.reshape(len(x), heads, -1) for each in np.split(made, 3, axis=1))
    seen = np.zeros_like(asked)
    for head in range(heads):
        scores = np.exp(asked[:, head] @ keys[:, head].T / math.sqrt(256 // heads))
        seen[:, head] = scores / scores.sum(axis=1, keepdims=True) @ values[:, head]
    x = x + seen.reshape(len(x), 256) @ w[f"{name}.o.weight"].T + w[f"{name}.o.bias"]
    h = book_norm(x, w, f"{name}.n2") @ w[f"{name}.f1.weight"].T + w[f"{name}.f1.bias"]
    h = 0.5 * h * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))
    return x + h @ w[f"{name}.f2.weight"].T + w[f"{name}.f2.bias"]


def book_norm(x: Any, w: Weights, name: str) -> Any:
    spread = np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return (x - x.mean(axis=1, keepdims=True)) / spread * w[f"{name}.weight"] + w[f"{name}.bias"]


def installed(folder: Path, made: Weights, patch: pytest.MonkeyPatch) -> LayeredEmbedder:
    """The embedder of these weights, put into a package of their own."""
    (folder / "static-256.json").write_bytes((FOLDER / "static-256.json").read_bytes())
    np.savez(folder / "trained.npz", turn=np.zeros(2), **made)
    install(folder / "trained.npz", folder, 4, None, None, None)
    patch.setattr(encoder, "FOLDER", folder)
    forget()
    return LayeredEmbedder()


@pytest.fixture(autouse=True)
def every_vector_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LayeredEmbedder, "embed", computed)


def forget() -> None:
    """What was read of a package is read again."""
    for read in (encoder.about, encoder._layers, encoder._beside):
        read.cache_clear()


@pytest.fixture
def layered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LayeredEmbedder]:
    """An embedder of two layers that were never trained: every law but meaning holds for it."""
    yield installed(tmp_path, weights(2), monkeypatch)
    forget()


# ---------------------------------------------------------------- what was trained


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_it_computes_what_was_trained(layers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = weights(layers, plain=True)
    found = installed(tmp_path, made, monkeypatch).embed([*TEXTS, *ODD])
    np.testing.assert_allclose(found, [by_the_book(text, made) for text in (*TEXTS, *ODD)], atol=2e-5)


def test_norms_are_taken_into_the_matrices_behind_them(layered: LayeredEmbedder) -> None:
    expected = np.array([by_the_book(text, weights(2)) for text in TEXTS])
    assert (
        np.einsum("ij,ij->i", layered.embed(TEXTS), expected) > 0.99999
    ).all()  # but for the rounding to half floats


def test_a_weight_that_does_not_fit_is_not_installed() -> None:
    made = {name: np.asarray(value, np.float64) for name, value in weights(1).items()}
    made["layers.0.o.weight"][0, 0] = 1e6
    with pytest.raises(SystemExit, match="too large"):
        as_bytes(made)
        flat(made, 1, 4)


# ---------------------------------------------------------------- what is in the package


@pytest.mark.covers("W2-7")
def test_the_file_is_the_one_described_and_belongs_to_this_table() -> None:
    described = encoder.about()
    digests = {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in described["files"]}
    assert digests == described["files"]
    assert described["table"] == embed.about()["identity"]
    joined = " ".join([described["table"], *digests.values()])
    assert hashlib.sha256(joined.encode()).hexdigest() == described["identity"]
    assert LayeredEmbedder().name == f"layered-256@{described['identity'][:12]}"


def test_all_that_is_shipped_takes_at_most_12_mb() -> None:
    assert sum(len(zlib.compress(file.read_bytes())) for file in FOLDER.iterdir()) < 12_000_000


def unfolded() -> Weights:
    """The layers of the package under the names of training, with norms that change nothing."""
    learnt = encoder._layers()
    made = {
        "scale": learnt.scale,
        "pos": learnt.places,
        "gate.weight": 2 * learnt.gate[None],
        "gate.bias": 2 * learnt.gate_add,
    }
    made |= {"out.weight": np.hstack(list(learnt.out)).T, "out.bias": learnt.out_add}
    told = encoder._beside().astype(np.float64)
    told[101] = 0  # that of [CLS] stands in its place
    made |= {"more.weight": told, "lift.weight": whole(learnt.lift).T}
    norms = ["n"]
    eight = np.repeat([8.0, 1.0, 1.0], 256)  # the scores are divided by it; the package has that in the questions
    for number, layer in enumerate(learnt.layers):
        parts = {
            "qkv": (whole(layer.attend).T * eight[:, None], np.append(layer.attend_add * 8, np.zeros(512))),
            "o": (whole(layer.join).T, layer.join_add),
            "f1": (whole(layer.up).T, layer.up_add),
            "f2": (whole(layer.down).T * 2, layer.down_add),
        }
        for part, (weight, bias) in parts.items():
            made |= {f"layers.{number}.{part}.weight": weight, f"layers.{number}.{part}.bias": bias}
        norms += [f"layers.{number}.n1", f"layers.{number}.n2"]
    for name in norms:
        made |= {f"{name}.weight": np.ones(256), f"{name}.bias": np.zeros(256)}
    return made


def whole(strips: Any) -> Any:
    """A matrix that lies in strips, one stretch of its rows behind the other."""
    return np.vstack([np.hstack(list(stretch[:, 0])) for stretch in strips])


def test_the_layers_of_the_package_are_computed_by_the_book() -> None:
    made, texts = unfolded(), [*TEXTS, *ODD]
    np.testing.assert_allclose(LayeredEmbedder().embed(texts), [by_the_book(text, made) for text in texts], atol=2e-5)


def test_half_floats_are_widened_exactly() -> None:
    every = np.arange(65_536, dtype=np.uint16).view(np.float16)
    every = every[np.isfinite(every)]
    np.testing.assert_array_equal(encoder._widened(every).view(np.int32), every.astype(np.float32).view(np.int32))


@pytest.mark.covers("W2-7")
@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        (
            "I adopted a puppy from the shelter.",
            "We got a new dog last week.",
            "The quarterly report is due on Friday.",
        ),
        ("My flight to Lisbon was delayed.", "The plane to Portugal left late.", "She baked sourdough bread."),
        ("I am allergic to peanuts.", "Nuts make me ill.", "The train station is closed for repairs."),
        ("Where is the spare key?", "A second key hangs behind the fuse box.", "The key point of the talk was trust."),
        ("Who is my landlord?", "We rent the flat from Mr Adeyemi.", "The lord of the manor sold his land."),
    ],
)
def test_alike_is_nearer_than_unlike(text: str, near: str, far: str) -> None:
    one, two, three = LayeredEmbedder().embed([text, near, far])
    assert one @ two > one @ three + 0.05


# ---------------------------------------------------------------- each text alone


def test_a_row_does_not_depend_on_its_company(layered: LayeredEmbedder) -> None:
    words = "harbour bridge lantern tea clinic garden letter window".split()
    dice = np.random.default_rng(3)
    sizes = [1, 2, 11, 12, 15, 16, 28, 31, 48, WINDOW, WINDOW + 12]  # several of each, so that some go together
    texts = [*TEXTS, *ODD, *(" ".join(dice.choice(words, size)) for size in sizes for _ in range(12))]
    alone = np.concatenate([layered.embed([text]) for text in texts])
    for _ in range(rounds(200)):
        some = dice.permutation(len(texts))[: dice.integers(2, len(texts))]
        np.testing.assert_array_equal(layered.embed([texts[place] for place in some]), alone[some])


def test_threads_may_share_one_embedder(layered: LayeredEmbedder) -> None:
    expected = layered.embed(TEXTS)
    encoder._layers.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(layered.embed, [TEXTS] * 16):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_gives_the_same(layered: LayeredEmbedder) -> None:
    expected = layered.embed(TEXTS)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for found in pool.map(pickle.loads(pickle.dumps(layered)).embed, [TEXTS] * 4):
            np.testing.assert_array_equal(found, expected)


PROGRAM = """
import sys, pathlib
from memorist.models import encoder
encoder.FOLDER = pathlib.Path(sys.argv[1])
sys.stdout.buffer.write(encoder.LayeredEmbedder().embed(sys.argv[2:]).tobytes())
"""


@pytest.mark.parametrize("threads", ["1", "4"])
def test_the_number_of_threads_changes_no_bit(layered: LayeredEmbedder, threads: str, tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), *TEXTS]
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert done.stdout == layered.embed(TEXTS).tobytes()


# ---------------------------------------------------------------- any text


@pytest.mark.parametrize("text", [text for text in ODD if text != "[MASK]"])
def test_a_text_without_a_known_token_gives_zeros(text: str, layered: LayeredEmbedder) -> None:
    assert not layered.embed([text]).any()


def test_what_the_table_does_not_know_changes_nothing(layered: LayeredEmbedder) -> None:
    bare, among = layered.embed(["graphics card", "日本 graphics 🙂 card ไทย"])
    np.testing.assert_array_equal(bare, among)


def test_no_texts_give_no_rows(layered: LayeredEmbedder) -> None:
    assert layered.embed([]).shape == (0, 256)


def test_order_matters(layered: LayeredEmbedder) -> None:
    one, other = layered.embed(["Maya pays Tom", "Tom pays Maya"])
    assert not np.allclose(one, other, atol=1e-3)


def test_a_long_text_is_the_mean_of_its_windows(layered: LayeredEmbedder) -> None:
    words = [("harbour", "bridge", "lantern")[place % 3] for place in range(WINDOW + 10)]
    first, second = layered.embed([" ".join(words[:WINDOW]), " ".join(words[WINDOW:])])
    whole = first * WINDOW + second * 10
    np.testing.assert_allclose(layered.embed([" ".join(words)])[0], whole / np.linalg.norm(whole), atol=1e-6)


def test_a_very_long_text_needs_little_memory(layered: LayeredEmbedder) -> None:
    text = "we met at the harbour " * rounds(40_000)
    layered.embed([text[:1000]])
    tokens = 8 * len(embed.loaded_table().tokens.ids(text))
    tracemalloc.start()
    layered.embed([text])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(text) * 12 + tokens + (8 << 20)  # the cut into words and tokens, and a few windows' worth


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # it is the same for all
@given(text=st.text())
def test_any_text_gives_a_finite_vector_of_length_one_or_nothing(text: str, layered: LayeredEmbedder) -> None:
    (row,) = layered.embed([text])
    assert row.dtype == np.float32
    assert np.isfinite(row).all()
    length = float(np.linalg.norm(row))
    assert length == 0 or math.isclose(length, 1, abs_tol=1e-4)


# ---------------------------------------------------------------- by its name


def test_a_store_may_have_it_by_its_name(layered: LayeredEmbedder) -> None:
    with Memory(":memory:", embed="layered") as memory:
        memory.remember("The harbour master is called Ines.")
        assert memory.status()["vectors"].startswith(layered.name)
        assert memory.recall("harbour master")[0].text.startswith("The harbour")


def test_the_model_of_a_store_is_known_again(layered: LayeredEmbedder) -> None:
    found = built_in(layered.name)
    assert found is not None
    assert (found.name, found.dimension, found.cheap) == (layered.name, 256, True)
    assert built_in("layered-256@000000000000") is None
    assert chosen("layered").cheap


def test_layers_that_are_gone_are_told(layered: LayeredEmbedder, tmp_path: Path) -> None:
    encoder.about.cache_clear()
    (tmp_path / "layered-256.json").unlink()
    with pytest.raises(ModelUnavailable, match="install again"):
        chosen("layered").make()


def test_other_weights_or_another_table_are_another_model(
    layered: LayeredEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = layered.name
    described = (tmp_path / "static-256.json").read_text("utf-8")
    (tmp_path / "static-256.json").write_text(described.replace('"identity": "1', '"identity": "2'), "utf-8")
    described = install(tmp_path / "trained.npz", tmp_path, 4, None, None, None)["identity"]
    assert not before.endswith(described[:12])
    assert installed(tmp_path, weights(1), monkeypatch).name != before


def test_importing_the_module_does_not_import_numpy() -> None:
    program = "import sys, memorist.models.encoder; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
