"""docs/api.md and the code say the same: available verbs exist with the documented arguments, planned ones do not."""

import inspect
import re
from pathlib import Path

import pytest

from memorist import Memory

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
HEADING = re.compile(r"^### `(?P<name>\w+)\((?P<arguments>[^)]*)\)` · (?P<status>available|planned)$", re.M)
VERBS = {m["name"]: (m["arguments"], m["status"]) for m in HEADING.finditer(PAGE.read_text(encoding="utf-8"))}
AVAILABLE = sorted(name for name, (_, status) in VERBS.items() if status == "available" and name != "Memory")
PLANNED = sorted(name for name, (_, status) in VERBS.items() if status == "planned")
VALUES = {"bus", "design", "project", "home", "space", "access"}  # attributes a user may read; not verbs


def arguments_of(function: object) -> list[str]:
    names = []
    for parameter in inspect.signature(function).parameters.values():  # type: ignore[arg-type]
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        names.append(stars + parameter.name)
    return [name for name in names if name != "self"]


def test_every_heading_of_the_page_is_understood() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(re.findall(r"^### ", page, re.M)) == len(VERBS) > 30


@pytest.mark.parametrize("verb", AVAILABLE)
def test_an_available_verb_exists_with_its_documented_arguments(verb: str) -> None:
    documented = [part.strip() for part in VERBS[verb][0].split(",") if part.strip()]
    assert arguments_of(getattr(Memory, verb)) == documented


def test_a_planned_verb_does_not_exist_yet() -> None:
    assert [verb for verb in PLANNED if hasattr(Memory, verb)] == []


def test_the_constructor_is_documented() -> None:
    documented = [part.strip() for part in VERBS["Memory"][0].split(",")]
    assert arguments_of(Memory) == documented


def test_nothing_public_is_missing_from_the_page() -> None:
    public = {name for name in dir(Memory) if not name.startswith("_")}
    assert public - VALUES == set(AVAILABLE)
