"""The one tool of the associative design, `memory {action: …}`, as its founding document has it."""

from dataclasses import replace
from typing import Any

import pytest

from memorist import Memory, seeds
from memorist.designs import ASSOCIATIVE, HEBBIAN
from memorist.errors import Invalid, NotFound
from memorist.recall.stages.cascade import Cascade
from memorist.seeds.associative import ACTIONS, ActionAnswer, call_of
from memorist.testing import MovableClock


@pytest.fixture
def here() -> Memory:
    return Memory(":memory:", project="atlas", embed="static", design=ASSOCIATIVE)


def tool(memory: Memory) -> Any:
    return seeds.associative(memory).memory


def numbers(answer: ActionAnswer) -> list[int]:
    return [entry.id for entry in answer]


@pytest.mark.covers("S4-19")
def test_its_actions_are_those_of_the_document() -> None:
    assert list(ACTIONS) == ["remember", "recall", "search", "list", "forget", "link", "tag", "related"]
    assert {"content", "category", "scope", "tags"} <= set(ACTIONS["remember"].takes)
    assert {"from", "to", "relation"} <= set(ACTIONS["link"].takes) and ACTIONS["forget"].takes == ("id",)


@pytest.mark.covers("S4-19", "S4-4")
@pytest.mark.parametrize(
    ("category", "kind"),
    [("fact", "fact"), ("preference", "preference"), ("entity", "entity"), ("correction", "correction"),
     ("procedure", "procedure"), ("negative", "warning")],
)  # fmt: skip
def test_categories_are_kinds_and_tags_are_explicit(here: Memory, category: str, kind: str) -> None:
    done = tool(here)("remember", content="Staging runs Postgres 16", category=category, tags="project:atlas, rust,,")
    record = here.get(done[0].id)
    assert (record.kind, record.tags, record.scope) == (kind, ("project:atlas", "rust"), "project/atlas")
    assert record.origin == "agent" and done.outcome == "added" and done


@pytest.mark.covers("C4-7", "S4-19")
def test_a_list_has_what_matters_most_first_and_recent_the_latest(clock: MovableClock) -> None:
    with Memory(":memory:", project="atlas", embed="none", clock=clock, design=ASSOCIATIVE) as memory:
        act = tool(memory)
        act("remember", content="It is Postgres 16 on staging, not 14", category="correction")
        act("remember", content="The canteen is on the second floor", category="entity")
        clock.move(hours=2)
        act("remember", content="Staging is deployed on Mondays")
        assert numbers(act("list")) == [1, 3, 2] and numbers(act("recall", mode="recent")) == [3, 2, 1]
        assert numbers(act("list", limit=1)) == [1]
        clock.move(days=30)
        act("remember", content="The parser is written in Rust")
        assert numbers(act("list", limit=2)) == [4, 1], "what is old gives way"


@pytest.mark.covers("S4-11", "S4-19")
def test_a_negative_memory_brings_its_triggers(here: Memory) -> None:
    tool(here)("remember", content="Take a snapshot first", category="negative", triggers=["drop table"])
    found = tool(here)("recall", query="please drop table users")
    assert numbers(found) == [1] and "Take a snapshot first" in str(found)


@pytest.mark.covers("S4-16", "S4-19", "C4-8")
def test_scopes_are_project_global_session_and_all(here: Memory) -> None:
    user = here.through(replace(here.access, origin="user", actor="ann"))
    user.remember("Ann prefers tabs in code", kind="preference", scope="global")
    act = tool(here)
    act("remember", content="Tabs in this project are code style")
    act("remember", content="Tabs in this code were discussed just now", scope="session", session="s1")
    assert numbers(act("list", scope="project")) == [2] and numbers(act("list", scope="global")) == [1]
    assert numbers(act("list", scope="session", session="s1")) == [3]
    assert sorted(numbers(act("list"))) == [1, 2] and sorted(numbers(act("list", session="s1"))) == [1, 2, 3]
    assert 3 not in numbers(act("search", query="tabs in code")), "what is of a session stays there"
    assert numbers(act("search", query="tabs in code", scope="global")) == [1]
    for given, said in (
        ({"scope": "all"}, "one scope"),
        ({"scope": "session"}, "needs the session"),
        ({"scope": "team"}, "scope must be"),
    ):
        with pytest.raises(Invalid, match=said):
            act("remember", content="x is y", **given)


@pytest.mark.covers("C4-8", "S4-7")
def test_the_modes_of_a_recall(here: Memory) -> None:
    act = tool(here)
    act("remember", content="Kestrels nest on the north tower")
    act("remember", content="Its lift is out of order since May")
    act("remember", content="Invoices are written in euros")
    act("link", **{"from": 1, "to": 2, "relation": "RelatesTo", "weight": 0.9})
    assert numbers(act("recall", query="where do kestrels nest?", mode="semantic")) == [1]
    assert numbers(act("recall", query="where do kestrels nest?", mode="cascade")) == [1, 2]
    assert numbers(act("recall", query="where do kestrels nest?")) == [1, 2], (
        "which is what holds where nothing is said"
    )
    assert numbers(act("recall")) == [3, 2, 1] == numbers(act("recall", mode="recent"))
    with pytest.raises(Invalid, match="needs a query, or the session"):
        act("recall", mode="cascade")
    with pytest.raises(Invalid, match="mode must be recent or semantic or cascade"):
        act("recall", query="x", mode="psychic")


@pytest.mark.covers("S4-19")
def test_without_a_query_the_last_turns_of_a_session_are_one(here: Memory) -> None:
    tool(here)("remember", content="Kestrels nest on the north tower")
    with here.session("s1") as session:
        session.turn("user", "where do the kestrels nest?")
        assert numbers(tool(here)("recall", session="s1")) == [1]


@pytest.mark.covers("C4-8", "S4-3", "S4-6")
def test_links_have_a_weight_of_a_half_and_other_relations_are_evidence(here: Memory) -> None:
    act = tool(here)
    for text in ("Kestrels nest on the tower", "The lift is broken", "Invoices are in euros"):
        act("remember", content=text)
    act("link", **{"from": 1, "to": 2})
    act("link", **{"from": 2, "to": 3, "relation": "blocks"})
    act("link", **{"from": 1, "to": 3, "relation": "contradicts"})
    told = {(link.kind, link.weight, link.evidence) for link in here.links(1)}
    assert told == {("relates_to", 0.5, None), ("contradicts", 0.5, None)}
    assert [link.evidence for link in here.links(3) if link.kind == "relates_to"] == ["blocks"]
    assert set(numbers(act("related", id=1))) >= {2} and set(numbers(act("related", id=1, depth=1))) <= {2, 3}


@pytest.mark.covers("S4-19", "S4-24", "C4-9")
def test_to_forget_is_to_deactivate(here: Memory) -> None:
    act = tool(here)
    act("remember", content="Kestrels nest on the tower")
    assert act("forget", id=1).outcome == "changed" and numbers(act("list")) == []
    assert here.get(1).state == "archived" and here.restore(1)
    assert numbers(act("list")) == [1]


def test_tags_are_added(here: Memory) -> None:
    act = tool(here)
    act("remember", content="Kestrels nest on the tower", tags=["birds"])
    assert act("tag", id=1, tags=["north"]) and here.get(1).tags == ("birds", "north")
    assert numbers(act("list", tag="north")) == [1] and numbers(act("list", tag="south")) == []


def test_what_the_user_said_waits_for_them(here: Memory) -> None:
    user = here.through(replace(here.access, origin="user", actor="ann"))
    user.remember("Never push on Fridays", kind="warning")
    done = tool(here)("forget", id=1)
    assert done.outcome == "needs_consent" and not done and here.get(1).state == "active"


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"action": None}, Invalid, "actions are"),
        ({"action": ["list"]}, Invalid, "actions are"),
        ({"action": "remember"}, Invalid, "remember needs content"),
        ({"action": "remember", "content": "x", "category": "custom"}, Invalid, "categories are fact, preference"),
        ({"action": "remember", "content": "x", "catgory": "fact"}, Invalid, "did you mean 'category'"),
        ({"action": "remember", "content": "x", "tags": 5}, Invalid, "tags must be"),
        ({"action": "remember", "content": "x", "triggers": 5}, Invalid, "triggers"),
        ({"action": "remember", "content": 5}, Invalid, "text"),
        ({"action": "list", "limit": 10**9}, Invalid, "limit"),
        ({"action": "related", "id": 1, "depth": 9}, Invalid, "depth"),
        ({"action": "link", "from": 1, "to": 1}, NotFound, "1"),
        ({"action": "forget", "id": 5}, NotFound, "5"),
    ],
)
def test_bad_input_is_refused_in_words(here: Memory, given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        tool(here)(given["action"], **{name: each for name, each in given.items() if name != "action"})
    assert here.count() == 0


def test_a_design_that_follows_no_links_is_replaced_for_questions() -> None:
    memory = Memory(":memory:", embed="none", design=HEBBIAN)
    inside = seeds.associative(memory)._memory.design
    assert any(isinstance(stage, Cascade) for stage in inside.recall) and memory.design.name == "hebbian"


def test_a_call_is_read_from_a_line() -> None:
    assert call_of('{"action": "list"}') == {"action": "list"}
    for wrong in ("", "[1]", "{}", '{"action": 1}', "[" * 100_000):
        with pytest.raises(Invalid, match="action"):
            call_of(wrong)
