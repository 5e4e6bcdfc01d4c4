"""The reranker that a setting or a caller names: `onnx:FOLDER`, a cross-encoder that reads query and text together.

It is opened once, with the first query that needs it, since most commands need none. If it cannot be used, the order stays as
it was; the trace of each answer says why, `status` and `doctor` say it too, and it is logged once.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memorist.errors import Invalid, MemoristError, ModelUnavailable
from memorist.models.embed import NONE, shown
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.models.onnx import OnnxReranker

ONNX_FOLDER = "onnx:"
CALLERS = "a function of the caller's"
Judge = Callable[[str, Sequence[str]], Sequence[float]]  # called a Reranker in `memorist.design`
log = logging.getLogger("memorist")


def checked_reranker(spelled: object) -> str:
    """The name of a reranker in the form allowed in settings; raises if invalid."""
    if isinstance(spelled, str) and (spelled == NONE or spelled.removeprefix(ONNX_FOLDER) not in ("", spelled)):
        return spelled
    raise Invalid(f"rerank must be {NONE}, or onnx:FOLDER for a cross-encoder, not {quoted(spelled)}")


def reranker(given: Judge | str | None, usual: str) -> Judge | None:
    """The reranker that a caller means; without any, that of the settings."""
    meant = usual if given is None else given
    if not isinstance(meant, str):
        return meant
    return None if checked_reranker(meant) == NONE else NamedReranker(meant.removeprefix(ONNX_FOLDER))


def told(judge: Judge | None) -> dict[str, str]:
    """For `status`: which reranker is used, or why it cannot be."""
    if judge is None:
        return {}
    return {"reranker": (judge.problem() or judge.name) if isinstance(judge, NamedReranker) else CALLERS}


def trouble(judge: Judge | None) -> str | None:
    return judge.problem() if isinstance(judge, NamedReranker) else None


class NamedReranker:
    """`memorist.design.Reranker` by name. Threads may share one."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._opened: OnnxReranker | None = None
        self._problem: ModelUnavailable | None = None

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        return self._model()(question, texts)

    def problem(self) -> str | None:
        """Why it cannot be used, if so; found out by using it."""
        try:
            self("ready?", ["ready"])
        except Exception as problem:  # a graph may fail in any way once it runs
            return str(problem)
        return None

    @property
    def name(self) -> str:
        return self._model().name

    def _model(self) -> "OnnxReranker":
        with self._lock:
            if self._opened is None and self._problem is None:
                self._open()
        if self._opened is None:
            raise self._problem or ModelUnavailable()
        return self._opened

    def _open(self) -> None:
        from memorist.models.onnx import OnnxReranker

        try:
            self._opened = OnnxReranker(Path(self._folder).expanduser())
        except Exception as problem:  # whatever a file or a path can do
            said = str(problem) if isinstance(problem, MemoristError) else type(problem).__name__
            self._problem = ModelUnavailable(f"the reranker in {shown(self._folder)} cannot be used: {said}")
            log.warning("answers keep their order: %s", self._problem)
