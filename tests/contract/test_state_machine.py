"""Promise P20: whatever is done in whatever order, every backend behaves like a simple dict of records.

Hypothesis invents sequences of verbs and plays them to a `Memory` and to the model below; after each step both must hold
the same, and what the store finds by words is what an oracle finds (`oracle.py`). In the end the journal must verify and the
doctor must find nothing: a state that looks right over a wrong index or an unsealed row is not right.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from conftest import TORTURE
from contract.oracle import Oracle
from memorist import Memory
from memorist.access import access_for
from memorist.errors import Conflict, Invalid, NotFound, OutOfScope, Refused
from memorist.kinds import KINDS, MEMORY
from memorist.records import LINK_KINDS, Outcome, Record
from memorist.store.nouns import shelf_of
from memorist.store.where import Order, Where
from memorist.testing import MovableClock
from memorist.testing.records import HashEmbedder
from memorist.text.words import terms

SETTINGS = settings(
    max_examples=1000 if TORTURE else 20,
    stateful_step_count=50 if TORTURE else 30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
PROJECT = "project/atlas"
STATES = ("active", "archived", "superseded", "erased")
TEXTS = st.sampled_from(
    ["staging runs postgres", "postgres läuft", "elephants like 日本語", "use C++", "🐘", "staging " * 300]
)
KINDS_USED = st.sampled_from(["fact", "decision", "note", "turn", "document"])
SCOPES = st.sampled_from([PROJECT, "global", "user/ann"])
TAGS = st.lists(st.sampled_from(["db", "Überblick", "c++", "urgent"]), max_size=2, unique=True)
PICKS = st.integers(0, 200)  # which of the records there are, counted round
VERDICTS = {"useful": ("up", "used"), "irrelevant": ("rejected",), "wrong": ("down",)}


@dataclass(frozen=True)
class Kept:
    """What the model knows of a record."""

    text: str
    kind: str
    scope: str
    tags: tuple[str, ...] = ()
    pinned: bool = False
    state: str = "active"
    status: str = "confirmed"
    version: int = 1
    up: int = 0
    down: int = 0
    used: int = 0
    rejected: int = 0
    strength: int = 0

    @classmethod
    def of(cls, record: Record) -> "Kept":
        c = record.counters
        return cls(
            record.text, record.kind, record.scope, record.tags, record.pinned, record.state, record.status,
            record.version, c.up, c.down, c.used, c.rejected, c.strength,
        )  # fmt: skip

    @property
    def layer(self) -> str:
        return KINDS[self.kind].layer

    @property
    def stands_everywhere(self) -> bool:
        return (self.scope, self.state, self.pinned) == ("global", "active", True)

    @property
    def terms(self) -> set[str]:
        return set(terms(" ".join((self.text, *self.tags))))


class MemoryMachine(RuleBasedStateMachine):
    """The verbs of `Memory`, each beside what it should do to a dict. Ids keep the order in which they were made."""

    file: str | None = "memory.db"

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memorist-"))
        self.clock = MovableClock()
        self.model: dict[str, Kept] = {}
        self.numbers: dict[str, int] = {}
        self.links: dict[tuple[str, str, str], float] = {}
        self.past: dict[str, list[str]] = {}  # the past texts of a memory
        self.loose: set[str] = (
            set()
        )  # memories a past text of which was erased: their keys forget what they were used for
        self.keys: dict[tuple[str, str | None], tuple[tuple[object, ...], str]] = {}  # a key belongs to its scope

    @initialize(origin=st.sampled_from(["agent", "user"]), meaning=st.booleans())
    def begin(self, origin: str, meaning: bool) -> None:
        self.origin = origin
        self.embedder = HashEmbedder(on_files=True) if meaning else None
        self.memory = self.opened()

    def opened(self) -> Memory:
        place = self.folder / self.file if self.file else ":memory:"
        access = access_for("project", PROJECT, origin=self.origin)
        return Memory(place, project="atlas", access=access, clock=self.clock, embed=self.embedder or "none")

    def teardown(self) -> None:
        if not hasattr(self, "memory"):
            return
        audit, findings = self.memory.audit(), self.memory.doctor()
        self.memory.close()
        shutil.rmtree(self.folder)
        assert audit.ok, audit.problems
        assert audit.records == len(self.model)
        assert [finding for finding in findings if not finding.ok] == []

    # ------------------------------------------------------------ writing

    @rule(
        text=TEXTS,
        kind=KINDS_USED,
        scope=SCOPES,
        tags=TAGS,
        pinned=st.booleans(),
        key=st.sampled_from([None, "k", "l"]),
    )
    def remember(self, text: str, kind: str, scope: str, tags: list[str], pinned: bool, key: str | None) -> None:
        self.clock.move(minutes=1)
        self.say(text, kind, scope, tags, pinned, key)

    @precondition(lambda self: self.model)
    @rule(pick=PICKS)
    def remember_again(self, pick: int) -> None:
        self.clock.move(minutes=1)
        _, kept = self.picked(pick)
        if kept.state != "erased":
            self.say(kept.text, kept.kind, kept.scope, [], False, None)

    def say(self, text: str, kind: str, scope: str, tags: list[str], pinned: bool, key: str | None) -> None:
        draft = (text, kind, scope, tuple(tags), pinned)

        def remembered() -> Outcome:
            return self.memory.remember(text, kind=kind, scope=scope, tags=tags, pinned=pinned, key=key)

        new = Kept(text, kind, scope, tuple(tags), pinned)
        if pinned and kind == "turn":
            with pytest.raises(Refused):
                remembered()
            return
        if self.asks(new):
            assert remembered().outcome == "needs_consent"
            return
        if (scope, key) in self.keys:
            known, id = self.keys[scope, key]
            if known != draft and id not in self.loose:
                with pytest.raises(Conflict):
                    remembered()
            else:
                said = remembered()
                assert (said.outcome, said.id) == ("repeated", id)
            return
        expected, twin = self.expected(new)
        said = remembered()
        assert (said.outcome, said.id == twin) == (expected, twin is not None), said
        if key is not None:
            self.keys[scope, key] = (draft, str(said.id))
        if twin is None:
            forgotten = any(self.is_twin(kept, new) and kept.state == "archived" for kept in self.model.values())
            self.added(said, replace(new, status="candidate" if forgotten else "confirmed"))

    def asks(self, *concerned: Kept) -> bool:
        """Whether a person has to agree to a change of these: an agent does not decide what every prompt shows."""
        return self.origin != "user" and any(kept.stands_everywhere for kept in concerned)

    def is_past(self, id: str) -> bool:
        return any(id in pasts for pasts in self.past.values())

    def expected(self, new: Kept) -> tuple[str, str | None]:
        """What should become of a draft, and of which record; that record is changed in the model."""
        twins = [(id, kept) for id, kept in self.model.items() if self.is_twin(kept, new)]
        for id, kept in twins:
            if kept.state == "active":
                tags = tuple(dict.fromkeys((*kept.tags, *new.tags)))
                status = "confirmed" if self.origin == "user" else kept.status
                after = replace(kept, tags=tags, pinned=kept.pinned or new.pinned, status=status)
                version = kept.version + (after != kept)
                self.model[id] = replace(after, strength=kept.strength + 1, version=version)
                return "reinforced", id
        for id, kept in twins:
            if kept.state == "archived" and self.origin == "user":
                self.model[id] = replace(kept, state="active", status="confirmed", version=kept.version + 1)
                return "restored", id
        return "added", None

    @staticmethod
    def is_twin(kept: Kept, new: Kept) -> bool:
        here, there = KINDS[new.kind], KINDS[kept.kind]
        alike = (kept.text, kept.scope, kept.layer) == (new.text, new.scope, new.layer)
        return alike and here.deduplicated and there.deduplicated and here.recalled == there.recalled

    def has_active_twin(self, id: str, after: Kept) -> bool:
        others = (kept for other, kept in self.model.items() if other != id and kept.state == "active")
        return any(self.is_twin(kept, after) for kept in others)

    def added(self, said: Outcome, kept: Kept) -> None:
        assert said.id is not None and said.id not in self.model and said.record is not None
        assert said.record.number > max(self.numbers.values(), default=0)
        self.model[said.id], self.numbers[said.id] = kept, said.record.number

    @precondition(lambda self: self.model)
    @rule(pick=PICKS, text=TEXTS)
    def revise(self, pick: int, text: str) -> None:
        self.clock.move(minutes=1)
        id, kept = self.picked(pick)
        if kept.state != "active" or KINDS[kept.kind].append_only:
            with pytest.raises(Refused):
                self.memory.revise(id, text)
        elif kept.text == text:
            assert self.memory.revise(id, text).outcome == "unchanged"
        elif self.has_active_twin(id, replace(kept, text=text)):
            with pytest.raises(Conflict):
                self.memory.revise(id, text)
        else:
            assert self.memory.revise(id, text).id == id
            [past] = {link.b for link in self.memory.links(id) if link.a == id} - set(self.model)
            status = "confirmed" if self.origin == "user" else kept.status
            self.model[id] = replace(kept, text=text, version=kept.version + 1, status=status)
            self.model[past] = Kept(kept.text, kept.kind, kept.scope, kept.tags, False, "superseded", kept.status)
            self.numbers[past] = self.memory.get(past).number
            self.links[id, past, "supersedes"] = 1.0
            self.past.setdefault(id, []).append(past)

    @precondition(lambda self: self.model)
    @rule(pick=PICKS, by_filter=st.booleans())
    def erase(self, pick: int, by_filter: bool) -> None:
        self.clock.move(minutes=10)
        id, kept = self.picked(pick)
        where = {"id": id, "state": {"$in": STATES}}
        report = self.memory.erase(where=where) if by_filter else self.memory.erase(id)
        gone = set() if kept.state == "erased" else self.with_what_was_derived(id)
        assert {each.id for each in report.changed} == gone
        for each in gone:
            was = self.model[each]
            self.model[each] = Kept("", was.kind, was.scope, state="erased", version=was.version + 1)
        self.loose |= {head for head, pasts in self.past.items() if gone & set(pasts)}
        self.links = {key: weight for key, weight in self.links.items() if not gone & set(key[:2])}
        self.keys = {key: use for key, use in self.keys.items() if use[1] not in gone}

    def with_what_was_derived(self, id: str) -> set[str]:
        """A memory and its past texts, what was derived from them, and so on."""
        found: set[str] = set()
        edge = {id}
        while edge:
            edge |= {past for each in edge for past in self.past.get(each, ())}
            found |= edge
            edge = {a for a, b, kind in self.links if kind == "derived_from" and b in edge} - found
        return {each for each in found if self.model[each].state != "erased"}

    def must_be_refused(self, pick: int) -> bool:
        """Whether that record is erased; then no verb does anything to it."""
        id, kept = self.picked(pick)
        if kept.state != "erased":
            return False
        verbs = (self.memory.pin, self.memory.unpin, self.memory.restore, self.memory.forget)
        for verb in (*verbs, lambda id: self.memory.tag(id, "db"), lambda id: self.memory.feedback(id, "useful")):
            with pytest.raises(Refused):
                verb(id)
        return True

    @precondition(lambda self: self.model)
    @rule(pick=PICKS, pinned=st.booleans())
    def pin(self, pick: int, pinned: bool) -> None:
        if self.must_be_refused(pick):
            return
        id, kept = self.picked(pick)
        verb, after = self.memory.pin if pinned else self.memory.unpin, replace(kept, pinned=pinned)
        if (pinned and kept.kind == "turn") or (after != kept and self.is_past(id)):
            with pytest.raises(Refused):
                verb(id)
        else:
            self.changed(verb(id), id, after)

    @precondition(lambda self: self.model)
    @rule(pick=PICKS, added=TAGS, removed=TAGS)
    def tag(self, pick: int, added: list[str], removed: list[str]) -> None:
        if self.must_be_refused(pick):
            return
        id, kept = self.picked(pick)
        if not added and not removed:
            with pytest.raises(Invalid):
                self.memory.tag(id)
            return
        tags = tuple(tag for tag in dict.fromkeys((*kept.tags, *added)) if tag not in removed)
        if tags != kept.tags and self.is_past(id):
            with pytest.raises(Refused):
                self.memory.tag(id, *added, remove=removed)
        else:
            self.changed(self.memory.tag(id, *added, remove=removed), id, replace(kept, tags=tags))

    @precondition(lambda self: self.model)
    @rule(pick=PICKS, back=st.booleans())
    def forget_or_restore(self, pick: int, back: bool) -> None:
        if self.must_be_refused(pick):
            return
        self.clock.move(minutes=10)
        id, kept = self.picked(pick)
        verb = self.memory.restore if back else self.memory.forget
        if kept.state == "superseded":
            with pytest.raises(Refused):
                verb(id)
        elif back and kept.state == "archived" and self.has_active_twin(id, kept):
            with pytest.raises(Conflict):
                verb(id)
        else:
            self.changed(verb(id), id, replace(kept, state="active" if back else "archived"))

    def changed(self, said: Outcome, id: str, after: Kept) -> None:
        """The verb changed the record, or said that there was nothing to change, or that a person has to agree."""
        before = self.model[id]
        asks = after != before and self.asks(before, after)
        assert (said.id, said.outcome) == (id, self.outcome(after != before, asks))
        if after != before and not asks:
            self.model[id] = replace(after, version=before.version + 1)

    @staticmethod
    def outcome(changes: bool, asks: bool) -> str:
        return "needs_consent" if asks else "changed" if changes else "unchanged"

    @precondition(lambda self: self.model)
    @rule(pick=PICKS, verdict=st.sampled_from([*VERDICTS, "splendid"]))
    def feedback(self, pick: int, verdict: str) -> None:
        if self.must_be_refused(pick):
            return
        id, kept = self.picked(pick)
        if verdict not in VERDICTS:
            with pytest.raises(Invalid):
                self.memory.feedback(id, verdict)
            return
        self.memory.feedback(id, verdict)
        self.model[id] = replace(kept, **{name: getattr(kept, name) + 1 for name in VERDICTS[verdict]})

    @precondition(lambda self: self.model)
    @rule(a=PICKS, b=PICKS, kind=st.sampled_from(LINK_KINDS), weight=st.sampled_from([0.5, 1.0]))
    def link(self, a: int, b: int, kind: str, weight: float) -> None:
        self.clock.move(minutes=10)
        one, other = self.picked(a)[0], self.picked(b)[0]
        known = self.links.get((one, other, kind))
        circle = kind == "supersedes" and one in self.older_than(other) and known != weight
        if "erased" in (self.model[one].state, self.model[other].state):
            with pytest.raises(Refused):
                self.memory.link(one, other, kind, weight=weight)
        elif one == other or circle:
            with pytest.raises(Invalid):
                self.memory.link(one, other, kind, weight=weight)
        else:
            old = self.model[other]
            retires = kind == "supersedes" and known is None and old.state == "active"
            asks = retires and self.asks(old)
            said = self.memory.link(one, other, kind, weight=weight)
            assert said.outcome == self.outcome(known != weight, asks)
            if asks:
                return
            self.links[one, other, kind] = weight
            if retires:
                self.model[other] = replace(old, state="superseded", version=old.version + 1)

    def older_than(self, id: str) -> set[str]:
        found, edge = set(), {id}
        while edge:
            found |= edge
            edge = {b for a, b, kind in self.links if kind == "supersedes" and a in edge} - found
        return found

    @precondition(lambda self: self.model)
    @rule(a=PICKS, b=PICKS, kind=st.sampled_from(LINK_KINDS), known=st.booleans())
    def unlink(self, a: int, b: int, kind: str, known: bool) -> None:
        key = (self.picked(a)[0], self.picked(b)[0], kind)
        if known and self.links:
            key = list(self.links)[a % len(self.links)]
        if key[0] == key[1] or "erased" in (self.model[key[0]].state, self.model[key[1]].state):
            return
        old, there = self.model[key[1]], key in self.links
        returns = there and (key[2], old.state) == ("supersedes", "superseded") and not self.is_past(key[1])
        returns = returns and not any(b == key[1] and kind == "supersedes" for a, b, kind in set(self.links) - {key})
        back = replace(old, state="active", version=old.version + 1)
        if returns and self.has_active_twin(key[1], back):
            with pytest.raises(Conflict):
                self.memory.unlink(*key)
            return
        asks = returns and self.asks(back)
        assert self.memory.unlink(*key).outcome == self.outcome(there, asks)
        if there and not asks:
            del self.links[key]
            self.model[key[1]] = back if returns else old

    @rule(
        id=st.sampled_from(
            ["m00000000000000000000000000", "999999", "0", "-1", "", "zzzz", "%", "\ud800", "\x00", "é", "m" * 500]
        )
    )
    def nobody(self, id: str) -> None:
        for verb in (self.memory.get, self.memory.pin, self.memory.forget, self.memory.restore, self.memory.history):
            with pytest.raises(NotFound):
                verb(id)
        with pytest.raises(NotFound):
            self.memory.revise(id, "x")

    @rule(scope=st.sampled_from(["project/atlas2", "project/other"]), text=TEXTS)
    def elsewhere(self, scope: str, text: str) -> None:
        with pytest.raises(OutOfScope):
            self.memory.remember(text, scope=scope)
        with pytest.raises(OutOfScope):
            self.memory.recall(text, scope=scope)

    # ------------------------------------------------------------ reading

    def picked(self, pick: int) -> tuple[str, Kept]:
        return list(self.model.items())[pick % len(self.model)]

    @precondition(lambda self: self.model)
    @rule(pick=PICKS)
    def get(self, pick: int) -> None:
        id, kept = self.picked(pick)
        number = self.numbers[id]
        for reference in (id, id.upper(), number, str(number), f"[id:{number}]"):
            record = self.memory.get(reference)
            assert (record.id, record.number, Kept.of(record)) == (id, number, kept)
        linked = {(link.a, link.b, link.kind): link.weight for link in self.memory.links(id)}
        assert linked == {key: weight for key, weight in self.links.items() if id in key[:2]}
        assert self.memory.history(id)

    @rule(
        tag=st.sampled_from(["db", "urgent"]), kind=KINDS_USED, votes=st.integers(0, 2), state=st.sampled_from(STATES)
    )
    def filtered(self, tag: str, kind: str, votes: int, state: str) -> None:
        kept = self.model.items()
        asked = {
            "tags": ({"tags": [tag]}, {id for id, k in kept if tag in k.tags and k.state == "active"}),
            "kind": ({"kind": kind, "state": state}, {id for id, k in kept if (k.kind, k.state) == (kind, state)}),
            "votes": ({"up": {"$gte": votes}}, {id for id, k in kept if k.up >= votes and k.state == "active"}),
            "pins": ({"pinned": True}, {id for id, k in kept if k.pinned and k.state == "active"}),
        }  # fmt: skip
        for filter, expected in asked.values():
            assert {record.id for record in self.memory.list(filter)} == expected
            assert self.memory.count(filter) == len(expected)

    @rule(query=TEXTS, search=st.sampled_from(["memory", "archive", "sessions"]), user=st.booleans())
    def recall(self, query: str, search: str, user: bool) -> None:
        self.clock.move(minutes=1)
        answer = self.memory.recall(query, search=search, limit=100, user="ann" if user else None, min_relevance=0)
        scopes = (PROJECT, "user/ann", "global") if user else (PROJECT, "global")
        layers = {"memory": MEMORY, "sessions": "turns"}
        words = set(terms(query))
        there = {
            id: kept for id, kept in self.model.items()
            if kept.scope in scopes
            and (kept.state in ("archived", "superseded") if search == "archive"
                 else (kept.state, kept.layer) == ("active", layers[search]))
        }  # fmt: skip
        expected = {id: kept for id, kept in there.items() if words & kept.terms}
        found = {hit.record.id: Kept.of(hit.record) for hit in answer}
        if search == "memory":  # where memories say little, turns are tried
            turns = {id: kept for id, kept in self.model.items() if kept.scope in scopes and kept.layer == "turns"}
            said = {id: kept for id, kept in turns.items() if kept.state == "active"}
            there, expected = there | said, expected | {id: said[id] for id in found.keys() & said.keys()}
        if self.embedder:  # what shares no word may still be alike
            assert found.items() <= there.items() and (found or not expected)
        else:
            assert found.items() <= expected.items() and bool(found) == bool(expected)
        assert found or answer.empty_because
        self.store_finds_what_the_oracle_finds(query)

    def store_finds_what_the_oracle_finds(self, query: str) -> None:
        store, where = self.memory._tools.store, Where(self.memory.access)
        records = store.find(where, Order("number"), 10_000)
        oracle, asked = Oracle.of(records), tuple(dict.fromkeys(terms(query)))
        for shelves in ([shelf_of(record) for record in records[:1]], list(dict.fromkeys(map(shelf_of, records)))):
            hits, ceiling = oracle.match(asked, shelves, where, 3)
            found = store.match(asked, shelves, where, 3)
            assert (list(found.scores.items()), found.yardstick.ceiling) == (hits, ceiling)

    @precondition(lambda self: self.file)
    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = self.opened()

    @invariant()
    def both_hold_the_same(self) -> None:
        if not hasattr(self, "memory"):
            return
        everything = {"state": {"$in": STATES}}
        records = self.memory.list(everything, order="-number", limit=10_000)
        assert {record.id: Kept.of(record) for record in records} == self.model
        assert {record.id: record.number for record in records} == self.numbers
        assert self.memory.count(everything) == len(self.model)
        active = {id for id, kept in self.model.items() if kept.state == "active"}
        assert {record.id for record in self.memory.list(limit=10_000)} == active and self.memory.count() == len(active)
        if self.embedder:
            self.every_text_has_its_vector(records)

    def every_text_has_its_vector(self, records: Sequence[Record]) -> None:
        store = self.memory._tools.store
        for generation in store.generations():
            assert store.unembedded(generation.id, 0, 9) == []
            for text in {record.text for record in records if record.state != "erased"}:
                vector, same = self.embedder.embed([text])[0], [record for record in records if record.text == text]
                shelves, numbers = [shelf_of(record) for record in same], [record.number for record in same]
                likeness = store.similarities(generation.id, vector, shelves, numbers)
                assert likeness == pytest.approx(dict.fromkeys(numbers, 1.0), abs=0.01)


class MemoryInRam(MemoryMachine):
    file = None


class MemoryInJson(MemoryMachine):
    """Also left open and read by others: the log then does what a new snapshot does after a close."""

    file = "memory.json"

    @precondition(lambda self: hasattr(self, "memory"))
    @rule()
    def reopen_unclosed(self) -> None:
        self.memory = self.opened()


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No setting of the developer's reaches the memory."""
    for name in [name for name in os.environ if name.startswith("MEMORIST_") and name != "MEMORIST_TORTURE"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORIST_CONFIG", str(tmp_path / "none.toml"))
    yield


@pytest.mark.covers("S0-3", "S0-4", "W0-9", "P20")
@pytest.mark.parametrize("machine", [MemoryMachine, MemoryInRam, MemoryInJson])
def test_a_memory_behaves_like_a_dict(machine: type[MemoryMachine], alone: None) -> None:
    run_state_machine_as_test(machine, settings=SETTINGS)
