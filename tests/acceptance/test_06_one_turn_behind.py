"""Acceptance row 6: two sessions in parallel share no surfaced, pending or topic state (W4-3); no id is surfaced twice within 45
minutes; nothing that was stored in this session is echoed back (W4-4)."""

from collections import Counter
from itertools import pairwise
from threading import Thread

import pytest

from conftest import in_ram
from memorist import Memory
from memorist.records import Context
from memorist.session.lookout import lookout
from memorist.session.session import Session
from memorist.testing import MovableClock

ABOUT_STAGING = "user: which database does staging run, and on which port?\nassistant: let me see"
ABOUT_LUNCH = "user: where do we order the pizza for the team lunch?\nassistant: let me see"
MINUTES = 120


def look(session: Session, context: str | None = None) -> Context:
    """One turn: what it is about is handed in, and the next one gets what was found."""
    assert session.prefetch(context)
    assert lookout.rest(60)
    return session.ready()


def texts(found: Context) -> set[str]:
    return {hit.text for hit in found.items}


@pytest.fixture
def known(memory: Memory) -> Memory:
    memory.remember("Staging runs Postgres 16 on port 5433", kind="decision")
    memory.remember("The staging database is restored every night")
    memory.remember("We order the pizza for the team lunch at Luigi's", kind="preference")
    memory.remember("The parser is written in Rust")
    return memory


@pytest.mark.covers("S4-1", "C4-5", "W4-3")
def test_what_turn_n_asks_for_is_there_in_turn_n_plus_1_for_its_own_session_only(known: Memory) -> None:
    with known.session("a") as a, known.session("b") as b:
        assert not a.ready() and "prefetch" in str(a.ready().empty_because)
        assert a.prefetch(ABOUT_STAGING) and b.prefetch(ABOUT_LUNCH)
        assert lookout.rest(60)
        first, second = a.ready(), b.ready()
        assert "Staging runs Postgres 16 on port 5433" in texts(first)
        assert "We order the pizza for the team lunch at Luigi's" in texts(second)
        assert known.receipt(first.receipt).text == first.text, "it is an ordinary context, with its receipt"
        assert not a.ready() and not b.ready(), "it is given once"


@pytest.mark.covers("W4-3")
def test_what_one_session_was_shown_is_news_to_the_other(known: Memory) -> None:
    with known.session("a") as a, known.session("b") as b:
        first = texts(look(a, ABOUT_STAGING))
        assert first and texts(look(b, ABOUT_STAGING)) == first
        assert look(a, ABOUT_LUNCH).topic_changed is True
        assert look(b, "user: what else is there about the staging database?").topic_changed is False


@pytest.mark.covers("W4-3", "S4-25")
def test_sessions_in_parallel_threads_share_nothing(known: Memory, clock: MovableClock) -> None:
    names, shown = [f"s{n}" for n in range(8)], dict[str, list[str]]()

    def talk(name: str) -> None:
        session = known.session(name)
        for turn in range(4):
            session.prefetch(f"{ABOUT_STAGING} ({turn})")
            lookout.rest(60)
            shown.setdefault(name, []).extend(hit.record.id for hit in session.ready().items)
        session.leave()

    threads = [Thread(target=talk, args=(name,)) for name in names]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
    assert all(shown[name] for name in names), "each of them got it"
    assert all(len(ids) == len(set(ids)) for ids in shown.values()), "and once"


@pytest.mark.covers("C4-5", "W4-4", "S4-17")
def test_no_id_is_surfaced_twice_in_45_minutes_whatever_the_topic(known: Memory, clock: MovableClock) -> None:
    with known.session("a") as a:
        at: dict[str, list[int]] = {}
        for minute in range(0, MINUTES, 5):
            found = look(a, (ABOUT_STAGING, ABOUT_LUNCH)[minute % 2] + f" (minute {minute})")
            for hit in found.items:
                at.setdefault(hit.record.id, []).append(minute)
            clock.move(minutes=5)
        gaps = [later - earlier for times in at.values() for earlier, later in pairwise(times)]
        assert gaps and min(gaps) >= 45, "known for 45 minutes, and news again after that"


@pytest.mark.covers("C4-5", "W4-4")
def test_nothing_that_was_kept_in_this_session_is_echoed_back(known: Memory) -> None:
    with known.session("a") as a, known.session("b") as b:
        a.turn("user", "The staging database is called heron-db and listens on port 7000")
        a.note("The staging database heron-db belongs to Ann")
        known.remember("The staging database heron-db has three replicas", session="a")
        known.extract("We decided to keep the staging database heron-db on port 7000.", session="a", role="user")
        look(a, "small words first, so that the session has begun to look ahead")
        known.remember("The staging database is restored every night", session="a")  # said again here, known before
        asked = "user: what do we know about the staging database heron-db?"
        assert not {text for text in texts(look(a, asked)) if "heron-db" in text or "every night" in text}
        assert texts(look(a, ABOUT_STAGING)) == {"Staging runs Postgres 16 on port 5433"}
        elsewhere = texts(look(b, asked))
        assert "The staging database heron-db has three replicas" in elsewhere, "to others it is news"


@in_ram
@pytest.mark.covers("C4-5", "W4-4")
def test_a_fork_knows_what_was_said_before_it(known: Memory) -> None:
    with known.session("a") as a:
        a.turn("user", "hello")
        known.remember("The staging database heron-db has three replicas", session="a")
        a.turn("user", "let us go on elsewhere")
        fork = a.fork("a2")
        known.remember("The staging database heron-db moved to Oslo", session="a")
        found = texts(look(fork, "user: what do we know about the staging database heron-db?"))
        assert "The staging database heron-db moved to Oslo" in found
        assert "The staging database heron-db has three replicas" not in found
        fork.close()


@in_ram
@pytest.mark.covers("C4-5")
def test_what_was_asked_for_and_shown_is_known_too(known: Memory) -> None:
    with known.session("a") as a:
        shown = a.context("which database does staging run?")
        seen = Counter(hit.record.id for hit in shown.items) + Counter(
            hit.record.id for hit in look(a, ABOUT_STAGING).items
        )
        assert shown and max(seen.values()) == 1
