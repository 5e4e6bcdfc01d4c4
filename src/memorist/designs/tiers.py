"""Three tiers: what the task at hand produced, what its project learnt, what holds everywhere.

Each has its share of a prompt, which no other tier can take from it. Nothing moves up by itself; a task's memories go when it
is finished, a project's least important tenth goes above a thousand, and what is global stays until a person clears it.
"""

from memorist.design import Design, Due, Lane, Promotion
from memorist.recall.stages.gather import Understand
from memorist.recall.stages.keep import Believed, KeepBest
from memorist.recall.stages.weigh import Weigh
from memorist.recall.stages.words import ByWords
from memorist.upkeep.retain import Retain, Settle

TIERS = Design(
    name="tiers",
    about="task, project and global memory, each with its share of the prompt; the important first",
    reads=("task", "project", "global"),
    recall=(Understand(), ByWords(pool=200), Believed(), Weigh(factors=("important",)), KeepBest()),
    upkeep=(Settle(), Retain(max_items=1000)),
    lanes=(Lane("task", 0.4), Lane("project", 0.4), Lane("global", 0.2)),
    conflicts="flag",
    promotion=Promotion("manual"),
    due=Due(uses=50),
)
