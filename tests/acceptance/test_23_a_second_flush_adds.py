"""Row 23, second half: a second flush adds to a section of MEMORY.md instead of replacing it."""

from pathlib import Path

import pytest

from memorist import Memory
from memorist.files.memory_md import sync


@pytest.mark.covers("W2-6")
def test_a_second_flush_adds_to_the_section(memory: Memory, tmp_path: Path) -> None:
    page = tmp_path / "MEMORY.md"
    for saying in ("The heron nests at the weir", "## is how a heading begins, and this is prose", "Third time"):
        memory.remember(saying, kind="note", data={"section": "Working Context"})
        sync(memory, page)
    text = page.read_text(encoding="utf-8")
    section = text.partition("## Working Context\n")[2]
    places = [section.index(said) for said in ("The heron nests", "## is how", "Third time")]
    assert places == sorted(places) and text.count("## Working Context") == 1
