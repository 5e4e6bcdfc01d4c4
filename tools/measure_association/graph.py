"""What a walk over links costs: a large store with ten links for each memory, a hub among them, and a question that cascades."""

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from bench.corpus import Corpus
from bench.speed import Measure, cpu_ms, folder
from memorist import Memory
from memorist.design import Design
from memorist.designs import HEBBIAN
from memorist.recall.stages.cascade import Cascade
from memorist.recall.stages.keep import Believed
from memorist.records import LINK_KINDS, Link
from memorist.store.nouns import Commit

EACH = 10  # links of a memory, and as many that lead to it
ASKED = 60
AT_ONCE = 20_000  # links in one transaction
TAGS = 5_000
OF_HUB = 0.1  # of the links, those of one memory


def cascading(base: Design, stage: Cascade) -> Design:
    """The design with that stage behind what is believed."""
    place = next(n for n, each in enumerate(base.recall) if isinstance(each, Believed)) + 1
    return replace(base, name="cascading", recall=(*base.recall[:place], stage, *base.recall[place:]), associates=True)


def linked(size: int) -> Iterator[Measure]:
    """A cascade of two steps over so many memories and ten times as many links; what a hub costs; and what `used` costs more."""
    with folder() as place, Memory(place / "ours.db", embed="none", design=HEBBIAN) as memory:
        ids = _filled(memory, size)
        asking = Corpus(2)
        asked = [asking.question() for _ in range(ASKED)]
        plain, two = _cost(memory, HEBBIAN, asked), _cost(memory, cascading(HEBBIAN, Cascade()), asked)
        one = _cost(memory, cascading(HEBBIAN, Cascade(depth=1)), asked)
        links = f"{EACH * size:,} links"
        detail = f"one step {one - plain:.1f} ms; the recall without it {plain:.1f} ms"
        yield Measure(f"cascade of two steps, {size:,} memories, {links}", two - plain, "ms CPU", 15, detail=detail)
        spent = cpu_ms(lambda id: memory.related(id), [ids[0]] * 20) / 20
        yield Measure(f"related, of a memory with {int(EACH * size * OF_HUB):,} links", spent, "ms CPU", 15)
        far = random.Random(5).sample(ids, 20)
        yield Measure("path between two memories", cpu_ms(lambda id: memory.path(id, ids[-1]), far) / 20, "ms CPU")
        yield _use(memory, asked)


def _filled(memory: Memory, size: int) -> list[str]:
    """Memories with a tag each, and links of all kinds between them; the first is a hub."""
    pick = random.Random(3)
    texts = Corpus(1).memories(size)
    drafts = [{"text": text, "tags": [f"tag{pick.randrange(TAGS)}"]} for text in texts]
    ids = [str(outcome.id) for outcome in memory.remember_many(drafts)]
    kinds = [kind for kind in LINK_KINDS if kind != "supersedes"]
    links = [
        Link(
            ids[0] if n < EACH * size * OF_HUB else pick.choice(ids),
            pick.choice(ids),
            pick.choice(kinds),
            pick.random(),
        )
        for n in range(EACH * size)
    ]
    store = memory._tools.store
    for start in range(0, len(links), AT_ONCE):  # a journal of a million links would only take longer to make
        with store.transaction():
            store.write(Commit(links=links[start : start + AT_ONCE]))
    return ids


def _cost(memory: Memory, design: Design, asked: list[str]) -> float:
    """Milliseconds of a question under that design, once what it reads first is read."""
    memory.design = design
    for text in asked[:10]:
        memory.explain(text)
    return cpu_ms(memory.explain, asked) / len(asked)


def _use(memory: Memory, asked: list[str]) -> Measure:
    """What it costs more to tie five memories that were used together."""
    costs = []
    for design in (HEBBIAN, replace(HEBBIAN, name="tying", associates=True)):
        memory.design = design
        answers = {answer.receipt: [hit.id for hit in answer] for answer in map(memory.recall, asked[:20])}
        told = [receipt for receipt, ids in answers.items() if len(ids) > 1]
        costs.append(cpu_ms(partial(_told, memory, answers), told) / max(1, len(told)))
    return Measure("used, five memories tied together: more than without", costs[1] - costs[0], "ms CPU")


def _told(memory: Memory, answers: dict[str, list[str]], receipt: str) -> None:
    memory.used(receipt, ids=answers[receipt])


if __name__ == "__main__":
    for measure in linked(100_000):
        print(measure.name, round(measure.value, 2), measure.unit, measure.detail or "")
