"""Memories have one model, turns and documents another: each is asked where it has something to say, and moves by itself."""

import copy
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.kinds import ARCHIVE, DOCUMENTS, LAYERS, MEMORY, TURNS
from memorist.models.embed import Choice, Embedder, chosen
from memorist.store.meaning import Meaning
from memorist.store.nouns import Shelf
from memorist.store.where import Where
from memorist.store.writer import Writer
from memorist.testing import HashEmbedder
from memorist.upkeep import embed as job

A, B, C = (HashEmbedder(name, size, on_files=True) for name, size in (("a", 32), ("b", 48), ("c", 16)))
SLOW = HashEmbedder("slow", 16, cheap=False, on_files=True)
NOTES, TALK = (MEMORY,), (TURNS, DOCUMENTS, ARCHIVE)
NESTS = [f"Nest {n} lies in tree {n * 7} with {n % 5} eggs" for n in range(20)]
SAID = [{"role": "user", "content": f"I saw heron {n} at weir {n * 3}"} for n in range(12)]


def using(memory: Memory, embed: Choice | Embedder, turns: Choice | Embedder | None = None) -> Memory:
    """The same store as another process sees it, which has these models."""
    first, second = (each if isinstance(each, Choice) or each is None else chosen(each) for each in (embed, turns))
    assert first is not None
    other = copy.copy(memory)
    other._tools = replace(memory._tools, meaning=Meaning(memory._tools.store, first, turns=second))
    other._writer = Writer(memory._tools.store, memory._tools.clock, other._tools.meaning)
    return other


def unasked(embed: Embedder | str) -> Choice:
    return chosen(embed, asked=False)


def generations(memory: Memory) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {each.model: (each.state, each.layers) for each in memory._tools.store.generations()}


def waiting(memory: Memory) -> list[int]:
    store = memory._tools.store
    return [piece.row for each in store.generations() for piece in store.unembedded(each.id)]


def embedded(memory: Memory, **arguments: Any) -> Any:
    return next((report for report in memory.upkeep(**arguments) if report.verb == "embed"), None)


def vectors(memory: Memory) -> dict[str, int]:
    """How many vectors of each model lie in the store, whether they are read or not."""
    with memory._tools.store._connections as one:  # type: ignore[attr-defined]
        sql = "SELECT g.model, sum(v.count) FROM vectors v JOIN generations g ON g.id = v.generation GROUP BY 1"
        return {model: count for model, count in one.execute(sql) if count}


# ---------------------------------------------------------------- writing and asking


def test_each_layer_has_the_vectors_of_its_own_model(memory: Memory) -> None:
    one = using(memory, A, B)
    one.remember_many(NESTS)
    one.remember(SAID, session="s")
    one.remember("The weir of the heron", kind="document")
    assert generations(one) == {B.name: ("current", TALK), A.name: ("current", NOTES)}
    assert vectors(one) == {A.name: 20, B.name: 13} and waiting(one) == []
    assert embedded(one) is None and one.status()["rows_waiting"] == 0
    hits = one.recall("heron weir 6", search="sessions")
    assert hits[0].text == "I saw heron 2 at weir 6" and any(signal.name == "meaning" for signal in hits[0].signals)
    assert one.recall(NESTS[7])[0].text == NESTS[7]
    assert {hit.kind for hit in one.recall("the heron at the weir", search="all", min_relevance=0, limit=40)} >= {
        "turn",
        "document",
    }


def test_a_store_knows_both_models_from_its_first_write_on(memory: Memory) -> None:
    """Else what another process wrote first would decide for layers that hold nothing yet."""
    using(memory, A, B).remember("The heron nests at the weir")
    assert generations(memory) == {B.name: ("current", TALK), A.name: ("current", NOTES)}
    using(memory, unasked(C), unasked(C)).remember(SAID, session="s")
    assert set(generations(memory)) == {A.name, B.name}


@pytest.mark.parametrize(
    ("search", "asked"), [("memory", (1, 0)), ("sources", (0, 1)), ("sessions", (0, 1)), ("archive", (0, 1)), ("all", (1, 1))]
)  # fmt: skip
def test_a_question_is_embedded_once_for_each_model_it_reads(
    search: str, asked: tuple[int, int], memory: Memory
) -> None:
    notes, talk = HashEmbedder("n", on_files=True), HashEmbedder("t", on_files=True)
    one = using(memory, notes, talk)
    one.remember_many(NESTS)
    one.remember(SAID, session="s")
    notes.calls = talk.calls = 0
    one.recall("the heron at the weir", search=search, min_relevance=0)
    assert (notes.calls, talk.calls) == asked


def test_two_generations_of_one_model_cost_one_vector(memory: Memory) -> None:
    using(memory, A, B).remember_many(NESTS)
    same = HashEmbedder("a", on_files=True)
    one = using(memory, same)
    embedded(one)
    assert [each.layers for each in memory._tools.store.generations()] == [NOTES, TALK]
    same.calls = 0
    read, _ = one._tools.meaning.in_time("the heron at the weir")
    assert (len(read), same.calls) == (2, 1)


def test_what_is_forgotten_and_comes_back_has_the_vectors_of_where_it_lies(memory: Memory) -> None:
    one = using(memory, A, B)
    one.remember_many(NESTS)
    one.remember(SAID, session="s")

    def found(layer: str) -> int:
        [(generation, vector)] = one._tools.meaning.in_time(NESTS[6], layers=[layer])[0]
        shelf = Shelf(one.access.space, one.project.scope, layer)
        near = one._tools.store.nearest(generation.id, vector, [shelf], Where(one.access), 1)
        return near.hits[0][0] if near.hits and near.hits[0][1] > 0.98 else 0

    assert (found("memory"), found("archive")) == (7, 0)
    one.forget(7)
    assert (found("memory"), found("archive"), waiting(one), vectors(one)) == (0, 7, [], {A.name: 19, B.name: 13})
    one.restore(7)
    assert (found("memory"), found("archive"), waiting(one), vectors(one)) == (7, 0, [], {A.name: 20, B.name: 12})
    one.forget(7)
    one.undo()
    assert (found("memory"), found("archive"), waiting(one)) == (7, 0, [])
    one.forget(25)  # a turn
    assert (waiting(one), vectors(one)) == ([], {A.name: 20, B.name: 12}), "it took its own along"
    one.revise(7, "Nest 6 fell down")
    assert (found("memory"), waiting(one), vectors(one)) == (0, [], {A.name: 20, B.name: 13})
    assert found("archive"), "the old text"


@pytest.mark.covers("G1")
def test_what_is_erased_leaves_no_vector_of_any_model(memory: Memory) -> None:
    using(memory, A).remember_many(NESTS)
    using(memory, A).remember(SAID, session="s")
    one = using(memory, B, A)
    with memory._tools.store.transaction():
        one._writer.generations.ours(upkeep=True)
    one.forget(3)
    for number in (1, 2, 3, 25):
        one.erase(number)
    embedded(one)
    assert vectors(memory) == {B.name: 17, A.name: 11} and waiting(memory) == []
    assert [finding for finding in one.doctor() if not finding.ok] == []


# ---------------------------------------------------------------- moving


def test_one_model_for_all_takes_the_place_of_two_and_two_that_of_one(memory: Memory) -> None:
    using(memory, A, B).remember_many(NESTS)
    using(memory, A, B).remember(SAID, session="s")
    embedded(using(memory, C))
    assert generations(memory) == {C.name: ("current", LAYERS)} and vectors(memory) == {C.name: 32}
    embedded(using(memory, A, B))
    assert set(generations(memory)) == {C.name}, "never back"
    embedded(using(memory, A, B), switch=True)
    assert generations(memory) == {B.name: ("current", TALK), A.name: ("current", NOTES)}
    assert vectors(memory) == {A.name: 20, B.name: 12} and waiting(memory) == []
    embedded(using(memory, A, chosen("none")))
    assert generations(memory) == {A.name: ("current", NOTES)} and vectors(memory) == {A.name: 20}
    embedded(using(memory, unasked(A), unasked(B)))
    assert set(generations(memory)) == {A.name}, "turns are to have none"


def test_a_move_of_one_layer_does_not_break_off_that_of_another(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    using(memory, A).remember_many(NESTS)
    using(memory, A).remember(SAID, session="s")
    with monkeypatch.context() as patch:
        patch.setattr(job, "EMBEDDED_AT_ONCE", 5)
        embedded(using(memory, B, A), seconds=1e-6)
        embedded(using(memory, unasked(A), C), seconds=1e-6)
    assert generations(memory) == {
        A.name: ("current", LAYERS), B.name: ("filling", NOTES), C.name: ("filling", TALK)
    }  # fmt: skip
    embedded(using(memory, B, C))
    assert generations(memory) == {B.name: ("current", NOTES), C.name: ("current", TALK)} and waiting(memory) == []


MODELS = {each.name: each for each in (A, B, C)}
PROCESSES = st.tuples(
    st.sampled_from([*MODELS, "none"]), st.booleans(), st.sampled_from([*MODELS, "none"]), st.booleans()
)


@settings(max_examples=rounds(400), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(PROCESSES, st.booleans()), max_size=12))
def test_no_layer_comes_back_to_a_model_that_it_has_left(steps: list[tuple[tuple[str, bool, str, bool], bool]]) -> None:
    """Whatever processes with whatever settings write and look after the store in whatever order."""
    with Memory(":memory:") as memory:
        had: dict[str, list[str]] = {layer: [] for layer in LAYERS}
        using(memory, chosen("none")).remember("The heron nests at the weir")
        for (notes, named, talk, talk_named), cares in steps:
            one, two = (
                chosen(MODELS.get(name, name), asked=asked) for name, asked in ((notes, named), (talk, talk_named))
            )
            one_process = using(memory, one, two)
            one_process.remember(f"Nest {len(had[MEMORY])} of {notes}")
            one_process.remember([{"role": "user", "content": f"I saw {talk}"}], session="s")
            if cares:
                one_process.upkeep()
            living = one_process._tools.meaning.living()
            for layer, models_had in had.items():
                serving = [each.model for each in living if layer in each.layers and each.state == "current"]
                assert len(serving) <= 1
                if serving and models_had[-1:] != serving:
                    models_had += serving
        assert all(len(set(models_had)) == len(models_had) for models_had in had.values()), had


# ---------------------------------------------------------------- a model that was named and does not answer yet


def test_an_answer_says_that_the_named_model_does_not_answer_yet(memory: Memory) -> None:
    using(memory, A).remember_many(NESTS)
    one = using(memory, SLOW)
    [note] = one.recall("nest tree").notes
    assert "vectors of hash-slow-16@test are made by `memorist upkeep`: 20 rows wait; until then words alone" in note
    assert note in str([step.note for step in one.recall("nest tree").trace])
    embedded(one)
    assert one.recall("nest tree").notes == ()
    one.remember("The stork nests on the roof")
    [note] = one.recall("nest tree").notes
    assert "1 row waits" in note
    assert one.recall("nest tree", search="sessions").notes == (), "it has nothing to do with turns"
    [note] = using(memory, A).recall("nest tree").notes
    assert "--switch" in note
    [note] = using(memory, unasked(A)).recall("nest tree").notes
    assert "--switch" in note, "nobody named it, and yet it cannot read the vectors that are here"


def test_an_answer_says_that_the_vectors_of_an_earlier_version_are_not_read(tmp_path: Path) -> None:
    old = HashEmbedder("a", 256, on_files=True)
    old.name = "layered-256@0123456789abcdef"
    with Memory(tmp_path / "memory.db", embed=old) as memory:
        memory.remember_many(NESTS)
    with Memory(tmp_path / "memory.db") as memory:
        [note] = memory.recall("nest tree").notes
        assert "20 rows wait; until then words alone find them" in note
        while memory._tools.meaning.waiting(1):
            memory.upkeep()
        assert memory.recall("nest tree").notes == ()


def test_it_says_which_model_answers_meanwhile(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embed="static") as memory:
        memory.remember_many([f"{text} and {n}" for n, text in itertools.product(range(6), NESTS)])
    with Memory(tmp_path / "memory.db", embed=SLOW) as memory:
        [note] = memory.recall("nest tree").notes
        assert "over 100 rows wait; until then static-256" in note


def test_it_says_that_a_named_model_cannot_be_used(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embed=f"onnx:{tmp_path}/nowhere") as memory:
        memory.remember("The heron nests at the weir")
        [note] = memory.recall("heron").notes
        assert "nowhere" in note and "is not used" in note


def test_a_model_on_this_machine_embeds_a_note_right_after_its_write(memory: Memory) -> None:
    near = HashEmbedder("near", cheap=False, on_files=True)
    one = using(memory, replace(chosen(near), local=True))
    one.remember("The heron nests at the weir")
    assert generations(one) == {near.name: ("current", LAYERS)} and waiting(one) == []
    one.revise(1, "The stork nests on the roof")
    assert waiting(one) == [] and one.recall("stork").notes == ()
    one.remember_many(NESTS)
    assert len(waiting(one)) == 20, "many wait for upkeep"
    [part] = one._tools.meaning.models
    part.pace = 1.0
    one.remember("The crane is slow")
    assert len(waiting(one)) == 21, "and so do those of a model that takes its time"


def test_the_command_line_says_it_aside(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    from memorist.surfaces.cli.app import run

    with Memory(tmp_path / "memory.db", embed="static") as memory:
        memory.remember("The heron nests at the weir")
    monkeypatch.setenv("MEMORIST_EMBED", "layered")
    assert run(["recall", "heron", "--db", str(tmp_path / "memory.db")]) == 0
    out, err = capfd.readouterr()
    assert "heron" in out and "upkeep" not in out and "1 row waits; until then static-256" in err.replace("\n  ", " ")
