"""The curated design keeps its founding document's numbers, and has lost its weaknesses."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.design import Lane, Promotion
from memorist.designs import CURATED, HEBBIAN, own
from memorist.errors import Invalid
from memorist.prompt.lanes import quotas
from memorist.recall.pipeline import Search
from memorist.recall.stages.keep import DropTail, KeepBest, KeepTop, Spread
from memorist.recall.stages.weigh import Fade
from memorist.recall.stages.words import ByFields, ExpandAliases, Widen
from memorist.records import Hit, Provenance
from memorist.store.where import Where
from memorist.testing import MovableClock, a_record
from memorist.testing.records import EVERYWHERE, START
from memorist.text.question import kinds_in
from memorist.text.twins import distance


@pytest.fixture
def memory(place: Path | str, clock: MovableClock) -> Iterator[Memory]:
    with Memory(place, project="atlas", design="curated", clock=clock, embed="none") as memory:
        yield memory


@cache
def full() -> Memory:
    memory = Memory(":memory:", project="atlas", design="curated", embed="none")
    memory.remember_many(["Auth tokens expire", "Never push on Fridays", "東京 runs C++ in src/app.py", "a b c 1 2 3"])
    return memory


def texts(found: Sequence[Hit]) -> list[str]:
    return [hit.record.text for hit in found]


def search(*scores: float, pinned: int = 0, sessions: Sequence[str | None] = ()) -> Search:
    """A search that found so many memories with these scores; the last few are pinned."""
    hits = []
    for place, score in enumerate(scores):
        said = Provenance(session=sessions[place] if sessions else None)
        record = a_record(f"memory {place}", number=place + 1, provenance=said, pinned=place >= len(scores) - pinned)
        hits.append(Hit(record, score, {"words": score}))
    return Search("q", (), Where(EVERYWHERE), 5, START, hits=tuple(hits))


def run(stage: object, given: Search) -> list[float]:
    return [hit.score for hit in stage(given, None).hits]  # type: ignore[operator]


# ---------------------------------------------------------------- the design itself


@pytest.mark.covers("S3-1", "S3-2", "S3-14", "S3-33", "C3-4")
def test_the_design_has_the_documents_numbers() -> None:
    stages = {type(stage).__name__: stage for stage in CURATED.recall}
    assert CURATED.reads == ("session", "project")
    assert stages["ByFields"] == ByFields(pool=500, content=2.0, tags=1.5, files=1.2, category=1.0)
    assert stages["Widen"] == Widen(fuzzy=0.2, prefix=True)
    assert (stages["KeepTop"], stages["DropTail"], stages["Spread"]) == (KeepTop(15), DropTail("median"), Spread(2))
    assert list(stages).index("Rerank") < list(stages).index("KeepTop") < list(stages).index("DropTail")
    assert (CURATED.conflicts, CURATED.promotion) == ("flag", Promotion("auto", "balanced"))
    assert (CURATED.due.on_open, CURATED.due.uses, CURATED.due.hours) == (True, 50, 24)
    assert (CURATED.budget.share, CURATED.budget.most) == (0.08, 5000)
    assert [job.name for job in CURATED.upkeep] == ["settle", "expire", "retain", "suggest_aliases"]
    assert [getattr(job, "max_items", None) for job in CURATED.upkeep][2] == 3000


@pytest.mark.covers("C3-4", "W3-13")
@pytest.mark.parametrize(
    ("remaining", "shares"), [(50_000, (320, 1840, 1196, 600)), (100_000, (400, 2300, 1495, 600)), (0, (0, 0, 0, 0))]
)
def test_the_lanes_are_the_documents_where_it_agrees_with_itself(remaining: int, shares: tuple[int, ...]) -> None:
    total = min(int(0.08 * remaining), 5000)
    lanes: tuple[Lane, ...] = CURATED.lanes
    assert quotas(total, lanes) == shares


@pytest.mark.covers("S3-12", "S3-13")
@pytest.mark.parametrize("lifts", ["kind and age", "a file", "a pin", "saying it again"])
def test_all_five_hundred_candidates_are_weighed(memory: Memory, clock: MovableClock, lifts: str) -> None:
    """A hundred that hold the word more densely do not keep out what everything else speaks for."""
    kind = "warning" if lifts == "kind and age" else "task_progress"
    memory.remember_many([{"text": f"Deploy {n} went well", "kind": "task_progress"} for n in range(150)])
    clock.move(days=13 if lifts == "kind and age" else 0)
    done = memory.remember(
        "Never deploy on a Friday without the ticket number",
        kind=kind,
        files=["ci/deploy.yml"],
        pinned=lifts == "a pin",
    )
    assert done.record is not None
    for _ in range(40 if lifts == "saying it again" else 0):
        memory.remember(done.record.text, kind=kind)
    found = memory.recall("deploy", limit=3, files=["ci/deploy.yml"] if lifts == "a file" else [])
    assert done.record.id in [hit.record.id for hit in found]


@pytest.mark.covers("S3-9")
def test_all_nine_categories_are_kinds(memory: Memory) -> None:
    nine = "decision architecture pattern warning discovery error preference file_change task_progress".split()
    kept = [memory.remember(f"Thing {place}", kind=kind) for place, kind in enumerate(nine)]
    assert [outcome.record.kind for outcome in kept if outcome.record] == nine


@pytest.mark.covers("S3-8")
def test_a_memory_keeps_all_that_an_entry_has(memory: Memory, clock: MovableClock) -> None:
    done = memory.remember(
        "Auth lives in one module", kind="architecture", importance=0.7, confidence=0.6, files=["src/auth.ts"],
        tags=["auth"], session="s1", agent="claude",
    )  # fmt: skip
    assert done.id is not None and done.record is not None
    record = memory.get(done.id)
    assert (record.kind, record.importance, record.status, record.confidence) == ("architecture", 0.7, "confirmed", 0.6)
    assert (record.files, record.tags) == (("src/auth.ts",), ("auth",))
    assert (record.provenance.session, record.provenance.agent) == ("s1", "claude")
    assert record.fingerprint and record.times.created == record.times.updated == clock()
    assert memory.remember("x " * 300).advice is not None  # more than 500 characters: advised, not cut


@pytest.mark.covers("S3-14", "C3-1", "C3-2")
def test_a_score_is_the_product_of_the_documents_weights(memory: Memory, clock: MovableClock) -> None:
    memory.remember("Never change the auth middleware", kind="warning", files=["src/auth.ts", "src/app.ts"])
    for _ in range(3):
        memory.feedback(1, "useful")
    memory.pin(1)
    clock.move(days=8)
    [hit] = memory.recall("middleware", files=["src/auth.ts", "./src/app.ts"])
    uses = memory.get(1).counters.used
    assert hit.why == pytest.approx(
        {
            "words": hit.why["words"],
            "category": 1.4,
            "age": 0.7,
            "access": 1 + 0.1 * math.log2(uses + 1),
            "status": 2.0,
            "quarantine": 1.0,
            "files": 1.6,
        }
    )
    assert hit.score == pytest.approx(math.prod(hit.why.values()))
    assert 0 < hit.why["words"] <= 1


# ---------------------------------------------------------------- fields, aliases, misspellings


@pytest.mark.covers("S3-12")
def test_a_word_counts_most_in_the_text_and_least_as_a_category(memory: Memory) -> None:
    memory.remember("Nothing of it here at all", tags=["quorum"])
    memory.remember("Nothing of it there at all", files=["quorum"])
    memory.remember("Only the quorum is named once")
    found = memory.recall("quorum", limit=5)
    order = {
        record.text.split()[0] + str(bool(record.tags)): place for place, record in enumerate(h.record for h in found)
    }
    assert texts(found)[0] == "Only the quorum is named once" and len(order) == 3
    words = [hit.why["words"] for hit in found]
    assert words == sorted(words, reverse=True) and len(set(words)) == 3
    assert found[1].record.tags == ("quorum",) and found[2].record.files == ("quorum",)


@pytest.mark.covers("S3-12")
def test_whoever_asks_for_a_category_alone_gets_that_kind(memory: Memory) -> None:
    memory.remember("Never push on Fridays", kind="warning")
    memory.remember("We deploy with one script", kind="decision")
    assert texts(memory.recall("warnings")) == ["Never push on Fridays"]
    assert texts(memory.recall("decision")) == ["We deploy with one script"]


@pytest.mark.covers("S3-12")
@pytest.mark.parametrize("asked", ["postgress", "postgrse", "psotgres", "Postgers", "kuberntes", "kubernetess"])
def test_a_misspelt_word_finds_what_was_meant(memory: Memory, asked: str) -> None:
    memory.remember("Staging runs Postgres 16")
    memory.remember("The cluster is Kubernetes")
    found = memory.explain(asked)
    assert len(found) == 1
    assert any("(fuzzy)" in (step.note or "") for step in found.trace)


@pytest.mark.covers("S3-12")
def test_a_beginning_finds_longer_words_and_counts_less(memory: Memory) -> None:
    memory.remember("The deployment needs a key")
    memory.remember("One must not deplo anything")
    found = memory.recall("deplo")
    assert texts(found)[0] == "One must not deplo anything"
    assert found[1].why["words"] < found[0].why["words"] / 2


@pytest.mark.covers("S3-12")
def test_a_known_word_is_not_taken_for_a_misspelt_one(memory: Memory) -> None:
    memory.remember("The text is long")
    memory.remember("The test is green")
    assert texts(memory.recall("text")) == ["The text is long"]


def test_no_word_of_a_scope_that_is_not_read_is_looked_at(memory: Memory) -> None:
    memory.remember("Zanzibar is the code name", scope="user/ann")
    memory.remember("Our zeppelin flies")
    found = memory.explain("zanzibr")
    assert not found and "zanzibar" not in " ".join(step.note or "" for step in found.trace)


@pytest.mark.parametrize(
    ("a", "b", "edits"),
    [
        ("abc", "abc", 0),
        ("abc", "acb", 1),
        ("abc", "ab", 1),
        ("abc", "abcd", 1),
        ("abc", "axc", 1),
        ("kitten", "sitting", 3),
    ],
)
def test_differences_are_counted(a: str, b: str, edits: int) -> None:
    assert distance(a, b, 3) == distance(b, a, 3) == edits
    assert distance(a, b, edits - 1) is None if edits else True


@given(st.text(max_size=12), st.text(max_size=12), st.integers(0, 4))
def test_differences_are_the_same_both_ways_and_never_more_than_asked(a: str, b: str, most: int) -> None:
    edits = distance(a, b, most)
    assert edits == distance(b, a, most)
    assert edits is None or abs(len(a) - len(b)) <= edits <= most
    assert (edits == 0) == (a == b)


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_is_a_valid_question(asked: str, files: list[str]) -> None:
    paths = [path for path in files if path.strip().isprintable() and path.strip()]
    found = full().recall(asked, files=paths)
    assert found or found.empty_because
    assert all(0 < hit.why["words"] <= 1 for hit in found)


@pytest.mark.covers("S3-13", "C3-7", "X2")
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("auth", "Login tokens live an hour"),
        ("db", "The database is backed up at night"),
        ("api", "Every endpoint takes JSON"),
        ("ui", "The frontend is plain HTML"),
        ("test", "A fixture makes the clock stand still"),
        ("err", "The exception is raised in the parser"),
        ("config", "The settings are a TOML file"),
        ("state", "The reducer is pure"),
        ("build", "Webpack takes a minute"),
        ("security", "XSS is stopped by escaping"),
        ("perf", "Latency is under a millisecond"),
        ("ts", "TypeScript is compiled away"),
    ],
)
def test_every_usual_alias_works_both_ways(memory: Memory, asked: str, said: str) -> None:
    memory.remember(said)
    found = memory.explain(asked)
    assert texts(found) == [said]
    assert "also: " in (found.trace[1].note or "")
    memory.remember(f"Somebody wrote {asked} once")
    assert (
        len(
            memory.recall(
                said.split()[1] if asked in ("db", "api", "ui", "test", "err", "config", "state") else said.split()[0]
            )
        )
        == 2
    )


@pytest.mark.covers("X2")
def test_what_stands_for_a_word_counts_less_than_the_word(memory: Memory) -> None:
    memory.remember("Login is by mail")
    memory.remember("Auth is by mail")
    found = memory.recall("auth")
    assert texts(found) == ["Auth is by mail", "Login is by mail"]
    assert found[1].why["words"] < found[0].why["words"]


@pytest.mark.covers("X2")
def test_the_lexical_design_has_no_aliases(memory: Memory) -> None:
    memory.remember("Login is by mail")
    memory.alias("auth", "login")
    with_words = memory.through(memory.access)
    with_words.design = HEBBIAN
    assert not with_words.recall("auth") and memory.recall("auth")


# ---------------------------------------------------------------- files, kinds, a second opinion


@pytest.mark.covers("C3-2", "S3-14")
def test_files_at_hand_lift_what_is_about_them_by_path_or_name(memory: Memory) -> None:
    memory.remember("The retry loop is bounded", files=["lib/net/retry.py"])
    memory.remember("The retry loop has jitter", files=["lib/other.py"])
    lifted = memory.recall("retry loop", files=["retry.py"])
    assert texts(lifted)[0] == "The retry loop is bounded"
    assert [hit.why["files"] for hit in lifted] == [1.3, 1.0]
    named = memory.recall("why does lib/net/retry.py hold a retry loop?")
    assert named[0].why["files"] == 1.3
    assert "files" not in memory.recall("retry loop")[0].why
    with pytest.raises(Invalid, match="files must be a list of texts"):
        memory.recall("retry", files="retry.py")


@pytest.mark.covers("C3-5")
def test_a_question_favours_the_kinds_it_speaks_of(memory: Memory) -> None:
    memory.remember("The retry loop is bounded", kind="pattern")
    memory.remember("The retry loop was chosen by Ann", kind="decision")
    found = memory.recall("what did we decide about the retry loop?")
    assert [(hit.record.kind, hit.why["favoured"]) for hit in found] == [("decision", 1.5), ("pattern", 1.0)]
    assert kinds_in("an error, and what we decided") in (["error", "decision"], ["decision", "error"])
    two = memory.recall("which errors were decided about the retry loop?")
    assert sorted(hit.why["favoured"] for hit in two)[-1] in (1.2, 1.5)


@pytest.mark.covers("C3-2", "S3-14", "S3-33")
def test_both_sides_of_an_open_conflict_are_shown_and_weigh_less(memory: Memory) -> None:
    memory.remember("Indent the parser with tabs")
    memory.remember("Indent the parser with blanks")
    memory.link(2, 1, "contradicts")
    found = memory.recall("how to indent the parser?")
    assert [hit.why["conflict"] for hit in found] == [0.85, 0.85]
    assert {hit.record.number for hit in found} == {1, 2} and all(hit.conflicts for hit in found)


@pytest.mark.covers("S3-14")
def test_a_reranker_decides_the_order_and_one_that_fails_is_not_heeded(clock: MovableClock) -> None:
    def longest(question: str, given: Sequence[str]) -> list[float]:
        return [min(1.0, len(text) / 100) for text in given]

    def broken(question: str, given: Sequence[str]) -> list[float]:
        raise RuntimeError("no model")

    def nonsense(question: str, given: Sequence[str]) -> list[float]:
        return [math.nan] * len(given)

    orders = []
    for rerank in (None, longest, broken, nonsense):
        with Memory(":memory:", design="curated", clock=clock, rerank=rerank, embed="none") as memory:
            memory.remember("Retry loops")
            memory.remember("Retry loops are bounded by a number that the caller gives and by the deadline of the call")
            found = memory.explain("retry loops")
            orders.append([len(text) for text in texts(found)])
            note = next(step.note for step in found.trace if step.stage == "Rerank")
            expected = {None: None, longest: "2 were judged again"}.get(rerank, "the reranker")
            assert (note or "").startswith(expected or "")
    assert orders[0] == orders[2] == orders[3] != orders[1]


def test_stages_that_refine_give_way_at_a_deadline(memory: Memory) -> None:
    memory.remember("Staging runs Postgres 16")
    found = memory.explain("postgres", deadline=1e-9)
    skipped = {step.stage for step in found.trace if step.note and "deadline" in step.note}
    assert skipped >= {"Widen", "FileAffinity", "FavourKinds", "Rerank", "DropTail", "Spread"}
    assert texts(found) == ["Staging runs Postgres 16"]


# ---------------------------------------------------------------- the tail, the sessions, the pins


@pytest.mark.covers("C3-3", "S3-14")
@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ((1.0, 0.8, 0.6, 0.29), (1.0, 0.8, 0.6)),  # the median is 0.7
        ((1.0, 0.8, 0.39), (1.0, 0.8)),  # just under half of 0.8
        ((1.0, 0.8, 0.4), (1.0, 0.8, 0.4)),
        ((1.0, 0.01), (1.0, 0.01)),  # two are no tail
        ((), ()),
    ],
)
def test_the_weak_tail_is_what_scores_under_half_the_median(scores: tuple[float, ...], kept: tuple[float, ...]) -> None:
    assert run(DropTail(), search(*scores)) == list(kept)


@pytest.mark.covers("C3-3", "S3-14")
def test_the_lowest_thirty_percent_can_be_chosen_instead() -> None:
    scores = [1 - place / 100 for place in range(10)]
    assert run(DropTail("lowest"), search(*scores)) == scores[:7]
    assert run(DropTail("lowest"), search(0.9, 0.8, 0.7)) == [0.9, 0.8, 0.7]


def test_a_pin_is_never_the_weak_tail() -> None:
    assert run(DropTail(), search(1.0, 0.9, 0.8, 0.01, pinned=1)) == [1.0, 0.9, 0.8, 0.01]
    assert run(KeepTop(5), search(*[1.0] * 6, 0.01, pinned=1)) == [1.0] * 5 + [0.01]


@pytest.mark.covers("S3-14")
def test_no_session_gives_more_than_two() -> None:
    given = search(0.9, 0.8, 0.7, 0.6, 0.5, sessions=["a", "a", "a", "b", None])
    after = Spread()(given, None)  # type: ignore[arg-type]
    assert [hit.score for hit in after.hits] == [0.9, 0.8, 0.6, 0.5]
    assert list(after.dropped.values()) == ["session a has 2 better ones already"]


@pytest.mark.covers("S3-14")
def test_fifteen_are_looked_at_and_five_are_given(memory: Memory) -> None:
    memory.remember_many([f"Retry loop number {n}" for n in range(40)])
    found = memory.explain("retry loop")
    kept = {step.stage: step.kept for step in found.trace}
    assert (kept["ByFields"], kept["KeepTop"], kept["KeepBest"]) == (40, 15, 5)
    assert len(memory.recall("retry loop", limit=30)) == 30


@pytest.mark.covers("W3-7")
def test_the_sixth_pin_is_named_and_not_lost(memory: Memory) -> None:
    for n in range(6):
        memory.remember(f"Rule {n}: never skip the review of {'a change ' * n}", kind="warning", pinned=True)
    memory.remember("Review rule: never skip it", kind="warning")
    found = memory.explain("never skip the review rule", limit=10)
    assert [hit.record.pinned for hit in found][:5] == [True] * 5
    assert sum(hit.record.pinned for hit in found) == 6
    assert "6 pinned memories fit; 5 stand first" in (found.trace[-1].note or "")


@pytest.mark.covers("X8")
@pytest.mark.parametrize("decay", ["none", "hyperbolic", "weekly", "half_life"])
def test_any_decay_can_be_chosen_and_is_shown(memory: Memory, clock: MovableClock, decay: str) -> None:
    memory.design = replace(CURATED, recall=(*CURATED.recall[:5], Fade(decay), *CURATED.recall[5:]))
    memory.remember("Staging runs Postgres 16")
    clock.move(days=70)
    faded = {"none": 1.0, "hyperbolic": 1 / 1.7, "weekly": 0.95**10, "half_life": 0.5 ** (70 / 30)}
    assert memory.recall("postgres")[0].why["decay"] == pytest.approx(faded[decay])


@pytest.mark.covers("S3-6")
def test_status_tells_what_became_of_memories(memory: Memory, clock: MovableClock) -> None:
    names = ("promotions", "evictions", "accesses", "last_upkeep", "last_injection")
    memory.remember("Wrote the parser", kind="progress")
    memory.remember("Staging runs Postgres 16")
    assert not memory.context("zebra crossings")
    found = memory.status()
    assert [found[name] for name in names[:3]] == [0, 0, 0] and found["last_injection"] == "never"
    memory.feedback(2, "useful")
    memory.forget(2)
    memory.restore(2)
    memory.promote(2, scope="user/ann")
    clock.move(days=5)
    assert memory.context("parser")
    memory.upkeep()
    clock.move(days=6)
    memory.remember("A sign of life")
    clock.move(days=6)
    memory.upkeep()
    found = memory.status()
    assert found["promotions"] == 1 and found["accesses"] == memory.get(2).counters.used > 0
    assert found["evictions"] == memory.count({"state": "archived"})  # what was forgotten by hand is no eviction
    assert found["last_upkeep"].startswith("2026-01-18") and found["last_injection"].startswith("2026-01-06")


@pytest.mark.covers("W3-13", "S3-1")
def test_a_prompt_has_pins_hits_and_summaries_within_a_share_of_what_remains(memory: Memory) -> None:
    memory.remember("Never change the auth middleware", kind="warning", pinned=True)
    memory.remember("Login tokens expire after an hour", kind="decision")
    memory.remember("Last session: the parser was finished", kind="summary")
    made = memory.context("login tokens", remaining=50_000)
    assert made.budget == 4000 and made.tokens <= 4000
    for text in ("auth middleware", "Login tokens", "parser was finished"):
        assert text in made.text
    assert memory.context("login tokens", remaining=1_000_000).budget == 5000


# ---------------------------------------------------------------- a design of one's own

MINE = """
base = "curated"
stages = ["understand", "aliases", "fields", "believed", "weigh", "fade", "drop_tail", "keep_best"]
[recall.aliases]
usual = false
[recall.fields]
tags = 3
[recall.fade]
decay = "weekly"
[recall.drop_tail]
rule = "lowest"
[recall.keep_best]
pinned = 2
"""


@pytest.mark.covers("X2", "X8")
def test_a_file_can_say_all_of_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(MINE)
    mine = own.load(file)
    assert mine.recall[1] == ExpandAliases(usual=False) and mine.recall[2] == ByFields(tags=3)
    assert mine.recall[5:] == (Fade("weekly"), DropTail("lowest"), KeepBest(2))
    file.write_text(own.text_of(mine))
    assert own.load(file) == mine


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '"weekly"',
            '"daily"',
            "recall.fade.decay: there is no 'daily'; it is one of none, hyperbolic, weekly, half_life",
        ),
        ('"lowest"', '"worst"', "recall.drop_tail.rule: there is no 'worst'; it is one of median, lowest"),
        ("tags = 3", "tags = 0", "recall.fields.tags must be a number from 0.1 to 10"),
        ("tags = 3", "pool = 9999", "recall.fields.pool must be a whole number from 1 to 1,000"),
        ("usual = false", "usual = 1", "recall.aliases.usual must be True or False"),
        ("usual = false", "weight = 2", "recall.aliases.weight must be a number from 0.01 to 1"),
        ("pinned = 2", "pinned = -1", "recall.keep_best.pinned must be a whole number from 0 to 100"),
        (
            '"aliases", "fields"',
            '"fields", "aliases"',
            "aliases adds words for the stage fields and has to come before it",
        ),
        ('"fields", "believed"', '"words", "believed"', "aliases adds words for the stage fields"),
    ],
)
def test_what_could_not_work_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    file = tmp_path / "mine.toml"
    changed = MINE.replace(old, new)
    file.write_text(changed if "words" not in new else changed.replace("[recall.fields]\ntags = 3\n", ""))
    with pytest.raises(Invalid, match=words):
        own.load(file)
