"""What is kept: once, whole, as it was said, with where it came from; and what cannot be kept is a clear error."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from golden.driver import LIVING, Clock, Conflict, Invalid, Lib, NotFound, at

EVERY_FIELD = dict(
    kind="decision", title="Birds", tags=["bird"], files=["src/birds.py"], data={"seen": 3, "by": ["Ann"]},
    importance=0.7, confidence=0.6, pinned=True, at=at(2025, 5, 1), valid_from=at(2025, 5, 1), valid_to=at(2027, 1, 1),
    session="s1", role="user", speaker="Ann", agent="scout", task="t9", season="spring",
)  # fmt: skip


@pytest.mark.covers("S0-1", "S4-8", "S3-8", "S4-13", "P1")
def test_a_memory_keeps_every_field_over_a_restart(place: Any, clock: Clock) -> None:
    with Lib(place, clock=clock) as lib:
        lib.keep("The heron nests at the weir", **EVERY_FIELD)
    with Lib(place, clock=clock) as lib:
        row = lib.get(1)
        assert row.text == "The heron nests at the weir" and row.scope == "project/atlas"
        assert {name: getattr(row, name) for name in EVERY_FIELD if name not in ("tags", "files", "data")} == {
            name: value for name, value in EVERY_FIELD.items() if name not in ("tags", "files", "data")
        }
        assert (list(row.tags), list(row.files)) == (["bird"], ["src/birds.py"])
        assert dict(row.data) == {"seen": 3, "by": ["Ann"]}
        assert (row.created, row.state, row.version) == (clock(), "active", 1)


@pytest.mark.covers("S3-25", "W1-10")
@pytest.mark.parametrize("again", ["Staging runs Postgres 16", "  staging RUNS   postgres 16 "])
def test_the_same_text_again_reinforces_and_is_stored_once(kept: Lib, again: str) -> None:
    first = kept.keep("Staging runs Postgres 16")
    done = kept.keep(again)
    assert (first.outcome, done.outcome, done.id) == ("added", "reinforced", first.id)
    assert kept.call("count") == 1 and kept.get(1).strength == 1


@pytest.mark.covers("S3-25", "S4-20", "W4-5")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Staging runs Postgres 16", "Staging runs Postgres 15"),
        ("Ann leads the search team", "Bob leads the search team"),
        ("Always squash commits", "Never squash commits"),
        ("The office is in Oslo", "The office is in Lima"),
    ],
)
@pytest.mark.parametrize("design", ["balanced", "associative"])
def test_another_number_name_place_or_the_contrary_is_another_memory(design: str, one: str, other: str) -> None:
    with Lib(design=design) as lib:
        lib.keep(one)
        assert lib.keep(other).outcome == "added"
        assert len(lib.everything()) == 2


@pytest.mark.covers("S4-20", "X1", "W3-5")
def test_the_same_in_other_words_reinforces_where_a_design_asks_for_it() -> None:
    said = ("The staging database runs on Postgres 16", "Staging database runs on Postgres 16.")
    with Lib(design="associative") as lib:
        assert [lib.keep(text).outcome for text in said] == ["added", "reinforced"]


@pytest.mark.covers("P2", "X18")
def test_a_retry_with_its_key_is_stored_once_and_another_draft_is_a_conflict(kept: Lib) -> None:
    first = kept.keep("Alpha lies north", key="k1")
    again = kept.keep("Alpha lies north", key="k1")
    assert (again.outcome, again.id) == ("repeated", first.id) and kept.get(1).strength == 0
    with pytest.raises(Conflict):
        kept.keep("Beta lies south", key="k1")
    assert kept.call("count") == 1


@pytest.mark.covers("S4-16", "S0-11", "P20")
def test_many_are_kept_in_their_order(kept: Lib) -> None:
    done = kept.keep_many(["one", {"text": "two", "kind": "decision"}, {"text": "three", "tags": ["x"]}])
    assert [each.outcome for each in done] == ["added"] * 3
    assert [row.text for row in kept.all(order="-number")] == ["one", "two", "three"]


@pytest.mark.covers("W0-7", "W1-10")
def test_times_are_kept_as_moments(kept: Lib) -> None:
    oslo = timezone(timedelta(hours=2))
    for given in (datetime(2026, 5, 1, 12, tzinfo=oslo), "2026-05-01T12:00+02:00", "2026-05-01T10:00Z"):
        row = kept.get(kept.keep(f"Noon in Oslo, said {given!r}", at=given))
        assert row.at == datetime(2026, 5, 1, 10, tzinfo=UTC)


@pytest.mark.covers("W0-7")
def test_order_by_time_is_by_moment_and_not_by_text(kept: Lib) -> None:
    for hour, zone in ((3, 9), (1, 0), (12, -5)):
        moment = datetime(2026, 3, 29, hour, tzinfo=timezone(timedelta(hours=zone)))
        kept.keep(f"at {hour} in zone {zone}", at=moment)
    assert [row.number for row in kept.all(order="-at")] == [1, 2, 3]


FAITHFUL = [
    "line one\nline two\r\n\ttabbed", "emoji 👩‍🚀 and 𝔘nicode and é and é", "a NUL \x00 inside", "'; DROP TABLE memories; --",
    "</memory> ``` --- [id:1]", "مرحبا بالعالم", "x" * 20_000, "{\"json\": [1, 2]}", "%_\\*\"", " leading and trailing ",
]  # fmt: skip


@pytest.mark.covers("S4-20", "W4-12", "Z9", "G5")
@pytest.mark.parametrize("text", FAITHFUL, ids=lambda text: repr(text[:12]))
def test_any_text_is_kept_as_it_is_or_refused_with_a_clear_error(kept: Lib, text: str) -> None:
    try:
        id = kept.keep(text).id
    except Invalid:
        assert kept.call("count") == 0
        return
    assert kept.get(id).text.strip() == text.strip()


BAD: list[dict[str, Any]] = [
    {"text": ""}, {"text": "   "}, {"text": 5}, {"text": None}, {"text": "\ud800"}, {"kind": "descision"}, {"kind": ""},
    {"importance": 1.5}, {"importance": -0.1}, {"importance": float("nan")}, {"importance": "0.5"}, {"confidence": 2},
    {"scope": "no-id"}, {"scope": "project/"}, {"scope": "project/.."}, {"scope": "project/a*"}, {"tags": "one"},
    {"tags": [5]}, {"at": "yesterday-ish"}, {"at": 5}, {"valid_from": at(2026, 2, 1), "valid_to": at(2026, 1, 1)},
    {"data": [1]}, {"data": {"x": float("nan")}}, {"data": {"x": 1j}}, {"pinned": "yes"}, {"user": ""},
]  # fmt: skip


@pytest.mark.covers("P20", "Z9", "E8")
@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_what_cannot_be_kept_is_an_error_and_changes_nothing(lib: Lib, bad: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        lib.keep(**{"text": "Alpha lies north", **bad})
    assert lib.everything() == [] and lib.call("audit").ok


UNKNOWN = ["m01zzzzzzzzzzzzzzzzzzzzzzzz", "999", 999, "zzzz", "", "x" * 10_000, "'; --"]


@pytest.mark.covers("W1-5", "W1-4")
@pytest.mark.parametrize("reference", UNKNOWN, ids=lambda value: repr(value)[:12])
def test_an_unknown_id_is_an_error_on_every_verb(lib: Lib, reference: Any) -> None:
    lib.keep("something else")
    verbs = ("get", "pin", "unpin", "forget", "erase", "restore", "history", "links", "related", "similar")
    for verb in verbs:
        with pytest.raises(NotFound):
            lib.call(verb, reference)
    for act in (
        lambda: lib.vote(reference),
        lambda: lib.vote(reference, "wrong"),
        lambda: lib.change(reference, "new"),
        lambda: lib.call("tag", reference, "x"),
        lambda: lib.link(reference, 1),
        lambda: lib.call("why not", reference, "something"),
    ):
        with pytest.raises(NotFound):
            act()
    assert lib.call("count") == 1 and lib.get(1).up == 0


@pytest.mark.covers("W1-4", "X24")
def test_every_verb_takes_a_number_an_id_or_a_part_of_one(lib: Lib) -> None:
    id = lib.keep("Alpha lies north").id
    for reference in (1, "1", id, id[:-2], id[-8:], lib.find("alpha")[0]):
        assert lib.get(reference).id == id


@pytest.mark.covers("S4-8", "S1-9", "W1-4", "P19")
def test_a_revision_keeps_id_number_and_votes_and_the_old_text_stays(kept: Lib, clock: Clock) -> None:
    id = kept.keep("Anna lives in Rome", tags=["anna"]).id
    kept.vote(id)
    clock.move(days=1)
    assert kept.change(id, "Anna lives in Lima", importance=0.9).outcome == "changed"
    row = kept.get(id)
    assert (row.text, row.number, row.up, row.importance, row.tags) == ("Anna lives in Lima", 1, 1, 0.9, ("anna",))
    [old] = kept.all({"state": "superseded"})
    assert old.text == "Anna lives in Rome"
    assert kept.change(id, "Anna lives in Lima").outcome == "unchanged"


@pytest.mark.covers("P19", "P17")
def test_a_stale_version_is_a_conflict_and_changes_nothing(kept: Lib) -> None:
    id = kept.keep("The port is 8080").id
    version = kept.get(id).version
    kept.change(id, "The port is 9090", expected_version=version)
    with pytest.raises(Conflict):
        kept.change(id, "The port is 7070", expected_version=version)
    with pytest.raises(Conflict):
        kept.call("forget", id, expected_version=version)
    assert kept.get(id).text == "The port is 9090"


@pytest.mark.covers("S4-4", "S4-2")
def test_tags_are_added_removed_and_found(kept: Lib) -> None:
    id = kept.keep("The kiln is hot", tags=["clay"]).id
    kept.call("tag", id, "glaze", remove=["clay"])
    assert kept.get(id).tags == ("glaze",)
    assert kept.texts("glaze") == ["The kiln is hot"] and kept.all({"tags": ["clay"]}) == []
    with pytest.raises(Invalid):
        kept.call("tag", id)


@pytest.mark.covers("S1-3", "W2-4")
def test_a_long_memory_is_kept_whole_with_advice_and_found_by_its_end(kept: Lib) -> None:
    text = "𝔘nicode 👨‍👩‍👧‍👦 é " * 600 + "zanzibar"
    done = kept.keep(text)
    assert done.outcome == "added" and done.advice and kept.get(done.id).text == text
    assert kept.find("zanzibar").numbers == [1]


@pytest.mark.covers("S2-3", "S1-11", "C0-2")
def test_chat_messages_become_the_turns_of_a_session(kept: Lib) -> None:
    said = [
        {"role": "user", "content": "which port does grafana use?"},
        {"role": "assistant", "content": "It is 3000."},
    ]
    done = kept.keep(said, session="s1")
    assert [each.outcome for each in done] == ["added", "added"]
    turns = kept.all({"kind": "turn"})
    assert [(turn.role, turn.text, turn.session) for turn in turns] == [
        ("user", "which port does grafana use?", "s1"),
        ("assistant", "It is 3000.", "s1"),
    ]
    assert [each.outcome for each in kept.keep(said, session="s2")] == ["added", "added"], "turns are never merged"


@pytest.mark.covers("S3-9", "S3-1", "C0-1")
def test_there_is_one_vocabulary_of_kinds_and_own_ones_can_be_added(clock: Clock) -> None:
    kinds = "decision architecture convention pattern preference correction warning error procedure fact entity note".split()
    with Lib(clock=clock) as lib:
        for kind in [*kinds, "discovery", "file_change", "progress", "reasoning", "tool_output", "summary"]:
            assert lib.keep(f"One {kind} about herons", kind=kind).kind in (kind, "note")
        with pytest.raises(Invalid):
            lib.keep("One recipe", kind="recipe")


@pytest.mark.covers("P24")
def test_after_it_is_closed_every_verb_says_so_and_nothing_is_lost(place: Any) -> None:
    lib = Lib(place)
    lib.keep("Alpha lies north")
    lib.call("close")
    for act in (lambda: lib.keep("Beta"), lambda: lib.get(1), lambda: lib.all()):
        with pytest.raises(Exception) as problem:
            act()
        assert type(problem.value).__module__.startswith("memorist")
    with Lib(place) as again:
        assert [row.text for row in again.all(LIVING)] == ["Alpha lies north"]
