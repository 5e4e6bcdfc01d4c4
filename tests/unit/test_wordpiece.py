"""The WordPiece cut: the same tokens as the reference tokenizer, for any text, in time that grows with its length.

The golden list was written by the `tokenizers` library with BERT's uncased vocabulary.
"""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.models import embed
from memorist.models.embed import FOLDER, WordPiece

VOCABULARY = (FOLDER / "vocab.txt").read_text("utf-8").split("\n")[:30522]
TOKENS = WordPiece(VOCABULARY)

GOLDEN = [
    ("Hello, World!", "hello , world !"),
    ("unaffable", "una ##ffa ##ble"),
    ("Cr\xe8me br\xfbl\xe9e \xe0 la fa\xe7on d'\xc9lise", "cr ##eme br ##ule ##e a la fa ##con d ' elise"),
    (
        "na\xefve co\xf6peration \u0130stanbul \u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3",
        "naive cooperation istanbul \u03c3 ##\u03b9 ##\u03c3 ##\u03c5 ##\u03c6 ##\u03bf ##\u03c3",
    ),
    ("\xdf \u1e9e stra\xdfe", "\xdf \xdf st ##ra\xdfe"),
    ("Z\xfcrich\u2013Gen\xe8ve: 12,50 \u20ac", "zurich \u2013 gene ##ve : 12 , 50 \u20ac"),
    ("I'm re-reading C++ & C# notes (v2.0.1)", "i ' m re - reading c + + & c # notes ( v ##2 . 0 . 1 )"),
    (
        "snake_case_name getUserById foo.bar@example.org",
        "snake _ case _ name get ##user ##by ##id foo . bar @ example . org",
    ),
    (
        "\u65e5\u672c\u8a9e\u30c6\u30ad\u30b9\u30c8 and \u4e2d\u6587\u5b57\u7b26\u6df7\u5408",
        "\u65e5 \u672c \u8a9e \u30c6 ##\u30ad ##\u30b9 ##\u30c8 and \u4e2d \u6587 [UNK] [UNK] [UNK] \u5408",
    ),
    (
        "\ud55c\uad6d\uc5b4 \ubb38\uc7a5\uc785\ub2c8\ub2e4",
        "\u1112 ##\u1161 ##\u11ab ##\u1100 ##\u116e ##\u11a8 ##\u110b ##\u1165 \u1106 ##\u116e ##\u11ab "
        "##\u110c ##\u1161 ##\u11bc ##\u110b ##\u1175 ##\u11b8 ##\u1102 ##\u1175 ##\u1103 ##\u1161",
    ),
    (
        "\u041f\u0440\u0438\u0432\u0435\u0442, \u043a\u0430\u043a \u0434\u0435\u043b\u0430?",
        "\u043f ##\u0440 ##\u0438 ##\u0432 ##\u0435 ##\u0442 , \u043a ##\u0430 ##\u043a \u0434 ##\u0435 ##\u043b ##\u0430 ?",
    ),
    (
        "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
        "\u0645 ##\u0631 ##\u062d ##\u0628 ##\u0627 \u0628 ##\u0627 ##\u0644 ##\u0639 ##\u0627 ##\u0644 ##\u0645",
    ),
    (
        "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e",
        "\u0939 ##\u093f ##\u0928 ##\u0926 ##\u0940 \u092d ##\u093e ##\u0937 ##\u093e",
    ),
    ("\u0e44\u0e17\u0e22 \u0e20\u0e32\u0e29\u0e32", "[UNK] [UNK]"),
    (
        "\U0001f642 great job \U0001f44d\U0001f3fd \U0001f469\u200d\U0001f469\u200d\U0001f467",
        "[UNK] great job [UNK] [UNK]",
    ),
    ("zero\u200bwidth\u200djoin\ufeffed", "zero ##wi ##dt ##h ##jo ##ined"),
    ("tab\tnew\nline\r\nend\u2028sep\xa0nbsp\u3000wide", "tab new line end sep n ##bs ##p wide"),
    ("ctrl\x00\x01\x1f\x7f\x85chars\ufffd!", "ct ##rl ##cha ##rs !"),
    ("e\u0301 combining vs \xe9", "e combining vs e"),
    ("ab ab ab ", "ab ab ab"),
    ("", ""),
    ("   ", ""),
    (
        "#hashtag $100 50% ^caret ~tilde `tick` |pipe|",
        "# hash ##tag $ 100 50 % ^ care ##t ~ til ##de ` tick ` | pipe |",
    ),
    (
        "\u201cquotes\u201d \u2018single\u2019 \u2026 \u2014 \u2013 \xb7",
        "\u201c quotes \u201d \u2018 single \u2019 \u2026 \u2014 \u2013 \xb7",
    ),
    ("\u2460\u2461\u2462 \xbd \xb2 \ufb01 \ufb02 \xc5", "[UNK] \xbd \xb2 \ufb01 \ufb02 a"),
    ("\U00020000\U0002a6d6 ext", "[UNK] [UNK] ex ##t"),
    ("1234567890 3.14159 1e-10", "123 ##45 ##6 ##7 ##8 ##90 3 . 141 ##59 1 ##e - 10"),
    (
        "Supercalifragilisticexpialidocious antidisestablishmentarianism",
        "super ##cal ##if ##rag ##ilis ##tic ##ex ##pia ##lid ##oc ##ious anti ##dis ##est ##ab ##lish ##ment ##arian ##ism",
    ),
    ("a\u0489b \u20ddc \ue000private", "[UNK] [UNK] private"),
    ("[MASK", "[ mask"),
    ("x" * 100, " ".join(["xx"] + ["##xx"] * 49)),
    ("x" * 101, "[UNK]"),
]


@pytest.mark.covers("W2-7")
@pytest.mark.parametrize(("text", "expected"), GOLDEN)
def test_cut_as_the_reference_does(text: str, expected: str) -> None:
    assert [VOCABULARY[number] for number in TOKENS.ids(text)] == expected.split()


def test_control_tokens_written_in_a_text_are_ordinary_text() -> None:
    found = [VOCABULARY[number] for number in TOKENS.ids("[SEP] and [MASK]")]
    assert found == "[ sep ] and [ mask ]".split()


@given(st.text())
def test_any_text_is_cut_and_the_cache_changes_nothing(text: str) -> None:
    fresh = WordPiece(VOCABULARY[:2000])
    first = fresh.ids(text)
    assert fresh.ids(text) == first
    assert all(0 <= number < len(fresh) for number in first)


def test_lone_surrogates_are_dropped() -> None:
    assert TOKENS.ids("a\ud800b") == TOKENS.ids("ab")


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "CACHED_WORDS", 100)
    tokens = WordPiece(VOCABULARY)
    for number in range(1000):
        tokens.ids(f"word{number}")
        assert len(tokens._cache) <= 100
    assert tokens.ids("word1") == TOKENS.ids("word1")


@pytest.mark.parametrize(
    "text", ["x" * 1_000_000, "xy " * 333_333, "é!" * 500_000, "\u200b" * 1_000_000, "字" * 300_000]
)
def test_a_megabyte_takes_no_longer_than_its_length_says(text: str) -> None:
    begun = time.process_time()
    TOKENS.ids(text)
    assert time.process_time() - begun < 5
