"""Findings and their promotion: moving a memory to a scope where more queries find it.

A finding was found by rules in a text of a session (`extract.py`). It is a memory like any other: it passes the gate, is
redacted and journalled, and can be undone. It is in the scope of its session, and its data names the rule that found it and
the project it is for (`home`), so one project never gets what was found while working on another.

Signals give a finding points; a preset sets how many it needs, and which findings are too short or unimportant to count.
Findings that say the same in other words are one finding, so hearing it in a second session counts (`text/twins.py`).
Repetition raises the points, never the trust. A finding is not promoted if its project already says the same, or if the same
was forgotten, revised or undone.

Findings with enough points go to their project: proposed by upkeep, or after a person agreed; those promoted automatically
stay candidates. An explicit call moves any memory: a task's lesson to its project, a project's pattern to `global`. At the end
of a task or session the caller keeps the memories they name or have pinned; the rest goes to the archive, in the same batch,
so one `undo` reopens the task as it was. Nothing is kept just because it looks important. Findings keep waiting after their
session has ended. If a project has switched this off, nothing is looked for.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memorist import checks
from memorist.access import GLOBAL, Access, family_of
from memorist.design import Ask, Promotion, Proposal, Tools
from memorist.errors import Invalid, Refused
from memorist.kinds import ARCHIVE, MEMORY
from memorist.lazy import dataclass
from memorist.noun import Noun, line
from memorist.records import Draft, Origin, Outcome, Record, Report, Scope
from memorist.redact import replaced
from memorist.remember import consent, edit, gate
from memorist.remember.authority import RANK, Held, least, users_word
from memorist.remember.changes import Caller, same_texts
from memorist.store.choices import Choices, chosen
from memorist.store.nouns import Shelf
from memorist.store.where import Order, Where
from memorist.text.restated import earlier_duplicates, same_claim
from memorist.text.visible import quoted
from memorist.text.words import query_terms

if TYPE_CHECKING:
    from memorist.remember.extract import Finding

PromotionMode = Literal["manual", "propose", "auto", "direct"]
TOLD_IF_SO = ("resolved", "asked_for")  # in a finding's data, if true
TOLD = ("rule", "home", "subject", "worked", *TOLD_IF_SO, "agents")  # the keys that mark a finding's data
FINDINGS_AT_MOST = 10_000  # weighed at once, newest first
POINTS: Mapping[str, int] = {
    "user-intent": 5,
    "explicit-pin": 5,
    "multi-session": 2,
    "error-resolution": 2,
    "multi-agent": 1,
    "high-importance": 1,
}
HIGH_IMPORTANCE = 0.7
ALIKE_AT_MOST = 10  # memories of a project that are compared with one finding
MAY_COME_BACK = ("expired", "evicted", "pruned")  # reasons set by upkeep: no person rejected it
CLAIMED = "an agent says that the user asked for it"
DECLINED = "a person did not want it kept"
STAY = ("project", "user", "global")  # scope families that do not end
ENDING = ("task", "session")  # families whose end needs nobody's consent
FINISHED = "finished"
BY_MODEL = "a model's reading"  # in place of the rule, for a finding that a model made
WAITS = "a finding, which waits to be promoted"


# ---------------------------------------------------------------- findings


class Overheard(NamedTuple):
    """A text in which rules look for what is worth keeping: who said it, its number, and who heard it."""

    text: str
    role: str | None
    agent: str | None
    message: int | None
    by: Caller
    found: "Sequence[Finding] | None" = None  # what a model found; None: rules look
    read: bool = False  # a model has read it, so of the rules' findings only what a person asked for counts


def keep_all(
    heard: Sequence[Overheard], session: str | None, home: str, mode: PromotionMode = "manual", batch: str | None = None
) -> list[Outcome]:
    """Stores the findings of what one actor heard in a session, in one transaction, as unconfirmed candidates, in the order of
    the texts. In the mode `direct` they go to `home` itself, where any query finds them at once, and in the mode `propose` what
    a person typed does; all else stays in the session until it is promoted."""
    if session is None:
        raise Invalid("session is missing: findings belong to the session they were found in, such as session='s1'")
    if not heard:
        return []
    scope, by = Scope(f"session/{checks.label(session, 'the session')}"), heard[0].by
    by.access.must_write(home, by.access.home_of(home))  # findings are for there
    project = by.access.home_of(home) or home
    if not looks(home, by):
        return [Outcome("refused", f"findings are switched off for {project}; `/memory auto on` switches them on")]
    common = Draft("", scope=scope, session=session, doubtful=True)
    found = [(draft, finder, each) for each in heard for draft, finder in _drafts(each, common, home, mode)]
    outcomes = gate.admit_each([(draft, finder) for draft, finder, _ in found], home, batch)
    return [
        _also_by(draft.agent, _told(outcome, draft, each), finder)
        for (draft, finder, each), outcome in zip(found, outcomes, strict=True)
    ]


def _told(outcome: Outcome, draft: Draft, heard: Overheard) -> Outcome:
    """Tells of the secrets that were replaced before rules looked."""
    told = replaced([heard.text], [draft.text, draft.snippet or ""]) if outcome else None
    return replace(outcome, advice="; ".join(filter(None, (told, outcome.advice)))) if told else outcome


def looks(home: str, by: Caller) -> bool:
    """Whether anything is looked for there; False if that is switched off."""
    return chosen(by.store, by.access.space, by.access.home_of(home) or home).auto is not False


def _drafts(heard: Overheard, common: Draft, home: str, mode: PromotionMode) -> Iterator[tuple[Draft, Caller]]:
    """What rules find in it, and the door through which it is kept."""
    from memorist.remember.extract import extract  # its rules take a while to load

    if heard.message is not None:
        checks.whole(heard.message, "message", 0, 1 << 53)
    span = None if heard.message is None else (heard.message, heard.message)
    said = replace(common, role=heard.role, agent=heard.agent, messages=span)
    finder = heard.by.through(replace(heard.by.access, origin=_origin(heard.role, heard.by.access)))
    found = heard.found
    if found is None:
        role = checks.optional_label(heard.role, "the role")
        rules = extract(heard.by.writer.redact(checks.text(heard.text)), role, reads=heard.by.tools.reads)
        found = [each for each in rules if each.asked_for or not heard.read]
    for each in found:
        passed_on = mode == "direct" or (
            mode == "propose" and each.typed and RANK[finder.access.origin] >= RANK["recorded"]
        )
        yield _filled(replace(said, scope=home) if passed_on else said, each, home), finder


def _filled(common: Draft, found: "Finding", home: str) -> Draft:
    told = {"rule": found.rule, "home": home, "subject": found.subject, "worked": found.worked}
    marks = {name: True for name in TOLD_IF_SO if getattr(found, name)}
    return replace(
        common,
        text=found.text,
        kind=found.kind,
        files=found.files,
        data={name: value for name, value in told.items() if value is not None} | marks,
        importance=found.relevance,
        confidence=found.confidence,
        snippet=found.snippet or None,
        confidence_because=f"found by a {'model' if found.rule == BY_MODEL else 'rule'}: {found.rule}",
    )


def _origin(role: str | None, who: Access) -> Origin:
    """A finding is trusted like the text it is from, and never as the user's own statement: the role may lower the origin, and
    nothing raises it."""
    return least("recorded", gate.origin_of("turn", role, who))


def _also_by(agent: str | None, outcome: Outcome, by: Caller) -> Outcome:
    """Adds the agent to a finding that the same session already has, because two agents count for more."""
    known = outcome.record
    if agent is None or known is None or outcome.outcome != "reinforced" or agent in agents_of(known):
        return outcome
    if RANK[by.access.origin] < RANK[known.origin]:
        return outcome

    def add(record: Record) -> Record:  # others may have been added since it was found
        return replace(record, data={**record.data, "agents": sorted({*agents_of(record), agent})})

    edited = edit.edit(lambda: by.store.get([known.id], by.where)[0], "found again", add, by, f"found by {agent} too")
    return replace(outcome, record=edited.record)


def agents_of(record: Record) -> set[str]:
    named = record.data.get("agents")
    more = [each for each in named if isinstance(each, str)] if isinstance(named, list | tuple) else []
    return {each for each in (record.provenance.agent, *more) if each}


def findings(home: str | None, who: Access, tools: Tools) -> list[Record]:
    found = _found(Where(who) if home is None else Where(who).also("data.home", "eq", home), tools)
    # What is not for the project of its session, upkeep promotes for no other, whatever it says.
    return [record for record in found if home is not None or record.data.get("home") == record.home]


def _found(where: Where, tools: Tools) -> list[Record]:
    """The newest of them, oldest first: where nothing expires, old findings must not keep new ones from being weighed."""
    where = where.also("state", "eq", "active").also("status", "eq", "candidate")
    where = where.also("data.rule", "ne", None).also("data.home", "ne", None)
    found = tools.store.find(where, Order("created"), FINDINGS_AT_MOST)
    return [record for record in reversed(found) if is_finding(record)]


def is_finding(record: Record) -> bool:
    home = record.data.get("home")
    if Scope(record.scope).family != "session" or not isinstance(home, str) or home == "global" or not _is_scope(home):
        return False
    # What was found in one project never becomes a memory of another, whatever its data says.
    return Scope(home).family != "project" or home == record.home


def _is_scope(name: str) -> bool:
    try:
        Scope(name)
    except Invalid:
        return False
    return True


# ---------------------------------------------------------------- points


@dataclass(frozen=True, slots=True)
class Preset:
    """What promotion requires: points, and the hard filters that come first."""

    points: int
    importance: float
    length: int


PRESETS: Mapping[str, Preset] = {
    "conservative": Preset(4, 0.4, 50),
    "balanced": Preset(3, 0.25, 30),
    "aggressive": Preset(2, 0.15, 20),
}


Worked = dict[str, dict[str, tuple[datetime, int]]]  # project → command → when it last worked


@dataclass(frozen=True, slots=True, repr=False)
class Weighed(Noun):
    """A finding with its points, and what happened to it. `others` say the same and were found elsewhere."""

    id: str
    number: int
    kind: str
    text: str
    scope: str  # where it would go
    points: int
    signals: tuple[str, ...]
    sessions: int
    agents: int
    outcome: Literal["waits", "enough", "known", "asked", "promoted", "left"]
    because: str
    others: tuple[str, ...] = ()
    pending: str | None = None  # the question that waits for a person

    def _line(self) -> str:
        return f"[id:{self.number}] {self.kind}, {_counted(self.points)}, {self.outcome}: {line(self.text)}"


def weighed(promotion: Promotion, home: str | None, who: Access, tools: Tools) -> list[Weighed]:
    """Every finding for that project, or for all, with its points; most points first."""
    found = findings(home, who, tools)
    worked = _worked(found)
    homes = {str(record.data["home"]) for record in found}
    choices = {scope: chosen(tools.store, who.space, scope) for scope in homes}
    presets = {scope: preset_named(choices[scope].preset or promotion.preset) for scope in homes}
    answers = [
        _unless_doubtful(_weigh(group, worked, presets[str(group[0].data["home"])]), group[0], promotion)
        for group in _groups(found, tools.over)
    ]
    known = [
        _later(each) if tools.over() else _unless_unwanted(each, choices[each.scope], who, tools) for each in answers
    ]
    return sorted(known, key=lambda each: (-each.points, each.number))


def _worked(found: Iterable[Record]) -> Worked:
    """For each project: the commands that worked, and when they last did."""
    worked: Worked = {}
    for record in found:
        if record.data.get("worked") is True:
            commands = worked.setdefault(str(record.data["home"]), {})
            commands[str(record.data.get("subject"))] = (record.times.created, record.number)  # the oldest come first
    return worked


def preset_named(name: str) -> Preset:
    if name not in PRESETS:
        raise Invalid(f"there is no preset {quoted(name)}; presets are {', '.join(PRESETS)}")
    return PRESETS[name]


def _groups(found: Sequence[Record], over: Callable[[], bool]) -> list[list[Record]]:
    """Findings that say the same, for the same project and with the same trust: an untrusted text must neither borrow the
    points of a trusted one nor lend it its doubts. Each is compared with the first of a group, so that meanings cannot drift.
    As many as time allows, oldest first."""
    in_time = takewhile(lambda _: not over(), found)
    places = earlier_duplicates((record.text, (str(record.data["home"]), record.trust)) for record in in_time)
    groups: dict[int, list[Record]] = {}
    for at, place in enumerate(places):
        groups.setdefault(at if place is None else place, []).append(found[at])
    return list(groups.values())


def _weigh(group: Sequence[Record], worked: Worked, preset: Preset) -> Weighed:
    best = max(group, key=lambda record: (_asked_for(record), record.importance, -record.number))
    signals = tuple(name for name in POINTS if _SIGNALS[name](group, worked))
    points = sum(POINTS[name] for name in signals)
    because, told = _short_of(best, signals, points, preset), f"{_counted(points)}: {', '.join(signals)}"
    if any(map(_claimed, group)):
        because, told = None, CLAIMED
    sessions = {record.provenance.session for record in group} - {None}
    return Weighed(
        best.id, best.number, best.kind, best.text, str(best.data["home"]), points, signals, len(sessions),
        len(set().union(*map(agents_of, group))), "waits" if because else "enough",
        because or told,
        tuple(record.id for record in group if record.id != best.id),
    )  # fmt: skip


def _unless_doubtful(found: Weighed, first: Record, promotion: Promotion) -> Weighed:
    """No number of points promotes an untrusted finding automatically: a page read by a tool may stage its own success."""
    vouched = first.trust != "low" and found.because != CLAIMED
    if found.outcome != "enough" or vouched or promotion.mode != "auto":
        return found
    because = f"{found.because}, but nobody vouches for it; a person may promote it by its number"
    return replace(found, outcome="waits", because=because)


def _short_of(record: Record, signals: Sequence[str], points: int, preset: Preset) -> str | None:
    """What it lacks. A request to remember something is exempt from the filters."""
    if "user-intent" in signals:
        return None
    if len(record.text) < preset.length:
        return f"{len(record.text)} characters; {preset.length} are needed"
    if record.importance < preset.importance:
        return f"importance {record.importance:g}; {preset.importance:g} is needed"
    told = f" ({', '.join(signals)})" if signals else ""
    return f"{_counted(points)}{told}; {preset.points} are needed" if points < preset.points else None


def _counted(points: int) -> str:
    return "1 point" if points == 1 else f"{points} points"


def _asked_for(record: Record) -> bool:
    """Whether the user asked to keep it: only a door that the user speaks through can tell."""
    return record.data.get("asked_for") is True and record.origin in ("user", "recorded")


def _claimed(record: Record) -> bool:
    """Whether another door claims that the user asked for it. That may be proposed, but is never promoted automatically."""
    said = record.provenance.role == "user" and record.data.get("asked_for") is True
    return said and not _asked_for(record) and record.trust != "low"


def _repeated(group: Sequence[Record], sources: Iterable[Any]) -> bool:
    """Whether two sources said it. An untrusted text gains nothing by repetition: that is how poison would spread."""
    return group[0].trust != "low" and len(set(sources)) >= 2


def _resolved(group: Sequence[Record], worked: Worked) -> bool:
    """Whether an error was resolved: the same command, or one on the file that failed, worked later."""
    from memorist.remember.extract import works_for  # its rules take a while to load

    commands = worked.get(str(group[0].data["home"]), {})
    errors = [record for record in group if record.kind == "error"]
    return any(
        error.data.get("resolved") is True
        or any(
            when > (error.times.created, error.number) and works_for(error.data.get("subject"), error.files, command)
            for command, when in commands.items()
        )
        for error in errors
    )


_SIGNALS: Mapping[str, Callable[[Sequence[Record], Worked], bool]] = {
    "user-intent": lambda group, _: any(map(_asked_for, group)),
    "explicit-pin": lambda group, _: any(record.pinned and record.trust != "low" for record in group),
    "multi-session": lambda group, _: _repeated(group, (r.provenance.session for r in group if r.provenance.session)),
    "error-resolution": _resolved,
    "multi-agent": lambda group, _: _repeated(group, (agent for record in group for agent in agents_of(record))),
    "high-importance": lambda group, _: any(record.importance >= HIGH_IMPORTANCE for record in group),
}


def _later(found: Weighed) -> Weighed:
    """Time is up, so what its project says was not checked."""
    because = f"{found.because}, but there was no time to look at what is known"
    return replace(found, outcome="waits", because=because) if found.outcome == "enough" else found


def _unless_unwanted(found: Weighed, choices: Choices, who: Access, tools: Tools) -> Weighed:
    """Holds a finding back where promotion is off, or where its project says the same or rejected it."""
    if found.outcome != "enough":
        return found
    if choices.auto is False:
        return replace(found, outcome="waits", because=f"{found.because}, but promotion is off for {found.scope}")
    shelves = [Shelf(who.space, found.scope, layer, who.home_of(found.scope)) for layer in (MEMORY, ARCHIVE)]
    where = Where(who).also("scope", "eq", found.scope)
    terms = query_terms(found.text)
    matched = tools.store.match(terms, shelves, where, ALIKE_AT_MOST)
    for other in tools.store.get(list(matched.scores), where):
        by_upkeep = other.state == "archived" and (other.reason or "").startswith(MAY_COME_BACK)
        if by_upkeep or not same_claim(found.text, other.text):
            continue
        what = "says so already" if other.state == "active" else f"said so and is {other.state} ({other.reason})"
        return replace(found, outcome="known", because=f"memory {other.number} {what}")
    return found


# ---------------------------------------------------------------- promoting


def all_of(promotion: Promotion, home: str, by: Caller, dry_run: bool = False) -> tuple[list[Weighed], Report | None]:
    """Weighs the findings of a project, and shows, asks about or moves those with enough points, as the design says."""
    target = by.access.must_write(home, by.access.home_of(home))
    if target == GLOBAL:
        raise Invalid("nothing is promoted to global automatically; name the memory to promote")
    answers = weighed(promotion, target, by.access, by.tools)
    if dry_run or promotion.mode == "manual":
        return answers, None
    if promotion.mode in ("propose", "direct"):  # with `direct`, only another design's findings are left to weigh
        return [ask_for(each, by) if each.outcome == "enough" else each for each in answers], None
    plan = proposal(answers)
    keeper = replace(by, steward=True)  # the design's rules decide, whoever calls
    report = edit.Sweep(plan.verb, plan.edit, plan.because, by.where, keeper).apply(plan.ids)
    moved = {each.id for each in report.changed}
    return [_done(each, moved, report.left) for each in answers], report


def _done(found: Weighed, moved: Set[str], left: Mapping[str, str]) -> Weighed:
    if found.id in moved:
        return replace(found, outcome="promoted")
    return replace(found, outcome="left", because=left[found.id]) if found.id in left else found


def proposal(answers: Sequence[Weighed]) -> Proposal:
    """A proposal that moves every finding with enough points to its project."""
    enough = {each.id: each for each in answers if each.outcome == "enough"}

    def promote(record: Record) -> Record:
        found = enough[record.id]
        if not is_finding(record) or record.state != "active":
            raise Refused(f"memory {record.number} is no longer a finding of a session")
        return _moved(record, found.scope, f"promoted: {found.because}", found.signals)

    def weighed_for(reader: Access) -> str:
        return f"{sum(reader.may_read(each.scope) for each in answers):,} findings were weighed"

    return Proposal("promoted", promote, "promoted: it has enough points", list(enough), weighed_for)


def _moved(record: Record, scope: str, because: str, signals: Sequence[str] = ()) -> Record:
    kept = {name: value for name, value in record.data.items() if name not in TOLD or not is_finding(record)}
    data = {**kept, "signals": list(signals)} if signals else kept
    source = replace(record.provenance, confidence_because=because)
    return replace(record, scope=scope, data=data, provenance=source)


def ask_for(found: Weighed, by: Caller) -> Weighed:
    """Asks a person, in one question for all findings that say the same; approving promotes it."""
    alike = {record.id: record for record in by.store.get([found.id, *found.others], by.where)}
    if found.id not in alike:
        return replace(found, outcome="left", because="it no longer exists")
    queued = by.tools.confirm is None
    with by.writer.transaction() if queued else nullcontext():  # two that weigh at once must not both ask
        versions = {record.id: record.version for record in alike.values()}
        waits = consent.about("promote", found.scope, versions, by) if queued else None
        record = alike[found.id if waits is None else consent.details_of(waits)["id"]]
        details = {
            "id": record.id, "scope": found.scope, "version": record.version, "signals": list(found.signals),
            "others": sorted(alike.keys() - {record.id}),
        }  # fmt: skip
        ask = Ask("promote", f"keep in {found.scope}: {consent.shown_in_question(record.text)}", None, details)
        said = consent.ask(ask, found.scope, found.because, by, by.access.home_of(found.scope), instead=waits)
    return _answered(found, said, details, by)


def _answered(found: Weighed, said: consent.Consent, details: Mapping[str, Any], by: Caller) -> Weighed:
    person = by.with_consent()
    if said.answer == "deny":
        declined(details, person)
    if not said.approved:
        return replace(found, outcome="asked" if said.id else "left", because=said.because, pending=said.id)
    done = approved(details, person)
    return replace(found, outcome="promoted", because=done.because)


def approved(details: Mapping[str, Any], by: Caller) -> Outcome:
    """Promotes what a person agreed to: this memory, in the version they were asked about, to that scope."""

    def find() -> Record:
        found = by.store.get([details["id"]], by.where)
        if not found or found[0].version != details["version"]:
            raise Refused("the memory was changed since the question was asked; deny it, and promote it again")
        return found[0]

    return promote(find, details["scope"], "a person agreed", by, details.get("signals", ()))


def declined(details: Mapping[str, Any], by: Caller) -> None:
    """Forgets a finding that a person declined, and those that say the same, so that they are not asked again."""
    archive = partial(edit.archived, because=DECLINED)
    for found in by.store.get([details["id"], *details.get("others", ())], by.where.also("state", "eq", "active")):
        if is_finding(found) and by.access.may_write(found.scope, found.home):
            edit.edit(partial(edit.newest, found.id, by), "forgotten", archive, by, DECLINED)


def promote(find: edit.Find, scope: str, because: str, by: Caller, signals: Sequence[str] = ()) -> Outcome:
    """Moves a memory to a scope where more questions find it: to `global` only with a person's consent. The user's own call
    makes it the user's word."""
    target = by.access.must_write(scope, by.access.home_of(scope))

    def move(record: Record) -> Record:
        if record.state != "active":
            raise Refused(f"memory {record.number} is {record.state}; restore it before you promote it")
        kind = by.tools.kinds[record.kind]
        if kind.append_only or kind.layer != MEMORY:
            raise Refused(f"memory {record.number} is a {record.kind}, and those cannot be moved")
        said = users_word(record) if by.access.origin == "user" else record
        return said if record.scope == target else _moved(said, target, because, signals)

    def question(held: Held) -> Ask:
        record = held.record
        told = "make known in every project" if target == GLOBAL else f"keep in {target} ({held})"
        details = {"id": record.id, "scope": target, "version": record.version, "signals": list(signals)}
        return Ask("promote", f"{told}: {consent.shown_in_question(record.text)}", None, details)

    return edit.edit(find, "promoted", move, by, because, question)


# ---------------------------------------------------------------- the end of a task or a session


def finish(scope: str, outcome: str, keep: Sequence[Record], target: str, by: Caller, dry_run: bool = False) -> Report:
    """Moves the memories to keep to `target`, then archives the rest but for findings, which still count for others. A memory
    that `target` already says is not moved."""
    home = by.access.home_of(scope)
    ends = _must_end(scope, home, keep, by)
    here = by.where.also("scope", "eq", ends).also("home", "eq", home).also("state", "eq", "active")
    if family_of(ends) == "session":  # the summary of some turns stays, for its view
        here = here.also("data.covers", "eq", None)
    users = _users(here, by)
    wanted = list(dict.fromkeys([*(record.id for record in keep), *_lasting(ends, here, by.tools), *users]))
    because = f"{ends} finished: {outcome}"
    # Without the right to write there, only a task that keeps nothing can end.
    goes_to = by.access.must_write(target, by.access.home_of(target)) if wanted else target
    ender = replace(by, steward=True) if dry_run else _may_end(ends, here, because, by)
    if isinstance(ender, Report):
        return ender
    by = ender
    move = edit.Sweep("promoted", partial(_kept_in, scope=goes_to, because=because), because, here, by)
    clear = edit.Sweep(FINISHED, partial(edit.archived, because=because), because, here, by)
    waiting = {record.id: WAITS for record in _found(here, by.tools) if record.id not in wanted}
    if dry_run:
        saved = move.plan(wanted)
        stay = dict.fromkeys((each.id for each in saved.changed), "kept") | waiting
        rest = clear.plan([id for id in _ids(here, by.tools) if id not in stay])
        return replace(rest, changed=(*saved.changed, *rest.changed), left=waiting)
    report = move.apply(wanted, Report(FINISHED))
    stay = _outranking(users, goes_to, report, by) | waiting
    return clear.apply([id for id in _ids(here, by.tools) if id not in stay], replace(report, left=stay))


def _must_end(scope: str, home: str | None, keep: Sequence[Record], by: Caller) -> str:
    ends = by.access.must_write(scope, home)
    if family_of(ends) in STAY:
        raise Invalid(f"{ends} cannot be finished; finish a task/…, a session/… or a scope family of your own")
    stray = next((record for record in keep if (record.scope, record.home) != (ends, home)), None)
    if stray is not None:
        raise Invalid(f"memory {stray.number} is in {stray.scope}, not in {ends}; promote it separately")
    return ends


def _may_end(scope: str, here: Where, because: str, by: Caller) -> Caller | Report:
    """A task or a session may be ended on behalf of the owner, whoever spoke in it. Ending any other place means clearing it."""
    if family_of(scope) in ENDING or by.access.origin == "user":
        return replace(by, steward=True)
    return consent.to_clear("forget", here, _ids(here, by.tools), because, by)


def _outranking(users: Sequence[str], target: str, report: Report, by: Caller) -> dict[str, str]:
    """What the user said that was not moved because the project says the same in less trusted words: it stays, and is listed
    by id."""
    left = by.store.get([id for id in users if id in report.left], by.where)
    home = by.access.home_of(target)
    twins = {r.id: same_texts(by.store, r.space, target, home, [r.fingerprint]) for r in left}
    return {
        record.id: report.left[record.id]
        for record in left
        if not any(twin.state == "active" and RANK[twin.origin] >= RANK[record.origin] for twin in twins[record.id])
    }


def _lasting(ends: str, here: Where, tools: Tools) -> list[str]:
    """What is pinned, and the summary of a session, which is for later sessions. Neither applies to an untrusted text."""
    lasting = [here.also("pinned", "eq", True)]
    lasting += [here.also("kind", "eq", "summary")] if family_of(ends) == "session" else []
    vouched = ("trust", "ne", "low"), ("status", "eq", "confirmed")
    return [id for each in lasting for clause in vouched for id in _ids(each.also(*clause), tools)]


def _users(here: Where, by: Caller) -> list[str]:
    """What the user said in it, if somebody else ends it; except turns, which stay in their session."""
    if by.access.origin == "user":
        return []
    kinds = by.tools.kinds
    briefs = by.store.briefs(here.also("origin", "in", ("user", "recorded")).also("status", "eq", "confirmed"))
    return [brief.id for brief in briefs if not kinds[brief.kind].append_only and kinds[brief.kind].layer == MEMORY]


def _ids(here: Where, tools: Tools) -> list[str]:
    return [brief.id for brief in tools.store.briefs(here)]


def _kept_in(record: Record, scope: str, because: str) -> Record:
    return replace(record, scope=scope, provenance=replace(record.provenance, confidence_because=because))
