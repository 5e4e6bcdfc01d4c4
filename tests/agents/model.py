"""A model on the loopback interface that speaks the three dialects which the clients speak, and keeps what it was sent.

It answers "Noted." to everything, but calls the tool that a prompt names: `CALL memory_search {"query": "…"}` in the last words
of a person makes it call the tool whose name ends so, once, with these arguments.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SAID = "Noted."
_CALL = re.compile(r"CALL (\w+) (\{.*?\})")
_USAGE = {"input_tokens": 10, "output_tokens": 2}


@dataclass(slots=True)
class Model:
    """Where it listens, and the bodies of what it was asked, oldest first."""

    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)

    def since(self, before: int) -> str:
        """Everything that it was sent behind the first so many requests, as one text."""
        return json.dumps(self.asked[before:], ensure_ascii=False)


@contextmanager
def listening() -> Iterator[Model]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Door)
    server.daemon_threads = True
    _Door.model = model = Model(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


class _Door(BaseHTTPRequestHandler):
    model: Model

    def do_GET(self) -> None:
        self._send(b'{"data": [], "models": []}', "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        speak = next((each for end, each in _DIALECTS.items() if path.endswith(end)), None)
        if speak is None:
            return self._send(b'{"input_tokens": 10, "totalTokens": 10}', "application/json")
        self.model.asked.append(body)
        streamed = bool(body.get("stream")) or "stream" in path
        kind, content = speak(body, streamed)
        self._send(content.encode(), kind)

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was asked is kept."""


def _wanted(texts: list[str], tools: list[str], answered: bool) -> tuple[str, dict[str, Any]] | None:
    """The tool that the last prompt asks for, by the name that the client gave it."""
    found = _CALL.findall(texts[-1]) if texts and not answered else []
    if not found:
        return None
    name, given = found[-1]
    full = next((tool for tool in tools if tool.endswith(name)), f"mcp__memorist__{name}")
    return full, json.loads(given)


def _events(*events: dict[str, Any], named: bool = True) -> tuple[str, str]:
    lines = [(f"event: {each['type']}\n" if named else "") + f"data: {json.dumps(each)}\n\n" for each in events]
    return "text/event-stream", "".join(lines)


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text", "")) for part in content or [] if isinstance(part, dict))


# ---------------------------------------------------------------- the dialects


def _messages(body: dict[str, Any], streamed: bool) -> tuple[str, str]:
    said = [each for each in body["messages"] if each["role"] == "user"]
    results = [part for part in said[-1]["content"] if isinstance(part, dict) and part.get("type") == "tool_result"]
    called = _wanted(
        [_texts(each["content"]) for each in said], [t["name"] for t in body.get("tools", [])], bool(results)
    )
    block: dict[str, Any] = {"type": "text", "text": SAID}
    if called:
        block = {"type": "tool_use", "id": f"toolu_{len(body['messages'])}", "name": called[0], "input": called[1]}
    reason = "tool_use" if called else "end_turn"
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "m"), "content": [block],
        "stop_reason": reason, "stop_sequence": None, "usage": _USAGE,
    }  # fmt: skip
    if not streamed:
        return "application/json", json.dumps(message)
    opening = {**block, "input": {}} if called else {**block, "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(called[1])}
        if called
        else {"type": "text_delta", "text": SAID}
    )
    return _events(
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": opening},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": _USAGE},
        {"type": "message_stop"},
    )


def _responses(body: dict[str, Any], streamed: bool) -> tuple[str, str]:
    given = [each for each in body["input"] if isinstance(each, dict)]
    said = [_texts(each["content"]) for each in given if each.get("role") == "user"]
    answered = bool(given) and str(given[-1].get("type", "")).endswith("_output")
    called = _wanted(said, [], answered)
    item: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "id": "m1",
        "content": [{"type": "output_text", "text": SAID}],
    }
    if called:
        name = called[0].rpartition("__")
        item = {"type": "function_call", "id": "f1", "call_id": f"call_{len(given)}", "name": name[2], "namespace": name[0], "arguments": json.dumps(called[1])}  # fmt: skip
    usage = {
        "input_tokens": 10,
        "input_tokens_details": None,
        "output_tokens": 2,
        "output_tokens_details": None,
        "total_tokens": 12,
    }
    return _events(
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    )


def _generate(body: dict[str, Any], streamed: bool) -> tuple[str, str]:
    said = [each for each in body["contents"] if each.get("role") == "user"]
    parts = said[-1]["parts"] if said else []
    answered = any("functionResponse" in part for part in parts)
    tools = [each["name"] for tool in body.get("tools", []) for each in tool.get("functionDeclarations", [])]
    called = _wanted([_texts(each["parts"]) for each in said], tools, answered)
    part: dict[str, Any] = {"functionCall": {"name": called[0], "args": called[1]}} if called else {"text": SAID}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12},
        "modelVersion": "m",
    }
    return _events(answer, named=False) if streamed else ("application/json", json.dumps(answer))


_DIALECTS = {
    "/messages": _messages,
    "/responses": _responses,
    ":streamGenerateContent": _generate,
    ":generateContent": _generate,
}
