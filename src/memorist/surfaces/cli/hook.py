"""`memorist hook AGENT EVENT`: answers an agent. It is a guest in somebody's session, so none of its errors may show
there: it prints nothing, ends with 0, and records the problem for `memorist doctor`.

It parses its words itself: an agent takes an exit code of 2 as a reason to stop, and the usual parser ends with that on
wrong words. First it asks the process of a running server, and loads nothing for that (`served`).
"""

import math
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from memorist.surfaces.agents import served

FLAG = "--plugin"  # stay silent if the agent's settings have this hook too


def run(words: Sequence[str], begin: Callable[[], None] = lambda: None) -> None:
    """Prints what the agent is told, if anything; calls `begin` before it waits for anything. Never raises."""
    try:
        begin()
        began = time.time()
        if hasattr(signal, "SIGPIPE"):  # the agent may be gone before it has read all
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        raw = sys.stdin.buffer.read(served.LARGEST_EVENT + 1)
        told = served.asked(words, raw)
        if told is None:
            answered(words, raw, _say, began)
        elif told:
            _say(told)
    except (Exception, KeyboardInterrupt) as problem:
        _note(words, problem)


def answered(words: Sequence[str], raw: bytes, say: Callable[[str], None], began: float = math.inf) -> None:
    """Says what the agent is told, if anything. What was noted as told after it `began` was never heard. Never raises."""
    try:
        _answer(words, raw, say, began)
    except (Exception, KeyboardInterrupt) as problem:
        _note(words, problem)


def note_late(words: Sequence[str], seconds: float) -> None:
    from memorist.errors import StoreUnavailable

    _note(
        words, StoreUnavailable(f"it took longer than {seconds:g} s and was ended; `memorist upkeep` does what it left")
    )


def _note(words: Sequence[str], problem: BaseException) -> None:
    with suppress(Exception):
        from memorist.surfaces.agents import problems

        client, event, *_ = (*words, "", "")
        problems.note(client, event, problem)


def _answer(words: Sequence[str], raw: bytes, say: Callable[[str], None], began: float) -> None:
    from memorist.errors import Invalid
    from memorist.surfaces.agents import hooks

    named = [word for word in words if word != FLAG]
    if len(named) != 2:
        raise Invalid(f"a hook is called with an agent and an event, not with {' '.join(named)[:60]!r}")
    client, event = named
    if FLAG in words:
        from memorist.surfaces.agents import switches

        if switches.in_settings(client, event):
            return
    hooks.answer(client, event, raw, say, began)


def _say(document: str) -> None:
    """Sends it at once: the work after it may take longer than the agent waits."""
    sys.stdout.write(document + "\n")
    sys.stdout.flush()
