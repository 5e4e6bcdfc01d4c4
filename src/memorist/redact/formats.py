"""The formats of keys and tokens: text that is a secret by its own shape, or by a fixed phrase around it.

No rule takes a text for a secret merely because it looks random: hashes and ids look random too. A `Rule` says where a
secret may be; its `holds` rejects placeholders and lookalikes. Patterns are RE2, read bytes, and end where their run of
characters ends or after a bounded number of them. A pattern of unbounded length is searched for separately (`ALONE`),
because in one expression with the others it would make every match as expensive as the rest of the text.
"""

import base64
import re
from collections.abc import Callable

from memorist.lazy import dataclass
from memorist.text.patterns import regex

PLACEHOLDERS = (
    "example", "placeholder", "xxxx", "***", "...", "…", "your_", "your-", "0123456789", "1234567890", "abcdefghij",
)  # fmt: skip
_ONE_LETTER = regex(r"(.)\1{7}")
_REFERENCE = regex(
    r"(?-i:\$[A-Z_][A-Z0-9_]*)$|\$[({][^)}]*[)}]$|\{[^}]*\}+$|%[sd]$|%\(\w+\)s$|%\w+%$|x{3,}$|change_?me$|redacted$"
    r"|\$?(?:[a-z]+[_-])*(?:my|your)?(?:password|passwd|pass|pwd|pw|secret|token)$"
    r"|\[secret:[a-z0-9-]+:[0-9a-f]{4}\]$",
    re.IGNORECASE,
)
_KEY_BODY = regex(r"[A-Za-z0-9+/=]{16}")
_OPAQUE = regex(r"[A-Za-z0-9]{10}")


def genuine(secret: str) -> bool:
    """Not a placeholder of the kind that documentation uses."""
    small = secret.lower()
    for word in PLACEHOLDERS:  # a generator would take twice as long
        if word in small:
            return False
    return _ONE_LETTER.search(small) is None


def _mixed(secret: str) -> bool:
    """Letters of both cases and digits: required for prefixes too short to be trusted alone."""
    kinds = (any(map(str.isupper, secret)), any(map(str.islower, secret)), any(map(str.isdigit, secret)))
    return all(kinds) and genuine(secret)


def _numbered(secret: str) -> bool:
    return any(map(str.isdigit, secret)) and genuine(secret)


def _opaque(secret: str) -> bool:
    """Not a hyphenated phrase: one long stretch holds letters and digits."""
    return any(not s.isalpha() and not s.isdigit() for s in _OPAQUE.findall(secret)) and genuine(secret)


def password(secret: str) -> bool:
    return _REFERENCE.match(secret) is None and genuine(secret)


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
    """One format. The secret is the pattern's group, or the whole match; `holds` rejects placeholders and lookalikes."""

    type: str
    pattern: str
    holds: Callable[[str], bool] = genuine


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
    Rule("stripe-webhook-secret", r"whsec_[A-Za-z0-9+/]{32,}={0,2}"),
    Rule("groq-key", rf"gsk_{_A}{{48,}}"),
    Rule("replicate-token", rf"r8_{_A}{{37,}}"),
    Rule("xai-key", rf"xai-{_A}{{60,}}"),
    Rule("nvidia-key", rf"nvapi-{_W}{{60,}}"),
    Rule("tavily-key", rf"tvly-(?:dev-|prod-)?{_A}{{32}}"),
    Rule("figma-token", rf"fig[dou]_?[rh]?_{_W}{{40,}}"),
    Rule("docker-token", rf"dckr_(?:pat|oat)_{_W}{{27,}}"),
    Rule("tailscale-key", rf"tskey-(?:[a-z]{{2,10}}-)?{_A}{{10,}}-{_A}{{16,}}"),
    Rule("supabase-token", rf"sbp_(?:v0_)?{_H}{{40}}|sb_secret_{_W}{{22,}}"),
    Rule("google-oauth-token", rf"ya29\.{_W}{{30,}}"),
    Rule("discord-bot-token", rf"[MNO][A-Za-z0-9_-]{{23,27}}\.{_W}{{6}}\.{_W}{{27,38}}", _mixed),
    Rule("dropbox-token", rf"sl\.(?:u\.)?{_W}{{130,}}"),
    Rule("facebook-token", rf"EAA[A-Za-z]{_A}{{80,}}", _mixed),
    Rule("mapbox-token", rf"sk\.ey{_W}{{40,}}\.{_W}{{20,}}"),
    Rule("posthog-key", rf"phx_{_A}{{43,}}"),
    Rule("buildkite-token", rf"bk(?:ua|at)_{_H}{{40}}"),
    Rule("contentful-token", rf"CFPAT-{_W}{{43}}"),
    Rule("razorpay-key", rf"rzp_(?:live|test)_{_A}{{14,}}", _numbered),
    Rule("flutterwave-key", rf"FLWSEC(?:K|K_TEST)-{_A}{{12,}}(?:-X)?"),
    Rule("amazon-mws-token", rf"amzn\.mws\.{_H}{{8}}(?:-{_H}{{4}}){{3}}-{_H}{{12}}"),
    Rule("linear-oauth-token", rf"lin_oauth_{_H}{{40,}}"),
    Rule("jina-key", rf"jina_{_A}{{56,}}"),
    Rule("render-key", rf"rnd_{_A}{{26,}}", _mixed),
)


def _assigned(names: str, value: str) -> str:
    """A value that is a secret only because of the name it is given to."""
    return rf"(?i:{names})[\w .-]{{0,30}}[\"']?\s*[:=]\s*[\"']?({value}){_RIGHT}"


# The lines of a private key block: base64 of some length. Shorter ones count only before END or where the text is cut.
_BETWEEN = r"(?:[\s>|#*\"'+,;\\]|\\[nrt])*"
_BASE64 = "[A-Za-z0-9+/=]"
_KEY_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Subject): [^\n\\]{0,200}"
_KEY_END = r"-{4,5} ?END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}"

# Recognised by their context; only the secret itself is replaced.
_IN_CONTEXT = (
    Rule(
        "private-key",
        rf"-{{4,5}} ?BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{{4,5}}"
        rf"(?:{_BETWEEN}(?:{_KEY_HEADER}|{_BASE64}{{16,}}))*"
        rf"(?:(?:{_BETWEEN}{_BASE64}{{1,64}}){{0,2}}{_BETWEEN}(?:{_KEY_END}|\.\.\.|\z))?",
        _key_block,
    ),
    Rule("url-password", r"://[^\s:/@?#\"'<>`]*:([^\s/?#\"'<>`]+)@[A-Za-z0-9_\[$<{]", password),
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
    Rule("sas-signature", r"(?i:[?&]|&amp;|\\u0026)sig=([A-Za-z0-9%/+_-]{40,140}={0,2})", _opaque),
    Rule("discord-webhook", rf"discord(?:app)?\.com/api/webhooks/[0-9]{{17,20}}/({_W}{{60,80}})"),
    Rule("teams-webhook", rf"webhook\.office\.com/webhookb2/({_H}{{8}}-[A-Za-z0-9@/-]{{60,200}})"),
    Rule("facebook-secret", _assigned("facebook|fb[_-]?app", rf"{_H}{{32}}"), _numbered),
    Rule("dropbox-secret", _assigned("dropbox", r"[a-z0-9]{15}"), _numbered),
)


def _bounded(rule: Rule) -> Rule:
    return Rule(rule.type, f"{_LEFT}({rule.pattern}){_RIGHT}", rule.holds)


# Formats of several parts: each reads to the end of its run before it knows whether another part follows. A text
# without `needs` has none.
ALONE = (
    (b".ey", _bounded(Rule("jwt", rf"ey{_W}{{17,}}\.ey{_W}{{17,}}\.{_W}{{10,}}"))),
    (
        b"T3BlbkFJ",
        _bounded(Rule("openai-key", rf"sk-(?:(?:proj|svcacct|admin)-)?{_W}{{20,}}T3BlbkFJ{_W}{{20,}}")),
    ),
)
TOGETHER = tuple(map(_bounded, _TOKENS)) + _IN_CONTEXT
RULES = (*(rule for _, rule in ALONE), *TOGETHER)
EVERYWHERE = f"{_LEFT}(?:{'|'.join(f'(?:{rule.pattern})' for rule in _TOKENS)}){_RIGHT}|" + "|".join(
    rule.pattern for rule in _IN_CONTEXT
)

# Formats trusted wherever their beginning appears, even glued to other words or put together from pieces. The
# beginnings of the others are too short to be told from letters that occur there by chance.
_TOO_LITTLE = (
    "sk-key", "twilio-key", "mailchimp-key", "square-access-token", "telegram-token", "azure-ad-secret", "vault-legacy-token",
    "terraform-token", "onepassword-key", "octopus-key", "discord-bot-token", "facebook-token", "alibaba-key-id",
    "dropbox-token", "aws-bedrock-key", "doppler-token", "airtable-token", "render-key",
)  # fmt: skip


def _scattered(secret: str) -> bool:
    """Words joined only by removing the blanks between them contain no digits, and seldom change case."""
    digits = any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))
    return (digits or len(_CASES.findall(secret)) >= 5) and genuine(secret)


_CASES = regex("[a-z][A-Z]")
_IN_PARTS = (
    Rule("jwt", rf"eyJ{_W}{{9,400}}\.eyJ{_W}{{9,600}}\.{_W}{{20,}}"),
    Rule("openai-key", rf"sk-(?:proj|svcacct|admin)-{_W}{{9,99}}T3BlbkFJ{_W}{{20,}}|sk-{_A}{{20}}T3BlbkFJ{_A}{{20}}"),
)
_SHORTEST = re.compile(r"\{(\d\d+),\d*\}")
# The beginnings of the keys below: a text without any of these, blanks removed, contains no such key.
BEGINNINGS = (
    *"AKIA ASIA ABIA ACCA AGE-SECRET AIza AKCp ATATT3 CFPAT- FLWSEC GOCSPX- HRKU- NRAK- PMAK- SG. _v1_ amzn.mws. api_org_".split(),
    *"bkat_ bkua_ dapi dckr_ dt0 eyJ fm1 fm2_ fo1_ ghp_ gho_ ghr_ ghs_ ghu_ github_pat_ glagent- glc_ glcbt- gldt- glft-".split(),
    *"glpat- glptt- glrt- glsa_ glsoat- gsk_ hf_ hvb. hvr. hvs. jina_ k_live_ k_prod_ k_test_ lin_ npm_ ntn_ nvapi- ops_ey".split(),
    *"phx_ pnb_ pnu_ pplx- pscale_ pul- pypi- r8_ rubygems_ rzp_ sb_secret_ sbp_ sha256~ shpat_ shpca_ shppa_ shpss_ sk-".split(),
    *"sk.ey sntry sq0 tskey- tvly- whsec_ xai- xapp- xox ya29.".split(),
    *(f"fig{one}{other}_" for one in "dou" for other in ("", "r", "h")),
)
GLUED = tuple(  # the shortest form: what follows may be prose
    Rule(rule.type, _SHORTEST.sub(r"{\1}", rule.pattern), _scattered)
    for rule in (*_TOKENS, *_IN_PARTS)
    if rule.type not in _TOO_LITTLE
)
