"""A10: no setting keeps a store from opening, and none that does not hold is ignored in silence."""

import logging
from pathlib import Path

import pytest

from memorist import Memory
from memorist.errors import Invalid
from memorist.surfaces import settings
from memorist.surfaces.cli.app import run

pytestmark = pytest.mark.covers("A10")

WRONG = {
    "budget": "budget = 0",
    "design": 'design = "vibes"',
    "design's path": 'design = "/nowhere/mine.toml"',
    "embed": 'embed = "vibes"',
    "embed's folder": 'embed = "onnx:"',
    "kinds": "[kinds.recipe]\nshelf = 3",
    "actor": 'actor = "a\\nb"',
    "project": 'project = "../x"',
    "scope": 'scope = "nowhere"',
    "reinforce_weight": "reinforce_weight = -1",
    "max_size": 'max_size = "100 XB"',
    "prune_percent": "prune_percent = 0",
    "prune_schedule": 'prune_schedule = "0 4 * *"',
    "unknown": "colour = 3",
    "twice": "reinforceWeight = 3\nreinforce_weight = 3",
    "no table": "memory = 3",
    "in the table": "[memory]\ncolour = 3",
}


@pytest.fixture
def config() -> Path:
    file = settings.user_file()
    assert file is not None
    return file


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_setting_names_itself_and_stops_nothing(
    wrong: str, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "usual.db"))
    monkeypatch.chdir(tmp_path)
    config.write_text(WRONG[wrong], encoding="utf-8")
    key = WRONG[wrong].split(" ")[0].strip("[]").split(".")[0].split("\n")[0]
    key = {"reinforceWeight": "reinforce_weight", "memory]\ncolour": "memory", "kinds": "kind 'recipe'"}.get(key, key)
    for path in (None, tmp_path / "named.db", ":memory:"):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "memorist"), Memory(path) as memory:
            assert memory.remember("Staging runs Postgres 16").outcome == "added" and memory.recall("postgres")
            [told] = memory.status()["settings_problems"]
            assert str(config) in told and key in told
            assert told in caplog.text and [d.detail for d in memory.doctor() if d.check == "settings"] == [told]
    for command in (["list"], ["status"], ["config", "list"], ["config", "get", "budget"], ["recall", "postgres"]):
        assert run(command) == 0, command
        err = capsys.readouterr().err
        assert err.count("a setting does not hold") == 1 and key in err, (command, err)
    if wrong not in ("no table", "in the table", "kinds", "unknown", "twice"):
        assert run(["config", "unset", key]) == 0
        assert "does not hold" not in capsys.readouterr().err and settings.load().problems == {}


@pytest.mark.parametrize("text", ['db = ""', "db = 3", "budget = 1\nspace ="])
def test_only_where_memories_are_has_no_substitute(text: str, config: Path, tmp_path: Path) -> None:
    """Another store than the one that was meant would be the wrong one; a named file is not affected."""
    config.write_text(text, encoding="utf-8")
    with pytest.raises(Invalid) as told:
        Memory()
    assert str(config) in str(told.value)
    with Memory(tmp_path / "named.db") as memory:
        assert str(config) in memory.status()["settings_problems"][0]


def test_a_broken_space_is_not_replaced_by_another(config: Path, tmp_path: Path) -> None:
    config.write_text('space = "*"', encoding="utf-8")
    with pytest.raises(Invalid, match="space must be a short text"):
        Memory(tmp_path / "m.db")
    with Memory(tmp_path / "m.db", space="team") as memory:
        assert memory.space == "team"


def test_a_broken_layer_does_not_let_the_place_below_it_through(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(f'db = "{tmp_path}/mine.db"\nbudget = 900', encoding="utf-8")
    monkeypatch.setenv("MEMORIST_DB", " ")
    monkeypatch.setenv("MEMORIST_BUDGET", "many")
    with pytest.raises(Invalid, match="MEMORIST_DB"):
        Memory()
    assert settings.load().budget == 900, "what is no place falls back to the layer below"


def test_a_clone_cannot_keep_its_folder_from_being_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "m.db"))
    for text in (
        'db = "/tmp/theirs.db"',
        'scope = "global"',
        'design = "./x.toml"',
        "off = true",
        "budget = [",
        "budget = 0",
    ):
        (tmp_path / ".memorist.toml").write_text(text, encoding="utf-8")
        assert run(["list"]) == 0, text
        assert ".memorist.toml" in capsys.readouterr().err
