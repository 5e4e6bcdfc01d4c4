"""A language model that answers from a script: the right thing, garbage, half of something, slowly, or never.

    memory = Memory(":memory:", chat=ScriptedChat({"relevant": [1]}, "no JSON at all", NEVER))

The answers come in order, and the last one repeats. A dict or a list is sent as JSON, a text as it is; an exception is
raised; a function is called with the prompt and its result is the answer. `asked` has every prompt received.
"""

import json
import threading
import time
from dataclasses import dataclass
from typing import Any

from memorist.models.chat import ChatPrompt, ChatReply
from memorist.store.tally import ChatLimits


@dataclass(frozen=True, slots=True)
class Slowly:
    """An answer that takes that many seconds."""

    seconds: float
    answer: Any


class _Never:
    """No answer, until the script is `over`."""

    def __repr__(self) -> str:
        return "NEVER"


NEVER = _Never()


class ScriptedChat:
    """A scripted `memorist.models.chat.Chat`. Threads may share one."""

    def __init__(self, *answers: Any, name: str = "scripted", limits: ChatLimits = ChatLimits()) -> None:  # noqa: B008
        self.name, self.limits = name, limits
        self.asked: list[ChatPrompt] = []
        self._answers = list(answers)
        self._lock = threading.Lock()
        self._over = threading.Event()

    def answer(self, prompt: ChatPrompt, seconds: float) -> ChatReply:
        with self._lock:
            self.asked.append(prompt)
            given = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return self._said(given, prompt)

    def over(self) -> None:
        """Releases the threads that wait for an answer that never comes."""
        self._over.set()

    def _said(self, given: Any, prompt: ChatPrompt) -> ChatReply:
        if isinstance(given, Slowly):
            time.sleep(given.seconds)
            return self._said(given.answer, prompt)
        if given is NEVER:
            self._over.wait()
            return ChatReply("")
        if isinstance(given, Exception):
            raise given
        if isinstance(given, ChatReply):
            return given
        if callable(given):
            return self._said(given(prompt), prompt)
        return ChatReply(given if isinstance(given, str) else json.dumps(given))
