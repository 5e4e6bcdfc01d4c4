"""Vectors from a server with OpenAI's `/embeddings`: a local one, or one that requires a key.

The address is one line: `https://HOST/v1/embeddings?model=NAME&key=VARIABLE`. `key` *names* the environment variable that
holds the key; the key itself is read when it is sent, and appears in no setting, store, log or message. Texts are redacted
before they are sent. Requests are batched and retried while that can help; redirects are not followed. A proxy named by the
environment is used for other machines, never for this one over http://: it would read texts and key.
"""

import json
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from memorist.errors import Invalid, ModelUnavailable
from memorist.models.embed import apart
from memorist.text.visible import quoted

Answer = tuple[int, bytes, float]  # status, content, and how many seconds it asks to wait

if TYPE_CHECKING:
    import httpx2

    from memorist.models.embed import Floats, Secret

AT_ONCE = 64  # texts in one request
SECONDS = 20.0  # for one answer
DEADLINE = 30.0  # for one request and its retries
SECONDS_FOR_ONE = 4.0  # a single text is a query, whose answer a person waits for: no retries
LARGEST_ANSWER = 64 * 1024 * 1024
FIRST_PAUSE = 0.3
PARTS = ("model", "key", "dimensions")
HERE = ("localhost", "127.0.0.1", "::1")
VARIABLE = re.compile("[A-Z][A-Z0-9_]{0,99}")
KEY = re.compile("[!-~]+")  # what a header can contain
WAYS = {
    401: "the key was not accepted",
    403: "the key may not use this model",
    404: "there is no such address or model",
}


@dataclass(slots=True)
class RemoteEmbedder:
    """`memorist.models.embed.Embedder` over HTTP."""

    url: str
    model: str
    variable: str | None
    dimensions: int | None
    secret: "Secret"
    cheap: bool = False
    _seen: int | None = field(default=None, repr=False)
    _pause: Callable[[float], None] = field(default=time.sleep, repr=False)

    @classmethod
    def at(cls, address: str, secret: "Secret") -> "RemoteEmbedder":
        """The embedder at that address."""
        split, named = read_address(address, "an embedder", "https://HOST/…/embeddings?model=NAME", PARTS)
        size = named.get("dimensions")
        if size is not None and not re.fullmatch("[1-9][0-9]{0,3}", size, re.ASCII):
            raise Invalid(f"dimensions= must be a number from 1 to 9999, not {quoted(size)}")
        url = f"{split.scheme}://{split.netloc}{split.path}"
        return cls(url, named["model"], named.get("key"), int(size) if size else None, secret)

    @property
    def name(self) -> str:
        size = f":{self.dimensions}" if self.dimensions else ""
        return f"remote:{self.model}{size}@{self.url}"

    @property
    def dimension(self) -> int:
        """The requested dimension, or what the server returns, which is asked once."""
        if self._seen is None:
            self.embed(["dimension"])
        assert self._seen is not None
        return self._seen

    def embed(self, texts: Sequence[str]) -> "Floats":
        import numpy

        rows: list[Any] = []
        with self._client(SECONDS if len(texts) > 1 else SECONDS_FOR_ONE) as client:
            for start in range(0, len(texts), AT_ONCE):
                rows += self._batch(client, texts[start : start + AT_ONCE])
        try:
            table = numpy.asarray(rows, dtype=numpy.float64).reshape(len(texts), -1)
        except (TypeError, ValueError, OverflowError) as problem:
            raise self._unusable("its vectors are not numbers, or have different lengths") from problem
        if not table.size or not numpy.isfinite(table).all():
            raise self._unusable("its vectors are empty, or hold values that are not numbers")
        size = self._seen or self.dimensions or table.shape[1]
        if table.shape[1] != size:
            raise self._unusable(f"its vectors have dimension {table.shape[1]:,}, not {size:,}")
        self._seen = size
        with numpy.errstate(over="ignore"):
            return table.astype(numpy.float32)

    def _client(self, seconds: float) -> "httpx2.Client":
        try:
            return client_for(self.url, self.variable, self.secret, seconds)
        except ValueError as problem:
            raise self._unusable(str(problem)) from problem.__cause__

    def _batch(self, client: "httpx2.Client", texts: Sequence[str]) -> list[Any]:
        """The vectors of a few texts, in the given order whatever order they arrive in."""
        asked = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        content = self._sent(client, asked | ({"dimensions": self.dimensions} if self.dimensions else {}))
        try:
            told = json.loads(content)
        except (ValueError, RecursionError) as problem:
            raise self._unusable("its answer is not JSON") from problem
        try:
            by_index = {int(each["index"]): each["embedding"] for each in told["data"]}
            if len(told["data"]) != len(texts):
                count = len(told["data"])
                raise self._unusable(f"its answer has {count:,} vectors, which is not one for each text")
            return [by_index[place] for place in range(len(texts))]
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise self._unusable("its answer is not what /embeddings answers") from problem

    def _sent(self, client: "httpx2.Client", body: Any) -> bytes:
        """The answer to one request. What may pass by itself is tried again until the time is up."""
        import httpx2

        until, pause = time.monotonic() + (DEADLINE if len(body["input"]) > 1 else 0), FIRST_PAUSE
        while True:
            asked_to_wait = 0.0
            try:
                status, content, asked_to_wait = self._answer(client, body)
                if status == 200:
                    return content
                because = WAYS.get(status, f"it answered with status {status}")
                if status != 429 and status < 500:
                    raise self._unusable(because)
            except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as problem:
                because = f"it cannot be reached ({type(problem).__name__})"
            wait = max(asked_to_wait, pause * random.uniform(0.5, 1))
            if time.monotonic() + wait > until:
                raise self._unusable(because)
            self._pause(wait)
            pause *= 2

    def _answer(self, client: "httpx2.Client", body: Any) -> "Answer":
        """One answer, within the seconds of the client. Its own timeout starts again with each byte, and a name that is
        looked up has none: so another thread waits for the server, and is left behind when the time is up."""
        seconds = SECONDS if len(body["input"]) > 1 else SECONDS_FOR_ONE
        until = time.monotonic() + seconds
        try:
            return apart(lambda: fetched(client, self.url, body, until), "memorist-embeddings").result(seconds)
        except ValueError as problem:
            raise self._unusable(str(problem)) from problem

    def _unusable(self, because: str) -> ModelUnavailable:
        return ModelUnavailable(f"the embedder at {quoted(self.url)} cannot be used: {because}")


# ---------------------------------------------------------------- what every server is asked by


class NoKey(ValueError):
    """The variable that should hold a key holds none."""


def client_for(url: str, variable: str | None, secret: "Secret", seconds: float) -> "httpx2.Client":
    """A connection with the key of that variable. A ValueError says why there is none, and never shows a key."""
    import httpx2

    headers = {"Authorization": f"Bearer {_key(variable, secret)}"} if variable else {}
    split = urlsplit(url)
    proxied = split.scheme == "https" or split.hostname not in HERE
    try:
        return httpx2.Client(headers=headers, timeout=seconds, follow_redirects=False, trust_env=proxied)
    except Exception as problem:
        raise ValueError(
            f"no connection can be set up ({type(problem).__name__}); see HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and "
            "SSL_CERT_FILE in the environment"
        ) from problem


def _key(variable: str, secret: "Secret") -> str:
    """The key, fit for a header."""
    key = re.sub("\r?\n$", "", secret(variable) or "")
    if not key:
        raise NoKey(f"its key is missing: set the environment variable {variable}")
    if not KEY.fullmatch(key):
        raise NoKey(f"what {variable} holds cannot be a key: it has blanks, line ends or no ASCII")
    return key


def fetched(client: "httpx2.Client", url: str, body: Any, until: float) -> "Answer":
    """One answer; raises ValueError if it does not end, TimeoutError if it comes too slowly."""
    content = bytearray()
    with client.stream("POST", url, json=body) as response:
        for block in response.iter_bytes() if response.status_code == 200 else ():
            content += block
            if len(content) > LARGEST_ANSWER:
                raise ValueError("its answer does not end")
            if time.monotonic() > until:
                raise TimeoutError
        asks = response.headers.get("retry-after", "")  # for a date or nonsense, our own pause applies
        wait = float(asks) if re.fullmatch("[0-9]{1,4}", asks, re.ASCII) else 0.0
        return response.status_code, bytes(content), wait


def read_address(address: str, what: str, usual: str, parts: Sequence[str]) -> tuple[SplitResult, dict[str, str]]:
    """The parts of a server's address, and its parameters, which must be among `parts`. Error messages never quote it
    completely, since it may contain a key. A key is named, never written out, and is sent only where nobody can read it on the
    way."""
    try:
        split = urlsplit(address)
        named = dict(parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query)))
        host, _ = split.hostname, split.port
    except ValueError as problem:
        raise Invalid(f"the address of the {what.partition(' ')[2]} cannot be read; write {usual}") from problem
    if not host or split.username or split.password or split.fragment:
        told = "has a host, and no user, password or fragment; name a key by key=VARIABLE"
        raise Invalid(f"the address of {what} {told}")
    if not named.get("model") or not set(named) <= set(parts):
        raise Invalid(f"the address of {what} needs ?model=NAME; after the ? it may have {', '.join(parts)}")
    if "key" in named and not VARIABLE.fullmatch(named["key"]):
        raise Invalid("key= names the environment variable that holds the key, such as OPENAI_API_KEY; not the key")
    if "key" in named and split.scheme == "http" and host not in HERE:
        raise Invalid("a key is not sent over http:// to another machine; use https://")
    return split, named
