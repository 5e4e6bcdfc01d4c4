"""`memorist hook AGENT EVENT`: answers an agent. It is a guest in somebody's session, so nothing that goes wrong here may be seen
there: whatever happens, it prints nothing, ends with 0, and the problem is noted for `memorist doctor`.

It reads its words itself: an agent takes an exit code of 2 as a reason to stop, and that is how wrong words end elsewhere.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress

from memorist.errors import Invalid

FLAG = "--plugin"  # says nothing where the agent's settings have this hook too


def run(words: Sequence[str]) -> None:
    """Prints what the agent is told, if anything. Never raises."""
    try:
        _answer(words)
    except (Exception, KeyboardInterrupt) as problem:
        with suppress(Exception):
            from memorist.surfaces.agents import problems

            client, event, *_ = (*words, "", "")
            problems.note(client, event, problem)


def _answer(words: Sequence[str]) -> None:
    _outlive_the_reader()
    named = [word for word in words if word != FLAG]
    if len(named) != 2:
        raise Invalid(f"a hook is called with an agent and an event, not with {' '.join(named)[:60]!r}")
    client, event = named
    if FLAG in words and _is_in_settings(client, event):
        return
    from memorist.surfaces.agents import hooks

    hooks.answer(client, event, sys.stdin.buffer.read(hooks.LARGEST_EVENT + 1), _say)


def _say(document: str) -> None:
    """At once: what is done after it may take longer than the agent waits."""
    sys.stdout.write(document + "\n")
    sys.stdout.flush()


def _outlive_the_reader() -> None:
    import signal

    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def _is_in_settings(client: str, event: str) -> bool:
    from memorist.surfaces.agents import plugin

    return plugin.in_settings(client, event)
