"""When are two texts the same, how far apart are their letters, and does an answer make use of a text?

Lower-cased, in one Unicode form, with blanks collapsed, two equal texts have one fingerprint. The digest is keyed with the
store's secret: nobody can craft a text that collides with another, nor tell from a fingerprint what the text was. Whether two
texts state the same in other words is judged in `restated.py`.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from memorist.text.patterns import regex
from memorist.text.words import query_terms, terms

TRIGRAMS_SHARED = 0.6  # share of both texts' trigrams: the founding document's own bound for a near-duplicate
LONGEST_COMPARED = 2000  # characters
# No index, link or footnote.
CITED = regex(r"(?<![A-Za-z0-9_])\[(?:id:)?[0-9]{1,18}(?:, ?(?:id:)?[0-9]{1,18}){0,9}\](?![(:])")
NUMBERS = regex("[0-9]+")
ENOUGH = 0.5  # share of what a text adds to the query, by weight
LEAST = 2  # words; if a text adds only one, that one
QUOTE = 5  # words in a row
MOST_TERMS = 400


def normalised(text: str) -> str:
    """
    >>> normalised("  Staging   runs\\nPostgres ")
    'staging runs postgres'
    """
    if not text.isascii():  # fold before composing: the other way round, folding could break a composed letter
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    return " ".join(text.casefold().split())


def fingerprint(key: bytes, text: str) -> str:
    """A keyed digest that is the same for texts that differ only in case, form and blanks."""
    return hashlib.blake2b(normalised(text).encode("utf-8", "surrogatepass"), digest_size=8, key=key).hexdigest()


@lru_cache(maxsize=256)
def _trigrams(text: str) -> frozenset[str]:
    plain = normalised(text)
    return frozenset(plain[start : start + 3] for start in range(max(1, len(plain) - 2)))


def spelled_alike(a: str, b: str) -> bool:
    """Whether two texts have most of their letters in common. They may still say different things: "use tabs", "use spaces"."""
    one, other = _trigrams(a[:LONGEST_COMPARED]), _trigrams(b[:LONGEST_COMPARED])
    if min(len(one), len(other)) < TRIGRAMS_SHARED * max(len(one), len(other)):
        return False
    return len(one & other) >= TRIGRAMS_SHARED * len(one | other)


def distance(a: str, b: str, most: int) -> int | None:
    """How many letters differ, counting two that were swapped as one; None if more than `most`.

    >>> distance("postgers", "postgres", 1), distance("cat", "horse", 2)
    (1, None)
    """
    if abs(len(a) - len(b)) > most or len(set(a).difference(b)) > most or len(set(b).difference(a)) > most:
        return None  # true of most pairs
    earlier, row = list[int](), list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        later = [i]
        for j, other in enumerate(b, 1):
            cost = min(row[j] + 1, later[j - 1] + 1, row[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and other == a[i - 2]:
                cost = min(cost, earlier[j - 2] + 1)
            later.append(cost)
        if min(later) > most:
            return None
        earlier, row = row, later
    return row[-1] if row[-1] <= most else None


def used_in(answer: str, shown: Mapping[int, str], query: str = "") -> dict[int, str]:
    """The texts that the answer used, by number, each with how that shows. Judged by words alone, and rather too seldom: a
    citation such as [12] or [id:12], a quote, or enough of the words that the text adds to the query, since an answer repeats
    the query's words whether it used anything or not. Words that several of the shown texts share count correspondingly less.

    >>> used_in("It is Postgres 16, see [id:3].", {3: "Lunch is at noon", 4: "Staging runs Postgres 16"}, "What runs staging?")
    {3: 'cited', 4: '2 of its 2 telling words are in the answer'}
    """
    cited = set(map(int, NUMBERS.findall(" ".join(CITED.findall(answer)))))
    answered = terms(CITED.sub(" ", answer))
    in_query, in_answer, quotes = set(query_terms(query)), set(answered), _rows(answered)
    adds = {number: set(query_terms(text, MOST_TERMS)) - in_query for number, text in shown.items()}
    shared = Counter(term for words in adds.values() for term in words)
    used: dict[int, str] = {}
    for number, text in shown.items():
        words = adds[number]
        both = words & in_answer
        enough = sum(1 / shared[term] for term in both) >= ENOUGH * sum(1 / shared[term] for term in words)
        if number in cited:
            used[number] = "cited"
        elif both and len(both) >= min(LEAST, len(words)) and enough:
            used[number] = f"{len(both)} of its {len(words)} telling words are in the answer"
        elif not quotes.isdisjoint(_rows(terms(text))):
            used[number] = "the answer quotes it"
    return used


def _rows(found: list[str]) -> set[tuple[str, ...]]:
    return {tuple(found[at : at + QUOTE]) for at in range(len(found) - QUOTE + 1)}
