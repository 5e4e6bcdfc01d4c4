"""E6: a cloned git repository with a tracked `sub/.hg/hgrc` read the memories of the project whose address stood in it."""

import subprocess
from pathlib import Path

import pytest

from memorist import Memory
from memorist.project import repository_root, resolve_project

VICTIM = "https://github.com/acme/victim"


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
    allowed = ["-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *allowed, *arguments], cwd=folder, check=True, capture_output=True)


def hg_at(folder: Path, address: str) -> Path:
    (folder / ".hg").mkdir(parents=True)
    (folder / ".hg" / "hgrc").write_text(f"[paths]\ndefault = {address}\n", encoding="utf-8")
    return folder


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A clone of a repository that tracks a Mercurial folder of its own making."""
    (tmp_path / "theirs").mkdir()
    git(tmp_path / "theirs", "init")
    hg_at(tmp_path / "theirs" / "sub", VICTIM)
    git(tmp_path / "theirs", "add", "-f", ".")
    git(tmp_path / "theirs", "commit", "-m", "first")
    git(tmp_path, "clone", "theirs", "clone")
    assert (tmp_path / "clone" / "sub" / ".hg" / "hgrc").is_file()
    return tmp_path / "clone"


@pytest.mark.covers("E6")
def test_a_tracked_hg_folder_opens_no_other_project(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    with Memory(tmp_path / "memory.db", project="github.com/acme/victim") as victim:
        victim.remember("the safe opens with the third key")
    monkeypatch.chdir(hostile / "sub")
    with Memory() as memory:
        assert not memory.recall("which key opens the safe")
        assert memory.project.root == hostile
        assert "victim" not in str(memory.status())


@pytest.mark.covers("E6")
def test_below_a_tracked_hg_folder_it_is_the_checkout_of_git(hostile: Path) -> None:
    deep = hostile / "sub" / "deep"
    deep.mkdir()
    assert resolve_project(None, deep) == resolve_project(None, hostile)
    assert repository_root(deep) == hostile


@pytest.mark.covers("E6")
def test_outside_of_git_mercurial_says_who_it_is(tmp_path: Path) -> None:
    inner = hg_at(tmp_path / "atlas", "https://hg.example.org/acme/atlas") / "src"
    inner.mkdir()
    assert resolve_project(None, inner).scope == "project/hg.example.org/acme/atlas"
    assert repository_root(inner) == tmp_path / "atlas"


@pytest.mark.covers("E6")
def test_a_submodule_is_its_own_project_and_a_worktree_is_not(tmp_path: Path) -> None:
    for name in ("outer", "inner"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init")
        git(tmp_path / name, "commit", "--allow-empty", "-m", "first")
    git(tmp_path / "outer", "submodule", "add", str(tmp_path / "inner"), "sub")
    git(tmp_path / "outer", "worktree", "add", "../fix")
    assert (tmp_path / "outer" / "sub" / ".git").is_file() and (tmp_path / "fix" / ".git").is_file()
    outer = resolve_project(None, tmp_path / "outer").scope
    assert resolve_project(None, tmp_path / "outer" / "sub").scope not in (outer, None)
    assert resolve_project(None, tmp_path / "fix").scope == outer
