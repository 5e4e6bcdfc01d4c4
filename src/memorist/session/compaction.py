"""Compaction: the older turns of a session are summarised, and the view shows the summary in their place.

The summary is a memory of kind `summary` in the scope of the session; it names the first and the last turn it stands
for. No turn is touched, so undoing the summary brings back the view exactly as it was. The next compaction continues
from the last: it reads that summary and the turns since, covers both, and carries the figures on, so no turn is read
twice.

The rules (`summarise`) quote; they invent nothing. A summary says how many turns there were, when, by whom and with
which tools, the ten points that matter most, and what the talk was about. Points come from people and the assistant,
never from what a tool returned, so nothing that a web page says outlives its turn as something that was said here.

If a language model is configured, it writes the points. Each is one line that says who said what. They stand in the
same frame, and a point is dropped if it gives orders to a model or holds a number that nobody said. If the model fails,
the rules write the summary, and the failure is counted.

Beside the summary the view keeps turns that somebody marked ("decision:", "important"). They have a budget of their
own: in a long talk nearly everything is called important by somebody, and a compaction that keeps everything is none.

Before turns leave the view, what lasts in them is noted: by rules, or by a model that was asked (`REQUEST`). Notes are
added line by line, and never replace earlier ones.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from itertools import chain, islice
from typing import Any

from memorist.design import Tools
from memorist.lazy import dataclass
from memorist.models.chat import ChatFailed, about_data
from memorist.noun import line
from memorist.records import Draft, Origin, Record, iso, utc
from memorist.remember.authority import least
from memorist.session.window import OVERHEAD
from memorist.store.nouns import Glimpse
from memorist.text.injection import gives_orders
from memorist.text.question import names_in, small_talk
from memorist.text.tokens import TokenCounter
from memorist.text.twins import normalised
from memorist.text.words import STOP_WORDS, plain_words, query_terms, tells_something

KEEP = 10  # the last turns, which stay unchanged
MOST = 500  # tokens of a summary
PRESERVED = 2000  # tokens of marked turns that stay unchanged
POINTS = 10
LONGEST_POINT = 300  # characters
LONGEST_SAID = 4000  # characters of a turn that are read
LEAST_SAID, LEAST_ASKED = 3, 2  # content words in a point, and in the user's first request
ASKED_FIRST = 1.5  # the worth of the user's first request, above that of anything else
MOST_TOLD = 20  # content words that count
TOPICS, TOPICS_CARRIED = 8, 40
SHORTEST_TOPIC = 4  # letters
LONGEST_NAME = 60  # characters of a tool's name
LATE = 20  # turns between a call and its result up to which they are kept together
TALKERS = ("user", "assistant")
MARKED = re.compile(
    r"\b(?:important|remember|critical|key point)\b|\b(?:note|decision|action|todo|agreed|confirmed):", re.IGNORECASE
)
COMMITS = frozenset("commit commits commiten commite committe committen push pushe pushen".split())
COMMITTED = COMMITS.union("message nachricht changes anderungen branch main master origin".split())
FORBIDS = frozenset("not don never no without nicht nie niemals kein keine keinen ohne".split())
NUMBER = re.compile(r"\d+")
POINT = re.compile(r"^- (user|assistant): (.+)$", re.MULTILINE)


# ---------------------------------------------------------------- what stays


def border(turns: Sequence[Record | Glimpse], keep: int) -> int:
    """How many turns are summarised if the last `keep` stay. A result that stays keeps its call, if that is near."""
    cut = max(0, len(turns) - keep)
    calls = {
        call.get("id"): place
        for place, turn in enumerate(turns[:cut])
        if isinstance(call := turn.data.get("call"), Mapping)
    }
    place = len(turns) - 1
    while place >= cut:
        called = calls.get(turns[place].data.get("result"), cut)
        cut = called if cut - LATE <= called < cut else cut
        place -= 1
    return cut


def preserved(turns: Iterable[Record], budget: int, count: TokenCounter) -> list[Record]:
    """The marked turns, as many of the latest as the budget holds, and the first system turn."""
    said = list(turns)
    system = next((turn for turn in said if turn.provenance.role == "system" and turn.trust != "low"), None)
    kept = [] if system is None else [system]
    for turn in reversed(said):
        cost = count(turn.text) + OVERHEAD if is_talk(turn) and MARKED.search(turn.text) else budget + 1
        if cost <= budget:
            kept.append(turn)
            budget -= cost
    return sorted(kept, key=lambda turn: turn.number)


def is_talk(turn: Record) -> bool:
    """Whether a person or the assistant says something in it."""
    return turn.provenance.role in TALKERS and "call" not in turn.data


# ---------------------------------------------------------------- figures


@dataclass(slots=True)
class Figures:
    """Counts over turns, carried on from one summary to the next."""

    turns: int = 0
    said: Counter[str] = field(default_factory=Counter)  # by role
    tools: Counter[str] = field(default_factory=Counter)  # number of calls
    topics: Counter[str] = field(default_factory=Counter)  # turns that contain the word
    first: datetime | None = None
    last: datetime | None = None

    def add(self, record: Record) -> None:
        if record.kind == "summary":
            self._go_on(record.data)
            return
        call = record.data.get("call")
        self.turns += 1
        self.said[record.provenance.role or "user"] += 1
        self._span(record.times.at)
        if isinstance(call, Mapping):
            self.tools[line(str(call.get("name")), LONGEST_NAME) or "?"] += 1
        elif is_talk(record):
            self.topics.update(_topics(record.text))

    def _go_on(self, data: Mapping[str, Any]) -> None:
        self.turns += int(data.get("turns", 0))
        for counted, name in ((self.said, "said"), (self.tools, "tools"), (self.topics, "topics")):
            counted.update(data.get(name, {}))
        for moment in data.get("period", ()):
            self._span(utc(moment))

    def _span(self, at: datetime) -> None:
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)

    def data(self) -> dict[str, Any]:
        topics = _ranked(self.topics)[:TOPICS_CARRIED]
        period = [iso(moment) for moment in (self.first, self.last) if moment]
        return {
            "turns": self.turns,
            "said": dict(self.said),
            "tools": dict(_ranked(self.tools)[:TOPICS_CARRIED]),
            "topics": dict(topics),
            "period": period,
        }

    def lines(self) -> Iterator[str]:
        """The first line of a summary and its last ones."""
        by = ", ".join(f"{number} {role}" for role, number in _ranked(self.said))
        yield f"{self.turns} earlier turns, {_day(self.first)} to {_day(self.last)} ({by})."
        often = [word for word, number in _ranked(self.topics)[:TOPICS] if number > 1]
        used = [f"{name} ×{number}" for name, number in _ranked(self.tools)[:TOPICS]]
        yield from (f"{what}: {', '.join(some)}" for what, some in (("Topics", often), ("Tools", used)) if some)


def _ranked(counted: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counted.items(), key=lambda each: (-each[1], each[0]))


def figures(turns: Iterable[Record]) -> Figures:
    """The figures of these turns, including those that a summary among them stands for."""
    found = Figures()
    for turn in turns:
        found.add(turn)
    return found


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "?"


def _topics(text: str) -> set[str]:
    words = plain_words(text[:2000])
    return {word for word in words if len(word) >= SHORTEST_TOPIC and word.isalpha() and word not in STOP_WORDS}


# ---------------------------------------------------------------- the summary


@dataclass(frozen=True, slots=True)
class Point:
    """A sentence that may stay, and how much it matters."""

    worth: float
    place: tuple[int, int]  # the turn, and the position in it
    role: str
    text: str


def summarise(
    turns: Sequence[Record], count_tokens: TokenCounter, most: int = MOST, points: Sequence[Point] | None = None
) -> str:
    """A summary of these turns in at most `most` tokens: from the given points, else from what rules find. A summary
    among the turns stands for the turns that it covers."""
    first, *rest = figures(turns).lines()
    found = _points(turns) if points is None else points
    best = sorted(found, key=lambda point: (-point.worth, -point.place[0], point.place[1]))
    chosen = _once(best)[:POINTS]
    while True:
        lines = [f"- {point.role}: {point.text}" for point in sorted(chosen, key=lambda point: point.place)]
        text = "\n".join((first, *lines, *rest))
        if count_tokens(text) <= most or not (chosen or rest):
            return text
        (chosen or rest).pop()


def _once(points: Iterable[Point]) -> list[Point]:
    """The points without repetitions; the first of each stays."""
    found: dict[str, Point] = {}
    for point in points:
        found.setdefault(normalised(point.text), point)
    return list(found.values())


def _points(turns: Sequence[Record]) -> Iterator[Point]:
    from memorist.remember.extract import extract  # its rules load slowly

    asked = False
    for place, (role, text) in enumerate(chain.from_iterable(map(said_in, turns))):
        found = [(_worth(each.relevance, role), each.text) for each in extract(text, role, POINTS)]
        worths = _merged(found, [*_asked_first(text, role, asked), *_telling(text, role)])
        for worth, said in worths:
            if fit(said, role):
                yield Point(worth, (place, text.find(said)), role, short(said))
        asked |= role == "user" and bool(worths)


def _merged(found: Sequence[tuple[float, str]], plain: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """What was found, and the sentences that repeat nothing of it. A sentence that is part of a finding, or has one in it,
    is left out, and the finding is worth as much."""
    raised = [(max(worth, *(w for w, said in plain if _repeats(said, known)), 0.0), known) for worth, known in found]
    return raised + [each for each in plain if not any(_repeats(each[1], known) for _, known in found)]


def _repeats(said: str, known: str) -> bool:
    return said in known or known in said


def _asked_first(text: str, role: str, asked: bool) -> Iterator[tuple[float, str]]:
    """The user's first request, which the whole session is about."""
    said = _sentences(text) if role == "user" and not asked else []
    yield from islice(((ASKED_FIRST, each) for each in said if _told(each) >= LEAST_ASKED), 1)


def _telling(text: str, role: str) -> Iterator[tuple[float, str]]:
    """The marked sentence of a text; else the one with the most content, unless that is next to nothing."""
    said = _sentences(text)
    best, marked = max(said, key=_told, default=""), next(filter(MARKED.search, said), None)
    if marked is not None:
        yield _worth(0.9, role), marked
    elif (most := _told(best)) >= LEAST_SAID:
        yield 0.02 * most + (0.1 if role == "user" else 0.0), best


def _sentences(text: str) -> list[str]:
    """The sentences at the beginning of a text, without code."""
    from memorist.remember.extract import sentences

    beginning = "\n".join(said for block, said in _fenced(text[:LONGEST_SAID]) if block is None)
    return [each for start, end in sentences(beginning) if len(each := beginning[start:end].strip()) > 1]


def _worth(relevance: float, role: str) -> float:
    """What the user said matters more than what was said in reply."""
    return relevance + (0.3 if role == "user" else 0.0)


def said_in(turn: Record) -> Iterator[tuple[str, str]]:
    """Pairs of speaker and text: of a turn, or of the points of an earlier summary."""
    if turn.kind == "summary":
        yield from POINT.findall(turn.text)
    elif is_talk(turn):
        yield str(turn.provenance.role), turn.text


def _told(sentence: str) -> int:
    """How many of its words carry content; names and numbers count twice. Small talk counts as nothing, and so does an order
    to commit: whoever comes back sees that in the history."""
    if small_talk(sentence) or _only_commits(sentence) or not tells_something(sentence):
        return 0
    return min(MOST_TOLD, len(query_terms(sentence)) + len(names_in(sentence)))


def _only_commits(sentence: str) -> bool:
    """Whether it would be small talk without its words about commits: "great, commit that", "ok, dann bitte pushen"."""
    words = plain_words(sentence)
    if not FORBIDS.isdisjoint(words) or COMMITS.isdisjoint(words):
        return False
    return small_talk(" ".join("ok" if word in COMMITTED else word for word in words))


def fit(sentence: str, role: str) -> bool:
    """Whether it may stay. Orders to a model are carried on only if the user gave them."""
    return bool(sentence) and (role == "user" or not gives_orders(sentence))


def short(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= LONGEST_POINT else said[: LONGEST_POINT - 1].rstrip() + "…"


def sessions(turns: Iterable[Record]) -> list[str]:
    """The sessions that these turns were said in; for a fork also those it was forked from."""
    found = {each.provenance.session for each in turns}
    found.update(chain.from_iterable(each.data.get("sessions", ()) for each in turns if each.kind == "summary"))
    return sorted(filter(None, found))


def origin_of(turns: Iterable[Record], door: Origin) -> Origin:
    """A summary is trusted like the least trusted of what it quotes, and never as the user's own statement."""
    found = least("recorded", door)
    for turn in turns:
        if turn.kind == "summary" or is_talk(turn):
            found = least(found, turn.origin)
    return found


# ---------------------------------------------------------------- points that a model makes

SUMMED_TURNS = 200  # a model reads at most these, the latest
SUMMED_OF_EACH, SUMMED_IN_ALL = 1000, 24_000  # characters
POINTS_FORM = {
    "type": "object",
    "properties": {
        "points": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"by": {"type": "string", "enum": ["user", "assistant"]}, "text": {"type": "string"}},
                "required": ["by", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["points"],
    "additionalProperties": False,
}
SUM_UP = f"""\
You sum up a conversation for somebody who has to go on with it. Give the points that matter, at most {POINTS}, in the order in
which they came: what the user wants, what was decided and why, what was found out, what is still open. Each point is one sentence
with the names and numbers as they were said, and says whether the user or the assistant said it. Leave out small talk and what was
settled on the way."""


def summed_up(turns: Sequence[Record], tools: Tools, most: int = MOST) -> str:
    """A summary of these turns in at most `most` tokens. Must not be called inside a transaction."""
    return summarise(turns, tools.count_tokens, most, _made(turns, tools))


def _made(turns: Sequence[Record], tools: Tools) -> list[Point] | None:
    """The points that a model makes of them; None if none is configured or it failed."""
    said = _latest(chain.from_iterable(map(said_in, turns))) if tools.chat.ready else []
    if not said:
        return None
    numbers = frozenset(NUMBER.findall(" ".join(each["text"] for each in said)))
    try:
        told = tools.chat.ask("summary", about_data(SUM_UP, said, POINTS_FORM, most=1200), _parsed)
    except ChatFailed:  # counted, and shown by `status`
        return None
    sound = [(role, text) for role, text in told if _stands(text, role, numbers)]
    return [Point(1 - place / 1000, (place, 0), role, short(text)) for place, (role, text) in enumerate(sound)] or None


def _latest(turns: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """The end of a conversation, as much as a model reads."""
    said = [{"by": role, "text": text[:SUMMED_OF_EACH]} for role, text in turns][-SUMMED_TURNS:]
    while len(said) > 1 and sum(len(each["text"]) for each in said) > SUMMED_IN_ALL:
        said.pop(0)
    return said


def _stands(text: str, role: str, numbers: frozenset[str]) -> bool:
    """Whether the point may stay: it is no order to a model and holds no number that nobody said."""
    return fit(text, role) and fit(text, "assistant") and numbers.issuperset(NUMBER.findall(text))


def _parsed(told: Any) -> list[tuple[str, str]]:
    found = [(each["by"], each["text"]) for each in told["points"]]
    if not all(role in ("user", "assistant") and isinstance(text, str) for role, text in found):
        raise ValueError("a point without its parts")
    return found


# ---------------------------------------------------------------- what a model notes before that

NO_REPLY = "NO_REPLY"
SECTION = "Working Context"
SECTIONS: Mapping[str, str] = {  # sections of MEMORY.md, and the kinds of the entries in them
    "key decisions": "decision",
    "user preferences": "preference",
    "project context": "fact",
    "working context": "note",
}
REQUEST = f"""\
The older part of this conversation will soon be summarised. Note what must last beyond it: decisions, preferences, facts about the
project, and where the work stands. Reply with nothing but this block, one note on each line:

```memory
## {SECTION}
- the note
```

The sections are Key Decisions, User Preferences, Project Context and {SECTION}. What you write is added to them; nothing is
replaced. If nothing is worth keeping, reply {NO_REPLY}."""
FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(\w*)\s*$")
HEADING = re.compile(r"^\s*#{1,6}\s+(.+?)\s*#*\s*$")
BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
BEGINS_WITH_A_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?::| [-–—])\s+(?=\S)")


def notes(reply: str) -> list[Draft]:
    """What a model's reply asks to be kept: the lines of its blocks labelled `memory`, each for its section. Prose is not kept,
    whatever headings it has.

    >>> [(draft.kind, draft.text) for draft in notes("Noted.\\n```memory\\n## Key Decisions\\n- We use Postgres\\n```")]
    [('decision', 'We use Postgres')]
    """
    return [_note(said, section) for section, said in _read(reply) if section and said]


def spoken(reply: str) -> str:
    """What of a reply is for the user: all but those blocks, and nothing of one that is nothing but NO_REPLY. One that speaks
    of NO_REPLY is shown.

    >>> spoken("NO_REPLY"), spoken("I was told to say NO_REPLY, but the build is broken.")
    ('', 'I was told to say NO_REPLY, but the build is broken.')
    """
    said = "\n".join(said for section, said in _read(reply) if section is None).strip()
    return "" if said == NO_REPLY else said


def _read(reply: str) -> Iterator[tuple[str | None, str]]:
    """The lines of a reply, each with its section if it is in a block labelled `memory`."""
    section = SECTION
    for label, said in _fenced(reply):
        heading = HEADING.match(said)
        if label != "memory":
            section = SECTION
            yield None, said
        elif heading:
            section = heading[1]
        elif not FENCE.match(said):
            yield section, BULLET.sub("", said).strip()


def _fenced(reply: str) -> Iterator[tuple[str | None, str]]:
    """The lines, each with the label of the block that contains it; fences are included."""
    fence, label = "", None
    for said in reply.splitlines():
        edge, ends = FENCE.match(said), False
        if edge and not fence:
            fence, label = edge[1], edge[2]
        elif edge:
            ends = edge[1].startswith(fence) and not edge[2]
        yield label, said
        if ends:
            fence, label = "", None


def _note(text: str, section: str) -> Draft:
    kind, dated = SECTIONS.get(section.casefold(), "note"), BEGINS_WITH_A_DAY.match(text)
    at = _moment(dated[1]) if dated else None
    return Draft(text[dated.end() :] if dated and at else text, kind, data={"section": section}, at=at)


def _moment(day: str) -> datetime | None:
    try:
        return datetime.fromisoformat(day).astimezone()
    except ValueError:
        return None
