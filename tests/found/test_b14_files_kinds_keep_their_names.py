"""B14: `discovery` and `task_progress`, two of the nine categories of document 3, came back as `note` and `progress`."""

from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.files.transfer import export, import_files
from memorist.kinds import KINDS

pytestmark = pytest.mark.covers("B14", "S3-9")
NINE = "decision architecture pattern warning discovery error preference file_change task_progress".split()


def test_each_category_comes_back_under_its_name_from_every_verb(memory: Memory, tmp_path: Path) -> None:
    for kind in NINE:
        done = memory.remember(f"A thing of the kind {kind}", kind=kind)
        assert done.record is not None and done.record.kind == kind
        assert [record.kind for record in memory.list({"kind": kind})] == [kind]
        assert {hit.record.kind for hit in memory.recall("a thing of the kind", kinds=[kind])} == {kind}
    file = tmp_path / "all.jsonl"
    file.write_text("".join(export(memory)), encoding="utf-8")
    with Memory(":memory:", project="atlas") as other:
        assert import_files(other, [file]).outcomes == {"added": 9}
        assert [record.kind for record in other.list(order="-number")] == NINE
        user = other.through(replace(other.access, origin="user"))
        assert "task_progress" in "".join(export(user))


def test_they_live_and_weigh_as_the_document_says() -> None:
    told = {kind: (KINDS[kind].ttl_days, KINDS[kind].weight) for kind in ("discovery", "task_progress")}
    assert told == {"discovery": (21, 0.9), "task_progress": (14, 0.9)}


def test_a_question_that_speaks_of_discoveries_favours_them() -> None:
    with Memory(":memory:", project="atlas", design="curated") as memory:
        memory.remember("The cache is cold after a deploy", kind="discovery")
        [hit] = memory.recall("what did we discover about the cache? what was noticed?")
        assert hit.why["favoured"] == 1.5
