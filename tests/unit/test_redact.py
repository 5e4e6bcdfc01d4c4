"""Are secrets taken out, all of them, and nothing else? No real key is in here: every sample is generated."""

import random
import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist.redact import Redactor, Secret, too_plain
from memorist.redact.formats import GLUED, RULES, Rule
from memorist.redact.scan import everywhere
from trust.secret_samples import CONTEXTS, FORMATS, FRAMES, HIDING, NAMED, PLACEHOLDERS, key_block, make, negatives

redactor = Redactor(b"a test key")


@pytest.mark.covers("S3-26")
@pytest.mark.parametrize("format", FORMATS, ids=lambda format: f"{format[0]}-{format[1]}"[:30])
def test_every_format_is_found_in_every_frame(format: tuple) -> None:
    rng = random.Random(f"{format}")
    for frame in FRAMES:
        for _ in range(rounds(5)):
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
    key = make(random.Random("fresh"), FORMATS[0][1:])
    for text in (key, "AUTHORIZATION: Basic dTpw", "a://b:c9@d"):
        everywhere.cache_clear()
        assert Redactor(b"key").find(text), text
    everywhere.cache_clear()
    assert Redactor(b"key").find("which port does the billing service run on?") == []
    assert everywhere.cache_info().currsize == 0


SHORTEST_RUN = re.compile(r"\{(\d+),\d*\}")


@pytest.mark.parametrize("rule", [*RULES, *GLUED], ids=lambda rule: rule.type)
def test_nothing_that_a_rule_fits_is_plain(rule: Rule) -> None:
    fits = SHORTEST_RUN.sub(r"{\1}", rule.pattern.replace(r"\z", r"\Z"))
    texts = st.from_regex(fits, fullmatch=True, alphabet=st.characters(codec="ascii"))

    @settings(max_examples=rounds(250), suppress_health_check=list(HealthCheck), deadline=None)
    @given(texts)
    def law(text: str) -> None:
        assert not too_plain(text)

    law()


def test_no_secret_is_plain_however_it_is_written_and_hidden() -> None:
    rng, redactor = random.Random("plain"), Redactor(b"key")
    redactor.redact("password = x9Kq2LmP7v")  # builds the rules, so that plain texts are looked at too
    keys = [make(rng, parts) for _, *parts in FORMATS]
    hidden = (hide(key) for key in keys for hide in HIDING.values())
    framed = (frame.format(make(rng, parts)) for _, frame, parts in CONTEXTS)
    named = (frame.format(value(rng)) for frame, value in NAMED for _ in range(rounds(50)))
    short = (
        "db_pw = s3cr3t-7x",
        "dbPw: s3cr3t-7x",
        "dropbox = k3jd8s0aqpz71mx",
        "-u me:hunter22",
        "--user me:hunter22",
    )
    written = (frame.format(text) for frame in FRAMES for text in (*keys, *hidden))
    assert [text for text in (*written, *framed, *named, *short) if too_plain(text) and redactor.find(text)] == []


@pytest.mark.parametrize("blank", ["\f", "\v", "\x1c", "\x1f"])
def test_no_blank_inside_of_the_beginning_of_a_key_makes_it_plain(blank: str) -> None:
    rng, redactor = random.Random(f"beginning {blank!r}"), Redactor(b"key")
    redactor.redact("password = x9Kq2LmP7v")  # builds the rules, so that plain texts are looked at too
    keys = [make(rng, parts) for _, *parts in FORMATS]
    broken = [f"......{key[:2]}{end}{key[2:]}" for key in keys for end in (f"\n{blank}", f"'{blank}+ '")]
    found = [text for text in broken if redactor.find(text)]
    assert len(found) > len(FORMATS)
    assert [text for text in found if too_plain(text)] == []


def test_ids_and_long_words_are_plain() -> None:
    for text in (
        "session 0b0f5d4c-58c6-4b6c-9a57-2c1f6a3e9d10 of project/github.com/acme/webshop",
        "src/billing/internationalization.py handles getUserByInvoiceNumber, since 2024-03-01",
    ):
        assert too_plain(text)


def test_a_long_text_is_given_to_the_rules_and_not_looked_through_twice() -> None:
    assert too_plain("which port does it use? " * 100) and not too_plain("which port does it use? " * 1000)


def test_a_text_is_judged_by_itself_whatever_was_looked_at_before_it() -> None:
    plain, secret = "which port does billing use?", make(random.Random("again"), FORMATS[0][1:])
    one = Redactor(b"key")
    for text in (plain, f"{plain} {secret}", plain, "", secret, plain, f"{secret} {plain}"):
        assert [each.type for each in one.find(text)] == ([FORMATS[0][0]] if secret in text else [])
        assert (one.redact(text) == text) == (secret not in text)


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


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_documented_placeholders_stay(text: str) -> None:
    assert redactor.find(text) == []


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


@given(st.lists(pieces, max_size=8).map("".join))
@example("://u:a[secret:jwt:ab12]b@host")
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redactor.redact(text)
    assert redactor.redact(once) == once
    assert redactor.find(once) == []


@given(st.text(st.characters(codec=None)))
@example("\ud800://a:\udfff@b\0")
def test_any_text_can_be_redacted(text: str) -> None:
    redacted = redactor.redact(text)
    assert redacted == text or "[secret:" in redacted


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
