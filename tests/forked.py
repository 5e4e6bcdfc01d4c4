"""How the process that forks (`forking.py`) is asked for a command; as a program, by a shell: `forked.py SOCKET WORD …`.

It imports little, because a shell starts it for every line.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket

HANDED = 4  # the standard streams, and the folder


def asked(place: str, words: Sequence[str], environment: Mapping[str, str], handed: Sequence[int]) -> socket:
    """A command is begun with these standard streams in that folder; its exit code will be told here."""
    mask = os.umask(0o077)
    os.umask(mask)
    raw = json.dumps({"words": words, "environment": environment, "mask": mask}).encode()
    talk = socket(AF_UNIX)
    talk.connect(place)
    numbers = b"".join(number.to_bytes(4, sys.byteorder) for number in handed)
    talk.sendmsg([len(raw).to_bytes(8, "big")], [(SOL_SOCKET, SCM_RIGHTS, numbers)])
    talk.sendall(raw)
    return talk


def from_a_shell(place: str, words: Sequence[str]) -> None:
    here = os.open(".", os.O_RDONLY)
    code = int(asked(place, words, dict(os.environ), (0, 1, 2, here)).recv(16))
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    from_a_shell(sys.argv[1], sys.argv[2:])
