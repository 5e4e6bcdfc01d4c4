"""D3: what a stranger reads first works, and shows what it says. tests/surfaces/test_documents.py runs every line of it."""

import ast
import builtins
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.covers("D3")
ROOT = Path(__file__).parents[2]
README, GUIDE, TALK = (
    (ROOT / page).read_text("utf-8") for page in ("README.md", "docs/guide.md", "docs/conversations.md")
)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.S)


def test_the_readme_begins_with_pip_and_a_few_lines_of_python() -> None:
    assert blocks(README, "console")[0].splitlines() == ["$ pip install memorist"]
    [first] = blocks(README, "python")
    assert README.index(first) < README.index("$ make demo") and len(first.split("\n\n", 1)[1].splitlines()) <= 6


def test_a_page_says_how_to_store_a_conversation() -> None:
    assert "docs/conversations.md" in README and "conversations.md" in GUIDE
    assert "memory.remember(messages, session=" in "".join(blocks(TALK, "python"))


@pytest.mark.parametrize("page", [GUIDE, TALK], ids=["guide", "conversations"])
def test_no_name_comes_from_nowhere(page: str) -> None:
    tree = ast.parse("\n".join(blocks(page, "python")))
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    imported = {each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names}
    known = {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(dir(builtins)) | {"Memory"} | imported
    assert {node.id for node in names} <= known


@pytest.mark.parametrize("page", [GUIDE, TALK], ids=["guide", "conversations"])
def test_every_block_of_commands_shows_an_answer(page: str) -> None:
    silent = [block for block in blocks(page, "console") if all(line.startswith("$ ") for line in block.splitlines())]
    assert silent == []


def test_the_guide_shows_why_a_memory_is_no_answer_and_what_is_promoted() -> None:
    shown = "".join(blocks(GUIDE, "console"))
    assert "among the hits" not in shown and re.search(r"promote\n\[id:10\] 4 points", shown)
