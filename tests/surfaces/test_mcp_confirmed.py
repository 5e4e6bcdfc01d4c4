"""What a person said yes to is what is destroyed: the memories they were asked about, in those versions, or nothing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import ClientRequestContext

from memorist import Memory
from memorist.errors import Conflict
from memorist.remember import consent, edit, erase
from memorist.surfaces.mcp import calls, graph, projects, tools
from memorist.surfaces.wire import TurnedAway
from surfaces.agents import ERAS, Agent, door, talk

YES = types.ElicitResult(action="accept", content={"confirm": True})
TEA = {"entityName": "Ann", "observations": ["likes tea"]}
WORKS = {"from": "Ann", "to": "Acme", "relationType": "works_at"}
Act = tuple[str, str, dict[str, Any]]  # a profile, a tool of it, and its arguments
Change = Callable[[Memory], Any]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """1 is the user's own, 2 and 3 are an agent's; then a small graph: Ann (4), her tea (5), Acme (6)."""
    path = tmp_path / "memory.db"
    with Memory(path) as memory:
        by(memory, "user").remember("I moved the printer", kind="warning")
        agent = by(memory, "agent")
        agent.remember_many([{"text": text, "kind": "warning"} for text in ("The printer jams", "The door sticks")])
        graph.create_entities(agent, [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}])
        graph.create_entities(agent, [{"name": "Acme", "entityType": "company"}])
        graph.create_relations(agent, [WORKS])
    return path


def by(memory: Memory, origin: Any) -> Memory:
    return memory.through(replace(memory.access, origin=origin))


class Person:
    """Says yes, and while they read something else changes."""

    def __init__(self, store: Path, meanwhile: Change | None = None) -> None:
        self.asked: list[str] = []
        self._store, self._meanwhile = store, meanwhile

    async def __call__(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params.message)
        if self._meanwhile is not None and len(self.asked) == 1:
            with Memory(self._store) as memory:
                self._meanwhile(memory)
        return YES


def done(store: Path, act: Act, mode: str, person: Person, trust: bool = False) -> types.CallToolResult:
    profile, tool, given = act

    async def work(agent: Agent) -> types.CallToolResult:
        return await agent.client.call_tool(tool, given)

    answer = talk(door(store, profile, trust), work, mode, elicitation_callback=person)
    assert isinstance(answer, types.CallToolResult)
    return answer


def living(store: Path) -> dict[int, tuple[str, str]]:
    with Memory(store) as memory:
        found = memory.list({"state": {"$in": ["active", "archived", "erased"]}, "kind": {"$ne": "turn"}}, limit=100)
        return {each.number: (each.state, each.text) for each in found}


def links(store: Path) -> int:
    with Memory(store) as memory:
        return len(memory.links(4))


FORGETS, ERASES = ("core", "memory_forget", {"id": 2}), ("all", "memory_erase", {"id": 2})
WARNINGS = {"kind": "warning"}
REVISED: Change = lambda memory: memory.revise(2, "The only copy of the recovery phrase")  # noqa: E731
MORE: Change = lambda memory: by(memory, "agent").remember("The roof leaks", kind="warning")  # noqa: E731
FEWER: Change = lambda memory: memory.forget(3)  # noqa: E731
DERIVED: Change = lambda memory: memory.link(3, 2, "derived_from")  # noqa: E731
OBSERVED: Change = lambda memory: graph.add_observations(  # noqa: E731
    memory, [{"entityName": "Ann", "contents": ["keeps the only key"]}]
)
CHANGES: list[tuple[Act, Change]] = [
    (FORGETS, REVISED),
    (FORGETS, lambda memory: memory.tag(2, "keep")),
    (ERASES, REVISED),
    (ERASES, DERIVED),
    (("all", "memory_forget", {"where": WARNINGS}), MORE),
    (("all", "memory_forget", {"where": WARNINGS}), REVISED),
    (("all", "memory_forget", {"where": WARNINGS}), FEWER),
    (("all", "memory_erase", {"where": WARNINGS}), MORE),
    (("all", "memory_erase", {"where": WARNINGS}), REVISED),
    (("associative", "memory", {"action": "forget", "id": 2}), REVISED),
    (("graph", "delete_entities", {"entityNames": ["Ann"]}), OBSERVED),
    (("graph", "delete_observations", {"deletions": [TEA]}), lambda memory: memory.tag(5, "keep")),
    (("graph", "delete_relations", {"relations": [WORKS]}), lambda memory: memory.tag(4, "keep")),
]


@pytest.mark.covers("W0-5")
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize(("act", "change"), CHANGES)
def test_what_changed_while_a_person_was_asked_is_not_destroyed(
    store: Path, act: Act, change: Change, trust: bool, mode: str
) -> None:
    person = Person(store, change)
    answer = done(store, act, mode, person, trust)
    assert answer.is_error and "conflict: " in str(answer.content) and "ask anew" in str(answer.content)
    with Memory(store) as memory:
        assert len(person.asked) == 1 and memory.audit().ok and memory.review() == []
        assert [event for event in memory.log() if event.surface == "mcp"] == []


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("act", {str(act): act for act, _ in CHANGES}.values(), ids=str)
def test_what_did_not_change_is_destroyed(store: Path, act: Act, mode: str) -> None:
    before = [living(store), links(store)]
    person = Person(store)
    answer = done(store, act, mode, person)
    assert not answer.is_error and [living(store), links(store)] != before and len(person.asked) == 1


@pytest.mark.parametrize("mode", ERAS)
def test_with_trust_the_users_own_is_as_it_was_when_they_said_yes(store: Path, mode: str) -> None:
    never: Change = lambda memory: by(memory, "user").revise(1, "NEVER delete: the code is with Ann")  # noqa: E731
    for act in (("core", "memory_forget", {"id": 1}), ("all", "memory_erase", {"id": 1})):
        assert done(store, act, mode, Person(store, never), trust=True).is_error
        assert living(store)[1][0] == "active"
        never = lambda memory: by(memory, "user").tag(1, "keep")  # noqa: E731


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("tool", "state", "asked"),
    [("memory_forget", "archived", "Forget a memory: 3 memories"), ("memory_erase", "erased", "Erase: 3 memories")],
)
def test_a_question_about_a_filter_is_about_the_users_own_too(
    store: Path, mode: str, tool: str, state: str, asked: str
) -> None:
    person = Person(store)
    answer = done(store, ("all", tool, {"where": WARNINGS}), mode, person, trust=True)
    assert not answer.is_error and person.asked == [asked]
    assert {living(store)[number][0] for number in (1, 2, 3)} == {state}


@pytest.mark.parametrize("mode", ERAS)
def test_what_goes_with_a_memory_is_told(store: Path, mode: str) -> None:
    with Memory(store) as memory:
        DERIVED(memory)
    person = Person(store)
    assert not done(store, ERASES, mode, person).is_error
    assert person.asked == ["Erase [id:2]: The printer jams, and 1 memory derived from it"]
    person = Person(store)
    assert not done(store, ("graph", "delete_entities", {"entityNames": ["Ann"]}), mode, person).is_error
    assert person.asked == ['Delete entities: {"entityNames": ["Ann"]}, which concerns 2 memories']


@pytest.mark.parametrize("trust", [False, True])
def test_a_yes_to_what_nobody_was_asked_is_none(store: Path, trust: bool) -> None:
    """Since 2026-07-28 the answer comes with the call; without the sealed state of the question it decides nothing."""

    async def work(agent: Agent) -> list[Any]:
        call, said = agent.client.session.call_tool, {"confirm": YES, "approve": YES}
        return [
            await call("memory_forget", {"id": 2}, input_responses=said, allow_input_required=True),
            await call("memory_update", {"id": 1, "text": "x y z"}, input_responses=said, allow_input_required=True),
        ]

    forgot, updated = talk(door(store, trust=trust), work, elicitation_callback=Person(store))
    assert isinstance(forgot, types.InputRequiredResult)
    assert isinstance(updated, types.InputRequiredResult) == trust
    assert [living(store)[number] for number in (1, 2)] == [
        ("active", "I moved the printer"),
        ("active", "The printer jams"),
    ]


@pytest.mark.parametrize("mode", ERAS)
def test_a_server_that_is_too_busy_to_look_destroys_nothing(
    store: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = projects.Projects.do

    async def busy(self: projects.Projects, work: Callable[[], Any], lane: str) -> Any:
        if lane == "reading":
            raise TurnedAway("busy", "64 requests of this kind wait already; try again in a moment", 1)
        return await usual(self, work, lane)

    monkeypatch.setattr(projects.Projects, "do", busy)
    answer = done(store, FORGETS, mode, Person(store))
    assert answer.is_error and "busy" in str(answer.content) and living(store)[2][0] == "active"


@pytest.mark.parametrize("tool", ["memory_forget", "memory_erase"])
def test_what_changes_between_the_look_and_the_act_stops_all_of_it(
    store: Path, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edit, "FIRST", 1)  # memories in the first transaction of each
    monkeypatch.setattr(erase, "ERASED_AT_ONCE", 1)
    with Memory(store) as memory:
        versions = {each.id: each.version + (each.number == 3) for each in memory.list(WARNINGS)}
        shown = calls.Confirmation("", versions)
        monkeypatch.setattr(calls, "_confirmation", lambda *given: shown)
        with pytest.raises(Conflict, match="not as the person was asked about it"):
            calls._as_agreed(tools.profile("all")[tool], {"where": WARNINGS}, by(memory, "user"), shown.mark)
        assert memory.count(WARNINGS) == 3 and memory.audit().ok


@pytest.mark.parametrize("verb", ["forget", "erase"])
def test_a_question_about_many_is_about_what_they_were_when_they_were_left(
    store: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody is faster than the question: what an approval reaches was fixed before."""
    usual = consent.to_sweep

    def late(*given: Any, **more: Any) -> Any:
        with Memory(store) as other:
            by(other, "user").revise(1, "I moved the only key")
        return usual(*given, **more)

    monkeypatch.setattr(consent, "to_sweep", late)
    with Memory(store) as memory:
        pending = getattr(by(memory, "agent"), verb)(where={"number": {"$lte": 2}}).pending
        by(memory, "user").review(pending, decide="approve")
        assert memory.get(1).state == "active" and memory.get(2).state != "active"


@pytest.mark.parametrize("mode", ERAS)
def test_nobody_is_asked_about_what_is_erased_already(store: Path, mode: str) -> None:
    with Memory(store) as memory:
        by(memory, "user").erase(2)
    person = Person(store)
    answer = done(store, ("all", "memory_erase", {"id": 2}), mode, person)
    assert person.asked == [] and "erased already" in str(answer.content) and "ask anew" not in str(answer.content)
