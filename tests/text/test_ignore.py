"""Are the files of rules read as git reads them, in time that grows with path and pattern?"""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import rounds
from growing import grows_too_fast
from memorist.folder import Folder
from memorist.text.ignore import rules_of

pytestmark = pytest.mark.covers("S4-23")
CASES = [
    ("*.log", "deep/er/a.log", True), ("*.log", "a.log.txt", None), ("/a", "a", True), ("/a", "b/a", None), ("a/b", "x/a/b", None),
    ("a/**/b", "a/x/y/b", True), ("a/**", "a", None), ("a?c", "a/c", None), ("[!ab].txt", "b.txt", None),
    ("[[:digit:]]x", "7x", True),
    ("\\!x", "!x", True), ("#x", "#x", None), ("x\\ ", "x ", True), ("x  ", "x", True), ("*.log\n!keep.log", "keep.log", False),
    ("!keep.log\n*.log", "keep.log", True), ("[", "[", None), ("x\\", "x\\", None), ("!", "!", None), ("", "x", None),
    ("/", "x", None),
    ("\ufeff*.log", "a.log", True), ("*.log\r\nx", "a.log", True), ("a" * 2000, "a" * 2000, None), ("build/", "build", None),
    ("*", "a\udcff", True),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "path", "ignored"), CASES, ids=str)
def test_a_pattern_means_what_git_means_by_it(rules: str, path: str, ignored: bool | None) -> None:
    assert rules_of(rules)(path, False) is ignored


def test_a_pattern_that_ends_with_a_slash_is_for_folders() -> None:
    assert rules_of("build/")("build", True) and rules_of("build/")("x/build", True)


PIECES = "a b * ? / [ab] [!a] .log x \\* abc ! # - ** []a] \\ ".split(" ")
NAMES = "a|b|ab|abc|.x|a-b|x.log|!a|#a|a b|aab|bab".split("|")


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to compare with")
@pytest.mark.parametrize("seed", range(rounds(30, 0.1)))
def test_it_is_what_git_says(seed: int, tmp_path: Path) -> None:
    """Random patterns, nested files of rules among them, against `git check-ignore`."""
    pick = random.Random(seed)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "ab").mkdir()
    names = sorted({"/".join(pick.choices(NAMES, k=pick.randrange(1, 4))) for _ in range(30)})
    for file in (tmp_path / ".gitignore", tmp_path / "ab" / ".gitignore", tmp_path / ".git" / "info" / "exclude"):
        lines = ["".join(pick.choices(PIECES, k=pick.randrange(1, 5))) for _ in range(pick.randrange(1, 4))]
        file.write_text("".join(f"{line}\n" for line in lines if "**" not in line))
    command = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "-z", "--stdin"]
    asked = subprocess.run(command, input="\0".join(names).encode(), capture_output=True, check=False)
    folder = Folder(tmp_path)
    ours = {name for name in names if folder.is_ignored(name, folder=folder.is_folder(name))}
    assert ours == set(asked.stdout.decode().split("\0")) - {""}, (tmp_path / ".gitignore").read_text()


@pytest.mark.covers("E7")
@pytest.mark.parametrize("pattern", ["*a" * 400 + "b", "*" * 900, "**/a/" * 180 + "b", "[a" * 300, "?" * 900])
def test_a_hostile_pattern_takes_no_longer_for_its_hostility(pattern: str) -> None:
    rules = rules_of(pattern)
    assert grows_too_fast(lambda length: rules("a/" * (length // 2) + "x", False) and None, 20_000) is None
