"""The profiles `graph`, which has the tools of the protocol's own memory server, and `associative`, which has one tool."""

from typing import Any

import pytest

from memorist import Memory
from memorist.errors import Invalid
from memorist.files.transfer import import_files
from memorist.surfaces.mcp import graph, tools
from memorist.surfaces.mcp.calls import Calls, ToolAnswer, may_destroy
from memorist.surfaces.mcp.projects import Served

ANN = {"name": "Ann", "entityType": "person", "observations": ["likes tea", "lives in Bern"]}
ACME = {"name": "Acme", "entityType": "company", "observations": ["builds boats"]}
WORKS = {"from": "Ann", "to": "Acme", "relationType": "works_at"}


@pytest.fixture
def known(memory: Memory) -> Memory:
    graph.create_entities(memory, [ANN, ACME])
    graph.create_relations(memory, [WORKS])
    return memory


def names(found: dict[str, Any]) -> list[str]:
    return sorted(each["name"] for each in found["entities"])


def call(memory: Memory, profile: str, name: str, **given: Any) -> ToolAnswer:
    from contextlib import contextmanager

    @contextmanager
    def opened() -> Any:
        yield Served(memory, "default")

    offered = tools.profile(profile)
    return Calls(offered).answer(offered[name], given, opened)


# ---------------------------------------------------------------- the graph


def test_what_is_created_is_read_as_that_server_gives_it(memory: Memory) -> None:
    made = graph.create_entities(memory, [ANN, ACME])
    assert made == {"entities": [ANN, ACME], "notes": []}
    assert graph.create_relations(memory, [WORKS])["relations"] == [WORKS]
    whole = graph.read_graph(memory)
    assert sorted(whole["entities"], key=lambda each: each["name"]) == [ACME, ANN]
    assert whole["relations"] == [WORKS] and whole["notes"] == []


def test_they_are_ordinary_memories(known: Memory) -> None:
    [entity] = known.list({"kind": "entity", "title": "Ann"})
    assert entity.origin == "agent" and entity.data == {"entity": "person"}
    assert {hit.text for hit in known.related(entity.id)} >= {"Ann: likes tea", "Ann: lives in Bern"}
    [link] = [link for link in known.links(entity.id) if link.evidence == "works_at"]
    assert link.kind == "relates_to" and link.a == entity.id


def test_what_is_there_stays_as_it_is(known: Memory) -> None:
    again = graph.create_entities(known, [{"name": "Ann", "entityType": "robot", "observations": ["beeps"]}])
    assert again["entities"] == [] and graph.create_relations(known, [WORKS])["relations"] == []
    assert graph.open_nodes(known, ["Ann"])["entities"] == [ANN]
    more = graph.add_observations(known, [{"entityName": "Ann", "contents": ["likes tea", "sails"]}])
    assert more["results"] == [{"entityName": "Ann", "addedObservations": ["sails"]}]


def test_two_entities_have_several_relations(known: Memory) -> None:
    owns = {**WORKS, "relationType": "owns"}
    assert graph.create_relations(known, [owns])["relations"] == [owns]
    assert graph.read_graph(known)["relations"] == [WORKS, owns]
    assert graph.delete_relations(known, [WORKS])["success"]
    assert graph.read_graph(known)["relations"] == [owns]
    assert graph.delete_relations(known, [owns])["success"] and graph.read_graph(known)["relations"] == []
    with pytest.raises(Invalid, match="one at a time"):
        graph.create_relations(known, [{**WORKS, "relationType": "a; b"}])


def test_a_missing_entity_is_named_with_the_next_step(known: Memory) -> None:
    for act in (
        lambda: graph.add_observations(known, [{"entityName": "Bob", "contents": ["x"]}]),
        lambda: graph.create_relations(known, [{**WORKS, "to": "Bob"}]),
    ):
        with pytest.raises(Invalid, match="Entity with name Bob not found; create_entities makes it"):
            act()
    answer = call(known, "graph", "add_observations", observations=[{"entityName": "Bob", "contents": ["x"]}])
    assert answer.failed and "Entity with name Bob not found" in answer.text


@pytest.mark.parametrize(
    ("query", "found"),
    [("ann", ["Ann"]), ("COMPANY", ["Acme"]), ("boats", ["Acme"]), ("a", ["Acme", "Ann"]), ("zebra", []), ("", ["Acme", "Ann"])],
)  # fmt: skip
def test_a_search_goes_by_name_type_and_observations(known: Memory, query: str, found: list[str]) -> None:
    answer = graph.search_nodes(known, query)
    assert names(answer) == found and answer["relations"] == ([WORKS] if found else [])


def test_where_no_text_holds_it_its_words_find(known: Memory) -> None:
    assert names(graph.search_nodes(known, "who builds those boats?")) == ["Acme"]


def test_deleting_hides_and_can_be_taken_back(known: Memory) -> None:
    assert graph.delete_observations(known, [{"entityName": "Ann", "observations": ["likes tea"]}])["success"]
    assert graph.open_nodes(known, ["Ann"])["entities"][0]["observations"] == ["lives in Bern"]
    done = graph.delete_entities(known, ["Ann", "Nobody"])
    assert done["success"] and names(graph.read_graph(known)) == ["Acme"] and graph.read_graph(known)["relations"] == []
    [gone] = known.list({"kind": "entity", "title": "Ann", "state": "archived"})
    known.restore(gone.id)
    assert names(graph.read_graph(known)) == ["Acme", "Ann"] and graph.read_graph(known)["relations"] == [WORKS]


def test_what_the_user_said_is_not_deleted_by_an_agent(known: Memory) -> None:
    from dataclasses import replace

    user = known.through(replace(known.access, origin="user", actor="ann"))
    user.remember("Ann: is the captain", title="Ann")
    done = graph.delete_entities(known, ["Ann"])
    assert not done["success"] and done["notes"] and known.count({"text": "Ann: is the captain"}) == 1


def test_answers_are_bounded_and_say_so(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "MOST_ENTITIES", 3)
    graph.create_entities(memory, [{"name": f"Ship {n}", "entityType": "ship", "observations": []} for n in range(5)])
    whole = graph.read_graph(memory)
    assert len(whole["entities"]) == 3 and "2 entities more are left out; search_nodes" in whole["notes"][0]
    with pytest.raises(Invalid, match="100 are taken at once"):
        graph.open_nodes(memory, ["x"] * 101)


@pytest.mark.parametrize(
    "given", [None, "Ann", [1], [{"name": 1}], [{"name": "x"}], [{"name": "x" * 300, "entityType": "y"}]]
)
def test_bad_input_is_refused_in_words(memory: Memory, given: Any) -> None:
    with pytest.raises(Invalid, match="entities"):
        graph.create_entities(memory, given)
    assert memory.count() == 0


def test_other_projects_are_another_graph(known: Memory) -> None:
    known.remember("Zoe (person)", kind="entity", title="Zoe", scope="global")
    assert names(graph.read_graph(known)) == ["Acme", "Ann"]


def test_a_file_of_that_server_and_its_tools_mean_the_same(memory: Memory, tmp_path: Any) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(
        '{"type":"entity","name":"Ann","entityType":"person","observations":["likes tea"]}\n'
        '{"type":"entity","name":"Acme","entityType":"company","observations":[]}\n'
        '{"type":"relation","from":"Ann","to":"Acme","relationType":"works_at"}\n'
    )
    import_files(memory, [file])
    whole = graph.read_graph(memory)
    [ann] = [each for each in whole["entities"] if each["name"] == "Ann"]
    assert ann["observations"] == ["likes tea"] and ann["entityType"] == "person"
    assert ann["doubts"][0]["because"], "an import is of low trust, and says so"
    assert whole["relations"] == [WORKS]


def test_what_cannot_be_seen_is_written_out(memory: Memory) -> None:
    graph.create_entities(memory, [{"name": "Ann", "entityType": "person", "observations": ["likes\u202etea"]}])
    answer = call(memory, "graph", "read_graph")
    assert not answer.failed and "\u202e" not in answer.text


def test_a_call_gives_structured_content(known: Memory) -> None:
    answer = call(known, "graph", "open_nodes", names=["Ann"])
    assert (
        answer.said["entities"] == [ANN] and answer.said["relations"] == [WORKS] and answer.said["project"] == "default"
    )
    empty = call(known, "graph", "open_nodes", names=[])
    assert empty.said["entities"] == [] and empty.said["relations"] == []


# ---------------------------------------------------------------- the one tool


@pytest.mark.covers("S4-19")
def test_one_tool_does_all_of_it(memory: Memory) -> None:
    kept = call(memory, "associative", "memory", action="remember", content="Staging runs Postgres 16", tags="db, ops")
    assert kept.said["ids"] == [1] and kept.text.startswith("added [id:1]")
    found = call(memory, "associative", "memory", action="recall", query="which database does staging run?")
    assert "Staging runs Postgres 16 #db #ops" in found.text and found.said["ids"] == [1]
    wrong = call(memory, "associative", "memory", action="forget", id=7)
    assert wrong.failed and "memory finds memories" in wrong.text
    assert call(memory, "associative", "memory", action="dream").failed
    assert call(memory, "associative", "memory", content="x").failed, "the action is needed"


def test_a_person_is_asked_only_before_something_is_hidden(memory: Memory) -> None:
    from contextlib import contextmanager

    memory.remember("Staging runs Postgres 16")
    graph.create_entities(memory, [ANN])

    @contextmanager
    def opened() -> Any:
        yield Served(memory, "default")

    for profile, name, given, asked in (
        ("associative", "memory", {"action": "forget", "id": 1}, "Memory [id:1]: "),
        ("associative", "memory", {"action": "tag", "id": 1, "tags": ["x"]}, None),
        ("graph", "delete_entities", {"entityNames": ["Ann"]}, "Delete entities: "),
        ("graph", "delete_entities", {"entityNames": ["Bob"]}, ""),
    ):
        offered = tools.profile(profile)
        assert may_destroy(offered[name], given) == (asked is not None)
        if asked is not None:
            said = Calls(offered).confirmation(offered[name], given, opened)
            assert said.question.startswith(asked) and bool(said.versions) == bool(asked)
