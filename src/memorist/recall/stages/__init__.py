"""The stages that designs put into their tuples, by what they do to a search.

`gather`: what is asked, and finding by words and by meaning. `words`: other words for the question's, and finding by words
alone. `weigh`: one relevance out of many signals, and what it is weighed with. `keep`: which of the hits stay.
"""
