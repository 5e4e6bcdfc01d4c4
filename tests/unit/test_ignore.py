"""Are the files of rules read as git reads them, in time that grows with path and pattern?"""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import rounds
from growing import grows_too_fast
from memorist.folder import Folder
from memorist.text.ignore import ignores, rules_of

pytestmark = pytest.mark.covers("S4-23")

CASES = [
    ("*.log", "a.log", True),
    ("*.log", "deep/er/a.log", True),
    ("*.log", "a.log.txt", None),
    ("/a", "a", True),
    ("/a", "b/a", None),
    ("a/b", "a/b", True),
    ("a/b", "x/a/b", None),
    ("a/**/b", "a/b", True),
    ("a/**/b", "a/x/y/b", True),
    ("**/b", "x/b", True),
    ("a/**", "a/x/y", True),
    ("a/**", "a", None),
    ("a?c", "abc", True),
    ("a?c", "a/c", None),
    ("[ab].txt", "b.txt", True),
    ("[!ab].txt", "b.txt", None),
    ("[a-c]x", "bx", True),
    ("[[:digit:]]x", "7x", True),
    ("\\!x", "!x", True),
    ("\\#x", "#x", True),
    ("#x", "#x", None),
    ("x\\ ", "x ", True),
    ("x  ", "x", True),
    ("*.log\n!keep.log", "keep.log", False),
    ("!keep.log\n*.log", "keep.log", True),
    ("[", "[", None),
    ("x\\", "x\\", None),
    ("", "x", None),
    ("/", "x", None),
    ("*a*b*c", "xxaxxbxxc", True),
    ("*a*b*c", "xxaxxcxxb", None),
    ("Straße/*", "Straße/x", True),
    ("\ufeff*.log", "a.log", True),
    ("*.log\r\nx", "a.log", True),
    ("a" * 2000, "a" * 2000, None),
]


@pytest.mark.parametrize(("rules", "path", "ignored"), CASES, ids=str)
def test_a_pattern_means_what_git_means_by_it(rules: str, path: str, ignored: bool | None) -> None:
    assert ignores(rules_of(rules), path) is ignored


def test_a_pattern_that_ends_with_a_slash_is_for_folders() -> None:
    rules = rules_of("build/")
    assert ignores(rules, "build", folder=True) and ignores(rules, "x/build", folder=True)
    assert ignores(rules, "build") is None


PIECES = [*"a b * ** ? / [ab] [!a] .log x \\* [ ] abc ! # - [^b] [a-b] []a] /**/ */ [[:alpha:]]".split(" "), " ", "\\ "]
NAMES = "a|b|ab|abc|.x|a-b|x.log|[a]|!a|#a|a b|aab|bab|a]".split("|")


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to compare with")
@pytest.mark.parametrize("seed", range(rounds(50, 0.06)))
def test_it_is_what_git_says(seed: int, tmp_path: Path) -> None:
    """Random patterns, nested files of rules among them, against `git check-ignore`."""
    pick = random.Random(seed)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    names = sorted({"/".join(pick.choices(NAMES, k=pick.randrange(1, 4))) for _ in range(30)})
    for _ in range(8):
        (tmp_path / "ab").mkdir(exist_ok=True)
        for file in (tmp_path / ".gitignore", tmp_path / "ab" / ".gitignore", tmp_path / ".git" / "info" / "exclude"):
            lines = ["".join(pick.choices(PIECES, k=pick.randrange(1, 5))) for _ in range(pick.randrange(3))]
            file.write_text("".join(f"{line}\n" for line in lines if "[a-" not in line[:-4] and "**" not in line[1:]))
        asked = subprocess.run(
            ["git", "-C", tmp_path, "check-ignore", "--no-index", "-z", "--stdin"],
            input="\0".join(names).encode(), capture_output=True, check=False,
        )  # fmt: skip
        folder = Folder(tmp_path)
        ours = {name for name in names if folder.is_ignored(name, folder=folder.is_folder(name))}
        assert ours == set(asked.stdout.decode().split("\0")) - {""}, (tmp_path / ".gitignore").read_text()


@pytest.mark.covers("E7")
@pytest.mark.parametrize(
    ("pattern", "path"),
    [("*a" * 400 + "b", "a"), ("*" * 900, "a"), ("**/a/" * 180 + "b", "a/"), ("[a" * 300, "a"), ("?" * 900, "a")],
    ids=["stars", "only stars", "folders", "classes", "marks"],
)
def test_a_hostile_pattern_takes_no_longer_for_its_hostility(pattern: str, path: str) -> None:
    rules = rules_of(pattern)
    assert grows_too_fast(lambda length: ignores(rules, path * (length // len(path)) + "x"), 20_000) is None
