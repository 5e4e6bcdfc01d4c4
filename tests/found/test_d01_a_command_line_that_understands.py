"""D1: mistyped commands and options and the words of other programs get the right one offered; dates may be told in words;
several ids may be given; `list --user` works."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorist import Memory
from memorist.commands import ARGUMENTS
from memorist.kinds import KEPT_BY, KINDS
from memorist.surfaces.cli.app import COMMANDS, ELSEWHERE, SHELL
from memorist.surfaces.cli.arguments import ON_SEVERAL, moment
from memorist.text.dates import in_words
from surfaces.conftest import Cli

pytestmark = pytest.mark.covers("D1")


# ---------------------------------------------------------------- commands and options


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("add", "remember"), ("search", "recall"), ("delete", "forget"), ("rm", "forget"), ("ls", "list"), ("show", "get"),
     ("rember", "remember"), ("recal", "recall"), ("DOCTOR", "doctor"), ("desing", "design"), ("Search", "recall"),
     ("version", "--version"), ("set", "config set"), ("reset", "erase"), ("clear", "erase"), ("drop", "forget"),
     ("new", "remember"), ("memories", "list"), ("DOCTR", "doctor")],
)  # fmt: skip
def test_the_right_command_is_offered(cli: Cli, typed: str, meant: str) -> None:
    said = cli.inside(typed, "x")
    assert (said.code, said.out) == (2, "")
    assert said.err == f"memorist: there is no command {typed!r}; did you mean {meant!r}?\n"


def test_a_word_that_is_like_nothing_leads_to_the_overview(cli: Cli) -> None:
    for word in ("xyzzy", "init", "pinned"):
        assert cli.inside(word).err == f"memorist: there is no command {word!r}; see `memorist --help`\n"


def test_every_word_of_another_program_leads_to_a_command_of_ours() -> None:
    known = {name.partition(" ")[0] for name in (*COMMANDS, *SHELL)}
    assert {word.partition(" ")[0] for word in ELSEWHERE.values()} <= known | {"--version"} and not set(
        ELSEWHERE
    ) & known


def test_help_is_a_command(cli: Cli) -> None:
    assert cli.inside("help") == cli.inside("--help") == cli.inside() == cli.inside("help", "help")
    assert cli.inside("help", "recall") == cli.inside("recall", "--help")
    assert cli.inside("help", "design", "use") == cli.inside("design", "use", "--help")
    assert cli.inside("--project", "x", "help", "recall") == cli.inside("recall", "--help")
    assert "did you mean 'recall'" in cli.inside("help", "recal").err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("--limt", "--limit"), ("--kinds", "--kind"), ("--as_of", "--as-of"), ("--top", "--limit"), ("--type", "--kind"),
     ("--pinned", """--where '{"pinned": true}'"""), ("--speaker", """--where '{"speaker": "…"}'""")],
)  # fmt: skip
def test_the_right_option_is_offered(cli: Cli, typed: str, meant: str) -> None:
    said = cli.inside("recall", "x", typed, "3")
    assert said.code == 2 and f"option {typed} not recognized; did you mean {meant}?" in said.err


def test_text_that_looks_like_an_option_is_still_told_where_to_go(cli: Cli) -> None:
    assert "text that begins with a dash goes after --" in cli.inside("remember", "--xyzzyx").err


@pytest.mark.parametrize(
    ("words", "meant"),
    [(("remember", "x", "--kind", "descision"), "decision"), (("recall", "x", "--search", "session"), "sessions"),
     (("config", "set", "desing", "x"), "design"), (("config", "get", "xyzzy"), None)],
)  # fmt: skip
def test_the_right_value_is_offered(cli: Cli, words: tuple[str, ...], meant: str | None) -> None:
    said = cli.inside(*words)
    assert said.code == 2
    assert f"; did you mean {meant!r}?" in said.err if meant else "did you mean" not in said.err


def test_the_help_lists_every_kind(cli: Cli) -> None:
    listed = ARGUMENTS["kind"].removeprefix("Its kind: ").partition(", or one")[0].split(", ")
    assert (
        listed == [kind for kind in KINDS if kind not in KEPT_BY]
        and "tool_output" in cli.inside("remember", "--help").out
    )


def test_a_verb_that_the_journal_does_not_have_gets_those_it_has(cli: Cli) -> None:
    cli.inside("remember", "One")
    said = cli.inside("log", "--verb", "foo")
    assert said.code == 0 and "verbs are added, reinforced," in said.err
    assert "verbs are" not in cli.inside("log", "--verb", "erased").err


def test_refusals_speak_as_a_shell_does(cli: Cli) -> None:
    for words in (["forget"], ["erase", "--yes"]):
        assert cli.inside(*words).err == "memorist: name memories, or give a filter such as --tag or --where\n"
    for words in (["forget", "1", "--kind", "fact"], ["forget", "1", "2", "--kind", "fact"]):
        assert "such as --tag or --where; not both" in cli.inside(*words).err
    assert "`review` lists them" in cli.inside("review", "--decide", "approve").err
    assert "project/atlas and what belongs to no project, such as global" in cli.inside("list").err
    assert "set `inject` to push" in cli.inside("context", "x", "--inject", "pull").err


@pytest.mark.parametrize("verb", ["explain", "why-not"])
def test_the_moment_of_asking_is_told_as_such(cli: Cli, verb: str) -> None:
    assert "The moment of asking" in " ".join(cli.inside(verb, "--help").out.split())


# ---------------------------------------------------------------- times

NOW = datetime(2026, 5, 13, 15, 30)


@pytest.mark.parametrize(
    ("said", "begins"),
    [("yesterday", (2026, 5, 12)), ("last week", (2026, 5, 4)), ("two days ago", (2026, 5, 11)), ("March 2025", (2025, 3, 1)),
     ("last Friday", (2026, 5, 8)), ("today", (2026, 5, 13)), (" Yesterday ", (2026, 5, 12))],
)  # fmt: skip
def test_words_mean_the_beginning_of_what_they_name(said: str, begins: tuple[int, int, int]) -> None:
    assert in_words(said, NOW) == datetime(*begins)


@pytest.mark.parametrize(
    "said", ["", "whenever", "yesterday or today", "since yesterday, I think", "a yesterday", "2026-13-01"]
)
def test_what_is_no_time_is_none(said: str) -> None:
    assert in_words(said, NOW) is None


def test_a_time_without_a_zone_is_that_of_the_clock_on_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert moment("2025-01-01", "--as-of") == datetime(2024, 12, 31, 15, tzinfo=UTC)
        assert moment("2025-01-01T12:00", "--as-of") == datetime(2025, 1, 1, 3, tzinfo=UTC)
        assert moment("2025-01-01T12:00+02:00", "--as-of") == datetime(2025, 1, 1, 10, tzinfo=UTC)
        today = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
        assert moment("yesterday", "--as-of") == (today - timedelta(days=1)).astimezone()
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_month_and_a_year_alone_are_times_but_a_number_is_a_memory(cli: Cli) -> None:
    assert moment("2025", "--since") == datetime(2025, 1, 1).astimezone()
    assert moment("May", "--at").month == 5
    assert "no memory '2025'" in cli.inside("timeline", "2025").err


def test_every_option_for_a_time_takes_words(cli: Cli) -> None:
    assert cli.inside("remember", "The sky is blue", "--at", "yesterday").code == 0
    assert cli.inside("remember", "The tide is low", "--valid-from", "last week", "--valid-to", "2030-01-01").code == 0
    assert cli.inside("revise", "1", "--valid-to", "tomorrow").code == 0
    assert cli.inside("recall", "sky", "--as-of", "2025-01-01").out.startswith(
        "what was found was dropped: it was stored later, on 20"
    )
    assert cli.inside("recall", "sky", "--as-of", "yesterday").code == 0
    assert "blue" in cli.inside("recall", "what about the sky yesterday?", "--at", "now").out
    assert [line.split("\t")[0] for line in cli.inside("timeline", "last week").out.splitlines()] == [
        "[id:1]",
        "[id:2]",
    ]
    line = '{"text": "The moon is full", "at": "two days ago"}\n'
    assert cli.inside("remember", "--batch", stdin=line).code == 0
    happened = datetime.fromisoformat(cli.inside("get", "3", "--json").json["times"]["at"])
    assert timedelta(days=1) < datetime.now(UTC) - happened < timedelta(days=4)


def test_a_time_that_is_none_is_refused_with_examples(cli: Cli) -> None:
    said = cli.inside("recall", "x", "--as-of", "whenever")
    assert said.code == 2 and "--as-of takes a time such as 2026-05-01" in said.err and "yesterday" in said.err


# ---------------------------------------------------------------- several ids


@pytest.fixture
def three(cli: Cli) -> Cli:
    for text in ("One is red", "Two is green", "Three is blue"):
        cli.inside("remember", text)
    return cli


def test_several_are_forgotten_in_one_batch_that_one_undo_takes_back(three: Cli) -> None:
    done = three.inside("forget", "1", "2", "--json").json
    assert [each["number"] for each in done["changed"]] == [1, 2] and done["batch"]
    assert three.inside("count").out == "1\n"
    assert three.inside("undo").code == 0
    assert three.inside("count").out == "3\n"


def test_several_are_erased(three: Cli) -> None:
    assert three.inside("erase", "1", "3").code == 5  # without a terminal it wants --yes
    assert three.inside("erase", "1", "3", "--yes").out.startswith("erased: 2 memories")
    assert three.inside("list", "--json").json[0]["text"] == "Two is green"


@pytest.mark.parametrize("verb", ["pin", "unpin", "restore"])
def test_several_are_changed_and_each_is_told(three: Cli, verb: str) -> None:
    if verb == "restore":
        three.inside("forget", "1", "2")
    told = three.inside(verb, "2", "1", "2").out.splitlines()
    assert [line.partition(":")[2].partition("]")[0] for line in told] == ["2", "1"]
    assert [each["record"]["number"] for each in three.inside(verb, "1", "2", "--json").json] == [1, 2]


def test_several_are_shown(three: Cli) -> None:
    shown = three.inside("get", "1", "3").out
    assert shown.index("One is red") < shown.index("\n\n[id:3]") < shown.index("Three is blue")
    assert [each["number"] for each in three.inside("get", "3", "1", "--json").json] == [3, 1]
    assert three.inside("get", "3", "--json").json["number"] == 3


@pytest.mark.parametrize("verb", ON_SEVERAL)
def test_a_wrong_one_among_several_changes_nothing(three: Cli, tmp_path: Path, verb: str) -> None:
    if verb == "restore":
        three.inside("forget", "1")
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        before = memory.list({"state": {"$in": ["active", "archived"]}}), memory.audit().events
    refused = three.inside(verb, "1", "99", *(["--yes"] if verb == "erase" else []))
    assert refused.code == 3 and "no memory '99'" in refused.err
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        assert (memory.list({"state": {"$in": ["active", "archived"]}}), memory.audit().events) == before


def test_an_id_is_missing_and_an_id_too_many(three: Cli) -> None:
    assert "ID is missing" in three.inside("pin").err
    assert "put a text" not in three.inside("history", "1", "2").err
    assert "put a text of several words in quotes" in three.inside("remember", "two", "words").err
    assert "not both" in three.inside("forget", "1", "2", "--kind", "fact").err


# ---------------------------------------------------------------- a user


def test_a_list_of_one_user(cli: Cli) -> None:
    cli.inside("remember", "Ann likes tea", "--user", "ann")
    cli.inside("remember", "Ben likes milk", "--user", "ben")
    assert cli.inside("list", "--user", "ann").out.splitlines()[0].endswith("\tAnn likes tea")
    assert cli.inside("count", "--user", "ben").out == "1\n"
    assert cli.inside("timeline", "--user", "ben").out.count("Ben") == 1
    assert cli.by_hand("forget", "--user", "ann").out.startswith("forgotten: 1 memory")
    assert "give it once" in cli.inside("list", "--user", "ann", "--where", '{"scope": "user/ann"}').err
