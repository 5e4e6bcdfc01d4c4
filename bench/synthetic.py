"""A test set of our own, made from a seed: small, free of anybody's text, and the same everywhere.

Two chats about work between a user and an assistant and two between friends, with dated sessions. Asked is in the words that
were used, in other words altogether, by speaker, by month, after a change, and about what nobody ever said. It is far too
regular to tell good engines apart; it tells a broken one from one that works, in seconds.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bench import synthetic_text as texts
from bench.sets import Document, Question, Shelf, TestSet

SEED = 11
SESSIONS = 12
FILLERS = 5  # small talk in every session
UNSAID = 4  # facts of a chat that are asked about and were never told
BEGAN = datetime(2023, 2, 6, 18, 0, tzinfo=UTC)


@dataclass(slots=True)
class Said:
    """A turn that waits for its session."""

    text: str
    speaker: str
    session: int
    id: str = ""


@dataclass(slots=True)
class Chat:
    """One shelf while it is being made."""

    name: str
    speakers: tuple[str, str]
    roles: bool  # the speakers are a user and an assistant
    pick: random.Random
    turns: list[Said] = field(default_factory=list)
    asked: list[tuple[str, str, list[Said], list[Said]]] = field(default_factory=list)

    def say(self, text: str, speaker: str | None = None, session: int | None = None) -> Said:
        who = speaker or self.pick.choice(self.speakers)
        turn = Said(text, who, self.pick.randrange(SESSIONS) if session is None else session)
        self.turns.append(turn)
        return turn

    def ask(self, category: str, text: str, gold: Sequence[Said] = (), outdated: Sequence[Said] = ()) -> None:
        self.asked.append((category, text, list(gold), list(outdated)))

    def shelf(self) -> Shelf:
        """The turns in the order of their sessions, and the questions with the ids they got."""
        documents = []
        order = sorted(self.turns, key=lambda turn: turn.session)
        for number, turn in enumerate(order):
            turn.id = str(number)
            at = _day(turn.session) + timedelta(minutes=number)
            role, speaker = (turn.speaker, None) if self.roles else (None, turn.speaker)
            documents.append(Document(turn.id, turn.text, f"session-{turn.session}", role, speaker, at))
        asked = _day(SESSIONS)
        questions = [
            Question(f"{self.name}-{n}", text, _ids(gold), frozenset(), category, asked, _ids(outdated))
            for n, (category, text, gold, outdated) in enumerate(self.asked)
        ]
        return Shelf(self.name, tuple(documents), tuple(questions))


def synthetic(seed: int = SEED) -> TestSet:
    """Four chats of about a hundred turns, about forty questions to each."""
    chats = (("atlas", True), ("beacon", True), ("harbour", False), ("meadow", False))
    names = (("user", "assistant"), ("user", "assistant"), ("Ida", "Ben"), ("Mia", "Jon"))
    shelves = tuple(
        _made(Chat(name, speakers, roles, random.Random(seed + place)))
        for place, ((name, roles), speakers) in enumerate(zip(chats, names, strict=True))
    )
    return TestSet("synthetic", "Synthetic chats of our own", shelves)


def _made(chat: Chat) -> Shelf:
    facts = list(texts.WORK if chat.roles else texts.CHAT)
    chat.pick.shuffle(facts)
    _tell_facts(chat, facts[UNSAID:])
    for fact in facts[:UNSAID]:
        chat.ask("unanswerable", fact.asked)
    _tell_changes(chat, texts.WORK_CHANGES if chat.roles else texts.CHAT_CHANGES)
    if not chat.roles:
        _tell_habits(chat)
    _tell_recurring(chat, texts.WORK_RECURRING if chat.roles else texts.CHAT_RECURRING)
    for session in range(SESSIONS):
        for text in chat.pick.sample(texts.SMALL_TALK, FILLERS):
            chat.say(text, session=session)
    chat.pick.shuffle(chat.turns)
    return chat.shelf()


def _tell_facts(chat: Chat, facts: Sequence[texts.Fact]) -> None:
    for fact in facts:
        turn = chat.say(fact.told.format(chat.pick.choice(fact.values)))
        chat.ask("same words", fact.asked, [turn])
        chat.ask("other words", fact.reworded, [turn])


def _tell_changes(chat: Chat, changes: Sequence[texts.Change]) -> None:
    for change in changes:
        early, late = sorted(chat.pick.sample(range(SESSIONS), 2))
        before, after = chat.pick.choice(change.values)
        old = chat.say(change.before.format(before), session=early)
        new = chat.say(change.after.format(after), session=late)
        chat.ask("update", change.asked, [new], [old])


def _tell_habits(chat: Chat) -> None:
    for habit in texts.HABITS:
        for speaker, value in zip(chat.speakers, chat.pick.sample(habit.values, 2), strict=True):
            turn = chat.say(habit.told.format(value), speaker)
            chat.ask("speaker", habit.asked.format(speaker), [turn])


def _tell_recurring(chat: Chat, event: texts.Recurring) -> None:
    """The same event in every other session, so in every other month."""
    for session, value in zip(range(0, SESSIONS, 2), event.values, strict=True):
        turn = chat.say(event.told.format(value), session=session)
        chat.ask("by month", event.asked.format(_day(session).strftime("%B %Y")), [turn])


def _day(session: int) -> datetime:
    """Sessions are a month apart."""
    months = BEGAN.month - 1 + session
    return BEGAN.replace(year=BEGAN.year + months // 12, month=months % 12 + 1)


def _ids(turns: Sequence[Said]) -> frozenset[str]:
    return frozenset(turn.id for turn in turns)
