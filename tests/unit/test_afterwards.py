"""After a retrieval, in the background: what found nothing is a gap, what was used together shares a tag, clusters are refreshed;
in designs that ask for it, and nobody waits."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from conftest import STORES, place_of
from memorist import Memory, scoring
from memorist.access import Access
from memorist.design import Proposal, Tools
from memorist.designs import BALANCED
from memorist.records import Counters
from memorist.remember import gaps, strengthen
from memorist.store.tally import ChatLimits
from memorist.store.where import Order, everywhere
from memorist.testing import MovableClock, ScriptedChat
from memorist.upkeep import afterwards, due
from surfaces.conftest import Cli

ASSOCIATES = replace(BALANCED, associates=True)
ASKED = "Which broker does the billing queue use?"


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the usual time of a slice is over before its first step, and that of closing."""
    monkeypatch.setattr(due, "SLICE", 60.0)
    monkeypatch.setattr(due, "CLOSING", 60.0)


@pytest.fixture(params=STORES)
def keen(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Memory]:
    with Memory(place_of(request.param, tmp_path), project="atlas", clock=clock, design=ASSOCIATES) as memory:
        yield memory


in_ram = pytest.mark.parametrize("keen", ["ram"], indirect=True)


def settled(memory: Memory) -> Memory:
    """Once what follows the last retrievals was done."""
    memory._slices.join(60)
    assert not memory._slices._after
    return memory


@pytest.mark.covers("S4-15")
def test_a_question_that_found_nothing_is_a_gap_until_something_answers_it(keen: Memory) -> None:
    keen.remember("The parser is written in Rust")
    assert not keen.recall(ASKED, session="s1")
    [gap] = settled(keen).gaps()
    assert (gap.question, gap.record.kind, gap.asked, gap.answer) == (ASKED, "gap", 1, None)
    assert (gap.record.scope, gap.record.provenance.session) == ("project/atlas", "s1")
    assert all(hit.record.kind != "gap" for hit in keen.explain(gap.record.text)), "no recall finds a gap"
    answer = keen.remember("The billing queue uses RabbitMQ as its broker").record
    [known] = settled(keen).gaps()
    assert answer and known.answer and known.answer.id == answer.id


@in_ram
def test_what_is_asked_while_a_slice_ends_is_followed_by_it(keen: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks then finds it at work, and begins no other."""
    plain, others = due.Slices._once, ["where does amber keep its keys?"]

    def once(slices: due.Slices, *given: Any) -> None:
        plain(slices, *given)
        if others:
            keen.recall(others.pop())

    monkeypatch.setattr(due.Slices, "_once", once)
    keen.recall(ASKED)
    assert len(settled(keen).gaps()) == 2


@in_ram
@pytest.mark.covers("S4-15")
def test_the_same_question_in_other_words_is_one_gap(keen: Memory) -> None:
    for asked in (ASKED, "the billing queue, which broker does it use?", ASKED.lower()):
        assert not keen.recall(asked)
        settled(keen)
    [gap] = keen.gaps()
    assert (gap.question, gap.asked) == (ASKED, 3)


@in_ram
@pytest.mark.covers("S4-15")
@pytest.mark.parametrize("said", ["hello, how are you?", "thanks!", "?", "ok"])
def test_small_talk_is_no_gap(keen: Memory, said: str) -> None:
    assert not keen.recall(said)
    assert settled(keen).gaps() == []


@in_ram
@pytest.mark.covers("S4-15")
def test_a_filter_the_past_and_a_prefetch_miss_nothing(keen: Memory) -> None:
    keen.recall(ASKED, kinds=["decision"])
    keen.recall(ASKED, where={"tags": ["x"]})
    keen.recall(ASKED, as_of="2020-01-01")
    keen.explain(ASKED)
    assert settled(keen).gaps() == []


@in_ram
@pytest.mark.covers("S4-15")
def test_a_gap_is_redacted_and_belongs_to_whom_it_was_asked_for(keen: Memory) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    keen.recall(f"why does the deploy key {secret} fail on Fridays?")
    keen.context("which diet does my doctor want for me?", user="ann")
    settled(keen)
    assert secret not in keen.gaps()[0].question and "Fridays" in keen.gaps()[0].question
    assert [gap.question for gap in keen.gaps(user="ann")] == ["which diet does my doctor want for me?"]
    assert [gap.record.scope for gap in keen.gaps()] == ["project/atlas"]


@in_ram
@pytest.mark.covers("S4-15")
def test_gaps_are_bounded(keen: Memory, monkeypatch: pytest.MonkeyPatch, clock: MovableClock) -> None:
    monkeypatch.setattr(gaps, "MOST_GAPS", 3)
    for name in ("amber", "birch", "cedar", "dogwood", "elder"):
        clock.move(seconds=1)
        keen.recall(f"where does {name} keep its keys?")
        settled(keen)
    assert [gap.question.split()[2] for gap in keen.gaps()] == ["elder", "dogwood", "cedar"]


@pytest.mark.covers("S4-15")
def test_gaps_are_answered_without_a_model(clock: MovableClock) -> None:
    """What the judge did not want when it was asked is no answer; what came since may be."""
    chat = ScriptedChat({"relevant": []})
    with Memory(":memory:", project="atlas", clock=clock, design="associative", chat=chat) as memory:
        memory.remember("The billing queue is drained on Fridays")
        clock.move(minutes=1)
        assert not memory.recall(ASKED) and chat.asked
        settled(memory)
        clock.move(minutes=1)
        asked = len(chat.asked)
        [gap] = memory.gaps()
        assert gap.answer is None
        answer = memory.remember("The billing queue uses RabbitMQ as its broker").record
        [known] = memory.gaps()
        assert answer and known.answer and known.answer.id == answer.id
        assert len(chat.asked) == asked


def test_other_designs_keep_no_gaps(memory: Memory) -> None:
    assert not memory.recall(ASKED)
    memory._slices.join(60)
    assert memory.gaps() == []


@pytest.mark.parametrize("keen", ["sqlite"], indirect=True)  # in RAM a reader waits for a writer in any case
@pytest.mark.covers("S4-15")
def test_nobody_waits_for_what_follows(keen: Memory) -> None:
    """A writer that holds the store keeps the gap from being written, and not the question from being answered."""
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        with keen._writer.transaction():
            begun.set()
            end.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert begun.wait(60)
    keen._slices.asked(_query(), keen.explain("x"), keen.design, keen.access)  # returns at once
    end.set()
    holder.join(60)
    assert len(settled(keen).gaps()) == 1


def _query() -> "afterwards.Query":
    return afterwards.Query(ASKED)


@in_ram
@pytest.mark.covers("S4-15")
def test_what_follows_a_question_is_done_for_whoever_asked_it(keen: Memory) -> None:
    """Views share the list: the next slice is somebody else's."""

    def view(project: str, **how: Any) -> Memory:
        here = f"project/{project}"
        grants: dict[str, Any] = {"reads": (here,), "writes": (here,), "home": here, "actor": project}
        return keen.through(replace(keen.access, **(grants | how)))

    alpha, beta, reader = view("alpha"), view("beta"), view("gamma", role="reader", writes=())
    with keen._slices.make_way():
        alpha.recall("what is the merger price of Initech?")
        reader.recall("where does the owner of gamma keep the safe key?")
    beta.recall("which colour has the logo of the shop?")
    kept = keen._tools.store.find(everywhere(settled(keen).space).also("kind", "eq", "gap"), Order("number"), 9)
    assert sorted((gap.scope, gap.provenance.actor, gaps.said(gap).split()[-1]) for gap in kept) == [
        ("project/alpha", "alpha", "Initech?"),
        ("project/beta", "beta", "shop?"),
    ]


def test_a_program_that_ends_at_once_has_its_gap(tmp_path: Path, clock: MovableClock) -> None:
    path = tmp_path / "me.db"
    with Memory(path, project="atlas", clock=clock, design=ASSOCIATES) as memory:
        memory.recall(ASKED)
    with Memory(path, project="atlas", clock=clock) as memory:
        assert [gap.question for gap in memory.gaps()] == [ASKED]


# ---------------------------------------------------------------- used together


def use_together(memory: Memory, *numbers: int) -> None:
    found = memory.recall("staging broker", min_relevance=0, limit=10)
    memory.used(found.receipt, ids=list(numbers))
    settled(memory)


@pytest.fixture
def pair(keen: Memory) -> Memory:
    keen.remember("The staging broker is RabbitMQ", tags=["broker", "messaging"])
    keen.remember("Restart the staging broker with systemctl", tags=["how-to"])
    return keen


@pytest.mark.covers("S4-15", "S4-4")
def test_memories_that_were_used_together_get_the_tag_whose_words_they_hold(pair: Memory) -> None:
    use_together(pair, 1, 2)
    assert pair.get(2).tags == ("how-to", "broker") and pair.get(1).tags == ("broker", "messaging")
    event = pair.history(2)[-1]
    assert (event.verb, "used together with memory 1" in str(event.because)) == ("tagged", True)
    use_together(pair, 1, 2)
    assert len(pair.get(2).tags) == 2, "they share one now"


@in_ram
@pytest.mark.covers("S4-15")
def test_an_inferred_tag_is_taken_back_and_does_not_come_back(pair: Memory) -> None:
    use_together(pair, 1, 2)
    pair.tag(2, remove=["broker"])
    use_together(pair, 1, 2)
    assert pair.get(2).tags == ("how-to",)


@in_ram
@pytest.mark.covers("S4-15")
def test_what_is_used_together_is_tied_in_the_background(pair: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def credit(*given: Any) -> int:
        seen.append(threading.current_thread().name)
        return strengthen.credit(*given)

    monkeypatch.setattr(afterwards, "strengthen", SimpleNamespace(credit=credit))
    use_together(pair, 1, 2)
    [link] = [each for each in pair.links(1) if (each.evidence or "").startswith("used together")]
    assert (link.kind, seen) == ("relates_to", ["memorist upkeep"])


@dataclass(frozen=True)
class Clusters:
    ran: list[str] = field(default_factory=list)
    name: ClassVar[str] = "clusters"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        self.ran.append(threading.current_thread().name)
        return Proposal("clustered", lambda record: record, "clusters", ())


@pytest.mark.covers("S4-15", "N4-1")
def test_clusters_are_refreshed_every_fifty_recalls(clock: MovableClock) -> None:
    job = Clusters()
    with Memory(":memory:", project="atlas", clock=clock, design=replace(ASSOCIATES, upkeep=(job,))) as memory:
        memory.remember("Staging runs Postgres 16")
        for number in range(1, 101):
            memory.recall("which database does staging run?")
            if number in (49, 50, 99, 100):
                settled(memory)
                assert job.ran == ["memorist upkeep"] * (number // 50)


@pytest.mark.covers("S4-15")
def test_what_was_found_and_not_wanted_costs_confidence_when_it_is_read(memory: Memory, clock: MovableClock) -> None:
    record = memory.remember("Staging runs Postgres 16").record
    assert record
    kinds, rejected = memory._tools.kinds, replace(record, counters=Counters(rejected=3))
    before, after = (scoring.confidence(each, clock(), kinds) for each in (record, rejected))
    assert after == pytest.approx(before * 0.94)
    assert memory.feedback(record.id, "irrelevant") and memory.get(record.id).confidence == record.confidence


@pytest.mark.covers("S4-15")
def test_gaps_at_a_shell(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    assert "keeps them" in cli.inside("gaps").err or "keep them" in cli.inside("gaps").err


# ---------------------------------------------------------------- what was said

READS = replace(BALANCED, promotion=replace(BALANCED.promotion, every=12))


def findings(memory: Memory) -> list[str]:
    return [each.text for each in memory.list({"status": "candidate"}) if each.data.get("rule")]


def spoken(n: int) -> str:
    return "We decided to use Postgres 16 for the ledger." if n == 0 else f"The weather is fine today, day {n}."


@pytest.mark.covers("C4-6")
def test_an_open_session_is_read_after_every_twelve_turns(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embed="none", design=READS) as memory, memory.session("s1") as session:
        for n in range(11):
            session.turn("user", spoken(n))
        assert findings(settled(memory)) == [] and "read" not in session.record.data
        session.turn("assistant", "And so on.")
        assert findings(settled(memory)) == [spoken(0)] and session.record.data["read"] == session.turns()[-1].number
        for n in range(1, 12):
            session.turn("user", spoken(n))
        session.turn("user", "We decided to drop support for Node 16.")
        assert len(findings(settled(memory))) == 2
        session.close()
        assert len(findings(memory)) == 2, "its end finds nothing twice"
        assert {each.counters.strength for each in memory.list({"kind": "decision"})} == {0}, "nor counts it twice"


def test_turns_that_several_processes_heard_count_together(tmp_path: Path) -> None:
    """A hook is a process for every few turns; and so is each of these."""
    for first in range(0, 24, 4):
        with Memory(tmp_path / "m.db", embed="none", design=READS) as memory:
            session = memory.session("s1")
            for n in range(first, first + 4):
                session.turn("user", spoken(n))
            session.leave()
            read, last = settled(memory).sessions()[0].data.get("read", 0), session.turns()[-1].number
            assert (read == last) == (first in (8, 20)), "after the twelfth and the twenty-fourth"
    with Memory(tmp_path / "m.db", embed="none", design=READS) as memory:
        assert findings(memory) == [spoken(0)]


def test_turns_of_what_is_no_session_start_nothing_in_each_new_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    monkeypatch.setattr(afterwards, "_read", lambda *talk: read.append(talk))
    for first in range(0, 24, 4):
        with Memory(tmp_path / "m.db", embed="none", design=READS) as memory:
            for n in range(first, first + 4):
                memory.remember(spoken(n), kind="turn", session="loose")
            settled(memory)
    assert read == []


@pytest.mark.covers("C4-6")
def test_nobody_waits_for_the_model_that_reads_it(tmp_path: Path) -> None:
    go_on, began = threading.Event(), threading.Event()

    def slowly(prompt: Any) -> Any:
        began.set()
        assert go_on.wait(60)
        return {"memories": []} if "memories" in prompt.schema["properties"] else {"points": []}

    with Memory(tmp_path / "m.db", embed="none", design=READS, chat=ScriptedChat(slowly)) as memory:
        session = memory.session("s1")
        for n in range(12):
            session.turn("user", f"{spoken(n)} It will be fine for a while.")
        assert began.wait(60), "the model reads, and nothing waits for it"
        session.turn("user", "What else is there?")
        session.close(fast=True)  # which reads all of it by rules
        go_on.set()
        assert len(findings(settled(memory))) == 1, "what was read meanwhile is not found again"


def test_what_is_handed_in_counts_and_other_designs_read_at_the_end(tmp_path: Path) -> None:
    said = [{"role": "user", "content": spoken(n)} for n in range(12)]
    for design, wanted in ((READS, [spoken(0)]), (BALANCED, [])):
        with Memory(tmp_path / f"{len(wanted)}.db", embed="none", design=design) as memory:
            memory.ingest(said, session="s1")
            assert findings(settled(memory)) == wanted


def test_what_was_said_is_not_read_in_a_session_that_was_forgotten_or_never_was(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embed="none", design=READS) as memory:
        memory.remember([{"role": "user", "content": spoken(n)} for n in range(12)], session="s1")
        assert findings(settled(memory)) == [] and memory._slices.problem is None


@pytest.mark.covers("C4-6")
def test_whoever_speaks_last_does_not_decide_how_far_findings_are_trusted(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", project="atlas", embed="none", design=READS) as opened:
        memory = opened.through(replace(opened.access, origin="user", actor="ann"))
        session = memory.session("s1")
        for n in range(11):
            session.turn("user", spoken(n))
        page = memory.through(replace(memory.access, origin="web", actor="page"))
        page.remember([{"role": "user", "content": "fine"}], session="s1")
        [found] = [each for each in settled(memory).list({"status": "candidate"}) if each.data.get("rule")]
        assert (found.trust, found.provenance.actor) == ("medium", "ann")


def test_a_session_of_the_same_name_in_another_project_is_left_alone(tmp_path: Path) -> None:
    for project in ("atlas", "borea"):
        with Memory(tmp_path / "m.db", project=project, embed="none", design=READS) as memory:
            memory.session("s1", user="ann").leave()
    with Memory(tmp_path / "m.db", project="atlas", embed="none", design=READS) as memory:
        session = memory.session("s1", user="ann")
        for n in range(12):
            session.turn("user", spoken(n))
        settled(memory)
        assert "read" in session.record.data, "and not the newer one"


@pytest.mark.covers("C4-6")
def test_reading_makes_way_stands_on_the_list_once_and_leaves_a_model_to_those_who_wait(tmp_path: Path) -> None:
    chat = ScriptedChat({"memories": []}, limits=ChatLimits(calls=1))
    with Memory(tmp_path / "m.db", embed="none", design=READS, chat=chat) as memory:
        with memory._slices.make_way():  # while upkeep is at work
            session = memory.session("s1")
            for n in range(24):
                session.turn("user", f"{spoken(n)} It will be fine for a while.")
            after = memory._slices._after
            assert after is not None and len(after._list) == 1
            memory._slices._wanted(None, memory._caller)
            assert after, "what is left on the list is done later"
        assert memory._slices._asked
        memory._slices._start(*memory._slices._asked, due=False)  # as the next turn would
        assert len(findings(settled(memory))) == 1
        assert chat.asked == [], "of one call nothing is to spare"
