"""Values that are secret because of their name: `password = …`, `"api_key": "…"`, `x-api-key: …`, `curl -u me:…`.

A name only says where to look; the value decides. It must look as if a machine or a careful person made it: letters
with digits or signs, no placeholder, no reference to where the secret really is (`${DB_PASSWORD}`, a variable of the
environment, a path, a call), no word of prose. Passwords may be shorter than keys, because people choose them.

One linear expression finds the names; the value after a name is read up to a bounded length. In one run of characters
without a blank only a few names are examined, so that a text consisting of nothing else costs no more than any other.
"""

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from memorist.redact.formats import password
from memorist.redact.scan import Found, compiled, which_of
from memorist.text.linear import Expression
from memorist.text.patterns import regex

FEWEST, LONGEST = 6, 200  # characters of a value
NAMES_IN_A_RUN = 4
PASSWORD, KEY = "password", "key"

_PASSWORDS = r"passw(?:or)?d|passphrase|passcode|passwort|mot_de_passe|contrase(?:n|\xc3\xb1)a|\xe5\xaf\x86\xe7\xa0\x81"
_SHORT = r"(?:\b|_)(?:pass|pwd|pw)|(?-i:[a-z](?:Pass|Pwd|Pw))|\bpgpassword|\bmysql_pwd"
_KEYS = (
    r"secret|token|api[ _-]?key|apikey|(?:access|auth|account|signing|encryption|master|service|private|shared|storage|license"
    r"|licence|subscription|session|webhook|deploy|admin|app|bot|client)[ _-]?key|credentials?|bearer|(?-i:[A-Z0-9]_KEY)"
    r"|authorization|\bauth"
)
_AFTER = (
    r"(?:[_-]?(?:key|value|base64|b64|prod(?:uction)?|dev|staging|stage|live|test|main|default|old|new|v?[0-9]{1,2}))?"
)
_EQUALS = r"(?:\\?[\"'`])?[\])]?[ \t]{0,8}(?::=|=>|->|={1,2}|:|\xef\xbc\x9a|\xef\xbc\x9d)[ \t]{0,8}(?:\r?\n[ \t]{1,8})?"
_IS = r"(?:\*\*)?[ \t](?:(?:for|of|on|to) [\w.-]{1,30} )?(?:is|was|ist|lautet|are|est|es)(?: now)?:?[ \t]"
_OPTION = r"(?:[ \t=]{1,4})"
_HERE = (
    # The name, and what says that the value follows.
    rf"(?i:(?:{_PASSWORDS}|{_SHORT}){_AFTER}(?:{_EQUALS}|{_IS}))",
    rf"(?i:(?:{_KEYS}){_AFTER}(?:{_EQUALS}|{_IS}))",
    rf"(?i:(?:^|\s)--?(?:[\w-]{{0,20}}[_-])?(?:{_PASSWORDS}|pass|pwd){_OPTION})",
    rf"(?i:(?:^|\s)--?(?:[\w-]{{0,20}}[_-])?(?:secret|token|api-?key|access-key){_OPTION})",
    rf"(?i:<[\w:]{{0,20}}(?:{_PASSWORDS}|secret|token|apikey)>)",
    r"(?i:\blogin\s+\S{1,60}\s+password\s+|identified\s+by\s+|\bpassword\s+[\"'])",
    # A name and a password in one word.
    r"(?:^|\s)(?:-u|--user|--proxy-user|--basic-auth)[ =]?[\"']?[^\s:\"'/]{1,64}:",
    r"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)\b[^\n|;]{0,120}\s-p",
    r"\bsshpass\s+-p\s?|\bredis-cli\b[^\n|;]{0,80}\s-a\s|\bldap(?:search|modify|add|whoami)\b[^\n|;]{0,120}\s-w\s",
    r"\b(?:docker|podman|helm|az|oc)\b[^\n|;]{0,20}\slogin\b[^\n|;]{0,80}\s-p\s|\bsmbclient\b[^\n|;]{0,80}\s-U\s?[^\s%]{1,40}%",
    r"://[^\s:/@?#\"'<>`\[\]]{1,64}:",
)
_URL = len(_HERE) - 1
_OF_KEYS = (1, 3)  # those of them that introduce keys, not passwords

_QUOTED = re.compile(rb"\\?([\"'`])((?:(?!\1)[^\n\\]|\\.){1,%d}?)\\?\1" % LONGEST)
_RUN = re.compile(rb"[^\s\"'`<>]{1,%d}" % LONGEST)
_IN_URL = re.compile(rb"([^\s\"'<>`@]{1,100})@[A-Za-z0-9\[$<{]")
_STOP = re.compile(
    rb"[,;.:!?)\]}*_|\\\0]+\Z|(?:\\n|\\r|\\t|;\s*\w+\s*=|&(?:amp;)?\w+=|\[secret:|\0|\xe3\x80\x82|\xef\xbc\x8c).*\Z",
    re.S,
)
_SIGNS = re.compile(rb"[!?]+(?![ \t!?])")  # in a sentence that goes on, a blank follows these
_TOLD = re.compile(rb"(?i:\b(?:is|was|ist|lautet|are|est|es)(?: now)?[ \t])\Z")

_REFERENCE = regex(  # not the secret, but where it is kept
    "|".join(
        (
            r"\A[$%&@*!<{\[(]\w*[{(\[]|\A\$\w+\Z|\A[<{\[(].*[>})\]]\Z|\{\{|\}\}|\$\{|\$\(|<%|%>",  # ${X}, <x>, {{ x }}
            r"\A%\w+%\Z|\A%(?:\(|[sdifr]\Z)",  # %X%, %s
            r"\A(?:process|os)\.|\Aenv[.:(\[]|\A(?:vault|arn|res?):|\Aref\+",
            r"\A(?:file|https?|s3|ssm|arn|secretsmanager|keyring|op|gs|data|urn)://?",
            r"\A(?:~|\.{1,2})?/(?:[\w.@-]+/)*[a-z_.-]{3,}(?:/|\Z)|\A[A-Za-z]:\\",  # a path
            r"\.(?:txt|pem|key|json|ya?ml|py|js|ts|env|crt|cer|md|toml|cfg|ini|sh|get|com|org|net|io|dev|go|rs|java|rb)\b",
            r"::|->|=>|&&|\|\||\\[bdswuxBDSW]|\[\^|\]\+|\(\?",  # code, or an expression
        )
    )
)
_CALL = regex(  # code, if there are no quotes around it
    r"[A-Za-z_\])]\(|\)\Z|\A\w+\[|\]\Z|\A[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z|\A[fbru]{1,2}[\"']|[{}]"
    r"|\A[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z|==|<=|>=|\A\d+[.,]\d+|\A[(\[]"
)
_WORDS = frozenset(
    """
    test tests testing pass passwort password passwd passphrase pw pwd secret secrets token tokens key keys user
    username admin root example sample demo dummy fake mock foo bar baz qux spam eggs abc xyz string str value val
    none null true false changeme change me my your the some any new old default public private access auth api app
    client server hash hashed salt salted sha md5 bcrypt scrypt argon pbkdf hmac rsa aes ecdsa base hex utf ascii ansi
    iso rfc oauth jwt bearer basic digest http https ssl tls ssh py python version ver alpha beta rc stage prod
    staging step part type kind name id ids num no nr text line char chars character characters digit digits bit bits
    byte bytes int uint float enum var arg args param params field attr attribute node item obj object data info
    config setting settings env environ stored required optional invalid expired wrong empty missing unset hidden
    input output file path url uri email phone first second third one two three four five six next last prev left
    right begin end start stop eof eol csrf xsrf session cookie header request response ns us east west north south eu
    ap central redacted removed masked insert here replace enter todo tbd xxx placeholder foobar hello world numpy
    torch tensor word words subword piece vocab unk pad cls sep mask bos eos special added length len max min size
    count index idx pos offset span range literal symbol op operator ident identifier keyword comment tag xml html
    json yaml toml csv sql regex pattern match group expr expression stmt class func function method module package
    import
    """.split()
)
_PARTS = regex(r"[^\W\d_]+")
_HAS_DIGIT, _HAS_LARGE, _HAS_SMALL = regex("[0-9]"), regex("[A-Z]"), regex("[a-z]")


_DIGIT, _SIGN = re.compile(rb"[0-9]"), re.compile(rb"[^A-Za-z0-9_\-./:,\0]")
_QUOTES = (b'"', b"'", b"`")
# Tokens for pagination or for identifying a request; names with a namespace; public keys.
_LISTED = re.compile(
    rb"(?i:next|page|pagination|continuation|client|request|update|sync|resume|public[_-]?key|lifecycle-action|cancel\w*|work-unit)"
    rb"[_-]?(?i:request[_-]?)?(?i:token)|::[\w:]*[\"']?\s*:",
)
_WORDLIKE = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CHANGES = regex(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]")
_MADE = regex(r"[A-Za-z0-9+/=]{6,}")
_PORT = regex(r"\d{1,5}(?:[/?#]|$)")


@lru_cache(maxsize=1)
def _names() -> tuple[Expression, Callable[[bytes], list[int]]]:
    anywhere = rf"(?:{'|'.join(_HERE)})[^\s\x00]{{{FEWEST}}}"
    return compiled(anywhere, captures=False, memory=32 << 20), which_of(_HERE)


@lru_cache(maxsize=512)
def _which(name: bytes) -> int:
    """The index of the first of `_HERE` that matches."""
    return min(_names()[1](name))


def named_in(data: bytes) -> Iterator[Found]:
    """Every value after such a name that looks like a secret, in order and without overlap."""
    anywhere = _names()[0]
    done = run = names = 0  # in this run: how far it is done, and how many names were examined
    judged: dict[tuple[bytes, int, bool], bool] = {}  # a text may repeat itself
    matches = anywhere.finditer(data)
    while match := next(matches, None):
        first, at = match.start(), match.end() - FEWEST
        if first < done:  # inside something already found
            matches, done = anywhere.finditer(data, done), 0
            continue
        which = _which(data[first:at])
        start, end, quoted = _value(data, at, which)
        value = data[start:end], which, quoted
        if value not in judged:
            judged[value] = _is_secret(*value)
        if judged[value] and not _goes_on(data, first, at, which):
            end = end if quoted or which in _OF_KEYS else _with_signs(data, at, end)
            yield (KEY if which in _OF_KEYS else PASSWORD, start, end)
            done = end
            continue
        run, names = (run, names + 1) if at < run else (_end_of_run(data, at), 1)
        further = names >= NAMES_IN_A_RUN
        matches, run = anywhere.finditer(data, run if further else at), 0 if further else run


def _goes_on(data: bytes, first: int, last: int, which: int) -> bool:
    return which in _OF_KEYS and _LISTED.search(data, max(0, first - 20), last) is not None


def _end_of_run(data: bytes, at: int) -> int:
    found = _RUN.match(data, at)
    return found.end() if found else at


def _value(data: bytes, at: int, which: int) -> tuple[int, int, bool]:
    """Where the value begins and ends, and whether it is quoted."""
    if which == _URL:
        inside = _IN_URL.match(data, at)
        return (*inside.span(1), True) if inside else (at, at, True)
    begins = at - 1 if data[at - 1 : at] in _QUOTES else at  # the name may have taken the quote
    if (first := data[begins : begins + 1]) in _QUOTES or first == b"\\":
        quoted = _QUOTED.match(data, begins)
        if quoted is not None:
            return (*quoted.span(2), True)
    plain = _RUN.match(data, at)
    if plain is None or plain[0].isalnum():  # nothing to take off
        return at, plain.end() if plain else at, False
    return at, at + len(_STOP.sub(b"", plain[0])), False


def _with_signs(data: bytes, at: int, end: int) -> int:
    """The end of a password that is assigned, not mentioned in a sentence: `!` and `?` at its end are part of it. They
    do not influence whether it counts as one."""
    signs = None if _TOLD.search(data, max(0, at - 12), at) else _SIGNS.match(data, end)
    return signs.end() if signs else end


def _is_secret(value: bytes, which: int, quoted: bool) -> bool:
    is_key = which in _OF_KEYS
    if len(value) < (10 if is_key else FEWEST) or not (_DIGIT.search(value) or (not is_key and _SIGN.search(value))):
        return False  # most are turned away here
    text = value.decode("utf-8", "replace")
    looks = _opaque(text) if is_key else _chosen(text)
    if not looks or _refers(text, quoted, is_key):
        return False
    return which != _URL or _PORT.match(text) is None  # http://host:8080/a/b@c


def _refers(text: str, quoted: bool, is_key: bool) -> bool:
    """Whether it is a placeholder, says where the secret is kept, or is code that reads it."""
    if not password(text) or (is_key and not quoted and _is_identifier(text)):
        return True
    if text.isalnum():  # nothing below matches it
        return False
    if not text.isprintable() or " " in text or _REFERENCE.search(text):
        return True
    return not quoted and _CALL.search(text) is not None


def _is_identifier(text: str) -> bool:
    """Whether it consists of words, like names in code: OAuth2Token."""
    words = _WORDLIKE.findall(text)
    return text.isidentifier() and len(_HAS_DIGIT.findall(text)) <= 4 and sum(map(len, words)) >= 3 * len(words)


def _opaque(text: str) -> bool:
    """Machine-made: letters and digits mixed, and characters repeated no more often than chance allows."""
    parts = _MADE.findall(text)
    made = any(_is_mixed(part) for part in parts) or (
        sum(map(len, parts)) * 8 >= len(text) * 7 > 112 and _is_mixed(text)
    )
    return made and _entropy(text) >= min(3.0, 0.75 * math.log2(len(text)))


def _is_mixed(part: str) -> bool:
    """Whether it changes between letters and digits at least twice, unlike a word with a number after it."""
    return len(_CHANGES.findall(part)) >= 2


def _chosen(text: str) -> bool:
    """Made by a person: a word with digits or signs in it, but none of the words that stand for any password."""
    digits, cases = _HAS_DIGIT.search(text), _HAS_LARGE.search(text) and _HAS_SMALL.search(text)
    words = _PARTS.findall(text.lower())
    if not words or not (digits or cases):
        return False
    for word in words:  # a generator would take twice as long
        if len(word) >= 3 and word not in _WORDS:
            return True
    return _is_mixed(text) and _entropy(text) >= (2.3 if cases else 2.75)


def _entropy(text: str) -> float:
    """Bits for each character."""
    return math.log2(len(text)) - sum(map(_BITS.__getitem__, map(text.count, set(text)))) / len(text)


_BITS = [0.0, *(n * math.log2(n) for n in range(1, LONGEST + 1))]
