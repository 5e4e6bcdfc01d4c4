"""Changes to existing memories: to one, to a link, to its counters, or to many at once.

A change is a function from the old record to the new one; reading, changing, writing and journalling are one transaction. A
change to many runs in short transactions under one batch: a sweep of ten thousand must not keep other writers waiting, and one
memory that cannot be changed does not stop the others. It stays as it was, and the report says why.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from typing import Any

from memorist import checks
from memorist.access import GLOBAL, Access, family_of, is_homed
from memorist.design import Ask
from memorist.errors import Conflict, Invalid, NotFound, OutOfScope, Refused
from memorist.folder import HASHES
from memorist.kinds import Kind, kind_named
from memorist.lazy import dataclass
from memorist.records import (
    LINK_KINDS,
    Counters,
    Link,
    LinkKind,
    Outcome,
    Planned,
    Record,
    Report,
    Scope,
    new_id,
)
from memorist.redact import nothing_but_marks, replaced, texts_of
from memorist.remember import consent, lessons
from memorist.remember.authority import RANK, Effect, Held, derived, reason_to_ask, users_word
from memorist.remember.changes import Caller, Changes, refuse_second
from memorist.remember.conflicts import links_between, meet, retired, reworded
from memorist.scoring import bounded
from memorist.store.nouns import KeyUse, Receipt, parts
from memorist.store.protocol import Store
from memorist.store.where import Where, everywhere
from memorist.store.writer import Clean
from memorist.text.procedure import structured
from memorist.text.twins import used_in
from memorist.text.visible import quoted

VERDICTS = {"useful": "up", "irrelevant": "rejected", "wrong": "down"}  # the counter that each verdict raises
LONGEST_ANSWER = 1_000_000  # characters
SWEPT_AT_ONCE = 100  # memories in one transaction, at most
FIRST, FEWEST = 10, 5  # memories in the first transaction, and the minimum
TOO_LONG, TOO_SHORT = 0.1, 0.03  # seconds per transaction: others wait meanwhile, and each has a fixed cost
UNCHANGED = "it was so already"
SAID = ("revised", "pinned", "promoted")  # verbs whose approval makes a memory the approver's word
BESIDE = ("relates_to", "contradicts")  # links that relate two memories without changing either
Find = Callable[[], Record]
Pair = Callable[[], tuple[Record, Record]]


# ---------------------------------------------------------------- one memory


def newest(id: str, by: Caller) -> Record:
    """The present state of a record, for a change that was planned earlier."""
    return by.store.get([id], by.where)[0]


def edit(
    find: Find,
    verb: str,
    change: Callable[[Record], Record],
    by: Caller,
    because: str,
    question: Callable[[Held], Ask] | None = None,
) -> Outcome:
    """Applies `change` to the record that `find` returns, or asks a person if the caller may not change it. A change without
    effect is not written."""

    def act(by: Caller) -> Outcome:
        return _edit(find, verb, change, by, because)

    return consent.settled(act, question or (lambda held: consent.to_change(held, verb, because, by)), by)


def _edit(find: Find, verb: str, change: Callable[[Record], Record], by: Caller, because: str) -> Outcome:
    with by.writer.transaction():
        old = _writable(find(), by.access)
        new = change(old)
        if new == old:
            return Outcome("unchanged", UNCHANGED, old.id, old)
        changes = Changes.of(by)
        fresh = _checked(old, new, changes, said=verb in SAID)
        changes.put(verb, old, fresh, because)
        said = meet(fresh, changes) if _arrives(old, fresh) else []
        batch, stored = changes.commit()
    told = replaced(texts_of(new), texts_of(fresh))
    return Outcome("changed", "; ".join((because, *said)), old.id, stored[old.id], batch, told)


def _checked(old: Record, new: Record, changes: Changes, said: bool = False) -> Clean:
    """The next version of a record; raises if its scope may not be written or another active memory says the same."""
    who = changes.by.access
    if new.scope != old.scope and new.home == old.home:
        new = replace(new, home=_home_after(old, new.scope, who))
    changes.by.writer.refuse_secret(who.must_write(new.scope, new.home), "the scope")
    fresh = changes.stamped(old, new, said)
    refuse_second(old, fresh, changes)
    return fresh


def _home_after(old: Record, scope: str, who: Access) -> str | None:
    """The project that a memory belongs to once it lies in that scope: its former one, otherwise the caller's."""
    if not is_homed(scope):
        return None
    home = old.scope if family_of(old.scope) == "project" else old.home
    return who.home if home is None or (home == GLOBAL and family_of(scope) != "agent") else home


def _arrives(old: Record, fresh: Record) -> bool:
    """Whether it is new to its place: moved from another scope, or back from the archive."""
    return fresh.state == "active" and (old.scope, old.home, old.state) != (fresh.scope, fresh.home, fresh.state)


def _writable(record: Record, who: Access) -> Record:
    who.must_write(record.scope, record.home)
    return _must_be_there(record)


def _must_be_there(record: Record) -> Record:
    if record.state == "erased":
        raise Refused(
            f"memory {record.number} is erased and cannot be used any more; remember it anew if it still holds"
        )
    return record


def archived(record: Record, because: str, version: int | None = None) -> Record:
    if _at(version, record).state in ("superseded", "erased"):
        raise Refused(f"memory {record.number} is {record.state} already")
    return record if record.state == "archived" else replace(record, state="archived", reason=because)


def brought_back(record: Record, store: Store) -> Record:
    if record.state == "superseded" and record.superseded_by is None and not _replaced_by(record, store):
        return _holds_again(record)  # its replacement was erased
    if record.state in ("superseded", "erased"):
        raise Refused(f"memory {record.number} is {record.state}; only forgotten memories can be restored")
    return replace(record, state="active", reason=None)


def _holds_again(record: Record) -> Record:
    return replace(record, state="active", reason=None, times=replace(record.times, valid_to=None))


# ---------------------------------------------------------------- revising fields and text


def revision(kinds: Mapping[str, Kind], **given: Any) -> dict[str, Any]:
    check: dict[str, Callable[[Any], Any]] = {
        "text": checks.text,
        "title": partial(checks.label, what="the title"),
        "kind": lambda value: kind_named(value, kinds).name,
        "scope": Scope,
        "importance": partial(checks.share, what="importance"),
        "confidence": partial(checks.share, what="confidence"),
        "valid_from": partial(checks.moment, what="valid_from"),
        "valid_to": partial(checks.moment, what="valid_to"),
        "tags": partial(checks.labels, what="tags"),
        "data": checks.data,
    }
    changes = {name: check[name](value) for name, value in given.items() if value is not None}
    if not changes:
        raise Invalid("nothing to revise was given; name a text, title, kind, scope, importance, validity, tags, data")
    return changes


def revise(
    find: Find,
    given: Mapping[str, Any],
    by: Caller,
    expected_version: int | None,
    because: str,
    used: bool = False,
) -> Outcome:
    """Changes fields. With a new text, the memory keeps id, number and votes, and the old text remains as a superseded record."""

    seen = _seen(find, by) if "text" in given else {}

    def act(by: Caller) -> Outcome:
        with by.writer.transaction():
            old = _at(expected_version, _writable(find(), by.access))
            new = _with_hashes(_revised(old, given, by.tools.kinds), seen or old.data.get(HASHES))
            if used:
                new = _used(new, by.now())
            if new.text == old.text:
                return _edit(lambda: old, "revised", lambda _: new, by, because)
            return _supersede_text(old, _restamped(new, by.access), given, by, because)

    return consent.settled(act, lambda held: consent.to_revise(held, given, because, used), by)


def _seen(find: Find, by: Caller) -> Mapping[str, str]:
    """The present digests of the memory's files, since its content is confirmed now. No digests for an approval, which is carried
    out in a transaction, where no file is read."""
    folder = by.tools.folder
    return {} if folder.root is None or by.agreed is not None else folder.hashes(find().files)


def _with_hashes(record: Record, hashes: object) -> Record:
    """The record with the digests of its files from when its content was last confirmed."""
    return replace(record, data={**record.data, HASHES: hashes}) if hashes else record


def _at(version: int | None, record: Record) -> Record:
    if version is not None and record.version != version:
        raise Conflict(f"memory {record.number} is at version {record.version}, not {version}; read it again")
    return record


def _revised(old: Record, changes: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Record:
    if old.state != "active":
        raise Refused(f"memory {old.number} is {old.state}; restore it before you revise it")
    given = dict(changes)
    here, there = kinds[old.kind], kinds[given.get("kind", old.kind)]
    _refuse_rewriting(old, given, here)
    alike = (here.layer, here.recalled) == (there.layer, there.recalled)
    if here != there and (here.append_only or there.append_only or not alike):
        raise Refused(f"memory {old.number} is a {old.kind} and cannot become a {there.name}; remember it as a new one")
    times = replace(old.times, **{key: given.pop(key) for key in ("valid_from", "valid_to") if key in given})
    checks.interval(times.valid_from, times.valid_to)
    if "data" in given or here != there:
        given["data"] = structured(given.get("data", old.data), there.name)
    return replace(old, times=times, **given)


def _refuse_rewriting(old: Record, given: Mapping[str, Any], kind: Kind) -> None:
    """Raises for changes to what was said or told, and for steps that have a verb of their own."""
    written = next((name for name in ("text", "title", "data") if name in given), None)
    if kind.append_only and written:
        raise Refused(
            f"memory {old.number} is a {old.kind}, and its {written} stays as it was said; add a correction instead"
        )
    data = given.get("data", old.data)
    other = next((name for name in kind.kept if data.get(name) != old.data.get(name)), None)
    if other is not None:
        raise Refused(f"memory {old.number} is a {old.kind}: its {other} changes by move_task, which knows the steps")


def _used(record: Record, now: datetime) -> Record:
    """The record with one more use, just now: its clock restarts, its votes stay."""
    counters = replace(record.counters, used=record.counters.used + 1)
    return replace(record, counters=counters, times=replace(record.times, used=now))


def _restamped(record: Record, who: Access) -> Record:
    """The record with a new text by this caller: the user's word, or as trusted as the less trusted of the two. Adding a full
    stop to what a tool said does not make it an agent's."""
    source = replace(record.provenance, actor=who.actor, surface=who.surface)
    said = replace(record, provenance=source)
    return users_word(said) if who.origin == "user" else derived(said, who.origin)


def _supersede_text(old: Record, new: Record, given: Mapping[str, Any], by: Caller, because: str) -> Outcome:
    """Keeps the old text as a record of its own, valid until now; the memory gets the new text, valid from now."""
    changes = Changes.of(by)
    fresh = _checked(old, _timed(new, given, changes.now), changes)
    if nothing_but_marks(fresh.text):
        raise Refused("the new text is nothing but a secret, and secrets are not stored")
    past = by.writer.clean(_past(old, changes.now))
    changes.put("revised", old, fresh, because, past)
    changes.put("superseded", None, past, because)
    said = reworded(fresh, changes)
    batch, stored = changes.commit()
    told = replaced(texts_of(new), texts_of(fresh))
    return Outcome("changed", "; ".join((because, *said)), old.id, stored[old.id], batch, told)


def _past(old: Record, now: datetime) -> Record:
    """The old text as a superseded record of its own."""
    past = retired(old, now, "revised")
    times = replace(past.times, updated=now, used=None)
    return replace(
        past, id=new_id(now), number=0, superseded_by=old.id, pinned=False, counters=Counters(), version=1, times=times
    )


def _timed(new: Record, given: Mapping[str, Any], now: datetime) -> Record:
    """The given validity; otherwise the new text is valid from now, or from the old one's start if that is in the future."""
    start, end = new.times.valid_from, new.times.valid_to
    if "valid_from" not in given and (start is None or start < now):
        start = now
    if "valid_to" not in given and end is not None and end <= now:
        end = None
    checks.interval(start, end)
    return replace(new, times=replace(new.times, valid_from=start, valid_to=end))


# ---------------------------------------------------------------- links


def relate(
    find: Pair,
    kind: LinkKind,
    by: Caller,
    weight: float | None = 1.0,
    evidence: str | None = None,
) -> Outcome:
    """Adds a link, or removes it when `weight` is None; it is journalled with the first of the two."""
    if kind not in LINK_KINDS:
        raise Invalid(f"there is no link kind {kind!r:.60}; kinds are {', '.join(LINK_KINDS)}")
    shown = by.writer.redact(checks.optional_label(evidence, "the evidence"))
    share = None if weight is None else checks.share(weight, "weight")

    def act(by: Caller) -> Outcome:
        with by.writer.transaction():
            a, b = find()
            _writable(a, by.access)
            _must_be_there(b)
            if a.id == b.id:
                raise Invalid(f"memory {a.number} cannot be linked to itself")
            new = None if share is None else Link(a.id, b.id, kind, share, shown)
            return _related(a, b, kind, new, by)

    done = consent.settled(act, lambda held: _to_relate(held, find, kind, share, shown), by, find)
    return replace(done, advice=done.advice or replaced([evidence or ""], [shown or ""]))


def _related(a: Record, b: Record, kind: LinkKind, new: Link | None, by: Caller) -> Outcome:
    known = next((link for link in links_between(a, b, by.store, [kind]) if link.b == b.id), None)
    if new == known:
        return Outcome("unchanged", UNCHANGED, a.id, a)
    changes, because = Changes.of(by), f"{'linked' if new else 'unlinked'} ({kind})"
    if new:
        changes.touch(*(() if kind in BESIDE else (a,)))
        changes.link(a, new, because, was=known)
    elif known:
        changes.touch(*(() if kind == "relates_to" else (a, b)))
        changes.unlink(a, known, because)
    if known is None or new is None:
        _follow(a, b, kind, new is not None, because, changes)
    batch, stored = changes.commit()
    return Outcome("changed", because, a.id, stored.get(a.id, a), batch)


def _follow(a: Record, b: Record, kind: LinkKind, linked: bool, because: str, changes: Changes) -> None:
    """The effects of a link on its ends: the older one of `supersedes` no longer holds, and holds again without such links;
    what is derived from a less trusted text is trusted no more than that."""
    by = changes.by
    if kind == "supersedes" and linked:
        refuse_circle(Link(a.id, b.id, kind), by.store, by.where)
        if b.state == "active":
            by.access.must_write(b.scope, b.home)
            changes.put("superseded", b, changes.stamped(b, retired(b, changes.now, because)), because)
    elif (
        kind == "supersedes" and b.state == "superseded" and b.superseded_by is None and _replaced_by(b, by.store) == 1
    ):
        by.access.must_write(b.scope, b.home)
        changes.put("restored", b, _checked(b, _holds_again(b), changes), because)
    elif kind == "derived_from" and linked:
        _lower(a, b, because, changes)


def _replaced_by(record: Record, store: Store) -> int:
    return sum(link.b == record.id for link in store.links(everywhere(record.space), [record.id], "supersedes"))


def _lower(a: Record, b: Record, because: str, changes: Changes) -> None:
    """Lowers the trust in what is derived from `b`, directly or indirectly, to that in `b`; the user's word stays."""
    by, edge, seen = changes.by, {a.id}, {a.id}
    while edge:
        for record in by.store.get(sorted(edge), everywhere(a.space)):
            if record.origin != "user" and RANK[record.origin] > RANK[b.origin] and record.state != "erased":
                changes.put("lowered", record, changes.stamped(record, derived(record, b.origin)), because)
        links = by.store.links(everywhere(a.space), sorted(edge), "derived_from")
        edge = {link.a for link in links if link.b in edge} - seen
        seen |= edge


def _to_relate(held: Held, find: Pair, kind: LinkKind, weight: float | None, evidence: str | None) -> Ask:
    a, b = find()
    versions = {a.id: a.version, b.id: b.version}
    details = {"a": a.id, "b": b.id, "kind": kind, "weight": weight, "evidence": evidence, "versions": versions}
    act = "unlink" if weight is None else "link"
    texts = " and ".join(f"“{consent.shown_in_question(each.text)}”" for each in (a, b))
    return Ask("link", f"{act} memory {a.number} and memory {b.number} ({kind}), and {held}: {texts}", None, details)


def refuse_circle(link: Link, store: Store, where: Where) -> None:
    """Raises for a circle: if A supersedes B and B supersedes A, there is no newest one."""
    seen, edge = {link.b}, {link.b}
    while edge:
        edge = {k.b for k in store.links(where, sorted(edge), "supersedes") if k.a in edge} - seen
        seen |= edge
    if link.a in seen:
        raise Invalid("that would close a circle of supersedes, which has no newest member; unlink one of them first")


# ---------------------------------------------------------------- votes and uses
#
# Shown is not used: only use resets a memory's clock. A use is counted once for each receipt and memory, however often it is
# reported, and never changes trust. What it adds to a memory's worth is bounded (`scoring.py`), so that memories which are
# shown often do not end up being shown always.


def feedback(find: Find, verdict: str, receipt: str | None, by: Caller) -> Outcome:
    """A verdict about a memory, or about how it did for the query of that receipt. With a receipt, only "wrong" also counts as
    a vote: what helped for one query, or did not, says little about others."""
    if verdict not in VERDICTS:
        raise Invalid(f"there is no verdict {quoted(verdict)}; verdicts are {', '.join(VERDICTS)}")
    if receipt is None:
        return vote(find, verdict, by)
    by.writer.flush()
    line = receipt_of(receipt, by.access, by.store)
    if verdict != "wrong":
        return _taught(find, verdict, line, by)
    voted = vote(find, verdict, by)
    taught = _taught(find, verdict, line, by, voted.batch)
    return replace(voted, because=f"{voted.because}; {taught.because}", batch=taught.batch or voted.batch)


def _taught(find: Find, verdict: str, line: Receipt, by: Caller, batch: str | None = None) -> Outcome:
    against = lessons.reason_against(line, by)
    if against:
        return Outcome("refused", against)
    because = f"the caller found it {verdict} for a question"
    with by.writer.transaction():
        record, changes = _writable(find(), by.access), Changes.of(by)
        if not lessons.teach(changes, [record], line, lessons.THIRDS[verdict], because):
            return Outcome("unchanged", f"{because}, as so often before that it counts no further", record.id, record)
        batch, _ = changes.commit(batch)
    return Outcome("changed", f"{because}; questions like it will be answered accordingly", record.id, record, batch)


def vote(find: Find, verdict: str, by: Caller) -> Outcome:
    """Counts a verdict. Only a useful one resets the clock; nothing here changes trust."""

    def question(held: Held) -> Ask:
        record = held.record
        said = f"{by.access.actor} finds memory {record.number} {verdict}, and {held}"
        shown = f"{said}: {consent.shown_in_question(record.text)}"
        return Ask("feedback", shown, None, {"id": record.id, "verdict": verdict})

    if verdict == "irrelevant":  # said about every hit that did not help; not worth a person's time
        try:
            return _voted(find, verdict, by)
        except Held as held:
            return Outcome("unchanged", f"{held}, so it was not counted", held.record.id, held.record)
    return consent.settled(lambda by: _voted(find, verdict, by), question, by)


def _voted(find: Find, verdict: str, by: Caller) -> Outcome:
    because = f"the caller found it {verdict}"
    with by.writer.transaction():
        record, changes = _writable(find(), by.access), Changes.of(by)
        raised, had = VERDICTS[verdict], record.counters
        after = replace(record, counters=bounded(replace(had, **{raised: getattr(had, raised) + 1})))
        after = _used(after, changes.now) if verdict == "useful" else after
        if after == record:
            return Outcome("unchanged", f"{because}, as so many before that it counts no further", record.id, record)
        changes.count("feedback", record, after, because)
        batch, _ = changes.commit()
    return Outcome("changed", because, record.id, after, batch)


def use(receipt: str, answer: str | None, ids: Sequence[str] | None, by: Caller) -> Report:
    """Counts a use of the shown memories that are named in `ids` (full ids) or whose words occur in the answer."""
    by.writer.flush()
    line = receipt_of(receipt, by.access, by.store)
    shown = by.store.get(line.ids, by.where)
    reasons = _named(ids, shown) if ids is not None else _detected(answer, line, shown)
    left: dict[str, str] = {}
    with by.writer.transaction():
        changes = Changes.of(by)
        for record in by.store.get(list(reasons), by.where):
            key = use_key(line.id, record.id)
            problem = _not_now(record, by.access, by.store, key)
            if problem:
                left[record.id] = problem
                continue
            changes.count("used", record, _used(record, changes.now), f"used: {reasons[record.id]}")
            changes.key(KeyUse(key, line.id, record.id, "used", changes.now))
        if lessons.reason_against(line, by) is None:
            lessons.teach(changes, list(changes.records.values()), line, lessons.USE, "used for a question")
        batch, done = changes.commit()
    planned = tuple(Planned(record.id, record.number, reasons[record.id]) for record in done.values())
    advice = None if reasons else "the answer shows no use of what was recalled; name it with ids= if it was used"
    return Report("used", planned, left, batch or None, advice=advice)


def receipt_of(name: str, who: Access, store: Store) -> Receipt:
    """The recall log entry with that name, if everything it showed may be read."""
    must_name_receipt(name)
    found = [line for line in store.receipts(who.space, 1, name.strip()) if may_show(line, who)]
    if not found or len(store.get(found[0].ids, Where(who))) < len(found[0].shown):
        raise no_receipt(name)
    return found[0]


def must_name_receipt(name: str) -> None:
    if not isinstance(name, str):
        raise Invalid(f"a receipt is named by text such as 'r01…', not {quoted(name)}")


def no_receipt(name: str) -> NotFound:
    return NotFound(f"there is no receipt {quoted(name)} here; contexts and recalls name theirs, and old ones expire")


def may_show(line: Receipt, who: Access) -> bool:
    """Whether the access may read every place that the query read: what lies elsewhere now may have been private then."""
    return all(who.may_read(scope, home) for scope, home in (line.rendered or {}).get("places", ()))


def is_told_to(line: Receipt, who: Access) -> bool:
    """Whether the access may see this line among others: its words belong to the project it was asked in."""
    mine = who.sees_every_project if line.home is None else who.may_read(line.home)
    return mine and may_show(line, who)


def use_key(receipt: str, record: str) -> str:
    """The idempotency key under which a use is counted once."""
    return f"used {receipt} {record}"


def _named(ids: Sequence[str], shown: Sequence[Record]) -> dict[str, str]:
    by_id = {record.id: record for record in shown}
    for id in ids:
        if id not in by_id:
            numbers = ", ".join(str(record.number) for record in shown) or "none"
            raise Invalid(f"memory {quoted(id)} was not shown under this receipt; it showed {numbers}")
    return dict.fromkeys(ids, "named by the caller")


def _detected(answer: str | None, line: Receipt, shown: Sequence[Record]) -> dict[str, str]:
    if answer is None:
        raise Invalid("give the answer, or the ids of what was used")
    if not isinstance(answer, str) or len(answer) > LONGEST_ANSWER:
        raise Invalid(f"an answer must be text of at most {LONGEST_ANSWER:,} characters, not {quoted(answer)}")
    found = used_in(answer, {record.number: record.text for record in shown}, line.query)
    return {record.id: found[record.number] for record in shown if record.number in found}


def _not_now(record: Record, who: Access, store: Store, key: str) -> str | None:
    if not who.may_write(record.scope, record.home):
        return f"this {who.role} access may not write {record.scope}"
    if record.state == "erased":
        return "it is erased"
    return "this use was counted already" if store.key_use(key) else None


# ---------------------------------------------------------------- many memories


def portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """The ids in portions, smaller after a slow one, because other writers wait meanwhile."""
    start, size = 0, FIRST
    while start < len(ids):
        begun = time.monotonic()
        yield ids[start : start + size]
        start, took = start + size, time.monotonic() - begun
        if took > TOO_LONG:
            size = max(FEWEST, int(size * TOO_LONG / (2 * took)))
        elif took < TOO_SHORT:
            size = min(SWEPT_AT_ONCE, 2 * size)


@dataclass(frozen=True, slots=True)
class Sweep:
    """One change for many memories. `change` returns the new record, or raises `Refused` to leave it as it is."""

    verb: str
    change: Callable[[Record], Record]
    because: str
    where: Where  # must still match when the change is made
    by: Caller
    held: list[str] = field(default_factory=list)  # ids of memories that a person has to agree to; these are left

    def plan(self, ids: Sequence[str]) -> Report:
        report = Report(self.verb, dry_run=True)
        for some in parts(ids, SWEPT_AT_ONCE):
            report, _ = self._fill(some, report, Changes.of(self.by))
        return report

    def apply(self, ids: Sequence[str], report: Report | None = None) -> Report:
        report = Report(self.verb) if report is None else report
        for some in portions(ids):
            report, _ = self.step(some, report)
        return report

    def apply_or_ask(self, ids: Sequence[str]) -> Report:
        """Changes these, and asks a person about those that the caller may not change."""
        seen, report = self.by.now(), self.apply(ids)
        if not self.held:
            return report
        said = consent.to_sweep("forget", self.held, seen, self.because, self.by)
        if not said.approved:
            return replace(report, advice=said.because, pending=said.id)
        left = {id: why for id, why in report.left.items() if id not in self.held}
        return replace(self, by=self.by.with_consent(), held=[]).apply(self.held, replace(report, left=left))

    def step(self, ids: Sequence[str], report: Report) -> tuple[Report, Sequence[str]]:
        """Changes these in one transaction and adds them to the report. → the report, and what is left for the next: nothing"""
        with self.by.writer.transaction():
            changes = Changes.of(self.by)
            report, arrived = self._fill(ids, report, changes)
            for record in arrived:
                meet(record, changes)
            batch, _ = changes.commit(report.batch)
        return replace(report, batch=report.batch or batch or None), ()

    def _fill(self, ids: Sequence[str], report: Report, changes: Changes) -> tuple[Report, list[Record]]:
        """Collects the changes; returns the report including them, and the memories that are new to their place."""
        planned, left = list(report.changed), dict(report.left)
        arrived: list[Record] = []
        for old in self.by.store.get(ids, self.where):
            try:
                self.by.access.must_write(old.scope, old.home)
                new = self.change(old)
                fresh = None if new == old else self._allowed(old, _checked(old, new, changes))
            except (Refused, OutOfScope, Conflict, Held) as problem:
                left[old.id] = str(problem)
                self.held.extend([old.id] if isinstance(problem, Held) else [])
                continue
            if fresh is None:
                left[old.id] = UNCHANGED
                continue
            changes.put(self.verb, old, fresh, self.because)
            planned.append(Planned(old.id, old.number, self.because))
            if _arrives(old, fresh):
                arrived.append(fresh)
        return replace(report, changed=tuple(planned), left=left), arrived

    def _allowed(self, old: Record, fresh: Clean) -> Clean:
        """Checks a memory; one that the caller may not change does not stop the others."""
        effect = Effect(self.verb, old, fresh)
        reason = reason_to_ask(effect, self.by)
        if reason:
            raise Held(reason, [effect])
        return fresh
