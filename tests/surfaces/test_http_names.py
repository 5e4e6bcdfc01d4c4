"""The HTTP names of the verbs: each has one, no two have the same, and what stands in a path is an argument."""

import re
from collections import Counter

import pytest

from memorist.commands import ALSO, VERBS, also
from memorist.surfaces.cli.arguments import parameters_of

ROUTES = {verb.http: verb.name for verb in VERBS.values() if verb.http} | ALSO
WITHOUT = {"through", "close"}


def test_every_verb_has_an_http_name_but_those_a_server_decides() -> None:
    assert {name for name, verb in VERBS.items() if verb.http is None} == WITHOUT


def test_no_two_verbs_share_a_method_and_a_path() -> None:
    shapes = Counter(re.sub(r"\{\w+\}", "{}", route) for route in [*(v.http for v in VERBS.values() if v.http), *ALSO])
    assert [shape for shape, count in shapes.items() if count > 1] == []


@pytest.mark.parametrize("route", sorted(ROUTES))
def test_what_stands_in_a_path_is_an_argument_of_the_verb(route: str) -> None:
    assert re.fullmatch(r"(GET|POST|PATCH|DELETE) /v1(/[a-z-]+|/\{[a-z]+\})+", route)
    assert set(re.findall(r"\{(\w+)\}", route)) <= set(parameters_of(ROUTES[route]))


@pytest.mark.parametrize("route", sorted(route for route in ROUTES if route.startswith("GET")))
def test_nothing_that_writes_is_reached_by_get(route: str) -> None:
    verb = also(route) if route in ALSO else VERBS[ROUTES[route]]
    assert not verb.writes and (verb.lacks == ("decide",)) == (route == "GET /v1/review")
