"""A cross-encoder by its folder: named in the settings or by the caller, asked about the best, told where it cannot be used."""

import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

import bert_graph
from memorist import Memory
from memorist.errors import Invalid
from memorist.models.convert import convert
from memorist.models.onnx import OnnxReranker
from memorist.surfaces import settings

NESTS = ["A heron nests near the weir", "The stork nests on the roof", "The mill of the river"]


@pytest.fixture
def judge(tmp_path: Path) -> Path:
    """The folder of a small but real cross-encoder."""
    return convert(bert_graph.write_model(bert_graph.seeded(judges=True), tmp_path / "weights"), tmp_path / "judge")


def filled(memory: Memory) -> Memory:
    for text in NESTS:
        memory.remember(text)
    return memory


def note_of(memory: Memory, question: str = "where does the heron nest?") -> str | None:
    return next(step.note for step in memory.explain(question).trace if step.stage == "Rerank")


@pytest.mark.parametrize("design", ["balanced", "curated"])
def test_a_cross_encoder_is_asked_about_what_was_found(design: str, judge: Path) -> None:
    question = "where do nests of a heron or a stork lie, near the river?"
    with Memory(":memory:", design=design, rerank=f"onnx:{judge}") as memory:
        found = filled(memory).explain(question, min_relevance=0)
        said = dict(zip(texts := [hit.text for hit in found], OnnxReranker(judge)(question, texts), strict=True))
        by = {hit.text: hit.why["rerank"] for hit in found}
        assert len(by) > 1 and {"judged again"} == {str(note_of(memory, question)).partition("were ")[2]}
        odds = {
            text: (share / (1 - share)) ** (1 / 3) if design == "balanced" else share for text, share in said.items()
        }
        assert by == pytest.approx(odds, rel=1e-3)


def test_a_second_opinion_of_one_half_changes_nothing_and_others_move_the_order() -> None:
    def asked(by: Sequence[float] | None) -> dict[str, float]:
        judge = None if by is None else (lambda _, texts: [by[NESTS.index(text)] for text in texts])
        with Memory(":memory:", rerank=judge) as memory:
            return {hit.text: hit.score for hit in filled(memory).recall("the heron, the stork and the mill")}

    plain = asked(None)
    assert set(plain) == set(NESTS)
    assert asked([0.5, 0.5, 0.5]) == pytest.approx(plain)
    for first in range(3):
        found = asked([0.95 if place == first else 0.2 for place in range(3)])
        assert next(iter(found)) == NESTS[first] and found[NESTS[first]] > plain[NESTS[first]]


def test_the_setting_holds_unless_the_caller_says_otherwise(judge: Path, tmp_path: Path) -> None:
    settings.set_setting("rerank", f"onnx:{judge.name}", judge.parent)
    assert settings.get_setting("rerank") == f"onnx:{judge}"
    with Memory(tmp_path / "memory.db") as memory:
        assert "judged again" in str(note_of(filled(memory)))
        assert memory.status()["reranker"].startswith("onnx:judge@")
        assert all(memory.doctor())
    with Memory(tmp_path / "memory.db", rerank="none") as memory:
        assert note_of(memory) is None and "reranker" not in memory.status()
    with Memory(tmp_path / "memory.db", rerank=lambda question, texts: [1.0] * len(texts)) as memory:
        assert memory.status()["reranker"] == "a function of the caller's" and all(memory.doctor())


def test_no_file_of_a_clone_names_a_reranker(judge: Path, tmp_path: Path) -> None:
    (tmp_path / ".memorist.toml").write_text(f'rerank = "onnx:{judge}"\n')
    found = settings.load(tmp_path)
    assert found.rerank == "none" and "may not set 'rerank'" in found.problems["rerank"]


def test_a_folder_is_opened_with_the_first_question_only(judge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    started = OnnxReranker.__init__
    monkeypatch.setattr(OnnxReranker, "__init__", lambda self, folder: opened.append(folder) or started(self, folder))  # type: ignore[func-returns-value]
    with Memory(":memory:", rerank=f"onnx:{judge}") as memory:
        filled(memory)
        assert opened == []
        assert memory.recall("heron") and memory.recall("stork")
        assert opened == [judge]


def test_a_reranker_that_cannot_be_used_is_said_everywhere_and_the_answer_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Memory(tmp_path / "memory.db", rerank=f"onnx:{tmp_path / 'gone'}") as memory:
        with caplog.at_level(logging.WARNING, "memorist"):
            assert filled(memory).recall("heron") and memory.recall("stork")
        assert caplog.text.count("answers keep their order: the reranker in") == 1
        because = "holds no model.onnx"
        assert because in str(note_of(memory)) and because in memory.status()["reranker"]
        [wrong] = [each for each in memory.doctor() if not each]
        assert wrong.check == "reranker" and because in wrong.detail and "memorist model" in wrong.advice


def test_an_embedder_that_cannot_be_used_is_found_by_the_doctor(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embed="http://127.0.0.1:1/v1/embeddings?model=toy") as memory:
        [wrong] = [each for each in memory.doctor() if not each]
    assert wrong.check == "embedder" and "cannot be reached" in wrong.detail


@pytest.mark.parametrize("wrong", ["minilm", "onnx:", "static", "https://host/rerank", ""])
def test_a_name_that_cannot_work_is_refused(wrong: str) -> None:
    with pytest.raises(Invalid, match=r"rerank must be none, or onnx:FOLDER for a cross-encoder"):
        Memory(":memory:", rerank=wrong)
    with pytest.raises(Invalid, match="rerank must be none"):
        settings.set_setting("rerank", wrong)


def test_the_longer_one_of_a_pair_is_cut_and_the_deadline_holds(judge: Path) -> None:
    reranker = OnnxReranker(judge)
    ids = reranker._tokens.ids
    for question, text, lengths in [
        ("heron", "the mill " * 30, (1, 12)),
        ("the mill " * 30, "heron", (12, 1)),
        ("the mill " * 30, "the mill " * 30, (7, 6)),
        ("heron", "stork", (1, 1)),
        ("", "", (0, 0)),
    ]:
        pair, first = reranker._pair(ids(question), ids(text))
        assert (first - 2, len(pair) - first - 1) == lengths and len(pair) <= 16
        assert 0 <= reranker(question, [text])[0] <= 1
    with Memory(":memory:", rerank=f"onnx:{judge}") as memory:
        filled(memory)
        found = memory.recall("heron", deadline=1e-6)
        assert found[0].text == NESTS[0] and all("rerank" not in hit.why for hit in found)
