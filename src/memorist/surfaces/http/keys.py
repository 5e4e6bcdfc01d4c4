"""API keys: random, shown once, stored as digests in one private file that is read again when it changes.

A key defines its bearer for the engine: a space, the projects it may name, the users whose scopes it sees, a role, and
the origin of its writes, which is an agent's unless the person who made the key chose another. Nothing in a request can
extend any of these.
"""

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.access import DEFAULT_SPACE, HOMED, ORIGINS, ROLES, Access, access_for
from memorist.errors import Invalid, MemoristError, NotFound, OutOfScope
from memorist.project import resolve_project
from memorist.store.files import create_private, replace_private
from memorist.store.lock import locked
from memorist.surfaces import settings

FILE_NAME = "keys.json"
PREFIX = "mk_"  # makes a key recognisable where it was pasted by mistake
LONGEST_KEY = 200
ANY_PROJECT = ANY_USER = "*"
OF_NO_USER = ("global", *(f"{family}/*" for family in HOMED))  # what a key without users sees besides its project
RATE = 100.0  # requests a second that a key may make, unless it sets another rate
WAIT_FOR_OTHERS = 10.0  # seconds to wait for another process that changes keys
KEY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
log = logging.getLogger("memorist.http")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key without its secret: only the digest `sha256` is stored."""

    name: str
    sha256: str
    space: str = DEFAULT_SPACE
    projects: tuple[str, ...] = (ANY_PROJECT,)
    users: tuple[str, ...] | None = None  # None: all for a key of any project, none for one that names its projects
    role: str = "project"
    origin: str = "agent"
    rate: float = RATE  # requests a second
    size: int | None = None  # bytes of a request's body; None: the server's own limit
    made: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not KEY_NAME.fullmatch(self.name):
            raise Invalid(f"a key's name has up to 64 letters, digits, dots and dashes, not {self.name!r:.60}")
        checks.one_of(self.role, "the role", ROLES)
        checks.one_of(self.origin, "the origin", ORIGINS)
        checks.number(self.rate, "the rate", 0.01, 1_000_000)
        if self.size is not None:
            checks.whole(self.size, "the size", 1, 1 << 40)
        if not self.projects or not all(isinstance(each, str) for each in self.projects):
            raise Invalid("a key names the projects it is for, or '*' for any")
        self.access("project/default")  # checks the space and the users

    def project(self, named: str | None, usual: str) -> str:
        """The scope of the project that a request is about: the one it names, else the server's, else the key's first."""
        wanted = usual if self._may(usual) else self.projects[0]
        if named is not None:
            wanted = str(resolve_project(named, None).scope)
        if not self._may(wanted):
            raise OutOfScope(f"this key is not for {wanted}; it is for {', '.join(self.projects)}")
        return wanted

    @property
    def is_for_every_project(self) -> bool:
        return ANY_PROJECT in self.projects

    @property
    def _sees_every_user(self) -> bool:
        return self.is_for_every_project if self.users is None else ANY_USER in self.users

    def _may(self, project: str) -> bool:
        return self.is_for_every_project or project in self.projects

    def access(self, project: str, surface: str = "http") -> Access:
        """What the bearer may do in that project."""
        usual = access_for(self.role, project)
        if self.role != "admin" and not self._sees_every_user:
            seen = (*OF_NO_USER, *(f"user/{user}" for user in self.users or ()), project)
            usual = replace(usual, reads=seen if usual.reads else (), writes=seen if usual.writes else ())
        return replace(usual, space=self.space, actor=self.name, origin=self.origin, surface=surface)  # type: ignore[arg-type]

    def shown(self) -> dict[str, Any]:
        """All fields but the digest."""
        return {name: value for name, value in asdict(self).items() if name != "sha256"}

    def kept(self) -> dict[str, Any]:
        """All fields, as `key_of` reads them."""
        return {**self.shown(), "sha256": self.sha256}


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def usual_file() -> Path:
    """The file for keys, unless another is named."""
    config = settings.user_file()
    if config is None:
        raise Invalid("there is no home folder to keep keys in; name a file with --keys")
    return config.parent / FILE_NAME


class KeyRing:
    """The current keys of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] | None = None
        self._keys: tuple[ApiKey, ...] = ()
        self.read()

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def keys(self) -> tuple[ApiKey, ...]:
        """The keys, read again if the file changed. If it can no longer be read, the keys stay as they were."""
        if self._stamped() != self._stamp:
            try:
                self.read()
            except MemoristError as problem:
                log.error("the keys stay as they were: %s", problem)
        return self._keys

    def read(self) -> None:
        """Reads the file."""
        with self._lock:
            stamp = self._stamp = self._stamped()
            if stamp is None:
                self._keys = ()
                return
            if os.name == "posix" and stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                raise Invalid(f"{self.path} can be read by others; keep it to yourself: chmod 600 {self.path}")
            self._keys = _read(self.path)

    def _stamped(self) -> tuple[int, ...] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode

    def find(self, token: str) -> ApiKey | None:
        """Finds the key of a token. It compares every one, so that the time does not reveal a match."""
        wanted, found = digest_of(token[:LONGEST_KEY]), None
        for key in self.keys:
            if hmac.compare_digest(key.sha256, wanted):
                found = key
        return found if len(token) <= LONGEST_KEY else None

    def named(self, name: str) -> ApiKey:
        found = next((key for key in self.keys if key.name == name), None)
        if found is None:
            known = ", ".join(key.name for key in self.keys) or "none"
            raise NotFound(f"there is no key {name!r:.60}; keys are: {known}")
        return found

    # ------------------------------------------------------------ changes

    def add(self, name: str, **given: Any) -> str:
        """Makes a key and returns it; it is never shown again."""
        if "projects" in given:
            names = given["projects"]
            given["projects"] = tuple(n if n == ANY_PROJECT else str(resolve_project(n, None).scope) for n in names)
        token = _token()
        key = ApiKey(name, digest_of(token), made=_now(), **given)
        with self._changing() as keys:
            if any(each.name == name for each in keys):
                raise Invalid(f"there is a key {name!r:.60} already; rotate it, or remove it first")
            keys.append(key)
        return token

    def rotate(self, name: str) -> str:
        """Replaces a key by a new one with the same rights. The old one stops working at once."""
        token = _token()
        with self._changing() as keys:
            old = self.named(name)
            keys[keys.index(old)] = replace(old, sha256=digest_of(token), made=_now())
        return token

    def remove(self, name: str) -> None:
        with self._changing() as keys:
            keys.remove(self.named(name))

    @contextmanager
    def _changing(self) -> Iterator[list[ApiKey]]:
        """Yields the keys for a change and writes them back, while a lock keeps other processes out: two that wrote
        what they had read before would bring back a key that the other one removed."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        create_private(lock)
        with locked(lock, WAIT_FOR_OTHERS, what="the keys"):
            self.read()
            keys = list(self._keys)
            yield keys
            replace_private(self.path, json.dumps({"keys": [key.kept() for key in keys]}, indent=1) + "\n")
            self.read()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _token() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def _read(path: Path) -> tuple[ApiKey, ...]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return tuple(key_of(each) for each in told["keys"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as problem:
        said = problem if isinstance(problem, MemoristError) else type(problem).__name__
        raise Invalid(f"{path} holds no keys that can be read ({said}); mend it, or remove it") from problem


def key_of(told: Mapping[str, Any]) -> ApiKey:
    """The key that `kept` wrote."""
    digest = told["sha256"]
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise Invalid("a key has no digest")
    users = told.get("users")
    named = {"projects": tuple(told["projects"]), "users": None if users is None else tuple(users)}
    return ApiKey(**{**told, **named})
