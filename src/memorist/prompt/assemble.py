"""From candidates to a context: lanes get their tokens, memories enter while there is room, and the text is counted whole.

A memory that does not fit is left out whole and named, and a shorter one after it may still enter. The budget is kept on the
rendered text, frame and marks included, because that is what a model is charged for. What went in, and out of what, is
written down so that the receipt can show the exact text again.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from memorist.design import STEADY, Lane
from memorist.prompt.choose import Chosen, Plan
from memorist.prompt.items import Clash, Item
from memorist.prompt.lanes import allot, quotas
from memorist.prompt.render import Digest, Page, frame_cost, page
from memorist.records import Context
from memorist.text.tokens import TokenCounter
from memorist.text.words import query_terms


@dataclass(frozen=True, slots=True)
class Packed:
    """What fits, and what each lane wanted and spent."""

    items: tuple[Item, ...]
    lanes: Mapping[str, Mapping[str, int]]


def assemble(plan: Plan, chosen: Chosen, lanes: Sequence[Lane], digest: Digest, count: TokenCounter) -> Context:
    """The context, without its receipt."""
    candidates = [*chosen.protected, *(item for lane in lanes for item in chosen.lanes[lane.name])]
    if not candidates:
        return Context("", budget=plan.total, empty_because=chosen.empty_because or "nothing fits this question")
    style = plan.style
    written = {item.record.id: style.item(item) for item in candidates}
    costs = {id: count(text) for id, text in written.items()}
    steady = any(chosen.lanes[lane.name] for lane in lanes if lane.name in STEADY)
    told = sum(count(style.clash(clash)) for clash in chosen.clashes)
    room = max(0, plan.total - frame_cost(style, steady, count))
    packed = _packed(room, told, chosen, lanes, costs)
    make = partial(page, style, digest=digest, write=lambda item: written[item.record.id])
    done, tokens = _fitted(plan.total, packed, chosen.clashes, make, count)
    shown = {item.record.id for item in done.items}
    spent, everything = (sum(costs[id] for id in ids) for ids in (shown, costs))
    return Context(
        done.text,
        tuple(item.hit for item in done.items),
        tokens,
        plan.total,
        spent / max(1, everything),
        "",
        tuple(id for id in costs if id not in shown),
        None if shown else f"nothing that was found fits into {plan.total} tokens",
        done.stable,
        packed.lanes,
    )


def _packed(room: int, told: int, chosen: Chosen, lanes: Sequence[Lane], costs: Mapping[str, int]) -> Packed:
    """Each lane up to what it was granted; what is left over goes to whoever still fits. The steady lanes come first, and
    neither what is protected nor what is told of conflicts is taken from them: they must not change with the question."""
    wanted = [sum(costs[item.record.id] for item in chosen.lanes[lane.name]) for lane in lanes]
    granted = dict(zip(lanes, allot(room, lanes, wanted, STEADY), strict=True))
    loose = [lane for lane in lanes if lane.name not in STEADY]
    basket = Basket(costs)
    spent = {lane.name: basket.fill(chosen.lanes[lane.name], granted[lane]) for lane in lanes if lane not in loose}
    left = max(0, room - told - sum(spent.values()))
    left -= basket.fill(chosen.protected, left)
    for lane in loose:
        spent[lane.name] = basket.fill(chosen.lanes[lane.name], min(granted[lane], left))
        left -= spent[lane.name]
    for lane in loose:
        most = left if lane.ceiling is None else min(left, lane.ceiling - spent[lane.name])
        more = basket.fill(chosen.lanes[lane.name], most)
        spent[lane.name] += more
        left -= more
    table = zip(lanes, quotas(room, lanes), wanted, strict=True)
    return Packed(
        tuple(basket.kept.values()),
        {lane.name: {"quota": quota, "wanted": want, "spent": spent[lane.name]} for lane, quota, want in table},
    )


@dataclass(frozen=True, slots=True)
class Basket:
    """What has entered so far, by id."""

    costs: Mapping[str, int]
    kept: dict[str, Item] = field(default_factory=dict)

    def fill(self, items: Sequence[Item], tokens: int) -> int:
        """Takes those that fit, one after the other; the tokens they cost."""
        spent = 0
        for item in items:
            id = item.record.id
            if id not in self.kept and spent + self.costs[id] <= tokens:
                spent += self.costs[id]
                self.kept[id] = item
        return spent


def _fitted(
    total: int, packed: Packed, clashes: Sequence[Clash], make: Callable[..., Page], count: TokenCounter
) -> tuple[Page, int]:
    """The page, and what it costs. A counter may charge more for a whole than for its parts: then the weakest of what was
    recalled goes, then what is told of conflicts, and only after that the last of what is always there."""
    steady = [item for item in packed.items if item.lane in STEADY]
    loose = sorted((item for item in packed.items if item.lane not in STEADY), key=_strength, reverse=True)
    told = list(clashes)
    while True:
        shown = {item.record.id for item in (*steady, *loose)}
        told = [clash for clash in told if shown & {clash.a.id, clash.b.id}]
        done = make(steady, loose, told)
        tokens = count(done.text) if done.text else 0
        if tokens <= total:
            return done, tokens
        (loose or told or steady).pop()


def _strength(item: Item) -> tuple[bool, float]:
    """What is protected goes last, and stays in its order."""
    return item.protected, 0.0 if item.protected else item.weight


def rendered(context: Context, lanes: Mapping[str, str]) -> Mapping[str, Any]:
    """What the recall log keeps of a context: all that is needed to show it again. `lanes` says by which lane a memory came."""
    return {
        "text": context.text,
        "digest": _digest(context.text),
        "items": [[hit.record.id, lanes.get(hit.record.id, "")] for hit in context.items],
        "tokens": context.tokens,
        "budget": context.budget,
        "ratio": context.compression_ratio,
        "left_out": list(context.left_out),
        "stable": context.stable,
        "lanes": context.lanes,
        "fingerprint": context.fingerprint,
    }


def fingerprint(plan: Plan, task: str | None, design: str) -> dict[str, Any]:
    """What kind of prompt it was, without its words: prompts of one hash can be compared by what became of them."""
    facts: dict[str, Any] = {
        "design": design,
        "task": task,
        "files": list(plan.files),
        "kinds": list(plan.kinds or ()),
        "mode": plan.mode.name,
        "profile": plan.profile.name if plan.profile else None,
        "words": len(query_terms(plan.query)),
    }
    return facts | {"hash": _digest(json.dumps(facts))}


def is_exact(text: str, digest: str) -> bool:
    """Whether this is the text that went into the prompt, and no rule for secrets has touched it since."""
    return _digest(text) == digest


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
