"""What one question read is there for the next one, exactly as long as nothing was written; and what is looked at only where it can
matter gives the same as looking everywhere."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memorist.text.gist import BACK, CUES, DAYS, DENYING, NUMBERS, gist, may_tell

from memorist import Memory
from memorist.models import pairs
from memorist.models.coverage import Coverage, _tokens
from memorist.models.embed import loaded_table
from memorist.recall.pipeline import Search
from memorist.recall.stages.words import meant_by, misspelt
from memorist.store.nouns import Fact, shelf_of
from memorist.store.protocol import Store
from memorist.store.sqlite import connection, read
from memorist.store.where import Where
from memorist.text.claims import claims, slots_in
from memorist.text.twins import distance

NOTES = ("the door code is 4711", "Since Monday the door code is 0815", "Ann moved to Lima", "we meet at nine", "no")


SAYINGS = [
    *CUES,
    *BACK,
    *DENYING,
    *DAYS,
    *NUMBERS,
    *"Anna's Ben’s now's IT'S 9:30 12 v1.2 x-7# Rome tea tea's is ? .".split(),
]
ASKED = ("where does the zebra sleep", "who flies a zeppelin", "what does the zealot pray for at night")


def read_by(memory: Memory) -> list[tuple[list[Fact], dict[int, float], dict[int, float]]]:
    """What the store tells of all records for each question: facts, scores by words, and those of the ones asked about."""
    store, shelves = memory._tools.store, [shelf_of(memory.get(1))]
    found, numbers = [], list(range(1, 12))
    for question in ASKED:
        matched = store.match(question.split(), shelves, Where(memory.access), 5)
        facts = store.facts(numbers, shelves, Where(memory.access).also("kind", "ne", "task"))
        found.append((facts, dict(matched.scores), store.score(matched.yardstick, shelves, numbers)))
    return found


def words_of(memory: Memory, begin: str) -> list[str]:
    store: Store = memory._tools.store
    record = memory.get(1)
    return store.vocabulary(begin, [shelf_of(record)], Where(memory.access), 100)


def test_the_next_question_sees_what_anybody_wrote_since(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as mine, Memory(tmp_path / "a.db") as other:
        mine.remember("the zebra sleeps")
        assert words_of(mine, "ze") == words_of(mine, "ze") == ["zebra"]
        other.remember("a zeppelin flies")
        assert words_of(mine, "ze") == ["zebra", "zeppelin"], "written over another connection"
        mine.remember("a zealot prays")
        assert words_of(mine, "ze") == ["zealot", "zebra", "zeppelin"], "written over this one"
        other.erase(2)
        assert words_of(mine, "ze") == ["zealot", "zebra"], "what was erased is not remembered here"


@pytest.mark.parametrize("most", [1, 3, 2000])
def test_what_is_kept_of_an_earlier_question_is_what_a_newcomer_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    for name in ("TERMS_AT_MOST", "WORDS_AT_MOST", "FACTS_AT_MOST", "HELD_AT_MOST"):
        monkeypatch.setattr(read, name, most)
    monkeypatch.setattr(connection, "KEYS_AT_MOST", 1)
    path = tmp_path / "a.db"
    with Memory(path) as mine, Memory(path) as other:
        mine.remember("the zebra sleeps")
        steps = (
            lambda: other.remember("a zeppelin flies at night"),
            lambda: mine.remember("a zealot prays", session="s"),
            lambda: mine.remember("the zealot sleeps", session="s"),
            lambda: other.revise(1, "the zebra never sleeps at night"),
            lambda: other.feedback(2, "useful"),
            lambda: mine.forget(3),
            lambda: other.erase(2),
        )
        for step in steps:
            step()
            with Memory(path) as newcomer:
                fresh = read_by(newcomer)
            assert read_by(mine) == fresh == read_by(mine)


def test_what_was_rolled_back_was_never_seen(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("the zebra sleeps")
        assert words_of(memory, "ze") == ["zebra"]
        store = memory._tools.store
        with pytest.raises(KeyError), store.transaction():
            memory.remember("a zeppelin flies")
            assert words_of(memory, "ze") == ["zebra", "zeppelin"], "who writes sees it"
            raise KeyError
        assert words_of(memory, "ze") == ["zebra"]


@given(
    st.lists(st.text("abst", min_size=4, max_size=9), min_size=1, max_size=30), st.text("abst", min_size=4, max_size=9)
)
def test_of_all_words_that_may_be_meant_the_nearest_is(words: list[str], term: str) -> None:
    with Memory(":memory:", embed="none") as memory:
        memory.remember(" ".join(words))
        shelves = (shelf_of(memory.get(1)),)
        search, tools = Search("q", shelves, Where(memory.access), 5, memory._tools.clock()), memory._tools
        every = misspelt(term, search, tools, 0.25)
        best = max(every, key=lambda each: (each.weight, each.term), default=None)
        assert meant_by(term, search, tools, 0.25) == (best.term if best else None)


@given(st.sampled_from(NOTES), st.sampled_from(NOTES), st.text("ab 4:x", max_size=12))
def test_no_pair_is_surer_than_the_most_it_may_be(old: str, new: str, more: str) -> None:
    for was, now in ((old, new), (old, f"{new} {more}"), (f"{old} {more}", new)):
        assert pairs._without_meaning(was, now) <= pairs._at_most(was, now)


@given(st.lists(st.sampled_from(SAYINGS), min_size=1, max_size=12).map(" ".join), st.sampled_from(NOTES))
def test_no_text_tells_of_a_change_that_a_look_at_its_words_rules_out(said: str, note: str) -> None:
    for text in (said, note, f"{note} {said}", f"{said.title()} {note}"):
        assert may_tell(text) or not gist(text).tells


@given(
    st.lists(st.sampled_from([*SAYINGS, *NOTES, "The port is 80.", "Use tea."]), min_size=1, max_size=12).map(" ".join)
)
def test_slots_alone_are_those_of_all_claims(said: str) -> None:
    for text in (said, said.capitalize(), f"{said}. The quota of Ann is {said}"):
        assert slots_in(text) == claims(text).slots


@given(*[st.lists(st.sampled_from(SAYINGS), min_size=1, max_size=12).map(" ".join)] * 3, st.sampled_from(NOTES))
def test_no_pair_is_surer_than_a_glance_allows(one: str, two: str, more: str, note: str) -> None:
    for was, now in ((one, two), (note, one), (f"{one} {more}", f"{one} {two}"), (f"{note} {one}", f"{note} {two}")):
        assert pairs.sure(was, now) <= pairs._at_a_glance(was, now)
        assert not pairs.reaches(was, now, pairs.least("order")) or pairs.may_reach(was, now, pairs.least("order"))


@pytest.mark.parametrize("count", [1, 15, 64, 65, 200])
def test_a_question_of_any_length_is_compared_token_by_token(count: int) -> None:
    words = [word for word in loaded_table().tokens._ids if word.isalpha() and word.isascii()]
    question, texts = (
        " ".join(words[5000 : 5000 + count]),
        [" ".join(words[n * 97 : n * 97 + n + 1]) for n in range(70)],
    )

    def row(ids: Sequence[int]) -> np.ndarray:
        table = loaded_table()
        return table.rows[list(ids)] * table.scales[list(ids)][:, None]

    def unit(ids: Sequence[int]) -> np.ndarray:
        return row(ids) / np.maximum(np.linalg.norm(row(ids), axis=1), 1e-9)[:, None]

    asked = list(dict.fromkeys(_tokens(question)))
    weights = np.linalg.norm(row(asked), axis=1)
    plain = [(unit(_tokens(text)) @ unit(asked).T).max(axis=0) @ weights / weights.sum() for text in texts]
    assert Coverage(question).of(texts) == pytest.approx(plain, abs=1e-5)


@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.text("abc", max_size=4), st.text("abc", max_size=4))
def test_letters_that_both_begin_and_end_with_make_no_difference(a: str, b: str, head: str, tail: str) -> None:
    assert distance(head + a + tail, head + b + tail, 20) == distance(a, b, 20)
