"""From a caller's wish to a text in a prompt: recall, choose, assemble, and leave a receipt.

A prompt must not fail because a memory did. What is wrong with the arguments is raised, because somebody has to change them;
whatever else goes wrong gives an empty context that says why, and the log has the rest.
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from memorist import checks
from memorist.errors import Invalid, MemoristError, OutOfScope
from memorist.opened import Opened
from memorist.prompt import lanes
from memorist.prompt.assemble import assemble, fingerprint, is_exact, rendered
from memorist.prompt.choose import Chosen, Plan, choose
from memorist.prompt.modes import mode_named, profile_named
from memorist.prompt.render import style_of
from memorist.recall.query import MOST_HITS, Query, kinds_of, receipt_for, scopes_of, text_of
from memorist.records import Context, Hit, Recall, new_id
from memorist.remember.using import receipt_of
from memorist.store import choices
from memorist.store.where import Where
from memorist.text.visible import quoted

INJECTS = ("pull", "core", "push")
PULLED = "this design puts nothing into a prompt by itself; ask with recall, or with inject='push'"
log = logging.getLogger("memorist")


def plan_of(memory: Opened, question: Query, said: dict[str, Any]) -> Plan:
    """What the arguments mean; anything wrong with them is raised here."""
    design = memory.design
    profile, mode = profile_named(said["profile"]), mode_named(said["mode"])
    most, tokens = _chosen_budget(memory), profile.tokens if profile else None
    usual = design.budget if most is None else replace(design.budget, tokens=most, most=most)
    usual = usual if tokens is None else replace(usual, tokens=tokens)
    total = lanes.total(said["budget"], said["remaining"], said["window"], said["reserve"], usual)
    inject = design.inject if said["inject"] is None else said["inject"]
    if inject not in INJECTS:
        raise Invalid(f"there is no inject {quoted(inject)}; it is one of {', '.join(INJECTS)}")
    return Plan(
        text_of(question.text),
        lanes.part(mode.share, total),
        style_of(said["style"], said["client"]),
        mode,
        profile,
        inject,
        checks.whole(question.limit, "limit", 1, MOST_HITS),
        checks.labels(question.files, "files"),
        question.session,
        None if question.kinds is None else kinds_of(question.kinds, memory._tools),
        question.where,
    )


def _chosen_budget(memory: Opened) -> int | None:
    """What was chosen for this project. Where the store cannot say, the rest of the way will find out why."""
    if memory.access.may_read(memory.home):
        with suppress(MemoristError):
            return choices.chosen(memory._tools.store, memory.space, memory.home).budget
    return None


def inject(memory: Opened, plan: Plan, question: Query) -> Context:
    """The context for this plan. Whatever goes wrong but the arguments is told in `empty_because`."""
    if plan.inject == "pull":
        return Context("", budget=plan.total, empty_because=PULLED)
    try:
        return _inject(memory, plan, question)
    except (Invalid, OutOfScope):
        raise
    except Exception as problem:  # a turn without memory is better than no turn
        log.warning("no memory for this prompt: %s", problem, exc_info=not isinstance(problem, MemoristError))
        what = problem if isinstance(problem, MemoristError) else type(problem).__name__
        return Context("", budget=plan.total, empty_because=f"memory failed, and the prompt goes on without it: {what}")


def _inject(memory: Opened, plan: Plan, question: Query) -> Context:
    started, tools = time.perf_counter(), memory._tools
    homes = tuple(dict.fromkeys((memory.home, memory.project.scope)))
    scopes = scopes_of(question, memory.access, homes, memory.design)
    chosen = choose(plan, _asker(memory, question), scopes, memory.design, memory.access, tools)
    made = assemble(plan, chosen, memory.design.lanes, memory._writer.digest, tools.count_tokens)
    asked = fingerprint(plan, question.task, memory.design.name)
    context = replace(made, receipt="r" + new_id(tools.clock())[1:], fingerprint=asked)
    _leave_receipt(memory, context, chosen, question, scopes, (time.perf_counter() - started) * 1000)
    return context


def _asker(memory: Opened, question: Query) -> Callable[[str | None], Recall]:
    def ask(scope: str | None) -> Recall:
        return memory._ask(question if scope is None else replace(question, scope=scope))[0]

    return ask


def _leave_receipt(
    memory: Opened, context: Context, chosen: Chosen, question: Query, scopes: tuple[str, ...], ms: float
) -> None:
    """What was shown, and the exact text: in the log before the caller has it."""
    found = Recall(question.text, context.items, context.empty_because, (), scopes, context.receipt)
    line = receipt_for(found, ms, question.session, memory.access, memory._tools)
    shown = dict(line.shown)
    if context.items:  # a conflict that is told names both sides
        told = (record.id for clash in chosen.clashes for record in (clash.a, clash.b))
        shown = {**shown, **{id: 0.0 for id in told if id not in shown}}
    lanes = {item.record.id: item.lane for items in (*chosen.lanes.values(), chosen.protected) for item in items}
    memory._writer.note(replace(line, shown=tuple(shown.items()), rendered=rendered(context, lanes)))
    memory._writer.flush()
    ids = [hit.record.id for hit in context.items]
    memory.bus.emit("memory:search", query=question.text, results=len(ids), ids=ids)


def shown_again(memory: Opened, receipt: str) -> Context:
    """What a receipt stands for: the exact text that went into the prompt, and the memories in it as they are now."""
    memory._writer.flush()
    line = receipt_of(receipt, memory.access, memory._tools.store)
    scores = dict(line.shown)
    if line.rendered is None:
        records = memory._tools.store.get(list(scores), Where(memory.access))
        hits = tuple(Hit(record, scores[record.id]) for record in records)
        return Context("", hits, receipt=line.id, empty_because="that was a recall; nothing was put into a prompt")
    kept = line.rendered
    records = memory._tools.store.get([id for id, _ in kept["items"]], Where(memory.access))
    exact = is_exact(kept["text"], kept["digest"])
    return Context(
        kept["text"],
        tuple(Hit(record, scores.get(record.id, 0.0)) for record in records),
        kept["tokens"],
        kept["budget"],
        kept["ratio"],
        line.id,
        tuple(kept["left_out"]),
        line.empty_because if exact else "a secret was taken out of this text before it was kept",
        kept["stable"],
        kept["lanes"],
        kept.get("fingerprint", {}),
    )
