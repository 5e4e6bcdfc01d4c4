"""The default design: words and meaning, weighed within narrow bounds. Upkeep archives and never deletes."""

from memorist.design import Design, Lane, Promotion
from memorist.recall.stages.blend import Blend
from memorist.recall.stages.gather import Gather, Recognise, Understand
from memorist.recall.stages.keep import Abstain, Believed, DropUnlikely, KeepBest, OneVoice
from memorist.recall.stages.lessons import Learnt, Lessons
from memorist.recall.stages.newest import NewestFirst
from memorist.recall.stages.triggered import Triggered
from memorist.recall.stages.weigh import MarkConflicts, Rerank, Suspect, Weigh
from memorist.upkeep.retain import MEGABYTE, Prune, Settle

BALANCED = Design(
    name="balanced",
    about="words and meaning, weighed by recency, votes, importance and kind within narrow bounds",
    reads=("session", "project", "user", "global"),
    recall=(
        Understand(),
        Recognise(),
        Learnt(),
        Gather(),
        Blend(),
        Believed(),
        Abstain(),
        Weigh(factors=("recency", "votes", "importance", "kind", "pinned", "doubt")),
        Suspect(),
        Rerank(),
        MarkConflicts(weight=1.0),
        NewestFirst(),
        Lessons(),
        DropUnlikely(),
        OneVoice(),
        Triggered(),
        KeepBest(),
    ),
    upkeep=(Settle(), Prune(max_bytes=1024 * MEGABYTE)),
    lanes=(Lane("pinned", 0.25), Lane("preferences", 0.1), Lane("recall", 1.0, 300, of_above=0.3)),
    conflicts="supersede",
    promotion=Promotion("propose"),
)
