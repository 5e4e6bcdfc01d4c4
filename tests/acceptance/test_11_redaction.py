"""Acceptance 11: secrets are replaced wherever they stand and however they come in, and honest text stays as it was."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist import Memory
from memorist.files.transfer import import_files

HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
JWT = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
    + "eyJzdWIiOiIxMjM0NTY3ODkwIn0."
    + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
)
BODY = "MIIEpAIBAAKCAQEA" + "x7Qk2p9Zt4" * 8
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + BODY + "\n-----END RSA PRIVATE KEY-----"
KEY = "sk-ant-" + "api03-" + "Ab3dE5fG7h" * 9
SECRETS = {  # a text, and what must not be left of it
    "hex of 64": (f"api_key = {HEX}", HEX),
    "UUID": (f"client_secret = {UUID}", UUID),
    "JWT": (f"The token is {JWT} for now", JWT),
    "PEM with its body": (f"The deploy key:\n{PEM}\nis old", BODY),
    "connection string": ("The database is postgres://ann:" + "s3cr3tPa55@db.internal:5432/app", "s3cr3tPa55"),
    "key repeated twice": (f"Use {KEY}, that is {KEY}, for the demo", KEY),
}
HONEST = [
    "src/memorist/remember/gate.py calls aVeryLongCamelCaseFunctionNameForTests in tests/unit/test_gate.py",
    f"The checkpoint has the sha256 {HEX}",
    f"Order {UUID} was shipped on Friday",
    "The fix is commit 009f1a3c5b7d9e1f2a4b6c8d0e2f4a6b8c0d2e4f",
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
        yield memory


def everything(memory: Memory) -> str:
    """All that is stored, the bytes of its files included."""
    memory._writer.flush()
    store = Path(memory.status()["store"])
    return "".join(path.read_bytes().decode("latin-1") for path in store.parent.glob(store.name + "*"))


@pytest.mark.covers("S3-26", "W3-10", "Z16")
@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_is_stored(memory: Memory, name: str) -> None:
    text, secret = SECRETS[name]
    kept = memory.remember(text).record
    assert kept is not None and "[secret:" in kept.text and secret not in kept.text
    assert secret not in everything(memory)


@pytest.mark.covers("S3-26", "W3-10", "Z16")
def test_nor_in_a_path_or_a_tag(memory: Memory) -> None:
    kept = memory.remember("The key file is there", files=[f"keys/{KEY}.txt"], tags=[KEY[:60]]).record
    assert kept is not None and kept.files[0].startswith("keys/[secret:") and kept.tags[0].startswith("[secret:")
    assert KEY[:60] not in everything(memory)


@pytest.mark.covers("W1-4", "Z16")
@pytest.mark.parametrize("name", SECRETS)
def test_nor_by_an_update_or_an_import(memory: Memory, tmp_path: Path, name: str) -> None:
    text, secret = SECRETS[name]
    first = memory.remember("To be revised").id or ""
    assert memory.revise(first, text) and "[secret:" in memory.get(first).text
    file = tmp_path / "brought.json"
    brought = [{"id": "a1", "memory": f"Brought along: {text}", "created_at": "2026-01-01T10:00:00Z"}]
    file.write_text(json.dumps({"results": brought}), encoding="utf-8")
    import_files(memory, [file])
    found = [record for record in memory.list(limit=10) if record.text.startswith("Brought along")]
    assert len(found) == 1 and "[secret:" in found[0].text and secret not in everything(memory)


@pytest.mark.covers("S3-26", "W3-10")
@pytest.mark.parametrize("text", HONEST)
def test_honest_text_stays_as_it_was(memory: Memory, text: str) -> None:
    kept = memory.remember(text).record
    assert kept is not None and kept.text == text
