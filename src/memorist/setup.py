"""Decides which store, project, design, models and rights are meant, from the arguments and the settings.

The only place of the engine that reads the settings (environment and files): `Memory()` must open the same store and
project as the command line, so both ask here (docs/why/0003-opening.md).
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist import checks, designs
from memorist.access import Access, access_for
from memorist.design import Design, Reranker
from memorist.errors import Invalid
from memorist.kinds import Kind
from memorist.lazy import dataclass
from memorist.models import onnx
from memorist.models.chat import Chat, chosen_chat
from memorist.models.embed import Choice, Embedder, chosen
from memorist.project import Project, resolve_project
from memorist.records import Scope
from memorist.store.open import IN_RAM
from memorist.surfaces import settings
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.redact.own import Own

log = logging.getLogger("memorist")


@dataclass(frozen=True, slots=True)
class Setup:
    """Where a memory is opened, and what the settings say about it."""

    db: str
    project: Project
    home: Scope  # the scope of memories that name none: the project, unless the settings say otherwise
    space: str
    design: Design
    kinds: Mapping[str, Kind]
    actor: str
    rerank: str
    reading: bool
    chat: str
    embed: Choice
    off_because: Callable[[], str | None]
    problems: tuple[str, ...] = ()  # settings that cannot be used
    directory: Path | None = None  # the working directory; None if a file was named
    min_free: int | None = None  # bytes of the disk that must stay free; None: no limit

    def told(self) -> tuple[str, ...]:
        """The problems with the settings; logs each of them."""
        for problem in self.problems:
            log.warning("a setting does not hold: %s", problem)
        return self.problems

    def talker(self, chat: Chat | str | None) -> Chat | None:
        return chosen_chat(chat, self.chat, settings.secret)

    def reranker(self, rerank: Reranker | str | None) -> Reranker | None:
        return onnx.reranker(rerank, self.rerank)

    @property
    def access(self) -> Access:
        return replace(access_for("project", self.project.scope), space=self.space, actor=self.actor)


def setup_for(
    path: str | os.PathLike[str] | None, project: str | None, space: str | None, design: Design | str | None
) -> Setup:
    """A named file means `project/default` unless a project is named; no file means the user's store and the folder's project."""
    named_file = checks.path(path)
    checks.optional_label(space, "the space")
    directory = Path.cwd() if path is None else None
    here = settings.load(directory)
    named = project if project is not None or path is not None else here.project
    found = resolve_project(named, directory)
    problems = dict(here.problems)
    chosen_design = _design(here, design, problems)
    return Setup(
        db=here.db if named_file is None else named_file,
        project=found,
        home=Scope(here.scope) if here.scope else found.scope,
        space=_space(here) if space is None else space,
        design=chosen_design,
        kinds=here.kinds,
        actor=here.actor,
        rerank=here.rerank,
        reading=here.reader == "on",
        chat=here.chat,
        embed=embedder(here.embed, asked=here.sources["embed"] != "default"),
        off_because=settings.off_because,
        problems=tuple(problems.values()),
        directory=directory,
        min_free=here.least_free,
    )


def _space(here: settings.Settings) -> str:
    here.must_hold("space")
    return here.space


def _design(here: settings.Settings, named: Design | str | None, problems: dict[str, str]) -> Design:
    """The design to use. A project's settings file may have come with a clone. It may decide how queries are answered, but
    not the upkeep of the whole store or whether memories are written to files: for those the user's own settings count."""
    if named is not None:
        return tuned(named, here)
    found = _from_settings(here, here, problems)
    if Path(here.sources["design"]).name != settings.LOCAL_NAME:
        return found
    mine = _from_settings(settings.load(), here, problems)
    return replace(found, upkeep=mine.upkeep, due=mine.due, files=mine.files, associates=mine.associates)


def _from_settings(named: settings.Settings, here: settings.Settings, problems: dict[str, str]) -> Design:
    """The design that these settings name. If it is missing or cannot be read, the default is used, so that the store
    still opens."""
    try:
        return tuned(named.design, here)
    except Invalid as problem:
        usual = settings.DEFAULTS["design"]
        problems["design"] = (
            f"{named.sources['design']}: the design cannot be used: {problem}; until then the design is {usual}"
        )
        return tuned(str(usual), here)


def tuned(design: Design | str, here: settings.Settings) -> Design:
    """This design with the weights of votes and the size limits from the settings."""
    found = design if isinstance(design, Design) else designs.find(design, settings.designs_folder())
    room = None if here.max_size is None else checks.size(here.max_size, "max_size")
    return designs.adjusted(
        found, reinforce=here.reinforce_weight, demote=here.demote_weight, max_bytes=room, percent=here.prune_percent
    )


def check(access: Any, space: str | None, clock: Any, count_tokens: Any, kinds: Any, rerank: Any, confirm: Any) -> None:
    """Checks those arguments of a memory that nothing else checks before they are used."""
    if access is not None and not isinstance(access, Access):
        raise Invalid(f"access must be an Access, such as access_for('reader', 'project/atlas'), not {quoted(access)}")
    if clock is None or count_tokens is None:
        raise Invalid("clock and count_tokens must be functions; leave them out for the usual ones")
    checks.called(clock, "clock", "a MovableClock")
    checks.called(count_tokens, "count_tokens", "len")
    if not isinstance(rerank, str):
        checks.called(rerank, "rerank", "one from a question and texts to numbers")
    checks.called(confirm, "confirm", "one from a question to True or False")
    _check_kinds({} if kinds is None else kinds)
    if access is not None and space not in (None, access.space):
        raise Invalid(f"the access is for space {access.space!r}, not {space!r}; name one of them")


def _check_kinds(kinds: Any) -> None:
    named = isinstance(kinds, Mapping) and all(getattr(kind, "name", None) == name for name, kind in kinds.items())
    if not named or not all(isinstance(kind, Kind) for kind in kinds.values()):
        raise Invalid(
            f"kinds must be a dict of names and Kinds, such as {{'recipe': Kind('recipe')}}, not {quoted(kinds)}"
        )


def own_rules() -> "Own":
    """The user's rules for secrets; logs each problem with them."""
    found = settings.own_rules()
    for problem in found.problems:
        log.warning("a rule for secrets is not used: %s: %s", settings.rules_file(), problem)
    return found


def refuse_in_file(db: str, embed: object) -> None:
    """Refuses a test embedder for a store on disk: its vectors mean nothing and must not rank real memories."""
    if getattr(embed, "only_in_ram", False) is True and db != IN_RAM:
        raise Invalid(
            f"the vectors of {type(embed).__name__} mean nothing, so it is refused where memories last; use "
            "':memory:', or make it with on_files=True in a test of your own"
        )


def models_of(here: Setup, embed: Embedder | str | None) -> tuple[Choice, Choice]:
    """The embedder of memories, as given, else as set; and that of turns and documents: the same, or the plain table if nobody
    chose one. Long replies are found far better by it (BEAM rec@10 59 against 40), at a fifth of the time."""
    refuse_in_file(here.db, embed)
    choice = here.embed if embed is None else embedder(embed)
    return choice, choice if choice.asked else chosen("static", asked=False)


def embedder(embed: Embedder | str, asked: bool = True) -> Choice:
    """The embedder that is meant. API keys are read from the environment, through the settings, only when they are sent."""
    return chosen(embed, settings.secret, asked)


def must_hold(own: "Own") -> None:
    """Raises if one of the user's rules for secrets cannot be used, for verbs that depend on all of them."""
    if own.problems:
        raise Invalid(f"{settings.rules_file()}: {'; '.join(own.problems)}")
