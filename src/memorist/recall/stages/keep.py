"""Stages that keep some of the hits. Each one that drops a record gives the reason; `why_not` reads these reasons.

Unverified texts are limited for each source they came in by: the surface and the origin that the engine recorded. Sessions,
speakers and actors are names that a writer may choose, so a thousand of them are still one source. Each source keeps one hit
at its own rank, for two sources at most; its other hits come after the verified memories that may be the answer. Without any
verified memory everything keeps its rank. A repeated claim is shown once.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import isclose
from typing import ClassVar, Literal

from memorist.design import Tools, bounded
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, ordered
from memorist.recall.weights import weights
from memorist.records import Hit, Record, Signal
from memorist.scoring import held_up, log_odds, logistic, vouched_for
from memorist.store.protocol import Store
from memorist.text.restated import MOST_COMPARED, earlier_duplicates, same_claim
from memorist.text.twins import spelled_alike

BEHIND = 0.98  # share of a hit's score given to those that must stand behind it
SOURCES = 2  # unverified sources that may stand before verified memories, whatever the limit
CANDIDATE = 0.02  # of the best score; a verified memory below that does not compete for a place
ANSWERS = 0.5  # of the best score; from there on, a verified memory may be the answer
ONE_EACH = "verified memories already answer this; this source is limited to one hit; `review` confirms an import"
MACHINES = ("tool", "web")  # origins whose texts come by the hundred: mostly the same letters count as one text


@dataclass(frozen=True, slots=True)
class Believed:
    """Drops what does not hold at the requested moment: now, or `as_of`."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        reasons = {hit.record.id: not_believed(hit.record, search, tools) for hit in search.hits}
        dropped = {id: reason for id, reason in reasons.items() if reason}
        note = f"as of {search.as_of.isoformat()}" if search.as_of else None
        return search.keeping(search.hits, dropped, note)


WHOLE = 0.3  # of the words of a query, all of which occur here: what holds so much is what was asked for


@dataclass(frozen=True, slots=True)
class Abstain:
    """Returns nothing if nothing here seems to be the answer: a wrong memory in a prompt is worse than none. Decided by the
    chance that the blend estimates, which needs vectors. A caller who sets `min_relevance` decides that instead."""

    below: float | None = None  # the chance that the answer is among the memories; None takes the fitted one

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.chance is None or search.min_relevance is not None or search.judged or not search.hits:
            return search  # decided elsewhere
        bars = weights()["bar"]
        memories = _is_memory(max(search.hits, key=lambda hit: hit.score), tools)
        below = bars["talk"] if not memories else bars["memories"] if self.below is None else self.below
        compared = any(signal.name == "meaning" for hit in search.hits for signal in hit.signals)
        words = [s.value for hit in search.hits for s in hit.signals if s.name == "words"]
        whole = not search.yardstick.absent and max(words, default=0.0) >= WHOLE
        if search.chance >= below or whole or not compared:
            return search
        places = next((n for n in range(3, 17) if round(search.chance, n) < round(below, n)), 17)
        told = f"the chance is {search.chance:.{places}f}, under {below:.{places}f}"
        because = f"nothing here seems to answer this: {told}"
        return search.keeping((), {hit.record.id: because for hit in search.hits}).but(empty_because=because)


def _is_memory(hit: Hit, tools: Tools) -> bool:
    return tools.kinds[hit.record.kind].layer == MEMORY


@dataclass(frozen=True, slots=True)
class DropUnlikely:
    """Few and right: drops what is far behind the best verified hit, and memories too unlikely to stand beside it. If the
    caller sets `min_relevance`, drops what is under it instead."""

    behind: float = bounded(0, 20, 1.8)  # log-odds of the score
    talk: float = bounded(0, 20, 8.0)  # the same for talk and documents, of which readers want more
    below: float = 0.13  # relevance of a memory; the best one needs none, since recall decided that there is an answer

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.judged or not search.hits:
            return search
        best = max([hit for hit in search.hits if vouched_for(hit.record)] or search.hits, key=lambda hit: hit.score)
        reasons = {hit.record.id: self._unlikely(hit, best, search.min_relevance, tools) for hit in search.hits}
        return search.keeping(search.hits, {id: reason for id, reason in reasons.items() if reason})

    def _unlikely(self, hit: Hit, best: Hit, least: float | None, tools: Tools) -> str | None:
        memory, relevance = _is_memory(hit, tools), hit.why["relevance"]
        wanted = least if least is not None else self.below if memory and hit.score < best.score else 0.0
        if relevance < wanted:
            return f"relevance {relevance:.3f} is under {wanted:g}"
        far = log_odds(hit.score) < log_odds(best.score) - (self.behind if memory else self.talk)
        return f"score {hit.score:.3f} is far under the best" if far and least is None else None


@dataclass(frozen=True, slots=True)
class DropWeak:
    """Drops hits far weaker than the best: a tail of chance matches teaches readers to ignore the answer."""

    share: float
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = max((hit.score for hit in search.hits), default=0.0)
        weak = [hit for hit in search.hits if hit.score < best * self.share]
        reasons = {h.record.id: f"score {h.score:.3f} is under {self.share:.0%} of the best" for h in weak}
        return search.keeping(search.hits, reasons)


@dataclass(frozen=True, slots=True)
class KeepClose:
    """The gate for prompts that no one reviews before they are sent: keeps the best, then each next hit as long as it keeps up
    with the best and with its predecessor. What a judge chose has passed already. Memories reached by a link cannot keep up,
    since every step passes on less; they need only a share of the best score (`linked`)."""

    of_best: float = 0.90
    of_previous: float = 0.95
    most: int = 5
    linked: float = 1.0

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.min_relevance == 0:  # the caller wants everything
            return search
        best = ordered(search.hits)
        kept = best[: self.most] if search.judged else self._close(best)
        kept += self._led_to(best[len(kept) :], kept)[: self.most - len(kept)]
        ids = {hit.record.id for hit in kept}
        rest = (hit for hit in best if hit.record.id not in ids)
        return search.keeping(kept, {h.record.id: f"score {h.score:.3f} falls off after {len(kept)}" for h in rest})

    def _close(self, best: Sequence[Hit]) -> list[Hit]:
        kept = list(best[:1])
        for hit in best[1 : self.most]:
            if hit.score < self.of_best * kept[0].score or hit.score < self.of_previous * kept[-1].score:
                break
            kept.append(hit)
        return kept

    def _led_to(self, rest: Sequence[Hit], kept: Sequence[Hit]) -> list[Hit]:
        ways = {f"from [id:{hit.record.number}]" for hit in kept}
        return [hit for hit in rest if not ways.isdisjoint(hit.why) and hit.score >= self.linked * kept[0].score]


@dataclass(frozen=True, slots=True)
class KeepBest:
    """The best `limit`, in order. Up to `pinned` of the pinned hits come first; the trace names the other pinned ones."""

    pinned: int = bounded(0, 100, 0)

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = ordered(search.hits)
        pins = [hit for hit in best if held_up(hit.record)] if self.pinned else []
        if pins:
            best = list({hit.record.id: hit for hit in (*pins[: self.pinned], *best)}.values())
        kept, rest = best[: search.limit], enumerate(best[search.limit :], search.limit + 1)
        lost = {hit.record.id: f"rank {place}, asked for {search.limit}" for place, hit in rest}
        return search.keeping(kept, lost, _too_many(pins, self.pinned))


def _too_many(pins: Sequence[Hit], first: int) -> str | None:
    if not first or len(pins) <= first:
        return None
    others = ", ".join(f"[id:{hit.record.number}]" for hit in pins[first : first + 5])
    return f"{len(pins)} pinned memories fit; {first} stand first, by score only: {others}"


@dataclass(frozen=True, slots=True)
class KeepTop:
    """The best `most`, and the pinned ones; later stages choose among them."""

    most: int = 15

    def __call__(self, search: Search, tools: Tools) -> Search:
        most = max(search.pool(self.most), search.limit)
        best = ordered(search.hits)
        beyond = {hit.record.id: place for place, hit in enumerate(best, 1) if place > most and not held_up(hit.record)}
        return search.keeping(best, {id: f"place {place}, {most} are looked at" for id, place in beyond.items()})


@dataclass(frozen=True, slots=True)
class DropTail:
    """Drops the weak tail of three or more hits: those under half the median, or the lowest 30 %. Pinned memories stay."""

    rule: Literal["median", "lowest"] = "median"
    share: float = 0.3  # of the hits, for "lowest"
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if len(search.hits) < 3:
            return search
        best = ordered(search.hits)
        if self.rule == "median":
            bar = (best[(len(best) - 1) // 2].score + best[len(best) // 2].score) / 4  # half the median
            # Exactly half stays, however its factors were rounded.
            weak = [hit for hit in best if hit.score < bar * (1 - 1e-9)]
            because = f"under {bar:.3f}, half the median"
        else:
            weak = best[len(best) - int(self.share * len(best)) :]
            because = f"among the lowest {self.share:.0%}"
        lost = {hit.record.id: f"score {hit.score:.3f} is {because}" for hit in weak if not held_up(hit.record)}
        return search.keeping(best, lost)


# ---------------------------------------------------------------- what held when


def not_believed(record: Record, search: Search, tools: Tools) -> str | None:
    """Why it does not hold at the requested moment; None if it does."""
    moment, times = search.as_of or search.now, record.times
    if search.as_of is None and record.state != "active":
        return None  # a search of the archive wants what no longer holds
    if times.valid_from and times.valid_from > moment:
        return f"holds only from {times.valid_from.isoformat()}"
    if times.valid_to and times.valid_to <= moment:
        return f"held only until {times.valid_to.isoformat()}"
    return None if search.as_of is None else _not_yet_or_no_more(record, search.as_of, search, tools)


def _not_yet_or_no_more(record: Record, moment: datetime, search: Search, tools: Tools) -> str | None:
    """Why it was not a memory at that moment."""
    if record.times.created > moment:
        return f"it was stored later, on {record.times.created:%Y-%m-%d at %H:%M} UTC"
    if tools.kinds[record.kind].layer not in search.layers:
        return f"is a {record.kind}, which was not asked for"
    return "was forgotten then" if _forgotten_then(record, moment, tools.store) else None


def _forgotten_then(record: Record, moment: datetime, store: Store) -> bool:
    """Whether it was forgotten at that moment: the first later change of state in the journal records the state before it."""
    whole = record.superseded_by or record.id  # an earlier text of a memory was forgotten together with it
    for event in store.journal(record=whole):
        if event.at > moment and event.before is not None and "state" in event.before:
            return bool(event.before["state"] != "active")
    return record.state == "archived"


# ---------------------------------------------------------------- voices


@dataclass(frozen=True, slots=True)
class OneVoice:
    """Moves what an unverified source says beyond its first hit behind the verified memories, and drops what repeats a better
    hit. It runs right before `keep_best` and looks only until as many are left as requested, since no more are shown."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        best, lost = ordered(search.hits), dict[str, str]()
        if all(vouched_for(hit.record) for hit in best):
            return search
        first, behind = list[Hit](), list[Hit]()
        sources, claims = set[tuple[str, str]](), list[Record]()
        for hit in best:
            source = hit.record.provenance.surface, hit.record.origin
            compared = len(first) + len(behind) < search.limit and search.left() != 0
            if vouched_for(hit.record):
                first.append(hit)
            elif compared and (earlier := _earlier(hit.record, claims)):
                lost[hit.record.id] = f"memory {earlier.number} says nearly the same, and both are unverified"
            elif compared and len(sources) < SOURCES and source not in sources:
                sources.add(source)
                first.append(hit)
            else:
                behind.append(hit)
        verified = [hit.score for hit in first if vouched_for(hit.record)]
        answered = any(score >= ANSWERS * best[0].score for score in verified)
        if (
            answered and search.chance is not None and search.min_relevance is None
        ):  # only hits with a fair chance are wanted
            return search.but(hits=tuple(first), dropped=lost | {hit.record.id: ONE_EACH for hit in behind})
        least = min((score for score in verified if score >= CANDIDATE * best[0].score), default=None)
        if least is not None and behind:
            most, top = BEHIND * least, behind[0].score or 1.0
            behind = [rescored(hit, min(hit.score, most * hit.score / top), "crowd") for hit in behind]
        return search.but(hits=(*first, *behind), dropped=lost)


def _earlier(record: Record, claims: list[Record]) -> Record | None:
    """The unverified record that says the same; if there is none, this one is added to them."""
    for other in claims[:MOST_COMPARED]:
        # Usually another number or name is another claim, but from a machine it is the same source.
        machine = record.origin in MACHINES and record.origin == other.origin
        if same_claim(record.text, other.text) or (machine and spelled_alike(record.text, other.text)):
            return other
    claims.append(record)
    return None


@dataclass(frozen=True, slots=True)
class Spread:
    """At most `most` from one session, so that one long day does not answer everything. Pinned memories stay."""

    most: int = 2
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        taken, lost, best = Counter[str](), dict[str, str](), ordered(search.hits)
        for hit in best:
            session = hit.record.provenance.session
            if session is not None and not held_up(hit.record):
                taken[session] += 1
                if taken[session] > self.most:
                    lost[hit.record.id] = f"session {session} has {self.most} better ones already"
        return search.keeping(best, lost)


@dataclass(frozen=True, slots=True)
class SayOnce:
    """Of hits that say nearly the same about the same files, keeps only the best, preferably one that somebody vouches for.
    Pinned memories stay. With this stage in a design, each prompt as a whole says things once."""

    optional: ClassVar[bool] = True
    once: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = sorted(ordered(search.hits), key=lambda hit: not vouched_for(hit.record))
        twins = earlier_duplicates((hit.record.text, hit.record.files) for hit in best)
        lost = {
            hit.record.id: f"memory {best[twin].record.number} says nearly the same"
            for hit, twin in zip(best, twins, strict=True)
            if twin is not None and not held_up(hit.record)
        }
        return search.keeping(search.hits, lost)


def rescored(hit: Hit, score: float, name: str) -> Hit:
    """The hit with this score; `name` shows what made the difference."""
    if hit.score <= 0 or isclose(score, hit.score, rel_tol=1e-12):  # just rounding
        return hit
    factor = score / hit.score
    if "relevance" not in hit.why:
        return replace(hit, score=score, why={**hit.why, name: factor})
    step = log_odds(score) - log_odds(hit.score)
    signals = (*hit.signals, Signal(name, factor, factor, step))
    total = logistic(sum(signal.contribution for signal in signals))
    return replace(hit, score=total, why={**hit.why, name: factor}, signals=signals)
