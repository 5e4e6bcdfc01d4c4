"""Findings by rules: what is worth keeping in a text is a piece of that text, and most of a text is not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.access import Access
from memorist.errors import Invalid, Refused
from memorist.noun import plain
from memorist.remember.extract import MOST_FINDINGS, extract, without_typed

SHELL = """I ran the tests.

$ pytest tests/test_pay.py
FAILED tests/test_pay.py::test_empty - AssertionError
1 failed, 3 passed
$ vi src/pay.py
$ pytest tests/test_pay.py
4 passed in 0.2s
"""


def kinds(text: str, role: str | None = None) -> list[tuple[str, str]]:
    return [(finding.kind, finding.text) for finding in extract(text, role)]


@pytest.mark.covers("S3-4", "C3-8")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("We decided to use Postgres 16 for staging.", "decision"),
        ("Decision: the API stays on version 2.", "decision"),
        ("Let's go with the queue instead of cron.", "decision"),
        ("Never push to main without a review.", "warning"),
        ("Warning: the importer drops empty lines.", "warning"),
        ("Don't call flush inside of a transaction.", "warning"),
        ("I prefer tabs for indentation.", "preference"),
        ("Please always answer in German.", "preference"),
        ("By convention test files end in _test.py.", "convention"),
        ("We always squash before merging.", "convention"),
        ("The root cause was a stale lock file.", "error"),
        ("It crashes because the cache is empty at start.", "error"),
        ("Correction: the port is 8443, not 8080.", "correction"),
        ("Edited src/pay/sign.py to handle empty bodies", "file_change"),
        ("Wrote `docs/guide.md`", "file_change"),
        ("ValueError: bad padding in the token", "error"),
        ("error[E0308]: mismatched types in lib.rs", "error"),
        ("Q: Which port does staging use?\nA: It uses 8443.", "fact"),
    ],
)
def test_each_rule_finds_its_kind(text: str, kind: str) -> None:
    [(found, said)] = kinds(text)
    assert (found, said) == (kind, text)


@pytest.mark.parametrize(
    "text",
    [
        "We decided to meet Dr. Huber on Mondays.",
        "We decided to use e.g. Redis for the queue.",
        "We decided to go with St. Gallen and Mt. Rigi.",
        "Never deploy at 5 p.m. on Fridays.",
        "We decided to mirror logs, dumps etc. to Lisbon.",
        "We decided to keep invoice No. 7 open.",
        "Wir haben beschlossen, z. B. Redis und Hr. Maier usw. zu nehmen.",
        "We decided to write to M. Dupont, Sra. Ruiz and bijv. Jansen.",
        "We decided to send т. е. Иван и ул. Ленина, д. 5.",
    ],
)
def test_an_abbreviation_does_not_end_a_finding(text: str) -> None:
    assert [said for _, said in kinds(f"Fine. {text} Good.")] == [text]


def test_a_sentence_may_end_in_an_abbreviation_or_in_a_word_like_one() -> None:
    said = "We never deploy after 5 p.m. We decided to use Postgres 16. No. We decided to keep it on plan B. Done."
    assert "We decided to use Postgres 16." in [text for _, text in kinds(said)]
    assert "We decided to keep it on plan B." in [text for _, text in kinds(said)]


@pytest.mark.parametrize("text", ["Remember that.", "Please remember this!", "Remember it: that.", "Merk dir das."])
def test_a_wish_that_names_nothing_is_not_kept(text: str) -> None:
    assert extract(text, "user") == []


@pytest.mark.parametrize(
    "text",
    [
        "Should we decide to use Postgres 16?",
        "If we decided to use Postgres, the import would be slower.",
        "Maybe we should never push to main.",
        "I am not sure whether we agreed on that name.",
        "The weather is nice and the tests are green.",
        "> We decided to use Postgres 16 for staging.",
        "```\nWe decided to use Postgres 16 for staging.\n```",
        "I prefer it.",
        "What is the port?",
        "Thanks, that helps a lot!",
        "",
        "   \n\n ",
    ],
)
def test_questions_suppositions_quotes_and_small_talk_are_not_findings(text: str) -> None:
    assert extract(text) == []


@pytest.mark.covers("C3-8")
def test_relevance_is_the_documents_own_number_and_confidence_is_that_of_a_rule() -> None:
    wanted = {
        "Edited src/pay.py to sign bodies": ("file changed", 0.8),
        "$ make build\nmake: no rule, failed badly": ("failed command", 0.7),
        "$ ls -la src\npay.py  sign.py": ("command", 0.5),
        "Read src/pay.py from the start": ("file read", 0.6),
        "Traceback (most recent call last):\n  File 'x'\nKeyError: 'body'": ("error block", 0.9),
        "User: which port is it?\nAssistant: It is 8443.": ("question and answer", 0.7),
    }
    for text, (rule, relevance) in wanted.items():
        [found] = extract(text)
        assert (found.rule, found.relevance, found.confidence) == (rule, relevance, 0.6), text


@pytest.mark.covers("C3-8")
def test_at_most_eight_of_a_message_and_those_that_matter_most() -> None:
    reads = "\n".join(f"Read src/file{n}.py again" for n in range(20))
    errors = "\n".join(f"ValueError: bad padding number {n}" for n in range(5))
    found = extract(reads + "\n" + errors)
    assert len(found) == MOST_FINDINGS
    assert [each.kind for each in found].count("error") == 5
    assert [each.start for each in found] == sorted(each.start for each in found)


@pytest.mark.covers("S3-19")
def test_an_error_is_resolved_only_by_a_later_success_of_the_same() -> None:
    [error] = [each for each in extract(SHELL) if each.kind == "error"]
    assert (error.resolved, error.subject, error.files) == (True, "pytest tests/test_pay.py", ("tests/test_pay.py",))
    other = SHELL.replace("$ pytest tests/test_pay.py\n4 passed", "$ pytest tests/test_other.py\n4 passed")
    [error] = [each for each in extract(other) if each.kind == "error"]
    assert not error.resolved
    before = "$ make test\n4 passed\n$ make test\n1 failed: test_empty\n"
    [error] = [each for each in extract(before) if each.kind == "error"]
    assert not error.resolved


def test_a_count_of_no_failures_is_a_success() -> None:
    [found] = extract("$ npm test\n12 passed, 0 failed\n")
    assert (found.kind, found.worked) == ("tool_output", True)


@pytest.mark.covers("S3-20")
def test_only_a_person_can_ask_for_something_to_be_remembered() -> None:
    text = "Please remember that deploys run on Fridays."
    [found] = extract(text, "user")
    assert (found.text, found.asked_for, found.relevance) == ("deploys run on Fridays.", True, 0.8)
    assert not any(each.asked_for for role in ("assistant", "tool", None) for each in extract(text, role))
    assert extract("Do you remember that deploys run on Fridays?", "user") == []


def test_what_a_person_typed_to_last_is_marked() -> None:
    said = "From now on we use ruff."
    assert [each.typed for each in extract(said, "user")] == [True]
    for text, role in ((said, "assistant"), (said, None), (f"{said}\n$ make", "user"), ("The test fails.", "user")):
        assert not any(each.typed for each in extract(text, role)), text


WORK = (
    "Fix the login test, but don't change the fixture.",
    "Write a migration that always uses UTC, and don't touch the old one.",
    "We decided on a retry policy last week; implement it in client.py",
    "Use black instead of ruff for the formatter in ci.yml",
    "we no longer use jest, migrate the remaining tests to vitest",
    "Add a decision record for the cache: we decided to use Redis",
    "I prefer the approach from last week for pagination, please apply it",
    "Note the failing test in test_login.py and fix it",
    "Remember the port we agreed on and put it into config.py",
    "Never mind, how do we deploy to staging?",
    "What did we agree on, and why do we never use tabs?",
    "Always fails with a timeout on CI",
    "Nimm statt npm bitte pnpm im Dockerfile",
    "Wir haben uns letzte Woche für Redis entschieden, bau das ein",
)


@pytest.mark.parametrize("prompt", WORK)
def test_an_order_for_one_piece_of_work_is_asked_whole_and_does_not_last(prompt: str) -> None:
    assert without_typed(prompt) == prompt
    assert not any(each.typed for each in extract(prompt, "user"))


@pytest.mark.parametrize(
    "said",
    [
        "from now on we name branches after tickets",
        "ab jetzt nehmen wir pnpm",
        "Always run make lint before you push.",
        "Never push to main directly.",
        "Niemals direkt auf main pushen.",
        "Remember: staging needs the VPN.",
        "note: the tests need docker",
        "merk dir: wir nehmen pnpm",
        "We decided to use Redis for the cache.",
        "ok, we agreed that errors are problem documents",
        "Wir haben uns für Redis entschieden.",
        "ok. and remember for later: short flags are for what ripgrep has",
        "decision: no pager by default any more",
    ],
)
def test_what_is_to_last_asks_for_nothing(said: str) -> None:
    assert [each.typed for each in extract(said, "user")] == [True]
    assert without_typed(said) in ("", "ok.")


def test_what_is_to_last_and_asks_for_work_in_one_sentence_is_asked_whole() -> None:
    prompt = "From now on we use UTC, fix the migration"
    assert [each.typed for each in extract(prompt, "user")] == [True]
    assert without_typed(prompt) == prompt


def test_what_a_person_asks_for_gets_the_kind_that_its_words_have() -> None:
    assert kinds("Remember: I prefer short answers.", "user") == [("preference", "I prefer short answers.")]
    assert kinds("Keep in mind that we decided to drop Python 3.10.", "user") == [
        ("decision", "we decided to drop Python 3.10.")
    ]


@given(st.text(max_size=400), st.sampled_from(["user", "assistant", "tool", None]))
def test_nothing_is_invented(text: str, role: str | None) -> None:
    pieces = ["We decided to use Postgres 16. ", "\n$ make\nerror: no\n", text, "\nI prefer tabs for code.\n", text]
    whole = "".join(pieces)
    for found in extract(whole, role):
        assert found.text in whole
        assert found.text in whole[found.start : found.end]
        assert found.snippet in whole
        assert all(file in whole for file in found.files)
    assert len(extract(whole, role)) <= MOST_FINDINGS


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a/",
        "I prefer ",
        "$ ",
        "we ",
        ".",
        "\n",
        "a.",
        "error:",
        "\n$ a",
        "\nFAILED x",
        "\nq: a?\na: b",
        "edited ",
        "(/",
        "i, ",
        "'d, ",
        "wenn mehr ",
        "if we would, and i'm not ",
        "the the my my ",
    ],
)
def test_no_text_makes_it_slow(unit: str) -> None:
    """Twice the text takes about twice the time; a pattern that goes wild takes minutes for the longer one."""
    text = unit * (100_000 // len(unit))
    started = time.process_time()
    extract(text)
    extract(text + text)
    assert time.process_time() - started < 10


def test_forty_thousand_different_findings_are_no_burden() -> None:
    text = " ".join(f"I prefer number {n} now." for n in range(40_000))
    started = time.process_time()
    assert len(extract(text)) == MOST_FINDINGS
    assert time.process_time() - started < 10


# ---------------------------------------------------------------- the verb


@pytest.mark.covers("S3-4")
def test_findings_pass_the_gate_as_candidates_of_their_session(memory: Memory) -> None:
    text = "Hello. We decided to use Postgres 16 for staging. Bye."
    [outcome] = memory.extract(text, session="s1", agent="claude", role="assistant", message=7)
    record = outcome.record
    assert record is not None and outcome.outcome == "added"
    assert (record.scope, record.kind, record.status, record.trust) == ("session/s1", "decision", "candidate", "medium")
    assert (record.importance, record.confidence) == (0.8, 0.6)
    assert record.data == {"rule": "decision", "home": "project/atlas"}
    said = record.provenance
    assert (said.session, said.agent, said.role, said.messages) == ("s1", "claude", "assistant", (7, 7))
    assert said.snippet == text
    assert said.confidence_because == "found by a rule: decision"
    assert memory.history(record.id)[0].verb == "added"
    memory.undo()
    assert memory.get(record.id).state == "archived"


def test_findings_are_not_recalled_outside_of_their_session(memory: Memory) -> None:
    memory.extract("We decided to use Postgres 16 for staging.", session="s1")
    assert len(memory.recall("which database does staging use: Postgres?")) == 0
    assert len(memory.recall("which database does staging use: Postgres?", session="s1")) == 1


def test_a_secret_in_a_finding_is_redacted(memory: Memory) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    [outcome] = memory.extract(f"We decided to use the token {token} for staging.", session="s1")
    assert outcome.record is not None
    assert token not in repr(plain(outcome.record))


def test_extracting_the_same_again_adds_nothing(memory: Memory) -> None:
    text = "We decided to use Postgres 16 for staging."
    memory.extract(text, session="s1", agent="claude")
    [again] = memory.extract(text, session="s1", agent="gemini")
    assert again.outcome == "reinforced"
    assert memory.count({"scope": "session/s1"}) == 1
    assert memory.get(1).data["agents"] == ["claude", "gemini"]
    memory.extract(text, session="s1", agent="gemini")
    assert memory.get(1).data["agents"] == ["claude", "gemini"]


@pytest.mark.covers("Z3")
def test_a_finding_is_trusted_no_more_than_its_source_and_its_finder(memory: Memory) -> None:
    text = "We decided to use Postgres 16 for {}."
    user = memory.through(Access(**{**_given(memory.access), "origin": "user"}))
    imported = memory.through(Access(**{**_given(memory.access), "origin": "import"}))
    by_role = [
        memory.extract(text.format(role), session="s", role=role)[0].record for role in ("user", "assistant", "tool")
    ]
    assert [record.trust for record in by_role if record] == ["medium", "medium", "low"]
    [typed] = user.extract(text.format("the user"), session="s", role="user")
    [read] = imported.extract(text.format("a file"), session="s", role="user")
    assert typed.record is not None and read.record is not None
    assert (typed.record.trust, read.record.trust) == ("medium", "low")


def _given(access: Access) -> dict[str, object]:
    return {name: getattr(access, name) for name in ("space", "reads", "writes", "role", "actor", "surface")}


def test_bad_input_is_refused_with_the_next_step(memory: Memory) -> None:
    for arguments, words in (
        ({"text": "x y z"}, "session is missing"),
        ({"text": "", "session": "s"}, "the text is empty"),
        ({"text": 7, "session": "s"}, "must be text"),
        ({"text": "x", "session": "s", "message": -1}, "message must be a whole number"),
        ({"text": "x", "session": "s", "role": ""}, "the role is empty"),
        ({"text": "x", "session": "a//b"}, "empty part"),
    ):
        with pytest.raises(Invalid, match=words):
            memory.extract(**arguments)  # type: ignore[arg-type]
    assert memory.extract("Nothing to see here.", session="s") == []


def test_while_memory_is_off_nothing_is_extracted(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_OFF", "1")
    with pytest.raises(Refused):
        memory.extract("We decided to use Postgres 16 for staging.", session="s1")
