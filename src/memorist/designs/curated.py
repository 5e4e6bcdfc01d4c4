"""What a project has learnt, shared by every agent that works in it: found by words, weighed by six plain factors.

Findings of agents are promoted by points and enter as candidates. Warnings and decisions weigh more, and files the
agent is working on still more. Words only: aliases, misspellings and word prefixes do what vectors do elsewhere.
"""

from memorist.design import Budget, Design, Due, Lane, Promotion
from memorist.recall.stages.gather import Understand
from memorist.recall.stages.keep import Believed, DropTail, KeepBest, OneVoice, SayOnce
from memorist.recall.stages.weigh import Favour, MarkConflicts, Rerank, Suspect, Weigh
from memorist.recall.stages.words import ByFields, Widen
from memorist.upkeep.retain import Expire, Retain, Settle
from memorist.upkeep.suggest import SuggestAliases

CURATED = Design(
    name="curated",
    about="words, their aliases and misspellings; kind, age, use, files and status weigh; findings are promoted by points",
    reads=("session", "project"),
    recall=(
        Understand(),
        Widen(),
        ByFields(),
        Believed(),
        Weigh(factors=("category", "age", "access", "status", "quarantine")),
        Suspect(),
        Favour(),
        MarkConflicts(),
        Rerank(),
        DropTail(),
        SayOnce(),
        OneVoice(),
        KeepBest(pinned=5),
    ),
    upkeep=(Settle(), Expire(), Retain(max_items=3000), SuggestAliases()),
    lanes=(
        Lane("pinned", 0.08, 200),  # safety-critical: never missing while there is room
        Lane("session", 0.5, 500, 3000, "rest"),  # what the agents of this session tell each other
        Lane("recall", 0.65, 300, 1500, "rest"),
        Lane("summaries", 1.0, 200, 600, "rest"),
    ),
    budget=Budget(share=0.08, most=5000, hits=5, deadline=0.2),
    conflicts="flag",
    promotion=Promotion("auto", "balanced"),
    due=Due(on_open=True, uses=50, hours=24),
)
