"""A5: a project lost its memories without a word: when a checkout got a remote, when it was moved, in a subfolder."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memorist import Access, Memory
from memorist.errors import NotFound, Refused, StoreUnavailable
from memorist.project import make_mark, mark_of, resolve_project
from memorist.records import Report
from memorist.remember import move
from memorist.remember.edit import FIRST, Sweep

ADDRESS = "https://github.com/acme/atlas.git"
ATLAS = "project/github.com/acme/atlas"
TEXT, QUESTION = "Staging runs Postgres 16", "which database does staging run?"


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def git_at(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init")
    return folder


Open = Callable[..., Memory]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens the user's store for the work in a folder."""
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("MEMORIST_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.delenv("MEMORIST_PROJECT", raising=False)

    def opened(folder: Path, access: Access | None = None) -> Memory:
        monkeypatch.chdir(folder)
        return Memory(access=access)

    return opened


def told(at: Open, folder: Path, text: str = TEXT) -> str:
    """Remembers something there; the project it went to."""
    with at(folder) as memory:
        record = memory.remember(text).record
        assert record is not None
        return record.scope


def texts(memory: Memory, question: str = QUESTION) -> list[str]:
    return [hit.record.text for hit in memory.recall(question)]


# ---------------------------------------------------------------- a remote appears


@pytest.mark.covers("A5")
@pytest.mark.parametrize("store", ["memory.db", "memory.json"])
def test_a_checkout_that_gets_a_remote_keeps_its_memories(
    store: str, at: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / store))
    atlas = git_at(tmp_path / "atlas")
    old = told(at, atlas)
    git(atlas, "remote", "add", "origin", ADDRESS)
    with at(atlas) as memory:
        assert memory.project.scope == ATLAS != old
        assert texts(memory) == [TEXT]
        assert memory.context(QUESTION).items and memory.count() == 1
        assert memory.adopted is not None and len(memory.adopted.changed) == 1
        said = memory.history(1)[-1]
        assert (said.verb, said.actor) == ("moved", "memorist") and old in (said.because or "")
    with at(atlas) as memory:
        assert memory.adopted is None and texts(memory) == [TEXT]
        assert memory.audit().ok


@pytest.mark.covers("A5")
def test_a_checkout_of_mercurial_keeps_its_memories_too(at: Open, tmp_path: Path) -> None:
    (tmp_path / "atlas" / ".hg").mkdir(parents=True)
    told(at, tmp_path / "atlas")
    moved = (tmp_path / "atlas").rename(tmp_path / "elsewhere")
    with at(moved) as memory:
        assert texts(memory) == [TEXT]
    (moved / ".hg" / "hgrc").write_text(f"[paths]\ndefault = {ADDRESS}\n")
    with at(moved) as memory:
        assert memory.project.scope == ATLAS and texts(memory) == [TEXT]


@pytest.mark.covers("A5")
def test_an_adoption_is_undone_and_does_not_come_back_by_itself(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    old = told(at, atlas)
    git(atlas, "remote", "add", "origin", ADDRESS)
    with at(atlas) as memory:
        assert memory.adopted is not None
        batch = memory.adopted.batch
        assert [each.id for each in memory.undo(batch).changed] == [each.id for each in memory.adopted.changed]
    with at(atlas) as memory:
        assert memory.adopted is None
        empty = memory.recall(QUESTION).empty_because or ""
        assert f"1 memory lies in {old} (this checkout before it had a remote)" in empty
        assert f"`memorist project merge {old}` brings them here" in empty


@pytest.mark.covers("A5")
def test_undo_without_a_name_means_what_the_user_did(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    told(at, atlas)
    git(atlas, "remote", "add", "origin", ADDRESS)
    with at(atlas) as memory:
        memory.remember("The relay answers on channel 7")
        assert [each.number for each in memory.undo().changed] == [2]


@pytest.mark.covers("A5")
def test_what_the_other_checkouts_know_already_is_not_doubled(at: Open, tmp_path: Path) -> None:
    one, other = git_at(tmp_path / "one"), git_at(tmp_path / "other")
    git(other, "remote", "add", "origin", ADDRESS)
    told(at, other)
    told(at, one)
    told(at, one, "The relay answers on channel 7")
    git(one, "remote", "add", "origin", ADDRESS)
    with at(one) as memory:
        assert texts(memory).count(TEXT) == 1
        assert memory.count() == 2
        assert memory.count({"state": "archived", "reason": "the project it was merged into says the same"}) == 1
        assert memory.adopted is not None and "1 said nothing new" in (memory.adopted.advice or "")


@pytest.mark.covers("A5")
def test_a_new_clone_where_another_project_was_gets_none_of_its_memories(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    old = told(at, atlas, "The customer's name is Zebra")
    shutil.rmtree(atlas)
    git_at(atlas)
    git(atlas, "remote", "add", "origin", ADDRESS)
    with at(atlas) as memory:
        assert memory.adopted is None and memory.list() == []
        assert old in (memory.recall("the customer's name").empty_because or "")


@pytest.mark.covers("A5")
def test_another_remote_may_be_another_project(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    git(atlas, "remote", "add", "origin", ADDRESS)
    told(at, atlas)
    git(atlas, "remote", "set-url", "origin", "https://github.com/acme/other.git")
    for _ in range(2):
        with at(atlas) as memory:
            assert memory.adopted is None and not memory.list()
            empty = memory.recall(QUESTION).empty_because or ""
            assert f"1 memory lies in {ATLAS} (this checkout under an earlier name)" in empty
            memory.forget(memory.remember("The relay answers on channel 7").id or "")


@pytest.mark.covers("A5")
def test_a_clone_of_a_local_checkout_goes_with_it(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    git(atlas, "commit", "--allow-empty", "-m", "first")
    git(tmp_path, "clone", "atlas", "clone")
    assert told(at, atlas) == told(at, tmp_path / "clone", "The relay answers on channel 7")
    git(atlas, "remote", "add", "origin", ADDRESS)
    with at(atlas) as memory:
        assert memory.count() == 2
    with at(tmp_path / "clone") as memory:
        assert memory.project.scope == ATLAS and TEXT in texts(memory)


# ---------------------------------------------------------------- a folder moves


@pytest.mark.covers("A5")
def test_a_moved_checkout_without_a_remote_keeps_its_memories(at: Open, tmp_path: Path) -> None:
    old = told(at, git_at(tmp_path / "atlas"))
    shutil.move(tmp_path / "atlas", tmp_path / "elsewhere")
    with at(tmp_path / "elsewhere") as memory:
        assert memory.project.scope == resolve_project(None, tmp_path / "elsewhere").scope != old
        assert texts(memory) == [TEXT]


@pytest.mark.covers("A5")
def test_a_worktree_of_a_moved_checkout_goes_with_it(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    git(atlas, "commit", "--allow-empty", "-m", "first")
    git(atlas, "worktree", "add", "../fix")
    told(at, tmp_path / "fix")
    atlas = atlas.rename(tmp_path / "elsewhere")
    git(atlas, "worktree", "repair")
    for folder in (atlas, tmp_path / "fix"):
        with at(folder) as memory:
            assert texts(memory) == [TEXT]


@pytest.mark.covers("A5")
def test_a_copy_of_a_checkout_is_another_project(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    told(at, atlas)
    shutil.copytree(atlas, tmp_path / "copy")
    with at(tmp_path / "copy") as memory:
        assert memory.adopted is None and memory.list() == []
        memory.remember("The relay answers on channel 7")
    assert mark_of(atlas / ".git") != mark_of(tmp_path / "copy" / ".git")
    shutil.rmtree(atlas)
    with at(tmp_path / "copy") as memory:
        assert memory.adopted is None and memory.count() == 1


@pytest.mark.covers("A5")
def test_a_checkout_that_is_seen_under_two_paths_in_turn_is_moved_once(at: Open, tmp_path: Path) -> None:
    """As a container and its host see it."""
    places = tmp_path / "host", tmp_path / "container"
    told(at, git_at(places[0]))
    moves = 0
    for turn in range(1, 5):
        place = places[(turn - 1) % 2].rename(places[turn % 2])
        with at(place) as memory:
            assert texts(memory) == [TEXT]
            moves += memory.adopted is not None
    assert moves == 1


@pytest.mark.covers("A5")
def test_a_mark_that_was_made_up_opens_nothing(at: Open, tmp_path: Path) -> None:
    told(at, git_at(tmp_path / "victim"))
    hostile = git_at(tmp_path / "hostile")
    assert make_mark(hostile / ".git")
    for forged in (resolve_project(None, tmp_path / "victim").scope, "0" * 32, "x" * 100_000, "\x00"):
        (hostile / ".git" / "memorist").write_text(forged)
        with at(hostile) as memory:
            assert memory.adopted is None and memory.list() == []
            assert "victim" not in (memory.recall(QUESTION).empty_because or "")


@pytest.mark.covers("A5")
def test_who_may_not_move_memories_finds_them_under_the_old_name(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    old = told(at, atlas)
    git(atlas, "remote", "add", "origin", ADDRESS)
    with at(atlas, Access(reads=("*", "project/*"), role="reader")) as memory:
        assert memory.adopted is None
        assert memory.project.scope == old and texts(memory) == [TEXT]
    with at(atlas, Access(reads=(ATLAS,), writes=(ATLAS,), role="reader")) as memory:
        assert memory.project.scope == ATLAS and texts(memory) == []
    with at(atlas) as memory:
        assert memory.adopted is not None and texts(memory) == [TEXT]


@pytest.mark.covers("A5")
def test_an_adoption_that_fails_is_made_up_for_the_next_time(
    at: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    atlas = git_at(tmp_path / "atlas")
    old = told(at, atlas)
    git(atlas, "remote", "add", "origin", ADDRESS)

    def busy(*_: object) -> None:
        raise StoreUnavailable("another process writes")

    with monkeypatch.context() as patch:
        patch.setattr(move, "adopt", busy)
        with at(atlas) as memory:
            assert memory.project.scope == old and texts(memory) == [TEXT]
            memory.remember("The relay answers on channel 7")
    with at(atlas) as memory:
        assert memory.project.scope == ATLAS and memory.count() == 2


@pytest.mark.covers("A5")
@pytest.mark.parametrize("by_hand", [False, True])
def test_what_a_killed_process_left_behind_is_moved_or_named(
    by_hand: bool, at: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    atlas = git_at(tmp_path / "atlas")
    old = told(at, atlas)
    with at(atlas) as memory:
        memory.remember_many([f"Fact number {number}" for number in range(60)])

    def killed(self: Sweep, ids: list[str], report: Report, step: Callable[..., Report] = Sweep.step) -> Report:
        if report.batch:
            raise KeyboardInterrupt
        return step(self, ids, report)

    if not by_hand:
        git(atlas, "remote", "add", "origin", ADDRESS)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Sweep, "step", killed)
        with at(atlas) as memory:
            admin(memory).rename_project(old, "atlas")
    with at(atlas) as memory:
        if by_hand:
            assert memory.project.scope == "project/atlas"
            assert f"{61 - FIRST} memories lie in {old}" in (memory.recall("Zanzibar").empty_because or "")
            admin(memory).merge_project(old)
        assert memory.count() == 61
        assert memory.audit().ok


@pytest.mark.covers("A5")
def test_where_no_mark_can_be_written_remembering_goes_on(at: Open, tmp_path: Path) -> None:
    (tmp_path / "atlas").mkdir()
    (tmp_path / "atlas" / ".git").write_text("gitdir: /nowhere/at/all\n")
    told(at, tmp_path / "atlas")
    with at(tmp_path / "atlas") as memory:
        assert texts(memory) == [TEXT]


# ---------------------------------------------------------------- folders without version control


@pytest.mark.covers("A5")
def test_a_subfolder_belongs_to_the_folder_above_that_has_memories(at: Open, tmp_path: Path) -> None:
    notes, deep = tmp_path / "notes", tmp_path / "notes" / "work" / "deep"
    deep.mkdir(parents=True)
    above = told(at, notes)
    with at(deep) as memory:
        assert memory.project.scope == above and texts(memory) == [TEXT]
    assert told(at, deep, "The relay answers on channel 7") == above
    git(deep, "init")
    assert told(at, deep) != above, "a checkout is a project of its own"


@pytest.mark.covers("A5")
def test_a_folder_with_memories_of_its_own_names_the_one_above(at: Open, tmp_path: Path) -> None:
    inner = tmp_path / "notes" / "inner"
    inner.mkdir(parents=True)
    own = told(at, inner, "The relay answers on channel 7")
    above = told(at, inner.parent)
    with at(inner) as memory:
        assert memory.project.scope == own
        empty = memory.recall("Postgres").empty_because or ""
        assert f"1 memory lies in {above} (a folder above this one); `--project {above}` reads them" in empty


@pytest.mark.covers("A5")
def test_neither_home_nor_a_shared_folder_is_the_project_of_what_is_in_it(
    at: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for holder in (tmp_path / "home", tmp_path / "shared"):
        (holder / "new").mkdir(parents=True)
        (tmp_path / "shared").mkdir(exist_ok=True)
        (tmp_path / "shared").chmod(0o1777)
        assert told(at, holder) != told(at, holder / "new", "The relay answers on channel 7")


@pytest.mark.covers("A5")
def test_an_empty_answer_names_no_unrelated_project(at: Open, tmp_path: Path) -> None:
    for name in ("unrelated", "here"):
        git_at(tmp_path / name)
    (tmp_path / "plain").mkdir()
    told(at, tmp_path / "unrelated", "the victim's plan")
    for folder in ("here", "plain"):
        with at(tmp_path / folder) as memory:
            said = f"{memory.recall(QUESTION).empty_because} {memory.context(QUESTION).empty_because}"
            assert "no memory here" in said
            facts = {name: fact for name, fact in memory.status().items() if name not in ("store", "project_folder")}
            assert "unrelated" not in f"{said} {facts} {memory.projects()}" and "elsewhere" not in facts


# ---------------------------------------------------------------- renaming and merging


def admin(memory: Memory) -> Memory:
    everything = ("*", "project/*")
    return memory.through(Access(memory.space, everything, everything, "admin", memory.access.actor, "user"))


@pytest.mark.covers("A5")
def test_a_renamed_project_is_found_from_its_folder_and_stays_so_when_it_moves(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    old = told(at, atlas)
    with at(atlas) as memory:
        report = admin(memory).rename_project(old, "atlas")
    assert len(report.changed) == 1
    with at(atlas) as memory:
        assert (memory.project.scope, memory.project.how) == ("project/atlas", "renamed")
        assert texts(memory) == [TEXT]
    atlas = atlas.rename(tmp_path / "elsewhere")
    git(atlas, "remote", "add", "origin", ADDRESS)
    with at(atlas) as memory:
        assert memory.project.scope == "project/atlas" and texts(memory) == [TEXT]


@pytest.mark.covers("A5")
def test_undoing_a_rename_and_the_undo_moves_the_name_too(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    old = told(at, atlas)
    with at(atlas) as memory:
        admin(memory).rename_project(old, "atlas")
    with at(atlas) as memory:
        back = admin(memory).undo()
    with at(atlas) as memory:
        assert memory.project.scope == old and texts(memory) == [TEXT]
        admin(memory).undo(back.batch)
    with at(atlas) as memory:
        assert memory.project.scope == "project/atlas" and texts(memory) == [TEXT]
        assert memory.audit().ok


@pytest.mark.covers("A5")
def test_a_project_that_is_merged_takes_its_folder_and_its_choices_along(at: Open, tmp_path: Path) -> None:
    one = git_at(tmp_path / "one")
    old = told(at, one)
    with at(one) as memory:
        memory.alias("pg", "postgres")
        with Memory(tmp_path / "memory.db", project="atlas") as atlas:
            atlas.remember("The relay answers on channel 7")
        report = admin(memory).merge_project(old, "atlas")
        assert len(report.changed) == 1
    with at(one) as memory:
        assert memory.project.scope == "project/atlas" and memory.count() == 2
        assert memory.aliases()["pg"] == ("postgres",)


@pytest.mark.covers("A5", "A1")
def test_tasks_sessions_and_findings_move_with_their_project(at: Open, tmp_path: Path) -> None:
    atlas = git_at(tmp_path / "atlas")
    old = told(at, atlas)
    with at(atlas) as memory:
        memory.remember("The migration is half done", scope="task/42")
        memory.extract("Traceback (most recent call last)\nValueError: bad key", session="s1", role="tool")
        findings = memory.count({"scope": "session/s1"})
        assert findings
    with Memory(tmp_path / "memory.db", project="other") as other:
        other.remember("The other one's task", scope="task/42")
    git(atlas, "remote", "add", "origin", ADDRESS)
    with at(atlas) as memory:
        assert [record.text for record in memory.list({"scope": "task/42"})] == ["The migration is half done"]
        assert memory.count({"scope": "session/s1"}) == findings
        assert {record.home for record in memory.list({"scope": {"$in": ["task/42", "session/s1"]}})} == {ATLAS}
        assert len(memory.promote(dry_run=True)) == findings  # type: ignore[arg-type]
        assert memory.adopted is not None
        memory.undo(memory.adopted.batch)
        assert not memory.list({"scope": "task/42"})
        assert memory.projects()[0].memories == 0
        assert f"{2 + findings} memories lie in {old}" in str(memory.status()["elsewhere"])
    with Memory(tmp_path / "memory.db", project="other") as other:
        assert other.count({"scope": "task/42"}) == 1


@pytest.mark.covers("A5")
def test_equal_texts_in_tasks_of_one_name_are_not_doubled_either() -> None:
    with Memory(":memory:", project="one") as memory:
        both = admin(memory)
        for project in ("one", "two"):
            here = both.through(Access(reads=("*", f"project/{project}"), writes=("*", f"project/{project}")))
            here.remember(TEXT, scope="task/42")
        report = both.merge_project("one", "two")
        assert "1 said nothing new" in (report.advice or "")
        assert both.count({"scope": "task/42"}) == 1
        assert both.count({"home": "project/one"}) == 0


@pytest.mark.covers("A5")
def test_a_merge_tells_of_contradictions_and_keeps_the_users_own_word() -> None:
    with Memory(":memory:", project="one") as memory:
        both = admin(memory)
        one, two = "project/one", "project/two"
        both.remember("The deploy runs on Fridays", scope=two)
        both.remember("The deploy runs on Mondays", scope=one)
        both.remember(TEXT, scope=one)
        memory.remember("Logs are kept for a week", scope=one)
        agents = both.through(Access(reads=("project/*",), writes=("project/*",), origin="agent"))
        agents.remember(TEXT, scope=two)
        plan = both.merge_project(one, two, dry_run=True)
        assert both.count({"scope": one}) == 3 and len(plan.changed) == 2
        report = both.merge_project(one, two)
        assert [both.get(id).text for id in report.left] == [TEXT]
        assert "is the user's" in next(iter(report.left.values()))
        assert "1 stayed where they were" in (report.advice or "")
        assert both.undo(report.batch).changed and both.count({"scope": one}) == 3


@pytest.mark.covers("A5")
def test_a_rename_joins_nothing_and_an_empty_project_has_nothing_to_move() -> None:
    with Memory(":memory:", project="one") as memory:
        both = admin(memory)
        both.remember(TEXT, scope="project/one")
        both.remember(TEXT, scope="project/two")
        with pytest.raises(Refused, match="project/two is taken, it holds 1 memory; `memorist project merge`"):
            both.rename_project("one", "two")
        with pytest.raises(NotFound, match="project/three holds no memories"):
            both.merge_project("three", "two")
        with pytest.raises(Exception, match="may not write project/two"):
            memory.merge_project("two", "one")
