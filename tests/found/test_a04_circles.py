"""A4: an import that closed a circle of `supersedes` ended half done, with an error, or left a circle without a newest member."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.errors import Invalid
from memorist.files.transfer import Imported, import_files

pytestmark = pytest.mark.covers("A4", "A6")


@pytest.fixture
def user(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="user"))


def name(letter: str) -> str:
    return "m" + "0" * 25 + letter


def exported(path: Path, letters: str, pairs: Sequence[str], **of: dict[str, Any]) -> Path:
    """An export of one memory for each letter, in which "ab" means that a supersedes b."""
    records = [
        {
            "id": name(each), "scope": "project/atlas", "kind": "fact", "text": f"Memory {each} says so", "state": "active",
            "pinned": False, "version": 1, **of.get(each, {}),
        }
        for each in letters
    ]  # fmt: skip
    links = [{"link": "supersedes", "a": name(a), "b": name(b)} for a, b in pairs]
    lines = [{"memorist": "export", "version": 2}, *records, *links, {"memorist": "end", "count": len(records + links)}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def superseding(memory: Memory) -> set[str]:
    links = [
        link for record in memory.list() for link in memory.links(record.id)
    ]  # some are flagged as contradicting, too
    found = {(link.a, link.b) for link in links if link.kind == "supersedes"}
    return {letter(a) + letter(b) for a, b in found}


def letter(id: str) -> str:
    return id[-1] if id == name(id[-1]) else "?"


def walks_end(memory: Memory) -> bool:
    pairs = superseding(memory)
    ways = set(pairs)
    for _ in pairs:
        ways |= {one[0] + two[1] for one in ways for two in pairs if one[1] == two[0]}
    return all(way[0] != way[1] for way in ways)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    ("pairs", "kept"),
    [
        (["ab", "ba"], set()),
        (["ab", "bc", "ca"], set()),
        (["ab", "bc", "ca", "cd", "ea"], {"cd", "ea"}),
        (["ab", "bc", "cd", "ac", "ad"], {"ab", "bc", "cd", "ac", "ad"}),
        (["ab", "ab", "bb"], {"ab"}),
    ],
    ids=lambda value: " ".join(sorted(value)),
)
def test_a_circle_is_cut_and_told_and_the_rest_comes_in(
    user: Memory, tmp_path: Path, pairs: list[str], kept: set[str], own: bool
) -> None:
    done = import_files(user, [exported(tmp_path / "x.jsonl", "abcde", pairs)], own=own)
    assert done.outcomes["added"] == 5 and superseding(user) == kept and walks_end(user)
    told = [f"{name(a)} supersedes {name(b)}: " for a, b in pairs if a + b not in kept and a != b]
    assert [problem.partition(": ")[0] + ": " for problem in done.problems] == told
    assert all("closes a circle" in problem for problem in done.problems) and user.audit().ok


def test_a_circle_that_goes_through_what_is_here_is_cut_too(user: Memory, tmp_path: Path) -> None:
    first = import_files(user, [exported(tmp_path / "1.jsonl", "abc", ["ab", "bc"])], own=True)
    assert not first.problems and superseding(user) == {"ab", "bc"}
    here = user.remember("Between the two", kind="fact").record
    assert here is not None
    user.link(name("c"), here.id, "supersedes")
    again: Imported = import_files(user, [exported(tmp_path / "2.jsonl", "abc", ["ab", "ca"])], own=True)
    assert [problem[:27] for problem in again.problems] == [name("c")] and walks_end(user)
    with pytest.raises(Invalid, match="circle"):
        user.link(name("c"), name("a"), "supersedes")


def test_past_texts_of_past_texts_are_refused(user: Memory, tmp_path: Path) -> None:
    past = {"state": "superseded", "superseded_by": name("b")}
    other = {"state": "superseded", "superseded_by": name("a")}
    done = import_files(user, [exported(tmp_path / "x.jsonl", "abc", [], a=past, b=other)], own=True)
    assert done.outcomes == {"added": 1, "refused": 2} and "past text of a past text" in done.problems[0]
    assert user.audit().ok and all(finding.ok for finding in user.doctor())


@pytest.mark.parametrize("wrong", [["x"], 7, "../x", {}], ids=str)
def test_a_past_text_names_the_id_of_a_memory(user: Memory, tmp_path: Path, wrong: Any) -> None:
    file = exported(tmp_path / "x.jsonl", "a", [], a={"state": "superseded", "superseded_by": wrong})
    done = import_files(user, [file], own=True)
    assert done.outcomes == {"refused": 1} and "cannot be read" in done.problems[0]
