"""The bytes of a file in blocks, in lines, or in the elements of a JSON array: any number of them, in little memory.

An import looks at every file once before it stores anything, and reads it again while it stores. The second reading
must see what the first one saw, because that was found whole, and perhaps sealed. So the first reading records a digest
of each block, and a later one compares them before it hands the block out, and ends where the first one ended. A
transcript that grows meanwhile is no problem; a file that changed is reported.

A file may also lie in an archive. From a zip only the conversations are read. It is refused whole if any entry climbs
out of it, is a link or encrypted, if its table of contents is large, or if an entry expands to hundreds of times its
packed size.
"""

import codecs
import os
import re
import stat
import struct
import zipfile
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from fnmatch import fnmatch
from hashlib import blake2b, sha256
from pathlib import PurePosixPath
from typing import IO, Any

from memorist.errors import Invalid
from memorist.files.sources import Source, moment, opened
from memorist.strict_json import DECODER, NotStrict

BLOCK = 1 << 20  # bytes
LONGEST_LINE = 8 << 20  # bytes: the longest text, every character of it escaped, and its labels
LONGEST_ELEMENT = 16 << 20  # characters of one conversation in an array of them
LARGEST_WHOLE = 32 << 20  # bytes of a file that must be read whole: Markdown, documents, one large JSON value
LARGEST_STREAM = 8 << 30  # bytes of a file that is read in blocks
UNICODE_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
BLANKS = re.compile(r"[ \t\r\n]*+")
CHANGED = "{} was changed while it was imported; import it again"


class Damaged(Exception):
    """One line or element that cannot be read."""


class Stream:
    """A source that is read several times, and is the same each time."""

    def __init__(self, source: Source, heard: Callable[[int], None] | None = None) -> None:
        self.source, self._heard = source, heard
        self._digests: list[tuple[int, bytes]] = []  # the size and the digest of each block
        self._whole = False  # whether all digests are recorded
        self.modified: datetime
        self.fingerprint = ""  # the SHA-256 of the whole file, once it was read to the end

    @property
    def shown(self) -> str:
        return self.source.shown

    def head(self, size: int = BLOCK) -> bytes:
        """Its beginning, as UTF-8 without a byte order mark; records nothing."""
        with self._open() as file:
            return b"".join(_utf8(iter([file.read(size)])))

    def blocks(self) -> Iterator[bytes]:
        with self._open() as file:
            yield from self._again(file) if self._whole else self._first(file)

    def whole(self) -> bytes:
        """All of it, if it is small enough."""
        found = bytearray()
        for block in self.blocks():
            found += block
            if len(found) > LARGEST_WHOLE:
                raise Invalid(
                    f"{self.shown} is larger than {LARGEST_WHOLE >> 20} MB, which such a file may have; split it"
                )
        return bytes(found)

    def _first(self, file: IO[bytes]) -> Iterator[bytes]:
        self._digests, size, whole = [], 0, sha256()
        while block := file.read(BLOCK):
            size += len(block)
            if size > LARGEST_STREAM:
                raise Invalid(f"{self.shown} is larger than {LARGEST_STREAM >> 30} GB; split it")
            self._digests.append((len(block), blake2b(block, digest_size=16).digest()))
            whole.update(block)
            self._tell(block)
            yield block
        self._whole, self.fingerprint = True, whole.hexdigest()

    def _again(self, file: IO[bytes]) -> Iterator[bytes]:
        for size, digest in self._digests:
            block = file.read(size)
            if blake2b(block, digest_size=16).digest() != digest:
                raise Invalid(CHANGED.format(self.shown))
            self._tell(block)
            yield block

    def _tell(self, block: bytes) -> None:
        if self._heard is not None:
            self._heard(len(block))

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        with opened(self.source) as file:
            self.modified = moment(os.fstat(file.fileno()).st_mtime)
            if self.source.entry is None:
                yield file
            else:
                with _told(self.shown), zipfile.ZipFile(file) as archive, archive.open(self.source.entry) as entry:
                    yield entry


# ---------------------------------------------------------------- lines


def lines(stream: Stream) -> Iterator[tuple[int, bytes | None, bool]]:
    """The number of each line, its bytes as UTF-8, and whether a newline ends it; None for the bytes of a line that is
    too long."""
    rest, number, skips = b"", 0, False
    for block in _utf8(stream.blocks()):
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            number += 1
            yield number, None if skips or len(line) > LONGEST_LINE else line, True
            skips = False
        if len(rest) > LONGEST_LINE:
            rest, skips = b"", True
    if rest or skips:
        yield number + 1, None if skips else rest, False


def _utf8(blocks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(blocks, b"")
    name = next((name for mark, name in UNICODE_MARKS.items() if first.startswith(mark)), None)
    if name != "utf-16":
        yield first.removeprefix(b"\xef\xbb\xbf")
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(name)(errors="replace")
    for block in (first, *blocks):
        yield decoder.decode(block).encode("utf-8", "replace")


# ---------------------------------------------------------------- elements


def elements(stream: Stream) -> Iterator[tuple[int, Any]]:
    """The elements of a JSON array, or of the array that an object begins with, one at a time. An unreadable element
    ends it, because nobody can tell where the next one begins."""
    text = _Text(stream)
    text.enter()
    number = 0
    while text.more():
        number += 1
        yield number, text.value(number)


class _Text:
    """The text of a stream from some position on; what was read is dropped."""

    def __init__(self, stream: Stream) -> None:
        self._blocks = codecs.iterdecode(_utf8(stream.blocks()), "utf-8", "strict")
        self._left, self._at, self._over = "", 0, False

    def enter(self) -> None:
        if self._next() == "{":
            found = self._left.find("[", self._at)
            key = self._left[self._at : found] if found >= 0 else ""
            if key.count('"') != 2 or key.count(":") != 1:
                raise Damaged("is no list, and does not begin with one")
            self._at = found
        if self._next() != "[":
            raise Damaged("is no list")
        self._at += 1

    def more(self) -> bool:
        """Whether another element follows the last one."""
        here = self._next()
        if here == ",":
            self._at += 1
            here = self._next()
        if here == "":
            raise Damaged("ends in the middle of its list, so it is truncated")
        return here != "]"

    def value(self, number: int) -> Any:
        wanted = BLOCK
        while True:
            try:
                value, end = DECODER.raw_decode(self._left, self._at)
                if end < len(self._left) or self._over:  # else a number may go on
                    self._at = end
                    return value
            except RecursionError as problem:
                raise Damaged(f"its element {number:,} is nested too deeply") from problem
            except NotStrict as problem:
                raise Damaged(f"its element {number:,} {problem}") from problem
            except ValueError as problem:
                if self._over:
                    raise Damaged(f"its element {number:,} is not JSON, or is truncated") from problem
            if len(self._left) - self._at > LONGEST_ELEMENT:
                raise Damaged(
                    f"its element {number:,} is longer than {LONGEST_ELEMENT >> 20} M characters, or not JSON"
                )
            self._read(wanted)
            wanted *= 2

    def _next(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            self._at = BLANKS.match(self._left, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._left) or self._over:
                return self._left[self._at : self._at + 1]
            self._read(1)

    def _read(self, wanted: int) -> None:
        """Reads at least that many more characters, if there are any."""
        pieces, size = [self._left[self._at :]], 0
        while size < wanted and not self._over:
            try:
                piece = next(self._blocks)
            except StopIteration:
                self._over = True
            except UnicodeDecodeError as problem:
                raise Damaged("is not UTF-8") from problem
            else:
                pieces.append(piece)
                size += len(piece)
        self._left, self._at = "".join(pieces), 0


# ---------------------------------------------------------------- archives

CONVERSATIONS = "conversations*.json"
SWELLS = 200  # the most times its packed size that an entry may have
SMALL = 16 << 20  # bytes that any entry may have
LARGEST_TABLE = 4 << 20  # bytes of an archive's table of contents: some ten thousand entries
_END, _LOCATOR, _END_64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"
PACKED = {
    b"\x28\xb5\x2f\xfd": "zstd", b"\x1f\x8b": "gzip", b"\xfd7zXZ\0": "xz", b"BZh": "bzip2", b"7z\xbc\xaf\x27\x1c": "7-Zip",
}  # fmt: skip
ZIPS = (b"PK\x03\x04", _END)
UNPACK = "unpack it, and name the files that you want"


def is_zip(head: bytes) -> bool:
    return head.startswith(ZIPS)


def inside(source: Source) -> list[str]:
    """The entries of an archive that hold conversations. All of them are checked before any is read."""
    with opened(source) as file, _told(source.shown):
        _must_be_small(file, source.shown)
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    for entry in entries:
        _must_be_harmless(entry, source.shown)
    names = [entry.filename for entry in entries if fnmatch(PurePosixPath(entry.filename).name, CONVERSATIONS)]
    if not names:
        raise Invalid(f"{source.shown} is an archive without a conversations.json; {UNPACK}")
    return sorted(names)


def must_be_unpacked(head: bytes, shown: str) -> None:
    """Refuses packed files other than zip."""
    how = next((name for mark, name in PACKED.items() if head.startswith(mark)), None)
    if how is not None:
        raise Invalid(f"{shown} is packed with {how}, which is not read; unpack it with {how}, and name what comes out")


def _must_be_small(file: IO[bytes], shown: str) -> None:
    """Checks the size of the table by the archive's end record, before a library reads the table: a million entries
    would fill the memory."""
    size = file.seek(0, os.SEEK_END)
    file.seek(-min(size, 22 + 0xFFFF), os.SEEK_END)
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < 22:
        raise Invalid(f"{shown} is a zip that was cut off; get it again")
    (table,) = struct.unpack_from("<L", tail, at + 12)
    if tail[max(0, at - 20) : at].startswith(_LOCATOR):
        table = _size_by_64(file, size - len(tail) + at, tail[at - 20 : at])
    if table is None or table > LARGEST_TABLE:
        raise Invalid(f"{shown} is an archive of too many or too large files; {UNPACK}")
    file.seek(0)


def _size_by_64(file: IO[bytes], end: int, locator: bytes) -> int | None:
    """The size of a Zip64's table; None if its second end record is not right before the locator, because another
    reader might not find it anywhere else, or find another one."""
    disk, place, disks = struct.unpack("<4xLQL", locator)
    file.seek(max(0, end - 76))
    mark, length, *_, table, _begins = struct.unpack("<4sQHHLLQQQQ", file.read(56).ljust(56, b"\0"))
    at_home = (disk, place, mark, length) == (0, end - 76, _END_64, 44) and disks <= 1
    return int(table) if at_home else None


def _must_be_harmless(entry: zipfile.ZipInfo, shown: str) -> None:
    path = PurePosixPath(entry.filename.replace("\\", "/"))
    climbs = path.is_absolute() or ".." in path.parts or ":" in entry.filename.partition("/")[0]
    if climbs or stat.S_ISLNK(entry.external_attr >> 16):
        raise Invalid(f"{shown} is an archive with an entry that leads out of it, so nothing of it was read")
    if entry.flag_bits & 1:
        raise Invalid(f"{shown} is encrypted; {UNPACK}")
    if entry.file_size > max(SMALL, SWELLS * entry.compress_size):
        raise Invalid(f"{shown} holds an entry that swells to {entry.file_size:,} bytes, so nothing of it was read")


@contextmanager
def _told(shown: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError) as problem:
        raise Invalid(f"{shown} is a zip that cannot be read ({problem}); get it again, or {UNPACK}") from problem


# ---------------------------------------------------------------- ids


class Ids:
    """Very many ids in eight bytes each: a digest of each, sorted on demand."""

    def __init__(self) -> None:
        self._digests, self._sorted = array("Q"), True

    def add(self, id: str) -> None:
        self._digests.append(_digest(id))
        self._sorted = False

    def __contains__(self, id: object) -> bool:
        if not self._sorted:
            self._digests, self._sorted = array("Q", sorted(self._digests)), True
        wanted = _digest(str(id))
        at = bisect_left(self._digests, wanted)
        return at < len(self._digests) and self._digests[at] == wanted

    def __len__(self) -> int:
        return len(self._digests)


def _digest(id: str) -> int:
    return int.from_bytes(blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest())
