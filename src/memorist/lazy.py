"""Modules that are loaded when they are first used, so that a command pays only for what it does."""

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any


def modules(package: str, names: Collection[str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose modules are named here: `package.name` imports it."""

    def load(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
