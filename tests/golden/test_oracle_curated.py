"""The engine under the curated design against a model of its founding document, over random histories.

`Differs` is the model with what memorist does otherwise on purpose: one method for each difference, with its reason. Nothing
else may differ: after every step both hold the same entries and findings, and answer with the same scores.
"""

import random
from typing import Any

import pytest

from golden.conftest import rounds
from golden.driver import Clock, Lib, retaining, slash
from golden.oracles.curated import WEIGHTS, Curated, Entry

LIMIT, STEPS = 12, 70
SESSIONS, AGENTS = ("s1", "s2", "s3"), ("claude", "gemini")
OTHERWISE = {"note": "discovery", "progress": "task_progress"}  # what the document calls these kinds
FILES = ("src/oak.py", "src/elm.py", "src/ash.py")  # each memory is about one of them, so all are equally long


class Differs(Curated):
    """The document, and what is otherwise here."""

    def boost(self, entry: Entry, now: float) -> None:
        """A repetition is counted and not written: the memory is the same version, and its quarantine goes on."""
        updated = entry.updated
        super().boost(entry, now)
        entry.updated = updated

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

    def __init__(self, lib: Lib, clock: Clock, chance: random.Random) -> None:
        self.lib, self.clock, self.chance = lib, clock, chance
        self.model = Differs(limit=LIMIT)
        self.began = clock()
        self.user = lib.caller("user", actor="ann")

    @property
    def now(self) -> float:
        return (self.clock() - self.began).total_seconds() / 86400

    def word(self, length: int) -> str:
        return "".join(self.chance.choice("bdfgklmnprstvz") + self.chance.choice("aeiou") for _ in range(length))[
            :length
        ]

    def text(self) -> str:
        """Four words, the first the same in all: so a question for that word finds all of them alike."""
        length = self.chance.choice((6, 9, 15))
        return " ".join(["granite", *(self.word(length) for _ in range(3))])

    def kind(self) -> str:
        return self.chance.choice(list(WEIGHTS))

    def any_entry(self, **which: Any) -> Entry | None:
        fits = [
            each for each in self.model.entries if all(getattr(each, name) == value for name, value in which.items())
        ]
        return self.chance.choice(fits) if fits else None

    # -- the acts

    def a_person_remembers(self) -> None:
        known = self.any_entry(by_user=True) if self.chance.random() < 0.3 else None
        self.remembers(self.user, known, 0.8, by_user=True)

    def an_agent_remembers(self) -> None:
        known = self.any_entry() if self.chance.random() < 0.5 else None
        self.remembers(self.lib, known, self.chance.choice((0.1, 0.3, 0.5, 0.7, 0.9)))

    def remembers(self, door: Lib, known: Entry | None, importance: float, **more: Any) -> None:
        text, category = known.content if known else self.text(), self.kind()
        files = known.files if known else (self.chance.choice(FILES),)
        done = door.keep(text, kind=category, importance=importance, files=files)
        assert done.outcome == self.model.remember(text, category, importance, self.now, files=files, **more)

    def it_helps(self) -> None:
        if entry := self.any_entry():
            self.lib.vote(entry.number)
            self.model.access(entry, self.now)

    def somebody_pins(self) -> None:
        if entry := self.any_entry():
            slash(self.user if entry.by_user else self.lib, f"/pin {entry.number}")
            self.model.pin(entry, self.now)

    def the_user_forgets(self) -> None:
        if entry := self.any_entry(session=None):
            slash(self.user, f"/forget {entry.number}")
            self.model.entries.remove(entry)

    def time_passes(self) -> None:
        for _ in range(self.chance.choice((1, 1, 1, 4))):
            self.clock.move(days=self.chance.uniform(0.01, 5))
            self.lib.keep("a tick of the clock", kind="turn", scope="session/ticks")  # or it would have jumped
            self.model.next()

    def the_program_starts(self) -> None:
        self.lib.upkeep()
        self.model.start(self.now)

    def somebody_asks(self) -> None:
        files = set(FILES[: self.chance.randrange(4)])
        found, expected = self.lib.find("granite", limit=5, files=sorted(files)), self.model.answer(self.now, files)
        assert [hit.score / found[0].score for hit in found] == pytest.approx([one / expected[0] for one in expected])

    # -- what both hold

    def same(self) -> None:
        held = {row.number: row for row in self.lib.all({"scope": "project/atlas"})}
        seen = {
            (r.number, r.text, OTHERWISE.get(r.kind, r.kind), r.status, r.pinned, r.used + r.strength)
            for r in held.values()
        }
        model = self.model.entries
        assert seen == {(e.number, e.content, e.category, e.status, e.pinned, e.accesses) for e in model}
        said = {number: min(1.0, row.importance + 0.1 * row.strength) for number, row in held.items()}
        assert said == pytest.approx({entry.number: entry.importance for entry in model})


ACTS = {
    History.a_person_remembers: 3, History.an_agent_remembers: 12, History.it_helps: 4, History.somebody_pins: 1,
    History.the_user_forgets: 1, History.time_passes: 6, History.the_program_starts: 4, History.somebody_asks: 4,
}  # fmt: skip


@pytest.mark.covers("S3-14", "S3-21", "S3-25", "S3-28", "S3-29", "S3-30")
@pytest.mark.parametrize("number", range(rounds(500)))
def test_the_engine_and_the_document_agree_but_for_what_is_named(clock: Clock, number: int) -> None:
    chance = random.Random(number)
    with Lib(design=retaining("curated", max_items=LIMIT), clock=clock, embed="none") as lib:
        history = History(lib, clock, chance)
        for _ in range(STEPS):
            act = chance.choices(list(ACTS), list(ACTS.values()))[0]
            act(history)
            history.same()


@pytest.mark.covers("S3-17", "C3-4", "W3-3")
@pytest.mark.parametrize("remaining", [0, 500, 3_000, 8_000, 20_000, 50_000, 100_000, 1_000_000])
def test_the_lanes_are_the_documents_as_far_as_there_is_money(remaining: int) -> None:
    """The document gives floors that its total has not got (W3-3): there the lanes in front get theirs, and the rest is less."""
    with Lib(design="curated", embed="none") as lib:
        lib.keep("granite stays granite", pinned=True)
        total, *parts = Curated.lanes(remaining)
        made = lib.prompt("granite", remaining=remaining)
        given = [lane["quota"] for lane in made.lanes.values()]
        assert made.budget == total and sum(given) <= total
        if remaining in (50_000, 100_000):
            assert given == pytest.approx(parts, abs=20), "but for the frame around the text"
