"""The last few errors of hooks, for `memorist doctor`: a hook reports nothing where it runs."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memorist.errors import MemoristError
from memorist.redact import Redactor
from memorist.store.files import replace_private
from memorist.surfaces import settings

KEPT = 20


def _file() -> Path | None:
    user = settings.user_file()
    return None if user is None else user.parent / "hooks.json"


def last() -> list[dict[str, Any]]:
    """Newest first."""
    file = _file()
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
        file = _file()
        if file is not None:
            replace_private(file, json.dumps([line, *last()][:KEPT], indent=1), durable=False)
