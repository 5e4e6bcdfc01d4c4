"""`make agents`: Claude Code, Codex, Gemini CLI and OpenCode themselves, against a model on the loopback interface, each with a
home and a repository that are made for it. Nobody here wrote them, so what they send to their model shows whether the memory
reached it.

A client that cannot be installed fails the job. `make agents CLIENT=codex` runs one of them.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import model
from jsonschema import Draft7Validator

import node
import shapes
from memorist.surfaces.agents import plugin

BUILD = node.BUILD / "agents"
PACKAGES = {
    "@anthropic-ai/claude-code": "2.1.326",
    "@openai/codex": "0.169.0",
    "@google/gemini-cli": "0.61.0",
    "opencode-ai": "1.18.33",
    "@anthropic-ai/mcpb": "2.1.2",
}
SCHEMAS_OF_CODEX = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt-submit",
    "SubagentStart": "subagent-start",
}
MCPB = BUILD / "node_modules" / "@anthropic-ai" / "mcpb" / "schemas"
NAMED = (
    "commands",
    "skills/memorist",
    "opencode/plugins",
    "opencode/commands",
)  # folders that are made for files of ours
LATE_IN_A_MINUTE = 30  # seconds: what is to happen within it begins before
PATIENCE = 300  # seconds for one turn, on a machine that has other things to do
REAL = Path(sys.executable).parent / "memorist"
SESSION = re.compile(r'session[_ ]?[iI][dD]"?: *"?([0-9a-f-]{36}|ses_\w+)')
# Stands before the real program on the PATH, and writes down what each hook was handed, answered, and how it ended.
SHIM = """#!/bin/sh
[ "$1" = hook ] || exec "{real}" "$@"
kept=$(mktemp "{log}/$2-$3$4-XXXXXX")
cat > "$kept.in"
"{real}" "$@" < "$kept.in" > "$kept.out" 2> "$kept.err"
code=$?
echo $code > "$kept.code"
cat "$kept.out"
exit $code
"""
CODEX = """model = "mock"
model_provider = "mock"

[model_providers.mock]   # on this machine
name = "mock"
base_url = "{url}"
wire_api = "responses"
requires_openai_auth = false
"""
OPENCODE = """{{
  "$schema": "https://opencode.ai/config.json",
  // a model on this machine
  "model": "mock/m", "small_model": "mock/m", "autoupdate": false, "share": "disabled",
  "provider": {{"mock": {{"npm": "@ai-sdk/openai-compatible", "name": "mock", "models": {{"m": {{"name": "m"}}}},
    "options": {{"baseURL": "{url}", "apiKey": "none"}}}}}},
}}
"""
GEMINI = """{
  // nobody is here to sign in
  "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
  "privacy": {"usageStatisticsEnabled": false}
}
"""


@dataclass(frozen=True, slots=True)
class Client:
    """One client: how it is asked something, and which files of it hold our lines."""

    name: str
    words: tuple[str, ...]  # that ask it something and end
    resume: Callable[[str], tuple[str, ...]]
    fork: Callable[[str], tuple[str, ...]] | None  # None: it has none without a terminal
    compact: Callable[[str], tuple[str, ...]] | None  # None: by the server that it has
    call: tuple[str, ...]  # so that a tool is called without asking
    events: tuple[str, ...]  # that it says in every session
    files: tuple[str, ...]
    command: Callable[[str], tuple[str, ...]]  # by which a person asks our command something


CODEX_WORDS = ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust")
PINNED = "Deploys go through the blue pipeline"
COMPACTING = ("-c", "model_auto_compact_token_limit=5")
COMPACTION = {"gemini": "PreCompress", "opencode": "experimental.session.compacting"}
OPENCODE_WORDS = ("opencode", "run", "--format", "json")
GEMINI_WORDS = ("gemini", "-m", "gemini-2.5-flash", "-o", "json")
CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code", ("claude", "--output-format", "json", "-p"),
            lambda id: ("claude", "--output-format", "json", "--resume", id, "-p"),
            lambda id: ("claude", "--output-format", "json", "--resume", id, "--fork-session", "-p"),
            lambda id: ("claude", "--output-format", "json", "--resume", id, "-p", "/compact"),
            ("--allowedTools", "mcp__memorist__memory_search"),
            ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"), (".claude/settings.json",),
            lambda question: ("claude", "--output-format", "json", "-p", f"/memorist {question}"),
        ),
        Client(
            "codex", CODEX_WORDS, lambda id: (*CODEX_WORDS, "resume", id), lambda id: (*CODEX_WORDS, "fork", id),
            lambda id: (*CODEX_WORDS, *COMPACTING, "resume", id, "And now?"),
            ("--dangerously-bypass-approvals-and-sandbox",),
            ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"), (".codex/hooks.json", ".codex/config.toml"),
            lambda question: (*CODEX_WORDS, f"$memorist {question}"),
        ),
        Client(
            "gemini", (*GEMINI_WORDS, "-p"), lambda id: (*GEMINI_WORDS, "--resume", id, "-p"), None,
            lambda id: (*GEMINI_WORDS, "--resume", id, "-p", "And now?"), ("--approval-mode", "yolo"),
            ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"), (".gemini/settings.json",),
            lambda question: (*GEMINI_WORDS, "-p", f"/memorist {question}"),
        ),
        Client(
            "opencode", OPENCODE_WORDS, lambda id: (*OPENCODE_WORDS, "--session", id),
            lambda id: (*OPENCODE_WORDS, "--session", id, "--fork"),
            None, ("--auto",),
            ("session.created", "chat.message", "session.idle"), (".config/opencode/opencode.json",),
            lambda question: (*OPENCODE_WORDS, "--command", "memorist", question),
        ),
    )
}  # fmt: skip

# How a person installs the plugin, and what the client itself says about it.
PLUGIN = {
    "claude-code": (
        ("claude", "plugin", "validate", "FOLDER/claude-code", "--profile", "directory"),
        ("claude", "plugin", "marketplace", "add", "FOLDER"),
        ("claude", "plugin", "install", "memorist@memorist"),
    ),
    "codex": (
        ("codex", "plugin", "marketplace", "add", "FOLDER"),
        ("codex", "plugin", "add", "memorist@memorist"),
    ),
    "gemini": (
        ("gemini", "extensions", "validate", "FOLDER/gemini"),
        ("gemini", "extensions", "install", "FOLDER/gemini", "--consent"),
    ),
    "opencode": (("cp", "-r", "FOLDER/opencode/.", "HOME/.config/opencode/"),),
}


@dataclass(slots=True)
class Scene:
    """A home in which a client is installed, a repository, and the model."""

    client: Client
    model: model.Model
    folder: Path
    failed: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def work(self) -> Path:
        return self.folder / "atlas"

    def environment(self) -> dict[str, str]:
        places = (
            self.folder / "bin",
            BUILD / "node_modules" / ".bin",
            REAL.parent,
            Path(node.NODE).parent,
            "/usr/bin",
            "/bin",
        )
        return {
            "HOME": str(self.home), "PATH": os.pathsep.join(map(str, places)), "NO_COLOR": "1", "TERM": "dumb",
            "ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "MEMORIST_HOOK_MS": "20000",  # a machine that is busy shall not decide what is told
        }  # fmt: skip

    def set_up(self) -> None:
        for folder in (
            self.home / ".codex",
            self.home / ".gemini",
            self.home / ".config" / "opencode",
            self.work,
            self.folder / "bin",
            self.folder / "hooks",
        ):
            folder.mkdir(parents=True)
        (self.home / ".codex" / "config.toml").write_text(CODEX.format(url=self.model.url))
        (self.home / ".gemini" / "settings.json").write_text(GEMINI)
        (self.home / ".config" / "opencode" / "opencode.json").write_text(OPENCODE.format(url=self.model.url))
        shim = self.folder / "bin" / "memorist"
        shim.write_text(SHIM.format(real=REAL, log=self.folder / "hooks"))
        shim.chmod(0o755)
        subprocess.run(["git", "init", "-q", str(self.work)], check=True)

    def say(self, words: tuple[str, ...], *more: str) -> tuple[str, str]:
        """Lets the client ask its model. → what it printed, and what it sent"""
        before = len(self.model.asked)
        done = self.run(*words, *more)
        if done.returncode:
            self.check(False, f"{words[0]} ends with 0", done.stdout[-1500:] + done.stderr[-1500:])
        return done.stdout + done.stderr, self.model.since(before)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        program = shutil.which(words[0], path=self.environment()["PATH"]) or words[0]
        return subprocess.run(
            [program, *words[1:]], capture_output=True, text=True, cwd=self.work, env=self.environment(),
            stdin=subprocess.DEVNULL, timeout=PATIENCE,
        )  # fmt: skip

    def memorist(self, *words: str) -> str:
        done = self.run("memorist", *words)
        if done.returncode:
            raise SystemExit(f"memorist {' '.join(words)}: {done.stderr or done.stdout}")
        return done.stdout

    def turns(self) -> list[dict[str, Any]]:
        found = json.loads(self.memorist("list", "--all", "--json"))
        return [each for each in found if each["kind"] == "turn"]

    def said(self, words: str) -> list[str]:
        """The sessions in which those words are kept, once for each time."""
        return [each["provenance"]["session"] for each in self.turns() if words in each["text"]]

    def hooks(self, event: str) -> list[dict[str, Any]]:
        """What the client handed over at that event."""
        return [json.loads(text) for text in self._kept(event, "in")]

    def answers(self, event: str) -> list[str]:
        """What it was answered."""
        return self._kept(event, "out")

    def _kept(self, event: str, of: str) -> list[str]:
        files = (self.folder / "hooks").glob(f"{self.client.name}-{event}-??????.in")
        return [file.with_suffix(f".{of}").read_text() for file in sorted(files, key=_made)]

    def check(self, good: bool, what: str, detail: str = "") -> None:
        sys.stdout.write(
            f"  {'ok  ' if good else 'FAIL'}  {self.client.name}: {what}\n{'' if good else detail + chr(10)}"
        )
        sys.stdout.flush()
        if not good:
            self.failed.append(what)


def _made(file: Path) -> int:
    return file.stat().st_mtime_ns


# ---------------------------------------------------------------- what is shown


def whole_life(scene: Scene) -> None:
    client = scene.client
    before = {name: _content(scene.home / name) for name in client.files}
    scene.memorist("install", client.name)
    scene.check(
        "has everything already" in scene.memorist("install", client.name), "a second installation changes nothing"
    )
    first = two_sessions(scene)
    tool_call(scene)
    commanded(scene)  # before a start tells something, which Gemini CLI puts in front of a command
    told_once(scene)
    if client.name == "claude-code":  # the others name the folder in which they were started
        elsewhere(scene)
    resumed(scene, first)
    if client.fork is not None:
        forked(scene, first)
    compacted(scene, first)
    killed(scene)
    with_a_server(scene)
    quiet(scene)
    scene.memorist("uninstall", client.name)
    after = {name: _content(scene.home / name) for name in client.files}
    scene.check(after == before, "uninstalled, its files are what they were, byte for byte", f"{before}\n{after}")
    left = [str(file) for file in scene.home.glob(".*/*.json") if b"memorist hook" in file.read_bytes()]
    left += [str(file) for name in NAMED for file in scene.home.glob(f".*/{name}")]
    claude = scene.home / ".claude.json"
    servers = json.loads(claude.read_text()).get("mcpServers", {}) if claude.exists() else {}
    scene.check(not left and not servers, "and nothing of ours is left", f"{left} {servers}")


def two_sessions(scene: Scene) -> str:
    printed, sent = scene.say(
        scene.client.words, "We decided that staging runs Postgres 16, because of its JSON functions."
    )
    found = SESSION.search(printed)
    scene.check(model.SAID in printed and found is not None, "the first session says a decision", printed[-1500:])
    scene.check("project_memory" not in sent, "and is told nothing, since nothing is known", sent[-1500:])
    _, sent = scene.say(scene.client.words, "which database does staging run?")
    scene.check("Postgres 16" in sent and "project_memory" in sent, "the second gets it in what it sends", sent[-3000:])
    return found[1] if found else ""


def told_once(scene: Scene) -> None:
    """What is pinned stands once in each request, however a session began and whatever its prompt asks for."""
    number = scene.memorist("remember", PINNED, "--kind", "decision").split("[id:")[1].split("]")[0]
    scene.memorist("pin", number)
    before = len(scene.model.asked)
    printed, _ = scene.say(scene.client.words, "How do the deploys go, through which pipeline?")
    found = SESSION.search(printed)
    scene.say(scene.client.resume(found[1] if found else ""), "And what is the second step of that pipeline?")
    times = [json.dumps(body).count(PINNED) for body in scene.model.asked[before:]]
    scene.check({*times} == {1}, "what is pinned is told once, also where a session is resumed", f"{times}")
    scene.memorist("forget", number)


def tool_call(scene: Scene) -> None:
    scene.memorist("remember", "The backup window is Sunday at 03:00 UTC")
    before = len(scene.model.results)
    asked = 'CALL memory_search {"query": "when is the backup window?"}'
    words = (*scene.client.words[:-1], *scene.client.call, scene.client.words[-1])
    _, sent = scene.say(words, asked)
    results = scene.model.results[before:]
    good = any("03:00 UTC" in result for result in results)
    scene.check(good, "a tool of ours is called, and its result sent", f"{results} {sent[-2000:]}")


def commanded(scene: Scene) -> None:
    _, sent = scene.say(scene.client.command("which queue do we use?"))
    good = "asks the memory of this project" in sent and "which queue do we use?" in sent
    scene.check(good, "a command of ours says what it is to do", sent[-2500:])
    scene.memorist("upkeep")
    kept = scene.said("asks the memory of this project")
    scene.check(not kept, "and is not kept as what a person said", f"{kept}")


def elsewhere(scene: Scene) -> None:
    """A command goes into another repository, and hooks are called with that folder from then on."""
    inner = scene.work / "vendor" / "beta"
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    words = (*scene.client.words[:-1], "--allowedTools", "Bash", scene.client.words[-1])
    call = json.dumps({"command": "cd vendor/beta && pwd", "description": "go there"})
    scene.say(words, f"We decided that ledgers are kept in Zanzibar. CALL Bash {call}")
    folder = scene.hooks("Stop")[-1]["cwd"]
    scene.check(Path(folder).samefile(inner), "a command goes into another repository, and so do its hooks", folder)
    there = scene.run("sh", "-c", "cd vendor/beta && memorist upkeep && memorist list --all").stdout
    scene.check("Zanzibar" not in there, "and nothing of the session is kept there", there)
    scene.memorist("upkeep")
    kept = scene.said("ledgers are kept in Zanzibar")
    scene.check(len(kept) == 1, "but in the project in which it began", f"{kept}")


def resumed(scene: Scene, session: str) -> None:
    scene.say(scene.client.resume(session), "Billing goes through Stripe only.")
    source = scene.hooks(scene.client.events[0])[-1]
    scene.check(source["session_id"] == session, "a session that is resumed keeps its name", f"{session} {source}")
    scene.memorist("upkeep")
    kept = scene.said("Billing goes through Stripe"), scene.said("We decided that staging runs")
    scene.check(kept == ([session], [session]), "and both its parts are kept, once", f"{session} {kept}")


def forked(scene: Scene, session: str) -> None:
    assert scene.client.fork is not None
    scene.say(scene.client.fork(session), "The mail server is Postfix.")
    scene.memorist("upkeep")
    mail, old = scene.said("The mail server is Postfix"), scene.said("Billing goes through Stripe")
    good = len(mail) == 1 and mail != [session] and old == [session]
    scene.check(good, "a fork has a name of its own, and brings nothing along twice", f"{session} {mail} {old}")


def compacted(scene: Scene, session: str) -> None:
    event = COMPACTION.get(scene.client.name, "PreCompact")
    before = len(scene.hooks(event))
    if scene.client.compact is None:
        by_server(scene, session)
    else:
        scene.say(scene.client.compact(session))
    fired = scene.hooks(event)[before:]
    scene.check(len(fired) > 0, "a hook is called before a compaction", f"{len(fired)}")


def by_server(scene: Scene, session: str) -> None:
    """OpenCode compacts at a terminal, which talks to this server."""
    program = shutil.which("opencode", path=scene.environment()["PATH"]) or "opencode"
    words = [program, "serve", "--port", "0", "--hostname", "127.0.0.1"]
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(words, cwd=scene.work, env=scene.environment(), **said) as server:
        assert server.stdout is not None
        url = next(found[0] for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        asked = urllib.request.Request(
            f"{url}/session/{session}/summarize?directory={urllib.parse.quote(str(scene.work))}",
            json.dumps({"providerID": "mock", "modelID": "m"}).encode(), {"Content-Type": "application/json"},
        )  # fmt: skip
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            answer.read()
        server.terminate()


def killed(scene: Scene) -> None:
    """In the second turn of a session, and in one minute: Gemini throws a transcript away in which its model never said anything,
    and makes such a one beside the other where a session is resumed in another minute; then both go."""
    while time.gmtime().tm_sec > LATE_IN_A_MINUTE:
        time.sleep(1)
    printed, _ = scene.say(scene.client.words, "The timeout is nine seconds.")
    session = SESSION.search(printed)
    scene.memorist("upkeep")
    said = "The retry limit is seven."
    with silent(scene, (*scene.client.resume(session[1] if session else ""), said)) as process:
        wait_for(lambda: written(scene, said))  # what nobody wrote down yet is nobody's to keep
        os.killpg(process.pid, signal.SIGKILL)  # the client, and what it started
    scene.say(scene.client.words, "what is the retry limit?")
    kept = scene.said("retry limit is seven")
    detail = f"{kept}, written {written(scene, said)}"
    scene.check(len(kept) == 1, "of a client that was killed the next session keeps what was said", detail)


@contextmanager
def silent(scene: Scene, words: tuple[str, ...]) -> Iterator[subprocess.Popen[bytes]]:
    """The client, which has asked a model that says nothing until the end of this, and has ended then."""
    before = len(scene.model.asked)
    program = shutil.which(words[0], path=scene.environment()["PATH"]) or words[0]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scene.model.speaks.clear()
    process = subprocess.Popen(
        [program, *words[1:]], cwd=scene.work, env=scene.environment(), start_new_session=True, **quiet
    )
    try:
        wait_for(lambda: words[-1] in scene.model.since(before).replace('\\"', '"'))
        yield process
    finally:
        scene.model.speaks.set()
        process.wait(PATIENCE)


def wait_for(happened: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not happened() and time.monotonic() < until:
        time.sleep(0.2)


def written(scene: Scene, said: str) -> list[str]:
    """The files of the client that have it as a message: Claude Code first writes that a prompt waits, and then the prompt."""
    files = chain(*(scene.home.rglob(f"*{end}") for end in (".jsonl", ".json", ".db", ".db-wal")))
    own = (file for file in files if "memorist" not in str(file.relative_to(scene.home)))
    lines = ((file.name, line) for file in own for line in (_content(file) or b"").split(b"\n"))
    return [name for name, line in lines if said.encode() in line and b'"queue-operation"' not in line]


def with_a_server(scene: Scene) -> None:
    """The same while `memorist serve` runs, whose process answers the hooks, and which is killed in the middle of a session."""
    words = [str(REAL), "serve", "--port", "0", "--workers", "1"]
    at = scene.home / ".config" / "memorist" / "hooks.sock"
    said = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, cwd=scene.work, env=scene.environment(), **said) as server:
        wait_for(at.exists)
        before = _cpu_of_children(server.pid)
        scene.say(scene.client.words, "We decided that mail is queued in RabbitMQ.")
        _, sent = scene.say(scene.client.words, "where is mail queued?")
        scene.check("RabbitMQ" in sent, "with a server, the second session gets what the first said", sent[-2500:])
        spent = _cpu_of_children(server.pid) - before
        scene.check(spent > 0.1, "and its process answered the hooks", f"{spent:.2f} s of CPU, {at.exists()}")
        with silent(scene, (*scene.client.words, "We decided that invoices are kept for eleven years.")):
            server.kill()
    wait_for(lambda: not at.exists())
    _, sent = scene.say(scene.client.words, "how long are invoices kept?")
    scene.check("eleven years" in sent, "it is killed in the middle of a session, and nothing is lost", sent[-2500:])


def _cpu_of_children(pid: int) -> float:
    """Seconds of processor time, by the clocks that Linux has for any process."""
    listed = (file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children"))
    return sum(time.clock_gettime(~int(child) << 3 | 2) for line in listed for child in line.split())


def quiet(scene: Scene) -> None:
    """No hook wrote anything but a document, failed, or noted a problem."""
    wrong = []
    for file in sorted((scene.folder / "hooks").glob("*.code")):
        out, err = (file.with_suffix(end).read_text() for end in (".out", ".err"))
        if file.read_text().strip() != "0" or err or (out and not isinstance(json.loads(out), dict)):
            wrong.append(f"{file.name}: {file.read_text()} {out} {err}")
    notes = scene.home / ".config" / "memorist" / "hooks.json"
    wrong += [notes.read_text()] if notes.exists() else []
    scene.check(not wrong, "every hook ended with 0 and said nothing beside its answer", "\n".join(wrong))
    silent = [event for event in scene.client.events if not scene.hooks(event)]
    scene.check(not silent, f"{', '.join(scene.client.events)} were all called", str(silent))


def as_plugin(scene: Scene) -> None:
    """The plugin in the place of our lines, and then beside them."""
    client, folder = scene.client, scene.folder / "plugins"
    scene.memorist("plugin", str(folder))
    for words in PLUGIN[client.name]:
        named = (word.replace("FOLDER", str(folder)).replace("HOME", str(scene.home)) for word in words)
        done = scene.run(*named)
        scene.check(done.returncode == 0, f"`{' '.join(words)}`", done.stdout[-1500:] + done.stderr[-1500:])
    _, sent = scene.say(client.words, "which database does staging run?")
    scene.check("Postgres 16" in sent, "with the plugin alone it gets what was said", sent[-2500:])
    scene.memorist("install", client.name)
    if client.name == "opencode":  # it is the same file
        return
    before = {name: len(scene.answers(name)) for event in client.events for name in (event, f"{event}--plugin")}
    _, sent = scene.say(client.words, "which database does staging run?")
    new = {name: scene.answers(name)[many:] for name, many in before.items()}
    silent = [*chain(*(new[f"{event}--plugin"] for event in client.events))]
    scene.check(len(silent) >= 4 and not any(silent), "with our lines beside it, its hooks say nothing", str(new))
    scene.check("Postgres 16" in sent, "and it gets what was said all the same", sent[-2500:])


def portable(scene: Scene) -> None:
    """Codex reads Agent Plugins too, and says so if it does not like one."""
    market = scene.folder / "market"
    listed = {
        "name": "portable",
        "plugins": [{"name": "memorist", "source": {"source": "local", "path": "./agent-plugins"}}],
    }
    (market / ".agents" / "plugins").mkdir(parents=True)
    (market / ".agents" / "plugins" / "marketplace.json").write_text(json.dumps(listed))
    shutil.copytree(scene.folder / "plugins" / "agent-plugins", market / "agent-plugins")
    for words in (("plugin", "remove", "memorist@memorist"), ("plugin", "marketplace", "add", str(market)),
                  ("plugin", "add", "memorist@portable")):  # fmt: skip
        done = scene.run("codex", *words)
        scene.check(done.returncode == 0, f"`codex {' '.join(words)}`", done.stdout + done.stderr)
    scene.memorist("uninstall", "codex")
    servers = scene.run("codex", "mcp", "list").stdout
    scene.check("PLUGIN_DATA" in servers and "memorist" in servers, "and has the server of the Agent Plugin", servers)


def published(scenes: list[Scene]) -> None:
    """What we say is held against the schemas that come with the programs, and so is what `make test` holds it against."""
    codex = next((scene for scene in scenes if scene.client.name == "codex"), None)
    known = _schemas_of_codex() if codex is not None else {}
    if codex is not None:  # a helper, whom its model here never asks for
        given = json.dumps({"session_id": "s", "cwd": str(codex.work), "agent_id": "a"})
        codex.memorist("remember", "--pin", "Read the plan before you change code")
        codex.run("sh", "-c", f"echo '{given}' | memorist hook codex SubagentStart")
    if codex is not None:
        portable(codex)
    for event, file in SCHEMAS_OF_CODEX.items() if codex is not None else ():
        schema = known.get(f"{file}.command.output", {"not": {}})
        said = [json.loads(each) for each in codex.answers(event) if each]
        wrong = [problem.message for each in said for problem in Draft7Validator(schema).iter_errors(each)]
        codex.check(
            bool(said) and not wrong, f"{len(said)} answers at {event} are as Codex's own schema wants them", str(wrong)
        )
        wider = shapes.wider(shapes.codex(event), schema)
        codex.check(bool(schema.get("properties")) and not wider, f"and our shape of {event} takes no more", str(wider))
    first = scenes[0]
    folder = first.folder / "bundle"
    with ZipFile(BytesIO(plugin.bundle())) as packed:
        packed.extractall(folder)
    done = first.run("mcpb", "validate", str(folder / "manifest.json"))
    first.check(done.returncode == 0, "`mcpb validate`", done.stdout + done.stderr)
    manifest = json.loads((folder / "manifest.json").read_text())
    schema = json.loads((MCPB / f"mcpb-manifest-v{manifest['manifest_version']}.schema.json").read_text())
    wrong = [problem.message for problem in Draft7Validator(schema).iter_errors(manifest)]
    wider = shapes.wider(shapes.BUNDLE, schema)
    first.check(
        not wrong and not wider, "the bundle for Claude Desktop is as its own schema wants it", f"{wrong} {wider}"
    )


def _schemas_of_codex() -> dict[str, Any]:
    """Those that are inside of the program, each with its title."""
    [program] = BUILD.glob("node_modules/@openai/codex-*/vendor/*/bin/codex")
    content, read = program.read_bytes(), json.JSONDecoder().raw_decode
    begins = (found.start() for found in re.finditer(rb'\{\s+"\$schema": "http://json-schema.org/draft-07', content))
    found = (read(content[at : at + 20_000].decode("utf-8", "replace"))[0] for at in begins)
    return {each["title"]: each for each in found if str(each.get("title")).endswith(".command.output")}


def at_once(scenes: list[Scene]) -> None:
    """All of them in one project: each keeps what was said to it, and later each gets what was said to the others."""
    first = scenes[0]
    for scene in scenes:
        scene.memorist("install", scene.client.name)
    with ThreadPoolExecutor() as pool:
        prompts = [
            f"We decided that the {scene.client.name} budget is {100 + n} euros." for n, scene in enumerate(scenes)
        ]
        [*pool.map(lambda scene, prompt: scene.say(scene.client.words, prompt), scenes, prompts)]
    first.memorist("upkeep")
    for n, scene in enumerate(scenes):
        kept = scene.said(f"budget is {100 + n} euros")
        scene.check(len(kept) == 1, "beside others in one project, what was said is kept once", f"{kept}")
    for n, scene in enumerate(scenes):
        other = (n + 1) % len(scenes)
        _, sent = scene.say(scene.client.words, f"what is the {scenes[other].client.name} budget?")
        scene.check(
            f"{100 + other} euros" in sent, f"and it gets what was said to {scenes[other].client.name}", sent[-2500:]
        )


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def main(names: list[str]) -> int:
    node.installed(BUILD, PACKAGES)
    # npm asks a person before it runs a package's own script; these put the programs in their places.
    for package, script in (("@anthropic-ai/claude-code", "install.cjs"), ("opencode-ai", "postinstall.mjs")):
        folder = BUILD / "node_modules" / package
        subprocess.run([node.NODE, script], check=True, cwd=folder, env={**node.environment(), "HOME": str(folder)})
    clients = [CLIENTS[name] for name in names or CLIENTS]
    failed: list[str] = []
    alone: list[Scene] = []
    with model.listening() as listens, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for client in clients:
            scene = Scene(client, listens, Path(folder) / client.name)
            scene.set_up()
            shown = scene.run(client.words[0], "--version").stdout.strip()
            sys.stdout.write(f"--- {client.name}: {shown}\n")
            whole_life(scene)
            as_plugin(scene)
            alone.append(scene)
        published(alone)
        failed += [what for scene in alone for what in scene.failed]
        if len(clients) > 1:
            sys.stdout.write("--- all at once\n")
            scenes = [Scene(client, listens, Path(folder) / "together") for client in clients]
            scenes[0].set_up()
            at_once(scenes)
            failed += [what for scene in scenes for what in scene.failed]
    sys.stdout.write(f"{len(failed)} failed\n" if failed else "all of it holds\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
