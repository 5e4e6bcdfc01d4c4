"""Memories that help grow stronger: words only, weighed by the votes of the agents that used them.

The agent asks in words of its own choice and votes on what helped, so two stores with the same memories come to answer
differently. Nothing enters a prompt unasked, what rules find in a text becomes a memory at once, and nothing is pruned
while there is room. There are no synonyms.
"""

from memorist.design import Design, Promotion
from memorist.recall.stages.gather import Understand
from memorist.recall.stages.keep import Believed, KeepBest, KeepClose
from memorist.recall.stages.weigh import Suspect, WeighByVotes
from memorist.recall.stages.words import ByWords
from memorist.upkeep.retain import Prune

HEBBIAN = Design(
    name="hebbian",
    about="words only; votes and recency decide among what fits",
    reads=("project", "global"),
    recall=(
        Understand(urls=False),
        ByWords(pool=60, source=True, voted=True),
        Believed(),
        WeighByVotes(reinforce=3.0, demote=1.0),
        Suspect(),
        KeepClose(of_best=0.05, of_previous=0.0, most=1000),
        KeepBest(),
    ),
    upkeep=(Prune(),),
    inject="pull",
    promotion=Promotion("direct"),
)
