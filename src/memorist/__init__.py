"""memorist: a memory engine for LLM agents.

from memorist import Memory
memory = Memory("me.db")
memory.remember("Staging runs Postgres 16", kind="decision")
print(memory.recall("which database?")[0].text)

help(Memory.remember) explains a verb with all it takes; help(memorist.kinds) lists the kinds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memorist import designs, errors, kinds
    from memorist.access import Access
    from memorist.aio import AsyncMemory
    from memorist.client import AsyncClient, Client
    from memorist.memory import Memory
    from memorist.records import Context, Draft, Hit, Link, Outcome, Recall, Record, Scope

__version__ = "0.1.0"
__all__ = [
    "Access",
    "AsyncClient",
    "AsyncMemory",
    "Client",
    "Context",
    "Draft",
    "Hit",
    "Link",
    "Memory",
    "Outcome",
    "Recall",
    "Record",
    "Scope",
    "designs",
    "errors",
    "kinds",
]

# The module of each public name. Names not listed here live in `records`; public modules are imported under their own
# name.
_HOMES = {"Access": "access", "AsyncMemory": "aio", "Memory": "memory", "AsyncClient": "client", "Client": "client"}


def __getattr__(name: str) -> Any:
    """Loads a public name on first use, so that `memorist --version` costs nothing."""
    if name in ("designs", "errors", "kinds"):
        return import_module(f"memorist.{name}")
    if name in __all__:
        return getattr(import_module(f"memorist.{_HOMES.get(name, 'records')}"), name)
    raise AttributeError(f"module 'memorist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
