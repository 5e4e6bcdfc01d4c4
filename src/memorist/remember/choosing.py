"""What a user chooses for a scope beside its memories: how much goes into a prompt, and how easily findings are promoted."""

from dataclasses import replace
from typing import Any

from memorist import checks
from memorist.errors import Invalid
from memorist.remember.changes import Author
from memorist.remember.promotion import PRESETS, preset_named
from memorist.store.choices import Choices, choose, chosen
from memorist.text.visible import quoted

MOST_TOKENS = 10_000_000


def change(scope: str, by: Author, **values: Any) -> Choices:
    """Keeps `budget`, `auto` or `preset` for that scope, and gives all that is chosen now."""
    place = by.access.must_write(scope)
    checked: dict[str, Any] = {name: _CHECKS[name](value) for name, value in values.items()}
    with by.writer.transaction():
        choices = replace(chosen(by.store, by.access.space, place), **checked)
        choose(by.store, by.access.space, place, choices)
    return choices


def _preset(value: Any) -> str:
    if not isinstance(value, str):
        raise Invalid(f"a preset is a name, not {quoted(value)}; presets are {', '.join(PRESETS)}")
    preset_named(value)
    return value


_CHECKS = {
    "budget": lambda value: checks.whole(value, "budget", 0, MOST_TOKENS),
    "auto": lambda value: checks.flag(value, "auto"),
    "preset": _preset,
}
