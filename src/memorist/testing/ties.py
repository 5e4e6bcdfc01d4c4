"""What every store promises about walks over links: who is linked with whom, how strongly, and who shares a rare word."""

from memorist.access import Access
from memorist.kinds import MEMORY
from memorist.records import Link
from memorist.store.nouns import TIES_AT_MOST, Commit, Shelf
from memorist.store.protocol import Store
from memorist.store.where import Where
from memorist.testing.records import ATLAS, EVERYWHERE, a_record, stored
from memorist.text.words import terms

ON_ATLAS = Shelf("default", ATLAS, MEMORY)


class TieContract:
    """The part of the contract that is about links."""

    def test_neighbours_are_the_strongest_that_fit(self, store: Store) -> None:
        hub, near, far, other, gone = stored(
            store, a_record("hub"), a_record("near"), a_record("far", kind="note"), a_record("other", scope="project/b"),
            a_record("gone", state="archived"),
        )  # fmt: skip
        links = [Link(hub.id, each.id, "relates_to", 1.0) for each in (other, gone, hub)]
        links += [Link(hub.id, near.id, "relates_to", 0.4, "seen"), Link(far.id, hub.id, "contradicts", 0.7)]
        store.write(Commit(links=links))
        here = Where(Access(reads=(ATLAS,)))
        strongest, weaker = store.neighbours([hub.number], here, 9)
        assert strongest == (hub.number, far.number, "contradicts", 0.7, None, False, 2)
        assert weaker == (hub.number, near.number, "relates_to", 0.4, "seen", True, 2)
        assert store.neighbours([hub.number, hub.number], here, 1) == [strongest]  # the filter comes before the limit
        assert [tie.there for tie in store.neighbours([hub.number], here.also("kind", "ne", "note"), 1)] == [
            near.number
        ]
        assert [tie.there for tie in store.neighbours([near.number, 99], here, 9)] == [hub.number]
        assert store.neighbours([], here, 9) == [] == store.neighbours([gone.number], Where(Access(reads=())), 9)
        everything = {tie.there for tie in store.neighbours([hub.number], Where(EVERYWHERE), 9)}
        assert everything == {near.number, far.number, other.number}

    def test_what_is_superseded_leads_to_what_replaced_it(self, store: Store) -> None:
        old, mid, new = stored(
            store, a_record("old", state="superseded"), a_record("mid", state="superseded"), a_record("new")
        )
        store.write(Commit(links=[Link(new.id, mid.id, "supersedes"), Link(mid.id, old.id, "supersedes")]))
        here = Where(EVERYWHERE)
        assert [(tie.here, tie.there) for tie in store.neighbours([old.number], here, 9)] == [(old.number, mid.number)]
        assert [tie.there for tie in store.neighbours([mid.number], here, 9)] == [new.number]
        assert store.neighbours([new.number], here, 9) == []

    def test_a_record_with_very_many_links_is_read_in_part(self, store: Store) -> None:
        hub, *leaves = stored(store, a_record("hub"), *(a_record(f"leaf {n}") for n in range(TIES_AT_MOST + 5)))
        store.write(Commit(links=[Link(hub.id, leaf.id, "relates_to", 0.5) for leaf in leaves]))
        ties = store.neighbours([hub.number], Where(EVERYWHERE), 3)
        assert [tie.there for tie in ties] == [leaf.number for leaf in leaves[:-4:-1]]
        assert {tie.degree for tie in ties} == {TIES_AT_MOST}

    def test_records_share_a_rare_word(self, store: Store) -> None:
        first, second, note, _ = stored(
            store, a_record("kestrel nest"), a_record("a kestrel"), a_record("nest", kind="note"),
            a_record("kestrel nest", scope="project/b"),
        )  # fmt: skip
        here, nest = Where(EVERYWHERE), terms("nest")[0]
        assert store.sharing(["kestrel", nest, "absent"], [ON_ATLAS], here, 2) == {
            "kestrel": [second.number, first.number], nest: [note.number, first.number],
        }  # fmt: skip
        assert store.sharing(["kestrel"], [ON_ATLAS], here, 1) == {} == store.sharing([], [ON_ATLAS], here, 9)
        facts = here.also("kind", "eq", "fact")
        assert store.sharing([nest], [ON_ATLAS], facts, 2) == {nest: [first.number]}
        assert store.sharing(["kestrel"], [ON_ATLAS], Where(Access(reads=("project/b",))), 9) == {}
