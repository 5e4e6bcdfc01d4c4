"""Models behind a server: vectors from one with OpenAI's `/embeddings`, and answers from one with its `/chat/completions`.

The address is one line: `https://HOST/v1/embeddings?model=NAME&key=VARIABLE`. `key` *names* the environment variable that
holds the key. It is read each time it is sent, so that a replaced key is used at once and appears in no setting, store, log or
message. Redirects are not followed. A proxy named by the environment is never used for this machine over http://: it would read
texts and key. For a chat model, `calls`, `tokens` (per day) and `seconds` (per answer) limit the cost.
"""

import json
import random
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from memorist.errors import Invalid, ModelUnavailable
from memorist.models.chat import ChatFailed, ChatPrompt, ChatReply, parsed
from memorist.patience import apart
from memorist.store.tally import ChatLimits
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.models.embed import Floats, Secret

AT_ONCE = 64  # texts in one request
SECONDS, ATTEMPTS = 30.0, 4  # for one request for vectors
SECONDS_FOR_ONE = 4.0  # for a single text, which is a query that somebody waits for; it is asked once
CHAT_ATTEMPTS = 3  # for one request for an answer, if the problem may be temporary
FIRST_PAUSE = 0.3
LARGEST_ANSWER = 64 * 1024 * 1024
HERE = ("localhost", "127.0.0.1", "::1")
REASONS = {
    401: "the key was not accepted",
    403: "the key may not use this model",
    404: "there is no such address or model",
}
PROXIES = "; see HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and SSL_CERT_FILE in the environment"


@dataclass(slots=True)
class Endpoint:
    """A server that is sent JSON: its address, and the variable that holds its key."""

    url: str
    variable: str | None
    secret: "Secret"
    pause: Callable[[float], None] = field(default=time.sleep, repr=False)

    def send(self, body: Any, seconds: float, attempts: int, accepted: Sequence[int] = ()) -> tuple[int, bytes]:
        """The status and content of an answer with status 200 or an accepted one, within these seconds. What may pass by itself
        is tried again. A timeout of the connection starts again with each byte, and a name that is looked up has none: so
        another thread waits for the server, and is left behind when the time is up."""
        import httpx2

        key = re.sub("\r?\n$", "", self.secret(self.variable) or "") if self.variable else None
        if key == "":
            raise ChatFailed("refused", f"its key is missing: set the environment variable {self.variable}")
        if key and not re.fullmatch("[!-~]+", key):
            raise ChatFailed("refused", f"{self.variable} holds no key: it has blanks, line ends or no ASCII")
        until, pause = time.monotonic() + seconds, FIRST_PAUSE
        while True:
            wait = 0.0
            try:
                answer = apart(partial(self._ask, key, body, until), "memorist-request")
                status, content, wait = answer.result(until - time.monotonic())
                if status == 200 or status in accepted:
                    return status, content
                hint = f"set {self.variable} to a valid key" if self.variable else "name its variable by &key=VARIABLE"
                failed = ChatFailed("transport_error", REASONS.get(status, f"it answered with status {status}"))
                if status in (401, 403):
                    failed = ChatFailed("refused", f"{REASONS[status]}; {hint}")
                attempts = attempts if status == 429 or status >= 500 else 1
            except ChatFailed:
                raise
            except (TimeoutError, httpx2.TimeoutException):
                failed = ChatFailed("timeout", "it did not answer in time")
            except Exception as problem:
                hint = "" if isinstance(problem, httpx2.HTTPError) else PROXIES  # no connection could be set up
                failed = ChatFailed("transport_error", f"it cannot be reached ({type(problem).__name__}){hint}")
            wait, attempts = max(wait, pause * random.uniform(0.5, 1)), attempts - 1
            if not attempts or time.monotonic() + wait > until:
                raise failed
            self.pause(wait)
            pause *= 2

    def _ask(self, key: str | None, body: Any, until: float) -> tuple[int, bytes, float]:
        """The status and content of one answer, and the seconds that it asks to wait."""
        import httpx2

        content, split, headers = bytearray(), urlsplit(self.url), {"Authorization": f"Bearer {key}"} if key else {}
        proxied, left = split.scheme == "https" or split.hostname not in HERE, max(0.001, until - time.monotonic())
        with (
            httpx2.Client(headers=headers, timeout=left, trust_env=proxied) as client,
            client.stream("POST", self.url, json=body, follow_redirects=False) as response,
        ):
            for block in response.iter_bytes() if response.status_code == 200 else ():
                content += block
                if len(content) > LARGEST_ANSWER:
                    raise ChatFailed("unparseable", "its answer does not end")
                if time.monotonic() > until:
                    raise TimeoutError
            wait = response.headers.get("retry-after", "")  # for a date or nonsense, our own pause applies
            return response.status_code, bytes(content), float(wait) if re.fullmatch("[0-9]{1,4}", wait) else 0.0


def read_address(address: str, what: str, secret: "Secret", numbers: Sequence[str]) -> tuple[Endpoint, dict[str, str]]:
    """A server, and the parameters of its address: `model`, `key` and these whole numbers. Error messages never quote the
    address, since it may contain a key."""
    try:
        split = urlsplit(address)
        named = dict(parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query)))
        host, _ = split.hostname, split.port
    except ValueError as problem:
        raise Invalid(f"the address of {what} cannot be read; write https://HOST/PATH?model=NAME") from problem
    if not host or split.username or split.password or split.fragment:
        raise Invalid(f"the address of {what} has a host, no user, password or fragment; name a key by key=VARIABLE")
    if not named.get("model") or not set(named) <= {"model", "key", *numbers}:
        raise Invalid(f"the address of {what} needs ?model=NAME; it may also have {', '.join(('key', *numbers))}")
    if "key" in named and not re.fullmatch("[A-Z][A-Z0-9_]{0,99}", named["key"]):
        raise Invalid("key= names the environment variable that holds the key, such as OPENAI_API_KEY; not the key")
    if "key" in named and split.scheme == "http" and host not in HERE:
        raise Invalid("a key is not sent over http:// to another machine; use https://")
    for part in named.keys() & set(numbers):
        if not re.fullmatch("[1-9][0-9]{0,9}", named[part], re.ASCII):
            raise Invalid(f"{part}= must be a whole number from 1 on, not {quoted(named[part])}")
    return Endpoint(f"{split.scheme}://{split.netloc}{split.path}", named.get("key"), secret), named


@dataclass(slots=True)
class RemoteEmbedder:
    """`memorist.models.embed.Embedder` over HTTP."""

    server: Endpoint
    model: str
    size: int | None
    cheap: bool = False

    @classmethod
    def at(cls, address: str, secret: "Secret") -> "RemoteEmbedder":
        """The embedder at that address."""
        server, named = read_address(address, "an embedder", secret, ["dimensions"])
        return cls(server, named["model"], int(named.get("dimensions", 0)) or None)

    @property
    def name(self) -> str:
        return f"remote:{self.model}{f':{self.size}' if self.size else ''}@{self.server.url}"

    @property
    def dimension(self) -> int:
        return self.size or int(self.embed(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str]) -> "Floats":
        import numpy

        rows = list[Any]()
        try:
            for start in range(0, len(texts), AT_ONCE):
                batch = list(texts[start : start + AT_ONCE])
                size = {"dimensions": self.size} if self.size else {}
                body = {"model": self.model, "input": batch, "encoding_format": "float", **size}
                limits = (SECONDS, ATTEMPTS) if len(batch) > 1 else (SECONDS_FOR_ONE, 1)
                data = json.loads(self.server.send(body, *limits)[1])["data"]
                vectors = {int(each["index"]): each["embedding"] for each in data}
                if sorted(vectors) != list(range(len(batch))):
                    raise ValueError
                rows += [vectors[place] for place in range(len(batch))]
            with numpy.errstate(over="ignore"):  # what is too large for a float is refused when it is checked
                return numpy.asarray(rows, numpy.float64).astype(numpy.float32).reshape(len(texts), -1)
        except ChatFailed as problem:
            because = str(problem)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            because = "its answer is not what /embeddings answers: a vector of numbers for each text"
        raise ModelUnavailable(f"the embedder at {quoted(self.server.url)} cannot be used: {because}")


# Servers differ in how they guarantee JSON. The best way is tried first: a schema, then JSON of any form, then words alone; a
# way that the server refuses is not tried again.
COMPLETIONS = "/chat/completions"
LADDER = ("json_schema", "json_object", "prompt")
NOT_THIS_WAY = (400, 415, 422, 501)  # how servers respond to a form of JSON that they do not know
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
        server, named = read_address(address, "a chat model", secret, ("calls", "tokens", "seconds"))
        server.url = server.url.rstrip("/").removesuffix(COMPLETIONS) + COMPLETIONS
        limits = ChatLimits(**{part: int(named[part]) for part in ("calls", "tokens", "seconds") if part in named})
        return cls(server, named["model"], limits)

    @property
    def name(self) -> str:
        return f"{self.model}@{self.server.url.removesuffix(COMPLETIONS)}"

    def answer(self, prompt: ChatPrompt, seconds: float) -> ChatReply:
        until = time.monotonic() + seconds
        try:
            for way, form in enumerate(LADDER[self.way :], self.way):
                accepted = () if form == LADDER[-1] else NOT_THIS_WAY
                body, left = self._body(prompt, form), until - time.monotonic()
                status, content = self.server.send(body, left, CHAT_ATTEMPTS, accepted)
                if status == 200:
                    reply = _read(content)
                    with suppress(ValueError, RecursionError):
                        parsed(reply.text)
                        self.way = way
                        break
        except ChatFailed as problem:
            because = f"the chat model at {quoted(self.server.url)} cannot be used: {problem}"
            raise ChatFailed(problem.outcome, because) from problem
        return reply

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


def _read(content: bytes) -> ChatReply:
    """The answer of a model; one that was cut at its maximal length does not count."""
    try:
        answer = json.loads(content)
        choice, usage = answer["choices"][0], answer.get("usage") or {}
        text, tokens = choice["message"]["content"], usage.get("total_tokens")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        raise ChatFailed("unparseable", "its answer is not what /chat/completions answers") from problem
    if choice.get("finish_reason") == "length":
        raise ChatFailed("truncated", "its answer was cut at its maximal length")
    if not isinstance(text, str):
        raise ChatFailed("unparseable", "its answer has no text")
    return ChatReply(text, tokens if isinstance(tokens, int) else None)
