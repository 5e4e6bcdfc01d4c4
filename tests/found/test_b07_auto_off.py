"""B7: `/memory auto off` went on storing what rules found, and promoted it once it was on again."""

from dataclasses import replace

import pytest

from memorist import Memory
from memorist.designs import BALANCED, CURATED
from memorist.seeds.curated import slash

SAID = "We decided to use Postgres 16 for staging."


@pytest.fixture
def curated(memory: Memory) -> Memory:
    memory.design = replace(CURATED, due=BALANCED.due)
    return memory


def promoted(memory: Memory) -> int:
    return sum(len(report.changed) for report in memory.upkeep() if report.verb == "promote")


@pytest.mark.covers("B7", "S3-22", "S3-33")
def test_nothing_is_stored_while_it_is_off_and_nothing_of_it_is_promoted_later(curated: Memory) -> None:
    assert slash(curated, "/memory auto off").text == "findings are neither stored nor promoted"
    for session in ("s1", "s2"):
        [told] = curated.extract(SAID, session=session, agent=session)
        assert told.outcome == "refused" and "`/memory auto on`" in told.because
    assert curated.count() == 0 and curated.status()["records"] == 0
    assert slash(curated, "/memory auto on").text == "findings are promoted by their points"
    assert (promoted(curated), curated.count()) == (0, 0)


@pytest.mark.covers("B7", "S3-22")
def test_what_was_found_before_waits_until_it_is_on_again(curated: Memory) -> None:
    for session in ("s1", "s2"):
        curated.extract(SAID, session=session)
    slash(curated, "/memory auto off")
    assert promoted(curated) == 0
    slash(curated, "/memory auto on")
    assert promoted(curated) == 1


@pytest.mark.covers("B7", "S3-33")
def test_it_is_off_for_its_project_alone_and_a_person_still_remembers(curated: Memory) -> None:
    slash(curated, "/memory auto off")
    assert slash(curated, "/remember One queue for all").text.startswith("added")
    work = curated.through(
        replace(curated.access, reads=("*", "project/other"), writes=("*", "project/other"), home=None)
    )
    work.home = "project/other"
    assert [outcome.outcome for outcome in work.extract(SAID, session="s1")] == ["added"]
    curated.home = "task/7"  # a task of that project
    assert [outcome.outcome for outcome in curated.extract(SAID, session="s1")] == ["refused"]
