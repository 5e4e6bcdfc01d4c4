"""Who may read and write where. Every filter on the store is built from an `Access`, by-id reads included.

A grant is a scope (`project/atlas`), a family (`task/*`), or `*`. The star stands for every family except `project`:
that projects cannot read each other is a promise, so another project must be named, or `project/*` be granted.
"""

from dataclasses import dataclass, replace

from memorist.errors import Invalid, OutOfScope
from memorist.records import Origin, Scope

ROLES = ("admin", "project", "reader", "skill")
WRITERS = ("admin", "project")  # the others write nothing, whatever their grants say
EVERYWHERE = ("*", "project/*")
DEFAULT_SPACE = "default"


@dataclass(frozen=True, slots=True)
class Access:
    """The caller, as the engine sees it: its space, what it may read and write, and how its words are labelled."""

    space: str = DEFAULT_SPACE
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    role: str = "project"
    actor: str = "unknown"
    origin: Origin = "agent"
    surface: str = "library"

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise Invalid(f"there is no role {self.role!r}; roles are {', '.join(ROLES)}")
        Scope(f"space/{self.space}")  # the same rules: no blanks, no control characters, not too long

    def may_read(self, scope: str) -> bool:
        return _granted(self.reads, scope)

    def may_write(self, scope: str) -> bool:
        return self.role in WRITERS and _granted(self.writes, scope)

    def must_read(self, scope: str) -> Scope:
        return self._must(Scope(scope), "read", self.reads)

    def must_write(self, scope: str) -> Scope:
        return self._must(Scope(scope), "write", self.writes if self.role in WRITERS else ())

    @classmethod
    def to_read(cls, space: str) -> "Access":
        """Of the engine itself, which has to see every scope of a space to keep it whole."""
        return cls(space=space, reads=EVERYWHERE)

    def over_the_space(self, surface: str) -> "Access":
        """The same actor as the keeper of the whole space, for upkeep; only those who work in a project may be that."""
        if self.role not in WRITERS:
            raise OutOfScope(f"a {self.role} access may not look after the whole store; use a project's access")
        return replace(self, reads=EVERYWHERE, writes=EVERYWHERE, role="admin", surface=surface)

    def _must(self, scope: Scope, act: str, grants: tuple[str, ...]) -> Scope:
        if not _granted(grants, scope):
            allowed = ", ".join(grants) or "nothing"
            raise OutOfScope(f"this {self.role} access may not {act} {scope}; it may {act}: {allowed}")
        return scope


def access_for(role: str, project: str, **labels: str) -> Access:
    """The usual access of a role that works in one project.

    >>> access_for("project", "project/atlas").may_read("project/borealis")
    False
    """
    here: tuple[str, ...] = ("*", Scope(project))
    reads = {"admin": EVERYWHERE, "project": here, "reader": here}.get(role, ())
    writes = {"admin": EVERYWHERE, "project": here}.get(role, ())
    return Access(reads=reads, writes=writes, role=role, **labels)  # type: ignore[arg-type]


def _granted(grants: tuple[str, ...], scope: str) -> bool:
    family = scope.partition("/")[0]
    return scope in grants or f"{family}/*" in grants or ("*" in grants and family != "project")
