"""A page that people and programs write together: no line of it is ever lost, and what is a memory is found again."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.errors import Conflict
from memorist.files.markdown import memories_in
from memorist.files.memory_md import sync
from memorist.files.merge import merged
from memorist.files.page import Edits, item_of, labels_beside, parse, says_the_same
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


@pytest.mark.covers("W2-5")
def test_notes_of_basic_memory_are_understood() -> None:
    page = parse(
        "---\ntitle: Search\n---\n\n- [decision] Use FTS5 #search (fast)\n- part_of [[Engine]]\n- [tip] Keep it small\n"
    )
    first, relation, tip = page.entries()
    draft = first.draft("project/atlas")
    assert (draft.kind, draft.tags, draft.text) == ("decision", ("search",), "Use FTS5 (fast)")
    assert relation.says_nothing and tip.draft("project/atlas").kind == "fact"
    assert tip.draft("project/atlas").text == "[tip] Keep it small", "it names no kind"


@pytest.mark.parametrize(
    ("line", "kind", "tags", "text"),
    [
        ("- [decision] Use Postgres #db #storage", "decision", ("db", "storage"), "Use Postgres"),
        ("- 2026-05-01: [Warning] Mind the gap #rail", "warning", ("rail",), "Mind the gap"),
        ("- [decision] 2026-05-01: Use Postgres", "decision", (), "Use Postgres"),
        ("- Use Postgres #db\n  - because it lasts\n  #not-this", "fact", ("db", "not-this"),
         "Use Postgres\n- because it lasts\n#not-this"),
        ("We use Postgres for all\nthat lasts. #db", "fact", ("db",), "We use Postgres for all\nthat lasts."),
        ("We use Postgres\n#db #storage", "fact", ("db", "storage"), "We use Postgres"),
        ("- Ask in #general", "fact", ("general",), "Ask in #general"),
        ("- Alerts: #ops", "fact", ("ops",), "Alerts: #ops"),
        ("- The #frontend team decides", "fact", ("frontend",), "The #frontend team decides"),
        ("- #db #storage", "fact", ("db", "storage"), "#db #storage"),
        ("- [x] done #soon", "fact", ("soon",), "[x] done"),
        ("- Written in C# or F#", "fact", (), "Written in C# or F#"),
        ("- Closes #12", "fact", (), "Closes #12"),
        ("- [Anna](https://x.example) is here", "fact", (), "[Anna](https://x.example) is here"),
        (f"- Long #{'x' * 101}", "fact", ("x" * 100,), f"Long #{'x' * 101}"),
    ],
)  # fmt: skip
def test_categories_and_tags_are_labels_and_no_part_of_the_text(
    line: str, kind: str, tags: tuple[str, ...], text: str
) -> None:
    (found,) = parse(f"{line}\n").entries()
    draft = found.draft("project/atlas")
    assert (draft.kind, draft.tags, draft.text) == (kind, tags, text)


WORDS = st.lists(
    st.sampled_from(("Use", "Postgres", "in", "#db", "C#", "(fast)", "[x]", "3.", "naïve")), min_size=1, max_size=5
)


@settings(max_examples=rounds(2000, 0.03))
@given(
    st.sampled_from(("- ", "* ", "  1. ", "")), st.sampled_from(("", "2026-05-01: ")),
    st.sampled_from(("", "[decision] ", "[tip] ")), WORDS.map(" ".join), st.sampled_from(("", " #db", " #db #storage")),
    st.sampled_from(("", "\n  - more", "\n  #x")), WORDS,
)  # fmt: skip
def test_a_line_says_what_became_of_it_and_keeps_its_labels_with_another_text(
    sign: str, day: str, category: str, text: str, tags: str, below: str, words: list[str]
) -> None:
    """Whatever a person writes: its memory says the same, and where that has another text, the line that says so does too."""
    (found, *more) = parse(f"{sign}{day}{category}{text}{tags}{below}\n").entries()
    if more or found.says_nothing:
        return
    draft = found.draft("project/atlas")
    one = replace(record(draft.text, draft.kind or "fact"), tags=draft.tags)
    assert says_the_same(found, one) and not labels_beside(found, one)
    new = replace(one, text=" ".join(["other", *words]))
    (line,) = parse("\n".join(item_of(new, found)) + "\n").entries()
    assert says_the_same(line, new) and line.mark == new.id
    assert set(line.labelled.behind) >= set(found.labelled.behind) or not {"#db", "in"}.isdisjoint(words)


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
@settings(max_examples=rounds(1000, 0.024))
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


def test_code_of_a_decision_begins_on_its_own_line() -> None:
    page = parse("\n".join(item_of(record("```\n# no heading\n```", "decision"))) + "\n- next\n")
    assert [passage.text for passage in page.entries()][1:] == ["next"] and not page.sections


@pytest.mark.parametrize(
    ("line", "title"), [("## C#", "C#"), ("## Risks ##", "Risks"), ("## ##", ""), ("# **Bold**:", "Bold")]
)
def test_a_heading_is_read_the_same_on_a_page_and_in_a_file(line: str, title: str) -> None:
    assert parse(line).sections[0].title == title
    (entry,) = memories_in(f"{line}\n\n- said\n", "notes.md", NOW)
    assert (entry.draft.title or "") == title
