"""Recognises a file by its content, and yields its parts one after the other, as often as needed.

A file is an export of ours, a file of a founding document's program, a transcript or an export of another program
(`importers/`), Markdown, or any other text as a document. Exports and transcripts are read block by block, whatever
their size; the others are small, and are read as a whole.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from memorist.errors import Invalid
from memorist.files import documents, importers, jsonl, originals, sources, streams
from memorist.files.importers import basic_memory
from memorist.files.markdown import Entry, memories_in
from memorist.memory import Memory
from memorist.text.visible import decoded

MOST_PROBLEMS = 1000  # reported for one import; a file with as many damaged lines is refused whole


@dataclass(slots=True)
class Content:
    """One recognised file."""

    stream: streams.Stream
    parts: Callable[[], Iterator[jsonl.Part]]
    export: jsonl.Export | None = None
    original: originals.Original | None = None
    document: str | None = None  # its name

    @property
    def file(self) -> str:
        """The name of the file in messages."""
        return self.stream.shown


def of(source: sources.Source, memory: Memory, document: bool, heard: Callable[[int], None]) -> Iterator[Content]:
    """Recognises the file, or those of an archive."""
    stream = streams.Stream(source, heard)
    head = stream.head()
    streams.must_be_unpacked(head, source.shown)
    if streams.is_zip(head) and not document:
        for name in streams.inside(source):
            entry = streams.Stream(replace(source, entry=name), heard)
            content = _known(entry, memory)
            if content is None:
                raise Invalid(f"{entry.shown} holds no conversations that are known; {streams.UNPACK}")
            yield content
    else:
        yield _content(stream, head, memory, document)


def _content(stream: streams.Stream, head: bytes, memory: Memory, document: bool) -> Content:
    suffix = stream.source.path.suffix.lower()
    if not document and suffix in sources.MARKDOWN:
        return Content(stream, lambda: iter(_memories(stream)))
    if not document and (jsonl.is_export(head) or suffix in sources.JSON):
        return _json(stream, head, memory)
    return _document(stream, memory)


def _json(stream: streams.Stream, head: bytes, memory: Memory) -> Content:
    """An export, a transcript, or a file of a founding document's program; if its project.json is damaged, the backup
    beside it. For any other JSON the error explains what an export is."""
    found = None if jsonl.is_export(head) else _known(stream, memory) or _original(stream, memory)
    if found is None:
        export = jsonl.Export(stream)
        found = Content(stream, export.parts, export)
    return found


def _known(stream: streams.Stream, memory: Memory) -> Content | None:
    """A file of another program that one of the importers recognises."""
    values = importers.Values(stream)
    importer = importers.recognised(values)
    if importer is None:
        return None
    return Content(stream, lambda: importers.parts(importer, values, memory))


def _original(stream: streams.Stream, memory: Memory) -> Content | None:
    if stream.source.size > streams.LARGEST_WHOLE:
        return None
    found = originals.read(stream.whole(), stream.shown, memory)
    beside = sources.backup_of(stream.source)
    if found is None and beside is not None:
        found = originals.read(streams.Stream(beside).whole(), beside.shown, memory)
        if found is not None:
            found.problems.append(f"{stream.shown} is damaged, so {beside.shown} was read")
    return None if found is None else Content(stream, found.parts, original=found)


def _memories(stream: streams.Stream) -> list[Entry]:
    text = decoded(stream.whole(), stream.shown)
    if text.count("\n") + text.count("\r") > sources.MOST_LINES:
        raise Invalid(f"{stream.shown} is longer than {sources.MOST_LINES:,} lines; split it")
    found = [replace(each, file=stream.shown) for each in memories_in(text, stream.source.name, stream.modified)]
    return [basic_memory.understood(each) for each in found] if basic_memory.is_note(text) else found


def _document(stream: streams.Stream, memory: Memory) -> Content:
    writer = memory._writer
    # A project given by name has no folder: the same name in two folders means two documents.
    name = writer.redact(sources.name_in(memory.project.own_root, stream.source))

    def parts() -> Iterator[Entry]:
        text = documents.text_of(stream.whole(), stream.shown)
        yield from documents.pieces_of(writer.redact_lines(text), name, stream.modified, stream.shown)

    return Content(stream, parts, document=name)
