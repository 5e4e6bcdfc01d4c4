"""Facade, async, command line, MCP, HTTP, clients and manual agree: judged by the one table in `commands.py`.

Parameters and defaults are read from each surface and compared with the signatures of `Memory`; answers and errors come from each
door, over one store, to the same call; and what is written through one is there for all (W4-1).
"""

import asyncio
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from doors import Doors, Problem, opened, served
from memorist import AsyncClient, AsyncMemory, Client, Memory
from memorist.aio import AsyncSession
from memorist.client import AsyncClientSession, ClientSession
from memorist.commands import SESSION_PARTS, VERBS
from memorist.relay import SessionVerbs, Verbs
from memorist.session.session import Session
from memorist.surfaces import wire
from memorist.surfaces.cli import app
from memorist.surfaces.mcp import tools

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
MANUAL = dict(re.findall(r"^### `([a-z_]+)\(([^)]*)\)` · available$", PAGE, re.M))
ON_HTTP = [name for name, verb in VERBS.items() if verb.http]
AT_SHELL = [name for name, verb in VERBS.items() if verb.command and name not in ("remember_many", "assign")]
FOR_AGENTS = [name for name, verb in VERBS.items() if verb.tool]
OWN = ("session", "through", "close")  # what gives or ends something of one side


@pytest.fixture(scope="module")
def openapi(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    import httpx2

    with served(tmp_path_factory.mktemp("openapi") / "me.db") as url:
        found: dict[str, Any] = httpx2.get(f"{url}/openapi.json", trust_env=False).json()
        return found


# ---------------------------------------------------------------- parameters and defaults


def signature(of: Any) -> list[inspect.Parameter]:
    return [each for each in inspect.signature(of).parameters.values() if each.name != "self"]


@pytest.mark.parametrize("surface", [AsyncMemory, Client, AsyncClient])
@pytest.mark.parametrize("verb", [name for name in VERBS if name not in ("through", "close")])
def test_a_verb_in_python_takes_what_the_facade_takes(surface: type, verb: str) -> None:
    assert signature(getattr(surface, verb)) == signature(getattr(Memory, verb))


@pytest.mark.parametrize("surface", [AsyncSession, ClientSession, AsyncClientSession])
def test_a_session_has_the_verbs_of_a_session(surface: type) -> None:
    public = [name for name in dir(Session) if not name.startswith("_")]
    assert {name for name in dir(surface) if not name.startswith("_")} == {*public, "agent"}
    for name in public:
        if inspect.isfunction(getattr(Session, name)):
            assert signature(getattr(surface, name)) == signature(getattr(Session, name)), name


def test_the_table_names_every_verb_and_every_surface_has_it() -> None:
    facade = {name for name, each in inspect.getmembers(Memory, inspect.isfunction) if not name.startswith("_")}
    handed = {name for name in dir(Verbs) if not name.startswith("_")}
    assert facade == set(VERBS) == set(MANUAL) == handed | set(OWN)
    parts = {name.partition(".")[2] for name in SESSION_PARTS}
    of_the_memory = {"context", "recall", "leave"}
    assert parts == {name for name in dir(SessionVerbs) if not name.startswith("_")} - of_the_memory | {"fork"}
    assert all(
        hasattr(surface, name) for surface in (AsyncMemory, Client, AsyncClient) for name in facade - {"through"}
    )


def test_the_constructor_of_the_async_memory_is_that_of_the_facade() -> None:
    assert [each for each in signature(AsyncMemory) if each.name != "threads"] == signature(Memory)
    assert signature(Client) == signature(AsyncClient)


@pytest.mark.parametrize("verb", VERBS)
def test_the_manual_names_every_parameter(verb: str) -> None:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [stars.get(each.kind, "") + each.name for each in signature(getattr(Memory, verb))]
    assert [name.strip() for name in MANUAL[verb].split(",") if name.strip()] == names


@pytest.mark.parametrize("verb", AT_SHELL)
def test_a_command_takes_every_parameter_and_has_no_default_of_its_own(verb: str) -> None:
    """What is not given at a shell is not passed on, so the facade's default holds."""
    from memorist.surfaces.cli.arguments import parse

    command = app.command_named(str(VERBS[verb].command))
    assert set(wire.parameters(verb)) <= {option.name for option in command.options}
    words = ["word" for option in command.options if not option.flag and option.needed]
    words = ["1"] * len(words) if verb == "timeline" else words
    given = parse(command, words)
    assert set(given) <= {option.name for option in command.options if option.needed}


@pytest.mark.parametrize("verb", [*ON_HTTP, *SESSION_PARTS])
def test_a_route_takes_every_parameter_with_its_default(verb: str, openapi: dict[str, Any]) -> None:
    method, _, path = str((VERBS.get(verb) or SESSION_PARTS[verb]).http).partition(" ")
    operation = openapi["paths"][path][method.lower()]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    asked = {each["name"]: _schema_of(each) for each in operation["parameters"] if each["in"] in ("path", "query")}
    extra = {"cursor"} if "cursor" not in wire.parameters(verb) else set()
    extra |= {"project"} if "project" not in wire.parameters(verb) else set()
    taken = {**asked, **body.get("properties", {})}
    assert set(taken) - extra == set(wire.parameters(verb))
    needed = {each["name"] for each in operation["parameters"] if each["required"]} | set(body.get("required", ()))
    assert needed == {name for name, each in wire.parameters(verb).items() if _is_needed(each)}
    _judge_defaults(verb, taken)


@pytest.mark.parametrize("verb", FOR_AGENTS)
def test_a_tool_takes_every_parameter_with_its_default(verb: str) -> None:
    schema = tools.profile("all")[str(VERBS[verb].tool)].input
    assert set(schema["properties"]) == set(wire.parameters(verb)) | {"project"}
    needed = [name for name, each in wire.parameters(verb).items() if _is_needed(each)]
    assert sorted(schema.get("required", [])) == sorted(needed)
    _judge_defaults(verb, schema["properties"])


def _schema_of(parameter: Mapping[str, Any]) -> Mapping[str, Any]:
    found = parameter.get("schema") or parameter["content"]["application/json"]["schema"]
    return dict(found)


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL


def _judge_defaults(verb: str, schemas: Mapping[str, Mapping[str, Any]]) -> None:
    """A default that a schema tells is the facade's, and one that says something is told."""
    for name, each in wire.parameters(verb).items():
        told = schemas[name].get("default", each.empty)
        silent = each.default in (each.empty, None, (), False) or "{" + name + "}" in str(VERBS.get(verb))
        assert told == each.default or (told is each.empty and silent), (verb, name)


# ---------------------------------------------------------------- answers, errors, and one store for all


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with opened(tmp_path_factory.mktemp("doors")) as doors:
        tell = doors.all["facade"]
        tell("remember", {"text": "Staging runs Postgres 16", "kind": "decision", "tags": ["db"]})
        tell("remember", {"text": "Staging runs Postgres 17", "kind": "decision"})
        tell("remember", {"text": "The CI cache lives on the build host", "importance": 0.9})
        tell("link", {"a": 1, "b": 3})
        tell("narrate", {"summary": "We looked at staging", "topic": "staging"})
        tell("add_task", {"title": "Move staging", "priority": 1})
        tell("alias", {"word": "pg", "means": ["postgres"]})
        tell("ingest", {"messages": [{"role": "user", "content": "Which port?"}], "session": "s1"})
        yield doors


QUESTION = "which database does staging use?"
READS: dict[str, dict[str, Any]] = {
    "recall": {"query": QUESTION, "limit": 2},
    "explain": {"query": QUESTION, "kinds": ["decision"]},
    "why_not": {"id": 3, "query": QUESTION},
    "context": {"query": QUESTION, "budget": 300, "style": "markdown"},
    "get": {"id": 1},
    "list": {"where": {"kind": {"$in": ["decision", "fact"]}}, "limit": 2, "order": "number"},
    "count": {"where": {"kind": "decision"}},
    "sessions": {"limit": 3},
    "narratives": {"query": "staging"},
    "tasks": {"ready": True},
    "links": {"id": 1},
    "related": {"id": 1, "depth": 2},
    "path": {"a": 3, "b": 1},
    "similar": {"id": 1, "limit": 2},
    "timeline": {"limit": 3, "where": {"kind": "decision"}},
    "history": {"id": 1},
    "log": {"verbs": ["added"], "limit": 3},
    "aliases": {},
    "conflicts": {"limit": 5},
    "gaps": {"limit": 5},
    "review": {},
    "projects": {},
    "audit": {},
    "upkeep": {"dry_run": True},
    "forget": {"where": {"tags": {"$any": ["db"]}}, "dry_run": True},
    "finish": {"scope": "session/s1", "dry_run": True},
}
PASSING = {"receipt", "trace", "ms", "surfaced", "fingerprint", "stable"}  # what differs from one call to the next


def lasting(value: Any) -> Any:
    """An answer without what belongs to one call."""
    if isinstance(value, dict):
        return {name: lasting(each) for name, each in value.items() if name not in PASSING}
    if isinstance(value, str):
        return re.sub(r"(not instructions|End) [a-z]{9}", r"\1", value, flags=re.M)  # the mark that nobody can guess
    if isinstance(value, list):
        return [lasting(each) for each in value]
    return pytest.approx(value, rel=1e-3, abs=1e-4) if isinstance(value, float) else value  # a memory ages meanwhile


@pytest.mark.parametrize("verb", READS)
def test_every_door_gives_the_same_answer(doors: Doors, verb: str) -> None:
    answers = {name: door(verb, READS[verb]) for name, door in doors.all.items() if _has(name, verb)}
    expected = lasting(answers.pop("facade"))
    agent = answers.pop("mcp", None)
    for name, answer in answers.items():
        assert lasting(answer) == expected, name
    assert len(answers) >= 5 and (agent is None or numbers(expected) <= numbers(agent))


def _has(door: str, verb: str) -> bool:
    known = VERBS[verb]
    return bool({"cli": known.command, "cli --url": known.command, "mcp": known.tool}.get(door, known.http))


def numbers(answer: Any) -> set[int]:
    """The memories that an answer shows, by their numbers: agents are given no more than they need."""
    if isinstance(answer, list):
        return {number for each in answer for number in numbers(each)}
    if not isinstance(answer, dict):
        return set()
    inner = {number for each in answer.values() for number in numbers(each)}
    shown = answer.get("number", answer.get("id"))
    return (
        inner
        | ({shown} if isinstance(shown, int) else set())
        | {n for n in answer.get("ids", ()) if isinstance(n, int)}
    )


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("get", {"id": "nothing"}, "not_found"),
    ("get", {"id": 999}, "not_found"),
    ("recall", {"query": QUESTION, "limit": 0}, "invalid"),
    ("remember", {"text": "   "}, "invalid"),
    ("remember", {"text": "x", "kind": "no kind\n"}, "invalid"),
    ("remember", {"text": "x", "scope": "project/other"}, "out_of_scope"),
    ("remember", {"text": "x", "importance": 2.0}, "invalid"),
    ("remember", {"text": "x", "at": "9999-99-99"}, "invalid"),
    ("revise", {"id": 1, "text": "Staging runs Postgres 18", "expected_version": 99}, "conflict"),
    ("link", {"a": 1, "b": 1}, "invalid"),
    ("related", {"id": 1, "depth": 0}, "invalid"),
    ("related", {"id": "nothing"}, "not_found"),
    ("path", {"a": 1, "b": 999}, "not_found"),
    ("similar", {"id": 999}, "not_found"),
    ("feedback", {"id": 1, "verdict": "useful", "receipt": "r0nothing"}, "not_found"),
    ("list", {"where": {"nonsense": 1}}, "invalid"),
    ("list", {"order": "nonsense"}, "invalid"),
    ("move_task", {"id": "TASK-001", "status": "completed"}, "invalid"),
    ("undo", {"batch": "b999"}, "not_found"),
    ("forget", {"where": {}}, "invalid"),
    ("receipt", {"id": "r0nothing"}, "not_found"),
]


@pytest.mark.parametrize(("verb", "given", "code"), WRONG, ids=[f"{verb}-{n}" for n, (verb, *_) in enumerate(WRONG)])
def test_every_door_refuses_with_the_same_code_and_words(
    doors: Doors, verb: str, given: dict[str, Any], code: str
) -> None:
    told: dict[str, Problem] = {}
    for name, door in doors.all.items():
        with pytest.raises(Problem) as found:
            door(verb, given)
        told[name] = found.value
    facade = told.pop("facade")
    assert facade.code == code and {name: each.code for name, each in told.items()} == dict.fromkeys(told, code)
    said = {name: each.said for name, each in told.items() if name not in ("mcp", "cli", "cli --url")}
    assert said == dict.fromkeys(said, facade.said)


@pytest.mark.covers("W4-1")
def test_what_is_written_through_one_door_is_there_for_all(doors: Doors) -> None:
    """A write that is acknowledged is found by every other door at once, in the same project, by its number and by words."""
    kept: dict[str, int] = {}
    for name, door in doors.all.items():
        answer = door("remember", {"text": f"The {name.replace('--', '')} door was painted by crew {len(kept) + 41}"})
        kept[name] = answer["id"] if name == "mcp" else answer["record"]["number"]
        assert answer["outcome"] == "added", name
    for name, door in doors.all.items():
        for written, number in kept.items():
            seen = door("get", {"id": number})
            assert written.replace("--", "") in seen["text"], (name, written)
        found = door("recall", {"query": "which crews painted the doors?", "limit": 20, "min_relevance": 0})
        assert set(kept.values()) <= numbers(found), name
    record = doors.all["facade"]("get", {"id": kept["mcp"]})
    assert (record["scope"], record["origin"], record["provenance"]["surface"]) == ("project/atlas", "agent", "mcp")
    record = doors.all["facade"]("get", {"id": kept["client"]})
    assert (record["scope"], record["origin"], record["provenance"]["surface"]) == ("project/atlas", "agent", "http")


def test_a_change_through_one_door_is_seen_by_all(doors: Doors) -> None:
    for name, door in doors.all.items():
        number = doors.all["facade"]("remember", {"text": f"Soup for the {name} table"})["record"]["number"]
        door("revise", {"id": number, "text": f"The soup for the {name} table is cold"})
        door("pin", {"id": number})
        door("tag", {"id": number, "tags": ["crew"]})
        door("forget", {"id": number})
        states = {other: each("history", {"id": number}) for other, each in doors.all.items() if other != "mcp"}
        facade = states.pop("facade")
        assert [event["verb"] for event in facade] == ["added", "revised", "pinned", "tagged", "forgotten"], name
        assert states == dict.fromkeys(states, facade), name


def test_conversations_are_the_same_from_all_sides(doors: Doors) -> None:
    with Client(doors.url) as client, Memory(doors.path, project="atlas") as memory:
        with client.session("s7", agent="claude") as there:
            there.turn("user", "We decided to use uv for installs")
        with memory.session("s7") as here:
            here.turn("assistant", "Noted")
            said = [turn.text for turn in here.turns()]
        assert said == ["We decided to use uv for installs", "Noted"]
        assert [turn.text for turn in client.session("s7").turns()] == said
        assert client.sessions(limit=1) == memory.sessions(limit=1)


def test_exports_imports_and_events_stream(doors: Doors, tmp_path: Path) -> None:
    with Client(doors.url) as client, served(tmp_path / "other.db") as url, Client(url) as other:
        lines = list(client.export_lines())
        assert len(lines) > 5 and any("Staging runs Postgres 16" in line for line in lines)
        done = other.import_lines(lines)
        assert done and other.recall(QUESTION, min_relevance=0)
        events = client.events()
        import threading

        threading.Timer(1.0, lambda: client.remember("Somebody rang the bell of the house")).start()
        event, facts = next(events)
        assert event == "memory:write" and facts["kind"] == "fact"
        events.close()  # type: ignore[attr-defined]


def test_only_a_line_feed_ends_a_line_of_an_export(tmp_path: Path) -> None:
    """A text may hold any other break; and a page of Markdown is one by its name."""
    odd = "One\u2028two\x85three\x0cfour"

    async def exported(url: str) -> list[str]:
        async with AsyncClient(url) as client:
            return [line async for line in client.export_lines()]

    async def brought(url: str) -> Any:
        async with AsyncClient(url) as client:
            return await client.import_lines(["- Tea is at five"], name="later.md")

    with served(tmp_path / "odd.db") as url, Client(url) as client:
        client.remember(odd)
        lines = list(client.export_lines())
        assert [json.loads(line).get("text") for line in lines[1:-1]] == [odd]
        assert asyncio.run(exported(url))[1:-1] == lines[1:-1]
        assert client.import_lines(["# Notes", "", "- Tea is at four"], name="notes.md")["outcomes"]["added"] == 1
        assert asyncio.run(brought(url))["outcomes"]["added"] == 1
