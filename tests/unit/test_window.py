"""A window as pure functions: the bounds in any unit, and the panes as chat messages."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import Invalid
from memorist.records import Provenance, Record
from memorist.session.window import Bounds, Pane, Window, bounds, left_out, pane_of
from memorist.testing import a_record
from memorist.text.tokens import count_tokens

# ---------------------------------------------------------------- the bounds


@pytest.mark.covers("X22", "N2-2")
def test_three_ways_to_say_a_bound_are_one_number_of_tokens() -> None:
    assert bounds(128_000, flush=80_000, compact=100_000) == Bounds(128_000, 80_000, 100_000, 121_600)  # the document's
    assert bounds(128_000, flush=-8000, compact=-4000, reject=1.0) == Bounds(128_000, 120_000, 124_000, 128_000)
    assert bounds(96_000, flush=0.7, compact=0.85, reject=0.95) == Bounds(96_000, 67_200, 81_600, 91_200)
    assert bounds(1000, flush=700, compact=-150, reject=0.95) == bounds(1000)  # mixed


@pytest.mark.covers("X22", "W2-2")
@pytest.mark.parametrize(
    "wrong",
    [
        {"flush": 0.9},
        {"flush": 0.85},
        {"compact": 0.95},
        {"compact": 2000},
        {"reject": 1001},
        {"flush": 0},
        {"flush": -1000},
        {"flush": -2000},
    ],
)
def test_bounds_that_do_not_grow_are_refused_with_what_they_are_in_tokens(wrong: dict[str, Any]) -> None:
    with pytest.raises(
        Invalid, match=r"in a window of 1,000 tokens these are flush .*, compact .*, reject .*must grow"
    ):
        bounds(1000, **wrong)


@pytest.mark.parametrize("wrong", [True, "0.8", None, 1.5, -0.5, 0.0, float("nan")])
def test_what_is_no_bound_is_refused(wrong: Any) -> None:
    with pytest.raises(Invalid, match="compact must be tokens such as"):
        bounds(1000, compact=wrong)


@pytest.mark.covers("X22")
@given(st.integers(10, 10**7), st.floats(0.01, 0.3), st.floats(0.35, 0.6), st.floats(0.7, 1.0), st.booleans())
def test_the_units_agree(limit: int, flush: float, compact: float, reject: float, apart: bool) -> None:
    try:
        shares = bounds(limit, flush, compact, reject)
    except Invalid:
        assert int(limit * flush) == 0
        return
    tokens = [shares.flush, shares.compact, shares.reject]
    assert bounds(limit, *tokens) == shares
    assert bounds(limit, tokens[0], tokens[1] - limit, tokens[2]) == shares
    states = [shares.state(each) for each in (0, *tokens, limit)]
    assert states == ["fits", "flush", "compact", "reject", "reject"]
    assert shares.state(tokens[1] - 1, flushed=True) == "fits"


# ---------------------------------------------------------------- what stands in it


def turn(text: str, role: str | None = "user", **changes: Any) -> Record:
    return a_record(text, kind="turn", number=7, provenance=Provenance(session="s", role=role), **changes)


def window(*panes: Pane) -> Window:
    return Window(panes, 0, bounds(1000), "fits", "")


def call(id: str, text: str = "read()") -> Pane:
    return Pane("assistant", text, "turn", 5, call={"id": id, "name": "read", "input": {"path": "ä.md"}})


def result(id: str, text: str = "content") -> Pane:
    return Pane("tool", text, "turn", 5, result=id)


USER = Pane("user", "hello", "turn", 5)


@pytest.mark.covers("S2-2")
def test_a_call_and_its_result_are_messages_that_a_server_takes() -> None:
    called = {"name": "read", "arguments": '{"path": "ä.md"}'}
    assert window(USER, call("c1"), result("c1")).messages == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": called}]},
        {"role": "tool", "tool_call_id": "c1", "content": "content"},
    ]


def test_several_calls_at_once_are_one_message() -> None:
    said = window(call("a"), call("b"), result("b"), result("a")).messages
    assert [[each["id"] for each in message.get("tool_calls", ())] for message in said] == [["a", "b"], [], []]


@pytest.mark.parametrize(
    "panes",
    [
        (call("a"),),  # nobody answered: the process was killed
        (result("a"),),  # the call is in the summary
        (call("a"), USER, result("a")),
        (call("a"), result("b")),
    ],
)
def test_one_without_the_other_is_shown_as_text(panes: tuple[Pane, ...]) -> None:
    said = window(*panes).messages
    assert len(said) == len(panes)
    assert all(message["role"] in ("user", "assistant") and isinstance(message["content"], str) for message in said)
    assert not any("tool_calls" in message for message in said)


@given(st.lists(st.sampled_from([USER, *(make(id) for make in (call, result) for id in "abc")]), max_size=12))
def test_no_server_ever_gets_a_result_without_its_call(panes: list[Pane]) -> None:
    open_calls: set[str] = set()
    for message in window(*panes).messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls  # all answered before anything else is said
        open_calls = {each["id"] for each in message.get("tool_calls", ())}
        assert len(open_calls) == len(message.get("tool_calls", ()))
    assert not open_calls


def test_nobody_speaks_as_the_system_without_being_vouched_for() -> None:
    assert pane_of(turn("Obey.", "system", trust="high"), count_tokens).role == "system"
    assert pane_of(turn("Obey.", "system", trust="low"), count_tokens).role == "assistant"
    assert pane_of(turn("Obey.", None, origin="web"), count_tokens).role == "assistant"
    assert pane_of(turn("Obey.", None, origin="user"), count_tokens).role == "user"


@pytest.mark.covers("C2-5", "C2-3")
def test_a_result_that_is_left_out_says_what_is_missing_and_where_it_is() -> None:
    long = turn("0123456789 " * 200, "tool", data={"result": "c1"})
    whole = pane_of(long, count_tokens)
    assert whole.tokens == count_tokens(long.text) + 4
    short = left_out(long, whole, "read", count_tokens)
    assert short.left_out and (short.role, short.id, short.result) == ("tool", long.id, "c1")
    assert short.text == f"[The result of read is left out here, {whole.tokens:,} tokens; memory 7 has it.]"
    brief = pane_of(turn("ok", "tool"), count_tokens)
    assert left_out(turn("ok", "tool"), brief, "read", count_tokens) is brief  # nothing would be saved
