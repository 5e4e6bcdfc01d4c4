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
lazy strict_json unseen noun records kinds errors access project fork
text worth redact folder
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
    "root": 5_300,
    "text": 3_000,
    "redact": 1_300,
    "models": 3_100,
    "store": 10_000,
    "remember": 7_700,
    "recall": 3_700,
    "prompt": 1_400,
    "session": 3_300,
    "upkeep": 3_100,
    "designs and seeds": 2_700,
    "files": 7_000,
    "command line": 4_900,
    "coding agents": 3_300,
    "http": 3_500,
    "mcp": 2_400,
    "settings, client, async, verb table": 2_600,
    "testing": 1_500,
}
MOST_LINES_OF_TESTS = 99_000
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

EVERYWHERE = 3  # a constant of one name in more modules than this says too little


def test_a_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(SRC)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_a_constant_says_of_what() -> None:
    homes: dict[str, set[str]] = {}
    for path in FILES:
        for node in parsed(path).body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for name in (part.id for part in ast.walk(target) if isinstance(part, ast.Name)):
                        if name.isupper() and len(name) > 1 and not name.startswith("_"):
                            homes.setdefault(name, set()).add(str(path.relative_to(SRC)))
    assert {name: places for name, places in homes.items() if len(places) > EVERYWHERE} == {}


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


@pytest.mark.covers("W1-6")
def test_schema_steps_never_drop() -> None:
    for step in (SRC / "store" / "sqlite" / "schema").glob("*.sql"):
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
S2-5 S2-14 N2-9 C2-1 W2-4 W2-5 W2-6 P15 P17 P18
N0-5 N0-6 N0-8 C0-3 C0-4 C0-5 S3-24 S3-32 C3-6 C3-9 W3-6 Z3 Z4 Z5
S2-1 S2-2 S2-3 S2-4 S2-6 S2-7 S2-8 S2-9 S2-10 S2-11 S2-12 S2-13 S2-15 S2-16 S2-17 S2-18 S2-19 S2-20 S2-21 S2-22 S2-23
N2-1 N2-2 N2-3 N2-4 N2-5 N2-6 N2-7 N2-8 C2-2 C2-3 C2-4 C2-5 C2-6 W2-1 W2-2 W2-3 W2-9 W2-11 S1-17 W1-7 W1-11 P14
N1-1 N1-2 N1-3 N1-4 N1-5 N1-6 N1-7 N1-8 N1-9 N1-10 N1-11 N1-12 C1-4 S3-3 S3-10 S3-22 S3-27 X13 X22 S4-23 G5 G7 Z15
S4-1 S4-2 S4-3 S4-4 S4-5 S4-6 S4-7 S4-8 S4-11 S4-12 S4-13 S4-14 S4-15 S4-16 S4-17 S4-18 S4-19 S4-20 S4-21 S4-22 S4-25
N4-1 N4-2 N4-3 N4-4 N4-5 N4-6 N4-7 N4-9 N4-10 C4-3 C4-4 C4-5 C4-6 C4-7 C4-8 C4-9 W4-3 W4-4 W4-7 W4-8 W4-10 W4-11"""


def test_every_number_that_is_promised_is_named_by_a_test() -> None:
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py") if path.name != "test_house.py"
    )
    named = set(re.findall(r"\"([A-Z]\d+(?:-\d+)?)\"", tests))
    assert [number for number in PROMISED.split() if number not in named] == []


def test_every_number_that_a_test_names_is_explained() -> None:
    explained = re.findall(r"^- \*\*([A-Z]\d+(?:-\d+)?)\*\* ", (ROOT / "docs" / "numbers.md").read_text("utf-8"), re.M)
    named = set(PROMISED.split())
    for path in (ROOT / "tests").rglob("test_*.py"):
        for numbers in re.findall(r"mark\.covers\(([^)]*)\)", path.read_text(encoding="utf-8")):
            named |= set(re.findall(r'"([A-Z]\d+(?:-\d+)?)"', numbers))
    assert sorted(named - set(explained)) == [] and len(explained) == len(set(explained))


@pytest.fixture(scope="module")
def settings_of_a_whole_file() -> Path | None:
    return user_file()


def test_no_test_sees_the_settings_of_whoever_runs_it(
    settings_of_a_whole_file: Path | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nor does a fixture that is made before any test: what the developer switched off would be off in it."""
    for file in (settings_of_a_whole_file, user_file()):
        assert file is not None and file.is_relative_to(tmp_path_factory.getbasetemp()), file
