"""Is what the authors of a file marked found, with its line, and nothing else?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growing import grows_too_fast
from memorist.text.markers import marked_in

pytestmark = pytest.mark.covers("N2-5")

PROSE = [
    ("TODO: renew it", [("task", "renew it")]), ("TODO renew it", [("task", "renew it")]),
    ("- TODO(ann): call her\n  and say hello", [("task", "call her and say hello")]),
    ("FIXME the sum is wrong", [("task", "the sum is wrong")]), ("TASK: ship it", [("task", "ship it")]),
    ("- [ ] Renew the certificate", [("task", "Renew the certificate")]),
    ("* [ ] TODO: once, not twice", [("task", "once, not twice")]), ("- [x] Renewed", []),
    ("- [X] TODO: renewed", []), ("DECISION: we use Fastify", [("decision", "we use Fastify")]),
    ("1. **Decision:** use Fastify", [("decision", "use Fastify")]),
    ("## DECIDED: use Fastify\nbecause it is fast", [("decision", "use Fastify")]),
    ("> FACT: empty bodies are signed", [("claim", "empty bodies are signed")]),
    ("**Key**: the cache lives\nten minutes", [("claim", "the cache lives ten minutes")]),
    ("KEY INSIGHT: measure first", [("claim", "measure first")]), ("CLAIM: it scales", [("claim", "it scales")]),
    ("<!-- NOTE: hidden -->", [("note", "hidden")]), ("Note: see below", [("note", "see below")]),
    ("todo: small letters are a word like any other", []), ("Key features: none", []), ("It was decided: no.", []),
    ("TODO:", []), ("TODO: …", []), ("```\nTODO: not me\n```", []),
    ("~~~\nDECISION: nor me\n~~~\nNOTE: but me", [("note", "but me")]),
    ("---\ntitle: NOTE\nFACT: front matter\n---\nFACT: body", [("claim", "body")]),
    ("a paragraph\nTODO: begins a new one\nand goes on", [("task", "begins a new one and goes on")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found"), PROSE, ids=[text[:30] for text, _ in PROSE])
def test_marks_in_prose(text: str, found: list[tuple[str, str]]) -> None:
    assert [(each.type, each.text) for each in marked_in(text, prose=True)] == found


CODE = [
    ("x = 1  # TODO: fix", [("task", "fix")]), ("// FIXME now", [("task", "now")]),
    ("/* DECISION: one store */", [("decision", "one store")]),
    (" * NOTE: of a long comment", [("note", "of a long comment")]),
    ("-- KEY: the index is partial", [("claim", "the index is partial")]), ("KEY: value", []),
    ("print('TODO: no comment')", []), ("todo = TODO", []), ("#!/bin/sh", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found"), CODE, ids=[text[:30] for text, _ in CODE])
def test_marks_in_code_stand_in_comments(text: str, found: list[tuple[str, str]]) -> None:
    assert [(each.type, each.text) for each in marked_in(text, prose=False)] == found


def test_each_has_its_line_its_confidence_and_its_reason() -> None:
    text = "# Plan\n\nDECISION: one\ngoes on\n\nCLAIM: two\n- [ ] three\n"
    found = [(each.line, each.confidence, each.because) for each in marked_in(text, prose=True)]
    assert found == [(3, 0.9, "DECISION"), (6, 0.7, "CLAIM"), (7, 0.9, "an unchecked box")]


ENTITIES = [
    ("We run on Google Cloud Platform today.", ["Google Cloud Platform: We run on Google Cloud Platform today."]),
    ("The Apache Software Foundation made it.", ["Apache Software Foundation"]),
    ("Ask Ann Miller. Then Ann Miller asks Bob.", ["Ask Ann Miller", "Ann Miller"]),
    ("Über Österreichische Post schreibt man.", ["Über Österreichische Post"]), ("# Getting Started Guide", []),
    ("| Head One | Head Two |", []), ("READ THIS FIRST", []),
    ("We run `Google Cloud` and [a link](Some Target Here)", []), ("It runs on Kubernetes.", []),
    ("One Two Three Four Five Six Seven is a list", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names"), ENTITIES, ids=[text[:30] for text, _ in ENTITIES])
def test_names_in_prose(text: str, names: list[str]) -> None:
    found = [each.text for each in marked_in(text, prose=True) if each.type == "entity"]
    assert [said[: len(name)] for said, name in zip(found, names, strict=True)] == names


@given(st.text(alphabet=st.sampled_from([*"TODO: NEKYFA[]x-*#>`~|\n(). abC"]), max_size=300), st.booleans())
def test_any_text_is_read(text: str, prose: bool) -> None:
    """Whatever is found stands on its line, is not blank, and is found again."""
    found = marked_in(text, prose)
    lines = text.split("\n")
    for each in found:
        assert 1 <= each.line <= len(lines) and each.text.strip()
        assert each.type == "entity" or each.text.split()[0].strip("*_") in lines[each.line - 1]
    assert marked_in(text, prose) == found


@pytest.mark.covers("E7")
@pytest.mark.parametrize(
    "piece",
    [
        "**", "> ", "A ", "Ab Cd ", "(TODO(", "TODO(", "- [ ] ", "#", "`", "[ ](a", "a\n", "TODO: a\n", "<", "//*",
        "Ab\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("prose", [True, False])
def test_time_grows_with_the_text(piece: str, prose: bool) -> None:
    assert grows_too_fast(lambda length: marked_in(piece * length, prose) and None, 10_000) is None
