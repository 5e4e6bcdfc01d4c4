"""The events on the bus: five names with the payloads of the founding document, whatever verb or surface did it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.access import access_for
from memorist.files.transfer import import_files
from memorist.seeds import hebbian, tiers
from memorist.seeds.curated import slash

Heard = list[tuple[str, dict[str, Any]]]
PAYLOADS = {
    "memory:read": {"type", "path", "size"},
    "memory:write": {"type", "path", "delta"},
    "memory:search": {"query", "results"},
}


def listening(memory: Memory, event: str | None = None) -> Heard:
    heard: Heard = []

    def hear(name: str, facts: Mapping[str, Any]) -> None:
        heard.append((name, dict(facts)))

    memory.bus.listen(hear, event)
    return heard


def told(heard: Heard, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(facts[name] for name in names) for _, facts in heard]


# ---------------------------------------------------------------- payloads


@pytest.mark.covers("S2-20")
def test_a_write_tells_type_path_and_delta(memory: Memory) -> None:
    heard = listening(memory, "memory:write")
    id = memory.remember("Staging runs Postgres 16").id
    memory.revise(1, "Staging runs Postgres 17 now")
    memory.pin(1)
    memory.forget(1)
    memory.restore(1)
    assert told(heard, "type", "path", "delta") == [
        ("long-term", f"project/atlas/{id}", delta) for delta in (24, 4, 0, -28, 28)
    ]
    assert told(heard, "outcome") == [("added",), *[("changed",)] * 4] and {f["id"] for _, f in heard} == {id}


@pytest.mark.covers("S2-20")
def test_a_change_of_many_tells_of_each(memory: Memory) -> None:
    memory.remember_many(["one", "two words", "three words here", *(f"number {n}" for n in range(9))])
    heard = listening(memory)
    done = memory.forget(where={"number": {"$lte": 3}})
    assert sorted(told(heard, "delta")) == [(-16,), (-9,), (-3,)]
    memory.undo(done.batch)
    assert sorted(told(heard[3:], "delta")) == [(3,), (9,), (16,)]


@pytest.mark.covers("S2-20")
@pytest.mark.parametrize(
    ("draft", "type"),
    [
        ({"text": "hello", "kind": "turn", "session": "s1", "role": "user"}, "episodic"),
        ({"text": "a page of a book", "kind": "document"}, "source"),
        ({"text": "paint the door", "kind": "task"}, "task"),
        ({"text": "the door is green"}, "long-term"),
    ],
)
def test_a_type_is_one_of_the_documents_words(memory: Memory, draft: dict[str, Any], type: str) -> None:
    heard = listening(memory)
    memory.remember_many([draft])
    memory.get(1)
    assert told(heard, "type") == [(type,), (type,)]


@pytest.mark.covers("S2-20")
def test_what_came_from_a_file_is_extracted(memory: Memory) -> None:
    file = memory.through(replace(memory.access, origin="file"))
    heard = listening(memory)
    file.remember("DECISION: one queue")
    assert told(heard, "type") == [("extracted",)]


@pytest.mark.covers("S2-20")
def test_reading_tells_type_path_and_size_of_each(memory: Memory) -> None:
    ids = [memory.remember(text).id for text in ("one", "three")]
    heard = listening(memory)
    memory.get(1)
    memory.list()
    memory.timeline()
    one, three = (("long-term", f"project/atlas/{id}", size) for id, size in zip(ids, (3, 5), strict=True))
    assert told(heard, "type", "path", "size") == [one, three, one, one, three]
    assert {name for name, _ in heard} == {"memory:read"}


@pytest.mark.covers("S2-20", "W2-10")
def test_a_question_tells_its_words_and_how_many_it_found(memory: Memory) -> None:
    memory.remember("Staging runs Postgres 16")
    heard = listening(memory)
    memory.recall("which Postgres runs in staging?")
    memory.recall("zebra")
    assert told(heard, "query", "results") == [("which Postgres runs in staging?", 1), ("zebra", 0)]
    memory.explain("which Postgres runs in staging?")
    assert len(heard) == 2, "looking at how an answer comes about is no search"


@pytest.mark.covers("S2-20")
def test_a_prompt_is_a_search_and_a_read_of_working_memory(memory: Memory) -> None:
    memory.remember("Staging runs Postgres 16")
    heard = listening(memory)
    made = memory.context("which Postgres runs in staging?")
    assert [name for name, _ in heard] == ["memory:search", "memory:read"]
    read = heard[1][1]
    assert (read["type"], read["path"], read["size"]) == ("working", f"context/{made.receipt}", len(made.text))
    memory.context("zebra")
    assert [name for name, _ in heard[2:]] == ["memory:search"], "nothing was loaded"


# ---------------------------------------------------------------- every surface


def through_five_tools(memory: Memory, folder: Path) -> None:
    tools = hebbian(memory)
    tools.memory_store("An empty body signs as ''")
    tools.memory_query("empty body")


def through_tiers(memory: Memory, folder: Path) -> None:
    kept = tiers(memory)
    kept.add_decision("Sign empty bodies as ''")
    kept.build_context("42", "how are empty bodies signed?", budget=500)


def through_slash(memory: Memory, folder: Path) -> None:
    slash(memory, "/remember An empty body signs as ''")
    slash(memory, "/memory search empty body")


def through_a_file(memory: Memory, folder: Path) -> None:
    (folder / "in.md").write_text("# Notes\n\n- An empty body signs as ''\n", encoding="utf-8")
    import_files(memory, [folder / "in.md"])
    memory.recall("empty body")


def through_a_conversation(memory: Memory, folder: Path) -> None:
    memory.remember([{"role": "user", "content": "an empty body signs as ''"}], session="s1")
    memory.recall("empty body", search="sessions")


def through_findings(memory: Memory, folder: Path) -> None:
    memory.extract("We decided to sign an empty body with an empty string.", session="s1", agent="a")
    memory.recall("empty body", session="s1")


@pytest.mark.covers("S2-20", "S2-21")
@pytest.mark.parametrize(
    "work",
    [through_five_tools, through_tiers, through_slash, through_a_file, through_a_conversation, through_findings],
)
def test_every_surface_tells_the_same(memory: Memory, tmp_path: Path, work: Callable[[Memory, Path], None]) -> None:
    heard = listening(memory)
    work(memory, tmp_path)
    assert {"memory:write", "memory:search"} <= {name for name, _ in heard}
    for name, facts in heard:
        assert PAYLOADS[name] <= facts.keys(), name


@pytest.mark.covers("S2-20", "S2-21")
@given(steps=st.lists(st.sampled_from(["add", "revise", "pin", "forget", "restore", "undo", "vote"]), max_size=12))
def test_the_deltas_add_up_to_what_is_there(steps: list[str]) -> None:
    with Memory(":memory:", project="atlas", embed="none") as memory:
        heard, number = listening(memory, "memory:write"), 0
        acts: dict[str, Callable[[], object]] = {
            "revise": lambda: memory.revise(1, f"text {'x' * number}"),
            "pin": lambda: memory.pin(1),
            "forget": lambda: memory.forget(1),
            "restore": lambda: memory.restore(1),
            "undo": memory.undo,
            "vote": lambda: memory.feedback(1, "useful"),
        }
        memory.remember("the first of them")
        for step in steps:
            number += 1
            try:
                memory.remember(f"memory {number}") if step == "add" else acts[step]()
            except Exception as problem:  # what cannot be done now tells nothing
                assert type(problem).__module__ == "memorist.errors", problem
        assert sum(facts["delta"] for _, facts in heard) == sum(len(record.text) for record in memory.list())


def test_nothing_is_looked_up_while_nobody_listens(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object) -> None:
        raise AssertionError("looked up for nobody")

    monkeypatch.setattr("memorist.engine.written", look)
    monkeypatch.setattr("memorist.engine.read", look)
    memory.remember("one")
    memory.pin(1)
    memory.list()


@pytest.mark.covers("C2-6", "S2-16")
def test_a_skill_hears_nothing(memory: Memory) -> None:
    skill = memory.through(access_for("skill", "project/atlas"))
    heard = listening(skill)
    memory.remember("one")
    memory.get(1)
    memory.context("one")
    assert heard == []
