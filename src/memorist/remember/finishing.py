"""The end of a task or a session: what somebody wants to keep moves to its project, everything else goes to the archive.

Nothing is kept because it looks important: whoever finishes names it, or pinned it while it was at hand. Both steps are one
batch, so that one `undo` opens the task again as it was.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from memorist.design import Tools
from memorist.errors import Invalid
from memorist.records import Record, Report, Scope
from memorist.remember.changes import Author
from memorist.remember.many import Sweep, archived, portions
from memorist.store.where import Where

STAY = ("project", "user", "global")  # scope families that do not end
VERB = "finished"


def finish(
    scope: str,
    outcome: str,
    keep: Sequence[Record],
    target: str,
    by: Author,
    dry_run: bool = False,
) -> Report:
    """Salvages into `target`, then clears. What is said there already is not moved, and goes with the rest."""
    ends = by.access.must_write(scope)
    if Scope(ends).family in STAY:
        raise Invalid(f"{ends} does not end; finish a task/…, a session/… or another scope of a name of your own")
    stray = next((record for record in keep if record.scope != ends), None)
    if stray is not None:
        raise Invalid(f"memory {stray.number} lies in {stray.scope}, not in {ends}; promote it by itself")
    here = by.where.also("scope", "eq", ends).also("state", "eq", "active")
    wanted = list(dict.fromkeys([*(record.id for record in keep), *_pinned(here, by.tools)]))
    because = f"{ends} finished: {outcome}"
    goes_to = (
        by.access.must_write(target) if wanted else target
    )  # who may only write tasks can end one that leaves nothing
    move = Sweep("promoted", partial(_moved, scope=goes_to, because=because), because, here, by)
    clear = Sweep(VERB, partial(archived, because=because), because, here, by)
    if dry_run:
        saved = move.plan(wanted)
        rest = clear.plan([id for id in _ids(here, by.tools) if id not in {each.id for each in saved.changed}])
        return replace(rest, changed=(*saved.changed, *rest.changed), left={})
    report = _applied(move, wanted, Report(VERB))
    return _applied(clear, _ids(here, by.tools), replace(report, left={}))


def _pinned(here: Where, tools: Tools) -> list[str]:
    """Those whose pin counts: a text that comes with one, and that nobody vouches for, is not salvaged by it."""
    pins = here.also("pinned", "eq", True)
    return [*_ids(pins.also("trust", "ne", "low"), tools), *_ids(pins.also("status", "eq", "confirmed"), tools)]


def _ids(here: Where, tools: Tools) -> list[str]:
    return [brief.id for brief in tools.store.briefs(here)]


def _applied(sweep: Sweep, ids: Sequence[str], report: Report) -> Report:
    for some in portions(ids):
        report = sweep.step(some, report)
    return report


def _moved(record: Record, scope: str, because: str) -> Record:
    return replace(record, scope=scope, provenance=replace(record.provenance, confidence_because=because))
