"""What tests of the doors share: a folder with a project, and the program in it. Import the fixtures that a file needs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from golden.driver import Lib, Shell, Web, serving


def shell_in(folder: Path, project: str = "atlas", **more: str) -> Shell:
    """The program in a folder of its own below this one, with a home and a store there."""
    work, home = folder / project, folder / "home"
    for each in (work, home):
        each.mkdir(exist_ok=True)
    settings = {"HOME": str(home), "config": str(home / "config.toml"), "db": str(store_in(folder))}
    return Shell(work, {**settings, "project": project, **more})


def store_in(folder: Path) -> Path:
    return folder / "store" / "memory.db"


def lib_in(folder: Path, project: str = "atlas", origin: str = "user") -> Lib:
    """The library on that store, as its owner."""
    store_in(folder).parent.mkdir(exist_ok=True)
    return Lib(store_in(folder), project=project).caller(origin)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return shell_in(tmp_path)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A server that a whole file of tests shares: no test may need an empty store."""
    with serving(shell_in(tmp_path_factory.mktemp("web"))) as web:
        yield web
