"""Acceptance 9: project A never sees A-2 or B, whatever door is used, and a skill reads and writes nothing at all."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory, seeds
from memorist.access import Access, access_for
from memorist.designs import DESIGNS
from memorist.errors import MemoristError, NotFound, OutOfScope
from memorist.files.transfer import export, import_files
from memorist.noun import plain
from memorist.seeds.curated import slash

OTHERS = ("a-2", "ab", "b", "a/b", "A")
MESSAGES = [{"role": "user", "content": "the canary was said"}, {"role": "assistant", "content": "the canary answers"}]


@pytest.fixture(params=["notebook", "balanced"])
def admin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A store in which every project but A has a memory, a session with its turns, a note, a task and a narrative."""
    with Memory(tmp_path / "memory.db", project="a", design=request.param, embed="none") as memory:
        everywhere = memory.through(replace(access_for("admin", "project/a"), actor="admin"))
        for name in OTHERS:
            keeper = everywhere.through(replace(everywhere.access, home=f"project/{name}"))
            for kind in ("fact", "task", "narrative", "document", "decision"):
                keeper.remember(f"The canary of {name}, a {kind}", kind=kind, scope=f"project/{name}")
            keeper.remember(MESSAGES, session="s1", scope=f"project/{name}")
            keeper.remember(f"The canary noted in {name}", scope="session/s1", home=f"project/{name}")
        yield everywhere


def ways_to_read(memory: Memory) -> Iterator[Callable[[], object]]:
    yield lambda: memory.recall("canary", limit=100)
    for scope in ("memory", "items", "sessions", "sources", "archive", "all"):
        yield lambda scope=scope: memory.recall("canary", search=scope, limit=100)
    yield lambda: memory.recall("canary", session="s1", limit=100)
    yield lambda: memory.context("canary", inject="push").text
    yield lambda: memory.context("", inject="core", session="s1").text
    yield lambda: memory.list(limit=1000)
    yield lambda: memory.timeline(limit=1000)
    yield lambda: memory.log(limit=1000)
    yield memory.count
    yield memory.sessions
    yield lambda: "".join(export(memory))
    yield lambda: seeds.notebook(memory).read()
    yield lambda: seeds.notebook(memory).search("canary", "sessions")
    yield lambda: seeds.notebook(memory).request("skill", "sing", "which bird?")
    yield lambda: seeds.hebbian(memory).memory_query("canary")
    yield lambda: slash(memory, "/memory list").text


def ways_to_write(memory: Memory, folder: Path, scope: str | None = None) -> Iterator[Callable[[], object]]:
    """Through the library, a session, chat messages, files, and the founding documents' tools."""
    place = {} if scope is None else {"scope": scope}
    (folder / "in.md").write_text("# Notes\n\n- A planted fact\n", encoding="utf-8")
    yield lambda: memory.remember("A planted fact", **place)
    yield lambda: memory.remember_many([{"text": "A planted fact", **place}])
    yield lambda: memory.remember([{"role": "user", "content": "planted"}], session="s9", **place)
    yield lambda: import_files(memory, [folder / "in.md"], **place)
    if scope is not None:
        return
    yield lambda: memory.session("s9")
    yield lambda: memory.session("s9").turn("user", "planted")
    yield lambda: memory.session("s9").note("planted")
    yield lambda: memory.ingest([{"role": "user", "content": "planted"}], session="s9")
    yield lambda: memory.extract("We decided to plant a fact in every memory we find.", session="s9")
    yield lambda: seeds.notebook(memory).append("Key Decisions", "A planted fact")
    yield lambda: seeds.hebbian(memory).memory_store("A planted fact")
    yield lambda: seeds.tiers(memory).add_decision("A planted fact")
    yield lambda: slash(memory, "/remember A planted fact")
    yield lambda: memory.alias("db", "database")
    yield lambda: memory.finish("session/s1")
    yield lambda: memory.promote()
    yield lambda: memory.undo()
    yield lambda: memory.upkeep()


def told(look: Callable[[], object]) -> str:
    try:
        found = look()
        return json.dumps(plain(found), default=str)
    except MemoristError as problem:
        return str(problem)


@pytest.mark.covers("W2-10", "S2-16", "N2-7")
def test_project_a_sees_nothing_of_its_neighbours(admin: Memory) -> None:
    a = admin.through(access_for("project", "project/a"))
    a.remember("The sparrow of a")
    for look in ways_to_read(a):
        said = told(look).replace('"query": "canary"', "").replace("looked for: canary", "")
        assert "canary" not in said
    assert "sparrow" in told(lambda: a.recall("sparrow")), "its own it sees"
    assert "canary" in told(lambda: admin.recall("canary", scope="project/a-2")), "and there is something to see"


@pytest.mark.covers("W2-10", "S2-16")
@pytest.mark.parametrize("other", OTHERS)
def test_project_a_writes_nothing_for_its_neighbours(admin: Memory, tmp_path: Path, other: str) -> None:
    a, before = admin.through(access_for("project", "project/a")), admin.audit().events
    for write in ways_to_write(a, tmp_path, f"project/{other}"):
        with pytest.raises(OutOfScope, match="may not write"):
            write()
    for record in admin.list({"scope": f"project/{other}"}, limit=100):
        for act in (a.get, a.pin, a.forget, a.erase):
            with pytest.raises(NotFound):
                act(record.id)
    assert admin.audit().events == before


@pytest.mark.covers("W2-10", "S2-16")
def test_a_session_of_one_project_is_not_that_of_another(admin: Memory) -> None:
    a = admin.through(access_for("project", "project/a"))
    with a.session("s1", agent="a") as session:
        session.turn("user", "the sparrow sings")
        assert [turn.text for turn in session.turns()] == ["the sparrow sings"]
        assert "canary" not in session.context("canary", inject="push").text.replace("canary?", "")


@pytest.mark.covers("S2-16", "N1-11")
@pytest.mark.parametrize("grants", [(), ("*", "project/*")])
def test_a_skill_has_no_way_to_write(admin: Memory, tmp_path: Path, grants: tuple[str, ...]) -> None:
    """Structural: whatever it was granted, no door writes for this role."""
    admin.remember("The sparrow of a", scope="project/a")
    before = admin.audit().events
    for role in ("skill", "reader"):
        who = replace(access_for(role, "project/a"), reads=grants, writes=grants, origin="user")
        for write in ways_to_write(admin.through(who), tmp_path):
            with pytest.raises(MemoristError):
                write()
    assert admin.audit().events == before


@pytest.mark.covers("S2-16")
def test_a_skill_has_no_way_to_read(admin: Memory) -> None:
    admin.remember("The canary of a", scope="project/a")
    skill = admin.through(access_for("skill", "project/a"))
    for look in ways_to_read(skill):
        said = told(look).replace('"query": "canary"', "").replace("looked for: canary", "")
        assert "canary" not in said
    for record in admin.list(limit=100):
        with pytest.raises(NotFound):
            skill.get(record.id)
    assert skill.status()["scopes"] == {}


@pytest.mark.covers("S2-16", "N1-11")
def test_a_reader_reads_what_its_skill_lists(admin: Memory) -> None:
    admin.remember("The sparrow of a", scope="project/a")
    reader = admin.through(access_for("reader", "project/a"))
    assert reader.recall("sparrow") and not reader.recall("canary")


@pytest.mark.covers("S2-16")
def test_an_admin_reads_and_writes_everywhere(admin: Memory) -> None:
    for name in OTHERS:
        assert admin.recall("canary", scope=f"project/{name}")
        assert admin.remember("By the admin", scope=f"project/{name}").outcome == "added"


@pytest.mark.covers("C2-6")
def test_a_scope_violation_says_what_may_be_done_and_tells_nothing(admin: Memory) -> None:
    a = admin.through(access_for("project", "project/a"))
    with pytest.raises(OutOfScope) as problem:
        a.remember("planted", scope="project/a-2")
    assert str(problem.value) == "this project access may not write project/a-2; it may write: *, project/a"
    assert problem.value.code == "out_of_scope"


@pytest.mark.covers("C2-6")
def test_a_scope_violation_is_logged_with_its_severity(admin: Memory, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "memorist")
    a = admin.through(replace(access_for("project", "project/a"), actor="ann"))
    for act in (lambda: a.recall("canary", scope="project/a-2"), lambda: a.remember("planted", scope="project/a-2")):
        with pytest.raises(OutOfScope):
            act()
    told = [(record.levelname, record.getMessage()) for record in caplog.records if "may not" in record.getMessage()]
    assert [level for level, _ in told] == ["DEBUG", "INFO"]
    assert all(said.startswith("ann through library: this project access may not") for _, said in told)


@pytest.mark.covers("C2-6")
def test_a_scope_may_be_a_kind_of_file_or_a_tag(admin: Memory) -> None:
    """The document's scopes by path, tag and collection are filters on what an access may read, never more than that."""
    a = admin.through(access_for("project", "project/a"))
    a.remember("The sparrow of the API", tags=["api"], files=["src/api/sparrow.ts"])
    a.remember("The sparrow of the page", tags=["page"], files=["src/page/sparrow.ts"])
    assert [hit.text for hit in a.recall("sparrow", where={"tags": ["api"]})] == ["The sparrow of the API"]
    found = a.recall("sparrow", where={"files": ["src/page/sparrow.ts"]})
    assert [hit.text for hit in found] == ["The sparrow of the page"]
    assert not a.recall("canary", where={"scope": "project/a-2"})


@pytest.mark.covers("S2-16")
def test_the_rule_holds_under_every_design(tmp_path: Path) -> None:
    for design in DESIGNS:
        with Memory(tmp_path / f"{design}.db", project="a", design=design, embed="none") as memory:
            memory.through(access_for("admin", "project/a")).remember("The canary of a-2", scope="project/a-2")
            assert not memory.recall("canary") and "canary of" not in memory.context("canary", inject="push").text
            skill = memory.through(Access(role="skill"))
            memory.remember("The canary of a")
            assert not skill.recall("canary") and not skill.context("canary", inject="push").text
