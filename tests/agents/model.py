"""A model on the loopback interface that speaks the dialects which the clients speak, and keeps what it was sent.

It answers "Noted." to everything, but calls the tool that a prompt names: `CALL memory_search {"query": "…"}` in the last words
of a person makes it call the tool whose name ends so, with these arguments; again, while the client says that its server has not
started yet. While it holds, it says nothing.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SAID = "Noted."
MOST_CALLS = 60  # of a tool that is not there, half a second apart
_CALL = re.compile(r"CALL (\w+) (\{.*?\})")
_NOT_YET = re.compile(r"unsupported call|[Nn]o such tool|not found|still connecting")

Body = dict[str, Any]
Call = tuple[str, Body]
Heard = tuple[str, list[str], list[str]]


@dataclass(slots=True)
class Model:
    """Where it listens, and the bodies of what it was asked, oldest first."""

    url: str
    asked: list[Body] = field(default_factory=list)
    results: list[str] = field(default_factory=list)  # of the tools that it called
    speaks: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.speaks.set()

    def since(self, before: int) -> str:
        """Everything that it was sent behind the first so many requests, as one text."""
        return json.dumps(self.asked[before:], ensure_ascii=False)


@contextmanager
def listening() -> Iterator[Model]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Door)
    server.daemon_threads = True
    _Door.model = model = Model(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield model
    finally:
        server.shutdown()


class _Door(BaseHTTPRequestHandler):
    model: Model

    def do_GET(self) -> None:
        self._send("application/json", '{"data": [], "models": []}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        dialect = next((each for end, each in _DIALECTS.items() if path.endswith(end)), None)
        if dialect is None:  # how many tokens that is
            return self._send("application/json", '{"input_tokens": 10, "totalTokens": 10}')
        hear, speak = dialect
        self.model.asked.append(body)
        self.model.speaks.wait()
        said, results, tools = hear(body)
        self.model.results += results[-1:]
        call = _called(said, results, tools)
        streamed = bool(body.get("stream")) or "stream" in path
        self._send(*(speak(call, f"call_{len(self.model.asked)}", streamed)))

    def _send(self, kind: str, content: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content.encode())))
        self.end_headers()
        with suppress(BrokenPipeError):  # the client was killed meanwhile
            self.wfile.write(content.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was asked is kept."""


def _called(said: str, results: list[str], tools: list[str]) -> Call | None:
    """The tool that the last prompt asks for, by the name that the client gave it, until it has answered."""
    found = _CALL.findall(said)
    if not found or (results and not _NOT_YET.search(results[-1])) or len(results) > MOST_CALLS:
        return None
    if results:
        time.sleep(0.5)
    name, given = found[-1]
    return next((tool for tool in tools if tool.endswith(name)), f"mcp__memorist__{name}"), json.loads(given)


def _events(*events: Body) -> tuple[str, str]:
    lines = [
        (f"event: {each['type']}\n" if "type" in each else "") + f"data: {json.dumps(each)}\n\n" for each in events
    ]
    return "text/event-stream", "".join(lines)


def _parts(content: Any) -> list[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else [*(content or [])]


# ---------------------------------------------------------------- the dialects
#
# Of each: what a person said last, what tools returned since, and which tools there are; and what the model says to it.


def _claude_hears(body: Body) -> Heard:
    said, results = "", list[str]()
    for message in body["messages"]:
        for part in _parts(message["content"]) if message["role"] == "user" else ():
            if part.get("type") == "tool_result":
                results.append(json.dumps(part))
            elif "<system-reminder>" not in part.get("text", ""):
                said, results = part.get("text", ""), []
    return said, results, [tool["name"] for tool in body.get("tools", [])]


def _to_claude(call: Call | None, id: str, streamed: bool) -> tuple[str, str]:
    block: Body = {"type": "text", "text": SAID}
    opening, delta = {**block, "text": ""}, {"type": "text_delta", "text": SAID}
    if call:
        block = {"type": "tool_use", "id": f"toolu_{id}", "name": call[0], "input": call[1]}
        opening, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    end = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    usage = {"input_tokens": 10, "output_tokens": 2}
    message = {"id": f"msg_{id}", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    if not streamed:
        return "application/json", json.dumps({**message, **end, "content": [block]})
    return _events(
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": opening},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": usage},
        {"type": "message_stop"},
    )


def _codex_hears(body: Body) -> Heard:
    said, results = "", list[str]()
    for item in body["input"]:
        if item.get("role") == "user":
            said, results = " ".join(str(part.get("text", "")) for part in _parts(item["content"])), []
        elif str(item.get("type")).endswith("_output"):
            results.append(json.dumps(item))
    return said, results, []  # it groups the tools of a server


def _to_codex(call: Call | None, id: str, streamed: bool) -> tuple[str, str]:
    item: Body = {"type": "message", "role": "assistant", "id": id, "content": [{"type": "output_text", "text": SAID}]}
    if call:
        group, _, name = call[0].rpartition("__")
        item = {
            "type": "function_call",
            "call_id": id,
            "namespace": group,
            "name": name,
            "arguments": json.dumps(call[1]),
        }
    usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    return _events(
        {"type": "response.created", "response": {"id": id}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": id, "usage": usage}},
    )


def _gemini_hears(body: Body) -> Heard:
    said, results = "", list[str]()
    for content in body["contents"]:
        parts = content["parts"] if content.get("role") == "user" else []
        texts = [part["text"] for part in parts if "text" in part]  # the prompt, and what hooks say to it
        said, results = (" ".join(texts), []) if texts else (said, results)
        results += [json.dumps(part) for part in parts if "functionResponse" in part]
    return (
        said,
        results,
        [each["name"] for tool in body.get("tools", []) for each in tool.get("functionDeclarations", [])],
    )


def _to_gemini(call: Call | None, id: str, streamed: bool) -> tuple[str, str]:
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": SAID}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12},
    }
    return _events(answer) if streamed else ("application/json", json.dumps(answer))


def _opencode_hears(body: Body) -> Heard:
    said, results = "", list[str]()
    for message in body["messages"]:
        if message["role"] == "user":
            words = " ".join(str(part.get("text", "")) for part in _parts(message["content"]))
            said, results = words.replace('\\"', '"'), []  # it puts what has blanks into quotes, and these into others
        elif message["role"] == "tool":
            results.append(json.dumps(message))
    return said, results, [tool["function"]["name"] for tool in body.get("tools", [])]


def _to_opencode(call: Call | None, id: str, streamed: bool) -> tuple[str, str]:
    message: Body = {"role": "assistant", "content": SAID}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}],
        }
    end = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    about = {"id": id, "object": "chat.completion.chunk", "created": 1, "model": "m"}
    if not streamed:
        return "application/json", json.dumps(
            {**about, "choices": [{"index": 0, "message": message, "finish_reason": end}], "usage": usage}
        )
    return _events(
        {**about, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage},
    )


_DIALECTS = {
    "/chat/completions": (_opencode_hears, _to_opencode),
    "/messages": (_claude_hears, _to_claude),
    "/responses": (_codex_hears, _to_codex),
    ":streamGenerateContent": (_gemini_hears, _to_gemini),
    ":generateContent": (_gemini_hears, _to_gemini),
}
