"""Who may read and write where. Every filter on the store is built from an `Access`, including reads by id.

A grant is a scope (`project/atlas`), a family (`task/*`), or `*`. The star stands for every family except `project`:
memorist promises that projects cannot read each other, so another project must be named, or `project/*` granted.

Tasks, sessions and agents belong to the project in which they were made, their home: `task/42` of one project is not
`task/42` of another. Reading or writing them takes a grant for both the scope and its home (docs/why/0023-homes.md).
"""

import logging
from dataclasses import replace
from typing import get_args

from memorist.errors import Invalid, OutOfScope
from memorist.lazy import dataclass
from memorist.noun import Noun
from memorist.records import Origin, Scope

ORIGINS: tuple[str, ...] = get_args(Origin)
ROLES = ("admin", "project", "reader", "skill")
WRITERS = ("admin", "project")  # the other roles write nothing, whatever their grants say
EVERY_PROJECT = "project/*"
EVERYWHERE = ("*", EVERY_PROJECT)
DEFAULT_SPACE = "default"
HOMED = ("task", "session", "agent")  # families whose scopes belong to a project
GLOBAL = "global"  # as a home: an agent that works in every project
SEVERITY = {"read": logging.DEBUG, "write": logging.INFO}  # log level of a refusal; the caller gets an error too
log = logging.getLogger("memorist")


@dataclass(frozen=True, slots=True)
class Access(Noun):
    """The caller as the engine sees it: its space, what it may read and write, and which labels its writes carry."""

    space: str = DEFAULT_SPACE
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    role: str = "project"
    actor: str = "unknown"
    origin: Origin = "agent"
    surface: str = "library"
    home: str | None = None  # the project it works in: `task/42` means the task of this project

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise Invalid(f"there is no role {self.role!r}; roles are {', '.join(ROLES)}")
        for grants in (self.reads, self.writes):
            _check_grants(grants)
        for label in (self.space, self.actor, self.surface):
            if not isinstance(label, str) or not label.strip():
                raise Invalid(f"space, actor and surface are texts; {label!r:.60} is none")
        if self.origin not in ORIGINS:
            raise Invalid(f"there is no origin {self.origin!r:.60}; origins are {', '.join(ORIGINS)}")
        Scope(f"space/{self.space}")  # by the rules of scopes: no blanks, no control characters, not too long

    def may_read(self, scope: str, home: str | None = None) -> bool:
        """Whether it may read this scope when the scope belongs to this home."""
        return self._may(self.reads, scope, home)

    def may_write(self, scope: str, home: str | None = None) -> bool:
        return self._may(self._written, scope, home)

    def must_read(self, scope: str, home: str | None = None) -> Scope:
        return self._must(Scope(scope), home, "read", self.reads)

    def must_write(self, scope: str, home: str | None = None) -> Scope:
        return self._must(Scope(scope), home, "write", self._written)

    @property
    def _written(self) -> tuple[str, ...]:
        """The write grants that count: a read-only role has none."""
        return self.writes if self.role in WRITERS else ()

    def home_of(self, scope: str) -> str | None:
        """The home of a scope this caller names: its own project for a task, a session or an agent, else none."""
        return self.home if is_homed(Scope(scope)) else None

    def homes_of(self, scope: str) -> tuple[str | None, ...]:
        """The homes to look in for a scope this caller names: an agent's home may also be `global`."""
        return (self.home, GLOBAL) if family_of(scope) == "agent" else (self.home_of(scope),)

    def at_home_in(self, project: str) -> "Access":
        """The same access with a home: its own if it has one, else the only project among its grants, else this project."""
        if self.home is not None:
            return self
        named = {grant for grant in (*self.reads, *self.writes) if family_of(grant) == "project"} - {EVERY_PROJECT}
        return replace(self, home=next(iter(named)) if len(named) == 1 else project)

    @property
    def sees_every_project(self) -> bool:
        return EVERY_PROJECT in self.reads

    @classmethod
    def to_read(cls, space: str) -> "Access":
        """The access of the engine itself, which must see every scope of a space to keep it consistent."""
        return cls(space=space, reads=EVERYWHERE)

    def over_the_space(self, surface: str) -> "Access":
        """The same actor with access to the whole space, for upkeep. Only the roles that may write are allowed this."""
        if self.role not in WRITERS:
            raise OutOfScope(f"a {self.role} access may not look after the whole store; use a project's access")
        return replace(self, reads=EVERYWHERE, writes=EVERYWHERE, role="admin", surface=surface)

    def _may(self, grants: tuple[str, ...], scope: str, home: str | None) -> bool:
        """The one rule behind every check. A scope that has no home yet is visible only to those who may see every
        project. An access whose grants name no project can still work in its own home."""
        if not _granted(grants, scope):
            return False
        if home == GLOBAL or not is_homed(scope):
            return True
        if home is None:
            return EVERY_PROJECT in grants
        return _granted(grants, home) or (
            home == self.home and not any(family_of(each) == "project" for each in grants)
        )

    def _must(self, scope: Scope, home: str | None, act: str, grants: tuple[str, ...]) -> Scope:
        if not self._may(grants, scope, home):
            allowed, of = ", ".join(grants) or "nothing", f" of {home}" if home else ""
            problem = f"this {self.role} access may not {act} {scope}{of}; it may {act}: {allowed}"
            log.log(SEVERITY[act], "%s through %s: %s", self.actor, self.surface, problem)
            raise OutOfScope(problem)
        return scope


def _check_grants(grants: object) -> None:
    """Checks that grants are a tuple: a plain string would grant every substring of itself."""
    if not isinstance(grants, tuple) or not all(isinstance(grant, str) for grant in grants):
        raise Invalid(f"reads and writes are tuples of scopes such as ('project/atlas', 'task/*'), not {grants!r:.60}")


def access_for(role: str, project: str, **labels: str) -> Access:
    """The usual access of a role that works in one project.

    >>> access_for("project", "project/atlas").may_read("project/borealis")
    False
    """
    here: tuple[str, ...] = ("*", Scope(project))
    reads = {"admin": EVERYWHERE, "project": here, "reader": here}.get(role, ())
    writes = {"admin": EVERYWHERE, "project": here}.get(role, ())
    return Access(reads=reads, writes=writes, role=role, home=Scope(project), **labels)  # type: ignore[arg-type]


def of_the_owner(who: Access) -> Access:
    """Access for the owner of the file, who can read it anyway: every project in it."""
    return replace(who, role="admin", reads=EVERYWHERE, writes=EVERYWHERE)


def family_of(scope: str) -> str:
    return scope.partition("/")[0]


def is_homed(scope: str) -> bool:
    """Whether scopes of this family belong to a project."""
    return family_of(scope) in HOMED


def _granted(grants: tuple[str, ...], scope: str) -> bool:
    family = family_of(scope)
    return scope in grants or f"{family}/*" in grants or ("*" in grants and family != "project")
