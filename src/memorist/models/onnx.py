"""Sentence models and cross-encoders from a folder, run by `onnxruntime` with the tokenizer of `tokenizers`.

The folder has the form in which such models are published: `model.onnx` or `onnx/model.onnx`, and `tokenizer.json`; if present,
`config.json`, `sentence_bert_config.json`, `modules.json` and `1_Pooling/config.json` say how long a text may be, and whether
the mean of all tokens or the first one counts. A graph that gives one number for a text is a cross-encoder, which can be named
as reranker. The name of the model includes the digest of whatever decides its vectors.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.errors import Invalid, ModelUnavailable
from memorist.models.embed import NONE
from memorist.text.visible import quoted, visible

if TYPE_CHECKING:
    from memorist.models.embed import Floats

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
AT_ONCE = 32  # texts of similar length in one run
MOST_TOKENS = 512  # if the folder does not say
LENGTHS = {"config.json": "max_position_embeddings", "tokenizer_config.json": "model_max_length",
           "sentence_bert_config.json": "max_seq_length"}  # fmt: skip


class OnnxModel:
    """A graph that can be run, and the tokenizer for it. Threads may share one."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder).expanduser()
        self._shown = visible(str(self._folder)[:300])
        graphs = [self._folder / name for name in ("model.onnx", "onnx/model.onnx")]
        graph = next((file for file in graphs if file.is_file()), None)
        if graph is None:
            raise ModelUnavailable(
                f"{self._shown} holds no model.onnx or onnx/model.onnx; name the folder of an ONNX model"
            )
        lengths = [self._read_json(file).get(key) for file, key in LENGTHS.items()]
        longest = max(3, min([MOST_TOKENS, *(length for length in lengths if type(length) is int)]))
        pooling = self._read_json("1_Pooling/config.json")
        modes = [key for key, on in pooling.items() if key.startswith("pooling_mode_") and on is True]
        self._pooling = str(
            pooling.get("pooling_mode") or re.sub("pooling_mode_|_tokens?", "", "+".join(modes)) or "mean"
        )
        try:
            import onnxruntime
            from tokenizers import Tokenizer

            self._tokenizer: Any = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(longest)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1  # it works beside the agent, not instead of it
            options.log_severity_level = 4
            self._session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        except ImportError as problem:
            raise ModelUnavailable(f"ONNX models need {problem.name}: pip install 'memorist[onnx]'") from problem
        except Exception as problem:  # both libraries have error types of their own for every way a file can be wrong
            because = visible(str(problem)[:200]).replace("\n", " ")
            raise ModelUnavailable(f"the model in {self._shown} cannot be opened: {because}") from problem
        self._inputs = [each.name for each in self._session.get_inputs()]
        if foreign := set(self._inputs) - set(INPUTS):
            raise Invalid(
                f"the graph in {self._shown} needs {', '.join(sorted(foreign))[:200]}; it is no sentence model"
            )
        size = self._session.get_outputs()[0].shape[-1]
        self.dimension: int = size if isinstance(size, int) else int(self.run([("size",)])[0].shape[-1])
        digest = hashlib.sha256(f"{self._pooling} {longest}".encode())
        for path in (*sorted(graph.parent.glob(f"{graph.name}*")), self._folder / "tokenizer.json"):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        called = re.sub(r"[^\w.+-]", "-", self._folder.resolve().name)[:100]
        self.name = f"onnx:{called}@{digest.hexdigest()[:12]}"

    def _read_json(self, file: str) -> dict[str, Any]:
        """One of the folder's files: an object, or the parts of a list by their place. Empty if there is none."""
        try:
            content = json.loads((self._folder / file).read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as problem:
            raise ModelUnavailable(f"{self._shown}/{file} cannot be read as JSON") from problem
        return dict(content) if isinstance(content, dict) else {str(place): each for place, each in enumerate(content)}

    def run(self, texts: Sequence[tuple[str, ...]]) -> list[Any]:
        """The output for each text or pair of texts, without padding. Those of similar length run together."""
        import numpy

        cut = [self._tokenizer.encode(*text) for text in texts]
        order, rows = sorted(range(len(cut)), key=lambda place: len(cut[place].ids)), dict[int, Any]()
        for start in range(0, len(order), AT_ONCE):
            some = order[start : start + AT_ONCE]
            given = numpy.zeros((3, len(some), len(cut[some[-1]].ids)), numpy.int64)
            for row, place in enumerate(some):
                one = cut[place]
                given[:, row, : len(one.ids)] = one.ids, one.attention_mask, one.type_ids
            output = self._session.run(None, {name: given[INPUTS.index(name)] for name in self._inputs})[0]
            for row, place in enumerate(some):
                rows[place] = output[row, : len(cut[place].ids)] if output.ndim == 3 else output[row]
        return [rows[place] for place in range(len(cut))]


class OnnxEmbedder(OnnxModel):
    """`memorist.models.embed.Embedder` over a local graph. It takes milliseconds per text, so no write waits for it."""

    cheap = False

    def __init__(self, folder: Path | str) -> None:
        super().__init__(folder)
        if self.dimension == 1:
            raise Invalid(f"the graph in {self._shown} is a cross-encoder, which gives no vectors; name it as `rerank`")
        kinds = [str(part.get("type")).rpartition(".")[2] for part in self._read_json("modules.json").values()]
        more = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
        more += [] if self._pooling in ("mean", "cls") else [self._pooling]
        if more and len(self._session.get_outputs()[0].shape) == 3:
            hint = "use a graph that gives one vector for each text, or a server"
            raise Invalid(
                f"the model in {self._shown} joins its tokens by {more[0][:60]!r}, which cannot be run; {hint}"
            )

    def embed(self, texts: Sequence[str]) -> "Floats":
        import numpy

        outputs = self.run([(text,) for text in texts])
        mean = self._pooling == "mean"
        pooled = [each if each.ndim == 1 else each.mean(axis=0) if mean else each[0] for each in outputs]
        return numpy.asarray(pooled, numpy.float32).reshape(len(texts), self.dimension)


class NamedReranker:
    """`memorist.design.Reranker` over a local cross-encoder, which reads query and text together. It is opened with the first
    query that needs it. If it cannot be used, the order stays as it was; the trace of each answer says why, and `status` and
    `doctor` say it too."""

    def __init__(self, spelled: str) -> None:
        self._folder = spelled.removeprefix("onnx:")

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        logits = [float(output.ravel()[0]) for output in self.model.run([(question, text) for text in texts])]
        return [1 / (1 + math.exp(-max(-700.0, logit))) for logit in logits]

    @cached_property
    def model(self) -> OnnxModel:
        model = OnnxModel(self._folder)
        if model.dimension != 1:
            raise Invalid(
                f"the graph in {self._folder} gives {model.dimension:,} numbers for a text; name it as `embed`"
            )
        return model

    def problem(self) -> str | None:
        """Why it cannot be used, if so; found out by using it."""
        try:
            self("ready?", ["ready"])
        except Exception as problem:  # a graph may fail in any way once it runs
            return str(problem)
        return None


Judge = Callable[[str, Sequence[str]], Sequence[float]]  # called a Reranker in `memorist.design`


def checked_reranker(spelled: object) -> str:
    """The name of a reranker in the form allowed in settings; raises if invalid."""
    if isinstance(spelled, str) and (spelled == NONE or spelled.removeprefix("onnx:") not in ("", spelled)):
        return spelled
    raise Invalid(f"rerank must be {NONE}, or onnx:FOLDER for a cross-encoder, not {quoted(spelled)}")


def reranker(given: Judge | str | None, usual: str) -> Judge | None:
    """The reranker that a caller means; without any, that of the settings."""
    meant = usual if given is None else given
    if not isinstance(meant, str):
        return meant
    return None if checked_reranker(meant) == NONE else NamedReranker(meant)
