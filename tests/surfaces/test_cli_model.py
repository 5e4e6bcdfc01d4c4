"""`memorist model`: which models there are and what they cost, using one that works, and trying one to talk to."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from chat_server import Says, serving
from memorist import Memory
from memorist.models.embed import BUILT_IN
from memorist.surfaces import settings
from memorist.testing import ScriptedChat
from models.toy_graph import write_model
from surfaces.conftest import Cli


def models(cli: Cli) -> dict[str, Any]:
    return {each["name"]: each for each in cli.inside("model", "list", "--json").json["models"]}


def use(cli: Cli, *arguments: str) -> str:
    done = cli.inside("model", "use", *arguments)
    assert done.code == 0, done.err
    return " ".join(done.out.split())


def config() -> dict[str, Any]:
    file = settings.user_file()
    return tomllib.loads(file.read_text()) if file and file.exists() else {}


def test_the_list_has_every_model_and_shows_which_is_used_and_what_the_store_has(cli: Cli, tmp_path: Path) -> None:
    assert "vectors: none yet" in cli.inside("model", "list").out
    cli.inside("remember", "The heron nests near the weir")
    listed = cli.inside("model", "list", "--json").json
    assert [each["name"] for each in listed["models"]] == list(BUILT_IN)
    assert {name: each["used_for"] for name, each in models(cli).items() if each["used_for"]} == {
        "layered": ["meaning"]
    }
    assert models(cli)["static"]["bytes"] > 1_000_000 > models(cli)["none"]["bytes"] == 0
    assert listed["store"]["rows_waiting"] == 0 and "(current: memory)" in listed["store"]["vectors"]
    on_paper = cli("model", "list")
    assert on_paper.code == 0 and "meaning\tlayered\t" in on_paper.out
    settings.set_setting("rerank", f"onnx:{write_model(tmp_path / 'judge', size=1, joined=True)}")
    judge = models(cli)[f"onnx:{tmp_path / 'judge'}"]
    assert judge["used_for"] == ["second opinion"] and judge["bytes"] > 0


def test_a_model_is_used_and_the_store_moves_to_it(cli: Cli, tmp_path: Path) -> None:
    cli.inside("remember", "The heron nests near the weir")
    shown = use(cli, f"onnx:{write_model(tmp_path / 'toy')}")
    assert config() == {"embed": f"onnx:{tmp_path / 'toy'}"} and "it works: onnx:toy@" in shown
    assert "24 numbers a text" in shown and "`memorist upkeep` moves" in shown
    assert cli.inside("model", "list", "--json").json["store"]["rows_waiting"] == 1
    cli.inside("upkeep")
    assert cli.inside("status", "--json").json["vectors"].startswith("onnx:toy@")
    assert cli.inside("recall", "heron").out.count("heron") == 1
    back = cli.inside("config", "unset", "embed").out
    assert "`memorist upkeep --switch` moves" in back and "`memorist upkeep` moves" not in back


def test_nothing_is_set_that_does_not_work(cli: Cli, tmp_path: Path) -> None:
    toy = write_model(tmp_path / "toy")
    (toy / "tokenizer.json").unlink()
    for name, code, because in [
        (f"onnx:{toy}", 10, "cannot be opened"),
        ("onnx:/nowhere", 10, "holds no model.onnx"),
        ("http://127.0.0.1:1/v1/embeddings?model=toy", 10, "cannot be reached"),
        ("http://host/v1/embeddings?model=toy&key=sk-1", 2, "names the environment variable"),
        ("statik", 2, "did you mean 'static'"),
        ("minilm", 2, "onnx:FOLDER or the address of a server"),
    ]:
        done = cli.inside("model", "use", name)
        assert (done.code, because in " ".join(done.err.split())) == (code, True), done.err
    assert cli.inside("model", "use", f"onnx:{write_model(toy)}", "--rerank").code != 0, "it gives vectors"
    assert config() == {}


def test_a_project_file_is_never_written_and_a_variable_that_wins_is_named(cli: Cli) -> None:
    local = cli.folder / ".memorist.toml"
    local.write_text("budget = 500\n")
    done = Cli(cli.folder, {**cli.environment, "MEMORIST_EMBED": "layered"}).inside("model", "use", "static", "--json")
    assert local.read_text() == "budget = 500\n" and config() == {"embed": "static"}
    assert done.json["embed"] == "layered" and "MEMORIST_EMBED names another model" in " ".join(done.err.split())
    use(cli, "none")
    assert config() == {"embed": "none"} and models(cli)["none"]["used_for"] == ["meaning"]


def test_a_cross_encoder_is_asked_from_the_next_question_on(cli: Cli, tmp_path: Path) -> None:
    cli.inside("remember", "The heron nests near the weir")
    judge = write_model(tmp_path / "judge", size=1, joined=True)
    assert use(cli, f"onnx:{judge}", "--rerank").endswith("it is asked from the next question on")
    assert config() == {"rerank": f"onnx:{judge}"}
    assert "1 were judged again" in cli.inside("explain", "heron").out
    use(cli, "none", "--rerank")
    assert config() == {"rerank": "none"}


def test_a_chat_model_is_listed_where_one_is_set_and_try_says_what_came_of_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_KEY", "secret-0123456789")
    assert all(each["for"] != "chat" for each in models(cli).values())
    none = cli.inside("model", "try")
    assert none.code == 2 and "memorist config set chat" in " ".join(none.err.split())
    with serving(Says(status=400), Says({"word": "heron"}), Says(status=401)) as server:
        settings.set_setting("chat", f"{server.address}&key=CHAT_KEY")
        [row] = [each for each in models(cli).values() if each["for"] == "chat"]
        assert row["used_for"] == ["judging, extraction, summaries"] and "secret" not in json.dumps(row)
        tried_ = cli.inside("model", "try", "--json").json
        assert (tried_["outcome"], tried_["way"], tried_["answer"]) == ("ran", "json_object", "heron")
        failed = cli.inside("model", "try")
        assert failed.code == 10 and "refused" in failed.err and "CHAT_KEY" in failed.err
        assert "secret-0123456789" not in failed.err + failed.out + str(tried_)
        assert server.keys == ["Bearer secret-0123456789"] * 3
    assert "it works" not in cli.inside("model", "try", server.address).out
    assert "chat: small@http://127.0.0.1" in cli.inside("status").out


def test_status_tells_which_model_and_what_part_failed(cli: Cli, tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", chat=ScriptedChat("garbage")) as memory:
        memory.extract(
            "We talked for a while about the new greenhouse and the price of glass. " * 4, session="s", role="user"
        )
    done = cli.inside("status", "--db", str(tmp_path / "memory.db"))
    assert "100% of 1 uses" in done.out and "extraction unparseable" in done.out and "chat: none" in done.out
