"""The program `memorist`, and `python -m memorist`.

`--version` is answered before anything else is imported, because installers and shells ask for it often. A hook imports
as little as it can, because an agent is waiting for it.
"""

import gc
import os
import sys
from collections.abc import Callable

from memorist import __version__

STAY = ("serve", "mcp", "sync", "upkeep")  # commands that may run for long
LONGEST_HOOK = 8.0  # seconds; agents kill a hook after ten
NOTING = 1.0  # seconds after that, to note for the doctor that a hook took too long
SELDOM = 50_000  # allocations before garbage is collected: most commands end before that


def main() -> None:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        sys.stdout.write(f"memorist {__version__}\n")
        return
    if not {*STAY} & {*arguments}:
        gc.set_threshold(SELDOM)
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its spinning threads cost a quarter of a cold recall
    if arguments[:1] == ["hook"] and not {"--help", "-h"} & {*arguments}:
        _hooked(arguments[1:])
    try:
        import signal

        # Without a reader the program ends quietly, as `cat` does: `memorist list | head -1` is not an error.
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        from memorist.surfaces.cli.app import run

        code = run(arguments)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _hooked(words: list[str]) -> None:
    """Answers an agent's hook and exits at once. Garbage collection and the interpreter's shutdown are skipped: either
    would take longer than asking a server."""
    gc.disable()
    from memorist.surfaces.cli import hook

    hook.run(words, begin=lambda: _after(LONGEST_HOOK, _give_up, words))
    os._exit(0)


def _give_up(words: list[str]) -> None:
    """Ends the process, because an agent waits no longer. The store is left consistent, as after a power cut: what was
    begun is either complete or undone."""
    from memorist.surfaces.cli import hook

    _after(NOTING, os._exit, 0)  # what holds up the hook may hold up noting it too
    hook.note_late(words, LONGEST_HOOK)
    os._exit(0)


def _after(seconds: float, do: Callable[..., object], *given: object) -> None:
    import threading

    later = threading.Timer(seconds, do, given)
    later.daemon = True
    later.start()


if __name__ == "__main__":
    main()
