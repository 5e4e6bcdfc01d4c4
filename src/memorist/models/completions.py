"""A chat model behind a server with OpenAI's `/chat/completions`: a local one, or one that requires a key.

The address is one line: `http://127.0.0.1:8080/v1?model=NAME&key=VARIABLE`. `key` *names* the environment variable that holds
the key. It is read each time it is sent, so that a replaced key is used at once and appears in no setting, store, log or
message. `calls`, `tokens` (per day) and `seconds` (per answer) limit the cost.

Servers differ in how they guarantee JSON. The best way is tried first: a schema, then JSON of any form, then words alone; a
way that the server refuses is not tried again. An answer that was cut at its maximal length does not count as an answer.
"""

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memorist.models.chat import ChatFailed, ChatOutcome, ChatPrompt, ChatReply, parsed
from memorist.models.remote import Endpoint, ServerFailed, read_address
from memorist.store.tally import ChatLimits
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.models.embed import Secret

COMPLETIONS = "/chat/completions"
LADDER = ("json_schema", "json_object", "prompt")
NOT_THIS_WAY = (400, 415, 422, 501)  # how servers respond to a form of JSON that they do not know
ATTEMPTS = 3  # for one request, if the problem may be temporary
WRITTEN = "Answer with one JSON value and nothing else. It must fit this JSON schema: "


@dataclass(slots=True)
class RemoteChat:
    """`memorist.models.chat.Chat` over HTTP."""

    server: Endpoint
    model: str
    limits: ChatLimits
    way: int = 0  # the place on the ladder that works, or is to be tried first

    @classmethod
    def at(cls, address: str, secret: "Secret") -> "RemoteChat":
        """The model at that address."""
        split, named = read_address(address, "a chat model", ("calls", "tokens", "seconds"))
        path = split.path.rstrip("/").removesuffix(COMPLETIONS) + COMPLETIONS
        limits = ChatLimits(**{part: int(named[part]) for part in ("calls", "tokens", "seconds") if part in named})
        return cls(Endpoint(f"{split.scheme}://{split.netloc}{path}", named.get("key"), secret), named["model"], limits)

    @property
    def name(self) -> str:
        return f"{self.model}@{self.server.url.removesuffix(COMPLETIONS)}"

    def answer(self, prompt: ChatPrompt, seconds: float) -> ChatReply:
        until = time.monotonic() + seconds
        for way in range(self.way, len(LADDER)):
            last = way + 1 == len(LADDER)
            try:
                status, content = self.server.send(
                    self._body(prompt, LADDER[way]), until - time.monotonic(), ATTEMPTS, () if last else NOT_THIS_WAY
                )
            except ServerFailed as problem:
                key = self.server.variable
                hint = (
                    f"set the environment variable {key} to a valid key"
                    if key
                    else "name its variable by &key=VARIABLE"
                )
                because = f"{problem}; {hint}" if problem.outcome == "refused" else str(problem)
                raise self._failed(problem.outcome, because) from problem
            if status != 200:
                continue
            reply = self._read(content)
            try:
                parsed(reply.text)
            except (ValueError, RecursionError):
                if not last:
                    continue
            else:
                self.way = way
            return reply
        raise AssertionError("the last way answers or raises")

    def _body(self, prompt: ChatPrompt, way: str) -> dict[str, Any]:
        schema = dict(prompt.schema)
        system = prompt.system if way == LADDER[0] else f"{prompt.system}\n\n{WRITTEN}{json.dumps(schema)}"
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": prompt.user}],
            "max_tokens": prompt.most,
            "temperature": 0,
        }
        named = {"name": "answer", "schema": schema, "strict": True}
        forms = {"json_schema": {"type": way, "json_schema": named}, "json_object": {"type": way}}
        return body | ({"response_format": forms[way]} if way in forms else {})

    def _read(self, content: bytes) -> ChatReply:
        try:
            answer = json.loads(content)
            choice, usage = answer["choices"][0], answer.get("usage") or {}
            text, tokens = choice["message"]["content"], usage.get("total_tokens")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
            raise self._failed("unparseable", "its answer is not what /chat/completions answers") from problem
        if choice.get("finish_reason") == "length":
            raise self._failed("truncated", "its answer was cut at its maximal length")
        if not isinstance(text, str):
            raise self._failed("unparseable", "its answer has no text")
        return ChatReply(text, tokens if isinstance(tokens, int) else None)

    def _failed(self, outcome: ChatOutcome, because: str) -> ChatFailed:
        return ChatFailed(outcome, f"the chat model at {quoted(self.server.url)} cannot be used: {because}")
