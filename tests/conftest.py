"""What every test shares: an environment of its own, so that no test sees or touches the developer's memory."""

import gc
import os
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from memorist import Memory
from memorist.models.encoder import LayeredEmbedder
from memorist.testing import MovableClock

TORTURE = os.environ.get("MEMORIST_TORTURE") == "1"

HOMES = count()

RAM, ROOM = Path("/dev/shm"), 2 << 30

VECTORS_KEPT = 20_000
computed = LayeredEmbedder.embed
_vectors: dict[tuple[str, str], Any] = {}  # by the name of the embedder, and the text


def pytest_configure() -> None:
    """What a test writes is in RAM, where that has room and programs may start from it: waiting for the disk was a good part of
    `make test`. A kill leaves the same there, and power cuts are played. `make torture` has the disk."""
    if TORTURE or "TMPDIR" in os.environ or not os.access(RAM, os.W_OK):
        return
    seen = os.statvfs(RAM)
    if seen.f_bavail * seen.f_frsize >= ROOM and not seen.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(RAM)


def pytest_collection_finish() -> None:
    """The tests stay until the end, thousands of them: whoever looks for garbage need not look through them each time."""
    gc.collect()
    gc.freeze()


def rounds(full: int, share: float = 0.025) -> int:
    """The promised number in `make torture`, a few percent of it in `make test`."""
    return full if TORTURE else max(1, int(full * share))


def _once(embedder: LayeredEmbedder, texts: Sequence[str]) -> Any:
    """As `LayeredEmbedder.embed`, for every text once: its vector is the same bit for bit in whatever company it comes."""
    import numpy as np

    known = {text: kept for text in texts if (kept := _vectors.get((embedder.name, text))) is not None}
    if new := [text for text in dict.fromkeys(texts) if text not in known]:
        known |= dict(zip(new, computed(embedder, new), strict=True))
        if len(_vectors) > VECTORS_KEPT:
            _vectors.clear()
        _vectors.update({(embedder.name, text): vector for text, vector in known.items()})
    return np.stack([known[text] for text in texts]) if len(texts) else computed(embedder, texts)


# An example that had to wait for the processor is not wrong: speed is measured in `bench/`.
settings.register_profile("memorist", deadline=None, max_examples=rounds(1000))
settings.load_profile("memorist")


@pytest.fixture(scope="session", autouse=True)
def vectors_are_computed_once() -> Iterator[None]:
    """Three stores get the same texts, and hundreds of tests the same few: most of the time of `make test` went into their
    vectors. The tests of the encoder itself take this away (`computed`)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LayeredEmbedder, "embed", _once)
        yield


@pytest.fixture(scope="session", autouse=True)
def nobodys_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For what is made once for a whole file, before the environment of any one test."""
    with pytest.MonkeyPatch.context() as patch:
        _move_home(tmp_path_factory, patch)
        yield


@pytest.fixture(autouse=True)
def own_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    _move_home(tmp_path_factory, monkeypatch)


def _move_home(factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch) -> None:
    home = factory.getbasetemp() / "homes" / str(next(HOMES))  # `mktemp` would read the names of all others first
    home.mkdir(parents=True)
    for name in [name for name in os.environ if name.startswith(("MEMORIST_", "XDG_"))]:
        if name != "MEMORIST_TORTURE":
            patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("MEMORIST_CONFIG", str(home / "config.toml"))


@pytest.fixture
def without_reader(own_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is about files, processes and hostile input: judging what a write contradicts took most of its time. The golden
    tests and `make torture` have the reader."""
    if not TORTURE:
        monkeypatch.setenv("MEMORIST_READER", "off")


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


# For what is decided before any store is asked: one memory shows it.
in_ram = pytest.mark.parametrize("memory", ["ram"], indirect=True)


# What holds in an SQLite file must hold in a JSON file, which is the store in RAM and a file: `tests/contract` has all three.
STORES = ["sqlite", "json"]


def place_of(store: str, folder: Path) -> Path | str:
    return {"sqlite": folder / "memory.db", "ram": ":memory:", "json": folder / "memory.json"}[store]


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    return place_of(request.param, tmp_path)


@pytest.fixture(params=STORES)
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Memory]:
    with Memory(place_of(request.param, tmp_path), project="atlas", clock=clock) as memory:
        yield memory
