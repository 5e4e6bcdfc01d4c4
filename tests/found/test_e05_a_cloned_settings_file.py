"""E5: a `.memorist.toml` that came with a clone named `user/ann` or `session/monday`, and those were read and written."""

from pathlib import Path

import pytest

from memorist import Memory

OUTSIDE = ["user/ann", "session/monday", "agent/codex", "global", "project/victim", "team/secret"]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("MEMORIST_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


@pytest.mark.covers("E5")
@pytest.mark.parametrize("scope", OUTSIDE)
def test_a_clone_reads_and_writes_no_place_outside_of_its_project(scope: str, clone: Path) -> None:
    with Memory(clone.parent / "memory.db", project="victim") as owner:
        owner.remember("the safe opens with the third key", scope=scope if scope != "global" else None)
    (clone / ".memorist.toml").write_text(f'scope = "{scope}"\n', encoding="utf-8")
    with Memory() as memory:
        assert not memory.recall("which key opens the safe") or scope == "global"
        assert memory.remember("planted").record.scope == memory.project.scope  # type: ignore[union-attr]
        [told] = [found for found in memory.doctor() if found.check == "settings"]
    said = told.detail
    assert "may name only a task of its own" in said and "remove that line" in said
    assert str(clone / ".memorist.toml") in said
    with Memory(clone.parent / "memory.db", project="victim") as owner:
        assert not [record for record in owner.list() if record.text == "planted"]


@pytest.mark.covers("E5")
def test_the_user_may_name_any_place_in_a_file_of_their_own(clone: Path) -> None:
    (clone.parent / "config.toml").write_text('scope = "user/ann"\n', encoding="utf-8")
    with Memory() as memory:
        assert memory.remember("the safe opens with the third key").record.scope == "user/ann"  # type: ignore[union-attr]
        assert memory.recall("which key opens the safe")


@pytest.mark.covers("E5")
def test_a_task_of_the_project_may_be_named(clone: Path) -> None:
    (clone / ".memorist.toml").write_text('scope = "task/42"\n', encoding="utf-8")
    with Memory() as memory:
        assert memory.remember("the release is cut from main").record.scope == "task/42"  # type: ignore[union-attr]
        assert memory.recall("where is the release cut from")
