"""Which of the texts that somebody was shown did their answer make use of? Told by words alone, and rather too seldom.

A citation such as [id:12] is use. Otherwise what counts are the words that a text adds to the question: an answer repeats
the question's words whether it read anything or not. A text was used if the answer holds enough of what it adds, or quotes
it. Words that several of the shown texts share tell them apart badly, and count for as much less.
"""

import re
from collections import Counter
from collections.abc import Mapping

from memorist.text.words import query_terms, terms

CITED = re.compile(r"\[id:([0-9]{1,18})\]")
ENOUGH = 0.5  # of what a text adds to the question, by weight
LEAST = 2  # words; of a text that adds only one, that one
QUOTE = 5  # words in a row
MOST_TERMS = 400


def used_in(answer: str, shown: Mapping[int, str], query: str = "") -> dict[int, str]:
    """The texts that the answer used, by number, each with how one can tell.

    >>> used_in("It is Postgres 16, see [id:3].", {3: "Lunch is at noon", 4: "Staging runs Postgres 16"}, "What runs staging?")
    {3: 'cited', 4: '2 of its 2 telling words are in the answer'}
    """
    cited = {int(number) for number in CITED.findall(answer)}
    said = terms(CITED.sub(" ", answer))
    asked, told = set(query_terms(query)), set(said)
    adds = {number: set(query_terms(text, MOST_TERMS)) - asked for number, text in shown.items()}
    shared = Counter(term for words in adds.values() for term in words)
    rows = _rows(said)
    found: dict[int, str] = {}
    for number, text in shown.items():
        because = "cited" if number in cited else _because(adds[number], told, shared) or _quoted(text, rows)
        if because:
            found[number] = because
    return found


def _because(adds: set[str], told: set[str], shared: Mapping[str, int]) -> str | None:
    both = adds & told
    weight = sum(1 / shared[term] for term in adds)
    if not both or len(both) < min(LEAST, len(adds)) or sum(1 / shared[term] for term in both) < ENOUGH * weight:
        return None
    return f"{len(both)} of its {len(adds)} telling words are in the answer"


def _quoted(text: str, rows: set[tuple[str, ...]]) -> str | None:
    return "the answer quotes it" if _rows(terms(text)) & rows else None


def _rows(found: list[str]) -> set[tuple[str, ...]]:
    return {tuple(found[at : at + QUOTE]) for at in range(len(found) - QUOTE + 1)}
