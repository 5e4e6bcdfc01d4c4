"""Designs of the user's own: a TOML file over a base, found by name or path, never from a clone, never half understood."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.design import Design
from memorist.designs import BALANCED, DESIGNS, HEBBIAN, find, own
from memorist.errors import Invalid
from memorist.recall.stages.keep import DropUnlikely, KeepClose
from memorist.recall.stages.weigh import Weigh, WeighByVotes
from memorist.recall.weights import weights
from memorist.surfaces import settings
from memorist.surfaces.settings import ALIASES, TUNING
from memorist.upkeep.retain import MEGABYTE, Prune
from surfaces.conftest import Cli

MINE = """
base = "hebbian"
about = "mine"
reads = ["project", "user", "global"]
[recall.words]
pool = 100
[recall.votes]
reinforce = 5
[upkeep.prune]
max_size = "50 MB"
percent = 2
"""


@pytest.fixture
def folder() -> Path:
    found = settings.designs_folder()
    assert found is not None
    found.mkdir(parents=True)
    return found


def write(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


# ---------------------------------------------------------------- what a file says


def test_a_file_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    mine = own.load(write(tmp_path / "mine.toml", MINE))
    understand, words, believed, _votes, suspect, drop, keep = HEBBIAN.recall
    assert (mine.name, mine.about, mine.reads) == ("mine", "mine", ("project", "user", "global"))
    assert mine.recall == (understand, replace(words, pool=100), believed, WeighByVotes(5.0, 1.0), suspect, drop, keep)
    assert mine.upkeep == (Prune(50 * MEGABYTE, 2.0),)


def test_a_base_alone_is_the_base_under_another_name(tmp_path: Path) -> None:
    assert own.load(write(tmp_path / "mine.toml", 'base = "balanced"')) == replace(BALANCED, name="mine")
    named = own.load(write(tmp_path / "mine.toml", 'base = "balanced"\nname = "ours"'))
    assert named.name == "ours"


def test_stages_and_jobs_can_be_chosen(tmp_path: Path) -> None:
    text = """
    base = "hebbian"
    stages = ["understand", "words", "keep_close", "believed", "weigh", "keep_best"]
    jobs = []
    [recall.weigh]
    factors = ["recency", "votes"]
    """
    mine = own.load(write(tmp_path / "mine.toml", text))
    assert mine.recall[2] == KeepClose(0.05, 0.0, 1000) and mine.recall[4] == Weigh(("recency", "votes"))
    assert mine.upkeep == ()


@pytest.mark.parametrize(
    ("size", "bytes"),
    [('"100MB"', 100 * MEGABYTE), ('"1.5 gb"', 1536 * MEGABYTE), ("2000000", 2_000_000), ('" 1 TB "', 1 << 40)],
)
def test_sizes_are_read_as_people_write_them(size: str, bytes: int, tmp_path: Path) -> None:
    mine = own.load(write(tmp_path / "mine.toml", f'base = "hebbian"\n[upkeep.prune]\nmax_size = {size}'))
    assert mine.upkeep == (Prune(bytes),)


STAGES = 'stages = ["understand", "words", "believed", "weigh", "keep_best"]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "base must be balanced or .*hebbian.*, not None"),
        (
            'base = "balanced"\nstages = ["understand", "gather", "blend", "believed", "lessons", "keep_best"]',
            "learnt comes before blend, and lessons after it",
        ),
        ('base = "mine"', "base must be balanced or .*hebbian.*, not 'mine'"),
        ("base = 3", "base must be"),
        ('base = "hebbian"\ncolour = 1', "no key 'colour'; keys are base, name, about"),
        ('base = "hebbian"\nname = "../x"', "name must be of up to 64 letters"),
        ('base = "hebbian"\nname = 7', "name must be"),
        ('base = "hebbian"\nabout = ""', "about is empty"),
        ('base = "hebbian"\nabout = 3', "about must be text"),
        ('base = "hebbian"\nreads = "project"', "reads must be a list of names"),
        (
            'base = "hebbian"\nreads = ["world"]',
            "reads: there is no 'world'; it is one of task, session, project, user, global",
        ),
        ('base = "hebbian"\nreads = ["project", "project"]', "reads names project twice"),
        ('base = "hebbian"\nreads = ["user"]', "reads must name project or global"),
        ('base = "hebbian"\nreads = []', "reads must name project or global"),
        (
            'base = "hebbian"\nstages = ["understand"]',
            "stages must find by words or by fields, or gather.*they are understand",
        ),
        ('base = "hebbian"\nstages = []', "stages must find by words or by fields, or gather.*they are none"),
        ('base = "hebbian"\nstages = ["understand", "words", "keep_best"]', "hold believed"),
        ('base = "hebbian"\nstages = ["words", "understand", "believed", "keep_best"]', "must begin with"),
        ('base = "hebbian"\nstages = ["understand", "words", "keep_best", "believed"]', "end with keep_best"),
        (
            'base = "hebbian"\nstages = ["understand", "votes", "words", "believed", "keep_best"]',
            "votes is before words, where nothing is found yet.*Before it may come understand, recognise, learnt, widen",
        ),
        (
            'base = "balanced"\nstages = ["understand", "gather", "say_once", "blend", "believed", "keep_best"]',
            "say_once is before blend",
        ),
        (
            'base = "curated"\n[lane.pinned]\nfloor = 500\nceiling = 100',
            "lane.pinned: its floor of 500 is above its ceiling",
        ),
        (
            'base = "hebbian"\nstages = ["understand", "magic"]',
            "stages: there is no 'magic'; it is one of understand, recognise, learnt, words, gather",
        ),
        ('base = "hebbian"\nstages = [1]', "stages must be a list of names"),
        ('base = "hebbian"\n' + STAGES, "recall.weigh needs factors"),
        (
            'base = "hebbian"\n' + STAGES + "[recall.weigh]\nfactors = ['luck']",
            "recall.weigh.factors: there is no 'luck'",
        ),
        ('base = "hebbian"\n' + STAGES + "[recall.weigh]\nfactors = 'votes'", "recall.weigh.factors must be a list"),
        ('base = "hebbian"\nrecall = 3', "recall must be a table of tables"),
        ('base = "hebbian"\n[recall]\nwords = 3', "recall must be a table of tables"),
        (
            'base = "hebbian"\n[recall.weigh]\nfactors = []',
            "recall.weigh: stages has no such name; it has understand, wo",
        ),
        (
            'base = "hebbian"\n[recall.words]\npool = 0',
            r"recall.words.pool must be a whole number from 1 to 1,000, not 0",
        ),
        ('base = "hebbian"\n[recall.words]\npool = true', "recall.words.pool must be a whole number"),
        ('base = "hebbian"\n[recall.words]\npool = "60"', "recall.words.pool must be a whole number"),
        ('base = "hebbian"\n[recall.words]\ndepth = 1', "recall.words has no key 'depth'; keys are pool"),
        ('base = "hebbian"\n[recall.believed]\nx = 1', "recall.believed has no key 'x'; keys are none"),
        ('base = "hebbian"\n[recall.votes]\nreinforce = -1', "recall.votes.reinforce must be a number from 0 to 100"),
        ('base = "hebbian"\n[recall.votes]\ndemote = nan', "recall.votes.demote must be a number"),
        (
            'base = "hebbian"\n[recall.keep_close]\nof_best = 1.5',
            "recall.keep_close.of_best must be a number from 0 to 1",
        ),
        ('base = "hebbian"\njobs = ["tidy"]', "jobs: there is no 'tidy'; it is one of prune"),
        (
            'base = "hebbian"\njobs = []\n[upkeep.prune]\npercent = 1',
            "upkeep.prune: jobs has no such name; it has none",
        ),
        ('base = "hebbian"\n[upkeep.prune]\nmax_size = "big"', "upkeep.prune.max_size must be a size from 1 MB"),
        ('base = "hebbian"\n[upkeep.prune]\nmax_size = 100', "upkeep.prune.max_size must be a size from 1 MB"),
        ('base = "hebbian"\n[upkeep.prune]\nmax_size = 1.5', "upkeep.prune.max_size must be a size"),
        ('base = "hebbian"\n[upkeep.prune]\nmax_size = "-5 MB"', "upkeep.prune.max_size must be a size"),
        ('base = "hebbian"\n[upkeep.prune]\npercent = 0', "upkeep.prune.percent must be a number from 0.01 to 100"),
        ('base = "hebbian"\n[upkeep.prune]\npercent = 101', "upkeep.prune.percent must be a number"),
        ("base =", "not valid TOML"),
        ("#" * 70_000, "it cannot be a design"),
    ],
)
def test_what_could_not_work_is_refused_with_the_file_and_the_key(text: str, words: str, tmp_path: Path) -> None:
    file = write(tmp_path / "mine.toml", text)
    with pytest.raises(Invalid, match=f"(?s){words}") as caught:
        own.load(file)
    assert str(file) in str(caught.value)


def test_votes_are_not_weighed_twice(tmp_path: Path) -> None:
    stages = 'base = "hebbian"\nstages = ["understand", "words", "believed", "weigh", "votes", "keep_best"]\n'
    file = write(tmp_path / "mine.toml", stages + '[recall.weigh]\nfactors = ["importance", "votes"]')
    with pytest.raises(Invalid, match="votes count twice"):
        own.load(file)
    write(file, stages + '[recall.weigh]\nfactors = ["importance", "kind"]')
    with Memory(":memory:", design=own.load(file)) as memory:
        memory.remember("Staging runs Postgres 16")
        assert set(memory.recall("postgres")[0].why) == {"words", "importance", "kind", "votes", "recency"}


@pytest.mark.parametrize("text", ['base = "balanced"', 'base = "hebbian"', MINE, "jobs = []\n" + 'base = "hebbian"'])
def test_what_is_written_is_the_same_design(text: str, tmp_path: Path) -> None:
    mine = own.load(write(tmp_path / "mine.toml", text))
    assert own.load(write(tmp_path / "mine.toml", own.text_of(mine))) == mine


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_a_built_in_design_is_written_as_itself(design: Design, tmp_path: Path) -> None:
    assert own.load(write(tmp_path / f"{design.name}.toml", own.text_of(design))) == design


def test_every_stage_and_job_of_the_built_in_designs_has_a_name() -> None:
    for design in DESIGNS.values():
        table = tomllib.loads(own.text_of(design))
        assert len(table["stages"]) == len(design.recall) and len(table["jobs"]) == len(design.upkeep)
        assert set(table["stages"]) <= set(own.STAGES) and set(table["jobs"]) <= set(own.JOBS)


# ---------------------------------------------------------------- where a design is found


def test_a_design_is_found_by_name_and_by_path(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "mine.toml", MINE)
    write(tmp_path / "other.toml", 'base = "balanced"')
    monkeypatch.chdir(tmp_path)
    for named, name in (("mine", "mine"), ("./other.toml", "other"), ("other.toml", "other"), ("hebbian", "hebbian")):
        with Memory(":memory:", design=named) as memory:
            assert memory.design.name == memory.status()["design"] == name


def test_the_settings_choose_by_name_and_by_path(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "mine.toml", MINE)
    settings.set_setting("design", "mine")
    with Memory(":memory:") as memory:
        assert memory.design.name == "mine"
    write(tmp_path / "here.toml", 'base = "hebbian"')
    settings.set_setting("design", "here.toml", tmp_path)
    assert settings.load().design == str(tmp_path / "here.toml")
    with Memory(":memory:") as memory:
        assert memory.design.name == "here"
    monkeypatch.setenv("MEMORIST_DESIGN", "balanced")
    with Memory(":memory:") as memory:
        assert memory.design is BALANCED


def test_an_unknown_design_is_an_error_that_names_those_there_are(folder: Path) -> None:
    write(folder / "mine.toml", MINE)
    write(folder / "hebbian.toml", MINE)
    for named in ("yours", "..", "a b", "", "mine\n"):
        with pytest.raises(Invalid, match=r"there is no design .*; designs are balanced, .*hebbian, .*mine$"):
            Memory(":memory:", design=named)
    with pytest.raises(Invalid, match=r"missing\.toml cannot be read"):
        Memory(":memory:", design="./missing.toml")
    with pytest.raises(Invalid, match="cannot be read"):
        Memory(":memory:", design="~nobody-here/mine.toml")
    with pytest.raises(Invalid, match="a design is a name"):
        Memory(":memory:", design=3)  # type: ignore[arg-type]
    assert find("hebbian", folder) is HEBBIAN, "a file cannot take the place of a built-in design"


def test_a_file_of_the_folder_has_one_name(folder: Path) -> None:
    write(folder / "mine.toml", 'base = "hebbian"\nname = "ours"')
    with pytest.raises(Invalid, match="name is 'ours', but the file is called 'mine'"):
        Memory(":memory:", design="mine")


def clone(tmp_path: Path, design: str) -> Path:
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    write(tmp_path / "clone" / ".memorist.toml", f"design = {design!r}")
    write(tmp_path / "clone" / "theirs.toml", 'base = "balanced"\nname = "theirs"')
    return tmp_path / "clone"


@pytest.mark.parametrize("path", ["theirs.toml", "./theirs.toml", "../clone/theirs.toml", "sub/theirs", "a\\b"])
def test_a_clone_may_not_name_a_design_by_its_path(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone(tmp_path, path))
    monkeypatch.setenv("MEMORIST_DB", ":memory:")
    with Memory() as memory:
        assert memory.design.name == "balanced"
        assert ".memorist.toml may not name a design by its path" in memory.status()["settings_problems"][0]


def test_a_clone_may_name_a_built_in_design_or_one_of_the_users(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = clone(tmp_path, "mine")
    monkeypatch.chdir(here)
    monkeypatch.setenv("MEMORIST_DB", ":memory:")
    with Memory() as memory:
        assert memory.design.name == "balanced"
        assert "there is no design 'mine'" in memory.status()["settings_problems"][0]
    write(folder / "mine.toml", MINE)
    for named in ("mine", "hebbian"):
        write(here / ".memorist.toml", f'design = "{named}"')
        with Memory() as memory:
            assert memory.design.name == named


# ---------------------------------------------------------------- settings that tune whatever design is used


@pytest.mark.covers("S1-14")
@pytest.mark.parametrize("design", ["hebbian", "balanced", "mine", HEBBIAN])
def test_the_settings_cover_the_values_of_the_design(design: object, folder: Path) -> None:
    write(folder / "mine.toml", MINE)
    for key, value in (("reinforceWeight", "7"), ("demoteWeight", "0.5"), ("maxSize", "2 GB"), ("prunePercent", "3")):
        settings.set_setting(key, value)
    with Memory(":memory:", design=design) as memory:  # type: ignore[arg-type]
        assert memory.design.upkeep[-1] == Prune(2048 * MEGABYTE, 3.0, 7.0, 0.5)
        for stage in memory.design.recall:
            assert not isinstance(stage, WeighByVotes) or stage == WeighByVotes(7.0, 0.5)


@pytest.mark.covers("S1-14")
def test_without_settings_the_designs_own_values_hold() -> None:
    with Memory(":memory:", design="hebbian") as memory:
        assert memory.design is HEBBIAN
    assert WeighByVotes(3.0, 1.0) in HEBBIAN.recall
    assert HEBBIAN.upkeep == (Prune(100 * MEGABYTE, 1.0, 3.0, 1.0),)


# ---------------------------------------------------------------- at the command line


def test_list_marks_the_one_in_use_and_shows_what_is_broken(cli: Cli, folder: Path) -> None:
    write(folder / "mine.toml", MINE)
    write(folder / "torn.toml", "base = ")
    rows = {row["name"]: row for row in cli.inside("design", "list", "--json").json}
    assert list(rows) == [*DESIGNS, "mine", "torn"]
    assert [name for name, row in rows.items() if row["current"]] == ["balanced"]
    assert (rows["hebbian"]["from"], rows["mine"]["from"]) == ("built in", str(folder / "mine.toml"))
    assert "cannot be used" in rows["torn"]["about"]
    assert "*\tbalanced\t" in cli.inside("design", "list").out


def test_show_prints_a_file_that_is_that_design(cli: Cli, folder: Path) -> None:
    shown = cli.inside("design", "show", "hebbian")
    write(folder / "mine.toml", shown.out)
    assert find("mine", folder) == replace(HEBBIAN, name="mine")
    assert cli.inside("design", "show", "--json").json["name"] == "balanced"
    settings.set_setting("reinforce_weight", "9")
    covered = cli.inside("design", "show", "mine").out
    assert covered.startswith("# reinforce_weight = 9 in ")
    assert own.load(write(folder / "mine.toml", covered)) == replace(HEBBIAN, name="mine")


def test_use_says_what_changes_and_needs_no_migration(cli: Cli, folder: Path) -> None:
    cli.inside("remember", "Staging runs Postgres 16")
    cli.inside("feedback", "1", "useful")
    said = cli.inside("design", "use", "hebbian")
    assert said.code == 0 and said.out.startswith("design is now hebbian")
    share = next(stage.behind for stage in BALANCED.recall if isinstance(stage, DropUnlikely))
    assert f"- recall.drop_unlikely.behind = {share}" in said.out and "memories stay as they are" in said.out
    assert cli.inside("status", "--json").json["design"] == "hebbian"
    why = cli.inside("recall", "postgres", "--json").json["hits"][0]["why"]
    assert round(why["votes"], 3) == 1.822
    back = cli.inside("design", "use", "balanced", "--json").json
    assert back["design"] == "balanced" and f"+ recall.drop_unlikely.behind = {share}" in back["changes"]


def test_use_refuses_what_cannot_be_used_and_changes_nothing(cli: Cli, folder: Path) -> None:
    write(folder / "torn.toml", 'base = "hebbian"\nreads = []')
    for name in ("torn", "nothing", "./missing.toml"):
        assert cli.inside("design", "use", name).code == 2
    assert settings.load().design == "balanced"
    write(folder / "torn.toml", 'base = "hebbian"')
    assert cli.inside("design", "use", "torn").code == 0
    write(folder / "torn.toml", "base = ")
    torn = cli.inside("recall", "x")
    assert torn.code == 0 and "torn.toml" in torn.err and "until then the design is balanced" in torn.err
    assert cli.inside("design", "use", "hebbian").code == 0, "a broken design is left by choosing another"


def test_use_says_when_something_else_decides(cli: Cli) -> None:
    said = cli("design", "use", "hebbian", MEMORIST_DESIGN="balanced")
    assert said.out.startswith("design is now balanced") and "MEMORIST_DESIGN names another" in said.err


def test_a_path_is_kept_whole(cli: Cli) -> None:
    write(cli.folder / "mine.toml", MINE)
    assert cli.inside("design", "use", "./mine.toml").code == 0
    assert settings.load().design == str(cli.folder / "mine.toml")
    rows = cli.inside("design", "list", "--json").json
    assert [row["from"] for row in rows if row["current"]] == [str(cli.folder / "mine.toml")]


@pytest.mark.covers("S1-14")
def test_a_setting_says_what_it_does_not_do(cli: Cli) -> None:
    assert "upkeep --watch" in cli.inside("config", "set", "pruneSchedule", "0 4 * * *").out
    assert "upkeep --watch" in cli.inside("upkeep").err
    assert "balanced has no reinforce" not in cli.inside("config", "set", "reinforceWeight", "5").out
    write(cli.folder / "bare.toml", 'base = "balanced"\njobs = []')
    cli.inside("design", "use", "./bare.toml")
    said = cli.inside("config", "set", "maxSize", "50MB", "--json").json
    assert "the design bare has no max_size" in said["note"]
    assert "note" not in cli.inside("config", "set", "budget", "900", "--json").json


# ---------------------------------------------------------------- the founding document's commands


@pytest.mark.covers("S1-9", "S1-8", "W1-5")
def test_the_five_tools_are_commands_that_are_not_shown(cli: Cli) -> None:
    assert cli.inside("memory_store", "Staging runs Postgres 15", "--tags", "db, staging").out.startswith(
        "added [id:1]"
    )
    assert cli.inside("memory-reinforce", "1").out.startswith("changed [id:1], score 3")
    assert cli.inside("memory_demote", "1").out.startswith("changed [id:1], score 2")
    assert cli.inside("memory_update", "1", stdin="Staging runs Postgres 16").code == 0
    found = cli.inside("memory-query", "postgres", "-n", "1")
    assert found.out.startswith("[id:1] (score 2, rank ") and "(tags: db, staging)" in found.out
    [row] = cli.inside("memory_query", "postgres", "--json").json["rows"]
    assert (row["content"], row["source"], row["score"]) == ("Staging runs Postgres 16", "agent", 2)
    assert cli.inside("memory_query", "zebra").out.startswith("Nothing found: ")
    assert cli.inside("memory_demote", "9").code == 3
    assert "memory_" not in cli.inside("--help").out
    for tool in ("store", "query", "reinforce", "demote", "update"):
        assert f"Usage: memorist memory_{tool}" in cli.inside(f"memory_{tool}", "--help").out


@pytest.mark.covers("S1-10", "C1-1")
def test_at_a_terminal_the_tools_still_write_as_the_agent(cli: Cli) -> None:
    assert "added [id:1]" in cli.at_terminal("memory_store", "Staging runs Postgres 16").out
    assert cli.inside("get", "1", "--json").json["origin"] == "agent"


@pytest.mark.covers("S1-18")
def test_memories_export_is_export(cli: Cli) -> None:
    cli.inside("remember", "Staging runs Postgres 16")
    assert "Staging runs Postgres 16" in cli.inside("memories", "export").out
    assert "memories export" not in cli.inside("--help").out


# ---------------------------------------------------------------- the page about designs

PAGE = (Path(__file__).parents[2] / "docs" / "designs.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", re.findall(r"```toml\n(.*?)```", PAGE, re.S))
def test_the_designs_of_the_page_are_designs(text: str, tmp_path: Path) -> None:
    with Memory(":memory:", design=own.load(write(tmp_path / "mine.toml", text))) as memory:
        memory.remember("Staging runs Postgres 16")
        assert len(memory.recall("postgres")) == 1


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(code, {})
    said = capsys.readouterr().out
    assert "[id:1] (score 0, rank 0.417) An empty body" in said
    assert "would forget [id:1] warning" in said


def test_the_page_names_every_stage_job_and_setting() -> None:
    for name in (*own.STAGES, *own.JOBS, *own.FAMILIES, *DESIGNS, *TUNING, *ALIASES):
        assert name in PAGE


def test_the_page_tells_the_bounds_of_the_default_design() -> None:
    below = weights()["bar"]["memories"]
    [cut] = [stage for stage in BALANCED.recall if isinstance(stage, DropUnlikely)]
    assert (
        f"a chance under {below}" in PAGE and f"a relevance under {cut.below}, or log-odds {cut.behind} behind" in PAGE
    )


@pytest.mark.covers("S1-12")
def test_a_cloned_project_does_not_decide_how_the_users_store_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".memorist.toml").write_text('design = "hebbian"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    with Memory() as memory:
        assert memory.design.name == "hebbian"
        assert memory.design.recall == HEBBIAN.recall
        assert memory.design.upkeep == BALANCED.upkeep
    monkeypatch.setenv("MEMORIST_DESIGN", "hebbian")
    with Memory() as memory:
        assert memory.design.upkeep == HEBBIAN.upkeep


def test_a_built_in_design_is_had_by_its_name() -> None:
    assert all(find(name, None) is DESIGNS[name] for name in DESIGNS)
    with pytest.raises(Invalid, match="designs are balanced, tiers, hebbian, curated"):
        find("mine", None)
