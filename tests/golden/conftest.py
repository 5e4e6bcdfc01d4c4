"""What every golden test shares: a home of its own, a clock to move, and a store in each form. Nothing of it is private."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from golden.driver import Clock, Lib
from golden.outside_fixtures import shell, web  # noqa: F401

TORTURE = os.environ.get("MEMORIST_TORTURE") == "1"
HOMES = count()
STORES = {"sqlite": "memory.db", "json": "memory.json"}


def rounds(full: int, share: float = 0.025) -> int:
    """The promised number in `make torture`, a few percent of it otherwise."""
    return full if TORTURE else max(1, int(full * share))


# For laws: no deadline, because an example that had to wait for the processor is not wrong.
LAW = settings(
    deadline=None,
    max_examples=rounds(1000),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of its own, so that no test sees or touches the developer's memory."""
    home = tmp_path_factory.getbasetemp() / "golden-homes" / str(next(HOMES))
    home.mkdir(parents=True)
    for name in [name for name in os.environ if name.startswith(("MEMORIST_", "XDG_"))]:
        if name != "MEMORIST_TORTURE":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MEMORIST_CONFIG", str(home / "config.toml"))
    return home


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lib(clock: Clock) -> Iterator[Lib]:
    """A memory in RAM: for what is decided before any store is asked."""
    with Lib(clock=clock) as lib:
        yield lib


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / STORES[request.param]


@pytest.fixture
def kept(place: Path, clock: Clock) -> Iterator[Lib]:
    """A memory in a file of each form."""
    with Lib(place, clock=clock) as lib:
        yield lib
