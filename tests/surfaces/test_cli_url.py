"""`memorist --url`: the same commands with the same output, whether the store is a file or behind a server."""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx2
import pytest

from memorist import Client, Memory
from memorist.surfaces.cli import remote
from memorist.surfaces.http import more
from surfaces.conftest import Cli, Ended
from surfaces.serving import Served, served
from table_server import Server

URL = "http://127.0.0.1:8765"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Memory(tmp_path / "there.db", project="atlas") as memory:
        server = Server(memory)
        make = httpx2.Client
        monkeypatch.setattr(
            Client, "_open", lambda self: make(transport=httpx2.MockTransport(server), **self._options())
        )
        yield server


CONVERSATION = [
    ("remember", "Staging runs Postgres 16", "--kind", "decision", "--tag", "db"),
    ("remember", "Staging runs Postgres 17", "--kind", "decision"),
    ("remember", "The CI cache lives on the build host", "--pin"),
    ("recall", "which database does staging use?"),
    ("recall", "which database does staging use?", "--why", "-n", "1"),
    ("recall", "who won the cup in 1954?"),
    ("get", "1"),
    ("get", "1", "3"),
    ("tag", "1", "staging", "--remove", "db"),
    ("link", "1", "3"),
    ("links", "1"),
    ("conflicts",),
    ("session", "turn", "s1", "user", "We decided to use uv for installs"),
    ("session", "note", "s1", "ask about the port"),
    ("session", "show", "s1"),
    ("session", "list"),
    ("session", "fork", "s1", "s2"),
    ("session", "close", "s1"),
    ("list",),
    ("list", "--all"),
    ("list", "--kind", "nothing"),
    ("count",),
    ("history", "1"),
    ("log", "-n", "5"),
    ("forget", "3"),
    ("restore", "3"),
    ("forget", "1", "3"),
    ("undo",),
    ("why-not", "1", "who won the cup in 1954?"),
    ("task", "add", "Move staging", "--priority", "1"),
    ("task", "list"),
    ("task", "move", "TASK-001", "running"),
    ("narrative", "add", "We looked at staging", "--topic", "staging"),
    ("narrative", "list"),
    ("alias", "pg", "postgres"),
    ("aliases",),
    ("review",),
    ("project", "list"),
    ("erase", "3", "--yes"),
    ("get", "nothing"),
    ("recall", "x", "-n", "0"),
]
PASSING = re.compile(r"\b[mr][0-9][0-9a-z]{25}\b|\b\d\d:\d\d(:\d\d)?\b|\d+\.\d+ ms|\b[0-9a-f]{32,}\b|\bb\d+\b")


def shape(ended: Ended) -> tuple[int, str, str]:
    """What was said, without ids and times."""
    told = tuple(PASSING.sub("#", text).replace("library", "cli") for text in (ended.out, ended.err))
    return ended.code, *(re.sub(r" +", " ", text) for text in told)


def test_every_command_says_the_same_beside_a_server(cli: Cli, server: Server) -> None:
    for command in CONVERSATION:
        here, there = cli.inside(*command), cli.inside("--url", URL, *command)
        assert shape(here) == shape(there), command
    assert server.asked


def test_json_has_the_same_keys(cli: Cli, server: Server) -> None:
    for command in CONVERSATION[:4]:
        here, there = cli.inside(*command, "--json"), cli.inside("--url", URL, *command, "--json")
        assert here.json.keys() == there.json.keys()
    there = cli.inside("--url", URL, "get", "nothing", "--json")
    assert there.json["error"]["code"] == "not_found" and there.code == 3


def test_the_setting_names_the_server_and_a_file_still_wins(cli: Cli, server: Server, tmp_path: Path) -> None:
    assert cli.inside("config", "set", "url", URL).code == 0
    cli.inside("remember", "Staging runs Postgres 16")
    assert server.memory.count() == 1
    assert cli.inside("--db", str(tmp_path / "here.db"), "count").out.strip() == "0"
    assert cli.inside("config", "unset", "url").code == 0
    assert cli.inside("count").out.strip() == "0"


def test_a_wrong_address_is_an_error_and_no_other_place(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_URL", "memory.example")
    ended = cli.inside("remember", "Staging runs Postgres 16")
    assert ended.code == 2 and "MEMORIST_URL" in ended.err and "must be the address of a server" in ended.err
    monkeypatch.delenv("MEMORIST_URL")
    assert cli.inside("count").out.strip() == "0"


def test_the_token_is_sent_and_shown_nowhere(cli: Cli, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    said = cli.inside("config", "set", "token", "mk_sesame")
    shown = cli.inside("config", "list"), cli.inside("config", "get", "token"), cli.inside("config", "list", "--json")
    assert "(hidden)" in shown[0].out and not any("mk_sesame" in each.out + each.err for each in (said, *shown))
    cli.inside("--url", URL, "count")
    assert server.asked[-1].headers["authorization"] == "Bearer mk_sesame"
    monkeypatch.setenv("MEMORIST_TOKEN", "mk_other")
    cli.inside("--url", URL, "count")
    assert server.asked[-1].headers["authorization"] == "Bearer mk_other"
    refused = cli.inside("config", "set", "token", "two words")
    assert refused.code == 2 and "two words" not in refused.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("key", "list"), "`memorist key list` works on this machine, and not on a server; leave --url out"),
        (("design", "list"), "`memorist design list` works on this machine, and not on a server; leave --url out"),
        (("serve",), "`memorist serve` works on this machine, and not on a server; leave --url out"),
        (("mcp",), "`memorist mcp` works on this machine, and not on a server; leave --url out"),
        (("sync",), "works on a store of this machine"),
        (("backup",), "works on a store of this machine"),
        (("edit", "1"), "works on a store of this machine"),
        (("log", "--follow"), "--follow"),
        (("--space", "team", "count"), "which space"),
        (("--scope", "user/ann", "count"), "narrowed by its key"),
        (("--db", "x.db", "count"), "give one of them"),
    ],
)
def test_what_needs_this_machine_says_so(cli: Cli, server: Server, command: tuple[str, ...], said: str) -> None:
    ended = cli.inside("--url", URL, *command)
    assert ended.code == 2 and said in ended.err and not server.asked


def test_a_setting_that_names_a_server_is_named_and_does_not_stop_it_from_serving(cli: Cli) -> None:
    assert cli.inside("config", "set", "url", URL).code == 0
    assert "`memorist config unset url`" in cli.inside("sync").err
    assert "--port takes" in cli.inside("serve", "--port", "70000").err  # it went past the setting


def real(db: Path) -> AbstractContextManager[Served]:
    return served(db, project="atlas")


ODD = "A text with its own\u2028breaks\x85and\x0call"


def test_an_export_and_an_import_go_through_a_server(cli: Cli, tmp_path: Path) -> None:
    with real(tmp_path / "there.db") as one:
        one.client("POST", "/v1/memories", {"text": ODD, "kind": "decision"})
        one.client("POST", "/v1/memories", {"text": "Ann likes the window seat", "scope": "user/ann"})
        url = f"http://127.0.0.1:{one.client.port}"
        said = cli.inside("--url", url, "export", "out.jsonl")
        assert said.code == 0 and "exported 1 memory to out.jsonl" in said.out
        lines = [json.loads(line) for line in (cli.folder / "out.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
        assert [each.get("text") for each in lines[1:-1]] == [ODD] and lines[-1]["count"] == 1
        assert [each["id"] for each in cli.inside("--url", url, "export", "--json").json[1:-1]] == [lines[1]["id"]]
        assert '"count": 2' in cli.inside("--url", url, "export", "--all").out
        whose = cli.inside("--url", url, "--scope", "user/ann", "export", "-").out
        assert "window seat" in whose and "breaks" not in whose
        page = cli.inside("--url", url, "export", "--style", "markdown", "--where", '{"kind": "decision"}').out
        assert "breaks" in page and "window seat" not in page
        assert cli.inside("--url", url, "export", "out.jsonl").code == 2  # which is there already
        twice = cli.inside("--url", url, "--scope", "user/ann", "export", "--where", '{"scope": "global"}')
        assert twice.code == 2 and "give it once" in twice.err
    with real(tmp_path / "other.db") as two:
        url = f"http://127.0.0.1:{two.client.port}"
        assert "1 memory would be imported" in cli.inside("--url", url, "import", "out.jsonl", "--dry-run").err
        assert two.client("GET", "/v1/count").json == 0
        said = cli.inside("--url", url, "import", "out.jsonl")
        assert said.code == 0 and "imported 1 file: 1 added" in said.out, said
        found = two.client("GET", "/v1/memories").json[0]
        assert (found["text"], found["origin"], found["status"]) == (ODD, "import", "candidate")


def test_files_of_each_sort_are_sent_to_a_server(cli: Cli, tmp_path: Path) -> None:
    (cli.folder / "notes.md").write_text("# Notes\n\n- Tea is at four\n- The lift is green\n")
    (cli.folder / "rules.rst").write_text("Keys are hashed at rest.\n\nTokens never lie in URLs.\n")
    (cli.folder / "broken.jsonl").write_text('{"a": 1}\n')
    with real(tmp_path / "there.db") as server:
        url = f"http://127.0.0.1:{server.client.port}"
        for _ in range(2):
            both = cli.inside("--url", url, "import", "notes.md", "rules.rst", "--json")
            assert both.code == 0 and both.json[0]["files"] == ["notes.md"]
        kept = server.client("GET", "/v1/memories").json
        assert sorted(each["kind"] for each in kept) == ["document", "fact", "fact"]  # the same again is there already
        [piece] = [each for each in kept if each["kind"] == "document"]
        assert piece["files"][0].endswith("rules.rst") and ".memorist-" not in str(kept)
        wrong = cli.inside("--url", url, "import", "broken.jsonl")
        assert wrong.code == 2 and "broken.jsonl is not an export" in wrong.err
        for words, said in ((["."], "name the files themselves"), ([], "no file was named"),
                            (["codex"], "is no file"), (["notes.md", "--own"], "--own brings")):  # fmt: skip
            ended = cli.inside("--url", url, "import", *words)
            assert ended.code == 2 and said in ended.err


FILES = {
    "utf16.md": "# Notes\n\n- Käse is in the fridge\n".encode("utf-16"),
    "open.md": b"- Tea is at four",
    "breaks.md": b"- Tea is at five\r\n- The lift is green\r",
    "open.rst": "Keys are hashed at rest.".encode("utf-16"),
    "empty.md": b"",
    "long.rst": b"A line that is long enough to need several pieces.\n" * 4000 + b"the last one",
}


@pytest.mark.covers("N2-6")
def test_a_file_reaches_a_server_byte_by_byte(cli: Cli, tmp_path: Path) -> None:
    with real(tmp_path / "there.db") as server:
        url = f"http://127.0.0.1:{server.client.port}"
        for name, raw in FILES.items():
            (cli.folder / name).write_bytes(raw)
            here, there = cli.inside("import", name, "--json"), cli.inside("--url", url, "import", name, "--json")
            assert (here.code, there.code) == (0, 0), (name, there.err)
            for told in (here.json, there.json):
                assert [*told["fingerprints"].values()] == [hashlib.sha256(raw).hexdigest()], name
            assert there.json["outcomes"] == here.json["outcomes"], name
        assert "Käse is in the fridge" in cli.inside("--url", url, "list").out


@pytest.mark.parametrize("first", ["server", "here"])
@pytest.mark.parametrize("by", ["option", "setting", "folder"])
def test_a_document_is_the_same_through_a_server_however_its_project_is_known(
    cli: Cli, tmp_path: Path, first: str, by: str
) -> None:
    (cli.folder / "n.py").write_text("def rules() -> str:\n    return 'Keys are hashed at rest.'\n")
    db = tmp_path / "memory.db"
    there = ("--project", "atlas") if by == "option" else ()
    here = () if by == "folder" else ("--db", str(db), "--project", "atlas")
    if by != "setting":
        del cli.environment["MEMORIST_PROJECT"]

    def through_server() -> Ended:
        with real(db) as server:
            return cli.inside("--url", f"http://127.0.0.1:{server.client.port}", *there, "import", "n.py")

    ways = [through_server, lambda: cli.inside(*here, "import", "n.py")]
    one, two = (way() for way in (ways if first == "server" else ways[::-1]))
    assert "1 added" in one.out and "added" not in two.out and "1 unchanged" in two.out, (one, two)
    [piece] = cli.inside(*here, "list", "--all", "--json").json
    whole = (cli.folder / "n.py").resolve().as_posix()  # the same name in two folders is two documents
    assert piece["files"] == ["n.py" if by == "folder" else whole]


def test_what_a_server_advises_about_an_import_is_in_the_words_of_the_shell(cli: Cli, tmp_path: Path) -> None:
    (cli.folder / "broken.jsonl").write_text('{"a": 1}\n')
    with real(tmp_path / "there.db") as server:
        url = f"http://127.0.0.1:{server.client.port}"
        here, there = cli.inside("import", "broken.jsonl"), cli.inside("--url", url, "import", "broken.jsonl")
        assert (there.code, there.err) == (here.code, here.err) and "--document as a text" in there.err
        server.client("POST", "/v1/memories", {"text": "Ann likes the window seat", "scope": "user/ann"})
        server.client("POST", "/v1/memories", {"text": "The window seat is in row twelve"})
        (cli.folder / "own.jsonl").write_bytes(server.client("GET", "/v1/export?all=true").body)
    with real(tmp_path / "other.db") as server:
        url = f"http://127.0.0.1:{server.client.port}"
        told = cli.inside("--url", url, "--project", "elsewhere", "import", "own.jsonl", "--json").json
        notes = " ".join(told["notes"])
        assert "--user ann" in notes and "--project atlas, or with --scope project/elsewhere as copies" in notes
        assert "user=" not in notes and "project=" not in notes


@pytest.mark.parametrize("said", [
    "1 belongs to user/ann: ask with --user ann", "import with --project b, or with --scope global as copies",
    "or --scope puts it elsewhere", "3 more belong to other users; `memorist status` counts them by scope",
])  # fmt: skip
def test_every_step_that_a_server_puts_in_its_words_comes_back_in_those_of_the_shell(said: str) -> None:
    assert more._over_http(said) != said and remote._for_a_shell(more._over_http(said)) == said


def test_the_help_of_serve_offers_nothing_that_it_refuses(cli: Cli) -> None:
    shown = cli.inside("serve", "--help").out
    assert "--db" in shown and "--project" in shown and "--scope" not in shown and "--url" not in shown
    ended = cli.inside("--scope", "user/ann", "serve")
    assert ended.code == 2 and "`memorist serve` takes no --scope; leave --scope out" in ended.err
    assert "goes after --" not in ended.err


def test_the_project_is_that_of_the_folder(cli: Cli, server: Server) -> None:
    cli.inside("--url", URL, "count")
    assert server.asked[-1].url.params["project"] == "project/atlas"
    cli.inside("--url", URL, "--project", "other", "count")
    assert server.asked[-1].url.params["project"] == "project/other"


def test_a_server_that_is_not_there_is_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.client.RETRIES", 0)
    monkeypatch.setattr("memorist.client.time.sleep", lambda seconds: None)
    ended = cli.inside("--url", "http://127.0.0.1:9", "count")
    assert ended.code == 7 and "is `memorist serve` running" in ended.err and ended.err.count("\n") <= 2
