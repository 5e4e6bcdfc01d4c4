"""What a user chooses for a scope besides its memories: aliases, the size of a prompt, and which findings are promoted.

Every choice is checked for type, size, secrets and the right to write that scope. It is a setting of the store
(`store/choices.py`); which aliases help a question is decided when it is asked (`recall/stages/words.py`). No memory changes
with them, so an alias is undone by removing it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memorist import checks
from memorist.design import Ask
from memorist.errors import Invalid, Refused
from memorist.records import Outcome
from memorist.remember import consent
from memorist.remember.authority import RANK
from memorist.remember.changes import Caller
from memorist.remember.promotion import PRESETS, preset_named
from memorist.store.choices import Choices, choose, chosen
from memorist.store.writer import Writer
from memorist.text.visible import quoted
from memorist.text.words import query_terms

LONGEST_ALIAS = 64  # characters of one word, or a few
MOST_WORDS, MOST_MEANINGS = 500, 20


def change(scope: str, by: Caller, **values: Any) -> Choices:
    """Stores `budget`, `auto` or `preset` for that scope and returns all current choices."""
    place = _must_choose(scope, by)
    checked: dict[str, Any] = {name: _CHECKS[name](value) for name, value in values.items()}
    with by.writer.transaction():
        choices = replace(chosen(by.store, by.access.space, place), **checked)
        choose(by.store, by.access.space, place, choices)
    return choices


def _must_choose(scope: str, by: Caller) -> str:
    """Raises for doors of low trust: how a project is recalled is decided by those who work in it."""
    if RANK[by.access.origin] < RANK["agent"]:
        raise Refused(f"a door that is the {by.access.origin}'s chooses nothing for a project; ask the user to")
    return by.access.must_write(scope)


def _preset(value: Any) -> str:
    if not isinstance(value, str):
        raise Invalid(f"a preset is a name, not {quoted(value)}; presets are {', '.join(PRESETS)}")
    preset_named(value)
    return value


_CHECKS = {
    "budget": lambda value: None if value is None else checks.whole(value, "budget", 1, checks.LARGEST_PROMPT),
    "auto": lambda value: checks.flag(value, "auto"),
    "preset": _preset,
}


# ---------------------------------------------------------------- aliases


def add(word: str, others: Sequence[str], scope: str, by: Caller) -> Outcome:
    place, name = _must_choose(scope, by), _checked(word, by.writer)
    means = [_checked(other, by.writer) for other in others]
    if not means:
        raise Invalid(f"no other word was given for {quoted(name)}; name the words it also means")
    if name in means:
        raise Invalid(f"{quoted(name)} already means itself; name other words")
    with by.writer.transaction():
        choices = chosen(by.store, by.access.space, place)
        joined = tuple(dict.fromkeys((*choices.aliases.get(name, ()), *means)))
        if len(joined) > MOST_MEANINGS or len({*choices.aliases, name}) > MOST_WORDS:
            raise Invalid(f"at most {MOST_WORDS} words with {MOST_MEANINGS} aliases each are stored; remove some first")
        return _kept(choices, name, joined, place, by)


def remove(word: str, others: Sequence[str], scope: str, by: Caller) -> Outcome:
    """Removes these aliases; without any named, all of them, including the built-in ones of the word."""
    place, name = _must_choose(scope, by), _checked(word, by.writer)
    means = {_checked(other, by.writer) for other in others}
    with by.writer.transaction():
        choices = chosen(by.store, by.access.space, place)
        left = tuple(other for other in choices.aliases.get(name, ()) if means and other not in means)
        return _kept(choices, name, left, place, by)


ASKED = "asked"  # in a question's details: what it is about, independent of changing numbers in its summary


def is_new(ask: Ask, by: Caller) -> bool:
    return _digest(ask, by) not in chosen(by.store, by.access.space, str(ask.details["scope"])).offered


def _digest(ask: Ask, by: Caller) -> str:
    return by.writer.digest(str(ask.details.get(ASKED, ask.summary)))


def offer(ask: Ask, because: str, by: Caller) -> None:
    """Queues the question whether a word means others, unless a person was asked before."""
    scope, digest = str(ask.details["scope"]), _digest(ask, by)
    with by.writer.transaction():
        choices = chosen(by.store, by.access.space, scope)
        if digest not in choices.offered and consent.queue(ask, scope, because, by).id:
            offered = (*choices.offered, digest)[-MOST_WORDS:]
            choose(by.store, by.access.space, scope, replace(choices, offered=offered))


def accept(details: Mapping[str, Any], by: Caller) -> Outcome:
    return add(details["word"], details["others"], details["scope"], by)


def _kept(choices: Choices, name: str, others: tuple[str, ...], place: str, by: Caller) -> Outcome:
    said = f"in {place}, {name} also means {', '.join(others)}" if others else f"in {place}, {name} means nothing else"
    if choices.aliases.get(name) == others:
        return Outcome("unchanged", said)
    choose(by.store, by.access.space, place, replace(choices, aliases={**choices.aliases, name: others}))
    return Outcome("changed", said)


def _checked(word: Any, writer: Writer) -> str:
    """A word as it is stored: in lower case, with single blanks between its parts."""
    said = " ".join(checks.label(word, "a word").casefold().split())
    if len(said) > LONGEST_ALIAS:
        raise Invalid(
            f"{quoted(said)} has {len(said)} characters; {LONGEST_ALIAS} are allowed: an alias is one word or a few"
        )
    writer.refuse_secret(said, "the alias")
    if not query_terms(said):
        raise Invalid(f"{quoted(said)} holds no searchable word; name a word")
    return said
