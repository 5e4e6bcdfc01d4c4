"""The program `memorist`, and `python -m memorist`.

It answers `--version` before anything else is imported, because that is what installers and shells ask, often.
"""

import sys

from memorist import __version__


def main() -> None:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        sys.stdout.write(f"memorist {__version__}\n")
        return
    try:
        import signal

        if hasattr(
            signal, "SIGPIPE"
        ):  # ends quietly without a reader, as `cat` does: `memorist list | head -1` is no error
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        from memorist.surfaces.cli.app import run

        code = run(arguments)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
