"""Conflicts: what is one and what only looks like one, what becomes of the older memory, and how one is closed."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import TORTURE
from memorist import Memory
from memorist.access import Access
from memorist.design import Conflicts
from memorist.designs import BALANCED, own
from memorist.errors import Invalid, NotFound, Refused
from memorist.recall.stages.newest import NewestFirst
from memorist.recall.stages.weigh import MarkConflicts
from memorist.remember.conflicts import between, clash
from memorist.testing import MovableClock
from memorist.text.claims import LONGEST_CLAIM, claims
from unit.near_misses import conflicts as true_conflicts
from unit.near_misses import near_misses

EACH = 2000 if TORTURE else 60
NEAR = list(near_misses(EACH, 1))
TRUE = list(true_conflicts(EACH, 1))
TEXTS = sorted({text for pair in (*NEAR, *TRUE) for text in (pair.first, pair.second)})
START = datetime(2026, 3, 1, tzinfo=UTC)


def design(policy: Conflicts, newest: bool = False) -> object:
    stages = (*BALANCED.recall[:-1], *([NewestFirst()] if newest else []), BALANCED.recall[-1])
    return replace(BALANCED, conflicts=policy, recall=stages)


def opened(place: Path | str, policy: Conflicts = "flag", access: Access | None = None, newest: bool = False) -> Memory:
    return Memory(place, design=design(policy, newest), clock=MovableClock(START), access=access, embed="none")


@pytest.fixture
def memory(place: str) -> Iterator[Memory]:
    with opened(place) as memory:
        yield memory


@pytest.fixture
def replacing(place: str) -> Iterator[Memory]:
    with opened(place, "supersede") as memory:
        yield memory


def state(memory: Memory) -> list[object]:
    records = memory.list({"state": {"$in": ["active", "superseded"]}}, order="-number", limit=1000)
    plain = [replace(r, version=0, times=replace(r.times, updated=r.times.created)) for r in records]
    return [*plain, [memory.links(record.id) for record in records]]


# ---------------------------------------------------------------- the detector


@pytest.mark.covers("W3-6")
@pytest.mark.parametrize("family", sorted({pair.family for pair in NEAR}))
def test_what_only_looks_like_a_conflict_is_none(family: str) -> None:
    pairs = [pair for pair in NEAR if pair.family == family]
    found = [(pair, between(pair.first, pair.second) or between(pair.second, pair.first)) for pair in pairs]
    assert pairs
    assert [(pair, why) for pair, why in found if why] == []


@pytest.mark.covers("S3-24", "C3-6")
@pytest.mark.parametrize("family", sorted({pair.family for pair in TRUE}))
def test_nine_of_ten_conflicts_are_found(family: str) -> None:
    pairs = [pair for pair in TRUE if pair.family == family]
    missed = [pair for pair in pairs if between(pair.first, pair.second) is None]
    assert len(missed) <= 0.1 * len(pairs), missed[:5]


@pytest.mark.covers("S3-24", "C3-5", "C3-6")
@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("Use tabs", "Don't use tabs", "medium"),
        ("Always squash commits", "Never squash commits", "high"),
        ("Enable the cache", "Disable the cache", "medium"),
        ("Add curl to the image", "Remove curl from the image", "low"),
        ("We should merge on Fridays", "We shouldn't merge on Fridays", "medium"),
        ("You must sign releases", "You must not sign releases", "high"),
        ("Allow uploads for guests", "Disallow uploads for guests", "medium"),
        ("Prefer tabs", "Avoid tabs", "low"),
        ("Include the docs in the wheel", "Exclude the docs from the wheel", "low"),
    ],
)
def test_each_pair_of_opposites_has_its_severity(one: str, other: str, severity: str) -> None:
    for first, second in ((one, other), (other, one)):
        found = between(first, second)
        assert found is not None
        assert (found.kind, found.severity, found.clear) == ("contradictory", severity, False)


def test_a_case_of_a_rule_is_ambiguous() -> None:
    found = between("Don't use tabs", "Use tabs in Makefiles")
    assert found is not None
    assert (found.kind, found.clear) == ("ambiguous", False)


def test_a_correction_says_so_itself() -> None:
    found = between("We use Redis for sessions", "We no longer use Redis for sessions")
    assert found is not None
    assert found.clear


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
@settings(max_examples=5000 if TORTURE else 300, deadline=None)
def test_flags_do_not_depend_on_the_order_and_never_on_equal_texts(one: str, other: str) -> None:
    """Of the rules; that one takes the place of another depends on which is newer."""
    here, there = clash(claims(one), claims(other)), clash(claims(other), claims(one))
    assert (here is None) == (there is None)
    if here and there:
        assert (here.kind, here.severity) == (there.kind, there.severity) or "now" in f"{one} {other}".split()
    assert between(one, one) is None
    assert between(one, one.upper()) is None or one.upper() != one


@given(st.text(max_size=LONGEST_CLAIM + 50))
@settings(max_examples=20_000 if TORTURE else 500, deadline=None)
def test_any_text_can_be_looked_at(text: str) -> None:
    assert between(text, text) is None
    assert between(text, "Use tabs") is None or "tabs" in text.lower()


@pytest.mark.parametrize(
    "text", ["a " * 190 + "is", "the " * 90 + "of x is 1", "'" * 390, "is " * 130, "not " * 99, "x's " * 95]
)
def test_long_repetitions_take_no_time(text: str) -> None:
    from time import process_time

    begun = process_time()
    claims(text)
    assert process_time() - begun < 2  # a millisecond or so; what goes wild takes hours


# ---------------------------------------------------------------- what becomes of it


@pytest.mark.covers("X10", "S3-24")
def test_a_flag_links_both_and_says_so(memory: Memory) -> None:
    old = memory.remember("The port of billing is 8080")
    new = memory.remember("Billing listens on port 9090")
    assert f"memory {old.record.number}" in new.because
    assert "resolve" in (new.advice or "")
    [found] = memory.conflicts()
    assert (found.a.id, found.b.id) == (new.id, old.id)
    assert (found.kind, found.severity, found.reason) == ("superseded", "medium", "another value: 8080, and 9090")
    assert found.since == START
    assert memory.get(old.id).state == "active"
    assert len(memory.recall("port of billing")) == 2


@pytest.mark.covers("X10", "W4-2")
def test_a_newer_value_supersedes_the_older(replacing: Memory) -> None:
    old = replacing.remember("The port of billing is 8080")
    new = replacing.remember("Billing listens on port 9090")
    assert f"memory {old.record.number} is superseded" in new.because
    past = replacing.get(old.id)
    assert (past.state, past.times.valid_to, past.superseded_by) == ("superseded", START, None)
    assert [(k.a, k.b) for k in replacing.links(new.id) if k.kind == "supersedes"] == [(new.id, old.id)]
    assert [hit.record.id for hit in replacing.recall("port of billing")] == [new.id]
    assert replacing.conflicts() == []


def test_what_is_only_opposed_is_flagged_also_there(replacing: Memory) -> None:
    replacing.remember("Always squash commits")
    replacing.remember("Never squash commits")
    assert [found.severity for found in replacing.conflicts()] == ["high"]


def test_a_statement_that_says_it_corrects_supersedes(replacing: Memory) -> None:
    old = replacing.remember("We use Redis for sessions")
    replacing.remember("We no longer use Redis for sessions")
    assert replacing.get(old.id).state == "superseded"
    rule = replacing.remember("Prefer tabs")
    replacing.remember("Avoid tabs", kind="correction")
    assert replacing.get(rule.id).state == "superseded"


@pytest.mark.covers("X10")
def test_near_misses_retire_nothing(replacing: Memory) -> None:
    """Each pair in a project of its own: the rule must not retire what is true."""
    pairs = random.Random(3).sample(NEAR, 400 if TORTURE else 60)
    for number, pair in enumerate(pairs):
        replacing.remember_many([{"text": text, "scope": f"task/{number}"} for text in (pair.first, pair.second)])
    assert replacing.count({"state": "superseded"}) == 0
    assert replacing.conflicts() == []


def test_conflicts_inside_one_batch_are_found(replacing: Memory) -> None:
    texts = [f"Anna lives in {city}" for city in ("Rome", "Lima", "Oslo")]
    outcomes = replacing.remember_many([*texts, "Never squash commits", "Always squash commits"])
    assert [replacing.get(o.id).state for o in outcomes] == ["superseded", "superseded", "active", "active", "active"]
    assert len(replacing.conflicts()) == 1
    before = replacing.count({"state": "active"})
    replacing.undo()
    assert before == 3
    assert replacing.count({"state": {"$in": ["active", "superseded"]}}) == 0


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("user", "agent", {}),
        ("agent", "import", {}),
        ("agent", "file", {}),
        ("agent", "tool", {}),
        ("agent", "agent", {"at": START - timedelta(days=90)}),
    ],
)
@pytest.mark.covers("X10")
def test_only_who_is_trusted_no_less_and_speaks_later_retires(old: str, new: str, changes: dict[str, object]) -> None:
    with opened(":memory:", "supersede") as memory:
        writer = memory.through(replace(memory.access, origin=old))  # type: ignore[arg-type]
        first = writer.remember("Anna lives in Rome")
        other = memory.through(replace(memory.access, origin=new))  # type: ignore[arg-type]
        other.remember("Anna lives in Lima", **changes)  # type: ignore[arg-type]
        assert memory.get(first.id).state == "active"
        assert len(memory.conflicts()) == 1


def test_the_user_retires_what_an_agent_said_but_not_a_pin(replacing: Memory) -> None:
    user = replacing.through(replace(replacing.access, origin="user"))
    said = replacing.remember("Anna lives in Rome")
    user.remember("Anna lives in Lima")
    assert replacing.get(said.id).state == "superseded"
    pinned = user.remember("The port of billing is 8080", pinned=True)
    user.remember("The port of billing is 9090")
    assert replacing.get(pinned.id).state == "active"
    assert len(replacing.conflicts()) == 1


@pytest.mark.parametrize("kind", ["turn", "document", "narrative", "tool_output"])
def test_what_was_said_is_never_disputed(replacing: Memory, kind: str) -> None:
    for text in ("Anna lives in Rome", "Anna lives in Lima"):
        replacing.remember(text, kind=kind, role="user")
    assert replacing.conflicts() == []
    assert replacing.count({"state": "active"}) == 2


def test_two_people_may_both_say_i(replacing: Memory) -> None:
    for speaker, city in (("Anna", "Rome"), ("Bruno", "Lima")):
        replacing.remember(f"I live in {city}", speaker=speaker)
    assert replacing.count() == 2
    replacing.remember("I live in Oslo", speaker="Anna")
    assert sorted(r.text for r in replacing.list()) == ["I live in Lima", "I live in Oslo"]


def test_what_held_at_other_times_fits(replacing: Memory) -> None:
    replacing.remember("Anna lives in Rome", valid_to=START - timedelta(days=9))
    replacing.remember("Anna lives in Lima")
    assert replacing.conflicts() == []
    assert replacing.count() == 2


def test_scopes_do_not_contradict_each_other(replacing: Memory) -> None:
    replacing.remember("Anna lives in Rome", scope="task/1")
    replacing.remember("Anna lives in Lima", scope="task/2")
    assert replacing.conflicts() == []
    assert replacing.count({"state": "active"}) == 2


def test_a_revised_text_is_what_counts(memory: Memory) -> None:
    first = memory.remember("Anna lives in Rome")
    memory.revise(first.id, "Anna enjoys Rome")
    memory.remember("Anna lives in Lima")
    assert memory.conflicts() == []
    memory.revise(first.id, "The port of billing is 8080")
    memory.remember("The port of billing is 9090")
    assert len(memory.conflicts()) == 1


@pytest.mark.covers("X10")
def test_a_revision_and_a_return_from_the_archive_meet_what_is_there(replacing: Memory) -> None:
    """Nothing is retired by them; both are shown. A text that fits again ends the conflict, and undo opens it."""
    there = replacing.remember("Billing listens on port 8080")
    other = replacing.remember("The port of search is 9090")
    done = replacing.revise(other.id, "The port of billing is 9090")
    assert f"contradicts memory {there.record.number}" in done.because
    assert [(d.a.id, d.b.id) for d in replacing.conflicts()] == [(other.id, there.id)]
    fits = replacing.revise(there.id, "Billing runs on Linux")
    assert f"it no longer contradicts memory {other.record.number}" in fits.because
    assert replacing.conflicts() == []
    replacing.undo()
    assert len(replacing.conflicts()) == 1
    replacing.forget(there.id)
    assert replacing.conflicts() == []
    replacing.restore(there.id)
    assert len(replacing.conflicts()) == 1
    replacing.resolve(there.id, other.id, keep="both")
    replacing.forget(there.id)
    replacing.restore(there.id)
    assert replacing.conflicts() == []  # both hold, and nobody is asked twice
    assert replacing.count({"state": "active"}) == 2


def test_a_link_that_somebody_made_outlives_a_new_text(memory: Memory) -> None:
    a, b = memory.remember("Anna sings"), memory.remember("Bruno sings")
    memory.link(a.id, b.id, "contradicts", evidence="they cannot both be on stage")
    memory.revise(a.id, "Anna dances")
    assert len(memory.conflicts()) == 1


@pytest.mark.covers("W3-15")
def test_conflicts_die_with_their_records(memory: Memory) -> None:
    for end in (memory.forget, memory.erase):
        a, b = memory.remember("Always squash commits"), memory.remember("Never squash commits")
        assert len(memory.conflicts()) == 1
        end(b.id)
        assert memory.conflicts() == []
        memory.forget(a.id)


def test_a_conflict_is_seen_only_by_who_may_read_both(memory: Memory) -> None:
    a, b = memory.remember("Always squash commits", scope="task/1"), memory.remember("Anna sings", scope="task/2")
    memory.link(a.id, b.id, "contradicts", evidence="somebody said so")
    assert [(d.kind, d.severity, d.reason) for d in memory.conflicts()] == [
        ("contradictory", "high", "somebody said so")
    ]
    half = memory.through(replace(memory.access, reads=("task/1",)))
    assert half.conflicts() == []
    assert memory.conflicts({"scope": "task/1"}) == []


def test_erasing_one_side_leaves_no_word_of_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with opened(str(path), "supersede") as memory:
        old = memory.remember("The port of billing is quagga-7741")
        memory.remember("The port of billing is zebra-9931")
        memory.erase(old.id)
    assert b"quagga" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    with closing(sqlite3.connect(path)) as one:
        assert one.execute("SELECT count(*) FROM topics").fetchone() == (1,)


# ---------------------------------------------------------------- closing one


@pytest.mark.parametrize("keep", ["a", "b", "both"])
def test_resolve_closes_and_undo_opens_again(memory: Memory, keep: str) -> None:
    a, b = memory.remember("The port of billing is 8080"), memory.remember("The port of billing is 9090")
    before = state(memory)
    done = memory.resolve(a.id, b.id, keep, because="the config says so")
    assert memory.conflicts() == []
    states = {"a": ("active", "superseded"), "b": ("superseded", "active"), "both": ("active", "active")}[keep]
    assert (memory.get(a.id).state, memory.get(b.id).state) == states
    assert "the config says so" in done.because
    memory.undo(done.batch)
    assert state(memory) == before
    assert len(memory.conflicts()) == 1


def test_keep_takes_numbers_and_ids(memory: Memory) -> None:
    a, b = memory.remember("Always squash commits"), memory.remember("Never squash commits")
    assert memory.resolve(a.record.number, b.record.number, b.record.number).id == b.id
    assert memory.get(a.id).reason == "resolved on request"
    memory.resolve(a.id, b.id, a.id)
    assert [memory.get(each.id).state for each in (a, b)] == ["active", "superseded"]


def test_what_was_superseded_by_mistake_comes_back(replacing: Memory) -> None:
    old, new = replacing.remember("Anna lives in Rome"), replacing.remember("Anna lives in Lima")
    before = state(replacing)
    done = replacing.resolve(old.id, new.id, "both", because="she has two homes")
    assert [replacing.get(each.id).state for each in (old, new)] == ["active", "active"]
    assert [k.kind for k in replacing.links(old.id)] == ["relates_to"]
    replacing.undo(done.batch)
    assert state(replacing) == before


def test_what_cannot_be_resolved_says_why(memory: Memory) -> None:
    a, b = memory.remember("Always squash commits"), memory.remember("Anna sings")
    with pytest.raises(NotFound, match="no open conflict"):
        memory.resolve(a.id, b.id, "a")
    memory.link(a.id, b.id, "contradicts")
    with pytest.raises(Invalid, match="'a', 'b', 'both'"):
        memory.resolve(a.id, b.id, "c")
    with pytest.raises(Invalid, match="limit"):
        memory.conflicts(limit=0)
    turn = memory.remember("Anna lives in Rome", kind="turn")
    memory.link(a.id, turn.id, "contradicts")
    with pytest.raises(Refused, match="keep='both'"):
        memory.resolve(a.id, turn.id, "a")
    memory.forget(b.id)
    with pytest.raises(Refused, match="archived"):
        memory.resolve(a.id, b.id, "a")


@given(st.lists(st.sampled_from(TRUE), min_size=1, max_size=4), st.sampled_from(["a", "b", "both"]), st.booleans())
@settings(max_examples=400 if TORTURE else 25, deadline=None)
def test_resolving_and_undoing_restores_the_state(pairs: list[object], keep: str, many: bool) -> None:
    with opened(":memory:") as memory:
        texts = [text for pair in pairs for text in (pair.first, pair.second)]  # type: ignore[attr-defined]
        if many:
            memory.remember_many(texts)
        else:
            for text in texts:
                memory.remember(text)
        for found in memory.conflicts():
            before = state(memory)
            done = memory.resolve(found.a.id, found.b.id, keep)
            memory.undo(done.batch)
            assert state(memory) == before


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=8))
@settings(max_examples=400 if TORTURE else 25, deadline=None)
def test_undoing_every_write_restores_the_state_before_it(texts: list[str]) -> None:
    with opened(":memory:", "supersede") as memory:
        states, batches = [state(memory)], []
        for text in dict.fromkeys(texts):
            batches.append(memory.remember(text).batch)
            states.append(state(memory))
        for batch, before in zip(reversed(batches), reversed(states[:-1]), strict=True):
            memory.undo(batch)
            assert state(memory) == before


# ---------------------------------------------------------------- asking


@pytest.mark.covers("X10")
def test_ask_flags_and_queues_a_question(place: str) -> None:
    with opened(place, "ask") as memory:
        old, new = memory.remember("Anna lives in Rome"), memory.remember("Anna lives in Lima")
        assert new.pending is not None
        assert len(memory.conflicts()) == 1
        person = memory.through(replace(memory.access, origin="user"))
        person.review(new.pending, decide="approve")
        assert [memory.get(each.id).state for each in (old, new)] == ["superseded", "active"]
        assert memory.conflicts() == []


# ---------------------------------------------------------------- recall


@pytest.mark.covers("C3-2")
def test_a_hit_in_an_open_conflict_weighs_less_and_names_the_other(memory: Memory) -> None:
    stages = (*BALANCED.recall[:-1], MarkConflicts(), BALANCED.recall[-1])
    memory.design = replace(BALANCED, recall=stages)
    a, b = memory.remember("Always squash commits"), memory.remember("Never squash commits")
    plain = memory.remember("Commits are signed")
    hits = {hit.record.id: hit for hit in memory.recall("commits")}
    assert (hits[a.id].why["conflict"], hits[a.id].conflicts) == (0.85, (b.id,))
    assert (hits[b.id].why["conflict"], hits[b.id].conflicts) == (0.85, (a.id,))
    assert "conflict" not in hits[plain.id].why
    memory.resolve(a.id, b.id, "both")
    assert all("conflict" not in hit.why for hit in memory.recall("commits"))


def test_of_one_slot_the_newest_comes_first(place: str) -> None:
    with opened(place, newest=True) as memory:
        for place_in_time, text in enumerate(("Anna is famous for the Anna song", "Anna is famous for a tower")):
            memory.remember(text, at=START + timedelta(days=place_in_time))
        assert memory.recall("what is Anna famous for?")[0].record.text.endswith("tower")
        memory.remember("Bruno is famous for a bridge", at=START + timedelta(days=9))
        hits = memory.recall("what is Anna famous for?")
        assert hits[0].record.text.endswith("a tower")
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


# ---------------------------------------------------------------- saying it


def test_a_design_of_ones_own_says_what_becomes_of_conflicts(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('base = "hebbian"\nconflicts = "supersede"\n', encoding="utf-8")
    with Memory(tmp_path / "store.db", design=str(file)) as memory:
        old, _ = memory.remember("Anna lives in Rome"), memory.remember("Anna lives in Lima")
        assert memory.get(old.id).state == "superseded"
    assert 'conflicts = "supersede"' in own.text_of(own.load(file))
    file.write_text('base = "hebbian"\nconflicts = "win"\n', encoding="utf-8")
    with pytest.raises(Invalid, match="flag or supersede or ask"):
        own.load(file)


def test_what_was_stated_is_known_when_a_store_is_opened_again(place: str) -> None:
    if place == ":memory:":
        return
    with opened(place, "supersede") as memory:
        old = memory.remember("Anna lives in Rome")
    with opened(place, "supersede") as memory:
        memory.remember("Anna lives in Lima")
        assert memory.get(old.id).state == "superseded"
        assert all(finding.ok for finding in memory.doctor())
