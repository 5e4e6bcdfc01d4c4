"""Rules for secrets that a user added, in `redact.toml` beside the settings.

    [rules.acme-token]
    pattern = "acme_[a-z0-9]{24}"

    [allow]
    patterns = ["acme_demo_.*"]

A rule has a name, which its marks carry, and an RE2 expression; its group, if it has one, is the secret. What an `allow` pattern
fits as a whole stays as it is, whichever rule found it. A rule that cannot be used is left out and named, and never keeps a store
from being opened: memories that cannot be read are worse than a secret that only one rule would have found.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from memorist.lazy import dataclass
from memorist.redact.formats import RULES
from memorist.redact.scan import Found, compiled
from memorist.text.linear import Expression, Unusable
from memorist.text.visible import quoted

T = TypeVar("T")
MOST_RULES = 100
LONGEST_PATTERN = 1000  # characters
MEMORY = 1 << 20  # bytes for one expression: one that needs more is slow
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True, slots=True)
class Own:
    """The usable rules of a user, and what is wrong with the others."""

    rules: Sequence[tuple[str, Expression]] = ()  # name and expression
    allowed: Sequence[Expression] = ()
    problems: tuple[str, ...] = ()

    def found(self, data: bytes) -> list[Found]:
        """In order, without overlap: if two match, the first."""
        spans = sorted((span for rule in self.rules for span in _spans(*rule, data)), key=lambda each: each[1:])
        kept: list[Found] = []
        for span in spans:
            if not kept or span[1] >= kept[-1][2]:
                kept.append(span)
        return kept

    def allows(self, secret: str) -> bool:
        return any(each.match(secret.encode("utf-8", "surrogatepass"), whole=True) for each in self.allowed)


NO_RULES = Own()


def _spans(name: str, expression: Any, data: bytes) -> Iterator[Found]:
    group = min(expression.groups, 1)
    for match in expression.finditer(data):
        start, end = match.span(group)
        if 0 <= start < end:
            yield name, start, end


def own_rules(table: Mapping[str, Any]) -> Own:
    """The rules of a parsed file."""
    unknown = [key for key in table if key not in ("rules", "allow")]
    problems = [f"there is no key {quoted(key)}; keys are rules and allow" for key in unknown]
    given = _checked(table, "rules", dict, "rules must be tables, such as [rules.acme-token]", problems)
    allow = _checked(table, "allow", dict, 'allow must be a table with patterns = ["…"]', problems)
    patterns = _checked(allow, "patterns", list, 'patterns of allow must be a list, such as ["…"]', problems)
    if len(given) > MOST_RULES or len(patterns) > MOST_RULES:
        problems.append(f"only the first {MOST_RULES} rules and patterns are used")
    rules = [_rule(name, rule, problems) for name, rule in list(given.items())[:MOST_RULES]]
    allowed = [_compiled(each, f"allow pattern {n}", problems) for n, each in enumerate(patterns[:MOST_RULES], 1)]
    return Own(tuple(filter(None, rules)), tuple(filter(None, allowed)), tuple(problems))


def _rule(name: str, given: Any, problems: list[str]) -> tuple[str, Any] | None:
    pattern = given.get("pattern") if isinstance(given, Mapping) else None
    expression = _compiled(pattern, f"rule {quoted(name)}", problems)
    return (name, expression) if expression is not None and _is_named(name, problems) else None


def _checked(table: Mapping[str, Any], key: str, wanted: type[T], otherwise: str, problems: list[str]) -> T:
    value = table.get(key, wanted())
    if isinstance(value, wanted):
        return value
    problems.append(otherwise)
    return wanted()


def _is_named(name: str, problems: list[str]) -> bool:
    if _NAME.fullmatch(name) and name not in {rule.type for rule in RULES}:
        return True
    problems.append(f"rule {quoted(name)} needs a name of its own, of small letters, digits and hyphens")
    return False


def _compiled(pattern: object, what: str, problems: list[str]) -> Expression | None:
    if not isinstance(pattern, str) or not pattern:
        problems.append(f"{what} has no pattern; give it pattern = '…'")
    elif len(pattern) > LONGEST_PATTERN:
        problems.append(f"{what} is longer than {LONGEST_PATTERN:,} characters; make two of it")
    else:
        try:
            expression = compiled(pattern, memory=MEMORY)
        except Unusable as problem:
            problems.append(f"{what} cannot be used: {problem}; it must be RE2, and small")
            return None
        if expression.search(b"") is None:
            return expression
        problems.append(f"{what} fits an empty text; say what it must hold")
    return None
