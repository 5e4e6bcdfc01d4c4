"""Memories that come up by themselves because their triggers occur in the query (`text/triggers.py`), whatever their words
score.

A warning is useful before somebody asks for it, so it comes first, even if nothing else matches. That is power over prompts, so
it is bounded: a few memories, fewer still that came in one way, and none whose triggers together fit nearly any text; only
confirmed ones that do not read like orders to a model, and only those that the query could have found by scope, filter and
validity. Triggers are tried for a bounded processor time.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from memorist.design import Tools, bounded
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search
from memorist.recall.stages.keep import not_believed, rescored
from memorist.records import Hit, Record
from memorist.scoring import log_odds, logistic
from memorist.store.index import has_triggers
from memorist.store.nouns import shelf_of
from memorist.store.where import Order
from memorist.text.injection import suspect
from memorist.text.question import without_injected
from memorist.text.triggers import FIRED, MOST_TRIGGERS, ORDINARY, Occurring, Trigger, said_in, usable

MOST_ARMED = 1000  # the newest memories with triggers that a query considers
LONGEST_LOOK = 0.1  # processor seconds for all of them: waiting for a busy machine must not lose a warning
SURE_TO_SHOW = 0.9  # the least score of what comes up
BETWEEN_FIRED = 0.1  # log-odds between memories that come up together
TOO_MANY_TOGETHER = 0.1  # share of ordinary texts that all triggers of one memory may fit together
OF_ONE_SOURCE = 2  # memories that came in through one surface with one origin, unless a person wrote them
EVERYDAY = tuple(map(Occurring.of, ORDINARY))


@dataclass(frozen=True, slots=True)
class Triggered:
    """Puts memories before everything else if their triggers occur in the query or in the names of the files at hand. `why`
    has `triggered`, and the trace says which trigger."""

    most: int = bounded(1, 10, 3)

    def __call__(self, search: Search, tools: Tools) -> Search:
        shelves = [shelf for shelf in search.shelves if shelf.layer == MEMORY]
        text = "\n".join((*search.files, without_injected(search.query))).strip()
        if not text or not shelves or tools.store.setting(has_triggers(shelves[0].space)) is None:
            return search
        # Only confirmed memories: an unverified text must not decide when it is shown.
        where = (
            search.where.also("triggered", "eq", True).also("state", "eq", "active").also("status", "eq", "confirmed")
        )
        where = where.also("scope", "in", tuple({shelf.scope for shelf in shelves}))
        armed = [each for each in tools.store.find(where, Order("number"), MOST_ARMED) if shelf_of(each) in shelves]
        armed.sort(key=lambda each: -each.importance)
        context, until = Occurring.of(text), time.thread_time() + LONGEST_LOOK
        occurring, fired, notes = list[tuple[Record, Trigger]](), list[Record](), list[str]()
        late, left_out, sources = 0, 0, Counter[object]()
        for place, record in enumerate(armed):
            if place and (time.thread_time() > until or search.left() == 0):
                late = len(armed) - place
                break
            triggers = usable(said_in(record.data)[:MOST_TRIGGERS])
            trigger = context.meets(triggers)
            if trigger and not suspect(record) and not_believed(record, search, tools) is None:
                # Each trigger alone was measured when it was stored.
                if sum(text.meets(triggers) is not None for text in EVERYDAY) > TOO_MANY_TOGETHER * len(EVERYDAY):
                    notes.append(f"[id:{record.number}] is ignored: its triggers together fit nearly any text")
                else:
                    occurring.append((record, trigger))
        for record, trigger in sorted(
            occurring, key=lambda each: (-each[0].importance, -len(each[1].said), -each[0].number)
        ):
            source = record.origin not in ("user", "recorded") and (record.provenance.surface, record.origin)
            if len(fired) >= self.most or (source and sources[source] >= OF_ONE_SOURCE):
                left_out += 1
            else:
                fired.append(record)
                sources[source] += 1
                notes.append(f"[id:{record.number}] by {trigger.said!r}")
        notes += [f"{left_out} more came up and are left out"] if left_out else []
        notes += [f"triggers of {late} memories were not looked for: it took too long"] if late else []
        return search.but(hits=_with_fired(fired, search.hits), note="; ".join(notes)) if notes else search


def _with_fired(fired: Sequence[Record], hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """All hits, with the triggered ones first, scored above all others. A chance remains below 1; a plain score has no upper
    bound. A memory that was a hit anyway keeps what else is known about it."""
    own = {hit.record.id: hit for hit in hits}
    best = max((hit.score for hit in hits), default=0.0)
    first = list[Hit]()
    for place, record in enumerate(fired):
        above = BETWEEN_FIRED * (len(fired) - place)
        score = logistic(log_odds(max(best, SURE_TO_SHOW)) + above) if best < 1 else best * (1 + above)
        hit = rescored(own.pop(record.id), score, FIRED) if record.id in own else Hit(record, score, {FIRED: score})
        first.append(hit if FIRED in hit.why else replace(hit, why={**hit.why, FIRED: 1.0}))
    return (*first, *own.values())
