"""The OpenAPI of the server is valid, says all that there is, and is kept: by software that nobody here wrote."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, get_args

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from openapi_spec_validator import validate
from schemathesis import checks
from schemathesis.specs.openapi import checks as openapi_checks

from conftest import rounds
from memorist import Memory
from memorist.surfaces import wire
from memorist.surfaces.http.app import routes
from memorist.surfaces.http.verbs import ADDING

from .serving import Served, served

REQUESTS = rounds(5000, 0.02)
# Reads and writes anything; these would end the stream of events, or take long and write files for each request.
LEFT_OUT = ("/v1/events", "/v1/backup")
TIMES = {
    f"{method} {path}": [name for name, each in wire.parameters(verb.name).items() if date in get_args(each.annotation)]
    for verb, method, path in routes()
}  # the arguments of each route that are times
WORDS = ("yesterday", "last week", "today", "now", "2026-05-01", "someday")
CHECKS = [
    checks.not_a_server_error, openapi_checks.status_code_conformance, openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance, openapi_checks.response_schema_conformance,
    openapi_checks.negative_data_rejection,
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    db = tmp_path_factory.mktemp("contract") / "memory.db"
    with Memory(db, project="atlas") as memory:
        memory.remember("Staging runs Postgres 16", kind="decision")
        memory.remember("Production runs Postgres 15", kind="decision")
        memory.add_task("Upgrade Postgres")
    with served(db, project="atlas") as found:
        yield found


@pytest.fixture(scope="module")
def document(server: Served) -> dict[str, Any]:
    found: dict[str, Any] = server.client("GET", "/openapi.json").json
    return found


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    validate(document)
    assert document["openapi"].startswith("3.1")


def test_every_verb_is_in_it_with_its_arguments_and_all_errors(document: dict[str, Any]) -> None:
    for verb, method, path in routes():
        operation = document["paths"][path][method.lower()]
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        names = {each["name"] for each in operation["parameters"] if each["in"] in ("path", "query")} | set(
            body.get("properties", {})
        )
        assert names - {"project", "cursor"} == set(wire.parameters(verb.name)) - {"project", *verb.lacks}, verb.name
        assert {"200", "400", "401", "403", "404", "409", "413", "415", "422", "429", "500", "503"} <= set(
            operation["responses"]
        )
        if body:
            assert body["additionalProperties"] is False
        assert ("201" in operation["responses"]) == (verb.name in ADDING)
        assert verb.name not in ADDING or "Location" in operation["responses"]["201"]["headers"]


def test_headers_that_are_read_and_sent_are_in_it(document: dict[str, Any]) -> None:
    def taken(path: str) -> set[str]:
        return {each["name"] for each in document["paths"][path]["get"]["parameters"] if each["in"] == "header"}

    assert taken("/v1/events") == {"Last-Event-ID"} and taken("/v1/memories/{id}") == {"If-None-Match"}
    found = document["paths"]["/v1/memories/{id}"]["get"]["responses"]
    assert {status for status, each in found.items() if "ETag" in each.get("headers", {})} == {"200", "304"}
    for path in document["paths"].values():
        for operation in path.values():
            told = {
                status for status, each in operation["responses"].items() if "Retry-After" in each.get("headers", {})
            }
            assert told == {"429", "503"}


def test_a_server_that_is_not_well_says_so_as_declared(document: dict[str, Any], tmp_path: Path) -> None:
    case = schemathesis.openapi.from_dict(document)["/healthz"]["GET"].Case()
    with served(tmp_path / "memory.db") as found:
        found.server._application.work.health = lambda: {"status": "degraded", "store": "unavailable"}  # type: ignore[method-assign]
        response = case.call(base_url=f"http://127.0.0.1:{found.client.port}")
        assert response.status_code == 503 and response.json()["store"] == "unavailable"
        case.validate_response(response, checks=CHECKS[1:-1])


def test_no_two_operations_have_one_name(document: dict[str, Any]) -> None:
    names = Counter(each["operationId"] for path in document["paths"].values() for each in path.values())
    assert max(names.values()) == 1


@pytest.mark.covers("Z19")
def test_generated_requests_are_answered_as_declared(server: Served, document: dict[str, Any]) -> None:
    """Valid ones and wrong ones, of every route: no answer above 499, and each as its document says."""
    schema = schemathesis.openapi.from_dict(document)
    schema.config.base_url = f"http://127.0.0.1:{server.client.port}"
    operations = [each.ok() for each in schema.get_all_operations()]
    asked = [each for each in operations if each.path not in LEFT_OUT]
    for_each = max(1, REQUESTS // len(asked))
    seen: Counter[int] = Counter()
    for operation in asked:
        modes = list(schemathesis.GenerationMode) if for_each > 1 else [schemathesis.GenerationMode.POSITIVE]
        cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))

        @settings(
            max_examples=for_each, database=None, deadline=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck), derandomize=True,
        )  # fmt: skip
        @given(case=cases, word=st.sampled_from(WORDS))
        def one(case: Any, word: str) -> None:
            if case.meta.generation.mode.is_positive:  # what makes up texts hits upon no time in words
                times = TIMES.get(f"{case.method} {case.operation.path}", [])
                said = case.query if case.method in ("GET", "DELETE") else case.body
                if times and isinstance(said, dict):
                    said.update(dict.fromkeys(times, word))
            response = case.call()
            seen[response.status_code] += 1
            free_text = case.operation.path == "/v1/import"  # any text is one, so none of them is wrong
            case.validate_response(response, checks=CHECKS[:-1] if free_text else CHECKS)
            if response.status_code >= 400:
                told = response.json()
                assert told["code"] and told["detail"] and told["request_id"], told

        one()
    assert sum(seen.values()) >= len(asked) and not any(status >= 500 for status in seen), seen
    assert seen[200] and seen[422] + seen[404], seen
    assert server.client("GET", "/healthz").status == 200


def test_what_is_generated_leaves_a_sound_store(server: Served) -> None:
    assert server.client("GET", "/v1/audit").json["ok"]
    assert json.loads(server.client("GET", "/v1/memories?limit=1").body)
    assert Path(server.db).exists()
