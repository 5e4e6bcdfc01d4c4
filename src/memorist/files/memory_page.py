"""`MEMORY.md` as one of the files that follow the store."""

from dataclasses import replace
from pathlib import Path

from memorist.files.conflict import conflict_copies, erase_from
from memorist.files.memory_md import MEMORY_MD, sync
from memorist.files.projections import Since, Target, Wipe
from memorist.memory import Memory


class MemoryPage:
    """`MEMORY.md` in the folder of a project's files: where the mode is `mirror`, edits come back."""

    name = MEMORY_MD

    def __init__(self, place: Target) -> None:
        self.file, self.scope, self.mode = place.folder / MEMORY_MD, place.scope, place.mode

    def files(self) -> list[Path]:
        return [file for file in (self.file, *conflict_copies(self.file)) if file.exists()]

    def write(self, memory: Memory, since: Since) -> list[str]:
        """Brings the page and the store together; what the user should hear of it. It is the project's page, whoever follows,
        and what it was last compared with is known here, whatever changed `since`."""
        rights = ("*", self.scope)
        access = replace(memory.access, reads=rights, writes=rights, role="project", home=self.scope)
        done = sync(memory.through(access), self.file, scope=self.scope, edits=self.mode == "mirror")
        edited = f"edits of {MEMORY_MD} came in; `memorist undo {done.batch}` takes them back"
        copies = (f"{copy} has what both sides said" for copy in done.conflicts)
        return [*([edited] if done.batch else []), *done.problems, *copies]

    def erase(self, memory: Memory, gone: Wipe) -> list[str]:
        return erase_from(self.file, memory, self.scope, gone.ids, gone.traces)
