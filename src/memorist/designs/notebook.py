"""A notebook that people and agents read and write: long-term memory in sections, found by words, shown whole.

What every prompt begins with is the page itself, `MEMORY.md`, as far as its characters go: pins, decisions, preferences, what is
known of the project, and the summaries of sessions; the rest is asked for. Nothing fades and no vote counts. What lasts is written
by an agent or a person, or noted when a session is about to be summarised; a later entry about the same thing replaces the earlier
one, which stays as its past. Sessions are archived after thirty days. Files mirror all of it (docs/why/0045-a-notebook.md).
"""

from memorist.design import Budget, Design, Due, Lane, Promotion
from memorist.recall.pipeline import Stage
from memorist.recall.stages.blend import FuseRanks
from memorist.recall.stages.gather import Gather, Recognise, Understand
from memorist.recall.stages.keep import Believed, KeepBest, OneVoice
from memorist.recall.stages.weigh import Suspect
from memorist.recall.stages.words import ByWords
from memorist.upkeep.retain import Retain, Settle
from memorist.upkeep.sessions import RetainSessions
from memorist.upkeep.stale import StaleSections

PAGE = 50_000  # characters
A_TOKEN = 4  # characters
RETENTION = 30  # days
MEANING = 0.6  # what meaning weighs where vectors are wanted, and words the rest

# With `searchProvider = "hybrid"`: places count, not scores, because those of two questions cannot be compared.
HYBRID: tuple[Stage, ...] = (
    Understand(),
    Recognise(),
    Gather(),
    FuseRanks(meaning=MEANING),
    Believed(),
    Suspect(),
    OneVoice(),
    KeepBest(),
)

NOTEBOOK = Design(
    name="notebook",
    about="a page of sections that every prompt begins with, and words for the rest; files mirror it",
    reads=("project", "global"),
    recall=(Understand(), ByWords(), Believed(), Suspect(), OneVoice(), KeepBest()),
    upkeep=(
        Settle(),
        Retain(ttl_days=RETENTION, families=("session",)),
        RetainSessions(days=RETENTION),
        StaleSections(),
    ),
    lanes=(
        Lane("pinned", 0.1),
        Lane("decisions", 0.2),
        Lane("preferences", 0.1),
        Lane("known", 0.45),
        Lane("summaries", 0.15),
        Lane("recall", 1.0, 300),
    ),
    budget=Budget(tokens=PAGE // A_TOKEN, share=0.1, most=PAGE // A_TOKEN),
    inject="core",
    conflicts="supersede",
    promotion=Promotion("manual"),
    due=Due(hours=24),
    files="mirror",
)
