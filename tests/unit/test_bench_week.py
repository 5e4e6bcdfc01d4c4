"""The scripted weeks: what they consist of, and a few of their prompts through the program."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import week
from bench.week import Outcome, Shown, Told
from bench.week_script import FOUR, SIX, load, share, words


def test_the_weeks_have_414_prompts_and_mark_only_what_is_known_by_then() -> None:
    four, six = ([load(name) for name in names] for names in (FOUR, SIX))
    assert [sum(len(each.prompts) for each in some) for some in (four, six)] == [200, 214]
    assert {each.half for each in (*four, *six)} == {half for halves in week.GROUPS.values() for half in halves}
    for each in (*four, *six):
        known: set[str] = set()
        for session in each.sessions:
            known.update(line["memory"] for line in session.before)
            for line in session.lines:
                assert known.issuperset((*line.get("need", ()), *line.get("stale", ()))), line
                assert not ("talk" in line and "need" in line) and not {*line.get("need", ())} & {
                    *line.get("stale", ())
                }
                assert [*each.current(line)] == line.get("stale", []), "something holds instead"
                known.update(line.get("says", ()), [line["memory"]] if "memory" in line else ())


def test_what_holds_instead_of_something_outdated_was_said_later_and_is_about_the_same() -> None:
    found = {id: now for line in load("events").prompts for id, now in load("events").current(line).items()}
    assert found == {"e1": "v9", "e2": "v4", "e3": "v10", "e4": "v5", "e8": "v6"}


def test_a_few_prompts_are_told_what_they_need_and_nothing_of_another_repository(tmp_path: Path) -> None:
    repositories = [load(name) for name in ("api", "kitchen")]
    some = [replace(each, sessions=each.sessions[:1]) for each in repositories]
    outcome = week.run(some, tmp_path)
    assert len(outcome.prompts) == sum(len(each.prompts) for each in some) >= 8
    assert not any(one.foreign for one in (*outcome.starts, *outcome.prompts))
    assert outcome.same == [True, True], "a start says the same while nothing changed"
    assert not any(one.here for one in outcome.prompts if "talk" in one.prompt)
    tests = next(one for one in outcome.prompts if one.prompt["prompt"].startswith("run the test suite"))
    assert {"a2"} in [one.names for one in tests.here] and 0 < tests.tokens < 250 and tests.served == [True]
    assert {"k4", "k8"} <= {name for one in outcome.starts[1].here for name in one.names}


def test_a_line_is_named_by_what_it_has_the_most_words_of_and_by_all_of_one_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(week, "program", lambda *_: b'{"project": "project/x"}')
    work = week.Work(load("clinic"), tmp_path, ["in the Gasometer"])
    work.noted[1] = {"m1"}
    work.said += [
        {"o8": "a missed appointment costs 30 euros unless they call the day before"},
        {"o9": "30 doesn't hold up in court, so it's 20 euros for a missed appointment"},
        {"a": "tubs get a date", "b": "half a portion costs half"},
    ]
    page = """<project_memory>Reference data bcd
[1] The courier comes at 11:30.
[2, unconfirmed] our lawyer says 30 doesn't hold up in court, so it's 20 euros for a missed appointment
[3] 4 earlier turns, 2026-01-02 to 2026-01-02.
  - user: tubs get a date, and half a portion costs half &amp; no more
  - user: a missed appointment costs 30 euros unless they call the day before
[4] Lunch is at noon
End bcd</project_memory>"""
    told = work.told(page)
    assert [each.names for each in told.here] == [{"m1"}, {"o9"}, {"a", "b", "o8"}, set()]
    assert told.foreign == 0 and work.told("[1] on 14 June in the Gasometer").foreign == 1


@pytest.mark.parametrize(
    ("here", "start", "misled"),
    [
        (["old"], [], "alone"),
        (["old", "new"], [], "beside"),
        (["new"], [], ""),
        ([], ["[1] old"], "alone"),
        (["new"], ["[1] old"], "beside"),
        ([], ["[1] old", "[2] new"], "beside"),
        ([], ["[1] old", "[2, 2026-01-02] new"], ""),
        ([], ["[1, outdated] old"], ""),
    ],
)
def test_who_is_told_something_outdated_is_misled(here: list[str], start: list[str], misled: str) -> None:
    first = [Shown(frozenset([text.split()[-1]]), text) for text in start]
    then = [Shown(frozenset([name])) for name in here]
    before = frozenset(name for each in first for name in each.names)
    assert Told("six", start=first, here=then, before=before, current={"old": "new"}).misled == misled


def test_what_is_counted() -> None:
    m1, m3, none = (Shown(frozenset(names)) for names in (["m1"], ["m3"], []))
    told = [
        Told("open", {"prompt": "a", "need": ["m1", "m2"]}, here=[m1, m3], before=frozenset(["m2"]), tokens=80),
        Told("open", {"prompt": "b", "need": ["m4", "m1"]}, here=[none, m1], tokens=20),
        Told("open", {"prompt": "c", "need": ["m4"]}),
        Told("kept aside", {"prompt": "thanks", "talk": True}),
        Told("kept aside", {"prompt": "d"}, here=[m3]),
        Told("kept aside", {"prompt": "e", "says": {"m5": "e"}}),
    ]
    starts = [Told("open", {"need": ["m1"]}, here=[m1, m3], tokens=100, foreign=1)]
    rows = {row.name: row for row in week.measures(Outcome(told, starts, same=[True, False]))}
    found = {name.removeprefix("four: "): row.value for name, row in rows.items()}
    assert list(found.values()) == [pytest.approx(100 / 3), 0, 0, 60, 50, 100, 50, 100, 20, 1, 1], found
    assert "at least one 66.7" in rows["four: prompts told all that they need"].detail
    assert "0.0 of the 1 that say nothing" in rows["four: plain tasks that were told nothing"].detail
    assert rows["four: memories of another repository"].kept is False


def test_the_share_of_words_counts_each_of_the_first() -> None:
    assert share(words("Fish on Fridays, fish!"), {"fish", "on"}) == 0.75
