"""A page of sections, its search, its configuration and its folder: the notebook design under its own names.

    notebook = memorist.seeds.notebook(memory, {"maxMemorySize": 50_000, "searchProvider": "hybrid"})
    notebook.append("Key Decisions", "2026-02-01: Chose SQLite for local-first architecture")
    notebook.read("key decisions")
    notebook.search("which database?", scope="memory")
    notebook.request("agent_skill_seo", "analyze", "what does the blog need?")

An entry of a section is a memory of the project: a line of a list, or a paragraph. It names its section, or stands in that of its
kind. Nothing that is written is refused for want of room, and nothing is cut: a full page leaves out the oldest entries, says so,
and `search` finds them. What is written has the origin `agent`, even if a user opened the memory; so an agent that writes a section
anew cannot take out of it what the user said. That waits in `review`.
"""

import builtins
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from memorist import checks
from memorist.design import Design, Job
from memorist.designs.notebook import A_TOKEN, HYBRID, NOTEBOOK, PAGE, RETENTION
from memorist.errors import Invalid, NotFound, meant
from memorist.files.markdown import memories_in
from memorist.files.page import DATED, KIND_OF_SECTION, section_for
from memorist.kinds import MEMORY, OTHER_SECTION, SECTIONS
from memorist.lazy import dataclass
from memorist.memory import Memory
from memorist.noun import Noun
from memorist.records import Draft, Outcome, Recall, Record, SearchName
from memorist.remember.authority import least
from memorist.store.files import replace_private
from memorist.text.visible import quoted, visible
from memorist.upkeep.retain import Retain
from memorist.upkeep.sessions import RetainSessions

MOST_SHOWN = 1000  # entries of a page that are looked at, the newest: more would not fit
SECTION = 10_000  # characters of one
MOST_SECTIONS = 20
FOUND = 20  # hits of a search
SCOPES = ("memory", "items", "sessions", "sources")
SNIPPET = 500  # tokens of memory that go with a request
PAGE_AT, SESSIONS_AT = "MEMORY.md", "sessions/"
POINTER = re.compile(r"\[agent_result:(\w{1,32})\]")
_WORD = re.compile("_(.)")
_UNDATED = datetime(1900, 1, 1, tzinfo=UTC)  # of an entry that says no day
AGENT = """\
# {actor}

Works in {project}, as {role}. Reads {reads}; writes {writes}.

- `MEMORY.md`: what lasts, in sections; people and agents edit it. At most {size:,} characters are shown.
- `sessions/`: what was said, one line for each message; only added to.
- `items.json`: what was extracted from files; written by the extraction alone.
- `.agent/tasks/tasks.json`: what is to be done.
- `context/`: texts for prompts, where a program keeps some.

The rows of the store are the truth; these files follow them.
"""


# ---------------------------------------------------------------- configuration


@dataclass(frozen=True, slots=True)
class Config(Noun):
    """The founding document's configuration. `config_of` reads its own spelling, such as maxMemorySize, and ours."""

    memory_path: str = PAGE_AT  # in the agent's folder, as sessions_path; a folder before it is made by `lay_out`
    max_memory_size: int = PAGE  # characters
    sessions_path: str = SESSIONS_AT
    session_retention_days: int = RETENTION
    compaction_threshold: int = 100_000  # tokens
    compaction_keep_recent: int = 10  # messages
    flush_enabled: bool = True
    flush_threshold: int = 80_000  # tokens
    search_provider: Literal["fts5", "hybrid"] = "fts5"
    vector_model: str | None = None  # as in `Memory(embed=…)`
    tool_result_retention: int = 5  # the last results of tools that a window shows

    def __post_init__(self) -> None:
        _ = self.folder
        for name, most in WHOLE_KEYS.items():
            checks.whole(getattr(self, name), spelled(name), 0 if name == "tool_result_retention" else 1, most)
        checks.flag(self.flush_enabled, "flushEnabled")
        checks.one_of(self.search_provider, "searchProvider", ("fts5", "hybrid"))
        checks.optional_label(self.vector_model, "vectorModel")
        if self.flush_enabled and self.flush_threshold >= self.compaction_threshold:
            raise Invalid(
                f"flushThreshold is {self.flush_threshold:,} and compactionThreshold {self.compaction_threshold:,}; what lasts is "
                "noted before a compaction, so the first must be the smaller one"
            )

    @property
    def folder(self) -> PurePosixPath:
        """Where the page and the transcripts lie together, inside of the agent's folder; one that is not named goes with the
        other."""
        page = _parent(self.memory_path, PAGE_AT, "memoryPath")
        said = _parent(self.sessions_path, SESSIONS_AT, "sessionsPath")
        if page != said and self.memory_path != PAGE_AT and self.sessions_path != SESSIONS_AT:
            raise Invalid(
                f"memoryPath and sessionsPath lie in two folders, {page} and {said}; name the same one in both"
            )
        return said if self.memory_path == PAGE_AT else page

    @property
    def design(self) -> Design:
        """The notebook design with these numbers."""
        tokens = max(1, self.max_memory_size // A_TOKEN)
        kept = tuple(_retaining(job, self.session_retention_days) for job in NOTEBOOK.upkeep)
        recall = HYBRID if self.search_provider == "hybrid" else NOTEBOOK.recall
        return replace(
            NOTEBOOK, recall=recall, upkeep=kept, budget=replace(NOTEBOOK.budget, tokens=tokens, most=tokens)
        )

    @property
    def window(self) -> dict[str, int]:
        """For `Session.window(limit, **config.window)`. Without a flush its threshold stands right before the compaction."""
        flush = self.flush_threshold if self.flush_enabled else self.compaction_threshold - 1
        return {
            "flush": flush, "compact": self.compaction_threshold, "keep": self.compaction_keep_recent,
            "results": self.tool_result_retention,
        }  # fmt: skip


def _parent(given: Any, usual: str, key: str) -> PurePosixPath:
    """The folder of that path, inside of the agent's, which the founding document writes as <agent>."""
    path = PurePosixPath(checks.label(given, key).replace("\\", "/").removeprefix("<agent>/"))
    if path.is_absolute() or {"..", "~"} & {*path.parts} or ":" in path.parts[0] or path.name != usual.rstrip("/"):
        raise Invalid(
            f"{key} is {quoted(given)}; it is {usual}, or that in a folder of the agent's own, which `lay_out` is told; `memorist "
            "sync PATH` keeps a page anywhere else"
        )
    return path.parent


def _retaining(job: Job, days: int) -> Job:
    """The job, with so many days if it is about sessions."""
    if isinstance(job, RetainSessions):
        return replace(job, days=days)
    return replace(job, ttl_days=days) if isinstance(job, Retain) else job


WHOLE_KEYS = {  # the keys that are whole numbers, and the most that each may be
    "max_memory_size": checks.LARGEST_PROMPT * A_TOKEN,
    "session_retention_days": 100_000,
    "compaction_threshold": 1 << 53,
    "compaction_keep_recent": 1_000_000,
    "flush_threshold": 1 << 53,
    "tool_result_retention": 1_000_000,
}


def spelled(name: str) -> str:
    """As the founding document spells it.

    >>> spelled("max_memory_size")
    'maxMemorySize'
    """
    return _WORD.sub(lambda found: found[1].upper(), name)


KEYS = {spelled(each.name): each.name for each in fields(Config)}


def config_of(given: "Config | Mapping[str, Any] | None") -> Config:
    """The configuration in either spelling; a key in both is an error."""
    if given is None or isinstance(given, Config):
        return given or Config()
    if not isinstance(given, Mapping):
        raise Invalid(f"a configuration is a dict of keys such as {{'maxMemorySize': 50000}}, not {quoted(given)}")
    said: dict[str, Any] = {}
    for key, value in given.items():
        name = KEYS.get(key, key)
        if name not in KEYS.values():
            raise Invalid(f"there is no key {quoted(key)}{meant(key, KEYS)}; keys are {', '.join(KEYS)}")
        if name in said:
            raise Invalid(f"{spelled(name)} is given in two spellings; remove one")
        said[name] = value
    return Config(**said)


# ---------------------------------------------------------------- the page


@dataclass(frozen=True, slots=True, repr=False)
class Written(Noun):
    """What became of a section. `report` has the founding document's names."""

    section: str
    outcomes: tuple[Outcome, ...]
    truncated: bool  # whether the page leaves out some of the project's entries
    size_used: int  # characters of the page
    size_limit: int

    @property
    def report(self) -> dict[str, Any]:
        return {"truncated": self.truncated, "sizeUsed": self.size_used, "sizeLimit": self.size_limit}

    @property
    def waiting(self) -> tuple[Outcome, ...]:
        """What a person has to agree to: it stands on the page until then."""
        return tuple(outcome for outcome in self.outcomes if outcome.outcome == "needs_consent")

    def __bool__(self) -> bool:
        return all(self.outcomes)

    def _line(self) -> str:
        left = ", without the oldest entries" if self.truncated else ""
        return f"{self.section}: {len(self.outcomes):,} changes; {self.size_used:,} of {self.size_limit:,} characters{left}"


@dataclass(frozen=True, slots=True)
class SectionedPage:
    """The entries that are shown, by section in order, and whether some are left out."""

    sections: Mapping[str, tuple[Record, ...]]
    truncated: bool = False

    def __str__(self) -> str:
        return "\n".join(["# Agent Memory", "", *(text_of(name, some) for name, some in self.sections.items())])

    def titled(self, name: str) -> str | None:
        """The section of that name, in upper or lower case."""
        return next((title for title in self.sections if title.casefold() == name.casefold()), None)


def text_of(section: str, entries: Iterable[Record]) -> str:
    return "\n".join([f"## {section}", *map(line_of, entries), ""])


def line_of(record: Record) -> str:
    """An entry as an item of a list; the lines after its first are indented."""
    day = f"{record.times.at:%Y-%m-%d}: " if record.kind in DATED else ""
    return f"- {day}{visible(record.text).strip()}".replace("\n", "\n  ")


def page_of(records: Sequence[Record], limit: int) -> SectionedPage:
    """The page of these entries, newest first as given. Where it is too large the oldest are left out: first of a section that is
    too large by itself, then of the whole."""
    shown: dict[str, list[Record]] = {}
    sizes: dict[str, int] = {}
    total = len(str(SectionedPage({})))
    for record in records:
        title = _title(section_for(record), shown)
        head, size = len(text_of(title, ())) + 1, len(line_of(record)) + 1
        more = size if title in shown else size + head
        if sizes.get(title, head) + size > SECTION or total + more > limit:
            continue
        shown.setdefault(title, []).append(record)
        sizes[title], total = sizes.get(title, head) + size, total + more
    names = sorted(
        shown, key=lambda title: (TITLES_IN_ORDER.get(title, len(TITLES_IN_ORDER)), -shown[title][-1].number)
    )
    sections = {title: tuple(reversed(shown[title])) for title in names}
    return SectionedPage(sections, truncated=sum(map(len, shown.values())) < len(records))


def _title(section: str, shown: dict[str, builtins.list[Record]]) -> str:
    """The section under which an entry stands: names differ by more than upper and lower case, and there are only so many."""
    known = next((title for title in shown if title.casefold() == section.casefold()), None)
    return known or (section if len(shown) < MOST_SECTIONS else next(reversed(shown)))


TITLES_IN_ORDER = {
    title: place for place, title in enumerate((*list(SECTIONS.values())[:2], OTHER_SECTION, SECTIONS["summary"]))
}


def _meant(section: str, page: SectionedPage, create: bool) -> str:
    """The title of a section that is there, or the name of one that is to be made."""
    name = checks.label(section, "the section")
    title = page.titled(name)
    if title is None and not create:
        raise NotFound(f"there is no section {quoted(name)}; sections are {', '.join(page.sections) or 'none yet'}")
    return title or name


def entries_of(section: str, text: str) -> builtins.list[Draft]:
    """The entries of a text for that section: items of a list, paragraphs, blocks of code. A text with headings of its own keeps
    their titles.

    >>> [(draft.kind, draft.text) for draft in entries_of("Key Decisions", "- 2026-02-03: API uses Fastify")]
    [('decision', 'API uses Fastify')]
    """
    kind = KIND_OF_SECTION.get(section.casefold())
    drafts = [entry.draft for entry in memories_in(text, "", _UNDATED)]
    own = {} if kind else {"section": section}
    return [
        replace(draft, files=(), data=own, at=None if draft.at == _UNDATED else draft.at, kind=kind or draft.kind)
        for draft in drafts
    ]


# ---------------------------------------------------------------- the notebook


class Notebook:
    """One project's page, with its search. `config` tunes the design, whatever design the memory was opened with."""

    def __init__(self, memory: Memory, config: Config | Mapping[str, Any] | None = None) -> None:
        self.config = config_of(config)
        self._memory = memory.through(replace(memory.access, origin=least("agent", memory.access.origin)))
        if config is not None or memory.design.name != NOTEBOOK.name:
            self._memory.design = self.config.design

    @property
    def page(self) -> SectionedPage:
        """What stands on the page now."""
        kinds = self._memory._tools.kinds
        where = {"scope": self._memory.home, "verified": True}
        found = self._memory.list(where, order="number", limit=MOST_SHOWN + 1)
        entries = [record for record in found if kinds[record.kind].recalled and kinds[record.kind].layer == MEMORY]
        page = page_of(entries[:MOST_SHOWN], self.config.max_memory_size)
        return replace(page, truncated=page.truncated or len(found) > MOST_SHOWN)

    @property
    def sections(self) -> builtins.list[str]:
        return list(self.page.sections)

    def read(self, section: str | None = None) -> str:
        """The page, or one section of it, whatever case its name is given in. What is not there is empty: an agent goes on
        without."""
        page = self.page
        if section is None:
            return str(page)
        title = page.titled(checks.label(section, "the section"))
        return "" if title is None else text_of(title, page.sections[title])

    def write(self, section: str, text: str, *, append: bool = False, create: bool = True) -> Written:
        """Writes a section anew, or adds to it. An entry that stands there already is left as it is; an empty text clears it.

        append: whether what stands there stays · create: whether a section that is not there is made, or an error
        """
        page = self.page
        title = _meant(section, page, checks.flag(create, "create"))
        there = {record.text: record for record in page.sections.get(title, ())}
        drafts = entries_of(title, checks.text(text, "the text")) if text else []
        stored = self._memory.remember_many([draft for draft in drafts if draft.text not in there])
        done = [self._moved(outcome, title) for outcome in stored]
        kept = {draft.text for draft in drafts} | {outcome.text for outcome in done}
        done += [] if append else self._without(kept, there, title)
        after = self.page
        return Written(title, tuple(done), after.truncated, len(str(after)), self.config.max_memory_size)

    def append(self, section: str, text: str, *, create: bool = True) -> Written:
        """Adds to a section, and never replaces anything in it."""
        return self.write(section, text, append=True, create=create)

    def search(self, query: str, scope: SearchName = "memory", limit: int = FOUND) -> Recall:
        """Finds in one of the document's four scopes: the page and all behind it (memory), what was extracted from files (items),
        what was said (sessions), and documents (sources)."""
        checks.one_of(scope, "the scope of a search", SCOPES)
        return self._memory.recall(query, search=scope, limit=limit)

    def request(
        self, to: str, action: str, query: str, project_context: str = "", budget: int = SNIPPET
    ) -> dict[str, Any]:
        """The message by which a skill is asked for something: it reads no memory, so what it needs goes with it.

        to: the skill · action: what it is to do · query: what it should know, as a question
        project_context: what else it should know; [agent_result:N] in it is replaced by that memory's text
        """
        made = self._memory.context(query, budget=budget, inject="push")
        told = POINTER.sub(self._pointed_at, checks.text(project_context, "project_context")) if project_context else ""
        return {
            "from": self._memory.access.actor,
            "to": checks.label(to, "the skill"),
            "type": "request",
            "payload": {
                "action": checks.label(action, "the action"),
                "context": {"memory_snippet": made.text, "project_context": told or self.read(OTHER_SECTION)},
            },
        }

    def lay_out(self, folder: str | Path) -> builtins.list[Path]:
        """Makes the founding document's folder for this agent, or the one in it that memoryPath and sessionsPath name: `AGENT.md`,
        where there is none, the folders, and the files that mirror the store, which erasing finds."""
        root, who = Path(folder).expanduser() / self.config.folder, self._memory.access
        for inner in ("sessions", "context", ".agent/tasks"):
            (root / inner).mkdir(parents=True, exist_ok=True)
        told = AGENT.format(
            actor=visible(who.actor), project=self._memory.home, role=who.role, size=self.config.max_memory_size,
            reads=", ".join(who.reads) or "nothing", writes=", ".join(who.writes) or "nothing",
        )  # fmt: skip
        if not (root / "AGENT.md").exists():
            replace_private(root / "AGENT.md", told)
        from memorist.files.follow import Follower  # which knows all files; every agent's server loads this module

        Follower(self._memory, root, "mirror").follow()
        return [root / "AGENT.md", *(root / inner for inner in ("sessions", "context", ".agent/tasks"))]

    def _moved(self, outcome: Outcome, title: str) -> Outcome:
        """What was said elsewhere before stands in this section from now on."""
        record = outcome.record
        if record is None or section_for(record).casefold() == title.casefold():
            return outcome
        return self._memory.revise(record.id, data={**record.data, "section": title}, because=f"now in {title}")

    def _without(self, kept: Set[str | None], there: Mapping[str, Record], title: str) -> builtins.list[Outcome]:
        """Forgets what stood there and is no longer wanted."""
        gone = [record for text, record in there.items() if text not in kept]
        return [self._memory.forget(record.id, because=f"no longer in {title}") for record in gone]

    def _pointed_at(self, found: "re.Match[str]") -> str:
        try:
            return visible(self._memory.get(found[1]).text)
        except NotFound:
            return found[0]
