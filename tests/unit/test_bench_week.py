"""The scripted week: what it consists of, and a few of its prompts through the program."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import week


def test_the_week_has_200_prompts_and_marks_only_what_is_known_by_then() -> None:
    repositories = [week.load(name) for name in week.NAMES]
    assert sum(len(each.prompts) for each in repositories) == 200
    assert 30 <= sum("talk" in line for each in repositories for line in each.prompts) <= 40
    assert [each.half for each in repositories].count("open") == 2
    for each in repositories:
        assert 30 <= len(each.texts) <= 45
        known: set[str] = set()
        for session in each.sessions:
            known.update(line["memory"] for line in session.before)
            for line in session.lines:
                assert known.issuperset(line.get("need", ())), line
                assert not ("talk" in line and "need" in line)
                known.update(line.get("says", ()))
                known.update([line["memory"]] if "memory" in line else ())


def test_a_few_prompts_are_told_what_they_need_and_nothing_of_another_repository(tmp_path: Path) -> None:
    repositories = [week.load(name) for name in ("api", "cli")]
    some = [replace(each, sessions=each.sessions[:1]) for each in repositories]
    outcome = week.run(some, tmp_path)
    assert len(outcome.prompts) == sum(len(each.prompts) for each in some) >= 8
    assert outcome.foreign == 0 and not any(one.foreign for one in outcome.prompts)
    assert outcome.same == [True, True], "a start says the same while nothing changed"
    assert week.silent(outcome.prompts) == 100
    assert week.needed(outcome.prompts) >= 30 and week.precision(outcome.prompts) >= 20
    tests = next(one for one in outcome.prompts if one.prompt["prompt"].startswith("run the test suite"))
    assert tests.here[:1] == ["a2"] and 0 < tests.tokens < 250


def test_what_is_counted() -> None:
    told = [
        week.Told("open", {"prompt": "a", "need": ["m1", "m2"]}, here=["m1", "m3"], before={"m2"}, tokens=80),
        week.Told("open", {"prompt": "b", "need": ["m4"]}, here=[None], tokens=20),
        week.Told("kept aside", {"prompt": "thanks", "talk": True}),
    ]
    assert week.precision(told) == pytest.approx(100 / 3)
    assert week.needed(told) == pytest.approx(200 / 3)
    assert week.silent(told) == 100
    [precision, needed, *_, foreign, changed] = week.measures(
        week.Outcome(told, starts=[100], same=[True, False], foreign=1)
    )
    assert "open 33.3" in precision.detail and "open 66.7" in needed.detail
    assert (foreign.value, foreign.kept, changed.value) == (1, False, 1)
