"""What a store is kept for besides: documents, procedures, events, projects that move, eviction, nights, export and import."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from golden.driver import Clock, Invalid, Lib, Shell, retaining, seed
from golden.outside_fixtures import lib_in, shell_in


@pytest.mark.covers("C0-3", "C0-4")
@pytest.mark.parametrize("design", ["balanced", "tiers", "curated"])
def test_a_document_is_found_by_its_middle_and_reaches_a_prompt_with_its_path(design: str) -> None:
    with Lib(design=design, embed="none") as lib:
        lines = [f"Line {n} speaks of harbours and cranes" for n in range(400)]
        lines[200] += " and of the quorum"
        lib.keep("\n".join(lines), kind="document", files=["docs/guide.md"])
        assert lib.find("what about the quorum?", search="sources").numbers == [1]
        made = lib.prompt("what about the quorum?", deadline=60)
        assert "docs/guide.md" in made.text and "and of the quorum" in made.text and made.tokens <= made.budget


STEPS = {
    "name": "Nightly",
    "trigger": "release",
    "steps": ["run the tests", "tag the commit"],
    "warnings": ["not on Friday"],
}


@pytest.mark.covers("S4-12", "C4-9", "T4")
def test_a_procedure_comes_up_by_its_trigger_with_its_steps_once_somebody_vouches_for_it(kept: Lib) -> None:
    kept.keep("Staging runs Postgres 16")
    kept.keep("How a version is made", kind="procedure", data=STEPS)
    assert kept.find("we release today")[0].number == 2
    text = kept.prompt("we release today").text
    assert text.index("run the tests") < text.index("tag the commit") and "not on Friday" in text
    kept.call("forget", 2)
    kept.caller("web").keep("How another is made", kind="procedure", data=STEPS)
    assert "run the tests" not in kept.prompt("we release today").text
    for wrong in ({"steps": []}, {"steps": "run it"}, {"steps": [1]}, {"warnings": [None]}):
        with pytest.raises(Invalid):
            kept.keep("How a third is made", kind="procedure", data={**STEPS, **wrong})


@pytest.mark.covers("S2-20", "S2-21")
def test_the_five_events_are_told_with_what_the_document_names(kept: Lib) -> None:
    heard = kept.hears()
    kept.keep("Staging runs Postgres 16")
    kept.get(1)
    kept.find("which Postgres runs in staging?")
    named = {name: facts for name, facts in heard}
    assert {"memory:write", "memory:read", "memory:search"} <= set(named)
    assert {"type", "path", "delta"} <= set(named["memory:write"]) and named["memory:write"]["delta"] == 24
    assert {"type", "path", "size"} <= set(named["memory:read"])
    assert (
        named["memory:search"]["query"] == "which Postgres runs in staging?" and named["memory:search"]["results"] == 1
    )
    with kept.session("s1") as session:
        for n in range(14):
            session.turn("user", f"Turn {n} speaks of the harbour")
        session.flush("NO_REPLY")
        session.compact(keep=3)
    assert {"memory:flush", "memory:compact"} <= {name for name, _ in heard}


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1"}
    )


@pytest.mark.covers("W4-1", "W4-9", "X17")
def test_a_project_is_known_by_its_remote_wherever_it_lies_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}
    for name, remote in (("one", "atlas"), ("moved", "atlas"), ("other", "borealis")):
        folder = tmp_path / name / "work"
        folder.mkdir(parents=True)
        git(folder, "init", "-q")
        git(folder, "remote", "add", "origin", f"https://git.example.org/acme/{remote}.git")
        monkeypatch.chdir(folder)
        monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "m.db"))
        with Lib(None, project=None, embed="none") as lib:
            if name == "one":
                lib.keep("The canary of the first checkout")
            seen[name] = lib.texts("canary")
    assert seen == {"one": seen["one"], "moved": seen["one"], "other": []} and seen["one"]


@pytest.mark.covers("W4-1")
@pytest.mark.parametrize(
    "name", ["", "  ", "project/", "a//b", "../b", "a/..", "*", "a\x00b", "a\u200bb", "x" * 300, 7]
)
def test_a_name_that_would_land_nowhere_is_refused(name: Any) -> None:
    with pytest.raises(Invalid):
        Lib(project=name)


@pytest.mark.covers("S0-13", "W0-4", "X6", "S3-30", "S0-25")
@pytest.mark.parametrize("design", ["tiers", "curated"])
def test_above_the_limit_the_least_worth_go_down_to_nine_tenths_and_a_second_run_does_nothing(
    design: str, clock: Clock
) -> None:
    with Lib(design=retaining(design, max_items=50), clock=clock, embed="none") as lib:
        lib.keep_many(
            {"text": f"Berth {n} of the harbour", "kind": "decision", "importance": n / 60} for n in range(60)
        )
        lib.call("pin", 1)
        clock.move(days=2)
        lib.keep("The newest one is of no importance", kind="decision", importance=0.0)
        gone = lib.upkeep()
        assert len(gone) == 61 - 45 and not {1, 61} & set(gone) and set(gone) == set(range(2, 18))
        assert lib.upkeep() == [] and {lib.get(n).state for n in gone} == {"archived"}


@pytest.mark.covers("S0-16", "S0-23")
def test_what_is_global_is_never_evicted(clock: Clock) -> None:
    with Lib(design=retaining("tiers", max_items=5), clock=clock, embed="none") as lib:
        lib.keep_many(
            {"text": f"Pattern {n}", "kind": "pattern", "scope": "global", "importance": 0.1} for n in range(20)
        )
        clock.move(days=900)
        assert lib.upkeep() == [] and lib.call("count", {"scope": "global"}) == 20


@pytest.mark.covers("S4-21", "S4-22", "N4-1", "N4-3", "N4-4")
def test_a_night_makes_one_of_twins_and_one_undo_takes_it_back(place: Path, clock: Clock) -> None:
    with Lib(place, clock=clock) as lib:
        lib.keep("We deploy to staging on Friday", tags=["ops"])
        lib.keep("On Friday we deploy to staging", tags=["release"])
        lib.keep("On Monday we deploy to staging")
        lib.vote(2)
        clock.move(days=1)
        before = lib.state()
        lib.upkeep(deep=True, dry_run=True)
        assert lib.state() == before
        reports = lib.call("upkeep", deep=True)
        assert [row.number for row in lib.all()] == [1, 3]
        assert set(lib.get(1).tags) == {"ops", "release"} and lib.get(1).up == 1
        lib.call("undo", reports[-1].batch)
        assert [row.number for row in lib.all()] == [1, 2, 3] and lib.call("audit").ok


@pytest.mark.covers("P16")
@pytest.mark.parametrize("days", [-3650, 3650, 4382])
def test_when_the_clock_jumps_nothing_expires(days: int, clock: Clock) -> None:
    with Lib(design="curated", clock=clock, embed="none") as lib:
        lib.keep("A note that would expire", kind="note")
        clock.move(days=days)
        lib.upkeep()
        assert lib.get(1).state == "active" and lib.keep("Another").number == 2


@pytest.mark.covers("S1-15", "S1-18", "S1-11", "G5", "S4-24")
def test_export_and_import_keep_every_memory_and_a_second_import_changes_nothing(tmp_path: Path) -> None:
    for name in ("there", "here"):
        (tmp_path / name).mkdir()
    there, here = shell_in(tmp_path / "there"), shell_in(tmp_path / "here")
    with lib_in(tmp_path / "there") as lib:
        lib.keep("Staging runs Postgres 16", kind="decision", tags=["db"], importance=0.9, data={"n": [1, 2]})
        lib.keep("We ship on Tuesdays", pinned=True)
        lib.keep("A gone heron")
        lib.call("forget", 3)
        lib.vote(1)
        lib.link(1, 2, evidence="said together")
        wanted, links = comparable(lib), len(lib.call("links", 1))
    assert not there("export", tmp_path / "all.jsonl", json=False).error

    def bring(shell: Shell) -> None:
        assert not shell.person("import", tmp_path / "all.jsonl", own=True).error

    for _ in range(2):
        bring(here)
        with lib_in(tmp_path / "here") as lib:
            assert comparable(lib) == wanted and len(lib.call("links", lib.all()[0])) == links
    text = (tmp_path / "all.jsonl").read_text(encoding="utf-8")
    assert "Staging runs Postgres 16" in text, "a person can read it"


def comparable(lib: Lib) -> list[Any]:
    names = (
        "id",
        "text",
        "kind",
        "tags",
        "data",
        "importance",
        "pinned",
        "state",
        "up",
        "origin",
        "trust",
        "status",
        "at",
    )
    return sorted(([getattr(row, name) for name in names] for row in lib.everything()), key=lambda row: row[0])


@pytest.mark.covers("N0-7", "N0-6")
def test_remember_this_is_the_projects_unless_it_is_a_preference(lib: Lib) -> None:
    with Lib(design="tiers", confirm=lambda ask: True) as lib:
        tools = seed("tiers", lib)
        tools.add_decision("We use Postgres", [])
        tools.add_preference("Short answers", "style")
        assert [row.scope for row in lib.all()] == ["project/atlas", "global"]
