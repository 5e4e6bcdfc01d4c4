"""The one tool and the folder of the associative design, at a shell."""

import json
from pathlib import Path
from typing import Any

import pytest

from surfaces.conftest import Cli, Ended


def memory(cli: Cli, action: str, *options: str, **given: Any) -> Ended:
    return cli.inside("memory", json.dumps({"action": action, **given}), *options)


@pytest.mark.covers("S4-19", "C4-8")
def test_the_one_tool_is_a_command_that_is_not_shown(cli: Cli) -> None:
    assert memory(cli, "remember", content="Staging runs Postgres 16", tags=["db"]).out.startswith("added [id:1]: ")
    assert cli.inside("memory", stdin='{"action": "list", "tag": "db"}').out.startswith("[id:1] (fact, project/")
    [entry] = memory(cli, "recall", "--json", query="postgres").json["entries"]
    assert (entry["content"], entry["category"], entry["tags"]) == ("Staging runs Postgres 16", "fact", ["db"])
    assert memory(cli, "search", query="zebra").out.startswith("Nothing found: ")
    assert "  memory " not in cli.inside("--help").out
    assert "action" in cli.inside("memory", "--help").out


@pytest.mark.parametrize(
    ("call", "code", "said"),
    [
        ("{", 2, "the call is not JSON"),
        ("[]", 2, "an object with an action"),
        ('{"action": "dream"}', 2, "actions are remember, recall"),
        ('{"action": "forget", "id": 7}', 3, "no memory"),
        ('{"action": "search"}', 2, "search needs query"),
    ],
)
def test_a_call_that_cannot_be_done_says_why(cli: Cli, call: str, code: int, said: str) -> None:
    ended = cli.inside("memory", call)
    assert ended.code == code and said in ended.err


@pytest.mark.covers("S4-18", "S4-24")
def test_the_folder_of_the_design_is_an_export(cli: Cli, tmp_path: Path) -> None:
    cli.inside("remember", "Staging runs Postgres 16")
    target = tmp_path / "laid-out"
    done = cli.inside("export", str(target), "--layout", "associative")
    assert done.code == 0 and done.out.startswith("exported 1 memory to ") and "graph.json" in done.out
    assert json.loads((target / "graph.json").read_text(encoding="utf-8"))["nodes"]
    for options, said in (
        ((str(target), "--layout", "associative"), "is there already"),
        ((str(tmp_path / "x"), "--layout", "origami"), "layouts are associative"),
        (("--layout", "associative"), "name one that is not there yet"),
        ((str(tmp_path / "x"), "--layout", "associative", "--all"), "leave the other options out"),
    ):
        ended = cli.inside("export", *options)
        assert ended.code == 2 and said in ended.err
