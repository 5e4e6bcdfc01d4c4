"""What a person or an agent does with the command line, from remembering to restoring."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from memorist import Memory, __version__
from memorist.records import Hit, Recall
from memorist.surfaces.cli import show
from memorist.surfaces.cli.screen import Screen

from .conftest import Cli


def test_the_version_and_the_overview(cli: Cli) -> None:
    assert cli("--version").out == cli("-V").out == f"memorist {__version__}\n"
    overview = cli()
    assert overview.code == 0
    assert "remember" in overview.out
    assert overview == cli("--help")


@pytest.mark.parametrize("words", [["--version"], ["recall", "anything"]])
def test_nothing_heavy_is_imported(cli: Cli, words: list[str]) -> None:
    heavy = {"numpy", "pydantic", "httpx2", "typer", "rich", "asyncio", "argparse"}
    heavy |= {"memorist.memory", "json", "apsw"} if words == ["--version"] else set()
    code = (
        "import sys, memorist.__main__ as m\n"
        f"sys.argv = ['memorist', *{words!r}]\n"
        "try: m.main()\nexcept SystemExit: pass\n"
        f"sys.stderr.write(' '.join(sorted({heavy!r} & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=cli.folder, env=cli.env({}), timeout=60
    )
    assert done.stderr.decode() == ""


# ---------------------------------------------------------------- round trips


@pytest.mark.covers("S4-24")
def test_a_memory_from_its_first_day_to_its_last(cli: Cli) -> None:
    added = cli("remember", "Staging runs Postgres 16", "--kind", "decision", "--tag", "db", "--tag", "ops")
    assert (added.code, added.out) == (0, "added [id:1] in project/atlas\n")
    found = cli("recall", "which Postgres does staging run?", "--why")
    assert found.out.startswith("[id:1] ") and "decision" in found.out
    assert "words " in found.out and "1 memory from project/atlas, global" in found.out
    assert cli("revise", "1", "Staging runs Postgres 17").out == "changed [id:1]: revised, batch b2\n"
    shown = cli("get", "1").out
    assert shown.endswith("\n\nStaging runs Postgres 17\n") and "tags: db, ops" in shown
    assert cli("list", "--state", "superseded").out.count("(superseded) Staging runs Postgres 16") == 1
    assert [line.split("\t")[2] for line in cli("history", "1").out.splitlines()] == ["added", "revised"]
    assert cli("forget", "1", "--because", "no longer true").code == 0
    assert cli("count").out == "0\n"
    assert cli("restore", "1").code == 0
    assert cli("count").out == "1\n"


def test_feedback_about_a_question(cli: Cli) -> None:
    for text in (
        "Staging runs Postgres 16",
        "Staging is rebuilt on Sundays",
        "The database of staging is backed up by Ida",
    ):
        cli("remember", text)
    question = "Which database does staging run?"
    found = cli("recall", question, "--why").out.splitlines()
    first, receipt = found[0].partition("]")[0].removeprefix("[id:"), found[-1].removeprefix("receipt ")
    assert json.loads(cli("recall", question, "--json").out)["receipt"].startswith("r0")
    for _ in range(3):
        said = cli("feedback", first, "irrelevant", "--receipt", receipt)
        assert said.code == 0 and "questions like it will be answered accordingly" in said.out
    assert not cli("recall", question).out.startswith(f"[id:{first}]")
    assert "receipt" not in cli("recall", question).out and "receipt" not in cli("explain", question).out
    unknown = cli("feedback", first, "useful", "--receipt", "r0")
    assert unknown.code and "there is no receipt" in unknown.err


def test_marks_tags_relations_and_verdicts(cli: Cli) -> None:
    for text in ("The old way", "Paint the fence blue"):
        cli.inside("remember", text)
    assert cli.inside("pin", "1").code == 0
    assert cli.inside("tag", "1", "a", "b", "--remove", "c").code == 0
    assert "(pinned) The old way #a #b" in cli.inside("list", "--tag", "a").out
    assert cli.inside("unpin", "1").out == "changed [id:1]: unpinned, batch b5\n"
    assert cli.inside("link", "2", "1", "supersedes", "--evidence", "the vote").code == 0
    assert cli.inside("links", "1", "--json").json[0]["evidence"] == "the vote"
    assert cli.inside("unlink", "2", "1", "supersedes").out.startswith("changed")
    assert cli.inside("links", "1").err == "memorist: this memory is related to no other\n"
    assert cli.inside("feedback", "2", "useful").code == 0
    assert cli.inside("get", "2", "--json").json["counters"]["up"] == 1


@pytest.mark.covers("W4-1")
def test_what_the_command_line_writes_the_library_reads_and_the_other_way(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Cli(cli.folder, {"XDG_DATA_HOME": str(tmp_path / "data")})  # neither store nor project named
    said = plain("remember", "Written at a shell")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(cli.folder)
    with Memory() as memory:
        assert [record.text for record in memory.list()] == ["Written at a shell"]
        assert memory.project.scope in said.out
        memory.remember("Written in Python")
    assert plain("recall", "written").out.count("[id:") == 2


def test_what_a_person_types_is_the_users_word_and_a_pipe_is_an_agents(cli: Cli) -> None:
    cli.at_terminal("remember", "Typed by hand")
    cli("remember", "Sent by a program")
    by_hand, by_program = cli("list", "--order", "-number", "--json").json
    assert (by_hand["origin"], by_program["origin"]) == ("user", "agent")
    assert {by_hand["provenance"]["surface"], by_program["provenance"]["surface"]} == {"cli"}


def test_scopes_narrow_and_projects_do_not_see_one_another(cli: Cli) -> None:
    cli.inside("remember", "Of atlas")
    cli.inside("remember", "Of everybody", "--scope", "global")
    assert cli.inside("remember", "Of Ann", "--user", "ann").out == "added [id:3] in user/ann\n"
    assert cli.inside("remember", "Of borealis", "--project", "borealis").out.endswith("in project/borealis\n")
    assert cli.inside("count").out == "3\n"
    assert cli.inside("count", "--scope", "global").out == "1\n"
    assert "Of Ann" in cli.inside("list", "--scope", "user/ann").out
    assert cli.inside("get", "1", "--scope", "global").code == 3
    denied = cli.inside("list", "--scope", "project/borealis")
    assert (denied.code, denied.out) == (4, "")
    assert cli.inside("recall", "everybody", "--scope", "global").out.endswith("1 memory from global\n")
    assert cli.inside("count", "--space", "other").out == "0\n"


def test_the_projects_of_a_store(cli: Cli) -> None:
    cli.inside("remember", "One")
    cli.inside("remember", "Two", "--project", "borealis")
    assert cli.inside("project", "list").out == "*\tproject/atlas\t1\n\tproject/borealis\t1\n"
    here = cli.inside("project", "list", "--project", "new", "--json").json
    assert here[0] == {"scope": "project/new", "memories": 0, "current": True, "about": "named"}
    assert [each["scope"] for each in here[1:]] == ["project/atlas", "project/borealis"]


@pytest.mark.covers("A5")
def test_a_project_is_shown_renamed_moved_and_merged(cli: Cli) -> None:
    here = Cli(cli.folder, {**cli.environment, "MEMORIST_PROJECT": ""})
    (cli.folder / ".git").mkdir()
    (cli.folder / ".git" / "config").write_text("[core]")
    here.inside("remember", "Staging runs Postgres 16")
    scope = here.inside("project", "show", "--json").json["project"]
    asked = here.inside("project", "rename", scope, "nice")
    assert asked.code == 11 and asked.out.startswith("needs consent: 0 memories"), "a pipe is an agent's"
    assert here.by_hand("review", "q1", "--decide", "approve", "--project", "third").code == 3, "it is not asked there"
    assert here.by_hand("review", "q1", "--decide", "approve").out.startswith("moved: 1 memory, batch b")
    assert here.by_hand("project", "rename", "nice", "nicer").code == 0 and here.by_hand("undo").code == 0
    shown = here.inside("project", "show").out.splitlines()
    assert shown[:2] == ["project: project/nice", "project_from: renamed"] and "memories: 1 active" in shown[-1]
    cli.inside("remember", "Staging runs Postgres 16", "--project", "other")
    cli.inside("remember", "The relay answers on channel 7", "--project", "other")
    dry = here.inside("project", "merge", "other", "--dry-run")
    assert "moved, dry run: 2 memories" in dry.out
    merged = here.by_hand("project", "merge", "other")
    assert merged.code == 0 and "1 said nothing new and are in the archive" in merged.out
    assert here.inside("project", "list").out == "*\tproject/nice\t2\n"
    assert here.by_hand("undo").code == 0
    assert here.inside("project", "list").out == "*\tproject/nice\t1\n\tproject/other\t2\n"
    assert here.by_hand("project", "rename", "other", "nice").code == 5
    assert cli.by_hand("project", "move", "nowhere", "--project", "third").code == 3
    cli.by_hand("project", "move", "other", "--project", "third")
    assert "project/third\t2" in here.inside("project", "list").out


@pytest.mark.covers("A5")
def test_what_came_along_is_said_with_the_way_back(cli: Cli) -> None:
    here = Cli(cli.folder, {**cli.environment, "MEMORIST_PROJECT": ""})
    (cli.folder / ".git").mkdir()
    here.inside("remember", "Staging runs Postgres 16")
    (cli.folder / ".git" / "config").write_text('[remote "origin"]\nurl = https://github.com/acme/atlas')
    ended = here.inside("recall", "staging")
    assert "Postgres 16" in ended.out and "1 memory came along: the same checkout, which was project/work-" in ended.err
    batch = ended.err.split("`memorist undo ")[1].split("`")[0]
    assert here.inside("undo", batch).code == 0
    assert "Postgres" not in here.inside("recall", "staging").out


@pytest.mark.covers("A5")
def test_an_empty_list_says_where_the_memories_of_this_folder_lie(cli: Cli) -> None:
    here = Cli(cli.folder, {**cli.environment, "MEMORIST_PROJECT": ""})
    here.inside("remember", "Staging runs Postgres 16")
    (cli.folder / ".git").mkdir()
    (cli.folder / ".git" / "config").write_text('[remote "origin"]\nurl = https://github.com/acme/atlas')
    for command in (["list"], ["recall", "staging"], ["context", "staging"]):
        ended = here.inside(*command)
        assert "1 memory lies in project/work-" in ended.out + ended.err, command
    assert "elsewhere: 1 memory lies in" in here.inside("status").out
    old = next(word for word in here.inside("status").out.split() if word.startswith("project/work-"))
    assert here.by_hand("project", "merge", old).code == 0
    assert "Staging" in here.inside("list").out


def test_a_context_is_the_text_alone_and_within_the_budget_of_the_settings(cli: Cli) -> None:
    cli.inside("remember", "Staging runs Postgres 16")
    assert cli.inside("context", "staging postgres").out.splitlines()[-2].endswith("Staging runs Postgres 16")
    assert cli.inside("context", "staging postgres", "--json").json["budget"] == 1500
    cli.inside("config", "set", "budget", "3")
    none = cli.inside("context", "staging postgres")
    assert (none.code, none.out) == (0, "") and "nothing that was found fits into 3 tokens" in none.err


def test_a_context_can_be_shown_again_and_its_use_reported(cli: Cli) -> None:
    cli.inside("remember", "Staging runs Postgres 16")
    made = cli.inside("context", "what runs staging?", "--client", "claude-code", "--remaining", "20000", "--json").json
    assert made["budget"] == 1600 and made["text"].startswith("<project_memory>")
    assert cli.inside("receipt", made["receipt"]).out == made["text"] + "\n"
    assert "used: 1 memory" in cli.inside("used", made["receipt"], "It is Postgres 16").out
    assert "counted already" in cli.inside("used", made["receipt"], "--id", "1").out
    assert cli.inside("receipt", "nonsense").code == 3
    wrong = cli.inside("context", "what runs staging?", "--style", "html")
    assert wrong.code == 2 and "style must be xml or markdown or plain or json" in wrong.err


def test_why_an_answer_is_what_it_is(cli: Cli) -> None:
    cli.inside("remember", "Staging runs Postgres 16")
    cli.inside("remember", "Lunch is at noon")
    explained = cli.inside("explain", "postgres").out
    assert "Blend: kept 2" in explained and "[id:1]" in explained
    _, factors, signals = explained[explained.index("[id:1]") :].splitlines()[:3]
    assert "relevance" in factors and " × " in factors
    assert "words" in signals and "meaning" in signals and "; sum " in signals
    assert "dropped by Abstain" in cli.inside("why-not", "2", "qwertzuiop").out
    assert "was not found" in cli("why-not", "2", "postgres", MEMORIST_EMBED="none").out
    assert cli.inside("status", "--json").json["receipts"] == 0


def test_time_travels(cli: Cli) -> None:
    cli.inside("remember", "Early", "--at", "2020-01-01T00:00Z")
    cli.inside("remember", "Late", "--at", "2021-01-01T00:00:00+02:00")
    around = cli.inside("timeline", "2020-06-01T00:00Z", "-n", "2")
    assert [line.split("\t")[4] for line in around.out.splitlines()] == ["Early", "Late"]
    assert cli.inside("timeline", "1", "--limit", "1").out.count("[id:1]") == 1
    nothing = cli.inside("recall", "early", "--as-of", "2019-01-01T00:00+00:00")
    assert nothing.code == 0 and "stored later" in nothing.out


# ---------------------------------------------------------------- answers


def test_a_new_memory_says_what_it_did_to_others(cli: Cli) -> None:
    assert cli.inside("remember", "The gateway listens on port 8080").out == "added [id:1] in project/atlas\n"
    told = cli.inside("remember", "The gateway now listens on port 9090").out.splitlines()
    assert told[0].startswith("added [id:2] in project/atlas: memory 1 is superseded by it (") and "undo" in told[1]
    told = cli.inside(
        "remember", "--batch", stdin="From today the gateway listens on port 7070\nThe heron nests near the weir\n"
    ).out
    assert "2 added" in told and "  1 added: memory 2 is superseded by it (" in told


def test_a_hit_says_what_it_contradicts_and_what_it_replaces(cli: Cli) -> None:
    with Memory(":memory:") as memory:
        old, new, other = (memory.remember(f"{name} lives in Rome").record for name in ("Ann", "Ben", "Cleo"))
        assert old and new and other
        said = Hit(new, 0.9, {}, (), (old.id, other.id), (old.id,)), Hit(old, 0.8, {"outdated": 0.9}, (), (new.id,))
        result = show.Result("recall", Recall("who?", said), memory, {})
        out = io.StringIO()
        with redirect_stdout(out):
            show.show(result, Screen.of(False))
    first, replaces, contradicts, second, outdated, _ = out.getvalue().splitlines()
    assert "Ben" in first and "Ann" in second
    assert replaces == "    replaces [id:1]" and outdated == "    outdated: see [id:2]"
    assert contradicts == "    contradicts [id:3] Cleo lives in Rome", "what is not among the hits is told"


def test_a_turn_says_who_spoke_and_that_it_is_talk(cli: Cli) -> None:
    cli.inside("remember", "The heron nests near the weir", "--kind", "turn", "--speaker", "Ann")
    told = cli.inside("recall", "where does the heron nest?").out.splitlines()
    assert told[0].endswith("The heron nests near the weir") and told[1] == "    from a conversation, said by Ann"


def test_documents_are_named_where_only_memories_were_asked(cli: Cli) -> None:
    assert "sources" not in cli.inside("recall", "where does the heron nest?").out
    cli.inside("remember", "The heron nests near the weir", "--kind", "document")
    assert "search='sources' finds it" in cli.inside("recall", "where does the heron nest?").out
    found = cli.inside("recall", "where does the heron nest?", "--search", "sources")
    assert "heron" in found.out and "search=" not in found.out


def test_a_relevance_that_a_design_does_not_have_is_told(cli: Cli) -> None:
    cli.inside("remember", "The heron nests near the weir")
    asked = ("recall", "the heron of the weir", "--min-relevance", "0.1")
    assert "min_relevance" not in cli.inside(*asked).err
    cli.inside("design", "use", "tiers")
    told = cli.inside(*asked)
    assert "min_relevance had no effect: the design tiers" in told.err and "heron" in told.out


def test_json_is_one_document_with_the_same_results(cli: Cli) -> None:
    added = cli.inside("remember", "Staging runs Postgres 16", "--data", '{"step": 3}', "--json").json
    assert (added["outcome"], added["scope"], added["record"]["number"]) == ("added", "project/atlas", 1)
    assert added["record"]["data"] == {"step": 3} and added["record"]["times"]["at"].endswith("+00:00")
    found = cli.inside("recall", "postgres", "--json").json
    assert set(found) == {"query", "hits", "empty_because", "scopes", "receipt", "trace", "notes"}
    assert set(found["hits"][0]) == {"record", "score", "why", "signals", "conflicts", "replaces", "freshness"}
    assert found["scopes"] == ["project/atlas", "global"]
    assert cli.inside("list", "--json").json == [cli.inside("get", "1", "--json").json]
    assert cli.inside("count", "--json").json == 1
    assert cli.inside("audit", "--json").json == {
        "ok": True, "events": 1, "records": 1, "problems": [], "recountable": False,
    }  # fmt: skip
    assert {finding["ok"] for finding in cli.inside("doctor", "--json").json} == {True}
    assert cli.inside("history", "1", "--json").json[0]["verb"] == "added"
    assert cli.inside("status", "--json").json["project"] == "project/atlas"


def test_an_empty_answer_says_why_and_is_no_error(cli: Cli) -> None:
    empty = cli.inside("recall", "anything")
    assert (empty.code, empty.err) == (0, "")
    assert "question's words" in empty.out and "project/atlas" in empty.out


@pytest.mark.covers("W1-5")
@pytest.mark.parametrize(
    "words, code, name",
    [
        (["get", "99"], 3, "not_found"),
        (["feedback", "99", "useful"], 3, "not_found"),
        (["forget", "99"], 3, "not_found"),
        (["pin", "99"], 3, "not_found"),
        (["feedback", "1", "splendid"], 2, "invalid"),
        (["list", "--where", '{"nope": 1}'], 2, "invalid"),
        (["list", "--where", "nope"], 2, "invalid"),
        (["list", "--kind", "fact", "--where", '{"kind": "fact"}'], 2, "invalid"),
        (["list", "--limit", "many"], 2, "invalid"),
        (["list", "--nope"], 2, "invalid"),
        (["remember", "x", "--kind", "nonsense"], 2, "invalid"),
        (["remember", "x", "--at", "2026-05-41"], 2, "invalid"),
        (["remember", "x", "--at", "whenever"], 2, "invalid"),
        (["remember", "two", "words"], 2, "invalid"),
        (["remember", ""], 2, "invalid"),
        (["get"], 2, "invalid"),
        (["nonsense"], 2, "invalid"),
        (["config"], 2, "invalid"),
        (["remember", "x", "--scope", "project/other"], 4, "out_of_scope"),
        (["revise", "1", "y", "--expected-version", "7"], 6, "conflict"),
        (["list", "--db", "."], 2, "invalid"),
        (["list", "--db", "/proc/nowhere/memory.db"], 7, "store_unavailable"),
    ],
)
def test_an_error_is_one_line_and_a_code(cli: Cli, words: list[str], code: int, name: str) -> None:
    cli.inside("remember", "The only one")
    ended = cli.inside(*words, "--json")
    assert ended.code == code
    assert ended.err.startswith("memorist: ") and ended.err.count("\n") == 1
    error = ended.json["error"]
    assert (error["code"], error["retry_safe"]) == (name, name == "store_unavailable")
    assert error["message"] and "Traceback" not in ended.err


def test_a_time_without_a_zone_is_local(cli: Cli) -> None:
    for given in ("2026-05-01", "2026-05-01T00:00"):
        assert (
            cli("remember", f"since {given}", "--at", given, TZ="UTC-2").code == 0
        )  # east of Greenwich, as POSIX has it
    assert {record["times"]["at"] for record in cli("list", "--json").json} == {"2026-04-30T22:00:00+00:00"}


def test_a_misspelt_command_is_guessed_but_not_run(cli: Cli) -> None:
    assert cli.inside("forgt", "1").err == "memorist: there is no command 'forgt'; did you mean 'forget'?\n"
    assert "options go after it" in cli.inside("--limit", "3", "list").err


# ---------------------------------------------------------------- standard input


def test_text_from_standard_input(cli: Cli) -> None:
    cli("remember", "-", stdin="Through a dash\n")
    cli("remember", stdin="Without a dash,\nover two lines\n")
    texts = [record["text"] for record in cli("list", "--order", "-number", "--json").json]
    assert texts == ["Through a dash", "Without a dash,\nover two lines"]
    assert "[id:1]" in cli("recall", stdin="dash").out
    assert cli("revise", "1", "-", stdin="Revised through a dash").code == 0
    assert cli("revise", "1", "--importance", "0.9", stdin="not a text").code == 0
    assert cli("get", "1", "--json").json["text"] == "Revised through a dash"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_says_how_to_read(cli: Cli, encoding: str) -> None:
    cli("remember", stdin="Grüße, мир 🎉".encode(encoding))
    assert cli.inside("get", "1", "--json").json["text"] == "Grüße, мир 🎉"


def test_latin_1_is_refused_with_the_place_and_the_fix(cli: Cli) -> None:
    ended = cli("remember", stdin="Grüße".encode("latin-1"))
    assert ended.code == 2
    assert "byte 0xfc at offset 2" in ended.err and "iconv" in ended.err
    by_argument = cli("remember", "Grüße".encode("latin-1"))
    assert by_argument.code == 2 and "byte 0xfc at offset 2" in by_argument.err
    assert cli("count").out == "0\n"


def test_nothing_or_a_nul_on_standard_input_is_refused(cli: Cli) -> None:
    assert cli("remember", stdin=b"").code == 2
    assert cli("remember", stdin=b"a\0b").code == 2
    missing = cli.at_terminal("remember")
    assert missing.code == 2 and "the text is missing" in missing.out


@pytest.mark.parametrize("text", ["-x", "--json", "--", "-", "- a list item"])
def test_a_text_may_begin_with_a_dash(cli: Cli, text: str) -> None:
    if text != "-":  # a lone dash is standard input, wherever it stands
        cli("remember", "--", text)
    cli.inside("remember", "--title", text, "--scope", "global", stdin=text + "\n")
    stored = cli.inside("list", "--json").json
    assert {record["text"] for record in stored} == {text}
    assert text in {record["title"] for record in stored}


def test_a_batch_has_a_draft_per_line(cli: Cli) -> None:
    lines = ["Plain text", "", json.dumps({"text": "A draft", "kind": "note", "at": "2020-01-01T00:00Z"}), "Plain text"]
    done = cli.inside("remember", "--batch", "--tag", "imported", stdin="\n".join(lines))
    assert done.out.startswith("2 added, 1 reinforced in project/atlas\n  1 reinforced: ")
    stored = cli.inside("list", "--json").json
    assert {record["kind"] for record in stored} == {"fact", "note"}
    assert all(record["tags"] == ["imported"] for record in stored)
    assert len(cli.inside("remember", "--batch", "--json", stdin="One\nTwo\n").json) == 2
    broken = cli.inside("remember", "--batch", stdin='Fine\n{"text": \n')
    assert broken.code == 2 and "line 2" in broken.err
    assert "Fine" not in cli.inside("list").out


def test_a_key_is_stored_once(cli: Cli) -> None:
    cli.inside("remember", "Said once", "--key", "k1")
    again = cli.inside("remember", "Said once", "--key", "k1")
    assert again.code == 0 and again.out.startswith("repeated ") and "project/atlas" in again.out
    assert cli.inside("remember", "Something else", "--key", "k1").code == 6


# ---------------------------------------------------------------- editing, settings, the switch


def editor(tmp_path: Path, script: str) -> str:
    file = tmp_path / "editor.py"
    file.write_text(f"import pathlib, sys\npath = pathlib.Path(sys.argv[-1])\n{script}\n")
    return f"{sys.executable} {file} --wait"


@pytest.mark.covers("S4-24")
def test_an_editor_revises_a_memory(cli: Cli, tmp_path: Path) -> None:
    cli("remember", "Staging runs\nPostgres 16")
    change = editor(tmp_path, "path.write_text(path.read_text().replace('16', '17'))")
    assert cli("edit", "1", EDITOR=change, VISUAL=None).out == "changed [id:1]: edited, batch b2\n"
    assert cli("get", "1", "--json").json["text"] == "Staging runs\nPostgres 17"
    assert cli("edit", "1", EDITOR="true", VISUAL=None).out.startswith("unchanged")
    assert cli("edit", "1", EDITOR="false", VISUAL=None).code == 5
    assert cli("edit", "1", EDITOR=editor(tmp_path, "path.write_text(' ')"), VISUAL=None).code == 5
    assert cli("edit", "1", EDITOR="/nowhere/editor", VISUAL=None).code == 2
    assert cli("edit", "1", EDITOR=None, VISUAL=None).code == 2
    assert cli("get", "1", "--json").json["version"] == 2


def test_an_edit_does_not_overwrite_what_changed_meanwhile(cli: Cli, tmp_path: Path) -> None:
    cli("remember", "Original")
    script = (
        "import subprocess\n"
        "subprocess.run([sys.executable, '-m', 'memorist', 'revise', '1', 'From elsewhere'], check=True)\n"
        "path.write_text('From the editor')"
    )
    assert cli("edit", "1", VISUAL=editor(tmp_path, script)).code == 6
    assert cli("get", "1", "--json").json["text"] == "From elsewhere"


def test_settings_are_shown_set_and_taken_back(cli: Cli) -> None:
    assert cli.inside("config", "get", "project").out == "atlas\n"
    assert "budget is now 700" in cli.inside("config", "set", "budget", "700").out
    assert cli.inside("config", "list", "--json").json["budget"]["value"] == "700"
    assert "budget\t700\t" in cli.inside("config", "list").out
    assert "budget is now 1500" in cli.inside("config", "unset", "budget").out
    assert cli.inside("config", "set", "budget", "much").code == 2
    assert cli.inside("config", "get", "nonsense").code == 2


@pytest.mark.covers("S4-24")
def test_memory_can_be_switched_off_and_says_so(cli: Cli) -> None:
    cli.inside("remember", "From before")
    assert "memory is off" in cli("off").out
    refused = cli("remember", "While off")
    assert refused.code == 5 and "memory is off" in refused.out
    assert cli.inside("remember", "While off", "--json").json["outcome"] == "refused"
    assert cli.inside("pin", "1").code == 5
    silent = cli.inside("recall", "before")
    assert silent.code == 0 and "memory is off" in silent.out
    assert "memory is off" in cli.inside("context", "before").err
    assert "memory is off" in cli.inside("status").out
    assert cli.inside("on", "--json").json["off"] is False
    assert "[id:1]" in cli.inside("recall", "before").out
    assert cli.inside("count").out == "1\n"
    assert "MEMORIST_OFF" in cli("remember", "x", MEMORIST_OFF="1").out
