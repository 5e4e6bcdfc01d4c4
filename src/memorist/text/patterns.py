"""Regular expressions that are compiled on first use.

Compiling ours takes longer than most commands, so those that never look at a text should not pay for it. The first use of a
method compiles the expression and leaves the method in its place, so that later uses cost nothing extra.
"""

import re
from typing import Any, cast


class _Uncompiled:
    def __init__(self, source: str, flags: int) -> None:
        self.source, self.flags_given = source, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.source, self.flags_given), name)
        setattr(self, name, value)
        return value


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, later.

    >>> words = regex("[a-z]+")
    >>> words.findall("one two"), words.pattern
    (['one', 'two'], '[a-z]+')
    """
    return cast("re.Pattern[str]", _Uncompiled(source, flags))
