"""Nasty texts, times, numbers and filters over HTTP: each is stored faithfully or refused with the fact, and the server lives."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from memorist import Memory
from memorist.commands import VERBS
from memorist.errors import MemoristError
from memorist.surfaces import wire

from .serving import Client, Served, served

TEXTS = {
    "empty": "", "spaces": "   ", "zero width": "\u200b\u200c\u200d", "NUL": "a\x00b", "surrogate": "a\ud800b",
    "tag block": "hello \U000e0041\U000e0042", "bidi": "abc\u202edef", "combining": "e" + "\u0301" * 500,
    "family": "👨‍👩‍👧‍👦 stays", "quotes": "\"'`*", "near": "NEAR(", "and": "a AND", "dash": "-", "column": "col:term",
    "parentheses": "(" * 2000 + ")" * 2000, "ands": " AND ".join(["x"] * 5000), "injection": "'; DROP TABLE memories; --",
    "dunder": "__class__", "percent": "100% _ \\", "turkish": "ı İ i I", "full width": "１２３", "homoglyph": "аdmin",
    "nfd": "Cafe\u0301", "long": "x" * 1_000_001, "10 MB": "x" * 10_000_000, "one word": "y" * 900_000, "newlines": "a\r\nb\tc\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("nasty") / "memory.db", project="atlas") as found:
        found.client("POST", "/v1/memories", {"text": "Staging runs Postgres 16"})
        yield found


@pytest.fixture
def client(server: Served) -> Client:
    return server.client


def library(verb: str, **given: Any) -> tuple[int, str | None]:
    """The status that the library's own answer has over HTTP, and what it says where it refuses."""
    with Memory(":memory:", project="atlas") as memory:
        memory.remember("Staging runs Postgres 16")
        try:
            answer = wire.call(memory, verb, wire.arguments(verb, given))
        except MemoristError as problem:
            return wire.problem(problem).status, str(problem)
    return (201 if getattr(answer, "outcome", "") == "added" else 200), None


def same(client: Client, verb: str, method: str, path: str, given: dict[str, Any], **more: Any) -> Any:
    """The answer over HTTP, which is refused exactly where and as the library refuses."""
    got = client(method, path, given)
    status, said = library(verb, **given, **more)
    assert got.status == status, (got.body[:300], said)
    if said is not None:
        assert got.code and got.json["detail"] == said
    return got


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_text_is_stored_faithfully_or_refused(client: Client, name: str) -> None:
    got = same(client, "remember", "POST", "/v1/memories", {"text": TEXTS[name]})
    if got.status == 201:
        assert client("GET", f"/v1/memories/{got.json['id']}").json["text"] == TEXTS[name]


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_question_is_answered_or_refused(client: Client, name: str) -> None:
    if name == "10 MB":  # a second of work, once is enough
        assert client("POST", "/v1/recall", {"query": TEXTS[name]}).status == 200
        return
    same(client, "recall", "POST", "/v1/recall", {"query": TEXTS[name]})
    if len(TEXTS[name]) < 5000 and name != "surrogate":
        assert client("GET", f"/v1/search?query={quote(TEXTS[name])}").status in (200, 422)


FIELDS = ["kind", "scope", "title", "session", "role", "speaker", "agent", "task", "season", "key", "user", "home"]


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_takes_a_nasty_text_or_says_why_not(client: Client, field: str) -> None:
    for number, name in enumerate(
        ("empty", "NUL", "surrogate", "bidi", "injection", "dunder", "percent", "one word", "nfd")
    ):
        same(client, "remember", "POST", "/v1/memories", {"text": f"Field {field} {number}", field: TEXTS[name]})


ODD: dict[str, list[dict[str, Any]]] = {
    "remember": [
        {"tags": ["x" * 65_536]},
        {"tags": ["x"] * 10_000},
        {"tags": ["\x00"]},
        {"importance": -1},
        {"importance": 1e308},
        {"importance": "0.5"},
        {"importance": 10**400},
        {"at": "1970-01-01"},
        {"at": "2038-01-20T00:00:00Z"},
        {"at": "9999-12-31T23:59:59-12:00"},
        {"at": "yesterday"},
        {"at": 5},
        {"valid_from": "2026-01-02", "valid_to": "2026-01-01"},
        {"data": {"a": {"b": {"c": [1] * 10}}}},
        {"data": {"n": 2**63}},
        {"data": {"": 1}},
        {"files": ["../../etc/passwd", "CON", "/a"]},
    ],
    "recall": [
        {"limit": 0},
        {"limit": -1},
        {"limit": 10**9},
        {"limit": 2**70},
        {"limit": 50},
        {"deadline": 0},
        {"where": {"$where": "1"}},
        {"where": {"__class__": 1}},
        {"where": {"kind'; DROP TABLE records; --": 1}},
        {"as_of": "0001-01-01"},
        {"kinds": []},
        {"min_relevance": 2},
    ],
    "context": [
        {"budget": 0},
        {"budget": 1},
        {"budget": 10**9},
        {"shares": {"project": "x"}},
        {"shares": {"nothing": 1}},
    ],
    "upkeep": [
        {"seconds": -1},
    ],
    "undo": [
        {"batch": "b'; --"},
    ],
    "link": [
        {"a": 1, "b": 1},
        {"a": 1, "b": 2**70},
        {"a": -1, "b": 1},
    ],
    "forget": [
        {},
        {"where": {}},
        {"id": 1, "where": {"kind": "x"}},
    ],
}
PATHS = {verb: str(VERBS[verb].http).split(" ")[1] for verb in ODD}


@pytest.mark.parametrize(("verb", "given"), [(verb, given) for verb, all in ODD.items() for given in all])
def test_numbers_times_and_filters_are_judged_as_in_the_library(
    client: Client, verb: str, given: dict[str, Any]
) -> None:
    usual = {
        "remember": {"text": f"Odd {json.dumps(given)[:80]}"},
        "recall": {"query": "staging"},
        "context": {"query": "staging"},
    }
    got = client("POST", PATHS[verb], {**usual.get(verb, {}), **given})
    status, said = library(verb, **usual.get(verb, {}), **given)
    assert got.status == status, (got.body[:300], said)
    if said is not None and verb != "link":
        assert got.json["detail"] == said


@pytest.mark.parametrize(
    "id", ["0", "-1", str(2**70), "m" * 1000, "%", "_", "*", "..", "....//", "a b", "CON", "\x00", "é" * 50, "1;2"]
)
def test_an_odd_id_names_no_memory(client: Client, id: str) -> None:
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"text": "x"}),
        ("POST", "/pin", {}),
        ("GET", "/history", None),
    ):
        got = client(method, f"/v1/memories/{quote(id, safe='')}{path}", body)
        assert got.status in (404, 422) and got.code in ("not_found", "ambiguous", "invalid", "no_such_path"), (id, got)


@pytest.mark.parametrize("order", ["__class__", "at; DROP", "-", "", "'", "tags", "-number"])
def test_a_sort_field_comes_from_the_list_of_them(client: Client, order: str) -> None:
    assert client("GET", f"/v1/memories?order={quote(order)}").status == (200 if order == "-number" else 422)


@pytest.mark.parametrize(
    "project", ["", " ", "../x", "a\x00b", "x" * 500, "*", "project/*", "https://user:pw@host/x", "Cafe\u0301"]
)
def test_an_odd_project_is_refused_or_empty(client: Client, project: str) -> None:
    got = client("GET", f"/v1/count?project={quote(project)}")
    assert got.status == 422 or got.json == client("GET", "/v1/count?project=nobody").json  # what is shared
    assert "pw@" not in got.body.decode()


@pytest.mark.parametrize("session", ["../x", "a/b", "x" * 300, "%00", "\u202e", "'; --"])
def test_an_odd_session_is_kept_under_its_name_or_refused(client: Client, session: str) -> None:
    path = f"/v1/sessions/{quote(session, safe='')}/turns"
    got = client("POST", path, {"role": "user", "text": "hello"})
    if got.status == 201:
        assert got.json["record"]["provenance"]["session"] == session
        assert [turn["text"] for turn in client("GET", path).json] == ["hello"]
    else:
        assert got.status in (404, 422) and got.code


def test_keys_versions_and_deletions_twice(client: Client) -> None:
    """Nasty input 23: the same key for another text, a stale version, a deletion twice, a cycle of supersedes."""
    one = client("POST", "/v1/memories", {"text": "One of two", "key": "n23"}).json["id"]
    assert client("POST", "/v1/memories", {"text": "Another", "key": "n23"}).code == "conflict"
    two = client("POST", "/v1/memories", {"text": "Two of two"}).json["id"]
    assert client("PATCH", f"/v1/memories/{one}", {"text": "x", "expected_version": 9}).code == "conflict"
    assert client("POST", "/v1/links", {"a": one, "b": two, "kind": "supersedes"}).status == 200
    assert client("POST", "/v1/links", {"a": two, "b": one, "kind": "supersedes"}).status in (200, 403, 409, 422)
    outcomes = [client("DELETE", f"/v1/memories/{two}").status for _ in range(2)]
    assert set(outcomes) <= {200, 403, 404}  # what was superseded is past, and stays as it is
    assert {client("POST", "/v1/erase", {"id": one}).status for _ in range(2)} <= {200, 404}
    assert client("GET", f"/v1/memories/{one}").json.get("text", "") == ""


def test_the_store_is_sound_after_all_that(client: Client) -> None:
    assert client("GET", "/v1/audit").json["ok"]
    assert (
        client("POST", "/v1/recall", {"query": "what does staging run?"})
        .json["hits"][0]["record"]["text"]
        .startswith("Staging")
    )
