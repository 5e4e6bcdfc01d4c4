"""What every store promises: each test states one thing that the engine relies on.

Isolation, filters and rollback are tested on every access path (by id, by number, by filter, by words, by link),
because a store that forgets one of them leaks there. The tests use no mark that a user's own pytest would not know.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from memorist.access import Access
from memorist.errors import Invalid, Refused, StoreUnavailable
from memorist.kinds import ARCHIVE, MEMORY, TURNS
from memorist.records import Counters, Link, Provenance, Record, Times
from memorist.store.journal import broken
from memorist.store.nouns import (
    LESSONS_AT_MOST,
    Commit,
    Counted,
    KeyUse,
    Lesson,
    Receipt,
    Run,
    Shelf,
    footprint,
    next_link,
    shelf_of,
)
from memorist.store.protocol import Store
from memorist.store.where import Order, Where, order_of
from memorist.testing.meaning import MeaningContract
from memorist.testing.records import (
    ATLAS,
    EVERYWHERE,
    START,
    a_full_record,
    a_record,
    a_tombstone,
    an_event,
    journalled,
    moment,
    sealed,
    stored,
)
from memorist.testing.ties import TieContract
from memorist.text.bm25 import Found
from memorist.text.words import terms

ON_ATLAS = Shelf("default", ATLAS, MEMORY)

RUN = Run(0, "default", "prune", "running", "me", moment(1), START, START)

FILTERED = (
    a_record("a", kind="decision", title="A", tags=("db", "api"), importance=0.9, pinned=True,
             data={"step": 3, "list": ["x", 1, None, ["y"]], "flag": True, "deep": {"k": 1}, "none": None}),
    a_record("b", tags=("api",), data={"step": "3", "list": "x", "flag": 1}),
    a_record("c", title="C", importance=0.7, times=Times(moment(1), START, START, None, moment(2))),
)  # fmt: skip
FILTERS: tuple[tuple[Mapping[str, Any] | None, str], ...] = (
    (None, "abc"), ({}, "abc"),
    ({"kind": "fact"}, "bc"), ({"kind": "Fact"}, ""), ({"content": "a"}, "a"),
    ({"title": "A\x00"}, ""), ({"title": "\ud800"}, ""), ({"tags": ["db\x00", "\ud800"]}, ""),
    ({"kind": "fact", "importance": 0.7}, "c"), ({"pinned": True}, "a"), ({"pinned": 1}, ""),
    ({"up": 0}, "abc"), ({"strength": {"$lt": 1}}, "abc"), ({"last_used": None}, "abc"), ({"used": {"$gt": 0}}, ""),
    ({"tags": ["db", "nope"]}, "a"), ({"tags": ["api"]}, "ab"), ({"tags": []}, ""), ({"tags": "api"}, ""),
    ({"tags": {"$any": ["db", "api"]}}, "ab"), ({"tags": {"$eq": ["api"]}}, "b"), ({"tags": {"$eq": []}}, "c"),
    ({"kind": ["fact"]}, ""), ({"title": [None]}, ""), ({"kind": {"$in": ["decision", "x"]}}, "a"),
    ({"importance": {"$eq": 0.7}}, "c"), ({"importance": {"$ne": 0.7}}, "ab"), ({"importance": {"$gt": 0.7}}, "a"),
    ({"importance": {"$gte": 0.7}}, "ac"), ({"importance": {"$lt": 0.7}}, "b"), ({"importance": {"$lte": 0.7}}, "bc"),
    ({"importance": {"$gte": 0.6, "$lt": 0.9}}, "c"), ({"importance": {"$gt": "0.5"}}, ""),
    ({"importance": {"$ne": "0.5"}}, "abc"), ({"importance": {"$lt": True}}, ""),
    ({"title": None}, "b"), ({"title": {"$ne": None}}, "ac"), ({"title": {"$ne": "A"}}, "bc"),
    ({"title": {"$gt": ""}}, "ac"), ({"title": {"$lte": "A"}}, "a"), ({"title": {"$gt": None}}, ""),
    ({"title": {"$in": [None, "C"]}}, "bc"), ({"title": {"$in": []}}, ""),
    ({"valid_from": None}, "ab"), ({"valid_from": {"$lt": moment(9)}}, "c"), ({"valid_from": {"$ne": moment(2)}}, "ab"),
    ({"timestamp": {"$gte": "2026-01-02T01:00+01:00"}}, "c"), ({"at": START}, "ab"),
    ({"data.step": 3}, "a"), ({"data.step": 3.0}, "a"), ({"data.step": "3"}, "b"), ({"data.step": None}, "c"),
    ({"data.step": {"$ne": 3}}, "bc"), ({"data.step": {"$gte": 1}}, "a"), ({"data.step": {"$gte": ""}}, "b"),
    ({"data.none": None}, "abc"), ({"data.flag": True}, "a"), ({"data.flag": 1}, "b"), ({"data.flag": START}, ""),
    ({"data.list": ["x"]}, "a"), ({"data.list": [None]}, "a"), ({"data.list": [True]}, ""), ({"data.list": "x"}, "b"),
    ({"data.list": [["y"]]}, "a"), ({"data.list": {"$eq": ["x", 1, None, ["y"]]}}, "a"), ({"data.deep.k": 1}, ""),
    ({"data.deep": None}, "bc"),
)  # fmt: skip
REFUSED: tuple[tuple[Any, str], ...] = (
    ({"nope": 1}, "importance"), ({"times": 1}, "importance"), ({"r.text": 1}, "importance"), ({1: 1}, "importance"),
    ({"data.": 1}, "data.<key>"), ({"data.\ud800": 1}, "data.<key>"), ({"data.\x00": 1}, "data.<key>"),
    ({"kind": {"$like": "x"}}, "$gte"), ({"kind": {"": 1}}, "$gte"),
    ({"kind": {None: 1}}, "$gte"), ({"kind": {"$in": "fact"}}, "list"), ({"importance": float("nan")}, "finite"),
    ({"number": 2**63}, "64"), ({"at": "soon"}, "2026"), ({"at": b"2026-01-01"}, "bytes"), ({"text": date(2026, 1, 1)}, "date"),
    ({"data.x": {"$eq": {}}}, "dict"), ("kind", "dict"),
)  # fmt: skip


def matched(
    store: Store, text: str, where: Where | None = None, shelves: Sequence[Shelf] = (ON_ATLAS,), limit: int = 10
) -> list[Record]:
    """The results of `match` for the words of a text, best first."""
    words, seen = tuple(dict.fromkeys(terms(text))), where or Where(EVERYWHERE)
    return store.get(list(store.match(words, shelves, seen, limit).scores), seen)


def texts(found: Sequence[Record]) -> list[str]:
    return [each.text for each in found]


def erased(store: Store, *records: Record) -> tuple[Sequence[int], set[str]]:
    with store.transaction():
        gone = store.erase([a_tombstone(record) for record in records])
    return gone.events, set(gone.words)


class StoreContract(MeaningContract, TieContract):
    """What every store promises. Subclass it and write `make`."""

    def make(self, tmp_path: Path) -> Store:
        raise NotImplementedError("return a new, empty store")

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = self.make(tmp_path)
        yield store
        store.close()

    # ------------------------------------------------------------ records

    def test_a_record_comes_back_with_every_field(self, store: Store) -> None:
        full = a_full_record()
        [record] = stored(store, full)
        counted = Counted(full.id, Counters(1, 2, 3, 4, 5, 6), moment(9))
        store.write(Commit(counted=[counted]))
        counted_record = replace(record, counters=counted.counters, times=replace(record.times, used=counted.used))
        everything = Where(replace(EVERYWHERE, space="team"))
        assert store.get([full.id], everything) == [counted_record]
        assert store.find(everything, Order(), 9) == [counted_record]

    def test_what_is_handed_out_is_the_callers_own(self, store: Store) -> None:
        data = {"list": [1]}
        [record] = stored(store, a_record(data=data))
        data["list"].append(2)
        store.get([record.id], Where(EVERYWHERE))[0].data["list"].append(3)
        assert store.get([record.id], Where(EVERYWHERE))[0].data == {"list": [1]}

    def test_numbers_start_at_one_and_grow(self, store: Store) -> None:
        first, second = stored(store, a_record("first"), a_record("second"))
        [third] = stored(store, a_record("third"))
        assert 1 == first.number < second.number < third.number

    def test_a_replaced_record_keeps_number_and_counters(self, store: Store) -> None:
        old, _ = stored(store, a_record("old words"), a_record("other"))
        store.write(Commit(counted=[Counted(old.id, Counters(up=2), moment(1))]))
        [new] = stored(store, replace(old, text="new words", version=2, number=0))
        [found] = store.get([old.id], Where(EVERYWHERE))
        assert (found.number, found.text, found.counters.up, found.times.used) == (1, "new words", 2, moment(1))
        assert new.number == 1 and store.count(Where(EVERYWHERE)) == {ATLAS: 2}
        assert not matched(store, "old") and texts(matched(store, "new")) == ["new words"]

    def test_get_answers_in_the_order_asked(self, store: Store) -> None:
        a, b, c = stored(store, a_record("a"), a_record("b"), a_record("c"))
        assert texts(store.get([c.id, "mnobody", a.id, "", b.id], Where(EVERYWHERE))) == ["c", "a", "b"]
        assert store.get([a.id], Where.of(EVERYWHERE, {"text": "b"})) == []

    def test_get_takes_numbers_too(self, store: Store) -> None:
        a, b, c = stored(store, a_record("a"), a_record("b", scope="project/b"), a_record("c"))
        assert store.get([c.number, 99, a.number, 0, b.number], Where(EVERYWHERE)) == [c, a, b]
        assert store.get([b.number, a.number], Where(Access(reads=(ATLAS,)))) == [a]
        assert store.get([a.number, c.number], Where.of(EVERYWHERE, {"text": "c"})) == [c]
        assert store.get([], Where(EVERYWHERE)) == []

    def test_a_part_of_an_id_is_found(self, store: Store) -> None:
        one, two = stored(store, a_record("one", id="mabcd123x"), a_record("two", id="mabce923x"))
        for begin, found in {"mabcd": [one], "mabc": [two, one], "mabcd123x": [one], "abc": [], "m%": []}.items():
            where = Where(EVERYWHERE).also("id", "gte", begin).also("id", "lt", begin + "\x7f")
            assert store.find(where, Order("number"), 9) == found and store.find(where, Order("number"), 1) == found[:1]
        for end, found in {"923x": [two], "23x": [two, one], "123": [], "%": [], "_": []}.items():
            assert store.find(Where(EVERYWHERE).also("id", "ends", end), Order("number")) == found

    def test_records_are_found_by_what_names_a_few(self, store: Store) -> None:
        a, b, c = stored(
            store,
            a_record("a", fingerprint="f", superseded_by="m1"),
            a_record("b", fingerprint="f", state="archived", scope="global"),
            a_record("c", fingerprint="g", superseded_by="m2"),
        )
        stored(store, a_record("d", fingerprint="f", superseded_by="m1", space="x"))
        asked: dict[tuple[str, tuple[Any, ...]], list[Record]] = {
            ("fingerprint", ("f", "h")): [a, b], ("fingerprint", ("f", "g")): [a, b, c], ("fingerprint", ()): [],
            ("superseded_by", ("m1", "m2")): [a, c], ("superseded_by", (None,)): [b], ("superseded_by", ("m1\0",)): [],
            ("superseded_by", ("m1", None)): [a, b], ("number", (1, 3, 99)): [a, c], ("number", ("1", 3)): [c],
            ("id", (c.id, "nobody")): [c], ("number", (1, True, 2.0)): [a, b],
        }  # fmt: skip
        for (field, values), expected in asked.items():
            where = Where(EVERYWHERE).also(field, "in", values)
            assert store.find(where, Order("number", ascending=True)) == expected, (field, values)
            assert store.find(where, Order("number"), 1) == expected[-1:]
        only = Where(Access(reads=(ATLAS,))).also("fingerprint", "in", ("f", "g")).also("state", "eq", "active")
        assert store.find(only, Order("number"), 9) == [c, a]

    # ------------------------------------------------------------ order and filters

    def test_order_is_descending_and_a_minus_turns_it(self, store: Store) -> None:
        days = {"old": moment(1), "new": moment(3), "mid": moment(2)}
        stored(store, *(a_record(text, times=Times(at, START, START)) for text, at in days.items()))
        assert texts(store.find(Where(EVERYWHERE), Order(), 9)) == ["new", "mid", "old"]
        assert texts(store.find(Where(EVERYWHERE), order_of("-timestamp"), 9)) == ["old", "mid", "new"]
        assert texts(store.find(Where(EVERYWHERE), order_of("text"), 2)) == ["old", "new"]

    def test_ties_go_by_number_and_missing_values_are_the_smallest(self, store: Store) -> None:
        stored(store, a_record("a"), a_record("b", title="T"), a_record("c"), a_record("d", title="T"))
        assert texts(store.find(Where(EVERYWHERE), order_of("title"), 9)) == ["d", "b", "c", "a"]
        assert texts(store.find(Where(EVERYWHERE), order_of("-title"), 9)) == ["a", "c", "b", "d"]
        assert texts(store.find(Where(EVERYWHERE), order_of("up"), 9)) == ["d", "c", "b", "a"]
        [late] = stored(store, a_record("e", times=Times(START, START, START, None, moment(-9))))
        assert store.find(Where(EVERYWHERE), order_of("valid_from"), 1) == [late]

    @pytest.mark.parametrize(("filter", "expected"), FILTERS, ids=lambda value: repr(value)[:60])
    def test_filters_mean_what_the_manual_says(self, store: Store, filter: Any, expected: str) -> None:
        stored(store, *FILTERED)
        where = Where.of(EVERYWHERE, filter)
        assert "".join(texts(store.find(where, order_of("-number"), 9))) == expected
        assert sum(store.count(where).values()) == len(expected)

    @pytest.mark.parametrize(("filter", "allowed"), REFUSED, ids=lambda value: repr(value)[:60])
    def test_what_a_filter_cannot_say_is_refused_by_name(self, filter: Any, allowed: str) -> None:
        with pytest.raises(Invalid) as refusal:
            Where.of(EVERYWHERE, filter)
        assert allowed in str(refusal.value)

    @pytest.mark.parametrize("key", ["nope", "tags", "data.x", "", "-", "--at", "at; DROP TABLE records", None])
    def test_an_unknown_sort_key_is_refused_by_name(self, key: Any) -> None:
        with pytest.raises(Invalid, match="importance"):
            order_of(key)

    # ------------------------------------------------------------ what may be seen

    def test_nothing_outside_the_access_is_seen(self, store: Store) -> None:
        mine, near, other = stored(
            store,
            a_record("mine words", scope="project/a"),
            a_record("near words", scope="project/ab"),
            a_record("other words", scope="project/a", space="elsewhere"),
        )
        store.write(Commit(links=[Link(mine.id, near.id, "relates_to"), Link(mine.id, other.id, "relates_to")]))
        here = Where(Access(reads=("*", "project/a")))
        shelves = [shelf_of(record) for record in (mine, near, other)]
        assert store.get([mine.id, near.id, other.id], here) == [mine]
        every = [record.number for record in (mine, near, other)]
        assert store.get(every, here) == [mine] == store.find(here.also("number", "in", tuple(every)), Order())
        assert [store.find(here.also("id", "ends", r.id[-12:]), Order()) for r in (mine, near)] == [[mine], []]
        assert store.find(here, Order(), 9) == [mine] and store.count(here) == {"project/a": 1}
        assert texts(matched(store, "words", here, shelves)) == ["mine words"]
        assert store.links(here, [mine.id, near.id, other.id]) == [] == store.links(here)
        assert store.find(Where(Access()), Order(), 9) == []

    def test_a_link_is_seen_when_both_ends_are(self, store: Store) -> None:
        a, b, c = stored(store, a_record("a"), a_record("b"), a_record("c", scope="project/b"))
        ab, cb = Link(a.id, b.id, "relates_to", 0.5, "said so"), Link(c.id, b.id, "contradicts")
        store.write(Commit(links=[ab, cb]))
        everywhere = Where(EVERYWHERE)
        assert store.links(everywhere, [b.id]) == [ab, cb] and store.links(everywhere, [a.id]) == [ab]
        assert store.links(everywhere) == [cb, ab] and store.links(everywhere, limit=1) == [cb]
        assert store.links(everywhere, [b.id], "contradicts") == [cb] == store.links(everywhere, kind="contradicts")
        assert store.links(everywhere, []) == [] == store.links(everywhere, [a.id], "contradicts")
        assert store.links(everywhere.also("text", "ne", "c"), [b.id]) == [ab]
        assert store.links(Where(Access(reads=(ATLAS,))), [a.id, b.id, c.id]) == [ab]
        store.write(Commit(links=[replace(ab, weight=0.9)], unlinked=[cb, Link(a.id, b.id, "supersedes")]))
        assert store.links(everywhere, [b.id, a.id]) == [replace(ab, weight=0.9)]

    def test_records_are_counted_by_scope(self, store: Store) -> None:
        stored(store, a_record("a"), a_record("b", scope="global"), a_record("c", state="archived"))
        stored(store, a_record("d", scope="user/ann", state="archived"), a_record("e", space="x"))
        assert store.count(Where.of(EVERYWHERE, {"state": "active"})) == {"global": 1, ATLAS: 1}
        assert store.count(Where(EVERYWHERE)) == {"global": 1, ATLAS: 2, "user/ann": 1}
        assert store.count(Where(replace(EVERYWHERE, space="nobody"))) == {}

    # ------------------------------------------------------------ words

    def test_the_filter_comes_before_the_limit(self, store: Store) -> None:
        stored(store, a_record("postgres", kind="warning"), *(a_record(f"postgres postgres {n}") for n in range(300)))
        warnings = Where.of(EVERYWHERE, {"kind": "warning"})
        assert texts(matched(store, "postgres", warnings, limit=1)) == ["postgres"]
        assert len(matched(store, "postgres", limit=7)) == 7

    def test_shelves_are_apart(self, store: Store) -> None:
        stored(store, a_record("staging database"), a_record("staging turn", kind="turn"))
        stored(store, a_record("staging there", scope="global"), a_record("staging archive", state="archived"))
        turns, there = Shelf("default", ATLAS, TURNS), Shelf("default", "global", MEMORY)
        gone = replace(ON_ATLAS, layer=ARCHIVE)
        read = [texts(matched(store, "staging", shelves=[shelf])) for shelf in (ON_ATLAS, turns, there, gone)]
        assert read == [["staging database"], ["staging turn"], ["staging there"], ["staging archive"]]
        assert len(matched(store, "staging", shelves=[ON_ATLAS, turns, there, gone])) == 4
        assert store.match(("staging",), [Shelf("default", "user/x", MEMORY)], Where(EVERYWHERE), 9) == Found()
        assert store.match((), [ON_ATLAS], Where(EVERYWHERE), 9) == Found()

    def test_what_lies_on_other_shelves_does_not_change_a_score(self, store: Store) -> None:
        stored(store, a_record("staging database"), a_record("another memory entirely"))
        before = store.match(terms("staging"), [ON_ATLAS], Where(EVERYWHERE), 9)
        stored(store, *(a_record(f"staging {n}", scope="global") for n in range(20)))
        stored(store, a_record("staging staging", state="archived"))
        assert store.match(terms("staging"), [ON_ATLAS], Where(EVERYWHERE), 9) == before
        assert 0 < before.scores[1] < before.yardstick.ceiling

    def test_a_change_of_state_moves_to_the_archive_and_back(self, store: Store) -> None:
        archive = [replace(ON_ATLAS, layer=ARCHIVE)]
        [record] = stored(store, a_record("staging"))
        stored(store, replace(record, state="superseded"))
        assert not matched(store, "staging") and len(matched(store, "staging", shelves=archive)) == 1
        stored(store, record)
        assert len(matched(store, "staging")) == 1 and not matched(store, "staging", shelves=archive)
        stored(store, replace(record, state="erased"))
        assert not matched(store, "staging") and not matched(store, "staging", shelves=archive)

    def test_a_long_text_is_found_by_its_last_words_and_once(self, store: Store) -> None:
        long = "The quick brown fox jumps over the lazy dog. " * 400 + "Zanzibar ends it."
        stored(store, a_record(long, tags=("animals",)), a_record("Zanzibar"))
        assert texts(matched(store, "Zanzibar")) == ["Zanzibar", long]
        assert len(matched(store, "fox")) == 1 == len(matched(store, "animals"))
        one, both = (store.match(terms(t), [ON_ATLAS], Where(EVERYWHERE), 9) for t in ("zanzibar", "animals zanzibar"))
        assert both.scores[1] > one.scores[1], "a tag and a word deep in the text meet"

    # ------------------------------------------------------------ journal, keys, receipts, settings

    def test_the_journal_is_chained(self, store: Store) -> None:
        a, b = stored(store, a_record("a"), a_record("b"))
        assert store.head() is None and list(store.chain()) == []
        before = {"text": "ä", "n": [1, None, 0.5]}
        events = [an_event(a, 1), an_event(b, 2), an_event(a, 3, verb="revised", before=before, because="so")]
        links = [journalled(store, events[0]), journalled(store, *events[1:])]
        head = store.head()
        assert head and (head.last, head.digest) == (3, links[-1].digest)
        assert list(store.chain()) == [(links[0], events[:1]), (links[1], events[1:])]
        assert broken(store.chain()) is None
        assert store.journal(record=a.id) == [events[0], events[2]] and store.journal(record="mnobody") == []
        assert store.journal() == events and store.journal(record=a.id, limit=1) == [events[2]]
        forged = [(link, [replace(event, actor="eve") for event in some]) for link, some in store.chain()]
        assert "changed" in (broken(forged) or "") and "missing" in (broken(forged[1:]) or "")

    def test_every_record_keeps_its_seal(self, store: Store) -> None:
        records = [a_full_record(), a_record("b")]
        with store.transaction():
            store.write(Commit([sealed(record) for record in records]))
        assert [(s.record.id, s.row, s.key, s.checksum) for s in store.seals()] == [
            (s.record.id, s.row, s.key, s.checksum) for s in map(sealed, records)
        ]
        [found] = store.seals([records[0].id, "mnobody"])
        assert (found.record.text, found.key) == (records[0].text, sealed(records[0]).key)

    def test_key_uses_and_settings_are_kept(self, store: Store) -> None:
        use = KeyUse("k", "d", "m1", "added", START)
        store.write(Commit(keys=[use]))
        assert store.key_use("k") == use and store.key_use("l") is None
        assert len(bytes.fromhex(store.setting("secret") or "")) == 32 and store.setting("nope") is None
        store.write(Commit(settings={"colour": "red"}))
        store.write(Commit(settings={"colour": "blue"}))
        assert store.setting("colour") == "blue"

    def test_the_recall_log_is_bounded(self, store: Store) -> None:
        shown, other, gone = stored(store, a_record(), a_record(), a_record(state="erased"))
        line = Receipt("", START, "default", "q?", "ann", "cli", None, 1.5, ((shown.id, 0.5),), "why")
        lines = [replace(line, id=f"r{n}", at=moment(n), space="x" if n == 7 else "default") for n in range(9)]
        store.log(lines[:5], 6, oldest=START)
        store.log(lines[5:], 6, oldest=START)
        assert store.receipts("default", 9) == [lines[n] for n in (8, 6, 5, 4, 3)]
        assert store.receipts("default", 2) == [lines[8], lines[6]] and store.size().receipts == 6
        store.log([replace(line, id=id, shown=((id, 0.1), (other.id, 0.1))) for id in (gone.id, "nobody")], 9, START)
        assert store.size().receipts == 6, "of what is gone nothing is told"
        told = [
            replace(line, id=f"t{n}", at=moment(20 + n), session=f"s{n % 2}", rendered={"text": "q"}) for n in range(4)
        ]
        store.log([*told, replace(line, id="t4", at=moment(30), session="s1")], 99, oldest=START)
        assert store.receipts("default", 9, session="s1") == [told[3], told[1]], "contexts of that session alone"
        assert store.receipts("default", 1, session="s1") == [told[3]] and not store.receipts("x", 9, session="s1")
        seen = store.get([shown.id, other.id], Where(EVERYWHERE))
        assert [record.counters.surfaced for record in seen] == [14, 0]

    def test_lessons_are_kept_replaced_and_bounded(self, store: Store) -> None:
        one, two = stored(store, a_record("heron weir"), a_record("stork roof"))
        lesson = Lesson(
            "l1", "default", "project/atlas", one.id, "q?", (("global", None), ("task/1", "project/a")), 3, -9, START
        )
        others = [replace(lesson, id="l2", home="project/b"), replace(lesson, id="l3", space="x")]
        store.write(Commit(lessons=[lesson, *others]))
        assert store.lessons("default", "project/atlas") == [lesson] and store.lessons("x") == others[1:]
        newer = replace(lesson, record=two.id, users=0, at=moment(2))
        store.write(Commit(lessons=[newer]))
        assert store.lessons("default") == [others[0], newer], "oldest first"
        many = [replace(lesson, id=f"m{n:04}", at=moment(n)) for n in range(LESSONS_AT_MOST + 3)]
        store.write(Commit(lessons=many))
        kept = store.lessons("default", "project/atlas")
        assert (
            len(kept) == LESSONS_AT_MOST
            and kept[-1] == many[-1]
            and store.lessons("default", "project/b") == others[:1]
        )

    # ------------------------------------------------------------ the whole

    def test_a_failed_transaction_leaves_nothing(self, store: Store) -> None:
        [kept] = stored(store, a_record("kept words", fingerprint="f"))
        journalled(store, an_event(kept, 1))
        store.log([Receipt("r1", START, "default", "q", "a", "s", None, 1.0, ())], 1, START)

        def all_there_is() -> list[Any]:
            where = Where(EVERYWHERE)
            found = store.match(terms("kept changed words"), [ON_ATLAS], where, 9)
            twins = store.find(where.also("fingerprint", "in", ("f", "g")), Order())
            things = [found, twins, store.find(where, Order(), 9), store.count(where), store.links(where, [kept.id])]
            things += [store.receipts("default", 9), store.journal(record=kept.id), store.key_use("k")]
            return [*things, store.setting("colour"), store.size(), list(store.chain()), list(store.seals())]

        before = all_there_is()
        with pytest.raises(KeyError), store.transaction():
            new = a_record("new words", scope="global", fingerprint="g")
            with store.transaction():  # joins the outer one
                store.write(Commit([sealed(new), sealed(replace(kept, text="changed words", fingerprint="g"))]))
            store.write(Commit([sealed(replace(kept, state="archived"))]))
            store.write(Commit(counted=[Counted(kept.id, Counters(up=1), START)]))
            store.write(Commit(links=[Link(kept.id, new.id, "relates_to")]))
            store.write(Commit(events=[an_event(new, 2)], digest=next_link(store.head(), [an_event(new, 2)]).digest))
            store.write(Commit(keys=[KeyUse("k", "d", new.id, "added", START)]))
            store.log([Receipt("r2", START, "default", "q", "a", "s", None, 1.0, ())], 1, START)
            store.write(Commit(settings={"colour": "red"}))
            assert all_there_is() != before
            raise KeyError
        assert all_there_is() == before
        assert [finding for finding in store.checkup() if not finding.ok] == []
        [later] = stored(store, a_record("later words", scope="user/ann"))
        assert later.number > kept.number
        assert texts(store.find(Where(Access(reads=("user/*",))), Order(), 9)) == ["later words"]

    def test_a_checkup_of_a_store_in_use_finds_nothing(self, store: Store) -> None:
        records = stored(store, a_full_record(), a_record("gone", state="erased"), *FILTERED)
        stored(store, replace(records[2], text="longer " * 900), replace(records[3], state="archived"))
        findings = store.checkup()
        assert findings and [finding for finding in findings if not finding.ok] == []
        assert store.size().records == 5

    def test_a_backup_is_a_store_or_refused(self, store: Store, tmp_path: Path) -> None:
        stored(store, a_record())
        if store.path is None:
            with pytest.raises(Refused):
                store.backup(tmp_path / "copy")
        else:
            store.backup(tmp_path / "copy")
            assert (tmp_path / "copy").stat().st_size > 0
            with pytest.raises(Invalid, match="exists"):
                store.backup(tmp_path / "copy")

    def test_after_close_nothing_works(self, store: Store) -> None:
        [record] = stored(store, a_record())
        store.close()
        store.close()
        for use in (
            lambda: store.get([record.id], Where(EVERYWHERE)),
            lambda: store.find(Where(EVERYWHERE), Order(), 1),
            lambda: matched(store, "staging"),
            lambda: list(store.chain()),
            lambda: store.setting("secret"),
            lambda: store.write(Commit([sealed(record)])),
            lambda: stored(store, record),
        ):
            with pytest.raises(StoreUnavailable, match="closed"):
                use()

    # ------------------------------------------------------------ words and what was done, counted

    def test_the_vocabulary_is_what_readable_shelves_hold_in_order(self, store: Store) -> None:
        first = a_record("Authors authenticate in Zürich, gen-itgc")
        other = a_record("Secret auction", scope="user/ann")
        stored(store, first, other, a_record("Old author of audits", state="archived"))
        shelves = [shelf_of(first), shelf_of(other)]
        only_here = Where(Access(reads=(first.scope,), writes=()))
        assert store.vocabulary("au", shelves, Where(EVERYWHERE), 9) == ["auction", "authent", "author"]
        assert store.vocabulary("au", shelves, only_here, 9) == ["authent", "author"]
        assert store.vocabulary("au", shelves, Where(EVERYWHERE), 2) == ["auction", "authent"]
        assert store.vocabulary("zur", shelves, Where(EVERYWHERE), 9) == ["zurich"]
        assert store.vocabulary("gen", shelves, Where(EVERYWHERE), 9) == ["gen", "gen·itgc"]
        for nothing in ("aux", "x", "%", "*", '"'):
            assert store.vocabulary(nothing, shelves, Where(EVERYWHERE), 9) == []
        assert store.vocabulary("au", [], Where(EVERYWHERE), 9) == []

    def test_a_word_leaves_the_vocabulary_with_its_last_memory(self, store: Store) -> None:
        [one] = stored(store, a_record("Authors"))
        shelves = [shelf_of(one)]
        stored(store, replace(one, text="Readers"))
        assert store.vocabulary("aut", shelves, Where(EVERYWHERE), 9) == []
        assert store.vocabulary("re", shelves, Where(EVERYWHERE), 9) == ["reader"]

    def test_uses_and_deeds_are_counted_by_space(self, store: Store) -> None:
        one, two, far = stored(store, a_record("a"), a_record("b"), a_record("c", space="team"))
        uses = {one.id: 2, two.id: 3, far.id: 50}
        with store.transaction():
            store.write(Commit(counted=[Counted(id, Counters(used=n, surfaced=7), START) for id, n in uses.items()]))
        journalled(store, an_event(one, 1), an_event(two, 2, verb="evicted", surface="upkeep"))
        journalled(store, an_event(far, 3, verb="evicted", surface="upkeep"), an_event(one, 4, verb="evicted"))
        here, there, nowhere = (
            store.size(Where(replace(EVERYWHERE, space=space))) for space in ("default", "team", "nobody")
        )
        assert (here.used, there.used, nowhere.used, store.size().used) == (5, 50, 0, 0)
        assert here.done == {("added", "cli"): 1, ("evicted", "cli"): 1, ("evicted", "upkeep"): 1}
        assert there.done == {("evicted", "upkeep"): 1} and nowhere.done == store.size().done == {}

    # ------------------------------------------------------------ the journal by batch

    def test_a_batch_is_found_by_its_name_in_order(self, store: Store) -> None:
        one, other = stored(store, a_record("a"), a_record("b"))
        journalled(store, an_event(one, 1, batch="b1"), an_event(other, 2, batch="b1"))
        journalled(store, an_event(one, 3, batch="b3"))
        journalled(store, an_event(other, 4, batch="b1"))  # a batch may take several transactions
        assert [event.seq for event in store.journal(batch="b1")] == [1, 2, 4]
        assert [event.seq for event in store.journal(batch="b3")] == [3]
        for nobody in ("b2", "b", "", "x1", "b-1", "b" + "9" * 30, "b1'"):
            assert store.journal(batch=nobody) == []

    def test_the_latest_events_come_page_by_page(self, store: Store) -> None:
        [one] = stored(store, a_record())
        for seq in range(1, 8):
            journalled(store, an_event(one, seq, batch=f"b{seq}"))
        assert [event.seq for event in store.journal(limit=3)] == [5, 6, 7]
        assert [event.seq for event in store.journal(before=5, limit=3)] == [2, 3, 4]
        assert store.journal(before=1) == [] and len(store.journal(record=one.id, before=4)) == 3

    # ------------------------------------------------------------ upkeep

    def test_glimpses_are_what_find_finds(self, store: Store) -> None:
        said = Provenance(session="s", role="tool")
        stored(
            store, a_record("b", kind="turn", data={"result": "c1"}, provenance=said, trust="low", origin="tool"),
            a_record("a", kind="turn", provenance=Provenance(session="s")), a_record("c", kind="turn", scope="project/other"),
            a_record("d"),
        )  # fmt: skip
        where = Where.of(replace(EVERYWHERE, reads=("project/atlas",)), {"kind": "turn"})
        shown = [
            (r.number, r.id, r.version, r.text, r.provenance.role, r.origin, r.trust, r.data)
            for r in store.find(where, Order("number", ascending=True))
        ]
        assert [tuple(each) for each in store.glimpses(where)] == shown and len(shown) == 2

    def test_briefs_weigh_what_is_visible_and_fits(self, store: Store) -> None:
        text = "Überblick " * 9
        big, small, hidden = stored(
            store, a_record(text, pinned=True, tags=("x",)), a_record("b"), a_record("c", scope="project/other")
        )
        store.write(Commit(counted=[Counted(small.id, Counters(up=2, rejected=1), moment(5))]))
        access = replace(EVERYWHERE, reads=("project/atlas",))
        found = {brief.id: brief for brief in store.briefs(Where.of(access, {"kind": "fact"}))}
        assert set(found) == {big.id, small.id}
        assert found[big.id].bytes == footprint(len(text.encode()) + len('["x"]'))
        assert (found[big.id].pinned, found[big.id].since) == (True, START)
        assert (found[small.id].counters, found[small.id].since) == (Counters(up=2, rejected=1), moment(5))
        assert (found[small.id].number, found[small.id].bytes) == (small.number, footprint(1))
        assert (found[big.id].scope, found[big.id].kind, found[big.id].trust) == (big.scope, big.kind, big.trust)
        assert (found[big.id].status, found[big.id].importance) == (big.status, big.importance)
        assert (found[small.id].confidence, found[small.id].touched) == (small.confidence, moment(5))
        assert found[big.id].touched == big.times.updated
        assert (found[small.id].at, found[small.id].created) == (small.times.at, small.times.created)
        assert hidden.id not in found

    def test_runs_are_kept_changed_and_listed_newest_first(self, store: Store) -> None:
        with store.transaction():
            first = store.write(Commit(runs=[RUN]))[0]
            done = replace(RUN, id=first, state="done", batch="b1", checkpoint={"last": "m1"}, changed=3)
            store.write(Commit(runs=[done]))
            second = store.write(Commit(runs=[RUN]))[0]
            store.write(Commit(runs=[replace(RUN, job="merge", space="team", problem="no room")]))
        [newest, oldest] = store.runs("default")
        assert newest.id == second and oldest == done
        assert store.runs("default", "merge") == []
        assert [run.problem for run in store.runs("team", "merge")] == ["no room"]
        assert [run.id for run in store.runs("default", "prune", limit=1)] == [second]

    def test_a_run_that_fails_to_commit_was_never_there(self, store: Store) -> None:
        with pytest.raises(RuntimeError), store.transaction():
            store.write(Commit(runs=[RUN]))
            raise RuntimeError
        assert store.runs("default") == []

    # ------------------------------------------------------------ erasing

    def test_questions_wait_in_order_and_go_with_what_they_are_about(self, store: Store) -> None:
        [one, two] = stored(store, a_record("The heron nests here"), a_record("Storks nest on the roof"))
        stored(store, a_record("Clear nights in the attic"))
        asked = replace(RUN, job="question", state="asks")
        about = {"details": {"id": one.id}, "more": [1, None]}
        runs = [replace(asked, question=about), replace(asked, question={"summary": "Move the STORKS?"})]
        runs += [replace(asked, question={"summary": "Clear the attic?"}), replace(asked, space="team", question={})]
        with store.transaction():
            ids = store.write(Commit(runs=runs))
        waiting = store.runs("default", state="asks")
        assert [run.id for run in reversed(waiting)] == ids[:3]
        assert waiting[-1].question == about
        erased(store, one)
        assert [run.id for run in store.runs("default", state="asks")] == ids[2:0:-1]
        erased(store, two)
        [left] = store.runs("default", state="asks")
        assert left.question == {"summary": "Clear the attic?"}
        gone = [run for run in store.runs("default", "question") if run.id != left.id]
        assert [(run.state, run.question) for run in gone] == [("withdrawn", None)] * 2
        with store.transaction():
            store.write(Commit(runs=[replace(left, state="done", question=None)]))
        assert store.runs("default", state="asks") == [] and len(store.runs("team", state="asks")) == 1
        assert [run.id for run in store.runs("default", "question", "done")] == [left.id]

    def test_an_erased_record_is_a_tombstone_that_no_question_finds(self, store: Store) -> None:
        full = replace(a_full_record(), space="default", state="active")
        [gone, kept] = stored(store, full, a_record("Staging runs Postgres"))
        store.write(Commit(counted=[Counted(gone.id, Counters(up=3), moment(4))]))
        _, words = erased(store, gone)
        assert "databas" in words or "database" in words  # what only it held
        assert not words & {"postgres", "postgr"}
        [stone] = store.get([gone.id], Where(EVERYWHERE))
        assert (stone.text, stone.tags, stone.counters, stone.times.used) == ("", (), Counters(), None)
        assert (stone.number, stone.state) == (gone.number, "erased")
        assert [finding for finding in store.checkup() if not finding.ok] == []
        assert [record.id for record in store.find(Where.of(EVERYWHERE, {"state": "active"}), Order(), 9)] == [kept.id]

    def test_events_links_keys_and_receipts_lose_their_words(self, store: Store) -> None:
        gone, kept = stored(store, a_record("heron weir"), a_record("stork roof"))
        told = {"other": gone.id, "was": None, "now": ["relates_to", 1.0, "the heron"]}
        first = an_event(gone, 1, before={"title": "heron"}, because="the heron")
        journalled(store, first, an_event(kept, 2, verb="linked", before=told, because="linked"))
        journalled(store, an_event(kept, 3, verb="pinned", before={"pinned": 0}, because="why not"))
        line = Receipt("r1", START, "default", "the heron", "me", "cli", None, 1.0, ())
        lines = [
            line,
            replace(line, id="r2", query="anything", shown=((gone.id, 0.5),)),
            replace(line, id="r3", query="stork", shown=((kept.id, 0.5),)),
        ]
        links = [Link(gone.id, kept.id, "relates_to", 1.0, "heron"), Link(kept.id, gone.id, "contradicts")]
        keys = [KeyUse("k", "d", gone.id, "added", START), KeyUse("l", "e", kept.id, "added", START)]
        about = Lesson("l1", "default", "project/atlas", kept.id, "stork", (), 3, 0, START)
        lessons = [about, replace(about, id="l2", record=gone.id), replace(about, id="l3", question="the heron")]
        with store.transaction():
            store.write(
                Commit(links=links, keys=keys, lessons=[replace(lessons[1], question="roof?"), lessons[0], lessons[2]])
            )
            store.log(lines, 100, START)
        events, words = erased(store, gone)
        assert (list(events), words) == ([2], {"heron", "weir"})
        assert [(e.before, e.because) for e in store.journal(record=gone.id)] == [(None, None)]
        left = [(e.before, e.because) for e in store.journal(record=kept.id)]
        assert left == [(None, None), ({"pinned": 0}, "why not")]
        assert store.links(Where(EVERYWHERE), [kept.id]) == []
        assert store.key_use("k") is None, "a key goes with its record, and may be used anew"
        assert store.key_use("l") == keys[1]
        assert [line.id for line in store.receipts("default", 9)] == ["r3"]
        assert store.lessons("default") == lessons[:1]
        assert broken(store.chain()) is None

    def test_an_erasure_that_fails_to_commit_took_nothing(self, store: Store) -> None:
        [one] = stored(store, a_record("heron weir"))
        journalled(store, an_event(one, 1, because="the heron"))
        with pytest.raises(RuntimeError), store.transaction():
            store.erase([a_tombstone(one)])
            raise RuntimeError
        assert [record.text for record in store.get([one.id], Where(EVERYWHERE))] == ["heron weir"]
        assert store.journal(record=one.id)[0].because == "the heron"
        assert [finding for finding in store.checkup() if not finding.ok] == []

    def test_scrubbing_and_compacting_keep_everything_else(self, store: Store) -> None:
        gone, kept = stored(store, a_record("heron weir"), a_record("stork roof"))
        _, words = erased(store, gone)
        assert store.scrub([word.encode() for word in words]) is None
        store.compact()
        assert [record.text for record in store.get([kept.id], Where(EVERYWHERE))] == ["stork roof"]
        assert [finding for finding in store.checkup() if not finding.ok] == []

    def test_tidying_ends_and_changes_no_answer(self, store: Store) -> None:
        for number in range(8):  # each transaction leaves a piece of the index behind
            (record,) = stored(store, a_record(f"the harbour is {number} miles away"))
        shelf = shelf_of(record)
        before = store.match(["harbour", "mile"], [shelf], Where(EVERYWHERE), 10)
        steps = 0
        while store.tidy():
            steps += 1
            assert steps < 100
        assert store.match(["harbour", "mile"], [shelf], Where(EVERYWHERE), 10) == before and len(before.scores) == 8
        assert all(finding.ok for finding in store.checkup())
