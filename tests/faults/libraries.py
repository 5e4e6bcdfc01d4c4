"""Forks while threads are inside libraries with locks of their own: a program, because a fork that never returns ends with it.

python libraries.py searching|surveying|embedding|covering
"""

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

from memorist.models.coverage import Coverage
from memorist.models.encoder import LayeredEmbedder
from memorist.text.linear import Expression
from memorist.upkeep import survey

CHILDREN = 100  # or as many as fit into the time: after a fork the linear algebra library starts threads anew
LONGEST = 2  # seconds
PATIENCE = 60  # seconds; a child takes milliseconds, and on a busy machine seconds


def searching() -> Callable[[], object]:
    expression = Expression(rb"(?i)(a|b|c|[a-f0-9]{3,40}|x.{0,30}y)+z(token|secret)[=: ]+[A-Za-z0-9+/]{20,}")
    # Each new text makes RE2 extend its automaton, which it does under a lock.
    return lambda: expression.search(bytes(random.choices(b"abcdefxyz tokensecret=+/", k=3000)))


def surveying() -> Callable[[], object]:
    vectors, rows = np.random.default_rng(0).random((300, 256), np.float32), np.arange(300)
    return lambda: survey._of_block(vectors, rows[:100], rows)


def embedding() -> Callable[[], object]:
    embedder = LayeredEmbedder()
    return lambda: embedder.embed([f"which database does service {random.random()} use?"])


def covering() -> Callable[[], object]:
    """A question of so many words that several products are needed."""
    asked = Coverage(" ".join(f"which database does service {number} use?" for number in range(100)))
    return lambda: asked.of(["service 3 uses database 7"] * 8)


WORKS = (searching, surveying, embedding, covering)


def again(work: Callable[[], object]) -> None:
    while True:
        work()


def child(work: Callable[[], object]) -> int:
    """What became of a child that did this."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(PATIENCE)
        for _ in range(5):
            work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    work = {each.__name__: each for each in WORKS}[sys.argv[1]]()
    for _ in range(3):
        threading.Thread(target=again, args=(work,), daemon=True).start()
    until = time.monotonic() + LONGEST
    for number in range(CHILDREN):
        time.sleep(0.003)
        ended = child(work)
        if ended:
            sys.exit(f"child {number} ended with {ended}")
        if time.monotonic() > until:
            break
    print("all children did their work", flush=True)
    os._exit(0)
