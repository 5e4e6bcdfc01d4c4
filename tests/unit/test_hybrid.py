"""Words and meaning together: how they are scaled and added, and what else speaks for a memory.

No test here knows a weight of mix.toml: those are fitted anew now and then.
"""

import copy
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy
import pytest

from memorist import Memory
from memorist.access import Access
from memorist.designs import own
from memorist.errors import Invalid
from memorist.models.embed import chosen
from memorist.recall.pipeline import Asked, Candidate, Search
from memorist.recall.stages.blend import BEST_OF_SESSION, GROUPS, VOICES, Blend, FuseRanks, Table, closeness, mix, voice
from memorist.recall.stages.gather import USUAL_MEAN, USUAL_SPREAD, Gather, Reading
from memorist.recall.stages.keep import Abstain, KeepClose
from memorist.recall.stages.weigh import WORTH
from memorist.records import Hit, Recall, Record, Times, to_micros
from memorist.store.meaning import Meaning
from memorist.store.nouns import Fact, Near, Shelf
from memorist.store.where import Where
from memorist.store.writer import Writer
from memorist.testing import HashEmbedder, MovableClock
from memorist.text.dates import Span

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
SHELF = Shelf("default", "project/atlas", "turns")
THAT_DAY = Span(MONDAY, MONDAY + timedelta(days=1), "that day", 0, 8)
CODE = [
    "Cancelling an asyncio task inside a TaskGroup raises CancelledError in its siblings",
    "The parser drops trailing commas unless strict mode is on",
    "pytest fixtures with scope session are built once per worker under xdist",
    "A mutable default argument is shared between calls of the function",
    "The linter complains about unused imports in __init__.py files",
    "SQLite locks the whole file while a write transaction is open",
    "Type variables must be bound before the class body is evaluated",
    "The regex engine backtracks on nested quantifiers and takes exponential time",
    "Generators close their frames when they are garbage collected",
    "The build fails because the wheel has no py.typed marker",
]
HOME = [
    "My sister adopted a puppy from the shelter last spring",
    "We repainted the kitchen in a pale green",
    "The car needs new brakes before winter",
    "Grandmother's recipe uses cardamom and honey",
    "The marathon was cancelled because of the storm",
    "He plays the cello in a chamber orchestra",
    "Our flight to Lisbon was delayed by four hours",
    "The library closes early on Wednesdays",
]


class Weights(dict[str, float]):
    """A weight for every signal there may be: nothing for those that are not named."""

    def __missing__(self, name: str) -> float:
        return 0.0


def mixture(**weights: float) -> Mapping[str, Weights]:
    nothing = {name: Weights() for name in mix() if name.startswith(("standing", "here"))}
    return {**nothing, **{who: Weights(weights) for who in VOICES}}


def candidate(number: int, words: float = 0.0, meaning: float = 0.0, **fact: Any) -> Candidate:
    known = {"session": None, "role": None, "speaker": None, "micros": to_micros(MONDAY), **fact}
    return Candidate(Fact(number, SHELF, up=0, **known), words, 0.3, meaning)


def ordinary(near: Near) -> tuple[float, float]:
    reading = Reading.of(1, numpy.zeros(2, numpy.float32), near)
    return reading.mean, reading.spread


def texts(found: Recall) -> list[str]:
    return [hit.record.text for hit in found]


def total(hit: Hit) -> float:
    return sum(signal.contribution for signal in hit.signals)


def signal(hit: Hit, name: str) -> float:
    """What that signal adds; nothing if it is not there."""
    return sum(each.contribution for each in hit.signals if each.name == name)


def chance(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


MOVED = {"newest", "older", "outdated"}


def checked_sums(found: Recall) -> None:
    """All signals add up to the score, and those that are no factors of `why` to the relevance. What is put before an older
    hit that says nearly the same has the relevance of that one, if it is larger; and what is moved has another score."""
    for hit in found:
        assert 0 < hit.why["relevance"] < 1 and 0 < hit.score < 1
        assert hit.score == pytest.approx(chance(total(hit)), abs=1e-9)
        own = sum(each.contribution for each in hit.signals if each.name not in hit.why)
        if "newest" in hit.why:
            assert hit.why["relevance"] >= chance(own) - 1e-9
        else:
            assert hit.why["relevance"] == pytest.approx(chance(own), abs=1e-9)
        if MOVED & hit.why.keys():
            continue
        factors = math.prod(value for name, value in hit.why.items() if name != "relevance")
        odds = hit.why["relevance"] / (1 - hit.why["relevance"]) * factors**WORTH
        assert hit.score == pytest.approx(odds / (1 + odds), rel=1e-9)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


# ---------------------------------------------------------------- one scale


def test_a_shelf_too_small_to_tell_leans_on_what_is_usual() -> None:
    assert ordinary(Near()) == pytest.approx((USUAL_MEAN, USUAL_SPREAD))
    mean, spread = ordinary(Near(((1, 0.9),), 1, 0.9, 0.0))
    assert USUAL_MEAN < mean < 0.3 and 0 < spread < 2 * USUAL_SPREAD
    assert (0.9 - mean) / spread > 3, (
        "one memory that fits exactly is far above the ordinary, though it is all there is"
    )


def test_a_large_shelf_goes_by_its_own_numbers() -> None:
    assert ordinary(Near((), 1_000_000, 0.6, 0.15)) == pytest.approx((0.6, 0.15), abs=1e-3)
    for near in (Near((), 10**9, 0.5, 0.0), Near((), 1, -1.0, 0.0), Near((), 10**9, 1.0, 1e-9)):
        mean, spread = ordinary(near)
        assert spread > 0 and math.isfinite((1.0 - mean) / spread)


@pytest.mark.covers("W2-8")
def test_the_only_hit_is_not_perfect_and_the_worst_is_not_nothing(place: Path | str) -> None:
    with Memory(place, project="atlas") as memory:
        memory.remember("The pump in the cellar was replaced")
        [only] = memory.recall("was something in the cellar repaired?")
        assert 0 < only.score < 0.99
        memory.remember_many(HOME)
        scores = [hit.why["relevance"] for hit in memory.recall("which pump was replaced?", limit=9)]
        assert scores[0] < 1 and scores[-1] > 0
        assert len(set(scores)) == len(scores)
        alone = memory.recall("which pump was replaced?", limit=1)[0].why["relevance"]
        assert alone == pytest.approx(scores[0]), "a score does not hang on how many were asked for"


def test_the_right_memory_is_no_less_sure_among_many_others(memory: Memory) -> None:
    memory.remember("The pump in the cellar was replaced")
    small = memory.recall("which pump was replaced?")[0]
    memory.remember_many([f"Report {n}: train {n * 7 % 31} left platform {n % 9} on time" for n in range(400)])
    large = memory.recall("which pump was replaced?")[0]
    assert small.record.id == large.record.id
    assert large.why["relevance"] > small.why["relevance"] - 0.2
    checked_sums(memory.recall("which train left on time?"))


@pytest.mark.parametrize("said", ["getUserById", "err_5521_x", "C", "Вчера мы ходили в музей", "东京", "🎉 party"])
def test_whoever_asks_with_the_very_words_of_a_memory_gets_it(memory: Memory, said: str) -> None:
    """Also among hundreds that are like one another, where anything else stands out."""
    memory.remember(said)
    assert texts(memory.recall(said, limit=1)) == [said]
    memory.remember_many([f"note number {n} about thing {n * 3}" for n in range(500)])
    assert texts(memory.recall(said, limit=1)) == [said]


class Blank(HashEmbedder):
    """Gives nothing but zeros, as a table does for a text of which it knows no word."""

    def embed(self, texts: Sequence[str]) -> Any:
        return super().embed(texts) * 0


def test_vectors_of_zeros_say_nothing_and_break_nothing(place: Path | str) -> None:
    with Memory(place, embed=Blank("zero")) as memory:
        memory.remember_many(HOME)
        found = memory.recall("who plays the cello?")
        assert texts(found)[0] == HOME[5]
        checked_sums(found)
    with Memory(":memory:", embed="none") as words:
        words.remember_many(HOME)
        assert words.recall("who plays the cello?")[0].record.text == found[0].record.text


def test_without_an_embedder_words_answer_alone(place: Path | str) -> None:
    with Memory(place, project="atlas", embed="none") as memory:
        memory.remember_many(HOME)
        found = memory.recall("who plays the cello?")
        assert texts(found) == [HOME[5]]
        assert signal(found[0], "meaning") == 0 and signal(found[0], "words") > 0
        checked_sums(found)
        empty = memory.recall("qwertzuiop")
        assert not empty and empty.empty_because == "no memory here holds any of the question's words"


def test_a_store_whose_vectors_are_still_to_come_is_found_by_words(place: Path | str) -> None:
    with Memory(place, project="atlas", embed=HashEmbedder("slow", cheap=False, on_files=True)) as memory:
        memory.remember_many(HOME)
        assert memory.status()["rows_waiting"] == len(HOME)
        before = memory.recall("who plays the cello?")
        assert texts(before) == [HOME[5]] and signal(before[0], "meaning") == 0
        memory.upkeep()
        after = memory.recall("who plays the cello?")
        [hit] = [hit for hit in after if hit.record.text == HOME[5]]
        assert signal(hit, "meaning") != 0, "a vector that means nothing moves it all the same"


def test_what_has_no_vector_is_neither_near_nor_far(memory: Memory) -> None:
    """Half of a store that is still being filled: what lacks a vector is judged by its words."""
    memory.remember_many(HOME)
    with memory._writer.transaction():
        memory._tools.meaning.models[0].choice = replace(memory._tools.meaning.choice, cheap=False)
        memory.remember("The cello was tuned yesterday")
    found = {hit.record.text: hit for hit in memory.recall("who tuned the cello?")}
    assert signal(found["The cello was tuned yesterday"], "meaning") == 0
    assert next(iter(found)) == "The cello was tuned yesterday"


def test_a_question_is_compared_with_the_nearest_without_sharing_a_word(memory: Memory) -> None:
    memory.remember_many([*CODE, *HOME])
    design = replace(memory.design, recall=tuple(s for s in memory.design.recall if not isinstance(s, Abstain)))
    memory.design = design
    for question, right in (
        ("Which pet joined the family?", HOME[0]),
        ("what is wrong with the vehicle?", HOME[2]),
        ("running event abandoned due to bad weather", HOME[4]),
        ("airplane was late", HOME[6]),
    ):
        assert texts(memory.recall(question))[0] == right


# ---------------------------------------------------------------- sums


WORDS = "heron weir nest bridge pump cellar train report engine budget garden letter".split()


def random_store(seed: int) -> tuple[list[dict[str, Any]], list[str]]:
    chance = random.Random(seed)
    drafts = []
    for number in range(chance.choice([1, 2, 7, 40])):
        said = " ".join(chance.choices(WORDS, k=chance.randint(1, 12)))
        in_talk = chance.random() < 0.7
        drafts.append(
            {
                "text": f"{said} {number}",
                "kind": "turn" if in_talk else "fact",
                "session": f"s{chance.randint(0, 3)}" if in_talk else None,
                "role": chance.choice([None, "user", "assistant"]) if in_talk else None,
                "speaker": chance.choice([None, "Ann", "Bo"]) if in_talk else None,
                "at": MONDAY - timedelta(hours=chance.randint(0, 2000)),
            }
        )
    questions = [
        " ".join(chance.choices([*WORDS, "Ann", "last week", "yesterday", "the", "xyzzy"], k=4)) for _ in "1234"
    ]
    return drafts, questions


@pytest.mark.parametrize("seed", range(6))
def test_the_parts_add_up_and_every_store_agrees(seed: int, tmp_path: Path) -> None:
    drafts, questions = random_store(seed)
    clock = MovableClock(MONDAY)
    answers = []
    for store in (tmp_path / "memory.db", ":memory:", tmp_path / "memory.json"):
        with Memory(store, project="atlas", clock=clock) as memory:
            memory.remember_many(drafts)
            found = [memory.recall(question, search="all", limit=limit) for question in questions for limit in (3, 50)]
            for each in found:
                checked_sums(each)
                assert each or each.empty_because
            answers.append(found)
    for one, *others in zip(*answers, strict=True):
        for other in others:
            assert texts(one) == texts(other) and one.empty_because == other.empty_because
            for a, b in zip(one, other, strict=True):
                assert a.score == pytest.approx(b.score, abs=1e-6)
                assert [s.name for s in a.signals] == [s.name for s in b.signals]
                for s, t in zip(a.signals, b.signals, strict=True):
                    assert (s.value, s.contribution) == pytest.approx((t.value, t.contribution), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_exact_gives_the_same_on_a_small_store(seed: int, memory: Memory) -> None:
    drafts, questions = random_store(seed)
    memory.remember_many(drafts)
    for question in questions:
        usual, exact = (memory.recall(question, search="all", exact=exact) for exact in (False, True))
        assert texts(usual) == texts(exact)
        assert [hit.score for hit in usual] == pytest.approx([hit.score for hit in exact], abs=1e-4)


# ---------------------------------------------------------------- the mix


def everything_there_is() -> Iterator[tuple[Candidate, Asked]]:
    """Candidates of every voice with and without neighbours, session and speaker, and questions that ask for all of it."""
    measured = {name: 1.0 for name in Candidate._fields if name != "fact"}
    for role in ("user", "assistant", "tool", None):
        for session in ("s", None):
            each = candidate(2, role=role, session=session, speaker="Ann", before=1, after=3)
            each = each._replace(**measured)
            yield each, Asked("x", ("Ann",), (THAT_DAY,), role=role if role in ("user", "assistant") else None)
            yield each, Asked("x")


def test_the_mix_has_a_weight_for_every_signal_of_every_voice() -> None:
    fitted = mix()
    asides = {f"{what} {group}" for what in ("standing", "here") for group in GROUPS.values()}
    assert asides | set(VOICES) <= set(fitted)
    assert all(math.isfinite(weight) for weights in fitted.values() for weight in weights.values())
    seen = set()
    for each, asked in everything_there_is():
        beside = [candidate(n, 0.1, 0.1, session=each.fact.session) for n in (1, 3)]
        table = Table([each, *beside], asked, fitted, closer={2: [("soft", 0.5), ("names", 1.0)]})
        names = {name for name, _ in table.features(each)}
        assert names <= set(fitted[voice(each.fact)]), "a signal without a weight"
        assert all(set(table.evidence) == set(fitted[aside]) for aside in asides)
        seen |= names
    assert {"words", "meaning", "before", "after", "session", "speaker", "when", "within", "role", "voice"} <= seen
    for who in VOICES:
        unused = set(fitted[who]) - seen - {"own_words", "own_meaning"}
        assert not unused, "a weight that no signal has"


def test_words_and_meaning_speak_for_a_memory_whoever_said_it() -> None:
    for who in VOICES:
        assert mix()[who]["words"] > 0 and mix()[who]["meaning"] > 0


# ---------------------------------------------------------------- who


TALK = [
    ("Ann", "Did you hear back from the landlord?"),
    ("Bo", "Yes, the rent goes up in May"),
    ("Ann", "That is a pity"),
    ("Bo", "Which colour did you choose for the nursery walls?"),
    ("Ann", "Mint, and a bit of white"),
    ("Bo", "Lovely"),
    ("Ann", "The cat was sick again"),
    ("Bo", "Poor thing"),
]


def talk(memory: Memory, session: str | None = "s1") -> None:
    memory.remember_many(
        [
            {"text": said, "kind": "turn", "speaker": who, "session": session, "at": MONDAY + timedelta(minutes=at)}
            for at, (who, said) in enumerate(TALK)
        ]
    )


def test_a_speaker_is_recognised_and_not_compared_by_meaning(memory: Memory) -> None:
    talk(memory)
    found = memory.explain("What did Bo say about the rent and the landlord?", search="sessions")
    notes = {step.stage: step.note for step in found.trace}
    assert notes["Recognise"] == "recognised: Bo"
    assert texts(found)[0] == "Yes, the rent goes up in May"
    for hit in found:
        assert (signal(hit, "speaker") > 0) == (hit.record.provenance.speaker == "Bo")
    same = memory.explain("What did say about the rent and the landlord?", search="sessions")
    for number in cosines(found).keys() & cosines(same).keys():  # a name says nothing about what was said
        assert cosines(found)[number] == pytest.approx(cosines(same)[number], abs=1e-6)


def cosines(found: Recall) -> dict[int, float]:
    return {hit.record.number: each.value for hit in found for each in hit.signals if each.name == "meaning"}


def test_two_speakers_of_a_question_prefer_neither(memory: Memory) -> None:
    talk(memory)
    found = memory.explain("What did Ann and Bo say about the landlord?", search="sessions")
    assert found and all(signal(hit, "speaker") == 0 for hit in found)


def test_a_name_that_is_all_of_the_question_is_looked_for(memory: Memory) -> None:
    talk(memory)
    found = memory.recall("Bo?", search="sessions")
    assert {hit.record.provenance.speaker for hit in found[:3]} == {"Bo"}


def test_a_name_is_recognised_only_where_that_person_speaks(memory: Memory) -> None:
    talk(memory)
    memory.remember("Bo has a key to the cellar")
    found = memory.explain("Does Bo have a key?", search="memory")
    assert {step.stage: step.note for step in found.trace}["Recognise"] is None
    assert texts(found)[0] == "Bo has a key to the cellar"


def test_what_a_user_said_comes_before_the_same_from_an_assistant() -> None:
    """The question and the text are the same, and only the voice differs."""
    said = [candidate(1, 0.5, 2.0, role="user"), candidate(2, 0.5, 2.0, role="assistant")]
    sums = Table(said, Asked("x"), mix()).sums
    assert sums[1] > sums[2]


# ---------------------------------------------------------------- when


LAST_WEEK = "what did we discuss with the supplier last week?"


def met_the_supplier(memory: Memory) -> None:
    for day in (1, 5, 10, 20, 40):
        said, at = f"We met the supplier about the steel, part {day}", MONDAY + timedelta(days=day)
        memory.remember(said, kind="turn", session=f"s{day}", at=at)


def test_a_time_that_a_question_names_lifts_what_happened_then(memory: Memory) -> None:
    met_the_supplier(memory)
    for asked, right in ((12, {1, 5}), (27, {20}), (47, {40})):
        found = memory.recall(LAST_WEEK, search="sessions", at=MONDAY + timedelta(days=asked))
        assert {int(text.split()[-1]) for text in texts(found)[: len(right)]} == right
        assert signal(found[0], "when") > signal(found[-1], "when")
    notes = {step.stage: step.note for step in found.trace}
    assert notes["Recognise"] == "recognised: last week"


def test_without_a_moment_of_asking_last_week_is_the_one_before_now(place: Path | str) -> None:
    clock = MovableClock(MONDAY + timedelta(days=47))
    with Memory(place, project="atlas", clock=clock) as memory:
        met_the_supplier(memory)
        now = memory.recall(LAST_WEEK, search="sessions")
        then = memory.recall(LAST_WEEK, search="sessions", at=clock())
        assert texts(now) == texts(then) and texts(now)[0].endswith("part 40")


def test_what_is_no_moment_is_refused(memory: Memory) -> None:
    with pytest.raises(Invalid, match="at must be a datetime, a date or a text"):
        memory.recall("last week", at=1_767_225_600)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="exact must be"):
        memory.recall("last week", exact="yes")  # type: ignore[arg-type]


def test_closeness_is_whole_inside_and_fades_on_both_sides() -> None:
    inside, edge = closeness(MONDAY + timedelta(hours=1), THAT_DAY), closeness(THAT_DAY.end, THAT_DAY)
    assert inside == 1 and 0.9 < edge <= 1
    for sign in (1, -1):
        far = [closeness(MONDAY + sign * timedelta(days=days), THAT_DAY) for days in (2, 10, 100, 10_000)]
        assert far == sorted(far, reverse=True) and 0 <= far[-1] < 1e-6 and 0 < far[0] < 1


# ---------------------------------------------------------------- what stands beside it


def test_the_turn_after_the_one_that_fits_is_lifted(memory: Memory) -> None:
    talk(memory)
    question = "Which colour did she choose for the nursery walls?"
    assert texts(memory.recall(question, search="sessions"))[:2] == [TALK[3][1], TALK[4][1]]
    answer = memory.recall(question, search="sessions")[1]
    assert signal(answer, "before") > 0


def test_no_neighbours_without_a_session(memory: Memory) -> None:
    talk(memory, session=None)
    found = memory.recall("Which colour did she choose for the nursery walls?", search="sessions", limit=8)
    names = {each.name for hit in found for each in hit.signals}
    assert names.isdisjoint({"before", "after", "session"})


def test_a_neighbour_that_nothing_else_would_bring_is_gathered(place: Path | str) -> None:
    """The answer shares no word with the question, and a hundred others are nearer in meaning."""
    with Memory(place, project="atlas", embed=HashEmbedder("a", 256, on_files=True)) as memory:
        talk(memory)
        memory.remember_many([{"text": f"colour {n}", "kind": "turn", "session": "other"} for n in range(150)])
        found = memory.recall("Which colour did she choose for the nursery walls?", search="sessions")
        looked_at = {hit.record.id for hit in found} | {id for step in found.trace for id in step.dropped}
        assert texts(found)[0] == TALK[3][1] and memory.get(5).text == TALK[4][1]
        assert memory.get(5).id in looked_at


def test_neighbours_are_those_of_the_same_session_and_scope(memory: Memory) -> None:
    memory.remember("Which colour did you choose for the nursery walls?", kind="turn", session="s1")
    memory.remember("Mint, and a bit of white", kind="turn", session="s2")
    memory.remember("Rather a warm white", kind="turn", session="s1", scope="user/ann")
    found = memory.recall("Which colour for the nursery walls?", search="sessions", user="ann", limit=9)
    assert all(signal(hit, "before") == 0 for hit in found)


def test_a_session_is_worth_its_best_three_turns() -> None:
    sums = []
    for turns in (1, 2, 3, 4):
        turned = [candidate(n, 0.5, 1.0, session="s") for n in range(1, turns + 1)]
        alone = candidate(9, 0.5, 1.0, session="t")
        table = Table([*turned, alone], Asked("x"), mixture(session=1.0, own_words=1.0, own_meaning=1.0))
        sums.append(table.sums[1])
        assert table.sums[9] == pytest.approx(sums[0])
    assert sums == pytest.approx([1.5 / BEST_OF_SESSION * min(n, BEST_OF_SESSION) for n in (1, 2, 3, 4)])
    bad = [candidate(1, 0.5, 1.0, session="s"), candidate(2, 0.0, -9.0, session="s")]
    table = Table(bad, Asked("x"), mixture(session=1.0, own_words=1.0, own_meaning=1.0))
    assert table.sums[1] == pytest.approx(0.5), "a turn that does not fit takes nothing from its session"


def test_standing_moves_no_rank_and_says_how_sure_the_best_is() -> None:
    said = [candidate(1, 0.9, 3.0), candidate(2, 0.1, 0.0)]
    table = Table(said, Asked("x"), mixture(words=2.0, meaning=1.0), closer={1: [], 2: []})
    assert table.sums[1] > table.sums[2] and table.standing_of(1) == 0.0 and table.chance == 0.5
    assert [s.name for s in table.signals(1)] == ["words", "meaning", "standing"]
    assert [s.name for s in table.signals(2)] == ["words", "standing"], "what counts for nothing is left out"


# ---------------------------------------------------------------- saying nothing


@pytest.mark.covers("W4-5")
@pytest.mark.parametrize(
    "question", ["what should I buy at the supermarket?", "milk, eggs, bread and butter", "How do I bake sourdough?"]
)
def test_a_question_that_belongs_elsewhere_is_answered_with_nothing(memory: Memory, question: str) -> None:
    memory.remember_many(CODE)
    found = memory.recall(question)
    assert not found and found.empty_because is not None
    assert "nothing here seems to answer this" in found.empty_because
    assert memory.context(question).text == ""
    dropped = next(step for step in found.trace if step.stage == "Abstain").dropped
    assert len(dropped) == len(CODE) and all("under" in reason for reason in dropped.values())


@pytest.mark.covers("W4-5")
def test_a_grocery_list_does_not_answer_a_question_about_code(memory: Memory) -> None:
    memory.remember("Groceries: milk, eggs, bread, apples, butter and two onions")
    assert not memory.recall("Why does my asyncio task get cancelled?")
    memory.remember_many(CODE)
    assert texts(memory.recall("Why does my asyncio task get cancelled?"))[0] == CODE[0]
    assert "Groceries" not in memory.context("Why does my asyncio task get cancelled?", limit=5).text


@pytest.mark.covers("W4-5")
@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("does anyone play music?", HOME[5]),
        ("database is blocked during writing", CODE[5]),
        ("what colour are the walls where we cook?", HOME[1]),
    ],
)
def test_a_paraphrase_is_found_at_a_cosine_that_a_floor_would_cut(memory: Memory, question: str, right: str) -> None:
    memory.remember_many(CODE if right in CODE else HOME)
    found = memory.recall(question)
    assert texts(found)[0] == right
    [cosine] = [each.value for each in found[0].signals if each.name == "meaning"]
    assert cosine < 0.7


def test_an_unknown_word_has_no_answer_whatever_the_store_holds(memory: Memory) -> None:
    memory.remember("Lunch is at noon")
    for question in ("qwertzuiop", "xyzzy", "flobnix grobnar"):
        found = memory.recall(question)
        assert not found and found.empty_because
    memory.remember_many([*CODE, *HOME])
    for question in ("qwertzuiop", "xyzzy", "flobnix grobnar"):
        found = memory.recall(question)
        assert not found and found.empty_because


def test_a_filter_that_leaves_nothing_is_named(memory: Memory) -> None:
    memory.remember_many(HOME)
    found = memory.recall("who plays the cello?", where={"tags": ["none"]})
    assert not found and found.empty_because is not None and "passes the filter" in found.empty_because


def test_filters_hold_for_words_meaning_and_neighbours(memory: Memory) -> None:
    talk(memory)
    memory.remember("Bo plays the cello", kind="turn", session="s1", speaker="Bo", tags=["music"])
    found = memory.recall("which instrument does Bo play?", search="sessions", where={"tags": ["music"]}, limit=20)
    assert texts(found) == ["Bo plays the cello"]
    said = memory.recall("was the cat sick again?", search="sessions", where={"speaker": "Ann"}, limit=20)
    assert texts(said)[0] == TALK[6][1]
    assert {hit.record.provenance.speaker for hit in said} == {"Ann"}


def test_once_the_deadline_has_passed_the_sums_still_hold(memory: Memory) -> None:
    memory.remember_many(HOME)
    found = memory.recall("who plays the cello?", deadline=1e-9)
    assert texts(found)[0] == HOME[5]
    checked_sums(found)
    skipped = [step.stage for step in found.trace if step.note and "deadline" in step.note]
    assert skipped == ["Rerank", "MarkConflicts", "NewestFirst"]


# ---------------------------------------------------------------- only what keeps up with the best


def kept_close(scores: Sequence[float], stage: KeepClose) -> list[float]:
    times = Times(MONDAY, MONDAY, MONDAY)
    hits = tuple(
        Hit(Record(f"m{n}", "default", "global", "fact", "x", times, number=n), score) for n, score in enumerate(scores)
    )
    search = Search("x", (), Where(Access()), 5, MONDAY, hits=hits)
    done = stage(search, None)  # type: ignore[arg-type]
    assert {hit.record.id for hit in done.hits} | set(done.dropped) == {hit.record.id for hit in hits}
    return [hit.score for hit in done.hits]


@pytest.mark.covers("C4-2")
def test_the_gate_for_prompts_keeps_what_keeps_up() -> None:
    stage = KeepClose()
    assert (stage.of_best, stage.of_previous, stage.most) == (0.90, 0.95, 5)
    assert kept_close([], stage) == []
    assert kept_close([0.001], stage) == [0.001], "it cannot reach zero: that is what abstaining is for"
    assert kept_close([0.5, 0.9, 0.88], stage) == [0.9, 0.88], "in any order"
    assert kept_close([1.0, 0.94], stage) == [1.0], "too far from the one before"
    assert kept_close([1.0, 0.96, 0.93, 0.89], stage) == [1.0, 0.96, 0.93], "too far from the best"
    assert kept_close([1.0, 0.94, 0.94], stage) == [1.0], "what comes after a gap is gone"
    assert kept_close([1.0] * 9, stage) == [1.0] * 5
    assert kept_close([1.0] * 9, KeepClose(most=7)) == [1.0] * 7


def test_the_gate_can_be_put_into_a_design(tmp_path: Path) -> None:
    file = tmp_path / "close.toml"
    file.write_text(
        'base = "balanced"\nstages = ["understand", "recognise", "gather", "blend", "believed", "abstain", "weigh", '
        '"keep_close", "keep_best"]\n[recall.keep_close]\nof_best = 0.5\nof_previous = 0.6\nmost = 3\n'
    )
    with Memory(":memory:", design=own.load(file)) as memory:
        memory.remember_many(HOME)
        assert texts(memory.recall("who plays the cello in an orchestra?")) == [HOME[5]]
        assert "dropped by KeepClose: score" in memory.why_not(1, "who plays the cello in an orchestra?")


# ---------------------------------------------------------------- places instead of sums


@pytest.mark.covers("C4-1")
def test_rank_fusion_can_be_chosen(tmp_path: Path, place: Path | str) -> None:
    file = tmp_path / "ranks.toml"
    file.write_text(
        'base = "balanced"\nstages = ["understand", "recognise", "gather", "fuse_ranks", "believed", "keep_best"]\n'
        "[recall.fuse_ranks]\nk = 10\n"
    )
    design = own.load(file)
    [stage] = [stage for stage in design.recall if isinstance(stage, FuseRanks)]
    assert stage.k == 10 and FuseRanks().k == 60
    with Memory(place, project="atlas", design=design) as memory:
        memory.remember_many(HOME)
        found = memory.recall("who plays the cello?", limit=8)
        assert texts(found)[0] == HOME[5]
        for hit in found:
            assert set(hit.why) == {"ranks"} and 0 < hit.score <= 1
            assert hit.score == pytest.approx(total(hit)) == pytest.approx(hit.why["ranks"])
            for each in hit.signals:
                assert each.contribution == pytest.approx((stage.k + 1) / (stage.k + each.scaled) / 2)
        assert found[0].score == 1, "first by words and by meaning"
        assert memory.recall("airplane was late")[0].record.text == HOME[6], "no floor under a cosine"


def test_a_design_may_gather_more_or_less(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        'base = "balanced"\n[recall.gather]\nwords = 1\nmeaning = 1\naround = 1\n[recall.abstain]\nbelow = 0'
    )
    with Memory(":memory:", design=own.load(file)) as memory:
        memory.remember_many([*CODE, *HOME])
        found = memory.recall("who plays the cello?", limit=1)
        assert texts(found) == [HOME[5]]
        note = next(step.note for step in found.trace if step.stage == "Blend")
        assert note is not None and int(note.split()[0]) <= 4, "twice the limit of each at least, and no more"


# ---------------------------------------------------------------- while a store moves to another model


def test_two_generations_are_read_together_and_never_mixed(place: Path | str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = MovableClock(MONDAY)
    with Memory(place, project="atlas", clock=clock, embed="static") as memory:
        memory.remember_many(HOME)
        other = using(memory, "layered")
        other.remember_many(CODE)
        store = other._tools.store
        states = {each.model.partition("-")[0]: each.state for each in store.generations()}
        assert states == {"static": "current", "layered": "filling"}
        compared: set[int] = set()
        whole = store.nearest

        def watched(generation: int, vector: Any, *rest: Any) -> Near:
            compared.add(generation)
            return whole(generation, vector, *rest)

        monkeypatch.setattr(store, "nearest", watched, raising=False)
        both = {text: other.recall(question)[0] for question, text in ASKED.items()}
        assert compared == {each.id for each in store.generations()}
        for text, hit in both.items():
            assert hit.record.text == text and signal(hit, "meaning") > 0
            model = "static" if text in HOME else "layered"
            [cosine] = [each.value for each in hit.signals if each.name == "meaning"]
            assert cosine == pytest.approx(alone(model, text), abs=0.02), "the cosine is that of its own generation"
        other.upkeep()
        assert [each.model.partition("-")[0] for each in store.generations()] == ["layered"]
        assert {text: other.recall(question)[0].record.text for question, text in ASKED.items()} == dict(
            zip(both, both, strict=True)
        )


def using(memory: Memory, embed: str) -> Memory:
    """The same store as another process sees it, which has that embedder."""
    other = copy.copy(memory)
    other._tools = replace(memory._tools, meaning=Meaning(memory._tools.store, chosen(embed, asked=True)))
    other._writer = Writer(memory._tools.store, memory._tools.clock, other._tools.meaning)
    return other


ASKED = {"who plays the cello?": HOME[5], "does SQLite lock a file?": CODE[5]}


def alone(model: str, text: str) -> float:
    """The cosine of the question for that text under that model, in a store that has nothing else."""
    question = next(question for question, right in ASKED.items() if right == text)
    with Memory(":memory:", embed=model) as memory:
        memory.remember(text)
        hit = memory.explain(question)[0]
        return next(each.value for each in hit.signals if each.name == "meaning")


def test_stages_print_and_compare_as_values() -> None:
    assert Gather() == Gather(words=80, meaning=80) and Blend() == Blend() and "k=60" in repr(FuseRanks())
