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

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from memorist import checks
from memorist.design import LANES, Check, Design, Lane, check_of
from memorist.designs import DESIGNS, NAME
from memorist.errors import Invalid
from memorist.recall.stages import blend, cascade, gather, judge, keep, lessons, newest, triggered, weigh, words
from memorist.scoring import DECAYS, FACTORS
from memorist.text import toml
from memorist.text.visible import quoted
from memorist.upkeep import clusters, practice, retain, sessions, stale, suggest, tidy, twins

OFF = "off"
FAMILIES = ("task", "session", "project", "user", "global")
STAGES: Mapping[str, type] = {
    "understand": gather.Understand, "recognise": gather.Recognise, "learnt": lessons.Learnt, "words": words.ByWords,
    "gather": gather.Gather, "blend": blend.Blend, "fuse_ranks": blend.FuseRanks, "aliases": words.ExpandAliases,
    "widen": words.Widen, "fields": words.ByFields, "believed": keep.Believed, "weigh": weigh.Weigh,
    "votes": weigh.WeighByVotes, "lessons": lessons.Lessons, "suspect": weigh.Suspect, "abstain": keep.Abstain,
    "drop_unlikely": keep.DropUnlikely, "drop_weak": keep.DropWeak, "keep_close": keep.KeepClose,
    "files": weigh.FileAffinity, "favour_kinds": weigh.FavourKinds, "favour_season": weigh.FavourSeason,
    "fade": weigh.Fade, "rerank": weigh.Rerank, "judge": judge.Judge, "keep_top": keep.KeepTop,
    "cascade": cascade.Cascade,
    "drop_tail": keep.DropTail, "spread": keep.Spread, "say_once": keep.SayOnce, "one_voice": keep.OneVoice,
    "mark_conflicts": weigh.MarkConflicts, "newest_first": newest.NewestFirst, "triggered": triggered.Triggered,
    "keep_best": keep.KeepBest,
}  # fmt: skip
JOBS: Mapping[str, type] = {
    "prune": retain.Prune, "settle": retain.Settle, "expire": retain.Expire, "retain": retain.Retain,
    "retain_sessions": sessions.RetainSessions, "suggest_aliases": suggest.SuggestAliases,
    "stale_sections": stale.StaleSections, "merge_twins": twins.MergeTwins, "redundancy": twins.Redundancy,
    "contradictions": tidy.Contradictions, "verify": tidy.Verify, "fade": tidy.FadeAway, "clusters": clusters.Clusters,
    "tag_cleanup": tidy.TagCleanup, "suggest_procedures": practice.SuggestProcedures, "cross_links": tidy.CrossLinks,
    "tune_lanes": suggest.TuneLanes,
}  # fmt: skip
SLOTS = ("budget", "compression", "promotion", "due")  # the other parts of a design, each with a table of its own
CHOICES: Mapping[str, Sequence[str]] = {
    "words.lifted": tuple(words.LIFTS), "fade.decay": tuple(DECAYS), "drop_tail.rule": ("median", "lowest"),
    "weigh.factors": tuple(FACTORS), "retain.families": ("project", "session", "user", "task", "agent"),  # never global
}  # fmt: skip
# Whole numbers are from 1 to 1000, others shares from 0 to 1, but for these.
BOUNDS: Mapping[str, tuple[float, float]] = {
    "understand.most": (1, 64), "widen.most": (1, 64), "widen.fuzzy": (0, 0.5), "aliases.weight": (0.01, 1),
    "fields.content": (0.1, 10), "fields.tags": (0.1, 10), "fields.files": (0.1, 10), "fields.category": (0.1, 10),
    "suspect.weight": (0.1, 1), "mark_conflicts.weight": (0.1, 1),
    "drop_unlikely.behind": (0, 20), "drop_unlikely.talk": (0, 20), "favour_season.by": (1, 2),
    "favour_kinds.first": (1, 2), "favour_kinds.second": (1, 2), "judge.most": (1, 100), "judge.judges": (1, 2),
    "judge.every": (1, 100), "cascade.seeds": (1, 100), "cascade.depth": (1, 4), "cascade.fan": (1, 100),
    "cascade.rare": (2, 1000), "newest_first.most": (2, 100), "triggered.most": (1, 10), "keep_best.pinned": (0, 100),
    "prune.percent": (0.01, 100), "retain.max_items": (1, 100_000_000), "retain.ttl_days": (1, 100_000),
    "suggest_aliases.most": (1, 100), "suggest_aliases.times": (1, 100), "stale_sections.most": (1, 100),
    "tune_lanes.receipts": (1, 10_000), "days": (1, 100_000), "reinforce": (0, 100), "demote": (0, 100),
}  # fmt: skip
INTERNAL = ("name", "optional", "spare", "compared", "survey")  # fields that a file does not set
BEFORE = ("understand", "recognise", "learnt", "aliases", "widen")  # these work on the query, all others on hits
FINDS = (["words"], ["fields"], ["gather", "blend"], ["gather", "fuse_ranks"])  # a design finds by exactly one of these


# ---------------------------------------------------------------- the keys of a table


def _keys(part: str, kind: type) -> dict[str, tuple["Field[Any]", Check, bool]]:
    """The keys that the table of this part may have: the field of each, what checks it, and whether it may be "off"."""
    keys: dict[str, tuple[Field[Any], Check, bool]] = {}
    for each in (each for each in fields(kind) if each.name not in INTERNAL):
        name, usual = f"{part}.{each.name}", (1, 1000) if int in (each.type, *get_args(each.type)) else None
        check, may_be_off = check_of(each, BOUNDS.get(name, BOUNDS.get(each.name, usual)))
        if each.name == "max_bytes":
            keys["max_size"] = each, checks.size, may_be_off
        elif name in CHOICES:
            keys[each.name] = each, partial(one_of if each.type is str else names, known=CHOICES[name]), False
        elif check:
            keys[each.name] = each, check, may_be_off
    return keys


def _part(part: str, kind: type, had: Any, given: Mapping[str, Any], where: str) -> Any:
    """The stage, job, lane or other part, with the given values in place of those it had."""
    keys, values = _keys(part, kind), dict[str, Any]()
    _only(given, tuple(keys), where)
    for key, value in given.items():
        each, check, may_be_off = keys[key]
        try:
            values[each.name] = None if may_be_off and value == OFF else check(value, f"{where}.{key}")
        except Invalid as problem:
            raise Invalid(f'{problem}; or "{OFF}"' if may_be_off else str(problem)) from problem
    if had is not None:
        return replace(had, **values)
    needed = {each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING}
    if needed - set(values):
        missing = ", ".join(sorted(needed - set(values)))
        raise Invalid(f"{where} needs {missing}; the base has no {where} to take it from")
    return kind(**values)


def _written(part: str, table: str, value: Any) -> list[str]:
    """One table of such a file as lines; none if it has no keys."""
    lines = []
    for key, (each, _, _) in _keys(part, type(value)).items():
        held = getattr(value, each.name)
        held = OFF if held is None else checks.size_text(held) if key == "max_size" else held
        lines.append(f"{key} = {toml.written(held)}")
    return ["", f"[{table}]", *lines] if lines else []


def names(value: Any, what: str, known: Sequence[str]) -> tuple[str, ...]:
    """A list of distinct names, all of them known."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise Invalid(f"{what} must be a list of names such as {list(known[:2])}, not {quoted(value)}")
    for place, name in enumerate(value):
        one_of(name, what, known)
        if name in value[:place]:
            raise Invalid(f"{what} names {name} twice; once is enough")
    return tuple(value)


def one_of(value: Any, what: str, known: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise Invalid(f"{what}: there is no {quoted(value)}; it is one of {', '.join(known)}")
    return value


def _only(table: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise Invalid(f"{where} has no key {quoted(key)}; keys are {', '.join(allowed) or 'none'}")


def _name_of(part: Any, known: Mapping[str, type]) -> str:
    return next(name for name, kind in known.items() if type(part) is kind)


# ---------------------------------------------------------------- reading


def load(file: Path) -> Design:
    table = toml.load(file, "a design")
    try:
        return _design(table, file.stem)
    except Invalid as problem:
        raise Invalid(f"{file}: {problem}") from problem


def _design(table: Mapping[str, Any], stem: str) -> Design:
    plain = {each.name: check for each in fields(Design) if (check := check_of(each)[0])}
    _only(table, ("base", *plain, "reads", "stages", "recall", "jobs", "upkeep", "lanes", "lane", *SLOTS), "a design")
    if not isinstance(table.get("base"), str):
        raise Invalid(f"base must name the design to begin with: {', '.join(DESIGNS)}")
    base = DESIGNS[one_of(table["base"], "base", tuple(DESIGNS))]
    name = table.get("name", stem)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Invalid(f"name must be of up to 64 letters, digits, '-' and '_', not {quoted(name)}")
    values: dict[str, Any] = {key: check(table[key], key) for key, check in plain.items() if key in table}
    values["reads"] = names(table.get("reads", list(base.reads)), "reads", FAMILIES)
    if not {"project", "global"} & set(values["reads"]):
        raise Invalid(
            "reads must name project or global; a question that names no user and no session reads nothing else"
        )
    values["recall"] = _parts(table, "stages", "recall", STAGES, {_name_of(s, STAGES): s for s in base.recall})
    values["upkeep"] = _parts(table, "jobs", "upkeep", JOBS, {_name_of(job, JOBS): job for job in base.upkeep})
    lanes = dict.fromkeys((*LANES, *FAMILIES), Lane)
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
            keys = ", ".join(_keys(slot, type(had)))
            raise Invalid(f"{slot} must be a table with {keys}, not {quoted(given)}")
        values[slot] = _part(slot, type(had), had, given, slot)
    _must_work(values["recall"])
    return replace(base, **{**values, "name": name})


def _parts(table: Mapping[str, Any], order: str, key: str, known: Mapping[str, type], had: Mapping[str, Any]) -> Any:
    """The stages, jobs or lanes in order: those of the base or the named ones, each with its values from a table such as
    [recall.weigh]."""
    wanted = names(table.get(order, list(had)), order, tuple(known))
    given = table.get(key, {})
    if not isinstance(given, Mapping) or not all(isinstance(each, Mapping) for each in given.values()):
        raise Invalid(f"{key} must be a table of tables, such as [{key}.{next(iter(known))}]")
    for name in given:
        if name not in wanted:
            raise Invalid(f"{key}.{name[:60]}: {order} has no such name; it has {', '.join(wanted) or 'none'}")
    first = {name: had.get(name) or (Lane(name, 0.0) if known[name] is Lane else None) for name in wanted}
    return tuple(_part(name, known[name], first[name], given.get(name, {}), f"{key}.{name}") for name in wanted)


def _must_work(stages: Sequence[Any]) -> None:
    """Refuses an order of stages that gives no answers or wrong ones."""
    order = [_name_of(stage, STAGES) for stage in stages]
    finders = [name for name in order if any(name in way for way in FINDS)]
    if finders not in FINDS:
        raise Invalid(
            "stages must find by words or by fields, or gather and then blend or fuse_ranks what was gathered; "
            f"they are {', '.join(order) or 'none'}"
        )
    finds, untriggered = order.index(finders[-1]), [name for name in order if name != "triggered"]
    early = set(order[:finds]) - {*BEFORE, *finders}
    chances = {"abstain", "drop_unlikely"} & set(order) if "blend" not in order else set()
    wording = {"aliases", "widen"} & set(order if finders != ["fields"] else order[finds:])
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
        "stages": [_name_of(stage, STAGES) for stage in design.recall],
        "jobs": [_name_of(job, JOBS) for job in design.upkeep],
        "lanes": [lane.name for lane in design.lanes],
    }
    plain = {each.name: getattr(design, each.name) for each in fields(Design) if check_of(each)[0]}
    lines = [f"{key} = {toml.written(value)}" for key, value in (order | plain).items() if key != "name"]
    for stage in design.recall:
        lines += _written(name := _name_of(stage, STAGES), f"recall.{name}", stage)
    for job in design.upkeep:
        lines += _written(name := _name_of(job, JOBS), f"upkeep.{name}", job)
    for lane in design.lanes:
        lines += _written(lane.name, f"lane.{lane.name}", lane)
    for slot in SLOTS:
        lines += _written(slot, slot, getattr(design, slot))
    return "\n".join(lines) + "\n"
