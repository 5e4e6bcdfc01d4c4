"""B10: a failure's signature and a tool's output are stored as what they say, and never as the repr of an object."""

from collections import namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pydantic
import pytest

from memorist import Memory
from memorist.errors import Invalid
from memorist.seeds import tiers
from memorist.seeds.items import ContextItem, Items

pytestmark = pytest.mark.covers("B10", "S0-8", "S0-12")


class Code(Enum):
    TIMEOUT = "timeout"


class Word(StrEnum):
    TIMEOUT = "timeout"


@dataclass
class Signature:
    """The founding document's own: `failure.code.value` is the tag, `failure.dict()` the payload."""

    code: Any
    stage: str = "deploy"
    seen: datetime = datetime(2026, 5, 4, 12, tzinfo=UTC)
    files: list[Path] = field(default_factory=lambda: [Path("src/deploy.py")])


class Pydantic2:
    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        return dict(self._fields)


class Pydantic1:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


class Plain:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields, _hidden=object())


FIELDS = {"code": Code.TIMEOUT, "stage": "deploy", "seen": datetime(2026, 5, 4, 12, tzinfo=UTC)}
PLAIN = {"code": "timeout", "stage": "deploy", "seen": "2026-05-04T12:00:00+00:00"}


@pytest.mark.parametrize("code", [Code.TIMEOUT, Word.TIMEOUT, "timeout"])
def test_an_enum_is_its_value(memory: Memory, code: Any) -> None:
    failure = tiers(memory).add_failure(Signature(code), "Raise the timeout before a cold deploy")
    assert failure is not None and failure.tags == ("project", "failure", "timeout")
    assert failure.payload["failure"] == PLAIN | {"files": ["src/deploy.py"]}
    assert failure.payload["lesson"] == "Raise the timeout before a cold deploy" and failure.importance == 0.85
    assert tiers(memory).query_failures("timeout") == [failure]


@pytest.mark.parametrize("made", [Pydantic2, Pydantic1, Plain, dict])
def test_a_signature_of_any_make_is_a_dict_of_its_fields(memory: Memory, made: Any) -> None:
    failure = tiers(memory).add_failure(made(**FIELDS), "Raise the timeout")
    assert failure is not None and failure.payload == {"failure": PLAIN, "lesson": "Raise the timeout"}
    assert failure.tags == ("project", "failure", "timeout")


def test_a_real_pydantic_signature(memory: Memory) -> None:
    model = pydantic.create_model("FailureSignature", code=(Code, ...), stage=(str, "deploy"))
    failure = tiers(memory).add_failure(model(code="timeout"), "Raise the timeout")
    assert failure is not None and failure.payload["failure"] == {"code": "timeout", "stage": "deploy"}


def test_a_signature_that_is_a_text(memory: Memory) -> None:
    three = tiers(memory)
    short, long = three.add_failure("E404", "look again"), three.add_failure("Traceback: " + "x" * 999, "read it")
    assert short is not None and short.tags == ("project", "failure", "E404") and short.payload["failure"] == "E404"
    assert long is not None and long.tags == ("project", "failure") and len(long.payload["failure"]) == 1010


Point = namedtuple("Point", "x y")
OUTPUTS = {
    "dataclass": (Signature(Code.TIMEOUT), PLAIN | {"files": ["src/deploy.py"]}),
    "path": (Path("src/deploy.py"), "src/deploy.py"),
    "time": (datetime(2026, 5, 4, 12, tzinfo=UTC), "2026-05-04T12:00:00+00:00"),
    "time without a zone": (datetime(2026, 5, 4, 12), "2026-05-04T12:00:00"),
    "day": (date(2026, 5, 4), "2026-05-04"),
    "duration": (timedelta(seconds=90), "0:01:30"),
    "bytes": ("naïve".encode(), "naïve"),
    "other bytes": (b"\xff\xfe\x00", {"base64": "//4A"}),
    "bytes with NUL": (b"a\x00b", {"base64": "YQBi"}),
    "set": ({3, 1, 2}, [1, 2, 3]),
    "tuple": ((1, (2, 3)), [1, [2, 3]]),
    "named tuple": (Point(1, 2), {"x": 1, "y": 2}),
    "keys": ({1: "a", Code.TIMEOUT: Path("b")}, {"1": "a", "timeout": "b"}),
    "decimal": (Decimal("1.10"), "1.10"),
    "uuid": (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "not a number": ([float("nan"), float("inf"), 2**70], ["nan", "inf", str(2**70)]),
    "error": (ValueError("no such port"), {"error": "ValueError", "message": "no such port"}),
    "nothing": (None, None),
    "no": (False, False),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_tools_output_is_what_it_says(memory: Memory, name: str) -> None:
    given, wanted = OUTPUTS[name]
    task = tiers(memory).task("42")
    added = task.add_tool_output("tool", given)
    assert added is not None and added.payload == {"tool_id": "tool", "output": wanted}
    assert task.get(added.id) == added and "object at 0x" not in added.text
    again = task.add_tool_output("tool", given)
    assert again is not None and again.id == added.id and task.count() == 1


@pytest.mark.parametrize(
    ("memory", "length"), [("sqlite", 60_000), ("json", 80_000), ("ram", 200_000)], indirect=["memory"]
)
def test_a_long_output_is_kept_whole_and_found_by_its_middle(memory: Memory, length: int) -> None:
    lines = [f"{n:06}: nothing unusual in this line of the log" for n in range(length // 50)]
    lines[len(lines) // 2] = "the zeppelin lost its anchor here"
    output = "\n".join(lines)[: length - len(lines)]
    task = tiers(memory).task("42")
    added = task.add_tool_output("pytest", output, "verify")
    assert added is not None and added.payload == {"tool_id": "pytest", "output": output}
    assert task.get(added.id) == added and task.get_stage_outputs("verify") == [added]
    assert task.query({"tags": ["pytest"]}) == [added]

    def found(question: str) -> list[int]:
        return [hit.record.number for hit in memory.recall(question, scope="task/42", min_relevance=0.05)]

    assert found("where did the zeppelin lose its anchor?") and not found("where is the giraffe's hat?")


def test_an_item_of_its_own_id_may_be_long_and_may_change(memory: Memory) -> None:
    items = Items(memory, "task/1")
    for letter in "ab":
        given = {"text": "the build", "log": letter * 200_000}
        items.add(ContextItem(given, "x", metadata={"by": Code.TIMEOUT}))
        found = items.get("x")
        assert found is not None and found.payload == given and items.count() == 1
        assert found.metadata == {"by": "timeout"}


def test_a_secret_in_a_long_output_is_replaced_and_the_rest_is_whole(memory: Memory) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    added = tiers(memory).task("1").add_tool_output("env", {"lines": ["x" * 120_000, f"key {key} end"]})
    assert added is not None and key not in str(added.payload) and key not in added.text
    assert added.payload["output"]["lines"][0] == "x" * 120_000


def test_what_holds_itself_is_an_error_in_words(memory: Memory) -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(Invalid, match="holds itself"):
        tiers(memory).task("1").add_tool_output("t", ring)
