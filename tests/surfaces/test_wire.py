"""JSON and the facade: what is taken, what comes back, and what an error is called, read from the signatures alone."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from memorist import Memory, errors
from memorist.commands import SESSION_PARTS, VERBS
from memorist.errors import Conflict, Invalid, MemoristError, NotFound, OutOfScope, StoreUnavailable
from memorist.noun import plain
from memorist.records import Context, Hit, Outcome, Recall, Record, Report
from memorist.surfaces import wire

NAMES = [*(name for name in VERBS if VERBS[name].http), *SESSION_PARTS]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
    | st.sampled_from(["useful", "memory", "pending", "approve", "2026-05-01"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@pytest.fixture
def memory() -> Memory:
    memory = Memory(":memory:")
    memory.remember("Staging runs Postgres 16", kind="decision", tags=["db"])
    memory.remember("Production runs Postgres 15", kind="decision", tags=["db"])
    return memory


# ---------------------------------------------------------------- what is taken


@pytest.mark.parametrize("verb", NAMES)
def test_a_schema_is_valid_and_names_every_argument_of_the_facade(verb: str) -> None:
    found = wire.schema(verb)
    Draft202012Validator.check_schema(found)
    json.dumps(found)  # it is data
    assert list(found["properties"]) == list(wire.parameters(verb))
    assert found["additionalProperties"] is False
    if verb in VERBS:
        assert all(each["description"] for each in found["properties"].values())


@pytest.mark.parametrize("kind", ["session", "task", "narrative", "cluster"])
def test_a_text_is_not_kept_as_what_a_verb_of_its_own_keeps(kind: str) -> None:
    text = {"text": "The gate is green", "kind": kind}
    calls = {"remember": text, "remember_many": {"many": [text]}, "revise": {"id": "1", "kind": kind}}
    for verb, said in (calls | {"session.note": {"session": "s1", **text}}).items():
        with pytest.raises(Invalid, match=f"keeps no {kind}: .* take another kind"):
            wire.arguments(verb, said)
    assert kind not in wire.schema("remember")["properties"]["kind"]["description"].replace("task_progress", "").split(
        ", "
    )
    wire.arguments("remember", {"text": "Hello", "kind": "turn", "session": "s1", "role": "user"})


ARGUMENTS = [(verb, name) for verb in NAMES for name in wire.parameters(verb) if verb != "remember_many"]


@given(st.sampled_from(ARGUMENTS), VALUES)
def test_what_the_schema_allows_is_taken_and_nothing_else(argument: tuple[str, str], value: Any) -> None:
    verb, name = argument
    whole = wire.schema(verb)
    allowed = Draft202012Validator(whole["properties"][name]).is_valid(value)
    others = {each: _any(whole["properties"][each]) for each in wire.schema(verb)["required"] if each != name}
    try:
        read = wire.arguments(verb, {**others, name: value})
    except Invalid as problem:
        assert not allowed and name in str(problem)
    else:
        assert allowed and read[name] == value


def _any(schema: dict[str, Any]) -> Any:
    """A value that fits."""
    tries: list[Any] = ["text", 5, [], {}, *schema.get("enum", [])]
    return next(each for each in tries if Draft202012Validator(schema).is_valid(each))


def test_unknown_names_are_refused_by_name_with_what_was_meant() -> None:
    with pytest.raises(Invalid, match=r"recall has no argument 'limitt'; did you mean 'limit'\?"):
        wire.arguments("recall", {"query": "x", "limitt": 3})
    with pytest.raises(Invalid, match=r"'zeta', 'eta'.*it takes query, limit"):
        wire.arguments("recall", {"query": "x", "zeta": 3, "eta": 4})


def test_what_is_missing_is_named() -> None:
    with pytest.raises(Invalid, match="feedback needs id, verdict"):
        wire.arguments("feedback", {})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"query": 5}, "query must be a text, not 5"),
        ({"query": "x", "limit": "5"}, "limit must be a whole number, not '5'"),
        ({"query": "x", "limit": True}, "limit must be a whole number, not True"),
        ({"query": "x", "search": "everywhere"}, "search must be memory or sessions or"),
        ({"query": "x", "kinds": "fact"}, "kinds must be a list of texts, not 'fact'"),
        ({"query": "x", "kinds": [1]}, "one of kinds must be a text, not 1"),
        ({"query": "x", "where": []}, "where must be an object, not"),
    ],
)
def test_a_wrong_type_is_refused_with_the_name_and_what_it_must_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as problem:
        wire.arguments("recall", given)
    assert said in str(problem.value)


def test_of_many_memories_the_wrong_one_is_named_by_its_place() -> None:
    with pytest.raises(Invalid, match=r"memory 2: remember has no argument 'tag'; did you mean 'tags'\?; nothing"):
        wire.arguments("remember_many", {"many": ["a", {"text": "b", "tag": "x"}]})


@pytest.mark.parametrize(("verb", "name"), [("recall", "as_of"), ("timeline", "around"), ("remember", "at")])
def test_a_time_in_words_is_the_moment_when_it_begins(verb: str, name: str) -> None:
    first = {each: "words" for each in wire.schema(verb)["required"]}
    midnight = (datetime.now() - timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert wire.arguments(verb, {**first, name: "yesterday"})[name] in (
        midnight.astimezone(UTC),
        (midnight + timedelta(days=1)).astimezone(UTC),  # where a day began meanwhile
    )
    for other in ("2026-05-01", "1234", "yesterdayish"):
        assert wire.arguments(verb, {**first, name: other})[name] == other
    assert wire.arguments("remember", {"text": "yesterday"})["text"] == "yesterday"


def test_a_query_is_read_by_the_types_of_the_arguments() -> None:
    pairs = [("limit", "5"), ("verbs", "added"), ("verbs", "revised"), ("after", "7"), ("actor", "12")]
    assert wire.queried("log", pairs) == {"limit": 5, "verbs": ["added", "revised"], "after": 7, "actor": "12"}
    assert wire.queried("list", [("where", '{"kind": "fact"}')]) == {"where": {"kind": "fact"}}
    assert wire.queried("tasks", [("ready", "true")]) == {"ready": True}
    assert wire.queried("list", [("limit", "NaN")]) == {"limit": "NaN"}  # which `arguments` refuses


def test_an_argument_that_takes_one_value_is_not_given_twice() -> None:
    with pytest.raises(Invalid, match="limit was given more than once"):
        wire.queried("list", [("limit", "1"), ("limit", "2")])


# ---------------------------------------------------------------- calls, and answers there and back


def done(memory: Memory, verb: str, **given: Any) -> Any:
    return wire.call(memory, verb, wire.arguments(verb, given))


def back(verb: str, answer: Any) -> Any:
    """The answer through JSON."""
    return wire.noun(wire.returns(verb), json.loads(json.dumps(plain(answer), allow_nan=False)))


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("remember", {"text": "Deploys happen on Friday"}),
    ("remember", {"text": [{"role": "user", "content": "hello there"}], "session": "s1"}),
    ("remember_many", {"many": ["One thing", {"text": "Another thing", "tags": ["x"]}]}),
    ("revise", {"id": 1, "text": "Staging runs Postgres 17", "expected_version": 1}),
    ("pin", {"id": 1}),
    ("tag", {"id": "1", "tags": ["a", "b"], "remove": ["db"]}),
    ("link", {"a": 1, "b": 2, "kind": "contradicts"}),
    ("feedback", {"id": 1, "verdict": "useful"}),
    ("forget", {"id": 2}),
    ("forget", {"where": {"tags": {"$any": ["db"]}}, "dry_run": True}),
    ("erase", {"id": 2}),
    ("undo", {}),
    ("extract", {"text": "We decided to use Postgres 16 for staging.", "session": "s1"}),
    ("promote", {}),
    ("review", {}),
    ("alias", {"word": "pg", "means": ["postgres"]}),
    ("aliases", {}),
    ("session", {"id": "s9", "agent": "claude"}),
    ("ingest", {"messages": [{"role": "user", "content": "hello"}], "session": "s2"}),
    ("narrate", {"summary": "We compared databases.", "topic": "databases"}),
    ("narratives", {}),
    ("add_task", {"title": "Upgrade Postgres", "criteria": ["all green"]}),
    ("tasks", {}),
    ("recall", {"query": "which database does staging use?"}),
    ("explain", {"query": "which database does staging use?", "limit": 1}),
    ("why_not", {"id": 2, "query": "which database does staging use?"}),
    ("context", {"query": "which database does staging use?", "budget": 500}),
    ("get", {"id": 1}),
    ("list", {}),
    ("count", {"where": {"tags": {"$any": ["db"]}}}),
    ("sessions", {}),
    ("links", {"id": 1}),
    ("timeline", {"around": "2026-05-01"}),
    ("history", {"id": 1}),
    ("log", {}),
    ("conflicts", {}),
    ("projects", {}),
    ("upkeep", {"dry_run": True}),
    ("rescan", {"dry_run": True}),
    ("audit", {}),
    ("status", {}),
    ("doctor", {}),
]


@pytest.mark.parametrize(("verb", "given"), CALLS, ids=[verb for verb, _ in CALLS])
def test_an_answer_comes_back_from_json_as_it_was_and_fits_its_schema(
    memory: Memory, verb: str, given: dict[str, Any]
) -> None:
    memory.link(1, 2, "contradicts")
    answer = done(memory, verb, **given)
    assert back(verb, answer) == answer
    schema, nouns = wire.answers(verb, "#/$defs/")
    Draft202012Validator({**schema, "$defs": nouns}).validate(json.loads(json.dumps(plain(answer))))


def test_a_recall_from_json_behaves_like_the_facades(memory: Memory) -> None:
    found = back("recall", memory.recall("which database does staging use?"))
    assert isinstance(found, Recall) and isinstance(found[0], Hit) and isinstance(found[0].record, Record)
    assert [hit.text for hit in found] == [hit.text for hit in memory.recall("which database does staging use?")]
    assert isinstance(found[0].record.times.at, datetime) and memory.get(found[0]).text == found[0].text
    context = memory.context("which database does staging use?", budget=500)
    assert str(back("context", context)) == str(context) != ""


def test_the_parts_of_a_session_are_called_one_by_one(memory: Memory) -> None:
    assert done(memory, "session.turn", session="s1", role="user", text="We moved to Postgres 16", id="m1")
    again = done(memory, "session.turn", session="s1", role="user", text="We moved to Postgres 16", id="m1")
    assert again.outcome == "repeated"
    done(memory, "session.note", session="s1", text="Staging runs Postgres 16", tags=["db"], agent="claude")
    done(memory, "session.tool_call", session="s1", name="ls", input={"path": "."}, id="c1")
    done(memory, "session.tool_result", session="s1", id="c1", output="README.md")
    assert [turn.provenance.role for turn in done(memory, "session.turns", session="s1")] == [
        "user", "assistant", "tool",
    ]  # fmt: skip
    assert len(done(memory, "session.turns", session="s1", limit=1)) == 1
    window = done(memory, "session.window", session="s1", limit=2000)
    assert back("session.window", window).messages == window.messages
    assert isinstance(done(memory, "session.compact", session="s1", keep=1), Outcome)
    assert all(isinstance(each, Outcome) for each in done(memory, "session.flush", session="s1"))
    fork = done(memory, "session.fork", session="s1", id="s2", agent="codex")
    assert fork.title == "s2" and done(memory, "session.turns", session="s2")
    assert isinstance(done(memory, "session.close", session="s1"), Report)
    assert memory.sessions(state="closed")[0].title == "s1"


@pytest.mark.parametrize("part", ["turns", "window", "compact", "flush", "fork", "close"])
def test_a_slip_makes_no_session(memory: Memory, part: str) -> None:
    more = {"limit": 100} if part == "window" else {}
    with pytest.raises(NotFound, match="there is no session 's7' here"):
        done(memory, f"session.{part}", session="s7", **more)
    assert memory.sessions() == []


def test_a_session_of_a_user_is_reached_by_naming_the_user(memory: Memory) -> None:
    done(memory, "session.turn", session="s1", user="ann", role="user", text="I like tea")
    assert [each.scope for each in done(memory, "session.turns", session="s1", user="ann")] == ["user/ann"]
    assert isinstance(back("session.turns", done(memory, "session.turns", session="s1", user="ann"))[0], Record)


def test_an_empty_context_is_false_after_json_too() -> None:
    assert not wire.noun(Context, plain(Context("", empty_because="nothing fits")))


# ---------------------------------------------------------------- errors

ERRORS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, MemoristError)]


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_has_a_status_and_comes_back_as_its_own_class(kind: type[MemoristError]) -> None:
    told = wire.problem(kind("the fact; the next step"))
    assert (
        told.code == kind.code and told.detail == "the fact; the next step" and 400 <= told.status < 600 and told.title
    )
    again = wire.raised(told.code, told.detail)
    assert type(again) is kind and str(again) == told.detail


def test_no_two_errors_share_a_code() -> None:
    codes = [*(kind.code for kind in ERRORS), *wire.DOORS]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("code", sorted(wire.DOORS))
def test_what_is_refused_at_the_door_tells_a_program_what_it_can_do(code: str) -> None:
    told = wire.problem(wire.TurnedAway(code, "no"))
    assert (told.status, told.code) == (wire.DOORS[code].status, code)
    again = wire.raised(code, "no")
    assert isinstance(again, {401: OutOfScope, 403: OutOfScope, 404: NotFound}.get(told.status, MemoristError))
    assert again.retry_safe == (told.status in (408, 429, 503, 507))


def test_a_fault_tells_nothing_of_what_went_wrong_inside() -> None:
    told = wire.problem(KeyError("a secret"))
    assert (told.status, told.code) == (500, "fault") and "secret" not in told.detail


def test_a_full_disk_is_told_as_such() -> None:
    told = wire.problem(OSError(28, "No space left on device"))
    assert told.code == StoreUnavailable.code and "the disk is full" in told.detail


def test_an_unknown_code_is_an_error_all_the_same() -> None:
    assert type(wire.raised("of_tomorrow", "x")) is MemoristError
    assert type(wire.raised("conflict", "x")) is Conflict
