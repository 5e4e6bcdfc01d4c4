"""A session whose process is killed: every turn that was acknowledged is there, and the next start ends it."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from conftest import rounds
from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.records import now_utc

if os.name == "nt":
    pytest.skip("Windows has no SIGKILL", allow_module_level=True)

TALK = """
import sys
from memorist import Memory
session = Memory(sys.argv[1], project="atlas", embed="none").session("s1", agent="a")
for number in range(1_000_000):
    session.turn("user", f"We decided to take road {number} to the lake because it is shorter.")
    print(number, flush=True)
"""


ENDS = """
import sys
from memorist import Memory
def talk():
    session = Memory(sys.argv[1], project="atlas", embed="none").session("s1")
    session.turn("user", "We decided to take the road to the lake because it is shorter.")
    return session
left = talk()
if sys.argv[2] == "forked":
    import os
    if os.fork() == 0:
        sys.exit()  # what is the parent's stays open
    os.wait()
    assert left.record.data["state"] == "open"
    left.turn("user", "On we go.")
sys.exit(int(sys.argv[2] == "failed"))
"""


@pytest.mark.covers("S3-3")
@pytest.mark.parametrize("how", ["well", "failed", "forked"])
def test_a_program_that_ends_closes_its_session_in_a_hurry(tmp_path: Path, how: str) -> None:
    path = tmp_path / "memory.db"
    done = subprocess.run([sys.executable, "-c", ENDS, str(path), how], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (how == "failed", "")
    with Memory(path, project="atlas", embed="none") as memory:
        assert [record.data["state"] for record in memory.sessions()] == ["closing"]
        assert memory.count({"scope": "session/s1", "kind": "decision"}) == 1
        with memory.session("s1", busy="drop") as session:
            assert len(session.turns()) == (2 if how == "forked" else 1)
        assert memory.audit().ok


@pytest.mark.covers("N2-4")
def test_a_killed_writer_keeps_nobody_waiting(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with subprocess.Popen([sys.executable, "-c", TALK, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with Memory(path, project="atlas", embed="none") as memory, pytest.raises(StoreUnavailable):
            memory.ingest([{"role": "user", "content": "Hello"}], session="s1", busy="drop")  # it lives
        process.send_signal(signal.SIGKILL)
    with Memory(path, project="atlas", embed="none") as memory:
        assert memory.ingest([{"role": "user", "content": "Hello"}], session="s1", busy="drop").added == 1


@pytest.mark.covers("S3-3", "N2-4")
@pytest.mark.parametrize("acknowledged", [(7 * n) % 40 for n in range(rounds(50))])
def test_a_killed_session_keeps_every_turn_and_is_ended_later(tmp_path: Path, acknowledged: int) -> None:
    path = tmp_path / "memory.db"
    with subprocess.Popen([sys.executable, "-c", TALK, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= acknowledged:
                process.send_signal(signal.SIGKILL)
                break
        said = acknowledged + 1 + len(process.stdout.readlines())
    with Memory(path, project="atlas", embed="none", clock=lambda: now_utc() + timedelta(minutes=16)) as memory:
        turns = memory.list({"session": "s1", "kind": "turn"}, order="-number", limit=10_000)
        assert said <= len(turns) <= said + 1  # one may be stored and not yet told
        assert [turn.text.split()[5] for turn in turns] == [str(number) for number in range(len(turns))]
        with memory.session("s2"):
            assert [record.title for record in memory.sessions(state="closed")] == ["s1"]
        assert memory.audit().ok
