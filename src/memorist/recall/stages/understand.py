"""From what was typed to what is looked for. Any text is a valid question."""

from dataclasses import dataclass

from memorist.design import Tools
from memorist.recall.pipeline import Asked, Search
from memorist.text.question import question_of, speakers_in, without_names
from memorist.text.words import LONGEST_QUERY, query_terms, tells_something

MOST_SPEAKERS = 200  # whose names are looked for; where more people speak, a name tells little


@dataclass(frozen=True, slots=True)
class Understand:
    """The question itself, without what was pasted or injected around it, and its terms: folded, stemmed, without stop
    words."""

    most: int = 64

    def __call__(self, search: Search, tools: Tools) -> Search:
        whole = question_of(search.query)
        said = whole[:LONGEST_QUERY]
        terms = tuple(query_terms(said, self.most))
        note = "looked for: " + ", ".join(terms) if terms else None
        if len(whole) > LONGEST_QUERY:
            note = f"only the first {LONGEST_QUERY:,} characters of the question were read; {note or 'no words in it'}"
        elif len(terms) == self.most:
            note = f"only the first {self.most} words of the question were used; {note}"
        because = None if terms else "the question holds no words to look for"
        return search.but(terms=terms, asked=Asked(said), note=note, empty_because=because)


@dataclass(frozen=True, slots=True)
class Recognise:
    """Who, when and what: the speakers and the times that the question names, and its meaning as vectors.

    A speaker's name is taken out of what is compared by meaning: it says nothing about what was said, and who spoke is a
    signal of its own. Among the words it stays, for the texts that speak about them.
    """

    def __call__(self, search: Search, tools: Tools) -> Search:
        said = search.asked.text
        known = tools.store.speakers(search.shelves, MOST_SPEAKERS)
        speakers = tuple(speakers_in(said, known)) if len(known) < MOST_SPEAKERS else ()
        times = tools.times(said, search.moment or search.now)
        spans = times.spans
        bare = without_names(said, speakers) if speakers else said
        if speakers and not tells_something(bare):  # "Who is Ann?" asks about her, and not what she said
            speakers, bare = (), said
        named = [*speakers, *(span.text for span in spans)]
        notes = ["recognised: " + ", ".join(named) if named else None, times.note]
        told, late = tools.meaning.in_time(bare, search.left()) if tells_something(bare) else ([], None)
        note = "; ".join(note for note in (*notes, late) if note) or None
        vectors = tuple((generation, vector) for generation, vector in told if vector.any())
        return search.but(asked=Asked(bare, speakers, spans, vectors), note=note)
