"""The kinds. What a memory is decides where it lies, how it fades and how much it weighs.

    decision      what was decided, and why             architecture  how things are built and fit together
    convention    how things are done here              pattern       a solution that works again and again
    preference    what somebody likes or wants          correction    what was wrong, and what is right
    warning       what must not be done                 error         what failed, and what helped
    procedure     how something is done, step by step   fact          what is the case; the default
    entity        a person, a place, a thing            note          what may be worth knowing for a while
    file_change   what was changed in a file            progress      how far something has come
    reasoning     a thought on the way                  tool_output   what a tool returned
    discovery     what was found out                     task_progress  how far a task has come
    summary       the short form of something longer

Not recalled unless they are asked for, with `kinds=` or `search=`:

    turn          what was said in a conversation       document      a piece of a file
    narrative     the story of a session                task          something to be done
    gap           what was asked, and nobody knew       cluster       memories that belong together
    session       a conversation: its state, its parent and its summary

Names that other tools use are understood too: claim and memory are facts, negative is a warning, failure an error,
message a turn, source a document. You add your own with a `[kinds]` table in the settings or
with Memory(kinds={"recipe": Kind("recipe")}).

The numbers of the table are the founding documents' own, merged (importance, days until the archive may take it, half-life in
days, weight in ranking); where they gave none, the value is ours.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from memorist.errors import Invalid, meant
from memorist.lazy import dataclass

KindName = (
    Literal[
        "decision", "architecture", "convention", "pattern", "preference", "correction", "warning", "error", "procedure",
        "fact", "entity", "note", "discovery", "file_change", "progress", "task_progress", "reasoning", "tool_output",
        "summary", "turn", "document", "narrative", "task", "gap", "cluster", "session",
    ]
    | str  # a kind of your own
)  # fmt: skip
MEMORY, TURNS, DOCUMENTS, ARCHIVE = "memory", "turns", "documents", "archive"
LAYERS = (MEMORY, TURNS, DOCUMENTS, ARCHIVE)

# Bounds of what a user may set for a kind, so that no weight drowns relevance.
BOUNDS = {"importance": (0, 1), "ttl_days": (1, 100_000), "half_life_days": (0.01, 100_000), "weight": (0.5, 2)}


def _number(name: str, key: str, value: object) -> float:
    least, most = BOUNDS[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise Invalid(f"kind {name!r}: {key} must be a number from {least:g} to {most:,g}, not {value!r:.60}")
    return float(value)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind, and the defaults it sets."""

    name: str
    importance: float = 0.5
    ttl_days: float | None = None  # None: time alone never archives it
    half_life_days: float | None = None  # None: it does not fade
    weight: float = 1.0
    layer: str = MEMORY
    recalled: bool = True  # found even when no kinds are asked for
    deduplicated: bool = True  # an exact twin reinforces instead of adding
    append_only: bool = False  # never revised, never superseded
    kept: tuple[str, ...] = ()  # keys of its data that only their own verbs change, not `revise`

    def __post_init__(self) -> None:
        if self.layer not in LAYERS:
            raise Invalid(f"there is no layer {self.layer!r:.60}; layers are {', '.join(LAYERS)}")
        for key in BOUNDS:
            value = getattr(self, key)
            if value is not None or key in ("importance", "weight"):
                _number(self.name, key, value)


_TABLE = (
    Kind("decision", 0.9, 90, 180, 1.3),
    Kind("architecture", 0.8, 180, 180, 1.2),
    Kind("convention", 0.8, 180, 180, 1.0),
    Kind("pattern", 0.7, 180, 180, 1.0),
    Kind("preference", 0.9, 365, 90, 0.8),
    Kind("correction", 0.9, None, 365, 1.3),
    Kind("warning", 0.85, 30, 365, 1.4),
    Kind("error", 0.85, 90, 90, 1.2),
    Kind("procedure", 0.8, 180, 60, 1.1),
    Kind("fact", 0.6, None, 30, 1.0),
    Kind("entity", 0.5, None, 60, 0.9),
    Kind("note", 0.5, 21, 30, 0.9),
    Kind("discovery", 0.5, 21, 30, 0.9),
    Kind("file_change", 0.5, 21, 14, 1.0),
    Kind("progress", 0.4, 14, 7, 0.9),
    Kind("task_progress", 0.4, 14, 7, 0.9),
    Kind("reasoning", 0.5, None, None, 0.8),
    Kind("tool_output", 0.7, None, None, 0.8),
    Kind("summary", 0.6),
    Kind("turn", 0.5, layer=TURNS, recalled=False, deduplicated=False, append_only=True),
    Kind("document", 0.5, layer=DOCUMENTS, recalled=False),
    Kind("narrative", 0.6, recalled=False, deduplicated=False, append_only=True),
    Kind("task", 0.6, recalled=False, deduplicated=False, kept=("status", "blocked_by", "result", "completed")),
    Kind("gap", 0.3, 30, recalled=False),
    Kind("cluster", 0.5, recalled=False, deduplicated=False),
    Kind("session", 0.5, recalled=False, deduplicated=False),
)


class Kinds(dict[str, Kind]):
    """Kinds by name. An unknown name is treated as a plain kind: memories must still be found if another process added
    their kind, or if it was removed from the settings."""

    def __missing__(self, name: str) -> Kind:
        return Kind(name)


KINDS: Mapping[str, Kind] = MappingProxyType(Kinds({kind.name: kind for kind in _TABLE}))

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "claim": "fact",
        "memory": "fact",
        "negative": "warning",
        "failure": "error",
        "message": "turn",
        "source": "document",
    }
)

# Kinds written only by verbs of their own, which rely on a certain shape; a caller with just a text cannot choose them.
KEPT_BY: Mapping[str, str] = MappingProxyType(
    {
        "session": "`session` opens one",
        "task": "`add_task` adds one",
        "narrative": "`narrate` tells one",
        "cluster": "upkeep finds them",
    }
)

# A founding document's own names for two of our kinds: memories keep the name they got, and queries for one find both.
LIKE: Mapping[str, str] = MappingProxyType({"discovery": "note", "task_progress": "progress"})

# The sections of a MEMORY.md by kind; all other kinds go into the last of them.
SECTIONS: Mapping[str, str] = MappingProxyType(
    {"decision": "Key Decisions", "preference": "User Preferences", "summary": "Session Summaries"}
)
OTHER_SECTION = "Project Context"


def kind_named(name: str, kinds: Mapping[str, Kind] = KINDS) -> Kind:
    """The kind with this name or alias, among these.

    >>> kind_named("claim").name
    'fact'
    """
    found = kinds.get(ALIASES.get(name, name)) if isinstance(name, str) else None
    if found is None:
        raise Invalid(f"there is no kind {str(name)[:60]!r}{meant(name, kinds)}; kinds are {', '.join(sorted(kinds))}")
    return found


def own_kinds(table: Mapping[str, Mapping[str, object]]) -> dict[str, Kind]:
    """Kinds from a settings table such as {"recipe": {"importance": 0.7, "half_life_days": 90}}."""
    kinds = {}
    for name, values in table.items():
        if not name.isidentifier():
            raise Invalid(f"a kind cannot be called {name[:60]!r}; use letters, digits and _")
        unknown = sorted(set(values) - set(BOUNDS))
        if unknown:
            raise Invalid(f"kind {name!r}: unknown key {unknown[0][:60]!r}; allowed are {', '.join(BOUNDS)}")
        numbers = {key: _number(name, key, value) for key, value in values.items()}
        kinds[name] = replace(KINDS.get(name, Kind(name)), **numbers)  # type: ignore[arg-type]
    return kinds
