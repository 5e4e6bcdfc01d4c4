"""Models that a person added under a name: `minilm` instead of `onnx:/home/ann/models/all-MiniLM-L6-v2`.

A name is an abbreviation for a setting and nothing more: `memorist model use NAME` writes what the name stands for, so
settings work without this file. A folder with an ONNX graph stays where it is and is referred to by its full path; one that
only has weights is converted, and the result is kept in memorist's own folder. A model is added only after it was used once.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memorist.errors import Invalid, MemoristError, ModelUnavailable, meant
from memorist.models.convert import convert
from memorist.models.embed import BUILT_IN, Secret, checked, chosen, shown
from memorist.models.onnx import OnnxModel, graph_in
from memorist.models.rerank import ONNX_FOLDER, NamedReranker, reranker
from memorist.store import files
from memorist.text import toml
from memorist.text.visible import quoted

Use = Literal["embed", "rerank"]
USES: tuple[Use, ...] = ("embed", "rerank")
NAME = re.compile("[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
SENTENCE = "Which database does the staging server use?"


@dataclass(frozen=True, slots=True)
class AddedModel:
    name: str
    use: Use  # the setting it is for
    spelled: str  # its value in that setting

    @property
    def folder(self) -> Path | None:
        return Path(self.spelled.removeprefix(ONNX_FOLDER)) if self.spelled.startswith(ONNX_FOLDER) else None


@dataclass(frozen=True, slots=True)
class Trial:
    """What using a model once showed."""

    model: str
    dimension: int
    milliseconds: float  # for one sentence, after loading


class AddedModels:
    """The models named in a file; converted ones are kept in `folder`."""

    def __init__(self, file: Path, folder: Path) -> None:
        self._file = file
        self._folder = folder

    def all(self) -> dict[str, AddedModel]:
        if not self._file.exists():
            return {}
        table = toml.load(self._file, "a file of models")
        told = {use: table.get(use, {}) for use in USES}
        named = all(isinstance(each, dict) and all(isinstance(v, str) for v in each.values()) for each in told.values())
        if not set(table) <= set(USES) or not named:
            raise Invalid(
                f'{self._file} must have the tables [embed] and [rerank] with lines such as minilm = "onnx:/folder"'
            )
        return {name: AddedModel(name, use, spelled) for use in USES for name, spelled in told[use].items()}

    def add(self, source: str, name: str | None = None, secret: Secret = lambda _: None) -> tuple[AddedModel, Trial]:
        """Adds a folder, or the address of a server, under a name, after it has been used once."""
        known = self.all()
        called = _checked_name(name, source)
        if called in known:
            raise Invalid(f"there is a model {called} already: `memorist model remove {called}`, or choose --name")
        if source[:8].lower().startswith(("http://", "https://")):
            added = AddedModel(called, "embed", source)
            return added, self._kept(added, known, secret)
        return self._from_folder(called, Path(source).expanduser().absolute(), known)

    def remove(self, name: str) -> AddedModel:
        """Removes a name, and the folder if it was created here."""
        known = self.all()
        if name not in known:
            raise Invalid(f"no model {quoted(name)} was added{meant(name, known)}; `memorist model list` shows them")
        gone = known.pop(name)
        self._save(known)
        if self.made_here(gone):
            try:
                files.remove(self._folder / name)
            except OSError as problem:
                raise ModelUnavailable(f"{self._folder / name} cannot be removed ({problem}); remove it") from problem
        return gone

    def made_here(self, model: AddedModel) -> bool:
        return model.folder == self._folder / model.name

    def _from_folder(self, name: str, folder: Path, known: dict[str, AddedModel]) -> tuple[AddedModel, Trial]:
        converts = graph_in(folder) is None
        place = convert(folder, self._folder / name) if converts else folder
        try:
            use: Use = "rerank" if OnnxModel(place).judges else "embed"
            added = AddedModel(name, use, f"{ONNX_FOLDER}{place}")
            return added, self._kept(added, known)
        except MemoristError:
            if converts:
                files.remove(place)
            raise

    def _kept(self, added: AddedModel, known: dict[str, AddedModel], secret: Secret = lambda _: None) -> Trial:
        trial = tried(added.use, added.spelled, secret)
        if trial is None:
            raise Invalid(f"{quoted(added.spelled)} is no model")
        self._save(known | {added.name: added})
        return trial

    def _save(self, known: Mapping[str, AddedModel]) -> None:
        lines = []
        for use in USES:
            own = [each for each in known.values() if each.use == use]
            lines += [f"[{use}]", *(f"{toml.written(each.name)} = {toml.written(each.spelled)}" for each in own), ""]
        try:
            files.replace_private(self._file, "\n".join(lines))
        except OSError as problem:
            raise Invalid(f"{self._file} cannot be written: {problem}") from problem


def tried(use: Use, spelled: str, secret: Secret = lambda _: None) -> Trial | None:
    """Uses a model once and returns what that showed; None for `none`. Raises if something goes wrong."""
    if use == "rerank":
        judge = reranker(spelled, spelled)
        if not isinstance(judge, NamedReranker):
            return None
        took = _milliseconds(lambda: judge(SENTENCE, [SENTENCE]))
        return Trial(judge.name, 1, took)
    embedder = chosen(spelled, secret).make()
    if embedder is None:
        return None
    took = _milliseconds(lambda: checked(embedder, [SENTENCE]))
    return Trial(shown(embedder.name), embedder.dimension, took)


def _milliseconds(use: Callable[[], object]) -> float:
    """The time of the second call; the first one loads the model."""
    use()
    start = time.perf_counter()
    use()
    return 1000 * (time.perf_counter() - start)


def _checked_name(name: str | None, source: str) -> str:
    """The given name, or one derived from that of the folder."""
    found = re.sub("[^a-z0-9]+", "-", Path(source).name.lower()).strip("-")[:64].strip("-") if name is None else name
    if not NAME.fullmatch(found):
        raise Invalid(f"the name of a model is of up to 64 small letters, digits, dots and dashes, not {quoted(found)}; "
                      "choose one with --name")  # fmt: skip
    if found in BUILT_IN:
        raise Invalid(f"{found} is built in; choose another name with --name")
    return found
