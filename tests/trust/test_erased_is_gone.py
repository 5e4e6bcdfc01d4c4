"""Promises G1 and G4: what is erased is in no byte of any file we own, and what remains tells nothing about it.

Canaries are words that occur nowhere else, planted in every field that takes text, in questions and in reasons. They are looked
for in every file of the store's folder, as UTF-8, UTF-16 and base64, and in the index's own vocabulary, because FTS5 compresses
prefixes and a plain search of the file is no proof.
"""

import base64
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import apsw
import numpy as np
import pytest

from bench.corpus import Corpus
from conftest import rounds
from memorist import Memory
from memorist.errors import MemoristError, NotFound, StoreUnavailable
from memorist.files.transfer import export, import_files
from memorist.remember import erase as erasing
from memorist.store.json_file import restore as json_restore
from memorist.store.nouns import Generation
from memorist.store.open import restore
from memorist.store.packing import pack
from memorist.store.traces import ErasedIds
from memorist.store.writer import Writer
from memorist.text.twins import fingerprint
from memorist.text.words import terms

pytestmark = pytest.mark.usefixtures("without_reader")
CONSONANTS = "bdfgklmnprstvz"


def canary(chance: random.Random) -> str:
    """A word of a form that the corpus does not have."""
    return "q" + "".join(chance.choice(CONSONANTS) + chance.choice("aeiou") for _ in range(6)) + "x"


def forms(word: str) -> Iterator[bytes]:
    yield word.encode()
    yield word.capitalize().encode()
    yield word.encode("utf-16-le")
    yield word.encode("utf-16-be")
    for shift in range(3):  # the three ways in which base64 can meet the word inside a longer text
        yield base64.b64encode(b" " * shift + word.encode())[4 if shift else 0 : -4]


def read_from_outside(file: Path) -> bytes:
    """By another process: a plain open and close in this one would drop the locks of a store that is open."""
    code = "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"
    return subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, check=True).stdout


def found_in(folder: Path, words: list[str]) -> list[tuple[str, str]]:
    """Every (file, word) where one of the words is found in any form."""
    wanted = [(word, form) for word in words for form in forms(word)]
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = read_from_outside(file)
        found += [(file.name, word) for word, form in wanted if form in data]
    return found


def in_the_vocabulary(path: Path, words: list[str]) -> list[str]:
    stems = {term for word in words for term in terms(word)}
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as one:
        indexed = {str(term).partition("·")[2] for (term,) in one.execute("SELECT term FROM word_frequency")}
        prepared = " ".join(str(row[0]) for row in one.execute("SELECT prepared FROM words")).split()
    return sorted(stems & (indexed | set(prepared)))


def plant(memory: Memory, words: list[str], number: int) -> str:
    """A memory with a canary in every place that takes text; its id. Other memories and the logs mention it too."""
    text, title, tag, file, data, session, speaker, key, reason, question = words
    kept = memory.remember(
        f"Number {number}: {text} is what must go", title=f"About {title}", tags=[tag], files=[f"notes/{file}.md"],
        data={"deep": [data]}, session=session, speaker=speaker.capitalize(), task=speaker, key=key,
    )  # fmt: skip
    other = memory.remember(f"Number {number} has a neighbour")
    memory.link(str(other.id), str(kept.id), "contradicts", evidence=f"since {text} it does not hold")
    memory.link(str(kept.id), str(other.id), evidence=f"{text} again")
    memory.revise(str(kept.id), f"Number {number}: {text} and {question} must go", because=f"for {reason}")
    memory.feedback(str(kept.id), "useful")
    memory.forget(str(kept.id), because=f"tired of {reason}")
    memory.restore(str(kept.id))
    memory.recall(f"where is {text}?")
    memory.recall(f"{question} {tag}")
    memory.explain(text)
    return str(kept.id)


def planted(memory: Memory, count: int) -> tuple[list[str], list[str]]:
    chance = random.Random("canaries")
    ids, words = [], []
    for number in range(count):
        some = [canary(chance) for _ in range(10)]
        ids.append(plant(memory, some, number))
        words += some[:7] + some[8:]  # a key is stored as a digest and nothing else
    memory._writer.flush()
    return ids, words


def found_again(memory: Memory, ids: Sequence[str], words: Sequence[str]) -> list[str]:
    """What of it an answer still holds, by words or by meaning; `explain`, since a recall would be noted, words and all."""
    found = memory.explain(" ".join(words), search="all", limit=1000)
    assert found.empty_because or all(signal.name != "words" for hit in found for signal in hit.signals)
    return [hit.record.text for hit in found if hit.record.id in ids or any(word in hit.record.text for word in words)]


@pytest.mark.covers("G1", "G4")
def test_no_byte_of_it_is_left_in_any_file_of_many(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember_many(Corpus(1).memories(rounds(100_000, 0.004)))
        ids, words = planted(memory, rounds(50, 0.06))
        memory.remember_many(Corpus(2).memories(200))
    assert {word for _, word in found_in(tmp_path, words)} == set(words), "else nothing would be proved"
    with Memory(path, project="atlas") as memory:
        memory.recall(words[0])  # noted, not yet written
        for id in ids[: len(ids) // 2]:
            assert memory.erase(id).advice is None
        report = memory.erase(where={"id": {"$in": ids[len(ids) // 2 :]}})
        assert report.advice is None
        assert found_in(tmp_path, words) == []  # while the store is still open
        assert memory.audit().ok
        assert [finding for finding in memory.doctor() if not finding.ok] == []
        assert not found_again(memory, ids, words[:9])
    assert found_in(tmp_path, words) == []
    assert in_the_vocabulary(path, words) == []


@pytest.mark.covers("G1")
@pytest.mark.parametrize("backend", ["db", "json"])
def test_no_part_of_its_vector_is_left_in_any_file(tmp_path: Path, backend: str) -> None:
    """Who has a vector and its model can guess what the text was about."""
    path = tmp_path / f"memory.{backend}"
    chance = np.random.default_rng(8)
    with Memory(path, project="atlas", embed="none") as memory:
        memory.remember_many([f"Note {n} on the table" for n in range(400)])
        memory.remember("Long. " * 2000, kind="document")
        store = memory._tools.store
        with store.transaction():
            generation = store.save_generation(Generation(0, "a model", 256, "filling"))
            rows = [piece.row for piece in store.unembedded(generation.id, 0, 1000)]
            vectors = dict(zip(rows, pack(chance.normal(size=(len(rows), 256))), strict=True))
            store.put_vectors(generation.id, vectors)
        memory.forget(30)
        erased = [*range(20, 60), 401]
        gone = [vector for row, vector in vectors.items() if row // 4096 in erased]
        kept = [vector for row, vector in vectors.items() if row // 4096 not in erased]
        assert len(gone) > 45 and len(found_parts(tmp_path, gone)) == len(gone), "else nothing would be proved"
        for number in erased:
            assert memory.erase(number).advice is None
        assert found_parts(tmp_path, gone) == []  # while the store is still open
        assert len(found_parts(tmp_path, kept)) == len(kept)
        assert [finding for finding in memory.doctor() if not finding.ok] == []
    assert found_parts(tmp_path, gone) == []


def found_parts(folder: Path, vectors: list[bytes]) -> list[bytes]:
    """Those of the vectors of which any file holds twelve bytes in a row, or what a JSON file makes of them."""
    data = b"\n".join(read_from_outside(path) for path in sorted(folder.rglob("*")) if path.is_file())
    coded = [
        base64.b64decode(text + b"=" * (-len(text) % 4)) for text in re.findall(rb'"vectors": "([A-Za-z0-9+/]+)', data)
    ]
    data += b"\n".join(coded)
    return [vector for vector in vectors if any(vector[n : n + 12] in data for n in range(0, 256, 24))]


@pytest.mark.covers("G4")
def test_a_dictionary_finds_nothing(tmp_path: Path) -> None:
    """Whoever has the file has the store's secret: no digest made with it, or with nothing, may tell what was erased."""
    path = tmp_path / "memory.db"
    text = "the pin of the front door is four two four two"
    with Memory(path, project="atlas") as memory:
        memory.remember("Beta lies south")
        memory.remember(text, key="k")
        secret = bytes.fromhex(str(memory._tools.store.setting("secret")))
        mark = fingerprint(secret, text)
        there = read_from_outside(path) + read_from_outside(path.with_name("memory.db-wal"))
        assert mark.encode() in there, "else nothing would be proved"
        draft = memory._tools.store.key_use(Writer(memory._tools.store, memory._tools.clock).digest(
            'key ["default","project/atlas","k"]'))  # fmt: skip
        assert draft is not None and draft.draft
        memory.erase(2)
    data = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert mark.encode() not in data
    assert draft.draft.encode() not in data


@pytest.mark.covers("G1")
def test_automatic_copies_are_cleaned_and_backups_are_named(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember("The heronqualm nests at the weir")
        memory.remember("Beta lies south")
        memory.backup(tmp_path / "memory.db.replaced-20260101T000000Z")
        memory.backup(tmp_path / "memory.db.backup-20260101T000000Z")
    old = tmp_path / "memory.db.before-0002.bak"
    shutil.copy(tmp_path / "memory.db.replaced-20260101T000000Z", old)
    with closing(apsw.Connection(str(old))) as one:
        one.execute("DELETE FROM migrations WHERE number > 1")
        one.execute("PRAGMA user_version = 1")
    with Memory(path, project="atlas") as memory:
        advice = str(memory.erase(1).advice)
    assert "memory.db.before-0002.bak could not be cleaned and was removed" in advice
    assert "memory.db.backup-20260101T000000Z" in advice
    assert found_in(tmp_path, ["heronqualm"]) == [("memory.db.backup-20260101T000000Z", "heronqualm")]
    with Memory(tmp_path / "memory.db.replaced-20260101T000000Z", project="atlas") as copy:
        assert [record.text for record in copy.list()] == ["Beta lies south"]
        assert copy.audit().ok


@pytest.mark.covers("G1")
def test_a_reader_of_an_older_state_is_named_and_compacting_later_finishes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas", wait=0.2) as memory:
        memory.remember("The heronqualm nests at the weir")
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM records").get == 1
        assert "memorist compact" in str(memory.erase(1).advice)
        reader.execute("ROLLBACK")
        reader.close()
        memory.compact()
        assert found_in(tmp_path, ["heronqualm"]) == []


STRAYS = {
    "a word": ("The heronqualm nests at the weir", {}, "a heronqualm was here"),
    "a word between columns": ("heronqualm", {}, "factheronqualmconfirmed"),
    "another script": ("Здесь живёт секретканарейка", {}, "Здесь живёт секретканарейка"),
    "a text of common words": ("the cat sat on the mat again", {}, "xthe cat sat on the mat againx"),
    "data": ("Alpha lies north", {"data": {"deep": ["swordfish canary in the data"]}}, "swordfish canary in the data"),
}


@pytest.mark.covers("G1")
@pytest.mark.parametrize("kind", STRAYS)
def test_a_file_that_keeps_a_stray_copy_is_written_anew(tmp_path: Path, kind: str) -> None:
    """Bytes that SQLite itself left behind, as an older store without secure_delete would have them."""
    text, more, stray = STRAYS[kind]
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember(text, **more)
        memory.remember("The mat was on the cat, the cat sat again")
    with closing(apsw.Connection(str(path))) as one:
        one.pragma("secure_delete", False)
        one.execute("CREATE TABLE scratch (x)")
        one.execute("INSERT INTO scratch VALUES (?)", (stray,))
        one.execute("DROP TABLE scratch")
        one.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    assert stray.encode() in path.read_bytes()
    with Memory(path, project="atlas") as memory:
        assert memory.erase(1).advice is None
    assert stray.encode() not in path.read_bytes()


@pytest.mark.covers("G1")
def test_no_beginning_of_it_is_left_between_the_pages_of_the_index(tmp_path: Path) -> None:
    """FTS5 tells the pages of its index apart by the beginnings of words, and keeps these when the words are deleted."""
    path = tmp_path / "memory.db"
    with Memory(path, embed="none") as memory:
        ids = [outcome.id for outcome in memory.remember_many([f"qanary{n:04}x went by" for n in range(2000)])]
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as one:
            separators = [
                str(term, "utf-8") for (term,) in one.execute("SELECT CAST(term AS BLOB) FROM word_index_idx")
            ]
        beginnings = [word for separator in separators if (word := separator.partition("·")[2]).startswith("qanary0")]
        whole = next(word for word in beginnings if len(word) == len("qanary0000"))
        memory.erase(str(ids[int(whole.removeprefix("qanary"))]))
        assert [finding for finding in memory.doctor() if not finding.ok] == []
        assert memory.recall("qanary0001x")
        assert all(whole not in hit.text for hit in memory.recall(f"{whole}x", where={"kind": "fact"}))
        for file in tmp_path.iterdir():
            assert whole.encode() not in read_from_outside(file), file


@pytest.mark.covers("G1")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_words_inside_other_words_raise_no_alarm(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path / name, project="atlas") as memory:
        memory.remember("The harborq is closed")
        memory.remember("A harborqside view")
        assert memory.erase(1).advice is None
        assert memory.recall("harborqside")


@pytest.mark.covers("G1")
def test_leftovers_of_a_crash_are_removed_and_fresh_ones_named(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember("The heronqualm nests at the weir")
        memory.remember("The bitternqualm nests in the reed")
        memory.backup(tmp_path / "copy.db")
        old = [
            tmp_path / "memory.db.backup-20260101T000000Z.partial",
            tmp_path / ".memory.db.restoring-abc" / "store.db",
        ]
        old[1].parent.mkdir()
        for place in old:
            shutil.copy(tmp_path / "copy.db", place)
        (tmp_path / "copy.db").unlink()
        assert "short while ago" in str(memory.erase(1).advice)
        for place in (old[0], old[1].parent):
            os.utime(place, (0, 0))
        assert memory.erase(2).advice is None
    assert found_in(tmp_path, ["heronqualm", "bitternqualm"]) == []


@pytest.mark.covers("G1")
def test_an_index_that_version_0_1_0_left_is_removed(tmp_path: Path) -> None:
    """It holds vectors of whatever was there when it was built."""
    folder = tmp_path / "memory.db.ann"
    (folder / "kept").mkdir(parents=True)
    for name in ("1-1.usearch", "1-1.json", "1-2-unfinished.usearch.7-7.partial"):
        (folder / name).write_text("{}")
    with Memory(tmp_path / "memory.db") as memory:
        memory.remember_many(["The harbour is closed", "The heron flew south"])
        assert memory.recall("harbour") and memory.recall("harbour", exact=True)
        said = memory.erase(1).advice or ""
        assert "could not be removed" in said and list(folder.iterdir()) == [folder / "kept"]
        (folder / "kept").rmdir()
        memory.compact()
        assert not folder.exists() and all(finding.ok for finding in memory.doctor())


@pytest.mark.covers("G1")
def test_copies_of_a_json_store_are_cleaned_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    kept = tmp_path / "notes.json.replaced-20260101T000000Z"
    with Memory(path, project="atlas") as memory:
        memory.remember("The heronqualm nests at the weir")
        memory.remember("Beta lies south")
        memory.backup(kept)
        assert memory.erase(1).advice is None
    with Memory(kept, project="atlas") as copy:
        assert [record.text for record in copy.list()] == ["Beta lies south"]
    assert found_in(tmp_path, ["heronqualm"]) == []


@pytest.mark.covers("G1", "P12")
def test_the_copy_that_a_repair_made_is_cleaned(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember("The heronqualm nests at the weir")
        memory.remember("Beta lies south")
        one = memory._tools.store._connections.here()  # type: ignore[attr-defined]
        one.execute("DELETE FROM words WHERE id / 4096 = 2")
        memory.doctor(repair=True)
        assert len(list(tmp_path.glob("memory.db.before-repair-*.bak"))) == 1
        assert memory.erase(1).advice is None
    assert found_in(tmp_path, ["heronqualm"]) == []
    assert len(list(tmp_path.glob("memory.db.before-repair-*.bak"))) == 1


@pytest.mark.covers("G1")
def test_a_copy_that_is_in_use_is_left_named_and_cleaned_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasing, "COPIES_WAIT", 0.2)
    copy = tmp_path / "memory.db.replaced-20260101T000000Z"
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember("The heronqualm nests at the weir")
        memory.backup(copy)
        with closing(apsw.Connection(str(copy))) as other:
            other.execute("BEGIN EXCLUSIVE")
            assert "could not be cleaned" in str(memory.erase(1).advice)
            with pytest.raises(StoreUnavailable, match="not finished"):
                memory.compact()
        assert "erasures" in [finding.check for finding in memory.doctor() if not finding.ok]
        memory.compact()
        assert [finding for finding in memory.doctor() if not finding.ok] == []
    assert found_in(tmp_path, ["heronqualm"]) == []


@pytest.mark.covers("G1")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_a_copy_whose_cleaning_was_cut_off_is_cleaned_by_the_next(tmp_path: Path, name: str) -> None:
    copy = tmp_path / f"{name}.replaced-20260101T000000Z"
    with Memory(tmp_path / name, project="atlas") as memory:
        memory.remember("The heronqualm nests at the weir")
        memory.remember("Beta lies south")
        memory.backup(copy)
    with Memory(copy, project="atlas") as there:  # killed after the transaction in the copy
        there._writer.erase([there.get(1)], there.access, "erased")
    with Memory(tmp_path / name, project="atlas") as memory:
        memory.erase(1)
    assert found_in(tmp_path, ["heronqualm"]) == []


@pytest.mark.covers("G2")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_what_is_erased_while_a_backup_is_restored_stays_erased(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, backup = tmp_path / name, tmp_path / f"copy{Path(name).suffix}"
    with Memory(path, project="atlas") as memory:
        kept = memory.remember("The heronqualm nests at the weir")
        memory.backup(backup)
    from memorist.store.sqlite import restore as restoring

    aside = restoring.put_anchor_aside

    def somebody_erases(db: Path, into: Path | None) -> None:
        ErasedIds(db).add([str(kept.id)])
        aside(db, into)

    for module in (restoring, json_restore):
        monkeypatch.setattr(module, "put_anchor_aside", somebody_erases)
    restore(path, backup, datetime.now(UTC))
    with Memory(path, project="atlas") as memory:
        assert memory.get(1).state == "erased"
        assert memory.audit().ok


@pytest.mark.covers("P10")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_a_restore_cut_off_before_its_anchor_is_set_looks_like_no_tampering(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, backup = tmp_path / name, tmp_path / f"copy{Path(name).suffix}"
    with Memory(path, project="atlas") as memory:
        memory.remember("Alpha lies north")
        memory.backup(backup)
        memory.remember("Beta lies south")
    from memorist.store.sqlite import restore as restoring

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        for module in (restoring, json_restore):
            patch.setattr(module, "set_anchor", killed)
        with pytest.raises(KeyboardInterrupt):
            restore(path, backup, datetime.now(UTC))
    with Memory(path, project="atlas") as memory:
        assert memory.audit().ok
        assert [record.text for record in memory.list()] == ["Alpha lies north"]


@pytest.mark.covers("G2")
def test_an_import_into_another_project_does_not_bring_it_back(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="one") as memory:
        memory.remember("The heronqualm nests at the weir")
        (tmp_path / "all.jsonl").write_text("".join(export(memory)), encoding="utf-8")
        memory.erase(1)
    with Memory(tmp_path / "memory.db", project="two") as memory:
        assert import_files(memory, [tmp_path / "all.jsonl"], scope="project/two").outcomes == {"refused": 1}


@pytest.mark.covers("G1")
def test_many_are_erased_without_a_word_on_standard_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(3)
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember_many([f"Nest {n} of {canary(chance)} {canary(chance)}" for n in range(rounds(3000, 0.1))])
        memory._tools = replace(memory._tools, confirm=lambda ask: True)
        assert memory.erase(where={"kind": "fact"}).advice is None
    assert capfd.readouterr().err == ""


# ---------------------------------------------------------------- nasty input 24


def test_24_erasing_while_others_search_write_and_back_up(tmp_path: Path) -> None:
    path, chance = tmp_path / "memory.db", random.Random(24)
    with Memory(path, project="atlas") as memory:
        words = [canary(chance) for _ in range(rounds(200, 0.06))]
        ids = [str(o.id) for o in memory.remember_many([f"Nest {n} of {word}" for n, word in enumerate(words)])]
        memory.remember_many(Corpus(4).memories(300))
    over, problems = threading.Event(), []

    def busy(work: object) -> None:
        try:
            with Memory(path, project="atlas") as own:
                while not over.is_set():
                    work(own)  # type: ignore[operator]
        except MemoristError as problem:
            problems.append(problem)

    backups = iter(range(10**6))
    (tmp_path / "backups").mkdir()
    works = [
        lambda own: own.recall(f"nest {random.randrange(len(words))}"),
        lambda own: own.remember_many(Corpus(next(backups)).memories(20)),
        lambda own: own.backup(tmp_path / "backups" / f"{next(backups)}.db"),
    ]
    threads = [threading.Thread(target=busy, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    with Memory(path, project="atlas") as memory:
        for id in ids:
            memory.erase(id)
    over.set()
    for thread in threads:
        thread.join()
    assert problems == []
    with Memory(path, project="atlas") as memory:
        memory.compact()
        assert not found_again(memory, ids, words[:20])
        assert memory.audit().ok
        assert [finding for finding in memory.doctor() if not finding.ok] == []
    shutil.rmtree(tmp_path / "backups")  # they are from before, and the user's own
    assert found_in(tmp_path, words) == []
    assert in_the_vocabulary(path, words) == []


def test_24_erasing_what_only_a_backup_holds_says_so(tmp_path: Path) -> None:
    with Memory(tmp_path / "old.db", project="atlas") as memory:
        kept = memory.remember("The heronqualm nests at the weir")
        memory.backup(tmp_path / "copy.db")
    with Memory(tmp_path / "new.db", project="atlas") as memory, pytest.raises(NotFound, match="no memory"):
        memory.erase(str(kept.id))
