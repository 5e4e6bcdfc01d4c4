"""The write gate: what becomes of a text, and why."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memorist import Draft, Memory
from memorist.errors import Conflict, Invalid
from memorist.noun import plain
from memorist.records import Origin
from memorist.store.nouns import Commit
from memorist.testing import MovableClock


def test_twins_inside_one_batch_are_found_too(memory: Memory) -> None:
    outcomes = memory.remember_many(["a b c", "A  b c", "d e f", "a b c"])
    assert [outcome.outcome for outcome in outcomes] == ["added", "reinforced", "added", "reinforced"]
    assert memory.get(1).counters.strength == 2
    assert memory.audit().ok


def test_turns_and_other_scopes_are_never_twins(memory: Memory) -> None:
    assert memory.remember("ok", kind="turn", role="user").outcome == "added"
    assert memory.remember("ok", kind="turn", role="user").outcome == "added"
    assert memory.remember("ok").outcome == "added"
    assert memory.remember("ok", scope="global").outcome == "added"
    assert memory.remember("ok", user="ann").outcome == "added"


def test_a_forgotten_twin_comes_back_only_on_the_users_own_write(memory: Memory) -> None:
    memory.remember("The office is in Oslo")
    memory.forget(1)
    as_agent = memory.remember("The office is in Oslo")
    assert as_agent.outcome == "added" and as_agent.record is not None and as_agent.record.status == "candidate"
    memory.forget(as_agent.record.id)
    memory.access = replace(memory.access, origin="user")
    as_user = memory.remember("The office is in Oslo")
    assert as_user.outcome == "restored" and as_user.id == memory.get(1).id


@pytest.mark.parametrize(
    ("door", "role", "origin"),
    [
        ("agent", "user", "agent"), ("agent", "tool", "tool"), ("import", "user", "import"), ("web", "assistant", "web"),
        ("user", "user", "user"), ("user", "assistant", "agent"), ("recorded", "system", "agent"), ("recorded", "user", "recorded"),
    ],
)  # fmt: skip
def test_a_role_may_lower_the_origin_of_a_turn_and_never_lifts_it(
    memory: Memory, door: Origin, role: str, origin: str
) -> None:
    memory.access = replace(memory.access, origin=door)
    said = memory.remember("hello", kind="turn", role=role).record
    assert said is not None and said.origin == origin


@pytest.mark.covers("P2")
def test_a_turn_that_an_older_version_stored_under_its_key_is_known_again(memory: Memory) -> None:
    """Version 0.1.0 took the agent and the time of a turn into the digest of its draft."""
    turn: dict[str, Any] = {"kind": "turn", "role": "user", "agent": "coder", "at": "2026-01-01"}
    first = memory.remember("hello there", key="k1", **turn)
    drafted = repr(Draft("hello there", scope=memory.home, **turn)) + "{}"
    writer, store = memory._writer, memory._tools.store
    use = store.key_use(writer.digest(f'key ["default","{memory.home}","k1"]'))
    assert use is not None
    with store.transaction():
        store.write(Commit(keys=[replace(use, draft=writer.digest(f"draft {drafted}"))]))
    assert memory.remember("hello there", key="k1", **turn).id == first.id
    with pytest.raises(Conflict, match="another text"):
        memory.remember("hello you", key="k1", **turn)
    assert memory.count() == 1


@pytest.mark.covers("S3-26")
def test_secrets_never_reach_any_column(memory: Memory) -> None:
    token = "ghp_" + "a1B2" * 9
    memory.remember(
        f"the token is {token}",
        title=f"t {token}",
        tags=[token],
        files=[f"/keys/{token}"],
        data={"k": [token], token: "v"},
        session=token,
        speaker=token,
    )
    memory.forget(1, because=f"it held {token}")
    memory.recall(f"what is {token}?")
    memory._writer.flush()
    store = memory._tools.store
    dump = [
        repr(plain(memory.get(1))),
        repr(plain(memory.history(1))),
        repr(store.receipts("default", 10)),
        repr(list(store.chain())),
    ]
    assert not [place for place in dump if token in place]
    assert "[secret:" in memory.get(1).text


def test_a_text_that_is_nothing_but_a_secret_is_refused(memory: Memory) -> None:
    outcome = memory.remember("ghp_" + "a1B2" * 9)
    assert outcome.outcome == "refused" and "secret" in outcome.because
    assert memory.count() == 0


@pytest.mark.covers("W0-7")
def test_times_are_kept_in_utc_and_one_without_a_zone_is_local(memory: Memory, clock: MovableClock) -> None:
    at = datetime.fromisoformat("2026-03-29T02:30:00+02:00")
    record = memory.remember("an hour that some zones skip", at=at).record
    assert record is not None and record.times.at == at and record.times.at.tzinfo is UTC
    assert record.times.created == clock()
    local = memory.remember("an hour on my own clock", at=datetime(2026, 1, 1)).record
    assert local is not None and local.times.at == datetime(2026, 1, 1).astimezone() and local.times.at.tzinfo is UTC


def test_scope_and_user_exclude_each_other(memory: Memory) -> None:
    with pytest.raises(Invalid, match="scope or user"):
        memory.remember("x", scope="global", user="ann")


def test_drafts_may_be_texts_dicts_or_drafts(memory: Memory) -> None:
    outcomes = memory.remember_many(["one", {"text": "two", "user": "ann", "tags": ["t"]}, Draft("three", kind="note")])
    assert [o.record.scope for o in outcomes if o.record] == ["project/atlas", "user/ann", "project/atlas"]
    with pytest.raises(Invalid, match="unknown field 'txt'"):
        memory.remember_many([{"txt": "x"}])
