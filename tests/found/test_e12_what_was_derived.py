"""E12: erased sources lived on in what was derived from them, in keys that could be guessed, and in unfinished copies."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import rounds
from memorist import Memory
from memorist.errors import Invalid
from memorist.noun import plain
from memorist.store import files
from memorist.store.lineage import session_of, shares

pytestmark = pytest.mark.covers("E12")
TURN = "For the record: always run make heronqualm before you push anything to the weir branch. Thanks!"


def holding(folder: Path, word: str = "heronqualm") -> list[str]:
    code = "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"  # an open here would drop locks
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True).stdout
        found += [path.name] if word.encode() in data else []
    return found


def numbers(memory: Memory, state: str) -> list[int]:
    return [record.number for record in memory.list({"state": state}, order="-number")]


def reasons(report: object) -> dict[int, str]:
    return {each.number: each.because for each in report.changed}  # type: ignore[attr-defined]


# ---------------------------------------------------------------- links


def test_a_summary_goes_with_its_source_and_the_report_says_of_what(memory: Memory) -> None:
    for text in ("The heron nests at the weir", "Birds nest near water", "Water is near", "Nothing to do with it"):
        memory.remember(text)
    memory.link(2, 1, "derived_from")
    memory.link(3, 2, "derived_from")
    memory.link(4, 1, "relates_to")
    memory.revise(3, "Water is not far")
    plan = memory.erase(1, dry_run=True)
    wanted = {1: "gone", 2: "derived from memory 1", 3: "derived from memory 2", 5: "derived from memory 2"}
    assert reasons(plan) == {**wanted, 1: "erased on request"} and memory.count() == 4
    assert reasons(memory.erase(1, because="gone")) == wanted
    assert numbers(memory, "active") == [4] and numbers(memory, "erased") == [1, 2, 3, 5]
    assert memory.audit().ok and all(finding.ok for finding in memory.doctor())


def test_only_listed_it_stays_and_is_named(memory: Memory) -> None:
    memory.remember("The heron nests at the weir")
    memory.remember("Birds nest near water")
    memory.link(2, 1, "derived_from")
    for dry in (True, False):
        report = memory.erase(1, derived="list", dry_run=dry)
        assert list(reasons(report)) == [1]
        assert report.left == {memory.get(2).id: "derived from memory 1; only listed"}
    assert numbers(memory, "active") == [2]
    with pytest.raises(Invalid, match="erase, list"):
        memory.erase(2, derived="keep")
    assert numbers(memory, "active") == [2]


def test_what_this_access_may_not_write_is_named_and_what_it_may_not_read_is_counted(memory: Memory) -> None:
    memory.remember("The heron nests at the weir")
    memory.remember("Birds nest near water", user="ann")
    memory.remember("Birds of another project", scope="user/bob")
    memory.remember("Again of this one")
    for derived, source in ((2, 1), (3, 2), (4, 3)):
        memory.link(derived, source, "derived_from")
    narrow = replace(memory.access, reads=("project/atlas", "user/ann"), writes=("project/atlas",))
    report = memory.through(narrow).erase(1)
    assert reasons(report) == {1: "erased on request", 4: "derived from memory 3"}
    assert report.left == {memory.get(2).id: "derived from memory 1; this project access may not write user/ann"}
    assert "may not read them: 1 memories" in str(report.advice) and memory.get(3).id not in repr(plain(report))
    assert numbers(memory, "active") == [2, 3]


def test_a_circle_ends_and_what_was_erased_already_is_not_named(memory: Memory) -> None:
    for text in ("one of them", "two of them", "three of them"):
        memory.remember(text)
    for derived, source in ((2, 1), (3, 2), (1, 3)):
        memory.link(derived, source, "derived_from")
    report = memory.erase(where={"number": {"$in": [1, 2]}})
    assert sorted(reasons(report)) == [1, 2, 3] and report.left == {}


@pytest.mark.covers("G3")
def test_nothing_survives_a_lineage(tmp_path: Path) -> None:
    chance, count = random.Random(12), rounds(1000, 0.12)
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember_many([f"Nest {n} of the heronqualm{n:04}x" for n in range(count)])
        memory.remember_many([f"Stop {n} lies there" for n in range(20)])
        for n in range(1, count):
            memory.link(n + 1, chance.randint(max(1, n - 30), n), "derived_from")
        assert len(memory.through(replace(memory.access, origin="user")).erase(1).changed) == count
        assert numbers(memory, "active") == list(range(count + 1, count + 21))
        assert memory.audit().ok
    assert holding(tmp_path) == []


def test_links_do_not_lead_to_the_erasure_of_most_of_a_scope_unasked(memory: Memory) -> None:
    memory.remember_many([f"Stop {n} lies there" for n in range(30)])
    for n in range(2, 31):
        memory.link(n, 1, "derived_from")
    report = memory.erase(1)
    assert report.changed == () and report.pending and len(report.left) == 30, (
        "nor the source, or no link would be left"
    )
    person = memory.through(replace(memory.access, origin="user"))
    assert len(person.review(report.pending, decide="approve").changed) == 30  # type: ignore[union-attr]
    assert memory.count() == 0


def test_what_the_user_said_is_not_erased_by_a_link_to_it(memory: Memory) -> None:
    user = memory.through(replace(memory.access, origin="user"))
    user.remember("The heron nests at the weir")
    memory.remember("An agent's own note")
    user.link(1, 2, "derived_from")
    report = memory.erase(2)
    assert list(reasons(report)) == [2] and report.pending
    assert "derived from memory 2; it is the user's word" in report.left[memory.get(1).id]
    asked = memory.erase(1, derived="list")
    assert asked.changed == () and memory.get(1).state == "active"


# ---------------------------------------------------------------- findings and narratives


@pytest.fixture
def found(memory: Memory) -> Memory:
    """A turn (1), its finding (2), the same words in another session (3) and a finding there."""
    memory.remember(TURN, kind="turn", session="s1", role="user")
    memory.extract(TURN, session="s1", role="user")
    memory.remember(TURN, kind="turn", session="s2", role="user")
    memory.extract(TURN, session="s2", role="user")
    assert [record.kind for record in memory.list(order="-number")][::2] == ["turn", "turn"], "else nothing is proved"
    assert all(memory.get(number).provenance.snippet for number in (2, 4))
    return memory


def test_a_finding_goes_with_the_turn_it_was_found_in(found: Memory) -> None:
    assert reasons(found.erase(1)) == {1: "erased on request", 2: "derived from memory 1"}
    assert numbers(found, "active") == [3, 4], "what another session said is another memory"
    assert found.audit().ok


def test_a_session_of_the_same_name_in_another_project_is_another(tmp_path: Path) -> None:
    for name in ("atlas", "borealis"):
        with Memory(tmp_path / "memory.db", project=name) as memory:
            memory.remember(TURN, kind="turn", session="s1", role="user", scope="session/s1")
            memory.extract(TURN, session="s1", role="user")
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        assert reasons(memory.erase(1)) == {1: "erased on request", 2: "derived from memory 1"}
    with Memory(tmp_path / "memory.db", project="borealis") as memory:
        assert numbers(memory, "active") == [3, 4]


def test_also_after_it_was_promoted(found: Memory) -> None:
    found.promote(2)
    assert found.get(2).scope == "project/atlas"
    assert reasons(found.erase(1))[2] == "derived from memory 1"


def test_a_snippet_that_only_quotes_it_goes_and_its_finding_stays(memory: Memory) -> None:
    text = "We decided to use Postgres for heronqualm. Never restart the weir server on Fridays!"
    memory.extract(text, session="s1", role="user")
    decided, warned = sorted(memory.list(), key=lambda record: "Never" in record.text)
    assert "heronqualm" in str(warned.provenance.snippet) and "heronqualm" not in warned.text
    plan = memory.erase(decided.id, dry_run=True)
    said = f"[id:{warned.number}] loses its snippet, which quotes [id:{decided.number}]"
    assert plan.advice == said and memory.get(warned.id).provenance.snippet
    assert memory.erase(decided.id, derived="list", dry_run=True).advice is None
    report = memory.erase(decided.id)
    assert list(reasons(report)) == [decided.number] and said in str(report.advice)
    left = memory.get(warned.id)
    assert (left.text, left.state, left.provenance.snippet) == (warned.text, "active", None)
    assert memory.audit().ok and all(finding.ok for finding in memory.doctor())


def test_copies_lose_the_snippet_too(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.extract("We decided to use Postgres for heronqualm. Never restart the server!", session="s1")
        memory.backup(tmp_path / "memory.db.replaced-20260101T000000Z")
        decided = next(record for record in memory.list() if "heronqualm" in record.text)
        memory.erase(decided.id)
    assert holding(tmp_path) == []


@pytest.mark.covers("N1-4")
def test_a_narrative_goes_with_what_it_tells_of_and_takes_nothing_that_was_written_meanwhile(memory: Memory) -> None:
    memory.remember("Ann likes herons")
    memory.narrate("On Monday Ann told of the heron, so we build the hide", topic="hide", memories=[1])
    memory.remember("The hide has two windows")
    assert memory.get(3).provenance.narrative == memory.get(2).id
    assert reasons(memory.erase(1, dry_run=True)) == {1: "erased on request", 2: "derived from memory 1"}
    assert reasons(memory.erase(2)) == {2: "erased on request"}, "what was written meanwhile is a memory of its own"
    assert memory.get(3).text == "The hide has two windows" and memory.get(1).state == "active"
    assert memory.audit().ok


def test_which_words_two_texts_share() -> None:
    assert shares("before heron after", "heron ") and not shares("before heron after", "heron")
    run = "x" * 24 + "y" * 24
    assert shares(f"{run} and more", f"some {run[:30]} other") and not shares("short", "another text altogether")
    with Memory(":memory:") as memory:
        outcome = memory.remember("hello", kind="turn", scope="session/s9")
        assert outcome.record is not None and session_of(outcome.record) == "s9"


# ---------------------------------------------------------------- keys


def test_a_key_that_quotes_the_text_cannot_be_confirmed_by_guessing(memory: Memory) -> None:
    text = "the pin of the front door is 4242"
    memory.remember(text, key=text)
    digest = memory._writer.digest(f'key ["default","project/atlas","{text}"]')
    assert memory._tools.store.key_use(digest) is not None, "else nothing would be proved"
    memory.erase(1)
    assert memory._tools.store.key_use(digest) is None
    again = memory.remember(text, key=text)
    assert (again.outcome, again.record.number if again.record else 0) == ("added", 2)


def test_a_key_that_version_0_1_0_kept_is_a_new_write_too(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember("Alpha lies north", key="k")
        one = memory._tools.store._connections.here()  # type: ignore[attr-defined]
        one.execute("UPDATE key_uses SET draft = '', outcome = 'erased'")
        assert memory.remember("Beta lies south", key="k").outcome == "added"
        assert memory.remember("Beta lies south", key="k").outcome == "repeated"


# ---------------------------------------------------------------- unfinished copies

KILLED = """
import os, signal, sys
from memorist import Memory
from memorist.store import files

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

for name in ("memorist.store.sqlite.migrate", "memorist.store.json_file.snapshot"):
    module = __import__(name, fromlist=["x"])
    if name.endswith("migrate"):
        copied = module._copied
        module._copied = lambda *given: (copied(*given), killed())
    elif sys.argv[1].endswith(".json"):
        read = module.read
        module.read = lambda path: (read(path), killed()) if ".memorist-" in str(path) else read(path)
with Memory(sys.argv[1], project="atlas") as memory:
    memory.backup(sys.argv[2])
"""


@pytest.fixture(params=["db", "json"])
def killed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A store; a backup of it, to another folder, was killed when all of it was written."""
    (tmp_path / "own").mkdir()
    (tmp_path / "elsewhere").mkdir()
    store = tmp_path / "own" / f"memory.{request.param}"
    with Memory(store, project="atlas") as memory:
        memory.remember("The heronqualm nests at the weir")
    copy = tmp_path / "elsewhere" / f"copy.{request.param}"
    done = subprocess.run([sys.executable, "-c", KILLED, str(store), str(copy)], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [name for name in holding(tmp_path / "elsewhere")], "else nothing would be proved"
    yield store


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_what_a_killed_backup_left_goes_with_the_next_erasure_or_start(killed: Path, tmp_path: Path) -> None:
    with Memory(killed, project="atlas"):
        assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_also_by_a_store_that_was_open_all_the_time(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember("The heronqualm nests at the weir")
        call = [sys.executable, "-c", KILLED, str(tmp_path / "memory.db"), str(tmp_path / "copy.db")]
        assert subprocess.run(call, check=False).returncode == -signal.SIGKILL
        assert len(list(tmp_path.glob(".memorist-*"))) == 1
        assert memory.erase(1).advice is None
        assert holding(tmp_path) == []


@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_a_users_own_files_are_left_alone(tmp_path: Path, name: str) -> None:
    suffix = Path(name).suffix
    own = [
        tmp_path / each
        for each in (f"copy{suffix}.partial", f"{name}.partial", f"{name}.old.partial", ".memorist-notes.partial")
    ]
    for file in own:
        file.write_text("mine")
        os.utime(file, (0, 0))
    with Memory(tmp_path / name, project="atlas") as memory:
        memory.remember("The heron nests at the weir")
        memory.backup(tmp_path / f"copy{suffix}")
        memory.erase(1)
        memory.compact()
    assert [file.read_text() for file in own] == ["mine"] * len(own)
    assert {path.name for path in tmp_path.glob(".memorist-*")} == {".memorist-notes.partial"}


def test_what_another_process_or_machine_is_making_is_left_until_it_is_old(tmp_path: Path) -> None:
    alive = tmp_path / f".memorist-{files._machine()}-{os.getpid()}-abc.copy"
    backup = tmp_path / f".memorist-{files._machine()}-{os.getpid()}-abc.partial"
    away = tmp_path / ".memorist-00000000-1-abc.copy"
    for left in (alive, backup, away):
        left.write_text("unfinished")
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember("Alpha lies north")
        advice = str(memory.erase(1).advice)
        assert alive.name in advice and away.name in advice and backup.name not in advice
        assert "erasures" in [finding.check for finding in memory.doctor() if not finding.ok]
        for left in (alive, backup, away):
            os.utime(left, (0, 0))
        memory.compact()
        assert all(finding.ok for finding in memory.doctor())
    assert list(tmp_path.glob(".memorist-*")) == []


def test_a_backup_that_is_being_made_survives_an_erasure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memorist.store.sqlite import migrate

    copied, began, go_on = migrate._copied, threading.Event(), threading.Event()

    def slowly(*given: object) -> str:
        said = copied(*given)  # type: ignore[arg-type]
        began.set()
        assert go_on.wait(30)
        return said

    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember("Alpha lies north")
        monkeypatch.setattr(migrate, "_copied", slowly)
        thread = threading.Thread(target=memory.backup, args=(tmp_path / "copy.db",))
        thread.start()
        assert began.wait(30)
        memory.erase(1)
        go_on.set()
        thread.join()
    assert (tmp_path / "copy.db").exists() and list(tmp_path.glob(".memorist-*")) == []
