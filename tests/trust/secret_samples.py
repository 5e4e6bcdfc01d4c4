"""Samples of secrets and of what only looks like one. No real key is in here: every sample is generated from a seed."""

import base64
import random
import string
import uuid
from collections.abc import Callable, Iterator
from urllib.parse import quote

ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "_-"
HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
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
    ("stripe-webhook-secret", "wh" + "sec_", (ALNUM, 32)),
    ("groq-key", "gs" + "k_", (ALNUM, 52)),
    ("replicate-token", "r" + "8_", (ALNUM, 37)),
    ("xai-key", "xa" + "i-", (ALNUM, 80)),
    ("nvidia-key", "nv" + "api-", (WORD, 64)),
    ("tavily-key", "tv" + "ly-", (ALNUM, 32)),
    ("figma-token", "fi" + "gd_", (WORD, 40)),
    ("docker-token", "dckr" + "_pat_", (WORD, 27)),
    ("tailscale-key", "ts" + "key-auth-", (ALNUM, 12), "-", (ALNUM, 32)),
    ("supabase-token", "sb" + "p_", (HEX, 40)),
    ("google-oauth-token", "ya" + "29.", (WORD, 120)),
    ("discord-bot-token", "M", (ALNUM, 22), "aB3", ".", (WORD, 6), ".", (WORD, 38)),
    ("dropbox-token", "s" + "l.", (WORD, 136)),
    ("facebook-token", "EAA" + "C", (ALNUM, 120), "aB3"),
    ("mapbox-token", "sk" + ".ey", (ALNUM, 60), ".", (WORD, 22)),
    ("posthog-key", "ph" + "x_", (ALNUM, 43)),
    ("buildkite-token", "bk" + "ua_", (HEX, 40)),
    ("contentful-token", "CF" + "PAT-", (WORD, 43)),
    ("razorpay-key", "rzp" + "_live_", (ALNUM, 13), "7"),
    ("flutterwave-key", "FLW" + "SECK-", (HEX, 32), "-X"),
    ("amazon-mws-token", "amzn" + ".mws.", (HEX, 8), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 12)),
    ("linear-oauth-token", "lin" + "_oauth_", (HEX, 64)),
    ("jina-key", "ji" + "na_", (ALNUM, 60)),
    ("render-key", "rn" + "d_", (ALNUM, 25), "aB3"),
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
    (
        "sas-signature",
        "https://acme.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig={}&se=2026",
        ("aB3", (ALNUM, 40), "%3D"),
    ),
    ("discord-webhook", "https://discord.com/api/webhooks" + "/112233445566778899/{}", ((ALNUM, 68),)),
    (
        "teams-webhook",
        "https://acme.webhook.office.com/webhookb2" + "/{}",
        ((HEX, 8), "-", (HEX, 4), "-", (HEX, 60)),
    ),
    ("facebook-secret", "facebook_app_secret = {}", ((HEX, 30), "a7")),
    ("dropbox-secret", "DROPBOX_APP_KEY={}", ((LOWER, 13), "a7")),
]


def make(rng: random.Random, parts: tuple) -> str:
    """A key of this format. Its last character is alphanumeric, as a boundary cannot be seen otherwise."""
    key = "".join(part if isinstance(part, str) else "".join(rng.choices(part[0], k=part[1])) for part in parts)
    return key if key[-1].isalnum() or key[-1] == "=" else key[:-1] + "0"


def key_block(rng: random.Random, label: str) -> str:
    lines = ["".join(rng.choices(BASE64, k=64)) for _ in range(12)] + ["".join(rng.choices(BASE64, k=21)) + "="]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"])


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


# ---------------------------------------------------------------- secret by the name before them

# What people choose as a password, and what machines make for them.
WORDS = "river copper lantern walnut orbit meadow falcon granite velvet thunder saffron beacon harbor cobalt juniper ember".split()
SIGNS = "!#$%&*+?@^~"


def chosen(rng: random.Random) -> str:
    """A password as people make them."""
    one, two = rng.choice(WORDS), rng.choice(WORDS)
    return rng.choice(
        (
            f"{one}{rng.randrange(10, 10_000)}",
            f"{one.title()}{rng.randrange(1, 100)}{rng.choice(SIGNS)}",
            f"{one}-{two}-{rng.randrange(10, 100)}",
            f"{one.title()}{rng.choice(SIGNS)}{two.title()}",
            one.replace("e", "3").replace("a", "4").title() + str(rng.randrange(10, 100)),
            "".join(rng.choices(ALNUM + "!#%*+-_", k=rng.randrange(10, 24))) + "7k",
            "".join(rng.choices(ALNUM, k=rng.randrange(12, 32))) + "q4",
        )
    )


def made(rng: random.Random) -> str:
    """A key as machines make them, without a prefix."""
    return rng.choice(
        (
            "".join(rng.choices(ALNUM, k=rng.randrange(18, 48))) + "4f",
            "".join(rng.choices(HEX, k=rng.choice((30, 38, 62)))) + "b7",
            base64.b64encode(rng.randbytes(rng.choice((24, 33, 48)))).decode(),
            "".join(rng.choices(WORD, k=rng.randrange(24, 44))) + "8x",
        )
    )


NAMED: list[tuple[str, Callable[[random.Random], str]]] = [
    ("password = {}", chosen),
    ("password: {}", chosen),
    ("DB_PASSWORD={}", chosen),
    ("export PGPASSWORD='{}'", chosen),
    ('"password": "{}",', chosen),
    ("'db_password': '{}'", chosen),
    ("spring.datasource.password={}", chosen),
    ("the admin password is {}.", chosen),
    ("password for staging is {}", chosen),
    ("Passwort: {}", chosen),
    ("dbPassword: `{}`", chosen),
    ("<password>{}</password>", chosen),
    ("mysql -u root -p{} shop", chosen),
    ("mysqldump --password={} shop", chosen),
    ("tool login --password {} --verbose", chosen),
    ("curl -u deploy:{} https://ci.acme.dev/api", chosen),
    ("curl --user 'deploy:{}' https://ci.acme.dev", chosen),
    ("sshpass -p {} ssh root@10.0.0.4", chosen),
    ("redis-cli -h cache -a {} ping", chosen),
    ("machine ci.acme.dev login bot password {}", chosen),
    ("CREATE USER app IDENTIFIED BY '{}';", chosen),
    ("Server=db;User Id=sa;Password={};Encrypt=true", chosen),
    ("postgres://app:{}@db.internal:5432/prod", lambda rng: quote(chosen(rng), safe="!$*+")),
    ("mongodb://app:x/{}@cluster0.acme.dev/prod", lambda rng: "#" + chosen(rng).replace("@", "")),
    ("api_key: {}", made),
    ("API_KEY={}", made),
    ('"apiKey": "{}"', made),
    ('{{"client_secret":"{}"}}', made),
    ("secret_key = '{}'", made),
    ("x-api-key: {}", made),
    ('-H "X-Auth-Token: {}"', made),
    ("auth_token => '{}'", made),
    ("  token: {}\n  host: ci", made),
    ("JWT_SECRET={}", made),
    ("my access token is {} for now", made),
    ("ENCRYPTION_KEY={}", made),
    ("https://api.acme.dev/v1/items?api_key={}&page=2", lambda rng: quote(made(rng), safe="")),
    ("tool --api-key {} run", made),
    ("signing_key:\n    {}", made),
    ("Authorization: Bearer {}", made),
]

# ---------------------------------------------------------------- hidden

ZERO_WIDTH = ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\ufe0f", "\u3164"]


def _split(by: str, parts: int = 2) -> Callable[[str], str]:
    def split(key: str) -> str:
        size = -(-len(key) // parts)
        return by.join(key[at : at + size] for at in range(0, len(key), size))

    return split


def _encoded(to: Callable[[bytes], bytes]) -> Callable[[str], str]:
    return lambda key: to(key.encode()).decode()


def _between(*marks: str) -> Callable[[str], str]:
    return lambda key: "".join(c + marks[at % len(marks)] for at, c in enumerate(key))


def _full_width(key: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) for c in key)


HIDING: dict[str, Callable[[str], str]] = {
    "line break": _split("\n"),
    "indented line break": _split("\n    "),
    "windows line break": _split("\r\n"),
    "quoted mail": _split("\n> "),
    "continued line": _split("\\\n"),
    "blank": _split(" "),
    "three pieces": _split(" ", 3),
    "tab": _split("\t"),
    "no-break space": _split("\u00a0"),
    "letter by letter": lambda key: " ".join(key),
    "concatenated": lambda key: f'"{_split(chr(34) + " + " + chr(34))(key)}"',
    "adjacent literals": lambda key: f"'{_split(chr(39) + chr(10) + chr(39))(key)}'",
    "soft mail break": _split("=\n"),
    "zero width": _between(*ZERO_WIDTH),
    "one zero width": lambda key: key[:7] + "\u200b" + key[7:],
    "soft hyphen": _between("\u00ad"),
    "full width": _full_width,
    "bold letters": lambda key: "".join(
        chr(0x1D400 + ord(c) - 65) if c.isupper() else chr(0x1D41A + ord(c) - 97) if c.islower() else c for c in key
    ),
    "percent": lambda key: "".join(f"%{ord(c):02X}" for c in key),
    "some percent": lambda key: "".join(f"%{ord(c):02x}" if at % 3 == 0 else c for at, c in enumerate(key)),
    "unicode escapes": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "hex escapes": lambda key: "".join(f"\\x{ord(c):02x}" for c in key),
    "entities": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "base64": _encoded(base64.b64encode),
    "base64 for urls": _encoded(base64.urlsafe_b64encode),
    "base64 of more": lambda key: base64.b64encode(f"user: ann, key: {key}, done".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "glued before": lambda key: "mytoken" + key,
    "glued after": lambda key: key + "isTheKey",
    "glued both": lambda key: "here" + key + "there",
}

# ---------------------------------------------------------------- names without a secret

NO_SECRETS = [
    "password = ${DB_PASSWORD}",
    "password: $DB_PASSWORD",
    'password = os.environ["DB_PASSWORD"]',
    "password = os.getenv('DB_PASSWORD_2')",
    "const token = process.env.API_TOKEN_V2;",
    "password: {{ vault_db_password_v2 }}",
    "password: !vault |",
    "api_key: <your-api-key-1>",
    "api_key = YOUR_API_KEY_1",
    'api_key="sk-..."',
    "DB_PASSWORD=changeme",
    "DB_PASSWORD=********",
    "DB_PASSWORD=xxxxxxxx1",
    "password: example123",
    "password = 'test1234'",
    "password=password123",
    "token = get_token(user_id2)",
    "token = self.tokens[index2]",
    "token = config.auth.token_v2",
    "secret_key = settings.SECRET_KEY_2",
    "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbC123",
    "password_file: /run/secrets/db_password_1",
    "password: /run/secrets/db_password_1",
    "token_url: https://login.acme.dev/oauth2/token",
    "token: https://vault.acme.dev/v1/secret42",
    "secret_name = db-credentials-v2",
    "password_hash = bcrypt2",
    "token_type: bearer",
    "token_count: 4096",
    "max_tokens = 128000",
    "tokens: 12k used, 30k left",
    "The password is stored in Vault under kv/db2.",
    "The password is hashed with argon2id.",
    "The password is at least 12 characters long.",
    "Passwords: see 1Password, item 42.",
    "password: required|min:8",
    "password: str = Field(min_length=8)",
    "def login(user: str, password: str) -> Token2: ...",
    "private_key: RSAPrivateKey2048",
    "token: OAuth2Token",
    "api_key: Optional[str] = None",
    "The token is 36 characters long, the secret 64.",
    "secret = sha256(data)",
    "Token expires: 2026-11-16T05:40:00Z",
    "auth: oauth2",
    "auth = HTTPBasicAuth2(user, pw)",
    "auth: user-42",
    "keyboard: us-intl2",
    "primary key: order_id2",
    "foreign key: users.id42",
    "key: value1",
    "monkey = gorilla42",
    "compass: N42E13",
    "bypass = yes2",
    "docker run -u 1000:1000 image",
    "chown -R app:app42 /srv",
    "mysql -u root -p shop2",
    "mkdir -p src/v2",
    "ssh -p 2222 host1",
    "tool --password-file /etc/pw1 run",
    "tool --password $PW1 run",
    "next_token: eyJhIjoxfQ2x3y4z5",
    "NextToken = 9f4d9f69-275a-41fe-b58e-2b837bd9ba48",
    "http://localhost:8080/users/@me2",
    "http://host:3000/a1/b2@c3",
    "see https://acme.dev:8443/x#y@z1",
    "[secret:password:ab12] token: [secret:key:cd34]",
    "password = [secret:password:ab12]",
    "the secret of good soup is 2h of time",
    "pass: 12, fail: 3",
    "passed 12 of 14 tests",
    "pw = p1",
    "credentials: include",
    "Authorization: Bearer ${TOKEN_2}",
    "X-Api-Key: {{api_key_2}}",
    "const { apiKey: key2 } = options",
    'password: "Passwort2"',
    "api-key-rotation: 90d",
]
