"""Memories that contradict one another: how they are found, what happens to them, and how a conflict is closed.

    contradictory   one is for it, the other against it
    superseded      the newer one replaces the older, for certain
    ambiguous       it may replace it, or both may hold

Exact rules (`text/claims.py`) find opposites, and the same words with another value in one place. The reader
(`models/reader.py`) finds what is put in other words, among the three nearest memories, and doubts a value that both can have.

The design decides what happens to a new memory (`Design.conflicts`): `flag` links the two as contradicting, `supersede`
retires the older one if the newer one certainly replaces it, and `ask` flags them and asks a person. The newer one must also be
stated later, by a source that is trusted no less, and not be read from a file. A memory that is moved, restored or reworded is
compared in the same way, but never retires another. Everything flagged is shown on both sides until it is resolved.

A conflict is a link `contradicts` between two memories that are both active and readable, so it ends with either of them.
Closing it is one action: either the memory that does not hold is superseded, or both stay and are merely related; the link
goes. A memory that was superseded by mistake is brought back the same way: keep it, and the one that replaced it is
superseded.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, get_args

from memorist import checks
from memorist.design import Ask, Conflicts
from memorist.errors import Invalid, NotFound, Refused
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.models import reader
from memorist.noun import Noun
from memorist.records import NEWER, Link, Outcome, Record
from memorist.remember import consent
from memorist.remember.authority import RANK, Held
from memorist.remember.changes import Caller, Changes, refuse_second
from memorist.store.index import opposed, stated
from memorist.store.nouns import LOOKED_AT, shelf_of
from memorist.store.packing import unpack
from memorist.store.protocol import Store
from memorist.store.where import Where, everywhere
from memorist.text import claims
from memorist.text.visible import quoted
from memorist.text.words import query_terms

DisputeKind = Literal["contradictory", "superseded", "ambiguous"]
Severity = Literal["high", "medium", "low"]
DISPUTE_KINDS: tuple[DisputeKind, ...] = get_args(DisputeKind)
LONGEST_SHOWN = 60  # characters of a value in a reason
MOST_CLASHES = 3  # existing memories that one new memory may be flagged against
CANDIDATES = 8
LOOKED_FOR = 6  # words of a text that announces a change
ALIKE_AT_MOST = 8  # memories it is compared with in meaning
PENDING = 4096  # of its batch
# The reader is asked where cosine − LENGTH · ln(1 + words of the older one) reaches NEAR: short notes state one thing, and that is
# what changes. Of notes written in order one in three asks, and two thirds of their updates pass; by cosine alone half of them.
NEAR, LENGTH = 0.175, 0.15
LOGS = ("reasoning", "tool_output", "file_change", "summary")  # they record what happened and claim nothing else
RESOLVE = "`conflicts` shows what contradicts what, and `resolve` says which of the two holds"
NEW = "nothing like it was there"  # why a memory is added
SUPERSEDED = "another value was stated later"
BOTH = "both"
BOTH_HOLD = "both hold: "  # prefix of the evidence of a conflict resolved that way
FOUND = tuple(f"{kind}: " for kind in DISPUTE_KINDS)  # prefixes of the evidence of a conflict found by rules
WEIGHTS: dict[Severity, float] = {"high": 1.0, "medium": 0.7, "low": 0.4}
Find = Callable[[], tuple[Record, Record]]


# ---------------------------------------------------------------- two statements


@dataclass(frozen=True, slots=True)
class Clash:
    """Why two statements contradict each other. `clear`: the newer one certainly describes the current state."""

    kind: DisputeKind
    severity: Severity
    reason: str
    clear: bool = False


def between(old: str, new: str, corrects: bool = False, reading: bool = True) -> Clash | None:
    """How a newer text contradicts an older one. `corrects`: it is known to be a correction; `reading`: the reader may be asked.

    >>> between("Billing listens on port 8080", "Billing now listens on port 9090").reason
    'another value: 8080, and 9090'
    >>> between("Never deploy on Fridays", "Don't deploy on Fridays") is None
    True
    """
    opposite = claims.opposite(old, new)
    if opposite is not None:
        return Clash("contradictory", "high", f"one is for it, the other against it: {_short(opposite)}", corrects)
    values = claims.other_value(old, new)
    if max(len(old), len(new)) > claims.LONGEST_CLAIM or not (values or reading):
        return None
    verdict = reader.relations([(old, new)])[0] if reading else None
    sure = 0.0 if verdict is None else verdict.replaces
    if values and not values.names:
        reason, clear = f"another value: {_short(values.was)}, and {_short(values.now)}", corrects or values.single
        clear = clear or (values.says_now and (verdict is None or sure >= reader.SURE))
        flags = clear or verdict is None or sure >= reader.SOME
    else:
        reason, flags = f"it was stated anew: {_short(old)}", sure >= (reader.SURE if values else reader.FLAG)
        clear = flags and (corrects or (not values and sure >= reader.RETIRE))
    if clear:
        return Clash("superseded", "medium", reason, True)
    return Clash("ambiguous", "low", reason) if flags else None


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


# ---------------------------------------------------------------- a new memory


def look(record: Record, outcome: Outcome, policy: Conflicts, changes: Changes) -> Outcome:
    """Handles everything that contradicts a memory about to be added; returns its outcome."""
    clashes, newer = _clashes(record, changes)
    for old, why in clashes:
        outcome = _settle(old, record, why, outcome, policy, changes)
    for old, chance in newer:
        changes.link(record, Link(record.id, old.id, "relates_to", chance, NEWER), "it may be newer")
    return outcome


def meet(record: Record, changes: Changes) -> list[str]:
    """Flags what contradicts a memory that is new to its place, unless flagged already; returns what to report."""
    said = []
    for old, why in _clashes(record, changes)[0]:
        if not told_how(record, old, changes.by.store, ("contradicts", "relates_to")):
            said.append(_flag(old, record, why, changes))
    return said


def _clashes(record: Record, changes: Changes) -> tuple[list[tuple[Record, Clash]], list[tuple[Record, float]]]:
    """What contradicts it among the memories that the rules find and the nearest ones in meaning, which the reader is asked about;
    and those that it may well replace, with the probability, although that is not worth a flag."""
    if not may_be_disputed(record, changes):
        return [], []
    by_rule = (old for old in _on_topic(record, changes) if _is_ruled(old.text, record.text))
    others = list({old.id: old for old in (*by_rule, *_nearest(record, changes))}.values())
    same = [old for old in others if not claims.is_of_another(old.text, record.text)]
    alike = [old for old in same if claims.is_alike(old.text, record.text)]
    if len(alike) > 1 or any(claims.is_one_of_many(old.text, record.text) for old in alike):
        same = [old for old in same if old not in alike]  # a list, of which this is one more item
    others = [old for old in others if old in same or claims.opposite(old.text, record.text)]
    for topic in stated(record.text):
        changes.claimed.setdefault(topic, []).append(record)
    found, newer, reading = [], [], bool(others) and changes.by.tools.reads
    for old in others:
        if not may_meet(old, record, changes.now) or old.times.stated > record.times.stated:
            continue
        clash = between(old.text, record.text, record.kind == "correction", reading)
        if clash:
            found.append((old, clash))
        elif reading and max(len(old.text), len(record.text)) <= claims.LONGEST_CLAIM:
            chance = reader.relations([(old.text, record.text)])[0].replaces
            newer += [(old, chance)] if chance >= reader.ORDER else []
    return sorted(found, key=lambda each: not each[1].clear)[:MOST_CLASHES], newer


def _is_ruled(old: str, new: str) -> bool:
    return claims.opposite(old, new) is not None or claims.other_value(old, new) is not None


def may_be_disputed(record: Record, changes: Changes) -> bool:
    """Whether it is a statement that another may contradict: not a turn, a document or a log."""
    kind = changes.by.tools.kinds[record.kind]
    return kind.layer == MEMORY and kind.recalled and not kind.append_only and kind.name not in LOGS


def _on_topic(record: Record, changes: Changes) -> list[Record]:
    """Memories that may contradict it by the rules (`store/index.py`), newest first; pending ones before stored ones."""
    topics = opposed(record.text)
    if not topics:
        return []
    claimed = [other for topic in topics for other in changes.claimed.get(topic, [])[: -LOOKED_AT - 1 : -1]]
    return _comparable(record, (*claimed, *changes.by.store.stating(topics, shelf_of(record), CANDIDATES)), changes)


def _nearest(record: Record, changes: Changes) -> list[Record]:
    """The few memories, pending or stored, that are near enough in meaning to be worth the reader's time."""
    if len(record.text) > claims.LONGEST_CLAIM:
        return []
    near = [
        (cosine - LENGTH * math.log1p(len(query_terms(old.text))), old)
        for old, cosine in near_by_meaning(record, changes)
    ]
    near.sort(key=lambda each: -each[0])
    alike = [old for nearness, old in near if nearness >= NEAR]
    return _comparable(record, alike, changes)[: reader.ASKED]


def near_by_meaning(record: Record, changes: Changes) -> list[tuple[Record, float]]:
    """The nearest records by vector with their cosines, best first, if this record already has a vector."""
    ahead, meaning = changes.vectors.get(record.id), changes.by.tools.meaning
    embedder = meaning.embedder() if ahead is not None and ahead.fits(record) else None
    if ahead is None or embedder is None:
        return []
    [vector] = unpack(ahead.vectors[:1])
    where, cosines = everywhere(record.space), dict[int, float]()
    for generation in meaning.living():
        if (generation.model, generation.dimension) == (embedder.name, len(vector)):
            hits = changes.by.store.nearest(generation.id, vector, [shelf_of(record)], where, ALIKE_AT_MOST).hits
            cosines.update(hits)
    stored = changes.by.store.get(list(cosines), where) if cosines else []
    found = [(old, cosines[old.number]) for old in stored]
    pending = [old for old in changes.records.values() if old.id != record.id and old.id in changes.vectors][-PENDING:]
    if pending:
        rows = unpack([changes.vectors[old.id].vectors[0] for old in pending])
        found += zip(pending, (rows @ vector).tolist(), strict=True)
    return sorted(found, key=lambda each: -each[1])[:ALIKE_AT_MOST]


def telling_words(text: str) -> list[str]:
    """The words to search for: the longest, which are usually the rarest."""
    return sorted(query_terms(text), key=len, reverse=True)[:LOOKED_FOR]


def _comparable(record: Record, others: Iterable[Record], changes: Changes) -> list[Record]:
    latest = {old.id: changes.records.get(old.id, old) for old in others if old.id != record.id}
    return [
        old
        for old in latest.values()
        if (old.scope, old.home, old.state) == (record.scope, record.home, "active") and may_be_disputed(old, changes)
    ]


def may_meet(old: Record, record: Record, now: datetime) -> bool:
    """Whether they can contradict each other: a statement valid until May does not contradict one valid from June."""
    was, new = old.times, record.times
    ended = was.valid_to is not None and was.valid_to <= (new.valid_from or now)
    begins = new.valid_to is not None and new.valid_to <= (was.valid_from or was.created)
    return one_voice(old, record) and not ended and not begins


def one_voice(a: Record, b: Record) -> bool:
    """Whether they can be about the same person: two people may both say "I live in Oslo"."""
    personal = claims.is_personal(a.text) or claims.is_personal(b.text)
    return not personal or a.provenance.speaker == b.provenance.speaker


def told_how(
    a: Record, b: Record, store: Store, kinds: Sequence[str] = ("contradicts", "supersedes", "relates_to")
) -> bool:
    """Whether a link already states how the two relate; `relates_to` does so only if it records that both hold."""
    links = links_between(a, b, store, kinds)
    return any(each.kind != "relates_to" or (each.evidence or "").startswith(BOTH_HOLD) for each in links)


def reworded(record: Record, changes: Changes) -> list[str]:
    """Flags what contradicts the new text of a memory, and ends conflicts that it no longer has; only those found by comparing
    texts, since a link made by a caller stays."""
    said = meet(record, changes)
    by = changes.by
    links = by.store.links(by.where, [record.id], "contradicts")
    found = [link for link in links if (link.evidence or "").startswith(FOUND)]
    ends = {end for link in found for end in (link.a, link.b)}
    known = {each.id: each for each in by.store.get(list(ends), by.where)} | {record.id: record}
    for link in found:
        if not {link.a, link.b} <= known.keys():
            continue
        a, b = known[link.a].text, known[link.b].text
        if not between(a, b, reading=by.tools.reads) and not between(b, a, reading=by.tools.reads):
            other = known[link.b if link.a == record.id else link.a]
            said.append(f"it no longer contradicts memory {other.number}")
            changes.unlink(known[link.a], link, said[-1])
    return said


def _settle(old: Record, record: Record, why: Clash, outcome: Outcome, policy: Conflicts, changes: Changes) -> Outcome:
    name = _name(old)
    if policy == "supersede" and why.clear and _may_retire(old, record):
        _retire(old, record, f"{why.kind}: {why.reason}", changes)
        return _told(outcome, f"{name} is superseded by it ({why.reason})", f"`undo` brings {name} back, if both hold")
    said, advice = _flag(old, record, why, changes), RESOLVE
    if policy == "ask":
        asked = consent.queue(_question(old, record, why), record.scope, why.reason, changes.by, record.home)
        advice = asked.because
        outcome = replace(outcome, pending=asked.id)
    return _told(outcome, f"{said} ({why.reason})", advice)


def _name(old: Record) -> str:
    return f"memory {old.number}" if old.number else f"memory {old.id}"


def _flag(old: Record, record: Record, why: Clash, changes: Changes) -> str:
    said = f"it contradicts {_name(old)}"
    link = Link(record.id, old.id, "contradicts", WEIGHTS[why.severity], f"{why.kind}: {why.reason}")
    changes.link(record, link, said)
    return said


def _may_retire(old: Record, record: Record) -> bool:
    """Whether the new one may replace the old one: stated later, trusted no less, and said rather than read from a file."""
    said = record.trust != "low" and record.status == "confirmed" and RANK[record.origin] >= RANK[old.origin]
    return said and record.times.stated >= old.times.stated and not old.pinned


def retired(old: Record, now: datetime, reason: str) -> Record:
    """The memory as superseded: valid until now, or until its own end if that was earlier."""
    end = min(old.times.valid_to or now, now)
    times = replace(old.times, valid_to=max(end, old.times.valid_from or end))
    return replace(old, state="superseded", reason=reason, times=times)


def _retire(old: Record, record: Record, evidence: str, changes: Changes) -> None:
    """Supersedes the older one; it remains in the archive, in `as_of` and in the journal."""
    past = changes.stamped(old, retired(old, changes.now, SUPERSEDED))
    changes.put("superseded", old, past, SUPERSEDED)
    changes.link(record, Link(record.id, old.id, "supersedes", 1.0, evidence), "it describes the current state")


def _told(outcome: Outcome, because: str, advice: str) -> Outcome:
    whys = [because] if outcome.because == NEW else [outcome.because, because]
    said = dict.fromkeys((*([outcome.advice] if outcome.advice else ()), advice))
    return replace(outcome, because="; ".join(whys), advice="; ".join(said))


def _question(old: Record, record: Record, why: Clash) -> Ask:
    older, newer = (consent.shown_in_question(each.text) for each in (old, record))
    return Ask(
        "resolve",
        f"does “{newer}” replace “{older}”?",
        f"the older one ({old.id}) would no longer be recalled; deny to keep both",
        {"a": record.id, "b": old.id, "because": why.reason},
    )


# ---------------------------------------------------------------- open conflicts


@dataclass(frozen=True, slots=True)
class Dispute(Noun):
    """Two active memories that contradict each other, until one is chosen."""

    a: Record
    b: Record
    kind: DisputeKind
    severity: Severity
    reason: str
    since: datetime


def disputes(where: Where, limit: int, store: Store) -> list[Dispute]:
    """Open conflicts, those of the newest memories first."""
    links = store.links(where, kind="contradicts", limit=limit)
    ends = {record.id: record for record in store.get(list({end for k in links for end in (k.a, k.b)}), where)}
    return [_dispute(link, ends[link.a], ends[link.b], store) for link in links if {link.a, link.b} <= ends.keys()]


def _dispute(link: Link, a: Record, b: Record, store: Store) -> Dispute:
    named, found, reason = (link.evidence or "").partition(": ")
    kind = next((kind for kind in DISPUTE_KINDS if found and kind == named), None)
    said = reason if kind else (link.evidence or "they were linked as contradicting")
    severity: Severity = "high" if link.weight >= 0.9 else "medium" if link.weight >= 0.6 else "low"
    return Dispute(a, b, kind or "contradictory", severity, said, _since(link, a, b, store))


def _since(link: Link, a: Record, b: Record, store: Store) -> datetime:
    """When they were linked; if the journal no longer has that, when both existed."""
    for event in reversed(store.journal(record=link.a)):
        before = event.before or {}
        if before.get("other") == link.b and before.get("now") and before["now"][0] == link.kind:
            return event.at
    return max(a.times.created, b.times.created)


# ---------------------------------------------------------------- closing a conflict


def resolve(find: Find, keep: str | int, because: str, by: Caller) -> Outcome:
    """Closes the conflict of two memories: `keep` is "a", "b", "both", or one of the two by number or id."""
    reason = by.writer.redact(checks.label(because, "the reason"))

    def question(held: Held) -> Ask:
        a, b = find()
        kept = _kept(keep, a, b)
        what = "both hold" if kept is None else f"“{consent.shown_in_question(kept.text)}” holds"
        versions = {a.id: a.version, b.id: b.version}
        details = {"a": a.id, "b": b.id, "keep": kept.id if kept else BOTH, "because": reason, "versions": versions}
        return Ask("resolve", f"close the conflict of memory {a.number} and memory {b.number}: {what}", None, details)

    return consent.settled(lambda by: _resolved(find, keep, reason, by), question, by, find)


def _resolved(find: Find, keep: str | int, reason: str, by: Caller) -> Outcome:
    with by.writer.transaction():
        a, b = find()
        for record in (a, b):
            by.access.must_write(record.scope, record.home)
        kept = _kept(keep, a, b)
        links = links_between(a, b, by.store, ("contradicts", "supersedes"))
        _must_be_open(a, b, links)
        other = b if kept is None or kept.id == a.id else a
        if kept is not None and _is_so(kept, other, links):
            return Outcome("unchanged", "it was so already", kept.id, kept)
        changes = Changes.of(by)
        _put(a, b, kept, other, links, reason, changes)
        first = kept or a
        batch, stored = changes.commit()
    told = "both hold" if kept is None else f"memory {kept.number} holds, and memory {other.number} is superseded"
    return Outcome("changed", f"{told} ({reason})", first.id, stored.get(first.id, first), batch)


def _put(
    a: Record, b: Record, kept: Record | None, other: Record, links: Sequence[Link], reason: str, changes: Changes
) -> None:
    for record in (a, b):
        _close(record, kept, reason, changes)
    for link in links:
        changes.unlink(a if link.a == a.id else b, link, reason)
    if kept is None:
        changes.touch(a, b)
        changes.link(a, Link(a.id, b.id, "relates_to", 1.0, f"{BOTH_HOLD}{reason}"), reason)
    else:
        changes.link(kept, Link(kept.id, other.id, "supersedes", 1.0, reason), reason)


def _kept(keep: str | int, a: Record, b: Record) -> Record | None:
    """The one that holds; None if both do."""
    if keep == BOTH:
        return None
    if isinstance(keep, bool) or not isinstance(keep, str | int):
        raise Invalid(f"keep is 'a', 'b', 'both', or one of the two by number or id, not {quoted(keep)}")
    named = [record for name, record in (("a", a), ("b", b)) if str(keep) in (name, record.id, str(record.number))]
    parts = [record for record in (a, b) if len(str(keep)) > 3 and record.id.startswith(str(keep))]
    found = named or parts
    if len(found) != 1:
        raise Invalid(f"keep is 'a', 'b', 'both', or {a.number} or {b.number}, not {quoted(keep)}")
    return found[0]


def links_between(a: Record, b: Record, store: Store, kinds: Sequence[str]) -> list[Link]:
    """The links of these kinds in either direction, whoever may see them."""
    found = (link for kind in kinds for link in store.links(everywhere(a.space), [a.id], kind))
    return [link for link in found if {link.a, link.b} == {a.id, b.id}]


def _is_so(kept: Record, other: Record, links: Sequence[Link]) -> bool:
    """Whether the kept one already supersedes the other, with no other link between them."""
    said = [(link.a, link.kind) for link in links]
    return (kept.state, other.state) == ("active", "superseded") and said == [(kept.id, "supersedes")]


def _must_be_open(a: Record, b: Record, links: Sequence[Link]) -> None:
    if a.id == b.id:
        raise Invalid(f"memory {a.number} cannot contradict itself; name two memories")
    for record in (a, b):
        if record.state not in ("active", "superseded"):
            raise Refused(f"memory {record.number} is {record.state}, so there is nothing to resolve; restore it first")
    if not links or (a.state, b.state) == ("superseded", "superseded"):
        raise NotFound(
            f"memories {a.number} and {b.number} are in no open conflict; `conflicts` lists those that are, and "
            "`link` with contradicts makes one"
        )


def _close(record: Record, kept: Record | None, reason: str, changes: Changes) -> None:
    """Puts the memory into the state it has once the conflict is closed."""
    holds = kept is None or kept.id == record.id
    if holds == (record.state == "active"):
        return
    if holds:
        times = replace(record.times, valid_to=None)
        fresh = changes.stamped(record, replace(record, state="active", reason=None, times=times))
        refuse_second(record, fresh, changes)
        return changes.put("restored", record, fresh, reason)
    if changes.by.tools.kinds[record.kind].append_only:
        raise Refused(
            f"memory {record.number} is a {record.kind}, and its text stays as it was said; keep='both' closes the conflict"
        )
    fresh = changes.stamped(record, retired(record, changes.now, reason))
    changes.put("superseded", record, fresh, reason)


def approved(details: Mapping[str, Any], by: Caller) -> Outcome:
    """A person agreed how a conflict is closed: by default the newer memory (`a`) replaces the older one."""
    return resolve(partial(both_of, details, by), details.get("keep", "a"), details["because"], by)


def both_of(details: Mapping[str, Any], by: Caller) -> tuple[Record, Record]:
    """The two memories of a question, if unchanged since it was asked."""
    found = by.store.get([details["a"], details["b"]], by.where)
    if len(found) != 2:
        raise NotFound("one of the two memories no longer exists; deny the question to remove it from the list")
    consent.must_be_at(details.get("versions", {}), found)
    return found[0], found[1]
