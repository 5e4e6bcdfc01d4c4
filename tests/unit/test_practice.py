"""What is done again and again is put to a person as a procedure, and only a person makes it one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from memorist import Memory
from memorist.access import access_for
from memorist.errors import Refused
from memorist.records import Record
from memorist.upkeep.practice import TIMES_DONE, DoneBefore, kind_of, recurring

RELEASE = ("pytest -q", "git tag v1.{}", "git push origin v1.{}")


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", embed="none") as opened:
        yield opened.through(replace(opened.access, origin="user", actor="ann"))


def released(memory: Memory, times: int, first: int = 0, commands: tuple[str, ...] = RELEASE) -> None:
    for n in range(first, first + times):
        session = memory.session(f"s{n}")
        session.turn("user", f"Please release version 1.{n}")
        session.tool_call("read", {"file": f"notes-{n}.md"})
        for command in commands:
            session.tool_call("bash", {"command": command.format(n)})
            session.tool_result(None, "ok")
        session.tool_call(f"tool-{n}", {"query": str(n)})
        session.leave()


def procedures(memory: Memory) -> list[Record]:
    return memory.list({"kind": "procedure"})


@pytest.mark.covers("C1-3", "S4-12")
def test_the_same_in_three_sessions_is_put_to_a_person_and_confirmed(memory: Memory) -> None:
    released(memory, TIMES_DONE - 1)
    memory.upkeep(deep=True)
    assert memory.review() == [], "twice is no habit"
    released(memory, 1, TIMES_DONE - 1)
    memory.upkeep(deep=True)
    [asked] = memory.review()
    assert "3 sessions" in asked.summary and "Please release version 1.2" in asked.summary
    assert procedures(memory) == [], "nobody confirmed it"
    agent = memory.through(access_for("project", memory.project.scope, origin="agent"))
    with pytest.raises(Refused, match="only a person"):
        agent.review(asked.id, decide="approve")
    memory.review(asked.id, decide="approve")
    [made] = procedures(memory)
    assert made.data["steps"] == ["read", 'bash({"command": "pytest -q"})', "bash: git tag", "bash: git push"]
    assert (made.origin, made.status, made.scope) == ("user", "confirmed", memory.project.scope)
    assert "1. read\n  2. bash" in memory.context("how do I release a version?").text
    released(memory, 2, 7)
    memory.upkeep(deep=True)
    assert memory.review() == [], "and nobody is asked again"


@pytest.mark.covers("C1-3")
def test_who_denies_it_is_not_asked_again_and_nothing_is_kept(memory: Memory) -> None:
    released(memory, 4)
    memory.upkeep(deep=True)
    [asked] = memory.review()
    memory.review(asked.id, decide="deny")
    memory.upkeep(deep=True)
    assert memory.review() == [] and procedures(memory) == []


def test_what_the_web_said_is_no_habit_and_what_is_erased_is_in_no_question(memory: Memory) -> None:
    page = memory.through(access_for("project", memory.project.scope, origin="web"))
    released(page, 5)
    memory.upkeep(deep=True)
    assert memory.review() == []
    released(memory, 3, 10)
    memory.upkeep(deep=True)
    assert len(memory.review()) == 1
    said = memory.list({"kind": "turn", "session": "s12"}, order="-number")[0]
    memory.erase(said.id)
    assert memory.review() == []


def test_another_order_other_users_and_two_steps_over_and_over_are_none(memory: Memory) -> None:
    for n, commands in enumerate((RELEASE, RELEASE[::-1], (RELEASE[1], RELEASE[0], RELEASE[2]))):
        released(memory, 1, n, commands)
    released(memory, 3, 10, ("make", "make test", "make", "make test"))
    for n, user in enumerate(("ann", "bob", "cem")):
        session = memory.session(f"u{n}", user=user)
        for command in RELEASE:
            session.tool_call("bash", {"command": command})
        session.leave()
    memory.upkeep(deep=True)
    assert [each.summary for each in memory.review() if "git" in each.summary] == []


@pytest.mark.parametrize(("call", "kind"), [
    ({"name": "bash", "input": {"command": 'git commit -m "x"'}}, "bash: git commit"),
    ({"name": "bash", "input": {"command": "FOO=1 pytest -q tests/x.py"}}, "bash: pytest"),
    ({"name": "bash", "input": {"command": "echo 'open"}}, "bash: echo"),
    ({"name": "bash", "input": {"command": ""}}, "bash"),
    ({"name": "read", "input": {"file": "a.py"}}, "read"),
    ({"name": "read"}, "read"),
    ({"name": "sh", "input": "make test\nmake more"}, "sh: make test"),
    ({"name": "x", "input": {"command": ["ls", "-l"]}}, "x"),
])  # fmt: skip
def test_what_kind_of_thing_a_call_does(call: dict[str, Any], kind: str) -> None:
    assert kind_of(call) == kind


def test_the_longest_sequence_stands_for_its_parts() -> None:
    def done(kinds: str) -> list[DoneBefore]:
        return [DoneBefore(kind, kind, "", ()) for kind in kinds]

    found = recurring([done("abcde"), done("xabcde"), done("abcdez"), done("bcdq"), done("qqbcd")])
    assert [[each.kind for each in times[0]] for times in found] == [list("abcde")]
    assert recurring([done("ababab")] * 9) == [] == recurring([done("abc")] * 2)
