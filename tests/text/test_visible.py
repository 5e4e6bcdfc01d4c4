"""Does printed text show what it holds, and does ordinary text stay as it was?"""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.text.visible import flaw, is_blank, visible

BLANK = "\u115f\u1160\u3164\uffa0\u2800\U00013441\U00013442\U0001d159\ufffc"  # letters and signs that show nothing


NEVER = (
    {chr(code) for code in range(0x20)} - {"\n", "\t"}
    | {chr(code) for code in (*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
    | {chr(code) for code in (0x200B, 0xFEFF, 0x2028, 0x2029, *range(0x2060, 0x2065))}
    | {chr(code) for code in (*range(0xE0000, 0xE0080), *range(0xD800, 0xE000))}
)
any_text = st.text(st.characters(codec=None))
nasty = st.text(
    st.sampled_from("ab1#\n\t \x1b\x9b\r\u202e\u2066\u200b\u200c\u200d\u200e\ufeff\ufe0f\U000e0041\ud800😀❤👩🏽ميनि्日")
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("clear\x1b[2J", "clear\\x1b[2J"), ("\x1b]8;;http://evil\x07link", "\\x1b]8;;http://evil\\x07link"),
        ("a\x9b31mb", "a\\x9b31mb"), ("over\rwritten", "over\\x0dwritten"),
        ("user\u202egpj.exe", "user\\u202egpj.exe"), ("pass\u200bword", "pass\\u200bword"),
        ("hi\U000e0041\U000e0042", "hi\\U000e0041\\U000e0042"), ("a\u2028b", "a\\u2028b"),
        ("half \ud800", "half \\ud800"), ("ad\u200dmin", "ad\\u200dmin"), ("a\ufe0f", "a\\ufe0f"),
        ("😀\ufe0f\ufe0f", "😀\ufe0f\\ufe0f"), ("\u200d😀", "\\u200d😀"), ("😀\u200c😀", "😀\\u200c😀"),
    ],
)  # fmt: skip
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain text,\n\tindented; 50 % & <tags>", "Ärger, naïve, Łódź, ﬁ, ①",
        "👨\u200d👩\u200d👧\u200d👦 👍🏽 ❤\ufe0f 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 👩🏽\u200d💻 🤷\u200d♀\ufe0f 🇩🇪",
        "می\u200cخواهم", "क्\u200dष और क्\u200cष", "ශ්\u200dරී ලංකා", "שלום עולם, مرحبا بالعالم", "日本語と한국어とไทย",
        "a\\x1b[2J typed by hand",
    ],
)  # fmt: skip
def test_ordinary_text_stays_as_it_was(text: str) -> None:
    assert visible(text) == text


@given(any_text | nasty)
@example("a\ufe0f\u200d😀")
@example("\u200d\u200d😀")
def test_nothing_dangerous_is_left(text: str) -> None:
    shown = visible(text)
    assert not NEVER & set(shown)
    assert visible(shown) == shown
    shown.encode()


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\u200b\u200d\ufeff", "\0\x1b", "\ufe0f", "\u3164", "\u2800", "\ud800", "\U000e0041", "\u00a0\u3000"],
)
def test_blank_is_what_nobody_can_see(text: str) -> None:
    assert is_blank(text)


def test_a_flaw_names_the_first_unstorable_character_and_its_place() -> None:
    assert flaw("any text 👍 \x1b") is None
    assert flaw("hello\0world\ud800") == "a NUL character at position 5"
    surrogate = flaw("😀 ab\udc00\0")
    assert surrogate is not None and "surrogate" in surrogate and surrogate.endswith("at position 4")


@given(any_text)
def test_text_without_a_flaw_can_be_encoded(text: str) -> None:
    storable = "\0" not in text and not any(unicodedata.category(char) == "Cs" for char in text)
    assert (flaw(text) is None) == storable
