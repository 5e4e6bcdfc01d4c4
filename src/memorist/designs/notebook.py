"""A notebook that people and agents read and write: long-term memory in sections, found by words, shown whole.

Every prompt begins with the page itself, `MEMORY.md`, up to its limit of characters: pins, decisions, preferences, what
is known of the project, and the summaries of sessions. The rest must be asked for. Nothing fades and no vote counts.
Lasting entries are written by an agent or a person, or noted when a session is about to be summarised. A later entry
about the same thing replaces the earlier one, which is kept as history. Sessions are archived after thirty days. All of
it is mirrored to files (docs/why/0045-a-notebook.md).
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
MEANING = 0.6  # the weight of meaning where vectors are used; words have the rest

# With `searchProvider = "hybrid"`: ranks are combined, not scores, because scores of two queries cannot be compared.
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
