"""Whether somebody listens to what is asked of a store: `memorist log --follow`, or a client of a server's events.

What was asked lies in a buffer of its process and is written late, because nobody waits for it; but whoever listens does. So a
listener touches a file beside the store each time it looks, and whoever asks looks at the time of that file. The file holds
nothing. It stays when the last listener goes, or dies, and is too old a few seconds later to mean anything.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from memorist.store.files import create_private

HEARD = 5.0  # seconds after its last look in which a listener is taken to be there


class Audience:
    """Those who listen to one store, in whichever process."""

    def __init__(self, store: Path | None) -> None:
        self._path = store.with_name(store.name + ".heard") if store else None

    def __bool__(self) -> bool:
        if self._path is None:
            return False
        try:
            return abs(time.time() - self._path.stat().st_mtime) < HEARD
        except OSError:
            return False

    def listen(self) -> None:
        """Says that somebody does. Where nothing can be written, they hear of questions late."""
        if self._path is None:
            return
        with suppress(OSError):
            if self._path.exists():
                os.utime(self._path)
            elif self._path.parent.is_dir():  # a folder that was removed meanwhile stays so
                create_private(self._path)
