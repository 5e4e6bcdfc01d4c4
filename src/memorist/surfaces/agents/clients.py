"""The supported agents, as data: where each keeps its settings, and the format it wants for hooks and tool servers.

An entry is ours by its mark: a hook that runs `memorist hook CLIENT …`, a server called `memorist` that runs `memorist
mcp`; by name, by a path, or through launchers such as `uvx` and `env`, with their options. Two files are ours as a whole,
by their names: the plugin of OpenCode, which has no other hooks, and the command `/memorist`.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from memorist.errors import Invalid
from memorist.lazy import dataclass

MEMORIST = "memorist"
DESK = "desk"  # the project of an application that works in no folder
Moment = Literal["start", "prompt", "compact", "stop", "end", "helper"]
HOOK_SECONDS = 10  # seconds after which an agent ends a hook; a hook needs a fraction of one
AT_THE_END = 3  # seconds: nobody waits longer for a session that is over, and Codex warns of hooks that do
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|\\ |[^\s"'])+""")  # of a command, as a shell reads it
_VARIABLE = re.compile(r"\w+=(?!=)")  # `uvx memorist==0.2` sets none
_PROGRAM = re.compile(r"(?:.*[\\/])?memorist(?:\.(?:exe|cmd|bat))?(?:\[[\w,-]+\])?(?:(?:@|==)[\w.]+)?")
_ENV = "env"
# What our program, called by name, would not get from a launcher, and could then use another store.
_LOST = re.compile(r"--(?:directory|env-file)(?:=.*)?|(?:.*[\\/])?env(?:\.exe)?")
_OF_UV = frozenset(
    "--from -w --with --with-editable --with-requirements -p --python --directory --project --config-file --cache-dir"
    " --index --default-index -i --index-url --extra-index-url -f --find-links --index-strategy --env-file --extra --group"
    " --only-group --package -P --upgrade-package --refresh-package --prerelease --exclude-newer --color".split()
)


@dataclass(frozen=True, slots=True)
class Launcher:
    """A program that runs another: its name, the words that must come before the other's name, and those of its options
    whose value is a word of its own."""

    name: str
    verbs: tuple[str, ...]
    valued: frozenset[str]


_LAUNCHERS = (
    Launcher("uvx", (), _OF_UV),
    Launcher("uv", ("run",), _OF_UV),
    Launcher("uv", ("tool", "run"), _OF_UV),
    Launcher("pipx", ("run",), frozenset(("--spec", "--python", "--with", "--pip-args", "-i", "--index-url"))),
    Launcher(r"python[\d.]*|py", ("-[a-zA-Z]*m",), frozenset(("-X", "-W"))),
    Launcher(_ENV, (), frozenset(("-u", "--unset", "-C", "--chdir"))),
)


@dataclass(frozen=True, slots=True)
class Hooks:
    """A file with hooks: either the list of each event lies below `hooks`, or the whole file is ours and has all of
    them."""

    user: tuple[str, ...]  # path below the agent's own folder
    project: tuple[str, ...]  # path below a project's folder
    events: Mapping[Moment, str]
    entry: Callable[[str, Moment], Any] | None = None  # None: the whole file is ours
    head: tuple[str, Any] | None = None  # a member that the file needs besides the hooks
    said: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda given: (
        given
    )  # what it hands over, in the fields of Claude Code
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


def words_of(command: str) -> list[str]:
    """The words of a command, without quotes."""
    return [re.sub(r"""["']|\\(?= )""", "", word) for word in _WORD.findall(command)]


def sets_variable(word: str) -> bool:
    return _VARIABLE.match(word) is not None


def called(words: Sequence[str]) -> slice | None:
    """The words that call our program, and the program that runs it, if there is one. Variables that the command sets,
    also with `env`, come before them, what our program is told after them. None if another program is called."""
    starts = _starts(words)
    return slice(next(at for at in starts if _base(words[at]) != _ENV), starts[-1] + 1) if starts else None


def _starts(words: Sequence[str]) -> list[int]:
    """Where each program is named, of which one runs the next, and the last is ours; none if it is another."""
    behind: int | None = next((at for at, word in enumerate(words) if not sets_variable(word)), len(words))
    starts = []
    while behind is not None:
        starts.append(behind)
        behind = _past_launcher(words, behind)
    at = starts[-1]
    return starts if at < len(words) and _PROGRAM.fullmatch(words[at]) else []


def _past_launcher(words: Sequence[str], at: int) -> int | None:
    """Where the program begins that a launcher runs; None if there is no launcher."""
    name = _base(words[at]) if at < len(words) else ""
    places = (_past(launcher, words, at + 1) for launcher in _LAUNCHERS if re.fullmatch(launcher.name, name))
    return next((place for place in places if place is not None), None)


def _past(launcher: Launcher, words: Sequence[str], at: int) -> int | None:
    """The place after its verbs and options; None if a verb is missing."""
    for verb in launcher.verbs:
        at = _past_options(launcher, words, at, verb)
        if at >= len(words) or not re.fullmatch(verb, words[at]):
            return None
        at += 1
    return _past_options(launcher, words, at)


def _past_options(launcher: Launcher, words: Sequence[str], at: int, until: str = "") -> int:
    while at < len(words) and not re.fullmatch(until, words[at]):
        if not words[at].startswith("-") and not (launcher.name == _ENV and sets_variable(words[at])):
            break
        at += 2 if words[at] in launcher.valued else 1
    return at


def _base(program: str) -> str:
    return re.split(r"[\\/]", program)[-1].removesuffix(".exe")


def is_hook(command: object, client: str) -> bool:
    """Whether that command is a hook of ours for that agent, from this installation or another."""
    words = words_of(command) if isinstance(command, str) else []
    at = called(words)
    return at is not None and words[at.stop : at.stop + 2] == ["hook", client]


def is_gone(words: Sequence[str]) -> bool:
    """Whether a file is gone that a call of ours starts, and calling us by name would do the same. What only a shell or
    the agent finds, by its name or through a variable, counts as there."""
    at = called(words)
    if at is None or any(_LOST.fullmatch(word) or sets_variable(word) for word in words[at]):
        return False
    return any(_is_missing(words[each]) for each in _starts(words))


def _is_missing(program: str) -> bool:
    return Path(program).is_absolute() and "$" not in program and shutil.which(program) is None


def hook_by_name(command: str) -> str:
    """A hook of ours that calls us by name; what it sets before and says after that stays."""
    places, words = [*_WORD.finditer(command)], words_of(command)
    for some, name in _by_name(words):
        command = command[: places[some.start].start()] + name + command[places[some.stop - 1].end() :]
    return command


def _by_name(words: Sequence[str]) -> list[tuple[slice, str]]:
    """The words of a call of ours that a name replaces, the last ones first."""
    at = called(words)
    if at is None:
        return []
    before = [each for each in _starts(words) if each < at.start and _is_missing(words[each])]
    return [(at, MEMORIST), *((slice(each, each + 1), _ENV) for each in reversed(before))]


def commands_in(entry: object) -> list[str]:
    """The commands that an entry of an event runs, in either format."""
    if not isinstance(entry, Mapping):
        return []
    inner = entry.get("hooks")
    each = [entry, *(inner if isinstance(inner, list) else [])]
    return [hook["command"] for hook in each if isinstance(hook, Mapping) and isinstance(hook.get("command"), str)]


def is_server(entry: object) -> bool:
    """Whether that server is ours, from this installation or another."""
    words = server_words(entry)
    at = called(words)
    return at is not None and words[at.stop : at.stop + 1] == ["mcp"]


def server_words(entry: object) -> list[str]:
    """The words that start a server, in either format."""
    if not isinstance(entry, Mapping):
        return []
    command, args = entry.get("command"), entry.get("args", [])
    return [str(word) for word in (*_listed(command), *_listed(args))]


def server_by_name(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A server of ours that calls us by name; what `env` sets, what it is told, and all else stays."""
    words = server_words(entry)
    for some, name in _by_name(words):
        words[some] = [name]
    if isinstance(entry["command"], list):
        return {**entry, "command": words}
    return {**entry, "command": words[0], "args": words[1:]}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


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
