"""Settings: one precedence, nothing ignored in silence, nothing redirected by a clone, comments kept."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from memorist import Memory
from memorist.errors import Invalid
from memorist.surfaces import settings
from memorist.surfaces.settings import TUNING
from surfaces.conftest import all_hold


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and the place of the user's file, which does not exist yet."""
    for name in [name for name in os.environ if name.startswith(("MEMORIST_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMORIST_CONFIG", str(tmp_path / "own" / "config.toml"))
    return tmp_path / "own" / "config.toml"


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def repository(tmp_path: Path, text: str) -> Path:
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    write(tmp_path / "clone" / ".memorist.toml", text)
    return tmp_path / "clone"


# ---------------------------------------------------------------- where a value comes from


def test_defaults_need_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORIST_CONFIG")
    monkeypatch.setenv("LOGNAME", "ann")
    found = settings.load(tmp_path)
    assert (found.project, found.space, found.scope, found.design, found.budget) == (
        None,
        "default",
        None,
        "balanced",
        1500,
    )
    assert (found.actor, dict(found.kinds)) == ("ann", {})
    assert Path(found.db).is_relative_to(tmp_path / "home")
    assert Path(found.db).name == "memory.db"
    assert set(found.sources.values()) == {"default"}
    assert not list((tmp_path / "home").glob("**/*")), "reading settings makes no files"


@pytest.mark.covers("W4-1")
def test_environment_over_project_over_user_over_default(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(config, 'budget = 1\nspace = "team"\ndesign = "tiers"\nproject = "mine"\n')
    clone = repository(tmp_path, 'budget = 2\ndesign = "hebbian"\n')
    monkeypatch.setenv("MEMORIST_BUDGET", "3")
    found = settings.load(clone)
    assert (found.budget, found.design, found.space, found.actor) == (3, "hebbian", "team", settings.load().actor)
    assert dict(found.sources) == {
        "db": "default",
        "project": str(config),
        "space": str(config),
        "scope": "default",
        "design": str(clone / ".memorist.toml"),
        "embed": "default",
        "rerank": "default",
        "reader": "default",
        "chat": "default",
        "budget": "MEMORIST_BUDGET",
        "actor": "default",
        "kinds": "default",
        **dict.fromkeys(
            (*TUNING, "files_mode", "files_folder", "min_free", "hook_tokens", "hook_ms", "url"), "default"
        ),
    }
    assert settings.load().design == "tiers", "without a directory there is no project file"


def test_every_variable_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given_values = {
        "db": ":memory:",
        "project": "atlas",
        "space": "s",
        "scope": "user/ann",
        "design": "d",
        "actor": "a b",
    }
    for key, value in given_values.items():
        monkeypatch.setenv(f"MEMORIST_{key.upper()}", value)
    found = settings.load(tmp_path)
    assert {key: getattr(found, key) for key in given_values} == given_values
    assert all(found.sources[key] == f"MEMORIST_{key.upper()}" for key in given_values)


def test_an_empty_variable_is_none(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(config, "budget = 7")
    for key in ("DB", "BUDGET", "PROJECT", "OFF"):
        monkeypatch.setenv(f"MEMORIST_{key}", "")
    assert settings.load().budget == 7
    assert settings.load().sources["db"] == "default"
    assert settings.off_because() is None


def test_a_relative_store_begins_where_it_was_written(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(config, 'db = "a/me.db"')
    assert settings.load().db == str(config.parent / "a" / "me.db")
    write(config, 'db = "~/me.db"')
    assert settings.load().db == str(tmp_path / "home" / "me.db")
    write(config, 'db = "postgresql://host/x"')
    assert settings.load().db == "postgresql://host/x"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORIST_DB", "here.db")
    assert settings.load().db == str(tmp_path / "here.db")


def test_own_kinds_come_from_the_users_file(config: Path) -> None:
    write(config, "[kinds.recipe]\nimportance = 0.7\nhalf_life_days = 90\n[kinds.fact]\nweight = 2\n")
    kinds = settings.load().kinds
    assert (kinds["recipe"].importance, kinds["recipe"].half_life_days, kinds["fact"].weight) == (0.7, 90, 2)
    assert settings.get_setting("kinds") == "recipe, fact"


def test_a_user_without_a_name_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 54321")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert settings.load().actor == "unknown"
    monkeypatch.setattr("getpass.getuser", lambda: "a\nb")
    assert settings.load().actor == "unknown"


# ---------------------------------------------------------------- the project's own file


def test_the_project_file_is_the_nearest_and_never_above_the_repository(tmp_path: Path) -> None:
    write(tmp_path / ".memorist.toml", "budget = 1")
    clone = repository(tmp_path, "budget = 2")
    (clone / "src" / "deep").mkdir(parents=True)
    assert settings.load(clone / "src" / "deep").budget == 2
    write(clone / "src" / ".memorist.toml", "budget = 3")
    assert settings.load(clone / "src" / "deep").budget == 3
    (tmp_path / "other" / ".git").mkdir(parents=True)
    assert settings.load(tmp_path / "other").budget == 1500
    (tmp_path / "plain" / "sub").mkdir(parents=True)
    assert settings.load(tmp_path / "plain" / "sub").budget == 1500, "outside a repository only the folder's own counts"
    assert settings.load(tmp_path).budget == 1


def test_a_project_may_say_how_it_is_recalled(tmp_path: Path) -> None:
    clone = repository(tmp_path, 'scope = "task/42"\ndesign = "tiers"\nbudget = 9')
    found = settings.load(clone)
    assert (found.scope, found.design, found.budget) == ("task/42", "tiers", 9)


@pytest.mark.parametrize("scope", ["global", "project/victim", "user/ann", "session/monday", "agent/codex", "team/x"])
def test_a_cloned_project_may_name_no_place_outside_of_itself(scope: str, tmp_path: Path) -> None:
    clone = repository(tmp_path, f'scope = "{scope}"')
    with pytest.raises(Invalid, match=f"sends memories to '{scope}'.*may name only a task.*remove that line") as caught:
        all_hold(clone)
    assert str(clone / ".memorist.toml") in str(caught.value)
    assert settings.load(clone).scope is None


@pytest.mark.parametrize(
    "line",
    [
        'db = "/tmp/theirs.db"',
        'project = "victim"',
        'space = "x"',
        'actor = "root"',
        "off = true",
        "[kinds.fact]",
        'api_key = "x"',
        "[models]",
    ],
)
def test_a_cloned_project_may_not_redirect_anything(line: str, tmp_path: Path) -> None:
    clone = repository(tmp_path, line)
    key = line.strip("[]").split(" ")[0].split(".")[0]
    with pytest.raises(Invalid) as caught:
        all_hold(clone)
    assert all(part in str(caught.value) for part in (key, str(clone / ".memorist.toml"), "scope, design, budget"))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour = 3", "'colour'.*allowed there are db, project, space"),
        ("budget = 0", "budget must be a whole number"),
        ('budget = "many"', "budget must be a whole number"),
        ("budget = true", "budget must be a whole number"),
        ("budget = 1.5", "budget must be a whole number"),
        ("db = 3", "db must be the path"),
        ('db = ""', "db must be the path"),
        ('db = "a\\u0000b"', "db must be the path"),
        ("space = []", "space must be a short text"),
        ('space = "*"', "space must be a short text"),
        ('actor = "a\\nb"', "actor must be a short text"),
        ('project = "../x"', "scope 'project/../x'"),
        ("project = 3", "name must be text"),
        ('scope = "nowhere"', "scope 'nowhere' has no id"),
        ("scope = 3", "scope must be text"),
        ('off = "yes"', "off must be true or false"),
        ("kinds = 3", "kinds must be a table of tables"),
        ("[kinds]\nrecipe = 3", "kinds must be a table of tables"),
        ("[kinds.recipe]\nshelf = 3", "unknown key 'shelf'"),
        ("budget = 1\nspace =", "not valid TOML.*the end, line 2"),
        ("budget = 1\nspace = x\n", "not valid TOML.*line 2, column 9"),
        ("x = " + "[" * 5000, "not valid TOML"),
        ("#" * 70_000, "it cannot be a settings file"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_it(text: str, words: str, config: Path) -> None:
    write(config, text)
    with pytest.raises(Invalid, match=f"(?s){words}") as caught:
        all_hold()
    assert str(config) in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"), [("BUDGET", "many"), ("BUDGET", "-1"), ("SPACE", " x"), ("SCOPE", "x"), ("DB", " ")]
)
def test_a_wrong_variable_is_an_error_that_names_it(key: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"MEMORIST_{key}", value)
    with pytest.raises(Invalid, match=f"MEMORIST_{key}: "):
        all_hold()


def test_an_address_as_a_project_is_refused_without_repeating_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_PROJECT", "https://ann:hunter2@github.com/acme/atlas")
    with pytest.raises(Invalid, match="MEMORIST_PROJECT") as caught:
        all_hold()
    assert "hunter2" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_an_error(config: Path) -> None:
    config.mkdir(parents=True)
    with pytest.raises(Invalid, match="cannot be read"):
        all_hold()
    config.rmdir()
    config.write_bytes(b"actor = '\xff'")
    with pytest.raises(Invalid, match="cannot be read"):
        all_hold()


def test_a_byte_order_mark_is_no_error(config: Path) -> None:
    write(config, "\ufeffbudget = 5\r\n")
    assert settings.load().budget == 5


# ---------------------------------------------------------------- without a home


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    expanduser = Path.expanduser

    def no_home(path: Path) -> Path:
        if path.parts[:1] == ("~",):
            raise RuntimeError("could not determine the home directory")
        return expanduser(path)

    monkeypatch.setattr(Path, "expanduser", no_home)
    monkeypatch.delenv("MEMORIST_CONFIG")
    monkeypatch.setenv("HOME", "/nobody")
    settings._standard.cache_clear()


@pytest.mark.usefixtures("homeless")
def test_without_a_home_given_places_still_work(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings.load()
    assert found.space == "default"
    assert settings.off_because() is None
    with pytest.raises(Invalid, match="MEMORIST_DB"):
        _ = found.db
    with pytest.raises(Invalid, match="MEMORIST_CONFIG"):
        settings.switch(off=True)
    monkeypatch.setenv("MEMORIST_DB", "/data/me.db")
    monkeypatch.setenv("MEMORIST_CONFIG", str(config))
    settings.set_setting("budget", "5")
    assert (settings.load().db, settings.load().budget) == ("/data/me.db", 5)
    settings._standard.cache_clear()


# ---------------------------------------------------------------- off and on


@pytest.mark.covers("S4-24")
@pytest.mark.parametrize("word", ["1", "true", "YES", " on ", "please"])
def test_a_variable_switches_memory_off(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.off_because() is None
    monkeypatch.setenv("MEMORIST_OFF", word)
    assert "MEMORIST_OFF" in (settings.off_because() or "")
    assert settings.all_settings()["off"] == ("true", "MEMORIST_OFF")


@pytest.mark.parametrize("word", ["0", "false", "No", "off", " "])
def test_a_variable_that_says_no_leaves_the_file_its_say(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_OFF", word)
    assert settings.off_because() is None
    settings.switch(off=True)
    assert settings.off_because() is not None


@pytest.mark.covers("S4-24")
def test_the_switch_is_noticed_at_once_and_keeps_the_file(config: Path) -> None:
    write(config, "# mine\nbudget = 5 # tokens\nunknown = 1\n")
    assert settings.switch(off=True) == config
    assert f"{config} says off = true" in (settings.off_because() or "")
    assert "memorist on" in (settings.off_because() or "")
    assert config.read_text(encoding="utf-8") == "# mine\nbudget = 5 # tokens\nunknown = 1\noff = true\n"
    settings.switch(off=False)
    assert settings.off_because() is None
    write(config, "off = true")
    assert settings.off_because() is not None
    config.unlink()
    assert settings.off_because() is None


def test_switching_on_what_is_on_writes_nothing(config: Path) -> None:
    settings.switch(off=False)
    assert not config.exists()


@pytest.mark.covers("S4-24")
def test_the_switch_of_another_process_is_noticed(config: Path) -> None:
    program = "from memorist.surfaces import settings; settings.switch({})"
    for off in (True, False, True):
        subprocess.run([sys.executable, "-c", program.format(off)], check=True)
        assert (settings.off_because() is not None) is off


def test_asking_does_not_parse_again(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(config, "off = true")
    settings.off_because()
    monkeypatch.setattr(settings, "_parse", lambda *_: pytest.fail("parsed twice"))
    assert settings.off_because() is not None


def test_a_broken_file_does_not_count_as_on(config: Path) -> None:
    for text, words in (("off = tru", "not valid TOML"), ("off = 1", "off must be true or false")):
        write(config, text)
        assert words in (settings.off_because() or "")
        with Memory(":memory:") as memory:
            assert memory.remember("it may have been meant to be off").outcome == "refused"


# ---------------------------------------------------------------- writing


@pytest.mark.covers("S4-24")
def test_set_get_unset(config: Path) -> None:
    assert settings.set_setting("budget", " 900 ") == config
    assert (settings.get_setting("budget"), settings.load().budget) == ("900", 900)
    assert settings.all_settings()["budget"] == ("900", str(config))
    settings.set_setting("off", "yes")
    assert settings.get_setting("off") == "true"
    settings.unset_setting("budget")
    settings.unset_setting("project")
    assert config.read_text(encoding="utf-8") == "off = true\n"
    assert settings.get_setting("project") is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_file_and_its_folder_are_private(config: Path) -> None:
    settings.set_setting("budget", "900")
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert stat.S_IMODE(config.parent.stat().st_mode) == 0o700
    config.chmod(0o644)
    settings.set_setting("budget", "901")
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert [path.name for path in config.parent.iterdir()] == ["config.toml"]


def test_a_store_is_kept_with_its_full_path(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.set_setting("db", "me.db", tmp_path)
    assert tomllib.loads(config.read_text(encoding="utf-8")) == {"db": str(tmp_path / "me.db")}
    monkeypatch.chdir(tmp_path)
    settings.set_setting("db", "other.db")
    assert settings.get_setting("db") == str(tmp_path / "other.db")
    settings.set_setting("db", ":memory:")
    assert settings.load().db == ":memory:"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("colour", "x", "there is no setting 'colour'; settings are db, project"),
        ("budget", "many", "budget must be"),
        ("budget", "9" * 5000, "budget must be"),
        ("budget", "٣", "budget must be"),
        ("off", "maybe", "off must be"),
        ("scope", "x", "has no id"),
        ("space", "a\nb", "space must be"),
        ("kinds", "x", r"edit \[kinds.NAME\] in"),
    ],
)
def test_a_wrong_value_is_not_written(key: str, value: str, words: str, config: Path) -> None:
    with pytest.raises(Invalid, match=words):
        settings.set_setting(key, value)
    assert not config.exists()


def test_unknown_and_table_keys_cannot_be_unset() -> None:
    for key in ("colour", "kinds"):
        with pytest.raises(Invalid):
            settings.unset_setting(key)
    with pytest.raises(Invalid, match="there is no setting"):
        settings.get_setting("colour")


LONG = """# my settings

# where it lies
"db" = '/data/me.db'   # a fast disk
  budget=1_500# tokens
future = [1,
  2]

# my kinds
[kinds.recipe]
# tasty
importance = 0.7
budget = 3
[later.table]
x = "y"
"""


def test_an_edit_changes_one_line_and_nothing_else(config: Path) -> None:
    write(config, LONG)
    settings.set_setting("budget", "20")
    settings.set_setting("db", '/da"ta\\me.db')
    wanted = LONG.replace("1_500", "20").replace("'/data/me.db'", r'"/da\"ta\\me.db"')
    assert config.read_text(encoding="utf-8") == wanted


def test_a_new_key_goes_before_the_tables(config: Path) -> None:
    write(config, "# mine\nbudget = 1\n\n# kinds\n[kinds.recipe]\nweight = 1\n")
    settings.set_setting("space", "team")
    assert config.read_text(encoding="utf-8").startswith(
        '# mine\nbudget = 1\nspace = "team"\n\n# kinds\n[kinds.recipe]'
    )
    write(config, "[kinds.recipe]\nweight = 1\n")
    settings.set_setting("space", "team")
    assert config.read_text(encoding="utf-8") == 'space = "team"\n[kinds.recipe]\nweight = 1\n'


@pytest.mark.parametrize("text", ['db = """\n/x"""\n', 'actor = """\ndb = "x"\n"""\n', "db.x = 1\n"])
def test_what_cannot_be_edited_by_lines_is_left_alone(text: str, config: Path) -> None:
    write(config, text)
    with pytest.raises(Invalid, match="by hand"):
        settings.set_setting("db", "/data/me.db")
    assert config.read_text(encoding="utf-8") == text


def test_a_broken_file_is_not_overwritten(config: Path) -> None:
    write(config, "budget = = 1")
    with pytest.raises(Invalid, match="not valid TOML"):
        settings.set_setting("budget", "5")
    assert config.read_text(encoding="utf-8") == "budget = = 1"


def test_a_link_to_dotfiles_stays_a_link(config: Path, tmp_path: Path) -> None:
    real = write(tmp_path / "dotfiles" / "memorist.toml", "# kept\n")
    config.parent.mkdir()
    config.symlink_to(real)
    settings.set_setting("budget", "5")
    assert config.is_symlink()
    assert real.read_text(encoding="utf-8") == "budget = 5\n# kept\n"


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_no_settings_at_all_is_a_place_that_is_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_CONFIG", "/dev/null")
    assert settings.load().budget == 1500
    with pytest.raises(Invalid, match="no regular file"):
        settings.set_setting("budget", "5")
    assert Path("/dev/null").is_char_device()


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "file", "")
    monkeypatch.setenv("MEMORIST_CONFIG", str(tmp_path / "file" / "config.toml"))
    with pytest.raises(Invalid, match="cannot be written"):
        settings.set_setting("budget", "5")


@examples(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).filter(lambda text: text.strip()), st.booleans()
)
def test_any_path_comes_back_as_it_was_set(config: Path, text: str, again: bool) -> None:
    write(config, "# kept\nbudget = 5\n[kinds.recipe]\nweight = 1.0\n" if again else 'db = "old" # kept\nbudget = 5\n')
    settings.set_setting("db", "/" + text)
    assert settings.load().db == settings._absolute("/" + text, Path())
    assert settings.load().budget == 5
    assert "# kept" in config.read_text(encoding="utf-8")


def test_reading_loads_nothing_heavy(config: Path) -> None:
    program = (
        "import json, sys; from memorist.surfaces import settings; settings.load(); settings.off_because();"
        "print(json.dumps([name for name in ('platformdirs', 'tomllib', 'pydantic', 'apsw', 'numpy', 'fcntl') "
        "if name in sys.modules]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "MEMORIST_DB": ":memory:"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(run.stdout) == []


# ---------------------------------------------------------------- what tunes a design

SEED = """[memory]
reinforceWeight = 3
demoteWeight = 1
maxSize = "100MB"            # pruning triggers when this is exceeded
pruneSchedule = "0 4 * * *"  # when to check
prunePercent = 1
"""


def tuning() -> tuple[object, ...]:
    found = settings.load()
    return tuple(getattr(found, key) for key in TUNING)


@pytest.mark.covers("S1-14")
def test_the_founding_documents_own_table_is_read(config: Path) -> None:
    assert tuning() == (None,) * 5
    write(config, SEED)
    assert tuning() == (3.0, 1.0, "100 MB", 1.0, "0 4 * * *")
    assert settings.load().sources["max_size"] == str(config)
    write(config, 'max_size = "1.5GB"\nreinforceWeight = 2.5\n[memory]\nprune_percent = 0.5\n')
    assert tuning() == (2.5, None, "1536 MB", 0.5, None)


@pytest.mark.covers("S1-14")
@pytest.mark.parametrize(
    "text",
    [
        "reinforceWeight = 3\nreinforce_weight = 3",
        "reinforce_weight = 3\n[memory]\nreinforceWeight = 3",
        "reinforceWeight = 3\n[memory]\nreinforceWeight = 4",
        "[memory]\nreinforce_weight = 3\nreinforceWeight = 3",
    ],
)
def test_a_setting_in_two_spellings_is_an_error(text: str, config: Path) -> None:
    write(config, text)
    with pytest.raises(Invalid, match="reinforce_weight is set twice") as caught:
        all_hold()
    assert str(config) in str(caught.value)


@pytest.mark.covers("S1-14")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("reinforceWeight = -1", "reinforce_weight must be a number from 0 to 100"),
        ("reinforceWeight = true", "reinforce_weight must be a number"),
        ('demoteWeight = "1"', "demote_weight must be a number"),
        ("demoteWeight = inf", "demote_weight must be a number"),
        ("maxSize = 100", "max_size must be a size from 1 MB to 1024 TB, such as '100 MB', not 100"),
        ('maxSize = "100 XB"', "max_size must be a size"),
        ("prunePercent = 0", "prune_percent must be a number from 0.01 to 100"),
        ("pruneSchedule = 4", "prune_schedule must be a cron line of five fields"),
        ('pruneSchedule = "0 4 * *"', "prune_schedule must be a cron line of five fields"),
        ('pruneSchedule = "60 4 * * *"', "prune_schedule: '60' is not a valid minute, which goes from 0 to 59"),
        ('pruneSchedule = "0 4 * 13 *"', "'13' is not a valid month"),
        ('pruneSchedule = "0 4 0 * *"', "'0' is not a valid day"),
        ('pruneSchedule = "0 4 * * fri-mon"', "'fri-mon' is not a valid weekday"),
        ('pruneSchedule = "*/0 4 * * *"', "is not a valid minute"),
        ('pruneSchedule = "0 @daily * * *"', "is not a valid hour"),
        ("colour = 3", r"\[memory\] has no key 'colour'; keys are reinforceWeight"),
        ('db = "/x"', r"\[memory\] has no key 'db'"),
    ],
)
def test_a_wrong_tuning_setting_is_an_error(line: str, words: str, config: Path) -> None:
    write(config, f"[memory]\n{line}\n")
    with pytest.raises(Invalid, match=words) as caught:
        all_hold()
    assert str(config) in str(caught.value)


def test_memory_must_be_a_table(config: Path) -> None:
    write(config, "memory = 3")
    with pytest.raises(Invalid, match="memory must be a table"):
        all_hold()


@pytest.mark.parametrize("line", ["0 4 * * *", "*/15 0-6/2 1,15 jan-jun mon-fri", "0 4 * * 7", "  5   4 * * sun "])
def test_a_schedule_is_a_line_of_cron(line: str) -> None:
    settings.set_setting("pruneSchedule", line)
    assert settings.get_setting("prune_schedule") == " ".join(line.split())


@pytest.mark.covers("S1-14")
def test_tuning_is_set_under_any_of_its_names(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.set_setting("reinforceWeight", "4")
    settings.set_setting("memory.demoteWeight", "0.5")
    settings.set_setting("max_size", "50 mb")
    assert config.read_text(encoding="utf-8") == 'reinforce_weight = 4.0\ndemote_weight = 0.5\nmax_size = "50 MB"\n'
    assert (settings.get_setting("reinforceWeight"), settings.get_setting("memory.maxSize")) == ("4", "50 MB")
    monkeypatch.setenv("MEMORIST_PRUNE_PERCENT", "2")
    assert settings.load().prune_percent == 2
    settings.unset_setting("reinforceWeight")
    assert settings.load().reinforce_weight is None


def test_a_setting_is_changed_under_the_name_the_file_has_for_it(config: Path) -> None:
    write(config, "reinforceWeight = 3 # mine\n")
    settings.set_setting("reinforce_weight", "4")
    assert config.read_text(encoding="utf-8") == "reinforceWeight = 4.0 # mine\n"
    write(config, SEED)
    for change in (lambda: settings.set_setting("max_size", "50MB"), lambda: settings.unset_setting("maxSize")):
        with pytest.raises(Invalid, match=r"in its table \[memory\]; change it there by hand"):
            change()
    settings.set_setting("budget", "900")
    assert config.read_text(encoding="utf-8") == "budget = 900\n" + SEED


def test_a_clone_may_not_tune_the_users_store(tmp_path: Path) -> None:
    clone = repository(tmp_path, '[memory]\nmaxSize = "1 MB"\n')
    with pytest.raises(Invalid, match="max_size belongs into") as caught:
        all_hold(clone)
    assert str(clone / ".memorist.toml") in str(caught.value)
