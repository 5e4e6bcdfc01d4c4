"""Nothing is lost by accident and nothing stays that was erased: history, undo, forget and restore, erase, backup, numbers."""

from pathlib import Path
from typing import Any

import pytest

from golden.driver import BEGIN, LIVING, Clock, Error, Lib, NotFound, at

CANARY = "quetzalcoatlus"


def a_rich_store(lib: Lib) -> None:
    """Every field that an archive could lose."""
    lib.caller("tool", actor="scout").keep(
        "The heron nests at the weir", kind="decision", title="Birds", tags=["bird"], files=["birds.md"],
        data={"seen": 3}, importance=0.7, confidence=0.6, at=at(2025, 5, 1), session="s1", task="t9", season="spring",
    )  # fmt: skip
    lib.keep("The stork nests on the roof")
    lib.vote(1)
    lib.vote(1, "wrong")
    lib.link(1, 2, evidence="both nest")


def comparable(row: Any) -> dict[str, Any]:
    names = "text kind title tags files data importance confidence pinned at session task season up down status trust origin scope"
    return {name: getattr(row, name) for name in names.split()}


@pytest.mark.covers("W1-4", "S1-13", "X5")
def test_forgetting_hides_and_restoring_loses_nothing(kept: Lib, clock: Clock) -> None:
    a_rich_store(kept)
    before, links = comparable(kept.get(1)), kept.call("links", 1)
    kept.call("forget", 1)
    assert "The heron nests at the weir" not in kept.texts("heron weir") and kept.get(1).state == "archived"
    assert kept.texts("heron", search="archive") == ["The heron nests at the weir"]
    clock.move(days=200)
    kept.call("restore", 1)
    assert comparable(kept.get(1)) == before and kept.call("links", 1) == links
    assert kept.find("heron weir").numbers[0] == 1


@pytest.mark.covers("W1-4", "S1-13")
def test_ids_from_the_archive_can_be_used(kept: Lib) -> None:
    a_rich_store(kept)
    kept.call("forget", 1)
    kept.vote(1)
    kept.call("tag", 1, "river")
    assert kept.get(1).up == 2 and kept.find("river", search="archive").numbers == [1]
    kept.call("restore", 1)
    assert kept.find("river heron").numbers[0] == 1


@pytest.mark.covers("W1-4", "X18")
def test_forgetting_many_takes_a_filter_and_shows_first(kept: Lib) -> None:
    kept.keep_many([{"text": f"Nest {n}", "tags": ["old" if n % 2 else "new"]} for n in range(10)])
    plan = kept.call("forget", where={"tags": ["old"]}, dry_run=True)
    assert len(plan.changed) == 5 and kept.call("count") == 10
    done = kept.call("forget", where={"tags": ["old"]}, because="out of season")
    assert [each.id for each in done.changed] == [each.id for each in plan.changed]
    assert kept.call("count") == 5
    kept.call("undo", done.batch)
    assert kept.call("count") == 10


ACTS = {
    "keep": lambda lib: lib.keep("Something new"),
    "again": lambda lib: lib.keep("The stork nests on the roof"),
    "change": lambda lib: lib.change(1, "The heron left the weir", importance=0.1),
    "retag": lambda lib: lib.call("tag", 1, "river", remove=["bird"]),
    "pin": lambda lib: lib.call("pin", 2),
    "forget": lambda lib: lib.call("forget", 1),
    "forget many": lambda lib: lib.call("forget", where={"tags": ["bird"]}),
    "supersede": lambda lib: lib.link(2, 1, "supersedes"),
    "link": lambda lib: lib.link(1, 2, "contradicts"),
    "task": lambda lib: lib.call("add_task", "Count the nests"),
    "thread": lambda lib: lib.call("thread", "We count nests", topic="birds"),
}


@pytest.mark.covers("X18", "S4-22", "P4")
@pytest.mark.parametrize("name", ACTS)
def test_one_undo_takes_back_any_act_to_the_letter(kept: Lib, name: str) -> None:
    a_rich_store(kept)
    before, links = kept.state(), kept.call("links", 1)
    done = ACTS[name](kept)
    kept.call("undo", getattr(done, "batch", None))
    assert kept.state() == before and kept.call("links", 1) == links
    assert kept.call("audit").ok


@pytest.mark.covers("W1-4", "X18")
def test_an_undo_can_be_undone(kept: Lib) -> None:
    a_rich_store(kept)
    kept.change(1, "The heron left the weir")
    after = kept.state()
    undone = kept.call("undo")
    assert kept.state() != after
    kept.call("undo", undone.batch)
    assert kept.state() == after


@pytest.mark.covers("S3-32", "S2-21", "C3-9", "P21")
def test_every_act_is_in_the_journal_with_who_when_and_why(kept: Lib, clock: Clock) -> None:
    kept.keep("Anna lives in Rome")
    clock.move(days=1)
    ann = kept.caller("user", actor="ann")
    ann.change(1, "Anna lives in Lima", because="she moved")
    ann.call("forget", 1, because="no longer asked for")
    events = kept.call("history", 1)
    assert [event.because for event in events[-2:]] == ["she moved", "no longer asked for"]
    assert events[1].at == clock() and "ann" in {event.actor for event in events}
    whole = kept.call("log", limit=100)
    assert len(whole) >= 3 and {event.record for event in events} <= {event.record for event in whole}
    assert kept.call("audit").ok


@pytest.mark.covers("W4-2", "W4-7", "S4-3")
def test_a_chain_of_five_statements_and_what_was_believed_when(place: Any) -> None:
    cities, clock = ("Rome", "Lima", "Oslo", "Kyoto", "Ghent"), Clock(BEGIN)
    asked = "where does Anna live?"
    with Lib(place, design="associative", embed="none", clock=clock) as lib:
        for city in cities:
            lib.keep(f"Anna lives in {city}")
            clock.move(days=1)
        assert lib.texts(asked) == ["Anna lives in Ghent"]
        assert [row.state for row in lib.everything()] == ["superseded"] * 4 + ["active"]
        for day, city in enumerate(cities):
            then = BEGIN.replace(day=BEGIN.day + day, hour=12)
            assert lib.texts(asked, as_of=then) == [f"Anna lives in {city}"]


@pytest.mark.covers("W4-2")
def test_a_chain_of_five_revisions_undone_step_by_step(kept: Lib, clock: Clock) -> None:
    cities = ("Rome", "Lima", "Oslo", "Kyoto", "Ghent")
    id, batches = kept.keep("Anna lives in Rome").id, []
    for city in cities[1:]:
        clock.move(days=1)
        batches.append(kept.change(id, f"Anna lives in {city}").batch)
    for day, city in enumerate(cities):
        assert kept.texts("where does Anna live?", as_of=BEGIN.replace(day=BEGIN.day + day, hour=12)) == [
            f"Anna lives in {city}"
        ]
    for batch, city in zip(reversed(batches), reversed(cities[:-1]), strict=True):
        kept.call("undo", batch)
        assert kept.texts("where does Anna live?") == [f"Anna lives in {city}"]


@pytest.mark.covers("W4-2")
def test_what_holds_from_and_until_a_day_is_shown_only_then(kept: Lib, clock: Clock) -> None:
    kept.keep("The old bridge is open", valid_to=at(2026, 2, 1))
    assert kept.texts("is the old bridge open?") == ["The old bridge is open"]
    clock.move(days=40)
    assert kept.texts("is the old bridge open?") == []
    assert kept.get(1).state == "active"


ENDINGS = {
    "forget": lambda lib, n: lib.call("forget", n),
    "erase": lambda lib, n: lib.call("erase", n),
    "undo": lambda lib, n: lib.call("undo"),
    "compact": lambda lib, n: lib.call("compact"),
    "forget, erase, compact": lambda lib, n: [lib.call("forget", n), lib.call("erase", n), lib.call("compact")],
}


@pytest.mark.covers("W1-4", "X24")
def test_ids_and_numbers_are_never_used_again(place: Path) -> None:
    seen, numbers = set[str](), [0]
    for turn, ending in enumerate((*ENDINGS, *ENDINGS)):
        with Lib(place) as lib:
            done = lib.keep(f"Nest {turn} lies in tree {turn * 7}")
            assert done.id not in seen and done.number > numbers[-1]
            seen.add(done.id)
            numbers.append(done.number)
            ENDINGS[ending](lib, done.number)
            assert lib.call("audit").ok


def bytes_of(place: Path) -> bytes:
    return b"".join(file.read_bytes() for file in place.parent.rglob("*") if file.is_file())


@pytest.mark.covers("G1", "S4-24", "P11")
def test_what_was_erased_is_in_no_byte_of_any_file(place: Path, clock: Clock) -> None:
    with Lib(place, clock=clock) as lib:
        lib.keep(f"The {CANARY} sleeps in shed 7", tags=[f"tag{CANARY}"], files=[f"{CANARY}.md"], data={"x": CANARY})
        lib.change(1, f"The {CANARY} sleeps in shed 9")
        lib.find(f"where does the {CANARY} sleep?")
        lib.prompt(f"tell me of the {CANARY}")
        lib.call("forget", 1)
        lib.keep("Shed 9 is empty")
        lib.call("erase", 1)
        assert lib.texts(CANARY, search="all") == []
        assert lib.get(1).text == "" and lib.get(1).state == "erased" and lib.call("audit").ok
    assert CANARY.encode() not in bytes_of(place).lower()


@pytest.mark.covers("G1", "W1-4")
def test_erasing_many_takes_a_filter_and_nothing_brings_it_back(kept: Lib) -> None:
    kept.keep_many([{"text": f"The {CANARY} of shed {n}", "tags": ["old"] if n < 3 else []} for n in range(4)])
    assert len(kept.call("erase", where={"tags": ["old"]}, dry_run=True).changed) == 3 and kept.call("count") == 4
    assert len(kept.call("erase", where={"tags": ["old"]}).changed) == 3
    for act in (lambda: kept.call("restore", 1), lambda: kept.change(1, "back")):
        with pytest.raises(Error):
            act()
    assert [row.number for row in kept.all(LIVING)] == [4]


@pytest.mark.covers("G3", "T5")
def test_what_was_derived_from_an_erased_memory_goes_with_it(kept: Lib) -> None:
    kept.keep(f"The {CANARY} sleeps in shed 7")
    for n in range(5):
        kept.keep(f"Summary {n}: the {CANARY} has a shed", kind="summary")
        kept.link(n + 2, n + 1, "derived_from")
    kept.call("erase", 1, derived="erase")
    assert kept.all(LIVING) == [] and kept.texts(CANARY, search="all") == []


@pytest.mark.covers("P10")
def test_a_backup_is_whole_and_opens(place: Path, tmp_path: Path, clock: Clock) -> None:
    with Lib(place, clock=clock) as lib:
        a_rich_store(lib)
        before = lib.state()
        copy = lib.call("backup", tmp_path / f"copy{place.suffix}")
        lib.keep("After the backup")
    with Lib(copy, clock=clock) as restored:
        assert restored.state() == before and restored.call("audit").ok


@pytest.mark.covers("P24", "S3-6")
def test_status_counts_what_there_is_and_the_doctor_finds_nothing_wrong(kept: Lib) -> None:
    a_rich_store(kept)
    told = kept.call("status")
    assert told["project"] == "project/atlas" and told["scopes"] == {"project/atlas": 2} and told["memory"] == "on"
    assert all(each.ok for each in kept.call("doctor"))


@pytest.mark.covers("W1-5")
def test_undoing_nothing_is_an_error(lib: Lib) -> None:
    with pytest.raises(Error):
        lib.call("undo", "no such batch")
    with pytest.raises(NotFound):
        lib.receipt("no such receipt")
