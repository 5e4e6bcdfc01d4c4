"""B14: the original `memory.json` of document 0 and `project.json` of document 3 could not be imported. The files beside this one
were written by hand from the schemas of the documents."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory, seeds
from memorist.errors import Invalid, StoreTooNew
from memorist.files.transfer import export, import_files
from memorist.records import Record
from memorist.seeds.items import moment_of

pytestmark = pytest.mark.covers("B14", "S0-5", "S3-5")
ITEMS = Path(__file__).parent / "originals" / "memory.json"
FOLDER = Path(__file__).parent / "originals" / "memory"


@pytest.fixture
def user(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="user"))


def by_text(memory: Memory) -> dict[str, Record]:
    return {record.text: record for record in memory.list({"state": {"$ne": "erased"}}, limit=1000)}


def edited(path: Path, change: Callable[[Any], Any], source: Path = ITEMS) -> Path:
    value = json.loads(source.read_text())
    path.write_text(json.dumps(change(value) or value))
    return path


# ---------------------------------------------------------------- memory.json


@pytest.mark.covers("S0-1", "S0-2")
def test_items_are_the_items_they_were(user: Memory) -> None:
    done = import_files(user, [ITEMS])
    assert done.outcomes == {"added": 7} and not done.problems
    original = json.loads(ITEMS.read_text())
    tiers = seeds.tiers(user)
    of = {"project": tiers.project, "task": tiers.task("t-7"), "global": tiers.everywhere}
    for id, said in original.items():
        item = of[said["source"].partition("/")[0]].get(id)
        assert item is not None and (item.id, item.kind, item.source) == (id, said["kind"], said["source"])
        assert (item.payload, list(item.tags), item.importance) == (said["payload"], said["tags"], said["importance"])
        assert datetime.fromisoformat(item.timestamp) == moment_of(said["timestamp"])
    assert {item.id for item in tiers.query_decisions(["storage"])} == {"decision-0c1f"}
    assert [item.id for item in tiers.task("t-7").get_stage_outputs("plan")] == ["reasoning-plan-1"]
    assert user.recall("why is the linker slow on a cold cache?")[0].record.text.startswith("The linker needs")


def test_they_are_candidates_until_the_user_vouches_for_them(memory: Memory, user: Memory, tmp_path: Path) -> None:
    import_files(user, [ITEMS])
    told = {(record.origin, record.trust, record.status) for record in memory.list()}
    assert told == {("import", "low", "candidate")}
    with Memory(":memory:", project="atlas") as other:
        owner = other.through(replace(other.access, origin="user"))
        assert import_files(owner, [ITEMS], own=True).outcomes == {"added": 7}
        assert {(record.trust, record.status) for record in other.list()} == {("medium", "confirmed")}
        assert import_files(owner, [ITEMS], own=True).outcomes == {"unchanged": 7}
        first = owner.list({"kind": "decision"})[0]
        assert first.times.created == moment_of("2025-12-03T09:15:00.000001") == first.times.at


def test_a_second_import_changes_nothing_and_one_undo_takes_it_back(user: Memory) -> None:
    done = import_files(user, [ITEMS])
    events = user.status()["events"]
    assert import_files(user, [ITEMS]).outcomes == {"unchanged": 7} and user.status()["events"] == events
    assert done.batch and user.undo(done.batch).changed and user.count() == 0
    assert import_files(user, [ITEMS]).outcomes == {"restored": 7} and user.audit().ok


@pytest.mark.parametrize(
    "shape", [lambda v: list(v.values()), lambda v: {"items": v}, lambda v: {"items": list(v.values())}]
)
def test_the_other_shapes_of_a_backend(user: Memory, tmp_path: Path, shape: Callable[[Any], Any]) -> None:
    assert import_files(user, [edited(tmp_path / "m.json", shape)]).outcomes == {"added": 7}
    assert seeds.tiers(user).project.get("decision-0c1f") is not None


def test_two_projects_of_one_store_may_have_the_same_file(tmp_path: Path) -> None:
    for name in ("alpha", "beta"):
        with Memory(tmp_path / "m.db", project=name) as memory:
            done = import_files(memory.through(replace(memory.access, origin="user")), [ITEMS])
            there = {"added": 7} if name == "alpha" else {"added": 5, "unchanged": 2}
            assert done.outcomes == there, "what is global is there once"
            assert memory.count({"scope": f"project/{name}"}) == 3


def test_a_bad_item_is_named_and_the_others_come_in(user: Memory, tmp_path: Path) -> None:
    def spoil(value: dict[str, Any]) -> None:
        value["decision-0c1f"]["timestamp"] = "yesterday"
        value["convention-77aa"]["importance"] = 7
        value["failure-9d2e"]["tags"] = "text"
        value["tool-grep-1"]["payload"] = ""
        value["reasoning-plan-1"]["source"] = "task/../plan"
        value |= {"no-payload": {"source": "project"}, "odd-kind": {"payload": "a", "source": "project", "kind": ["a"]}}
        value |= {"odd-metadata": {"payload": "a", "source": "project", "metadata": 5}, "no-item": 7}

    file = edited(tmp_path / "m.json", spoil)
    done = import_files(user, [file])
    assert done.outcomes["added"] == 2 and len(done.problems) == 9
    places = {problem.removeprefix(f"{file}:").partition(": ")[0] for problem in done.problems}
    assert places == {"decision-0c1f", "convention-77aa", "failure-9d2e", "tool-grep-1", "reasoning-plan-1", "no-payload",
                      "odd-kind", "odd-metadata", "no-item"}  # fmt: skip


def test_an_item_alone_without_a_payload_is_told_what_an_item_is(user: Memory, tmp_path: Path) -> None:
    file = edited(tmp_path / "m.json", lambda _: [{"context_item_id": "a", "kind": "note"}])
    [problem] = import_files(user, [file]).problems
    assert problem.startswith(f"{file}:a: ") and "has no payload" in problem and '"payload": ' in problem


# ---------------------------------------------------------------- project.json


@pytest.mark.covers("S3-6", "S3-8", "S3-9")
def test_entries_of_a_stranger_are_candidates_that_keep_what_the_file_says(user: Memory) -> None:
    done = import_files(user, [FOLDER / "project.json"])
    assert done.outcomes == {"added": 4, "linked": 1} and not done.problems
    found = by_text(user)
    warning = found["Never modify the auth middleware directly"]
    assert (warning.kind, warning.importance, warning.confidence) == ("warning", 0.95, 1.0)
    assert (warning.files, warning.tags) == (("src/auth/middleware.ts",), ("auth",))
    assert (warning.provenance.session, warning.provenance.agent) == ("s-41", "claude")
    assert warning.times.at == datetime.fromtimestamp(1771500000, UTC)
    assert (warning.trust, warning.status, warning.pinned, warning.counters.used) == ("low", "candidate", False, 0)
    assert warning.data["exported"] == {
        "status": "confirmed", "pinned": True, "origin": "user", "trust": "high", "used": 12,
        "created": warning.times.at.isoformat(), "last_used": "2026-02-21T00:00:00+00:00",
    }  # fmt: skip
    assert warning.data["original"].endswith("9a01") and warning.data["source"]["messageId"] == "m-9"
    assert {record.kind for record in found.values()} == {"warning", "decision", "discovery", "task_progress"}
    assert "gateway" not in user.aliases(), "a file chooses nothing"


@pytest.mark.covers("S3-6", "S3-24")
def test_for_their_owner_they_are_what_they_were(user: Memory) -> None:
    done = import_files(user, [FOLDER / "project.json"], own=True)
    assert done.outcomes == {"added": 4, "linked": 1} and not done.problems
    found = by_text(user)
    warning, decision = found["Never modify the auth middleware directly"], user.list({"kind": "decision"})[0]
    assert (warning.pinned, warning.status, warning.origin) == (True, "confirmed", "user")
    assert (warning.counters.used, warning.times.used) == (12, datetime.fromtimestamp(1771632000, UTC))
    assert warning.times.created == datetime.fromtimestamp(1771500000, UTC)
    assert warning.times.updated == datetime.fromtimestamp(1771600000, UTC)
    discovery = user.list({"kind": "discovery"})[0]
    assert (discovery.status, discovery.origin, discovery.times.used) == ("candidate", "agent", None)
    assert (decision.origin, decision.trust) == ("user", "high"), "/remember is the user's word"
    [dispute] = user.conflicts()
    assert ({dispute.a.id, dispute.b.id}, dispute.kind) == ({decision.id, discovery.id}, "ambiguous")
    assert user.aliases()["gateway"] == ("edge proxy", "envoy")
    assert user._choices().auto is False and user._choices().preset == "conservative"
    again = import_files(user, [FOLDER / "project.json"], own=True)
    assert again.outcomes == {"unchanged": 4} and user.audit().ok


def test_an_export_keeps_their_names(user: Memory, tmp_path: Path) -> None:
    import_files(user, [FOLDER / "project.json"], own=True)
    (tmp_path / "all.jsonl").write_text("".join(export(user)), encoding="utf-8")
    with Memory(":memory:", project="atlas") as other:
        owner = other.through(replace(other.access, origin="user"))
        import_files(owner, [tmp_path / "all.jsonl"], own=True)
        assert {r.text: (r.kind, r.pinned, r.counters.used) for r in by_text(owner).values()} == {
            r.text: (r.kind, r.pinned, r.counters.used) for r in by_text(user).values()
        }


# ---------------------------------------------------------------- a whole folder


@pytest.mark.covers("S3-5", "S3-10", "S3-11")
def test_the_folder_of_a_project(user: Memory) -> None:
    done = import_files(user, [FOLDER])
    assert done.outcomes == {"added": 6, "linked": 1, "left out": 1} and not done.problems and len(done.files) == 2
    found = by_text(user)
    error = found["The nightly build fails when the cache volume is full"]
    assert (error.scope, error.home, error.status) == ("session/s-42", "project/atlas", "candidate")
    summary = user.list({"kind": "summary"})[0]
    assert (summary.provenance.session, summary.provenance.agent) == ("s-42", "codex") and summary.scope == user.home
    assert summary.times.at == datetime.fromtimestamp(1771503600, UTC) and summary.data["forked_from"] == "s-41"


@pytest.mark.covers("S3-10")
def test_a_promoted_finding_is_archived_for_its_owner(user: Memory) -> None:
    done = import_files(user, [FOLDER], own=True)
    assert done.outcomes == {"added": 7, "linked": 1}
    [promoted] = user.list({"state": "archived"})
    assert (promoted.scope, promoted.reason) == ("session/s-42", "it was promoted to the project")
    assert user.count({"text": promoted.text}) == 1
    weighed = user.promote(dry_run=True)
    assert isinstance(weighed, list) and [each.kind for each in weighed] == ["error"], "findings can still be promoted"


@pytest.mark.covers("S3-11")
def test_the_backup_is_read_where_the_file_is_damaged(user: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    shutil.copy(FOLDER / "project.json", folder / "project.json.bak")
    assert import_files(user, [folder], dry_run=True).problems == (), "the backup alone"
    (folder / "project.json").write_text((FOLDER / "project.json").read_text()[:700])
    for paths in ([folder], [folder / "project.json"]):
        done = import_files(user, paths)
        assert sum(done.outcomes[name] for name in ("added", "unchanged") if name in done.outcomes) == 4
        assert "is damaged" in done.problems[0] and "project.json.bak was read" in done.problems[0]


@pytest.mark.parametrize("version", [2, 0, "1", None, True])
@pytest.mark.parametrize("name", ["project.json", "sessions/s-42.memory.json"])
def test_another_version_is_refused_whole(user: Memory, tmp_path: Path, name: str, version: Any) -> None:
    file = edited(tmp_path / "x.json", lambda value: value.update(version=version), FOLDER / name)
    with pytest.raises(StoreTooNew, match="version"):
        import_files(user, [file])
    assert user.status()["events"] == 0


def test_the_log_and_other_json_are_refused(user: Memory) -> None:
    with pytest.raises(Invalid, match="not an export"):
        import_files(user, [FOLDER / "audit.json"])


SPOILT = {
    "entries[0]": lambda value: value["entries"].__setitem__(0, 7),
    "entries[1]": lambda value: value["entries"][1].update(content=None),
    "entries[2]": lambda value: value["entries"][2].update(createdAt="yesterday"),
    "entries[3]": lambda value: value["entries"][3].update(status="eternal"),
    "conflicts[0]": lambda value: value["conflicts"].__setitem__(0, "x"),
}


@pytest.mark.parametrize("place", SPOILT)
@pytest.mark.parametrize("own", [True, False])
def test_a_bad_part_is_named_and_the_others_come_in(user: Memory, tmp_path: Path, place: str, own: bool) -> None:
    file = edited(tmp_path / "p.json", SPOILT[place], FOLDER / "project.json")
    done = import_files(user, [file], own=own)
    assert [problem.partition(": ")[0] for problem in done.problems] == [f"{file}:{place}"]
    assert done.outcomes["added"] == (4 if place == "conflicts[0]" else 3) and user.audit().ok


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v["entries"][0].update(category="magic"), lambda v: v["entries"][0].update(importance=7),
        lambda v: v["entries"][0].update(accessCount=-1), lambda v: v["entries"][0].update(createdAt=1e300),
        lambda v: v["entries"][0].update(source="a session"), lambda v: v["entries"][0].update(source={"signals": 1}),
        lambda v: v["entries"][0].update(id=None), lambda v: v["entries"][0].update(id={"a": 1}),
        lambda v: v["entries"][0].update(filePaths="x"), lambda v: v["entries"][0].update(content=""),
        lambda v: v.update(aliases=[1]), lambda v: v.update(aliases={"a": 1}), lambda v: v.update(metadata=7),
        lambda v: v["metadata"].update(configPreset="wild"), lambda v: v["metadata"].update(autoMemoryEnabled="no"),
        lambda v: v.update(conflicts={"a": 1}), lambda v: v["conflicts"][0].update(entryA={"x": 1}),
        lambda v: v["entries"][0].update(tags=[1]), lambda v: v["entries"][0].update(lastAccessedAt=True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("own", [True, False])
def test_nonsense_never_ends_an_import(user: Memory, tmp_path: Path, change: Callable[[Any], None], own: bool) -> None:
    file = edited(tmp_path / "p.json", change, FOLDER / "project.json")
    done = import_files(user, [file], own=own)
    assert done.outcomes["added"] >= 3 and user.audit().ok


@pytest.mark.parametrize("means", ["database", {"a": 1}, [], [1], 7, None])
def test_aliases_are_lists_of_words_and_a_bad_one_is_named(user: Memory, tmp_path: Path, means: Any) -> None:
    file = edited(tmp_path / "p.json", lambda v: v["aliases"].update(db=means, k8s=["kube"]), FOLDER / "project.json")
    done = import_files(user, [file], own=True)
    assert [problem.partition(": ")[0] for problem in done.problems] == [f"{file}:aliases['db']"]
    before = user.through(user.access).aliases()
    assert before["k8s"] == ("kube",) and "d" not in before.get("db", ())


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v["findings"].append(7), lambda v: v["findings"][1].update(content=3), lambda v: v.update(agentId=7),
        lambda v: v.update(summary=["x"]), lambda v: v.update(parentSessionId={"a": 1}), lambda v: v.update(sessionId="../x"),
        lambda v: v.update(sessionId=7), lambda v: v["findings"][1].update(category=None), lambda v: v.update(createdAt=None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("own", [True, False])
def test_nor_does_nonsense_in_a_session(user: Memory, tmp_path: Path, change: Callable[[Any], None], own: bool) -> None:
    file = edited(tmp_path / "s.memory.json", change, FOLDER / "sessions" / "s-42.memory.json")
    import_files(user, [file], own=own)
    assert user.audit().ok


def test_a_session_whose_time_cannot_be_read_is_refused(user: Memory, tmp_path: Path) -> None:
    session = FOLDER / "sessions" / "s-42.memory.json"
    file = edited(tmp_path / "s.memory.json", lambda value: value.update(finalizedAt="now"), session)
    with pytest.raises(Invalid, match="not a time in milliseconds"):
        import_files(user, [file])


def test_a_forged_file_lifts_nothing(memory: Memory, user: Memory, tmp_path: Path) -> None:
    mine = user.remember("Never modify the auth middleware directly", kind="warning").record
    assert mine is not None
    for door in (memory, user):
        done = import_files(door, [FOLDER / "project.json"])
        assert not done.problems
    assert memory.get(mine.id) == mine and user.count({"origin": "import", "verified": True}) == 0
    assert datetime.now(UTC) - user.list({"kind": "decision"})[0].times.at > timedelta(0)
