"""A chat model behind a server with OpenAI's `/chat/completions`: a local one, or one that requires a key.

The address is one line: `http://127.0.0.1:8080/v1?model=NAME&key=VARIABLE`. `key` *names* the environment variable that holds
the key. It is read each time it is sent, so that a replaced key is used at once and appears in no setting, store, log or
message. `calls`, `tokens` (per day) and `seconds` (per answer) limit the cost.

Servers differ in how they guarantee JSON. The best way is tried first: a schema, then JSON of any form, then words alone; a
way that the server refuses is not tried again. An answer that was cut at its maximal length does not count as an answer.
"""

import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memorist.errors import Invalid
from memorist.models.chat import (
    CALLS_A_DAY,
    TOKENS_A_DAY,
    ChatFailed,
    ChatLimits,
    ChatOutcome,
    ChatPrompt,
    ChatReply,
    parsed,
)
from memorist.models.chat import SECONDS as USUAL
from memorist.models.embed import apart
from memorist.models.remote import FIRST_PAUSE, WAYS, NoKey, client_for, fetched, read_address
from memorist.text.visible import quoted

if TYPE_CHECKING:
    import httpx2

    from memorist.models.embed import Secret

COMPLETIONS = "/chat/completions"
ADDRESS_PARTS = ("model", "key", "calls", "tokens", "seconds")
LADDER = ("json_schema", "json_object", "prompt")
NOT_THIS_WAY = (400, 415, 422, 501)  # how servers respond to a form of JSON that they do not know
KEY_TROUBLE = (401, 403)
ATTEMPTS = 3  # for one request, if the problem may be temporary
WRITTEN = "Answer with one JSON value and nothing else. It must fit this JSON schema: "


@dataclass(slots=True)
class RemoteChat:
    """`memorist.models.chat.Chat` over HTTP."""

    url: str
    model: str
    variable: str | None
    secret: "Secret"
    limits: ChatLimits
    way: int = 0  # the place on the ladder that works, or is to be tried first
    _pause: Callable[[float], None] = field(default=time.sleep, repr=False)

    @classmethod
    def at(cls, address: str, secret: "Secret") -> "RemoteChat":
        """The model at that address."""
        split, named = read_address(address, "a chat model", "https://HOST/v1?model=NAME", ADDRESS_PARTS)
        path = split.path.rstrip("/").removesuffix(COMPLETIONS)
        limits = ChatLimits(_number(named, "seconds", USUAL), *(int(_number(named, *each)) for each in
                        (("calls", CALLS_A_DAY), ("tokens", TOKENS_A_DAY))))  # fmt: skip
        return cls(
            f"{split.scheme}://{split.netloc}{path}{COMPLETIONS}", named["model"], named.get("key"), secret, limits
        )

    @property
    def name(self) -> str:
        return f"{self.model}@{self.url.removesuffix(COMPLETIONS)}"

    def answer(self, prompt: ChatPrompt, seconds: float) -> ChatReply:
        until = time.monotonic() + seconds
        try:
            connected = client_for(self.url, self.variable, self.secret, seconds)
        except ValueError as problem:
            outcome: ChatOutcome = "refused" if isinstance(problem, NoKey) else "transport_error"
            raise self._failed(outcome, str(problem)) from problem
        with connected as client:
            for way in range(self.way, len(LADDER)):
                last = way + 1 == len(LADDER)
                status, content = self._sent(client, self._body(prompt, LADDER[way]), until, not last)
                reply = self._read(content) if status == 200 else None
                if reply is not None and (last or _is_json(reply.text)):
                    self.way = way if _is_json(reply.text) else self.way
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

    def _sent(self, client: "httpx2.Client", body: Any, until: float, lower: bool) -> tuple[int, bytes]:
        """Status and content of a usable answer, or of a refusal while there is a `lower` way. Temporary problems are retried."""
        pause = FIRST_PAUSE
        for tries in range(1, ATTEMPTS + 1):
            status, content, wanted, problem = self._tried(client, body, until)
            if status == 200 or (lower and status in NOT_THIS_WAY):
                return status, content
            wait = max(wanted, pause * random.uniform(0.5, 1))
            for_good = status is not None and status != 429 and status < 500
            if for_good or tries == ATTEMPTS or time.monotonic() + wait > until:
                raise problem
            self._pause(wait)
            pause *= 2
        raise AssertionError("the last try answers or raises")

    def _tried(self, client: "httpx2.Client", body: Any, until: float) -> tuple[int | None, bytes, float, ChatFailed]:
        """Status, content, the seconds it asks to wait, and the problem, if the status indicates one."""
        import httpx2

        try:
            status, content, wanted = self._answer(client, body, until)
        except TimeoutError:
            return None, b"", 0.0, self._failed("timeout", "it did not answer in time")
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as problem:
            because = f"it cannot be reached ({type(problem).__name__})"
            return None, b"", 0.0, self._failed("transport_error", because)
        except ValueError as problem:
            raise self._failed("unparseable", str(problem)) from problem
        because = WAYS.get(status, f"it answered with status {status}")
        if status in KEY_TROUBLE:
            return status, content, wanted, self._failed("refused", f"{because}; {self._whose_key()}")
        return status, content, wanted, self._failed("transport_error", because)

    def _answer(self, client: "httpx2.Client", body: Any, until: float) -> tuple[int, bytes, float]:
        """One answer in time; a separate thread waits for the server, and is abandoned when the time is up."""
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return apart(lambda: fetched(client, self.url, body, until), "memorist-completions").result(left)

    def _read(self, content: bytes) -> ChatReply:
        try:
            told = json.loads(content)
            choice, usage = told["choices"][0], told.get("usage") or {}
            text, tokens = choice["message"]["content"], usage.get("total_tokens")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
            raise self._failed("unparseable", "its answer is not what /chat/completions answers") from problem
        if choice.get("finish_reason") == "length":
            raise self._failed("truncated", "its answer was cut at its length")
        if not isinstance(text, str):
            raise self._failed("unparseable", "its answer has no text")
        return ChatReply(text, tokens if isinstance(tokens, int) else None)

    def _whose_key(self) -> str:
        if self.variable is None:
            return "name the variable that holds one by &key=VARIABLE"
        return f"set the environment variable {self.variable} to one that is valid"

    def _failed(self, outcome: ChatOutcome, because: str) -> ChatFailed:
        return ChatFailed(outcome, f"the chat model at {quoted(self.url)} cannot be used: {because}")


def _is_json(text: str) -> bool:
    try:
        parsed(text)
    except (ValueError, RecursionError):
        return False
    return True


def _number(named: dict[str, str], part: str, usual: float) -> float:
    given = named.get(part)
    if given is None:
        return usual
    if not re.fullmatch("[1-9][0-9]{0,9}", given, re.ASCII):
        raise Invalid(f"{part}= must be a whole number from 1 on, not {quoted(given)}")
    return float(given)
