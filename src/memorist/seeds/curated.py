"""Slash commands, as a person types them into a chat: the curated design's own way in.

    /remember [category] text        keeps it, confirmed; the category is guessed where none is given
    /forget id-or-keyword            forgets the memory with that id; for a keyword, shows what it would forget
    /pin id-or-keyword               pins it, or unpins it, after showing what a keyword found; a finding of a session becomes
                                     a memory of its project
    /memory status | list [category] | search question | budget [tokens|default] | auto [on|off] | config [preset]
    /memory alias list | add word means… | remove word [means…]

Each gives a `SlashReply` whose text is for the person. A keyword never acts: what it finds is named, and forgotten or pinned
only with `confirm=True`. A number that no memory has is a keyword, for memories whose text holds it.

The door decides whose word a command is. It acts with the access of the memory that is passed in, which is an agent's unless
it was opened as somebody else's; a program that passes on what a person typed hands in that person's `access`. At a terminal
(`memorist slash`) it is the user's. A memory of any design can be passed in; only `/memory search` answers as that design does.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from memorist.access import Access, family_of
from memorist.errors import Invalid, NotFound
from memorist.kinds import ALIASES, KINDS
from memorist.lazy import dataclass
from memorist.memory import Memory
from memorist.records import Hit, Outcome, Record, Report
from memorist.remember.promotion import PRESETS
from memorist.text.question import kinds_in
from memorist.text.visible import quoted, visible
from memorist.upkeep.tidy import Contradictions, TagCleanup, Verify

IMPORTANCE = 0.8  # of memories that a person asks for
CATEGORY = re.compile(r"\s*(?:\[(?P<marked>\w+)\]|(?P<said>\w+):(?=\s)|(?P<bare>\w+)(?=\s))\s*")
REFERENCE = re.compile(r"\d+|\[(?:id:)?\d+\]|m[0-7][0-9a-z]{2,25}")  # no word begins with m and a digit
DEFAULT = "default"  # instead of a number: what the design has
DONE = ("changed", "unchanged")  # outcomes: it is as it was asked for
FIRST = 5  # pinned memories that come first in an answer
LISTED = 20
SHOWN = 120  # characters of a memory in an answer


@dataclass(frozen=True, slots=True)
class SlashReply:
    """The result of a command. `asks` is true if nothing was done yet: the same command with `confirm=True` does it."""

    command: str
    text: str
    ids: tuple[int, ...] = ()
    asks: bool = False

    def __str__(self) -> str:
        return self.text


def slash(memory: Memory, line: str, confirm: bool = False, access: Access | None = None) -> SlashReply:
    """Runs one command, such as "/remember We deploy on Mondays". `access`: of whoever typed it, if that is not whoever the
    memory was opened for, such as `replace(memory.access, origin="user", actor="ann")`; never from what the text says."""
    if not isinstance(line, str):
        raise Invalid(f"a command is a text such as '/remember …', not {type(line).__name__}")
    if access is not None:
        if not isinstance(access, Access):
            raise Invalid(f"access is the Access of whoever typed the command, not {quoted(access)}")
        memory = memory.through(access)
    name, rest = _halved(line)
    if name not in COMMANDS:
        raise Invalid(f"there is no command {quoted(name)}; commands are {', '.join(COMMANDS)}")
    return COMMANDS[name](memory, rest, confirm)


def _halved(line: str) -> tuple[str, str]:
    """The first word, and the text after it."""
    first, *rest = line.split(maxsplit=1) or [""]
    return first, "".join(rest).strip()


# ---------------------------------------------------------------- one memory


def remember(memory: Memory, text: str, confirm: bool) -> SlashReply:
    if not text:
        raise Invalid("/remember needs a text: /remember [category] text")
    kind, said = _categorised(text)
    done = memory.remember(said, kind=kind, importance=IMPORTANCE, confidence=1.0)
    if done.record is None:
        return SlashReply("/remember", f"{done.outcome}: {visible(done.because)}")
    return SlashReply("/remember", f"{done.outcome} {_line(done.record)}", (done.record.number,))


def forget(memory: Memory, what: str, confirm: bool) -> SlashReply:
    found, named = _meant(memory, what, "/forget")
    best = found[0]
    if not named and not confirm:
        return _asking("/forget", "forget", found)
    done = memory.forget(best.id, because="/forget" if named else f"/forget {what}"[:200])
    return SlashReply("/forget", _told(done, f"forgotten {_line(best)}"), (best.number,))


def pin(memory: Memory, what: str, confirm: bool) -> SlashReply:
    meant, named = _meant(memory, what, "/pin")
    record = meant[0]
    if not named and not confirm:
        return _asking("/pin", "unpin" if record.pinned else "pin", meant)
    if record.pinned:
        done = memory.unpin(record.id)
        return SlashReply("/pin", _told(done, f"unpinned {_line(record)}"), (record.number,))
    found = family_of(record.scope) == "session"
    held = _held_back(memory, record) if found else None
    done = memory.pin(record.id) if held is None else held
    pins, moved = memory.count({"pinned": True}), f" in {memory.home}" if found else ""
    many = f"; {pins} are pinned now, and {FIRST} of them come first in an answer" if pins > FIRST else ""
    return SlashReply("/pin", _told(done, f"pinned{moved} {_line(record)}{many}"), (record.number,))


def _asking(command: str, act: str, found: list[Record]) -> SlashReply:
    best, *others = found
    lines = [f"would {act} {_line(best)}", *(f"also found {_line(other)}" for other in others)]
    lines.append(f"confirm it, or name one: {command} {best.number}")
    return SlashReply(command, "\n".join(lines), (best.number,), asks=True)


def _held_back(memory: Memory, record: Record) -> Outcome | None:
    """Promotes it; what kept it from becoming a memory of its project, if anything did."""
    done = memory.promote(record.id, because="/pin")
    return done if isinstance(done, Outcome) and done.outcome not in DONE else None


def _told(done: Outcome, said: str) -> str:
    """What was done; or that it was not, and why."""
    return said if done.outcome in DONE else f"{done.outcome}: {visible(done.because)}"


def _categorised(text: str) -> tuple[str, str]:
    """The kind and the text. A mark such as "[warning]" or "warning:" is removed; a plain first word stays in the text."""
    found = CATEGORY.match(text)
    word = (found["marked"] or found["said"] or found["bare"]).lower() if found else ""
    kind = ALIASES.get(word, word)
    if found and kind in KINDS:
        return kind, text if found["bare"] else text[found.end() :]
    if found and found["marked"]:
        raise Invalid(f"there is no category {quoted(word)}; categories are {', '.join(KINDS)}")
    return next(iter(kinds_in(text)), "fact"), text


def _meant(memory: Memory, what: str, command: str) -> tuple[list[Record], bool]:
    """The memory with that number or id, and True; else those that the words find. A number that no memory has is a word,
    such as a port or a year, and finds what holds it: what is merely near to it is another one."""
    if not what:
        raise Invalid("name a memory by its number or id, or a keyword that finds it")
    try:
        if REFERENCE.fullmatch(what):
            return [memory.get(what)], True
    except NotFound:
        whole = re.compile(rf"(?<!\d){re.escape(what)}(?!\d)", re.IGNORECASE)
        holding = [] if what.startswith("[") else [hit.record for hit in memory.recall(what) if whole.search(hit.text)]
        if not holding:
            raise
        return holding, False
    found = memory.recall(what)
    if not found:
        raise NotFound(f"{command} found nothing for {quoted(what)}: {found.empty_because}")
    return [hit.record for hit in found], False


# ---------------------------------------------------------------- all of them


def consolidate(memory: Memory, rest: str, confirm: bool) -> SlashReply:
    """A night's work, at once. `/consolidate plan` only shows what it would do."""
    if rest not in ("", "plan"):
        raise Invalid(f"/consolidate takes nothing, or plan, which only shows what it would do; not {quoted(rest)}")
    reports = memory.upkeep(deep=True, dry_run=rest == "plan")
    told = [f"{each.verb}: {len(each.changed):,}" for each in reports if each.changed]
    told += _would_ask(reports) if rest else _slept(reports[-1])
    return SlashReply("/consolidate", "\n".join(told) or "nothing is to be done")


def _would_ask(reports: Sequence[Report]) -> list[str]:
    asking = (Contradictions.name, Verify.name, TagCleanup.name)
    return [f"would ask: {visible(each.advice)}" for each in reports if each.verb in asking and each.advice]


def _slept(night: Report) -> list[str]:
    """How it went, and how to take it back."""
    told = [visible(night.advice)] if night.advice else []
    return [*told, f"`undo {night.batch}` takes it back"] if night.batch else told


def about(memory: Memory, rest: str, confirm: bool) -> SlashReply:
    word, more = _halved(rest)
    if word not in ABOUT:
        raise Invalid(f"/memory takes {', '.join(ABOUT)}, not {quoted(word)}")
    return SlashReply(f"/memory {word}", ABOUT[word](memory, more))


def _status(memory: Memory, rest: str) -> str:
    facts, choices, here = memory.status(), memory._choices(), {"scope": memory.home}
    kinds = {kind: memory.count(here | {"kind": kind}) for kind in KINDS}
    counted = ", ".join(f"{kind} {count:,}" for kind, count in kinds.items() if count)
    lines = [
        f"{memory.count(here):,} memories in {memory.home}: {counted or 'none yet'}",
        f"{memory.count(here | {'pinned': True}):,} pinned, {memory.count(here | {'status': 'candidate'}):,} candidates",
        f"promotions {facts['promotions']:,}, evictions {facts['evictions']:,}, accesses {facts['accesses']:,}",
        f"created {facts['created']}, last upkeep {facts['last_upkeep']}, last injection {facts['last_injection']}",
        f"auto {'off' if choices.auto is False else 'on'}, preset {choices.preset or memory.design.promotion.preset}",
        f"index: {facts['records']:,} records, {facts['rows_waiting']:,} rows wait for a vector; `memorist doctor` checks it",
    ]
    return "\n".join(lines)


def _list(memory: Memory, category: str) -> str:
    category = category.lower()
    kind = ALIASES.get(category, category)
    if category and kind not in KINDS:
        raise Invalid(f"there is no category {quoted(category)}; categories are {', '.join(KINDS)}")
    filter = {"kind": kind} if category else None
    records, all = memory.list(filter, limit=LISTED), memory.count(filter)
    more = [f"and {all - LISTED:,} more"] if all > LISTED else []
    return "\n".join([*map(_line, records), *more]) or "nothing is remembered yet"


def _found(memory: Memory, words: str) -> str:
    found = memory.recall(words)
    lines = [f"{hit.score:.3f} {_line(hit.record)}{_against(hit, memory)}" for hit in found]
    return "\n".join(lines) or f"nothing found: {found.empty_because}"


def _against(hit: Hit, memory: Memory) -> str:
    others = ", ".join(f"[id:{memory.get(id).number}]" for id in hit.conflicts)
    return f" (conflicts with {others})" if others else ""


def _budget(memory: Memory, tokens: str) -> str:
    if tokens == DEFAULT:
        memory._choose(budget=None)
    elif tokens:
        if not tokens.isdecimal() or len(tokens) > 12:
            raise Invalid(f"/memory budget takes a number of tokens, or {DEFAULT}, not {quoted(tokens)}")
        memory._choose(budget=int(tokens))
    budget = memory._choices().budget
    return "the budget is the design's own" if budget is None else f"at most {budget:,} tokens go into a prompt"


def _auto(memory: Memory, word: str) -> str:
    if word not in ("", "on", "off"):
        raise Invalid(f"/memory auto takes on or off, not {quoted(word)}")
    if word:
        memory._choose(auto=word == "on")
    off = memory._choices().auto is False
    return "findings are neither stored nor promoted" if off else "findings are promoted by their points"


def _config(memory: Memory, preset: str) -> str:
    if preset:
        memory._choose(preset=preset)
    now = memory._choices().preset or memory.design.promotion.preset
    return f"the preset is {now}; presets are {', '.join(PRESETS)}"


def _alias(memory: Memory, rest: str) -> str:
    try:
        act, *words = shlex.split(rest) or ["list"]
    except ValueError as problem:
        raise Invalid(f"/memory alias cannot be read: {problem}; close the quotes") from problem
    if act == "list" and not words:
        return "\n".join(f"{word}: {', '.join(others)}" for word, others in memory.aliases().items())
    if act not in ("add", "remove") or not words:
        raise Invalid("/memory alias takes list, add WORD MEANS… or remove WORD [MEANS…]")
    return visible(memory.alias(words[0], *words[1:], remove=act == "remove").because)


def _line(record: Record) -> str:
    said = " ".join(visible(record.text).split())
    marks = " (pinned)" * record.pinned + " (candidate)" * (record.status == "candidate")
    return f"[id:{record.number}] {record.kind}{marks}: {said if len(said) <= SHOWN else said[:SHOWN] + '…'}"


COMMANDS: Mapping[str, Callable[[Memory, str, bool], SlashReply]] = {
    "/remember": remember,
    "/forget": forget,
    "/pin": pin,
    "/memory": about,
    "/consolidate": consolidate,
}
ABOUT: Mapping[str, Callable[[Memory, str], str]] = {
    "status": _status,
    "list": _list,
    "search": _found,
    "budget": _budget,
    "alias": _alias,
    "auto": _auto,
    "config": _config,
}
