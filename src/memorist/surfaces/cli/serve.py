"""`memorist serve` and the keys of a server: `key add`, `key list`, `key rotate`, `key remove`.

A key is shown once, on standard output. What is written with it is an agent's word. A key whose words count as the
user's can only be made at a terminal, by a person who confirms that.
"""

import importlib.util
import logging
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.access import ORIGINS, ROLES
from memorist.errors import Invalid, Refused
from memorist.lazy import for_good
from memorist.surfaces.agents import served
from memorist.surfaces.cli import arguments
from memorist.surfaces.cli.arguments import DB, JSON, SPACE, WHICH_PROJECT, Commands, Option
from memorist.surfaces.cli.screen import aside, one_line
from memorist.surfaces.cli.verbs import Place
from memorist.surfaces.http.keys import RATE, KeyRing, usual_file

if TYPE_CHECKING:
    from memorist.surfaces.http.work import Memories

PORT = 8765
MOST_WORKERS = 64
M_ARENA_MAX, HEAPS = -8, 2  # glibc's number for it, from its malloc.h
NEEDED = ("fastapi", "uvicorn", "httptools", "orjson", "prometheus_client")
MISSING = "`memorist serve` needs a few packages more: pip install 'memorist[server]'"


def ring_of(file: str | None) -> KeyRing:
    return KeyRing(Path(file).expanduser() if file else usual_file())


def serve(
    place: Place,
    port: int = PORT,
    keys: str | None = None,
    allow_host: Sequence[str] = (),
    workers: int | None = None,
    verbose: bool = False,
    **given: Any,
) -> int:
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        raise Refused(MISSING)
    _check(port, workers)
    with for_good():
        from memorist.surfaces.http.server import Serving
        from memorist.surfaces.http.server import serve as run
        from memorist.surfaces.http.workers import write_log

    _share_heaps()
    write_log(logging.INFO if verbose else logging.WARNING)
    ring = ring_of(keys)
    names, screen = tuple(allow_host), place.screen
    given |= {"port": port, "ring": ring, "names": names, "workers": workers}
    serving = Serving(place.db, place.project, place.space, **given)

    def ready(address: str, memories: "Memories") -> None:
        asks = "every request needs a key" if serving.needs_keys else "for this machine, without a key"
        facts = {"url": address, "store": memories.path, "project": memories.usual, "keys": len(ring)}
        screen.answer(
            facts,
            f"serving {one_line(str(memories.path or 'RAM'))}, {memories.usual}, at {address} ({asks}); stop with Ctrl-C",
        )
        sys.stdout.flush()

    with served.process() if serving.is_local else nullcontext():
        run(serving, ready)
    return 0


def _check(port: int, workers: int | None) -> None:
    if not 0 <= port <= 65535:
        raise Invalid(f"--port takes a number from 0 to 65535, not {port}")
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise Invalid(f"--workers takes a number from 1 to {MOST_WORKERS}, not {workers}")


def _share_heaps() -> None:
    """Makes all threads of this process share two heaps. By default glibc gives each thread its own; memory that one
    thread frees is then of no use to the others, and a server comes to hold a few dozen megabytes that nobody uses.
    Must run before the threads start."""
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):  # another C library, which has no such heaps
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, HEAPS)


# ---------------------------------------------------------------- keys


def add(place: Place, name: str, keys: str | None = None, **given: Any) -> int:
    user = given.get("origin") == "user"
    if user and not arguments.at_terminal():  # no option replaces the person: any program could pass it
        raise Refused(
            "a key whose words count as yours is made at a terminal, by a person; without --origin it is an agent's"
        )
    if user and not arguments.agreed("what comes through this key will count as your own word; make it?"):
        return arguments.declined()
    if "key_space" in given:
        given["space"] = given.pop("key_space")
    if "users" in given:
        given["users"] = tuple(given["users"])
    ring = ring_of(keys)
    return _shown(place, ring, name, ring.add(name, **given))


def rotate(place: Place, name: str, keys: str | None = None) -> int:
    ring = ring_of(keys)
    return _shown(place, ring, name, ring.rotate(name))


def _shown(place: Place, ring: KeyRing, name: str, token: str) -> int:
    aside(f"this is the only time that the key of {name} is shown; {ring.path} keeps its digest")
    return place.screen.answer({**ring.named(name).shown(), "key": token}, token)


def list_keys(place: Place, keys: str | None = None) -> int:
    found = ring_of(keys).keys
    rows = [
        (
            each.name, each.space, ", ".join(each.projects), ", ".join(each.users or ()), each.role, each.origin,
            f"{each.rate:g}/s", each.made,
        )
        for each in found
    ]  # fmt: skip
    if not found:
        aside("there are no keys; `memorist key add NAME` makes one")
    heads = ("name", "space", "projects", "users", "role", "origin", "rate", "made")
    return place.screen.table([each.shown() for each in found], heads, rows)


def remove(place: Place, name: str, keys: str | None = None) -> int:
    ring = ring_of(keys)
    ring.remove(name)
    if len(ring) == 0:
        aside("no key is left; a server that needs one answers nobody")
    return place.screen.answer({"removed": name}, f"removed {name}: its bearer is refused from now on")


KEYS = Option(
    "keys", "The file of the keys; keys.json beside your settings without it.", "--keys", "path", placeholder="FILE"
)
KEY_NAME = Option("name", "The name of the key, which is the actor in the journal.", needed=True)
commands: Commands = {
    "serve": (
        (
            Option("host", "The address to listen at; default: 127.0.0.1, this machine only.", "--host"),
            Option("port", f"The port; default: {PORT}; 0 takes a free one.", "--port", "whole"),
            KEYS,
            Option("require_key", "Asks everybody for a key, also on this machine.", "--require-key", "flag"),
            Option(
                "allow_host", "A name under which others reach this server; may be repeated.", "--allow-host", "texts"
            ),
            Option(
                "workers",
                "Processes that answer questions; default: one for each core, at most 4. 1: the server does it itself.",
                "--workers",
                "whole",
            ),
            Option(
                "verbose", "Writes a line for each request to standard error; never what it said.", "--verbose", "flag"
            ),
            DB,
            WHICH_PROJECT,
            SPACE,
            JSON,
        ),
        serve,
    ),
    "key add": (
        (
            KEY_NAME,
            Option("projects", "A project it is for; may be repeated; any without it.", "--project", "texts"),
            Option(
                "users",
                "A user whose memories it sees; may be repeated; * for all. Without it all, and with --project none.",
                "--user",
                "texts",
            ),
            Option("role", f"{', '.join(ROLES)}; default: project.", "--role"),
            Option(
                "origin", f"Whose word it is that comes through it: {', '.join(ORIGINS)}; default: agent.", "--origin"
            ),
            Option("key_space", "The space it is for; default: default.", "--space"),
            Option("rate", f"Requests a second; default: {RATE:g}.", "--rate", "number"),
            Option("size", "Bytes of a request at most; the server's limit without it.", "--size", "whole"),
            KEYS,
            JSON,
        ),
        add,
    ),
    "key list": ((KEYS, JSON), list_keys),
    "key rotate": ((KEY_NAME, KEYS, JSON), rotate),
    "key remove": ((KEY_NAME, KEYS, JSON), remove),
}
