"""A turn that was erased does not come back because its message is handed in again, through whichever door."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

import pytest

from memorist import Memory
from memorist.files.transfer import import_files
from memorist.records import now_utc
from memorist.remember.turns import key_of, may_tell, names_message
from memorist.store.open import restore

SAFE = "The safe is behind the fridge."
NAMED = [
    {"id": "m1", "role": "user", "content": SAFE},
    {"id": "m2", "role": "assistant", "content": "I will remember that."},
    {"id": "m3", "role": "tool", "tool_call_id": "c1", "content": "fridge: open"},
]
AT = "2026-05-01T10:00:00Z"
PLACED = [{name: said for name, said in each.items() if name != "id"} for each in NAMED]


def texts(memory: Memory) -> list[str]:
    return [each.text for each in reversed(memory.list({"kind": "turn"}, limit=100))]


def door(memory: Memory, origin: Any) -> Memory:
    return memory.through(replace(memory.access, origin=origin))


def erased(memory: Memory, *some: str) -> None:
    door(memory, "user").erase(where={"kind": "turn", "text": {"$in": list(some)}})


@pytest.mark.parametrize("messages", [NAMED, PLACED], ids=["by id", "by place"])
def test_a_conversation_that_is_handed_in_again_does_not_bring_it_back(memory: Memory, messages: list[Any]) -> None:
    memory.ingest(messages, session="s1")
    erased(memory, SAFE, "fridge: open")
    again = memory.ingest([*messages, {"role": "user", "content": "Thanks!"}], session="s1")
    assert [each.outcome for each in again.outcomes] == ["refused", "repeated", "refused", "added"]
    assert again.outcomes[0].because.startswith("message 1: its turn was erased here") and not again
    assert texts(memory) == ["I will remember that.", "Thanks!"]


def test_the_same_sentence_in_a_new_message_is_kept(memory: Memory) -> None:
    memory.ingest(NAMED, session="s1")
    erased(memory, SAFE)
    assert memory.ingest([{**NAMED[0], "id": "m9"}], session="s1").added == 1
    assert memory.ingest(NAMED, session="s2").added == 3, "a session of its own"
    assert memory.remember(SAFE, session="s1", kind="turn", role="user").outcome == "added"


def test_a_turn_with_an_id_is_refused_and_one_without_is_said_anew(memory: Memory) -> None:
    with memory.session("s1") as session:
        session.turn("user", SAFE, id="m1")
        erased(memory, SAFE)
        assert session.turn("user", SAFE, id="m1").outcome == "refused"
        assert session.turn("user", SAFE).outcome == "added"


def test_a_door_that_is_trusted_less_does_not_bring_it_back_nor_take_an_id_away(memory: Memory) -> None:
    memory.ingest(NAMED, session="s1")
    erased(memory, SAFE, "fridge: open")
    for origin in ("agent", "recorded", "web", "tool"):
        outcomes = door(memory, origin).ingest(NAMED, session="s1").outcomes
        assert (outcomes[0].outcome, outcomes[2].outcome) == ("refused", "refused"), origin
    door(memory, "web").ingest([{"id": "m7", "role": "user", "content": "Buy now!"}], session="s1")
    erased(memory, "Buy now!")
    assert memory.ingest([{"id": "m7", "role": "user", "content": "Logs go to Loki."}], session="s1").added == 1


def test_an_import_tells_how_many_were_left_out(memory: Memory, tmp_path: Path) -> None:
    memory.ingest(NAMED, session="s1")
    erased(memory, SAFE, "I will remember that.", "fridge: open")
    lines = [
        {"type": "user", "uuid": id, "sessionId": "s1", "timestamp": AT, "message": {"role": "user", "content": said}}
        for id, said in (("m1", SAFE), ("m8", "Logs go to Loki."))
    ]  # fmt: skip
    file = tmp_path / "s1.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    done = import_files(memory, [file])
    assert done.outcomes["refused"] == 1 and "erased here" in done.problems[0]
    assert texts(memory) == ["Logs go to Loki."]


@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_a_backup_from_before_does_not_bring_it_back(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path / name, project="atlas") as memory:
        memory.ingest(NAMED, session="s1")
        backup = memory.backup(tmp_path / f"before-{name}")
        erased(memory, SAFE)
    restore(tmp_path / name, backup, now_utc())
    with Memory(tmp_path / name, project="atlas") as memory:
        again = memory.ingest(NAMED, session="s1")
        assert [each.outcome for each in again.outcomes] == ["refused", "repeated", "repeated"]


@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_a_backup_from_before_the_message_does_not_bring_it_back(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path / name, project="atlas") as memory:
        memory.remember("Logs go to Loki.")
        backup = memory.backup(tmp_path / f"before-{name}")
        memory.ingest(NAMED, session="s1")
        erased(memory, SAFE)
    restore(tmp_path / name, backup, now_utc())
    with Memory(tmp_path / name, project="atlas") as memory:
        again = memory.ingest(NAMED, session="s1")
        assert [each.outcome for each in again.outcomes] == ["refused", "added", "added"]
        assert all(each.ok for each in memory.doctor() if each.check in ("file", "journal"))


def test_an_id_that_may_tell_what_was_said_goes_with_its_turn(memory: Memory) -> None:
    id = hashlib.sha256(SAFE.encode()).hexdigest()
    memory.ingest([{"id": id, "role": "user", "content": SAFE}], session="s1")
    report = door(memory, "user").erase(where={"text": SAFE})
    assert "handed in again, they are kept again" in str(report.advice)
    assert memory.ingest([{"id": id, "role": "user", "content": SAFE}], session="s1").added == 1


def test_which_ids_may_tell_what_was_said() -> None:
    chance = (uuid4(), "msg_01XFDUDYJgAACzvnptvVoYEL", "m1", f"run--{uuid4()}", "rollout-2026-05-01.jsonl:1042", 7)
    assert not [id for id in chance if may_tell(str(id))]
    md5 = hashlib.md5(SAFE.encode(), usedforsecurity=False).hexdigest()
    assert all(map(may_tell, (SAFE, md5, f"sha256:{'ab' * 32}", str(uuid5(NAMESPACE_URL, SAFE)), "A" * 43 + "=")))
    assert names_message(key_of("session/project/atlas/s1", "m1", place=2)) and not names_message(SAFE)
    assert names_message(key_of("session/project/atlas/s1", None, 4)) and not names_message("batch/4")
