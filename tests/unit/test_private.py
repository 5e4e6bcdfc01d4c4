"""What a person marked as private, wherever in a message it stands."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.files.transfer import import_files
from memorist.text.private import public_message, without_private


def block(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "echo '<private>SECRET</private>' done"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [block("<private>SEC"), block("RET</private> done")]}


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("a <private>SECRET</private> b", "a  b"),
        ("a <private>x<private>y</private>SECRET</private> b", "a  b"),
        ("a <PRIVATE reason='SECRET'>x</private > b", "a  b"),
        ("a <private>x</private> b <private>SECRET", "a  b "),
        ("a <private>x<private>y</private> SECRET", "a "),
        ([block("a <private>SEC"), block("RET"), block("SECRET</private> b")], ["a ", "", " b"]),
        (["a <private>SEC", "RET</private> b"], ["a ", " b"]),
        ([block("a"), CALL], ["a", "echo '' done"]),
        ([RESULT], [["", " done"]]),
        ([block("a <private>SEC"), CALL, RESULT, block("SECRET")], ["a ", ""]),
        ([block("a"), {**CALL, "input": '{"command": "\\u003cprivate\\u003eSECRET\\u003c/private\\u003e"}'}],
         ["a", '{"command": ""}']),
        ([{**CALL, "input": {"<private>SECRET</private>": 1, "deep": [["<private>SECRET</private>"]]}}], [{"": 1, "deep": [[""]]}]),
    ],
)  # fmt: skip
def test_nothing_private_is_left_and_all_else_stays(content: Any, kept: Any) -> None:
    found = public_message({"role": "user", "content": content, "id": "u1", "timestamp": "2026-05-06T12:00:00Z"})
    assert "SEC" not in json.dumps(found) and "RET" not in json.dumps(found)
    assert (found["role"], found["id"], found["timestamp"]) == ("user", "u1", "2026-05-06T12:00:00Z")
    assert _texts(found["content"]) == kept


def _texts(content: Any) -> Any:
    """What its blocks say."""
    if isinstance(content, list):
        return [_texts(each) for each in content]
    if isinstance(content, dict):
        said = [content[name] for name in ("text", "content", "input", "command") if name in content]
        return _texts(said[0]) if said else content
    return content


@given(st.lists(st.sampled_from(["<private>", "</private>", "SECRET", "\n", "<b>"]), max_size=12))
def test_a_text_and_its_parts_say_the_same(parts: list[str]) -> None:
    """Wherever a message is cut into blocks."""
    found = public_message({"role": "user", "content": [block(each) for each in parts]})
    assert "".join(each["text"] for each in found["content"]) == without_private("".join(parts))


def test_an_import_keeps_nothing_private_either(memory: Memory, tmp_path: Path) -> None:
    line = {"sessionId": "s1", "timestamp": "2026-05-06T12:00:00Z", "uuid": "u1"}
    said = {"type": "assistant", "message": {"role": "assistant", "content": [block("Noted."), CALL]}, **line}
    title = {"type": "custom-title", "customTitle": "Of the <private>SECRET</private> vault", "sessionId": "s1"}
    file = tmp_path / "s1.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in (title, said)))
    import_files(memory, [file])
    kept = str([(each.text, each.data) for each in memory.list(limit=100)])
    assert "Noted." in kept and "vault" in kept and "SECRET" not in kept
