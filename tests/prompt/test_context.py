"""Memories as text for a prompt: what enters, what stays the same, places, marks, budgets, receipts, failures."""

import json
import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.design import Budget, Lane
from memorist.designs import BALANCED, TIERS
from memorist.errors import Invalid, NotFound, OutOfScope, StoreDamaged
from memorist.prompt.modes import Profile
from memorist.prompt.render import CLIENTS, OWN, REFERENCE, STYLES, Item, arranged, page
from memorist.records import Hit, changed
from memorist.testing import MovableClock, a_record
from memorist.text.tokens import count_tokens

DATABASES = ["Staging runs Postgres 16", "The reporting database is DuckDB", "Backups of the database go to Oslo"]
NOTES = st.lists(
    st.sampled_from("the lunch harbour Köln never port 8080 because moved to v2.1 e-mail".split()),
    min_size=12,
    max_size=26,
)


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.remember_many(DATABASES)
    memory.remember("Tabs, never spaces", kind="convention", pinned=True)
    return memory


def of(memory: Memory, origin: Any) -> Memory:
    return memory.through(replace(memory.access, origin=origin))


def items_of(texts: list[str], lane: str = "recall", **more: Any) -> list[Item]:
    records = [
        changed(a_record(), id=f"{lane}{n}", number=n * 31_007, text=text, **more) for n, text in enumerate(texts, 1)
    ]
    return [Item(Hit(record, 1.0), lane, record.text, weight=-record.number) for record in records]


# ---------------------------------------------------------------- styles and marks


@pytest.mark.covers("S3-18")
@pytest.mark.parametrize(
    ("client", "begins"),
    [("claude-code", "<project_memory>"), ("gemini", "## Memory"), ("codex", REFERENCE), ("opencode", REFERENCE)],
)
def test_each_client_gets_the_style_it_reads_best(filled: Memory, client: str, begins: str) -> None:
    text = filled.context("which database?", client=client).text
    assert text.startswith(begins) and REFERENCE in text
    assert filled.context("which database?", style=CLIENTS[client]).text.splitlines()[:2] == text.splitlines()[:2]
    assert filled.context("which database?", client=client, style="json").text.startswith("{")


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=rounds(1000, 0.03), deadline=None)
@given(st.lists(NOTES, max_size=4), st.lists(NOTES, max_size=40))
def test_a_page_costs_fifty_tokens_and_a_line_five(style: str, pins: list[list[str]], found: list[list[str]]) -> None:
    steady, texts = [" ".join(words) for words in pins], [" ".join(words) for words in found]
    items = items_of(steady, "pinned", origin="user", trust="high", pinned=True)
    text = page(
        STYLES[style],
        items,
        items_of(texts),
        [],
        lambda text: f"{hash(text) & 0xFFFFFFFF:x}",
    )[0]
    frame = count_tokens(text) - sum(map(count_tokens, (*steady, *texts)))
    assert frame <= 50 + 5 * len(items + texts) if items or texts else text == ""  # type: ignore[operator]


def test_json_is_json_and_a_page_without_memories_is_no_text(memory: Memory) -> None:
    empty = memory.context("lunch", style="json")
    assert (empty.text, empty.tokens, empty.items) == ("", 0, ()) and empty.empty_because
    memory.remember("lunch is at noon")
    [(title, [text, mark])] = json.loads(memory.context("lunch", style="json").text).items()
    assert text == "1: lunch is at noon" and title == f"{REFERENCE} {mark}"


@pytest.mark.covers("Z1")
@pytest.mark.parametrize("style", STYLES)
def test_of_a_memory_is_said_what_changes_how_it_is_read(memory: Memory, clock: MovableClock, style: str) -> None:
    of(memory, "tool").remember("Staging runs on the blue cluster")
    memory.remember("We meet tomorrow in staging", kind="turn", session="s1", role="user")
    text = memory.context("what runs staging?", session="s1", style=style, min_relevance=0).text
    assert "1, low trust" in text and "2, user" in text
    day = clock().date()
    clock.move(days=200)
    text = memory.context("what runs staging?", session="s1", style=style, min_relevance=0).text
    assert f"1, low trust, {day:%Y-%m}" in text and f"2, user, {day.isoformat()}" in text


@pytest.mark.parametrize("style", STYLES)
def test_only_what_the_user_wants_for_good_stands_under_the_heading_that_says_so(memory: Memory, style: str) -> None:
    of(memory, "user").remember("Answer in German", kind="preference")
    of(memory, "user").remember("Never push on Fridays", pinned=True)
    for origin in ("agent", "recorded", "tool", "web", "file", "import"):
        of(memory, origin).remember(f"Rule of {origin}", kind="preference", pinned=True)
    own, _ = memory.context("which rule?", style=style).text.split(REFERENCE)
    assert OWN in own and "Answer in German" in own and "Never push" in own and "Rule of" not in own
    memory.design = TIERS  # no lane for pins
    assert "Never push" in memory.context("push", style=style).text.split(REFERENCE)[0]


# ---------------------------------------------------------------- what stays the same, and places


@pytest.mark.covers("S3-16")
@pytest.mark.parametrize("style", STYLES)
def test_the_stable_part_is_the_same_to_the_byte_whatever_is_asked(
    filled: Memory, clock: MovableClock, style: str
) -> None:
    a = filled.context("which database runs in staging?", style=style)
    clock.move(days=40)
    b = filled.context("where do backups go?", style=style, limit=5)
    filled.used(b.receipt, "Backups go to Oslo")
    filled.link("1", "2", "contradicts")
    c = filled.context("which database runs in staging?", style=style, profile="planner")
    assert a.stable > 0 and len({each.text[: each.stable] for each in (a, b, c)}) == 1
    assert "Tabs, never spaces" in a.text[: a.stable] and "Oslo" not in b.text[: b.stable] and a.text != c.text
    filled.remember("Never push on Fridays", pinned=True)
    assert filled.context("anything", style=style).text[: a.stable] != a.text[: a.stable]


@pytest.mark.covers("W0-2", "S0-20", "N0-1")
def test_the_strongest_stand_at_the_beginning_and_the_end(memory: Memory) -> None:
    items = [Item(Hit(replace(a_record(), number=n), 0.0), "recall", "x", weight=n) for n in range(1, 8)]
    random.Random(1).shuffle(items)
    assert [item.record.number for item in arranged(items)] == [7, 5, 3, 1, 2, 4, 6]
    memory.remember_many([f"lunch fact number {n}" for n in range(10)])
    best = [hit.number for hit in memory.recall("lunch fact number 7", limit=10, min_relevance=0)]
    shown = [hit.number for hit in memory.context("lunch fact number 7", limit=10, min_relevance=0).items]
    assert (shown[0], shown[-1]) == (best[0], best[1]) and sorted(shown) == sorted(best)
    few = memory.context("lunch fact number 7", limit=10)
    assert few.items[0].number == best[0] and len(few.items) < 10
    assert any("min_relevance=0 shows them" in note for note in few.skipped)


@pytest.mark.covers("C0-2", "W0-2")
def test_the_last_turns_and_the_system_come_before_anything_else(memory: Memory, clock: MovableClock) -> None:
    for n, role in enumerate(["system", "user", "assistant", "user", "assistant", "user"]):
        memory.remember(f"turn {n} about lunch", kind="turn", session="s1", role=role)
        clock.move(minutes=1)
    memory.remember_many([f"lunch fact number {n}, which is long enough to fill a prompt" for n in range(20)])
    for profile in ("assistant", None):
        context = memory.context("lunch", session="s1", profile=profile, budget=160)
        assert [hit.text for hit in context.items][-4:] == [f"turn {n} about lunch" for n in (0, 3, 4, 5)]


# ---------------------------------------------------------------- budgets


@pytest.mark.covers("W0-6", "S0-19", "S0-20")
def test_the_budget_holds_in_every_style_for_any_store(clock: MovableClock) -> None:
    """What is counted is the text that is handed out; each memory found is shown whole or named."""
    draw = random.Random(5)
    words = "lunch soup port gateway <b> ``` & 昼食 Köln \n - # id:7 🙂 naïve x=1;".split(" ")
    for number in range(rounds(5000, 0.02)):
        charge = (lambda text: len(text) ** 2 // 1000) if number % 5 == 0 else count_tokens
        with Memory(":memory:", clock=clock, embed="none", count_tokens=charge) as memory:
            memory.remember_many(
                {
                    "text": "lunch " + " ".join(draw.choices(words, k=draw.randrange(1, 60))),
                    "pinned": draw.random() < 0.2,
                }
                for _ in range(draw.randrange(0, 12))
            )
            budget, mode = (
                draw.choice([0, 1, 30, 60, 120, 300, 1000, 100_000]),
                draw.choice(["cheap", "balanced", "max_quality"]),
            )
            context = memory.context("lunch", budget=budget, style=list(STYLES)[number % 4], mode=mode, limit=10)  # type: ignore[arg-type]
            assert context.tokens == charge(context.text) <= context.budget <= budget or not context.text
            ids = [hit.record.id for hit in context.items] + list(context.left_out)
            assert bool(context.text) == bool(context.items) and len(ids) == len(set(ids))


@pytest.mark.covers("W3-7", "W3-8")
def test_the_pin_that_does_not_fit_is_named_and_leaves_room_for_what_is_asked(memory: Memory) -> None:
    for n in range(6):
        memory.remember(f"Pinned rule number {n} with quite a few words in it", pinned=True)
    memory.remember("lunch is at noon")
    context = memory.context("lunch", budget=120)
    pins, shown = {r.id for r in memory.list({"pinned": True})}, {hit.record.id for hit in context.items}
    assert shown & pins and set(context.left_out) >= pins - shown and pins - shown
    assert context.lanes["pinned"]["spent"] <= 60 and "lunch is at noon" in context.text


# ---------------------------------------------------------------- roles, conflicts, lanes


@pytest.mark.covers("N0-4", "C0-1")
def test_a_role_looks_at_its_own_things_first_and_brings_in_nothing_else(memory: Memory, clock: MovableClock) -> None:
    memory.remember("When checkout retries twice, look at the plan", kind="note")
    memory.remember("Checkout retries twice because of its root cause", kind="note", tags=["bug_root_cause"])
    memory.remember("That checkout retries twice is in this file", kind="note", files=["src/checkout.py"])
    memory.remember("If checkout retries twice, heed the warning", kind="warning")

    def first(**arguments: Any) -> str:
        return memory.context("checkout retries twice", **arguments).items[0].record.text.split()[-1]

    assert first(profile="planner") == "cause" and first(profile="planner", files=["checkout.py"]) == "file"
    assert first(profile=Profile("mine", kinds={"note": 0.5}, tags=())) == "warning"
    clock.move(days=1)
    memory.remember("The checkout retries twice, says the newest", kind="decision")
    assert first(profile="global") == "newest", "by time alone"
    assert memory.context("zebra stripes", profile="planner").items == ()


@pytest.mark.covers("S3-18", "C3-3", "S3-33")
@pytest.mark.parametrize("style", STYLES)
def test_both_sides_of_an_open_conflict_are_shown_and_two_are_told_at_most(
    memory: Memory, clock: MovableClock, style: str
) -> None:
    old = memory.remember("The port of the gateway is 8080").id
    clock.move(days=3)
    new = of(memory, "user").remember("Traffic enters at 9090 since the move").id
    memory.link(str(new), str(old), "contradicts")
    context = memory.context("which port has the gateway?", style=style, limit=1)
    assert {hit.record.id for hit in context.items} == {old, new}
    days = [r.times.at.date().isoformat() for r in (memory.get(str(new)), memory.get(str(old)))]
    assert f"! [2] ({days[0]}, user) and [1] ({days[1]}, agent) contradict each other; verify" in context.text
    of(memory, "user").forget(str(new))
    assert "contradict" not in memory.context("which port has the gateway?", style=style).text
    rumours = (
        "Ann heard something about the port of the gateway", "A port of the gateway was closed in spring",
        "Guests complained to us about the gateway and its port", "The gateway has a blue light above its port",
        "Nobody has ever seen the port of that gateway", "The port was painted when the gateway was new",
    )  # fmt: skip
    ids = [str(memory.remember(text).id) for text in rumours]
    for a, b in zip(ids[::2], ids[1::2], strict=True):
        memory.link(a, b, "contradicts")
    assert memory.context("port of the gateway", style=style, min_relevance=0).text.count("contradict each other") == 2


@pytest.mark.covers("S3-16", "X3")
def test_what_is_always_there_needs_no_question(memory: Memory, clock: MovableClock) -> None:
    lanes = (Lane("pinned", 0.3), Lane("conventions", 0.2), Lane("summaries", 0.2), Lane("recall", 1.0))
    memory.design = replace(BALANCED, lanes=lanes, budget=Budget(tokens=500))
    memory.remember("Tabs, never spaces", kind="convention")
    memory.remember("On Monday we moved to Oslo", kind="summary")
    memory.remember("Ask before you deploy", pinned=True, valid_to=clock() + timedelta(days=2))
    memory.remember("The crane is yellow")
    core, push, pull = (memory.context("which colour has the crane?", inject=how) for how in ("core", "push", "pull"))  # type: ignore[arg-type]
    assert len(core.items) == 3 and core.budget == 500 and "crane" not in core.text
    assert len(push.items) == 4 and push.text[: push.stable] == core.text[: core.stable]
    assert pull.text == "" and "by itself" in str(pull.empty_because)
    clock.move(days=3)
    assert "deploy" not in memory.context("anything").text, "what no longer holds is not put in, however pinned"
    assert not memory.context("crane", where={"tags": ["nowhere"]}).items, "a filter holds for what is steady too"


# ---------------------------------------------------------------- receipts and failures


@pytest.mark.covers("S0-19", "N0-1")
@pytest.mark.parametrize("style", STYLES)
def test_a_receipt_shows_the_exact_text_again_until_what_it_showed_is_erased(filled: Memory, style: str) -> None:
    context = filled.context("which database runs in staging?", style=style, budget=150)
    filled.revise(1, "Staging runs Postgres 17")
    again = filled.receipt(context.receipt)
    for name in ("text", "tokens", "budget", "left_out", "stable", "lanes"):
        assert getattr(again, name) == getattr(context, name)
    found = filled.receipt(filled.recall("which database?").receipt)
    assert found.text == "" and "nothing was put into a prompt" in str(found.empty_because)
    filled.erase(1)
    for gone in (context.receipt, "nonsense"):
        with pytest.raises(NotFound):
            filled.receipt(gone)


@pytest.mark.covers("S3-16")
def test_a_prompt_never_fails_because_of_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object, **more: object) -> Any:
        raise StoreDamaged("the index cannot be read")

    with Memory(tmp_path / "memory.db") as memory:
        memory.remember("lunch is at noon", pinned=True)
        memory.remember("lunch was soup", tags=["food"])
        with monkeypatch.context() as patch:
            patch.setattr(Memory, "_answer", broken)
            context = memory.context("lunch")
            assert [hit.text for hit in context.items] == ["lunch is at noon"] and "the index" in "".join(
                context.skipped
            )
        wrong: list[Any] = [{"limit": 0}, {"kinds": ["x"]}, {"where": {"x": 1}}, {"files": "a.py"}, {"style": "html"}]
        for arguments in (*wrong, {"client": 5}, {"mode": ""}, {"profile": "x"}, {"inject": "x"}, {"min_relevance": 2}):
            with pytest.raises(Invalid):
                memory.context("which database?", **arguments)
        with pytest.raises(OutOfScope):
            memory.context("which database?", scope="project/elsewhere")
    assert memory.context("lunch").empty_because, "closed"
    apsw.Connection(str(tmp_path / "memory.db")).execute("UPDATE records SET tags = 'spoilt' WHERE tags != '[]'")
    with Memory(tmp_path / "memory.db", count_tokens=broken) as memory:
        assert "the prompt goes on without it" in str(memory.context("lunch").empty_because)
