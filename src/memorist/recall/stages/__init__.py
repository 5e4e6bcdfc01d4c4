"""The stages that designs put into their tuples, by what they do to a search.

`understand`: from what was typed to what is looked for. `words`: other words for the question's, and finding by words
alone. `gather`: finding by words and by meaning. `weigh`: one relevance out of many signals, and what it is multiplied
with. `keep`: which of the hits stay. `conflicts`: hits that contradict, replace or repeat one another.
"""
