"""What hangs together: links, tags and names as ways from memory to memory, and the cascade of a query."""

import itertools
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memorist import Memory
from memorist.access import Access, access_for
from memorist.design import Design
from memorist.designs import HEBBIAN
from memorist.errors import Invalid, NotFound
from memorist.recall.stages.cascade import Cascade
from memorist.recall.stages.keep import Believed
from memorist.recall.walk import FAIR, shared_out
from memorist.records import Hit
from memorist.testing import MovableClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def cascading(base: Design, stage: Cascade | None = None) -> Design:
    """The design with a cascade right behind what is believed."""
    place = next(n for n, each in enumerate(base.recall) if isinstance(each, Believed)) + 1
    recall = (*base.recall[:place], stage or Cascade(), *base.recall[place:])
    return replace(base, name="cascading", recall=recall, associates=True)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(START)


@pytest.fixture
def here(clock: MovableClock) -> Memory:
    return Memory(":memory:", clock=clock, embed="none", design=cascading(HEBBIAN))


def numbers(hits: list[Hit]) -> list[int]:
    return [hit.number for hit in hits]


def told(memory: Memory, *texts: str, **more: object) -> list[int]:
    return [int(memory.remember(text, **more).number or 0) for text in texts]  # type: ignore[call-overload]


@pytest.mark.covers("C4-8", "S4-3", "N4-6")
def test_related_follows_links_and_names_the_way(here: Memory) -> None:
    a, b, c, d = told(here, "The gate is green", "Paint is in the shed", "The shed key hangs inside", "Far away")
    here.link(a, b, weight=0.5, evidence="the painter said so")
    here.link(c, b, "derived_from")
    here.link(c, d, weight=1.0)
    near = here.related(a, depth=1)
    assert numbers(near) == [b] and near[0].why == {f"relates_to [id:{b}]": pytest.approx(0.35)}
    both = here.related(a)
    assert numbers(both) == [b, c]  # and not d, which is three steps away
    assert list(both[1].why) == [f"relates_to [id:{b}]", f"derived_from [id:{c}]"]
    assert both[1].score == pytest.approx(math.prod(both[1].why.values())) == pytest.approx(0.35 * 0.3 * 0.7)
    assert numbers(here.related(a, depth=3)) == [b, c, d] and numbers(here.related(a, limit=1)) == [b]
    for wrong in (0, 5, 1.5, True):
        with pytest.raises(Invalid, match="depth"):
            here.related(a, depth=wrong)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        here.related("m0000")


@pytest.mark.covers("S4-2", "S4-3")
def test_a_rare_tag_a_file_and_a_name_connect_by_themselves(here: Memory) -> None:
    [a] = told(here, "We pay by card there", tags=["kestrel-cafe"])
    [b] = told(here, "They close at noon", tags=["kestrel-cafe"])
    [c] = told(here, "The invoice goes to Marlowe", files=["Makefile"])
    [d] = told(here, "Ask Marlowe about the roof")
    [e] = told(here, "Totals are rounded down", files=["Makefile"])
    told(here, "Nothing else here says anything")
    assert here.related(a)[0].why == {f"tag kestrel-cafe [id:{b}]": pytest.approx(0.8 * 0.8 * 0.49)}
    assert here.related(a, depth=1) == []  # there and back are two steps
    assert {next(iter(hit.why)) for hit in here.related(c)} == {f"name Marlowe [id:{d}]", f"file Makefile [id:{e}]"}


@pytest.mark.covers("W4-7", "N4-9")
def test_a_popular_tag_leads_nowhere_and_a_common_one_to_each_a_little(here: Memory) -> None:
    [a] = told(here, "Alpha is first", tags=["common", "rare"])
    [b] = told(here, "Beta is second", tags=["rare"])
    told(here, *(f"Entry {n:02} of the list" for n in range(FAIR * 3)), tags=["common"])
    near = {hit.number: hit.score for hit in here.related(a, limit=100)}
    assert near[b] == pytest.approx(0.64 * 0.49)
    others = [score for number, score in near.items() if number != b]
    assert others and max(others) == pytest.approx(0.64 * 0.49 * shared_out(FAIR * 3)) and max(others) < 0.6 * near[b]
    told(here, *(f"Entry {n} of the list" for n in range(100, 140)), tags=["common"])
    assert numbers(here.related(a, limit=100)) == [b]


@pytest.mark.covers("W4-7", "S4-7")
def test_supersession_is_followed_from_old_to_new_only(here: Memory) -> None:
    versions = told(here, *(f"The tower is {colour}" for colour in ("red", "blue", "grey", "white", "green")))
    for old, new in itertools.pairwise(versions):
        here.link(new, old, "supersedes")
    newest = versions[-1]
    assert [here.get(each).state for each in versions] == ["superseded"] * 4 + ["active"]
    assert here.related(newest) == []
    assert numbers(here.related(versions[0], depth=4)) == [newest]  # through those that were replaced in turn
    assert list(here.related(versions[0], depth=4)[0].why.values()) == [pytest.approx(0.63)] * 4
    here.forget(newest)
    assert here.related(versions[0], depth=4) == []


@pytest.mark.covers("C4-8", "S4-3")
def test_a_path_is_the_chain_of_what_connects_two(here: Memory) -> None:
    a, b, c = told(here, "One is here", "Two is there", "Three is elsewhere")
    [d] = told(here, "Four knows Marlowe")
    [e] = told(here, "Ask Marlowe about five")
    here.link(a, b)
    here.link(c, b, "supersedes")
    here.link(d, c, weight=0.4)
    found = here.path(a, e)
    assert numbers(found) == [] == here.path(e, a)  # b was replaced, and nothing leads to it
    here.link(a, c, "derived_from")
    found = here.path(a, e)
    assert numbers(found) == [a, c, d, e] and found[0].why == {}
    assert [next(iter(hit.why)) for hit in found[1:]] == ["derived_from", "relates_to", "name Marlowe"]
    assert numbers(here.path(e, a)) == [e, d, c, a]
    assert numbers(here.path(b, c)) == [b, c] and numbers(here.path(c, b)) == [c, b]
    assert numbers(here.path(a, a)) == [a]


@pytest.mark.covers("S4-25")
def test_similar_works_without_vectors_and_says_nothing_where_nothing_is_alike(here: Memory) -> None:
    a, b, _ = told(here, "Staging runs Postgres on port 5433", "Postgres listens on port 5433", "Plums ripen in August")
    [lonely] = told(here, "Zebras cross elsewhere")
    assert numbers(here.similar(a)) == [b] and here.similar(lonely) == []


@pytest.mark.covers("S4-7", "N4-9", "W4-7")
def test_a_question_brings_what_its_best_hit_is_linked_with(here: Memory) -> None:
    a, b, c, d = told(
        here, "The harbour crane needs a permit", "Permission forms lie with Oona", "Oona works on Mondays only",
        "Lunch is at noon",
    )  # fmt: skip
    here.link(a, b, weight=0.8)
    here.link(b, c, weight=0.5)
    found = here.recall("what does the harbour crane need?")
    assert numbers(list(found)) == [a, b, c] and d not in numbers(list(found))
    first, second, third = found
    plain = Memory(":memory:", embed="none", design=HEBBIAN, clock=here._tools.clock)
    told(plain, "The harbour crane needs a permit")
    assert first.score == pytest.approx(plain.recall("what does the harbour crane need?")[0].score, rel=0.5)
    assert f"relates_to [id:{b}]" in second.why and f"from [id:{a}]" in second.why
    assert second.score == pytest.approx(math.prod(second.why.values()))
    assert second.why[f"relates_to [id:{b}]"] == pytest.approx(0.56)
    assert third.why[f"relates_to [id:{c}]"] == pytest.approx(0.35)
    note = next(step.note for step in found.trace if step.stage == "Cascade")
    assert note is not None and f"[id:{b}] from [id:{a}], relates_to [id:{b}]" in note
    assert numbers(list(here.recall("what does the harbour crane need?", limit=1))) == [a]


@pytest.mark.covers("W4-7", "S4-7")
def test_the_cascade_brings_nothing_that_does_not_hold(here: Memory, clock: MovableClock) -> None:
    a, b, c, d = told(here, "The harbour crane needs a permit", "Old forms", "Older forms", "Ends soon")
    for other in (b, c, d):
        here.link(a, other)
    here.forget(b)
    [e] = told(here, "Newer ways")
    here.link(e, c, "supersedes")
    here.revise(d, valid_to=START + timedelta(days=1))
    assert numbers(list(here.recall("harbour crane permit"))) == [a, d]
    clock.move(days=2)
    assert numbers(list(here.recall("harbour crane permit"))) == [a]
    assert numbers(list(here.recall("harbour crane permit", as_of=START))) == [a]
    assert [hit.number for hit in here.recall("harbour crane permit", kinds=["decision"])] == []


@pytest.mark.covers("S4-3")
def test_links_cross_scopes_that_may_be_read_and_never_others() -> None:
    everything = access_for("admin", "project/atlas")
    memory = Memory(":memory:", access=everything, embed="none", project="atlas", design=cascading(HEBBIAN))
    [a] = told(memory, "The harbour crane needs a permit")
    [b] = told(memory, "Forms lie with Oona", scope="project/other")
    [c] = told(memory, "Oona is away", scope="user/ann")
    [d] = told(memory, "For everybody", scope="global")
    for other in (b, c, d):
        memory.link(a, other)
    memory.link(b, d, weight=0.9)
    reader = memory.through(replace(access_for("reader", "project/atlas"), reads=("project/atlas", "global")))
    assert set(numbers(memory.related(a))) == {b, c, d}
    assert numbers(reader.related(a, depth=4)) == [d] and reader.path(a, d) != []
    assert set(numbers(list(memory.recall("harbour crane permit")))) == {a, b, d}  # what is Ann's comes for Ann
    assert set(numbers(list(memory.recall("harbour crane permit", user="ann")))) == {a, b, c, d}
    assert set(numbers(list(reader.recall("harbour crane permit")))) == {a, d}
    with pytest.raises(NotFound):
        reader.path(a, b)
    assert reader.through(Access(reads=("project/none",))).count() == 0
