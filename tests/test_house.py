"""The house keeps its shape: imports point one way, names explain themselves, nothing grows without being seen."""

import ast
import re
from pathlib import Path

import pytest

from memorist.surfaces.settings import user_file

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "memorist"
FILES = sorted(SRC.rglob("*.py"))

# Each floor may import from its own and from those above it in this list. On a floor of several, see APART.
FLOORS = [
    {"records", "scopes", "kinds", "errors", "access", "project"},
    {"text", "worth", "redact"},
    {"store", "models"},
    {"bus", "checks", "design"},
    {"remember", "recall", "prompt"},
    {"session"},
    {"upkeep"},
    {"designs"},
    {"opening"},
    {"opened"},
    {"injecting"},
    {"keeping"},
    {"judging"},
    {"memory"},
    {"seeds", "aio", "client", "files", "commands", "surfaces", "bench", "testing", "__main__", "__init__"},
]
APART = {"remember", "recall", "prompt"}
# `Memory()` must see the store that the command line sees, so opening asks the settings (docs/why/0003-opening.md).
EXCEPTIONS = {("opening", "surfaces"), ("design", "recall")}
FORBIDDEN = re.compile(r"(Manager|Service|Factory|\butils?\b|\bhelpers?\b)")


def room(path: Path) -> str:
    first = path.relative_to(SRC).parts[0]
    return first.removesuffix(".py")


def floor(name: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if name in rooms)


def imported_rooms(tree: ast.AST) -> set[str]:
    rooms = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "memorist":
            parts = node.module.split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("memorist.")}
    return {name for name in rooms if any(name in rooms_of for rooms_of in FLOORS)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_imports_point_one_way(path: Path) -> None:
    here = room(path)
    if here == "__init__":
        return
    for there in imported_rooms(ast.parse(path.read_text(encoding="utf-8"))) - {here}:
        if (here, there) in EXCEPTIONS:
            continue
        assert floor(there) <= floor(here), f"{here} must not import {there}"
        assert not {here, there} <= APART, f"{here} and {there} do not import one another"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_names_explain_themselves(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [path.stem] + [n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    assert not [name for name in names if FORBIDDEN.search(name)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 700, "split it by idea"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or 0) - node.lineno + 1
            assert size <= 40, f"{node.name} has {size} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_only_the_writer_writes() -> None:
    """No one but `store/writer.py` calls what changes a store (and the stores themselves)."""
    writing = {"write_links", "append", "count_up", "write_key_uses", "set_setting"}
    writing |= {"add_generation", "set_generation", "put_vectors", "drop_vectors"}
    for path in FILES:
        if room(path) in ("store", "testing", "surfaces"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in writing - {"append"}
            ):
                raise AssertionError(f"{path.name}:{node.lineno} calls {node.func.attr}")


def test_nothing_that_executes_data_is_used() -> None:
    """Promise Z14: no pickle, marshal, shelve, eval or exec anywhere."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                assert not {"pickle", "marshal", "shelve", "dill"} & set(modules), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}, path


def test_only_the_settings_read_the_environment() -> None:
    for path in FILES:
        if room(path) == "surfaces":  # the settings, and the terminal's own variables (NO_COLOR, EDITOR)
            continue
        assert not re.search(r"\bos\.(environ|getenv)", path.read_text(encoding="utf-8")), path


@pytest.mark.covers("W1-6")
def test_schema_steps_never_drop() -> None:
    for step in (SRC / "store" / "schema").glob("*.sql"):
        assert not re.search(r"\b(DROP|DELETE FROM|TRUNCATE)\b", step.read_text(encoding="utf-8"), re.I), step


PROMISED = """S0-3 S0-4 S1-16 S3-25 S3-26 S4-24 C0-6 C1-1 W0-7 W0-9 W1-2 W1-4 W1-5 W1-6 W1-8 W2-10 W3-11 W3-14 W4-1 W4-2 W4-9
W4-12 P1 P2 P6 P8 P9 P12 P13 P20 P21 Z8 Z9 Z17
S0-5 S1-1 S1-2 S1-3 S1-4 S1-5 S1-6 S1-7 S1-8 S1-9 S1-10 S1-11 S1-12 S1-13 S1-14 S1-15 S1-18 S1-20 S1-21 S3-5 S3-11 C1-6 N1-13
W1-1 W1-3 W1-10 P5 P10 P11 G1 G4
C4-1 C4-2 N4-8 W2-7 W2-8 W4-5
S3-4 S3-7 S3-19 S3-20 S3-21 S3-29 S3-30 C3-5 C3-8 S0-10 S0-13 S0-16 S0-22 S0-23 W0-4 W3-2 W3-4 W3-5 W3-7 W3-9 X4 X5 X6
S3-1 S3-2 S3-6 S3-8 S3-9 S3-12 S3-13 S3-14 S3-23 S3-28 S3-33 C3-1 C3-2 C3-3 C3-7 W3-1 W3-13 W3-15 X2 X7 X8 S4-9 S4-10 W4-6
S0-17 S0-18 S0-19 S0-20 S0-24 N0-1 N0-3 N0-4 C0-1 C0-2 S3-16 S3-17 S3-18 C3-4 W0-1 W0-2 W0-3 W0-6 W3-3 W3-8 X3 X9 X21 Z1 Z2
S0-14 S0-15 W0-5 X18 S3-15 S3-31 W3-12 P7 P16
S0-1 S0-2 S0-6 S0-7 S0-8 S0-9 S0-11 S0-12 S0-21 S0-25 N0-2 N0-6 N0-7 W0-8 W0-10
N0-5 N0-6 N0-8 C0-3 C0-4 C0-5 S3-24 S3-32 C3-6 C3-9 W3-6 Z3 Z4 Z5"""


def test_every_number_that_is_promised_is_named_by_a_test() -> None:
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py") if path.name != "test_house.py"
    )
    named = set(re.findall(r"\"([A-Z]\d+(?:-\d+)?)\"", tests))
    assert [number for number in PROMISED.split() if number not in named] == []


@pytest.fixture(scope="module")
def settings_of_a_whole_file() -> Path | None:
    return user_file()


def test_no_test_sees_the_settings_of_whoever_runs_it(
    settings_of_a_whole_file: Path | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nor does a fixture that is made before any test: what the developer switched off would be off in it."""
    for file in (settings_of_a_whole_file, user_file()):
        assert file is not None and file.is_relative_to(tmp_path_factory.getbasetemp()), file
