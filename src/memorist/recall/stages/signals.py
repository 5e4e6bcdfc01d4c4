"""The signals of all candidates of a query, their sums, and the chance that the answer is among them."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from heapq import nlargest

from memorist.kinds import DOCUMENTS, TURNS
from memorist.models.coverage import LONGEST_LOOKED_AT, Coverage, holding
from memorist.recall.pipeline import Candidate, Search
from memorist.recall.weights import weights
from memorist.records import Hit, Record, Signal
from memorist.scoring import log_odds, logistic
from memorist.store.nouns import Fact
from memorist.text.bm25 import K1
from memorist.text.dates import Span

READ = 30  # of the best by what needs no text; from these it is judged whether the answer is here, whatever the limit
HOLDING = 5  # candidates that hold most of the query's words and are always among those read
BEST_OF_SESSION = 3
USUAL_COSINE = 0.57  # of the best note where there is an answer; stands in where nothing has a vector
ALONE = 4.0  # how much more a named time counts if the query asks for nothing else
THEN = 0.5  # log-odds of the best turn of the named time, if the query asks for nothing else
WHO = ("speaker", "role", "voice")  # signals that an answer does not take from its question
FOLLOWING, MOST_FOLLOWING = 0.15, 0.8  # how much more an answer counts because of the turn before it
SUMMARIES = ("summary", "narrative")
DAY = 86400.0

FEWEST_ROWS = 50  # of a store that silence was fitted on: a smaller one is taken for as large


class Scores:
    """The signals of all candidates of a query, and their sums."""

    def __init__(self, search: Search) -> None:
        self.candidates = {each.fact.number: each for each in search.candidates}
        self._asked, self._yardstick = search, search.yardstick
        self._plain = not (search.speakers or search.role or search.spans)
        self._own, self._sessions = self._worth_of_turns()
        self.signals: dict[int, dict[str, tuple[float, float]]] = {}  # the value of each, and what it adds to the sum
        self.sums = dict.fromkeys(self.candidates, 0.0)
        for number in self.candidates:
            self._add(number, self._without_text(number))
        self.signs: dict[str, dict[str, float]] = {}  # of silence, by group: notes, talk
        self.chances: dict[str, float] = {}
        self._levels: dict[str, float] = {}

    def _worth_of_turns(self) -> tuple[dict[int, float], dict[str, float]]:
        """What each turn is worth to its neighbors; and each session: the mean of its three best turns."""
        own, best = dict[int, float](), dict[str, list[float]]()
        for number, each in self.candidates.items():
            if each.fact.session is not None:
                weigh = weights()[voice(each.fact)]
                own[number] = weigh["own_words"] * each.words + weigh["own_meaning"] * each.meaning
                best.setdefault(each.fact.session, []).append(max(0.0, own[number]))
        return own, {name: sum(sorted(some)[-BEST_OF_SESSION:]) / BEST_OF_SESSION for name, some in best.items()}

    def _add(self, number: int, signals: Iterable[tuple[str, float]]) -> None:
        """Adds signals to a record; one that has no weight of its own is in log-odds."""
        weigh, own = weights()[voice(self.candidates[number].fact)], self.signals.setdefault(number, {})
        for name, value in signals:
            adds = weigh.get(name, 1.0) * value
            if adds:
                before = own.get(name, (0.0, 0.0))
                own[name] = before[0] + value, before[1] + adds
                self.sums[number] += adds

    def _without_text(self, number: int) -> list[tuple[str, float]]:
        """The signals that need no text."""
        candidate, asked = self.candidates[number], self._asked
        fact = candidate.fact
        found = [("words", candidate.words), ("meaning", candidate.meaning), ("voice", 1.0)]
        if candidate.nearly:
            found.append(("nearly", candidate.nearly))
        if fact.session is not None:
            found.append(("session", self._sessions[fact.session]))
            found += [("before", self._own.get(fact.before or 0, 0.0)), ("after", self._own.get(fact.after or 0, 0.0))]
        if self._plain:
            return found
        if len(asked.speakers) == 1 and fact.speaker == asked.speakers[0]:
            found.append(("speaker", 1.0))
        if asked.role is not None and fact.role in ("user", "assistant"):
            # "You" is the assistant and "I" the user. An assistant's answer counts more if it follows a fitting question.
            fits = FOLLOWING * max(0.0, self._own.get(fact.before or 0, 0.0)) if asked.role == "assistant" else 0.0
            found.append(("role", 1.0 + min(MOST_FOLLOWING, fits) if fact.role == asked.role else -1.0))
        if fact.session is not None and any(span.start <= fact.at < span.end for span in asked.spans):
            found.append(("within", ALONE if asked.alone else 1.0))
        if asked.spans:
            found.append(("when", max(closeness(fact.at, span) for span in asked.spans)))
        return found

    def best(self, spare: int, search: Search) -> list[int]:
        """All candidates, best first. But behind the very first come, so that their texts are read: memories that were useful
        for similar queries, some with votes, and the few that hold most of the words."""
        best = [number for _, number in sorted(zip(self.sums.values(), self.sums, strict=True), reverse=True)]
        wanted = [number for number in best if number in search.wanted]
        helped = [number for number in best if self.candidates[number].fact.up][:spare]
        held = nlargest(HOLDING, best, key=lambda number: self.candidates[number].words)
        return list(dict.fromkeys([*best[: READ - spare], *wanted, *helped, *held, *best]))

    def look_closer(self, records: Sequence[Record]) -> None:
        """Adds the signals that require the text."""
        coverage, names = Coverage(self._asked.said), self._asked.names
        for record, soft in zip(records, coverage.of([_found_by(record) for record in records]), strict=True):
            candidate = self.candidates[record.number]
            if not coverage.knows or len(record.text) > LONGEST_LOOKED_AT:  # then the words are more reliable
                soft = max(soft, min(1.0, candidate.words))
            named = sum([names[word] for word in holding(names, _found_by(record))])
            signals = [("soft", soft), ("names", named), ("tool", float(of_tool(record)))]
            self._add(record.number, [*signals, ("summary", float(record.kind in SUMMARIES))])

    def give_place(self, question: Record, answer: Record, fact: Fact) -> None:
        """Lets a question and its answer change places: the answer gets at least the sum of the question, with the words that
        the two hold together, but with its own speaker and role."""
        asks, answers = question.number, answer.number
        if answers not in self.candidates:
            self.candidates[answers], self.sums[answers] = Candidate(fact, 0.0, None, 0.0), 0.0
            self._add(answers, self._without_text(answers))
        who, other = (sum(self.signals[each].get(name, (0.0, 0.0))[1] for name in WHO) for each in (asks, answers))
        (both,) = Coverage(self._asked.said).of([f"{question.text} {answer.text}"])
        more = (
            max(0.0, both - self.signals[asks].get("soft", (0.0, 0.0))[0])
            * weights()[voice(self.candidates[asks].fact)]["soft"]
        )
        taken = self.sums[asks] + more + other - who - self.sums[answers]
        self._add(asks, [("asks", min(0.0, self.sums[answers] - self.sums[asks]))])
        self._add(answers, [("answers", max(0.0, taken))])

    def settle(self, records: Sequence[Record]) -> None:
        """Estimates from what was read whether the answer is here: among notes and among talk apart, because their sums have
        different scales."""
        groups: dict[str, list[int]] = {}
        for record in records:
            groups.setdefault(self._group(record.number), []).append(record.number)
        known = self._yardstick
        matched = sum(known.weights.values()) * (K1 + 1)
        # In a large store, the best candidate may be good by chance.
        size = math.log10(1 + max(FEWEST_ROWS, known.rows))
        for group, numbers in groups.items():
            best = max(self.sums[number] for number in numbers)
            cosines = [cosine for number in numbers if (cosine := self.candidates[number].cosine) is not None]
            signs = {
                "best": best,
                "cosine": max(cosines, default=USUAL_COSINE),
                "soft": max(self.signals[number].get("soft", (0.0, 0.0))[0] for number in numbers),
                "absent": 1 - min(1.0, matched / known.ceiling) if known.ceiling else 1.0,
                "length": math.log1p(len(known.weights) + len(known.absent)),
                "size": size,
                "size_best": size * best,
                "level": 1.0,
            }
            odds = sum([weights()[f"silence {group}"][name] * value for name, value in signs.items()])
            if self._asked.alone:
                first = self.candidates[max(numbers, key=self.sums.__getitem__)]
                near = max([closeness(first.fact.at, span) for span in self._asked.spans])
                odds = log_odds(logistic(THEN) * near)
            self.signs[group], self.chances[group], self._levels[group] = signs, logistic(odds), odds - best

    def _group(self, number: int) -> str:
        return "notes" if voice(self.candidates[number].fact) == "notes" else "talk"

    def hit(self, record: Record) -> Hit:
        """The record with its relevance and everything that speaks for or against it."""
        candidate, group = self.candidates[record.number], self._group(record.number)
        signals = [
            Signal(name, candidate.cosine or 0.0 if name == "meaning" else value, value, adds)
            for name, (value, adds) in self.signals[record.number].items()
        ]
        signals.append(Signal("chance", 1.0, 1.0, self._levels.get(group, min(self._levels.values()))))
        relevance = logistic(sum([signal.contribution for signal in signals]))
        return Hit(record, relevance, {"relevance": relevance}, tuple(signals))

    def explain(self) -> str:
        """For the trace: the chance that the answer is here, and the signs behind it."""
        group = max(self.chances, key=self.chances.__getitem__, default="notes")
        signs = ", ".join(f"{name} {value:.3f}" for name, value in self.signs.get(group, {}).items() if name != "level")
        return f"the answer is here with a chance of {self.chances.get(group, 0.0):.2f} ({signs})"


def voice(fact: Fact) -> str:
    """Whose words these are, as far as it matters to the weights. Tool output repeats the query's words at length, as an
    assistant does."""
    if fact.role in ("assistant", "tool"):
        return "assistant"
    return "talk" if fact.role is not None or fact.shelf.layer in (TURNS, DOCUMENTS) else "notes"


def of_tool(record: Record) -> bool:
    """Whether it is what a tool returned, or was called with."""
    return record.kind == "turn" and (record.provenance.role == "tool" or "call" in record.data)


def closeness(at: datetime, span: Span) -> float:
    """1 inside the requested time, fading outside of it, since people are seldom exact about dates."""
    if span.start <= at < span.end:
        return 1.0
    away = min(abs((at - span.start).total_seconds()), abs((at - span.end).total_seconds())) / DAY
    width = (span.end - span.start).total_seconds() / DAY
    return math.exp(-away / (3 + 0.5 * max(1.0, width)))


def _found_by(record: Record) -> str:
    """Its text, title and tags."""
    return " ".join((record.text, *([record.title] if record.title else ()), *record.tags))
