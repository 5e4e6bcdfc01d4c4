"""Is a budget kept? The estimate may be high, never low by much, for prose, code and every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.text.tokens import _PIECE, _price, at_most, count_tokens

# Text and what a public vocabulary of 100k entries makes of it.
MEASURED = [
    ("The staging database runs on Postgres 16 behind pgbouncer.", 14),
    ("Caroline asked me to move the nightly backup to half past two, please.", 16),
    ("def count(text: str) -> int:\n    return len(text.split()) // 4 + 1\n", 22),
    ('{"id": 17, "tags": ["a-b", "c_d"], "ok": true, "at": "2024-05-07T10:30:00Z"}', 40),
    ("for (let i = 0; i < items.length; i++) { total += items[i].price * 1.19; }", 29),
    ("550e8400-e29b-41d4-a716-446655440000", 18), ("私は昨日、東京で新しいデータベースを見ました。", 23),
    ("他昨天在北京告诉我数据库已经搬家了。", 19),
    ("어제 서울에서 새로운 데이터베이스를 보았습니다.", 22), ("Вчера мы перенесли базу данных на новый сервер.", 16),
    ("Die Datenbankverwaltung läuft jetzt auf einem größeren Rechner.", 16),
    ("كان الاجتماع أمس في المكتب الجديد.", 22), ("कल हमने डेटाबेस को नए सर्वर पर ले जाया।", 37), ("👍🎉😀🚀", 11),
]  # fmt: skip


@pytest.mark.covers("W0-6")
@pytest.mark.parametrize(("text", "tokens"), MEASURED, ids=lambda value: str(value)[:20])
def test_the_estimate_is_high_but_not_wild(text: str, tokens: int) -> None:
    assert tokens <= count_tokens(text) <= 2.2 * tokens


pieces = st.text(st.sampled_from("aBzZ09 \t\n\r.,_é日👍\u00a0\ud800")) | st.sampled_from(["a" * 31, "B" * 33, " " * 33])


@given(pieces | st.text(), pieces | st.text())
def test_a_text_costs_at_least_what_each_part_costs(left: str, right: str) -> None:
    assert count_tokens(left + right) >= max(count_tokens(left), count_tokens(right))


@given(st.text(st.characters(codec=None)))
def test_every_visible_text_costs_something(text: str) -> None:
    assert count_tokens(text) >= (1 if text.strip() else 0)
    assert count_tokens(text) <= 4 * len(text)


@given(st.text("ab AB19\n\t\r\f\vé昼🙂-. ", max_size=40) | st.text(max_size=40))
def test_a_word_costs_what_its_pieces_cost_wherever_the_text_is_cut(text: str) -> None:
    """The prices of words are remembered; the price of a text is that of its pieces all the same."""
    assert count_tokens(text) == -(-sum(map(_price, _PIECE.findall(text))) // 100)


@given(st.lists(pieces | st.text(max_size=20), max_size=8))
def test_the_bound_of_some_texts_is_never_less_than_they_cost(texts: list[str]) -> None:
    assert at_most(texts) >= sum(map(count_tokens, texts))
