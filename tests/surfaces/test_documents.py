"""What the documents tell people to type works, in the order in which they tell it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def console_lines(page: str) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", page, re.S)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def run_all(lines: list[str], folder: Path) -> dict[str, str]:
    """Runs each line in a shell, with the `memorist` of this environment and nobody's home: the lines change settings."""
    program = folder / "bin" / "memorist"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memorist "$@"\n')
    program.chmod(0o755)
    work = folder / "work"
    work.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORIST_", "XDG_"))}
    env |= {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(folder / "home")}
    env |= {"MEMORIST_DB": str(folder / "memory.db"), "MEMORIST_CONFIG": str(folder / "home" / "config.toml")}
    said = {}
    for line in lines:
        done = subprocess.run(["sh", "-c", line], cwd=work, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        said[line] = done.stdout
    return said


@pytest.mark.skipif(shutil.which("sh") is None, reason="the guide is written for a POSIX shell")
def test_the_guide_can_be_followed(tmp_path: Path) -> None:
    lines = console_lines(GUIDE)
    assert len(lines) > 25
    said = run_all(lines, tmp_path)
    assert "off = false" in (tmp_path / "home" / "config.toml").read_text()
    assert not Path(os.environ["MEMORIST_CONFIG"]).exists(), "whoever runs the lines keeps their own settings"
    assert "Postgres 16" in said['memorist recall "which database does staging run?" --why']
    assert "reinforced" in said['memorist remember "staging runs   POSTGRES 16"']
    assert "empty body" not in said['memorist recall "payments HMAC"']
    assert "empty body" in said['memorist recall "payments HMAC" --search archive']
    assert "off" in said['memorist recall "staging"']
    assert "nothing here seems to answer this" in said['memorist recall "how do I bake sourdough bread?"']
    assert "meaning" in said['memorist recall "does staging use Postgres?" --why']
    assert json.loads(said["""memorist recall "staging" --where '{"tags": ["db"]}' --json"""])["hits"]


def test_the_commands_of_the_readme_work(tmp_path: Path) -> None:
    lines = [line for line in console_lines(README) if line.startswith("memorist")]
    assert len(lines) == 5
    said = run_all(lines, tmp_path)
    assert "Staging runs Postgres 16" in said['memorist recall "which Postgres does staging run?" --why']
    assert "Staging runs Postgres 16" in said['memorist context "fix the staging tests" --budget 500']


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", README, re.S)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Empty body signs as ''" in done.stdout


def test_the_demo_runs(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("off = true\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "demo.py")],
        env=os.environ | {"MEMORIST_CONFIG": str(tmp_path / "mine.toml"), "MEMORIST_OFF": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    for shown in ("reinforced", "[secret:", "Postgres 16", "Postgres 15", "the journal verifies"):
        assert shown in done.stdout


def test_the_ci_calls_the_test_command_of_the_readme() -> None:
    commands = console_lines(README)
    assert "make test" in commands and "make demo" in commands
    assert "\nmake test\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_file_of_the_readmes_map_exists() -> None:
    for path in re.findall(r"`(src/[^`]+)`", README):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"\]\((docs/[^)#]+)", README):
        assert (ROOT / path).exists(), path


def test_the_exit_codes_of_the_guide_are_those_of_the_errors() -> None:
    from memorist import errors
    from memorist.surfaces.cli import verbs

    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", GUIDE, re.M)}
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MemoristError)
    ]
    assert codes == {0, verbs.CONSENT_CODE, *(kind.exit_code for kind in kinds)}


# ---------------------------------------------------------------- what the architecture page says

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PAGES = [
    page
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
    if page.name != "LOG.md"
]


def test_the_stages_of_the_page_are_those_of_the_default_design() -> None:
    from memorist.designs import BALANCED

    [flow] = re.findall(r"```\n(recall\(query\).*?)```", ARCHITECTURE, re.S)
    assert re.findall(r"^  ([A-Z]\w+) ", flow, re.M) == [type(stage).__name__ for stage in BALANCED.recall]


def test_the_tables_of_the_page_are_those_of_the_schema() -> None:
    steps = (ROOT / "src" / "memorist" / "store" / "sqlite" / "schema").glob("*.sql")
    made = re.findall(r"^CREATE (?:VIRTUAL )?TABLE (\w+)", "\n".join(step.read_text("utf-8") for step in steps), re.M)
    named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`\w+`[^|]*) \|", ARCHITECTURE, re.M)))
    assert sorted(named) == sorted(made)


def test_the_table_of_contents_of_the_facade_has_its_verbs_in_their_order() -> None:
    from memorist import memory as facade

    lines = re.findall(r"^    \w+ {2,}(.+)$", facade.__doc__ or "", re.M)
    listed = [verb for line in lines for verb in line.split(", ")]
    public = [name for name, value in vars(facade.Memory).items() if callable(value) and not name.startswith("_")]
    assert listed == [*public, "through", "close"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    """A path in backticks: from the package, from the repository, or of the room that the line speaks of."""
    homes = [
        ROOT,
        ROOT / "src" / "memorist",
        *(path for path in (ROOT / "src" / "memorist").rglob("*") if path.is_dir()),
    ]
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", text)) | set(
        re.findall(r"^  ([a-z_]+/[a-z_]+\.py) ", text, re.M)
    )
    assert [name for name in sorted(named) if not any((home / name).exists() for home in homes)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_that_a_page_links_exists(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_a_person_is_asked_before_the_key_is_looked_up() -> None:
    from memorist import Memory
    from memorist.errors import Conflict

    asked: list[str] = []

    def agree(question: str) -> bool:
        asked.append(question)
        return True

    with Memory(":memory:", confirm=agree) as memory:
        memory.remember("I prefer tabs", kind="preference", scope="global", key="k")
        with pytest.raises(Conflict, match="used for another text"):
            memory.remember("I prefer short answers", kind="preference", scope="global", key="k")
    assert len(asked) == 2


def test_a_factor_multiplies_the_odds_by_its_cube() -> None:
    from memorist.recall.stages.weigh import weighed
    from memorist.records import Hit, Signal
    from memorist.testing import a_record

    even = Hit(a_record(), 0.5, {"relevance": 0.5}, (Signal("words", 0.0, 0.0, 0.0),))
    score = weighed(even, {"pinned": 1.2}).score
    assert score / (1 - score) == pytest.approx(1.2**3)
