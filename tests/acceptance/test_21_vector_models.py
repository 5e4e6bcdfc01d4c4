"""Another model for vectors: nothing is lost, nothing is compared across models, and nobody takes turns."""

import copy
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.models.embed import Embedder, chosen
from memorist.records import now_utc
from memorist.store.meaning import Meaning
from memorist.store.nouns import Generation, Shelf
from memorist.store.where import Where
from memorist.store.writer import Writer
from memorist.testing import HashEmbedder, MovableClock
from memorist.upkeep import embed as job

A, B, SLOW = (
    HashEmbedder("a", on_files=True),
    HashEmbedder("b", 48, on_files=True),
    HashEmbedder("slow", 16, cheap=False, on_files=True),
)
SHELF = Shelf("default", "project/atlas", "memory")
NESTS = [f"Nest {n} lies in tree {n * 7} with {n % 5} eggs" for n in range(30)]


def using(memory: Memory, embed: Embedder | str, asked: bool = True) -> Memory:
    """The same store as another process sees it, which has that embedder."""
    other = copy.copy(memory)
    other._tools = replace(memory._tools, meaning=Meaning(memory._tools.store, chosen(embed, asked=asked)))
    other._writer = Writer(memory._tools.store, memory._tools.clock, other._tools.meaning)
    return other


def generations(memory: Memory) -> dict[str, str]:
    return {each.model: each.state for each in memory._tools.store.generations()}


def generation(memory: Memory, embedder: Embedder) -> Generation:
    [found] = [each for each in memory._tools.store.generations() if each.model == embedder.name]
    return found


def waiting(memory: Memory, embedder: Embedder) -> list[str]:
    found = memory._tools.store.unembedded(generation(memory, embedder).id, 0, 1000)
    return [piece.text for piece in found]


def nearest(memory: Memory, question: str) -> list[list[str]]:
    """What each generation that this process reads finds nearest."""
    found, store, where = [], memory._tools.store, Where(memory.access)
    for each, vector in memory._tools.meaning.in_time(question)[0]:
        near = store.nearest(each.id, vector, [SHELF], where, 1)
        found.append([record.text for record in store.get([number for number, _ in near.hits], where)])
    return found


def embedded(memory: Memory, **arguments: Any) -> Any:
    return next((report for report in memory.upkeep(**arguments) if report.verb == "embed"), None)


# ---------------------------------------------------------------- writing


def test_a_write_brings_its_vectors(memory: Memory) -> None:
    one = using(memory, A)
    one.remember_many(NESTS)
    one.remember("straw " * 1000, title="Stuff")  # several rows
    assert generations(one) == {A.name: "current"} and waiting(one, A) == []
    assert nearest(one, NESTS[7]) == [[NESTS[7]]]
    assert (one.status()["rows_waiting"], embedded(one), embedded(one, dry_run=True)) == (0, None, None)


def test_a_change_of_text_or_title_brings_new_ones(memory: Memory) -> None:
    one = using(memory, A)
    one.remember_many(NESTS)
    one.revise(3, "The heron nests at the weir")
    one.revise(4, title="The stork on the roof of the mill")
    assert nearest(one, "The heron nests at the weir") == [["The heron nests at the weir"]]
    assert nearest(one, "The stork on the roof of the mill")[0] == [NESTS[3]]
    assert waiting(one, A) == [], "the old text too, which is in the archive now"
    one.forget(5)
    one.restore(5)
    one.undo()
    one.erase(6)
    assert waiting(one, A) == []


def test_what_changes_no_text_loads_no_model(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, embed=A) as memory:
        memory.remember("The heron nests at the weir")
    code = (
        f"from memorist import Memory; from memorist.models import embed\nwith Memory({str(path)!r}, embed='static') as memory:\n"
        "    memory.pin(1); memory.feedback(1, 'useful'); memory.get(1)\n"
        "print(embed.about.cache_info().misses, embed.loaded_table.cache_info().misses)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0 0"


def test_one_that_is_not_cheap_keeps_nobody_waiting(memory: Memory) -> None:
    slow = HashEmbedder("slow", 16, cheap=False, on_files=True)
    one = using(memory, slow)
    one.remember_many(NESTS)
    one.revise(1, "The heron nests at the weir")
    assert (slow.calls, generations(one)) == (0, {})
    assert one.recall("heron")
    status = one.status()
    assert (status["rows_waiting"], status["vectors_advice"]) == (31, "run `memorist upkeep`")
    plan = embedded(one, dry_run=True)
    assert (plan.rows, plan.dry_run, generations(one)) == (31, True, {})
    assert embedded(one).rows == 31
    assert waiting(one, slow) == [] and generations(one) == {slow.name: "current"}
    assert nearest(one, "The heron nests at the weir") == [["The heron nests at the weir"]]


def test_an_empty_store_has_nothing_to_do(memory: Memory) -> None:
    for embedder in (A, SLOW):
        assert embedded(using(memory, embedder)) is None and generations(memory) == {}


def test_a_built_in_table_that_is_gone_costs_only_meaning(memory: Memory, monkeypatch: pytest.MonkeyPatch,
                                                          tmp_path: Path) -> None:  # fmt: skip
    from memorist.models import embed

    one = using(memory, "static")
    one.remember_many(NESTS)
    assert len(one._tools.meaning.in_time("nest")[0]) == 1
    monkeypatch.setattr(embed, "FOLDER", tmp_path)
    embed.about.cache_clear()
    other = using(memory, "static")
    assert other.remember("The heron nests at the weir").outcome == "added"
    assert other.recall("heron") and other._tools.meaning.in_time("heron")[0] == []
    assert "reinstall memorist" in other.status()["embedder"]
    embed.about.cache_clear()


def test_a_failing_embedder_loses_no_write(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    class Moody(HashEmbedder):
        well = True

        def embed(self, texts: Sequence[str]) -> Any:
            if not self.well:
                raise OSError("gone")
            return super().embed(texts)

    moody = Moody("moody")
    one = using(memory, moody)
    one.remember(NESTS[0])
    moody.well = False
    caplog.set_level(logging.WARNING, "memorist")
    assert [one.remember(text).outcome for text in NESTS[1:4]] == ["added"] * 3
    one.revise(1, "The heron nests at the weir")
    assert len(caplog.records) == 1 and "OSError" in caplog.text
    assert one.recall("heron") and one.recall("nest tree")
    assert "cannot be used" in str(embedded(one).advice)
    moody.well = True
    assert embedded(one).rows == 5
    assert waiting(one, moody) == []
    assert one.status()["embedder"] == moody.name


# ---------------------------------------------------------------- moving


@pytest.mark.covers("C4-1")
def test_switched_models_are_never_compared_and_words_go_on(memory: Memory) -> None:
    using(memory, A).remember_many(NESTS)
    other = using(memory, B)
    other.remember("The heron nests at the weir")
    assert generations(memory) == {A.name: "current", B.name: "filling"}
    assert waiting(other, B) == NESTS and waiting(other, A) == ["The heron nests at the weir"]
    for question in ("nest tree eggs", "heron"):
        assert other.recall(question), "old and new are found by words, whatever the model"
    [(kept, vector)] = other._tools.meaning.in_time("heron")[0]  # the model of the old ones cannot be had here
    assert (kept.model, len(vector)) == (B.name, B.dimension)
    assert nearest(other, NESTS[7]) == [["The heron nests at the weir"]], "no old row is compared with the new model"
    assert nearest(using(memory, A), NESTS[7]) == [[NESTS[7]]], "the old process goes on as it did"
    done = embedded(other)
    assert (done.rows, generations(memory), waiting(other, B)) == (30, {B.name: "current"}, [])
    assert nearest(other, NESTS[7]) == [[NESTS[7]]]
    assert nearest(using(memory, A), NESTS[7]) == [], "and now it has nothing to read, and says so"
    assert "--switch" in using(memory, A).status()["vectors_advice"]
    assert other.recall("nest tree eggs") and memory.audit().ok


def test_both_are_read_while_a_store_moves(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    using(memory, A).remember_many(NESTS)
    monkeypatch.setattr("memorist.store.meaning.built_in", lambda model: A if model == A.name else None)
    other = using(memory, B)
    other.remember("The heron nests at the weir")
    readers = [
        (each.model, each.state, embedder.name)
        for each, embedder in other._tools.meaning.readers(other._tools.store.generations())
    ]
    assert readers == [(B.name, "filling", B.name), (A.name, "current", A.name)]
    assert nearest(other, NESTS[7]) == [["The heron nests at the weir"], [NESTS[7]]]


def test_the_archive_and_other_spaces_move_too(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, embed=A) as memory, Memory(path, embed=A, space="team") as team:
        memory.remember_many(NESTS)
        memory.forget(2)
        team.remember("The heron nests at the weir")
    with Memory(path, embed=B) as memory:
        assert embedded(memory).rows == 31
        assert waiting(memory, B) == []


def test_a_move_goes_on_where_time_ran_out(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "EMBEDDED_AT_ONCE", 7)
    using(memory, A).remember_many(NESTS)
    other = using(memory, B)
    first = embedded(other, seconds=1e-6)
    assert (first.rows, generations(memory)[A.name]) == (7, "current") and "time is up" in str(first.advice)
    other.revise(1, "The heron nests at the weir")
    other.forget(2)
    assert embedded(other).rows == 23  # what was revised got its vectors at once, its old text too
    assert generations(memory) == {B.name: "current"} and waiting(other, B) == []


def test_a_text_that_changes_under_its_hands_is_not_given_the_old_vector(memory: Memory) -> None:
    using(memory, A).remember_many(NESTS)

    class Meddling(HashEmbedder):
        done = False

        def embed(self, texts: Sequence[str]) -> Any:
            if NESTS[3] in texts and not self.done:
                self.done = True
                using(memory, A).revise(4, "The heron nests at the weir")
                using(memory, A).remember("The stork nests on the roof")
            return super().embed(texts)

    meddling = Meddling("meddling", cheap=False)
    other = using(memory, meddling)
    embedded(other)
    assert generations(memory) == {meddling.name: "current"} and waiting(other, meddling) == []
    for text in ("The heron nests at the weir", "The stork nests on the roof"):
        assert nearest(other, text) == [[text]]


def test_a_model_that_changes_its_mind_does_not_take_over(memory: Memory) -> None:
    using(memory, A).remember_many(NESTS)

    class Fickle(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            self._model = f"{self.calls}"
            return super().embed(texts)

    other = using(memory, Fickle("fickle"))
    report = embedded(other)
    assert "another vector" in str(report.advice)
    assert generations(memory)[A.name] == "current"
    assert nearest(using(memory, A), NESTS[7]) == [[NESTS[7]]]


def test_other_numbers_under_an_old_name_are_refused(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    using(memory, A).remember_many(NESTS)
    changed = HashEmbedder("a", 64, on_files=True)
    changed.name = A.name
    other = using(memory, changed)
    assert other.remember("The heron nests at the weir").outcome == "added"
    assert other.recall("heron") and other._tools.meaning.in_time("heron")[0] == []
    assert "give another model another name" in caplog.text
    assert "give another model another name" in str(embedded(other).advice)
    assert nearest(using(memory, A), NESTS[7]) == [[NESTS[7]]]


def test_a_write_does_not_break_off_a_move_that_somebody_pays_for(memory: Memory) -> None:
    using(memory, A).remember_many(NESTS)
    other = using(memory, B)

    class Paid(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            if NESTS[3] in texts:
                other.remember("The heron nests at the weir")
            return super().embed(texts)

    paid = Paid("paid", cheap=False)
    embedded(using(memory, paid))
    assert generations(memory) == {paid.name: "current"} and waiting(memory, paid) == []


def test_a_move_that_was_broken_off_costs_one_batch_more_and_no_other(memory: Memory, clock: MovableClock,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(job, "SLOWLY", 5)
    using(memory, A).remember_many(NESTS)

    class Paid(HashEmbedder):
        texts = 0

        def embed(self, texts: Sequence[str]) -> Any:
            self.texts += len(texts) if "ready?" not in texts else 0
            if self.texts == 10:
                clock.move(seconds=31)  # it was held up so long that another took over
                embedded(using(memory, B), switch=True)
            return super().embed(texts)

    paid = Paid("paid", cheap=False)
    one = using(memory, paid)
    assert embedded(one).rows == 5 and paid.texts == 10
    assert generations(memory) == {B.name: "current"} and waiting(memory, B) == []
    [fresh] = [each for each in memory._tools.store.generations() if each.model == B.name]
    gone = replace(fresh, id=fresh.id - 1, model=paid.name, state="filling")
    assert list(one._writer.generations.filling(gone, 5)) == [] and paid.texts == 10


def test_one_process_in_the_store_is_at_the_vectors_whatever_its_space(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    team = Memory(path, space="team", embed=HashEmbedder("paid", cheap=False, on_files=True))

    class Paid(HashEmbedder):
        told: Any = None

        def embed(self, texts: Sequence[str]) -> Any:
            self.told = self.told or embedded(team)
            return super().embed(texts)

    paid = Paid("paid", cheap=False)
    with team, Memory(path, embed=paid) as memory:
        memory.remember_many(NESTS)
        team.remember("The heron nests at the weir")
        assert embedded(memory).rows == 31
        assert "another process is running embed" in paid.told.advice and waiting(memory, paid) == []
        assert embedded(team) is None


@pytest.mark.parametrize("problem", [RuntimeError, KeyboardInterrupt])
def test_a_run_that_ends_in_any_way_lets_go_of_its_lease(problem: type[BaseException], memory: Memory,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    one = using(memory, SLOW)
    one.remember_many(NESTS)
    with monkeypatch.context() as patch:
        patch.setattr(one._writer.generations, "fill", lambda *_: (_ for _ in ()).throw(problem))
        with pytest.raises(problem):
            one.upkeep()
    [run] = memory._tools.store.runs("", "embed", limit=1)
    assert (run.state, run.problem) == ("failed", problem.__name__)
    assert embedded(one).rows == 30


# ---------------------------------------------------------------- who may move a store


def test_the_default_moves_nothing(memory: Memory) -> None:
    using(memory, A).remember_many(NESTS)
    other = using(memory, B, asked=False)
    other.remember("The heron nests at the weir")
    report = embedded(other)
    assert (report.rows, generations(memory)) == (0, {A.name: "current"})
    assert "--switch" in str(report.advice) and other.status()["rows_waiting"] == 0
    assert waiting(memory, A) == ["The heron nests at the weir"]
    assert embedded(using(memory, A)).rows == 1


def test_another_version_of_the_same_model_needs_no_asking_and_is_not_undone(memory: Memory) -> None:
    old, new = HashEmbedder("v", on_files=True), HashEmbedder("w", on_files=True)
    old.name, new.name = "table-32@old", "table-32@new"
    using(memory, old, asked=False).remember_many(NESTS)
    embedded(using(memory, new, asked=False))
    assert generations(memory) == {new.name: "current"}
    embedded(using(memory, old, asked=False))
    using(memory, old, asked=False).remember("The heron nests at the weir")
    assert generations(memory) == {new.name: "current"}


def test_two_that_want_different_models_do_not_take_turns(memory: Memory) -> None:
    for turn in range(4):
        for embedder in (A, B):
            using(memory, embedder).remember(f"The heron of {embedder.name} comes in {turn}")
            using(memory, embedder).upkeep()
    assert generations(memory) == {B.name: "current"}, "each moved it once"
    using(memory, B).upkeep()
    assert waiting(memory, B) == []
    embedded(using(memory, A), switch=True)  # until somebody says so
    assert generations(memory) == {A.name: "current"} and waiting(memory, A) == []
    embedded(using(memory, B))
    assert generations(memory) == {A.name: "current"}


def test_a_switch_back_in_the_middle_keeps_what_is_there(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    using(memory, A).remember_many(NESTS)
    with monkeypatch.context() as patch:
        patch.setattr(job, "EMBEDDED_AT_ONCE", 5)
        embedded(using(memory, B), seconds=1e-6)
    assert generations(memory) == {A.name: "current", B.name: "filling"}
    assert embedded(using(memory, A), switch=True).rows == 0
    assert generations(memory) == {A.name: "current"}
    third = HashEmbedder("c", on_files=True)
    embedded(using(memory, B), switch=True, seconds=1e-6)
    embedded(using(memory, third))
    assert generations(memory) == {third.name: "current"}


def test_no_vectors_at_all_and_back(memory: Memory) -> None:
    using(memory, A).remember_many(NESTS)
    none = using(memory, "none")
    assert none._tools.meaning.in_time("heron")[0] == [], "reading stops at once"
    assert generations(memory) == {A.name: "current"}
    report = embedded(none)
    assert (report.rows, generations(memory), none.status()["vectors"]) == (0, {}, "none")
    assert none.recall("nest tree eggs") and embedded(none) is None
    using(memory, A).remember("The heron nests at the weir")
    embedded(using(memory, A))
    assert generations(memory) == {}, "a store that was to have none keeps to it"
    assert embedded(using(memory, A), switch=True).rows == 31
    assert generations(memory) == {A.name: "current"} and waiting(memory, A) == []
    embedded(none)
    assert generations(memory) == {A.name: "current"}


def test_upkeep_under_every_design(memory: Memory, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('base = "hebbian"\njobs = []\n')
    for number, design in enumerate(("balanced", "hebbian", str(mine))):
        slow = HashEmbedder(f"model {number}", cheap=False, on_files=True)
        with Memory(tmp_path / f"{number}.db", design=design, embed=slow) as one:
            one.remember_many(NESTS)
            assert [report.verb for report in one.upkeep()] == ["embed", *(job.name for job in one.design.upkeep)]
            assert waiting(one, slow) == []


def test_a_store_from_before_there_were_vectors(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, embed="none") as memory:
        memory.remember_many(NESTS)
        assert generations(memory) == {}
    with Memory(path, embed=A) as memory:
        assert memory.status()["rows_waiting"] == 30
        memory.remember("The heron nests at the weir")
        assert (generations(memory), len(waiting(memory, A))) == ({A.name: "current"}, 30)
        assert embedded(memory).rows == 30
        assert waiting(memory, A) == []


def test_two_models_at_once_from_two_threads(tmp_path: Path) -> None:
    path, problems = tmp_path / "memory.db", []

    def live(embedder: Embedder) -> None:
        try:
            with Memory(path, embed=embedder) as memory:
                for n in range(25):
                    memory.remember(f"Heron {n} of {embedder.name}")
                    if n % 5 == 0:
                        memory.upkeep()
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=live, args=(embedder,)) for embedder in (A, B)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with Memory(path, clock=MovableClock(now_utc() + timedelta(minutes=1)), embed=B) as memory:
        using(memory, A).upkeep()
        using(memory, B).upkeep()
        [last] = generations(memory)
        assert waiting(memory, A if last == A.name else B) == []
        assert memory.count({"state": {"$in": ["active", "superseded"]}}) == 50 and memory.audit().ok


# ---------------------------------------------------------------- at a shell


def test_the_command_line_tells_and_does(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, embed=SLOW) as memory:
        memory.remember_many(NESTS)

    def cli(*words: str) -> str:
        command = [sys.executable, "-m", "memorist", *words, "--db", str(path)]
        named = {**os.environ, "MEMORIST_EMBED": "static"}
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=named).stdout

    assert "rows waiting: 30" in cli("status") and "memorist upkeep" in cli("status")
    assert "embed, dry run: 30 parts of memories" in cli("upkeep", "--dry-run")
    assert "embed: 30 parts of memories" in cli("upkeep")
    told = json.loads(cli("status", "--json"))
    assert (told["rows_waiting"], told["vectors"]) == (0, f"{told['embedder']} (current)")
    assert "vectors_advice" not in told


def test_a_run_that_was_left_is_taken_over(memory: Memory, clock: MovableClock) -> None:
    from memorist.upkeep.runner import Runner

    slow = HashEmbedder("slow", cheap=False, on_files=True)
    one = using(memory, slow)
    one.remember_many(NESTS)
    who = one.access.over_the_space("upkeep")
    assert Runner(one._caller.through(who), None)._claim("", job.Embed.name)
    assert "another process is running embed" in str(embedded(one).advice)
    clock.move(seconds=31)
    assert embedded(one).rows == 30
