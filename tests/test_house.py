"""The house keeps its shape: imports point one way, names explain themselves, and no room grows without being seen."""

import ast
import re
from pathlib import Path

import pytest

from memorist.surfaces.settings import user_file
from tools.house import lines_in, modules, parsed, protocol_members, room, sizes

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "memorist"
FILES = modules(SRC)

# Each floor is a line and may import from its own and from those above it. On a floor of several, see APART.
FLOORS = """
lazy strict_json unseen noun records kinds errors access project fork scoring
text redact folder
store models
checks design bus
remember recall prompt
session
upkeep
designs
setup
engine
conversation
association
memory
relay
seeds aio client files commands surfaces testing __main__ __init__
""".strip().splitlines()
APART = {"remember", "recall", "prompt"}
# `Memory()` must see the store that the command line sees, so what is opened is asked of the settings (docs/why/0003-opening.md).
# Erasing reaches the files that follow a store, through any door (docs/why/0043-files-follow-the-journal.md).
EXCEPTIONS = {("setup", "surfaces"), ("design", "recall"), ("engine", "files")}
GERUNDS = """opening opened keeping judging injecting asking arriving choosing deciding promoting resolving undoing using""".split()
FORBIDDEN = re.compile(r"(Manager|Service|Factory|\butils?\b|\bhelpers?\b)")


def floor(name: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if name in rooms.split())


def imported_rooms(tree: ast.AST) -> set[str]:
    rooms = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "memorist":
            parts = node.module.split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("memorist.")}
    return rooms & set(" ".join(FLOORS).split())


def test_imports_point_one_way() -> None:
    imports = {(room(path, SRC), there, path.name) for path in FILES for there in imported_rooms(parsed(path))}
    imports = {each for each in imports if each[0] not in ("__init__", each[1]) and each[:2] not in EXCEPTIONS}
    assert {each for each in imports if floor(each[1]) > floor(each[0])} == set(), "a floor imports one above it"
    assert {each for each in imports if set(each[:2]) <= APART} == set(), "these do not import one another"


def test_names_explain_themselves() -> None:
    named = {path.stem for path in FILES}
    assert not named & set(GERUNDS), "a module is called by a noun or a verb"
    for path in FILES:
        named |= {node.name for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert not [name for name in named if FORBIDDEN.search(name)]


# ---------------------------------------------------------------- size

# A ratchet: nothing grows above it, and what a change has made smaller it sets lower, rounded up to a hundred.
MOST_LINES = {
    "root": 5_400, "text": 2_800, "redact": 1_300, "models": 1_500, "store": 10_200, "remember": 7_200, "recall": 2_900,
    "prompt": 1_100, "session": 3_300, "upkeep": 3_100, "designs and seeds": 2_700, "files": 7_000, "command line": 4_800,
    "coding agents": 3_300, "http": 3_500, "mcp": 2_400, "settings, client, async, verb table": 2_600, "testing": 1_500,
}  # fmt: skip
MOST_LINES_OF_TESTS = 66_100
LONGEST_MODULE = 700


def test_no_room_grows() -> None:
    now = sizes(SRC)
    assert now.keys() == MOST_LINES.keys()
    assert {name: lines for name, lines in now.items() if lines > MOST_LINES[name]} == {}, "above their limits"


def test_the_tests_do_not_grow_either() -> None:
    assert sum(lines_in(path) for path in modules(ROOT / "tests")) <= MOST_LINES_OF_TESTS


def test_a_module_is_one_idea() -> None:
    assert [path.name for path in FILES if lines_in(path) > LONGEST_MODULE] == []


# ---------------------------------------------------------------- names


def test_a_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(SRC)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_every_module_says_what_it_is() -> None:
    assert [path.name for path in FILES if not ast.get_docstring(parsed(path))] == []


def test_only_the_writer_writes() -> None:
    """No one but `store/` makes a `Commit` or calls what changes a store."""
    writing = {"write", "erase", "log", "save_generation", "put_vectors", "drop_vectors"}
    for path in FILES:
        if room(path, SRC) in ("store", "testing"):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call):
                called, _, verb = ast.unparse(node.func).rpartition(".")
                assert verb != "Commit" and not (called.endswith("store") and verb in writing), (
                    f"{path.name}:{node.lineno} calls {ast.unparse(node.func)}"
                )


def test_nothing_outside_of_the_store_asks_which_one_it_is() -> None:
    """A backend is named in `store/open.py` and in the backends themselves; nothing general knows SQLite or JSON files."""
    backends = re.compile(r"memorist\.store\.(sqlite|json_file)|\bimport apsw\b|\b(Sqlite|JsonFile)Store\b")
    for path in FILES:
        inside = {"sqlite", "json_file"} & set(path.relative_to(SRC).parts)
        if not inside and path != SRC / "store" / "open.py":
            assert not backends.search(path.read_text(encoding="utf-8")), path


def test_the_protocol_of_stores_stays_small() -> None:
    assert protocol_members(SRC) <= 44  # two of them for walks over links (docs/why/0051-a-walk-over-links.md)


def test_only_the_writer_makes_a_clean_record() -> None:
    """`Clean` says that a record was redacted, so only `Writer.clean` says it."""
    for path in FILES:
        calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
        made = [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Clean"]
        assert len(made) == (path == SRC / "store" / "writer.py"), f"{path.name}: {made}"


def test_only_a_change_set_stamps_and_commits() -> None:
    """`remember/changes.py` alone makes journal lines and hands them to the writer."""
    for path in FILES:
        if room(path, SRC) not in ("remember", "upkeep") or path == SRC / "remember" / "changes.py":
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "Change", f"{path.name}:{node.lineno} makes a line of the journal"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "commit":
                assert "writer" not in ast.unparse(node.func.value), f"{path.name}:{node.lineno} commits by itself"


def test_nothing_that_executes_data_is_used() -> None:
    """Promise Z14: no pickle, marshal, shelve, eval or exec anywhere."""
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                assert not {"pickle", "marshal", "shelve", "dill"} & set(modules), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}, path


def test_only_the_settings_read_the_environment() -> None:
    for path in FILES:
        if room(path, SRC) in ("surfaces", "__main__"):  # settings, and variables of a terminal or a process
            continue
        assert not re.search(r"\bos\.(environ|getenv)", path.read_text(encoding="utf-8")), path


def test_every_number_is_named_by_a_test_and_explained() -> None:
    """What the founding documents ask for and what is promised beyond them, by its line in docs/numbers.md."""
    page = (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8")
    explained = re.findall(r"^- \*\*([A-Z]\d+(?:-\d+)?)\*\* ", page, re.M)
    named = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for numbers in re.findall(r"mark\.covers\(([^)]*)\)", path.read_text(encoding="utf-8")):
            named |= set(re.findall(r'"([A-Z]\d+(?:-\d+)?)"', numbers))
    assert sorted(explained) == sorted(named)


@pytest.fixture(scope="module")
def settings_of_a_whole_file() -> Path | None:
    return user_file()


def test_no_test_sees_the_settings_of_whoever_runs_it(
    settings_of_a_whole_file: Path | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nor does a fixture that is made before any test: what the developer switched off would be off in it."""
    for file in (settings_of_a_whole_file, user_file()):
        assert file is not None and file.is_relative_to(tmp_path_factory.getbasetemp()), file
