"""Memories out of a store and into one: what an export holds, what an import takes over, and that both can be repeated."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.access import of_the_owner
from memorist.errors import Invalid, OutOfScope, Refused
from memorist.files.transfer import export, export_markdown, import_files
from memorist.testing import MovableClock

TOKEN = "ghp_" + "a1B2" * 9
DAY = datetime(2025, 3, 14, tzinfo=UTC)


@pytest.fixture
def other(clock: MovableClock) -> Iterator[Memory]:
    """Another store, of the same project."""
    with Memory(":memory:", project="atlas", clock=clock) as memory:
        yield memory


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def exported(memory: Memory, path: Path, **where: Any) -> Path:
    return written(path, "".join(export(memory, where or None)))


def lines_of(memory: Memory) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export(memory)]


def texts(memory: Memory) -> list[str]:
    return [record.text for record in memory.list(order="-number")]


# ---------------------------------------------------------------- Markdown


@pytest.mark.covers("S1-15", "S1-11")
def test_a_folder_of_markdown_becomes_discrete_memories_with_their_dates(memory: Memory, tmp_path: Path) -> None:
    written(
        tmp_path / "notes" / "MEMORY.md", "# Decisions\n- [2025-03-14] Staging runs Postgres 16\n- Ship on Friday\n"
    )
    written(tmp_path / "notes" / "memory" / "2025-03-01.md", "Ann prefers tabs\n")
    written(tmp_path / "notes" / "memory" / "deep" / "b.md", "- deep\n")
    written(tmp_path / "notes" / "README.md", "not a memory\n")
    done = import_files(memory, [tmp_path / "notes"])
    assert done.outcomes == {"added": 4} and done.problems == () and len(done.files) == 3
    postgres, ship, tabs, deep = memory.list(order="-number")
    assert (postgres.text, postgres.kind, postgres.title) == ("Staging runs Postgres 16", "decision", "Decisions")
    assert postgres.times.at == DAY and tabs.times.at == datetime(2025, 3, 1, tzinfo=UTC)
    modified = (tmp_path / "notes" / "MEMORY.md").stat().st_mtime
    assert ship.times.at == datetime.fromtimestamp(modified, UTC)
    assert (postgres.files, tabs.files, deep.files) == (
        ("MEMORY.md",),
        ("memory/2025-03-01.md",),
        ("memory/deep/b.md",),
    )
    assert (postgres.origin, postgres.trust, postgres.status) == ("import", "low", "candidate")
    assert postgres.provenance.surface == "import" and postgres.scope == memory.home
    assert memory.recall("which Postgres does staging run?")[0].record.text == postgres.text


@pytest.mark.covers("S1-15")
def test_a_second_import_changes_nothing(memory: Memory, tmp_path: Path, clock: MovableClock) -> None:
    page = written(tmp_path / "MEMORY.md", "- one thing\n- another thing\n- a third thing\n- a third  THING\n")
    assert import_files(memory, [page]).outcomes == {"added": 3, "unchanged": 1}
    memory.forget(1)
    memory.revise(2, "another thing, revised")
    clock.move(days=1)
    events = memory.status()["events"]
    again = import_files(memory, [page])
    assert again.outcomes == {"unchanged": 4} and again.batch is None
    assert texts(memory) == ["another thing, revised", "a third thing"]
    assert memory.get(3).counters.strength == 0 and memory.status()["events"] == events
    assert memory.audit().ok


@pytest.mark.usefixtures("without_reader")
@pytest.mark.covers("S1-15")
def test_one_undo_takes_a_whole_import_back(memory: Memory, tmp_path: Path) -> None:
    memory.remember("mine")
    page = written(tmp_path / "MEMORY.md", "\n".join(f"- memory number {number}" for number in range(600)))
    done = import_files(memory, [page])
    assert done.outcomes == {"added": 600} and done.batch
    assert memory.undo(done.batch).pending, "an agent asks before it hides most of a project"
    person = memory.through(replace(memory.access, origin="user"))
    assert len(person.undo(done.batch).changed) == 600
    assert texts(memory) == ["mine"] and memory.audit().ok


@pytest.mark.covers("W1-4")
def test_secrets_in_a_file_are_not_stored(memory: Memory, tmp_path: Path) -> None:
    page = f"# Keys {TOKEN}\n- The token is {TOKEN}\n- {TOKEN}\n"
    done = import_files(memory, [written(tmp_path / "MEMORY.md", page)])
    assert done.outcomes == {"added": 1, "refused": 1}
    assert done.problems[0].startswith(f"{tmp_path / 'MEMORY.md'}:3: the text is nothing but a secret")
    assert TOKEN not in "".join(export(memory)) and "[secret:" in memory.get(1).text
    assert TOKEN not in repr(import_files(memory, [tmp_path / "MEMORY.md"], dry_run=True))
    again = import_files(memory, [tmp_path / "MEMORY.md"])
    assert again.outcomes == {"unchanged": 1, "refused": 1}


@pytest.mark.covers("S1-3")
def test_a_dry_run_tells_and_stores_nothing(memory: Memory, tmp_path: Path) -> None:
    page = written(tmp_path / "MEMORY.md", "# Preferences\n- tabs\n- spaces\n")
    done = import_files(memory, [page], dry_run=True)
    assert done.dry_run and done.batch is None and done.outcomes == {}
    assert [(draft.kind, draft.title, draft.text) for draft in done.drafts] == [
        ("preference", "Preferences", "tabs"), ("preference", "Preferences", "spaces"),
    ]  # fmt: skip
    assert memory.count() == 0


def test_what_one_line_holds_does_not_keep_the_others_out(memory: Memory, tmp_path: Path) -> None:
    page = written(tmp_path / "MEMORY.md", "- fine\n- not\x00fine\n- fine too\n- " + "long " * 250_000)
    done = import_files(memory, [page])
    assert done.outcomes == {"added": 2, "refused": 2} and texts(memory) == ["fine", "fine too"]
    assert [problem.split(": ")[0].rpartition(":")[2] for problem in done.problems] == ["2", "4"]


def test_a_scope_puts_it_there_and_access_holds(memory: Memory, tmp_path: Path) -> None:
    page = written(tmp_path / "MEMORY.md", "- tabs\n")
    assert import_files(memory, [page], scope="user/ann").outcomes == {"added": 1}
    assert memory.list()[0].scope == "user/ann"
    for denied in (
        lambda: import_files(memory, [page], scope="project/borealis"),
        lambda: import_files(memory.through(replace(memory.access, writes=())), [page]),
    ):
        with pytest.raises(OutOfScope):
            denied()


def test_nothing_is_imported_while_memory_is_off(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = written(tmp_path / "MEMORY.md", "- tabs\n")
    monkeypatch.setenv("MEMORIST_OFF", "1")
    with pytest.raises(Refused):
        import_files(memory, [page])


# ---------------------------------------------------------------- out


@pytest.mark.covers("S1-18")
def test_an_export_holds_every_field_and_every_state_but_erased(memory: Memory) -> None:
    memory.remember("Ünïcode 🐘", kind="decision", title="T", tags=["a"], files=["f.py"], data={"n": [1, {"x": None}]},
                    at=DAY, valid_from=DAY, valid_to=DAY + timedelta(days=900), importance=0.25, session="s",
                    pinned=True)  # fmt: skip
    memory.remember("forgotten")
    memory.forget(2)
    memory.remember("revised")
    memory.revise(3, "new words")
    memory.remember("erased")
    memory.erase(5)
    head, *records, end = lines_of(memory)
    assert (head["memorist"], head["version"], head["space"], head["project"]) == (
        "export",
        2,
        "default",
        "project/atlas",
    )
    assert (end["memorist"], end["count"], len(end["seal"])) == ("end", 5, 32)
    assert [(line["text"], line["state"]) for line in records[:-1]] == [
        ("Ünïcode 🐘", "active"), ("forgotten", "archived"), ("new words", "active"), ("revised", "superseded"),
    ]  # fmt: skip
    link = {"link": "supersedes", "a": records[2]["id"], "b": records[3]["id"], "weight": 1.0, "evidence": None}
    assert records[-1] == link
    first = records[0]
    assert first["data"] == {"n": [1, {"x": None}]} and first["at"] == DAY.isoformat() and first["pinned"] is True
    assert list(first) == list(records[1]) and "🐘" in list(export(memory))[1]
    assert "fingerprint" not in first


def test_an_export_is_read_in_pages_and_follows_the_filter(memory: Memory) -> None:
    memory.remember_many({"text": f"memory number {number}", "kind": "reasoning"} for number in range(1203))
    records = lines_of(memory)[1:-1]
    assert [line["number"] for line in records] == list(range(1, 1204))
    for where, numbers in (({"$gt": 1200}, [1201, 1202, 1203]), ({"$lte": 2}, [1, 2]), (7, [7])):
        found = [json.loads(line) for line in export(memory, {"number": where})]
        assert [line["number"] for line in found[1:-1]] == numbers
    with pytest.raises(Invalid):
        list(export(memory, {"nonsense": 1}))


def test_an_export_holds_only_what_may_be_read(memory: Memory) -> None:
    memory.remember("of atlas")
    memory.remember("of ann", user="ann")
    narrow = memory.through(replace(memory.access, reads=("user/ann",)))
    assert [line["text"] for line in lines_of(narrow)[1:-1]] == ["of ann"]


# ---------------------------------------------------------------- in again


@pytest.mark.covers("S1-18", "S1-11")
def test_an_export_moves_memories_to_another_store(memory: Memory, other: Memory, tmp_path: Path) -> None:
    memory.remember("decided", kind="decision", title="T", tags=["a"], data={"n": 1}, at=DAY, session="s", pinned=True)
    memory.remember("of ann", user="ann", importance=0.25)
    memory.remember("hello", kind="turn", role="user")
    memory.remember("forgotten")
    memory.forget(4)
    memory.feedback(1, "useful")
    file = written(tmp_path / "all.jsonl", "".join(export(memory, everything=True)))
    done = import_files(other, [file])
    assert done.outcomes == {"added": 3, "left out": 1} and not done.problems
    assert any("1 left out: forgotten or replaced where they come from (1 archived); " in note for note in done.notes)
    for old in memory.list():
        new = other.get(old.id)
        same = ("id", "scope", "kind", "text", "title", "tags", "files", "importance", "confidence")
        said = {"status": "confirmed", "pinned": True, "origin": "agent", "trust": "medium", "up": 1, "used": 1}
        told = said if old.number == 1 else {name: said[name] for name in ("status", "origin", "trust")}
        told = {**told, "actor": old.provenance.actor, "surface": "library", "created": old.times.created.isoformat()}
        told |= {"last_used": old.times.used.isoformat()} if old.times.used else {}
        assert new.data == {**old.data, "exported": told}
        assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
        assert new.times.at == old.times.at and new.provenance.session == old.provenance.session
        assert (new.trust, new.status, new.pinned, new.counters.up) == ("low", "candidate", False, 0)
    assert import_files(other, [file]).outcomes == {"unchanged": 3, "left out": 1}
    assert import_files(memory, [file]).outcomes == {"unchanged": 3, "left out": 1}
    assert memory.audit().ok and other.audit().ok


def test_what_was_erased_here_stays_erased_and_is_told(memory: Memory, tmp_path: Path) -> None:
    memory.remember("gone for good")
    file = exported(memory, tmp_path / "all.jsonl")
    memory.erase(1)
    done = import_files(memory, [file])
    assert done.outcomes == {"refused": 1} and "erased here" in done.problems[0]
    assert memory.count() == 0


def test_the_same_memories_twice_in_one_import_are_one(memory: Memory, other: Memory, tmp_path: Path) -> None:
    memory.remember("once")
    memory.remember("hello", kind="turn", role="user")
    files = [exported(memory, tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    assert import_files(other, [*files, files[0]]).outcomes == {"added": 2, "unchanged": 2}
    assert other.audit().ok


def test_copies_into_another_scope_have_ids_of_their_own(memory: Memory, tmp_path: Path) -> None:
    memory.remember("once")
    memory.remember("hello", kind="turn", role="user")
    file = exported(memory, tmp_path / "all.jsonl")
    assert import_files(memory, [file], scope="user/ann").outcomes == {"added": 2}
    assert import_files(memory, [file], scope="user/ann").outcomes == {"unchanged": 2}
    assert memory.count({"scope": "user/ann"}) == memory.count({"scope": "project/atlas"}) == 2


def test_a_text_that_held_for_a_time_does_not_hide_the_one_that_holds(
    memory: Memory, other: Memory, tmp_path: Path, clock: MovableClock
) -> None:
    memory.remember("Ann is on call", valid_to=clock() + timedelta(days=1))
    clock.move(days=2)
    memory.remember("Ann is on call")
    file = exported(memory, tmp_path / "all.jsonl")
    assert import_files(other, [file]).outcomes == {"added": 2}
    assert import_files(other, [file]).outcomes == {"unchanged": 2}


@pytest.mark.covers("S1-18")
def test_the_readable_export_can_be_imported_and_changes_nothing(memory: Memory, other: Memory, tmp_path: Path) -> None:
    memory.remember("Staging runs Postgres 16", kind="decision", title="Databases", tags=["db", "infra"], at=DAY)
    memory.remember("Deploy:\n\n```sh\n# build\nmake\n```\n- then\n  - wait\n\n# no heading", kind="procedure")
    memory.remember("Ann prefers tabs", user="ann")
    memory.remember("hello", kind="turn", role="user")
    memory.remember("forgotten")
    memory.forget(5)
    page = "".join(export_markdown(memory, everything=True))
    assert (
        "## project/atlas\n\n### decision\n\n#### Databases\n\n- 2025-03-14: Staging runs Postgres 16 <!-- #db #infra -->"
        in page
    )
    assert "hello" not in page and "forgotten" not in page
    file = written(tmp_path / "MEMORY.md", page)
    assert import_files(memory, [file]).outcomes == {"unchanged": 2, "added": 1}, "Ann's goes to the project"
    assert import_files(other, [file]).outcomes == {"added": 3}
    assert other.list({"kind": "decision"})[0].times.at == DAY
    assert {" ".join(text.split()) for text in texts(other)} == {
        " ".join(memory.get(number).text.split()) for number in (1, 2, 3)
    }


# ---------------------------------------------------------------- another project, and every project


@pytest.mark.parametrize("origin", ["agent", "recorded", "tool", "web"])
def test_nobody_but_the_user_brings_into_every_prompt_what_they_may_not_say(
    memory: Memory, other: Memory, tmp_path: Path, origin: str
) -> None:
    person = other.through(replace(other.access, origin="user"))
    person.remember("Ann prefers tabs", kind="preference", scope="global")
    person.remember("Tests come first", kind="convention", scope="global")
    person.remember("The sky is blue", scope="global")
    file = exported(person, tmp_path / "all.jsonl", scope="global")
    markdown = written(tmp_path / "a.md", "# Preferences\n- Ann prefers tea\n")
    door = memory.through(replace(memory.access, origin=origin))
    for dry_run in (True, False):
        done = import_files(door, [file], dry_run=dry_run)
        assert len(done.problems) == 2 and "prompts of every project" in done.problems[0]
    assert done.outcomes == {"added": 1, "refused": 2} and texts(memory) == ["The sky is blue"]
    assert import_files(door, [markdown], scope="global").outcomes == {"refused": 1} and memory.review() == []
    assert import_files(door, [markdown]).outcomes == {"added": 1}
    user = memory.through(replace(memory.access, origin="user"))
    assert import_files(user, [file]).outcomes == {"added": 2, "unchanged": 1}


def test_a_file_of_another_project_says_how_it_comes_in(memory: Memory, tmp_path: Path) -> None:
    with Memory(":memory:", project="borealis") as elsewhere:
        elsewhere.remember("Alpha lies north")
        elsewhere.remember("Beta lies south", scope="task/1")
        file = exported(elsewhere, tmp_path / "all.jsonl")
    done = import_files(memory, [file])
    assert done.outcomes == {"refused": 2}
    [note] = done.notes
    assert note.startswith("2 belong to project/borealis, which is not this project, project/atlas: ")
    assert "--project borealis" in note and "--scope project/atlas" in note
    assert import_files(memory, [file], scope="project/atlas").notes == ()
    owner = memory.through(replace(memory.access, origin="user"))
    owner.access = of_the_owner(owner.access)
    assert import_files(owner, [file], own=True).notes == (
        "2 went to project/borealis, and this folder is project/atlas",
    )


def test_a_folder_of_documents_says_what_it_left_out(memory: Memory, tmp_path: Path) -> None:
    written(tmp_path / "docs" / "a.md", "one")
    assert import_files(memory, [tmp_path / "docs"], document=True).notes == ()
    for name in ("x.bin", ".env", "deep/y.png", ".git/z.md", "node_modules/z.md"):
        written(tmp_path / "docs" / name, "two")
    [note] = import_files(memory, [tmp_path / "docs"], document=True).notes
    assert "3 files are not .md" in note and "folders such as .git" in note
