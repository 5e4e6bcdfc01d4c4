"""The files of two founding documents' own programs, as memories: `memory.json` of the tiers, `project.json` and the
finished sessions of the curated memory.

    memory.json              the items of a project by their ids: each stays an item, under its id, in the tier its source names
    project.json             entries with their categories, pins and uses; open conflicts become links; aliases and settings
    sessions/*.memory.json   findings, which wait in their session, and the summary; what was promoted there is archived here

Like an export, such a file cannot vouch for itself: its memories are candidates, their pins and uses are kept as data,
and its settings are left out, unless the user says that the file is their own. Each id depends on the original id and
on the destination, so that a second import finds the memory. A part that cannot be read is named, and the others are
read.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memorist import checks
from memorist.access import GLOBAL
from memorist.errors import Invalid, StoreTooNew
from memorist.files.jsonl import Flaw, Part, parsed
from memorist.files.markdown import Entry
from memorist.files.streams import Damaged
from memorist.lazy import dataclass
from memorist.memory import Memory
from memorist.records import Counters, Draft, Link, id_at
from memorist.remember.bring import Exported
from memorist.remember.conflicts import DISPUTE_KINDS
from memorist.seeds.items import SHAPE, Items, item_of
from memorist.text.visible import quoted

VERSION = 1  # of project.json and of the sessions
THERE = "found by the program that the file comes from"
SAID = ("decision", "convention", "lesson", "preference", "pattern", "output")  # where a payload has its sentence
PROMOTED = "it was promoted to the project"


@dataclass(slots=True)
class Original:
    """The content of one such file: its memories, and the settings of its program."""

    found: list[Entry] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    aliases: Mapping[str, list[str]] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)

    def parts(self) -> Iterator[Part]:
        yield from map(Flaw, self.problems)
        yield from self.found
        yield from self.links


def read(raw: bytes, file: str, memory: Memory) -> Original | None:
    """The content of such a file; None if it is not one. A file of a newer version is refused whole."""
    try:
        value = parsed(raw)
    except Damaged:
        return None
    shape = next((reader for fits, reader in _SHAPES if fits(value)), None)
    try:
        return None if shape is None else shape(value, _Reading(file, memory))
    except Damaged as problem:
        raise Invalid(f"{file} cannot be read: {problem}") from problem


@dataclass(slots=True)
class _Reading:
    """Converts one file to memories."""

    file: str
    memory: Memory
    made: Original = field(default_factory=Original)

    @property
    def home(self) -> str:
        return self.memory.home

    def take(self, place: str, made_of: Callable[..., tuple[Draft, Exported]], *given: Any) -> None:
        """Yields the memories of one part of the file, or the flaw that makes it unreadable."""
        try:
            draft, told = made_of(*given, self)
        except (Damaged, Invalid) as problem:
            self.made.problems.append(f"{self.file}:{place}: {problem}")
        else:
            self.made.found.append(Entry(self.file, place, draft, told))

    def id_of(self, original: Any, at: datetime | None) -> str:
        return id_at(at, f"{self.home} {original}")


# ---------------------------------------------------------------- memory.json


def _items_in(value: Any) -> Iterator[tuple[str, Any]]:
    """The items with their ids: of a dict, of a list, or under `items`."""
    if isinstance(value, Mapping) and set(value) == {"items"}:
        value = value["items"]
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield str(item.get("context_item_id") or f"[{place}]") if isinstance(item, Mapping) else f"[{place}]", item


def _are_items(value: Any) -> bool:
    """One complete item is enough: then the others are items too, and a flaw is reported for each that lacks something."""
    items = [item for _, item in _items_in(value) if isinstance(item, Mapping)]
    whole = any("payload" in item and ("context_item_id" in item or "source" in item) for item in items)
    return whole or (bool(items) and all("context_item_id" in item for item in items))


def _of_items(value: Any, reading: _Reading) -> Original:
    for id, item in _items_in(value):
        reading.take(id, _item, id, item)
    return reading.made


def _item(id: str, item: Any, reading: _Reading) -> tuple[Draft, Exported]:
    if not isinstance(item, Mapping):
        raise Damaged(f"is not an item such as {SHAPE}: {quoted(item)}")
    scope = _tier(item.get("source"), reading.home)
    draft = Items(reading.memory, scope)._draft(item_of({"context_item_id": id, **item}))
    payload = draft.data.get("payload")
    payload = payload if isinstance(payload, Mapping) else {}
    text = next((payload[name] for name in SAID if isinstance(payload.get(name), str)), draft.text)
    at = checks.moment(draft.at, "its time")
    draft = replace(draft, text=text, id=reading.id_of(f"{scope} {id}", at))
    return draft, Exported(created=at, updated=at)


def _tier(source: Any, home: str) -> str:
    """The scope of an item: `task/7/plan` means that task, `global` everywhere, anything else this project."""
    family, _, rest = source.partition("/") if isinstance(source, str) else ("", "", "")
    name = rest.partition("/")[0]
    return f"task/{name}" if family == "task" and name else GLOBAL if source == GLOBAL else home


# ---------------------------------------------------------------- project.json


def _is_project(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("entries"), list) and "version" in value


def _of_project(value: Mapping[str, Any], reading: _Reading) -> Original:
    _must_be_known(value, reading.file)
    ids: dict[str, str] = {}
    for place, entry in enumerate(value["entries"]):
        reading.take(f"entries[{place}]", _entry, entry, ids)
    conflicts = value.get("conflicts")
    for place, pair in enumerate(conflicts if isinstance(conflicts, list) else ()):
        try:
            reading.made.links += _conflict(pair, ids)
        except Damaged as problem:
            reading.made.problems.append(f"{reading.file}:conflicts[{place}]: {problem}")
    reading.made.aliases = _aliases(value, reading)
    said = _dict(value, "metadata")
    named = {"auto": said.get("autoMemoryEnabled"), "preset": said.get("configPreset")}
    reading.made.choices = {name: choice for name, choice in named.items() if choice is not None}
    return reading.made


def _entry(entry: Any, ids: dict[str, str], reading: _Reading) -> tuple[Draft, Exported]:
    at, source = _moment(entry, "createdAt"), entry.get("source")
    said = source if isinstance(source, Mapping) else {}
    id = ids[str(entry.get("id"))] = reading.id_of(entry.get("id") or entry.get("content"), at)
    draft = _draft(entry, at, id=id, scope=reading.home, session=said.get("sessionId"), agent=said.get("agentId"),
                   data={"original": entry.get("id"), "source": source})  # fmt: skip
    return draft, _told(entry, at, set(map(str, _list(said, "signals"))))


def _told(entry: Mapping[str, Any], at: datetime | None, signals: set[str]) -> Exported:
    """What the entry says about itself. What a person pinned or asked for counts as theirs."""
    status = entry.get("status", "confirmed")
    if status not in ("candidate", "confirmed", "pinned"):
        raise Damaged(f"its status is {quoted(status)}")
    pinned, accesses = status == "pinned", checks.whole(entry.get("accessCount", 0), "its accessCount", 0, 1 << 53)
    users = pinned or not signals.isdisjoint(("user-intent", "explicit-pin"))
    return Exported(
        status="candidate" if status == "candidate" else "confirmed",
        pinned=pinned,
        origin="user" if users else "agent",
        trust="high" if users else "medium",
        created=at,
        updated=_moment(entry, "updatedAt"),
        used=_moment(entry, "lastAccessedAt") if accesses else None,
        counters=Counters(used=accesses),
    )


def _conflict(pair: Any, ids: Mapping[str, str]) -> list[Link]:
    """A conflict between two entries of the file that is still open."""
    if not isinstance(pair, Mapping) or pair.get("conflictType", "contradictory") not in DISPUTE_KINDS:
        raise Damaged(f"is not a conflict: {quoted(pair)}")
    a, b = ids.get(str(pair.get("entryA"))), ids.get(str(pair.get("entryB")))
    if a is None or b is None or pair.get("resolvedAt") is not None:
        return []
    return [Link(a, b, "contradicts", evidence=f"{pair.get('conflictType', 'contradictory')}: {THERE}")]


# ---------------------------------------------------------------- sessions/*.memory.json


def _is_session(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("findings"), list) and "sessionId" in value


def _of_session(value: Mapping[str, Any], reading: _Reading) -> Original:
    _must_be_known(value, reading.file)
    session, at = value["sessionId"], _moment(value, "finalizedAt") or _moment(value, "createdAt")
    said = {"session": session, "agent": value.get("agentId")}
    for place, finding in enumerate(value["findings"]):
        reading.take(f"findings[{place}]", _finding, finding, at, said)
    if isinstance(value.get("summary"), str) and value["summary"].strip():
        reading.take("summary", _summary, value, at, said)
    return reading.made


def _summary(
    value: Mapping[str, Any], at: datetime | None, said: Mapping[str, Any], reading: _Reading
) -> tuple[Draft, Exported]:
    parent = {"forked_from": value["parentSessionId"]} if value.get("parentSessionId") else {}
    id = reading.id_of(f"{said['session']} summary", at)
    draft = Draft(value["summary"], "summary", reading.home, data=parent, at=at, id=id, **said)
    return draft, Exported(created=at, updated=at)


def _finding(finding: Any, at: datetime | None, said: Mapping[str, Any], reading: _Reading) -> tuple[Draft, Exported]:
    session = said["session"]
    id = reading.id_of(f"{session} {finding.get('id') if isinstance(finding, Mapping) else finding}", at)
    data = {"rule": "imported", "home": reading.memory.project.scope}
    draft = _draft(finding, at, id=id, scope=f"session/{session}", data=data, doubtful=True, **said)
    gone = finding.get("promotedToProjectMemory") is True
    state, reason = ("archived", PROMOTED) if gone else ("active", None)
    return draft, Exported(state, reason, status="candidate", created=at, updated=at)  # type: ignore[arg-type]


# ---------------------------------------------------------------- what both have


def _draft(said: Any, at: datetime | None, data: Mapping[str, Any], **more: Any) -> Draft:
    if not isinstance(said, Mapping) or not isinstance(said.get("content"), str):
        raise Damaged(f"has no content: {quoted(said)}")
    kept = {name: value for name, value in data.items() if value is not None}
    more |= {name: said[name] for name in ("importance", "confidence") if said.get(name) is not None}
    files, tags = _list(said, "filePaths"), _list(said, "tags")
    return Draft(said["content"], said.get("category", "fact"), files=files, tags=tags, at=at, data=kept, **more)


def _aliases(value: Mapping[str, Any], reading: _Reading) -> dict[str, list[str]]:
    found = {}
    for word, means in _dict(value, "aliases").items():
        if isinstance(means, list) and means and all(isinstance(each, str) for each in means):
            found[word] = means
        else:
            said = f"aliases[{quoted(word)}]: is not a list of words: {quoted(means)}"
            reading.made.problems.append(f"{reading.file}:{said}")
    return found


def _must_be_known(value: Mapping[str, Any], file: str) -> None:
    version = value.get("version")
    if version != VERSION or isinstance(version, bool):
        raise StoreTooNew(
            f"{file} is of version {quoted(version)}, and only version {VERSION} is known; nothing was read"
        )


def _moment(said: Any, name: str) -> datetime | None:
    """A time in milliseconds since 1970, as these files write it."""
    if not isinstance(said, Mapping):
        raise Damaged(f"is not an object: {quoted(said)}")
    value = said.get(name)
    if value is None or value == 0:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Damaged(f"its {name} is not a time in milliseconds: {quoted(value)}")
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=value)
    except (OverflowError, ValueError) as problem:
        raise Damaged(f"its {name} is not a time in milliseconds: {quoted(value)}") from problem


def _list(said: Mapping[str, Any], name: str) -> list[Any]:
    value = said.get(name) or []
    if not isinstance(value, list):
        raise Damaged(f"its {name} is not a list: {quoted(value)}")
    return value


def _dict(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = said.get(name)
    return value if isinstance(value, Mapping) else {}


_SHAPES: tuple[tuple[Callable[[Any], bool], Callable[[Any, _Reading], Original]], ...] = (
    (_is_project, _of_project),
    (_is_session, _of_session),
    (_are_items, _of_items),
)
