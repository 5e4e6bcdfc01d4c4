"""The program `memorist`, and `python -m memorist`.

It answers `--version` before anything else is imported, because that is what installers and shells ask, often; and a hook with as
little as it needs, because an agent waits for it.
"""

import gc
import os
import sys

from memorist import __version__

STAY = ("serve", "mcp", "sync", "upkeep")  # commands that may run for long
LONGEST_HOOK = 8.0  # seconds; agents end one after ten
SELDOM = 50_000  # objects that are made before garbage is looked for: most commands end before that


def main() -> None:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        sys.stdout.write(f"memorist {__version__}\n")
        return
    if not {*STAY} & {*arguments}:
        gc.set_threshold(SELDOM)
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # whose threads wait by spinning: a quarter of a cold recall
    if arguments[:1] == ["hook"] and not {"--help", "-h"} & {*arguments}:
        _hooked(arguments[1:])
    try:
        import signal

        # Without a reader it ends quietly, as `cat` does: `memorist list | head -1` is no error.
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        from memorist.surfaces.cli.app import run

        code = run(arguments)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _hooked(words: list[str]) -> None:
    """Answers an agent, and is gone: to take everything apart again, or to look for garbage at all, would take longer than to
    ask a server."""
    gc.disable()
    from memorist.surfaces.cli import hook

    hook.run(words, begin=_end_in_time)
    os._exit(0)


def _end_in_time() -> None:
    """Whatever holds it up, an agent does not wait for longer: what was begun is whole or undone, as after a power cut."""
    import threading

    late = threading.Timer(LONGEST_HOOK, os._exit, (0,))
    late.daemon = True
    late.start()


if __name__ == "__main__":
    main()
