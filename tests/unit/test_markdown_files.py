"""Markdown files as discrete memories: where one ends, what it is called, when it happened, and that no word is lost."""

import re
import time
from datetime import UTC, datetime
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.files.markdown import Entry, _Outline, date_before, date_in, date_of_name, memories_in
from memorist.records import Draft

MODIFIED = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)


def found(text: str, name: str = "MEMORY.md") -> list[Entry]:
    return memories_in(text, name, MODIFIED)


def drafts(text: str, name: str = "MEMORY.md") -> list[Draft]:
    return [each.draft for each in found(text, name)]


def texts(text: str) -> list[str]:
    return [draft.text for draft in drafts(text)]


# ---------------------------------------------------------------- pieces


@pytest.mark.covers("S1-3", "S1-15")
def test_items_numbers_and_paragraphs_are_memories_each() -> None:
    page = (
        "First thought\nover two lines\n\nSecond thought\n- an item\n* another\n+ a third\n1. one\n2) two\n• pasted\n"
    )
    assert texts(page) == [
        "First thought\nover two lines", "Second thought", "an item", "another", "a third", "one", "two", "pasted",
    ]  # fmt: skip


def test_what_is_nested_belongs_to_its_item() -> None:
    page = (
        "- Payments\n  - sign with HMAC\n    - an empty body signs as ''\n\n  They said so.\n\n"
        "  - later\n- Next\nlazily continued\n\t- tabbed\n - a slip of the hand\n"
    )
    assert texts(page) == [
        "Payments\n- sign with HMAC\n  - an empty body signs as ''\n\nThey said so.\n- later",
        "Next\nlazily continued\n\t- tabbed",
        "a slip of the hand",
    ]


def test_code_stays_with_what_it_explains_and_is_kept_to_the_letter() -> None:
    page = "Deploy like this:\n\n```sh\n# no heading\n- no item  \n\nmake\n```\n\nNext\n~~~\n``` no end\n~~~\n"
    assert texts(page) == [
        "Deploy like this:\n\n```sh\n# no heading\n- no item  \n\nmake\n```",
        "Next\n~~~\n``` no end\n~~~",
    ]
    assert texts("- ```py\n  x = 1\n  ```\n- b") == ["```py\nx = 1\n```", "b"]
    assert texts("```\nnever closed\n\n# A heading\n- x") == ["```\nnever closed", "x"]


def test_a_table_is_one_memory() -> None:
    assert texts("| a | b |\n|---|---|\n| 1 | 2 |\n\nafter") == ["| a | b |\n|---|---|\n| 1 | 2 |", "after"]


def test_boxes_are_said_in_words() -> None:
    assert texts("- [ ] Ship it\n- [x] Test it\n- [X] Plan it\n- [ ]\n- [x](a link)") == [
        "To do: Ship it", "Done: Test it", "Done: Plan it", "[x](a link)",
    ]  # fmt: skip


def test_comments_are_dropped_but_not_those_that_are_written_about() -> None:
    assert texts("a <!-- b --> c\n\n<!-- over\n\n- lines -->d\n\n`<!-- shown -->` e") == [
        "a   c", "d", "`<!-- shown -->` e",
    ]  # fmt: skip
    assert texts("a <!-- never closed\n\nb\n") == ["a <!-- never closed", "b"]
    assert texts("```\n<!-- code -->\n```") == ["```\n<!-- code -->\n```"]


def test_a_long_block_is_kept_whole() -> None:
    assert texts("word " * 50_000) == [("word " * 50_000).strip()]


# ---------------------------------------------------------------- headings, kinds, front matter


def test_headings_are_the_title_as_a_path() -> None:
    page = (
        "before\n# Payments\na\n## Signing ##\nb\n# C#\nc\n\nPlain\n=====\nd\n\nLower\n---\ne\n\n***\nf\n\ng\nh\n---\ni"
    )
    assert [(draft.title, draft.text) for draft in drafts(page)] == [
        (None, "before"), ("Payments", "a"), ("Payments › Signing", "b"), ("C#", "c"), ("Plain", "d"),
        ("Plain › Lower", "e"), ("Plain › Lower", "f"), ("Plain › Lower", "g\nh"), ("Plain › Lower", "i"),
    ]  # fmt: skip


def test_a_line_before_a_list_is_its_heading() -> None:
    page = "# Atlas\nTo deploy:\n\n- build\n- push\n\nA sentence that ends here.\n- own\n\n**People**\n- Ann\n"
    assert [(draft.title, draft.text) for draft in drafts(page)] == [
        ("Atlas › To deploy", "build"), ("Atlas › To deploy", "push"), ("Atlas", "A sentence that ends here."),
        ("Atlas", "own"), ("Atlas › People", "Ann"),
    ]  # fmt: skip


def test_a_heading_over_nothing_is_no_memory() -> None:
    page = "# Atlas\n## Decisions\n## 2025-03-14\n## ???\nSteps:\n-\n# \n## Facts\n- one\n## Later\n"
    assert [(d.title, d.text) for d in drafts(page)] == [("Facts", "one")]


def test_a_path_too_long_for_a_title_stands_before_the_text() -> None:
    [draft] = drafts(f"# {'long ' * 60}\nthe text")
    assert draft.title is None and draft.text == f"{'long ' * 60}".strip() + "\n\nthe text"


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("# Key Decisions\n- x", "decision"),
        ("# User preferences (Ann)\n- x", "preference"),
        ("# Gotchas!\n- x", "warning"),
        ("# How to deploy\n- x", "procedure"),
        ("# Decisions\n## Payments\n- x", "decision"),
        ("# Decisions\n## Warnings\n- x", "warning"),
        ("# Decisions\n- **Warning:** x", "warning"),
        ("Preference: tabs", "preference"),
        ("# Error handling\n- x", "fact"),
        ("# Notes\nNote: x", "fact"),
        ("x", "fact"),
    ],
)
def test_headings_and_first_words_name_the_kind(page: str, kind: str) -> None:
    assert [draft.kind for draft in drafts(page)] == [kind]


def test_front_matter_gives_a_title_a_date_and_tags() -> None:
    page = '---\ntitle: "Atlas"\ndate: 2025-01-02\ntags: [db, "infra"]\nauthor: ann\n---\nText\n'
    [each] = found(page)
    assert (each.draft.title, each.draft.tags, each.draft.at) == (
        "Atlas",
        ("db", "infra"),
        datetime(2025, 1, 2, tzinfo=UTC),
    )
    assert each.line == 7 and each.draft.text == "Text"
    [listed] = drafts("---\ntags:\n  - db\n  - infra\n---\nText")
    assert listed.tags == ("db", "infra")


def test_two_rules_around_prose_are_no_front_matter() -> None:
    assert texts("---\nJust words, no entries.\n\n---\nmore") == ["Just words, no entries.", "more"]
    assert texts("---\nkey: never closed\n\ntext") == ["key: never closed", "text"]


# ---------------------------------------------------------------- dates


@pytest.mark.covers("S1-15")
@pytest.mark.parametrize(
    ("page", "name", "day"),
    [
        ("- [2025-03-14] x", "m.md", "2025-03-14"),
        ("- 2025-03-14: x", "m.md", "2025-03-14"),
        ("- **2025-03-14** — x", "m.md", "2025-03-14"),
        ("- (2025/3/14) x", "m.md", "2025-03-14"),
        ("- 14 March 2025: x", "m.md", "2025-03-14"),
        ("## 2025-03-14\n- x", "m.md", "2025-03-14"),
        ("### March 14, 2025\n- x", "m.md", "2025-03-14"),
        ("# 2025-03-14\n## Afternoon\n- x", "m.md", "2025-03-14"),
        ("# 2025-03-14\n- [2025-03-15] x", "m.md", "2025-03-15"),
        ("---\ndate: 2025-03-14\n---\nx", "2024-01-01.md", "2025-03-14"),
        ("- x", "memory/2025-03-14.md", "2025-03-14"),
        ("- x", "standup_20250314.md", "2025-03-14"),
        ("## 2025-02-30\n- x", "m.md", "2026-02-03"),
        ("- 03/04/2025: x", "m.md", "2026-02-03"),
        ("- x", "m.md", "2026-02-03"),
    ],
)
def test_dates_are_kept_and_are_in_utc(page: str, name: str, day: str) -> None:
    [draft] = drafts(page, name)
    assert draft.at is not None and draft.at.utcoffset() is not None
    assert draft.at.astimezone(UTC).date().isoformat() == day


def test_a_date_is_taken_off_only_where_it_is_a_label() -> None:
    assert date_before("[2025-03-14] Moved")[1] == date_before("**2025-03-14:** Moved")[1] == "Moved"
    assert date_before("2025-03-14T09:30+02:00: Moved") == (datetime(2025, 3, 14, 7, 30, tzinfo=UTC), "Moved")
    for whole in ("2025-03-14 was a Friday", "2025-03-14 - 2025-03-20: away", "2025-03-14", "2025-03-14-rc1 is out"):
        assert date_before(whole)[1] == whole
    assert date_before("Since 2025-03-14 it works")[0] is None


def test_what_is_no_date_is_none() -> None:
    for text in ("v2025.03.141", "10.2025-03-14", "2025-13-01", "Mayor 3, 2025", "", "99 March 2025"):
        assert date_in(text) is None
    assert date_of_name("1234567890") is None and date_of_name("20250231") is None


# ---------------------------------------------------------------- any text at all

WORD = re.compile(r"[^\W_]+")
NUMBER = re.compile(r"^[ \t]*\d{1,3}[.)](?=[ \t]|$)")  # of an item
MARKS = ["# ", "## ", "###### ", "- ", "  - ", "    * ", "\t- ", "1. ", "23) ", "> ", "    ", "[ ] ", "[x] ", "```", "~~~",
         "---", "===", "***", "| ", "**", "- ```", "<!--", "-->", "`", "Steps:", "2025-03-14: ", "[2025-03-14] ",
         "## 2025-03-14", "- Warning: ", "tags: ", "\u2028", "\x85", "\ufeff", "\x00", "•", ":"]  # fmt: skip
LINES = st.lists(st.lists(st.sampled_from([*MARKS, "alpha", "Βeta", "語", "x", " "]) | st.text(max_size=8), max_size=5))
PAGES = st.builds(
    lambda lines, end: end.join("".join(line) for line in lines), LINES, st.sampled_from(["\n", "\r\n", "\r"])
)


@pytest.mark.covers("S1-15")
@given(PAGES, st.sampled_from(["MEMORY.md", "memory/2025-03-14.md"]))
def test_no_word_is_lost_whatever_somebody_wrote(page: str, name: str) -> None:
    page = page.replace("-->", "").replace("---", "-- -" if page.startswith("---") else "---")
    kept = set(WORD.findall("2025-03-14 T x"))  # a date that was a label is in `at`; an empty box says nothing
    headings: list[str] = []  # one with nothing under it says nothing either
    into = _Outline.step_into
    with patch.object(
        _Outline, "step_into", lambda outline, *given: (headings.append(given[1]), into(outline, *given))
    ):
        entries = found(page, name)
    kept |= set(WORD.findall(" ".join(headings)))
    for each in entries:
        assert each.draft.text.strip() and each.draft.at is not None
        kept |= set(WORD.findall(f"{each.draft.text} {each.draft.title or ''}"))
    lines = re.split(r"\r\n|\n|\r", page.removeprefix("\ufeff"))
    assert {word for line in lines for word in WORD.findall(NUMBER.sub("", line))} <= kept


@given(st.text())
def test_any_text_gives_memories_or_none(page: str) -> None:
    lines = len(re.split(r"\r\n|\n|\r", page))
    assert all(1 <= each.line <= lines for each in found(page))


@pytest.mark.parametrize(
    "piece", ["```a\n", "~~~~\n```\n", "<!--\n", "- ", "#", "(", "> ", "*", " ", "\t-\n", "[", "|", "-\n"]
)
def test_pathological_pages_take_no_longer_than_others(piece: str) -> None:
    began = time.monotonic()
    found(piece * (200_000 // len(piece)))
    found("# " + piece.strip() * (200_000 // len(piece)) + "a" * 100_000)
    assert time.monotonic() - began < 20


def test_many_fences_take_no_longer_than_others() -> None:
    began = time.monotonic()
    opened = "".join("`" * length + "a\n" for length in range(2000, 3, -1))
    assert len(found(opened)) == 1
    assert len(found(opened + "```\n" * 50_000)) == 1
    assert time.monotonic() - began < 20
