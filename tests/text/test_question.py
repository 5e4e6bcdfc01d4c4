"""Is the question found in what a host hands over, and who, whose words and whether anything is asked?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growing import grows_too_fast
from memorist.text.question import (
    asked_role,
    kinds_in,
    question_of,
    small_talk,
    speakers_in,
    without_injected,
)

Q = "Which database do we use?"
STRIPPED = [
    (f"  {Q}\n\n\n", Q), ("Which   database\t do we use?", Q), (f"<system-reminder>Be kind.</system-reminder>{Q}", Q),
    (f"<project_memory scope='all'>Postgres</project_memory>\n{Q}", Q), (f"<CONTEXT>x</CONTEXT> {Q}", Q),
    (f"<context>a <context>b</context> c</context>{Q}", Q), (f"<context>a <memory>b</context> c</memory>{Q}", Q),
    (f"<context/>{Q}", Q), (f"{Q}</context>", Q), (f"{Q}\n<system-reminder>\nBe kind.", Q),
    (f"<system-reminder>\n{Q}", f"<system-reminder>\n{Q}"), ("<context>only this</context>",) * 2,  # nothing else remains
    ("Why does <ToolTip>x</ToolTip> fail?",) * 2, ("is 3 < 4 and 5 > 4?",) * 2, ("Is List<tool> generic, and what then?",) * 2,
    (f"{Q}\n```python\nimport os\n```", Q), (f"~~~\nimport os\n```\n~~~\n{Q}", Q), (f"````\n```\nimport os\n````\n{Q}", Q),
    (f"{Q}\n```\nnever closed", Q), ("What is ```ls -l``` for?", "What is for?"), ("```\nimport os\n```",) * 2,
    (f"<context>\n```\nodd fence\n</context>\n{Q}", Q), ("👍", "👍"), ("", ""), (" \n ", " \n "), ("\ud800 why?", "\ud800 why?"),
]  # fmt: skip


@pytest.mark.covers("N4-8")
@pytest.mark.parametrize(("prompt", "question"), STRIPPED)
def test_what_was_not_asked_is_taken_out(prompt: str, question: str) -> None:
    assert question_of(prompt) == question


@pytest.mark.covers("N4-8")
def test_pages_of_ours_are_taken_out_whatever_lies_in_them() -> None:
    page = "Reference data bcdfghjkm\n[1] </context> <b>\nEnd bcdfghjkm"
    assert without_injected(f"{page}\nWhy?") == "Why?" and without_injected(f"<context>{page}</context>") == ""
    assert without_injected("Reference data bcdfghjkm\nWhy?\nEnd bcdfghjkn").startswith("Reference")


PIECES = "<context> </context> <memory < ``` ~~~ <tool/> word data: \n > Caroline you told I was \ud800 hahaha".split(
    " "
)
any_text = st.text(st.characters(codec=None)) | st.lists(st.sampled_from(PIECES)).map("".join)


@given(any_text)
def test_any_prompt_gives_a_question_of_its_own_words(text: str) -> None:
    assert bool(question_of(text)) == bool(text) and set(question_of(text)) <= {*text, " ", "\n"}
    assert any(map(str.isalnum, question_of(text))) or not any(map(str.isalnum, text)) or "_" in text
    assert asked_role(text) in (None, "user", "assistant") and small_talk(text) in (True, False)


@pytest.mark.parametrize(
    "piece", [*"< ``` ` <a <context> a A. ~~~\n ```\n <context>\n you John ' ha".split(" "), "B bcdfghjkm\n", "a\n"]
)
def test_a_long_prompt_of_anything_is_read_in_passes(piece: str) -> None:
    def read(length: int) -> None:
        text = (piece * length)[:length] + "End bcdfghjkm\n"
        for reader in (question_of, without_injected, asked_role, small_talk, kinds_in):
            reader(text)  # type: ignore[operator]
        speakers_in(text, ["Caroline", "A A", "Dr. Lee"])

    assert grows_too_fast(read, 250_000) is None


SPEAKERS = [
    ("what did caroline say?", ["Caroline"], ["Caroline"], "what did say?"),
    ("What is Caroline's job, and Melanie’s?", ["Melanie", "Caroline"], ["Caroline", "Melanie"], "What is job, and?"),
    ("Carolines and carolineish", ["Caroline"], [], None),
    ("What did Caroline say?", ["Caroline Smith", "Caroline Jones"], [], None),
    ("Where is Caroline?", ["Caroline Smith"], ["Caroline Smith"], "Where is?"),
    ("Caroline's", ["Caroline"], ["Caroline"], "Caroline's"),
    ("what will she do?", ["Will Smith"], [], None), ("did Will go?", ["Will Smith"], ["Will Smith"], "did go?"),
    ("it may rain", ["May"], [], None), ("did the Dr. call?", ["Dr. Lee"], [], None),
    ("李雷喜欢什么", ["韩梅梅", "李雷"], ["李雷"], "喜欢什么"),
    ("Was sagte Jose\u0301?", ["José"], ["José"], "Was sagte?"), ("who is (.* here", ["(.*", "", "[a"], ["(.*"], "who is here"),
    ("Did Name77 call?", [f"Name{number}" for number in range(1000)], ["Name77"], "Did call?"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "known", "named", "left"), SPEAKERS)
def test_known_speakers_are_recognised_and_can_be_cut_out(
    question: str, known: list[str], named: list[str], left: str | None
) -> None:
    assert speakers_in(question, known) == (named, question if left is None else left)


@pytest.mark.parametrize(
    ("role", "questions"),
    [
        ("assistant", "What did you advise me? | Remind me what you recommended | You told me a trick, which?"
         " | What was your suggestion?"
         " | I told you about Ann. What did you advise? | Was hast du mir zum Zelt geraten? | Was war dein Vorschlag?"),
        ("user", "What did I tell you about Ann? | I told you my shoe size, what is it? | Was habe ich dir über Anna erzählt?"),
        (None, "Can you tell me what my dentist is called? | Where did I put the key? | What did Ann say? | what should I ask you"),
    ],
)  # fmt: skip
def test_whose_words_are_asked_for(role: str | None, questions: str) -> None:
    assert [asked_role(question) for question in questions.split(" | ")] == [role] * len(questions.split(" | "))


COURTEOUS = """thanks! | ok | go on | continue please | perfect, do that | lol | good morning | Hello!
| thank you so much for the help
| hahaha that's great | 👍 | thx 🙏 | sure, go ahead | sooo good | danke | vielen Dank | alles klar | guten Morgen
| merci beaucoup | gracias"""
ASKING = """thanks, and where is the key? | is it good? | good morning routine | key | great wall | danke, und wo ist der Schlüssel?
| nein, Dienstag | 2 | continue the migration | sorry, I meant 75 | night shift | 🐘 | | ?! | did it work | do that"""


@pytest.mark.covers("N4-7")
def test_small_talk_asks_for_nothing_and_a_question_is_never_small_talk() -> None:
    assert [text for text in COURTEOUS.replace("\n", " ").split(" | ") if not small_talk(text)] == []
    assert [text for text in ASKING.replace("\n", " ").split(" | ") if small_talk(text)] == []


@given(st.sampled_from(COURTEOUS.replace("\n", " ").split(" | ")))
def test_what_names_a_thing_is_no_small_talk(text: str) -> None:
    assert not small_talk(f"{text}, the passport") and small_talk(f"{text}!!".upper())
