"""`memorist mcp`: a server for one agent on standard input and output. `memorist prompt`: what to tell that agent."""

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from memorist import checks
from memorist.errors import Refused
from memorist.lazy import for_good
from memorist.surfaces import settings
from memorist.surfaces.cli import arguments
from memorist.surfaces.cli.arguments import DB, SPACE, Commands, Option
from memorist.surfaces.cli.screen import aside
from memorist.surfaces.cli.verbs import Place, follow
from memorist.surfaces.mcp import tools, words

MISSING = "MCP needs the package mcp, which is not installed; run: pip install 'memorist[mcp]'"
PROJECTS = Option(
    "projects", "A project to serve; may be repeated, the first is the usual one. Default: that of the client's folder.",
    "--project", "texts", placeholder="NAME",
)  # fmt: skip
TOOLS = Option(
    "tools", f"Which tools: {', '.join(tools.PROFILES)}; default: {tools.DEFAULT}.", "--tools", placeholder="PROFILE"
)
EVERY = Option("all_projects", "Serves every project of the store.", "--all-projects", "flag")
TRUST = Option(
    "trust_elicitation",
    "Takes what a person answers in the client for the user's own consent.",
    "--trust-elicitation",
    "flag",
)


def _mcp(place: Place, **given: Any) -> int:
    if find_spec("mcp") is None:
        raise Refused(MISSING)
    profile = _profile(given)
    if arguments.at_terminal():
        aside("an MCP client is expected on standard input, see docs/agents.md; stop with Ctrl-C")
    if place.db is None and (url := settings.load().url):
        aside(f"the setting url names {url}; this serves the store of this machine, and {url}/mcp the other one")
    with for_good():
        from memorist.surfaces.mcp.projects import Projects
        from memorist.surfaces.mcp.server import McpDoor, stdio

    names, every = given.get("projects", ()), given.get("all_projects", False)
    projects = Projects(place.db, place.space, names, every, tools.reads_only(profile))
    stdio(McpDoor(projects, profile, given.get("trust_elicitation", False), follow), projects)
    return 0


def _prompt(place: Place, **given: Any) -> int:
    sys.stdout.write(words.protocol(_profile(given)))
    return 0


def _profile(given: Mapping[str, Any]) -> str:
    return checks.one_of(given.get("tools", tools.DEFAULT), "--tools", tools.PROFILES)


commands: Commands = {
    "mcp": ((TOOLS, PROJECTS, EVERY, TRUST, DB, SPACE), _mcp),
    "prompt": ((TOOLS,), _prompt),
}
