"""Nobody sees another's memory: projects, homes, users, spaces and roles are apart, through every verb and every door."""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from golden.conftest import rounds
from golden.driver import Error, Invalid, Lib, NotFound, OutOfScope, Shell, serving, speaking
from golden.outside_fixtures import lib_in, shell_in

CANARY = "qzcanary"
ALL = {"state": {"$in": ["active", "archived", "superseded", "erased"]}}
EVERYWHERE = ("*", "project/*")
LOOK_ALIKES = (
    ("a", "a-2"), ("a", "ab"), ("a", "a/b"), ("a/b", "a"), ("a", "A"), ("a_b", "axb"), ("a%", "ab"), ("_", "x"), ("a", "a "),
    ("café", "cafe"), ("i", "ı"), ("admin", "аdmin"), ("1", "１"), ("a", "a\\"), ('"', "'"), ("[a-z]", "b"), ("straße", "strasse"),
)  # fmt: skip


class House:
    """One store, opened by people with different rights."""

    def __init__(self, place: Path) -> None:
        self.place, self.opened = place, list[Lib]()
        self.admin = self.open("house").caller("user", role="admin", reads=EVERYWHERE, writes=EVERYWHERE)

    def open(self, project: str, **more: Any) -> Lib:
        self.opened.append(Lib(self.place, project=project, **more))
        return self.opened[-1]

    def space(self, name: str) -> Lib:
        return self.open("a", space=name).caller("user", role="admin", reads=EVERYWHERE, writes=EVERYWHERE)

    def worker(self, project: str, role: str = "project") -> Lib:
        grants = ("*", f"project/{project}")
        writes = grants if role == "project" else ()
        return self.open(project).caller(role=role, reads=() if role == "skill" else grants, writes=writes)

    def state(self) -> str:
        return repr([row.raw for row in self.admin.all({"tags": [CANARY], **ALL})])


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "memory.db")
    yield house
    for lib in house.opened:
        lib.memory.close()


def plant(admin: Lib, project: str) -> list[str]:
    """What a stranger keeps: memories with links, votes, a past and a forgotten one. All hold the canary."""
    scope = f"project/{project}"
    kept = [
        admin.keep(f"The {CANARY} {n} of {project} sings", scope=scope, tags=[CANARY], title=CANARY) for n in range(3)
    ]
    ids = [str(each.id) for each in kept]
    admin.change(ids[0], f"The {CANARY} 0 sings louder", because=f"the {CANARY} said so")
    admin.link(ids[0], ids[1], evidence=f"heard the {CANARY}")
    admin.vote(ids[1])
    admin.call("forget", ids[2], because=f"the {CANARY} flew away")
    return ids


def looks(lib: Lib, id: str, number: int, scope: str) -> dict[str, Callable[[], object]]:
    asked = f"which {CANARY} sings?"
    return {
        **{f"get {each!r}": lambda each=each: lib.get(each).raw for each in (id, number, id[:12], id[-12:], id.upper())},
        **{verb: lambda verb=verb: lib.call(verb, id) for verb in ("links", "history", "related", "similar", "timeline")},
        **{f"search {where}": lambda where=where: lib.find(asked, search=where, limit=100).texts
           for where in ("memory", "sessions", "sources", "archive", "all")},
        "recall there": lambda: lib.find(CANARY, scope=scope).texts,
        "recall where": lambda: lib.find(CANARY, where={"id": id}).texts,
        "explain": lambda: lib.look(CANARY, limit=100).texts,
        "context": lambda: lib.prompt(asked, budget=10_000).text,
        "list": lambda: [row.text for row in lib.all(ALL)],
        "list there": lambda: [row.text for row in lib.all({"scope": scope, **ALL})],
        "list but": lambda: [row.text for row in lib.all({"scope": {"$ne": "nobody"}, **ALL})],
        "list tags": lambda: [row.text for row in lib.all({"tags": [CANARY], **ALL}, order="text")],
        "timeline": lambda: lib.rows("timeline", limit=1000).texts,
        "status": lambda: lib.call("status"), "conflicts": lambda: lib.call("conflicts"), "gaps": lambda: lib.call("gaps"),
        "review": lambda: lib.call("review"), "log": lambda: lib.call("log", limit=1000),
    }  # fmt: skip


def changes(lib: Lib, id: str, own: str, scope: str) -> dict[str, Callable[[], object]]:
    return {
        "change": lambda: lib.change(id, "Silence"), "retitle": lambda: lib.change(id, title="Silence"),
        "move": lambda: lib.change(own, scope=scope), "pin": lambda: lib.call("pin", id), "unpin": lambda: lib.call("unpin", id),
        "tag": lambda: lib.call("tag", id, "silence"), "vote": lambda: lib.vote(id, "wrong"),
        "forget": lambda: lib.call("forget", id), "restore": lambda: lib.call("restore", id),
        "erase": lambda: lib.call("erase", id), "link": lambda: lib.link(own, id), "link back": lambda: lib.link(id, own),
        "keep": lambda: lib.keep("Silence", scope=scope), "promote": lambda: lib.call("promote", id),
        "keep many": lambda: lib.keep_many(["Fine", {"text": "Silence", "scope": scope}]),
        "resolve": lambda: lib.call("resolve", own, id, keep="a"),
    }  # fmt: skip


def answer(act: Callable[[], object]) -> str:
    """Everything an answer or an error says, but the question itself."""
    try:
        said = repr(act())
    except Error as problem:
        said = f"{problem} {problem.__cause__!r} {problem.__context__!r}"
    return said.replace(f"which {CANARY} sings?", "").replace(f"'{CANARY}'", "").replace(f"for: {CANARY}", "")


@pytest.mark.covers("W2-10", "S0-11", "Z6", "Z7")
@pytest.mark.parametrize(("mine", "theirs"), LOOK_ALIKES, ids=ascii)
def test_a_project_neither_sees_nor_changes_another(house: House, mine: str, theirs: str) -> None:
    try:
        strangers = plant(house.admin, theirs)
        me = house.worker(mine)
    except Invalid:
        return  # such a name cannot be had, so it cannot be taken for another
    own = me.keep("My own memory is about trains").id
    before = house.state()
    for stranger in strangers[:: 2 if mine != "a" else 1]:
        number = house.admin.get(stranger).number
        for name, look in looks(me, stranger, number, f"project/{theirs}").items():
            assert CANARY not in answer(look), name
        for name, change in changes(me, stranger, own, f"project/{theirs}").items():
            with pytest.raises((NotFound, OutOfScope)) as problem:
                change()
            assert CANARY not in str(problem.value), name
    assert [row.text for row in me.all()] == ["My own memory is about trains"]
    assert house.state() == before


@pytest.mark.covers("Z6")
def test_the_canaries_are_heard_where_they_may_be(house: House) -> None:
    """The tests here prove something only if the owner hears what the others must not."""
    [id, *_] = plant(house.admin, "a")
    owner = house.worker("a")
    heard = [CANARY in answer(look) for look in looks(owner, id, owner.get(id).number, "project/a").values()]
    assert sum(heard) > len(heard) / 2


@pytest.mark.covers("Z6")
def test_a_stranger_and_a_memory_that_never_was_sound_the_same(house: House) -> None:
    [stranger, *_], nobody, me = plant(house.admin, "b"), "m" + "0" * 26, house.worker("a")
    for verb in ("get", "links", "history", "pin", "forget", "restore"):
        said = [answer(lambda id=id, verb=verb: me.call(verb, id)).replace(id, "ID") for id in (stranger, nobody)]
        assert said[0] == said[1], verb


@pytest.mark.covers("Z6", "P2")
def test_names_keys_and_twins_of_others_get_in_nobodys_way(house: House) -> None:
    them, me = house.worker("b"), house.worker("a")
    theirs = them.keep("Both say that trains run on time", key="turn 1")
    mine = me.keep("Both say that trains run on time", key="turn 1")
    assert mine.outcome == "added" and theirs.id not in repr(mine)
    assert house.admin.get(theirs.id).strength == 0
    assert me.get(mine.id[:6]).id == mine.id, "a stranger's id makes no reference ambiguous"


@pytest.mark.covers("Z6")
def test_what_is_moved_away_is_gone_from_sight(house: House) -> None:
    me = house.worker("a")
    id = me.keep(f"The {CANARY} sings", tags=[CANARY]).id
    assert me.find(f"which {CANARY}?")
    house.admin.change(id, scope="project/b")
    for name, look in looks(me, id, 1, "project/b").items():
        if name not in ("log", "list tags"):  # what was done while it was here
            assert CANARY not in answer(look), name
    assert house.worker("b").find(f"which {CANARY}?")


@pytest.mark.covers("Z6")
def test_a_link_across_projects_is_seen_by_nobody_who_sees_one_end(house: House) -> None:
    a = house.admin.keep("An end in project a", scope="project/a").id
    b = house.admin.keep(f"The {CANARY} end", scope="project/b").id
    house.admin.link(a, b, evidence=f"the {CANARY} knows both")
    assert len(house.admin.call("links", a)) == 1
    assert house.worker("a").call("links", a) == [] == house.worker("b").call("links", b)


@pytest.mark.covers("S0-11", "Z6", "B16", "N1-11")
@pytest.mark.parametrize("role", ["skill", "reader"])
def test_a_role_that_only_reads_changes_nothing(house: House, role: str) -> None:
    own = plant(house.admin, "a")
    seen = house.worker("a", role)
    before = house.state()
    for name, change in changes(seen, own[0], own[1], "project/a").items():
        with pytest.raises((NotFound, OutOfScope)):
            change()
            pytest.fail(name)
    assert house.state() == before
    if role == "skill":
        assert seen.all() == [] and not any(
            CANARY in answer(look) for look in looks(seen, own[0], 1, "global").values()
        )
    else:
        assert seen.get(own[0]).id == own[0] and seen.find(f"which {CANARY}?")


@pytest.mark.covers("Z6", "S0-11")
@pytest.mark.parametrize("grant", ["*", "project/%", "project/_", "project", "*/a", "proj*", "project/a*", "%", ""])
def test_a_grant_is_a_scope_a_family_or_a_star_that_means_no_project(house: House, grant: str) -> None:
    [stranger, *_] = plant(house.admin, "a")
    try:
        me = house.open("a").caller(reads=(grant,), writes=(grant,))
    except Invalid:
        return
    assert me.all() == [] and me.find(f"which {CANARY}?") == []
    with pytest.raises(NotFound):
        me.get(stranger)


@pytest.mark.covers("Z6", "P2")
@pytest.mark.parametrize(
    ("mine", "theirs"), [("team", "team2"), ("team", "team b"), ("a", "A"), ("a", "a/b"), ("%", "x")]
)
def test_spaces_are_apart_even_for_an_admin(house: House, mine: str, theirs: str) -> None:
    here, there = (house.space(name) for name in (mine, theirs))
    strangers = plant(there, "a")
    own = here.keep("My own memory is about trains", key="k").id
    for id in strangers:
        for name, look in looks(here, id, there.get(id).number, "project/a").items():
            assert CANARY not in answer(look), name
        for change in changes(here, id, own, "project/a").values():
            assert CANARY not in answer(change)
    assert there.get(strangers[1]).text == f"The {CANARY} 1 of a sings"


@pytest.mark.covers("Z6", "Z7")
@pytest.mark.parametrize(
    "name",
    ["..", "../b", "a/../b", "a//b", "/a", "a/", "", " ", "a\x00", "a\n", "a\u200b", "a\u202e", "\ufeffa", "*", "a/*",
     "x" * 10_000, "cafe\u0301", "a\ud800", "\u3164"],
    ids=lambda name: ascii(name[:12]),
)  # fmt: skip
def test_names_that_could_be_taken_for_others_cannot_be_had(house: House, name: str) -> None:
    for scope in (f"project/{name}", f"user/{name}"):
        with pytest.raises((Invalid, OutOfScope)):
            house.admin.keep("Silence", scope=scope)


@pytest.mark.covers("Z6")
def test_users_are_apart_unless_they_are_named(house: House) -> None:
    me = house.worker("a")
    me.keep(f"Ann likes the {CANARY}", user="ann")
    me.keep("Bob likes trains", user="bob")
    assert [row.scope for row in me.find("who likes what?", user="bob")] == ["user/bob"]
    asked = f"who likes the {CANARY}?"
    assert not me.find(asked) and me.find(asked, user="ann") and not me.find(asked, user="an")
    assert CANARY not in me.prompt(asked).text


@pytest.mark.covers("A1", "Z6")
def test_tasks_sessions_and_agents_of_one_name_belong_to_their_project(house: House) -> None:
    a, b = house.worker("a"), house.worker("b")
    for scope in ("task/1", "session/main", "agent/night"):
        a.keep(f"The {CANARY} waits in {scope}", scope=scope)
        b.keep(f"A train waits in {scope}", scope=scope)
        assert CANARY not in str([row.text for row in b.all({"scope": scope, **ALL})])
        assert CANARY not in str(b.find(f"which {CANARY} waits?", scope=scope).texts)
    b.call("finish", "task/1")
    assert [row.state for row in a.all({"scope": "task/1", **ALL})] == ["active"]


@pytest.mark.covers("Z6")
def test_no_canary_crosses_whatever_is_called(tmp_path: Path) -> None:
    """A game: people of two projects call verbs at random, and know every id, number, receipt and batch of the others."""
    names = {"a": "qzalpha", "b": "qzbravo"}
    for seed in range(rounds(400, 0.03)):
        dice, house = random.Random(seed), House(tmp_path / f"{seed}.db")
        players = {name: house.worker(name) for name in names}
        known: list[Any] = ["m" + "0" * 26]

        def move(name: str, me: Lib, dice: random.Random = dice, known: list[Any] = known) -> object:
            word, id, other = names[name], dice.choice(known), dice.choice(known)
            scope = dice.choice((f"project/{name}", "task/1", "session/main", "project/a", "project/b"))
            acts: list[Callable[[], object]] = [
                lambda: me.keep(f"The {dice.randrange(9)} herons of {word}", scope=scope, tags=[word], title=word),
                lambda: me.change(id, f"A heron left {word}"), lambda: me.call("tag", id, word), lambda: me.link(id, other),
                lambda: me.find(f"herons {word} qzalpha qzbravo", search="all", limit=50).texts, lambda: me.call("history", id),
                lambda: me.prompt("qzalpha qzbravo herons").text, lambda: [row.text for row in me.all({"scope": scope, **ALL})],
                lambda: me.get(id), lambda: me.call("links", id), lambda: me.call("undo", dice.choice([None, id])),
                lambda: me.call("forget", where={"scope": scope}), lambda: me.call("log", limit=500), lambda: me.call("conflicts"),
                lambda: me.call("resolve", id, other, keep="a"), lambda: me.call("finish", "task/1"), lambda: me.call("upkeep"),
                lambda: me.call("review"), lambda: me.call("erase", id), lambda: me.rows("related", id).texts,
            ]  # fmt: skip
            done = dice.choice(acts)()
            known.extend(each for each in (getattr(done, "id", None), getattr(done, "batch", None)) if each)
            return done

        for _ in range(30):
            name = dice.choice("ab")
            try:
                said = repr(move(name, players[name]))
            except Error as problem:
                said = f"{problem} {problem.__context__!r}"
            other = names["b" if name == "a" else "a"]
            assert other not in said.replace("herons qzalpha qzbravo", "").replace(
                f"{names[name]} qzalpha qzbravo", ""
            ), seed
        for lib in house.opened:
            lib.memory.close()


# ---------------------------------------------------------------- through the doors


@pytest.fixture
def rooms(tmp_path: Path) -> Shell:
    """The program in project atlas, on a store where a stranger keeps the canary."""
    with lib_in(tmp_path, "secret") as lib:
        lib.keep(f"The {CANARY} is kept in the red cabinet", tags=[CANARY])
        lib.keep(f"Ann hides the {CANARY}", user="ann")
    return shell_in(tmp_path)


@pytest.mark.covers("Z6", "W2-10")
def test_a_shell_in_one_project_tells_nothing_of_another(rooms: Shell, tmp_path: Path) -> None:
    rooms("remember", "Our own memory is about trains")
    asked = f"where is the {CANARY}?"
    for words in (
        ("recall", asked),
        ("list",),
        ("get", 1),
        ("history", 1),
        ("timeline",),
        ("log",),
        ("context", asked),
    ):
        assert "red cabinet" not in rooms(*words).text, words
    rooms("export", tmp_path / "mine.jsonl")
    assert "red cabinet" not in (tmp_path / "mine.jsonl").read_text()
    assert rooms.hook("claude-code", "prompt", prompt=asked) == ""


@pytest.mark.covers("Z6", "W2-10")
def test_an_agent_is_served_its_projects_and_learns_nothing_of_others(rooms: Shell) -> None:
    asked = {"query": f"where is the {CANARY}?"}
    with speaking(rooms, projects=["atlas"]) as agent:
        for verb, given in (("recall", asked), ("context", asked), ("timeline", {}), ("get", {"id": 1})):
            said = {}
            for project in ("secret", "nobody"):  # one is there, the other is not
                done = agent(verb, **given, project=project)
                said[project] = (
                    done.error,
                    {k: v for k, v in (done.data or {}).items() if k not in ("receipt", "project")},
                )
                assert "cabinet" not in done.text
            assert said["secret"] == said["nobody"], verb
        for verb, given in (
            ("remember", {"text": "Ours"}),
            ("revise", {"id": 1, "text": "Ours"}),
            ("forget", {"id": 1}),
        ):
            assert agent(verb, **given, project="secret").error in ("out_of_scope", "not_found")
    with speaking(rooms, all_projects=True) as agent:
        found = agent("recall", **asked, project="secret")
        assert "red cabinet" in found.texts[0] and found.data["project"] == "secret"


@pytest.mark.covers("Z6", "Z12", "E13")
def test_a_key_sees_its_projects_its_users_and_its_space(rooms: Shell, tmp_path: Path) -> None:
    def key(name: str, **rights: Any) -> str:
        return str(rooms("add_key", name, **rights).data["key"])

    keys = {"atlas": key("atlas", projects=["atlas"]), "reader": key("reader", projects=["secret"], role="reader"),
            "skill": key("skill", role="skill"), "elsewhere": key("elsewhere", space="other"),
            "ann": key("ann", projects=["secret"], user="ann"), "admin": key("admin", role="admin")}  # fmt: skip
    with serving(rooms, require_key=True) as web:
        doors = {name: type(web)(web.port, key) for name, key in keys.items()}
        assert web("count").status == 401 and doors["admin"]("count", project="secret").data >= 1
        asked = {"query": f"who hides the {CANARY}?"}
        for name in ("atlas", "skill", "elsewhere"):
            for verb, given in (("recall", asked), ("list", {}), ("get", {"id": 1}), ("log", {}), ("export", {})):
                for project in ("", "secret"):
                    assert "cabinet" not in doors[name](verb, project=project, **given).text, (name, verb)
        assert doors["atlas"]("list", project="secret").error == "out_of_scope"
        assert "secret" not in doors["atlas"]("projects").text
        assert "red cabinet" in doors["reader"]("list", project="secret").text
        assert "Ann hides" not in doors["reader"]("recall", project="secret", user="ann", **asked).text
        assert "Ann hides" in doors["ann"]("recall", project="secret", user="ann", **asked).text
        for name in ("reader", "skill"):
            assert doors[name]("remember", text="x", project="secret").error == "out_of_scope"
        for name in ("atlas", "reader", "ann"):
            assert doors[name]("backup", path="x.db").error == "out_of_scope"
            assert str(tmp_path) not in doors[name]("status", project="secret").text
        kept = doors["atlas"]("remember", text="Atlas has a lion").data["record"]
        assert (kept["scope"], kept["origin"], kept["provenance"]["actor"]) == ("project/atlas", "agent", "atlas")


@pytest.mark.covers("Z6")
def test_two_files_of_one_name_are_two_stores(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with Lib(tmp_path / name / "memory.db") as lib:
            lib.keep(f"Only in {name}")
    with Lib(tmp_path / "one" / "memory.db") as lib:
        assert [row.text for row in lib.all()] == ["Only in one"]
        with suppress(Error):
            lib.get(2)
            pytest.fail("there is no second")
