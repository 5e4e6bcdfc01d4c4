"""BERT-shaped models from a folder: an ONNX graph, its vocabulary, and how its output becomes a vector or a judgement.

The folder has the form in which such models are published: `model.onnx` or `onnx/model.onnx`; `vocab.txt`, or `tokenizer.json`
with a WordPiece vocabulary; and if present, `config.json`, `tokenizer_config.json`, `modules.json` and `1_Pooling/config.json`
say how long a text may be, whether letters are lowered, and whether the mean of all tokens or the first token counts. If a
graph outputs one vector per text, that is used; one that outputs a single number is a cross-encoder, which judges a text
together with a query. The name of the model includes the digest of the graph, of the vocabulary and of the folder's settings:
whatever changes a vector makes it another model.
"""

import hashlib
import json
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.errors import Invalid, ModelUnavailable
from memorist.models.embed import UNKNOWN, WordPiece
from memorist.text.visible import visible

if TYPE_CHECKING:
    from memorist.models.embed import Floats

GRAPHS = ("model.onnx", "onnx/model.onnx")
AT_ONCE = 32  # texts of similar length in one run
MOST_TOKENS = 512  # if the folder does not say
MARKS = ("[CLS]", "[SEP]", "[PAD]", UNKNOWN)
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
PLAIN = ("Transformer", "Pooling", "Normalize")  # the parts of a sentence model without weights of their own


class OnnxModel:
    """A graph that can be run, and the conversion of texts for it. Threads may share one."""

    def __init__(self, folder: Path) -> None:
        self._shown = visible(str(folder)[:300])
        graph = graph_in(folder)
        if graph is None:
            raise ModelUnavailable(f"{self._shown} holds no {' or '.join(GRAPHS)}; name the folder of an ONNX model")
        words = vocabulary(folder)
        self._marks = {mark: words.index(mark) for mark in MARKS[:3]}
        self._tokens = WordPiece(words)
        self._mean = _pools(folder) != "cls"
        self._longest = _longest(folder)
        use = {"pools": "mean" if self._mean else "first", "longest": self._longest, "lowers": True, "words": words}
        seen = graph.stat()
        digest = hashlib.sha256(_digest(graph, seen.st_size, seen.st_mtime_ns).encode() + json.dumps(use).encode())
        called = re.sub(r"[^\w.+-]", "-", folder.resolve().name)[:100]
        self.name = f"onnx:{called}@{digest.hexdigest()[:12]}"
        self._session = self._started(graph)
        self._lock = threading.Lock()
        self._size: int | None = None

    def _started(self, graph: Path) -> Any:
        try:
            import onnxruntime
        except ImportError as problem:
            raise ModelUnavailable("ONNX models need onnxruntime: pip install 'memorist[onnx]'") from problem
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # it works beside the agent, not instead of it
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(graph.read_bytes(), options, providers=["CPUExecutionProvider"])
        except Exception as problem:  # the runtime has its own error types for every way a file can be wrong
            raise ModelUnavailable(f"{visible(str(graph)[:300])} is not an ONNX graph that can be run") from problem
        foreign = {each.name for each in session.get_inputs()} - set(INPUTS)
        if foreign:
            raise Invalid(
                f"the graph in {self._shown} asks for {', '.join(sorted(foreign))[:200]}; it is not a sentence model"
            )
        return session

    @property
    def dimension(self) -> int:
        """How many numbers it gives for a text, as declared by the graph or as computed. A cross-encoder gives one."""
        if self._size is None:
            said = self._session.get_outputs()[0].shape[-1]
            self._size = said if isinstance(said, int) else int(self._run([self._ids("size")])[0].shape[-1])
        return self._size

    @property
    def judges(self) -> bool:
        return self.dimension == 1

    def _ids(self, text: str) -> list[int]:
        cut = self._tokens.ids(text)[: self._longest - 2]
        return [self._marks["[CLS]"], *cut, self._marks["[SEP]"]]

    def _in_batches(self, ids: Sequence[list[int]], run: Callable[[Sequence[int]], Sequence[Any]]) -> list[Any]:
        """The result for each. Texts of similar length run together, so that little is wasted on padding."""
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        rows: dict[int, Any] = {}
        for start in range(0, len(order), AT_ONCE):
            some = order[start : start + AT_ONCE]
            rows.update(zip(some, run(some), strict=True))
        return [rows[place] for place in range(len(ids))]

    def _run(self, ids: Sequence[list[int]], firsts: Sequence[int] | None = None) -> tuple[Any, Any]:
        """The output of the graph and the mask it was given; `firsts` says how many tokens of each come before the second
        text, if any."""
        import numpy

        width = max(map(len, ids))
        tokens = numpy.full((len(ids), width), self._marks["[PAD]"], numpy.int64)
        mask, kinds = numpy.zeros_like(tokens), numpy.zeros_like(tokens)
        for row, own in enumerate(ids):
            tokens[row, : len(own)], mask[row, : len(own)] = own, 1
            kinds[row, firsts[row] if firsts else width : len(own)] = 1
        given = dict(zip(INPUTS, (tokens, mask, kinds), strict=True))
        with self._lock:
            answer = self._session.run(None, {each.name: given[each.name] for each in self._session.get_inputs()})[0]
        return answer, mask


class OnnxEmbedder(OnnxModel):
    """`memorist.models.embed.Embedder` over a local graph. It takes milliseconds per text, so no write waits for it."""

    cheap = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        shape = self._session.get_outputs()[0].shape
        if len(shape) == 3:
            must_pool(folder)
        if len(shape) == 2 and shape[1] == 1:
            raise Invalid(f"the graph in {self._shown} is a cross-encoder, which gives no vectors; name it as `rerank`")

    def embed(self, texts: Sequence[str]) -> "Floats":
        import numpy

        ids = [self._ids(text) for text in texts]
        found = self._in_batches(ids, lambda some: self._pooled(*self._run([ids[place] for place in some])))
        return numpy.asarray(found, dtype=numpy.float32) if found else numpy.zeros((0, self.dimension), numpy.float32)

    def _pooled(self, answer: Any, mask: Any) -> Any:
        if answer.ndim == 2:
            return answer
        if not self._mean:
            return answer[:, 0]
        counted = mask[:, :, None].astype(answer.dtype)
        return (answer * counted).sum(axis=1) / counted.sum(axis=1)


class OnnxReranker(OnnxModel):
    """`memorist.design.Reranker` over a local cross-encoder, which reads query and text together."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        if not self.judges:
            raise Invalid(
                f"the graph in {self._shown} gives {self.dimension:,} numbers for a text and not one, so it is no "
                "cross-encoder; name it as `embed`"
            )

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        asked = self._tokens.ids(question)
        pairs = [self._pair(asked, self._tokens.ids(text)) for text in texts]
        ids = [pair for pair, _ in pairs]
        logits = self._in_batches(ids, lambda some: self._logits([pairs[place] for place in some]))
        return [1 / (1 + math.exp(-max(-700.0, float(logit)))) for logit in logits]

    def _pair(self, asked: list[int], text: list[int]) -> tuple[list[int], int]:
        """[CLS] query [SEP] text [SEP], and where the text begins. The longer of the two is cut first."""
        room = self._longest - 3
        text = text[: max(room // 2, room - len(asked))]
        first = [self._marks["[CLS]"], *asked[: room - len(text)], self._marks["[SEP]"]]
        return [*first, *text, self._marks["[SEP]"]], len(first)

    def _logits(self, pairs: Sequence[tuple[list[int], int]]) -> Any:
        answer, _ = self._run([pair for pair, _ in pairs], [first for _, first in pairs])
        return answer.reshape(len(pairs))


def graph_in(folder: Path) -> Path | None:
    return next((folder / name for name in GRAPHS if (folder / name).is_file()), None)


def must_pool(folder: Path) -> None:
    """Raises for a folder whose vectors are made in an unsupported way."""
    parts = _json(folder / "modules.json")
    said = [str(part.get("type")) for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    more = [kind.rpartition(".")[2] for kind in said if kind.rpartition(".")[2] not in PLAIN]
    shown = visible(str(folder)[:300])
    if more:
        raise Invalid(f"the model in {shown} has a part {more[0][:60]!r} after its tokens are joined, which cannot be run; "
                      "use a graph that gives one vector for each text, or a server")  # fmt: skip
    if _pools(folder) not in ("mean", "cls"):
        raise Invalid(f"the model in {shown} joins its tokens by {_pools(folder)}; memorist knows mean and cls")


def _pools(folder: Path) -> str:
    """How the tokens become one vector, in the words of the folder: mean, cls, max …"""
    said = table(folder / "1_Pooling" / "config.json")
    if isinstance(said.get("pooling_mode"), str):
        return str(said["pooling_mode"])[:60]
    ways = [key for key, on in said.items() if key.startswith("pooling_mode_") and on is True]
    return "+".join(re.sub("^pooling_mode_|_tokens?$", "", way) for way in ways)[:60] or "mean"


def vocabulary(folder: Path) -> list[str]:
    """The tokens by number."""
    shown = visible(str(folder)[:300])
    try:
        if (folder / "vocab.txt").is_file():
            words = (folder / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n")
        else:
            model = table(folder / "tokenizer.json").get("model", {})
            if model.get("type") != "WordPiece":
                raise Invalid(f"{shown} has no vocab.txt and no tokenizer.json with a WordPiece vocabulary")
            words = sorted(model["vocab"], key=model["vocab"].__getitem__)
    except (OSError, UnicodeDecodeError, KeyError, TypeError) as problem:
        raise ModelUnavailable(f"the vocabulary in {shown} cannot be read ({type(problem).__name__})") from problem
    if not set(MARKS) <= set(words):
        raise Invalid(f"the vocabulary in {shown} has no {', '.join(MARKS)}; only WordPiece vocabularies can be used")
    lowers = table(folder / "tokenizer.json").get("normalizer")
    cased = isinstance(lowers, dict) and lowers.get("lowercase") is False
    if cased or table(folder / "tokenizer_config.json").get("do_lower_case") is False:
        raise Invalid(
            f"the model in {shown} tells capitals from small letters, which memorist cannot; use an uncased one"
        )
    return words


def _longest(folder: Path) -> int:
    """Tokens a text may have: the smallest number in any of the files."""
    said = [
        table(folder / "config.json").get("max_position_embeddings"),
        table(folder / "tokenizer_config.json").get("model_max_length"),
        table(folder / "sentence_bert_config.json").get("max_seq_length"),
    ]
    return max(3, min([MOST_TOKENS, *(number for number in said if type(number) is int)]))


def table(file: Path) -> Mapping[str, Any]:
    """A JSON object from a file; empty if there is no such file."""
    found = _json(file)
    return found if isinstance(found, dict) else {}


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as problem:
        raise ModelUnavailable(f"{visible(str(file)[:300])} cannot be read as JSON") from problem


@lru_cache(maxsize=8)
def _digest(graph: Path, _size: int, _time: int) -> str:
    """Cached while size and time are the same, because reading a large graph takes longer than opening a store."""
    with graph.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
