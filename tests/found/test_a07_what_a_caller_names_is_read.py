"""A7: `recall(user=…)`, `session=` and `task=` are read under every design, or refused; 0.1.0 ignored some of them silently."""

import pytest

from memorist import Memory
from memorist.access import Access
from memorist.designs import DESIGNS
from memorist.errors import OutOfScope

pytestmark = pytest.mark.covers("A7")
NAMED = {"user": "user/ann", "session": "session/ann", "task": "task/ann"}


@pytest.fixture(params=DESIGNS)
def memory(request: pytest.FixtureRequest) -> Memory:
    return Memory(":memory:", project="atlas", design=request.param, embed="none")


@pytest.mark.parametrize("name", NAMED)
def test_what_a_caller_names_is_read_whatever_the_design(memory: Memory, name: str) -> None:
    memory.remember("The heron nests at the weir", scope=NAMED[name])
    asked = {name: "ann"}
    assert "heron" in str(memory.context("where does the heron nest?", inject="push", **asked))  # type: ignore[arg-type]
    assert memory.recall("where does the heron nest?").hits == ()
    if name != "task":
        answer = memory.recall("where does the heron nest?", **asked)  # type: ignore[arg-type]
        assert [hit.record.scope for hit in answer] == [NAMED[name]] and NAMED[name] in answer.scopes


@pytest.mark.parametrize("name", NAMED)
def test_what_a_caller_may_not_read_is_refused_and_not_left_out(memory: Memory, name: str) -> None:
    narrow = memory.through(Access(reads=("project/atlas",)))
    with pytest.raises(OutOfScope, match=NAMED[name]):
        narrow.context("where does the heron nest?", **{name: "ann"})  # type: ignore[arg-type]
    if name != "task":
        with pytest.raises(OutOfScope, match=NAMED[name]):
            narrow.recall("where does the heron nest?", **{name: "ann"})  # type: ignore[arg-type]
