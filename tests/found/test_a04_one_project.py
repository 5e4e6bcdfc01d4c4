"""A4: `memorist export --project NAME` holds that project, with its tasks, sessions and agents, and nothing else."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.files.transfer import import_files
from memorist.surfaces.cli.app import run

pytestmark = pytest.mark.covers("A4", "S1-18")
SCOPES = ("project/{}", "task/1", "session/main", "agent/night")
OTHERS = ("user/ann", "global", "space/wide")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two projects that use the same names, linked to each other and to what belongs to neither."""
    path = tmp_path / "memory.db"
    for name in ("alpha", "beta"):
        with Memory(path, project=name) as memory:
            for scope in SCOPES:
                memory.remember(f"{name} in {scope.format(name)}", scope=scope.format(name))
            for scope in OTHERS:
                memory.remember(f"{name} in {scope}", scope=scope)
            every = ("*", "project/*")
            admin = memory.through(replace(memory.access, role="admin", reads=every, writes=every, origin="user"))
            admin.remember("Of all projects", scope="agent/night", home="global")
            first = admin.list({"text": f"{name} in project/{name}"})[0].id
            for other in admin.list({"id": {"$ne": first}}):
                admin.link(first, other.id, "derived_from")
    return path


def exported(store: Path, capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, Any]]:
    assert run(["export", "--db", str(store), *more]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()][1:-1]


@pytest.mark.parametrize("setting", ["", 'scope = "user/ann"', 'scope = "task/1"', 'project = "alpha"'])
def test_it_holds_that_project_and_nothing_else(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str
) -> None:
    (tmp_path / "config.toml").write_text(setting)
    monkeypatch.setenv("MEMORIST_CONFIG", str(tmp_path / "config.toml"))
    lines = exported(store, capsys, "--project", "beta")
    texts = {line["text"] for line in lines if "text" in line}
    assert texts == {f"beta in {scope.format('beta')}" for scope in SCOPES}
    ids = {line["id"] for line in lines if "id" in line}
    links = [line for line in lines if "link" in line]
    assert len(links) == 3 and all({link["a"], link["b"]} <= ids for link in links)


def test_it_comes_back_as_that_project(store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(["export", str(tmp_path / "beta.jsonl"), "--db", str(store), "--project", "beta"])
    with Memory(tmp_path / "new.db", project="beta") as memory:
        user = memory.through(replace(memory.access, origin="user"))
        assert import_files(user, [tmp_path / "beta.jsonl"], own=True).outcomes == {"added": 4, "linked": 3}
    with Memory(tmp_path / "new.db", project="alpha") as memory:
        assert memory.count() == 0, "also its tasks are its own"
    told = capsys.readouterr().err
    assert "not of this project, and left out" in told


def test_a_project_that_is_not_there_is_empty(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exported(store, capsys, "--project", "bet") == []
