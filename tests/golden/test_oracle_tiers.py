"""Random histories through founding document 000, as a naive model has it, and through the engine: both must hold the same.

Deliberate differences are named here, each with its reason.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from golden.conftest import rounds
from golden.driver import Clock, Invalid, Lib, item_of, retaining, seed
from golden.oracles import tiers as document

HISTORIES = 500
FEW = 12  # items that a project may have here; the document's thousand would take long
TASKS, STAGES, TAGS = ("1", "2"), ("look", "fix"), ("db", "api", "ui")
LONGEST = 60  # tokens of one rendered item, here
SHARED = "zebra"  # in every text and question: what is relevant is another matter than what is important
DIFFERENCES = {
    "equals": "W0-3: of equals the newest comes first; the document's sort puts the oldest first",
    "unknown operator": "an operator that does not exist is an error that names those that do; in the document it never matches",
    "consent": "W0-5: a preference and clearing everything are asked about by default, and denied where nobody can be asked",
    "evicting": "W0-4: eviction spares the newest of today, a tenth of the limit, and the just used; down to nine tenths",
    "tokens": "W0-6: tokens are counted on the rendered text, not as words",
    "shares": "W0-1: the shares of the tiers are kept; the document computes them and lets all compete in one list",
    "cut by time": "W0-3: no cut to the latest before importance counts",
}
pytestmark = pytest.mark.covers(
    "S0-2", "S0-3", "S0-4", "S0-7", "S0-8", "S0-12", "S0-14", "S0-15", "S0-16", "S0-22", "S0-23"
)


class Both:
    """One history, told to the model and to the engine."""

    def __init__(self, lib: Lib, clock: Clock, number: int, answers: list[bool]) -> None:
        self.draw, self.clock, self.lib, self.answers = random.Random(number), clock, lib, answers
        self.engine = seed("tiers", lib)
        self.model = document.Tiers("atlas", lambda: clock().isoformat(), lambda: answers[-1], FEW)
        self.said = 0

    def tiers(self) -> Iterator[tuple[str, document.Backend, Any]]:
        yield "project", self.model.project, self.engine.project
        yield "global", self.model.everywhere, self.engine.everywhere
        for task in TASKS:
            yield f"task/{task}", self.model.task(task), self.engine.task(task)

    def text(self) -> str:
        self.said += 1
        return f"{SHARED} {self.draw.choice(('cache', 'deploy', 'parser'))} item {self.said:03}"

    def step(self) -> None:
        self.clock.move(minutes=self.draw.choice((1, 60, 60 * 24 * 40)))
        self.answers.append(self.draw.random() < 0.7)
        self.draw.choice(STEPS)(self)

    # ------------------------------------------------------------ what may happen

    def reasons(self) -> None:
        task, stage, text = self.draw.choice(TASKS), self.draw.choice(STAGES), self.text()
        same(self.model.add_reasoning(task, text, stage), self.engine.task(task).add_reasoning(text, stage))

    def runs_a_tool(self) -> None:
        task, tool, text = self.draw.choice(TASKS), self.draw.choice(TAGS), self.text()
        same(self.model.add_tool_output(task, tool, text), self.engine.task(task).add_tool_output(tool, text))

    def decides(self) -> None:
        text, tags = self.text(), self.draw.sample(TAGS, self.draw.randint(0, 2))
        same(self.model.add_decision(text, tags), self.engine.add_decision(text, tags))

    def agrees_on_a_convention(self) -> None:
        text, scope = self.text(), self.draw.choice(TAGS)
        same(self.model.add_convention(text, scope), self.engine.add_convention(text, scope))

    def fails(self) -> None:
        text, code = self.text(), self.draw.choice(TAGS)
        same(self.model.add_failure(code, text), self.engine.add_failure({"code": code}, text))

    def prefers(self) -> None:
        text, category = self.text(), self.draw.choice(TAGS)
        same(self.model.add_preference(text, category), self.engine.add_preference(text, category))

    def finds_a_pattern(self) -> None:
        text, domain = self.text(), self.draw.choice(TAGS)
        same(self.model.add_pattern(text, domain), self.engine.add_pattern(text, domain))

    def adds_an_item(self) -> None:
        name, naive, items = self.draw.choice([each for each in self.tiers() if each[0] != "global"])
        text, kind, worth = self.text(), self.draw.choice(("note", "code", "error")), self.draw.choice((0.2, 0.7))
        item = document.Item(text, kind, items.scope, self.clock().isoformat(), [name], worth, {"text": text})
        same(naive.add(item), items.add(item_of({"text": text}, kind=kind, tags=[name], importance=worth)))

    def deletes(self) -> None:
        _, naive, items = self.draw.choice(list(self.tiers()))
        if naive is not self.model.everywhere and naive.count():
            name = self.draw.choice(naive.list_all()).text
            assert naive.delete(name) and items.delete(ids(items)[name])
        assert not items.delete("no such item") and not naive.delete("no such item")

    def clears_everything_global(self) -> None:
        if self.draw.random() < 0.2 and self.model.everywhere.count():
            assert self.model.clear_all() == self.engine.clear_all()

    def promotes(self) -> None:
        task = self.draw.choice(TASKS)
        if naive := self.model.task(task).list_all():
            name = self.draw.choice(naive).text
            self.engine.task(task).promote(ids(self.engine.task(task))[name])
            self.model.promote(task, name)

    def ends_a_task(self) -> None:
        task = self.draw.choice(TASKS)
        known = ids(self.engine.task(task))
        keep = self.draw.sample(sorted(known), min(len(known), self.draw.randint(0, 2)))
        self.engine.cleanup_task(task, keep=[known[name] for name in keep])
        self.model.task(task)
        self.model.cleanup_task(task, keep)

    def asks(self) -> None:
        filters, order, limit = a_filter(self.draw), self.draw.choice(ORDERS), self.draw.randint(1, 8)
        name = order.removeprefix("-")
        for _, naive, items in self.tiers():
            wanted, found = naive.query(filters, 1000, order), items.query(filters, 1000, order)
            assert {item.text for item in wanted} == {said(item) for item in found}, (filters, order)
            assert [getattr(item, name) for item in wanted] == [getattr(item, name) for item in found]  # "equals"
            assert items.query(filters, limit, order) == found[:limit]


STEPS: tuple[Callable[[Both], None], ...] = (
    Both.reasons, Both.runs_a_tool, Both.decides, Both.agrees_on_a_convention, Both.fails, Both.prefers,
    Both.finds_a_pattern, Both.adds_an_item, Both.deletes, Both.clears_everything_global, Both.promotes, Both.ends_a_task,
    Both.asks, Both.asks,
)  # fmt: skip
ORDERS = ("timestamp", "-timestamp", "importance", "-importance", "source", "-source", "kind", "-kind")


KINDS = ("decision", "failure", "error", "preference", "reasoning", "note", "code", {"$ne": "note"}, {"$ne": "decision"},
         {"$gte": "note", "$lt": "tool"}, ["note"])  # fmt: skip


def a_filter(draw: random.Random) -> dict[str, Any]:
    some = {
        "kind": draw.choice(KINDS),
        "tags": draw.sample(TAGS, draw.randint(1, 2)),
        "importance": draw.choice(
            (0.9, {"$gte": 0.7}, {"$gt": 0.5, "$lt": 0.9}, {"$lte": 0.85}, {"$ne": 0.7}, {"$eq": 0.8})
        ),
        "source": draw.choice(("global", "project/atlas", "task/1", "task/2/look")),
    }
    return {name: some[name] for name in draw.sample(sorted(some), draw.randint(0, 2))}


def said(item: Any) -> str:
    """What the model calls the item: the text of its payload."""
    payload = item.payload
    return str(payload.get("lesson") or payload.get("output") or payload.get("text") or payload[item.kind])


def ids(items: Any) -> dict[str, str]:
    return {said(item): item.id for item in items.list_all()}


def same(wanted: document.Item | None, got: Any | None) -> None:
    assert (wanted is None) == (got is None)
    if wanted is not None and got is not None:
        told = (said(got), got.kind, got.source, got.timestamp, list(got.tags), got.importance, got.payload)
        assert told == (wanted.text, wanted.kind, wanted.source, wanted.timestamp, wanted.tags, wanted.importance,
                        wanted.payload)  # fmt: skip


def held(both: Both) -> None:
    """Both hold the same, with every field. What was promoted keeps its source: it says where it comes from."""
    for name, naive, items in both.tiers():
        found = {said(item): item for item in items.list_all()}
        assert found.keys() == naive.items.keys(), name
        assert items.count() == naive.count()
        for text, item in found.items():
            same(naive.get(text), item)


@contextmanager
def a_history(number: int, max_items: int = 10_000) -> Iterator[Both]:
    clock, answers = Clock(), [True]
    design = retaining("tiers", max_items=max_items)
    with Lib(design=design, embed="none", clock=clock, confirm=lambda ask: answers[-1]) as lib:
        yield Both(lib, clock, number, answers)


# ---------------------------------------------------------------- the tiers


def test_model_and_engine_hold_the_same() -> None:
    for number in range(rounds(HISTORIES, 0.02)):
        with a_history(number) as both:
            for _ in range(30):
                both.step()
                held(both)
            both.clock.move(days=800)
            both.lib.upkeep()
            held(both)  # nothing expires, nothing fades, nothing global is evicted


def test_an_unknown_operator_is_an_error() -> None:
    with a_history(0) as both, pytest.raises(Invalid):
        both.engine.project.query({"importance": {"$near": 0.9}})


@pytest.mark.covers("W0-5")
def test_with_nobody_to_ask_nothing_global_is_added_or_cleared() -> None:
    with Lib(design="tiers", embed="none") as lib:
        tools = seed("tiers", lib)
        assert tools.add_preference("short", "style") is None
        assert tools.add_pattern("retry", "nets") and not tools.clear_all()


# ---------------------------------------------------------------- eviction


def evicted(number: int, minutes: float) -> tuple[set[str], set[str]]:
    """What the model and the engine let go of a project that is too full."""
    with a_history(number, FEW) as both:
        for _ in range(both.draw.randint(FEW + 1, 3 * FEW)):
            both.draw.choice((Both.decides, Both.agrees_on_a_convention, Both.fails))(both)
            both.clock.move(minutes=minutes)
        latest = sorted(both.model.project.list_all(), key=lambda item: item.timestamp)[int(FEW * 0.9) - FEW :]
        new = [
            item.text for item in latest if both.clock() - datetime.fromisoformat(item.timestamp) < timedelta(days=1)
        ]
        before = set(both.model.project.items)
        wanted = both.model.evict(down_to=int(FEW * 0.9), spared=new)  # "evicting"
        both.lib.upkeep()
        return {item.text for item in wanted}, before - ids(both.engine.project).keys()


@pytest.mark.covers("S0-13", "W0-4")
@pytest.mark.parametrize("minutes", [1, 60 * 24 * 2, 60 * 24 * 60])
def test_the_least_important_go_and_of_these_the_oldest(minutes: float) -> None:
    for number in range(rounds(HISTORIES, 0.02)):
        wanted, gone = evicted(number, minutes)
        assert gone == wanted, number


def test_nobody_is_evicted_before_it_is_too_full_and_nothing_global_ever() -> None:
    with a_history(1, FEW) as both:
        for _ in range(FEW):
            both.decides()
            both.finds_a_pattern()
            both.finds_a_pattern()
        both.clock.move(days=400)
        both.lib.upkeep()
        assert both.engine.project.count() == FEW and both.engine.everywhere.count() == 2 * FEW


# ---------------------------------------------------------------- a prompt


def filled(both: Both, most: int) -> None:
    for add in (
        Both.reasons,
        Both.runs_a_tool,
        Both.decides,
        Both.agrees_on_a_convention,
        Both.prefers,
        Both.finds_a_pattern,
    ):
        for _ in range(both.draw.randint(0, most)):
            both.answers.append(True)
            add(both)
            both.clock.move(minutes=1)


@pytest.mark.covers("S0-17", "S0-18", "S0-19", "W0-1")
def test_with_room_for_all_everything_relevant_is_there() -> None:
    for number in range(rounds(HISTORIES, 0.02)):
        with a_history(number) as both:
            filled(both, 9)
            made = both.engine.build_context("1", f"what about the {SHARED}?", budget=20_000)
            wanted = both.model.candidates("1", 20_000)
            everything = {item.text for items in wanted.values() for item in items}
            assert {said(item) for item in made.items} == everything
            assert made.context_package_id == "ctx-1" and made.compression_ratio == (1.0 if everything else 0.0)


def test_with_room_for_all_everything_relevant_is_there_without_a_limit() -> None:
    with a_history(3) as both:
        for _ in range(40):
            both.decides()
        made = both.engine.build_context("1", f"what about the {SHARED}?", budget=20_000)
        assert len(made.items) == 40


def test_what_matters_of_the_project_is_there_whatever_the_words() -> None:
    with a_history(4) as both:
        both.agrees_on_a_convention()
        both.decides()
        assert len(both.engine.build_context("1", "why is the sky blue?", budget=20_000).items) == 2


def unfair(number: int, tier: str) -> list[tuple[str, str]]:
    with a_history(number) as both:
        filled(both, 9)
        budget = both.draw.randint(150, 900)
        made = both.engine.build_context("1", f"what about the {SHARED}?", budget=budget, limit=1000)
        naive = {"task": both.model.task("1"), "project": both.model.project, "global": both.model.everywhere}[tier]
        return document.unfair(naive.list_all(), {said(item) for item in made.items})


@pytest.mark.covers("S0-20", "W0-3")
@pytest.mark.parametrize("tier", ["project", "global"])
def test_short_of_room_the_more_important_enters(tier: str) -> None:
    for number in range(rounds(HISTORIES, 0.02)):
        assert unfair(number, tier) == [], number


@pytest.mark.covers("S0-20")
def test_short_of_room_the_more_important_of_a_task_enters() -> None:
    for number in range(rounds(HISTORIES, 0.02)):
        assert unfair(number, "task") == [], number


def test_the_most_important_of_a_task_enters_whatever_the_words() -> None:
    with a_history(5) as both:
        task = both.engine.task("1")
        task.add(item_of("the lever stays up", "vital", importance=1.0))
        for n in range(30):
            task.add(item_of(f"{SHARED} note {n}", str(n), importance=0.05))
        made = both.engine.build_context("1", f"what about the {SHARED}?", budget=250)
        assert "vital" in {item.id for item in made.items}


@pytest.mark.covers("S0-18", "W0-1")
def test_each_tier_has_its_share_whatever_the_others_want() -> None:
    for number in range(rounds(HISTORIES, 0.02)):
        with a_history(number) as both:
            filled(both, 9)
            lanes = both.lib.prompt(SHARED, task="1", budget=both.draw.randint(200, 900), limit=1000).lanes
            room = sum(lane["quota"] for lane in lanes.values())
            for name, lane in lanes.items():
                assert abs(lane["quota"] - document.SHARES[name] * room) <= 2
                assert lane["spent"] >= min(lane["wanted"], lane["quota"]) - LONGEST, (
                    "what fits into its share is there"
                )


@pytest.mark.covers("N0-5")
def test_a_fingerprint_is_equal_for_the_same_kind_of_request_and_for_no_other() -> None:
    with a_history(0) as both:
        seen: dict[str, str] = {}
        for number in range(rounds(HISTORIES, 0.02)):
            draw = random.Random(number)
            task, mode = draw.choice(TASKS), draw.choice(("cheap", "balanced"))
            files, tags = draw.sample(["a.py", "b.py"], draw.randint(0, 1)), draw.sample(TAGS, draw.randint(1, 2))
            words = draw.randint(1, 3)
            question = " ".join(["zebra", "parser", "cache"][:words])
            made = both.lib.prompt(question, task=task, files=files, mode=mode, where={"tags": tags})
            wanted = document.fingerprint(task, files, tags, mode, words)
            assert seen.setdefault(wanted, made.fingerprint["hash"]) == made.fingerprint["hash"]
        assert len(set(seen.values())) == len(seen)
