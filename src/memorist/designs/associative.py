"""Memories that come up by themselves: found by words and meaning, followed over links, believed less as they age,
tidied at night.

Memories used together are linked, a query that finds nothing is noted as a gap, and a night merges, links and archives;
all of this can be undone. If a model is configured, it reads the hits twice, and both readings must agree before
anything is shown. Without one, only hits whose score is close to the best are shown.
"""

from memorist.design import Budget, Design, Due, Lane, Promotion
from memorist.recall.stages.blend import FuseRanks
from memorist.recall.stages.cascade import Cascade
from memorist.recall.stages.gather import Gather, Recognise, Understand
from memorist.recall.stages.judge import Judge
from memorist.recall.stages.keep import Believed, KeepBest, KeepClose, OneVoice
from memorist.recall.stages.triggered import Triggered
from memorist.recall.stages.weigh import Favour, MarkConflicts, Rerank, Suspect, Weigh
from memorist.upkeep.clusters import Clusters
from memorist.upkeep.retain import Settle
from memorist.upkeep.tidy import FadeAway

ASSOCIATIVE = Design(
    name="associative",
    about="words, meaning and links; confidence that fades with its half-life; warnings that come up by themselves; nights",
    reads=("session", "project", "user", "global"),
    recall=(
        Understand(),
        Recognise(),
        Gather(words=50, meaning=50),
        FuseRanks(meaning=0.45),  # between first by one and second by the other, words decide
        Believed(),
        Cascade(seeds=10, depth=2),
        Judge(most=50, judges=2),
        Weigh(factors=("fresh", "confidence", "pinned", "doubt")),
        Favour(),
        Suspect(),
        Rerank(),
        MarkConflicts(),
        KeepClose(most=10, linked=0.33),  # a link of half weight passes on 0.35, two memories that share a tag 0.31
        OneVoice(),
        Triggered(),
        KeepBest(),
    ),
    upkeep=(Settle(), FadeAway(), Clusters()),
    lanes=(Lane("pinned", 0.25), Lane("preferences", 0.1), Lane("recall", 1.0, 300)),
    budget=Budget(hits=10),
    conflicts="supersede",
    promotion=Promotion("auto", every=12),
    due=Due(idle=15, above=10_000),
    twins="near",
    associates=True,
)
