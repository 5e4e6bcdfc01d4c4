"""What an agent's own settings say beside our entries: whether a plugin of ours is on, and whether hooks are off, for
`install` and `memorist doctor`; and whether they have a hook, for that of a plugin.

Only the settings of the user count: those of a project came with a clone.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memorist.errors import Invalid
from memorist.surfaces.agents import splice
from memorist.surfaces.agents.clients import CLIENTS, Agent, Hooks, Servers
from memorist.surfaces.agents.marks import MEMORIST, hooks_in, runs_ours


def plugin_of(agent: Agent) -> str | None:
    """The agent's name for a plugin of ours that it has, and that is on."""
    found = _PLUGINS.get(agent.name)
    return next(found(agent), None) if found else None


def off_by(agent: Agent) -> str | None:
    """The setting that keeps our hooks from running, and its file; None if nothing does."""
    found = _SWITCHES.get(agent.name)
    return next(found(agent), None) if found else None


def in_settings(client: str, event: str) -> bool:
    """Whether they run our hook at every such event: then a plugin's hook stays silent. If a project's settings counted,
    the author of a clone could silence the user's hooks (docs/why/0061)."""
    agent = CLIENTS.get(client)
    if agent is None or agent.hooks is None or agent.hooks.entry is None:
        return False
    entries = splice.at(read(agent.file(agent.hooks, None)), ("hooks", event))
    always = [entry for entry in entries if _at_every(entry)] if isinstance(entries, list) else []
    return any(runs_ours(hook, client) for entry in always for _, hook in hooks_in(entry))


def _at_every(entry: object) -> bool:
    return isinstance(entry, Mapping) and entry.get("matcher") in (None, "", "*")


def read(file: Path) -> Any:
    """What such a file says; None if there is none, or it cannot be read, which is reported where entries are read."""
    try:
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text) if file.suffix == ".toml" else splice.read(text, file)
    except (OSError, ValueError, Invalid):
        return None


def _setting(agent: Agent, of: Hooks | Servers | None, *path: str) -> tuple[Any, str]:
    """What the user's file says there, and the words for where that is."""
    assert of is not None
    file = agent.file(of, None)
    return splice.at(read(file), path), f"`{'.'.join(path)}` in {file}"


def _ours_in(listed: Any) -> Iterator[tuple[str, Any]]:
    """Our plugin in a list of plugins, which calls each NAME@MARKETPLACE."""
    for name, about in listed.items() if isinstance(listed, Mapping) else ():
        if name.partition("@")[0] == MEMORIST:
            yield name, about


def _plugin_of_claude(agent: Agent) -> Iterator[str]:
    enabled, _ = _setting(agent, agent.hooks, "enabledPlugins")
    yield from (name for name, on in _ours_in(enabled) if on)


def _plugin_of_codex(agent: Agent) -> Iterator[str]:
    plugins, _ = _setting(agent, agent.servers, "plugins")
    yield from (name for name, about in _ours_in(plugins) if splice.at(about, ("enabled",)) is not False)


def _plugin_of_gemini(agent: Agent) -> Iterator[str]:
    """A folder is an extension; another file lists the folders for which it was switched on, or, after a `!`, off."""
    extensions = agent.home() / "extensions"
    rules = splice.at(read(extensions / "extension-enablement.json"), (MEMORIST, "overrides"))
    off = f"!{Path.home().as_posix()}/*" in (rules if isinstance(rules, list) else [])
    if (extensions / MEMORIST / "gemini-extension.json").is_file() and not off:
        yield MEMORIST


def _off_in_claude(agent: Agent) -> Iterator[str]:
    off, place = _setting(agent, agent.hooks, "disableAllHooks")
    if off not in (None, False, "false"):
        yield place


def _off_in_codex(agent: Agent) -> Iterator[str]:
    on, place = _setting(agent, agent.servers, "features", "hooks")
    if on is False:
        yield place


def _off_in_gemini(agent: Agent) -> Iterator[str]:
    """It switches off all hooks, or some by their name, and ours have our name."""
    on, place = _setting(agent, agent.hooks, "hooksConfig", "enabled")
    if on is False:
        yield place
    names, place = _setting(agent, agent.hooks, "hooksConfig", "disabled")
    if isinstance(names, list) and MEMORIST in names:
        yield place


_PLUGINS: Mapping[str, Callable[[Agent], Iterator[str]]] = {
    "claude-code": _plugin_of_claude,
    "codex": _plugin_of_codex,
    "gemini": _plugin_of_gemini,
}
_SWITCHES: Mapping[str, Callable[[Agent], Iterator[str]]] = {
    "claude-code": _off_in_claude,
    "codex": _off_in_codex,
    "gemini": _off_in_gemini,
}
