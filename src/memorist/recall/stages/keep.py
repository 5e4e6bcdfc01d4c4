"""Stages that keep some of the hits. Each one that drops a record says why; `why_not` reads these reasons.

Texts that nobody vouches for (low trust and unconfirmed) have one voice for each door they came in by: the surface and origin
stamped by the engine. Sessions, speakers and actors are names that a writer may choose, so a thousand of them are still one
voice. Each voice keeps one hit at its own place, for a few voices at most; whatever else it says comes after the verified
memories that may be the answer. If there are none of those, everything keeps its place: a user whose notes are nothing but an
import still gets answers. A repeated claim is shown once.

A crowd also fills the pools before anything is read. If so many had to stand back that others may have been kept out, the
query goes through the stages once more (`pipeline.run`), among verified memories only, and what was heard of the crowd is
added to the result.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import isclose
from typing import ClassVar

from memorist.design import Tools
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, ordered
from memorist.records import Hit, Record, Signal
from memorist.scoring import held_up, log_odds, logistic, vouched_for
from memorist.store.protocol import Store
from memorist.store.where import Order
from memorist.text.restated import MOST_COMPARED, earlier_duplicates, same_claim
from memorist.text.twins import spelled_alike

BEHIND = 0.98  # share of a hit's score given to those that must stand behind it
VOICES = 2  # unvouched voices in all that may stand before verified memories, whatever the limit
KEPT_OUT = 5  # places: a crowd this large may keep others out
CANDIDATE = 0.02  # of the best score; a verified memory below that does not compete for a place
ANSWERS = 0.5  # of the best score; from there on, a verified memory may be the answer
MEETS = ("words", "names", "nearly", "within")  # signals that something the query names was found
LIKE = 0.2  # soft coverage from which a turn has words similar to the query's
FITS = 1.0  # what the turn before must be worth by itself, for this one to be its answer
ONE_VOICE = "verified memories answer it, and where it came from has had its word; `review` confirms an import"
MACHINES = ("tool", "web")  # origins whose texts come by the hundred: mostly the same letters count as one text


@dataclass(frozen=True, slots=True)
class Believed:
    """Drops what does not hold at the requested moment: now, or `as_of`."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        reasons = {hit.record.id: not_believed(hit.record, search, tools) for hit in search.hits}
        dropped = {id: reason for id, reason in reasons.items() if reason}
        note = f"as of {search.as_of.isoformat()}" if search.as_of else None
        return search.keeping(search.hits, dropped, note)


@dataclass(frozen=True, slots=True)
class Abstain:
    """Returns nothing if nothing here seems to be the answer: a wrong memory in a prompt is worse than none. Decided once for
    a query, by the chance that the blend estimates. A caller who sets `min_relevance` decides that instead."""

    below: float  # the chance that the answer is here
    elsewhere: float = 0.03  # the same for talk and documents, which are searched for anything at all
    unless_covered: float = 0.3  # a query for a word gets what holds it, however common it is

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.chance is None or search.min_relevance is not None or search.judged:  # decided elsewhere
            return search
        best = max(search.hits, key=lambda hit: hit.score, default=None)
        below = self.below if best is None or _is_memory(best, tools) else self.elsewhere
        if search.chance >= below or _covered(search.hits) >= self.unless_covered:
            return search
        because = _too_unlikely(search.chance, below)
        return search.keeping((), {hit.record.id: because for hit in search.hits}).but(empty_because=because)


def _too_unlikely(chance: float, below: float) -> str:
    """The reason, with enough digits to show that the chance is lower."""
    digits = next((n for n in range(2, 17) if round(chance, n) < round(below, n)), 17)
    told = f"the chance that the answer is here is {chance:.{digits}f}, under {below:.{digits}f}"
    return f"nothing here seems to answer this: {told}"


@dataclass(frozen=True, slots=True)
class DropUnlikely:
    """Few and right: keeps hits with a fair chance to matter, both absolutely and relative to the best. `min_relevance`
    replaces both rules. A text that nobody vouches for cannot push out vouched-for memories by repeating the query."""

    below: float  # relevance
    behind: float  # behind the best, in log-odds of the score
    unless_covered: float = 0.3  # what holds so much of the query stays, however low
    elsewhere: float = 8.0  # `behind` for talk and documents, of which readers want more
    spared: float = 0.3  # share of the best score from which vouched-for hits stay if the best is not vouched for
    near: float = 0.25  # cosine from which talk and documents without a word of the query stay
    said: float = 0.005  # relevance of a turn or a part of a document; below it, hardly anything ever mattered

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.judged:
            return search
        first = max(search.hits, key=lambda hit: hit.score, default=None)
        best = log_odds(first.score) if first else 0.0
        weighed = [hit for hit in search.hits if not self._spares(hit, first, search.min_relevance)]
        reasons = {hit.record.id: self._unlikely(hit, best, search.min_relevance, tools) for hit in weighed}
        return search.keeping(search.hits, {id: reason for id, reason in reasons.items() if reason})

    def _spares(self, hit: Hit, first: Hit | None, least: float | None) -> bool:
        if least is not None or first is None:
            return False
        if "answers" in hit.why:  # an answer need not repeat the words of its question
            return True
        if vouched_for(first.record):
            return _replies(hit.record, first.record)
        return vouched_for(hit.record) and hit.score >= self.spared * first.score

    def _unlikely(self, hit: Hit, best: float, least: float | None, tools: Tools) -> str | None:
        if least is None and hit.why.get("lesson", 1.0) > 1:  # it helped with a similar query
            return None
        memory = _is_memory(hit, tools)
        if least is None and not memory and self._has_nothing(hit):
            return "it has no word of the question and is not near its meaning"
        wanted = self._floor(hit, memory) if least is None else least
        if hit.why["relevance"] < wanted:
            return f"relevance {hit.why['relevance']:.3f} is under {wanted:g}"
        far = least is None and log_odds(hit.score) < best - self._behind(memory)
        return f"score {hit.score:.3f} is far under that of the best" if far else None

    def _behind(self, memory: bool) -> float:
        return self.behind if memory else self.elsewhere

    def _floor(self, hit: Hit, memory: bool) -> float:
        """The relevance it needs; none if it holds the words of the query."""
        if _covered([hit]) >= self.unless_covered:
            return 0.0
        return self.below if memory else self.said

    def _has_nothing(self, hit: Hit) -> bool:
        """Whether nothing in it meets the query. In a long text, a word similar to one of the query is found by chance; in a
        turn it is evidence, and so are the requested time and that it answers a turn that fits."""
        found = {signal.name: signal.value for signal in hit.signals}
        if any(found.get(name, 0.0) > 0 for name in MEETS) or found.get("meaning", 0.0) >= self.near:
            return False
        answers = found.get("before", 0.0) > FITS or found.get("role", 0.0) > 1.0  # a role counts more behind what fits
        return hit.record.kind != "turn" or not (answers or found.get("soft", 0.0) >= LIKE)


def _replies(record: Record, first: Record) -> bool:
    """Whether it is the turn directly after a question: an answer need not repeat its words."""
    asks = first.kind == "turn" and first.text.rstrip().endswith("?")
    return asks and (record.number, record.provenance.session) == (first.number + 1, first.provenance.session)


def _covered(hits: Sequence[Hit]) -> float:
    """The highest share of the query's words that one of the hits holds."""
    return max((signal.value for hit in hits for signal in hit.signals if signal.name == "words"), default=0.0)


def _is_memory(hit: Hit, tools: Tools) -> bool:
    return tools.kinds[hit.record.kind].layer == MEMORY


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

    pinned: int = 0

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

    rule: str = "median"  # or "lowest"
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
    """Moves what a voice says beyond its first hit behind the verified memories, and drops what repeats a better hit. It runs
    right before `keep_best` and looks only until as many are left as requested, since no more are shown."""

    voices: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        hits = (*search.hits, *(search.heard or ()))
        if all(vouched_for(hit.record) for hit in hits):
            return search.but(hits=hits)
        best = ordered(hits)
        heard = Heard(search, VOICES)
        for hit in best:
            heard.take(hit)
        back, lost = self._behind(heard, best[0].score), heard.lost
        if self._is_answered(heard, best[0].score, search):
            back, lost = [], {**lost, **{hit.record.id: ONE_VOICE for hit in back}}
        search = search.but(hits=(*heard.first, *back), dropped=lost)
        return self._once_more(search, heard, tools) if heard.crowded else search

    @staticmethod
    def _is_answered(heard: "Heard", top: float, search: Search) -> bool:
        """Whether verified memories answer the query and only hits with a fair chance are wanted: then each voice gets one hit
        only."""
        few = search.chance is not None and search.min_relevance is None
        return few and any(vouched_for(hit.record) and hit.score >= ANSWERS * top for hit in heard.first)

    @staticmethod
    def _behind(heard: "Heard", top: float) -> list[Hit]:
        """Those that must stand back, in their order, behind the last verified memory that may be the answer."""
        back = [*heard.behind, *heard.rest]
        verified = [hit.score for hit in heard.first if vouched_for(hit.record)]
        scores = [score for score in verified if score >= CANDIDATE * top]
        if not scores or not back:
            return back
        most, best = BEHIND * min(scores), back[0].score or 1.0
        return [rescored(hit, min(hit.score, most * hit.score / best), "crowd") for hit in back]

    @staticmethod
    def _once_more(search: Search, heard: "Heard", tools: Tools) -> Search:
        """Requests a second pass among verified memories, if there are any."""
        verified = search.where.also("verified", "eq", True)
        here = verified.also("scope", "in", tuple({shelf.scope for shelf in search.shelves}))
        if not tools.store.find(here, Order("number"), 1):
            return search
        voices = [hit for hit in (*heard.first, *heard.behind) if not vouched_for(hit.record)]
        origins = " and ".join(sorted({hit.record.origin for hit in voices}))
        note = f"a crowd of origin {origins}: asking again among verified memories"
        return search.but(again=verified, heard=tuple(voices), note=note)


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


class Heard:
    """Sorts the hits, best first, by whether they may stand where their score puts them."""

    def __init__(self, search: Search, most: int) -> None:
        self.first: list[Hit] = []  # verified memories, and the first hit of each voice
        self.behind: list[Hit] = []  # what else the voices say
        self.rest: list[Hit] = []  # never shown, and therefore not compared
        self.lost: dict[str, str] = {}  # mere repetitions, and of what
        self._search, self._most = search, most
        self._doors: set[tuple[str, str]] = set()
        self._saying = list[Record]()  # what they say, each content once

    @property
    def crowded(self) -> bool:
        """Whether this is the first pass, so many had to stand back that others may have been kept out, and time is left."""
        many = len(self.behind) + len(self.rest) + len(self.lost)
        back = bool(self.behind or self.rest or self.lost) and (many > KEPT_OUT or len(self.first) < KEPT_OUT)
        return back and self._search.heard is None and self._search.left() != 0

    def take(self, hit: Hit) -> None:
        """Adds the next best hit."""
        if vouched_for(hit.record):
            self.first.append(hit)
        elif len(self.first) + len(self.behind) >= self._search.limit:
            self.rest.append(hit)
        elif self._search.left() != 0 and (because := self._said_before(hit.record)):
            self.lost[hit.record.id] = because
        elif len(self._doors) < self._most and door_of(hit.record) not in self._doors:
            self._doors.add(door_of(hit.record))
            self.first.append(hit)
        else:
            self.behind.append(hit)

    def _said_before(self, record: Record) -> str | None:
        """Why it adds nothing to other unvouched hits; if it does add something, it is recorded as one of them, and the result
        is None."""
        for other in self._saying[:MOST_COMPARED]:
            # Usually another number or name is another claim, but from a machine it is the same voice.
            machine = record.origin in MACHINES and record.origin == other.origin
            if same_claim(record.text, other.text) or (machine and spelled_alike(record.text, other.text)):
                return f"memory {other.number} says nearly the same, and nobody vouches for either"
        self._saying.append(record)
        return None


def door_of(record: Record) -> tuple[str, str]:
    """Where it came in, as stamped by the engine."""
    return record.provenance.surface, record.origin


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
