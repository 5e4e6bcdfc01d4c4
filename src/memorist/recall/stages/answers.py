"""A question is no answer: a turn that only asks gives its place to what was answered to it.

Who asks again what was asked before finds the old question first, since it has the same words, while the answer may share none
of them. The answer is the last thing that another speaker said before the asker spoke again.
"""

from collections.abc import Collection, Mapping, Sequence

from memorist.design import Tools
from memorist.recall.pipeline import Search
from memorist.recall.stages.keep import not_believed
from memorist.records import Record
from memorist.store.nouns import Fact
from memorist.text.patterns import regex
from memorist.text.words import query_terms

LONGEST = 8  # words of a turn that only asks; a longer one mostly states something too
FEW = 3  # words that it may state besides its question
TURNS_AFTER, STEPS = (
    4,
    12,
)  # turns after a question in which its answer is looked for, and the same with tool calls and output
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


def answers_to(questions: Sequence[Fact], search: Search, tools: Tools) -> Mapping[int, tuple[Fact, Record]]:
    """The answers that were given to these turns, by the number of the turn."""
    following = _following(questions, search, tools)
    numbers = sorted({fact.number for facts in following.values() for fact in facts})
    records = {record.number: record for record in tools.store.get(numbers, search.where)} if numbers else {}
    answers = {}
    for number, facts in following.items():
        replies = [
            (fact, record)
            for fact in facts
            if (record := records.get(fact.number)) and not of_tool(record) and not not_believed(record, search, tools)
        ][:TURNS_AFTER]
        telling = [each for each in replies if not only_asks(each[1].text, search.terms)]
        if telling:
            answers[number] = telling[-1]
    return answers


def _following(questions: Sequence[Fact], search: Search, tools: Tools) -> dict[int, list[Fact]]:
    """The turns of others after each of these, until the one who asked speaks again."""
    following: dict[int, list[Fact]] = {fact.number: [] for fact in questions}
    askers, last = (
        {fact.number: (fact.role, fact.speaker) for fact in questions},
        {fact.number: fact for fact in questions},
    )
    for _ in range(STEPS):
        after = sorted({fact.after for fact in last.values() if fact.after is not None})
        facts = {fact.number: fact for fact in tools.store.facts(after, search.shelves, search.where)} if after else {}
        last = {
            number: facts[fact.after]
            for number, fact in last.items()
            if fact.after in facts and _by(facts[fact.after]) != askers[number]
        }
        for number, fact in last.items():
            following[number].append(fact)
    return following


def _by(fact: Fact) -> tuple[str | None, str | None]:
    return fact.role, fact.speaker
