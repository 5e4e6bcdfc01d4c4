"""The default design: words and meaning, weighed within narrow bounds. Upkeep archives and never deletes."""

from memorist.design import Design, Lane, Promotion
from memorist.recall.stages.gather import Gather, Recognise, Understand
from memorist.recall.stages.keep import Abstain, Believed, DropWeak, KeepBest, OneVoice
from memorist.recall.stages.newest import NewestFirst
from memorist.recall.stages.weigh import Blend, MarkConflicts, Suspect, Weigh
from memorist.upkeep.retain import MEGABYTE, Prune, Settle

BALANCED = Design(
    name="balanced",
    about="words and meaning, weighed by recency, votes, importance and kind within narrow bounds",
    reads=("session", "project", "user", "global"),
    recall=(
        Understand(),
        Recognise(),
        Gather(),
        Blend(),
        Believed(),
        Abstain(below=0.08),
        Weigh(factors=("recency", "votes", "importance", "kind", "pinned", "doubt")),
        Suspect(),
        DropWeak(share=0.005),
        MarkConflicts(weight=1.0),
        NewestFirst(),
        OneVoice(),
        KeepBest(),
    ),
    upkeep=(Settle(), Prune(max_bytes=1024 * MEGABYTE)),
    lanes=(Lane("pinned", 0.25), Lane("recall", 1.0, 300)),
    conflicts="supersede",
    promotion=Promotion("propose"),
)
