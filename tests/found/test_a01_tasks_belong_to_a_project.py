"""A1: tasks, sessions and agents belong to the project they were made in; in 0.1.0 `task/1` was one scope for all."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from memorist import Memory
from memorist.access import Access, access_for
from memorist.errors import Invalid, NotFound, OutOfScope, Refused
from memorist.files import transfer as files
from memorist.records import Draft, Origin
from memorist.seeds import tiers
from memorist.store.nouns import seal
from memorist.store.where import everywhere

pytestmark = pytest.mark.covers("A1")
SECRET = "the alpha canary sings"


@pytest.fixture(params=["memory.db", "memory.json"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


@pytest.fixture
def open_memory(path: Path) -> Iterator[Callable[..., Memory]]:
    opened: list[Memory] = []

    def open_one(project: str, role: str = "project", **more: object) -> Memory:
        access = replace(access_for(role, f"project/{project}"), origin="user")
        opened.append(Memory(path, project=project, access=access, embed="none", **more))  # type: ignore[arg-type]
        return opened[-1]

    yield open_one
    for memory in opened:
        memory.close()


def said(memory: Memory) -> list[str]:
    return sorted(record.text for record in memory.list())


def test_the_task_of_one_project_is_not_that_of_another(open_memory: Callable[..., Memory]) -> None:
    alpha, beta = open_memory("alpha", design="tiers"), open_memory("beta", design="tiers")
    tiers(alpha).task("1").add_reasoning(SECRET, "s")
    [mine] = alpha.list()
    assert (mine.scope, mine.home) == ("task/1", "project/alpha")
    assert beta.list() == [] and beta.count({"scope": "task/1"}) == 0
    assert "canary" not in str(tiers(beta).build_context("1", "what does the canary do?"))
    assert "canary" in str(tiers(alpha).build_context("1", "what does the canary do?"))
    assert "canary" not in "".join(files.export(beta)) and "canary" in "".join(files.export(alpha))
    for verb in (beta.promote, beta.forget, beta.get, beta.history, beta.pin):
        with pytest.raises(NotFound):
            verb(mine.id)
    tiers(beta).cleanup_task("1")
    assert said(alpha) == [SECRET]


def test_two_projects_say_the_same_in_the_same_task_and_neither_is_the_others_twin(
    open_memory: Callable[..., Memory],
) -> None:
    alpha, beta = open_memory("alpha"), open_memory("beta")
    outcomes = [memory.remember("Port 80 is open", scope="task/1", key="k").outcome for memory in (alpha, beta, alpha)]
    assert outcomes == ["added", "added", "repeated"]
    assert beta.remember("Port 80 is open", scope="task/1").outcome == "reinforced"
    assert alpha.list()[0].counters.strength == 0
    beta.finish("task/1")
    assert said(alpha) == ["Port 80 is open"] and said(beta) == []


def test_what_contradicts_in_another_project_is_no_conflict(open_memory: Callable[..., Memory]) -> None:
    alpha, beta = open_memory("alpha"), open_memory("beta")
    alpha.remember("Billing listens on port 8080", scope="session/main")
    assert "8080" not in beta.remember("Billing listens on port 9090", scope="session/main").because
    assert beta.conflicts() == [] == alpha.conflicts() and len(said(alpha)) == 1
    assert "8080" in alpha.remember("Billing listens on port 9090", scope="session/main").because


def test_a_session_is_recalled_in_its_own_project_only(open_memory: Callable[..., Memory]) -> None:
    alpha, beta = open_memory("alpha"), open_memory("beta")
    made = alpha.remember(SECRET, scope="session/main", session="main").record
    alpha.remember("the canary of the first turn", kind="turn", scope="session/main", session="main", role="user")
    assert made is not None
    asked = [
        answer
        for ask in (beta.recall, beta.context)
        for answer in (ask("the canary?", session="main", scope="session/main"), ask("the canary?", session="main"))
    ]
    asked += [beta.context("the canary?", session="main", profile="assistant")]
    asked += [beta.recall("the canary?", session="main", search="sessions")]
    assert not any("sings" in str(answer) or "first turn" in str(answer) for answer in asked)
    assert "first turn" in str(alpha.context("the canary?", session="main", profile="assistant"))
    with pytest.raises(NotFound):
        beta.get(made.number)
    assert [hit.record.id for hit in alpha.recall("what does the canary do?", session="main")] == [made.id]


def test_an_admin_sees_all_homes_and_means_its_own(open_memory: Callable[..., Memory]) -> None:
    alpha, beta, admin = open_memory("alpha"), open_memory("beta"), open_memory("alpha", "admin")
    alpha.remember("the heron of alpha", scope="task/1")
    beta.remember("the heron of beta", scope="task/1")
    assert {(r.home, r.text) for r in admin.list({"scope": "task/1"})} == {
        ("project/alpha", "the heron of alpha"), ("project/beta", "the heron of beta")
    }  # fmt: skip
    assert [r.text for r in admin.list({"home": "project/beta"})] == ["the heron of beta"]
    assert [hit.record.text for hit in admin.recall("heron", scope="task/1")] == ["the heron of alpha"]
    assert "beta" not in str(admin.context("heron", scope="task/1"))
    admin.finish("task/1")
    assert said(alpha) == [] and said(beta) == ["the heron of beta"]


def test_an_agent_may_be_at_home_everywhere(open_memory: Callable[..., Memory]) -> None:
    alpha, beta = open_memory("alpha"), open_memory("beta")
    alpha.remember("the night agent runs at two", scope="agent/night", home="global")
    alpha.remember("the night agent hates alpha", scope="agent/night")
    assert said(beta) == ["the night agent runs at two"]
    assert len(beta.recall("night agent", scope="agent/night")) == 1
    assert len(alpha.recall("night agent", scope="agent/night")) == 2
    for scope, home in (("task/1", "global"), ("project/alpha", "project/alpha"), ("agent/x", "user/ann")):
        with pytest.raises(Invalid, match=r"home|belong"):
            alpha.remember("x", scope=scope, home=home)
    with pytest.raises(OutOfScope):
        alpha.remember("x", scope="task/1", home="project/beta")


def test_moving_and_undoing_keeps_the_home(open_memory: Callable[..., Memory]) -> None:
    alpha, beta = open_memory("alpha"), open_memory("beta")
    id = alpha.remember("the heron nests at the weir", scope="task/1").id
    assert id is not None
    alpha.promote(id)
    assert (alpha.get(id).scope, alpha.get(id).home) == ("project/alpha", None)
    assert (alpha.history(id)[-1].before or {})["home"] == "project/alpha"
    alpha.undo()
    assert (alpha.get(id).scope, alpha.get(id).home) == ("task/1", "project/alpha")
    alpha.revise(id, scope="session/s")
    assert alpha.get(id).home == "project/alpha" and said(beta) == []
    alpha.revise(id, "the heron nests in the reeds")
    alpha.erase(id)
    assert alpha.audit().ok and all(finding.ok for finding in alpha.doctor())


def test_the_home_is_under_the_seal(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="alpha", embed="none") as memory:
        record = memory.remember(SECRET, scope="task/1").record
    assert record is not None
    key = b"k" * 16
    checksums = {seal(replace(record, home=home), key).checksum for home in (None, "project/alpha", "project/beta")}
    assert len(checksums) == 3
    apsw.Connection(str(path)).execute(
        "UPDATE shelves SET scope = replace(scope, 'alpha', 'beta') WHERE scope LIKE '%task%'"
    )
    with Memory(path, project="alpha", embed="none") as memory:
        assert not memory.audit().ok


def test_an_export_brings_its_homes_along_and_another_project_takes_none(
    open_memory: Callable[..., Memory], tmp_path: Path
) -> None:
    alpha = open_memory("alpha")
    alpha.remember(SECRET, scope="task/1")
    file = tmp_path / "export.jsonl"
    file.write_text("".join(files.export(alpha)))
    for project, outcomes in (("beta", {"refused": 1}), ("alpha", {"added": 1})):
        with Memory(tmp_path / f"{project}.db", project=project, embed="none") as other:
            assert files.import_files(other, [file]).outcomes == outcomes
            assert [record.home for record in other.list()] == ["project/alpha"] * (project == "alpha")


def test_a_grant_for_the_scope_alone_is_not_enough() -> None:
    here = Access(reads=("*", "project/beta"), home="project/alpha")
    assert not here.may_read("task/1", "project/alpha") and here.may_read("task/1", "project/beta")
    assert not Access(reads=("*",)).may_read("task/1", "project/alpha")
    assert Access(reads=("task/1",), home="project/alpha").may_read("task/1", "project/alpha")
    assert not Access(reads=("project/alpha",), home="project/alpha").may_read("task/1", "project/alpha")
    assert not access_for("project", "project/alpha").may_read("task/1")
    assert access_for("admin", "project/alpha").may_read("task/1")


def test_what_was_found_in_one_project_never_becomes_a_memory_of_another(open_memory: Callable[..., Memory]) -> None:
    alpha, beta = open_memory("alpha", design="curated"), open_memory("beta", design="curated")
    tool = beta.through(replace(beta.access, origin="agent"))
    marks = {"rule": "decision", "home": "project/alpha", "asked_for": True}
    for text in (
        "We decided to use the heron for billing in all cases",
        "Remember that the weir is open at night, always",
    ):
        draft = Draft(
            text, scope="session/main", session="main", role="user", data=marks, doubtful=True, importance=0.9
        )
        assert tool.remember_many([draft])[0].outcome == "added"
    beta.upkeep()
    assert alpha.promote(dry_run=True) == [] and said(alpha) == []
    through_alpha = alpha.through(beta.access)
    with pytest.raises(OutOfScope):
        through_alpha.extract("We decided to use Postgres. Remember that the port is 80", session="main", role="user")


# ---------------------------------------------------------------- stores of 0.1.0


def without_homes(
    path: Path, memories: list[tuple[str, str, dict[str, object]]], origin: Origin = "agent"
) -> list[str]:
    """A store as 0.1.0 left it: these memories, each in its scope, written from its project, without a home."""
    who = replace(access_for("admin", "project/alpha"), origin=origin)
    with Memory(path, project="alpha", access=who, embed="none") as memory:
        ids = [str(memory.remember(text, scope=scope, **more).id) for scope, text, more in memories]  # type: ignore[arg-type]
        _take_homes(memory, ids)
    return ids


def _take_homes(memory: Memory, ids: list[str]) -> None:
    from memorist.remember.changes import Caller
    from memorist.remember.edit import Sweep
    from memorist.store.nouns import Commit

    by, store = Caller(memory.access, memory._writer, memory._tools), memory._tools.store
    Sweep("taken", lambda record: replace(record, home=None), "as in 0.1.0", everywhere("default"), by).apply(ids)
    with store.transaction():
        store.write(Commit(settings={"homes": ""}))
    assert all(record.home is None for record in memory.list()) and not memory._writer.homes_are_told("default")


def homes(path: Path) -> dict[str, str | None]:
    with Memory(path, project="alpha", access=access_for("admin", "project/alpha"), embed="none") as memory:
        assert memory.audit().ok
        return {record.text: record.home for record in memory.list() if record.scope.startswith(("task", "session"))}


def test_in_a_store_of_one_project_everything_is_its_own(path: Path) -> None:
    without_homes(path, [("project/atlas", "one", {}), ("task/1", "two", {}), ("session/main", "three", {})])
    assert homes(path) == {"two": "project/atlas", "three": "project/atlas"}
    with Memory(path, project="atlas", embed="none") as memory:
        assert said(memory) == ["one", "three", "two"] and memory.doctor()[-1].ok
        task = memory.list({"scope": "task/1"})[0]
        event = memory.history(task.id)[-1]
        assert (event.verb, event.surface, event.before) == ("assigned", "upgrade", {"home": None})


def test_whoever_said_it_an_agent_that_opens_the_store_gives_it_its_home(path: Path) -> None:
    talk = [("session/main", f"turn {n} of the user", {"kind": "turn"}) for n in range(30)]
    without_homes(path, [("project/atlas", "one", {}), *talk, ("task/1", "two", {})], origin="user")  # type: ignore[list-item]
    with Memory(path, project="atlas", embed="none") as memory:
        assert len(memory.list(limit=100)) == 32 and {r.origin for r in memory.list(limit=100)} == {"user"}


def test_what_tells_the_project_of_a_task_is_believed(path: Path) -> None:
    ids = without_homes(
        path,
        [
            ("project/alpha", "in alpha", {}),
            ("project/beta", "in beta", {"session": "s1"}),
            ("session/s1", "shares a session with beta", {}),
            ("task/1", "made in that session too", {"session": "s1"}),
            ("session/s2", "a finding", {"data": {"home": "project/alpha", "rule": "x"}}),
            ("session/s2", "beside a finding", {}),
            ("session/main", "found in alpha", {"data": {"home": "project/alpha", "rule": "x"}}),
            ("session/main", "found in beta", {"data": {"home": "project/beta", "rule": "x"}}),
            ("session/main", "nobody knows", {}),
            ("task/2", "nobody knows either", {}),
        ],
    )
    assert ids and homes(path) == {
        "shares a session with beta": "project/beta",
        "made in that session too": "project/beta",
        "a finding": "project/alpha",
        "beside a finding": "project/alpha",
        "found in alpha": "project/alpha",
        "found in beta": "project/beta",
        "nobody knows": None,
        "nobody knows either": None,
    }


def test_links_and_promotions_tell_too(path: Path) -> None:
    with Memory(path, project="alpha", access=access_for("admin", "project/alpha"), embed="none") as memory:
        ids = [
            str(memory.remember(text, scope=scope).id)
            for scope, text in (
                ("project/alpha", "in alpha"), ("project/beta", "in beta"), ("task/1", "linked"), ("task/2", "left behind"),
                ("task/2", "promoted"),
            )
        ]  # fmt: skip
        memory.link(ids[2], ids[1])
        memory.promote(ids[4])
        _take_homes(memory, ids)
    assert homes(path) == {"linked": "project/beta", "left behind": "project/alpha"}


def test_what_cannot_be_told_is_listed_and_a_person_assigns_it(path: Path) -> None:
    ids = without_homes(path, [("project/alpha", "a", {}), ("project/beta", "b", {}), ("task/1", "whose?", {})])
    with Memory(path, project="alpha", embed="none") as memory:
        assert said(memory) == ["a"]
        with pytest.raises(NotFound):
            memory.get(ids[2])
        with pytest.raises(OutOfScope):
            memory.assign("task/1", "project/alpha")
        [told] = [finding for finding in memory.doctor() if finding.check == "homes"]
        assert not told.ok and "1 task" in told.detail and "task/1" not in told.detail
        admin = memory.through(access_for("admin", "project/alpha"))
        assert "task/1" in next(finding.detail for finding in admin.doctor() if finding.check == "homes")
        for scope, project in (("user/ann", "project/alpha"), ("task/1", "global")):
            with pytest.raises(Invalid):
                admin.assign(scope, project)
        with pytest.raises(Refused, match="only a person"):
            admin.assign("task/1", "project/alpha")
        admin = memory.through(replace(admin.access, origin="user"))
        report = admin.assign("task/1", "project/alpha")
        assert [each.id for each in report.changed] == [ids[2]] and said(memory) == ["a", "whose?"]
        with pytest.raises(NotFound):
            admin.assign("task/1", "project/beta")
        admin.undo(report.batch)
        assert said(memory) == ["a"]
        assert memory.audit().ok
