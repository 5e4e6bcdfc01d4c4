"""Conversations at the command line, as people keep them turn by turn."""

import json

import pytest

from surfaces.conftest import Cli


def test_a_conversation_is_kept_turn_by_turn(cli: Cli) -> None:
    assert cli.inside("session", "turn", "s1", "user", "What runs on staging?").code == 0
    assert cli.inside("session", "turn", "s1", "assistant", stdin="Postgres 16").code == 0
    assert cli.inside("session", "note", "s1", "Staging is small", "--kind", "fact").code == 0
    shown = cli.inside("session", "show", "s1").out
    assert "s1: open" in shown and "user: What runs on staging?" in shown and "assistant: Postgres 16" in shown
    assert cli.inside("session", "fork", "s1", "s2").out.strip() == "s2: forked from s1"
    assert [len(cli.inside("session", "show", id, "--json").json["turns"]) for id in ("s1", "s2")] == [2, 2]
    assert cli.inside("session", "close", "s1").code == 0
    listed = [line.split("\t")[:3] for line in cli.inside("session", "list").out.splitlines()]
    assert listed == [["s1", "closed", "2"], ["s2", "open", "0"]]
    assert [line.split("\t")[0] for line in cli.inside("session", "list", "--state", "open").out.splitlines()] == ["s2"]
    assert cli.inside("session", "fork", "s1", "s3").code == 0
    assert [line.split("\t")[0] for line in cli.inside("session", "list", "--state", "closed").out.splitlines()] == [
        "s1"
    ]


def test_the_end_of_a_conversation_names_its_summary_and_findings(cli: Cli) -> None:
    said = "We decided to parse emails with the standard library", "Good.", "Never deploy on Fridays", "I will not."
    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(said)]
    cli.inside("ingest", "-", "--session", "s1", stdin=json.dumps(messages))
    first, *rest = cli.inside("session", "close", "s1").out.splitlines()
    assert first.startswith("closed: 3 memories"), "each of them counts once"
    summary, decision, warning, advice = rest[-4:]
    assert "] summary: " in summary and "library" in summary
    assert decision.endswith("decision: We decided to parse emails with the standard library") and warning.endswith(
        "Never deploy on Fridays"
    )
    assert "`memorist promote ID`" in advice
    found = decision.partition("[id:")[2].partition("]")[0]
    assert cli.inside("promote", found).out.startswith(f"changed [id:{found}]: promoted")


def test_a_session_that_nothing_opened_is_listed_all_the_same(cli: Cli) -> None:
    cli.inside(
        "remember", "A talk about the harbour", "--kind", "session", "--title", "harbour", "--session", "harbour"
    )
    row = cli.inside("session", "list").out.split("\t")
    assert row[:3] == ["harbour", "unopened", "0"]
    assert cli.inside("session", "show", "harbour").out.startswith("harbour: unopened")


def test_every_conversation_is_listed_and_an_imported_one_by_its_title_and_day(cli: Cli) -> None:
    empty = cli.inside("session", "list")
    assert (empty.code, empty.out) == (0, "") and "no conversation is kept here" in empty.err
    said = {"create_time": 1700000000, "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}}
    nodes = {"a": {"id": "a", "message": {"id": "m1", **said}, "parent": None, "children": []}}
    talk = {"title": "Berth fees", "create_time": 1700000000, "mapping": nodes, "id": "conv-1", "current_node": "a"}
    (cli.folder / "conversations.json").write_text(json.dumps([talk]))
    assert cli.inside("import", "conversations.json").code == 0
    cli.inside("remember", "--messages", "-", "--session", "mon2", stdin='[{"role": "user", "content": "Hello"}]')
    cli.inside("session", "turn", "tue", "user", "Hello again")
    rows = {row[0]: row for row in (line.split("\t") for line in cli.inside("session", "list").out.splitlines())}
    assert sorted(rows) == ["conv-1", "mon2", "tue"]
    assert rows["mon2"][1:3] == ["unopened", "1"] and rows["tue"][1:3] == ["open", "1"]
    assert rows["conv-1"][6] == "Berth fees" and rows["conv-1"][3] == "2023-11-14 22:13 UTC"
    assert "mon2" not in cli.inside("session", "list", "--state", "open").out


def test_what_was_said_does_not_bury_what_is_known(cli: Cli) -> None:
    cli.inside("remember", "The ferry leaves at nine")
    cli.inside("ingest", "-", "--session", "s1", stdin='[{"role": "user", "content": "Hello"}]')
    listed = cli.inside("list")
    assert listed.out.count("\n") == 1 and "ferry" in listed.out and "2 turns, sessions" in listed.err
    every = cli.inside("list", "--all")
    assert every.out.count("\n") == 3 and every.err == ""
    assert "Hello" in cli.inside("list", "--kind", "turn").out
    assert "Hello" in cli.inside("list", "--where", '{"session": "s1"}').out


@pytest.mark.parametrize("command", ["show", "close", "fork"])
def test_a_slip_makes_no_session(cli: Cli, command: str) -> None:
    ended = cli.inside("session", command, "nosuch")
    assert ended.code == 3 and "there is no session 'nosuch'" in ended.err
    assert cli.inside("session", "list").out == ""


def test_a_file_of_messages_is_ingested_once(cli: Cli) -> None:
    messages = [{"role": "user", "content": "The museum opens at ten"}, {"role": "assistant", "content": "Noted"}]
    file = cli.folder / "talk.json"
    file.write_text(json.dumps(messages))
    assert cli.inside("ingest", "talk.json", "--session", "s1").out.strip() == "session s1: 2 added, 0 known already"
    assert cli.inside("ingest", "talk.json", "--session", "s1").out.strip() == "session s1: 0 added, 2 known already"
    lines = "\n".join(map(json.dumps, messages))
    assert (
        cli.inside("ingest", "-", "--session", "s2", stdin=lines).out.strip() == "session s2: 2 added, 0 known already"
    )
    file.write_text(json.dumps({"model": "m", "messages": messages}, indent=1))
    assert cli.inside("ingest", "talk.json", "--session", "s3").out.strip() == "session s3: 2 added, 0 known already"
    assert "museum" in cli.inside("recall", "when does the museum open?", "--search", "sessions").out


def test_a_users_conversation_is_kept_shown_forked_and_closed(cli: Cli) -> None:
    ann = ("--user", "ann")
    assert cli.inside("session", "turn", "s1", "user", "My knee hurts", *ann).code == 0
    assert cli.inside("session", "note", "s1", "It is the left one", *ann).code == 0
    assert "user: My knee hurts" in cli.inside("session", "show", "s1", *ann).out
    assert cli.inside("session", "fork", "s1", "s2", *ann).out.strip() == "s2: forked from s1"
    assert len(cli.inside("session", "show", "s2", "--json", *ann).json["turns"]) == 1
    assert cli.inside("session", "close", "s1", *ann).code == 0
    assert cli.inside("session", "show", "s1", *ann).out.startswith("s1: closed")
    bob = cli.inside("session", "show", "s9", "--user", "bob")
    assert bob.code == 3 and "there is no session 's9' of 'bob'" in bob.err


def test_a_bad_message_of_a_file_is_named(cli: Cli) -> None:
    messages = [
        {"role": "user", "content": "one"},
        {"role": "wizard", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    done = cli.inside("ingest", "-", "--session", "s1", stdin=json.dumps(messages))
    assert done.out.strip() == "session s1: 2 added, 0 known already, 1 left out" and done.code == 5
    assert "message 2 has the role 'wizard'" in done.err
