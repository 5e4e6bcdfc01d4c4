"""Procedures: how something is done, as structure in a memory's data.

    {"name": "Release", "triggers": ["release"], "steps": ["run the tests", "tag it"],
     "prerequisites": ["a clean checkout"], "warnings": ["never on a Friday"]}

The text of the memory says what it is for; steps are shown in order, prerequisites before them and warnings after them.
`trigger` is accepted as `triggers` with one text.
"""

from collections.abc import Mapping
from typing import Any

from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.text.triggers import TRIGGERS, checked
from memorist.text.twins import normalised
from memorist.text.visible import flaw, quoted

PROCEDURE = "procedure"  # the kind
PARTS_OF_PROCEDURE = ("steps", "prerequisites", "warnings")
MOST_STEPS = 50  # in each part
LONGEST_STEP = 1000  # characters
LONGEST_PROCEDURE_NAME = 200


@dataclass(frozen=True, slots=True)
class Procedure:
    """How something is done."""

    name: str | None
    steps: tuple[str, ...]
    prerequisites: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Prerequisites, steps in order, and warnings: each on one line, so that none can pass for another."""
        parts = self.prerequisites, self.steps, self.warnings
        needs, steps, beware = ([" ".join(each.split()) for each in part] for part in parts)
        numbered = [f"{place}. {each}" for place, each in enumerate(steps, 1)]
        return [*(f"Needs: {each}" for each in needs), *numbered, *(f"Beware: {each}" for each in beware)]

    def titled(self, text: str) -> str:
        """The text of the memory under the name of the procedure, unless the text contains it."""
        known = self.name is None or normalised(self.name) in normalised(text)
        return text if known else f"{self.name}: {text}"


def structured(data: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The data of a memory of that kind, after checking its meaningful parts: triggers, and the parts of a procedure."""
    if kind == PROCEDURE and "trigger" in data:
        given = [*checked(data["trigger"], "trigger"), *(checked(data[TRIGGERS]) if TRIGGERS in data else ())]
        data = {**{name: value for name, value in data.items() if name != "trigger"}, TRIGGERS: given}
    if TRIGGERS in data:
        data = {**data, TRIGGERS: checked(data[TRIGGERS])}
    if kind == PROCEDURE and any(part in data for part in PARTS_OF_PROCEDURE):
        _must_be_procedure(data)
    return data


def procedure_of(data: Mapping[str, Any], kind: str) -> Procedure | None:
    """The procedure in a memory's data; None if there is none, or none that could be shown as one."""
    if kind != PROCEDURE or "steps" not in data:
        return None
    try:
        _must_be_procedure(data)
    except Invalid:  # stored by an older version, or from a file: its text is shown like any memory's
        return None
    steps, prerequisites, warnings = (tuple(data.get(part) or ()) for part in PARTS_OF_PROCEDURE)
    return Procedure(data.get("name"), steps, prerequisites, warnings)


def _must_be_procedure(data: Mapping[str, Any]) -> None:
    if not data.get("steps"):
        raise Invalid("a procedure has steps: a list of texts, in their order")
    texts = [] if data.get("name") is None else [(data["name"], "the name of a procedure", LONGEST_PROCEDURE_NAME)]
    for part in PARTS_OF_PROCEDURE:
        given = data.get(part) or ()
        if not isinstance(given, list | tuple):
            raise Invalid(f"the {part} of a procedure must be a list of texts, not {quoted(given)}")
        if len(given) > MOST_STEPS:
            raise Invalid(f"a procedure has {len(given):,} {part}; {MOST_STEPS} are allowed: make two of it")
        texts += [(each, f"number {at} of the {part} of a procedure", LONGEST_STEP) for at, each in enumerate(given, 1)]
    for text, what, longest in texts:
        if not isinstance(text, str) or not text.strip():
            raise Invalid(f"{what} must be a text, not {quoted(text)}")
        if len(text) > longest:
            raise Invalid(f"{what} has {len(text):,} characters; {longest:,} are allowed")
        if bad := flaw(text):
            raise Invalid(f"{what} holds {bad}; remove it")
