"""The process that has loaded the program once and forks for each command (see `warm.py`): `forking.py SOCKET WHAT`."""

import gc
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Any

from forked import HANDED


def serve(place: str, what: str) -> None:
    """Forks for every command until nobody holds its standard input; returns in the command's process."""
    load(what)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those who wait for a command are waited for by nobody
    with socket(AF_UNIX) as listening:
        listening.bind(place)
        listening.listen(64)
        threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
        os.write(1, b"ready\n")
        while True:
            talk, _ = listening.accept()
            if os.fork() == 0:
                break
            talk.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    attend(talk)


TRIED = {
    "cli": (["remember", "Staging runs Postgres 16"], ["recall", "Which Postgres runs on staging?"]),
    "mcp": (["remember", "Staging runs Postgres 16"], ["mcp"]),
}


def load(what: str) -> None:
    """What such commands load, but no state of theirs: a child tries some, and tells the names."""
    theirs, ours = os.pipe()
    if os.fork() == 0:
        from memorist.surfaces.cli.app import run

        with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("r+b") as nothing:
            os.dup2(nothing.fileno(), 0)
            os.dup2(nothing.fileno(), 1)
            os.environ["MEMORIST_CONFIG"] = f"{folder}/config.toml"
            for words in TRIED[what]:
                run([*words, "--db", f"{folder}/memory.db"])
        os.write(ours, "\n".join(sys.modules).encode())
        os._exit(0)
    os.close(ours)
    with os.fdopen(theirs) as told:
        names = told.read().split()
    os.wait()
    for name in names:
        with suppress(ImportError):  # what another module made up
            importlib.import_module(name)
    from memorist.models import embed, encoder

    embed.loaded_table()
    encoder.loaded_layers()
    gc.freeze()


def attend(talk: socket) -> None:
    """Waits for the command, which goes on alone, and tells how it ended; one that nobody waits for any more is killed."""
    head, given, _, _ = talk.recvmsg(8, 64)
    numbers = given[0][2]
    handed = [int.from_bytes(numbers[4 * at : 4 * at + 4], sys.byteorder) for at in range(HANDED)]
    size, raw = int.from_bytes(head, "big"), b""
    while len(raw) < size:
        raw += talk.recv(size - len(raw))
    child = os.fork()
    if child == 0:
        talk.close()
        become(json.loads(raw), handed)
        return
    for number in handed:
        os.close(number)
    ended = os.pidfd_open(child)
    if ended not in select.select([talk, ended], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(OSError):
        talk.sendall(str(code).encode())
    os._exit(0)


def become(said: Mapping[str, Any], handed: Sequence[int]) -> None:
    """From here on this process is as if it had been started with this."""
    *streams, folder = handed
    os.fchdir(folder)
    os.umask(said["mask"])
    os.environ.clear()
    os.environ.update(said["environment"])
    sys.path[0], sys.argv[1:] = str(Path.cwd()), said["words"]
    for number, (stream, name) in enumerate(zip(streams, ("stdin", "stdout", "stderr"), strict=True)):
        os.dup2(stream, number)
        was = getattr(sys, name)
        text = os.fdopen(number, "w" if number else "r", encoding=was.encoding, errors=was.errors, closefd=False)
        if number:
            text.reconfigure(line_buffering=text.isatty() or name == "stderr", write_through=was.write_through)
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
    for number in handed:
        os.close(number)


if __name__ == "__main__":
    serve(*sys.argv[1:])
    from memorist.__main__ import main

    main()
