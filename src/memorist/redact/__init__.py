"""Takes secrets out of text before it is stored.

A memory outlives the chat it came from, is searched by other agents and lands in prompts, so keys must not get in.

    formats.py   keys and tokens that have a shape of their own, or a fixed phrase around them
    named.py     values that are secret because of their name: passwords, keys in settings, command lines
    hidden.py    the same, hidden: invisible characters, other letters, escapes, base64, line breaks, glued to words
    own.py       rules that a user added
    scan.py      all formats in one linear pass

A secret becomes `[secret:<type>:<4 hex>]`; the digits come from a keyed hash, so equal secrets keep equal marks within
one store and the mark reveals nothing about the value. A secret without any recognisable form is not found: a password
in prose that does not announce it, or a key that is encrypted, split over two memories or spelled in words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from memorist.records import Record
from memorist.redact.formats import BEGINNINGS
from memorist.redact.hidden import encoded, hidden_in, unbroken, without_blanks
from memorist.redact.named import KEY, PASSWORD, named_in
from memorist.redact.own import NO_RULES, Own
from memorist.redact.scan import PLACE, Found, blanked, everywhere, formats_in, in_characters
from memorist.text.patterns import regex
from memorist.text.visible import is_blank

PLAIN_AT_MOST = 20_000  # characters: to look through more for what rules want takes longer than to build them
PASSES = 5  # a mark may uncover what stood glued to a secret; more often than this it is a game
MARK = regex(r"\[secret:[a-z0-9-]+:[0-9a-f]{4}\]")
_TELLING = regex(
    r"://|(?i:pass|pwd|pw|secret|token|key|credential|auth|bearer|identified|contrase|(?:\s|^)-[upaw-])"  # names, and options
    r"|(?i:mailgun|discord|cloudflare|heroku|facebook|fb[_-]?app|dropbox)|hooks\.slack|webhook|sig="
    r"|ABSK|SK|-us[0-9]|EAA|:A|Q~|\.atlasv1\.|dp\.|A3-|LTAI|API-|rnd_|\.ey|T3BlbkFJ"  # in keys that `BEGINNINGS` has not
    r"|s\.[A-Za-z0-9]{24}|[\w-]{20}\.[\w-]{6}\.|pat[A-Za-z0-9]{14}\.|sl\.(?:u\.)?[\w-]{99}"
    r"|[^\x00-\x7f]|%[0-9A-Fa-f]{2}|\\[ux]|&#|=(?:[\r\n2]|3D|5F)"  # letters in disguise
)


def too_plain(text: str) -> bool:
    """Whether no rule can fit, told without building them, which takes tens of milliseconds: each wants something of this."""
    if len(text) > PLAIN_AT_MOST:
        return False
    whole = unbroken(text)
    joined = without_blanks(whole)
    return not (
        any(_TELLING.search(each) for each in {text, whole})
        or any(beginning in joined for beginning in BEGINNINGS)
        or any(encoded(text, lambda plain: [("text", 0, len(plain))]))
    )


class Secret(NamedTuple):
    """The position of a secret, in characters, and its type."""

    type: str
    start: int
    end: int


class Redactor:
    """Replaces secrets by marks that are the same for the same secret under the same key.

    >>> Redactor(b"key").redact("redis://app:s3cr3t-hunter@cache:6379")
    'redis://app:[secret:url-password:afca]@cache:6379'
    """

    def __init__(self, key: bytes, own: Own = NO_RULES) -> None:
        self._hash = blake2b(key=key, digest_size=2)
        self._own = own
        self._clean = ""  # the last text without any: a question is looked at before it is embedded, and for the log

    def redact(self, text: str, lines: bool = False) -> str:
        """With `lines`, the text has as many lines as before: behind its mark, a secret of several lines leaves empty ones."""
        for _ in range(PASSES):
            found = self._found(text)
            again = any(_touches(text, secret) for secret, _ in found)
            text = self._marked(text, found, lines)
            if not again:
                break
        return text

    def find(self, text: str) -> list[Secret]:
        """Every secret in the text, in order, without overlap."""
        return [secret for secret, _ in self._found(text)]

    def _found(self, text: str) -> list[tuple[Secret, str]]:
        """The secrets, each with its type once it is uncovered."""
        if not text or text == self._clean:
            return []
        found = self._looked_for(text)
        if not found:
            self._clean = text
        return found

    def _looked_for(self, text: str) -> list[tuple[Secret, str]]:
        if not everywhere.cache_info().currsize and not self._own.rules and too_plain(text):
            return []  # the expressions are not built yet, and need not be for this
        spans = list(in_characters(text, self._plainly(text)))
        found = [(Secret(*span), text[span[1] : span[2]]) for span in spans]
        in_view = len(found)
        found += self._hidden(MARK.sub(_nothing, blanked(text, spans, "\0")))
        if self._own.allowed:
            found = [each for each in found if not self._own.allows(each[1])]
        return sorted(found, key=lambda each: each[0].start) if len(found) > in_view else found

    def _hidden(self, rest: str) -> Iterator[tuple[Secret, str]]:
        """Disguised secrets in the rest of a text."""
        last = 0
        hidden = hidden_in(rest, self._in_view, _shapes)
        for type, start, end, said in sorted(hidden, key=lambda each: (each[1], -each[2])):
            if start >= last and "\0" not in rest[start:end]:
                yield Secret(type, start, end), said
                last = end

    def _plainly(self, text: str) -> list[Found]:
        """Undisguised secrets: found by shape, by the name before them, or by a rule of the user's."""
        data = text.encode("utf-8", "surrogatepass")
        found = formats_in(data)
        rest = blanked(data, found, b"\0")
        if b"[secret:" in rest:
            rest = _MARK_BYTES.sub(lambda mark: b"\0" * len(mark[0]), rest)
        found += named_in(rest)
        if self._own.rules:
            found += self._own.found(blanked(rest, found, b"\0"))
        return sorted(found, key=PLACE)

    def _in_view(self, text: str) -> list[Found]:
        return list(in_characters(text, self._plainly(text)))

    def _marked(self, text: str, found: list[tuple[Secret, str]], lines: bool) -> str:
        pieces, at, digests = [], 0, dict[str, str]()
        for secret, said in found:
            digest = digests.get(said) or digests.setdefault(said, self._digest(said))
            left = "\n" * text.count("\n", secret.start, secret.end) if lines else ""
            pieces += [text[at : secret.start], f"[secret:{secret.type}:{digest}]{left}"]
            at = secret.end
        return "".join([*pieces, text[at:]])

    def _digest(self, secret: str) -> str:
        digest = self._hash.copy()
        digest.update(secret.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _shapes(text: str) -> list[Found]:
    return list(in_characters(text, formats_in(text.encode("utf-8", "surrogatepass"))))


def _touches(text: str, secret: Secret) -> bool:
    """Whether other text stands so close that the mark may uncover another secret. A named value begins where its name
    ends."""
    type, start, end = secret
    if _is_close(text[end : end + 1]):
        return True
    return type not in (KEY, PASSWORD) and start > 0 and _is_close(text[start - 1])


def _is_close(beside: str) -> bool:
    return beside.isalnum() or (beside != "" and beside in "_=+/.~%-")


_MARK_BYTES = re.compile(rb"\[secret:[a-z0-9-]+:[0-9a-f]{4}\]")


def _nothing(found: re.Match[str]) -> str:
    return "\0" * len(found[0])


def nothing_but_marks(text: str) -> bool:
    """Whether a redacted text has nothing left to remember."""
    return "[secret:" in text and is_blank(MARK.sub("", text))


def replaced(given: Iterable[str], kept: Iterable[str]) -> str | None:
    """The message to somebody whose text was stored without its secrets; None if there were none."""
    count = sum(len(MARK.findall(text)) for text in kept if "[secret:" in text)
    if count:
        count -= sum(len(MARK.findall(text)) for text in given if "[secret:" in text)
    if count <= 0:
        return None
    what = "1 secret was replaced by a mark" if count == 1 else f"{count:,} secrets were replaced by marks"
    return f"{what}; store a reference to where {'it is' if count == 1 else 'they are'} kept instead"


# ---------------------------------------------------------------- every text of a record


def texts_of(record: Record) -> Iterator[str]:
    """Every text in the record that may come from a caller."""
    said = record.provenance
    yield record.text
    yield from record.tags
    yield from record.files
    yield from strings_in(record.data)
    for text in (
        record.title, record.reason, record.season, said.actor, said.surface, said.session, said.role, said.speaker,
        said.agent, said.task, said.narrative, said.snippet, said.confidence_because,
    ):  # fmt: skip
        if text:
            yield text


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from strings_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings_in(each)
