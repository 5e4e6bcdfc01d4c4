"""Acceptance row 9 and promise Z6: a project never sees another one, through any verb, whatever the names look like.

Every memory of a stranger holds a canary. The owner's memory is asked in all the ways there are, with ids and numbers
the caller should not know; a canary in an answer, or in the words of an error, is a leak.
"""

import itertools
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorist import Memory
from memorist.access import Access, access_for
from memorist.errors import Invalid, MemoristError, NotFound, OutOfScope
from memorist.noun import plain
from memorist.store.open import restore

CANARY = "canary"
LOOK_ALIKES = (
    ("a", "a-2"), ("a", "ab"), ("a", "b"), ("a", "a/b"), ("a/b", "a"), ("a", "A"), ("a_b", "axb"), ("a%", "ab"),
    ("%", "anything"), ("_", "x"), ("a", "a "), ("café", "cafe"), ("i", "ı"), ("admin", "аdmin"), ("1", "１"), ("a", "a\\"),
    ("x'--", "x"), ('"', "'"), ("[a-z]", "b"), ("..a", "a"), ("straße", "strasse"), ("a.b", "a-b"), ("ß", "ss"), ("K", "\u212a"),
)  # fmt: skip


class House:
    """One store, opened by people with different rights."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: list[Memory] = []
        self.admin = self.opened_with(access_for("admin", "project/house"), "house")

    def opened_with(self, access: Access, project: str = "a") -> Memory:
        self._opened.append(Memory(self._path, project=project, access=access))
        return self._opened[-1]

    def worker(self, project: str, role: str = "project") -> Memory:
        return self.opened_with(access_for(role, f"project/{project}"), project)

    def close(self) -> None:
        for memory in self._opened:
            memory.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "memory.db")
    yield house
    house.close()


def plant(admin: Memory, project: str) -> list[str]:
    """What a stranger keeps: some memories with links, votes, a past and a forgotten one. All hold the canary."""
    scope = f"project/{project}"
    ids = [
        str(admin.remember(f"The {CANARY} {number} of {project} sings", scope=scope, tags=[CANARY], title=CANARY).id)
        for number in range(3)
    ]
    admin.revise(ids[0], f"The {CANARY} 0 sings louder", because=f"the {CANARY} said so")
    admin.link(ids[0], ids[1], evidence=f"heard the {CANARY}")
    admin.feedback(ids[1], "useful")
    admin.forget(ids[2], because=f"the {CANARY} flew away")
    return [record.id for record in admin.list({"scope": scope, "state": {"$ne": "erased"}}, limit=1000)]


def ways_to_look(memory: Memory, id: str, number: int, scope: str) -> Iterator[Callable[[], object]]:
    """Every verb that could show a memory."""
    everything = {"state": {"$in": ["active", "archived", "superseded", "erased"]}}
    for reference in (id, number, str(number), id[:12], id[-12:], id.upper(), f"[id:{number}]", f" {id} "):
        yield lambda reference=reference: memory.get(reference)
    yield lambda: memory.links(id)
    yield lambda: memory.history(id)
    yield lambda: memory.why_not(id, f"which {CANARY} sings?")
    yield lambda: memory.timeline(id)
    for search in ("memory", "sessions", "sources", "items", "archive", "all"):
        yield lambda search=search: memory.recall(f"which {CANARY} sings?", search=search, limit=100)
    yield lambda: memory.recall(CANARY, scope=scope)
    yield lambda: memory.recall(CANARY, where={"scope": scope})
    yield lambda: memory.recall(CANARY, where={"id": id})
    yield lambda: memory.explain(CANARY, limit=100)
    yield lambda: memory.context(f"which {CANARY} sings?", budget=10_000)
    yield lambda: memory.list(everything, limit=1000)
    yield lambda: memory.list({"scope": scope, **everything})
    yield lambda: memory.list({"scope": {"$ne": "nobody"}, **everything})
    yield lambda: memory.list({"id": {"$in": [id]}, **everything})
    yield lambda: memory.list({"number": number, **everything})
    yield lambda: memory.list({"tags": [CANARY], **everything}, order="text")
    yield lambda: memory.timeline(limit=1000)
    yield lambda: memory.status()


def ways_to_change(memory: Memory, id: str, own: str, scope: str) -> Iterator[Callable[[], object]]:
    """Every verb that could change a stranger's memory, or put one there."""
    yield lambda: memory.revise(id, "Silence")
    yield lambda: memory.revise(id, title="Silence")
    yield lambda: memory.revise(own, scope=scope)
    yield lambda: memory.pin(id)
    yield lambda: memory.unpin(id)
    yield lambda: memory.tag(id, "silence")
    yield lambda: memory.feedback(id, "wrong")
    yield lambda: memory.forget(id)
    yield lambda: memory.restore(id)
    yield lambda: memory.link(own, id)
    yield lambda: memory.link(id, own)
    yield lambda: memory.unlink(own, id)
    yield lambda: memory.remember("Silence", scope=scope)
    yield lambda: memory.remember_many(["Fine", {"text": "Silence", "scope": scope}])


def answer_of(look: Callable[[], object]) -> str:
    """Everything an answer or an error says."""
    try:
        return repr(plain(look()))
    except MemoristError as problem:
        return f"{problem} {problem.__cause__!r} {problem.__context__!r}"


def state_of(admin: Memory) -> list[object]:
    everything = {"state": {"$in": ["active", "archived", "superseded", "erased"]}}
    records = admin.list({"tags": [CANARY], **everything}, order="number", limit=1000)
    return [
        *records,
        *[admin.links(record.id) for record in records],
        *[admin.history(record.id) for record in records],
    ]


def said(answer: str, project: str) -> str:
    """The answer without what the caller itself had asked for."""
    return (
        answer.replace(f"which {CANARY} sings?", "")
        .replace(f"query='{CANARY}'", "")
        .replace(f"looked for: {CANARY}", "")
    )


# ---------------------------------------------------------------- projects


@pytest.mark.covers("W2-10", "S0-11", "Z6")
@pytest.mark.parametrize(("mine", "theirs"), LOOK_ALIKES, ids=lambda name: ascii(name))
def test_a_project_never_sees_another_one(house: House, mine: str, theirs: str) -> None:
    try:
        strangers = plant(house.admin, theirs)
    except Invalid:
        return  # such a name cannot be had, so it cannot be confused
    me = house.worker(mine)
    me.remember("My own memory is about trains")
    before = state_of(house.admin)
    for stranger in strangers:
        number = house.admin.get(stranger).number
        for look in ways_to_look(me, stranger, number, f"project/{theirs}"):
            assert leaked(said(answer_of(look), theirs)) == []
    assert me.recall("trains", limit=100).hits and me.count() == 1
    assert state_of(house.admin) == before


@pytest.mark.covers("Z6")
def test_the_canaries_are_heard_where_they_may_be(house: House) -> None:
    """The tests here prove something only if the owner hears what the others must not."""
    [id, *_] = plant(house.admin, "a")
    owner = house.worker("a")
    looks = list(ways_to_look(owner, id, owner.get(id).number, "project/a"))
    assert sum(bool(leaked(said(answer_of(look), "a"))) for look in looks) > len(looks) / 2


def leaked(answer: str) -> list[str]:
    """The canaries in an answer: texts, tags, titles, reasons, evidence."""
    words = answer.split("'")
    return [word for word in words if CANARY in word and word not in (CANARY, f"looked for: {CANARY}")]


@pytest.mark.covers("W2-10", "S0-11", "Z6")
@pytest.mark.parametrize(
    ("mine", "theirs"), [("a", "a-2"), ("a", "ab"), ("a", "b"), ("a", "a/b"), ("a/b", "a"), ("a", "A")]
)
def test_a_project_never_changes_another_one(house: House, mine: str, theirs: str) -> None:
    strangers = plant(house.admin, theirs)
    me = house.worker(mine)
    own = str(me.remember("My own memory is about trains").id)
    before = state_of(house.admin)
    for stranger in strangers:
        for change in ways_to_change(me, stranger, own, f"project/{theirs}"):
            with pytest.raises((NotFound, OutOfScope)) as problem:
                change()
            assert CANARY not in str(problem.value)
    assert state_of(house.admin) == before
    assert me.count() == 1 and me.get(own).scope == f"project/{mine}"


@pytest.mark.covers("Z6")
def test_a_stranger_and_a_memory_that_never_was_sound_the_same(house: House) -> None:
    """Whether an id exists elsewhere must not be told."""
    [stranger, *_] = plant(house.admin, "b")
    me = house.worker("a")
    nobody = "m" + "0" * 26
    for verb in (me.get, me.links, me.history, me.pin, me.forget, me.restore):
        assert answer_of(lambda verb=verb: verb(stranger)).replace(stranger, "ID") == answer_of(
            lambda verb=verb: verb(nobody)
        ).replace(nobody, "ID")


@pytest.mark.covers("Z6")
def test_a_stranger_does_not_make_a_reference_ambiguous(house: House) -> None:
    theirs = plant(house.admin, "b")
    me = house.worker("a")
    own = me.remember("My own memory is about trains")
    shared = own.id[:5]  # type: ignore[index]
    assert all(id.startswith(shared) for id in theirs)
    assert me.get(shared).id == own.id


@pytest.mark.covers("Z6", "P2")
def test_a_key_that_another_project_used_is_free_here(house: House) -> None:
    house.worker("b").remember(f"The {CANARY} sings", key="turn 1")
    me = house.worker("a")
    assert me.remember("My own memory is about trains", key="turn 1").outcome == "added"
    assert me.remember("My own memory is about trains", key="turn 1").outcome == "repeated"


@pytest.mark.covers("Z6")
def test_a_twin_in_another_project_is_not_reinforced_nor_told_of(house: House) -> None:
    [stranger, *_] = [house.worker("b").remember("Both say that trains run on time").id]
    outcome = house.worker("a").remember("Both say that trains run on time")
    assert outcome.outcome == "added" and str(stranger) not in repr(plain(outcome))
    assert house.admin.get(str(stranger)).counters.strength == 0


@pytest.mark.covers("Z6")
def test_what_an_admin_moves_away_is_gone_from_sight(house: House) -> None:
    me = house.worker("a")
    id = str(me.remember(f"The {CANARY} sings", tags=[CANARY]).id)
    assert me.recall(f"which {CANARY}?").hits
    house.admin.revise(id, scope="project/b")
    for look in ways_to_look(me, id, house.admin.get(id).number, "project/b"):
        assert leaked(said(answer_of(look), "b")) == []
    assert house.worker("b").recall(f"which {CANARY}?").hits


@pytest.mark.covers("Z6")
def test_a_link_across_projects_is_seen_by_nobody_who_sees_one_end(house: House) -> None:
    a = str(house.admin.remember("An end in project a", scope="project/a").id)
    b = str(house.admin.remember(f"The {CANARY} end", scope="project/b").id)
    house.admin.link(a, b, evidence=f"the {CANARY} knows both")
    assert len(house.admin.links(a)) == 1
    assert house.worker("a").links(a) == [] == house.worker("b").links(b)


# ---------------------------------------------------------------- roles


@pytest.mark.covers("S0-11", "Z6")
def test_a_skill_reads_and_writes_nothing(house: House) -> None:
    own = plant(house.admin, "a")
    shared = str(house.admin.remember(f"The {CANARY} is known to all", scope="global", tags=[CANARY]).id)
    skill = house.worker("a", role="skill")
    before = state_of(house.admin)
    for id in (*own, shared):
        for look in ways_to_look(skill, id, house.admin.get(id).number, "global"):
            assert leaked(said(answer_of(look), "a")) == []
        for scope in ("global", "project/a", "user/ann", "task/1"):
            for change in ways_to_change(skill, id, id, scope):
                with pytest.raises((NotFound, OutOfScope)):
                    change()
    assert skill.count() == 0 and skill.list() == [] and skill.timeline() == []
    assert state_of(house.admin) == before


@pytest.mark.covers("S0-11", "Z6")
def test_a_reader_reads_its_project_and_changes_nothing(house: House) -> None:
    own = plant(house.admin, "a")
    reader = house.worker("a", role="reader")
    before = state_of(house.admin)
    assert reader.get(own[0]).id == own[0] and reader.recall(f"which {CANARY}?").hits
    for change in ways_to_change(reader, own[0], own[1], "project/a"):
        with pytest.raises(OutOfScope):
            change()
    assert state_of(house.admin) == before


@pytest.mark.covers("Z6")
@pytest.mark.parametrize(
    "grant", ["project/%", "project/_", "project/", "project", "*/a", "proj*", "project/a*", "%", ""]
)
def test_a_grant_is_a_scope_a_family_or_a_star_and_nothing_like_it(house: House, grant: str) -> None:
    strangers = plant(house.admin, "a")
    try:
        eyes = Access(reads=(grant,), writes=(grant,))
    except Invalid:
        return
    me = house.opened_with(eyes)
    assert me.list() == [] and me.recall(f"which {CANARY}?").hits == ()
    with pytest.raises(NotFound):
        me.get(strangers[0])


@pytest.mark.covers("S0-11")
def test_the_star_does_not_stand_for_projects(house: House) -> None:
    strangers = plant(house.admin, "a")
    shared = str(house.admin.remember("Known to all", scope="global").id)
    me = house.opened_with(Access(reads=("*",), writes=("*",)))
    assert [record.id for record in me.list()] == [shared]
    with pytest.raises(NotFound):
        me.get(strangers[0])
    with pytest.raises(OutOfScope):
        me.remember("Silence", scope="project/a")


# ---------------------------------------------------------------- spaces


@pytest.mark.covers("Z6")
@pytest.mark.parametrize(
    ("mine", "theirs"), [("team", "team2"), ("team", "team b"), ("a", "A"), ("a", "a/b"), ("%", "x")]
)
def test_spaces_are_apart_even_for_an_admin(house: House, mine: str, theirs: str) -> None:
    admin = access_for("admin", "project/a")
    there = house.opened_with(replace(admin, space=theirs))
    here = house.opened_with(replace(admin, space=mine))
    strangers = plant(there, "a")
    own = str(here.remember("My own memory is about trains").id)
    before = state_of(there)
    for id in strangers:
        for look in ways_to_look(here, id, there.get(id).number, "project/a"):
            assert leaked(said(answer_of(look), "a")) == []
        for change in itertools.islice(ways_to_change(here, id, own, "project/a"), 12):
            if CANARY in answer_of(change):
                pytest.fail("a change answered with the canary")
    assert state_of(there) == before
    assert here.count() == 1


@pytest.mark.covers("Z6", "P2")
def test_a_key_belongs_to_its_space_however_the_names_are_cut(house: House) -> None:
    admin = access_for("admin", "project/a")
    one = house.opened_with(replace(admin, space="team"))
    other = house.opened_with(replace(admin, space="team b"))
    assert one.remember("Said in one space", key="b x").outcome == "added"
    assert other.remember("Said in the other", key="x").outcome == "added"


# ---------------------------------------------------------------- names


@pytest.mark.covers("Z6", "Z7")
@pytest.mark.parametrize(
    "name",
    ["..", ".", "../b", "a/../b", "a//b", "/a", "a/", "", " ", "a\x00", "a\n", "a\u200b", "a\u202e", "\ufeffa", "*", "a/*",
     "x" * 10_000, unicodedata.normalize("NFD", "café"), "a\ud800", "\u3164"],
    ids=lambda name: ascii(name[:12]),
)  # fmt: skip
def test_names_that_could_be_taken_for_others_cannot_be_had(house: House, name: str) -> None:
    for scope in (f"project/{name}", f"user/{name}"):
        with pytest.raises((Invalid, OutOfScope)):
            house.admin.remember("Silence", scope=scope)
    with pytest.raises((Invalid, OutOfScope)):
        house.admin.remember("Silence", user=name)


@pytest.mark.covers("S0-11", "Z6")
def test_two_files_of_one_name_are_two_stores(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with Memory(tmp_path / name / "memory.db", project="atlas") as memory:
            memory.remember(f"Only in {name}")
    with Memory(tmp_path / "one" / "memory.db", project="atlas") as memory:
        assert [record.text for record in memory.list()] == ["Only in one"]


@pytest.mark.covers("Z6")
def test_users_are_apart_unless_they_are_named(house: House) -> None:
    me = house.worker("a")
    me.remember(f"Ann likes the {CANARY}", user="ann")
    me.remember("Bob likes trains", user="bob")
    assert [hit.record.scope for hit in me.recall("who likes what?", user="bob")] == ["user/bob"]
    assert me.recall(f"who likes the {CANARY}?").hits == ()
    assert me.recall(f"who likes the {CANARY}?", user="ann").hits
    assert me.recall(f"who likes the {CANARY}?", user="an").hits == ()


@pytest.mark.covers("Z6")
def test_whoever_is_there_while_the_store_is_replaced_sees_no_stranger(tmp_path: Path) -> None:
    """A restored backup numbers its places anew; what an open memory knew of the old numbers must not show through."""
    path = tmp_path / "memory.db"
    with Memory(path, project="first") as first:
        first.remember("Said before the backup")
        first.backup(tmp_path / "backup.db")
    with Memory(path, project="mine") as mine:
        mine.remember("Said after the backup")
        restore(path, tmp_path / "backup.db", datetime.now(UTC))
        with Memory(path, project="theirs") as theirs:
            theirs.remember(f"The {CANARY} sings")
        assert mine.list() == [] and mine.recall(f"which {CANARY} sings?").hits == ()
        mine.remember("Said once more")
        assert [record.text for record in mine.list()] == ["Said once more"]
    with Memory(path, project="theirs") as theirs:
        assert [record.text for record in theirs.list()] == [f"The {CANARY} sings"]
        assert [finding for finding in theirs.doctor() if not finding.ok] == []


def test_a_part_of_the_journal_tells_what_the_whole_of_it_tells_there(house: House) -> None:
    """Where a memory lay at an event is known from those that came later: a part without them must not tell more."""
    there, here = (house.opened_with(access_for("project", f"project/{name}"), name) for name in "ba")
    for n in range(3):
        moved = there.remember(f"{CANARY} before it was moved {n}").id
        there.tag(moved, "strange")
        here.remember(f"Here all the time {n}")
    house.opened_with(replace(house.admin.access, origin="user")).merge_project("b", "a")
    here.tag(moved, "known")
    whole, last = here.log(limit=1000), house.admin.log()[-1].seq
    assert len(whole) < last and {"moved", "tagged"} <= {event.verb for event in whole}
    for after, before in itertools.combinations(range(last + 2), 2):
        part = here.log(after=after, before=before)
        assert part == [event for event in whole if after < event.seq < before], (after, before)
