"""Acceptance 8: what is written through the library, the command line, MCP, HTTP or an import, in one directory, is visible
through all of them; and a checkout that was moved, with the same remote, still sees it."""

import json
import os
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import warm
from memorist import Memory
from surfaces.agents import Agent, command, talk_stdio

PROGRAM = warm.PROGRAM
REMOTE = "https://git.example.com/acme/atlas.git"
SURFACES = ("library", "cli", "mcp", "http", "import")
FACTS = {
    "library": "The relay of cabinet one answers on channel seven",
    "cli": "Deploys of the billing service happen on Fridays",
    "mcp": "Staging runs Postgres sixteen",
    "http": "Payments sign an empty body as nothing",
    "import": "The Ghent office closes at noon",
}
QUESTIONS = {
    "library": "which channel does the relay of cabinet one answer on?",
    "cli": "when are deploys of the billing service?",
    "mcp": "which Postgres does staging run?",
    "http": "how do payments sign an empty body?",
    "import": "when does the Ghent office close?",
}


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [*PROGRAM, "serve", "--port", "0", "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def ran(folder: Path, *words: str, stdin: str = "") -> str:
    done = warm.run_in_text(words, cwd=folder, input=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def sent(url: str, body: object) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(answer.read().decode())


# ---------------------------------------------------------------- one write through each


def by_library(folder: Path, url: str, text: str) -> None:
    with inside(folder), Memory() as memory:
        assert memory.remember(text)


def by_cli(folder: Path, url: str, text: str) -> None:
    ran(folder, "remember", text)


def by_mcp(folder: Path, url: str, text: str) -> None:
    async def work(agent: Agent) -> None:
        assert (await agent("memory_add", text=text))["outcome"] == "added"

    talk_stdio(command(), work, folder)


def by_http(folder: Path, url: str, text: str) -> None:
    assert json.loads(sent(f"{url}/v1/memories", {"text": text}))["outcome"] == "added"


def by_import(folder: Path, url: str, text: str) -> None:
    entity = {"type": "entity", "name": "Ghent office", "entityType": "place", "observations": [text]}
    (folder / "memory.jsonl").write_text(json.dumps(entity) + "\n", encoding="utf-8")
    ran(folder, "import", "memory.jsonl")


WRITE: dict[str, Callable[[Path, str, str], None]] = dict(
    zip(SURFACES, (by_library, by_cli, by_mcp, by_http, by_import), strict=True)
)


# ---------------------------------------------------------------- and read through each


def seen_by_library(folder: Path, url: str) -> dict[str, str]:
    with inside(folder), Memory() as memory:
        return {name: str([hit.text for hit in memory.recall(question)]) for name, question in QUESTIONS.items()}


def seen_by_cli(folder: Path, url: str) -> dict[str, str]:
    return {name: ran(folder, "recall", question, "--json") for name, question in QUESTIONS.items()}


def seen_by_mcp(folder: Path, url: str) -> dict[str, str]:
    async def work(agent: Agent) -> dict[str, str]:
        return {name: str(await agent("memory_search", query=question)) for name, question in QUESTIONS.items()}

    return dict(talk_stdio(command(), work, folder))


def seen_by_http(folder: Path, url: str) -> dict[str, str]:
    return {name: sent(f"{url}/v1/recall", {"query": question}) for name, question in QUESTIONS.items()}


def seen_by_export(folder: Path, url: str) -> dict[str, str]:
    return dict.fromkeys(QUESTIONS, ran(folder, "export"))


READ = {
    "library": seen_by_library, "cli": seen_by_cli, "mcp": seen_by_mcp, "http": seen_by_http, "export": seen_by_export,
}  # fmt: skip


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a remote, as git leaves it."""
    folder = tmp_path / "work" / "atlas"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {REMOTE}\n')
    return folder


@pytest.mark.covers("W4-1", "W4-9")
def test_what_is_written_through_one_surface_is_seen_through_all_and_survives_a_move(checkout: Path) -> None:
    with served(checkout) as url:
        for name in SURFACES:
            WRITE[name](checkout, url, FACTS[name])
        _all_see_all(checkout, url)
    moved = checkout.parent.parent / "elsewhere" / "atlas-again"
    moved.parent.mkdir()
    checkout.rename(moved)
    with served(moved) as url:
        _all_see_all(moved, url)


def _all_see_all(folder: Path, url: str) -> None:
    for reader, read in READ.items():
        for writer, seen in read(folder, url).items():
            assert FACTS[writer] in seen, f"{reader} does not see what was written through {writer}"


@pytest.mark.covers("W4-1")
def test_every_answer_names_the_project_that_was_meant(checkout: Path) -> None:
    async def work(agent: Agent) -> str:
        return str((await agent("memory_timeline"))["project"])

    name = talk_stdio(command(), work, checkout)
    assert f"project/{name}" in ran(checkout, "project", "show")
    with served(checkout) as url:
        with urllib.request.urlopen(f"{url}/v1/status", timeout=20) as answer:
            assert json.loads(answer.read())["project"] == f"project/{name}"
        other = urllib.parse.urlencode({"project": "borealis"})
        with urllib.request.urlopen(f"{url}/v1/count?{other}", timeout=20) as answer:
            assert json.loads(answer.read()) == 0
