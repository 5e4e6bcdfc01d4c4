"""Are the items of a project's files kept with their places, replaced when the files change, and gone with them?"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import STORES, place_of, rounds
from memorist import Memory
from memorist.access import access_for
from memorist.errors import Invalid, OutOfScope, Refused
from memorist.files.items import extracted, index, item_id, items_json
from memorist.records import Record
from memorist.remember.authority import LARGE
from memorist.testing import MovableClock
from memorist.upkeep.items import DELETED, GONE

TOKEN = "ghp_" + "a1B2" * 9
PLAN = "# Plan\n\nDECISION: Staging runs Postgres 16\n\nFACT: empty bodies are signed\n\n- [ ] Renew the certificate\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, in which the test works."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "PLAN.md").write_text(PLAN)
    (folder / "src" / "sign.py").write_text("def sign(body):\n    return body  # TODO: sign it\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(params=STORES)
def memory(
    request: pytest.FixtureRequest, project: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    monkeypatch.setenv("MEMORIST_DB", str(place_of(request.param, project.parent)))
    with Memory(clock=clock) as memory:
        yield memory


def at(memory: Memory) -> dict[str, Record]:
    """The items by their places."""
    return {f"{record.files[0]}:{record.data['line']}": record for record in extracted(memory)}


@pytest.mark.covers("S2-6", "N2-5")
def test_items_have_their_type_file_line_confidence_and_hash(memory: Memory) -> None:
    done = index(memory)
    assert done.outcomes == {"added": 4} and done.files == 2 and done.problems == ()
    found = at(memory)
    assert {place: (record.kind, record.data["type"], record.text) for place, record in found.items()} == {
        "PLAN.md:3": ("decision", "decision", "Staging runs Postgres 16"),
        "PLAN.md:5": ("fact", "claim", "empty bodies are signed"),
        "PLAN.md:7": ("note", "task", "Renew the certificate"),
        "src/sign.py:2": ("note", "task", "sign it"),
    }
    assert found["PLAN.md:5"].confidence == 0.7 and found["PLAN.md:5"].provenance.confidence_because == "FACT"
    assert found["src/sign.py:2"].tags == ("task",)
    assert len(found["PLAN.md:3"].data["file_hashes"]["PLAN.md"]) == 32


@pytest.mark.covers("S2-18", "C1-1")
def test_they_are_candidates_of_low_trust_that_questions_find(memory: Memory) -> None:
    memory.remember("Staging is slow on Mondays")
    index(memory)
    [hit] = memory.recall("which postgres does staging run?", search="items")
    assert (hit.record.origin, hit.record.trust, hit.record.status) == ("file", "low", "candidate")
    assert hit.text == "Staging runs Postgres 16" and hit.freshness == "fresh"
    assert "PLAN.md:3" in str(memory.context("which postgres does staging run?"))


@pytest.mark.covers("C2-4")
def test_an_item_has_an_id_of_its_own(memory: Memory) -> None:
    """Its type, its content and its place decide it, so that it is the same in every store."""
    index(memory)
    found = at(memory)["PLAN.md:3"].data["item"]
    assert found == item_id("decision", "Staging runs Postgres 16", "PLAN.md#1") and found.startswith("dec_")
    assert len(found) == len("dec_") + 16


@pytest.mark.covers("C2-4", "S2-9")
def test_what_names_an_entity_is_found_by_its_name_in_every_file(memory: Memory, project: Path) -> None:
    """The founding program kept a link for each mention; here a question by the name is what leads from one to the other."""
    (project / "PLAN.md").write_text(
        "The pipeline runs on Borealis Station.\n\nDECISION: Borealis Station moves in May\n"
    )
    (project / "src" / "sign.py").write_text("# TODO: sign what Borealis Station sends\n# TODO: rename the module\n")
    index(memory)
    [entity] = [record for record in extracted(memory) if record.kind == "entity"]
    found = {hit.text for hit in memory.recall(entity.text.partition(":")[0], search="items", limit=20)}
    assert found == {entity.text, "Borealis Station moves in May", "sign what Borealis Station sends"}


@pytest.mark.covers("S2-10", "S2-6")
def test_only_the_extraction_writes_items(memory: Memory) -> None:
    """Neither an agent nor a file that is synced can plant one that the files do not say."""
    index(memory)
    items = items_json(extracted(memory))
    [real] = [record for record in extracted(memory) if record.kind == "decision"]
    for origin in ("agent", "file", "user"):
        door = memory.through(replace(memory.access, origin=origin))
        planted = door.remember(f"Staging runs MySQL, says {origin}", files=real.files, data=dict(real.data))
        assert planted.id and items_json(extracted(memory)) == items
    assert index(memory).outcomes == {"unchanged": 4}


@pytest.mark.covers("S2-6")
def test_extracted_again_what_stands_there_keeps_its_id_and_votes(memory: Memory, project: Path) -> None:
    index(memory)
    before = at(memory)
    memory.feedback(before["PLAN.md:3"], "useful")
    (project / "PLAN.md").write_text("A new line.\n" + PLAN.replace("empty bodies", "no bodies"))
    done = index(memory)
    assert done.outcomes == {"added": 1, "unchanged": 1, "moved": 2, "expired": 1}
    after = at(memory)
    assert after["PLAN.md:4"].id == before["PLAN.md:3"].id and after["PLAN.md:4"].counters.up == 1
    assert after["PLAN.md:6"].text == "no bodies are signed"
    gone = memory.get(before["PLAN.md:5"].id)
    assert (gone.state, gone.reason) == ("archived", GONE)


def test_a_second_run_changes_nothing(memory: Memory) -> None:
    index(memory)
    before = memory.log(limit=1000)
    done = index(memory)
    assert done.outcomes == {"unchanged": 4} and done.batch is None
    assert memory.log(limit=1000) == before


@pytest.mark.covers("S2-15")
def test_items_of_a_deleted_file_are_archived_and_come_back_with_it(memory: Memory, project: Path) -> None:
    index(memory)
    before = at(memory)
    memory.feedback(before["PLAN.md:3"], "useful")
    (project / "PLAN.md").unlink()
    assert index(memory).outcomes == {"unchanged": 1, "expired": 3}
    assert set(at(memory)) == {"src/sign.py:2"}
    assert memory.get(before["PLAN.md:3"].id).reason == DELETED
    assert memory.recall("which postgres does staging run?", search="items").hits == ()
    (project / "PLAN.md").write_text(PLAN)
    assert index(memory).outcomes == {"unchanged": 1, "restored": 3}
    back = at(memory)["PLAN.md:3"]
    assert back.id == before["PLAN.md:3"].id and back.counters.up == 1


@pytest.mark.covers("S2-15")
def test_upkeep_archives_what_lost_its_file(memory: Memory, project: Path) -> None:
    index(memory)
    assert [report.verb for report in memory.upkeep(dry_run=True)][-1] == "expire_items"
    assert memory.upkeep()[-1].changed == ()
    (project / "src" / "sign.py").unlink()
    report = memory.upkeep()[-1]
    assert (report.verb, len(report.changed)) == ("expire_items", 1) and memory.upkeep()[-1].changed == ()
    memory.undo(report.batch)
    assert "src/sign.py:2" in at(memory)


def test_upkeep_in_another_checkout_leaves_them(memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worktree of the same project may have other files."""
    index(memory)
    name = memory.project.scope.removeprefix("project/")
    (project.parent / "other").mkdir()
    monkeypatch.chdir(project.parent / "other")
    if memory.status()["store"] == ":memory:":
        return
    memory.close()
    with Memory(project=name) as elsewhere:
        assert "expire_items" not in [report.verb for report in elsewhere.upkeep()]
        assert len(extracted(elsewhere)) == 4


def test_only_what_the_paths_cover_is_replaced(memory: Memory, project: Path) -> None:
    index(memory)
    (project / "PLAN.md").unlink()
    (project / "src" / "sign.py").write_text("# TODO: sign it twice\n")
    assert index(memory, ["src"]).outcomes == {"added": 1, "expired": 1}
    assert "PLAN.md:3" in at(memory), "nobody looked at it"
    assert index(memory, ["PLAN.md"]).outcomes == {"expired": 3}
    with pytest.raises(Invalid, match="there is no file"):
        index(memory, ["nowhere.md"])


def test_a_file_that_was_named_is_looked_at_again_whatever_it_is_called(memory: Memory, project: Path) -> None:
    (project / "Makefile").write_text("NOTE: run it twice\n")
    assert "Makefile:1" not in (index(memory) and at(memory))
    index(memory, ["Makefile"])
    assert index(memory).outcomes == {"unchanged": 5}


def test_a_path_is_read_from_where_the_caller_works(
    memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert index(memory, [Path("src/sign.py")]).outcomes == {"added": 1}
    assert index(memory, [project / "src" / "sign.py"]).outcomes == {"unchanged": 1}


def test_the_same_line_twice_is_two_items(memory: Memory, project: Path) -> None:
    (project / "PLAN.md").write_text("TODO: test it\n\nTODO: test it\n")
    index(memory, ["PLAN.md"])
    assert set(at(memory)) == {"PLAN.md:1", "PLAN.md:3"}
    (project / "PLAN.md").write_text("TODO: test it\n")
    assert index(memory, ["PLAN.md"]).outcomes == {"moved": 1, "expired": 1}


def test_a_dry_run_shows_and_keeps_nothing(memory: Memory) -> None:
    done = index(memory, dry_run=True)
    assert done.dry_run and done.outcomes == {"added": 4} and len(done.drafts) == 4
    assert memory.count() == 0 and done.batch is None


def test_one_undo_takes_it_back(memory: Memory, project: Path) -> None:
    index(memory)
    (project / "PLAN.md").write_text(PLAN.replace("Postgres 16", "Postgres 17"))
    done = index(memory)
    memory.undo(done.batch)
    assert {record.text for record in at(memory).values()} >= {"Staging runs Postgres 16", "empty bodies are signed"}


# ---------------------------------------------------------------- whose they are


def as_user(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="user"))


def test_what_a_person_confirmed_stays(memory: Memory, project: Path) -> None:
    index(memory)
    mine = at(memory)["PLAN.md:3"]
    as_user(memory).pin(mine)
    (project / "PLAN.md").unlink()
    index(memory)
    kept = memory.get(mine.id)
    assert (kept.state, kept.origin, kept.pinned) == ("active", "user", True)


def test_what_a_person_forgot_or_revised_does_not_come_back(memory: Memory) -> None:
    index(memory)
    before = at(memory)
    as_user(memory).forget(before["PLAN.md:7"].id)
    as_user(memory).revise(before["PLAN.md:3"].id, "Staging runs Postgres 17")
    assert index(memory).outcomes == {"unchanged": 4}
    assert {record.text for record in at(memory).values()} == {"empty bodies are signed", "sign it"}


def test_a_folder_that_was_emptied_is_no_attack(memory: Memory, project: Path) -> None:
    """What nobody confirmed and its own file no longer says was not hidden: no person is asked."""
    (project / "PLAN.md").write_text("".join(f"TODO: step {n} of the plan\n\n" for n in range(3 * LARGE)))
    index(memory)
    (project / "PLAN.md").write_text("Nothing.\n")
    assert index(memory).outcomes["expired"] == 3 * LARGE
    assert memory.review() == []


def test_who_may_not_write_cannot_index(memory: Memory) -> None:
    scope = memory.project.scope
    for access in (access_for("reader", scope), access_for("skill", scope), access_for("project", "project/other")):
        with pytest.raises(OutOfScope):
            index(memory.through(access))
    assert memory.count() == 0


def test_while_memory_is_off_nothing_is_indexed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_OFF", "1")
    with pytest.raises(Refused):
        index(memory)


def test_without_a_folder_it_says_so(tmp_path: Path) -> None:
    with Memory(tmp_path / "x.db") as memory, pytest.raises(Invalid, match="no project folder"):
        index(memory)


# ---------------------------------------------------------------- what is never read


@pytest.mark.covers("S4-23")
def test_what_is_ignored_is_never_indexed(memory: Memory, project: Path) -> None:
    hidden = {
        ".env": None, ".env.local": None, "config/.ENV.production": None, "build/notes.md": None, "a.secret.md": None,
        "sub/private.md": None, ".git/x.md": None, "node_modules/x.md": None, "MEMORY.md": None, ".hidden/x.md": None,
    }  # fmt: skip
    for name in hidden:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("TODO: never see this\n")
    (project / ".gitignore").write_text("build/\n")
    (project / ".secretsignore").write_text("*.secret.md\n")
    (project / "sub" / ".gitignore").write_text("/private.md\n")
    assert index(memory).outcomes == {"added": 4}
    for name in (".env", "build", "a.secret.md", "sub/private.md", ".git/x.md"):
        with pytest.raises(Invalid, match="is ignored"):
            index(memory, [name])
    assert memory.count({"text": "never see this"}) == 0


@pytest.mark.covers("S4-23")
def test_gitignore_cannot_bring_back_what_is_secret(memory: Memory, project: Path) -> None:
    (project / ".secretsignore").write_text("PLAN.md\n")
    (project / ".gitignore").write_text("!PLAN.md\n!.env\n")
    (project / ".env").write_text("TODO: never see this\n")
    assert index(memory).outcomes == {"added": 1}


def test_items_of_a_file_that_is_ignored_now_are_archived(memory: Memory, project: Path) -> None:
    index(memory)
    (project / ".gitignore").write_text("PLAN.md\n")
    assert index(memory).outcomes == {"unchanged": 1, "expired": 3}


@pytest.mark.covers("S4-23")
def test_a_secret_in_an_item_is_replaced(memory: Memory, project: Path) -> None:
    (project / "PLAN.md").write_text(f"TODO: rotate {TOKEN}\n")
    index(memory)
    assert TOKEN not in str(memory.list(limit=100)) and "rotate" in at(memory)["PLAN.md:1"].text
    assert index(memory).outcomes == {"unchanged": 2}


# ---------------------------------------------------------------- items.json


@pytest.mark.covers("S2-6")
def test_the_projection_has_the_fields_of_the_document(memory: Memory) -> None:
    index(memory)
    raw = items_json(extracted(memory))
    items = json.loads(raw)
    assert [(item["sourceFile"], item["lineNumber"]) for item in items] == sorted(
        (item["sourceFile"], item["lineNumber"]) for item in items
    )
    record = at(memory)["PLAN.md:3"]
    assert items[0] == {
        "id": record.data["item"], "type": "decision", "title": "Staging runs Postgres 16", "content": record.text,
        "sourceFile": "PLAN.md", "lineNumber": 3, "confidence": 0.9, "extractedAt": record.times.created.isoformat(),
        "hash": record.data["file_hashes"]["PLAN.md"], "memory": record.id,
    }  # fmt: skip
    assert items_json(reversed(extracted(memory))) == raw and raw.endswith(b"\n")
    assert items_json([]) == b"[]\n"


@pytest.mark.covers("S2-6", "G1")
def test_what_is_erased_is_not_in_the_projection(memory: Memory) -> None:
    index(memory)
    memory.erase(at(memory)["PLAN.md:3"])
    assert b"Postgres" not in items_json(extracted(memory))


# ---------------------------------------------------------------- whatever becomes of the files

LINES = st.lists(st.sampled_from(["TODO: one", "TODO: two", "DECISION: three", "", "words", "# Head"]), max_size=5)
FOLDERS = st.dictionaries(st.sampled_from(["a.md", "b.md", "sub/c.md"]), LINES.map("\n\n".join), max_size=3)


@pytest.mark.covers("S2-6", "S2-15")
@settings(max_examples=rounds(300, 0.03), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FOLDERS, min_size=2, max_size=4))
def test_after_any_changes_the_items_are_those_of_the_files(
    tmp_path_factory: pytest.TempPathFactory, steps: list[dict[str, str]]
) -> None:
    """As many, of the same texts in the same places, as an index of a new store finds; and the same item is never there twice."""
    folder = tmp_path_factory.mktemp("any")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMORIST_DB", ":memory:")
        patch.chdir(folder)
        with Memory(embed="none") as memory:
            for files in steps:
                _write(folder, files)
                index(memory)
            with Memory(embed="none") as fresh:
                index(fresh)
                assert _told(memory) == _told(fresh)
            ids = [
                record.data["item"] for record in memory.list({"state": {"$in": ["active", "archived"]}}, limit=1000)
            ]
            assert len(ids) == len(set(ids))


def _write(folder: Path, files: dict[str, str]) -> None:
    for old in folder.rglob("*.md"):
        old.unlink()
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def _told(memory: Memory) -> list[tuple[str, int, str, str]]:
    return sorted((r.files[0], r.data["line"], r.text, r.data["item"]) for r in extracted(memory))
