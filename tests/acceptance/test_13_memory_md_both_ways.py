"""Row 13: MEMORY.md keeps text before the first heading, nested headings, and human edits made between read and write."""

from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.files import whole
from memorist.files.memory_md import sync

HUMAN = """\
---
type: agent-memory
tags: [work]
version: 3
related: "[[Roadmap]]"
---
Read me first: this is ours.

# Atlas
## Key Decisions
- 2026-03-01: We ship on Tuesdays
  - never at night

  ```sh
  # not a heading
  make ship
  ```

### Nested
See [[Roadmap#Q2|the plan]] and ![[chart]].

## Key Decisions
* the second of that name, without an end"""


@pytest.mark.covers("W2-4", "W2-5", "S2-5")
def test_every_line_of_a_person_survives_what_agents_write(memory: Memory, tmp_path: Path) -> None:
    page = tmp_path / "MEMORY.md"
    page.write_text(HUMAN, encoding="utf-8")
    sync(memory, page)
    memory.remember("Staging runs Postgres 16", kind="decision")
    memory.remember("I like tabs", kind="preference")
    sync(memory, page)
    after = page.read_text(encoding="utf-8")
    lines = iter(after.splitlines())
    kept = [line for line in HUMAN.splitlines() if not line.startswith("version")]
    assert all(any(line == other for other in lines) for line in kept), "each line as it was, in its order"
    assert "version: 4" in after and after.count("Staging runs Postgres 16") == 1
    assert after.index("Staging") < after.index("### Nested"), "in the first section of that name"
    assert after.index("## User Preferences") < after.index("I like tabs")


@pytest.mark.covers("W2-4", "W2-5", "P17")
def test_an_edit_between_read_and_write_is_merged_and_not_overwritten(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody saves the page after it was read, and once more in the moment of the swap."""
    page = tmp_path / "MEMORY.md"
    sync(memory, page)
    memory.remember("Staging runs Postgres 16", kind="decision")
    put, saved = whole.put, []

    def slow(file: Path, content: bytes, known: bytes | None) -> bool:
        if len(saved) < 2:
            saved.append(f"\n- a person wrote line {len(saved)}\n")
            with page.open("a", encoding="utf-8") as opened:
                opened.write(saved[-1])
        return put(file, content, known)

    monkeypatch.setattr(whole, "put", slow)
    done = sync(memory, page)
    text = page.read_text(encoding="utf-8")
    assert all(each.strip() in text for each in saved) and "Staging runs Postgres 16" in text
    assert done.changed and not done.conflicts
    assert {"a person wrote line 0", "a person wrote line 1"} <= {record.text for record in memory.list()}


@pytest.mark.covers("P17", "P18")
def test_untouched_lines_keep_their_origin_and_edits_come_as_what_a_file_says(memory: Memory, tmp_path: Path) -> None:
    page = tmp_path / "MEMORY.md"
    person = memory.through(replace(memory.access, origin="user"))
    theirs = person.remember("The user said this").record
    agents = memory.remember("The agent said this").record
    sync(memory, page)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("The user said this", "A file says that") + "- A new line\n", encoding="utf-8")
    done = sync(memory, page)
    assert theirs is not None and agents is not None
    assert memory.get(theirs.id) == theirs and memory.get(agents.id) == agents
    [new] = [record for record in memory.list() if record.text == "A new line"]
    assert (new.origin, new.trust, new.status) == ("file", "low", "candidate")
    [question] = person.review()
    assert done.proposals == (question.id,) and "A file says that" in question.summary
    assert "A file says that" in page.read_text(encoding="utf-8"), "the human text stays in the file"
    before = page.read_bytes()
    assert not sync(memory, page).changed and page.read_bytes() == before
    person.review(question.id, decide="approve")
    assert not sync(memory, page).changed and page.read_bytes() == before
    assert (memory.get(theirs.id).text, memory.get(theirs.id).origin) == ("A file says that", "user")


@pytest.mark.covers("P17")
def test_overlapping_edits_give_a_copy_that_has_both(memory: Memory, tmp_path: Path) -> None:
    page = tmp_path / "MEMORY.md"
    fact = memory.remember("The port is 8080")
    sync(memory, page)
    page.write_text(page.read_text(encoding="utf-8").replace("8080", "9090 says a person"), encoding="utf-8")
    memory.revise(str(fact.id), "The port is 7070 says an agent")
    done = sync(memory, page)
    [copy] = done.conflicts
    said = Path(copy).read_text(encoding="utf-8")
    assert "9090 says a person" in said and "7070 says an agent" in said
    assert Path(copy).name.startswith("MEMORY.conflict-") and Path(copy).suffix == ".md"
    assert "9090 says a person" in page.read_text(encoding="utf-8")
    assert memory.get(str(fact.id)).text == "The port is 7070 says an agent"
    assert sync(memory, page).conflicts == () and len(list(tmp_path.glob("*.conflict-*"))) == 1


@pytest.mark.covers("P17")
def test_edits_of_different_lines_of_one_memory_are_merged(memory: Memory, tmp_path: Path) -> None:
    page = tmp_path / "MEMORY.md"
    door = memory.through(replace(memory.access, origin="file"))
    fact = door.remember("first\nsecond\nthird")
    person = memory.through(replace(memory.access, origin="user"))
    person.review(str(fact.batch), decide="approve")
    sync(memory, page)
    page.write_text(page.read_text(encoding="utf-8").replace("third", "third, says a person"), encoding="utf-8")
    person.revise(str(fact.id), "first, says the store\nsecond\nthird")
    plan = sync(person, page, dry_run=True)
    done = sync(person, page, adopt=plan)
    assert done.conflicts == ()
    assert memory.get(str(fact.id)).text == "first, says the store\nsecond\nthird, says a person"
    assert "- first, says the store" in page.read_text(encoding="utf-8")
