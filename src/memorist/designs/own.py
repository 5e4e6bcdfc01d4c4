"""A user's own design: a TOML file that names a base and what differs from it. It holds no code.

    base = "hebbian"
    reads = ["project", "user", "global"]
    stages = ["understand", "words", "believed", "weigh", "keep_best"]
    [recall.weigh]
    factors = ["recency", "votes"]
    [upkeep.prune]
    max_size = "50 MB"

The tables at the end list everything such a file can name, with the bounds of each value. A design that could not work is
refused when the file is read, with the file and the key; `text_of` writes any design in this form.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from memorist import checks
from memorist.design import LANES, Budget, Compression, Conflicts, Design, Due, Files, Inject, Lane, Promotion, Twins
from memorist.designs import DESIGNS, NAME
from memorist.errors import Invalid
from memorist.recall.stages import blend, cascade, gather, judge, keep, lessons, newest, talk, triggered, weigh, words
from memorist.remember.promotion import PRESETS
from memorist.scoring import DECAYS, FACTORS
from memorist.text import toml
from memorist.text.visible import quoted
from memorist.upkeep import clusters, practice, retain, sessions, stale, suggest, tidy, twins

FAMILIES = ("task", "session", "project", "user", "global")
BEFORE = ("understand", "recognise", "learnt", "aliases", "widen")  # these work on the query, all others on hits
FINDS = (["words"], ["fields"], ["gather", "blend"], ["gather", "fuse_ranks"])  # a design finds by exactly one of these
LEARNING = ("learnt", "blend", "lessons")  # in this order, or only the middle one
FINDERS = {name for way in FINDS for name in way}


# ---------------------------------------------------------------- reading


def load(file: Path) -> Design:
    table = toml.load(file, "a design")
    try:
        return _design(table, file.stem)
    except Invalid as problem:
        raise Invalid(f"{file}: {problem}") from problem


def _design(table: Mapping[str, Any], stem: str) -> Design:
    _only(table, KEYS, "a design")
    if not isinstance(table.get("base"), str):
        raise Invalid(f"base must name the design to begin with: {', '.join(DESIGNS)}")
    if table["base"] not in DESIGNS:
        raise Invalid(f"there is no design {table['base']!r:.60}; designs are {', '.join(DESIGNS)}")
    base = DESIGNS[table["base"]]
    name = table.get("name", stem)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Invalid(f"name must be of up to 64 letters, digits, '-' and '_', not {quoted(name)}")
    recall = _parts(table, "stages", "recall", STAGES, base.recall)
    _must_work(recall)
    return replace(
        base,
        name=name,
        about=checks.label(table.get("about", base.about), "about"),
        reads=_reads(table.get("reads", list(base.reads))),
        recall=recall,
        upkeep=_parts(table, "jobs", "upkeep", JOBS, base.upkeep),
        conflicts=cast(Conflicts, one_of(table.get("conflicts", base.conflicts), "conflicts", get_args(Conflicts))),
        inject=cast(Inject, one_of(table.get("inject", base.inject), "inject", get_args(Inject))),
        files=cast(Files, one_of(table.get("files", base.files), "files", get_args(Files))),
        associates=checks.flag(table.get("associates", base.associates), "associates"),
        twins=cast(Twins, one_of(table.get("twins", base.twins), "twins", get_args(Twins))),
        lanes=_lanes(table, base.lanes),
        **{slot: _slot(table, slot, getattr(base, slot)) for slot in SLOTS},
    )


def _slot(table: Mapping[str, Any], slot: str, had: Any) -> Any:
    given = table.get(slot, {})
    if not isinstance(given, Mapping):
        raise Invalid(f"{slot} must be a table with {', '.join(SLOTS[slot].keys)}, not {quoted(given)}")
    return _part(SLOTS[slot], had, given, slot)


def _lanes(table: Mapping[str, Any], base: Sequence[Lane]) -> tuple[Lane, ...]:
    """The lanes in order: those of the base or the named ones, each with its values."""
    had = {lane.name: lane for lane in base}
    wanted = names(table.get("lanes", list(had)), "lanes", (*LANES, *FAMILIES))
    given = _tables(table, "lane", "lanes", wanted, "pinned")
    lanes = tuple(_part(LANE, had.get(name) or Lane(name, 0.0), given.get(name, {}), f"lane.{name}") for name in wanted)
    for lane in lanes:
        if lane.ceiling is not None and lane.floor > lane.ceiling:
            raise Invalid(
                f"lane.{lane.name}: its floor of {lane.floor:,} is above its ceiling of {lane.ceiling:,}; lower the floor, "
                f'raise the ceiling, or set ceiling to "off"'
            )
    return lanes


def _reads(value: Any) -> tuple[str, ...]:
    reads = names(value, "reads", FAMILIES)
    if not {"project", "global"} & set(reads):
        raise Invalid(
            "reads must name project or global; a question that names no user and no session reads nothing else"
        )
    return reads


def _parts(
    table: Mapping[str, Any], order: str, values: str, known: Mapping[str, "Shape"], base: Sequence[Any]
) -> tuple[Any, ...]:
    """The stages or jobs in order: those of the base or the named ones, each with its values."""
    had = {_name_of(part, known): part for part in base}
    wanted = names(table.get(order, list(had)), order, tuple(known))
    given = _tables(table, values, order, wanted, next(iter(known)))
    return tuple(_part(known[name], had.get(name), given.get(name, {}), f"{values}.{name}") for name in wanted)


def _tables(
    table: Mapping[str, Any], key: str, order: str, wanted: Sequence[str], example: str
) -> Mapping[str, Mapping[str, Any]]:
    """The values for each name in a table of tables, such as [recall.weigh]."""
    given = table.get(key, {})
    if not isinstance(given, Mapping) or not all(isinstance(each, Mapping) for each in given.values()):
        raise Invalid(f"{key} must be a table of tables, such as [{key}.{example}]")
    for name in given:
        if name not in wanted:
            raise Invalid(f"{key}.{name[:60]}: {order} has no such name; it has {', '.join(wanted) or 'none'}")
    return given


def _part(part: "Shape", had: Any, given: Mapping[str, Any], where: str) -> Any:
    _only(given, tuple(part.keys), where)
    values = {part.keys[key].field: part.keys[key].check(value, f"{where}.{key}") for key, value in given.items()}
    if had is not None:
        return replace(had, **values)
    needed = {field.name for field in fields(part.make) if field.default is MISSING} - set(values)
    if needed:
        raise Invalid(f"{where} needs {', '.join(sorted(needed))}; the base has no {where} to take it from")
    return part.make(**values)


def _must_work(stages: Sequence[Any]) -> None:
    """Refuses an order of stages that gives no answers or wrong ones."""
    names = [_name_of(stage, STAGES) for stage in stages]
    found = [name for name in names if name in FINDERS]
    if found not in FINDS:
        raise Invalid(
            "stages must find by words or by fields, or gather and then blend or fuse_ranks what was gathered; "
            f"they are {', '.join(names) or 'none'}"
        )
    finds = names.index(found[-1])
    if names[0] != "understand" or names[-1] != "keep_best" or "believed" not in names[finds + 1 : -1]:
        raise Invalid(
            "stages must begin with understand, end with keep_best, and hold believed between what finds and keep_best "
            f"(without it what no longer holds is recalled); they are {', '.join(names)}"
        )
    _must_suit_one_another(names)
    _must_learn_in_order(names)
    _must_count_votes_once(names, stages)
    useless = sorted(set(names[:finds]) - {*BEFORE, *found}, key=names.index)
    if useless:  # it would have no effect, and the file's author would not notice
        raise Invalid(
            f"{useless[0]} is before {found[-1]}, where nothing is found yet, and would have no effect; move it after that. "
            f"Before it may come {', '.join(BEFORE)}"
        )


def _must_suit_one_another(names: Sequence[str]) -> None:
    """Refuses stages that lack others they need, or that conflict."""
    lost = [name for name in names if name in ("abstain", "drop_unlikely")]
    if lost and "blend" not in names:
        raise Invalid(f"{lost[0]} needs blend, which says how likely the answer is here; leave {lost[0]} out")
    early = [name for name in ("aliases", "widen") if name in names]
    if early and ("fields" not in names or max(map(names.index, early)) > names.index("fields")):
        raise Invalid(f"{early[0]} adds words for the stage fields and has to come before it; leave {early[0]} out")
    if "triggered" in names[:-2]:
        raise Invalid("triggered brings up what no stage may drop, so it comes right before keep_best; move it there")
    if "one_voice" in [name for name in names if name != "triggered"][:-2]:
        raise Invalid(
            "one_voice compares the memories about to be shown, so it comes right before keep_best; move it there"
        )


def _must_learn_in_order(names: Sequence[str]) -> None:
    learning = [name for name in names if name in LEARNING]
    if learning not in (["blend"], [], list(LEARNING)):
        raise Invalid("learnt looks up what lessons puts to use: learnt comes before blend, and lessons after it")


def _must_count_votes_once(names: Sequence[str], stages: Sequence[Any]) -> None:
    weighed = {factor for stage in stages if isinstance(stage, weigh.Weigh) for factor in stage.factors}
    if "votes" in names and weighed & {"votes", "recency"}:
        raise Invalid("stages weighs votes twice: take votes or recency out of recall.weigh, or the stage votes out")


def _only(table: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise Invalid(f"{where} has no key {quoted(key)}; keys are {', '.join(allowed) or 'none'}")


def _name_of(part: Any, known: Mapping[str, "Shape"]) -> str:
    return next(name for name, each in known.items() if type(part) is each.make)


# ---------------------------------------------------------------- writing


def text_of(design: Design) -> str:
    """The design as the text of such a file, with every value. Loading it under the same name gives the same design."""
    lines = [
        f"base = {toml.written(design.name if design.name in DESIGNS else 'balanced')}",
        f"about = {toml.written(design.about)}",
        f"reads = {toml.written(list(design.reads))}",
        f"stages = {toml.written([_name_of(stage, STAGES) for stage in design.recall])}",
        f"jobs = {toml.written([_name_of(job, JOBS) for job in design.upkeep])}",
        f"conflicts = {toml.written(design.conflicts)}",
        f"inject = {toml.written(design.inject)}",
        f"files = {toml.written(design.files)}",
        f"associates = {toml.written(design.associates)}",
        f"twins = {toml.written(design.twins)}",
        f"lanes = {toml.written([lane.name for lane in design.lanes])}",
    ]
    for table, parts, known in (("recall", design.recall, STAGES), ("upkeep", design.upkeep, JOBS)):
        for part in parts:
            name = _name_of(part, known)
            lines += _written(f"{table}.{name}", known[name], part)
    for lane in design.lanes:
        lines += _written(f"lane.{lane.name}", LANE, lane)
    for slot, shape in SLOTS.items():
        lines += _written(slot, shape, getattr(design, slot))
    return "\n".join(lines) + "\n"


def _written(table: str, shape: "Shape", value: Any) -> list[str]:
    """One table of such a file as lines; none if it has no keys."""
    values = [f"{key} = {toml.written(each.written(getattr(value, each.field)))}" for key, each in shape.keys.items()]
    return ["", f"[{table}]", *values] if values else []


# ---------------------------------------------------------------- everything a file can name


def names(value: Any, what: str, known: Sequence[str]) -> tuple[str, ...]:
    """A list of distinct names, all of them known."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise Invalid(f"{what} must be a list of names such as {list(known[:2])}, not {quoted(value)}")
    for place, name in enumerate(value):
        if name not in known:
            raise Invalid(f"{what}: there is no {quoted(name)}; names are {', '.join(known)}")
        if name in value[:place]:
            raise Invalid(f"{what} names {name} twice; once is enough")
    return tuple(value)


def one_of(value: Any, what: str, known: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise Invalid(f"{what}: there is no {quoted(value)}; it is one of {', '.join(known)}")
    return value


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a stage's table: the field it sets, the values it allows, and how the field is written back."""

    field: str
    check: Callable[[Any, str], Any]
    written: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True, slots=True)
class Shape:
    """The class of a stage, job, lane or slot, and the keys of its table."""

    make: type
    keys: Mapping[str, Key]


def _shape(make: type, **keys: Key | Callable[[Any, str], Any]) -> Shape:
    """A shape whose plain keys, those given only as a check, set the field of the same name."""
    return Shape(make, {name: key if isinstance(key, Key) else Key(name, key) for name, key in keys.items()})


RETAINED = ("project", "session", "user", "task", "agent")  # families whose memories a rule may archive; never global
OFF = "off"


def _or_off(field: str, check: Callable[[Any, str], Any], written: Callable[[Any], Any] = lambda value: value) -> Key:
    """A key that takes a value or "off"."""

    def checked(value: Any, what: str) -> Any:
        try:
            return None if value == OFF else check(value, what)
        except Invalid as problem:
            raise Invalid(f'{problem}; or "{OFF}"') from problem

    return Key(field, checked, lambda value: OFF if value is None else written(value))


_vote = partial(checks.number, least=0, most=100)
_pool = partial(checks.whole, least=1, most=1000)
_few = partial(checks.whole, least=1, most=64)
_some = partial(checks.whole, least=1, most=100)
_lift = partial(checks.number, least=1, most=2)
_part_of = partial(checks.number, least=0.01, most=1)
_field = partial(checks.number, least=0.1, most=10)
_odds = partial(checks.number, least=0, most=20)
_lowered = partial(checks.number, least=0.1, most=1)
_tokens = partial(checks.whole, least=0, most=1_000_000)
STAGES: Mapping[str, Shape] = {
    "understand": _shape(gather.Understand, most=_few, urls=checks.flag),
    "recognise": _shape(gather.Recognise),
    "learnt": _shape(lessons.Learnt),
    "words": _shape(words.ByWords, pool=_pool, source=checks.flag, lifted=partial(one_of, known=tuple(words.LIFTS))),
    "gather": _shape(gather.Gather, words=_pool, meaning=_pool, around=_pool),
    "blend": _shape(blend.Blend),
    "fuse_ranks": _shape(blend.FuseRanks, k=_pool, meaning=checks.share),
    "aliases": _shape(words.ExpandAliases, weight=_part_of, usual=checks.flag),
    "widen": _shape(words.Widen, fuzzy=partial(checks.number, least=0, most=0.5), prefix=checks.flag, most=_few),
    "fields": _shape(words.ByFields, pool=_pool, content=_field, tags=_field, files=_field, category=_field),
    "believed": _shape(keep.Believed),
    "weigh": _shape(weigh.Weigh, factors=Key("factors", partial(names, known=tuple(FACTORS)), list)),
    "votes": _shape(weigh.WeighByVotes, reinforce=_vote, demote=_vote),
    "lessons": _shape(lessons.Lessons),
    "suspect": _shape(weigh.Suspect, weight=_lowered),
    "abstain": _shape(keep.Abstain, below=checks.share, elsewhere=checks.share, unless_covered=checks.share),
    "drop_unlikely": _shape(
        keep.DropUnlikely, below=checks.share, behind=_odds, unless_covered=checks.share, elsewhere=_odds
    ),
    "drop_weak": _shape(keep.DropWeak, share=checks.share),
    "keep_close": _shape(
        keep.KeepClose, of_best=checks.share, of_previous=checks.share, most=_pool, linked=checks.share
    ),
    "files": _shape(weigh.FileAffinity, each=checks.share),
    "favour_kinds": _shape(weigh.FavourKinds, first=_lift, second=_lift),
    "favour_season": _shape(weigh.FavourSeason, by=_lift),
    "fade": _shape(weigh.Fade, decay=partial(one_of, known=tuple(DECAYS))),
    "rerank": _shape(weigh.Rerank, most=_pool),
    "judge": _shape(
        judge.Judge, most=_some, judges=partial(checks.whole, least=1, most=2), every=_some, demanded=checks.flag
    ),
    "keep_top": _shape(keep.KeepTop, most=_pool),
    "drop_tail": _shape(keep.DropTail, rule=partial(one_of, known=("median", "lowest")), share=checks.share),
    "spread": _shape(keep.Spread, most=_pool),
    "say_once": _shape(keep.SayOnce),
    "one_voice": _shape(keep.OneVoice),
    "answered": _shape(talk.Answered, tool=_lowered, asked=_lowered),
    "corrected": _shape(talk.Corrected),
    "cascade": _shape(
        cascade.Cascade,
        seeds=_some,
        depth=partial(checks.whole, least=1, most=4),
        fan=_some,
        rare=partial(checks.whole, least=2, most=1000),
        **dict.fromkeys(("decay", "tags", "names", "clusters", "superseding", "others"), checks.share),
    ),
    "mark_conflicts": _shape(weigh.MarkConflicts, weight=_lowered),
    "newest_first": _shape(newest.NewestFirst, most=partial(checks.whole, least=2, most=100)),
    "triggered": _shape(triggered.Triggered, most=partial(checks.whole, least=1, most=10)),
    "keep_best": _shape(keep.KeepBest, pinned=partial(checks.whole, least=0, most=100)),
}
# The other parts of a design besides stages and jobs, each with a table of its own.
LANE = _shape(
    Lane,
    share=checks.share,
    floor=_tokens,
    ceiling=_or_off("ceiling", _tokens),
    of=partial(one_of, known=("total", "rest")),
    least=checks.share,
    of_best=checks.share,
)
SLOTS: Mapping[str, Shape] = {
    "budget": _shape(
        Budget,
        tokens=_tokens,
        share=checks.share,
        most=_tokens,
        hits=_or_off("hits", _pool),
        deadline=_or_off("deadline", checks.seconds),
    ),
    "compression": _shape(
        Compression,
        mode=partial(one_of, known=("cheap", "balanced", "max_quality")),
        ratio=_or_off("ratio", checks.share),
        head_tail_preserve=partial(checks.whole, least=0, most=1000),
        middle_compress=checks.flag,
    ),
    "promotion": _shape(
        Promotion,
        mode=partial(one_of, known=("manual", "propose", "auto", "direct")),
        preset=partial(one_of, known=tuple(PRESETS)),
        every=_or_off("every", partial(checks.whole, least=1, most=1_000_000)),
    ),
    "due": _shape(
        Due,
        on_open=checks.flag,
        uses=_or_off("uses", partial(checks.whole, least=1, most=1_000_000)),
        hours=_or_off("hours", partial(checks.number, least=0.1, most=100_000)),
        idle=_or_off("idle", partial(checks.number, least=0.1, most=100_000)),
        above=_or_off("above", partial(checks.whole, least=1, most=100_000_000)),
    ),
}
JOBS: Mapping[str, Shape] = {
    "prune": _shape(
        retain.Prune,
        max_size=Key("max_bytes", checks.size, checks.size_text),
        percent=partial(checks.number, least=0.01, most=100),
        reinforce=_vote,
        demote=_vote,
    ),
    "settle": _shape(retain.Settle),
    "expire": _shape(retain.Expire),
    "retain": _shape(
        retain.Retain,
        max_items=_or_off("max_items", partial(checks.whole, least=1, most=100_000_000)),
        max_size=_or_off("max_bytes", checks.size, checks.size_text),
        ttl_days=_or_off("ttl_days", partial(checks.number, least=1, most=100_000)),
        min_confidence=_or_off("min_confidence", checks.share),
        families=Key("families", partial(names, known=RETAINED), list),
        order=partial(one_of, known=("decayed", "importance")),
    ),
    "retain_sessions": _shape(sessions.RetainSessions, days=partial(checks.number, least=1, most=100_000)),
    "suggest_aliases": _shape(suggest.SuggestAliases, most=_some, times=_some),
    "stale_sections": _shape(stale.StaleSections, days=partial(checks.number, least=1, most=100_000), most=_some),
    "merge_twins": _shape(twins.MergeTwins),
    "redundancy": _shape(twins.Redundancy),
    "contradictions": _shape(tidy.Contradictions, most=_some),
    "verify": _shape(tidy.Verify, most=partial(checks.whole, least=1, most=1000)),
    "fade": _shape(tidy.FadeAway, below=checks.share),
    "clusters": _shape(clusters.Clusters),
    "tag_cleanup": _shape(tidy.TagCleanup, most=_some),
    "suggest_procedures": _shape(practice.SuggestProcedures, most=_some),
    "cross_links": _shape(tidy.CrossLinks, most=_some),
    "tune_lanes": _shape(suggest.TuneLanes, receipts=partial(checks.whole, least=1, most=10_000)),
}
KEYS = (
    *"base name about reads stages recall jobs upkeep conflicts inject files twins associates lanes lane".split(),
    *SLOTS,
)
