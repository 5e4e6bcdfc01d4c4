"""Row 17: CJK, emoji and one-letter terms are searchable; cuts never fall inside a character."""

import pytest

from memorist import Memory

pytestmark = pytest.mark.covers("W1-8", "W4-12")

TEXTS = {
    "来週の火曜日に東京で会議があります": ["東京", "会議", "火曜"],
    "我们把数据库迁移到了新的服务器": ["数据库", "服务器", "迁移"],
    "스테이징 데이터베이스는 포스트그레스입니다": ["데이터베이스", "포스트"],
    "ประชุมทีมวันอังคารหน้า": ["ประชุม", "อังคาร"],
    "The release went out 🎉 and everybody cheered 👩‍🚀": ["🎉", "👩‍🚀"],
    "We rewrote the parser in C": ["C", "parser C"],
    "The statistics are done in R": ["R"],
    "The engine itself is C++ and the tool is C#": ["C++", "C#"],
    "Le café préféré de Zoë est près de la gare": ["cafe", "prefere", "zoe"],
    "Call getUserById before createSession": ["getUserById", "user by id", "create session"],
    "The control is called gen-itgc in the audit": ["gen-itgc", "itgc"],
    "The entry point is src/app/main.py": ["src/app/main.py", "main.py", "app main"],
}


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20])
def test_it_is_found_by_its_words(memory: Memory, text: str) -> None:
    for other in TEXTS:
        memory.remember(other)
    for query in TEXTS[text]:
        found = [hit.record.text for hit in memory.recall(query)]
        assert text in (found if query in ("C", "R") else found[:1]), query  # C is part of C++ and C# too


def test_a_word_that_is_in_most_memories_still_finds_them(memory: Memory) -> None:
    """FTS5's own idf is nearly zero for such a word, and a product would let the memory vanish."""
    for city in ("Berlin", "Lagos", "Lima"):
        memory.remember(f"Caroline once lived in {city}")
    found = memory.recall("Caroline")
    assert len(found) == 3 and all(hit.score > 0.01 for hit in found)


def test_a_long_text_is_found_by_its_last_words_and_read_back_whole(memory: Memory) -> None:
    text = "𝔘nicode 👨‍👩‍👧‍👦 é " * 3000 + "zanzibar"
    id = memory.remember(text).id
    assert id is not None
    found = memory.recall("zanzibar")
    assert [hit.record.id for hit in found] == [id]
    assert memory.get(id).text == text


def test_long_memories_bring_advice_and_are_never_cut(memory: Memory) -> None:
    outcome = memory.remember("word " * 200)
    assert outcome.advice and "one fact per memory" in outcome.advice
    assert outcome.record is not None and outcome.record.text == "word " * 200
