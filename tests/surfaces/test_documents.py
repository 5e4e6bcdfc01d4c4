"""What the documents tell people to type works, in the order in which they tell it."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import warm
from conftest import TORTURE
from memorist.surfaces.agents.clients import CLIENTS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
CONVERSATIONS = (ROOT / "docs" / "conversations.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


class Shown(NamedTuple):
    """A command of a page, and the lines that the page shows of its answer; `…` stands for anything."""

    line: str
    answer: list[str]


def console_blocks(page: str) -> list[list[Shown]]:
    blocks = []
    for block in re.findall(r"```console\n(.*?)```", page, re.S):
        blocks.append([])
        for line in block.splitlines():
            if line.startswith("$ "):
                blocks[-1].append(Shown(line[2:], []))
            else:
                blocks[-1][-1].answer.append(line.strip())
    return blocks


def console_lines(page: str) -> list[str]:
    return [shown.line for block in console_blocks(page) for shown in block]


def says(said: str, shown: str) -> bool:
    """Whether the answer has these words, however it was wrapped."""
    parts = (re.escape(part.strip()) for part in shown.split("…"))
    return re.search(".*?".join(parts), " ".join(said.split())) is not None


def python_answers(page: str) -> tuple[str, list[str]]:
    """The Python of a page as one program, and what it says after `# →`."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.S))
    return code, [shown.strip() for shown in re.findall(r"# →(.*)$", code, re.M)]


class Place:
    """A folder where the lines of a page run in a shell, with one `memorist` and nobody's home: they change settings."""

    def __init__(self, folder: Path, program: str, **env: str) -> None:
        self.folder, (self.work, self.bin) = folder, (folder / "work", folder / "bin")
        self.work.mkdir()
        self.bin.mkdir()
        (self.bin / "memorist").write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        (self.bin / "memorist").chmod(0o755)
        own = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORIST_", "XDG_"))}
        own |= {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(folder / "home"), "COLUMNS": "80"}
        own |= {"MEMORIST_DB": str(folder / "memory.db"), "MEMORIST_CONFIG": str(folder / "home" / "config.toml")}
        self.env = own | env

    def run(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self.work, env=self.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def follow(self, page: str) -> None:
        """Every command that is one of memorist's or of a shell; each block shows what it is about."""
        for block in console_blocks(page):
            for line, answer in block:
                said = self.run("sh", "-c", line)
                for shown in answer:
                    assert says(said, shown), f"$ {line}\nthe page says: {shown}\nit said:\n{said}"

    def python(self, page: str) -> None:
        code, answers = python_answers(page)
        said = " ".join(self.run(sys.executable, "-c", code).split())
        assert answers, "a page shows what its program says"
        for shown in answers:
            assert shown in said, f"the page says: {shown}\nit said:\n{said}"


needs_sh = pytest.mark.skipif(shutil.which("sh") is None, reason="the pages are written for a POSIX shell")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, shlex.join(warm.program()))


@needs_sh
@pytest.mark.covers("D3")
def test_the_guide_can_be_followed(place: Place) -> None:
    place.follow(GUIDE)
    assert "off = false" in (place.folder / "home" / "config.toml").read_text()
    assert not Path(os.environ["MEMORIST_CONFIG"]).exists(), "whoever runs the lines keeps their own settings"


@pytest.mark.covers("D3")
@pytest.mark.parametrize("page", [GUIDE, CONVERSATIONS], ids=["guide", "conversations"])
def test_every_block_shows_its_point(page: str) -> None:
    silent = [block[0].line for block in console_blocks(page) if not any(shown.answer for shown in block)]
    assert silent == []


@pytest.mark.covers("D3")
def test_the_python_of_the_pages_says_what_they_say(place: Place) -> None:
    place.python(GUIDE)
    place.python(CONVERSATIONS)


@needs_sh
@pytest.mark.covers("D3")
def test_the_commands_of_the_conversations_page_work(tmp_path: Path, place: Place) -> None:
    place.follow(CONVERSATIONS)


@needs_sh
@pytest.mark.covers("D3")
@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="applications keep their settings elsewhere there")
@pytest.mark.parametrize("name", CLIENTS)
def test_the_page_of_an_agent_says_what_it_changes(name: str, place: Place) -> None:
    """Its lines work, in a home where the agent is; it names exactly the files that are changed; and they are gone afterwards."""
    page = (ROOT / "docs" / "agents" / f"{name}.md").read_text(encoding="utf-8")
    place.env["PATH"] = os.pathsep.join(
        (str(place.bin), "/usr/bin", "/bin")
    )  # without the agents that are on this machine
    home = place.folder / "home"
    (home / CLIENTS[name].folder).mkdir(parents=True)
    place.follow(page)
    assert not any(file.is_file() for file in (home / CLIENTS[name].folder).rglob("*"))
    planned = json.loads(place.run("memorist", "install", name, "--dry-run", "--json"))[name]["files"]
    named = re.findall(r"^\| `~/([^`]+)` \|", page, re.M)
    assert sorted(named) == sorted(str(Path(file).relative_to(home)) for file in planned)


@needs_sh
@pytest.mark.covers("D3")
def test_the_readme_holds_for_a_built_wheel(tmp_path: Path) -> None:
    """Its own `pip install`, with the wheel in place of the name; the dependencies are those of this environment."""
    assert console_lines(README)[0] == "pip install memorist"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)], check=True, timeout=300)
    [wheel] = tmp_path.glob("memorist-*.whl")
    packages = tmp_path / "packages"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(packages), str(wheel)], check=True, timeout=300)
    place = Place(tmp_path, f'"{sys.executable}" -m memorist', PYTHONPATH=str(packages))
    assert str(packages) in place.run(sys.executable, "-c", "import memorist; print(memorist.__file__)")
    [code] = re.findall(r"```python\n(.*?)```", README, re.S)
    for _ in range(2):  # the second time it knows, and stores nothing twice
        said = place.run(sys.executable, "-c", code)
        assert said.index("Staging runs Postgres 16") < said.index("Reference data")
        assert said.partition("Reference data")[2].count("the payments HMAC") == 1
    for line in console_lines(README):
        if line.startswith("memorist"):
            said = place.run("sh", "-c", line)
            assert "recall" not in line or "Staging runs Postgres 16" in said


def test_the_demo_runs(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("off = true\n")
    for columns in (40, 80) if TORTURE else (40,):
        done = subprocess.run(
            [sys.executable, str(ROOT / "docs" / "demo.py")],
            env=os.environ
            | {"MEMORIST_CONFIG": str(tmp_path / "mine.toml"), "MEMORIST_OFF": "1", "COLUMNS": str(columns)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert max(map(len, done.stdout.splitlines())) <= columns
        words = " ".join(done.stdout.split())
        assert "it asks which database is on staging? it knows Staging runs Postgres 16" in words[:700]
        for shown in ("reinforced", "[secret:", "Postgres 16", "Postgres 15", "the journal verifies"):
            assert shown in words
        assert "one turn later, unasked: warning: Take a snapshot" in words
        assert "Its model also gets:" in words and "claude-code was told" in words
        assert "2 facts become 1" in words and "2 facts, as they were in the evening" in words


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
PAGES = [page for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if page.name != "LOG.md"]


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


def test_every_module_that_a_page_names_exists() -> None:
    """A path in backticks: from the package, from the repository, or of the room that the line speaks of."""
    package = ROOT / "src" / "memorist"
    homes = [ROOT, package, *(path for path in package.rglob("*") if path.is_dir())]
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named = {
            *re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", text),
            *re.findall(r"^  ([a-z_]+/[a-z_]+\.py) ", text, re.M),
        }
        assert [name for name in named if not any((home / name).exists() for home in homes)] == [], page.name


def test_every_page_that_a_page_links_exists() -> None:
    for page in PAGES:
        links = re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == [], page.name


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
