"""A page that people and programs write together: no line of it is ever lost, and what is a memory is found again."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.errors import Conflict
from memorist.files.memory_md import sync
from memorist.files.merge import merged
from memorist.files.page import Edits, item_of, parse, says_the_same
from memorist.records import Record, Times, now_utc
from memorist.text.visible import is_blank

NOW = now_utc()
PIECES = (
    "# Title", "## Key Decisions", "## key decisions", "### Nested", "text", "  indented", "- an item", "  - nested", "1. one",
    "* star", "```", "```py", "~~~", "# in code?", "---", "===", "", "   ", "\t", "<!-- comment", "-->", "<!-- m:01abc -->",
    "- marked <!-- m:01abc -->", "<<<<<<< HEAD", ">>>>>>> x", "| a | b |", "> quoted", "[[Note|text]]", "![[embed]]", "\ufeff",
    "key: value", "tags: [a, b]", "\x0c", "\u2028", "naïve 🦀",
)  # fmt: skip
pages = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(("\n", "\r\n", "\r", "\n\n", ""))), max_size=40
).map(lambda pairs: "".join(text + end for text, end in pairs))


def record(text: str, kind: str = "fact") -> Record:
    return Record("m0123456789abcdefghjkmnpqrs", "default", "project/atlas", kind, text, Times(NOW, NOW, NOW))


@pytest.mark.covers("W2-5")
@given(st.one_of(st.text(), pages))
def test_every_text_is_the_text_of_its_page(text: str) -> None:
    page = parse(text)
    assert page.text == text and parse(page.text) == page
    assert Edits(page).text() == text
    covered = [number for block in page.blocks for number in range(block.start, block.stop)]
    assert covered == sorted(set(covered)), "no line belongs to two blocks"
    assert not any(
        line.text.strip("\ufeff \t") for n, line in enumerate(page.lines) if n not in set(covered) and line.text.strip()
    )


@pytest.mark.covers("W2-5")
@given(
    pages, st.lists(st.sampled_from(("one", "two\nlines", "- dash", "```\ncode", "<!-- x", "# no heading")), max_size=4)
)
def test_adding_to_a_page_keeps_every_line_in_its_order(text: str, texts: list[str]) -> None:
    edits = Edits(parse(text))
    for said in texts:
        edits.add("Key Decisions", item_of(record(said)))
    after = [line.text for line in parse(edits.done(NOW, 20)).lines]
    place = iter(after)
    properties = ("updated:", "version:")
    assert all(
        any(line.text == other for other in place) for line in parse(text).lines if not line.text.startswith(properties)
    )


@pytest.mark.covers("W2-5")
@given(st.text(min_size=1).filter(lambda text: any(map(str.isalnum, text))), st.sampled_from(("fact", "decision")))
def test_a_memory_that_was_written_is_read_again(said: str, kind: str) -> None:
    """In a page of its own, and at the end of a section whose fences and comments are closed."""
    one = record(said, kind)
    for before in (
        "## Key Decisions\n",
        "## Key Decisions\n\n- human\n",
        "intro\n\n## key decisions\npara\n\n## Next\n",
    ):
        edits = Edits(parse(before))
        edits.add("Key Decisions", item_of(one))
        found = [passage for passage in parse(edits.done(NOW, 20)).entries() if passage.mark == one.id]
        assert len(found) == 1 and says_the_same(found[0], one)


@pytest.mark.parametrize(
    "text",
    ["plain", "two\nlines", "a\n\nb", "- a list\n- of two", "code:\n\n```py\nx = 1\n\n# y\n```\nend", "  indented", "x\n    y",
     "```\nonly code\n```", "# no heading", "1. first", "2026-01-01: dated", "a <!-- hidden --> b", "unclosed\n```\ncode"],
)  # fmt: skip
def test_what_a_person_edits_is_read_back_exactly(text: str) -> None:
    page = parse("\n".join(item_of(record(text))) + "\n\n- next\n")
    first, second = page.entries()
    assert second.text == "next"
    assert first.text in (text, f"{text}\n```") and first.mark == record(text).id


@pytest.mark.covers("W2-5")
def test_headings_in_code_and_comments_are_none() -> None:
    page = parse("before\n\n```\n# code\n```\n\n<!--\n# hidden\n-->\n\n# A\n\nTitle\n=====\n\n## A\n")
    assert [block.title for block in page.sections] == ["A", "Title", "A"]
    assert [(passage.section, passage.text) for passage in page.entries()] == [("", "before")]


@pytest.mark.covers("C2-1")
def test_sections_match_in_any_case_and_are_made_where_they_are_missing() -> None:
    edits = Edits(parse("## KEY decisions\n- old\n"))
    edits.add("Key Decisions", ["- new"])
    edits.add("Working Context", ["- first"])
    assert edits.done(NOW, 20) == "## KEY decisions\n- old\n- new\n\n## Working Context\n\n- first\n"


def test_properties_of_others_stay_and_ours_move_on() -> None:
    text = '---\ntype: agent-memory\naliases:\n  - "[[Note]]"\nversion: 7\ncssclasses: [wide]\n---\n\n## A\n'
    edits = Edits(parse(text))
    edits.add("A", ["- x"])
    assert edits.done(NOW, 20) == text.replace("version: 7", "version: 8") + "\n- x\n"


def test_notes_of_basic_memory_are_understood() -> None:
    page = parse(
        "---\ntitle: Search\n---\n\n- [decision] Use FTS5 #search (fast)\n- part_of [[Engine]]\n- [tip] Keep it small\n"
    )
    first, relation, tip = page.entries()
    draft = first.draft("project/atlas")
    assert (draft.kind, draft.tags, draft.text) == ("decision", ("search",), "[decision] Use FTS5 #search (fast)")
    assert relation.says_nothing and tip.draft("project/atlas").kind == "fact"


LINES = st.lists(st.sampled_from("abcde"), max_size=8)


@given(LINES, LINES)
def test_a_merge_with_an_unchanged_side_is_the_other_side(base: list[str], other: list[str]) -> None:
    assert merged(base, base, other, str) == other
    assert merged(base, other, base, str) == other
    assert merged(base, other, other, str) == other


@given(LINES, LINES, LINES)
def test_a_merge_keeps_every_line_that_a_side_added(base: list[str], ours: list[str], theirs: list[str]) -> None:
    result = merged(base, ours, theirs, str)
    for side in (ours, theirs):
        assert result is None or {line for line in side if line not in base} <= set(result)


@pytest.mark.covers("P18", "W2-5")
@settings(max_examples=rounds(1000, 0.04))
@given(pages, st.lists(st.sampled_from(("one", "two\nlines", "```\ncode", "<!-- x", "# no heading")), max_size=3))
def test_any_page_is_synced_without_loss_and_the_second_time_nothing_happens(text: str, texts: list[str]) -> None:
    with TemporaryDirectory() as folder, Memory(":memory:", project="atlas", embed="none") as memory:
        page = Path(folder) / "MEMORY.md"
        page.write_bytes(text.encode())
        for said in texts:
            memory.remember(said, kind="decision")
        try:
            sync(memory, page)
        except Conflict:  # the marks of an unfinished merge
            assert page.read_bytes() == text.encode()
            return
        after = page.read_bytes()
        lines = iter([line.text for line in parse(after.decode()).lines])
        kept = [line.text for line in parse(text).lines if not is_blank(line.text)]
        assert all(any(line == other for other in lines) for line in kept)
        assert not sync(memory, page).changed and not sync(memory, page).changed and page.read_bytes() == after
