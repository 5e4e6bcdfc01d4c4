"""What others take from us, as JSON Schemas in our own words: the answers to Codex's hooks, the manifests of Agent Plugins 1.0 and
of bundles for Claude Desktop. All are closed, as those that are published are: a member more is an error there.

`make agents` holds them against the published ones, which come with the programs themselves.
"""

from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
YES_OR_NO: Schema = {"type": "boolean"}
NAME: Schema = {
    "type": "string", "maxLength": 64, "pattern": r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", "not": {"pattern": r"--|\.\."},
}  # fmt: skip
AUTHOR: Schema = {
    "type": "object",
    "properties": {"name": TEXT, "email": TEXT, "url": TEXT},
    "additionalProperties": False,
}


def closed(needed: tuple[str, ...] = (), **members: Schema) -> Schema:
    return {"type": "object", "properties": members, "required": [*needed], "additionalProperties": False}


def codex(event: str) -> Schema:
    """What Codex reads of a hook at that event, as far as it can carry a context."""
    inner = closed(("hookEventName",), hookEventName={"const": event}, additionalContext=TEXT)
    return closed(
        (), **{"continue": YES_OR_NO}, hookSpecificOutput=inner, stopReason=TEXT, suppressOutput=YES_OR_NO, systemMessage=TEXT
    )  # fmt: skip


def agent_plugins(document: str, **members: Schema) -> Schema:
    where = {"const": f"https://agent-plugins.org/schemas/1.0.0/{document}.schema.json"}
    return closed(("$schema", *members), **{"$schema": where}, **members)


PLUGIN = agent_plugins("plugin", name=NAME)
PLUGIN["properties"] |= {
    "version": TEXT, "description": TEXT, "author": AUTHOR, "homepage": TEXT, "repository": TEXT, "license": TEXT,
    "keywords": TEXTS, "extensions": {"type": "object", "additionalProperties": {"type": "object"}},
}  # fmt: skip
_STDIO = closed(
    ("type", "command"), type={"const": "stdio"}, command={"type": "string", "minLength": 1}, args=TEXTS,
    env={"type": "object", "propertyNames": {"not": {"enum": ["PLUGIN_ROOT", "PLUGIN_DATA"]}}, "additionalProperties": TEXT},
    cwd={"type": "string", "pattern": r"^(\./|\$\{PLUGIN_(ROOT|DATA)\}(/|$))"},
)  # fmt: skip
SERVERS = agent_plugins("mcp", mcpServers={"type": "object", "additionalProperties": _STDIO})

_STARTED = closed(
    ("command",), command=TEXT, args=TEXTS, env={"type": "object", "additionalProperties": TEXT}
)  # fmt: skip
_ASKED = closed(
    ("type", "title", "description"), type={"enum": ["string", "number", "boolean", "directory", "file"]}, title=TEXT,
    description=TEXT, required=YES_OR_NO, default={}, sensitive=YES_OR_NO,
)  # fmt: skip
BUNDLE = closed(
    ("manifest_version", "name", "version", "description", "author", "server"),
    manifest_version={"enum": ["0.3", "0.4"]}, name=TEXT, display_name=TEXT, version=TEXT, description=TEXT,
    author={**AUTHOR, "required": ["name"]}, homepage=TEXT, license=TEXT, keywords=TEXTS,
    server=closed(
        ("type", "entry_point", "mcp_config"), type={"enum": ["python", "node", "binary", "uv"]}, entry_point=TEXT,
        mcp_config=_STARTED,
    ),
    tools_generated=YES_OR_NO, prompts_generated=YES_OR_NO,
    user_config={"type": "object", "additionalProperties": _ASKED},
)  # fmt: skip


def wider(ours: Schema, theirs: Schema) -> list[str]:
    """Members that ours takes and theirs does not, each with its path; what theirs says only by a reference is looked up."""
    return [*_wider(ours, theirs, theirs, "")]


def _wider(ours: Schema, theirs: Schema, root: Schema, path: str) -> list[str]:
    found: list[str] = []
    known = _members(theirs, root)
    for name, schema in ours.get("properties", {}).items():
        if known and name not in known:
            found.append(f"{path}/{name}")
        elif known:
            found += _wider(schema, known[name], root, f"{path}/{name}")
    return found


def _members(schema: Schema, root: Schema) -> dict[str, Schema]:
    """The properties of an object, of what it refers to, and of each of its choices."""
    found = dict(schema.get("properties", {}))
    if "$ref" in schema:
        inner = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            inner = inner[step]
        found |= _members(inner, root)
    for each in (*schema.get("anyOf", ()), *schema.get("allOf", ()), *schema.get("oneOf", ())):
        found |= _members(each, root)
    return found
