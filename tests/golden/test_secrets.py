"""A secret is stored nowhere, whichever way it comes in; what only looks like one stays as it was said."""

import json
import random
import string
from pathlib import Path
from typing import Any

import pytest

from golden.conftest import rounds
from golden.driver import Error, Lib, serving, speaking
from golden.outside_fixtures import lib_in, shell_in
from golden.test_erased import found_in

ALNUM, HEX, DIGITS = string.ascii_letters + string.digits, "0123456789abcdef", string.digits
WORD, UPPER = ALNUM + "_-", string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
# What a key is made of: text as it is, or an alphabet and a length. Prefixes are cut so that scanners stay quiet.
FORMATS: dict[str, tuple[Any, ...]] = {
    "aws": ("AK" + "IA", (BASE32, 16)), "github": ("gh" + "p_", (ALNUM, 36)), "github pat": ("github" + "_pat_", (ALNUM + "_", 82)),
    "gitlab": ("gl" + "pat-", (WORD, 20)), "slack": ("xo" + "xb-", (DIGITS, 12), "-", (DIGITS, 12), "-", (ALNUM, 24)),
    "stripe": ("sk" + "_live_", (ALNUM, 24)), "anthropic": ("sk-" + "ant-api03-", (WORD, 93), "AA"),
    "openai": ("sk-", (ALNUM, 20), "T3Blbk" + "FJ", (ALNUM, 20)), "google": ("AI" + "za", (WORD, 35)),
    "npm": ("np" + "m_", (ALNUM, 36)), "pypi": ("pypi-" + "AgEIcHlwaS5vcmc", (WORD, 150)), "twilio": ("S" + "K", (HEX, 32)),
    "sendgrid": ("S" + "G.", (WORD, 22), ".", (WORD, 43)), "hugging face": ("h" + "f_", (string.ascii_letters, 34)),
    "databricks": ("da" + "pi", (HEX, 32)), "digitalocean": ("do" + "p_v1_", (HEX, 64)), "shopify": ("shp" + "at_", (HEX, 32)),
    "jwt": ("ey" + "J", (WORD, 30), ".ey" + "J", (WORD, 60), ".", (WORD, 43)), "vault": ("hv" + "s.", (WORD, 95)),
    "doppler": ("dp" + ".pt.", (ALNUM, 43)), "linear": ("lin" + "_api_", (ALNUM, 40)),
    "postman": ("PM" + "AK-", (HEX, 24), "-", (HEX, 34)), "pulumi": ("pu" + "l-", (HEX, 40)),
    "new relic": ("NR" + "AK-", (UPPER, 27)), "grafana": ("gl" + "sa_", (ALNUM, 32), "_", (HEX, 8)),
    "figma": ("fi" + "gd_", (WORD, 40)), "docker": ("dckr" + "_pat_", (WORD, 27)), "groq": ("gs" + "k_", (ALNUM, 52)),
}  # fmt: skip
SHAPES = ("postgres://app:{}@db.example/app", "DB_PASSWORD={}", "Authorization: Bearer {}", "client_secret: '{}'")
FRAMES = (
    "my key is {}.",
    "export TOKEN={}",
    '{{"key":"{}"}}',
    "curl 'https://api.test/v1?key={}&page=2'",
    "({})",
    "see `{}` please",
)
HARMLESS = (
    "commit 3f2a9c1d4b5e6f708192a3b4c5d6e7f8091a2b3c is on main", "id 123e4567-e89b-12d3-a456-426614174000 was imported",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= in the lock file", "set API_KEY=<your key here> first",
    "the password is in the vault", "see src/memorist/store/sqlite/connections.py line 12", "token budget: 1500",
    "passwords are hashed with argon2id", "m01kdvdna00jnzshg3arkpe9rs4 is a memory", "AKIAIOSFODNN7EXAMPLE is the documented one",
)  # fmt: skip


def key(name: str, dice: random.Random) -> str:
    parts = FORMATS[name]
    return "".join(part if isinstance(part, str) else "".join(dice.choices(part[0], k=part[1])) for part in parts)


def secret(dice: random.Random) -> str:
    return "".join(dice.choices(ALNUM, k=10)) + "aB3" + "".join(dice.choices(ALNUM, k=15))


@pytest.mark.covers("Z16")
@pytest.mark.parametrize("name", FORMATS)
def test_a_key_of_every_maker_is_replaced_in_any_surroundings(lib: Lib, name: str) -> None:
    dice = random.Random(name)
    for frame in FRAMES:
        for _ in range(rounds(50)):
            token = key(name, dice)
            kept = lib.keep(f"{frame.format(token)} Number {dice.random()}")
            assert token not in kept.record.text, frame
            assert "Number" in kept.record.text, "the rest is as it was said"


@pytest.mark.covers("Z16")
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_called_a_secret_is_one(lib: Lib, shape: str) -> None:
    dice = random.Random(shape)
    for number in range(rounds(200)):
        value = secret(dice)
        assert value not in lib.keep(f"{shape.format(value)} and number {number}").record.text


@pytest.mark.covers("Z16")
def test_a_private_key_goes_whole_also_where_its_end_is_missing(lib: Lib) -> None:
    dice = random.Random("pem")
    body = "\n".join("".join(dice.choices(ALNUM + "+/", k=64)) for _ in range(6))
    begin, end = "-----BEGIN RSA PRIVATE" + " KEY-----", "-----END RSA PRIVATE" + " KEY-----"
    for text in (f"{begin}\n{body}\n{end}", f"{begin}\n{body}"):
        assert not any(line in lib.keep(f"The key:\n{text}").record.text for line in body.splitlines())


@pytest.mark.covers("Z16")
@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_one_stays(lib: Lib, text: str) -> None:
    assert lib.keep(text).record.text == text


@pytest.mark.covers("Z16", "B10")
def test_no_field_and_no_verb_lets_one_through(tmp_path: Path) -> None:
    dice, used = random.Random("fields"), list[str]()

    def token() -> str:
        used.append(key("github", dice))
        return used[-1]

    with Lib(tmp_path / "memory.db") as lib:
        number = lib.keep("The relay is in cabinet 4").record.number
        for field in ("title", "session", "speaker", "agent", "task", "key", "season"):
            try:
                lib.keep(f"A text with a {field}", **{field: token()})
            except Error as problem:
                assert used[-1] not in str(problem), "nor does an error repeat it"
        lib.keep("With tags and more", tags=[token()], files=[f"{token()}.py"], data={"deep": [token()], token(): 1})
        lib.keep_many([f"the first of many: {token()}", {"text": token(), "kind": "note"}])
        lib.change(number, f"The relay is in {token()}", because=f"for {token()}")
        lib.call("forget", number, because=token())
        lib.call("restore", number)
        lib.find(f"where is {token()}?")
        lib.prompt(f"where is {token()}?")
        lib.call("extract", f"We decided to use {token()} for the relay.", session="s1")
        with lib.session("s2") as talk:
            talk.turn("user", f"my token is {token()}", id="m1")
            talk.tool_call("curl", {"header": token()}, id="c1")
            talk.tool_result("c1", f"error: {token()}")
            talk.note(f"remember {token()}")
        lib.link(1, 2, evidence=f"both say {token()}")
        assert lib.call("audit").ok
    assert found_in(tmp_path, used) == []


@pytest.mark.covers("Z16")
def test_no_door_lets_one_through(tmp_path: Path) -> None:
    dice, shell = random.Random("doors"), shell_in(tmp_path)
    tokens = [key("github", dice) for _ in range(9)]
    told = shell("remember", f"The relay is opened with {tokens[0]}")
    assert tokens[0] not in told.text and "relay" in told.data["record"]["text"]
    shell("recall", f"what is {tokens[1]}?")
    (shell.folder / "notes.md").write_text(f"- The lock is opened with {tokens[2]}\n")
    shell("import", "notes.md")
    transcript = {"type": "user", "uuid": "u1", "sessionId": "s1", "timestamp": "2026-05-06T12:00:00Z"}
    said = {"role": "user", "content": f"We decided to open it with {tokens[3]}"}
    (tmp_path / "s1.jsonl").write_text(json.dumps({**transcript, "message": said}) + "\n")
    shell.hook("claude-code", "compact", transcript_path=str(tmp_path / "s1.jsonl"))
    shell.hook("claude-code", "prompt", prompt=f"what was opened with {tokens[4]}?")
    with serving(shell) as web:
        assert tokens[5] not in web("remember", text=f"The gate opens with {tokens[5]}").text
        web("remember", text="x", kind=tokens[6])
    with speaking(shell) as agent:
        assert tokens[7] not in agent("remember", text=f"The door opens with {tokens[7]}").text
        agent("recall", query=f"what is {tokens[8]}?")
    for file in ("notes.md", "../s1.jsonl"):  # the user's own
        (shell.folder / file).unlink()
    with lib_in(tmp_path) as lib:
        assert len(lib.all({"kind": {"$ne": "session"}})) >= 5
    assert found_in(tmp_path, tokens) == []


@pytest.mark.covers("Z16", "P12")
def test_a_secret_that_was_replaced_is_found_by_the_rest_of_its_text(lib: Lib) -> None:
    token = key("github", random.Random(1))
    lib.keep(f"The relay in cabinet 4 is opened with {token}")
    assert lib.find("how is the relay opened?") and not lib.find(token, min_relevance=0.5)
    assert lib.keep(f"The relay in cabinet 4 is opened with {token}").outcome == "reinforced", (
        "the same is known as the same"
    )
