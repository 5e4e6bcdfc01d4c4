"""Answers for people: short, plain, one memory per line, and always with the scope that was used.

Every kind of answer has one function here; with `--json` none of them runs, and the answer itself is the document. All
stored text passes through `one_line` or `safe` on its way.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

from memorist.access import EVERY_PROJECT
from memorist.commands import EVENTS
from memorist.lazy import dataclass
from memorist.noun import plain
from memorist.records import (
    Context,
    Event,
    Hit,
    Link,
    Outcome,
    Recall,
    Record,
    Report,
    State,
    counted,
    memories,
    minute,
)
from memorist.scoring import grounds
from memorist.store.nouns import parts
from memorist.surfaces import settings
from memorist.surfaces.cli.screen import Screen, aside, one_line, safe
from memorist.text.injection import LABEL, suspect
from memorist.text.procedure import PARTS_OF_PROCEDURE, procedure_of
from memorist.text.triggers import TRIGGERS, said_in

if TYPE_CHECKING:
    from memorist.memory import Memory
    from memorist.remember.conflicts import Dispute
    from memorist.remember.consent import Pending
    from memorist.remember.gaps import Gap
    from memorist.remember.promotion import Weighed
    from memorist.store.journal import Audit
    from memorist.store.nouns import Diagnosis


@dataclass(frozen=True, slots=True)
class Result:
    """A verb's answer, and what is needed to show it."""

    verb: str
    value: Any
    memory: "Memory"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    why: bool = False

    @property
    def scope(self) -> str:
        """Where a new memory went, or would have gone."""
        user = self.arguments.get("user")
        return f"user/{user}" if user else self.arguments.get("scope") or self.memory.home


def show(result: Result, screen: Screen) -> None:
    if screen.json:
        screen.document(result.value)
    else:
        _SHOWN.get(result.verb, _changed)(result, screen)


# ---------------------------------------------------------------- writing


def _changed(result: Result, screen: Screen) -> None:
    """One memory, or several, or none."""
    outcomes = result.value if isinstance(result.value, list) else [result.value]
    for each in outcomes:
        if isinstance(each, Report):
            _report(each, result.memory, screen)
            _nothing_fits(each, result.arguments)
        else:
            batch = f", batch {each.batch}" if each.batch else ""
            screen.line(f"{_named(each, screen)}: {one_line(each.because)}{batch}")
    _advised([each for each in outcomes if isinstance(each, Outcome)], screen)


def _advised(outcomes: Sequence[Outcome], screen: Screen) -> None:
    """Further advice, such as that a secret was replaced; once, however many memories it is about."""
    for advice, count in Counter(each.advice for each in outcomes if each.advice).items():
        screen.line(f"  {one_line(advice)}{f' ({count:,} memories)' if count > 1 else ''}", "dim")


def _remembered(result: Result, screen: Screen) -> None:
    if isinstance(result.value, list):
        return _remembered_many(result, screen)
    outcome: Outcome = result.value
    where = outcome.record.scope if outcome.record else result.scope
    because = f": {one_line(outcome.because)}" if _surprising(outcome) else ""
    unconfirmed = ", unconfirmed" if outcome.record and outcome.record.status == "candidate" else ""
    screen.line(f"{_named(outcome, screen)} in {one_line(where)}{unconfirmed}{because}")
    _advised([outcome], screen)


def _remembered_many(result: Result, screen: Screen) -> None:
    outcomes: list[Outcome] = result.value
    counts = Counter(outcome.outcome for outcome in outcomes)
    said = ", ".join(f"{count:,} {word}" for word, count in counts.items()) or "nothing to remember"
    scopes = {outcome.record.scope for outcome in outcomes if outcome.record} or {result.scope}
    screen.line(f"{said} in {one_line(', '.join(sorted(scopes)))}")
    _reasons(Counter((each.outcome, each.because) for each in outcomes if _surprising(each)), screen)
    _advised(outcomes, screen)


def _surprising(outcome: Outcome) -> bool:
    """Whether there is more to say than that a new memory is there, such as that it replaced another."""
    from memorist.remember.conflicts import NEW  # imported here, because questions do without it

    return (outcome.outcome, outcome.because) != ("added", NEW)


def _reasons(reasons: Counter[tuple[str, str]], screen: Screen) -> None:
    """Which memories were not simply added, and why."""
    for (word, because), count in reasons.most_common(SHOWN_AT_MOST):
        screen.line(f"  {count:,} {word}: {one_line(because)}")
    if len(reasons) > SHOWN_AT_MOST:
        screen.line(f"  and {len(reasons) - SHOWN_AT_MOST:,} more reasons; --json names them all")


def _named(outcome: Outcome, screen: Screen) -> str:
    """What became of which memory."""
    named = f" {_called(outcome.record)}" if outcome.record else f" {outcome.id}" if outcome.id else ""
    word = outcome.outcome.replace("_", " ")
    return screen.styled(word, "good" if outcome.outcome not in ("refused", "needs_consent") else "bad") + named


def _called(record: Record) -> str:
    """The name that commands take."""
    from memorist.session.tasks import TASK, name_of  # imported here, because questions do without it

    return f"{name_of(record)} [id:{record.number}]" if record.kind == TASK else f"[id:{record.number}]"


# ---------------------------------------------------------------- finding


def _recalled(result: Result, screen: Screen) -> None:
    found: Recall = result.value
    for note in found.notes:
        aside(note)
    scopes = one_line(", ".join(found.scopes) or result.memory.project.scope)
    others = _beside(found, result.memory)
    for hit in found:
        _hit(hit, result.why, others, screen)
    if found:
        screen.line(f"{memories(len(found))} from {scopes}", "dim")
    else:
        screen.line(f"{one_line(found.empty_because or 'nothing was found')} ({scopes})")
    if result.why and result.verb == "recall" and found.receipt:
        screen.line(f"receipt {found.receipt}", "dim")


@dataclass(frozen=True, slots=True)
class _Beside:
    """How the memories of an answer relate to others, by their ids."""

    known: Mapping[str, Record]
    shown: Mapping[str, Record]
    newer: Mapping[str, str]  # what replaced which

    def named(self, ids: Iterable[str]) -> str:
        """The marks of the related memories, and the beginning of a text that the answer does not show itself."""
        told = (self.known[id] for id in ids if id in self.known)
        return ", ".join(f"[id:{r.number}]{'' if r.id in self.shown else f' {_begun(r.text)}'}" for r in told)


def _beside(found: Recall, memory: "Memory") -> _Beside:
    shown = {hit.id: hit.record for hit in found}
    missing = [id for hit in found for id in (*hit.conflicts, *hit.replaces) if id not in shown]
    newer = {old: hit.id for hit in reversed(found) for old in hit.replaces}
    return _Beside({**shown, **(by_id(memory, missing) if missing else {})}, shown, newer)


def _relations(hit: Hit, others: _Beside) -> Iterator[str]:
    """What a reader must know before using a hit: that another memory replaced or contradicts it, or that it was only
    said."""
    if replaced := others.named(hit.replaces):
        yield f"replaces {replaced}"
    if "outdated" in hit.why:
        newer = others.newer.get(hit.id)
        yield f"outdated: see {others.named([newer])}" if newer else "outdated"
    settled = {*hit.replaces, others.newer.get(hit.id)}
    if contradicted := others.named(id for id in hit.conflicts if id not in settled):
        yield f"contradicts {contradicted}"
    yield from _doubted_files(hit)
    if hit.kind == "turn":
        spoke = hit.record.provenance.speaker or hit.record.provenance.role
        yield "from a conversation" + f", said by {spoke}" * bool(spoke)


def _doubted_files(hit: Hit) -> Iterator[str]:
    if hit.freshness in CHANGED:
        which = "its file" if len(hit.record.files) == 1 else "one of its files"
        yield f"{hit.freshness}: {which} {CHANGED[hit.freshness]}: {', '.join(hit.record.files)}"


def _begun(text: str) -> str:
    return text if len(text) <= BESIDE else f"{text[: BESIDE - 1].rstrip()}…"


def _hit(hit: Hit, why: bool, others: _Beside, screen: Screen) -> None:
    record = hit.record
    head = _mark(record.number, screen)
    doubt = ", unconfirmed" if record.status == "candidate" else ""
    doubt += f", {LABEL}," if suspect(record) else ""
    screen.line(f"{head} {hit.score:.2f} {record.kind}{doubt} {_day(record.times.at)} {one_line(record.text)}")
    for told in _relations(hit, others):
        screen.line(f"    {one_line(told)}", "dim")
    if why:
        factors = " × ".join(f"{name} {value:.2f}" for name, value in hit.why.items())
        screen.line(f"    {one_line(factors)}", "dim")
    if why and hit.signals:
        parts = (f"{each.name} {each.value:.2f} → {each.contribution:+.2f}" for each in hit.signals)
        total = sum(each.contribution for each in hit.signals)
        screen.line(f"    {one_line(', '.join(parts))}; sum {total:+.2f}", "dim")


def _explained(result: Result, screen: Screen) -> None:
    found: Recall = result.value
    for step in found.trace:
        dropped = f", dropped {len(step.dropped):,}" if step.dropped else ""
        note = f"; {one_line(step.note)}" if step.note else ""
        screen.line(f"{step.stage}: kept {step.kept:,}{dropped} in {step.ms:.1f} ms{note}")
    _recalled(replace(result, why=True), screen)


def _context(result: Result, screen: Screen) -> None:
    context: Context = result.value
    if context.text:
        screen.verbatim(context.text)
    else:
        nothing = f"nothing for a prompt from {result.scope}: {one_line(context.empty_because or 'nothing fits')}"
        if context.empty_because and result.verb == "receipt":
            nothing = one_line(context.empty_because)
        aside(settings.off_because() or nothing)


def _said(result: Result, screen: Screen) -> None:
    screen.line(safe(str(result.value)))


# ---------------------------------------------------------------- looking


def _record(result: Result, screen: Screen) -> None:
    for place, record in enumerate(result.value if isinstance(result.value, list) else [result.value]):
        if place:
            screen.line()
        _whole(record, screen)


def _whole(record: Record, screen: Screen) -> None:
    screen.line(f"{_mark(record.number, screen)} {record.kind} in {one_line(record.scope)}")
    for name, value in _facts(record):
        screen.line(f"{screen.styled(f'{name}:', 'dim')} {one_line(value)}")
    screen.line()
    screen.verbatim(record.text)
    if steps := procedure_of(record.data, record.kind):
        screen.line()
        for line in steps.lines():
            screen.line(one_line(line))


def _facts(record: Record) -> list[tuple[str, str]]:
    times, said, counted = record.times, record.provenance, record.counters
    where = {"session": said.session, "role": said.role, "speaker": said.speaker, "agent": said.agent}
    votes = f"{counted.up} up, {counted.down} down, used {counted.used}, said again {counted.strength}"
    facts = {
        "id": f"{record.id}, version {record.version}",
        "title": record.title,
        "tags": ", ".join(record.tags),
        "files": ", ".join(record.files),
        **_structure(record),
        "state": f"{record.state}: {record.reason}" if record.reason else record.state,
        "status": f"{record.status}{', pinned' if record.pinned else ''}{f', {LABEL}' if suspect(record) else ''}",
        "worth": f"importance {record.importance:g}, confidence {record.confidence:g}, {votes}",
        "from": f"{record.origin} ({record.trust} trust), {said.actor} through {said.surface}",
        **where,
        "task": said.task,
        "messages": " to ".join(map(str, dict.fromkeys(said.messages or ()))),
        "said as": said.snippet,
        "confidence because": grounds(record),
        "season": record.season,
        "happened": minute(times.at),
        "stored": minute(times.created),
        "holds from": times.valid_from and minute(times.valid_from),
        "holds until": times.valid_to and minute(times.valid_to),
        "superseded by": record.superseded_by,
    }
    return [(name, value) for name, value in facts.items() if value]


def _structure(record: Record) -> dict[str, str | None]:
    """What its data says: its triggers, the name of a procedure, whose steps stand below, and the rest as it is."""
    steps = procedure_of(record.data, record.kind)
    named = {TRIGGERS, *(("name", *PARTS_OF_PROCEDURE) if steps else ())}
    others = {name: value for name, value in record.data.items() if name not in named}
    told = {"procedure": steps.name if steps else None, "comes up at": ", ".join(said_in(record.data))}
    return {**told, "data": str(plain(others)) if others else None}


def _records(result: Result, screen: Screen) -> None:
    records: Sequence[Record] = result.value
    rows = [(f"[id:{r.number}]", r.kind, _day(r.times.at), r.scope, _marked(r)) for r in records]
    screen.rows(("id", "kind", "happened", "scope", "text"), rows)
    if not records:
        aside(f"no memory fits; {_reach(result.memory)}")
        if elsewhere := result.memory._whose().get("elsewhere"):
            aside(elsewhere)


def _reach(memory: "Memory") -> str:
    """The places that were searched, in words."""
    reads = memory.access.reads
    named = ["every project" if scope == EVERY_PROJECT else scope for scope in reads if scope != "*"]
    if "*" in reads:
        named.append("what belongs to no project, such as global")
    return f"this access reads {' and '.join(filter(None, (', '.join(named[:-1]), *named[-1:]))) or 'nothing'}"


def _marked(record: Record) -> str:
    marks = (
        (record.pinned, "pinned"),
        (record.status == "candidate", "unconfirmed"),
        (record.state != "active", record.state),
        (suspect(record), LABEL),
    )
    said = ", ".join(word for holds, word in marks if holds)
    tags = "".join(f" #{tag}" for tag in record.tags)
    return f"{f'({said}) ' if said else ''}{record.text}{tags}"


def _links(result: Result, screen: Screen) -> None:
    links: Sequence[Link] = result.value
    known = by_id(result.memory, [id for link in links for id in (link.a, link.b)])
    asked = result.memory._must_get(result.arguments["id"]).id
    rows = [_link(link, asked, known) for link in links]
    screen.rows(("memory", "relation", "memory", "weight", "the other one", "evidence"), rows)
    if not links:
        aside("this memory is related to no other")


def _link(link: Link, asked: str, known: Mapping[str, Record]) -> Sequence[str]:
    """Both sides, because a relation may have a direction; the text is that of the other one."""
    a, b = (f"[id:{known[id].number}]" if id in known else id for id in (link.a, link.b))
    other = known.get(link.b if link.a == asked else link.a)
    return a, link.kind, b, f"{link.weight:g}", other.text if other else "", link.evidence or ""


def _near(result: Result, screen: Screen) -> None:
    """Neighbouring memories, and the way each was reached."""
    hits: Sequence[Hit] = result.value
    others = _Beside({}, {hit.id: hit.record for hit in hits}, {})
    for hit in hits:
        _hit(hit, result.why, others, screen)
        way = " · ".join(f"{name} {value:.2f}" for name, value in hit.why.items())
        if result.verb != "similar" and way and not result.why:
            screen.line(f"    {one_line(way)}", "dim")
    if not hits:
        aside(NOTHING_NEAR[result.verb])


NOTHING_NEAR = {
    "related": "nothing hangs together with this memory",
    "path": "no short chain of links, tags or names connects these two",
    "similar": "no memory here is much like this one",
}
NAMED_AT_ONCE = 200  # ids in one question, which may have to fit into a URL


def by_id(memory: "Memory", ids: Iterable[str]) -> dict[str, Record]:
    """Readable memories by id, in whatever state; any number of them."""
    some = parts(list(dict.fromkeys(ids)), NAMED_AT_ONCE)
    found = (
        memory.list({"id": {"$in": each}, "state": {"$in": [*get_args(State)]}}, limit=NAMED_AT_ONCE) for each in some
    )
    return {record.id: record for records in found for record in records}


def _aliases(result: Result, screen: Screen) -> None:
    words: Mapping[str, Sequence[str]] = result.value
    screen.rows(("word", "also finds"), [(word, ", ".join(others)) for word, others in words.items()])


def _events(result: Result, screen: Screen) -> None:
    events: Sequence[Event] = result.value
    rows = [(str(e.seq), minute(e.at), e.verb, _who(e), e.because or "", e.batch) for e in events]
    screen.rows(("event", "when", "what", "who", "because", "batch"), rows)


def _log(result: Result, screen: Screen) -> None:
    events: Sequence[Event] = result.value
    known = by_id(result.memory, (event.record for event in events))
    numbers = {id: f"[id:{record.number}]" for id, record in known.items()}
    rows = [
        (str(e.seq), minute(e.at), numbers.get(e.record, ""), e.verb, _who(e), e.because or "", e.batch) for e in events
    ]
    screen.rows(("event", "when", "memory", "what", "who", "because", "batch"), rows)
    if not events:
        unknown = [verb for verb in result.arguments.get("verbs", ()) if verb not in EVENTS]
        verbs = f"; verbs are {', '.join(EVENTS)}" if unknown else ""
        aside(f"no event fits; {_reach(result.memory)}{verbs}")


def _asked(result: Result, screen: Screen) -> None:
    """One line of the recall log, in the columns of `log`."""
    told: Mapping[str, Any] = result.value
    found = _injected(told, result.memory) if told["in_prompt"] else memories(told["results"])
    found += f" for: {told['query']}" if told["query"] else ""
    who = f"{told['actor']} through {told['surface']}"
    screen.rows((), [("", minute(told["at"]), "", result.verb, who, found, told["receipt"])])


SHORT_SESSION = 8  # characters that tell one session from another


def _injected(told: Mapping[str, Any], memory: "Memory") -> str:
    """Who was told, where, at what cost, and from which memories."""
    session, known = told["session"], by_id(memory, told["ids"])
    where = "in a prompt"
    if session is not None:
        short = session if len(session) <= SHORT_SESSION else f"{session[:SHORT_SESSION]}…"
        where = f"{told['actor']} at {'a prompt' if told['query'] else 'the start'} of session {short}"
    marks = " ".join(f"[id:{known[id].number}]" if id in known else id for id in told["ids"])
    cost = counted(told["tokens"], "token{}")
    return f"told {where}: {f'{cost} from {marks}' if marks else 'nothing'}"


def _who(event: Event) -> str:
    return f"{event.actor} through {event.surface}"


# ---------------------------------------------------------------- several at once

SHOWN_AT_MOST = 20
CHANGED = {"stale": "changed since", "unverifiable": "is not there, or cannot be read"}
BESIDE = 60  # characters of a related memory beside an answer
UNCONFIRMED = {"status": "candidate", "trust": "low"}
DERIVED = "derived from"  # how the reason begins when a memory goes with another
WHOLE_VALUES = (
    "no memory fits that filter, which compares whole values; `memorist recall` finds memories by their words"
)
DRY = {verb: f"would be {verb}" for verb in ("forgotten", "erased", "rescanned")}


def _reports(result: Result, screen: Screen) -> None:
    for report in result.value:
        _report(report, result.memory, screen)
    if not result.value:
        screen.line("this design has nothing to keep in order")
    if settings.load().prune_schedule:
        aside("prune_schedule starts nothing by itself; `memorist upkeep --watch` stays and keeps it")


def _report(report: Report, memory: "Memory", screen: Screen) -> None:
    word = DRY.get(report.verb, f"{report.verb}, dry run") if report.dry_run else report.verb
    said = screen.styled("needs consent", "bad") if report.pending else screen.styled(word, "good")
    batch = f", batch {report.batch}" if report.batch else ""
    counted = memories(len(report.changed)) if report.rows is None else f"{report.rows:,} parts of memories"
    counted += _derived(report)
    screen.line(f"{said}: {counted}{batch}")
    if report.dry_run:
        _would_change(report, memory, screen)
    _left(report.left, screen)
    if report.advice:
        screen.line(f"  {one_line(report.advice)}", "dim")
    if report.verb == "night" and report.batch:
        screen.line(f"  `memorist undo {report.batch}` takes all of it back")


def _nothing_fits(report: Report, given: Mapping[str, Any]) -> None:
    if given.get("where") and not (report.changed or report.left or report.pending):
        aside(WHOLE_VALUES)


def came_along(report: Report) -> str:
    """What a checkout brought along after it was moved or got a remote."""
    told, back = report.changed[0].because, f"`memorist undo {report.batch}` takes that back"
    return f"{memories(len(report.changed))} came along: {told}; {back}"


def _derived(report: Report) -> str:
    count = sum(each.because.startswith(DERIVED) for each in report.changed)
    return f", {count:,} of them derived from others" if count else ""


def _left(left: Mapping[str, str], screen: Screen) -> None:
    """What was left, counted by reason; derived memories are named, because a person may want to look at them."""
    listed = {id: why for id, why in left.items() if why.startswith(DERIVED)}
    for id, why in listed.items():
        screen.line(f"  left as it was: {id}, {one_line(why)}")
    for reason, count in Counter(why for id, why in left.items() if id not in listed).items():
        screen.line(f"  left as it was: {one_line(reason)}" + (f" ({memories(count)})" if count > 1 else ""))


def _would_change(report: Report, memory: "Memory", screen: Screen) -> None:
    from memorist.remember.merge import SAYS_SAME

    some = report.changed[:SHOWN_AT_MOST]
    ids = [each.id for each in some]
    readable = memory.list({"id": {"$in": ids}, "state": {"$ne": "erased"}}) if some else []
    texts = {record.id: record.text for record in readable}
    if report.verb == "rescanned":  # the text contains what must not be shown
        texts = {each.id: each.because for each in some}
    for each in some:
        told = f" ({each.because})" if each.because.startswith((DERIVED, SAYS_SAME)) else ""
        screen.line(f"  [id:{each.number}] {one_line(texts.get(each.id, ''))}{told}")
    if len(report.changed) > SHOWN_AT_MOST:
        screen.line(f"  and {len(report.changed) - SHOWN_AT_MOST:,} more")


def _reviewed(result: Result, screen: Screen) -> None:
    if not isinstance(result.value, list) or (result.value and result.arguments.get("decide")):
        return _decided(result, screen)
    questions: Sequence[Pending] = result.value
    said = [each.summary + (f" ({each.danger})" if each.danger else "") for each in questions]
    rows = [(q.id, minute(q.at), q.actor, what, q.because) for q, what in zip(questions, said, strict=True)]
    screen.rows(("question", "asked", "by", "what", "because"), rows)
    how = "`memorist review ID --decide approve` does it, `--decide deny` drops it; the ID `all` means all of them"
    aside(how if questions else "nothing waits for a decision")
    unconfirmed = result.memory.count(UNCONFIRMED)
    if unconfirmed and not result.arguments.get("id"):
        aside(
            f"{memories(unconfirmed)} nobody vouches for; `memorist review BATCH --decide approve` confirms an import"
        )


def _decided(result: Result, screen: Screen) -> None:
    """What became of each question, and the memory it was about."""
    done = result.value if isinstance(result.value, list) else [result.value]
    for each in done:
        _changed(replace(result, value=each), screen)
        if isinstance(each, Outcome) and each.record:
            screen.line(f"  {one_line(each.record.text)}")


def _gaps(result: Result, screen: Screen) -> None:
    found: Sequence[Gap] = result.value
    for each in found:
        known = f"answered by [id:{each.answer.number}]" if each.answer else "open"
        said = screen.styled(f"({_day(each.record.times.updated)}, {known}, asked {each.asked:,} times)", "dim")
        screen.line(f"{_mark(each.record.number, screen)} {said} {one_line(each.question)}")
    if not found:
        aside("no question that found nothing is kept here; designs with `associates = true` keep them")


def _conflicts(result: Result, screen: Screen) -> None:
    """Both sides, each with its date and its origin, and why they contradict each other."""
    found: Sequence[Dispute] = result.value
    for each in found:
        screen.line(f"{screen.styled(each.kind, 'bad')}, {each.severity}: {one_line(each.reason)}")
        for record in (each.a, each.b):
            said = screen.styled(f"({_day(record.times.stated)}, {record.origin})", "dim")
            screen.line(f"  {_mark(record.number, screen)} {said} {one_line(record.text)}")
    how = "`memorist resolve A B KEEP` says which one holds; KEEP is its number, or both"
    aside(how if found else "no memories are known to contradict each other")


def _extracted(result: Result, screen: Screen) -> None:
    outcomes: Sequence[Outcome] = result.value
    for outcome in outcomes:
        record = outcome.record
        said = f"[id:{record.number}] {record.kind}: {one_line(record.text)}" if record else one_line(outcome.because)
        screen.line(f"{screen.styled(outcome.outcome, 'good' if record else 'bad')} {said}")
    _advised(outcomes, screen)
    kept = sum(outcome.record is not None for outcome in outcomes)
    found = "nothing was found" if not outcomes else "1 finding" if kept == 1 else f"{kept} findings"
    if kept or not outcomes:
        screen.line(f"{found}; `memorist promote` weighs them", "dim")


def _promoted(result: Result, screen: Screen) -> None:
    """One memory; or the findings, and what each needs to be promoted."""
    if isinstance(result.value, Outcome):
        return _changed(result, screen)
    findings: Sequence[Weighed] = result.value
    for each in findings:
        word = screen.styled(each.outcome, "good" if each.outcome in ("promoted", "enough", "asked") else "dim")
        counted = f"{each.points:>2} {'point' if each.points == 1 else 'points'}"
        screen.line(f"{_mark(each.number, screen)} {counted}, {word}: {one_line(each.text)}")
        screen.line(f"  {one_line(each.because)}", "dim")
    if not findings:
        screen.line(f"no findings wait for {one_line(result.scope)}; `memorist extract` finds some in a text")


def _compacted(result: Result, screen: Screen) -> None:
    before, after = result.value["before"], result.value["after"]
    screen.line(f"{screen.styled('compacted', 'good')}: {before:,} bytes before, {after:,} now")


# ---------------------------------------------------------------- keeping


def _audit(result: Result, screen: Screen) -> None:
    audit: Audit = result.value
    word = screen.styled("ok", "good") if audit.ok else screen.styled("WRONG", "bad")
    screen.line(f"{word}: {audit.events:,} events, {audit.records:,} records")
    for problem in audit.problems:
        screen.line(f"  {one_line(problem)}")


def _status(result: Result, screen: Screen) -> None:
    for name, value in result.value.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{scope} {count:,}" for scope, count in value.items()) or "none"
        said = f"{value:,}" if isinstance(value, int) else str(value)
        screen.line(f"{screen.styled(name.replace('_', ' ') + ':', 'dim')} {one_line(said)}")


def _findings(result: Result, screen: Screen) -> None:
    findings: Sequence[Diagnosis] = result.value
    for finding in findings:
        word = screen.styled("ok   ", "good") if finding.ok else screen.styled("WRONG", "bad")
        screen.line(f"{word}  {finding.check}: {one_line(finding.detail)}")
        if finding.advice and not finding.ok:
            screen.line(f"       {one_line(finding.advice)}")


# ---------------------------------------------------------------- words


def _mark(number: int, screen: Screen) -> str:
    return screen.styled(f"[id:{number}]", "mark")


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


_SHOWN: Mapping[str, Callable[[Result, Screen], None]] = {
    "remember": _remembered,
    "recall": _recalled,
    "explain": _explained,
    "context": _context,
    "receipt": _context,
    "why_not": _said,
    "count": _said,
    "aliases": _aliases,
    "get": _record,
    "list": _records,
    "timeline": _records,
    "links": _links,
    **dict.fromkeys(NOTHING_NEAR, _near),
    "conflicts": _conflicts,
    "gaps": _gaps,
    "history": _events,
    "log": _log,
    "recalled": _asked,
    "audit": _audit,
    "status": _status,
    "doctor": _findings,
    "upkeep": _reports,
    "compact": _compacted,
    "review": _reviewed,
    "extract": _extracted,
    "promote": _promoted,
}
