"""Three tiers: the results of the current task, what its project has learnt, and what holds everywhere.

Each has a share of a prompt that no other tier can take. Nothing moves up automatically. The memories of a task are archived
when it is finished, a project with more than a thousand loses the least important tenth, and global ones stay until cleared.
"""

from memorist.design import Design, Due, Lane, Promotion
from memorist.recall.stages.gather import Understand
from memorist.recall.stages.keep import Believed, KeepBest
from memorist.recall.stages.weigh import Suspect, Weigh
from memorist.recall.stages.words import ByWords
from memorist.upkeep.retain import Retain, Settle

TIERS = Design(
    name="tiers",
    about="task, project and global memory, each with its share of the prompt; the important first",
    reads=("task", "project", "global"),
    recall=(
        Understand(),
        ByWords(pool=1000),
        Believed(),
        Weigh(factors=("important",)),
        Suspect(),
        KeepBest(),
    ),
    upkeep=(Settle(), Retain(max_items=1000, order="importance")),
    lanes=(Lane("task", 0.4), Lane("project", 0.4), Lane("global", 0.2)),
    conflicts="flag",
    promotion=Promotion("manual"),
    due=Due(uses=50),
)
