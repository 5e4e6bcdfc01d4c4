"""Acceptance 10: what contradicts is flagged, and what only shares letters, words or a kind is not."""

from collections.abc import Iterator

import pytest

from memorist import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", design="hebbian") as memory:
        yield memory


def flagged(memory: Memory, *texts: str) -> int:
    for text in texts:
        memory.remember(text, kind="warning")
    return len(memory.conflicts())


@pytest.mark.covers("W3-6", "S3-24")
def test_a_reason_contradicts_a_prohibition(memory: Memory) -> None:
    assert flagged(memory, "The cluster is large because we use Kafka", "Don't use Kafka") == 1
    [found] = memory.conflicts()
    assert {found.a.text, found.b.text} == {"The cluster is large because we use Kafka", "Don't use Kafka"}


@pytest.mark.covers("W3-6")
@pytest.mark.parametrize(
    "texts",
    [
        ("Never deploy on Fridays", "Never ever deploy on Fridays", "Don't deploy on Fridays"),
        ("Disallow uploads for guests", "Uploads are disallowed for guests"),
        ("Always write tests", "Never log passwords"),
        ("Use Kafka", "Don't use Redis"),
        ("The build failed because Kafka was down", "Don't use Kafka topics"),
        ("Don't use Kafka", "Kafka's user guide is useful"),
    ],
)
def test_agreement_and_other_subjects_are_no_conflict(memory: Memory, texts: tuple[str, ...]) -> None:
    assert flagged(memory, *texts) == 0
