"""Promises P12 and P21: the index always equals the content, and whoever touches the file behind our back is noticed.

First, honest work with crashes in it: random verbs, exceptions in the middle of transactions, kill -9. Afterwards the
doctor must find nothing. Then dishonest work: each kind of damage is done through a plain SQLite connection, and the
doctor must find it and name the check that saw it.
"""

import json
import random
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import rounds
from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.errors import MemoristError, StoreUnavailable
from memorist.store.nouns import Generation
from memorist.store.packing import pack
from memorist.store.protocol import Store

WORDS = "amber birch cedar delta ember fjord grove harbour inlet jetty kiosk ledge meadow notch orchard pier".split()


class Boom(Exception):
    """What the saboteur throws."""


# ---------------------------------------------------------------- honest work with crashes in it


def act(memory: Memory, chance: random.Random) -> None:
    """One random verb on one random memory; refusals are answers too."""
    number = chance.randrange(1, 60)
    text = " ".join(chance.choices(WORDS, k=chance.choice((3, 5, 8, 400))))
    verbs: list[Callable[[], object]] = [
        lambda: memory.remember(text, tags=chance.sample(WORDS, 2), title=chance.choice((None, text[:20]))),
        lambda: memory.remember(text, kind=chance.choice(("turn", "decision", "document")), key=f"key {text[:30]}"),
        lambda: memory.remember_many([f"{text} {n}" for n in range(3)]),
        lambda: memory.revise(number, text),
        lambda: memory.revise(number, title=text[:30], kind=chance.choice(("decision", "note"))),
        lambda: memory.revise(number, scope=chance.choice(("global", "project/atlas", "user/ann"))),
        lambda: memory.forget(number),
        lambda: memory.restore(number),
        lambda: memory.tag(number, chance.choice(WORDS), remove=[chance.choice(WORDS)]),
        lambda: memory.pin(number),
        lambda: memory.feedback(number, "useful"),
        lambda: memory.link(number, chance.randrange(1, 60)),
        lambda: memory.recall(text[:60]),
    ]
    try:
        chance.choice(verbs)()
    except MemoristError:
        return


class Saboteur:
    """Makes one of the store's writing methods throw, before or after its work, on some of its calls."""

    METHODS = ("write", "_write", "_enter", "_count_up", "_link", "log")

    def __init__(self, store: Any, chance: random.Random, share: float) -> None:
        self._chance, self._share = chance, share
        for name in self.METHODS:
            setattr(store, name, self._spoilt(getattr(store, name)))

    def rest(self) -> None:
        self._share = 1e-9

    def _spoilt(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def spoilt(*args: Any) -> Any:
            at = self._chance.random() / self._share
            if at < 0.5:
                raise Boom(f"before {method.__name__}")
            result = method(*args)
            if at < 1:
                raise Boom(f"after {method.__name__}")
            return result

        return spoilt


def everything(memory: Memory) -> list[object]:
    states = {"state": {"$in": ["active", "archived", "superseded"]}}
    records = memory.list(states, order="number", limit=1_000_000)
    return [*records, [memory.links(record.id) for record in records[:20]], memory.audit().events]


def assert_healthy(memory: Memory) -> None:
    assert [finding for finding in memory.doctor() if not finding.ok] == []


@pytest.mark.covers("P4", "P12")
def test_exceptions_in_the_middle_of_transactions_leave_all_or_nothing(tmp_path: Path) -> None:
    chance = random.Random("boom")
    for life in range(rounds(200, 0.01)):
        path = tmp_path / f"{life}.db"
        with Memory(path, project="atlas") as memory:
            assert live_through_booms(memory, chance) > 10
            assert_healthy(memory)
        with Memory(path, project="atlas") as memory:
            assert_healthy(memory)


def live_through_booms(memory: Memory, chance: random.Random) -> int:
    """500 verbs, of which many are cut off in the middle; how many were."""
    booms = 0
    for _ in range(40):
        act(memory, chance)
    saboteur = Saboteur(memory._tools.store, chance, share=0.1)
    for step in range(460):
        before = everything(memory) if step % 10 == 0 else None
        try:
            act(memory, chance)
        except Boom:
            booms += 1
            assert before is None or everything(memory) == before
    saboteur.rest()
    return booms


@pytest.mark.covers("P4", "P21")
def test_a_commit_that_fails_at_the_last_moment_leaves_no_trace_not_even_in_the_anchor(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember("Stored before")
        one = memory._tools.store._connections.here()  # type: ignore[attr-defined]
        before = everything(memory)
        one.set_commit_hook(lambda: True)  # SQLite then rolls back instead
        for fails in (
            lambda: memory.remember("Never stored"),
            lambda: memory.revise(1, "Nor this"),
            lambda: memory.pin(1),
        ):
            with pytest.raises(StoreUnavailable):
                fails()
        one.set_commit_hook(None)
        assert everything(memory) == before
    with Memory(path, project="atlas") as memory:
        assert_healthy(memory)


@needs_fork
@pytest.mark.covers("P1", "P12")
def test_the_index_equals_the_content_after_kills_at_random_moments(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    chance = random.Random("kills")

    def live(seed: float) -> Callable[[Callable[[object], None]], None]:
        def work(say: Callable[[object], None]) -> None:
            own = random.Random(seed)
            memory = Memory(path, project="atlas")
            say("opened")
            while True:
                act(memory, own)

        return work

    for _ in range(rounds(200)):
        child = Child(live(chance.random()))
        assert child.line() == "opened"
        time.sleep(chance.uniform(0, 0.15))
        child.kill()
        with Memory(path, project="atlas") as memory:
            assert_healthy(memory)


# ---------------------------------------------------------------- dishonest work


BUILT: list[Path] = []


@pytest.fixture
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store with some history, its anchor beside it; made once."""
    if not BUILT:
        BUILT.append(tmp_path_factory.mktemp("original") / "memory.db")
        with Memory(BUILT[0], project="atlas") as memory:
            give_it_a_past(memory)
    return BUILT[0]


def give_it_a_past(memory: Memory) -> None:
    memory.remember_many([f"Stop {n} lies between {WORDS[n % 16]} and {WORDS[n % 7]}" for n in range(12)])
    for number in (1, 2, 3):
        memory.revise(number, f"Stop {number - 1} was moved to {WORDS[number]}", because="the track was moved")
        memory.tag(number, "moved")
        memory.feedback(number + 3, "useful")
    memory.link(1, 2, evidence="the same track")
    memory.forget(5, because="closed for good")
    memory.remember("A stop for the visitors", scope="global")
    embed(memory._tools.store)


def embed(store: Store) -> None:
    """Gives every index row a vector of four dimensions."""
    with store.transaction():
        generation = store.save_generation(Generation(0, "a model", 4, "filling"))
        rows = [piece.row for piece in store.unembedded(generation.id, 0, 10_000)]
        store.put_vectors(generation.id, dict(zip(rows, pack([(1, row % 7, 0, 2) for row in rows]), strict=True)))


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return copied(original, tmp_path)


def copied(original: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for file in original.parent.iterdir():
        shutil.copy(file, folder / file.name)
    return folder / original.name


def tamper(path: Path, *statements: str, bound: tuple[Any, ...] = ()) -> None:
    one = apsw.Connection(str(path))
    try:
        for statement in statements:
            one.execute(statement, bound if "?" in statement else ())
        assert one.total_changes(), "nothing was changed, so nothing would be proved"
    finally:
        one.close()


def wrong(path: Path) -> dict[str, str]:
    """The checks of a doctor that failed, and what they said."""
    with Memory(path, project="atlas") as memory:
        return {finding.check: finding.detail for finding in memory.doctor() if not finding.ok}


ONE_ROW = "(SELECT id FROM words WHERE id / 4096 = 3 LIMIT 1)"
DAMAGE: dict[str, tuple[list[str], set[str]]] = {
    "a row taken out of the index": ([f"DELETE FROM word_index WHERE rowid = {ONE_ROW}"], {"index"}),
    "a row deleted from the index with another text": (
        [f"INSERT INTO word_index (word_index, rowid, prepared) VALUES ('delete', {ONE_ROW}, ' 1·nonsense')"],
        {"index"},
    ),
    "a row put into the index twice": (
        [f"INSERT INTO word_index (rowid, prepared) SELECT id, prepared FROM shelved WHERE id = {ONE_ROW}"],
        {"index"},
    ),
    "an index emptied": (["INSERT INTO word_index (word_index) VALUES ('delete-all')"], {"index"}),
    "an index row that is missing": (["DELETE FROM words WHERE id / 4096 = 3"], {"words"}),
    "an index row that is missing, without its trigger": (
        ["DROP TRIGGER words_removed", "DELETE FROM words WHERE id / 4096 = 3"],
        {"index", "words", "shelves"},
    ),
    "an index row of nobody": (
        ["INSERT INTO words (id, shelf, start, end, length, prepared) VALUES (4096 * 999, 1, 0, 4, 1, ' ghost')"],
        {"words"},
    ),
    "changed words": (
        ["DROP TRIGGER words_stay", "UPDATE words SET prepared = ' forged' WHERE id / 4096 = 3"],
        {"index", "words"},
    ),
    "words of another length": (
        ["DROP TRIGGER words_stay", "UPDATE words SET length = length + 1 WHERE id / 4096 = 3"],
        {"words", "shelves"},
    ),
    "words on another shelf": (
        ["DROP TRIGGER words_stay", "UPDATE words SET shelf = (SELECT max(id) FROM shelves) WHERE id / 4096 = 3"],
        {"index", "words", "shelves"},
    ),
    "a changed text": (["UPDATE records SET text = 'Stop 3 never was' WHERE number = 3"], {"checksums", "journal"}),
    "a changed text that reads the same in the index": (
        ["UPDATE records SET text = upper(text) WHERE number = 3"],
        {"checksums", "journal"},
    ),
    "a changed trust": (["UPDATE records SET trust = 'low' WHERE number = 3"], {"checksums", "journal"}),
    "a record moved to another scope": (
        ["UPDATE records SET shelf = (SELECT id FROM shelves WHERE scope = 'global') WHERE number = 3"],
        {"checksums", "words", "journal"},
    ),
    "a space of an impossible name": (
        ["UPDATE shelves SET space = char(2) || space WHERE id = 1"],
        {"checksums", "journal"},
    ),
    "a changed checksum": (["UPDATE records SET checksum = zeroblob(16) WHERE number = 3"], {"checksums", "journal"}),
    "a changed key": (["UPDATE records SET key = zeroblob(16) WHERE number = 3"], {"checksums", "journal"}),
    "an unreadable column": (["UPDATE records SET tags = '[broken' WHERE number = 3"], {"words", "journal"}),
    "an impossible time": (["UPDATE records SET at = 9223372036854775807 WHERE number = 3"], {"words", "journal"}),
    "a text that is not UTF-8": (
        ["UPDATE records SET text = CAST(x'53746f70ff' AS TEXT) WHERE number = 3"],
        {"words", "journal"},
    ),
    "a record deleted": (["DROP TRIGGER records_stay", "DELETE FROM records WHERE number = 9"], {"file", "journal"}),
    "a record added": (
        [
            "INSERT INTO records SELECT 99, shelf, 'm0forged', " + ", ".join(
                "kind text title tags files data status pinned state reason importance confidence at created updated"
                " valid_from valid_to actor surface session role speaker agent task narrative source origin trust season"
                " fingerprint version superseded_by key checksum rewrites".split()
            ) + " FROM records WHERE number = 3"
        ],
        {"checksums", "words", "journal"},
    ),
    "flipped counters": (["UPDATE counters SET up = up | 64 WHERE record = 4"], {"counters"}),
    "a changed time of use": (["UPDATE counters SET last_used = last_used + 1 WHERE record = 4"], {"counters"}),
    "counters of another record": (["UPDATE counters SET record = 8 WHERE record = 4"], {"counters"}),
    "a vector of nobody": (
        ["UPDATE vectors SET rows = CAST(substr(rows, 1, 7) || x'11' || substr(rows, 9) AS BLOB)"], {"vectors"},
    ),
    "a vector on another shelf": (["UPDATE vectors SET shelf = 99 - shelf"], {"vectors"}),
    "a vector in another block": (["UPDATE vectors SET block = block + 64000"], {"vectors"}),
    "a vector that was cut": (["UPDATE vectors SET codes = substr(codes, 2)"], {"vectors"}),
    "a flipped bit in a vector": (["UPDATE vectors SET codes = CAST(x'01' || substr(codes, 2) AS BLOB)"], {"vectors"}),
    "a scale that is no number": (
        ["UPDATE vectors SET codes = CAST(substr(codes, 1, 4) || x'0000c07f' || substr(codes, 9) AS BLOB)"], {"vectors"},
    ),
    "a wrong count of vectors": (["UPDATE vectors SET count = count + 1"], {"vectors"}),
    "a vector of no model": (["DELETE FROM generations"], {"vectors"}),
    "a shelf that counts wrong": (["UPDATE shelves SET chunks = chunks + 1 WHERE id = 1"], {"shelves"}),
    "a link to nowhere": (["INSERT INTO links VALUES (1, 999, 'relates_to', 1.0, NULL, x'00')"], {"file"}),
    "a changed journal row": (["UPDATE journal SET actor = 'eve' WHERE seq = 5"], {"journal"}),
    "a changed reason": (["UPDATE journal SET because = 'no reason' WHERE seq = 14"], {"journal"}),
    "a changed past": (["UPDATE journal SET before = '{\"tags\":null}' WHERE seq = 14"], {"journal"}),
    "an unreadable past": (["UPDATE journal SET before = '{{{' WHERE seq = 14"], {"journal"}),
    "an impossible moment": (["UPDATE journal SET at = 9223372036854775807 WHERE seq = 5"], {"journal"}),
    "a journal row that is missing": (["DELETE FROM journal WHERE seq = 14"], {"journal"}),
    "a journal cut at its end": (["DELETE FROM journal WHERE seq > 20"], {"journal"}),
    "a chain link taken out": (["UPDATE journal SET digest = NULL WHERE seq = 14"], {"journal"}),
    "the last chain link taken out": (
        ["UPDATE journal SET digest = NULL WHERE seq = (SELECT max(seq) FROM journal)"],
        {"journal"},
    ),
    "an empty journal": (["DELETE FROM journal"], {"journal"}),
}  # fmt: skip


@pytest.mark.covers("P12")
def test_an_untouched_copy_is_healthy(copy: Path) -> None:
    assert wrong(copy) == {}


@pytest.mark.covers("P11", "P12", "P21")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_doctor_finds(copy: Path, damage: str) -> None:
    statements, expected = DAMAGE[damage]
    tamper(copy, *statements)
    found = wrong(copy)
    assert expected <= set(found), found


@pytest.mark.covers("P12")
def test_findings_name_the_memory_and_say_what_to_do(copy: Path) -> None:
    tamper(copy, "UPDATE records SET text = 'Stop 3 never was' WHERE number = 3")
    with Memory(copy, project="atlas") as memory:
        findings = [finding for finding in memory.doctor() if not finding.ok]
    assert all(finding.advice for finding in findings)
    assert all(
        "3" in finding.detail for finding in findings if finding.check != "topics"
    )  # these are compared as a sum


@pytest.mark.covers("P21")
def test_an_audit_names_the_first_bad_place_and_does_not_blame_what_comes_after(copy: Path) -> None:
    tamper(copy, "UPDATE journal SET actor = 'eve' WHERE seq = 14")
    with Memory(copy, project="atlas") as memory:
        audit = memory.audit()
    assert not audit.ok
    assert audit.problems == ("the journal's chain is broken: an event from 13 to 14 was changed after it was written",)


@pytest.mark.covers("P21")
def test_a_cut_end_is_seen_only_thanks_to_the_anchor(copy: Path) -> None:
    last = tail(copy)
    tamper(copy, f"DELETE FROM journal WHERE seq > {last[0] - 1}")
    with Memory(copy, project="atlas") as memory:
        assert any("anchor knows event" in problem for problem in memory.audit().problems)


@pytest.mark.covers("P21")
@pytest.mark.parametrize("text", ["", "{}", "[]", "not json", '{"event": "x", "digest": ""}', '{"event": 3}'])
def test_a_spoilt_anchor_is_named(copy: Path, text: str) -> None:
    copy.with_name("memory.db.anchor").write_text(text, encoding="utf-8")
    with Memory(copy, project="atlas") as memory:
        assert "anchor" in memory.audit().problems[0]


def tail(path: Path) -> tuple[int, bytes]:
    said = json.loads(path.with_name("memory.db.anchor").read_text(encoding="utf-8"))
    return said["event"], bytes.fromhex(said["digest"])


# ---------------------------------------------------------------- a thousand tamperings

Tampering = tuple[int, list[str], tuple[Any, ...]]  # the first bad event, statements, what they bind


def tamperings(last: int, chance: random.Random) -> Iterator[Tampering]:
    """Random touches of the journal: edited, dropped, inserted, swapped, cut in the middle, cut off, replaced."""
    kinds = (edited, edited, edited, dropped, inserted, swapped, cut, cut_off, replaced)
    while True:
        yield chance.choice(kinds)(last, chance)


def edited(last: int, chance: random.Random) -> Tampering:
    seq = chance.randrange(1, last + 1)
    change = chance.choice(
        [
            "at = at + 1", "actor = actor || 'x'", "surface = 'web'", "verb = 'forged'", "record = record % 12 + 1",
            "batch = batch || 'x'", "because = ifnull(because, '') || 'x'", "before = '{\"forged\":true}'",
            "mac = randomblob(16)", "after = randomblob(16)", "digest = randomblob(32)",
        ]
    )  # fmt: skip
    return seq, [f"UPDATE journal SET {change} WHERE seq = {seq}"], ()


def dropped(last: int, chance: random.Random) -> Tampering:
    seq = chance.randrange(1, last + 1)
    return seq, [f"DELETE FROM journal WHERE seq = {seq}"], ()


def inserted(last: int, chance: random.Random) -> Tampering:
    """A copy of another event put in between, the rest moved down."""
    seq = chance.randrange(1, last + 2)
    values = "at, actor, surface, verb, record, batch, because, before, mac, after, digest"
    return (
        seq,
        [
            f"UPDATE journal SET seq = -seq WHERE seq >= {seq}",
            "UPDATE journal SET seq = -seq + 1 WHERE seq < 0",
            f"INSERT INTO journal SELECT {seq}, {values} FROM journal WHERE seq = {1 if seq > 1 else last + 1}",
        ],
        (),
    )


def swapped(last: int, chance: random.Random) -> Tampering:
    a, b = sorted(chance.sample(range(1, last + 1), 2))
    return (
        a,
        [
            f"UPDATE journal SET seq = -1 WHERE seq = {a}",
            f"UPDATE journal SET seq = {a} WHERE seq = {b}",
            f"UPDATE journal SET seq = {b} WHERE seq = -1",
        ],
        (),
    )


def cut(last: int, chance: random.Random) -> Tampering:
    """The middle taken out and the rest moved up, so that no number is missing."""
    first, gap = chance.randrange(1, last), chance.randrange(1, 5)
    return (
        first,
        [
            f"DELETE FROM journal WHERE seq >= {first} AND seq < {first + gap}",
            f"UPDATE journal SET seq = -seq WHERE seq >= {first + gap}",
            f"UPDATE journal SET seq = -seq - {gap} WHERE seq < 0",
        ],
        (),
    )


def cut_off(last: int, chance: random.Random) -> Tampering:
    seq = chance.randrange(1, last + 1)
    return seq, [f"DELETE FROM journal WHERE seq >= {seq}"], ()


def replaced(last: int, chance: random.Random) -> Tampering:
    """A segment overwritten with another one's rows."""
    first, length = chance.randrange(1, last - 4), chance.randrange(1, 4)
    return (
        first,
        [
            f"UPDATE journal SET (actor, verb, because, before, mac, after) = (SELECT o.actor, 'forged', o.because,"
            f" o.before, o.mac, o.after FROM journal o WHERE o.seq = journal.seq + 1)"
            f" WHERE seq >= {first} AND seq < {first + length}"
        ],
        (),
    )


def names(problem: str, bad: int) -> bool:
    """Whether the sentence points at or before the first bad event, as exactly as it can."""
    ranged = re.search(r"an event from (\d+) to (\d+)", problem)
    if ranged:
        return int(ranged[1]) <= bad
    numbered = re.search(r"event (\d+)", problem)
    return bool(numbered)


@pytest.mark.covers("P21")
def test_random_tamperings_of_the_journal_are_all_detected(original: Path, tmp_path: Path) -> None:
    chance = random.Random("tampering")
    last = tail(original)[0]
    source = tamperings(last, chance)
    for number in range(rounds(1000, 0.03)):
        path = copied(original, tmp_path / str(number))
        bad, statements, bound = next(source)
        tamper(path, *statements, bound=bound)
        with Memory(path, project="atlas") as memory:
            audit = memory.audit()
        assert not audit.ok, f"undetected: {statements}"
        assert names(audit.problems[0], bad), (audit.problems[0], bad, statements)
        shutil.rmtree(path.parent)
