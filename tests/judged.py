"""The default design with a judge in it, and judges that know."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from memorist.design import Design
from memorist.designs.balanced import BALANCED
from memorist.models.chat import ChatPrompt
from memorist.recall.stages.judge import Judge


def judged(**how: Any) -> Design:
    """Judged right before the rules would abstain."""
    at = [type(stage).__name__ for stage in BALANCED.recall].index("Abstain")
    stages = BALANCED.recall
    return replace(BALANCED, name="judged", recall=(*stages[:at], Judge(**how), *stages[at:]))


def shown(prompt: ChatPrompt) -> Any:
    """The data of a prompt, as the model reads it."""
    return json.loads(prompt.user.split("\n")[1])


def choosing(*texts: str) -> Callable[[ChatPrompt], Any]:
    """A judge who chooses the notes that hold one of these."""
    return lambda prompt: {"relevant": chosen(prompt, texts)}


def chosen(prompt: ChatPrompt, texts: Iterable[str]) -> list[int]:
    return [note["number"] for note in shown(prompt)["notes"] if any(text in note["note"] for text in texts)]
