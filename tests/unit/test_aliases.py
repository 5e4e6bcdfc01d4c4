"""Other words for a word: kept by whoever may write, heard of by whoever may read, suggested and never just assumed."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.access import access_for
from memorist.design import Due, Promotion
from memorist.designs import CURATED
from memorist.errors import Invalid, MemoristError, OutOfScope, StoreDamaged
from memorist.remember.choices import MOST_MEANINGS, MOST_WORDS
from memorist.remember.consent import Pending
from memorist.store.choices import Choices, choose, chosen
from memorist.store.nouns import Commit
from memorist.testing import MovableClock
from memorist.upkeep.suggest import SuggestAliases

QUIET = replace(CURATED, upkeep=(SuggestAliases(),), promotion=Promotion("manual"), due=Due())


@pytest.fixture
def memory(place: Path | str, clock: MovableClock) -> Iterator[Memory]:
    with Memory(place, project="atlas", design=QUIET, clock=clock, embed="none") as memory:
        yield memory


def as_user(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="user"))


def asked(memory: Memory) -> list[Pending]:
    found = memory.review()
    assert isinstance(found, list)
    return found


# ---------------------------------------------------------------- keeping them


@pytest.mark.covers("S3-13", "X2")
def test_an_alias_is_kept_and_finds_both_ways_until_it_is_removed(memory: Memory) -> None:
    memory.remember("Kubernetes runs in Frankfurt")
    memory.remember("The k8s upgrade is on Monday")
    assert [hit.record.number for hit in memory.recall("k8s")] == [2]
    done = memory.alias("K8s", "Kubernetes", "container  cluster")
    assert (done.outcome, done.because) == ("changed", "in project/atlas, k8s also means kubernetes, container cluster")
    assert memory.aliases()["k8s"] == ("kubernetes", "container cluster")
    assert [hit.record.number for hit in memory.recall("k8s")] == [2, 1]
    assert [hit.record.number for hit in memory.recall("kubernetes")] == [1, 2]
    assert memory.alias("k8s", "kubernetes").outcome == "unchanged"
    memory.alias("k8s", "kubernetes", remove=True)
    assert memory.aliases()["k8s"] == ("container cluster",)
    memory.alias("k8s", remove=True)
    assert "k8s" not in memory.aliases()
    assert [hit.record.number for hit in memory.recall("k8s")] == [2]


@pytest.mark.covers("S3-13")
def test_a_usual_alias_can_be_replaced_and_switched_off(memory: Memory) -> None:
    memory.remember("Login is by mail")
    assert memory.recall("auth")
    memory.alias("auth", remove=True)
    assert not memory.recall("auth") and "auth" not in memory.aliases()
    memory.alias("auth", "mail")
    assert memory.recall("auth") and memory.aliases()["auth"] == ("mail",)


def test_aliases_are_there_when_the_store_is_opened_again(tmp_path: Path) -> None:
    for name in ("memory.db", "memory.json"):
        with Memory(tmp_path / name, project="atlas") as memory:
            memory.alias("k8s", "kubernetes")
        with Memory(tmp_path / name, project="atlas") as memory:
            assert memory.aliases()["k8s"] == ("kubernetes",)


def test_a_project_has_its_own_and_hears_of_no_others(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas", design=QUIET) as memory:
        memory.alias("falcon", "kubernetes")
    with Memory(tmp_path / "memory.db", project="atlas-2", design=QUIET) as memory:
        memory.remember("Kubernetes runs in Frankfurt")
        assert "falcon" not in memory.aliases()
        assert not memory.recall("falcon")


def test_who_may_only_read_changes_none(memory: Memory) -> None:
    reader = memory.through(replace(access_for("reader", memory.home), space=memory.space))
    with pytest.raises(OutOfScope):
        reader.alias("k8s", "kubernetes")
    assert "k8s" not in memory.aliases()


@pytest.mark.parametrize(
    ("word", "means", "words"),
    [
        ("k8s", (), "no other word was given"),
        ("", ("x",), "a word is empty"),
        ("k8s", ("",), "a word is empty"),
        ("k8s", ("K8S",), "already means itself"),
        ("...", ("kubernetes",), "holds no searchable word"),
        ("k" * 65, ("kubernetes",), "64 are allowed"),
        (7, ("kubernetes",), "must be text"),
        ("k8s", (None,), "must be text"),
        ("ghp_" + "a1B2" * 9, ("token",), "holds a secret"),
        ("token", ("ghp_" + "a1B2" * 9,), "holds a secret"),
    ],
)
def test_what_cannot_be_an_alias_is_refused_with_the_reason(
    memory: Memory, word: str, means: tuple[str, ...], words: str
) -> None:
    with pytest.raises(Invalid, match=words):
        memory.alias(word, *means)
    assert memory._choices() == Choices()


def test_there_are_not_more_than_can_be_read(memory: Memory) -> None:
    memory.alias("k8s", *(f"word{n}" for n in range(MOST_MEANINGS)))
    with pytest.raises(Invalid, match="remove some first"):
        memory.alias("k8s", "one more")
    store, where = memory._tools.store, (memory.space, memory.home)
    with store.transaction():
        choose(store, *where, Choices({f"word{n}": ("x",) for n in range(MOST_WORDS)}))
    with pytest.raises(Invalid, match="remove some first"):
        memory.alias("k8s", "kubernetes")


def test_erasing_takes_away_words_that_only_the_erased_held(memory: Memory) -> None:
    memory.remember("Operation Nightjar begins in May")
    memory.alias("bird", "nightjar")
    memory.alias("k8s", "kubernetes")
    report = memory.erase(1)
    assert "interrupted" not in (report.advice or "") and memory.doctor()[0].ok
    assert set(memory._choices().aliases) == {"k8s"}
    path = memory._tools.store.path
    if path is not None:
        memory.close()
        assert not [f for f in path.parent.iterdir() if f.is_file() and b"nightjar" in f.read_bytes().lower()]


def test_what_somebody_spoilt_is_named(memory: Memory) -> None:
    store = memory._tools.store
    with store.transaction():
        store.write(Commit(settings={'choices ["default","project/atlas"]': "{not json"}))
    with pytest.raises(StoreDamaged, match="cannot be read"):
        chosen(store, memory.space, memory.home)
    assert memory.context("anything").empty_because  # a prompt does not fail because of it


# ---------------------------------------------------------------- suggesting them


def test_what_brackets_say_is_suggested_and_holds_once_a_person_accepts(memory: Memory) -> None:
    memory.remember("We use continuous integration (CI) on every branch")
    memory.remember("The CI runner has two cores")
    [plan] = memory.upkeep(dry_run=True)
    assert plan.advice == "in project/atlas, let 'ci' also find 'continuous integration'" and asked(memory) == []
    [report] = memory.upkeep()
    assert (report.verb, report.changed) == ("suggest_aliases", ())
    [question] = asked(memory)
    assert question.verb == "alias" and "ci" not in memory.aliases()
    with pytest.raises(MemoristError, match="only a person approves"):
        memory.review(question.id, decide="approve")
    as_user(memory).review(question.id, decide="approve")
    assert memory.aliases()["ci"] == ("continuous integration",)
    memory.upkeep()
    assert asked(memory) == []


def test_a_suggestion_that_was_declined_does_not_come_again(memory: Memory) -> None:
    memory.remember("We use continuous integration (CI) on every branch")
    memory.upkeep()
    [question] = asked(memory)
    memory.review(question.id, decide="deny")
    for _ in range(3):
        memory.upkeep()
    assert asked(memory) == [] and "ci" not in memory.aliases()


def test_parts_of_names_are_suggested_when_they_stand_together_twice(memory: Memory) -> None:
    memory.remember("load_cfg reads the config folder")
    memory.upkeep()
    assert asked(memory) == []
    memory.remember("cfg_path names where config is; the cat sat")
    memory.upkeep()
    assert [question.summary for question in asked(memory)] == ["in project/atlas, let 'cfg' also find 'config'"]


def test_words_that_people_ask_with_are_suggested_for_what_helped_them(memory: Memory) -> None:
    memory.remember("Deploys go through the blue gate", tags=["release"])
    for _ in range(2):
        found = memory.recall("how do deploys and rollouts go?")
        memory.feedback(found[0].record.id, "useful")
    memory._writer.flush()
    memory.upkeep()
    assert "in project/atlas, let 'rollouts' also find 'release'" in [each.summary for each in asked(memory)]


@pytest.mark.parametrize(
    "said", ["A list (see below) of things", "f(x) is pure", "the cat (A)", "(CI) alone", "( ) (("]
)
def test_other_brackets_say_nothing(memory: Memory, said: str) -> None:
    memory.remember(said)
    memory.upkeep()
    assert asked(memory) == []


@pytest.mark.covers("S3-13")
def test_a_word_of_an_erased_text_goes_also_where_no_memory_is(memory: Memory) -> None:
    """The text lay in global, the alias in a project that holds nothing else."""
    memory.remember("The zanzibarium door is blue", scope="global")
    memory.alias("zanzi", "zanzibarium")
    memory.alias("lab", "laboratory")
    memory.erase(1)
    assert "zanzi" not in memory.aliases() and memory.aliases()["lab"] == ("laboratory",)
