"""The associative design by its founding document's own numbers, and by what went wrong with them there."""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from conftest import rounds
from memorist import Memory, scoring
from memorist.designs import ASSOCIATIVE, BALANCED, DESIGNS, own
from memorist.kinds import KINDS
from memorist.recall.stages.blend import FuseRanks
from memorist.recall.stages.cascade import Cascade
from memorist.recall.stages.judge import Judge
from memorist.recall.stages.keep import KeepClose
from memorist.recall.stages.weigh import Weigh
from memorist.records import Record
from memorist.testing import MovableClock
from memorist.testing.chat import ScriptedChat

TOWER, LIFT, NOISE = "Kestrels nest on the north tower", "Its lift is out of order", "Invoices are written in euros"
ASKED = "where do the kestrels nest?"


@pytest.fixture
def here(clock: MovableClock) -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", embed="static", clock=clock, design=ASSOCIATIVE) as memory:
        yield memory.through(replace(memory.access, origin="user", actor="ann"))


def told(memory: Memory, *texts: str, **more: object) -> list[int]:
    return [int(memory.remember(text, **more).number or 0) for text in texts]  # type: ignore[call-overload]


def found(memory: Memory, query: str, **more: object) -> list[int]:
    return [hit.number for hit in memory.recall(query, limit=10, **more)]  # type: ignore[arg-type]


def stage(kind: type) -> object:
    return next(each for each in ASSOCIATIVE.recall if isinstance(each, kind))


def state(memory: Memory) -> list[object]:
    """Every record with its votes, and the links. Versions go on, and what a night merely made is put away again."""
    records = memory.list({"state": {"$in": ["active", "superseded"]}}, order="-number", limit=1000)
    plain = [replace(each, version=0, times=replace(each.times, updated=each.times.created)) for each in records]
    return [*plain, [sorted(map(str, memory.links(record.id))) for record in records]]


# ---------------------------------------------------------------- the cascade


@pytest.mark.covers("S4-7", "W4-7")
def test_edges_weigh_what_the_document_says() -> None:
    cascade = stage(Cascade)
    assert isinstance(cascade, Cascade) and (cascade.seeds, cascade.depth, cascade.decay) == (10, 2, 0.7)
    assert (cascade.tags, cascade.clusters, cascade.superseding, cascade.others) == (0.8, 0.6, 0.9, 0.3)
    weights = {kind: cascade.worth(kind, 0.37) for kind in ("relates_to", "supersedes", "in_cluster", "contradicts")}
    assert weights == {"relates_to": 0.37, "supersedes": 0.9, "in_cluster": 0.6, "contradicts": 0.3}


@pytest.mark.covers("S4-7", "N4-6", "N4-9")
def test_each_step_hands_on_seven_tenths_of_its_weight(here: Memory) -> None:
    one, two, three = told(here, TOWER, LIFT, NOISE)
    here.link(one, two, weight=0.9)
    here.link(two, three, weight=0.8)
    seed, near, far = (hit for hit in here.explain(ASKED, limit=10).hits if hit.number in (one, two, three))
    assert [each.number for each in (seed, near, far)] == [one, two, three], "what is written is read"
    assert near.score / seed.score == pytest.approx(0.9 * 0.7) and far.score / near.score == pytest.approx(0.8 * 0.7)
    assert any(name.startswith("from [id:") for name in near.why), "and says by which way it came"


@pytest.mark.covers("N4-9", "C4-2")
def test_a_weak_tie_and_a_shared_tag_do_not_pass_the_gate(here: Memory) -> None:
    one, two = told(here, TOWER, LIFT, tags=["north"])
    assert found(here, ASKED) == [one]
    here.link(one, two, weight=0.2)
    assert found(here, ASKED) == [one]
    here.link(one, two, weight=0.5)
    assert found(here, ASKED) == [one, two], "a link of half weight, which is what the tool makes, rescues"


@pytest.mark.covers("N4-9", "W4-7")
def test_a_tag_that_many_bear_brings_nobody(here: Memory) -> None:
    told(here, TOWER, *(f"Berth {n} belongs to ship {n}" for n in range(60)), tags=["harbour"])
    assert found(here, ASKED) == [1]


@pytest.mark.covers("W4-7", "W4-2")
def test_what_is_superseded_leads_to_what_replaced_it_and_never_back(here: Memory) -> None:
    old, new, other = told(here, TOWER, "Since May they live in the old mill", NOISE)
    here.link(other, old)
    here.link(new, old, "supersedes")
    assert old not in found(here, ASKED) and here.get(old).state == "superseded"
    assert old not in found(here, "where is the old mill?") and old not in found(here, "what are invoices written in?")
    assert new in [hit.number for hit in here.related(old, depth=1)] and here.related(new, depth=1) == []


# ---------------------------------------------------------------- numbers


@pytest.mark.covers("S4-9", "S4-10")
def test_recency_and_confidence_are_factors_of_the_answer(here: Memory, clock: MovableClock) -> None:
    told(here, TOWER)
    [fresh] = here.explain(ASKED).hits
    clock.move(hours=24)
    [later] = here.explain(ASKED).hits
    clock.move(days=29)
    [old] = here.explain(ASKED).hits
    assert [hit.why["fresh"] for hit in (fresh, later)] == pytest.approx([1.5, 1 + 0.5 / math.e])
    assert fresh.why["confidence"] == pytest.approx(1.0) and old.why["fresh"] == pytest.approx(1.0, abs=1e-6)
    assert old.why["confidence"] == pytest.approx(0.5), "half of it is left after a half-life"


@pytest.mark.covers("S4-10", "C4-7", "W4-6")
@pytest.mark.parametrize(
    ("kind", "days"),
    [("correction", 365), ("preference", 90), ("procedure", 60), ("entity", 60), ("fact", 30), ("recipe", 45)],
)
def test_a_half_life_is_the_time_until_half_is_left(here: Memory, clock: MovableClock, kind: str, days: float) -> None:
    [number] = told(here, TOWER, kind="fact" if kind == "recipe" else kind)
    record: Record = replace(here.get(number), kind=kind)
    start = record.times.at
    for times, left in ((0, 1.0), (1, 0.5), (2, 0.25)):
        assert scoring.confidence(record, start + timedelta(days=days * times), KINDS) == pytest.approx(left)


@pytest.mark.covers("C4-1", "C4-2", "C4-3")
def test_fusion_gate_and_judges_have_the_numbers_that_were_measured() -> None:
    fuse, gate, judge = stage(FuseRanks), stage(KeepClose), stage(Judge)
    assert isinstance(fuse, FuseRanks) and fuse.k == 60
    assert isinstance(gate, KeepClose) and (gate.of_best, gate.of_previous, gate.most) == (0.90, 0.95, 10)
    assert isinstance(judge, Judge) and (judge.most, judge.judges, judge.every, judge.demanded) == (50, 2, 3, False)
    weigh = stage(Weigh)
    assert isinstance(weigh, Weigh) and {"fresh", "confidence"} <= set(weigh.factors)


@pytest.mark.covers("C4-2", "N4-10")
def test_without_a_model_only_what_keeps_up_with_the_best_is_shown(here: Memory) -> None:
    told(here, TOWER, "A nest of ants is below the tower stairs", NOISE)
    answer = here.explain(ASKED, limit=10)
    assert [hit.number for hit in answer][:1] == [1] and 3 not in [hit.number for hit in answer]
    best = answer[0].score
    assert all(hit.score >= 0.9 * best for hit in answer)


@pytest.mark.covers("C4-3", "N4-10")
def test_what_two_judges_agree_on_passes_the_gate(clock: MovableClock) -> None:
    """Whatever it scored: a list that somebody read is not cut by its scores again."""
    both = ScriptedChat({"relevant": [1, 2]})
    with Memory(":memory:", project="atlas", embed="none", clock=clock, design=ASSOCIATIVE, chat=both) as memory:
        told(memory, TOWER, "A kestrel was seen by Ann")
        assert sorted(found(memory, ASKED)) == [1, 2] and len(both.asked) == 2
    split = ScriptedChat({"relevant": [1]}, {"relevant": [1]})  # from opposite ends they name two different ones
    with Memory(":memory:", project="atlas", embed="none", clock=clock, design=ASSOCIATIVE, chat=split) as memory:
        told(memory, TOWER, "A kestrel was seen by Ann")
        assert found(memory, ASKED) == []


# ---------------------------------------------------------------- writing


@pytest.mark.covers("W4-2", "S4-20", "S4-6")
def test_a_contradiction_supersedes_and_both_are_kept(here: Memory, clock: MovableClock) -> None:
    [old] = told(here, "The gateway listens on port 8080")
    then = clock()
    clock.move(days=1)
    [new] = told(here, "The gateway now listens on port 9090")
    [link] = here.links(old)
    assert here.get(old).state == "superseded" and (link.kind, link.a) == ("supersedes", here.get(new).id)
    assert found(here, "which port does the gateway listen on?") == [new]
    assert found(here, "which port does the gateway listen on?", as_of=then) == [old], "as it was believed then"


@pytest.mark.covers("S4-20", "W4-5")
def test_what_is_said_again_in_other_words_reinforces(here: Memory) -> None:
    here.remember("We deploy to staging on Friday", session="s1")
    again = here.remember("On Friday we deploy to staging", session="s2")
    assert again.outcome == "reinforced" and here.count() == 1 and here.get(1).counters.strength == 1
    other = here.remember("On Monday we deploy to staging", session="s2")
    assert other.outcome == "added", "another day is another fact, however alike"


@pytest.mark.covers("S4-4")
@pytest.mark.parametrize(("files", "tags"), [
    (["src/billing/invoice.py"], ("python", "billing")),
    (["src/billing/a.py", "src/billing/b.py"], ("python", "billing")),
    (["web\\\\checkout\\\\Cart.TSX".replace("\\\\", "\\")], ("typescript", "checkout")),
    (["README.md"], ()),
    (["tests/test_x.rs"], ("rust",)),
    (["v2/2024/x.unknown"], ()),
    (["a/x.py", "b/y.rs", "c/z.go"], ("python", "a", "rust")),
    ([], ()),
])  # fmt: skip
def test_tags_are_inferred_from_files_where_nobody_names_any(
    here: Memory, files: list[str], tags: tuple[str, ...]
) -> None:
    done = here.remember("Rounding happens at the end", files=files).record
    assert done is not None and done.tags == tags
    named = here.remember("Rounding happens at the start", files=files, tags=["money"]).record
    assert named is not None and named.tags == ("money",)
    again = here.remember("Rounding happens at the end", files=files)
    assert again.outcome == "reinforced" and again.id == done.id
    with Memory(":memory:", project="atlas", embed="none") as plain:
        usual = plain.remember("Rounding happens at the end", files=files).record
        assert usual is not None and usual.tags == (), "only where the design associates"


@pytest.mark.covers("S4-4")
def test_an_inferred_tag_makes_no_other_draft_of_what_was_stored_under_a_key(tmp_path: Path) -> None:
    said = []
    for design in (BALANCED, ASSOCIATIVE, BALANCED):
        with Memory(tmp_path / "m.db", project="atlas", embed="none", design=design) as memory:
            said.append(memory.remember("Totals are rounded", files=["src/bill/x.py"], key="k1").outcome)
    assert said == ["added", "repeated", "repeated"]


@pytest.mark.covers("S4-4", "S4-15")
def test_tags_are_what_somebody_named_or_most_of_what_was_used_together_bears(here: Memory) -> None:
    """Explicit in any form; a tag is inferred by `associates` alone, from what was used together."""
    here.remember(TOWER, tags=["project:atlas", "rust", "domain/birds", "project:atlas"])
    assert here.get(1).tags == ("project:atlas", "rust", "domain/birds") and ASSOCIATIVE.associates
    assert [each.number for each in here.list({"tags": ["domain/birds"]})] == [1]
    assert here.count({"tags": ["birds"]}) == 0


# ---------------------------------------------------------------- scopes, nights, and what it says of itself


@pytest.mark.covers("S4-16")
def test_scopes_are_global_project_and_session(tmp_path_factory: pytest.TempPathFactory, clock: MovableClock) -> None:
    path = tmp_path_factory.mktemp("scopes") / "memory.db"
    with Memory(path, project="atlas", embed="none", clock=clock, design=ASSOCIATIVE) as memory:
        user = memory.through(replace(memory.access, origin="user", actor="ann"))
        told(user, "Kestrels are birds everywhere", scope="global")
        told(user, "Kestrels of this project are drones")
        told(user, "Kestrels were mentioned in this session", scope="session/s1")
        assert sorted(found(user, "kestrels")) == [1, 2] and sorted(found(user, "kestrels", session="s1")) == [1, 2, 3]
    with Memory(path, project="borealis", embed="none", clock=clock, design=ASSOCIATIVE) as other:
        assert found(other, "kestrels") == [1] and found(other, "kestrels", session="s1") == [1]


@pytest.mark.covers("S4-22", "S4-21", "N4-4", "N4-3")
def test_a_night_is_undone_to_the_letter(here: Memory) -> None:
    exact = replace(ASSOCIATIVE, twins="exact", conflicts="flag")  # so that twins are left for the night
    day = here.through(here.access)
    day.design = exact
    told(day, "We deploy to staging on Friday", "On Friday we deploy to staging", NOISE)
    told(day, *(f"Herons rest by the bend of the river {place}" for place in "Aare Main Oder Elbe Saale".split()))
    before = state(day)
    plan = day.upkeep(deep=True, dry_run=True)
    assert state(day) == before and any(each.changed for each in plan), "a plan changes nothing"
    reports = day.upkeep(deep=True)
    assert state(day) != before and reports[-1].batch and day.get(2).state == "superseded"
    day.undo(reports[-1].batch)
    assert state(day) == before
    assert day.audit().ok


@pytest.mark.covers("S4-21", "N4-2")
def test_it_asks_for_nights_by_itself(here: Memory) -> None:
    assert (ASSOCIATIVE.due.idle, ASSOCIATIVE.due.above) == (15, 10_000)
    assert here.status()["upkeep_due"] == "a night after 15 quiet minutes, above 10,000 memories after one"


@pytest.mark.covers("W4-8", "N4-10", "S4-24")
def test_status_says_whether_a_model_reads_along_and_how_it_does(here: Memory, clock: MovableClock) -> None:
    assert here.status()["chat"] == "none" and here.status()["memory"] == "on"
    broken = ScriptedChat("garbage")
    with Memory(":memory:", project="atlas", embed="none", clock=clock, design=ASSOCIATIVE, chat=broken) as memory:
        told(memory, TOWER)
        assert found(memory, ASKED) == [], "failure never means that what nobody vetted is shown"
        said = memory.status()
        assert said["chat"] != "none" and said["chat_degraded"].startswith("100%") and said["chat_problem"]


@pytest.mark.covers("W4-12")
def test_text_of_many_bytes_is_never_cut_inside_a_character(here: Memory) -> None:
    for n in range(rounds(20)):
        here.remember("🐦" * (10 + n) + f" nistet auf dem Turm Nummer {n}, où les faucons crécerelles nichent")
    for budget in range(40, 400, 30):
        text = here.context("wo nistet der Vogel auf dem Turm?", budget=budget).text
        assert text.encode().decode() == text and "\ufffd" not in text
    assert "🐦" in text


def test_it_is_among_the_designs_and_can_be_written_out() -> None:
    assert DESIGNS["associative"] is ASSOCIATIVE
    assert own.text_of(ASSOCIATIVE).count("linked = 0.33") == 1
