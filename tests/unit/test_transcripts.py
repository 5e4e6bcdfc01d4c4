"""Transcripts: a turn as a line, names that stay in their folder, reading what is damaged, and adding whole lines only."""

import errno
import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.errors import Invalid, StoreUnavailable
from memorist.files.follow import Follower
from memorist.files.streams import LONGEST_LINE
from memorist.files.transcripts import END, append, file_of, name_of, read

NASTY_IDS = (
    "..", ".", "../../etc/passwd", "/etc/passwd", "C:\\Windows\\win.ini", "c:evil", "\\\\server\\share", "CON", "con", "con.txt",
    "nul", "COM1", "lpt9.log", "name.", "name ", " name", "%2e%2e%2fup", "%252e%252e%252fup", "a/b", "a\\b", "a:b", "a*b", "Name",
    "NAME", "name", "naïve", "nai\u0308ve", "Straße", "STRASSE", "İstanbul", "ıstanbul", "ﬁle", "file", "x" * 300, "~", "-",
    "._", "🦩", "аdmin",
    "name~0123", ".hidden", ".jsonl", "a.jsonl", "a.jsonl.torn", "sessions.json", "con~", "x\u200by", "x\u202ey",
)  # fmt: skip


# ---------------------------------------------------------------- names


def same_on_some_disk(name: str) -> str:
    """What file systems that fold case or normalise take for the same."""
    return unicodedata.normalize("NFKC", name).casefold().rstrip(". ")


@pytest.mark.covers("Z7")
def test_two_ids_never_share_a_file_and_none_leaves_its_folder(tmp_path: Path) -> None:
    names = [name_of(session) + END for session in NASTY_IDS]
    assert len({same_on_some_disk(name) for name in names}) == len(NASTY_IDS)
    for session in NASTY_IDS:
        file = file_of(tmp_path, session)
        assert Path(os.path.realpath(file)).parent == Path(os.path.realpath(tmp_path / "sessions"))
        assert file.name.isascii() and len(file.name) <= 100 and not set(file.name) & set('/\\:*?"<>|% ')
        assert file.name.partition(".")[0] not in ("con", "nul", "com1", "lpt9")


@pytest.mark.covers("Z7")
@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_names_differ_where_ids_do(one: str, other: str) -> None:
    assert (same_on_some_disk(name_of(one)) == same_on_some_disk(name_of(other))) == (one == other)
    assert name_of(name_of(one)) == name_of(one) or "~" in name_of(one)


@pytest.mark.covers("S2-3")
def test_an_ordinary_id_is_its_own_name() -> None:
    for session in ("monday", "2026-11-16-a1b2c3", "9b2d1c4e-0000-4000-8000-000000000000", "agent_1.main"):
        assert name_of(session) == session


# ---------------------------------------------------------------- a turn as a line


def lines(memory: Memory, folder: Path, session: str = "s") -> list[dict[str, Any]]:
    Follower(memory, folder).follow()
    found = read(file_of(folder, session))
    assert found.problems == []
    return found.lines


@pytest.mark.covers("S2-3")
def test_calls_and_results_share_an_id(memory: Memory, tmp_path: Path) -> None:
    with memory.session("s", agent="scout") as talk:
        talk.turn("user", "Where is the heron?", id="msg-1")
        talk.tool_call("search", {"q": "heron", "near": [1, 2]}, id="call-1")
        talk.tool_result("call-1", "two nests\nat the weir")
        talk.turn("assistant", "At the weir.")
    user, call, result, answer = lines(memory, tmp_path / "files")
    assert (user["id"], user["role"], user["content"]) == ("msg-1", "user", "Where is the heron?")
    assert (call["id"], call["role"], call["name"]) == ("call-1", "tool_call", "search")
    assert call["input"] == {"q": "heron", "near": [1, 2]} and "content" not in call
    assert (result["id"], result["role"], result["content"]) == ("call-1", "tool_result", "two nests\nat the weir")
    assert answer["id"] == answer["memory"] and answer["role"] == "assistant" and answer["agent"] == "scout"
    assert all(line["timestamp"].endswith("+00:00") for line in (user, call, result, answer))


@pytest.mark.covers("S2-3")
def test_any_text_is_one_line_and_comes_back_as_it_was(memory: Memory, tmp_path: Path) -> None:
    texts = ['quotes " and \\ and /', "a\nb\r\nc\u2028d\u2029e\x85f", "tabs\t\x1b[31m", "🦩 héron 鷺", "{}", "[1, 2]"]
    memory.remember([{"role": "user", "content": text} for text in texts], session="s")
    stored = [record.text for record in memory.list({"kind": "turn"}, order="-number")]
    assert [line["content"] for line in lines(memory, tmp_path / "files")] == stored
    assert file_of(tmp_path / "files", "s").read_bytes().count(b"\n") == len(stored)


@pytest.mark.covers("W2-11")
def test_the_index_counts_every_turn(memory: Memory, tmp_path: Path) -> None:
    """The counter of the document's program never moved."""
    for number in range(1, 5):
        memory.remember([{"role": "user", "content": f"turn {number}"}], session="a" if number % 2 else "b")
        Follower(memory, tmp_path / "files").follow()
        entries = json.loads((tmp_path / "files" / "sessions.json").read_text())["sessions"]
        assert sum(entry["turns"] for entry in entries) == number
    assert [(entry["id"], entry["file"], entry["turns"]) for entry in entries] == [
        ("a", "sessions/a.jsonl", 2),
        ("b", "sessions/b.jsonl", 2),
    ]


# ---------------------------------------------------------------- reading

GOOD = b'{"id": "1", "role": "user", "content": "good"}\n'
DEEP = b"[" * 100_000 + b"]" * 100_000
BAD = {
    "torn": (b'{"id": "2", "role": "us', "is not JSON"),
    "two objects": (b'{"id": "2"}{"id": "3"}\n', "is not JSON"),
    "an array": (b'["id", "2"]\n', "is not a JSON object"),
    "a key twice": (b'{"id": "2", "id": "3"}\n', "twice"),
    "not a number": (b'{"id": NaN}\n', "NaN"),
    "infinity": (b'{"id": -Infinity}\n', "Infinity"),
    "too deep": (b'{"id": ' + DEEP + b"}\n", "nested too deeply"),
    "not UTF-8": (b'{"id": "\xff\xfe"}\n', "is not UTF-8"),
    "zeros": (b"\0" * 512 + b"\n", "is not JSON"),
    "too long": (b'{"id": "' + b"x" * LONGEST_LINE + b'"}\n', "bytes"),
    "too many digits": (b'{"id": ' + b"9" * 5000 + b"}\n", "is not JSON"),
}


@pytest.mark.covers("W2-11", "P14")
@pytest.mark.parametrize("kind", BAD)
def test_damage_is_told_by_its_line_and_costs_no_other(tmp_path: Path, kind: str) -> None:
    line, says = BAD[kind]
    file = tmp_path / "s.jsonl"
    file.write_bytes(GOOD + line if kind == "torn" else GOOD + line + GOOD)
    found = read(file)
    assert [each["content"] for each in found.lines] == ["good"] * (1 if kind == "torn" else 2)
    [problem] = found.problems
    assert problem.startswith("s.jsonl:2: ") and says in problem and len(problem) < 300


@pytest.mark.covers("W2-11")
def test_what_others_write_is_read_too(tmp_path: Path) -> None:
    """Lines with a byte order mark, with other ends, empty ones, large numbers, and kinds of lines that we do not know."""
    file = tmp_path / "s.jsonl"
    file.write_bytes(
        b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n") + b"\n\r\n" + b'{"type": "summary", "n": 9223372036854775808}'
    )
    found = read(file)
    assert found.problems == []
    assert [line.get("type") for line in found.lines] == [None, "summary"] and found.lines[1]["n"] == 2**63


# ---------------------------------------------------------------- adding


@pytest.mark.covers("P14")
def test_a_short_write_is_cut_off_and_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "s.jsonl"
    append(file, [GOOD])
    write = os.write
    monkeypatch.setattr(os, "write", lambda to, data: write(to, data[: len(data) // 2]))
    with pytest.raises(StoreUnavailable, match="disk is full"):
        append(file, [GOOD, GOOD])
    monkeypatch.undo()
    assert file.read_bytes() == GOOD
    append(file, [GOOD])
    assert file.read_bytes() == GOOD * 2 and not file.with_name("s.jsonl.torn").exists()


@pytest.mark.covers("P14")
def test_what_was_whole_before_the_disk_was_full_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, write, calls = tmp_path / "s.jsonl", os.write, list[int]()

    def full_at_the_third(to: int, data: bytes) -> int:
        calls.append(to)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "no space left")
        return write(to, data)

    monkeypatch.setattr(os, "write", full_at_the_third)
    with pytest.raises(StoreUnavailable, match="disk is full"):
        append(file, [GOOD] * 5)
    assert file.read_bytes() == GOOD * 2


@pytest.mark.covers("Z7")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes are POSIX's here")
def test_a_link_a_pipe_or_a_folder_in_its_place_is_left_alone(tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    (tmp_path / "link.jsonl").symlink_to(victim)
    (tmp_path / "nowhere.jsonl").symlink_to(tmp_path / "not there")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    for name in ("link", "nowhere", "pipe", "folder"):
        with pytest.raises(Invalid, match="left alone"):
            append(tmp_path / f"{name}.jsonl", [GOOD])
    assert victim.read_text() == "mine" and not (tmp_path / "not there").exists()


@pytest.mark.covers("Z17")
@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_the_files_are_private(memory: Memory, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        memory.remember([{"role": "user", "content": "private"}], session="s")
        Follower(memory, tmp_path / "files").follow()
        append(file_of(tmp_path / "files", "s"), [b'{"torn'])
        append(file_of(tmp_path / "files", "s"), [GOOD])
    finally:
        os.umask(before)
    made = [tmp_path / "files", *sorted((tmp_path / "files").rglob("*"))]
    assert {path.name for path in made} >= {"sessions.json", "s.jsonl", "s.jsonl.torn", "follow.json", "lock"}
    assert {oct(path.stat().st_mode & 0o777) for path in made} == {"0o700", "0o600"}
