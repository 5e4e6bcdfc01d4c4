"""The founding document's folder of the associative design, as an export."""

import itertools
import json
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.designs import ASSOCIATIVE
from memorist.errors import Invalid
from memorist.files import layout, transfer
from memorist.files.layout import lay_out


def read(folder: Path, name: str) -> Any:
    return json.loads(next(folder.glob(name)).read_text(encoding="utf-8"))


@pytest.fixture
def known(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path / "memory.db", project="atlas", embed="static", design=ASSOCIATIVE)
    return memory.through(replace(memory.access, origin="user", actor="ann"))


@pytest.mark.covers("S4-18", "S4-8")
def test_each_idea_has_its_file_and_people_can_read_it(known: Memory, tmp_path: Path) -> None:
    one = known.remember(
        "Never push on Fridays", kind="warning", tags=["release"], data={"triggers": ["push"]}, session="s1"
    )
    two = known.remember("Releases are cut on Tuesdays", tags=["release", "ops"], files=["ci.yml"])
    three = known.remember("Ann prefers tabs", kind="preference", scope="global")
    known.link(one, two, weight=0.5, evidence="both are about releases")
    known.forget(three)
    done = lay_out(known, tmp_path / "out")
    assert [file.relative_to(done.folder).parts[0] for file in done.files] == [
        "projects", "global.json", "clusters", "tags", "embeddings", "graph.json",
    ]  # fmt: skip
    project = read(done.folder, "projects/*.json")
    assert project["scope"] == "project/atlas" and list(project["memories"]) == [one.id, two.id] and done.memories == 3
    entry = project["memories"][one.id]
    assert (entry["content"], entry["category"], entry["session_id"]) == ("Never push on Fridays", "negative", "s1")
    assert (entry["active"], entry["strength"], entry["access_count"], entry["trust"]) == (True, 0, 0, "high")
    assert project["memories"][two.id]["file_paths"] == ["ci.yml"]
    forgotten = read(done.folder, "global.json")["memories"][three.id]
    assert (forgotten["active"], forgotten["scope"]) == (False, "global")
    graph = read(done.folder, "graph.json")
    assert graph["nodes"] == {
        one.id: "memory", two.id: "memory", three.id: "memory", "tag:release": "tag", "tag:ops": "tag",
    }  # fmt: skip
    tie = {"from": one.id, "to": two.id, "kind": "RelatesTo", "weight": 0.5, "evidence": "both are about releases"}
    assert tie in graph["edges"] and {"from": two.id, "to": "tag:ops", "kind": "HasTag"} in graph["edges"]
    assert read(done.folder, "tags/tags.json")["tags"]["release"] == {"count": 2, "memories": [one.id, two.id]}
    [model] = read(done.folder, "embeddings/vectors.json")["generations"].values()
    assert model["model"].startswith("static-") and model["state"] == "current"


@pytest.mark.covers("S4-18", "S4-5")
def test_clusters_are_named_with_their_members(known: Memory, tmp_path: Path) -> None:
    herons = [f"Herons rest by the bend of the river {place}" for place in "Aare Main Oder Elbe Saale Havel".split()]
    ids = {done.id for done in known.remember_many(herons)}
    known.upkeep(deep=True)
    found = read(lay_out(known, tmp_path / "out").folder, "clusters/clusters.json")["clusters"]
    assert any(set(each["members"]) <= ids and len(each["members"]) >= 4 for each in found.values())


@pytest.mark.covers("S4-18")
def test_what_was_erased_or_is_anothers_is_nowhere_in_it(known: Memory, tmp_path: Path) -> None:
    gone = known.remember("Rowan Street 7 is where Ann lives", tags=["rowan"])
    other = Memory(tmp_path / "memory.db", project="borealis", embed="none")
    other.remember("Borealis pays in kroner", tags=["kroner"])
    other.close()
    known.remember("Only now: zanzibar", scope="session/s1")
    known.remember("Ann likes tea", user="ann")
    kept = known.remember("Staging runs Postgres 16")
    known.link(kept, gone)
    known.erase(gone, because="she asked")
    done = lay_out(known, tmp_path / "out")
    whole = b"".join(file.read_bytes() for file in done.files)
    assert done.memories == 1 and b"Postgres 16" in whole
    for word in (b"owan", b"kroner", b"zanzibar", b"tea", str(gone.id).encode()):
        assert word not in whole, word


@pytest.mark.covers("W4-10", "S4-18")
def test_no_file_holds_a_vector_and_a_turn_rewrites_none(known: Memory, tmp_path: Path) -> None:
    known.remember("Staging runs Postgres 16")
    done = lay_out(known, tmp_path / "out")
    before = {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in done.files}
    assert sum(size for _, size in before.values()) < 10_000, "256 numbers of a vector would show"
    with known.session("s1") as session:
        for n in range(20):
            session.turn("user", f"Is staging on Postgres {n}?")
    assert {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in done.files} == before


def test_what_cannot_be_seen_is_written_out_and_is_the_same_when_read(known: Memory, tmp_path: Path) -> None:
    done = known.remember("Pay\u202e to\n\U000e0041 Ann 🐦")
    folder = lay_out(known, tmp_path / "out").folder
    raw = next(folder.glob("projects/*.json")).read_text(encoding="utf-8")
    assert "\u202e" not in raw and "\U000e0041" not in raw and "🐦" in raw
    assert json.loads(raw)["memories"][done.id]["content"] == known.get(done).text


def test_it_never_writes_over_anything_and_leaves_nothing_half_done(
    known: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known.remember("Staging runs Postgres 16")
    (tmp_path / "there").mkdir()
    with pytest.raises(Invalid, match="there already; name a new folder"):
        lay_out(known, tmp_path / "there")

    def fails(*given: object) -> Any:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(layout, "_tags", fails)
        with pytest.raises(OSError, match="no space left"):
            lay_out(known, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    done = lay_out(known, tmp_path / "out")
    if sys.platform != "win32":
        assert {stat.S_IMODE(file.stat().st_mode) for file in done.files} == {0o600}
        assert stat.S_IMODE(done.folder.stat().st_mode) == 0o700


def test_pages_join_without_a_gap(known: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "LAYOUT_PAGE", 3)
    monkeypatch.setattr(transfer, "PAGE", 3)
    done = known.remember_many([{"text": f"Berth {n} belongs to ship {n}", "tags": [f"t{n}"]} for n in range(8)])
    for one, other in itertools.pairwise(done):
        known.link(one, other)
    folder = lay_out(known, tmp_path / "out").folder
    assert list(read(folder, "projects/*.json")["memories"]) == [each.id for each in done]
    edges = read(folder, "graph.json")["edges"]
    assert sum(edge["kind"] == "RelatesTo" for edge in edges) == 7 and sum(e["kind"] == "HasTag" for e in edges) == 8
