"""The tiers design and its founding document's own numbers: three tiers, fixed shares, nothing promoted by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorist import Memory
from memorist.access import Access
from memorist.designs import TIERS
from memorist.errors import Invalid, OutOfScope
from memorist.records import Report
from memorist.seeds import tiers
from memorist.seeds.items import ContextItem, Items
from memorist.seeds.tiers import override_of
from memorist.upkeep.retain import Retain

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@dataclass
class Clock:
    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(place: Path | str, clock: Clock) -> Iterator[Memory]:
    with Memory(place, design="tiers", clock=clock, confirm=lambda ask: True) as memory:
        yield memory


# ---------------------------------------------------------------- items


@pytest.mark.covers("S0-1", "S0-2")
def test_seven_verbs_over_one_scope(memory: Memory) -> None:
    items = Items(memory, "task/1")
    given = ContextItem(
        {"text": "The parser drops empty bodies"}, "a-1", "code", "user", NOON.isoformat(), ("bug_fix",), 0.7
    )
    items.add(given)
    found = items.get("a-1")
    assert found is not None and found.token_cost > 0
    assert (found.id, found.kind, found.source, found.tags, found.importance) == (
        "a-1",
        "code",
        "user",
        ("bug_fix",),
        0.7,
    )
    assert found.payload == {"text": "The parser drops empty bodies"} and found.timestamp == NOON.isoformat()
    assert items.get("a-2") is None and items.count() == 1 and items.list_all() == [found]
    assert items.delete("a-1") is True and items.delete("a-1") is False and items.get("a-1") is None
    items.add({"context_item_id": "b", "kind": "note", "payload": "another", "importance": 0.2})
    assert items.clear() is True and items.count() == 0 and items.clear() is True


@pytest.mark.covers("S0-3", "S0-4", "W0-7")
def test_filters_and_order_are_those_of_the_document(memory: Memory) -> None:
    items = Items(memory, "task/1")
    for n, (kind, source, importance) in enumerate(
        [("code", "user", 0.9), ("code", "tool", 0.8), ("note", "user", 0.4)]
    ):
        stamp = (NOON - timedelta(days=n)).isoformat()
        items.add(ContextItem(f"text {n}", f"i{n}", kind, source, stamp, ("bug_fix",) if n else ("other",), importance))

    def ids(filters: dict[str, object], **more: object) -> list[str]:
        return [item.id for item in items.query(filters, **more)]  # type: ignore[arg-type]

    assert ids({"kind": "code", "tags": ["bug_fix"]}) == ["i1"]
    assert ids({"source": "user", "importance": {"$gte": 0.7}}) == ["i0"]
    assert ids({}) == ["i0", "i1", "i2"] and ids({}, order_by="-timestamp") == ["i2", "i1", "i0"]
    assert ids({}, order_by="importance", limit=2) == ["i0", "i1"]
    east = ContextItem("earlier, though it reads later", "east", timestamp="2026-05-04T13:00:00+05:00")
    items.add(east)
    assert ids({})[:2] == ["i0", "east"]  # by the moment, not by the letters


def test_an_id_names_one_item_and_one_text_may_be_two_items(memory: Memory) -> None:
    items = Items(memory, "task/1")
    items.add(ContextItem("first", "x"))
    items.add(ContextItem("second", "x"))
    assert items.count() == 1 and getattr(items.get("x"), "text", None) == "second"
    items.add(ContextItem("second", "y"))
    assert items.count() == 2 and getattr(items.get("y"), "id", None) == "y" and items.get("x") is not None


@pytest.mark.covers("S0-24")
def test_a_plain_dict_of_items_is_imported(memory: Memory) -> None:
    old = {
        f"old-{n}": {"kind": "decision", "payload": {"decision": f"decision {n}"}, "importance": 0.9, "tags": ["db"]}
        for n in range(5)
    }
    done = Items(memory, memory.home).add_all(old)
    assert [outcome.outcome for outcome in done] == ["added"] * 5
    found = tiers(memory).query_decisions(["db"])
    assert sorted(item.id for item in found) == sorted(old) and found[0].text.startswith("decision")
    assert [outcome.outcome for outcome in Items(memory, memory.home).add_all(old)] == ["reinforced"] * 5
    with pytest.raises(Invalid, match="has no payload"):
        Items(memory, memory.home).add({"context_item_id": "z"})


# ---------------------------------------------------------------- the seed's verbs


@pytest.mark.covers("S0-7", "S0-8", "S0-9", "W0-8")
def test_a_task_keeps_reasoning_and_tool_outputs_by_stage(memory: Memory) -> None:
    task = tiers(memory).task("42")
    reasoning = task.add_reasoning("The signature covers the body", "analyse")
    output = task.add_tool_output("pytest", {"failed": 2}, "analyse")
    loose = task.add_tool_output("ls", "a.py b.py")
    assert reasoning and output and loose
    assert (reasoning.kind, reasoning.importance, reasoning.source) == ("reasoning", 0.5, "task/42/analyse")
    assert reasoning.tags == ("task", "analyse")
    assert (output.kind, output.importance, output.tags) == ("tool_output", 0.7, ("task", "tool", "pytest", "analyse"))
    assert (loose.source, loose.payload) == ("task/42", {"tool_id": "ls", "output": "a.py b.py"})
    assert {item.id for item in task.get_stage_outputs("analyse")} == {reasoning.id, output.id}


@pytest.mark.covers("S0-11", "S0-12", "S0-14")
def test_projects_and_everywhere(memory: Memory, tmp_path: Path) -> None:
    three = tiers(memory)
    decision = three.add_decision("Sign empty bodies as ''", ["payments"])
    convention = three.add_convention("Four blanks, no tabs", "style")
    failure = three.add_failure({"code": "TIMEOUT", "stage": "deploy"}, "Raise the timeout before a cold deploy")
    preference = three.add_preference("Answers are short", "verbosity")
    pattern = three.add_pattern("Retry with jitter", "networks")
    assert decision and convention and failure and preference and pattern
    given = [item.importance for item in (decision, convention, failure, preference, pattern)]
    assert given == [0.9, 0.8, 0.85, 0.9, 0.7]
    assert failure.payload["failure"]["stage"] == "deploy" and "TIMEOUT" in failure.tags
    assert three.query_decisions(["payments"]) == [decision] and three.query_decisions(["ui"]) == []
    assert three.query_failures("TIMEOUT") == [failure] and three.query_conventions("style") == [convention]
    assert three.query_preferences("verbosity") == [preference] and three.query_patterns("networks") == [pattern]
    if memory.status()["store"] != ":memory:":
        with Memory(memory.status()["store"], project="other", design="tiers") as other:
            assert tiers(other).query_decisions() == [] and len(tiers(other).query_preferences()) == 1


@pytest.mark.covers("S0-14", "S0-15", "W0-5")
def test_without_a_confirmer_a_global_preference_waits(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", design="tiers") as memory:
        three = tiers(memory)
        assert three.add_preference("Answers are short", "verbosity") is None and three.query_preferences() == []
        assert three.add_pattern("Retry with jitter", "networks") is not None
        assert three.everywhere.clear() is False and three.everywhere.count() == 1
        waiting = memory.review()
        assert isinstance(waiting, list) and len(waiting) == 2


@pytest.mark.covers("N0-6", "N0-7")
@pytest.mark.parametrize(
    ("said", "kind", "scope", "target", "severity"),
    [
        ("Remember this: I prefer tabs", "preference", "global", None, "medium"),
        ("remember that I prefer tabs for this project only", "preference", "project", None, "medium"),
        ("Please remember: never edit src/schema.sql by hand", "warning", "project", "src/schema.sql", "high"),
        ("We decided to use one queue", "decision", "project", None, "medium"),
        ("note that the cache is usually cold", "fact", "project", None, "low"),
    ],
)
def test_remember_this_is_the_projects_unless_it_is_a_preference(
    memory: Memory, said: str, kind: str, scope: str, target: str | None, severity: str
) -> None:
    meant = override_of(said)
    assert (meant.kind, meant.scope, meant.target, meant.severity) == (kind, scope, target, severity)
    item = tiers(memory).remember(said)
    assert item is not None and item.kind == kind and severity in item.tags
    assert item.source == ("global" if scope == "global" else memory.home)
    assert "remember" not in item.text.lower() and "this project" not in item.text


@pytest.mark.covers("N0-2", "C0-3")
def test_every_question_and_every_prompt_leaves_a_line_in_the_log(memory: Memory) -> None:
    memory.remember("The deploy needs two approvals")
    found = memory.recall("what does the deploy need?")
    made = memory.context("what does the deploy need?", task="7")
    lines = {line.id: line for line in memory._tools.store.receipts(memory.space, 10)}
    for receipt in (found.receipt, made.receipt):
        line = lines[receipt]
        assert line.query == "what does the deploy need?" and line.ms > 0
        assert [id for id, score in line.shown if score > 0] == [found[0].record.id]


@pytest.mark.covers("N0-5")
def test_a_receipt_says_what_was_asked_for(memory: Memory) -> None:
    memory.remember("The deploy needs two approvals")

    def asked(**more: object) -> dict[str, object]:
        made = memory.context("what does the deploy need?", **more)  # type: ignore[arg-type]
        return dict(memory.receipt(made.receipt).fingerprint)

    plain = asked(task="7", files=["deploy.py"], mode="cheap")
    assert (plain["task"], plain["files"], plain["mode"]) == ("7", ["deploy.py"], "cheap")
    assert plain["words"] == 2 and plain == asked(task="7", files=["deploy.py"], mode="cheap")
    assert plain["hash"] != asked(task="8", files=["deploy.py"], mode="cheap")["hash"]


@pytest.mark.covers("N0-8")
def test_a_file_says_how_each_tier_is_kept(tmp_path: Path) -> None:
    """What the founding document had in its memory.yaml: limits, shares and a mode; the store's kind is its path's."""
    design = tmp_path / "mine.toml"
    design.write_text(
        'base = "tiers"\n[budget]\ntokens = 8000\n[lane.task]\nshare = 0.5\n[lane.project]\nshare = 0.3\n'
        '[upkeep.retain]\nmax_items = 50\nttl_days = 30\nfamilies = ["project", "task"]\n'
    )
    for name in ("m.db", "m.json"):
        with Memory(tmp_path / name, design=str(design)) as memory:
            memory.remember_many([f"note {n}" for n in range(40)])
            made = memory.context("note", mode="max_quality")
            assert made.budget == 8000 and (tmp_path / name).exists()
            assert {lane.name: lane.share for lane in memory.design.lanes} == {
                "task": 0.5,
                "project": 0.3,
                "global": 0.2,
            }
            assert next(iter(memory.design.upkeep[1:])) == Retain(50, None, 30, None, ("project", "task"), "importance")


@pytest.mark.covers("C0-4")
def test_a_source_file_is_kept_whole_and_found_by_its_middle(memory: Memory) -> None:
    lines = [f"def step_{n}(): return {n}  # part {n} of the long pipeline" for n in range(400)]
    lines[200] = "def settle_refund(order): ...  # the ledger is closed before the refund"
    memory.remember("\n".join(lines), kind="document", files=["src/pipeline.py"])
    found = memory.recall("when is the ledger closed?", search="sources")
    assert [hit.record.files for hit in found] == [("src/pipeline.py",)]
    assert len(found[0].record.text) == len("\n".join(lines))  # nothing is cut; the index has its parts


# ---------------------------------------------------------------- the end of a task


@pytest.mark.covers("S0-6", "S0-10", "S0-22", "S0-23")
def test_a_finished_task_leaves_what_was_named_or_pinned(memory: Memory) -> None:
    three = tiers(memory)
    task = three.task("42")
    kept = task.add_reasoning("Empty bodies sign as ''", "analyse")
    important = task.add_tool_output("pytest", "all green")
    pinned = memory.remember("Never log the key", scope="task/42", kind="warning", pinned=True)
    assert kept and important
    report = three.cleanup_task("42", "done", keep=[kept.id])
    assert report.verb == "finished" and len(report.changed) == 3 and task.count() == 0
    here = {record.text for record in memory.list({"scope": memory.home})}
    assert here == {"Empty bodies sign as ''", "Never log the key"}  # nothing moves up because it is important
    gone = memory.list({"scope": "task/42", "state": "archived"})
    assert [record.reason for record in gone] == ["task/42 finished: done"]
    memory.undo(report.batch)
    assert task.count() == 3 and memory.count({"scope": memory.home}) == 0
    assert pinned.record is not None


def test_finishing_says_what_it_would_do_and_what_it_cannot(memory: Memory) -> None:
    memory.remember("one", scope="task/1")
    known = memory.remember("two", scope="task/1", pinned=True)
    memory.remember("two")
    elsewhere = memory.remember("three", scope="task/2")
    plan = memory.finish("task/1", dry_run=True)
    assert plan.dry_run and len(plan.changed) == 2 and memory.count({"scope": "task/1"}) == 2
    for scope in ("global", memory.home, "user/ann"):
        with pytest.raises(Invalid, match="cannot be finished"):
            memory.finish(scope)
    with pytest.raises(Invalid, match=r"is in task/2"):
        memory.finish("task/1", keep=[str(elsewhere.id)])
    with pytest.raises(Invalid, match="keep is a list"):
        memory.finish("task/1", keep="12")
    done = memory.finish("task/1", "failed")
    assert len(done.changed) == 2 and done.left == {} and memory.count({"scope": "task/1"}) == 0
    assert memory.get(str(known.id)).state == "archived"  # the project says it already
    assert memory.finish("task/1").changed == ()


# ---------------------------------------------------------------- the budget


@pytest.mark.covers("S0-17", "S0-18", "S0-19", "S0-21", "W0-1", "W0-3")
def test_no_tier_takes_anothers_share(memory: Memory) -> None:
    """Global is full of important preferences about the very question, and the task still has its 40 %."""
    three = tiers(memory)
    memory.remember_many(
        [
            {
                "text": f"Deploy rule {n}: always announce the deploy",
                "kind": "pattern",
                "importance": 0.9,
                "scope": "global",
            }
            for n in range(300)
        ]
    )
    vital = three.add_decision("The deploy needs two approvals", ["deploy"])
    memory.remember_many([f"Unrelated note {n} about the weather" for n in range(200)])
    task = three.task("7")
    for n in range(60):
        task.add_reasoning(f"Step {n} looked at the logs of the build and found nothing unusual", "look")
    made = three.build_context("7", "how do we deploy?", budget=1000)
    spent = {name: 0 for name in ("task", "project", "global")}
    for item in made.items:
        tier = "task" if item.source.startswith("task/") else "global" if item.source == "global" else "project"
        spent[tier] += item.token_cost
    assert made.id == "ctx-7" and made.tokens <= 1000 and 0 < made.compression_ratio <= 1
    assert (
        spent["task"] >= 150 and spent["global"] >= 50
    )  # of the rendered 400 and 200, which hold the facts and the frame
    assert vital and vital.id in {item.id for item in made.items}
    more = three.build_context("7", "how do we deploy?", budget=1000, shares={"task": 0.1, "global": 0.5})
    assert sum(item.source == "global" for item in more.items) > sum(item.source == "global" for item in made.items)
    with pytest.raises(Invalid, match="a lane with a share must be task or project or global"):
        three.build_context("7", "x", shares={"session": 0.5})
    with pytest.raises(Invalid, match="more than 1"):
        three.build_context("7", "x", shares={"task": 0.9})


@pytest.mark.covers("S0-17")
def test_preferences_count_whatever_is_asked(memory: Memory) -> None:
    three = tiers(memory)
    three.add_preference("Explain a fix in two sentences", "style")
    three.add_pattern("Retry with jitter", "networks")
    texts = {item.text for item in three.build_context("7", "why does the signature fail?").items}
    assert texts == {"Explain a fix in two sentences", "Retry with jitter"}
    short = three.build_context("7", "why does the signature fail?", budget=33).items
    assert [item.kind for item in short] == ["preference"], "the more important one, where there is no room for both"


@pytest.mark.covers("S0-18")
def test_the_shares_are_the_documents() -> None:
    assert {lane.name: lane.share for lane in TIERS.lanes} == {"task": 0.4, "project": 0.4, "global": 0.2}


# ---------------------------------------------------------------- eviction


@pytest.mark.covers("S0-13", "S0-16", "S0-25", "W0-4", "C0-5")
def test_eviction_takes_the_least_important_and_never_the_new_the_pinned_or_the_used(
    memory: Memory, clock: Clock
) -> None:
    old = memory.remember_many([{"text": f"old note {n}", "importance": 0.5} for n in range(1000)])
    least = memory.remember_many([{"text": f"least {n}", "importance": 0.1, "pinned": n == 0} for n in range(60)])
    memory.remember_many([{"text": f"everywhere {n}", "importance": 0.0, "scope": "global"} for n in range(20)])
    clock.now += timedelta(days=2)
    used = least[1]
    memory.feedback(str(used.id), "useful")
    new = memory.remember("written just now", importance=0.0)
    report = next(report for report in memory.upkeep() if report.verb == "retain")
    gone = {record.id for record in memory.list({"state": "archived"}, limit=1000)}  # some perhaps by a slice before
    assert memory.count({"scope": memory.home}) == 900 and len(gone) == 161
    assert not gone & {str(new.id), str(least[0].id), str(used.id)}
    assert {str(outcome.id) for outcome in least[2:]} <= gone
    assert memory.count({"scope": "global"}) == 20 and {str(o.id) for o in old} & gone
    again = next(report for report in memory.upkeep() if report.verb == "retain")
    assert again.changed == () and isinstance(memory.undo(report.batch), Report)


# ---------------------------------------------------------------- what must not get lost


def test_what_is_there_stays_until_the_new_one_is_kept(memory: Memory) -> None:
    items = Items(memory, "task/1")
    items.add(ContextItem("the first wording", "x"))
    for bad in (ContextItem("second", "x", tags=("t" * 999,)), ContextItem("second", "x", importance=float("nan"))):
        with pytest.raises(Invalid):
            items.add(bad)
        assert getattr(items.get("x"), "text", None) == "the first wording" and items.count() == 1


@pytest.mark.covers("S0-15", "W0-5")
def test_a_global_preference_is_not_changed_without_consent(tmp_path: Path) -> None:
    answers = [True]
    with Memory(tmp_path / "m.db", design="tiers", confirm=lambda ask: answers[0]) as memory:
        everywhere = tiers(memory).everywhere
        assert everywhere.add(ContextItem("Answers are short", "style", "preference"))
        answers[0] = False
        assert everywhere.add(ContextItem("Answers are long", "style", "preference")) is None
        assert [item.text for item in everywhere.list_all()] == ["Answers are short"]


def test_an_item_of_the_same_id_and_text_takes_the_new_payload_and_stays_confirmed(memory: Memory) -> None:
    items = Items(memory, "task/1")
    items.add(ContextItem({"text": "the build", "runs": 1}, "x", tags=("a",)))
    items.add(ContextItem({"text": "the build", "runs": 2}, "x", tags=("b",), importance=0.9))
    [item] = items.list_all()
    assert (item.payload["runs"], item.tags, item.importance) == (2, ("b",), 0.9)
    assert memory.list({"scope": "task/1"})[0].status == "confirmed"


@pytest.mark.covers("S0-9", "W0-8")
def test_the_same_output_in_two_stages_is_one_of_each(memory: Memory) -> None:
    task = tiers(memory).task("42")
    for stage in ("analyse", "verify", "verify"):
        task.add_tool_output("pytest", "all green", stage)
        task.add_reasoning("nothing left to do", stage)
    assert task.count() == 4
    assert [len(task.get_stage_outputs(stage)) for stage in ("analyse", "verify", "ship")] == [2, 2, 0]


@pytest.mark.covers("S0-24")
def test_an_import_keeps_every_id_and_replaces_what_changed(memory: Memory) -> None:
    items = Items(memory, "task/old")
    items.add_all(
        {"a": {"payload": "same"}, "b": {"payload": "same"}, "c": {"payload": "same"}, "d": {"payload": "two"}}
    )
    assert {id: getattr(items.get(id), "id", None) for id in "abcd"} == {id: id for id in "abcd"}
    items.add_all({"d": {"payload": "three"}, "a": {"payload": "four"}})
    assert {id: getattr(items.get(id), "text", None) for id in "abcd"} == {
        "a": "four", "b": "same", "c": "same", "d": "three",
    }  # fmt: skip
    assert items.count() == 4
    assert items.delete("b") and items.get("b") is None and items.get("c") is not None


@pytest.mark.covers("S0-1", "S0-4")
def test_an_item_keeps_its_kind_and_its_payload(memory: Memory) -> None:
    items = Items(memory, "task/1")
    given: list[tuple[str, object]] = [("failure", {"failure": "x"}), ("claim", 0), ("code", False), ("note", [1, 2])]
    for n, (kind, payload) in enumerate(given):
        items.add(ContextItem(payload, str(n), kind))
    found = [items.get(str(n)) for n in range(len(given))]
    assert [(item.kind, item.payload) for item in found if item] == given
    assert [item.id for item in items.query({"kind": "claim"})] == ["1"]
    assert {item.id for item in items.query({"kind": {"$ne": "claim"}})} == {"0", "2", "3"}
    assert [item.id for item in items.query({"kind": {"$eq": "code"}})] == ["2"]
    items.add(ContextItem("a plain note", "note"))
    assert [item.id for item in items.query({"kind": "note"})] == ["note", "3"], (
        "an own kind is stored as a note, and is none"
    )
    assert {item.id for item in items.query({"kind": {"$in": ["code", "note"]}})} == {"2", "3", "note"}
    assert {item.id for item in items.query({"kind": {"$ne": "note"}})} == {"0", "1", "2"}
    for odd in ({"payload": "x", "tags": "abc"}, {"payload": "x", "tags": 5}, {"payload": None}):
        with pytest.raises(Invalid):
            items.add(odd)
    items.add({"context_item_id": 7, "payload": "by number"})
    assert getattr(items.get("7"), "payload", None) == "by number"


@pytest.mark.covers("S0-10", "S0-22")
def test_clearing_a_task_ends_it_and_asks_nobody() -> None:
    with Memory(":memory:", design="tiers", embed="none") as memory:
        three, task = tiers(memory), tiers(memory).task("7")
        task.add_all({str(n): ContextItem(f"step {n}") for n in range(60)})
        memory.remember("never log the key", scope="task/7", pinned=True)
        assert task.clear() and task.count() == 0 and memory.review() == []
        assert [item.text for item in three.project.list_all()] == ["never log the key"]
        assert task.clear(), "a second time there is nothing to do"


def test_who_may_only_write_tasks_can_end_one_that_leaves_nothing_to_the_project(memory: Memory) -> None:
    memory.remember("looked at the logs", scope="task/1")
    memory.remember("never log the key", scope="task/2", pinned=True)
    worker = memory.through(Access(reads=("task/*",), writes=("task/*",)))
    assert len(worker.finish("task/1").changed) == 1
    with pytest.raises(OutOfScope, match="may not write project/"):
        worker.finish("task/2")
    assert memory.count({"scope": "task/2"}) == 1


@pytest.mark.covers("W0-10", "S0-6", "S0-17", "N0-2")
def test_the_tiers_are_wired_from_the_entry_point_to_the_prompt_and_back(tmp_path: Path) -> None:
    """One process works and ends, the next one builds the prompt, a third one ends the task: nothing is handed around."""
    place = tmp_path / "memory.db"
    with Memory(place, project="atlas", design="tiers") as memory:
        task = tiers(memory).task("7")
        found = task.add_reasoning("The signature fails because the body is empty", "analyse")
        task.add_tool_output("pytest", {"failed": 2}, "verify")
        tiers(memory).add_decision("Signatures cover the whole body", ["payments"])
    with Memory(place, project="atlas", design="tiers") as memory:
        made = tiers(memory).build_context("7", "why does the signature fail?", budget=800)
        assert {item.kind for item in made.items} == {"reasoning", "tool_output", "decision"}
        again = memory.receipt(made.receipt)
        assert again.text == made.text and set(again.lanes) >= {"task", "project", "global"}, "every choice is logged"
        memory.used(made.receipt, "The signature fails because the body is empty")
        assert found and memory.get(found.id).counters.used == 1
    with Memory(place, project="atlas", design="tiers") as memory:
        tiers(memory).cleanup_task("7", keep=[found.id])
        later = tiers(memory).build_context("8", "why does the signature fail?")
        assert {item.kind for item in later.items} == {"reasoning", "decision"}
