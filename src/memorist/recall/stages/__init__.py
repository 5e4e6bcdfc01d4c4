"""The stages that designs combine, one module for each thing they do to a search.

`gather`: what is asked, and finding candidates by words and by meaning. `words`: alternative words for those of the query, and
finding by words alone. `weigh`: adjusts the relevance of hits. `keep`: decides which hits stay.
"""
