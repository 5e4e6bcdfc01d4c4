"""B13: `.py` files could not be imported, and no file became a document in pieces with their path and lines (C0-4)."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.errors import Invalid, OutOfScope
from memorist.files import documents
from memorist.files.transfer import import_files
from memorist.records import Record, now_utc
from memorist.surfaces.cli.app import run

pytestmark = pytest.mark.covers("B13", "C0-4")
HERE = Path(__file__).resolve().parents[2]
CODE = (HERE / "src" / "memorist" / "engine.py").read_text(encoding="utf-8")
PEM = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 30
    + "-----END PRIVATE KEY-----\n"
)


@pytest.fixture
def user(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="user"))


def pieces(memory: Memory, **where: Any) -> list[Record]:
    return sorted(memory.list({"kind": "document", **where}, limit=10_000), key=lambda piece: piece.data["lines"])


def function(number: int, words: str = "the parcel") -> str:
    body = "\n".join(f"    step_{number}_{line} = weigh({line})  # {words} on scale {line}" for line in range(6))
    return f'def send_{number}():\n    """Sends number {number}."""\n{body}\n    return step_{number}_0\n'


# ---------------------------------------------------------------- a file of code


def test_a_file_of_code_is_found_piece_by_piece_with_its_lines(user: Memory, tmp_path: Path) -> None:
    file = tmp_path / "parcels.py"
    file.write_text("\n\n".join(map(function, range(40))))
    done = import_files(user, [file])
    found = pieces(user)
    assert done.outcomes == {"added": len(found)} and len(found) > 10 and not done.problems
    lines = file.read_text().splitlines()
    for piece in found:
        first, last = piece.data["lines"]
        assert "\n".join(lines[first - 1 : last]) == piece.text, "the lines are those of the file"
        assert piece.files == (str(file),) and (piece.origin, piece.trust, piece.status) == (
            "import",
            "low",
            "candidate",
        )
    assert all(piece.text.startswith(("def ", "    ")) for piece in found)
    ends = [lines[piece.data["lines"][1] : piece.data["lines"][1] + 3] for piece in found[:-1]]
    assert all(any(line.startswith("def ") for line in after) for after in ends), "each ends before a function"
    best = user.recall("what does send_17 do?", search="sources")[0].record
    assert "def send_17():" in best.text and best.data["lines"][0] <= lines.index("def send_17():") + 1
    assert not user.recall("what does send_17 do?"), "documents are searched where they are asked for"


def test_its_path_is_that_below_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src" / "a").mkdir(parents=True)
    (tmp_path / "src" / "b").mkdir()
    for folder in ("a", "b"):
        (tmp_path / "src" / folder / "__init__.py").write_text("LIMIT = 1\n")
    other = tmp_path.parent / f"{tmp_path.name}-other.py"
    other.write_text("LIMIT = 2\n")
    monkeypatch.chdir(tmp_path / "src")
    for store, below in ((None, "src/"), (":memory:", f"{tmp_path}/src/")):  # a store that is named is of no checkout
        with Memory(store) as memory:
            import_files(memory, ["a/__init__.py", "../src/b/__init__.py", other])
            names = sorted(piece.files[0] for piece in pieces(memory))
            assert names == sorted([str(other), f"{below}a/__init__.py", f"{below}b/__init__.py"])


def test_the_same_name_in_two_folders_of_a_named_project_is_two_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "notes.py").write_text(f"place = '{name}'\n")
        monkeypatch.chdir(folder)
        assert run(["import", "notes.py", "--project", "atlas"]) == 0
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        assert {piece.files[0] for piece in pieces(memory)} == {str(tmp_path / name / "notes.py") for name in "ab"}
        monkeypatch.chdir(tmp_path / "a")
        import_files(memory, ["notes.py"])
        assert len(pieces(memory)) == 2


def test_any_text_can_be_a_document_and_markdown_where_one_says_so(user: Memory, tmp_path: Path) -> None:
    names = ("Makefile", "a.rs", "b.yaml", "c.toml", "d.log", "e.md", "f.txt", "g.json", "h.jsonl")
    for name in names:
        (tmp_path / name).write_text(f"the text of {name}\n")
    import_files(user, [tmp_path / name for name in names[:5]])
    assert {piece.text for piece in pieces(user)} == {f"the text of {name}" for name in names[:5]}
    with pytest.raises(Invalid, match="--document"):
        import_files(user, [tmp_path / "g.json"])
    assert import_files(user, [tmp_path / name for name in names], document=True).outcomes["added"] == 4
    assert {piece.files[0] for piece in pieces(user)} == {str(tmp_path / name) for name in names}
    assert user.count({"kind": "fact"}) == 0


def test_a_folder_of_documents(user: Memory, tmp_path: Path) -> None:
    for name in ("a.py", "deep/b.md", "c.png", ".hidden/d.py", "node_modules/e.py", "deep/f.yml"):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(f"text of {name}\n")
    assert import_files(user, [tmp_path / "src"], document=True).outcomes == {"added": 3}
    assert [Path(piece.files[0]).name for piece in sorted(pieces(user), key=lambda each: each.files)] == [
        "a.py", "b.md", "f.yml",
    ]  # fmt: skip
    (tmp_path / "empty").mkdir()
    with pytest.raises(Invalid, match=r"holds no .*\.py"):
        import_files(user, [tmp_path / "empty"], document=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "not a text file"), (b"PK\x03\x04\x14\x00\x00\x00", "zip that was cut off"),
        (b"%PDF-1.7\n1 0 obj", "not a text file"), (b"caf\xe9 = 1\n", "is not UTF-8"), (b"a\x00b", "not a text file"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_text_is_refused(user: Memory, tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.py").write_bytes(content)
    with pytest.raises(Invalid, match=said):
        import_files(user, [tmp_path / "a.py"])
    assert user.status()["events"] == 0


def test_other_encodings_with_a_mark_are_text(user: Memory, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("größe = 1\r\n\r\nlänge = 2\r".encode("utf-16"))
    (tmp_path / "b.py").write_bytes(b"\xef\xbb\xbfwidth = 3\n")
    (tmp_path / "c.py").write_bytes(b"\n \n")
    assert import_files(user, [tmp_path / f"{name}.py" for name in "abc"]).outcomes == {"added": 2}
    assert [(p.text, p.data["lines"]) for p in pieces(user)] == [
        ("width = 3", [1, 1]), ("größe = 1\n\nlänge = 2", [1, 3]),
    ]  # fmt: skip


def test_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(function(1))
    (tmp_path / "b.md").write_text("- one\n- two\n")
    place = ("--db", str(tmp_path / "m.db"), "--project", "atlas")
    assert run(["import", "a.py", *place]) == 0 and "1 added" in capsys.readouterr().out
    assert run(["import", "b.md", "--document", "--json", *place]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"] == {"added": 1}
    (tmp_path / "a.py").write_text(function(2))
    assert run(["import", "a.py", *place]) == 0 and "1 added, 1 replaced" in capsys.readouterr().out
    assert run(["recall", "send_2", "--search", "sources", "--json", *place]) == 0
    found = json.loads(capsys.readouterr().out)["hits"][0]["record"]
    assert (found["files"], found["data"]["lines"]) == ([str(tmp_path / "a.py")], [1, 9])
    (tmp_path / "c.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    assert run(["import", "c.png", *place]) == 2 and "c.png is not a text file" in capsys.readouterr().err


# ---------------------------------------------------------------- imported again


def test_a_changed_file_replaces_its_pieces_and_one_undo_brings_them_back(user: Memory, tmp_path: Path) -> None:
    file, other = tmp_path / "parcels.py", tmp_path / "other.py"
    other.write_text(function(3))
    file.write_text("\n\n".join(map(function, range(30))))
    import_files(user, [file, other])
    before = pieces(user)
    assert import_files(user, [file, other]).outcomes == {"unchanged": len(before)}
    changed = file.read_text().replace("def send_12():", "def deliver_12():").replace("number 29", "number thirty")
    file.write_text(changed)
    done = import_files(user, [file])
    now = pieces(user)
    assert done.outcomes["added"] == done.outcomes["replaced"] > 0 and len(now) == len(before)
    joined = "\n".join(piece.text for piece in now if piece.files == (str(file),))
    assert "deliver_12" in joined and "def send_12" not in joined and "thirty" in joined
    assert not [hit for hit in user.recall("send_12", search="sources") if "def send_12" in hit.record.text]
    gone = user.list({"kind": "document", "state": "superseded"}, limit=100)
    assert gone and all("imported again" in str(piece.reason) for piece in gone)
    assert done.batch and user.undo(done.batch).changed
    assert [(p.text, p.data["lines"]) for p in pieces(user)] == [(p.text, p.data["lines"]) for p in before]
    assert user.audit().ok


def test_what_only_moved_stays_with_its_new_lines(user: Memory, tmp_path: Path) -> None:
    file = tmp_path / "parcels.py"
    file.write_text(function(1))
    import_files(user, [file])
    file.write_text("\n\n\n" + function(1))
    done = import_files(user, [file])
    [piece] = pieces(user)
    assert done.outcomes == {"unchanged": 1} and piece.data["lines"] == [4, 12] and piece.number == 1
    assert done.batch and user.undo(done.batch).changed and pieces(user)[0].data["lines"] == [1, 9]


def test_there_and_back_again(user: Memory, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    for text in ("alpha = 1\n", "if a:\n    beta = 2\n", "if a:\n  beta = 2\n", "alpha = 1\n", "ALPHA = 1\n", ""):
        file.write_text(text)
        import_files(user, [file])
        assert [piece.text for piece in pieces(user)] == [text.strip()] * bool(text), "also where only blanks differ"


def test_equal_texts_of_two_files_are_two_pieces(user: Memory, tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("LICENCE = 'MIT'\n")
    assert import_files(user, [tmp_path / "a.py", tmp_path / "b.py"]).outcomes == {"added": 2}
    (tmp_path / "a.py").write_text("LICENCE = 'BSD'\n")
    assert import_files(user, [tmp_path / "a.py"]).outcomes == {"added": 1, "replaced": 1}
    assert {(Path(p.files[0]).name, p.text[-5:]) for p in pieces(user)} == {("a.py", "'BSD'"), ("b.py", "'MIT'")}


def test_what_a_person_forgot_or_made_their_own_stays_so(user: Memory, tmp_path: Path) -> None:
    file = tmp_path / "parcels.py"
    file.write_text("\n\n".join(map(function, range(20))))
    import_files(user, [file])
    first, second, *_ = pieces(user)
    user.forget(first.id)
    user.pin(second.id)
    again = import_files(user, [file])
    assert again.outcomes == {"unchanged": len(pieces(user)) + 1} and first.id not in {p.id for p in pieces(user)}
    file.write_text("gone = True\n")
    import_files(user, [file])
    assert {piece.id for piece in pieces(user)} >= {second.id}, "a file does not take back what the user vouched for"
    assert len(pieces(user)) == 2


def test_an_agent_refreshes_a_project_that_is_all_documents(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "parcels.py"
    for words in ("the parcel", "the letter", "the crate"):
        file.write_text("\n\n".join(function(number, words) for number in range(120)))
        assert not import_files(memory, [file]).problems
        assert all(words in piece.text for piece in pieces(memory)) and len(pieces(memory)) > 20


def test_a_reader_cannot(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("alpha = 1\n")
    reader = memory.through(replace(memory.access, role="reader", writes=()))
    with pytest.raises(OutOfScope):
        import_files(reader, [tmp_path / "a.py"])


# ---------------------------------------------------------------- secrets


@pytest.mark.covers("Z16")
def test_a_key_that_a_cut_would_halve_is_not_stored(user: Memory, tmp_path: Path) -> None:
    file = tmp_path / "keys.py"
    file.write_text("# begin\n" * 120 + PEM + "after = 1\n" + "# end\n" * 300)
    import_files(user, [file])
    assert not any("MIIEvQ" in piece.text or "BAQC7" in piece.text for piece in pieces(user))
    [after] = [piece for piece in pieces(user) if "after = 1" in piece.text][-1:]
    first, last = after.data["lines"]
    assert first <= file.read_text().splitlines().index("after = 1") + 1 <= last, "lines are still those of the file"


# ---------------------------------------------------------------- where a text is cut


def cut(text: str) -> list[str]:
    spans = list(documents.spans(text))
    assert spans[0][0] == 0 and spans[-1][1] == len(text)
    for (start, end), (after, _) in pairwise(spans):
        assert 800 <= end - start <= 1500 and 100 <= end - after <= 300, "pieces overlap"
    assert len(text) <= 1500 or 800 <= spans[-1][1] - spans[-1][0] <= 1500
    return [text[start:end] for start, end in spans]


BITS = st.sampled_from(
    ["\n", "\n\n", "\n \n", " ", "word ", "def f():\n", "# Heading\n", "    x = 1\n", "。", "中", "x" * 90, "e\u0301" * 40,
     "👩\u200d👩\u200d👧" * 20, "A sentence. ", "\t", "@a\n", "🇩🇪" * 30]
)  # fmt: skip


@settings(max_examples=rounds(2000, 0.03), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(BITS, st.integers(1, 60)), max_size=40))
def test_pieces_of_any_text(bits: list[tuple[str, int]]) -> None:
    text = "".join(bit * count for bit, count in bits)
    cut(text)
    lines = text.split("\n")
    for entry in documents.pieces_of(text, "a.txt", now_utc(), "a.txt"):
        first, last = entry.draft.data["lines"]
        assert entry.draft.text in "\n".join(lines[first - 1 : last])
        assert entry.draft.text.strip() == entry.draft.text.lstrip() and entry.draft.text.count("\n") == last - first


def test_boundaries_are_sensible() -> None:
    page = "\n\n".join(f"## Part {number}\n\n" + "Some words of prose. " * 30 for number in range(12))
    assert all(piece.rstrip().endswith("prose.") for piece in cut(page))
    joined = "word " * 3000
    assert all(piece.endswith(" ") for piece in cut(joined)[:-1]), "not inside a word"
    assert all(not piece.startswith("\u0301") for piece in cut("e\u0301" * 3000)), "nor inside a character"
    real = documents.pieces_of(CODE, "engine.py", now_utc(), "engine.py")
    whole = CODE.split("\n")
    assert all(each.draft.text in "\n".join(whole[slice(each.draft.data["lines"][0] - 1, each.draft.data["lines"][1])])
               for each in real)  # fmt: skip
