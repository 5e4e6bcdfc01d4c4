"""The built-in encoder: what the package computes is what was trained, for each text alone, whatever the text."""

import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import computed, rounds
from memorist.errors import ModelUnavailable
from memorist.models import embed, encoder
from memorist.models.embed import built_in, chosen
from memorist.models.encoder import WINDOW, LayeredEmbedder

TEXTS = [
    "tea",
    "How do I reset my password?",
    "The standup moved from 9:30 to 10:00, because Priya now drops off her daughter first.",
    "Dentist on Tuesday; bring the insurance card (the blue one), and ask about the bill of 12.03.",
    "we met at the harbour " * 19,  # one token short of a window
    "we met at the harbour " * 20,
    "Ich wohne seit März in München und fahre mit dem Rad zur Arbeit.",
]
PACKAGED = [
    [0.370598, -0.016592, -0.24274],
    [0.043649, -0.038872, -0.003853],
    [0.201297, -0.057679, -0.095269],
    [0.227947, 0.013698, -0.014188],
    [0.207392, 0.02067, -0.065546],
    [0.21677, 0.019487, -0.070783],
    [0.101798, 0.002623, 0.022518],
]
ODD = ["", "   ", "\x00", "\u200b", "🙂", "ไทย", "日本", "\ud800", "x" * 200]


@pytest.fixture(autouse=True)
def every_vector_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LayeredEmbedder, "embed", computed)


@pytest.fixture
def layered() -> LayeredEmbedder:
    return LayeredEmbedder()


@pytest.mark.covers("W2-7")
@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("I adopted a puppy from the shelter.", "We got a new dog last week.", "The quarterly report is due on Friday."),
        ("I am allergic to peanuts.", "Nuts make me ill.", "The train station is closed for repairs."),
        ("Where is the spare key?", "A second key hangs behind the fuse box.", "The key point of the talk was trust."),
        ("Who is my landlord?", "We rent the flat from Mr Adeyemi.", "The lord of the manor sold his land."),
    ],
)  # fmt: skip
def test_alike_is_nearer_than_unlike(text: str, near: str, far: str) -> None:
    one, two, three = LayeredEmbedder().embed([text, near, far])
    assert one @ two > one @ three + 0.05


def test_the_vectors_of_the_package_stay_what_they_were(layered: LayeredEmbedder) -> None:
    """Stores have them: another way to compute them must not need another generation. They were checked once, in double
    precision and step by step, against the script that trained them."""
    np.testing.assert_allclose(layered.embed(TEXTS)[:, :3], PACKAGED, atol=1e-5)


def test_a_row_does_not_depend_on_its_company(layered: LayeredEmbedder) -> None:
    words = "harbour bridge lantern tea clinic garden letter window".split()
    dice = np.random.default_rng(3)
    sizes = [1, 2, 11, 12, 15, 16, 28, 31, 48, WINDOW, WINDOW + 12]  # several of each, so that some go together
    texts = [*TEXTS, *ODD, *(" ".join(dice.choice(words, size)) for size in sizes for _ in range(12))]
    alone = np.concatenate([layered.embed([text]) for text in texts])
    for _ in range(rounds(200)):
        some = dice.permutation(len(texts))[: dice.integers(2, len(texts))]
        np.testing.assert_array_equal(layered.embed([texts[place] for place in some]), alone[some])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_and_children_give_the_same(layered: LayeredEmbedder) -> None:
    expected = layered.embed(TEXTS)
    encoder.loaded_layers.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(layered.embed, [TEXTS] * 16):
            np.testing.assert_array_equal(vectors, expected)
    if sys.platform != "win32":
        with multiprocessing.get_context("fork").Pool(2) as children:
            for vectors in children.map(pickle.loads(pickle.dumps(layered)).embed, [TEXTS] * 4):
                np.testing.assert_array_equal(vectors, expected)


@pytest.mark.parametrize("threads", ["1", "4"])
def test_the_number_of_threads_changes_no_bit(threads: str) -> None:
    program = (
        "import sys; from memorist.models.encoder import LayeredEmbedder\n"
        "sys.stdout.buffer.write(LayeredEmbedder().embed(sys.argv[1:]).tobytes())"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    done = subprocess.run([sys.executable, "-c", program, *TEXTS], capture_output=True, env=environment, check=True)
    assert done.stdout == LayeredEmbedder().embed(TEXTS).tobytes()


def test_what_the_table_does_not_know_changes_nothing(layered: LayeredEmbedder) -> None:
    bare, among, *odd = layered.embed(["graphics card", "日本 graphics 🙂 card ไทย", *ODD])
    np.testing.assert_array_equal(bare, among)
    assert not np.any(odd) and layered.embed([]).shape == (0, 256)
    one, other = layered.embed(["Maya pays Tom", "Tom pays Maya"])
    assert not np.allclose(one, other, atol=1e-3), "order matters"


def test_a_long_text_is_the_mean_of_its_windows_and_needs_little_memory(layered: LayeredEmbedder) -> None:
    words = [("harbour", "bridge", "lantern")[place % 3] for place in range(WINDOW + 10)]
    first, second = layered.embed([" ".join(words[:WINDOW]), " ".join(words[WINDOW:])])
    whole = first * WINDOW + second * 10
    np.testing.assert_allclose(layered.embed([" ".join(words)])[0], whole / np.linalg.norm(whole), atol=1e-6)
    text = "we met at the harbour " * rounds(40_000)
    tokens = 8 * len(embed.loaded_table().tokens.ids(text))
    tracemalloc.start()
    layered.embed([text])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(text) * 12 + tokens + (8 << 20)  # the cut into words and tokens, and a few windows' worth


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # it is the same for all
@given(text=st.text())
def test_any_text_gives_a_finite_vector_of_length_one_or_nothing(text: str, layered: LayeredEmbedder) -> None:
    [row] = layered.embed([text])
    assert row.dtype == np.float32 and np.isfinite(row).all()
    assert not row.any() or math.isclose(float(np.linalg.norm(row)), 1, abs_tol=1e-4)


def test_a_model_of_a_store_is_recognised_by_its_name(
    layered: LayeredEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = built_in(layered.name)
    assert again is not None and (again.name, again.dimension, again.cheap) == (layered.name, 256, True)
    assert built_in("layered-256@000000000000") is built_in("none") is built_in("onnx:x@y") is None
    monkeypatch.setattr(embed, "FOLDER", tmp_path)
    embed.about.cache_clear()
    with pytest.raises(ModelUnavailable, match="reinstall"):
        chosen("layered").make()
    embed.about.cache_clear()
