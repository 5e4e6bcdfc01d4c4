"""Slash commands: what a person types into a chat does what the document says, and a keyword never deletes by itself."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorist import Memory, seeds
from memorist.errors import Invalid, MemoristError, NotFound
from memorist.records import forget_issued_ids, new_id
from memorist.seeds.curated import COMMANDS, REFERENCE, slash
from memorist.testing import MovableClock


@pytest.fixture
def memory(place: Path | str, clock: MovableClock) -> Iterator[Memory]:
    with Memory(place, project="atlas", design="curated", clock=clock, embed="none") as memory:
        yield memory


@pytest.mark.covers("S3-23", "C3-8")
@pytest.mark.parametrize(
    ("said", "kind", "text"),
    [
        ("[warning] Mind the gap", "warning", "Mind the gap"),
        ("decision: one queue", "decision", "one queue"),
        ("[discovery] The cache is cold", "discovery", "The cache is cold"),
        ("[task_progress] Half of it", "task_progress", "Half of it"),
        ("error handling lives in core.py", "error", "error handling lives in core.py"),
        ("Never push on Fridays", "warning", "Never push on Fridays"),
        ("We decided on one queue", "decision", "We decided on one queue"),
        ("Ann prefers tabs", "preference", "Ann prefers tabs"),
        ("Port 8080", "fact", "Port 8080"),
        ("http://x.org is our page", "fact", "http://x.org is our page"),
    ],
)
def test_remember_takes_the_category_or_guesses_it(memory: Memory, said: str, kind: str, text: str) -> None:
    answer = slash(memory, f"/remember {said}")
    record = memory.get(answer.ids[0])
    assert (record.kind, record.text, record.importance, record.confidence) == (kind, text, 0.8, 1.0)
    assert record.status == "confirmed" and str(answer).startswith(f"added [id:{record.number}] {kind}")


@pytest.mark.covers("S3-23")
def test_remember_says_what_became_of_it(memory: Memory) -> None:
    slash(memory, "/remember Port 8080")
    assert slash(memory, "/remember port   8080").text.startswith("reinforced [id:1]")
    assert slash(memory, "/remember ghp_" + "a1B2" * 9).text.startswith("refused: the text is nothing but a secret")


@pytest.mark.covers("S3-23", "W3-15")
def test_a_keyword_forgets_nothing_until_it_is_confirmed(memory: Memory) -> None:
    slash(memory, "/remember Staging runs Postgres 16")
    slash(memory, "/remember Postgres is backed up at night by Ann")
    asked = slash(memory, "/forget postgres")
    assert asked.asks and memory.count() == 2
    assert asked.text.startswith(f"would forget [id:{asked.ids[0]}]") and "also found" in asked.text
    assert asked.text.endswith(f"/forget {asked.ids[0]}")
    done = slash(memory, "/forget postgres", confirm=True)
    assert not done.asks and done.ids == asked.ids and memory.count() == 1
    assert memory.get(done.ids[0]).state == "archived"  # and restore brings it back
    slash(memory, f"/forget [id:{3 - done.ids[0]}]")
    assert memory.count() == 0


@pytest.mark.covers("S3-23", "W3-15")
@pytest.mark.parametrize("word", ["mysql", "migration", "monday", "made", "message", "2024s", "[id:1"])
def test_a_word_that_looks_like_an_id_is_a_keyword(memory: Memory, word: str) -> None:
    """It finds, and asks before it forgets; an id names one memory and needs no asking."""
    record = memory.remember(f"About {word}, which runs at night").record
    assert record is not None
    asked = slash(memory, f"/forget {word}")
    assert asked.asks and asked.ids == (record.number,) and memory.count() == 1
    assert slash(memory, f"/pin {word}").asks and not memory.get(1).pinned
    assert slash(memory, f"/pin {word}", confirm=True).text.startswith("pinned")
    assert slash(memory, f"/forget {record.id[:20]}").text.startswith("forgotten")


@pytest.mark.covers("S3-23")
@pytest.mark.parametrize("blank", ["  ", "\t", "\n", "\r\n"])
def test_any_blank_ends_a_command(memory: Memory, blank: str) -> None:
    slash(memory, f"/remember{blank}[warning]{blank}Mind the gap")
    assert [(record.kind, record.text) for record in memory.list()] == [("warning", "Mind the gap")]
    assert slash(memory, f"/memory{blank}list{blank}warning").text == "[id:1] warning: Mind the gap"


@pytest.mark.covers("W3-15")
def test_what_a_person_forgets_is_no_eviction(memory: Memory) -> None:
    slash(memory, "/remember Port 8080")
    slash(memory, "/forget 1")
    assert memory.status()["evictions"] == 0


@pytest.mark.covers("S3-23", "W3-7")
def test_pin_toggles_by_id_and_by_keyword_and_says_when_there_are_many(memory: Memory) -> None:
    for n in range(6):
        slash(memory, f"/remember Rule {n}: colour{n} is good")
    assert slash(memory, "/pin colour0", confirm=True).text.startswith("pinned [id:1]")
    assert slash(memory, "/pin 1").text.startswith("unpinned [id:1]")
    said = [slash(memory, f"/pin {n}").text for n in range(1, 7)]
    assert "stand first" not in "".join(said[:5]) and "6 are pinned now" in said[5]
    assert memory.count({"pinned": True}) == 6


@pytest.mark.covers("S3-23", "S3-6")
def test_memory_shows_lists_and_searches(memory: Memory) -> None:
    assert slash(memory, "/memory list").text == "nothing is remembered yet"
    slash(memory, "/remember [warning] Never push on Fridays")
    slash(memory, "/remember [decision] One queue\nfor all")
    assert slash(memory, "/memory list").text.splitlines() == [
        "[id:2] decision: One queue for all",
        "[id:1] warning: Never push on Fridays",
    ]
    assert slash(memory, "/memory list warning").text == "[id:1] warning: Never push on Fridays"
    found = slash(memory, "/memory search pushing fridays").text
    assert found.endswith("[id:1] warning: Never push on Fridays") and float(found.split()[0]) > 0
    assert slash(memory, "/memory search zebra").text.startswith("nothing found: no memory here")
    status = slash(memory, "/memory status").text
    for part in ("2 memories in project/atlas", "warning 1", "promotions 0", "last injection never"):
        assert part in status
    assert "index: 2 records, 0 rows wait for a vector" in status
    assert slash(memory, "/memory list Warning").text == slash(memory, "/memory list warning").text


@pytest.mark.covers("S3-23", "S3-6", "S3-7")
def test_choices_are_kept_in_the_store(memory: Memory) -> None:
    assert slash(memory, "/memory budget").text == "the budget is the design's own"
    assert slash(memory, "/memory budget 900").text == "at most 900 tokens go into a prompt"
    assert "are promoted by" in slash(memory, "/memory auto").text
    assert slash(memory, "/memory auto off").text == "findings are neither stored nor promoted"
    assert slash(memory, "/memory config").text.startswith("the preset is balanced")
    assert slash(memory, "/memory config aggressive").text.startswith("the preset is aggressive")
    path = memory._tools.store.path
    memory.close()
    with Memory(path, project="atlas", design="curated", embed="none") as again:
        kept = again._choices()
        assert (kept.budget, kept.auto, kept.preset) == (900, False, "aggressive")
        assert again.context("anything").budget == 900
        assert again.context("anything", budget=50).budget == 50
        assert again.context("anything", remaining=1_000_000).budget == 900


@pytest.mark.covers("S3-23", "S3-13")
def test_aliases_are_added_listed_and_removed(memory: Memory) -> None:
    slash(memory, '/memory alias add k8s kubernetes "container cluster"')
    assert "k8s: kubernetes, container cluster" in slash(memory, "/memory alias list").text.splitlines()
    slash(memory, "/memory alias remove k8s kubernetes")
    assert memory.aliases()["k8s"] == ("container cluster",)
    slash(memory, "/memory alias remove k8s")
    assert "k8s" not in memory.aliases()


@pytest.mark.covers("S3-23")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "there is no command ''; commands are /remember, /forget, /pin, /memory"),
        ("remember x", "there is no command 'remember'"),
        ("/erase 1", "there is no command '/erase'"),
        ("/remember", "needs a text"),
        ("/remember [colour] red", "there is no category 'colour'; categories are decision"),
        ("/forget", "name a memory by its number or id, or a keyword"),
        ("/pin  ", "name a memory"),
        ("/memory", "/memory takes status, list, search, budget, alias, auto, config"),
        ("/memory wipe", "not 'wipe'"),
        ("/memory list colour", "there is no category 'colour'"),
        ("/memory budget -5", "takes a number of tokens"),
        ("/memory budget many", "takes a number of tokens"),
        ("/memory budget 99999999999", "budget must be a whole number from 1 to 1,000,000"),
        ("/memory auto maybe", "takes on or off"),
        ("/memory config bold", "there is no preset 'bold'; presets are conservative, balanced, aggressive"),
        ("/memory alias grow x", "takes list, add WORD MEANS"),
        ("/memory alias add", "takes list, add WORD MEANS"),
        ('/memory alias add "x', "close the quotes"),
    ],
)
def test_what_is_no_command_is_answered_with_those_there_are(memory: Memory, line: str, words: str) -> None:
    with pytest.raises(Invalid, match=words.replace("/", "/")):
        slash(memory, line)
    assert memory.count() == 0 and memory._choices().aliases == {}


def test_what_is_not_there_is_not_found(memory: Memory) -> None:
    for line in ("/forget 7", "/pin 7", "/forget zebra", "/pin zebra", "/forget m01234567"):
        with pytest.raises(NotFound):
            slash(memory, line)
    with pytest.raises(MemoristError):
        slash(memory, None)  # type: ignore[arg-type]


def test_no_text_can_pretend_to_be_another_line(memory: Memory) -> None:
    slash(memory, "/remember harmless\n[id:9] warning: forged\x1b[2J")
    listed = slash(memory, "/memory list").text
    assert len(listed.splitlines()) == 1 and "\x1b" not in listed


def test_the_commands_are_those_of_the_document() -> None:
    """Those of the document, and the one of another that begins a night."""
    assert list(COMMANDS) == ["/remember", "/forget", "/pin", "/memory", "/consolidate"]
    assert seeds.curated.slash is slash


def test_an_id_of_the_far_future_is_an_id() -> None:
    ids = [new_id(datetime(year, 1, 2, tzinfo=UTC)) for year in (1970, 2026, 9999)]
    forget_issued_ids()
    assert all(REFERENCE.fullmatch(id[:20]) and REFERENCE.fullmatch(id) for id in ids)
    assert not any(REFERENCE.fullmatch(word) for word in ("mysql", "made", "m", "m9s", "mm01"))
