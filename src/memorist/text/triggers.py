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
_WORD = regex(r"\w+")


@dataclass(frozen=True, slots=True)
class Trigger:
    """A usable trigger: some words, or a pattern."""

    said: str  # as written
    words: str = ""  # in the form in which texts are compared
    first: str = ""  # the first of them, by which it is looked up
    pattern: Expression | None = None

    def occurs(self, context: "Occurring") -> bool:
        if self.pattern is not None:
            return self.pattern.search(context.bytes) is not None
        return (not self.first or self.first in context.words) and _stands_alone(self.words, context.text)


@dataclass(frozen=True, slots=True)
class Occurring:
    """A text in which triggers are searched for, prepared once for all of them."""

    text: str
    words: frozenset[str]
    bytes: bytes

    @classmethod
    def of(cls, said: str) -> "Occurring":
        text = normalised(said[-LONGEST_CONTEXT:])
        read = said[-LONGEST_FOR_PATTERNS:].encode("utf-8", "replace")
        return cls(text, frozenset(_WORD.findall(text)), read)

    def meets(self, triggers: Iterable[Trigger]) -> Trigger | None:
        """The first of these that occurs."""
        return next((trigger for trigger in triggers if trigger.occurs(self)), None)


def checked(given: object, what: str = TRIGGERS) -> list[str]:
    """Triggers in the form in which they are stored; an error names the unusable one, and why."""
    wanted = [given] if isinstance(given, str) else given
    if not isinstance(wanted, list | tuple) or not wanted:
        raise Invalid(f"{what} must be a list of texts such as ['drop table', '/rm +-rf/'], not {quoted(given)}")
    if len(wanted) > MOST_TRIGGERS:
        raise Invalid(f"{what} are {len(wanted):,}; {MOST_TRIGGERS} are allowed: a pattern can stand for several words")
    for each in wanted:
        if (problem := _problem(each)) is not None:
            raise Invalid(f"{what}: {quoted(each)} {problem}")
    return list(dict.fromkeys(each.strip() for each in wanted))


def said_in(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The triggers of a memory as written."""
    given = data.get(TRIGGERS)
    return tuple(each for each in given if isinstance(each, str)) if isinstance(given, list | tuple) else ()


@lru_cache(maxsize=1 << 12)
def usable(said: tuple[str, ...]) -> tuple[Trigger, ...]:
    """The usable ones among them; invalid ones, or ones no longer allowed, are left out."""
    return tuple(_trigger(each.strip()) for each in said if _problem(each) is None)


def is_pattern(said: str) -> bool:
    """Whether it is a pattern between slashes, not words."""
    said = said.strip()
    return len(said) > 1 and said[0] == said[-1] == "/"


def _problem(said: object) -> str | None:
    """Why it cannot be a trigger."""
    if not isinstance(said, str) or not said.strip() or flaw(said):
        return "is no text that can occur; write words such as 'drop table', or a pattern such as '/rm +-rf/'"
    said = said.strip()
    if len(said) > LONGEST_TRIGGER:
        return f"has {len(said):,} characters; {LONGEST_TRIGGER} are allowed"
    if not is_pattern(said):
        return None if statement(said).words else "stands in nearly any text; name what has to occur"
    try:
        pattern = _compiled(said[1:-1])
    except Unusable as problem:
        return f"cannot be used: {problem}; it must be RE2, which has no lookaround and no backreferences"
    if pattern.size > LARGEST_PROGRAM:
        return (
            f"is too large: {pattern.size:,} steps, {LARGEST_PROGRAM} are allowed; repeat less of it, or make two of it"
        )
    fits = sum(pattern.search(text.encode()) is not None for text in ORDINARY)
    if pattern.search(b"") is not None or fits > TOO_MANY_FIT * len(ORDINARY):
        return "fits nearly any text; say what has to occur"
    return None


@lru_cache(maxsize=1 << 10)
def _compiled(pattern: str) -> Expression:
    return Expression(pattern.encode(), utf8=True, never_capture=True, case_sensitive=False, max_mem=PATTERN_MEMORY)


def _trigger(said: str) -> Trigger:
    if is_pattern(said):
        return Trigger(said, pattern=_compiled(said[1:-1]))
    words = normalised(said)
    found = _WORD.findall(words)
    return Trigger(said, words, found[0] if found and all(map(_continues, found[0])) else "")


def _stands_alone(words: str, text: str) -> bool:
    """Whether these words occur without being part of a longer word."""
    start = text.find(words)
    while start >= 0:
        end = start + len(words)
        longer = (_continues(text[start - 1 : start]) and _continues(words[0])) or (
            _continues(text[end : end + 1]) and _continues(words[-1])
        )
        if not longer:
            return True
        start = text.find(words, start + 1)
    return False


def _continues(letter: str) -> bool:
    """Whether the letter can continue a word; Chinese, Japanese and Thai words have no blanks around them, and are found
    anywhere."""
    return letter == "_" or (
        letter.isalnum() and not ("\u0e00" <= letter <= "\u0eff" or "\u3040" <= letter <= "\u9fff")
    )
