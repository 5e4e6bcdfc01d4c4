"""Is the question found in what a host hands over?"""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.text.question import question_of, without_injected

Q = "Which database do we use?"
HASH = "3f2a" * 16
BLOB = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4SDUgAAAAASUVORK5CYII="
TRACE = """Traceback (most recent call last):
  File "app.py", line 3, in <module>
    run()
  File "app.py", line 9, in run
    raise KeyError("staging")
KeyError: 'staging'"""

STRIPPED = [
    (Q, Q),
    (f"  {Q}\n\n\n", Q),
    ("Which   database\t do we use?", Q),
    (f"<system-reminder>Be kind.</system-reminder>{Q}", Q),
    (f"{Q}\n<system-reminder>\nBe kind.\n</system-reminder>", Q),
    (f"<project_memory scope='all'>Postgres</project_memory>\n{Q}", Q),
    (f"<memory>Postgres</memory>{Q}<memory>Redis</memory>", Q),
    (f"<memories>Postgres</memories>{Q}", Q),
    (f"<context>x</context> {Q}", Q),
    (f"<CONTEXT>x</CONTEXT> {Q}", Q),
    (f"<tool_result id='3'>x</tool_result>{Q}", Q),
    (f"<environment_details>\n# VSCode\n</environment_details>\n{Q}", Q),
    (f"<attachment name='a.txt'>x</attachment>{Q}", Q),
    (f"<my-tool-output>x</my-tool-output>{Q}", Q),
    (f"<local-command-stdout>x</local-command-stdout>{Q}", Q),
    (f"<context>a <context>b</context> c</context>{Q}", Q),
    (f"<context>a <memory>b</context> c</memory>{Q}", Q),
    (f"<context/>{Q}", Q),
    (f"{Q}</context>", Q),
    (f"{Q}\n<system-reminder>\nBe kind.", Q),
    (f"<system-reminder>\n{Q}", f"<system-reminder>\n{Q}"),  # nothing else remains
    ("<context>only this</context>", "<context>only this</context>"),
    ("Why is <b>this</b> bold?", "Why is <b>this</b> bold?"),
    ("Why does <ToolTip>x</ToolTip> fail?", "Why does <ToolTip>x</ToolTip> fail?"),
    ("Is List<tool> generic, and what then?", "Is List<tool> generic, and what then?"),
    ("is 3 < 4 and 5 > 4?", "is 3 < 4 and 5 > 4?"),
    (f"{Q}\n```python\nimport os\n```", Q),
    (f"```\nimport os\n```\n{Q}", Q),
    (f"~~~\nimport os\n```\n~~~\n{Q}", Q),
    (f"````\n```\nimport os\n````\n{Q}", Q),
    (f"  ```sh\n  ls\n  ```\n{Q}", Q),
    (f"{Q}\n```\nnever closed", Q),
    ("What is ```ls -l``` for?", "What is for?"),
    ("```\nimport os\n```", "```\nimport os\n```"),
    ("Does `ls` work?", "Does `ls` work?"),
    (f"<context>\n```\nodd fence\n</context>\n{Q}", Q),
    (f"```xml\n<context>\n```\n{Q}", Q),
    (f"data:image/png;base64,{BLOB} {Q}", Q),
    (f"{BLOB}\n{Q}", Q),
    (f"{HASH} {Q}", Q),
    (f"0x{HASH} {Q}", Q),
    (f"What is commit {HASH[:40]}?", f"What is commit {HASH[:40]}?"),
    (HASH, HASH),
    ("Where is src/components/UserProfile2/settings/PageOne/index/Deep/main.tsx?",) * 2,
    ("data: the new oil?", "data: the new oil?"),
    (f"{Q}\n{TRACE}", f"{Q}\nKeyError: 'staging'"),
    (f"{TRACE}\n{Q}", f"KeyError: 'staging'\n{Q}"),
    (TRACE, "KeyError: 'staging'"),
    (
        f"{TRACE}\n\nDuring handling of the above exception, another exception occurred:\n\n{TRACE}",
        "KeyError: 'staging'\nKeyError: 'staging'",
    ),
    (f"Error: no\n    at run (app.js:3:5)\n    at main (app.js:9:1)\n{Q}", f"Error: no\n{Q}"),
    (f"> He said so\n> and so\n{Q}", Q),
    ("> only a quote", "> only a quote"),
    ("User: hi\nAssistant: hello\nUser: " + Q, f"{Q}\nhi\nhello"),
    ("Human: hi\n\nAssistant: hello\n\nHuman: " + Q + "\n\nAssistant:", f"{Q}\nhi\nhello"),
    ("**User:** hi\n**Assistant:** hello\n**User:** " + Q, f"{Q}\nhi\nhello"),
    ("Notes\nuser: a\nassistant: b\nuser: c\nd\nassistant: e", "c\nd\nNotes\na\nb\ne"),
    (f"User: {Q}", f"User: {Q}"),
    ("The user: who is it?", "The user: who is it?"),
    ("日本語の質問\n> 引用", "日本語の質問"),
    ("👍", "👍"),
    ("", ""),
    (" \n ", " \n "),
    ("\ud800 why?", "\ud800 why?"),
]


@pytest.mark.covers("N4-8")
@pytest.mark.parametrize(("prompt", "question"), STRIPPED)
def test_what_was_not_asked_is_taken_out(prompt: str, question: str) -> None:
    assert question_of(prompt) == question


TOKENS = "<context> </context> <memory > < ``` ~~~ User: Assistant: word data: , <tool/> \ud800".split()
pieces = st.sampled_from([*TOKENS, TRACE, HASH, BLOB, "\n", "\r\n", " ", "\n> ", "\n    at x (y)"])
any_text = st.text(st.characters(codec=None)) | st.lists(pieces).map("".join)


@given(any_text)
@example("<context>```</context>\n```\nUser: x\nAssistant:")
def test_any_prompt_gives_a_question_of_its_own_words(text: str) -> None:
    question = question_of(text)
    assert len(question) <= len(text) + text.count("\n") + text.count("<")
    assert bool(question) == bool(text)
    if any(map(str.isalnum, text)):
        assert any(char.isalnum() or char == "_" for char in question)
    assert set(question) <= {*text, " ", "\n"}


@given(st.lists(st.sampled_from(["which", "database", "runs", "on", "staging", "?"]), min_size=1).map(" ".join))
def test_a_plain_question_is_left_alone(text: str) -> None:
    assert question_of(text) == text


REPEATED = "< ``` ` <a <context> </context> <context><memory> data: a f ~ > a- ```a ~~~\n".split(" ")
REPEATED += ["\n", " ", "\n ", "```\n", "User:\n", "User: a\nAssistant: b\n", "    at ", f"{TRACE}\n"]


@pytest.mark.parametrize("piece", REPEATED)
def test_a_long_prompt_of_anything_is_read_in_passes(piece: str) -> None:
    size = 1_000_000 if piece in ("<", "```") else 200_000
    text = (piece * size)[:size]
    began = time.process_time()
    question_of(text)
    assert time.process_time() - began < 20  # about a second at most; what is not linear would take hours


@pytest.mark.parametrize("end", ["", "End bcdfghjkn\n", "End bcdfghjkm\n"])
def test_what_looks_like_many_pages_of_ours_is_read_in_passes(end: str) -> None:
    text = "Reference data bcdfghjkm\n" * 100_000 + end + "Why?"
    began = time.process_time()
    assert without_injected(text) == ("Why?" if end.endswith("km\n") else text)
    assert time.process_time() - began < 20  # well under a second; to look for each end anew takes a minute
