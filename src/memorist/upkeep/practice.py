"""A job that asks whether a recurring sequence of tool calls is a procedure: the same calls in three sessions.

The kind of a call is its tool, plus for a shell the program and its subcommand: `git commit -m "…"` is `git commit`.
The longest sequences that recur are put to a person, with what the user said before the last of them; whatever differed
between sessions is left out of the steps. Only what a person confirms becomes a memory: calls are an agent's, and steps
that recur may be a bad habit. The question shows every step whole, or is not asked. It is also not asked if a call
gives orders to its reader. Nobody is asked about the same steps twice.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, repeat
from typing import Any, ClassVar, NamedTuple

from memorist.access import Access
from memorist.design import Ask, Proposal, Tools, itself
from memorist.records import Record
from memorist.remember.authority import RANK
from memorist.remember.choices import ASKED
from memorist.remember.consent import SHOWN, shown_in_question
from memorist.store.where import Order, Where
from memorist.text.injection import gives_orders
from memorist.text.procedure import PROCEDURE

TURNS_READ = 5000  # turns that are read
TIMES_DONE = 3  # sessions with the same sequence that make it a procedure
FEWEST_STEPS, MOST_STEPS = 3, 8
LONGEST_SHOWN = 120  # characters of a step, and of what the user asked for
SHELL_FIELDS = ("command", "cmd", "script")  # the input fields in which shells take a command
JOINTS = str.maketrans("", "", "-:.")  # removed from a subcommand before it is checked: `run-tests`, `test:unit`
RECURS = "the same was done in several sessions"


class DoneBefore(NamedTuple):
    """A tool call: its kind, its full text, what the user had asked for, and the turns that show both."""

    kind: str
    whole: str
    asked: str
    turns: tuple[str, ...]  # by id: a question that quotes an erased turn is withdrawn


@dataclass(frozen=True, slots=True)
class SuggestProcedures:
    """Asks a person about at most `most` recurring sequences of calls."""

    most: int = 3
    name: ClassVar[str] = "suggest_procedures"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        turns = Where(who).also("state", "eq", "active").also("kind", "eq", "turn")
        read = [turn for turn in tools.store.find(turns, Order("number"), TURNS_READ)[::-1] if _is_vouched_for(turn)]
        asks: list[Ask] = []
        for place, some in groupby(sorted(read, key=lambda turn: turn.scope), lambda turn: turn.scope):
            if not tools.over():
                asks += filter(None, (_ask(place, times) for times in recurring(list(_sessions(list(some))))))
        return Proposal("added", itself, RECURS, (), asks=tuple(asks), most=self.most)


def _is_vouched_for(turn: Record) -> bool:
    """Leaves out what a tool printed or a page said."""
    return RANK[turn.origin] >= RANK["agent"] and turn.provenance.session is not None


def _sessions(turns: Sequence[Record]) -> Iterator[list[DoneBefore]]:
    """The calls of each session in order; the same call several times in a row counts once. The session with the latest
    turn comes last."""
    of: dict[str | None, list[Record]] = {}
    for turn in turns:
        of.setdefault(turn.provenance.session, []).append(turn)
    for some in sorted(of.values(), key=lambda some: some[-1].number):
        asked, by, calls = "", tuple[str, ...](), list[DoneBefore]()
        for turn in some:
            call = turn.data.get("call")
            if isinstance(call, Mapping):
                done = DoneBefore(kind_of(call), turn.text, asked, (turn.id, *by))
                calls += [done] if not calls or calls[-1][:2] != done[:2] else []
            elif turn.provenance.role == "user":
                asked, by = turn.text, (turn.id,)
        yield calls


def kind_of(call: Mapping[str, Any]) -> str:
    """The tool; for a shell also the program and its subcommand."""
    given, name = call.get("input"), str(call.get("name"))
    command = next(filter(None, map(given.get, SHELL_FIELDS)), None) if isinstance(given, Mapping) else given
    plain = [
        word for word in str(command or "").partition("\n")[0].split() if not word.startswith("-") and "=" not in word
    ]
    if not isinstance(command, str) or not plain:
        return name
    told = plain[: 1 + (len(plain) > 1 and plain[1].translate(JOINTS).isidentifier())]
    return f"{name}: {' '.join(told)[:LONGEST_SHOWN]}"


def recurring(sessions: Sequence[Sequence[DoneBefore]]) -> list[list[Sequence[DoneBefore]]]:
    """The sequences that enough sessions share, each with all its occurrences; the longest first. A sequence is left
    out if it is part of another, or if it overlaps with others so often that too few sessions have it alone."""
    seen = _seen(sessions)
    chosen, taken = list[tuple[str, ...]](), set[tuple[int, int]]()
    for kinds in sorted(seen, key=lambda kinds: (-len(kinds), -len(seen[kinds]), kinds)):
        spots = [set(zip(repeat(number), steps)) for number, steps in seen[kinds].items()]
        alone = sum(map(taken.isdisjoint, spots)) >= TIMES_DONE
        if alone and not any(map(partial(_is_part, kinds), chosen)):
            chosen.append(kinds)
            taken |= _stretch(seen[kinds], sessions)
    return [[sessions[number][steps.start : steps.stop] for number, steps in seen[kinds].items()] for kinds in chosen]


def _seen(sessions: Sequence[Sequence[DoneBefore]]) -> dict[tuple[str, ...], dict[int, range]]:
    """Where each sequence with enough different steps occurs: its last occurrence by session."""
    seen: dict[tuple[str, ...], dict[int, range]] = {}
    for number, calls in enumerate(sessions):
        for steps in _parts(len(calls)):
            kinds = tuple(call.kind for call in calls[steps.start : steps.stop])
            if len(set(kinds)) >= FEWEST_STEPS:
                seen.setdefault(kinds, {})[number] = steps
    return seen


def _stretch(found: Mapping[int, range], sessions: Sequence[Sequence[DoneBefore]]) -> set[tuple[int, int]]:
    """These steps by session, extended in both directions by the steps that enough sessions share: all of it is one
    habit, even if it is too long for a question."""
    spots = {(number, step) for number, steps in found.items() for step in steps}
    for way, end in ((-1, 0), (1, -1)):
        edge = [(number, steps[end]) for number, steps in found.items()]
        while edge:
            spots.update(edge)
            edge = _further(edge, way, sessions)
    return spots


def _further(
    edge: Sequence[tuple[int, int]], way: int, sessions: Sequence[Sequence[DoneBefore]]
) -> list[tuple[int, int]]:
    """The next steps in that direction, of the sessions that continue alike, if there are enough of them."""
    beside = {(n, step + way): sessions[n][step + way].kind for n, step in edge if 0 <= step + way < len(sessions[n])}
    often = {kind for kind, times in Counter(beside.values()).most_common(1) if times >= TIMES_DONE}
    return [spot for spot, kind in beside.items() if kind in often]


def _parts(calls: int) -> Iterator[range]:
    for size in range(FEWEST_STEPS, MOST_STEPS + 1):
        yield from (range(start, start + size) for start in range(calls - size + 1))


def _is_part(some: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return any(whole[start : start + len(some)] == some for start in range(len(whole) - len(some) + 1))


def _ask(place: str, times: Sequence[Sequence[DoneBefore]]) -> Ask | None:
    """The question; None if one of the calls gives orders, or if not all of the steps can be shown."""
    steps, done = _steps(times), list(chain.from_iterable(times))
    if steps is None or any(gives_orders(each.whole) for each in done):
        return None
    asked = " ".join(times[-1][0].asked.split())[:LONGEST_SHOWN]
    wanted = "" if gives_orders(asked) else asked
    text = f"How it is done here: {wanted or ', then '.join(steps)[:LONGEST_SHOWN]}"
    draft = {"text": text, "kind": PROCEDURE, "scope": place, "data": {"steps": steps}}
    last = f" (the last time for “{wanted}”)" if wanted else ""
    shown = shown_in_question("; ".join(steps))
    summary = f"in {place}, keep as a procedure what was done in {len(times):,} sessions: {shown}{last}"
    asked_about = f"{place}: is {[each.kind for each in times[0]]} a procedure?"
    turns = sorted(set(chain.from_iterable(each.turns for each in done)))
    return Ask("remember", summary, None, {"draft": draft, "scope": place, "turns": turns, ASKED: asked_about})


def _steps(times: Sequence[Sequence[DoneBefore]]) -> list[str] | None:
    """The steps in words; if that is too long for a question, their kinds; None if these are too long as well."""
    whole = [_step([each[number] for each in times]) for number in range(len(times[0]))]
    said = (whole, [done.kind for done in times[0]])
    return next((steps for steps in said if len(shown_in_question("; ".join(steps))) <= SHOWN), None)


def _step(times: Sequence[DoneBefore]) -> str:
    """A step in words: the whole call if it was always the same, else its kind."""
    wholes = {each.whole for each in times}
    whole = " ".join(times[-1].whole.split())
    return whole if len(wholes) == 1 and len(whole) <= LONGEST_SHOWN else times[-1].kind
