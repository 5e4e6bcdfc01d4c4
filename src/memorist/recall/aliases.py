"""Other words for the words of a question: what a user said means the same, and a few groups that every developer knows.

Whoever asks for "auth" finds what was written about logins. Such a word counts less than the one that was asked for, and
the trace names it. An alias works both ways: a short word stands for its long ones, and each of those for the short one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from memorist.design import Tools
from memorist.recall.pipeline import Expansion, Search
from memorist.store.choices import chosen
from memorist.text.words import query_terms

Aliases = Mapping[str, tuple[str, ...]]
USUAL: Aliases = {
    "auth": ("authentication", "login", "signin", "oauth", "jwt", "credentials", "permissions"),
    "db": ("database", "sql", "postgres", "mysql", "sqlite", "query", "schema", "migration"),
    "api": ("endpoint", "rest", "graphql", "route", "http", "request", "response"),
    "ui": ("interface", "frontend", "component", "view", "layout", "css", "page"),
    "test": ("tests", "spec", "unittest", "fixture", "mock", "assertion", "coverage"),
    "err": ("error", "exception", "failure", "crash", "bug", "traceback"),
    "config": ("configuration", "settings", "options", "environment", "env"),
    "state": ("store", "redux", "context", "reducer"),
    "build": ("compile", "bundle", "webpack", "vite", "makefile", "ci", "pipeline"),
    "security": ("vulnerability", "xss", "csrf", "injection", "encryption", "secret"),
    "perf": ("performance", "latency", "slow", "speed", "cache", "optimization", "memory"),
    "ts": ("typescript", "tsc", "tsconfig"),
}


@dataclass(frozen=True, slots=True)
class ExpandAliases:
    """Adds other words for those of the question: the store's own aliases, and the usual ones where it has no other."""

    weight: float = 0.6
    usual: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.terms:
            return search
        added: dict[str, Expansion] = {}
        for word, other in self._pairs(search, tools):
            if set(word) <= set(search.terms):
                for term in other:
                    if term not in search.terms:
                        added.setdefault(term, Expansion(term, word[0], "alias", self.weight / len(other)))
        note = "also: " + ", ".join(f"{each.term} for {each.instead_of}" for each in added.values()) if added else None
        return search.but(expansions=(*search.expansions, *added.values()), note=note)

    def _pairs(self, search: Search, tools: Tools) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Both ways, each side as terms: those of the scopes that are read, then the usual ones that they do not replace."""
        own: dict[str, tuple[str, ...]] = {}
        for space, scope in dict.fromkeys((shelf.space, shelf.scope) for shelf in search.shelves):
            for word, others in chosen(tools.store, space, scope).aliases.items():
                own[word] = (*own.get(word, ()), *others)
        for word, others in own.items():
            yield from _both_ways(word, others)
        for word, others in USUAL.items() if self.usual else ():
            if word not in own:
                yield from _both_ways(word, others)


def effective(own: Aliases) -> dict[str, tuple[str, ...]]:
    """The aliases that hold where these are the own ones: a word of one's own replaces the usual meaning of it."""
    return {word: others for word, others in {**USUAL, **own}.items() if others}


@cache
def _both_ways(word: str, others: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """(terms asked for, terms to look for as well)."""
    here = tuple(query_terms(word))
    there = [tuple(query_terms(other)) for other in others]
    pairs = [(here, terms) for terms in there] + [(terms, here) for terms in there]
    return tuple((asked, also) for asked, also in pairs if asked and also and asked != also)
