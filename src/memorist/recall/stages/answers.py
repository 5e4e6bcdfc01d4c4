"""A question is no answer: a turn that only asks gives its place to what was answered to it.

Who asks again what was asked before finds the old question first, since it has the same words, while the answer may share none
of them. The answer is the last thing that another speaker said before the asker spoke again.
"""

from collections.abc import Collection

from memorist.design import Tools
from memorist.recall.pipeline import Search
from memorist.recall.stages.keep import not_believed
from memorist.records import Record
from memorist.store.nouns import shelf_of
from memorist.store.where import Order
from memorist.text.patterns import regex
from memorist.text.words import query_terms

LONGEST = 8  # words of a turn that only asks; a longer one mostly states something too
FEW = 3  # words that it may state besides its question
TURNS_AFTER = 4  # turns after a question in which its answer is looked for
STEPS = 12  # the same with tool calls and their output
_SENTENCE = regex(r"[^.!?…\n]+[.!?…\n]*")


def only_asks(text: str, asked: Collection[str]) -> bool:
    """Whether a text is nothing but a question, or says nothing besides it that has to do with the terms that are asked for.

    >>> only_asks("good. how long do we keep the logs?", ["log"]), only_asks("We keep the logs for a year. Ok?", ["log"])
    (True, False)
    """
    if "?" not in text:
        return False
    stated = [sentence for sentence in _SENTENCE.findall(text) if "?" not in sentence]
    words = set(query_terms(" ".join(stated)))
    return len(words) <= FEW and words.isdisjoint(asked) and len(query_terms(text)) <= LONGEST


def of_tool(record: Record) -> bool:
    """Whether it is what a tool returned, or was called with."""
    return record.kind == "turn" and (record.provenance.role == "tool" or "call" in record.data)


def answer_to(question: Record, search: Search, tools: Tools) -> Record | None:
    """The last thing that others said after this turn, until the one who asked spoke again."""
    asked, replies = question.provenance, list[Record]()
    where = search.where.also("session", "eq", asked.session).also("scope", "eq", question.scope)
    for turn in tools.store.find(where.also("number", "gt", question.number), Order("number", ascending=True), STEPS):
        if (turn.provenance.role, turn.provenance.speaker) == (asked.role, asked.speaker):
            break
        if not of_tool(turn) and shelf_of(turn) == shelf_of(question) and not not_believed(turn, search, tools):
            replies.append(turn)
    telling = [reply for reply in replies[:TURNS_AFTER] if not only_asks(reply.text, search.terms)]
    return telling[-1] if telling else None
