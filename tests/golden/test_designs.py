"""Six designs over one engine: each with the main numbers of its document, and a store that changes its design at any time."""

import math
from datetime import timedelta
from typing import Any

import pytest

from golden.driver import BEGIN, DESIGNS, Clock, Error, Lib, retaining, seed, slash

NOON = BEGIN + timedelta(hours=12)
ASKED = "which database does staging run?"
TEXTS = (
    ("Staging runs Postgres 16", "decision", 0.9),
    ("Postgres backups go to the cold bucket every night", "fact", 0.6),
    ("Never run the migration while the nightly export is running", "warning", 0.85),
    ("Ann prefers small pull requests", "preference", 0.9),
    ("The database password rotates every month", "note", 0.5),
)


@pytest.mark.covers("X7", "X8", "X3")
def test_every_design_answers_over_one_store_and_leaves_no_trace_for_another(place: Any) -> None:
    with Lib(place, clock=Clock(NOON)) as lib:
        for text, kind, importance in TEXTS:
            lib.keep(text, kind=kind, importance=importance, at=NOON - timedelta(days=30))
        lib.vote(1)
        before, events = lib.state(), lib.call("audit").events
    answers: dict[str, list[Any]] = {}
    for design in (*DESIGNS, *reversed(DESIGNS)):
        with Lib(place, design=design, clock=Clock(NOON)) as lib:
            found = lib.look(ASKED)
            assert found[0].text == TEXTS[0][0], design
            answers.setdefault(design, [(row.number, row.score) for row in found])
            assert answers[design] == [(row.number, row.score) for row in found], "the same on the way back"
            assert (lib.state(), lib.call("audit").events) == (before, events) and lib.call("audit").ok
    assert len({str(answer) for answer in answers.values()}) == len(DESIGNS), "each weighs in its own way"


@pytest.mark.covers("X7", "S3-29")
def test_a_store_is_written_by_one_design_and_tidied_by_another(place: Any) -> None:
    clock = Clock(NOON)
    with Lib(place, design="tiers", clock=clock) as lib:
        lib.keep("Staging runs Postgres 16", kind="decision")
        lib.keep("A note that nobody needs", kind="note")
    clock.move(days=30)
    with Lib(place, design="curated", clock=clock) as lib:
        lib.keep("The clock went on")
        clock.move(days=2)
        assert lib.upkeep() == [2] and lib.get(2).state == "archived"
    with Lib(place, design="hebbian", clock=clock) as lib:
        assert lib.texts("postgres staging") == ["Staging runs Postgres 16"]


def aged(lib: Lib, clock: Clock, days: float, **fields: Any) -> float:
    """What a memory scores after some days, beside what it scored when it was new."""
    lib.keep("The kestrel nests in the north tower", **fields)
    fresh = lib.look("kestrel north tower")[0].score
    clock.move(days=days)
    return lib.look("kestrel north tower")[0].score / fresh


# ---------------------------------------------------------------- hebbian


@pytest.mark.covers("S1-5", "S1-6", "X8")
@pytest.mark.parametrize(("days", "left"), [(0, 1.0), (30, 0.769), (100, 0.5), (100_000, 0.25)])
def test_hebbian_recency_has_its_documents_numbers(days: float, left: float, clock: Clock) -> None:
    with Lib(design="hebbian", embed="none", clock=clock) as lib:
        assert aged(lib, clock, days) == pytest.approx(left, abs=1e-3)


@pytest.mark.covers("S1-5", "S1-7")
@pytest.mark.parametrize(("ups", "downs", "weight"), [(1, 0, 1.822), (0, 1, 0.819), (0, 5, 0.368), (1, 3, 1.0)])
def test_hebbian_votes_weigh_what_the_document_says(ups: int, downs: int, weight: float, clock: Clock) -> None:
    with Lib(design="hebbian", embed="none", clock=clock) as lib:
        lib.keep("The kestrel nests in the north tower")
        before = lib.look("kestrel")[0].score
        for verdict in ["useful"] * ups + ["wrong"] * downs:
            lib.vote(1, verdict)
        assert lib.look("kestrel")[0].score / before == pytest.approx(weight, abs=2e-3)


@pytest.mark.covers("S1-5", "S1-7", "S1-8", "S1-9", "C1-6", "S1-2")
def test_the_example_session_of_the_second_document(lib: Lib, clock: Clock) -> None:
    with Lib(design="hebbian", embed="none", clock=clock) as lib:
        tools = seed("hebbian", lib)
        tools.memory_store("Payment API HMAC signature: no trailing empty string without a body", "payments, hmac, bug")
        tools.memory_store("Payment API onboarding needs a signed contract", "payments, onboarding")
        tools.memory_store("The payment api answers 409 when the same order is sent twice", "payments, api")
        tools.memory_store("Invoices are sent on the first of the month", "billing")
        found = tools.memory_query("payment HMAC signature api", limit=5)
        assert found[0].id == 1 and len(found) == 3 and "[id:1]" in str(found)
        before = {row.id: row.rank for row in found}
        clock.move(days=30)
        assert tools.memory_reinforce(1).row.score == 3 and tools.memory_demote(3).row.score == -1
        again = {row.id: row for row in tools.memory_query("payment HMAC signature api")}
        for id, factor in {1: 1.822, 2: 0.769, 3: 0.819 * 0.769}.items():
            assert again[id].rank == pytest.approx(before[id] * factor, rel=1e-3)
        assert (again[1].last_hit_at, again[2].last_hit_at) == (clock(), None)
        clock.move(days=1)
        done = tools.memory_update(3, "The payment api answers 409 for the same idempotency key")
        assert (done.row.score, done.row.last_hit_at, done.row.tags) == (-1, clock(), "payments, api")
        assert not tools.memory_query("unicorn")
        for act in (tools.memory_reinforce, tools.memory_demote, lambda id: tools.memory_update(id, "x")):
            with pytest.raises(Error):
                act(99)


@pytest.mark.covers("S1-10", "C1-1", "S1-20", "S1-4")
def test_what_the_tools_write_is_the_agents_word_and_nothing_is_added_to_a_query(lib: Lib) -> None:
    tools = seed("hebbian", lib.caller("user"))
    tools.memory_store("The database is large")
    assert lib.get(1).origin == "agent" and not tools.memory_query("db")


@pytest.mark.covers("W1-3", "C1-6")
def test_a_confirmed_memory_far_down_by_words_is_among_five(clock: Clock) -> None:
    with Lib(design="hebbian", embed="none", clock=clock) as lib:
        lib.keep("Postgres is described in this rather long text of no other interest to anybody at all")
        lib.keep_many(f"Postgres note {n}" for n in range(40))
        for _ in range(5):
            lib.vote(1)
        assert 1 in lib.find("postgres", limit=5).numbers


@pytest.mark.covers("W1-1", "S1-12", "S1-14")
@pytest.mark.parametrize("name", ["m.db", "m.json"])
def test_pruning_over_the_limit_ends_and_spares_what_is_pinned_used_or_new(
    name: str, tmp_path: Any, clock: Clock
) -> None:
    design = retaining("hebbian", max_bytes=6_000)
    with Lib(tmp_path / name, design=design, clock=clock, embed="none") as lib:
        lib.keep_many(f"Fact {n}: shelf {n} holds {n * 3} boxes" for n in range(60))
        lib.call("pin", 1)
        lib.vote(2, "wrong")
        clock.move(days=2)
        lib.vote(4)
        lib.keep("Just written")
        gone = lib.upkeep()
        assert 2 in gone and not {1, 4, 61} & set(gone) and 10 < len(gone) < 60
        for _ in range(3):
            assert lib.upkeep() == [], "night after night, nothing is left to do"
        assert {row.state for row in lib.everything()} == {"active", "archived"}
        assert lib.find("shelf boxes", search="archive", limit=50, min_relevance=0), "it is found there"


@pytest.mark.covers("S1-12", "S1-6")
def test_while_there_is_room_nothing_goes_however_bad_it_is(clock: Clock) -> None:
    with Lib(design="hebbian", clock=clock, embed="none") as lib:
        lib.keep("A bad fact")
        for _ in range(8):
            lib.vote(1, "wrong")
        clock.move(days=900)
        assert lib.upkeep() == [] and lib.get(1).state == "active"


# ---------------------------------------------------------------- curated


@pytest.mark.covers("S3-14", "C3-1", "C3-2")
@pytest.mark.parametrize(
    ("kind", "weight"),
    [("warning", 1.4), ("decision", 1.3), ("architecture", 1.2), ("error", 1.2), ("pattern", 1.0), ("file_change", 1.0),
     ("discovery", 0.9), ("preference", 0.8)],
)  # fmt: skip
def test_curated_categories_weigh_what_the_document_says(kind: str, weight: float) -> None:
    scores = []
    for each in (kind, "pattern"):
        with Lib(design="curated", embed="none") as lib:
            lib.keep("Quorum of the harbour", kind=each)
            scores.append(lib.look("quorum harbour")[0].score)
    assert scores[0] / scores[1] == pytest.approx(weight)


@pytest.mark.covers("C3-2")
@pytest.mark.parametrize(
    ("days", "weight"), [(0.99, 1.0), (1, 0.9), (6.9, 0.9), (7, 0.7), (14, 0.5), (30, 0.3), (80, 0.3)]
)
def test_curated_age_weighs_in_steps(days: float, weight: float, clock: Clock) -> None:
    with Lib(design="curated", embed="none", clock=clock) as lib:
        assert aged(lib, clock, days, kind="architecture") == pytest.approx(weight)


@pytest.mark.covers("C3-2", "S3-14")
def test_curated_files_pins_and_use_weigh_what_the_document_says() -> None:
    def score(act: Any = lambda lib: None, files: Any = ()) -> float:
        with Lib(design="curated", embed="none") as lib:
            lib.keep("Quorum of the harbour", files=["src/auth.ts", "src/app.ts"])
            act(lib)
            return lib.look("quorum harbour", files=files)[0].score

    plain = score()
    assert score(files=["src/auth.ts"]) / plain == pytest.approx(1.3)
    assert score(files=["src/auth.ts", "src/app.ts"]) / plain == pytest.approx(1.6)
    assert score(lambda lib: lib.caller("user").call("pin", 1)) / plain == pytest.approx(2.0)
    assert score(lambda lib: [lib.vote(1) for _ in range(3)]) / plain == pytest.approx(1 + 0.1 * math.log2(4))


@pytest.mark.covers("S3-12")
@pytest.mark.parametrize("asked", ["postgress", "postgrse", "psotgres", "kuberntes", "postgr"])
def test_curated_finds_what_is_misspelt_or_only_begun(asked: str) -> None:
    with Lib(design="curated", embed="none") as lib:
        lib.keep_many(["Staging runs Postgres 16", "The cluster is Kubernetes"])
        assert len(lib.find(asked)) == 1


@pytest.mark.covers("S3-12")
def test_curated_counts_a_word_most_in_the_text_then_as_a_tag_then_in_a_path() -> None:
    with Lib(design="curated", embed="none") as lib:
        lib.keep("Nothing of it there at all", files=["quorum"])
        lib.keep("Nothing of it here at all", tags=["quorum"])
        lib.keep("Only the quorum is named once")
        assert lib.find("quorum", limit=5).numbers == [3, 2, 1]


@pytest.mark.covers("S3-13", "C3-7", "X2")
@pytest.mark.parametrize(
    ("word", "text"),
    [("auth", "authentication"), ("db", "database"), ("config", "configuration"), ("perf", "performance")],
)
def test_curated_knows_the_usual_aliases_both_ways(word: str, text: str) -> None:
    for asked, said in ((word, text), (text, word)):
        with Lib(design="curated", embed="none") as lib:
            lib.keep(f"The {said} is slow today")
            assert len(lib.find(asked)) == 1


@pytest.mark.covers("S3-14", "C3-3")
def test_curated_gives_five_and_no_session_more_than_two() -> None:
    with Lib(design="curated", embed="none") as lib:
        lib.keep_many({"text": f"The granite quarry {n}", "session": "s1", "kind": "architecture"} for n in range(9))
        assert len(lib.find("granite quarry", limit=5)) == 2
        lib.keep_many({"text": f"The granite harbour {n}", "kind": "architecture"} for n in range(9))
        assert len(lib.find("granite")) == 5


DAYS = {"progress": 14, "discovery": 21, "file_change": 21, "warning": 30, "decision": 90, "error": 90, "pattern": 180,
        "architecture": 180, "preference": 365}  # fmt: skip


@pytest.mark.covers("S3-29", "X5", "W3-9")
@pytest.mark.parametrize(("kind", "days"), DAYS.items())
def test_curated_keeps_each_kind_its_days_unless_it_is_used_pinned_or_the_users(
    kind: str, days: int, clock: Clock
) -> None:
    with Lib(design="curated", embed="none", clock=clock) as lib:
        for number in range(1, 5):
            lib.keep(f"The {kind} of the harbour, number {number}", kind=kind)
        for _ in range(3):
            lib.vote(2)
        lib.call("pin", 3)
        lib.caller("user").keep(f"A {kind} by the user", kind=kind)
        for _ in range(5):
            lib.find("harbour")  # to be shown saves nothing
        for _ in range(days // 5):
            clock.move(days=5)
            lib.keep(f"It is {clock()}", kind="turn", session="ticks")
        assert set(lib.upkeep()) & {1, 2, 3, 4, 5} == set() if days % 5 == 0 else True
        clock.move(days=5)
        lib.upkeep()
        assert [lib.get(n).state for n in (1, 2, 3, 4, 5)] == ["archived", "active", "active", "archived", "active"]


@pytest.mark.covers("S3-21", "W3-2", "W3-1")
def test_quarantine_confirms_what_helped_once_and_changes_nothing_that_is_stored(place: Any, clock: Clock) -> None:
    with Lib(place, design="curated", clock=clock) as lib:
        for n in (1, 2):
            lib.keep_many([{"text": f"Staging is green, number {n}", "doubtful": True, "importance": 0.8}])
        lib.vote(1)
        lib.find("staging")
        clock.move(hours=25)
        lib.upkeep()
    for _ in range(3):
        with Lib(place, design="curated", clock=clock) as lib:
            lib.upkeep()
            assert [row.status for row in lib.all()] == ["confirmed", "candidate"]
            assert [row.importance for row in lib.all()] == [0.8, 0.8]


@pytest.mark.covers("S3-23", "S3-6", "S3-7", "W3-15")
def test_the_commands_of_the_third_document(lib: Lib) -> None:
    with Lib(design="curated") as lib:
        slash(lib, "/remember warning Never push on Fridays")
        slash(lib, "/remember We decided to use Postgres")
        kinds = {row.kind for row in lib.all()}
        assert {"warning", "decision"} == kinds and {row.status for row in lib.all()} == {"confirmed"}
        assert "Never push on Fridays" in slash(lib, "/memory list warning")
        assert "Postgres" in slash(lib, "/memory search postgres")
        slash(lib, "/pin 1")
        assert lib.get(1).pinned
        slash(lib, "/pin 1")
        assert not lib.get(1).pinned
        slash(lib, "/forget postgres")
        assert lib.call("count") == 2, "a keyword forgets nothing until it is confirmed"
        slash(lib, "/forget 2")
        assert lib.get(2).state == "archived"
        slash(lib, "/memory alias add deployer kraken")
        assert "deployer" in str(lib.call("aliases"))
        for line in ("/memory status", "/memory auto off", "/memory config aggressive", "/memory budget 2000"):
            assert slash(lib, line)


@pytest.mark.covers("S3-22", "B7")
def test_with_auto_off_nothing_is_found_in_a_session() -> None:
    with Lib(design="curated") as lib:
        slash(lib, "/memory auto off")
        with lib.session("s1") as talk:
            talk.turn("user", "We decided to use Postgres 16 for staging, and that is settled.")
        assert [row for row in lib.all() if row.kind == "decision"] == []


# ---------------------------------------------------------------- associative


@pytest.mark.covers("S4-10", "C4-7", "W4-6", "S4-9")
@pytest.mark.parametrize(
    ("kind", "days"), [("correction", 365), ("preference", 90), ("procedure", 60), ("entity", 60), ("fact", 30)]
)
def test_associative_confidence_has_true_half_lives(kind: str, days: int, clock: Clock) -> None:
    with Lib(design="associative", embed="none", clock=clock) as lib:
        lib.caller("user").keep("The kestrel nests in the north tower", kind=kind, at=BEGIN - timedelta(days=10))
        scores = []
        for _ in range(3):
            scores.append(lib.look("kestrel north tower")[0].score)
            clock.move(days=days)
        assert scores[1] / scores[0] == pytest.approx(0.5, rel=0.01) == scores[2] / scores[1]


@pytest.mark.covers("S4-9")
def test_associative_lifts_what_is_fresh_by_half(clock: Clock) -> None:
    with Lib(design="associative", embed="none", clock=clock) as lib:
        left = aged(lib, clock, 1, kind="correction")
        assert left == pytest.approx((1 + 0.5 / math.e) / 1.5 * 0.5 ** (1 / 365), rel=1e-2)


@pytest.mark.covers("S4-7", "N4-6", "N4-9", "W4-7", "C4-2")
def test_associative_hands_on_seven_tenths_of_a_links_weight() -> None:
    with Lib(design="associative", embed="none") as lib:
        lib.keep_many(["The kestrel nests in the north tower", "The lift is broken since May", "Invoices are in Rust"])
        asked = "where does the kestrel nest?"
        assert lib.look(asked).numbers == [1]
        lib.link(1, 2, weight=0.9)
        lib.link(2, 3, weight=0.8)
        seed_, near, far = lib.look(asked, limit=10)
        assert [seed_.number, near.number, far.number] == [1, 2, 3]
        assert near.score / seed_.score == pytest.approx(0.63) and far.score / near.score == pytest.approx(0.56)


@pytest.mark.covers("S4-4")
@pytest.mark.parametrize(
    ("files", "tags"),
    [(["src/billing/invoice.py"], {"python", "billing"}), (["tests/test_x.rs"], {"rust"}), (["README.md"], set())],
)
def test_associative_infers_tags_from_files(files: list[str], tags: set[str]) -> None:
    with Lib(design="associative") as lib:
        lib.keep("The invoice is sent", files=files)
        assert set(lib.get(1).tags) == tags


@pytest.mark.covers("S4-19", "C4-8")
def test_the_one_tool_of_the_fifth_document(lib: Lib) -> None:
    tool = seed("associative", lib).memory
    tool("remember", content="The kestrel nests in the tower", category="fact", tags=["north"])
    tool("remember", content="The lift is broken", category="negative")
    assert {row.kind for row in lib.all()} == {"fact", "warning"}
    assert "kestrel" in str(tool("recall", query="where does the kestrel nest?"))
    assert "lift" in str(tool("search", query="lift")) and "kestrel" in str(tool("list", tag="north"))
    tool("link", **{"from": 1, "to": 2, "relation": "relates_to"})
    assert len(lib.call("links", 1)) == 1 and "lift" in str(tool("related", id=1))
    tool("tag", id=1, tags=["bird"])
    tool("forget", id=2)
    assert "bird" in lib.get(1).tags and lib.get(2).state == "archived"


# ---------------------------------------------------------------- notebook and tiers


@pytest.mark.covers("S2-5", "S2-9", "W2-6", "C2-1")
def test_the_notebook_adds_to_its_sections_and_never_replaces(lib: Lib) -> None:
    with Lib(design="notebook") as lib:
        book = seed("notebook", lib)
        book.append("Key Decisions", "We ship on Tuesdays")
        book.append("Key Decisions", "We never ship at night")
        book.append("User Preferences", "Short answers")
        page = str(book.read())
        places = [page.index(text) for text in ("We ship on Tuesdays", "We never ship at night", "Short answers")]
        assert places == sorted(places) and page.count("Key Decisions") == 1
        assert "We ship on Tuesdays" in lib.prompt("", inject="core").text


@pytest.mark.covers("S0-7", "S0-8", "S0-9", "W0-8", "S0-12", "S0-10", "S0-6")
def test_the_tiers_keep_what_the_document_says(lib: Lib) -> None:
    with Lib(design="tiers", confirm=lambda ask: True) as lib:
        tools = seed("tiers", lib)
        task = tools.task("t1")
        reasoning, output = task.add_reasoning("look at the log", "look"), task.add_tool_output("grep", "3 errors")
        assert (reasoning.kind, reasoning.importance, reasoning.source) == ("reasoning", 0.5, "task/t1/look")
        assert (output.kind, output.importance, list(output.tags)[:2]) == ("tool_output", 0.7, ["task", "tool"])
        found = [tools.add_decision("Use Postgres", ["db"]), tools.add_convention("Tabs", "style"),
                 tools.add_failure({"code": "E1"}, "Check the certificate"), tools.add_preference("Short", "style"),
                 tools.add_pattern("Retry", "nets")]  # fmt: skip
        assert [item.importance for item in found] == [0.9, 0.8, 0.85, 0.9, 0.7]
        tools.cleanup_task("t1", keep=[reasoning.id])
        assert tools.task("t1").count() == 0 and tools.project.count() == 4
        assert len(tools.query_decisions()) == 1 and len(tools.query_preferences()) == 1
