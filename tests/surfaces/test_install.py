"""`memorist install` and `uninstall`: our lines in the settings of agents, not one byte of anybody else's changed."""

import json
import os
import re
import shutil
import stat
import string
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.disks import files_at_most, files_of_any_size
from memorist.errors import Invalid, MemoristError, Refused, StoreUnavailable
from memorist.surfaces import settings
from memorist.surfaces.agents import changes, entries, install, skills, splice, tables, uninstall
from memorist.surfaces.agents.clients import CLIENTS, Agent
from memorist.surfaces.agents.entries import SERVER, entries_of
from surfaces.conftest import PROGRAM, Cli

FILE = Path("settings.json")
# Before a program: root may write everywhere, unless it gives that right up.
LIKE_ANYBODY = [shutil.which("setpriv") or "setpriv", "--bounding-set=-dac_override"] if os.access("/", os.W_OK) else []
COMMENTED = """{
  // the model of the team
  "model": "opus", /* since May */
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]} // mine
    ],
  },
}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which three agents have their folders, and a program called memorist on the PATH."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    for folder in (".claude", ".codex", ".gemini"):
        (home / folder).mkdir(parents=True)
    programs.mkdir()
    (programs / "memorist").write_text("#!/bin/sh\n")
    (programs / "memorist").chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("PATH", str(programs))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


def tree(home: Path) -> dict[str, bytes]:
    return {str(file.relative_to(home)): file.read_bytes() for file in sorted(home.rglob("*")) if file.is_file()}


# ---------------------------------------------------------------- JSON of others

values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(string.printable, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), values, max_size=4), st.sampled_from([None, 2, "\t"]))
def test_what_is_put_in_can_be_taken_out_to_the_byte(document: dict[str, object], indent: int | str | None) -> None:
    text = json.dumps(document, indent=indent) + "\n"
    more = splice.put(text, ("ours", "inside"), {"x": [1, {"y": "z"}]}, FILE)
    assert splice.read(more, FILE) == {**document, "ours": {"inside": {"x": [1, {"y": "z"}]}}}
    assert splice.take(more, ("ours",), FILE) == text


@given(st.lists(values, max_size=4), st.sampled_from([None, 2]))
def test_an_element_goes_behind_the_others_and_out_again(elements: list[object], indent: int | None) -> None:
    text = json.dumps({"a": {"list": elements}, "b": 1}, indent=indent)
    more = splice.append(text, ("a", "list"), {"command": "x"}, FILE)
    assert splice.read(more, FILE)["a"]["list"] == [*elements, {"command": "x"}]
    assert splice.take(more, ("a", "list", len(elements)), FILE) == text


def test_remarks_commas_and_line_ends_stay() -> None:
    text = COMMENTED.replace("\n", "\r\n")
    more = splice.append(text, ("hooks", "Stop"), {"command": "x"}, FILE)
    more = splice.put(more, ("mcpServers", "memorist"), {"command": "memorist"}, FILE)
    assert "// the model of the team" in more and "// mine" in more and "\n" not in more.replace("\r\n", "")
    assert splice.take(splice.take(more, ("mcpServers",), FILE), ("hooks", "Stop", 1), FILE) == text


GAPS = ("", " ", "\n", "\r\n  ", ' // x, { "\n', "/* , } */", "\n  /* a\n b */ // y\n\t", " //\r\n")


@st.composite
def written(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """An object of people, with remarks wherever there may be some."""
    names = draw(st.lists(st.text("abcd", min_size=1, max_size=2), unique=True, max_size=4))
    gap = st.sampled_from(GAPS)
    members = [f'{draw(gap)}"{name}"{draw(gap)}:{draw(gap)}{at}{draw(gap)}' for at, name in enumerate(names)]
    end = "," + draw(gap) if members and draw(st.booleans()) else ""
    return f"{draw(gap)}{{{draw(gap) if not members else ''}{','.join(members)}{end}}}{draw(gap)}", {
        name: at for at, name in enumerate(names)
    }


def remarks(text: str) -> list[str]:
    return re.findall(r"//[^\r\n]*|/\*.*?\*/", text, re.DOTALL)


@given(written(), st.data())
def test_remarks_anywhere_cost_nobody_a_value(given: tuple[str, dict[str, int]], data: st.DataObject) -> None:
    text, value = given
    more = splice.put(text, ("m",), {"x": 1}, FILE)
    assert splice.read(more, FILE) == {**value, "m": {"x": 1}}
    assert splice.read(splice.take(more, ("m",), FILE), FILE) == value
    assert sorted(remarks(splice.take(more, ("m",), FILE))) == sorted(remarks(text)), "they are somebody's"
    if value:
        name = data.draw(st.sampled_from(sorted(value)))
        assert splice.read(splice.take(text, (name,), FILE), FILE) == {k: v for k, v in value.items() if k != name}
    listed = f"[{text}]"
    assert len(splice.read(splice.append(listed, (), 7, FILE), FILE)) == len(splice.read(listed, FILE)) + 1


@pytest.mark.parametrize(
    ("text", "left"),
    [('{"a": 1, // x\n "m": 2, "b": 3}', '{"a": 1, // x\n "b": 3}'), ('{ // x\n "m": 2 }', "{ // x\n }"),
     ('{"a": 1, // x\n "m": 2 }', '{"a": 1 // x\n }'), ('\ufeff{"m": 2}', "\ufeff{}")],
)  # fmt: skip
def test_a_remark_does_not_swallow_what_follows(text: str, left: str) -> None:
    assert splice.take(text, ("m",), FILE) == left


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"a" 1}', 1), ('{"a": 1,\n "b": }', 2), ("{\n\n[", 3), ('{"a": 1}\nx', 2), ('{"a":1,\n"a":2}', 2), ("", 0), ("[" * 200, 1)],
)  # fmt: skip
def test_what_is_no_json_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(Invalid, match=f"line {line}" if line else "is empty"):
        splice.read(text, FILE)


def test_a_large_file_is_read_about_as_fast_as_json_can_be() -> None:
    """Claude Code's own has some ten thousand lines, and more after a year."""
    text = json.dumps({str(n): [{"x": 1, "y": [True, "z"]}] * 10 for n in range(3_000)}, indent=2)

    def seconds(read: Callable[[], Any]) -> float:
        begin = time.process_time()
        read()
        return time.process_time() - begin

    plain = min(seconds(lambda: json.loads(text)) for _ in range(3))
    assert min(seconds(lambda: splice.read(text, FILE)) for _ in range(3)) < 10 * plain


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', '{"a": 1, "\\u0061": 2}', "\ufeff\ufeff{}", '{"a": "\t"}', "[1,,2]", "{}x"]
)
def test_what_only_python_takes_for_json_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="line 1"):
        splice.read(text, FILE)


# ---------------------------------------------------------------- in and out


@pytest.mark.parametrize("name", CLIENTS)
def test_in_and_out_leaves_nothing(name: str, home: Path) -> None:
    client = CLIENTS[name]
    (home / ".claude" / "settings.json").write_text(COMMENTED)
    (home / ".codex" / "config.toml").write_text('model = "x"  # mine\n\n[other]\na = 1')
    before = tree(home)
    assert install.install(client) and entries_of(client)
    assert ("server" in entries_of(client)) and (client.hooks is None) == (entries_of(client) == ["server"])
    once = tree(home)
    install.install(client)
    assert tree(home) == once, "a second time changes nothing"
    uninstall.remove(client)
    assert {name: text for name, text in tree(home).items() if "memorist" not in name} == before


@pytest.mark.parametrize("name", CLIENTS)
def test_a_file_of_ours_that_was_only_laid_out_anew_goes(name: str, home: Path) -> None:
    """As agents do that write their settings again."""
    before = tree(home)
    for change in install.install(CLIENTS[name]):
        text = change.file.read_text()
        change.file.write_text(json.dumps(json.loads(text), indent=7) if change.file.suffix == ".json" else text)
    uninstall.remove(CLIENTS[name])
    assert {file: text for file, text in tree(home).items() if "memorist" not in file} == before


def test_what_others_put_into_a_file_of_ours_stays(home: Path) -> None:
    client, file = CLIENTS["cursor"], home / ".cursor" / "hooks.json"
    install.install(client)
    file.write_text(file.read_text() + "// mine\n")
    uninstall.remove(client)
    assert "// mine" in file.read_text()


def test_what_others_changed_since_stays(home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude" / "settings.json"
    file.write_text(COMMENTED)
    install.install(client)
    theirs = file.read_text().replace('"opus"', '"haiku"')
    file.write_text(theirs)
    uninstall.remove(client)
    assert file.read_text() == COMMENTED.replace('"opus"', '"haiku"')


def test_a_hook_that_the_user_removed_stays_out(home: Path) -> None:
    client, file = CLIENTS["gemini"], home / ".gemini" / "settings.json"
    install.install(client)
    file.write_text(splice.take(file.read_text(), ("hooks", "BeforeAgent"), file))
    changes = install.install(client)
    assert "BeforeAgent" not in entries_of(client)
    assert any("was removed" in said for change in changes for said in change.told)
    uninstall.remove(client)
    install.install(client)
    assert "BeforeAgent" in entries_of(client), "who uninstalls and installs again wants it"


GONE = """{
  "hooks": {
    "Stop": [
      {"matcher": "*", "hooks": [{"type": "command", "command": "A='b c' /old/memorist hook claude-code Stop  --plugin"}]}, // mine
    ], "SessionEnd": []
  },
}
"""


def test_a_hook_whose_program_is_gone_calls_us_by_name(home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude" / "settings.json"
    file.write_text(GONE)
    [change, *_] = install.plan(client)
    assert "/old/memorist" in "".join(change.diff()) and "Stop" in change.entries
    install.install(client)
    theirs = file.read_text()
    assert GONE.splitlines()[3].replace("/old/memorist", "memorist") in theirs.splitlines()
    install.install(client)
    assert file.read_text() == theirs, "a second time changes nothing"
    file.write_text(splice.take(theirs, ("hooks", "Stop", 0), file))
    install.install(client)
    assert "Stop" not in entries_of(client), "who removed it does not want it"
    uninstall.remove(client)
    assert splice.read(file.read_text(), file) == {"hooks": {"Stop": [], "SessionEnd": []}}


def test_what_is_no_longer_called_by_a_path_is_taken_out_as_ever(home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude" / "settings.json"
    file.write_text(COMMENTED)
    install.install(client)
    ours = file.read_text()
    file.write_text(ours.replace('"memorist hook', '"/old/memorist hook'))
    install.install(client)
    assert file.read_text() == ours
    uninstall.remove(client)
    assert file.read_text() == COMMENTED


@pytest.mark.parametrize("command", ["~/old/memorist", "/old/$X/memorist", "uvx memorist", "env A=1 memorist"])
def test_what_only_a_shell_finds_counts_as_there(command: str, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"command": f"{command} hook claude-code Stop"}]}]}}))
    install.install(CLIENTS["claude-code"])
    assert f"{command} hook" in file.read_text()


RENEWED = [
    ("A=1 env MEMORIST_DB='/x y' /old/memorist", "A=1 env MEMORIST_DB='/x y' memorist"),
    ("uv --directory /x run /old/memorist", "uv --directory /x run memorist"), ("/old/python -u -m memorist", "memorist"),
]  # fmt: skip
# They may start it in another folder, or with variables that it would not have by name.
KEPT = ["/old/uv --directory /x run memorist", "/old/env A=1 uvx memorist", "env A=1 /old/python -m memorist"]


@pytest.mark.parametrize(("command", "after"), [*RENEWED, *((each, each) for each in KEPT)])
def test_what_a_runner_sets_stays_where_a_program_is_gone(command: str, after: str, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"command": f"{command} hook claude-code Stop"}]}]}}))
    told = [said for change in install.install(CLIENTS["claude-code"]) for said in change.told]
    assert entries.ours(splice.read(file.read_text(), file), "Stop", CLIENTS["claude-code"]) == [
        f"{after} hook claude-code Stop"
    ]
    assert command not in KEPT or any("; uninstall, then" in said for said in told)


@pytest.mark.parametrize(("words", "after"), [
    (["env", "MEMORIST_DB=/x", "/old/memorist", "mcp"], ["env", "MEMORIST_DB=/x", "memorist", "mcp"]),
    (["uv", "run", "--env-file", "/x", "/old/memorist", "mcp"], ["uv", "run", "--env-file", "/x", "memorist", "mcp"]),
    *(([*each.split(), "mcp"], [*each.split(), "mcp"]) for each in KEPT),
])  # fmt: skip
def test_a_server_whose_program_is_gone_keeps_its_store(words: list[str], after: list[str], home: Path) -> None:
    gemini, codex = home / ".gemini" / "settings.json", home / ".codex" / "config.toml"
    opencode = home / ".config" / "opencode" / "opencode.json"
    opencode.parent.mkdir(parents=True)
    gemini.write_text(json.dumps({"mcpServers": {"memorist": {"command": words[0], "args": words[1:]}}}))
    codex.write_text(f"[mcp_servers.memorist]\ncommand = {json.dumps(words[0])}\nargs = {json.dumps(words[1:])}\n")
    opencode.write_text(json.dumps({"mcp": {"memorist": {"type": "local", "command": words}}}))
    for name in ("gemini", "codex", "opencode"):
        install.install(CLIENTS[name], hooks=False)
    wanted = {"command": after[0], "args": after[1:]}
    assert json.loads(gemini.read_text())["mcpServers"]["memorist"] == wanted
    assert tables.read(codex.read_text(), codex)["mcp_servers"]["memorist"] == wanted
    assert json.loads(opencode.read_text())["mcp"]["memorist"]["command"] == after


@pytest.mark.parametrize(("name", "path", "text"), [
    ("gemini", ".gemini/settings.json", '{"mcpServers": {"memorist": {"command": "PROGRAM", "args": ["mcp", "-v"], "x": 1}}}\n'),
    ("opencode", ".config/opencode/opencode.json", '{"mcp": {"memorist": {"command": ["PROGRAM", "mcp"], "x": {"A": "b"}}}}\n'),
    ("codex", ".codex/config.toml", '[mcp_servers.memorist]\ncommand = "PROGRAM"\nargs = ["mcp"]\nenv = {"A" = "b"}\n'),
])  # fmt: skip
def test_a_server_whose_program_is_gone_calls_us_by_name(name: str, path: str, text: str, home: Path) -> None:
    file, client = home / path, CLIENTS[name]
    file.parent.mkdir(parents=True, exist_ok=True)
    for program, after in ((str(home.parent / "bin" / "memorist"),) * 2, ("/old/memorist", "memorist")):
        file.write_text(text.replace("PROGRAM", program))
        install.install(client, hooks=False)
        assert file.read_text() == text.replace("PROGRAM", after)
    uninstall.remove(client)
    assert "memorist" not in file.read_text()


def claude(home: Path, does: str) -> None:
    """A program of that name on the PATH."""
    program = home.parent / "bin" / "claude"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="a script of the shell")
def test_the_command_of_an_agent_adds_the_server(home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude.json"
    file.write_text('{"x": 1}\n')
    claude(
        home,
        f"""echo '{{"x": 2, "mcpServers": {{"memorist": {{"command": "memorist", "args": ["mcp"]}}}}}}' > {file}""",
    )
    [change] = install.plan(client, hooks=False)
    assert change.diff() == [f"$ {home.parent}/bin/claude mcp add --scope user memorist -- memorist mcp"]
    install.install(client, hooks=False)
    assert entries_of(client) == [SERVER] and install.plan(client, hooks=False)[0].told == ()
    uninstall.remove(client)
    assert file.read_text() == '{"x": 1}\n'


@pytest.mark.skipif(os.name != "posix", reason="a script of the shell")
@pytest.mark.parametrize(("does", "said"), [
    ("echo one >&2; printf 'no \\351 two' >&2; exit 1", r"memorist mcp` failed \(no \ufffd two\); run it yourself"),
    ("exit 3", r"failed \(3\)"), ("exit 0", r"ended well and left .*\.claude\.json as it was; add the server"),
])  # fmt: skip
def test_a_command_of_an_agent_that_adds_nothing_is_named(does: str, said: str, home: Path) -> None:
    claude(home, does)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=said):
            install.install(CLIENTS["claude-code"])
    assert entries_of(CLIENTS["claude-code"])[0] == "SessionStart", "the hooks are in"
    uninstall.remove(CLIENTS["claude-code"])
    assert tree(home) == {}


def test_a_command_of_an_agent_is_shown_as_a_shell_takes_it() -> None:
    change = changes.FileChange(FILE, "claude-code", None, None, command=("/my tools/claude", "mcp", "add"))
    assert change.diff() == ["$ '/my tools/claude' mcp add"]


def test_a_memorist_of_somebody_else_is_left_alone(home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude" / "settings.json"
    command = f"{home.parent / 'bin' / 'memorist'} hook claude-code Stop"
    other = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}
    file.write_text(json.dumps(other))
    (home / ".claude.json").write_text('{"mcpServers": {"memorist": {"command": "other-program"}}}')
    told = [said for change in install.install(client) for said in change.told]
    assert json.loads(file.read_text())["hooks"]["Stop"] == other["hooks"]["Stop"], "it would run twice"
    assert any("another memorist at Stop" in said for said in told) and any(
        "another server called" in said for said in told
    )
    assert json.loads((home / ".claude.json").read_text())["mcpServers"]["memorist"] == {"command": "other-program"}


HOOK = "hook claude-code Stop"
SPELT = (
    f"uvx memorist {HOOK}", f"uvx -q --from 'memorist[mcp]' memorist@latest {HOOK}", f"/opt/bin/uv tool run memorist {HOOK}",
    f"python3.11 -m memorist {HOOK}", f"MEMORIST_DB=/x NOTE='a b' memorist {HOOK}", f"env A=1 memorist {HOOK} --plugin",
    f"uv --directory '/my src' run --extra mcp memorist {HOOK}", f"uv run --env-file .env -m memorist {HOOK}",
    f"uvx --index-url https://x -f /y memorist {HOOK}", f"python -u -X dev -m memorist {HOOK}", f"python -Im memorist {HOOK}",
    f"env -u HOME -i A=1 uvx --from=memorist memorist {HOOK}", f"pipx --verbose run --spec memorist==1 memorist {HOOK}",
    f"uv tool run --from memorist[mcp] memorist {HOOK}", f"uv run -p python3.12 --with x -- python -m memorist {HOOK}",
    f"memorist {HOOK} 2>&1 >/dev/null", f"A='x;y' B=\"x|y\" memorist {HOOK}",
    f'"/opt/my tools/memorist" {HOOK}', f"/opt/my\\ tools/memorist {HOOK}", f'"C:\\my tools\\memorist.exe" {HOOK}',
)  # fmt: skip
FOREIGN = (
    f"echo memorist {HOOK}", f"echo 'memorist {HOOK}'", f"env echo 'memorist {HOOK}'", f"A=1 my-memorist {HOOK}",
    f"uvx --with memorist other {HOOK}", f"./memorist-wrapper {HOOK}", "memorist recall hook claude-code",
    "memorist hook codex Stop", f"uv --directory memorist run other {HOOK}", f"NOTE=/x/memorist other {HOOK}",
    f"env -u memorist other {HOOK}", f"./other.sh && memorist {HOOK}", f"bash -c 'other; memorist {HOOK}'",
    f"env echo memorist {HOOK}", f"env -i ./other.sh memorist {HOOK}", f"python3 other.py memorist {HOOK}",
    f"python3 -u other.py --run memorist {HOOK}", f"python -m other memorist {HOOK}", f"python -c 'x' memorist {HOOK}",
    f"memorist {HOOK} && ./other.sh", f"memorist {HOOK}; ./other.sh", f"A='x y' memorist {HOOK} | ./other.sh",
    f"uv run other.py memorist {HOOK}", f"uvx -q other -- memorist {HOOK}", f"pipx run other memorist {HOOK}",
)  # fmt: skip


@pytest.mark.parametrize("command", [*SPELT, *FOREIGN])
def test_a_hook_of_ours_is_known_however_it_is_spelt(command: str, home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude" / "settings.json"
    entry = {"hooks": [{"type": "command", "command": command}]}
    file.write_text(json.dumps({"hooks": {"Stop": [entry]}}))
    install.install(client, servers=False)
    added = json.loads(file.read_text())["hooks"]["Stop"][1:]
    assert bool(added) == (command in FOREIGN), "it would run twice"
    uninstall.remove(client)
    assert json.loads(file.read_text())["hooks"]["Stop"] == ([entry] if command in FOREIGN else [])


@pytest.mark.parametrize(("words", "ours"), [
    (["uvx", "memorist", "mcp"], True), (["/opt/my tools/memorist", "mcp"], True), (["npx", "memorist", "mcp"], False),
    (["uv", "--directory", "/my src", "run", "memorist", "mcp"], True), (["python", "-u", "-m", "memorist", "mcp"], True),
    (["docker", "run", "memorist", "mcp"], False), (["uvx", "mcp-proxy", "--", "memorist", "mcp"], False),
    (["python", "/x/other.py", "memorist", "mcp"], False), (["env", "A=1", "uvx", "-p", "python3.12", "memorist", "mcp"], True),
    (["uv", "--directory", "memorist", "run", "other", "mcp"], False),
])  # fmt: skip
def test_a_server_of_ours_is_known_however_it_is_spelt(words: list[str], ours: bool, home: Path) -> None:
    file = home / ".gemini" / "settings.json"
    file.write_text(json.dumps({"mcpServers": {"memorist": {"command": words[0], "args": words[1:]}}}))
    uninstall.remove(CLIENTS["gemini"])
    assert ("memorist" in json.loads(file.read_text()).get("mcpServers", {})) != ours


def test_a_hook_that_goes_on_with_a_command_of_somebody_is_theirs(home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude" / "settings.json"
    install.install(client)
    file.write_text(file.read_text().replace(f"memorist {HOOK}", f"memorist {HOOK} && ./other.sh"))
    told = [said for change in install.install(client) for said in change.told]
    assert any("hook at Stop was removed" in said and "or changed" in said for said in told)
    uninstall.remove(client)
    assert json.loads(file.read_text())["hooks"].keys() == {"Stop"} and "./other.sh" in file.read_text()


def test_hooks_that_stay_out_are_told_of_in_one_line(home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude" / "settings.json"
    install.install(client, servers=False)
    text = file.read_text()
    file.write_text(text.replace('"memorist hook', '"uvx memorist hook'))
    [told] = install.plan(client, servers=False)[0].told
    assert "another memorist at SessionStart, UserPromptSubmit," in told and "(uvx memorist hook claude-code S" in told
    file.write_text("{}")
    [told] = install.plan(client, servers=False)[0].told
    assert "the hook at SessionStart, UserPromptSubmit," in told and "SubagentStart was removed from" in told


def test_the_notes_of_another_version_are_left_to_it(home: Path) -> None:
    install.install(CLIENTS["gemini"])
    notes = our_copies().parent / "installed.json"
    newer = json.dumps({name: {**each, "since": "9.0"} for name, each in json.loads(notes.read_text()).items()})
    notes.write_text(newer)
    before = tree(home)
    for work in (install.install, uninstall.remove):
        with pytest.raises(Invalid, match=r"installed\.json cannot be read .* use the memorist that wrote it"):
            work(CLIENTS["gemini"])
    assert tree(home) == before


# ---------------------------------------------------------------- files that are ours


@pytest.fixture
def opencode(home: Path) -> Path:
    """Where the plugin and the command of OpenCode are put; its folder is there, and nothing in it."""
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    return folder


def test_files_of_ours_come_and_go_with_their_folders(opencode: Path) -> None:
    client = CLIENTS["opencode"]
    assert client.hooks is not None
    install.install(client)
    assert entries_of(client) == [*client.hooks.events.values(), "command", "server"]
    assert "memorist hook opencode" in (opencode / "plugins" / "memorist.js").read_text()
    (opencode / "commands" / "mine.md").write_text("mine")
    uninstall.remove(client)
    assert entries_of(client) == [] and [*opencode.rglob("*")] == [
        opencode / "commands",
        opencode / "commands" / "mine.md",
    ]


def test_a_file_of_ours_follows_a_newer_version(opencode: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, file = CLIENTS["opencode"], opencode / "plugins" / "memorist.js"
    with monkeypatch.context() as older:
        older.setattr(skills, "plugin_of_opencode", lambda: "// memorist hook opencode, as it was\n")
        install.install(client)
    install.install(client)
    assert file.read_text() == skills.plugin_of_opencode()
    uninstall.remove(client)
    assert not file.parent.exists()


@pytest.mark.parametrize("theirs", ["// nobody's\n", "// memorist hook opencode, by somebody else\n"])
def test_a_file_that_somebody_else_wrote_stays(theirs: str, opencode: Path) -> None:
    client, file = CLIENTS["opencode"], opencode / "plugins" / "memorist.js"
    file.parent.mkdir()
    file.write_text(theirs)
    said = [said for change in install.install(client) for said in change.told]
    assert any("is another than ours" in each for each in said) and file.read_text() == theirs
    said = [said for change in uninstall.remove(client) for said in change.told]
    assert file.read_text() == theirs and any("stays" in each for each in said) == ("memorist" in theirs)


def test_a_file_of_ours_that_the_user_removed_or_changed_stays_so(opencode: Path) -> None:
    client, file = CLIENTS["opencode"], opencode / "plugins" / "memorist.js"
    install.install(client)
    (opencode / "commands" / "memorist.md").unlink()
    file.write_text(file.read_text() + "// mine\n")
    install.install(client)
    assert not (opencode / "commands" / "memorist.md").exists() and file.read_text().endswith("// mine\n")
    uninstall.remove(client)
    assert file.read_text().endswith("// mine\n")


def our_copies() -> Path:
    user = settings.user_file()
    assert user is not None
    return user.parent / "before"


def test_a_lost_copy_costs_nobody_a_file(home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude" / "settings.json"
    file.write_text(COMMENTED)
    install.install(client)
    for copy in our_copies().iterdir():
        copy.unlink()
    uninstall.remove(client)
    assert file.read_text() == COMMENTED


@pytest.mark.parametrize(
    "others",
    ["  [profiles.work]\n  model = 1\n", "# about nothing\n\n[next]\na = 1\n", "# end\n",
     "startup_timeout_sec = 5\n# why\n[mcp_servers.memorist.env]\nA = 'b'\n[mcp_servers.other]\ncommand = 'x'\n"],
)  # fmt: skip
def test_toml_of_others_stays(others: str, home: Path) -> None:
    client, file = CLIENTS["codex"], home / ".codex" / "config.toml"
    mine = 'model = "x"  # mine\n\n[other]\na = 1\n'
    file.write_text(mine)
    install.install(client)
    file.write_text(file.read_text() + others)
    uninstall.remove(client)
    left = file.read_text()
    ours = "startup_timeout_sec = 5\n", "[mcp_servers.memorist.env]\nA = 'b'\n"
    for line in ours:
        others = others.replace(line, "")
    assert left == mine + others


def test_a_table_that_cannot_be_told_from_others_is_refused(home: Path) -> None:
    file = home / ".codex" / "config.toml"
    text = "[mcp_servers]\nmemorist = {command = 'memorist', args = ['mcp']}\nother = {command = 'x'}\n"
    file.write_text(text)
    with pytest.raises(Refused, match="by hand"):
        uninstall.remove(CLIENTS["codex"])
    assert file.read_text() == text


@pytest.mark.parametrize(
    "mine", [{"type": "command", "command": "echo mine"}, {"type": "prompt", "prompt": "All done?"}]
)
def test_a_hook_that_somebody_put_beside_ours_stays(mine: dict[str, str], home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude" / "settings.json"
    install.install(client)
    file.write_text(splice.append(file.read_text(), ("hooks", "Stop", 0, "hooks"), mine, file))
    uninstall.remove(client)
    assert json.loads(file.read_text()) == {"hooks": {"Stop": [{"hooks": [mine]}]}}


@pytest.mark.parametrize("before", [{"hooks": {}}, {"hooks": {"Stop": []}}, {"mcpServers": {}}, {}])
def test_what_was_there_empty_comes_back_empty(before: dict[str, Any], home: Path) -> None:
    client, file = CLIENTS["gemini"], home / ".gemini" / "settings.json"
    file.write_text(json.dumps(before))
    install.install(client)
    file.write_text(splice.put(file.read_text(), ("theme",), "dark", file))
    uninstall.remove(client)
    assert json.loads(file.read_text()) == {**before, "theme": "dark"}


def test_what_was_changed_between_two_installations_comes_out_too(home: Path) -> None:
    client, file = CLIENTS["gemini"], home / ".gemini" / "settings.json"
    file.write_text("{}\n")
    install.install(client, servers=False)
    file.write_text(splice.put(file.read_text(), ("theme",), "dark", file))
    install.install(client)
    assert "server" in entries_of(client)
    uninstall.remove(client)
    assert json.loads(file.read_text()) == {"theme": "dark"} and entries_of(client) == []


def test_nothing_is_noted_when_nothing_is_installed(home: Path) -> None:
    (home / ".claude" / "settings.json").write_text(COMMENTED)
    install.install(CLIENTS["claude-code"])
    assert any(our_copies().iterdir())
    uninstall.remove(CLIENTS["claude-code"])
    assert not our_copies().exists() and not (our_copies().parent / "installed.json").exists()


def test_a_file_with_an_error_is_named_and_untouched(home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.write_text('{\n  "model": "opus"\n  "x": 1\n}\n')
    with pytest.raises(Invalid, match=r"settings\.json, line 3: a comma or } is missing; correct it$"):
        install.install(CLIENTS["claude-code"])
    assert file.read_text() == '{\n  "model": "opus"\n  "x": 1\n}\n' and not (home / ".claude.json").exists()


@pytest.mark.parametrize("row", ["more = [\n  [1, 2],\n]\n", 'more = """\n[z]\n"""\n'])
def test_a_value_over_several_lines_in_our_table_is_said_to_be_what_stops_us(row: str) -> None:
    text = f'[mcp_servers.memorist]\ncommand = "memorist"\n{row}'
    with pytest.raises(Refused, match=r"^config\.toml is written in a way"):
        tables.take(text, ("mcp_servers", "memorist"), Path("config.toml"))


@pytest.mark.parametrize("blank", [b"", b" \r\n"])
def test_a_blank_file_counts_as_one_that_says_nothing(blank: bytes, home: Path) -> None:
    client, file = CLIENTS["claude-code"], home / ".claude" / "settings.json"
    file.write_bytes(blank)
    uninstall.remove(client)
    install.install(client)
    assert "Stop" in entries_of(client)
    uninstall.remove(client)
    assert tree(home) == {".claude/settings.json": blank}
    install.install(client)
    file.write_bytes(blank)
    uninstall.remove(client)
    assert tree(home) == {".claude/settings.json": blank}


def test_toml_with_an_error_is_named_and_untouched(home: Path) -> None:
    file = home / ".codex" / "config.toml"
    file.write_text('model = "x"\n[other\n')
    before = tree(home)
    for work in (install.install, uninstall.remove):
        with pytest.raises(Invalid, match=r"config\.toml.*line 2"):
            work(CLIENTS["codex"])
    assert tree(home) == before, "nothing of the hooks either"


def test_without_a_home_nothing_is_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    before = tree(home)
    monkeypatch.setattr(Path, "home", nobody)
    for work in (install.install, uninstall.remove, entries_of):
        with pytest.raises(Invalid, match="set HOME"):
            work(CLIENTS["claude-code"])
    assert tree(home) == before


def test_a_folder_in_the_place_of_a_file_is_refused(home: Path) -> None:
    (home / ".gemini" / "settings.json").mkdir()
    with pytest.raises(MemoristError, match=r"settings\.json"):
        install.install(CLIENTS["gemini"])
    assert [*(home / ".gemini" / "settings.json").iterdir()] == []


def test_a_read_only_file_is_refused(home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.write_text("{}")
    file.chmod(0o444)
    with pytest.raises(Refused, match="read-only"):
        install.install(CLIENTS["claude-code"])
    assert file.read_text() == "{}"


def test_a_read_only_file_is_refused_on_the_way_out_too(home: Path) -> None:
    """And what else there is of ours goes."""
    file = home / ".claude" / "settings.json"
    install.install(CLIENTS["claude-code"])
    file.chmod(0o444)
    there = file.read_bytes()
    with pytest.raises(Refused, match=r"read-only.*other files"):
        uninstall.remove(CLIENTS["claude-code"])
    assert file.read_bytes() == there and entries_of(CLIENTS["claude-code"]) == [*CLIENTS["claude-code"].hooks.names]  # type: ignore[union-attr]
    file.chmod(0o644)
    uninstall.remove(CLIENTS["claude-code"])
    assert not file.exists()


def test_a_read_only_folder_keeps_no_other_file_from_its_end(home: Path) -> None:
    install.install(CLIENTS["claude-code"])
    (home / ".claude").chmod(0o555)
    words = [*LIKE_ANYBODY, *PROGRAM, "uninstall", "claude-code"]
    done = subprocess.run(words, env={**os.environ, "HOME": str(home)}, cwd=home, capture_output=True, text=True)
    (home / ".claude").chmod(0o755)
    assert done.returncode and re.search(r"settings\.json or its folder is read-only.*other files", done.stderr), done
    assert not (home / ".claude.json").exists() and not (home / ".claude" / "commands" / "memorist.md").exists()
    uninstall.remove(CLIENTS["claude-code"])
    assert tree(home / ".claude") == {}


@pytest.mark.parametrize("work", [install.install, uninstall.remove])
def test_on_a_full_disk_nothing_is_done_that_cannot_be_noted(work: Callable[..., Any], home: Path) -> None:
    client, file = CLIENTS["gemini"], home / ".gemini" / "settings.json"
    file.write_text(COMMENTED)
    for name, other in CLIENTS.items():
        if name != "gemini" or work is uninstall.remove:
            install.install(other)
    before, noted = tree(home), our_copies().parent / "installed.json"
    files_at_most(noted.stat().st_size // 2)
    try:
        with pytest.raises(StoreUnavailable, match="the disk is full: nothing was written"):
            work(client)
    finally:
        files_of_any_size()
    assert tree(home) == before
    for again in (install.install, uninstall.remove):
        again(client)
    assert file.read_text() == COMMENTED


def test_what_cannot_be_noted_is_said_with_the_file(home: Path) -> None:
    file = home / ".gemini" / "settings.json"
    file.write_text(COMMENTED)
    our_copies().parent.mkdir(parents=True, exist_ok=True)
    our_copies().write_text("a file in the place of a folder")
    with pytest.raises(StoreUnavailable, match=r"before.* cannot be used \(.*\); check"):
        install.install(CLIENTS["gemini"])
    assert file.read_text() == COMMENTED


def test_a_large_file_of_the_agent_is_no_obstacle(home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code keeps histories of 15 to 65 MB in its own. One that is too large all the same keeps no other from its end."""
    file = home / ".claude.json"
    file.write_text(json.dumps({"projects": {str(n): {"history": ["x" * 20_000]} for n in range(300)}}))
    before, env = tree(home), {"HOME": str(home), "PATH": os.environ["PATH"]}
    done = cli("install", "claude-code", **env)
    assert done.code == 0 and SERVER in entries_of(CLIENTS["claude-code"])
    assert '"memorist"' in done.out and "x" * 100 not in done.out, "of one long line only what changes is shown"
    assert (
        cli("uninstall", "claude-code", **env).code == 0
        and tree(home / ".claude") == {}
        and file.read_bytes() == before[".claude.json"]
    )
    assert cli("install", "claude-code", "--no-mcp", **env).code == 0
    monkeypatch.setattr(changes, "LARGEST_SETTINGS", 5_000_000)
    dry = cli.inside("uninstall", "claude-code", "--dry-run")
    assert dry.code == 2 and "other files" in dry.err
    out = cli.inside("uninstall", "claude-code")
    assert out.code == 2 and "bytes" in out.err and "other files" in out.err
    assert tree(home / ".claude") == {} and file.read_bytes() == before[".claude.json"]


def test_a_table_on_one_line_is_named(home: Path) -> None:
    file = home / ".codex" / "config.toml"
    file.write_text('mcp_servers = {other = {command = "x"}}\n')
    with pytest.raises(Refused, match=r"mcp_servers on one line.*yourself"):
        install.install(CLIENTS["codex"], hooks=False)


@pytest.mark.parametrize("text", ["mcp_servers = 'x'\n", "mcp_servers = []\n", "[[mcp_servers]]\nname = 'x'\n"])
def test_what_is_no_table_is_named(text: str, home: Path) -> None:
    file = home / ".codex" / "config.toml"
    file.write_text(text)
    with pytest.raises(Invalid, match=r"^mcp_servers in .*config.toml is no table"):
        install.install(CLIENTS["codex"])
    assert file.read_text() == text


def test_a_file_that_is_no_object_is_named(home: Path) -> None:
    (home / ".gemini" / "settings.json").write_text("[]")
    with pytest.raises(Invalid, match=r"^what stands in .*settings.json is no object"):
        install.install(CLIENTS["gemini"])


@pytest.mark.skipif(os.name != "posix", reason="links of this kind, and modes")
def test_a_link_and_a_mode_stay(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}\n")
    real.chmod(0o640)
    (home / ".claude" / "settings.json").symlink_to(real)
    install.install(CLIENTS["claude-code"])
    assert (home / ".claude" / "settings.json").is_symlink() and "SessionStart" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    uninstall.remove(CLIENTS["claude-code"])
    assert real.read_text() == "{}\n"


@pytest.mark.skipif(os.name != "posix", reason="links of this kind")
def test_a_cloned_project_does_not_choose_the_file(home: Path, tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "clone", tmp_path / "elsewhere.json"
    (project / ".claude").mkdir(parents=True)
    elsewhere.write_text("{}")
    (project / ".claude" / "settings.json").symlink_to(elsewhere)
    with pytest.raises(Refused, match="outside of the project"):
        install.install(CLIENTS["claude-code"], project)
    assert elsewhere.read_text() == "{}"


@pytest.mark.skipif(os.name != "posix", reason="links of this kind")
def test_nor_does_a_folder_of_it_that_leads_elsewhere(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "clone"
    project.mkdir()
    install.install(CLIENTS["claude-code"])
    (project / ".claude").symlink_to(home / ".claude")
    before = tree(home)
    for work in (install.install, uninstall.remove):
        with pytest.raises(Refused, match="outside of the project"):
            work(CLIENTS["claude-code"], project)
    assert tree(home) == before


def test_a_session_that_is_over_waits_for_nobody(home: Path) -> None:
    """Codex warns of a hook there that may take longer than three seconds; Gemini counts in thousandths."""
    for name, file, most in (("codex", ".codex/hooks.json", 3), ("gemini", ".gemini/settings.json", 3000)):
        install.install(CLIENTS[name])
        hooks = json.loads((home / file).read_text())["hooks"]
        assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] == most < hooks["SessionStart"][0]["hooks"][0]["timeout"]


def test_two_at_once(home: Path) -> None:
    client, problems = CLIENTS["codex"], list[BaseException]()

    def run() -> None:
        try:
            install.install(client)
        except BaseException as problem:
            problems.append(problem)

    both = [threading.Thread(target=run) for _ in range(4)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    hooks = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]
    assert not problems and all(len(entries) == 1 for entries in hooks.values())


def test_in_and_out_at_once_leaves_a_whole_file(home: Path) -> None:
    client, file = CLIENTS["gemini"], home / ".gemini" / "settings.json"
    file.write_text(COMMENTED)
    problems: list[BaseException] = []

    def run(work: Callable[..., Any]) -> None:
        try:
            work(client)
        except BaseException as problem:
            problems.append(problem)

    each = [threading.Thread(target=run, args=(work,)) for work in (install.install, uninstall.remove) * 3]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()
    assert not problems and len(entries_of(client)) in (0, 7), "all of it or nothing"
    uninstall.remove(client)
    assert file.read_text() == COMMENTED and entries_of(client) == []


def test_without_the_program_on_the_path_nothing_is_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    before = tree(home)
    with pytest.raises(Refused, match="is not on the PATH"):
        install.install(CLIENTS["claude-code"])
    assert tree(home) == before


# ---------------------------------------------------------------- at the shell


def test_bare_install_changes_nothing(home: Path, cli: Cli) -> None:
    before = tree(home)
    said = cli("install", HOME=str(home), PATH=os.environ["PATH"])
    assert said.code == 0 and "claude-code\tfound\t-" in said.out and "nothing was changed" in said.err
    assert tree(home) == before


def test_what_keeps_an_agent_from_its_tools_is_told_at_once(home: Path, tmp_path: Path, cli: Cli) -> None:
    without = "import importlib.util as u\nold = u.find_spec\nu.find_spec = lambda n, *a: None if n == 'mcp' else old(n, *a)\n"
    (tmp_path / "sitecustomize.py").write_text(without)
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    said = cli("install", "claude-code", "--dry-run", PYTHONPATH=str(tmp_path), **env)
    assert said.code == 0 and "pip install 'memorist[mcp]'" in said.err
    said = cli("install", "claude-code", "--dry-run", "--no-mcp", PYTHONPATH=str(tmp_path), **env)
    assert said.code == 0 and "memorist[mcp]" not in said.err


def test_codex_has_to_be_told_to_trust_hooks(home: Path, cli: Cli) -> None:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    assert "until you trust them" in cli("install", "all", **env).err
    assert "until you trust them" in cli("install", "codex", **env).err, "they may not be trusted yet"
    assert "trust" not in cli("install", "codex", "--no-hooks", **env).err + cli("install", "gemini", **env).err


def test_a_program_that_is_there_only_in_an_environment_is_told_of(home: Path, cli: Cli) -> None:
    program = shutil.which("memorist", path=os.environ["PATH"])
    assert program is not None
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    said = cli("install", "claude-code", "--dry-run", VIRTUAL_ENV=str(Path(program).parents[1]), **env)
    assert said.code == 0 and "pipx install 'memorist[mcp]'" in " ".join(said.err.split())
    assert "pipx" not in cli("install", "claude-code", "--dry-run", VIRTUAL_ENV=str(home / "other"), **env).err


def test_the_lines_are_shown_and_nothing_beside_them(home: Path, cli: Cli) -> None:
    (home / ".claude" / "settings.json").write_text('{\n  "env": {\n    "KEY": "hunter2-secret"\n  },\n  "x": 1\n}\n')
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    shown = cli("install", "claude-code", "--dry-run", **env)
    assert "memorist hook claude-code SessionStart" in shown.out and "hunter2" not in shown.out
    assert "hooks" not in (home / ".claude" / "settings.json").read_text()
    assert cli("install", "claude-code", "--no-mcp", **env).code == 0
    assert "hooks" in (home / ".claude" / "settings.json").read_text() and not (home / ".claude.json").exists()
    wrong = cli("install", "claude-cod", **env)
    assert wrong.code == 2 and "did you mean 'claude-code'" in wrong.err


def test_what_is_not_done_is_said_in_words_that_fit(home: Path, cli: Cli) -> None:
    env, file = {"HOME": str(home), "PATH": os.environ["PATH"]}, home / ".gemini" / "settings.json"
    assert cli("install", "gemini", **env).code == 0
    assert cli("install", "gemini", **env).out == "Gemini CLI has everything already\n"
    file.write_text(splice.take(file.read_text(), ("hooks", "BeforeAgent"), file))
    removed = cli("install", "gemini", **env)
    assert removed.out == "Gemini CLI: nothing to add\n" and "BeforeAgent was removed" in removed.err
    for folder in home.iterdir():
        shutil.rmtree(folder)
    none, as_json = cli("install", "all", **env), cli("install", "all", "--json", **env)
    assert none.code == 0 and not none.out and "none of these agents is on this machine: Claude Code, Codex" in none.err
    assert as_json.json == {} and "none of these agents" in as_json.err


def test_in_the_settings_of_a_project(home: Path, cli: Cli) -> None:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    done = cli("install", "claude-code", "--project", **env)
    assert done.code == 0 and "no `memorist` on their PATH" in done.err, "others work on it too"
    assert {"memorist"} == set(json.loads((cli.folder / ".mcp.json").read_text())["mcpServers"])
    assert cli("uninstall", "claude-code", "--project", **env).code == 0
    assert not (cli.folder / ".mcp.json").exists()


def test_lines_come_before_what_is_said_of_them_in_a_pipe_too(home: Path, cli: Cli) -> None:
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONUNBUFFERED": None}
    said, _ = cli.start("install", "gemini", environment=env, stderr=subprocess.STDOUT).communicate()
    assert said.index(b"BeforeAgent") < said.index(b"done; an agent")


def test_what_is_left_in_projects_is_named(home: Path, cli: Cli) -> None:
    env, file = {"HOME": str(home), "PATH": os.environ["PATH"]}, cli.folder / ".mcp.json"
    for project in ((), ("--project",)):
        assert cli("install", "claude-code", "--no-hooks", *project, **env).code == 0
    assert cli("install", "codex", "--project", **env).code == 0
    for said in (cli("uninstall", "claude-code", "--dry-run", **env), cli("uninstall", "claude-code", **env)):
        assert f"lines of ours are in {file} too; `memorist uninstall claude-code --project`" in said.err
        assert ".codex" not in said.err and said.code == 0
    assert "nothing to take out" in cli("uninstall", "claude-code", **env).out
    assert "too" not in cli("uninstall", "claude-code", "--project", **env).err and not file.exists()
    assert cli("uninstall", "claude-code", **env).out == "Claude Code has nothing of ours\n"


def test_one_agent_with_a_problem_keeps_no_other_from_its_lines(home: Path, cli: Cli) -> None:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    broken = home / ".claude" / "settings.json"
    broken.write_text("{,")
    done = cli("install", "all", **env)
    assert done.code == 2 and "settings.json, line 1" in done.err and "1 of 3 agents" in done.err
    assert "SessionStart" in (home / ".codex" / "hooks.json").read_text() and broken.read_text() == "{,"
    assert "BeforeAgent" in (home / ".gemini" / "settings.json").read_text()
    listed = cli("install", "--json", **env).json
    assert "line 1" in listed["claude-code"]["error"]["message"] and "error" not in listed["codex"]
    told = cli("uninstall", "all", "--json", **env)
    assert (
        told.code == 2 and told.json["claude-code"]["error"]["code"] and not (home / ".codex" / "hooks.json").exists()
    )


def test_all_in_a_project_means_those_with_settings_of_one(home: Path, cli: Cli) -> None:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    desktop = CLIENTS["claude-desktop"].folder
    (home / desktop).mkdir(parents=True)
    done = cli("install", "all", "--project", **env)
    assert done.code == 0 and (cli.folder / ".gemini" / "settings.json").is_file()
    assert cli("install", "claude-desktop", "--project", **env).code == 2
    assert cli("uninstall", "all", "--project", **env).code == 0 and not (cli.folder / ".mcp.json").exists()


@pytest.mark.parametrize("own", ['"userID": "ann", ', ""])
def test_what_a_program_writes_beside_our_server_is_not_ours(own: str, home: Path) -> None:
    """Where it was never started, its own command makes the file; it may write more into it than our server."""
    client, file = CLIENTS["claude-code"], home / ".claude.json"
    program = Path(os.environ["PATH"]) / "claude"
    written = f'{{{own}"mcpServers": {{"memorist": {{"command": "memorist", "args": ["mcp"]}}}}}}'
    program.write_text(f"#!{sys.executable}\nopen({str(file)!r}, 'w').write({written!r})\n")
    program.chmod(0o755)
    install.install(client)
    assert file.read_text() == written
    uninstall.remove(client)
    if own:
        assert json.loads(file.read_text()) == {"userID": "ann"}
    else:
        assert not file.exists()


@pytest.mark.parametrize("client", [each for each in CLIENTS.values() if each.servers.project is not None])
def test_an_empty_project_is_empty_again(client: Agent, home: Path, tmp_path: Path) -> None:
    """Folders are made for the hooks, which go first, and hold the command and the server, which go later."""
    project = tmp_path / "work"
    project.mkdir()
    install.install(client, project)
    assert [*project.iterdir()]
    uninstall.remove(client, project)
    assert [*project.iterdir()] == []
