"""Embedders: which names there are, what is checked on every call, and the three kinds of them."""

import itertools
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy
import pytest

import bert_graph
from memorist import Memory
from memorist.errors import Invalid, ModelUnavailable, StoreUnavailable
from memorist.models import remote
from memorist.models.embed import checked, checked_name, chosen
from memorist.models.onnx import OnnxEmbedder
from memorist.models.remote import RemoteEmbedder
from memorist.noun import plain
from memorist.surfaces import settings
from memorist.testing import HashEmbedder

# ---------------------------------------------------------------- names


@pytest.mark.covers("W2-7")
@pytest.mark.parametrize("name", ["hash", "fake", "mock", "test", "random", "memorist.testing", "hash-a-32@test",
                                  "", "Static", "static:7", "layered:64", "onnx:", "ftp://host/embeddings?model=x",
                                  "static-256"])  # fmt: skip
def test_no_other_name_is_an_embedder(name: str) -> None:
    with pytest.raises(Invalid, match="layered, static, static:128, static:64, none, onnx:FOLDER"):
        chosen(name)
    with pytest.raises(Invalid):
        Memory(":memory:", embed=name)
    with pytest.raises(Invalid):
        settings.set_setting("embed", name)


@pytest.mark.covers("W2-7")
def test_the_fake_one_needs_a_test_tool_to_be_imported_at_all() -> None:
    code = (
        "import sys; sys.modules['pytest'] = None\ntry: import memorist.testing\nexcept ImportError: print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "refused"
    src = Path(settings.__file__).parents[1]
    naming = [file for file in src.rglob("*.py") if "HashEmbedder" in file.read_text(encoding="utf-8")]
    assert {file.parent.name for file in naming} == {"testing"}


@pytest.mark.parametrize("name", ["static", "static:128", "static:64", "layered", "none", "onnx:/models/x",
                                  "https://h/v1/embeddings?model=m&key=A_KEY&dimensions=512"])  # fmt: skip
def test_these_names_are_embedders_and_nothing_is_opened_yet(name: str) -> None:
    assert checked_name(name) == name
    assert chosen(name).cheap == name.startswith(("static", "layered"))


def test_an_object_must_have_all_four() -> None:
    class Half:
        name = "half"

    with pytest.raises(Invalid, match="has no dimension"):
        chosen(Half())  # type: ignore[arg-type]
    nameless = HashEmbedder(on_files=True)
    nameless.name = " "
    with pytest.raises(Invalid, match="which model it is"):
        Memory(":memory:", embed=nameless)


@pytest.mark.parametrize("name", ["\ud800x", "x" * 201, "x\x00y", "x\x1b[31m", "x\ny", "x\u202ey", None, 7, "none"])
def test_a_name_that_cannot_be_stored_or_shown_is_refused_at_once(name: Any) -> None:
    odd = HashEmbedder(on_files=True)
    odd.name = name
    with pytest.raises(Invalid, match="the name of an embedder") as refused:
        Memory(":memory:", embed=odd)
    assert str(refused.value).isprintable() and len(str(refused.value)) < 250


def test_a_name_that_cannot_be_read_is_refused_and_a_dimension_is_not_asked_for() -> None:
    class Costly(HashEmbedder):
        name = property(lambda self: 1 / 0, lambda self, value: None)
        dimension = property(lambda self: pytest.fail("a server was asked"), lambda self, value: None)

    with pytest.raises(Invalid, match=r"cannot be read \(ZeroDivisionError"):
        chosen(Costly())
    with Memory(":memory:", embed=type("Named", (Costly,), {"name": "named"})()) as memory:
        assert memory.count() == 0


@pytest.mark.parametrize("folder", ["~nosuchuser/x", "x" * 5000, "a\x00b", "/dev/null", "/"])
def test_a_folder_that_cannot_be_one_costs_only_meaning(folder: str, tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embed=f"onnx:{folder}") as memory:
        assert memory.remember("Heron at the weir").outcome == "added"
        assert memory.recall("heron")
        said = memory.status()["embedder"]
        assert ("cannot be opened" in said or "holds no model" in said) and said.isprintable() and len(said) < 500
        assert memory.upkeep()


def test_opening_imports_no_model_and_no_numbers() -> None:
    code = (
        "import sys; from memorist import Memory\n"
        "with Memory(':memory:') as memory: memory.list()\n"
        "print(sorted({'numpy', 'httpx2', 'onnxruntime'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------- what is checked on every call


class Given:
    """Answers whatever it is told to."""

    name, cheap = "given", True

    def __init__(self, answer: object, dimension: Any = 3) -> None:
        self.answer, self.dimension = answer, dimension

    def embed(self, texts: Sequence[str]) -> Any:
        return self.answer() if callable(self.answer) else self.answer


def raising(problem: type[Exception]) -> Callable[[], object]:
    def fail() -> object:
        raise problem

    return fail


WRONG: dict[str, tuple[object, object, str]] = {
    "dimension": ([[1.0, 2.0]], 3, "shape"),
    "count": ([[1.0, 2.0, 3.0]] * 2, 3, "shape"),
    "flat": ([1.0, 2.0, 3.0], 3, "shape"),
    "nan": ([[1.0, float("nan"), 3.0]], 3, "not finite"),
    "infinite": ([[1.0, float("inf"), 3.0]], 3, "not finite"),
    "boundless": ([[1.0, 1e300, 3.0]], 3, "not finite"),
    "ragged": ([[1.0], [1.0, 2.0]], 3, "rows of numbers"),
    "words": ([["a", "b", "c"]], 3, "rows of numbers"),
    "nothing": (None, 3, "rows of numbers|shape"),
    "huge": ([[0.0] * 1_000_000], 1_000_000, "dimension 1000000"),
    "no dimension": ([[1.0]], None, "dimension None"),
    "zero dimension": ([[]], 0, "dimension 0"),
    "unspeakable dimension": ([[1.0]], type("Mute", (), {"__repr__": lambda self: 1 / 0})(), "a very long Mute"),
    "fails": (lambda: 1 / 0, 3, "ZeroDivisionError"),
    "fails as a store does": (raising(StoreUnavailable), 3, "StoreUnavailable"),
    "endless integers": ([[10**400, 1, 1]], 3, "rows of numbers"),
    "complex": ([[1j, 1j, 1j]], 3, "rows of numbers"),
    "numbers in words": ([["1", "2", "3"]], 3, "rows of numbers"),
    "an object": (object(), 3, "rows of numbers"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_answer_is_refused_and_costs_nothing_but_meaning(kind: str, tmp_path: Path,
                                                                 caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    answer, dimension, because = WRONG[kind]
    wrong = Given(answer, dimension)
    with pytest.raises(ModelUnavailable, match=because):
        checked(wrong, ["a text"])
    caplog.set_level(logging.WARNING, "memorist")
    for path in (tmp_path / "wrong.db", tmp_path / "wrong.json"):
        caplog.clear()
        with Memory(path, embed=wrong) as poor:
            assert [poor.remember(f"Heron {n} nests at the weir").outcome for n in range(3)] == ["added"] * 3
            assert poor.recall("heron")
            poor.revise(1, "Heron 1 nests at the mill")
            assert poor.recall("mill")
            assert len([line for line in caplog.records if "found by words" in line.message]) == 1
            [report, *_] = poor.upkeep()
            assert report.verb == "embed" and "cannot be used" in str(report.advice)
            assert "cannot be used" in poor.status()["embedder"]
            assert poor.audit().ok and [finding.check for finding in poor.doctor() if not finding.ok] == ["embedder"]


class Turning(HashEmbedder):
    """Its dimension changes with `size`, or cannot be told."""

    size: Any = 32
    dimension = property(
        lambda self: 1 / 0 if self.size is None else next(self.size) if not isinstance(self.size, int) else self.size,
        lambda self, value: None,
    )

    def embed(self, texts: Sequence[str]) -> Any:
        return numpy.ones((len(texts), 16 if self.size != 32 else 32))


@pytest.mark.parametrize("cheap", [True, False])
@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("kind", ["raises", "flips", "shrinks"])
def test_a_dimension_that_is_not_kept_to_costs_only_meaning(
    kind: str, again: bool, cheap: bool, tmp_path: Path
) -> None:
    turning = Turning(cheap=cheap)
    memory = Memory(tmp_path / "memory.db", embed=turning)
    memory.remember("Heron 0 nests at the weir")
    memory.upkeep()
    if again:  # by another process, which has not read it yet
        memory.close()
        memory = Memory(tmp_path / "memory.db", embed=turning)
    turning.size = {"raises": None, "flips": itertools.cycle((16, 32)), "shrinks": 16}[kind]
    with memory:
        for n in range(1, 5):
            assert memory.remember(f"Heron {n} nests at the weir").outcome == "added"
            assert memory.recall("heron")
            assert memory.revise(1, f"Heron 0 nests at the mill {n}").outcome == "changed"
        assert memory.upkeep()[0].advice and memory.status()["embedder"]
        [generation] = memory._tools.store.generations()
        assert (memory.count(), generation.dimension, memory.audit().ok) == (5, 32, True)


def test_whatever_happens_while_one_is_made_costs_only_meaning(tmp_path: Path) -> None:
    def fails() -> None:
        raise RuntimeError("no room")

    with Memory(tmp_path / "memory.db", embed=HashEmbedder(on_files=True)) as memory:
        memory._tools.meaning.models[0].choice = replace(memory._tools.meaning.choice, make=fails)
        assert memory.remember("Heron at the weir").outcome == "added" and memory.recall("heron")
        assert memory.status()["embedder"] == "the embedder cannot be made (RuntimeError)"
        assert memory.upkeep()


def test_lengths_are_made_equal_and_zeros_stay() -> None:
    found = checked(Given([[3.0, 0.0, 4.0], [0, 0, 0], [1e100, 0, 0], [1e-100, 0, 0]]), ["a"] * 4)
    assert found.dtype == numpy.float32
    assert found.tolist() == [[pytest.approx(0.6), 0, pytest.approx(0.8)], [0, 0, 0], [1, 0, 0], [1, 0, 0]]
    assert checked(Given(numpy.zeros((0, 3))), []).shape == (0, 3)


def test_texts_that_mean_nothing_are_stored_and_found(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embed=Given(lambda: numpy.zeros((1, 3)))) as memory:
        memory.remember("Heron at the weir")
        assert memory.recall("heron")
        assert memory.status()["rows_waiting"] == 0


# ---------------------------------------------------------------- ONNX


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """The folder of a small but real model."""
    folder = tmp_path / "toy"
    bert_graph.write(bert_graph.seeded(), folder / "model.onnx")
    (folder / "vocab.txt").write_text("\n".join(bert_graph.WORDS) + "\n", encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 16}))
    return folder


TEXTS = ["The heron nests near the river", "a stork", "", "unseen words, mills", "the mill " * 30]


def test_a_graph_gives_what_its_weights_say(toy: Path) -> None:
    embedder = OnnxEmbedder(toy)
    found = checked(embedder, TEXTS)
    ids = [embedder._ids(text) for text in TEXTS]
    due = [bert_graph.vector(bert_graph.seeded(), own) for own in ids]
    assert max(map(len, ids)) == 16, "a longer text is cut to what the model can hold"
    assert (embedder.dimension, embedder.cheap, found.shape) == (24, False, (5, 24))
    assert float((found * numpy.stack(due)).sum(axis=1).min()) > 0.9999
    alone = numpy.concatenate([checked(embedder, [text]) for text in TEXTS])
    assert numpy.allclose(found, alone, atol=1e-5), "the company of other texts changes nothing"


def test_a_graph_that_pools_itself_and_a_tokenizer_file(toy: Path) -> None:
    plain = checked(OnnxEmbedder(toy), TEXTS)
    bert_graph.write(bert_graph.seeded(), toy / "onnx" / "model.onnx", pooled=True)
    (toy / "model.onnx").unlink()
    (toy / "vocab.txt").unlink()
    vocabulary = {word: number for number, word in enumerate(bert_graph.WORDS)}
    (toy / "tokenizer.json").write_text(json.dumps({"model": {"type": "WordPiece", "vocab": vocabulary}}))
    assert numpy.allclose(checked(OnnxEmbedder(toy), TEXTS), plain, atol=1e-5)


def test_the_first_token_counts_where_the_folder_says_so(toy: Path) -> None:
    mean = checked(OnnxEmbedder(toy), TEXTS)
    (toy / "1_Pooling").mkdir()
    (toy / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    embedder = OnnxEmbedder(toy)
    first = checked(embedder, TEXTS)
    due = [bert_graph.vector(bert_graph.seeded(), embedder._ids(text), "cls") for text in TEXTS]
    assert numpy.allclose(first, numpy.stack(due), atol=1e-4) and not numpy.allclose(first, mean, atol=0.05)


def test_other_bytes_are_another_model(toy: Path) -> None:
    before = OnnxEmbedder(toy).name
    assert OnnxEmbedder(toy).name == before and before.startswith("onnx:toy@")
    bert_graph.write(bert_graph.seeded(seed=8), toy / "model.onnx")
    assert OnnxEmbedder(toy).name != before
    bert_graph.write(bert_graph.seeded(), toy / "model.onnx")
    assert OnnxEmbedder(toy).name == before


def test_another_way_to_use_the_same_bytes_is_another_model(toy: Path) -> None:
    names = [OnnxEmbedder(toy).name]
    (toy / "sentence_bert_config.json").write_text('{"max_seq_length": 4}')
    names.append(OnnxEmbedder(toy).name)
    (toy / "1_Pooling").mkdir()
    (toy / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    names.append(OnnxEmbedder(toy).name)
    (toy / "vocab.txt").write_text("\n".join([*bert_graph.WORDS[:-1], "another"]) + "\n", encoding="utf-8")
    names.append(OnnxEmbedder(toy).name)
    assert len(set(names)) == 4 and {name[:9] for name in names} == {"onnx:toy@"}


def test_a_model_that_changed_between_two_runs_is_another_generation(toy: Path, tmp_path: Path) -> None:
    def run() -> str:
        with Memory(tmp_path / "memory.db", embed=f"onnx:{toy}") as memory:
            memory.remember("The heron nests near the weir")
            memory.upkeep()
            [generation] = memory._tools.store.generations()
            assert memory._tools.store.unembedded(generation.id, 0, 9) == [] and memory.recall("heron")
            return generation.model

    first = run()
    assert run() == first
    bert_graph.write(bert_graph.seeded(seed=8), toy / "model.onnx")
    assert run() != first


BROKEN: dict[str, Callable[[Path], object]] = {
    "holds no model.onnx": lambda folder: (folder / "model.onnx").unlink(),
    "can be run": lambda folder: (folder / "model.onnx").write_bytes(b"no graph"),
    "no vocab.txt": lambda folder: (folder / "vocab.txt").unlink(),
    "only WordPiece": lambda folder: (folder / "vocab.txt").write_text("a\nb\n"),
    "cannot be read": lambda folder: (folder / "vocab.txt").write_bytes(b"\xff\xfe\xff"),
    "as JSON": lambda folder: (folder / "config.json").write_text("{"),
    "tells capitals": lambda folder: (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}'),
}


@pytest.mark.parametrize("because", BROKEN)
def test_a_broken_folder_says_what_is_wrong_and_words_go_on(because: str, toy: Path, tmp_path: Path) -> None:
    BROKEN[because](toy)
    with pytest.raises((Invalid, ModelUnavailable), match=because):
        OnnxEmbedder(toy)
    with Memory(tmp_path / "memory.db", embed=f"onnx:{toy}") as memory:
        memory.remember("Heron at the weir")
        assert memory.recall("heron")
        assert because in memory.status()["embedder"]
        assert because in str(memory.upkeep()[0].advice)


# ---------------------------------------------------------------- a server


class Server(HTTPServer):
    """An `/embeddings` on loopback. `answers` are (status, body, headers) to give first; then it does its work."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, bytes, dict[str, str]]] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.dimension = 8

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/embeddings?model=toy"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        self.server.keys.append(self.headers["authorization"])
        vectors = HashEmbedder("server", self.server.dimension, on_files=True).embed(body["input"]).tolist()
        data = [{"index": place, "embedding": each} for place, each in enumerate(vectors)][::-1]
        usual = (200, json.dumps({"data": data}).encode(), {})
        status, content, headers = self.server.answers.pop(0) if self.server.answers else usual
        self.send_response(status)
        for name, value in {"content-length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def at(address: str, key: str | None = None) -> RemoteEmbedder:
    embedder = RemoteEmbedder.at(address, lambda _: key)
    embedder._pause = lambda _: None
    return embedder


def test_a_server_is_asked_in_batches_and_its_answers_are_put_in_order(server: Server) -> None:
    embedder = at(server.address)
    texts = [f"text {n}" for n in range(150)]
    found = checked(embedder, texts)
    assert numpy.allclose(found, checked(HashEmbedder("server", 8, on_files=True), texts), atol=1e-6)
    assert [len(body["input"]) for body in server.asked] == [64, 64, 22]
    assert server.asked[0]["model"] == "toy" and server.keys[0] is None
    assert embedder.name == f"remote:toy@http://127.0.0.1:{server.server_port}/v1/embeddings"
    assert (embedder.cheap, embedder.dimension) == (False, 8)


def test_a_key_is_sent_and_said_nowhere(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                        caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    monkeypatch.setenv("TOY_KEY", "sk-very-secret-indeed")
    caplog.set_level(logging.DEBUG)
    with Memory(tmp_path / "memory.db", embed=f"{server.address}&key=TOY_KEY") as memory:
        memory.remember("Heron at the weir")
        memory.upkeep()
        assert memory.status()["rows_waiting"] == 0
        server.answers = [(401, b"wrong key sk-very-secret-indeed", {})]
        memory.remember("Stork on the roof")
        [report, *_] = memory.upkeep()
        assert "the key was not accepted" in str(report.advice)
        said = f"{plain(report)} {memory.status()} {caplog.text} {memory._tools.meaning.embedder()!r}"
    assert set(server.keys) == {"Bearer sk-very-secret-indeed"}
    left = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert "very-secret" not in said and b"very-secret" not in left
    monkeypatch.delenv("TOY_KEY")
    with pytest.raises(ModelUnavailable, match="set the environment variable TOY_KEY"):
        RemoteEmbedder.at(f"{server.address}&key=TOY_KEY", settings.secret).embed(["x"])


def test_what_passes_is_tried_again(server: Server) -> None:
    server.answers = [(429, b"", {"retry-after": "1"}), (503, b"", {}), (500, b"", {})]
    waits: list[float] = []
    embedder = at(server.address)
    embedder._pause = waits.append
    assert embedder.embed(["x", "y"]).shape == (2, 8)
    assert len(waits) == 3 and waits[0] == 1.0 and 0.3 <= waits[1] <= 0.6


def test_it_is_not_tried_for_ever(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = [(503, b"", {})] * 50
    monkeypatch.setattr(remote, "DEADLINE", 1.0)
    with pytest.raises(ModelUnavailable, match="status 503"):
        RemoteEmbedder.at(server.address, lambda _: None).embed(["x", "y"])
    assert 1 < len(server.asked) < 6


def test_a_question_is_asked_once_and_the_next_does_not_wait_for_what_failed(server: Server, tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embed=server.address) as memory:
        memory.remember("Heron at the weir")
        memory.upkeep()
        asked = len(server.asked)
        server.answers = [(503, b"", {})]
        assert memory._tools.meaning.in_time("heron")[0] == []
        assert memory._tools.meaning.in_time("heron")[0] == [] and memory.recall("heron")
        assert len(server.asked) == asked + 1, "the first failed, the others did not even try"
        memory._tools.meaning._resting.clear()  # time passes
        assert len(memory._tools.meaning.in_time("heron")[0]) == 1


@pytest.mark.parametrize(
    "answer, because",
    [
        ((200, b"<html>", {}), "not JSON"),
        ((200, b"[" * 100_000, {}), "not JSON"),
        ((200, b'{"data": []}', {}), "0 vectors"),
        ((200, b'{"data": [{"index": 5, "embedding": [1]}]}', {}), "not what"),
        ((200, b'{"data": [{"index": 0, "embedding": ["a"]}]}', {}), "not numbers"),
        ((200, b'{"data": [{"index": 0}]}', {}), "not what"),
        ((200, b'{"data": [{"index": 1e999, "embedding": [1]}]}', {}), "not what"),
        ((200, b'{"data": [{"index": 0, "embedding": [1%s]}]}' % (b"0" * 400), {}), "not numbers"),
        ((200, b'{"data": [{"index": 0, "embedding": [1%s]}]}' % (b"0" * 5000), {}), "not JSON"),
        ((200, b'{"data": [{"index": 0, "embedding": null}]}', {}), "not number"),
        ((200, b'{"data": [{"index": 0, "embedding": []}]}', {}), "empty"),
        ((200, b'{"data": [{"index": 0, "embedding": [NaN]}]}', {}), "not number"),
        ((200, b'{"data": 5}', {}), "not what"),
        ((200, b'"data"', {}), "not what"),
        ((200, b'{"data": [{"index": 0, "embedding": [1, 2, 3]}]}', {}), "dimension 3, not 8"),
        ((401, b"", {}), "key was not accepted"),
        ((404, b"", {}), "no such address or model"),
        ((302, b"", {"location": "http://127.0.0.1:1/"}), "status 302"),
    ],
)
def test_a_wrong_answer_of_a_server_is_named(answer: tuple[int, bytes, dict[str, str]], because: str,
                                             server: Server) -> None:  # fmt: skip
    embedder = at(server.address)
    assert embedder.dimension == 8
    server.answers = [answer]
    with pytest.raises(ModelUnavailable, match=because):
        embedder.embed(["x"])
    assert len(server.asked) == 2


def test_a_server_that_is_gone(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(remote, "DEADLINE", 0.2)
    gone = server.address.replace(str(server.server_port), "9")  # discard: nobody listens there
    with Memory(tmp_path / "memory.db", embed=gone) as memory:
        memory.remember("Heron at the weir")
        assert memory.recall("heron")
        [report, *_] = memory.upkeep()
        assert "cannot be reached" in str(report.advice)
        assert "cannot be reached" in memory.status()["embedder"]


@pytest.mark.parametrize("head", ["HTTP/1.0 200 OK\r\n\r\n", ""])
def test_a_server_that_drips_holds_no_question(head: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its bytes come often enough for every timeout that begins anew with each of them."""
    monkeypatch.setattr(remote, "SECONDS_FOR_ONE", 0.5)
    stop = threading.Event()

    class Drip(BaseHTTPRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.request.sendall(head.encode())
                while not stop.wait(0.05):
                    self.request.sendall(b" " if head else b"H")

    before = set(threading.enumerate())
    with ThreadingHTTPServer(("127.0.0.1", 0), Drip) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            at(f"http://127.0.0.1:{server.server_port}/e?model=m").embed(["a question"])
        assert 0.4 < time.monotonic() - began < 10
        left = {thread for thread in set(threading.enumerate()) - before if thread.name == "memorist-embeddings"}
        for thread in left:
            thread.join(5)
        assert not any(thread.is_alive() for thread in left), "nobody is left waiting behind"
        stop.set()
        server.shutdown()


@pytest.mark.parametrize(
    "key", ["sk-very-secret\n123", "sk-very-secr\u00e9t", "sk-very-secret 1", "\n", "sk-very-secret\x00"]
)
def test_what_cannot_be_a_key_is_not_sent_and_not_said(
    key: str, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ModelUnavailable, match=r"cannot be a key|key is missing") as refused:
        at(f"{server.address}&key=TOY_KEY", key).embed(["x"])
    assert "TOY_KEY" in str(refused.value) and server.asked == []
    assert "very-secr" not in f"{refused.value} {refused.value.__cause__} {caplog.text}"


def test_the_line_end_of_a_key_that_was_read_from_a_file_is_no_part_of_it(server: Server) -> None:
    at(f"{server.address}&key=TOY_KEY", "sk-toy\r\n").embed(["x"])
    assert server.keys == ["Bearer sk-toy"]


def test_no_proxy_stands_between_this_machine_and_itself(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, server.address.partition("/v1")[0])
    monkeypatch.setattr(remote, "DEADLINE", 0.2)
    for host in ("localhost", "127.0.0.1", "[::1]"):
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            at(f"http://{host}:9/embeddings?model=toy&key=TOY_KEY", "sk-toy").embed(["x"])
    assert server.asked == []
    at("http://elsewhere.invalid/embeddings?model=toy").embed(["x"])
    assert server.keys == [None], "another machine is asked through it, and no key goes there over http"


@pytest.mark.parametrize("name, value", [("HTTPS_PROXY", "foo://x"), ("SSL_CERT_FILE", "/nonexistent")])
def test_a_wrong_environment_is_not_blamed_on_the_key(name: str, value: str, monkeypatch: pytest.MonkeyPatch,
                                                      tmp_path: Path) -> None:  # fmt: skip
    monkeypatch.setenv("TOY_KEY", "sk-very-secret-indeed")
    monkeypatch.setenv(name, value)
    address = "https://127.0.0.2:9/embeddings?model=toy&key=TOY_KEY"
    with Memory(tmp_path / "memory.db", embed=address) as memory:
        assert memory.remember("Heron at the weir").outcome == "added" and memory.recall("heron")
        said = str(memory.upkeep()[0].advice)
        assert name in said and "TOY_KEY" not in said and "very-secret" not in said


@pytest.mark.parametrize(
    "address",
    [
        "https://host/embeddings",
        "HTTPS://host/embeddings?model=m&key=sk-secret",
        "htps://host/embeddings?model=m&key=sk-secret",
        "https://host/embeddings?model=%00",
        f"https://host/{'x' * 200}?model=m",
        "https://user:sk-secret@host/embeddings?model=m",
        "https://host/embeddings?model=m&key=sk-secret",
        "https://host/embeddings?model=m&api_key=sk-secret",
        "https://host/embeddings?model=m#sk-secret",
        "http://host/embeddings?model=m&key=A_KEY",
        "https://host/embeddings?model=m&dimensions=many",
        "https:///embeddings?model=m",
        "https://host:sk-secret/embeddings?model=m",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked_name(address)
    assert "sk-secret" not in str(refused.value)
