"""The last few errors of hooks, for `memorist doctor`: a hook reports nothing where it runs."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from memorist.errors import MemoristError
from memorist.redact import Redactor
from memorist.store.files import replace_private
from memorist.surfaces import settings

FILE, KEPT = "hooks.json", 20


def last() -> list[dict[str, Any]]:
    """Newest first."""
    file = settings.beside(FILE)
    with suppress(OSError, ValueError):
        found = json.loads(file.read_bytes()) if file else []
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return []


def note(client: str, event: str, problem: BaseException) -> None:
    """Keeps an error. If even that fails, the agent goes on all the same."""
    said = str(problem) if isinstance(problem, MemoristError) else type(problem).__name__
    line = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"), "client": client[:60], "event": event[:60],
        "problem": Redactor(b"hooks").redact(said[:500]),
    }  # fmt: skip
    with suppress(Exception):
        file = settings.beside(FILE)
        if file is not None:
            replace_private(file, json.dumps([line, *last()][:KEPT], indent=1), durable=False)
