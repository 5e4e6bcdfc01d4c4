"""Stages that keep some of the hits. Each one that drops a record gives the reason; `why_not` reads these reasons."""

from collections import Counter
from dataclasses import replace
from math import isclose
from typing import ClassVar

from memorist.design import Tools, bounded
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, ordered
from memorist.recall.weights import weights
from memorist.records import Hit, Record, Signal
from memorist.scoring import held_up, log_odds, logistic, vouched_for
from memorist.text.restated import MOST_COMPARED, earlier_duplicates, same_claim
from memorist.text.twins import spelled_alike

WHOLE = 0.3  # of the words of a query, all of which occur here: what holds so much is what was asked for
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


def not_believed(record: Record, search: Search, tools: Tools) -> str | None:
    """Why it does not hold at the requested moment; None if it does."""
    moment, times = search.as_of or search.now, record.times
    if search.as_of is None and record.state != "active":
        return None  # a search of the archive wants what no longer holds
    if times.valid_from and times.valid_from > moment:
        return f"holds only from {times.valid_from.isoformat()}"
    if times.valid_to and times.valid_to <= moment:
        return f"held only until {times.valid_to.isoformat()}"
    if search.as_of is None:
        return None
    if times.created > moment:
        return f"it was stored later, on {times.created:%Y-%m-%d at %H:%M} UTC"
    if tools.kinds[record.kind].layer not in search.layers:
        return f"is a {record.kind}, which was not asked for"
    # The next change of state after that moment says what the state was. An earlier text was forgotten with its memory.
    later = [event for event in tools.store.journal(record=record.superseded_by or record.id) if event.at > moment]
    states = [event.before["state"] for event in later if event.before is not None and "state" in event.before]
    forgotten = states[0] != "active" if states else record.state == "archived"
    return "was forgotten then" if forgotten else None


@dataclass(frozen=True, slots=True)
class Abstain:
    """Returns nothing if nothing here seems to be the answer: a wrong memory in a prompt is worse than none. Decided by the
    chance that the blend estimates, which needs vectors. A caller who sets `min_relevance` decides that instead."""

    below: float | None = None  # the chance that the answer is among the memories; None takes the fitted one

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.chance is None or search.min_relevance is not None or search.judged or not search.hits:
            return search  # decided elsewhere
        bars, signals = weights()["bar"], [signal for hit in search.hits for signal in hit.signals]
        below = bars["memories"] if self.below is None else self.below
        if not _is_memory(max(search.hits, key=lambda hit: hit.score), tools):
            below = bars["talk"]
        words = max((signal.value for signal in signals if signal.name == "words"), default=0.0)
        covered = words >= WHOLE and not search.yardstick.absent
        if search.chance >= below or covered or not any(signal.name == "meaning" for signal in signals):
            return search
        places = next((n for n in range(3, 17) if round(search.chance, n) < round(below, n)), 17)
        chance = f"the chance is {search.chance:.{places}f}, under {below:.{places}f}"
        because = f"nothing here seems to answer this: {chance}"
        return search.keeping((), {hit.record.id: because for hit in search.hits}).but(empty_because=because)


@dataclass(frozen=True, slots=True)
class DropUnlikely:
    """Few and right: drops what is far behind the best verified hit, and memories too unlikely to stand beside it. If the
    caller sets `min_relevance`, drops what is under it instead."""

    behind: float = bounded(0, 20, 1.7)  # log-odds of the score
    talk: float = bounded(0, 20, 8.0)  # the same for talk and documents, of which readers want more
    below: float = 0.13  # relevance of a memory; the best one needs none, since recall decided that there is an answer

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.judged or not search.hits:
            return search
        verified = [hit for hit in search.hits if vouched_for(hit.record)] or search.hits
        best, least, lost = max(hit.score for hit in verified), search.min_relevance, dict[str, str]()
        for hit in search.hits:
            memory, relevance = _is_memory(hit, tools), hit.why["relevance"]
            wanted = least if least is not None else self.below if memory and hit.score < best else 0.0
            if relevance < wanted:
                lost[hit.record.id] = f"relevance {relevance:.3f} is under {wanted:g}"
            elif least is None and log_odds(hit.score) < log_odds(best) - (self.behind if memory else self.talk):
                lost[hit.record.id] = f"score {hit.score:.3f} is far under the best"
        return search.keeping(search.hits, lost)


def _is_memory(hit: Hit, tools: Tools) -> bool:
    return tools.kinds[hit.record.kind].layer == MEMORY


@dataclass(frozen=True, slots=True)
class KeepClose:
    """Keeps the best, then each next hit as long as it keeps up with the best and with its predecessor: a tail of chance matches
    teaches readers to ignore the answer. What a judge chose has passed already. Memories reached by a link cannot keep up, since
    every step passes on less; they need only a share of the best score (`linked`)."""

    of_best: float = 0.90
    of_previous: float = 0.95
    most: int = 5
    linked: float = 1.0

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.min_relevance == 0:  # the caller wants everything
            return search
        best = ordered(search.hits)
        kept = best[: self.most if search.judged else 1]
        for hit in best[len(kept) : self.most]:
            if hit.score < self.of_best * best[0].score or hit.score < self.of_previous * kept[-1].score:
                break
            kept.append(hit)
        ways, least = {f"from [id:{hit.record.number}]" for hit in kept}, self.linked * best[0].score if best else 0.0
        linked = [hit for hit in best[len(kept) :] if hit.score >= least and not ways.isdisjoint(hit.why)]
        kept += linked[: self.most - len(kept)]
        rest = [hit for hit in best if hit not in kept]
        return search.keeping(kept, {h.record.id: f"score {h.score:.3f} falls off after {len(kept)}" for h in rest})


@dataclass(frozen=True, slots=True)
class KeepBest:
    """The best `limit`, in order. Up to `pinned` of the pinned hits come first; the trace names the other pinned ones."""

    pinned: int = bounded(0, 100, 0)

    def __call__(self, search: Search, tools: Tools) -> Search:
        best, note = ordered(search.hits), None
        pins = [hit for hit in best if held_up(hit.record)] if self.pinned else []
        if pins:
            best = list({hit.record.id: hit for hit in (*pins[: self.pinned], *best)}.values())
        if len(pins) > self.pinned:
            others = ", ".join(f"[id:{hit.record.number}]" for hit in pins[self.pinned :][:5])
            note = f"{len(pins)} pinned memories fit; {self.pinned} stand first, by score only: {others}"
        rest = enumerate(best[search.limit :], search.limit + 1)
        lost = {hit.record.id: f"rank {place}, asked for {search.limit}" for place, hit in rest}
        return search.keeping(best[: search.limit], lost, note)


@dataclass(frozen=True, slots=True)
class DropTail:
    """Of three or more hits, drops those that are not among the best `most` and those under half the median of these. Pinned
    memories stay."""

    most: int = 15
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        most, best, lost = max(search.pool(self.most), search.limit), list[Hit](), dict[str, str]()
        for place, hit in enumerate(ordered(search.hits), 1):
            if place <= most or held_up(hit.record):
                best.append(hit)
            else:
                lost[hit.record.id] = f"place {place}, {most} are looked at"
        if len(best) < 3:
            return search.keeping(best, lost)
        bar = (best[(len(best) - 1) // 2].score + best[len(best) // 2].score) / 4  # half the median
        # Exactly half stays, however its factors were rounded.
        weak = [hit for hit in best if hit.score < bar * (1 - 1e-9) and not held_up(hit.record)]
        because = f"is under {bar:.3f}, half the median"
        return search.keeping(best, lost | {hit.record.id: f"score {hit.score:.3f} {because}" for hit in weak})


@dataclass(frozen=True, slots=True)
class SayOnce:
    """At most `of_session` hits of one session, so that one long day does not answer everything. Of hits that say nearly the same
    about the same files, keeps only the best, preferably one that somebody vouches for. Pinned memories stay. With this stage in
    a design, each prompt as a whole says things once."""

    of_session: int = 2
    optional: ClassVar[bool] = True
    once: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        taken, lost, best = Counter[str](), dict[str, str](), list[Hit]()
        for hit in ordered(search.hits):
            session = hit.record.provenance.session
            if session is not None and not held_up(hit.record):
                taken[session] += 1
                if taken[session] > self.of_session:
                    lost[hit.record.id] = f"session {session} has {self.of_session} better ones already"
                    continue
            best.append(hit)
        best.sort(key=lambda hit: not vouched_for(hit.record))
        for hit, twin in zip(
            best, earlier_duplicates((hit.record.text, hit.record.files) for hit in best), strict=True
        ):
            if twin is not None and not held_up(hit.record):
                lost[hit.record.id] = f"memory {best[twin].record.number} says nearly the same"
        return search.keeping(search.hits, lost)


@dataclass(frozen=True, slots=True)
class OneVoice:
    """Limits unverified texts for each source they came in by: the surface and the origin that the engine recorded. Sessions,
    speakers and actors are names that a writer may choose, so a thousand of them are still one source. Each source keeps one
    hit at its own rank, for two sources at most; its other hits come after the verified memories that may be the answer.
    Without any verified memory everything keeps its rank. A repeated claim is shown once.

    It runs right before `keep_best` and looks only until as many are left as requested, since no more are shown.
    """

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
        top = best[0].score
        verified = [hit.score for hit in first if vouched_for(hit.record) and hit.score >= CANDIDATE * top]
        if not verified or not behind:
            return search.but(hits=(*first, *behind), dropped=lost)
        if max(verified) >= ANSWERS * top and search.chance is not None and search.min_relevance is None:
            # Only hits with a fair chance are wanted.
            return search.but(hits=tuple(first), dropped=lost | {hit.record.id: ONE_EACH for hit in behind})
        most, top = BEHIND * min(verified), behind[0].score or 1.0
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
