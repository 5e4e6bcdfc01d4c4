"""E9: a key that stands twice in an import, and the search for aliases, took time that grew with the square of the input."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from conftest import in_ram
from growing import grows_too_fast
from memorist import Memory
from memorist.files import jsonl
from memorist.files.streams import Damaged
from memorist.surfaces import wire
from memorist.upkeep.suggest import SuggestAliases


@pytest.mark.covers("E9")
@pytest.mark.parametrize("parse", [jsonl.parsed, partial(wire.parsed, what="the body")], ids=["import", "server"])
def test_a_key_that_stands_twice_is_found_in_one_pass(parse: Callable[[bytes], object]) -> None:
    """319 kB took 11 s on 0.1.0."""

    def read(keys: int) -> None:
        line = "{" + ",".join(f'"{number}":1' for number in range(keys)) + f', "{keys - 1}":1}}\n'
        with pytest.raises((Damaged, wire.TurnedAway), match=f"has the key '{keys - 1}' twice"):
            parse(line.encode())

    assert grows_too_fast(read, 20_000) is None


@pytest.mark.covers("E9")
def test_of_several_keys_that_stand_twice_the_first_is_named() -> None:
    with pytest.raises(Damaged, match="has the key 'a' twice"):
        jsonl.parsed(b'{"a": 1, "b": 1, "b": 2, "a": 2}\n')


def crammed(length: int) -> str:
    """Words that may all stand for one another: short ones of consonants, and long ones with the same letters."""
    pick = random.Random(1)
    sizes = pick.choices([2, 3, 8, 9], k=length // 6)
    return " ".join("b" + "".join(pick.choices("cdfghklmnprst", k=size)) for size in sizes)[:length]


@pytest.mark.covers("E9")
@pytest.mark.parametrize(
    "make", [crammed, "a".__mul__, lambda length: ("a-" * length)[:length]], ids=["words", "a", "a-"]
)
def test_aliases_are_looked_for_in_one_pass(make: object) -> None:
    """One memory of 60 kB took 12 s on 0.1.0."""

    def propose(length: int) -> None:
        with Memory(":memory:", project="a", embed="none") as memory:
            memory.remember(make(length))  # type: ignore[operator]
            SuggestAliases().propose(memory.access, memory._tools)

    assert grows_too_fast(propose, 30_000) is None


@pytest.mark.covers("E9")
@in_ram
def test_the_search_for_aliases_ends_when_time_is_up(memory: Memory) -> None:
    memory.design = replace(memory.design, upkeep=(SuggestAliases(),))
    for number in range(2):
        memory.remember(f"{number} {crammed(100_000)}")
    started = time.perf_counter()
    memory.upkeep(seconds=0.01, dry_run=True)
    assert time.perf_counter() - started < 5, "it looks at the clock between steps"


@pytest.mark.covers("E9")
def test_what_a_short_memory_says_is_found_as_before(memory: Memory) -> None:
    memory.remember("The cfg is read by the config loader")
    memory.remember("A wrong cfg stops the config loader")
    memory.remember("We use continuous integration (CI) for the mirror")
    asked = {ask.summary for ask in SuggestAliases().propose(memory.access, memory._tools).asks}
    assert any("'ci'" in said and "continuous integration" in said for said in asked)
    assert any("'cfg'" in said and "'config'" in said for said in asked)
