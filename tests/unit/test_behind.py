"""One turn behind: the numbers by which something is shown or not, the one queue, and that nobody ever waits for it."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import in_ram
from memorist import Memory
from memorist.errors import Invalid
from memorist.records import Context
from memorist.session import behind
from memorist.session.lookout import Lookout, lookout
from memorist.session.session import Session
from memorist.surfaces import settings
from memorist.testing import MovableClock
from surfaces.conftest import Cli

ASKED = "user: which database does staging run?"


def look(session: Session, context: str | None = ASKED) -> Context:
    assert session.prefetch(context)
    assert lookout.rest(60)
    return session.ready()


@pytest.fixture
def known(memory: Memory) -> Memory:
    memory.remember("Staging runs Postgres 16")
    return memory


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A lookout of one place whose thread is at work until the event is set."""
    end, begun, small = threading.Event(), threading.Event(), Lookout(1)
    monkeypatch.setattr(behind, "lookout", small)
    small.offer(object(), lambda: (begun.set(), end.wait(60))[0])
    assert begun.wait(60)
    yield end
    end.set()
    assert small.rest(60)


@in_ram
@pytest.mark.covers("S4-1", "S4-25")
def test_prefetch_says_when_it_was_dropped_and_a_session_waits_once(known: Memory, busy: threading.Event) -> None:
    a, b = known.session("a"), known.session("b")
    assert a.prefetch(ASKED)
    assert a.prefetch("user: and the parser?"), "it wants what it asked for last"
    assert not b.prefetch(ASKED), "the one place is taken"
    assert "being looked up" in str(a.ready().empty_because) and "prefetch" in str(b.ready().empty_because)
    busy.set()
    assert behind.lookout.rest(60) and b.prefetch(ASKED), "what was dropped may be asked for again at once"
    assert behind.lookout.rest(60) and b.ready().items


@in_ram
@pytest.mark.covers("S4-25")
def test_one_thread_serves_all_sessions_of_all_memories(
    known: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, usual = set[threading.Thread](), Memory._context
    here = threading.current_thread
    monkeypatch.setattr(Memory, "_context", lambda self, wish: served.add(here()) or usual(self, wish))
    with Memory(tmp_path / "other.db", project="atlas") as other:
        other.remember("Staging runs Postgres 17")
        found = [look(memory.session("s")) for memory in (known, other)]
    assert [[hit.text for hit in each.items] for each in found] == [
        ["Staging runs Postgres 16"],
        ["Staging runs Postgres 17"],
    ]
    assert [each.name for each in served] == ["memorist lookout"]


@in_ram
@pytest.mark.covers("C4-5")
@pytest.mark.parametrize(("seconds", "shown"), [(119, True), (121, False), (-1, False)])
def test_what_was_found_may_be_shown_for_120_seconds(
    known: Memory, clock: MovableClock, seconds: int, shown: bool
) -> None:
    session = known.session("s")
    assert session.prefetch(ASKED) and lookout.rest(60)
    clock.move(seconds=seconds)
    found = session.ready()
    assert bool(found) is shown and (shown or "120 s" in str(found.empty_because))


@in_ram
@pytest.mark.covers("C4-5")
def test_the_same_words_are_not_looked_up_again_for_30_seconds(
    known: Memory, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    usual = Memory._context
    monkeypatch.setattr(Memory, "_context", lambda self, wish: looked.append(wish.query) or usual(self, wish))
    session = known.session("s")
    session.turn("user", "which port does staging use?")
    for moved, times in ((0, 1), (29, 1), (2, 2)):
        clock.move(seconds=moved)
        assert session.prefetch(ASKED) and lookout.rest(60)
        assert len(looked) == times
    assert session.prefetch() and session.prefetch() and lookout.rest(60)
    assert session.prefetch() and lookout.rest(60)
    assert len(looked) == 3 and looked[-1] == "user: which port does staging use?", "nor the same last turns"


@in_ram
@pytest.mark.covers("C4-5")
@pytest.mark.parametrize(("seconds", "shown"), [(60, False), (179, False), (181, True)])
def test_the_same_texts_under_other_ids_are_not_shown_again_at_once(
    known: Memory, clock: MovableClock, seconds: int, shown: bool
) -> None:
    session = known.session("s")
    assert look(session)
    person = known.through(replace(known.access, origin="user", writes=("*",)))
    assert person.remember("Staging runs Postgres 16", scope="global")
    clock.move(seconds=seconds)
    found = look(session, "user: which database is it that staging runs?")
    assert bool(found) is shown and (shown or "a moment ago" in str(found.empty_because))


@in_ram
@pytest.mark.covers("S4-17", "W4-4")
def test_another_topic_is_told_and_makes_nothing_unknown(known: Memory) -> None:
    session = known.session("s")
    first = look(session)
    assert first and first.topic_changed is None, "there was nothing to compare with"
    assert look(session, "user: what shall we cook for dinner tonight?").topic_changed is True
    back = look(session, ASKED)
    assert back.topic_changed is True and not back, "it is known still"


@pytest.mark.covers("S4-17")
@pytest.mark.parametrize("embed", ["layered", "none"])
def test_a_topic_is_compared_by_meaning_or_by_words(embed: str) -> None:
    with Memory(":memory:", embed=embed) as memory:
        embedder = memory._tools.meaning.embedder()
        here = "How do I rotate the staging database password?"
        same = behind.likeness(here, "And where is the staging database password stored?", embedder)
        other = behind.likeness(here, "What should I cook for dinner tonight?", embedder)
        assert other < behind.OTHER_TOPIC < same


@in_ram
@pytest.mark.covers("C4-5")
def test_what_becomes_known_before_it_is_shown_is_not_shown(known: Memory) -> None:
    session = known.session("s")
    assert session.prefetch(ASKED) and lookout.rest(60)
    session.note("something else")
    known.remember("Staging runs Postgres 16", session="s")
    assert "became known" in str(session.ready().empty_because)
    assert lookout.rest(60) and not session.ready(), "and it was looked up again without it"


CHANGES: dict[str, Callable[[Memory], object]] = {
    "erased": lambda memory: memory.erase(1, because="it is private"),
    "forgotten": lambda memory: memory.forget(1),
    "revised": lambda memory: memory.revise(1, "Staging runs Postgres 18"),
}


@pytest.mark.covers("C4-5")
@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_after_it_was_found_is_not_shown(tmp_path: Path, clock: MovableClock, what: str) -> None:
    with Memory(tmp_path / "me.db", project="atlas", clock=clock, confirm=lambda _: True) as owner:
        owner.remember("Staging runs Postgres 16")
        owner.remember("The parser is written in Rust")
        session = owner.session("s")
        assert session.prefetch(ASKED) and lookout.rest(60)
        CHANGES[what](owner)
        found = session.ready()
        assert "Postgres 16" not in found.text and "changed meanwhile" in str(found.empty_because)
        assert lookout.rest(60) and "Postgres 16" not in session.ready().text, "and it was looked up again"


def test_a_closed_memory_and_one_that_is_off_keep_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(tmp_path / "me.db", project="atlas") as memory:
        session = memory.session("s")
        monkeypatch.setenv("MEMORIST_OFF", "1")
        assert settings.off_because() and session.prefetch(ASKED) is False
        assert "memory is off" in str(session.ready().empty_because)
        monkeypatch.delenv("MEMORIST_OFF")
        assert session.prefetch(ASKED)
    assert lookout.rest(60)
    assert session.prefetch("user: something else") and lookout.rest(60)
    assert not session.ready(), "it says why"


@pytest.mark.parametrize("context", ["", "  ", 3])
def test_what_is_no_context_is_refused(memory: Memory, context: object) -> None:
    with pytest.raises(Invalid, match="the context"):
        memory.session("s").prefetch(context)  # type: ignore[arg-type]


@pytest.mark.covers("S4-25")
def test_what_an_embedder_of_ones_own_breaks_is_told(known: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    session = known.session("s")
    monkeypatch.setattr(behind, "asked_last", lambda *_: 1 / 0)
    assert session.prefetch() and lookout.rest(60)
    assert "could not be looked up" in str(session.ready().empty_because)
    assert look(session), "and the next one is served"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.covers("S4-25")
def test_a_fork_and_the_end_of_a_program_hang_on_nothing(tmp_path: Path) -> None:
    """The child has neither thread nor queue of its parent, refuses its session, and looks ahead in a memory of its own."""
    script = tmp_path / "forks.py"
    script.write_text(
        f"""import os
from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.session.lookout import lookout
path = {str(tmp_path / "me.db")!r}
memory = Memory(path, project="atlas")
memory.remember("Staging runs Postgres 16")
session = memory.session("s")
assert session.prefetch({ASKED!r})
child = os.fork()
if not child:
    try:
        session.prefetch("user: something else")
        os._exit(1)
    except StoreUnavailable:
        pass
    with Memory(path, project="atlas") as own:
        mine = own.session("child")
        assert mine.prefetch({ASKED!r}) and lookout.rest(60) and mine.ready().items
        mine.close()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert lookout.rest(60) and session.ready().items
for turn in range(5):
    session.prefetch(f"user: turn {{turn}} about staging")
print("ended")
"""
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


# ---------------------------------------------------------------- recall without a query


@pytest.mark.covers("S4-19")
def test_recall_without_a_query_answers_from_the_last_turns(known: Memory) -> None:
    with known.session("s") as session:
        session.turn("user", "hello")
        session.turn("assistant", "hello, what is it?")
        session.turn("user", "which database does staging run?")
        for found in (session.recall(), known.recall(session="s")):
            assert [hit.text for hit in found] == ["Staging runs Postgres 16"], "and not its own turns"
        assert session.recall("who orders lunch?").query == "who orders lunch?"


def test_recall_without_a_query_says_what_is_missing(known: Memory) -> None:
    with pytest.raises(Invalid, match="give a query, or name the session"):
        known.recall()
    with pytest.raises(Invalid, match="has no turns"):
        known.recall(session="nobody spoke here")
    with pytest.raises(Invalid, match="a filter must be a dict"):
        known.recall(session="s", where="x")  # type: ignore[arg-type]


@pytest.mark.covers("S4-19")
def test_recall_at_a_shell_takes_a_session_instead_of_a_query(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli.inside("remember", "Staging runs Postgres 16")
    cli.inside("session", "turn", "s1", "user", "which database does staging run?")
    assert "Postgres 16" in cli.inside("recall", "--session", "s1").out
    assert "Postgres 16" in cli.inside("recall", stdin="which database does staging run?").out
