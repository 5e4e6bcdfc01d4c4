"""Which triggers are taken, and what is refused."""

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import in_ram, rounds
from memorist import Memory
from memorist.errors import Invalid
from memorist.text.triggers import LARGEST_PROGRAM, MOST_TRIGGERS, Occurring, Trigger, checked, said_in, usable

BEWARE = "Restore the snapshot first: the nightly job locks everything"
OTHERS = ["Staging runs Postgres 16", "Anna likes tea", "The parser is written in Rust"]


def armed(memory: Memory, *triggers: str, text: str = BEWARE, **more: object) -> int:
    outcome = memory.remember(text, kind="warning", data={"triggers": list(triggers)}, **more)  # type: ignore[call-overload]
    assert outcome and outcome.record
    return int(outcome.record.number)


def users(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="user", actor="ann"))


def shown(memory: Memory, query: str, **more: object) -> list[int]:
    return [hit.number for hit in memory.recall(query, **more) if "triggered" in hit.why]  # type: ignore[arg-type]


def triggers_in(data: Mapping[str, Any]) -> tuple[Trigger, ...]:
    return usable(said_in(data)[:MOST_TRIGGERS])


@in_ram
def test_a_revision_changes_what_brings_it_up_and_undo_brings_it_back(memory: Memory) -> None:
    number = armed(memory, "deploy")
    done = memory.revise(number, data={"triggers": ["release"]})
    assert shown(memory, "release") == [number] and not shown(memory, "deploy")
    memory.undo(done.batch)
    assert shown(memory, "deploy") == [number] and not shown(memory, "release")
    memory.revise(number, data={})
    assert not shown(memory, "deploy")


@in_ram
def test_saying_it_again_adds_what_brings_it_up(memory: Memory) -> None:
    number = armed(memory, "deploy")
    assert armed(memory, "release") == number
    assert memory.get(number).data["triggers"] == ["deploy", "release"]
    assert shown(memory, "release") == [number] == shown(memory, "deploy")


@pytest.mark.covers("Z10")
@pytest.mark.parametrize(
    "bad",
    [
        "/.*/", "/.+/", r"/\w/", "/[a-z]+/", "//", "/a?/", "/(?:)/", "/e/", r"/\b/", "/[^x]/", "/x*/",  # nearly any text
        "the", "is", "please", "/the|a|in|is|i|o/",
        "/(/", "/a{2000}/", r"/(?=a)b/", r"/(a)\1/", "/" + "a" * 300 + "/", "/((a{1,30}){1,30})!/", r"/\p{Lu}\p{Ll}{5,60}!/",
        "", "  ", 7, None, {"a": 1}, ["x"], "a\x00b", "x" * 201,
    ],
)  # fmt: skip
@in_ram
def test_what_cannot_be_a_trigger_says_so(memory: Memory, bad: object) -> None:
    with pytest.raises(Invalid, match=r"triggers|data"):
        memory.remember(BEWARE, kind="warning", data={"triggers": [bad]})
    assert memory.count() == 0
    memory.remember(BEWARE)
    with pytest.raises(Invalid, match=r"triggers|data"):
        memory.revise(1, data={"triggers": [bad]})


@in_ram
def test_so_many_are_allowed(memory: Memory) -> None:
    many = [f"word{n}" for n in range(MOST_TRIGGERS + 1)]
    with pytest.raises(Invalid, match="17"):
        memory.remember(BEWARE, data={"triggers": many})
    with pytest.raises(Invalid, match="list of texts"):
        memory.remember(BEWARE, data={"triggers": []})
    assert memory.remember(BEWARE, data={"triggers": "one text"}).record.data["triggers"] == ["one text"]  # type: ignore[union-attr]


@pytest.mark.covers("Z10", "T4")
@in_ram
def test_a_file_is_taken_as_it_is_and_what_is_wrong_in_it_does_nothing(memory: Memory) -> None:
    outside = memory.through(replace(memory.access, origin="import", actor="import"))
    wrong = [".*", "/.*/", 7, "/(/", "the"]
    outcome = outside.remember(BEWARE, kind="warning", data={"triggers": [*wrong, "deploy"], "mine": 1})
    number = outcome.record.number  # type: ignore[union-attr]
    users(memory).promote(number)
    assert memory.get(number).data["triggers"] == [*wrong, "deploy"]
    assert not shown(memory, "the weather, anything at all") and shown(memory, "deploy") == [number]
    for data in ({"triggers": 5}, {"triggers": {"a": 1}}, {"triggers": None}, {"triggers": [[["x"]]]}):
        odd = outside.remember(f"odd {data}", kind="warning", data=data)
        users(memory).promote(odd.record.number)  # type: ignore[union-attr]
        users(memory).remember(f"odd {data}", kind="warning", data={"triggers": ["deploy"]})
    assert memory.recall("deploy")


def evil(chance: random.Random) -> str:
    """A pattern of the sort that others need an age for."""
    letter, count, more = chance.choice("ab."), chance.randint(2, 60), chance.randint(2, 30)
    return "/" + chance.choice(
        [
            f"({letter}+)+!", f"({letter}|{letter}{letter})+!", f"({letter}?){{{count}}}{letter}{{{count}}}!",
            f"[ab]*a[ab]{{{count}}}!", f"(({letter}{{1,{more}}}){{1,{more}}})!", f"(a.{{0,{more}}}){{{more}}}!",
            f"(.{{1,{count}}}a){{1,{more}}}!", f"(\\w+\\s?){{{count}}}!", f"a.{{{count}}}b.{{{more}}}!", "(.*a){20}!", "(x+x+)+y!",
        ]
    ) + "/"  # fmt: skip


@pytest.mark.covers("Z10")
def test_a_hundred_evil_patterns_are_refused_or_fast() -> None:
    chance = random.Random(10)
    texts = ["a" * 100_000, "".join(chance.choice("ab ") for _ in range(100_000)), "aaaa b" * 17_000]
    taken, slowest = 0, 0.0
    for _ in range(100):
        try:
            [trigger] = triggers_in({"triggers": checked([evil(chance)])})
        except Invalid:
            continue
        taken += 1
        for text in texts:
            context, spent = Occurring.of(text), []
            for _again in range(2):
                before = time.thread_time()
                trigger.occurs(context)
                spent.append(time.thread_time() - before)
            slowest = max(slowest, min(spent))
    assert 20 <= taken < 100 and slowest <= 0.05


@settings(max_examples=rounds(2000), deadline=None)
@given(st.lists(st.text(max_size=30) | st.integers() | st.none(), max_size=4), st.text(max_size=200))
def test_any_list_is_taken_or_refused_and_any_text_can_be_read(given_: list[object], said: str) -> None:
    context = Occurring.of(said)
    context.meets(triggers_in({"triggers": given_}))
    try:
        stored = checked(given_)
    except Invalid:
        return
    assert len(triggers_in({"triggers": stored})) == len(stored) <= MOST_TRIGGERS
    for trigger in triggers_in({"triggers": stored}):
        if trigger.pattern is None:
            assert trigger.occurs(Occurring.of(f"… {trigger.said} …"))
        else:
            assert trigger.pattern.programsize <= LARGEST_PROGRAM


@pytest.mark.covers("T4", "X18")
@in_ram
def test_an_agent_asks_before_something_comes_up_in_every_project(memory: Memory) -> None:
    agent = memory.through(replace(memory.access, origin="agent", actor="agent"))
    outcome = agent.remember(BEWARE, kind="warning", scope="global", data={"triggers": ["deploy"]})
    assert outcome.outcome == "needs_consent" and not shown(memory, "deploy")
    assert agent.remember(BEWARE, kind="warning", scope="global").outcome == "added"
    assert agent.revise(1, data={"triggers": ["deploy"]}).outcome == "needs_consent" and not shown(memory, "deploy")
    users(memory).revise(1, data={"triggers": ["deploy"]})
    assert shown(memory, "deploy") == [1]
