"""`make conformance`: the public suite of the protocol, and its inspector, against the real server. Both are programs for Node,
installed at exact versions under `build/`; Node itself comes in a wheel.

    the suite      every scenario that 2026-07-28 and 2025-11-25 require, against memorist with the suite's fixtures
    the inspector  lists and calls the tools of `memorist mcp` over standard input and output, and of `memorist serve` over HTTP
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import node
from node import NODE, environment

HERE = Path(__file__).parent
BUILD = node.BUILD / "conformance"
PACKAGES = {"@modelcontextprotocol/conformance": "0.2.0-alpha.12", "@modelcontextprotocol/inspector": "2.12.0"}
REVISIONS = ("2026-07-28", "2025-11-25")
PATIENT = ["--connect-timeout", "110000"]  # milliseconds: a busy machine needs more than the 15 seconds it would wait


@contextmanager
def started(words: list[str], folder: str) -> Iterator[str]:
    """A server in a process of its own, once it has said its first line."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(30)


def judged(revision: str, url: str) -> bool:
    """One revision of the protocol. The suite ends with 0 if nothing failed but what is expected to."""
    suite = BUILD / "node_modules" / ".bin" / "conformance"
    baseline = ["--expected-failures", str(HERE / "expected-failures.yml")]
    words = [NODE, str(suite), "server", "--url", url, "--requirements", revision, *baseline]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), cwd=BUILD)
    tail = done.stdout[done.stdout.rfind("=== SUMMARY") :] if "=== SUMMARY" in done.stdout else done.stdout[-6000:]
    sys.stdout.write(
        f"--- conformance {PACKAGES['@modelcontextprotocol/conformance']}, {revision}\n{tail}\n{done.stderr[-2000:]}\n"
    )
    if done.returncode:
        sys.stdout.write("\n".join(re.findall(r".*(?:FAILURE|rror).*", done.stdout)[:40]) + "\n")
    failed = [name for name in re.findall(r"✗ ([\w-]+):", done.stdout) if not name.startswith("tasks-")]
    return done.returncode == 0 and not failed  # it says of some that they failed, and ends with 0


def inspected(target: list[str], folder: str) -> bool:
    """The inspector's own client, which nobody here wrote: it lists tools, and calls one."""
    inspector = [NODE, str(BUILD / "node_modules" / ".bin" / "mcp-inspector"), "--cli", *PATIENT, *target]
    listed = _said([*inspector, "--method", "tools/list"], folder)
    call = ["--method", "tools/call", "--tool-name", "memory_add", "--tool-arg", "text=Staging runs Postgres 16"]
    called = _said([*inspector, *call], folder)
    good = listed.count('"inputSchema"') == 8 and "added" in called
    sys.stdout.write(
        f"--- inspector, {target[0]}: {'listed 8 tools and called one' if good else listed[-800:] + called[-800:]}\n"
    )
    return good


def _said(words: list[str], folder: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), cwd=folder, timeout=120)
    return done.stdout + done.stderr


def main() -> int:
    node.installed(BUILD, PACKAGES)
    good: list[bool] = []
    with tempfile.TemporaryDirectory() as folder:
        fixtures = [sys.executable, str(HERE / "fixtures.py"), str(Path(folder) / "fixtures.db")]
        with started(fixtures, folder) as url:
            good += [judged(revision, url) for revision in REVISIONS]
        good.append(inspected([sys.executable, "-m", "memorist", "mcp", "--db", str(Path(folder) / "own.db")], folder))
        serve = [
            sys.executable,
            "-m",
            "memorist",
            "serve",
            "--db",
            str(Path(folder) / "served.db"),
            "--port",
            "0",
            "--json",
        ]
        with started(serve, folder) as line:
            good.append(inspected([f"{json.loads(line)['url']}/mcp", "--transport", "http"], folder))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
