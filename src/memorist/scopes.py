"""Where a memory belongs: a path that is checked once, when it is made."""

import unicodedata

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
    parts = path.split("/")
    if len(path) > Scope.LONGEST:
        return f"has {len(path):,} characters, {Scope.LONGEST} are allowed"
    if path == "global":
        return None
    if len(parts) < 2:
        return "has no id"
    if any(not part or part != part.strip() or part in (".", "..") for part in parts):
        return "has an empty part, '.', '..' or blanks around a part"
    if any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or char in _BLANK_LETTERS for char in path):
        return "holds an invisible or control character"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in Unicode's composed form (NFC), so it would look like another scope and not be it"
    if "*" in path:
        return "holds '*', which stands for every scope in an access"
    return None
