"""The test sets: our own keeps what it promises, and the readers of the public ones take labels as they are written."""

import gzip
import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from bench import sets, synthetic_text
from bench.loaders import beam, conflict, locomo, longmemeval
from bench.synthetic import synthetic

COMMON = set(
    """a about above abroad after and any are as at be because been before by can did do does for from get go goes has have how i
    in is it its may me much must my new not now of often on or our out over so take than that the their there they this to
    unless us use was way we were what when where which who why will with without would you your""".split()
)


def telling(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"[a-z]+", text.lower()) if word not in COMMON}


def test_our_own_set_is_large_enough_and_the_same_for_a_seed() -> None:
    test = synthetic()
    kinds = Counter(question.category for question in test.questions)
    assert test == synthetic() != synthetic(seed=12)
    assert test.documents >= 300 and len(test.questions) >= 120
    assert set(kinds) == {"same words", "other words", "by month", "speaker", "update", "unanswerable"}
    assert min(kinds.values()) >= 10


@pytest.mark.parametrize("fact", [*synthetic_text.WORK, *synthetic_text.CHAT], ids=lambda fact: fact.reworded)
def test_a_reworded_question_shares_no_telling_word(fact: synthetic_text.Fact) -> None:
    for value in fact.values:
        assert not telling(fact.told.format(value)) & telling(fact.reworded)
    assert telling(fact.told) & telling(fact.asked)


def test_evidence_points_at_documents_of_the_same_shelf() -> None:
    for shelf in synthetic().shelves:
        known = {document.id for document in shelf.documents}
        for question in shelf.questions:
            assert question.gold <= known and question.outdated <= known
            assert question.answerable == (question.category != "unanswerable")


def packed(path: Path, data: object) -> Path:
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    return path


def test_malformed_evidence_is_read_leniently_and_counted(tmp_path: Path) -> None:
    turns = [{"speaker": "Ida", "dia_id": f"D1:{n}", "text": f"text {n}"} for n in (1, 2, 3)]
    asked = [["D1:1; D1:2"], ["D:1:3"], ["D1:02"], ["D9:9"], [], ["nonsense"]]
    sample = {
        "sample_id": "c",
        "conversation": {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"},
        "qa": [{"question": "?", "evidence": evidence, "category": 4} for evidence in asked]
        + [{"question": "trap?", "evidence": ["D1:1"], "category": 5}],
    }
    test = locomo(packed(tmp_path / "l.json.gz", [sample]))
    assert [set(question.gold) for question in test.questions] == [{"D1:1", "D1:2"}, {"D1:3"}, {"D1:2"}, set()]
    assert test.notes == {"evidence ids that name no turn": 2, "questions without evidence": 3}
    first = test.shelves[0].documents[0]
    assert (first.session, first.speaker, first.said) == ("session_1", "Ida", "Ida: text 1")
    assert first.at is not None and first.at.isoformat() == "2023-05-08T13:56:00+00:00"


def test_a_haystack_knows_turns_sessions_and_the_moment_of_asking(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "here", "has_answer": True}, {"role": "assistant", "content": "\u200b"}]
    line = {
        "question_type": "single-session-user", "question": "?", "question_date": "2023/05/30 (Tue) 22:53",
        "answer_session_ids": ["s"], "haystack_session_ids": ["s"], "haystack_dates": ["2023/05/20 (Sat) 10:44"],
    }  # fmt: skip
    lines = [{**line, "question_id": "1"}, {**line, "question_id": "2_abs"}]
    test = longmemeval(packed(tmp_path / "m.json.gz", {"sessions": {"s": turns}, "questions": lines}))
    known, unknown = test.questions
    assert (known.gold, known.sessions, unknown.answerable) == ({"s#0"}, {"s"}, False)
    assert known.at == datetime.fromisoformat("2023-05-30T22:53:00+00:00") and test.notes == {"turns without a word": 2}


def test_evidence_in_tables_of_lists_is_found(tmp_path: Path) -> None:
    turns = [[{"role": "user", "id": n, "content": f"text {n}", "time_anchor": "March-15-2024"} for n in range(4)]]
    asked = {
        "temporal_reasoning": [{"question": "?", "source_chat_ids": {"first": [1], "second": [3, 99]}}],
        "abstention": [{"question": "??"}],
        "preference_following": [{"question": "???", "source_chat_ids": []}],
    }
    chat = {"id": "100K/1", "chat": [{"batch_number": 1, "turns": turns}], "probing_questions": asked}
    test = beam(packed(tmp_path / "b.json.gz", [chat]))
    assert [set(question.gold) for question in test.questions] == [{"1", "3"}, set()]
    assert test.notes == {"questions without evidence": 1} and test.shelves[0].name == "100K-1"


def test_a_replaced_fact_knows_what_it_replaced(tmp_path: Path) -> None:
    facts = "Facts:\n0. The cup is red.\n1. The hat is blue.\n2. The cup is green.\n"
    line = {
        "context": facts, "questions": ["Which colour is the cup?"], "answers": [["green"]],
        "metadata": {"source": "factconsolidation_sh_1k"},
    }  # fmt: skip
    (question,) = conflict(packed(tmp_path / "c.json.gz", [line])).questions
    assert (set(question.gold), set(question.outdated)) == ({"2"}, {"0"})


def test_a_folder_without_the_sets_offers_our_own(tmp_path: Path) -> None:
    assert sets.available(tmp_path) == ["synthetic"]
    assert sets.load("synthetic", tmp_path).name == "synthetic"
    halves = [sets.half(synthetic(), which) for which in (1, 2)]
    assert [len(part.shelves) for part in halves] == [2, 2] and halves[0].shelves[0] != halves[1].shelves[0]
