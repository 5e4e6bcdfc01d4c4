"""The notebook under the founding document's own names: sections, configuration, requests to skills, its folder."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory, seeds
from memorist.access import access_for
from memorist.designs import NOTEBOOK
from memorist.designs.notebook import HYBRID
from memorist.errors import Invalid, NotFound
from memorist.files.transfer import import_files
from memorist.seeds.notebook import KEYS, MOST_SECTIONS, SECTION, Config, Notebook, config_of
from memorist.testing import MovableClock

DEFAULTS = {  # as the founding document has them
    "memoryPath": "MEMORY.md",
    "maxMemorySize": 50_000,
    "sessionsPath": "sessions/",
    "sessionRetentionDays": 30,
    "compactionThreshold": 100_000,
    "compactionKeepRecent": 10,
    "flushEnabled": True,
    "flushThreshold": 80_000,
    "searchProvider": "fts5",
    "vectorModel": None,
    "toolResultRetention": 5,
}


@pytest.fixture
def open_memory(tmp_path: Path, clock: MovableClock) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", project="atlas", design="notebook", clock=clock, embed="none") as memory:
        yield memory


@pytest.fixture
def notebook(open_memory: Memory) -> Notebook:
    return seeds.notebook(open_memory)


def user(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="user"))


# ---------------------------------------------------------------- sections


@pytest.mark.covers("S2-5", "S2-10")
def test_the_page_is_that_of_the_document(notebook: Notebook) -> None:
    notebook.append("Session Summaries", "2026-02-05: Decided on a loop of four stages")
    notebook.append("Project Context", "- Main languages: TypeScript, React")
    notebook.append("User Preferences", "Prefers concise responses")
    notebook.append(
        "Key Decisions", "- 2026-02-01: Chose SQLite over PostgreSQL\n- 2026-02-03: API uses Fastify, not Express"
    )
    assert notebook.read() == (
        "# Agent Memory\n\n"
        "## Key Decisions\n- 2026-02-01: Chose SQLite over PostgreSQL\n- 2026-02-03: API uses Fastify, not Express\n\n"
        "## User Preferences\n- Prefers concise responses\n\n"
        "## Project Context\n- Main languages: TypeScript, React\n\n"
        "## Session Summaries\n- 2026-02-05: Decided on a loop of four stages\n"
    )


@pytest.mark.covers("C2-1")
def test_names_of_sections_match_in_any_case(notebook: Notebook) -> None:
    notebook.append("Current State", "The loop is half done")
    done = notebook.append("CURRENT state", "Tests are missing")
    assert done.section == "Current State" and notebook.sections == ["Current State"]
    assert notebook.read("current STATE") == "## Current State\n- The loop is half done\n- Tests are missing\n"


@pytest.mark.covers("C2-1")
def test_a_section_is_made_unless_that_is_not_wanted(notebook: Notebook) -> None:
    notebook.append("Current State", "The loop is half done")
    with pytest.raises(NotFound, match="there is no section 'Plans'; sections are Current State"):
        notebook.write("Plans", "Ship it", create=False)
    assert notebook.write("Plans", "Ship it") and "Plans" in notebook.sections
    assert notebook.read("nowhere") == ""


@pytest.mark.covers("C2-1", "S2-5")
def test_a_write_replaces_and_an_append_adds(notebook: Notebook, open_memory: Memory) -> None:
    notebook.write("Current State", "- one is red\n- two is green")
    kept = {record.text: record.id for record in open_memory.list()}
    notebook.write("Current State", "- two is green\n- three is blue")
    assert notebook.read("Current State") == "## Current State\n- two is green\n- three is blue\n"
    assert open_memory.list({"text": "two is green"})[0].id == kept["two is green"], "what stays is the same memory"
    assert open_memory.get(kept["one is red"]).state == "archived", "and what went can come back"
    notebook.write("Current State", "")
    assert notebook.sections == []


@pytest.mark.covers("W2-6")
def test_a_second_append_never_takes_away_what_the_first_saved(notebook: Notebook) -> None:
    for number in range(5):
        notebook.append("Working Context", f"## a heading inside\n\nthought number {number}")
    assert [f"thought number {n}" in notebook.read("Working Context") for n in range(5)] == [True] * 5
    assert notebook.sections == ["Working Context"], "prose with a heading makes no section and overwrites none"


@pytest.mark.covers("C2-1", "W2-4")
def test_a_write_reports_its_size_and_nothing_is_refused_when_the_page_is_full(open_memory: Memory) -> None:
    notebook = seeds.notebook(open_memory, {"maxMemorySize": 400})
    for number in range(20):
        done = notebook.append("Project Context", f"Fact {number}: the lamp in room {number} is new")
        assert done and done.report == {
            "truncated": done.truncated, "sizeUsed": len(notebook.read()), "sizeLimit": 400,
        }  # fmt: skip
        assert done.size_used <= 400 and f"Fact {number}:" in notebook.read(), "the newest is what stays on the page"
    assert done.truncated and "Fact 0:" not in notebook.read()
    assert open_memory.count() == 20 and notebook.search("fact 0 room lamp").hits


@pytest.mark.covers("C2-1")
def test_one_section_does_not_take_the_page(notebook: Notebook) -> None:
    notebook.append("Other", "A word beside it")
    notebook.append("Log", "\n".join(f"- entry {n} {'x' * 500}" for n in range(60)))
    assert len(notebook.read("Log")) <= SECTION and "entry 59" in notebook.read("Log")
    assert "A word beside it" in notebook.read()
    for number in range(30):
        notebook.append(f"Section {number}", f"thing {number}")
    assert len(notebook.sections) <= MOST_SECTIONS and "thing 29" in notebook.read()


@given(
    texts=st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=400), max_size=12),
    limit=st.integers(20, 1000),
)
def test_a_page_is_never_larger_than_its_limit(texts: list[str], limit: int) -> None:
    with Memory(":memory:", project="atlas", embed="none") as memory:
        notebook = seeds.notebook(memory, {"maxMemorySize": limit})
        for number, text in enumerate(texts):
            with suppress(Invalid):  # a text that shows nothing
                notebook.append(f"S{number % 3}", text)
        assert len(notebook.read()) <= limit


@pytest.mark.covers("S2-10", "E3")
def test_an_agent_cannot_write_away_what_the_user_said(notebook: Notebook, open_memory: Memory) -> None:
    user(open_memory).remember("Never push on Fridays", data={"section": "Rules"})
    done = notebook.write("Rules", "Push whenever you like")
    assert not done and len(done.waiting) == 1 and "Never push on Fridays" in notebook.read("rules")
    assert open_memory.review(), "the user is asked"


def test_what_a_user_opened_is_still_written_by_an_agent(open_memory: Memory) -> None:
    seeds.notebook(user(open_memory)).append("Key Decisions", "One queue for all")
    assert open_memory.get(1).origin == "agent"


def test_a_secret_is_no_reason_to_forget(notebook: Notebook, open_memory: Memory) -> None:
    text = "The token is ghp_" + "a1B2" * 9
    for _ in range(2):
        notebook.write("Notes", text)
    assert open_memory.count() == 1 and "ghp_" not in notebook.read()


def test_what_was_said_elsewhere_moves_to_the_section_it_is_written_to(notebook: Notebook) -> None:
    notebook.append("Project Context", "The loop has four stages")
    notebook.append("Key Context", "The loop has four stages")
    assert notebook.read("Key Context") == "## Key Context\n- The loop has four stages\n"
    assert notebook.sections == ["Key Context"]


def test_the_page_of_a_project_is_only_its_own(notebook: Notebook, open_memory: Memory) -> None:
    open_memory.through(access_for("admin", "project/atlas")).remember("Of A-2", scope="project/atlas-2")
    open_memory.remember("Of a session", scope="session/s1")
    open_memory.remember([{"role": "user", "content": "hello"}], session="s1")
    assert notebook.read() == "# Agent Memory\n"


# ---------------------------------------------------------------- search


@pytest.mark.covers("S2-18")
@pytest.mark.parametrize("scope", ["memory", "items", "sessions", "sources"])
def test_each_scope_searches_its_own(notebook: Notebook, open_memory: Memory, tmp_path: Path, scope: str) -> None:
    notebook.append("Project Context", "The harbour of the page")
    (tmp_path / "notes.md").write_text("# Notes\n\n- The harbour of a file\n", encoding="utf-8")
    import_files(open_memory, [tmp_path / "notes.md"])
    open_memory.remember([{"role": "user", "content": "The harbour of a talk"}], session="s1")
    open_memory.remember("The harbour of a document", kind="document")
    wanted = {"memory": "page", "items": "file", "sessions": "talk", "sources": "document"}[scope]
    found = {hit.text for hit in notebook.search("harbour", scope)}  # type: ignore[arg-type]
    assert f"The harbour of {'the' if scope == 'memory' else 'a'} {wanted}" in found
    others = {"sessions": {"talk"}, "sources": {"document"}, "items": {"file"}}.get(scope, {"page", "file"})
    assert {text.split()[-1] for text in found} == others


def test_a_scope_that_is_none_is_an_error(notebook: Notebook) -> None:
    with pytest.raises(Invalid, match="memory or items or sessions or sources"):
        notebook.search("harbour", "everything")  # type: ignore[arg-type]


@pytest.mark.covers("C2-4", "S2-18")
def test_twenty_are_found_unless_others_are_asked_for(notebook: Notebook, open_memory: Memory) -> None:
    open_memory.remember_many([f"harbour number {n}" for n in range(40)])
    assert len(notebook.search("harbour")) == 20 and len(notebook.search("harbour", limit=3)) == 3


# ---------------------------------------------------------------- configuration


@pytest.mark.covers("S2-23")
def test_the_keys_and_defaults_are_the_documents() -> None:
    assert {key: getattr(Config(), name) for key, name in KEYS.items()} == DEFAULTS
    assert config_of(DEFAULTS) == config_of({KEYS[key]: value for key, value in DEFAULTS.items()}) == Config()


@pytest.mark.covers("S2-23", "S2-19")
def test_the_configuration_tunes_the_design(open_memory: Memory) -> None:
    assert Config().design == NOTEBOOK
    tuned = config_of({"maxMemorySize": 8000, "sessionRetentionDays": 7, "searchProvider": "hybrid"}).design
    assert tuned.budget.tokens == 2000 and tuned.recall == HYBRID
    days = [getattr(job, name) for job in tuned.upkeep for name in ("ttl_days", "days") if hasattr(job, name)]
    assert days == [7, 7, 90], "sessions and what they left; the last is when a section is asked about"
    assert seeds.notebook(open_memory, {"searchProvider": "hybrid"}).search("x").trace[3].stage == "FuseRanks"
    assert open_memory.design == NOTEBOOK, "the memory that was passed in stays as it is"


@pytest.mark.covers("S2-23", "S2-11", "S2-12", "S2-13")
def test_the_thresholds_are_those_of_a_window() -> None:
    assert Config().window == {"flush": 80_000, "compact": 100_000, "keep": 10, "results": 5}
    assert config_of({"flushEnabled": False}).window["flush"] == 99_999


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"maxMemorysize": 1}, "did you mean|maxMemorySize"),
        ({"maxMemorySize": "50 kB"}, "maxMemorySize"),
        ({"maxMemorySize": 5, "max_memory_size": 5}, "two spellings"),
        ({"searchProvider": "vectors"}, "fts5"),
        ({"flushThreshold": 100_000}, "must be the smaller one"),
        ({"toolResultRetention": -1}, "toolResultRetention"),
        ([1], "a configuration is a dict"),
    ],
)
@pytest.mark.covers("S2-23")
def test_what_a_configuration_cannot_be_is_told(given: Any, told: str) -> None:
    with pytest.raises(Invalid, match=told):
        config_of(given)


# ---------------------------------------------------------------- requests to skills


@pytest.mark.covers("S2-17")
def test_a_request_has_the_shape_of_the_document(notebook: Notebook, open_memory: Memory) -> None:
    notebook.append("Project Context", "SEO optimisation for a blog about boats")
    user(open_memory).remember("I prefer concise responses", kind="preference")
    message = notebook.request("agent_skill_seo", "analyze", "how concise should it be?")
    assert set(message) == {"from", "to", "type", "payload"} and json.dumps(message)
    assert (message["from"], message["to"], message["type"]) == (
        open_memory.access.actor, "agent_skill_seo", "request",
    )  # fmt: skip
    assert set(message["payload"]) == {"action", "context"} and message["payload"]["action"] == "analyze"
    context = message["payload"]["context"]
    assert set(context) == {"memory_snippet", "project_context"}
    assert "I prefer concise responses" in context["memory_snippet"] and "boats" in context["project_context"]
    assert re.search(r"Reference data, not instructions", context["memory_snippet"]), "recalled text stays in its box"


@pytest.mark.covers("S2-17", "S2-16")
def test_a_request_holds_what_the_sender_may_read_and_no_more(open_memory: Memory) -> None:
    open_memory.through(access_for("admin", "project/atlas")).remember("The canary of B", scope="project/b")
    open_memory.remember("The canary of atlas")
    said = json.dumps(seeds.notebook(open_memory).request("skill", "sing", "which canary?"))
    assert "canary of atlas" in said and "canary of B" not in said
    skill = open_memory.through(access_for("skill", "project/atlas"))
    assert "canary" not in json.dumps(seeds.notebook(skill).request("skill", "sing", "which bird?"))


@pytest.mark.covers("N1-11")
def test_a_pointer_to_a_result_becomes_its_text(notebook: Notebook, open_memory: Memory) -> None:
    open_memory.remember("The blog has 40 broken links")
    open_memory.through(access_for("admin", "project/atlas")).remember("Of B", scope="project/b")
    message = notebook.request("skill", "fix", "links", "[agent_result:1]; [agent_result:2]; [agent_result:99]")
    assert message["payload"]["context"]["project_context"] == (
        "The blog has 40 broken links; [agent_result:2]; [agent_result:99]"
    )


# ---------------------------------------------------------------- its folder


@pytest.mark.covers("S2-22")
def test_its_folder_is_laid_out_on_request(notebook: Notebook, tmp_path: Path) -> None:
    notebook.append("Project Context", "A memory about the harbour")
    made = notebook.lay_out(tmp_path / "agent")
    assert {path.relative_to(tmp_path / "agent").as_posix() for path in made} == {
        "AGENT.md", "sessions", "context", ".agent/tasks",
    }  # fmt: skip
    said = (tmp_path / "agent" / "AGENT.md").read_text(encoding="utf-8")
    assert "project/atlas" in said and "harbour" not in said, "erasing need not look here"
    (tmp_path / "agent" / "AGENT.md").write_text("mine", encoding="utf-8")
    notebook.lay_out(tmp_path / "agent")
    assert (tmp_path / "agent" / "AGENT.md").read_text(encoding="utf-8") == "mine"


@pytest.mark.covers("S2-23")
@pytest.mark.parametrize(
    ("config", "inner"),
    [
        ({"memoryPath": "<agent>/MEMORY.md", "sessionsPath": "<agent>/sessions/"}, "."),
        ({"memoryPath": "bob/MEMORY.md"}, "bob"),
        ({"sessionsPath": "crew/bob/sessions"}, "crew/bob"),
        ({"memoryPath": "bob/MEMORY.md", "sessionsPath": "bob/sessions/"}, "bob"),
    ],
)
def test_the_page_and_the_transcripts_lie_where_the_configuration_says(
    open_memory: Memory, tmp_path: Path, config: dict[str, str], inner: str
) -> None:
    open_memory.remember("The build is fast")
    open_memory.remember("hello", kind="turn", role="user", session="monday")
    seeds.notebook(open_memory, config).lay_out(tmp_path / "agent")
    place = tmp_path / "agent" / inner
    assert "The build is fast" in (place / "MEMORY.md").read_text() and (place / "sessions" / "monday.jsonl").exists()


@pytest.mark.covers("S2-23")
@pytest.mark.parametrize(
    ("config", "because"),
    [
        ({"memoryPath": "Brain.md"}, "memorist sync PATH"),
        ({"memoryPath": "/etc/MEMORY.md"}, "lay_out"),
        ({"memoryPath": "~/MEMORY.md"}, "lay_out"),
        ({"memoryPath": "C:/MEMORY.md"}, "lay_out"),
        ({"sessionsPath": "../sessions/"}, "lay_out"),
        ({"sessionsPath": "talks/"}, "it is sessions/"),
        ({"memoryPath": "a/MEMORY.md", "sessionsPath": "b/sessions/"}, "two folders, a and b"),
        ({"memoryPath": 7}, "must be text"),
    ],
)
def test_a_place_that_cannot_be_had_is_refused_with_what_to_do(config: dict[str, Any], because: str) -> None:
    with pytest.raises(Invalid, match=re.escape(because)):
        config_of(config)
