"""Every verb over HTTP: the same arguments, the same answers and the same errors as the library; versions, keys and pages."""

import base64
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from memorist import Memory
from memorist.commands import ALSO, SESSION_PARTS, VERBS
from memorist.errors import MemoristError
from memorist.noun import plain
from memorist.store.where import SORT_KEYS
from memorist.surfaces import wire
from memorist.surfaces.http.app import routes
from memorist.surfaces.http.guard import Visitor
from memorist.surfaces.http.replies import Reply
from memorist.surfaces.http.verbs import ADDING, Answers, HttpCall

from .serving import Client, Served, served

OWN = re.compile(
    r"\b[mr][0-9][0-9a-z]{25}\b|\b[0-9a-f]{32,}\b|\d{4}-\d\d-\d\d[T ][\d:.+]+|(?<=instructions )\w+|(?<=End )\w+|\S+memory\.db"
    r"|(?<=memorist-)\w+|(?<=took )[\d.]+ ms|\bs-?[0-9a-z]{12,}\b"
)  # ids, digests, times, marks of a prompt and paths: of each store its own
OF_THE_MACHINE = {"ms", "median_ms", "p95_ms", "recall", "live_bytes", "bytes", "before", "after", "disk_free"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served") / "memory.db", project="atlas") as found:
        yield found


@pytest.fixture
def client(server: Served) -> Client:
    return server.client


def fresh(folder: Path) -> Memory:
    """A store with something of everything, the same each time but for ids and times."""
    memory = Memory(folder / "memory.db", project="atlas")
    memory.remember("Staging runs Postgres 16", kind="decision", tags=["db"])
    memory.remember("Production runs Postgres 15", kind="decision", tags=["db"])
    memory.remember("The deploy key is rotated every May")
    memory.link(1, 2, "contradicts")
    memory.forget(3)
    memory.add_task("Upgrade Postgres")
    memory.narrate("We compared databases.", topic="databases")
    with memory.session("s1", agent="claude") as session:
        session.turn("user", "We moved to Postgres 16")
    return memory


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("remember", {"text": "Deploys happen on Friday", "tags": ["ops"], "data": {"day": 5}, "at": "2026-05-01T12:00:00+00:00"}),
    ("remember", {"text": [{"role": "user", "content": "hello there"}], "session": "s2"}),
    ("remember_many", {"many": ["One thing", {"text": "Another thing", "tags": ["x"]}]}),
    ("revise", {"id": "1", "text": "Staging runs Postgres 17", "expected_version": 1}),
    ("pin", {"id": "1"}), ("unpin", {"id": "1"}),
    ("tag", {"id": "1", "tags": ["a", "b"], "remove": ["db"]}),
    ("link", {"a": 1, "b": 2, "kind": "relates_to", "weight": 0.5}),
    ("unlink", {"a": "1", "b": "2", "kind": "contradicts"}),
    ("feedback", {"id": "1", "verdict": "useful"}),
    ("forget", {"id": 2}), ("forget", {"where": {"tags": {"$any": ["db"]}}, "dry_run": True}),
    ("restore", {"id": "3"}), ("erase", {"id": 2}), ("undo", {}),
    ("extract", {"text": "We decided to use Postgres 16 for staging.", "session": "s3"}),
    ("promote", {}), ("finish", {"scope": "task/42"}),
    ("resolve", {"a": 1, "b": 2, "keep": "a"}), ("review", {}),
    ("alias", {"word": "pg", "means": ["postgres"]}), ("aliases", {}),
    ("rename_project", {"old": "atlas", "new": "borealis", "dry_run": True}),
    ("merge_project", {"old": "other", "dry_run": True}),
    ("session", {"id": "s9", "agent": "claude"}), ("sessions", {"limit": 5}),
    ("ingest", {"messages": [{"role": "user", "content": "hello"}], "session": "s4"}),
    ("narrate", {"summary": "We chose one.", "topic": "databases"}), ("narratives", {}),
    ("add_task", {"title": "Write it down", "criteria": ["all green"]}),
    ("move_task", {"id": "4", "status": "running"}), ("tasks", {"ready": True}),
    ("recall", {"query": "which database does staging use?", "limit": 2, "kinds": ["decision"]}),
    ("explain", {"query": "which database does staging use?"}),
    ("why_not", {"id": 2, "query": "which database does staging use?"}),
    ("context", {"query": "which database does staging use?", "budget": 500, "style": "xml"}),
    ("get", {"id": "1"}), ("list", {"order": "-at", "limit": 3, "where": {"kind": "decision"}}), ("count", {}),
    ("links", {"id": "1"}), ("related", {"id": "1", "limit": 3}), ("path", {"a": "1", "b": "2"}), ("similar", {"id": "1"}),
    ("gaps", {"limit": 3}), ("timeline", {"around": "2026-05-01", "limit": 3}), ("history", {"id": "1"}),
    ("log", {"verbs": ["added", "linked"], "limit": 3}), ("conflicts", {}), ("projects", {}),
    ("upkeep", {"dry_run": True}), ("rescan", {"dry_run": True}), ("audit", {}), ("status", {}), ("doctor", {}),
    ("compact", {}), ("assign", {"scope": "session/main", "project": "atlas"}),
    ("session.turns", {"session": "s1"}),
    ("session.turn", {"session": "s1", "role": "user", "text": "One more thing", "id": "m1"}),
    ("session.note", {"session": "s1", "text": "Staging is small", "tags": ["x"]}),
    ("session.tool_call", {"session": "s1", "name": "ls", "input": {"path": "."}, "id": "c1"}),
    ("session.tool_result", {"session": "s1", "id": "c1", "output": "README.md"}),
    ("session.ready", {"session": "s1"}), ("session.prefetch", {"session": "s1", "context": "which database?"}),
    ("session.window", {"session": "s1", "limit": 2000}), ("session.compact", {"session": "s1"}),
    ("session.flush", {"session": "s1"}), ("session.fork", {"session": "s1", "id": "s5"}), ("session.close", {"session": "s1"}),
]  # fmt: skip
BY_ITSELF = {"receipt", "used", "backup"}  # tried in tests of their own, because they need something first


def test_every_verb_with_a_route_is_tried() -> None:
    assert {verb.name for verb, _, _ in routes()} == {name for name, _ in CALLS} | BY_ITSELF


def ask(client: Client, verb: str, given: dict[str, Any], route: str | None = None, **headers: str) -> Any:
    """A verb by its route: what stands in the path is put there, the rest is a query or a body."""
    spelled = route or str({**VERBS, **SESSION_PARTS}[verb].http)
    method, path = spelled.split(" ")
    placed = re.findall(r"\{(\w+)\}", path)
    for name in placed:
        path = path.replace(f"{{{name}}}", quote(str(given[name]), safe=""))
    rest = {name: value for name, value in given.items() if name not in placed}
    if method not in ("GET", "DELETE"):
        return client(method, path, rest, **headers)
    words = [(name, each) for name, value in rest.items() for each in (value if isinstance(value, list) else [value])]
    texts = [(name, each if isinstance(each, str) else json.dumps(each)) for name, each in words]
    return client(method, f"{path}?{urlencode(texts)}" if texts else path, **headers)


def steady(value: Any) -> Any:
    """What is the same in two stores with the same past: all but ids, times, how long something took, and what others on
    this machine write meanwhile."""
    if isinstance(value, dict):
        return {OWN.sub("…", name): "…" if name in OF_THE_MACHINE else steady(each) for name, each in value.items()}
    if isinstance(value, list):
        return [steady(each) for each in value]
    if isinstance(value, str):
        return OWN.sub("…", value)
    return round(value, 2) if isinstance(value, float) else value


def test_the_largest_numbers_and_characters_of_any_script_come_back_as_they_went_in(client: Client) -> None:
    data = {"large": 2**63 - 1, "small": 1 - 2**63, "東京": "🎉 \u2028", "tiny": 1e-300}
    added = client("POST", "/v1/memories", {"text": "The counter has 64 bits", "data": data})
    assert added.status == 201
    id = added.json["id"]
    assert client("GET", f"/v1/memories/{id}").json["data"] == data


@pytest.mark.covers("W4-1")
def test_the_same_calls_give_the_same_answers_over_http_and_in_the_library(tmp_path: Path) -> None:
    """One after another, on two stores that began alike."""
    fresh(tmp_path).close()
    here, there = (
        Path(shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-{name}"))) for name in ("a", "b")
    )
    wrong = []
    with Memory(here / "memory.db", project="atlas") as memory, served(there / "memory.db", project="atlas") as found:
        memory.access = replace(memory.access, surface="http")
        for verb, given in CALLS:
            got = ask(found.client, verb, given)
            try:
                expected = plain(wire.call(memory, verb, wire.arguments(verb, given)))
            except MemoristError as problem:
                if (got.status, got.json.get("detail")) != (wire.problem(problem).status, str(problem)):
                    wrong.append((verb, given, str(problem), got.json))
                continue
            added = verb in ADDING and isinstance(expected, dict) and expected["outcome"] == "added"
            if got.status != (201 if added else 200) or steady(got.json) != steady(expected):
                wrong.append((verb, given, steady(expected), got.status, steady(got.json)))
    assert not wrong, json.dumps(wrong, indent=1)[:6000]


# ---------------------------------------------------------------- one server for the rest


def test_what_is_written_through_one_door_is_seen_through_the_others(server: Served) -> None:
    said = server.client("POST", "/v1/memories", {"text": "The canary is yellow"}).json
    with Memory(server.db, project="atlas") as memory:
        seen = memory.get(said["id"])
        assert (seen.text, seen.origin, seen.provenance.surface) == ("The canary is yellow", "agent", "http")
        mine = memory.remember("The canary sings at noon")
    assert server.client("GET", f"/v1/memories/{mine.id}").json["text"] == "The canary sings at noon"


def test_second_ways_lead_to_the_same_verbs(client: Client) -> None:
    id = client("POST", "/v1/memories", {"text": "Second ways are handy"}).json["id"]
    assert sorted(ALSO.values()) == ["forget", "recall", "review"]
    found = ask(client, "recall", {"query": "are second ways handy?", "limit": 1}, "GET /v1/search").json
    assert [hit["record"]["id"] for hit in found["hits"]] == [id]
    assert ask(client, "forget", {"id": id, "because": "tidy"}, "DELETE /v1/memories/{id}").json["outcome"] == "changed"
    assert client("GET", "/v1/review").json == []


def test_a_receipt_is_shown_again_and_its_use_is_told(client: Client) -> None:
    client("POST", "/v1/memories", {"text": "The payments HMAC signs an empty body"})
    context = client("POST", "/v1/context", {"query": "what does the payments HMAC sign?", "budget": 400}).json
    shown = client("GET", f"/v1/receipts/{context['receipt']}").json
    assert shown["text"] == context["text"] != ""
    used = client(
        "POST", f"/v1/receipts/{context['receipt']}/used", {"answer": "the payments HMAC signs an empty body"}
    )
    assert used.status == 200 and used.json["changed"]


def test_a_backup_over_http_lies_beside_the_store_and_nowhere_else(server: Served) -> None:
    done = server.client("POST", "/v1/backup", {"path": "monday.db"})
    assert (
        done.status == 200
        and Path(done.json) == server.db.parent / "backups" / "monday.db"
        and Path(done.json).exists()
    )
    for path in ("../x.db", "/tmp/x.db", "a/b", "", ".hidden", "CON\\x", "x" * 200, "monday.db"):
        assert server.client("POST", "/v1/backup", {"path": path}).code == "invalid", path


def test_another_project_is_named_in_the_query(client: Client) -> None:
    client("POST", "/v1/memories?project=borealis", {"text": "Borealis has a moose"})
    assert client("GET", "/v1/memories?project=borealis").json[0]["scope"] == "project/borealis"
    assert client("GET", "/v1/memories?project=project/borealis").json[0]["text"] == "Borealis has a moose"
    assert "moose" not in client("GET", "/v1/memories?limit=1000").body.decode()


def test_a_project_in_a_body_is_told_where_it_stands(client: Client) -> None:
    refused = client("POST", "/v1/memories", {"text": "Borealis has an elk", "project": "borealis"})
    assert refused.code == "invalid" and "?project=atlas; leave it out of the body" in refused.json["detail"]
    assign = client("POST", "/v1/projects/assign", {"scope": "session/none", "project": "borealis"})
    assert "leave it out" not in assign.json["detail"]


@pytest.mark.parametrize("twice", ["project=borealis&project=atlas", "limit=1&cursor=a&cursor=b"])
def test_what_says_where_is_said_once(client: Client, twice: str) -> None:
    refused = client("GET", f"/v1/memories?{twice}")
    assert refused.code == "invalid" and "was given more than once" in refused.json["detail"]


# ---------------------------------------------------------------- versions


def test_an_etag_is_the_version_and_a_stale_one_is_a_conflict(client: Client) -> None:
    made = client("POST", "/v1/memories", {"text": "The lift stops at floor 3"})
    path = f"/v1/memories/{made.json['id']}"
    known = client("GET", path).headers["etag"]
    assert made.headers["etag"] == '"1"' and known.startswith('"1-')
    assert client("GET", path, if_none_match=known).status == 304
    assert client("GET", path, if_none_match=known.replace("1-", "7-")).status == 200
    changed = client("PATCH", path, {"text": "The lift stops at floor 4"}, if_match='"1"')
    assert (changed.status, changed.headers["etag"]) == (200, '"2"')
    stale = client("PATCH", path, {"text": "The lift stops at floor 5"}, if_match='"1"')
    assert (stale.status, stale.code) == (409, "conflict")
    assert client("PATCH", path, {"text": "The lift stops at floor 6"}, if_match="*").status == 200
    assert client("GET", path).json["text"] == "The lift stops at floor 6"


def test_what_is_shown_otherwise_has_another_etag(client: Client) -> None:
    path = "/v1/memories/" + client("POST", "/v1/memories", {"text": "The lift is slow"}).json["id"]
    known = client("GET", path).headers["etag"]
    client("POST", f"{path}/feedback", {"verdict": "useful"})
    seen = client("GET", path, if_none_match=known)
    assert (seen.status, seen.json["counters"]["up"], seen.json["version"]) == (200, 1, 1) and seen.headers[
        "etag"
    ] != known
    assert client("GET", path, if_none_match=seen.headers["etag"]).status == 304
    assert client("PATCH", path, {"text": "The lift is fast"}, if_match=known).status == 200  # a vote is no conflict


@pytest.mark.parametrize("match", ["1", '"1-x"', 'W/"1"', '"1", "2"', '"x"', '""'])
def test_an_if_match_that_is_no_etag_is_refused(client: Client, match: str) -> None:
    id = client("POST", "/v1/memories", {"text": f"A thing for {match}"}).json["id"]
    assert client("PATCH", f"/v1/memories/{id}", {"text": "another"}, if_match=match).code == "invalid"


def test_a_condition_that_a_route_cannot_keep_is_refused_rather_than_ignored(client: Client) -> None:
    id = client("POST", "/v1/memories", {"text": "A thing with a condition"}).json["id"]
    assert client("POST", f"/v1/memories/{id}/pin", {}, if_match='"9"').code == "invalid"
    assert not client("GET", f"/v1/memories/{id}").json["pinned"]


def test_what_changed_meanwhile_is_not_deleted(client: Client) -> None:
    path = "/v1/memories/" + client("POST", "/v1/memories", {"text": "A thing to be deleted"}).json["id"]
    old = client("GET", path).headers["etag"]
    client("PATCH", path, {"text": "A thing that somebody corrected meanwhile"})
    stale = client("DELETE", path, if_match=old)
    assert (stale.status, stale.code) == (409, "conflict") and client("GET", path).json["state"] == "active"
    assert client("DELETE", f"{path}?expected_version=1").code == "conflict"
    now = client("GET", path).headers["etag"]
    assert client("DELETE", path, if_match=now).json["outcome"] == "changed"
    assert client("GET", path).json["state"] == "archived"
    assert client("POST", f"{path}/restore").status == 200 and client("DELETE", path, if_match="*").status == 200


def test_arguments_that_nobody_would_read_are_refused(client: Client) -> None:
    path = "/v1/memories/" + client("POST", "/v1/memories", {"text": "A thing to keep"}).json["id"]
    assert client("DELETE", path, {"dry_run": True}).code == "invalid"
    assert client("GET", path).json["state"] == "active"
    assert client("GET", "/v1/memories", {"limit": 1}).code == "invalid"
    assert client("POST", "/v1/memories?text=x", {"text": "y"}).code == "invalid"


def test_a_header_and_a_field_must_not_differ(client: Client) -> None:
    id = client("POST", "/v1/memories", {"text": "Said twice"}).json["id"]
    path, body = f"/v1/memories/{id}", {"text": "Said thrice", "expected_version": 2}
    assert client("PATCH", path, body, if_match='"1"').code == "invalid"
    assert client("POST", "/v1/memories", {"text": "x", "key": "a"}, idempotency_key="b").code == "invalid"


def test_a_window_has_the_messages_that_a_model_is_sent(server: Served) -> None:
    path = "/v1/sessions/window/"
    server.client("POST", path + "turns", {"role": "user", "text": "Who oils the lift?"})
    server.client("POST", path + "calls", {"name": "crew", "input": {"of": "lift"}, "id": "c1"})
    server.client("POST", path + "results", {"id": "c1", "output": "The night crew"})
    got = server.client("POST", path + "window", {"limit": 2000, "system": "Be brief."}).json
    with Memory(server.db, project="atlas") as memory, memory.session("window") as session:
        assert got["messages"] == session.window(2000, system="Be brief.").messages
    assert [each["role"] for each in got["messages"]] == ["system", "user", "assistant", "tool"]
    assert len(got["panes"]) == 4


# ---------------------------------------------------------------- what was added


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/memories", {"text": "The lift stops at floor nine"}),
        ("/v1/narratives", {"summary": "We looked at the lift.", "topic": "lift"}),
        ("/v1/tasks", {"title": "Oil the lift"}),
        ("/v1/sessions/lift/turns", {"role": "user", "text": "Who oils the lift?"}),
        ("/v1/sessions/lift/notes", {"text": "Ask who oils it"}),
        ("/v1/memories?project=located", {"text": "The lift stops at floor eight"}),
    ],
)
def test_what_was_added_says_where_it_is(client: Client, path: str, body: dict[str, Any]) -> None:
    got = client("POST", path, body)
    assert (got.status, got.json["outcome"]) == (201, "added")
    found = client("GET", got.headers["location"])
    assert found.status == 200 and found.json["id"] == got.json["id"]


def test_what_was_there_already_was_not_added(client: Client) -> None:
    first, again = (client("POST", "/v1/memories", {"text": "The lift is green"}) for _ in range(2))
    assert (first.status, again.status) == (201, 200) and "location" not in again.headers
    assert again.json["outcome"] == "reinforced" and again.headers["etag"]
    many = client("POST", "/v1/memories/batch", {"many": ["The lift is red", "The lift is blue"]})
    assert many.status == 200 and "location" not in many.headers  # several have no one place
    told = [client("POST", "/v1/narratives", {"summary": "We rode."}, idempotency_key="ride") for _ in range(2)]
    assert [each.status for each in told] == [201, 201] and told[0].headers["location"] == told[1].headers["location"]


# ---------------------------------------------------------------- sent again


def test_an_idempotency_key_stores_a_memory_once(client: Client) -> None:
    first = client("POST", "/v1/memories", {"text": "Sent twice"}, idempotency_key="k1")
    again = client("POST", "/v1/memories", {"text": "Sent twice"}, idempotency_key="k1")
    assert (first.json["outcome"], again.json["outcome"]) == ("added", "repeated")
    other = client("POST", "/v1/memories", {"text": "Something else"}, idempotency_key="k1")
    assert (other.status, other.code) == (409, "conflict")


def test_a_write_that_counts_is_counted_once_for_each_idempotency_key(client: Client) -> None:
    id = client("POST", "/v1/memories", {"text": "Votes count"}).json["id"]
    path, body = f"/v1/memories/{id}/feedback", {"verdict": "useful"}
    first, again = (client("POST", path, body, idempotency_key="vote-1") for _ in range(2))
    assert again.body == first.body and again.headers["idempotent-replayed"] == "true"
    assert client("GET", f"/v1/memories/{id}").json["counters"]["up"] == 1
    assert client("POST", path, {"verdict": "wrong"}, idempotency_key="vote-1").code == "conflict"
    assert client("POST", path, body, idempotency_key="vote-2").status == 200
    assert client("GET", f"/v1/memories/{id}").json["counters"]["up"] == 2


@pytest.mark.covers("G1")
@pytest.mark.parametrize("door", ["http", "library"])
def test_an_answer_that_is_given_again_holds_nothing_that_was_erased(server: Served, door: str) -> None:
    client, word = server.client, f"zwetschgendatschi{door}"
    id = client("POST", "/v1/memories", {"text": f"The cake is called {word}"}).json["id"]
    kept = client("POST", "/v1/memories", {"text": f"Pins stay, {door}"}).json["id"]
    pins = [(f"/v1/memories/{each}/pin", f"pin-{door}-{each}") for each in (id, kept)]
    votes = f"/v1/memories/{kept}/feedback"
    for path, key in pins:
        assert client("POST", path, idempotency_key=key).status == 200
    client("POST", votes, {"verdict": "useful"}, idempotency_key=f"vote-{door}")
    erased = None
    if door == "http":
        erased = client("POST", "/v1/erase", {"id": id}, idempotency_key="gone")
    else:
        with Memory(server.db, project="atlas") as memory:
            memory.erase(id)
    assert client("GET", f"/v1/memories/{id}").json["state"] == "erased"
    again = [client("POST", path, idempotency_key=key) for path, key in pins]
    assert not any(word.encode() in each.body for each in again) and {each.code for each in again} == {"conflict"}
    assert client("POST", votes, {"verdict": "useful"}, idempotency_key=f"vote-{door}").code == "conflict"
    assert client("GET", f"/v1/memories/{kept}").json["counters"]["up"] == 1  # it is not counted twice for that
    assert client("POST", pins[1][0], idempotency_key=f"new-{door}").status == 200
    if erased:
        assert client("POST", "/v1/erase", {"id": id}, idempotency_key="gone").body == erased.body


def test_what_is_erased_while_a_write_is_worked_on_is_not_in_its_kept_answer() -> None:
    asked = HttpCall(VERBS["pin"], "POST", "/v1/memories/1/pin", {}, "", {}, b"", Visitor("r"))
    answers = Answers()
    answers.look(None)
    assert answers.begin(asked, "k") is None
    answers.look("1")
    answers.end(asked, "k", Reply.of({"text": "what is gone"}))
    found = answers.begin(asked, "k")
    assert found is not None and found.status == 409 and b"what is gone" not in found.body


def test_what_was_refused_may_be_sent_again_with_its_key(client: Client) -> None:
    assert client("POST", "/v1/narratives", {"summary": ""}, idempotency_key="n1").code == "invalid"
    assert client("POST", "/v1/narratives", {"summary": "We tried again."}, idempotency_key="n1").status == 201


def test_an_idempotency_key_has_a_length(client: Client) -> None:
    assert client("POST", "/v1/memories", {"text": "x"}, idempotency_key="k" * 257).code == "invalid"


# ---------------------------------------------------------------- pages


def pages(client: Client, path: str, meanwhile: Callable[[list[Any]], object] = len) -> list[list[Any]]:
    found, target = [], path
    while target:
        got = client("GET", target)
        assert got.status == 200, got
        found.append(got.json)
        link = re.fullmatch(r'<([^>]+)>; rel="next"', got.headers.get("link", "")) if "link" in got.headers else None
        target = link[1] if link else ""
        meanwhile(got.json)
    return found


def test_a_list_is_read_page_by_page_to_its_end(client: Client) -> None:
    many = [{"text": f"Page thing number {n}", "tags": ["paged"]} for n in range(7)]
    client("POST", "/v1/memories/batch?project=paged", {"many": many})
    where = quote(json.dumps({"tags": {"$any": ["paged"]}}))
    found = pages(client, f"/v1/memories?project=paged&limit=3&where={where}")
    assert [len(page) for page in found] == [3, 3, 1]
    whole = client("GET", f"/v1/memories?project=paged&where={where}").json
    assert [each["id"] for page in found for each in page] == [each["id"] for each in whole]
    exact = pages(client, f"/v1/memories?project=paged&limit=7&where={where}")
    assert [len(page) for page in exact] == [7]


def test_what_is_added_meanwhile_does_not_shift_the_pages(client: Client) -> None:
    client("POST", "/v1/memories/batch?project=shifted", {"many": [f"Steady thing {n}" for n in range(4)]})
    first = client("GET", "/v1/memories?project=shifted&limit=2")
    client("POST", "/v1/memories?project=shifted", {"text": "A late thing"})
    following = re.match("<([^>]+)>", first.headers["link"])
    assert following is not None
    rest = client("GET", following[1])
    assert sorted(each["text"] for each in first.json + rest.json) == [f"Steady thing {n}" for n in range(4)]


@pytest.mark.parametrize("order", ["at", "-at", "-number", "importance", "-importance", "-created", "pinned"])
def test_what_is_forgotten_meanwhile_does_not_shift_the_pages(client: Client, order: str) -> None:
    project = f"cleared{order}"
    many = [{"text": f"To be cleared {n}", "importance": n % 3 / 2} for n in range(12)]
    client("POST", f"/v1/memories/batch?project={project}", {"many": many})

    def clear(rows: list[Any]) -> None:
        for row in rows:
            assert client("DELETE", f"/v1/memories/{row['id']}?project={project}").json["outcome"] == "changed"

    whole = [each["id"] for each in client("GET", f"/v1/memories?project={project}&order={order}").json]
    found = pages(client, f"/v1/memories?project={project}&limit=5&order={order}", clear)
    assert [each["id"] for page in found for each in page] == whole and len(whole) == 12
    assert client("GET", f"/v1/count?project={project}").json == 0


@pytest.mark.parametrize("path", ["/v1/log?verbs=added", "/v1/timeline?", "/v1/memories?"])
def test_what_is_added_meanwhile_repeats_no_row(client: Client, path: str) -> None:
    project = "grown" + path[4:7]
    client("POST", f"/v1/memories/batch?project={project}", {"many": [f"Grown thing {n}" for n in range(7)]})
    whole = client("GET", f"{path}&project={project}").json
    numbers = iter(range(100))
    found = pages(
        client, f"{path}&project={project}&limit=3",
        lambda _: client("POST", f"/v1/memories?project={project}", {"text": f"A late thing {next(numbers)}"}),
    )  # fmt: skip
    assert [len(page) for page in found] == [3, 3, 1]
    ordered = found if "memories" in path else found[::-1]
    assert [each for page in ordered for each in page] == whole


@pytest.mark.parametrize("order", [f"{way}{key}" for key in SORT_KEYS for way in ("", "-")])
def test_pages_have_every_row_once_in_any_order(client: Client, order: str) -> None:
    """Also where rows have the same value, or none."""
    if not client("GET", "/v1/count?project=ordered").json:
        texts = [
            {"text": f"Ordered thing {n}", "title": f"Thing {n}" if n % 2 else None, "importance": n % 4 / 4}
            for n in range(9)
        ]
        client("POST", "/v1/memories/batch?project=ordered", {"many": texts})
        for id in (each["id"] for each in client("GET", "/v1/memories?project=ordered&limit=3").json):
            client("POST", f"/v1/memories/{id}/feedback?project=ordered", {"verdict": "useful"})
    whole = client("GET", f"/v1/memories?project=ordered&order={order}").json
    found = pages(client, f"/v1/memories?project=ordered&limit=2&order={order}")
    assert [each["id"] for page in found for each in page] == [each["id"] for each in whole] and len(whole) == 9


@pytest.mark.parametrize("value", ["x", 5, -1.5, True, [], {}, None, 1 << 70, float("nan"), "2026-05-01", "9" * 40])
@pytest.mark.parametrize("order", ["at", "importance", "pinned", "text"])
def test_a_cursor_that_somebody_made_up_breaks_nothing(client: Client, order: str, value: Any) -> None:
    client("POST", "/v1/memories/batch?project=forged", {"many": ["One thing", "Another thing"]})
    first = client("GET", f"/v1/memories?project=forged&order={order}&limit=1").headers["link"]
    cursor = re.findall("cursor=([^>]+)>", first)[0]
    question, passed, number, _ = json.loads(base64.urlsafe_b64decode(cursor + "=="))
    made = base64.urlsafe_b64encode(json.dumps([question, passed, number, value]).encode()).decode().rstrip("=")
    got = client("GET", f"/v1/memories?project=forged&order={order}&cursor={made}")
    assert got.status in (200, 422)


def test_the_journal_is_read_backwards_page_by_page(client: Client) -> None:
    client("POST", "/v1/memories/batch?project=told", {"many": [f"Told thing {n}" for n in range(5)]})
    found = pages(client, "/v1/log?project=told&limit=2&verbs=added")
    whole = client("GET", "/v1/log?project=told&verbs=added").json
    assert [len(page) for page in found] == [2, 2, 1]
    assert [event["seq"] for page in reversed(found) for event in page] == [event["seq"] for event in whole]


@pytest.mark.parametrize("times", ["since=yesterday", "since=last+week&until=now", "since=2020-01-01&until=tomorrow"])
def test_pages_may_be_asked_for_with_times_in_words(client: Client, times: str) -> None:
    client("POST", "/v1/memories/batch?project=worded", {"many": [f"Worded thing {n}" for n in range(5)]})
    found = pages(client, f"/v1/log?project=worded&verbs=added&limit=2&{times}")
    whole = client("GET", "/v1/log?project=worded&verbs=added").json
    assert [event["seq"] for page in reversed(found) for event in page] == [event["seq"] for event in whole]
    assert client("GET", "/v1/log?project=worded&verbs=added&until=yesterday").json == []


@pytest.mark.parametrize("cursor", ["x", "", "AAAA", "é", "a" * 500, "MDAwMDAwMDAwMDAwMDAwMC4xLjE"])
def test_a_cursor_of_nothing_or_of_another_question_is_refused(client: Client, cursor: str) -> None:
    assert client("GET", f"/v1/memories?cursor={quote(cursor)}").code == "invalid"


def test_a_limit_is_what_the_library_takes(client: Client) -> None:
    for limit in ("0", "-1", "1000000000", "x", "1.5", ""):
        assert client("GET", f"/v1/memories?limit={limit}").code == "invalid", limit
    assert client("GET", "/v1/memories?limit=1000000").status == 200


# ---------------------------------------------------------------- consent


def test_what_waits_for_a_person_is_accepted_and_not_done(server: Served) -> None:
    with Memory(server.db, project="atlas") as memory:
        memory.access = replace(memory.access, origin="user")
        mine = memory.remember("The user likes tea", kind="preference")
    got = server.client("DELETE", f"/v1/memories/{mine.id}")
    assert (got.status, got.json["outcome"]) == (202, "needs_consent") and got.json["pending"]
    [question] = [each for each in server.client("GET", "/v1/review").json if each["id"] == got.json["pending"]]
    assert question["surface"] == "http"
    by_get = server.client("GET", f"/v1/review?id={question['id']}&decide=deny")
    assert by_get.code == "invalid" and "POST /v1/review" in by_get.json["detail"]
    assert [each["id"] for each in server.client("GET", f"/v1/review?id={question['id']}").json] == [question["id"]]
    refused = server.client("POST", "/v1/review", {"id": question["id"], "decide": "approve"})
    assert refused.status == 403  # an agent does not say yes for the user
    assert server.client("GET", f"/v1/memories/{mine.id}").json["state"] == "active"
