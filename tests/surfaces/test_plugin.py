"""The plugin folders: what each format wants of its files, by our own reading of its public shape; and one hook for one event."""

import json
import re
import subprocess
import sys
import tomllib
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from jsonschema import Draft202012Validator

import shapes
from memorist.errors import Refused
from memorist.surfaces.agents import install, plugin, skills, switches
from memorist.surfaces.agents.clients import CLIENTS
from memorist.surfaces.agents.marks import hooks_in, is_hook
from surfaces.conftest import Cli

NAME = re.compile(r"(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
FILES = plugin.files()
DOCUMENTS = {path: json.loads(text) for path, text in FILES.items() if path.endswith(".json")}
with ZipFile(BytesIO(plugin.bundle())) as packed:
    BUNDLE = json.loads(packed.read("manifest.json"))
MANIFESTS = {
    "plugin": (DOCUMENTS["agent-plugins/plugin.json"], shapes.PLUGIN),
    "servers": (DOCUMENTS["agent-plugins/mcp.json"], shapes.SERVERS),
    "bundle": (BUNDLE, shapes.BUNDLE),
}


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.endswith(("plugin.json", "extension.json"))])
def test_a_manifest_names_the_plugin(path: str) -> None:
    manifest = DOCUMENTS[path]
    assert NAME.fullmatch(manifest["name"]) and len(manifest["name"]) <= 64
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest["version"]) and manifest["description"]


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_has_the_shape_that_is_published(name: str) -> None:
    manifest, shape = MANIFESTS[name]
    judge = Draft202012Validator(shape)
    assert [problem.message for problem in judge.iter_errors(manifest)] == []
    for wrong in ({**manifest, "hooks": {}}, {**manifest, "name": "Not A Name", "mcpServers": []}, {}):
        assert not judge.is_valid(wrong), "a shape that takes anything says nothing"


def test_the_plugin_of_claude_says_what_it_is() -> None:
    """As its directory wants it, in forty words at least, and in those of the page above."""
    told, above = FILES["claude-code/README.md"], FILES["README.md"]
    assert len(told.split()) >= 40 and len({*told.splitlines()} & {*above.splitlines()} - {""}) >= 3


def test_agent_plugins_have_no_hooks() -> None:
    assert not any("hooks" in path for path in FILES if path.startswith("agent-plugins"))


def test_the_bundle_starts_what_an_installation_starts() -> None:
    """With the project that the user names in the place of ours; and it is the same to the byte, whenever it is made."""
    started, ours = BUNDLE["server"]["mcp_config"], CLIENTS["claude-desktop"].servers.entry
    project = BUNDLE["user_config"]["project"]["default"]
    assert [each.replace("${user_config.project}", project) for each in started["args"]] == ours["args"]
    assert started["command"] == ours["command"] and plugin.bundle() == plugin.bundle()


def test_the_command_is_in_every_shape() -> None:
    toml = tomllib.loads(skills.SLASH_COMMANDS["gemini"])
    assert toml["description"] and "{{args}}" in toml["prompt"]
    for name in ("claude-code", "opencode"):
        head, body = skills.SLASH_COMMANDS[name].removeprefix("---\n").split("\n---\n")
        assert head.startswith("description: ") and "$ARGUMENTS" in body
    assert skills.SLASH_COMMANDS["codex"].startswith("---\nname: memorist\ndescription: ")
    assert {name for name, each in CLIENTS.items() if each.command} == set(skills.SLASH_COMMANDS)


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini"])
def test_hooks_are_those_of_an_installation(name: str) -> None:
    hooks, known = DOCUMENTS[f"{name}/hooks/hooks.json"]["hooks"], CLIENTS[name].hooks
    assert known is not None and [*hooks] == [*known.events.values()]
    for event, entries in hooks.items():
        [command] = [hook["command"] for entry in entries for _, hook in hooks_in(entry)]
        assert is_hook(command, name) and command == f"memorist hook {name} {event} --plugin"


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith("SKILL.md")])
def test_a_skill_says_when(path: str) -> None:
    head, body = FILES[path].removeprefix("---\n").split("\n---\n")
    said = dict(line.split(": ", 1) for line in head.splitlines())
    assert said["name"] == Path(path).parent.name in ("remember", "recall", "review", "status")
    assert (
        1 <= len(said["description"]) <= 1024 and ": " not in said["description"] and 0 < len(body.splitlines()) < 500
    )


def test_the_folder_is_written_and_nothing_in_it_replaced(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    said = cli("plugin", str(folder), "--json")
    assert {Path(each) for each in json.loads(said.out)} == {file for file in folder.rglob("*") if file.is_file()}
    assert cli("plugin", str(folder)).code == 0, "the same again"
    (folder / "README.md").write_text("mine")
    with pytest.raises(Refused, match="is another"):
        plugin.write(folder)
    assert (folder / "README.md").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "plugins" / "README.md").mkdir(parents=True)
    for folder, said in (
        ("", "name a new folder"),
        ("file", "file/README.md cannot be used"),
        ("plugins", "is no plain file"),
    ):
        done = cli("plugin", str(tmp_path / folder) if folder else "")
        assert done.code in (2, 7) and said in done.err, done.err
    assert (tmp_path / "file").read_text() == "mine" and not any(cli.folder.iterdir())


def test_the_hook_of_a_plugin_loads_no_more_than_that_of_an_installation(cli: Cli) -> None:
    code = (
        "import sys; from memorist.surfaces.cli import hook; hook.run(['claude-code', 'UserPromptSubmit', '--plugin']); "
        "print([name for name in ('zipfile', 'difflib', 'subprocess', 'ctypes') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], input='{"prompt": "thanks!"}', capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_hook_runs_once(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the settings have it, the plugin's says nothing."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    (home / ".gemini").mkdir(parents=True)
    programs.mkdir()
    (programs / "memorist").write_text("#!/bin/sh\n")
    (programs / "memorist").chmod(0o755)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("PATH", str(programs))
    cli("remember", "Staging runs Postgres 16")
    asked = json.dumps({"session_id": "s1", "cwd": str(cli.folder), "prompt": "which database does staging run?"})
    told = cli("hook", "gemini", "BeforeAgent", "--plugin", stdin=asked, HOME=str(home)).out
    assert "Postgres 16" in told
    install.install(CLIENTS["gemini"])
    again = asked.replace("s1", "s2")
    assert cli("hook", "gemini", "BeforeAgent", "--plugin", stdin=again, HOME=str(home)).out == ""
    assert "Postgres 16" in cli("hook", "gemini", "BeforeAgent", stdin=again, HOME=str(home)).out


@pytest.mark.parametrize(("entry", "ours"), [
    ({"matcher": "never", "hooks": [{"type": "command", "command": "memorist hook claude-code UserPromptSubmit"}]}, False),
    ({"hooks": [{"type": "command", "command": "echo 'memorist hook claude-code UserPromptSubmit'"}]}, False),
    ({"hooks": [{"type": "command", "command": "memorist hook claude-code UserPromptSubmit"}]}, True),
])  # fmt: skip
def test_only_a_hook_of_the_user_that_runs_silences_a_plugin(
    entry: dict[str, object], ours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project may be cloned, and whoever wrote it must not silence what its user has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for folder in (tmp_path / ".claude", tmp_path / "home" / ".claude"):
        assert not switches.in_settings("claude-code", "UserPromptSubmit")
        folder.mkdir(parents=True)
        (folder / "settings.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [entry]}}))
    assert switches.in_settings("claude-code", "UserPromptSubmit") == ours
    (tmp_path / "home" / ".claude" / "settings.json").write_text("{ broken")
    assert not switches.in_settings("claude-code", "UserPromptSubmit")
