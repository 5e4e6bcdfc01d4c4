"""The pages for clients: their lines are read out of the pages, and what they say is started and answers."""

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memorist.surfaces.mcp import tools
from surfaces.agents import Agent, talk_stdio

PAGES = Path(__file__).parents[2] / "docs" / "agents"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.S)
SERVERS = ("mcpServers", "servers", "mcp", "context_servers", "mcp_servers")
ADDING = re.compile(r"(?:claude|codex|gemini) mcp add (?:--scope user )?memorist (?:-- )?(memorist mcp.*)")


def commands() -> list[tuple[str, tuple[str, ...]]]:
    """Every command that a page tells a client to start."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for page in sorted(PAGES.glob("*.md")):
        for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            said = {"json": json.loads, "toml": tomllib.loads}.get(language)
            configured = [_command(said(text))] if said else [shlex.split(each) for each in ADDING.findall(text)]
            found += [(page.stem, tuple(words)) for words in configured if words]
    return found


def _command(configuration: dict[str, Any]) -> list[str]:
    [table] = [configuration[name] for name in SERVERS if name in configuration]
    server = table.get("servers", table)["memorist"]
    if "url" in server:
        return []
    whole = server["command"]
    return [*whole] if isinstance(whole, list) else [whole, *server["args"]]


COMMANDS = sorted(set(commands()))


def test_every_page_has_lines_and_the_list_names_every_page() -> None:
    pages = {page.stem for page in PAGES.glob("*.md")}
    assert {name for name, _ in COMMANDS} | {"http"} == pages
    listed = PAGES.with_suffix(".md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(agents/([\w-]+)\.md\)", listed)) == pages


@pytest.mark.parametrize("words", sorted({words for _, words in COMMANDS}), ids=" ".join)
def test_what_a_page_says_to_start_lists_its_tools(words: tuple[str, ...], tmp_path: Path) -> None:
    assert words[:2] == ("memorist", "mcp")
    program = Path(sys.executable).with_name("memorist")
    profile = words[words.index("--tools") + 1] if "--tools" in words else tools.DEFAULT

    async def work(agent: Agent) -> list[str]:
        return [tool.name for tool in (await agent.client.list_tools()).tools]

    start = [str(program)] if program.exists() else [sys.executable, "-m", "memorist"]
    assert talk_stdio([*start, *words[1:]], work, tmp_path) == list(tools.profile(profile))


def test_the_address_of_the_page_about_http_is_a_path_that_is_served() -> None:
    from memorist.surfaces.http.app import MOUNTED

    said = (PAGES / "http.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(/mcp/\w+)`", said)) | {"/mcp", "/mcp/core"} == set(MOUNTED)
