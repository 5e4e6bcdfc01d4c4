"""The plugin folders of the agents, written from one source: `clients` defines hooks and servers, `skills` what people
ask for.

    claude-code/      .claude-plugin/plugin.json, hooks, server, skills, and a README, which its directory of plugins wants;
                      .claude-plugin/marketplace.json above it lists the plugin
    codex/            .codex-plugin/plugin.json, and the same; .agents/plugins/marketplace.json above it
    gemini/           gemini-extension.json, hooks, skills, the command `/memorist`
    opencode/         its plugin and the command, as `install` places them
    agent-plugins/    plugin.json and mcp.json of Agent Plugins 1.0, skills; that format has no hooks
    memorist.mcpb     for Claude Desktop: a ZIP file with a manifest that starts the server; neither hooks nor skills

Each has its own folder, because all keep hooks in `hooks/hooks.json` and no two agents read the same events and times.
A plugin's hook stays silent if the agent's settings have the same hook (`memorist hook … --plugin`).
"""

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

from memorist import __version__
from memorist.errors import Refused, unavailable
from memorist.files import whole
from memorist.surfaces.agents import skills
from memorist.surfaces.agents.clients import CLIENTS, DESK, STDIO, Agent
from memorist.surfaces.agents.marks import MEMORIST, hook_command
from memorist.surfaces.cli.hook import FLAG

TOLD_IN_SHORT = "A memory for coding agents: what was decided and learned in a project, on this machine, in one file."
SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"
BUNDLE = "memorist.mcpb"
_ABOUT: Mapping[str, Any] = {
    "name": MEMORIST,
    "version": __version__,
    "description": TOLD_IN_SHORT,
    "author": {"name": "The authors of memorist"},
    "license": "Apache-2.0",
    "keywords": ["memory", "recall"],
}

_FOR_CLAUDE = "    claude plugin marketplace add FOLDER && claude plugin install memorist@memorist"
_ON_THE_PATH = "the program `memorist`, which has to be on the PATH: `pipx install 'memorist[mcp]'`."
_ONE_OF_THEM = (
    "A plugin and `memorist install` do the same, so use one of them. Where an agent has both, the plugin's hooks stay"
    " silent."
)
_README_OF_CLAUDE = f"""# {MEMORIST}

{TOLD_IN_SHORT}

When a session starts and at each prompt, Claude Code gets the memories that matter, and what was said is read from its
transcript. Claude gets tools to search the memory and to add to it, and skills: {", ".join(each.name for each in skills.SKILLS)}.

All of it calls {_ON_THE_PATH} Then, with the folder above this one:

{_FOR_CLAUDE}

{_ONE_OF_THEM}
"""
_README = f"""# memorist, as plugins

{TOLD_IN_SHORT}

Each folder here is one plugin: `claude-code`, `codex`, `gemini` (an extension), `opencode`, and `agent-plugins` for any agent that
reads Agent Plugins 1.0; `memorist.mcpb` is for Claude Desktop. They call {_ON_THE_PATH}

{_FOR_CLAUDE}
    codex plugin marketplace add FOLDER && codex plugin add memorist@memorist
    gemini extensions install FOLDER/gemini
    cp -r FOLDER/opencode/. ~/.config/opencode/ && memorist install opencode --no-hooks    # which adds the tools

Claude Desktop opens `memorist.mcpb` by itself, or under Settings, Extensions.

{_ONE_OF_THEM}
"""
READMES = {"README.md": _README, "claude-code/README.md": _README_OF_CLAUDE}


def files() -> dict[str, str]:
    """All files below the folder, by path."""
    claude, codex, gemini = (CLIENTS[name] for name in ("claude-code", "codex", "gemini"))
    owner = {"owner": _ABOUT["author"], "metadata": {"description": TOLD_IN_SHORT}}
    listed = {"name": MEMORIST, **owner, "plugins": [_listed("./claude-code")]}
    listed_for_codex = {"name": MEMORIST, "plugins": [_listed({"source": "local", "path": "./codex"})]}
    servers = {"mcpServers": {MEMORIST: STDIO}}
    documents = {
        ".claude-plugin/marketplace.json": listed,
        "claude-code/.claude-plugin/plugin.json": dict(_ABOUT),
        "claude-code/hooks/hooks.json": _hooks(claude),
        "claude-code/.mcp.json": servers,
        ".agents/plugins/marketplace.json": listed_for_codex,
        "codex/.codex-plugin/plugin.json": dict(_ABOUT),
        "codex/hooks/hooks.json": _hooks(codex),
        "codex/.mcp.json": servers,
        "gemini/gemini-extension.json": {
            "name": MEMORIST,
            "version": __version__,
            "description": TOLD_IN_SHORT,
            **servers,
        },
        "gemini/hooks/hooks.json": _hooks(gemini),
        "agent-plugins/plugin.json": {"$schema": f"{SCHEMAS}/plugin.schema.json", **_ABOUT},
        "agent-plugins/mcp.json": {
            "$schema": f"{SCHEMAS}/mcp.schema.json",
            # The default would be the plugin's own folder, whose name changes with every update.
            "mcpServers": {MEMORIST: {"type": "stdio", **STDIO, "cwd": "${PLUGIN_DATA}"}},
        },
    }
    ours = {
        **READMES,
        "gemini/commands/memorist.toml": skills.SLASH_COMMANDS["gemini"],
        "opencode/commands/memorist.md": skills.SLASH_COMMANDS["opencode"],
        "opencode/plugins/memorist.js": skills.plugin_of_opencode(),
    }
    written = {path: _written(document) for path, document in documents.items()}
    folders = ("claude-code", "codex", "gemini", "agent-plugins")
    asked = {f"{folder}/skills/{each.name}/SKILL.md": each.text for folder in folders for each in skills.SKILLS}
    return ours | written | asked


def bundle() -> bytes:
    """The bundle for Claude Desktop. Uncompressed and without dates, so that it is identical wherever it is built."""
    manifest = {
        "manifest_version": "0.3",
        **_ABOUT,
        "display_name": MEMORIST,
        "server": {
            "type": "binary",
            "entry_point": MEMORIST,
            "mcp_config": {"command": MEMORIST, "args": ["mcp", "--project", "${user_config.project}"]},
        },
        "tools_generated": True,
        "prompts_generated": True,
        "user_config": {
            "project": {
                "type": "string",
                "title": "Project",
                "description": "The application works in no folder, so this names whose memories it sees.",
                "default": DESK,
            }
        },
    }
    content = BytesIO()
    with ZipFile(content, "w") as packed:
        packed.writestr(ZipInfo("manifest.json"), _written(manifest))
    return content.getvalue()


def write(folder: Path) -> list[Path]:
    """Writes them. → the files; nothing is written if one of them exists with other content"""
    wanted = {folder / path: text.encode() for path, text in files().items()} | {folder / BUNDLE: bundle()}
    for file, content in wanted.items():
        if whole.read(file) not in (None, content):
            raise Refused(f"{file} is there, and is another; name a new folder")
    try:
        for file, content in wanted.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    except OSError as problem:
        raise unavailable(problem, str(folder)) from problem
    return [*wanted]


def _written(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"


def _listed(source: Any) -> dict[str, Any]:
    return {"name": MEMORIST, "source": source, "description": TOLD_IN_SHORT}


def _hooks(agent: Agent) -> dict[str, Any]:
    assert agent.hooks is not None and agent.hooks.entry is not None
    return {
        "hooks": {
            event: [agent.hooks.entry(f"{hook_command(agent.name, event)} {FLAG}", moment)]
            for moment, event in agent.hooks.events.items()
        }
    }
