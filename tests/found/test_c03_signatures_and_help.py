"""C3: signatures name what may be chosen, `help` explains every parameter of every verb, and the kinds are listed in one place."""

import inspect
import pydoc
import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import memorist
from memorist import Memory
from memorist.commands import VERBS
from memorist.design import Inject
from memorist.kinds import ALIASES, KINDS, KindName
from memorist.prompt.modes import MODES, PROFILES, Profile, ProfileName
from memorist.prompt.render import CLIENTS, STYLES
from memorist.recall.pipeline import SEARCHES
from memorist.remember.conflicts import Dispute
from memorist.remember.consent import Pending
from memorist.remember.edit import VERDICTS
from memorist.remember.promotion import Weighed
from memorist.store.checkouts import Holding
from memorist.store.journal import Audit

pytestmark = pytest.mark.covers("C3")


def parameters_of(verb: Any) -> list[str]:
    return [name for name in inspect.signature(verb).parameters if name != "self"]


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_help_explains_every_parameter(verb: str) -> None:
    method = getattr(Memory, verb)
    shown = inspect.getdoc(method) or ""
    assert len(shown.splitlines()[0]) > 20
    missing = [name for name in parameters_of(method) if not re.search(rf"(?<![\w]){name}(?![\w])", shown)]
    assert missing == [] and shown.splitlines()[0] in pydoc.render_doc(method, renderer=pydoc.plaintext)


def test_help_explains_how_a_memory_is_opened() -> None:
    shown = inspect.getdoc(Memory) or ""
    assert [name for name in parameters_of(Memory) if not re.search(rf"\b{name}\b", shown)] == []


def literals(annotation: Any) -> set[str]:
    """The values that an annotation names."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    return {value for part in get_args(annotation) for value in literals(part)}


TYPES = {"Profile": Profile, "ProfileName": ProfileName, "Dispute": Dispute, "Pending": Pending, "Weighed": Weighed,
         "Holding": Holding, "Audit": Audit}  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "parameter", "values"),
    [
        ("remember", "kind", KINDS),
        ("revise", "kind", KINDS),
        ("recall", "kinds", KINDS),
        ("context", "kinds", KINDS),
        ("recall", "search", SEARCHES),
        ("feedback", "verdict", VERDICTS),
        ("context", "style", STYLES),
        ("context", "client", CLIENTS),
        ("context", "mode", MODES),
        ("context", "profile", {*PROFILES, "none"}),
        ("context", "inject", get_args(Inject)),
        ("review", "decide", ("approve", "deny")),
        ("erase", "derived", ("erase", "list")),
        ("remember", "role", ("user", "assistant", "system", "tool")),
        ("link", "kind", ("relates_to", "supersedes", "contradicts", "derived_from", "in_cluster")),
    ],
)
def test_what_may_be_chosen_is_in_the_signature(verb: str, parameter: str, values: Any) -> None:
    hints = get_type_hints(getattr(Memory, verb), localns=TYPES)
    assert literals(hints[parameter]) == set(values)


def test_a_kind_of_your_own_is_a_kind_too() -> None:
    assert str in get_args(KindName)
    with Memory(":memory:", kinds={"recipe": memorist.kinds.Kind("recipe")}) as memory:
        assert memory.remember("Two eggs, one onion", kind="recipe").outcome == "added"


def test_the_kinds_are_listed_in_one_place() -> None:
    shown = pydoc.render_doc(memorist.kinds, renderer=pydoc.plaintext).partition("CLASSES")[0]
    for name in (*KINDS, *ALIASES):
        assert re.search(rf"\b{name}\b", shown), name
    listed = re.findall(r"(?:^ {8}|  )(\w+) {2,}\w", shown, re.M)
    assert {*listed} >= set(KINDS) and "help(memorist.kinds)" in (Memory.remember.__doc__ or "")
    assert "help(memorist.kinds)" in (memorist.__doc__ or "")


def test_what_is_not_recalled_by_itself_is_listed_so() -> None:
    usual, _, special = (memorist.kinds.__doc__ or "").partition("Not recalled")
    for kind in KINDS.values():
        assert re.search(rf"\b{kind.name} {{2,}}", usual if kind.recalled else special), kind.name
