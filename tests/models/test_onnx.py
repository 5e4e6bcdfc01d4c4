"""Models from a folder: they give what their graphs say, are named by what decides their vectors, and say what is wrong."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy
import pytest

from memorist import Memory
from memorist.errors import Invalid, ModelUnavailable
from memorist.models.embed import checked
from memorist.models.onnx import NamedReranker, OnnxEmbedder
from memorist.surfaces import settings
from models.toy_graph import WORDS, rows, write_model

TEXTS = ["The heron nests near the river", "a stork", "", "unseen words, mills", "the mill " * 30]
IDS = [
    "[CLS] the heron nests near the river [SEP]",
    "[CLS] a stork [SEP]",
    "[CLS] [SEP]",
    "[CLS] [UNK] [UNK] , mill ##s [SEP]",
    "[CLS] " + "the mill " * 7 + "[SEP]",  # cut to what the model can take
]
NESTS = ["A heron nests near the weir", "The stork nests on the roof", "The mill of the river"]


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return write_model(tmp_path / "toy")


@pytest.fixture
def judge(tmp_path: Path) -> Path:
    return write_model(tmp_path / "judge", size=1, joined=True)


def tokens(line: str) -> list[int]:
    return [WORDS.index(word) for word in line.split()]


def unit(vectors: Sequence[object]) -> object:
    table = numpy.stack(vectors)
    return table / numpy.linalg.norm(table, axis=1, keepdims=True)


def test_a_graph_gives_what_its_rows_say_in_whatever_company(toy: Path) -> None:
    embedder = OnnxEmbedder(toy)
    vectors = checked(embedder, TEXTS)
    assert numpy.allclose(vectors, unit([rows()[tokens(line)].mean(axis=0) for line in IDS]), atol=1e-5)
    assert (embedder.dimension, embedder.cheap, checked(embedder, []).shape) == (24, False, (0, 24))
    assert numpy.allclose(vectors, numpy.concatenate([checked(embedder, [text]) for text in TEXTS]), atol=1e-6)


def test_the_folder_says_how_tokens_become_one_vector(toy: Path, tmp_path: Path) -> None:
    (toy / "1_Pooling").mkdir()
    (toy / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert numpy.allclose(checked(OnnxEmbedder(toy), TEXTS), unit([rows()[WORDS.index("[CLS]")]] * 5), atol=1e-5)
    joined = write_model(tmp_path / "joined", joined=True)
    summed = [rows()[tokens(line)].sum(axis=0) for line in IDS]
    assert numpy.allclose(checked(OnnxEmbedder(joined), TEXTS), unit(summed), atol=1e-5), "a graph that pools itself"


def test_whatever_changes_a_vector_makes_it_another_model(toy: Path) -> None:
    names = [OnnxEmbedder(toy).name]
    assert OnnxEmbedder(toy).name == names[0] and names[0].startswith("onnx:toy@")
    for change in (
        lambda: (toy / "sentence_bert_config.json").write_text('{"max_seq_length": 4}'),
        lambda: (
            (toy / "1_Pooling").mkdir()
            or (toy / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}')
        ),
        lambda: (toy / "tokenizer.json").write_text((toy / "tokenizer.json").read_text().replace("mill", "mile")),
        lambda: (toy / "model.onnx").write_bytes(
            (write_model(toy.parent / "toy2", seed=8) / "model.onnx").read_bytes()
        ),
    ):
        change()
        names.append(OnnxEmbedder(toy).name)
    assert len(set(names)) == 5


BROKEN: dict[str, Callable[[Path], object]] = {
    "holds no model.onnx": lambda folder: (folder / "model.onnx").unlink(),
    "cannot be opened": lambda folder: (folder / "model.onnx").write_bytes(b"no graph"),
    "cannot be opened: ": lambda folder: (folder / "tokenizer.json").unlink(),
    "as JSON": lambda folder: (folder / "config.json").write_text("{"),
    "joins its tokens by 'Dense'": lambda folder: (folder / "modules.json").write_text('[{"type": "a.Dense"}]'),
    "joins its tokens by 'max'": lambda folder: (folder / "1_Pooling").mkdir() or (folder / "1_Pooling/config.json").write_text(
        '{"pooling_mode": "max"}'
    ),
    "name it as `rerank`": lambda folder: write_model(folder, size=1, joined=True),
}  # fmt: skip


@pytest.mark.parametrize("because", BROKEN)
def test_a_broken_folder_says_what_is_wrong_and_words_go_on(because: str, toy: Path, tmp_path: Path) -> None:
    BROKEN[because](toy)
    with pytest.raises((Invalid, ModelUnavailable), match=because):
        OnnxEmbedder(toy)
    with Memory(tmp_path / "memory.db", embed=f"onnx:{toy}") as memory:
        memory.remember("Heron at the weir")
        assert memory.recall("heron") and because in memory.status()["embedder"]
        assert because in str(memory.upkeep()[0].advice)


def filled(memory: Memory) -> Memory:
    for text in NESTS:
        memory.remember(text)
    return memory


def note_of(memory: Memory, question: str = "where does the heron nest?") -> str:
    return str(next((step.note for step in memory.explain(question).trace if step.stage == "Rerank"), None))


def test_a_cross_encoder_reads_query_and_text_together(judge: Path) -> None:
    [number] = NamedReranker(str(judge))("heron", ["stork"])
    logit = rows(1)[tokens("[CLS] heron [SEP] stork [SEP]")].sum()
    assert number == pytest.approx(1 / (1 + numpy.exp(-logit)), rel=1e-5)
    assert all(0 <= each <= 1 for each in NamedReranker(str(judge))("the mill " * 30, ["the mill " * 30, ""]))
    with pytest.raises(Invalid, match="name it as `embed`"):
        NamedReranker(str(write_model(judge)))("heron", ["stork"])


@pytest.mark.parametrize("design", ["balanced", "curated"])
def test_it_is_asked_about_what_was_found(design: str, judge: Path) -> None:
    question = "where do nests of a heron or a stork lie, near the river?"
    with Memory(":memory:", design=design, rerank=f"onnx:{judge}") as memory:
        hits = filled(memory).explain(question, min_relevance=0)
        texts = [hit.text for hit in hits]
        shares = dict(zip(texts, NamedReranker(str(judge))(question, texts), strict=True))
        if design == "balanced":
            shares = {text: (share / (1 - share)) ** (1 / 3) for text, share in shares.items()}
        assert len(texts) > 1 and "judged again" in note_of(memory, question)
        assert {hit.text: hit.why["rerank"] for hit in hits} == pytest.approx(shares, rel=1e-3)
        late = memory.recall("heron", deadline=1e-6)
        assert late[0].text == NESTS[0] and all("rerank" not in hit.why for hit in late)


def test_the_setting_is_used_unless_the_caller_says_otherwise(judge: Path, tmp_path: Path) -> None:
    settings.set_setting("rerank", f"onnx:{judge.name}", judge.parent)
    with Memory(tmp_path / "memory.db") as memory:
        assert "judged again" in note_of(filled(memory)) and all(memory.doctor())
        assert memory.status()["reranker"].startswith("onnx:judge@")
    with Memory(tmp_path / "memory.db", rerank="none") as memory:
        assert note_of(memory) == "None" and "reranker" not in memory.status()
    with Memory(tmp_path / "memory.db", rerank=lambda question, texts: [1.0] * len(texts)) as memory:
        assert memory.status()["reranker"] == "a function of the caller's" and all(memory.doctor())
    (tmp_path / ".memorist.toml").write_text(f'rerank = "onnx:{judge}"\n')
    assert "may not set 'rerank'" in settings.load(tmp_path).problems["rerank"], "no file of a clone names one"


def test_a_reranker_that_cannot_be_used_is_named_everywhere_and_the_order_stays(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", rerank=f"onnx:{tmp_path / 'gone'}") as memory:
        assert filled(memory).recall("heron") and memory.recall("stork")
        assert "holds no model.onnx" in note_of(memory) and "holds no model.onnx" in memory.status()["reranker"]
        [wrong] = [each for each in memory.doctor() if not each]
        assert wrong.check == "reranker" and "holds no model" in wrong.detail and "memorist model" in wrong.advice
