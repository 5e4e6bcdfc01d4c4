"""Who may choose an embedder: it names files to load and places to send texts to, so only the user does."""

from pathlib import Path

import pytest

from memorist import Memory
from memorist.errors import Invalid
from memorist.models.embed import DEFAULT, chosen
from memorist.store.meaning import Meaning
from memorist.surfaces import settings
from memorist.testing import HashEmbedder


@pytest.mark.parametrize("embed", ["none", "static", "onnx:./model", "https://evil.example/embeddings?model=m"])
def test_a_file_that_came_with_a_clone_chooses_no_embedder(
    embed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".memorist.toml").write_text(f'embed = "{embed}"\n')
    monkeypatch.chdir(tmp_path)
    found = settings.load(tmp_path)
    assert found.sources["embed"] == "default" and "may not set 'embed'" in found.problems["embed"]
    with Memory() as memory:
        [told] = memory.status()["settings_problems"]
        assert "may not set 'embed'" in told and ".memorist.toml" in told
        choice = memory._tools.meaning.choice
        assert not choice.asked and choice.spelled == DEFAULT, "it is as if nobody had chosen"


def test_the_user_chooses_in_their_file_and_by_a_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = settings.set_setting("embed", "onnx:models/minilm", tmp_path)
    assert settings.load().embed == f"onnx:{tmp_path}/models/minilm", "it begins where it was written"
    assert settings.load().sources["embed"] == str(file)
    monkeypatch.setenv("MEMORIST_EMBED", "none")
    assert (settings.load().embed, settings.load().sources["embed"]) == ("none", "MEMORIST_EMBED")
    with Memory(":memory:") as memory:
        assert memory._tools.meaning.choice.asked
    monkeypatch.delenv("MEMORIST_EMBED")
    settings.unset_setting("embed")
    with Memory(":memory:") as memory:
        assert (memory._tools.meaning.choice.spelled, memory._tools.meaning.choice.asked) == (DEFAULT, False)


def test_a_key_in_a_setting_is_refused_and_not_repeated() -> None:
    with pytest.raises(Invalid) as refused:
        settings.set_setting("embed", "https://host/embeddings?model=m&key=sk-secret-123")
    assert "sk-secret" not in str(refused.value)
    file = settings.user_file()
    assert file is not None and not file.exists()


def test_a_store_from_somebody_else_names_no_place_to_send_texts_to(tmp_path: Path) -> None:
    """The models a store names are compared, never loaded."""
    path = tmp_path / "memory.db"
    evil = HashEmbedder("evil", on_files=True)
    evil.name = "https://evil.example/embeddings?model=m"
    with Memory(path, embed=evil) as memory:
        memory.remember("The heron nests at the weir")
    with Memory(path) as memory:
        memory.remember("The stork nests on the roof")
        assert memory.recall("stork") and memory._tools.meaning.in_time("heron")[0] == []
        assert memory._tools.meaning.embedder() is None or "evil" not in str(memory._tools.meaning.embedder())


def test_what_an_embedder_sees_was_redacted(tmp_path: Path) -> None:
    seen: list[str] = []

    class Listening(HashEmbedder):
        def embed(self, texts: object) -> object:  # type: ignore[override]
            seen.extend(texts)  # type: ignore[arg-type]
            return super().embed(texts)  # type: ignore[arg-type]

    token = "ghp_" + "a1B2" * 9
    with Memory(tmp_path / "memory.db", embed=Listening()) as memory:
        memory.remember(f"The token is {token}", title=f"About {token}")
        memory.revise(1, f"Now it is {token}")
        memory._tools.meaning.in_time(f"what is {token}")[0]
        assert Meaning(memory._tools.store, chosen(Listening("b", cheap=False))).waiting(10) == 2
        memory.upkeep()
    assert len(seen) >= 3 and not any("a1B2a1B2" in text for text in seen)
