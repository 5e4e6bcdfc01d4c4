"""What keeps the start of a program short: modules that are loaded when they are first used, and dataclasses that cost little to
make, so that a command pays only for what it does."""

import dataclasses
import gc
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any


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


# ---------------------------------------------------------------- dataclasses


def _dataclass(*, frozen: bool = False, slots: bool = False, repr: bool = True, eq: bool = True) -> Any:
    """As `dataclasses.dataclass`, for a fifth of its time: only `__init__` is compiled for each class, all else is shared. A cold
    command makes nearly two hundred of them (docs/why/0066-a-hook-in-little-time.md). A field without a place in `__init__`, or one
    that must be named, needs the other."""

    def made(cls: type) -> type:
        own = dict(cls.__dict__)
        found: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
        parts: dict[str, Any] = {"__init__": _init(found, frozen)}
        parts |= {"__repr__": _repr} if repr else {}
        parts |= _compared(found, frozen) if eq else {}
        parts |= {"__setattr__": _refuse, "__delattr__": _refuse, "__setstate__": _restore} if frozen else {}
        for name, part in parts.items():
            if name not in own or (name == "__hash__" and own[name] is None):
                setattr(found, name, part)
        return found  # type: ignore[no-any-return]

    return made


def _init(cls: Any, frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_none": dataclasses.MISSING}
    words, lines = ["self"], list[str]()
    for each in dataclasses.fields(cls):
        name = value = each.name
        if not each.init or each.kw_only:
            raise TypeError(f"{cls.__name__}.{name} has no place in __init__; use dataclasses.dataclass")
        if each.default_factory is not dataclasses.MISSING:
            known[f"_{name}"], value = each.default_factory, f"_{name}() if {name} is _none else {name}"
            words.append(f"{name}=_none")
        elif each.default is not dataclasses.MISSING:
            known[f"_{name}"] = each.default
            words.append(f"{name}=_{name}")
        else:
            words.append(name)
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else [] if lines else ["pass"]
    exec(f"def __init__({', '.join(words)}):\n " + "\n ".join(lines), known)
    init: Any = known["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {each.name: each.type for each in dataclasses.fields(cls)} | {"return": None}
    return init  # type: ignore[no-any-return]


def _compared(cls: Any, frozen: bool) -> dict[str, Any]:
    names = [each.name for each in dataclasses.fields(cls) if each.compare]
    values: Callable[[Any], Any] = lambda one: tuple(getattr(one, name) for name in names)  # noqa: E731
    if len(names) > 1:
        values = attrgetter(*names)

    def equal(one: Any, other: Any) -> Any:
        return values(one) == values(other) if other.__class__ is one.__class__ else NotImplemented

    return {"__eq__": equal, "__hash__": (lambda one: hash(values(one))) if frozen else None}


def _repr(one: Any) -> str:
    said = (f"{each.name}={getattr(one, each.name)!r}" for each in dataclasses.fields(one) if each.repr)
    return f"{type(one).__qualname__}({', '.join(said)})"


def _refuse(one: Any, name: str, value: Any = None) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change {name!r} of a {type(one).__name__}; use dataclasses.replace")


def _restore(one: Any, state: Any) -> None:
    """What a copy, or a pickle, has of a frozen value."""
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            object.__setattr__(one, name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass
