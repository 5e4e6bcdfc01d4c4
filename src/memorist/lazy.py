"""What makes programs start fast: modules that load on first use, and dataclasses that are cheap to make, so that a
command pays only for what it does."""

import dataclasses
import gc
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, update_wrapper
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any


def modules(package: str, names: Collection[str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `package.name` imports one of the named modules."""

    def load(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load


@contextmanager
def for_good() -> Iterator[None]:
    """Wraps the loading done by a server when it starts. That creates many objects and drops almost none, so they are
    kept from the garbage collector: while they are made, which would cost an eighth of the time, and ever after."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class Module:
    """A lazy import for the top of a module: loads when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self._module = name

    def __getattr__(self, name: str) -> Any:
        self.__dict__[name] = found = getattr(import_module(self._module), name)
        return found


# ---------------------------------------------------------------- dataclasses


def _dataclass(*, frozen: bool = False, slots: bool = False, repr: bool = True, eq: bool = True) -> Any:
    """`dataclasses.dataclass` for a fraction of its time. What that compiles for each class is shared by all classes
    here, and `__init__` is compiled when the first value is made. A cold command loads nearly two hundred classes, and
    uses half of them (docs/why/0066-a-hook-in-little-time.md)."""

    def made(cls: type) -> type:
        if any(map(dataclasses.is_dataclass, cls.__bases__)):  # only the standard library handles inherited fields
            return dataclasses.dataclass(frozen=frozen, slots=slots, repr=repr, eq=eq)(cls)
        own = {name: part for name, part in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
        found: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
        found.__dataclass_params__.frozen = frozen
        _put(found, own, {"__init__": _first_init(found, own, frozen)})
        _put(found, own, {"__repr__": _repr} if repr else {})
        _put(found, own, _compared(found, frozen) if eq else {})
        _put(found, own, FROZEN if frozen else {})
        _put(found, own, {"__signature__": _Signature()})
        return found  # type: ignore[no-any-return]

    return made


FIRST_VALUES = 4  # of a class, made before its real `__init__` is compiled
LARGE = 6  # fields; a frozen class with at least so many is filled through its twin


def _put(cls: type, own: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    """Sets these parts, unless the class defines them itself. A `__hash__` of None, which Python sets beside `__eq__`,
    does not count."""
    for name, part in parts.items():
        if own.get(name) is None:
            setattr(cls, name, part)


def _first_init(cls: Any, own: dict[str, Any], frozen: bool) -> Callable[..., None]:
    """An `__init__` for the first few values; most classes never get more. After those it replaces itself with the real
    one, taken from a twin that the standard library makes; at once if the arguments are unusual or wrong."""
    fields, first = dataclasses.fields(cls), iter(range(FIRST_VALUES))

    def init(one: Any, *given: Any, **named: Any) -> None:
        values = _values(fields, given, named) if next(first, None) is not None else None
        if values is not None:
            for name, value in values.items():
                object.__setattr__(one, name, value)
            if hasattr(one, "__post_init__"):
                one.__post_init__()
            return
        settle()
        cls.__init__(one, *given, **named)

    def settle() -> None:
        if cls.__init__ is init:
            cls.__init__ = _quick_init(cls, own) if _is_large(cls, frozen) else _twin(cls, own, frozen=frozen).__init__

    init.settle = settle  # type: ignore[attr-defined]
    return init


class _Signature:
    """The signature of a class on demand: asking for it compiles the real `__init__`."""

    def __get__(self, one: Any, cls: Any) -> Any:
        if one is not None:  # a callable instance has a signature of its own
            raise AttributeError("__signature__")
        from inspect import signature  # imported late: commands do not need it

        getattr(cls.__init__, "settle", lambda: None)()
        found = signature(cls.__init__)
        return found.replace(parameters=list(found.parameters.values())[1:], return_annotation=None)


def _twin(cls: Any, own: Mapping[str, Any], **how: bool) -> Any:
    """The same class, made by the standard library."""
    return dataclasses.dataclass(repr=False, eq=False, **how)(
        type(cls.__name__, cls.__bases__, {**own, "__qualname__": cls.__qualname__})
    )


def _is_large(cls: Any, frozen: bool) -> bool:
    return frozen and "__slots__" in cls.__dict__ and len(dataclasses.fields(cls)) >= LARGE


def _quick_init(cls: Any, own: Mapping[str, Any]) -> Callable[..., None]:
    """A fast `__init__` for a large frozen class. The usual one checks for each field whether it may be set. This one
    turns the value into a mutable twin with the same slots while it is filled, which takes a third of the time: queries
    make such values by the hundred."""
    twin, change = _twin(cls, own, slots=True), object.__setattr__
    fill, usual = twin.__init__, cache(lambda: _twin(cls, own, frozen=True).__init__)

    def init(one: Any, *given: Any, **named: Any) -> None:
        if one.__class__ is not cls:  # a subclass may store its values elsewhere
            usual()(one, *given, **named)
            return
        change(one, "__class__", twin)
        fill(one, *given, **named)
        one.__class__ = cls

    return update_wrapper(init, fill)


def _values(
    fields: tuple["dataclasses.Field[Any]", ...], given: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any] | None:
    """The value of each field; None if the fields or arguments are unusual."""
    found = dict(zip((each.name for each in fields), given, strict=False)) | named
    if len(found) != len(given) + len(named) or not all(each.init and not each.kw_only for each in fields):
        return None
    found |= {each.name: _usual(each) for each in fields if each.name not in found}
    whole = len(found) == len(fields) and id(dataclasses.MISSING) not in map(id, found.values())
    return found if whole else None


def _usual(field: "dataclasses.Field[Any]") -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _compared(cls: Any, frozen: bool) -> dict[str, Any]:
    fields = dataclasses.fields(cls)
    values = _reader([each.name for each in fields if each.compare])
    hashed = _reader([each.name for each in fields if (each.compare if each.hash is None else each.hash)])

    def equal(one: Any, other: Any) -> Any:
        return values(one) == values(other) if other.__class__ is one.__class__ else NotImplemented

    return {"__eq__": equal, "__hash__": (lambda one: hash(hashed(one))) if frozen else None}


def _reader(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if len(names) > 1 else lambda one: tuple(getattr(one, name) for name in names)


def _repr(one: Any) -> str:
    said = (f"{each.name}={getattr(one, each.name)!r}" for each in dataclasses.fields(one) if each.repr)
    return f"{type(one).__qualname__}({', '.join(said)})"


def _refuse(one: Any, name: str, value: Any = None) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change {name!r} of a {type(one).__name__}; use dataclasses.replace")


def _restore(one: Any, state: Any) -> None:
    """Restores the state of a frozen value that is copied or unpickled."""
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            object.__setattr__(one, name, value)


FROZEN = {"__setattr__": _refuse, "__delattr__": _refuse, "__setstate__": _restore}
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass
