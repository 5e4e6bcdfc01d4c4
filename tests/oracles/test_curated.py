"""The engine under the curated design against a model of its founding document, over random histories.

`Differs` is the model with what memorist does otherwise on purpose: one method for each difference, with its reason. Nothing
else may differ: after every step both hold the same entries and findings, and answer with the same scores.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from conftest import rounds
from memorist import Memory
from memorist.design import Due
from memorist.designs import CURATED
from memorist.prompt.lanes import quotas
from memorist.remember import extract
from memorist.scoring import accesses, said_importance
from memorist.seeds.curated import slash
from memorist.testing import MovableClock
from memorist.upkeep.retain import Expire, Retain, Settle
from oracles.curated import TTL, WEIGHTS, Curated, Entry, Finding

LIMIT, STEPS = 12, 70
SESSIONS, AGENTS = ("s1", "s2", "s3"), ("claude", "gemini")
OTHERWISE = {"note": "discovery", "progress": "task_progress"}  # what the document calls these kinds
FILES = ("src/oak.py", "src/elm.py", "src/ash.py")  # each memory is about one of them, so all are equally long


class Differs(Curated):
    """The document, and what is otherwise here. Reasons: docs/why/0017-findings.md and 0027-what-an-eviction-spares.md."""

    def boost(self, entry: Entry, now: float) -> None:
        """A repetition is counted and not written: the memory is the same version, and its quarantine goes on."""
        updated = entry.updated
        super().boost(entry, now)
        entry.updated = updated

    def is_resolved_error(self, finding: Finding) -> bool:
        """§4.2 says "linked to a resolved error", §9 any error; an error that nobody resolved is no lesson yet."""
        return finding.category == "error" and finding.resolved

    def move(self, finding: Finding, now: float) -> Entry | None:
        """Promotion moves: the finding leaves its session and keeps its age and how often it was said. What the project says
        already gains nothing by it, or one finding would count again at every start."""
        if self.entry(finding.content):
            return None
        new = super().move(finding, now)
        assert new is not None
        self.findings.remove(finding)
        new.created, new.accessed = finding.found, finding.found
        if finding.repeated:
            new.importance = min(1.0, new.importance + 0.1 * finding.repeated)
            new.repeated, new.accessed = finding.repeated, finding.said
        return new

    def since(self, entry: Entry) -> float:
        """A change of a candidate begins its quarantine again: it is another text, or stands elsewhere."""
        return entry.updated

    def judge(self, entry: Entry, now: float) -> None:
        """To be said again proves nothing, only use does. The penalty is a factor of `score`: the document takes it off what is
        stored, again at every start (W3-2)."""
        if self.helped(entry):
            entry.status, entry.updated = "confirmed", now

    def helped(self, entry: Entry) -> bool:
        return entry.used > 0 and entry.accessed >= entry.updated

    def score(self, entry: Entry, now: float, files: set[str]) -> float:
        """See `judge`."""
        waits = entry.status == "candidate" and now - entry.updated >= 1 and not self.helped(entry)
        return super().score(entry, now, files) * (0.8 if waits else 1.0)

    def start(self, now: float) -> None:
        """A finding does not wait for ever: as long as its kind is kept, and 21 days at most."""
        super().start(now)
        self.findings = [each for each in self.findings if each.repeated >= 3 or now - each.said <= self.waits(each)]

    def waits(self, finding: Finding) -> float:
        return min(21, TTL[finding.category])

    def expired(self, entry: Entry, now: float) -> bool:
        """What the user said does not expire: a warning that is gone after 30 days is none (W3-7)."""
        return not entry.by_user and super().expired(entry, now)

    def spared(self, entry: Entry, now: float) -> bool:
        """What was pinned, unpinned or confirmed within a day is spared like what was used; and the newest of today, a tenth of
        the limit: nothing goes by its own arrival (W0-4)."""
        changed = entry.touched > entry.created and now - entry.touched < 1
        return entry.pinned or changed or entry in self.new(now)

    def new(self, now: float) -> list[Entry]:
        newest = sorted(self.entries, key=lambda entry: -entry.number)[: self.limit - int(self.limit * 0.9)]
        return [entry for entry in newest if now - entry.created < 1]


# ---------------------------------------------------------------- one history, in both


class History:
    """The same acts in the model and in the engine, chosen by chance."""

    def __init__(self, memory: Memory, clock: MovableClock, chance: random.Random) -> None:
        self.memory, self.clock, self.chance = memory, clock, chance
        self.model = Differs(limit=LIMIT)
        self.began = clock()
        self.found = [self.text() for _ in range(8)]
        self.about = {text: self.kind() for text in self.found}
        self.user = replace(memory.access, origin="user", actor="ann")

    @property
    def now(self) -> float:
        return (self.clock() - self.began).total_seconds() / 86400

    def word(self, length: int) -> str:
        return "".join(self.chance.choice("bdfgklmnprstvz") + self.chance.choice("aeiou") for _ in range(length))[
            :length
        ]

    def text(self) -> str:
        """Four words, the first the same in all: so a question for that word finds all of them alike."""
        length = self.chance.choice((3, 6, 15))
        return " ".join(["granite", *(self.word(length) for _ in range(3))])

    def kind(self) -> tuple[str, float, bool]:
        return (
            self.chance.choice([*WEIGHTS, "error", "error"]),
            self.chance.choice((0.1, 0.2, 0.3, 0.5, 0.7, 0.9)),
            self.chance.random() < 0.5,
        )

    def any_entry(self, **which: Any) -> Entry | None:
        fits = [
            each for each in self.model.entries if all(getattr(each, name) == value for name, value in which.items())
        ]
        return self.chance.choice(fits) if fits else None

    # -- the acts

    def a_person_remembers(self) -> None:
        known = self.any_entry(by_user=True) if self.chance.random() < 0.3 else None
        self.remembers(self.memory.through(self.user), known, 0.8, by_user=True)

    def an_agent_remembers(self) -> None:
        known = self.any_entry() if self.chance.random() < 0.5 else None
        self.remembers(self.memory, known, self.kind()[1])

    def remembers(self, door: Memory, known: Entry | None, importance: float, **more: Any) -> None:
        text, category = known.content if known else self.text(), self.kind()[0]
        files = known.files if known else (self.chance.choice(FILES),)
        done = door.remember(text, kind=category, importance=importance, files=files)
        assert done.outcome == self.model.remember(text, category, importance, self.now, files=files, **more)

    def an_agent_finds(self) -> None:
        text, session, agent = self.chance.choice(self.found), self.chance.choice(SESSIONS), self.chance.choice(AGENTS)
        category, importance, resolved = self.about[text]
        self.memory.extract(f"{category}|{importance}|{int(resolved)}|{text}", session=session, agent=agent)
        self.model.find(
            Finding(text, category, importance, session, {agent}, resolved, self.now, self.now, files=FILES[:1])
        )

    def it_helps(self) -> None:
        if entry := self.any_entry():
            self.memory.feedback(entry.number, "useful")
            self.model.access(entry, self.now)

    def somebody_pins(self) -> None:
        if entry := self.any_entry():
            slash(self.memory, f"/pin {entry.number}", access=self.user if entry.by_user else None)
            self.model.pin(entry, self.now)

    def an_agent_pins_a_finding(self) -> None:
        fits = [each for each in self.model.findings if not self.model.entry(each.content)]
        if fits:
            finding = self.chance.choice(fits)
            slash(self.memory, f"/pin {finding.number}")
            entry = self.model.move(finding, self.now)
            assert entry is not None
            self.model.pin(entry, self.now)

    def the_user_forgets(self) -> None:
        if entry := self.any_entry(session=None):
            slash(self.memory, f"/forget {entry.number}", access=self.user)
            self.model.entries.remove(entry)

    def a_session_ends(self) -> None:
        """Its findings are kept (§2): nothing changes in the model."""
        self.memory.finish(f"session/{self.chance.choice(SESSIONS)}")

    def the_user_chooses(self) -> None:
        self.model.auto = self.chance.random() < 0.7
        self.model.preset = self.chance.choice(("conservative", "balanced", "aggressive"))
        slash(self.memory, f"/memory auto {'on' if self.model.auto else 'off'}")
        slash(self.memory, f"/memory config {self.model.preset}")

    def time_passes(self) -> None:
        for _ in range(self.chance.choice((1, 1, 1, 4))):
            self.clock.move(days=self.chance.uniform(0.01, 5))
            self.memory.remember("a tick of the clock", kind="turn", scope="session/ticks")  # or it would have jumped
            self.model.next()

    def the_program_starts(self) -> None:
        self.memory.upkeep()
        self.model.promote(self.now)
        self.model.start(self.now)

    def somebody_asks(self) -> None:
        files = set(FILES[: self.chance.randrange(4)])
        found = self.memory.recall("granite", limit=5, files=sorted(files))
        words = {hit.why["words"] for hit in found}
        assert len(words) <= 1, "all of them match the question alike"
        assert [hit.score / words.copy().pop() for hit in found] == pytest.approx(self.model.answer(self.now, files))

    # -- what both hold

    def same(self) -> None:
        held = {record.number: record for record in self.memory.list({"scope": "project/atlas"}, limit=1000)}
        entries = {
            (r.number, r.text, OTHERWISE.get(r.kind, r.kind), r.status, r.pinned, accesses(r.counters))
            for r in held.values()
        }
        model = self.model.entries
        assert entries == {(e.number, e.content, e.category, e.status, e.pinned, e.accesses) for e in model}
        said = {number: said_importance(record.importance, record.counters) for number, record in held.items()}
        assert said == pytest.approx({entry.number: entry.importance for entry in model})
        findings = self.memory.list({"data.rule": "oracle", "data.home": "project/atlas"}, limit=1000)
        assert {(r.scope, r.text) for r in findings} == {
            (f"session/{f.session}", f.content) for f in self.model.findings
        }


ACTS = {
    History.a_person_remembers: 3, History.an_agent_remembers: 12, History.an_agent_finds: 8, History.it_helps: 4,
    History.somebody_pins: 1, History.an_agent_pins_a_finding: 1, History.the_user_forgets: 1, History.a_session_ends: 1,
    History.the_user_chooses: 1, History.time_passes: 6, History.the_program_starts: 4, History.somebody_asks: 4,
}  # fmt: skip


@pytest.fixture
def curated(clock: MovableClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    def as_told(text: str, role: str | None = None) -> list[extract.Finding]:
        category, importance, resolved, said = text.split("|")
        kinds = {told: kind for kind, told in OTHERWISE.items()}
        kind = kinds.get(category, category)
        found = extract.Finding(kind, said, "oracle", float(importance), 0, len(said), files=FILES[:1])
        return [replace(found, resolved=resolved == "1")]

    monkeypatch.setattr(extract, "extract", as_told)  # the rules that read a text are tested elsewhere
    design = replace(CURATED, upkeep=(Settle(), Expire(), Retain(max_items=LIMIT)), due=Due())
    with Memory(":memory:", project="atlas", design=design, clock=clock, embed="none") as memory:
        yield memory


@pytest.mark.covers("S3-4", "S3-7", "S3-14", "S3-19", "S3-20", "S3-21", "S3-22", "S3-25", "S3-28", "S3-29", "S3-30")
@pytest.mark.parametrize("number", range(rounds(500)))
def test_the_engine_and_the_document_agree_but_for_what_is_named(
    curated: Memory, clock: MovableClock, number: int
) -> None:
    chance = random.Random(number)
    history = History(curated, clock, chance)
    for _ in range(STEPS):
        act = chance.choices(list(ACTS), list(ACTS.values()))[0]
        act(history)
        history.same()


@pytest.mark.covers("S3-17", "C3-4", "W3-3")
@pytest.mark.parametrize("number", range(rounds(500)))
def test_the_lanes_are_the_documents_as_far_as_there_is_money(number: int) -> None:
    """The document gives floors that its total has not got (W3-3): there the lanes in front get theirs, and the rest is less."""
    remaining = random.Random(number).choice((100_000, 50_000, 20_000, 8_000, random.Random(number).randrange(200_000)))
    total, *parts = Curated.lanes(remaining)
    given = quotas(total, CURATED.lanes)
    assert sum(given) <= total
    if sum(parts) <= total:
        assert list(given) == parts
    for place, part in enumerate(parts):
        assert given[place] == min(part, total - sum(given[:place])) or sum(parts) > total
