"""The reranker that a setting or a caller names: `onnx:FOLDER`, a cross-encoder, opened with the first query that needs it. If it
cannot be used, the order stays as it was; the trace of each answer says why, and `status` and `doctor` say it too."""

from collections.abc import Callable, Sequence
from functools import cached_property

from memorist.errors import Invalid
from memorist.models.embed import NONE
from memorist.models.onnx import OnnxReranker
from memorist.text.visible import quoted

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


class NamedReranker:
    """`memorist.design.Reranker` by name."""

    def __init__(self, spelled: str) -> None:
        self._folder = spelled.removeprefix("onnx:")

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        return self.model(question, texts)

    @cached_property
    def model(self) -> OnnxReranker:
        return OnnxReranker(self._folder)

    def problem(self) -> str | None:
        """Why it cannot be used, if so; found out by using it."""
        try:
            self("ready?", ["ready"])
        except Exception as problem:  # a graph may fail in any way once it runs
            return str(problem)
        return None
