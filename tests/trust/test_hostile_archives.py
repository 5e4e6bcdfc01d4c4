"""Promise Z15 and nasty inputs 15, 16, 17 and 19: imports that are huge, hostile or cut off are refused or streamed in little
memory, and nothing of them is left half done."""

import io
import json
import stat
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import TORTURE, rounds
from faults.disks import files_at_most, files_of_any_size
from memorist import Memory
from memorist.errors import Invalid, MemoristError, StoreUnavailable
from memorist.files import streams
from memorist.files.importers import Values
from memorist.files.importers.places import transcripts
from memorist.files.sources import Source
from memorist.files.streams import Ids, Stream
from memorist.files.transfer import import_files

pytestmark = [pytest.mark.covers("Z15"), pytest.mark.usefixtures("without_reader")]
CONVERSATION = {
    "uuid": "d-1", "name": "Tea",
    "chat_messages": [{"uuid": "1", "sender": "human", "text": "How hot?", "created_at": "2026-03-04T08:00:00Z"}],
}  # fmt: skip
MOST_MEMORY = 300 << 20  # bytes


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", project="atlas") as memory:
        yield memory


def refused(memory: Memory, path: Path) -> str:
    with pytest.raises(Invalid) as problem:
        import_files(memory, [path])
    assert memory.count({"kind": {"$in": ["turn", "session", "fact"]}}) == 0 and memory.status()["events"] == 0
    return str(problem.value)


def packed(path: Path, *entries: tuple[Any, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return path


GOOD = ("conversations.json", json.dumps([CONVERSATION]).encode())

# ---------------------------------------------------------------- 16: archives


@pytest.mark.parametrize(
    "name", ["../x.json", "a/../../x.json", "/etc/x.json", "C:/x.json", "..\\x.json", "\\\\host\\x.json"]
)
def test_an_archive_that_climbs_is_refused_whole(memory: Memory, tmp_path: Path, name: str) -> None:
    entry = zipfile.ZipInfo("placeholder")
    entry.filename = name
    assert "leads out" in refused(memory, packed(tmp_path / "a.zip", GOOD, (entry, b"{}")))


def test_an_archive_with_a_link_is_refused_whole(memory: Memory, tmp_path: Path) -> None:
    link = zipfile.ZipInfo("conversations-2.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "leads out" in refused(memory, packed(tmp_path / "a.zip", GOOD, (link, b"/etc/passwd")))


def test_a_bomb_is_refused_unread(memory: Memory, tmp_path: Path) -> None:
    """What a table of contents says is enough: 10 GB of blanks in 10 MB."""
    bomb = packed(tmp_path / "a.zip", ("conversations.json", b"[" + b" " * (40 << 20) + b"]"))
    assert bomb.stat().st_size < 100_000 and "swells" in refused(memory, bomb)


def test_what_a_table_of_contents_hides_is_not_believed(memory: Memory, tmp_path: Path) -> None:
    """An entry that says it is small, and swells: no more of it is read than it said, and that is not whole."""
    content = json.dumps([CONVERSATION] * 2000).encode()
    raw = packed(tmp_path / "a.zip", ("conversations.json", content)).read_bytes()
    size = struct.pack("<L", len(content))
    assert raw.count(size) == 2
    (tmp_path / "a.zip").write_bytes(raw.replace(size, struct.pack("<L", 5000)))
    assert refused(memory, tmp_path / "a.zip")


def test_an_encrypted_archive_is_refused(memory: Memory, tmp_path: Path) -> None:
    raw = bytearray(packed(tmp_path / "a.zip", GOOD).read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(mark) + place] |= 1
    (tmp_path / "a.zip").write_bytes(raw)
    assert "encrypted" in refused(memory, tmp_path / "a.zip")


def test_an_archive_that_was_cut_off_is_refused(memory: Memory, tmp_path: Path) -> None:
    raw = packed(tmp_path / "a.zip", GOOD, ("b.bin", bytes(range(256)) * 50)).read_bytes()
    for length in (4, 30, len(raw) // 2, len(raw) - 10):
        (tmp_path / "a.zip").write_bytes(raw[:length])
        assert "cut off" in refused(memory, tmp_path / "a.zip")


def test_a_flipped_byte_in_an_archive_is_noticed_before_anything_is_stored(memory: Memory, tmp_path: Path) -> None:
    content = json.dumps([{**CONVERSATION, "uuid": f"d-{n}"} for n in range(3000)]).encode()
    raw = bytearray(packed(tmp_path / "a.zip", ("conversations.json", content), method=zipfile.ZIP_STORED).read_bytes())
    raw[raw.index(b"d-2900") + 2] ^= 1
    (tmp_path / "a.zip").write_bytes(raw)
    assert "cannot be read" in refused(memory, tmp_path / "a.zip")


def test_a_million_entries_are_refused_before_their_table_is_read(memory: Memory, tmp_path: Path) -> None:
    raw = packed(tmp_path / "a.zip", GOOD).read_bytes()
    end = raw.index(b"PK\x05\x06")
    many = struct.pack("<HHLL", 0xFFFF, 0xFFFF, 60_000_000, 100)
    (tmp_path / "a.zip").write_bytes(raw[: end + 8] + many + raw[end + 20 :])
    assert "too many" in refused(memory, tmp_path / "a.zip")
    (tmp_path / "a.zip").write_bytes(raw[:end] + b"PK\x06\x07" + bytes(16) + raw[end:])
    assert "too many" in refused(memory, tmp_path / "a.zip"), "a larger table beside the small one"


def as_zip64(path: Path, table: int | None = None, place: int | None = None, between: bytes = b"") -> Path:
    """The same archive with the two ends of a Zip64, as some programs write every archive."""
    raw = path.read_bytes()
    end = raw.index(b"PK\x05\x06")
    count, size, start = struct.unpack_from("<HLL", raw, end + 10)
    second = struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, table or size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end if place is None else place, 1)
    last = struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    path.write_bytes(raw[:end] + second + between + locator + last)
    return path


def test_a_zip64_is_read_within_the_same_bounds(memory: Memory, tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.zip", GOOD)
    good = archive.read_bytes()
    for wrong in ({"table": 60_000_000}, {"table": 1 << 40}, {"place": 3}, {"between": b"PK\x06\x06" + bytes(52)}):
        archive.write_bytes(good)
        assert "too many" in refused(memory, as_zip64(archive, **wrong))  # type: ignore[arg-type]
    bomb = packed(tmp_path / "b.zip", ("conversations.json", b"[" + b" " * (40 << 20) + b"]"))
    assert "swells" in refused(memory, as_zip64(bomb))
    archive.write_bytes(good)
    assert import_files(memory, [as_zip64(archive)]).outcomes["added"] == 2


@pytest.mark.parametrize(
    ("head", "how"),
    [(b"\x28\xb5\x2f\xfd", "zstd"), (b"\x1f\x8b\x08", "gzip"), (b"\xfd7zXZ\0", "xz"), (b"BZh9", "bzip2")],
)
@pytest.mark.parametrize("name", ["rollout.jsonl.zst", "notes.md", "conversations.json"])
def test_what_is_packed_otherwise_is_refused_with_what_to_do(
    memory: Memory, tmp_path: Path, head: bytes, how: str, name: str
) -> None:
    (tmp_path / name).write_bytes(head + bytes(range(256)))
    assert f"{name} is packed with {how}, which is not read; unpack it" in refused(memory, tmp_path / name)


def test_a_packed_transcript_in_a_folder_is_named(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (tmp_path / "a.jsonl").write_text(json.dumps({"type": "user", "message": {"role": "user", "content": "How hot?"},
        "uuid": "1", "sessionId": "s", "timestamp": "2026-03-04T08:00:00Z"}) + "\n")  # fmt: skip
    done = import_files(memory, transcripts("claude-code", tmp_path, tmp_path, tmp_path))
    assert done.outcomes["added"] == 2 and "b.jsonl.zst is packed with zstd" in done.problems[0]


def test_archives_in_archives_and_others_are_refused(memory: Memory, tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(*GOOD)
    nested = packed(tmp_path / "a.zip", ("inner.zip", inner.getvalue()))
    assert "without a conversations.json" in refused(memory, nested)
    assert "no conversations that are known" in refused(
        memory, packed(tmp_path / "b.zip", ("conversations.json", b"[{}]"))
    )


def test_the_ending_of_its_name_says_nothing(memory: Memory, tmp_path: Path) -> None:
    assert import_files(memory, [packed(tmp_path / "notes.json", GOOD)]).outcomes == {"added": 2}
    (tmp_path / "fake.zip").write_text("- no zip at all\n")
    assert import_files(memory, [tmp_path / "fake.zip"]).outcomes == {"added": 1}, "a text is a document"


# ---------------------------------------------------------------- 15: what a list of conversations may hold


@pytest.mark.parametrize(
    "content",
    [
        "[" + json.dumps(CONVERSATION) + ', {"uuid": "d-2", "chat_messages": ' + "[" * 100_000,
        "[" + json.dumps(CONVERSATION) + ', {"uuid": NaN}]',
        "[" + json.dumps(CONVERSATION) + ', {"uuid": 1, "uuid": 2}]',
        "[" + json.dumps(CONVERSATION) + ", {torn",
        "[" + json.dumps(CONVERSATION),
        "[" + json.dumps(CONVERSATION) + ', {"uuid": "\xff',
    ],
    ids=["depth 100,000", "NaN", "a key twice", "torn", "cut off", "not UTF-8"],
)
def test_a_list_that_cannot_be_read_to_its_end_is_refused_whole(memory: Memory, tmp_path: Path, content: str) -> None:
    (tmp_path / "conversations.json").write_bytes(content.encode("latin-1"))
    said = refused(memory, tmp_path / "conversations.json")
    assert "nothing was imported" in said or "is not an export" in said


def test_an_element_without_end_is_refused_in_little_memory(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "LONGEST_ELEMENT", 3 << 20)
    (tmp_path / "conversations.json").write_text(json.dumps([CONVERSATION, {"uuid": "x" * (8 << 20)}]))
    assert "longer than 3 M characters" in refused(memory, tmp_path / "conversations.json")


@pytest.mark.parametrize("form", ["bom", "crlf", "blanks", "utf-16"])
def test_harmless_forms_of_a_list_are_read(memory: Memory, tmp_path: Path, form: str) -> None:
    text = json.dumps([CONVERSATION, {**CONVERSATION, "uuid": "d-2"}], indent=1)
    raw = {
        "bom": b"\xef\xbb\xbf" + text.encode(), "crlf": text.replace("\n", "\r\n").encode(),
        "blanks": b" \n\t" + text.encode() + b"\n\n", "utf-16": text.encode("utf-16"),
    }[form]  # fmt: skip
    (tmp_path / "conversations.json").write_bytes(raw)
    assert import_files(memory, [tmp_path / "conversations.json"]).outcomes == {"added": 4}


def line(uuid: str, text: str) -> str:
    said = {"type": "user", "message": {"role": "user", "content": text}, "uuid": uuid, "sessionId": "c",
            "timestamp": "2026-03-01T10:00:00Z"}  # fmt: skip
    return json.dumps(said) + "\n"


def test_long_and_deep_lines_of_a_transcript_are_named_and_the_others_come_in(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    with file.open("w") as writing:
        writing.write("\ufeff" + line("1", "before"))
        writing.write('{"type": "user", "text": "' + "x" * 50_000_000 + '"}\r\n')
        writing.write('{"type": ' + "[" * 100_000 + "\n")
        writing.write('{"type": NaN}\n{"type": 1, "type": 2}\n[]\n\n')
        writing.write(line("2", "after"))
    done = import_files(memory, [file])
    assert done.outcomes == {"added": 3} and [problem.split(":")[1] for problem in done.problems] == list("23456")
    assert f"{streams.LONGEST_LINE:,} are allowed" in done.problems[0]


def test_a_transcript_that_is_all_wrong_is_refused_whole(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(line("1", "before") + "{junk\n" * 5000)
    assert "damaged lines" in refused(memory, tmp_path / "t.jsonl")


# ---------------------------------------------------------------- read twice, and the same both times


def test_a_file_that_changes_meanwhile_is_told_and_what_it_became_is_not_read(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(line("1", "what was looked at"))
    looked = streams.Stream._again

    def swapped(self: Stream, opened: Any) -> Iterator[bytes]:
        file.write_text(line("1", "what was put there"))
        return looked(self, opened)

    monkeypatch.setattr(streams.Stream, "_again", swapped)
    with pytest.raises(Invalid, match="was changed while it was imported"):
        import_files(memory, [file])
    assert memory.status()["events"] == 0


def test_a_transcript_that_grows_meanwhile_is_read_as_far_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(line("1", "one"))
    values = Values(Stream(Source(file, "t.jsonl")))
    assert len(list(values)) == 1
    with file.open("a") as writing:
        writing.write(line("2", "two"))
    assert len(list(values)) == 1


def test_ids_know_what_they_hold() -> None:
    ids = Ids()
    for number in range(2000):
        ids.add(f"m{number}")
        assert f"m{number}" in ids or number % 100
    assert len(ids) == 2000 and all(f"m{number}" in ids for number in range(2000)) and "m2000" not in ids


# ---------------------------------------------------------------- 19: a disk that fills up


def test_a_full_disk_leaves_a_batch_that_can_be_undone_or_finished(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("".join(line(str(n), f"turn {n} " + "word " * 60) for n in range(1000)))
    with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
        memory.remember("before")
        files_at_most(700_000)
        try:
            with pytest.raises(MemoristError, match=r"batch b\d+: undo it, or import again") as problem:
                import_files(memory, [file])
        finally:
            files_of_any_size()
        assert isinstance(problem.value, StoreUnavailable | MemoristError)
        there = memory.count({"kind": "turn"})
        assert 0 < there < 1000 and memory.audit().ok
        done = import_files(memory, [file])
        assert done.outcomes == {"added": 1001 - there, "unchanged": there} and memory.audit().ok


# ---------------------------------------------------------------- flat memory, in a process of its own

CHILD = """
import resource, sys
from memorist import Memory
from memorist.errors import Invalid
from memorist.files.transfer import export, import_files
kind, size, path, db = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
with Memory(db, project="atlas", embed="none") as memory:
    memory.remember("so that everything is loaded")
    try:
        print(import_files(memory, [path]).outcomes.get("added"))
        print(sum(len(line) for line in export(memory)) > 0)
    except Invalid as problem:
        print(problem)
try:  # what getrusage says begins with the memory of the process that started this one
    print(1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
except OSError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def peak(kind: str, size: int, path: Path) -> tuple[list[str], int]:
    """What a process said that imported it, and the most memory that it had."""
    words = [sys.executable, "-c", CHILD, kind, str(size), str(path), str(path.with_suffix(".db"))]
    *said, most = subprocess.run(words, capture_output=True, text=True, check=True, timeout=600).stdout.splitlines()
    return said, int(most)


def transcript(path: Path, size: int) -> Path:
    with path.open("w") as writing:
        writing.writelines(line(str(number), f"turn {number} " + "of some length " * 30) for number in range(size))
    return path


def test_memory_stays_flat_however_long_a_transcript_is(tmp_path: Path) -> None:
    few, many = rounds(5_000, 0.036), rounds(100_000, 0.02)
    small = peak("few", few, transcript(tmp_path / "few.jsonl", few))
    large = peak("many", many, transcript(tmp_path / "many.jsonl", many))
    assert small[0] == [str(few + 1), "True"] and large[0] == [str(many + 1), "True"]
    assert large[1] < small[1] + (30 << 20) and large[1] < MOST_MEMORY, (small, large)


HOSTILE: dict[str, Callable[[Path], None]] = {
    "one line without end": lambda path: _repeat(path, b"x", 5 << (30 if TORTURE else 24)),
    "one element without end": lambda path: _repeat(path, b'["' + b"x" * 1000, 1 << (30 if TORTURE else 26)),
    "blanks": lambda path: _repeat(path, b"[ ", 5 << (30 if TORTURE else 24)),
    "brackets": lambda path: _repeat(path, b"[", 1 << 26),
    "tiny lines": lambda path: _repeat(path, b"{}\n", 30_000_000 if TORTURE else 3_000_000),
}


def _repeat(path: Path, what: bytes, size: int) -> None:
    with path.open("wb") as writing:
        writing.write(what)
        for _ in range(size // (1 << 20)):
            writing.write(
                what[-1:] * (1 << 20) if len(what) < 3 or what[:1] == b"[" else what * ((1 << 20) // len(what))
            )


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_huge_is_refused_in_little_memory(tmp_path: Path, what: str) -> None:
    HOSTILE[what](tmp_path / "x.jsonl")
    said, most = peak(what, 0, tmp_path / "x.jsonl")
    assert len(said) == 1 and str(tmp_path) in said[0] and most < MOST_MEMORY, (said, most >> 20)
