"""Answers and errors as they are sent."""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from memorist.noun import plain, spread
from memorist.surfaces import wire

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
JSON_TYPE = "application/json"
UNREAD = (403, 408, 413)  # answers after which the rest of a body may still be on its way


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, ready to be sent."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Any, status: int = 200, **headers: str) -> "Reply":
        return cls(status, _written(value), {"content-type": JSON_TYPE, **headers})

    @classmethod
    def of_problem(cls, error: BaseException, request_id: str) -> "Reply":
        """An error as problem details (RFC 9457), and the headers that go with them."""
        problem = wire.problem(error)
        document = {
            "type": f"urn:memorist:problem:{problem.code}", "title": problem.title, "status": problem.status,
            "detail": problem.detail, "code": problem.code, "request_id": request_id,
        }  # fmt: skip
        after = getattr(error, "after", None) or (1 if problem.code in wire.COME_BACK else None)
        headers = {
            "content-type": "application/problem+json",
            **({"retry-after": str(max(1, round(after)))} if after else {}),
            **({"www-authenticate": "Bearer"} if problem.status == 401 else {}),
            **({"connection": "close"} if problem.status in UNREAD else {}),
        }
        return cls(problem.status, json.dumps(document).encode(), headers)

    async def sent(self, send: Send) -> None:
        """Sends it over ASGI."""
        headers = [(name.encode(), value.encode("latin-1")) for name, value in self.headers.items()]
        if self.status != 304:
            headers.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def _written(value: Any) -> bytes:
    """One of our values as JSON."""
    import orjson  # here, because `memorist mcp` loads this module, and the packages of the server may be absent

    try:
        return orjson.dumps(value, default=spread, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    except orjson.JSONEncodeError:  # a lone surrogate, in a question that the answer repeats
        return json.dumps(plain(value), separators=(",", ":")).encode()
