"""The command line on a server: `memorist --url http://127.0.0.1:8765 recall …`, or the setting `url`.

A command works with the client as it does with a local memory, and shows the same. Commands on a file, a folder or a
terminal stay local, and say so. The project is that of this folder, as it would be for a local store.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memorist import checks
from memorist.access import Access, access_for
from memorist.client import Client, asked_part
from memorist.errors import Invalid, MemoristError, NotFound
from memorist.kinds import KINDS
from memorist.project import Project, resolve_project
from memorist.records import Record, Reference
from memorist.remember.gate import scope_of
from memorist.surfaces import settings, wire
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.files.transfer import Imported
    from memorist.memory import Memory
    from memorist.surfaces.cli.verbs import Place

HEAD = 200  # bytes that show whether a file is an export
PIECE = 64 << 10  # bytes of a file per chunk
# The next step after an import: as a server says it (`http/more.py`), and as it is in a shell.
SHELL_STEPS = tuple(
    (re.compile(there), here)
    for there, here in (
        ("GET /v1/(export|status)", r"`memorist \1`"),
        ("POST /v1/memories/batch", "`memorist remember --batch`, one JSON object per line"),
        ("document=true(?= as a text)", "--document"),
        (r"(?<= with )(project|scope|user)=(?=\S+(,| as copies|$))", r"--\1 "),
        ("scope=(?= puts)", "--scope"),
    )
)


class Remote(Client):
    """A client, plus what screens ask of a memory besides its verbs."""

    adopted = None

    def __init__(self, url: str, project: Project) -> None:
        super().__init__(url, project=project.scope)
        self.project, self.home = project, project.scope

    @cached_property
    def access(self) -> Access:
        """What the usual key may read, for messages."""
        return access_for("project", self.home)

    def _must_get(self, id: Reference) -> Record:
        return self.get(id)

    def _whose(self) -> dict[str, str]:
        return {}

    def part(self, part: str, given: Mapping[str, Any]) -> Any:
        """Answers questions about a conversation without opening it."""
        return self._ask(asked_part(part, given))

    def talk(self, session: str, limit: int, user: str | None) -> tuple[Record | None, list[Record]]:
        """A conversation: its record, if it has one, and its last turns."""
        where = scope_of(None, user) or self.home
        found = self.list({"kind": "session", "session": session, "scope": where}, limit=1)
        try:
            return next(iter(found), None), self.part("turns", {"session": session, "user": user, "limit": limit})
        except NotFound:
            return None, []

    def listed(self, where: Mapping[str, Any] | None, order: str, limit: int) -> tuple[list[Record], int]:
        """The memories that recall finds, and how many turns, sessions and the like there are besides."""
        most, wanted = checks.whole(limit, "limit", 1, 1_000_000), limit
        aside = [kind.name for kind in KINDS.values() if not kind.recalled]
        hidden = self.count({**(where or {}), "kind": {"$in": aside}})
        found = self.list(where, order=order, limit=min(1_000_000, wanted + hidden))
        return [record for record in found if record.kind not in aside][:most], hidden

    # ------------------------------------------------------------ files

    def exported(self, style: str, where: Mapping[str, Any] | None, all: bool) -> Iterator[str]:
        """The content of an export by the server, as it arrives."""
        asked = {"style": style, "where": where, "all": all or None}
        return (f"{line}\n" for line in self.export_lines(**_said(asked)))

    def brought(
        self, paths: Sequence[str], scope: str | None, own: bool, dry_run: bool = False, document: bool = False
    ) -> "list[Imported]":
        """Imports these files, sending each as it is read, and returns the results. All are checked before the first is
        sent."""
        if own:
            raise Invalid("--own brings your export back into a store of this machine; name it with --db")
        if not paths:
            raise Invalid("no file was named; name exports, Markdown files or other text files")
        files = [Path(path).expanduser() for path in paths]
        for file in files:
            if not file.is_file():
                raise Invalid(
                    f"{quoted(str(file))} is no file; beside a server name the files themselves, not a folder"
                )
        asked = {"scope": scope, "dry_run": dry_run or None}
        return [self._sent_file(file, document or _is_document(file), _said(asked)) for file in files]

    def _sent_file(self, file: Path, document: bool, asked: Mapping[str, Any]) -> "Imported":
        from memorist.files import sources
        from memorist.files.transfer import Imported

        named: dict[str, Any] = {"name": file.name}
        if document:  # its name identifies it later, as on this machine
            named = {"name": sources.name_in(self.project.own_root, sources.Source(file, file.name)), "document": True}
        with file.open("rb") as raw, _in_shell_words():
            done: Imported = wire.noun(Imported, self._bring(iter(partial(raw.read, PIECE), b""), {**named, **asked}))
        problems, notes = (tuple(map(_for_a_shell, told)) for told in (done.problems, done.notes))
        return replace(done, problems=problems, notes=notes)


@contextmanager
def _in_shell_words() -> Iterator[None]:
    try:
        yield
    except MemoristError as problem:
        problem.args = (_for_a_shell(str(problem)),)
        raise


def _for_a_shell(said: str) -> str:
    """Rewrites a server's advice on an import: shell commands and options in place of its routes and fields."""
    for there, here in SHELL_STEPS:
        said = there.sub(here, said)
    return said


def _is_document(file: Path) -> bool:
    """Whether a file is neither Markdown nor JSON, by the rules of a local import."""
    from memorist.files import sources
    from memorist.files.jsonl import is_export

    if file.suffix.lower() in (*sources.MARKDOWN, *sources.JSON):
        return False
    with file.open("rb") as raw:
        return not is_export(raw.read(HEAD))


def _said(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


@contextmanager
def opened(place: "Place") -> Iterator["Memory"]:
    """The memory behind the server that is meant."""
    if place.space is not None:
        raise Invalid("the key that the server made says which space it opens; leave --space out")
    named = place.project if place.project is not None else settings.load(Path.cwd()).project
    with Remote(place.server or "", resolve_project(named, Path.cwd())) as there:
        yield cast("Memory", there)
