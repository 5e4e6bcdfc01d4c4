"""Settings: the only reader of environment variables and TOML, so that every surface sees the same store and project.

Each value comes from the environment, else the project's `.memorist.toml`, else the user's `config.toml`, else a
default; `sources` says which. The project's file arrives with a clone, from other people: it may say how the project is
recalled, but never which project it is, which file memories go to, who is writing, or any place outside the project. A
wrong key or value never keeps a store from opening: the next lower layer applies instead, and `problems` names the key
and its place, because a user would believe that a silently ignored setting works. Only settings that say which store
and space is meant have no substitute: using a wrong one is an error. Writing changes one line and keeps the rest,
comments included; the result is parsed and compared before it replaces the old file. `off_because` runs on every verb:
it costs one `stat`, and notices at once when another process switches memory off or on.

Five settings tune a design, whichever is chosen: the weight of a vote, how much room memories may take, how much is
pruned at once and when. The founding document spells them reinforceWeight, maxSize … in a table `memory`; both
spellings are read. Two say whether memories lie in files too, and where: `files.mode` and `files.folder`. `url` names a
server that the command line uses instead of a file; the `token` for it is never shown.
"""

import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from memorist import checks
from memorist.design import Files
from memorist.errors import Invalid, meant
from memorist.kinds import Kind, own_kinds
from memorist.lazy import dataclass
from memorist.models.chat import checked_chat
from memorist.models.embed import DEFAULT, checked_name
from memorist.models.onnx import checked_reranker
from memorist.project import repository_root, resolve_project
from memorist.records import Scope
from memorist.store.open import file_of
from memorist.surfaces import places
from memorist.text import toml
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.redact.own import Own

LOCAL_NAME = ".memorist.toml"
INSIDE = "task/"  # the scopes that a project's file may name: a task's memories belong to its project
ONNX = "onnx:"
_env = os.environ.get
YES = ("1", "true", "yes", "on")
SWITCHED_ON = "switched-on"  # a file beside the user's settings that holds the time
NO = ("", "0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force. `sources` gives for each key "default", or the variable or file it came from."""

    store: str | None  # None: no place was given and there is no home folder
    project: str | None
    space: str
    scope: str | None
    design: str
    embed: str
    rerank: str
    reader: str  # "on" or "off": whether the small model judges what is worth keeping and what replaces what
    chat: str
    budget: int
    kinds: Mapping[str, Kind]
    actor: str
    reinforce_weight: float | None  # None here and below: the design decides
    demote_weight: float | None
    max_size: str | None
    prune_percent: float | None
    prune_schedule: str | None
    files_mode: str | None
    files_folder: str
    min_free: str | None  # None: the disk may be filled completely
    hook_tokens: int  # the part of a prompt that a hook may fill
    hook_ms: float  # the time that a hook may take for a question
    url: str | None  # None: memories are in the file
    sources: Mapping[str, str]
    problems: Mapping[str, str]  # for each setting that is not in force, the reason
    refused: Mapping[str, str]  # those of them that have no substitute

    @property
    def db(self) -> str:
        """An absolute path, `:memory:` or an address. Resolved on demand: a caller who names a file needs no home
        folder."""
        self.must_hold("db")
        if self.store is None:
            raise Invalid("there is no home folder to keep memories in; set MEMORIST_DB to a file, or HOME to a folder")
        return self.store

    @property
    def least_free(self) -> int | None:
        """`min_free` in bytes."""
        return None if self.min_free is None else checks.size(self.min_free, "min_free")

    def must_hold(self, key: str) -> None:
        """Raises the problem of a setting that is needed now."""
        if key in self.refused:
            raise Invalid(self.refused[key])


@dataclass(slots=True)
class _Layers:
    """Collects the settings of all layers; a later layer overrides an earlier one."""

    given: dict[str, tuple[Any, str]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def take(self, key: str, value: object, source: str, base: Path) -> None:
        try:
            self.given[key] = _checked(key, value, source, base), source
            self.refused.pop(key, None)
        except Invalid as problem:
            self.tell(key, str(problem))

    def tell(self, key: str, problem: str) -> None:
        """Records a setting that is not in force. One that says where memories are gets no substitute."""
        self.problems[key] = problem
        if key in PLACE:
            self.refused[key] = problem
            self.given.pop(key, None)


def load(directory: Path | None = None) -> Settings:
    """The settings for work in that directory. Without a directory, no project file is looked for."""
    layers = _layers(directory)
    found = _all_of(layers)
    del found["off"]  # may change at any moment, so `off_because` reads it each time
    del found["token"]  # read only when it is sent
    given = {key: value for key, (value, _) in found.items() if key != "db"}
    sources = MappingProxyType({key: source for key, (_, source) in found.items()})
    problems, refused = MappingProxyType(layers.problems), MappingProxyType(layers.refused)
    return Settings(**given, store=found["db"][0], sources=sources, problems=problems, refused=refused)


def off_because() -> str | None:
    """None while memory is on; else who switched it off, and how to switch it on again."""
    word = _off_word()
    if word:
        return f"memory is off: MEMORIST_OFF is {word[:40]!r}; unset it, or set it to 0, to switch memory on"
    file = user_file()
    try:
        off = file is not None and _checked("off", _table(file).get("off", False), str(file), file)
    except Invalid as problem:  # it may have been meant to be off, and that is the safe side
        return f"memory is off, because whether it is on cannot be read: {problem}"
    if off:
        return f"memory is off: {file} says off = true; `memorist on` switches it on"
    return None


def secret(variable: str) -> str | None:
    """A key for a server, from the variable that `embed` or `chat` names. It is read when it is sent, and stored
    nowhere."""
    return _env(variable)


def token() -> str | None:
    """The token for the server of the setting `url`: from MEMORIST_TOKEN, else from the user's file."""
    layers = _layers(None)
    if "token" in layers.problems:
        raise Invalid(layers.problems["token"])
    found: str | None = _all_of(layers)["token"][0]
    return found


def get_setting(key: str, directory: Path | None = None) -> str | None:
    """One value as text; None if nothing is set."""
    return all_settings(directory)[known(key)][0]


def all_settings(directory: Path | None = None) -> dict[str, tuple[str | None, str]]:
    """Every setting as (text, source); for the token only whether there is one."""
    found = _all_of(_layers(directory))
    if found["token"][0] is not None:
        found["token"] = HIDDEN, found["token"][1]
    return {key: (shown(value), source) for key, (value, source) in found.items()}


def set_setting(key: str, value: str, directory: Path | None = None) -> Path:
    """Writes one setting into the user's file. A relative path is relative to that directory, else to the current one."""
    own = _one_line(key)
    checked = _checked(own, typed(own, value), "not set", directory or Path())
    if own == "design":
        from memorist import designs

        designs.find(checked, designs_folder())
    return _write(own, checked)


def unset_setting(key: str) -> Path:
    """Removes one setting from the user's file, so that the default applies again."""
    return _write(_one_line(key), None)


def switch(off: bool) -> Path:
    """Switches memory off or on in the user's file. MEMORIST_OFF still wins: ask `off_because` afterwards."""
    file = _writable_file()
    if _table(file).get("off", False) is off:
        return file
    if not off:
        _replace(file.parent / SWITCHED_ON, f"{datetime.now(UTC).isoformat()}\n")
    return _write("off", off)


def switched_on() -> str | None:
    """When `switch` last switched memory on again; None if it never did."""
    file = beside(SWITCHED_ON)
    try:
        said = file.read_text("utf-8").strip() if file else ""
        return said if said and datetime.fromisoformat(said).tzinfo else None
    except (OSError, ValueError):  # no such file, or not ours
        return None


# ---------------------------------------------------------------- places


def user_file() -> Path | None:
    """The user's settings file, whether it exists or not; None without MEMORIST_CONFIG and a home folder."""
    given = _env("MEMORIST_CONFIG")
    return _given_file(given) if given else _standard("config.toml", _env("HOME"), _env("XDG_CONFIG_HOME"))


def designs_folder() -> Path | None:
    """Where the user keeps designs of their own, whether it exists or not."""
    return beside("designs")


def rules_file() -> Path | None:
    """Where the user keeps rules of their own for secrets, whether it exists or not. No other file may name one."""
    return beside("redact.toml")


def beside(name: str) -> Path | None:
    """A file or folder of that name beside the user's settings, whether it exists or not."""
    file = user_file()
    return None if file is None else file.parent / name


def own_rules() -> "Own":
    """The user's rules for secrets. Problems in them are reported and stop nothing."""
    from memorist.redact import own  # callers who only read a setting need not wait for this import

    file = rules_file()
    try:
        return own.own_rules(_table(file) if file else {})
    except Invalid as problem:
        return own.Own(problems=(str(problem),))


def _writable_file() -> Path:
    file = user_file()
    if file is None:
        raise Invalid("there is no home folder to keep settings in; set MEMORIST_CONFIG to a file, or HOME to a folder")
    return file


@lru_cache(maxsize=32)
def _standard(name: str, *_home: str | None) -> Path | None:
    """Cached as long as the variables it depends on stay the same: asking the system costs more than a whole verb may."""
    try:
        folder = Path(places.folder(config=name == "config.toml"))
    except (RuntimeError, OSError):
        return None
    return folder / name if folder.is_absolute() else None  # an unexpanded `~`: there is no home


@lru_cache(maxsize=32)
def _given_file(given: str) -> Path:
    """Absolute from its first use on, so that a process that changes its folder keeps its settings."""
    return Path(_absolute(given, Path()))


def _absolute(value: str, base: Path) -> str:
    try:
        file = file_of(value)
        return value if file is None else str((base / file).absolute())
    except (RuntimeError, OSError) as problem:
        raise Invalid(f"the path {value!r} cannot be used: {problem}; give a full path") from problem


def _local_file(directory: Path) -> Path | None:
    """The nearest `.memorist.toml` upward, but not above the repository; outside a repository, only the folder's own."""
    root = repository_root(directory)
    here = directory.resolve()
    for folder in (here, *here.parents):
        with suppress(OSError):  # a folder that may not be read
            if (folder / LOCAL_NAME).is_file():
                return folder / LOCAL_NAME
        if folder == (root or here):
            break
    return None


# ---------------------------------------------------------------- the layers


def _off_word() -> str:
    """The value of MEMORIST_OFF, or empty if that leaves memory on. An unknown word switches off, to be on the safe
    side."""
    word = _env("MEMORIST_OFF", "").strip()
    return "" if word.lower() in NO else word


def _checked(key: str, value: object, where: str, base: Path) -> Any:
    """The value in the type that the engine takes, or an error that names its place. A relative path is relative to
    `base`."""
    try:
        checked = CHECKS[key](key, value)
        if key in MODELS and checked.startswith(ONNX):
            return ONNX + _absolute(checked.removeprefix(ONNX), base)
        is_path = key == "db" or (key == "design" and checks.is_path(checked))
        return _absolute(checked, base) if is_path else checked
    except Invalid as problem:
        raise Invalid(f"{where}: {problem}") from problem


def _one_line(key: str) -> str:
    own = known(key)
    if own == "kinds":
        raise Invalid(f"kinds is a table: edit [kinds.NAME] in {_writable_file()} by hand")
    return own


def _all_of(layers: _Layers) -> dict[str, tuple[Any, str]]:
    """Each setting as (value, source)."""
    return {key: layers.given.get(key) or (_default(key), "default") for key in CHECKS}


def _layers(directory: Path | None) -> _Layers:
    local = None if directory is None else _local_file(directory)
    layers = _Layers()
    _from_file(user_file(), tuple(CHECKS), layers)
    _from_file(local, LOCAL, layers)
    if _off_word():
        layers.given["off"] = True, "MEMORIST_OFF"
    for key, variable in ENVIRONMENT.items():
        text = _env(variable)
        if text:  # an empty variable is how a shell unsets one for a single command
            layers.take(key, typed(key, text), variable, Path())
    return layers


def _from_file(file: Path | None, allowed: tuple[str, ...], layers: _Layers) -> None:
    if file is None:
        return
    try:
        table, wrong = flat(_table(file))
    except Invalid as problem:  # an unreadable file may name any store, but one from a clone may name none
        return layers.tell("db" if allowed != LOCAL else str(file), str(problem))
    for key, said in wrong.items():
        layers.tell(key, f"{file}: {said}")
    for key, value in table.items():
        refusal = _refusal(key, value, file, allowed)
        if refusal:
            layers.problems[key] = refusal
        else:
            layers.take(key, value, str(file), file.parent)


def _refusal(key: str, value: object, file: Path, allowed: tuple[str, ...]) -> str | None:
    """The reason why that file may not set this, if there is one; a file from a clone may set the least."""
    if key not in allowed:
        aside = f"; {key} belongs into {user_file()}" if key in CHECKS else ""
        return f"{file} may not set {quoted(key)}: allowed there are {', '.join(allowed)}{aside}"
    if allowed != LOCAL or not isinstance(value, str):
        return None
    if key == "scope" and not value.startswith(INSIDE):
        return (
            f"{file} sends memories to {quoted(value)}, and a file that came with the project may name only a task of its"
            f" own, such as {INSIDE}42; remove that line, or set scope in {user_file()}, which is yours"
        )
    if key == "design" and checks.is_path(value):
        return f"{file} may not name a design by its path, only one that is built in or in {designs_folder()}"
    return None


def _default(key: str) -> Any:
    if key == "db":
        place = _standard("memory.db", _env("HOME"), _env("XDG_DATA_HOME"))
        return None if place is None else str(place)
    return _login() if key == "actor" else DEFAULTS.get(key)


def _login() -> str:
    names = (_env(variable) for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"))  # where getpass looks first
    name = next(filter(None, names), None)
    try:
        if name is None:
            import getpass

            name = getpass.getuser()
        return one_line("actor", name)
    except (Invalid, OSError, KeyError, ImportError):  # a container's user without a name
        return "unknown"


# ---------------------------------------------------------------- what each setting may be


def one_line(key: str, value: object) -> str:
    """One short line, checked by the rules for scopes, because it stands beside scopes in the store."""
    if isinstance(value, str):
        plain = unicodedata.normalize("NFC", value)
        with suppress(Invalid):
            return Scope(f"{key}/{plain}").removeprefix(f"{key}/")
    raise Invalid(f"{key} must be a short text without '*', line breaks or blanks around it, not {quoted(value)}")


def _must_be(what: str, fits: Callable[[Any], bool]) -> Callable[[str, Any], Any]:
    """Makes the check of a setting whose value is used as it is."""

    def check(key: str, value: Any) -> Any:
        if not fits(value):
            raise Invalid(f"{key} must be {what}, not {quoted(value)}")
        return value

    return check


def _is_path(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and all(unicodedata.category(c) != "Cc" for c in value)


_path = _must_be("the path of a file, or ':memory:'", _is_path)


def _design(key: str, value: object) -> Any:
    return _path(key, value) if isinstance(value, str) and checks.is_path(value) else one_line(key, value)


def _kinds(key: str, value: object) -> Mapping[str, Kind]:
    if not isinstance(value, Mapping) or not all(isinstance(kind, Mapping) for kind in value.values()):
        raise Invalid("kinds must be a table of tables, such as [kinds.recipe]")
    return MappingProxyType(own_kinds(value))


def _schedule(key: str, value: object) -> str:
    from memorist.upkeep import cron

    return cron.parse(value, key).text


HERE = ("localhost", "127.0.0.1", "::1")
HIDDEN = "(hidden)"


def server(key: str, value: object) -> str:
    """The address of a server, without a trailing slash. It may not contain a secret, because messages show it."""
    found = re.fullmatch(r"(https?)://([^/?#@\s]+)(/[!-~]*)?", str(value))
    if found is None or {"?", "#"} & set(found[3] or ""):
        raise Invalid(
            f"{key} must be the address of a server, such as http://127.0.0.1:8765, without user, password or query; the "
            "token goes into MEMORIST_TOKEN"
        )
    return f"{found[1]}://{found[2]}{(found[3] or '').rstrip('/')}"


def checked_token(key: str, value: object) -> str:
    """A token that fits into a header. An error about a token never shows it."""
    if not isinstance(value, str) or not re.fullmatch("[!-~]+", value):
        raise Invalid(f"{key} must be what `memorist key add` showed: no blanks, no line ends, nothing but ASCII")
    return value


_tokens = _must_be(
    f"a whole number of tokens from 1 to {checks.LARGEST_PROMPT:,}",
    lambda value: type(value) is int and 1 <= value <= checks.LARGEST_PROMPT,
)
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "db": _path,
    "project": lambda _, value: resolve_project(value, None).name,
    "space": one_line,
    "scope": lambda _, value: Scope(value),
    "design": _design,
    "embed": lambda _, value: checked_name(value),
    "rerank": lambda _, value: checked_reranker(value),
    "reader": lambda key, value: checks.one_of(value, key, ("on", "off")),
    "chat": lambda _, value: checked_chat(value),
    "budget": _tokens,
    "actor": one_line,
    "off": _must_be("true or false", lambda value: isinstance(value, bool)),
    "kinds": _kinds,
    "reinforce_weight": lambda key, value: checks.number(value, key, 0, 100),
    "demote_weight": lambda key, value: checks.number(value, key, 0, 100),
    "max_size": lambda key, value: checks.size_text(checks.size(value, key)),
    "prune_percent": lambda key, value: checks.number(value, key, 0.01, 100),
    "prune_schedule": _schedule,
    "files_mode": lambda key, value: checks.one_of(value, "files.mode", get_args(Files)),
    "files_folder": _must_be("the path of a folder", _is_path),
    "min_free": lambda key, value: checks.size_text(checks.size(value, key)),
    "hook_tokens": _tokens,
    "hook_ms": lambda key, value: checks.number(value, key, 1, 60_000),
    "url": server,
    "token": checked_token,
}
PLACE = ("db", "space")  # where memories are
MODELS = ("embed", "rerank")  # may be the folder of a model
TUNING = ("reinforce_weight", "demote_weight", "max_size", "prune_percent", "prune_schedule")
ALIASES: Mapping[str, str] = {re.sub("_(.)", lambda found: found[1].upper(), key): key for key in TUNING}
# Tables in which a setting may stand, and its names there.
TABLES: Mapping[str, Mapping[str, str]] = {
    "memory": {**ALIASES, **{key: key for key in TUNING}},
    "files": {"mode": "files_mode", "folder": "files_folder"},
}
ENVIRONMENT = {key: f"MEMORIST_{key.upper()}" for key in CHECKS if key not in ("off", "kinds")}
LOCAL = ("scope", "design", "budget")
DEFAULTS = {
    "space": "default",
    "design": "balanced",
    "embed": DEFAULT,
    "rerank": "none",
    "reader": "on",
    "chat": "none",
    "budget": 1500,
    "off": False,
    "kinds": MappingProxyType({}),
    "files_folder": "memory",
    "hook_tokens": 1200,
    "hook_ms": 200.0,
}
_NUMBERS = ("reinforce_weight", "demote_weight", "prune_percent", "hook_ms")


def typed(key: str, text: str) -> object:
    """The value of a text from outside. Unreadable text stays text, and the check of its key refuses it."""
    if key == "off" and text.strip().lower() in YES + NO:
        return text.strip().lower() in YES
    if key in ("budget", "hook_tokens") and re.fullmatch(r"\s*\d{1,9}\s*", text, re.ASCII):
        return int(text)
    if key in _NUMBERS and re.fullmatch(r"\s*\d{1,9}(\.\d{1,9})?\s*", text, re.ASCII):
        return float(text)
    return text


def known(key: str) -> str:
    """The name of a setting, however it is spelled."""
    own = _own_name(key)
    if own not in CHECKS:
        raise Invalid(f"there is no setting {quoted(key)}{meant(key, CHECKS)}; settings are {', '.join(CHECKS)}")
    return own


def flat(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings of a file, each under its own name, wherever and however it was spelled; and the problems."""
    found = {key: value for key, value in table.items() if key not in TABLES}
    named: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for name in TABLES:
        inner = table.get(name, {})
        if isinstance(inner, Mapping):
            found |= {f"{name}.{key}": value for key, value in inner.items()}
        else:
            wrong[name] = f"{name} must be a table, such as [{name}]"
    for spelled, value in found.items():
        try:
            key = _own_name(spelled)
        except Invalid as problem:
            wrong[spelled] = str(problem)
            continue
        if key in named:
            wrong[key] = f"{key} is set twice, the second time as {spelled}; keep one of them"
        named.setdefault(key, value)
    return named, wrong


def _own_name(spelled: str) -> str:
    table, dot, inner = spelled.partition(".")
    if not dot or table not in TABLES:
        return ALIASES.get(spelled, spelled)
    if inner not in TABLES[table]:
        keys = [key for key in TABLES[table] if key not in CHECKS]
        raise Invalid(f"[{table}] has no key {quoted(inner)}; keys are {', '.join(keys)}")
    return TABLES[table][inner]


def shown(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(value)
    return None if value is None else str(value)


# ---------------------------------------------------------------- files

_parse = toml.parse
_parsed: dict[Path, tuple[tuple[int, int, int], dict[str, Any]]] = {}


def _table(file: Path) -> Mapping[str, Any]:
    """The parsed file; empty if there is none. Cached until its size, time or inode changes."""
    try:
        seen = file.stat()
        stamp = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
        known = _parsed.get(file)
        if known is not None and known[0] == stamp:
            return known[1]
        table = _parse(toml.read(file, seen.st_size, "a settings file"), file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as problem:
        raise Invalid(f"{file} cannot be read: {problem}; make it a readable UTF-8 file, or remove it") from problem
    _parsed[file] = (stamp, table)
    return table


def _write(key: str, value: str | float | None) -> Path:
    """Sets the key, or removes it for None; writes nothing if nothing changes."""
    file = _writable_file()
    old = dict(_table(file))
    key = _as_spelled(key, old, file)
    if type(old.get(key)) is type(value) and old.get(key) == value:
        return file
    if file.exists() and not file.is_file():
        raise Invalid(f"{file} is no regular file and is not replaced; name another with MEMORIST_CONFIG")
    before = toml.read(file, 0, "a settings file") if file.exists() else ""
    text = _edited(before, key, None if value is None else toml.written(value))
    wanted = old | {key: value}
    if not _says(text, {name: kept for name, kept in wanted.items() if kept is not None}, file):
        raise Invalid(f"{file} writes {key} in a way that cannot be changed line by line; change it by hand")
    return _replace(file, text)


def _says(text: str, wanted: Mapping[str, Any], file: Path) -> bool:
    try:
        return _parse(text, file) == wanted
    except Invalid:
        return False


def _as_spelled(key: str, table: Mapping[str, Any], file: Path) -> str:
    """The spelling that the file already has for the setting, so that it is not set twice."""
    names = [key, *(alias for alias, own in ALIASES.items() if own == key)]
    for name, known in TABLES.items():
        inner = table.get(name)
        if isinstance(inner, Mapping) and any(known.get(spelled) == key for spelled in inner):
            raise Invalid(f"{file} sets {key} in its table [{name}]; change it there by hand")
    return next((name for name in names if name in table), key)


def _replace(file: Path, text: str) -> Path:
    from memorist.store.files import replace_private

    try:
        replace_private(file.resolve(), text)  # resolved: a link into the user's dotfiles stays a link
    except (OSError, UnicodeEncodeError) as problem:
        raise Invalid(f"{file} cannot be written: {problem}; name another place with MEMORIST_CONFIG") from problem
    return file


def _edited(text: str, key: str, value: str | None) -> str:
    """The text with that key set in its top part, or removed. All other text stays exactly as it was."""
    lines = text.split("\n")
    tables = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    spelled = rf"""(\s*(?:{key}|"{key}"|'{key}')\s*=\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^#"']*?)(\s*(?:#.*)?)"""
    for at, line in enumerate(lines[:tables]):
        found = re.fullmatch(spelled, line)
        if found:
            lines[at : at + 1] = [] if value is None else [f"{found[1]}{value}{found[3]}"]
            return "\n".join(lines)
    if value is not None:
        keys = [at for at, line in enumerate(lines[:tables]) if re.match(r"\s*[^#\s]", line)]
        lines.insert(keys[-1] + 1 if keys else 0, f"{key} = {value}")
    return "\n".join(lines)
