"""The built-in table: the files that are described, tokens as the reference cuts them, a vector for any text."""

import hashlib
import math
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import ModelUnavailable
from memorist.models import embed
from memorist.models.coverage import Coverage
from memorist.models.embed import FOLDER, StaticEmbedder, WordPiece, about, loaded_table

VOCABULARY = (FOLDER / "vocab.txt").read_text("utf-8").split("\n")[:30522]
NOTHING = ["", "   ", "\x00", "\u200b", "🙂", "ไทย", "\ud800", "x" * 200]

# Written by the `tokenizers` library with BERT's uncased vocabulary.
GOLDEN = [
    ("Hello, World!", "hello , world !"),
    ("Crème brûlée à la façon d'Élise", "cr ##eme br ##ule ##e a la fa ##con d ' elise"),
    ("naïve coöperation İstanbul ΣΊΣΥΦΟΣ", "naive cooperation istanbul σ ##ι ##σ ##υ ##φ ##ο ##σ"),
    ("ß ẞ straße", "ß ß st ##ra\xdfe"),
    ("Zürich–Genève: 12,50 €", "zurich – gene ##ve : 12 , 50 €"),
    ("I'm re-reading C++ & C# notes (v2.0.1)", "i ' m re - reading c + + & c # notes ( v ##2 . 0 . 1 )"),
    ("snake_case getUserById foo@example.org", "snake _ case get ##user ##by ##id foo @ example . org"),
    ("日本語テキスト and 中文字符混合", "日 本 語 テ ##キ ##ス ##ト and 中 文 [UNK] [UNK] [UNK] 合"),
    ("Привет, как дела?", "п ##р ##и ##в ##е ##т , к ##а ##к д ##е ##л ##а ?"),
    ("🙂 great job 👍🏽", "[UNK] great job [UNK]"),
    ("zero\u200bwidth\u200djoin\ufeffed", "zero ##wi ##dt ##h ##jo ##ined"),
    ("tab\tnew\nline\r\nend\u2028sep\xa0nbsp\u3000wide", "tab new line end sep n ##bs ##p wide"),
    ("ctrl\x00\x01\x1f\x7f\x85chars\ufffd!", "ct ##rl ##cha ##rs !"),
    ("#hashtag $100 50% ^caret ~tilde `tick`", "# hash ##tag $ 100 50 % ^ care ##t ~ til ##de ` tick `"),
    ("①②③ ½ ² ﬁ ﬂ Å", "[UNK] ½ ² ﬁ ﬂ a"),
    ("\U00020000\U0002a6d6 ext", "[UNK] [UNK] ex ##t"),
    ("1234567890 3.14159", "123 ##45 ##6 ##7 ##8 ##90 3 . 141 ##59"),
    ("a\u0489b \ue000private", "[UNK] private"),
    ("[SEP] and [MASK]", "[ sep ] and [ mask ]"),
    ("x" * 100, " ".join(["xx"] + ["##xx"] * 49)),
    ("x" * 101, "[UNK]"),
]


@pytest.mark.covers("W2-7")
@pytest.mark.parametrize(("text", "tokens"), GOLDEN)
def test_a_text_is_cut_as_the_reference_cuts_it(text: str, tokens: str) -> None:
    assert [VOCABULARY[number] for number in loaded_table().tokens.ids(text)] == tokens.split()


@given(st.text())
def test_any_text_is_cut_and_the_cache_changes_nothing(text: str) -> None:
    fresh = WordPiece(VOCABULARY[:2000])
    assert fresh.ids(text) == fresh.ids(text) and set(fresh.ids(text)) <= set(range(2000))


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "CACHED_WORDS", 100)
    tokens = WordPiece(VOCABULARY)
    for number in range(500):
        tokens.ids(f"word{number}")
    assert tokens._cut_once.cache_info().currsize <= 100 and tokens.ids("word1") == loaded_table().tokens.ids("word1")


@pytest.mark.parametrize("text", ["x" * 1_000_000, "xy " * 333_333, "é!" * 500_000, "字" * 300_000])
def test_a_megabyte_takes_time_that_grows_with_its_length(text: str) -> None:
    begun = time.process_time()
    loaded_table().tokens.ids(text)
    assert time.process_time() - begun < 5


@pytest.mark.covers("W2-7")
@pytest.mark.parametrize("model", ["static-256", "layered-256"])
def test_the_files_are_the_ones_described_and_small(model: str) -> None:
    digests = {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in about(model)["files"]}
    assert digests == about(model)["files"]
    parts = [about()["identity"], *digests.values()] if model == "layered-256" else [
        digests[name] for name in ("static-256.npy", "static-256.scales.npy", "vocab.txt")
    ]  # fmt: skip
    assert hashlib.sha256(" ".join(parts).encode()).hexdigest() == about(model)["identity"]
    assert sum(len(zlib.compress(file.read_bytes())) for file in FOLDER.iterdir()) < 31_000_000


def test_every_english_token_has_a_row_and_special_ones_have_none() -> None:
    table = loaded_table()
    empty = ~table.rows.any(axis=1)
    assert table.rows.shape == (30522, 256) and not table.rows.flags.writeable and empty[:999].all()
    assert not [word for word, none in zip(VOCABULARY[999:], empty[999:], strict=True) if none and word.isascii()]


def test_a_damaged_table_is_refused_and_gives_no_silent_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scale that is no number made every vector of its token, and every coverage, one that is none either."""
    for file in FOLDER.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    scales = np.load(FOLDER / "static-256.scales.npy")
    scales[3000] = np.inf
    np.save(tmp_path / "static-256.scales.npy", scales)
    monkeypatch.setattr(embed, "FOLDER", tmp_path)
    loaded_table.cache_clear()
    with pytest.raises(ModelUnavailable, match="damaged; reinstall"):
        Coverage("the spare key").of(["tea"])


@given(st.text())
def test_any_text_gives_a_finite_vector_of_length_one_or_nothing(text: str) -> None:
    [row] = StaticEmbedder().embed([text])
    assert row.dtype == np.float32 and np.isfinite(row).all()
    assert not row.any() or math.isclose(float(np.linalg.norm(row)), 1, abs_tol=1e-4)


def test_a_vector_is_of_its_text_alone() -> None:
    texts = ["tea", *NOTHING, "We got a new dog last week."]
    together = StaticEmbedder().embed(texts)
    np.testing.assert_array_equal(together, np.concatenate([StaticEmbedder().embed([text]) for text in texts]))
    assert not together[1:-1].any() and StaticEmbedder().embed([]).shape == (0, 256)
    once, often = StaticEmbedder().embed(["we met at the harbour", "we met at the harbour " * 40_000])
    np.testing.assert_allclose(once, often, atol=1e-3)


def test_importing_the_module_and_naming_a_model_imports_no_numpy() -> None:
    program = "import sys, memorist.models.embed as s; s.StaticEmbedder(); s.chosen('layered'); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
