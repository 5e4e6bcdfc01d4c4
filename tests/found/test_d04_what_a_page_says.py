"""D4: the front matter of a Markdown file dates it by `updated:` too, and a heading with nothing under it is no memory."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorist import Memory
from memorist.files.markdown import memories_in
from memorist.files.transfer import import_files

pytestmark = pytest.mark.covers("D4")
CHANGED = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("front", "day"),
    [
        ("updated: 2025-03-14", datetime(2025, 3, 14, tzinfo=UTC)),
        ('Updated: "2025-03-14T10:30:00Z"', datetime(2025, 3, 14, 10, 30, tzinfo=UTC)),
        ("modified: March 14, 2025", datetime(2025, 3, 14, tzinfo=UTC)),
        ("created: 2024-01-01\nupdated: 2025-03-14", datetime(2025, 3, 14, tzinfo=UTC)),
        ("updated: 2025-03-14\ndate: 2024-01-01", datetime(2024, 1, 1, tzinfo=UTC)),
        ("date: soon\nupdated: 2025-03-14", datetime(2025, 3, 14, tzinfo=UTC)),
        ("updated: soon", CHANGED),
    ],
)
def test_front_matter_dates_a_page(front: str, day: datetime) -> None:
    [entry] = memories_in(f"---\n{front}\n---\n- Staging runs Postgres 16\n", "notes.md", CHANGED)
    assert entry.draft.at == day


@pytest.mark.parametrize(
    "empty", ["## Decisions", "##", "## ", "## 2025-03-14", "Decisions\n---", "**Decisions**", "# A\n## B\n### C"]
)
def test_an_empty_heading_is_no_memory(empty: str) -> None:
    found = memories_in(f"{empty}\n\n# Facts\n- one\n\n{empty}\n", "notes.md", CHANGED)
    texts = [each.draft.text for each in found]
    assert [text for text in texts if text != "**Decisions**"] == ["one"]  # bold text of its own is a paragraph


def test_it_reaches_the_store_so(tmp_path: Path) -> None:
    page = tmp_path / "MEMORY.md"
    page.write_text("---\nupdated: 2025-03-14\n---\n# Notes\n\n## Decisions\n\n## Facts\n- Staging runs Postgres 16\n")
    with Memory(":memory:") as memory:
        assert import_files(memory, [page]).outcomes == {"added": 1}
        [record] = memory.list()
        assert (record.text, record.title, record.times.at.date().isoformat()) == (
            "Staging runs Postgres 16", "Notes › Facts", "2025-03-14",
        )  # fmt: skip
