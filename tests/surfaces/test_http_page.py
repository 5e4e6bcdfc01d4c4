"""docs/http.md: its lines work in the order in which they stand there, and its tables are those of the program."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from memorist.commands import SESSION_PARTS, VERBS
from memorist.surfaces import wire

from .serving import process
from .test_documents import Place, console_blocks, says

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("curl") is None, reason="the lines are curl's")
def test_the_lines_of_the_page_work(tmp_path: Path) -> None:
    place = Place(tmp_path, f"{sys.executable} -m memorist")
    with process(tmp_path, tmp_path / "memory.db", "--project", "atlas") as server:
        for block in console_blocks(PAGE):
            for line, answer in block:
                said = place.run("sh", "-c", line.replace("localhost:8765", f"localhost:{server.client.port}"))
                for shown in answer:
                    assert says(said, shown), f"$ {line}\nthe page says: {shown}\nit said:\n{said[:2000]}"


def test_the_tables_are_those_of_the_program() -> None:
    routes = dict(re.findall(r"^\| `([\w]+)` \| `((?:GET|POST|PATCH|DELETE) [^`]+)` \|$", PAGE, re.M))
    parts = {name.partition(".")[2]: verb.http for name, verb in SESSION_PARTS.items()}
    verbs = {name: verb.http for name, verb in VERBS.items() if verb.http}
    assert routes == {**verbs, **parts}
    codes = {code: int(status) for status, code in re.findall(r"^\| (\d{3}) \| `(\w+)` \|", PAGE, re.M)}
    assert codes == {**wire.STATUS, **{code: door.status for code, door in wire.DOORS.items()}, "fault": 500}


def test_the_numbers_of_the_page_are_those_of_the_program() -> None:
    from memorist.surfaces.cli.serve import PORT
    from memorist.surfaces.http.guard import ServerLimits
    from memorist.surfaces.http.verbs import REMEMBERED_ANSWERS

    limits = ServerLimits()
    assert (limits.size >> 20, limits.seconds, limits.depth, limits.waiting) == (16, 30, 100, 64)
    assert (limits.least_free >> 20, limits.import_size >> 20, PORT, REMEMBERED_ANSWERS) == (64, 256, 8765, 1000)
