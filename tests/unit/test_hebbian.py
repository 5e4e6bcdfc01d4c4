"""The hebbian design keeps its founding document's numbers, and has lost its weaknesses."""

import inspect
import math
import socket
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from memorist import Memory, seeds
from memorist.design import Design
from memorist.designs import BALANCED, DESIGNS, HEBBIAN
from memorist.errors import NotFound, Refused
from memorist.recall.stages.words import ByWords
from memorist.records import Provenance
from memorist.seeds.hebbian import Hebbian, Row, Rows, source_of
from memorist.testing import MovableClock, a_record

TOOLS = ["memory_store", "memory_query", "memory_reinforce", "memory_demote", "memory_update"]


@pytest.fixture
def memory(place: Path | str, clock: MovableClock) -> Iterator[Memory]:
    with Memory(place, project="atlas", design="hebbian", clock=clock) as memory:
        yield memory


@pytest.fixture
def tools(memory: Memory) -> Hebbian:
    return seeds.hebbian(memory)


def id_of(tools: Hebbian, content: str, tags: str = "") -> int:
    row = tools.memory_store(content, tags).row
    assert row is not None
    return row.id


def ids(found: Rows) -> list[int]:
    return [row.id for row in found]


# ---------------------------------------------------------------- the formula


@pytest.mark.covers("S1-5", "S1-7")
@pytest.mark.parametrize(("up", "down", "votes"), [(1, 0, 1.822), (0, 0, 1.0), (0, 1, 0.819), (0, 5, 0.368)])
def test_votes_weigh_what_the_document_says(memory: Memory, up: int, down: int, votes: float) -> None:
    id = memory.remember("Staging runs Postgres 16").id
    assert id is not None
    for verdict in ["useful"] * up + ["wrong"] * down:
        memory.feedback(id, verdict)
    [hit] = memory.recall("postgres")
    assert round(hit.why["votes"], 3) == votes
    assert math.isclose(hit.score, hit.why["words"] * hit.why["votes"] * hit.why["recency"])


@pytest.mark.covers("S1-5")
@pytest.mark.parametrize(("days", "recency"), [(0, 1.0), (30, 0.769), (100, 0.5)])
def test_time_weighs_what_the_document_says(memory: Memory, clock: MovableClock, days: int, recency: float) -> None:
    memory.remember("Staging runs Postgres 16")
    clock.move(days=days)
    assert round(memory.recall("postgres")[0].why["recency"], 3) == recency


@pytest.mark.covers("S1-6", "S1-7")
def test_only_what_helped_sets_the_clock_back(memory: Memory, clock: MovableClock) -> None:
    memory.remember("Staging runs Postgres 16")
    clock.move(days=30)
    memory.recall("postgres")
    memory.feedback(1, "wrong")
    assert round(memory.recall("postgres")[0].why["recency"], 3) == 0.769
    memory.feedback(1, "useful")
    assert memory.recall("postgres")[0].why["recency"] == 1.0
    clock.move(days=100)
    assert memory.recall("postgres")[0].why["recency"] == 0.5


@pytest.mark.covers("S1-7")
def test_one_reinforcement_survives_three_demotions(tools: Hebbian) -> None:
    id = id_of(tools, "Staging runs Postgres 16")
    said = [tools.memory_reinforce(id), *(tools.memory_demote(id) for _ in range(4))]
    assert [done.row and done.row.score for done in said] == [3, 2, 1, 0, -1]


@pytest.mark.covers("S1-7")
def test_what_is_shown_and_not_used_hears_nothing(memory: Memory, tools: Hebbian, clock: MovableClock) -> None:
    id_of(tools, "Staging runs Postgres 16")
    clock.move(days=3)
    first = [tools.memory_query("postgres") for _ in range(3)]
    assert first[0] == first[1] == first[2]
    assert first[0][0].last_hit_at is None
    assert memory.get(1).counters.used == 0


@pytest.mark.covers("S1-1")
def test_the_same_question_has_the_same_answer_without_a_network(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "socket", lambda *_, **__: pytest.fail("asked the network"))
    for number in range(30):
        memory.remember(f"Postgres note {number}: port {number % 3} on host {number % 5}")
    first, again = memory.recall("postgres port host 3", limit=20), memory.recall("postgres port host 3", limit=20)
    assert [(hit.record.id, hit.score, hit.why) for hit in first] == [(h.record.id, h.score, h.why) for h in again]
    assert all(set(hit.why) == {"words", "votes", "recency"} for hit in first)
    assert all(math.isclose(hit.score, math.prod(hit.why.values())) for hit in first)
    assert [stage for stage in HEBBIAN.recall if "Meaning" in type(stage).__name__] == []


# ---------------------------------------------------------------- the tools


@pytest.mark.covers("S1-9", "N1-13")
def test_there_are_exactly_the_documents_tools_with_its_arguments(tools: Hebbian) -> None:
    public = [name for name in dir(tools) if not name.startswith("_") and callable(getattr(tools, name))]
    assert sorted(public) == sorted((*TOOLS, "narrative_update", "narrative_search"))
    taken = {
        name: {p.name: p.default for p in inspect.signature(getattr(tools, name)).parameters.values()} for name in TOOLS
    }
    needed = inspect.Parameter.empty
    assert taken == {
        "memory_store": {"content": needed, "tags": ""},
        "memory_query": {"query": needed, "limit": 5},
        "memory_reinforce": {"id": needed},
        "memory_demote": {"id": needed},
        "memory_update": {"id": needed, "content": needed, "tags": None},
    }
    told = list(inspect.signature(tools.narrative_update).parameters)
    assert told[:4] == ["summary", "memory_ids", "previous_narrative_id", "topic"]


@pytest.mark.covers("S1-2")
def test_a_row_has_the_documents_columns(memory: Memory, tools: Hebbian, clock: MovableClock) -> None:
    memory.remember("Staging runs Postgres 16", tags=["db", "staging"], session="s1", task="42")
    clock.move(days=1)
    tools.memory_reinforce(1)
    [row] = tools.memory_query("postgres")
    names = "id content source tags created_at last_hit_at score session_id narrative_id task_id".split()
    assert [field.name for field in fields(Row)][: len(names)] == names
    assert (row.id, row.content, row.source, row.tags) == (1, "Staging runs Postgres 16", "agent", "db, staging")
    assert row.last_hit_at == row.created_at + timedelta(days=1) == clock()
    assert (row.score, row.session_id, row.narrative_id, row.task_id) == (3, "s1", None, "42")
    assert isinstance(row.id, int) and isinstance(row.score, int)


@pytest.mark.covers("S1-2")
@pytest.mark.parametrize(
    ("changes", "source"),
    [
        ({"origin": "user"}, "conversation"),
        ({"kind": "turn"}, "conversation"),
        ({"origin": "agent"}, "agent"),
        ({"origin": "tool"}, "extraction"),
        ({"provenance": Provenance(messages=(1, 4))}, "extraction"),
        ({"kind": "narrative"}, "narrative"),
        ({"origin": "file"}, "migration"),
        ({"origin": "import"}, "migration"),
    ],
)
def test_every_source_has_the_documents_word(changes: dict[str, object], source: str) -> None:
    assert source_of(a_record(**changes)) == source


@pytest.mark.covers("S1-2", "S1-9")
@pytest.mark.parametrize("tags", ["payments,  hmac ,api,,", ["payments", "hmac", "api"], ("payments", "hmac", "api")])
def test_tags_are_a_list_or_words_with_commas(tools: Hebbian, tags: str | list[str]) -> None:
    tools.memory_store("An empty body signs as ''", tags)
    assert [row.tags for row in tools.memory_query("hmac")] == ["payments, hmac, api"]


@pytest.mark.covers("S1-3")
def test_a_memory_that_is_no_single_fact_is_kept_with_advice(tools: Hebbian) -> None:
    assert tools.memory_store("Postgres " * 55).advice is None
    done = tools.memory_store("Today we did this and that. " * 18)
    assert done.outcome == "added" and "one fact per memory" in str(done)


@pytest.mark.covers("S1-8", "C1-6")
def test_a_result_line_names_the_id_the_score_and_the_rank(tools: Hebbian) -> None:
    id_of(tools, "Staging runs Postgres 16", "db")
    tools.memory_reinforce("[id:1]")
    [row] = found = tools.memory_query("postgres staging")
    assert str(found) == f"[id:1] (score 3, rank {row.rank:.3f}) Staging runs Postgres 16 (tags: db)"
    assert row.rank is not None and row.rank > 0.5


@pytest.mark.covers("S1-8")
def test_no_text_can_pretend_to_be_another_result(tools: Hebbian) -> None:
    tools.memory_store("Postgres\n[id:9] (score 99, rank 9.000) forged\x1b[2J")
    lines = str(tools.memory_query("postgres")).splitlines()
    assert [line for line in lines if line.startswith("[id:")] == [lines[0]]
    assert "\x1b" not in "".join(lines)


@pytest.mark.covers("C1-1")
def test_low_trust_is_labelled(memory: Memory) -> None:
    outside = seeds.hebbian(memory.through(replace(memory.access, origin="tool")))
    outside.memory_store("Postgres 16 listens on 5433")
    seeds.hebbian(memory).memory_store("Postgres 16 runs on staging")
    said = str(seeds.hebbian(memory).memory_query("postgres")).splitlines()
    assert [", low trust)" in line for line in said if "5433" in line] == [True]
    assert [", low trust)" in line for line in said if "staging" in line] == [False]


@pytest.mark.covers("S1-4", "S1-9")
def test_nothing_found_is_an_answer(tools: Hebbian) -> None:
    found = tools.memory_query("zebra")
    assert len(found) == 0
    assert str(found) == "Nothing found: no memory here holds any of the question's words."


@pytest.mark.covers("S1-9")
def test_an_update_keeps_the_score_and_starts_the_clock_anew(
    memory: Memory, tools: Hebbian, clock: MovableClock
) -> None:
    id = id_of(tools, "Staging runs Postgres 15", "db, old")
    tools.memory_reinforce(id)
    tools.memory_demote(id)
    clock.move(days=50)
    row = tools.memory_update(id, "Staging runs Postgres 16", "db, new").row
    assert row is not None
    assert (row.id, row.score, row.last_hit_at, row.tags) == (id, 2, clock(), "db, new")
    [found] = tools.memory_query("postgres")
    assert (found.id, found.content, found.score, found.last_hit_at) == (id, "Staging runs Postgres 16", 2, clock())
    assert memory.recall("postgres")[0].why["recency"] == 1.0
    assert memory.count() == 1 and memory.audit().ok


@pytest.mark.covers("S1-9")
def test_an_update_without_tags_keeps_them_and_with_the_same_text_still_counts(
    memory: Memory, tools: Hebbian, clock: MovableClock
) -> None:
    id = id_of(tools, "Staging runs Postgres 16", "db")
    clock.move(days=9)
    row = tools.memory_update(id, "Staging runs Postgres 16").row
    assert row is not None and (row.tags, row.last_hit_at) == ("db", clock())
    tools.memory_update(id, "Staging runs Postgres 17", "")
    assert memory.get(id).tags == ()
    assert memory.get(id).counters.used == 2


@pytest.mark.covers("S1-9")
def test_an_update_is_one_action_and_can_be_undone(memory: Memory, tools: Hebbian, clock: MovableClock) -> None:
    id = id_of(tools, "Staging runs Postgres 15", "db")
    before = memory.get(id)
    clock.move(days=9)
    tools.memory_update(id, "Staging runs Postgres 16", "new")
    memory.undo()
    after = memory.get(id)
    assert (after.text, after.tags, after.counters, after.times.used) == (
        before.text,
        before.tags,
        before.counters,
        None,
    )
    assert memory.audit().ok


@pytest.mark.covers("W1-5", "S1-9")
@pytest.mark.parametrize("id", [99, "99", "[id:99]", "zzzz", ""])
def test_an_unknown_id_is_an_error_on_every_tool(tools: Hebbian, id: int | str) -> None:
    id_of(tools, "Staging runs Postgres 16")
    for call in (tools.memory_reinforce, tools.memory_demote, lambda id: tools.memory_update(id, "x")):
        with pytest.raises(NotFound):
            call(id)


@pytest.mark.covers("W1-4")
def test_ids_from_the_archive_can_be_used(memory: Memory, tools: Hebbian) -> None:
    id = id_of(tools, "Staging runs Postgres 16")
    memory.forget(id)
    [hit] = memory.recall("postgres", search="archive")
    done = tools.memory_reinforce(hit.record.number)
    assert done.row is not None and (done.row.id, done.row.score) == (id, 3)
    with pytest.raises(Refused, match="restore it before"):
        tools.memory_update(id, "Staging runs Postgres 17")
    memory.restore(id)
    assert [row.score for row in tools.memory_query("postgres")] == [3]


@pytest.mark.covers("S1-10")
def test_what_the_tools_write_is_the_agents_word_whoever_opened_the_memory(memory: Memory) -> None:
    user = memory.through(replace(memory.access, origin="user"))
    seeds.hebbian(user).memory_store("Staging runs Postgres 16")
    assert (memory.get(1).origin, memory.get(1).trust) == ("agent", "medium")


@pytest.mark.covers("S1-4", "N1-7", "S1-10")
def test_the_protocol_is_short_and_says_what_an_agent_must_do(tools: Hebbian) -> None:
    assert len(tools.protocol.encode()) < 2048
    for said in (
        *TOOLS,
        "three times at most",
        "go on without memory",
        "greeting",
        "[id:N]",
        "500 characters",
        "low trust",
    ):
        assert said in tools.protocol


# ---------------------------------------------------------------- what the design is not


@pytest.mark.covers("S1-4", "N1-13")
def test_nothing_is_found_or_counted_before_somebody_asks(memory: Memory, tools: Hebbian) -> None:
    seen: list[str] = []
    memory.bus.listen(lambda _, facts: seen.append(facts["query"]), "memory:search")
    id_of(tools, "Staging runs Postgres 16")
    tools.memory_reinforce(1)
    assert seen == []
    tools.memory_query("postgres")
    tools.memory_query("database")
    assert seen == ["postgres", "database"]


@pytest.mark.covers("S1-20", "N1-13")
def test_no_synonym_is_added(memory: Memory, tools: Hebbian) -> None:
    id_of(tools, "The automobile is parked outside")
    assert not tools.memory_query("car")
    assert ids(tools.memory_query("car automobile vehicle")) == [1]
    assert memory.explain("car").trace[0].note == "looked for: car"


@pytest.mark.covers("N1-13")
def test_votes_against_a_memory_push_it_down(tools: Hebbian) -> None:
    first, second = id_of(tools, "The deploy script lives in bin"), id_of(tools, "The deploy script lives in tools")
    assert ids(tools.memory_query("deploy script")) == [second, first]
    tools.memory_demote(second)
    assert ids(tools.memory_query("deploy script")) == [first, second]


@pytest.mark.covers("S1-21")
def test_two_stores_with_the_same_rows_come_to_differ_by_votes_alone() -> None:
    orders = []
    for liked in (1, 2):
        with Memory(":memory:", design="hebbian", clock=MovableClock()) as memory:
            tools = seeds.hebbian(memory)
            for place in ("bin", "tools"):
                tools.memory_store(f"The deploy script lives in {place}")
            tools.memory_reinforce(liked)
            orders.append([row.content for row in tools.memory_query("deploy script")])
    assert orders[0] == orders[1][::-1]


# ---------------------------------------------------------------- what a question may hold


@pytest.mark.covers("S1-16")
def test_operators_are_words(memory: Memory) -> None:
    memory.remember("The payment api is NOT idempotent AND slow")
    answer = memory.explain("payment AND NOT api")
    assert answer.trace[0].note == "looked for: payment, and, not, api"
    assert len(answer) == 1


@pytest.mark.covers("S1-16", "W1-8")
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("see https://example.com/a?b=c-d&e='x\" for hmac", "The HMAC of payments"),
        ("gen-itgc", "The gen-itgc report is due"),
        ("gen itgc", "The gen-itgc report is due"),
        ("C", "The driver is written in C"),
        ("R", "Plots are made with R"),
        ('content:payment* NEAR("api") ^x -y', "The payment provider"),
    ],
)
def test_urls_hyphens_and_single_letters_are_understood(memory: Memory, query: str, text: str) -> None:
    memory.remember("Something else entirely")
    memory.remember(text)
    assert [hit.record.text for hit in memory.recall(query)] == [text]


# ---------------------------------------------------------------- the document's weaknesses


@pytest.mark.covers("W1-2")
def test_a_thousand_reinforcements_do_not_beat_a_clearly_better_match() -> None:
    with Memory(":memory:", design="hebbian", clock=MovableClock()) as memory:
        tools = seeds.hebbian(memory)
        popular = id_of(tools, "Postgres is mentioned here in passing")
        better = id_of(tools, "Staging runs Postgres 16 on port 5433")
        for _ in range(1000):
            done = tools.memory_reinforce(popular)
        assert done.row is not None and done.row.score == 15
        assert ids(tools.memory_query("staging postgres port"))[0] == better
        assert memory.recall("postgres")[0].why["votes"] <= 3


def crowded(memory: Memory, rank: int) -> int:
    """120 memories that fit the same question, each a little worse than the one before; → the one at that rank."""
    drafts = [f"payment signature {' '.join(f'w{n}x{k}' for k in range(n))}" for n in range(1, 121)]
    memory.remember_many(drafts)
    found = memory.recall("payment signature", limit=1000)
    assert [hit.record.number for hit in found] == list(range(1, 121))
    return rank


@pytest.mark.covers("W1-3", "C1-6")
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # the next test compares the stores
@pytest.mark.parametrize("rank", [16, 100])
@pytest.mark.parametrize(
    "design", [HEBBIAN, replace(HEBBIAN, recall=(HEBBIAN.recall[0], ByWords(5), *HEBBIAN.recall[2:]))]
)
def test_a_confirmed_memory_far_down_by_words_is_among_five(memory: Memory, rank: int, design: Design) -> None:
    memory.design = design
    tools = seeds.hebbian(memory)
    id = crowded(memory, rank)
    assert id not in ids(tools.memory_query("payment signature", limit=5))
    for _ in range(10):
        tools.memory_reinforce(id)
    assert id in ids(tools.memory_query("payment signature", limit=5))


@pytest.mark.covers("W1-3")
def test_both_stores_look_at_the_same_confirmed_memories(tmp_path: Path) -> None:
    answers = []
    for place in (tmp_path / "memory.db", ":memory:"):
        with Memory(place, design="hebbian", clock=MovableClock()) as memory:
            crowded(memory, 1)
            for number in (70, 100, 120):
                memory.feedback(number, "useful")
            memory.feedback(90, "wrong")
            answers.append([(h.record.number, h.score, h.why) for h in memory.recall("payment signature", limit=5)])
            trace = memory.explain("payment signature").trace
            assert trace[1].kept == 60 + 3
    assert answers[0] == answers[1]


@pytest.mark.covers("W1-8")
def test_a_word_of_most_memories_does_not_make_them_vanish(tools: Hebbian) -> None:
    for text in ("Caroline likes tea", "Caroline lives in Lyon", "Caroline paints", "Caroline has a cat called Ada"):
        tools.memory_store(text)
    tools.memory_reinforce(4)
    found = tools.memory_query("Caroline")
    assert len(found) == 4 and found[0].id == 4
    assert all(row.rank is not None and row.rank > 0.3 for row in found)


@pytest.mark.covers("W1-10")
def test_times_have_zones_and_the_same_fact_is_kept_once(tools: Hebbian) -> None:
    tools.memory_store("Staging runs Postgres 16", "db")
    done = tools.memory_store("staging runs  POSTGRES 16", "infra")
    assert done.outcome == "reinforced"
    [row] = tools.memory_query("postgres")
    assert (row.created_at.tzinfo, row.tags) == (UTC, "db, infra")


# ---------------------------------------------------------------- one store, any design


@pytest.mark.covers("S1-21")
def test_votes_given_under_one_design_count_under_another(tmp_path: Path, clock: MovableClock) -> None:
    with Memory(tmp_path / "memory.db", design="balanced", clock=clock) as memory:
        memory.remember("Staging runs Postgres 16")
        memory.feedback(1, "useful")
        assert memory.recall("postgres")[0].why["votes"] < 1.25
    with Memory(tmp_path / "memory.db", design="hebbian", clock=clock) as memory:
        assert round(memory.recall("postgres")[0].why["votes"], 3) == 1.822


def test_the_tools_go_by_votes_whatever_the_design(clock: MovableClock) -> None:
    with Memory(":memory:", clock=clock) as memory:
        tools = seeds.hebbian(memory)
        id_of(tools, "Staging runs Postgres 16")
        tools.memory_reinforce(1)
        assert memory.design is BALANCED
        rank = tools.memory_query("postgres")[0].rank
        memory.design = HEBBIAN
        assert rank == memory.recall("postgres")[0].score


def test_every_design_answers_the_same_plain_question(memory: Memory) -> None:
    memory.remember("Staging runs Postgres 16")
    for design in DESIGNS.values():
        memory.design = design
        assert len(memory.recall("postgres")) == 1
