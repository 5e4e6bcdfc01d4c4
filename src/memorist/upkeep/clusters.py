"""A job that finds memories which belong together: communities among the neighbours of each place.

Labels spread along the links between neighbours, weighted by their cosine, until each memory has the label of most
memories near it. A label that at least four share is a cluster. Its head is a record of kind `cluster`, to which its
members are linked by `in_cluster`. A later run keeps the head of a cluster that is mostly the same, updates what
changed, and archives heads without members: clusters are replaced and never pile up.

A head holds no text of its members, only the number of the central one, so nothing erased survives in a head. Its
centroid is not stored either: it is derived from vectors that are themselves derived.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from memorist.access import Access
from memorist.design import Proposal, Tools, itself
from memorist.lazy import dataclass
from memorist.records import Link, Provenance, Record, Times, new_id
from memorist.remember.authority import status_of, trust_of
from memorist.remember.changes import Changes
from memorist.store.nouns import parts
from memorist.store.where import Order, Where
from memorist.upkeep.retain import memories
from memorist.upkeep.survey import Overview, Survey

if TYPE_CHECKING:
    import numpy as np

BELONGS = 0.6  # the lowest cosine along which a label spreads
SMALLEST = 4  # memories of a cluster
ROUNDS = 12  # of spreading labels; most are stable after five
HEADS_AT_ONCE = 200  # heads whose links are read together
CLUSTERED = "clustered"  # the verb in the journal
LIE_NEAR = "they lie near one another in meaning"


@dataclass(slots=True)
class Community:
    """A cluster as it should be."""

    head: str  # its id
    centre: int  # the number of the central memory
    members: Mapping[str, float]  # id → mean cosine to the others


@dataclass(frozen=True, slots=True)
class Clusters:
    """Finds clusters anew and updates heads and links to match."""

    survey: Survey | None = None
    name: ClassVar[str] = "clusters"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        seen = (self.survey or Survey())(who, tools)
        if not seen.whole:  # with only some of the neighbours, clusters would be torn apart
            return Proposal(CLUSTERED, itself, LIE_NEAR, [])
        heads = _heads(who, tools)
        homes = dict(_memberships(list(heads), who, tools))
        alive = {brief.id for brief in tools.store.briefs(memories(who, lambda kind: kind.recalled))}
        shapes = _named(communities(seen, alive), homes, tools)
        wanted = {member: shape for shape in shapes for member in shape.members}
        act = _Act(wanted, {shape.head: shape for shape in shapes})
        return Proposal(CLUSTERED, itself, LIE_NEAR, act.concerned(heads, homes), fill=act)


@dataclass(frozen=True, slots=True)
class _Act:
    """Applies the clusters to one memory or one head."""

    wanted: Mapping[str, Community]  # by member id
    kept: Mapping[str, Community]  # by head id

    def concerned(self, heads: Mapping[str, Record], homes: Mapping[str, str]) -> list[str]:
        """Members that join, move or leave, then heads that change or have lost all members."""
        moved = [id for id, shape in self.wanted.items() if homes.get(id) != shape.head]
        gone = [id for id in homes if id not in self.wanted]
        return [*moved, *gone, *(id for id, head in heads.items() if self._is_stale(head))]

    def _is_stale(self, head: Record) -> bool:
        return head.id not in self.kept or head.data.get("centre") != self.kept[head.id].centre

    def __call__(self, record: Record, changes: Any) -> None:
        if record.kind == "cluster":
            return self._head(record, changes)
        shape, store = self.wanted.get(record.id), changes.by.store
        links = [link for link in store.links(changes.by.where, [record.id], "in_cluster") if link.a == record.id]
        for link in links:
            if shape is None or link.b != shape.head:
                changes.unlink(record, link, LIE_NEAR)
        if shape is not None and all(link.b != shape.head for link in links):
            self._must_be_there(shape, record, changes)
            changes.link(
                record, Link(record.id, shape.head, "in_cluster", round(shape.members[record.id], 2)), LIE_NEAR
            )

    def _head(self, head: Record, changes: Changes) -> None:
        shape = self.kept.get(head.id)
        if shape is None:
            new = replace(head, state="archived", reason="nothing belongs to it any more")
        else:
            new = replace(head, text=_told(shape), data={**head.data, "centre": shape.centre})
        if new != head:
            changes.put(CLUSTERED, head, changes.stamped(head, new), LIE_NEAR)

    def _must_be_there(self, shape: Community, member: Record, changes: Changes) -> None:
        """Adds the head together with its first member."""
        if changes.by.store.get([shape.head], changes.by.where):
            return
        changes.put("added", None, changes.by.writer.clean(_head_of(shape, member, changes)), LIE_NEAR)


def _head_of(shape: Community, member: Record, changes: Changes) -> Record:
    who, now = changes.by.access, changes.now
    trust = trust_of(who.origin)
    return Record(
        id=shape.head,
        space=member.space,
        scope=member.scope,
        home=member.home,
        kind="cluster",
        text=_told(shape),
        data={"centre": shape.centre},
        times=Times(now, now, now),
        provenance=Provenance(who.actor, who.surface),
        origin=who.origin,
        trust=trust,
        status=status_of(trust),
    )


def _told(shape: Community) -> str:
    return f"memories like [id:{shape.centre}]"


# ---------------------------------------------------------------- what is there


def _heads(who: Access, tools: Tools) -> dict[str, Record]:
    where = Where(who).also("state", "eq", "active").also("kind", "eq", "cluster")
    return {record.id: record for record in tools.store.find(where, Order("number", ascending=True))}


def _memberships(heads: Sequence[str], who: Access, tools: Tools) -> Iterator[tuple[str, str]]:
    """Pairs of a member and its head."""
    for some in parts(heads, HEADS_AT_ONCE):
        yield from ((link.a, link.b) for link in tools.store.links(Where(who), list(some), "in_cluster"))


def _named(found: Sequence[tuple[int, dict[str, float]]], homes: Mapping[str, str], tools: Tools) -> list[Community]:
    """The clusters, each with the head that most of its members had, if no other cluster has it; the largest clusters
    choose first."""
    sizes, taken = Counter(homes.values()), set[str]()
    shapes = []
    for centre, members in sorted(found, key=lambda each: (-len(each[1]), each[0])):
        votes = Counter(homes[id] for id in members if id in homes)
        head = next(
            (head for head, count in votes.most_common() if head not in taken and 2 * count > sizes[head]), None
        )
        taken |= {head} if head else set()
        shapes.append(Community(head or new_id(tools.clock()), centre, members))
    return shapes


# ---------------------------------------------------------------- communities


def communities(seen: Overview, alive: Collection[str]) -> list[tuple[int, dict[str, float]]]:
    """The clusters: for each the number of its central memory, and its members by id with their mean cosine. Memories
    that earlier jobs of the night archived are left out."""
    import numpy as np

    if seen.near is None or seen.cosines is None:
        return []
    rows = np.repeat(np.arange(len(seen)), seen.near.shape[1])
    others, weights = seen.near.ravel(), seen.cosines.ravel()
    real = (others >= 0) & (weights >= BELONGS)
    a, b, w = rows[real], others[real].astype(np.int64), weights[real].astype(np.float64)
    a, b, w = np.concatenate((a, b)), np.concatenate((b, a)), np.concatenate((w, w))  # either may list the other
    labels = _spread(a, b, w, len(seen))
    inside = labels[a] == labels[b]
    pull = np.bincount(a[inside], w[inside], len(seen))
    count = np.maximum(1, np.bincount(a[inside], minlength=len(seen)))
    found = []
    order = np.argsort(labels, kind="stable")
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    for group in np.split(order, cuts):
        members = [row for row in group.tolist() if seen.ids[row] in alive] if len(group) >= SMALLEST else []
        if len(members) >= SMALLEST:
            centre = max(members, key=lambda row: (pull[row], -row))
            found.append((seen.numbers[centre], {seen.ids[row]: float(pull[row] / count[row]) for row in members}))
    return found


def _spread(a: "np.ndarray", b: "np.ndarray", w: "np.ndarray", size: int) -> "np.ndarray":
    """The label of each row once labels are stable: the one with the most weight around it, the smallest among equals.
    A row's own label counts too, so that two rows that only have each other do not swap labels for ever."""
    import numpy as np

    labels = np.arange(size)
    own = np.arange(size)
    for _ in range(ROUNDS):
        at, to, by = (
            np.concatenate((a, own)),
            np.concatenate((labels[b], labels)),
            np.concatenate((w, np.full(size, 0.5))),
        )
        order = np.lexsort((to, at))
        at, to, by = at[order], to[order], by[order]
        first = np.flatnonzero(np.concatenate(([True], (at[1:] != at[:-1]) | (to[1:] != to[:-1]))))
        sums, at, to = np.add.reduceat(by, first), at[first], to[first]
        best = np.lexsort((to, -np.round(sums, 6), at))
        new = to[best][np.searchsorted(at[best], own)]
        if np.array_equal(new, labels):
            break
        labels = new
    return labels
