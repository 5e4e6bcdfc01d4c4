"""The server's OpenAPI, generated from the table of verbs and the signatures of the facade, so nothing is written
twice."""

import re
from typing import Any

from memorist.commands import Verb
from memorist.surfaces import wire
from memorist.surfaces.http.verbs import ADDING, PAGED_FROM_END, PAGED_FROM_FRONT

Document = dict[str, Any]
PROBLEM: Document = {
    "type": "object",
    "description": "What went wrong, as RFC 9457 has it.",
    "properties": {
        "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"},
        "code": {"type": "string", "enum": sorted([*wire.STATUS, *wire.DOORS, "fault"])}, "request_id": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail", "code", "request_id"],
}  # fmt: skip
STATUSES = sorted({*wire.STATUS.values(), *(door.status for door in wire.DOORS.values())})
PROJECT: Document = {
    "name": "project", "in": "query", "required": False, "schema": {"type": "string"},
    "description": "The project, such as atlas; the server's own, or the key's, without it.",
}  # fmt: skip
CURSOR: Document = {
    "name": "cursor", "in": "query", "required": False, "schema": {"type": "string"},
    "description": "Where the next page begins, as the Link of the last one says.",
}  # fmt: skip
LAST_EVENT: Document = {
    "name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string", "pattern": "^[0-9]{1,15}$"},
    "description": "The number of the last event that is known, to go on from there; from now on without it.",
}  # fmt: skip
RETRY: Document = {
    "headers": {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}}
}
TRY_AGAIN = [wire.DOORS[code].status for code in wire.COME_BACK]
LOCATION: Document = {"Location": {"description": "The path of the memory.", "schema": {"type": "string"}}}
NOUNS: dict[str, Document] = {}  # schemas of all answers described so far


def errors() -> Document:
    """All the ways a request may be refused."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    said = {
        status: next((d.title for d in wire.DOORS.values() if d.status == status), "Problem") for status in STATUSES
    }
    beside = {status: RETRY if status in TRY_AGAIN else {} for status in STATUSES}
    return {str(status): {"description": said[status], "content": content, **beside[status]} for status in STATUSES}


def operation(verb: Verb, method: str, path: str) -> Document:
    """What the route of a verb takes and answers."""
    whole, placed = wire.schema(verb.name), re.findall(r"\{(\w+)(?::path)?\}", path)
    rest = {name: each for name, each in whole["properties"].items() if name not in (*placed, *verb.lacks)}
    needed = [name for name in whole["required"] if name not in placed]
    parameters = [in_path(name, whole["properties"][name]) for name in placed]
    body: Document = {}
    if method in ("GET", "DELETE"):
        parameters += [_in_query(name, each, name in needed) for name, each in rest.items()]
    else:
        schema = {"type": "object", "properties": rest, "required": needed, "additionalProperties": False}
        body = {"requestBody": {"required": bool(needed), "content": json_of(schema)}}
    parameters += [PROJECT, *([CURSOR] if verb.name in (*PAGED_FROM_FRONT, *PAGED_FROM_END) else [])]
    return {"parameters": [*parameters, *_headers(verb)], **body, "responses": _answers(verb)}


def in_path(name: str, schema: Document) -> Document:
    about = {"description": schema["description"]} if "description" in schema else {}
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}, **about}


def _in_query(name: str, schema: Document, needed: bool) -> Document:
    """A query expresses null by omitting the name, and an object as JSON."""
    about = {"description": schema["description"]} if "description" in schema else {}
    plain = _without_null({key: value for key, value in schema.items() if key != "description"})
    told = {"content": json_of(plain)} if plain["type"] == "object" else {"schema": plain}
    return {"name": name, "in": "query", "required": needed, **told, **about}


def _without_null(schema: Document) -> Document:
    said = schema["type"]
    types = [each for each in (said if isinstance(said, list) else [said]) if each != "null"]
    values = {"enum": [each for each in schema["enum"] if each is not None]} if "enum" in schema else {}
    return {**schema, "type": "string" if "string" in types else types[0], **values}


def _headers(verb: Verb) -> list[Document]:
    takes, found = wire.parameters(verb.name), list[tuple[str, str, Document]]()
    if "expected_version" in takes:
        said = "The ETag of the memory: if it has another version by now, the answer is 409."
        found.append(("If-Match", said, {"type": "string", "pattern": '^(\\*|"[0-9]{1,15}(-[0-9a-f]{16})?")$'}))
    if verb.name == "get":
        said = "ETags of answers that are known already: if this would be one of them, it is 304."
        found.append(("If-None-Match", said, {"type": "string"}))
    if verb.writes:
        said = "A name of your own for this write: sent again, it is done once."
        found.append(("Idempotency-Key", said, {"type": "string", "pattern": "^[!-~]{1,256}$"}))
    return [
        {"name": name, "in": "header", "required": False, "schema": schema, "description": about}
        for name, about, schema in found
    ]


def _answers(verb: Verb) -> Document:
    schema, nouns = wire.answers(verb.name)
    NOUNS.update(nouns)
    content = json_of(schema)
    added = {"201": {"description": "A memory was added.", "content": content, **_told_beside(verb, LOCATION)}}
    waits = {"202": {"description": "It waits for a person: `pending` is the question.", "content": content}}
    unchanged = {"304": {"description": "The answer would be one that is known already.", **_told_beside(verb)}}
    return {
        "200": {"description": "The answer.", "content": content, **_told_beside(verb)},
        **(added if verb.name in ADDING else {}),
        **(waits if {"Outcome", "Report"} & set(nouns) else {}),
        **(unchanged if verb.name == "get" else {}),
        **errors(),
    }


def _told_beside(verb: Verb, more: Document | None = None) -> Document:
    """The headers of an answer."""
    told, text = dict(more or {}), {"schema": {"type": "string"}}
    if verb.name in ("get", "remember", "revise"):
        told["ETag"] = {"description": "The version of the memory; of what `get` shows, with a digest of it.", **text}
    if verb.name in (*PAGED_FROM_FRONT, *PAGED_FROM_END):
        told["Link"] = {"description": "The next page, if there is one.", **text}
    return {"headers": told} if told else {}


def other(parameters: list[Document], content: Document, body: Document | None = None) -> Document:
    """A route that is not a verb."""
    asked = {} if body is None else {"requestBody": {"required": True, "content": body}}
    answers = {"200": {"description": "The answer.", "content": content}}
    return {"parameters": parameters, **asked, "responses": {**answers, **errors()}}


def health() -> Document:
    """The health route answers in the same form when the store is not well."""
    content = json_of({"type": "object", "additionalProperties": {"type": "string"}})
    found = other([], content)
    found["responses"]["503"]["content"] = {**found["responses"]["503"]["content"], **content}
    return found


def texts(*types: str) -> Document:
    """Content of these media types, as text."""
    return {type: {"schema": {"type": "string"}} for type in types}


def json_of(schema: Document) -> Document:
    return {"application/json": {"schema": schema}}


def answer_of(kind: Any) -> Document:
    """What `noun.plain` writes of this type, such as list[Record]."""
    return json_of(wire.shape(kind, NOUNS, "#/components/schemas/"))


def asked_for(name: str, type: str, about: str, **more: Any) -> Document:
    """One query parameter."""
    return {"name": name, "in": "query", "required": False, "description": about, "schema": {"type": type, **more}}
