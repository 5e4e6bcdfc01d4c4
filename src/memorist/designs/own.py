"""A user's own design: a TOML file that names a base and what differs from it. It holds no code.

    base = "hebbian"
    reads = ["project", "user", "global"]
    stages = ["understand", "words", "believed", "weigh", "keep_best"]
    [recall.weigh]
    factors = ["recency", "votes"]
    [upkeep.prune]
    max_size = "50 MB"

A key is a field of the stage, job or part, and takes what the field's type and bounds allow (`design.check_of`). A design that
could not work is refused when the file is read, with the file and the key; `text_of` writes any design in this form.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.design import LANES, Check, Design, Lane, check_of
from memorist.designs import DESIGNS, NAME
from memorist.errors import Invalid
from memorist.recall.stages import blend, cascade, gather, judge, keep, lessons, newest, triggered, weigh, words
from memorist.text import toml
from memorist.text.visible import quoted
from memorist.upkeep import clusters, practice, retain, sessions, stale, suggest, tidy, twins

OFF = "off"
FAMILIES = ("task", "session", "project", "user", "global")
STAGES: Mapping[str, type] = {
    "understand": gather.Understand, "recognise": gather.Recognise, "learnt": lessons.Learnt, "words": words.ByWords,
    "gather": gather.Gather, "blend": blend.Blend, "fuse_ranks": blend.FuseRanks,
    "widen": words.Widen, "fields": words.ByFields, "believed": keep.Believed, "weigh": weigh.Weigh,
    "votes": weigh.WeighByVotes, "lessons": lessons.Lessons, "suspect": weigh.Suspect, "abstain": keep.Abstain,
    "drop_unlikely": keep.DropUnlikely, "keep_close": keep.KeepClose,
    "favour": weigh.Favour,
    "rerank": weigh.Rerank, "judge": judge.Judge, "cascade": cascade.Cascade,
    "drop_tail": keep.DropTail, "say_once": keep.SayOnce, "one_voice": keep.OneVoice,
    "mark_conflicts": weigh.MarkConflicts, "newest_first": newest.NewestFirst, "triggered": triggered.Triggered,
    "keep_best": keep.KeepBest,
}  # fmt: skip
JOBS: Mapping[str, type] = {
    job.name: job
    for job in (
        retain.Prune, retain.Settle, retain.Expire, retain.Retain, sessions.RetainSessions, suggest.SuggestAliases,
        stale.StaleSections, twins.MergeTwins, twins.Redundancy, tidy.Contradictions, tidy.Verify, tidy.FadeAway,
        clusters.Clusters, tidy.TagCleanup, practice.SuggestProcedures, tidy.CrossLinks, suggest.TuneLanes,
    )
}  # fmt: skip
NAMES: Mapping[type, str] = {kind: name for name, kind in (*STAGES.items(), *JOBS.items())}
SLOTS = ("budget", "compression", "promotion", "due")  # the other parts of a design, each with a table of its own
INTERNAL = ("name", "optional", "spare")  # fields that a file does not set
BEFORE = ("understand", "recognise", "learnt", "widen")  # these work on the query, all others on hits
FINDS = (["words"], ["fields"], ["gather", "blend"], ["gather", "fuse_ranks"])  # a design finds by exactly one of these


def _keys(kind: type) -> dict[str, tuple["Field[Any]", Check, bool]]:
    """The keys that the table of such a part may have: the field of each, what checks it, and whether it may be "off"."""
    keys = ((each, *check_of(each)) for each in fields(kind) if each.name not in INTERNAL)
    return {each.metadata.get("key", each.name): (each, check, may_be_off) for each, check, may_be_off in keys if check}


# ---------------------------------------------------------------- reading


def load(file: Path) -> Design:
    """The design of a file. Whatever is wrong with it is raised with the file, the key and what is allowed."""
    table = toml.load(file, "a design")
    try:
        return _design(table, file.stem)
    except Invalid as problem:
        raise Invalid(f"{file}: {problem}") from problem


def _design(table: Mapping[str, Any], stem: str) -> Design:
    plain = {each.name: check for each in fields(Design) if (check := check_of(each)[0])}
    _only(table, ("base", *plain, "reads", "stages", "recall", "jobs", "upkeep", "lanes", "lane", *SLOTS), "a design")
    base = DESIGNS[checks.one_of(table.get("base"), "base", tuple(DESIGNS))]
    name = table.get("name", stem)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Invalid(f"name must be of up to 64 letters, digits, '-' and '_', not {quoted(name)}")
    values: dict[str, Any] = {key: check(table[key], key) for key, check in plain.items() if key in table}
    values["reads"] = reads = checks.names(table.get("reads", base.reads), "reads", FAMILIES)
    if not {"project", "global"} & set(reads):
        raise Invalid("reads must name project or global; a question without user and session reads nothing else")
    lanes = dict.fromkeys((*LANES, *FAMILIES), Lane)
    values["recall"] = _parts(table, "stages", "recall", STAGES, {NAMES[type(stage)]: stage for stage in base.recall})
    values["upkeep"] = _parts(table, "jobs", "upkeep", JOBS, {job.name: job for job in base.upkeep})
    values["lanes"] = _parts(table, "lanes", "lane", lanes, {lane.name: lane for lane in base.lanes})
    for lane in values["lanes"]:
        if lane.ceiling is not None and lane.floor > lane.ceiling:
            raise Invalid(
                f"lane.{lane.name}: its floor of {lane.floor:,} is above its ceiling of {lane.ceiling:,}; lower the floor, "
                f'raise the ceiling, or set ceiling to "off"'
            )
    for slot in SLOTS:
        had, given = getattr(base, slot), table.get(slot, {})
        if not isinstance(given, Mapping):
            raise Invalid(f"{slot} must be a table with {', '.join(_keys(type(had)))}, not {quoted(given)}")
        values[slot] = _part(type(had), had, given, slot)
    _must_work(values["recall"])
    return replace(base, **{**values, "name": name})


def _parts(table: Mapping[str, Any], order: str, key: str, known: Mapping[str, type], had: Mapping[str, Any]) -> Any:
    """The stages, jobs or lanes in order: those of the base or the named ones, each with its values from a table such as
    [recall.weigh]."""
    wanted, given = checks.names(table.get(order, tuple(had)), order, tuple(known)), table.get(key, {})
    if not isinstance(given, Mapping) or not all(isinstance(each, Mapping) for each in given.values()):
        raise Invalid(f"{key} must be a table of tables, such as [{key}.{next(iter(known))}]")
    for name in given:
        if name not in wanted:
            raise Invalid(f"{key}.{name[:60]}: {order} has no such name; it has {', '.join(wanted) or 'none'}")
    first = {name: had.get(name) or (Lane(name, 0.0) if known[name] is Lane else None) for name in wanted}
    return tuple(_part(known[name], first[name], given.get(name, {}), f"{key}.{name}") for name in wanted)


def _part(kind: type, had: Any, given: Mapping[str, Any], where: str) -> Any:
    """The stage, job, lane or other part, with the given values in place of those it had."""
    keys, values = _keys(kind), dict[str, Any]()
    _only(given, keys, where)
    for key, value in given.items():
        each, check, may_be_off = keys[key]
        try:
            values[each.name] = None if may_be_off and value == OFF else check(value, f"{where}.{key}")
        except Invalid as problem:
            raise Invalid(f'{problem}; or "{OFF}"' if may_be_off else str(problem)) from problem
    if had is not None:
        return replace(had, **values)
    if missing := [key for key, (each, _, _) in keys.items() if each.default is MISSING and key not in given]:
        raise Invalid(f"{where} needs {', '.join(missing)}; the base has no {where} to take it from")
    return kind(**values)


def _only(table: Mapping[str, Any], allowed: Iterable[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise Invalid(f"{where} has no key {quoted(key)}; keys are {', '.join(allowed) or 'none'}")


def _must_work(stages: Sequence[Any]) -> None:
    """Refuses an order of stages that gives no answers or wrong ones."""
    order = [NAMES[type(stage)] for stage in stages]
    finders = [name for name in order if any(name in way for way in FINDS)]
    if finders not in FINDS:
        raise Invalid(
            "stages must find by words or by fields, or gather and then blend or fuse_ranks what was gathered; "
            f"they are {', '.join(order) or 'none'}"
        )
    finds, untriggered = order.index(finders[-1]), [name for name in order if name != "triggered"]
    early = set(order[:finds]) - {*BEFORE, *finders}
    chances = {"abstain", "drop_unlikely"} & set(order) if "blend" not in order else set()
    wording = {"widen"} & set(order if finders != ["fields"] else order[finds:])
    learning = [name for name in order if name in ("learnt", "blend", "lessons")]
    factors = {factor for stage in stages if isinstance(stage, weigh.Weigh) for factor in stage.factors}
    framed = (order[0], order[-1], "believed" in order[finds + 1 : -1]) == ("understand", "keep_best", True)
    flaws: Mapping[str, object] = {
        "stages must begin with understand, end with keep_best, and hold believed between what finds and keep_best (without it "
        f"what no longer holds is recalled); they are {', '.join(order)}": not framed,
        f"{', '.join(chances)} needs blend, which says how likely the answer is here; leave it out": chances,
        f"{', '.join(wording)} adds words for the stage fields and has to come before it; leave it out": wording,
        "triggered brings up what no stage may drop, so it comes right before keep_best; move it there": (
            "triggered" in order[:-2]
        ),
        "one_voice compares the memories about to be shown, so it comes right before keep_best; move it there": (
            "one_voice" in untriggered[:-2]
        ),
        "learnt looks up what lessons puts to use: learnt comes before blend, and lessons after it": (
            learning not in ([], ["blend"], ["learnt", "blend", "lessons"])
        ),
        "votes count twice: take votes or recency out of recall.weigh, or the stage votes out": (
            factors & {"votes", "recency"} if "votes" in order else set()
        ),
        # It would have no effect, and the file's author would not notice.
        f"{', '.join(early)} is before {finders[-1]}, where nothing is found yet, and would have no effect; move it after that. "
        f"Before it may come {', '.join(BEFORE)}": early,
    }
    for message, is_flawed in flaws.items():
        if is_flawed:
            raise Invalid(message)


# ---------------------------------------------------------------- writing


def text_of(design: Design) -> str:
    """The design as the text of such a file, with every value. Loading it under the same name gives the same design."""
    order = {
        "base": design.name if design.name in DESIGNS else "balanced",
        "reads": design.reads,
        "stages": [NAMES[type(stage)] for stage in design.recall],
        "jobs": [job.name for job in design.upkeep],
        "lanes": [lane.name for lane in design.lanes],
    }
    tables: dict[str, Any] = {f"recall.{NAMES[type(stage)]}": stage for stage in design.recall}
    tables |= {f"upkeep.{job.name}": job for job in design.upkeep}
    tables |= {f"lane.{lane.name}": lane for lane in design.lanes} | {slot: getattr(design, slot) for slot in SLOTS}
    plain = {each.name: getattr(design, each.name) for each in fields(Design) if check_of(each)[0]}
    lines = [f"{key} = {toml.written(value)}" for key, value in (order | plain).items() if key != "name"]
    for table, part in tables.items():
        keys = _keys(type(part))
        lines += ["", f"[{table}]"] if keys else []
        for key, (each, _, _) in keys.items():
            value, write = getattr(part, each.name), each.metadata.get("write", lambda value: value)
            lines.append(f"{key} = {toml.written(OFF if value is None else write(value))}")
    return "\n".join(lines) + "\n"
