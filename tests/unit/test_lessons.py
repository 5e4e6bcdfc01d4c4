"""Feedback about a question: what was useful for it, or beside the point, changes the answers to questions like it.

It is no vote, belongs to one project, never lowers a pinned memory, and goes with the memory when that is erased.
"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.access import Access, access_for
from memorist.errors import Invalid, NotFound
from memorist.files import transfer
from memorist.records import Recall
from memorist.remember.lessons import LONGEST, THREE_VERDICTS
from memorist.store import nouns
from memorist.store.nouns import Lesson
from memorist.testing import MovableClock

NOTES = """Staging runs on Postgres 16, production is still on Postgres 15.
The staging cluster is rebuilt every Sunday night from a snapshot of production.
Deploys to staging go through the blue pipeline; ask Tomas before touching it.
The database password for staging lies in the vault under infra/staging.
Release notes are written by Ida on Thursdays before noon.
Rolling back a release: run `ship undo`, then tell the channel #releases.
The guest wifi is called Heron, its password hangs on the fridge.
Anna lives in Lima since March and works from nine to four.
The standup is at 9:30, on Mondays at ten.
Maya does not eat peanuts or shellfish.
The spare key is with Mrs Adeyemi on the second floor.
The boiler is serviced by Kranz & Sons every October.
Billing reviews go to Priya, and to Jon while she is away.
Invoices are numbered by year and month, such as 2026-11-004.
The bins are collected on Tuesdays, glass on the first Saturday.
Backups of the photo archive run at three in the morning.
The old laptop charger is in the green box under the stairs.
Swimming lessons for Leo are on Wednesdays at five.
The tax office wants the form by the end of May.
Our landlord is Mr Okafor, he prefers to be called.""".splitlines()
QUESTION = "Which database does staging use?"
ALIKE = ("which database does staging use", "What database is staging running on?", "the database that staging uses?")
OTHERS = ("Where does Anna live?", "Who services the boiler?", "When is the standup on Mondays?")


@pytest.fixture
def notes(memory: Memory) -> Memory:
    memory.remember_many(NOTES)
    return memory


def numbers(answer: Recall) -> list[int]:
    return [hit.record.number for hit in answer]


def ranks(memory: Memory, question: str = QUESTION) -> list[tuple[int, float]]:
    return [(hit.record.number, hit.score) for hit in memory.explain(question, limit=20)]


def tell(memory: Memory, number: int, verdict: str, question: str = QUESTION, times: int = 3) -> None:
    receipt = memory.recall(question, min_relevance=0).receipt
    for _ in range(times):
        assert memory.feedback(number, verdict, receipt=receipt)  # type: ignore[arg-type]


def lessons(memory: Memory) -> list[Lesson]:
    return memory._tools.store.lessons(memory.space)


def standing(memory: Memory) -> list[tuple[int, int]]:
    return [(lesson.users, lesson.others) for lesson in lessons(memory)]


def test_feedback_without_a_receipt_is_a_vote_and_teaches_nothing(notes: Memory) -> None:
    notes.feedback(1, "irrelevant")
    assert notes.get(1).counters.rejected == 1 and not lessons(notes)


def test_with_a_receipt_only_wrong_is_a_vote_and_one_undo_takes_both_back(notes: Memory) -> None:
    receipt = notes.recall(QUESTION, min_relevance=0).receipt
    for verdict in ("useful", "irrelevant"):
        notes.feedback(1, verdict, receipt=receipt)  # type: ignore[arg-type]
    counted = notes.get(1).counters
    assert (counted.up, counted.rejected, counted.down, counted.used) == (0, 0, 0, 0) and standing(notes) == [(0, 0)]
    told = notes.feedback(1, "wrong", receipt=receipt)
    assert notes.get(1).counters.down == 1 and standing(notes) == [(0, -3)]
    assert [event.verb for event in notes.history(1)][-2:] == ["feedback", "learnt"] and told.batch
    notes.undo(told.batch)
    assert notes.get(1).counters.down == 0 and standing(notes) == [(0, 0)]


def test_use_teaches_a_third_of_a_verdict_once_for_each_receipt(notes: Memory) -> None:
    receipt = notes.context(QUESTION, min_relevance=0).receipt
    notes.used(receipt, ids=[1])
    notes.used(receipt, ids=[1])
    assert standing(notes) == [(0, 1)]
    for _ in range(20):
        notes.used(notes.recall(QUESTION, min_relevance=0).receipt, ids=[1])
    assert standing(notes) == [(0, THREE_VERDICTS)]
    notes.undo()
    assert standing(notes) == [(0, THREE_VERDICTS)], "the last of them added nothing"


def test_a_lesson_is_no_memory(notes: Memory) -> None:
    def all_there_is() -> list[object]:
        listed = [notes.count(), notes.status()["scopes"], [record.id for record in notes.list(limit=99)]]
        return [*listed, notes.status()["records"], sum(1 for _ in transfer.export(notes))]

    before = all_there_is()
    tell(notes, 1, "useful")
    assert all_there_is() == before and notes.audit() and all(notes.doctor())


def test_an_undo_takes_a_verdict_back_and_can_be_undone(notes: Memory) -> None:
    before = ranks(notes)
    tell(notes, 9, "useful")
    taught = ranks(notes)
    for _ in range(3):
        back = notes.undo()
    assert ranks(notes) == before and standing(notes) == [(0, 0)]
    notes.undo(back.batch)
    assert standing(notes) == [(0, 3)]
    tell(notes, 9, "useful", times=2)
    assert ranks(notes) == taught and notes.audit()


def test_the_oldest_lessons_of_a_project_go(
    notes: Memory, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.store.sqlite.store.LESSONS_AT_MOST", 4)
    for n in range(7):
        clock.move(minutes=1)
        tell(notes, 1, "useful", f"question {n} about the database", times=2)
    assert [lesson.question[9] for lesson in lessons(notes)] == ["3", "4", "5", "6"], "one row a question and memory"
    assert nouns.LESSONS_AT_MOST <= 1000


def test_of_a_long_prompt_the_question_is_kept(notes: Memory) -> None:
    pasted = "<system-reminder>" + "blah " * 50 + "</system-reminder>\n" + QUESTION
    tell(notes, 1, "useful", pasted)
    tell(notes, 1, "useful", "database " * 200, times=1)
    assert lessons(notes)[0].question == QUESTION
    assert max(len(lesson.question) for lesson in lessons(notes)) <= LONGEST


@pytest.mark.parametrize("query", ["", "???", "🙂"])
def test_a_question_without_words_teaches_nothing_or_only_about_itself(notes: Memory, query: str) -> None:
    receipt = notes.recall(query).receipt
    notes.feedback(1, "useful", receipt=receipt)
    assert {lesson.question for lesson in lessons(notes)} <= {query} and not notes.recall("")


@pytest.mark.parametrize("origin", ["tool", "web", "file", "import"])
def test_a_tool_or_a_web_page_teaches_nothing(notes: Memory, origin: str) -> None:
    door = notes.through(replace(notes.access, origin=origin, actor="door"))
    receipt = door.recall(QUESTION).receipt
    said = door.feedback(1, "useful", receipt=receipt)
    assert said.outcome == "refused" and "only the user and agents" in said.because
    assert door.used(receipt, ids=[1]).changed and not lessons(notes)


@pytest.mark.covers("G1")
@pytest.mark.parametrize("name", ["notes.db", "notes.json"])
@pytest.mark.parametrize("verdict", ["useful", "irrelevant"])
def test_erasing_a_memory_leaves_no_byte_of_the_question(tmp_path: Path, name: str, verdict: str) -> None:
    with Memory(tmp_path / name) as memory:
        memory.remember_many(NOTES)
        tell(memory, 11, verdict, "why does qzbravo want the database?")
        tell(memory, 12, verdict, "is qzcharly the database?")
        memory.backup(tmp_path / "kept.bak")
        memory.erase(11)
        assert [lesson.record for lesson in lessons(memory)] == [memory.get(12).id]
    (tmp_path / "kept.bak").unlink()
    for file in tmp_path.iterdir():
        assert b"qzbravo" not in file.read_bytes(), file.name
    assert b"qzcharly" in (tmp_path / name).read_bytes(), "others keep theirs"


def test_a_question_with_a_word_that_only_the_erased_memory_held_goes(notes: Memory) -> None:
    secret = notes.remember("The owl is called Zebulon").number or 0
    tell(notes, 1, "irrelevant", "is Zebulon a database?")
    notes.erase(secret)
    assert not lessons(notes)


def test_a_restored_backup_teaches_nothing_about_what_was_erased(tmp_path: Path) -> None:
    from memorist.store.open import restore

    path = tmp_path / "notes.db"
    with Memory(path) as memory:
        memory.remember_many(NOTES)
        tell(memory, 11, "useful", "why does qzbravo want the database?")
        memory.backup(tmp_path / "kept.bak")
        memory.erase(11)
    restore(path, tmp_path / "kept.bak", datetime.now(UTC))
    with Memory(path) as memory:
        assert not lessons(memory) and memory.audit()
    assert b"qzbravo" not in path.read_bytes()


def test_the_question_is_redacted(notes: Memory) -> None:
    tell(notes, 1, "useful", "which database has the password=hunter2-Kx9vQz81?")
    [lesson] = lessons(notes)
    assert "hunter2" not in lesson.question and "database" in lesson.question


def test_a_rescan_finds_secrets_in_lessons(notes: Memory) -> None:
    tell(notes, 1, "useful")
    [lesson] = lessons(notes)
    with notes._writer.transaction():
        said = replace(lesson, question="database with ghp_x9Kq27LmZt4Rw8Yb3Nc6Vd1Hs5Jf0Pg2Qe7A?")
        notes._tools.store.write(nouns.Commit(lessons=[said]))
    notes.through(replace(notes.access, origin="user")).rescan()
    assert "ghp_" not in lessons(notes)[0].question and not [f for f in notes.doctor() if not f]


def seen_by(memory: Memory, project: str) -> Memory:
    return memory.through(access_for("project", f"project/{project}", actor=project))


def test_a_lesson_stays_in_the_project_in_which_the_question_was_asked(memory: Memory) -> None:
    a, b = seen_by(memory, "a"), seen_by(memory, "b")
    for note in NOTES[:8]:
        a.remember(note, scope="global")
    receipt, before = a.recall(QUESTION, min_relevance=0).receipt, ranks(b)
    said = b.feedback(5, "useful", receipt=receipt)
    assert said.outcome == "refused" and "another project" in said.because
    tell(a, 5, "useful")
    assert 5 in numbers(a.recall(QUESTION, limit=3, min_relevance=0)) and ranks(b) == before
    with pytest.raises(NotFound, match="no receipt"):
        a.feedback(5, "useful", receipt="r0")
    with pytest.raises(Invalid, match="named by text"):
        a.feedback(5, "useful", receipt=7)  # type: ignore[arg-type]


SCOPES = ("project/a", "project/b", "global", "user/ann", "user/bob", "session/s", "task/t")


@st.composite
def accesses(draw: st.DrawFn) -> Access:
    grants = tuple(draw(st.lists(st.sampled_from((*SCOPES, "*")), min_size=1, max_size=4, unique=True)))
    return Access(reads=grants, writes=grants, home=draw(st.sampled_from(("project/a", "project/b"))), actor="other")


@settings(max_examples=rounds(200, 0.03), deadline=None)
@given(
    who=accesses(),
    scope=st.sampled_from((None, *SCOPES)),
    user=st.sampled_from((None, "ann", "bob")),
    taught=st.sampled_from(("user/ann", "session/s", "project/a", "global")),
)
def test_no_other_access_ever_sees_or_feels_a_lesson(
    who: Access, scope: str | None, user: str | None, taught: str
) -> None:
    """It holds where a question reads every place that the answer came from, in the same project, and nowhere else."""
    canary = "qzalpha"
    with Memory(":memory:", project="a", clock=MovableClock()) as memory:
        home = "project/a" if taught == "session/s" else None
        for n, note in enumerate(NOTES[:6]):
            memory.remember(note, scope=taught if n % 2 else "global")
        twin = memory.through(who)

        def answer() -> object:
            try:
                found = twin.explain(QUESTION, scope=scope, user=user, limit=20)
            except Exception as refused:
                return repr(refused)
            ranked = [(hit.record.number, hit.score, dict(hit.why)) for hit in found]
            return ranked, [(step.stage, step.note, step.dropped) for step in found.trace]

        before = answer()
        receipt = memory.recall(f"{QUESTION} {canary}", user="ann", session="s").receipt
        for _ in range(3):
            memory.feedback(5, "useful", receipt=receipt)
        places = {*(place for lesson in lessons(memory) for place in lesson.places)}
        assert places <= {("global", None), (taught, home)}
        fits = who.home == "project/a" and who.may_read("project/a")
        try:
            read = set(twin.explain(QUESTION, scope=scope, user=user).scopes)
        except Exception:
            read = set()
        if not fits or not {place for place, _ in places} <= read:
            assert answer() == before
