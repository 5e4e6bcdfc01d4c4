"""Is what people write found by what people type? In code, in every script, and without a crash."""

from itertools import pairwise

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.text.words import LONGEST_QUERY, STOP_WORDS, chunks, query_terms, terms

any_text = st.text(st.characters(codec=None))  # lone surrogates and all
awkward = st.text(
    st.sampled_from(
        "aAbZz09 -_./@:\\&'’+#.\n\t\r\0\u0085\u00a0\u3000\u200b\u200d\ufe0f\ud800日本語한ไ\u0e31हि\u0301éİıßﬁ㎏½²٣１"
        "👍🏽🇩🇪❤·⁺♯™…ŉǅΐ\U000e0067\ufdfa\u0345"
    )
)


def found_by(query: str, text: str) -> bool:
    return set(query_terms(query)) <= set(terms(text))


IDENTIFIERS = [
    ("getUserById", ["getuserbyid", "get", "user", "by", "id"]),
    ("HTTPServer2", ["httpserver2", "httpserver", "http", "server", "2"]), ("gen-itgc", ["gen·itgc", "gen", "itgc"]),
    ("snake_case_name", ["snake·case·name", "snake", "case", "name"]),
    ("src/app/main.py", ["src·app·main·py", "main·py", "src", "app", "main", "py"]),
    ("3.54.1", ["3·54·1", "3", "54", "1"]), ("2023-05-07", ["2023·05·07", "2023", "05", "07"]),
    ("user@example.com", ["user·example·com", "example·com", "user", "exampl", "com"]),
    ("std::vector", ["std·vector", "std", "vector"]), ("iPhone15", ["iphone15", "iphon", "i", "phone", "15"]),
    ("LLMs", ["llms", "llm"]), ("C++", ["c⁺⁺", "c"]), ("C++17", ["c⁺⁺", "c", "17"]), ("C#", ["c♯", "c"]),
    (".NET", ["·net", "net"]), ("550e8400-e29b", ["550e8400·e29b", "550e8400", "e29b"]),
    ("d41d8cd98f00b204e980", ["d41d8cd98f00b204e980"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tokens"), IDENTIFIERS)
def test_an_identifier_gives_its_whole_and_its_parts(text: str, tokens: list[str]) -> None:
    assert terms(text) == tokens
    assert terms(f'("{text}"),') == tokens


WORDS = [
    ("running runs", ["run", "run"]), ("Caroline's Caroline’s", ["carolin", "carolin"]),
    ("don't don’t", ["dont", "dont"]), ("we'll she'd I'm", ["we", "she", "i"]),
    ("O'Brien l'école", ["obrien", "brien", "lecol", "ecol"]), ("CAFÉ cafe\u0301 Café", ["cafe", "cafe", "cafe"]),
    ("Straße STRASSE", ["strass", "strass"]), ("İstanbul ISTANBUL ıstanbul", ["istanbul"] * 3),
    ("Łódź Smørrebrød", ["lodz", "smorrebrod"]), ("２０２４ ٢٠٢٤", ["2024", "2024"]), ("हिन्दी", ["हिन्दी"]),
    ("wait…what ... yes", ["wait", "what", "yes"]), ("C R a", ["c", "r", "a"]), ("great👍🏽!❤️", ["great", "👍", "❤"]),
    ("👨\u200d👩\u200d👧 🇩🇪🇫🇷", ["👨", "👩", "👧", "🇩🇪", "🇫🇷"]), ("日本語", ["日", "日本", "本", "本語", "語"]),
    ("ab日c", ["ab", "日", "c"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tokens"), WORDS)
def test_words_are_folded_and_kept_in_order(text: str, tokens: list[str]) -> None:
    assert terms(text) == tokens


@pytest.mark.covers("W1-8")
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("日本", "昨日は日本語を勉強した"), ("勉強", "昨日は日本語を勉強した"), ("語", "昨日は日本語を勉強した"),
        ("생일", "캐롤라인의 생일은 5월이다"),
        ("สวัสดี", "เขาพูดว่าสวัสดีครับ"), ("カタカナ", "ｶﾀｶﾅ"), ("C", "we write it in C, not in Go"),
        ("R", "the R script"), ("c++", "moved from C++ to Rust"), ("f#", "an F# service"),
        (".net", "the .NET runtime"), ("gen-itgc", "run gen-itgc nightly"), ("itgc", "run gen-itgc nightly"),
        ("user id", "call getUserById"), ("getuserbyid", "call getUserById"), ("main.py", "see src/app/main.py"),
        ("🎉", "shipped🎉🎉"), ("हिन्दी", "वह हिन्दी बोलती है।"), ("cafe", "the Café"),
    ],
)  # fmt: skip
def test_a_query_is_found_in_text(query: str, text: str) -> None:
    assert query_terms(query)
    assert found_by(query, text)


def test_a_run_without_spaces_is_asked_for_in_pairs_only() -> None:
    assert query_terms("日本語") == ["日本", "本語"]
    assert query_terms("語") == ["語"]


def test_stop_words_go_unless_nothing_else_was_said() -> None:
    assert query_terms("What did the user say about a plan?") == ["user", "say", "plan"]
    assert query_terms("the who") == ["the", "who"]
    assert query_terms("I and a") == ["i", "and", "a"]
    assert query_terms("US or IT") == ["us", "it"]
    assert query_terms("does Jane Doe") == ["doe", "jane"]  # both give the token doe
    assert query_terms("Jane Doe does") == ["jane", "doe"]
    assert "the" in terms("the plan") and "the" in STOP_WORDS


def test_a_query_is_bounded_and_without_repetition() -> None:
    assert query_terms("plan plans planning plan") == ["plan"]
    assert query_terms(" ".join(f"w{n}" for n in range(100)), most=5) == ["w0", "w1", "w2", "w3", "w4"]
    assert query_terms("x " * LONGEST_QUERY + "needle") == ["x"]
    assert query_terms("a" * 10_000_000) == ["a" * 64]


def test_text_cannot_forge_a_joined_token() -> None:
    assert terms("gen·itgc") == ["gen", "itgc"]
    assert terms("c⁺⁺") == terms("c++")
    assert terms("c♯") == ["c", "♯"]


@given(any_text | awkward)
@example("\u1e9b\u0323 ǆ ﷺ \u2126 \u212a")
def test_every_token_survives_the_ascii_tokenizer(text: str) -> None:
    for token in [*terms(text), *query_terms(text)]:
        assert 1 <= len(token) <= 64
        assert token.split() == [token]
        assert all(not char.isascii() or char in "abcdefghijklmnopqrstuvwxyz0123456789" for char in token)
        token.encode()


@pytest.mark.covers("W1-8", "W4-12")
@given(awkward)
def test_fts5_keeps_the_tokens_as_they_are(text: str) -> None:
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE words USING fts5(body, tokenize = 'ascii')")
    db.execute("CREATE VIRTUAL TABLE seen USING fts5vocab(words, row)")
    db.execute("INSERT INTO words VALUES (?)", (" ".join(terms(text)),))
    assert {token for (token,) in db.execute("SELECT term FROM seen")} == set(terms(text))


@given(st.text(st.sampled_from("aAbZ09 -_./@:'+#,;!?()\"\n.é日👍")))
def test_invisible_characters_change_nothing(text: str) -> None:
    assert terms("\u2060".join(text) + "\u200b") == terms(text)  # so the short way for plain English is no detour


@given(awkward)
def test_what_was_written_is_found_by_the_same_words(text: str) -> None:
    assert set(query_terms(text)) <= set(terms(text))


@pytest.mark.covers("W4-12")
@given(any_text | awkward, st.integers(1, 12))
def test_chunks_cover_the_text_without_gap_or_overlap(text: str, size: int) -> None:
    spans = chunks(text, size)
    assert spans[0][0] == 0 and spans[-1][1] == len(text)
    assert all(end == start for (_, end), (start, _) in pairwise(spans))
    assert all(end - start <= size for start, end in spans)
    assert all(end > start for start, end in spans) or text == ""


def cut(text: str, size: int) -> list[str]:
    return [text[start:end] for start, end in chunks(text, size)]


def test_chunks_end_where_thoughts_end() -> None:
    assert cut("short", 1000) == ["short"]
    assert cut("One two. Three\n\nfour. Five six", 22) == ["One two. Three\n\n", "four. Five six"]
    assert cut("One two three. Four five six", 20) == ["One two three. ", "Four five six"]
    assert cut("これは文です。次の文です。", 9) == ["これは文です。", "次の文です。"]
    assert cut("alpha beta gamma", 12) == ["alpha beta ", "gamma"]
    assert cut("abcdefghij", 4) == ["abcd", "efgh", "ij"]


@pytest.mark.covers("W4-12")
def test_chunks_split_no_character() -> None:
    assert cut("abce\u0301f", 4) == ["abc", "e\u0301f"]
    assert cut("ab👨\u200d👩\u200d👧", 5) == ["ab", "👨\u200d👩\u200d👧"]
    assert cut("a🇩🇪🇫🇷", 2) == ["a", "🇩🇪", "🇫🇷"]
    assert cut("ab👍🏽", 3) == ["ab", "👍🏽"]
    assert cut("abc\r\nd", 4) == ["abc", "\r\nd"]
    assert cut("e" + "\u0301" * 9, 4) == ["e\u0301\u0301\u0301", "\u0301" * 4, "\u0301\u0301"]  # no way round it
