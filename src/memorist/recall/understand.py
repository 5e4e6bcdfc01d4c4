"""From what was typed to what is looked for. Any text is a valid question."""

from dataclasses import dataclass, replace

from memorist.design import Tools
from memorist.recall.pipeline import Search
from memorist.text.words import LONGEST_QUERY, query_terms


@dataclass(frozen=True, slots=True)
class Understand:
    """The question's terms: folded, stemmed, without stop words."""

    most: int = 64

    def __call__(self, search: Search, tools: Tools) -> Search:
        terms = tuple(query_terms(search.query, self.most))
        note = "looked for: " + ", ".join(terms) if terms else None
        if len(search.query) > LONGEST_QUERY:
            note = f"only the first {LONGEST_QUERY:,} characters of the question were read; {note or 'no words in it'}"
        elif len(terms) == self.most:
            note = f"only the first {self.most} words of the question were used; {note}"
        because = None if terms else "the question holds no words to look for"
        return replace(search, terms=terms, note=note, empty_because=because)
