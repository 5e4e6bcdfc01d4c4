"""A9: `DELETE FROM counters` or `links` passed `audit` and `doctor`, although the journal holds the votes and links."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import rounds
from memorist import Memory
from memorist.errors import MemoristError
from memorist.records import Outcome, Record
from memorist.remember import changes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with opened(tmp_path / "memory.db") as memory:
        give_it_a_past(memory)
    return tmp_path / "memory.db"


def opened(path: Path) -> Memory:
    return Memory(path, project="atlas", embed="none")


def give_it_a_past(memory: Memory) -> None:
    memory.remember_many([f"Lighthouse {n} blinks every {n} seconds" for n in range(12)])
    memory.remember("Lighthouse 3 blinks every 3 seconds")
    memory.feedback(1, "useful")
    memory.feedback(1, "useful")
    memory.feedback(2, "wrong")
    memory.feedback(3, "irrelevant")
    memory.link(1, 2, evidence="the same keeper")
    memory.link(2, 3, "derived_from", weight=0.5)
    memory.revise(5, "Lighthouse five is off", because="the harbour moved")


def tamper(path: Path, statement: str) -> None:
    one = apsw.Connection(str(path))
    one.execute(statement)
    one.close()


DAMAGE = {
    "no counters": "DELETE FROM counters",
    "one of them gone": "DELETE FROM counters WHERE record = 2",
    "no links": "DELETE FROM links",
    "one link gone": "DELETE FROM links WHERE kind = 'supersedes'",
}


@pytest.mark.covers("A9", "P12")
@pytest.mark.parametrize("damage", DAMAGE)
def test_votes_and_links_that_are_gone_are_told_and_made_again(path: Path, damage: str) -> None:
    with opened(path) as memory:
        memory.recall("which lighthouse blinks?")  # counts what was shown, which nobody journals
        before = everything(memory)
        assert memory.audit().ok
    tamper(path, DAMAGE[damage])
    with opened(path) as memory:
        audit = memory.audit()
        assert not audit.ok and all("than the journal tells" in problem for problem in audit.problems)
        [finding] = [finding for finding in memory.doctor() if not finding.ok]
        assert finding.check == "journal" and "--repair" in (finding.advice or "")
        assert memory.doctor(repair=True)[0].ok
        assert memory.audit().ok and [finding for finding in memory.doctor() if not finding.ok] == []
        assert everything(memory) == before


def everything(memory: Memory) -> list[object]:
    records = memory.list({"state": {"$in": ["active", "superseded"]}}, order="number")
    counted = [(r.counters.up, r.counters.down, r.counters.rejected, r.counters.used, r.times.used) for r in records]
    return [counted, [memory.links(record.id) for record in records]]


@pytest.mark.covers("A9")
def test_a_forged_vote_and_a_forged_link_are_told(path: Path) -> None:
    from memorist.records import Counters, Link
    from memorist.store.nouns import Commit, Counted

    with opened(path) as memory:
        store, [four, six] = memory._tools.store, [memory.get(number) for number in (4, 6)]
        with store.transaction():  # under checksums of their own, and without an event
            forged = [Counted(six.id, Counters(up=100), None)]
            store.write(Commit(counted=forged, links=[Link(four.id, six.id, "contradicts")]))
        problems = memory.audit().problems
        assert len(problems) == 2 and "counters" in str(problems) and "links" in str(problems)
        memory.doctor(repair=True)
        assert memory.audit().ok and memory.get(6).counters.up == 0 and memory.links(4) == []


@pytest.mark.covers("A9")
def test_a_repair_changes_nothing_where_the_journal_itself_was_changed(path: Path) -> None:
    tamper(path, "DELETE FROM counters")
    tamper(path, "UPDATE journal SET before = json_set(before, '$.now.up', 90) WHERE verb = 'feedback'")
    with opened(path) as memory:
        assert not memory.doctor(repair=True)[0].ok
        assert memory.get(1).counters.up == 0


# ---------------------------------------------------------------- nothing is called wrong that is right


VERBS = (
    "remember remember again feedback feedback link link unlink revise revise forget restore undo undo undo erase used resolve"
).split()


def do_anything(memory: Memory, chance: random.Random, batches: list[str]) -> Outcome | Any:
    found = [record.id for record in memory.list({"state": {"$in": ["active", "archived"]}}, limit=1000)]
    what, one, two = chance.choice(VERBS), chance.choice(found), chance.choice(found)
    kinds = ["relates_to", "derived_from", "supersedes", "contradicts"]
    hurt = memory.links(one)
    do: dict[str, Callable[[], Any]] = {
        "remember": lambda: memory.remember(f"Lighthouse {chance.randrange(30)} blinks every {chance.randrange(9)} s"),
        "again": lambda: memory.remember(memory.get(one).text),
        "feedback": lambda: memory.feedback(one, chance.choice(["useful", "wrong", "irrelevant"])),
        "link": lambda: memory.link(one, two, chance.choice(kinds), weight=chance.choice([0.5, 1])),  # type: ignore[arg-type]
        "unlink": lambda: memory.unlink(hurt[0].a, hurt[0].b, hurt[0].kind) if hurt else None,
        "revise": lambda: memory.revise(one, f"Lighthouse {chance.randrange(999)} is off"),
        "forget": lambda: memory.forget(one),
        "restore": lambda: memory.restore(one),
        "undo": lambda: memory.undo(chance.choice(batches)),
        "erase": lambda: memory.erase(one) if chance.random() < 0.3 else None,
        "used": lambda: memory.used(asked(memory), ids=[one]),
        "resolve": lambda: memory.resolve(one, two, keep=one),
    }
    return do[what]()


def asked(memory: Memory) -> str:
    return str(memory.recall("which lighthouse blinks?", limit=100).receipt)


def live(memory: Memory, chance: random.Random, times: int) -> None:
    batches = [memory.remember("Lighthouse 0 is old").batch or ""]
    for _ in range(times):
        with suppress(MemoristError, IndexError):  # nothing is left, or it cannot be done
            done = do_anything(memory, chance, batches)
            batches += [done.batch] if getattr(done, "batch", None) else []


def assert_agrees(memory: Memory) -> None:
    assert memory.audit().problems == ()


@pytest.mark.covers("A9", "P7")
@pytest.mark.parametrize("number", range(rounds(100)))
def test_whatever_is_done_the_tables_agree_with_the_journal(memory: Memory, number: int) -> None:
    live(memory, random.Random(number), 60)
    assert_agrees(memory)


@pytest.mark.covers("A9")
@pytest.mark.parametrize("number", range(rounds(50)))
def test_what_an_older_version_journalled_is_not_called_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """It told what the counters were, and not what they became; of a vote, what all of them were."""

    def as_before(old: Record, new: Record) -> dict[str, Any]:
        had, now = changes.counts_of(old), changes.counts_of(new)
        if had == now:
            return {}
        votes = {name: had[name] for name in ("up", "down", "used", "rejected", "last_used")}
        return votes if had["strength"] == now["strength"] else {"strength": had["strength"]}

    with monkeypatch.context() as older, opened(tmp_path / "memory.db") as memory:
        older.setattr(changes, "_counts_before", as_before)
        give_it_a_past(memory)
        memory.undo(memory.feedback(4, "useful").batch)
        assert_agrees(memory)
    with opened(tmp_path / "memory.db") as memory:
        live(memory, random.Random(number), 40)
        assert_agrees(memory)
    tamper(tmp_path / "memory.db", "DELETE FROM counters")
    with opened(tmp_path / "memory.db") as memory:
        assert not memory.audit().ok


@pytest.mark.covers("A9")
def test_what_erasing_emptied_is_not_called_wrong_and_what_came_later_is_known(path: Path) -> None:
    with opened(path) as memory:
        memory.link(5, 7)
        memory.feedback(5, "useful")
        [past] = memory.list({"state": "superseded"})
        memory.erase(past.id)  # the journal of the memory that had this text is emptied with it
        memory.erase(2)
        assert_agrees(memory)
        memory.feedback(5, "useful")
        assert_agrees(memory)
    tamper(path, "DELETE FROM counters")
    with opened(path) as memory:
        assert any("memory 5" in problem for problem in memory.audit().problems)
        memory.doctor(repair=True)
        assert_agrees(memory)
        assert memory.get(5).counters.up == 2 and memory.get(1).counters.up == 2


@pytest.mark.covers("A9", "P4")
def test_what_others_count_during_an_audit_is_not_called_wrong(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as memory, opened(path) as other:
        real = memory._tools.store.chain

        def slow() -> Any:
            yield from real()
            other.feedback(1, "useful")
            other.link(1, 9)

        monkeypatch.setattr(memory._tools.store, "chain", slow)
        assert_agrees(memory)
