"""Extraction at the command line: `memorist index [PATH…]` keeps what the project's files hold as items, and archives those that
are not there any more. What cannot be read is told on standard error, and the exit code is 1."""

from collections.abc import Callable, Sequence

from memorist.files import items
from memorist.records import Draft
from memorist.surfaces.cli.arguments import PLACE, Option
from memorist.surfaces.cli.screen import Screen, aside, one_line
from memorist.surfaces.cli.verbs import Place, opened

PROBLEMS_SHOWN = 20  # the rest is counted


def index(place: Place, paths: Sequence[str] = (), dry_run: bool = False) -> int:
    with opened(place) as memory:
        done = items.index(memory, paths, dry_run=dry_run)
    screen = Screen.of(place.json)
    if screen.json:
        screen.document(done)
    else:
        _show(done, screen)
    for problem in done.problems[:PROBLEMS_SHOWN]:
        aside(one_line(problem))
    if len(done.problems) > PROBLEMS_SHOWN:
        aside(f"and {len(done.problems) - PROBLEMS_SHOWN:,} more; --json names them all")
    return 1 if done.problems else 0


def _show(done: items.Indexed, screen: Screen) -> None:
    if done.dry_run:
        screen.rows(("type", "where", "text"), [_row(draft) for draft in done.drafts])
    counts = ", ".join(f"{count:,} {name}" for name, count in done.outcomes.items()) or "no items"
    what = "would be indexed:" if done.dry_run else screen.styled("indexed", "good")
    screen.line(f"{what} {done.files:,} {'file' if done.files == 1 else 'files'}: {counts}")
    if done.batch:
        confirm = f", `memorist review {done.batch} --decide approve` confirms it" if "added" in done.outcomes else ""
        screen.line(f"`memorist undo {done.batch}` takes it back{confirm}")


def _row(draft: Draft) -> tuple[str, str, str]:
    return str(draft.data["type"]), f"{draft.files[0]}:{draft.data['line']}", draft.text


INDEX = (
    Option(
        "paths", "A file or a folder of the project; several may be given, and all of it without any.", type="paths"
    ),
    Option("dry_run", "Shows what is in the files, and keeps nothing.", "--dry-run", "flag"),
    *PLACE,
)
commands: dict[str, tuple[tuple[Option, ...], Callable[..., int]]] = {"index": (INDEX, index)}
