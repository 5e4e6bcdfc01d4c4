"""A server on loopback that speaks `/chat/completions` by a script, and keeps what it was sent."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Says:
    """One answer: its text, or another status."""

    text: Any = ""
    status: int = 200
    finish: str = "stop"
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0.0  # seconds
    raw: bytes | None = None

    def content(self) -> bytes:
        if self.raw is not None:
            return self.raw
        text = self.text if isinstance(self.text, str) else json.dumps(self.text)
        message = {"message": {"role": "assistant", "content": text}, "finish_reason": self.finish}
        return json.dumps({"choices": [message], "usage": {"total_tokens": 42}}).encode()


class ChatServer(ThreadingHTTPServer):
    """Answers in the order of its script, and the last one again and again."""

    daemon_threads = True

    def __init__(self, *script: Says) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1?model=small"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, ChatServer) and self.path == "/v1/chat/completions"
        server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        server.keys.append(self.headers.get("Authorization"))
        says = server.script.pop(0) if len(server.script) > 1 else server.script[0]
        time.sleep(says.after)
        content = says.content()
        try:
            self.send_response(says.status)
            for name, value in says.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            pass  # nobody waited for it

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(*script: Says) -> Iterator[ChatServer]:
    with ChatServer(*script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
