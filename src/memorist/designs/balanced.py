"""The default design: words, then bounded utility. Archive only, nothing is deleted, nothing is pushed."""

from memorist.design import Design
from memorist.recall.find import ByWords
from memorist.recall.trim import Believed, DropWeak, KeepBest, Weigh
from memorist.recall.understand import Understand
from memorist.upkeep.prune import MEGABYTE, Prune

BALANCED = Design(
    name="balanced",
    about="words, weighed by recency, votes, importance and kind within narrow bounds",
    reads=("session", "project", "user", "global"),
    recall=(
        Understand(),
        ByWords(pool=60),
        Believed(),
        Weigh(factors=("recency", "votes", "importance", "kind", "pinned", "doubt")),
        DropWeak(share=0.15),
        KeepBest(),
    ),
    upkeep=(Prune(max_bytes=1024 * MEGABYTE),),
)
