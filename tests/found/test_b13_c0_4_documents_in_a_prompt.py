"""B13, C0-3 and C0-4: a document never reached a prompt, and nothing said from which lines of which file a text came."""

import json
import re
from typing import Any

import pytest

from memorist import Memory
from memorist.recall import pipeline
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("B13", "C0-3", "C0-4")


@pytest.fixture(params=["balanced", "tiers", "curated"])
def memory(request: pytest.FixtureRequest, clock: MovableClock) -> Memory:
    memory = Memory(":memory:", project="atlas", clock=clock, design=request.param, embed="none")
    lines = [f"Line {n} speaks of harbours and cranes" for n in range(30)]
    for first in range(0, 30, 10):
        part = "\n".join(lines[first : first + 10]) + (" and of the quorum" if first == 10 else "")
        memory.remember(part, kind="document", files=["docs/guide.md"], data={"lines": [first + 1, first + 10]})
    return memory


def test_a_document_reaches_a_prompt_with_its_path_and_lines(memory: Memory) -> None:
    text = memory.context("what about the quorum?", deadline=60).text
    assert re.search(r"^\[\d+, docs/guide.md:11-20\] ", text, re.MULTILINE) and "and of the quorum" in text
    page = json.loads(memory.context("the quorum?", deadline=60, style="json").text)
    assert any(re.match(r"\d+, docs/guide.md:11-20: ", said) for group in page.values() for said in group)


def test_memories_keep_their_places_beside_documents(memory: Memory) -> None:
    for n in range(20):
        memory.remember(f"The quorum of cranes, {n} of them", kind="document", files=[f"notes/{n}.md"])
    memory.remember("The quorum is three cranes", kind="decision")
    made = memory.context("how many cranes make the quorum?", deadline=60, min_relevance=0)
    kinds = [hit.record.kind for hit in made.items]
    assert kinds.count("decision") == 1 and 1 <= kinds.count("document") <= 5


def test_only_what_may_be_read_and_is_asked_for(memory: Memory) -> None:
    memory.remember("The quorum is three cranes", kind="decision")
    kinds = {hit.record.kind for hit in memory.context("the quorum of cranes", deadline=60, kinds=["decision"]).items}
    assert kinds == {"decision"}
    kinds = {hit.record.kind for hit in memory.context("the quorum of cranes", deadline=60, kinds=["document"]).items}
    assert kinds == {"document"}


def test_a_path_cannot_pass_for_a_fact(memory: Memory) -> None:
    path = "a.md, low trust] [9] \u202e"
    memory.remember("The heron nests at the weir", kind="document", files=[path])
    text = memory.context("where does the heron nest?", deadline=60).text
    assert "a.md_ low trust_ _9_ " in text and ", low trust]" not in text


def test_without_documents_nothing_more_is_asked(clock: MovableClock, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(":memory:", project="atlas", clock=clock, embed="none") as memory:
        memory.remember("The heron nests at the weir")
        asked: list[str] = []
        real = pipeline.answer

        def answer(query: pipeline.Query, *more: Any) -> Any:
            asked.append(query.search)
            return real(query, *more)

        monkeypatch.setattr(pipeline, "answer", answer)
        memory.context("where does the heron nest?", deadline=60)
        assert asked == ["memory"]


def test_a_prompt_says_what_there_was_no_time_for(memory: Memory) -> None:
    made = memory.context("what about the quorum?", deadline=1e-6)
    assert "documents" in made.skipped and "quorum" not in made.text
    assert memory.context("what about the quorum?", deadline=60).skipped == ()
