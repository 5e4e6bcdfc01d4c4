"""Any BERT-shaped sentence model from a folder: an ONNX graph, its vocabulary, and how its answers become one vector.

The folder is what such models are published as: `model.onnx` or `onnx/model.onnx`; `vocab.txt`, or `tokenizer.json` with a
WordPiece vocabulary; and where they are there, `config.json`, `tokenizer_config.json` and `1_Pooling/config.json` say how
long a text may be, whether letters are lowered, and whether the mean of all tokens counts or the first one. A graph that
gives one vector per text is taken at its word. The name of the model holds the digest of the graph, of the vocabulary and of
what the folder says about using them: whatever changes a vector makes it another model.
"""

import hashlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.errors import Invalid, ModelUnavailable
from memorist.models.embed import UNKNOWN, WordPiece
from memorist.text.visible import visible

if TYPE_CHECKING:
    from memorist.models.embed import Floats

GRAPHS = ("model.onnx", "onnx/model.onnx")
AT_ONCE = 32  # texts in one run, of about the same length
MOST_TOKENS = 512  # tokens, where the folder does not say
MARKS = ("[CLS]", "[SEP]", "[PAD]", UNKNOWN)
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxEmbedder:
    """`memorist.models.embed.Embedder` over a local graph. It takes milliseconds a text, so no write waits for it."""

    cheap = False

    def __init__(self, folder: Path) -> None:
        self._shown = visible(str(folder)[:300])
        graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
        if graph is None:
            raise ModelUnavailable(f"{self._shown} holds no {' or '.join(GRAPHS)}; name the folder of an ONNX model")
        words = vocabulary(folder)
        self._marks = {mark: words.index(mark) for mark in MARKS[:3]}
        self._tokens = WordPiece(words)
        self._mean = not _table(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token", False)
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
        except Exception as problem:  # the runtime has error types of its own for every way a file can be wrong
            raise ModelUnavailable(f"{visible(str(graph)[:300])} is not an ONNX graph that can be run") from problem
        foreign = {each.name for each in session.get_inputs()} - set(INPUTS)
        if foreign:
            raise Invalid(
                f"the graph in {self._shown} asks for {', '.join(sorted(foreign))[:200]}; it is not a sentence model"
            )
        return session

    @property
    def dimension(self) -> int:
        """What the graph says, or what it gives."""
        if self._size is None:
            said = self._session.get_outputs()[0].shape[-1]
            self._size = said if isinstance(said, int) else self.embed(["dimension"]).shape[1]
        return self._size

    def embed(self, texts: Sequence[str]) -> "Floats":
        """Texts of about the same length run together, so that little is spent on padding."""
        import numpy

        ids = [self._ids(text) for text in texts]
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        rows: dict[int, Any] = {}
        for start in range(0, len(order), AT_ONCE):
            some = order[start : start + AT_ONCE]
            rows.update(zip(some, self._run([ids[place] for place in some]), strict=True))
        found = [rows[place] for place in range(len(ids))]
        return numpy.asarray(found, dtype=numpy.float32) if found else numpy.zeros((0, self.dimension), numpy.float32)

    def _ids(self, text: str) -> list[int]:
        cut = self._tokens.ids(text)[: self._longest - 2]
        return [self._marks["[CLS]"], *cut, self._marks["[SEP]"]]

    def _run(self, ids: Sequence[list[int]]) -> Any:
        import numpy

        width = max(map(len, ids))
        tokens = numpy.full((len(ids), width), self._marks["[PAD]"], numpy.int64)
        mask = numpy.zeros((len(ids), width), numpy.int64)
        for row, own in enumerate(ids):
            tokens[row, : len(own)], mask[row, : len(own)] = own, 1
        given = dict(zip(INPUTS, (tokens, mask, numpy.zeros_like(tokens)), strict=True))
        with self._lock:
            answer = self._session.run(None, {each.name: given[each.name] for each in self._session.get_inputs()})[0]
        if answer.ndim == 2:
            return answer
        if not self._mean:
            return answer[:, 0]
        counted = mask[:, :, None].astype(answer.dtype)
        return (answer * counted).sum(axis=1) / counted.sum(axis=1)


def vocabulary(folder: Path) -> list[str]:
    """The tokens by number."""
    shown = visible(str(folder)[:300])
    try:
        if (folder / "vocab.txt").is_file():
            words = (folder / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n")
        else:
            model = _table(folder / "tokenizer.json").get("model", {})
            if model.get("type") != "WordPiece":
                raise Invalid(f"{shown} has no vocab.txt and no tokenizer.json with a WordPiece vocabulary")
            words = sorted(model["vocab"], key=model["vocab"].__getitem__)
    except (OSError, UnicodeDecodeError, KeyError, TypeError) as problem:
        raise ModelUnavailable(f"the vocabulary in {shown} cannot be read ({type(problem).__name__})") from problem
    if not set(MARKS) <= set(words):
        raise Invalid(f"the vocabulary in {shown} has no {', '.join(MARKS)}; only WordPiece vocabularies can be used")
    if _table(folder / "tokenizer_config.json").get("do_lower_case") is False:
        raise Invalid(
            f"the model in {shown} tells capitals from small letters, which memorist cannot; use an uncased one"
        )
    return words


def _longest(folder: Path) -> int:
    """Tokens a text may have: the least that any of the files says."""
    said = [
        _table(folder / "config.json").get("max_position_embeddings"),
        _table(folder / "tokenizer_config.json").get("model_max_length"),
        _table(folder / "sentence_bert_config.json").get("max_seq_length"),
    ]
    return max(3, min([MOST_TOKENS, *(number for number in said if type(number) is int)]))


def _table(file: Path) -> Mapping[str, Any]:
    """A JSON object from a file; an empty one where there is no such file."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as problem:
        raise ModelUnavailable(f"{visible(str(file)[:300])} cannot be read as JSON") from problem
    return found if isinstance(found, dict) else {}


@lru_cache(maxsize=8)
def _digest(graph: Path, _size: int, _time: int) -> str:
    """Kept for as long as size and time are the same: reading a large graph takes longer than opening a store."""
    with graph.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
