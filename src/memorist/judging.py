"""The verbs of `Memory` that judge: what contradicts what, what is worth keeping, what somebody has to decide."""

import builtins
from collections.abc import Sequence
from functools import partial
from typing import Any

from memorist import checks
from memorist.errors import Invalid
from memorist.keeping import Keeping
from memorist.opened import Filter
from memorist.recall.stages.words import effective
from memorist.records import Outcome, Report
from memorist.remember import aliases as other_words
from memorist.remember import choosing, deciding, findings, finishing, pending, promoting, resolving
from memorist.remember.promotion import Weighed
from memorist.store.choices import Choices, chosen


class Judging(Keeping):
    """An open memory whose content can be judged."""

    # ------------------------------------------------------------ consent

    def review(
        self, id: str | None = None, *, decide: str | None = None
    ) -> builtins.list[pending.Pending] | Outcome | Report:
        """What waits for a person, oldest first, or one question of it; with `decide="approve"` what it asks for is done, as
        the act of whoever approves, and with `decide="deny"` it is dropped. Only a person's access approves."""
        self._must_be_on()
        if decide is None:
            store = self._tools.store
            return (
                pending.waiting(self.access, store)
                if id is None
                else [pending.shown(pending.find(id, self.access, store))]
            )
        if id is None:
            raise Invalid("name the question to decide, such as 'q3'; review() lists them")
        done = deciding.decide(id, decide, self.access, self._writer, self._tools)
        return self._tell(done) if isinstance(done, Outcome) else self._tell_all(done)

    # ------------------------------------------------------------ what contradicts what

    def conflicts(self, where: Filter | None = None, *, limit: int = 50) -> builtins.list[resolving.Dispute]:
        """Pairs of active memories that do not fit together, the newest first, until `resolve` says which one holds. A filter
        must fit both."""
        self._must_be_on()
        limit = checks.whole(limit, "limit", 1, 10_000)
        return resolving.disputes(self._where(where).also("state", "eq", "active"), limit, self._tools.store)

    def resolve(self, a: str | int, b: str | int, keep: str | int, *, because: str = "resolved on request") -> Outcome:
        """Closes a conflict: `keep` is "a", "b", "both", or one of the two by its number or id. The other one is superseded,
        and found by `as_of` and in the archive only; a memory that was superseded by mistake comes back this way."""
        self._must_be_on()
        find = partial(self._both, a, b)
        return self._tell(resolving.resolve(find, keep, because, self.access, self._writer, self._tools))

    # ------------------------------------------------------------ what is worth keeping

    def extract(
        self,
        text: str,
        *,
        session: str | None = None,
        agent: str | None = None,
        role: str | None = None,
        message: int | None = None,
    ) -> builtins.list[Outcome]:
        """Keeps what rules find in a text, at most eight findings of a message, as candidates in the scope of its session.
        What is found is a piece of the text; `promote` decides what becomes a memory of the project."""
        self._must_be_on()
        found = findings.keep(text, session, agent, role, message, self.access, self.home, self._tools, self._writer)
        return [self._tell(outcome) for outcome in found]

    def promote(
        self,
        id: str | int | None = None,
        *,
        scope: str | None = None,
        dry_run: bool = False,
        because: str = "promoted on request",
    ) -> Outcome | builtins.list[Weighed]:
        """Moves a memory to its project, or to `scope`; into global a person has to agree, and the user's own word confirms
        it too. Without an id the findings of the project are weighed: by the design, they are shown with their points,
        asked about, or moved as candidates."""
        self._must_be_on()
        reason, target = checks.label(because, "the reason"), self.home if scope is None else scope
        if id is None:
            found, report = promoting.all_of(
                self.design.promotion, target, self.access, self._writer, self._tools, checks.flag(dry_run, "dry_run")
            )
            if report is not None:
                self._tell_all(report)
            return found
        if dry_run:
            raise Invalid("dry_run weighs findings without promoting any; leave the id out")
        find = partial(self._must_get, id)
        return self._tell(promoting.promote(find, target, reason, self.access, self._writer, self._tools))

    def finish(
        self, scope: str, outcome: str = "done", *, keep: Sequence[str | int] = (), dry_run: bool = False
    ) -> Report:
        """Ends a task or a session: what `keep` names and what is pinned moves to the project, the rest goes to the archive.
        One `undo` takes it back."""
        self._must_be_on()
        named = [self._must_get(id) for id in checks.references(keep, "keep")]
        said = checks.label(outcome, "the outcome")
        flag = checks.flag(dry_run, "dry_run")
        return self._tell_all(
            finishing.finish(scope, said, named, self.home, self.access, self._writer, self._tools, flag)
        )

    # ------------------------------------------------------------ other words

    def alias(self, word: str, *means: str, remove: bool = False) -> Outcome:
        """Lets a word also find others, in this project and for designs that use aliases. With `remove` these are taken
        away again; without any named, all of them, and what the word means by default."""
        self._must_be_on()
        change = other_words.remove if checks.flag(remove, "remove") else other_words.add
        return change(word, means, self.home, self.access, self._writer)

    def aliases(self) -> dict[str, tuple[str, ...]]:
        """The words that also find others, in this project: its own, and the usual ones that it has not replaced."""
        self._must_be_on()
        return effective(self._choices().aliases)

    def _choices(self) -> Choices:
        """What was chosen for this project beside its memories."""
        return chosen(self._tools.store, self.space, self.access.must_read(self.home))

    def _choose(self, **values: Any) -> Choices:
        self._must_be_on()
        return choosing.change(self.home, self.access, self._writer, **values)
