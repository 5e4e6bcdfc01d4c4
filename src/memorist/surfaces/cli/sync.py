"""MEMORY.md at the command line: reads back what people changed in it, and writes into it what was remembered.

At a terminal the edits are shown first, and the person may adopt them: then they are the user's word. Otherwise, and
down a pipe, they count as what a file says: unconfirmed, and as proposals if they change the words of a more trusted
source.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memorist.errors import Invalid, MemoristError
from memorist.files.follow import follower_of, target_of
from memorist.files.memory_md import MEMORY_MD, Edit, Synced, sync
from memorist.memory import Memory
from memorist.records import counted
from memorist.surfaces.cli import arguments, verbs, watch
from memorist.surfaces.cli.arguments import PLACE, Commands, Option
from memorist.surfaces.cli.screen import Screen, aside, one_line
from memorist.surfaces.cli.verbs import CONSENT_CODE, Place, opened

DIFF_SIGNS = {"added": "+", "revised": "+", "removed": "-", "restored": "+", "unconfirmed": "?"}
ADOPT = "adopt these edits as your word?"
A_LOOK = 1.0  # seconds between two checks of the page and the store


def sync_command(
    place: Place,
    path: str | None = None,
    watched: bool = False,
    transcripts: bool = False,
    dry_run: bool = False,
    yes: bool = False,
) -> int:
    if transcripts:
        return _stay_reading(place, watched and path is None)
    with opened(place, confirm=lambda ask: "queue") as memory:  # someone who adopts nothing is not asked line by line
        file = _file(memory, path)
        if watched:
            return _stay(memory, file, place)
        screen = place.screen
        plan = sync(memory, file, scope=place.scope, dry_run=True)
        if not place.json:
            _show_edits(plan.edits, screen)
        if dry_run:
            return screen.answer(plan, *([] if plan.edits else ["nothing was edited"]))
        adopt = plan if _adopted(memory, plan, yes) else None
        done = sync(memory, file, scope=place.scope, adopt=adopt)
        _follow(memory)
        return _told(done, screen)


def _adopted(memory: Memory, plan: Synced, yes: bool) -> bool:
    return memory.access.origin == "user" and bool(plan.edits) and (yes or arguments.agreed(ADOPT))


def _file(memory: Memory, path: str | None) -> Path:
    """The page that is named, else the one among the project's files, else one in its folder."""
    if path is not None:
        return Path(path).expanduser()
    target, beside = target_of(memory), (memory.project.root or Path.cwd()) / MEMORY_MD
    if target is None:
        return beside
    page = target.folder / MEMORY_MD
    if beside.is_file() and beside.resolve() != page.resolve():
        name = one_line(str(beside), longest=sys.maxsize)
        aside(f"{name} is another page, which this does not read; `memorist sync {MEMORY_MD}` there does")
    return page


def _follow(memory: Memory) -> None:
    """Syncs the other files of the project with the store, if it has any."""
    follower = follower_of(memory)
    for said in follower.sync().told if follower else ():
        aside(said)


def _show_edits(edits: Sequence[Edit], screen: Screen) -> None:
    """Shows all edits in full: whoever adopts them vouches for every word."""
    for edit in edits:
        if edit.before is not None:
            screen.line(_in_full("-", edit.before), "bad")
        style = "bad" if edit.verb == "removed" else "good"
        screen.line(_in_full(DIFF_SIGNS[edit.verb], edit.text), style)
    if any(edit.verb == "unconfirmed" for edit in edits):
        screen.line("? came in before, and nobody has confirmed it; to adopt it at a terminal makes it your word")


def _in_full(sign: str, text: str) -> str:
    return f"{sign} {one_line(text, longest=sys.maxsize)}"


def _in_short(done: Synced) -> str:
    counts = (("edit{} came in", done.edits), ("line{} written", done.written), ("folded away", done.folded))
    said = ", ".join(counted(len(some), what) for what, some in counts if some)
    return said or ("written" if done.changed else "nothing to do")


def _told(done: Synced, screen: Screen) -> int:
    """Shows what was done. → the exit code"""
    lines = [f"{screen.styled('synced', 'good')} {one_line(done.path)}: {_in_short(done)}"]
    if done.batch:
        lines.append(f"`memorist undo {done.batch}` takes the edits back")
    if done.proposals:
        lines.append(f"{', '.join(done.proposals)} wait for a person; `memorist review` shows and decides them")
    lines += [f"both sides changed the same; {one_line(copy)} has what each of them said" for copy in done.conflicts]
    screen.answer(done, *lines)
    for problem in done.problems:
        aside(problem)
    return 1 if done.problems else CONSENT_CODE if done.proposals else 0


def _stay(memory: Memory, file: Path, place: Place) -> int:
    """Syncs whenever the page or the store has changed and the page has been quiet for a moment: an editor may be
    writing. Compares with the state before the last sync, so that changes by others meanwhile are noticed. Also keeps
    reading the transcripts of agents as they grow."""
    screen, known, before = place.screen, None, None
    attempt, reading = _Attempt(screen), _Attempt(screen)
    with watch._until_stopped() as stop:
        aside(f"watching {file}; stop with Ctrl-C")
        while not stop.is_set():
            now = _stand(memory, file)
            if now == before != known and attempt.works(lambda: sync(memory, file, scope=place.scope)):
                known = now
            before = now
            reading.works(lambda: _transcripts(memory))
            stop.wait(A_LOOK)
    return 0


def _stay_reading(place: Place, alone: bool) -> int:
    """Keeps reading the transcripts of agents as they grow, and no page."""
    if not alone:
        raise Invalid("--transcripts goes with --watch, and without a page; `memorist upkeep` reads them once")
    reading = _Attempt(place.screen)
    with opened(place) as memory, watch._until_stopped() as stop:
        aside("reading the transcripts of agents; stop with Ctrl-C")
        while not stop.is_set():
            reading.works(lambda: _transcripts(memory))
            stop.wait(A_LOOK)
    return 0


def _transcripts(memory: Memory) -> None:
    """Reads on in the transcripts of agents, for a moment."""
    verbs.read_transcripts(memory, A_LOOK)


def _stand(memory: Memory, file: Path) -> tuple[int, ...]:
    head = memory._tools.store.head()
    try:
        about = file.stat()
    except OSError:
        return (head.last if head else 0,)
    return (head.last if head else 0, about.st_mtime_ns, about.st_size, about.st_ino)


@dataclass(slots=True)
class _Attempt:
    """Runs a step whose obstacle may be gone the next time, and reports that obstacle once."""

    screen: Screen
    problem: str = ""

    def works(self, work: Callable[[], Synced | None]) -> bool:
        try:
            done = work()
        except MemoristError as problem:
            if str(problem) != self.problem:
                aside(str(problem))
            self.problem = str(problem)
            return False
        if done is None:
            return True
        if done.changed or done.edits or done.problems:
            _told(done, self.screen)
        self.problem = ""
        return True


SYNC = (
    Option("path", f"The page; {MEMORY_MD} in the project's folder without it.", type="path"),
    Option(
        "watched", "Stays, and syncs whenever the page or the store changes, until it is stopped.", "--watch", "flag"
    ),
    Option("transcripts", "With --watch: only reads the transcripts of agents, and no page.", "--transcripts", "flag"),
    Option("dry_run", "Shows what was edited, and changes nothing.", "--dry-run", "flag"),
    Option("yes", "Adopts the edits as your word without asking, at a terminal.", "--yes", "flag"),
    *PLACE,
)
commands: Commands = {"sync": (SYNC, sync_command)}
