"""How well the right things are found: the project's own set, and notes as people keep them. Floors a little under today's."""

from collections import defaultdict

import pytest

from bench.synthetic import synthetic
from golden.driver import Lib

TODAY = {  # the share of questions with an answer among the first five: as people ask, and with nothing cut off
    "same words": (98, 98), "by month": (98, 98), "speaker": (98, 98), "update": (98, 98), "other words": (31, 82),
}  # fmt: skip


@pytest.mark.covers("N4-7", "N4-10", "N2-7")
def test_the_projects_own_set_is_found() -> None:
    found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    silent = []
    for shelf in synthetic().shelves:
        with Lib(project=shelf.name) as lib:
            kept = lib.keep_many(
                {"text": each.text, "kind": "turn", "session": each.session, "role": each.role, "speaker": each.speaker,
                 "at": each.at} for each in shelf.documents
            )  # fmt: skip
            known = {done.id: document.id for done, document in zip(kept, shelf.documents, strict=True)}
            for each in shelf.questions:
                asked = [lib.find(each.text, search="sessions", at=each.at, limit=5, **how)
                         for how in ({}, {"min_relevance": 0})]  # fmt: skip
                if each.answerable:
                    hits = [bool({known[row.id] for row in rows} & each.gold) for rows in asked]
                    found[each.category].append((hits[0], hits[1]))
                else:
                    silent.append(not asked[0])
    shares = {
        name: tuple(100 * sum(column) / len(rows) for column in zip(*rows, strict=True)) for name, rows in found.items()
    }
    for name, least in TODAY.items():
        assert all(share >= floor for share, floor in zip(shares[name], least, strict=True)), (name, shares[name])
    assert sum(silent) >= 13 and len(silent) == 16, "and of what nobody said nothing is shown"


NOTES = {
    "boiler": "The boiler man is Ossie, 0123 99", "swim": "Leo swims on Tuesdays at half past four",
    "cat": "The cat gets one pill with her breakfast", "db": "Staging runs Postgres 16",
    "deploy": "We deploy on Mondays, never on Fridays", "nadia": "Nadia moved to Leeds and works at the harbour office",
    "key": "The spare key hangs behind the meter cupboard", "dad": "Dad is allergic to walnuts",
    "rent": "Rent is due on the third of the month", "wifi": "The wifi password is on the back of the router",
    "vera": "Aunt Vera's birthday is on the ninth of June", "invoice": "The invoice template lies in the folder Office",
}  # fmt: skip
ASKED = {
    "who is the boiler man?": "boiler", "which database does staging run?": "db", "when does Leo go swimming?": "swim",
    "what medicine does the cat take?": "cat", "can I ship this on Friday?": "deploy",
    "where does my sister Nadia live now?": "nadia", "I locked myself out, is there another key?": "key",
    "baking a nut cake for dad": "dad", "when do I have to pay the rent?": "rent",
    "how do guests get online, what is the wifi password?": "wifi", "when is Vera's birthday": "vera",
    "where do I find the invoice template": "invoice",
}  # fmt: skip
NOTHING = ["who repairs bicycles around here?", "what is the capital of Peru?", "how tall is the Eiffel tower", "thanks!",
           "good morning, how are you?"]  # fmt: skip


@pytest.mark.covers("N4-7", "W4-5", "C4-2")
def test_of_a_dozen_notes_more_than_half_is_found_without_a_model_and_small_talk_finds_nothing() -> None:
    with Lib() as lib:
        lib.keep_many(NOTES.values())
        right = sum(NOTES[note] in lib.texts(question) for question, note in ASKED.items())
        first = sum(lib.texts(question)[:1] == [NOTES[note]] for question, note in ASKED.items())
        assert right >= 8 and first >= 7, (right, first)
        assert sum(bool(lib.texts(question)) for question in NOTHING) <= 1
        assert not any(lib.prompt(question).text for question in NOTHING[-2:])
