"""Stages that keep some of what was found. Each that drops a record says why; `why_not` reads it.

What nobody vouches for, of low trust and unconfirmed, has one voice for each door it came in by: the surface and the origin
that the engine stamped. Sessions, speakers and actors are names that a writer may choose, so a thousand of them are still one
voice. Such a voice stands at its own place once, a few such voices at most, and whatever else they say comes after the
verified memories that may be the answer. Where there is none of those, it all stands at its own place: somebody whose notes
are nothing but an import gets their answers. A claim that is repeated is shown once.

A crowd also fills the pools that are looked at before anything is read. Where so many had to stand back that others may have
been kept out, the question goes through the stages once more (`pipeline.run`), among verified memories only, and what was
heard of the crowd is put beside what that finds.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from math import isclose
from typing import ClassVar

from memorist.design import Tools
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, ordered
from memorist.records import Hit, Record, Signal
from memorist.store.protocol import Store
from memorist.store.where import Order
from memorist.text.twins import (
    LONGEST_COMPARED,
    MOST_COMPARED,
    TRIGRAMS_SHARED,
    Said,
    claim_of,
    jaccard,
    normalised,
    repeated,
    trigrams,
)  # fmt: skip
from memorist.worth import held_up, log_odds, logistic, vouched_for

BEHIND = 0.98  # of the score of a hit, for those that have to stand behind it
VOICES = 2  # that nobody vouches for may stand before verified memories, all together: whatever the limit
KEPT_OUT = 5  # that a crowd may keep others out of
CANDIDATE = 0.02  # of the best score: a verified memory below that is no candidate for a place
ANSWERS = 0.5  # the same for one that may be the answer
MEETS = ("words", "names", "nearly", "within")  # signals of what the question asks for by name
LIKE = 0.2  # soft coverage of a turn that has words like those of the question
FITS = 1.0  # what the turn before it is worth by itself: then it may be the answer to that one
ONE_VOICE = "verified memories answer it, and where it came from has had its word; `review` confirms an import"
MACHINES = ("tool", "web")  # origins whose texts are made by the hundred: much the same letters are one text


@dataclass(frozen=True, slots=True)
class Believed:
    """Drops what does not hold at the moment that is asked about: now, or `as_of`."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        reasons = {hit.record.id: not_believed(hit.record, search, tools) for hit in search.hits}
        dropped = {id: reason for id, reason in reasons.items() if reason}
        note = f"as of {search.as_of.isoformat()}" if search.as_of else None
        return search.keeping(search.hits, dropped, note)


@dataclass(frozen=True, slots=True)
class Abstain:
    """Answers nothing where nothing here seems to be the answer: a wrong memory in a prompt is worse than none. It is decided once
    for a question, by the chance that the blend gives. Who names a `min_relevance` decides for themselves."""

    below: float  # the chance that the answer is here
    elsewhere: float = 0.03  # the same for talk and documents, which are searched for whatever there is
    unless_covered: float = 0.3  # a question for a word gets what holds it, however common it is

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.chance is None or search.min_relevance is not None or search.judged:  # others have decided
            return search
        best = max(search.hits, key=lambda hit: hit.score, default=None)
        below = self.below if best is None or _is_memory(best, tools) else self.elsewhere
        if search.chance >= below or _covered(search.hits) >= self.unless_covered:
            return search
        because = _too_unlikely(search.chance, below)
        return search.keeping((), {hit.record.id: because for hit in search.hits}).but(empty_because=because)


def _too_unlikely(chance: float, below: float) -> str:
    """With enough digits to see that it is less."""
    digits = next((n for n in range(2, 17) if round(chance, n) < round(below, n)), 17)
    told = f"the chance that the answer is here is {chance:.{digits}f}, under {below:.{digits}f}"
    return f"nothing here seems to answer this: {told}"


@dataclass(frozen=True, slots=True)
class DropUnlikely:
    """Few and right: keeps what has a fair chance to matter, by itself and beside the best. `min_relevance` takes the place of
    both. What nobody vouches for does not push out what somebody stands for by repeating the question."""

    below: float  # relevance
    behind: float  # of the best, in log-odds of the score
    unless_covered: float = 0.3  # what holds a word that is asked for stays, however low
    elsewhere: float = 8.0  # the same for talk and documents, of which a reader wants more
    spared: float = 0.3  # of the score of the best: what is vouched for stays from there on, where the best is not
    near: float = 0.25  # cosine: talk and documents without a word of the question are kept from there on
    said: float = 0.005  # relevance of a turn or a part of a document: hardly anything below it ever mattered

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
        if least is None and hit.why.get("lesson", 1.0) > 1:  # it helped with such a question
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
        """The relevance it needs, unless it holds the words of the question."""
        if _covered([hit]) >= self.unless_covered:
            return 0.0
        return self.below if memory else self.said

    def _has_nothing(self, hit: Hit) -> bool:
        """Whether nothing in it meets the question. In a long text a word that is like one of the question is found by chance; in
        a turn it tells something, and so do the time that is named and that it answers a turn that fits."""
        found = {signal.name: signal.value for signal in hit.signals}
        if any(found.get(name, 0.0) > 0 for name in MEETS) or found.get("meaning", 0.0) >= self.near:
            return False
        answers = found.get("before", 0.0) > FITS or found.get("role", 0.0) > 1.0  # a role counts more behind what fits
        return hit.record.kind != "turn" or not (answers or found.get("soft", 0.0) >= LIKE)


def _replies(record: Record, first: Record) -> bool:
    """Whether it is the turn directly behind a question: an answer need not repeat its words."""
    asks = first.kind == "turn" and first.text.rstrip().endswith("?")
    return asks and (record.number, record.provenance.session) == (first.number + 1, first.provenance.session)


def _covered(hits: Sequence[Hit]) -> float:
    """The most of a question's words that one of them holds."""
    return max((signal.value for hit in hits for signal in hit.signals if signal.name == "words"), default=0.0)


def _is_memory(hit: Hit, tools: Tools) -> bool:
    return tools.kinds[hit.record.kind].layer == MEMORY


@dataclass(frozen=True, slots=True)
class DropWeak:
    """Drops hits far weaker than the best: a tail of chance matches teaches a reader to ignore the answer."""

    share: float
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = max((hit.score for hit in search.hits), default=0.0)
        weak = [hit for hit in search.hits if hit.score < best * self.share]
        reasons = {h.record.id: f"score {h.score:.3f} is under {self.share:.0%} of the best" for h in weak}
        return search.keeping(search.hits, reasons)


@dataclass(frozen=True, slots=True)
class KeepClose:
    """The best, and then each next as long as it keeps up with the best and with the one before it: the gate for prompts
    that no one reviews before they are sent. What a judge chose has passed it. What a kept one leads to over a link cannot keep
    up, since every step hands on less; it needs a part of the best score of its own."""

    of_best: float = 0.90
    of_previous: float = 0.95
    most: int = 5
    linked: float = 1.0

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.min_relevance == 0:  # the caller wants all that was found
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
    """The best `limit`, in order. So many pinned ones of what was found stand first; the trace names the others."""

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
    """So many of the best, and the pinned ones; the stages after it choose among them."""

    most: int = 15

    def __call__(self, search: Search, tools: Tools) -> Search:
        most = max(search.pool(self.most), search.limit)
        best = ordered(search.hits)
        beyond = {hit.record.id: place for place, hit in enumerate(best, 1) if place > most and not held_up(hit.record)}
        return search.keeping(best, {id: f"place {place}, {most} are looked at" for id, place in beyond.items()})


@dataclass(frozen=True, slots=True)
class DropTail:
    """Drops the weak tail of three or more hits: what scores under half the median, or the lowest 30 %. Pinned memories stay."""

    rule: str = "median"  # or "lowest"
    share: float = 0.3  # of the hits, for "lowest"
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if len(search.hits) < 3:
            return search
        best = ordered(search.hits)
        if self.rule == "median":
            bar = (best[(len(best) - 1) // 2].score + best[len(best) // 2].score) / 4  # half the median
            # What has exactly half stays, however its factors were rounded.
            weak = [hit for hit in best if hit.score < bar * (1 - 1e-9)]
            because = f"under {bar:.3f}, half the median"
        else:
            weak = best[len(best) - int(self.share * len(best)) :]
            because = f"among the lowest {self.share:.0%}"
        lost = {hit.record.id: f"score {hit.score:.3f} is {because}" for hit in weak if not held_up(hit.record)}
        return search.keeping(best, lost)


# ---------------------------------------------------------------- what held when


def not_believed(record: Record, search: Search, tools: Tools) -> str | None:
    """Why it does not hold at the moment that is asked about; None if it does."""
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
    """The journal knows: the first change of state after the moment says what the state was at it."""
    whole = record.superseded_by or record.id  # the past text of a memory was forgotten with it
    for event in store.journal(record=whole):
        if event.at > moment and event.before is not None and "state" in event.before:
            return bool(event.before["state"] != "active")
    return record.state == "archived"


# ---------------------------------------------------------------- voices


@dataclass(frozen=True, slots=True)
class OneVoice:
    """Puts what a voice says beyond its first word behind the verified memories, and drops what repeats a better hit. It
    stands right before `keep_best` and looks until so many are left as were asked for: what comes after is not shown."""

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
        """Whether verified memories answer the question, and only what has a fair chance is wanted: then a voice has one word."""
        few = search.chance is not None and search.min_relevance is None
        return few and any(vouched_for(hit.record) and hit.score >= ANSWERS * top for hit in heard.first)

    @staticmethod
    def _behind(heard: "Heard", top: float) -> list[Hit]:
        """Those that have to stand back, in their order, behind the last verified memory that may be the answer."""
        back = [*heard.behind, *heard.rest]
        verified = [hit.score for hit in heard.first if vouched_for(hit.record)]
        scores = [score for score in verified if score >= CANDIDATE * top]
        if not scores or not back:
            return back
        most, best = BEHIND * min(scores), back[0].score or 1.0
        return [rescored(hit, min(hit.score, most * hit.score / best), "crowd") for hit in back]

    @staticmethod
    def _once_more(search: Search, heard: "Heard", tools: Tools) -> Search:
        """The question is to be asked again among what is verified, if there is any of that."""
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
    """At most so many from one session, so that one long day does not answer everything. Pinned memories stay."""

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
    """Of hits that say nearly the same about the same files only the best is shown, and rather one that somebody vouches for.
    Pinned memories stay. With this stage a prompt as a whole says things once."""

    optional: ClassVar[bool] = True
    once: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = sorted(ordered(search.hits), key=lambda hit: not vouched_for(hit.record))
        twins = repeated((hit.record.text, hit.record.files) for hit in best)
        lost = {
            hit.record.id: f"memory {best[twin].record.number} says nearly the same"
            for hit, twin in zip(best, twins, strict=True)
            if twin is not None and not held_up(hit.record)
        }
        return search.keeping(search.hits, lost)


class Heard:
    """The hits of an answer by whether they may stand where their score puts them, best first."""

    def __init__(self, search: Search, most: int) -> None:
        self.first: list[Hit] = []  # verified memories, and the first word of each voice
        self.behind: list[Hit] = []  # what the voices say besides
        self.rest: list[Hit] = []  # what is shown in no case, and therefore not compared
        self.lost: dict[str, str] = {}  # what only repeats, and why
        self._search, self._most = search, most
        self._doors: set[tuple[str, str]] = set()
        self._said, self._saying = Said(), list[Record]()

    @property
    def crowded(self) -> bool:
        """Whether so many had to stand back that others may have been kept out, in the first pass, with time for another."""
        many = len(self.behind) + len(self.rest) + len(self.lost)
        back = bool(self.behind or self.rest or self.lost) and (many > KEPT_OUT or len(self.first) < KEPT_OUT)
        return back and self._search.heard is None and self._search.left() != 0

    def take(self, hit: Hit) -> None:
        """The next best."""
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
        """Why it adds nothing to those that nobody vouches for either; None if it does, and then it is one of them."""
        claim = claim_of(record.text)
        place = self._said.find(claim)
        other = self._saying[place] if place is not None else self._spelled_like(record)
        if other is not None:
            return f"memory {other.number} says nearly the same, and nobody vouches for either"
        self._said.add(claim)
        self._saying.append(record)
        return None

    def _spelled_like(self, record: Record) -> Record | None:
        """Most of the letters are the same: another number or name is another claim, but for a tool's it is the same voice."""
        if record.origin not in MACHINES:
            return None
        others = [other for other in self._saying if other.origin == record.origin][:MOST_COMPARED]
        return next((other for other in others if _spelled_alike(record.text, other.text)), None)


def door_of(record: Record) -> tuple[str, str]:
    """Where it came in, as the engine stamped it."""
    return record.provenance.surface, record.origin


def _spelled_alike(a: str, b: str) -> bool:
    one, other = _trigrams(a[:LONGEST_COMPARED]), _trigrams(b[:LONGEST_COMPARED])
    alike_in_size = min(len(one), len(other)) >= TRIGRAMS_SHARED * max(len(one), len(other))
    return alike_in_size and jaccard(one, other) >= TRIGRAMS_SHARED


@lru_cache(maxsize=256)
def _trigrams(text: str) -> frozenset[str]:
    return trigrams(normalised(text))


def rescored(hit: Hit, score: float, name: str) -> Hit:
    """The hit with that score, and under this name what made the difference."""
    if hit.score <= 0 or isclose(score, hit.score, rel_tol=1e-12):  # a rounding makes no difference
        return hit
    factor = score / hit.score
    if "relevance" not in hit.why:
        return replace(hit, score=score, why={**hit.why, name: factor})
    step = log_odds(score) - log_odds(hit.score)
    signals = (*hit.signals, Signal(name, factor, factor, step))
    total = logistic(sum(signal.contribution for signal in signals))
    return replace(hit, score=total, why={**hit.why, name: factor}, signals=signals)
