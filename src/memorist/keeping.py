"""The verbs of `Memory` that keep a store in order: upkeep, compact, audit, status, backup, doctor."""

import builtins
from pathlib import Path
from typing import Any

from memorist import checks, opening
from memorist.errors import StoreUnavailable
from memorist.opened import Opened
from memorist.records import Report
from memorist.remember import consent, erase
from memorist.store.chain import Audit
from memorist.store.nouns import Finding
from memorist.upkeep import due, runner
from memorist.upkeep.retain import jumped
from memorist.upkeep.runner import jobs_of


class Keeping(Opened):
    """An open memory that can be looked after."""

    def upkeep(
        self, *, dry_run: bool = False, seconds: float | None = None, switch: bool = False
    ) -> builtins.list[Report]:
        """Runs what the design keeps in order, in short steps that can be interrupted; one report per job. Before it come the
        vectors that are missing; `switch` moves the store to this memory's embedder, also back to one it has left."""
        self._must_be_on()
        self._must_look_after()
        limit = None if seconds is None else checks.seconds(seconds, "seconds")
        reports = runner.run(jobs_of(self.design), self._author, dry_run, limit, switch)
        return [self._tell_all(report) for report in reports]

    def compact(self) -> dict[str, int]:
        """Shrinks the file to what it holds, and finishes an erasure that was interrupted. → bytes before and after."""
        self._must_look_after()
        self._writer.flush()
        before = self._tools.store.size().bytes
        self._tools.store.compact()
        left = "; ".join(erase.finish(self._author))
        if erase.checked(self._tools.store, self.space):
            raise StoreUnavailable(f"the file was compacted, but an erasure is not through: {left}")
        return {"before": before, "after": self._tools.store.size().bytes}

    def audit(self) -> Audit:
        """Verifies the journal's chain, its anchor, and that every record is the one last journalled."""
        self._must_look_after()
        return self._writer.audit()

    def status(self) -> dict[str, Any]:
        """What this memory is and holds."""
        tools, off = self._tools, self._off_because()
        facts = opening.status(tools.store, self.project, self.design, self.access, tools.meaning, off)
        return facts | self._monitor.shown() | self._upkeep_facts()

    def _upkeep_facts(self) -> dict[str, Any]:
        """When upkeep starts by itself, and whatever somebody should know or decide; what is in order is not mentioned."""
        tools, problem = self._tools, self._slices.problem
        questions = len(consent.waiting(self.access, tools.store))
        known = {"clock": jumped(tools), "upkeep_problem": problem, "questions": questions or None}
        return {"upkeep_due": due.shown(self.design.due)} | {name: fact for name, fact in known.items() if fact}

    def backup(self, path: str | Path) -> Path:
        """An online copy of the whole store, verified after it was made."""
        self._must_look_after()
        self._writer.flush()
        target = Path(path).expanduser()
        self._tools.store.backup(target)
        return target

    def doctor(self, *, repair: bool = False) -> builtins.list[Finding]:
        """Looks for what is wrong, and says what to do about it. `repair` builds the index anew where it is wrong."""
        self._must_look_after()
        repaired = self._tools.store.repair() if repair else []
        audit = self._writer.audit()
        detail = f"{audit.events:,} events, {audit.records:,} records" if audit.ok else "; ".join(audit.problems[:5])
        advice = None if audit.ok else "somebody changed the file, or it is damaged: compare with a backup"
        findings = [*self._tools.store.checkup(), *erase.checked(self._tools.store, self.space)]
        findings += consent.checked(self._tools.store, self.space)
        return [*repaired, *findings, Finding(audit.ok, "journal", detail, advice)]
