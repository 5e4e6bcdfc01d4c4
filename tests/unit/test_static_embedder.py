"""The default embedder: its files are the ones described, and its vectors are finite, normalised and meaningful."""

import hashlib
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.models import embed
from memorist.models.embed import DIMENSIONS, FOLDER, StaticEmbedder, about

EMBEDDERS = {dimension: StaticEmbedder(dimension) for dimension in DIMENSIONS}


@pytest.mark.covers("W2-7")
def test_the_files_are_the_ones_described() -> None:
    digests = {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in about()["files"]}
    assert digests == about()["files"]
    identifying = ("static-256.npy", "static-256.scales.npy", "vocab.txt")
    joined = " ".join(digests[name] for name in identifying)
    assert hashlib.sha256(joined.encode()).hexdigest() == about()["identity"]


def test_the_name_holds_the_digest_and_the_dimension() -> None:
    assert EMBEDDERS[256].name == f"static-256@{about()['identity'][:12]}"
    assert len({embedder.name for embedder in EMBEDDERS.values()}) == len(DIMENSIONS)
    assert EMBEDDERS[256].cheap


def test_the_table_has_the_shape_it_should_and_is_not_read_whole() -> None:
    table = embed.loaded_table()
    assert table.rows.shape == (30522, 256)
    assert table.rows.dtype == np.int8
    assert not table.rows.flags.writeable
    assert np.isfinite(table.scales).all()
    assert (table.scales >= 0).all()


def test_every_english_token_has_a_row_and_special_ones_have_none() -> None:
    table = embed.loaded_table()
    empty = ~table.rows.any(axis=1)
    assert empty[:999].all()  # [PAD], [UNK], [CLS], [SEP], [MASK] and the unused ones
    tokens = (embed.FOLDER / "vocab.txt").read_text(encoding="utf-8").split("\n")[: len(empty)]
    assert not [token for token, none in zip(tokens[999:], empty[999:], strict=True) if none and token.isascii()]
    assert empty[999:].mean() < 0.05  # single letters of other scripts, which it knows nothing about
    norms = np.linalg.norm(table.rows[999:].astype(np.float32), axis=1) * table.scales[999:]
    assert norms.max() / np.median(norms) < 20


ALIKE = [
    ("I adopted a puppy from the shelter.", "We got a new dog last week.", "The quarterly report is due on Friday."),
    ("My flight to Lisbon was delayed.", "The plane to Portugal left late.", "She baked sourdough bread."),
    ("How do I reset my password?", "I forgot my login credentials.", "The hike up the mountain was lovely."),
    ("The database query is slow.", "SQL performance got worse.", "My sister plays the violin."),
    ("I am allergic to peanuts.", "Nuts make me ill.", "The train station is closed for repairs."),
]


@pytest.mark.covers("W2-7")
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize(("text", "near", "far"), ALIKE)
def test_alike_is_nearer_than_unlike(text: str, near: str, far: str, dimension: int) -> None:
    one, two, three = EMBEDDERS[dimension].embed([text, near, far])
    assert one @ two > one @ three + 0.05


@pytest.mark.parametrize("dimension", [64, 128])
def test_a_smaller_dimension_is_the_prefix_normalised(dimension: int) -> None:
    texts = [text for row in ALIKE for text in row]
    prefix = EMBEDDERS[256].embed(texts)[:, :dimension]
    expected = prefix / np.linalg.norm(prefix, axis=1, keepdims=True)
    np.testing.assert_allclose(EMBEDDERS[dimension].embed(texts), expected, atol=1e-5)


def test_another_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="dimension"):
        StaticEmbedder(100)


@pytest.mark.parametrize("text", ["", "   ", "\x00", "\u200b", "🙂", "ไทย", "\ud800", "x" * 200])
def test_a_text_without_a_known_token_gives_zeros(text: str) -> None:
    assert not EMBEDDERS[256].embed([text]).any()


def test_no_texts_give_no_rows() -> None:
    assert EMBEDDERS[128].embed([]).shape == (0, 128)


@given(st.text(), st.sampled_from(DIMENSIONS))
def test_any_text_gives_a_finite_vector_of_length_one_or_nothing(text: str, dimension: int) -> None:
    (row,) = EMBEDDERS[dimension].embed([text])
    assert row.dtype == np.float32
    assert np.isfinite(row).all()
    length = float(np.linalg.norm(row))
    assert length == 0 or math.isclose(length, 1, abs_tol=1e-4)


def test_a_row_does_not_depend_on_its_company() -> None:
    texts = [text for row in ALIKE for text in row]
    together = EMBEDDERS[256].embed(texts)
    np.testing.assert_array_equal(together, np.concatenate([EMBEDDERS[256].embed([text]) for text in texts]))


def test_a_very_long_text_is_the_sum_of_its_words() -> None:
    once, often = EMBEDDERS[256].embed(["we met at the harbour", "we met at the harbour " * 40_000])
    np.testing.assert_allclose(once, often, atol=1e-3)


def test_threads_may_share_one_embedder() -> None:
    texts = [f"{text} {number}" for number in range(50) for row in ALIKE for text in row]
    expected = EMBEDDERS[256].embed(texts)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(StaticEmbedder().embed, [texts] * 16):
            np.testing.assert_array_equal(found, expected)


def test_importing_the_module_does_not_import_numpy() -> None:
    program = "import sys, memorist.models.embed as s; s.StaticEmbedder(); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
