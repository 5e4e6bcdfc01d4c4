"""Are secrets taken out, all of them, and nothing else? No real key is in here: every sample is generated."""

import base64
import random
import string
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memorist.redact import RULES, Redactor, Secret, _scan

PROPERTY = settings(deadline=None)

ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "_-"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
BASE64 = ALNUM + "+/"

# Type, then what the key is made of: literal text, or (alphabet, length). Prefixes are split so that scanners of
# this repository stay quiet.
FORMATS = [
    ("aws-key-id", "AK" + "IA", (string.ascii_uppercase + "234567", 16)),
    ("aws-key-id", "AS" + "IA", (string.ascii_uppercase + "234567", 16)),
    ("aws-bedrock-key", "AB" + "SK", (BASE64, 128)),
    ("github-token", "gh" + "p_", (ALNUM, 36)),
    ("github-token", "gh" + "s_", (ALNUM, 36)),
    ("github-pat", "github" + "_pat_", (ALNUM + "_", 82)),
    ("gitlab-token", "gl" + "pat-", (WORD, 20)),
    ("slack-token", "xo" + "xb-", (string.digits, 12), "-", (string.digits, 12), "-", (ALNUM, 24)),
    ("slack-app-token", "xa" + "pp-1-A", (UPPER, 10), "-", (string.digits, 13), "-", (HEX, 64)),
    ("stripe-key", "sk" + "_live_", (ALNUM, 24)),
    ("stripe-key", "rk" + "_test_", (ALNUM, 99)),
    ("anthropic-key", "sk-" + "ant-api03-", (WORD, 93), "AA"),
    ("openai-key", "sk-" + "proj-", (WORD, 74), "T3Blbk" + "FJ", (WORD, 74)),
    ("openai-key", "sk-", (ALNUM, 20), "T3Blbk" + "FJ", (ALNUM, 20)),
    ("openrouter-key", "sk-" + "or-v1-", (HEX, 64)),
    ("sk-key", "sk-", (ALNUM, 47), "7"),
    ("google-api-key", "AI" + "za", (WORD, 35)),
    ("google-oauth-secret", "GOC" + "SPX-", (WORD, 28)),
    ("npm-token", "np" + "m_", (ALNUM, 36)),
    ("pypi-token", "pypi-" + "AgEIcHlwaS5vcmc", (WORD, 150)),
    ("rubygems-key", "ruby" + "gems_", (HEX, 48)),
    ("twilio-key", "S" + "K", (HEX, 32)),
    ("sendgrid-key", "S" + "G.", (WORD, 22), ".", (WORD, 43)),
    ("mailchimp-key", (HEX, 32), "-us" + "12"),
    ("huggingface-token", "h" + "f_", (string.ascii_letters, 34)),
    ("databricks-token", "da" + "pi", (HEX, 32)),
    ("digitalocean-token", "do" + "p_v1_", (HEX, 64)),
    ("shopify-token", "shp" + "at_", (HEX, 32)),
    ("square-token", "sq0" + "atp-", (WORD, 22)),
    ("square-access-token", "EA" + "AA", (WORD, 55), "aB3"),
    ("telegram-token", (string.digits, 10), ":A", (WORD, 34)),
    ("azure-ad-secret", (ALNUM, 3), "8" + "Q~", (ALNUM + "_~.-", 34)),
    ("jwt", "ey" + "J", (WORD, 30), ".ey" + "J", (WORD, 60), ".", (WORD, 43)),
    ("age-key", "AGE-SECRET" + "-KEY-1", ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    ("vault-token", "hv" + "s.", (WORD, 95)),
    ("vault-legacy-token", "s.", (ALNUM, 21), "aB3"),
    ("terraform-token", (ALNUM, 14), ".atlas" + "v1.", (WORD, 65)),
    ("doppler-token", "dp" + ".pt.", (ALNUM, 43)),
    ("linear-key", "lin" + "_api_", (ALNUM, 40)),
    ("notion-token", "nt" + "n_", (string.digits, 11), (ALNUM, 35)),
    ("postman-key", "PM" + "AK-", (HEX, 24), "-", (HEX, 34)),
    ("new-relic-key", "NR" + "AK-", (UPPER, 27)),
    ("grafana-token", "gl" + "sa_", (ALNUM, 32), "_", (HEX, 8)),
    ("grafana-token", "gl" + "c_", (BASE64, 80)),
    ("sentry-token", "sntry" + "u_", (HEX, 64)),
    ("sentry-token", "sntry" + "s_eyJpYXQiO", (BASE64, 80)),
    ("fly-token", "fo" + "1_", (WORD, 43)),
    ("fly-token", "fm" + "2_", (BASE64, 120)),
    ("atlassian-token", "ATA" + "TT3", (WORD, 186)),
    ("perplexity-key", "pp" + "lx-", (ALNUM, 48)),
    ("onepassword-token", "op" + "s_eyJ", (WORD, 260)),
    ("onepassword-key", "A" + "3-", (UPPER, 6), "-", (UPPER, 11), *(("-"), (UPPER, 5)) * 3),
    ("airtable-token", "pa" + "t", (ALNUM, 14), ".", (HEX, 64)),
    ("heroku-key", "HRK" + "U-AA", (WORD, 58)),
    ("alibaba-key-id", "LT" + "AI", (ALNUM, 19), "5"),
    ("artifactory-key", "AK" + "Cp", (ALNUM, 69)),
    ("planetscale-token", "pscale" + "_tkn_", (WORD, 43)),
    ("pulumi-token", "pu" + "l-", (HEX, 40)),
    ("prefect-key", "pn" + "u_", (ALNUM, 36)),
    ("dynatrace-token", "dt0" + "c01.", (UPPER, 24), ".", (UPPER, 64)),
    ("octopus-key", "AP" + "I-", (UPPER, 25), "4"),
    ("openshift-token", "sha" + "256~", (WORD, 43)),
]

FRAMES = [
    "{}",
    "my key is {}.",
    "export TOKEN={}",
    "prod_{}",
    'token: "{}",',
    '{{"key":"{}"}}',
    "curl 'https://api.test/v1?key={}&page=2'",
    "| key | {} |",
    "first line\\n{}\\nnext",
    "Schlüssel für 東京 🗝: {} (bitte löschen)",
    "({})",
    "`{}`",
    "# {}\n",
]

CONTEXTS = [
    ("url-password", "postgres://app:{}@db.internal:5432/prod", ("pa5s", (ALNUM, 12))),
    ("url-password", "redis://:{}@cache:6379/0", ("hunter", (ALNUM, 4))),
    ("url-password", "mongodb+srv://ü:{}@cluster0.mongodb.net", ("p@ss!é", (ALNUM, 4))),
    ("basic-auth", "Authorization: Basic {}", (base64.b64encode(b"admin:correct horse").decode(),)),
    ("bearer-token", '-H "Authorization: Bearer {}"', ("tok_9f", (ALNUM, 24))),
    ("bearer-token", "it sends bearer {} each time", ("a1B2c3D4e5F6", (ALNUM, 12))),
    ("bearer-token", "authorization: token {}", ("a1B2c3D4e5F6", (ALNUM, 12))),
    (
        "slack-webhook",
        "https://hooks.slack.com" + "/services/{}",
        ("T", (UPPER, 9), "/B", (UPPER, 9), "/", (ALNUM, 24)),
    ),
    ("azure-key", "AccountName=acme;AccountKey={};EndpointSuffix=core", ((BASE64, 86), "==")),
    ("aws-secret", "aws_secret_access_key = {}", ("aB3/", (BASE64, 36))),
    ("aws-secret", '"SecretAccessKey": "{}"', ("aB3/", (BASE64, 36))),
    ("mailgun-key", "MAILGUN_API_KEY={}", ("key-", (HEX, 32))),
    ("discord-secret", "discord_client_token: '{}'", ((HEX, 64),)),
    ("cloudflare-token", "CLOUDFLARE_API_TOKEN={}", ("aB3", (WORD, 37))),
    ("heroku-key", "heroku_api_key: {}", ((HEX, 8), "-", (HEX, 4), "-4", (HEX, 3), "-a", (HEX, 3), "-", (HEX, 12))),
]

redactor = Redactor(b"a test key")


def make(rng: random.Random, parts: tuple) -> str:
    """A key of this format. Its last character is alphanumeric, as a boundary cannot be seen otherwise."""
    key = "".join(part if isinstance(part, str) else "".join(rng.choices(part[0], k=part[1])) for part in parts)
    return key if key[-1].isalnum() or key[-1] == "=" else key[:-1] + "0"


def key_block(rng: random.Random, label: str) -> str:
    lines = ["".join(rng.choices(BASE64, k=64)) for _ in range(12)] + ["".join(rng.choices(BASE64, k=21)) + "="]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"])


@pytest.mark.covers("S3-26")
@pytest.mark.parametrize("format", FORMATS, ids=lambda format: f"{format[0]}-{format[1]}"[:30])
def test_every_format_is_found_in_every_frame(format: tuple) -> None:
    rng = random.Random(f"{format}")
    for frame in FRAMES:
        for _ in range(5):
            key = make(rng, format[1:])
            text = frame.format(key)
            start = text.index(key)
            assert redactor.find(text) == [Secret(format[0], start, start + len(key))]
            assert key not in redactor.redact(text)


@pytest.mark.covers("S3-26")
@pytest.mark.parametrize(("type", "frame", "parts"), CONTEXTS, ids=lambda value: str(value)[:24])
def test_what_is_secret_by_its_surroundings_is_found_and_the_rest_stays(type: str, frame: str, parts: tuple) -> None:
    rng = random.Random(frame)
    for before in ("", "remember: ", "日本 🗝 "):
        secret = make(rng, parts)
        text = before + frame.format(secret)
        start = text.index(secret)
        assert redactor.find(text) == [Secret(type, start, start + len(secret))]
        left, right = redactor.redact(text).split("[secret:")
        assert left == text[:start] and right.partition("]")[2] == text[start + len(secret) :]


def test_a_fresh_process_finds_the_same_without_building_rules_for_plain_words() -> None:
    rng = random.Random("fresh")
    samples = [make(rng, format[1:]) for format in FORMATS] + [
        frame.format(make(rng, parts)) for _, frame, parts in CONTEXTS
    ]
    for text in (*samples, key_block(rng, "PRIVATE KEY"), "AUTHORIZATION: Basic dTpw", "a://b:c9@d"):
        _scan.cache_clear()
        assert Redactor(b"key").find(text), text
    _scan.cache_clear()
    assert Redactor(b"key").find("which port does the billing service run on?") == []
    assert _scan.cache_info().currsize == 0


def test_every_rule_has_a_sample() -> None:
    sampled = {format[0] for format in FORMATS} | {context[0] for context in CONTEXTS} | {"private-key"}
    assert {rule.type for rule in RULES} == sampled


@pytest.mark.covers("S3-26")
@pytest.mark.parametrize(
    "label", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "EC PRIVATE KEY"]
)
def test_a_private_key_block_goes_with_its_body(label: str) -> None:
    block = key_block(random.Random(label), label)
    for text in (block, block.replace("\n", "\\n"), block.replace("\n", "\r\n"), block.replace("\n", "\n> ")):
        redacted = redactor.redact(f"before {text} after")
        assert redacted.startswith("before [secret:private-key:") and redacted.endswith("] after")


@pytest.mark.covers("S3-26")
def test_headers_and_checksums_inside_a_block_go_too() -> None:
    lines = key_block(random.Random(3), "RSA PRIVATE KEY").split("\n")
    lines[1:1] = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0A1B2C3D4E5F60718293A4B5C6D7E8F9", ""]
    lines[-1:-1] = ["=aB3d"]
    assert redactor.redact("\n".join(lines)).startswith("[secret:private-key:")
    assert redactor.redact("\n".join(lines)).endswith("]")


@pytest.mark.covers("S3-26")
@pytest.mark.parametrize("kept", [60, 200, 230, 333, 700])
def test_a_truncated_block_is_found_and_the_prose_after_it_stays(kept: int) -> None:
    block = key_block(random.Random(5), "PRIVATE KEY")[:kept]
    assert redactor.redact(block).count("[secret:private-key:") == 1
    assert not any(line in redactor.redact(block) for line in block.split("\n") if len(line) > 3)
    whole_lines = block.rpartition("\n")[0]
    redacted = redactor.redact(whole_lines + "\nThen Caroline said: rotate it.")
    assert redacted.endswith("]\nThen Caroline said: rotate it.") or len(whole_lines) < 60


def test_a_begin_line_quoted_in_prose_is_no_key() -> None:
    text = "Search the repository for -----BEGIN RSA PRIVATE KEY----- before you push."
    assert redactor.redact(text) == text


def test_a_known_token_in_a_url_or_header_keeps_its_name() -> None:
    token = "gh" + "p_" + "aB3d" * 9
    for frame in ("https://x-access-token:{}@github.com/acme/app", "Authorization: Bearer {}", "{}"):
        assert [finding.type for finding in redactor.find(frame.format(token))] == ["github-token"]


def test_a_real_secret_beside_a_placeholder_is_found() -> None:
    token = "gh" + "p_" + "aB3d" * 9
    assert [finding.type for finding in redactor.find(f"ftp://me:${{KEY}}@{token}@host")] == ["url-password"]
    assert [finding.type for finding in redactor.find(f"Bearer xxxx-{token}")] == ["github-token"]
    assert [finding.type for finding in redactor.find("ftp://me:$ecret-Pa55@host")] == ["url-password"]


def test_all_occurrences_are_replaced_and_equal_secrets_have_equal_marks() -> None:
    rng = random.Random(7)
    one, two = make(rng, FORMATS[3][1:]), make(rng, FORMATS[3][1:])
    text = redactor.redact(f"{one} {two},{one}\n{one}")
    first, second = text.split(" ")[0], text.split(" ")[1].split(",")[0]
    assert text == f"{first} {second},{first}\n{first}" and first != second
    assert Redactor(b"another key").redact(one) != first


PLACEHOLDERS = [
    "AKIA" + "IOSFODNN7EXAMPLE",
    "gh" + "p_" + "x" * 36,
    "gh" + "p_" + "0" * 36,
    "sk" + "_live_" + "1234567890abcdef",
    "sk-" + "ant-api03-" + "." * 20,
    "sk-" + "proj-" + "*" * 40,
    "sk-" + "averylongwordthatisnokeyatallbutaname",
    "API-" + "DOCUMENTATIONOFTHEINTERNAL",
    "s." + "someMethodNameThatIsLong",
    "Authorization: Bearer <token>",
    "Authorization: Bearer YOUR_ACCESS_TOKEN_GOES_HERE",
    "Authorization: Basic authentication is switched off",
    "a bearer of internationalization-and-localization news",
    "postgres://user:<password>@localhost/db",
    "postgres://user:${DB_PASSWORD}@localhost/db",
    "postgres://user:$PGPASSWORD@localhost/db",
    "postgres://user:$(cat secret.txt)@localhost/db",
    "postgres://user:{{ db.password }}@localhost/db",
    "postgres://user:{password}@localhost/db",
    "postgres://user:%s@localhost/db",
    "postgres://user:%(password)s@localhost/db",
    "postgres://user:****@localhost/db",
    "postgres://user:xxxx@localhost/db",
    "postgres://user:password@localhost/db",  # documentation nearly always; and no secret if it were true
    "postgres://user:pass@localhost/db",
    "postgres://user:db_password@localhost/db",
    "postgres://user:changeme@localhost/db",
    "http://localhost:3000/users/@me",
    "http://127.0.0.1:8080 and me@example.org",
    "ssh://git@github.com:22/acme/app@v1",
]


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_documented_placeholders_stay(text: str) -> None:
    assert redactor.find(text) == []


PROSE = """The staging database runs on Postgres 16 behind pgbouncer.
Set AWS_PROFILE before you call terraform plan; the secret is in Vault.
We keep tokens in the keychain, never in .env files.
sk-learn was renamed to scikit-learn; the import is still sklearn.
The API-REFERENCE-FOR-INTERNAL-USE page is out of date.
Rotate the key-rotation-schedule every ninety days.
git commit -m "Fix token refresh in getUserByIdAndRotateCredentials"
Use `Authorization: Bearer` plus the token you got from /oauth/token.
npm_config_registry and npm_lifecycle_event are environment variables.
hf_hub_download fetches a file; hf_transfer makes it faster.
pip install pypi-simple==1.6.0 --hash=sha256:{sha256}
"integrity": "sha512-{sha512}"
commit {sha1}
{uuid} finished in 35 ms
see https://github.com/acme/app/blob/{sha1}/src/main.py#L10-L20
image: registry.acme.dev:5000/app@sha256:{sha256}
data:image/png;base64,{blob}
/usr/lib/python3.11/site-packages/google/auth/transport/_aiohttp_requests.py
SKU 4711, task-{uuid}, disk-{md5}, cache-key-{md5}
class AbstractSingletonProxyFactoryBean2 extends s.internalMethodNameIsLong
ETag: "{md5}", W/"{sha1}"
memory 01HZX3K5N7QRSTVWXYZ0123456 was superseded by 01HZX3K5N7QRSTVWXYZ0123457
cloudflare deployed commit {sha1} to production
discord message 112233445566778899 hash {sha256}
heroku released v42 with id {uuid}
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{blob} me@laptop
[secret:github-token:ab12] was removed from here
The meeting is at 10:30; call +49 30 1234567 or write to caroline@example.org.
東京の staging サーバーは 10.0.0.12:5432 です。
"""


def negatives(rng: random.Random) -> Iterator[str]:
    for _ in range(20):
        digest = {name: f"{rng.getrandbits(bits):0{bits // 4}x}" for name, bits in (("md5", 128), ("sha1", 160))}
        digest |= {
            "sha256": f"{rng.getrandbits(256):064x}",
            "uuid": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        }
        digest |= {"sha512": base64.b64encode(rng.randbytes(64)).decode()}
        digest |= {"blob": base64.b64encode(rng.randbytes(rng.randrange(24, 300))).decode()}
        yield from PROSE.format(**digest).splitlines()


def test_ordinary_developer_text_has_no_hits() -> None:
    lines = list(negatives(random.Random(11)))
    assert len(lines) > 500
    assert [(line, redactor.find(line)) for line in lines if redactor.find(line)] == []
    assert redactor.redact("\n".join(lines)) == "\n".join(lines)


pieces = st.sampled_from(
    [make(random.Random(format[0]), format[1:]) for format in FORMATS]
    + [context[1].format(make(random.Random(context[1]), context[2])) for context in CONTEXTS]
    + [key_block(random.Random(1), "PRIVATE KEY")[:cut] for cut in (27, 30, 120, 2000)]
    + ["://", "@", ":", "a", " ", "\n", "_", "-", "Bearer ", "é", "\ud800", "\0", "]", "[secret:jwt:ab12]", "\\n"]
)


@PROPERTY
@given(st.lists(pieces, max_size=8).map("".join))
@example("://u:a[secret:jwt:ab12]b@host")
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redactor.redact(text)
    assert redactor.redact(once) == once
    assert redactor.find(once) == []


@PROPERTY
@given(st.text(st.characters(codec=None)))
@example("\ud800://a:\udfff@b\0")
def test_any_text_can_be_redacted(text: str) -> None:
    redacted = redactor.redact(text)
    assert redacted == text or "[secret:" in redacted


@PROPERTY
@given(st.text(max_size=20), st.text(max_size=20))
def test_positions_are_characters_and_not_bytes(before: str, after: str) -> None:
    token = make(random.Random(13), FORMATS[3][1:])
    text = f"{before} {token} {after}"
    at = len(before) + 1
    assert Secret("github-token", at, at + len(token)) in redactor.find(text)


@pytest.mark.parametrize(
    "unit", ["://a:", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\n", "eyJ.", "bearer aaaa1", "AKIA"]
)
def test_hostile_repetition_comes_back(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    assert redactor.redact(redactor.redact(text)) == redactor.redact(text)
