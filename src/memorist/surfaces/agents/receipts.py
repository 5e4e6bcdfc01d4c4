"""What coding agents were told, from the recall log: for `memorist receipts`, and for the rows of agents in `memorist
doctor`."""

import shutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from memorist.errors import MemoristError, StoreDamaged
from memorist.memory import Memory
from memorist.project import repository_root
from memorist.records import minute
from memorist.remember.edit import is_told_to, use_key
from memorist.store import captures
from memorist.store.nouns import Diagnosis, Receipt
from memorist.store.where import Where
from memorist.surfaces.agents import problems, switches, trial
from memorist.surfaces.agents.clients import CLIENTS, Agent
from memorist.surfaces.agents.entries import SERVER, entries_of
from memorist.surfaces.agents.marks import MEMORIST
from memorist.surfaces.agents.moments import HELPER, SURFACE

ADVICE = "mend that; this is told until a hook has answered again"
LINES_READ = 10_000  # of the recall log, which has questions of all kinds


def told(memory: Memory, most: int) -> list[dict[str, Any]]:
    """What was told to agents here and may be read, the latest first: to which agent, in which session, when, from
    which memories and for how many tokens; and which of these were used, as far as somebody reported it or an answer
    shows."""
    return [*islice(_told(memory), most)]


def _told(memory: Memory) -> Iterator[dict[str, Any]]:
    store = memory._tools.store
    for line in _lines(memory):
        records = store.get(line.ids, Where(memory.access))
        if len(records) == len(line.ids):
            used = [each.number for each in records if store.key_use(use_key(line.id, each.id))]
            yield {
                "receipt": line.id, "at": line.at, "client": line.actor, "session": line.session,
                "moment": _moment(line), "tokens": line.tokens,
                "ids": [each.number for each in records], "used": used,
            }  # fmt: skip


def _moment(line: Receipt) -> str:
    if line.actor.endswith(HELPER):
        return "helper"
    return "prompt" if line.query else "start"


def _lines(memory: Memory) -> Iterator[Receipt]:
    """Log lines of hooks that told something, in places that may be read."""
    who = memory.access
    for line in memory._tools.store.receipts(who.space, LINES_READ):
        if line.surface == SURFACE and line.ids and is_told_to(line, who):
            yield line


# ---------------------------------------------------------------- for the doctor


def checked(memory: Memory) -> list[Diagnosis]:
    """A row for every agent that is installed: what it has of ours, what it was told last, and whether something went
    wrong since."""
    try:
        last = {line.actor: line for line in reversed([*_lines(memory)])}
        silent = _silent(memory)
    except StoreDamaged:  # other checks report this
        last, silent = {}, None
    here = {agent.name: agent for agent in CLIENTS.values() if agent.is_here()}
    with trial.outliving_readers():
        rows = [_checked(agent, last.get(name)) for name, agent in here.items()]
    rows += _others(here, max((line.at for line in last.values()), default=None))
    return [replace(row, detail=f"{row.detail}; {silent}") if silent else row for row in rows]


def _silent(memory: Memory) -> str | None:
    """Why hooks say and keep nothing here; None if they may."""
    left_out = captures.left_out(memory._tools.store, memory.space, memory.home)
    return memory._off_because() or (captures.TOLD_OUT if left_out else None)


def _checked(agent: Agent, last: Receipt | None) -> Diagnosis:
    root = repository_root(Path.cwd()) or Path.cwd()
    try:
        entries = {*entries_of(agent), *entries_of(agent, root)}
    except MemoristError as problem:
        return Diagnosis(False, agent.name, str(problem), "mend that file; nothing of ours works in it")
    plugin = switches.plugin_of(agent)
    if entries or plugin is not None:
        return _tried(agent, entries, plugin, last)
    if wrong := _problem(lambda name: name == agent.name, last.at if last else None):
        return Diagnosis(False, agent.name, f"has nothing of ours in its settings; {wrong}", ADVICE)
    return Diagnosis(True, agent.name, f"has nothing of ours; `{MEMORIST} install {agent.name}` gives it this memory")


def _others(here: Collection[str], since: datetime | None) -> list[Diagnosis]:
    """A row for a hook that was called for an agent that is not here, or under a name that no agent has."""
    wrong = _problem(lambda name: name not in here, since)
    return [Diagnosis(False, "hooks", wrong, ADVICE)] if wrong else []


def _tried(agent: Agent, entries: set[str], plugin: str | None, last: Receipt | None) -> Diagnosis:
    """What an agent has of ours, and whether that works."""
    tools = trial.tools_of(agent)
    answer = f"{tools} tools answer" if isinstance(tools, int) else None
    detail = "; ".join(filter(None, (trial.version_of(agent), _has(agent, entries, plugin), answer, _last(last))))
    if shutil.which(MEMORIST) is None:
        return Diagnosis(False, agent.name, f"{detail}; {MEMORIST} is not on the PATH", "install it there")
    if tried := _off(agent, entries, plugin) or trial.wrong(agent, tools):
        return Diagnosis(False, agent.name, f"{detail}; {tried[0]}", tried[1])
    wrong = _problem(lambda name: name == agent.name, last.at if last else None)
    return Diagnosis(wrong is None, agent.name, f"{detail}; {wrong}" if wrong else detail, ADVICE)


def _has(agent: Agent, entries: set[str], plugin: str | None) -> str:
    if not entries:
        return f"the plugin {plugin}"
    hooks = _events(agent)
    there = f"{len(entries & hooks)} of {len(hooks)} hooks, " if hooks else ""
    there += "tools" if SERVER in entries else "no tools"
    return f"{there}, and the plugin {plugin}, though one of them is enough" if plugin else there


def _events(agent: Agent) -> set[str]:
    return {*agent.hooks.names} if agent.hooks else set()


def _off(agent: Agent, entries: set[str], plugin: str | None) -> tuple[str, str] | None:
    """What switches off hooks that it has, and what to do."""
    off = switches.off_by(agent) if plugin or entries & _events(agent) else None
    return (f"its hooks are switched off by {off}", "switch them on there") if off else None


def _last(line: Receipt | None) -> str:
    if line is None:
        return "it was told nothing here yet"
    return f"last told {line.tokens:,} tokens at {minute(line.at)}"


def _problem(of: Callable[[str], bool], since: datetime | None) -> str | None:
    """The last error of a hook of these agents, unless a hook has answered since."""
    noted = next((each for each in problems.last() if of(str(each.get("client")))), None)
    if noted is None or (since is not None and str(noted.get("at")) <= since.isoformat()):
        return None
    return f"a hook of {noted.get('client')} at {noted.get('event')} failed: {noted.get('problem')}"
