"""What a user chooses for a scope beside its memories: other words for a word, how much goes into a prompt, what is promoted.

All of it is checked, without secrets, bounded, and never for a place one may not write. It is a setting of the store
(`store/choices.py`); which other words help a question is decided when it is asked (`recall/stages/words.py`). Nothing of a memory
changes with them, so an alias is taken back by removing it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memorist import checks
from memorist.design import Ask
from memorist.errors import Invalid
from memorist.records import Outcome
from memorist.remember import consent
from memorist.remember.changes import Author
from memorist.remember.promotion import PRESETS, preset_named
from memorist.store.choices import Choices, choose, chosen
from memorist.store.writer import Writer
from memorist.text.visible import quoted
from memorist.text.words import query_terms

LONGEST_ALIAS = 64  # characters of one word, or a few
MOST_WORDS, MOST_MEANINGS = 500, 20
MOST_TOKENS = 10_000_000  # of a budget


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


# ---------------------------------------------------------------- other words


def add(word: str, others: Sequence[str], scope: str, by: Author) -> Outcome:
    """Keeps that the word means these others too."""
    place, name = by.access.must_write(scope), _checked(word, by.writer)
    means = [_checked(other, by.writer) for other in others]
    if not means:
        raise Invalid(f"{quoted(name)} stands for nothing yet; name the words it means as well")
    if name in means:
        raise Invalid(f"{quoted(name)} already means itself; name other words")
    with by.writer.transaction():
        choices = chosen(by.store, by.access.space, place)
        joined = tuple(dict.fromkeys((*choices.aliases.get(name, ()), *means)))
        if len(joined) > MOST_MEANINGS or len({*choices.aliases, name}) > MOST_WORDS:
            raise Invalid(f"{MOST_WORDS} words with {MOST_MEANINGS} others each can be kept; remove some first")
        return _kept(choices, name, joined, place, by)


def remove(word: str, others: Sequence[str], scope: str, by: Author) -> Outcome:
    """Takes these other words away; without any, all of them, and the usual meaning of the word too."""
    place, name = by.access.must_write(scope), _checked(word, by.writer)
    means = {_checked(other, by.writer) for other in others}
    with by.writer.transaction():
        choices = chosen(by.store, by.access.space, place)
        left = tuple(other for other in choices.aliases.get(name, ()) if means and other not in means)
        return _kept(choices, name, left, place, by)


def offer(ask: Ask, because: str, by: Author) -> None:
    """Puts the question whether a word means others into the queue, unless a person was asked before."""
    scope, digest = str(ask.details["scope"]), by.writer.digest(ask.summary)
    with by.writer.transaction():
        choices = chosen(by.store, by.access.space, scope)
        if digest not in choices.offered and consent.queue(ask, scope, because, by).id:
            offered = (*choices.offered, digest)[-MOST_WORDS:]
            choose(by.store, by.access.space, scope, replace(choices, offered=offered))


def accept(details: Mapping[str, Any], by: Author) -> Outcome:
    """Does what such a question asks for."""
    return add(details["word"], details["others"], details["scope"], by)


def _kept(choices: Choices, name: str, others: tuple[str, ...], place: str, by: Author) -> Outcome:
    said = f"in {place}, {name} also means {', '.join(others)}" if others else f"in {place}, {name} means nothing else"
    if choices.aliases.get(name) == others:
        return Outcome("unchanged", said)
    choose(by.store, by.access.space, place, replace(choices, aliases={**choices.aliases, name: others}))
    return Outcome("changed", said)


def _checked(word: Any, writer: Writer) -> str:
    """A word as it is kept: in small letters, one blank between its parts."""
    said = " ".join(checks.label(word, "a word").casefold().split())
    if len(said) > LONGEST_ALIAS:
        raise Invalid(
            f"{quoted(said)} has {len(said)} characters; {LONGEST_ALIAS} are allowed: an alias is a word or a few"
        )
    writer.refuse_secret(said, "the alias")
    if not query_terms(said):
        raise Invalid(f"{quoted(said)} holds no word that could be looked for; name a word")
    return said
