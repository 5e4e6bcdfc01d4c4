"""Where a memory belongs: a path that is checked once, when it is made."""

import unicodedata
from collections.abc import Callable

from memorist.errors import Invalid

_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"  # letters and signs, by their category, that show nothing


class Scope(str):
    """Where a memory belongs: `global`, or a name and an id such as `project/atlas`, `user/ann`, `task/42`.

    It is a plain string that was checked once. Scopes are compared whole: `project/a` never sees `project/ab`.

    >>> Scope("project/atlas").family
    'project'
    """

    __slots__ = ()
    LONGEST = 200

    def __new__(cls, path: str) -> "Scope":
        if isinstance(path, Scope):
            return path
        if not isinstance(path, str):
            raise Invalid(f"a scope must be text such as 'project/atlas', not {type(path).__name__}")
        flaw = _scope_flaw(path)
        if flaw:
            raise Invalid(f"scope {path[:60]!r} {flaw}; write 'global' or a name and an id, such as 'project/atlas'")
        return super().__new__(cls, path)

    @property
    def family(self) -> str:
        return self.partition("/")[0]


def _scope_flaw(path: str) -> str | None:
    if path == "global":
        return None
    return next((flaw for has, flaw in _FLAWS if has(path)), None)


def _has_bad_part(path: str) -> bool:
    return any(not part or part != part.strip() or part in (".", "..") for part in path.split("/"))


def _has_hidden(path: str) -> bool:
    return any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or char in _BLANK_LETTERS for char in path)


_FLAWS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda path: len(path) > Scope.LONGEST, f"has more than {Scope.LONGEST} characters"),
    (lambda path: "/" not in path, "has no id"),
    (_has_bad_part, "has an empty part, '.', '..' or blanks around a part"),
    (_has_hidden, "holds an invisible or control character"),
    (
        lambda path: unicodedata.normalize("NFC", path) != path,
        "is not in Unicode's composed form (NFC), so it would look like another scope and not be it",
    ),
    (lambda path: "*" in path, "holds '*', which stands for every scope in an access"),
)
