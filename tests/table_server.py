"""A server that is a function: the routes of `commands.py` and `wire.py` over an open memory, without a socket."""

import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import httpx2

from memorist import Memory
from memorist.commands import SESSION_PARTS, VERBS
from memorist.errors import MemoristError
from memorist.noun import plain
from memorist.surfaces import wire


@dataclass
class Server:
    """Answers as the table of verbs says. `first` are answers or errors that come before it begins to."""

    memory: Memory
    first: list[Any] = field(default_factory=list)
    asked: list[httpx2.Request] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        if self.first:
            came = self.first.pop(0)
            if isinstance(came, Exception):
                raise came
            return came
        try:
            answer = self._called(request)
            added = request.method == "POST" and getattr(answer, "outcome", "") == "added"
            return httpx2.Response(201 if added else 200, json=plain(answer))
        except MemoristError as error:
            said = wire.problem(error)
            return httpx2.Response(said.status, json={"code": said.code, "detail": said.detail})

    def _called(self, request: httpx2.Request) -> Any:
        path = request.url.raw_path.decode().partition("?")[0]
        found = ((_named(route, request.method, path), verb) for route, verb in ROUTES.items())
        named, verb = next((named, verb) for named, verb in found if named is not None)
        pairs = [pair for pair in request.url.params.multi_items() if pair[0] != "project"]
        sent = json.loads(request.content) if request.content else wire.queried(verb.name, pairs)
        return wire.call(self.memory, verb.name, wire.arguments(verb.name, {**sent, **named}))


ROUTES = {
    verb.http: verb
    for verb in sorted([*VERBS.values(), *SESSION_PARTS.values()], key=lambda verb: "{" in (verb.http or ""))
    if verb.http
}


def _named(route: str, method: str, path: str) -> dict[str, str] | None:
    """What stands in the braces of a route, if it is this one."""
    wanted, _, pattern = route.partition(" ")
    found = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", pattern), path) if wanted == method else None
    return None if found is None else {name: unquote(each) for name, each in found.groupdict().items()}
