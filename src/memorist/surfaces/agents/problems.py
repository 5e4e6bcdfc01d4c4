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
    """Keeps an error, once: a hook may meet it again and again. If even that fails, the agent goes on all the same."""
    what = {"client": client[:60], "event": event[:60], "problem": Redactor(b"hooks").redact(_said(problem)[:500])}
    with suppress(Exception):
        file = settings.beside(FILE)
        if file is not None:
            others = [each for each in last() if not what.items() <= each.items()]
            line = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **what}
            replace_private(file, json.dumps([line, *others][:KEPT], indent=1), durable=False)


def _said(problem: BaseException) -> str:
    """What it says, where that holds nothing of what was handed over: of others only what they are."""
    if isinstance(problem, MemoristError):
        return str(problem)
    name = type(problem).__name__
    return f"{name}: {problem.strerror}" if isinstance(problem, OSError) and problem.strerror else name
