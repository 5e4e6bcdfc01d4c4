"""The supported agents, as data: where each keeps its settings, and the format it wants for hooks and tool servers.

In files with entries of others ours are known by their mark (`marks`). Two files are ours as a whole, by their names:
the plugin of OpenCode, which has no other hooks, and the command `/memorist`.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.surfaces.agents.marks import MEMORIST

DESK = "desk"  # the project of an application that works in no folder
Moment = Literal["start", "prompt", "compact", "stop", "end", "helper"]
HOOK_SECONDS = 10  # seconds after which an agent ends a hook; a hook needs a fraction of one
AT_THE_END = 3  # seconds: nobody waits longer for a session that is over, and Codex warns of hooks that do


@dataclass(frozen=True, slots=True)
class Hooks:
    """A file with hooks: either the list of each event lies below `hooks`, or the whole file is ours and has all of
    them."""

    user: tuple[str, ...]  # path below the agent's own folder
    project: tuple[str, ...]  # path below a project's folder
    events: Mapping[Moment, str]
    entry: Callable[[str, Moment], Any] | None = None  # None: the whole file is ours
    head: tuple[str, Any] | None = None  # a member that the file needs besides the hooks
    # What it hands over, in the fields of Claude Code.
    said: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda given: given
    lasts: bool = True  # whether a session that is resumed still has what hooks told it

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.events.values())


@dataclass(frozen=True, slots=True)
class Slash:
    """A file of ours that becomes the command `/memorist`."""

    user: tuple[str, ...]
    project: tuple[str, ...]
    names: tuple[str, ...] = ("command",)


@dataclass(frozen=True, slots=True)
class Servers:
    """A file that lists tool servers."""

    user: tuple[str, ...]
    project: tuple[str, ...] | None
    path: tuple[str, ...]  # the member that lists them
    entry: Mapping[str, Any]
    command: tuple[str, ...] | None = None  # the agent's own command, which adds a server for this user


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent. Its `folder` lies in the user's home, unless the variable names another."""

    name: str
    title: str
    program: str | None
    folder: str
    servers: Servers
    variable: str | None = None
    hooks: Hooks | None = None
    command: Slash | None = None

    def home(self) -> Path:
        """Its own folder; raises if the user has no home folder either."""
        named = self._named()
        try:
            return Path(named) if named else Path.home() / self.folder
        except RuntimeError:
            raise Invalid(f"there is no home folder to find the settings of {self.title} in; set HOME") from None

    def _named(self) -> str | None:
        return os.environ.get(self.variable) if self.variable else None

    def file(self, of: "Hooks | Servers | Slash", project: Path | None) -> Path:
        """The file that lists the hooks or servers of this user, or of a project."""
        if project is not None:
            if of.project is None:
                raise Invalid(f"{self.title} has no settings of a project; leave --project out")
            return project.joinpath(*of.project)
        # A path beside its folder moves into the folder where the user has named one.
        parts = of.user[1:] if of.user[0] == ".." and self._named() else of.user
        return Path(os.path.normpath(self.home().joinpath(*parts)))

    def fits(self, project: Path | None) -> bool:
        """Whether it has settings for this user, which all agents have, or for a project."""
        return project is None or self.servers.project is not None

    def is_here(self) -> bool:
        """Whether it seems to be installed: its program or its folder is there."""
        return bool(self.program and shutil.which(self.program)) or self.home().is_dir()


def _nested(unit: int = 1, **more: Any) -> Callable[[str, Moment], Any]:
    """Claude Code's format, which others adopted; some of them count in milliseconds."""

    def entry(command: str, moment: Moment) -> Any:
        timeout = unit * (AT_THE_END if moment == "end" else HOOK_SECONDS)
        return {"hooks": [{"type": "command", **more, "timeout": timeout, "command": command}]}

    return entry


def _said_by_cursor(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Cursor's fields: it names the conversation and the folders of the window, and starts a user's hooks in its own
    folder."""
    roots = given.get("workspace_roots")
    folder = roots[0] if isinstance(roots, list) and roots else given.get("cwd")
    return {**given, "session_id": given.get("conversation_id", given.get("session_id")), "cwd": folder}


# Where applications keep their settings, in the user's home.
_APPLICATIONS = {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}.get(sys.platform, ".config")
STDIO = {"command": MEMORIST, "args": ["mcp"]}
_CLAUDE: Mapping[Moment, str] = {
    "start": "SessionStart", "prompt": "UserPromptSubmit", "compact": "PreCompact", "stop": "Stop", "end": "SessionEnd",
    "helper": "SubagentStart",
}  # fmt: skip
_GEMINI: Mapping[Moment, str] = {
    "start": "SessionStart", "prompt": "BeforeAgent", "compact": "PreCompress", "stop": "AfterAgent", "end": "SessionEnd",
}  # fmt: skip
# At its other events nothing that a hook says reaches its model, and its transcript is not read.
_CURSOR: Mapping[Moment, str] = {"start": "sessionStart"}
_OPENCODE: Mapping[Moment, str] = {
    "start": "session.created", "prompt": "chat.message", "compact": "experimental.session.compacting", "stop": "session.idle",
    "helper": "session.child",
}  # fmt: skip

_TABLE = (
    Agent(
        "claude-code", "Claude Code", "claude", ".claude",
        Servers(
            ("..", ".claude.json"), (".mcp.json",), ("mcpServers",), {"type": "stdio", **STDIO},
            ("mcp", "add", "--scope", "user", MEMORIST, "--", MEMORIST, "mcp"),
        ),
        "CLAUDE_CONFIG_DIR",
        Hooks(("settings.json",), (".claude", "settings.json"), _CLAUDE, _nested()),
        Slash(("commands", "memorist.md"), (".claude", "commands", "memorist.md")),
    ),
    Agent(
        "codex", "Codex", "codex", ".codex",
        Servers(
            ("config.toml",), (".codex", "config.toml"), ("mcp_servers",), STDIO,
            ("mcp", "add", MEMORIST, "--", MEMORIST, "mcp"),
        ),
        "CODEX_HOME",
        Hooks(("hooks.json",), (".codex", "hooks.json"), _CLAUDE, _nested()),
        Slash(("skills", "memorist", "SKILL.md"), (".agents", "skills", "memorist", "SKILL.md")),
    ),
    Agent(
        "gemini", "Gemini CLI", "gemini", ".gemini",
        Servers(("settings.json",), (".gemini", "settings.json"), ("mcpServers",), STDIO),
        None,
        Hooks(("settings.json",), (".gemini", "settings.json"), _GEMINI, _nested(1000, name=MEMORIST), lasts=False),
        Slash(("commands", "memorist.toml"), (".gemini", "commands", "memorist.toml")),
    ),
    Agent(
        "cursor", "Cursor", "cursor", ".cursor",
        Servers(("mcp.json",), (".cursor", "mcp.json"), ("mcpServers",), STDIO),
        None,
        Hooks(
            ("hooks.json",), (".cursor", "hooks.json"), _CURSOR, lambda command, _: {"command": command}, ("version", 1),
            _said_by_cursor, lasts=False,
        ),
    ),
    Agent(
        "opencode", "OpenCode", "opencode", ".config/opencode",
        Servers(("opencode.json",), ("opencode.json",), ("mcp",), {"type": "local", "command": [MEMORIST, "mcp"], "enabled": True}),
        None,
        Hooks(("plugins", "memorist.js"), (".opencode", "plugins", "memorist.js"), _OPENCODE),
        Slash(("commands", "memorist.md"), (".opencode", "commands", "memorist.md")),
    ),
    Agent(
        "claude-desktop", "Claude Desktop", None, f"{_APPLICATIONS}/Claude",
        Servers(("claude_desktop_config.json",), None, ("mcpServers",), {**STDIO, "args": ["mcp", "--project", DESK]}),
    ),
    Agent(
        "vscode", "VS Code", "code", f"{_APPLICATIONS}/Code/User",
        Servers(("mcp.json",), (".vscode", "mcp.json"), ("servers",), {"type": "stdio", **STDIO}),
    ),
)  # fmt: skip
CLIENTS: Mapping[str, Agent] = {client.name: client for client in _TABLE}
