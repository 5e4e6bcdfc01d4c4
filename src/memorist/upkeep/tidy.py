"""Smaller jobs of a night. Three of them only ask: about contradictions in the whole store, about memories whose files
have changed, and about tags that mean the same. Two act: they archive faint memories, and link memories of several
sessions that belong together.

A person's answers are kept (`remember/review.py`) and guide later nights: nothing is asked twice.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar

from memorist import remember
from memorist.access import Access, is_homed
from memorist.design import Ask, Proposal, Tools, itself
from memorist.folder import HASHES
from memorist.lazy import dataclass
from memorist.records import Link, Record
from memorist.remember.advice import contradictions
from memorist.remember.changes import Changes
from memorist.remember.choices import ASKED
from memorist.remember.conflicts import LOGS, between, told_how
from memorist.remember.consent import shown_in_question
from memorist.scoring import confidence
from memorist.store.nouns import Brief
from memorist.store.where import Order, Where
from memorist.text.words import query_terms
from memorist.upkeep.retain import CANDIDATES_AT_MOST, free, jumped, loose, memories, refuse_guarded
from memorist.upkeep.survey import PAGE, Survey, read, together

ABOUT_ONE_THING = 0.6  # the lowest cosine of two that may contradict each other
BELONG = 0.75  # the lowest cosine of two that are linked across sessions
ASKED_AT_ONCE = 10  # memories in one question
ADVISED_AT_MOST = 40  # pairs that a configured model reads in one night
FADED = "faded: hardly anything of its confidence is left, and nobody said it again"
LINKED = "linked"
ACROSS = "they belong together, and were said in different sessions"
FILE_CHANGED = "the file it speaks of was changed since"
ONE_TAG = "the tags mean the same"


def _asking(verb: str, because: str, asks: Sequence[Ask], most: int | None = None) -> Proposal:
    return Proposal(verb, itself, because, (), asks=tuple(asks), most=most)


# ---------------------------------------------------------------- asking


@dataclass(frozen=True, slots=True)
class Contradictions:
    """Asks about at most `most` pairs of neighbours that contradict each other. Flagged contradictions come first,
    those that only a model sees last."""

    most: int = 20
    survey: Survey | None = None
    name: ClassVar[str] = "contradictions"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        asks = list(islice(self._asks(who, tools), self.most))
        return _asking("resolved", "two memories contradict one another", asks)

    def _asks(self, who: Access, tools: Tools) -> Iterator[Ask]:
        active, waiting = Where(who).also("state", "eq", "active"), _waiting(who, tools)
        for dispute in remember.conflicts.disputes(active, 10 * self.most, tools.store):
            old, new = sorted((dispute.a, dispute.b), key=_stated)
            if _may_be_asked(old, new, waiting):
                yield _ask(old, new, dispute.reason)
        unsure: list[tuple[int, int]] = []  # numbers only: there may be hundreds of thousands
        near = (self.survey or Survey())(who, tools).pairs(ABOUT_ONE_THING)
        for first, second, _ in together(near, who, tools):
            old, new = sorted((first, second), key=_stated)
            if not _may_be_asked(old, new, waiting) or not _may_clash(old, new):
                continue
            why = between(old.text, new.text)
            if why is None:
                unsure.append((old.number, new.number))
            elif not told_how(old, new, tools.store):
                yield _ask(old, new, why.reason)
        yield from _advised(sorted(unsure, key=max, reverse=True), who, tools)


def _advised(newest: Sequence[tuple[int, int]], who: Access, tools: Tools) -> Iterator[Ask]:
    """What a model finds among the newest pairs in which rules find nothing; nothing if there is no model or it fails."""
    if not newest or not tools.chat.ready or tools.over():
        return
    pairs = together(((a, b, 0.0) for a, b in newest), who, tools, ADVISED_AT_MOST)
    open_ = ((old, new) for old, new, _ in pairs if not told_how(old, new, tools.store))
    some = list(islice(open_, ADVISED_AT_MOST))
    found = contradictions([(old.text, new.text) for old, new in some], tools.chat)
    yield from (_ask(old, new, why.reason) for (old, new), why in zip(some, found, strict=True) if why is not None)


def _stated(record: Record) -> tuple[datetime, int]:
    return record.times.stated, record.number


def _may_be_asked(old: Record, new: Record, waiting: Sequence[set[str]]) -> bool:
    """Whether both are in one scope, which outlasts its questions, and nobody is being asked about them already."""
    return not is_homed(new.scope) and new.scope == old.scope and {old.id, new.id} not in waiting


def _may_clash(old: Record, new: Record) -> bool:
    """Whether both are statements by the same speaker, neither of which has an end."""
    timed = any(end is not None for end in (old.times.valid_to, new.times.valid_to))
    return not timed and not {old.kind, new.kind} & set(LOGS) and old.provenance.speaker == new.provenance.speaker


def _waiting(who: Access, tools: Tools) -> list[set[str]]:
    """The pairs that waiting questions are about."""
    asked = [(run.question or {}).get("details", {}) for run in tools.store.runs(who.space, state="asks")]
    return [{details["a"], details["b"]} for details in asked if {"a", "b"} <= details.keys()]


def _ask(old: Record, new: Record, because: str) -> Ask:
    older, newer = (f"[id:{each.number}] “{shown_in_question(each.text)}”" for each in (old, new))
    versions = {old.id: old.version, new.id: new.version}
    details = {"a": new.id, "b": old.id, "because": because, "versions": versions, "scope": new.scope}
    danger = "the older one would no longer be recalled; deny if both hold"
    return Ask("contradiction", f"does {newer} replace {older}?", danger, details)


@dataclass(frozen=True, slots=True)
class Verify:
    """Asks about memories of this project whose files have changed. A denial says that they still hold."""

    most: int = 50
    name: ClassVar[str] = "verify"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        if tools.folder.root is None or who.home is None:
            return _asking("verified", FILE_CHANGED, [])
        stale = list(islice(self._stale(who, tools), self.most))
        groups = [stale[start : start + ASKED_AT_ONCE] for start in range(0, len(stale), ASKED_AT_ONCE)]
        return _asking("verified", FILE_CHANGED, [_to_verify(group, str(who.home), tools) for group in groups])

    def _stale(self, who: Access, tools: Tools) -> Iterator[Record]:
        where, after = memories(who, lambda kind: kind.recalled).also("scope", "eq", who.home), 0
        about = where.also(f"data.{HASHES}", "ne", None)
        while page := tools.store.find(about.also("number", "gt", after), Order("number", ascending=True), PAGE):
            after = page[-1].number
            yield from (each for each in page if tools.folder.freshness(each.data.get(HASHES)) == "stale")
            if tools.over():
                return


def _to_verify(records: Sequence[Record], scope: str, tools: Tools) -> Ask:
    now = {record.id: tools.folder.hashes(record.data[HASHES]) for record in records}
    files = {name: digest for digests in now.values() for name, digest in digests.items()}
    shown = "; ".join(f"[id:{each.number}] {shown_in_question(each.text)}" for each in records)
    told = ", ".join(f"{name} ({digest[:8]})" for name, digest in sorted(files.items()))
    details: dict[str, Any] = {
        "clauses": [["id", "in", [each.id for each in records]], ["updated", "lte", tools.clock().isoformat()]],
        "because": FILE_CHANGED,
        "scope": scope,
        "hashes": now,
    }
    danger = "They stay in the archive; undo or restore brings them back. Deny if they still hold."
    return Ask("verify", f"forget what is said of files that were changed since, {told}: {shown}", danger, details)


@dataclass(frozen=True, slots=True)
class TagCleanup:
    """Asks whether tags that differ only in case, separators or number are one. Tags that no memory has are ignored."""

    most: int = 10
    survey: Survey | None = None
    name: ClassVar[str] = "tag_cleanup"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        seen = (self.survey or Survey())(who, tools)
        asks = (ask for scope, tags in seen.tags.items() if not is_homed(scope) for ask in _alike(scope, tags))
        return _asking("tagged", ONE_TAG, list(asks), self.most)


def _alike(scope: str, tags: Counter[str]) -> Iterator[Ask]:
    groups: dict[str, list[str]] = {}
    for tag in sorted(tags):
        groups.setdefault(_folded(tag), []).append(tag)
    for group in groups.values():
        kept, *others = sorted(group, key=lambda tag: (-tags[tag], tag))
        if others:
            shown = ", ".join(f"{tag!r} ({tags[tag]:,})" for tag in others)
            asked = f"{scope}: are {sorted(group)} one tag?"
            details = {"scope": scope, "tag": kept, "others": sorted(others), "because": ONE_TAG, ASKED: asked}
            yield Ask("tags", f"in {scope}, let {kept!r} ({tags[kept]:,}) stand for {shown}", None, details)


def _folded(tag: str) -> str:
    """A tag without case, separators and number."""
    plain = tag.casefold().replace("_", " ").replace("-", " ")
    return "".join(query_terms(plain)) or "".join(plain.split())


# ---------------------------------------------------------------- acting


@dataclass(frozen=True, slots=True)
class FadeAway:
    """Archives memories that have hardly any confidence left today and that nobody said again. The confidence is
    computed for today, because the stored one never fades. What the user said stays."""

    below: float = 0.05
    name: ClassVar[str] = "fade"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        now, moved = tools.clock(), jumped(tools)
        ids = [] if moved else [brief.id for brief in free(list(self._faint(who, tools)), who, tools)]

        def archive(record: Record) -> Record:
            refuse_guarded(record, now)
            return remember.edit.archived(record, FADED)

        return Proposal(
            "expired", archive, FADED, ids[:CANDIDATES_AT_MOST], moved and f"nothing was looked at: {moved}"
        )

    def _faint(self, who: Access, tools: Tools) -> Iterator[Brief]:
        """Candidates are chosen by their briefs, which is cheap, and then by the confidence of the records."""
        now, where = tools.clock(), memories(who, lambda kind: kind.recalled).also("trust", "ne", "high")
        old = (brief for brief in loose(tools.store.briefs(where), now) if brief.counters.strength <= 1)
        while some := list(islice(old, PAGE)):
            records = read([brief.number for brief in some], who, tools)
            yield from (
                brief
                for brief in some
                if brief.number in records and confidence(records[brief.number], now, tools.kinds) < self.below
            )
            if tools.over():
                return


@dataclass(frozen=True, slots=True)
class CrossLinks:
    """Links memories of different sessions that are close in meaning, at most `most` for each. A link that was removed
    stays removed."""

    most: int = 3
    survey: Survey | None = None
    name: ClassVar[str] = "cross_links"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        seen = (self.survey or Survey())(who, tools)
        session = dict(zip(seen.numbers, seen.sessions, strict=True))
        count, found = Counter[int](), dict[str, dict[str, float]]()
        for a, b, cosine in together(seen.pairs(BELONG), who, tools):
            apart = 0 != session[a.number] != session[b.number] != 0
            few = count[a.number] < self.most and count[b.number] < self.most
            if apart and few and not self._is_known(a, b, tools):
                count.update((a.number, b.number))
                found.setdefault(a.id, {})[b.id] = cosine
        ids = list(islice(found, CANDIDATES_AT_MOST))
        return Proposal(LINKED, itself, ACROSS, ids, fill=_Linking(found))

    def _is_known(self, a: Record, b: Record, tools: Tools) -> bool:
        """Whether they are linked, have enough links, or were linked before and somebody undid it."""
        links = tools.store.links(Where(Access.to_read(a.space)), [a.id, b.id])
        full = any(sum(each.id in (k.a, k.b) and k.evidence == ACROSS for k in links) >= self.most for each in (a, b))
        if full or any({link.a, link.b} == {a.id, b.id} for link in links):
            return True
        return any((event.before or {}).get("other") == b.id for event in tools.store.journal(record=a.id))


@dataclass(frozen=True, slots=True)
class _Linking:
    found: Mapping[str, Mapping[str, float]]

    def __call__(self, record: Record, changes: Changes) -> None:
        others = changes.by.store.get(list(self.found[record.id]), changes.by.where.also("state", "eq", "active"))
        for other in others:
            weight = round(self.found[record.id][other.id], 2)
            changes.link(record, Link(record.id, other.id, "relates_to", min(1.0, weight), ACROSS), ACROSS)
