"""Triggers: what has to occur in a text so that a memory comes up by itself, whatever the question is.

    "drop table"        these words, as whole words, in any case and with any blanks between them
    "/drop\\s+\\w+/"      a pattern between slashes, in any case: RE2, which takes linear time whatever the pattern is

Whoever writes a trigger decides what others are shown, so what could be of harm is refused when it is stored: a pattern that is no
RE2 or whose program is large (what is slow about RE2 is proportional to that), and what fits nearly any text. What was stored
without these checks, such as an import, is checked again when it is read, and what does not pass does nothing.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.text.linear import Expression, Unusable
from memorist.text.patterns import regex
from memorist.text.restated import statement
from memorist.text.twins import normalised
from memorist.text.visible import flaw, quoted

TRIGGERS = "triggers"  # the key in a memory's data
FIRED = "triggered"  # in `why` of what they brought up, since being shown does not mean that it answers the query
MOST_TRIGGERS = 16  # of one memory
LONGEST_TRIGGER = 200  # characters
LARGEST_PROGRAM = 400  # steps of a compiled pattern; where RE2 has to fall back, each of them examines each character
PATTERN_MEMORY = 1 << 20  # bytes
LONGEST_CONTEXT = 100_000  # characters of a text in which words are searched for: the last ones, which were said last
LONGEST_FOR_PATTERNS = 20_000  # the same for patterns
TOO_MANY_FIT = 0.25  # share of the ordinary texts below; what fits more of them fits nearly anything
ORDINARY = (
    "Which database does staging use?", "thanks, that works", "Please fix the failing test in the parser.", "ok",
    "Wo liegt der Schlüssel für den Keller?", "def main(): return 0", "When is Anna's birthday?", "明日の会議は何時ですか",
    "¿Cuándo llega el tren?", "The deploy took 14 minutes yesterday", "git push origin main", "Error: cannot open 'data.csv'",
)  # fmt: skip
# A word; Chinese, Japanese and Thai have no blanks around theirs, which are found anywhere.
_WORD = regex(r"[^\W\u0e00-\u0eff\u3040-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Trigger:
    """A usable trigger: some words, or a pattern."""

    said: str  # as written
    sought: str | Expression  # words are delimited like the text in which they are searched for


@dataclass(frozen=True, slots=True)
class Occurring:
    """A text in which triggers are searched for, prepared once for all of them."""

    words: str
    bytes: bytes

    @classmethod
    def of(cls, said: str) -> "Occurring":
        read = said[-LONGEST_FOR_PATTERNS:].encode("utf-8", "replace")
        return cls(_delimited(said[-LONGEST_CONTEXT:]), read)

    def meets(self, triggers: Iterable[Trigger]) -> Trigger | None:
        """The first of these that occurs."""
        for trigger in triggers:
            if trigger.sought in self.words if isinstance(trigger.sought, str) else trigger.sought.search(self.bytes):
                return trigger
        return None


def _delimited(text: str) -> str:
    """The text in the form in which texts are compared, with a NUL on both sides of each word, so that "drop" is not found in
    "dropped"."""
    return _WORD.sub("\0\\g<0>\0", normalised(text))


def checked(given: object, what: str = TRIGGERS) -> list[str]:
    """Triggers in the form in which they are stored; an error names the unusable one, and why."""
    wanted = [given] if isinstance(given, str) else given
    if not isinstance(wanted, list | tuple) or not wanted:
        raise Invalid(f"{what} must be a list of texts such as ['drop table', '/rm +-rf/'], not {quoted(given)}")
    if len(wanted) > MOST_TRIGGERS:
        raise Invalid(f"{what} are {len(wanted):,}; {MOST_TRIGGERS} are allowed: a pattern can stand for several words")
    for each in wanted:
        if isinstance(problem := _read(each), str):
            raise Invalid(f"{what}: {quoted(each)} {problem}")
    return list(dict.fromkeys(each.strip() for each in wanted))


def said_in(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The triggers of a memory as written."""
    given = data.get(TRIGGERS)
    return tuple(each for each in given if isinstance(each, str)) if isinstance(given, list | tuple) else ()


@lru_cache(maxsize=1 << 12)
def usable(said: tuple[str, ...]) -> tuple[Trigger, ...]:
    """The usable ones among them; invalid ones, or ones no longer allowed, are left out."""
    return tuple(trigger for each in said if isinstance(trigger := _read(each), Trigger))


def _read(said: object) -> Trigger | str:
    """The trigger, or why it cannot be one."""
    if not isinstance(said, str) or not said.strip() or flaw(said):
        return "is no text that can occur; write words such as 'drop table', or a pattern such as '/rm +-rf/'"
    said = said.strip()
    if len(said) > LONGEST_TRIGGER:
        return f"has {len(said):,} characters; {LONGEST_TRIGGER} are allowed"
    if said == "/" or said[0] != "/" or said[-1] != "/":
        return (
            Trigger(said, _delimited(said))
            if statement(said).words
            else "stands in nearly any text; name what has to occur"
        )
    try:
        pattern = Expression(
            said[1:-1].encode(), utf8=True, never_capture=True, case_sensitive=False, max_mem=PATTERN_MEMORY
        )
    except Unusable as problem:
        return f"cannot be used: {problem}; it must be RE2, which has no lookaround and no backreferences"
    if pattern.size > LARGEST_PROGRAM:
        return (
            f"is too large: {pattern.size:,} steps, {LARGEST_PROGRAM} are allowed; repeat less of it, or make two of it"
        )
    fits = sum(pattern.search(text.encode()) is not None for text in ORDINARY)
    if pattern.search(b"") is not None or fits > TOO_MANY_FIT * len(ORDINARY):
        return "fits nearly any text; say what has to occur"
    return Trigger(said, pattern)
