"""Which paths a file such as `.gitignore` names, as git reads it. RE2 matches, since a pattern may be a stranger's."""

import re
import warnings
from collections.abc import Callable
from contextlib import suppress

from memorist.fork import inside

MOST_PATTERNS, LONGEST_PATTERN = 10_000, 1000  # longer lines match nothing
CLASSES = {"[:alpha:]": "a-zA-Z", "[:digit:]": "0-9", "[:alnum:]": "a-zA-Z0-9", "[:lower:]": "a-z", "[:upper:]": "A-Z"}
# Whether a path below the folder of the file is ignored; None if no rule names it. The second says that it is a folder.
Rules = Callable[[str, bool], bool | None]


def rules_of(text: str) -> Rules:
    """The rules of a file, without those that git could not read either."""
    from pathspec import GitIgnoreSpec  # takes longer to load than most commands
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns = []
    for line in text.removeprefix("\ufeff").splitlines()[:MOST_PATTERNS]:
        for name, letters in CLASSES.items():
            line = line.replace(name, letters)
        with suppress(ValueError, re.error), warnings.catch_warnings(action="ignore"):
            patterns += [GitIgnoreSpecPattern(line)] if len(line) <= LONGEST_PATTERN else []
    rules = GitIgnoreSpec(patterns, backend="re2")

    def ignores(path: str, folder: bool) -> bool | None:
        plain = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        with inside:
            return rules.check_file(f"{plain}/" if folder else plain).include

    return ignores
