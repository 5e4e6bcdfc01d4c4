"""Memories as text for a prompt: styles, the part that stays the same, places, marks, conflicts, receipts, failures."""

import json
import random
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import in_ram, rounds
from memorist import Memory
from memorist.access import access_for
from memorist.design import Budget, Lane
from memorist.designs import BALANCED, TIERS
from memorist.errors import Invalid, MemoristError, NotFound, OutOfScope, StoreDamaged
from memorist.prompt.modes import Profile
from memorist.prompt.render import CLIENTS, OWN, REFERENCE, STYLES, Item, arranged
from memorist.records import Hit
from memorist.testing import MovableClock, a_record
from memorist.text.tokens import count_tokens

DATABASES = ["Staging runs Postgres 16", "The reporting database is DuckDB", "Backups of the database go to Oslo"]


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.remember_many(DATABASES)
    memory.remember("Tabs, never spaces", kind="convention", pinned=True)
    return memory


# ---------------------------------------------------------------- styles


@pytest.mark.covers("S3-18")
@pytest.mark.parametrize(
    ("client", "begins"),
    [("claude-code", "<project_memory>"), ("gemini", "## Memory"), ("codex", REFERENCE), ("opencode", REFERENCE)],
)
def test_each_client_gets_the_style_it_reads_best(filled: Memory, client: str, begins: str) -> None:
    text = filled.context("which database?", client=client).text
    assert text.startswith(begins) and REFERENCE in text
    marked = filled.context("which database?", style=CLIENTS[client]).text
    assert marked.splitlines()[:2] == text.splitlines()[:2]


def test_a_style_says_more_than_a_client(filled: Memory) -> None:
    assert filled.context("which database?", client="gemini", style="json").text.startswith("{")


@in_ram
@pytest.mark.parametrize(
    ("argument", "allowed"),
    [
        ("style", "styles are xml, markdown, plain, json"),
        ("client", "clients are claude-code, gemini, codex, opencode"),
        ("mode", "modes are cheap, balanced, max_quality"),
        ("profile", "profiles are planner, implementer, reviewer, assistant, global, none"),
        ("inject", "it is one of pull, core, push"),
    ],
)
@pytest.mark.parametrize("bad", ["html", "", 5, ["xml"]])
def test_what_is_unknown_is_refused_with_what_is_known(filled: Memory, argument: str, allowed: str, bad: Any) -> None:
    with pytest.raises(Invalid, match=allowed):
        filled.context("which database?", **{argument: bad})


def of(memory: Memory, origin: Any) -> Memory:
    return memory.through(replace(memory.access, origin=origin))


@pytest.mark.covers("Z1")
@pytest.mark.parametrize("style", STYLES)
def test_of_a_memory_is_said_what_changes_how_it_is_read_and_nothing_else(
    memory: Memory, clock: MovableClock, style: str
) -> None:
    of(memory, "user").remember("Staging runs Postgres 16")
    of(memory, "tool").remember("Staging runs on the blue cluster")
    memory.remember("Staging runs a week behind", kind="decision")

    def lines() -> dict[str, str]:
        text = memory.context("what runs staging?", style=style, min_relevance=0).text
        found = re.findall(r"(\d+)((?:, [\w -]+)*)(?:\] |: )Staging runs", text)
        return dict(found)

    assert lines() == {"1": "", "2": ", low trust", "3": ""}
    clock.move(days=100)
    assert lines() == {"1": "", "2": ", low trust", "3": ""}, "still to be read as of today"
    clock.move(days=100)
    month = f", {memory.get(1).times.at:%Y-%m}"
    assert lines() == {"1": month, "2": ", low trust" + month, "3": month}


def test_a_turn_says_its_speaker_and_its_day_once_that_is_over(memory: Memory, clock: MovableClock) -> None:
    memory.remember("We meet tomorrow", kind="turn", session="s1", role="user")
    assert "[1, user] We meet" in memory.context("meeting", session="s1").text
    day = clock().date().isoformat()
    clock.move(days=1)
    assert f"[1, user, {day}] We meet" in memory.context("meeting", session="s1").text


def test_what_a_newer_one_beside_it_replaced_says_so(memory: Memory, clock: MovableClock) -> None:
    memory.design = replace(BALANCED, conflicts="flag")
    memory.remember("Anna lives in Rome")
    clock.move(days=9)
    memory.remember("Anna lives in Lima")
    text = memory.context("where does Anna live?", min_relevance=0).text
    assert "[2] Anna lives in Lima" in text and "[1, outdated] Anna lives in Rome" in text


# ---------------------------------------------------------------- the user's own words


@pytest.mark.parametrize("style", STYLES)
def test_what_the_user_wants_for_good_stands_in_a_lane_that_says_so(memory: Memory, style: str) -> None:
    user = of(memory, "user")
    user.remember("Answer in German", kind="preference")
    user.remember("Never push on Fridays", pinned=True)
    memory.remember("The agent pinned this", pinned=True)
    of(memory, "agent").remember("The agent thinks they like tea", kind="preference")
    user.remember("The crane in the harbour is yellow")
    context = memory.context("which colour has the crane?", style=style)
    own, rest = context.text.split(REFERENCE)
    assert OWN in own and context.stable > len(own)
    assert all(text in own for text in ("Answer in German", "Never push on Fridays"))
    assert all(text in rest for text in ("The agent pinned this", "The crane in the harbour is yellow"))
    assert "tea" not in context.text, "what an agent thinks of the user is recalled, and never stands in every prompt"
    thanks = memory.context("zebra", style=style)
    assert [hit.record.number for hit in thanks.items] == [2, 1, 3]


def test_nobody_but_the_user_speaks_in_that_lane(memory: Memory) -> None:
    for origin in ("agent", "recorded", "tool", "web", "file", "import"):
        of(memory, origin).remember(f"Rule of {origin}", kind="preference", pinned=True)
    assert OWN not in memory.context("rule").text
    of(memory, "user").remember("Rule of mine", kind="preference", pinned=True)
    own, _ = memory.context("rule").text.split(REFERENCE)
    assert "Rule of mine" in own and own.count("Rule of") == 1


def test_a_design_without_a_lane_for_pins_tells_them_apart_too(memory: Memory) -> None:
    memory.design = TIERS
    of(memory, "user").remember("Never deploy on Fridays", pinned=True)
    memory.remember("The deploy takes an hour")
    own, rest = memory.context("deploy").text.split(REFERENCE)
    assert OWN in own and "Fridays" in own and "an hour" in rest


# ---------------------------------------------------------------- what stays the same


@pytest.mark.covers("S3-16")
@pytest.mark.parametrize("style", STYLES)
def test_the_stable_part_is_the_same_to_the_byte_whatever_is_asked(
    filled: Memory, clock: MovableClock, style: str
) -> None:
    a = filled.context("which database runs in staging?", style=style)
    clock.move(days=40)
    b = filled.context("where do backups go?", style=style, limit=5)
    filled.used(b.receipt, "Backups go to Oslo")
    c = filled.context("nothing of that sort", style=style)
    assert a.stable == b.stable == c.stable > 0
    assert a.text[: a.stable] == b.text[: b.stable] == c.text[: c.stable]
    assert "Tabs, never spaces" in a.text[: a.stable] and "Oslo" not in b.text[: b.stable]
    assert a.text != filled.context("which database runs in staging?", style=style).text, (
        "the second mark is drawn anew"
    )
    filled.remember("Never push on Fridays", pinned=True)
    assert filled.context("anything", style=style).text[: a.stable] != a.text[: a.stable]


def test_the_stable_part_does_not_depend_on_conflicts_or_on_how_much_was_found(memory: Memory) -> None:
    for n in range(8):
        memory.remember(f"Rule number {n} for every prompt, in quite a few words", pinned=True)
    a = memory.remember("The port of the gateway is 8080").id
    b = memory.remember("The port of the gateway is 9090").id
    memory.link(str(a), str(b), "contradicts")
    memory.remember_many([f"The gateway has a long story, part {n}" for n in range(30)])
    heads = {
        memory.context(query, budget=400, profile=profile).text[: memory.context(query, budget=400).stable]
        for query in ("gateway port", "gateway story", "zebra")
        for profile in (None, "planner")
    }
    assert len(heads) == 1


def test_two_stores_have_different_marks_for_the_same_memories(tmp_path: Path, clock: MovableClock) -> None:
    texts = []
    for name in ("one", "two"):
        with Memory(tmp_path / f"{name}.db", project="atlas", clock=clock) as memory:
            memory.remember("Tabs, never spaces", pinned=True)
            context = memory.context("tabs")
            texts.append(context.text[: context.stable])
    assert texts[0] != texts[1]


# ---------------------------------------------------------------- places


@pytest.mark.covers("W0-2", "S0-20", "N0-1")
def test_the_strongest_stand_at_the_beginning_and_the_end() -> None:
    items = [Item(Hit(replace(a_record(), number=n), 0.0), "recall", "x", weight=n) for n in range(1, 8)]
    assert [item.record.number for item in arranged(items)] == [7, 5, 3, 1, 2, 4, 6]
    random.Random(1).shuffle(items)
    assert [item.record.number for item in arranged(items)] == [7, 5, 3, 1, 2, 4, 6]


@pytest.mark.covers("W0-2")
def test_the_best_hit_comes_first_and_the_second_best_last(memory: Memory) -> None:
    memory.remember_many([f"lunch fact number {n}" for n in range(10)])
    best = [hit.record.number for hit in memory.recall("lunch fact number 7", limit=10)]
    shown = [hit.record.number for hit in memory.context("lunch fact number 7", limit=10).items]
    assert (shown[0], shown[-1]) == (best[0], best[1]) and sorted(shown) == sorted(best)


@pytest.mark.covers("C0-2", "W0-2")
def test_the_last_turns_and_the_system_come_before_anything_else(memory: Memory, clock: MovableClock) -> None:
    for n, role in enumerate(["system", "user", "assistant", "user", "assistant", "user"]):
        memory.remember(f"turn {n} about lunch", kind="turn", session="s1", role=role)
        clock.move(minutes=1)
    memory.remember_many([f"lunch fact number {n}, which is long enough to fill a prompt" for n in range(20)])
    context = memory.context("lunch", session="s1", profile="assistant", budget=160)
    texts = [hit.record.text for hit in context.items]
    assert texts[-4:] == [f"turn {n} about lunch" for n in (0, 3, 4, 5)]
    plain = memory.context("lunch", session="s1", budget=160)
    assert [hit.record.text for hit in plain.items[-4:]] == texts[-4:], "they need no profile"


# ---------------------------------------------------------------- budgets


@pytest.mark.covers("W0-6", "S0-19", "S0-20")
def test_a_memory_that_does_not_fit_is_left_out_whole_and_a_smaller_one_enters(memory: Memory) -> None:
    memory.remember("lunch lunch lunch " + "and a very long story about soup " * 20)
    memory.remember("lunch is at noon")
    context = memory.context("lunch", budget=90, mode="max_quality", min_relevance=0)
    assert [hit.record.number for hit in context.items] == [2]
    assert context.left_out == (memory.get(1).id,)
    assert 0 < context.compression_ratio < 0.5


@pytest.mark.covers("W0-6")
def test_the_budget_holds_in_every_style_for_any_store(tmp_path: Path, clock: MovableClock) -> None:
    """10,000 stores under torture: what is counted is the text that is handed out."""
    random_numbers = random.Random(5)
    words = "lunch soup port gateway <b> ``` & 昼食 Köln \n - # id:7 🙂 naïve x=1;".split(" ")
    for number in range(rounds(10_000, 0.02)):
        with Memory(":memory:", clock=clock, embed="none") as memory:
            memory.remember_many(
                {
                    "text": "lunch " + " ".join(random_numbers.choices(words, k=random_numbers.randrange(1, 60))),
                    "pinned": random_numbers.random() < 0.2,
                }
                for _ in range(random_numbers.randrange(0, 12))
            )
            style = list(STYLES)[number % 4]
            budget = random_numbers.choice([0, 1, 30, 60, 120, 300, 1000, 100_000])
            mode = random_numbers.choice(["cheap", "balanced", "max_quality"])
            context = memory.context("lunch", budget=budget, style=style, mode=mode, limit=10)
            assert context.tokens == count_tokens(context.text) <= context.budget <= budget
            assert bool(context.text) == bool(context.items)
            ids = [hit.record.id for hit in context.items] + list(context.left_out)
            assert len(ids) == len(set(ids)), "each is shown or named, once"


def test_a_counter_that_charges_more_for_the_whole_still_keeps_the_budget(clock: MovableClock) -> None:
    with Memory(":memory:", clock=clock, count_tokens=lambda text: len(text) ** 2 // 1000) as memory:
        memory.remember_many([f"lunch fact number {n}" for n in range(10)])
        for budget in (0, 50, 100, 500, 5000):
            context = memory.context("lunch", budget=budget)
            assert context.tokens == len(context.text) ** 2 // 1000 <= budget


@pytest.mark.covers("N0-3")
def test_a_mode_says_how_hard_to_save(memory: Memory) -> None:
    memory.remember("lunch " + "soup with bread and cheese " * 80)
    raw = memory.context("lunch", mode="max_quality", budget=3000)
    mild = memory.context("lunch", budget=3000)
    hard = memory.context("lunch", mode="cheap", budget=3000)
    assert raw.tokens > mild.tokens > hard.tokens and hard.budget == 1500
    assert memory.get(1).text in raw.text
    assert "characters left out, memory 1 has them" in mild.text and "characters left out" in hard.text


@pytest.mark.covers("W3-7", "W3-8")
def test_the_pin_that_does_not_fit_is_named(memory: Memory) -> None:
    for n in range(6):
        memory.remember(f"Pinned rule number {n} with quite a few words in it", pinned=True)
    memory.remember("lunch is at noon")
    context = memory.context("lunch", budget=120)
    pins = {r.id for r in memory.list({"pinned": True})}
    shown = {hit.record.id for hit in context.items} & pins
    assert shown and set(context.left_out) >= pins - shown and pins - shown
    assert context.lanes["pinned"]["spent"] <= 120 // 2, "the other half is for what is asked"
    assert "lunch is at noon" in context.text
    assert any("lunch" in hit.record.text for hit in context.items), "pins leave room for what was asked"


@pytest.mark.covers("S3-17")
def test_a_window_can_be_told_in_three_ways(filled: Memory) -> None:
    assert filled.context("database", remaining=20_000).budget == 1600
    assert filled.context("database", window=8000, reserve=7000).budget == 1000
    assert filled.context("database", budget=77).budget == 77
    assert filled.context("database").budget == 1500
    assert filled.context("database", profile="global").budget == 8000
    with pytest.raises(Invalid, match="give one of budget, remaining and window"):
        filled.context("database", budget=5, window=10)


# ---------------------------------------------------------------- profiles


@pytest.mark.covers("N0-4", "C0-1")
def test_a_role_looks_at_its_own_things_first(memory: Memory, clock: MovableClock) -> None:
    memory.remember("When checkout retries twice, look at the plan", kind="note")
    memory.remember("Checkout retries twice because of its root cause", kind="note", tags=["bug_root_cause"])
    memory.remember("That checkout retries twice is in this file", kind="note", files=["src/checkout.py"])
    memory.remember("If checkout retries twice, heed the warning", kind="warning")

    def first(**arguments: Any) -> str:
        return memory.context("checkout retries twice", **arguments).items[0].record.text.split()[-1]

    assert first(profile="planner") == "cause"
    assert first(profile="planner", files=["checkout.py"]) == "file"
    assert first(profile="reviewer") in ("warning", "cause")
    own = Profile("mine", kinds={"note": 0.5}, tags=())
    assert first(profile=own) == "warning"
    clock.move(days=1)
    memory.remember("The checkout retries twice, says the newest", kind="note")
    assert first(profile="global") == "newest", "by time alone"
    plain = memory.context("checkout retries twice").items[0].record.number
    assert plain == memory.recall("checkout retries twice")[0].record.number


@pytest.mark.covers("N0-4")
def test_a_role_never_brings_in_what_was_not_found(memory: Memory) -> None:
    memory.remember("The harbour crane is yellow", kind="decision", tags=["design_constraint"])
    assert memory.context("zebra stripes", profile="planner").items == ()


# ---------------------------------------------------------------- conflicts


@pytest.mark.covers("S3-18", "C3-3", "S3-33")
@pytest.mark.parametrize("style", STYLES)
def test_both_sides_of_an_open_conflict_are_shown(memory: Memory, clock: MovableClock, style: str) -> None:
    old = memory.remember("The port of the gateway is 8080").id
    clock.move(days=3)
    memory.access = replace(memory.access, origin="user")
    new = memory.remember("Traffic enters at 9090 since the move").id
    memory.link(str(new), str(old), "contradicts")
    context = memory.context("which port has the gateway?", style=style, limit=1)
    assert {hit.record.id for hit in context.items} == {old, new}
    days = [r.times.at.date().isoformat() for r in (memory.get(str(new)), memory.get(str(old)))]
    assert f"! [2] ({days[0]}, user) and [1] ({days[1]}, agent) contradict each other; verify" in context.text
    memory.forget(str(new))
    assert "contradict" not in memory.context("which port has the gateway?", style=style).text, (
        "it died with its record"
    )


@pytest.mark.covers("C3-3")
def test_no_more_than_two_conflicts_are_told(memory: Memory) -> None:
    ids = [
        str(memory.remember(f"A rumour about the port of the gateway, number {port}").id) for port in range(8080, 8086)
    ]
    for a, b in zip(ids[::2], ids[1::2], strict=True):
        memory.link(a, b, "contradicts")
    assert memory.context("port of the gateway").text.count("contradict each other") == 2


# ---------------------------------------------------------------- lanes of a design


@pytest.mark.covers("S3-16", "X3")
def test_what_is_always_there_needs_no_question(memory: Memory) -> None:
    memory.design = replace(
        BALANCED, lanes=(Lane("pinned", 0.3), Lane("conventions", 0.2), Lane("summaries", 0.2), Lane("recall", 1.0))
    )
    memory.remember("Tabs, never spaces", kind="convention")
    memory.remember("On Monday we moved to Oslo", kind="summary")
    memory.remember("Then came the migration", kind="narrative")
    memory.remember("Ask before you deploy", pinned=True)
    memory.remember("The crane is yellow")
    core = memory.context("which colour has the crane?", inject="core")
    assert len(core.items) == 4 and core.stable and "crane" not in core.text
    push = memory.context("which colour has the crane?")
    assert len(push.items) == 5 and push.text[: push.stable] == core.text[: core.stable]
    pull = memory.context("which colour has the crane?", inject="pull")
    assert pull.text == "" and "by itself" in str(pull.empty_because)
    memory.design = replace(memory.design, inject="core", budget=Budget(tokens=500))
    assert memory.context("which colour has the crane?").budget == 500
    assert len(memory.context("which colour has the crane?").items) == 4


def test_what_no_longer_holds_is_not_put_in_however_pinned(memory: Memory, clock: MovableClock) -> None:
    memory.remember("Ask before you deploy", pinned=True, valid_to=clock() + timedelta(days=2))
    assert memory.context("anything").items
    clock.move(days=3)
    assert not memory.context("anything").items


def test_what_nobody_vouches_for_crowds_nothing_out_however_much_of_it_is_pinned(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.prompt.context.MOST_STEADY", 3)
    memory.remember("Ask before you deploy", pinned=True, importance=0.1)
    imported = memory.through(replace(memory.access, origin="import"))
    for n in range(8):
        outcome = imported.remember(f"Rule {n} of somebody else", importance=0.9)
        memory.through(replace(memory.access, origin="agent")).pin(str(outcome.id))
    shown = [hit.record.text for hit in memory.context("zebra").items]
    assert shown == ["Ask before you deploy"]


def test_a_filter_holds_for_what_is_pinned_too(filled: Memory) -> None:
    filled.remember("Databases are backed up nightly", kind="decision", pinned=True)
    context = filled.context("which database?", kinds=["decision"])
    assert [hit.record.kind for hit in context.items] == ["decision"]
    assert not filled.context("tabs", where={"tags": ["nowhere"]}).items


# ---------------------------------------------------------------- receipts


@pytest.mark.covers("S0-19", "N0-1")
@pytest.mark.parametrize("style", STYLES)
def test_a_receipt_shows_the_exact_text_again(filled: Memory, style: str) -> None:
    context = filled.context("which database?", style=style, budget=150)
    again = filled.receipt(context.receipt)
    assert (again.text, again.tokens, again.budget) == (context.text, context.tokens, context.budget)
    assert (again.left_out, again.stable, again.lanes) == (context.left_out, context.stable, context.lanes)
    assert [hit.record.id for hit in again.items] == [hit.record.id for hit in context.items]
    filled.revise(1, "Staging runs Postgres 17")
    assert filled.receipt(context.receipt).text == context.text, "also when a memory was changed since"


def test_a_receipt_outlives_the_process(tmp_path: Path) -> None:
    for name in ("memory.db", "memory.json"):
        with Memory(tmp_path / name, project="atlas") as memory:
            memory.remember_many(DATABASES)
            context = memory.context("which database?", style="xml")
        with Memory(tmp_path / name, project="atlas") as memory:
            assert memory.receipt(context.receipt).text == context.text


def test_the_receipt_of_a_recall_has_no_text(filled: Memory) -> None:
    found = filled.recall("which database?")
    again = filled.receipt(found.receipt)
    assert [hit.record.id for hit in again.items] == [hit.record.id for hit in found] and again.text == ""
    assert "nothing was put into a prompt" in str(again.empty_because)


@pytest.mark.parametrize("bad", ["", "r000", "nonsense", "r" * 500, "'; --"])
def test_an_unknown_receipt_is_not_found(filled: Memory, bad: str) -> None:
    with pytest.raises(NotFound, match="there is no receipt"):
        filled.receipt(bad)
    with pytest.raises(NotFound, match="there is no receipt"):
        filled.used(bad, "answer")


def test_a_receipt_is_only_for_those_who_may_read_what_it_shows(filled: Memory) -> None:
    context = filled.context("which database?")
    stranger = filled.through(access_for("reader", "project/elsewhere"))
    with pytest.raises(NotFound):
        stranger.receipt(context.receipt)


def test_erasing_a_memory_takes_the_receipts_that_showed_it(filled: Memory) -> None:
    shown = filled.context("which database runs in staging?")
    other = filled.context("tabs or spaces", inject="core")
    assert "Postgres" in shown.text and "Postgres" not in other.text
    filled.erase(1)
    with pytest.raises(NotFound):
        filled.receipt(shown.receipt)
    assert filled.receipt(other.receipt).text == other.text


def test_erasing_a_past_text_takes_the_receipts_that_may_have_shown_it(memory: Memory) -> None:
    memory.remember("The code of the safe is 4711")
    shown = memory.context("code of the safe")
    memory.revise(1, "The code of the safe is secret now")
    [past] = memory.list({"state": "superseded"})
    memory.erase(past.id)
    with pytest.raises(NotFound):
        memory.receipt(shown.receipt)
    assert "4711" not in repr(memory._tools.store.receipts("default", 99))


def test_texts_for_prompts_do_not_pile_up(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.store.sqlite.store.RENDERED_AT_MOST", 3)
    memory.remember_many(DATABASES)
    first = memory.recall("which database?").receipt
    kept = [memory.context("which database?").receipt for _ in range(6)]
    left = [line.id for line in memory._tools.store.receipts("default", 99)]
    assert set(left) == {first, *kept[3:]}


def test_leaving_a_receipt_does_not_read_the_log_through(tmp_path: Path) -> None:
    """A context leaves its line before it is handed out: what that costs must not grow with the log."""
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember_many(DATABASES)
        memory.context("which database?")
        plans: list[str] = []
        one = apsw.Connection(str(tmp_path / "memory.db"))
        store: Any = memory._tools.store

        def seen(statement: Any, bindings: Any) -> bool:
            said = statement if isinstance(statement, str) else ""
            if "recalls" in said and not said.startswith("INSERT"):
                plans.extend(f"{row[3]}: {said}" for row in one.execute(f"EXPLAIN QUERY PLAN {said}", bindings))
            return True

        here = store._connections.here()
        here.exec_trace = lambda cursor, statement, bindings: seen(statement, bindings)
        memory.context("which database?")
        here.exec_trace = None
        assert plans and not [plan for plan in plans if plan.startswith("SCAN recalls:")]


# ---------------------------------------------------------------- never in the way


@pytest.mark.covers("S3-16")
def test_a_damaged_store_gives_an_empty_context_that_says_why(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.remember("lunch is at noon", tags=["food"])
    apsw.Connection(str(tmp_path / "memory.db")).execute("UPDATE records SET tags = 'spoilt'")
    with Memory(tmp_path / "memory.db") as memory:
        with pytest.raises(StoreDamaged):
            memory.recall("lunch")
        context = memory.context("lunch")
        assert (context.text, context.items) == ("", ())
        assert "the prompt goes on without it: memory 1 cannot be read" in str(context.empty_because)


def test_pins_and_preferences_are_shown_though_recall_fails(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.remember("lunch is at noon", pinned=True)
    memory.access = replace(memory.access, origin="user")
    memory.remember("Answers are short", kind="preference")
    memory.remember("lunch was soup")

    def fails(*given: object, **more: object) -> None:
        raise StoreDamaged("the index cannot be read")

    monkeypatch.setattr(Memory, "_answer", fails)
    context = memory.context("lunch")
    assert {hit.text for hit in context.items} == {"lunch is at noon", "Answers are short"}
    assert "the index cannot be read" in "".join(context.skipped) and context.empty_because is None


def test_a_piece_of_a_document_is_shortened_to_what_fits_a_small_budget(memory: Memory) -> None:
    filler = " ".join(f"Sentence {n} is about nothing much at all." for n in range(40))
    memory.remember(f"{filler} The quorum is three cranes. {filler}", kind="document", files=["guide.md"])
    for budget in (200, 800):
        context = memory.context("how many cranes make the quorum?", budget=budget, min_relevance=0)
        assert "The quorum is three cranes." in context.text and context.tokens <= budget


def test_a_closed_memory_and_a_failing_counter_do_not_stop_a_prompt(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.db")
    memory.remember("lunch is at noon")
    memory.close()
    assert memory.context("lunch").empty_because

    def broken(text: str) -> int:
        raise RuntimeError(f"no tokenizer for {len(text)} characters")

    with Memory(tmp_path / "memory.db", count_tokens=broken) as memory:
        assert "RuntimeError" in str(memory.context("lunch").empty_because)


def test_wrong_arguments_are_still_errors(filled: Memory) -> None:
    wrong: list[tuple[type[MemoristError], dict[str, Any]]] = [
        (Invalid, {"limit": 0}), (Invalid, {"kinds": ["nonsense"]}), (Invalid, {"where": {"nonsense": 1}}),
        (Invalid, {"files": "a.py"}), (Invalid, {"session": 5}), (Invalid, {"task": 5}), (Invalid, {"scope": "a//b"}),
        (OutOfScope, {"scope": "project/elsewhere"}),
    ]  # fmt: skip
    for error, arguments in wrong:
        with pytest.raises(error):
            filled.context("which database?", **arguments)


@pytest.mark.parametrize("inject", ["core", "push"])
def test_a_question_or_kinds_of_another_type_are_errors_however_little_is_asked(filled: Memory, inject: str) -> None:
    for kinds in ("fact", 5, {"fact": 1}, [5]):
        with pytest.raises(Invalid, match=r"kinds (must be a list|are )"):
            filled.context("which database?", kinds=kinds, inject=inject)  # type: ignore[arg-type]
    for query in (None, 5, b"which"):
        with pytest.raises(Invalid, match="a question must be text"):
            filled.context(query, inject=inject)  # type: ignore[arg-type]


def test_json_is_json_and_a_page_without_memories_is_no_text(memory: Memory) -> None:
    assert memory.context("lunch", style="json").text == ""
    memory.remember("lunch is at noon")
    [(title, [text, mark])] = json.loads(memory.context("lunch", style="json").text).items()
    assert text == "1: lunch is at noon" and title == f"{REFERENCE} {mark}"
