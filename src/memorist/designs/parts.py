"""Everything a design's file can name: the stages and jobs, and the bounds of each of their values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memorist import checks
from memorist.design import Budget, Due, Lane, Promotion
from memorist.errors import Invalid
from memorist.recall.stages.conflicts import MarkConflicts, NewestOfSlot, OneVoice, Spread
from memorist.recall.stages.gather import Gather
from memorist.recall.stages.keep import Abstain, Believed, DropTail, DropWeak, KeepBest, KeepClose, KeepTop
from memorist.recall.stages.understand import Recognise, Understand
from memorist.recall.stages.weigh import Blend, Fade, FavourKinds, FileAffinity, FuseRanks, Rerank, Weigh, WeighByVotes
from memorist.recall.stages.words import ByFields, ByWords, ExpandAliases, Widen
from memorist.remember.promotion import PRESETS
from memorist.text.visible import quoted
from memorist.upkeep.prune import Prune
from memorist.upkeep.retain import Retain
from memorist.upkeep.settle import Expire, Settle
from memorist.upkeep.suggest_aliases import SuggestAliases
from memorist.upkeep.tune_lanes import TuneLanes
from memorist.worth import DECAYS, FACTORS


def names(value: Any, what: str, known: Sequence[str]) -> tuple[str, ...]:
    """A list of different names, all of them known."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise Invalid(f"{what} must be a list of names such as {list(known[:2])}, not {quoted(value)}")
    for place, name in enumerate(value):
        if name not in known:
            raise Invalid(f"{what}: there is no {quoted(name)}; names are {', '.join(known)}")
        if name in value[:place]:
            raise Invalid(f"{what} names {name} twice; once is enough")
    return tuple(value)


def one_of(value: Any, what: str, known: Sequence[str]) -> str:
    """One known name."""
    if not isinstance(value, str) or value not in known:
        raise Invalid(f"{what}: there is no {quoted(value)}; it is one of {', '.join(known)}")
    return value


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a stage's table: the field it sets, what it may be, and how the field is written back."""

    field: str
    check: Callable[[Any, str], Any]
    written: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True, slots=True)
class Part:
    """A stage or job under its registered name."""

    make: type
    keys: Mapping[str, Key]


RETAINED = ("project", "session", "user", "task", "agent")  # whose memories a rule may archive; never those of global
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
_lift = partial(checks.number, least=1, most=2)
_part_of = partial(checks.number, least=0.01, most=1)
_FIELDS = ("content", "tags", "files", "category")
_VOTES = {"reinforce": Key("reinforce", _vote), "demote": Key("demote", _vote)}
STAGES: Mapping[str, Part] = {
    "understand": Part(Understand, {"most": Key("most", partial(checks.whole, least=1, most=64))}),
    "recognise": Part(Recognise, {}),
    "words": Part(ByWords, {"pool": Key("pool", _pool)}),
    "gather": Part(
        Gather, {"words": Key("words", _pool), "meaning": Key("meaning", _pool), "around": Key("around", _pool)}
    ),
    "blend": Part(Blend, {}),
    "fuse_ranks": Part(FuseRanks, {"k": Key("k", partial(checks.whole, least=1, most=1000))}),
    "aliases": Part(ExpandAliases, {"weight": Key("weight", _part_of), "usual": Key("usual", checks.flag)}),
    "widen": Part(
        Widen,
        {
            "fuzzy": Key("fuzzy", partial(checks.number, least=0, most=0.5)),
            "prefix": Key("prefix", checks.flag),
            "most": Key("most", partial(checks.whole, least=1, most=64)),
        },
    ),
    "fields": Part(
        ByFields,
        {
            "pool": Key("pool", _pool),
            "read": Key("read", _pool),
            **{name: Key(name, partial(checks.number, least=0.1, most=10)) for name in _FIELDS},
        },
    ),
    "believed": Part(Believed, {}),
    "weigh": Part(Weigh, {"factors": Key("factors", partial(names, known=tuple(FACTORS)), list)}),
    "votes": Part(WeighByVotes, _VOTES),
    "abstain": Part(
        Abstain,
        {"below": Key("below", checks.share), "unless_covered": Key("unless_covered", checks.share)},
    ),
    "drop_weak": Part(DropWeak, {"share": Key("share", checks.share)}),
    "keep_close": Part(
        KeepClose,
        {
            "of_best": Key("of_best", checks.share),
            "of_previous": Key("of_previous", checks.share),
            "most": Key("most", partial(checks.whole, least=1, most=1000)),
        },
    ),
    "files": Part(FileAffinity, {"each": Key("each", checks.share)}),
    "favour_kinds": Part(FavourKinds, {"first": Key("first", _lift), "second": Key("second", _lift)}),
    "fade": Part(Fade, {"decay": Key("decay", partial(one_of, known=tuple(DECAYS)))}),
    "rerank": Part(Rerank, {"most": Key("most", _pool)}),
    "keep_top": Part(KeepTop, {"most": Key("most", _pool)}),
    "drop_tail": Part(
        DropTail,
        {"rule": Key("rule", partial(one_of, known=("median", "lowest"))), "share": Key("share", checks.share)},
    ),
    "spread": Part(Spread, {"most": Key("most", _pool)}),
    "one_voice": Part(OneVoice, {}),
    "mark_conflicts": Part(MarkConflicts, {"weight": Key("weight", partial(checks.number, least=0.1, most=1))}),
    "newest_of_slot": Part(NewestOfSlot, {"most": Key("most", partial(checks.whole, least=2, most=100))}),
    "keep_best": Part(KeepBest, {"pinned": Key("pinned", partial(checks.whole, least=0, most=100))}),
}
# What a design says beside its stages and jobs, each a table of its own.
_tokens = partial(checks.whole, least=0, most=1_000_000)
LANE = Part(
    Lane,
    {
        "share": Key("share", checks.share),
        "floor": Key("floor", _tokens),
        "ceiling": _or_off("ceiling", _tokens),
        "of": Key("of", partial(one_of, known=("total", "rest"))),
    },
)
SLOTS: Mapping[str, Part] = {
    "budget": Part(
        Budget, {"tokens": Key("tokens", _tokens), "share": Key("share", checks.share), "most": Key("most", _tokens)}
    ),
    "promotion": Part(
        Promotion,
        {
            "mode": Key("mode", partial(one_of, known=("manual", "propose", "auto"))),
            "preset": Key("preset", partial(one_of, known=tuple(PRESETS))),
        },
    ),
    "due": Part(
        Due,
        {
            "on_open": Key("on_open", checks.flag),
            "uses": _or_off("uses", partial(checks.whole, least=1, most=1_000_000)),
            "hours": _or_off("hours", partial(checks.number, least=0.1, most=100_000)),
        },
    ),
}
JOBS: Mapping[str, Part] = {
    "prune": Part(
        Prune,
        {
            "max_size": Key("max_bytes", checks.size, checks.size_text),
            "percent": Key("percent", partial(checks.number, least=0.01, most=100)),
            **_VOTES,
        },
    ),
    "settle": Part(Settle, {}),
    "expire": Part(Expire, {}),
    "retain": Part(
        Retain,
        {
            "max_items": _or_off("max_items", partial(checks.whole, least=1, most=100_000_000)),
            "max_size": _or_off("max_bytes", checks.size, checks.size_text),
            "ttl_days": _or_off("ttl_days", partial(checks.number, least=1, most=100_000)),
            "min_confidence": _or_off("min_confidence", checks.share),
            "families": Key("families", partial(names, known=RETAINED), list),
        },
    ),
    "suggest_aliases": Part(
        SuggestAliases,
        {
            "most": Key("most", partial(checks.whole, least=1, most=100)),
            "times": Key("times", partial(checks.whole, least=1, most=100)),
        },
    ),
    "tune_lanes": Part(TuneLanes, {"receipts": Key("receipts", partial(checks.whole, least=1, most=10_000))}),
}
