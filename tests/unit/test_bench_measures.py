"""The measures say what their names promise, on rankings small enough to count by hand."""

import math

from bench.abstention import FOREIGN, foreign, judged
from bench.measures import Score, ahead, auc, f1, measured, sessions_of, summary
from bench.sets import Question
from bench.synthetic import synthetic


def test_one_ranking_counted_by_hand() -> None:
    found = measured(["x", "a", "y", "b"], {"a", "b", "c"})
    assert found["any@1"] == 0 and found["any@5"] == 1 and found["all@20"] == 0
    assert found["rec@5"] == found["rec@20"] == 2 / 3
    assert found["mrr"] == 1 / 2
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert math.isclose(found["ndcg@10"], (1 / math.log2(3) + 1 / math.log2(5)) / ideal)


def test_a_perfect_and_an_empty_ranking() -> None:
    assert set(measured(["a", "b"], {"a", "b"}).values()) == {1.0}
    assert set(measured([], {"a"}).values()) == {0.0}


def test_intervals_hold_the_mean_and_are_the_same_every_time() -> None:
    rows = [measured(["a"], {"a"}) for _ in range(30)] + [measured([], {"a"}) for _ in range(10)]
    score = summary(rows)["any@1"]
    assert score.mean == 75 and 55 < score.low < 75 < score.high < 95 and score.count == 40
    assert summary(rows) == summary(rows) and summary([]) == {}


def test_being_ahead_is_counted_question_by_question() -> None:
    hit, miss = measured(["a"], {"a"}), measured([], {"a"})
    assert ahead([hit, miss] * 20, [hit, miss] * 20, "rec@10") == Score(0.0, 0.0, 0.0, 40)
    assert ahead([hit, hit] * 20, [hit, miss] * 20, "rec@10").mean == 50


def test_sessions_come_by_their_best_turn() -> None:
    assert sessions_of(["3", "1", "2"], {"1": "a", "2": "b", "3": "b"}) == ["b", "a"]


def test_how_well_a_score_tells_questions_apart() -> None:
    assert auc([0.9, 0.8], [0.1]) == 1.0 and auc([0.1], [0.1]) == 0.5 and math.isnan(auc([], [1.0]))
    assert f1(3, 4, 6) == (75.0, 50.0, 60.0) and f1(0, 0, 5) == (0.0, 0.0, 0.0)


def test_saying_nothing_is_judged_by_kind_of_question() -> None:
    known = Question("k", "?", gold=frozenset({"a"}))
    asked = [(known, False, 0.9), (known, True, 0.0)]
    asked += [(Question("f", "?", category=FOREIGN), True, 0.1), (Question("t", "?"), False, 0.95)]
    other, topic = judged(asked)
    assert (other.group, other.scores, topic.group, topic.scores) == (
        "foreign",
        (50.0, 100.0, 200 / 3),
        "in-topic",
        (0.0, 0.0, 0.0),
    )


def test_foreign_questions_come_from_other_shelves_and_are_the_same_every_time() -> None:
    test = synthetic()
    picked = foreign(test, 0)
    assert picked == foreign(test, 0) != foreign(test, 1)
    assert not {question.id for question in picked} & {question.id for question in test.shelves[0].questions}
    assert not any(question.answerable for question in picked)
