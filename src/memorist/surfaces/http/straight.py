"""The way from a request to its verb.

FastAPI describes the routes, and answers those that are not verbs. Its own way to an endpoint (middleware, a walk through
the list of routes, dependency injection with nothing to inject) costs as much as the rest of a request; a verb needs one
table lookup.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.routing import compile_path

from memorist.commands import Verb
from memorist.surfaces.http.guard import App, Receive
from memorist.surfaces.http.replies import Reply, Send
from memorist.surfaces.http.verbs import HttpCall
from memorist.surfaces.wire import TurnedAway

ONCE = {b"if-match": "If-Match", b"idempotency-key": "Idempotency-Key", b"content-type": "Content-Type"}
Perform = Callable[[HttpCall], Awaitable[Reply]]


class Straight:
    """An ASGI application that calls verbs without going through FastAPI."""

    def __init__(self, app: App, routes: Iterable[tuple[Verb, str, str]], do: Perform) -> None:
        self._app, self._do = app, do
        self._plain: dict[tuple[str, str], Verb] = {}
        self._placed: dict[str, list[tuple[re.Pattern[str], Verb, str]]] = {}
        for verb, method, path in routes:
            if "{" not in path:
                self._plain[method, path] = verb
                continue
            pattern, plain, _ = compile_path(path)
            self._placed.setdefault(method, []).append((pattern, verb, plain))

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        found = self._found(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        verb, path, placed = found
        scope["route"] = SimpleNamespace(path=path)  # for the metrics
        try:
            body = await Request(scope, receive).body()
        except ClientDisconnect:
            return
        reply = await self._do(
            HttpCall(
                verb, scope["method"], scope["path"], placed, scope["query_string"].decode("latin-1"), _headers(scope), body,
                scope["memorist"],
            )
        )  # fmt: skip
        await reply.sent(send)

    def _found(self, method: str, path: str) -> tuple[Verb, str, Mapping[str, str]] | None:
        verb = self._plain.get((method, path))
        if verb is not None:
            return verb, path, {}
        matches = ((pattern.fullmatch(path), verb, route) for pattern, verb, route in self._placed.get(method, ()))
        return next(((verb, route, match.groupdict()) for match, verb, route in matches if match), None)


def _headers(scope: Any) -> dict[str, str]:
    found = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    if len(found) < len(scope["headers"]):  # a duplicate header must not mean different things to different readers
        names = [name for name, _ in scope["headers"]]
        if twice := [said for name, said in ONCE.items() if names.count(name) > 1]:
            raise TurnedAway("malformed", f"{twice[0]} was sent more than once; send it once")
    return found
