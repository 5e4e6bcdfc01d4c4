"""The house in numbers: lines per room, modules, single importers, the store's protocol, long and branchy functions, verbs.

    python tools/house.py [CHECKOUT]

A function's branches are the ways through it, counted as McCabe did: one, and one more for each if, elif and ternary, loop,
`for` and `if` of a comprehension, except, with, case, lambda and further operand of `and` and `or`. What functions inside
a function count, it counts too. `tests/test_house.py` holds the limits.
"""

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST_MODULE, LONGEST_FUNCTION, MANY_BRANCHES = 700, 80, 10
ONE_MORE = (
    ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.comprehension, ast.ExceptHandler, ast.With, ast.AsyncWith,
    ast.match_case, ast.Lambda,
)  # fmt: skip
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(source: Path) -> list[Path]:
    return sorted(source.rglob("*.py"))


def room(path: Path, source: Path) -> str:
    """The folder or the module at the top of the package that a file belongs to."""
    return path.relative_to(source).parts[0].removesuffix(".py")


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(parsed(path)) if isinstance(node, Function))


def length(function: Function) -> int:
    return (function.end_lineno or 0) - function.lineno + 1


def branches(function: Function) -> int:
    found = 1
    for node in ast.walk(function):
        found += isinstance(node, ONE_MORE)
        if isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            found += len(node.ifs)
    return found


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


def figures(source: Path) -> dict[str, str]:
    """The table, line by line."""
    files = modules(source)
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in files}
    rooms: Counter[str] = Counter()
    for path, count in lines.items():
        rooms[room(path, source)] += count
    every = [function for path in files for function in functions(path)]
    ways = sorted((branches(function), function.name) for function in every)
    single = sum(count == 1 for count in importers(source).values())
    folders = {name: count for name, count in rooms.most_common() if (source / name).is_dir()}
    return {
        "lines": f"{sum(lines.values()):,}",
        **{f"lines in {name}/": f"{count:,}" for name, count in folders.items()},
        "lines in modules at the top": f"{sum(lines.values()) - sum(folders.values()):,}",
        "modules": str(len(files)),
        "modules with exactly one importer": str(single),
        f"modules over {LONGEST_MODULE} lines": str(sum(count > LONGEST_MODULE for count in lines.values())),
        "members of the store's protocol": str(protocol_members(source)),
        "functions": f"{len(every):,}",
        f"functions over {LONGEST_FUNCTION} lines": str(sum(length(function) > LONGEST_FUNCTION for function in every)),
        f"functions with more than {MANY_BRANCHES} branches": str(sum(count > MANY_BRANCHES for count, _ in ways)),
        "most branches": f"{ways[-1][0]} ({ways[-1][1]})",
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
        print(f"{name:<44} {value:>8}")
    print(f"\n{trace(checkout)}", end="")


if __name__ == "__main__":
    main()
