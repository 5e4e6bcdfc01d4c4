"""What a person has to agree to, and the queue in which it waits until somebody can be asked.

Where a confirmer was handed in, it is asked at once, before anything is locked; without one, and where it says "queue", the
question becomes a row in state `asks` and nothing else changes. The same question is asked once, the queue is bounded, and
a question that was decided is emptied: only that there was one stays.

What an approval does is in `deciding.py`; this module only asks, so that everything that writes can ask.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from memorist.access import Access
from memorist.design import Answer, Ask
from memorist.errors import Invalid, NotFound
from memorist.records import Outcome, Report
from memorist.remember.changes import Author
from memorist.store.nouns import Finding, Run
from memorist.store.protocol import Store
from memorist.store.where import canonical
from memorist.text.visible import quoted

JOB = "question"
MOST = 200  # questions that wait in one space
LONGEST = 200_000  # characters of one question: nobody reads more
ANSWERS = ("approve", "deny", "queue")
FULL = f"{MOST} questions wait for a person already; `memorist review` lists them, decide some first"


@dataclass(frozen=True, slots=True)
class Pending:
    """One question that waits: what would be done, because of what, who asked and when."""

    id: str
    at: datetime
    verb: str
    summary: str
    because: str
    scope: str
    actor: str
    surface: str
    danger: str | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What came of asking: whether it was approved, and the id of the question if it waits."""

    answer: Literal["approve", "deny", "queue", "full"]
    summary: str
    id: str | None = None

    @property
    def approved(self) -> bool:
        return self.answer == "approve"

    @property
    def because(self) -> str:
        if self.answer == "queue":
            return f"a person has to agree first: {self.summary}; `memorist review {self.id}` decides"
        return FULL if self.answer == "full" else f"declined: {self.summary}"

    def outcome(self, id: str | None = None) -> Outcome:
        """For a verb that did nothing because of this."""
        named: Literal["needs_consent", "refused"] = "needs_consent" if self.answer == "queue" else "refused"
        return Outcome(named, self.because, id, pending=self.id)

    def report(self, verb: str) -> Report:
        return Report(verb, advice=self.because, pending=self.id)


# ---------------------------------------------------------------- asking


def ask(question: Ask, scope: str, because: str, by: Author) -> Said:
    """Asks the confirmer if there is one, else puts the question into the queue. Not inside of a transaction: a person may
    take their time."""
    answer = "queue" if by.tools.confirm is None else _answered(by.tools.confirm(question))
    if answer != "queue":
        return Said(answer, question.summary)
    return queue(question, scope, because, by)


def queue(question: Ask, scope: str, because: str, by: Author) -> Said:
    """Puts the question into the queue, whoever could be asked; also inside of a transaction, and with it. `scope` is the
    place it is about: who may not read that does not see the question."""
    now = by.now()
    content = {
        "verb": question.verb, "summary": question.summary, "danger": question.danger, "because": because,
        "scope": scope, "surface": by.access.surface, "details": dict(question.details),
    }  # fmt: skip
    if len(canonical(content)) > LONGEST:
        raise Invalid(f"a question for a person has at most {LONGEST:,} characters; ask for less at once")
    digest = by.writer.digest(canonical([question.verb, scope, dict(question.details)]))
    with by.writer.transaction():
        waiting = by.store.questions(by.access.space)
        known = next((run for run in waiting if run.checkpoint.get("digest") == digest), None)
        if known is None and len(waiting) >= MOST:
            return Said("full", question.summary)
        fresh = Run(
            0,
            by.access.space,
            JOB,
            "asks",
            by.access.actor,
            now,
            now,
            now,
            checkpoint={"digest": digest},
            question=content,
        )
        number = known.id if known else by.writer.save_run(fresh)
    return Said("queue", str(by.writer.redact(question.summary)), f"q{number}")


def _answered(said: Any) -> Answer:
    if said is True or said is False:
        return "approve" if said else "deny"
    for answer in ANSWERS:
        if said == answer:
            return answer  # type: ignore[return-value]
    raise Invalid(f"a confirmer answers {', '.join(ANSWERS)}, True or False, not {quoted(said)}; nothing was changed")


# ---------------------------------------------------------------- the queue


def waiting(who: Access, store: Store) -> list[Pending]:
    """The questions about places that this access may read, oldest first."""
    return [shown(run) for run in store.questions(who.space) if who.may_read(_scope(run))]


def find(id: str, who: Access, store: Store) -> Run:
    """The question of that id, if it waits and is about a place that may be read."""
    wanted = id.strip().lower().removeprefix("q") if isinstance(id, str) else id
    for run in store.questions(who.space):
        if str(run.id) == str(wanted) and who.may_read(_scope(run)):
            return run
    raise NotFound(f"no question {quoted(id)} waits here; `memorist review` lists those that do")


def shown(run: Run) -> Pending:
    asked = dict(run.question or {})
    return Pending(
        id=f"q{run.id}",
        at=run.at,
        verb=str(asked.get("verb", "")),
        summary=str(asked.get("summary", "")),
        because=str(asked.get("because", "")),
        scope=_scope(run),
        actor=run.owner,
        surface=str(asked.get("surface", "")),
        danger=asked.get("danger"),
        details=asked.get("details", {}),
    )


def close(run: Run, state: Literal["done", "denied"], batch: str | None, by: Author) -> None:
    """Takes the question out of the queue; nothing of what it said is kept."""
    now = by.now()
    by.writer.save_run(replace(run, state=state, batch=batch, question=None, checkpoint={}, lease=now, updated=now))


def _scope(run: Run) -> str:
    return str((run.question or {}).get("scope", ""))


def checked(store: Store, space: str) -> list[Finding]:
    """For the doctor: how many questions wait, and whether all of them can still be read."""
    runs = store.questions(space)
    broken = [f"q{run.id}" for run in runs if not shown(run).verb or not shown(run).summary]
    if broken:
        advice = "deny them with `memorist review ID --decide deny`"
        return [Finding(False, "questions", f"{', '.join(broken)} cannot be read", advice)]
    return [Finding(True, "questions", f"{len(runs):,} wait for a person")] if runs else []
