"""Files of other programs. Each program has a module with the same interface:

    recognise(first)   whether these first lines, or elements of a list, are its
    read(values)       yields the content: what was said (`Utterance`), the title of a conversation (`Titled`),
                       or drafts and links if the file holds memories
    program            the name of the program

What all share is here: JSON that is read bit by bit, conversations as turns of sessions, and ids. The id of a turn
depends on its conversation, its message and its destination. So a second import changes nothing, an import of a
transcript that has grown adds what is new, and what was erased stays erased. What a host or a memory tool put into a
user's message is taken out, and so is what was marked as private; a message that contained nothing else is left out.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple, Protocol

from memorist import checks
from memorist.errors import Invalid
from memorist.files.jsonl import Flaw, Part, parsed
from memorist.files.markdown import Entry
from memorist.files.streams import Damaged, Stream, elements, lines
from memorist.lazy import dataclass
from memorist.memory import Memory
from memorist.records import Draft, Link, Outcome, id_at
from memorist.remember.turns import whole_of
from memorist.session.name import CLOSED, KIND
from memorist.text.private import public_message, without_private
from memorist.text.question import without_injected
from memorist.text.visible import is_blank, quoted

LINES_LOOKED_AT = 40  # lines, or the first element of a list, that are used to recognise a file
HOLDS_A_LIST = re.compile(rb'\s*\{\s*"(results|memories|conversations)"\s*:\s*\[')
# A tool of ours, as Claude Code, Codex, Gemini CLI and OpenCode call it.
OUR_TOOLS = re.compile(r"(?:mcp__?)?(?:plugin_memorist_)?memorist_{1,2}memory_\w+")
# At the beginning of a shell command, as our skills say it; agents often enter a folder first.
OUR_PROGRAM = re.compile(r"\s*(?:cd\s[^;&|\n]*(?:&&|;|\n)\s*)?memorist\s")
MOST_ASKED = 20  # calls of ours that may wait for their answers
CANNOT_BE_STORED = re.compile("[\x00\ud800-\udfff]")
SHOWN_TITLE = 80  # characters


class Utterance(NamedTuple):
    """A message of a conversation: `role`, `content`, and perhaps `id` and `timestamp`, as `remember/turns.py` reads
    them."""

    session: str
    message: Mapping[str, Any]
    memory: str | None = None  # the id of its turn in the store of ours that wrote it


class Titled(NamedTuple):
    """The title of a conversation."""

    session: str
    title: str


Item = Utterance | Titled | Draft | Link


class Importer(Protocol):
    """One program whose files can be read; implemented by a module."""

    program: str

    def recognise(self, first: Sequence[Mapping[str, Any]], /) -> bool: ...
    def read(self, values: "Values", /) -> Iterator[Item]: ...


# ---------------------------------------------------------------- JSON, bit by bit


@dataclass(slots=True)
class Values:
    """The objects of a file: its lines, the elements of its list, or the file itself. Each iteration starts from the
    beginning."""

    stream: Stream
    place: int = 0  # of the one that was read last
    flaws: list[str] = field(default_factory=list)  # since the last check

    @property
    def stem(self) -> str:
        """The name of the file, as the name of a session."""
        return re.sub(r"[^\w.-]+", "-", self.stream.source.path.stem)[: checks.LONGEST_LABEL // 2] or "transcript"

    def first(self) -> list[Mapping[str, Any]]:
        """The first ones, as far as they can be read."""
        try:
            found = [value for _, value in islice(self._read(), LINES_LOOKED_AT if self._is_lines else 1)]
        except Damaged:
            found = []
        self.flaws.clear()
        return found

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        try:
            for place, value in self._read():
                self.place = place
                yield value
        except Damaged as problem:  # in a list: nobody can tell where its next element begins
            raise Invalid(f"{self.stream.shown} cannot be read: {problem}; nothing was imported") from problem

    @property
    def _is_lines(self) -> bool:
        head = self.stream.head().lstrip()
        return not head.startswith(b"[") and not HOLDS_A_LIST.match(head) and _is_object(head.split(b"\n", 1)[0])

    def _read(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        head = self.stream.head().lstrip()
        if head.startswith(b"[") or HOLDS_A_LIST.match(head):
            return self._checked(elements(self.stream))
        if self._is_lines:
            return self._lines()
        return self._checked(iter([(1, parsed(self.stream.whole()))]))

    def _lines(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        for number, line, ended in lines(self.stream):
            if line is not None and not line.strip():
                continue
            try:
                yield from self._checked(iter([(number, parsed(line))]))
            except Damaged as problem:
                if ended:  # else the program is still writing it
                    self._flaw(number, problem)

    def _checked(self, found: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        for place, value in found:
            if isinstance(value, Mapping):
                yield place, value
            else:
                self._flaw(place, f"is not a JSON object: {quoted(value)}")

    def _flaw(self, place: int, said: object) -> None:
        self.flaws.append(f"{self.stream.shown}:{place}: {said}")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parsed(line), Mapping)
    except Damaged:
        return False


# ---------------------------------------------------------------- what memory said itself


class OwnTools:
    """Takes out of messages, in their order, the calls of our own tools and what these answered: that is in memory already,
    and its copy would stay when it is forgotten. `asked` has the ids of calls without an answer yet."""

    __slots__ = ("asked",)

    def __init__(self, asked: Sequence[str]) -> None:
        self.asked = [*asked]

    def without(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        content = message.get("content")
        if self._answers(message.get("tool_call_id")):
            return {**message, "content": None}
        if not isinstance(content, list):
            return message
        return {**message, "content": [block for block in content if not self._is_ours(block)]}

    def _is_ours(self, block: Any) -> bool:
        if not isinstance(block, Mapping):
            return False
        if block.get("type") != "tool_use":
            return block.get("type") == "tool_result" and self._answers(block.get("tool_use_id"))
        names = (block.get("namespace"), block.get("name"))
        name = "__".join(each.rstrip("_") for each in names if isinstance(each, str))  # Codex may end the first so
        ours = OUR_TOOLS.fullmatch(name) is not None or _runs_us(block.get("input"))
        if ours and label(block.get("id")):  # a long one would be stored, too
            self.asked = [*self.asked, block["id"]][-MOST_ASKED:]
        return ours

    def _answers(self, id: Any) -> bool:
        answers = id in self.asked
        if answers:
            self.asked.remove(id)
        return answers


def _runs_us(given: Any) -> bool:
    """Whether a shell is asked to run our program; Codex writes arguments as JSON text, and commands as lists of words."""
    if isinstance(given, str) and "memorist" in given:
        with suppress(ValueError, RecursionError):
            given = json.loads(given)
    command = given.get("command", given.get("cmd")) if isinstance(given, Mapping) else None
    last = command[-1] if isinstance(command, list) and command else command
    return isinstance(last, str) and OUR_PROGRAM.match(last) is not None


# ---------------------------------------------------------------- what they make of it


def recognised(values: Values) -> Importer | None:
    from memorist.files.importers import chatgpt, claude_ai, claude_code, codex, gemini, mem0, server_memory, transcript

    known: tuple[Importer, ...] = (claude_code, codex, gemini, chatgpt, claude_ai, server_memory, transcript, mem0)
    first = values.first()
    return next((each for each in known if first and each.recognise(first)), None)


def parts(importer: Importer, values: Values, memory: Memory) -> Iterator[Part]:
    """The content of the file, as an import takes it."""
    reading = _Reading(importer.program, memory, values)
    for item in importer.read(values):
        yield from reading.flaws()
        try:
            yield from reading.take(item)
        except Invalid as problem:
            yield Flaw(f"{values.stream.shown}:{values.place}: {problem}")
    yield from reading.flaws()
    yield from reading.end()


@dataclass(slots=True)
class _Reading:
    """Converts a file to turns, with the state of the conversation being read."""

    name: str
    memory: Memory
    values: Values
    session: str | None = None
    captured: bool = False  # hooks have already read this conversation, and continue to
    title: str | None = None
    began: datetime | None = None
    own: OwnTools = field(default_factory=lambda: OwnTools([]))

    def flaws(self) -> Iterator[Flaw]:
        yield from map(Flaw, self.values.flaws)
        self.values.flaws.clear()

    def take(self, item: Item) -> Iterator[Entry | Link]:
        if isinstance(item, Link):
            yield item
        elif isinstance(item, Draft):
            yield self._entry(item)
        else:
            if item.session != self.session:
                yield from self.end()
                by_hooks = {"session": item.session, "kind": "turn", "surface": "hook"}
                self.session, self.captured = item.session, self.memory.count(by_hooks) > 0
            if isinstance(item, Titled):
                self.title = without_private(item.title)
            elif not self.captured:
                yield from self._turns(item)

    @property
    def home(self) -> str:
        return self.memory.home

    def _turns(self, said: Utterance) -> Iterator[Entry]:
        key = f"session/{self.home}/{said.session}"
        named = said.message.get("id")
        common = Draft(
            "", "turn", session=said.session, agent=self.name, key=key if named else f"{key}/{self.values.place}"
        )
        for _, turn in whole_of([may_be_kept(self.own.without(said.message))], common):
            if isinstance(turn, Outcome) and not turn:
                raise Invalid(turn.because)
            if isinstance(turn, Draft):
                at = checks.moment(turn.at, "its time")
                self.began = self.began or at
                self.title = self.title or (turn.text.strip().partition("\n")[0] if turn.role == "user" else None)
                id = said.memory or id_at(at, str(turn.key))
                yield self._entry(replace(turn, text=storable(turn.text), id=id, key=label(turn.key)))

    def end(self) -> Iterator[Entry]:
        """The record of the conversation, after its last turn."""
        if self.session is not None and self.began is not None:
            title = (self.title or "without a title")[:SHOWN_TITLE]
            shown = storable(f"Session {self.session} of {self.name}: {title}")
            data = {"state": CLOSED, "source": self.name}
            draft = Draft(
                shown, KIND, title=self.session, data=data, session=self.session, agent=self.name, at=self.began
            )
            yield self._entry(replace(draft, id=id_at(self.began, f"session {self.home} {self.session}")))
        self.session = self.title = self.began = None

    def _entry(self, draft: Draft) -> Entry:
        return Entry(self.values.stream.shown, self.values.place, draft)


def may_be_kept(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message without its private parts, and without what others put into the words of its user."""
    try:
        return _without_guests(public_message(message))
    except RecursionError:
        raise Invalid("it is nested too deep to be looked through") from None


def _without_guests(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    if message.get("role") != "user" or not content:
        return message
    if isinstance(content, str):
        return {**message, "content": without_injected(content)}
    if not isinstance(content, list):
        return message
    return {**message, "content": [_cleaned(block) for block in content]}


def _cleaned(block: Any) -> Any:
    if isinstance(block, str):
        return without_injected(block)
    if isinstance(block, Mapping) and isinstance(block.get("text"), str):
        return {**block, "text": without_injected(block["text"])}
    return block


# ---------------------------------------------------------------- what several of them do


def storable(text: str) -> str:
    """The text without what a store cannot hold, cut to the greatest length."""
    text = CANNOT_BE_STORED.sub("\ufffd", text)
    return text if len(text) <= checks.LONGEST_TEXT else text[: checks.LONGEST_TEXT - 1] + "…"


def label(value: Any) -> str | None:
    """A short text as a label, if it is a valid one."""
    return value if isinstance(value, str) and not is_blank(value) and len(value) <= checks.LONGEST_LABEL else None


def text_of(block: Any) -> str | None:
    """The text of a block of a message, which may be a mere text; None if it has none."""
    text = block.get("text") if isinstance(block, Mapping) else block
    return text if isinstance(text, str) else None
