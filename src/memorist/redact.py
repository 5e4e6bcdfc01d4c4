"""Take secrets out of text before it is stored.

A memory outlives the chat it came from, is searched by other agents and lands in prompts, so keys must not get in. This
is the first, honest rule set: formats that can be recognised by their shape (prefixes, private key blocks, passwords in
URLs, authorisation headers). There is no rule that flags text merely for looking random: hashes and ids look random
too. Split or encoded keys and `password = ...` in plain words pass; say so wherever this is advertised.

All rules are one RE2 expression, so clean text, the usual case, costs one linear scan over its bytes. The expression
reads UTF-8 byte by byte; every secret starts and ends next to an ASCII character, hence byte offsets turn into
character offsets without rounding. A secret becomes `[secret:<type>:<4 hex>]`; the digits come from a keyed hash, so
equal secrets keep equal marks within one store and the mark tells nothing about the value.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

from memorist.records import Record
from memorist.text.patterns import regex
from memorist.text.visible import is_blank

_PLACEHOLDER = regex(
    r"example|placeholder|xxxx|\*{3}|\.{3}|…|your[_-]|(.)\1{7}|0123456789|1234567890|abcdefghij", re.IGNORECASE
)
_PASSWORD_PLACEHOLDER = regex(
    r"(?-i:\$[A-Z_][A-Z0-9_]*)$|\$[({][^)}]*[)}]$|\{[^}]*\}+$|%[sd]$|%\(\w+\)s$|%\w+%$|x{3,}$|change_?me$|redacted$"
    r"|\$?(?:[a-z]+[_-])*(?:my|your)?(?:password|passwd|pass|pwd|pw|secret|token)$"
    r"|\[secret:[a-z0-9-]+:[0-9a-f]{4}\]$",
    re.IGNORECASE,
)
SHORTEST_SECRET = 16  # characters in a row, without blanks
_KEY_BODY = regex(r"[A-Za-z0-9+/=]{16}")
_OPAQUE = regex(r"[A-Za-z0-9]{10}")


def _genuine(secret: str) -> bool:
    return _PLACEHOLDER.search(secret) is None


def _mixed(secret: str) -> bool:
    """Letters of both cases and digits: for prefixes too short to be believed alone."""
    kinds = (any(map(str.isupper, secret)), any(map(str.islower, secret)), any(map(str.isdigit, secret)))
    return all(kinds) and _genuine(secret)


def _numbered(secret: str) -> bool:
    return any(map(str.isdigit, secret)) and _genuine(secret)


def _opaque(secret: str) -> bool:
    """Not a hyphenated phrase: one long stretch holds letters and digits."""
    return any(not s.isalpha() and not s.isdigit() for s in _OPAQUE.findall(secret)) and _genuine(secret)


def _password(secret: str) -> bool:
    return _PASSWORD_PLACEHOLDER.match(secret) is None and _genuine(secret)


def _basic(secret: str) -> bool:
    """Basic credentials are base64 of user:password; anything else after the word Basic is prose."""
    try:
        return b":" in base64.b64decode(secret + "=" * (-len(secret) % 4), validate=True)
    except ValueError:
        return False


def _key_block(secret: str) -> bool:
    """Prose may quote a BEGIN line; a key has a body."""
    return _KEY_BODY.search(secret.partition("KEY")[2]) is not None


@dataclass(frozen=True, slots=True)
class Rule:
    """One format. The pattern's group, or all of it, is the secret; `holds` turns placeholders and lookalikes away."""

    type: str
    pattern: str
    holds: Callable[[str], bool] = _genuine


# `\b`, an underscore, an escape inside JSON, a percent escape inside a URL: all may stand before a key.
_LEFT = r"(?:\b|_|\\[nrt]|%[0-9A-Fa-f]{2})"
_RIGHT = r"(?:[^A-Za-z0-9]|\z)"
_A, _W, _H = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9A-Fa-f]"

# Known by their prefix or shape, wherever they stand.
_TOKENS = (
    Rule("aws-key-id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    Rule("aws-bedrock-key", r"ABSK[A-Za-z0-9+/]{109,}={0,2}"),
    Rule("github-token", rf"gh[oprsu]_{_A}{{36,}}"),
    Rule("github-pat", r"github_pat_\w{82,}"),
    Rule("gitlab-token", rf"gl(?:pat|rt|dt|ptt|ft|cbt|soat|agent)-{_W}{{20,}}(?:\.{_W}{{2}}\.{_W}{{7,}})?"),
    Rule("slack-token", r"xox[abeoprs](?:\.xox[bp])?-[0-9]{1,14}-[A-Za-z0-9-]{18,}"),
    Rule("slack-app-token", r"xapp-[0-9]-[A-Z0-9]+-[0-9]+-[A-Za-z0-9]{20,}"),
    Rule("stripe-key", rf"[sr]k_(?:live|test|prod)_{_A}{{10,}}"),
    Rule("anthropic-key", rf"sk-ant-[a-z]{{3,8}}[0-9]{{2}}-{_W}{{40,}}"),
    Rule("openai-key", rf"sk-(?:(?:proj|svcacct|admin)-)?{_W}{{20,}}T3BlbkFJ{_W}{{20,}}"),
    Rule("openrouter-key", rf"sk-or-v1-{_H}{{64}}"),
    Rule("sk-key", rf"sk-{_A}{{32,64}}", _numbered),
    Rule("google-api-key", rf"AIza{_W}{{35}}"),
    Rule("google-oauth-secret", rf"GOCSPX-{_W}{{28}}"),
    Rule("npm-token", rf"npm_{_A}{{36}}"),
    Rule("pypi-token", rf"pypi-AgE{_W}{{60,}}"),
    Rule("rubygems-key", rf"rubygems_{_H}{{48}}"),
    Rule("twilio-key", rf"SK{_H}{{32}}"),
    Rule("sendgrid-key", rf"SG\.{_W}{{22}}\.{_W}{{43}}"),
    Rule("mailchimp-key", rf"{_H}{{32}}-us[0-9]{{1,2}}"),
    Rule("huggingface-token", rf"(?:hf|api_org)_{_A}{{34,}}"),
    Rule("databricks-token", rf"dapi{_H}{{32}}(?:-[0-9])?"),
    Rule("digitalocean-token", rf"do[opr]_v1_{_H}{{64}}"),
    Rule("shopify-token", rf"shp(?:at|ca|pa|ss)_{_H}{{32}}"),
    Rule("square-token", rf"sq0(?:atp|csp|idp)-{_W}{{22,}}"),
    Rule("square-access-token", rf"EAAA{_W}{{22,60}}", _mixed),
    Rule("telegram-token", rf"[0-9]{{5,16}}:A{_W}{{34}}"),
    Rule("azure-ad-secret", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    Rule("jwt", rf"ey{_W}{{17,}}\.ey{_W}{{17,}}\.{_W}{{10,}}"),
    Rule("age-key", r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Zac-hj-np-z]{58}"),
    Rule("vault-token", rf"hv[bsr]\.{_W}{{90,}}"),
    Rule("vault-legacy-token", rf"s\.{_A}{{24}}", _mixed),
    Rule("terraform-token", rf"{_A}{{14}}\.atlasv1\.{_W}{{60,}}"),
    Rule("doppler-token", rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_A}{{40,}}"),
    Rule("linear-key", rf"lin_api_{_A}{{40}}"),
    Rule("notion-token", rf"ntn_[0-9]{{11}}{_A}{{35}}"),
    Rule("postman-key", rf"PMAK-{_H}{{24}}-{_H}{{34}}"),
    Rule("new-relic-key", rf"NRAK-{_A}{{27}}"),
    Rule("grafana-token", rf"glsa_{_A}{{32}}_{_H}{{8}}|glc_[A-Za-z0-9+/]{{32,}}={{0,2}}"),
    Rule("sentry-token", rf"sntryu_{_H}{{64}}|sntrys_eyJ[A-Za-z0-9+/=_-]{{40,}}"),
    Rule("fly-token", rf"fo1_{_W}{{43}}|fm(?:1[ar]|2)_[A-Za-z0-9+/=_,-]{{100,}}"),
    Rule("atlassian-token", r"ATATT3[A-Za-z0-9_=-]{100,}"),
    Rule("perplexity-key", rf"pplx-{_A}{{48}}"),
    Rule("onepassword-token", r"ops_eyJ[A-Za-z0-9+/=_-]{100,}"),
    Rule("onepassword-key", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    Rule("airtable-token", rf"pat{_A}{{14}}\.{_H}{{64}}"),
    Rule("heroku-key", rf"HRKU-AA{_W}{{58}}"),
    Rule("alibaba-key-id", rf"LTAI{_A}{{20}}", _numbered),
    Rule("artifactory-key", rf"AKCp{_A}{{69}}"),
    Rule("planetscale-token", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{31,}[A-Za-z0-9_=]"),
    Rule("pulumi-token", rf"pul-{_H}{{40}}"),
    Rule("prefect-key", rf"pn[ub]_{_A}{{36}}"),
    Rule("dynatrace-token", rf"dt0[a-z][0-9]{{2}}\.{_A}{{24}}\.{_A}{{64}}"),
    Rule("octopus-key", r"API-[A-Z0-9]{26}", _numbered),
    Rule("openshift-token", rf"sha256~{_W}{{43}}"),
)


def _assigned(names: str, value: str) -> str:
    """A value that is a secret only because of the name it is given to."""
    return rf"(?i:{names})[\w .-]{{0,30}}[\"']?\s*[:=]\s*[\"']?({value}){_RIGHT}"


# The lines of a private key block: base64 of some length. Shorter ones count only before END or where the text is cut.
_BETWEEN = r"(?:[\s>|#*\"'+,;\\]|\\[nrt])*"
_BASE64 = "[A-Za-z0-9+/=]"
_KEY_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Subject): [^\n\\]{0,200}"
_KEY_END = r"-{4,5} ?END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}"

# Known by what stands around them; only the secret itself is replaced.
_IN_CONTEXT = (
    Rule(
        "private-key",
        rf"-{{4,5}} ?BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{{4,5}}"
        rf"(?:{_BETWEEN}(?:{_KEY_HEADER}|{_BASE64}{{16,}}))*"
        rf"(?:(?:{_BETWEEN}{_BASE64}{{1,64}}){{0,2}}{_BETWEEN}(?:{_KEY_END}|\.\.\.|\z))?",
        _key_block,
    ),
    Rule("url-password", r"://[^\s:/@?#\"'<>`]*:([^\s/?#\"'<>`]+)@[A-Za-z0-9_\[$<{]", _password),
    Rule("basic-auth", rf"(?i:authorization)[\"']?\s*[:=]\s*[\"']?(?i:basic)\s+({_BASE64}{{4,}})", _basic),
    Rule(
        "bearer-token",
        r"(?:(?i:bearer)|(?i:authorization)[\"']?\s*[:=]\s*[\"']?(?i:token|api-?key))\s+"
        r"([A-Za-z0-9._~+/=-]{19,}[A-Za-z0-9_~+/=-])",
        _opaque,
    ),
    Rule("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{40,})"),
    Rule("azure-key", r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43,}={1,2})"),
    Rule("aws-secret", _assigned(r"aws[\w .-]{0,20}secret|secret[_ -]?access[_ -]?key", "[A-Za-z0-9/+]{40}"), _mixed),
    Rule("mailgun-key", _assigned("mailgun", rf"key-{_H}{{32}}")),
    Rule("discord-secret", _assigned("discord", rf"{_H}{{64}}")),
    Rule("cloudflare-token", _assigned("cloudflare", f"{_W}{{40}}"), _mixed),
    Rule("heroku-key", _assigned("heroku", rf"{_H}{{8}}(?:-{_H}{{4}}){{3}}-{_H}{{12}}")),
)

RULES = tuple(Rule(rule.type, f"{_LEFT}({rule.pattern}){_RIGHT}", rule.holds) for rule in _TOKENS) + _IN_CONTEXT


class _Scan:
    """All rules as one expression that only says where, and each rule alone to say which and what.

    Asking the one expression for its groups as well more than doubles the price of a clean text (2 to 5 us). The others are
    built when there is something to tell: a program that only asks a question would wait longer for them than for its answer.
    """

    def __init__(self) -> None:
        import re2  # type: ignore[import-untyped]  # loaded where a text needs it: most questions do not

        options = _options()
        options.never_capture = True
        options.max_mem = 64 << 20  # the default is outgrown by some texts, and RE2 then falls back to a slow matcher
        tokens = "|".join(f"(?:{rule.pattern})" for rule in _TOKENS)
        context = "|".join(rule.pattern for rule in _IN_CONTEXT)
        self._any = re2.compile(f"{_LEFT}(?:{tokens}){_RIGHT}|{context}".encode(), options)

    @cached_property
    def _each(self) -> list[Any]:
        import re2

        return [re2.compile(rule.pattern.encode(), _options()) for rule in RULES]

    @cached_property
    def _which(self) -> Any:
        import re2

        which = re2.Set.MatchSet(_options())
        for rule in RULES:
            which.Add(rule.pattern.encode())
        which.Compile()
        return which

    def next(self, data: bytes, at: int) -> tuple[Rule, int, int] | None:
        """The next candidate from a place on: its rule and where the secret starts and ends."""
        match = self._any.search(data, at)
        if match is None:
            return None
        which = min(self._which.Match(data[match.start() : match.end()]))
        alone = self._each[which]
        start, end = alone.match(data, match.start()).span(alone.groups)
        return RULES[which], start, end


def _options() -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return options


@lru_cache(maxsize=1)
def _scan() -> _Scan:
    return _Scan()  # built on first use: it costs tens of milliseconds, and not every command writes


def _too_plain(text: str) -> bool:
    """Whether no rule can fit, told without building them: each wants one of these words, or so many characters in a row."""
    told = any(word in text for word in ("://", "PRIVATE KEY")) or "authorization" in text.lower()
    return not told and all(len(word) < SHORTEST_SECRET for word in text.split())


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands, in characters, and what it is."""

    type: str
    start: int
    end: int


class Redactor:
    """Replaces secrets by marks that are the same for the same secret under the same key.

    >>> Redactor(b"key").redact("redis://app:s3cr3t-hunter@cache:6379")
    'redis://app:[secret:url-password:afca]@cache:6379'
    """

    def __init__(self, key: bytes) -> None:
        self._hash = blake2b(key=key, digest_size=2)

    def redact(self, text: str) -> str:
        while found := self.find(text):  # a mark may uncover what stood glued to the secret
            text = self._marked(text, found)
        return text

    def find(self, text: str) -> list[Secret]:
        """Every secret in the text, in order, without overlap."""
        if not _scan.cache_info().currsize and _too_plain(text):
            return []
        data, scan = text.encode("utf-8", "surrogatepass"), _scan()
        found: list[Secret] = []
        at = counted = chars = 0
        while candidate := scan.next(data, at):
            rule, start, end = candidate
            type = _type(rule, data[start:end])
            if type:
                chars += _length(data[counted:start])
                found.append(Secret(type, chars, chars + _length(data[start:end])))
                chars, counted = found[-1].end, end
            # What was turned away is looked into once more, without what made it a candidate: ${KEY}AKIA...
            at = end if type or start == at else start
        return found

    def _marked(self, text: str, found: list[Secret]) -> str:
        pieces, at = [], 0
        for secret in found:
            digest = self._hash.copy()
            digest.update(text[secret.start : secret.end].encode("utf-8", "surrogatepass"))
            pieces += [text[at : secret.start], f"[secret:{secret.type}:{digest.hexdigest()}]"]
            at = secret.end
        return "".join([*pieces, text[at:]])


def _length(data: bytes) -> int:
    return len(data.decode("utf-8", "surrogatepass"))


def _type(rule: Rule, secret: bytes) -> str | None:
    """What the secret is, or None if it is only a placeholder. A known token in a URL or header keeps its name."""
    if not rule.holds(secret.decode("utf-8", "surrogatepass")):
        return None
    if rule.type in ("url-password", "bearer-token"):
        inner = _scan().next(secret, 0)
        return inner[0].type if inner and inner[1:] == (0, len(secret)) else rule.type
    return rule.type


def nothing_but_marks(text: str) -> bool:
    """Whether a redacted text has nothing left to remember."""
    return "[secret:" in text and is_blank(re.sub(r"\[secret:[a-z0-9-]+:[0-9a-f]{4}\]", "", text))


# ---------------------------------------------------------------- every text of a record


def texts_of(record: Record) -> Iterator[str]:
    """Every text a caller can have put into the record."""
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
