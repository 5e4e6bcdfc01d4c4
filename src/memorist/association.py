"""The verbs of `Memory` about how memories are related:
link, unlink, links · related, path, similar."""

import builtins

from memorist import checks, recall
from memorist.conversation import Conversation
from memorist.records import Hit, Link, LinkKind, Outcome, Record, Reference
from memorist.remember.strengthen import UsedTogether

DEEPEST_WALK = 4  # steps; almost no weight is left beyond them


class Association(Conversation):
    """An open memory with what leads from one memory to another."""

    def link(
        self,
        a: Reference,
        b: Reference,
        kind: LinkKind = "relates_to",
        *,
        weight: float = 1.0,
        evidence: str | None = None,
    ) -> Outcome:
        """Relates two memories.

        a, b: the memories; in `supersedes`, `a` is the newer one · kind: the relation
        weight: how strong it is, from 0 to 1 · evidence: what shows it
        """
        return self._relate(a, b, kind, weight, evidence)

    def unlink(self, a: Reference, b: Reference, kind: LinkKind = "relates_to") -> Outcome:
        """Removes the relation of that `kind` between the memories `a` and `b`."""
        return self._relate(a, b, kind, None, None)

    def links(self, id: Reference) -> builtins.list[Link]:
        """The relations of the memory `id`, to others that may be read."""
        caller = self._caller
        return caller.store.links(caller.where, [self._must_get(id).id])

    def related(self, id: Reference, *, depth: int = 2, limit: int = 10) -> builtins.list[Hit]:
        """What hangs together with the memory `id`, the nearest first, `limit` at most: along links in at most `depth` steps, and
        from two steps on through tags, files and names that few memories share. `why` names the way, and the score is what
        arrives over it; what is superseded leads to what replaced it. What nobody vouches for comes last."""
        steps, limit = checks.whole(depth, "depth", 1, DEEPEST_WALK), checks.whole(limit, "limit", 1, 1000)
        record = self._must_get(id)
        return recall.walk.related(record, limit, self._walk(recall.walk.Manner(depth=steps, fan=50), record))

    def path(self, a: Reference, b: Reference) -> builtins.list[Hit]:
        """The memories that lead from `a` to `b`, both included, over links and over tags, files and names that few share;
        `why` says by what each follows the one before. Empty if no chain of a few steps connects them."""
        one, other = self._both(a, b)
        return recall.walk.path(one, other, self._walk(recall.walk.Manner(fan=50), one, other))

    def similar(self, id: Reference, *, limit: int = 5) -> builtins.list[Hit]:
        """The memories that are most like the memory `id`, by words and meaning together, `limit` at most."""
        limit = checks.whole(limit, "limit", 1, 1000)
        record, tools = self._must_get(id), self._caller.tools
        return recall.alike.similar(record, limit, self.access, self._homes, self.design, tools)

    def _walk(self, manner: "recall.walk.Manner", *records: Record) -> "recall.walk.Journey":
        """A walk over everything this access may read. A label counts only in the scopes that queries here read, or in
        those of these memories."""
        caller = self._caller
        usual = recall.scopes.scopes_of(recall.pipeline.Query(""), self.access, self._homes, self.design, caller.store)
        scopes = dict.fromkeys((*usual, *(record.scope for record in records)))
        layers = dict.fromkeys(caller.tools.kinds[kind].layer for kind in ("fact", *(each.kind for each in records)))
        shelves = recall.scopes.shelves_in(scopes, layers, self.access)
        return recall.walk.Journey(manner, caller.where, shelves, caller.now(), caller.store)

    def _credit(self, receipt: str, ids: builtins.list[str], batch: str | None) -> None:
        """Links memories that were useful for the same query, in the background, if the design does that."""
        self._slices.together(UsedTogether(receipt, tuple(ids), batch), self.design, self.access)
