"""Laws that hold whatever is done in whatever order: retries, undo, budgets, forgetting, isolation, numbers, erasing."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from golden.conftest import LAW, rounds
from golden.driver import LIVING, Clock, Conflict, Error, Lib, grants_of

WORDS = st.sampled_from("heron weir harbour crane lamp postgres staging gateway lantern kestrel tower orchid".split())
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
KINDS = st.sampled_from(["fact", "decision", "note", "warning", "preference", "convention"])
DRAFTS = st.fixed_dictionaries({"text": TEXTS, "kind": KINDS, "importance": st.floats(0, 1)})
FEW = settings(LAW, max_examples=rounds(1000, 0.015))


def many(most: int = 12) -> Any:
    return st.lists(DRAFTS, min_size=1, max_size=most)


@pytest.mark.covers("P2", "X18")
@LAW
@given(st.lists(st.tuples(st.sampled_from("abc"), TEXTS), max_size=12))
def test_a_key_stands_for_one_draft_for_ever(calls: list[tuple[str, str]]) -> None:
    with Lib(embed="none", clock=Clock()) as lib:
        known: dict[str, tuple[str, Any]] = {}
        for key, text in calls:
            try:
                done = lib.keep(text, key=key)
            except Conflict:
                assert known[key][0] != text
                continue
            assert known.setdefault(key, (text, done.id)) == (text, done.id)
        assert {row.id for row in lib.everything()} == {id for _, id in known.values()}


def act(lib: Lib, which: str, number: int, draft: dict[str, Any]) -> Any:
    if which == "keep":
        return lib.keep(**draft)
    if which == "change":
        return lib.change(number, draft["text"], importance=draft["importance"])
    if which == "vote":
        return lib.vote(number, "useful" if draft["importance"] > 0.5 else "wrong")
    if which == "link":
        return lib.link(number, 1)
    return lib.call(which, number)


ACTS = st.tuples(
    st.sampled_from(["keep", "keep", "change", "vote", "forget", "restore", "pin", "unpin", "link"]),
    st.integers(1, 6),
    DRAFTS,
)


def links(lib: Lib) -> list[str]:
    return sorted(
        str((each.a, each.b, each.kind, each.weight)) for row in lib.all() for each in lib.call("links", row.id)
    )


@pytest.mark.covers("X18", "S1-13", "S4-22", "P4")
@LAW
@given(many(5), st.lists(ACTS, min_size=1, max_size=8), st.sampled_from(["balanced", "associative", "hebbian"]))
def test_undoing_everything_newest_first_walks_back_through_every_state(first: Any, acts: Any, design: str) -> None:
    with Lib(embed="none", design=design, clock=Clock()) as lib:
        lib.keep_many(first)
        past = []
        for which, number, draft in acts:
            before = (lib.state(), links(lib))
            try:
                done = act(lib, which, number, draft)
            except Error:
                assert (lib.state(), links(lib)) == before, "what was refused changed nothing"
                continue
            if done.batch:
                past.append((done.batch, before))
        for batch, before in reversed(past):
            lib.call("undo", batch)
            assert (lib.state(), links(lib)) == before
        assert lib.call("audit").ok


@pytest.mark.covers("W0-6", "W3-3", "S0-18", "S3-17")
@LAW
@given(many(30), st.integers(0, 600), st.sampled_from(["xml", "markdown", "plain", "json"]), TEXTS, st.booleans())
def test_no_prompt_passes_its_budget(drafts: Any, budget: int, style: str, asked: str, pinned: bool) -> None:
    with Lib(embed="none", count_tokens=lambda text: len(text.split()) * 2) as lib:
        lib.keep_many({**draft, "pinned": pinned and n % 3 == 0} for n, draft in enumerate(drafts))
        made = lib.prompt(asked, budget=budget, style=style, inject="push")
        assert len(made.text.split()) * 2 == made.tokens <= budget
        assert all(lib.get(row.id).state == "active" for row in made.rows)


@pytest.mark.covers("W1-4", "S1-13", "X5")
@LAW
@given(many(), st.sets(st.integers(1, 12)), TEXTS)
def test_what_is_forgotten_is_in_no_answer_and_comes_back_whole(drafts: Any, which: set[int], asked: str) -> None:
    with Lib(embed="none", clock=Clock()) as lib:
        lib.keep_many(drafts)
        ids = sorted(row.number for row in lib.all())  # a newer value may have retired an older one
        before, gone = {row.number: row.text for row in lib.all()}, which & set(ids)
        for number in gone:
            lib.call("forget", number)
        assert not gone & set(lib.find(asked, limit=50, min_relevance=0).numbers)
        assert not gone & set(lib.prompt(asked, budget=5000, min_relevance=0).numbers)
        assert {row.number for row in lib.all()} == set(ids) - gone
        for number in gone:
            lib.call("restore", number)
        assert {row.number: row.text for row in lib.all()} == before


@pytest.mark.covers("Z6", "W2-10", "S0-11")
@LAW
@given(st.lists(st.tuples(st.sampled_from(["a", "a-2", "A", "a/b"]), TEXTS), max_size=12), TEXTS)
def test_no_answer_of_one_project_depends_on_another(kept: list[tuple[str, str]], asked: str) -> None:
    with Lib(project="a", embed="none", clock=Clock()) as both, Lib(project="a", embed="none", clock=Clock()) as alone:
        admin = grants_of(both, "admin", "a")
        for name, text in kept:
            admin.keep(text, scope=f"project/{name}")
            if name == "a":
                alone.keep(text)
        seen = grants_of(both, "project", "a").look(asked, limit=20)
        mine = alone.look(asked, limit=20)
        assert [(row.text, row.score) for row in seen] == [(row.text, row.score) for row in mine]


@pytest.mark.covers("W1-4", "X24")
@FEW
@given(st.lists(st.sampled_from(["keep", "forget", "erase", "undo", "compact"]), max_size=20))
def test_numbers_only_grow(acts: list[str]) -> None:
    with Lib(embed="none") as lib:
        last, made = 0, 0
        for act in acts:
            if act == "keep":
                made += 1
                done = lib.keep(f"Nest {made} lies in tree {made * 7}")
                assert done.number > last
                last = done.number
            else:
                try:
                    lib.call(act, *([last] if act in ("forget", "erase") else []))
                except Error:
                    continue
        assert lib.call("audit").ok


@pytest.mark.covers("G1", "G4")
@FEW
@given(many(8), st.sets(st.integers(1, 8)))
def test_an_erased_memory_has_no_text_left_and_all_others_are_as_they_were(drafts: Any, which: set[int]) -> None:
    with Lib(embed="none", clock=Clock()) as lib:
        numbers = {done.number for done in lib.keep_many(drafts) if done}
        texts = {row.number: row.text for row in lib.all()}
        for number in which & numbers:
            lib.call("erase", number, derived="list")
        for number in numbers:
            assert lib.get(number).text == ("" if number in which else texts[number])
        assert {row.number for row in lib.all(LIVING)} == numbers - which and lib.call("audit").ok


@pytest.mark.covers("P20", "W0-9")
@FEW
@given(many(10), TEXTS, st.floats(0, 1))
def test_every_form_of_a_store_answers_alike(tmp_path_factory: Any, drafts: Any, asked: str, least: float) -> None:
    folder, answers = tmp_path_factory.mktemp("alike"), []
    for place in (":memory:", folder / "m.db", folder / "m.json"):
        with Lib(place, embed="none", clock=Clock()) as lib:
            lib.keep_many(drafts)
            where = {"importance": {"$gte": least}}
            found = lib.look(asked, where=where, limit=20)
            answers.append(
                ([row.number for row in lib.all(where)], [(row.number, round(row.score, 9)) for row in found])
            )
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.covers("Z3", "Z5")
@LAW
@given(st.lists(st.tuples(st.sampled_from(["tool", "web", "file", "import", "agent"]), st.integers(0, 4)), max_size=20))
def test_nothing_from_outside_ever_gets_the_users_trust(acts: list[tuple[str, int]]) -> None:
    with Lib(embed="none", clock=Clock()) as lib:
        for origin, n in acts:
            door = lib.caller(origin)
            done = door.keep(f"The collector number {n} wants the key")
            if done.id:
                lib.vote(done.id)
                lib.caller("agent").call("pin", done.id)
        assert all(row.trust != "high" for row in lib.all())
        outside = [row for row in lib.all() if row.origin not in ("agent", "user")]
        assert all((row.status, row.trust) == ("candidate", "low") for row in outside)
