"""`memorist model`: which models there are and cost what, using one that works, adding one's own, and taking it back."""

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import bert_graph
from chat_server import Says, serving
from memorist import Memory
from memorist.errors import Invalid
from memorist.models.added import AddedModels, tried
from memorist.models.convert import convert
from memorist.models.embed import BUILT_IN
from memorist.surfaces import settings
from memorist.testing import ScriptedChat
from surfaces.conftest import Cli


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return bert_graph.write_model(bert_graph.seeded(), tmp_path / "Toy Model v1.5")


@pytest.fixture
def graph(weights: Path, tmp_path: Path) -> Path:
    return convert(weights, tmp_path / "ready")


@pytest.fixture
def judge(tmp_path: Path) -> Path:
    return bert_graph.write_model(bert_graph.seeded(judges=True), tmp_path / "judge")


def models(cli: Cli) -> dict[str, Any]:
    return {each["name"]: each for each in cli.inside("model", "list", "--json").json["models"]}


def said(cli: Cli, *arguments: str) -> str:
    done = cli.inside("model", *arguments)
    assert done.code == 0, done.err
    return " ".join(done.out.split())


def config() -> dict[str, Any]:
    file = settings.user_file()
    return tomllib.loads(file.read_text()) if file and file.exists() else {}


def kept() -> Path:
    found = settings.models_folder()
    assert found is not None
    return found


# ---------------------------------------------------------------- which there are


def test_the_list_has_every_built_in_model_and_says_which_is_used_and_what_the_store_has(cli: Cli) -> None:
    cli.inside("remember", "The heron nests near the weir")
    found = cli.inside("model", "list", "--json").json
    assert [each["name"] for each in found["models"]] == list(BUILT_IN)
    assert {name: each["used_for"] for name, each in models(cli).items() if each["used_for"]} == {
        "layered": ["memories"],
        "static": ["turns"],
    }
    assert models(cli)["static"]["bytes"] > 1_000_000 > models(cli)["none"]["bytes"] == 0
    assert "bytes a vector" in models(cli)["static:64"]["costs"]
    assert found["store"]["rows_waiting"] == 0 and "(current: memory)" in found["store"]["vectors"]
    assert "rows waiting: 0" in said(cli, "list")
    on_paper = cli("model", "list")
    assert on_paper.code == 0 and "memories\tlayered\t" in on_paper.out and "\nturns\tstatic\t" in on_paper.out


def test_what_is_set_and_has_no_name_is_listed_too(cli: Cli, graph: Path, tmp_path: Path) -> None:
    settings.set_setting("embed", f"onnx:{graph}")
    assert models(cli)[f"onnx:{graph}"]["used_for"] == ["memories", "turns"]
    settings.set_setting("rerank", f"onnx:{tmp_path / 'gone'}")
    gone = models(cli)[f"onnx:{tmp_path / 'gone'}"]
    assert gone["used_for"] == ["second opinion"] and gone["costs"].startswith("cannot be used")


def test_a_new_store_has_no_vectors_yet_and_one_without_a_model_has_none(cli: Cli) -> None:
    assert "vectors: none yet" in said(cli, "list")
    settings.set_setting("embed", "none")
    assert said(cli, "list").endswith("vectors: none rows waiting: 0")


# ---------------------------------------------------------------- using one


def test_who_takes_a_model_back_is_told_that_the_store_does_not_follow_by_itself(cli: Cli) -> None:
    assert "upkeep" not in cli.inside("config", "set", "embed", "static").out, "there is no store yet"
    cli.inside("config", "unset", "embed")
    cli.inside("remember", "The heron nests near the weir")
    assert "`memorist upkeep` moves" in cli.inside("config", "set", "embed", "static:64").out
    cli.inside("upkeep")
    told = cli.inside("config", "unset", "embed").out
    assert "`memorist upkeep --switch` moves" in told and "`memorist upkeep` moves" not in told


def test_a_model_is_added_used_and_the_store_moves_to_it(cli: Cli, weights: Path) -> None:
    cli.inside("remember", "The heron nests near the weir")
    shown = said(cli, "add", str(weights))
    assert shown.startswith("toy-model-v1-5 is added: an embedder; converted into") and "24 numbers a text" in shown
    assert config() == {}, "adding a model uses none"
    shown = said(cli, "use", "toy-model-v1-5")
    assert config() == {"embed": f"onnx:{kept() / 'toy-model-v1-5'}"} and "it works: onnx:toy-model-v1-5@" in shown
    assert "`memorist upkeep` moves memory from layered-256@" in shown
    found = cli.inside("model", "list", "--json").json
    assert found["store"]["rows_waiting"] == 1 and models(cli)["toy-model-v1-5"]["used_for"] == ["memories", "turns"]
    cli.inside("upkeep")
    assert cli.inside("status", "--json").json["vectors"].startswith("onnx:toy-model-v1-5@")
    assert cli.inside("recall", "heron").out.count("heron") == 1
    shutil.rmtree(weights)
    assert said(cli, "use", "toy-model-v1-5").endswith("nothing has to be moved"), "the converted one stands by itself"


def test_nothing_is_set_that_does_not_work(cli: Cli, graph: Path) -> None:
    (graph / "vocab.txt").unlink()
    for name, code, because in [
        (f"onnx:{graph}", 2, "no vocab.txt"),
        ("onnx:/nowhere", 10, "holds no model.onnx"),
        ("http://127.0.0.1:1/v1/embeddings?model=toy", 10, "cannot be reached"),
        ("http://host/v1/embeddings?model=toy&key=sk-1", 2, "names the environment variable"),
        ("statik", 2, "did you mean 'static'"),
        ("minilm", 2, "`memorist model add FOLDER` adds one"),
    ]:
        done = cli.inside("model", "use", name)
        assert (done.code, because in " ".join(done.err.split())) == (code, True), done.err
    assert config() == {}


def test_built_in_ones_and_none_are_used_by_their_names(cli: Cli) -> None:
    assert "static-64@" in said(cli, "use", "static:64") and config() == {"embed": "static:64"}
    said(cli, "use", "none")
    assert config() == {"embed": "none"} and models(cli)["none"]["used_for"] == ["memories", "turns"]


def test_a_project_file_is_never_written_and_a_variable_that_wins_is_named(cli: Cli) -> None:
    local = cli.folder / ".memorist.toml"
    local.write_text("budget = 500\n")
    done = Cli(cli.folder, {**cli.environment, "MEMORIST_EMBED": "static:128"}).inside(
        "model", "use", "static:64", "--json"
    )
    assert local.read_text() == "budget = 500\n" and config() == {"embed": "static:64"}
    assert done.json["embed"] == "static:128" and "MEMORIST_EMBED names another model" in " ".join(done.err.split())


def test_a_cross_encoder_is_known_as_one_and_asked(cli: Cli, judge: Path) -> None:
    cli.inside("remember", "The heron nests near the weir")
    assert "a cross-encoder for a second opinion; converted into" in said(cli, "add", str(judge))
    assert said(cli, "use", "judge").endswith("it is asked from the next question on")
    assert config() == {"rerank": f"onnx:{kept() / 'judge'}"}
    assert models(cli)["judge"]["used_for"] == ["second opinion"]
    assert "1 were judged again" in cli.inside("explain", "heron").out
    assert "--turns" in cli.inside("model", "use", "judge", "--turns").err
    said(cli, "use", "none", "--rerank")
    assert config() == {"rerank": "none"} and models(cli)["none"]["used_for"] == []
    said(cli, "use", f"onnx:{kept() / 'judge'}", "--rerank")
    assert config()["rerank"].endswith("judge")


def test_an_embedder_is_no_second_opinion(cli: Cli, graph: Path) -> None:
    said(cli, "add", str(graph), "--name", "ours")
    assert cli.inside("model", "use", "ours", "--rerank").code == 2
    assert cli.inside("model", "use", f"onnx:{graph}", "--rerank").code == 10
    assert cli.inside("model", "use", "ours", "--rerank", "--turns").code == 2
    assert config() == {}


def test_turns_may_have_a_model_of_their_own(cli: Cli) -> None:
    said(cli, "use", "static:64", "--turns")
    assert config() == {"embed_turns": "static:64"} and models(cli)["static:64"]["used_for"] == ["turns"]


# ---------------------------------------------------------------- adding and removing


def test_a_graph_stays_where_it_is_and_a_name_is_given_once(cli: Cli, graph: Path, weights: Path) -> None:
    done = cli.inside("model", "add", str(graph), "--name", "ours", "--json").json
    assert done["spelled"] == f"onnx:{graph}" and done["converted"] is False and done["trial"]["dimension"] == 24
    assert not kept().exists()
    again = cli.inside("model", "add", str(weights), "--name", "ours")
    assert again.code == 2 and "there is a model ours already" in again.err and not kept().exists()
    assert f"its folder stays: {graph}" in said(cli, "remove", "ours")
    assert graph.exists() and list(models(cli)) == list(BUILT_IN)


def test_a_relative_folder_is_named_by_its_full_path(cli: Cli, graph: Path) -> None:
    shutil.copytree(graph, cli.folder / "near")
    assert cli.inside("model", "add", "near", "--json").json["spelled"] == f"onnx:{cli.folder / 'near'}"


def test_removing_takes_what_was_made_and_nothing_that_is_used(cli: Cli, weights: Path) -> None:
    said(cli, "add", str(weights), "--name", "ours")
    said(cli, "use", "ours")
    done = cli.inside("model", "remove", "ours")
    assert done.code == 2 and "is used for memories" in done.err and (kept() / "ours" / "model.onnx").exists()
    said(cli, "use", "static")
    said(cli, "remove", "ours")
    assert list(kept().iterdir()) == [] and weights.exists()
    again = cli.inside("model", "remove", "ours")
    assert again.code == 2 and "no model 'ours' was added" in again.err
    said(cli, "add", str(weights), "--name", "ours")


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "Ours", "-x", "x-", "a" * 65, "onnx:x", "nämlich", "a b", "\x1b[31m"]
)
def test_a_name_is_plain(name: str, cli: Cli, graph: Path) -> None:
    done = cli.inside("model", "add", str(graph), "--name", name)
    assert done.code == 2 and "the name of a model is of up to 64 small letters" in " ".join(done.err.split())
    assert "\x1b" not in done.err and list(models(cli)) == list(BUILT_IN)


def test_a_built_in_name_is_taken_and_a_nameless_folder_needs_one(cli: Cli, graph: Path) -> None:
    assert "none is built in" in cli.inside("model", "add", str(graph), "--name", "none").err
    shutil.copytree(graph, cli.folder / "模型")
    assert "choose one with --name" in " ".join(cli.inside("model", "add", "模型").err.split())


def test_what_cannot_be_used_is_not_added_and_leaves_nothing(cli: Cli, weights: Path, judge: Path, graph: Path) -> None:
    (weights / "config.json").write_text('{"model_type": "xlm-roberta"}')
    done = cli.inside("model", "add", str(weights))
    assert done.code == 2 and "of the architecture 'xlm-roberta'; bert and distilbert" in " ".join(done.err.split())
    (judge / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert "tells capitals" in cli.inside("model", "add", str(judge)).err
    (graph / "model.onnx").write_bytes(b"no graph")
    assert cli.inside("model", "add", str(graph)).code == 10
    assert cli.inside("model", "add", str(cli.folder / "nowhere")).code == 2
    assert list(models(cli)) == list(BUILT_IN) and (not kept().exists() or list(kept().iterdir()) == [])


def test_a_file_of_models_that_cannot_be_read_says_so(cli: Cli) -> None:
    file = settings.models_file()
    assert file is not None
    file.write_text("[embed]\nours = 3\n")
    done = cli.inside("model", "list")
    assert done.code == 2 and "must have the tables [embed] and [rerank]" in " ".join(done.err.split())
    assert cli.inside("remember", "The heron nests near the weir").code == 0, "nothing else reads it"


def test_names_survive_the_file_they_are_kept_in(tmp_path: Path, graph: Path) -> None:
    kept = AddedModels(tmp_path / "own" / "models.toml", tmp_path / "models")
    strange = shutil.copytree(graph, tmp_path / 'a "quoted" \\ ünusual folder')
    added = [kept.add(str(strange), name)[0] for name in ("all-minilm-l6-v2", "bge.small-en-v1.5", "0")]
    again = AddedModels(tmp_path / "own" / "models.toml", tmp_path / "models")
    assert list(again.all().values()) == added and {each.folder for each in added} == {strange}
    assert (tmp_path / "own" / "models.toml").stat().st_mode & 0o077 == 0
    again.remove("bge.small-en-v1.5")
    assert list(kept.all()) == ["all-minilm-l6-v2", "0"]


def test_a_trial_tells_what_was_used(graph: Path) -> None:
    found = tried("embed", f"onnx:{graph}")
    assert found is not None and found.dimension == 24 and found.milliseconds > 0
    assert tried("embed", "none") is None is tried("rerank", "none")
    with pytest.raises(Invalid):
        tried("rerank", "static")


def test_a_model_works_for_python_as_it_does_for_the_shell(weights: Path, tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embed=f"onnx:{convert(weights, tmp_path / 'made')}") as memory:
        memory.remember("The heron nests near the weir")
        memory.upkeep()
        assert memory.status()["vectors"].startswith("onnx:made@") and json.dumps(memory.status())


# ---------------------------------------------------------------- a model to talk to


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
