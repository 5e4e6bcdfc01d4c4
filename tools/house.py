"""The house in numbers: lines per room, modules, single importers, the members of the store's protocol, and traced verbs.

    python tools/house.py [CHECKOUT]

`tests/test_house.py` holds the limits.
"""

import ast
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
Function = ast.FunctionDef | ast.AsyncFunctionDef

# A room is a folder, or a few places that are one; what is nowhere else belongs to the next larger one.
ROOMS = {
    "designs": "designs and seeds",
    "seeds": "designs and seeds",
    "surfaces/cli": "command line",
    "surfaces/agents": "coding agents",
    "surfaces/http": "http",
    "surfaces/mcp": "mcp",
    **dict.fromkeys(("surfaces", "client.py", "aio.py", "commands.py"), "settings, client, async, verb table"),
    **{name: name for name in ("text", "redact", "models", "store", "remember", "recall", "prompt")},
    **{name: name for name in ("session", "upkeep", "files", "testing")},
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(source: Path) -> list[Path]:
    return sorted(source.rglob("*.py"))


def room(path: Path, source: Path) -> str:
    """The folder or the module at the top of the package that a file belongs to."""
    return path.relative_to(source).parts[0].removesuffix(".py")


def lines_in(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def importers(source: Path) -> Counter[str]:
    """For each module the number of other modules that import it or from it."""
    names = {_dotted(path, source) for path in modules(source)}
    count: Counter[str] = Counter(dict.fromkeys(names, 0))
    for path in modules(source):
        here = _dotted(path, source)
        count.update(found for found in _imported(path) & names if found != here)
    return count


def _dotted(path: Path, source: Path) -> str:
    return ".".join(path.relative_to(source.parent).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def protocol_members(source: Path) -> int:
    """Methods, properties and attributes of the protocols that a store keeps."""
    members = 0
    for node in ast.walk(parsed(source / "store" / "protocol.py")):
        if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases):
            members += sum(isinstance(part, Function | ast.AnnAssign) for part in node.body)
    return members


def sizes(source: Path) -> dict[str, int]:
    """The lines of each room; a module at the top of the package that is in none belongs to the root."""
    found: Counter[str] = Counter()
    for path in modules(source):
        parts = path.relative_to(source).parts
        found[ROOMS.get("/".join(parts[:2])) or ROOMS.get(parts[0], "root")] += lines_in(path)
    return dict(found)


def figures(source: Path) -> dict[str, int]:
    """The table, line by line."""
    rooms = sizes(source)
    return {
        "lines": sum(rooms.values()),
        **{f"lines of {name}": count for name, count in sorted(rooms.items(), key=lambda item: -item[1])},
        "modules": len(modules(source)),
        "modules with exactly one importer": sum(count == 1 for count in importers(source).values()),
        "members of the store's protocol": protocol_members(source),
    }


def trace(checkout: Path) -> str:
    """What `trace_verbs` says, with the package of that checkout."""
    own = checkout / ".venv" / "bin" / "python"
    command = [str(own) if own.exists() else sys.executable, str(ROOT / "tools" / "trace_verbs.py")]
    env = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def main() -> None:
    checkout = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    for name, value in figures(checkout / "src" / "memorist").items():
        print(f"{name:<44} {value:>8,}")
    print(f"\n{trace(checkout)}", end="")


if __name__ == "__main__":
    main()
