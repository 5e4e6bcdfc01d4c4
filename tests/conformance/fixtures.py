"""A test-only server for the public conformance suite: memorist's own server, with the tools, resources and prompts beside ours
that the suite calls by name. What the suite then judges is our transport, our envelope, our errors and our door.

Started by `tests/conformance/run.py`: it serves `/mcp` of the real HTTP application, and says its address on one line.
"""

# ruff: noqa: E501  # what the suite wants to hear, in its own words and lines

import asyncio
import base64
import json
import re
import struct
import sys
import warnings
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

from memorist.surfaces.http import app
from memorist.surfaces.http.server import Serving, serve
from memorist.surfaces.http.work import Memories
from memorist.surfaces.mcp import tools
from memorist.surfaces.mcp.mounted import IDLE, McpMount, SharedProjects
from memorist.surfaces.mcp.server import McpDoor, over_http

Context = ServerRequestContext[Any, Any]
Call = Callable[[Context, types.CallToolRequestParams], Awaitable[Any]]
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def _png() -> str:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    raw = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")
    )
    return base64.b64encode(raw).decode()


def _wav() -> str:
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 38, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", 2)
    return base64.b64encode(head + b"\x80\x80").decode()


IMAGE = types.ImageContent(type="image", data=_png(), mime_type="image/png")
AUDIO = types.AudioContent(type="audio", data=_wav(), mime_type="audio/wav")


def text(said: str) -> types.TextContent:
    return types.TextContent(type="text", text=said)


def embedded(uri: str, said: str, kind: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(
        type="resource", resource=types.TextResourceContents(uri=uri, mime_type=kind, text=said)
    )


def result(*content: Any, error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), is_error=error)


def form(message: str, schema: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(question: str, most: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(question))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=most))


# ---------------------------------------------------------------- tools that answer at once


def always(*content: Any, error: bool = False) -> Call:
    async def call(ctx: Context, params: types.CallToolRequestParams) -> Any:
        return result(*content, error=error)

    return call


async def with_progress(ctx: Context, params: types.CallToolRequestParams) -> Any:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await asyncio.sleep(0.05)
    return result(text("the work is done"))


async def with_logging(ctx: Context, params: types.CallToolRequestParams) -> Any:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            await ctx.session.send_log_message("info", said, related_request_id=ctx.request_id)
        await asyncio.sleep(0.05)
    return result(text("three lines were logged"))


async def samples(ctx: Context, params: types.CallToolRequestParams) -> Any:
    asked = sampling(str((params.arguments or {}).get("prompt")))
    said = await ctx.session.send_request(asked, types.CreateMessageResult)
    return result(text(f"LLM response: {getattr(said.content, 'text', '')}"))


def elicits(message: str, schema: dict[str, Any]) -> Call:
    async def call(ctx: Context, params: types.CallToolRequestParams) -> Any:
        asked = str((params.arguments or {}).get("message", message))
        said = await ctx.session.elicit_form(asked, schema, ctx.request_id)
        return result(text(f"User response: action={said.action}, content={json.dumps(said.content)}"))

    return call


async def missing_capability(ctx: Context, params: types.CallToolRequestParams) -> Any:
    able = ctx.session.client_capabilities
    if able is None or able.sampling is None:
        needed = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool needs a client that samples", needed)
    return result(text("the client samples"))


async def reconnection(ctx: Context, params: types.CallToolRequestParams) -> Any:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    await asyncio.sleep(0.1)
    return result(text("reconnected"))


# ---------------------------------------------------------------- tools that need an answer first (2026-07-28)


def asks(requests: dict[str, Any], done: Callable[[dict[str, Any]], str], state: str | None = None) -> Call:
    """Asks for all of these, until all are answered."""

    async def call(ctx: Context, params: types.CallToolRequestParams) -> Any:
        given = params.input_responses or {}
        if not set(requests) <= set(given) or (state is not None and params.request_state != state):
            return types.InputRequiredResult(input_requests=requests, request_state=state)
        return result(text(done(dict(given))))

    return call


def named(given: dict[str, Any]) -> str:
    said = given["user_name"]
    return f"Hello, {(getattr(said, 'content', None) or {}).get('name')}!"


async def multi_round(ctx: Context, params: types.CallToolRequestParams) -> Any:
    steps = ("What is your name?", "What is your favorite color?")
    step = {None: 0, "round-1": 1, "round-2": 2}[params.request_state]
    if step == len(steps):
        return result(text("all rounds are done"))
    field = ("name", "color")[step]
    schema = {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}
    asked = {f"step{step + 1}": form(f"Step {step + 1}: {steps[step]}", schema)}
    return types.InputRequiredResult(input_requests=asked, request_state=f"round-{step + 1}")


async def capabilities(ctx: Context, params: types.CallToolRequestParams) -> Any:
    able = ctx.session.client_capabilities or types.ClientCapabilities()
    asked: dict[str, Any] = {}
    if able.sampling is not None:
        asked["sample"] = sampling("Say something")
    if able.elicitation is not None:
        asked["ask"] = form("What is your name?", NAME)
    return types.InputRequiredResult(input_requests=asked) if asked else result(text("nothing can be asked"))


ROOTS = types.ListRootsRequest()
OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
USER = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}
DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "required": [],
}
_OPTIONS = ["option1", "option2", "option3"]
_TITLED = [
    {"const": f"value{n}", "title": f"{which} Option"} for n, which in enumerate(("First", "Second", "Third"), 1)
]
ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": _OPTIONS},
        "titledSingle": {"type": "string", "oneOf": _TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
    },
    "required": [],
}
JSON_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}  # fmt: skip
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
HEADERS = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
SIMPLE = "This is a simple text response for testing."
MIXED = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
PARTS = {
    "user_name": form("What is your name?", NAME),
    "greeting": sampling("Generate a greeting", 50),
    "client_roots": ROOTS,
}


class FixtureDoor(McpDoor):
    """Ours, with the fixtures beside."""

    def server(self) -> Server[Any]:
        made = super().server()
        self.bus = InMemorySubscriptionBus()
        ours = {method: made.get_request_handler(method) for method in ("tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list", "prompts/list", "prompts/get")}  # fmt: skip
        calls = self.fixtures()

        async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
            found = await ours["tools/list"].handler(ctx, params)  # type: ignore[union-attr]
            more = [
                types.Tool(name=name, description=f"A fixture: {name}.", input_schema=schema)
                for name, (_, schema) in calls.items()
            ]
            return types.ListToolsResult(tools=[*found.tools, *more])

        async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
            if params.name in calls:
                return await calls[params.name][0](ctx, params)
            return await ours["tools/call"].handler(ctx, params)  # type: ignore[union-attr]

        made.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
        made.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
        made.get_tool_input_schema = lambda name: calls[name][1] if name in calls else self._input(name)
        _resources(made, ours)
        _prompts(made, ours)
        _others(made, self.bus)
        return made

    def fixtures(self) -> dict[str, tuple[Call, dict[str, Any]]]:
        async def tools_changed(ctx: Context, params: types.CallToolRequestParams) -> Any:
            await self.bus.publish(ToolsListChanged())
            return result(text("changed"))

        async def prompts_changed(ctx: Context, params: types.CallToolRequestParams) -> Any:
            await self.bus.publish(PromptsListChanged())
            return result(text("changed"))

        found: dict[str, Call] = {
            "test_simple_text": always(text(SIMPLE)),
            "test_image_content": always(IMAGE),
            "test_audio_content": always(AUDIO),
            "test_embedded_resource": always(embedded("test://embedded-resource", "This is an embedded resource content.")),
            "test_multiple_content_types": always(text("Multiple content types test:"), IMAGE, MIXED),
            "test_error_handling": always(text("This tool intentionally returns an error for testing"), error=True),
            "test_tool_with_progress": with_progress,
            "test_tool_with_logging": with_logging,
            "test_logging_tool": with_logging,
            "test_sampling": samples,
            "test_elicitation": elicits("Who are you?", USER),
            "test_elicitation_sep1034_defaults": elicits("Review these", DEFAULTS),
            "test_elicitation_sep1330_enums": elicits("Choose", ENUMS),
            "test_reconnection": reconnection,
            "test_missing_capability": missing_capability,
            "test_streaming_elicitation": asks({"user_name": form("What is your name?", NAME)}, named),
            "test_trigger_tool_change": tools_changed,
            "test_trigger_prompt_change": prompts_changed,
            "test_input_required_result_elicitation": asks({"user_name": form("What is your name?", NAME)}, named),
            "test_input_required_result_sampling": asks({"capital_question": sampling("What is the capital of France?")}, _content),
            "test_input_required_result_list_roots": asks({"client_roots": ROOTS}, _content),
            "test_input_required_result_request_state": asks({"confirm": form("Please confirm", OK)}, lambda given: "state-ok", "kept"),
            "test_input_required_result_tampered_state": asks({"confirm": form("Please confirm", OK)}, lambda given: "state-ok", "kept"),
            "test_input_required_result_multiple_inputs": asks(PARTS, lambda given: "all three were given", "kept"),
            "test_input_required_result_multi_round": multi_round,
            "test_input_required_result_capabilities": capabilities,
        }  # fmt: skip
        message = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
        prompt = {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}
        schemas = {"test_elicitation": message, "test_sampling": prompt}
        more = {
            "json_schema_2020_12_tool": (always(text("ok")), JSON_SCHEMA),
            "test_headers": (always(text("ok")), HEADERS),
        }
        return {name: (call, schemas.get(name, NOTHING)) for name, call in found.items()} | more


def _content(given: dict[str, Any]) -> str:
    return " ".join(each.model_dump_json() for each in given.values())


def _resources(made: Server[Any], ours: dict[str, Any]) -> None:
    async def list_resources(ctx: Context, params: Any) -> types.ListResourcesResult:
        found = await ours["resources/list"].handler(ctx, params)
        more = [types.Resource(uri=f"test://{name}", name=name, description="A fixture.", mime_type=kind)
                for name, kind in (("static-text", "text/plain"), ("static-binary", "image/png"), ("watched-resource", "text/plain"))]  # fmt: skip
        return types.ListResourcesResult(resources=[*found.resources, *more])

    async def list_templates(ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        found = await ours["resources/templates/list"].handler(ctx, params)
        more = types.ResourceTemplate(
            uri_template="test://template/{id}/data", name="template", description="A fixture."
        )
        return types.ListResourceTemplatesResult(resource_templates=[*found.resource_templates, more])

    async def read(ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        filled = re.fullmatch("test://template/([^/]+)/data", uri)
        if uri == "test://static-binary":
            content: Any = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=IMAGE.data)
        elif uri in ("test://static-text", "test://watched-resource"):
            content = types.TextResourceContents(uri=uri, mime_type="text/plain", text="This is the content of the static text resource.")  # fmt: skip
        elif filled:
            said = json.dumps({"id": filled[1], "templateTest": True, "data": f"Data for ID: {filled[1]}"})
            content = types.TextResourceContents(uri=uri, mime_type="application/json", text=said)
        else:
            return await ours["resources/read"].handler(ctx, params)
        return types.ReadResourceResult(contents=[content])

    made.add_request_handler("resources/list", types.PaginatedRequestParams, list_resources)
    made.add_request_handler("resources/templates/list", types.PaginatedRequestParams, list_templates)
    made.add_request_handler("resources/read", types.ReadResourceRequestParams, read)


PROMPT_ARGUMENTS = {
    "test_simple_prompt": (), "test_prompt_with_arguments": ("arg1", "arg2"), "test_prompt_with_image": (),
    "test_prompt_with_embedded_resource": ("resourceUri",), "test_input_required_result_prompt": (),
}  # fmt: skip


def _prompts(made: Server[Any], ours: dict[str, Any]) -> None:
    async def list_prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
        found = await ours["prompts/list"].handler(ctx, params)
        more = [
            types.Prompt(name=name, description="A fixture.",
                         arguments=[types.PromptArgument(name=each, description="A fixture.", required=True) for each in names])
            for name, names in PROMPT_ARGUMENTS.items()
        ]  # fmt: skip
        return types.ListPromptsResult(prompts=[*found.prompts, *more])

    async def get(ctx: Context, params: types.GetPromptRequestParams) -> Any:
        if params.name not in PROMPT_ARGUMENTS:
            return await ours["prompts/get"].handler(ctx, params)
        given = params.arguments or {}
        contents: dict[str, list[Any]] = {
            "test_simple_prompt": [text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments": [text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")],
            "test_prompt_with_image": [IMAGE, text("Please analyze the image above.")],
            "test_prompt_with_embedded_resource": [
                embedded(str(given.get("resourceUri", "test://example-resource")), "Embedded resource content for testing."),
                text("Please process the embedded resource above."),
            ],
            "test_input_required_result_prompt": [text(f"With context: {params.input_responses}")],
        }  # fmt: skip
        if params.name == "test_input_required_result_prompt" and not params.input_responses:
            schema = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}
            asked = {"user_context": form("What context should the prompt use?", schema)}
            return types.InputRequiredResult(input_requests=asked)
        messages = [types.PromptMessage(role="user", content=each) for each in contents[params.name]]
        return types.GetPromptResult(messages=messages)

    made.add_request_handler("prompts/list", types.PaginatedRequestParams, list_prompts)
    made.add_request_handler("prompts/get", types.GetPromptRequestParams, get)


def _others(made: Server[Any], bus: InMemorySubscriptionBus) -> None:
    async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=["paris", "park"], total=2, has_more=False))

    async def nothing(ctx: Context, params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    made.add_request_handler("completion/complete", types.CompleteRequestParams, complete)
    made.add_request_handler("resources/subscribe", types.SubscribeRequestParams, nothing)
    made.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, nothing)
    made.add_request_handler("logging/setLevel", types.SetLevelRequestParams, nothing)
    made.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(bus))


class FixtureMount(McpMount):
    def __init__(self, work: Any) -> None:
        super().__init__(work)
        self._handle, self._running = over_http(
            FixtureDoor(SharedProjects(work), tools.DEFAULT), work.limits.size, IDLE
        )


def main(path: str) -> None:
    app.MOUNTED.clear()
    app.MOUNTED["/mcp"] = FixtureMount

    def ready(address: str, memories: Memories) -> None:
        sys.stdout.write(f"{address}/mcp\n")
        sys.stdout.flush()

    serve(Serving(path, None, None, "127.0.0.1", 0, None, False, ()), ready)


if __name__ == "__main__":
    main(sys.argv[1])
