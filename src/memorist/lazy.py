"""Modules that are loaded when they are first used, so that a command pays only for what it does."""

import gc
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def modules(package: str, names: Collection[str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose modules are named here: `package.name` imports it."""

    def load(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load


@contextmanager
def for_good() -> Iterator[None]:
    """Around what a server loads when it starts. It makes very much and drops next to nothing, so it is not searched for garbage:
    neither meanwhile, which costs an eighth of the time, nor ever after."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class Module:
    """A module for a name at the top of another: it is loaded when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._module = name

    def __getattr__(self, name: str) -> Any:
        self.__dict__[name] = found = getattr(import_module(self._module), name)
        return found
